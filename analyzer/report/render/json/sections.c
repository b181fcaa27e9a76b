/* SPDX-License-Identifier: Apache-2.0 */
/* The sections `ranks` and `collectives`. */
#include "report/report.h"
#include "report/info/info.h"

static void write_idle(struct inq_json *json, const struct inq_rank_time *t)
{
    if (!t->idle_causes_known) {
        inq_json_null(json, "idle");
        return;
    }
    inq_json_object(json, "idle");
    inq_json_int(json, "host_ns", t->idle_host_ns);
    inq_json_int(json, "kernel_ns", t->idle_kernel_ns);
    inq_json_int(json, "other_ns", t->idle_other_ns);
    inq_json_int(json, "host_late_ns", t->host_late_ns);
    inq_json_int(json, "host_gaps", (int64_t)t->host_gaps);
    inq_json_end_object(json);
}

void inq_json_ranks(struct inq_json *json, const struct inq_view *view)
{
    const struct inq_trace *trace = view->trace;
    if (view->report->n_rank_times == 0) {
        return;
    }
    inq_json_array(json, "ranks");
    for (size_t i = 0; i < view->report->n_rank_times; i++) {
        const struct inq_rank_time *t = &view->report->rank_times[i];
        if (!inq_view_shows_index(view, t->rank)) {
            continue;
        }
        inq_json_object(json, NULL);
        inq_json_rank(json, "rank", view, t->rank);
        inq_json_name(json, "label", trace, trace->ranks[t->rank].label);
        inq_json_known(json, "stage", trace->ranks[t->rank].stage);
        inq_json_known(json, "dp_rank", trace->ranks[t->rank].dp_rank);
        inq_json_int(json, "span_ns", t->span_ns);
        inq_json_int(json, "compute_ns", t->compute_ns);
        inq_json_int(json, "exposed_comm_ns", t->exposed_comm_ns);
        inq_json_int(json, "exposed_memcpy_ns", t->exposed_memcpy_ns);
        inq_json_int(json, "idle_ns", t->idle_ns);
        inq_json_int(json, "comm_ns", t->comm_ns);
        inq_json_int(json, "comm_overlap_ns", t->comm_overlap_ns);
        inq_json_double(json, "overlap_pct", t->overlap_pct);
        write_idle(json, t);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_group(struct inq_json *json, const struct inq_view *view, uint32_t group)
{
    const struct inq_trace *trace = view->trace;
    if (group >= trace->n_groups) {
        inq_json_null(json, "group");
        return;
    }
    const struct inq_group *g = &trace->groups[group];
    inq_json_string(json, "group", inq_trace_str(trace, g->name));
    inq_json_name(json, "group_desc", trace, g->desc);
    inq_json_array(json, "group_ranks");
    for (uint32_t i = 0; i < g->n_ranks; i++) {
        inq_json_int(json, NULL, g->ranks[i]);
    }
    inq_json_end_array(json);
}

static void write_waits(struct inq_json *json, const struct inq_view *view)
{
    const struct inq_collectives *coll = view->report->collectives;
    inq_json_array(json, "waits");
    for (size_t i = 0; i < coll->n_waits; i++) {
        const struct inq_wait *w = &coll->waits[i];
        if (inq_view_shows_index(view, w->rank)) {
            inq_json_object(json, NULL);
            inq_json_rank(json, "rank", view, w->rank);
            inq_json_int(json, "wait_ns", w->wait_ns);
            inq_json_int(json, "last_arrivals", (int64_t)w->last_arrivals);
            inq_json_int(json, "first_arrivals", (int64_t)w->first_arrivals);
            inq_json_int(json, "collectives", (int64_t)w->collectives);
            inq_json_end_object(json);
        }
    }
    inq_json_end_array(json);
}

static void write_by_op(struct inq_json *json, const struct inq_view *view)
{
    const struct inq_collectives *coll = view->report->collectives;
    inq_json_array(json, "by_op");
    for (size_t i = 0; i < coll->n_by_op; i++) {
        const struct inq_coll_stat *s = &coll->by_op[i];
        inq_json_object(json, NULL);
        inq_json_string(json, "op", inq_coll_kind_text(s->kind));
        write_group(json, view, s->group);
        inq_json_known(json, "group_size", s->group_size);
        inq_json_int(json, "count", (int64_t)s->count);
        inq_json_known(json, "bytes", s->bytes);
        inq_json_known(json, "transfer_ns_median", s->transfer_ns_median);
        inq_json_known(json, "skew_ns_median", s->skew_ns_median);
        inq_json_known(json, "wait_ns", s->wait_ns);
        inq_json_double(json, "algbw_gbps", s->algbw_gbps);
        inq_json_double(json, "busbw_gbps", s->busbw_gbps);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_worst(struct inq_json *json, const struct inq_view *view)
{
    const struct inq_collectives *coll = view->report->collectives;
    inq_json_array(json, "worst");
    for (size_t i = 0; i < coll->n_worst; i++) {
        const struct inq_coll_worst *w = &coll->worst[i];
        const struct inq_collective *c = &view->trace->collectives[w->collective];
        inq_json_object(json, NULL);
        inq_json_string(json, "op", inq_coll_kind_text(c->kind));
        write_group(json, view, c->group);
        inq_json_int(json, "seq", c->seq);
        inq_json_int(json, "members", c->n_members);
        inq_json_bool(json, "complete", c->complete);
        inq_json_rank(json, "last_rank", view, w->last_rank);
        inq_json_int(json, "start_ns", w->start_ns);
        inq_json_int(json, "end_ns", w->end_ns);
        inq_json_int(json, "skew_ns", w->skew_ns);
        inq_json_int(json, "wait_ns", w->wait_ns);
        inq_json_int(json, "transfer_ns", w->transfer_ns);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

void inq_json_collectives(struct inq_json *json, const struct inq_view *view)
{
    const struct inq_collectives *coll = view->report->collectives;
    if (coll == NULL) {
        return;
    }
    inq_json_object(json, "collectives");
    inq_json_int(json, "matched", (int64_t)coll->matched);
    inq_json_int(json, "unmatched", (int64_t)coll->unmatched);
    inq_json_known(json, "ends_spread_ns_max", coll->ends_spread_ns_max);
    inq_json_known(json, "raw_ends_spread_ns_max", coll->raw_ends_spread_ns_max);
    write_waits(json, view);
    write_by_op(json, view);
    write_worst(json, view);
    inq_json_end_object(json);
}
