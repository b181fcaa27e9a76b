/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: what its parts share. Only code in this folder touches argv, the environment,
 * the terminal and the exit status. */
#ifndef INQ_CLI_CLI_H
#define INQ_CLI_CLI_H

#include "inquest/fix.h"
#include "inquest/ingest.h"
#include "inquest/replay.h"
#include "inquest/report.h"

#include "inquest/out.h"

enum inq_exit {
    INQ_EXIT_OK = 0,
    INQ_EXIT_FAILED = 1,
    INQ_EXIT_USAGE = 2,
    INQ_EXIT_FINDING = 3, /* done, and a finding reached --fail-on */
    INQ_EXIT_SIGNAL = 128 /* plus the signal's number */
};

/* ---- options ---------------------------------------------------------------------------------
 *
 * One table drives parsing, --help and completion. The same letter and name may stand in several
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

/* ---- commands -------------------------------------------------------------------------------- */

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

/* Reads argv into *cli; `words` is the caller's to free with inq_cli_release. Returns INQ_EXIT_OK,
 * or INQ_EXIT_USAGE after having said what is wrong. */
int inq_cli_parse(int argc, char **argv, struct inq_cli *cli);
/* The whole program, but for how it reads; returns its exit status. */
int inq_cli_main(int argc, char **argv, const struct inq_cli_reading *reading);
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

/* ---- messages: stderr, as text or (with -f json) as one line of JSON ------------------------- */

/* Says what failed and what to do next; returns the exit status that belongs to the code. */
int inq_cli_fail(const struct inq_cli *cli, const struct inq_err *err, const char *hint);
int inq_cli_usage(const struct inq_cli *cli, const char *hint, const char *fmt, ...)
    INQ_PRINTF(3, 4);
/* One line for people; not with -q. */
void inq_cli_note(const struct inq_cli *cli, const char *fmt, ...) INQ_PRINTF(2, 3);

/* ---- terminal -------------------------------------------------------------------------------- */

/* Whether somebody reads this descriptor of the program's on a terminal. */
bool inq_cli_on_terminal(const struct inq_cli *cli, int fd);

struct inq_cli_progress {
    bool enabled, shown;
    int64_t start_ns, last_ns;
};

void inq_cli_progress_init(const struct inq_cli *cli, struct inq_cli_progress *progress);
/* For inq_ingest_options.progress; cancels after an interrupt. */
int inq_cli_progress_tick(void *progress, const struct inq_progress *now);
void inq_cli_progress_clear(struct inq_cli_progress *progress);

/* ---- signals --------------------------------------------------------------------------------- */

void inq_cli_signals_init(void);
/* The signal that asked us to stop, or 0. */
int inq_cli_interrupted(void);

/* ---- reading and writing --------------------------------------------------------------------- */

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
/* Reads a small file ("-": stdin) into memory that the caller frees with inq_mem_free, with a NUL
 * behind its end. Fails with
 * INQ_NOT_FOUND, INQ_IO, INQ_LIMIT, INQ_NOMEM. */
int inq_cli_read_file(const char *path, size_t max, char **text, size_t *len, struct inq_err *err);

/* Whether `path` is a file that reads as a schedule. */
bool inq_cli_is_schedule(const struct inq_cli *cli, const char *path);
/* Format, width, colours and verbosity by the options and the terminal. */
struct inq_report_options inq_cli_report_options(const struct inq_cli *cli);

/* Where a line of text stands, as the output watches it; all-zero: at its beginning. */
struct inq_cli_line {
    bool inside;   /* something of it is written */
    bool colon;    /* and that is one colon */
    bool escape;   /* in a terminal's escape sequence */
    size_t hashes; /* '#' without a break before here */
};

/* Where results go: stdout, a pager, or a file that appears only when complete. */
struct inq_cli_output {
    const struct inq_cli *cli;
    struct inq_out text; /* collected for stdout */
    int fd;              /* of the temporary file; -1: stdout */
    bool gzip;           /* the file is compressed: collected until it is whole */
    int why;             /* errno of the first write that failed */
    struct inq_cli_line line;
    char *path, *temp;
};

int inq_cli_output_open(const struct inq_cli *cli, struct inq_cli_output *output,
                        struct inq_err *err);
/* The same to `path`, whatever -o says; NULL or "-": stdout. */
int inq_cli_output_open_path(const struct inq_cli *cli, const char *path,
                             struct inq_cli_output *output, struct inq_err *err);
struct inq_sink inq_cli_output_sink(struct inq_cli_output *output);
/* Delivers (code == 0) or drops what was written; returns `code` or the failure to deliver. */
int inq_cli_output_close(struct inq_cli_output *output, int code, struct inq_err *err);
/* Writes collected text to stdout, through a pager when it is a terminal and `page`. */
int inq_cli_stdout(const struct inq_cli *cli, const char *text, size_t n, bool page,
                   struct inq_err *err);

#endif
