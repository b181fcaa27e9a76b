/* SPDX-License-Identifier: Apache-2.0 */
/* What goes to people: messages, progress, and results on a terminal or in a file. */
#ifndef INQ_CLI_TERMINAL_TERMINAL_H
#define INQ_CLI_TERMINAL_TERMINAL_H

#include "inquest/ingest.h"
#include "inquest/out.h"
#include "inquest/report.h"

struct inq_cli;

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

/* ---- results --------------------------------------------------------------------------------- */

/* Format, width, colors and verbosity by the options and the terminal. */
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
