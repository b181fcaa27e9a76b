/* SPDX-License-Identifier: Apache-2.0 */
/* argv to struct inq_cli, by the option table. */
#include "cli/cli.h"

#include "inquest/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The option table, and looking things up in it ------------------------------------------- */

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
    {INQ_OPT_FIX, 0, "fix", "SPEC", NULL, INQ_COMPLETE_FIXES,
     "this fix: replace-rank:5, rebalance-stages, schedule:zb-h1+microbatches:16; may be given "
     "several times; 'inquest list' names them"},
    {INQ_OPT_VALIDATE, 0, "validate", "ENGINE", "sim|host|cuda", INQ_COMPLETE_CHOICES,
     "execute the original and the best fixes alternately: on CPU threads (host) or GPUs (cuda)"},
    {INQ_OPT_TOP, 0, "top", "N", NULL, INQ_COMPLETE_NONE, "validate the first N fixes (default 3)"},
    {INQ_OPT_METHOD, 0, "method", "METHOD", "inquest|hta|tracelens", INQ_COMPLETE_CHOICES,
     "hta or tracelens: also print that tool's own numbers, by its definitions"},
    {INQ_OPT_ALIGN, 0, "align", "HOW", "auto|none", INQ_COMPLETE_CHOICES,
     "align the hosts' clocks by the ends of matched collectives (auto), or not"},
    {INQ_OPT_REDACT, 0, "redact", NULL, NULL, INQ_COMPLETE_NONE,
     "write tokens for the names of hosts, paths, users, kernels and modules, to share the result"},
    {INQ_OPT_REDACT_KEY, 0, "redact-key", "FILE", NULL, INQ_COMPLETE_FILE,
     "--redact with the secret in FILE, for the same tokens in several results; else a random one"},
    {INQ_OPT_REDACT_MAP, 0, "redact-map", "FILE", NULL, INQ_COMPLETE_FILE,
     "--redact, and write which name became which token into FILE, as CSV, to keep"},
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
     "interleaved, dp: model chunks per rank; seq1f1b: segments of a sequence (default 2)"},
    {INQ_OPT_TIMES, 0, "times", "TIMES", NULL, INQ_COMPLETE_FILE,
     "F,B,W,P2P,REDUCE,UPDATE,UNSHARD,FB: time of forward, input gradient, weight gradient, "
     "transfer, all-reduce, update, all-gather, forward overlapped with backward, in ms or with a "
     "unit, in "
     "this order or by name (18,18,9,FB=30; default 1,1,1); stages that differ are separated by /; "
     "or a file of them, or a recorded run"},
    {INQ_OPT_NO_OVERLAP, 0, "no-overlap", NULL, NULL, INQ_COMPLETE_NONE,
     "dp: all-reduce after the whole backward, not overlapped with it"},
    {INQ_OPT_SIZES, 0, "sizes", "B:F,B,W/...", NULL, INQ_COMPLETE_NONE,
     "search: times of a few micro-batch sizes, 1:2,2,1/4:6,6,3; those between are interpolated"},
    {INQ_OPT_AT, 0, "at", "WHEN", NULL, INQ_COMPLETE_NONE,
     "what every rank does then: 12.5ms, or S3:F1:end (stage 3, forward of micro-batch 1)"},
    {INQ_OPT_COMMS, 0, "comms", NULL, NULL, INQ_COMPLETE_NONE,
     "with the SEND and RECV cells that the schedule implies"},
    {INQ_OPT_GROUPING, 0, "grouping", "HOW", "adjacent|none|step", INQ_COMPLETE_CHOICES,
     "lint: neighboring sends and receives are one group (adjacent), each call blocks (none), or "
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
    {INQ_OPT_STEPS, 0, "steps", "N", NULL, INQ_COMPLETE_NONE,
     "replay: execute the step N times in a row; ingest --reduced: keep N steps whole (default 3)"},
    {INQ_OPT_SCALE, 0, "scale", "X", NULL, INQ_COMPLETE_NONE,
     "multiply all times by X: 0.01 executes in a hundredth of the time"},
    {INQ_OPT_REPEATS, 0, "repeats", "N", NULL, INQ_COMPLETE_NONE,
     "executions after a warm-up (default 5, to validate fixes 9; from 6 on their median has a "
     "95 % interval)"},
    {INQ_OPT_WORK, 0, "work", "KIND", "timed|recorded", INQ_COMPLETE_CHOICES,
     "ops take their times (timed), or do what was recorded (recorded): the default where each "
     "rank "
     "has a GPU to itself"},
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
     "by how much it may get worse (default 3%, less for a stage's or rank's share; nothing where "
     "there is no noise, as in schedules)"},
    {INQ_OPT_RULE, 0, "rule", "NAME=LIMIT", NULL, INQ_COMPLETE_NONE,
     "a limit for one check: 5%, 12.5ms, 0.3 or off; new_findings=high; may be repeated"},
    {INQ_OPT_SAMPLES, 0, "samples", "BASE,NEW", NULL, INQ_COMPLETE_NONE,
     "samples (or tokens) that a step of each run has in all; else inferred from compute"},
    {INQ_OPT_SHARE, 0, "share", "I/N", NULL, INQ_COMPLETE_NONE,
     "read only the I-th of N equal shares of the files, counted from 0: one task's of many"},
    {INQ_OPT_REDUCED, 0, "reduced", NULL, NULL, INQ_COMPLETE_NONE,
     "of most steps only communication and totals: a small part of the size; reports say so"},
    {INQ_OPT_JOBS, 'j', "jobs", "N", NULL, INQ_COMPLETE_NONE,
     "use N threads (default: all cores); the result does not depend on it"},
    {INQ_OPT_COLOR, 0, "color", "WHEN", "auto|always|never", INQ_COMPLETE_CHOICES,
     "colors in text; auto: on a terminal, unless NO_COLOR is set or TERM=dumb"},
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

/* The rows of `mask` with this letter or name (len bytes), or NULL. */
static const struct inq_option *cli_option_letter(char letter, uint64_t mask)
{
    for (size_t i = 0; i < INQ_OPT_COUNT; i++) {
        if ((mask & INQ_OPT_BIT(i)) != 0 && options[i].letter == letter && letter != 0) {
            return &options[i];
        }
    }
    return NULL;
}

/* The rows of `mask` with this letter or name (len bytes), or NULL. */
static const struct inq_option *cli_option_name(const char *name, size_t len, uint64_t mask)
{
    for (size_t i = 0; i < INQ_OPT_COUNT; i++) {
        if ((mask & INQ_OPT_BIT(i)) != 0 && strlen(options[i].name) == len &&
            memcmp(options[i].name, name, len) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

/* ---- The formats that commands write: one row each ------------------------------------------- */

static const struct inq_cli_format formats[] = {
    {INQ_FORMAT_TEXT, "text", "text", {".txt", ".log", ".out"}},
    {INQ_FORMAT_JSON, "json", "JSON", {".json"}},
    {INQ_FORMAT_MARKDOWN, "markdown", "Markdown", {".md", ".markdown"}},
    {INQ_FORMAT_CSV, "csv", "CSV", {".csv"}},
    {INQ_FORMAT_HTML, "html", "HTML", {".html", ".htm"}},
    {INQ_FORMAT_PERFETTO, "perfetto", "Perfetto traces", {".trace.json", ".perfetto"}},
    {INQ_FORMAT_JUNIT, "junit", "JUnit XML", {".xml"}},
    {INQ_FORMAT_GITHUB, "github", "GitHub annotations", {NULL}},
    {INQ_FORMAT_GITLAB, "gitlab", "GitLab code quality", {".codequality.json"}},
    {INQ_FORMAT_SARIF, "sarif", "SARIF", {".sarif"}},
    {INQ_FORMAT_SVG, "svg", "SVG", {".svg"}},
    {INQ_FORMAT_SQLITE, "sqlite", "SQLite", {".sqlite", ".sqlite3", ".db"}},
    {INQ_FORMAT_CHAKRA, "chakra", "Chakra execution traces", {".et"}},
};

_Static_assert(sizeof formats / sizeof *formats == INQ_FORMAT_COUNT, "one row per format");

const struct inq_cli_format *inq_cli_format(enum inq_format format)
{
    return &formats[format];
}

/* The row with this name (-f) or whose suffix ends this path (-o); NULL: none. */
static const struct inq_cli_format *cli_format_named(const char *name)
{
    for (size_t i = 0; i < INQ_FORMAT_COUNT; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}

static bool ends_with(const char *text, size_t len, const char *suffix)
{
    size_t want = strlen(suffix);
    return len >= want && memcmp(text + len - want, suffix, want) == 0;
}

bool inq_cli_is_gzip(const char *path)
{
    return ends_with(path, strlen(path), ".gz");
}

/* The row with this name (-f) or whose suffix ends this path (-o); NULL: none. */
static const struct inq_cli_format *cli_format_of_path(const char *path)
{
    const struct inq_cli_format *found = NULL;
    size_t len = strlen(path) - (inq_cli_is_gzip(path) ? 3 : 0);
    size_t longest = 0;
    for (size_t i = 0; i < INQ_FORMAT_COUNT; i++) {
        for (size_t k = 0; k < 4 && formats[i].suffix[k] != NULL; k++) {
            size_t want = strlen(formats[i].suffix[k]);
            if (want > longest && ends_with(path, len, formats[i].suffix[k])) {
                longest = want;
                found = &formats[i];
            }
        }
    }
    return found;
}

char *inq_cli_format_list(unsigned mask, const char *between, const char *last, char *buf,
                          size_t size)
{
    size_t len = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < INQ_FORMAT_COUNT && len < size; i++) {
        if ((mask & INQ_FORMAT_BIT(i)) == 0) {
            continue;
        }
        mask &= ~INQ_FORMAT_BIT(i);
        const char *joint = len == 0 ? "" : mask == 0 ? last : between;
        int n = snprintf(buf + len, size - len, "%s%s", joint, formats[i].name);
        len += n > 0 ? (size_t)n : 0;
    }
    return buf;
}

enum { MAX_JOBS = 1024, MAX_CHOICES = 32 };

static const uint64_t ALL_OPTIONS = INQ_OPT_BIT(INQ_OPT_COUNT) - 1;

/* One argument that starts with '-', taken apart. */
struct taken {
    const struct inq_option *option;
    const char *value; /* attached value, or NULL */
    const char *rest;  /* further letters of "-qv", or NULL */
};

static struct taken take_long(const char *text, uint64_t mask)
{
    size_t len = strcspn(text, "=");
    struct taken taken = {.option = cli_option_name(text, len, mask)};
    taken.value = text[len] == '=' ? text + len + 1 : NULL;
    return taken;
}

static struct taken take_letter(const char *text, uint64_t mask)
{
    struct taken taken = {.option = cli_option_letter(text[0], mask)};
    const char *rest = text[1] != '\0' ? text + 1 : NULL;
    if (taken.option != NULL && taken.option->arg != NULL) {
        taken.value = rest;
    } else {
        taken.rest = rest;
    }
    return taken;
}

static bool is_option(const char *arg)
{
    return arg[0] == '-' && arg[1] != '\0';
}

static struct taken take(const char *arg, uint64_t mask)
{
    return arg[1] == '-' ? take_long(arg + 2, mask) : take_letter(arg + 1, mask);
}

/* ---- which command, and whether errors are to be JSON ---------------------------------------- */

/* Whether argv[i] takes the next argument as its value, whatever the command. */
static bool eats_next(const char *arg)
{
    struct taken taken = take(arg, ALL_OPTIONS);
    while (taken.option != NULL && taken.option->arg == NULL && taken.rest != NULL) {
        taken = take_letter(taken.rest, ALL_OPTIONS);
    }
    return taken.option != NULL && taken.option->arg != NULL && taken.value == NULL;
}

/* The index of the first word, or argc. */
static int first_word(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            return argc;
        }
        if (!is_option(argv[i])) {
            return i;
        }
        i += eats_next(argv[i]);
    }
    return argc;
}

/* Looked for before anything is parsed, so that wrong usage can be told in JSON too. */
static bool wants_json(int argc, char **argv)
{
    bool by_suffix = false;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (!is_option(argv[i])) {
            continue;
        }
        struct taken taken = take(argv[i], ALL_OPTIONS);
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        const char *value = taken.value != NULL ? taken.value : next;
        if (taken.option != NULL) {
            if (taken.option->letter == 'f') {
                return strcmp(value, "json") == 0;
            }
            const struct inq_cli_format *format =
                taken.option->letter == 'o' ? cli_format_of_path(value) : NULL;
            by_suffix |= format != NULL && format->format == INQ_FORMAT_JSON;
        }
        i += eats_next(argv[i]);
    }
    return by_suffix;
}

static const char *nearest_command(const char *word)
{
    const char *names[32];
    size_t n = 0;
    for (const struct inq_command *c = inq_commands; c->name != NULL && n < 32; c++) {
        names[n++] = c->name;
    }
    return inq_cli_nearest(word, names, n);
}

/* Sets the command; *skip gets the index of its word in argv, or 0 when a bare PATH means analyze.
 */
static int choose_command(int argc, char **argv, struct inq_cli *cli, int *skip)
{
    int at = first_word(argc, argv);
    *skip = 0;
    cli->command = &inq_commands[0];
    cli->bare = true;
    if (at == argc) {
        return INQ_EXIT_OK;
    }
    const struct inq_command *found = inq_command_find(argv[at]);
    if (found != NULL) {
        cli->command = found;
        cli->bare = false;
        *skip = at;
        return INQ_EXIT_OK;
    }
    if (strchr(argv[at], '/') != NULL || access(argv[at], F_OK) == 0) {
        return INQ_EXIT_OK;
    }
    const char *nearest = nearest_command(argv[at]);
    if (nearest != NULL) {
        char hint[128];
        (void)snprintf(hint, sizeof hint, "did you mean 'inquest %s'?", nearest);
        return inq_cli_usage(cli, hint, "no command and no file is called '%s'", argv[at]);
    }
    return inq_cli_usage(cli, "'inquest help' lists the commands",
                         "no command and no file is called '%s'", argv[at]);
}

/* ---- options --------------------------------------------------------------------------------- */

/* The number of `value` among "a|b|c", or -1. `words` gets the choices, cut apart in `buf`. */
static int find_choice(const char *choices, const char *value, char *buf, size_t size,
                       const char **words, size_t *n)
{
    int found = -1;
    (void)snprintf(buf, size, "%s", choices);
    *n = 0;
    char *save = NULL;
    for (char *word = strtok_r(buf, "|", &save); word != NULL && *n < MAX_CHOICES;
         word = strtok_r(NULL, "|", &save)) {
        if (strcmp(word, value) == 0) {
            found = (int)*n;
        }
        words[(*n)++] = word;
    }
    return found;
}

static int set_choice(struct inq_cli *cli, const struct inq_option *option, const char *value)
{
    char buf[256];
    const char *words[MAX_CHOICES];
    size_t n;
    int choice = find_choice(option->choices, value, buf, sizeof buf, words, &n);
    if (choice >= 0) {
        cli->choice[option->id] = choice;
        return INQ_EXIT_OK;
    }
    const char *nearest = inq_cli_nearest(value, words, n);
    char hint[256];
    if (nearest != NULL) {
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    } else {
        (void)snprintf(hint, sizeof hint, "it is one of %s", option->choices);
    }
    return inq_cli_usage(cli, hint, "--%s cannot be '%s'", option->name, value);
}

static int set_jobs(struct inq_cli *cli, const char *value)
{
    char *end = NULL;
    errno = 0;
    long jobs = strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || jobs < 1 || jobs > MAX_JOBS) {
        return inq_cli_usage(cli, "a number of threads from 1 to 1024", "-j cannot be '%s'", value);
    }
    cli->jobs = (int)jobs;
    return INQ_EXIT_OK;
}

static int set_option(struct inq_cli *cli, const struct inq_option *option, const char *value)
{
    cli->given[option->id] = true;
    cli->value[option->id] = value;
    cli->said[cli->n_said++] = (struct inq_said){option->id, value};
    if (value == NULL) {
        return INQ_EXIT_OK; /* a flag */
    }
    if (option->choices != NULL) {
        return set_choice(cli, option, value);
    }
    if (option->id == INQ_OPT_JOBS) {
        return set_jobs(cli, value);
    }
    if (value[0] == '\0') {
        return inq_cli_usage(cli, NULL, "--%s needs a value", option->name);
    }
    return INQ_EXIT_OK;
}

/* An option ("--name" or "-x") that no row of the command's mask has: does another command take it,
 * is one alike? */
static int unknown_option(const struct inq_cli *cli, const char *word)
{
    if (take(word, ALL_OPTIONS).option != NULL) {
        return inq_cli_usage(cli, NULL, "'inquest %s' takes no %s", cli->command->name, word);
    }
    char names[INQ_OPT_COUNT][32];
    const char *list[INQ_OPT_COUNT];
    size_t n = 0;
    for (size_t i = 0; i < INQ_OPT_COUNT; i++) {
        if ((cli->command->options & INQ_OPT_BIT(i)) != 0) {
            (void)snprintf(names[n], sizeof names[n], "--%s",
                           inq_cli_option((enum inq_option_id)i)->name);
            list[n] = names[n];
            n++;
        }
    }
    const char *nearest = word[1] == '-' ? inq_cli_nearest(word, list, n) : NULL;
    char hint[96];
    if (nearest != NULL) {
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    }
    return inq_cli_usage(cli, nearest != NULL ? hint : NULL, "unknown option '%s'", word);
}

/* Handles argv[*i], which starts with '-', and its value. */
static int parse_option(struct inq_cli *cli, char **argv, int *i)
{
    const char *arg = argv[*i];
    struct taken taken = take(arg, cli->command->options);
    char word[64];
    (void)snprintf(word, sizeof word, "%.*s", arg[1] == '-' ? (int)strcspn(arg, "=") : 2, arg);
    for (;;) {
        if (taken.option == NULL) {
            return unknown_option(cli, word);
        }
        if (taken.option->arg == NULL && taken.value != NULL) {
            return inq_cli_usage(cli, NULL, "--%s takes no value", taken.option->name);
        }
        if (taken.option->arg != NULL && taken.value == NULL) {
            taken.value = argv[++*i];
        }
        if (taken.option->arg != NULL && taken.value == NULL) {
            return inq_cli_usage(cli, NULL, "%s needs a value (%s)", arg, taken.option->arg);
        }
        int status = set_option(cli, taken.option, taken.value);
        if (status != INQ_EXIT_OK || taken.rest == NULL) {
            return status;
        }
        (void)snprintf(word, sizeof word, "-%c", taken.rest[0]);
        taken = take_letter(taken.rest, cli->command->options);
    }
}

/* ---- the format: said, or by the suffix of the output file ----------------------------------- */

/* Why a format that inquest knows is not offered here; "" when it is another command's. */
static const char *not_built(enum inq_format format)
{
#ifndef INQ_HAVE_HTML
    if (format == INQ_FORMAT_HTML) {
        return "; HTML needs D3, which was not there at build time";
    }
#endif
#ifndef INQ_HAVE_SQLITE
    if (format == INQ_FORMAT_SQLITE) {
        return "; SQLite was not there at build time";
    }
#endif
    (void)format;
    return "";
}

static int set_format(struct inq_cli *cli, const char *name)
{
    const struct inq_cli_format *format = cli_format_named(name);
    unsigned mask = cli->command->formats;
    if (format != NULL && (mask & INQ_FORMAT_BIT(format->format)) != 0) {
        cli->format = format->format;
        return INQ_EXIT_OK;
    }
    const char *names[INQ_FORMAT_COUNT];
    size_t n = 0;
    for (unsigned i = 0; i < INQ_FORMAT_COUNT; i++) {
        if ((mask & INQ_FORMAT_BIT(i)) != 0) {
            names[n++] = inq_cli_format((enum inq_format)i)->name;
        }
    }
    const char *nearest = inq_cli_nearest(name, names, n);
    char list[96];
    char hint[160];
    if (nearest != NULL) {
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    } else {
        (void)snprintf(hint, sizeof hint, "it is one of %s%s",
                       inq_cli_format_list(mask, "|", "|", list, sizeof list),
                       format != NULL ? not_built(format->format) : "");
    }
    return inq_cli_usage(cli, hint, "--format cannot be '%s'", name);
}

static int format_by_suffix(struct inq_cli *cli, const char *path)
{
    const struct inq_cli_format *format = cli_format_of_path(path);
    char hint[160];
    char list[96];
    (void)inq_cli_format_list(cli->command->formats, ", ", " or ", list, sizeof list);
    if (format == NULL) {
        const char *slash = strrchr(path, '/');
        const char *dot = strrchr(slash != NULL ? slash + 1 : path, '.');
        if (dot == NULL) {
            return INQ_EXIT_OK;
        }
        (void)snprintf(hint, sizeof hint, "say it with -f: %s", list);
        return inq_cli_usage(cli, hint, "no format goes with the suffix '%s'", dot);
    }
    if ((cli->command->formats & INQ_FORMAT_BIT(format->format)) == 0) {
        (void)snprintf(hint, sizeof hint, "it writes %s%s", list, not_built(format->format));
        return inq_cli_usage(cli, hint, "'inquest %s' does not write %s", cli->command->name,
                             format->what);
    }
    cli->format = format->format;
    return INQ_EXIT_OK;
}

static int choose_format(struct inq_cli *cli)
{
    const char *path = cli->value[INQ_OPT_OUTPUT];
    if (cli->given[INQ_OPT_FORMAT]) {
        return set_format(cli, cli->value[INQ_OPT_FORMAT]);
    }
    return path != NULL && strcmp(path, "-") != 0 ? format_by_suffix(cli, path) : INQ_EXIT_OK;
}

int inq_cli_parse(int argc, char **argv, struct inq_cli *cli)
{
    *cli = (struct inq_cli){.json_errors = wants_json(argc, argv)};
    size_t letters = 1; /* every letter of "-qv" may be an option */
    for (int i = 1; i < argc; i++) {
        letters += strlen(argv[i]);
    }
    cli->words = inq_mem_zalloc((size_t)argc + 1, sizeof *cli->words);
    cli->said = inq_mem_zalloc(letters, sizeof *cli->said);
    cli->inputs = inq_mem_zalloc(1, sizeof *cli->inputs);
    if (cli->words == NULL || cli->said == NULL || cli->inputs == NULL) {
        struct inq_err err = {0};
        (void)inq_err_set(&err, INQ_NOMEM, "no memory for the arguments");
        return inq_cli_fail(cli, &err, NULL);
    }
    int skip;
    int status = choose_command(argc, argv, cli, &skip);
    bool may_be_option = true;
    for (int i = 1; i < argc && status == INQ_EXIT_OK; i++) {
        if (i == skip) {
            continue;
        }
        if (may_be_option && strcmp(argv[i], "--") == 0) {
            may_be_option = false;
        } else if (may_be_option && is_option(argv[i])) {
            status = parse_option(cli, argv, &i);
        } else {
            cli->words[cli->n_words++] = argv[i];
        }
    }
    return status == INQ_EXIT_OK ? choose_format(cli) : status;
}

void inq_cli_release(struct inq_cli *cli)
{
    inq_mem_free(cli->words);
    inq_mem_free(cli->said);
    if (cli->inputs != NULL) {
        inq_mem_free(cli->inputs->files);
    }
    inq_mem_free(cli->inputs);
    cli->inputs = NULL;
    cli->words = NULL;
    cli->said = NULL;
}

const char *inq_cli_next_value(const struct inq_cli *cli, enum inq_option_id id, size_t *at)
{
    while (*at < cli->n_said) {
        const struct inq_said *said = &cli->said[(*at)++];
        if (said->id == id) {
            return said->value;
        }
    }
    return NULL;
}
