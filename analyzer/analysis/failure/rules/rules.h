/* SPDX-License-Identifier: Apache-2.0 */
/* The table of causes: what each kind of line means, what is said of a run that it ended, what to
 * do then, and what would tell more. A row is the only place where any of that stands. */
#ifndef INQ_ANALYSIS_FAILURE_RULES_RULES_H
#define INQ_ANALYSIS_FAILURE_RULES_RULES_H

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
    /* Sentence of the headline: {who} {Who} where it began, {at} the user's frame, {exc} exception
     * and message, {op}, {peer}, {code}, {text} the message, {hang} the collective, {xid}. NULL:
     * that of the class. */
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
    INQ_SITUATION_NCCL_VERSIONS /* nodes with different versions, and messages that do not fit */,
    INQ_SITUATION_COUNT
};
/* Its row, with a class only where it decides that. Never NULL. */
const struct inq_failure_rule *inq_failure_situation_rule(enum inq_failure_situation situation);
/* The row of an Xid, which names its own severity. Never NULL. */
const struct inq_failure_rule *inq_xid_rule(int64_t code, bool nonfatal);
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
