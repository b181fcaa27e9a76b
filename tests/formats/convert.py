#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A synthetic run (inquest synth) as other profilers would have recorded it.

    convert.py FORMAT KINETO_DIR OUT_DIR

Each writer follows the documentation of its format and knows the run only from its Kineto files,
so that what a format can say of a run is compared with what Kineto says of the same run.
"""
import glob
import gzip
import json
import os
import re
import struct
import sys

import chakra
import devices
import inspector
import nccl_profiler

BASE = "baseTimeNanoseconds"


def ns(text_us):
    return round(float(text_us) * 1000)


class Rank:
    """One Kineto file: complete events with times in ns since the epoch."""

    def __init__(self, path):
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path) as file:
            doc = json.load(file)
        info = doc["distributedInfo"]
        self.rank, self.world = info["rank"], info["world_size"]
        self.groups = {g["pg_name"]: g["ranks"] for g in info.get("pg_config", [])}
        self.host = doc.get("host_name", "node-00")
        self.base = int(doc.get(BASE, 0))
        self.events = []
        for event in doc["traceEvents"]:
            if event.get("ph") == "X":
                event["start"] = ns(event["ts"])
                event["end"] = event["start"] + ns(event.get("dur", 0))
                self.events.append(event)

    def of(self, *categories):
        return [e for e in self.events if e.get("cat") in categories]


def load(folder):
    ranks = [Rank(p) for p in glob.glob(os.path.join(folder, "*.pt.trace.json*"))]
    return sorted(ranks, key=lambda r: r.rank)


def by_host(ranks, per_host):
    return [ranks[i : i + per_host] for i in range(0, len(ranks), per_host)]


# ---- protocol buffers -----------------------------------------------------------------------


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def blob(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


class Plane:
    """XPlane: tables of names behind the lines that use them."""

    def __init__(self, name):
        self.name, self.lines, self.metas, self.stats = name, [], {}, {}
        self.meta_stats = {}
        self.own = b""

    def meta(self, name, stats=()):
        if name not in self.metas:
            self.metas[name] = len(self.metas) + 1
            self.meta_stats[name] = b"".join(blob(5, self.stat(k, v)) for k, v in stats)
        return self.metas[name]

    def stat(self, key, value):
        index = self.stats.setdefault(key, len(self.stats) + 1)
        if isinstance(value, str):
            return number(1, index) + blob(5, value)
        return number(1, index) + number(4, value)

    def line(self, index, name, timestamp_ns, events):
        """events: (name, start_ns, end_ns, stats, metadata's stats)"""
        body = number(1, index) + blob(2, name) + number(3, timestamp_ns)
        for event, start, end, stats, meta_stats in events:
            row = number(1, self.meta(event, meta_stats))
            row += number(2, (start - timestamp_ns) * 1000) + number(3, (end - start) * 1000)
            row += b"".join(blob(4, self.stat(k, v)) for k, v in stats)
            body += blob(4, row)
        self.lines.append(body)

    def bytes(self):
        out = blob(2, self.name) + b"".join(blob(3, line) for line in self.lines)
        for name, index in self.metas.items():
            row = number(1, index) + blob(2, name) + self.meta_stats[name]
            out += blob(4, number(1, index) + blob(2, row))
        for name, index in self.stats.items():
            out += blob(5, number(1, index) + blob(2, number(1, index) + blob(2, name)))
        return out + self.own


def op_of(args):
    names = {
        "allreduce": "all-reduce",
        "_allgather_base": "all-gather",
        "_reduce_scatter_base": "reduce-scatter",
        "all_to_allv": "all-to-all",
        "all_to_all": "all-to-all",
    }
    return names.get(args.get("Collective name", ""), "all-reduce")


def is_comm(event):
    return event["cat"] == "kernel" and "nccl" in event["name"]


def dims(value):
    return ",".join(str(v) for v in value)


def hlo_of(rank, event, ordinal, seen):
    """The instruction as XLA prints it: what a TPU's op is called."""
    args = event["args"]
    op = op_of(args)
    group = rank.groups.get(args.get("Process Group Name"), list(range(rank.world)))
    elems = int(args.get("Out msg nelems", 1))
    seen[op] = seen.get(op, 0) + 1
    return "%%%s.%d = bf16[%d]{0} %s(bf16[%d]{0} %%p), replica_groups={{%s}}" % (
        op,
        ordinal,
        elems,
        op,
        int(args.get("In msg nelems", 1)),
        dims(group),
    )


def launch_id(device, args):
    """One process drives all devices of a host: its launches are numbered together."""
    return int(args["correlation"]) + device * 10**7


def device_steps(rank, start):
    """From the first to the last work that was launched within a mark of the host."""
    steps = []
    marks = [e for e in rank.of("user_annotation") if e["name"].startswith("ProfilerStep#")]
    work = sorted(rank.of("kernel"), key=lambda e: e["end"])
    launches = {e["args"].get("correlation"): e["start"] for e in rank.of("cuda_runtime", "cuda_driver")}
    for mark in marks:
        own = [
            e
            for e in work
            if mark["start"] <= launches.get(e["args"]["correlation"], 0) < mark["end"]
        ]
        if own:
            first, last = min(e["start"] for e in own), max(e["end"] for e in own)
            name = mark["name"].split("#")[1]
            steps.append((name, first - start, last - start, [], ()))
    return steps


def gpu_plane(rank, device, start, steps):
    plane = Plane("/device:GPU:%d" % device)
    streams = {}
    for event in rank.of("kernel", "gpu_memcpy", "gpu_memset"):
        args = event["args"]
        stats = [("correlation_id", launch_id(device, args))]
        name = event["name"]
        if event["cat"] == "kernel":
            details = "regs:32 grid:%s block:%s" % (
                dims(args.get("grid", [1, 1, 1])),
                dims(args.get("block", [1, 1, 1])),
            )
            stats.append(("kernel_details", details))
            stats.append(("hlo_op", op_of(args) + ".1" if is_comm(event) else "fusion.1"))
        else:
            name = "MemcpyH2D" if event["cat"] == "gpu_memcpy" else "Memset"
        row = (name, event["start"], event["end"], stats, ())
        streams.setdefault(int(args["stream"]), []).append(row)
    for stream, rows in sorted(streams.items()):
        rows = [(n, s - start, e - start, x, m) for n, s, e, x, m in rows]
        plane.line(stream, "Stream #%d(Kernel)" % stream, 0, rows)
    if steps:
        plane.line(1 << 40, "Steps", 0, device_steps(rank, start))
    return plane


def tpu_plane(rank, device, start):
    """No streams and no launches: one line of ops, one of steps."""
    plane = Plane("/device:TPU:%d" % device)
    ops, beside, seen = [], [], {}
    for event in rank.of("kernel"):
        row = (event["start"] - start, event["end"] - start)
        if is_comm(event):
            name = hlo_of(rank, event, len(beside) % 64, seen)
            beside.append((name, *row, [], [("hlo_category", op_of(event["args"]))]))
        else:
            name = "%%fusion.%d = bf16[%d]{0} fusion(bf16[8]{0} %%p)" % (
                sum(event["name"].encode()) % 1000,
                int(event["args"].get("grid", [1])[0]),
            )
            ops.append((name, *row, [], [("hlo_category", "loop fusion")]))
    plane.line(1, "Steps", 0, device_steps(rank, start))
    plane.line(2, "XLA Ops", 0, ops)
    plane.line(3, "Async XLA Ops", 0, beside)
    return plane


def host_plane(ranks, start):
    plane = Plane("/host:CPU")
    line = 0
    for place, rank in enumerate(ranks):
        threads = {}
        for event in rank.of("cuda_runtime", "cuda_driver"):
            stats = [("correlation_id", launch_id(place, event["args"]))]
            row = (event["name"], event["start"] - start, event["end"] - start, stats, ())
            threads.setdefault(event["tid"], []).append(row)
        for event in rank.of("user_annotation"):
            stats = ()
            if event["name"].startswith("ProfilerStep#"):
                if len(ranks) > 1: # the devices have their own
                    continue
                stats = [("step_num", int(event["name"].split("#")[1]))]
            row = (event["name"], event["start"] - start, event["end"] - start, stats, ())
            threads.setdefault(event["tid"], []).append(row)
        for tid, rows in sorted(threads.items()):
            line += 1
            plane.line(line, "python3/%s" % tid, 0, rows)
    return plane


def xspace(ranks, out, kind, per_host=4):
    folder = os.path.join(out, "plugins", "profile", "2026_01_15_08_00_00")
    os.makedirs(folder, exist_ok=True)
    for index, own in enumerate(by_host(ranks, per_host)):
        start = min(e["start"] for rank in own for e in rank.events)
        base = own[0].base
        space = b""
        for device, rank in enumerate(own):
            plane = (
                tpu_plane(rank, device, start)
                if kind == "tpu"
                else gpu_plane(rank, device, start, per_host > 1)
            )
            space += blob(1, plane.bytes())
        if kind != "tpu":
            space += blob(1, host_plane(own, start).bytes())
        about = Plane("Task Environment")
        about.own = blob(6, about.stat("profile_start_time", base + start))
        space += blob(1, about.bytes()) + blob(4, "host-%d" % index)
        with open(os.path.join(folder, "host-%d.xplane.pb" % index), "wb") as file:
            file.write(space)


FORMATS = {
    "xspace-gpu": lambda ranks, out: xspace(ranks, out, "gpu"),
    "xspace-gpu1": lambda ranks, out: xspace(ranks, out, "gpu", 1),
    "xspace-tpu": lambda ranks, out: xspace(ranks, out, "tpu"),
    **devices.FORMATS,
    **inspector.FORMATS,
    **nccl_profiler.FORMATS,
    **chakra.formats((varint, number, blob)),
}


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in FORMATS:
        sys.exit("usage: convert.py %s KINETO_DIR OUT_DIR" % "|".join(FORMATS))
    os.makedirs(sys.argv[3], exist_ok=True)
    FORMATS[sys.argv[1]](load(sys.argv[2]), sys.argv[3])


if __name__ == "__main__":
    main()
