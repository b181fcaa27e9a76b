/* SPDX-License-Identifier: Apache-2.0 */
/* What lines of a log are known by. */
#ifndef INQ_INGEST_LOG_PATTERNS_H
#define INQ_INGEST_LOG_PATTERNS_H

#include "ingest/log/line.h"
#include "trace/build/build.h"

/* Text that is at hand after a line, unless the file ends before. */
#define INQ_LOG_AHEAD ((size_t)32 << 10)

/* Where a number or name goes. */
enum inq_log_slot {
    INQ_LOG_SEQ,
    INQ_LOG_ENQUEUED,
    INQ_LOG_COMPLETED,
    INQ_LOG_OP,
    INQ_LOG_NUMEL_IN,
    INQ_LOG_NUMEL_OUT,
    INQ_LOG_SHAPE, /* [2,3]: their product */
    INQ_LOG_TIMEOUT,
    INQ_LOG_RAN,
    INQ_LOG_CODE,
    INQ_LOG_SIGNAL, /* a signal's number or name, kept as the exit code that shells give for it */
    INQ_LOG_RANK,
    INQ_LOG_LOCAL_RANK,
    INQ_LOG_DEVICE,
    INQ_LOG_PID,
    INQ_LOG_NRANKS,
    INQ_LOG_BUS_ID,
    INQ_LOG_PEER,
    INQ_LOG_HOST, /* where the process is that the line is of */
    INQ_LOG_PEER_RANK,
    INQ_LOG_RANKS,   /* a list: "[0, 3]", "0-7" */
    INQ_LOG_SENTENCE /* op: up to the end of the sentence */
};

/* A value stands behind `key`; of several rows for one slot the first that is there counts. */
struct inq_log_field {
    const char *key;
    enum inq_log_slot slot;
};

/* What no row of fields can say. */
enum inq_log_special {
    INQ_LOG_PLAIN,
    INQ_LOG_EXCEPTION,    /* a class name up to the word's end, at the head of the message */
    INQ_LOG_EXIT_ITEM,    /* the lines in front report which rank */
    INQ_LOG_FROM_KERNEL,  /* bus id, code, pid and name of an Xid or SXid */
    INQ_LOG_FALLEN,       /* bus id in this line or the one before */
    INQ_LOG_FAULT,        /* name[pid] in front */
    INQ_LOG_RESULT,       /* nothing but an optional [thread] may follow the number */
    INQ_LOG_SRUN,         /* host: tasks */
    INQ_LOG_STARTED,      /* a number in the lines before */
    INQ_LOG_FINGERPRINTS, /* two ranks, two ops */
    INQ_LOG_IDENTITY,     /* a rank and its process, both with numbers */
    INQ_LOG_STALLED,      /* ranks at the heads of the lines behind it */
    INQ_LOG_TASKS,        /* names of tasks in the lines behind it */
    INQ_LOG_CLAUSE,       /* the words begin what is said; a sentence that has them is talk */
    INQ_LOG_ALONE,        /* the word is all of the message, or a shell's report of a process */
    INQ_LOG_SEVERE,       /* a line of error severity, or NCCL's warning, whatever it tells */
    INQ_LOG_OUTCOME,      /* of a process, told by whoever started it; not 0, and no mere remark */
    INQ_LOG_DESCRIBED,    /* of a pod whose name stands in front */
    INQ_LOG_BOX,          /* MPICH's box: a signal is its exit code */
    INQ_LOG_NEXT_LINE,    /* the message stands in the line behind */
    INQ_LOG_BELOW,        /* its fields stand in the paragraph below it */
    INQ_LOG_WHAT,         /* what an exception of C++ says stands in a line behind it */
    INQ_LOG_WRAPPED,      /* "exited on", and in the line behind it "signal 9 (Killed)." */
    INQ_LOG_DAEMON,       /* Open MPI's box: "Remote daemon: ... on node d23n02" */
    INQ_LOG_TRACEBACK,    /* the exception at its end has a name of no usual form */
    INQ_LOG_HEADING,      /* rules or arrows around a rank or a file */
    INQ_LOG_NORM,         /* a gradient norm, of output that prints no loss */
    INQ_LOG_METRICS       /* a line of training output: no event, but a row of numbers */
};

struct inq_log_pattern {
    enum inq_log_kind kind;
    enum inq_log_special special;
    const char *needle; /* at least 4 bytes; the first 8 have no blank that may vary */
    const char *also;   /* must be in the line, too; with '!' in front: must not; NULL */
    const struct inq_log_field *fields; /* ends with a NULL key; NULL none */
    int64_t code;                       /* given by the wording; -1 */
    bool last;                          /* the rest of the line has no record more */
};

/* All rows; *n gets their number. Of rows with the same needle the first that fits counts: those of
 * machines, schedulers and containers, then all others. */
const struct inq_log_pattern *inq_log_system_patterns(uint32_t *n);
const struct inq_log_pattern *inq_log_patterns(uint32_t *n);

/* How a row is written. */
#define ROW(kind, needle, also, fields)                                                            \
    {                                                                                              \
        INQ_LOG_##kind, INQ_LOG_PLAIN, needle, also, fields, -1, false                             \
    }
#define LAST(kind, needle, also, fields)                                                           \
    {                                                                                              \
        INQ_LOG_##kind, INQ_LOG_PLAIN, needle, also, fields, -1, true                              \
    }
#define CLAUSE(kind, needle, also, fields)                                                         \
    {                                                                                              \
        INQ_LOG_##kind, INQ_LOG_CLAUSE, needle, also, fields, -1, true                             \
    }
#define CODE(kind, needle, also, code)                                                             \
    {                                                                                              \
        INQ_LOG_##kind, INQ_LOG_PLAIN, needle, also, NULL, code, false                             \
    }
#define SPECIAL(kind, needle, also, fields, special)                                               \
    {                                                                                              \
        INQ_LOG_##kind, special, needle, also, fields, -1, false                                   \
    }

/* Room for the names of one event. */
struct inq_log_names {
    char host[256], group[128], op[192], peer[192], text[448];
    int32_t ranks[INQ_LOG_MAX_RANKS];
};

/* Reads what a line that fits `pattern` says; false when it is none of this kind after all. */
bool inq_log_read(const struct inq_log_pattern *pattern, struct inq_log_line *line,
                  struct inq_log_names *names, struct inq_log_event *event);

#endif
