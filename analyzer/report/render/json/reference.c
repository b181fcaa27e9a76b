/* SPDX-License-Identifier: Apache-2.0 */
/* The section `method`: the peers' own numbers, in their units (us) and rounding. */
#include "report/report.h"
#include "report/info/info.h"

static void write_hta_streams(struct inq_json *json, const struct inq_reference_rank_time *t)
{
    inq_json_array(json, "idle_time_breakdown");
    for (size_t s = 0; s < t->n_streams; s++) {
        const struct inq_reference_idle *idle = &t->streams[s];
        inq_json_object(json, NULL);
        inq_json_int(json, "stream", idle->stream);
        inq_json_double(json, "host_wait_us", idle->host_wait_us);
        inq_json_double(json, "kernel_wait_us", idle->kernel_wait_us);
        inq_json_double(json, "other_us", idle->other_us);
        inq_json_double(json, "host_wait_ratio", idle->host_wait_ratio);
        inq_json_double(json, "kernel_wait_ratio", idle->kernel_wait_ratio);
        inq_json_double(json, "other_ratio", idle->other_ratio);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_hta(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_reference *peers = context->report->reference;
    inq_json_array(json, "ranks");
    for (size_t i = 0; i < peers->n_rank_times; i++) {
        const struct inq_reference_rank_time *t = &peers->rank_times[i];
        if (!inq_context_shows_index(context, t->rank)) {
            continue;
        }
        inq_json_object(json, NULL);
        inq_json_rank(json, "rank", context, t->rank);
        inq_json_int(json, "idle_time_us", t->hta_idle_us);
        inq_json_int(json, "compute_time_us", t->hta_compute_us);
        inq_json_int(json, "non_compute_time_us", t->hta_non_compute_us);
        inq_json_int(json, "kernel_time_us", t->hta_kernel_us);
        inq_json_double(json, "idle_time_pctg", t->hta_idle_pct);
        inq_json_double(json, "compute_time_pctg", t->hta_compute_pct);
        inq_json_double(json, "non_compute_time_pctg", t->hta_non_compute_pct);
        inq_json_double(json, "comp_comm_overlap_pctg", t->hta_overlap_pct);
        write_hta_streams(json, t);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
    inq_json_array(json, "kernel_types");
    for (size_t i = 0; i < peers->n_kernel_types; i++) {
        inq_json_object(json, NULL);
        inq_json_string(json, "kernel_type", peers->kernel_types[i].type);
        inq_json_int(json, "sum_us", peers->kernel_types[i].sum_us);
        inq_json_double(json, "percentage", peers->kernel_types[i].pct);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_tl_times(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_reference *peers = context->report->reference;
    inq_json_array(json, "ranks");
    for (size_t i = 0; i < peers->n_rank_times; i++) {
        const struct inq_reference_rank_time *t = &peers->rank_times[i];
        if (inq_context_shows_index(context, t->rank)) {
            inq_json_object(json, NULL);
            inq_json_rank(json, "rank", context, t->rank);
            inq_json_double(json, "computation_time_us", t->tl_computation_us);
            inq_json_double(json, "exposed_comm_time_us", t->tl_exposed_comm_us);
            inq_json_double(json, "exposed_memcpy_time_us", t->tl_exposed_memcpy_us);
            inq_json_double(json, "idle_time_us", t->tl_idle_us);
            inq_json_double(json, "total_time_us", t->tl_total_us);
            inq_json_end_object(json);
        }
    }
    inq_json_end_array(json);
}

static void write_tl_members(struct inq_json *json, const struct inq_context *context,
                             const struct inq_tl_collective *c)
{
    inq_json_array(json, "members");
    for (size_t m = 0; m < c->n_members; m++) {
        inq_json_object(json, NULL);
        inq_json_rank(json, "rank", context, c->members[m].rank);
        inq_json_double(json, "ts_us", c->members[m].ts_us);
        inq_json_double(json, "dur_us", c->members[m].dur_us);
        inq_json_double(json, "wait_us", c->members[m].wait_us);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_tl_collectives(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_reference *peers = context->report->reference;
    inq_json_array(json, "collectives");
    for (size_t i = 0; i < peers->n_collectives; i++) {
        const struct inq_tl_collective *c = &peers->collectives[i];
        inq_json_object(json, NULL);
        inq_json_string(json, "id", c->id);
        inq_json_string(json, "process_group", c->group);
        inq_json_string(json, "process_group_ranks", c->group_ranks);
        inq_json_string(json, "collective", c->name);
        inq_json_string(json, "dtype", c->dtype);
        inq_json_int(json, "group_size", c->group_size);
        inq_json_int(json, "in_elems", c->in_elems);
        inq_json_int(json, "out_elems", c->out_elems);
        inq_json_double(json, "in_mb", c->in_mb);
        inq_json_double(json, "out_mb", c->out_mb);
        inq_json_double(json, "full_mb", c->full_mb);
        inq_json_double(json, "comm_latency_us", c->latency_us);
        inq_json_double(json, "skew_in_start_us", c->skew_start_us);
        inq_json_double(json, "avg_wait_us", c->avg_wait_us);
        inq_json_double(json, "skew_in_end_us", c->skew_end_us);
        inq_json_rank(json, "earliest_arrival_rank", context, c->earliest_rank);
        inq_json_double(json, "algbw_gibps", c->algbw);
        inq_json_double(json, "busbw_gibps", c->busbw);
        write_tl_members(json, context, c);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_mean_std(struct inq_json *json, const char *key, double mean, double std)
{
    inq_json_object(json, key);
    inq_json_double(json, "mean", mean);
    inq_json_double(json, "std", std);
    inq_json_end_object(json);
}

static void write_tl_summaries(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_reference *peers = context->report->reference;
    inq_json_array(json, "summary");
    for (size_t i = 0; i < peers->n_summaries; i++) {
        const struct inq_tl_summary *s = &peers->summaries[i];
        inq_json_object(json, NULL);
        inq_json_string(json, "process_group", s->group);
        inq_json_string(json, "collective", s->name);
        inq_json_string(json, "dtype", s->dtype);
        inq_json_int(json, "in_elems", s->in_elems);
        inq_json_int(json, "group_size", s->group_size);
        inq_json_double(json, "full_mb", s->full_mb);
        write_mean_std(json, "comm_latency_us", s->latency_mean, s->latency_std);
        write_mean_std(json, "skew_in_start_us", s->skew_start_mean, s->skew_start_std);
        write_mean_std(json, "skew_in_end_us", s->skew_end_mean, s->skew_end_std);
        write_mean_std(json, "algbw_gibps", s->algbw_mean, s->algbw_std);
        write_mean_std(json, "busbw_gibps", s->busbw_mean, s->busbw_std);
        inq_json_int(json, "count", (int64_t)s->count);
        inq_json_double(json, "total_latency_ms", s->total_latency_ms);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_tl_stragglers(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_reference *peers = context->report->reference;
    inq_json_array(json, "stragglers");
    for (size_t i = 0; i < peers->n_stragglers; i++) {
        const struct inq_tl_straggler *s = &peers->stragglers[i];
        if (!inq_context_shows_index(context, s->rank)) {
            continue;
        }
        inq_json_object(json, NULL);
        inq_json_rank(json, "rank", context, s->rank);
        inq_json_double(json, "total_wait_us", s->total_wait_us);
        inq_json_double(json, "mean_wait_us", s->mean_wait_us);
        inq_json_int(json, "times_last", (int64_t)s->last);
        inq_json_int(json, "times_first", (int64_t)s->first);
        inq_json_int(json, "collectives", (int64_t)s->collectives);
        inq_json_double(json, "last_pct", s->last_pct);
        inq_json_double(json, "total_dur_us", s->total_dur_us);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

void inq_json_reference(struct inq_json *json, const struct inq_context *context)
{
    if (context->report->reference == NULL || context->report->method == INQ_METHOD_INQUEST) {
        return;
    }
    inq_json_object(json, "method");
    inq_json_string(json, "name", inq_method_text(context->report->method));
    if (context->report->method == INQ_METHOD_HTA) {
        write_hta(json, context);
    } else {
        write_tl_times(json, context);
        write_tl_collectives(json, context);
        write_tl_summaries(json, context);
        write_tl_stragglers(json, context);
    }
    inq_json_end_object(json);
}
