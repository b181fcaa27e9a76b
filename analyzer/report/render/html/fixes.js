/* SPDX-License-Identifier: Apache-2.0 */
/* The page of 'inquest fix': each fix with what it is predicted to gain, what it gained when it was
 * executed, and the step before and after it on one scale of time. */

const FIX_VERDICTS = {
    confirmed: { mark: "\u2713", text: "Confirmed", how: "executed: the order was kept, and the gain is there" },
    order_confirmed: { mark: "\u2248", text: "Order confirmed", how: "executed in the planned order; the cost was not judged" },
    refuted: { mark: "\u2717", text: "Refuted", how: "executed, and the gain or the order is not there" },
    inconclusive: { mark: "?", text: "Inconclusive", how: "executed, and the executions decide nothing" },
    repairs: { mark: "+", text: "Repairs", how: "predicted, not executed: it repairs a fault" },
    helps: { mark: "+", text: "Helps", how: "predicted, not executed" },
    no_help: { mark: "\u2013", text: "Does not help", how: "predicted, not executed: the step gets no shorter" },
    none: { mark: "\u2013", text: "Not predicted", how: "not predicted here" },
};
const FIX_ROWS_HEIGHT = 340;

const hasPrediction = (fix) => isNumber(fix.predicted_t_ns);

/* What executing gave; of a fix that was not executed what is predicted, in the words of the text. */
function verdictKey(fix) {
    if (!hasPrediction(fix) && !fix.executed) return "none";
    if (fix.verdict !== "not_executed") return fix.verdict;
    return fix.helps ? (fix.repairs ? "repairs" : "helps") : "no_help";
}

const fixVerdict = (fix) => FIX_VERDICTS[verdictKey(fix)];

function verdictChip(fix) {
    const verdict = fixVerdict(fix);
    return el("span", { class: "chip tried tried-" + verdictKey(fix) }, el("span", { "aria-hidden": "true" }, verdict.mark + "\u00a0"), verdict.text);
}

const sayTimes = (speedup) => speedup.toFixed(3) + "\u00d7";
const sayInterval = (ci) => sayTimes(ci[0]) + " to " + sayTimes(ci[1]);
/* What a speed-up takes off a step, as a share of it; negative: the step gets longer. */
const shareOf = (speedup) => 1 - 1 / speedup;

function sayGain(ns, whole) {
    if (ns === 0) return "no gain";
    return sayNs(Math.abs(ns)) + (ns < 0 ? " longer" : " shorter") + " (" + sayPct(Math.abs(ns) / whole) + ")";
}

function sayAssumption(a) {
    const unit = a.unit ? " " + a.unit : "";
    const measured = a.measured === null ? "not measured" : digits(a.measured, 3) + unit + " (95\u00a0%: " + digits(a.ci95[0], 3) + " to " + digits(a.ci95[1], 3) + ")";
    return a.name + " " + measured + ", assumed " + digits(a.assumed, 3) + unit;
}

/* Where the executed original differs from its plan. */
function sayKinds(kinds, whole) {
    const far = kinds.filter((k) => Math.abs(k.executed_ns - k.planned_ns) > 0.001 * whole);
    return far.length === 0 ? "" : " Against the plan, per rank: " + far.map((k) => k.kind + (k.executed_ns < k.planned_ns ? " \u2212" : " +") + sayNs(Math.abs(k.executed_ns - k.planned_ns))).join(", ") + ".";
}

/* Of fewer than six pairs it is a range, no interval of known certainty. */
function gainInterval(executed) {
    return executed.speedup_ci95 || executed.speedup_range;
}

/* What gains are told of: the recorded mean step, or the one of a schedule. */
function baseLength(base) {
    return isNumber(base.recorded_ns) ? base.recorded_ns : base.t_ns;
}

function fixFacts(report, fix) {
    const whole = baseLength(report.base);
    const executed = fix.executed;
    const facts = [
        ["Predicted", hasPrediction(fix) ? sayGain(fix.predicted_gain_ns, whole) + ": " + sayNs(fix.predicted_t_ns) + " instead of " + sayNs(whole) + ", " + sayTimes(fix.predicted_speedup) + " as fast" : null],
        ["Executed", executed
            ? sayPct(Math.abs(shareOf(executed.speedup))) + (executed.speedup < 1 ? " longer" : " shorter") + ": " + sayTimes(executed.speedup) + " as fast (" + (executed.speedup_ci95 ? "95\u00a0%: " : "all: ") + sayInterval(gainInterval(executed)) + "; " + sayCount(executed.n, "pair", "pairs") + "), where " + sayTimes(executed.predicted_speedup) + " was predicted of the part executed" + (executed.measured_speedup === null ? "" : " and " + sayTimes(executed.measured_speedup) + " with measured costs") + ", on " + executed.device
            : hasPrediction(fix) ? "no; --validate host or --validate cuda executes it" : null],
        ["Order", executed ? executed.order.verdict + ": " + executed.order.why : null],
        ["Cost", executed ? executed.cost.verdict + ": " + executed.cost.why : null],
        ["Measured", executed && executed.assumptions.length > 0 ? executed.assumptions.map(sayAssumption).join("; ") : null],
        ["Called for by", fix.finding],
        ["Assumes", fix.assumes],
        ["Memory", fix.costs.memory],
        ["Accuracy", fix.costs.accuracy],
        ["Work", fix.costs.work],
    ];
    return el("dl", { class: "facts" }, facts.filter(([, text]) => text).map(([name, text]) => [el("dt", null, name), el("dd", null, text)]));
}

/* ---- before and after ------------------------------------------------------------------------ */

function readStep(raw) {
    if (!raw || raw.windows.length === 0) return null;
    const data = makeTimelineData(raw, { findings: [] }, () => null);
    return { data, read: readWindow(data, data.windows[0]), first: Number(raw.origin_ns), leftOut: raw.rows_left_out };
}

function drawStepRows(context, frame, colors) {
    const every = Math.ceil(13 / frame.rowHeight);
    context.textBaseline = "middle";
    frame.rows.forEach((row, r) => {
        const y = r * frame.rowHeight;
        context.fillStyle = colors.row;
        context.fillRect(frame.left, y + 0.5, frame.width, frame.rowHeight - 1);
        if (r % every !== 0) return;
        context.font = "11px " + colors.font;
        context.fillStyle = colors.muted;
        context.fillText((row.rank === null ? "" : "rank ") + row.label.slice(0, 8), 0, Math.max(6, y + Math.min(frame.rowHeight, 13) / 2));
    });
}

/* One step on a canvas, its end as a line; `length` ns are as wide as the drawing. */
function stepCanvas(width, step, end, other, length) {
    const rows = step.read.rows;
    const left = 56;
    const frame = { data: step.data, rows, left, width: width - left, rowHeight: Math.max(3, Math.min(24, Math.floor(FIX_ROWS_HEIGHT / rows.length))) };
    const height = frame.rowHeight * rows.length;
    const ratio = window.devicePixelRatio || 1;
    const canvas = el("canvas", { width: Math.round(width * ratio), height: Math.round(height * ratio), "aria-hidden": "true" });
    const context = canvas.getContext("2d");
    const colors = readColors();
    colors.hatch = makeHatch(context, css("--hatch"), ratio);
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    frame.from = -step.first; /* the trace counts from its first op, the step from its begin */
    frame.to = length - step.first;
    drawStepRows(context, frame, colors);
    const batch = makeBatch();
    rows.forEach((row, r) => {
        for (const lane of row.lanes) collectLane(Object.assign({}, frame, { rowHeight: frame.rowHeight - 1 }), row, lane, r * frame.rowHeight + 0.5, batch, []);
    });
    fillBatch(context, batch, left, colors);
    for (const [at, color, dash] of [[other, colors.muted, [3, 3]], [end, colors.ink, []]]) {
        const px = left + Math.min(frame.width - 1, (at / length) * frame.width);
        context.strokeStyle = color;
        context.lineWidth = 1.5;
        context.setLineDash(dash);
        context.beginPath();
        context.moveTo(px, 0);
        context.lineTo(px, height);
        context.stroke();
    }
    const [size, unit] = unitOf(length);
    const x = d3.scaleLinear().domain([0, length / size]).range([0, frame.width]);
    const ticks = axisNode(d3.axisBottom(x).ticks(5).tickSizeOuter(0), left, 1);
    keepLabelsIn(ticks, x, frame.width);
    const axis = chart(width, 22, ticks, text(left - 14, 12, unit, { class: "muted", "text-anchor": "end" }));
    return el("div", null, canvas, axis);
}

function stepFigure(title, step, end, other, length, paints) {
    const plot = figure(title, (width) => stepCanvas(width, step, end, other, length));
    paints.push(plot.paint);
    return el("figure", { class: "step" }, el("figcaption", null, title), plot.node);
}

function kindsLegend(steps) {
    const kinds = new Set(steps.flatMap((step) => step.read.kinds));
    return el("ul", { class: "legend" },
        [...kinds].sort((a, b) => a - b).map((k) => el("li", null, swatch(KINDS[k].id, KINDS[k].letter), KINDS[k].label)),
        el("li", null, el("span", { class: "swatch-end", "aria-hidden": "true" }), "End of the step"),
        el("li", null, el("span", { class: "swatch-other", "aria-hidden": "true" }), "End of the other one"));
}

function beforeAfter(report, fix, base, step, paints) {
    if (!base || !step) return null;
    const before = report.base.step_t_ns;
    const after = fix.predicted_step_t_ns;
    if (!isNumber(after)) return null;
    const length = Math.max(before, after);
    const which = report.base.step === null ? "The step " : "Step " + report.base.step + " ";
    return [
        el("div", { class: "pair" },
            stepFigure(which + "before: " + sayNs(before), base, before, after, length, paints),
            stepFigure(which + "after, as simulated: " + sayNs(after), step, after, before, length, paints)),
        step.leftOut > 0 && el("p", { class: "muted" }, sayCount(step.leftOut, "rank", "ranks") + " more without a row."),
    ];
}

/* ---- sections -------------------------------------------------------------------------------- */

function fixStats(report) {
    const base = report.base;
    const best = report.fixes.find(hasPrediction);
    const tried = report.fixes.filter((fix) => fix.executed);
    const count = (verdict) => tried.filter((fix) => fix.verdict === verdict).length;
    return el("dl", { class: "stats" },
        stat("Step without a fix", sayNs(baseLength(base)), isNumber(base.recorded_ns) ? (base.steps > 1 ? "mean of " + base.steps + " recorded steps; " : "recorded; ") + "simulated " + sayNs(base.t_ns) : "of the schedule"),
        best && stat("First fix, predicted", sayNs(best.predicted_t_ns), sayGain(best.predicted_gain_ns, baseLength(base))),
        stat("Executed", tried.length === 0 ? "none" : tried.length + " of " + report.fixes.length,
            tried.length === 0 ? "all gains are predictions" : [count("confirmed") + " confirmed", count("refuted") + " refuted", count("order_confirmed") + " order confirmed", count("inconclusive") + " inconclusive"].join(", ")));
}

function fixVerdictSection(report) {
    const executed = report.base.executed;
    return el("section", { class: "verdict", id: "verdict", "aria-labelledby": "headline" },
        el("div", null, el("p", { class: "eyebrow" }, "Fixes"), el("h1", { id: "headline" }, unbroken(report.headline)),
            executed && el("p", { class: "muted" }, "Executed by " + executed.engine + " on " + executed.device + ": the original took " + sayNs(executed.t_ns_median) + " where " + sayNs(executed.expected_ns) + " was expected (" + (executed.fidelity_error < 0 ? "\u2212" : "+") + sayPct(Math.abs(executed.fidelity_error)) + ")" + (executed.scale !== 1 ? ", times scaled by " + digits(executed.scale, 3) : "") + "." + sayKinds(executed.kinds, executed.expected_ns) + " " + (executed.note || ""))),
        fixStats(report));
}

function fixTableSection(report) {
    if (report.fixes.length === 0) return null;
    const whole = baseLength(report.base);
    const time = nsInUnit(report.fixes.map((fix) => fix.predicted_t_ns).concat(whole));
    const runs = report.fixes.some((fix) => fix.executed);
    const columns = [
        { title: "Fix", value: (fix) => fix.spec, cell: (fix) => el("a", { href: "#fix-" + (report.fixes.indexOf(fix) + 1) }, el("code", null, fix.spec)) },
        { title: "Verdict", value: (fix) => fixVerdict(fix).text, cell: verdictChip },
        nsColumn("Step", time, (fix) => fix.predicted_t_ns, "predicted length of a step"),
        nsColumn("Gain", time, (fix) => fix.predicted_gain_ns, "predicted: what a step gets shorter by"),
        { title: "Gain %", value: (fix) => (hasPrediction(fix) ? fix.predicted_gain_ns / whole : null), text: (fix) => (hasPrediction(fix) ? ((100 * fix.predicted_gain_ns) / whole).toFixed(1) : ""), hint: "predicted, of the step without a fix" },
    ];
    if (runs) {
        columns.push(
            { title: "Measured gain %", value: (fix) => (fix.executed && fix.executed.measured_speedup !== null ? shareOf(fix.executed.measured_speedup) : null), text: (fix) => (fix.executed && fix.executed.measured_speedup !== null ? (100 * shareOf(fix.executed.measured_speedup)).toFixed(1) : ""), hint: "predicted with the costs that were measured on the executing device" },
            { title: "Executed gain %", value: (fix) => (fix.executed ? shareOf(fix.executed.speedup) : null), text: (fix) => (fix.executed ? (100 * shareOf(fix.executed.speedup)).toFixed(1) : ""), hint: "measured: what the executed step got shorter by" },
            { title: "Its interval", value: (fix) => (fix.executed ? shareOf(gainInterval(fix.executed)[0]) : null), text: (fix) => (fix.executed ? gainInterval(fix.executed).map((s) => (100 * shareOf(s)).toFixed(1)).join(" to ") : ""), hint: "that holds the median gain with 95 % certainty; of fewer than 6 pairs the range of all" }
        );
    }
    return {
        id: "all", title: "All fixes", short: "All",
        how: "Predicted gains are simulated unless a fix says otherwise" + (runs ? "; executed ones were measured." : "; none of them was executed."),
        wide: true,
        content: makeTable({ label: "All fixes", rows: report.fixes, columns }),
    };
}

function fixSection(report, fix, i, base, step) {
    const paints = [];
    const drawn = beforeAfter(report, fix, base, step, paints);
    return {
        id: "fix-" + (i + 1),
        title: [el("code", null, fix.spec), " ", verdictChip(fix)],
        short: i + 1 + ". " + fix.spec,
        how: fix.what ? unbroken(sentence(fix.what)) + "." : sentence(fix.problem || fixVerdict(fix).how) + ".",
        content: [drawn, drawn && kindsLegend([base, step]), fixFacts(report, fix)],
        start: () => paints.forEach((paint) => paint()),
    };
}

function showFixes(report, timelines, app) {
    const base = readStep(timelines[0]);
    showSections(app, "Fixes", report.tool, fixVerdictSection(report), [fixTableSection(report), ...report.fixes.map((fix, i) => fixSection(report, fix, i, base, readStep(timelines[i + 1])))]);
}
