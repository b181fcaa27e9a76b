/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to perfetto*.c: a trace and its findings as slices on tracks, for ui.perfetto.dev. */
#ifndef INQ_REPORT_RENDER_PERFETTO_PERFETTO_H
#define INQ_REPORT_RENDER_PERFETTO_PERFETTO_H

#include "base/json.h"
#include "report/report.h"
#include "trace/build/build.h"

/* What a slice is of, and with it what `row` counts. */
enum inq_slice_kind {
    INQ_SLICE_EVENT,   /* of the rank's events */
    INQ_SLICE_NOTE,    /* of its notes */
    INQ_SLICE_CALL,    /* of its calls */
    INQ_SLICE_STEP,    /* of the trace's steps */
    INQ_SLICE_IDLE,    /* enum inq_gap_cause */
    INQ_SLICE_WAIT,    /* of the collectives */
    INQ_SLICE_LOST,    /* of the account's waits; `extra`: of its causes */
    INQ_SLICE_PATH,    /* of the critical path's segments */
    INQ_SLICE_FINDING, /* of the findings; `extra`: of its evidence, INQ_NONE: none has a time */
    INQ_SLICE_LAUNCH,  /* an arrow begins: number of the flow */
    INQ_SLICE_LAUNCHED,
    INQ_SLICE_NEXT, /* the same along the critical path */
    INQ_SLICE_FOLLOWS
};

struct inq_slice {
    int64_t start_ns, dur_ns;
    uint32_t process; /* 0: all of the run; else 1 + index of the rank, which is its pid */
    uint32_t tid;
    uint32_t row, extra;
    uint8_t kind; /* enum inq_slice_kind */
};

/* A row of the viewer. Slices of one nest. */
struct inq_track {
    const char *name;
    uint32_t process, tid;
    uint32_t lane; /* of the rank; INQ_NONE: added to the recording */
    int32_t place; /* order in its process */
};

struct inq_perfetto {
    const struct inq_context *context;
    const struct inq_trace *trace;
    const struct inq_report *report;
    size_t n_slices, cap_slices;
    struct inq_slice *slices;
    size_t n_tracks, cap_tracks;
    struct inq_track *tracks;
    uint32_t n_flows;
    uint32_t *group_id; /* [n_groups] in the file; INQ_NONE: not recorded, so not written */
    int64_t base_ns;    /* what times in the file count from */
    struct inq_err *err;
};

/* The pid of a process; that of the whole run comes after those of the ranks. */
static inline int64_t inq_perfetto_pid(const struct inq_perfetto *p, uint32_t process)
{
    return process == 0 ? (int64_t)p->trace->n_ranks + 1 : process;
}

/* Whether the rank (index) was asked for. */
bool inq_perfetto_shows(const struct inq_perfetto *p, size_t rank);
/* What was recorded (events, annotations, driver calls, and arrows from launches to their work),
 * and what the analyses found. */
int inq_perfetto_fill(struct inq_perfetto *p);

#endif
