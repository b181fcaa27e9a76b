/* SPDX-License-Identifier: Apache-2.0 */
/* Where a schedule comes from: a CSV file, a generator, and the times that it is given. */
#include "cli/commands/schedule/schedule.h"
#include "inquest/memory.h"
#include "inquest/time.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* The schedule of a recorded run, as the command line names the run and the step. */

/* False: --step is no number. */
static bool choose_step(const struct inq_cli *cli, struct inq_recorded_step *which)
{
    const char *at = cli->value[INQ_OPT_AT];
    const char *step = cli->value[INQ_OPT_STEP];
    char *end = NULL;
    *which = (struct inq_recorded_step){.by = INQ_STEP_MEDIAN};
    if (at != NULL && inq_time_parse(at, 1000000, &which->value)) {
        which->by = INQ_STEP_AT;
    } else if (step != NULL) {
        which->by = INQ_STEP_NUMBER;
        which->value = strtoll(step, &end, 10);
    }
    return end == NULL || (end != step && *end == '\0');
}

static int take_trace(const struct inq_trace *trace, const struct inq_recorded_step *which,
                      struct inq_schedule_work *work, bool *found, struct inq_err *err)
{
    struct inq_recorded_schedule recorded = {0};
    int code = inq_recorded_schedule_of(trace, which, &recorded, found, err);
    work->schedule = recorded.schedule;
    work->recorded = recorded.timing;
    work->times.recorded = recorded.costs;
    work->times.costs = recorded.costs.costs;
    work->has_at = which->by == INQ_STEP_AT;
    work->at_ns = recorded.at_ns;
    return code;
}

/* Of one job, or of the first that has a pipeline. */
static int take_run(const struct inq_cli *cli, const struct inq_run *run,
                    struct inq_schedule_work *work)
{
    struct inq_recorded_step which;
    struct inq_trace *one = NULL;
    struct inq_err err = {0};
    bool found = false;
    if (!choose_step(cli, &which)) {
        return inq_cli_usage(cli, "for example --step 5; 'inquest info' lists the steps",
                             "--step takes the number of one step here, not '%s'",
                             cli->value[INQ_OPT_STEP]);
    }
    int code = INQ_OK;
    int status = cli->given[INQ_OPT_JOB] || run->n_traces == 0
                     ? inq_cli_one_job(cli, cli->words[1], run, &one)
                     : INQ_EXIT_OK;
    for (size_t i = 0; status == INQ_EXIT_OK && code == INQ_OK && !found && i < run->n_traces;
         i++) {
        if (one == NULL || one == run->traces[i]) {
            code = take_trace(run->traces[i], &which, work, &found, &err);
        }
    }
    if (status == INQ_EXIT_OK && code == INQ_OK && !found) {
        code = inq_err_set(&err, INQ_NOT_FOUND,
                           "no pipeline is recognized in it: no two steps or replicas agree on "
                           "the forwards and backwards of a step");
    }
    return code == INQ_OK ? status
                          : inq_cli_fail(cli, &err, "'inquest analyze' says what there is");
}

/* The schedule and the times of a step of the recorded run that the words behind the verb name. */
static int work_record(struct inq_cli *cli, struct inq_schedule_work *work)
{
    struct inq_cli behind_verb = *cli;
    struct inq_run *run = NULL;
    behind_verb.words++;
    behind_verb.n_words--;
    int status = inq_cli_ingest(&behind_verb, &run);
    if (status == INQ_EXIT_OK) {
        status = take_run(cli, run, work);
    }
    inq_run_free(run);
    return status;
}

/* --times: what the ops of a schedule take, told as numbers, in a file, or by a recorded run. */

static const size_t MAX_FILE = (size_t)16 << 20;

/* In the order in which they are told; the first four are of each stage, the transfer to the next
 * one among them. */
static const char *const names[] = {"F", "B", "W", "P2P", "REDUCE", "UPDATE", "UNSHARD", "FB"};
enum { FIELDS = sizeof names / sizeof *names, STAGE_FIELDS = 4 };

/* One set of fields, in ns. */
struct fields {
    int64_t ns[FIELDS];
};

/* Reads --times (without it all take 1 ms) and --memory; returns an exit status, having said what
 * is wrong. Release it either way. */
static void times_release(struct inq_times *times)
{
    inq_mem_free(times->stages);
    inq_mem_free(times->p2p_ns);
    inq_mem_free(times->memory);
    inq_recorded_costs_release(&times->recorded);
    *times = (struct inq_times){0};
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The field that "NAME=" begins, and where its value does; -1: it has no name. */
static int named(const char *text, size_t len, const char **value)
{
    for (int i = 0; i < FIELDS; i++) {
        size_t n = strlen(names[i]);
        if (len > n && text[n] == '=' && strncasecmp(text, names[i], n) == 0) {
            *value = text + n + 1;
            return i;
        }
    }
    return -1;
}

/* "18,18,9,FB=30" of `len` bytes: in order, or by name; what is left out stays. */
static bool read_set(const char *text, size_t len, struct fields *fields, int most)
{
    const int64_t ms = 1000000;
    const char *end = text + len;
    for (int place = 0; text < end; place++) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        size_t n = (size_t)((comma != NULL ? comma : end) - text);
        const char *value = text;
        int field = named(text, n, &value);
        char one[64];
        size_t left = n - (size_t)(value - text);
        field = field < 0 ? place : field;
        (void)snprintf(one, sizeof one, "%.*s", left < sizeof one ? (int)left : 63, value);
        if (field >= most || left >= sizeof one || !inq_time_parse(one, ms, &fields->ns[field]) ||
            fields->ns[field] < 0) {
            return false;
        }
        text += n + (comma != NULL);
    }
    return len > 0;
}

static int add_stage(struct inq_times *times, size_t *cap, const struct fields *f,
                     struct inq_err *err)
{
    enum { MOST = 1 << 20 };
    size_t room = *cap;
    int code = inq_mem_grow(&times->p2p_ns, &room, times->n + 1, sizeof *times->p2p_ns, MOST, err);
    if (code == INQ_OK) {
        code = inq_mem_grow(&times->stages, cap, times->n + 1, sizeof *times->stages, MOST, err);
    }
    if (code == INQ_OK) {
        times->p2p_ns[times->n] = f->ns[3];
        times->stages[times->n++] = (struct inq_stage_cost){f->ns[0], f->ns[1], f->ns[2]};
    }
    return code;
}

/* Sets that are separated by '/'; the first has all fields, the others those of a stage. INQ_FORMAT
 * when it is none. */
static int read_sets(const char *text, struct inq_times *times, struct inq_err *err)
{
    const int64_t ms = 1000000;
    struct fields f = {.ns = {ms, ms, ms}};
    size_t cap = 0;
    int code = INQ_OK;
    for (const char *at = text; code == INQ_OK;) {
        size_t len = strcspn(at, "/");
        int most = times->n == 0 ? FIELDS : STAGE_FIELDS;
        code = read_set(at, len, &f, most)
                   ? add_stage(times, &cap, &f, err)
                   : inq_err_set(err, INQ_FORMAT, "'%.*s' is no F,B,W%s", len < 60 ? (int)len : 60,
                                 at, most == FIELDS ? ",P2P,REDUCE,UPDATE,UNSHARD,FB" : "");
        if (at[len] == '\0') {
            break;
        }
        at += len + 1;
    }
    times->costs = (struct inq_costs){.stage = {f.ns[0], f.ns[1], f.ns[2]},
                                      .p2p_ns = f.ns[3],
                                      .reduce_ns = f.ns[4],
                                      .update_ns = f.ns[5],
                                      .unshard_ns = f.ns[6],
                                      .overlap_ns = f.ns[7]};
    if (code == INQ_OK) {
        times->costs.stage = times->stages[0];
        times->costs.p2p_ns = times->p2p_ns[0];
    }
    return code;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Whether amounts of memory that are not 0 have units. */
struct units {
    bool bytes, bare;
};

/* "34,-26,-8": what each op adds; or, with none negative, "34,8,0": what is held after each. */
static bool read_memory(const char *text, size_t len, struct inq_stage_memory *memory,
                        struct units *units)
{
    double told[3] = {0.0, 0.0, 0.0};
    bool has_unit = false;
    const char *end = text + len;
    for (int i = 0; i < 3; i++) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        const char *stop = i < 2 ? comma : end;
        if (stop == NULL || (i == 2 && comma != NULL) ||
            !inq_cli_size(text, (size_t)(stop - text), &told[i], &has_unit)) {
            return false;
        }
        units->bytes = units->bytes || (has_unit && told[i] != 0.0);
        units->bare = units->bare || (!has_unit && told[i] != 0.0);
        text = stop + (i < 2);
    }
    bool changes = told[0] < 0.0 || told[1] < 0.0 || told[2] < 0.0;
    *memory = changes ? (struct inq_stage_memory){told[0], told[1], told[2]}
                      : (struct inq_stage_memory){told[0], told[1] - told[0], told[2] - told[1]};
    return memory->f > 0.0 && memory->f + memory->b + memory->w <= 1e-9 * memory->f;
}

static int read_memories(const char *text, struct inq_times *times, struct units *units,
                         struct inq_err *err)
{
    size_t cap = 0;
    int code = INQ_OK;
    for (const char *at = text; code == INQ_OK;) {
        struct inq_stage_memory memory;
        size_t len = strcspn(at, "/");
        code = read_memory(at, len, &memory, units)
                   ? inq_mem_grow(&times->memory, &cap, times->n_memory + 1, sizeof *times->memory,
                                  1 << 20, err)
                   : inq_err_set(err, INQ_FORMAT, "'%.*s'", len < 60 ? (int)len : 60, at);
        if (code == INQ_OK) {
            times->memory[times->n_memory++] = memory;
        }
        if (at[len] == '\0') {
            break;
        }
        at += len + 1;
    }
    return code;
}

static void join_lines(char *text);

static int take_memory(const struct inq_cli *cli, struct inq_times *times)
{
    const char *told = cli->value[INQ_OPT_MEMORY];
    struct inq_err err = {0};
    char *text = NULL;
    size_t len = 0;
    struct units units = {0};
    if (told == NULL) {
        return INQ_EXIT_OK;
    }
    int code = read_memories(told, times, &units, &err);
    if (code == INQ_FORMAT && inq_cli_read_file(told, MAX_FILE, &text, &len, &err) == INQ_OK) {
        join_lines(text);
        times->n_memory = 0;
        inq_mem_free(times->memory);
        times->memory = NULL;
        units = (struct units){0};
        code = read_memories(text, times, &units, &err);
    }
    inq_mem_free(text);
    if (code == INQ_NOMEM || code == INQ_LIMIT) {
        return inq_cli_fail(cli, &err, NULL);
    }
    if (code != INQ_OK) {
        return inq_cli_usage(cli,
                             "for example --memory 34MiB,8MiB,0 (held after F, B and W), or "
                             "--memory 34,-26,-8 (what each op adds)",
                             "--memory takes F,B,W of a stage, sets of them separated by /, or a "
                             "file of them, not '%s'; what F takes its B and W free",
                             told);
    }
    if (units.bytes && units.bare) {
        return inq_cli_usage(cli, "for example --memory 34MiB,8MiB,0",
                             "--memory '%s' has amounts with a unit and without one", told);
    }
    times->costs.memory_unit = units.bytes ? INQ_MEMORY_BYTES : INQ_MEMORY_TOLD;
    times->costs.memory_f = times->memory[0].f;
    times->costs.memory_b = times->memory[0].b;
    times->costs.memory_w = times->memory[0].w;
    return INQ_EXIT_OK;
}

/* A limit in bytes says nothing of activations whose size is not known, and the other way round. */
static int check_limit(const struct inq_cli *cli, const struct inq_times *times)
{
    const char *limit = cli->value[INQ_OPT_MEMORY_LIMIT];
    bool bytes = times->costs.memory_unit == INQ_MEMORY_BYTES;
    bool has_unit = false;
    double value = 0.0;
    if (limit == NULL || !inq_cli_size(limit, strlen(limit), &value, &has_unit) ||
        has_unit == bytes) {
        return INQ_EXIT_OK;
    }
    return bytes ? inq_cli_usage(cli, "for example --memory-limit 40GiB",
                                 "--memory is in bytes, and --memory-limit '%s' has no unit", limit)
                 : inq_cli_usage(cli, "say what F, B and W hold: --memory 34MiB,8MiB,0",
                                 "--memory-limit '%s' is in bytes, and --memory does not say how "
                                 "many an activation takes",
                                 limit);
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* Lines to one line: comments and blanks go, what is left is separated by '/'. In place. */
static void join_lines(char *text)
{
    char *to = text;
    for (char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        size_t kept = 0;
        char *next = line + len + (line[len] == '\n');
        char *start = to;
        for (size_t i = 0; i < len && line[i] != '#'; i++) {
            if (!isspace((unsigned char)line[i])) {
                start[kept + (start > text)] = line[i];
                kept++;
            }
        }
        if (kept > 0) {
            if (start > text) {
                *start = '/';
            }
            to = start + kept + (start > text);
        }
        line = next;
    }
    *to = '\0';
}

static int read_file(const struct inq_cli *cli, const char *path, struct inq_times *times)
{
    struct inq_err err = {0};
    char *text = NULL;
    size_t len = 0;
    int code = inq_cli_read_file(path, MAX_FILE, &text, &len, &err);
    if (code == INQ_OK) {
        join_lines(text);
        code = read_sets(text, times, &err);
        (void)snprintf(err.path, sizeof err.path, "%s", code == INQ_OK ? "" : path);
    }
    inq_mem_free(text);
    return code == INQ_OK ? INQ_EXIT_OK
                          : inq_cli_fail(cli, &err,
                                         "a file of times has F,B,W of one stage on each line, "
                                         "on the first line also what is not of a stage");
}

/* ---- a recorded run -------------------------------------------------------------------------- */

static int read_run(const struct inq_cli *cli, const char *path, struct inq_times *times)
{
    struct inq_cli one = *cli;
    struct inq_run *run = NULL;
    struct inq_trace *trace = NULL;
    struct inq_err err = {0};
    one.words = &path;
    one.n_words = 1;
    int status = inq_cli_ingest(&one, &run);
    if (status == INQ_EXIT_OK) {
        status = inq_cli_one_job(cli, path, run, &trace);
    }
    if (status == INQ_EXIT_OK) {
        int code = inq_cli_keep_steps(cli, trace, &err);
        const char *hint = "'inquest info' lists the steps that are there";
        if (code == INQ_OK) {
            code = inq_recorded_costs_of(trace, &times->recorded, &err);
            hint = "'inquest analyze' says what there is";
        }
        status = code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, hint);
    }
    inq_run_free(run);
    times->costs = times->recorded.costs;
    return status;
}

/* A small text file of times, not a trace: its first line that says anything begins with a number
 * or a name of a field. */
static bool is_times_file(const char *path)
{
    char *text = NULL;
    size_t len = 0;
    struct inq_err err = {0};
    struct inq_times times = {0};
    bool is = inq_cli_read_file(path, MAX_FILE, &text, &len, &err) == INQ_OK && strlen(text) == len;
    if (is) {
        join_lines(text);
        text[strcspn(text, "/")] = '\0';
        is = read_sets(text, &times, &err) == INQ_OK;
    }
    inq_mem_free(text);
    times_release(&times);
    return is;
}

static int read_times(const struct inq_cli *cli, struct inq_times *times)
{
    const char *text = cli->value[INQ_OPT_TIMES];
    struct inq_err err = {0};
    struct stat info;
    int code = read_sets(text == NULL ? "1" : text, times, &err);
    if (code == INQ_OK || code == INQ_NOMEM) {
        return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
    }
    times_release(times);
    if (stat(text, &info) == 0) {
        return S_ISREG(info.st_mode) && is_times_file(text) ? read_file(cli, text, times)
                                                            : read_run(cli, text, times);
    }
    return inq_cli_usage(cli,
                         "for example --times 18.5,18.1,9.3,0.6, --times 2,2,1/3,3,1 for stages "
                         "that differ, or --times run/",
                         "--times takes F,B,W,P2P,REDUCE,UPDATE,UNSHARD,FB, a file of them, or a "
                         "run, not '%s'",
                         text);
}

/* Reads --times (without it all take 1 ms) and --memory; returns an exit status, having said what
 * is wrong. Release it either way. */
static int times_read(const struct inq_cli *cli, struct inq_times *times)
{
    int status = read_times(cli, times);
    status = status == INQ_EXIT_OK ? take_memory(cli, times) : status;
    return status == INQ_EXIT_OK ? check_limit(cli, times) : status;
}

/* ---- for a schedule -------------------------------------------------------------------------- */

/* The stage that was told for stage `s`: each replica of the model takes them from the start,
 * unless more are told than it has. */
static size_t told_stage(size_t n_told, size_t s, size_t of_replica)
{
    size_t period = of_replica > 0 ? of_replica : 1;
    size_t k = n_told > of_replica ? s : s % period;
    return k < n_told ? k : n_told - 1;
}

/* Memory and transfers of stages that differ, in the room behind their times. */
static void explain_stages(const struct inq_times *times, size_t n_stages, size_t of_replica,
                           void *room, struct inq_costs *costs)
{
    struct inq_stage_memory *memory = room;
    int64_t *p2p_ns = (int64_t *)(memory + n_stages + 1);
    bool alike = true;
    for (size_t s = 0; s < n_stages; s++) {
        if (times->n_memory > 1) {
            memory[s] = times->memory[told_stage(times->n_memory, s, of_replica)];
        }
        if (times->n > 0) {
            p2p_ns[s] = times->p2p_ns[told_stage(times->n, s, of_replica)];
            alike = alike && p2p_ns[s] == p2p_ns[0];
        }
    }
    costs->memory_per_stage = times->n_memory > 1 ? memory : NULL;
    costs->p2p_per_stage = alike ? NULL : p2p_ns;
}

int inq_times_of_stages(const struct inq_cli *cli, const struct inq_times *times, size_t n_stages,
                        size_t of_replica, struct inq_costs *costs,
                        struct inq_stage_cost **per_stage)
{
    struct inq_err err = {0};
    const struct inq_recorded_costs *run = &times->recorded;
    *costs = times->costs;
    costs->per_stage = NULL;
    costs->n_per_stage = 0;
    if (run->n_stages == 0 && times->n < 2 && times->n_memory < 2) {
        return INQ_EXIT_OK;
    }
    inq_mem_free(*per_stage);
    *per_stage = inq_mem_zalloc(n_stages + 1, sizeof **per_stage + sizeof(struct inq_stage_memory) +
                                                  sizeof(int64_t));
    int code =
        *per_stage != NULL ? INQ_OK : inq_err_set(&err, INQ_NOMEM, "out of memory for times");
    if (code == INQ_OK && run->n_stages > 0) {
        double factor = (double)run->n_stages / (double)of_replica;
        code = inq_stage_costs_recut(run->median, run->n_stages, of_replica, *per_stage, &err);
        costs->reduce_ns = (int64_t)((double)costs->reduce_ns * factor + 0.5);
        costs->unshard_ns = (int64_t)((double)costs->unshard_ns * factor + 0.5);
    }
    for (size_t s = 0; code == INQ_OK && s < n_stages; s++) {
        (*per_stage)[s] = run->n_stages > 0 ? (*per_stage)[s % of_replica]
                                            : times->stages[told_stage(times->n, s, of_replica)];
    }
    costs->per_stage = *per_stage;
    costs->stage = code == INQ_OK ? (*per_stage)[0] : costs->stage;
    if (code == INQ_OK) {
        explain_stages(times, n_stages, of_replica, *per_stage + n_stages + 1, costs);
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

int inq_times_of_ranks(const struct inq_cli *cli, const struct inq_times *times, size_t n_ranks,
                       struct inq_costs *costs, struct inq_stage_cost **per_stage)
{
    struct inq_err err = {0};
    const struct inq_recorded_costs *run = &times->recorded;
    bool of_run = run->n_stages > 0;
    *costs = times->costs;
    if (times->n_memory > 1) {
        return inq_cli_usage(cli, NULL,
                             "--memory tells %zu stages; here it is of one micro-batch "
                             "on a rank, alike on all of them",
                             times->n_memory);
    }
    if (!of_run && times->n < 2) {
        return INQ_EXIT_OK;
    }
    if (!of_run && times->n > n_ranks) {
        return inq_cli_usage(cli, NULL,
                             "--times tells %zu stages; here it takes one for each of %zu ranks",
                             times->n, n_ranks);
    }
    size_t n = of_run ? run->n_stages : n_ranks;
    inq_mem_free(*per_stage);
    *per_stage = inq_mem_zalloc(n + 1, sizeof **per_stage);
    if (*per_stage == NULL) {
        (void)inq_err_set(&err, INQ_NOMEM, "out of memory for times");
        return inq_cli_fail(cli, &err, NULL);
    }
    for (size_t i = 0; i < n; i++) {
        (*per_stage)[i] = of_run ? run->median[i] : times->stages[i < times->n ? i : times->n - 1];
    }
    if (of_run) { /* of one rank, not of one of its stages */
        double factor = (double)n / (double)n_ranks;
        costs->reduce_ns = (int64_t)((double)costs->reduce_ns * factor + 0.5);
        costs->unshard_ns = (int64_t)((double)costs->unshard_ns * factor + 0.5);
    }
    costs->per_stage = *per_stage;
    costs->n_per_stage = n;
    return INQ_EXIT_OK;
}

static const size_t MAX_CSV = (size_t)1 << 31;

/* ---- the schedule ---------------------------------------------------------------------------- */

void inq_work_release(struct inq_schedule_work *work)
{
    inq_schedule_timing_release(&work->recorded, work->schedule.n_ranks);
    inq_schedule_release(&work->schedule);
    times_release(&work->times);
    inq_mem_free(work->per_stage);
}

static int read_csv(const struct inq_cli *cli, const char *path, struct inq_schedule_work *work,
                    struct inq_err *err)
{
    char *text = NULL;
    size_t len = 0;
    int code = inq_cli_read_file(path, MAX_CSV, &text, &len, err);
    if (code == INQ_OK) {
        code = inq_schedule_read_csv(text, len, (enum inq_csv_dialect)cli->choice[INQ_OPT_DIALECT],
                                     &work->schedule, &work->csv, err);
        (void)snprintf(err->path, sizeof err->path, "%s", code == INQ_OK ? "" : path);
    }
    inq_mem_free(text);
    work->from_file = true;
    return code;
}

/* The times of the options, for the schedule that is there. */
static int set_costs(const struct inq_cli *cli, struct inq_schedule_work *work)
{
    const struct inq_schedule *s = &work->schedule;
    return inq_times_of_stages(cli, &work->times, (size_t)s->n_stages,
                               (size_t)(s->n_stages / s->n_pipelines), &work->costs,
                               &work->per_stage);
}

static int read_sizes(const struct inq_cli *cli, struct inq_schedule_spec *spec)
{
    int64_t ranks = 0;
    int64_t microbatches = 0;
    int64_t chunks = 0;
    *spec = (struct inq_schedule_spec){.kind = cli->value[INQ_OPT_MAKE]};
    int status = inq_cli_whole(cli, INQ_OPT_STAGES, 1, INT32_MAX, &ranks);
    if (status == INQ_EXIT_OK) {
        status = inq_cli_whole(cli, INQ_OPT_MICROBATCHES, 1, INT32_MAX, &microbatches);
    }
    if (status == INQ_EXIT_OK) {
        status = inq_cli_whole(cli, INQ_OPT_CHUNKS, 1, INT32_MAX, &chunks);
    }
    if (status != INQ_EXIT_OK) {
        return status;
    }
    if (ranks == 0 || microbatches == 0) {
        return inq_cli_usage(cli, "for example --make 1f1b -p 4 -m 8",
                             "a schedule is made with --stages and --microbatches");
    }
    if (ranks * (chunks > 2 ? chunks : 2) > INT32_MAX) {
        return inq_cli_usage(cli, NULL, "that are too many stages");
    }
    spec->n_ranks = (int32_t)ranks;
    spec->n_microbatches = (int32_t)microbatches;
    spec->n_chunks = (int32_t)chunks;
    spec->no_overlap = cli->given[INQ_OPT_NO_OVERLAP];
    return INQ_EXIT_OK;
}

int inq_work_spec(const struct inq_cli *cli, struct inq_schedule_work *work,
                  struct inq_schedule_spec *spec)
{
    int status = read_sizes(cli, spec);
    if (status == INQ_EXIT_OK) {
        status = inq_cli_positive(cli, INQ_OPT_MEMORY_LIMIT, &work->memory_limit);
    }
    if (status == INQ_EXIT_OK) {
        status = times_read(cli, &work->times);
    }
    if (status == INQ_EXIT_OK) {
        status = inq_times_of_ranks(cli, &work->times, (size_t)spec->n_ranks, &work->costs,
                                    &work->per_stage);
    }
    spec->costs = work->costs;
    return status;
}

/* Stages of one replica of a kind. */
static size_t stages_of_kind(const struct inq_schedule_spec *spec)
{
    size_t n = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n);
    size_t chunks = spec->n_chunks > 0 ? (size_t)spec->n_chunks : 2;
    for (size_t i = 0; i < n; i++) {
        bool fixed = strcmp(kinds[i].name, spec->kind) == 0 && kinds[i].chunks > 0;
        chunks = fixed ? (size_t)kinds[i].chunks : chunks;
    }
    return chunks * (strcmp(spec->kind, "dp") == 0 ? 1 : (size_t)spec->n_ranks);
}

static int make(const struct inq_cli *cli, struct inq_schedule_work *work)
{
    struct inq_schedule_spec spec;
    struct inq_err err = {0};
    int status = read_sizes(cli, &spec);
    if (status == INQ_EXIT_OK) {
        status = times_read(cli, &work->times);
    }
    if (status == INQ_EXIT_OK) {
        size_t n = stages_of_kind(&spec);
        status = inq_times_of_stages(cli, &work->times, n, n, &spec.costs, &work->per_stage);
    }
    if (status != INQ_EXIT_OK) {
        return status;
    }
    /* a limit steers the kinds that search; lint judges all kinds by it */
    bool judges = cli->n_words > 0 && strcmp(cli->words[0], "lint") == 0;
    spec.memory_limit = judges ? 0.0 : work->memory_limit;
    int code = inq_schedule_make(&spec, &work->schedule, &err);
    return code == INQ_OK
               ? set_costs(cli, work)
               : inq_cli_fail(cli, &err, "'inquest help schedule' says what the options mean");
}

int inq_work_load(const struct inq_cli *cli, const char *path, struct inq_schedule_work *work)
{
    struct inq_err err = {0};
    if (path == NULL) {
        return make(cli, work);
    }
    int code = read_csv(cli, path, work, &err);
    if (code == INQ_FORMAT && work->takes_faults) {
        return INQ_EXIT_OK;
    }
    if (code != INQ_OK) {
        return inq_cli_fail(cli, &err,
                            "a schedule is a torch.distributed.pipelining CSV: one row "
                            "a rank, cells such as 0F0, 1SEND_B2");
    }
    int status = times_read(cli, &work->times);
    return status == INQ_EXIT_OK ? set_costs(cli, work) : status;
}

/* Whether the words are a recorded run: anything but one CSV file or standard input. */
static bool is_run(const char *const *words, size_t n)
{
    size_t len = n == 1 ? strlen(words[0]) : 0;
    bool csv = len > 4 && strcmp(words[0] + len - 4, ".csv") == 0;
    return n > 1 || (n == 1 && !csv && strcmp(words[0], "-") != 0);
}

/* Of a run: its own times, or those of --times. */
static int load_run(struct inq_cli *cli, struct inq_schedule_work *work)
{
    int status = work_record(cli, work);
    if (status == INQ_EXIT_OK && cli->given[INQ_OPT_TIMES]) {
        times_release(&work->times);
        status = times_read(cli, &work->times);
        inq_schedule_timing_release(&work->recorded, work->schedule.n_ranks);
    }
    return status == INQ_EXIT_OK ? set_costs(cli, work) : status;
}

static int add_comms(const struct inq_cli *cli, struct inq_schedule_work *work)
{
    struct inq_schedule lowered;
    struct inq_err err = {0};
    bool faulty = work->csv.fault.message[0] != '\0';
    if (!cli->given[INQ_OPT_COMMS] || work->schedule.has_comms || faulty) {
        return INQ_EXIT_OK;
    }
    if (inq_schedule_lower(&work->schedule, &lowered, &err) != INQ_OK) {
        return inq_cli_fail(cli, &err, "'inquest schedule lint' says what is wrong with it");
    }
    (void)snprintf(lowered.kind, sizeof lowered.kind, "%s", work->schedule.kind);
    inq_schedule_release(&work->schedule);
    work->schedule = lowered;
    return INQ_EXIT_OK;
}

int inq_work_prepare(struct inq_cli *cli, struct inq_schedule_work *work)
{
    bool made = cli->value[INQ_OPT_MAKE] != NULL;
    if (made ? cli->n_words > 1 : cli->n_words < 2) {
        return inq_cli_usage(cli,
                             "inquest schedule show s.csv, or inquest schedule show --make 1f1b "
                             "-p 4 -m 8",
                             "'inquest schedule %s' takes one FILE or --make KIND", cli->words[0]);
    }
    int status = inq_cli_positive(cli, INQ_OPT_MEMORY_LIMIT, &work->memory_limit);
    if (status != INQ_EXIT_OK) {
        return status;
    }
    status = made                                       ? inq_work_load(cli, NULL, work)
             : is_run(cli->words + 1, cli->n_words - 1) ? load_run(cli, work)
             : cli->n_words == 2                        ? inq_work_load(cli, cli->words[1], work)
                                                        : inq_cli_usage(cli, NULL,
                                                                        "'inquest schedule %s' takes one "
                                                                                               "FILE or one recorded run",
                                                                        cli->words[0]);
    return status == INQ_EXIT_OK ? add_comms(cli, work) : status;
}

/* ---- for other commands ---------------------------------------------------------------------- */

bool inq_cli_is_schedule(const struct inq_cli *cli, const char *path)
{
    size_t len = strlen(path);
    struct inq_schedule_work work = {0};
    struct inq_err err = {0};
    bool is = strcmp(path, "-") != 0 && len > 4 && strcmp(path + len - 4, ".csv") == 0 &&
              read_csv(cli, path, &work, &err) == INQ_OK;
    inq_schedule_release(&work.schedule);
    return is;
}

struct inq_lint_options inq_work_lint_options(const struct inq_cli *cli,
                                              const struct inq_schedule_work *work)
{
    return (struct inq_lint_options){.grouping = (enum inq_grouping)cli->choice[INQ_OPT_GROUPING],
                                     .memory_limit = work->memory_limit,
                                     .costs = work->costs};
}
