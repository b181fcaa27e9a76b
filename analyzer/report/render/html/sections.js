/* SPDX-License-Identifier: Apache-2.0 */
/* One function a section: {id, title, how, content, start?}, or null when it does not apply. */

const nsColumn = (title, time, value, hint) => ({ title: title + " " + time.name, value, text: (row) => time.say(value(row)), hint });
const ratioText = (x) => (isNumber(x) ? x.toFixed(3) : "");

function waterfallSection(run) {
    const pipeline = run.report.pipeline;
    if (!pipeline || pipeline.waterfall.length === 0) return null;
    const total = pipeline.total_ns_per_step;
    const time = nsInUnit(pipeline.waterfall.map((p) => p.ns_per_step));
    const plot = figure("Waterfall from the measured step to the ideal one", (width) => waterfallChart(width, pipeline));
    const stageTime = nsInUnit(pipeline.per_stage.map((s) => s.compute_ns));
    const facts = [
        pipeline.schedule + " (" + pipeline.source + ")",
        sayCount(pipeline.stages, "stage", "stages"),
        sayCount(pipeline.microbatches, "micro-batch", "micro-batches"),
        pipeline.replicas > 1 && sayCount(pipeline.replicas, "replica", "replicas"),
        "bubble ratio " + sayPct(pipeline.bubble_ratio) + (isNumber(pipeline.bubble_ratio_theory) ? ", in theory " + sayPct(pipeline.bubble_ratio_theory) : ""),
    ];
    return {
        id: "waterfall",
        title: "From the measured step to the ideal",
        short: "Waterfall",
        how: "From the top, each bar takes one cause away and says what the step gets shorter by; the bars sum exactly to the measured step.",
        content: [
            el("p", { class: "muted" }, facts.filter(Boolean).join(" \u00b7 ")),
            plot.node,
            folded(
                "Waterfall as a table",
                makeTable({
                    label: "Waterfall, per step",
                    rows: pipeline.waterfall,
                    columns: [{ title: "Part", value: (p) => words(p.cause) }, nsColumn("Per step", time, (p) => p.ns_per_step), { title: "Of the step", value: (p) => p.ns_per_step / total, text: (p) => sayPct(p.ns_per_step / total) }],
                })
            ),
            folded(
                "Stages",
                makeTable({
                    label: "Stages, per step and worker",
                    rows: pipeline.per_stage,
                    columns: [
                        { title: "Stage", value: (s) => s.stage },
                        nsColumn("Forward", stageTime, (s) => s.forward_ns, "mean of a micro-batch"),
                        nsColumn("Backward", stageTime, (s) => s.backward_ns, "mean of a micro-batch"),
                        nsColumn("Compute", stageTime, (s) => s.compute_ns),
                        nsColumn("P2P", stageTime, (s) => s.p2p_ns),
                        nsColumn("Sync", stageTime, (s) => s.sync_ns),
                        nsColumn("Other", stageTime, (s) => s.other_ns),
                        nsColumn("Idle", stageTime, (s) => s.idle_ns),
                        nsColumn("Bubble", stageTime, (s) => s.bubble_ns),
                    ],
                })
            ),
        ],
        start: plot.paint,
    };
}

function heatSection(run) {
    const whatif = run.report.whatif;
    const workers = whatif ? whatif.by_worker.filter((w) => w.stage !== null && w.dp_rank !== null && isNumber(w.slowdown)) : [];
    if (workers.length < 2) return null;
    const plot = figure("Heat map of every worker's slowdown, stages down, DP ranks to the right", (width) => heatMap(width, workers));
    const drawn = figureOrTable(workers.length, plot, "Workers as a table", makeTable({
        label: "Slowdown by worker",
        rows: workers,
        sort: { column: 3, down: true },
        columns: [{ title: "Rank", value: (w) => (w.rank === null ? w.name : w.rank) }, { title: "Stage", value: (w) => w.stage }, { title: "DP rank", value: (w) => w.dp_rank }, { title: "S", value: (w) => w.slowdown, text: (w) => w.slowdown.toFixed(4) }],
    }));
    return {
        id: "workers",
        title: "Slowdown by worker",
        short: "Workers",
        how: "S of a worker: the step with only this worker as recorded and all others ideal, over the ideal step. 1.00 costs nothing" + (workers.length < FEWEST_POINTS ? "." : "; the further the color from the page, the more it costs."),
        ...drawn,
    };
}

function waitsSection(run) {
    const coll = run.report.collectives;
    if (!coll || coll.waits.length < 2) return null;
    const waits = coll.waits.slice().sort((a, b) => b.last_arrivals - a.last_arrivals || a.wait_ns - b.wait_ns);
    const time = nsInUnit(waits.map((w) => w.wait_ns));
    const plot = figure("How often each rank arrived last at a collective, and how long it waited", (width) => waitsChart(width, waits));
    const drawn = figureOrTable(waits.length, plot, "Waits as a table", makeTable({
        label: "Waits in collectives by rank",
        rows: waits,
        columns: [{ title: "Rank", value: (w) => w.rank }, { title: "Arrived last", value: (w) => w.last_arrivals }, { title: "Arrived first", value: (w) => w.first_arrivals }, nsColumn("Waited", time, (w) => w.wait_ns), { title: "Collectives", value: (w) => w.collectives }],
    }));
    return {
        id: "waits",
        title: "Who waits for whom",
        short: "Waits",
        how: "A collective begins when its last member arrives." + (waits.length < FEWEST_POINTS ? "" : " A long bar to the left is a rank that the others waited for; a long bar to the right is one that waited."),
        content: [waits.length > 32 && el("p", { class: "muted" }, "The 32 ranks that arrived last most often; the table has all."), drawn.content],
        start: drawn.start,
    };
}

function groupText(row) {
    return (row.group_desc || row.group || "") + (row.group_ranks ? " [" + sayRanks(row.group_ranks) + "]" : "");
}

function worstTable(run, worst) {
    const time = nsInUnit(worst.map((w) => w.wait_ns));
    const link = (w) => {
        const from = run.clock(w.start_ns);
        const to = run.clock(w.end_ns);
        if (!run.timeline.holds(from)) return sayRange(from, to);
        return el("button", { type: "button", class: "link", on: { click: () => run.timeline.goTo(w.last_rank, from, to, words(w.op) + " " + w.seq) } }, sayRange(from, to));
    };
    return makeTable({
        label: "Collectives that were waited for longest",
        rows: worst,
        columns: [
            { title: "Operation", value: (w) => words(w.op) },
            { title: "Number", value: (w) => w.seq },
            { title: "Last rank", value: (w) => w.last_rank },
            nsColumn("Waits", time, (w) => w.wait_ns, "summed over ranks"),
            nsColumn("Skew", time, (w) => w.skew_ns, "last minus first arrival"),
            nsColumn("Transfer", time, (w) => w.transfer_ns),
            { title: "When", value: (w) => run.clock(w.start_ns), text: (w) => sayRange(run.clock(w.start_ns), run.clock(w.end_ns)), cell: link },
            { title: "Group", value: groupText },
        ],
    });
}

function collectivesSection(run) {
    const coll = run.report.collectives;
    if (!coll || coll.by_op.length === 0) return null;
    const known = coll.by_op.filter((o) => o.bytes > 0 && isNumber(o.busbw_gbps));
    const time = nsInUnit(coll.by_op.map((o) => o.transfer_ns_median));
    const waitTime = nsInUnit(coll.by_op.map((o) => o.wait_ns));
    const plot = known.length >= FEWEST_POINTS ? figure("Bus bandwidth of collectives against their size", (width) => bandwidthChart(width, known)) : null;
    return {
        id: "collectives",
        title: "Collectives",
        how: "Bus bandwidth as nccl-tests defines it, of the transfer alone (from the last arrival on)" + (plot ? ": a point far below others of its size is a slow link or group." : "."),
        content: [
            plot && plot.node,
            makeTable({
                label: "Collectives by operation, group and size",
                rows: coll.by_op,
                columns: [
                    { title: "Operation", value: (o) => words(o.op) },
                    { title: "Size", value: (o) => o.bytes, text: (o) => sayBytes(o.bytes) },
                    { title: "Ranks", value: (o) => o.group_size },
                    { title: "Count", value: (o) => o.count },
                    nsColumn("Transfer", time, (o) => o.transfer_ns_median, "median"),
                    nsColumn("Waits", waitTime, (o) => o.wait_ns, "summed over ranks"),
                    { title: "Alg GB/s", value: (o) => o.algbw_gbps, text: (o) => (isNumber(o.algbw_gbps) ? digits(o.algbw_gbps, 4) : "") },
                    { title: "Bus GB/s", value: (o) => o.busbw_gbps, text: (o) => (isNumber(o.busbw_gbps) ? digits(o.busbw_gbps, 4) : "") },
                    { title: "Group", value: groupText },
                ],
            }),
            coll.worst.length > 0 && [el("h3", null, "Waited for longest"), worstTable(run, coll.worst)],
        ],
        start: plot ? plot.paint : undefined,
    };
}

function stepsSection(run) {
    const steps = run.report.steps;
    if (!steps || steps.length < 2) return null;
    const time = nsInUnit(steps.map((s) => s.dur_ns));
    const median = run.report.step_ns_median;
    const held = new Set(run.rawTimeline.windows.map((w) => w.step));
    const pick = (s) => run.timeline.goTo(null, run.clock(s.start_ns) + 1, run.clock(s.start_ns) + s.dur_ns, "step " + s.step);
    const plot = figure("Length of each step", (width) => stepsChart(width, steps, median, held, pick));
    const drawn = figureOrTable(steps.length, plot, "Steps as a table", makeTable({ label: "Steps", rows: steps, columns: [{ title: "Step", value: (s) => s.step }, { title: "Start s", value: (s) => run.clock(s.start_ns), text: (s) => sayAt(run.clock(s.start_ns)) }, nsColumn("Length", time, (s) => s.dur_ns), { title: "Of the median", value: (s) => s.dur_ns / median, text: (s) => sayPct(s.dur_ns / median) }] }));
    return {
        id: "steps",
        title: "Steps over time",
        short: "Steps",
        how: steps.length < FEWEST_POINTS ? "The length of each step." : "One bar per step; the line is the median. Steps in the stronger color are in the timeline.",
        ...drawn,
    };
}

function ranksSection(run) {
    const ranks = run.report.ranks;
    if (!ranks || ranks.length === 0) return null;
    const time = nsInUnit(ranks.map((r) => r.span_ns));
    const hasStages = ranks.some((r) => r.stage !== null);
    const hasCauses = ranks.some((r) => r.idle);
    const parts = (r) => [["compute", r.compute_ns], ["comm", r.exposed_comm_ns], ["copy", r.exposed_memcpy_ns], ["idle", r.idle_ns]].map(([kind, ns]) => ({ kind, share: r.span_ns > 0 ? ns / r.span_ns : 0 }));
    const sayParts = (r) => { const p = parts(r); return "compute " + sayPct(p[0].share) + ", exposed communication " + sayPct(p[1].share) + ", idle " + sayPct(p[3].share); };
    return {
        id: "ranks",
        title: "Ranks",
        how: "Where each rank's time went, from its first to its last work; the parts sum exactly to the span. A rank with more compute and less communication than its peers is the one they wait for.",
        content: [
            el("ul", { class: "legend" }, [["compute", "Compute"], ["comm", "Exposed communication"], ["copy", "Exposed copies"], ["idle", "Idle"]].map(([kind, label]) => el("li", null, swatch(kind), label))),
            makeTable({
                label: "Where each rank's time went",
                rows: ranks,
                columns: [
                    { title: "Rank", value: (r) => (r.rank === null ? r.label : r.rank), text: (r) => r.label || String(r.rank) },
                    hasStages && { title: "Stage", value: (r) => r.stage },
                    { title: "Share", value: (r) => (r.span_ns > 0 ? r.compute_ns / r.span_ns : 0), text: sayParts, left: true, cell: (r) => miniBar(parts(r), sayParts(r)), hint: "sorts by compute" },
                    nsColumn("Compute", time, (r) => r.compute_ns),
                    nsColumn("Exposed comm", time, (r) => r.exposed_comm_ns),
                    nsColumn("Exposed copy", time, (r) => r.exposed_memcpy_ns),
                    nsColumn("Idle", time, (r) => r.idle_ns),
                    hasCauses && nsColumn("Idle: host", time, (r) => (r.idle ? r.idle.host_ns : null), "the launch came after the gap had begun"),
                    { title: "Overlap", value: (r) => r.overlap_pct, text: (r) => (isNumber(r.overlap_pct) ? r.overlap_pct.toFixed(1) + "\u00a0%" : ""), hint: "communication covered by compute" },
                    nsColumn("Span", time, (r) => r.span_ns),
                ].filter(Boolean),
            }),
        ],
    };
}

function ratioBars(title, object) {
    const rows = Object.entries(object).filter(([, value]) => isNumber(value)).map(([label, value]) => ({ label: words(label), value: value - 1, from: 1, text: value.toFixed(3), className: value >= 1 ? "fill-loss" : "fill-gain" }));
    if (rows.length < FEWEST_POINTS) return [];
    const shown = rows.length > 24 ? rows.sort((a, b) => b.value - a.value).slice(0, 24) : rows;
    const low = Math.min(1, 1 + d3.min(shown, (r) => r.value));
    const high = Math.max(1.02, 1 + d3.max(shown, (r) => r.value));
    const plot = figure("Slowdown by " + title, (width) => barChart(width, shown, { domain: [low, high], rowHeight: 22 }));
    return [el("h3", null, "By " + title), plot.node, plot];
}

function whatifSection(run) {
    const whatif = run.report.whatif;
    if (!whatif) return null;
    const bars = [ratioBars("kind of op", whatif.by_op_type), ratioBars("stage", whatif.by_stage), ratioBars("DP rank", whatif.by_dp_rank)];
    const table = (label, object) => makeTable({ label, rows: Object.entries(object), columns: [{ title: "Part", value: (e) => words(e[0]) }, { title: "S", value: (e) => e[1], text: (e) => ratioText(e[1]) }] });
    const causes = whatif.causes || [];
    const scenarios = whatif.scenarios || [];
    const time = nsInUnit(causes.map((c) => c.saved_ns));
    const scenarioTime = nsInUnit(scenarios.map((s) => s.t_ns));
    return {
        id: "whatif",
        title: "What if no part were slower than its like",
        short: "What if",
        how: "S = T / T ideal: the simulated step as recorded, over the step with every op as long as its like. S of a part: only this part as recorded. 1 costs nothing.",
        content: [
            el("dl", { class: "stats inline" }, stat("S", ratioText(whatif.slowdown), "the whole step"), stat("T", sayNs(whatif.t_ns), "recorded " + sayNs(whatif.recorded_ns)), stat("T ideal", sayNs(whatif.t_ideal_ns)), isNumber(whatif.m_w) && stat("M_W", sayPct(whatif.m_w), "saved by ideal slowest workers, of T − T ideal"), isNumber(whatif.m_s) && stat("M_S", sayPct(whatif.m_s), "saved by an ideal last stage, of T − T ideal")),
            causes.length > 0 && [
                el("h3", null, "Causes, tested by taking each away"),
                el("p", { class: "how" }, "Saves: with its ops as long as their like, so a longer stage loses work; a finding moves the work to other stages and gains less."),
                makeTable({ label: "Causes, tested by taking each away", rows: causes, columns: [{ title: "Cause", value: (c) => words(c.kind) }, nsColumn("Saves", time, (c) => c.saved_ns, "per step"), { title: "Of the loss", value: (c) => c.share, text: (c) => sayPct(Math.min(c.share, 1)), hint: "100 %: all of it or more; ideal is the mean of like ops, which a slow part raises" }, { title: "Fits", value: (c) => (c.fits ? "yes" : "no") }, { title: "Why", value: (c) => c.what }] }),
            ],
            scenarios.length > 0 && [
                el("h3", null, "Questions asked"),
                makeTable({ label: "What-if questions", rows: scenarios, columns: [{ title: "Question", value: (s) => s.spec }, nsColumn("Step", scenarioTime, (s) => s.t_ns), { title: "Speedup", value: (s) => s.speedup, text: (s) => ratioText(s.speedup) }, { title: "Remark", value: (s) => s.problem || "" }] }),
            ],
            bars.map(([title, node]) => (title ? [title, node] : null)),
            folded("Slowdowns as tables", [table("S by kind of op", whatif.by_op_type), table("S by stage", whatif.by_stage), table("S by DP rank", whatif.by_dp_rank)]),
        ],
        start: () => bars.forEach(([, , plot]) => plot && plot.paint()),
    };
}

function shapeText(row) {
    if (!row.grid) return row.input_dims || "";
    const sizes = (s) => s.slice(0, s[2] > 1 ? 3 : s[1] > 1 ? 2 : 1).join(" x ");
    return sizes(row.grid) + " of " + sizes(row.block) + (row.shapes > 1 ? ", " + (row.shapes - 1) + " more" : "") + (row.input_dims ? " " + row.input_dims : "");
}

function kernelsTable(label, rows) {
    const time = nsInUnit(rows.map((k) => k.total_ns));
    const meanTime = nsInUnit(rows.map((k) => k.mean_ns));
    return makeTable({
        label,
        rows,
        columns: [
            { title: "Name", value: (k) => k.name }, /* in view on a phone, where the rest is scrolled to */
            nsColumn("Total", time, (k) => k.total_ns, "summed over all ranks"),
            { title: "Share", value: (k) => k.share, text: (k) => sayPct(k.share) },
            { title: "Count", value: (k) => k.count },
            nsColumn("Mean", meanTime, (k) => k.mean_ns),
            { title: "Ranks", value: (k) => k.ranks },
            nsColumn("Least", time, (k) => k.least_rank_ns, "of the rank with least of it"),
            nsColumn("Most", time, (k) => k.most_rank_ns, "of the rank with most of it"),
            { title: "Grid of block", value: shapeText },
        ],
    });
}

function kernelsSection(run) {
    const kernels = run.report.kernels;
    if (!kernels || kernels.by_kernel.length === 0) return null;
    const others = [
        ["By operator", kernels.by_operator],
        ["By module", kernels.by_module],
        ["By source line", kernels.by_source],
    ].filter(([, rows]) => rows && rows.length > 0);
    return {
        id: "kernels",
        title: "Top kernels",
        short: "Kernels",
        how: "Durations summed over all ranks: what ran side by side counts twice, and a communication kernel's time holds its waiting.",
        content: [kernelsTable("Kernels by total time", kernels.by_kernel), ...others.map(([title, rows]) => folded(title, kernelsTable(title, rows)))],
    };
}

function pathSection(run) {
    const path = run.report.critical_path;
    if (!path) return null;
    const kinds = Object.entries(path.by_kind).filter(([, ns]) => ns > 0);
    const time = nsInUnit(path.by_rank.map((r) => r.on_path_ns));
    const segments = path.segments.slice(0, LISTED);
    const segmentTime = nsInUnit(segments.map((s) => run.clock(s.end_ns) - run.clock(s.start_ns)));
    const length = (s) => run.clock(s.end_ns) - run.clock(s.start_ns);
    const plot = figure("Critical path by kind of work", (width) => barChart(width, kinds.map(([kind, ns]) => ({ label: words(kind), value: ns, text: sayNs(ns) + (width > 560 ? "  (" + sayPct(ns / path.length_ns) + ")" : ""), className: "fill-" + pathKind(kind) })), { domain: [0, d3.max(kinds, (k) => k[1])] }));
    const link = (s) => {
        const label = sayAt(run.clock(s.start_ns));
        if (!run.timeline.holds(run.clock(s.start_ns))) return label;
        return el("button", { type: "button", class: "link", on: { click: () => run.timeline.goTo(s.rank, run.clock(s.start_ns), run.clock(s.end_ns), s.what || s.kind) } }, label);
    };
    const drawn = figureOrTable(kinds.length, plot, "Kinds of work as a table", makeTable({ label: "Critical path by kind of work", rows: kinds, columns: [{ title: "Kind", value: (k) => words(k[0]) }, nsColumn("On the path", nsInUnit(kinds.map((k) => k[1])), (k) => k[1]), { title: "Of the path", value: (k) => k[1] / path.length_ns, text: (k) => sayPct(k[1] / path.length_ns) }] }));
    return {
        id: "path",
        title: "Critical path",
        short: "Critical path",
        how: "The chain of work and gaps over all ranks that made " + (path.step === null ? "the run" : "step " + path.step) + " as long as it was, " + sayNs(path.length_ns) + ": only what is on it is worth making shorter.",
        content: [
            drawn.content,
            folded("Ranks on the path", makeTable({ label: "Critical path by rank", rows: path.by_rank, sort: { column: 1, down: true }, columns: [{ title: "Rank", value: (r) => r.rank }, nsColumn("On the path", time, (r) => r.on_path_ns), nsColumn("Least slack", time, (r) => r.slack_ns_min, "by how much an op could end later without a longer step"), nsColumn("Median slack", time, (r) => r.slack_ns_median)] })),
            folded("Longest segments", makeTable({ label: "Longest segments of the critical path", rows: segments, columns: [{ title: "Start s", value: (s) => run.clock(s.start_ns), text: (s) => sayAt(run.clock(s.start_ns)), cell: link }, { title: "Rank", value: (s) => s.rank }, { title: "Kind", value: (s) => s.kind }, { title: "Length " + segmentTime.name, value: length, text: (s) => segmentTime.say(length(s)) }, { title: "What", value: (s) => s.what }] })),
        ],
        start: drawn.start,
    };
}

function damageText(file) {
    return file.damage.map((d) => words(d.kind) + " (" + d.count + ")").join(", ") || "none";
}

/* Whatever another tool's numbers are: arrays of rows as tables. */
function peerSection(run) {
    const method = run.report.method;
    if (!method || typeof method !== "object") return null;
    const tables = Object.entries(method).filter(([, rows]) => Array.isArray(rows) && rows.length > 0 && typeof rows[0] === "object");
    if (tables.length === 0) return null;
    const plain = (value) => (value !== null && typeof value === "object" ? JSON.stringify(value) : value);
    return {
        id: "method",
        title: "Numbers by another tool's definitions",
        short: "Method",
        how: "As that tool itself prints them, by its rules, rounding and units.",
        content: tables.map(([name, rows]) => folded(sentence(words(name)), makeTable({ label: words(name), rows, columns: Object.keys(rows[0]).map((key) => ({ title: words(key), value: (row) => plain(row[key]) })) }))),
    };
}

/* Tables of what the page has no picture of, as the text has them. */
function tableSections(run) {
    return (run.rawTimeline.tables || []).map((table, i) => {
        const width = table.columns.length;
        const rows = Array.from({ length: table.cells.length / width }, (_, r) => table.cells.slice(r * width, (r + 1) * width));
        const number = (text) => (/^-?[0-9][0-9.]*$/.test(text) ? Number(text) : text);
        const columns = table.columns.map((title, c) => ({ title: sentence(title), value: (row) => number(row[c]), text: (row) => (row[c] === "N/A" ? "" : row[c]) }));
        const drawn = makeTable({ label: table.title, rows, columns });
        return { id: "table-" + (i + 1), title: table.title, how: table.note && sentence(table.note) + ".", content: table.folded ? folded("Show", drawn) : drawn };
    });
}

function inputsSection(run) {
    const { inputs } = run.report;
    const skipped = inputs.skipped || run.document.skipped || [];
    const options = run.report.options || run.document.options || {};
    const given = Object.entries(options).filter(([, value]) => value !== null);
    const clockTime = nsInUnit(inputs.clock.map((c) => c.offset_ns));
    return {
        id: "inputs",
        title: "Inputs and method",
        short: "Inputs",
        how: "What was read, what of it was damaged, how far the hosts' clocks were moved, and what this report was made with.",
        content: [
            makeTable({
                label: "Files that were read",
                rows: inputs.files,
                columns: [
                    { title: "File", value: (f) => f.path },
                    { title: "Format", value: (f) => f.format },
                    { title: "Size", value: (f) => f.bytes, text: (f) => sayBytes(f.bytes) },
                    { title: "Events", value: (f) => f.events },
                    { title: "Kept", value: (f) => f.events_kept },
                    { title: "Damage", value: damageText },
                    { title: "Remark", value: (f) => f.reason },
                ],
            }),
            skipped.length > 0 && folded("Files that were not read (" + skipped.length + ")", makeTable({ label: "Files that were not read", rows: skipped, columns: [{ title: "File", value: (f) => f.path }, { title: "Size", value: (f) => f.bytes, text: (f) => sayBytes(f.bytes) }, { title: "Why", value: (f) => f.reason }] })),
            inputs.clock.length > 0 &&
                folded("Clock offsets", makeTable({ label: "Clock offsets", rows: inputs.clock, columns: [{ title: "Rank", value: (c) => c.rank }, nsColumn("Offset", clockTime, (c) => c.offset_ns, "added to every time of the rank"), { title: "Drift ppb", value: (c) => c.drift_ppb }, nsColumn("Residual", nsInUnit(inputs.clock.map((c) => c.residual_ns)), (c) => c.residual_ns, "what the anchors still disagree by"), { title: "Anchors", value: (c) => c.anchors }] })),
            el("dl", { class: "facts" }, el("dt", null, "Made with"), el("dd", null, run.report.tool), el("dt", null, "Options"), el("dd", null, given.map(([k, v]) => k + " " + v).join(", ")), run.rawTimeline.clock && [el("dt", null, "Times count from"), el("dd", null, run.rawTimeline.clock)], el("dt", null, "Definitions"), el("dd", null, "man inquest-report, section METHODS; the numbers of this page are in it as JSON (inquest-report/1)")),
        ],
    };
}
