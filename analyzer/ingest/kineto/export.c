/* SPDX-License-Identifier: Apache-2.0 */
/* Documents that this program wrote (-f perfetto): several ranks in one file, told apart by pid.
 * The member "inquest" in front of the events says which pid is which rank and which tid is which
 * of its lanes; events on other tracks were added to the recording and are passed over. */
#include "ingest/kineto/kineto.h"

#include "base/arena.h"
#include "base/mem.h"

#include <limits.h>

/* More in one file are not believed: each costs memory before it has an event. */
enum { MAX_EXPORT_RANKS = 65536 };

static const char schema[] = "inquest-perfetto/1";

static int32_t small(struct inq_text value)
{
    int64_t number = inq_kineto_number(value, -1);
    return number < 0 || number > INT32_MAX ? -1 : (int32_t)number;
}

/* A time that sums of two stay far from overflow with. */
static int64_t time_of(struct inq_text value)
{
    int64_t ns = inq_kineto_number(value, 0);
    return ns > INQ_KINETO_MAX_TIME || ns < -INQ_KINETO_MAX_TIME ? 0 : ns;
}

static bool is_true(struct inq_text value)
{
    return inq_text_is(value, "true");
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int take_group_member(struct inq_kineto *k, void *ctx, struct inq_text key,
                             struct inq_text value)
{
    struct inq_group_note *note = ctx;
    if (inq_text_is(key, "name")) {
        return inq_kineto_text(k, value, &note->name);
    }
    if (inq_text_is(key, "desc")) {
        return inq_kineto_text(k, value, &note->desc);
    }
    if (inq_text_is(key, "size")) {
        note->size = small(value);
    } else if (inq_text_is(key, "ranks")) {
        return inq_kineto_ranks(k, value, note);
    }
    return INQ_OK;
}

static int take_groups(struct inq_kineto *k, struct inq_text list)
{
    if (list.n < 2 || list.p[0] != '[') {
        return INQ_OK;
    }
    struct inq_scan scan = inq_kineto_inside(list);
    struct inq_text value;
    int code = INQ_OK;
    while (code == INQ_OK && inq_kineto_next_element(&scan, &value)) {
        struct inq_group_note note = {.size = -1};
        uint32_t index = 0;
        code = inq_kineto_each_member(k, value, take_group_member, &note);
        if (code == INQ_OK) {
            code = inq_shard_add_group(k->shard, note.name, note.desc, note.size, note.ranks,
                                       note.n_ranks, &index, k->err);
        }
        if (code == INQ_OK) {
            code = inq_mem_grow(&k->export_groups, &k->cap_export_groups, k->n_export_groups + 1,
                                sizeof *k->export_groups, INQ_KINETO_MAX_GROUPS, k->err);
        }
        if (code == INQ_OK) {
            k->export_groups[k->n_export_groups++] = index;
        }
    }
    return code;
}

uint32_t inq_kineto_export_group(const struct inq_kineto *k, const struct inq_scan_event *event)
{
    int64_t id = INQ_HAS(event, GROUP_ID) ? event->number[INQ_FIELD_GROUP_ID] : -1;
    return id >= 0 && (uint64_t)id < k->n_export_groups ? k->export_groups[id] : INQ_NONE;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

struct lane_note {
    struct inq_lane lane;
    struct inq_text tids;
};

static int take_lane_member(struct inq_kineto *k, void *ctx, struct inq_text key,
                            struct inq_text value)
{
    struct lane_note *note = ctx;
    if (inq_text_is(key, "kind")) {
        struct inq_text kind = inq_kineto_unquote(value);
        note->lane.kind = inq_text_is(kind, "stream") ? INQ_LANE_STREAM
                          : inq_text_is(kind, "ops")  ? INQ_LANE_OPS
                                                      : INQ_LANE_THREAD;
    } else if (inq_text_is(key, "device")) {
        note->lane.device = small(value);
    } else if (inq_text_is(key, "id")) {
        note->lane.id = inq_kineto_number(value, -1);
    } else if (inq_text_is(key, "name")) {
        return inq_kineto_text(k, value, &note->lane.name);
    } else if (inq_text_is(key, "tids")) {
        note->tids = value;
    }
    return INQ_OK;
}

/* The tracks that hold the events of one lane. */
static int take_tids(struct inq_kineto *k, struct inq_text list, int64_t pid, uint32_t rank,
                     uint32_t lane)
{
    if (list.n < 2 || list.p[0] != '[') {
        return INQ_OK;
    }
    struct inq_scan scan = inq_kineto_inside(list);
    struct inq_text value;
    int code = INQ_OK;
    while (code == INQ_OK && inq_kineto_next_element(&scan, &value)) {
        struct inq_scan_event track = {.has = UINT64_C(1) << INQ_FIELD_PID | UINT64_C(1)
                                                                                 << INQ_FIELD_TID};
        uint32_t thread = 0;
        track.number[INQ_FIELD_PID] = pid;
        track.number[INQ_FIELD_TID] = inq_kineto_number(value, -1);
        code = inq_kineto_thread(k, &track, &thread);
        if (code == INQ_OK) {
            k->threads[thread].lane = lane;
            k->threads[thread].rank = rank;
        }
    }
    return code;
}

static int take_lanes(struct inq_kineto *k, struct inq_text list, int64_t pid, uint32_t index)
{
    if (list.n < 2 || list.p[0] != '[') {
        return INQ_OK;
    }
    struct inq_scan scan = inq_kineto_inside(list);
    struct inq_text value;
    int code = INQ_OK;
    while (code == INQ_OK && inq_kineto_next_element(&scan, &value)) {
        struct lane_note note = {.lane = {.kind = INQ_LANE_THREAD, .device = -1, .id = -1}};
        struct inq_rank *rank = &k->shard->ranks[index];
        code = inq_kineto_each_member(k, value, take_lane_member, &note);
        if (code == INQ_OK) {
            code = inq_mem_grow(&rank->lanes, &rank->cap_lanes, rank->n_lanes + 1,
                                sizeof *rank->lanes, INQ_MAX_LANES, k->err);
        }
        if (code == INQ_OK) {
            uint32_t lane = (uint32_t)rank->n_lanes;
            rank->lanes[rank->n_lanes++] = note.lane;
            code = take_tids(k, note.tids, pid, index, lane);
        }
    }
    return code;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

struct rank_note {
    struct inq_rank *rank;
    struct inq_export_rank *extra;
    struct inq_text lanes;
    int64_t pid;
};

static int take_piece_member(struct inq_kineto *k, void *ctx, struct inq_text key,
                             struct inq_text value)
{
    struct inq_clock_piece *piece = ctx;
    (void)k;
    if (inq_text_is(key, "from_ns")) {
        piece->from_ns = time_of(value);
    } else if (inq_text_is(key, "offset_ns")) {
        piece->offset_ns = time_of(value);
    } else if (inq_text_is(key, "drift_ppb")) {
        piece->drift_ppb = inq_kineto_number(value, 0);
    }
    return INQ_OK;
}

/* Those behind one that does not begin after the piece before it are not believed. */
static int take_pieces(struct inq_kineto *k, struct inq_text list, struct inq_clock *clock)
{
    if (list.n < 2 || list.p[0] != '[' || clock->later != NULL) {
        return INQ_OK;
    }
    struct inq_text value;
    size_t n = 0;
    struct inq_scan scan = inq_kineto_inside(list);
    while (inq_kineto_next_element(&scan, &value)) {
        n++;
    }
    clock->later = inq_arena_array(&k->shard->arena, n, sizeof *clock->later);
    if (clock->later == NULL) {
        return inq_err_set(k->err, INQ_NOMEM, "out of memory for a clock");
    }
    scan = inq_kineto_inside(list);
    int code = INQ_OK;
    while (code == INQ_OK && clock->n_later < n && inq_kineto_next_element(&scan, &value)) {
        struct inq_clock_piece piece = {0};
        code = inq_kineto_each_member(k, value, take_piece_member, &piece);
        if (clock->n_later > 0 && piece.from_ns <= clock->later[clock->n_later - 1].from_ns) {
            break;
        }
        clock->later[clock->n_later++] = piece;
    }
    return code;
}

static int take_clock_member(struct inq_kineto *k, void *ctx, struct inq_text key,
                             struct inq_text value)
{
    struct inq_clock *clock = ctx;
    clock->aligned = true;
    if (inq_text_is(key, "offset_ns")) {
        clock->offset_ns = time_of(value);
    } else if (inq_text_is(key, "drift_ppb")) {
        clock->drift_ppb = inq_kineto_number(value, 0);
    } else if (inq_text_is(key, "ref_ns")) {
        clock->ref_ns = time_of(value);
    } else if (inq_text_is(key, "residual_ns")) {
        clock->residual_ns = inq_kineto_number(value, -1);
    } else if (inq_text_is(key, "anchors")) {
        clock->anchors = (uint32_t)inq_kineto_number(value, 0);
    } else if (inq_text_is(key, "later")) {
        return take_pieces(k, value, clock);
    }
    return INQ_OK;
}

/* Numbers of a rank that are known by one key each. */
static bool take_rank_number(const struct rank_note *note, struct inq_text key,
                             struct inq_text value)
{
    struct inq_rank *rank = note->rank;
    const struct {
        const char *key;
        int32_t *to;
    } known[] = {{"rank", &rank->rank},
                 {"world_size", &rank->world_size},
                 {"stage", &rank->stage},
                 {"dp_rank", &rank->dp_rank}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (inq_text_is(key, known[i].key)) {
            *known[i].to = small(value);
            return true;
        }
    }
    return false;
}

static bool take_rank_time(const struct rank_note *note, struct inq_text key, struct inq_text value)
{
    struct inq_export_rank *extra = note->extra;
    if (inq_text_is(key, "wall_clock")) {
        extra->epoch = is_true(value);
    } else if (inq_text_is(key, "fractional_us")) {
        extra->fraction = is_true(value);
    } else if (inq_text_is(key, "base_ns")) {
        extra->base_ns = time_of(value);
    } else if (inq_text_is(key, "row0_ns")) {
        extra->row0_ns = time_of(value);
        extra->has_row0 = true;
    } else {
        return false;
    }
    return true;
}

static int take_rank_member(struct inq_kineto *k, void *ctx, struct inq_text key,
                            struct inq_text value)
{
    struct rank_note *note = ctx;
    struct inq_rank *rank = note->rank;
    if (take_rank_number(note, key, value) || take_rank_time(note, key, value)) {
        return INQ_OK;
    }
    if (inq_text_is(key, "pid")) {
        note->pid = inq_kineto_number(value, -1);
    } else if (inq_text_is(key, "process")) {
        rank->pid = inq_kineto_number(value, -1);
    } else if (inq_text_is(key, "host")) {
        return inq_kineto_text(k, value, &rank->host);
    } else if (inq_text_is(key, "device_name")) {
        return inq_kineto_text(k, value, &rank->device_name);
    } else if (inq_text_is(key, "job")) {
        return inq_kineto_text(k, value, &rank->job);
    } else if (inq_text_is(key, "clock")) {
        return inq_kineto_each_member(k, value, take_clock_member, &rank->clock);
    } else if (inq_text_is(key, "lanes")) {
        note->lanes = value;
    }
    return INQ_OK;
}

static int take_ranks(struct inq_kineto *k, struct inq_text list)
{
    if (list.n < 2 || list.p[0] != '[') {
        return INQ_OK;
    }
    struct inq_scan scan = inq_kineto_inside(list);
    struct inq_text value;
    int code = INQ_OK;
    while (code == INQ_OK && inq_kineto_next_element(&scan, &value)) {
        uint32_t index = 0;
        if (k->shard->n_ranks == MAX_EXPORT_RANKS) {
            inq_kineto_damage(k, INQ_DAMAGE_LIMIT, 1, -1);
            continue;
        }
        code = inq_shard_add_rank(k->shard, &index, k->err);
        if (code == INQ_OK) {
            code = inq_mem_grow(&k->of_export, &k->cap_of_export, (size_t)index + 1,
                                sizeof *k->of_export, MAX_EXPORT_RANKS, k->err);
        }
        if (code != INQ_OK) {
            break;
        }
        k->of_export[index] = (struct inq_export_rank){0};
        struct rank_note note = {
            .rank = &k->shard->ranks[index], .extra = &k->of_export[index], .pid = -1};
        code = inq_kineto_each_member(k, value, take_rank_member, &note);
        if (code == INQ_OK) {
            code = take_lanes(k, note.lanes, note.pid, index);
        }
    }
    return code;
}

/* ---- the head -------------------------------------------------------------------------------- */

struct head_note {
    bool known; /* it is of the schema that is read here */
    struct inq_text ranks, groups, base;
};

static int take_head_member(struct inq_kineto *k, void *ctx, struct inq_text key,
                            struct inq_text value)
{
    struct head_note *note = ctx;
    (void)k;
    if (inq_text_is(key, "schema")) {
        note->known = inq_text_is(inq_kineto_unquote(value), schema);
    } else if (inq_text_is(key, "ranks")) {
        note->ranks = value;
    } else if (inq_text_is(key, "groups")) {
        note->groups = value;
    } else if (inq_text_is(key, "base_ns")) {
        note->base = value;
    }
    return INQ_OK;
}

int inq_kineto_export_head(struct inq_kineto *k, struct inq_text value)
{
    struct head_note note = {0};
    int code = inq_kineto_each_member(k, value, take_head_member, &note);
    if (code != INQ_OK || !note.known) {
        return code;
    }
    k->exported = true;
    k->kineto = true;
    k->shard->n_ranks = 0; /* the one that other files have has nothing yet */
    k->export_base_ns = note.base.n > 0 ? time_of(note.base) : 0;
    code = take_groups(k, note.groups);
    return code == INQ_OK ? take_ranks(k, note.ranks) : code;
}

/* ---- events ---------------------------------------------------------------------------------- */

int inq_kineto_export_enter(struct inq_kineto *k, const struct inq_scan_event *event, bool *known)
{
    uint32_t thread = 0;
    int code = inq_kineto_thread(k, event, &thread);
    *known = code == INQ_OK && k->threads[thread].rank < k->shard->n_ranks;
    if (*known) {
        k->rank = &k->shard->ranks[k->threads[thread].rank];
    }
    return code;
}

static int32_t small_field(const struct inq_scan_event *event, enum inq_scan_field field)
{
    int64_t value = (event->has >> field & 1) != 0 ? event->number[field] : -1;
    return value < 0 || value > INT32_MAX ? -1 : (int32_t)value;
}

int inq_kineto_export_op(struct inq_kineto *k, const struct inq_scan_event *event,
                         const struct inq_part *part, bool *is_op)
{
    struct inq_text cat = event->text[INQ_FIELD_CAT];
    struct inq_rank *rank = k->rank;
    enum inq_op_type type = INQ_HAS(event, CAT) ? inq_op_type_from_name(cat.p, cat.n) : INQ_OP_NONE;
    *is_op = type != INQ_OP_NONE || rank->lanes[part->lane].kind == INQ_LANE_OPS;
    if (!*is_op) {
        return INQ_OK;
    }
    struct inq_label label = {.type = type,
                              .step = small_field(event, INQ_FIELD_STEP),
                              .stage = rank->stage,
                              .dp_rank = rank->dp_rank,
                              .micro_batch = small_field(event, INQ_FIELD_MICRO_BATCH),
                              .chunk = small_field(event, INQ_FIELD_CHUNK),
                              .seq = small_field(event, INQ_FIELD_SEQ_ID)};
    struct inq_event_row row = {
        .start_ns = part->start_ns,
        .dur_ns = part->dur_ns,
        .name = part->name,
        .lane = part->lane,
        .call = INQ_NONE,
        .comm = INQ_NONE,
        .kind = INQ_EVENT_OP,
        .cls = inq_op_class(label.type, inq_strtab_get(&k->shard->names, part->name)),
    };
    int code = inq_rank_add_label(rank, &label, &row.label, k->err);
    return code == INQ_OK ? inq_rank_add_event(rank, &row, k->err) : code;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void shift(int64_t *column, size_t n, int64_t by_ns)
{
    for (size_t i = 0; i < n; i++) {
        column[i] += by_ns;
    }
}

void inq_kineto_export_finish(struct inq_kineto *k)
{
    struct inq_shard *shard = k->shard;
    shard->file.format = "inquest";
    for (size_t r = 0; r < shard->n_ranks; r++) {
        struct inq_rank *rank = &shard->ranks[r];
        const struct inq_export_rank *extra = &k->of_export[r];
        shift(rank->events.start_ns, rank->events.n, k->export_base_ns);
        shift(rank->calls.start_ns, rank->calls.n, k->export_base_ns);
        for (size_t i = 0; i < rank->n_notes; i++) {
            rank->notes[i].start_ns += k->export_base_ns;
        }
        rank->base_ns = extra->base_ns;
        rank->has_clock_epoch = extra->epoch;
        rank->fractional_us = extra->fraction;
        rank->has_row0 = extra->has_row0;
        rank->row0_ns = extra->row0_ns;
    }
}
