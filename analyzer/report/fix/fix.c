/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes to bytes: JSON here, the sentences that the formats share in report/fix/explain.c. */
#include "report/fix/fix.h"

#include "base/arena.h"
#include "inquest/version.h"
#include "report/render/json/json.h"

void inq_fix_json_sample(struct inq_json *json, const struct inq_sample *sample)
{
    inq_json_int(json, "n", (int64_t)sample->n);
    inq_json_int(json, "t_ns_median", sample->median_ns);
    inq_json_array(json, sample->n >= INQ_CI95_LEAST ? "ci95_ns" : "range_ns");
    inq_json_int(json, NULL, sample->ci95_ns[0]);
    inq_json_int(json, NULL, sample->ci95_ns[1]);
    inq_json_end_array(json);
}

static void write_base(struct inq_json *json, const struct inq_fixes *fixes)
{
    const struct inq_fix_base_info *b = &fixes->base;
    inq_json_object(json, "base");
    inq_json_string(json, "source", b->source);
    inq_json_int(json, "steps", (int64_t)b->n_steps);
    inq_json_known(json, "recorded_ns", b->mean_recorded_ns);
    inq_json_int(json, "t_ns", b->mean_t_ns);
    inq_json_known(json, "step", b->step);
    inq_json_known(json, "step_recorded_ns", b->recorded_ns);
    inq_json_int(json, "t_without_gaps_ns", b->without_gaps_ns);
    if (b->mean_recorded_ns > 0) {
        inq_json_double(json, "model_error",
                        (double)(b->mean_t_ns - b->mean_recorded_ns) / (double)b->mean_recorded_ns);
    } else {
        inq_json_null(json, "model_error");
    }
    inq_json_int(json, "ops", (int64_t)b->n_ops);
    inq_json_int(json, "ranks", (int64_t)b->n_ranks);
    if (b->n_stages > 0) {
        inq_json_int(json, "stages", (int64_t)b->n_stages);
        inq_json_int(json, "replicas", (int64_t)b->n_dp);
        inq_json_int(json, "microbatches", (int64_t)b->n_microbatches);
        inq_json_string(json, "schedule", b->schedule[0] != '\0' ? b->schedule : NULL);
    }
    inq_json_bool(json, "ranks_connected", b->connected);
    inq_json_int(json, "contradictions", (int64_t)b->contradictions);
    if (fixes->engine[0] != '\0') {
        inq_json_object(json, "executed");
        inq_json_string(json, "engine", fixes->engine);
        inq_json_string(json, "device", fixes->device);
        inq_json_string(json, "note", fixes->note);
        inq_json_double(json, "scale", fixes->scale);
        inq_fix_json_sample(json, &fixes->executed);
        inq_json_int(json, "expected_ns", fixes->expected_ns);
        inq_json_double(json, "fidelity_error", fixes->base_error);
        inq_json_array(json, "kinds");
        for (size_t i = 0; i < fixes->n_kinds; i++) {
            const struct inq_kind_time *k = &fixes->kinds[i];
            inq_json_object(json, NULL);
            inq_json_string(json, "kind", k->kind);
            inq_json_int(json, "n", (int64_t)k->n);
            inq_json_int(json, "planned_ns", k->planned_ns);
            inq_json_int(json, "executed_ns", k->executed_ns);
            inq_json_end_object(json);
        }
        inq_json_end_array(json);
        inq_json_end_object(json);
    } else {
        inq_json_null(json, "executed");
    }
    inq_json_end_object(json);
}

static void write_ruling(struct inq_json *json, const char *key, const struct inq_ruling *ruling)
{
    inq_json_object(json, key);
    inq_json_string(json, "verdict", inq_judgement_words(ruling->judgement));
    inq_json_string(json, "why", ruling->why);
    inq_json_end_object(json);
}

static void write_assumptions(struct inq_json *json, const struct inq_fix *fix)
{
    inq_json_array(json, "assumptions");
    for (size_t i = 0; i < fix->n_assumptions; i++) {
        const struct inq_assumption *a = &fix->assumptions[i];
        inq_json_object(json, NULL);
        inq_json_string(json, "name", a->name);
        inq_json_given(json, "unit", a->unit);
        inq_json_double(json, "assumed", a->assumed);
        inq_json_double(json, "measured", a->measured);
        inq_json_array(json, "ci95");
        inq_json_double(json, NULL, a->ci95[0]);
        inq_json_double(json, NULL, a->ci95[1]);
        inq_json_end_array(json);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_executed(struct inq_json *json, const struct inq_fixes *fixes,
                           const struct inq_fix *fix)
{
    const struct inq_validation *v = &fix->executed;
    if (v->order.judgement == INQ_NOT_EXECUTED) {
        inq_json_null(json, "executed");
        return;
    }
    inq_json_object(json, "executed");
    inq_json_string(json, "engine", fixes->engine);
    inq_json_string(json, "device", v->device);
    inq_fix_json_sample(json, &v->fixed);
    inq_json_double(json, "predicted_speedup", v->predicted_speedup);
    if (fix->n_assumptions > 0) {
        inq_json_double(json, "measured_speedup", v->measured_speedup);
    } else {
        inq_json_null(json, "measured_speedup");
    }
    inq_json_double(json, "speedup", v->speedup);
    inq_json_array(json, v->fixed.n >= INQ_CI95_LEAST ? "speedup_ci95" : "speedup_range");
    inq_json_double(json, NULL, v->speedup_ci95[0]);
    inq_json_double(json, NULL, v->speedup_ci95[1]);
    inq_json_end_array(json);
    write_ruling(json, "order", &v->order);
    write_ruling(json, "cost", &v->cost);
    write_assumptions(json, fix);
    inq_json_end_object(json);
}

static void write_fix(struct inq_json *json, const struct inq_fixes *fixes,
                      const struct inq_fix *fix)
{
    inq_json_object(json, NULL);
    inq_json_string(json, "spec", fix->spec);
    inq_json_given(json, "what", fix->what);
    inq_json_given(json, "finding", fix->finding);
    inq_json_bool(json, "repairs", fix->repairs);
    inq_json_given(json, "problem", fix->problem);
    inq_json_known(json, "predicted_t_ns", fix->t_ns);
    if (fix->t_ns >= 0) {
        inq_json_int(json, "predicted_gain_ns", fix->gain_ns);
    } else {
        inq_json_null(json, "predicted_gain_ns");
    }
    inq_json_double(json, "predicted_speedup", fix->speedup);
    inq_json_bool(json, "helps", fix->helps);
    write_executed(json, fixes, fix);
    inq_json_string(json, "verdict", inq_validation_text(&fix->executed));
    inq_json_string(json, "assumes", fix->assumes);
    inq_json_object(json, "costs");
    inq_json_given(json, "memory", fix->costs.memory);
    inq_json_given(json, "accuracy", fix->costs.accuracy);
    inq_json_given(json, "work", fix->costs.work);
    inq_json_end_object(json);
    inq_json_end_object(json);
}

void inq_fix_json(const struct inq_fixes *fixes, bool compact, struct inq_out *out)
{
    struct inq_out headline = {0};
    struct inq_json json;
    inq_json_init(&json, out, compact);
    inq_json_object(&json, NULL);
    inq_json_string(&json, "schema", "inquest-fix/1");
    inq_json_string(&json, "tool", "inquest " INQ_VERSION_STRING);
    inq_fix_collect(inq_fix_say_best, fixes, &headline);
    inq_json_string(&json, "headline", headline.buf != NULL ? headline.buf : "");
    write_base(&json, fixes);
    inq_json_array(&json, "fixes");
    for (size_t i = 0; i < fixes->n; i++) {
        write_fix(&json, fixes, &fixes->fixes[i]);
    }
    inq_json_end_array(&json);
    inq_json_end_object(&json);
    inq_out_release(&headline);
}

int inq_fix_report(const struct inq_fixes *fixes, const struct inq_report_options *options,
                   struct inq_sink sink, struct inq_err *err)
{
    struct inq_arena arena = {0};
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    int code = INQ_OK;
    if (options->format == INQ_FORMAT_JSON) {
        inq_fix_json(fixes, false, &out);
    } else if (options->format == INQ_FORMAT_MARKDOWN) {
        inq_fix_markdown(fixes, &arena, &out);
    } else if (options->format == INQ_FORMAT_TEXT) {
        inq_fix_text(fixes, options, &arena, &out);
#ifdef INQ_HAVE_HTML
    } else if (options->format == INQ_FORMAT_HTML) {
        code = inq_fix_html(fixes, options, &arena, &out, err);
#endif
    } else {
        code = INQ_UNSUPPORTED;
    }
    inq_arena_release(&arena);
    return inq_out_end(&out, code, "fixes", err);
}
