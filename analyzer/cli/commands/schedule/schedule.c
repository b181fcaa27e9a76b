/* SPDX-License-Identifier: Apache-2.0 */
/* inquest schedule show|make|lint|convert|compare|search: pipeline schedules. */
#include "cli/commands/schedule/schedule.h"

#include "inquest/fix.h"
#include "inquest/time.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- inquest schedule compare and search: schedules side by side ----------------------------- */

static int write_rows(const struct inq_cli *cli, const struct inq_schedule_rows *rows,
                      struct inq_err *err)
{
    struct inq_cli_output output;
    int code = inq_cli_output_open(cli, &output, err);
    if (code == INQ_OK) {
        struct inq_report_options options = inq_cli_report_options(cli);
        code = inq_schedule_rows_report(rows, &options, inq_cli_output_sink(&output), err);
        code = inq_cli_output_close(&output, code, err);
    }
    return code;
}

static int only_text_and_json(const struct inq_cli *cli)
{
    return cli->format == INQ_FORMAT_TEXT || cli->format == INQ_FORMAT_JSON
               ? INQ_EXIT_OK
               : inq_cli_usage(cli, NULL, "'inquest schedule %s' writes text or JSON",
                               cli->words[0]);
}

/* ---- compare --------------------------------------------------------------------------------- */

static int measure_kind(const struct inq_cli *cli, const char *kind, struct inq_schedule_work *work,
                        struct inq_schedule_row *row)
{
    struct inq_schedule_spec spec;
    struct inq_err err = {0};
    int status = inq_work_spec(cli, work, &spec);
    if (status != INQ_EXIT_OK) {
        return status;
    }
    spec.kind = kind;
    spec.memory_limit = work->memory_limit;
    int code = inq_schedule_measure_kind(&spec, row, &err);
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

static int measure_file(const struct inq_cli *cli, const char *path, struct inq_schedule_work *work,
                        struct inq_schedule_row *row)
{
    struct inq_err err = {0};
    int status = inq_work_load(cli, path, work);
    if (status == INQ_EXIT_OK) {
        status = inq_times_of_ranks(cli, &work->times, (size_t)work->schedule.n_ranks, &work->costs,
                                    &work->per_stage);
    }
    if (status != INQ_EXIT_OK) {
        return status;
    }
    int code = inq_schedule_measure(&work->schedule, &work->costs, 0.0, row, &err);
    (void)snprintf(row->name, sizeof row->name, "%s", path);
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

static bool is_kind(const char *name)
{
    size_t n = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static int measure(const struct inq_cli *cli, const char *what, struct inq_schedule_row *row)
{
    struct inq_schedule_work work = {0};
    int status =
        is_kind(what) ? measure_kind(cli, what, &work, row) : measure_file(cli, what, &work, row);
    inq_work_release(&work);
    return status;
}

static int schedule_compare(struct inq_cli *cli)
{
    struct inq_schedule_row rows[INQ_SCHEDULE_MAX_ROWS];
    struct inq_schedule_rows all = {.rows = rows};
    struct inq_err err = {0};
    int status = only_text_and_json(cli);
    if (status == INQ_EXIT_OK && cli->n_words < 2) {
        status = inq_cli_usage(cli, "for example inquest schedule compare 1f1b zb-h1 -p 8 -m 32",
                               "'inquest schedule compare' takes files and kinds");
    }
    if (status == INQ_EXIT_OK && cli->n_words > INQ_SCHEDULE_MAX_ROWS + 1) {
        status = inq_cli_usage(cli, "compare them in groups",
                               "'inquest schedule compare' takes at most %d schedules, not %zu",
                               INQ_SCHEDULE_MAX_ROWS, cli->n_words - 1);
    }
    for (size_t i = 1; status == INQ_EXIT_OK && i < cli->n_words; i++) {
        status = measure(cli, cli->words[i], &rows[all.n++]);
    }
    if (status != INQ_EXIT_OK) {
        return status;
    }
    return write_rows(cli, &all, &err) == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

/* ---- search ---------------------------------------------------------------------------------- */

/* Reads "12.5ms" (a bare number is in ms) into nanoseconds; false: it is none. */
static bool read_duration(const char *text, int64_t *ns)
{
    return inq_time_parse(text, 1000000, ns);
}

/* "4:6,6,3": a size and its F,B,W. */
static bool read_size(const char *text, size_t len, struct inq_microbatch_size *size)
{
    char one[96];
    char *at = NULL;
    if (len >= sizeof one) {
        return false;
    }
    (void)snprintf(one, sizeof one, "%.*s", (int)len, text);
    errno = 0;
    long number = strtol(one, &at, 10);
    if (errno != 0 || at == one || *at != ':' || number < 1 || number > 1 << 20) {
        return false;
    }
    size->size = (int32_t)number;
    int64_t *fields[] = {&size->cost.f_ns, &size->cost.b_ns, &size->cost.w_ns};
    for (size_t i = 0; i < 3; i++) {
        char *field = at + 1;
        at = field + strcspn(field, ",");
        bool last = *at == '\0';
        *at = '\0';
        if (!read_duration(field, fields[i]) || *fields[i] < 0 || last != (i == 2)) {
            return false;
        }
    }
    return true;
}

static int read_sizes(const struct inq_cli *cli, struct inq_microbatch_size *sizes, size_t *n)
{
    const char *text = cli->value[INQ_OPT_SIZES];
    *n = 0;
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, "/");
        if (*n == INQ_SCHEDULE_MAX_ROWS || !read_size(text, len, &sizes[(*n)++])) {
            return inq_cli_usage(cli, "for example --sizes 1:2,2,1/4:6,6,3",
                                 "--sizes takes SIZE:F,B,W/SIZE:F,B,W/..., not '%s'",
                                 cli->value[INQ_OPT_SIZES]);
        }
        text += len + (text[len] == '/' ? 1 : 0);
    }
    return INQ_EXIT_OK;
}

static int search(const struct inq_cli *cli, const struct inq_schedule_spec *spec,
                  struct inq_schedule_row *rows, struct inq_err *err)
{
    struct inq_microbatch_size sizes[INQ_SCHEDULE_MAX_ROWS];
    struct inq_schedule_rows all = {
        .rows = rows, .memory_limit = spec->memory_limit, .search = true};
    size_t n_sizes = 0;
    int status = read_sizes(cli, sizes, &n_sizes);
    if (status != INQ_EXIT_OK) {
        return status;
    }
    all.sizes = n_sizes > 0;
    int code = all.sizes ? inq_schedule_search_sizes(spec, sizes, n_sizes, rows, &all.n, err)
                         : inq_schedule_search_kinds(spec, rows, &all.n, err);
    for (size_t i = 0; code == INQ_OK && i < all.n; i++) {
        all.interpolated = all.interpolated || rows[i].interpolated;
    }
    if (code == INQ_OK) {
        code = write_rows(cli, &all, err);
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, err, NULL);
}

static int schedule_search(struct inq_cli *cli)
{
    struct inq_schedule_work work = {0};
    struct inq_schedule_spec spec;
    struct inq_schedule_row rows[INQ_SCHEDULE_MAX_ROWS];
    struct inq_err err = {0};
    int status = only_text_and_json(cli);
    if (status == INQ_EXIT_OK && cli->n_words > 1) {
        status = inq_cli_usage(cli, "for example inquest schedule search -p 8 -m 32",
                               "'inquest schedule search' tries all kinds; it takes no file");
    }
    if (status == INQ_EXIT_OK) {
        status = inq_work_spec(cli, &work, &spec);
    }
    if (status == INQ_EXIT_OK && work.per_stage != NULL && cli->given[INQ_OPT_SIZES]) {
        status = inq_cli_usage(cli, NULL, "--sizes tells the times of all stages alike");
    }
    if (status == INQ_EXIT_OK) {
        spec.memory_limit = work.memory_limit;
        status = search(cli, &spec, rows, &err);
    }
    inq_work_release(&work);
    return status;
}

/* ---- show, make, convert --------------------------------------------------------------------- */

/* A number at *p, which moves past it; false when there is none. */
static bool read_number(const char **p, int32_t *value)
{
    char *end = NULL;
    if (**p < '0' || **p > '9') {
        return false;
    }
    errno = 0;
    long number = strtol(*p, &end, 10);
    if (errno != 0 || number > INT32_MAX) {
        return false;
    }
    *p = end;
    *value = (int32_t)number;
    return true;
}

/* Reads "S3:F1:end" or "S3:F1:start". */
static bool read_event(const char *text, int32_t *stage, char *kind, int32_t *microbatch, bool *end)
{
    const char *p = text;
    if (*p++ != 'S' || !read_number(&p, stage) || *p++ != ':' || *p == '\0') {
        return false;
    }
    *kind = *p++;
    if (!read_number(&p, microbatch) || *p++ != ':') {
        return false;
    }
    *end = strcmp(p, "end") == 0;
    return *end || strcmp(p, "start") == 0;
}

/* "S3:F1:end": the moment when stage 3 starts or ends its F (B, I, W) of micro-batch 1. */
static bool find_event(const struct inq_schedule_work *work,
                       const struct inq_schedule_timing *timing, const char *text, int64_t *at_ns)
{
    int32_t stage = 0;
    int32_t microbatch = 0;
    char kind = 0;
    bool end = false;
    if (!read_event(text, &stage, &kind, &microbatch, &end)) {
        return false;
    }
    for (int32_t r = 0; r < work->schedule.n_ranks; r++) {
        const struct inq_rank_actions *list = &work->schedule.ranks[r];
        for (size_t i = 0; i < list->n; i++) {
            const struct inq_action *a = &list->actions[i];
            if (inq_action_computes(a) && a->stage == stage && a->microbatch == microbatch &&
                inq_action_text((enum inq_action_kind)a->kind)[0] == kind) {
                *at_ns = end ? timing->end_ns[r][i] : timing->start_ns[r][i];
                return true;
            }
        }
    }
    return false;
}

static int write_timed(const struct inq_cli *cli, const struct inq_schedule_work *work,
                       const struct inq_schedule_timing *timing, struct inq_err *err)
{
    int64_t at_ns = 0;
    const char *at = cli->value[INQ_OPT_AT];
    bool known = at == NULL || work->has_at || read_duration(at, &at_ns) ||
                 find_event(work, timing, at, &at_ns);
    at_ns = work->has_at ? work->at_ns : at_ns;
    if (!known) {
        return inq_err_set(
            err, INQ_USAGE,
            "--at takes a time (12.5ms) or an op that is there (S3:F1:end), not '%s'", at);
    }
    struct inq_cli_output output;
    int code = inq_cli_output_open(cli, &output, err);
    if (code == INQ_OK) {
        struct inq_report_options options = inq_cli_report_options(cli);
        struct inq_sink sink = inq_cli_output_sink(&output);
        struct inq_schedule_theory theory = inq_schedule_theory_of(&work->schedule, &work->costs);
        code = at != NULL
                   ? inq_schedule_report_at(&work->schedule, timing, at_ns, &options, sink, err)
                   : inq_schedule_report(&work->schedule, timing, &theory, &options, sink, err);
        code = inq_cli_output_close(&output, code, err);
    }
    return code;
}

/* As graphs for simulators, with the times of the cost model. */
static int write_graphs(const struct inq_cli *cli, const struct inq_schedule_work *work,
                        struct inq_err *err)
{
    struct inq_fix_base *base = NULL;
    struct inq_graph *graph = NULL;
    struct inq_plan *plan = NULL;
    struct inq_execution execution = {0};
    const struct inq_replay_options once = {.warmup = -1, .repeats = 1};
    if (work->recorded.ranks != NULL) {
        return inq_err_set(err, INQ_USAGE,
                           "'inquest replay RUN --engine sim -o run.et' writes the "
                           "graphs of a recorded run");
    }
    int code = inq_fix_base_of_schedule(&work->schedule, &work->costs, &base, err);
    if (code == INQ_OK) {
        code = inq_fix_plan(base, "", 1, 1.0, &graph, &plan, err);
    }
    if (code == INQ_OK) {
        code = inq_engine_find("sim")->run(plan, &once, &execution, err);
    }
    if (code == INQ_OK) {
        code = inq_cli_write_chakra(cli, plan, &execution, err);
    }
    inq_execution_release(&execution);
    inq_plan_free(plan);
    inq_graph_free(graph);
    inq_fix_base_free(base);
    return code;
}

static bool is_for_reviewers(enum inq_format format)
{
    return format == INQ_FORMAT_MARKDOWN || format == INQ_FORMAT_JUNIT ||
           format == INQ_FORMAT_GITHUB || format == INQ_FORMAT_GITLAB || format == INQ_FORMAT_SARIF;
}

static int show(struct inq_cli *cli, const struct inq_schedule_work *work)
{
    struct inq_err err = {0};
    struct inq_schedule_timing timing = {0};
    int code = INQ_OK;
    if (is_for_reviewers(cli->format)) {
        return inq_cli_usage(
            cli, "'inquest schedule lint' writes Markdown and what CI systems show",
            "'inquest schedule show' writes text, JSON, CSV, Perfetto traces, SVG or Chakra");
    }
    if (cli->format == INQ_FORMAT_CHAKRA) {
        code = write_graphs(cli, work, &err);
    } else if (work->recorded.ranks != NULL) { /* a run has its own times */
        code = write_timed(cli, work, &work->recorded, &err);
    } else {
        code = inq_schedule_time(&work->schedule, &work->costs, &timing, &err);
        if (code == INQ_OK) {
            code = write_timed(cli, work, &timing, &err);
        }
    }
    inq_schedule_timing_release(&timing, work->schedule.n_ranks);
    const char *next =
        code != INQ_USAGE ? "'inquest schedule lint' says what is wrong with it" : NULL;
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, next);
}

static int write_old(const struct inq_cli *cli, const struct inq_schedule_work *work)
{
    struct inq_cli_output output;
    struct inq_err err = {0};
    int code = inq_cli_output_open(cli, &output, &err);
    if (code == INQ_OK) {
        code = inq_schedule_write_dialect(&work->schedule, INQ_CSV_2024,
                                          inq_cli_output_sink(&output), &err);
        code = inq_cli_output_close(&output, code, &err);
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

static int write_csv(struct inq_cli *cli, const struct inq_schedule_work *work)
{
    enum { TO_CURRENT, TO_2024 };
    if (!cli->given[INQ_OPT_FORMAT] && cli->format == INQ_FORMAT_TEXT) {
        cli->format = INQ_FORMAT_CSV;
    }
    return cli->format == INQ_FORMAT_CSV
               ? (cli->choice[INQ_OPT_TO] == TO_2024 ? write_old(cli, work) : show(cli, work))
               : inq_cli_usage(cli, "'inquest schedule show' writes the other formats",
                               "'inquest schedule %s' writes CSV", cli->words[0]);
}

/* ---- all --------------------------------------------------------------------------------------
 */

static int with_one(struct inq_cli *cli,
                    int (*run)(struct inq_cli *cli, const struct inq_schedule_work *))
{
    struct inq_schedule_work work = {0};
    int status = inq_work_prepare(cli, &work);
    if (status == INQ_EXIT_OK) {
        status = run(cli, &work);
    }
    inq_work_release(&work);
    return status;
}

int inq_cmd_schedule(struct inq_cli *cli)
{
    static const struct {
        const char *name;
        int (*one)(struct inq_cli *cli, const struct inq_schedule_work *work);
        int (*own)(struct inq_cli *cli); /* takes its own schedules */
    } verbs[] = {{"show", show, NULL},
                 {"make", write_csv, NULL},
                 {"lint", NULL, inq_schedule_lint},
                 {"convert", write_csv, NULL},
                 {"compare", NULL, schedule_compare},
                 {"search", NULL, schedule_search}};
    for (size_t i = 0; cli->n_words > 0 && i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(cli->words[0], verbs[i].name) == 0) {
            return verbs[i].own != NULL ? verbs[i].own(cli) : with_one(cli, verbs[i].one);
        }
    }
    static const char all[] = "one of show, make, lint, convert, compare, search";
    return cli->n_words > 0
               ? inq_cli_usage(cli, all, "'inquest schedule' has no verb '%s'", cli->words[0])
               : inq_cli_usage(cli, all, "what to do with the schedule?");
}
