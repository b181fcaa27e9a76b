/* SPDX-License-Identifier: Apache-2.0 */
/* What text logs report a failure, on the way from lines to a cause. */
#ifndef INQ_ANALYSIS_FAILURE_LOGS_LOGS_H
#define INQ_ANALYSIS_FAILURE_LOGS_LOGS_H

#include "analysis/failure/logs/anchors.h"
#include "analysis/failure/rules/rules.h"
#include "base/arena.h"
#include "inquest/failure.h"
#include "inquest/flight.h"
#include "inquest/log.h"

/* A line that says itself that it is only a warning is a hint at most. */
enum { INQ_LOG_WARNED = 30 };

/* Its row of the table, as far as it holds where the line stands. */
struct inq_log_meaning {
    enum inq_log_role role;
    enum inq_failure_class cls;
    const char *sub; /* "" none */
    int weight;
    bool warned; /* the line says itself that it is a warning */
    const struct inq_failure_rule *rule;
};

/* A line with what other lines say about whose it is. */
struct inq_attributed_line {
    const struct inq_log_event *event;
    const struct inq_log *log; /* that it is of */
    struct inq_log_meaning means;
    int32_t rank;      /* global; -1 unknown */
    int32_t part_rank; /* of the part of the file that it stands in; -1 unknown */
    uint64_t part_end; /* line of the heading of the next part; UINT64_MAX none */
    const char *host;
    int64_t time_ns; /* comparable over all logs; INQ_TIME_NONE */
    bool went_on;    /* its output reports more steps than processes still alive can make alone */
    bool beside;     /* what is behind it is of other processes and proves nothing of its own */
    bool survived;   /* the run went on after it */
    bool by_order;   /* that rests on the order of lines alone, which flushing may change */
    bool raised;     /* by an exception */
    bool fatal;      /* an exception, abort or signal that ends its own process: what others wrote
                        behind it proves nothing */
    bool late;       /* after the first timeout or its like: not what it began with */
    bool root;
    const struct inq_attributed_line *twin; /* of the same line, and tells more; NULL */
};

/* What is known of one rank in the group that hangs. */
struct inq_rank_progress {
    int32_t rank;
    bool timed_out;
    int64_t seq, enqueued, completed; /* -1 unknown */
    int64_t numel;
    const char *op;
    const struct inq_attributed_line *mark;
};

enum inq_log_hang_how {
    INQ_LOG_NO_HANG,
    INQ_LOG_HANG_UNCLEAR, /* too few ranks tell */
    INQ_LOG_NOT_JOINED,   /* some did not enqueue what the others wait in */
    INQ_LOG_NOT_FINISHED, /* some enqueued, but did not finish, what the others have finished */
    INQ_LOG_SILENT,       /* all that tell wait; some have no record */
    INQ_LOG_DIFFERENT,    /* they wait in different collectives of one number */
    INQ_LOG_ALL_WAIT,
    INQ_LOG_ALL_DONE /* none has a collective left to finish */
};

struct inq_log_hang {
    enum inq_log_hang_how how;
    const char *group, *op;        /* "" unknown */
    int64_t seq, numel;            /* -1 unknown */
    int64_t start_ns, detected_ns; /* INQ_TIME_NONE unknown */
    int64_t timeout_ms;
    const struct inq_attributed_line *first; /* timeout; NULL none */
    size_t n_progress;
    struct inq_rank_progress *progress; /* by rank */
    size_t n_suspected;
    int32_t *suspected; /* ascending */
    size_t n_waits;
    struct inq_failure_wait *waits;         /* by what the ranks printed */
    const struct inq_attributed_line *said; /* a line that names the suspected itself; NULL */
};

/* Marks of one kind, in their order. */
struct inq_attributed_lines {
    size_t n;
    const struct inq_attributed_line **at;
};

struct inq_log_case {
    const struct inq_trace *trace;
    struct inq_arena *arena;
    size_t n_marks;
    struct inq_attributed_line *marks; /* by file and line */
    int32_t world;                     /* ranks known to be, at least; 0 none known */
    bool dated;                        /* years are known */
    struct inq_log_hang hang;
    struct inq_attributed_lines progress;
    struct inq_attributed_line *cause; /* NULL: none stands out */
    size_t n_earlier;                  /* starts of the workers before it */
    struct inq_attributed_line *floor; /* an error line that the state of the ranks outweighs */
    bool ended_well, ended_badly;
    bool tasks_are_ranks; /* srun started the ranks themselves */
    size_t n_absent;      /* ranks that say nothing of lost peers where all others do, ascending */
    int32_t *absent;
    bool other_clock;                          /* it is one only if its machine's clock is off */
    const struct inq_attributed_line *confirm; /* a second source for it; NULL none */
    const char *version, *other_version;       /* of NCCL, where processes differ; NULL */
    bool no_memory;
};

/* Fills marks, whose they are, and the world (analysis/failure/logs/facts.c). */
int inq_log_facts(struct inq_log_case *c, struct inq_err *err);
/* What each rank with a progress printed, as a dump would tell it; `group` with its members, NULL:
 * these are not known (blocked.c). */
int inq_log_records(struct inq_log_case *c, const struct inq_flight_group *group,
                    struct inq_flight_dump **dumps, size_t *n, struct inq_err *err);
/* Reads the logs' lines and fills the hang; `c` has trace and arena (blocked.c). */
int inq_log_find_hang(struct inq_log_case *c, struct inq_err *err);
/* Of ranks behind the others: one of them waits in another op than those. */
bool inq_log_other_op(const struct inq_log_hang *hang);
/* Fills the absent ranks, and excuses exits of those that lost them (absent.c). */
int inq_log_find_absent(struct inq_log_case *c, struct inq_err *err);
/* Judges the marks and picks the cause (analysis/failure/logs/cause.c). */
int inq_log_find_cause(struct inq_log_case *c, struct inq_err *err);

/* "0000:9b:00.0", "" for none. */
const char *inq_log_bus_text(struct inq_log_case *c, uint64_t bus);
/* The first line, what to do and what else it could be (compose.c). */
void inq_log_compose(struct inq_log_case *c, struct inq_failure *failure);

/* The line of a victim that says most: one that names somebody, else the first; NULL none
 * (anchors.c). */
const struct inq_attributed_line *inq_log_telling_victim(const struct inq_log_case *c);

/* As much of a line as a headline quotes. */
enum { INQ_LOG_QUOTE = 170 };
/* `text` cut at a word's end, without a dot at the end; of a whole `line` its message, behind tags,
 * times, severities and places in source code (quote.c). */
const char *inq_log_quote(struct inq_log_case *c, const char *text, bool line);

/* Whether a rank of the hang waited for others until its timeout. */
bool inq_log_waited(const struct inq_log_case *c, int32_t rank);
/* The file that a line is of. */
const char *inq_log_path(const struct inq_log_case *c, const struct inq_log_event *event);

/* Fills `failure` (with seq -1 and empty texts) from the logs, whose hang is known; *found: they
 * report one. */
int inq_failure_from_logs(struct inq_log_case *c, struct inq_failure *failure, bool *found,
                          struct inq_err *err);
/* Headline, evidence, moments, victims, alternatives and advice, once class and ranks are known
 * (analysis/failure/logs/explain.c). */
void inq_log_explain(struct inq_log_case *c, struct inq_failure *failure);

#endif
