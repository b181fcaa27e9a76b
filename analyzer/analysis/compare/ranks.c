/* SPDX-License-Identifier: Apache-2.0 */
/* Who computes longer: rank by rank where both runs have the same ranks, else stage by stage. */
#include "analysis/compare/compare.h"

#include "base/arena.h"
#include "base/sort.h"

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "no memory for a comparison");
}

static int by_loss(const void *a, const void *b, void *ctx)
{
    int64_t x = ((const struct inq_compared_rank *)a)->loss_ns;
    int64_t y = ((const struct inq_compared_rank *)b)->loss_ns;
    (void)ctx;
    x = x < 0 ? -x : x;
    y = y < 0 ? -y : y;
    return (x < y) - (x > y);
}

static void add(struct inq_comparison *c, int32_t rank, int32_t stage, int64_t base_ns,
                int64_t now_ns)
{
    c->compared[c->n_compared++] =
        (struct inq_compared_rank){.rank = rank,
                                   .stage = stage,
                                   .ns = {base_ns, now_ns},
                                   .loss_ns = now_ns - inq_ideal_ns(c, base_ns)};
}

/* Compute per step that counts; -1: none does. */
static int64_t compute_ns(const struct inq_record_rank *rank)
{
    return rank->steps > 0 ? rank->part_ns[INQ_PART_COMPUTE] / (int64_t)rank->steps : -1;
}

/* Ranks of a trace are sorted by number. */
static void by_rank(struct inq_comparison *c, const struct inq_run_record *p)
{
    size_t i = 0;
    for (size_t k = 0; k < p[1].n_ranks; k++) {
        const struct inq_record_rank *now = &p[1].ranks[k];
        while (i < p[0].n_ranks && p[0].ranks[i].rank < now->rank) {
            i++;
        }
        if (i < p[0].n_ranks && p[0].ranks[i].rank == now->rank && now->rank >= 0 &&
            p[0].ranks[i].steps > 0 && now->steps > 0) {
            add(c, now->rank, now->stage, compute_ns(&p[0].ranks[i]), compute_ns(now));
        }
    }
}

/* Mean of the stage's ranks; -1: it has none. */
static int64_t stage_ns(const struct inq_run_record *p, int32_t stage)
{
    int64_t sum = 0;
    int64_t n = 0;
    for (size_t r = 0; r < p->n_ranks; r++) {
        bool of_it = p->ranks[r].stage == stage && p->ranks[r].steps > 0;
        sum += of_it ? compute_ns(&p->ranks[r]) : 0;
        n += of_it;
    }
    return n > 0 ? sum / n : -1;
}

static int32_t n_stages(const struct inq_run_record *p)
{
    int32_t last = -1;
    for (size_t r = 0; r < p->n_ranks; r++) {
        last = p->ranks[r].stage > last ? p->ranks[r].stage : last;
    }
    return last + 1;
}

static void by_stage(struct inq_comparison *c, const struct inq_run_record *p, int32_t stages)
{
    for (int32_t s = 0; s < stages; s++) {
        int64_t base_ns = stage_ns(&p[0], s);
        int64_t now_ns = stage_ns(&p[1], s);
        if (base_ns >= 0 && now_ns >= 0) {
            add(c, -1, s, base_ns, now_ns);
        }
    }
}

int inq_compare_ranks(struct inq_comparison *c, const struct inq_run_record *p, struct inq_err *err)
{
    int32_t stages = n_stages(&p[0]);
    bool same_ranks = c->run[0].ranks == c->run[1].ranks;
    bool same_stages = stages > 1 && stages == n_stages(&p[1]);
    size_t most = p[1].n_ranks + (size_t)stages;
    c->compared = inq_arena_array(c->arena, most, sizeof *c->compared);
    if (c->compared == NULL) {
        return no_memory(err);
    }
    if (same_ranks) {
        by_rank(c, p);
    } else if (same_stages) {
        by_stage(c, p, stages);
    }
    return inq_sort(c->compared, c->n_compared, sizeof *c->compared, by_loss, NULL, err);
}
