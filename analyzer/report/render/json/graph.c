/* SPDX-License-Identifier: Apache-2.0 */
/* The sections `pipeline`, `whatif` and `critical_path`. */
#include "report/report.h"
#include "report/info/info.h"

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

void inq_json_pipeline(struct inq_json *json, const struct inq_view *view)
{
    const struct inq_pipeline *p = view->report->pipeline;
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

static void write_workers(struct inq_json *json, const struct inq_view *view)
{
    const struct inq_whatif *w = view->report->whatif;
    inq_json_array(json, "by_worker");
    for (size_t i = 0; i < w->n_by_worker; i++) {
        const struct inq_named_ratio *worker = &w->by_worker[i];
        if (worker->rank >= 0 && !inq_view_shows(view, worker->rank)) {
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

void inq_json_whatif(struct inq_json *json, const struct inq_view *view)
{
    const struct inq_whatif *w = view->report->whatif;
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
    write_workers(json, view);
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

static void write_path_ranks(struct inq_json *json, const struct inq_view *view)
{
    const struct inq_critical_path *path = view->report->critical_path;
    inq_json_array(json, "by_rank");
    for (size_t i = 0; i < path->n_slack; i++) {
        const struct inq_rank_slack *s = &path->slack[i];
        int32_t rank = view->trace->ranks[s->rank].rank;
        if (!inq_view_shows(view, rank)) {
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

static void write_segments(struct inq_json *json, const struct inq_view *view)
{
    const struct inq_critical_path *path = view->report->critical_path;
    inq_json_array(json, "segments");
    for (size_t i = 0; i < path->n_segments; i++) {
        const struct inq_path_segment *s = &path->segments[i];
        if (s->rank >= 0 && !inq_view_shows(view, s->rank)) {
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

void inq_json_critical_path(struct inq_json *json, const struct inq_view *view)
{
    const struct inq_critical_path *path = view->report->critical_path;
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
    write_path_ranks(json, view);
    write_segments(json, view);
    inq_json_end_object(json);
}
