/* SPDX-License-Identifier: Apache-2.0 */
/* "inquest-report/1", and "inquest-report-set/1" for several jobs: the contract with programs. Keys
 * and their order are documented in man inquest-report(5); what was not measured is null, a section
 * that does not apply is absent. */
#include "report/report.h"

#include "report/info/info.h"
#include "report/render/json/json.h"
#include "report/contract/contract.h"
#include "inquest/training.h"
#include "inquest/version.h"

/* ---- The sections `verdict` and `findings` --------------------------------------------------- */

static void json_verdict(struct inq_json *json, const struct inq_verdict *verdict)
{
    inq_json_object(json, "verdict");
    inq_json_string(json, "headline", verdict->headline);
    inq_json_given(json, "why", verdict->why);
    inq_json_given(json, "next", verdict->next);
    inq_json_given(json, "sure", verdict->sure);
    inq_json_string(json, "class", verdict->cls);
    inq_json_known(json, "lost_ns_per_step", verdict->lost_ns_per_step);
    inq_json_string(json, "confidence", inq_confidence_text(verdict->confidence));
    if (verdict->without != 0) {
        inq_json_array(json, "without");
        for (int s = 0; s < INQ_SECTION_COUNT; s++) {
            if ((verdict->without & INQ_SECTION_BIT(s)) != 0) {
                inq_json_string(json, NULL, inq_section_key((enum inq_section)s));
            }
        }
        inq_json_end_array(json);
    }
    inq_json_end_object(json);
}

static void write_evidence(struct inq_json *json, const struct inq_evidence *evidence)
{
    inq_json_object(json, NULL);
    inq_json_known(json, "rank", evidence->rank);
    inq_json_given(json, "lane", evidence->lane);
    inq_json_time(json, "start_ns", evidence->start_ns);
    inq_json_time(json, "end_ns", evidence->end_ns);
    inq_json_given(json, "what", evidence->what);
    inq_json_end_object(json);
}

static void write_finding(struct inq_json *json, const struct inq_finding *f)
{
    inq_json_object(json, NULL);
    inq_json_string(json, "id", f->id);
    inq_json_string(json, "kind", inq_finding_kind_text(f->kind));
    inq_json_string(json, "severity", inq_severity_text(f->severity));
    inq_json_string(json, "confidence", inq_confidence_text(f->confidence));
    inq_json_given(json, "title", f->title);
    inq_json_given(json, "detail", f->detail);
    inq_json_given(json, "advice", f->advice);
    inq_json_numbers(json, "ranks", f->ranks, f->n_ranks);
    inq_json_numbers(json, "stages", f->stages, f->n_stages);
    inq_json_known(json, "cost_ns_per_step", f->cost_ns_per_step);
    inq_json_double(json, "share", f->share);
    inq_json_given(json, "measured", f->measured);
    inq_json_given(json, "expected", f->expected);
    inq_json_array(json, "evidence");
    for (size_t i = 0; i < f->n_evidence; i++) {
        write_evidence(json, &f->evidence[i]);
    }
    inq_json_end_array(json);
    inq_json_array(json, "fixes");
    for (size_t i = 0; i < f->n_fixes; i++) {
        inq_json_string(json, NULL, f->fixes[i]);
    }
    inq_json_end_array(json);
    inq_json_end_object(json);
}

static void json_findings(struct inq_json *json, const struct inq_context *context)
{
    inq_json_array(json, "findings");
    for (size_t i = 0; i < context->report->n_findings; i++) {
        if (inq_context_shows_finding(context, &context->report->findings[i])) {
            write_finding(json, &context->report->findings[i]);
        }
    }
    inq_json_end_array(json);
}

/* ---- The sections `pipeline`, `whatif` and `critical_path` ----------------------------------- */

static void write_parts(struct inq_json *json, const char *key,
                        const struct inq_waterfall_part *parts, size_t n)
{
    inq_json_array(json, key);
    for (size_t i = 0; i < n; i++) {
        inq_json_object(json, NULL);
        inq_json_string(json, "cause", parts[i].cause);
        inq_json_int(json, "ns_per_step", parts[i].ns_per_step);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_stages(struct inq_json *json, const struct inq_pipeline *p)
{
    inq_json_array(json, "per_stage");
    for (size_t i = 0; i < p->n_per_stage; i++) {
        const struct inq_stage_time *s = &p->per_stage[i];
        inq_json_object(json, NULL);
        inq_json_int(json, "stage", s->stage);
        inq_json_int(json, "forward_ns", s->forward_ns);
        inq_json_int(json, "backward_ns", s->backward_ns);
        inq_json_int(json, "busy_ns", s->busy_ns);
        inq_json_int(json, "bubble_ns", s->bubble_ns);
        inq_json_int(json, "compute_ns", s->compute_ns);
        inq_json_int(json, "p2p_ns", s->p2p_ns);
        inq_json_int(json, "sync_ns", s->sync_ns);
        inq_json_int(json, "other_ns", s->other_ns);
        inq_json_int(json, "idle_ns", s->idle_ns);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_pipeline_steps(struct inq_json *json, const struct inq_pipeline *p)
{
    inq_json_array(json, "steps");
    for (size_t i = 0; i < p->n_steps; i++) {
        const struct inq_pipeline_step *s = &p->steps[i];
        inq_json_object(json, NULL);
        inq_json_int(json, "step", s->step);
        inq_json_int(json, "dur_ns", s->dur_ns);
        inq_json_double(json, "bubble_ratio", s->bubble_ratio);
        inq_json_bool(json, "warm_up", s->warm_up);
        if (s->parts_ns == NULL) {
            inq_json_null(json, "parts_ns");
        } else {
            inq_json_array(json, "parts_ns");
            for (size_t k = 0; k < p->n_waterfall; k++) {
                inq_json_int(json, NULL, s->parts_ns[k]);
            }
            inq_json_end_array(json);
        }
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void json_pipeline(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_pipeline *p = context->report->pipeline;
    if (p == NULL) {
        return;
    }
    inq_json_object(json, "pipeline");
    inq_json_string(json, "schedule", p->schedule);
    inq_json_double(json, "confidence", p->confidence);
    inq_json_string(json, "source", p->source);
    inq_json_known(json, "stages", p->stages);
    inq_json_known(json, "microbatches", p->microbatches);
    inq_json_known(json, "chunks", p->chunks);
    inq_json_known(json, "replicas", p->replicas);
    inq_json_double(json, "bubble_ratio", p->bubble_ratio);
    inq_json_double(json, "bubble_ratio_theory", p->bubble_ratio_theory);
    inq_json_int(json, "total_ns_per_step", p->total_ns_per_step);
    write_parts(json, "waterfall", p->waterfall, p->n_waterfall);
    write_stages(json, p);
    write_pipeline_steps(json, p);
    inq_json_int(json, "dropped_steps", (int64_t)p->n_dropped_steps);
    inq_json_end_object(json);
}

/* {name: S} */
static void write_ratios(struct inq_json *json, const char *key, const struct inq_named_ratio *rows,
                         size_t n)
{
    inq_json_object(json, key);
    for (size_t i = 0; i < n; i++) {
        inq_json_double(json, rows[i].name, rows[i].slowdown);
    }
    inq_json_end_object(json);
}

static void write_workers(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_whatif *w = context->report->whatif;
    inq_json_array(json, "by_worker");
    for (size_t i = 0; i < w->n_by_worker; i++) {
        const struct inq_named_ratio *worker = &w->by_worker[i];
        if (worker->rank >= 0 && !inq_context_shows(context, worker->rank)) {
            continue;
        }
        inq_json_object(json, NULL);
        inq_json_string(json, "name", worker->name);
        inq_json_known(json, "rank", worker->rank);
        inq_json_known(json, "stage", worker->stage);
        inq_json_known(json, "dp_rank", worker->dp_rank);
        inq_json_double(json, "slowdown", worker->slowdown);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_whatif_steps(struct inq_json *json, const struct inq_whatif *w)
{
    inq_json_array(json, "by_step");
    for (size_t i = 0; i < w->n_by_step && w->steps != NULL; i++) {
        const struct inq_whatif_step *s = &w->steps[i];
        inq_json_object(json, NULL);
        inq_json_int(json, "step", s->step);
        inq_json_known(json, "recorded_ns", s->recorded_ns);
        inq_json_int(json, "t_ns", s->t_ns);
        inq_json_int(json, "t_ideal_ns", s->t_ideal_ns);
        inq_json_double(json, "slowdown", s->slowdown);
        inq_json_double(json, "launch_slowdown", s->launch_slowdown);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_causes(struct inq_json *json, const struct inq_whatif *w)
{
    inq_json_array(json, "causes");
    for (size_t i = 0; i < w->n_causes; i++) {
        const struct inq_whatif_cause *c = &w->causes[i];
        inq_json_object(json, NULL);
        inq_json_string(json, "kind", c->kind);
        inq_json_string(json, "what", c->what);
        inq_json_double(json, "share", c->share);
        inq_json_int(json, "saved_ns", c->saved_ns);
        inq_json_bool(json, "fits", c->fits);
        inq_json_known(json, "stage", c->stage);
        inq_json_known(json, "dp_rank", c->dp_rank);
        inq_json_known(json, "rank", c->rank);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_scenarios(struct inq_json *json, const struct inq_whatif *w)
{
    if (w->n_scenarios == 0) {
        return;
    }
    inq_json_array(json, "scenarios");
    for (size_t i = 0; i < w->n_scenarios; i++) {
        const struct inq_whatif_scenario *s = &w->scenarios[i];
        bool answered = s->problem == NULL || s->problem[0] == '\0';
        inq_json_object(json, NULL);
        inq_json_string(json, "spec", s->spec);
        inq_json_string(json, "problem", answered ? NULL : s->problem);
        if (answered) {
            inq_json_int(json, "t_ns", s->t_ns);
            inq_json_double(json, "speedup", s->speedup);
        } else {
            inq_json_null(json, "t_ns");
            inq_json_null(json, "speedup");
        }
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void json_whatif(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_whatif *w = context->report->whatif;
    if (w == NULL) {
        return;
    }
    inq_json_object(json, "whatif");
    inq_json_int(json, "t_ns", w->t_ns);
    inq_json_int(json, "t_ideal_ns", w->t_ideal_ns);
    inq_json_known(json, "recorded_ns", w->recorded_ns);
    inq_json_known(json, "replayed_ns", w->replayed_ns);
    inq_json_double(json, "slowdown", w->slowdown);
    inq_json_double(json, "launch_slowdown", w->launch_slowdown);
    write_ratios(json, "by_op_type", w->by_op_type, w->n_by_op_type);
    write_ratios(json, "by_stage", w->by_stage, w->n_by_stage);
    write_ratios(json, "by_dp_rank", w->by_dp_rank, w->n_by_dp_rank);
    write_workers(json, context);
    write_whatif_steps(json, w);
    inq_json_double(json, "m_w", w->m_w);
    inq_json_double(json, "m_s", w->m_s);
    inq_json_double(json, "forward_backward_correlation", w->forward_backward_correlation);
    write_causes(json, w);
    write_scenarios(json, w);
    inq_json_int(json, "dropped_steps", (int64_t)w->n_dropped_steps);
    inq_json_end_object(json);
}

static void write_sums(struct inq_json *json, const char *key,
                       const struct inq_waterfall_part *parts, size_t n)
{
    inq_json_object(json, key);
    for (size_t i = 0; i < n; i++) {
        inq_json_int(json, parts[i].cause, parts[i].ns_per_step);
    }
    inq_json_end_object(json);
}

static void write_path_ranks(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_critical_path *path = context->report->critical_path;
    inq_json_array(json, "by_rank");
    for (size_t i = 0; i < path->n_slack; i++) {
        const struct inq_rank_slack *s = &path->slack[i];
        int32_t rank = context->trace->ranks[s->rank].rank;
        if (!inq_context_shows(context, rank)) {
            continue;
        }
        inq_json_object(json, NULL);
        inq_json_known(json, "rank", rank);
        inq_json_int(json, "on_path_ns", s->on_path_ns);
        inq_json_known(json, "slack_ns_min", s->min_ns);
        inq_json_known(json, "slack_ns_median", s->median_ns);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_segments(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_critical_path *path = context->report->critical_path;
    inq_json_array(json, "segments");
    for (size_t i = 0; i < path->n_segments; i++) {
        const struct inq_path_segment *s = &path->segments[i];
        if (s->rank >= 0 && !inq_context_shows(context, s->rank)) {
            continue;
        }
        inq_json_object(json, NULL);
        inq_json_known(json, "rank", s->rank);
        inq_json_string(json, "kind", s->kind);
        inq_json_string(json, "what", s->what);
        inq_json_int(json, "start_ns", s->start_ns);
        inq_json_int(json, "end_ns", s->end_ns);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void json_critical_path(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_critical_path *path = context->report->critical_path;
    if (path == NULL) {
        return;
    }
    inq_json_object(json, "critical_path");
    inq_json_known(json, "step", path->step);
    inq_json_int(json, "start_ns", path->start_ns);
    inq_json_int(json, "contradictions", (int64_t)path->contradictions);
    inq_json_int(json, "length_ns", path->length_ns);
    write_sums(json, "by_kind", path->by_kind, path->n_by_kind);
    if (path->n_by_stage > 0) {
        write_sums(json, "by_stage", path->by_stage, path->n_by_stage);
    }
    write_path_ranks(json, context);
    write_segments(json, context);
    inq_json_int(json, "segments_left_out", (int64_t)path->n_segments_left_out);
    inq_json_int(json, "segments_left_out_ns", path->left_out_ns);
    inq_json_end_object(json);
}

/* ---- The sections `ranks` and `collectives` -------------------------------------------------- */

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

static void json_ranks(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_trace *trace = context->trace;
    if (context->report->n_rank_times == 0) {
        return;
    }
    inq_json_array(json, "ranks");
    for (size_t i = 0; i < context->report->n_rank_times; i++) {
        const struct inq_rank_time *t = &context->report->rank_times[i];
        if (!inq_context_shows_index(context, t->rank)) {
            continue;
        }
        inq_json_object(json, NULL);
        inq_json_rank(json, "rank", context, t->rank);
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

static void write_group(struct inq_json *json, const struct inq_context *context, uint32_t group)
{
    const struct inq_trace *trace = context->trace;
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

static void write_waits(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_collectives *coll = context->report->collectives;
    inq_json_array(json, "waits");
    for (size_t i = 0; i < coll->n_waits; i++) {
        const struct inq_wait *w = &coll->waits[i];
        if (inq_context_shows_index(context, w->rank)) {
            inq_json_object(json, NULL);
            inq_json_rank(json, "rank", context, w->rank);
            inq_json_int(json, "wait_ns", w->wait_ns);
            inq_json_int(json, "last_arrivals", (int64_t)w->last_arrivals);
            inq_json_int(json, "first_arrivals", (int64_t)w->first_arrivals);
            inq_json_int(json, "collectives", (int64_t)w->collectives);
            inq_json_end_object(json);
        }
    }
    inq_json_end_array(json);
}

static void write_by_op(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_collectives *coll = context->report->collectives;
    inq_json_array(json, "by_op");
    for (size_t i = 0; i < coll->n_by_op; i++) {
        const struct inq_coll_stat *s = &coll->by_op[i];
        inq_json_object(json, NULL);
        inq_json_string(json, "op", inq_coll_kind_text(s->kind));
        write_group(json, context, s->group);
        inq_json_known(json, "group_size", s->group_size);
        inq_json_int(json, "count", (int64_t)s->count);
        inq_json_known(json, "bytes", s->bytes);
        const char *algorithm = inq_trace_str(context->trace, s->algorithm);
        inq_json_string(json, "algorithm", s->algorithm != 0 ? algorithm : NULL);
        inq_json_known(json, "channels", s->channels);
        inq_json_known(json, "transfer_ns_median", s->transfer_ns_median);
        inq_json_known(json, "skew_ns_median", s->skew_ns_median);
        inq_json_known(json, "wait_ns", s->wait_ns);
        inq_json_double(json, "algbw_gbps", s->algbw_gbps);
        inq_json_double(json, "busbw_gbps", s->busbw_gbps);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_worst(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_collectives *coll = context->report->collectives;
    inq_json_array(json, "worst");
    for (size_t i = 0; i < coll->n_worst; i++) {
        const struct inq_coll_worst *w = &coll->worst[i];
        const struct inq_collective *c = &context->trace->collectives[w->collective];
        inq_json_object(json, NULL);
        inq_json_string(json, "op", inq_coll_kind_text(c->kind));
        write_group(json, context, c->group);
        inq_json_int(json, "seq", c->seq);
        inq_json_int(json, "members", c->n_members);
        inq_json_bool(json, "complete", c->complete);
        inq_json_rank(json, "last_rank", context, w->last_rank);
        inq_json_int(json, "start_ns", w->start_ns);
        inq_json_int(json, "end_ns", w->end_ns);
        inq_json_int(json, "skew_ns", w->skew_ns);
        inq_json_int(json, "wait_ns", w->wait_ns);
        inq_json_int(json, "transfer_ns", w->transfer_ns);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void json_collectives(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_collectives *coll = context->report->collectives;
    if (coll == NULL) {
        return;
    }
    inq_json_object(json, "collectives");
    inq_json_int(json, "matched", (int64_t)coll->matched);
    inq_json_int(json, "unmatched", (int64_t)coll->unmatched);
    inq_json_known(json, "ends_spread_ns_max", coll->ends_spread_ns_max);
    inq_json_known(json, "raw_ends_spread_ns_max", coll->raw_ends_spread_ns_max);
    write_waits(json, context);
    write_by_op(json, context);
    write_worst(json, context);
    inq_json_end_object(json);
}

/* ---- The `training` section ------------------------------------------------------------------ */

static void write_event(struct inq_json *json, const struct inq_training_event *event)
{
    inq_json_object(json, NULL);
    inq_json_string(json, "kind", inq_training_event_text(event->kind));
    inq_json_int(json, "first_step", event->first_step);
    inq_json_int(json, "last_step", event->last_step);
    inq_json_bool(json, "to_end", event->to_end);
    inq_json_int(json, "line", (int64_t)event->line);
    inq_json_double(json, "measured", event->measured);
    inq_json_double(json, "expected", event->expected);
    inq_json_string(json, "what", event->what);
    inq_json_end_object(json);
}

static void json_training(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_training *t = context->report->training;
    if (t == NULL) {
        return;
    }
    inq_json_object(json, "training");
    inq_json_string(json, "file", t->file);
    inq_json_int(json, "rows", (int64_t)t->n_rows);
    inq_json_bool(json, "steps_printed", t->numbered);
    inq_json_bool(json, "sampled", t->sampled);
    inq_json_int(json, "first_step", t->first_step);
    inq_json_int(json, "last_step", t->last_step);
    inq_json_int(json, "restarts", (int64_t)t->n_restarts);
    inq_json_double(json, "loss_first", t->loss_first);
    inq_json_double(json, "loss_least", t->loss_least);
    inq_json_double(json, "loss_last", t->loss_last);
    inq_json_double(json, "step_s_median", t->step_s);
    inq_json_double(json, "throughput_median", t->throughput);
    inq_json_array(json, "events");
    for (size_t i = 0; i < t->n_events; i++) {
        write_event(json, &t->events[i]);
    }
    inq_json_end_array(json);
    inq_json_int(json, "events_left_out", (int64_t)t->n_left_out);
    inq_json_end_object(json);
}

static void write_options(struct inq_json *json, const struct inq_report_options *options)
{
    inq_json_object(json, "options");
    for (size_t i = 0; i < options->n_settings; i++) {
        inq_json_string(json, options->settings[i].name, options->settings[i].value);
    }
    inq_json_end_object(json);
}

static void write_inputs(struct inq_json *json, const struct inq_context *context, bool skipped)
{
    inq_json_object(json, "inputs");
    inq_json_array(json, "files");
    for (size_t i = 0; i < context->trace->n_files; i++) {
        inq_json_file(json, &context->trace->files[i]);
    }
    inq_json_end_array(json);
    if (skipped) {
        inq_json_skipped(json, context->run);
    }
    inq_json_rank_lists(json, context->trace);
    inq_json_clocks(json, context);
    inq_json_time(json, "origin_ns",
                  context->trace->n_ranks > 0 ? context->origin_ns : INQ_TIME_NONE);
    inq_json_end_object(json);
}

static void write_unavailable(struct inq_json *json, enum inq_section section,
                              const struct inq_section_state *state)
{
    inq_json_object(json, inq_section_key(section));
    inq_json_object(json, "unavailable");
    inq_json_string(json, "reason", state->reason);
    inq_json_string(json, "next", state->next);
    inq_json_end_object(json);
    inq_json_end_object(json);
}

/* In the order of the document. */
static void write_sections(struct inq_json *json, const struct inq_context *context)
{
    static const struct {
        enum inq_section section;
        void (*write)(struct inq_json *json,
                      const struct inq_context *context); /* NULL: has no rows */
    } parts[] = {{INQ_SECTION_FAILURE, inq_json_failure},
                 {INQ_SECTION_TRAINING, json_training},
                 {INQ_SECTION_ACCOUNT, inq_json_account},
                 {INQ_SECTION_BLAME, NULL},
                 {INQ_SECTION_FINDINGS, json_findings},
                 {INQ_SECTION_RANKS, json_ranks},
                 {INQ_SECTION_COLLECTIVES, json_collectives},
                 {INQ_SECTION_PIPELINE, json_pipeline},
                 {INQ_SECTION_WHATIF, json_whatif},
                 {INQ_SECTION_CRITICAL_PATH, json_critical_path},
#define PART(section, key, function, keys, what) {INQ_SECTION_##section, function},
                 INQ_SECTION_JSON(PART)
#undef PART
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct inq_section_state *state = &context->report->sections[parts[i].section];
        if (!inq_context_wants(context, parts[i].section)) {
            continue;
        }
        if (state->reason != NULL) {
            write_unavailable(json, parts[i].section, state);
        } else if (parts[i].write != NULL) {
            parts[i].write(json, context);
        }
    }
}

/* One report. In a set, options and skipped files are told once, by the set. */
static void write_report(const struct inq_document *doc, const struct inq_report *report,
                         struct inq_json *json)
{
    struct inq_context context =
        inq_context_of(doc->run, report->trace, report, doc->options, doc->arena);
    bool alone = doc->n_reports == 1;
    inq_json_document(json, &inq_contract_report);
    inq_json_string(json, "tool", "inquest " INQ_VERSION_STRING);
    inq_json_string(json, "name", report->trace->name);
    if (alone) {
        write_options(json, doc->options);
    }
    write_inputs(json, &context, alone);
    json_verdict(json, &report->verdict);
    write_sections(json, &context);
    inq_json_end_object(json);
}

void inq_document_json(const struct inq_document *doc, struct inq_out *out, bool compact)
{
    struct inq_json json;
    inq_json_init(&json, out, compact);
    if (doc->n_reports == 1) {
        write_report(doc, doc->reports[0], &json);
        return;
    }
    inq_json_document(&json, &inq_contract_report_set);
    inq_json_string(&json, "tool", "inquest " INQ_VERSION_STRING);
    write_options(&json, doc->options);
    inq_json_skipped(&json, doc->run);
    inq_json_array(&json, "runs");
    for (size_t i = 0; i < doc->n_reports; i++) {
        write_report(doc, doc->reports[i], &json);
    }
    inq_json_end_array(&json);
    inq_json_end_object(&json);
}
