/* SPDX-License-Identifier: Apache-2.0 */
/* The commands, each a row. */
#ifndef INQ_CLI_COMMANDS_H
#define INQ_CLI_COMMANDS_H

#include "inquest/report.h"

struct inq_cli;

struct inq_command {
    const char *name;
    const char *arguments; /* "PATH..." */
    const char *summary;   /* one line */
    const char *about;     /* paragraphs for `help NAME` */
    uint64_t options;
    unsigned formats;                /* bits of enum inq_format: what it writes */
    int (*run)(struct inq_cli *cli); /* returns an exit status */
};

/* All commands in the order of --help; the last row has no name. */
extern const struct inq_command inq_commands[];
/* NULL when there is none. */
const struct inq_command *inq_command_find(const char *name);

int inq_cmd_analyze(struct inq_cli *cli);
int inq_cmd_info(struct inq_cli *cli);
int inq_cmd_ingest(struct inq_cli *cli);
int inq_cmd_list(struct inq_cli *cli);
int inq_cmd_schema(struct inq_cli *cli);
int inq_cmd_schedule(struct inq_cli *cli);
int inq_cmd_fix(struct inq_cli *cli);
int inq_cmd_replay(struct inq_cli *cli);
int inq_cmd_synth(struct inq_cli *cli);
int inq_cmd_check(struct inq_cli *cli);
int inq_cmd_compare(struct inq_cli *cli);
int inq_cmd_completion(struct inq_cli *cli);
int inq_cmd_help(struct inq_cli *cli);

#endif
