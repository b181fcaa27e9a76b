/* SPDX-License-Identifier: Apache-2.0 */
/* The trace with its findings for ui.perfetto.dev, in Chrome's JSON: one process per rank on
 * aligned clocks, one track per lane, what was found on tracks of its own. It can be read back. */
#include "report/render/perfetto/perfetto.h"

#include "base/mem.h"
#include "base/sort.h"
#include "trace/build/build.h"

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
    inq_json_string(json, "cat", inq_perfetto_cat(p, slice));
    inq_json_string(json, "name", inq_perfetto_name(p, slice));
    inq_json_int(json, "pid", inq_perfetto_pid(p, slice->process));
    inq_json_int(json, "tid", slice->tid);
    inq_json_us(json, "ts", slice->start_ns - p->base_ns);
    if (phase[0] == 'X') {
        inq_json_us(json, "dur", slice->dur_ns);
        inq_json_object(json, "args");
        inq_perfetto_args(p, slice, json);
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
    inq_perfetto_head(p, &json);
    inq_json_array(&json, "traceEvents");
    inq_perfetto_names(p, &json);
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
    struct inq_view view = inq_view_of(doc->run, report->trace, report, doc->options, doc->arena);
    struct inq_perfetto p = {.view = &view, .trace = report->trace, .report = report, .err = err};
    find_base(&p);
    int code = number_groups(&p);
    if (code == INQ_OK) { /* first: the head lists the tracks of the lanes in this order */
        code = inq_perfetto_recorded(&p);
    }
    if (code == INQ_OK) {
        code = inq_perfetto_marks(&p);
    }
    if (code == INQ_OK) {
        code = write_document(&p, out);
    }
    inq_mem_free(p.slices);
    inq_mem_free(p.tracks);
    inq_mem_free(p.group_id);
    return code;
}
