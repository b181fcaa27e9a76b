/* SPDX-License-Identifier: Apache-2.0 */
/* Stages from transfers: the first transfer that a rank completes in a step comes from the stage
 * before it; for the first stage it goes to the second. */
#include "base/hash.h"
#include "base/mem.h"
#include "graph/pipeline/pipeline.h"

struct links {
    struct inq_pipe_run *run;
    size_t n;
    uint32_t *link;  /* [n] the rank's first partner, INQ_NONE for none */
    int64_t *before; /* [n] compute done before that transfer ended, over all steps */
    uint32_t *child; /* [n] rank whose link this one is, besides a mutual partner */
    uint8_t *forks;  /* [n] more than one such rank */
};

/* The partner of the first transfer to end in a step; *end_ns when. */
static uint32_t first_partner(const struct inq_pipe_rank *rank, size_t step, int64_t *end_ns)
{
    uint32_t partner = INQ_NONE;
    *end_ns = INT64_MAX;
    for (size_t i = rank->step_start[step]; i < rank->step_start[step + 1]; i++) {
        const struct inq_pipe_item *item = &rank->items[i];
        if (item->kind == INQ_ITEM_P2P && item->end_ns < *end_ns) {
            *end_ns = item->end_ns;
            partner = item->partner;
        }
    }
    return partner;
}

static int64_t compute_until(const struct inq_pipe_rank *rank, size_t step, int64_t until_ns)
{
    int64_t sum = 0;
    for (size_t i = rank->step_start[step]; i < rank->step_start[step + 1]; i++) {
        const struct inq_pipe_item *item = &rank->items[i];
        if (item->kind == INQ_ITEM_COMPUTE && item->end_ns <= until_ns) {
            sum += item->end_ns - item->start_ns;
        }
    }
    return sum;
}

/* Most frequent first partner over the steps. */
static int find_link(struct links *x, uint32_t r, struct inq_err *err)
{
    struct inq_map votes = {0};
    uint32_t most = 0;
    int code = INQ_OK;
    x->link[r] = INQ_NONE;
    for (size_t step = 0; code == INQ_OK && step < x->run->n_steps; step++) {
        int64_t end_ns = 0;
        uint32_t partner = first_partner(&x->run->ranks[r], step, &end_ns);
        if (partner == INQ_NONE) {
            continue;
        }
        uint32_t seen = 0;
        (void)inq_map_get(&votes, partner, &seen);
        code = inq_map_put(&votes, partner, seen + 1, err);
        if (seen + 1 > most) {
            most = seen + 1;
            x->link[r] = partner;
        }
        x->before[r] += compute_until(&x->run->ranks[r], step, end_ns);
    }
    inq_map_release(&votes);
    return code;
}

/* Who follows whom. A mutual pair is the first two stages of a pipeline. */
static void find_children(struct links *x)
{
    for (uint32_t r = 0; r < x->n; r++) {
        uint32_t parent = x->link[r];
        if (parent == INQ_NONE || x->link[parent] == r) {
            continue;
        }
        x->forks[parent] = x->child[parent] != INQ_NONE;
        x->child[parent] = r;
    }
}

/* The first stage of a mutual pair; INQ_NONE when it cannot be told. */
static uint32_t first_of_pair(const struct links *x, uint32_t a, uint32_t b)
{
    bool after_a = x->child[a] != INQ_NONE;
    bool after_b = x->child[b] != INQ_NONE;
    if (after_a && after_b) {
        return INQ_NONE;
    }
    if (after_a || after_b) {
        return after_a ? b : a;
    }
    return x->before[a] >= x->before[b] ? a : b; /* the first one had to compute before it sent */
}

/* Numbers the ranks of the pipeline that begins at `first`; its length. */
static uint32_t number_chain(struct links *x, uint32_t first, uint32_t replica)
{
    uint32_t stage = 0;
    uint32_t r = first;
    while (r != INQ_NONE && stage < x->n) {
        if (x->forks[r]) {
            return 0;
        }
        x->run->ranks[r].stage = stage++;
        x->run->ranks[r].replica = replica;
        r = r == first ? x->link[first] : x->child[r];
    }
    return stage;
}

static int alloc_links(struct links *x, struct inq_err *err)
{
    x->link = inq_mem_alloc(x->n * sizeof *x->link);
    x->before = inq_mem_zalloc(x->n, sizeof *x->before);
    x->child = inq_mem_alloc(x->n * sizeof *x->child);
    x->forks = inq_mem_zalloc(x->n, sizeof *x->forks);
    if (x->link == NULL || x->before == NULL || x->child == NULL || x->forks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ranks", x->n);
    }
    for (size_t r = 0; r < x->n; r++) {
        x->child[r] = INQ_NONE;
    }
    return INQ_OK;
}

/* All pipelines must be equally long and hold every rank. */
static void number_all(struct links *x)
{
    uint32_t stages = 0;
    uint32_t replicas = 0;
    for (uint32_t r = 0; r < x->n; r++) {
        uint32_t other = x->link[r];
        if (other == INQ_NONE || x->link[other] != r || first_of_pair(x, r, other) != r) {
            continue;
        }
        uint32_t length = number_chain(x, r, replicas);
        if (length < 2 || (replicas > 0 && length != stages)) {
            return;
        }
        stages = length;
        replicas++;
    }
    if (stages > 0 && (size_t)stages * replicas == x->n) {
        x->run->n_stages = stages;
        x->run->n_replicas = replicas;
    }
}

int inq_pipe_find_stages(struct inq_pipe_run *run, struct inq_err *err)
{
    struct links x = {.run = run, .n = run->trace->n_ranks};
    int code = alloc_links(&x, err);
    for (uint32_t r = 0; code == INQ_OK && r < x.n; r++) {
        code = find_link(&x, r, err);
    }
    if (code == INQ_OK) {
        find_children(&x);
        number_all(&x);
    }
    inq_mem_free(x.link);
    inq_mem_free(x.before);
    inq_mem_free(x.child);
    inq_mem_free(x.forks);
    return code;
}
