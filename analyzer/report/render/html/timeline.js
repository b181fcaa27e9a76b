/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline: one step over all ranks, with zoom, pan, hover, keyboard, and the evidence in it. */

const MAX_HEIGHT = 600;
const AXIS_HEIGHT = 26;
const LISTED = 200;

function makeTimeline(run, raw) {
    const data = makeTimelineData(raw, run.report, run.clock);
    if (data.windows.length === 0) return { section: null, holds: () => false, goTo() {} };

    let window_ = data.windows[0];
    let hosts = true;
    let read = showHosts(readWindow(data, window_), hosts);
    let base = d3.scaleLinear();
    let x = base;
    let colors = null;
    let pending = false;
    const frame = { data, showPath: data.path.length > 0, showMarks: true, cursorRow: -1, cursor: null, lit: null };

    const canvas = el("canvas", { "aria-hidden": "true" });
    const axis = svg("svg", { class: "axis", "aria-hidden": "true", height: AXIS_HEIGHT });
    const overview = svg("svg", { class: "overview", "aria-hidden": "true", height: 30 });
    const spacer = el("div", { class: "spacer" });
    const view = el("div", { class: "tl-view", tabindex: "0", role: "group", "aria-roledescription": "timeline" }, canvas, spacer);
    const tip = el("div", { class: "tip", role: "tooltip", hidden: true });
    const told = el("p", { class: "hidden", "aria-live": "polite" });
    const context = canvas.getContext("2d");
    const selection = d3.select(view);
    const zoom = d3.zoom();

    /* ---- layout and drawing --------------------------------------------------------------- */

    function layout() {
        const full = isPrinting() ? PRINT_WIDTH : Math.max(240, view.clientWidth);
        frame.narrow = full < 560;
        frame.left = frame.narrow ? 44 : 84;
        frame.width = full - frame.left;
        frame.rows = read.rows;
        frame.rowOf = new Map(read.rows.map((row, i) => [row.rank, i]).filter(([rank]) => rank !== null));
        const most = (read.rows.some((row) => row.hasPipeline) ? 64 : 44) + (read.rows.some((row) => row.hasHost) ? 14 : 0);
        frame.rowHeight = Math.max(14, Math.min(most, Math.floor(MAX_HEIGHT / Math.max(1, read.rows.length))));
        const total = frame.rowHeight * read.rows.length;
        frame.height = Math.min(total, MAX_HEIGHT);
        frame.ratio = window.devicePixelRatio || 1;
        view.style.height = frame.height + "px";
        const fit = Math.floor(frame.height / frame.rowHeight);
        unseen.textContent = fit < read.rows.length ? fit + " of " + sayCount(read.rows.length, "rank", "ranks") + " fit; scroll inside the timeline for the others." : "";
        unseen.hidden = unseen.textContent === "";
        spacer.style.height = Math.max(0, total - frame.height) + "px";
        canvas.width = Math.round((frame.left + frame.width) * frame.ratio);
        canvas.height = Math.round(frame.height * frame.ratio);
        canvas.style.width = frame.left + frame.width + "px";
        canvas.style.height = frame.height + "px";
        axis.setAttribute("width", frame.left + frame.width);
        overview.setAttribute("width", frame.left + frame.width);
        base = d3.scaleLinear().domain([window_.start_ns, window_.end_ns]).range([0, frame.width]);
        const most_zoom = Math.max(1, (window_.end_ns - window_.start_ns) / 200);
        zoom.extent([[0, 0], [frame.width, frame.height]]).translateExtent([[0, 0], [frame.width, frame.height]]).scaleExtent([1, most_zoom]);
        colors = readColors();
        colors.hatch = makeHatch(context, css("--hatch"), frame.ratio);
        x = d3.zoomTransform(view).rescaleX(base);
        drawOverview();
        draw(); /* at once: paper does not wait for a frame */
    }

    function draw() {
        pending = false;
        [frame.from, frame.to] = x.domain();
        frame.x = x;
        frame.scrollTop = view.scrollTop;
        drawTimeline(frame, context, colors);
        drawAxis();
        moveBrush();
        view.dataset.from = Math.round(frame.from);
        view.dataset.to = Math.round(frame.to);
        if (list.open) fillList();
        if (summary.open) fillSummary();
    }

    function schedule() {
        if (!pending) {
            pending = true;
            requestAnimationFrame(draw);
        }
    }

    /* Times since the step began. */
    function drawAxis() {
        const shown = x.copy().domain(x.domain().map((t) => t - window_.start_ns));
        const [size, name] = unitOf(Math.max(Math.abs(shown.domain()[0]), Math.abs(shown.domain()[1])));
        shown.domain(shown.domain().map((t) => t / size));
        const ticks = d3.axisTop(shown).ticks(frame.narrow ? 4 : 8).tickSizeOuter(0);
        d3.select(axis).selectAll("g").data([0]).join("g")
            .attr("transform", "translate(" + frame.left + "," + (AXIS_HEIGHT - 2) + ")").call(ticks);
        keepLabelsIn(axis, shown, frame.width);
        d3.select(axis).selectAll("text.unit").data([name]).join("text")
            .attr("class", "unit").attr("x", 7).attr("y", AXIS_HEIGHT - 10).text((d) => d);
    }

    /* ---- the overview: critical path and findings of the whole step, and a brush ------------ */

    const brush = d3.brushX();
    let brushing = false;

    function drawOverview() {
        const root = d3.select(overview);
        root.selectAll("*").remove();
        const g = root.append("g").attr("transform", "translate(" + frame.left + ",2)");
        g.append("rect").attr("class", "track").attr("width", frame.width).attr("height", 26);
        const inside = (d) => d.end >= window_.start_ns && d.start <= window_.end_ns;
        const cut = (t) => Math.max(0, Math.min(frame.width, base(t)));
        g.selectAll("rect.part").data(data.path.filter(inside)).enter().append("rect")
            .attr("class", (d) => "part fill-" + pathKind(d.kind)).attr("x", (d) => cut(d.start)).attr("y", 8)
            .attr("width", (d) => Math.max(0.5, cut(d.end) - cut(d.start))).attr("height", 12);
        g.selectAll("rect.mark").data(data.marks.filter(inside)).enter().append("rect")
            .attr("class", "mark").attr("x", (d) => cut(d.start)).attr("y", 2)
            .attr("width", (d) => Math.max(2, cut(d.end) - cut(d.start))).attr("height", 3);
        brush.extent([[0, 0], [frame.width, 26]]).on("brush end", function (argument) {
            const event = d3Event(argument);
            if (!event.sourceEvent || brushing || !event.selection) return;
            const [a, b] = event.selection.map(base.invert);
            if (b > a) show(a, b, false);
        });
        g.append("g").attr("class", "brush").call(brush);
    }

    function moveBrush() {
        brushing = true;
        const range = x.domain().map((t) => Math.max(0, Math.min(frame.width, base(t))));
        d3.select(overview).select(".brush").call(brush.move, range);
        brushing = false;
    }

    /* ---- zoom and pan ---------------------------------------------------------------------- */

    zoom.filter(function (argument) {
        const event = d3Event(argument);
        if (event.type === "wheel") return event.ctrlKey || event.metaKey || document.activeElement === view;
        return !event.touches && !event.button; /* fingers: below */
    }).on("zoom", function (argument) {
        x = d3Event(argument).transform.rescaleX(base);
        hideTip();
        schedule();
    });
    selection.call(zoom).on("dblclick.zoom", null);
    view.style.touchAction = "pan-y"; /* zoom set it to none: nobody could scroll past the timeline */
    view.addEventListener("dblclick", () => reset());
    view.addEventListener("wheel", (event) => {
        if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
            event.preventDefault();
            pan(event.deltaX / frame.width);
        }
    }, { passive: false });
    view.addEventListener("scroll", schedule);
    run.onScroll = () => hideTip();

    function show(from, to, smooth) {
        const scale = (window_.end_ns - window_.start_ns) / Math.max(to - from, 1);
        const transform = d3.zoomIdentity.scale(scale).translate(-base(from), 0);
        const target = smooth && !isCalm() ? selection.transition().duration(350) : selection;
        target.call(zoom.transform, transform);
    }
    const reset = () => show(window_.start_ns, window_.end_ns, true);
    const pan = (share) => selection.call(zoom.translateBy, (-share * frame.width) / d3.zoomTransform(view).k, 0);
    const scaleBy = (factor) => selection.call(zoom.scaleBy, factor);

    /* ---- fingers: one pans sideways, two zoom; up and down scrolls the page ----------------- */

    const fingers = new Map(); /* pointer -> where it is in the view */
    let held = null; /* the time below the fingers' middle, and what was in view, as they came down */

    function gripOf() {
        const [one, two = one] = fingers.values();
        return { px: (one.px + two.px) / 2, apart: Math.hypot(one.px - two.px, one.py - two.py) };
    }

    function holdFingers() {
        if (fingers.size === 0) return;
        const [from, to] = x.domain();
        const grip = gripOf();
        held = { at: x.invert(grip.px), length: to - from, apart: grip.apart };
    }

    function moveFingers() {
        const { px, apart } = gripOf();
        const whole = window_.end_ns - window_.start_ns;
        const wanted = held.apart > 0 && apart > 0 ? (held.length * held.apart) / apart : held.length;
        const length = Math.min(whole, Math.max(whole / zoom.scaleExtent()[1], wanted));
        const from = held.at - (px / frame.width) * length;
        const first = Math.max(window_.start_ns, Math.min(window_.end_ns - length, from));
        show(first, first + length, false);
    }

    const isFinger = (event) => event.pointerType === "touch";
    const placeOf = (event) => ({ px: event.clientX - canvas.getBoundingClientRect().left - frame.left, py: event.clientY });
    view.addEventListener("pointerdown", (event) => {
        if (!isFinger(event) || fingers.size === 2) return;
        fingers.set(event.pointerId, placeOf(event));
        holdFingers();
    });
    view.addEventListener("pointermove", (event) => {
        if (!fingers.has(event.pointerId)) return;
        fingers.set(event.pointerId, placeOf(event));
        moveFingers();
    });
    for (const end of ["pointerup", "pointercancel"]) {
        window.addEventListener(end, (event) => fingers.delete(event.pointerId) && holdFingers());
    }

    /* ---- hover ------------------------------------------------------------------------------ */

    function describe(row, found) {
        const { lane, i } = found;
        const kind = KINDS[lane.kind[i]];
        const merged = data.styles[lane.style[i]].merged;
        const lines = [["kind", kind.label + (lane.isPipeline || lane.isHost ? "" : ", " + lane.name)]];
        if (!merged && lane.more[i] > 0) lines.push(["micro-batch", String(lane.more[i] - 1)]);
        lines.push([merged ? "from first to last" : "duration", sayNs(lane.end[i] - lane.start[i])]);
        lines.push(["in the step", sayNs(lane.start[i] - window_.start_ns) + " after its start"]);
        lines.push(["--time", sayRange(lane.start[i], lane.end[i])]);
        return { title: spanName(data, lane, i), who: "rank " + row.label + (row.stage === null ? "" : ", stage " + row.stage), lines };
    }

    function showTip(row, found, clientX, clientY) {
        const text = describe(row, found);
        tip.replaceChildren(
            el("strong", null, text.title),
            el("span", { class: "muted" }, text.who),
            el("dl", null, text.lines.map(([name, value]) => [el("dt", null, name), el("dd", null, value)]))
        );
        tip.hidden = false;
        const box = tip.getBoundingClientRect();
        const page = document.documentElement;
        tip.style.left = Math.max(6, Math.min(clientX + 14, page.clientWidth - box.width - 6)) + "px";
        tip.style.top = (clientY + box.height + 24 > page.clientHeight ? Math.max(6, clientY - box.height - 12) : clientY + 18) + "px";
    }

    function hideTip() {
        tip.hidden = true;
    }

    function placeAt(event) {
        const box = canvas.getBoundingClientRect();
        const px = event.clientX - box.left - frame.left;
        const py = event.clientY - box.top + view.scrollTop;
        const r = Math.floor(py / frame.rowHeight);
        if (px < 0 || r < 0 || r >= read.rows.length) return null;
        const perPixel = (frame.to - frame.from) / frame.width;
        const height = (py - r * frame.rowHeight - 2) / (frame.rowHeight - 4);
        const found = spanAt(read.rows[r], x.invert(px), height, 1.5 * perPixel);
        return { r, found };
    }

    view.addEventListener("mousemove", (event) => {
        if (event.buttons) return;
        const place = placeAt(event);
        if (place && place.found) showTip(read.rows[place.r], place.found, event.clientX, event.clientY);
        else hideTip();
    });
    view.addEventListener("mouseleave", hideTip);
    view.addEventListener("blur", hideTip);
    view.addEventListener("click", (event) => {
        const place = placeAt(event);
        if (!place) return;
        frame.cursorRow = place.r;
        frame.cursor = place.found;
        if (place.found) showTip(read.rows[place.r], place.found, event.clientX, event.clientY);
        schedule();
    });

    /* ---- keyboard --------------------------------------------------------------------------- */

    function tellCursor() {
        const row = read.rows[frame.cursorRow];
        if (!frame.cursor) {
            told.textContent = "rank " + row.label;
            return;
        }
        const text = describe(row, frame.cursor);
        told.textContent = [text.who, text.title, ...text.lines.map((l) => l.join(" "))].join(", ");
        const box = canvas.getBoundingClientRect();
        const { lane, i } = frame.cursor;
        showTip(row, frame.cursor, box.left + frame.left + Math.max(0, x(lane.start[i])), box.top + (frame.cursorRow + 1) * frame.rowHeight - view.scrollTop);
    }

    function moveRow(by) {
        frame.cursorRow = Math.max(0, Math.min(read.rows.length - 1, frame.cursorRow + by));
        frame.cursor = null;
        const y = frame.cursorRow * frame.rowHeight;
        if (y < view.scrollTop || y + frame.rowHeight > view.scrollTop + frame.height) view.scrollTop = y - frame.height / 2;
        hideTip();
        tellCursor();
        schedule();
    }

    /* The op of the row that begins next after the cursor (or before it), or the first in view. */
    function moveOp(by) {
        if (frame.cursorRow < 0) frame.cursorRow = 0;
        const from = frame.cursor ? frame.cursor.lane.start[frame.cursor.i] : by > 0 ? frame.from - 1 : frame.to;
        let best = null;
        for (const lane of read.rows[frame.cursorRow].lanes) {
            let i = d3.bisectRight(lane.start, from);
            if (by < 0) i = d3.bisectLeft(lane.start, from) - 1;
            if (i >= 0 && i < lane.n && (!best || by * (lane.start[i] - best.lane.start[best.i]) < 0)) best = { lane, i };
        }
        if (!best) return;
        frame.cursor = best;
        const [a, b] = [best.lane.start[best.i], best.lane.end[best.i]];
        if (a < frame.from || b > frame.to) {
            const half = Math.max(b - a, (frame.to - frame.from) / 2);
            show((a + b) / 2 - half, (a + b) / 2 + half, false);
        }
        schedule();
        requestAnimationFrame(tellCursor);
    }

    /* The next op whose name holds the text, over all ranks in order of time; after the last the first. */
    function findNext(wanted) {
        const hits = data.styles.map((style) => !style.merged && style.name && style.name.toLowerCase().includes(wanted));
        const all = [];
        read.rows.forEach((row, r) => row.lanes.forEach((lane) => lane.style.forEach((style, i) => hits[style] && all.push({ r, lane, i }))));
        all.sort((a, b) => a.lane.start[a.i] - b.lane.start[b.i] || a.r - b.r);
        const at = all.findIndex((op) => frame.cursor && op.lane === frame.cursor.lane && op.i === frame.cursor.i);
        const next = all[(at + 1) % all.length];
        foundCount.textContent = next ? ((at + 1) % all.length) + 1 + " of " + sayCount(all.length, "op", "ops") : wanted && "no op of that name is drawn in this step";
        if (!next) return;
        frame.cursorRow = next.r;
        frame.cursor = { lane: next.lane, i: next.i };
        const [a, b] = [next.lane.start[next.i], next.lane.end[next.i]];
        const half = Math.max(b - a, (frame.to - frame.from) / 2);
        if (a < frame.from || b > frame.to) show((a + b) / 2 - half, (a + b) / 2 + half, false);
        view.scrollTop = next.r * frame.rowHeight - frame.height / 2;
        schedule();
        requestAnimationFrame(tellCursor);
    }

    const foundCount = el("span", { class: "count", role: "status" });
    const finder = el("input", { type: "search", placeholder: "Find op", "aria-label": "Find ops by name in the timeline; Enter goes to the next", on: { keydown: (event) => event.key === "Enter" && findNext(finder.value.trim().toLowerCase()) } });

    const keys = {
        ArrowLeft: () => pan(-0.12), ArrowRight: () => pan(0.12),
        ArrowUp: () => moveRow(-1), ArrowDown: () => moveRow(1),
        "+": () => scaleBy(1.5), "=": () => scaleBy(1.5), "-": () => scaleBy(1 / 1.5),
        0: reset, Home: reset, n: () => moveOp(1), p: () => moveOp(-1), Escape: hideTip,
    };
    view.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
        event.preventDefault();
        keys[event.key]();
    });

    /* ---- windows, evidence ------------------------------------------------------------------ */

    const nameOf = (w) => (w.step === null ? (w === data.windows[0] ? "Whole recording" : "At " + sayAt(w.start_ns) + " s") : "Step " + w.step);
    const picker = el("select", { "aria-label": "Step shown in the timeline", on: { change: () => choose(data.windows[picker.selectedIndex]) } }, data.windows.map((w) => el("option", null, nameOf(w))));
    const holds = (at) => data.windows.some((w) => at >= w.start_ns && at < w.end_ns);
    const reduced = el("p", { class: "muted" });
    const unseen = el("p", { class: "muted unseen" });

    function choose(w) {
        window_ = w;
        read = showHosts(readWindow(data, w), hosts);
        frame.cursor = null;
        frame.cursorRow = -1;
        picker.selectedIndex = data.windows.indexOf(w);
        selection.call(zoom.transform, d3.zoomIdentity);
        sayReduced();
        fillLegend();
        layout();
    }

    function sayReduced() {
        const notes = [];
        if (window_.pixel_ns > 0) notes.push("Neighboring ops that together are shorter than " + sayNs(window_.pixel_ns) + " are drawn as one");
        if (data.leftOut > 0) notes.push(sayCount(data.leftOut, "rank", "ranks") + " more without a row");
        reduced.textContent = notes.length > 0 ? notes.join("; ") + "." : "";
        reduced.hidden = notes.length === 0;
    }

    /* Moves to an evidence's time range, on its rank, in the step that holds it. */
    function goTo(rank, from, to, what) {
        const end = Math.max(to ?? from, from + 1);
        const inside = (w) => from >= w.start_ns && from < w.end_ns;
        const w = inside(window_) ? window_ : data.windows.find(inside);
        if (!w) return;
        if (w !== window_) choose(w);
        frame.lit = data.marks.find((m) => m.rank === rank && m.start === from) || null;
        frame.cursor = null;
        frame.cursorRow = frame.rowOf.has(rank) ? frame.rowOf.get(rank) : -1;
        const margin = (end - from) * 0.6;
        show(Math.max(w.start_ns, from - margin), Math.min(w.end_ns, end + margin), true);
        if (frame.cursorRow >= 0) view.scrollTop = frame.cursorRow * frame.rowHeight - frame.height / 2;
        told.textContent = "Timeline moved to " + what + ", " + sayRange(from, to);
        view.focus({ preventScroll: true });
        document.getElementById("timeline").scrollIntoView({ behavior: isCalm() ? "auto" : "smooth", block: "start" });
        schedule();
    }

    /* ---- legend, the table behind the chart ------------------------------------------------- */

    const legend = el("ul", { class: "legend" });

    function fillLegend() {
        legend.replaceChildren(
            ...read.kinds.filter((k) => hosts || !IS_HOST[k]).map((k) => el("li", null, swatch(KINDS[k].id, KINDS[k].letter), KINDS[k].label)),
            ...(data.path.length > 0 ? [el("li", null, el("span", { class: "swatch-path", "aria-hidden": "true" }), "Critical path")] : []),
            ...(data.marks.length > 0 ? [el("li", null, el("span", { class: "swatch-mark", "aria-hidden": "true" }, "1"), "Evidence of a finding")] : [])
        );
    }

    const listBody = el("div");
    const list = folded("Ops in view as a table", listBody);
    list.addEventListener("toggle", () => list.open && fillList());

    let listTimer = 0;
    function fillList() {
        clearTimeout(listTimer);
        listTimer = setTimeout(() => {
            const found = [];
            for (const row of read.rows) {
                if (frame.cursorRow >= 0 && read.rows[frame.cursorRow] !== row) continue;
                for (const lane of row.lanes) {
                    for (let i = firstAfter(lane, frame.from); i < lane.n && lane.start[i] < frame.to && found.length < 5000; i++) found.push({ row, lane, i });
                }
            }
            found.sort((a, b) => b.lane.end[b.i] - b.lane.start[b.i] - (a.lane.end[a.i] - a.lane.start[a.i]));
            const time = nsInUnit(found.map((f) => f.lane.end[f.i] - f.lane.start[f.i]));
            listBody.replaceChildren(
                makeTable({
                    label: "Ops in view, longest first", rows: found.slice(0, LISTED),
                    columns: [
                        { title: "Rank", value: (f) => f.row.rank, text: (f) => f.row.label },
                        { title: "Op", value: (f) => spanName(data, f.lane, f.i) },
                        { title: "Kind", value: (f) => KINDS[f.lane.kind[f.i]].label },
                        { title: "Micro-batch", value: (f) => (data.styles[f.lane.style[f.i]].merged || f.lane.more[f.i] === 0 ? null : f.lane.more[f.i] - 1) },
                        { title: "Start s", value: (f) => f.lane.start[f.i], text: (f) => sayAt(f.lane.start[f.i]) },
                        { title: "Length " + time.name, value: (f) => f.lane.end[f.i] - f.lane.start[f.i], text: (f) => time.say(f.lane.end[f.i] - f.lane.start[f.i]) },
                    ],
                })
            );
        }, 120);
    }

    /* Time of the range in view by kind and by name, cut at its ends; of the rank that is chosen, or of all. */
    const summaryBody = el("div");
    const summary = folded("Time in view by kind and by name", summaryBody);
    summary.addEventListener("toggle", () => summary.open && fillSummary());

    let summaryTimer = 0;
    function fillSummary() {
        clearTimeout(summaryTimer);
        summaryTimer = setTimeout(() => {
            const sums = [new Map(), new Map()];
            const rows = frame.cursorRow >= 0 ? [read.rows[frame.cursorRow]] : read.rows;
            const lanes = rows.flatMap((row) => row.lanes);
            for (const lane of lanes) {
                for (let i = firstAfter(lane, frame.from); i < lane.n && lane.start[i] < frame.to; i++) {
                    const merged = data.styles[lane.style[i]].merged;
                    const ns = Math.max(0, Math.min(lane.end[i], frame.to) - Math.max(lane.start[i], frame.from));
                    [KINDS[lane.kind[i]].label, merged ? "ops shorter than a pixel" : spanName(data, lane, i)].forEach((name, k) => {
                        const sum = sums[k].get(name) || { name, ns: 0, count: 0 };
                        sum.ns += ns;
                        sum.count += merged ? lane.more[i] : 1;
                        sums[k].set(name, sum);
                    });
                }
            }
            const whole = rows.length * (frame.to - frame.from);
            summaryBody.replaceChildren(
                el("p", { class: "muted" }, sayNs(frame.to - frame.from) + " of " + (rows.length === 1 ? "rank " + rows[0].label : sayCount(rows.length, "rank", "ranks")) + ". Ops that ran side by side count each."),
                ...["kind", "name"].map((by, k) => {
                    const found = [...sums[k].values()].sort((a, b) => b.ns - a.ns).slice(0, LISTED);
                    const time = nsInUnit(found.map((s) => s.ns));
                    return makeTable({ label: "Time in view by " + by, rows: found, columns: [{ title: sentence(by), value: (s) => s.name }, nsColumn("Time", time, (s) => s.ns, "summed over the ranks, within the view"), { title: "Of the ranks' time", value: (s) => s.ns / whole, text: (s) => sayPct(s.ns / whole) }, { title: "Count", value: (s) => s.count }] });
                })
            );
        }, 120);
    }

    /* ---- put together ----------------------------------------------------------------------- */

    const help = newId("keys");
    const tool = (label, text, run_) => el("button", { type: "button", class: "button", "aria-label": label, title: label, on: { click: run_ } }, text);
    const toggle = (label, key, on) => el("label", { class: "check" }, el("input", { type: "checkbox", checked: on, on: { change: (e) => { frame[key] = e.target.checked; schedule(); } } }), label);
    const hostToggle = el("label", { class: "check" }, el("input", { type: "checkbox", checked: true, on: { change: (e) => { hosts = e.target.checked; frame.cursor = null; showHosts(read, hosts); fillLegend(); layout(); } } }), "Hosts");
    view.setAttribute("aria-label", "Timeline of each rank's work, a row for each rank");
    view.setAttribute("aria-describedby", help);
    sayReduced();
    fillLegend();
    onRedraw(() => view.isConnected && layout());

    const section = {
        id: "timeline",
        title: data.windows[0].step === null ? "Timeline" : "Timeline of a step",
        short: "Timeline",
        how: "One row for each rank, time to the right: compute above, striped communication and copies below it" + (read.rows.some((row) => row.hasHost) ? ", and at the bottom what its host did" : "") + ". Where nothing is drawn the rank is idle; a row that is busy where the others wait delays them.",
        wide: true,
        content: [
            el("div", { class: "tools" },
                data.windows.length > 1 && picker,
                el("span", { class: "group" }, tool("Zoom in", "+", () => scaleBy(1.6)), tool("Zoom out", "\u2212", () => scaleBy(1 / 1.6)), tool("Earlier", "\u2190", () => pan(-0.3)), tool("Later", "\u2192", () => pan(0.3)), tool("Reset: show the whole step", "Reset", reset)),
                data.path.length > 0 && toggle("Critical path", "showPath", true),
                data.marks.length > 0 && toggle("Findings", "showMarks", true), data.kindOf.some((k) => IS_HOST[k]) && hostToggle, finder, foundCount),
            legend,
            el("div", { class: "tl" }, overview, axis, view),
            tip, told,
            el("p", { class: "muted keys", id: help }, "Drag to pan; Ctrl and wheel, the wheel once it has the focus, or two fingers to zoom; double-click for the whole step. Keys: \u2190 \u2192 pan, + \u2212 zoom, 0 all, \u2191 \u2193 rank, n and p next and previous op."),
            unseen, reduced, summary, list,
        ],
        start: layout,
    };
    return { section, holds, goTo };
}

/* Kinds of critical-path segments in the timeline's colors. */
function pathKind(kind) {
    return { compute: "compute", transfer: "comm", copy: "copy", launch: "other", host: "other", gap: "idle" }[kind] || "other";
}

/* A patch of a kind's color, with its letter and stripes. */
function swatch(kind, letter) {
    return el("span", { class: "swatch swatch-" + kind, "aria-hidden": "true" }, letter || "");
}
