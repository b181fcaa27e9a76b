#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Minimal inputs, each of which the program once got wrong, give what they must.

    corpus.py INQUEST SOURCE_DIR

tests/data/core/CASE/case.json says why the case is there and which commands give what: `expect` maps
places in their JSON document (members and indices, joined by dots) to a value, or to one of
{"near": N, "within": N}, {"has": TEXT}, {"length": N}, {"as": ANOTHER PLACE}. Databases stand there as .sql.
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

inquest, source = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
corpus = os.path.join(source, "tests", "data", "core")
problems = []
version = subprocess.run([inquest, "--version"], capture_output=True, check=True, text=True).stdout
reads_databases = "sqlite:  no" not in version


def at(document, place):
    for part in place.split("."):
        document = document[int(part) if isinstance(document, list) else part]
    return document


def holds(document, got, wanted):
    if not isinstance(wanted, dict):
        return got == wanted
    if "near" in wanted:
        return abs(got - wanted["near"]) <= wanted["within"]
    if "as" in wanted:
        return got == at(document, wanted["as"])
    if "has" in wanted:
        return wanted["has"] in got
    return len(got) == wanted["length"]


def check(case, run, folder):
    done = subprocess.run([inquest, *run["command"], "-q"], cwd=folder, capture_output=True, check=False)
    what = f"{case}: {' '.join(run['command'])}"
    if done.returncode != run["exit"]:
        problems.append(f"{what}: exit status {done.returncode}, not {run['exit']}: {done.stderr.decode()[:200]}")
        return
    document = json.loads(done.stdout)
    for place, wanted in run["expect"].items():
        try:
            got = at(document, place)
        except (KeyError, IndexError, TypeError):
            problems.append(f"{what}: there is no {place}")
            continue
        if not holds(document, got, wanted):
            problems.append(f"{what}: {place} is {got}, not {wanted}")


cases = sorted(os.listdir(corpus))
for case in cases:
    origin = os.path.join(corpus, case)
    if not os.path.isdir(origin):
        continue
    with tempfile.TemporaryDirectory() as work:
        folder = os.path.join(work, "run")
        shutil.copytree(origin, folder)
        with open(os.path.join(folder, "case.json"), encoding="utf-8") as file:
            runs = json.load(file)["runs"]
        os.remove(os.path.join(folder, "case.json"))
        if not reads_databases and any(name.endswith(".sql") for name in os.listdir(folder)):
            print(f"{case}: skipped, since this build reads no SQLite")
            continue
        for name in os.listdir(folder):
            if name.endswith(".sql"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    database = sqlite3.connect(os.path.join(folder, name[:-4] + ".sqlite"))
                    database.executescript(file.read())
                    database.close()
        for run in runs:
            check(case, run, folder)
print(*problems, sep="\n")
print(f"{len(cases)} cases, {len(problems)} problems")
sys.exit(1 if problems or not cases else 0)
