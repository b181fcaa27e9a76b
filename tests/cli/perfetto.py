#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perfetto traces of the samples hold what Perfetto's importer of JSON asks for.

    perfetto.py INQUEST SOURCE_DIR

Its trace processor drops, and counts as an import error: a complete event that overlaps another of its
track without lying in it, a negative duration, a flow whose end has no start, comes before it or has no
slice around it, and two flows of one id. Tracks are numbers. Every cause of the account that ranks lose
time to is a track.
"""
import collections
import json
import os
import subprocess
import sys
from decimal import Decimal

inquest, source = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
problems = collections.Counter()


def ns(us):
    return int(Decimal(us) * 1000)


def slices_by_track(events):
    tracks = collections.defaultdict(list)
    for event in events:
        if not isinstance(event["pid"], int) or not isinstance(event.get("tid", 0), int):
            problems["a track that is no number"] += 1
        elif event["ph"] == "X":
            problems["a negative duration"] += event["dur"] < 0
            start = ns(event["ts"])
            tracks[event["pid"], event["tid"]].append((start, start + ns(event["dur"])))
    for slices in tracks.values():
        slices.sort(key=lambda s: s[0])  # stable, as the importer's sorter
    return tracks


def check_nesting(tracks):
    for slices in tracks.values():
        ends = []
        for start, end in slices:
            while ends and ends[-1] <= start:
                ends.pop()
            problems["overlapping slices of a track"] += bool(ends) and end > ends[-1]
            ends.append(end)


def points_of_flows(events, tracks):
    """Which ends of flows lie in a slice: one pass over each track."""
    points = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "stf":
            points[event["pid"], event["tid"]].append((ns(event["ts"]), event["ph"], event["id"]))
    inside = set()
    for track, at in points.items():
        slices, i, last = tracks.get(track, []), 0, -1
        for time, ph, flow in sorted(at):
            while i < len(slices) and slices[i][0] <= time:
                last = max(last, slices[i][1])
                i += 1
            if last >= time:
                inside.add((ph, flow))
    return inside


def check_flows(events, tracks):
    inside, begun, n = points_of_flows(events, tracks), {}, 0
    for event in events:
        if event["ph"] == "s":
            problems["two flows of one id"] += event["id"] in begun
            begun[event["id"]] = ns(event["ts"])
    for event in events:
        if event["ph"] in "sf" and (event["ph"], event["id"]) not in inside:
            problems["the end of a flow without a slice"] += 1
        if event["ph"] == "f":
            begin = begun.pop(event["id"], None)
            problems["a flow that ends before it begins"] += begin is None or begin > ns(event["ts"])
            n += 1
    problems["a flow that does not end"] += len(begun)
    return n


def written(sample, form):
    folder = os.path.join(source, "sample-traces", sample)
    made = subprocess.run([inquest, "analyze", "-q", "-f", form, folder], capture_output=True, check=True)
    return json.loads(made.stdout, parse_float=Decimal)


def check_causes(sample, events):
    names = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    for finding in written(sample, "json")["findings"]:
        if finding["cost_ns_per_step"] and not any(n.endswith(finding["id"]) for n in names):
            problems[f"no track of {finding['id']}"] += 1


def main():
    slices = flows = 0
    for sample in sorted(os.listdir(os.path.join(source, "sample-traces"))):
        if not os.path.exists(os.path.join(source, "sample-traces", sample, "truth.json")):
            continue
        events = written(sample, "perfetto")["traceEvents"]
        tracks = slices_by_track(events)
        slices += sum(len(s) for s in tracks.values())
        check_nesting(tracks)
        flows += check_flows(events, tracks)
        check_causes(sample, events)
    found = {what: n for what, n in problems.items() if n}
    for what, n in found.items():
        print(f"{n} times: {what}")
    print(f"{slices} slices, {flows} flows")
    return 1 if found or slices < 50000 or flows < 10000 else 0


sys.exit(main())
