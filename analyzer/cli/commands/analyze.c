/* SPDX-License-Identifier: Apache-2.0 */
/* inquest analyze PATH...: the postmortem. */
#include "cli/cli.h"

#include "inquest/memory.h"
#include "inquest/fix.h"
#include "inquest/time.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ONLY = 32, MAX_WHAT_IF = 64, SETTINGS = 7 };

/* All that one call works with; released in one place. */
struct analysis {
    struct inq_cli *cli;
    struct inq_run *run;
    size_t n_reports;
    struct inq_report **reports;
    char *only_text; /* "a\0b", cut apart */
    const char *only[MAX_ONLY];
    size_t n_only;
    const char *what_if[MAX_WHAT_IF];
    size_t n_what_if;
    struct inq_range *ranks;
    size_t n_ranks;
    struct inq_range *steps;
    size_t n_steps;
    bool timed; /* --time */
    int64_t from_ns, to_ns;
};

static void release(struct analysis *a)
{
    for (size_t i = 0; i < a->n_reports; i++) {
        inq_report_free(a->reports[i]);
    }
    inq_mem_free(a->reports);
    inq_mem_free(a->only_text);
    inq_mem_free(a->ranks);
    inq_mem_free(a->steps);
    inq_run_free(a->run);
}

/* ---- what was asked for, checked before anything is read ------------------------------------- */

static int unknown_analysis(const struct inq_cli *cli, const char *name)
{
    const char *names[MAX_ONLY];
    size_t n;
    const struct inq_analysis *all = inq_analyses(&n);
    size_t listed = 0;
    for (size_t i = 0; i < n && listed < MAX_ONLY; i++) {
        names[listed++] = all[i].name;
    }
    const char *nearest = inq_cli_nearest(name, names, listed);
    char hint[96] = "'inquest list' names the analyses";
    if (nearest != NULL) {
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    }
    return inq_cli_usage(cli, hint, "there is no analysis '%s'", name);
}

static bool is_analysis(const char *name)
{
    size_t n;
    const struct inq_analysis *all = inq_analyses(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static int take_only(struct analysis *a)
{
    const char *text = a->cli->value[INQ_OPT_ONLY];
    if (text == NULL) {
        return INQ_EXIT_OK;
    }
    size_t size = strlen(text) + 1;
    a->only_text = inq_mem_alloc(size);
    if (a->only_text == NULL) {
        struct inq_err err = {.code = INQ_NOMEM};
        return inq_cli_fail(a->cli, &err, NULL);
    }
    memcpy(a->only_text, text, size);
    char *save = NULL;
    for (char *name = strtok_r(a->only_text, ",", &save); name != NULL;
         name = strtok_r(NULL, ",", &save)) {
        if (!is_analysis(name)) {
            return unknown_analysis(a->cli, name);
        }
        if (a->n_only == MAX_ONLY) {
            return inq_cli_usage(a->cli, NULL, "--only has too many names");
        }
        a->only[a->n_only++] = name;
    }
    if (a->n_only == 0) {
        return inq_cli_usage(a->cli, "'inquest list' names the analyses", "--only names none");
    }
    return INQ_EXIT_OK;
}

/* INQ_SECTION_BIT of the sections that --only does not name. All analyses run all the same: what is
 * shown does not depend on what is not. */
static uint32_t hidden_sections(const struct analysis *a)
{
    size_t n;
    const struct inq_analysis *all = inq_analyses(&n);
    uint32_t offered = 0;
    uint32_t shown = a->n_what_if > 0 ? INQ_SECTION_BIT(INQ_SECTION_WHATIF) : 0;
    for (size_t i = 0; i < n; i++) {
        offered |= INQ_SECTION_BIT(all[i].section);
        for (size_t k = 0; k < a->n_only; k++) {
            if (strcmp(all[i].name, a->only[k]) == 0) {
                shown |= INQ_SECTION_BIT(all[i].section);
            }
        }
    }
    return a->n_only > 0 ? offered & ~shown : 0;
}

static int take_what_if(struct analysis *a)
{
    size_t at = 0;
    for (const char *spec; (spec = inq_cli_next_value(a->cli, INQ_OPT_WHAT_IF, &at)) != NULL;) {
        const char *problem = inq_what_if_problem(spec);
        if (problem[0] != '\0') {
            return inq_cli_usage(a->cli, problem, "--what-if cannot be '%s'", spec);
        }
        if (a->n_what_if == MAX_WHAT_IF) {
            return inq_cli_usage(a->cli, NULL, "more than %d what-if questions", MAX_WHAT_IF);
        }
        a->what_if[a->n_what_if++] = spec;
    }
    return INQ_EXIT_OK;
}

/* A time that is there, at `text` of `len` bytes. */
static bool read_time(const char *text, size_t len, int64_t *ns)
{
    enum { SECOND_NS = 1000000000 };
    char copy[64];
    if (len >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    return inq_time_parse(copy, SECOND_NS, ns) && *ns >= 0;
}

/* Reads "1.2s~1.4s", "~300ms" or "2s~" (a bare number is in seconds) into nanoseconds; an end left
 * out is 0 or INT64_MAX. Fails with INQ_USAGE. */
static int read_time_range(const char *text, int64_t *from_ns, int64_t *to_ns, struct inq_err *err)
{
    const char *tilde = strchr(text, '~');
    *from_ns = 0;
    *to_ns = INT64_MAX;
    bool good = tilde != NULL && strlen(text) > 1;
    if (good && tilde > text) {
        good = read_time(text, (size_t)(tilde - text), from_ns);
    }
    if (good && tilde[1] != '\0') {
        good = read_time(tilde + 1, strlen(tilde + 1), to_ns);
    }
    if (!good || *from_ns >= *to_ns) {
        return inq_err_set(err, INQ_USAGE, "'%.100s' is no range of time like 1.2s~1.4s", text);
    }
    return INQ_OK;
}

static int take_ranges(struct analysis *a)
{
    struct inq_err err = {0};
    const char *ranks = a->cli->value[INQ_OPT_RANK];
    const char *steps = a->cli->value[INQ_OPT_STEP];
    if (ranks != NULL && inq_cli_ranges(ranks, &a->ranks, &a->n_ranks, &err) != INQ_OK) {
        return inq_cli_usage(a->cli, NULL, "-r: %s", err.message);
    }
    if (steps != NULL && inq_cli_ranges(steps, &a->steps, &a->n_steps, &err) != INQ_OK) {
        return inq_cli_usage(a->cli, NULL, "-s: %s", err.message);
    }
    if (a->n_steps > 1) { /* idle time would count the steps in between */
        return inq_cli_usage(a->cli, "give one range, such as 10..20",
                             "-s takes one range of steps");
    }
    const char *time = a->cli->value[INQ_OPT_TIME];
    a->timed = time != NULL;
    if (a->timed && read_time_range(time, &a->from_ns, &a->to_ns, &err) != INQ_OK) {
        return inq_cli_usage(a->cli, "times count from the first event, as in reports",
                             "--time: %s", err.message);
    }
    return INQ_EXIT_OK;
}

/* "table,column,type,unit,definition" of all tables, as CSV. */
static int list_tables(const struct inq_cli *cli)
{
    struct inq_err err = {0};
    struct inq_out out = {0};
    const struct inq_report_table *table;
    inq_out_text(&out, "table,column,type,unit,definition\r\n");
    for (size_t t = 0; (table = inq_report_table(t)) != NULL; t++) {
        inq_out_printf(&out, "%s,,,,\"%s; key: %s\"\r\n", table->name, table->definition,
                       table->key);
        for (size_t i = 0; i < table->n_columns; i++) {
            const struct inq_report_column *column = &table->columns[i];
            inq_out_printf(&out, "%s,%s,%s,%s,\"%s\"\r\n", table->name, column->name,
                           inq_column_type_text(column->type), column->unit, column->definition);
        }
    }
    struct inq_cli_output output;
    int code = inq_cli_output_open_path(cli, cli->value[INQ_OPT_OUTPUT], &output, &err);
    if (code == INQ_OK) {
        struct inq_sink sink = inq_cli_output_sink(&output);
        code = out.code == INQ_OK ? sink.write(sink.ctx, out.buf, out.len) : out.code;
        code = inq_cli_output_close(&output, code, &err);
    }
    inq_out_release(&out);
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

/* --table says which table is written as CSV, and CSV is of one table. */
static int take_table(struct analysis *a)
{
    enum { MAX_TABLES = 64 };
    struct inq_cli *cli = a->cli;
    const char *name = cli->value[INQ_OPT_TABLE];
    const char *names[MAX_TABLES];
    const struct inq_report_table *table;
    size_t n = 0;
    if (name == NULL) {
        const char *path = cli->value[INQ_OPT_OUTPUT];
        bool to_stdout = path == NULL || strcmp(path, "-") == 0;
        return cli->format == INQ_FORMAT_CSV
                   ? inq_cli_usage(cli, "name it with --table; '--table list' lists all",
                                   "CSV holds one table")
               : cli->format == INQ_FORMAT_SQLITE && to_stdout
                   ? inq_cli_usage(cli, "name a file: -o run.sqlite", "a SQLite database is a file")
                   : INQ_EXIT_OK;
    }
    if (cli->format == INQ_FORMAT_TEXT && !cli->given[INQ_OPT_FORMAT]) {
        cli->format = INQ_FORMAT_CSV;
    }
    if (cli->format != INQ_FORMAT_CSV) {
        return inq_cli_usage(cli, "leave --table out: other formats hold all of them",
                             "--table is for CSV");
    }
    for (; n < MAX_TABLES && (table = inq_report_table(n)) != NULL; n++) {
        names[n] = table->name;
        if (strcmp(name, table->name) == 0) {
            return INQ_EXIT_OK;
        }
    }
    const char *nearest = inq_cli_nearest(name, names, n);
    char hint[96] = "'--table list' names the tables";
    if (nearest != NULL) {
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    }
    return inq_cli_usage(cli, hint, "there is no table '%s'", name);
}

/* ---- the work -------------------------------------------------------------------------------- */

static bool is_selected(const struct analysis *a, int32_t rank)
{
    for (size_t i = 0; i < a->n_ranks; i++) {
        if (rank >= a->ranks[i].first && rank <= a->ranks[i].last) {
            return true;
        }
    }
    return false;
}

static bool any_selected(const struct analysis *a)
{
    for (size_t t = 0; t < a->run->n_traces; t++) {
        const struct inq_trace *trace = a->run->traces[t];
        for (size_t r = 0; r < trace->n_ranks; r++) {
            if (is_selected(a, trace->ranks[r].rank)) {
                return true;
            }
        }
    }
    return false;
}

/* What-if questions need labeled ops: an answer that is not there must not look like one. */
static int questions_answered(struct analysis *a)
{
    bool any = a->n_what_if == 0;
    for (size_t i = 0; i < a->n_reports; i++) { /* why it is not available, the report says */
        any = any || a->reports[i]->whatif != NULL ||
              a->reports[i]->sections[INQ_SECTION_WHATIF].reason != NULL;
    }
    if (any) {
        return INQ_EXIT_OK;
    }
    struct inq_err err = {0};
    (void)inq_err_set(&err, INQ_UNSUPPORTED,
                      "--what-if has no answer: no op of this run says its stage and micro-batch");
    return inq_cli_fail(a->cli, &err, "ask it of an op table or a pipeline");
}

/* Cuts the traces down to the steps, or the time, asked for; all jobs must have some of it. */
static int keep_part(struct analysis *a, bool timed)
{
    size_t kept = 0;
    for (size_t t = 0; t < a->run->n_traces; t++) {
        struct inq_err err = {0};
        struct inq_trace *trace = a->run->traces[t];
        int code = timed ? inq_trace_keep_time(trace, a->from_ns, a->to_ns, &err)
                         : inq_trace_keep_steps(trace, a->steps[0], &err);
        if (code == INQ_OK) {
            kept++;
        } else if (code != INQ_NOT_FOUND) {
            return inq_cli_fail(a->cli, &err, NULL);
        }
    }
    if (kept == a->run->n_traces) {
        return INQ_EXIT_OK;
    }
    if (timed) {
        return inq_cli_usage(a->cli, "'inquest info' says how long the recording is", "%s in %s",
                             kept == 0 ? "nothing was recorded" : "not every job recorded anything",
                             a->cli->value[INQ_OPT_TIME]);
    }
    return inq_cli_usage(a->cli, "'inquest info' lists the steps that are there", "%s steps %s",
                         kept == 0 ? "there are no" : "not every job has",
                         a->cli->value[INQ_OPT_STEP]);
}

static int select_parts(struct analysis *a)
{
    if (a->n_ranks > 0 && !any_selected(a)) {
        return inq_cli_usage(a->cli, "'inquest info' lists the ranks that are there",
                             "no file is of rank %s", a->cli->value[INQ_OPT_RANK]);
    }
    int status = a->n_steps > 0 ? keep_part(a, false) : INQ_EXIT_OK;
    return status == INQ_EXIT_OK && a->timed ? keep_part(a, true) : status;
}

static int analyze_all(struct analysis *a)
{
    struct inq_err err = {0};
    struct inq_analysis_options options = {
        .jobs = a->cli->jobs,
        .predict = inq_fix_predict,
        .method = (enum inq_method)a->cli->choice[INQ_OPT_METHOD],
        .what_if = a->what_if,
        .n_what_if = a->n_what_if,
    };
    a->reports = inq_mem_zalloc(a->run->n_traces, sizeof(struct inq_report *));
    if (a->reports == NULL) {
        err.code = INQ_NOMEM;
        return inq_cli_fail(a->cli, &err, NULL);
    }
    for (size_t t = 0; t < a->run->n_traces; t++) {
        struct inq_report *report = NULL;
        err = (struct inq_err){0};
        if (inq_cli_interrupted() != 0) {
            (void)inq_err_set(&err, INQ_CANCELLED, "interrupted");
            return inq_cli_fail(a->cli, &err, NULL);
        }
        if (inq_analyze(a->run->traces[t], &options, &report, &err) == INQ_OK) {
            a->reports[a->n_reports++] = report;
        } else { /* costs this job alone */
            inq_err_prefix(&err, "job %zu of %zu, %.100s", t + 1, a->run->n_traces,
                           a->run->traces[t]->name);
            (void)inq_cli_fail(a->cli, &err, NULL);
        }
    }
    return a->n_reports > 0 ? INQ_EXIT_OK : INQ_EXIT_FAILED;
}

/* Writes the reports [from, to). */
static int write_to(const struct analysis *a, const char *path, size_t from, size_t to,
                    const struct inq_report_options *options)
{
    struct inq_err err = {0};
    struct inq_cli_output output;
    int code = inq_cli_output_open_path(a->cli, path, &output, &err);
    if (code == INQ_OK) {
        code = inq_report_write(a->run, a->reports + from, to - from, options,
                                inq_cli_output_sink(&output), &err);
        code = inq_cli_output_close(&output, code, &err);
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(a->cli, &err, NULL);
}

/* The path for job `number` (from 1) of several that -o names one file for: report.json becomes
 * report.1.json. Freed with inq_mem_free; NULL when memory is out. */
static char *path_of_job(const char *path, size_t number)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t len = strlen(path) - (inq_cli_is_gzip(path) ? 3 : 0);
    while (len > (size_t)(name - path) && path[len - 1] != '.') {
        len--;
    }
    bool dotted = len > (size_t)(name - path) + 1; /* behind the dot of the last suffix */
    size_t head = dotted ? len - 1 : strlen(path);
    size_t size = strlen(path) + 32;
    char *made = inq_mem_alloc(size);
    if (made != NULL) {
        (void)snprintf(made, size, "%.*s.%zu%s", (int)head, path, number, path + head);
    }
    return made;
}

/* A file for each job: traces that hold one only. */
static int write_by_job(const struct analysis *a, const struct inq_report_options *options)
{
    const char *path = a->cli->value[INQ_OPT_OUTPUT];
    int status = INQ_EXIT_OK;
    if (path == NULL || strcmp(path, "-") == 0) {
        return inq_cli_usage(a->cli, "name a file with -o: each job gets its own, numbered",
                             "%zu jobs do not fit into one trace", a->n_reports);
    }
    for (size_t i = 0; i < a->n_reports && status == INQ_EXIT_OK; i++) {
        char *own = path_of_job(path, i + 1);
        if (own == NULL) {
            struct inq_err err = {.code = INQ_NOMEM};
            return inq_cli_fail(a->cli, &err, NULL);
        }
        status = write_to(a, own, i, i + 1, options);
        if (status == INQ_EXIT_OK) {
            inq_cli_note(a->cli, "job %zu written to %s", i + 1, own);
        }
        inq_mem_free(own);
    }
    return status;
}

static int write_reports(struct analysis *a)
{
    static const char *const align[] = {"auto", "none"};
    const struct inq_cli *cli = a->cli;
    const struct inq_report_setting settings[SETTINGS] = {
        {"method", inq_method_text((enum inq_method)cli->choice[INQ_OPT_METHOD])},
        {"align", align[cli->choice[INQ_OPT_ALIGN]]},
        {"only", cli->value[INQ_OPT_ONLY]},
        {"ranks", cli->value[INQ_OPT_RANK]},
        {"steps", cli->value[INQ_OPT_STEP]},
        {"time", cli->value[INQ_OPT_TIME]},
        {"redacted", cli->redacted}, /* the last: only if anything was */
    };
    struct inq_report_options options = inq_cli_report_options(cli);
    options.ranks = a->ranks;
    options.n_ranks = a->n_ranks;
    options.hidden = hidden_sections(a);
    options.settings = settings;
    options.n_settings = cli->redacted[0] != '\0' ? SETTINGS : SETTINGS - 1;
    options.table = cli->value[INQ_OPT_TABLE];
    if (cli->format == INQ_FORMAT_PERFETTO && a->n_reports > 1) {
        return write_by_job(a, &options);
    }
    return write_to(a, cli->value[INQ_OPT_OUTPUT], 0, a->n_reports, &options);
}

/* When the report went to a file: the verdict, and where the rest is. */
static void print_verdict(const struct analysis *a)
{
    const char *path = a->cli->value[INQ_OPT_OUTPUT];
    if (path == NULL || strcmp(path, "-") == 0 || a->cli->json_errors) {
        return;
    }
    for (size_t i = 0; i < a->n_reports; i++) {
        if (a->reports[i]->verdict.headline[0] != '\0') {
            inq_cli_note(a->cli, "%s", a->reports[i]->verdict.headline);
        }
    }
    if (a->cli->format != INQ_FORMAT_PERFETTO || a->n_reports == 1) { /* else said already */
        inq_cli_note(a->cli, "report written to %s", path);
    }
}

/* The exit status that --fail-on asks for. */
static int status_of_findings(const struct analysis *a)
{
    if (!a->cli->given[INQ_OPT_FAIL_ON]) {
        return INQ_EXIT_OK;
    }
    int line = a->cli->choice[INQ_OPT_FAIL_ON]; /* choices are in the order of enum inq_severity */
    for (size_t i = 0; i < a->n_reports; i++) {
        for (size_t f = 0; f < a->reports[i]->n_findings; f++) {
            if ((int)a->reports[i]->findings[f].severity >= line) {
                return INQ_EXIT_FINDING;
            }
        }
    }
    return INQ_EXIT_OK;
}

static bool any_said(const struct analysis *a)
{
    for (size_t i = 0; i < a->n_reports; i++) {
        if (!inq_report_is_void(a->reports[i])) {
            return true;
        }
    }
    return false;
}

/* No section of any job came about: the reports say why, and whoever sees only the errors is told
 * the first reason. */
static int nothing_said(const struct analysis *a)
{
    struct inq_err err = {.code = INQ_FORMAT, .offset = -1};
    const struct inq_section_state *state = a->reports[0]->sections;
    while (state->reason == NULL) { /* a void report has one */
        state++;
    }
    (void)snprintf(err.message, sizeof err.message, "nothing could be said of this run: %.400s",
                   state->reason);
    return inq_cli_fail(a->cli, &err, state->next);
}

static int run_steps(struct analysis *a)
{
    int (*const steps[])(struct analysis *) = {select_parts, analyze_all, questions_answered,
                                               write_reports};
    if (a->run->n_traces == 0) {
        return inq_cli_no_trace(a->cli, a->run);
    }
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int status = steps[i](a);
        if (status != INQ_EXIT_OK) {
            return status;
        }
    }
    print_verdict(a);
    return any_said(a) ? status_of_findings(a) : nothing_said(a);
}

int inq_cmd_analyze(struct inq_cli *cli)
{
    struct analysis a = {.cli = cli};
    const char *table = cli->value[INQ_OPT_TABLE];
    if (table != NULL && strcmp(table, "list") == 0) {
        return list_tables(cli);
    }
    int status = take_only(&a);
    if (status == INQ_EXIT_OK) {
        status = take_table(&a);
    }
    if (status == INQ_EXIT_OK) {
        status = take_what_if(&a);
    }
    if (status == INQ_EXIT_OK) {
        status = take_ranges(&a);
    }
    if (status == INQ_EXIT_OK) {
        status = inq_cli_ingest(cli, &a.run);
    }
    if (status == INQ_EXIT_OK) {
        status = run_steps(&a);
    }
    release(&a);
    return status;
}
