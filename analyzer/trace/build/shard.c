/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a shard, row by row. */
#include "trace/build/shard.h"

#include "base/mem.h"
#include "trace/build/flight.h"
#include "trace/build/log.h"
#include "trace/telemetry/telemetry.h"

#include <string.h>

/* NULL is fine. */
static void free_telemetry(struct inq_telemetry *telemetry)
{
    if (telemetry != NULL) {
        inq_mem_free(telemetry->gpus);
        inq_mem_free(telemetry->samples);
        inq_mem_free(telemetry);
    }
}

void inq_shard_release(struct inq_shard *shard)
{
    for (size_t i = 0; i < shard->n_ranks; i++) {
        inq_rank_release(&shard->ranks[i]);
    }
    inq_mem_free(shard->ranks);
    inq_mem_free(shard->groups);
    inq_launches_release(&shard->launches);
    inq_flight_free(shard->dump);
    inq_log_free(shard->log);
    free_telemetry(shard->telemetry);
    inq_strtab_release(&shard->names);
    inq_arena_release(&shard->arena);
    *shard = (struct inq_shard){0};
}

int inq_shard_add_rank(struct inq_shard *shard, uint32_t *index, struct inq_err *err)
{
    if (shard->cap_ranks == 0) { /* most files are of one rank */
        shard->ranks = inq_mem_alloc(sizeof *shard->ranks);
        shard->cap_ranks = shard->ranks != NULL;
    }
    int code = inq_mem_grow(&shard->ranks, &shard->cap_ranks, shard->n_ranks + 1,
                            sizeof *shard->ranks, INQ_MAX_RANKS, err);
    if (code != INQ_OK) {
        return code;
    }
    *index = (uint32_t)shard->n_ranks++;
    shard->ranks[*index] = (struct inq_rank){
        .rank = -1,
        .world_size = -1,
        .stage = -1,
        .dp_rank = -1,
        .multiprocessors = -1,
        .pid = -1,
        .first_ns = INQ_TIME_NONE,
        .last_ns = INQ_TIME_NONE,
        .clock = {.residual_ns = -1},
    };
    return INQ_OK;
}

static bool same_ranks(const struct inq_group *group, const int32_t *ranks, uint32_t n_ranks)
{
    return group->n_ranks == n_ranks &&
           (n_ranks == 0 || memcmp(group->ranks, ranks, n_ranks * sizeof *ranks) == 0);
}

int inq_shard_add_group(struct inq_shard *shard, inq_str name, inq_str desc, int32_t size,
                        const int32_t *ranks, uint32_t n_ranks, uint32_t *index,
                        struct inq_err *err)
{
    for (size_t i = 0; i < shard->n_groups; i++) {
        if (shard->groups[i].name == name && same_ranks(&shard->groups[i], ranks, n_ranks)) {
            *index = (uint32_t)i;
            return INQ_OK;
        }
    }
    struct inq_group group = {.name = name, .desc = desc, .size = size};
    int code = inq_mem_grow(&shard->groups, &shard->cap_groups, shard->n_groups + 1,
                            sizeof *shard->groups, INQ_MAX_GROUPS, err);
    if (code == INQ_OK) {
        code = inq_shard_keep_ranks(shard, ranks, n_ranks, &group, err);
    }
    if (code == INQ_OK) {
        *index = (uint32_t)shard->n_groups++;
        shard->groups[*index] = group;
    }
    return code;
}

void inq_damage_add(struct inq_damage *damage, enum inq_damage_kind kind, uint64_t n,
                    int64_t offset)
{
    if (n == 0) {
        return;
    }
    if (damage->count[kind] == 0 || offset < damage->first_offset[kind]) {
        damage->first_offset[kind] = offset;
    }
    damage->count[kind] += n;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A rank's lanes are few and readers remember the last one they used: a scan is enough. */
int inq_rank_lane(struct inq_rank *rank, enum inq_lane_kind kind, int32_t device, int64_t id,
                  uint32_t *index, struct inq_err *err)
{
    for (size_t i = rank->n_lanes; i > 0; i--) {
        const struct inq_lane *lane = &rank->lanes[i - 1];
        if (lane->id == id && lane->kind == kind && lane->device == device) {
            *index = (uint32_t)(i - 1);
            return INQ_OK;
        }
    }
    int code = inq_mem_grow(&rank->lanes, &rank->cap_lanes, rank->n_lanes + 1, sizeof *rank->lanes,
                            INQ_MAX_LANES, err);
    if (code == INQ_OK) {
        *index = (uint32_t)rank->n_lanes++;
        rank->lanes[*index] = (struct inq_lane){.kind = kind, .device = device, .id = id};
    }
    return code;
}

int inq_rank_add_note(struct inq_rank *rank, const struct inq_note *note, struct inq_err *err)
{
    int code = inq_mem_grow(&rank->notes, &rank->cap_notes, rank->n_notes + 1, sizeof *rank->notes,
                            INQ_MAX_ROWS, err);
    if (code == INQ_OK) {
        rank->notes[rank->n_notes++] = *note;
    }
    return code;
}

void inq_comm_init(struct inq_comm *comm)
{
    *comm = (struct inq_comm){.group = INQ_NONE,
                              .group_size = -1,
                              .in_elems = -1,
                              .out_elems = -1,
                              .seq = -1,
                              .peer = -1,
                              .external_id = -1,
                              .start_ns = INQ_TIME_NONE,
                              .lane = INQ_NONE,
                              .batch = INQ_NONE};
}

int inq_rank_add_comm(struct inq_rank *rank, const struct inq_comm *comm, uint32_t *index,
                      struct inq_err *err)
{
    int code = inq_mem_grow(&rank->comms, &rank->cap_comms, rank->n_comms + 1, sizeof *rank->comms,
                            INQ_MAX_ROWS, err);
    if (code == INQ_OK) {
        *index = (uint32_t)rank->n_comms;
        rank->comms[rank->n_comms++] = *comm;
    }
    return code;
}

int inq_rank_add_label(struct inq_rank *rank, const struct inq_label *label, uint32_t *index,
                       struct inq_err *err)
{
    int code = inq_mem_grow(&rank->labels, &rank->cap_labels, rank->n_labels + 1,
                            sizeof *rank->labels, INQ_MAX_ROWS, err);
    if (code == INQ_OK) {
        *index = (uint32_t)rank->n_labels;
        rank->labels[rank->n_labels++] = *label;
    }
    return code;
}
