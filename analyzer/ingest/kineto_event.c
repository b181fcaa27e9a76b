/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of an event: GPU work, driver calls, annotations, collectives; slices of generic
 * traces. Everything else streams past. */
#include "ingest/kineto.h"

#include "trace/classify.h"

#include <string.h>

/* Name prefixes of cpu_ops that are kept. */
static const char comm_op[] = "record_param_comms";
static const char step_op[] = "ProfilerStep#";

static bool starts_with(struct inq_text text, const char *prefix)
{
    size_t n = strlen(prefix);
    return text.n >= n && memcmp(text.p, prefix, n) == 0;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Start and duration of a complete event; false (and counted) when it has no place in time. */
static bool times_of(struct inq_kineto *k, const struct inq_scan_event *event, int64_t offset,
                     int64_t *start_ns, int64_t *dur_ns)
{
    if (!INQ_HAS(event, TS)) {
        inq_kineto_damage(k, INQ_DAMAGE_BAD_EVENT, 1, offset);
        return false;
    }
    *start_ns = event->number[INQ_FIELD_TS];
    *dur_ns = INQ_HAS(event, DUR) ? event->number[INQ_FIELD_DUR] : 0;
    if (*dur_ns < 0) {
        inq_kineto_damage(k, INQ_DAMAGE_NEGATIVE_DURATION, 1, offset);
        *dur_ns = 0;
    }
    if (*start_ns > INQ_KINETO_MAX_TIME || *start_ns < -INQ_KINETO_MAX_TIME ||
        *dur_ns > INQ_KINETO_MAX_TIME) {
        inq_kineto_damage(k, INQ_DAMAGE_BAD_NUMBER, 1, offset);
        return false;
    }
    k->rank->fractional_us |= event->fraction;
    return true;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* A stream as a number: args.stream, else tid, which may be written "stream 7". */
static int64_t stream_of(const struct inq_scan_event *event)
{
    if (INQ_HAS(event, STREAM)) {
        return event->number[INQ_FIELD_STREAM];
    }
    if (!INQ_HAS(event, TID)) {
        return -1;
    }
    struct inq_text text = event->text[INQ_FIELD_TID];
    if (text.p == NULL) {
        return event->number[INQ_FIELD_TID];
    }
    int64_t stream = -1;
    if (starts_with(text, "stream ") && inq_scan_int(text.p + 7, text.n - 7, &stream)) {
        return stream;
    }
    return (int64_t)(inq_hash_bytes(text.p, text.n) >> 1);
}

static int64_t device_of(const struct inq_scan_event *event)
{
    if (INQ_HAS(event, DEVICE)) {
        return event->number[INQ_FIELD_DEVICE];
    }
    return INQ_HAS(event, PID) && event->text[INQ_FIELD_PID].p == NULL
               ? event->number[INQ_FIELD_PID]
               : -1;
}

int inq_kineto_lane(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat,
                    uint32_t *lane)
{
    if (k->exported) { /* its tracks are known, on whatever stream they are */
        uint32_t track = 0;
        int code = inq_kineto_thread(k, event, &track);
        *lane = code == INQ_OK ? k->threads[track].lane : 0;
        return code;
    }
    switch (cat) {
    case INQ_CAT_KERNEL:
    case INQ_CAT_MEMCPY:
    case INQ_CAT_MEMSET:
    case INQ_CAT_SYNC:
    case INQ_CAT_GPU_NOTE:
        return inq_kineto_stream_lane(k, device_of(event), stream_of(event), lane);
    case INQ_CAT_OTHER:
    case INQ_CAT_CPU_OP:
    case INQ_CAT_OPERATOR:
    case INQ_CAT_NOTE:
    case INQ_CAT_CALL:
    case INQ_CAT_PASSING:
    case INQ_CAT_OP:
        break;
    }
    uint32_t thread = 0;
    int code = inq_kineto_thread(k, event, &thread);
    return code == INQ_OK ? inq_kineto_thread_lane(k, thread, lane) : code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct {
    enum inq_event_kind kind;
    enum inq_op_class cls;
} row_kinds[] = {
    [INQ_CAT_OTHER] = {INQ_EVENT_SLICE, INQ_CLASS_OTHER},
    [INQ_CAT_KERNEL] = {INQ_EVENT_KERNEL, INQ_CLASS_COMPUTE},
    [INQ_CAT_MEMCPY] = {INQ_EVENT_MEMCPY, INQ_CLASS_COPY},
    [INQ_CAT_MEMSET] = {INQ_EVENT_MEMSET, INQ_CLASS_COPY},
    [INQ_CAT_SYNC] = {INQ_EVENT_SYNC, INQ_CLASS_OTHER},
};

int inq_kineto_add_row(struct inq_kineto *k, enum inq_cat cat, const struct inq_part *part)
{
    struct inq_event_row row = {
        .start_ns = part->start_ns,
        .dur_ns = part->dur_ns,
        .name = part->name,
        .lane = part->lane,
        .call = part->correlation < 0 ? INQ_NONE : (uint32_t)part->correlation,
        .comm = part->comm,
        .label = INQ_NONE,
        .kind = row_kinds[cat].kind,
        .cls = row_kinds[cat].cls,
    };
    if (cat == INQ_CAT_KERNEL) {
        row.cls = part->comm != INQ_NONE ? INQ_CLASS_COMM : inq_kineto_kernel_class(k, part->name);
    }
    k->slices += cat == INQ_CAT_OTHER;
    return inq_rank_add_event(k->rank, &row, k->err);
}

int inq_kineto_add_note(struct inq_kineto *k, enum inq_cat cat, const struct inq_part *part)
{
    struct inq_note note = {.start_ns = part->start_ns,
                            .dur_ns = part->dur_ns,
                            .name = part->name,
                            .lane = part->lane,
                            .number = -1,
                            .on_gpu = cat == INQ_CAT_GPU_NOTE};
    const struct inq_strtab *names = &k->shard->names;
    note.kind = (uint8_t)inq_classify_note(inq_strtab_get(names, part->name),
                                           inq_strtab_len(names, part->name), &note.number);
    return inq_rank_add_note(k->rank, &note, k->err);
}

/* GPU work: the communication of a kernel too. */
static int add_gpu_work(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat,
                        struct inq_part *part, int64_t offset)
{
    bool comm = cat == INQ_CAT_KERNEL && (INQ_HAS(event, COLLECTIVE) ||
                                          inq_kineto_kernel_class(k, part->name) == INQ_CLASS_COMM);
    int code = comm ? inq_kineto_comm(k, event, true, offset, &part->comm) : INQ_OK;
    return code == INQ_OK ? inq_kineto_add_row(k, cat, part) : code;
}

/* Whether a cpu_op of that name is an annotation. */
static bool is_note(enum inq_cat cat, struct inq_text name)
{
    int64_t number;
    return starts_with(name, step_op) ||
           (cat == INQ_CAT_OPERATOR &&
            inq_classify_note(name.p, name.n, &number) != INQ_NOTE_OTHER);
}

/* Whether anything of a complete event is kept; the class under which it is. */
static bool wanted(const struct inq_kineto *k, const struct inq_scan_event *event,
                   enum inq_cat *cat)
{
    switch (*cat) {
    case INQ_CAT_CPU_OP:
    case INQ_CAT_OPERATOR:
        if (k->exported || !INQ_HAS(event, NAME) || !is_note(*cat, event->text[INQ_FIELD_NAME])) {
            return false;
        }
        *cat = INQ_CAT_NOTE;
        return true;
    case INQ_CAT_PASSING:
        return false;
    case INQ_CAT_OTHER:
        return !k->kineto || k->exported;
    case INQ_CAT_OP:
    case INQ_CAT_NOTE:
    case INQ_CAT_GPU_NOTE:
    case INQ_CAT_KERNEL:
    case INQ_CAT_MEMCPY:
    case INQ_CAT_MEMSET:
    case INQ_CAT_SYNC:
    case INQ_CAT_CALL:
        return true;
    }
    return false;
}

static int add_complete(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat,
                        int64_t offset)
{
    if ((cat == INQ_CAT_CPU_OP || cat == INQ_CAT_OPERATOR) && INQ_HAS(event, NAME) &&
        inq_text_is(event->text[INQ_FIELD_NAME], comm_op)) {
        uint32_t index;
        return inq_kineto_comm(k, event, false, offset, &index);
    }
    struct inq_part part = {.correlation = -1, .comm = INQ_NONE};
    if (!wanted(k, event, &cat) || !times_of(k, event, offset, &part.start_ns, &part.dur_ns)) {
        return INQ_OK;
    }
    int code = INQ_HAS(event, NAME)
                   ? inq_kineto_name(k, event->text[INQ_FIELD_NAME], offset, &part.name)
                   : INQ_OK;
    if (code == INQ_OK) {
        code = inq_kineto_lane(k, event, cat, &part.lane);
    }
    if (code != INQ_OK) {
        return code;
    }
    if (INQ_HAS(event, CORRELATION) && cat != INQ_CAT_OTHER) {
        part.correlation = event->number[INQ_FIELD_CORRELATION];
    }
    k->shard->file.events_kept++;
    if (k->exported) {
        bool is_op;
        code = inq_kineto_export_op(k, event, &part, &is_op);
        if (code != INQ_OK || is_op) {
            return code;
        }
    }
    switch (cat) {
    case INQ_CAT_CALL:
        return inq_rank_add_call(k->rank, part.start_ns, part.dur_ns, part.name, part.lane,
                                 part.correlation, k->err);
    case INQ_CAT_NOTE:
    case INQ_CAT_GPU_NOTE:
        return inq_kineto_add_note(k, cat, &part);
    case INQ_CAT_OTHER:
    case INQ_CAT_CPU_OP:
    case INQ_CAT_OPERATOR:
    case INQ_CAT_KERNEL:
    case INQ_CAT_MEMCPY:
    case INQ_CAT_MEMSET:
    case INQ_CAT_SYNC:
    case INQ_CAT_PASSING:
    case INQ_CAT_OP:
        break;
    }
    return add_gpu_work(k, event, cat, &part, offset);
}

/* ---- metadata -------------------------------------------------------------------------------- */

/* Names of threads; everything else that 'M' events say is of no interest. */
static int take_metadata(struct inq_kineto *k, const struct inq_scan_event *event, int64_t offset)
{
    if (!INQ_HAS(event, NAME) || !INQ_HAS(event, ARG_NAME) ||
        !inq_text_is(event->text[INQ_FIELD_NAME], "thread_name")) {
        return INQ_OK;
    }
    uint32_t thread = 0;
    inq_str name = 0;
    int code = inq_kineto_thread(k, event, &thread);
    if (code == INQ_OK) {
        code = inq_kineto_name(k, event->text[INQ_FIELD_ARG_NAME], offset, &name);
    }
    if (code == INQ_OK) {
        k->threads[thread].name = name;
    }
    return code;
}

/* The first event of the array: where HTA's table begins. */
static void take_first(struct inq_kineto *k, const struct inq_scan_event *event)
{
    if (INQ_HAS(event, TS) && INQ_HAS(event, DUR) && INQ_HAS(event, CAT) &&
        !inq_text_is(event->text[INQ_FIELD_CAT], "Trace")) {
        k->rank->has_row0 = true;
        k->rank->row0_ns = event->number[INQ_FIELD_TS];
    }
}

/* The process, from the first event of the host. */
static void take_pid(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat)
{
    bool host = cat == INQ_CAT_CPU_OP || cat == INQ_CAT_OPERATOR || cat == INQ_CAT_NOTE ||
                cat == INQ_CAT_CALL;
    if (!host || event->ph != 'X') {
        return;
    }
    k->has_host = true;
    if (INQ_HAS(event, PID) && event->text[INQ_FIELD_PID].p == NULL) {
        k->rank->pid = event->number[INQ_FIELD_PID];
    }
}

int inq_kineto_event(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat,
                     int64_t offset)
{
    if (k->exported) {
        bool known = false;
        k->shard->file.events++;
        int code = event->ph == 'X' ? inq_kineto_export_enter(k, event, &known) : INQ_OK;
        return code == INQ_OK && known ? add_complete(k, event, cat, offset) : code;
    }
    if (k->shard->file.events++ == 0) {
        take_first(k, event);
    }
    if (!k->has_host) {
        take_pid(k, event, cat);
    }
    if (event->ph == 'X' || event->ph == 'B') { /* others are passed over before they are known */
        k->kineto |= cat != INQ_CAT_OTHER && cat != INQ_CAT_OP;
    }
    switch (event->ph) {
    case 'X':
        return cat == INQ_CAT_OP ? inq_kineto_op(k, event, offset)
                                 : add_complete(k, event, cat, offset);
    case 'B':
    case 'E':
        return wanted(k, event, &cat) || event->ph == 'E' ? inq_kineto_half(k, event, cat, offset)
                                                          : INQ_OK;
    case 'M':
        return take_metadata(k, event, offset);
    default:
        return INQ_OK;
    }
}
