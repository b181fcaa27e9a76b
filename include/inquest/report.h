/* SPDX-License-Identifier: Apache-2.0 */
/* Reports: results to bytes. Nothing is computed here.
 *
 * All writers fail with what the sink returns, with INQ_UNSUPPORTED for a format that they do not
 * write, and with INQ_NOMEM; what they wrote before that is no whole document. */
#ifndef INQUEST_REPORT_H
#define INQUEST_REPORT_H

#include "inquest/analysis.h"
#include "inquest/out.h"

#ifdef __cplusplus
extern "C" {
#endif

enum inq_format {
    INQ_FORMAT_TEXT,
    INQ_FORMAT_JSON,
    INQ_FORMAT_MARKDOWN,
    INQ_FORMAT_CSV,      /* of schedules; of one table of a report */
    INQ_FORMAT_HTML,     /* of reports, where D3 was found at build time */
    INQ_FORMAT_PERFETTO, /* of one job: a trace for ui.perfetto.dev that can be read back */
    INQ_FORMAT_JUNIT,    /* of checks and lint */
    INQ_FORMAT_GITHUB,   /* of checks and lint: workflow annotations */
    INQ_FORMAT_GITLAB,   /* of checks and lint: a code quality report */
    INQ_FORMAT_SARIF,    /* of checks and lint */
    INQ_FORMAT_SVG,      /* of schedules */
    INQ_FORMAT_SQLITE,   /* of reports, where SQLite was found at build time: all tables */
    INQ_FORMAT_CHAKRA,   /* of schedules and replays: graphs for simulators, one file a rank */
    INQ_FORMAT_COUNT
};

struct inq_report_setting {
    const char *name, *value; /* value NULL: not set */
};

/* Zero-initialized options are the defaults. */
struct inq_report_options {
    enum inq_format format;
    int width;    /* text: columns; 0: 100 */
    bool color;   /* text: ANSI colors */
    bool utf8;    /* text: block and line characters */
    bool verbose; /* all rows of every table */
    /* Only the rows and findings of these ranks; NULL: all. Totals and verdict stay. */
    const struct inq_range *ranks;
    size_t n_ranks;
    uint32_t hidden; /* INQ_SECTION_BIT of sections not to be written; the others do not change */
    /* What the analysis was asked for, to be written into the JSON. */
    const struct inq_report_setting *settings;
    size_t n_settings;
    const char *table; /* CSV of a report: which table (inq_report_table) */
};

enum inq_column_type { INQ_TYPE_INTEGER, INQ_TYPE_REAL, INQ_TYPE_TEXT };

/* A column of a table for programs. NULL (CSV: an empty field) is "not measured" or "none". */
struct inq_report_column {
    const char *name;
    enum inq_column_type type;
    const char *unit; /* "ns", "bytes"; "" none */
    const char *definition;
};

/* A table of a report for programs, the same as CSV and in SQLite. Its first column is the job. */
struct inq_report_table {
    const char *name;
    const char *definition;
    const char *key;            /* columns that tell its rows apart, "job, rank_id" */
    const char *const *foreign; /* SQL: keys into other tables; ends with NULL */
    const char *index;          /* columns of a further index; NULL none */
    size_t n_columns;
    const struct inq_report_column *columns;
};

/* The tables in their order; NULL after the last. */
INQ_API const struct inq_report_table *inq_report_table(size_t i);
INQ_API const char *inq_column_type_text(enum inq_column_type type);

/* Writes all reports of one run (one per job) as one document. */
INQ_API int inq_report_write(const struct inq_run *run, struct inq_report *const *reports,
                             size_t n_reports, const struct inq_report_options *options,
                             struct inq_sink sink, struct inq_err *err);

/* Writes what a run holds, without any analysis: jobs, ranks, steps, damage, skipped files. Text or
 * JSON ("inquest-info/1"). */
INQ_API int inq_info_write(const struct inq_run *run, const struct inq_report_options *options,
                           struct inq_sink sink, struct inq_err *err);

struct inq_schedule;
struct inq_schedule_row;
struct inq_schedule_theory;
struct inq_schedule_timing;
struct inq_lint;
struct inq_check;
struct inq_fixes;
struct inq_plan;
struct inq_replay;

/* Writes a timed schedule: a chart and figures as text, "inquest-schedule/1" as JSON, a drawing as
 * SVG, a trace for ui.perfetto.dev, torch.distributed.pipelining's CSV (for which `timing` may be
 * NULL). `theory` (NULL: none) is set beside what was measured. */
INQ_API int inq_schedule_report(const struct inq_schedule *schedule,
                                const struct inq_schedule_timing *timing,
                                const struct inq_schedule_theory *theory,
                                const struct inq_report_options *options, struct inq_sink sink,
                                struct inq_err *err);
/* What every rank does at `at_ns`, as text or JSON. */
INQ_API int inq_schedule_report_at(const struct inq_schedule *schedule,
                                   const struct inq_schedule_timing *timing, int64_t at_ns,
                                   const struct inq_report_options *options, struct inq_sink sink,
                                   struct inq_err *err);
/* Writes what a check found: a table as text or Markdown, "inquest-check/1" as JSON, JUnit XML, or
 * annotations for a GitHub workflow. `name` is of what was checked, `baseline` of the file. */
INQ_API int inq_check_report(const struct inq_check *check, const char *name, const char *baseline,
                             const struct inq_report_options *options, struct inq_sink sink,
                             struct inq_err *err);
/* One of several checks. */
struct inq_check_result {
    const struct inq_check *check;
    const char *name, *baseline;
};
/* The same of several; as JSON one is a document, more are "inquest-check-set/1". */
INQ_API int inq_check_report_all(const struct inq_check_result *results, size_t n,
                                 const struct inq_report_options *options, struct inq_sink sink,
                                 struct inq_err *err);
/* Writes predicted (and executed) fixes: text, Markdown, "inquest-fix/1" as JSON, or HTML (with
 * what inq_fix_timeline has drawn). */
INQ_API int inq_fix_report(const struct inq_fixes *fixes, const struct inq_report_options *options,
                           struct inq_sink sink, struct inq_err *err);

/* Schedules side by side. */
struct inq_schedule_rows {
    const struct inq_schedule_row *rows;
    size_t n;
    double memory_limit;      /* 0: none */
    bool search;              /* best first, the limit counts; else as given */
    bool sizes, interpolated; /* rows differ by micro-batch size; some times are interpolated */
};

/* Writes schedules side by side: a table, or "inquest-schedule-compare/1" as JSON. */
INQ_API int inq_schedule_rows_report(const struct inq_schedule_rows *rows,
                                     const struct inq_report_options *options, struct inq_sink sink,
                                     struct inq_err *err);
/* Writes what lint found in one or several schedules: text, JSON ("inquest-lint/1"; several are
 * "inquest-lint-set/1"), Markdown, and as CI systems take it. */
INQ_API int inq_lint_report(const struct inq_lint *lints, size_t n,
                            const struct inq_report_options *options, struct inq_sink sink,
                            struct inq_err *err);

/* A replay and what it was of. */
struct inq_replay_view {
    const struct inq_replay *replay;
    const struct inq_plan *plan;
    const char *what; /* "1f1b, 4 ranks, 8 micro-batches" */
    const char *fix;  /* "" none */
    const char *work; /* "timed" or "recorded" */
    size_t steps;
    int64_t recorded_ns; /* of what was executed, scaled; -1 not recorded */
};

/* Writes a replay: text, or "inquest-replay/1" as JSON (every op with `verbose`). */
INQ_API int inq_replay_report(const struct inq_replay_view *view,
                              const struct inq_report_options *options, struct inq_sink sink,
                              struct inq_err *err);

/* Writes an error as one line of JSON, "inquest-error/1"; `next` says what to do, "" nothing. */
INQ_API void inq_error_write_json(const struct inq_err *err, const char *next, struct inq_out *out);

#ifdef __cplusplus
}
#endif

#endif
