/* SPDX-License-Identifier: Apache-2.0 */
/* truth.json ("inquest-truth/1"). */
#include "synth/synth.h"

#include "base/json.h"
#include "synth/spec.h"

static void write_fault(struct inq_json *json, const struct inq_synth_truth_fault *fault)
{
    inq_json_object(json, NULL);
    inq_json_string(json, "kind", fault->kind);
    inq_json_string(json, "finding", *fault->finding != '\0' ? fault->finding : NULL);
    inq_json_array(json, "ranks");
    for (size_t i = 0; i < fault->n_ranks; i++) {
        inq_json_int(json, NULL, fault->ranks[i]);
    }
    inq_json_end_array(json);
    if (fault->n_hosts > 0) {
        inq_json_array(json, "hosts");
        for (size_t i = 0; i < fault->n_hosts; i++) {
            inq_json_int(json, NULL, fault->hosts[i]);
        }
        inq_json_end_array(json);
    }
    inq_json_array(json, "stages");
    if (fault->stage >= 0) {
        inq_json_int(json, NULL, fault->stage);
    }
    inq_json_end_array(json);
    inq_json_int(json, "cost_ns_per_step", fault->cost_ns_per_step);
    inq_json_double(json, "share", fault->share);
    inq_json_end_object(json);
}

static void write_rank(struct inq_json *json, const struct inq_synth_truth_rank *rank,
                       const char *file)
{
    inq_json_object(json, NULL);
    inq_json_int(json, "rank", rank->rank);
    inq_json_string(json, "file", file);
    inq_json_int(json, "host", rank->host);
    inq_json_int(json, "stage", rank->stage);
    inq_json_int(json, "dp_rank", rank->dp_rank);
    inq_json_int(json, "tp_rank", rank->tp_rank);
    inq_json_int(json, "clock_offset_ns", rank->clock_offset_ns);
    inq_json_int(json, "clock_drift_ppb", rank->clock_drift_ppb);
    inq_json_int(json, "compute_ns", rank->compute_ns);
    inq_json_int(json, "wait_ns", rank->wait_ns);
    inq_json_int(json, "collectives", (int64_t)rank->collectives);
    inq_json_int(json, "last_arrivals", (int64_t)rank->last_arrivals);
    inq_json_end_object(json);
}

static void write_steps(struct inq_json *json, const struct inq_synth *synth)
{
    const struct inq_synth_truth *truth = &synth->truth;
    inq_json_array(json, "steps");
    for (size_t i = 0; i < truth->n_steps; i++) {
        inq_json_object(json, NULL);
        inq_json_int(json, "step", synth->spec.first_step + (int64_t)i);
        inq_json_int(json, "dur_ns", truth->step_ns[i]);
        inq_json_int(json, "healthy_ns", truth->step_ns_healthy[i]);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_ranks(struct inq_json *json, const struct inq_synth *synth)
{
    size_t next = 0;
    inq_json_array(json, "ranks");
    for (int32_t rank = 0; rank < synth->truth.world_size; rank++) {
        bool here = next < synth->n_files && synth->files[next].rank == rank;
        write_rank(json, &synth->truth.ranks[rank], here ? synth->files[next].name : NULL);
        next += here;
    }
    inq_json_end_array(json);
}

int inq_synth_truth_write(const struct inq_synth *synth, struct inq_sink sink, struct inq_err *err)
{
    const struct inq_synth_truth *truth = &synth->truth;
    const struct inq_synth_spec *spec = &synth->spec;
    struct inq_out text = {0};
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    struct inq_json json;
    inq_synth_spec_text(spec, &text);
    inq_json_init(&json, &out, false);
    inq_json_object(&json, NULL);
    inq_json_string(&json, "schema", "inquest-truth/1");
    inq_json_string(&json, "spec", text.code == INQ_OK ? text.buf : NULL);
    inq_json_bool(&json, "healthy", truth->healthy);
    inq_json_int(&json, "world_size", truth->world_size);
    inq_json_int(&json, "dp", spec->dp);
    inq_json_int(&json, "tp", spec->tp);
    inq_json_int(&json, "pp", spec->pp);
    inq_json_int(&json, "micro_batches", spec->micro_batches);
    inq_json_int(&json, "chunks", spec->chunks);
    inq_json_int(&json, "step_ns", truth->mean_step_ns);
    inq_json_int(&json, "healthy_step_ns", truth->mean_step_ns_healthy);
    inq_json_array(&json, "faults");
    for (size_t i = 0; i < truth->n_faults; i++) {
        write_fault(&json, &truth->faults[i]);
    }
    inq_json_end_array(&json);
    write_steps(&json, synth);
    write_ranks(&json, synth);
    inq_json_end_object(&json);
    inq_out_text(&out, "\n");
    int code = inq_out_flush(&out, err);
    inq_out_release(&out);
    inq_out_release(&text);
    return code;
}
