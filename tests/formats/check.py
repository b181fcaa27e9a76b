#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same simulated run in every format: the same faults, and the same account.

    check.py INQUEST

Runs of `inquest synth` with and without planted faults are written in the other formats
(convert.py), and each is analyzed. Of a format must agree with Kineto's report: what is found above
info, on which ranks; the classes of the account that the format records."""
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RUN = "dp=8,gpus_per_host=4,steps=5,layers=4,seed=11"
FAULTS = {
    "healthy": "",
    "slow device": ",fault=slow_gpu:rank=5:factor=1.3",
    "late host": ",fault=late_host:rank=2:delay=4ms",
    "slow link": ",fault=slow_link:rank=6:factor=3",
}
# format: what it does not record
FORMATS = {
    "xspace-gpu1": [],
    "xspace-gpu": [],
    "xspace-tpu": ["launches"],
    "ascend": [],
    "rocprof": ["launches"],
    "rocprofv3": [],
    "ascend-kernels": ["launches"],
    "musa": [],
    "mtia": [],
    "xpu": [],
    "chakra": [],
    "chakra-json": [],
    "inspector": ["launches", "compute"],
    "inspector-batches": ["launches", "compute"],
    "nccl-profiler": ["launches", "compute"],
    "nccl-profiler-proxies": ["launches", "compute"],
    "cpu": [],
    "cpu-legacy": ["sizes"],
}
# parts of a step's time by which a format may differ: it marks steps elsewhere
NEAR = 0.02


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def report(inquest, folder):
    doc = json.loads(run(inquest, "analyze", "-q", "-f", "json", folder))
    assert doc["schema"] == "inquest-report/1", "%s: %d jobs" % (folder, len(doc.get("runs", [])))
    return doc


def faults(doc):
    return {(f["kind"], tuple(f["ranks"])) for f in doc["findings"] if f["severity"] != "info"}


def times(doc):
    """Per rank and step, by class; idle of the host counts as idle where launches are missing."""
    out = {}
    for row in doc["account"]["classes"]:
        out[row["class"]] = out.get(row["class"], 0) + row["ns"]
    return out


def compare(name, lacks, kineto, other):
    bad = []
    expected, found = faults(kineto), faults(other)
    # an idle device is all that a late host leaves; larger kernels and a slow device look alike
    if lacks:
        expected = {r for _, r in expected}
        found = {r for _, r in found}
    if expected != found:
        bad.append("finds %s, Kineto's %s" % (sorted(found), sorted(expected)))
    # what repairing it would gain hangs on what waited for what: launches, and the host for its device
    costs = [{f["id"]: f["cost_ns_per_step"] for f in doc["findings"] if f["severity"] != "info"} for doc in (kineto, other)]
    # a CPU's operators are launched by nobody
    launched = "launches" not in lacks and not name.startswith("cpu")
    for key in costs[0].keys() & costs[1].keys() if launched else ():
        if abs(costs[0][key] - costs[1][key]) > NEAR * kineto["account"]["t_ns"]:
            bad.append("%s costs %d ns, Kineto's %d" % (key, costs[1][key], costs[0][key]))
    theirs, own = times(kineto), times(other)
    total = sum(theirs.values())
    # what compute covers is not known where compute is not recorded
    for key in () if "compute" in lacks else ("compute", "transfer", "wait", "unclassified"):
        apart = abs(theirs.get(key, 0) - own.get(key, 0))
        if apart > NEAR * total:
            bad.append("%s: %d ns, Kineto's %d" % (key, own.get(key, 0), theirs.get(key, 0)))
    if kineto["collectives"]["matched"] != other["collectives"]["matched"]:
        bad.append("%d collectives matched" % other["collectives"]["matched"])
    for line in bad:
        print("%s: %s" % (name, line))
    return not bad


def smi(path, gpus, slow, clock=1170):
    """As `nvidia-smi --query-gpu=... --format=csv -l 1` beside the run; `slow`: a GPU too hot."""
    with open(path, "w") as file:
        file.write("timestamp, index, clocks.current.sm [MHz], temperature.gpu, ")
        file.write("clocks_throttle_reasons.active\n")
        for second in range(4):
            for gpu in range(gpus):
                row = (clock, 88, 0x40) if gpu == slow else (1980, 64, 0)
                file.write("2026/01/15 08:00:0%d.000, %d, %d MHz, %d, 0x%016x\n" % (second, gpu, *row))


def telemetry(inquest, folder):
    """A slow device with a low clock, and one with a clock as all others have it: one is low that is
    more than 3 % below the others', of 1,980 MHz that is below 1,920.6."""
    bad = 0
    level = "the clock is not the reason"
    for slow, clock, text in ((1, 1170, "1,170 MHz"), (-1, 1980, level), (1, 1920, "1,920 MHz"), (1, 1921, level)):
        smi(os.path.join(folder, "gpus-node-00.csv"), 4, -1)
        smi(os.path.join(folder, "gpus-node-01.csv"), 4, slow, clock)
        finding = report(inquest, folder)["findings"][0]
        hot = "HW thermal slowdown active" in finding["detail"]
        low = level not in finding["detail"]
        wrong = text not in finding["detail"] or low == (text == level) or (clock < 1920 and not hot)
        if finding["kind"] != "slow_gpu" or wrong:
            print("telemetry: %s" % finding["detail"])
            bad += 1
    return bad == 0


def beside(inquest, source, kind, folder, how):
    """A run's files and those of another form beside them tell the same of it as its files alone, and
    `how` its collectives ran: algorithm and channels."""
    shutil.copytree(source, folder)
    run(sys.executable, os.path.join(HERE, "convert.py"), kind, source, folder)
    alone, both = report(inquest, source), report(inquest, folder)
    told = [(row.pop("algorithm"), row.pop("channels")) for row in both["collectives"]["by_op"]]
    none = [(row.pop("algorithm"), row.pop("channels")) for row in alone["collectives"]["by_op"]]
    if set(told) != {how} or set(none) != {(None, None)}:
        print("%s beside traces: algorithms and channels %s, without %s" % (kind, told, none))
        return False
    return all(alone[key] == both[key] for key in ("findings", "collectives", "account"))


def agreement(inquest, folder):
    """(operations, found in the traces beside them, of another size, of another duration), by file"""
    skipped = json.loads(run(inquest, "info", "-f", "json", folder))
    skipped = skipped["runs"][0]["skipped"] if "runs" in skipped else skipped["skipped"]
    rows = {}
    for row in skipped:
        text = re.search(r"(\d+) of (\d+) found there, (\d+) of another size, (\d+) of another duration", row["reason"])
        if text:
            found, n, sizes, durations = map(int, text.groups())
            rows[os.path.basename(row["path"])] = (n, found, sizes, durations)
    return rows


def agree(inquest, folder):
    """Beside traces, 99 % of the operations are found in these, and what differs is told: nothing, until
    a file's sizes are doubled and another's operations last twice as long."""
    rows = agreement(inquest, folder)
    n, found = (sum(row[i] for row in rows.values()) for i in range(2))
    good = len(rows) == 8 and found >= 0.99 * n and not any(row[2] or row[3] for row in rows.values())
    if not good:
        print("%s: found in the traces beside: %s" % (folder, rows))
    logs = sorted(glob.glob(os.path.join(folder, "*.log")))
    for path, key in zip(logs, ("coll_msg_size_bytes", "coll_exec_time_us")):
        with open(path) as file:
            text = re.sub(r'("%s": )(\d+)' % key, lambda m: m[1] + str(2 * int(m[2])), file.read())
        with open(path, "w") as file:
            file.write(text)
    rows = agreement(inquest, folder) if logs else {}
    for place, path in enumerate(logs):
        sizes, durations = rows[os.path.basename(path)][2:]
        if (sizes > 0) != (place == 0) or (durations > 0) != (place == 1):
            print("inspector: %s differs in %d sizes and %d durations" % (path, sizes, durations))
            good = False
    return good


def sizes(inquest, source, folder):
    """Traces that did not record sizes get them from the records beside them."""
    shutil.copytree(source, folder)
    run(sys.executable, os.path.join(HERE, "convert.py"), "inspector", source, folder)
    for path in glob.glob(os.path.join(folder, "*.trace.json.gz")):
        with gzip.open(path, "rt") as file:
            text = re.sub(r'"(In msg nelems|Out msg nelems|dtype)": *("[^"]*"|\d+),? *', "", file.read())
        with gzip.open(path, "wt", compresslevel=1) as file:
            file.write(re.sub(r",(\s*})", r"\1", text))
    alone, both = report(inquest, source), report(inquest, folder)
    if [row["bytes"] for row in alone["collectives"]["by_op"]] == [row["bytes"] for row in both["collectives"]["by_op"]]:
        return True
    print("inspector: traces without sizes do not get those of the records")
    return False


def inspector(inquest, source, work):
    """Records beside the traces of the same run add nothing to it; those without times are counted."""
    good = beside(inquest, source, "inspector", os.path.join(work, "beside"), ("RING SIMPLE", 2))
    if not good:
        print("inspector: records beside traces change the report")
    if not beside(inquest, source, "nccl-profiler", os.path.join(work, "beside-dumps"), ("RING SIMPLE", 2)):
        print("nccl-profiler: dumps beside traces change the report")
        good = False
    good = agree(inquest, os.path.join(work, "beside")) and good
    good = sizes(inquest, source, os.path.join(work, "sizes")) and good
    good = agree(inquest, os.path.join(work, "beside-dumps")) and good
    records, parts = os.path.join(work, "records"), os.path.join(work, "parts")
    run(sys.executable, os.path.join(HERE, "convert.py"), "inspector", source, records)
    run(inquest, "ingest", "-q", records, "-o", parts)
    skipped = json.loads(run(inquest, "info", "-f", "json", source, parts))["skipped"]
    if sum(os.path.exists(os.path.join(work, row["path"])) for row in skipped) != 9: # and truth.json
        print("inspector: partials beside traces lose their names: %s" % [row["path"] for row in skipped])
        good = False
    out = os.path.join(work, "untimed")
    run(sys.executable, os.path.join(HERE, "convert.py"), "inspector-untimed", source, out)
    text = run(inquest, "analyze", "-q", out).decode()
    if " ".join(text.split()).count("operations without times") < 1:
        print("inspector: records without times are not said to be: %s" % text)
        good = False
    # a link is told from transfers of the same size among other ranks, step by step
    links, out = os.path.join(work, "links"), os.path.join(work, "links-inspector")
    run(inquest, "synth", "-q", RUN.replace("dp=8", "dp=4,tp=4") + ",fault=slow_link:rank=3:factor=2", "-o", links)
    run(sys.executable, os.path.join(HERE, "convert.py"), "inspector", links, out)
    doc = report(inquest, out)
    if ("slow_link", (3,)) not in faults(doc) or not doc["steps"]:
        print("inspector: %d steps, finds %s, not the link of rank 3" % (len(doc["steps"]), faults(doc)))
        good = False
    # rank 4 is late for the data-parallel groups because rank 5 keeps it waiting in their own
    pairs, out = os.path.join(work, "pairs"), os.path.join(work, "pairs-inspector")
    run(inquest, "synth", "-q", RUN.replace("dp=8", "dp=4,tp=2") + ",fault=slow_gpu:rank=5:factor=1.15", "-o", pairs)
    run(sys.executable, os.path.join(HERE, "convert.py"), "inspector", pairs, out)
    named = sorted(ranks for _, ranks in faults(report(inquest, out)))
    if named != [(5,)]:
        print("inspector: names %s, not rank 5 alone" % named)
        good = False
    return good


def alike(name, one, other):
    """Of two formats that record the same facts: all findings, and every class of the account."""
    bad = []
    rows = [{(f["kind"], tuple(f["ranks"]), f["severity"]) for f in doc["findings"]} for doc in (one, other)]
    if rows[0] != rows[1]:
        bad.append("finds %s, not %s" % (sorted(rows[1]), sorted(rows[0])))
    theirs, own = times(one), times(other)
    for key in theirs.keys() | own.keys():
        if abs(theirs.get(key, 0) - own.get(key, 0)) > NEAR * sum(theirs.values()):
            bad.append("%s: %d ns, not %d" % (key, own.get(key, 0), theirs.get(key, 0)))
    if one["collectives"]["matched"] != other["collectives"]["matched"]:
        bad.append("%d collectives matched, not %d" % (other["collectives"]["matched"], one["collectives"]["matched"]))
    for line in bad:
        print("%s: %s" % (name, line))
    return not bad


def profiler(inquest, work):
    """The example profiler's dumps tell what the Inspector's records tell; of a process's communicators
    each has a file of its own."""
    good = True
    for fault in ("", ",fault=slow_gpu:rank=5:factor=1.15", ",fault=slow_link:rank=3:factor=2", ",fault=late_host:rank=6:delay=2ms"):
        source = os.path.join(work, "dumps" + fault[7:16])
        run(inquest, "synth", "-q", RUN.replace("dp=8", "dp=4,tp=2") + fault, "-o", source)
        docs = []
        for kind in ("inspector", "nccl-profiler", "nccl-profiler-proxies"):
            run(sys.executable, os.path.join(HERE, "convert.py"), kind, source, source + kind)
            docs.append(report(inquest, source + kind))
        planted = [(int(fault.split("rank=")[1].split(":")[0]),)] if fault else []
        if sorted(ranks for _, ranks in faults(docs[1])) != planted:
            print("nccl-profiler%s: names %s, not %s" % (fault, sorted(faults(docs[1])), planted))
            good = False
        good = alike("nccl-profiler" + fault, docs[0], docs[1]) and good
        good = alike("nccl-profiler-proxies" + fault, docs[1], docs[2]) and good
    # written down in parts, they are the same run; without the channels' kernels only launches are known
    parts = os.path.join(work, "dump-parts")
    run(inquest, "ingest", "-q", source + "nccl-profiler", "-o", parts)
    good = alike("nccl-profiler, in parts", docs[1], report(inquest, parts)) and good
    bare = os.path.join(work, "dump-bare")
    shutil.copytree(source + "nccl-profiler", bare)
    for path in glob.glob(os.path.join(bare, "*.json")):
        with open(path) as file:
            rows = [row for row in file if "KernelCh" not in row]
        with open(path, "w") as file:
            file.writelines(rows)
    text = run(inquest, "analyze", "-q", bare).decode()
    if "only the launch was recorded" not in " ".join(text.split()):
        print("nccl-profiler: launches are taken for operations: %s" % text)
        good = False
    return good


def graphs(inquest, source, work):
    """Chakra graphs beside the traces that they are of are no second run."""
    good = beside(inquest, source, "chakra", os.path.join(work, "graphs-beside"), (None, None))
    if not good:
        print("chakra: graphs beside traces change the report")
    return good


def untimed(inquest, name, source, kineto, work):
    """Graphs without times are placed by durations and dependencies: compute takes what it took. What
    the host does between its nodes is not in them, so no host is late."""
    out = os.path.join(work, "untimed-" + name.replace(" ", "-"))
    run(sys.executable, os.path.join(HERE, "convert.py"), "chakra-untimed", source, out)
    other = report(inquest, out)
    expected = {f for f in faults(kineto) if f[0] != "late_host"}
    apart = abs(times(other)["compute"] - times(kineto)["compute"])
    good = faults(other) == expected and apart <= NEAR * kineto["account"]["t_ns"]
    good = good and other["collectives"]["matched"] == kineto["collectives"]["matched"]
    if not good:
        print("chakra-untimed, %s: finds %s, compute %.0f ns apart" % (name, sorted(faults(other)), apart))
    return good


def tables(inquest, fault, source, kineto, work):
    """rocprofv3's tables of kernels: without steps, so only what is slow and who."""
    out = os.path.join(work, "rocprofv3-csv-" + fault.replace(" ", "-"))
    run(sys.executable, os.path.join(HERE, "convert.py"), "rocprofv3-csv", source, out)
    if {f for f in faults(report(inquest, out)) if f[0] == "slow_gpu"} == faults(kineto):
        return True
    print("rocprofv3-csv, %s: finds %s" % (fault, sorted(faults(report(inquest, out)))))
    return False


def main():
    inquest = os.path.abspath(sys.argv[1])
    good = True
    with tempfile.TemporaryDirectory() as work:
        for fault, spec in FAULTS.items():
            source = os.path.join(work, "kineto-" + fault.replace(" ", "-"))
            run(inquest, "synth", "-q", RUN + spec, "-o", source)
            kineto = report(inquest, source)
            for name, lacks in FORMATS.items():
                out = os.path.join(work, name + fault.replace(" ", "-"))
                run(sys.executable, os.path.join(HERE, "convert.py"), name, source, out)
                other = report(inquest, out)
                good = compare("%s, %s" % (name, fault), lacks, kineto, other) and good
            good = untimed(inquest, fault, source, kineto, work) and good
            if fault == "late host":
                good = inspector(inquest, source, work) and good
            if fault in ("slow device", "healthy"):
                good = tables(inquest, fault, source, kineto, work) and good
            if fault == "slow device":
                good = graphs(inquest, source, work) and good
                good = telemetry(inquest, source) and good
        good = profiler(inquest, work) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
