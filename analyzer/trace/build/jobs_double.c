/* SPDX-License-Identifier: Apache-2.0 */
/* Dividing files of which two are of the same rank. */
#include "trace/build/jobs_unit.h"

#include "base/mem.h"
#include "base/sort.h"

#include <string.h>

/* ---- doubles --------------------------------------------------------------------------------- */

/* How much there is to hold. */
static size_t unit_rows(const struct inq_unit *unit)
{
    size_t rows = 0;
    for (size_t r = 0; r < unit->shard->n_ranks; r++) {
        const struct inq_rank *rank = &unit->shard->ranks[r];
        rows += rank->events.n + rank->calls.n + rank->n_notes;
    }
    return rows;
}

/* The fullest file of each rank, the first of equals. */
static int find_holders(const struct inq_division *d, const struct inq_pile *pile,
                        struct inq_map *holders, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = pile->lo; i < pile->hi; i++) {
        const struct inq_unit *unit = inq_unit_at(d, i);
        for (size_t r = 0; r < unit->shard->n_ranks && code == INQ_OK; r++) {
            uint64_t key;
            uint32_t holder;
            if (inq_unit_key(unit, r, &key) && (!inq_map_get(holders, key, &holder) ||
                                                unit_rows(&d->units[holder]) < unit_rows(unit))) {
                code = inq_map_put(holders, key, d->order[i], err);
            }
        }
    }
    return code;
}

static bool holds_calls(const struct inq_calls *whole, const struct inq_calls *part)
{
    size_t at = 0;
    for (size_t i = 0; i < part->n; i++, at++) {
        while (at < whole->n && whole->start_ns[at] != part->start_ns[i]) {
            at++;
        }
        if (at == whole->n) {
            return false;
        }
    }
    return true;
}

/* Both are in order of lane and time, and lanes in the order in which the file names them first. */
static bool holds_events(const struct inq_events *whole, const struct inq_events *part)
{
    size_t at = 0;
    for (size_t i = 0; i < part->n; i++, at++) {
        while (at < whole->n &&
               (whole->lane[at] != part->lane[i] || whole->start_ns[at] != part->start_ns[i] ||
                whole->dur_ns[at] != part->dur_ns[i])) {
            at++;
        }
        if (at == whole->n) {
            return false;
        }
    }
    return true;
}

static bool holds_rank(const struct inq_rank *whole, const struct inq_rank *part)
{
    return whole->rank == part->rank && part->events.n + part->calls.n > 0 &&
           part->n_notes <= whole->n_notes && holds_events(&whole->events, &part->events) &&
           holds_calls(&whole->calls, &part->calls);
}

/* Whether all events and launches of `part` (there are some) are in `whole` at the same times: it
 * is a copy of it, or as much of one as was written. */
static bool unit_holds(const struct inq_unit *whole, const struct inq_unit *part)
{
    bool holds = whole->shard->n_ranks == part->shard->n_ranks && part->shard->n_ranks > 0;
    for (size_t r = 0; holds && r < part->shard->n_ranks; r++) {
        holds = holds_rank(&whole->shard->ranks[r], &part->shard->ranks[r]);
    }
    return holds;
}

/* Whether a rank is there twice. Files that hold nothing but what others hold are taken out of the
 * pile. */
static int find_doubles(struct inq_division *d, struct inq_pile *pile, bool *doubled,
                        struct inq_err *err)
{
    struct inq_map holders = {0};
    size_t kept = pile->lo;
    int code = find_holders(d, pile, &holders, err);
    *doubled = false;
    for (size_t i = pile->lo; i < pile->hi && code == INQ_OK; i++) {
        uint32_t u = d->order[i];
        uint32_t same_as = INQ_NONE;
        for (size_t r = 0; r < d->units[u].shard->n_ranks; r++) {
            uint64_t key;
            uint32_t holder = u;
            if (!inq_unit_key(&d->units[u], r, &key) || !inq_map_get(&holders, key, &holder) ||
                holder == u) {
                continue;
            }
            if (unit_holds(&d->units[holder], &d->units[u])) {
                same_as = holder;
            } else {
                *doubled = true;
            }
        }
        d->jobs->same_as[u] = same_as;
        if (same_as == INQ_NONE) {
            d->order[kept++] = u;
        }
    }
    pile->hi = kept;
    inq_map_release(&holders);
    return code;
}

/* doubles[i]: whether a cut before place i (from pile->lo) would put two files of one rank on
 * different sides. */
static int find_useful_cuts(const struct inq_division *d, const struct inq_pile *pile,
                            int64_t *doubles, struct inq_err *err)
{
    struct inq_map last = {0}; /* rank -> place it was seen at last */
    size_t n = pile->hi - pile->lo;
    int code = INQ_OK;
    memset(doubles, 0, (n + 1) * sizeof *doubles);
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        const struct inq_unit *unit = inq_unit_at(d, pile->lo + i);
        for (size_t r = 0; r < unit->shard->n_ranks && code == INQ_OK; r++) {
            uint64_t key;
            uint32_t before;
            if (!inq_unit_key(unit, r, &key)) {
                continue;
            }
            if (inq_map_get(&last, key, &before)) {
                doubles[before + 1]++; /* from there on, up to and with this place */
                doubles[i + 1]--;
            }
            code = inq_map_put(&last, key, (uint32_t)i, err);
        }
    }
    for (size_t i = 1; i < n; i++) {
        doubles[i] += doubles[i - 1];
    }
    inq_map_release(&last);
    return code;
}

/* How far the file at place i lies behind all before it, where a cut is of use; else 0. `*end` is
 * the furthest reach so far. */
static int64_t useful_gap(const struct inq_division *d, const struct inq_pile *pile, size_t i,
                          const int64_t *reach, const int64_t *doubles, int64_t *end)
{
    uint32_t u = d->order[i];
    int64_t before = *end;
    *end = i == pile->lo || reach[u] > before ? reach[u] : before;
    bool gap = i > pile->lo && d->key[u] > before && doubles[i - pile->lo] > 0;
    return gap ? d->key[u] - before : 0;
}

/* Parts at the widest gap between files in the order of `key`, and at those not less than half as
 * wide; only where that parts doubles. One part where there is no such gap. */
static int part_at_gaps(struct inq_division *d, const struct inq_pile *pile, const int64_t *reach,
                        struct inq_err *err)
{
    int64_t *doubles = inq_mem_alloc((pile->hi - pile->lo + 2) * sizeof *doubles);
    int code = doubles != NULL ? find_useful_cuts(d, pile, doubles, err)
                               : inq_err_set(err, INQ_NOMEM, "out of memory for jobs");
    int64_t widest = 0;
    int64_t end = 0;
    for (size_t i = pile->lo; i < pile->hi && code == INQ_OK; i++) {
        int64_t gap = useful_gap(d, pile, i, reach, doubles, &end);
        widest = gap > widest ? gap : widest;
    }
    uint32_t part = 0;
    for (size_t i = pile->lo; i < pile->hi && code == INQ_OK; i++) {
        int64_t gap = useful_gap(d, pile, i, reach, doubles, &end);
        part += gap > 0 && gap >= widest - widest / 2;
        d->part[d->order[i]] = part;
    }
    inq_mem_free(doubles);
    return code;
}

/* The length of what all paths of the pile begin with, up to and with a '/'. */
static size_t common_folder(const struct inq_division *d, const struct inq_pile *pile)
{
    const char *path = inq_unit_at(d, pile->lo)->path;
    size_t len = strlen(path);
    for (size_t i = pile->lo + 1; i < pile->hi; i++) {
        const char *other = inq_unit_at(d, i)->path;
        size_t same = 0;
        while (same < len && path[same] == other[same]) {
            same++;
        }
        len = same;
    }
    while (len > 0 && path[len - 1] != '/') {
        len--;
    }
    return len;
}

/* Parts by text: a folder's name, a host. */
static int part_by_text(struct inq_division *d, const struct inq_pile *pile, bool folders,
                        struct inq_err *err)
{
    struct inq_map parts = {0};
    size_t skip = folders ? common_folder(d, pile) : 0;
    int code = INQ_OK;
    for (size_t i = pile->lo; i < pile->hi && code == INQ_OK; i++) {
        const char *text = folders ? inq_unit_at(d, i)->path + skip : inq_unit_at(d, i)->host;
        const char *slash = folders ? strchr(text, '/') : NULL;
        size_t len = slash != NULL ? (size_t)(slash - text) : folders ? 0 : strlen(text);
        uint64_t key = inq_hash_bytes(text, len);
        uint32_t part = (uint32_t)i;
        if (!inq_map_get(&parts, key, &part)) {
            code = inq_map_put(&parts, key, part, err);
        }
        d->part[d->order[i]] = part;
    }
    inq_map_release(&parts);
    return code;
}

/* The k-th file of a rank goes to part k. */
static int part_by_turn(struct inq_division *d, const struct inq_pile *pile, struct inq_err *err)
{
    struct inq_map turns = {0};
    int code = INQ_OK;
    for (size_t i = pile->lo; i < pile->hi && code == INQ_OK; i++) {
        uint32_t part = 0;
        const struct inq_unit *unit = inq_unit_at(d, i);
        for (size_t r = 0; r < unit->shard->n_ranks; r++) {
            uint64_t key;
            uint32_t turn = 0;
            if (inq_unit_key(unit, r, &key) && inq_map_get(&turns, key, &turn)) {
                part = turn + 1 > part ? turn + 1 : part;
            }
        }
        for (size_t r = 0; r < unit->shard->n_ranks && code == INQ_OK; r++) {
            uint64_t key;
            if (inq_unit_key(unit, r, &key)) {
                code = inq_map_put(&turns, key, part, err);
            }
        }
        d->part[d->order[i]] = part;
    }
    inq_map_release(&turns);
    return code;
}

static uint64_t key_in_bin(uint32_t bin, uint64_t key)
{
    return inq_hash_u64(key ^ inq_hash_u64(bin));
}

/* Whether a bin holds a rank of one of the files order[lo .. hi). */
static bool clashes(const struct inq_division *d, const struct inq_pile *part,
                    const struct inq_map *held, uint32_t bin)
{
    for (size_t i = part->lo; i < part->hi; i++) {
        const struct inq_unit *unit = inq_unit_at(d, i);
        for (size_t r = 0; r < unit->shard->n_ranks; r++) {
            uint64_t key;
            uint32_t found;
            if (inq_unit_key(unit, r, &key) && inq_map_get(held, key_in_bin(bin, key), &found)) {
                return true;
            }
        }
    }
    return false;
}

static int put_in_bin(struct inq_division *d, const struct inq_pile *part, struct inq_map *held,
                      uint32_t bin, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = part->lo; i < part->hi; i++) {
        const struct inq_unit *unit = inq_unit_at(d, i);
        d->part[d->order[i]] = bin;
        for (size_t r = 0; r < unit->shard->n_ranks && code == INQ_OK; r++) {
            uint64_t key;
            if (inq_unit_key(unit, r, &key)) {
                code = inq_map_put(held, key_in_bin(bin, key), 1, err);
            }
        }
    }
    return code;
}

/* Parts that share no rank become one again, in their order: nothing spoke for parting them. */
static int rejoin(struct inq_division *d, const struct inq_pile *pile, struct inq_err *err)
{
    struct inq_map held = {0}; /* bin and rank */
    uint32_t n_bins = 0;
    int code = inq_sort(d->order + pile->lo, pile->hi - pile->lo, sizeof *d->order, inq_by_part,
                        d->part, err);
    for (size_t lo = pile->lo, hi; lo < pile->hi && code == INQ_OK; lo = hi) {
        hi = lo + 1;
        while (hi < pile->hi && d->part[d->order[hi]] == d->part[d->order[lo]]) {
            hi++;
        }
        struct inq_pile part = {lo, hi, true};
        uint32_t bin = 0;
        while (bin < n_bins && clashes(d, &part, &held, bin)) {
            bin++;
        }
        n_bins = bin < n_bins ? n_bins : bin + 1;
        code = put_in_bin(d, &part, &held, bin, err);
    }
    inq_map_release(&held);
    return code;
}

/* ---- ways to divide, the clearest first ------------------------------------------------------ */

enum way { WAY_TIME, WAY_FOLDER, WAY_HOST, WAY_PROCESS, WAY_BEGIN, WAY_TURN, WAY_COUNT };

/* Whether all files know what they would be divided by; process ids compare within one host. */
static bool applies(const struct inq_division *d, const struct inq_pile *pile, enum way way)
{
    bool one_host = true;
    bool timed = true;
    for (size_t i = pile->lo; i < pile->hi; i++) {
        const struct inq_unit *unit = inq_unit_at(d, i);
        one_host =
            one_host && unit->pid >= 0 && strcmp(unit->host, inq_unit_at(d, pile->lo)->host) == 0;
        timed = timed && unit->timed;
    }
    return way == WAY_PROCESS ? one_host : way != WAY_TIME && way != WAY_BEGIN ? true : timed;
}

/* Sorts by time or process id and parts at the widest gaps: between the end of one recording and
 * the start of the next (WAY_TIME), or between starts, or between ids. */
static int part_by_number(struct inq_division *d, const struct inq_pile *pile, enum way way,
                          struct inq_err *err)
{
    int64_t *reach = inq_mem_alloc((d->n + 1) * sizeof *reach);
    if (reach == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for telling jobs apart");
    }
    for (size_t i = pile->lo; i < pile->hi; i++) {
        const struct inq_unit *unit = inq_unit_at(d, i);
        uint32_t u = d->order[i];
        d->key[u] = way == WAY_PROCESS ? unit->pid : unit->from_ns;
        reach[u] = way == WAY_TIME ? unit->to_ns : d->key[u];
    }
    int code = inq_pile_sort(d, pile, err);
    if (code == INQ_OK) {
        code = part_at_gaps(d, pile, reach, err);
    }
    inq_mem_free(reach);
    return code;
}

static int part_in_way(struct inq_division *d, const struct inq_pile *pile, enum way way,
                       struct inq_err *err)
{
    int code = INQ_OK;
    switch (way) {
    case WAY_FOLDER:
    case WAY_HOST:
        code = part_by_text(d, pile, way == WAY_FOLDER, err);
        break;
    case WAY_TIME:
    case WAY_PROCESS:
    case WAY_BEGIN:
        code = part_by_number(d, pile, way, err);
        break;
    case WAY_TURN:
    case WAY_COUNT:
        return part_by_turn(d, pile, err);
    }
    /* recordings that did not overlap are apart, whatever their ranks */
    return code == INQ_OK && way != WAY_TIME ? rejoin(d, pile, err) : code;
}

static void close_job(struct inq_division *d, const struct inq_pile *pile)
{
    for (size_t i = pile->lo; i < pile->hi; i++) {
        d->jobs->job_of[d->order[i]] = (uint32_t)d->jobs->n_jobs;
    }
    d->jobs->n_jobs++;
}

int inq_pile_split_doubles(struct inq_division *d, struct inq_pile pile, struct inq_err *err)
{
    bool doubled;
    bool several = false;
    int code = find_doubles(d, &pile, &doubled, err);
    for (int way = 0; doubled && way < WAY_COUNT && code == INQ_OK && !several; way++) {
        if (!applies(d, &pile, (enum way)way)) {
            continue;
        }
        code = part_in_way(d, &pile, (enum way)way, err);
        if (code == INQ_OK) {
            code = inq_pile_divide(d, &pile, &several, err);
        }
    }
    if (code == INQ_OK && !several) {
        close_job(d, &pile);
    }
    return code;
}
