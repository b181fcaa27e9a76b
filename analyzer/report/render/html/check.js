/* SPDX-License-Identifier: Apache-2.0 */
/* The page of 'inquest check': every measure beside its baseline and its limit, the cause first. */

const CHECK_MARKS = { regressed: "\u2717", gone: "\u2717" };

/* The cause, which the headline begins with; what else failed, what could not be measured last; the rest. */
function checksInOrder(report) {
    const rank = (c) => (c.pass ? 3 : report.headline.startsWith("Fails: " + c.message) ? 0 : c.outcome === "gone" ? 2 : 1);
    return report.checks.slice().sort((a, b) => rank(a) - rank(b));
}

const isTime = (check) => /_ns(\.|$)/.test(check.name);
const checkName = (check) => words(check.name.replace(/_ns(?=\.|$)/, ""));

function sayMeasure(check, value) {
    if (!isNumber(value)) return "";
    return isTime(check) ? sayNs(value) : Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(4);
}

const checkVerdict = (check) => (check.within_noise ? "over the limit, within its noise" : words(check.outcome));

function checkChip(check) {
    return el("span", { class: "chip tried tried-" + (check.pass ? (check.outcome === "improved" ? "confirmed" : "none") : "refuted") }, el("span", { "aria-hidden": "true" }, (CHECK_MARKS[check.outcome] || (check.within_noise ? "\u2248" : "\u2713")) + "\u00a0"), checkVerdict(check));
}

function checkTable(report) {
    const measure = (title, key, hint) => ({ title, value: (c) => c[key], text: (c) => sayMeasure(c, c[key]), hint });
    const interval = (c) => (isNumber(c.low) && c.n > 0 && report.subject === "run" ? sayMeasure(c, c.low) + " to " + sayMeasure(c, c.high) : "");
    return makeTable({
        label: "Checks of " + report.name,
        rows: checksInOrder(report),
        columns: [
            { title: "Check", value: checkName },
            { title: "Verdict", value: checkVerdict, cell: checkChip },
            measure("Baseline", "baseline"),
            measure("Value", "value"),
            { title: "Change", value: (c) => c.change, text: (c) => signedPct(c.change) },
            measure("Limit", "limit"),
            { title: "95 % interval", value: (c) => c.low, text: interval, hint: "of the median over the steps" },
        ],
    });
}

function checkPlace(problem) {
    return [problem.file, isNumber(problem.line) && "line " + problem.line, isNumber(problem.rank) && "rank " + problem.rank, isNumber(problem.column) && "cell " + problem.column].filter(Boolean).join(", ");
}

/* What failed beside the cause, the findings that are new, and what lint says. */
function checkReasons(report) {
    const failed = checksInOrder(report).filter((c) => !c.pass && !report.headline.startsWith("Fails: " + c.message));
    const items = [
        ...failed.map((c) => c.message),
        ...report.new_findings.slice(1).map((f) => f.title),
        ...(report.problems || []).map((p) => [checkPlace(p), p.message].filter(Boolean).join(": ")),
    ];
    return items.length > 0 && el("ul", { class: "reasons" }, items.map((text) => el("li", null, unbroken(text))));
}

function checkSection(report, i, several) {
    const failed = report.checks.filter((c) => !c.pass).length;
    return {
        id: "check-" + (i + 1),
        title: several ? unbroken(report.headline) : "Checks",
        short: several ? report.name : "Checks",
        how: (failed > 0 ? failed + " of " + sayCount(report.checks.length, "check fails", "checks fail") + ": " : "") + report.name + (report.updated ? ", measured for " : " against ") + report.baseline + (report.reduced ? ": " + sayKept(report.reduced) : ""),
        content: [checkReasons(report), checkTable(report)],
    };
}

/* The headline's clauses: what fails is the heading, through what and what is new follow it. */
function checkClauses(headline) {
    const [first, ...rest] = headline.split("; ");
    return [el("h1", { id: "headline" }, unbroken(first)), ...rest.map((text) => el("p", null, unbroken(sentence(text).replace(/[.]?$/, "."))))];
}

function showChecks(document_, timelines, app) {
    const results = document_.results || [document_];
    const failed = results.filter((r) => !r.pass);
    const headline = results.length === 1 ? results[0].headline : failed.length > 0 ? failed.length + " of " + results.length + " fail." : "All " + results.length + " pass.";
    const checks = results.flatMap((r) => r.checks);
    const verdict = el("section", { class: "verdict", id: "verdict", "aria-labelledby": "headline" },
        el("div", null, el("p", { class: "eyebrow" }, "Check"), checkClauses(headline)),
        el("dl", { class: "stats" }, stat("Checks that fail", String(checks.filter((c) => !c.pass).length), "of " + checks.length)));
    const list = results.length > 1 ? results.slice().sort((a, b) => a.pass - b.pass) : results;
    showSections(app, "Check", document.title.split(" - ").pop(), verdict, list.map((r, i) => checkSection(r, i, results.length > 1)));
}
