/* SPDX-License-Identifier: Apache-2.0 */
/* Plain data parallelism: the batch is split over the ranks, each runs its micro-batches through
 * its own replica, gradients are all-reduced bucket by bucket, weights are updated. */
#include "schedule/schedule.h"

#include <inttypes.h>

struct replica {
    struct inq_schedule *schedule;
    int32_t rank, chunks;
    int code;
    struct inq_err *err;
};

static void put(struct replica *r, enum inq_action_kind kind, int32_t chunk, int32_t microbatch)
{
    if (r->code == INQ_OK) {
        int32_t stage = chunk < 0 ? -1 : r->rank * r->chunks + chunk;
        r->code = inq_schedule_append(r->schedule, r->rank, kind, stage, microbatch, r->err);
    }
}

/* With overlap the all-reduce of a bucket starts behind its last gradient, beside the rest of the
 * backward; without, all of them follow the whole backward. */
static void fill(struct replica *r, int32_t first, int32_t end, bool overlap)
{
    put(r, INQ_ACTION_SPLIT, -1, -1);
    for (int32_t i = first; i < end; i++) {
        for (int32_t c = 0; c < r->chunks; c++) {
            put(r, INQ_ACTION_F, c, i);
        }
        for (int32_t c = r->chunks - 1; c >= 0; c--) {
            put(r, INQ_ACTION_B, c, i);
            if (overlap && i == end - 1) {
                put(r, INQ_ACTION_REDUCE_GRAD, c, -1);
            }
        }
    }
    for (int32_t c = r->chunks - 1; !overlap && c >= 0; c--) {
        put(r, INQ_ACTION_REDUCE_GRAD, c, -1);
    }
    put(r, INQ_ACTION_UPDATE, -1, -1);
}

int inq_make_dp(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                struct inq_err *err)
{
    int32_t n = spec->n_ranks;
    int32_t chunks = spec->n_chunks > 0 ? spec->n_chunks : 2;
    if (spec->n_microbatches < n) {
        return inq_err_set(err, INQ_USAGE,
                           "dp splits the batch over its %" PRId32
                           " ranks: it needs as many micro-batches, not %" PRId32,
                           n, spec->n_microbatches);
    }
    int64_t n_stages = (int64_t)n * chunks;
    int code = inq_schedule_start(n, n_stages > INT32_MAX ? -1 : (int32_t)n_stages,
                                  spec->n_microbatches, schedule, err);
    for (int32_t r = 0; code == INQ_OK && r < n; r++) {
        for (int32_t c = 0; c < chunks; c++) {
            schedule->stage_rank[r * chunks + c] = r;
        }
        struct replica replica = {schedule, r, chunks, INQ_OK, err};
        int64_t m = spec->n_microbatches;
        fill(&replica, (int32_t)(r * m / n), (int32_t)((r + 1) * m / n), !spec->no_overlap);
        code = replica.code;
    }
    schedule->n_pipelines = n;
    return code;
}
