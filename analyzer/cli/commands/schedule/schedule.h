/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that take a schedule share: where it comes from, and its times. */
#ifndef INQ_CLI_COMMANDS_SCHEDULE_SCHEDULE_H
#define INQ_CLI_COMMANDS_SCHEDULE_SCHEDULE_H

#include "cli/cli.h"
#include "inquest/lint.h"
#include "inquest/replay.h"

/* What --times says. All-zero is releasable. */
struct inq_times {
    struct inq_costs costs; /* of the first stage told, and what is not of a stage */
    size_t n;
    struct inq_stage_cost *stages;      /* [n] told; the last is that of all further ones */
    struct inq_recorded_costs recorded; /* of a run; n_stages 0: they were told */
    int64_t *p2p_ns;                    /* [n] behind each stage told; NULL: all alike */
    size_t n_memory;                    /* stages that --memory tells; 1: all alike */
    struct inq_stage_memory *memory;
};

/* Costs for a schedule of `n_stages` stages, `of_replica` of them in each replica of the model;
 * *per_stage is what costs->per_stage points to, the caller's to free (what was there is freed). */
int inq_times_of_stages(const struct inq_cli *cli, const struct inq_times *times, size_t n_stages,
                        size_t of_replica, struct inq_costs *costs,
                        struct inq_stage_cost **per_stage);
/* Costs as inq_schedule_measure takes them: of one micro-batch on each of `n_ranks` ranks. */
int inq_times_of_ranks(const struct inq_cli *cli, const struct inq_times *times, size_t n_ranks,
                       struct inq_costs *costs, struct inq_stage_cost **per_stage);

/* One schedule with its times. All-zero is releasable. */
struct inq_schedule_work {
    struct inq_schedule schedule;
    struct inq_csv_info csv;
    bool from_file;
    bool takes_faults; /* a file that is no schedule is one with csv.fault, to be reported */
    struct inq_times times;
    struct inq_costs costs;
    struct inq_stage_cost *per_stage; /* what costs.per_stage points to */
    double memory_limit;
    struct inq_schedule_timing recorded; /* of a recorded run; ranks NULL: none */
    bool has_at;                         /* --at was a time of the run: */
    int64_t at_ns;                       /* that time in the step */
};

/* Fills *work from the words behind the verb and the options; returns an exit status, having said
 * what is wrong. Release it either way. */
int inq_work_prepare(struct inq_cli *cli, struct inq_schedule_work *work);
void inq_work_release(struct inq_schedule_work *work);
/* The schedule of a CSV file or (NULL) of --make, with the times of the options; of a file with a
 * fault neither. */
int inq_work_load(const struct inq_cli *cli, const char *path, struct inq_schedule_work *work);
/* Sizes of the options, and times of each rank; `kind` is --make's. */
int inq_work_spec(const struct inq_cli *cli, struct inq_schedule_work *work,
                  struct inq_schedule_spec *spec);
struct inq_lint_options inq_work_lint_options(const struct inq_cli *cli,
                                              const struct inq_schedule_work *work);

/* Paths that were collected. All-zero is empty. */
struct inq_paths {
    size_t n, cap;
    char **at;
};

/* Fails with INQ_NOMEM, INQ_LIMIT. */
int inq_paths_add(struct inq_paths *paths, struct inq_err *err, const char *fmt, ...)
    INQ_PRINTF(3, 4);
void inq_paths_release(struct inq_paths *paths);
/* The words, folders that hold schedules replaced by the CSV files in them, by name; *schedules
 * tells whether all are schedules. Fails with INQ_NOMEM, INQ_LIMIT. */
int inq_work_files(const struct inq_cli *cli, const char *const *words, size_t n,
                   struct inq_paths *paths, bool *schedules, struct inq_err *err);

int inq_schedule_lint(struct inq_cli *cli);

/* Writes the graph of each rank beside the file that -o names. Fails with INQ_USAGE (no such name),
 * and as inq_execution_chakra and the writing do. */
int inq_cli_write_chakra(const struct inq_cli *cli, const struct inq_plan *plan,
                         const struct inq_execution *execution, struct inq_err *err);

#endif
