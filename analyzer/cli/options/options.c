/* SPDX-License-Identifier: Apache-2.0 */
/* The option table, and looking things up in it. */
#include "cli/cli.h"

#include <string.h>

static const struct inq_option options[] = {
    {INQ_OPT_FORMAT, 'f', "format", "FORMAT", NULL, INQ_COMPLETE_FORMATS,
     "(default: by the suffix of -o, else text)"},
    {INQ_OPT_OUTPUT, 'o', "output", "FILE", NULL, INQ_COMPLETE_FILE,
     "write the result to FILE, which appears only when complete; .gz compresses; - is stdout"},
    {INQ_OPT_FOLDER, 'o', "output", "DIR", NULL, INQ_COMPLETE_FILE,
     "write the files into DIR, which is made if need be"},
    {INQ_OPT_RANK, 'r', "rank", "LIST", NULL, INQ_COMPLETE_NONE,
     "show only the rows and findings of these ranks: 0-7,12; all ranks are still analyzed"},
    {INQ_OPT_STEP, 's', "step", "A..B", NULL, INQ_COMPLETE_NONE,
     "analyze only these steps: 10..20 or 12"},
    {INQ_OPT_JOB, 0, "job", "N", NULL, INQ_COMPLETE_NONE,
     "of several jobs this one, numbered as 'inquest info' lists them"},
    {INQ_OPT_TIME, 0, "time", "A~B", NULL, INQ_COMPLETE_NONE,
     "analyze only this time, counted from the first event as in reports: 1.2s~1.4s"},
    {INQ_OPT_ONLY, 0, "only", "NAME,...", NULL, INQ_COMPLETE_ANALYSES,
     "show only these analyses; 'inquest list' names them"},
    {INQ_OPT_TABLE, 0, "table", "NAME", NULL, INQ_COMPLETE_TABLES,
     "write this table as CSV; list: all tables and their columns"},
    {INQ_OPT_WHAT_IF, 0, "what-if", "QUESTION", NULL, INQ_COMPLETE_NONE,
     "simulate the step with other durations: rank=5:speed=1.0, type=p2p:factor=0.5, stage=3:fix, "
     "dp=0:keep; may be given several times"},
    {INQ_OPT_FIX, 0, "fix", "SPEC", NULL, INQ_COMPLETE_NONE,
     "this fix: replace-rank:5, rebalance-stages, schedule:zb-h1+microbatches:16; may be given "
     "several times; 'inquest list' names them"},
    {INQ_OPT_VALIDATE, 0, "validate", "ENGINE", "sim|host|cuda", INQ_COMPLETE_CHOICES,
     "execute the original and the best fixes alternately: on CPU threads (host) or GPUs (cuda)"},
    {INQ_OPT_TOP, 0, "top", "N", NULL, INQ_COMPLETE_NONE, "validate the first N fixes (default 3)"},
    {INQ_OPT_METHOD, 0, "method", "METHOD", "inquest|hta|tracelens", INQ_COMPLETE_CHOICES,
     "hta or tracelens: also print that tool's own numbers, by its definitions"},
    {INQ_OPT_ALIGN, 0, "align", "HOW", "auto|none", INQ_COMPLETE_CHOICES,
     "align the hosts' clocks by the ends of matched collectives (auto), or not"},
    {INQ_OPT_FAIL_ON, 0, "fail-on", "SEVERITY", "info|low|medium|high", INQ_COMPLETE_CHOICES,
     "exit 3 when a finding is of this severity or above"},
    {INQ_OPT_MAKE, 0, "make", "KIND",
     "gpipe|1f1b|interleaved|looped-bfs|interleaved-zb|seq1f1b|zb-h1|zb-h2|zb-1p|zb-2p|zb-v|v-half|"
     "v-min|dualpipe|dualpipev|chimera|"
     "dp",
     INQ_COMPLETE_CHOICES, "make this schedule instead of reading a file"},
    {INQ_OPT_STAGES, 'p', "stages", "P", NULL, INQ_COMPLETE_NONE, "ranks of the pipeline"},
    {INQ_OPT_MICROBATCHES, 'm', "microbatches", "M", NULL, INQ_COMPLETE_NONE,
     "micro-batches per step"},
    {INQ_OPT_CHUNKS, 0, "chunks", "V", NULL, INQ_COMPLETE_NONE,
     "interleaved, dp: model chunks per rank (default 2)"},
    {INQ_OPT_TIMES, 0, "times", "TIMES", NULL, INQ_COMPLETE_FILE,
     "F,B,W,P2P,REDUCE,UPDATE,UNSHARD,FB: time of forward, input gradient, weight gradient, "
     "transfer, all-reduce, update, all-gather, forward beside backward, in ms or with a unit, in "
     "this order or by name (18,18,9,FB=30; default 1,1,1); stages that differ are separated by /; "
     "or a file of them, or a recorded run"},
    {INQ_OPT_NO_OVERLAP, 0, "no-overlap", NULL, NULL, INQ_COMPLETE_NONE,
     "dp: all-reduce behind the whole backward, not beside it"},
    {INQ_OPT_SIZES, 0, "sizes", "B:F,B,W/...", NULL, INQ_COMPLETE_NONE,
     "search: times of a few micro-batch sizes, 1:2,2,1/4:6,6,3; those between are interpolated"},
    {INQ_OPT_AT, 0, "at", "WHEN", NULL, INQ_COMPLETE_NONE,
     "what every rank does then: 12.5ms, or S3:F1:end (stage 3, forward of micro-batch 1)"},
    {INQ_OPT_COMMS, 0, "comms", NULL, NULL, INQ_COMPLETE_NONE,
     "with the SEND and RECV cells that the schedule implies"},
    {INQ_OPT_GROUPING, 0, "grouping", "HOW", "adjacent|none|step", INQ_COMPLETE_CHOICES,
     "lint: neighbouring sends and receives are one group (adjacent), each call blocks (none), or "
     "one batch follows each cell (step)"},
    {INQ_OPT_MEMORY, 0, "memory", "F,B,W", NULL, INQ_COMPLETE_NONE,
     "activation memory that a micro-batch holds after its F, its B (input gradient) and its W, "
     "34MiB,8MiB,0, or how each op changes it, 34,-26,-8; stages that differ are separated by /; "
     "or a file of them (default 1,1,0)"},
    {INQ_OPT_MEMORY_LIMIT, 0, "memory-limit", "N", NULL, INQ_COMPLETE_NONE,
     "most that a rank may hold, in activations or as --memory tells: 8, 40GiB"},
    {INQ_OPT_DIALECT, 0, "dialect", "YEAR", "auto|2024|current", INQ_COMPLETE_CHOICES,
     "what B means in the file: 2024 input gradient (full is BW), current full backward"},
    {INQ_OPT_TO, 0, "to", "YEAR", "current|2024", INQ_COMPLETE_CHOICES,
     "make, convert: write the letters of this dialect: current (I, and B in full) or 2024 (B, and "
     "BW in full)"},
    {INQ_OPT_ENGINE, 0, "engine", "ENGINE", "sim|host|cuda", INQ_COMPLETE_CHOICES,
     "what executes: CPU threads on real clocks (host, the default), GPUs, or only the simulator"},
    {INQ_OPT_STEPS, 0, "steps", "N", NULL, INQ_COMPLETE_NONE, "execute the step N times in a row"},
    {INQ_OPT_SCALE, 0, "scale", "X", NULL, INQ_COMPLETE_NONE,
     "multiply all times by X: 0.01 executes in a hundredth of the time"},
    {INQ_OPT_REPEATS, 0, "repeats", "N", NULL, INQ_COMPLETE_NONE,
     "executions after a warm-up (default 5, to validate fixes 9; from 6 on their median has a "
     "95 % interval)"},
    {INQ_OPT_WORK, 0, "work", "KIND", "timed|recorded", INQ_COMPLETE_CHOICES,
     "cuda: kernels that take the recorded time (timed), or matrix products, copies and "
     "reductions (real)"},
    {INQ_OPT_NO_GRAPH, 0, "no-graph", NULL, NULL, INQ_COMPLETE_NONE,
     "cuda: streams and events instead of a CUDA graph"},
    {INQ_OPT_REALTIME, 0, "realtime", NULL, NULL, INQ_COMPLETE_NONE,
     "host: threads of real-time priority (if the system allows it), for exact times on a busy "
     "machine"},
    {INQ_OPT_BASELINE, 0, "baseline", "FILE", NULL, INQ_COMPLETE_FILE,
     "what to compare with: check: as --update wrote it, or a folder with one for each; schedule "
     "lint: a schedule"},
    {INQ_OPT_UPDATE, 0, "update", NULL, NULL, INQ_COMPLETE_NONE,
     "write the baseline instead of comparing; its rules stay"},
    {INQ_OPT_FORCE, 0, "force", NULL, NULL, INQ_COMPLETE_NONE,
     "--update even from a run with findings, damage or missing ranks"},
    {INQ_OPT_ADD, 0, "add", NULL, NULL, INQ_COMPLETE_NONE,
     "--update adds runs to the baseline, each path one: the spread between runs is measured"},
    {INQ_OPT_TOLERANCE, 0, "tolerance", "PERCENT", NULL, INQ_COMPLETE_NONE,
     "by how much it may get worse (default 3%; nothing where there is no noise, as in schedules)"},
    {INQ_OPT_RULE, 0, "rule", "NAME=LIMIT", NULL, INQ_COMPLETE_NONE,
     "a limit for one check: 5%, 12.5ms, 0.3 or off; new_findings=high; may be repeated"},
    {INQ_OPT_SAMPLES, 0, "samples", "BASE,NEW", NULL, INQ_COMPLETE_NONE,
     "samples (or tokens) that a step of each run has in all; else inferred from compute"},
    {INQ_OPT_JOBS, 'j', "jobs", "N", NULL, INQ_COMPLETE_NONE,
     "use N threads (default: all cores); the result does not depend on it"},
    {INQ_OPT_COLOR, 0, "color", "WHEN", "auto|always|never", INQ_COMPLETE_CHOICES,
     "colours in text; auto: on a terminal, unless NO_COLOR is set or TERM=dumb"},
    {INQ_OPT_NO_PAGER, 0, "no-pager", NULL, NULL, INQ_COMPLETE_NONE,
     "do not page long text on a terminal ($INQ_PAGER, $PAGER, less)"},
    {INQ_OPT_PROGRESS, 0, "progress", "WHEN", "auto|never|always", INQ_COMPLETE_CHOICES,
     "progress line on stderr; auto: on a terminal"},
    {INQ_OPT_QUIET, 'q', "quiet", NULL, NULL, INQ_COMPLETE_NONE,
     "no progress and no notes on stderr, only errors"},
    {INQ_OPT_VERBOSE, 'v', "verbose", NULL, NULL, INQ_COMPLETE_NONE,
     "all tables with all their rows"},
    {INQ_OPT_HELP, 'h', "help", NULL, NULL, INQ_COMPLETE_NONE, "print this help"},
    {INQ_OPT_VERSION, 0, "version", NULL, NULL, INQ_COMPLETE_NONE,
     "print the version and the features built in"},
};

_Static_assert(sizeof options / sizeof *options == INQ_OPT_COUNT, "one row per option");

const struct inq_option *inq_cli_option(enum inq_option_id id)
{
    return &options[id];
}

const struct inq_option *inq_cli_option_letter(char letter, uint64_t mask)
{
    for (size_t i = 0; i < INQ_OPT_COUNT; i++) {
        if ((mask & INQ_OPT_BIT(i)) != 0 && options[i].letter == letter && letter != 0) {
            return &options[i];
        }
    }
    return NULL;
}

const struct inq_option *inq_cli_option_name(const char *name, size_t len, uint64_t mask)
{
    for (size_t i = 0; i < INQ_OPT_COUNT; i++) {
        if ((mask & INQ_OPT_BIT(i)) != 0 && strlen(options[i].name) == len &&
            memcmp(options[i].name, name, len) == 0) {
            return &options[i];
        }
    }
    return NULL;
}
