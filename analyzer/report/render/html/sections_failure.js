/* SPDX-License-Identifier: Apache-2.0 */
/* What stopped the run: roles of the ranks, the course of events, the evidence word for word. */

const ROLE_LETTERS = { root: "R", suspect: "S", missing: "?", victim: "v" };
const PHASES = { cause: "Cause", detection: "Detected", abort: "Aborted" };
const MAX_SQUARES = 1024;

function rolesOf(failure) {
    const role = new Map();
    for (const rank of failure.victim_ranks) role.set(rank, "victim");
    for (const rank of failure.missing_ranks) role.set(rank, "missing");
    for (const rank of failure.suspect_ranks) role.set(rank, "suspect");
    for (const rank of failure.root_ranks) role.set(rank, "root");
    return role;
}

/* A square for every rank of the job; of a job of unknown size, for those that have a role. */
function roleSquares(run, failure) {
    const role = rolesOf(failure);
    const inputs = run.report.inputs;
    const known = [...new Set([...role.keys(), ...inputs.ranks_present.filter((r) => r !== null)])].sort((a, b) => a - b);
    const ranks = inputs.world_size ? d3.range(inputs.world_size) : known;
    if (role.size === 0) return null;
    const squares = ranks.slice(0, MAX_SQUARES).map((rank) => {
        const what = role.get(rank) || "other";
        return el("li", { class: "role-" + what, title: "rank " + rank + ": " + what }, el("span", null, rank), el("b", { "aria-hidden": "true" }, ROLE_LETTERS[what] || "\u00b7"), el("span", { class: "hidden" }, what));
    });
    return el("ul", { class: "ranks-grid", "aria-label": "Ranks by role" }, squares);
}

const placeText = (file, line) => file && el("span", { class: "muted path" }, file + (line > 0 ? ":" + line : ""));

function rootPlaces(failure) {
    const places = (failure.roots || []).filter((p) => p.host || p.pid !== null || p.bus_id || p.peer);
    if (places.length === 0) return null;
    const parts = (p) => [p.rank !== null && "rank " + p.rank, p.host && "host " + p.host, p.pid !== null && "process " + p.pid, p.bus_id && "GPU at " + p.bus_id, p.peer && "peer " + p.peer].filter(Boolean).join(", ");
    return [el("h3", null, "Where"), el("ul", null, places.map((p) => el("li", null, el("b", null, parts(p)), ": " + p.what)))];
}

/* The course of events, as far as logs have times. */
function failureCourse(failure) {
    const moments = failure.timeline || [];
    if (moments.length === 0) return null;
    const isTimed = moments.some((m) => m.time);
    return [
        el("h3", null, isTimed ? "What happened: in order of time, then what carries none" : "What happened, in the order of the logs"),
        el(
            "ol",
            { class: "trail course" + (isTimed ? " timed" : "") },
            moments.map((m) =>
                el(
                    "li",
                    { class: "phase-" + m.phase },
                    el("span", { class: "phase" }, PHASES[m.phase] || words(m.phase)),
                    isTimed && el("time", null, m.time || "no time"),
                    el("span", null, m.rank !== null && el("b", null, "rank " + m.rank + " "), m.what, placeText(m.file, m.line))
                )
            )
        ),
    ];
}

function failureEvidence(failure) {
    if (failure.evidence.length === 0) return null;
    return [
        el("h3", null, "Evidence"),
        el(
            "ol",
            { class: "trail" },
            failure.evidence.map((e) => el("li", null, e.rank !== null && el("b", null, "rank " + e.rank + " "), e.what, placeText(e.file, e.line), e.text && el("blockquote", null, el("code", null, e.text))))
        ),
    ];
}

function victimTable(failure) {
    const victims = failure.victims || [];
    if (victims.length === 0) return null;
    return folded(
        "Messages of those that only suffered",
        makeTable({
            label: "Messages of those that only suffered",
            rows: victims,
            columns: [
                { title: "Message", value: (v) => v.what },
                { title: "Times", value: (v) => v.count },
                { title: "Ranks", value: (v) => sayRanks(v.ranks) },
                { title: "First at", value: (v) => (v.file || "") + (v.line > 0 ? ":" + v.line : "") },
                { title: "Line", value: (v) => v.text },
            ],
        })
    );
}

function stackList(failure) {
    return failure.stacks.map((stack) =>
        folded(
            "Stack of rank " + stack.rank + (stack.op ? " in " + stack.op : ""),
            el("ol", { class: "stack" }, stack.frames.map((f) => el("li", null, el("code", null, (f.name || "?") + "  " + (f.file || "") + ":" + f.line))))
        )
    );
}

function matchTable(failure) {
    if (failure.collectives.length === 0) return null;
    return folded(
        "Collectives that were not finished everywhere",
        makeTable({
            label: "Oldest unfinished collective of each group",
            rows: failure.collectives,
            columns: [{ title: "Group", value: (m) => m.group }, { title: "Number", value: (m) => m.seq }, { title: "State", value: (m) => words(m.state) }, { title: "Ranks", value: (m) => sayRanks(m.ranks) }, { title: "What", value: (m) => m.what }],
        })
    );
}

function failureSection(run) {
    const failure = run.report.failure;
    if (!failure) return null;
    const paints = [];
    const isSaid = run.report.findings.some((finding) => finding.advice === failure.advice);
    return {
        id: "failure",
        title: "What stopped the run",
        short: "Failure",
        how: "Where it began, who only waits for it, and the lines that show it." + (rolesOf(failure).size > 0 ? " R: root; v: victim; ?: no readable record; S: no readable record, suspected." : ""),
        content: [
            roleSquares(run, failure),
            rootPlaces(failure),
            failure.advice && !isSaid && el("p", { class: "advice" }, el("b", null, "What to do. "), failure.advice),
            waitGraph(failure, paints),
            failureCourse(failure),
            failureEvidence(failure),
            failure.alternatives.length > 0 && [el("h3", null, "What else it could be, and what would decide"), el("ul", null, failure.alternatives.map((a) => el("li", null, unbroken(a))))],
            failure.set_aside.length > 0 && [el("h3", null, "Set aside, and why"), el("ul", null, failure.set_aside.map((a) => el("li", null, unbroken(a))))],
            stackList(failure),
            victimTable(failure),
            matchTable(failure),
        ],
        start: () => paints.forEach((paint) => paint()),
    };
}
