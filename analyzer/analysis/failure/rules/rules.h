/* SPDX-License-Identifier: Apache-2.0 */
/* The table of causes: what each kind of line means, what is said of a run that it ended, what to
 * do then, and what would tell more. A row is the only place where any of that stands. */
#ifndef INQ_ANALYSIS_FAILURE_RULES_RULES_H
#define INQ_ANALYSIS_FAILURE_RULES_RULES_H

#include "base/arena.h"
#include "inquest/failure.h"
#include "inquest/log.h"

/* What a line can be in the course of a failure. */
enum inq_log_role {
    INQ_LOG_CONTEXT,  /* worth knowing */
    INQ_LOG_FACT,     /* who is where */
    INQ_LOG_VICTIM,   /* somebody suffers from what happened elsewhere */
    INQ_LOG_TEARDOWN, /* the end is being made */
    INQ_LOG_CAUSE     /* may be what it began with */
};

/* Weights: 80 and more proves, 55 suggests and needs something that fits, less is a hint. */
enum { INQ_LOG_STRONG = 80, INQ_LOG_FAIR = 55 };

enum { INQ_RULE_NEXT = 3 };

struct inq_failure_rule {
    enum inq_log_kind kind;
    int code;         /* of the line; -1 any */
    const char *name; /* in the exception's or error's name; NULL any */
    const char *text; /* in the line; NULL any */
    enum inq_log_role role;
    enum inq_failure_class cls;
    const char *sub; /* "" none */
    int weight;
    /* Sentence of the headline; one that ends with a dot is all that is said. {who} {Who} where it
     * began, {at} the user's frame, {exc} exception and message, {op}, {peer}, {code}, {text} the
     * message, {hang} the collective, {xid}. NULL: that of the class. */
    const char *headline;
    const char *advice;              /* NULL: that of the class */
    const char *next[INQ_RULE_NEXT]; /* what else it could be, and what would tell; NULL none */
};

/* The rows of lines of machines, schedulers and containers; *n gets their number. */
const struct inq_failure_rule *inq_failure_system_rules(size_t *n);

/* The first row that takes the line; never NULL. */
const struct inq_failure_rule *inq_failure_rule_of(const struct inq_log_event *event);
/* The row of a class without a line: of ranks that wait, or of nothing known. Never NULL. */
const struct inq_failure_rule *inq_failure_class_rule(enum inq_failure_class cls);
/* What no single line tells: the state of ranks and groups, or several lines together. */
enum inq_failure_situation {
    INQ_SITUATION_NONE,          /* a line's row or that of the class says it all */
    INQ_SITUATION_NCCL_VERSIONS, /* processes with different versions, and messages that do not fit
                                  */
    /* by logs: nobody names a cause */
    INQ_SITUATION_XID_FOLLOWS,
    INQ_SITUATION_WATCHDOG_STUCK,
    INQ_SITUATION_ACCUSED,     /* others say whose log to read */
    INQ_SITUATION_WORKER_LOST, /* whoever started it says so */
    INQ_SITUATION_LAST_ERROR,
    INQ_SITUATION_PEER_FAILED,
    INQ_SITUATION_STOPPED,
    INQ_SITUATION_HUNG_UP,
    INQ_SITUATION_UNTOLD,
    INQ_SITUATION_PEER_NAMED, /* by its address */
    /* by logs: ranks wait */
    INQ_SITUATION_SILENT, /* of an unknown rank, which may tell elsewhere */
    INQ_SITUATION_ALL_DONE,
    INQ_SITUATION_ALL_DONE_ON_CPU,
    INQ_SITUATION_ALL_WAIT, /* that tell anything */
    INQ_SITUATION_NO_ERROR, /* of a rank whose output is here, while the others wait */
    INQ_SITUATION_NOT_JOINED,
    INQ_SITUATION_NO_LOSS, /* of a peer, which all others tell */
    INQ_SITUATION_RESTARTED,
    INQ_SITUATION_NO_HEARTBEAT,
    INQ_SITUATION_KILLED_LATE,
    INQ_SITUATION_LINK,
    INQ_SITUATION_DIFFER,
    INQ_SITUATION_DIFFER_SAID, /* by a line that names nobody */
    /* what may be said beside a cause */
    INQ_SITUATION_OWN_FRAME, /* of an exception */
    INQ_SITUATION_OTHER_CLOCK,
    INQ_SITUATION_OTHER_OP,
    INQ_SITUATION_COUNTERS,
    /* by dumps */
    INQ_SITUATION_ON_GPU,
    INQ_SITUATION_ON_CPU,
    INQ_SITUATION_MEMBERS_DIFFER,
    INQ_SITUATION_LONE,
    INQ_SITUATION_CIRCLE,
    INQ_SITUATION_JOINED,
    INQ_SITUATION_JOINED_ELSEWHERE,
    INQ_SITUATION_UNFOLLOWED,
    INQ_SITUATION_UNCLEAR,
    INQ_SITUATION_OLDER,
    INQ_SITUATION_SCATTERED,
    INQ_SITUATION_SEVERAL_LATE,
    INQ_SITUATION_DOUBTFUL,
    INQ_SITUATION_STALE,
    INQ_SITUATION_UNPLACED,
    INQ_SITUATION_NO_DUMP,
    INQ_SITUATION_EARLY_DUMPS,
    INQ_SITUATION_MISSING_AWAITED,
    INQ_SITUATION_MISSING,
    INQ_SITUATION_COUNT
};
/* Its row: a class only where it decides that, and no more than it has to say. Never NULL. */
const struct inq_failure_rule *inq_failure_situation_rule(enum inq_failure_situation situation);

/* What stands for a field of a sentence. */
typedef const char *inq_failure_say(void *ctx, const char *name, size_t n);
/* A sentence with its fields filled in. */
const char *inq_failure_fill(struct inq_arena *arena, const char *format, inq_failure_say *say,
                             void *ctx);
/* The row of an Xid, which names its own severity. Never NULL. */
const struct inq_failure_rule *inq_xid_rule(int64_t code, const char *text);
/* NVIDIA's name of an Xid. */
const char *inq_xid_name(int64_t code);

/* ---- how a row is written ----------------------------------------------------------------------
 */

/* What is advised or asked for in more than one row. */
#define DRAIN                                                                                      \
    "Drain the node, reset or replace the GPU, and restart from the last checkpoint elsewhere."
#define LINKS                                                                                      \
    "Check links, ports and switches between the named nodes, and the counters of their network "  \
    "cards."
#define STORAGE "Check the file system and the servers behind it at the time of the failure."
#define MEMORY                                                                                     \
    "Find what grows in host memory (data loader workers, pinned buffers, checkpoints), or raise " \
    "the job's memory limit."
#define TRACEBACK "Read the traceback of this rank; timeouts of others are its consequence."
#define PEER_LOG  "Read the log of the process at the other end: it failed first."
#define STACKS    "Compare the stacks of both sides: a branch of the program depends on the rank."
#define FLIGHT                                                                                     \
    "Turn Flight Recorder on (TORCH_NCCL_TRACE_BUFFER_SIZE) and collect the logs of all ranks."

#define ASK_XID                                                                                    \
    "a fault of the GPU: an Xid 48, 74, 79, 94 or 95 in the node's kernel log would confirm it"
#define ASK_PEER    "the process or node at the other end failed first: check its log"
#define ASK_NETWORK "the network between them: check kernel logs and link counters of both nodes"
#define ASK_KILLER                                                                                 \
    "killed from outside (scheduler, health check, operator), or for another limit: check the "    \
    "kernel log (oom-kill) and the scheduler's record"
#define ASK_CORE                                                                                   \
    "a driver, library or memory fault of the node: check the core file and the kernel log"

#define ANY                        NULL, NULL
#define AS(role, cls, sub, weight) INQ_LOG_##role, INQ_FAILURE_##cls, sub, weight
#define KIND(kind)                 INQ_LOG_##kind, -1, ANY
#define CODED(kind, code)          INQ_LOG_##kind, code, ANY
#define NAMED(kind, name)          INQ_LOG_##kind, -1, name, NULL
#define SAYS(kind, text)           INQ_LOG_##kind, -1, NULL, text
#define PLAIN_FACT                                                                                 \
    AS(FACT, UNKNOWN, "", 0), NULL, NULL,                                                          \
    {                                                                                              \
        NULL                                                                                       \
    }
#define PLAIN_VICTIM                                                                               \
    AS(VICTIM, UNKNOWN, "", 0), NULL, NULL,                                                        \
    {                                                                                              \
        NULL                                                                                       \
    }
#define PLAIN_CONTEXT                                                                              \
    AS(CONTEXT, UNKNOWN, "", 0), NULL, NULL,                                                       \
    {                                                                                              \
        NULL                                                                                       \
    }

#endif
