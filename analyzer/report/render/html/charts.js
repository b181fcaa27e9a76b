/* SPDX-License-Identifier: Apache-2.0 */
/* Small charts in SVG. Each is drawn for the width it finds; the table behind it has the numbers. */

/* Two points are compared faster as two numbers: with fewer than this there is the table alone. */
const FEWEST_POINTS = 3;

/* A figure with its table folded below it; of few points the table, open. */
function figureOrTable(points, plot, title, table) {
    return points < FEWEST_POINTS ? { content: [table] } : { content: [plot.node, folded(title, table)], start: plot.paint };
}

/* A figure that draws itself by draw(width) -> SVG element. */
function figure(label, draw) {
    const holder = el("div", { class: "chart", role: "img", "aria-label": label });
    let width = 0;
    const paint = () => {
        if (!holder.isConnected) return;
        width = isPrinting() ? PRINT_WIDTH : Math.max(260, holder.clientWidth);
        holder.replaceChildren(draw(width));
    };
    redraws.push(paint);
    return { node: holder, paint };
}

function chart(width, height, ...children) {
    return svg("svg", { width, height, viewBox: "0 0 " + width + " " + height, "aria-hidden": "true" }, children);
}

function axisNode(axis, x, y) {
    const g = svg("g", { class: "axis", transform: "translate(" + x + "," + y + ")" });
    d3.select(g).call(axis);
    return g;
}

/* Labels of an axis along the bottom or top that would be cut off at the right end at their tick. */
const LABEL_CHARACTER = 9; /* px, at most; what is not in the page yet cannot be measured */
function keepLabelsIn(axis, scale, width) {
    d3.select(axis).selectAll(".tick text").attr("text-anchor", function (value) {
        return width - scale(value) < (this.textContent.length * LABEL_CHARACTER) / 2 ? "end" : null;
    });
}

const text = (x, y, content, options) => svg("text", Object.assign({ x, y, dy: "0.35em" }, options), content);

/* Horizontal bars. rows: {label, value, from?, text, className, title} */
function barChart(width, rows, options) {
    const narrow = width < 560;
    const letters = d3.max(rows, (row) => row.label.length);
    const left = Math.min(Math.max(narrow ? 60 : 120, letters * 7.6 + 16), width * 0.54);
    const right = narrow ? 84 : 132;
    const height = options.rowHeight || 26;
    const x = d3.scaleLinear().domain(options.domain).range([0, width - left - right]);
    const zero = x(Math.max(0, options.domain[0]));
    return chart(
        width,
        rows.length * height + 4,
        rows.map((row, i) => {
            const y = i * height + height / 2;
            const from = row.from === undefined ? 0 : row.from;
            const a = x(Math.min(from, from + row.value));
            const b = x(Math.max(from, from + row.value));
            return svg(
                "g",
                null,
                svg("title", null, row.label + ": " + row.text),
                svg("line", { class: "guide", x1: left + zero, x2: left + zero, y1: i * height, y2: (i + 1) * height }),
                text(left - 10, y, row.label, { "text-anchor": "end", class: row.strong ? "strong" : "" }),
                svg("rect", { x: left + a, y: y - height * 0.32, width: row.value === 0 ? 0 : Math.max(b - a, 1), height: height * 0.64, rx: 1.5, class: row.className }),
                text(left + b + 7, y, row.text, { class: "value" + (row.strong ? " strong" : "") })
            );
        })
    );
}

/* The waterfall: from the measured step down to the ideal one. */
function waterfallChart(width, pipeline) {
    const parts = pipeline.waterfall.slice().reverse(); /* the data begins with the ideal */
    const total = pipeline.total_ns_per_step;
    const rows = [{ label: "measured step", value: total, from: 0, text: sayNs(total), className: "fill-total", strong: true }];
    let at = total;
    let least = 0;
    for (const part of parts) {
        const isIdeal = part.cause === "ideal";
        at -= part.ns_per_step;
        const sign = isIdeal || part.ns_per_step === 0 ? "" : part.ns_per_step < 0 ? "+" : "\u2212";
        rows.push({
            label: words(part.cause),
            value: part.ns_per_step,
            from: isIdeal ? 0 : at,
            text: sign + sayNs(Math.abs(part.ns_per_step)) + (width > 560 ? "  (" + sayPct(Math.abs(part.ns_per_step) / total) + ")" : ""),
            className: isIdeal ? "fill-ideal" : part.ns_per_step < 0 ? "fill-gain" : "fill-loss",
            strong: isIdeal,
        });
        least = Math.min(least, at);
    }
    return barChart(width, rows, { domain: [least, d3.max(rows, (r) => r.from + Math.max(0, r.value))] });
}

/* Slowdown of every worker: stages down, DP ranks to the right. */
function heatMap(width, workers) {
    const stages = [...new Set(workers.map((w) => w.stage))].sort((a, b) => a - b);
    const replicas = [...new Set(workers.map((w) => w.dp_rank))].sort((a, b) => a - b);
    const left = 64;
    const top = 26;
    const size = Math.max(6, Math.min(84, (width - left - 4) / replicas.length));
    const height = Math.max(18, Math.min(46, size, 460 / stages.length));
    const most = Math.max(1.05, d3.max(workers, (w) => w.slowdown) || 1.05);
    const color = d3.scaleLinear().domain([1, most]).range([css("--heat-low"), css("--heat-high")]).interpolate(d3.interpolateLab).clamp(true);
    const every = Math.ceil(22 / size);
    return chart(
        width,
        top + stages.length * height + 6,
        replicas.map((r, i) => i % every === 0 && text(left + (i + 0.5) * size, 12, (i === 0 ? "DP " : "") + r, { "text-anchor": "middle", class: "muted" })),
        stages.map((s, i) => text(left - 8, top + (i + 0.5) * height, (width > 480 ? "stage " : "st. ") + s, { "text-anchor": "end", class: "muted" })),
        workers.map((w) => {
            const cx = left + replicas.indexOf(w.dp_rank) * size;
            const cy = top + stages.indexOf(w.stage) * height;
            const fill_ = color(w.slowdown);
            const dark = d3.lab(fill_).l < 58;
            return svg(
                "g",
                null,
                svg("title", null, "rank " + w.name + ", stage " + w.stage + ", DP rank " + w.dp_rank + ": S = " + w.slowdown.toFixed(3)),
                svg("rect", { x: cx + 1, y: cy + 1, width: size - 2, height: height - 2, rx: 2, fill: fill_ }),
                size >= 34 && text(cx + size / 2, cy + height / 2, w.slowdown.toFixed(2), { "text-anchor": "middle", class: "cell " + (dark ? "on-dark" : "on-light") })
            );
        })
    );
}

/* Bandwidth against size; the shape says the operation. */
function bandwidthChart(width, ops) {
    const left = 54;
    const bottom = 40;
    const height = 280;
    const top = 34;
    const kinds = [...new Set(ops.map((o) => o.op))];
    const sizes = d3.extent(ops, (o) => o.bytes);
    const x = d3.scaleLog().domain([sizes[0] / 2, sizes[1] * 2]).range([left, width - 14]);
    const y = d3.scaleLinear().domain([0, d3.max(ops, (o) => o.busbw_gbps) * 1.1]).nice().range([height - bottom, top]);
    const shape = (op) => d3.symbols[kinds.indexOf(op) % d3.symbols.length];
    const ticks = x.ticks(4).filter((t) => Math.abs(Math.log10(t) % 1) < 1e-9);
    const marks = ticks.length >= 2 ? ticks : [sizes[0], sizes[1]].filter((v, i, all) => all.indexOf(v) === i);
    return chart(
        width,
        height,
        axisNode(d3.axisLeft(y).ticks(5).tickSizeOuter(0), left, 0),
        axisNode(d3.axisBottom(x).tickValues(marks).tickFormat(sayBytes).tickSizeOuter(0), 0, height - bottom),
        text(2, 10, "bus GB/s", { class: "muted" }),
        text(width - 14, height - 5, "bytes per operation", { class: "muted", "text-anchor": "end" }),
        ops.map((o) =>
            svg(
                "path",
                {
                    class: "dot",
                    d: d3.symbol().type(shape(o.op)).size(60 + 12 * Math.log2(1 + o.count))(),
                    transform: "translate(" + x(o.bytes) + "," + y(o.busbw_gbps) + ")",
                },
                svg("title", null, words(o.op) + " in " + (o.group_desc || o.group || "group") + ": " + sayBytes(o.bytes) + ", " + digits(o.busbw_gbps, 3) + " GB/s, " + o.count + " times")
            )
        ),
        kinds.map((kind, i) => [
            svg("path", { class: "dot", d: d3.symbol().type(shape(kind)).size(50)(), transform: "translate(" + (left + 40 + 118 * i) + ",10)" }),
            text(left + 52 + 118 * i, 10, words(kind), { class: "muted" }),
        ])
    );
}

/* Length of each step; the median as a line. */
function stepsChart(width, steps, median, shown, onPick) {
    const left = 60;
    const bottom = 30;
    const height = 190;
    const [size, unit] = unitOf(d3.max(steps, (s) => s.dur_ns));
    const y = d3.scaleLinear().domain([0, (d3.max(steps, (s) => s.dur_ns) / size) * 1.08]).range([height - bottom, 26]); /* the unit stands above */
    const band = Math.min(72, (width - left - 10) / steps.length);
    const right = left + band * steps.length;
    const every = Math.ceil(44 / band);
    return chart(
        width,
        height,
        axisNode(d3.axisLeft(y).ticks(4).tickSizeOuter(0), left, 0),
        text(left - 52, 8, "step " + unit, { class: "muted" }),
        steps.map((s, i) => {
            const held = shown.has(s.step);
            return svg(
                "g",
                { class: held ? "pick" : "" , on: held ? { click: () => onPick(s) } : {} },
                svg("title", null, "step " + s.step + ": " + sayNs(s.dur_ns) + (held ? " (in the timeline)" : "")),
                svg("rect", { x: left + i * band + Math.min(2, band * 0.12), y: y(s.dur_ns / size), width: Math.max(0.6, band - Math.min(4, band * 0.24)), height: y(0) - y(s.dur_ns / size), class: held ? "fill-held" : "fill-step" }),
                i % every === 0 && text(left + (i + 0.5) * band, height - bottom + 12, s.step, { "text-anchor": "middle", class: "muted" })
            );
        }),
        isNumber(median) && svg("line", { class: "median", x1: left, x2: right, y1: y(median / size), y2: y(median / size) }),
        isNumber(median) && text(right < width - 150 ? right + 8 : right, y(median / size) - (right < width - 150 ? 0 : 8), "median " + sayNs(median), { "text-anchor": right < width - 150 ? "start" : "end", class: "halo" })
    );
}

/* Two bars a rank: how often it arrived last, and how long it waited itself. */
function waitsChart(width, waits) {
    const rows = waits.slice(0, 32);
    const height = 24;
    const middle = 76;
    const half = (width - middle) / 2 - 60;
    const last = d3.scaleLinear().domain([0, Math.max(1, d3.max(rows, (w) => w.last_arrivals))]).range([0, half]);
    const wait = d3.scaleLinear().domain([0, Math.max(1, d3.max(rows, (w) => w.wait_ns))]).range([0, half]);
    const center = width / 2;
    return chart(
        width,
        rows.length * height + 28,
        text(center - middle / 2, 10, width > 480 ? "arrived last, was waited for" : "arrived last", { "text-anchor": "end", class: "muted" }),
        text(center + middle / 2, 10, "waited itself", { class: "muted" }),
        rows.map((w, i) => {
            const y = 28 + i * height + height / 2;
            const a = last(w.last_arrivals);
            return svg(
                "g",
                null,
                text(center, y, w.rank === null ? "?" : "rank " + w.rank, { "text-anchor": "middle" }),
                svg("rect", { class: "fill-loss", x: center - middle / 2 - a, y: y - 8, width: a, height: 16, rx: 1.5 }),
                text(center - middle / 2 - a - 6, y, String(w.last_arrivals), { "text-anchor": "end", class: "value" }),
                svg("rect", { class: "fill-wait", x: center + middle / 2, y: y - 8, width: wait(w.wait_ns), height: 16, rx: 1.5 }),
                text(center + middle / 2 + wait(w.wait_ns) + 6, y, sayNs(w.wait_ns), { class: "value" })
            );
        })
    );
}
