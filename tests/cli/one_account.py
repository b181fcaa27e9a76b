#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The numbers of a run are the same in every format, and a cost is what its fix is predicted to gain.

    one_account.py INQUEST SOURCE_DIR

Reads the samples, and the real runs under INQ_SHARED_DATA where that is set and there. Text, Markdown
and the page are held against JSON: the headline (said once), what findings cost, their confidence,
and where the time of a step goes. The pages of compare, fix and check hold the JSON of the command as
it is and say its headline once, without scripts.
"""
import html
import json
import os
import re
import subprocess
import sys
import tempfile

inquest, source = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
shared = os.environ.get("INQ_SHARED_DATA", "")
FEATURES = subprocess.run([inquest, "--version"], capture_output=True, check=True, text=True).stdout
HAS_PAGES = re.search("^html: *yes", FEATURES, re.M) is not None  # an option of the build
UNIT_NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
TIME = r"(\d+(?:\.\d+)?) (ns|us|ms|s)\b"
SMALL = 0.005  # of the rank-time: classes below are "other" in the sentence
MOST_OFF = 0.02  # a simulated base further off the record predicts nothing
LONGEST = 4 << 20  # of a real file: the rest is for tests/bench/account
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
    said = re.findall(r"costs " + TIME + r" (?:per step|in the capture) \((\d+(?:\.\d+)?) %\); confidence: (\w+)", text)
    held = [f for f in report["findings"] if f["cost_ns_per_step"] is not None]
    if len(said) != len(held):
        say(what, f"{len(said)} costs for {len(held)} findings that have one")
    for (number, unit, percent, confidence), finding in zip(said, held):
        if not is_said(finding["cost_ns_per_step"], number, unit):
            say(what, f"{finding['id']} costs {number} {unit}, in JSON {finding['cost_ns_per_step']}")
        if not is_said(100.0 * finding["share"], percent, "ns"):
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


def main():
    samples = os.path.join(source, "sample-traces")
    paths = [os.path.join(samples, d) for d in sorted(os.listdir(samples))]
    paths = [p for p in paths if os.path.exists(os.path.join(p, "truth.json"))] + list(real_runs())
    n = sum(check_run(path) for path in paths)
    if HAS_PAGES:
        check_pages(os.path.join(samples, "healthy_dp4"), [p for p in paths if p.startswith(samples)])
    for problem in problems:
        print(problem)
    print(f"{n} runs held against their JSON")
    if n < 5:
        print("too few runs: nothing was tested")
    return 1 if problems or n < 5 else 0


sys.exit(main())
