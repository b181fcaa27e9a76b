/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of `inquest schedule` share: one schedule with its times. */
#ifndef INQ_CLI_SCHEDULE_WORK_H
#define INQ_CLI_SCHEDULE_WORK_H

#include "cli/cli.h"
#include "inquest/lint.h"

/* All-zero is releasable. */
struct inq_work {
    struct inq_schedule schedule;
    struct inq_csv_info csv;
    bool from_file;
    struct inq_costs costs;
    struct inq_stage_cost *per_stage; /* what costs.per_stage points to */
    double memory_limit;
    struct inq_schedule_timing recorded; /* of a recorded run; ranks NULL: none */
    bool has_at;                         /* --at was a time of the run: */
    int64_t at_ns;                       /* that time in the step */
};

/* Fills *work from the words behind the verb and the options; returns an exit status, having said
 * what is wrong. Release it either way. */
int inq_work_prepare(struct inq_cli *cli, struct inq_work *work);
void inq_work_release(struct inq_work *work);
/* The schedule of a CSV file, with the times of the options. */
int inq_work_load(const struct inq_cli *cli, const char *path, struct inq_work *work);
bool inq_work_is_kind(const char *name);
/* Sizes and times of the options; `kind` is --make's. */
int inq_work_spec(const struct inq_cli *cli, struct inq_work *work, struct inq_schedule_spec *spec);

/* Whether the words are a recorded run: anything but one CSV file or standard input. */
bool inq_work_is_run(const char *const *words, size_t n);
/* The schedule and the times of a step of the recorded run that the words behind the verb name. */
int inq_work_record(struct inq_cli *cli, struct inq_work *work);

int inq_schedule_compare(struct inq_cli *cli);
int inq_schedule_search(struct inq_cli *cli);

#endif
