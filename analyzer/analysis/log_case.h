/* SPDX-License-Identifier: Apache-2.0 */
/* What text logs tell of a failure, on the way from lines to a cause. */
#ifndef INQ_ANALYSIS_LOG_CASE_H
#define INQ_ANALYSIS_LOG_CASE_H

#include "base/arena.h"
#include "inquest/failure.h"
#include "inquest/log.h"

/* What a line can be in the story. */
enum inq_log_role {
    INQ_LOG_CONTEXT,  /* worth knowing */
    INQ_LOG_FACT,     /* who is where */
    INQ_LOG_VICTIM,   /* somebody suffers from what happened elsewhere */
    INQ_LOG_TEARDOWN, /* the end is being made */
    INQ_LOG_CAUSE     /* may be what it began with */
};

/* Weights: 80 and more speak for themselves, 55 need something that fits, less is a hint. */
enum { INQ_LOG_STRONG = 80, INQ_LOG_FAIR = 55 };

struct inq_log_meaning {
    enum inq_log_role role;
    enum inq_failure_class cls;
    const char *sub; /* "" none */
    int weight;
};

/* What a line means by itself. */
struct inq_log_meaning inq_log_meaning(const struct inq_log_event *event);
/* What a fault of this kind is, that a run often survives. */
bool inq_log_transient(enum inq_log_kind kind);
/* A line of the machine, not of a process of the job. */
bool inq_log_of_host(enum inq_log_kind kind);
/* An exit code as a signal (9 for -9 and 137), 0 when it is none. */
int64_t inq_log_signal(int64_t code);

/* NVIDIA's Xid numbers. */
const char *inq_xid_name(int64_t code);
struct inq_log_meaning inq_xid_meaning(int64_t code);

/* A line with what other lines say about whose it is. */
struct inq_log_mark {
    const struct inq_log_event *event;
    const struct inq_log *log; /* that it is of */
    struct inq_log_meaning means;
    int32_t rank; /* global; -1 unknown */
    const char *host;
    int64_t time_ns; /* comparable over all logs; INQ_TIME_NONE */
    bool survived;   /* the run went on behind it */
    bool late;       /* after the first timeout or its like: not what it began with */
    bool root;
};

/* What is known of one rank in the group that hangs. */
struct inq_log_standing {
    int32_t rank;
    bool timed_out;
    int64_t seq, enqueued, completed; /* -1 unknown */
    int64_t numel;
    const char *op;
    const struct inq_log_mark *mark;
};

enum inq_log_hang_how {
    INQ_LOG_NO_HANG,
    INQ_LOG_HANG_UNCLEAR, /* too few ranks tell */
    INQ_LOG_NOT_JOINED,   /* some did not enqueue what the others wait in */
    INQ_LOG_NOT_FINISHED, /* some enqueued, but did not finish, what the others have finished */
    INQ_LOG_SILENT,       /* all that tell wait; some tell nothing */
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
    const struct inq_log_mark *first; /* timeout; NULL none */
    size_t n_standing;
    struct inq_log_standing *standing; /* by rank */
    size_t n_suspects;
    int32_t *suspects;               /* ascending */
    const struct inq_log_mark *said; /* a line that names the suspects itself; NULL */
};

struct inq_log_case {
    const struct inq_trace *trace;
    struct inq_arena *arena;
    size_t n_marks;
    struct inq_log_mark *marks; /* by file and line */
    int32_t world;              /* ranks known to be, at least; 0 none known */
    bool dated;                 /* years are known */
    struct inq_log_hang hang;
    size_t n_progress;
    uint32_t *progress; /* marks of that kind */
    size_t n_ends;
    uint32_t *ends;                     /* marks that end a transient fault */
    struct inq_log_mark *cause;         /* NULL: none stands out */
    bool other_clock;                   /* it is one only if its machine's clock is off */
    const struct inq_log_mark *confirm; /* a second source for it; NULL none */
    bool no_memory;
};

/* Fills marks, whose they are, and the world (log_facts.c). */
int inq_log_facts(struct inq_log_case *c, struct inq_err *err);
/* Fills the hang (log_hang.c). */
int inq_log_find_hang(struct inq_log_case *c, struct inq_err *err);
/* Of ranks behind the others: one of them waits in another op than those. */
bool inq_log_other_op(const struct inq_log_hang *hang);
/* Judges the marks and picks the cause (log_cause.c). */
int inq_log_find_cause(struct inq_log_case *c, struct inq_err *err);

/* The file that a line is of. */
const char *inq_log_path(const struct inq_log_case *c, const struct inq_log_event *event);

/* Fills `failure` (with seq -1 and empty texts) from the logs; *found: they tell of one. */
int inq_failure_from_logs(const struct inq_trace *trace, struct inq_arena *arena,
                          struct inq_failure *failure, bool *found, struct inq_err *err);
/* Headline, evidence, moments, victims, alternatives and advice, once class and ranks are known
 * (log_tell.c). */
void inq_log_tell(struct inq_log_case *c, struct inq_failure *failure);

#endif
