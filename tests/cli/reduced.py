#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reduced partials: what is left is as in the whole run, what is not there is said, and damage never
makes a step whole.   reduced.py INQUEST SOURCE_DIR
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

inquest = os.path.realpath(sys.argv[1])
os.chdir(sys.argv[2])
CONFIDENCE = ("hypothesis", "supported", "established")
KEPT = re.compile(r"reduced partials, (\d+) of (\d+) steps have all rows")
FORMATS = ["text", "json", "markdown", "perfetto"]
SENTENCE = re.compile(r"reduced partials of (\d+) ranks?: (\d+) of (\d+) steps have all rows")
problems = []


def fail(text):
    print(text)
    problems.append(text)


def run(*arguments, statuses=(0,)):
    done = subprocess.run([inquest, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=300, check=False)
    if done.returncode not in statuses:
        fail(f"{' '.join(arguments)}: status {done.returncode}: {done.stderr.decode()[-300:]}")
    return done


def analyze(*paths):
    document = json.loads(run("analyze", *paths, "-f", "json", "-q", "-v").stdout)
    return document.get("runs", [document])


def said(text):
    """The sentence, however the text is broken into lines."""
    return SENTENCE.search(re.sub(r"[\s>]+", " ", text))


def reduced(path, folder, *options):
    shutil.rmtree(folder, ignore_errors=True)
    run("ingest", path, "-o", folder, "-q", "--reduced", *options)
    return folder


def same_findings(what, whole, part):
    """The same findings in the same order; what they cost is known from fewer steps: within the point
    of a step that an account of generated runs may be off."""
    t = whole["account"]["t_ns"]
    found = [[(f["kind"], f["ranks"], f["severity"]) for f in r["findings"]] for r in (whole, part)]
    if found[0] != found[1]:
        fail(f"{what}: found {found[1]}, in the whole run {found[0]}")
        return
    long = part["inputs"]["reduced"]["stand_out"]  # weighs more than it does in the run: that is said
    for f, g in zip(whole["findings"], part["findings"]):
        costs = [x["cost_ns_per_step"] or 0 for x in (f, g)]
        if not long and abs(costs[0] - costs[1]) > 0.01 * t:
            fail(f"{what}: {f['kind']} costs {costs[1]} ns of {t}, in the whole run {costs[0]}")
        sure = [CONFIDENCE.index(x["confidence"]) for x in (f, g)]
        if sure[1] > sure[0]:
            fail(f"{what}: {f['kind']} is {g['confidence']}, in the whole run {f['confidence']}")


def idle_only_where_recorded(what, whole, part):
    """Steps without rows are no idle time of a rank. Few steps are not the mean of all: a tenth of the
    span may be off, unless long ones weigh more than in the run."""
    shares = [{r["rank"]: r["idle_ns"] / r["span_ns"] for r in x["ranks"]} for x in (whole, part)]
    for rank, share in shares[1].items():
        if part["inputs"]["reduced"]["stand_out"] == 0 and share > shares[0].get(rank, 1) + 0.1:
            fail(f"{what}: rank {rank} idles {share:.2f} of the time, in the whole run {shares[0][rank]:.2f}")


def longest_idle(path):
    events = json.loads(run("analyze", path, "-f", "perfetto", "-q").stdout)["traceEvents"]
    return max((e["dur"] for e in events if e["name"].startswith("idle")), default=0)


def compare(what, path, folder, work):
    """Every step that is left is the whole run's, to the nanosecond; the rest is said."""
    partial = 0
    for whole, part in zip(analyze(path), analyze(folder)):
        left = part["inputs"].get("reduced")
        if left is None:
            if part["findings"] != whole["findings"]:
                fail(f"{what}: written in full, but other findings")
            continue
        partial += 1
        same_findings(what, whole, part)
        steps = {s["step"]: s for s in whole.get("steps", [])}
        # a rank that was cut may have too few of these steps to be judged: lengths are means of others
        alike = whole["account"]["steps"]["ranks"] == part["account"]["steps"]["ranks"]
        for step in part.get("steps", []):
            if alike and steps.get(step["step"]) != step:
                fail(f"{what}: step {step} is {steps.get(step['step'])} of the whole run")
        if left["whole"] != len(part.get("steps", [])) or left["steps"] < left["whole"]:
            fail(f"{what}: {left} with {len(part.get('steps', []))} steps")
        idle_only_where_recorded(what, whole, part)
        judged = part["account"]["steps"]
        all_judged = judged["set_aside"] == [] and judged["ranks"] == len(
            part["inputs"]["ranks_present"])
        if all_judged and abs(part["account"]["t_ns"] - left["whole_step_ns"]) > 1:
            fail(f"{what}: a step of {part['account']['t_ns']} ns, by the totals {left}")
    if partial:
        for form in ("text", "markdown"):
            out = os.path.join(work, "report." + form)
            for old in [f for f in os.listdir(work) if f.startswith("report")]:
                os.remove(os.path.join(work, old))
            run("analyze", folder, "-f", form, "-o", out, "-q")
            texts = [open(os.path.join(work, f), encoding="utf-8").read()
                     for f in os.listdir(work) if f.startswith("report")]
            if not any(said(text) for text in texts):
                fail(f"{what}: {form} does not say that it is reduced")
        if not said(run("analyze", folder, "-f", "perfetto", "-q").stdout.decode()):
            fail(f"{what}: the export does not say that it is reduced")
        # where the step before is not there, nobody knows how far its work reached into this one
        idle = [longest_idle(p) for p in (path, folder)]
        if idle[1] > idle[0] + 0.0001 * whole["account"]["t_ns"]:
            fail(f"{what}: the export shows {idle[1]} us of idle time, {idle[0]} in the whole run")
        if not said(run("info", folder).stdout.decode()):
            fail(f"{what}: info does not say that it is reduced")
    return partial


def first_of(report):
    top = report["findings"][0]
    return top["kind"], top["ranks"], top["cost_ns_per_step"]


# What is planted, and how far the first finding's cost may be off what all steps cost: three steps
# of twelve are not their mean, and the noise of steps is a few percent of the fault.
FAULTS = [
    ("dp=4,steps=12,seed=3,fault=slow_gpu:rank=2:factor=1.3", 0.15),
    ("dp=4,steps=12,seed=3,fault=late_host:rank=1:delay=4000us", 0.15),
    ("dp=8,steps=12,seed=3,gpus_per_host=4,clock=2000us,fault=slow_gpu:rank=6:factor=1.4", 0.15),
    ("tp=2,pp=2,dp=2,steps=12,seed=3,fault=slow_gpu:rank=5:factor=1.3", 0.2),
]


def check_faults(work):
    for k, (spec, off) in enumerate(FAULTS):
        path = os.path.join(work, f"run{k}")
        run("synth", spec, "-o", path, "-q")
        folder = reduced(path, os.path.join(work, "partials"))
        if compare(spec, path, folder, work) != 1:
            fail(f"{spec}: not reduced")
        kind, ranks, cost = first_of(analyze(path)[0])
        left = first_of(analyze(folder)[0])
        if left[:2] != (kind, ranks) or abs(left[2] - cost) > off * cost:
            fail(f"{spec}: {kind} of {ranks} costs {cost} ns, reduced {left}")
    return os.path.join(work, "run0")


def check_whole(path, work):
    """As many steps as there are: nothing is left out, and no byte differs."""
    folder = reduced(path, os.path.join(work, "partials"), "--steps", "11")
    for form in FORMATS:
        for source in (path, folder):
            run("analyze", source, "-f", form, "-o", os.path.join(work, "w" + form), "-q")
            os.rename(os.path.join(work, "w" + form),
                      os.path.join(work, "whole" if source == path else "part"))
        with open(os.path.join(work, "whole"), "rb") as a, open(os.path.join(work, "part"),
                                                                "rb") as b:
            if a.read() != b.read():
                fail(f"with all steps kept {form} differs")


def check_long(work):
    """One step stands out: it is kept, and it is said that it weighs too much."""
    path = os.path.join(work, "long")
    run("synth", "dp=4,steps=12,seed=5,fault=late_host:rank=1:mode=pause:delay=20000us:from=6:to=6",
        "-o", path, "-q")
    folder = reduced(path, os.path.join(work, "partials"))
    report = analyze(folder)[0]
    left = report["inputs"]["reduced"]
    numbers = [s["step"] for s in report["steps"]]
    if left["stand_out"] < 1 or not any(n in (16, 17) for n in numbers):
        fail(f"the long step is not kept: {numbers}, {left}")
    if "kept for being long" not in re.sub(r"\s+", " ", run("analyze", folder).stdout.decode()):
        fail("nothing is said of the weight of a long step")
    compare("a long step", path, folder, work)


def check_mixed(path, work):
    """Ranks of both kinds: steps that all have whole."""
    folder = reduced(path, os.path.join(work, "partials"))
    base = os.path.join(folder, os.path.relpath(path, "/"))
    files = sorted(f for f in os.listdir(base) if "rank" in f)
    mixed = [os.path.join(base, f) for f in files[:2]]
    mixed += [os.path.join(path, f[:-len(".inq")]) for f in files[2:]]
    report = analyze(*mixed)[0]
    whole = {s["step"]: s for s in analyze(path)[0]["steps"]}
    if report["inputs"]["reduced"]["ranks"] != 2 or any(
            whole[s["step"]] != s for s in report["steps"]):
        fail(f"two of {len(files)} ranks reduced: {report['inputs']['reduced']}")
    return os.path.join(base, files[0])


def check_again(path, work):
    """A partial of the other kind is no partial of this one."""
    folder = os.path.join(work, "again")
    for options, made in ((["--reduced"], True), (["--reduced"], False), ([], True), ([], False),
                          (["--reduced", "--steps", "2"], True), (["--reduced"], True)):
        text = run("ingest", path, "-o", folder, *options).stdout.decode()
        if ("4 made of traces" in text) != made:
            fail(f"ingest {options}: {text}")
    for options in (["--steps", "3"], ["--reduced", "--steps", "0"], ["--reduced", "--steps", "x"]):
        run("ingest", path, "-o", folder, *options, statuses=(2,))


def check_damage(partial, work):
    with open(partial, "rb") as file:
        data = file.read()
    path = os.path.join(work, "damaged.inq")
    starts = [m.start() for m in re.finditer(rb"\x28\xb5\x2f\xfd|\x1f\x8b\x08", data)]
    ends = starts[1:] + [len(data)]
    rng = random.Random(16)
    tries = [(data[:s], f"cut at {s}") for s in starts]
    tries += [(data[:s] + data[e:], f"without section {k}")
              for k, (s, e) in enumerate(zip(starts, ends))]
    for _ in range(40):
        at = rng.randrange(len(data))
        flipped = bytearray(data)
        flipped[at] ^= 1 << rng.randrange(8)
        tries += [(bytes(flipped), f"flipped at {at}"), (data[:at], f"cut at {at}")]
    sound = json.loads(run("info", partial, "-f", "json").stdout)["jobs"][0]["reduced"]
    for content, what in tries:
        with open(path, "wb") as out:
            out.write(content)
        run("analyze", path, "-f", "json", statuses=(0, 1))
        done = run("info", path, "-f", "json", statuses=(0, 1))
        jobs = json.loads(done.stdout)["jobs"] if done.returncode == 0 else []
        for job in jobs:
            left = job.get("reduced")
            if job["ranks"] and (left is None or left["whole"] > sound["whole"]):
                fail(f"{what}: {left}, undamaged {sound}")


def check_two_runs(path, work):
    """What is compared, or held against a baseline, says that one of them is reduced."""
    folder = reduced(path, os.path.join(work, "partials"))
    base = os.path.join(work, "baseline.json")
    run("check", path, "--baseline", base, "--update", "--force", "-q")
    pages = re.search(b"^html: *yes", run("--version").stdout, re.M)  # an option of the build
    for form in ("text", "markdown", *(("html",) if pages else ())):
        compared = ("compare", path, folder), ("compare", folder, path)
        checked = ("check", folder, "--baseline", base, "--force"),
        for arguments in compared + checked:
            text = run(*arguments, "-f", form, statuses=(0, 1, 3)).stdout.decode()
            found = KEPT.search(re.sub(r"\s+", " ", text))
            if found is None or found.groups() != ("3", "12"):
                fail(f"{arguments[0]} -f {form} does not say that a run is reduced")
    document = json.loads(run("compare", path, folder, "-f", "json").stdout)
    if "reduced" in document["base"] or document["new"].get("reduced") != {"steps": 12, "whole": 3}:
        fail(f"compare: {document['base'].get('reduced')}, {document['new'].get('reduced')}")
    document = json.loads(run("check", folder, "--baseline", base, "-f", "json",
                              statuses=(0, 1, 3)).stdout)
    if document.get("reduced") != {"steps": 12, "whole": 3}:
        fail(f"check: {document.get('reduced')}")


def main():
    with tempfile.TemporaryDirectory() as work:
        first = check_faults(work)
        check_whole(first, work)
        check_long(work)
        check_two_runs(first, work)
        check_damage(check_mixed(first, work), work)
        check_again(first, work)
        data = os.environ.get("INQ_SHARED_DATA", "../shared/data")
        runs = [os.path.join("sample-traces", d) for d in sorted(os.listdir("sample-traces"))]
        kineto = os.path.join(data, "kineto")
        if os.path.isdir(kineto):
            runs += [os.path.join(kineto, d) for d in sorted(os.listdir(kineto))
                     if d not in ("hta", "edge")]
        n = sum(compare(path, path, reduced(path, os.path.join(work, "partials")), work)
                for path in runs if os.path.isdir(path))
        print(f"{len(runs)} recorded runs, {n} jobs of them reduced; {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
