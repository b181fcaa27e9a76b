# SPDX-License-Identifier: Apache-2.0
"""Counts the words that this house has replaced, in identifiers, comments and messages.

words.py SOURCE_DIR [--list]

The field's terms stand in their place (CONTRIBUTING.md, Words). Each count has a budget in
budgets.txt, which may only fall. --list prints every place.
"""
import os
import re
import subprocess
import sys

import budgets

ROOTS = ("analyzer", "replay", "include", "tests")

# Parts of identifiers, between underscores: (old, instead). Those that are right in one sense are
# held by the whole identifier below.
PARTS = {
    "suspect": "candidate (slow), suspected (failed)", "suspects": "candidates",
    "rerun": "counterfactual", "standing": "progress", "standings": "progress",
    "seal": "finalize", "intake": "loader", "pen": "terminal", "texture": "intra-step variance",
    "judge": "findings_from, verify", "tell": "explain",
}
IDENTIFIERS = [
    (r"inq_say(_\w+)?", "inq_arena_printf, inq_sentence_"), (r"inq_view\w*", "inq_context"),
    (r"inq_cells?(_\w+)?", "inq_step_stats"), (r"inq_roles?(_\w+)?", "inq_peer_groups"),
    (r"inq_unknown_\w+", "inq_unrecognized_"), (r"inq_walk\w*", "inq_discover"),
    (r"inq_(run_)?blame\w*", "inq_attribution"), (r"inq_peers", "inq_reference"),
    (r"\w*_is_stuck", "is_blocked"), (r"(inq_)?fix_job\w*", "fix_step"),
    (r"\w*lay_steps", "rebase_steps"), (r"inq_log_(mark|standing)s?", "attributed line, progress"),
    (r"\w*graph_repeat", "graph_unroll"), (r"inq_failure_moment", "inq_timeline_event"),
]
# Turns of phrase, in comments and in messages.
PHRASES = [
    (r"holds? the others up|holding the others up", "delays the others"),
    (r"tells? nothing( of)?\b", "has no record (of)"), (r"\btells? of\b", "reports"),
    (r"\btakes \S+ times as long", "is N % slower"), (r"\blaunches late\b", "delayed launches"),
    (r"\bits log decides\b", "to confirm, check the log of"), (r"\bcame last\b", "arrived last"),
    (r"\bdid not come\b", "did not join"), (r"\b[Bb]ehind (them|it|that|which|this) in time\b", "after"),
    (r"\bblames?\b|\bblamed\b", "attributes"), (r"(?<!NVIDIA )\bsuspects?\b", "candidate"),
    (r"\bmore work\b", "extra compute"), (r"\breruns?\b", "counterfactual"),
]
TOKEN = re.compile(r'(/\*.*?\*/|//[^\n]*)|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.S)
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def split(text):
    """(kind, offset, text) of code, comments and strings."""
    at = 0
    for m in TOKEN.finditer(text):
        yield "code", at, text[at:m.start()]
        yield ("comment" if m.group(1) is not None else "string"), m.start(), m.group(0)
        at = m.end()
    yield "code", at, text[at:]


def old_identifier(name):
    if "__" in name:
        return None  # a test's: its name is a sentence
    for pattern, new in IDENTIFIERS:
        if re.fullmatch(pattern, name):
            return new
    for part in name.split("_"):
        if part in PARTS and "apart" not in name:
            return PARTS[part]
    return None


def main():
    top = sys.argv[1]
    files = subprocess.check_output(["git", "-C", top, "ls-files", "-co", "--exclude-standard",
                                     *ROOTS], text=True).split("\n")
    found = {"old words in identifiers": [], "old words in comments": [],
             "old words in messages": []}
    seen = set()
    for path in sorted(f for f in files if f.endswith((".c", ".h", ".cu"))):
        full = os.path.join(top, path)
        if not os.path.exists(full):
            continue
        with open(full, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for kind, at, part in split(text):
            line = text.count("\n", 0, at) + 1
            if kind == "code":
                for m in WORD.finditer(part):
                    new = old_identifier(m.group(0))
                    if new and (path, m.group(0)) not in seen:  # once a file
                        seen.add((path, m.group(0)))
                        place = f"{path}:{line + part.count(chr(10), 0, m.start())}"
                        found["old words in identifiers"].append(f"{place}: {m.group(0)}; use {new}")
                continue
            if kind == "string" and (path.startswith("tests") or " " not in part):
                continue  # keys, and what tests feed in and expect
            plain = re.sub(r"\s*\n\s*\*\s*", " ", part)
            for pattern, new in PHRASES:
                for m in re.finditer(pattern, plain):
                    name = "old words in comments" if kind == "comment" else "old words in messages"
                    found[name].append(f"{path}:{line}: {m.group(0)!r}; use {new!r}")
    return budgets.hold(found)


if __name__ == "__main__":
    sys.exit(main())
