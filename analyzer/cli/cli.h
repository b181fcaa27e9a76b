/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: what its parts share. Only code in this folder touches argv, the environment,
 * the terminal and the exit status. */
#ifndef INQ_CLI_CLI_H
#define INQ_CLI_CLI_H

#include "cli/commands.h"
#include "cli/ingest.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"

enum inq_exit {
    INQ_EXIT_OK = 0,
    INQ_EXIT_FAILED = 1,
    INQ_EXIT_USAGE = 2,
    INQ_EXIT_FINDING = 3, /* done, and a finding reached --fail-on */
    INQ_EXIT_SIGNAL = 128 /* plus the signal's number */
};

/* ---- one invocation -------------------------------------------------------------------------- */

/* One option as it was given. */
struct inq_said {
    enum inq_option_id id;
    const char *value; /* NULL: a flag */
};

/* A file that was read: results must not be written over it. */
struct inq_cli_input {
    uint64_t device, inode;
};

/* How the files under cli->words are read: by this process, or by several together (mpi/). Both
 * functions fail as those of the library do that read runs and write partials. */
struct inq_cli_reading {
    int (*run)(const struct inq_cli *cli, const struct inq_ingest_options *options,
               struct inq_run **run, struct inq_err *err);
    int (*partials)(const struct inq_cli *cli, const char *folder,
                    const struct inq_ingest_options *options, struct inq_partials *partials,
                    struct inq_err *err);
    const char *const *commands; /* that the program has; NULL: all */
    const char *others;          /* what to do about the others */
    bool launched; /* what is printed goes to a launcher, even where it holds a terminal to it */
};

/* All of them, in one place for a command and the copies of its arguments that it reads runs with.
 */
struct inq_cli_inputs {
    size_t n, cap;
    struct inq_cli_input *files;
};

/* What the arguments say. Strings point into argv. */
struct inq_cli {
    const struct inq_command *command;
    const struct inq_cli_reading *reading;
    bool bare; /* no command was named: analyze */
    bool given[INQ_OPT_COUNT];
    const char *value[INQ_OPT_COUNT]; /* NULL: not given or a flag */
    int choice[INQ_OPT_COUNT];        /* index into the option's choices; 0 when not given */
    int jobs;                         /* 0: all cores */
    size_t n_said;
    struct inq_said *said; /* every option in order, for those that may be given several times */
    size_t n_words;
    const char **words;            /* all that is not an option, the command aside */
    struct inq_cli_inputs *inputs; /* the files of the runs that were read */
    enum inq_format format;
    bool json_errors;
    char redacted[128]; /* what --redact has replaced: "hosts 2, paths 17, ..."; "" nothing */
};

/* The whole program, but for how it reads; returns its exit status. */
int inq_cli_main(int argc, char **argv, const struct inq_cli_reading *reading);

/* Reads a small file ("-": stdin) into memory that the caller frees with inq_mem_free, with a NUL
 * behind its end. Fails with
 * INQ_NOT_FOUND, INQ_IO, INQ_LIMIT, INQ_NOMEM. */
int inq_cli_read_file(const char *path, size_t max, char **text, size_t *len, struct inq_err *err);

/* Whether `path` is a file that reads as a schedule. */
bool inq_cli_is_schedule(const struct inq_cli *cli, const char *path);

#endif
