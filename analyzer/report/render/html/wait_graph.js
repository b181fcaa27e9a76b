/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for whom in a run that hangs: those that wait for nobody first, then, level by level,
 * those that wait for them. Rows of the report that wait in one op on one level share a box. */

const MOST_BOXES = 40;
const BOX_HEIGHT = 46;
const BOX_GAP = 14;

/* For each wait the number of waits to where nobody waits; of a circle, counted from its first. */
function waitLevels(waits, firsts) {
    const waitOf = new Map(waits.flatMap((w, i) => w.ranks.map((rank) => [rank, i])));
    const level = waits.map(() => 0);
    const done = new Set(waits.flatMap((w) => w.for_ranks).filter((rank) => !waitOf.has(rank)));
    const spread = () => {
        for (let more = true, at = 1; more; at++) {
            const found = waits.map((w, i) => i).filter((i) => level[i] === 0 && waits[i].for_ranks.some((rank) => done.has(rank)));
            for (const i of found) level[i] = at;
            for (const i of found) waits[i].ranks.forEach((rank) => done.add(rank));
            more = found.length > 0;
        }
    };
    spread();
    while (level.includes(0)) {
        const named = waits.findIndex((w, i) => level[i] === 0 && w.ranks.some((rank) => firsts.has(rank)));
        const i = named >= 0 ? named : level.indexOf(0);
        level[i] = 1;
        waits[i].ranks.forEach((rank) => done.add(rank));
        spread();
    }
    return level;
}

/* Boxes {level, title, what, ranks, forRanks, role}, by level. */
function waitBoxes(failure) {
    const role = rolesOf(failure);
    const { waits } = failure;
    const level = waitLevels(waits, new Set(failure.root_ranks));
    const boxes = new Map();
    const add = (key, box, ranks, forRanks) => {
        const known = boxes.get(key) || { ...box, ranks: [], forRanks: new Set(), groups: 0 };
        known.ranks.push(...ranks);
        forRanks.forEach((rank) => known.forRanks.add(rank));
        known.groups++;
        boxes.set(key, known);
    };
    const waiting = new Set(waits.flatMap((w) => w.ranks));
    for (const rank of new Set(waits.flatMap((w) => w.for_ranks))) {
        const what = role.get(rank) || "other";
        if (!waiting.has(rank)) add(what, { level: 0, role: what, what: { root: "root", suspect: "suspect", missing: "no whole dump" }[what] || "waits for nobody" }, [rank], []);
    }
    waits.forEach((w, i) => {
        const op = w.op + (w.seq === null ? "" : " " + w.seq);
        const isRoot = w.ranks.every((rank) => role.get(rank) === "root");
        add([level[i], op, isRoot].join(), { level: level[i], role: isRoot ? "root" : "victim", what: "in " + op, group: w.group }, w.ranks, w.for_ranks);
    });
    const list = [...boxes.values()].sort((a, b) => a.level - b.level);
    for (const box of list) {
        box.ranks.sort((a, b) => a - b);
        box.title = (box.ranks.length > 1 ? "ranks " : "rank ") + sayRanks(box.ranks);
        if (box.group) box.what += " of " + (box.groups > 1 ? sayCount(box.groups, "group", "groups") : box.group);
    }
    return list;
}

function boxNode(box, x, y, width) {
    const most = Math.floor((width - 20) / 7);
    const cut = (s) => (s.length > most ? s.slice(0, most - 1) + "\u2026" : s);
    return svg("g", { class: "wait-box wait-" + box.role },
        svg("title", null, box.title + ", " + box.what),
        svg("rect", { x, y, width, height: BOX_HEIGHT, rx: 6 }),
        text(x + 10, y + 15, cut(box.title), { class: "strong" }),
        text(x + 10, y + 32, cut(box.what), { class: "muted" }));
}

const arrowHead = (x, y, direction) => svg("path", { class: "wait-head", d: "M" + x + "," + y + "l" + 7 * direction + ",-4v8z" });

/* Levels side by side, arrows to the left. */
function wideWaits(width, boxes) {
    const levels = d3.max(boxes, (b) => b.level) + 1;
    const gap = 56;
    const boxWidth = Math.min(330, (width - gap * (levels - 1)) / levels);
    const count = d3.range(levels).map((l) => boxes.filter((b) => b.level === l).length);
    const height = d3.max(count) * (BOX_HEIGHT + BOX_GAP);
    const at = count.map((n) => (height - n * (BOX_HEIGHT + BOX_GAP)) / 2);
    for (const box of boxes) {
        box.x = box.level * (boxWidth + gap);
        box.y = at[box.level] + BOX_GAP / 2;
        at[box.level] += BOX_HEIGHT + BOX_GAP;
    }
    const arrow = (from, to) => {
        const y = [from.y, to.y].map((v) => v + BOX_HEIGHT / 2);
        const back = to.level >= from.level; /* a circle closes */
        const start = back ? from.x + boxWidth : from.x;
        const end = to.x + boxWidth;
        const bend = back ? 40 : -gap / 2;
        return [svg("path", { class: "wait-line", d: "M" + start + "," + y[0] + "C" + (start + bend) + "," + y[0] + " " + (end + gap / 2) + "," + y[1] + " " + (end + 6) + "," + y[1] }), arrowHead(end, y[1], 1)];
    };
    return { height, arrow, nodes: boxes.map((box) => boxNode(box, box.x, box.y, boxWidth)) };
}

/* One box below the other, arrows up in the margin. */
function narrowWaits(width, boxes) {
    const margin = 40;
    boxes.forEach((box, i) => (box.y = i * (BOX_HEIGHT + BOX_GAP)));
    const arrow = (from, to) => {
        const [a, b] = [from.y + BOX_HEIGHT / 2 + 6, to.y + BOX_HEIGHT / 2 - 6];
        const x = 4 + (boxes.indexOf(from) % 5) * 6;
        return [svg("path", { class: "wait-line", d: "M" + margin + "," + a + "H" + x + "V" + b + "H" + (margin - 6) }), arrowHead(margin, b, -1)];
    };
    return { height: boxes.length * (BOX_HEIGHT + BOX_GAP), arrow, nodes: boxes.map((box) => boxNode(box, margin, box.y, width - margin)) };
}

/* The graph and the table behind it; null where nobody waits for anybody that is known. */
function waitGraph(failure, paints) {
    const { waits } = failure;
    if (waits.length === 0) return null;
    const all = waitBoxes(failure);
    const boxes = all.slice(0, MOST_BOXES);
    const targets = (box) => boxes.filter((other) => other !== box && other.ranks.some((rank) => box.forRanks.has(rank)));
    const sayWait = (box) => box.title + " wait" + (box.ranks.length > 1 ? "" : "s") + " " + box.what + " for " + sayRanks([...box.forRanks].sort((a, b) => a - b));
    const plot = figure("Who waits for whom: " + boxes.filter((b) => b.forRanks.size > 0).map(sayWait).join("; "), (width) => {
        const levels = d3.max(boxes, (b) => b.level) + 1;
        const { height, arrow, nodes } = width < 230 * levels ? narrowWaits(width, boxes) : wideWaits(width, boxes);
        return chart(width, height, boxes.map((box) => targets(box).map((to) => arrow(box, to))), nodes);
    });
    paints.push(plot.paint);
    return [
        el("h3", null, "Who waits for whom"),
        el("p", { class: "how" }, "An arrow goes from ranks that wait to those they wait for; where the arrows end is where to look."),
        plot.node,
        all.length > boxes.length && el("p", { class: "muted" }, sayCount(all.length - boxes.length, "box", "boxes") + " more, further from where the waiting began; the table has all."),
        folded("Waits as a table", makeTable({ label: "Who waits for whom", rows: waits, columns: [{ title: "Ranks", value: (w) => sayRanks(w.ranks) }, { title: "Wait in", value: (w) => w.op }, { title: "Number", value: (w) => w.seq }, { title: "Group", value: (w) => w.group }, { title: "For", value: (w) => sayRanks(w.for_ranks) }] })),
    ];
}
