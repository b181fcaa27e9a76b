/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen: the verdict, what is lost, the costliest findings and what to do. */

const TOP_FINDINGS = 3;
const OTHER_FINDINGS = 27;
const VERDICT_PARTS = { why: "Why.", next: "Next.", sure: "Basis." };

function stat(label, value, note, extra) {
    return el("div", { class: "stat" }, el("dt", null, label), el("dd", null, el("strong", null, value), note && el("span", null, note), extra));
}

function lossBar(share) {
    return svg(
        "svg",
        { class: "lossbar", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { x: 0, y: 0, width: 100, height: 6, class: "rest" }),
        svg("rect", { x: 0, y: 0, width: Math.min(100, 100 * share), height: 6, class: "lost" })
    );
}

/* What the verdict's basis says of the ranks is not said again. */
function sayRun(report) {
    const inputs = report.inputs;
    const parts = [];
    if (report.verdict.sure) {
        /* the ranks are in it */
    } else if (inputs.world_size) {
        parts.push(inputs.ranks_present.length + " of " + sayCount(inputs.world_size, "rank", "ranks"));
    } else if (inputs.ranks_present.length > 0) {
        parts.push(sayCount(inputs.ranks_present.length, "rank", "ranks"));
    } else {
        const logs = inputs.files.every((file) => file.format === "log");
        parts.push(logs ? sayCount(inputs.files.length, "log", "logs") + ", no traces" : sayCount(inputs.files.length, "file", "files"));
    }
    if (report.steps) {
        const kind = report.steps_inferred ? "inferred " : "";
        const all = report.steps.length;
        const judged = report.account && report.account.t_ns > 0 ? report.account.steps.judged : null;
        const mean = judged && sayNs(report.account.t_ns);
        const length = judged === all ? " of " + mean : judged ? " (" + judged + " judged, " + (judged > 1 ? "mean " : "") + mean + ")" : " of " + sayNs(report.step_ns_median) + (all > 1 ? " (median)" : "");
        parts.push(sayCount(all, kind + "step", kind + "steps") + length);
    }
    if (report.collectives && report.collectives.matched > 0) {
        parts.push(sayCount(report.collectives.matched, "collective", "collectives") + " matched");
    }
    return parts;
}

/* What a time of the account is told of: a capture may have no steps. */
const isOneInterval = (account) => Boolean(account && account.steps.one_interval);
const perStep = (account) => (isOneInterval(account) ? " in the capture" : " per step");

const causeOf = (report, finding) => (report.account && finding && report.account.causes.find((c) => c.id === finding.id)) || null;

/* What the verdict's cause costs; of one that gains hardly anything alone, with the one that it hides. */
function lostOf(report) {
    const cause = causeOf(report, report.findings[0]);
    return cause && isNumber(cause.gain_joint_ns) ? cause.gain_joint_ns : report.verdict.lost_ns_per_step;
}

function verdictStats(report) {
    const verdict = report.verdict;
    const lost = lostOf(report);
    const stats = [];
    if (isNumber(lost) && lost > 0) {
        const share = report.account && report.account.t_ns > 0 ? lost / report.account.t_ns : null;
        stats.push(
            stat((lost === verdict.lost_ns_per_step ? "Lost" : "Lost to two causes") + perStep(report.account), sayNs(lost),
                share === null ? "on every rank" : sayShare(share) + (isOneInterval(report.account) ? " of a capture of " : " of a step of ") + sayNs(report.account.t_ns),
                share === null ? null : lossBar(share))
        );
    }
    if (report.failure) {
        const failure = report.failure;
        if (failure.root_ranks.length > 0) {
            stats.push(stat(failure.root_ranks.length > 1 ? "Root ranks" : "Root rank", sayRanks(failure.root_ranks), sayCount(failure.victim_ranks.length, "victim", "victims")));
        }
        stats.push(stat("Class", words(failure.class), failure.op || (failure.subclass ? words(failure.subclass) : "")));
    }
    stats.push(stat("Confidence", verdict.confidence, { established: report.failure || !verdict.lost_ns_per_step ? "the records themselves say so" : "measured, and beyond the noise", supported: "the evidence fits; not proven", hypothesis: "one explanation among others" }[verdict.confidence]));
    return el("dl", { class: "stats" }, stats);
}

/* Evidence as links into the timeline where it holds that moment, as text where not. */
function evidenceList(run, finding) {
    if (finding.evidence.length === 0) return null;
    return el(
        "ul",
        { class: "evidence" },
        finding.evidence.map((evidence) => {
            const from = run.clock(evidence.start_ns);
            const to = run.clock(evidence.end_ns);
            const who = evidence.rank === null ? "" : "rank " + evidence.rank;
            const when = from === null ? "" : sayRange(from, to);
            const what = evidence.what || "";
            const label = [el("span", { class: "who" }, [who, when].filter(Boolean).join(", ")), what && " ", what];
            if (from === null || !run.timeline.holds(from)) return el("li", null, label);
            return el("li", null, el("button", { type: "button", class: "link evidence-link", on: { click: () => run.timeline.goTo(evidence.rank, from, to, who + (what ? ": " + what : "")) } }, label));
        })
    );
}

/* A cause that costs less of a step is for information. */
const LEAST_SHARE = 0.01;

/* What a finding costs per step; of one that hides behind those before it, which its title tells, once
 * these are repaired. */
function costOf(run, finding) {
    const account = run.report.account;
    const cause = causeOf(run.report, finding);
    if (cause && isNumber(cause.gain_joint_ns)) return [sayNs(cause.gain_joint_ns) + perStep(account), " \u00b7 " + sayShare(cause.gain_joint_ns / account.t_ns), " \u00b7 with the cause that it hides"];
    const later = cause ? cause.gain_in_order_ns / account.t_ns : 0;
    if (cause && finding.share < LEAST_SHARE && later >= LEAST_SHARE) return [sayNs(cause.gain_in_order_ns) + perStep(account), " \u00b7 " + sayShare(later), " \u00b7 after the causes before it"];
    return isNumber(finding.cost_ns_per_step) && [sayNs(finding.cost_ns_per_step) + perStep(account), isNumber(finding.share) && " \u00b7 " + sayShare(finding.share)];
}

function findingCard(run, finding, number) {
    const cost = costOf(run, finding);
    return el(
        "li",
        { class: "card severity-" + finding.severity, id: "finding-" + number },
        el(
            "p",
            { class: "cardhead" },
            el("span", { class: "badge", "aria-hidden": "true" }, number),
            el("span", { class: "chip chip-" + finding.severity }, finding.severity),
            cost && el("span", { class: "cost" }, cost)
        ),
        el("h3", null, run.report.verdict.headline === finding.title + "." ? "The verdict above" : unbroken(finding.title)),
        finding.advice && !(run.report.verdict.next || "").includes(finding.advice) && el("p", { class: "advice" }, el("b", null, "What to do. "), unbroken(finding.advice)),
        el(
            "details",
            null,
            el("summary", null, finding.evidence.length > 0 ? sayCount(finding.evidence.length, "piece of evidence", "pieces of evidence") : "Measured and expected"),
            finding.detail && el("p", null, unbroken(finding.detail)),
            finding.fixes.length > 0 && el("p", null, "Try with inquest fix: ", finding.fixes.map((spec, i) => [i > 0 && ", ", el("code", null, spec)])),
            el("p", { class: "muted" }, "Confidence: " + finding.confidence + "."),
            evidenceList(run, finding)
        )
    );
}

function sayReduced(r) {
    const lengths = r.step_ns !== null && r.whole_step_ns !== null ? " (mean " + sayNs(r.whole_step_ns) + "; of all " + r.steps + " " + sayNs(r.step_ns) + ")" : "";
    const standing = r.stand_out > 0 ? "; " + r.stand_out + " of them " + (r.stand_out === 1 ? "was kept for being long and weighs" : "were kept for being long and weigh") + " more than in the run" : "";
    return "reduced partials of " + sayCount(r.ranks, "rank", "ranks") + ": " + r.whole + " of " + r.steps + " steps have all rows" + lengths + ", and shares and costs are of those" + standing + "; " + notSeen;
}

function limitsNote(report) {
    const notes = [];
    const inputs = report.inputs;
    const damaged = inputs.files.filter((f) => f.damage.some((d) => d.kind !== "no_launch")).length;
    if (inputs.ranks_missing.length > 0) notes.push("no file of " + (inputs.ranks_missing.length > 1 ? "ranks " : "rank ") + sayRanks(inputs.ranks_missing));
    if (inputs.ranks_unread.length > 0) notes.push("could not be read: the " + (inputs.ranks_unread.length > 1 ? "files of ranks " : "file of rank ") + sayRanks(inputs.ranks_unread.map((u) => u.rank)));
    if (damaged > 0) notes.push(damaged + " of " + sayCount(inputs.files.length, "file", "files") + " damaged");
    if (inputs.reduced) notes.push(sayReduced(inputs.reduced));
    if (report.verdict.without) notes.push("verdict and findings were made without " + report.verdict.without.map(words).join(", "));
    if (report.options && report.options.ranks) notes.push("rows and findings of ranks " + report.options.ranks + " only");
    return notes.length > 0 ? el("p", { class: "limits" }, el("b", null, "Limits. "), sentence(notes.join("; ")) + ".") : null;
}

function verdictSection(run) {
    const report = run.report;
    const top = report.findings.slice(0, TOP_FINDINGS);
    return [
        el(
            "section",
            { class: "verdict", id: "verdict", "aria-labelledby": "headline" },
            el("div", null, el("p", { class: "eyebrow" }, "Verdict"), el("h1", { id: "headline" }, unbroken(report.verdict.headline)),
                ...["why", "next", "sure"].filter((key) => report.verdict[key]).map((key) => el("p", null, el("b", null, VERDICT_PARTS[key] + " "), unbroken(report.verdict[key]))),
                el("p", { class: "muted" }, sayRun(report).join(" \u00b7 ")), limitsNote(report)),
            verdictStats(report)
        ),
        top.length > 0 &&
            el(
                "section",
                { id: "findings", "aria-labelledby": "findings-title" },
                el("h2", { id: "findings-title" }, top.length === 1 ? "The finding" : "Costliest findings"),
                el("ol", { class: "cards cards-" + top.length }, top.map((f, i) => findingCard(run, f, i + 1)))
            ),
    ];
}

function otherFindings(run) {
    const rest = run.report.findings.slice(TOP_FINDINGS);
    if (rest.length === 0) return null;
    const cards = (from, to) => el("ol", { class: "cards" }, rest.slice(from, to).map((f, i) => findingCard(run, f, i + from + 1 + TOP_FINDINGS)));
    const folded = rest.length > OTHER_FINDINGS && el("details", { class: "fold" }, el("summary", null, sayCount(rest.length - OTHER_FINDINGS, "more finding", "more findings")));
    if (folded) folded.addEventListener("toggle", () => folded.append(cards(OTHER_FINDINGS)), { once: true });
    return { id: "more-findings", title: "Other findings", how: "Less costly than the three above, most costly first.", content: [cards(0, OTHER_FINDINGS), folded] };
}
