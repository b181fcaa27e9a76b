/* SPDX-License-Identifier: Apache-2.0 */
/* Where a schedule comes from: a CSV file, a generator, and the times that it is given. */
#include "cli/commands/schedule/schedule.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static const size_t MAX_CSV = (size_t)1 << 31;

/* ---- the schedule ---------------------------------------------------------------------------- */

void inq_work_release(struct inq_schedule_work *work)
{
    inq_schedule_timing_release(&work->recorded, work->schedule.n_ranks);
    inq_schedule_release(&work->schedule);
    inq_times_release(&work->times);
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
        status = inq_times_read(cli, &work->times);
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
        status = inq_times_read(cli, &work->times);
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
    if (code != INQ_OK) {
        return inq_cli_fail(cli, &err,
                            "a schedule is a torch.distributed.pipelining CSV: one row "
                            "a rank, cells such as 0F0, 1SEND_B2");
    }
    int status = inq_times_read(cli, &work->times);
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
    int status = inq_work_record(cli, work);
    if (status == INQ_EXIT_OK && cli->given[INQ_OPT_TIMES]) {
        inq_times_release(&work->times);
        status = inq_times_read(cli, &work->times);
        inq_schedule_timing_release(&work->recorded, work->schedule.n_ranks);
    }
    return status == INQ_EXIT_OK ? set_costs(cli, work) : status;
}

static int add_comms(const struct inq_cli *cli, struct inq_schedule_work *work)
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

int inq_work_steps(const struct inq_cli *cli, const struct inq_schedule_work *work,
                   struct inq_costs **steps, size_t *n)
{
    const struct inq_recorded_costs *run = &work->times.recorded;
    const struct inq_schedule *s = &work->schedule;
    size_t n_stages = (size_t)s->n_stages;
    size_t of_replica = (size_t)(s->n_stages / s->n_pipelines);
    struct inq_err err = {0};
    *n = run->n_stages > 0 ? run->n_steps : 0;
    *steps = inq_mem_zalloc(*n + 1, sizeof **steps + n_stages * sizeof(struct inq_stage_cost));
    int code = *steps != NULL ? INQ_OK : inq_err_set(&err, INQ_NOMEM, "out of memory for steps");
    for (size_t i = 0; code == INQ_OK && i < *n; i++) {
        struct inq_stage_cost *own = (struct inq_stage_cost *)(*steps + *n + 1) + i * n_stages;
        (*steps)[i] = work->costs;
        (*steps)[i].per_stage = own;
        code = inq_stage_costs_recut(run->steps + i * run->n_stages, run->n_stages, of_replica, own,
                                     &err);
        for (size_t k = of_replica; code == INQ_OK && k < n_stages; k++) {
            own[k] = own[k % of_replica];
        }
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

struct inq_lint_options inq_work_lint_options(const struct inq_cli *cli,
                                              const struct inq_schedule_work *work)
{
    return (struct inq_lint_options){.grouping = (enum inq_grouping)cli->choice[INQ_OPT_GROUPING],
                                     .memory_limit = work->memory_limit,
                                     .costs = work->costs};
}
