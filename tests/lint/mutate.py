# SPDX-License-Identifier: Apache-2.0
"""Changes one operator, bound or constant of analysis or report code at a time and asks whether a
test notices.

mutate.py SOURCE_DIR BUILD_DIR [--n 100] [--seed 1] [--jobs 2] [--related] [FOLDER...]

SOURCE_DIR is changed and changed back: give a scratch clone, BUILD_DIR its build. Folders are
analyzer/analysis and analyzer/report where none is given. The tests of the changed folder are built
and run first, then what reads the command's output, then all unit tests (--related: without the
last, and a survivor may be one that a distant test would have noticed). Prints a line for each
mutation and the share that survived. Never part of ctest: a mutation takes as long as the tests
that miss it.
"""
import argparse
import os
import random
import re
import resource
import subprocess
import sys

OPERATORS = [  # what a slip of the hand makes of them
    (r"(?<![<>=!\-+*/&|^])<(?![<=])", "<="), (r"<=", "<"),
    (r"(?<![->=!<])>(?![>=])", ">="), (r">=", ">"),
    (r"==", "!="), (r"!=", "=="), (r"&&", "||"), (r"\|\|", "&&"),
    (r"(?<=[\w)\]] )\+(?= [\w(])", "-"), (r"(?<=[\w)\]] )-(?= [\w(])", "+"),
    (r"(?<=[\w)\]] )\*(?= [\w(])", "/"), (r"(?<=[\w)\]] )/(?= [\w(])", "*"),
    (r"\+\+", "--"), (r"\+=", "-="),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
]
NUMBER = re.compile(r"(?<![\w.\"])(\d+(?:\.\d+)?)(?![\w.\"])")


def blanked(line):
    """The line with texts, characters and comments as blanks: nothing is changed in those."""
    return re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/|//.*|/\*.*',
                  lambda m: " " * len(m.group(0)), line)


def sites(path):
    """(line, from, to, new text) of every change that could be made to a file."""
    found, in_comment, in_body = [], False, False
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for at, line in enumerate(lines):
        if in_comment or line.lstrip().startswith(("/*", "*")):
            in_comment = "*/" not in line
            continue
        in_body = True if line.startswith("{") else False if line.startswith("}") else in_body
        constant = re.match(r"(static const|enum \{|#define)", line)
        # how large an array is made is the sanitizers' to judge
        made = re.search(r"INQ_NOMEM|_alloc\(|_zalloc\(|_array\(|#include", line)
        if not (in_body or constant) or made:
            continue
        code = blanked(line)
        for pattern, new in OPERATORS if in_body else ():
            for m in re.finditer(pattern, code):
                found.append((at, m.start(), m.end(), new))
        for m in NUMBER.finditer(code):
            text = m.group(1)
            new = str(int(text) + 1) if text.isdigit() else repr(float(text) * 1.5 or 1.0)
            found.append((at, m.start(), m.end(), new))
    return lines, found


def run(command):
    """(exit status, what it printed). A process that takes ten times the processor time of the
    slowest test loops, and is ended; a busy machine makes a test wait, but not take more of that."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (150, 150)))
    return done.returncode, done.stdout.decode(errors="replace")


def unit_tests(folder):
    return {t[:-2] for _, _, ts in os.walk(folder) for t in ts
            if t.startswith("test_") and t.endswith(".c")}


def stages(path, related):
    """(name, targets to build, pattern of tests) from the nearest tests to the most distant."""
    near = os.path.dirname(path.replace("analyzer/", "tests/unit/", 1))
    while not unit_tests(near):
        near = os.path.dirname(near)
    own = unit_tests(near)

    def units(tests):
        return sorted(tests), "^unit\\.(" + "|".join(sorted(t[5:] for t in tests)) + ")$"
    yield ("near", *units(own))
    yield "cli", ["inquest"], "^cli\\.(golden|invariants|failures|documents)$"
    if not related:
        others = unit_tests("tests/unit") - own
        yield ("unit", *units(others))


def verdict(build, path, jobs, related):
    """The name of the stage that noticed, or None; "compiler" or "clock" for no verdict."""
    for name, targets, tests in stages(path, related):
        if run(["ninja", "-C", build, f"-j{jobs}", *targets])[0] != 0:
            return "compiler"
        code, said = run(["ctest", "--test-dir", build, "-R", tests, f"-j{jobs}",
                          "--stop-on-failure", "--timeout", "3600"])
        if "***Timeout" in said:
            return "clock"  # it waited for an hour: for the machine or for ever
        if code != 0:
            return name
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("build")
    parser.add_argument("folders", nargs="*", default=["analyzer/analysis", "analyzer/report"])
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--related", action="store_true")
    args = parser.parse_intermixed_args()
    build = os.path.abspath(args.build)
    os.chdir(args.source)
    files = subprocess.check_output(["git", "ls-files", *args.folders], text=True).split()
    random.seed(args.seed)
    everything = [(path, i) for path in files if path.endswith(".c")
                  for i in range(len(sites(path)[1]))]
    survived = tried = 0
    for path, i in random.sample(everything, len(everything)):
        if tried == args.n:
            break
        lines, found = sites(path)
        at, start, end, new = found[i]
        before = "\n".join(lines)
        changed = lines[at][:start] + new + lines[at][end:]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([*lines[:at], changed, *lines[at + 1:]]))
        try:
            noticed = verdict(build, path, args.jobs, args.related)
        finally:
            with open(path, "w", encoding="utf-8") as file:
                file.write(before)
        if noticed in ("compiler", "clock"):
            print(f"no verdict ({noticed}) {path}:{at + 1}: {changed.strip()}", flush=True)
            continue
        tried += 1
        survived += noticed is None
        print(f"{'SURVIVED' if noticed is None else 'noticed by ' + noticed} {path}:{at + 1}: "
              f"{changed.strip()}",
              flush=True)
    print(f"{survived} of {tried} survived")
    return 0


if __name__ == "__main__":
    sys.exit(main())
