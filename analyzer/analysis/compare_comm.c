/* SPDX-License-Identifier: Apache-2.0 */
/* The communication of one rank that no compute covers: to whom each instant of it belongs, and
 * whether it was waiting or moving data. */
#include "analysis/collectives.h"
#include "analysis/arrivals.h"
#include "analysis/compare_profile.h"
#include "analysis/interval.h"
#include "analysis/row_merge.h"
#include "analysis/whatif.h"
#include "base/mem.h"
#include "trace/classify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const size_t MAX_CLASSES = 4096;

static int64_t min2(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max2(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- roles of groups -------------------------------------------------------------------------*/

static const char *named_role(const char *desc)
{
    static const struct {
        const char *word, *role;
    } words[] = {{"data", "DP group"},   {"dp", "DP group"},   {"tensor", "TP group"},
                 {"tp", "TP group"},     {"pipe", "PP group"}, {"pp", "PP group"},
                 {"expert", "EP group"}, {"ep", "EP group"},   {"context", "CP group"},
                 {"model", "MP group"},  {"cp", "CP group"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasestr(desc, words[i].word) != NULL) {
            return words[i].role;
        }
    }
    return NULL;
}

/* What the group is for: by its description, else by how its ranks lie. */
static void role_of(const struct inq_trace *trace, uint32_t index, char *role, size_t size)
{
    static const struct inq_group none = {.size = -1};
    const struct inq_group *group = index < trace->n_groups ? &trace->groups[index] : &none;
    const char *desc = inq_trace_str(trace, group->desc);
    /* "default_pg" has a "p" too many */
    const char *named = strcmp(desc, "default_pg") == 0 ? NULL : named_role(desc);
    int32_t world = trace->world_size > 0 ? trace->world_size : (int32_t)trace->n_ranks;
    if (named != NULL) {
        (void)snprintf(role, size, "%s", named);
    } else if (group->size == world || (group->size < 0 && group->n_ranks == trace->n_ranks)) {
        (void)snprintf(role, size, "all ranks");
    } else if (group->n_ranks < 2) {
        (void)snprintf(role, size, "a group");
    } else {
        int32_t apart = group->ranks[1] - group->ranks[0];
        if (apart == 1) {
            (void)snprintf(role, size, "neighbouring ranks");
        } else {
            (void)snprintf(role, size, "ranks %d apart", (int)apart);
        }
    }
}

static int class_of(struct inq_run_profile *p, enum inq_coll_kind kind, const char *role,
                    int32_t group_size, uint32_t *index, struct inq_err *err)
{
    size_t i = 0;
    while (i < p->n_classes &&
           (p->classes[i].kind != kind || strcmp(p->classes[i].role, role) != 0)) {
        i++;
    }
    *index = (uint32_t)i;
    if (i < p->n_classes) {
        return INQ_OK;
    }
    int code = inq_mem_grow(&p->classes, &p->cap_classes, p->n_classes + 1, sizeof *p->classes,
                            MAX_CLASSES, err);
    if (code == INQ_OK) {
        struct inq_coll_class *made = &p->classes[p->n_classes++];
        *made = (struct inq_coll_class){
            .kind = kind, .group_size = group_size, .sized = true, .earliest = 1.0};
        (void)snprintf(made->role, sizeof made->role, "%s", role);
    }
    return code;
}

static int class_index(struct inq_comm_context *ctx, uint32_t group, enum inq_coll_kind kind,
                       uint32_t *index, struct inq_err *err)
{
    const struct inq_trace *trace = ctx->trace;
    size_t known = group < trace->n_groups ? group : trace->n_groups;
    uint32_t *slot = &ctx->class_of[known * INQ_COLL_KIND_COUNT + (size_t)kind];
    char role[64];
    if (*slot != INQ_NONE) {
        *index = *slot;
        return INQ_OK;
    }
    role_of(trace, group, role, sizeof role);
    int code = class_of(ctx->profile, kind, role,
                        group < trace->n_groups ? trace->groups[group].size : -1, index, err);
    *slot = code == INQ_OK ? *index : INQ_NONE;
    return code;
}

/* ---- what is known of all collectives --------------------------------------------------------*/

/* Whether members are of different stages: what they wait for there is the pipeline to fill or to
 * drain. */
static bool spans_stages(const struct inq_trace *trace, const struct inq_run_profile *profile,
                         const struct inq_collective *coll)
{
    const struct inq_member *members = &trace->members[coll->first_member];
    for (uint32_t i = 1; i < coll->n_members; i++) {
        if (profile->stage[members[i].rank] != profile->stage[members[0].rank]) {
            return true;
        }
    }
    return false;
}

/* A group of labelled ops in one step: none transfers before all have started. */
static void take_group(const struct inq_op_model *m, uint32_t first, size_t step,
                       struct inq_comm_context *ctx)
{
    int64_t arrival = INT64_MIN;
    uint32_t n = m->graph->members[first];
    for (uint32_t i = first; i < first + n; i++) {
        arrival = max2(arrival, m->start_ns[i * m->stride + step]);
    }
    for (uint32_t i = first; i < first + n; i++) {
        uint32_t rank = m->worker_rank[inq_op_worker(m, i)];
        uint32_t row = m->event[i * m->stride + step];
        if (rank < ctx->trace->n_ranks && row < ctx->trace->ranks[rank].events.n) {
            ctx->op_arrival_ns[ctx->first_row[rank] + row] = m->origin_ns[step] + arrival;
        }
    }
}

/* Last arrivals of labelled ops, as far as the op model pairs them. */
static int take_labelled_groups(const struct inq_op_model *m, struct inq_comm_context *ctx,
                                struct inq_err *err)
{
    const struct inq_trace *trace = ctx->trace;
    if (m == NULL || strcmp(m->source, "labels") != 0) {
        return INQ_OK;
    }
    ctx->first_row = inq_mem_zalloc(trace->n_ranks + 1, sizeof *ctx->first_row);
    for (size_t r = 0; ctx->first_row != NULL && r < trace->n_ranks; r++) {
        ctx->first_row[r + 1] = ctx->first_row[r] + trace->ranks[r].events.n;
    }
    size_t n = ctx->first_row != NULL ? ctx->first_row[trace->n_ranks] : 0;
    ctx->op_arrival_ns = inq_mem_alloc((n + 1) * sizeof *ctx->op_arrival_ns);
    if (ctx->first_row == NULL || ctx->op_arrival_ns == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for the arrivals of %zu ops", n);
    }
    for (size_t i = 0; i < n; i++) {
        ctx->op_arrival_ns[i] = INQ_TIME_NONE;
    }
    for (uint32_t i = 0; i < m->graph->n_ops; i += m->graph->members[i]) {
        for (size_t t = 0; m->graph->members[i] > 1 && t < m->n_steps; t++) {
            take_group(m, i, t, ctx);
        }
    }
    return INQ_OK;
}

int inq_comm_context_init(const struct inq_trace *trace, bool pipeline,
                          struct inq_run_profile *profile, struct inq_comm_context *ctx,
                          struct inq_err *err)
{
    size_t slots = (trace->n_groups + 1) * INQ_COLL_KIND_COUNT;
    uint32_t most = 1;
    *ctx = (struct inq_comm_context){.trace = trace, .profile = profile, .pipeline = pipeline};
    for (size_t c = 0; c < trace->n_collectives; c++) {
        uint32_t n = trace->collectives[c].n_members;
        most = n > most ? n : most;
    }
    ctx->arrival_ns = inq_mem_alloc((trace->n_collectives + 1) * sizeof *ctx->arrival_ns);
    ctx->bytes = inq_mem_alloc((trace->n_collectives + 1) * sizeof *ctx->bytes);
    ctx->across = inq_mem_zalloc(trace->n_collectives + 1, sizeof *ctx->across);
    ctx->class_of = inq_mem_alloc(slots * sizeof *ctx->class_of);
    int64_t *scratch = inq_mem_alloc(most * sizeof *scratch);
    if (ctx->arrival_ns == NULL || ctx->bytes == NULL || ctx->across == NULL ||
        ctx->class_of == NULL || scratch == NULL) {
        inq_mem_free(scratch);
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu collectives", trace->n_collectives);
    }
    memset(ctx->class_of, 0xff, slots * sizeof *ctx->class_of);
    for (size_t c = 0; c < trace->n_collectives; c++) {
        const struct inq_collective *coll = &trace->collectives[c];
        struct inq_coll_figures f = {.bytes = -1};
        bool known = coll->n_members > 1 && !coll->ends_disagree;
        if (coll->n_members > 0) {
            inq_coll_figures(trace, coll, scratch, &f);
        }
        ctx->arrival_ns[c] = known ? f.last_start_ns : INQ_TIME_NONE;
        ctx->bytes[c] = f.bytes;
        ctx->across[c] = pipeline && spans_stages(trace, profile, coll);
    }
    inq_mem_free(scratch);
    return take_labelled_groups(profile->report->op_model, ctx, err);
}

void inq_comm_context_release(struct inq_comm_context *ctx)
{
    inq_mem_free(ctx->arrival_ns);
    inq_mem_free(ctx->bytes);
    inq_mem_free(ctx->across);
    inq_mem_free(ctx->first_row);
    inq_mem_free(ctx->op_arrival_ns);
    inq_mem_free(ctx->class_of);
    *ctx = (struct inq_comm_context){0};
}

/* ---- one rank --------------------------------------------------------------------------------*/

/* Compute as intervals, with the length of all before each. */
struct cover {
    struct inq_intervals set;
    int64_t *before;
};

/* Compute time before `ns`. */
static int64_t covered_until(const struct cover *c, int64_t ns)
{
    size_t low = 0;
    size_t high = c->set.n; /* the first interval that starts at or after ns */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->set.at[middle].start < ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return 0;
    }
    const struct inq_interval *last = &c->set.at[low - 1];
    return c->before[low - 1] + min2(ns, last->end) - last->start;
}

static int64_t exposed(const struct cover *c, int64_t from, int64_t to)
{
    return to > from ? to - from - (covered_until(c, to) - covered_until(c, from)) : 0;
}

static int build_cover(const struct inq_events *events, struct cover *c, struct inq_err *err)
{
    struct inq_row_merge merge;
    uint32_t row;
    int code = inq_row_merge_init(&merge, events, err);
    while (code == INQ_OK && inq_row_merge_next(&merge, &row)) {
        if (inq_row_class(events, row) == INQ_CLASS_COMPUTE) {
            code = inq_intervals_push(&c->set, events->start_ns[row],
                                      events->start_ns[row] + events->dur_ns[row], err);
        }
    }
    inq_row_merge_release(&merge);
    c->before = code == INQ_OK ? inq_mem_alloc((c->set.n + 1) * sizeof *c->before) : NULL;
    if (code == INQ_OK && c->before == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu intervals", c->set.n);
    }
    int64_t sum = 0;
    for (size_t i = 0; code == INQ_OK && i < c->set.n; i++) {
        c->before[i] = sum;
        sum += c->set.at[i].end - c->set.at[i].start;
    }
    return code;
}

struct walk {
    struct inq_comm_context *ctx;
    const struct inq_events *events;
    size_t rank;
    struct cover cover;
    const uint32_t *collective;
    size_t first; /* cells of the rank before it lie behind the walk */
};

static bool is_p2p(enum inq_coll_kind kind)
{
    return kind == INQ_COLL_SEND || kind == INQ_COLL_RECV || kind == INQ_COLL_SENDRECV;
}

/* The judged cells of the rank, one after the other; NULL: no more. */
static const struct inq_cell *cell_from(const struct walk *w, size_t *step)
{
    const struct inq_cells *cells = &w->ctx->profile->cells;
    while (*step < cells->n_steps) {
        const struct inq_cell *cell = inq_cell_at(cells, w->rank, *step);
        if (cell->valid && *step >= cells->first_step) {
            return cell;
        }
        ++*step;
    }
    return NULL;
}

/* The exposed length of [from, to) in judged cells. */
static int64_t exposed_in_cells(struct walk *w, int64_t from, int64_t to)
{
    int64_t sum = 0;
    const struct inq_cell *cell;
    for (size_t s = w->first; (cell = cell_from(w, &s)) != NULL && cell->start_ns < to; s++) {
        sum += exposed(&w->cover, max2(from, cell->start_ns), min2(to, cell->end_ns));
    }
    return sum;
}

static void add_matched(struct walk *w, struct inq_coll_class *cls, uint32_t row, uint32_t coll)
{
    const struct inq_cells *cells = &w->ctx->profile->cells;
    uint32_t step = cells->one_step ? 0 : w->events->step[row];
    if (step < cells->first_step || step >= cells->n_steps ||
        !inq_cell_at(cells, w->rank, step)->valid) {
        return;
    }
    const struct inq_cell *cell = inq_cell_at(cells, w->rank, step);
    int64_t start = w->events->start_ns[row];
    int64_t end = start + w->events->dur_ns[row];
    int64_t bytes = w->ctx->bytes[coll];
    double factor = inq_coll_bus_factor(cls->kind, cls->group_size);
    cls->count++;
    cls->transfer_ns += end - min2(end, max2(start, w->ctx->arrival_ns[coll]));
    cls->sized = cls->sized && bytes >= 0 && isfinite(factor);
    cls->bytes += (double)bytes;
    cls->bus_bytes += cls->sized ? (double)bytes * factor : 0.0;
    int64_t done_ns = covered_until(&w->cover, start) - covered_until(&w->cover, cell->start_ns);
    double at = cell->compute_ns > 0 ? (double)done_ns / (double)cell->compute_ns : 0.0;
    cls->earliest = at < cls->earliest ? at : cls->earliest;
}

/* An op of an op table that goes from `from` on: its label says what it is, and what it waited for
 * is known where its partners are. Elsewhere its waiting counts as transfer, and as bubble between
 * stages. */
static int take_labelled(struct walk *w, enum inq_op_type type, uint32_t row, int64_t from,
                         struct inq_err *err)
{
    static const struct {
        enum inq_op_type type;
        enum inq_coll_kind kind;
        const char *role;
        bool across; /* its members are of different stages */
    } kinds[] = {{INQ_OP_PARAMS_ALL_GATHER, INQ_COLL_ALLGATHER, "DP group", false},
                 {INQ_OP_GRADS_REDUCE_SCATTER, INQ_COLL_REDUCE_SCATTER, "DP group", false},
                 {INQ_OP_SEPARATE_GRADS_ALL_REDUCE, INQ_COLL_ALLREDUCE, "DP group", false},
                 {INQ_OP_LAYERNORM_GRADS_ALL_REDUCE, INQ_COLL_ALLREDUCE, "TP group", false},
                 {INQ_OP_EMBEDDING_GRADS_ALL_REDUCE, INQ_COLL_ALLREDUCE, "embedding group", true}};
    int64_t *parts = w->ctx->profile->part_ns;
    int64_t end = w->events->start_ns[row] + w->events->dur_ns[row];
    int64_t known = w->ctx->op_arrival_ns != NULL
                        ? w->ctx->op_arrival_ns[w->ctx->first_row[w->rank] + row]
                        : INQ_TIME_NONE;
    int64_t arrival = known == INQ_TIME_NONE ? from : min2(end, max2(from, known));
    int64_t wait_ns = exposed_in_cells(w, from, arrival);
    int64_t exposed_ns = exposed_in_cells(w, arrival, end);
    size_t i = 0;
    while (i < sizeof kinds / sizeof *kinds && kinds[i].type != type) {
        i++;
    }
    if (i == sizeof kinds / sizeof *kinds) {
        bool p2p = type >= INQ_OP_FORWARD_SEND && type <= INQ_OP_BACKWARD_RECV;
        parts[INQ_PART_BUBBLE] += wait_ns;
        parts[!p2p                     ? INQ_PART_COMM_OTHER
              : known != INQ_TIME_NONE ? INQ_PART_P2P
                                       : INQ_PART_BUBBLE] += exposed_ns;
        return INQ_OK;
    }
    uint32_t index;
    int code = class_of(w->ctx->profile, kinds[i].kind, kinds[i].role, -1, &index, err);
    if (code == INQ_OK) {
        struct inq_coll_class *cls = &w->ctx->profile->classes[index];
        int64_t start = w->events->start_ns[row];
        parts[kinds[i].across ? INQ_PART_BUBBLE : INQ_PART_WAITING] += wait_ns;
        parts[INQ_PART_TRANSFER] += exposed_ns;
        cls->sized = false;
        cls->count++;
        cls->wait_ns += kinds[i].across ? 0 : wait_ns;
        cls->exposed_ns += exposed_ns;
        cls->transfer_ns +=
            known == INQ_TIME_NONE ? end - start : end - min2(end, max2(start, known));
    }
    return code;
}

static enum inq_op_type label_of(const struct walk *w, uint32_t row)
{
    const struct inq_rank *rank = &w->ctx->trace->ranks[w->rank];
    uint32_t label = w->events->label != NULL ? w->events->label[row] : INQ_NONE;
    return label < rank->n_labels ? rank->labels[label].type : INQ_OP_NONE;
}

/* An event of which [from, its end) belongs to it: what started earlier has the rest. */
static int take(struct walk *w, uint32_t row, int64_t from, struct inq_err *err)
{
    const struct inq_trace *trace = w->ctx->trace;
    const struct inq_rank *rank = &trace->ranks[w->rank];
    int64_t *parts = w->ctx->profile->part_ns;
    int64_t end = w->events->start_ns[row] + w->events->dur_ns[row];
    uint32_t c = w->events->comm != NULL ? w->events->comm[row] : INQ_NONE;
    uint32_t coll = w->collective[row];
    enum inq_coll_kind kind = c < rank->n_comms ? rank->comms[c].kind : INQ_COLL_UNKNOWN;
    uint32_t group = c < rank->n_comms ? rank->comms[c].group : INQ_NONE;
    bool matched = coll != INQ_NONE && w->ctx->arrival_ns[coll] != INQ_TIME_NONE;
    if (coll != INQ_NONE) {
        group = trace->collectives[coll].group;
        kind = is_p2p(kind) ? kind : trace->collectives[coll].kind;
    }
    if (!matched && label_of(w, row) != INQ_OP_NONE) {
        return take_labelled(w, label_of(w, row), row, from, err);
    }
    if (!matched) {
        bool bubble = w->ctx->pipeline && is_p2p(kind);
        parts[bubble ? INQ_PART_BUBBLE : INQ_PART_COMM_OTHER] += exposed_in_cells(w, from, end);
        return INQ_OK;
    }
    int64_t arrival = min2(end, max2(from, w->ctx->arrival_ns[coll]));
    int64_t wait = exposed_in_cells(w, from, arrival);
    int64_t transfer = exposed_in_cells(w, arrival, end);
    if (is_p2p(kind)) {
        parts[INQ_PART_BUBBLE] += wait;
        parts[INQ_PART_P2P] += transfer;
        return INQ_OK;
    }
    uint32_t index;
    int code = class_index(w->ctx, group, kind, &index, err);
    if (code == INQ_OK) {
        struct inq_coll_class *cls = &w->ctx->profile->classes[index];
        parts[w->ctx->across[coll] ? INQ_PART_BUBBLE : INQ_PART_WAITING] += wait;
        parts[INQ_PART_TRANSFER] += transfer;
        cls->wait_ns += w->ctx->across[coll] ? 0 : wait;
        cls->exposed_ns += transfer;
        add_matched(w, cls, row, coll);
    }
    return code;
}

static int walk_comm(struct walk *w, struct inq_err *err)
{
    struct inq_row_merge merge;
    uint32_t row;
    int64_t reach = INT64_MIN;
    const struct inq_cell *cell;
    int code = inq_row_merge_init(&merge, w->events, err);
    while (code == INQ_OK && inq_row_merge_next(&merge, &row)) {
        if (inq_row_class(w->events, row) != INQ_CLASS_COMM) {
            continue;
        }
        int64_t start = w->events->start_ns[row];
        int64_t end = start + w->events->dur_ns[row];
        int64_t from = max2(start, reach);
        size_t s = w->first;
        while ((cell = cell_from(w, &s)) != NULL && cell->end_ns <= start) {
            w->first = ++s;
        }
        code = take(w, row, min2(from, end), err);
        reach = max2(reach, end);
    }
    inq_row_merge_release(&merge);
    return code;
}

int inq_comm_context_rank(struct inq_comm_context *ctx, size_t rank, const uint32_t *collective,
                          struct inq_err *err)
{
    struct walk w = {.ctx = ctx,
                     .events = &ctx->trace->ranks[rank].events,
                     .rank = rank,
                     .collective = collective};
    int code = build_cover(w.events, &w.cover, err);
    if (code == INQ_OK) {
        code = walk_comm(&w, err);
    }
    inq_intervals_release(&w.cover.set);
    inq_mem_free(w.cover.before);
    return code;
}
