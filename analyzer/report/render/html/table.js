/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: every column sorts, long ones filter. */

const MANY_ROWS = 12;
const SHOWN_ROWS = 200;
const LONG_TEXT = 40;

/* A column: {title, value: (row) => number|string|null, text?: (row) => string, cell?: (row) => Node,
 * hint?}. Numbers stand on the right. */
function makeTable(options) {
    const { label, rows } = options;
    const textOf = (column, row) => {
        const value = column.value(row);
        return column.text ? column.text(row) : value === null || value === undefined ? "" : String(value);
    };
    /* a column in which no row has anything is left out */
    const columns = options.columns.filter((column) => column.cell || rows.some((row) => textOf(column, row) !== ""));
    const body = el("tbody");
    const count = el("span", { class: "count", role: "status" });
    let sort = options.sort ? { column: columns.indexOf(options.columns[options.sort.column]), down: options.sort.down } : null;
    if (sort && sort.column < 0) sort = null;
    let wanted = "";
    let limit = options.limit || SHOWN_ROWS;

    const isRight = (column) => rows.some((row) => typeof column.value(row) === "number");
    const right = columns.map((column) => !column.left && isRight(column));

    const compare = (a, b) => {
        const x = columns[sort.column].value(a);
        const y = columns[sort.column].value(b);
        const missing = (x === null || x === undefined) - (y === null || y === undefined);
        if (missing !== 0) return missing; /* what was not measured comes last either way */
        const order =
            typeof x === "number" && typeof y === "number"
                ? x - y
                : String(x).localeCompare(String(y), "en", { numeric: true });
        return sort.down ? -order : order;
    };
    const cellOf = (column, i, row) => {
        const content = column.cell ? column.cell(row) : textOf(column, row);
        const isLong = typeof content === "string" && content.length > LONG_TEXT;
        return el(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: right[i] ? "num" : isLong ? "long" : null }, content);
    };
    const fillBody = () => {
        let list = wanted
            ? rows.filter((row) => columns.some((c) => textOf(c, row).toLowerCase().includes(wanted)))
            : rows.slice();
        const found = list.length;
        if (sort) list.sort(compare);
        list = list.slice(0, limit);
        body.replaceChildren(...list.map((row) => el("tr", null, columns.map((c, i) => cellOf(c, i, row)))));
        const all = found === rows.length ? sayCount(rows.length, "row", "rows") : found + " of " + rows.length + " rows";
        count.textContent = list.length < found ? all + ", the first " + list.length + " shown" : all;
        more.hidden = list.length >= found;
    };
    const heads = columns.map((column, i) => {
        const button = el("button", { type: "button", title: column.hint || null }, column.title, el("span", { class: "arrow", "aria-hidden": "true" }));
        const head = el("th", { scope: "col", class: right[i] ? "num" : null, "aria-sort": "none" }, button);
        button.addEventListener("click", () => {
            sort = { column: i, down: sort && sort.column === i ? !sort.down : right[i] };
            markSort();
            fillBody();
        });
        return head;
    });
    const markSort = () =>
        heads.forEach((head, i) =>
            head.setAttribute("aria-sort", sort && sort.column === i ? (sort.down ? "descending" : "ascending") : "none")
        );
    const filter = el("input", {
        type: "search",
        placeholder: "Filter rows",
        "aria-label": "Filter rows of: " + label,
        on: { input: () => { wanted = filter.value.trim().toLowerCase(); fillBody(); } },
    });
    const more = el("button", { type: "button", class: "button", on: { click: () => { limit = Infinity; fillBody(); } } }, "Show all rows");
    markSort();
    fillBody();
    return el(
        "div",
        { class: "table" },
        rows.length > MANY_ROWS && el("div", { class: "tools" }, filter, count),
        el(
            "div",
            { class: "scroll", tabindex: "0", role: "region", "aria-label": label + " (table)" },
            el("table", null, el("caption", { class: "hidden" }, label), el("thead", null, el("tr", null, heads)), body)
        ),
        more
    );
}

/* The table behind a chart, folded. */
function folded(title, content) {
    return el("details", { class: "fold" }, el("summary", null, title), content);
}

/* A bar of parts for a cell: [{share, kind}], with the kinds' fills. */
function miniBar(parts, label) {
    let at = 0;
    const bars = parts.map(({ share, kind }) => {
        const bar = svg("rect", { x: 100 * at, y: 0, width: Math.max(0, 100 * share), height: 10, class: "fill-" + kind });
        at += share;
        return bar;
    });
    return svg("svg", { class: "minibar", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": label }, bars);
}
