/* SPDX-License-Identifier: Apache-2.0 */
/* The trace with its findings for ui.perfetto.dev, in Chrome's JSON: one process per rank on
 * aligned clocks, one track per lane, what was found on tracks of its own. It can be read back. */
#include "report/render/perfetto/perfetto.h"

#include "analysis/account/account.h"
#include "base/mem.h"
#include "base/arena_text.h"
#include "base/sort.h"
#include "trace/build/build.h"
#include "trace/trace.h"
#include "inquest/account.h"
#include "inquest/version.h"

#include <inttypes.h>
#include <stdio.h>

/* What the viewer shows of one slice. Recorded rows are described in the words of PyTorch's
 * profiler, so that this and other programs can read them back. */

/* Groups with more ranks are named without listing them in every event, as the profiler does. */
enum { RANKS_LISTED = 30 };

static const struct inq_rank *rank_of(const struct inq_perfetto *p, const struct inq_slice *slice)
{
    return &p->trace->ranks[slice->process - 1];
}

/* ---- category -------------------------------------------------------------------------------- */

static const char *event_cat(const struct inq_rank *rank, uint32_t row)
{
    const struct inq_events *e = &rank->events;
    uint32_t label = e->label != NULL ? e->label[row] : INQ_NONE;
    switch ((enum inq_event_kind)e->kind[row]) {
    case INQ_EVENT_KERNEL:
        return "kernel";
    case INQ_EVENT_MEMCPY:
        return "gpu_memcpy";
    case INQ_EVENT_MEMSET:
        return "gpu_memset";
    case INQ_EVENT_SYNC:
        return "cuda_sync";
    case INQ_EVENT_OP:
        return label < rank->n_labels && rank->labels[label].type != INQ_OP_NONE
                   ? inq_op_type_text(rank->labels[label].type)
                   : "op";
    case INQ_EVENT_SLICE:
    case INQ_EVENT_KIND_COUNT:
        break;
    }
    return "slice";
}

/* What a slice is called, which category it is of, and all else that is known of it. */
static const char *perfetto_cat(const struct inq_perfetto *p, const struct inq_slice *slice)
{
    switch ((enum inq_slice_kind)slice->kind) {
    case INQ_SLICE_EVENT:
        return event_cat(rank_of(p, slice), slice->row);
    case INQ_SLICE_NOTE:
        return rank_of(p, slice)->notes[slice->row].on_gpu ? "gpu_user_annotation"
                                                           : "user_annotation";
    case INQ_SLICE_CALL:
        return "cuda_runtime";
    case INQ_SLICE_LAUNCH:
    case INQ_SLICE_LAUNCHED:
        return "ac2g";
    case INQ_SLICE_STEP:
    case INQ_SLICE_IDLE:
    case INQ_SLICE_WAIT:
    case INQ_SLICE_LOST:
    case INQ_SLICE_PATH:
    case INQ_SLICE_FINDING:
    case INQ_SLICE_NEXT:
    case INQ_SLICE_FOLLOWS:
        break;
    }
    return "inquest";
}

/* ---- name ------------------------------------------------------------------------------------ */

static const char *idle_name(enum inq_gap_cause cause, bool known)
{
    if (!known) {
        return "idle";
    }
    return cause == INQ_GAP_HOST     ? "idle: launched late"
           : cause == INQ_GAP_KERNEL ? "idle: between kernels"
                                     : "idle: other";
}

static const char *finding_name(const struct inq_perfetto *p, const struct inq_slice *slice)
{
    const struct inq_finding *finding = &p->report->findings[slice->row];
    const char *what =
        slice->extra < finding->n_evidence ? finding->evidence[slice->extra].what : finding->title;
    return what != NULL && what[0] != '\0' ? what : finding->title;
}

/* What a slice is called, which category it is of, and all else that is known of it. */
static const char *perfetto_name(const struct inq_perfetto *p, const struct inq_slice *slice)
{
    const struct inq_trace *trace = p->trace;
    switch ((enum inq_slice_kind)slice->kind) {
    case INQ_SLICE_EVENT:
        return inq_trace_str(trace, rank_of(p, slice)->events.name[slice->row]);
    case INQ_SLICE_NOTE:
        return inq_trace_str(trace, rank_of(p, slice)->notes[slice->row].name);
    case INQ_SLICE_CALL:
        return inq_trace_str(trace, rank_of(p, slice)->calls.name[slice->row]);
    case INQ_SLICE_STEP:
        return inq_arena_printf(p->context->arena, "step %" PRId64,
                                trace->steps[slice->row].number);
    case INQ_SLICE_IDLE:
        return idle_name((enum inq_gap_cause)slice->row, rank_of(p, slice)->calls.n > 0);
    case INQ_SLICE_WAIT:
        return inq_arena_printf(p->context->arena, "waits for rank %.100s",
                                inq_context_rank(p->context, slice->extra));
    case INQ_SLICE_LOST:
        return inq_arena_printf(
            p->context->arena, "waits for rank %.100s",
            inq_context_rank(p->context, p->report->account->waits[slice->row].waited_for));
    case INQ_SLICE_PATH:
        return p->report->critical_path->segments[slice->row].what;
    case INQ_SLICE_FINDING:
        return finding_name(p, slice);
    case INQ_SLICE_LAUNCH:
    case INQ_SLICE_LAUNCHED:
        return "ac2g";
    case INQ_SLICE_NEXT:
    case INQ_SLICE_FOLLOWS:
        return "critical path";
    }
    return "";
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void known(struct inq_json *json, const char *key, int64_t value)
{
    if (value >= 0) {
        inq_json_int(json, key, value);
    }
}

static void text(struct inq_json *json, const char *key, const char *value)
{
    if (value != NULL && value[0] != '\0') {
        inq_json_string(json, key, value);
    }
}

/* "[0, 1, 2]" */
static void rank_list(const struct inq_perfetto *p, const struct inq_group *group,
                      struct inq_json *json)
{
    char list[RANKS_LISTED * 14 + 4];
    size_t n = 0;
    if (group->n_ranks == 0 || group->n_ranks > RANKS_LISTED) {
        return;
    }
    (void)p;
    for (uint32_t i = 0; i < group->n_ranks; i++) {
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%d", i == 0 ? "[" : ", ",
                              (int)group->ranks[i]);
    }
    (void)snprintf(list + n, sizeof list - n, "]");
    inq_json_string(json, "Process Group Ranks", list);
}

static void group_args(const struct inq_perfetto *p, uint32_t index, struct inq_json *json)
{
    if (index >= p->trace->n_groups || p->group_id[index] == INQ_NONE) {
        return;
    }
    const struct inq_group *group = &p->trace->groups[index];
    inq_json_int(json, "Process Group ID", p->group_id[index]);
    text(json, "Process Group Name", inq_trace_str(p->trace, group->name));
    text(json, "Process Group Description", inq_trace_str(p->trace, group->desc));
    rank_list(p, group, json);
}

/* What only the kernel's name told is left to whoever reads that name. */
static void comm_args(const struct inq_perfetto *p, const struct inq_comm *comm,
                      struct inq_json *json)
{
    const char *name = inq_trace_str(p->trace, comm->op_name);
    if (comm->external_id > 0) {
        inq_json_int(json, "External id", comm->external_id);
    }
    if (comm->from_name || name[0] == '\0') {
        return;
    }
    inq_json_string(json, "Collective name", name);
    text(json, "dtype", inq_trace_str(p->trace, comm->dtype));
    known(json, "In msg nelems", comm->in_elems);
    known(json, "Out msg nelems", comm->out_elems);
    known(json, "Group size", comm->group_size);
    known(json, "Seq", comm->seq);
    known(json, comm->kind == INQ_COLL_SEND ? "Dst Rank" : "Src Rank", comm->peer);
    group_args(p, comm->group, json);
}

static void sizes(struct inq_json *json, const char *key, const int32_t size[3])
{
    inq_json_array(json, key);
    for (int i = 0; i < 3; i++) {
        inq_json_int(json, NULL, size[i]);
    }
    inq_json_end_array(json);
}

static void launch_args(const struct inq_perfetto *p, const struct inq_launch *launch,
                        struct inq_json *json)
{
    const char *dims = inq_trace_str(p->trace, launch->dims);
    if (launch->grid[0] > 0 && launch->block[0] > 0) {
        sizes(json, "grid", launch->grid);
        sizes(json, "block", launch->block);
    } else if (dims[0] != '\0') { /* an operator that is work itself, on a CPU */
        inq_json_string(json, "Input Dims", dims);
    }
}

static void event_args(const struct inq_perfetto *p, const struct inq_rank *rank, uint32_t row,
                       struct inq_json *json)
{
    const struct inq_events *e = &rank->events;
    const struct inq_lane *lane = &rank->lanes[e->lane[row]];
    if (lane->kind == INQ_LANE_STREAM) {
        known(json, "device", lane->device);
        inq_json_int(json, "stream", lane->id);
    }
    if (e->call[row] < rank->calls.n) {
        inq_json_int(json, "correlation", rank->calls.correlation[e->call[row]]);
    }
    launch_args(p, inq_trace_launch(p->trace, rank, row), json);
    if (e->comm[row] < rank->n_comms) {
        comm_args(p, &rank->comms[e->comm[row]], json);
    }
    if (e->label != NULL && e->label[row] < rank->n_labels) {
        const struct inq_label *label = &rank->labels[e->label[row]];
        known(json, "step", label->step);
        known(json, "mb_id", label->micro_batch);
        known(json, "model_chunk", label->chunk);
        known(json, "seq_id", label->seq);
    }
}

static void finding_args(const struct inq_perfetto *p, const struct inq_slice *slice,
                         struct inq_json *json)
{
    const struct inq_finding *finding = &p->report->findings[slice->row];
    inq_json_string(json, "finding", finding->id);
    inq_json_string(json, "title", finding->title);
    inq_json_string(json, "severity", inq_severity_text(finding->severity));
    inq_json_string(json, "confidence", inq_confidence_text(finding->confidence));
    text(json, "detail", finding->detail);
    text(json, "try", finding->advice);
    text(json, "numbers", inq_sentence_numbers(p->context, finding));
    if (slice->extra < finding->n_evidence) {
        const struct inq_evidence *e = &finding->evidence[slice->extra];
        known(json, "rank", e->rank);
        text(json, "lane", e->lane);
        text(json, "when", inq_sentence_when(p->context, e));
    } else {
        inq_json_string(json, "when", "no time range: it is about the whole recording");
    }
}

static void wait_args(const struct inq_perfetto *p, const struct inq_slice *slice,
                      struct inq_json *json)
{
    const struct inq_collective *c = &p->trace->collectives[slice->row];
    inq_json_string(json, "last", inq_context_rank(p->context, slice->extra));
    inq_json_string(json, "collective", inq_coll_kind_text(c->kind));
    text(json, "group", inq_context_group(p->context, c->group));
    known(json, "ordinal", c->seq);
}

static void lost_args(const struct inq_perfetto *p, const struct inq_slice *slice,
                      struct inq_json *json)
{
    const struct inq_account_cause *cause = &p->report->account->causes[slice->extra];
    inq_json_string(json, "cause", cause->id);
    inq_json_string(json, "confidence", inq_confidence_text(cause->confidence));
    known(json, "ns", cause->ns);
    known(json, "gain_alone_ns", cause->gain_alone_ns);
    known(json, "gain_in_order_ns", cause->gain_in_order_ns);
    text(json, "fix", cause->fix);
}

static void perfetto_args(const struct inq_perfetto *p, const struct inq_slice *slice,
                          struct inq_json *json)
{
    switch ((enum inq_slice_kind)slice->kind) {
    case INQ_SLICE_EVENT:
        event_args(p, rank_of(p, slice), slice->row, json);
        break;
    case INQ_SLICE_CALL:
        inq_json_int(json, "correlation", rank_of(p, slice)->calls.correlation[slice->row]);
        break;
    case INQ_SLICE_WAIT:
        wait_args(p, slice, json);
        break;
    case INQ_SLICE_LOST:
        lost_args(p, slice, json);
        break;
    case INQ_SLICE_PATH:
        inq_json_string(json, "kind", p->report->critical_path->segments[slice->row].kind);
        break;
    case INQ_SLICE_FINDING:
        finding_args(p, slice, json);
        break;
    case INQ_SLICE_NOTE:
    case INQ_SLICE_STEP:
    case INQ_SLICE_IDLE:
    case INQ_SLICE_LAUNCH:
    case INQ_SLICE_LAUNCHED:
    case INQ_SLICE_NEXT:
    case INQ_SLICE_FOLLOWS:
        break;
    }
}

/* What stands in front of the slices: which process is which rank, which track which lane. */

static void int_if_known(struct inq_json *json, const char *key, int64_t value)
{
    if (value >= 0) {
        inq_json_int(json, key, value);
    }
}

static void name(const struct inq_perfetto *p, struct inq_json *json, const char *key, inq_str id)
{
    if (id != 0) {
        inq_json_string(json, key, inq_trace_str(p->trace, id));
    }
}

/* ---- the member "inquest" -------------------------------------------------------------------- */

static void write_groups(const struct inq_perfetto *p, struct inq_json *json)
{
    inq_json_array(json, "groups");
    for (size_t g = 0; g < p->trace->n_groups; g++) {
        const struct inq_group *group = &p->trace->groups[g];
        if (p->group_id[g] == INQ_NONE) {
            continue;
        }
        inq_json_object(json, NULL);
        name(p, json, "name", group->name);
        name(p, json, "desc", group->desc);
        int_if_known(json, "size", group->size);
        inq_json_array(json, "ranks");
        for (uint32_t i = 0; i < group->n_ranks; i++) {
            inq_json_int(json, NULL, group->ranks[i]);
        }
        inq_json_end_array(json);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

/* Tracks are in the order of the ranks and lanes that they are of; *at moves along. */
static void write_lanes(const struct inq_perfetto *p, size_t r, size_t *at, struct inq_json *json)
{
    static const char *const kinds[] = {"stream", "thread", "ops"};
    const struct inq_rank *rank = &p->trace->ranks[r];
    inq_json_array(json, "lanes");
    for (uint32_t l = 0; l < rank->n_lanes; l++) {
        inq_json_object(json, NULL);
        inq_json_string(json, "kind", kinds[rank->lanes[l].kind]);
        int_if_known(json, "device", rank->lanes[l].device);
        inq_json_int(json, "id", rank->lanes[l].id);
        name(p, json, "name", rank->lanes[l].name);
        inq_json_array(json, "tids");
        for (; *at < p->n_tracks; ++*at) {
            const struct inq_track *track = &p->tracks[*at];
            if (track->process != r + 1 || track->lane != l) {
                break;
            }
            inq_json_int(json, NULL, track->tid);
        }
        inq_json_end_array(json);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_clock(const struct inq_clock *clock, struct inq_json *json)
{
    if (!clock->aligned) {
        return;
    }
    inq_json_object(json, "clock");
    inq_json_int(json, "offset_ns", clock->offset_ns);
    inq_json_int(json, "drift_ppb", clock->drift_ppb);
    inq_json_int(json, "ref_ns", clock->ref_ns);
    inq_json_int(json, "residual_ns", clock->residual_ns);
    inq_json_int(json, "anchors", clock->anchors);
    if (clock->n_later > 0) {
        inq_json_array(json, "later");
        for (size_t i = 0; i < clock->n_later; i++) {
            inq_json_object(json, NULL);
            inq_json_int(json, "from_ns", clock->later[i].from_ns);
            inq_json_int(json, "offset_ns", clock->later[i].offset_ns);
            inq_json_int(json, "drift_ppb", clock->later[i].drift_ppb);
            inq_json_end_object(json);
        }
        inq_json_end_array(json);
    }
    inq_json_end_object(json);
}

static void write_rank(const struct inq_perfetto *p, size_t r, size_t *at, struct inq_json *json)
{
    const struct inq_rank *rank = &p->trace->ranks[r];
    inq_json_object(json, NULL);
    inq_json_int(json, "pid", (int64_t)r + 1);
    int_if_known(json, "rank", rank->rank);
    int_if_known(json, "world_size", rank->world_size);
    int_if_known(json, "stage", rank->stage);
    int_if_known(json, "dp_rank", rank->dp_rank);
    int_if_known(json, "process", rank->pid);
    name(p, json, "host", rank->host);
    name(p, json, "device_name", rank->device_name);
    name(p, json, "job", rank->job);
    inq_json_bool(json, "wall_clock", rank->has_clock_epoch);
    inq_json_bool(json, "fractional_us", rank->fractional_us);
    inq_json_int(json, "base_ns", rank->base_ns);
    if (rank->has_row0) {
        inq_json_int(json, "row0_ns", rank->row0_ns);
    }
    write_clock(&rank->clock, json);
    write_lanes(p, r, at, json);
    inq_json_end_object(json);
}

/* The member "inquest": what reading the document back needs. */
static void perfetto_head(const struct inq_perfetto *p, struct inq_json *json)
{
    size_t at = 0;
    inq_json_object(json, "inquest");
    inq_json_string(json, "schema", "inquest-perfetto/1");
    inq_json_string(json, "version", INQ_VERSION_STRING);
    inq_json_string(json, "verdict", p->report->verdict.headline);
    inq_json_int(json, "base_ns", p->base_ns);
    write_groups(p, json);
    inq_json_array(json, "ranks");
    for (size_t r = 0; r < p->trace->n_ranks; r++) {
        if (inq_perfetto_shows(p, r)) {
            write_rank(p, r, &at, json);
        }
    }
    inq_json_end_array(json);
    inq_json_end_object(json);
}

/* ---- names for the viewer -------------------------------------------------------------------- */

static void write_meta(const struct inq_perfetto *p, struct inq_json *json, const char *what,
                       uint32_t process, int64_t tid, const char *label, int64_t place)
{
    inq_out_text(json->out, "\n");
    inq_json_object(json, NULL);
    inq_json_string(json, "ph", "M");
    inq_json_string(json, "name", what);
    inq_json_int(json, "pid", inq_perfetto_pid(p, process));
    inq_json_int(json, "tid", tid);
    inq_json_object(json, "args");
    if (label != NULL) {
        inq_json_string(json, "name", label);
    } else {
        inq_json_int(json, "sort_index", place);
    }
    inq_json_end_object(json);
    inq_json_end_object(json);
}

static const char *rank_name(const struct inq_perfetto *p, size_t r)
{
    const struct inq_rank *rank = &p->trace->ranks[r];
    const char *host = inq_trace_str(p->trace, rank->host);
    const char *stage =
        rank->stage >= 0 ? inq_arena_printf(p->context->arena, ", stage %d", (int)rank->stage) : "";
    return inq_arena_printf(p->context->arena, "rank %.300s%s%s%.300s",
                            inq_context_rank(p->context, (uint32_t)r), stage,
                            host[0] != '\0' ? " on " : "", host);
}

/* Names of processes and tracks. */
static void perfetto_names(const struct inq_perfetto *p, struct inq_json *json)
{
    write_meta(p, json, "process_name", 0, 0, "inquest", 0);
    write_meta(p, json, "process_sort_index", 0, 0, NULL, -1);
    for (size_t r = 0; r < p->trace->n_ranks; r++) {
        if (inq_perfetto_shows(p, r)) {
            write_meta(p, json, "process_name", (uint32_t)r + 1, 0, rank_name(p, r), 0);
            write_meta(p, json, "process_sort_index", (uint32_t)r + 1, 0, NULL, (int64_t)r);
        }
    }
    for (size_t t = 0; t < p->n_tracks; t++) {
        const struct inq_track *track = &p->tracks[t];
        write_meta(p, json, "thread_name", track->process, track->tid, track->name, 0);
        write_meta(p, json, "thread_sort_index", track->process, track->tid, NULL, track->place);
    }
}

/* Wall-clock times are written relative to a full second: viewers read times as doubles. */
#define BASE_NS INT64_C(1000000000)

/* Where times count from: 0 for those that are no wall-clock times. */
static void find_base(struct inq_perfetto *p)
{
    int64_t first_ns = 0;
    int64_t last_ns = 0;
    bool epoch = false;
    for (size_t r = 0; r < p->trace->n_ranks; r++) {
        epoch = epoch || p->trace->ranks[r].has_clock_epoch;
    }
    if (inq_trace_span(p->trace, &first_ns, &last_ns) && (epoch || first_ns < 0)) {
        p->base_ns = first_ns / BASE_NS * BASE_NS - (first_ns < 0 ? BASE_NS : 0);
    }
}

static int number_groups(struct inq_perfetto *p)
{
    uint32_t n = 0;
    p->group_id = inq_mem_alloc((p->trace->n_groups + 1) * sizeof *p->group_id);
    if (p->group_id == NULL) {
        return inq_err_set(p->err, INQ_NOMEM, "no memory for process groups");
    }
    for (size_t g = 0; g < p->trace->n_groups; g++) {
        p->group_id[g] = p->trace->groups[g].inferred ? INQ_NONE : n++;
    }
    return INQ_OK;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static const char *phase_of(const struct inq_slice *slice)
{
    bool begins = slice->kind == INQ_SLICE_LAUNCH || slice->kind == INQ_SLICE_NEXT;
    bool ends = slice->kind == INQ_SLICE_LAUNCHED || slice->kind == INQ_SLICE_FOLLOWS;
    return begins ? "s" : ends ? "f" : "X";
}

static void write_slice(const struct inq_perfetto *p, const struct inq_slice *slice,
                        struct inq_json *json)
{
    const char *phase = phase_of(slice);
    inq_out_text(json->out, "\n");
    inq_json_object(json, NULL);
    inq_json_string(json, "ph", phase);
    inq_json_string(json, "cat", perfetto_cat(p, slice));
    inq_json_string(json, "name", perfetto_name(p, slice));
    inq_json_int(json, "pid", inq_perfetto_pid(p, slice->process));
    inq_json_int(json, "tid", slice->tid);
    inq_json_us(json, "ts", slice->start_ns - p->base_ns);
    if (phase[0] == 'X') {
        inq_json_us(json, "dur", slice->dur_ns);
        inq_json_object(json, "args");
        perfetto_args(p, slice, json);
        inq_json_end_object(json);
    } else {
        inq_json_int(json, "id", slice->row);
        if (phase[0] == 'f') { /* it ends at what encloses it, not at what comes next */
            inq_json_string(json, "bp", "e");
        }
    }
    inq_json_end_object(json);
}

/* In order of time; those of one track were laid out longer first, arrows were added last. */
static int write_slices(const struct inq_perfetto *p, struct inq_json *json)
{
    int64_t *start_ns = inq_mem_alloc((p->n_slices + 1) * sizeof *start_ns);
    uint32_t *order = inq_mem_alloc((p->n_slices + 1) * sizeof *order);
    int code = INQ_OK;
    if (start_ns == NULL || order == NULL) {
        code = inq_err_set(p->err, INQ_NOMEM, "no memory for %zu slices", p->n_slices);
        goto out;
    }
    for (size_t i = 0; i < p->n_slices; i++) {
        start_ns[i] = p->slices[i].start_ns;
    }
    code = inq_sort_order_i64(start_ns, p->n_slices, order, p->err);
    for (size_t i = 0; i < p->n_slices && code == INQ_OK && json->out->code == INQ_OK; i++) {
        write_slice(p, &p->slices[order[i]], json);
    }
out:
    inq_mem_free(start_ns);
    inq_mem_free(order);
    return code;
}

/* ---- the document ---------------------------------------------------------------------------- */

/* For programs that know the profiler's own header: only of one rank. */
static void write_distributed(const struct inq_perfetto *p, struct inq_json *json)
{
    const struct inq_rank *rank = &p->trace->ranks[0];
    if (p->trace->n_ranks != 1 || rank->rank < 0) {
        return;
    }
    inq_json_object(json, "distributedInfo");
    inq_json_int(json, "rank", rank->rank);
    if (rank->world_size >= 0) {
        inq_json_int(json, "world_size", rank->world_size);
    }
    inq_json_end_object(json);
}

static int write_document(const struct inq_perfetto *p, struct inq_out *out)
{
    struct inq_json json;
    inq_json_init(&json, out, true);
    inq_json_object(&json, NULL);
    inq_json_int(&json, "schemaVersion", 1);
    inq_json_string(&json, "displayTimeUnit", "ns");
    inq_json_int(&json, "baseTimeNanoseconds", p->base_ns);
    write_distributed(p, &json);
    perfetto_head(p, &json);
    inq_json_array(&json, "traceEvents");
    perfetto_names(p, &json);
    int code = write_slices(p, &json);
    inq_json_end_array(&json);
    inq_json_end_object(&json);
    return code;
}

int inq_document_perfetto(const struct inq_document *doc, struct inq_out *out, struct inq_err *err)
{
    if (doc->n_reports != 1) {
        return inq_err_set(err, INQ_UNSUPPORTED, "a trace shows one job, here are %zu",
                           doc->n_reports);
    }
    const struct inq_report *report = doc->reports[0];
    struct inq_context context =
        inq_context_of(doc->run, report->trace, report, doc->options, doc->arena);
    struct inq_perfetto p = {
        .context = &context, .trace = report->trace, .report = report, .err = err};
    find_base(&p);
    int code = number_groups(&p);
    if (code == INQ_OK) {
        code = inq_perfetto_fill(&p);
    }
    if (code == INQ_OK) {
        code = write_document(&p, out);
    }
    inq_mem_free(p.slices);
    inq_mem_free(p.tracks);
    inq_mem_free(p.group_id);
    return code;
}
