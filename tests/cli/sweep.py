# SPDX-License-Identifier: Apache-2.0
"""What each format says of many runs: what is found, on whom, at what cost and where the time went, all
else as a digest per section, so that a golden file can hold many and a difference shows which part of
which run changed.

sweep.py INQUEST runs|pairs|pages|tables < LINES
sweep.py INQUEST logs|traces PATH...

A line is GRID SPEC...: runs of 'inquest synth' and, in us, the grid that their times are rounded down to
(0: as they are). Of a pair the second run is compared with the first, and checked against it. Tables are
those for programs, and the figures of HTA and TraceLens. Events of a rounded run touch, begin together, last equally long or no time at all, and what
is compared with a bound meets it. A folder holds the logs of a run; by its name they are also read
without times, or the end of each alone.
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zlib

INQUEST = sys.argv[1]
VERSION = subprocess.run([INQUEST, "--version"], capture_output=True, text=True).stdout.split()[1]
ALWAYS = "layers=4,steps=6,lean=1,cpu_ops=0,gz=0"
FINDING = "id severity confidence cost_ns_per_step gain_interval_ns measured expected".split()
QUESTIONS = ("rank=0:fix", "rank=1:speed=2", "stage=0:factor=0.5", "type=compute:factor=0.9", "type=p2p:fix", "dp=1:keep")
PARTS = (("-r", "1"), ("-s", "11..12"), ("-s", "10"), ("--time", "5ms~20ms"))
NAMED = ("class", "subclass", "confidence", "root_ranks", "victim_ranks")
SHOWN = {"schema", "tool", "name", "options", "verdict", "headline", "reason", "baseline"}


def say(*arguments):
    said = subprocess.run([INQUEST, *arguments, "-q", "-j", "1"], capture_output=True, text=True)
    return (said.stdout or json.dumps({"refused": said.stderr.strip()})).replace(VERSION, "VERSION")


def digest(value):
    """The value itself where it is short."""
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return text if len(text) <= 12 else hashlib.sha256(text.encode()).hexdigest()[:6]


def round_down(folder, grid):
    for name in os.listdir(folder):
        if name.endswith(".pt.trace.json"):
            path = os.path.join(folder, name)
            try:
                with open(path, encoding="utf-8") as file:
                    trace = json.load(file)
            except ValueError:  # cut: stays as it is
                continue
            for event in trace["traceEvents"]:
                if "ts" in event:
                    begins = event["ts"] // grid * grid
                    if "dur" in event:
                        event["dur"] = (event["ts"] + event["dur"]) // grid * grid - begins
                    event["ts"] = begins
            with open(path, "w", encoding="utf-8") as file:
                json.dump(trace, file)


def parts(document, path=""):
    """(name, value) of every section, and of every part of those that hold several."""
    for key, value in document.items():
        if path == "" and key in SHOWN:
            continue
        if isinstance(value, dict) and value:
            yield from parts(value, f"{path}{key}.")
        else:
            yield path + key, value


def make(folder, grid, spec):
    shutil.rmtree(folder, ignore_errors=True)
    say("synth", f"{ALWAYS},{spec}", "-o", folder)
    if grid:
        round_down(folder, grid)


def show_run(grid, spec):
    make("run", grid, spec)
    show_report("run")
    show_sections({"fix": json.loads(say("fix", "run", "-f", "json"))})


def show_report(path):
    said = json.loads(say("analyze", path, "-f", "json"))
    if "verdict" not in said:
        show_sections({"refused": said.get("message", said)})
        return
    print(said["verdict"]["headline"] if said["verdict"] else "no verdict")
    for finding in said["findings"]:
        print(" ", *(json.dumps(finding.get(k), separators=(",", ":")) for k in FINDING))
    if said.get("account"):
        print("  classes", *(c["ns"] for c in said["account"]["classes"]))
    show_sections(said)
    for what in "text", "markdown", "perfetto":
        text = say("analyze", path, "-v", "-f", what)
        print(f"  {what}: {digest(text)} {len(text.splitlines())} lines")


def show_sections(document):
    sections = {}
    for name, value in parts(document):
        section, _, part = name.partition(".")
        sections.setdefault(section, []).append((part + " " if part else "") + digest(value))
    for section, digests in sections.items():
        print(f"  {section}:", ", ".join(digests))


def show_pair(grid, before, after):
    make("before", grid, before)
    make("after", grid, after)
    say("check", "before", "--baseline", "before.json", "--update", "--force")
    compared = json.loads(say("compare", "before", "after", "-f", "json"))
    checked = json.loads(say("check", "after", "--baseline", "before.json", "-f", "json"))
    print(compared["headline"], compared["reason"])
    print(" ", *(f"{loss['cause']} {loss['loss_ns']}" for loss in compared["losses"] if loss["loss_ns"]))
    for cause in compared["causes"]:
        print("  cause", *(json.dumps(cause[key]) for key in ("ns", "in_order_ns", "text")))
    print(checked.get("headline", "nothing to compare"))
    for check in checked.get("checks", ()):
        print(" ", *(json.dumps(check[key]) for key in ("name", "outcome", "baseline", "value", "limit", "low", "high")))
    show_sections(compared)
    show_sections(checked)
    with open("before.json", encoding="utf-8") as file:
        show_sections({"record": json.loads(file.read().replace(VERSION, "VERSION"))})
    for what in "text", "markdown":
        print(f"  compare {what}: {digest(say('compare', 'before', 'after', '-v', '-f', what))}")
    for what in "text", "markdown", "junit", "github", "gitlab", "sarif":
        print(f"  check {what}: {digest(say('check', 'after', '--baseline', 'before.json', '-f', what))}")


def show_page(grid, spec):
    make("run", grid, spec)
    for command in "analyze", "fix":
        say(command, "run", "-o", "page.html")
        with open("page.html", encoding="utf-8") as file:
            page = file.read()
        data = {i: json.loads(d) for i, d in re.findall(r'<script type="application/json" id="(.*?)">(.*?)</script>', page, re.S)}
        rest = re.sub(r"<script.*?</script>", "", page, flags=re.S).replace(VERSION, "VERSION")
        print(f"  {command}: {digest(rest)}", *(f"{name} {digest(data[name])}" for name in data if name != "inq-timeline"))
        for timeline in filter(None, data["inq-timeline"]):
            for window in timeline.pop("windows"):
                rows = window.pop("rows", [])
                print("  window", *(f"{k}={digest(v)}" for k, v in window.items()), f"rows={digest(rows)}", len(rows))
            print("  timeline", *(f"{k}={digest(v)}" for k, v in timeline.items()))


TIME = re.compile(r"[\[(]?\b(20\d\d[-/.]\d\d[-/.]\d\d[ T_])?\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:?\d\d)?[\])]?:? ?")
LAST_LINES = 6


def read_otherwise(folder, into, no_times):
    """Lays the logs as a reader may be given them: without times, or the last lines of each."""
    shutil.rmtree(into, ignore_errors=True)
    for base, _, names in os.walk(folder):
        os.makedirs(into + base[len(folder):], exist_ok=True)
        for name in names:
            with open(os.path.join(base, name), "rb") as file:
                lines = file.read().decode("latin-1").splitlines(keepends=True)
            if no_times:
                lines = [TIME.sub("", line) for line in lines]
            else:
                lines = lines[-LAST_LINES:]
            with open(os.path.join(into + base[len(folder):], name), "wb") as file:
                file.write("".join(lines).encode("latin-1"))


def show_logs(name, folder):
    said = json.loads(say("analyze", folder, "-f", "json"))
    failure = said.get("failure")
    sections = {k: v for k, v in (failure or {}).items() if isinstance(v, (list, dict)) and v and k not in NAMED}
    print(name, *(str(failure[key]) if key in NAMED[:2] else digest(failure[key]) for key in NAMED) if failure else "-",
          *(f"{key}:{digest(sections[key])}" for key in sections),
          f"training:{digest(said['training'])}" if said.get("training") else "", f"text:{digest(say('analyze', folder))}")


def show_tables(grid, spec):
    make("run", grid, spec)
    names = dict.fromkeys(line.split(",")[0] for line in say("analyze", "run", "--table", "list").splitlines()[1:])
    for name in names:
        rows = say("analyze", "run", "-f", "csv", "--table", name)
        if len(rows.splitlines()) > 1:
            print(f"  {name}: {len(rows.splitlines()) - 1} rows {digest(rows)}")
    for method in "hta", "tracelens":
        said = json.loads(say("analyze", "run", "-f", "json", "--method", method))
        show_sections({method: said["method"]})
    asked = [f"--what-if={question}" for question in QUESTIONS]
    show_sections({"whatif": json.loads(say("analyze", "run", "-f", "json", "--only", "whatif", *asked))})
    for part in PARTS:
        print(f"  {' '.join(part)}: {digest(say('analyze', 'run', '-v', *part))}")


SHOWS = {"tables": show_tables, "runs": show_run, "pairs": show_pair, "pages": show_page}
for line in sys.stdin if sys.argv[2] in SHOWS else ():
    every, *runs = line.split()
    print("====", " and ".join(runs) + (f", every {every} us" if every != "0" else ""))
    SHOWS[sys.argv[2]](int(every), *runs)
for path in sys.argv[3:] if sys.argv[2] == "traces" else ():
    print("====", path)
    show_report(path)
for case in sys.argv[3:] if sys.argv[2] == "logs" else ():
    number = zlib.crc32(case.encode())
    if number % 2:  # the others are in failures_figures and failures_evidence
        show_logs(case, case)
    if number % 3 == 0:
        read_otherwise(case, "otherwise", number % 4 < 2)
        show_logs(f"{case}, " + ("no times" if number % 4 < 2 else "ends"), "otherwise")
