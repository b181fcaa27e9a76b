/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a shard, row by row. */
#include "trace/build/shard.h"

#include "base/mem.h"
#include "trace/build/flight.h"
#include "trace/build/log.h"
#include "trace/telemetry/telemetry.h"

#include <string.h>

void inq_rank_release(struct inq_rank *rank)
{
    struct inq_events *e = &rank->events;
    inq_mem_free(e->start_ns);
    inq_mem_free(e->dur_ns);
    inq_mem_free(e->name);
    inq_mem_free(e->lane);
    inq_mem_free(e->call);
    inq_mem_free(e->comm);
    inq_mem_free(e->step);
    inq_mem_free(e->label);
    inq_mem_free(e->launch);
    inq_mem_free(e->kind);
    inq_mem_free(e->cls);
    struct inq_calls *c = &rank->calls;
    inq_mem_free(c->start_ns);
    inq_mem_free(c->dur_ns);
    inq_mem_free(c->name);
    inq_mem_free(c->lane);
    inq_mem_free(c->correlation);
    inq_mem_free(rank->lanes);
    inq_mem_free(rank->notes);
    inq_mem_free(rank->comms);
    inq_mem_free(rank->labels);
    inq_mem_free(rank->totals);
    *rank = (struct inq_rank){0};
}

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

/* All columns of a table grow to one capacity; a failure leaves them usable at the old one. */
struct column {
    void *ptr_to_ptr;
    size_t elem;
};

static int grow_columns(const struct column *columns, size_t n, size_t *cap, size_t need,
                        struct inq_err *err)
{
    size_t grown = *cap;
    for (size_t i = 0; i < n; i++) {
        grown = *cap;
        int code =
            inq_mem_grow(columns[i].ptr_to_ptr, &grown, need, columns[i].elem, INQ_MAX_ROWS, err);
        if (code != INQ_OK) {
            return code;
        }
    }
    *cap = grown;
    return INQ_OK;
}

static int grow_events(struct inq_events *e, struct inq_err *err)
{
    enum { ALWAYS = 8, OPTIONAL = 2 };
    struct column columns[ALWAYS + OPTIONAL] = {
        {&e->start_ns, sizeof *e->start_ns}, {&e->dur_ns, sizeof *e->dur_ns},
        {&e->name, sizeof *e->name},         {&e->lane, sizeof *e->lane},
        {&e->call, sizeof *e->call},         {&e->comm, sizeof *e->comm},
        {&e->kind, sizeof *e->kind},         {&e->cls, sizeof *e->cls},
    };
    size_t n = ALWAYS;
    if (e->label != NULL) { /* these exist only once an event carries one */
        columns[n++] = (struct column){&e->label, sizeof *e->label};
    }
    if (e->launch != NULL) {
        columns[n++] = (struct column){&e->launch, sizeof *e->launch};
    }
    return grow_columns(columns, n, &e->cap, e->n + 1, err);
}

static int start_labels(struct inq_events *e, struct inq_err *err)
{
    e->label = inq_mem_alloc(e->cap * sizeof *e->label);
    if (e->label == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu labels", e->cap);
    }
    memset(e->label, 0xff, e->n * sizeof *e->label); /* INQ_NONE */
    return INQ_OK;
}

static int start_launches(struct inq_events *e, struct inq_err *err)
{
    e->launch = inq_mem_zalloc(e->cap, sizeof *e->launch);
    return e->launch != NULL
               ? INQ_OK
               : inq_err_set(err, INQ_NOMEM, "out of memory for %zu launches", e->cap);
}

int inq_rank_add_event(struct inq_rank *rank, const struct inq_event_row *row, struct inq_err *err)
{
    struct inq_events *e = &rank->events;
    int code = e->n < e->cap ? INQ_OK : grow_events(e, err);
    if (code == INQ_OK && row->label != INQ_NONE && e->label == NULL) {
        code = start_labels(e, err);
    }
    if (code == INQ_OK && row->launch != 0 && e->launch == NULL) {
        code = start_launches(e, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    size_t i = e->n++;
    e->start_ns[i] = row->start_ns;
    e->dur_ns[i] = row->dur_ns;
    e->name[i] = row->name;
    e->lane[i] = row->lane;
    e->call[i] = row->call;
    e->comm[i] = row->comm;
    e->kind[i] = (uint8_t)row->kind;
    e->cls[i] = (uint8_t)row->cls;
    if (e->label != NULL) {
        e->label[i] = row->label;
    }
    if (e->launch != NULL) {
        e->launch[i] = row->launch;
    }
    return INQ_OK;
}

int inq_rank_grow_calls(struct inq_rank *rank, struct inq_err *err)
{
    struct inq_calls *c = &rank->calls;
    struct column columns[] = {
        {&c->start_ns, sizeof *c->start_ns},
        {&c->dur_ns, sizeof *c->dur_ns},
        {&c->name, sizeof *c->name},
        {&c->lane, sizeof *c->lane},
        {&c->correlation, sizeof *c->correlation},
    };
    return grow_columns(columns, sizeof columns / sizeof *columns, &c->cap, c->n + 1, err);
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
