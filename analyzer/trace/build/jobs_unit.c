/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/build/jobs_unit.h"

#include "base/mem.h"
#include "base/sort.h"

#include <string.h>

/* How many events are asked when they were. */
enum { MAX_SAMPLES = 1024 };

/* Chrome's format is what Kineto writes: a file of a job may have lost what tells them apart. */
static uint64_t family_of(const struct inq_shard *shard)
{
    const char *format = shard->file.format != NULL ? shard->file.format : "";
    bool labelled = false;
    for (size_t r = 0; r < shard->n_ranks; r++) {
        labelled = labelled || shard->ranks[r].events.label != NULL;
    }
    if (strcmp(format, "chrome") == 0 && !labelled) {
        format = "kineto";
    }
    return inq_hash_bytes(format, strlen(format)) + labelled;
}

static size_t take_samples(const int64_t *times, size_t n, size_t want, int64_t *samples)
{
    size_t taken = n < want ? n : want;
    for (size_t i = 0; i < taken; i++) {
        samples[i] = times[n * i / taken];
    }
    return taken;
}

static size_t take_notes(const struct inq_rank *rank, int64_t *samples)
{
    size_t taken = rank->n_notes < MAX_SAMPLES ? rank->n_notes : MAX_SAMPLES;
    for (size_t i = 0; i < taken; i++) {
        samples[i] = rank->notes[rank->n_notes * i / taken].start_ns;
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

int inq_unit_init(struct inq_unit *unit, const struct inq_shard *shard, struct inq_err *err)
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

bool inq_unit_key(const struct inq_unit *unit, size_t index, uint64_t *key)
{
    const struct inq_rank *rank = &unit->shard->ranks[index];
    if (rank->rank >= 0) {
        *key = (uint64_t)rank->rank;
        return true;
    }
    const char *host = inq_strtab_get(&unit->shard->names, rank->host);
    if (rank->pid < 0 || host[0] == '\0') {
        return false;
    }
    uint64_t hash = inq_hash_bytes(host, strlen(host)) ^ inq_hash_u64((uint64_t)rank->pid);
    *key = hash | (uint64_t)1 << 63;
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

static bool holds_rank(const struct inq_rank *whole, const struct inq_rank *part)
{
    return whole->rank == part->rank && part->events.n + part->calls.n > 0 &&
           part->n_notes <= whole->n_notes && holds_events(&whole->events, &part->events) &&
           holds_calls(&whole->calls, &part->calls);
}

bool inq_unit_holds(const struct inq_unit *whole, const struct inq_unit *part)
{
    bool holds = whole->shard->n_ranks == part->shard->n_ranks && part->shard->n_ranks > 0;
    for (size_t r = 0; holds && r < part->shard->n_ranks; r++) {
        holds = holds_rank(&whole->shard->ranks[r], &part->shard->ranks[r]);
    }
    return holds;
}

size_t inq_unit_rows(const struct inq_unit *unit)
{
    size_t rows = 0;
    for (size_t r = 0; r < unit->shard->n_ranks; r++) {
        const struct inq_rank *rank = &unit->shard->ranks[r];
        rows += rank->events.n + rank->calls.n + rank->n_notes;
    }
    return rows;
}

/* ---- piles ----------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b, void *ctx)
{
    const int64_t *key = ctx;
    int64_t x = key[*(const uint32_t *)a];
    int64_t y = key[*(const uint32_t *)b];
    return (x > y) - (x < y);
}

int inq_by_part(const void *a, const void *b, void *ctx)
{
    const uint32_t *part = ctx;
    uint32_t x = part[*(const uint32_t *)a];
    uint32_t y = part[*(const uint32_t *)b];
    return (x > y) - (x < y);
}

int inq_pile_sort(struct inq_division *d, const struct inq_pile *pile, struct inq_err *err)
{
    return inq_sort(d->order + pile->lo, pile->hi - pile->lo, sizeof *d->order, by_key, d->key,
                    err);
}

int inq_pile_push(struct inq_division *d, size_t lo, size_t hi, bool sifted, struct inq_err *err)
{
    int code = inq_mem_grow(&d->piles, &d->cap_piles, d->n_piles + 1, sizeof *d->piles,
                            SIZE_MAX / 64, err);
    if (code == INQ_OK && lo < hi) {
        d->piles[d->n_piles++] = (struct inq_pile){lo, hi, sifted};
    }
    return code;
}

/* Makes piles of the parts; *several tells whether there is more than one. */
int inq_pile_divide(struct inq_division *d, const struct inq_pile *pile, bool *several,
                    struct inq_err *err)
{
    int code = inq_sort(d->order + pile->lo, pile->hi - pile->lo, sizeof *d->order, inq_by_part,
                        d->part, err);
    size_t first = d->n_piles;
    for (size_t lo = pile->lo, hi; lo < pile->hi && code == INQ_OK; lo = hi) {
        hi = lo + 1;
        while (hi < pile->hi && d->part[d->order[hi]] == d->part[d->order[lo]]) {
            hi++;
        }
        code = inq_pile_push(d, lo, hi, pile->sifted, err);
    }
    *several = d->n_piles - first > 1;
    if (!*several) {
        d->n_piles = first;
    }
    return code;
}
