/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what the arguments name: runs, and what fixes start from. */
#ifndef INQ_CLI_INGEST_H
#define INQ_CLI_INGEST_H

#include "inquest/fix.h"
#include "inquest/ingest.h"

struct inq_cli;

/* Ingests the words with a progress line; says what failed and returns an exit status. */
int inq_cli_ingest(struct inq_cli *cli, struct inq_run **run);
/* Writes partials of the words into the folder of -o, without names where --redact is given. Fails
 * as inq_ingest_partials does. */
int inq_cli_partials(struct inq_cli *cli, struct inq_ingest_options *options,
                     struct inq_partials *partials, struct inq_err *err);
/* Nothing in the run can be analyzed: says what the files are instead; returns an exit status. */
int inq_cli_no_trace(const struct inq_cli *cli, const struct inq_run *run);
/* The one job that the command is about: that of --job, or the only one there is. Says what is
 * wrong (with `path`) and returns an exit status. */
int inq_cli_one_job(const struct inq_cli *cli, const char *path, const struct inq_run *run,
                    struct inq_trace **trace);
/* Ingests the words, which are one job, analyzes it and takes it as the base of fixes. Says what
 * failed and returns an exit status; what there is by then is the caller's to release. */
int inq_cli_fix_base(struct inq_cli *cli, struct inq_run **run, struct inq_report **report,
                     struct inq_fix_base **base);

#endif
