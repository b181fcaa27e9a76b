/* SPDX-License-Identifier: Apache-2.0 */
/* "inquest-info/1", and what it shares with the reports: files, ranks, clocks. */
#include "report/info/info.h"

#include "inquest/version.h"

void inq_json_file(struct inq_json *json, const struct inq_file *file)
{
    char word[32];
    inq_json_object(json, NULL);
    inq_json_string(json, "path", file->path);
    inq_json_string(json, "format", file->format);
    inq_json_int(json, "bytes", (int64_t)file->bytes);
    inq_json_int(json, "bytes_uncompressed", (int64_t)file->bytes_raw);
    inq_json_int(json, "events", (int64_t)file->events);
    inq_json_int(json, "events_kept", (int64_t)file->events_kept);
    inq_json_string(json, "reason", file->reason[0] != '\0' ? file->reason : NULL);
    inq_json_array(json, "damage");
    for (int kind = 0; kind < INQ_DAMAGE_KIND_COUNT; kind++) {
        if (file->damage.count[kind] > 0) {
            inq_json_object(json, NULL);
            inq_json_string(json, "kind",
                            inq_damage_word((enum inq_damage_kind)kind, word, sizeof word));
            inq_json_int(json, "count", (int64_t)file->damage.count[kind]);
            inq_json_known(json, "first_offset", file->damage.first_offset[kind]);
            inq_json_end_object(json);
        }
    }
    inq_json_end_array(json);
    inq_json_end_object(json);
}

void inq_json_skipped(struct inq_json *json, const struct inq_run *run)
{
    inq_json_array(json, "skipped");
    for (size_t i = 0; i < run->n_skipped; i++) {
        inq_json_object(json, NULL);
        inq_json_string(json, "path", run->skipped[i].path);
        inq_json_string(json, "format", run->skipped[i].format);
        inq_json_int(json, "bytes", (int64_t)run->skipped[i].bytes);
        inq_json_string(json, "reason", run->skipped[i].reason);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

void inq_json_rank_lists(struct inq_json *json, const struct inq_trace *trace)
{
    inq_json_known(json, "world_size", trace->world_size);
    inq_json_array(json, "ranks_present");
    for (size_t r = 0; r < trace->n_ranks; r++) {
        inq_json_known(json, NULL, trace->ranks[r].rank);
    }
    inq_json_end_array(json);
    inq_json_array(json, "ranks_missing");
    for (size_t i = 0; i < trace->n_missing; i++) {
        inq_json_int(json, NULL, trace->missing[i]);
    }
    inq_json_end_array(json);
    inq_json_array(json, "ranks_unread");
    for (size_t i = 0; i < trace->n_unread; i++) {
        inq_json_object(json, NULL);
        inq_json_int(json, "rank", trace->unread[i].rank);
        inq_json_string(json, "path", trace->unread[i].path);
        inq_json_string(json, "reason", trace->unread[i].reason);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

void inq_json_clocks(struct inq_json *json, const struct inq_view *view)
{
    inq_json_array(json, "clock");
    for (size_t r = 0; r < view->trace->n_ranks; r++) {
        const struct inq_rank *rank = &view->trace->ranks[r];
        if (!rank->clock.aligned || !inq_view_shows(view, rank->rank)) {
            continue;
        }
        inq_json_object(json, NULL);
        inq_json_known(json, "rank", rank->rank);
        inq_json_int(json, "offset_ns", rank->clock.offset_ns);
        inq_json_int(json, "drift_ppb", rank->clock.drift_ppb);
        inq_json_known(json, "residual_ns", rank->clock.residual_ns);
        inq_json_int(json, "anchors", rank->clock.anchors);
        if (rank->clock.n_later > 0) {
            inq_json_int(json, "pieces", (int64_t)rank->clock.n_later + 1);
        }
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_rank(struct inq_json *json, const struct inq_view *view, size_t r)
{
    const struct inq_trace *trace = view->trace;
    const struct inq_rank *rank = &trace->ranks[r];
    int64_t steps = 0;
    for (size_t s = 0; s < trace->n_steps; s++) {
        const int64_t *starts = trace->steps[s].rank_start_ns;
        steps += starts != NULL && starts[r] != INQ_TIME_NONE;
    }
    inq_json_object(json, NULL);
    inq_json_known(json, "rank", rank->rank);
    inq_json_name(json, "label", trace, rank->label);
    inq_json_string(json, "path",
                    rank->file < trace->n_files ? trace->files[rank->file].path : NULL);
    inq_json_known(json, "stage", rank->stage);
    inq_json_known(json, "dp_rank", rank->dp_rank);
    inq_json_name(json, "host", trace, rank->host);
    inq_json_name(json, "device", trace, rank->device_name);
    inq_json_int(json, "steps", steps);
    inq_json_int(json, "gpu_events", (int64_t)rank->events.n);
    inq_json_int(json, "lanes", (int64_t)rank->n_lanes);
    inq_json_time(json, "start_ns", rank->first_ns);
    inq_json_time(json, "end_ns", rank->last_ns);
    inq_json_end_object(json);
}

static void write_steps(struct inq_json *json, const struct inq_trace *trace)
{
    inq_json_object(json, "steps");
    inq_json_int(json, "count", (int64_t)trace->n_steps);
    if (trace->n_steps > 0) {
        inq_json_bool(json, "inferred", trace->steps_inferred);
        inq_json_int(json, "first", trace->steps[0].number);
        inq_json_int(json, "last", trace->steps[trace->n_steps - 1].number);
    }
    inq_json_end_object(json);
}

static void write_job(struct inq_json *json, const struct inq_view *view)
{
    const struct inq_trace *trace = view->trace;
    int64_t first_ns = INQ_TIME_NONE;
    int64_t last_ns = INQ_TIME_NONE;
    (void)inq_trace_span(trace, &first_ns, &last_ns);
    inq_json_object(json, NULL);
    inq_json_string(json, "name", trace->name);
    inq_json_rank_lists(json, trace);
    inq_json_time(json, "start_ns", first_ns);
    inq_json_time(json, "end_ns", last_ns);
    write_steps(json, trace);
    inq_json_object(json, "collectives");
    inq_json_int(json, "matched", (int64_t)trace->n_collectives);
    inq_json_int(json, "unmatched", (int64_t)trace->unmatched_comms);
    inq_json_end_object(json);
    inq_json_array(json, "ranks");
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (inq_view_shows(view, trace->ranks[r].rank)) {
            write_rank(json, view, r);
        }
    }
    inq_json_end_array(json);
    inq_json_clocks(json, view);
    inq_json_array(json, "files");
    for (size_t i = 0; i < trace->n_files; i++) {
        inq_json_file(json, &trace->files[i]);
    }
    inq_json_end_array(json);
    inq_json_end_object(json);
}

void inq_info_json(const struct inq_run *run, const struct inq_report_options *options,
                   struct inq_arena *arena, struct inq_out *out)
{
    struct inq_json json;
    inq_json_init(&json, out, false);
    inq_json_object(&json, NULL);
    inq_json_string(&json, "schema", "inquest-info/1");
    inq_json_string(&json, "tool", "inquest " INQ_VERSION_STRING);
    inq_json_array(&json, "jobs");
    for (size_t i = 0; i < run->n_traces; i++) {
        struct inq_view view = inq_view_of(run, run->traces[i], NULL, options, arena);
        write_job(&json, &view);
    }
    inq_json_end_array(&json);
    inq_json_skipped(&json, run);
    inq_json_end_object(&json);
}
