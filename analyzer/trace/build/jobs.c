/* SPDX-License-Identifier: Apache-2.0 */
/* Telling jobs apart: one pile of files is divided again and again until nothing in a pile speaks
 * against its being one job. */
#include "trace/build/jobs.h"

#include "base/mem.h"
#include "base/sort.h"
#include "trace/build/jobs_unit.h"

#include <string.h>

/* Recordings further apart than this, and than either lasted, are not of one job: hosts' clocks
 * differ by less. */
static const int64_t APART_NS = INT64_C(60) * 1000000000;

static int by_path(const void *a, const void *b, void *ctx)
{
    const struct inq_unit *units = ctx;
    return strcmp(units[*(const uint32_t *)a].path, units[*(const uint32_t *)b].path);
}

/* ---- what always tells apart ----------------------------------------------------------------- */

/* Parts by format; files that nothing ties to another are parts of their own. */
static int part_by_family(struct inq_division *d, const struct inq_pile *pile, struct inq_err *err)
{
    struct inq_map parts = {0};
    int code = INQ_OK;
    for (size_t i = pile->lo; i < pile->hi && code == INQ_OK; i++) {
        uint32_t u = d->order[i];
        uint32_t part = (uint32_t)i;
        if (!d->units[u].alone && !inq_map_get(&parts, d->units[u].family, &part)) {
            code = inq_map_put(&parts, d->units[u].family, part, err);
        }
        d->part[u] = part;
    }
    inq_map_release(&parts);
    return code;
}

/* The first and last step that the profiler marked in a file; false: it marked none. */
static bool find_steps(const struct inq_unit *unit, int64_t *first, int64_t *last)
{
    *first = INT64_MAX;
    *last = INT64_MIN;
    for (size_t r = 0; r < unit->shard->n_ranks; r++) {
        const struct inq_rank *rank = &unit->shard->ranks[r];
        for (size_t i = 0; i < rank->n_notes; i++) {
            int64_t number = rank->notes[i].number;
            if (rank->notes[i].kind == INQ_NOTE_STEP) {
                *first = number < *first ? number : *first;
                *last = number > *last ? number : *last;
            }
        }
    }
    return *first <= *last;
}

/* Whether the files hold every rank of the world once, in steps that they have in common: whatever
 * their clocks say, this is one job. */
static int are_a_world(const struct inq_division *d, const struct inq_pile *pile, bool *world,
                       struct inq_err *err)
{
    struct inq_map seen = {0};
    int32_t size = inq_unit_at(d, pile->lo)->world;
    int64_t from = INT64_MIN; /* the steps that all have */
    int64_t to = INT64_MAX;
    int code = INQ_OK;
    *world = size > 0 && (size_t)size == pile->hi - pile->lo;
    for (size_t i = pile->lo; i < pile->hi && *world && code == INQ_OK; i++) {
        const struct inq_unit *unit = inq_unit_at(d, i);
        int64_t first;
        int64_t last;
        uint32_t before;
        int32_t rank = unit->shard->ranks[0].rank;
        *world = unit->world == size && rank >= 0 && find_steps(unit, &first, &last) &&
                 !inq_map_get(&seen, (uint64_t)rank, &before);
        if (*world) {
            from = first > from ? first : from;
            to = last < to ? last : to;
            code = inq_map_put(&seen, (uint64_t)rank, 1, err);
        }
    }
    *world = *world && from <= to;
    inq_map_release(&seen);
    return code;
}

/* Parts by time, where the gap is longer than any clock is wrong. The pile has no untimed files. */
static int part_by_distance(struct inq_division *d, const struct inq_pile *pile,
                            struct inq_err *err)
{
    for (size_t i = pile->lo; i < pile->hi; i++) {
        d->key[d->order[i]] = inq_unit_at(d, i)->from_ns;
    }
    int code = inq_pile_sort(d, pile, err);
    int64_t end_ns = INT64_MIN;
    int64_t longest_ns = 0;
    uint32_t part = 0;
    for (size_t i = pile->lo; i < pile->hi && code == INQ_OK; i++) {
        const struct inq_unit *unit = inq_unit_at(d, i);
        int64_t own_ns = unit->to_ns - unit->from_ns;
        int64_t limit_ns = longest_ns > own_ns ? longest_ns : own_ns;
        limit_ns = limit_ns > APART_NS ? limit_ns : APART_NS;
        if (i > pile->lo && unit->from_ns > end_ns && unit->from_ns - end_ns > limit_ns) {
            part++;
            longest_ns = 0;
        }
        d->part[d->order[i]] = part;
        longest_ns = own_ns > longest_ns ? own_ns : longest_ns;
        end_ns = unit->to_ns > end_ns ? unit->to_ns : end_ns;
    }
    return code;
}

/* ---- parts that complement each other -------------------------------------------------------- */

/* Recordings that lie far apart in time and yet are of one job: a clock is off, not the job. Such
 * parts name one process group that has ranks in both, and no rank is in both. */

/* A clock in the wrong time zone is off by up to 14 hours; a day later it is another run. */
static const int64_t MOST_APART_NS = INT64_C(86400) * 1000000000;

struct complements {
    struct inq_division *d;
    const struct inq_pile *pile;
    struct inq_map ranks; /* part and rank */
};

static uint64_t key_in_part(uint32_t part, uint64_t key)
{
    return inq_hash_u64(key ^ inq_hash_u64(part));
}

/* The ranks of a unit are now those of `part`. */
static int enter(struct complements *c, const struct inq_unit *unit, uint32_t part,
                 struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t r = 0; r < unit->shard->n_ranks && code == INQ_OK; r++) {
        uint64_t key;
        if (inq_unit_key(unit, r, &key)) {
            code = inq_map_put(&c->ranks, key_in_part(part, key), 1, err);
        }
    }
    return code;
}

static bool shares_rank(const struct complements *c, const struct inq_unit *unit, uint32_t part)
{
    for (size_t r = 0; r < unit->shard->n_ranks; r++) {
        uint64_t key;
        uint32_t found;
        if (!inq_unit_key(unit, r, &key) ||
            inq_map_get(&c->ranks, key_in_part(part, key), &found)) {
            return true; /* or may */
        }
    }
    return false;
}

static void widen(int64_t range[2], int64_t from, int64_t to)
{
    range[0] = from < range[0] ? from : range[0];
    range[1] = to > range[1] ? to : range[1];
}

/* Whether nothing speaks against the parts being one: no rank twice, one world, steps in common
 * where they are known, no more than a day apart. */
static bool complement(const struct complements *c, uint32_t x, uint32_t y)
{
    int64_t steps[2][2] = {{INT64_MAX, INT64_MIN}, {INT64_MAX, INT64_MIN}};
    int64_t time_ns[2][2] = {{INT64_MAX, INT64_MIN}, {INT64_MAX, INT64_MIN}};
    int32_t world = -1;
    for (size_t i = c->pile->lo; i < c->pile->hi; i++) {
        const struct inq_unit *unit = inq_unit_at(c->d, i);
        uint32_t part = c->d->part[c->d->order[i]];
        if (part != x && part != y) {
            continue;
        }
        bool other_world = world >= 0 && unit->world >= 0 && unit->world != world;
        if (other_world || (part == y && shares_rank(c, unit, x))) {
            return false;
        }
        int64_t first;
        int64_t last;
        world = unit->world >= 0 ? unit->world : world;
        if (find_steps(unit, &first, &last)) {
            widen(steps[part == y], first, last);
        }
        widen(time_ns[part == y], unit->from_ns, unit->to_ns);
    }
    bool marked = steps[0][0] <= steps[0][1] && steps[1][0] <= steps[1][1];
    return (!marked || (steps[0][0] <= steps[1][1] && steps[1][0] <= steps[0][1])) &&
           time_ns[0][0] - time_ns[1][1] <= MOST_APART_NS &&
           time_ns[1][0] - time_ns[0][1] <= MOST_APART_NS;
}

static int join(struct complements *c, uint32_t x, uint32_t y, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = c->pile->lo; i < c->pile->hi && code == INQ_OK; i++) {
        uint32_t *part = &c->d->part[c->d->order[i]];
        if (*part == y) {
            *part = x;
            code = enter(c, inq_unit_at(c->d, i), x, err);
        }
    }
    return code;
}

/* The group as every file that knows it would name it; false: its ranks are not known. */
static bool group_key(const struct inq_shard *shard, size_t g, uint64_t *key)
{
    const struct inq_group *group = &shard->groups[g];
    *key = inq_hash_bytes(group->ranks, group->n_ranks * sizeof *group->ranks) ^
           inq_hash_bytes(inq_strtab_get(&shard->names, group->name),
                          inq_strtab_len(&shard->names, group->name));
    return group->n_ranks > 1;
}

/* Whether a group of a file has the file's own rank. */
static bool is_own(const struct inq_shard *shard, size_t g)
{
    const struct inq_group *group = &shard->groups[g];
    for (uint32_t i = 0; i < group->n_ranks; i++) {
        for (size_t r = 0; r < shard->n_ranks; r++) {
            if (group->ranks[i] == shard->ranks[r].rank) {
                return true;
            }
        }
    }
    return false;
}

static int join_by_groups(struct complements *c, struct inq_map *groups, uint32_t unit_index,
                          struct inq_err *err)
{
    const struct inq_shard *shard = c->d->units[unit_index].shard;
    int code = INQ_OK;
    for (size_t g = 0; g < shard->n_groups && code == INQ_OK; g++) {
        uint64_t key;
        uint32_t first; /* unit that named it */
        if (!group_key(shard, g, &key) || !is_own(shard, g)) {
            continue;
        }
        if (!inq_map_get(groups, key, &first)) {
            code = inq_map_put(groups, key, unit_index, err);
            continue;
        }
        uint32_t x = c->d->part[first];
        uint32_t y = c->d->part[unit_index];
        if (x != y && complement(c, x, y)) {
            code = join(c, x, y, err);
        }
    }
    return code;
}

static int join_complements(struct inq_division *d, const struct inq_pile *pile,
                            struct inq_err *err)
{
    struct complements c = {.d = d, .pile = pile};
    struct inq_map groups = {0};
    int code = INQ_OK;
    for (size_t i = pile->lo; i < pile->hi && code == INQ_OK; i++) {
        code = enter(&c, inq_unit_at(d, i), d->part[d->order[i]], err);
    }
    for (size_t i = pile->lo; i < pile->hi && code == INQ_OK; i++) {
        code = join_by_groups(&c, &groups, d->order[i], err);
    }
    inq_map_release(&groups);
    inq_map_release(&c.ranks);
    return code;
}

/* ---- what files may not know ----------------------------------------------------------------- */

/* Distance in time between two recordings; 0 when they overlap or are not known to be apart. */
static int64_t distance_ns(const struct inq_unit *a, const struct inq_unit *b)
{
    if (!a->timed || !b->timed) {
        return 0;
    }
    if (a->from_ns > b->to_ns) {
        return a->from_ns - b->to_ns;
    }
    return b->from_ns > a->to_ns ? b->from_ns - a->to_ns : 0;
}

/* Place of the file nearest in time to the one at `i`, of those that are first with their value. */
static uint32_t nearest_place(const struct inq_division *d, const struct inq_map *first, size_t i)
{
    uint32_t nearest = INQ_NONE;
    int64_t best = INT64_MAX;
    for (size_t s = 0; s < first->n_slots; s++) {
        if (!first->used[s]) {
            continue;
        }
        uint32_t place = first->values[s];
        int64_t own = distance_ns(inq_unit_at(d, i), inq_unit_at(d, place));
        if (nearest == INQ_NONE || own < best || (own == best && place < nearest)) {
            nearest = place;
            best = own;
        }
    }
    return nearest;
}

/* Parts by something that files may not know (value 0): those go where the nearest in time is. */
static int part_by_value(struct inq_division *d, const struct inq_pile *pile,
                         uint64_t (*value)(const struct inq_unit *unit), struct inq_err *err)
{
    struct inq_map first = {0}; /* value -> place of the first file that says so */
    int code = INQ_OK;
    for (size_t i = pile->lo; i < pile->hi && code == INQ_OK; i++) {
        uint64_t v = value(inq_unit_at(d, i));
        uint32_t part = (uint32_t)i;
        if (v != 0 && !inq_map_get(&first, v, &part)) {
            code = inq_map_put(&first, v, part, err);
        }
        d->part[d->order[i]] = v != 0 ? part : INQ_NONE;
    }
    for (size_t i = pile->lo; i < pile->hi && first.n > 0; i++) {
        uint32_t *part = &d->part[d->order[i]];
        *part = *part != INQ_NONE ? *part : nearest_place(d, &first, i);
    }
    inq_map_release(&first);
    return code;
}

static uint64_t world_of(const struct inq_unit *unit)
{
    return unit->world > 0 ? (uint64_t)unit->world : 0;
}

static uint64_t name_of(const struct inq_unit *unit)
{
    size_t len = strlen(unit->job);
    return len > 0 ? inq_hash_bytes(unit->job, len) : 0;
}

/* Tries one after the other; *several: the pile is divided. */
static int sift(struct inq_division *d, const struct inq_pile *pile, bool *several,
                struct inq_err *err)
{
    int code = part_by_family(d, pile, err);
    if (code == INQ_OK) {
        code = inq_pile_divide(d, pile, several, err);
    }
    bool world = false;
    if (code == INQ_OK && !*several) {
        code = are_a_world(d, pile, &world, err);
    }
    if (code == INQ_OK && !*several && !world) {
        code = part_by_distance(d, pile, err);
        if (code == INQ_OK) {
            code = join_complements(d, pile, err);
        }
        if (code == INQ_OK) {
            code = inq_pile_divide(d, pile, several, err);
        }
    }
    uint64_t (*const values[])(const struct inq_unit *) = {world_of, name_of};
    for (size_t v = 0; v < 2 && code == INQ_OK && !*several; v++) {
        code = part_by_value(d, pile, values[v], err);
        if (code == INQ_OK) {
            code = inq_pile_divide(d, pile, several, err);
        }
    }
    return code;
}

/* ---- files that do not say when -------------------------------------------------------------- */

static bool agree(const struct inq_unit *unit, const struct inq_unit *job)
{
    return unit->family == job->family && !unit->alone && !job->alone &&
           (unit->world < 0 || job->world < 0 || unit->world == job->world) &&
           (unit->job[0] == '\0' || job->job[0] == '\0' || strcmp(unit->job, job->job) == 0);
}

static uint64_t key_in_job(uint32_t job, uint64_t key)
{
    return inq_hash_u64(key ^ inq_hash_u64(job));
}

static int hold(struct inq_map *held, uint32_t job, const struct inq_unit *unit,
                struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t r = 0; r < unit->shard->n_ranks && code == INQ_OK; r++) {
        uint64_t key;
        if (inq_unit_key(unit, r, &key)) {
            code = inq_map_put(held, key_in_job(job, key), 1, err);
        }
    }
    return code;
}

static bool holds(const struct inq_map *held, uint32_t job, const struct inq_unit *unit)
{
    for (size_t r = 0; r < unit->shard->n_ranks; r++) {
        uint64_t key;
        uint32_t found;
        if (inq_unit_key(unit, r, &key) && inq_map_get(held, key_in_job(job, key), &found)) {
            return true;
        }
    }
    return false;
}

static bool same_folder(const char *a, const char *b)
{
    const char *x = strrchr(a, '/');
    const char *y = strrchr(b, '/');
    size_t n = x != NULL ? (size_t)(x - a) : 0;
    return n == (y != NULL ? (size_t)(y - b) : 0) && memcmp(a, b, n) == 0;
}

/* What is known of each job so far: its first file, with what its other files say. */
static int describe_jobs(const struct inq_division *d, struct inq_unit *about, struct inq_map *held,
                         struct inq_err *err)
{
    int code = INQ_OK;
    for (uint32_t u = 0; u < d->n && code == INQ_OK; u++) {
        uint32_t job = d->jobs->job_of[u];
        if (job == INQ_NONE) {
            continue;
        }
        const struct inq_unit *unit = &d->units[u];
        if (about[job].shard == NULL) {
            about[job] = *unit;
        }
        about[job].world = unit->world > about[job].world ? unit->world : about[job].world;
        about[job].job = about[job].job[0] == '\0' ? unit->job : about[job].job;
        code = hold(held, job, unit, err);
    }
    return code;
}

/* The files without a time, order[lo .. n), go to the first job that lacks their ranks, one of
 * their own folder before others; those that fit nowhere stay, as order[lo .. *hi). */
static int join_untimed(struct inq_division *d, size_t lo, size_t *hi, struct inq_err *err)
{
    struct inq_map held = {0};
    struct inq_unit *about = inq_mem_zalloc(d->jobs->n_jobs + 1, sizeof *about);
    int code = about != NULL ? describe_jobs(d, about, &held, err)
                             : inq_err_set(err, INQ_NOMEM, "out of memory for jobs");
    *hi = lo;
    for (size_t i = lo; i < d->n && code == INQ_OK; i++) {
        uint32_t u = d->order[i];
        uint32_t best = INQ_NONE;
        bool near = false;
        for (uint32_t job = 0; job < d->jobs->n_jobs && !near; job++) {
            if (agree(&d->units[u], &about[job]) && !holds(&held, job, &d->units[u])) {
                near = same_folder(d->units[u].path, about[job].path);
                best = near || best == INQ_NONE ? job : best;
            }
        }
        d->jobs->job_of[u] = best;
        if (best == INQ_NONE) {
            d->order[(*hi)++] = u;
        } else {
            code = hold(&held, best, &d->units[u], err);
        }
    }
    inq_map_release(&held);
    inq_mem_free(about);
    return code;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Until no pile is left. */
static int work(struct inq_division *d, struct inq_err *err)
{
    int code = INQ_OK;
    while (d->n_piles > 0 && code == INQ_OK) {
        struct inq_pile pile = d->piles[--d->n_piles];
        bool several = false;
        if (!pile.sifted) {
            code = sift(d, &pile, &several, err);
            pile.sifted = true;
        }
        if (code == INQ_OK && !several) {
            code = inq_pile_split_doubles(d, pile, err);
        }
    }
    return code;
}

/* By path, those with a time first; *timed gets their number. */
static int arrange(struct inq_division *d, size_t *timed, struct inq_err *err)
{
    *timed = 0;
    for (uint32_t u = 0; u < d->n; u++) {
        d->order[u] = u;
        *timed += d->units[u].timed;
    }
    int code = inq_sort(d->order, d->n, sizeof *d->order, by_path, d->units, err);
    for (uint32_t u = 0; u < d->n; u++) {
        d->part[u] = !d->units[u].timed;
    }
    return code == INQ_OK ? inq_sort(d->order, d->n, sizeof *d->order, inq_by_part, d->part, err)
                          : code;
}

static int find(struct inq_division *d, struct inq_err *err)
{
    size_t timed;
    size_t left;
    int code = arrange(d, &timed, err);
    if (code == INQ_OK) {
        code = inq_pile_push(d, 0, timed, false, err);
    }
    if (code == INQ_OK) {
        code = work(d, err);
    }
    if (code == INQ_OK) {
        code = join_untimed(d, timed, &left, err);
    }
    if (code == INQ_OK) {
        code = inq_pile_push(d, timed, left, false, err);
    }
    if (code == INQ_OK) {
        code = work(d, err);
    }
    for (size_t u = 0; u < d->n && code == INQ_OK; u++) {
        uint32_t holder = d->jobs->same_as[u];
        d->jobs->job_of[u] = d->jobs->job_of[holder != INQ_NONE ? holder : u];
    }
    return code;
}

/* Chrome's format is what Kineto writes: a file of a job may have lost what tells them apart. */
static uint64_t family_of(const struct inq_shard *shard)
{
    const char *format = shard->file.format != NULL ? shard->file.format : "";
    bool labeled = false;
    for (size_t r = 0; r < shard->n_ranks; r++) {
        labeled = labeled || shard->ranks[r].events.label != NULL;
    }
    if (strcmp(format, "chrome") == 0 && !labeled) {
        format = "kineto";
    }
    return inq_hash_bytes(format, strlen(format)) + labeled;
}

/* How many events are asked when they were. */
enum { MAX_SAMPLES = 1024 };

static size_t take_notes(const struct inq_rank *rank, int64_t *samples)
{
    size_t taken = rank->n_notes < MAX_SAMPLES ? rank->n_notes : MAX_SAMPLES;
    for (size_t i = 0; i < taken; i++) {
        samples[i] = rank->notes[rank->n_notes * i / taken].start_ns;
    }
    return taken;
}

static size_t take_samples(const int64_t *times, size_t n, size_t want, int64_t *samples)
{
    size_t taken = n < want ? n : want;
    for (size_t i = 0; i < taken; i++) {
        samples[i] = times[n * i / taken];
    }
    return taken;
}

/* The span of the middle nine tenths of the events: one bad time stamp does not widen it. */
static int find_window(struct inq_unit *unit, const struct inq_rank *rank, struct inq_err *err)
{
    int64_t *samples = inq_mem_alloc(MAX_SAMPLES * sizeof *samples);
    if (samples == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for telling jobs apart");
    }
    size_t n = take_samples(rank->events.start_ns, rank->events.n, MAX_SAMPLES, samples);
    if (n == 0) {
        n = take_samples(rank->calls.start_ns, rank->calls.n, MAX_SAMPLES, samples);
    }
    if (n == 0) {
        n = take_notes(rank, samples);
    }
    if (n > 0) {
        inq_sort_i64(samples, n);
        unit->timed = true;
        unit->from_ns = samples[n / 20];
        unit->to_ns = samples[n - 1 - n / 20];
    }
    inq_mem_free(samples);
    return INQ_OK;
}

/* Fills *unit from the shard, which must outlive it. Fails with INQ_NOMEM. */
static int unit_init(struct inq_unit *unit, const struct inq_shard *shard, struct inq_err *err)
{
    *unit = (struct inq_unit){.shard = shard,
                              .path = shard->file.path != NULL ? shard->file.path : "",
                              .host = "",
                              .job = "",
                              .family = family_of(shard),
                              .pid = -1,
                              .world = -1};
    for (size_t r = 0; r < shard->n_ranks; r++) {
        const struct inq_rank *rank = &shard->ranks[r];
        unit->world = rank->world_size > unit->world ? rank->world_size : unit->world;
        unit->job = unit->job[0] == '\0' ? inq_strtab_get(&shard->names, rank->job) : unit->job;
        unit->host = unit->host[0] == '\0' ? inq_strtab_get(&shard->names, rank->host) : unit->host;
        unit->pid = unit->pid < 0 ? rank->pid : unit->pid;
    }
    const struct inq_rank *first = shard->n_ranks > 0 ? &shard->ranks[0] : NULL;
    if (first == NULL) {
        return INQ_OK;
    }
    unit->alone = shard->n_ranks == 1 && first->rank < 0 && unit->world < 0 &&
                  unit->job[0] == '\0' && !first->has_clock_epoch;
    return first->has_clock_epoch ? find_window(unit, first, err) : INQ_OK;
}

int inq_jobs_find(const struct inq_shard *shards, size_t n, struct inq_jobs *jobs,
                  struct inq_err *err)
{
    struct inq_division d = {.n = n, .jobs = jobs};
    *jobs = (struct inq_jobs){0};
    jobs->job_of = inq_mem_alloc((n + 1) * sizeof *jobs->job_of);
    jobs->same_as = inq_mem_alloc((n + 1) * sizeof *jobs->same_as);
    d.units = inq_mem_zalloc(n + 1, sizeof *d.units);
    d.order = inq_mem_zalloc(n + 1, sizeof *d.order);
    d.part = inq_mem_zalloc(n + 1, sizeof *d.part);
    d.key = inq_mem_zalloc(n + 1, sizeof *d.key);
    int code = INQ_OK;
    if (jobs->job_of == NULL || jobs->same_as == NULL || d.units == NULL || d.order == NULL ||
        d.part == NULL || d.key == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for %zu files", n);
        goto out;
    }
    memset(jobs->job_of, 0xff, n * sizeof *jobs->job_of);   /* INQ_NONE */
    memset(jobs->same_as, 0xff, n * sizeof *jobs->same_as); /* INQ_NONE */
    for (size_t u = 0; u < n && code == INQ_OK; u++) {
        code = unit_init(&d.units[u], &shards[u], err);
    }
    if (code == INQ_OK) {
        code = find(&d, err);
    }
out:
    inq_mem_free(d.units);
    inq_mem_free(d.order);
    inq_mem_free(d.part);
    inq_mem_free(d.key);
    inq_mem_free(d.piles);
    if (code != INQ_OK) {
        inq_jobs_release(jobs);
    }
    return code;
}

void inq_jobs_release(struct inq_jobs *jobs)
{
    inq_mem_free(jobs->job_of);
    inq_mem_free(jobs->same_as);
    *jobs = (struct inq_jobs){0};
}
