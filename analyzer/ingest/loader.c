/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/loader.h"

#include "base/arena.h"
#include "base/time.h"
#include "ingest/archive/archive.h"
#include "ingest/ingest.h"
#include "ingest/unrecognized.h"
#include "inquest/flight.h"
#include "inquest/log.h"
#include "trace/telemetry/telemetry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Progress is for people: not more often than this. */
#define REPORT_EVERY_NS INT64_C(50000000)
/* A file smaller than this is read sooner than a thread is started for it. */
#define WORTH_A_THREAD ((uint64_t)512 << 10)

/* One file being read. */
struct reading {
    struct inq_loader *loader;
    struct inq_shard *shard;
    struct inq_source *source;
    size_t index;
    uint64_t held, bytes, events; /* its part of the shared counters */
};

int inq_loader_report(struct inq_loader *loader, struct inq_err *err)
{
    struct inq_progress progress = {
        .bytes_done = atomic_load(&loader->bytes_done),
        .bytes_total = loader->bytes_total,
        .events = atomic_load(&loader->events),
        .files_done = atomic_load(&loader->files_done),
        .files_total = (uint32_t)loader->walk->n,
    };
    const struct inq_ingest_options *options = loader->options;
    if (options->progress != NULL && options->progress(options->progress_ctx, &progress) != 0) {
        atomic_store(&loader->stop, INQ_CANCELLED);
        return inq_err_set(err, INQ_CANCELLED, "interrupted");
    }
    return INQ_OK;
}

/* Reports if it is time to; a thread that finds another one reporting goes on reading. */
static void maybe_report(struct inq_loader *loader)
{
    if (loader->options->progress == NULL || pthread_mutex_trylock(&loader->report) != 0) {
        return;
    }
    int64_t now = inq_time_now_ns();
    if (now - loader->last_report_ns >= REPORT_EVERY_NS) {
        loader->last_report_ns = now;
        (void)inq_loader_report(loader, NULL);
    }
    (void)pthread_mutex_unlock(&loader->report);
}

static void count(atomic_uint_fast64_t *shared, uint64_t *own, uint64_t now)
{
    atomic_fetch_add(shared, now - *own); /* modulo 2^64: the difference may be negative */
    *own = now;
}

/* Rows, not the room for more of them: that is no memory yet, and there is as much of it as the
 * producer of a source was ahead, while where reading stops must be the same each time. */
static uint64_t rank_bytes(const struct inq_rank *rank)
{
    const struct inq_events *events = &rank->events;
    uint64_t event = 2 * sizeof(int64_t) + 5 * sizeof(uint32_t) + 2 * sizeof(uint8_t);
    if (events->label != NULL) {
        event += sizeof(uint32_t);
    }
    if (events->launch != NULL) {
        event += sizeof(uint32_t);
    }
    uint64_t call = 3 * sizeof(int64_t) + 2 * sizeof(uint32_t);
    return events->n * event + rank->calls.n * call + rank->cap_lanes * sizeof *rank->lanes +
           rank->cap_notes * sizeof *rank->notes + rank->cap_comms * sizeof *rank->comms +
           rank->cap_labels * sizeof *rank->labels;
}

/* Bytes held by a shard's columns, strings and lists. */
static uint64_t shard_bytes(const struct inq_shard *shard)
{
    const struct inq_strtab *names = &shard->names;
    uint64_t bytes = shard->arena.total + names->arena.total + names->cap * sizeof *names->rows +
                     names->n_slots * sizeof *names->slots +
                     shard->cap_ranks * sizeof *shard->ranks +
                     shard->cap_groups * sizeof *shard->groups +
                     shard->launches.cap * sizeof *shard->launches.rows;
    if (shard->log != NULL) {
        bytes += shard->log->arena->total + shard->log->names->arena.total +
                 shard->log->cap_events * sizeof *shard->log->events;
    }
    if (shard->dump != NULL) {
        bytes += shard->dump->arena->total + shard->dump->names->arena.total;
    }
    for (size_t i = 0; i < shard->n_ranks; i++) {
        bytes += rank_bytes(&shard->ranks[i]);
    }
    return bytes;
}

static void update_counters(struct reading *reading)
{
    struct inq_loader *loader = reading->loader;
    const struct inq_shard *shard = reading->shard;
    uint64_t events = shard->file.events;
    for (size_t i = 0; i < shard->n_ranks && shard->file.events == 0; i++) {
        events += shard->ranks[i].events.n;
    }
    count(&loader->held, &reading->held, shard_bytes(shard));
    count(&loader->events, &reading->events, events);
    if (reading->source != NULL) {
        count(&loader->bytes_done, &reading->bytes, inq_source_consumed(reading->source));
    }
}

/* INQ_LIMIT when this file may not take more memory. */
static int check_memory(struct reading *reading)
{
    struct inq_loader *loader = reading->loader;
    if (loader->each != NULL) { /* one file a thread is held */
        return reading->held > loader->limit / (uint64_t)loader->jobs ? INQ_LIMIT : INQ_OK;
    }
    if (loader->shares != NULL) {
        return reading->held > loader->shares[reading->index] ? INQ_LIMIT : INQ_OK;
    }
    if (atomic_load(&loader->held) > loader->limit) {
        atomic_store(&loader->over, true);
    }
    return atomic_load(&loader->over) ? INQ_LIMIT : INQ_OK;
}

static int check_stop(struct inq_loader *loader, struct inq_err *err)
{
    int code = atomic_load(&loader->stop);
    if (code == INQ_OK) {
        return INQ_OK;
    }
    return inq_err_set(err, (enum inq_code)code, "%s", inq_code_text(code));
}

/* Between two chunks of a source. */
static int tick(void *ctx, struct inq_err *err)
{
    struct reading *reading = ctx;
    update_counters(reading);
    maybe_report(reading->loader);
    int code = check_stop(reading->loader, err);
    return code != INQ_OK ? code : check_memory(reading);
}

static void merge_damage(struct inq_damage *into, const struct inq_damage *from)
{
    for (int kind = 0; kind < INQ_DAMAGE_KIND_COUNT; kind++) {
        if (from->count[kind] > 0) {
            inq_damage_add(into, (enum inq_damage_kind)kind, from->count[kind],
                           from->first_offset[kind]);
        }
    }
}

int inq_loader_reason(struct inq_shard *shard, const char *reason, bool append, struct inq_err *err)
{
    const char *old = shard->file.reason;
    bool join = append && old != NULL && old[0] != '\0';
    shard->file.reason =
        inq_arena_asprintf(&shard->arena, "%s%s%s", join ? old : "", join ? "; " : "", reason);
    if (shard->file.reason == NULL) {
        shard->file.reason = "";
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    return INQ_OK;
}

/* The file is not taken. */
static int reject_as(struct inq_shard *shard, const char *reason)
{
    inq_unrecognized_set_aside(shard, reason);
    return INQ_OK;
}

/* The same for a text that lives as long as its caller; NULL: for the reason that was given. */
static int reject(struct inq_shard *shard, const char *reason, struct inq_err *err)
{
    char text[sizeof err->message];
    const char *why = reason != NULL ? reason : shard->file.reason;
    (void)snprintf(text, sizeof text, "%s", why != NULL ? why : "not a trace");
    inq_unrecognized_set_aside(shard, "");
    return inq_loader_reason(shard, text, false, err);
}

/* A rank that the file does not know is the one in its name, if it can only mean that. */
static void name_rank(struct inq_shard *shard)
{
    if (shard->n_ranks == 1 && shard->ranks[0].rank < 0) {
        shard->ranks[0].rank = inq_rank_from_name(shard->file.path);
    }
}

/* Ranks of one host share a clock, so the host is worth knowing. */
static int name_hosts(struct inq_shard *shard, struct inq_err *err)
{
    const char *host = NULL;
    size_t len = inq_host_from_name(shard->file.path, &host);
    int code = INQ_OK;
    for (size_t r = 0; len > 0 && r < shard->n_ranks && code == INQ_OK; r++) {
        if (shard->ranks[r].host == 0) {
            code = inq_strtab_add(&shard->names, host, len, &shard->ranks[r].host, err);
        }
    }
    return code;
}

static int finish(struct inq_shard *shard, const struct inq_reader *reader, struct inq_err *err)
{
    if (shard->file.format == NULL) {
        shard->file.format = reader->name;
    }
    if (shard->dump != NULL) {
        shard->file.events_kept = shard->dump->n_entries;
        shard->file.read = true;
        return INQ_OK;
    }
    if (shard->log != NULL) {
        shard->file.events_kept = shard->log->n_events;
        if (shard->log->not_kept > 0) {
            inq_damage_add(&shard->file.damage, INQ_DAMAGE_LIMIT, shard->log->not_kept, 0);
        }
        shard->file.read = true;
        return INQ_OK;
    }
    if (shard->telemetry != NULL) {
        shard->file.events_kept = shard->telemetry->n;
        shard->file.read = shard->telemetry->n > 0;
        return shard->file.read ? INQ_OK : reject_as(shard, "telemetry without a sample");
    }
    if (shard->n_ranks == 0) {
        bool told = shard->file.reason != NULL && shard->file.reason[0] != '\0';
        return told ? reject(shard, NULL, err) : reject_as(shard, "no events");
    }
    name_rank(shard);
    int code = name_hosts(shard, err);
    if (code == INQ_OK) {
        code = inq_shard_finalize(shard, err);
    }
    shard->file.events_kept = 0;
    for (size_t i = 0; i < shard->n_ranks; i++) {
        const struct inq_rank *rank = &shard->ranks[i];
        shard->file.events_kept += rank->events.n + rank->calls.n + rank->n_notes;
    }
    shard->file.read = true;
    return code;
}

/* What a reader's return code means for the file; fails for what ends the whole ingest. */
static int settle_file(struct inq_shard *shard, const struct inq_reader *reader, int code,
                       const struct inq_err *why, uint64_t offset, struct inq_err *err)
{
    switch (code) {
    case INQ_OK:
        return finish(shard, reader, err);
    case INQ_NOMEM:
    case INQ_CANCELLED:
        return inq_err_at(err, (enum inq_code)code, shard->file.path, why->offset, "%s",
                          why->message);
    case INQ_LIMIT:
        inq_damage_add(&shard->file.damage, INQ_DAMAGE_LIMIT, 1, (int64_t)offset);
        break;
    case INQ_UNSUPPORTED:
        shard->file.format = "unknown";
        return reject(shard, why->message[0] != '\0' ? why->message : NULL, err);
    default:
        break;
    }
    /* what was read before it failed is worth keeping */
    int kept = inq_loader_reason(shard, why->message, true, err);
    return kept != INQ_OK ? kept : finish(shard, reader, err);
}

static int read_source(struct reading *reading, struct inq_err *err)
{
    struct inq_shard *shard = reading->shard;
    struct inq_source *source = reading->source;
    struct inq_err why = {0};
    const char *head = NULL;
    size_t n = 0;
    shard->file.compressed = inq_source_compressed(source);
    int code = inq_source_peek(source, &head, &n, &why);
    if (code != INQ_OK) {
        return code == INQ_NOMEM ? inq_err_set(err, INQ_NOMEM, "%s", why.message)
                                 : reject(shard, why.message, err);
    }
    struct inq_discovered_file *file = &reading->loader->walk->files[reading->index];
    if (inq_archive_recognize(head, n)) {
        file->is_archive = true;
        file->reason = "an archive"; /* until it is opened */
        shard->file.format = "unknown";
        return reject_as(shard, file->reason);
    }
    const struct inq_reader *reader =
        inq_unrecognized_is_packed(head, n) ? NULL : inq_reader_find(head, n, shard->file.path);
    if (reader == NULL) {
        shard->file.format = "unknown";
        merge_damage(&shard->file.damage, inq_source_damage(source));
        bool broken = n == 0 && inq_damage_total(&shard->file.damage) > 0;
        return reject_as(
            shard, broken ? "nothing could be decompressed"
                          : inq_unrecognized_reason(&shard->arena, shard->file.path, head, n));
    }
    code = reader->read(source, shard, &why);
    if (inq_source_damage(source)->count[INQ_DAMAGE_LIMIT] > 0) {
        /* the end that the reader saw is where reading stopped, not the file's */
        shard->file.damage.count[INQ_DAMAGE_TRUNCATED] = 0;
        shard->file.damage.count[INQ_DAMAGE_UNTERMINATED] = 0;
    }
    merge_damage(&shard->file.damage, inq_source_damage(source));
    if (shard->file.bytes_raw == 0) { /* unless the reader went another way */
        shard->file.bytes_raw = inq_source_delivered(source);
    }
    return settle_file(shard, reader, code, &why, inq_source_delivered(source), err);
}

static int compare_names(const void *key, const void *element)
{
    return strcmp(key, ((const struct inq_ingest_blob *)element)->name);
}

/* Where the file's bytes are: in its partial, if that was given. */
static struct inq_source_part find_bytes(const struct inq_ingest_options *options,
                                         const struct inq_discovered_file *file)
{
    const struct inq_ingest_blob *partial =
        options->n_partials > 0 ? bsearch(file->path, options->partials, options->n_partials,
                                          sizeof *options->partials, compare_names)
                                : NULL;
    return partial == NULL
               ? file->part
               : (struct inq_source_part){.bytes = partial->bytes, .fd = -1, .size = partial->n};
}

static int read_file(struct reading *reading, bool threaded, struct inq_err *err)
{
    struct inq_shard *shard = reading->shard;
    struct inq_source_options options = {.threaded = threaded, .tick = tick, .tick_ctx = reading};
    struct inq_err why = {0};
    const struct inq_discovered_file *file = &reading->loader->walk->files[reading->index];
    struct inq_source_part part = find_bytes(reading->loader->options, file);
    int code = inq_source_open_part(file->path, &part, &options, &reading->source, &why);
    if (code != INQ_OK) {
        shard->file.format = "unknown";
        return code == INQ_NOMEM ? inq_err_set(err, INQ_NOMEM, "%s", why.message)
                                 : reject(shard, why.message, err);
    }
    code = read_source(reading, err);
    if (code == INQ_OK && file->cut != NULL) {
        inq_damage_add(&shard->file.damage, INQ_DAMAGE_TRUNCATED, 1, (int64_t)file->part.size);
        code = inq_loader_reason(shard, file->cut, true, err);
    }
    update_counters(reading);
    (void)check_memory(reading);
    inq_source_close(reading->source);
    reading->source = NULL;
    return code;
}

/* A file for which there is not enough memory costs itself only. Allocates nothing. */
static void give_up(struct inq_shard *shard, const struct inq_discovered_file *of)
{
    struct inq_file file = {.path = of->path,
                            .bytes = of->size,
                            .format = "unknown",
                            .reason = "out of memory while it was read"};
    inq_shard_release(shard);
    *shard = (struct inq_shard){.file = file};
}

/* Hands a file that was read over; of its shard, only what planning needs is kept. An archive is
 * not read: its members come later. */
static int hand_over(struct reading *reading, struct inq_err *err)
{
    struct inq_loader *loader = reading->loader;
    const struct inq_discovered_file *file = &loader->walk->files[reading->index];
    if (file->is_archive) {
        return INQ_OK;
    }
    int code = loader->each->take(loader->each->ctx, reading->index, reading->shard, err);
    struct inq_file kept = {.path = file->path, .bytes = file->size, .reason = ""};
    inq_shard_release(reading->shard);
    *reading->shard = (struct inq_shard){.file = kept};
    count(&loader->held, &reading->held, 0);
    return code;
}

int inq_load_file(void *ctx, size_t k, struct inq_err *err)
{
    struct inq_loader *loader = ctx;
    size_t index = loader->order[k];
    const struct inq_discovered_file *file = &loader->walk->files[index];
    struct inq_shard *shard = &loader->shards[index];
    int code = check_stop(loader, err);
    if (code != INQ_OK) {
        return code;
    }
    *shard = (struct inq_shard){.file = {.path = file->path, .bytes = file->size, .reason = ""},
                                .shared = &loader->lists,
                                .operators = loader->options->operators};
    struct reading reading = {.loader = loader, .shard = shard, .index = index};
    bool done = loader->each != NULL && loader->each->is_done(loader->each->ctx, index);
    if (file->reason != NULL) {
        shard->file.format = "unknown";
        code = reject_as(shard, file->reason);
    } else if (!done) {
        /* towards the end there are fewer files than cores: read ahead and parse on the idle ones
         */
        size_t left = loader->n_order - k;
        bool threaded = left < (size_t)loader->jobs && file->size >= WORTH_A_THREAD;
        shard->jobs = threaded ? loader->jobs / (int)left : 1;
        code = read_file(&reading, threaded, err);
    }
    count(&loader->bytes_done, &reading.bytes, file->size);
    if (code == INQ_NOMEM) {
        give_up(shard, file);
        *err = (struct inq_err){0};
        code = INQ_OK;
    }
    if (code == INQ_OK && loader->each != NULL && !done) {
        code = hand_over(&reading, err);
    }
    atomic_fetch_add(&loader->files_done, 1);
    maybe_report(loader);
    if (code != INQ_OK) {
        int none = INQ_OK;
        (void)atomic_compare_exchange_strong(&loader->stop, &none, code);
    }
    return code;
}
