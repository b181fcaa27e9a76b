# SPDX-License-Identifier: Apache-2.0
"""Calls of the program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any, Dict, List, Optional, Sequence, Union

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path]]


class InquestError(Exception):
    """What the program could not do. `next` says what to do about it; `code` is of inquest-error/1."""

    def __init__(self, message: str, code: str = "", path: Optional[str] = None, next: str = "") -> None:
        super().__init__(message + (f" ({next})" if next else ""))
        self.message, self.code, self.path, self.next = message, code, path, next


def find(program: Optional[Path]) -> str:
    """The program: as given, $INQUEST, or the one on PATH."""
    wanted = os.fspath(program) if program is not None else os.environ.get("INQUEST", "inquest")
    found = shutil.which(wanted)
    if found is None:
        raise InquestError(f"there is no program '{wanted}'", "not_found",
                           next="install inquest, or name it with program= or $INQUEST")
    return found


def words(paths: Paths) -> List[str]:
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    # a name that begins with '-' is a file all the same
    return ["--", *(os.fspath(path) for path in given)]


def call(program: str, arguments: Sequence[str], fine: Sequence[int] = (0,)) -> str:
    """Standard output; raises InquestError on an exit status that is not one of `fine`."""
    done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode in fine:
        return done.stdout.decode("utf-8", "replace")
    raise error(done.stderr.decode("utf-8", "replace"), done.returncode)


def error(text: str, status: int) -> InquestError:
    for line in text.splitlines():
        try:
            said: Dict[str, Any] = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and str(said.get("schema", "")).startswith("inquest-error/"):
            return InquestError(said.get("message") or "", said.get("code") or "", said.get("path"),
                                said.get("next") or "")
    return InquestError(text.strip() or f"inquest ended with status {status}")
