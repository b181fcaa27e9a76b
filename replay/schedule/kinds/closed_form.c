/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules whose order is a closed form of rank and micro-batch: GPipe, 1F1B and its interleaved,
 * breadth-first and sequence-wise forms, ZB-H1, ZB-H2 and ZB-V. */
#include "schedule/schedule.h"

#include <inttypes.h>

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* One rank's list under construction; the first failure sticks. */
struct row {
    struct inq_schedule *schedule;
    int32_t rank;
    int code;
    struct inq_err *err;
};

static void put(struct row *row, enum inq_action_kind kind, int32_t stage, int32_t microbatch)
{
    /* closed forms may run past the last micro-batch when there are few: those cells do not exist
     */
    if (row->code == INQ_OK && microbatch < row->schedule->n_microbatches) {
        row->code =
            inq_schedule_append(row->schedule, row->rank, kind, stage, microbatch, row->err);
    }
}

/* One stage a rank, in order. */
static int start_straight(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                          struct inq_err *err)
{
    int code =
        inq_schedule_start(spec->n_ranks, spec->n_ranks, spec->n_microbatches, schedule, err);
    for (int32_t s = 0; code == INQ_OK && s < spec->n_ranks; s++) {
        schedule->stage_rank[s] = s;
    }
    return code;
}

static int make_gpipe(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                      struct inq_err *err)
{
    int code = start_straight(spec, schedule, err);
    for (int32_t s = 0; code == INQ_OK && s < spec->n_ranks; s++) {
        struct row row = {schedule, s, INQ_OK, err};
        for (int32_t i = 0; i < spec->n_microbatches; i++) {
            put(&row, INQ_ACTION_F, s, i);
        }
        for (int32_t i = 0; i < spec->n_microbatches; i++) {
            put(&row, INQ_ACTION_B, s, i);
        }
        code = row.code;
    }
    return code;
}

static int make_1f1b(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                     struct inq_err *err)
{
    int code = start_straight(spec, schedule, err);
    int32_t m = spec->n_microbatches;
    for (int32_t s = 0; code == INQ_OK && s < spec->n_ranks; s++) {
        struct row row = {schedule, s, INQ_OK, err};
        int32_t warm_up = smaller(spec->n_ranks - s - 1, m);
        for (int32_t i = 0; i < warm_up; i++) {
            put(&row, INQ_ACTION_F, s, i);
        }
        for (int32_t i = 0; i < m; i++) {
            put(&row, INQ_ACTION_F, s, warm_up + i);
            put(&row, INQ_ACTION_B, s, i);
        }
        code = row.code;
    }
    return code;
}

/* Micro-batches go through the chunks of a rank in rounds of equal length. */
struct loops {
    int32_t chunks;
    int32_t round; /* micro-batches of one */
};

/* The k-th forward (or backward) of a rank in interleaved order. */
static void put_interleaved(struct row *row, enum inq_action_kind kind, int32_t k,
                            const struct loops *of)
{
    int32_t p = row->schedule->n_ranks;
    int32_t chunk = k / of->round % of->chunks;
    if (kind != INQ_ACTION_F) {
        chunk = of->chunks - 1 - chunk;
    }
    put(row, kind, chunk * p + row->rank, k / (of->round * of->chunks) * of->round + k % of->round);
}

/* Stages of `chunks` chunks a rank, dealt to the ranks in turn. */
static int start_looped(const struct inq_schedule_spec *spec, int32_t chunks,
                        struct inq_schedule *schedule, struct inq_err *err)
{
    int32_t p = spec->n_ranks;
    int code = inq_schedule_start(p, p * chunks, spec->n_microbatches, schedule, err);
    for (int32_t s = 0; code == INQ_OK && s < p * chunks; s++) {
        schedule->stage_rank[s] = s % p;
    }
    return code;
}

static int32_t chunks_of(const struct inq_schedule_spec *spec)
{
    return spec->n_chunks > 0 ? spec->n_chunks : 2;
}

static int start_interleaved(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                             struct loops *loops, struct inq_err *err)
{
    int32_t p = spec->n_ranks;
    int32_t m = spec->n_microbatches;
    int32_t rounds = m / (p > 0 ? p : 1) > 1 ? m / p : 1;
    if (m < 1 || m % rounds != 0) {
        return inq_err_set(err, INQ_USAGE,
                           "interleaved needs micro-batches divisible into %" PRId32
                           " equal rounds, not %" PRId32,
                           rounds, m);
    }
    *loops = (struct loops){chunks_of(spec), m / rounds};
    return start_looped(spec, loops->chunks, schedule, err);
}

static int make_interleaved(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                            struct inq_err *err)
{
    struct loops loops = {0};
    int32_t p = spec->n_ranks;
    int code = start_interleaved(spec, schedule, &loops, err);
    for (int32_t r = 0; code == INQ_OK && r < p; r++) {
        struct row row = {schedule, r, INQ_OK, err};
        int32_t total = spec->n_microbatches * loops.chunks;
        int32_t warm_up = smaller((loops.chunks - 1) * loops.round + 2 * (p - 1 - r), total);
        for (int32_t k = 0; k < warm_up; k++) {
            put_interleaved(&row, INQ_ACTION_F, k, &loops);
        }
        for (int32_t k = 0; k < total; k++) {
            if (warm_up + k < total) {
                put_interleaved(&row, INQ_ACTION_F, warm_up + k, &loops);
            }
            put_interleaved(&row, INQ_ACTION_B, k, &loops);
        }
        code = row.code;
    }
    return code;
}

/* Breadth-first pipeline parallelism (Lamy-Poirier, arXiv 2211.05953), as PyTorch's LoopedBFS has
 * it: every micro-batch through one chunk before the next chunk, and back in the reverse order. */
static int make_looped_bfs(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                           struct inq_err *err)
{
    int32_t p = spec->n_ranks;
    int32_t m = spec->n_microbatches;
    int32_t v = chunks_of(spec);
    int code = start_looped(spec, v, schedule, err);
    for (int32_t r = 0; code == INQ_OK && r < p; r++) {
        struct row row = {schedule, r, INQ_OK, err};
        for (int32_t k = 0; k < m * v; k++) {
            put(&row, INQ_ACTION_F, k / m * p + r, k % m);
        }
        for (int32_t k = m * v - 1; k >= 0; k--) {
            put(&row, INQ_ACTION_B, k / m * p + r, k % m);
        }
        code = row.code;
    }
    return code;
}

/* Interleaved 1F1B whose backward is split, as PyTorch's InterleavedZeroBubble has it: half the
 * warm-up of the interleaved order, and weight gradients `rank` backwards late. */
static int make_interleaved_zb(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                               struct inq_err *err)
{
    struct loops loops = {0};
    int32_t p = spec->n_ranks;
    int code = start_interleaved(spec, schedule, &loops, err);
    for (int32_t r = 0; code == INQ_OK && r < p; r++) {
        struct row row = {schedule, r, INQ_OK, err};
        int32_t total = spec->n_microbatches * loops.chunks;
        int32_t warm_up = smaller((loops.chunks - 1) * loops.round + p - 1 - r, total);
        int32_t weights = 0;
        for (int32_t k = 0; k < warm_up; k++) {
            put_interleaved(&row, INQ_ACTION_F, k, &loops);
        }
        for (int32_t k = 0; k < total; k++) {
            if (warm_up + k < total) {
                put_interleaved(&row, INQ_ACTION_F, warm_up + k, &loops);
            }
            put_interleaved(&row, INQ_ACTION_I, k, &loops);
            if (k >= r) {
                put_interleaved(&row, INQ_ACTION_W, weights++, &loops);
            }
        }
        while (weights < total) {
            put_interleaved(&row, INQ_ACTION_W, weights++, &loops);
        }
        code = row.code;
    }
    return code;
}

/* Seq1F1B (Sun et al., arXiv 2406.03488): 1F1B of `k` segments of each sequence, k micro-batches in
 * a row here; the last segment of a sequence goes back first, because attention makes it depend on
 * the others. */
static int make_seq1f1b(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                        struct inq_err *err)
{
    int32_t k = spec->n_chunks > 0 ? spec->n_chunks : 2;
    if (spec->n_microbatches > INQ_MAX_SCHEDULE_MICROBATCHES / k) {
        return inq_err_set(err, INQ_LIMIT,
                           "%" PRId32 " segments of %" PRId32 " micro-batches are too many", k,
                           spec->n_microbatches);
    }
    struct inq_schedule_spec segments = *spec;
    int32_t m = spec->n_microbatches * k;
    segments.n_microbatches = m;
    int code = start_straight(&segments, schedule, err);
    schedule->n_segments = k;
    for (int32_t s = 0; code == INQ_OK && s < spec->n_ranks; s++) {
        struct row row = {schedule, s, INQ_OK, err};
        int32_t warm_up = smaller(spec->n_ranks - s - 2 + k, m);
        for (int32_t i = 0; i < warm_up; i++) {
            put(&row, INQ_ACTION_F, s, i);
        }
        for (int32_t i = 0; i < m; i++) {
            put(&row, INQ_ACTION_F, s, warm_up + i);
            put(&row, INQ_ACTION_B, s, i / k * k + k - 1 - i % k);
        }
        code = row.code;
    }
    return code;
}

/* ZB-H1 and ZB-H2: after `warm_up` forwards a rank runs an input gradient, a weight gradient once
 * more than `lag` are open, and the next forward; the weight gradients left over come last. */
static int make_handcrafted(const struct inq_schedule_spec *spec, int32_t depth,
                            struct inq_schedule *schedule, struct inq_err *err)
{
    int code = start_straight(spec, schedule, err);
    int32_t p = spec->n_ranks;
    int32_t m = spec->n_microbatches;
    for (int32_t s = 0; code == INQ_OK && s < p; s++) {
        struct row row = {schedule, s, INQ_OK, err};
        int32_t forwards = smaller(depth == 1 ? p - s : 2 * (p - s) - 1, m);
        int32_t weights = 0;
        for (int32_t i = 0; i < forwards; i++) {
            put(&row, INQ_ACTION_F, s, i);
        }
        for (int32_t i = 0; i < m; i++) {
            put(&row, INQ_ACTION_I, s, i);
            if (i + 1 - weights > depth * s) {
                put(&row, INQ_ACTION_W, s, weights++);
            }
            put(&row, INQ_ACTION_F, s, forwards++);
        }
        while (weights < m) {
            put(&row, INQ_ACTION_W, s, weights++);
        }
        code = row.code;
    }
    return code;
}

static int make_zb_h1(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                      struct inq_err *err)
{
    return make_handcrafted(spec, 1, schedule, err);
}

static int make_zb_h2(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                      struct inq_err *err)
{
    return make_handcrafted(spec, 2, schedule, err);
}

/* Next micro-batch of each op on the two chunks of a rank of a V. */
struct v_state {
    struct row row;
    int32_t stage[2];
    int32_t f[2], i[2], w[2];
};

static void v_forward(struct v_state *v, int chunk)
{
    put(&v->row, INQ_ACTION_F, v->stage[chunk], v->f[chunk]++);
}

static void v_input(struct v_state *v, int chunk)
{
    put(&v->row, INQ_ACTION_I, v->stage[chunk], v->i[chunk]++);
}

static void v_weight(struct v_state *v, int chunk)
{
    put(&v->row, INQ_ACTION_W, v->stage[chunk], v->w[chunk]++);
}

static void v_input_weight(struct v_state *v, int chunk)
{
    v_input(v, chunk);
    v_weight(v, chunk);
}

/* One rank of ZB-V laid out for `m` micro-batches (at least 2p - 1; cells past the real number are
 * left out by put). */
static int make_v_rank(struct v_state *v, int32_t p, int32_t m)
{
    int32_t r = v->row.rank;
    for (int32_t i = 0; i < 2 * (p - r) - 1; i++) {
        v_forward(v, 0);
    }
    for (int32_t i = 0; i < r; i++) {
        v_forward(v, 1);
        v_forward(v, 0);
    }
    for (int32_t i = 0; i < p - r; i++) {
        v_forward(v, 1);
        v_input_weight(v, 1);
    }
    while (v->f[1] < v->f[0] || v->f[0] < m) {
        if (v->f[0] < m) {
            v_forward(v, 0);
        }
        v_input_weight(v, 0);
        v_forward(v, 1);
        v_input_weight(v, 1);
    }
    for (int32_t i = 0; i < r; i++) {
        v_input(v, 0);
        v_input(v, 1);
    }
    for (int32_t i = 0; i < p - r; i++) {
        v_input_weight(v, 0);
    }
    for (int chunk = 1; chunk >= 0; chunk--) {
        while (v->w[chunk] < v->i[chunk]) {
            v_weight(v, chunk);
        }
    }
    return v->row.code;
}

static int make_zb_v(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                     struct inq_err *err)
{
    int32_t p = spec->n_ranks;
    int code = inq_schedule_start(p, 2 * p, spec->n_microbatches, schedule, err);
    for (int32_t s = 0; code == INQ_OK && s < 2 * p; s++) {
        schedule->stage_rank[s] = s < p ? s : 2 * p - 1 - s;
    }
    int32_t m = spec->n_microbatches < 2 * p - 1 ? 2 * p - 1 : spec->n_microbatches;
    for (int32_t r = 0; code == INQ_OK && r < p; r++) {
        struct v_state v = {.row = {schedule, r, INQ_OK, err}, .stage = {r, 2 * p - 1 - r}};
        code = make_v_rank(&v, p, m);
    }
    return code;
}

int inq_make_closed_form(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                         struct inq_err *err)
{
    static const struct inq_schedule_generator generators[] = {
        {"gpipe", make_gpipe},
        {"1f1b", make_1f1b},
        {"looped-bfs", make_looped_bfs},
        {"interleaved-zb", make_interleaved_zb},
        {"seq1f1b", make_seq1f1b},
        {"interleaved", make_interleaved},
        {"zb-h1", make_zb_h1},
        {"zb-h2", make_zb_h2},
        {"zb-v", make_zb_v},
    };
    return inq_schedule_generate(generators, sizeof generators / sizeof *generators, spec, schedule,
                                 err);
}
