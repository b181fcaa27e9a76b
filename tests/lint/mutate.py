# SPDX-License-Identifier: Apache-2.0
"""Changes one operator, bound or constant of analysis or report code at a time and asks whether a
test notices.

mutate.py SOURCE_DIR BUILD_DIR [--n 100] [--seed 1] [--jobs 2] [--related] [--seconds S]
          [--again LOG] [FOLDER...]

SOURCE_DIR is changed and changed back: give a scratch clone, BUILD_DIR its build, in which ctest
has run once (that is how the costs of tests are known). Folders are analyzer/analysis and
analyzer/report where none is given. The tests of the changed folder and what reads the command's
output (each case of cli.golden is a test of its own) are run, the cheapest first, then all other
unit tests (--related: without those, --seconds: without tests that take longer; a survivor may be
one that a test left out would have noticed). --again judges what survived in an earlier run's
output, instead of mutations drawn by chance. Prints a line for each mutation and the share that
survived. What the compiler makes the same code of, or none, is no mutation. Never part of ctest: a
mutation takes as long as the tests that miss it.
"""
import argparse
import hashlib
import json
import os
import random
import re
import resource
import signal
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
CLI_TESTS = {"cli.golden", "cli.invariants", "cli.failures", "cli.documents", "cli.first_screen",
             "cli.terminal", "cli.corpus", "cli.perfetto", "cli.one_account", "cli.tables",
             "cli.contract"}
# fail each allocation of a whole run: what a check for NULL guards
WHOLE_RUN = {"test_faults", "test_faults_commands"}
UNFIT = "fails without a mutation: whatever is changed would count as noticed"
GOLDEN_CASES = "tests/cli/cases"
# of two values the larger or the smaller one, or of two that differ: what is done with equal ones
# is all the same. So it is what a comparison returns for equal ones, as long as it is not negative
# (inq_sort). The line before, the line itself and the one after it are looked at.
VALUE = r"[\w\->.\[\]]+(?:\([\w\->.\[\], ]*\))?"
EQUAL_ALIKE = [re.compile(p) for p in (
    rf"({VALUE}) [<>]=? ({VALUE}) \? (?:\1 : \2|\2 : \1)(?=[;,)]|$)",
    rf"if \(({VALUE}) [<>]=? ({VALUE})\) \{{\n\s*(?:\1 = \2|\2 = \1);\n",
    rf"if \(({VALUE}) != ({VALUE})\) \{{\n\s*return \1 [<>]=? \2 \?",
    rf"({VALUE}) != ({VALUE}) \? \1 [<>]=? \2\b",
    rf"return \(({VALUE}) [<>] ({VALUE})\)(?= - \(\1 [<>] \2\);)")]
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
        above = "\n".join(lines[max(at - 1, 0):at]) + "\n"
        around = above + code + "\n" + "\n".join(lines[at + 1:at + 2]) + "\n"
        alike = [m.span() for p in EQUAL_ALIKE for m in p.finditer(around)]
        for pattern, new in OPERATORS if in_body else ():
            for m in re.finditer(pattern, code):
                bound = new.strip("=") in ("<", ">")
                if not bound or not any(a <= len(above) + m.start() < b for a, b in alike):
                    found.append((at, m.start(), m.end(), new))
        # of what a comparison returns the sign alone counts
        ordered = re.search(r"\? -?1 : -?1;", code)
        for m in () if ordered else NUMBER.finditer(code):
            text = m.group(1)
            new = str(int(text) + 1) if text.isdigit() else repr(float(text) * 1.5 or 1.0)
            found.append((at, m.start(), m.end(), new))
    return lines, found


def run(command, cwd=None, environment=()):
    """The exit status. A process that takes ten times the processor time of the slowest test loops,
    and is ended; a busy machine makes a test wait, but not take more of that. None: it waited for
    an hour, for the machine or for ever."""
    limits = lambda: resource.setrlimit(resource.RLIMIT_CPU, (150, 150))
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=cwd,
                          env={**os.environ, **dict(e.split("=", 1) for e in environment)},
                          preexec_fn=limits, start_new_session=True) as process:
        try:
            return process.wait(3600)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None


def seconds(test):
    """What a test takes, as ctest measured it."""
    return test[3]


def list_tests(build):
    """(name, command, properties, seconds) of ctest's tests, the cheapest first; cases of cli.golden,
    which must pass, are tests of their own."""
    costs, tests = {}, []
    with open(os.path.join(build, "Testing/Temporary/CTestCostData.txt"), encoding="utf-8") as file:
        for line in file:
            if len(line.split()) == 3:
                costs[line.split()[0]] = float(line.split()[2])
    said = subprocess.check_output(["ctest", "--test-dir", build, "--show-only=json-v1"], text=True)
    for test in json.loads(said)["tests"]:
        name, command = test["name"], test.get("command")
        properties = {p["name"]: p["value"] for p in test["properties"]}
        if name == "cli.sweeps":
            continue  # its cases are among those of cli.golden
        if name == "cli.golden":
            for case in sorted(c[:-3] for c in os.listdir(GOLDEN_CASES) if c.endswith(".sh")):
                began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                code = run([*command, case], environment=properties.get("ENVIRONMENT", ()))
                took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began
                if code != 0:
                    sys.exit(f"{name} {case} {UNFIT}")
                tests.append((f"{name} {case}", [*command, case], properties, took))
        elif command is not None:
            tests.append((name, command, properties, costs.get(name, 0.0)))
    return sorted(tests, key=seconds)


def object_of(build, path):
    """The object that the build makes of a source."""
    folder, _, rest = path.partition("/")
    return f"{folder}/CMakeFiles/inq_objects.dir/{rest}.o"


def digest(build, path):
    with open(os.path.join(build, object_of(build, path)), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def unit_tests(folder):
    return {t[:-2] for _, _, ts in os.walk(folder) for t in ts
            if t.startswith("test_") and t.endswith(".c")}


def stages(path, related):
    """(name, targets to build, names of tests) from the nearest tests to the most distant."""
    near = os.path.dirname(path.replace("analyzer/", "tests/unit/", 1))
    while not unit_tests(near):
        near = os.path.dirname(near)
    own = unit_tests(near) | WHOLE_RUN
    yield "near", [*sorted(own), "inquest"], {"unit." + t[5:] for t in own} | CLI_TESTS
    if not related:
        others = unit_tests("tests/unit") - own
        yield "far", sorted(others), {"unit." + t[5:] for t in others}


def first_failing(tests, names):
    """The first of the named tests that fails, or has no end ("no end of ..."); None."""
    for name, command, properties, _ in tests:
        if name.split()[0] in names:
            code = run(command, properties.get("WORKING_DIRECTORY"),
                       properties.get("ENVIRONMENT", ()))
            if code is None:
                return f"no end of {name}"
            if code not in (0, properties.get("SKIP_RETURN_CODE")):
                return name
    return None


def verdict(build, path, args, tests, unchanged):
    """The stage and test that noticed, or None; a text that starts with "no" for no verdict."""
    ninja = ["ninja", "-C", build, f"-j{args.jobs}"]
    if run([*ninja, object_of(build, path)]) != 0:
        return "no program"
    if digest(build, path) == unchanged:
        return "no other program"
    for stage, targets, names in stages(path, args.related):
        if run([*ninja, *targets]) != 0:
            return "no program"
        failing = first_failing(tests, names)
        if failing is not None:
            return failing if failing.startswith("no ") else f"{stage}: {failing}"
    return None


def drawn(args):
    """(path, site) of all mutations that could be made, in an order drawn by chance."""
    files = subprocess.check_output(["git", "ls-files", *args.folders], text=True).split()
    everything = [(path, site) for path in files if path.endswith(".c")
                  for site in sites(path)[1]]
    random.seed(args.seed)
    return random.sample(everything, len(everything))


def survived_before(log):
    """(path, site) of what survived in an earlier run; a place that the source has no more is told.
    Lines may have moved since: the nearest one that the mutation makes the same text of counts."""
    with open(log, encoding="utf-8") as file:
        said = re.findall(r"^SURVIVED (\S+):(\d+): (.*)$", file.read(), re.M)
    for path, at, text in said:
        lines, found = sites(path)
        same = [s for s in found
                if (lines[s[0]][:s[1]] + s[3] + lines[s[0]][s[2]:]).strip() == text]
        if same:
            yield path, min(same, key=lambda s: abs(s[0] + 1 - int(at)))
        else:
            print(f"gone {path}:{at}: {text}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("build")
    parser.add_argument("folders", nargs="*", default=["analyzer/analysis", "analyzer/report"])
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--related", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--again")
    args = parser.parse_intermixed_args()
    build = os.path.abspath(args.build)
    started = os.getcwd()
    os.chdir(args.source)
    run(["ninja", "-C", build, f"-j{args.jobs}"])  # ctest does not tell how to run what is not built
    tests = [t for t in list_tests(build) if seconds(t) <= args.seconds]
    failing = first_failing(tests, CLI_TESTS - {"cli.golden"})
    if failing is not None:
        sys.exit(f"{failing} {UNFIT}")
    again = args.again and os.path.join(started, args.again)
    survived, tried, clean = 0, 0, {}  # path -> digest of the object as it was before any mutation
    for path, (at, start, end, new) in survived_before(again) if again else drawn(args):
        if tried == args.n:
            break
        lines = sites(path)[0]
        unchanged = clean.setdefault(path, digest(build, path))
        before = "\n".join(lines)
        changed = lines[at][:start] + new + lines[at][end:]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([*lines[:at], changed, *lines[at + 1:]]))
        try:
            noticed = verdict(build, path, args, tests, unchanged)
        finally:
            with open(path, "w", encoding="utf-8") as file:
                file.write(before)
        none = noticed is not None and noticed.startswith("no ")
        tried += not none
        survived += noticed is None
        said = "SURVIVED" if noticed is None else noticed if none else "noticed by " + noticed
        print(f"{said} {path}:{at + 1}: {changed.strip()}", flush=True)
    print(f"{survived} of {tried} survived")
    return 0


if __name__ == "__main__":
    sys.exit(main())
