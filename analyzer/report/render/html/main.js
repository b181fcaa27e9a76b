/* SPDX-License-Identifier: Apache-2.0 */
/* The page: one run at a time, its sections in order, theme, and drawing again when needed. */

const THEMES = ["auto", "light", "dark"];

/* Sections that failed, {key, reason, next}; the report is left as if they did not apply. */
function setAside(report) {
    const failed = [];
    for (const [key, value] of Object.entries(report)) {
        if (value && value.unavailable) {
            failed.push({ key, ...value.unavailable });
            delete report[key];
        }
    }
    report.findings = report.findings || [];
    return failed;
}

function failedSections(run) {
    return run.failed.map((part) => ({
        id: "unavailable-" + part.key,
        title: words(part.key)[0].toUpperCase() + words(part.key).slice(1),
        how: "Not available: " + part.reason + "; " + part.next + ".",
        content: [],
    }));
}

function sections(run) {
    return [failedSections, otherFindings, failureSection, waterfallSection, () => run.timeline.section, heatSection, waitsSection, collectivesSection, pathSection, kernelsSection, stepsSection, ranksSection, whatifSection, peerSection, tableSections, inputsSection]
        .flatMap((make) => make(run))
        .filter(Boolean);
}

function sectionNode(section) {
    const title = section.id + "-title";
    return el("section", { id: section.id, class: section.wide ? "wide" : null, "aria-labelledby": title }, el("h2", { id: title }, section.title), el("p", { class: "how" }, section.how), section.content);
}

function readTheme() {
    try {
        return localStorage.getItem("inquest-theme") || "auto";
    } catch (error) {
        return "auto"; /* storage is refused to some file:// pages */
    }
}

function applyTheme(theme) {
    document.documentElement.dataset.theme = theme;
    try {
        localStorage.setItem("inquest-theme", theme);
    } catch (error) {
        /* it holds for this view only */
    }
    redrawAll();
}

function themeButton() {
    const button = el("button", { type: "button", class: "button", id: "theme" });
    let theme = readTheme();
    const say = () => {
        button.textContent = "Theme: " + theme;
    };
    button.addEventListener("click", () => {
        theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
        applyTheme(theme);
        say();
    });
    say();
    return button;
}

function makeRun(document_, report, rawTimeline, failed) {
    const run = { document: document_, report, rawTimeline, clock: makeClock(rawTimeline.origin_ns), failed };
    run.timeline = makeTimeline(run, rawTimeline);
    return run;
}

function pageHead(reports, index, name, choose) {
    const picker =
        reports.length > 1 &&
        el("select", { "aria-label": "Job shown", on: { change: (event) => choose(event.target.selectedIndex) } }, reports.map((r, i) => el("option", { selected: i === index }, "Job " + (i + 1) + " of " + reports.length + ": " + r.name)));
    return el("header", { class: "top" }, el("a", { class: "skip", href: "#verdict" }, "Skip to the verdict"), el("span", { class: "mark" }, "inquest"), picker || el("span", { class: "name" }, name), el("span", { class: "grow" }), themeButton(), el("button", { type: "button", class: "button print", title: "Tables that are open are printed; folded ones are not", on: { click: () => window.print() } }, "Print"));
}

function tableOfContents(list) {
    return el("nav", { class: "toc", "aria-label": "Sections" }, el("ul", null, el("li", null, el("a", { href: "#verdict" }, "Verdict")), list.map((s) => el("li", null, el("a", { href: "#" + s.id }, s.short || s.title)))));
}

function pageFoot(tool) {
    return el("footer", null, el("p", null, "Made by " + tool + ". This file holds everything it shows and loads nothing."));
}

/* A page without jobs to choose from: the verdict, then its sections; null is left out. */
function showSections(app, name, tool, verdict, sections_) {
    const list = sections_.filter(Boolean);
    app.replaceChildren(pageHead([name], 0, name), tableOfContents(list), el("main", null, verdict, list.map(sectionNode)), pageFoot(tool));
    for (const section of list) if (section.start) section.start();
}

/* Of several jobs: what is said of each, and the way to it. */
function jobsSection(reports, shown, choose) {
    if (reports.length < 2) return null;
    const lost = nsInUnit(reports.map((r) => r.verdict.lost_ns_per_step));
    const name = (report) => {
        const i = reports.indexOf(report);
        return i === shown ? el("span", { "aria-current": "true" }, report.name + " (shown)") : el("button", { type: "button", class: "link", on: { click: () => choose(i) } }, report.name);
    };
    const columns = [
        { title: "Job", value: (r) => r.name, cell: name },
        { title: "Verdict", value: (r) => unbroken(r.verdict.headline) },
        nsColumn("Lost", lost, (r) => r.verdict.lost_ns_per_step, "per step"),
        { title: "Ranks", value: (r) => r.inputs.ranks_present.length, hint: "with a file that was read" },
        { title: "Steps", value: (r) => (r.steps ? r.steps.length : null) },
    ];
    return { id: "jobs", title: sayCount(reports.length, "job", "jobs"), short: "Jobs", how: "The files are of several jobs; the page shows one at a time.", wide: true, content: makeTable({ label: "Jobs", rows: reports, columns }) };
}

/* The reports of one run, one at a time. */
function showReports(document_, timelines, app) {
    const reports = document_.runs || [document_];
    const failed = reports.map(setAside);
    const runs = [];

    function choose(index) {
        redraws.length = 0;
        runs[index] = makeRun(document_, reports[index], runs[index] ? runs[index].rawTimeline : timelines[index], failed[index]);
        const run = runs[index];
        const list = sections(run);
        const jobs = jobsSection(reports, index, go);
        app.replaceChildren(
            pageHead(reports, index, reports[index].name, choose),
            tableOfContents(jobs ? [jobs, ...list] : list),
            el("main", null, verdictSection(run).filter(Boolean), jobs && sectionNode(jobs), list.map(sectionNode)),
            pageFoot(run.report.tool)
        );
        for (const section of list) if (section.start) section.start();
    }

    /* The page is built anew: what had the focus is gone, and the verdict is what was asked for. */
    function go(index) {
        choose(index);
        const headline = document.getElementById("headline");
        headline.tabIndex = -1;
        headline.focus({ preventScroll: true });
        document.getElementById("verdict").scrollIntoView({ behavior: isCalm() ? "auto" : "smooth", block: "start" });
    }

    choose(0);
    window.addEventListener("scroll", () => runs.forEach((run) => run.onScroll && run.onScroll()), { passive: true });
}

function start() {
    const document_ = readData("inq-report");
    const timelines = readData("inq-timeline");
    const shows = { "inquest-fix": showFixes, "inquest-compare": showComparison, "inquest-check": showChecks, "inquest-check-set": showChecks };
    const show = shows[document_.schema.split("/")[0]] || showReports;
    document.documentElement.dataset.theme = readTheme();
    show(document_, timelines, document.getElementById("app"));
    let timer = 0;
    window.addEventListener("resize", () => {
        clearTimeout(timer);
        timer = setTimeout(redrawAll, 80);
    });
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
    window.addEventListener("beforeprint", () => {
        document.documentElement.classList.add("printing");
        redrawAll();
    });
    window.addEventListener("afterprint", () => {
        document.documentElement.classList.remove("printing");
        redrawAll();
    });
}

start();
