/* SPDX-License-Identifier: Apache-2.0 */
#include "report/render/json/json.h"

void inq_json_known(struct inq_json *json, const char *key, int64_t value)
{
    if (value < 0) {
        inq_json_null(json, key);
    } else {
        inq_json_int(json, key, value);
    }
}

void inq_json_time(struct inq_json *json, const char *key, int64_t ns)
{
    if (ns == INQ_TIME_NONE) {
        inq_json_null(json, key);
    } else {
        inq_json_int(json, key, ns);
    }
}

void inq_json_given(struct inq_json *json, const char *key, const char *text)
{
    inq_json_string(json, key, text != NULL && text[0] != '\0' ? text : NULL);
}

void inq_json_name(struct inq_json *json, const char *key, const struct inq_trace *trace,
                   inq_str id)
{
    inq_json_given(json, key, inq_trace_str(trace, id));
}

void inq_json_numbers(struct inq_json *json, const char *key, const int32_t *numbers, size_t n)
{
    inq_json_array(json, key);
    for (size_t i = 0; i < n; i++) {
        inq_json_int(json, NULL, numbers[i]);
    }
    inq_json_end_array(json);
}

void inq_json_rank(struct inq_json *json, const char *key, const struct inq_context *context,
                   uint32_t index)
{
    bool there = index < context->trace->n_ranks;
    inq_json_known(json, key, there ? context->trace->ranks[index].rank : -1);
}

/* ---- what reports and `info` share: files, ranks, clocks ------------------------------------- */

void inq_json_file(struct inq_json *json, const struct inq_file *file)
{
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
            inq_json_string(json, "kind", inq_damage_word((enum inq_damage_kind)kind));
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

void inq_json_kept(struct inq_json *json, struct inq_kept_steps kept)
{
    if (kept.recorded > 0) {
        inq_json_object(json, "reduced");
        inq_json_int(json, "steps", (int64_t)kept.recorded);
        inq_json_int(json, "whole", (int64_t)kept.whole);
        inq_json_end_object(json);
    }
}

static void write_reduced(struct inq_json *json, const struct inq_reduced *reduced)
{
    inq_json_object(json, "reduced");
    inq_json_int(json, "ranks", (int64_t)reduced->n_ranks);
    inq_json_int(json, "steps", (int64_t)reduced->n_steps);
    inq_json_int(json, "whole", (int64_t)reduced->n_whole);
    inq_json_int(json, "stand_out", (int64_t)reduced->n_stand_out);
    inq_json_known(json, "step_ns", reduced->mean_ns);
    inq_json_known(json, "whole_step_ns", reduced->whole_ns);
    inq_json_int(json, "compute_ns", reduced->work_ns[INQ_CLASS_COMPUTE]);
    inq_json_int(json, "whole_compute_ns", reduced->whole_work_ns[INQ_CLASS_COMPUTE]);
    inq_json_int(json, "comm_ns", reduced->work_ns[INQ_CLASS_COMM]);
    inq_json_int(json, "whole_comm_ns", reduced->whole_work_ns[INQ_CLASS_COMM]);
    inq_json_int(json, "copy_ns", reduced->work_ns[INQ_CLASS_COPY]);
    inq_json_int(json, "whole_copy_ns", reduced->whole_work_ns[INQ_CLASS_COPY]);
    inq_json_end_object(json);
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
    if (trace->reduced != NULL) {
        write_reduced(json, trace->reduced);
    }
}

void inq_json_clocks(struct inq_json *json, const struct inq_context *context)
{
    inq_json_array(json, "clock");
    for (size_t r = 0; r < context->trace->n_ranks; r++) {
        const struct inq_rank *rank = &context->trace->ranks[r];
        if (!rank->clock.aligned || !inq_context_shows(context, rank->rank)) {
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
