/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of an XSpace (tensorflow/tsl profiler, xplane.proto): planes of lines of events,
 * with names and statistics in tables of the plane. Views into the bytes; nothing is copied. */
#ifndef INQ_INGEST_XLA_PLANE_H
#define INQ_INGEST_XLA_PLANE_H

#include "base/hash.h"
#include "ingest/wire/wire.h"
#include "ingest/xla/hlo.h"

/* X(NAME, "name"): the statistics that are asked for. */
#define INQ_XLA_STATS(X)                                                                           \
    X(CORRELATION, "correlation_id")                                                               \
    X(HLO_OP, "hlo_op")                                                                            \
    X(HLO_CATEGORY, "hlo_category")                                                                \
    X(LONG_NAME, "long_name")                                                                      \
    X(KERNEL_DETAILS, "kernel_details")                                                            \
    X(ANNOTATION, "annotation")                                                                    \
    X(TF_OP, "tf_op")                                                                              \
    X(SHAPE, "shape")                                                                              \
    X(STEP_NUM, "step_num")                                                                        \
    X(STEP_NAME, "step_name")                                                                      \
    X(GROUP_ID, "group_id")                                                                        \
    X(DEVICE_ID, "device_id")                                                                      \
    X(DEVICE_TYPE, "device_type_string")                                                           \
    X(CORE_COUNT, "core_count")                                                                    \
    X(START_TIME, "profile_start_time")

enum inq_xla_stat_id {
    INQ_XLA_STAT_OTHER,
#define INQ_XLA_STAT_ENUM(name, text) INQ_XLA_STAT_##name,
    INQ_XLA_STATS(INQ_XLA_STAT_ENUM)
#undef INQ_XLA_STAT_ENUM
        INQ_XLA_STAT_COUNT
};

struct inq_xla_stat {
    enum inq_xla_stat_id id;
    int64_t number;           /* of the integer kinds; 0 else */
    struct inq_hlo_text text; /* of strings and references to them */
};

struct inq_xla_event {
    uint64_t metadata;
    int64_t offset_ps, dur_ps;
    bool counted;          /* it stands for many: has a count in the place of a time */
    struct inq_wire stats; /* the message, for inq_xla_stats */
};

struct inq_xla_line {
    int64_t id, timestamp_ns;
    struct inq_hlo_text name;
    struct inq_wire events; /* the message, for inq_xla_next_event */
};

/* What the plane's table says of an event; `seen` is for the caller's use, 0 at first. */
struct inq_xla_meta {
    struct inq_hlo_text name, display;
    struct inq_wire message;
    uint32_t seen;
};

/* All-zero is releasable. */
struct inq_xla_plane {
    struct inq_hlo_text name;
    struct inq_wire message;
    bool cut; /* the file ends within it: its tables, which stand last, are not whole */
    size_t n_metas, cap_metas;
    struct inq_xla_meta *metas;
    struct inq_map meta_by_id;
    size_t n_names, cap_names;
    struct inq_hlo_text *names; /* of statistics */
    uint8_t *known;             /* [n_names] enum inq_xla_stat_id */
    size_t cap_known;
    struct inq_map name_by_id;
};

/* Reads the name and the tables. Fails with INQ_NOMEM, INQ_LIMIT. */
int inq_xla_plane_init(struct inq_xla_plane *plane, struct inq_wire message, struct inq_err *err);
void inq_xla_plane_release(struct inq_xla_plane *plane);
/* The name alone. */
struct inq_hlo_text inq_xla_plane_name(struct inq_wire message);

/* The lines of a plane, one after the other; `rest` is plane->message at first. */
bool inq_xla_next_line(struct inq_wire *rest, struct inq_xla_line *line);
/* The events of a line; `rest` is line->events at first. False at the end; rest->bad: it was cut.
 */
bool inq_xla_next_event(struct inq_wire *rest, struct inq_xla_event *event);
/* The statistics of an event, of its metadata or of a plane: those of field `number` in the
 * message `rest`. */
bool inq_xla_next_stat(const struct inq_xla_plane *plane, uint32_t number, struct inq_wire *rest,
                       struct inq_xla_stat *stat);
/* NULL: the plane has no such row. */
struct inq_xla_meta *inq_xla_meta_of(const struct inq_xla_plane *plane, uint64_t id);

/* Numbers of the fields that hold statistics. */
enum { INQ_XLA_EVENT_STATS = 4, INQ_XLA_META_STATS = 5, INQ_XLA_PLANE_STATS = 6 };

#endif
