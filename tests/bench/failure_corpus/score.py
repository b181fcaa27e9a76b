#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs inquest on every case of the failure corpus and scores what it says against the truth.

  score.py INQUEST [--part a|b|real|all] [--only TEXT] [--shuffle N] [--verbose] [--json FILE]
           [--least RATE] [--write DIR]

Printed, by kind of case: class right; roots right; first line of use; no false claim (an innocent
root, a certain verdict of a wrong class, a forbidden word); exit status 3 with --fail-on; verdict
unchanged under interleaving, merging and splitting; beside code, configuration and notes; and
dressed as collectors do (CRLF, colors, JSON, stamps, gzip). Then
folders of traces with such files beside them, which must not change the verdict. Exit status 1 when a rate is below --least."""
import argparse
import concurrent.futures
import datetime
import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import case as cases  # noqa: E402
import clutter  # noqa: E402

DENIES = r"nothing (is )?wrong|nothing to judge|no failure|\bhealthy\b|no sign of"
# Said of a run whose logs hold the cause, these deny evidence.
NO_CAUSE = r"left no reason|no (line|log)( here)? (tells|says|explains)|not of the one that failed"
NO_FAILURE = ("no_hang", "healthy", "nothing_to_judge", None)
# What the training output alone is called when its numbers go wrong.
NUMERIC = ("numerical_divergence", "not_finite", "divergence")


def load(parts):
    for name in sorted(os.listdir(HERE)):
        found = re.fullmatch(r"(cases|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|world|real)_\w+\.py", name)
        if found:
            cases.PART[0] = {"cases": "a", "second": "b", "third": "c", "fourth": "d", "fifth": "e", "sixth": "f", "seventh": "g", "eighth": "h", "ninth": "i", "tenth": "j", "world": "w", "real": "real"}[found[1]]
            __import__(name[:-3])
    return [c for c in cases.CASES.values() if parts == "all" or c["part"] in parts.split(",")]


def put(folder, name, data):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(data if isinstance(data, bytes) else data.encode())


def lay(case, folder, seed=None, free=False):
    for name, entry in case["files"].items():
        put(folder, name, entry if isinstance(entry, bytes) else entry.text(seed, free))


def lay_merged(case, folder, seed):
    texts = [e.text() for e in case["files"].values() if not isinstance(e, bytes)]
    random.Random(seed).shuffle(texts)
    put(folder, "all.log", "".join(texts))


def lay_split(case, folder):
    for i, (name, entry) in enumerate(case["files"].items()):
        if isinstance(entry, bytes):
            put(folder, name, entry)
            continue
        for k, (_, text) in enumerate(entry.split()):
            put(folder, f"part{i}_{chr(97 + k)}.log", text)


OWN_TIME = re.compile(r"2026-(\d\d)-(\d\d)[ T_-](\d\d):(\d\d):(\d\d)|\b[IWEF]0?(\d)(\d\d) (\d\d):(\d\d):(\d\d)")


def own_time(line):
    found = OWN_TIME.search(line)
    try:
        return datetime.datetime(2026, *(int(g) for g in found.groups() if g)) if found else None
    except ValueError:  # "E9999: ..." is a code
        return None


def last_time(case):
    """The last time that the case's files tell."""
    texts = [e.text() for e in case["files"].values() if not isinstance(e, bytes)]
    times = [t for text in texts for t in map(own_time, text.split("\n")) if t]
    return max(times, default=datetime.datetime(2026, 3, 14, 9, 58))


def stamps(lines, last):
    """A collector's time of each line: its own where it has one, else a millisecond after the last;
    where no line of the file has one, all are of the end."""
    now = min((t for t in map(own_time, lines) if t), default=last)
    for line in lines:
        now += datetime.timedelta(milliseconds=1)
        now = max(now, own_time(line) or now)
        yield now.isoformat(timespec="milliseconds") + "Z"


def in_docker(line, time):
    return json.dumps({"log": line + "\n", "stream": "stderr", "time": time})


SKINS = {
    "crlf": lambda line, time: line + "\r",
    "colored": lambda line, time: f"\x1b[36m{line}\x1b[0m",
    "docker json": in_docker,
    "kubectl stamps": lambda line, time: f"{time} {line}",
    "gzip": None,
}
NO_CONSOLE = re.compile(r"dmesg|kern|syslog|messages|events|describe|serial|\.json|n\d+\.log|node")


def lay_dressed(case, folder, skin):
    """The same lines as a collector keeps them. Files that no container writes stay as they are."""
    for name, entry in case["files"].items():
        text = entry if isinstance(entry, bytes) else entry.text()
        if isinstance(text, str) and skin == "gzip":
            put(folder, name + ".gz", gzip.compress(text.encode()))
        elif isinstance(text, str) and (skin == "crlf" or not NO_CONSOLE.search(name)):
            lines = text.rstrip("\n").split("\n")
            lines = [SKINS[skin](line, time) for line, time in zip(lines, stamps(lines, last_time(case)))]
            put(folder, name, "\n".join(lines) + "\n")
        else:
            put(folder, name, text)


def lay_clutter(folder, names=None):
    for name in names or clutter.FILES:
        put(folder, name, clutter.FILES[name])


def ask(program, folder):
    """What inquest says about a folder; a crash, a hang or a refusal is an answer too."""
    try:
        done = subprocess.run([program, "analyze", folder, "-f", "json", "-j", "1", "--fail-on", "high"],
                              capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return dict(error="timeout", exit=None, cls=None, roots=[], line="", failure={})
    try:
        said = json.loads(done.stdout)
    except ValueError:
        return dict(error=done.stderr.decode(errors="replace")[:300], exit=done.returncode, cls=None, roots=[],
                    line="", failure={})
    failure = said.get("failure") or {}
    verdict = said.get("verdict") or {}
    return dict(error=None, exit=done.returncode, cls=failure.get("class") or verdict.get("class"),
                roots=failure.get("root_ranks") or [], line=verdict.get("headline") or "", failure=failure,
                confidence=failure.get("confidence"), findings=said.get("findings") or [],
                advice=failure.get("advice") or "")


def is_dead(said):
    return said["cls"] not in NO_FAILURE and not said["error"] and (
        bool(said["failure"]) or said["cls"] in NUMERIC or any(f.get("severity") == "high" for f in said["findings"]))


def holds(pattern, line):
    """A number at a pattern's end ends there ("rank 1" is not in "rank 12"); 1,044 is 1044."""
    pattern = re.sub(r"(\d)(?=\||$)", r"\1(?!\\d)", pattern)
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", line)
    return bool(re.search(pattern, line + "\n" + plain, re.I))


def accuses(line, allowed):
    """Whether the first rank that the line names is innocent, and not only said to wait for others."""
    found = re.search(r"(?<!local )\b(?:ranks?|tasks?) (\d+)", line, re.I)
    waits = re.search(r"noticed|wait|lost|timed out first|hangs in", line, re.I)
    return bool(found and allowed and int(found[1]) not in allowed and not waits)


def judge(case, said):
    """Each point: True, False, or None where it does not apply."""
    if case["cls"] == ["healthy"]:
        alive = not is_dead(said) and not said["error"]
        return dict(alive=alive, cls=None, roots=None, first=None, claims=alive, exit=None)
    dead = is_dead(said) and not re.search(DENIES, said["line"], re.I)
    cls = said["cls"] in case["cls"] or ("numerical_divergence" in case["cls"] and said["cls"] in NUMERIC)
    allowed = set(case["roots"]) | set(case["may"])
    got = set(said["roots"])
    innocent = bool(got - allowed)
    roots = not innocent and set(case["roots"]) <= got
    if case["roots"] and set(case["roots"]) <= set(case["may"]):
        roots = not innocent  # may be named, need not
    first = dead and all(holds(p, said["line"]) for p in case["first"])
    text = said["line"] + " " + said.get("advice", "")
    sure_and_wrong = not cls and said.get("confidence") == "established" and not is_none(said)
    denies = "unknown" not in case["cls"] and re.search(NO_CAUSE, said["line"], re.I)
    claims = dead and not innocent and not sure_and_wrong and not denies and not accuses(
        said["line"], allowed) and not any(
        re.search(p, text if p not in ("established",) else str(said.get("confidence")), re.I) for p in case["never"])
    return dict(dead=dead, cls=cls, roots=roots, first=first, claims=claims, exit=said["exit"] == 3)


def is_none(said):
    return said["cls"] in NO_FAILURE


def same(a, b, roots=True):
    return a["cls"] == b["cls"] and (not roots or a["roots"] == b["roots"])


def one(program, case, shuffles, work):
    folder = os.path.join(work, case["name"])
    lay(case, folder)
    said = ask(program, folder)
    result = dict(name=case["name"], part=case["part"], said=said, points=judge(case, said), moved=[])
    variants = []
    if not case["ordered"] and case["kind"] == "log":
        variants += [(f"woven {seed}", lambda d, s=seed: lay(case, d, s, free=case["free"] and s % 2 == 1))
                     for seed in range(shuffles)]
        if any(len(e.streams()) > 1 for e in case["files"].values() if not isinstance(e, bytes)):
            variants.append(("split", lambda d: lay_split(case, d)))
    if shuffles:
        variants += [(skin, lambda d, k=skin: lay_dressed(case, d, k)) for skin in SKINS]
        variants.append(("cluttered", lambda d: (lay(case, d), lay_clutter(d))))
    if len(case["files"]) > 1 and case["merge"] and not case["ordered"] and shuffles:
        variants.append(("merged", lambda d: lay_merged(case, d, 1)))
    seen = {}
    for name, write in variants if shuffles else []:
        other = folder + "." + name.replace(" ", "")
        write(other)
        key = digest(other)
        if key not in seen:
            seen[key] = ask(program, other)
        if not same(said, seen[key], roots=not (name == "merged" and case["merge"] == "class")):
            result["moved"].append((name, seen[key]["cls"], seen[key]["roots"]))
        shutil.rmtree(other)
    moved = {name for name, _, _ in result["moved"]}
    result["points"]["clutter"] = "cluttered" not in moved if shuffles else None
    result["points"]["dressed"] = not moved & set(SKINS) if shuffles else None
    rest = [name for name, _ in variants if name != "cluttered" and name not in SKINS]
    result["points"]["same"] = not moved & set(rest) if rest and shuffles else None
    shutil.rmtree(folder)
    return result


def trace_folders():
    """Folders of traces (and dumps) to lay clutter beside."""
    top = os.path.join(HERE, "..", "..", "..")
    found = [os.path.join(top, "sample-traces", n) for n in sorted(os.listdir(os.path.join(top, "sample-traces")))]
    flight = os.path.join(top, "..", "shared", "data", "flight")
    found += [os.path.join(flight, n) for n in sorted(os.listdir(flight))] if os.path.isdir(flight) else []
    return [f for f in found if os.path.isdir(f)]


def beside_traces(program, work, verbose):
    """(unchanged, tried): verdicts of folders of traces with clutter beside them. All files beside
    each folder, and each file alone beside the first two."""
    good = tried = 0
    for i, source in enumerate(trace_folders()):
        folder = os.path.join(work, "traces")
        shutil.copytree(source, folder)
        before = ask(program, folder)
        for names in [list(clutter.FILES)] + ([[n] for n in clutter.FILES] if i < 2 else []):
            lay_clutter(folder, names)
            after = ask(program, folder)
            same_line = (after["cls"], after["line"], after["roots"]) == (before["cls"], before["line"], before["roots"])
            good, tried = good + same_line, tried + 1
            if verbose and not same_line:
                print(f"{os.path.basename(source)} beside {', '.join(names) if len(names) == 1 else 'all clutter'}: "
                      f"{after['cls']}: {after['line'] or after['error']}\n  instead of {before['cls']}: {before['line']}")
            for name in names:
                os.remove(os.path.join(folder, name))
        shutil.rmtree(folder)
    return good, tried


def digest(folder):
    out = []
    for root, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            with open(os.path.join(root, name), "rb") as f:
                out.append((name, f.read()))
    return hash(tuple(out))


POINTS = [("cls", "class"), ("roots", "roots"), ("first", "first line"), ("claims", "no false claim"),
          ("dead", "dead told dead"), ("alive", "alive told alive"), ("exit", "exit status"), ("same", "unchanged"),
          ("clutter", "with clutter"), ("dressed", "dressed")]


def rate(results, point):
    values = [r["points"].get(point) for r in results]
    values = [v for v in values if v is not None]
    return (sum(values), len(values))


def table(groups):
    print(f"{'':14s} {'cases':>5s} " + " ".join(f"{title:>16s}" for _, title in POINTS) + f" {'all right':>12s}")
    for name, results in groups:
        cells = []
        for point, _ in POINTS:
            good, n = rate(results, point)
            cells.append(f"{good:4d}/{n:<4d}{good / n:6.1%}" if n else "-")
        whole = sum(all(v is not False for v in r["points"].values()) for r in results)
        print(f"{name:14s} {len(results):5d} " + " ".join(f"{c:>16s}" for c in cells) +
              f" {whole / max(1, len(results)):12.1%}")


def explain(case, result):
    said = result["said"]
    wrong = [title for point, title in POINTS if result["points"].get(point) is False]
    print(f"{case['name']}: {', '.join(wrong)}")
    print(f"  truth: {'|'.join(case['cls'])} roots {case['roots']} first {case['first']}")
    print(f"  said:  {said['cls']} roots {said['roots']} {said.get('confidence')} exit {said['exit']}: "
          f"{said['line'] or said['error']}")
    for name, cls, roots in result["moved"][:8]:
        print(f"  {name}: {cls} {roots}")


def least(text):
    """The rate that each point must reach."""
    if "=" not in text:
        return {point: float(text) for point, _ in POINTS}
    return {point: float(value) for point, value in (item.split("=") for item in text.split(","))}


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("program")
    args.add_argument("--part", default="all")
    args.add_argument("--only", default="")
    args.add_argument("--shuffle", type=int, default=0)
    args.add_argument("--verbose", action="store_true")
    args.add_argument("--json")
    args.add_argument("--least", type=least, default={}, help="0.95, or point=rate,... of " +
                      ", ".join(p for p, _ in POINTS))
    args.add_argument("--write", help="only write the cases' files here")
    args.add_argument("--no-traces", action="store_true", help="leave out the folders of traces")
    args.add_argument("-j", type=int, default=2)
    args = args.parse_args()
    todo = [c for c in load(args.part) if args.only in c["name"]]
    if args.write:
        for case in todo:
            lay(case, os.path.join(args.write, case["name"]))
        return 0
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        results = list(pool.map(lambda c: one(args.program, c, args.shuffle, work), todo))
        beside = (0, 0) if args.no_traces or args.only else beside_traces(args.program, work, args.verbose)
    if args.verbose:
        for case, result in zip(todo, results):
            if any(v is False for v in result["points"].values()):
                explain(case, result)
    if args.json:
        with open(args.json, "w") as out:
            json.dump(results, out, indent=1)
    groups = []
    for part in sorted({c["part"] for c in todo}):
        groups.append((f"dead, {part}", [r for r, c in zip(results, todo) if c["part"] == part and c["cls"] != ["healthy"]]))
        groups.append((f"healthy, {part}", [r for r, c in zip(results, todo) if c["part"] == part and c["cls"] == ["healthy"]]))
    groups = [g for g in groups if g[1]] + [("all", results)]
    table(groups)
    if beside[1]:
        print(f"folders of traces with code, notes and configuration beside them: {beside[0]} of {beside[1]} unchanged")
    low = [f"{title} {good / n:.1%} < {args.least[point]:.0%}" for point, title in POINTS
           for good, n in [rate(results, point)] if n and good / n < args.least.get(point, 0)]
    if beside[1] and beside[0] / beside[1] < args.least.get("clutter", 0):
        low.append("folders of traces")
    if low:
        print("too low:", "; ".join(low))
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
