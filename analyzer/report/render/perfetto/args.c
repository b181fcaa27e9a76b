/* SPDX-License-Identifier: Apache-2.0 */
/* What the viewer shows of one slice. Recorded rows are described in the words of PyTorch's
 * profiler, so that this and other programs can read them back. */
#include "report/render/perfetto/perfetto.h"

#include "analysis/account/account.h"
#include "base/say.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>

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

const char *inq_perfetto_cat(const struct inq_perfetto *p, const struct inq_slice *slice)
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

const char *inq_perfetto_name(const struct inq_perfetto *p, const struct inq_slice *slice)
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
        return inq_say(p->view->arena, "step %" PRId64, trace->steps[slice->row].number);
    case INQ_SLICE_IDLE:
        return idle_name((enum inq_gap_cause)slice->row, rank_of(p, slice)->calls.n > 0);
    case INQ_SLICE_WAIT:
        return inq_say(p->view->arena, "waits for rank %.100s",
                       inq_view_rank(p->view, slice->extra));
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

static void launch_args(const struct inq_launch *launch, struct inq_json *json)
{
    if (launch->grid[0] > 0 && launch->block[0] > 0) {
        sizes(json, "grid", launch->grid);
        sizes(json, "block", launch->block);
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
    launch_args(inq_trace_launch(p->trace, rank, row), json);
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
    text(json, "numbers", inq_say_numbers(p->view, finding));
    if (slice->extra < finding->n_evidence) {
        const struct inq_evidence *e = &finding->evidence[slice->extra];
        known(json, "rank", e->rank);
        text(json, "lane", e->lane);
        text(json, "when", inq_say_when(p->view, e));
    } else {
        inq_json_string(json, "when", "no time range: it is about the whole recording");
    }
}

static void wait_args(const struct inq_perfetto *p, const struct inq_slice *slice,
                      struct inq_json *json)
{
    const struct inq_collective *c = &p->trace->collectives[slice->row];
    inq_json_string(json, "last", inq_view_rank(p->view, slice->extra));
    inq_json_string(json, "collective", inq_coll_kind_text(c->kind));
    text(json, "group", inq_view_group(p->view, c->group));
    known(json, "ordinal", c->seq);
}

void inq_perfetto_args(const struct inq_perfetto *p, const struct inq_slice *slice,
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
