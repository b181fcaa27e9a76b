#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables for programs say what the JSON says, and their documents say what they are.

    tables.py INQUEST SOURCE_DIR [--update]

Over the sample runs: every row of CSV is the row of SQLite; tables that JSON also has hold the same
values; keys hold. The manual's list of tables is that of `--table list` (--update rewrites it), and
the queries of README.md run in the sqlite3 program and answer something.
"""
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

inquest, source = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
update = "--update" in sys.argv[3:]
problems = []


def run(*arguments):
    done = subprocess.run([inquest, "analyze", "-q", *arguments], stdout=subprocess.PIPE, check=True)
    return done.stdout.decode()


def expect(what, got, wanted):
    if got != wanted:
        where = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
        problems.append(f"{what}: {len(got)} and {len(wanted)} rows, first difference in row {where}:\n"
                        f"  {got[where:where + 1]}\n  {wanted[where:where + 1]}")


# ---- the same values as in JSON: table -> (rows of a report, {column: key}) ------------------------

def keys(*names, **renamed):
    return {**{name: name for name in names}, **renamed}


def classes(report):
    return report.get("account", {}).get("classes", [])


def evidence(report):
    return [{**e, "position": i} for i, f in enumerate(report.get("findings", [])) for e in f["evidence"]]


def kernels(report):
    groups = report.get("kernels", {})
    return [{**row, "grouped_by": by} for by in ("kernel", "operator", "module", "source")
            for row in groups.get("by_" + by, [])]


def causes(report):
    rows = report.get("account", {}).get("causes", [])
    return [{**c, "low": (c["gain_interval_ns"] or [None])[0],
             "high": (c["gain_interval_ns"] or [None, None])[1]} for c in rows]


def idle(report):
    return [{**r, **{"idle_" + k: v for k, v in (r["idle"] or {}).items()}} for r in report.get("ranks", [])]


def failure(report):
    return [report["failure"]] if "failure" in report else []


COLLECTIVES = keys("op", "group_size", "count", "bytes", "transfer_ns_median", "skew_ns_median",
                   "wait_ns", "algbw_gbps", "busbw_gbps", group_name="group")
SAME = {
    "files": (lambda r: r["inputs"]["files"],
              keys("path", "format", "bytes", "bytes_uncompressed", "events", "events_kept", "reason")),
    "file_damage": (lambda r: [d for f in r["inputs"]["files"] for d in f["damage"]],
                    keys("kind", "count", "first_offset")),
    "steps": (lambda r: r.get("steps", []), keys("step", "start_ns", "dur_ns")),
    "findings": (lambda r: r.get("findings", []),
                 keys("id", "kind", "severity", "confidence", "title", "detail", "advice", "ranks", "stages",
                      "cost_ns_per_step", "share", "measured", "expected")),
    "finding_fixes": (lambda r: [{"spec": s} for f in r.get("findings", []) for s in f["fixes"]], keys("spec")),
    "evidence": (evidence, keys("position", "rank", "lane", "start_ns", "end_ns", "what")),
    "failures": (failure, keys("class", "subclass", "confidence", "headline", "root_ranks", "victim_ranks",
                               "missing_ranks", "seq", "op", "sizes", "advice", group_name="group")),
    "failure_evidence": (lambda r: [e for f in failure(r) for e in f["evidence"]],
                         keys("rank", "file", "line", "what", "text")),
    "classes": (classes, keys("class", "ns", "share", "total_ns")),
    "class_parts": (lambda r: [{**p, "class": c["class"]} for c in classes(r) for p in c["parts"]],
                    keys("class", "what", "total_ns")),
    "causes": (causes, keys("id", "cause", "ranks", "stages", "ns", "gain_alone_ns", "gain_in_order_ns",
                            "confidence", "fix", gain_low_ns="low", gain_high_ns="high")),
    "rank_times": (idle, keys("rank", "span_ns", "compute_ns", "exposed_comm_ns", "exposed_memcpy_ns",
                              "idle_ns", "comm_ns", "comm_overlap_ns", "overlap_pct", "idle_host_ns",
                              "idle_kernel_ns", "idle_other_ns")),
    "collective_ops": (lambda r: r.get("collectives", {}).get("by_op", []), COLLECTIVES),
    "rank_waits": (lambda r: r.get("collectives", {}).get("waits", []),
                   keys("rank", "wait_ns", "last_arrivals", "first_arrivals", "collectives")),
    "kernels": (kernels, keys("grouped_by", "name", "count", "total_ns", "share", "min_ns", "max_ns", "ranks",
                              "least_rank", "least_rank_ns", "most_rank", "most_rank_ns", "shapes")),
    "waterfall": (lambda r: r.get("pipeline", {}).get("waterfall", []), keys("cause", "ns_per_step")),
    "pipeline_stages": (lambda r: r.get("pipeline", {}).get("per_stage", []),
                        keys("stage", "forward_ns", "backward_ns", "busy_ns", "bubble_ns", "compute_ns",
                             "p2p_ns", "sync_ns", "other_ns", "idle_ns")),
    "pipelines": (lambda r: [r["pipeline"]] if "pipeline" in r else [],
                  keys("schedule", "confidence", "source", "stages", "microbatches", "chunks", "replicas",
                       "bubble_ratio", "bubble_ratio_theory", "total_ns_per_step")),
    "critical_path": (lambda r: r.get("critical_path", {}).get("segments", []),
                      keys("rank", "kind", "what", "start_ns", "end_ns")),
    "accounts": (lambda r: [{**r["account"], "ranks_judged": r["account"]["steps"]["ranks"],
                             "steps_judged": r["account"]["steps"]["judged"]}] if "t_ns" in r.get("account", {}) else [],
                 keys("t_ns", "rank_time_ns", "ranks_judged", "steps_judged", "unexplained_wait_ns",
                      "ideal_ns", "residual_ns", "base_error", "gains_problem")),
    "runs": (lambda r: [{**r, **r["verdict"], "world": r["inputs"]["world_size"], "origin": r["inputs"]["origin_ns"]}],
             keys("name", "headline", "class", "lost_ns_per_step", "confidence", world_size="world", origin_ns="origin")),
}
# runs of which every table is also read as CSV; they fill all but those of failures
ALL_CSV = {"slow_gpu_dp8", "pipeline_pp4_long_last", "bad_mixed", "lock_gil_1st"}
# what JSON does not hold row by row
ONLY_TABLES = {"ranks", "lanes", "skipped", "rank_classes", "waits", "collectives", "arrivals", "pipeline_ops"}


def flat(value):
    if value is None or value == "":
        return None
    if isinstance(value, list):
        return json.dumps(value, separators=(",", ":"))
    return int(value) if isinstance(value, bool) else value


def near(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and abs(a - b) <= 1e-8 * max(abs(a), abs(b))  # JSON has nine digits
    return a == b


def same_as_json(run_name, db, reports):
    for table, (rows_of, columns) in SAME.items():
        names = ", ".join(f'"{c}"' for c in columns)
        got = db.execute(f"SELECT {names} FROM {table} ORDER BY rowid").fetchall()
        wanted = [tuple(flat(row.get(key)) for key in columns.values()) for r in reports for row in rows_of(r)]
        if len(got) != len(wanted) or not all(near(x, y) for a, b in zip(got, wanted) for x, y in zip(a, b)):
            expect(f"{run_name}, {table} in SQLite and JSON", got, wanted)


def same_as_csv(run_name, path, db, table, columns):
    text = run(path, "-f", "csv", "--table", table)
    rows = list(csv.reader(io.StringIO(text, newline="")))
    expect(f"{run_name}, header of {table}", rows[:1], [columns])
    got = rows[1:]
    wanted = [["" if v is None else format(v, ".17g") if isinstance(v, float) else str(v) for v in row]
              for row in db.execute(f"SELECT * FROM {table} ORDER BY rowid")]
    expect(f"{run_name}, {table} in CSV and SQLite", got, wanted)


def check_run(path, work):
    name = os.path.basename(path.rstrip("/"))
    file = os.path.join(work, name + ".sqlite")
    run(path, "-o", file)
    document = json.loads(run(path, "-v", "-f", "json"))
    reports = document.get("runs", [document])
    db = sqlite3.connect(file)
    expect(f"{name}, foreign keys", db.execute("PRAGMA foreign_key_check").fetchall(), [])
    expect(f"{name}, integrity", db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
    tables = {}
    for table, column in db.execute('SELECT "table", "column" FROM columns ORDER BY rowid'):
        tables.setdefault(table, []).append(column)
    expect("tables that the test knows", sorted(tables), sorted(ONLY_TABLES | set(SAME)))
    for table, columns in tables.items() if name in ALL_CSV else ():
        same_as_csv(name, path, db, table, columns)
    same_as_json(name, db, reports)
    waits = db.execute("SELECT SUM(ns) FROM rank_classes WHERE class IN ('wait', 'dependency')").fetchone()
    stretches = db.execute("SELECT SUM(end_ns - start_ns) FROM waits").fetchone()
    if any(waits) or any(stretches):
        expect(f"{name}, waits and their class", [stretches], [waits])
    view = db.execute("SELECT rank_id, SUM(wait_ns) FROM collective_arrivals GROUP BY job, rank_id").fetchall()
    summed = db.execute("SELECT rank_id, wait_ns FROM rank_waits ORDER BY job, rank_id").fetchall()
    if name == "slow_gpu_dp8":  # every collective is complete there and its ends agree
        expect(f"{name}, waits of arrivals", view, summed)
    db.close()
    return file


# ---- documents -----------------------------------------------------------------------------------

def manual():
    rows = list(csv.DictReader(io.StringIO(run("--table", "list"), newline="")))
    out = []
    escape = lambda text: text.replace("\\", "\\e")
    for row in rows:
        if row["column"] == "":
            text, key = row["definition"].rsplit("; key: ", 1)
            out += [".Ss " + row["table"], escape(text[0].upper() + text[1:]) + ".", "Key: " + key + "."]
            out += [".Bl -tag -width Ds"]
            fresh = True
        else:
            unit = f" {row['unit']}" if row["unit"] else ""
            out += [f".It Cm {row['column']} Pq {row['type']}{unit}", escape(row["definition"]) + "."]
    text, open_list = [], False
    for line in out:
        if line.startswith(".Ss") and open_list:
            text.append(".El")
        open_list = open_list or line.startswith(".Bl")
        text.append(line)
    return "\n".join(text + [".El"]) + "\n"


def check_manual():
    page = os.path.join(source, "analyzer/man/inquest-sqlite.5")
    text = open(page, encoding="utf-8").read()
    head, rest = text.split('.\\" tables begin\n')
    body, tail = rest.split('.\\" tables end\n')
    if update:
        with open(page, "w", encoding="utf-8") as file:
            file.write(head + '.\\" tables begin\n' + manual() + '.\\" tables end\n' + tail)
    elif body != manual():
        problems.append("inquest-sqlite.5 is not what --table list says: tests/cli/tables.py INQUEST . --update")


def check_queries(databases):
    program = shutil.which("sqlite3")
    readme = open(os.path.join(source, "README.md"), encoding="utf-8").read()
    block = re.search(r"```sql\n(.*?)```", readme, re.S).group(1)
    queries = [q for q in block.split(";\n") if q.strip()]
    if len(queries) < 5:
        problems.append(f"README.md has {len(queries)} queries, not five")
    if program is None:
        print("no sqlite3 program: the queries of README.md are not tried")
        return
    for query in queries:
        answered = False
        for file in databases:
            done = subprocess.run([program, file], input=query.encode() + b";", stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
            if done.returncode != 0:
                problems.append(f"a query of README.md fails: {done.stdout.decode()}\n{query}")
                break
            answered |= done.stdout.strip() != b""
        if not answered:
            problems.append(f"a query of README.md answers nothing on any sample:\n{query}")


def main():
    built = subprocess.run([inquest, "--version"], stdout=subprocess.PIPE, check=True).stdout
    if b"sqlite:  yes" not in built:
        print("skipped: no SQLite in this build")
        sys.exit(77)
    samples = os.path.join(source, "sample-traces")
    runs = sorted(entry.path for entry in os.scandir(samples) if entry.is_dir() and entry.name != "run")
    runs += [os.path.join(source, "tests/data", name) for name in ("ok_two_ranks", "bad_mixed", "bad_cut")]
    runs += [os.path.join(source, "..", "shared", "data", part)
             for part in ("flight/lock_gil_1st", "logs/01.txt", "whatif")]
    with tempfile.TemporaryDirectory() as work:
        databases = [check_run(path, work) for path in runs if os.path.exists(path)]
        check_manual()
        check_queries(databases)
    for problem in problems:
        print(problem)
    print(f"{len(databases)} runs")
    sys.exit(1 if problems else 0)


main()
