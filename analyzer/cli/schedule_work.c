/* SPDX-License-Identifier: Apache-2.0 */
/* Where a schedule comes from: a CSV file, a generator, and the times that it is given. */
#include "cli/schedule_work.h"

#include "base/mem.h"
#include "base/time.h"
#include "inquest/lint.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t MAX_CSV = (size_t)1 << 31;

/* ---- arguments
 * ------------------------------------------------------------------------------------ */

static int read_count(const struct inq_cli *cli, enum inq_option_id id, int32_t *value)
{
    const char *text = cli->value[id];
    if (text == NULL) {
        return INQ_EXIT_OK;
    }
    char *end = NULL;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < 1 || number > INT32_MAX) {
        return inq_cli_usage(cli, NULL, "--%s takes a positive number, not '%s'",
                             inq_cli_option(id)->name, text);
    }
    *value = (int32_t)number;
    return INQ_EXIT_OK;
}

/* One "F,B,W,P2P,REDUCE,UPDATE" of `len` bytes, in ms or with units; what is left out stays. */
static bool read_fields(const char *text, size_t len, int64_t *const fields[], size_t n)
{
    const int64_t ms = 1000000;
    const char *end = text + len;
    for (size_t i = 0; text < end; i++) {
        char one[64];
        size_t field = strcspn(text, ",/");
        (void)snprintf(one, sizeof one, "%.*s", field < 60 ? (int)field : 60, text);
        if (i >= n || !inq_time_parse(one, ms, fields[i]) || *fields[i] < 0) {
            return false;
        }
        text += field + (text + field < end ? 1 : 0);
    }
    return true;
}

/* "F,B,W,P2P,REDUCE,UPDATE"; stages that differ are separated by '/', the last is that of all
 * further ones, and P2P and on count once. `per_stage` (n stages, the caller's to free) stays NULL
 * when there is only one. */
static int read_times(const struct inq_cli *cli, struct inq_costs *costs,
                      struct inq_stage_cost **per_stage, int32_t n)
{
    const int64_t ms = 1000000;
    struct inq_stage_cost own = {ms, ms, ms};
    const char *text = cli->value[INQ_OPT_TIMES];
    costs->stage = own;
    if (text != NULL && strchr(text, '/') != NULL && n > 0) {
        *per_stage = inq_mem_zalloc((size_t)n, sizeof **per_stage);
        if (*per_stage == NULL) {
            struct inq_err err = {0};
            (void)inq_err_set(&err, INQ_NOMEM, "out of memory for times");
            return inq_cli_fail(cli, &err, NULL);
        }
    }
    for (int32_t stage = 0; text != NULL && (*text != '\0' || stage < n); stage++) {
        size_t len = strcspn(text, "/");
        int64_t *const fields[] = {&own.f_ns,      &own.b_ns,         &own.w_ns,
                                   &costs->p2p_ns, &costs->reduce_ns, &costs->update_ns};
        if (!read_fields(text, len, fields, stage == 0 ? 6 : 3)) {
            return inq_cli_usage(cli,
                                 "for example --times 18.5,18.1,9.3,0.6, or --times 2,2,1/3,3,1 "
                                 "for stages that differ",
                                 "--times takes F,B,W,P2P,REDUCE,UPDATE, not '%s'",
                                 cli->value[INQ_OPT_TIMES]);
        }
        costs->stage = stage == 0 ? own : costs->stage;
        if (*per_stage != NULL && stage < n) {
            (*per_stage)[stage] = own;
        }
        text += len + (text[len] == '/' ? 1 : 0);
        if (*per_stage == NULL && *text == '\0') {
            break;
        }
    }
    costs->per_stage = *per_stage;
    return INQ_EXIT_OK;
}

static int read_limit(const struct inq_cli *cli, double *limit)
{
    const char *text = cli->value[INQ_OPT_MEMORY_LIMIT];
    char *end = NULL;
    *limit = text == NULL ? 0.0 : strtod(text, &end);
    if (text != NULL && (end == text || *end != '\0' || !(*limit > 0.0))) {
        return inq_cli_usage(cli, NULL, "--memory-limit takes a positive number, not '%s'", text);
    }
    return INQ_EXIT_OK;
}

/* ---- the schedule
 * ---------------------------------------------------------------------------------- */

void inq_work_release(struct inq_work *work)
{
    inq_schedule_timing_release(&work->recorded, work->schedule.n_ranks);
    inq_schedule_release(&work->schedule);
    inq_mem_free(work->per_stage);
}

static int read_csv(const struct inq_cli *cli, const char *path, struct inq_work *work,
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

int inq_work_load(const struct inq_cli *cli, const char *path, struct inq_work *work)
{
    struct inq_err err = {0};
    int code = read_csv(cli, path, work, &err);
    if (code != INQ_OK) {
        return inq_cli_fail(cli, &err,
                            "a schedule is a torch.distributed.pipelining CSV: one row "
                            "a rank, cells such as 0F0, 1SEND_B2");
    }
    return read_times(cli, &work->costs, &work->per_stage, work->schedule.n_stages);
}

int inq_work_spec(const struct inq_cli *cli, struct inq_work *work, struct inq_schedule_spec *spec)
{
    *spec = (struct inq_schedule_spec){.kind = cli->value[INQ_OPT_MAKE],
                                       .no_overlap = cli->given[INQ_OPT_NO_OVERLAP]};
    int status = read_count(cli, INQ_OPT_STAGES, &spec->n_ranks);
    if (status == INQ_EXIT_OK) {
        status = read_count(cli, INQ_OPT_MICROBATCHES, &spec->n_microbatches);
    }
    if (status == INQ_EXIT_OK) {
        status = read_count(cli, INQ_OPT_CHUNKS, &spec->n_chunks);
    }
    if (status == INQ_EXIT_OK) {
        status = read_limit(cli, &work->memory_limit);
    }
    if (status != INQ_EXIT_OK) {
        return status;
    }
    if (spec->n_ranks == 0 || spec->n_microbatches == 0) {
        return inq_cli_usage(cli, "for example --make 1f1b -p 4 -m 8",
                             "a schedule is made with --stages and --microbatches");
    }
    int64_t stages = (int64_t)spec->n_ranks * (spec->n_chunks > 2 ? spec->n_chunks : 2);
    if (stages > INT32_MAX) {
        return inq_cli_usage(cli, NULL, "that are too many stages");
    }
    status = read_times(cli, &work->costs, &work->per_stage, (int32_t)stages);
    spec->costs = work->costs;
    return status;
}

static int make(const struct inq_cli *cli, struct inq_work *work)
{
    struct inq_schedule_spec spec;
    struct inq_err err = {0};
    int status = inq_work_spec(cli, work, &spec);
    if (status != INQ_EXIT_OK) {
        return status;
    }
    /* a limit steers the kinds that search; lint judges all kinds by it */
    bool judges = cli->n_words > 0 && strcmp(cli->words[0], "lint") == 0;
    spec.memory_limit = judges ? 0.0 : work->memory_limit;
    int code = inq_schedule_make(&spec, &work->schedule, &err);
    return code == INQ_OK
               ? INQ_EXIT_OK
               : inq_cli_fail(cli, &err, "'inquest help schedule' says what the options mean");
}

static int add_comms(const struct inq_cli *cli, struct inq_work *work)
{
    struct inq_schedule lowered;
    struct inq_err err = {0};
    if (!cli->given[INQ_OPT_COMMS] || work->schedule.has_comms) {
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

int inq_work_prepare(struct inq_cli *cli, struct inq_work *work)
{
    bool made = cli->value[INQ_OPT_MAKE] != NULL;
    if (made ? cli->n_words > 1 : cli->n_words < 2) {
        return inq_cli_usage(cli,
                             "inquest schedule show s.csv, or inquest schedule show --make 1f1b "
                             "-p 4 -m 8",
                             "'inquest schedule %s' takes one FILE or --make KIND", cli->words[0]);
    }
    int status = read_limit(cli, &work->memory_limit);
    if (status != INQ_EXIT_OK) {
        return status;
    }
    status = made                                                ? make(cli, work)
             : inq_work_is_run(cli->words + 1, cli->n_words - 1) ? inq_work_record(cli, work)
             : cli->n_words == 2 ? inq_work_load(cli, cli->words[1], work)
                                 : inq_cli_usage(cli, NULL,
                                                 "'inquest schedule %s' takes one "
                                                 "FILE or one recorded run",
                                                 cli->words[0]);
    return status == INQ_EXIT_OK ? add_comms(cli, work) : status;
}

/* ---- kinds, by name
 * ------------------------------------------------------------------------------ */

bool inq_work_is_kind(const char *name)
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

/* ---- for other commands
 * ---------------------------------------------------------------------------- */

bool inq_cli_is_schedule(const struct inq_cli *cli, const char *path)
{
    size_t len = strlen(path);
    struct inq_work work = {0};
    struct inq_err err = {0};
    bool is = strcmp(path, "-") != 0 && len > 4 && strcmp(path + len - 4, ".csv") == 0 &&
              read_csv(cli, path, &work, &err) == INQ_OK;
    inq_schedule_release(&work.schedule);
    return is;
}

int inq_cli_schedule(const struct inq_cli *cli, const char *path, struct inq_schedule *schedule,
                     struct inq_lint_options *options)
{
    struct inq_work work = {0};
    int status = path == NULL ? make(cli, &work) : inq_work_load(cli, path, &work);
    if (status == INQ_EXIT_OK && work.per_stage != NULL) {
        status = inq_cli_usage(cli, NULL, "here --times takes one set of times for all stages");
    }
    inq_mem_free(work.per_stage);
    work.costs.per_stage = NULL;
    *schedule = work.schedule;
    *options = (struct inq_lint_options){
        .grouping = (enum inq_grouping)cli->choice[INQ_OPT_GROUPING], .costs = work.costs};
    return status;
}
