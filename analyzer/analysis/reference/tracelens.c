/* SPDX-License-Identifier: Apache-2.0 */
/* TraceLens 1.0's GPU timeline: computation, what communication and copies add to it, and idle
 * time, in the doubles that TraceLens computes with. */
#include "analysis/reference/tracelens.h"

#include "analysis/analysis.h"
#include "analysis/measure/measure.h"
#include "base/any_case.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "base/strtab.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* TraceLens 1.0's summaries over its collectives: by name, type and size, and by rank. */

/* ---- collectives alike ---------------------------------------------------------------------- */

struct moments { /* Welford's running mean and squared deviation */
    double mean, squares;
};

static void observe(struct moments *m, double x, uint64_t count)
{
    double delta = x - m->mean;

    m->mean += delta / (double)count;
    m->squares += delta * (x - m->mean);
}

static double deviation(const struct moments *m, uint64_t count)
{
    return count > 1 ? sqrt(m->squares / (double)(count - 1)) : (double)NAN;
}

static int compare_alike(const void *a, const void *b, void *ctx)
{
    const struct inq_tl_collective *all = ctx;
    const struct inq_tl_collective *x = &all[*(const uint32_t *)a];
    const struct inq_tl_collective *y = &all[*(const uint32_t *)b];
    int order = strcmp(x->name, y->name);

    if (order == 0) {
        order = strcmp(x->dtype, y->dtype);
    }
    return order != 0 ? order : (x->in_elems > y->in_elems) - (x->in_elems < y->in_elems);
}

static void summarize(const struct inq_tl_collective *all, const uint32_t *alike, size_t n,
                      struct inq_tl_summary *s)
{
    struct moments latency = {0}, start = {0}, end = {0}, algbw = {0}, busbw = {0};
    double total_us = 0;

    for (uint64_t i = 0; i < n; i++) {
        const struct inq_tl_collective *c = &all[alike[i]];
        observe(&latency, c->latency_us, i + 1);
        observe(&start, c->skew_start_us, i + 1);
        observe(&end, c->skew_end_us, i + 1);
        observe(&algbw, c->algbw, i + 1);
        observe(&busbw, c->busbw, i + 1);
        total_us += c->latency_us;
    }
    const struct inq_tl_collective *first = &all[alike[0]];
    *s = (struct inq_tl_summary){
        .name = first->name,
        .dtype = first->dtype,
        .group = first->group,
        .in_elems = first->in_elems,
        .group_size = first->group_size,
        .full_mb = first->full_mb,
        .latency_mean = latency.mean,
        .latency_std = deviation(&latency, n),
        .skew_start_mean = start.mean,
        .skew_start_std = deviation(&start, n),
        .skew_end_mean = end.mean,
        .skew_end_std = deviation(&end, n),
        .algbw_mean = algbw.mean,
        .algbw_std = deviation(&algbw, n),
        .busbw_mean = busbw.mean,
        .busbw_std = deviation(&busbw, n),
        .count = n,
        .total_latency_ms = total_us / 1000.0,
    };
}

static int compare_total(const void *a, const void *b, void *ctx)
{
    const struct inq_tl_summary *x = a;
    const struct inq_tl_summary *y = b;

    (void)ctx;
    return (x->total_latency_ms < y->total_latency_ms) -
           (x->total_latency_ms > y->total_latency_ms);
}

/* Parts of it: from peers->collectives, by name, type and size; and by rank, with the summed
 * duration of all communication kernels of each. */
static int tl_summaries(struct inq_arena *arena, struct inq_reference *peers, struct inq_err *err)
{
    size_t n = peers->n_collectives;
    uint32_t *order = inq_mem_alloc(n * sizeof(*order));

    peers->summaries = inq_arena_array(arena, n, sizeof(*peers->summaries));
    if (!order || !peers->summaries) {
        inq_mem_free(order);
        return inq_err_set(err, INQ_NOMEM, "no memory for the summary of %zu collectives", n);
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
    }
    int code = inq_sort(order, n, sizeof(*order), compare_alike, peers->collectives, err);
    for (size_t i = 0; code == INQ_OK && i < n;) {
        size_t end = i + 1;
        while (end < n && compare_alike(&order[i], &order[end], peers->collectives) == 0) {
            end++;
        }
        summarize(peers->collectives, &order[i], end - i, &peers->summaries[peers->n_summaries++]);
        i = end;
    }
    inq_mem_free(order);
    return code != INQ_OK ? code
                          : inq_sort(peers->summaries, peers->n_summaries,
                                     sizeof(*peers->summaries), compare_total, NULL, err);
}

/* ---- ranks ---------------------------------------------------------------------------------- */

static int compare_waiting(const void *a, const void *b, void *ctx)
{
    const struct inq_tl_straggler *x = a;
    const struct inq_tl_straggler *y = b;

    (void)ctx;
    return (x->total_wait_us > y->total_wait_us) - (x->total_wait_us < y->total_wait_us);
}

/* Adds one collective to the rows [rank]; mean_wait_us counts the rank's collectives meanwhile. */
static void add_collective(const struct inq_tl_collective *c, struct inq_tl_straggler *rows)
{
    const struct inq_tl_member *last = &c->members[0];

    for (size_t i = 0; i < c->n_members; i++) {
        const struct inq_tl_member *m = &c->members[i];
        rows[m->rank].total_wait_us += m->wait_us;
        rows[m->rank].mean_wait_us += 1;
        if (m->wait_us < last->wait_us) {
            last = m;
        }
    }
    rows[last->rank].last++;
    rows[c->earliest_rank].first++;
}

static int tl_stragglers(struct inq_arena *arena, size_t n_ranks, const double *dur_us,
                         struct inq_reference *peers, struct inq_err *err)
{
    struct inq_tl_straggler *rows = inq_arena_array(arena, n_ranks, sizeof(*rows));
    size_t kept = 0;

    if (!rows) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", n_ranks);
    }
    for (size_t i = 0; i < peers->n_collectives; i++) {
        add_collective(&peers->collectives[i], rows);
    }
    for (size_t r = 0; r < n_ranks; r++) {
        struct inq_tl_straggler row = rows[r];
        if (row.mean_wait_us < 1) { /* in no collective */
            continue;
        }
        row.rank = (uint32_t)r;
        row.collectives = peers->n_collectives;
        row.mean_wait_us = inq_reference_round(row.total_wait_us / row.mean_wait_us, 1);
        row.total_wait_us = inq_reference_round(row.total_wait_us, 1);
        row.last_pct = inq_reference_round(100.0 * (double)row.last / (double)row.collectives, 1);
        row.total_dur_us = inq_reference_round(dur_us[r], 1);
        rows[kept++] = row;
    }
    peers->stragglers = rows;
    peers->n_stragglers = kept;
    return inq_sort(rows, kept, sizeof(*rows), compare_waiting, NULL, err);
}

/* TraceLens 1.0's collectives: matched by process group and order within it, for the kinds that
 * cannot end before all have begun; waits, skews and bandwidth (its GB are GiB). Members whose
 * metadata disagree make TraceLens give up; here the lowest rank's metadata stand for all. */

bool inq_tl_is_comm(const char *name)
{
    static const char *const words[] = {"nccl", "rccl", "cross_device_reduce"};
    return inq_any_case_has(words, sizeof words / sizeof *words, name, strlen(name));
}

/* One communication kernel. */
struct row {
    const struct inq_comm *comm; /* NULL: the file says nothing about it */
    inq_str group;               /* name of its process group; INQ_NONE: not recorded */
    uint32_t rank, event;
    uint32_t ordinal; /* in its group, on its rank */
    double ts_us, dur_us;
};

struct table {
    const struct inq_trace *trace;
    struct inq_arena *arena;
    struct row *rows;
    size_t n, cap;
    bool simplified; /* no process groups and one stream per rank: matched by order alone */
};

/* ---- the long table: one row for each kernel ------------------------------------------------- */

static const struct inq_comm *recorded(const struct inq_rank *rank, size_t event)
{
    uint32_t i = rank->events.comm ? rank->events.comm[event] : INQ_NONE;

    return i < rank->n_comms && !rank->comms[i].from_name ? &rank->comms[i] : NULL;
}

static int add_rank(struct table *table, uint32_t r, bool *one_stream, struct inq_err *err)
{
    const struct inq_rank *rank = &table->trace->ranks[r];
    const struct inq_events *events = &rank->events;
    uint32_t lane = INQ_NONE;

    for (size_t i = 0; i < events->n; i++) {
        if (events->kind[i] != INQ_EVENT_KERNEL ||
            !inq_tl_is_comm(inq_strtab_get(table->trace->names, events->name[i]))) {
            continue;
        }
        int code = inq_mem_grow(&table->rows, &table->cap, table->n + 1, sizeof(*table->rows),
                                UINT32_MAX, err);
        if (code != INQ_OK) {
            return code;
        }
        const struct inq_comm *comm = recorded(rank, i);
        bool grouped = comm && comm->group < table->trace->n_groups;
        table->rows[table->n++] = (struct row){
            .comm = comm,
            .group = grouped ? table->trace->groups[comm->group].name : INQ_NONE,
            .rank = r,
            .event = (uint32_t)i,
            .ts_us = inq_reference_us(inq_reference_raw_ns(rank, events->start_ns[i])),
            .dur_us = inq_reference_us(events->dur_ns[i]),
        };
        *one_stream &= lane == INQ_NONE || lane == events->lane[i];
        lane = events->lane[i];
    }
    return INQ_OK;
}

/* By group, rank, time: the order in which ordinals are given. */
static int compare_in_group(const void *a, const void *b, void *ctx)
{
    const struct row *x = a;
    const struct row *y = b;

    (void)ctx;
    if (x->group != y->group) {
        return x->group < y->group ? -1 : 1;
    }
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    if (x->ts_us < y->ts_us || x->ts_us > y->ts_us) {
        return x->ts_us < y->ts_us ? -1 : 1;
    }
    return (x->event > y->event) - (x->event < y->event);
}

/* By collective, its members by rank. */
static int compare_members(const void *a, const void *b, void *ctx)
{
    const struct row *x = a;
    const struct row *y = b;

    (void)ctx;
    if (x->group != y->group) {
        return x->group < y->group ? -1 : 1;
    }
    if (x->ordinal != y->ordinal) {
        return x->ordinal < y->ordinal ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int build_table(struct table *table, struct inq_err *err)
{
    bool one_stream = true;
    bool no_group = true;

    for (size_t r = 0; r < table->trace->n_ranks; r++) {
        int code = add_rank(table, (uint32_t)r, &one_stream, err);
        if (code != INQ_OK) {
            return code;
        }
    }
    for (size_t i = 0; i < table->n; i++) {
        no_group &= table->rows[i].group == INQ_NONE;
    }
    table->simplified = no_group && one_stream;
    int code = inq_sort(table->rows, table->n, sizeof(*table->rows), compare_in_group, NULL, err);
    for (size_t i = 1; i < table->n; i++) {
        struct row *row = &table->rows[i];
        bool same = row->group == row[-1].group && row->rank == row[-1].rank;
        row->ordinal = same ? row[-1].ordinal + 1 : 0;
    }
    return code != INQ_OK
               ? code
               : inq_sort(table->rows, table->n, sizeof(*table->rows), compare_members, NULL, err);
}

/* ---- one collective ------------------------------------------------------------------------- */

enum kind { KIND_NONE, ALLREDUCE, REDUCE_SCATTER, ALLGATHER, ALLTOALL, OTHER_KIND };

static enum kind kind_of(const char *name)
{
    static const struct {
        const char *name;
        enum kind kind;
    } kinds[] = {
        {"", KIND_NONE},
        {"allreduce", ALLREDUCE},
        {"allreduce_coalesced", ALLREDUCE},
        {"reducescatter", REDUCE_SCATTER},
        {"_reduce_scatter_base", REDUCE_SCATTER},
        {"reduce_scatter_tensor_coalesced", REDUCE_SCATTER},
        {"allgather", ALLGATHER},
        {"all_gather", ALLGATHER},
        {"_allgather_base", ALLGATHER},
        {"all_gather_into_tensor_coalesced", ALLGATHER},
        {"allgather_into_tensor_coalesced", ALLGATHER},
        {"all_to_all", ALLTOALL},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return kinds[i].kind;
        }
    }
    return OTHER_KIND;
}

/* The sizes TraceLens knows; 0 for the others. */
static int bytes_of(const char *dtype)
{
    static const struct {
        const char *name;
        int bytes;
    } types[] = {{"Float", 4}, {"Int", 4},    {"Long", 8}, {"BFloat16", 2}, {"Bool", 1},
                 {"Byte", 1},  {"Double", 8}, {"Half", 2}, {"Short", 2}};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].name, dtype) == 0) {
            return types[i].bytes;
        }
    }
    return 0;
}

static const char *text(const struct table *table, inq_str id)
{
    return inq_strtab_get(table->trace->names, id);
}

/* "[0, 1]"; NULL when memory is out. */
static const char *ranks_text(const struct table *table, const struct inq_comm *comm)
{
    if (!comm || comm->group >= table->trace->n_groups) {
        return "";
    }
    const struct inq_group *group = &table->trace->groups[comm->group];
    size_t cap = (size_t)group->n_ranks * 13 + 3;
    char *all = inq_arena_alloc(table->arena, cap);
    size_t n = 0;
    if (!all) {
        return NULL;
    }
    all[n++] = '[';
    for (uint32_t i = 0; i < group->n_ranks; i++) {
        n += (size_t)snprintf(all + n, cap - n, "%s%d", i > 0 ? ", " : "", group->ranks[i]);
    }
    all[n] = ']';
    return all;
}

static void fill_bandwidth(struct inq_tl_collective *c, enum kind kind)
{
    int bytes = bytes_of(c->dtype);

    c->in_mb = c->out_mb = c->full_mb = c->algbw = c->busbw = (double)NAN;
    if (bytes == 0 || c->in_elems < 0) {
        return;
    }
    c->in_mb = (double)(c->in_elems * bytes) / 1048576.0;
    c->out_mb = (double)(c->out_elems * bytes) / 1048576.0;
    if (kind == KIND_NONE || kind == OTHER_KIND) {
        return;
    }
    c->full_mb = kind == ALLGATHER ? c->out_mb : c->in_mb;
    if (c->latency_us > 0) {
        c->algbw = c->full_mb / 1024.0 / (c->latency_us / 1e6);
    }
    if (c->group_size > 0) {
        double n = c->group_size;
        c->busbw = c->algbw * ((kind == ALLREDUCE ? 2 * (n - 1) : n - 1) / n);
    }
}

static void fill_times(struct inq_tl_collective *c)
{
    double last = -HUGE_VAL;
    double first_end = HUGE_VAL;
    double last_end = -HUGE_VAL;
    double sum = 0;

    c->latency_us = HUGE_VAL;
    for (size_t i = 0; i < c->n_members; i++) {
        const struct inq_tl_member *m = &c->members[i];
        last = fmax(last, m->ts_us);
        first_end = fmin(first_end, m->ts_us + m->dur_us);
        last_end = fmax(last_end, m->ts_us + m->dur_us);
        c->latency_us = fmin(c->latency_us, m->dur_us);
    }
    c->skew_start_us = -1;
    for (size_t i = 0; i < c->n_members; i++) {
        struct inq_tl_member *m = &c->members[i];
        m->wait_us = last - m->ts_us;
        sum += m->wait_us;
        if (m->wait_us >= c->skew_start_us) { /* of equal ones the highest rank */
            c->skew_start_us = m->wait_us;
            c->earliest_rank = m->rank;
        }
    }
    c->avg_wait_us = sum / (double)c->n_members;
    c->skew_end_us = last_end - first_end;
}

/* From its member rows; false when it is none of the implicitly synchronizing. */
static int make_collective(const struct table *table, const struct row *rows, size_t n,
                           struct inq_tl_collective *c, bool *keep, struct inq_err *err)
{
    const struct inq_comm *comm = rows[0].comm;
    const char *name = comm ? text(table, comm->op_name) : "";
    enum kind kind = kind_of(name);

    *keep = (kind != KIND_NONE && kind != OTHER_KIND) ||
            (table->simplified && strcmp(name, "all_to_allv") != 0);
    if (!*keep) {
        return INQ_OK;
    }
    const char *group = rows[0].group != INQ_NONE ? text(table, rows[0].group)
                        : table->simplified       ? "all"
                                                  : "Unknown_Group";
    *c = (struct inq_tl_collective){
        .id = table->simplified ? inq_arena_asprintf(table->arena, "%u", rows[0].ordinal)
                                : inq_arena_asprintf(table->arena, "%s_%u", group, rows[0].ordinal),
        .group = group,
        .group_ranks = ranks_text(table, comm),
        .name = name,
        .dtype = comm ? text(table, comm->dtype) : "",
        .group_size = comm ? comm->group_size : -1,
        .in_elems = comm ? comm->in_elems : -1,
        .out_elems = comm ? comm->out_elems : -1,
        .n_members = n,
        .members = inq_arena_array(table->arena, n, sizeof(*c->members)),
    };
    if (!c->id || !c->group_ranks || !c->members) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a collective of %zu members", n);
    }
    for (size_t i = 0; i < n; i++) {
        c->members[i].rank = rows[i].rank;
        c->members[i].ts_us = rows[i].ts_us;
        c->members[i].dur_us = rows[i].dur_us;
    }
    fill_times(c);
    fill_bandwidth(c, kind);
    return INQ_OK;
}

/* In the order in which they are first seen, rank after rank. */
static int compare_seen(const void *a, const void *b, void *ctx)
{
    const struct inq_tl_collective *x = a;
    const struct inq_tl_collective *y = b;

    (void)ctx;
    if (x->members[0].rank != y->members[0].rank) {
        return x->members[0].rank < y->members[0].rank ? -1 : 1;
    }
    return (x->members[0].ts_us > y->members[0].ts_us) -
           (x->members[0].ts_us < y->members[0].ts_us);
}

static int make_collectives(const struct table *table, struct inq_reference *peers,
                            struct inq_err *err)
{
    int code = INQ_OK;
    size_t n = 0;

    for (size_t i = 0; i < table->n; i++) {
        n += i == 0 || table->rows[i].group != table->rows[i - 1].group ||
             table->rows[i].ordinal != table->rows[i - 1].ordinal;
    }
    peers->collectives = inq_arena_array(table->arena, n, sizeof(*peers->collectives));
    if (!peers->collectives) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu collectives", n);
    }
    for (size_t i = 0; code == INQ_OK && i < table->n;) {
        size_t end = i + 1;
        bool keep = false;
        while (end < table->n && table->rows[end].group == table->rows[i].group &&
               table->rows[end].ordinal == table->rows[i].ordinal) {
            end++;
        }
        code = make_collective(table, &table->rows[i], end - i,
                               &peers->collectives[peers->n_collectives], &keep, err);
        peers->n_collectives += keep && code == INQ_OK;
        i = end;
    }
    return code != INQ_OK ? code
                          : inq_sort(peers->collectives, peers->n_collectives,
                                     sizeof(*peers->collectives), compare_seen, NULL, err);
}

/* Fills collectives, summaries and stragglers of `peers` from the arena. */
static int tl_collectives(const struct inq_trace *trace, struct inq_arena *arena,
                          struct inq_reference *peers, struct inq_err *err)
{
    struct table table = {.trace = trace, .arena = arena};
    double *dur_us = inq_mem_zalloc(trace->n_ranks, sizeof(*dur_us));
    int code = dur_us ? build_table(&table, err)
                      : inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", trace->n_ranks);

    if (code == INQ_OK) {
        code = make_collectives(&table, peers, err);
    }
    if (code == INQ_OK) {
        code = tl_summaries(arena, peers, err);
    }
    for (size_t i = 0; code == INQ_OK && i < table.n; i++) {
        dur_us[table.rows[i].rank] += table.rows[i].dur_us;
    }
    if (code == INQ_OK) {
        code = tl_stragglers(arena, trace->n_ranks, dur_us, peers, err);
    }
    inq_mem_free(dur_us);
    inq_mem_free(table.rows);
    return code;
}

/* Times become integers of 2^-20 us after the first start: finer than the doubles of any absolute
 * time, so that sums stay exact. */
#define TICKS_PER_US 1048576.0

/* ---- one rank ------------------------------------------------------------------------------- */

enum { COMPUTE, COMM, COPY, ALL, SETS };

static int64_t ticks(double us, double origin_us)
{
    double t = (us - origin_us) * TICKS_PER_US;

    return t < 4e18 ? llround(t) : (int64_t)4e18;
}

static int set_of(const struct inq_trace *trace, const struct inq_events *events, uint32_t row)
{
    if (events->kind[row] == INQ_EVENT_MEMCPY) {
        return COPY;
    }
    return inq_tl_is_comm(inq_strtab_get(trace->names, events->name[row])) ? COMM : COMPUTE;
}

static int fill_sets(const struct inq_trace *trace, const struct inq_rank *rank,
                     struct inq_row_merge *merge, struct inq_intervals *sets, int64_t *last_end,
                     struct inq_err *err)
{
    const struct inq_events *events = &rank->events;
    double origin_us = (double)NAN;
    uint32_t row;
    int code = INQ_OK;

    *last_end = 0;
    while (code == INQ_OK && inq_row_merge_next(merge, &row)) {
        if (events->kind[row] == INQ_EVENT_OP) {
            continue;
        }
        double start_us = inq_reference_us(inq_reference_raw_ns(rank, events->start_ns[row]));
        double end_us = start_us + inq_reference_us(events->dur_ns[row]);
        if (isnan(origin_us)) {
            origin_us = start_us;
        }
        int64_t start = ticks(start_us, origin_us);
        int64_t end = ticks(end_us, origin_us);
        *last_end = end > *last_end ? end : *last_end;
        code = inq_intervals_push(&sets[set_of(trace, events, row)], start, end, err);
        if (code == INQ_OK) {
            code = inq_intervals_push(&sets[ALL], start, end, err);
        }
    }
    return code;
}

static double us_of(int64_t n_ticks)
{
    return (double)n_ticks / TICKS_PER_US;
}

/* Computation, exposed communication, exposed copies, idle and total time of one rank; *any is
 * false when the rank has no GPU work. */
static int timeline_of(const struct inq_trace *trace, uint32_t rank,
                       struct inq_reference_rank_time *time, bool *any, struct inq_err *err)
{
    struct inq_intervals sets[SETS] = {{0}};
    struct inq_intervals both = {0}; /* computation and communication */
    struct inq_row_merge merge;
    int64_t last_end = 0;
    int code = inq_row_merge_init(&merge, &trace->ranks[rank].events, err);

    *any = false;
    if (code == INQ_OK) {
        code = fill_sets(trace, &trace->ranks[rank], &merge, sets, &last_end, err);
    }
    if (code == INQ_OK) {
        code = inq_intervals_union(&sets[COMPUTE], &sets[COMM], &both, err);
    }
    if (code == INQ_OK && sets[ALL].n > 0) {
        int64_t compute = inq_intervals_length(&sets[COMPUTE]);
        int64_t comm = inq_intervals_length(&both) - compute;
        int64_t copy = inq_intervals_length(&sets[COPY]) - inq_intervals_common(&sets[COPY], &both);
        *any = true;
        time->tl_computation_us = us_of(compute);
        time->tl_exposed_comm_us = us_of(comm);
        time->tl_exposed_memcpy_us = us_of(copy);
        time->tl_total_us = us_of(last_end);
        time->tl_idle_us = us_of(last_end - inq_intervals_length(&sets[ALL]));
    }
    for (int i = 0; i < SETS; i++) {
        inq_intervals_release(&sets[i]);
    }
    inq_intervals_release(&both);
    inq_row_merge_release(&merge);
    return code;
}

/* ---- all ranks ------------------------------------------------------------------------------ */

struct all_ranks {
    const struct inq_trace *trace;
    struct inq_reference_rank_time *times; /* [n_ranks] */
    bool *any;
};

static int one_rank(void *ctx, size_t r, struct inq_err *err)
{
    struct all_ranks *all = ctx;

    all->times[r].rank = (uint32_t)r;
    return timeline_of(all->trace, (uint32_t)r, &all->times[r], &all->any[r], err);
}

int inq_run_method_tracelens(const struct inq_trace *trace,
                             const struct inq_analysis_options *options, struct inq_report *report,
                             struct inq_err *err)
{
    size_t n = trace->n_ranks;
    int code;

    if (options->method != INQ_METHOD_TRACELENS) {
        return INQ_OK;
    }
    struct inq_reference *peers = inq_arena_alloc(report->arena, sizeof(*peers));
    struct all_ranks all = {
        .trace = trace,
        .times = inq_arena_array(report->arena, n, sizeof(*all.times)),
        .any = inq_mem_zalloc(n, sizeof(*all.any)),
    };
    if (!peers || !all.times || !all.any) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for the times of %zu ranks", n);
        goto out;
    }
    code = inq_par_for(n, options->jobs, one_rank, &all, err);
    if (code != INQ_OK) {
        goto out;
    }
    peers->rank_times = all.times;
    for (size_t r = 0; r < n; r++) {
        if (all.any[r]) {
            peers->rank_times[peers->n_rank_times++] = all.times[r];
        }
    }
    code = tl_collectives(trace, report->arena, peers, err);
    report->reference = peers;
out:
    inq_mem_free(all.any);
    return code;
}
