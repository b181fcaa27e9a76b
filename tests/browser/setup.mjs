// SPDX-License-Identifier: Apache-2.0
// The browser, and the reports that the tests open.
import { chromium } from "playwright-core";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";

const { INQUEST, SOURCE_DIR, CHROMIUM } = process.env;
const SHARED = path.join(SOURCE_DIR, "../shared/data");

export const HOSTILE = '</script><img src=x onerror=alert(1)>&quot;\u2028<!--';

/* Starts with a profile of its own, removed by close(). Every request but the page itself is a
 * failure that the caller finds in `requests`. */
export async function openBrowser(options = {}) {
    const profile = fs.mkdtempSync(path.join(os.tmpdir(), "inquest-browser-"));
    const context = await chromium.launchPersistentContext(profile, {
        executablePath: CHROMIUM,
        headless: true,
        viewport: { width: 1280, height: 800 },
        args: [
            "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
        ],
        ...options,
    });
    return {
        context,
        async close() {
            await context.close();
            fs.rmSync(profile, { recursive: true, force: true });
        },
    };
}

/* Opens a report in a new page; `problems` gets what the console, the page or the network says. */
export async function openReport(context, file, size = { width: 1280, height: 800 }) {
    const page = await context.newPage();
    const problems = [];
    const url = "file://" + file;
    page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) problems.push("console: " + message.text());
    });
    page.on("pageerror", (error) => problems.push("error: " + error.message));
    page.on("dialog", (dialog) => {
        problems.push("dialog: " + dialog.message());
        dialog.dismiss();
    });
    page.on("request", (request) => {
        if (request.url() !== url) problems.push("request: " + request.url().slice(0, 200));
    });
    await page.setViewportSize(size);
    const start = process.hrtime.bigint();
    await page.goto(url);
    await page.waitForFunction(() => document.querySelector("#headline") && (!document.querySelector(".tl-view") || document.querySelector(".tl-view").dataset.from));
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    return { page, problems, openMs: Number(process.hrtime.bigint() - start) / 1e6 };
}

/* Has the program write a file; 3: it found what it looks for. */
function write(file, ...command) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    const made = spawnSync(INQUEST, [...command, "-q", "-o", file], { encoding: "utf8" });
    assert.ok(made.status === 0 || made.status === 3, command.join(" ") + ": " + made.stderr);
    return file;
}

/* Writes the page of a command into the folder of reports; returns its path. */
export const makePage = (name, ...command) => write(path.resolve("reports", name + ".html"), ...command);

/* The page of schedules that are held against the baseline of the first. */
export function makeChecks(name, ...kinds) {
    const folder = path.resolve("input", "schedules");
    const files = kinds.map((kind) => write(path.join(folder, kind + ".csv"), "schedule", "make", "--make", kind, "-p", "4", "-m", "8"));
    const baseline = path.join(folder, "baseline.json");
    makePage(name, "check", files[0], "--baseline", baseline, "--update", "--force");
    return makePage(name, "check", ...files, "--baseline", baseline);
}

export const makeReport = (name, ...input) => makePage(name, "analyze", ...input);

/* A run that 'inquest synth' makes; its folder. */
export function synthRun(spec) {
    const folder = path.resolve("input", spec.replace(/[^a-z0-9]+/g, "-"));
    const made = spawnSync(INQUEST, ["synth", spec, "-o", folder, "-q"], { encoding: "utf8" });
    assert.equal(made.status, 0, spec + ": " + made.stderr);
    return folder;
}

/* The page of a run held against another's baseline. */
export function makeCheck(name, base, ...runs) {
    const baseline = path.resolve("reports", name + ".json");
    makePage(name, "check", base, "--baseline", baseline, "--update", "--force");
    return makePage(name, "check", ...runs, "--baseline", baseline);
}

/* Changes the data of a page. */
export function editReport(file, change) {
    const at = /(<script type="application\/json" id="inq-report">)(.*?)(<\/script>)/s;
    const text = fs.readFileSync(file, "utf8").replace(at, (all, open, json, close) => {
        const report = JSON.parse(json);
        change(report);
        return open + JSON.stringify(report).replace(/</g, "\\u003c") + close;
    });
    fs.writeFileSync(file, text);
    return file;
}

/* The page of 'inquest fix', with the verdicts and speed-ups of `executed` put in the place of what
 * executing the fixes gave here: a machine under load gives others every time. */
export function makeFixes(name, input, executed) {
    const file = makePage(name, "fix", "--validate", "sim", "--top", String(executed.length), input);
    return editReport(file, (report) =>
        executed.forEach(([verdict, speedup], i) => {
            const fix = report.fixes[i];
            fix.verdict = verdict;
            Object.assign(fix.executed, { speedup, speedup_ci95: [speedup - 0.01, speedup + 0.01] });
        })
    );
}

export const sample = (name) => path.join(SOURCE_DIR, "sample-traces", name);

/* A folder of the real traces, or null. */
export function shared(name) {
    const folder = path.join(SHARED, name);
    return fs.existsSync(folder) ? folder : null;
}

/* A sample of which every event was changed. */
function changedRun(folder, from, change) {
    folder = path.resolve("input", folder);
    fs.rmSync(folder, { recursive: true, force: true });
    fs.mkdirSync(folder, { recursive: true });
    for (const name of fs.readdirSync(sample(from)).filter((n) => n.endsWith(".gz"))) {
        const trace = JSON.parse(zlib.gunzipSync(fs.readFileSync(path.join(sample(from), name))));
        trace.traceEvents.forEach(change);
        fs.writeFileSync(path.join(folder, name.replace(".gz", "")), JSON.stringify(trace));
    }
    return folder;
}

/* The straggler sample with hostile kernel names. */
export const hostileRun = () =>
    changedRun("hostile", "slow_gpu_dp8", (event) => {
        if (event.cat === "kernel" && !event.name.startsWith("nccl")) event.name = HOSTILE + event.name;
    });

/* The late host, which writes a checkpoint where it loads data in the sample. */
export const checkpointRun = () =>
    changedRun("checkpoint", "late_host_dp4", (event) => {
        if (event.name.includes("DataLoader")) event.name = "save_checkpoint";
    });

/* A folder with the dumps of four ranks of which the last never enqueued what the others wait in. */
export function failedRun() {
    const folder = path.resolve("input", "failed");
    fs.rmSync(folder, { recursive: true, force: true });
    fs.mkdirSync(folder, { recursive: true });
    const entry = (seq, state, rank) => ({
        frames: [{ name: "step_" + rank, filename: "train.py", line: 40 + seq }],
        record_id: seq, pg_id: 0, process_group: ["0", "default_pg"], collective_seq_id: seq, p2p_seq_id: 0, op_id: seq,
        profiling_name: "nccl:all_reduce", time_created_ns: 1700000000000000000 + seq * 1e6,
        input_sizes: [[1024]], input_dtypes: ["Float"], output_sizes: [[1024]], output_dtypes: ["Float"],
        state, time_discovered_started_ns: null, time_discovered_completed_ns: null, retired: state === "completed", timeout_ms: 600000, is_p2p: false,
    });
    for (let rank = 0; rank < 4; rank++) {
        const entries = [1, 2, 3, 4].map((seq) => entry(seq, "completed", rank));
        if (rank !== 3) entries.push(entry(5, "started", rank));
        const dump = {
            version: "2.9", entries,
            pg_config: { 0: { name: "0", desc: "default_pg", ranks: "[0, 1, 2, 3]" } },
            pg_status: { 0: { last_enqueued_collective: rank === 3 ? 4 : 5, last_started_collective: rank === 3 ? 4 : 5, last_completed_collective: 4 } },
            rank, world_size: 4,
        };
        fs.writeFileSync(path.join(folder, "dump_" + rank + ".json"), JSON.stringify(dump));
    }
    return folder;
}

/* A training log of 400 steps, whose loss is three times as large from step 200 to 214. */
export function trainingLog() {
    const file = path.resolve("input", "train.log");
    const line = (step) => "step " + step + " | loss " + ((4 - step / 200) * (step >= 200 && step < 215 ? 3 : 1)).toFixed(4) + " | grad_norm 1.2\n";
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, Array.from({ length: 400 }, (_, i) => line(i + 1)).join(""));
    return file;
}

/* An op table: one step of `ops` ops on 64 workers of 8 stages and 8 replicas. */
export function manyOps(ops) {
    const folder = path.resolve("input", "many");
    fs.rmSync(folder, { recursive: true, force: true });
    fs.mkdirSync(folder, { recursive: true });
    const lines = ["dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc"];
    const batches = Math.ceil(ops / 64 / 2);
    for (let worker = 0; worker < 64; worker++) {
        const stage = worker % 8;
        const dp = Math.floor(worker / 8);
        for (let mb = 0; mb < batches; mb++) {
            const at = stage * 0.01 + mb * 0.03;
            const slow = worker === 13 ? 1.2 : 1;
            lines.push([dp, stage, worker, 7, "forward-compute", at.toFixed(6), (0.009 * slow).toFixed(6), mb, 0, mb, 0].join(","));
            lines.push([dp, stage, worker, 7, "backward-compute", (at + 0.012).toFixed(6), (0.015 * slow).toFixed(6), mb, 0, mb, 0].join(","));
        }
    }
    fs.writeFileSync(path.join(folder, "trace-many.csv"), lines.join("\n") + "\n");
    return folder;
}
