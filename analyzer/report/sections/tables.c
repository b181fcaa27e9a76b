/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sections/tables.h"

#include "base/arena_text.h"
#include "base/sort.h"

static const struct inq_table_kind *const tables[] = {
#define TABLES(list) list,
    INQ_TABLE_LISTS(TABLES)
#undef TABLES
};
enum { GROUPS = sizeof tables / sizeof *tables };

void inq_table_write(struct inq_table *table, bool folded, const struct inq_table_writer *writer)
{
    inq_table_trim(table);
    bool failed = table->code != INQ_OK || table->arena->failed;
    table->arena->failed = false;
    if (failed) {
        writer->missing(writer->ctx, table->title != NULL ? table->title : "A table",
                        "not available: no memory for it; allow the program more memory");
    } else if (inq_table_rows(table) > 0) {
        writer->table(writer->ctx, table, folded);
    }
    inq_table_release(table);
}

static void build_and_write(const struct inq_context *context, const struct inq_table_kind *kind,
                            const struct inq_table_writer *writer)
{
    if (inq_context_is_brief(context) && !kind->brief) {
        return;
    }
    struct inq_table table = {.arena = context->arena};
    kind->build(context, &table);
    inq_table_write(&table, kind->folded, writer);
}

/* Writes the tables of one file; *before: the section of the last one. */
static void write_group(const struct inq_context *context, const struct inq_table_kind *kind,
                        uint32_t sections, enum inq_section *before,
                        const struct inq_table_writer *writer)
{
    for (; kind->build != NULL; kind++) {
        bool meant = sections == UINT32_MAX || (kind->section != INQ_SECTION_COUNT &&
                                                (sections & INQ_SECTION_BIT(kind->section)) != 0);
        if (!meant) {
            continue;
        }
        bool first = kind->section != *before;
        *before = kind->section;
        if (kind->section == INQ_SECTION_COUNT) {
            build_and_write(context, kind, writer);
            continue;
        }
        const char *problem = inq_context_unavailable(context, kind->section);
        if (!inq_context_wants(context, kind->section)) {
            continue;
        }
        if (problem[0] == '\0') {
            build_and_write(context, kind, writer);
        } else if (first) {
            writer->missing(writer->ctx, inq_section_title(kind->section), problem);
        }
    }
}

void inq_tables_write(const struct inq_context *context, uint32_t sections,
                      const struct inq_table_writer *writer)
{
    enum inq_section before = INQ_SECTION_COUNT;
    for (size_t g = 0; g < GROUPS; g++) {
        write_group(context, tables[g], sections, &before, writer);
    }
}

void inq_table_words(struct inq_table *table, const char *key)
{
    char *text = inq_arena_strdup(table->arena, key);
    for (char *c = text; c != NULL && *c != '\0'; c++) {
        *c = *c == '_' ? ' ' : *c;
    }
    inq_table_text(table, text != NULL ? text : "");
}

static bool has_rows(const struct inq_context *context, const struct inq_table_kind *kind)
{
    struct inq_table table = {.arena = context->arena};
    kind->build(context, &table);
    bool any = inq_table_rows(&table) > 0;
    context->arena->failed = false; /* costs this answer alone */
    inq_table_release(&table);
    return any;
}

uint32_t inq_tables_kept_back(const struct inq_context *context)
{
    uint32_t sections = 0;
    for (size_t g = 0; g < GROUPS && inq_context_is_brief(context); g++) {
        for (const struct inq_table_kind *kind = tables[g]; kind->build != NULL; kind++) {
            bool counts = !kind->brief && kind->section != INQ_SECTION_COUNT;
            if (counts && (sections & INQ_SECTION_BIT(kind->section)) == 0 &&
                has_rows(context, kind)) {
                sections |= INQ_SECTION_BIT(kind->section);
            }
        }
    }
    return sections;
}

bool inq_table_stage_column(const struct inq_context *context, struct inq_table *table)
{
    for (size_t r = 0; r < context->trace->n_ranks; r++) {
        if (context->trace->ranks[r].stage >= 0) {
            inq_table_column(table, INQ_COLUMN_RIGHT, "stage");
            return true;
        }
    }
    return false;
}

/* Index of the rank with this number, or n_ranks. */
static size_t find_rank(const struct inq_trace *trace, int32_t number)
{
    size_t r = 0;
    while (r < trace->n_ranks && trace->ranks[r].rank != number) {
        r++;
    }
    return r;
}

/* Takes rank r when it is wanted and there is room; returns 1 if it did. */
static size_t pick(const struct inq_context *context, bool *picked, size_t r, size_t room)
{
    if (room == 0 || r >= context->trace->n_ranks || picked[r] ||
        !inq_context_shows(context, context->trace->ranks[r].rank)) {
        return 0;
    }
    picked[r] = true;
    return 1;
}

static size_t pick_named(const struct inq_context *context, bool *picked, size_t room)
{
    size_t taken = 0;
    for (size_t f = 0; f < context->report->n_findings; f++) {
        const struct inq_finding *finding = &context->report->findings[f];
        for (size_t i = 0; i < finding->n_ranks; i++) {
            taken +=
                pick(context, picked, find_rank(context->trace, finding->ranks[i]), room - taken);
        }
    }
    return taken;
}

static int by_last_arrivals(const void *a, const void *b, void *ctx)
{
    const struct inq_wait *left = *(const struct inq_wait *const *)a;
    const struct inq_wait *right = *(const struct inq_wait *const *)b;
    (void)ctx;
    return (left->last_arrivals < right->last_arrivals) -
           (left->last_arrivals > right->last_arrivals);
}

static size_t pick_late(const struct inq_context *context, bool *picked, size_t room)
{
    const struct inq_collectives *coll = context->report->collectives;
    if (coll == NULL) {
        return 0;
    }
    const struct inq_wait **order = inq_arena_array(context->arena, coll->n_waits, sizeof(void *));
    for (size_t i = 0; order != NULL && i < coll->n_waits; i++) {
        order[i] = &coll->waits[i];
    }
    if (order == NULL ||
        inq_sort(order, coll->n_waits, sizeof(void *), by_last_arrivals, NULL, NULL) != INQ_OK) {
        return 0;
    }
    size_t taken = 0;
    for (size_t i = 0; i < coll->n_waits && taken < room; i++) {
        taken += pick(context, picked, order[i]->rank, room - taken);
    }
    return taken;
}

const bool *inq_pick_ranks(const struct inq_context *context, size_t most, size_t *left_out)
{
    size_t n = context->trace->n_ranks;
    size_t wanted = 0;
    bool *picked = inq_arena_array(context->arena, n, sizeof *picked);
    *left_out = 0;
    if (picked == NULL) {
        return NULL;
    }
    for (size_t r = 0; r < n; r++) {
        wanted += inq_context_shows(context, context->trace->ranks[r].rank);
    }
    size_t room = wanted < most ? wanted : most;
    *left_out = wanted - room;
    if (*left_out > 0) {
        room -= pick_named(context, picked, room);
        room -= pick_late(context, picked, room);
    }
    for (size_t r = 0; r < n && room > 0; r++) {
        room -= pick(context, picked, r, room);
    }
    return picked;
}
