/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in front of the slices: which process is which rank, which track which lane. */
#include "report/render/perfetto/perfetto.h"

#include "base/say.h"
#include "inquest/version.h"

#include <stdio.h>

static void known(struct inq_json *json, const char *key, int64_t value)
{
    if (value >= 0) {
        inq_json_int(json, key, value);
    }
}

static void name(const struct inq_perfetto *p, struct inq_json *json, const char *key, inq_str id)
{
    if (id != 0) {
        inq_json_string(json, key, inq_trace_str(p->trace, id));
    }
}

/* ---- the member "inquest" -------------------------------------------------------------------- */

static void write_groups(const struct inq_perfetto *p, struct inq_json *json)
{
    inq_json_array(json, "groups");
    for (size_t g = 0; g < p->trace->n_groups; g++) {
        const struct inq_group *group = &p->trace->groups[g];
        if (p->group_id[g] == INQ_NONE) {
            continue;
        }
        inq_json_object(json, NULL);
        name(p, json, "name", group->name);
        name(p, json, "desc", group->desc);
        known(json, "size", group->size);
        inq_json_array(json, "ranks");
        for (uint32_t i = 0; i < group->n_ranks; i++) {
            inq_json_int(json, NULL, group->ranks[i]);
        }
        inq_json_end_array(json);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

/* Tracks are in the order of the ranks and lanes that they are of; *at moves along. */
static void write_lanes(const struct inq_perfetto *p, size_t r, size_t *at, struct inq_json *json)
{
    static const char *const kinds[] = {"stream", "thread", "ops"};
    const struct inq_rank *rank = &p->trace->ranks[r];
    inq_json_array(json, "lanes");
    for (uint32_t l = 0; l < rank->n_lanes; l++) {
        inq_json_object(json, NULL);
        inq_json_string(json, "kind", kinds[rank->lanes[l].kind]);
        known(json, "device", rank->lanes[l].device);
        inq_json_int(json, "id", rank->lanes[l].id);
        name(p, json, "name", rank->lanes[l].name);
        inq_json_array(json, "tids");
        for (; *at < p->n_tracks; ++*at) {
            const struct inq_track *track = &p->tracks[*at];
            if (track->process != r + 1 || track->lane != l) {
                break;
            }
            inq_json_int(json, NULL, track->tid);
        }
        inq_json_end_array(json);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_clock(const struct inq_clock *clock, struct inq_json *json)
{
    if (!clock->aligned) {
        return;
    }
    inq_json_object(json, "clock");
    inq_json_int(json, "offset_ns", clock->offset_ns);
    inq_json_int(json, "drift_ppb", clock->drift_ppb);
    inq_json_int(json, "ref_ns", clock->ref_ns);
    inq_json_int(json, "residual_ns", clock->residual_ns);
    inq_json_int(json, "anchors", clock->anchors);
    if (clock->n_later > 0) {
        inq_json_array(json, "later");
        for (size_t i = 0; i < clock->n_later; i++) {
            inq_json_object(json, NULL);
            inq_json_int(json, "from_ns", clock->later[i].from_ns);
            inq_json_int(json, "offset_ns", clock->later[i].offset_ns);
            inq_json_int(json, "drift_ppb", clock->later[i].drift_ppb);
            inq_json_end_object(json);
        }
        inq_json_end_array(json);
    }
    inq_json_end_object(json);
}

static void write_rank(const struct inq_perfetto *p, size_t r, size_t *at, struct inq_json *json)
{
    const struct inq_rank *rank = &p->trace->ranks[r];
    inq_json_object(json, NULL);
    inq_json_int(json, "pid", (int64_t)r + 1);
    known(json, "rank", rank->rank);
    known(json, "world_size", rank->world_size);
    known(json, "stage", rank->stage);
    known(json, "dp_rank", rank->dp_rank);
    known(json, "process", rank->pid);
    name(p, json, "host", rank->host);
    name(p, json, "device_name", rank->device_name);
    name(p, json, "job", rank->job);
    inq_json_bool(json, "wall_clock", rank->has_clock_epoch);
    inq_json_bool(json, "fractional_us", rank->fractional_us);
    inq_json_int(json, "base_ns", rank->base_ns);
    if (rank->has_row0) {
        inq_json_int(json, "row0_ns", rank->row0_ns);
    }
    write_clock(&rank->clock, json);
    write_lanes(p, r, at, json);
    inq_json_end_object(json);
}

void inq_perfetto_head(const struct inq_perfetto *p, struct inq_json *json)
{
    size_t at = 0;
    inq_json_object(json, "inquest");
    inq_json_string(json, "schema", "inquest-perfetto/1");
    inq_json_string(json, "version", INQ_VERSION_STRING);
    inq_json_string(json, "verdict", p->report->verdict.headline);
    inq_json_int(json, "base_ns", p->base_ns);
    write_groups(p, json);
    inq_json_array(json, "ranks");
    for (size_t r = 0; r < p->trace->n_ranks; r++) {
        if (inq_perfetto_shows(p, r)) {
            write_rank(p, r, &at, json);
        }
    }
    inq_json_end_array(json);
    inq_json_end_object(json);
}

/* ---- names for the viewer -------------------------------------------------------------------- */

static void write_meta(const struct inq_perfetto *p, struct inq_json *json, const char *what,
                       uint32_t process, int64_t tid, const char *label, int64_t place)
{
    inq_out_text(json->out, "\n");
    inq_json_object(json, NULL);
    inq_json_string(json, "ph", "M");
    inq_json_string(json, "name", what);
    inq_json_int(json, "pid", inq_perfetto_pid(p, process));
    inq_json_int(json, "tid", tid);
    inq_json_object(json, "args");
    if (label != NULL) {
        inq_json_string(json, "name", label);
    } else {
        inq_json_int(json, "sort_index", place);
    }
    inq_json_end_object(json);
    inq_json_end_object(json);
}

static const char *rank_name(const struct inq_perfetto *p, size_t r)
{
    const struct inq_rank *rank = &p->trace->ranks[r];
    const char *host = inq_trace_str(p->trace, rank->host);
    const char *stage =
        rank->stage >= 0 ? inq_say(p->view->arena, ", stage %d", (int)rank->stage) : "";
    return inq_say(p->view->arena, "rank %.300s%s%s%.300s", inq_view_rank(p->view, (uint32_t)r),
                   stage, host[0] != '\0' ? " on " : "", host);
}

void inq_perfetto_names(const struct inq_perfetto *p, struct inq_json *json)
{
    write_meta(p, json, "process_name", 0, 0, "inquest", 0);
    write_meta(p, json, "process_sort_index", 0, 0, NULL, -1);
    for (size_t r = 0; r < p->trace->n_ranks; r++) {
        if (inq_perfetto_shows(p, r)) {
            write_meta(p, json, "process_name", (uint32_t)r + 1, 0, rank_name(p, r), 0);
            write_meta(p, json, "process_sort_index", (uint32_t)r + 1, 0, NULL, (int64_t)r);
        }
    }
    for (size_t t = 0; t < p->n_tracks; t++) {
        const struct inq_track *track = &p->tracks[t];
        write_meta(p, json, "thread_name", track->process, track->tid, track->name, 0);
        write_meta(p, json, "thread_sort_index", track->process, track->tid, NULL, track->place);
    }
}
