/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/record/workload.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"

#include <math.h>
#include <string.h>

static const size_t MAX_ITEMS = (size_t)1 << 20;

struct tally {
    inq_str what, dims, name; /* name: a kernel of it */
    uint64_t count;
    int64_t ns;
};

struct tallies {
    size_t n, cap;
    struct tally *at;
    struct inq_map seen;
    uint64_t *rank_kernels; /* [ranks] */
    int64_t total_ns;
};

static int add_row(struct tallies *t, const struct inq_trace *trace, size_t rank, size_t row,
                   struct inq_err *err)
{
    const struct inq_events *events = &trace->ranks[rank].events;
    const struct inq_launch *launch = inq_trace_launch(trace, &trace->ranks[rank], row);
    bool named = inq_trace_str(trace, launch->op)[0] != '\0';
    inq_str what = named ? launch->op : events->name[row];
    inq_str dims = named ? launch->dims : trace->launches[0].dims;
    uint32_t index = 0;
    uint64_t key = (uint64_t)what << 32 | (uint64_t)dims;
    if (!inq_map_get(&t->seen, key, &index)) {
        int code = inq_mem_grow(&t->at, &t->cap, t->n + 1, sizeof *t->at, MAX_ITEMS, err);
        if (code != INQ_OK) {
            return code;
        }
        index = (uint32_t)t->n;
        t->at[t->n++] = (struct tally){.what = what, .dims = dims, .name = events->name[row]};
        code = inq_map_put(&t->seen, key, index, err);
        if (code != INQ_OK) {
            return code;
        }
    }
    t->at[index].count++;
    t->at[index].ns += events->dur_ns[row];
    t->total_ns += events->dur_ns[row];
    return INQ_OK;
}

static int add_rank(struct inq_run_record *r, struct tallies *t, size_t rank, struct inq_err *err)
{
    const struct inq_trace *trace = r->report->trace;
    const struct inq_events *events = &trace->ranks[rank].events;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < events->n; i++) {
        if (events->step[i] >= r->n_account_steps ||
            !inq_run_record_counts(r, rank, events->step[i]) ||
            events->kind[i] != INQ_EVENT_KERNEL) {
            continue;
        }
        t->rank_kernels[rank]++;
        if (inq_row_class(events, i) == INQ_CLASS_COMPUTE) {
            code = add_row(t, trace, rank, i, err);
        }
    }
    return code;
}

/* Text that ends before a character that does not fit. */
static void cut(char *to, size_t size, const char *text)
{
    size_t len = strlen(text);
    if (len >= size) {
        len = size - 1;
        while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80) {
            len--;
        }
    }
    memcpy(to, text, len);
    to[len] = '\0';
}

static int by_time(const void *a, const void *b, void *ctx)
{
    const struct tally *x = a;
    const struct tally *y = b;
    const struct inq_trace *trace = *(const struct inq_trace *const *)ctx;
    if (x->ns != y->ns) {
        return x->ns < y->ns ? 1 : -1;
    }
    int order = strcmp(inq_trace_str(trace, x->what), inq_trace_str(trace, y->what));
    return order != 0 ? order
                      : strcmp(inq_trace_str(trace, x->dims), inq_trace_str(trace, y->dims));
}

/* The item, or what has the same text. */
static struct inq_workload_item *item_of(struct inq_workload *work,
                                         const struct inq_workload_item *item)
{
    for (size_t i = 0; i < work->n; i++) {
        struct inq_workload_item *there = &work->items[i];
        if (strcmp(there->what, item->what) == 0 && strcmp(there->shape, item->shape) == 0) {
            return there;
        }
    }
    if (work->n == INQ_WORKLOAD_MOST) {
        return NULL;
    }
    work->items[work->n] = *item;
    work->items[work->n].count = 0;
    work->items[work->n].share = 0.0;
    return &work->items[work->n++];
}

static bool is_math(const struct inq_trace *trace, const struct tally *t)
{
    return inq_kernel_kind_of(inq_trace_str(trace, t->name)) == INQ_KERNEL_MATH;
}

static void add_item(struct inq_workload *work, const struct inq_trace *trace,
                     const struct tally *t, size_t steps, int64_t total_ns)
{
    struct inq_workload_item item = {.math = is_math(trace, t)};
    cut(item.what, sizeof item.what, inq_trace_str(trace, t->what));
    cut(item.shape, sizeof item.shape, inq_trace_str(trace, t->dims));
    struct inq_workload_item *to = item_of(work, &item);
    if (to != NULL) {
        to->count += (int64_t)(t->count / steps);
        to->share += total_ns > 0 ? (double)t->ns / (double)total_ns : 0.0;
    }
}

/* Ranks of one stage run equally many kernels, the same in every step. */
static bool is_even(const struct inq_run_record *r, const struct inq_roles *roles,
                    const struct tallies *t)
{
    for (size_t i = 0; i < r->n_ranks; i++) {
        for (size_t k = 0; k < i; k++) {
            if (roles->of[i] == roles->of[k]) {
                if (t->rank_kernels[i] != t->rank_kernels[k]) {
                    return false;
                }
                break; /* the others of the role were held against this one */
            }
        }
    }
    return true;
}

static bool is_update(const struct inq_trace *trace, const struct tally *t)
{
    return inq_kernel_kind_of(inq_trace_str(trace, t->name)) == INQ_KERNEL_UPDATE;
}

/* How often what runs least does so on a rank: embeddings and losses do once for each micro-batch.
 */
static int32_t passes_of(const struct inq_run_record *r, const struct tallies *t)
{
    const struct inq_trace *trace = r->report->trace;
    const struct inq_pipeline *pipeline = r->report->pipeline;
    uint64_t least = 0;
    if (pipeline != NULL) {
        return pipeline->microbatches;
    }
    for (size_t i = 0; i < t->n; i++) {
        uint64_t count = t->at[i].count;
        if (count % r->n_cells == 0 && !is_update(trace, &t->at[i]) &&
            (least == 0 || count < least)) {
            least = count;
        }
    }
    return (int32_t)(least / r->n_cells);
}

static int fill(struct inq_run_record *r, const struct inq_roles *roles, struct tallies *t,
                struct inq_err *err)
{
    const struct inq_trace *trace = r->report->trace;
    struct inq_workload *work = &r->work;
    double math = 0.0;
    double kernels = 0.0;
    size_t ranks = 0;
    for (size_t i = 0; i < r->n_ranks; i++) {
        kernels += (double)t->rank_kernels[i];
        ranks += r->ranks[i].steps > 0;
    }
    int code = inq_sort(t->at, t->n, sizeof *t->at, by_time, &trace, err);
    bool whole = r->n_cells == r->n_steps * ranks;
    for (size_t i = 0; code == INQ_OK && i < t->n; i++) {
        math += is_math(trace, &t->at[i]) ? (double)t->at[i].count : 0.0;
        if (whole && t->at[i].count % r->n_steps == 0) {
            add_item(work, trace, &t->at[i], r->n_steps, t->total_ns);
        }
    }
    work->kernels = (int64_t)llround(kernels / (double)r->n_steps);
    work->math = (int64_t)llround(math / (double)r->n_steps);
    work->passes = passes_of(r, t);
    work->replicas = (int32_t)(ranks / (roles->n > 0 ? roles->n : 1));
    work->even = is_even(r, roles, t);
    return code;
}

int inq_record_workload(struct inq_run_record *r, const struct inq_roles *roles,
                        struct inq_err *err)
{
    struct tallies t = {.rank_kernels = inq_mem_zalloc(r->n_ranks + 1, sizeof *t.rank_kernels)};
    int code = t.rank_kernels != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", r->n_ranks);
    for (size_t rank = 0; code == INQ_OK && rank < r->n_ranks; rank++) {
        code = add_rank(r, &t, rank, err);
    }
    if (code == INQ_OK && r->n_steps > 0 && r->n_cells > 0) {
        code = fill(r, roles, &t, err);
    }
    inq_map_release(&t.seen);
    inq_mem_free(t.at);
    inq_mem_free(t.rank_kernels);
    return code;
}
