/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing the timeline on a canvas. Spans are collected by color as runs of pixels, so that what
 * is drawn grows with the screen, not with the run. */

const MANY_HATCHED = 3000;
const TEXT_ROOM = 16;

/* Stripes, so that transfers are told from compute without color. */
function makeHatch(context, color, ratio) {
    const size = Math.round(6 * ratio);
    const tile = document.createElement("canvas");
    tile.width = tile.height = size;
    const c = tile.getContext("2d");
    c.strokeStyle = color;
    c.lineWidth = Math.max(1, ratio);
    c.beginPath();
    for (const shift of [-size, 0, size]) {
        c.moveTo(shift, size);
        c.lineTo(shift + size, 0);
    }
    c.stroke();
    const pattern = context.createPattern(tile, "repeat");
    pattern.setTransform(new DOMMatrix().scale(1 / ratio));
    return pattern;
}

function readColors() {
    const colors = {
        ink: css("--ink"), muted: css("--muted"), line: css("--line"), surface: css("--surface"),
        row: css("--row"), mark: css("--mark"), path: css("--ink"), font: css("--font"),
    };
    colors.kinds = KINDS.map((kind) => css("--k-" + kind.id));
    colors.texts = KINDS.map((kind) => css("--t-" + kind.id) || css("--t-default"));
    return colors;
}

/* Rectangles of one frame, per kind: x, y, width, height in turn. */
function makeBatch() {
    const rects = KINDS.map(() => []);
    return {
        rects,
        add(kind, x, y, w, h) {
            rects[kind].push(x, y, w, h);
        },
    };
}

function fillBatch(context, batch, left, colors) {
    batch.rects.forEach((rects, kind) => {
        const many = rects.length / 4 > MANY_HATCHED;
        for (const pass of IS_TRANSFER[kind] && !many ? ["fill", "hatch"] : ["fill"]) {
            context.fillStyle = pass === "fill" ? colors.kinds[kind] : colors.hatch;
            for (let i = 0; i < rects.length; i += 4) {
                if (pass === "fill" || rects[i + 2] > 5) context.fillRect(left + rects[i], rects[i + 1], rects[i + 2], rects[i + 3]);
            }
        }
    });
}

/* The part of one lane that is in view. `texts` gets what is to be written on wide spans. */
function collectLane(frame, row, lane, y, batch, texts) {
    const { x, from, to, width, rowHeight } = frame;
    const scale = width / (to - from);
    let runKind = -1;
    let runX = 0;
    let runEnd = 0;
    let runBand = null;
    const flush = () => {
        if (runKind < 0) return;
        const w = runEnd - runX;
        batch.add(runKind, runX, y + runBand[0] * rowHeight, w > 3 ? w - 0.8 : Math.max(w, 0.7), (runBand[1] - runBand[0]) * rowHeight);
        runKind = -1;
    };
    const bands = KINDS.map((_, kind) => bandOf(row, lane, kind));
    for (let i = firstAfter(lane, from); i < lane.n && lane.start[i] < to; i++) {
        const kind = lane.kind[i];
        const a = Math.max(-2, (lane.start[i] - from) * scale);
        const b = Math.min(width + 2, (lane.end[i] - from) * scale);
        if (kind === runKind && b - a < 1.5 && a - runEnd < 0.5 && runEnd - runX < 64) {
            runEnd = Math.max(runEnd, b); /* shares its pixel with its neighbor */
            continue;
        }
        if (b - a < 0.3 && runKind >= 0 && b <= runEnd) continue;
        flush();
        runKind = kind;
        runX = a;
        runEnd = b;
        runBand = bands[kind];
        if (b - a > TEXT_ROOM) texts.push({ row, lane, i, a: Math.max(0, a), b: Math.min(width, b), y, band: runBand });
    }
    flush();
    return x;
}

function drawTexts(frame, context, texts, colors) {
    const { data, rowHeight, left } = frame;
    context.textBaseline = "middle";
    for (const text of texts) {
        const height = (text.band[1] - text.band[0]) * rowHeight;
        const room = text.b - text.a - 7;
        if (height < 9) continue;
        const size = Math.min(12, Math.max(9, height - 4));
        let label = spanMark(data, text.lane, text.i);
        if (!label && room > 40) label = spanName(data, text.lane, text.i).replace(/^void /, "");
        context.font = size + "px " + colors.font;
        if (!label) continue;
        const length = context.measureText(label).width;
        if (length > room) {
            const most = Math.floor((label.length * room) / length) - 1;
            if (most < 5) continue;
            label = label.slice(0, most) + "\u2026";
        }
        context.fillStyle = colors.texts[text.lane.kind[text.i]];
        context.fillText(label, left + text.a + 4, text.y + text.band[0] * rowHeight + height / 2 + 0.5);
    }
}

function drawRows(frame, context, colors) {
    const { rows, rowHeight, left, width, firstRow, lastRow, scrollTop } = frame;
    const lines = rowHeight >= 30;
    context.textBaseline = "middle";
    for (let r = firstRow; r < lastRow; r++) {
        const y = r * rowHeight - scrollTop;
        context.fillStyle = colors.row;
        context.fillRect(left, y + 1, width, rowHeight - 2);
        if (r === frame.cursorRow) {
            context.fillStyle = colors.ink;
            context.fillRect(0, y + 2, 3, rowHeight - 4);
        }
        const row = rows[r];
        const number = frame.narrow ? row.label : row.rank === null ? row.label : "rank " + row.label;
        const stage = row.stage === null ? "" : "stage " + row.stage;
        context.font = "600 " + Math.min(12, rowHeight - 3) + "px " + colors.font;
        context.fillStyle = colors.ink;
        const label = number.length > 12 ? number.slice(0, 11) + "\u2026" : number;
        context.fillText(label, 7, y + rowHeight / 2 - (lines && stage ? 7 : 0));
        if (stage && lines) {
            context.font = "11px " + colors.font;
            context.fillStyle = colors.muted;
            context.fillText(frame.narrow ? "st. " + row.stage : stage, 7, y + rowHeight / 2 + 8);
        }
    }
}

/* The chain over the rows: thick along its ops, thin where it goes to another rank. */
function drawPath(frame, context, colors) {
    const { x, from, to, rowOf, rowHeight, scrollTop, left, width } = frame;
    const insets = frame.rows.map((row) => rowHeight * (row.hasHost ? 1 - HOST_BAND : 1) * (row.hasPipeline ? 0.5 : row.hasTransfer ? 0.62 : 0.86));
    const lines = new Path2D();
    const hops = new Path2D();
    let last = null;
    for (const s of frame.data.path) {
        const r = rowOf.get(s.rank);
        if (r === undefined) {
            last = null;
            continue;
        }
        const y = r * rowHeight - scrollTop + insets[r];
        const a = left + Math.max(-50, Math.min(width + 50, x(s.start)));
        const b = left + Math.max(-50, Math.min(width + 50, x(s.end)));
        if (s.end >= from && s.start <= to) {
            lines.moveTo(a, y);
            lines.lineTo(Math.max(b, a + 0.5), y);
        }
        if (last && last.y !== y && s.start >= from - (to - from) && s.start <= to + (to - from)) {
            hops.moveTo(last.x, last.y);
            hops.lineTo(a, y);
        }
        last = { x: b, y };
    }
    context.lineCap = "butt";
    for (const [path, wide, thin] of [[hops, 3, 1.2], [lines, 5, 2.4]]) {
        context.strokeStyle = colors.surface;
        context.lineWidth = wide;
        context.stroke(path);
        context.strokeStyle = colors.path;
        context.lineWidth = thin;
        context.stroke(path);
    }
}

function drawMarks(frame, context, colors) {
    const { x, from, to, rowOf, rowHeight, scrollTop, left, width } = frame;
    context.font = "700 10px " + colors.font;
    context.textBaseline = "middle";
    for (const mark of frame.data.marks) {
        const r = rowOf.get(mark.rank);
        if (r === undefined || mark.end < from || mark.start > to) continue;
        const a = left + Math.max(0, x(mark.start));
        const b = left + Math.min(width, x(mark.end));
        const y = r * rowHeight - scrollTop;
        context.strokeStyle = colors.mark;
        context.lineWidth = mark === frame.lit ? 3 : 1.75;
        context.setLineDash(mark === frame.lit ? [] : [5, 3]);
        context.strokeRect(a, y + 1, Math.max(b - a, 2), rowHeight - 2);
        context.setLineDash([]);
        context.fillStyle = colors.mark;
        context.beginPath();
        context.arc(a + 7, y + 7, 6.5, 0, 7);
        context.fill();
        context.fillStyle = colors.surface;
        context.textAlign = "center";
        context.fillText(String(mark.number), a + 7, y + 7.5);
        context.textAlign = "left";
    }
}

function drawTimeline(frame, context, colors) {
    const { rows, rowHeight, left, width, height, scrollTop, ratio } = frame;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, left + width, height);
    frame.firstRow = Math.floor(scrollTop / rowHeight);
    frame.lastRow = Math.min(rows.length, Math.ceil((scrollTop + height) / rowHeight));
    drawRows(frame, context, colors);
    context.save();
    context.beginPath();
    context.rect(left, 0, width, height);
    context.clip();
    const batch = makeBatch();
    const texts = [];
    for (let r = frame.firstRow; r < frame.lastRow; r++) {
        const y = r * rowHeight - scrollTop + 2;
        const inner = Object.assign({}, frame, { rowHeight: rowHeight - 4 });
        for (const lane of rows[r].lanes) collectLane(inner, rows[r], lane, y, batch, texts);
    }
    fillBatch(context, batch, left, colors);
    drawTexts(Object.assign({}, frame, { rowHeight: rowHeight - 4 }), context, texts, colors);
    if (frame.showPath) drawPath(frame, context, colors);
    if (frame.showMarks) drawMarks(frame, context, colors);
    if (frame.cursor) {
        const { lane, i } = frame.cursor;
        const a = left + frame.x(lane.start[i]);
        const b = left + frame.x(lane.end[i]);
        const [top, bottom] = bandOf(rows[frame.cursorRow], lane, lane.kind[i]);
        const y = frame.cursorRow * rowHeight - scrollTop + 2;
        context.strokeStyle = colors.ink;
        context.lineWidth = 2;
        context.strokeRect(a, y + top * (rowHeight - 4), Math.max(b - a, 2), (bottom - top) * (rowHeight - 4));
    }
    context.restore();
}
