/* SPDX-License-Identifier: Apache-2.0 */
/* The page of 'inquest compare': both accounts of a step side by side, and what changed it. */

/* With its sign, but for what reads as zero. */
function signed(x, say) {
    if (!isNumber(x)) return "";
    const size = say(Math.abs(x));
    return Number.parseFloat(size) === 0 ? size : (x < 0 ? "\u2212" : "+") + size;
}

/* A cause after its time, which some sentences begin with. */
function sayReason(cause) {
    const hasTime = /^[\d.]+ \S+ of it/.test(cause.text);
    return [!hasTime && el("b", null, signed(cause.ns, sayNs) + " "), unbroken(sentence(cause.text.replace(/\.$/, "") + "."))];
}

const signedPct = (share) => signed(share, sayPct);
const shareOfStep = (ns, step) => (step > 0 ? ns / step : null);

/* A column of differences: in the unit of the table, with their sign. */
const changeColumn = (title, time, value, hint) => ({ title: title + " " + time.name, value, text: (row) => signed(value(row), time.say), hint });

const isScaled = (report) => report.scaling.kind !== "same";
const changeTitle = (report) => (isScaled(report) ? "Lost" : "Change");

function sayComparedRun(which, run) {
    const aside = [
        run.warm_up_steps > 0 && "without " + sayCount(run.warm_up_steps, "warm-up step", "warm-up steps"),
        run.outlier_steps > 0 && "without " + sayCount(run.outlier_steps, "outlier", "outliers"),
    ].filter(Boolean);
    const interval = isNumber(run.step_low_ns) ? " (" + sayNs(run.step_low_ns) + " to " + sayNs(run.step_high_ns) + ")" : "";
    return [el("dt", null, which), el("dd", null, [sayCount(run.ranks, "rank", "ranks") + ", " + sayCount(run.steps, "step", "steps") + " of " + sayNs(run.step_ns) + interval, ...aside, run.device, run.name].filter(Boolean).join(", "))];
}

function comparisonLimits(report) {
    const notes = [["base", report.base], ["new", report.new]].flatMap(([which, run]) => [
        run.damaged_files > 0 && sayCount(run.damaged_files, "file", "files") + " of the " + which + " run " + (run.damaged_files === 1 ? "is" : "are") + " damaged",
        run.reduced && sayKept(run.reduced) + " (" + which + " run)",
        run.missing_ranks > 0 && sayCount(run.missing_ranks, "rank", "ranks") + " of the " + which + " run " + (run.missing_ranks === 1 ? "has" : "have") + " no trace",
    ]).filter(Boolean);
    return notes.length > 0 ? el("p", { class: "limits" }, el("b", null, "Limits. "), sentence(notes.join("; ")) + ".") : null;
}

function comparisonStats(report) {
    const scaling = report.scaling;
    const difference = report.loss_ns;
    return el("dl", { class: "stats" },
        stat("Step of the new run", sayNs(report.new.step_ns), (isScaled(report) ? "base " : "before ") + sayNs(report.base.step_ns)),
        stat(isScaled(report) ? "Lost against the ideal step" : "Change", signed(difference, sayNs), signedPct(shareOfStep(difference, report.new.step_ns)) + " of the new step"),
        isScaled(report) && isNumber(scaling.speedup) && stat("Speed-up", sayTimes(scaling.speedup), isNumber(scaling.ideal_speedup) && "ideal " + sayTimes(scaling.ideal_speedup) + (isNumber(scaling.efficiency) ? ", efficiency " + sayPct(scaling.efficiency) : "")));
}

function comparisonVerdict(report) {
    return el("section", { class: "verdict", id: "verdict", "aria-labelledby": "headline" },
        el("div", null, el("p", { class: "eyebrow" }, "Comparison"), el("h1", { id: "headline" }, unbroken(report.headline)),
            report.reason && el("p", null, unbroken(report.reason)),
            el("dl", { class: "facts" }, sayComparedRun("Base", report.base), sayComparedRun("New", report.new)),
            report.scaling.how && el("p", { class: "muted" }, report.scaling.how), comparisonLimits(report)),
        comparisonStats(report));
}

function accountsSection(report) {
    const scaled = isScaled(report);
    const rows = report.parts.filter((p) => p.base_ns !== 0 || p.new_ns !== 0);
    if (rows.length === 0) return null;
    const all = { part: "step", base_ns: report.base.step_ns, ideal_ns: report.scaling.ideal_step_ns, new_ns: report.new.step_ns };
    const time = nsInUnit([all.base_ns, all.ideal_ns, all.new_ns]);
    const change = (p) => p.new_ns - p.ideal_ns;
    const share = (title, key, whole) => ({ title, value: (p) => shareOfStep(p[key], whole), text: (p) => sayPct(shareOfStep(p[key], whole)) });
    return {
        id: "accounts", title: "Where a step goes, before and after", short: "Accounts",
        how: "Mean of all ranks and steps; the parts sum to the step." + (scaled ? " Ideal: the base step for the work that the new run does." : ""),
        content: makeTable({
            label: "Where a step goes",
            rows: rows.concat(all),
            columns: [
                { title: "Part", value: (p) => words(p.part) },
                nsColumn("Base", time, (p) => p.base_ns), share("Base share", "base_ns", all.base_ns),
                ...(scaled ? [nsColumn("Ideal", time, (p) => p.ideal_ns)] : []),
                nsColumn("New", time, (p) => p.new_ns), share("New share", "new_ns", all.new_ns),
                changeColumn(changeTitle(report), time, change, scaled ? "new less ideal" : "new less base"),
            ],
        }),
    };
}

/* What changed a step: bars where there are several, each cause with what is known of it. */
function reasonsSection(report) {
    const rows = report.losses.filter((l) => l.loss_ns !== 0);
    if (rows.length === 0) return null;
    const time = nsInUnit(rows.map((l) => l.loss_ns).concat(report.loss_ns));
    const ofStep = (l) => shareOfStep(l.loss_ns, report.new.step_ns);
    const plot = rows.length > 2 && figure("What changed a step", (width) => barChart(width, rows.map((l) => ({ label: words(l.cause), value: l.loss_ns, text: signed(l.loss_ns, sayNs), className: l.loss_ns > 0 ? "fill-loss" : "fill-gain" })), { domain: [Math.min(0, d3.min(rows, (l) => l.loss_ns)), Math.max(0, d3.max(rows, (l) => l.loss_ns))] }));
    return {
        id: "reasons", title: isScaled(report) ? "What the new run loses, and why" : "What changed, and why", short: "Why",
        how: "The rows of the table sum to the difference, " + signed(report.loss_ns, sayNs) + " per step. Plus: the new step is longer by it.",
        content: [
            report.causes.length > 0 && el("ul", { class: "reasons" }, report.causes.map((c) => el("li", null, sayReason(c)))),
            plot && plot.node,
            makeTable({ label: "What changed a step", rows: rows.concat({ cause: "all", loss_ns: report.loss_ns }), columns: [{ title: "Cause", value: (l) => words(l.cause) }, changeColumn(changeTitle(report), time, (l) => l.loss_ns, "per step"), { title: "Of the new step", value: ofStep, text: (l) => signedPct(ofStep(l)) }] }),
        ],
        start: () => plot && plot.paint(),
    };
}

/* Both runs of a collective, one below the other. */
function comparedCollectives(report) {
    const rows = report.collectives.flatMap((c) => ["base", "new"].map((run) => ({ run, coll: c, ...c[run] })));
    if (rows.length === 0) return null;
    const time = nsInUnit(rows.flatMap((r) => [r.transfer_ns, r.exposed_ns, r.wait_ns]));
    return {
        id: "collectives", title: "Collectives", how: "Per rank and step, those that changed a step most first.",
        content: makeTable({
            label: "Collectives of both runs",
            rows,
            columns: [
                { title: "Collective", value: (r) => (r.coll.gradients ? "gradient " : "") + r.coll.name },
                { title: "Run", value: (r) => r.run },
                { title: "Count", value: (r) => r.count, text: (r) => (isNumber(r.count) ? digits(r.count, 3) : "") },
                { title: "Bytes", value: (r) => r.bytes, text: (r) => sayBytes(r.bytes) },
                { title: "Bus GB/s", value: (r) => r.busbw_gbps, text: (r) => (isNumber(r.busbw_gbps) ? r.busbw_gbps.toFixed(1) : "") },
                nsColumn("Transfer", time, (r) => r.transfer_ns),
                nsColumn("Exposed", time, (r) => r.exposed_ns, "not covered by compute"),
                nsColumn("Waiting", time, (r) => r.wait_ns, "for others"),
                changeColumn(changeTitle(report), time, (r) => (r.run === "new" ? r.coll.loss_ns : null), "per rank and step"),
            ],
        }),
    };
}

/* Rows with a time in each run: ranks or stages, and kernels. */
function comparedRows(report, id, title, how, rows, columns) {
    const changed = rows.filter((r) => r.loss_ns !== 0);
    if (changed.length === 0) return null;
    const time = nsInUnit(changed.flatMap((r) => [r.base_ns, r.new_ns]));
    return { id, title, how, content: makeTable({ label: title, rows: changed, limit: LISTED, columns: [...columns, nsColumn("Base", time, (r) => r.base_ns), nsColumn("New", time, (r) => r.new_ns), changeColumn(changeTitle(report), time, (r) => r.loss_ns)] }) };
}

function comparedFindings(report) {
    if (report.findings.length === 0) return null;
    const time = nsInUnit(report.findings.flatMap((f) => [f.base_cost_ns_per_step, f.new_cost_ns_per_step]));
    return {
        id: "findings", title: "Findings that changed", short: "Findings", how: "Of 'inquest analyze' for either run.",
        content: makeTable({
            label: "Findings that changed",
            rows: report.findings,
            columns: [
                { title: "Finding", value: (f) => unbroken(f.title) },
                { title: "Change", value: (f) => words(f.change) },
                { title: "Severity", value: (f) => f.new_severity || f.base_severity },
                nsColumn("Base", time, (f) => f.base_cost_ns_per_step, "cost per step"),
                nsColumn("New", time, (f) => f.new_cost_ns_per_step, "cost per step"),
            ],
        }),
    };
}

function showComparison(report, timelines, app) {
    const byRank = report.compute.some((r) => r.rank !== null);
    const who = byRank ? { title: "Rank", value: (r) => r.rank } : { title: "Stage", value: (r) => r.stage };
    showSections(app, "Comparison", report.tool, comparisonVerdict(report), [
        accountsSection(report),
        reasonsSection(report),
        comparedFindings(report),
        comparedCollectives(report),
        comparedRows(report, "compute", byRank ? "Compute of ranks" : "Compute of stages", "Per step, those that changed most first.", report.compute, [who]),
        comparedRows(report, "kernels", "Compute kernels", "Sums per rank and step, those that changed most first.", report.kernels, [{ title: "Kernel", value: (k) => k.name }]),
    ]);
}
