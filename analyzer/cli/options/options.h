/* SPDX-License-Identifier: Apache-2.0 */
/* Options, and what the arguments say with them. */
#ifndef INQ_CLI_OPTIONS_OPTIONS_H
#define INQ_CLI_OPTIONS_OPTIONS_H

#include "inquest/replay.h"
#include "inquest/report.h"

struct inq_cli;
struct inq_command;

/* One table drives parsing, --help and completion. The same letter and name may stand in several
 * rows (a format that one command offers and another does not); a command's mask picks its rows. */
enum inq_option_id {
    INQ_OPT_FORMAT,
    INQ_OPT_OUTPUT,
    INQ_OPT_FOLDER,
    INQ_OPT_RANK,
    INQ_OPT_STEP,
    INQ_OPT_JOB,
    INQ_OPT_TIME,
    INQ_OPT_ONLY,
    INQ_OPT_TABLE,
    INQ_OPT_WHAT_IF,
    INQ_OPT_FIX,
    INQ_OPT_VALIDATE,
    INQ_OPT_TOP,
    INQ_OPT_METHOD,
    INQ_OPT_ALIGN,
    INQ_OPT_REDACT,
    INQ_OPT_REDACT_KEY,
    INQ_OPT_REDACT_MAP,
    INQ_OPT_FAIL_ON,
    INQ_OPT_MAKE,
    INQ_OPT_STAGES,
    INQ_OPT_MICROBATCHES,
    INQ_OPT_CHUNKS,
    INQ_OPT_TIMES,
    INQ_OPT_NO_OVERLAP,
    INQ_OPT_SIZES,
    INQ_OPT_AT,
    INQ_OPT_COMMS,
    INQ_OPT_GROUPING,
    INQ_OPT_MEMORY,
    INQ_OPT_MEMORY_LIMIT,
    INQ_OPT_DIALECT,
    INQ_OPT_TO,
    INQ_OPT_ENGINE,
    INQ_OPT_STEPS,
    INQ_OPT_SCALE,
    INQ_OPT_REPEATS,
    INQ_OPT_WORK,
    INQ_OPT_NO_GRAPH,
    INQ_OPT_REALTIME,
    INQ_OPT_BASELINE,
    INQ_OPT_UPDATE,
    INQ_OPT_FORCE,
    INQ_OPT_ADD,
    INQ_OPT_TOLERANCE,
    INQ_OPT_RULE,
    INQ_OPT_SAMPLES,
    INQ_OPT_SHARE,
    INQ_OPT_REDUCED,
    INQ_OPT_JOBS,
    INQ_OPT_COLOR,
    INQ_OPT_NO_PAGER,
    INQ_OPT_PROGRESS,
    INQ_OPT_QUIET,
    INQ_OPT_VERBOSE,
    INQ_OPT_HELP,
    INQ_OPT_VERSION,
    INQ_OPT_COUNT
};

#define INQ_OPT_BIT(id) (1ULL << (id))
/* What every command takes. */
#define INQ_OPT_COMMON (INQ_OPT_BIT(INQ_OPT_HELP) | INQ_OPT_BIT(INQ_OPT_VERSION))
/* What every command that writes a result takes, its format aside. */
#define INQ_OPT_WRITES                                                                             \
    (INQ_OPT_COMMON | INQ_OPT_BIT(INQ_OPT_OUTPUT) | INQ_OPT_BIT(INQ_OPT_COLOR) |                   \
     INQ_OPT_BIT(INQ_OPT_NO_PAGER) | INQ_OPT_BIT(INQ_OPT_QUIET))
/* What every command that reads traces takes. */
#define INQ_OPT_READS                                                                              \
    (INQ_OPT_BIT(INQ_OPT_JOBS) | INQ_OPT_BIT(INQ_OPT_PROGRESS) | INQ_OPT_BIT(INQ_OPT_ALIGN))

/* What every command that takes names out of what it writes takes. */
#define INQ_OPT_REDACTS                                                                            \
    (INQ_OPT_BIT(INQ_OPT_REDACT) | INQ_OPT_BIT(INQ_OPT_REDACT_KEY) |                               \
     INQ_OPT_BIT(INQ_OPT_REDACT_MAP))

enum inq_completion {
    INQ_COMPLETE_NONE,
    INQ_COMPLETE_FILE,
    INQ_COMPLETE_CHOICES,  /* the words of `choices` */
    INQ_COMPLETE_ANALYSES, /* names of analyses, comma-separated */
    INQ_COMPLETE_TABLES,   /* names of tables, and "list" */
    INQ_COMPLETE_FIXES,    /* specs of fixes; what needs an argument ends in ":" */
    INQ_COMPLETE_FORMATS   /* what the command writes */
};

struct inq_option {
    enum inq_option_id id;
    char letter;         /* 0: none */
    const char *name;    /* without the dashes */
    const char *arg;     /* what the value is called in help; NULL: a flag */
    const char *choices; /* "text|json": the only values; NULL: any */
    enum inq_completion completion;
    const char *help;
};

const struct inq_option *inq_cli_option(enum inq_option_id id);

/* ---- formats --------------------------------------------------------------------------------- */

#define INQ_FORMAT_BIT(format) (1U << (format))

struct inq_cli_format {
    enum inq_format format;
    const char *name;      /* as -f takes it */
    const char *what;      /* in a sentence */
    const char *suffix[4]; /* of -o; NULL ends the list */
};

/* One row per format. */
const struct inq_cli_format *inq_cli_format(enum inq_format format);
/* Whether what is written to this path is compressed: its name ends in .gz. */
bool inq_cli_is_gzip(const char *path);
/* The names of the formats in `mask` into buf, with `between` them and `last` before the last of
 * them ("text, json or markdown"); returns buf. */
char *inq_cli_format_list(unsigned mask, const char *between, const char *last, char *buf,
                          size_t size);

/* ---- values ---------------------------------------------------------------------------------- */

/* Reads argv into *cli; `words` is the caller's to free with inq_cli_release. Returns INQ_EXIT_OK,
 * or INQ_EXIT_USAGE after having said what is wrong. */
int inq_cli_parse(int argc, char **argv, struct inq_cli *cli);
void inq_cli_release(struct inq_cli *cli);
/* The value of the option's next appearance from said[*at] on, moving *at past it; NULL: no more.
 */
const char *inq_cli_next_value(const struct inq_cli *cli, enum inq_option_id id, size_t *at);
/* The whole number from `least` to `most`, or the positive one, that the option says; *value stays
 * as it is when it was not given. Says what is wrong and returns an exit status. */
int inq_cli_whole(const struct inq_cli *cli, enum inq_option_id id, int64_t least, int64_t most,
                  int64_t *value);
int inq_cli_positive(const struct inq_cli *cli, enum inq_option_id id, double *value);
/* How --repeats, --work, --no-graph and --realtime say that a step is executed; an interrupt stops
 * it. Says what is wrong and returns an exit status. */
int inq_cli_execution(const struct inq_cli *cli, struct inq_replay_options *options);
/* Reads a number, perhaps negative, perhaps with a unit of bytes ("1.5GiB", "-300M") of `len`
 * bytes; false: it is none. */
bool inq_cli_size(const char *text, size_t len, double *value, bool *has_unit);
/* Reads "0-7,12" or "10..20" into ranges that the caller frees with inq_mem_free. Fails with
 * INQ_USAGE. */
int inq_cli_ranges(const char *text, struct inq_range **ranges, size_t *n, struct inq_err *err);
/* Cuts a trace down to the one range of steps of -s, if it was given. Fails with INQ_USAGE, and as
 * inq_trace_keep_steps does. */
int inq_cli_keep_steps(const struct inq_cli *cli, struct inq_trace *trace, struct inq_err *err);

/* The one of the `n` words that `text` most probably meant, or NULL. */
const char *inq_cli_nearest(const char *text, const char *const *words, size_t n);

/* Help on all commands, or on one. */
void inq_cli_help(const struct inq_command *command, struct inq_out *out);

#endif
