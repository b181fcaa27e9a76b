/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them. */

const isNumber = (x) => typeof x === "number" && Number.isFinite(x);

function digits(x, n) {
    if (x === 0) return "0";
    const places = Math.max(0, n - 1 - Math.floor(Math.log10(Math.abs(x))));
    return x.toFixed(Math.min(places, 9));
}

const UNITS = [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "us"],
    [1, "ns"],
];

function unitOf(ns) {
    return UNITS.find(([size]) => Math.abs(ns) >= size * 0.9995) || UNITS[3];
}

function sayNs(ns) {
    if (!isNumber(ns)) return "not measured";
    const [size, name] = unitOf(ns);
    return (size === 1 ? String(ns) : digits(ns / size, 3)) + "\u00a0" + name;
}

/* A function that says all times of a table in the unit of the largest. */
function nsInUnit(values) {
    const [size, name] = unitOf(d3.max(values.filter(isNumber), Math.abs) || 0);
    const places = Math.max(0, 3 - Math.floor(Math.log10(Math.max(1, (d3.max(values.filter(isNumber)) || 1) / size))));
    return { name, say: (ns) => (isNumber(ns) ? (ns / size).toFixed(size === 1 ? 0 : Math.min(places, 3)) : "") };
}

/* Seconds from the first event. */
const sayAt = (ns) => (ns / 1e9).toFixed(6);

/* "0.005253s~0.006674s", as --time takes it: whole us around the range. */
function sayRange(from, to) {
    if (to === null) return sayAt(from) + "s";
    const start = Math.floor(from / 1000) * 1000;
    const end = Math.ceil(Math.max(to, from + 1) / 1000) * 1000;
    return sayAt(start) + "s~" + sayAt(end) + "s";
}
const sayPct = (share) => (isNumber(share) ? (100 * share).toFixed(1) + "\u00a0%" : "");
/* In as many digits as a finding's title. */
const sayShare = (share) => (100 * share).toFixed(100 * share >= 9.95 ? 0 : 1) + "\u00a0%";
const notSeen = "faults in other steps only are not seen";
const sayKept = (kept) => "reduced partials, " + kept.whole + " of " + kept.steps + " steps have all rows; " + notSeen;
const sayCount = (n, one, many) => n.toLocaleString("en") + "\u00a0" + (n === 1 ? one : many);

function sayBytes(n) {
    if (!isNumber(n)) return "unknown";
    for (const [size, name] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
        if (n >= size) return digits(n / size, 3) + "\u00a0" + name;
    }
    return n + "\u00a0B";
}

const words = (text) => String(text).replace(/_/g, "\u00a0");
/* Numbers stay on a line with their units. */
const unbroken = (text) => text.replace(/(\d) (?=(?:[num]?s|%|[kMG]B)(?!\w))/g, "$1\u00a0");
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/* "0-7,12" of ascending numbers. */
function sayRanks(numbers) {
    const parts = [];
    for (let i = 0; i < numbers.length; ) {
        let j = i;
        while (j + 1 < numbers.length && numbers[j + 1] === numbers[j] + 1) j++;
        parts.push(j > i + 1 ? numbers[i] + "-" + numbers[j] : numbers.slice(i, j + 1).join(","));
        i = j + 1;
    }
    return parts.join(",");
}
