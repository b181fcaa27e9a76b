# SPDX-License-Identifier: Apache-2.0
"""The three questions."""

from __future__ import annotations

import json
import os
from typing import List, Optional

from . import _program
from ._documents import Check, Comparison, Run
from ._program import Path, Paths

# the exit status of a finding or check that crossed the line
CROSSED = 3


def analyze(paths: Paths, *, ranks: Optional[str] = None, steps: Optional[str] = None,
            time: Optional[str] = None, jobs: Optional[int] = None, program: Optional[Path] = None) -> Run:
    """The postmortem of files and folders; `ranks`, `steps` and `time` are as the program's options
    --rank ("0-7,12"), --step ("10..20") and --time ("1.2s~1.4s"). Raises InquestError."""
    found = _program.find(program)
    options: List[str] = ["analyze", "-q"]
    for name, value in (("--rank", ranks), ("--step", steps), ("--time", time), ("--jobs", jobs)):
        options += [] if value is None else [name, str(value)]
    document = json.loads(_program.call(found, [*options, "-f", "json", *_program.words(paths)]))
    return Run(document, lambda path: _write_tables(found, options, path, paths))


def _write_tables(found: str, options: List[str], path: str, paths: Paths) -> None:
    _program.call(found, [*options, "-f", "sqlite", "-o", path, *_program.words(paths)])


def compare(base: Path, new: Path, *, program: Optional[Path] = None) -> Comparison:
    """What changed from one run to another. Raises InquestError."""
    found = _program.find(program)
    return Comparison(json.loads(
        _program.call(found, ["compare", "-q", "-f", "json", *_program.words([base, new])])))


def check(path: Path, *, baseline: Path, update: bool = False, program: Optional[Path] = None) -> Check:
    """A run or schedule against a baseline; with `update` the baseline is written. A check that does
    not pass is an answer; InquestError says that there is none."""
    found = _program.find(program)
    options = ["check", "-q", "-f", "json", "--baseline", os.fspath(baseline), *(["--update"] if update else [])]
    return Check(json.loads(_program.call(found, [*options, *_program.words(path)], (0, CROSSED))))
