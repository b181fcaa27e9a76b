#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The numbers of a run are the same in every format, and a cost is what its fix is predicted to gain.

    one_account.py INQUEST SOURCE_DIR

Reads the samples, generated runs, and the real runs under INQ_SHARED_DATA where that is set and there.
Text, Markdown, the page and the database are held against JSON: the headline (said once), what findings
cost, their confidence, and where the time of a step goes. Severity, order, medians, intervals and the
sums of causes are recomputed from JSON alone, as inquest-report(5) defines them. The pages of compare, fix and check hold the JSON of the command as
it is and say its headline once, without scripts.
"""
import html
import json
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile

inquest, source = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
shared = os.environ.get("INQ_SHARED_DATA", "")
FEATURES = subprocess.run([inquest, "--version"], capture_output=True, check=True, text=True).stdout
HAS_PAGES = re.search("^html: *yes", FEATURES, re.M) is not None  # an option of the build
HAS_TABLES = re.search("^sqlite: *yes", FEATURES, re.M) is not None
UNIT_NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
TIME = r"(\d+(?:\.\d+)?) (ns|us|ms|s)\b"
SMALL = 0.005  # of the rank-time: classes below are "other" in the sentence
MOST_OFF = 0.02  # a simulated base further off the record predicts nothing
LONGEST = 4 << 20  # of a real file: the rest is for tests/bench/account
LEAST_SHARE = {"high": 0.20, "medium": 0.05, "low": 0.01, "info": 0.0}  # inquest-report(5)
NOT_BY_SHARE = {"failure", "not_finite", "divergence", "loss_spike", "grad_norm_change", "throughput_drop"}
LEAST_STEPS = 5  # judged: with fewer, and no fault in one named step, nothing that costs time is established
# What samples lack: an even number of peers whose middle two differ; causes that hide each other; turns;
# missing and cut files; few steps; a schedule; hosts that run ahead; a cut window.
MEDIAN = "dp=9,steps=7,layers=4,sigma=0,step_sigma=0,rank_sigma=0.04,seed=34,fault=slow_gpu:rank=4:factor=1.5"
GENERATED = [
    MEDIAN,
    "dp=6,pp=2,micro_batches=6,steps=9,gpus_per_host=6,seed=903,fault=slow_gpu:rank=2:factor=1.3,"
    "fault=late_host:rank=9:delay=9ms:mode=pause:every=3",
    "dp=8,experts=1,layers=4,steps=8,seed=907,fault=gc:every=4:delay=12ms",
    "dp=9,gpus_per_host=4,layers=4,steps=8,seed=914,fault=missing_rank:rank=8,fault=cut_file:rank=2:at=0.5,"
    "fault=slow_gpu:rank=0:factor=1.2",
    "dp=4,sharded=1,layers=4,steps=3,seed=911,fault=more_work:rank=1:factor=1.3:mode=size",
    "dp=2,pp=4,micro_batches=1,steps=6,p2p=batched,seed=906",
    "dp=8,layers=4,steps=12,sync=4,seed=904,fault=slow_gpu:rank=5:factor=1.15",
    "dp=4,tp=2,layers=4,steps=8,window=ragged,sync=0,seed=905,fault=low_clock:rank=6:factor=1.2",
    "tp=2,pp=2,dp=2,chunks=2,micro_batches=4,steps=6,gpus_per_host=3,seed=901,fault=slow_gpu:rank=7:factor=1.25",
]
problems = []


def say(what, why):
    problems.append(f"{what}: {why}")


def run(*arguments):
    return subprocess.run([inquest, *arguments], capture_output=True, text=True, timeout=300)


def words(text):
    """Without line breaks, and without what Markdown escapes."""
    return " ".join(re.sub(r"\\([^\w\s])", r"\1", text).split())


def page_words(text):
    plain = re.search(r'<main class="plain">(.*?)</main>', text, re.S)
    return words(html.unescape(re.sub(r"<[^>]+>", "\n", plain.group(1) if plain else "")))


def is_said(ns, number, unit):
    """Whether the printed number is this one, to its last digit."""
    digits = len(number.split(".")[1]) if "." in number else 0
    return abs(ns - float(number) * UNIT_NS[unit]) <= 0.51 * 10.0**-digits * UNIT_NS[unit]


def compare_costs(what, report, text):
    said = re.findall(
        r"(?:costs(?: up to)?|repaired alone gains) " + TIME + r" (?:per step|in the capture)(?: \((\d+(?:\.\d+)?) %\))?; confidence: (\w+)", text)
    held = [f for f in report["findings"] if f["cost_ns_per_step"] is not None]
    if len(said) != len(held):
        say(what, f"{len(said)} costs for {len(held)} findings that have one")
    for (number, unit, percent, confidence), finding in zip(said, held):
        if not is_said(finding["cost_ns_per_step"], number, unit):
            say(what, f"{finding['id']} costs {number} {unit}, in JSON {finding['cost_ns_per_step']}")
        if percent and not is_said(100.0 * finding["share"], percent, "ns"):
            say(what, f"{finding['id']} is {percent} %, in JSON {finding['share']}")
        if confidence != finding["confidence"]:
            say(what, f"{finding['id']} is {confidence}, in JSON {finding['confidence']}")


def compare_classes(what, account, text):
    where = re.search(r"Where (?:a step|the capture) of " + TIME + r" goes: ([^\n]*?)(?<!\d)\. ", text + " ")
    if not where:
        return say(what, "does not say where a step goes")
    if not is_said(account["t_ns"], where.group(1), where.group(2)):
        say(what, f"a step of {where.group(1)} {where.group(2)}, in JSON {account['t_ns']}")
    told = re.findall(TIME, where.group(3))
    held = [c["ns"] for c in account["classes"] if c["ns"] >= SMALL * account["t_ns"]]
    for (number, unit), ns in zip(told, held):
        if not is_said(ns, number, unit):
            say(what, f"a class of {number} {unit}, in JSON {ns}")
    if not len(held) <= len(told) <= len(held) + 1:
        say(what, f"{len(told)} classes, in JSON {len(held)} of weight")


def compare_headline(what, report, text):
    n = text.count(words(report["verdict"]["headline"]).rstrip("."))
    if n != 1:
        say(what, f"the headline is said {n} times: {report['verdict']['headline']}")


def compare_evidence(what, report, text):
    """Times in text count from the origin that JSON gives: with it, each is one of the evidence."""
    origin = report["inputs"]["origin_ns"]
    held = {
        tuple(round((e[end] - origin) / 1e3) for end in ("start_ns", "end_ns"))
        for finding in report["findings"]
        for e in finding.get("evidence", [])
    }
    for begin, end in re.findall(r"rank \d+[ ,]+(\d+\.\d{6})s~(\d+\.\d{6})s", text):
        said = tuple(round(float(t) * 1e6) for t in (begin, end))
        if not any(abs(said[0] - a) <= 1 and abs(said[1] - b) <= 1 for a, b in held):
            say(what, f"{begin}s~{end}s is no evidence in JSON, counted from {origin}")


def compare_format(what, reports, text):
    if len(reports) > 1:
        return  # which part is whose is not marked
    report = reports[0]
    compare_evidence(what, report, text)
    compare_headline(what, report, text)
    compare_costs(what, report, text)
    account = report.get("account")
    if account and account["t_ns"] and report["verdict"]["class"] != "nothing_to_judge":
        compare_classes(what, account, text)


def check_account(what, report):
    account = report.get("account") or {}
    verdict, findings = report["verdict"], report["findings"]
    if account.get("withheld"):
        say(what, f"withheld: {account['withheld']}")
    if account.get("t_ns"):
        total = sum(c["ns"] for c in account["classes"])
        if abs(total - account["t_ns"]) > len(account["classes"]):
            say(what, f"the classes sum to {total}, t_ns is {account['t_ns']}")
    for finding in findings:
        cost, share = finding["cost_ns_per_step"], finding["share"]
        if account.get("t_ns") and cost is not None and abs(share - cost / account["t_ns"]) > 1e-6:
            say(what, f"{finding['id']} costs {cost} of {account['t_ns']}, its share is {share}")
    held = {f["id"]: f for f in findings}
    for cause in account.get("causes", []):
        finding = held.get(cause["id"])
        if finding is None:
            say(what, f"no finding {cause['id']}")
        elif cause["gain_alone_ns"] not in (None, finding["cost_ns_per_step"]):
            say(what, f"{cause['id']} gains {cause['gain_alone_ns']}, costs {finding['cost_ns_per_step']}")
        elif cause["confidence"] != finding["confidence"]:
            say(what, f"{cause['id']} is {cause['confidence']} and {finding['confidence']}")
    if findings and verdict["class"] == findings[0]["kind"]:
        if verdict["lost_ns_per_step"] != findings[0]["cost_ns_per_step"]:
            say(what, "what the verdict loses is not the first finding's cost")


def severity_of(share):
    return next(name for name, least in LEAST_SHARE.items() if share >= least)


def check_findings(what, report):
    """Severity by share of the step, alone, after the causes before it, or with the one it hides; most
    costly first."""
    t_ns = (report.get("account") or {}).get("t_ns")
    causes = {c["id"]: c for c in (report.get("account") or {}).get("causes", [])}
    for finding in report["findings"]:
        cost, kind = finding["cost_ns_per_step"], finding["kind"]
        if not t_ns or cost is None or kind in NOT_BY_SHARE:
            continue
        cause = causes.get(finding["id"], {})
        most = max(cost, cause.get("gain_in_order_ns") or 0, cause.get("gain_joint_ns") or 0)
        wanted = severity_of(most / t_ns)
        if finding["severity"] != wanted:
            say(what, f"{finding['id']} is {finding['severity']}, its cost of {cost} of {t_ns} is {wanted}")
    acting = [f for f in report["findings"] if f["severity"] != "info" and f["cost_ns_per_step"] is not None
              and f["kind"] not in NOT_BY_SHARE]
    costs = [f["cost_ns_per_step"] for f in acting]
    if costs != sorted(costs, reverse=True):
        say(what, f"findings are not in the order of their costs: {costs}")
    informs = [f["severity"] == "info" for f in report["findings"]]
    if informs != sorted(informs):
        say(what, "what only informs does not come last")


def check_causes(what, report):
    """Gains one after the other, the ideal and the rest are the step; an established cause has what
    the manual asks for; overlaps are with other causes of the account."""
    account = report.get("account") or {}
    causes = account.get("causes", [])
    if account.get("ideal_ns") is not None:
        gained = sum(max(c["gain_in_order_ns"] or 0, 0) for c in causes)
        if account["t_ns"] != gained + account["ideal_ns"] + account["residual_ns"]:
            say(what, f"{gained} gained, ideal and residual are not {account['t_ns']}")
    steps = account.get("steps", {}).get("judged", 0)
    titles = {f["id"]: f["title"] for f in report["findings"]}
    for cause in causes:
        low, high = cause["gain_interval_ns"] or (None, None)
        gain = cause["gain_alone_ns"]
        if low is not None and gain is not None and not low <= gain <= high:
            say(what, f"{cause['id']} gains {gain}, not between {low} and {high}")
        if cause["id"] in cause["overlaps"] or not set(cause["overlaps"]) <= {c["id"] for c in causes}:
            say(what, f"{cause['id']} overlaps with {cause['overlaps']}")
        if cause["confidence"] != "established" or gain is None:
            continue
        one_step = re.search(r"\bin (?:1 of|step) \d+", titles.get(cause["id"], ""))
        missing = report["inputs"]["ranks_missing"]
        if missing or (steps < LEAST_STEPS and not one_step) or abs(account["base_error"] or 0) > MOST_OFF:
            say(what, f"{cause['id']} is established with {missing} missing, {steps} steps")
        if low is not None and low <= 0 and not cause["overlaps"]:
            say(what, f"{cause['id']} is established, and may gain {low}")


def check_median(what, report):
    """The median of an even number of values is the mean of the two middle ones; times of evidence
    count on the trace's clock, whose first moment is the origin."""
    aside = {s["step"] for s in (report.get("account") or {}).get("steps", {}).get("set_aside", [])}
    lengths = [s["dur_ns"] for s in report.get("steps", []) if s["step"] not in aside]
    if lengths and abs(report["step_ns_median"] - statistics.median(lengths)) > 0.5:
        say(what, f"a median step of {report['step_ns_median']}, of {sorted(lengths)}")
    origin = report["inputs"]["origin_ns"]
    for finding in report["findings"]:
        for e in finding.get("evidence", []):
            if e["start_ns"] is not None and not origin <= e["start_ns"] <= e["end_ns"]:
                say(what, f"{finding['id']}: evidence from {e['start_ns']}, the origin is {origin}")


def check_peers(what, report):
    """What a slow GPU is held against: of eight peers, which do alike in every step, the mean of the two
    middle ones, as the manual says."""
    finding = report["findings"][0]
    peers = sorted(r["compute_ns"] / len(report["steps"]) for r in report["ranks"] if r["rank"] not in finding["ranks"])
    said = re.match(TIME + ", the median of its peers", finding["expected"])
    if len(peers) != 8 or not said or not is_said(statistics.median(peers), *said.groups()):
        say(what, f"expected {finding['expected']}, peers compute {peers}")
    if is_said(peers[3], *said.groups()) or is_said(peers[4], *said.groups()):
        say(what, "the middle values are too near each other to tell")


def check_database(what, path, report):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "run.db")
        run("analyze", "-q", "-f", "sqlite", path, "-o", name)
        database = sqlite3.connect(name)
        held = {
            "findings": [(f["id"], f["cost_ns_per_step"], f["severity"]) for f in report["findings"]],
            "causes": [(c["id"], c["gain_alone_ns"], c["gain_in_order_ns"]) for c in report["account"]["causes"]],
        }
        for table, columns in (("findings", "id, cost_ns_per_step, severity"),
                               ("causes", "id, gain_alone_ns, gain_in_order_ns")):
            rows = database.execute(f"SELECT {columns} FROM {table} ORDER BY rowid").fetchall()
            if rows != held[table]:
                say(what, f"{table} of the database are {rows}, of JSON {held[table]}")
        database.close()


def check_base(what, path):
    """A base off the record predicts nothing: what gains then was measured."""
    made = run("fix", "-q", "-f", "json", path)
    document = json.loads(made.stdout) if made.returncode == 0 else {}
    if abs(document.get("base", {}).get("model_error") or 0.0) <= MOST_OFF:
        return
    for fix in document["fixes"]:
        if fix["predicted_gain_ns"] is not None and not fix["what"].startswith("as measured"):
            say(what, f"{fix['spec']} is predicted by a base off the record")


def check_gains(what, path, report):
    """fix starts at the account's step, and predicts for each fix what its finding costs."""
    account = report.get("account") or {}
    fixed = [f for f in report["findings"] if f["cost_ns_per_step"] and f["fixes"]]
    if not account.get("t_ns") or not fixed:
        return
    specs = [word for f in fixed for word in ("--fix", f["fixes"][0])]
    made = run("fix", "-q", "-f", "json", path, *specs)
    if made.returncode != 0:
        return say(what, f"fix: {made.stderr.strip()}")
    document = json.loads(made.stdout)
    if document["base"]["recorded_ns"] != account["t_ns"]:
        say(what, f"fix starts at {document['base']['recorded_ns']}, the account at {account['t_ns']}")
    made = {f["spec"]: f for f in document["fixes"]}
    for finding in fixed:
        spec, cost = finding["fixes"][0], finding["cost_ns_per_step"]
        fix = made.get(spec, {})
        if fix.get("predicted_gain_ns") != cost:
            say(what, f"{spec} gains {fix.get('predicted_gain_ns')}, {finding['id']} costs {cost}")
        elif fix["predicted_t_ns"] != max(account["t_ns"] - cost, 0):
            say(what, f"{spec} takes {fix['predicted_t_ns']}, not {account['t_ns']} - {cost}")
        elif fix["what"].startswith("as measured") and fix["predicted_step_t_ns"] is not None:
            say(what, f"{spec} is measured, and yet drawn as simulated")


def check_run(path):
    name = os.path.relpath(path, shared if shared and path.startswith(shared) else source)
    made = run("analyze", "-q", "-f", "json", path)
    if made.returncode != 0:
        return False
    document = json.loads(made.stdout)
    reports = document.get("reports", [document])
    if any("verdict" not in report for report in reports):
        return False  # a log, a dump: nothing of time
    for report in reports:
        check_account(name, report)
        check_findings(name, report)
        check_causes(name, report)
        check_median(name, report)
    text = run("analyze", "-q", "-v", path).stdout
    compare_format(f"{name} as text", reports, words(text))
    text = run("analyze", "-q", "-f", "markdown", "-v", path).stdout
    compare_format(f"{name} as Markdown", reports, words(text))
    if HAS_PAGES:
        text = run("analyze", "-q", "-f", "html", "-v", path, "-o", "-").stdout
        compare_format(f"{name} as a page", reports, page_words(text))
    if len(reports) == 1:
        check_gains(name, path, reports[0])
        check_base(name, path)
    return True


def check_page(what, *command):
    made = run(*command, "-q", "-f", "json")
    if made.returncode == 1:
        return False  # no measures of the same kind
    page = run(*command, "-q", "-f", "html").stdout
    data = re.search(r'<script type="application/json" id="inq-report">(.*?)</script>', page, re.S)
    if not made.stdout or not data or json.loads(data.group(1)) != json.loads(made.stdout):
        say(what, "the page holds another document than JSON")
        return False
    headline = words(json.loads(made.stdout)["headline"])
    if page_words(page).count(headline) != 1:
        say(what, f"the page says {page_words(page).count(headline)} times: {headline}")
    return True


def check_pages(base, paths):
    """Each run against the base, as the other commands see it."""
    with tempfile.TemporaryDirectory() as folder:
        baseline = os.path.join(folder, "baseline.json")
        run("check", "-q", base, "--baseline", baseline, "--update", "--force")
        n = 0
        for path in paths:
            name = os.path.basename(path)
            n += check_page(f"compare of {name}", "compare", base, path)
            n += check_page(f"check of {name}", "check", path, "--baseline", baseline)
            n += check_page(f"fix of {name}", "fix", path)
    if n < 2 * len(paths):
        say("pages", f"only {n} of {len(paths)} runs")


def real_runs():
    for group in ("kineto", "chrome", "nsys", "xplane", "deepseek", "contradictions", "primus", "whatif/AR", "whatif/ST"):
        folder = os.path.join(shared, group)
        for entry in sorted(os.listdir(folder)) if shared and os.path.isdir(folder) else []:
            path = os.path.join(folder, entry)
            files = [path] if os.path.isfile(path) else [
                os.path.join(at, f) for at, _, names in os.walk(path) for f in names]
            if 0 < sum(os.path.getsize(f) for f in files) <= LONGEST:
                yield path


def check_generated():
    n = 0
    with tempfile.TemporaryDirectory() as folder:
        for spec in GENERATED:
            path = os.path.join(folder, spec)[:200]
            run("synth", "-q", spec, "-o", path)
            n += check_run(path)
            report = json.loads(run("analyze", "-q", "-f", "json", path).stdout)
            if spec == MEDIAN:
                check_peers(spec, report)
            if HAS_TABLES:
                check_database(spec, path, report)
    if n < len(GENERATED):
        say("generated runs", f"only {n} of {len(GENERATED)}")


def main():
    samples = os.path.join(source, "sample-traces")
    paths = [os.path.join(samples, d) for d in sorted(os.listdir(samples))]
    paths = [p for p in paths if os.path.exists(os.path.join(p, "truth.json"))] + list(real_runs())
    n = sum(check_run(path) for path in paths)
    check_generated()
    if HAS_PAGES:
        check_pages(os.path.join(samples, "healthy_dp4"), [p for p in paths if p.startswith(samples)])
    for problem in problems:
        print(problem)
    print(f"{n} runs held against their JSON")
    if n < 5:
        print("too few runs: nothing was tested")
    return 1 if problems or n < 5 else 0


sys.exit(main())
