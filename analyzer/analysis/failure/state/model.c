/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/failure/state/model.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "trace/build/build.h"

#include <string.h>

/* Members of all groups together: 64 groups of 100,000 ranks, some 400 MB. */
static const size_t MAX_PLACES = (size_t)6 << 20;

struct builder {
    struct inq_state *model;
    const struct inq_state_records *records;
    size_t n_records;
    size_t n_places;       /* members of all groups */
    struct inq_map groups; /* hash of name and members -> team */
    struct inq_map named;  /* the same by where the name and the members are */
    size_t cap_groups;
    struct inq_flight_group world; /* of all ranks, where dumps name it without its members */
    struct inq_map bare;           /* names that some dump gives without members */
    struct inq_map listed;         /* hash of such a name and a rank -> the first list with both */
    size_t n_lists, cap_lists;
    const struct inq_flight_group **lists;
    struct inq_err *err;
};

static int no_memory(struct builder *b)
{
    return inq_err_set(b->err, INQ_NOMEM, "no memory to join the dumps");
}

uint32_t inq_state_find_rank(const struct inq_state *model, int32_t rank)
{
    size_t lo = 0;
    size_t hi = model->n_ranks;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (model->ranks[mid].rank < rank) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < model->n_ranks && model->ranks[lo].rank == rank ? (uint32_t)lo : INQ_NONE;
}

static struct inq_state_place *find_place(const struct inq_state_group *team, uint32_t rank)
{
    size_t lo = 0;
    size_t hi = team->n_members;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (team->places[mid].rank < rank) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < team->n_members && team->places[lo].rank == rank ? &team->places[lo] : NULL;
}

/* ---- a rank's sends and receives by sender and receiver -----------------------------------------
 */

struct row {
    uint32_t team;
    uint32_t op; /* index into the rank's pending; INQ_NONE: finished */
    const struct inq_flight_entry *entry;
};

static int compare_channels(uint32_t team, int32_t src, int32_t dst,
                            const struct inq_state_channel *with)
{
    int order = (team > with->team) - (team < with->team);
    order = order != 0 ? order : (src > with->src) - (src < with->src);
    return order != 0 ? order : (dst > with->dst) - (dst < with->dst);
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct row *x = a;
    const struct row *y = b;
    struct inq_state_channel with = {.team = y->team, .src = y->entry->src, .dst = y->entry->dst};
    (void)ctx;
    int order = compare_channels(x->team, x->entry->src, x->entry->dst, &with);
    return order != 0 ? order
                      : (x->entry->record_id > y->entry->record_id) -
                            (x->entry->record_id < y->entry->record_id);
}

static bool is_transfer(const struct inq_state_rank *rank, const struct inq_flight_entry *entry)
{
    return entry->is_p2p && entry->src >= 0 && entry->dst >= 0 && entry->group != INQ_NONE &&
           rank->team_of[entry->group] != INQ_NONE;
}

/* Finished transfers from the entries, pending ones from `pending`, sorted by channel. */
static size_t list_rows(const struct inq_state_rank *rank, struct row *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rank->dump->n_entries; i++) {
        const struct inq_flight_entry *entry = &rank->dump->entries[i];
        if (entry->state == INQ_FLIGHT_COMPLETED && is_transfer(rank, entry)) {
            rows[n++] = (struct row){rank->team_of[entry->group], INQ_NONE, entry};
        }
    }
    for (size_t p = 0; p < rank->n_pending; p++) {
        if (is_transfer(rank, rank->pending[p].entry)) {
            rows[n++] = (struct row){rank->pending[p].team, (uint32_t)p, rank->pending[p].entry};
        }
    }
    return n;
}

static void add_row(struct inq_state_rank *rank, const struct row *row, uint32_t *n_transfers)
{
    struct inq_state_channel *last =
        rank->n_channels > 0 ? &rank->channels[rank->n_channels - 1] : NULL;
    if (last == NULL || compare_channels(row->team, row->entry->src, row->entry->dst, last) != 0) {
        last = &rank->channels[rank->n_channels++];
        *last = (struct inq_state_channel){.team = row->team,
                                           .src = row->entry->src,
                                           .dst = row->entry->dst,
                                           .last_done = -1,
                                           .first = *n_transfers};
    }
    if (row->op == INQ_NONE) {
        bool later = row->entry->p2p_seq > last->last_done;
        last->last_done = later ? row->entry->p2p_seq : last->last_done;
        last->n_done++;
        return;
    }
    struct inq_state_op *op = &rank->pending[row->op];
    op->channel = (uint32_t)rank->n_channels - 1;
    op->nth = (uint32_t)last->n_pending++;
    rank->transfers[(*n_transfers)++] = row->op;
}

/* Whether the ring of entries never wrapped, and finished ones were not left out. */
static bool is_from_start(const struct inq_flight_dump *dump)
{
    size_t n = dump->n_entries;
    return n > 0 && !dump->partial && dump->entries[0].record_id == 0 &&
           dump->entries[n - 1].record_id == (int64_t)n - 1;
}

/* Lists a rank's channels and places its pending transfers in them. Fails with INQ_NOMEM. */
static int list_channels(const struct inq_state *model, struct inq_state_rank *rank,
                         struct inq_err *err)
{
    size_t most = 0;
    rank->from_start = is_from_start(rank->dump);
    for (size_t i = 0; i < rank->dump->n_entries; i++) {
        most += is_transfer(rank, &rank->dump->entries[i]);
    }
    struct row *rows = inq_mem_alloc((most + 1) * sizeof *rows);
    rank->channels = inq_arena_array(model->arena, most, sizeof *rank->channels);
    rank->transfers = inq_arena_array(model->arena, most, sizeof *rank->transfers);
    if (rows == NULL || rank->channels == NULL || rank->transfers == NULL) {
        inq_mem_free(rows);
        return inq_err_set(err, INQ_NOMEM, "no memory to join sends and receives");
    }
    size_t n = list_rows(rank, rows);
    int code = inq_sort(rows, n, sizeof *rows, compare_rows, NULL, err);
    uint32_t n_transfers = 0;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        add_row(rank, &rows[i], &n_transfers);
    }
    inq_mem_free(rows);
    return code;
}

static const struct inq_state_channel *find_channel(const struct inq_state_rank *rank,
                                                    uint32_t team, int32_t src, int32_t dst)
{
    size_t lo = 0;
    size_t hi = rank->n_channels;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int order = compare_channels(team, src, dst, &rank->channels[mid]);
        if (order == 0) {
            return &rank->channels[mid];
        }
        hi = order < 0 ? mid : hi;
        lo = order < 0 ? lo : mid + 1;
    }
    return NULL;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* The group of all ranks, as older versions write it: without members. */
static bool is_bare_world(const struct inq_flight_group *group)
{
    return group->n_ranks == 0 && strcmp(group->desc, INQ_FLIGHT_WORLD) == 0;
}

/* Members of a group that are to be looked at: none where the record before has the very same list.
 * What a log printed of all ranks shares one, which else is read ranks x ranks times. */
static size_t new_members(const struct builder *b, size_t d, size_t g)
{
    const struct inq_flight_group *group = &b->records->of[d]->groups[g];
    const struct inq_flight_dump *before = d > 0 ? b->records->of[d - 1] : NULL;
    bool same = before != NULL && g < before->n_groups && before->groups[g].ranks == group->ranks &&
                before->groups[g].n_ranks == group->n_ranks;
    return same ? 0 : group->n_ranks;
}

/* The ranks that are members of groups or have dumps; all up to the highest where a group of all is
 * named, but not listed. */
static void mark_ranks(const struct builder *b, size_t d, size_t world, bool *seen)
{
    const struct inq_flight_dump *dump = b->records->of[d];
    seen[dump->rank] = true;
    for (size_t g = 0; g < dump->n_groups; g++) {
        size_t n = new_members(b, d, g);
        for (size_t i = 0; i < n; i++) {
            seen[dump->groups[g].ranks[i]] = true;
        }
        if (is_bare_world(&dump->groups[g])) {
            memset(seen, true, world * sizeof *seen);
        }
    }
}

static int list_ranks(struct builder *b)
{
    const struct inq_flight_dump *const *of = b->records->of;
    int32_t highest = -1;
    for (size_t d = 0; d < b->n_records; d++) {
        const struct inq_flight_dump *dump = of[d];
        highest = dump->rank > highest ? dump->rank : highest;
        for (size_t g = 0; g < dump->n_groups; g++) {
            size_t n = new_members(b, d, g);
            for (size_t i = 0; i < n; i++) {
                highest = dump->groups[g].ranks[i] > highest ? dump->groups[g].ranks[i] : highest;
            }
        }
    }
    size_t world = (size_t)highest + 1;
    bool *seen = inq_mem_zalloc(world + 1, sizeof *seen);
    struct inq_state_rank *ranks = inq_arena_array(b->model->arena, world, sizeof *ranks);
    b->model->ranks = ranks;
    if (seen == NULL || ranks == NULL) {
        inq_mem_free(seen);
        return no_memory(b);
    }
    for (size_t d = 0; d < b->n_records; d++) {
        mark_ranks(b, d, world, seen);
    }
    for (size_t r = 0; r < world; r++) {
        if (seen[r]) {
            ranks[b->model->n_ranks++].rank = (int32_t)r;
        }
    }
    inq_mem_free(seen);
    for (size_t d = 0; d < b->n_records; d++) {
        const struct inq_flight_dump *dump = of[d];
        struct inq_state_rank *rank = &ranks[inq_state_find_rank(b->model, dump->rank)];
        rank->dump = dump;
        rank->printed = d >= b->records->n_dumps;
        rank->whole = !dump->partial;
    }
    return INQ_OK;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b, void *ctx)
{
    const struct inq_state_place *x = a;
    const struct inq_state_place *y = b;
    (void)ctx;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int fill_team(struct builder *b, struct inq_state_group *team,
                     const struct inq_flight_group *group)
{
    team->name = group->name;
    team->desc = group->desc;
    team->members = group->ranks;
    team->n_members = group->n_ranks;
    team->places = inq_arena_array(b->model->arena, team->n_members, sizeof *team->places);
    if (team->places == NULL) {
        return no_memory(b);
    }
    for (size_t i = 0; i < team->n_members; i++) {
        team->places[i].rank = inq_state_find_rank(b->model, team->members[i]);
        team->places[i].enqueued = team->places[i].synced = team->places[i].transfer = -1;
    }
    return inq_sort(team->places, team->n_members, sizeof *team->places, compare_places, NULL,
                    b->err);
}

static uint64_t name_key(const char *name)
{
    return inq_hash_bytes(name, strlen(name));
}

/* What a group is known by without reading its members. */
static uint64_t place_of(const struct inq_flight_group *group)
{
    uint64_t place[] = {(uint64_t)(uintptr_t)group->ranks, group->n_ranks, name_key(group->name)};
    return inq_hash_bytes(place, sizeof place);
}

/* The group of the same name and members that another rank told of, or a new one if it is used. A
 * group whose members no dump lists stays out: nobody can be missed in it; so does one that no dump
 * tells a use of (jobs make hundreds that share one list of ranks, and each place costs memory). */
static int find_team(struct builder *b, const struct inq_flight_group *group, bool used,
                     uint32_t *index)
{
    struct inq_state *model = b->model;
    uint64_t key = inq_flight_group_key(group);
    if (inq_map_get(&b->groups, key, index) || !used) {
        return INQ_OK;
    }
    b->n_places += group->n_ranks;
    if (b->n_places > MAX_PLACES) {
        return inq_err_set(b->err, INQ_LIMIT,
                           "the process groups have more than %zu members in all", MAX_PLACES);
    }
    if (model->n_groups == b->cap_groups) {
        size_t cap = b->cap_groups * 2 + 64;
        struct inq_state_group *more = inq_arena_array(model->arena, cap, sizeof *more);
        if (more == NULL) {
            return no_memory(b);
        }
        if (model->n_groups > 0) {
            memcpy(more, model->groups, model->n_groups * sizeof *more);
        }
        model->groups = more;
        b->cap_groups = cap;
    }
    *index = (uint32_t)model->n_groups++;
    int code = fill_team(b, &model->groups[*index], group);
    return code == INQ_OK ? inq_map_put(&b->groups, key, *index, b->err) : code;
}

static uint64_t member_key(const char *name, int32_t rank)
{
    return inq_hash_u64(name_key(name) + inq_hash_u64((uint64_t)rank));
}

/* A list of members for each of them, if some dump only names the group. */
static int list_members(struct builder *b, const struct inq_flight_group *group)
{
    uint32_t known = 0;
    if (group->n_ranks == 0 || !inq_map_get(&b->bare, name_key(group->name), &known)) {
        return INQ_OK;
    }
    int code =
        inq_mem_grow(&b->lists, &b->cap_lists, b->n_lists + 1, sizeof(void *), INQ_NONE, b->err);
    if (code == INQ_OK) {
        b->lists[b->n_lists++] = group;
    }
    for (size_t i = 0; i < group->n_ranks && code == INQ_OK; i++) {
        uint64_t key = member_key(group->name, group->ranks[i]);
        if (!inq_map_get(&b->listed, key, &known)) {
            code = inq_map_put(&b->listed, key, (uint32_t)b->n_lists - 1, b->err);
        }
    }
    return code;
}

/* What dumps that list members tell those that only name a group: each distinct list once. */
static int list_bare(struct builder *b)
{
    struct inq_map seen = {0};
    int code = INQ_OK;
    for (size_t d = 0; d < b->n_records && code == INQ_OK; d++) {
        const struct inq_flight_dump *dump = b->records->of[d];
        for (size_t g = 0; g < dump->n_groups && code == INQ_OK; g++) {
            code = dump->groups[g].n_ranks == 0
                       ? inq_map_put(&b->bare, name_key(dump->groups[g].name), 0, b->err)
                       : INQ_OK;
        }
    }
    for (size_t d = 0; d < b->n_records && code == INQ_OK && b->bare.n > 0; d++) {
        const struct inq_flight_dump *dump = b->records->of[d];
        for (size_t g = 0; g < dump->n_groups && code == INQ_OK; g++) {
            uint64_t key = inq_flight_group_key(&dump->groups[g]);
            uint32_t before = 0;
            if (new_members(b, d, g) > 0 && !inq_map_get(&seen, key, &before)) {
                code = list_members(b, &dump->groups[g]);
                code = code == INQ_OK ? inq_map_put(&seen, key, 0, b->err) : code;
            }
        }
    }
    inq_map_release(&seen);
    return code;
}

/* The members as another rank lists them, for a group that this dump only names. */
static const struct inq_flight_group *same_group(const struct builder *b,
                                                 const struct inq_flight_dump *dump,
                                                 const struct inq_flight_group *group)
{
    uint32_t list = 0;
    if (group->n_ranks == 0 &&
        inq_map_get(&b->listed, member_key(group->name, dump->rank), &list)) {
        return b->lists[list];
    }
    return is_bare_world(group) ? &b->world : group;
}

static int list_world(struct builder *b)
{
    struct inq_flight_group *world = &b->world;
    *world = (struct inq_flight_group){.name = "0", .desc = INQ_FLIGHT_WORLD};
    world->ranks = inq_arena_array(b->model->arena, b->model->n_ranks, sizeof *world->ranks);
    if (world->ranks == NULL) {
        return no_memory(b);
    }
    for (; world->n_ranks < b->model->n_ranks; world->n_ranks++) {
        world->ranks[world->n_ranks] = b->model->ranks[world->n_ranks].rank;
    }
    return INQ_OK;
}

/* used[g]: the dump has an op of its g-th group, or a counter that ever moved. */
static void mark_used(const struct inq_flight_dump *dump, bool *used)
{
    for (size_t g = 0; g < dump->n_groups; g++) {
        used[g] = dump->groups[g].has_status && dump->groups[g].last_enqueued >= 0;
    }
    for (size_t i = 0; i < dump->n_entries; i++) {
        if (dump->entries[i].group < dump->n_groups) {
            used[dump->entries[i].group] = true;
        }
    }
}

/* Of the groups of a rank's dump those that it uses, or (with those of all dumps known) all that
 * any rank does. */
static int join_groups(struct builder *b, struct inq_state_rank *rank, bool all)
{
    const struct inq_flight_dump *dump = rank->dump;
    bool *used = inq_mem_zalloc(dump->n_groups + 1, sizeof *used);
    if (rank->team_of == NULL) {
        rank->team_of = inq_arena_array(b->model->arena, dump->n_groups, sizeof *rank->team_of);
    }
    if (rank->team_of == NULL || used == NULL) {
        inq_mem_free(used);
        return no_memory(b);
    }
    mark_used(dump, used);
    int code = INQ_OK;
    for (size_t g = 0; g < dump->n_groups && code == INQ_OK; g++) {
        if (used[g] == all) {
            continue;
        }
        const struct inq_flight_group *group = same_group(b, dump, &dump->groups[g]);
        uint64_t place = place_of(group);
        rank->team_of[g] = INQ_NONE;
        if (group->n_ranks == 0 || inq_map_get(&b->named, place, &rank->team_of[g])) {
            continue;
        }
        code = find_team(b, group, used[g], &rank->team_of[g]);
        if (code == INQ_OK) {
            code = inq_map_put(&b->named, place, rank->team_of[g], b->err);
        }
    }
    inq_mem_free(used);
    return code;
}

/* ---- what is pending ------------------------------------------------------------------------- */

static int compare_ops(const void *a, const void *b, void *ctx)
{
    const struct inq_flight_entry *x = ((const struct inq_state_op *)a)->entry;
    const struct inq_flight_entry *y = ((const struct inq_state_op *)b)->entry;
    (void)ctx;
    return (x->record_id > y->record_id) - (x->record_id < y->record_id);
}

static int64_t later(int64_t a_ns, int64_t b_ns)
{
    return a_ns == INQ_TIME_NONE || (b_ns != INQ_TIME_NONE && b_ns > a_ns) ? b_ns : a_ns;
}

static int list_pending(struct builder *b, struct inq_state_rank *rank)
{
    const struct inq_flight_dump *dump = rank->dump;
    size_t n = 0;
    rank->last_ns = INQ_TIME_NONE;
    for (size_t i = 0; i < dump->n_entries; i++) {
        n += dump->entries[i].state != INQ_FLIGHT_COMPLETED;
        rank->timed = rank->timed || dump->entries[i].started_ns != INQ_TIME_NONE;
        rank->last_ns = later(rank->last_ns, dump->entries[i].created_ns);
        rank->last_ns = later(rank->last_ns, dump->entries[i].completed_ns);
    }
    rank->unplaced = -1;
    rank->pending = inq_arena_array(b->model->arena, n, sizeof *rank->pending);
    if (rank->pending == NULL) {
        return no_memory(b);
    }
    for (size_t i = 0; i < dump->n_entries; i++) {
        const struct inq_flight_entry *entry = &dump->entries[i];
        uint32_t team = entry->group != INQ_NONE ? rank->team_of[entry->group] : INQ_NONE;
        if (team != INQ_NONE) {
            struct inq_state_group *of = &b->model->groups[team];
            of->has_p2p = of->has_p2p || entry->is_p2p;
            if (entry->state != INQ_FLIGHT_COMPLETED) {
                rank->pending[rank->n_pending++] =
                    (struct inq_state_op){.team = team, .entry = entry, .channel = INQ_NONE};
            }
        } else if (entry->state != INQ_FLIGHT_COMPLETED) {
            rank->unplaced = rank->n_unplaced++ == 0 ? entry->record_id : rank->unplaced;
        }
    }
    int code =
        inq_sort(rank->pending, rank->n_pending, sizeof *rank->pending, compare_ops, NULL, b->err);
    return code == INQ_OK ? list_channels(b->model, rank, b->err) : code;
}

static void move_place(struct inq_state_place *place, const struct inq_flight_entry *entry)
{
    int64_t seq = entry->collective_seq;
    bool done = entry->state == INQ_FLIGHT_COMPLETED;
    place->enqueued = seq > place->enqueued ? seq : place->enqueued;
    place->synced =
        done && inq_flight_needs_all(entry->kind) && seq > place->synced ? seq : place->synced;
    if (entry->state != INQ_FLIGHT_COMPLETED) {
        bool older = !place->pending || entry->collective_seq < place->next_seq;
        place->next_seq = older ? entry->collective_seq : place->next_seq;
        place->known = place->pending = true;
    } else if (!place->pending && entry->collective_seq >= place->next_seq) {
        place->next_seq = entry->collective_seq + 1;
        place->known = true;
    }
}

/* Where the recorded counters put the member, unless they may count transfers. */
static void start_place(const struct inq_state_group *team, const struct inq_flight_group *group,
                        struct inq_state_place *place)
{
    bool counts = group->has_status && !team->has_p2p;
    place->known = counts && group->last_completed >= 0 && group->last_completed < INT64_MAX;
    place->next_seq = place->known ? group->last_completed + 1 : -1;
    place->pending = place->known && group->last_enqueued > group->last_completed;
    place->enqueued = counts ? group->last_enqueued : -1;
    place->certain = place->certain || place->known;
}

static void move_transfer(struct inq_state_place *place, const struct inq_flight_entry *entry)
{
    bool oldest = entry->state != INQ_FLIGHT_COMPLETED && place->transfer < 0;
    place->transfer = oldest ? entry->p2p_seq : place->transfer;
    place->batched = place->batched || entry->kind == INQ_COLL_COALESCED;
}

/* The oldest pending collective, else the one behind the last finished. */
static void find_places(struct builder *b, size_t r)
{
    const struct inq_state_rank *rank = &b->model->ranks[r];
    const struct inq_flight_dump *dump = rank->dump;
    for (size_t g = 0; g < dump->n_groups; g++) {
        uint32_t team = rank->team_of[g];
        struct inq_state_place *place =
            team != INQ_NONE ? find_place(&b->model->groups[team], (uint32_t)r) : NULL;
        if (place != NULL) {
            start_place(&b->model->groups[team], &dump->groups[g], place);
        }
    }
    for (size_t i = 0; i < dump->n_entries; i++) {
        const struct inq_flight_entry *entry = &dump->entries[i];
        uint32_t team = entry->group != INQ_NONE ? rank->team_of[entry->group] : INQ_NONE;
        struct inq_state_place *place =
            team != INQ_NONE ? find_place(&b->model->groups[team], (uint32_t)r) : NULL;
        if (place == NULL) {
            continue;
        }
        if (entry->is_p2p) {
            move_transfer(place, entry);
        } else if (entry->collective_seq >= 0 && entry->collective_seq < INT64_MAX) {
            move_place(place, entry);
        }
    }
}

static bool lists(const struct inq_state_rank *rank, size_t team)
{
    bool found = false;
    for (size_t g = 0; rank->dump != NULL && g < rank->dump->n_groups; g++) {
        found = found || rank->team_of[g] == team;
    }
    return found;
}

/* A whole dump that does not list a group is of a rank that never entered it: a group is listed
 * from its first collective on. */
static void mark_whole(struct builder *b)
{
    for (size_t t = 0; t < b->model->n_groups; t++) {
        const struct inq_state_group *team = &b->model->groups[t];
        for (size_t i = 0; i < team->n_members; i++) {
            struct inq_state_place *place = &team->places[i];
            const struct inq_state_rank *rank = &b->model->ranks[place->rank];
            place->whole = place->certain = rank->whole && (!rank->printed || lists(rank, t));
        }
    }
}

/* ---- dumps of different times ---------------------------------------------------------------- */

void inq_state_set_aside(struct inq_state *model, uint32_t rank, bool aside)
{
    model->ranks[rank].stale = aside;
    if (model->ranks[rank].dump != NULL && model->ranks[rank].dump->partial) {
        return; /* it never was whole */
    }
    model->ranks[rank].whole = !aside;
    for (size_t t = 0; t < model->n_groups; t++) {
        struct inq_state_place *place = find_place(&model->groups[t], rank);
        if (place != NULL) {
            place->whole = place->certain = !aside;
        }
    }
}

/* A member that never enqueued what another has finished, though that needs all members, wrote its
 * dump before: where it stood later, the dump does not tell. */
static void find_stale(struct builder *b)
{
    struct inq_state *model = b->model;
    for (size_t t = 0; t < model->n_groups; t++) {
        const struct inq_state_group *team = &model->groups[t];
        int64_t synced = -1;
        for (size_t i = 0; i < team->n_members; i++) {
            synced = team->places[i].synced > synced ? team->places[i].synced : synced;
        }
        for (size_t i = 0; i < team->n_members; i++) {
            const struct inq_state_place *place = &team->places[i];
            struct inq_state_rank *rank = &model->ranks[place->rank];
            rank->stale = rank->stale || (rank->whole && place->known && place->enqueued < synced);
        }
    }
    for (uint32_t r = 0; r < model->n_ranks; r++) {
        if (model->ranks[r].stale) {
            inq_state_set_aside(model, r, true);
        }
    }
}

int inq_state_build(const struct inq_state_records *records, struct inq_arena *arena,
                    struct inq_state *model, struct inq_err *err)
{
    *model = (struct inq_state){.arena = arena};
    struct builder b = {.model = model,
                        .records = records,
                        .n_records = records->n_dumps + records->n_printed,
                        .err = err};
    int code = list_ranks(&b);
    code = code == INQ_OK ? list_world(&b) : code;
    code = code == INQ_OK ? list_bare(&b) : code;
    for (int all = 0; all < 2; all++) {
        for (size_t r = 0; r < model->n_ranks && code == INQ_OK; r++) {
            struct inq_state_rank *rank = &model->ranks[r];
            code = rank->dump != NULL ? join_groups(&b, rank, all == 1) : INQ_OK;
        }
    }
    for (size_t r = 0; r < model->n_ranks && code == INQ_OK; r++) {
        code = model->ranks[r].dump != NULL ? list_pending(&b, &model->ranks[r]) : INQ_OK;
    }
    if (code == INQ_OK) {
        mark_whole(&b);
    }
    for (size_t r = 0; r < model->n_ranks && code == INQ_OK; r++) {
        if (model->ranks[r].dump != NULL) {
            find_places(&b, r);
        }
    }
    if (code == INQ_OK) {
        find_stale(&b);
    }
    inq_map_release(&b.groups);
    inq_map_release(&b.named);
    inq_map_release(&b.bare);
    inq_map_release(&b.listed);
    inq_mem_free(b.lists);
    return code;
}

/* ---- who the other side of a transfer is, and how it stands ------------------------------------
 */

static uint32_t peer_of(const struct inq_state *model, uint32_t rank, const struct inq_state_op *op)
{
    const struct inq_state_group *team = &model->groups[op->team];
    const struct inq_flight_entry *entry = op->entry;
    if (entry->src < 0 || entry->dst < 0 || (size_t)entry->src >= team->n_members ||
        (size_t)entry->dst >= team->n_members) {
        return INQ_NONE;
    }
    bool sends = team->members[entry->src] == model->ranks[rank].rank;
    return inq_state_find_rank(model, team->members[sends ? entry->dst : entry->src]);
}

/* Whether the channel is all that holds the op's unit: then pending means not transferred. */
static bool is_single(const struct inq_state_rank *rank, const struct inq_state_op *op)
{
    size_t at = (size_t)(op - rank->pending);
    const struct inq_state_op *near[] = {at > 0 ? op - 1 : NULL,
                                         at + 1 < rank->n_pending ? op + 1 : NULL};
    for (size_t i = 0; i < 2; i++) {
        const struct inq_flight_entry *entry = near[i] != NULL ? near[i]->entry : NULL;
        if (entry != NULL && entry->is_p2p && near[i]->channel != INQ_NONE &&
            near[i]->team == op->team && entry->p2p_seq == op->entry->p2p_seq) {
            return false;
        }
    }
    return true;
}

/* In a group of two both sides number all transfers alike, unless they are batched: one whose
 * oldest pending number is higher has left this one behind. */
static bool left_by_number(const struct inq_state_group *team, uint32_t peer,
                           const struct inq_state_channel *theirs, const struct inq_state_op *op)
{
    const struct inq_state_place *place = find_place(team, peer);
    int64_t oldest = place != NULL ? place->transfer : -1;
    return oldest >= 0 ? oldest > op->entry->p2p_seq
                       : theirs != NULL && theirs->last_done >= op->entry->p2p_seq;
}

/* Of a rank that is no member of the group nothing is known. */
static bool is_unbatched(const struct inq_state_group *team, uint32_t rank)
{
    const struct inq_state_place *place = find_place(team, rank);
    return place != NULL && !place->batched;
}

/* The n-th transfer of a channel on one side is the n-th on the other. Both count from the same one
 * where neither ring of entries has wrapped; else from the oldest pending one. */
struct inq_state_partner inq_state_partner(const struct inq_state *model, uint32_t rank,
                                           const struct inq_state_op *op)
{
    struct inq_state_partner partner = {.peer = peer_of(model, rank, op)};
    if (partner.peer == INQ_NONE || partner.peer == rank || op->channel == INQ_NONE) {
        partner.peer = INQ_NONE;
        return partner;
    }
    const struct inq_state_rank *own = &model->ranks[rank];
    const struct inq_state_rank *other = &model->ranks[partner.peer];
    const struct inq_state_channel *mine = &own->channels[op->channel];
    const struct inq_state_channel *theirs = find_channel(other, op->team, mine->src, mine->dst);
    bool counted = own->from_start && other->from_start;
    int64_t nth = (int64_t)op->nth;
    nth += counted ? mine->n_done - (theirs != NULL ? theirs->n_done : 0) : 0;
    const struct inq_state_group *team = &model->groups[op->team];
    bool alike =
        team->n_members == 2 && is_unbatched(team, rank) && is_unbatched(team, partner.peer);
    partner.stands = INQ_OTHER_ABSENT;
    if (nth < 0 || (alike && !counted && left_by_number(team, partner.peer, theirs, op))) {
        partner.stands = INQ_OTHER_LEFT;
    } else if (theirs != NULL && nth < theirs->n_pending) {
        partner.stands = INQ_OTHER_THERE;
        partner.op = &other->pending[other->transfers[theirs->first + (size_t)nth]];
        partner.exact = counted || (alike && partner.op->entry->p2p_seq == op->entry->p2p_seq) ||
                        (is_single(own, op) && is_single(other, partner.op));
    }
    return partner;
}
