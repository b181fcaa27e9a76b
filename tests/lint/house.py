# SPDX-License-Identifier: Apache-2.0
"""Counts where the code leaves the rules of the house and compares with budgets.txt.

house.py SOURCE_DIR BUILD_DIR [--list]

A budget may only fall: a count above it fails, a count below it is printed, so that the same change
lowers it. --list prints every place that is counted.
"""
import os
import re
import subprocess
import sys
from collections import defaultdict

import budgets

MOST_SOURCES = 15  # .c files a folder: what a reader can take in at one look
MOST_DECLARATIONS = 15  # of functions a private header

# Headers of base are tools, each its own door: a header for all of them would tell nobody anything.
TOOLBOX = "analyzer/base"
ROOTS = ("analyzer/", "replay/")
# Tables whose rows name functions of the files that they choose from: their arrows make no circle.
REGISTRIES = ("analyzer/analysis/registry.c", "analyzer/cli/commands.c", "analyzer/ingest/readers.c",
              "analyzer/report/sections/tables.c", "replay/fix/fix.c", "replay/schedule/schedule.c")


def sources(top):
    names = subprocess.check_output(
        ["git", "-C", top, "ls-files", "-co", "--exclude-standard", *ROOTS], text=True).split("\n")
    return sorted(n for n in names if n.endswith((".c", ".h", ".cu")) and
                  os.path.exists(os.path.join(top, n)))


def included(top, path, known):
    """Private headers that a file includes, as paths from the top."""
    with open(os.path.join(top, path), encoding="utf-8") as file:
        for name in re.findall(r'#include "([^"]+)"', file.read()):
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            for candidate in (*(root + name for root in ROOTS), beside):
                if candidate in known:
                    yield candidate
                    break


def is_door(header):
    folder = os.path.dirname(header)
    return os.path.basename(header) == os.path.basename(folder) + ".h" or folder == TOOLBOX


def doors(top, files):
    """Includes of a header that is not its folder's door, from outside that folder."""
    known = set(files)
    return sorted({f"{path} includes {header}" for path in files
                   for header in included(top, path, known)
                   if os.path.dirname(header) != os.path.dirname(path) and not is_door(header)})


def is_template(top, header):
    """Text that several sources compile, each for its own machine: it refuses to be included without
    the name that they define, and no one source is its own."""
    with open(os.path.join(top, header), encoding="utf-8") as file:
        return re.search(r"^#ifndef (\w+)\n#error", file.read(), re.MULTILINE) is not None


def nameless_headers(top, files):
    """Headers that are neither a door, nor the header of the source of their name, nor a template."""
    known = set(files)
    return [h for h in files if h.endswith(".h") and not is_door(h) and
            h[:-2] + ".c" not in known and h[:-2] + ".cu" not in known and not is_template(top, h)]


def cli_includes(top, files):
    """Private headers in cli: the program is a client of its own public headers."""
    known = set(files)
    return [f"{path} includes {header}" for path in files if path.startswith("analyzer/cli/")
            for header in included(top, path, known) if not header.startswith("analyzer/cli/")]


def crowded_folders(files):
    count = defaultdict(int)
    for path in files:
        if path.endswith(".c"):
            count[os.path.dirname(path)] += 1
    return [f"{folder}: {n} sources" for folder, n in sorted(count.items()) if n > MOST_SOURCES]


def crowded_headers(top, files):
    found = []
    for path in files:
        if path.endswith(".h") and not path.startswith(TOOLBOX):
            with open(os.path.join(top, path), encoding="utf-8") as file:
                n = len(re.findall(r"\binq_\w+\([^;{}]*\)(?:\s*__attribute__[^;]*)?;", file.read()))
            if n > MOST_DECLARATIONS:
                found.append(f"{path}: {n} functions")
    return found


def object_files(build, files):
    """source -> its object, of those that the build made of files."""
    known, found = set(files), {}
    for folder, _, names in os.walk(build):
        for name in names:
            path = os.path.join(folder, name)
            match = re.search(r"(analyzer|replay)/CMakeFiles/\w+\.dir/(.*\.c)\.o$", path)
            if match:
                source = os.path.normpath(
                    match.group(1) + "/" + match.group(2).replace("__", ".."))
                if source in known:
                    found[source] = path
    return found


def objects(build, files):
    """(source, defined symbols, used symbols) of every object."""
    source_of = {path: source for source, path in object_files(build, files).items()}
    if not source_of:
        return
    defined, used = defaultdict(set), defaultdict(set)
    out = subprocess.run(["nm", "-A", *source_of], stdout=subprocess.PIPE, text=True, check=True)
    for line in out.stdout.split("\n"):
        parts = line.split()
        if len(parts) >= 2 and parts[-1].startswith("inq_"):
            path = line.split(":", 1)[0]
            (used if parts[-2] == "U" else defined)[path].add(parts[-1])
    for path, source in source_of.items():
        yield source, defined[path], used[path]


def uses(build, files):
    """source -> sources that it takes symbols from; symbol -> its sources of use."""
    table = list(objects(build, files))
    home = {symbol: source for source, defined, _ in table for symbol in defined}
    arrows, users = defaultdict(set), defaultdict(set)
    for source, _, used in table:
        for symbol in used:
            if symbol in home and home[symbol] != source:
                arrows[source].add(home[symbol])
                users[symbol].add(source)
    return arrows, users, home


def circles(arrows):
    """Strongly connected sets of more than one source (Tarjan), registries left out."""
    arrows = {source: others for source, others in arrows.items() if source not in REGISTRIES}
    index, low, stack, found = {}, {}, [], []
    sys.setrecursionlimit(10000)

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(arrows.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            members = []
            while not members or members[-1] != node:
                members.append(stack.pop())
            if len(members) > 1:
                found.append(sorted(members))

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return found


def is_used(top, source, symbol):
    """Whether the source calls the symbol or takes its address outside of an initializer's row."""
    with open(os.path.join(top, source), encoding="utf-8") as file:
        return re.search(rf"\b{symbol}\(|&{symbol}\b", file.read()) is not None


def table_rows(top, build, files):
    """(source, symbol) where the source never calls the symbol and only names it in constant tables:
    the object refers to it from its data alone, or else the optimizer took a row out of its table."""
    source_of = {path: source for source, path in object_files(build, files).items()}
    if not source_of:
        return set()
    text, data, source, section = set(), set(), None, ""
    out = subprocess.run(["readelf", "-rW", *source_of], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, check=True)
    for line in out.stdout.split("\n"):
        if line.startswith("File: "):
            source = source_of[line[6:].strip()]
        heading = re.match(r"Relocation section '\.rela?(\.[^']+)'", line)
        section = heading.group(1) if heading else section
        symbol = re.search(r"\s(inq_\w+) [+-] ", line)
        if symbol and not section.startswith(".debug"):
            (data if re.match(r"\.(data|rodata)", section) else text).add((source, symbol.group(1)))
    return {row for row in data if row not in text or not is_used(top, *row)}


def is_sanitized(build, files):
    """Sanitizers and the optimizer that they leave out turn some rows of tables into code."""
    path = next(iter(object_files(build, files).values()))
    return re.search(r" U __[at]san_", subprocess.check_output(["nm", path], text=True)) is not None


def is_whole(build, files):
    """A build without an option lacks users that symbols have in others."""
    made = object_files(build, files)
    return all(path in made for path in files if path.endswith(".c"))


def single_users(top, users, home, rows):
    """Symbols of other files that one file alone uses, and that no public header declares. What a
    file only names in a row of a table is none: a row per kind is how kinds are kept apart, and the
    function behind it a concept of its own, not a slice of the table's file."""
    public = set()
    for folder, _, names in os.walk(os.path.join(top, "include")):
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                public.update(re.findall(r"\binq_\w+", file.read()))
    return sorted(f"{symbol}: {home[symbol]} for {next(iter(where))}"
                  for symbol, where in users.items() if len(where) == 1 and
                  symbol not in public and (next(iter(where)), symbol) not in rows)


def main():
    top, build = sys.argv[1], sys.argv[2]
    files = sources(top)
    arrows, users, home = uses(build, files)
    if not home:
        print("skipped: no objects in", build)
        return 77
    ring = circles(arrows)
    measured = {
        "headers used past the door": doors(top, files),
        "headers without a source of their name": nameless_headers(top, files),
        "private headers in cli": cli_includes(top, files),
        "folders of more than 15 sources": crowded_folders(files),
        "headers of more than 15 functions": crowded_headers(top, files),
        "circles of sources": [" ".join(members) for members in ring],
    }
    if is_whole(build, files) and not is_sanitized(build, files):
        measured["symbols with a single user"] = single_users(top, users, home,
                                                              table_rows(top, build, files))
    return budgets.hold(measured)


if __name__ == "__main__":
    sys.exit(main())
