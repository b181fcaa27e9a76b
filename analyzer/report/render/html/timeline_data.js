/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline's data: spans of each lane as typed arrays, and what is found at a place. */

const KINDS = [
    { id: "compute", label: "Compute", letter: "" },
    { id: "forward", label: "Forward", letter: "F" },
    { id: "backward", label: "Backward", letter: "B" },
    { id: "input", label: "Input gradient", letter: "I" },
    { id: "weight", label: "Weight gradient", letter: "W" },
    { id: "comm", label: "Collective", letter: "" },
    { id: "p2p", label: "Send, receive", letter: "" },
    { id: "copy", label: "Copy", letter: "" },
    { id: "optimizer", label: "Optimizer", letter: "O" },
    { id: "other", label: "Other", letter: "" },
    { id: "launch", label: "Host: launch", letter: "" },
    { id: "sync", label: "Host: synchronize", letter: "" },
    { id: "data", label: "Host: data loading", letter: "" },
    { id: "host", label: "Host: other", letter: "" },
];
const KIND_INDEX = Object.fromEntries(KINDS.map((kind, i) => [kind.id, i]));
const IS_HOST = KINDS.map((kind) => ["launch", "sync", "data", "host"].includes(kind.id));
const IS_TRANSFER = KINDS.map((kind) => ["comm", "p2p", "copy"].includes(kind.id));

function readLane(data, lane, start) {
    const n = lane.spans.length / 4;
    const out = {
        name: lane.name,
        isPipeline: lane.name === "pipeline" && !lane.host,
        isHost: lane.host === true,
        n,
        start: new Float64Array(n),
        end: new Float64Array(n),
        lastEnd: new Float64Array(n), /* largest end so far: finds the first span in view */
        style: new Uint32Array(n),
        more: new Int32Array(n),
        kind: new Uint8Array(n),
    };
    let at = start;
    let last = -Infinity;
    for (let i = 0; i < n; i++) {
        out.start[i] = at + lane.spans[4 * i];
        at = out.end[i] = out.start[i] + lane.spans[4 * i + 1];
        last = Math.max(last, out.end[i]);
        out.lastEnd[i] = last;
        out.style[i] = lane.spans[4 * i + 2];
        out.more[i] = lane.spans[4 * i + 3];
        out.kind[i] = data.kindOf[out.style[i]];
    }
    return out;
}

/* Windows are read when they are first shown. */
function readWindow(data, window) {
    if (window.read) return window.read;
    const rows = window.rows.map((row) => ({
        label: row.label,
        rank: row.rank,
        stage: row.stage,
        dpRank: row.dp_rank,
        lanes: row.lanes.map((lane) => readLane(data, lane, window.start_ns)),
    }));
    const kinds = new Set();
    let spans = 0;
    for (const row of rows) {
        row.hasPipeline = row.lanes.some((lane) => lane.isPipeline && lane.n > 0);
        row.hasTransfer = false;
        row.allLanes = row.lanes;
        for (const lane of row.lanes) {
            spans += lane.n;
            for (let i = 0; i < lane.n; i++) kinds.add(lane.kind[i]);
            row.hasTransfer = row.hasTransfer || lane.kind.some((kind) => IS_TRANSFER[kind]);
        }
    }
    window.rows = null; /* the numbers are in the arrays now */
    window.read = { rows, spans, kinds: [...kinds].sort((a, b) => a - b) };
    return window.read;
}

function makeTimelineData(raw, report, clock) {
    const data = { styles: raw.styles, windows: raw.windows, leftOut: raw.rows_left_out };
    data.kindOf = Uint8Array.from(raw.styles.map((style) => KIND_INDEX[style.kind] ?? KIND_INDEX.other));
    const path = report.critical_path;
    data.path = !path
        ? []
        : path.segments
              .map((s) => ({ rank: s.rank, kind: s.kind, what: s.what, start: clock(s.start_ns), end: clock(s.end_ns) }))
              .sort((a, b) => a.start - b.start || a.end - b.end);
    data.marks = report.findings.flatMap((finding, i) =>
        finding.evidence
            .filter((e) => e.start_ns !== null)
            .map((e) => ({ number: i + 1, title: finding.title, what: e.what, rank: e.rank, start: clock(e.start_ns), end: clock(e.end_ns ?? e.start_ns) }))
    );
    return data;
}

/* Rows with or without what their hosts did. */
function showHosts(read, isShown) {
    for (const row of read.rows) {
        row.lanes = isShown ? row.allLanes : row.allLanes.filter((lane) => !lane.isHost);
        row.hasHost = row.lanes.some((lane) => lane.isHost);
    }
    return read;
}

/* First span of the lane that ends after `at`. */
function firstAfter(lane, at) {
    let low = 0;
    let high = lane.n;
    while (low < high) {
        const mid = (low + high) >> 1;
        if (lane.lastEnd[mid] > at) high = mid;
        else low = mid + 1;
    }
    return low;
}

/* The part of a row that its host has, at the bottom. */
const HOST_BAND = 0.2;

/* Bands of a row, from the top: forwards and backwards, compute, transfers, the host. Fractions
 * [top, bottom]. */
function bandOf(row, lane, kind) {
    const bottom = row.hasHost ? 1 - HOST_BAND - 0.02 : 1;
    const top = row.hasPipeline ? 0.5 * bottom : 0;
    if (lane.isHost) return [1 - HOST_BAND, 1];
    if (lane.isPipeline) return [0, 0.48 * bottom];
    if (IS_TRANSFER[kind]) return [top + (bottom - top) * 0.64, bottom];
    return row.hasTransfer ? [top, top + (bottom - top) * 0.62] : [top, bottom];
}

/* The shortest span of the row at a time and a height (0 to 1), or null. */
function spanAt(row, at, height, tolerance) {
    let best = null;
    for (const lane of row.lanes) {
        for (let i = firstAfter(lane, at - tolerance); i < lane.n && lane.start[i] <= at + tolerance; i++) {
            const [top, bottom] = bandOf(row, lane, lane.kind[i]);
            if (lane.end[i] < at - tolerance || height < top - 0.02 || height > bottom + 0.02) continue;
            if (!best || lane.end[i] - lane.start[i] < best.lane.end[best.i] - best.lane.start[best.i]) best = { lane, i };
        }
    }
    return best;
}

function spanName(data, lane, i) {
    const style = data.styles[lane.style[i]];
    if (style.merged) return sayCount(lane.more[i], "op", "ops") + ", each shorter than a pixel";
    return style.name || KINDS[lane.kind[i]].label;
}

/* "F3": what is written on a span. */
function spanMark(data, lane, i) {
    const letter = KINDS[lane.kind[i]].letter;
    if (data.styles[lane.style[i]].merged) return "";
    if (letter && lane.more[i] > 0) return letter + (lane.more[i] - 1);
    return letter && lane.isPipeline ? letter : "";
}
