/* SPDX-License-Identifier: Apache-2.0 */
/* "inquest-compare/1": documented in man inquest-compare(1). */
#include "report/compare/compare.h"

#include "inquest/version.h"

#include <math.h>

static void write_run(struct inq_json *json, const char *key, const struct inq_compared_run *run)
{
    inq_json_object(json, key);
    inq_json_string(json, "name", run->name);
    inq_json_int(json, "ranks", run->ranks);
    inq_json_int(json, "ranks_seen", (int64_t)run->ranks_seen);
    inq_json_int(json, "steps", (int64_t)run->steps);
    inq_json_int(json, "warm_up_steps", (int64_t)run->warm_up);
    inq_json_int(json, "outlier_steps", (int64_t)run->outliers);
    inq_json_int(json, "damaged_files", (int64_t)run->damaged);
    inq_json_int(json, "missing_ranks", (int64_t)run->missing);
    inq_json_string(json, "device", run->device[0] != '\0' ? run->device : NULL);
    inq_json_int(json, "step_ns", run->step_ns);
    if (isfinite(run->step_low)) {
        inq_json_int(json, "step_low_ns", (int64_t)run->step_low);
        inq_json_int(json, "step_high_ns", (int64_t)run->step_high);
    } else {
        inq_json_null(json, "step_low_ns");
        inq_json_null(json, "step_high_ns");
    }
    inq_json_end_object(json);
}

static void write_parts(struct inq_json *json, const struct inq_comparison *c)
{
    inq_json_array(json, "parts");
    for (int p = 0; p < INQ_STEP_PART_COUNT; p++) {
        inq_json_object(json, NULL);
        inq_json_string(json, "part", inq_step_part_text((enum inq_step_part)p));
        inq_json_int(json, "base_ns", c->run[0].part_ns[p]);
        inq_json_int(json, "ideal_ns", c->ideal_part_ns[p]);
        inq_json_int(json, "new_ns", c->run[1].part_ns[p]);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_losses(struct inq_json *json, const char *key, const int64_t *loss_ns, bool all)
{
    inq_json_array(json, key);
    for (int loss = 0; loss < INQ_LOSS_COUNT; loss++) {
        if (all || loss_ns[loss] != 0) {
            inq_json_object(json, NULL);
            inq_json_string(json, "cause", inq_loss_text((enum inq_loss)loss));
            inq_json_int(json, "loss_ns", loss_ns[loss]);
            inq_json_end_object(json);
        }
    }
    inq_json_end_array(json);
}

static void coll_side(struct inq_json *json, const char *key, const struct inq_compared_coll *coll,
                      int side)
{
    inq_json_object(json, key);
    inq_json_int(json, "group_size", coll->group_size[side]);
    inq_json_double(json, "count", coll->count[side]);
    inq_json_double(json, "bytes", coll->bytes[side]);
    inq_json_double(json, "busbw_gbps", coll->busbw_gbps[side]);
    inq_json_int(json, "transfer_ns", coll->transfer_ns[side]);
    inq_json_int(json, "exposed_ns", coll->exposed_ns[side]);
    inq_json_int(json, "wait_ns", coll->wait_ns[side]);
    inq_json_end_object(json);
}

static void write_causes(struct inq_json *json, const struct inq_comparison *c)
{
    inq_json_array(json, "causes");
    for (size_t i = 0; i < c->n_causes; i++) {
        const struct inq_compared_cause *cause = &c->causes[i];
        inq_json_object(json, NULL);
        inq_json_string(json, "cause", inq_loss_text(cause->loss));
        inq_json_int(json, "ns", cause->ns);
        inq_json_string(json, "text", cause->text);
        inq_json_array(json, "ranks");
        for (size_t r = 0; r < cause->n_ranks; r++) {
            inq_json_int(json, NULL, cause->ranks[r]);
        }
        inq_json_end_array(json);
        if (cause->stage >= 0) {
            inq_json_int(json, "stage", cause->stage);
        } else {
            inq_json_null(json, "stage");
        }
        inq_json_string(json, "host", cause->host);
        inq_json_string(json, "collective", cause->coll != NULL ? cause->coll->name : NULL);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_colls(struct inq_json *json, const struct inq_comparison *c)
{
    inq_json_array(json, "collectives");
    for (size_t i = 0; i < c->n_colls; i++) {
        const struct inq_compared_coll *coll = &c->colls[i];
        inq_json_object(json, NULL);
        inq_json_string(json, "name", coll->name);
        inq_json_bool(json, "gradients", coll->gradients);
        inq_json_int(json, "loss_ns", coll->total_loss_ns);
        write_losses(json, "losses", coll->loss_ns, false);
        coll_side(json, "base", coll, 0);
        coll_side(json, "new", coll, 1);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_kernels(struct inq_json *json, const struct inq_comparison *c)
{
    inq_json_array(json, "kernels");
    for (size_t i = 0; i < c->n_kernels; i++) {
        const struct inq_compared_kernel *k = &c->kernels[i];
        inq_json_object(json, NULL);
        inq_json_string(json, "name", k->name);
        inq_json_double(json, "base_count", k->count[0]);
        inq_json_double(json, "new_count", k->count[1]);
        inq_json_int(json, "base_ns", k->ns[0]);
        inq_json_int(json, "new_ns", k->ns[1]);
        inq_json_int(json, "loss_ns", k->loss_ns);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_compared(struct inq_json *json, const struct inq_comparison *c)
{
    inq_json_array(json, "compute");
    for (size_t i = 0; i < c->n_compared; i++) {
        const struct inq_compared_rank *r = &c->compared[i];
        inq_json_object(json, NULL);
        if (r->rank >= 0) {
            inq_json_int(json, "rank", r->rank);
        } else {
            inq_json_null(json, "rank");
        }
        if (r->stage >= 0) {
            inq_json_int(json, "stage", r->stage);
        } else {
            inq_json_null(json, "stage");
        }
        inq_json_int(json, "base_ns", r->ns[0]);
        inq_json_int(json, "new_ns", r->ns[1]);
        inq_json_int(json, "loss_ns", r->loss_ns);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void severity(struct inq_json *json, const char *key, const struct inq_finding *finding)
{
    inq_json_string(json, key, finding != NULL ? inq_severity_text(finding->severity) : NULL);
}

static void cost(struct inq_json *json, const char *key, const struct inq_finding *finding)
{
    if (finding != NULL && finding->cost_ns_per_step >= 0) {
        inq_json_int(json, key, finding->cost_ns_per_step);
    } else {
        inq_json_null(json, key);
    }
}

static void write_findings(struct inq_json *json, const struct inq_comparison *c)
{
    inq_json_array(json, "findings");
    for (size_t i = 0; i < c->n_findings; i++) {
        const struct inq_compared_finding *f = &c->findings[i];
        const struct inq_finding *shown = f->now != NULL ? f->now : f->base;
        inq_json_object(json, NULL);
        inq_json_string(json, "change", inq_change_text(f->change));
        inq_json_string(json, "id", shown->id);
        inq_json_string(json, "title", shown->title);
        severity(json, "base_severity", f->base);
        severity(json, "new_severity", f->now);
        cost(json, "base_cost_ns_per_step", f->base);
        cost(json, "new_cost_ns_per_step", f->now);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

void inq_compare_json(const struct inq_compare_view *view, struct inq_out *out)
{
    const struct inq_comparison *c = view->c;
    struct inq_json json;
    inq_json_init(&json, out, false);
    inq_json_object(&json, NULL);
    inq_json_string(&json, "schema", "inquest-compare/1");
    inq_json_string(&json, "tool", "inquest " INQ_VERSION_STRING);
    inq_json_string(&json, "headline", c->headline);
    inq_json_string(&json, "reason", c->reason);
    inq_json_bool(&json, "changed", c->changed);
    write_run(&json, "base", &c->run[0]);
    write_run(&json, "new", &c->run[1]);
    inq_json_object(&json, "scaling");
    inq_json_string(&json, "kind", inq_scaling_text(c->scaling));
    inq_json_double(&json, "work_per_rank", c->work);
    inq_json_bool(&json, "work_given", c->work_given);
    inq_json_string(&json, "how", c->work_how);
    inq_json_double(&json, "speedup", c->speedup);
    inq_json_double(&json, "ideal_speedup", c->ideal_speedup);
    inq_json_double(&json, "efficiency", c->efficiency);
    inq_json_int(&json, "ideal_step_ns", c->ideal_ns);
    inq_json_end_object(&json);
    inq_json_int(&json, "loss_ns", c->loss_total_ns);
    write_losses(&json, "losses", c->loss_ns, true);
    write_causes(&json, c);
    write_parts(&json, c);
    write_colls(&json, c);
    write_compared(&json, c);
    write_kernels(&json, c);
    write_findings(&json, c);
    inq_json_end_object(&json);
}
