/* SPDX-License-Identifier: Apache-2.0 */
/* Elements and data. Text only ever becomes a text node or an attribute, never mark-up. */

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
        if (name === "on") {
            for (const [event, run] of Object.entries(value)) node.addEventListener(event, run);
        } else if (value === true) {
            node.setAttribute(name, "");
        } else if (value !== false && value !== null && value !== undefined) {
            node.setAttribute(name, value);
        }
    }
    node.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
    return node;
}

/* el("p", {class: "note"}, "text", child) */
function el(tag, attributes, ...children) {
    return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
    return fill(document.createElementNS(SVG, tag), attributes, children);
}

/* JSON with the integers that a double cannot hold kept as strings of digits. */
function readData(id) {
    const text = document.getElementById(id).textContent;
    return JSON.parse(
        text.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}/g, (m) => (m[0] === '"' ? m : '"' + m + '"'))
    );
}

/* ns since the first event of the run, exact, of an absolute time in the report. */
function makeClock(originText) {
    const origin = BigInt(originText);
    return (time) =>
        time === null || time === undefined ? null : Number(BigInt(time) - origin);
}

function css(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* The event of a D3 listener: an argument from version 6 on, a global before. */
function d3Event(argument) {
    return d3.event || argument;
}

/* Printed charts have the width of a sheet. */
const PRINT_WIDTH = 690;
const isPrinting = () => document.documentElement.classList.contains("printing");
const isCalm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

let idCount = 0;
const newId = (stem) => stem + "-" + ++idCount;

/* Charts that are to be drawn again when the width, the colors or the medium change. */
const redraws = [];

function onRedraw(draw) {
    redraws.push(draw);
    draw();
}

function redrawAll() {
    for (const draw of redraws) draw();
}
