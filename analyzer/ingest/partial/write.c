/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/partial/partial.h"

#include "base/hash.h"
#include "inquest/out.h"
#include "base/mem.h"
#include "ingest/partial/columns.h"

#include <stddef.h>
#include <string.h>

#ifdef INQ_HAVE_ZSTD
#include <zstd.h>
#endif

/* Fast ones: a partial is written once a trace and read a few times. */
enum { ZSTD_LEVEL = 3, GZIP_LEVEL = 1 };

/* Of a file that is kept as it is: one section. */
enum { BYTES_AT_ONCE = 1 << 20 };

struct writer {
    const struct inq_shard *shard;
    struct inq_out *out;
    struct inq_out section; /* head and bytes of the one being written */
    uint32_t rank;
    void *codec; /* zstd's, for all sections: each of its own would clear tables anew */
    struct inq_err *err;
    int code;
};

/* ---- frames ----------------------------------------------------------------------------------
 *
 * Every section is a frame of its own: what follows a damaged one can still be read. */

#ifdef INQ_HAVE_ZSTD
static int compress(struct writer *w)
{
    size_t most = ZSTD_compressBound(w->section.len);
    char *packed = inq_mem_alloc(most);
    w->codec = w->codec != NULL ? w->codec : ZSTD_createCCtx();
    if (packed == NULL || w->codec == NULL) {
        inq_mem_free(packed);
        return inq_err_set(w->err, INQ_NOMEM, "out of memory");
    }
    size_t n =
        ZSTD_compressCCtx(w->codec, packed, most, w->section.buf, w->section.len, ZSTD_LEVEL);
    if (ZSTD_isError(n) == 0) {
        inq_out_bytes(w->out, packed, n);
    }
    inq_mem_free(packed);
    return ZSTD_isError(n) == 0 ? w->out->code
                                : inq_err_set(w->err, INQ_NOMEM, "zstd: %s", ZSTD_getErrorName(n));
}

static void free_codec(struct writer *w)
{
    (void)ZSTD_freeCCtx(w->codec);
}
#else
static void free_codec(struct writer *w)
{
    (void)w;
}

static int compress(struct writer *w)
{
    return inq_gzip_write(w->out, w->section.buf, w->section.len, GZIP_LEVEL, w->err);
}
#endif

static void begin(struct writer *w)
{
    static const struct inq_partial_head room;
    w->section.len = 0;
    inq_out_bytes(&w->section, (const char *)&room, sizeof room);
}

/* The section that was begun: rows [first, first + rows) of its table, of the rank at hand. */
static void end(struct writer *w, enum inq_partial_section section, size_t first, size_t rows,
                uint32_t flags)
{
    static const char *const tags[] = {
#define TAG(name, tag) [INQ_PARTIAL_##name] = (tag),
        INQ_PARTIAL_SECTIONS(TAG)
#undef TAG
    };
    struct inq_partial_head head = {
        .rank = w->rank, .first = (uint32_t)first, .rows = (uint32_t)rows, .flags = flags};
    if (w->code == INQ_OK && w->section.code != INQ_OK) {
        w->code = inq_err_set(w->err, INQ_NOMEM, "out of memory");
    }
    if (w->code != INQ_OK) {
        return;
    }
    memcpy(head.tag, tags[section], sizeof head.tag);
    head.bytes = (uint32_t)(w->section.len - sizeof head);
    head.crc = inq_crc32(w->section.buf + sizeof head, head.bytes);
    head.head_crc = inq_crc32(&head, offsetof(struct inq_partial_head, head_crc));
    memcpy(w->section.buf, &head, sizeof head);
    w->code = compress(w);
}

/* Rows [0, n) of a table, in sections of at most INQ_PARTIAL_ROWS. */
static void write_table(struct writer *w, enum inq_partial_section section,
                        const struct inq_columns *columns, size_t n, uint32_t flags)
{
    for (size_t from = 0; from < n; from += INQ_PARTIAL_ROWS) {
        size_t rows = n - from < INQ_PARTIAL_ROWS ? n - from : INQ_PARTIAL_ROWS;
        begin(w);
        inq_columns_pack(columns, from, rows, &w->section);
        end(w, section, from, rows, flags);
    }
}

/* ---- sections -------------------------------------------------------------------------------- */

static void write_text(struct inq_out *out, const char *text, size_t n)
{
    uint32_t len = (uint32_t)n;
    inq_out_bytes(out, (const char *)&len, sizeof len);
    inq_out_bytes(out, text, n);
}

/* All strings but the first, which is "", in the order of their ids. */
static void write_strings(struct writer *w)
{
    size_t n = inq_strtab_count(&w->shard->names);
    for (size_t from = 1; from < n;) {
        size_t i = from;
        begin(w);
        for (; i < n && i - from < INQ_PARTIAL_ROWS && w->section.len < INQ_PARTIAL_BYTES / 2;
             i++) {
            write_text(&w->section, inq_strtab_get(&w->shard->names, (uint32_t)i),
                       inq_strtab_len(&w->shard->names, (uint32_t)i));
        }
        end(w, INQ_PARTIAL_STRINGS, from, i - from, 0);
        from = i;
    }
}

static void write_file(struct writer *w, const struct inq_file *of)
{
    struct inq_file file = *of;
    struct inq_columns columns;
    inq_columns_of_file(&file, &columns);
    begin(w);
    write_text(&w->section, file.path, strlen(file.path));
    write_text(&w->section, file.format, strlen(file.format));
    write_text(&w->section, file.reason, file.reason != NULL ? strlen(file.reason) : 0);
    inq_columns_pack(&columns, 0, 1, &w->section);
    end(w, INQ_PARTIAL_FILE, 0, 1, 0);
}

/* A group and its ranks: one section each, since an odd list of a million is as many runs. */
static void write_groups(struct writer *w)
{
    enum { RUN_NUMBERS = sizeof(struct inq_rank_run) / sizeof(int64_t) };
    struct inq_columns columns;
    struct inq_rank_runs runs = {0};
    for (size_t g = 0; g < w->shard->n_groups && w->code == INQ_OK; g++) {
        struct inq_group *group = &w->shard->groups[g];
        runs.n = 0;
        for (uint32_t i = 0; i < group->n_ranks && w->code == INQ_OK; i++) {
            w->code = inq_rank_runs_add(&runs, group->ranks[i], w->err);
        }
        inq_columns_of_groups(group, &columns);
        begin(w);
        inq_columns_pack(&columns, 0, 1, &w->section);
        columns = (struct inq_columns){
            .n = 1, .at = {{runs.rows, sizeof(int64_t), sizeof(int64_t), INQ_COLUMN_NUMBER, 0}}};
        inq_columns_pack(&columns, 0, RUN_NUMBERS * runs.n, &w->section);
        end(w, INQ_PARTIAL_GROUPS, g, 1, (uint32_t)runs.n);
    }
    inq_mem_free(runs.rows);
}

static void write_launches(struct writer *w)
{
    const struct inq_launches *launches = &w->shard->launches;
    struct inq_columns columns;
    inq_columns_of_launches(launches->rows, &columns);
    write_table(w, INQ_PARTIAL_LAUNCHES, &columns, launches->n,
                w->shard->took_operators ? INQ_PARTIAL_ASKED_OPERATORS : 0);
}

static void write_events(struct writer *w, const struct inq_events *events)
{
    struct inq_columns columns;
    inq_columns_of_events(events, &columns);
    write_table(w, INQ_PARTIAL_EVENTS, &columns, events->n,
                (events->label != NULL ? INQ_PARTIAL_HAS_LABEL : 0U) |
                    (events->launch != NULL ? INQ_PARTIAL_HAS_LAUNCH : 0U));
}

static void write_rank(struct writer *w, struct inq_rank *rank)
{
    struct inq_columns columns;
    inq_columns_of_rank(rank, &columns);
    write_table(w, INQ_PARTIAL_RANK, &columns, 1, 0);
    inq_columns_of_lanes(rank->lanes, &columns);
    write_table(w, INQ_PARTIAL_LANES, &columns, rank->n_lanes, 0);
    inq_columns_of_labels(rank->labels, &columns);
    write_table(w, INQ_PARTIAL_LABELS, &columns, rank->n_labels, 0);
    inq_columns_of_comms(rank->comms, &columns);
    write_table(w, INQ_PARTIAL_COMMS, &columns, rank->n_comms, 0);
    inq_columns_of_calls(&rank->calls, &columns);
    write_table(w, INQ_PARTIAL_CALLS, &columns, rank->calls.n, 0);
    inq_columns_of_notes(rank->notes, &columns);
    write_table(w, INQ_PARTIAL_NOTES, &columns, rank->n_notes, 0);
    write_events(w, &rank->events);
    inq_columns_of_totals(rank->totals, &columns);
    write_table(w, INQ_PARTIAL_TOTALS, &columns, rank->n_totals, 0);
}

static void begin_file(struct writer *w, const struct inq_partial_origin *origin)
{
    inq_out_bytes(&w->section, INQ_PARTIAL_MAGIC, INQ_PARTIAL_MAGIC_BYTES);
    w->code =
        w->section.code == INQ_OK ? compress(w) : inq_err_set(w->err, INQ_NOMEM, "out of memory");
    begin(w);
    inq_out_bytes(&w->section, (const char *)origin, sizeof *origin);
    end(w, INQ_PARTIAL_ORIGIN, 0, 1, 0);
}

static int end_file(struct writer *w)
{
    begin(w);
    end(w, INQ_PARTIAL_END, 0, 0, 0);
    inq_out_release(&w->section);
    free_codec(w);
    return w->code;
}

static void write_trace(struct writer *w)
{
    write_strings(w);
    write_file(w, &w->shard->file);
    write_groups(w);
    write_launches(w);
    for (size_t r = 0; r < w->shard->n_ranks; r++) {
        w->rank = (uint32_t)r;
        write_rank(w, &w->shard->ranks[r]);
    }
}

static void write_bytes(struct writer *w, struct inq_source *source)
{
    const struct inq_file *file = &w->shard->file;
    size_t pieces = 0;
    for (size_t n = 1; w->code == INQ_OK && n > 0; pieces++) {
        const char *bytes = NULL;
        begin(w);
        do {
            w->code = inq_source_next(source, &bytes, &n, w->err);
            inq_out_bytes(&w->section, bytes, w->code == INQ_OK ? n : 0);
        } while (w->code == INQ_OK && n > 0 && w->section.len < BYTES_AT_ONCE);
        end(w, INQ_PARTIAL_BYTES_OF, pieces, 0, 0);
    }
    struct inq_file plain = {.path = file->path,
                             .format = "bytes", /* until they are read */
                             .reason = "",
                             .bytes = file->bytes,
                             .bytes_raw = inq_source_delivered(source),
                             .compressed = file->compressed,
                             .damage = *inq_source_damage(source)};
    write_file(w, &plain);
}

int inq_partial_write(const struct inq_shard *shard, struct inq_source *source,
                      const struct inq_partial_origin *origin, struct inq_out *out,
                      struct inq_err *err)
{
    struct writer w = {.shard = shard, .out = out, .err = err};
    begin_file(&w, origin);
    if (source != NULL) {
        write_bytes(&w, source);
    } else {
        write_trace(&w);
    }
    return end_file(&w);
}
