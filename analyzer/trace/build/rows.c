/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of events and calls, column by column. */
#include "trace/build/rows.h"

#include "base/mem.h"

#include <string.h>

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The columns of a table lie in one block, which is the first of them: it grows at once, and is
 * long enough for large pages. Wider elements come first, so that all are aligned. An optional
 * column has a block of its own until the table grows the next time (separate). */
struct column {
    void *ptr_to_ptr;
    size_t elem;
};

enum { EVENT_COLUMNS = 10, CALL_COLUMNS = 5 };

static size_t list_event_columns(struct inq_events *e, struct column columns[EVENT_COLUMNS])
{
    const struct column list[EVENT_COLUMNS] = {
        {&e->start_ns, sizeof *e->start_ns}, {&e->dur_ns, sizeof *e->dur_ns},
        {&e->name, sizeof *e->name},         {&e->lane, sizeof *e->lane},
        {&e->call, sizeof *e->call},         {&e->comm, sizeof *e->comm},
        {&e->label, sizeof *e->label},       {&e->launch, sizeof *e->launch},
        {&e->kind, sizeof *e->kind},         {&e->cls, sizeof *e->cls},
    };
    size_t n = 0;
    for (size_t i = 0; i < EVENT_COLUMNS; i++) {
        bool missing = (list[i].ptr_to_ptr == &e->label && e->label == NULL) ||
                       (list[i].ptr_to_ptr == &e->launch && e->launch == NULL);
        if (!missing) {
            columns[n++] = list[i];
        }
    }
    return n;
}

static size_t list_call_columns(struct inq_calls *c, struct column columns[CALL_COLUMNS])
{
    const struct column list[CALL_COLUMNS] = {
        {&c->start_ns, sizeof *c->start_ns},
        {&c->dur_ns, sizeof *c->dur_ns},
        {&c->correlation, sizeof *c->correlation},
        {&c->name, sizeof *c->name},
        {&c->lane, sizeof *c->lane},
    };
    memcpy(columns, list, sizeof list);
    return CALL_COLUMNS;
}

static void *column_at(const struct column *column)
{
    void *ptr;
    memcpy(&ptr, column->ptr_to_ptr, sizeof ptr); /* any object pointer type */
    return ptr;
}

/* Lays the columns out in a block of `cap` rows, which may be their own, shorter than before, and
 * moves the first `rows` rows of each there. */
static void move_columns(const struct column *columns, size_t n, size_t rows, size_t cap,
                         char *block)
{
    for (size_t i = 0; i < n; i++) {
        if (rows > 0) {
            memmove(block, column_at(&columns[i]), rows * columns[i].elem);
        }
        memcpy(columns[i].ptr_to_ptr, &block, sizeof block);
        block += cap * columns[i].elem;
    }
}

static size_t row_bytes(const struct column *columns, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += columns[i].elem;
    }
    return bytes;
}

/* When there is no memory for a second block beside the first: a little more in its place, as much
 * as memory that is three quarters full still has, and at most `most` rows. */
static int grow_in_place(const struct column *columns, size_t n, size_t *cap, size_t most,
                         struct inq_err *err)
{
    enum { PART = 8 };
    size_t rows = *cap;
    size_t more = rows + rows / PART + 1;
    size_t wanted = more < most ? more : most;
    char *old = column_at(&columns[0]);
    size_t from[EVENT_COLUMNS];
    bool inside[EVENT_COLUMNS];
    size_t end = 0;
    for (size_t i = 0; i < n; i++) {
        from[i] = end;
        inside[i] = (uintptr_t)column_at(&columns[i]) == (uintptr_t)old + end;
        end += inside[i] ? rows * columns[i].elem : 0;
    }
    size_t bytes = wanted * row_bytes(columns, n);
    char *block = inq_mem_realloc(old, bytes);
    if (block == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu bytes", bytes);
    }
    for (size_t i = n; i-- > 0;) { /* each goes behind where those before it lie */
        char *to = block + wanted * row_bytes(columns, i);
        memmove(to, inside[i] ? block + from[i] : column_at(&columns[i]), rows * columns[i].elem);
        memcpy(columns[i].ptr_to_ptr, &to, sizeof to);
    }
    *cap = wanted;
    return INQ_OK;
}

/* Gives the table a block of `wanted` rows, or of some more than it has when it is full and there
 * is no memory for so many. On failure it stays as it was. */
static int move_to_block(const struct column *columns, size_t n, size_t rows, size_t *cap,
                         size_t wanted, struct inq_err *err)
{
    if (rows >= wanted) {
        return inq_err_set(err, INQ_LIMIT, "more than %zu rows", wanted);
    }
    size_t bytes = wanted * row_bytes(columns, n);
    char *block = inq_mem_alloc_long(bytes);
    if (block == NULL) {
        return rows > 0 && rows == *cap
                   ? grow_in_place(columns, n, cap, wanted, err)
                   : inq_err_set(err, INQ_NOMEM, "out of memory for %zu bytes", bytes);
    }
    void *old = column_at(&columns[0]);
    move_columns(columns, n, rows, wanted, block);
    inq_mem_free(old);
    *cap = wanted;
    return INQ_OK;
}

/* Rows to make room for when there is need of one more. */
static size_t next_cap(size_t cap)
{
    enum { FIRST_ROWS = 16 };
    size_t wanted = cap < FIRST_ROWS / 2 ? FIRST_ROWS : cap + cap / 2;
    return wanted > INQ_MAX_ROWS ? INQ_MAX_ROWS : wanted;
}

/* An optional column that does not lie in the block of the others; else NULL. */
static uint32_t *separate(const struct inq_events *e, uint32_t *optional)
{
    uintptr_t at = (uintptr_t)optional;
    return at > (uintptr_t)e->comm && at < (uintptr_t)e->kind ? NULL : optional;
}

static int grow_events(struct inq_events *e, size_t wanted, struct inq_err *err)
{
    struct column columns[EVENT_COLUMNS];
    size_t n = list_event_columns(e, columns);
    uint32_t *label = separate(e, e->label);
    uint32_t *launch = separate(e, e->launch);
    int code = move_to_block(columns, n, e->n, &e->cap, wanted, err);
    if (code == INQ_OK) {
        inq_mem_free(label);
        inq_mem_free(launch);
    }
    return code;
}

static int grow_calls(struct inq_calls *c, size_t wanted, struct inq_err *err)
{
    struct column columns[CALL_COLUMNS];
    size_t n = list_call_columns(c, columns);
    return move_to_block(columns, n, c->n, &c->cap, wanted, err);
}

/* ---- rows ------------------------------------------------------------------------------------ */

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
    int code = e->n < e->cap ? INQ_OK : grow_events(e, next_cap(e->cap), err);
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
    return grow_calls(&rank->calls, next_cap(rank->calls.cap), err);
}

/* ---- room ------------------------------------------------------------------------------------ */

/* Rows to make room for where `n` are a part of `progress` of all; 0: there is room for now, or as
 * good as. No more than eight times what there are, as what comes may be of another kind, but 2
 * million in any case: 70 MB of addresses, of which those without rows take no memory, and the
 * table is not moved several times on its way there. */
static size_t expected_cap(size_t n, size_t cap, double progress)
{
    enum { TIMES = 8, ANYHOW = 2 << 20 };
    static const double reserve = 17.0 / 16; /* the last part of a file has about as many rows */
    if (n < cap - cap / 4) {
        return 0;
    }
    double all = (double)n / progress * reserve;
    size_t most = TIMES * n > ANYHOW ? TIMES * n : ANYHOW;
    size_t wanted = all < (double)most ? (size_t)all : most;
    return wanted > cap + cap / 4 && wanted <= INQ_MAX_ROWS ? wanted : 0;
}

void inq_rank_make_room(struct inq_rank *rank, double progress)
{
    size_t events = expected_cap(rank->events.n, rank->events.cap, progress);
    size_t calls = expected_cap(rank->calls.n, rank->calls.cap, progress);
    struct inq_err ignored = {0}; /* rows come one by one then, as far as memory goes */
    if (events > 0) {
        (void)grow_events(&rank->events, events, &ignored);
    }
    if (calls > 0) {
        (void)grow_calls(&rank->calls, calls, &ignored);
    }
}

/* A block that cannot shrink stays as long as it is. */
static void shrink_columns(const struct column *columns, size_t n, size_t rows, size_t *cap)
{
    if (rows == 0 || rows == *cap) {
        return;
    }
    char *block = column_at(&columns[0]);
    move_columns(columns, n, rows, rows, block);
    char *shorter = inq_mem_realloc(block, rows * row_bytes(columns, n));
    if (shorter != NULL && shorter != block) {
        move_columns(columns, n, 0, rows, shorter);
    }
    *cap = rows;
}

void inq_rank_shrink(struct inq_rank *rank)
{
    struct inq_events *e = &rank->events;
    struct column columns[EVENT_COLUMNS];
    struct inq_err ignored = {0};
    bool whole = separate(e, e->label) == NULL && separate(e, e->launch) == NULL;
    if (whole || grow_events(e, e->n + 1, &ignored) == INQ_OK) {
        size_t n = list_event_columns(e, columns);
        shrink_columns(columns, n, e->n, &e->cap);
    }
    size_t n = list_call_columns(&rank->calls, columns);
    shrink_columns(columns, n, rank->calls.n, &rank->calls.cap);
}

void inq_rank_release(struct inq_rank *rank)
{
    struct inq_events *e = &rank->events;
    inq_mem_free(separate(e, e->label));
    inq_mem_free(separate(e, e->launch));
    inq_mem_free(e->start_ns); /* and with it the other columns: struct column */
    inq_mem_free(e->step);
    inq_mem_free(rank->calls.start_ns);
    inq_mem_free(rank->lanes);
    inq_mem_free(rank->notes);
    inq_mem_free(rank->comms);
    inq_mem_free(rank->labels);
    inq_mem_free(rank->totals);
    *rank = (struct inq_rank){0};
}
