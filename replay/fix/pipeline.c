/* SPDX-License-Identifier: Apache-2.0 */
/* What a pipeline's micro-batches cost: taken from a job, cut and divided differently. */
#include "fix/pipeline.h"
#include "fix/spec.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"
#include "graph/optable/optable.h"

#include <math.h>
#include <string.h>

void inq_fix_pipe_release(struct fix_pipe *pipe)
{
    inq_mem_free(pipe->cells);
    inq_mem_free(pipe->rank_of);
    inq_mem_free(pipe->p2p_ns);
    *pipe = (struct fix_pipe){0};
}

static struct fix_cell *cell_at(const struct fix_pipe *p, size_t dp, size_t stage, size_t mb)
{
    return &p->cells[(dp * p->n_virtual + stage) * p->n_microbatches + mb];
}

/* ---- taking ---------------------------------------------------------------------------------- */

static size_t virtual_of(const struct fix_step *job, const struct fix_op *op)
{
    if (job->n_virtual > 0) {
        return (size_t)op->op.stage % job->n_virtual;
    }
    size_t chunk = (size_t)op->op.chunk;
    size_t stage = (size_t)op->op.stage;
    bool up = job->v_shaped && chunk % 2 == 1;
    size_t first = job->two_way ? 0 : chunk * job->n_stages; /* both ways through the same model */
    return first + (up ? job->n_stages - 1 - stage : stage);
}

static int64_t not_negative(int64_t ns)
{
    return ns > 0 ? ns : 0;
}

/* What an op takes when nothing runs beside it. */
static int64_t alone_ns(const struct fix_step *job, const struct fix_op *op)
{
    return op->beside && job->beside > 0.0 ? inq_fix_scaled(op->dur_ns, 1.0 / job->beside)
                                           : op->dur_ns;
}

/* Puts one compute op into its cell; seen[cell] gets a bit for forward, backward and weight. */
static bool take_compute(const struct fix_step *job, const struct fix_op *op, struct fix_pipe *pipe,
                         uint8_t *seen)
{
    bool by_schedule = job->n_virtual > 0;
    bool placed = by_schedule || (op->op.dp_rank >= 0 && op->op.chunk >= 0 &&
                                  (size_t)op->op.chunk < job->n_chunks);
    if (!placed || op->op.stage < 0 || op->op.micro_batch < 0 ||
        (size_t)op->op.micro_batch >= job->n_microbatches) {
        return false;
    }
    size_t stage = virtual_of(job, op);
    size_t dp = by_schedule ? 0 : (size_t)op->op.dp_rank;
    struct fix_cell *c = cell_at(pipe, dp, stage, (size_t)op->op.micro_batch);
    uint8_t bit = op->op.type == INQ_OP_FORWARD ? 1 : op->op.type == INQ_OP_BACKWARD_WEIGHT ? 4 : 2;
    uint8_t *bits = &seen[c - pipe->cells];
    if ((*bits & bit) != 0) {
        return false;
    }
    *bits |= bit;
    if (bit == 1) {
        c->f_ns = alone_ns(job, op);
        c->f_delay_ns = not_negative(op->delay_ns);
    } else if (bit == 2) {
        c->i_ns = alone_ns(job, op);
        c->b_delay_ns = not_negative(op->delay_ns);
    } else {
        c->w_ns = alone_ns(job, op);
    }
    if (by_schedule ? (size_t)op->op.stage == stage : op->op.chunk == 0 || !job->two_way) {
        pipe->rank_of[stage] = by_schedule ? op->op.rank : op->op.stage;
    }
    return true;
}

/* Place of the link that leads from one rank to another in p2p_ns of a replica; false: they are no
 * neighbors. */
static bool link_of(size_t n_ranks, size_t from, size_t to, size_t *link)
{
    bool on = to == (from + 1) % n_ranks;
    bool back = from == (to + 1) % n_ranks;
    if (n_ranks == 2) { /* each is the other's next: one link, not two */
        on = from == 0;
        back = !on;
    }
    *link = 2 * (on ? from : to) + (on ? 0 : 1);
    return (on || back) && from != to;
}

bool inq_fix_pipe_transfer(const struct fix_pipe *pipe, size_t dp, int32_t from, int32_t to,
                           int64_t *ns)
{
    size_t link = 0;
    *ns = pipe->usual_p2p_ns;
    if (!link_of(pipe->n_ranks, (size_t)from, (size_t)to, &link)) {
        return false;
    }
    int64_t measured_ns = pipe->p2p_ns[dp * pipe->n_ranks * 2 + link];
    *ns = measured_ns != INQ_TIME_NONE ? measured_ns : *ns;
    return measured_ns != INQ_TIME_NONE;
}

/* The link of a transfer of the job; false: it is none, or one that was never made. */
static bool link_of_op(const struct fix_step *job, const struct fix_op *op, size_t *link)
{
    if (!inq_op_is_p2p(op->op.type) || op->group == INQ_NONE || op->op.stage < 0) {
        return false;
    }
    size_t n = job->n_stages;
    size_t own = (size_t)op->op.stage % n;
    bool forward = op->op.type == INQ_OP_FORWARD_SEND || op->op.type == INQ_OP_FORWARD_RECV;
    bool sends = op->op.type == INQ_OP_FORWARD_SEND || op->op.type == INQ_OP_BACKWARD_SEND;
    /* the second chunk of a V goes through the ranks the other way */
    bool up = job->v_shaped && op->op.chunk % 2 == 1;
    size_t after = (own + 1) % n;
    size_t before = (own + n - 1) % n;
    size_t other = (forward == sends) != up ? after : before;
    return link_of(n, sends ? own : other, sends ? other : own, link);
}

/* The transfers of a job by their link (a place in p2p_ns). */
struct links {
    size_t *start;   /* [n_links + 1] into dur_ns and delay_ns */
    size_t *n_sends; /* [n_links] */
    int64_t *dur_ns;
    int64_t *delay_ns; /* of the sends, the first n_sends of a link */
};

static void release_links(struct links *links)
{
    inq_mem_free(links->start);
    inq_mem_free(links->n_sends);
    inq_mem_free(links->dur_ns);
    inq_mem_free(links->delay_ns);
}

/* Which link an op's transfer goes over; false: it is none. */
static bool place_of_op(const struct fix_step *job, const struct fix_pipe *pipe, size_t i,
                        size_t *place)
{
    const struct fix_op *op = &job->ops[i];
    size_t link = 0;
    if (op->op.dp_rank < 0 || (size_t)op->op.dp_rank >= pipe->n_dp || !link_of_op(job, op, &link)) {
        return false;
    }
    *place = (size_t)op->op.dp_rank * pipe->n_ranks * 2 + link;
    return true;
}

static int sort_by_link(const struct fix_step *job, const struct fix_pipe *pipe, size_t n_links,
                        struct links *out, struct inq_err *err)
{
    size_t place = 0;
    out->start = inq_mem_zalloc(n_links + 2, sizeof *out->start);
    out->n_sends = inq_mem_zalloc(n_links + 1, sizeof *out->n_sends);
    out->dur_ns = inq_mem_alloc((job->n_ops + 1) * sizeof *out->dur_ns);
    out->delay_ns = inq_mem_alloc((job->n_ops + 1) * sizeof *out->delay_ns);
    if (out->start == NULL || out->n_sends == NULL || out->dur_ns == NULL ||
        out->delay_ns == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t i = 0; i < job->n_ops; i++) {
        if (place_of_op(job, pipe, i, &place)) {
            out->start[place + 2]++;
        }
    }
    for (size_t k = 2; k < n_links + 2; k++) {
        out->start[k] += out->start[k - 1];
    }
    /* start[place + 1] runs from the link's first place to its end */
    for (size_t i = 0; i < job->n_ops; i++) {
        if (place_of_op(job, pipe, i, &place)) {
            out->dur_ns[out->start[place + 1]++] = job->ops[i].dur_ns;
        }
    }
    for (size_t i = 0; i < job->n_ops; i++) {
        const struct fix_op *op = &job->ops[i];
        if ((op->op.type == INQ_OP_FORWARD_SEND || op->op.type == INQ_OP_BACKWARD_SEND) &&
            place_of_op(job, pipe, i, &place)) {
            out->delay_ns[out->start[place] + out->n_sends[place]++] = not_negative(op->delay_ns);
        }
    }
    return INQ_OK;
}

/* Median transfer over each link, and what it usually waits for its launch. */
static int take_transfers(const struct fix_step *job, struct fix_pipe *pipe, struct inq_err *err)
{
    size_t n_links = pipe->n_dp * pipe->n_ranks * 2;
    struct links links = {0};
    int64_t *measured = inq_mem_alloc((n_links + 1) * sizeof *measured);
    int code =
        measured != NULL ? sort_by_link(job, pipe, n_links, &links, err) : inq_fix_no_memory(err);
    size_t n_measured = 0;
    for (size_t k = 0; code == INQ_OK && k < n_links; k++) {
        size_t begin = links.start[k];
        size_t n = links.start[k + 1] - begin;
        pipe->p2p_ns[k] = INQ_TIME_NONE;
        if (n > 0) {
            pipe->p2p_ns[k] = not_negative(inq_lower_median_i64(links.dur_ns + begin, n)) +
                              inq_lower_median_i64(links.delay_ns + begin, links.n_sends[k]);
            pipe->transfers = true;
            measured[n_measured++] = pipe->p2p_ns[k];
        }
    }
    if (code == INQ_OK) {
        pipe->usual_p2p_ns = inq_lower_median_i64(measured, n_measured);
    }
    release_links(&links);
    inq_mem_free(measured);
    return code;
}

/* Two neighboring stages of a replica, in a direction. */
struct pair {
    size_t dp;
    bool back;
    size_t waits;    /* the stage whose passes wait for the transfers */
    int64_t *p2p_ns; /* of their link; NULL: there is none */
};

static struct pair pair_at(const struct fix_pipe *pipe, size_t k)
{
    size_t n_pairs = 2 * (pipe->n_virtual - 1);
    size_t stage = k % n_pairs / 2;
    size_t own = (size_t)pipe->rank_of[stage];
    size_t next = (size_t)pipe->rank_of[stage + 1];
    bool back = k % 2 == 1;
    struct pair pair = {.dp = k / n_pairs, .back = back, .waits = back ? stage : stage + 1};
    size_t link = 0;
    if (link_of(pipe->n_ranks, back ? next : own, back ? own : next, &link)) {
        pair.p2p_ns = &pipe->p2p_ns[pair.dp * pipe->n_ranks * 2 + link];
    }
    return pair;
}

/* What is left of the delays of a stage's passes besides the transfers that they wait for. Whether
 * most waited for a whole one: their receives are posted in order. */
static bool take_from_delays(struct fix_pipe *pipe, const struct pair *pair)
{
    int64_t p2p_ns = *pair->p2p_ns;
    size_t whole = 0;
    for (size_t mb = 0; mb < pipe->n_microbatches; mb++) {
        struct fix_cell *c = cell_at(pipe, pair->dp, pair->waits, mb);
        int64_t *ns = pair->back ? &c->b_delay_ns : &c->f_delay_ns;
        whole += 2 * *ns > p2p_ns;
        *ns = not_negative(*ns - p2p_ns);
    }
    return 2 * whole > pipe->n_microbatches + 1; /* of the others: one is the measured one */
}

/* Transfers that were not recorded: nothing hides that of the first forward of a step, nor that of
 * its last backward, so that what these waited after the pass of the other stage was their
 * transfer. Other passes wait for parts of one. */
static int take_delays(struct fix_pipe *pipe, struct inq_err *err)
{
    size_t n_links = pipe->n_dp * pipe->n_ranks * 2;
    size_t n_pairs = pipe->n_dp * 2 * (pipe->n_virtual - 1);
    int64_t *measured = inq_mem_alloc((n_links + 1) * sizeof *measured);
    size_t n = 0;
    size_t in_order = 0;
    if (measured == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t k = 0; k < n_links; k++) {
        pipe->p2p_ns[k] = INQ_TIME_NONE;
    }
    for (size_t k = 0; k < n_pairs; k++) {
        struct pair pair = pair_at(pipe, k);
        size_t mb = pair.back ? pipe->n_microbatches - 1 : 0;
        const struct fix_cell *c = cell_at(pipe, pair.dp, pair.waits, mb);
        int64_t ns = pair.back ? c->b_delay_ns : c->f_delay_ns;
        if (pair.p2p_ns != NULL && ns > *pair.p2p_ns) { /* of chunks some may be hidden */
            *pair.p2p_ns = ns;
        }
    }
    for (size_t k = 0; k < n_pairs; k++) {
        struct pair pair = pair_at(pipe, k);
        in_order += pair.p2p_ns != NULL && take_from_delays(pipe, &pair);
    }
    for (size_t k = 0; k < n_links; k++) {
        measured[n] = pipe->p2p_ns[k];
        n += pipe->p2p_ns[k] != INQ_TIME_NONE;
    }
    pipe->usual_p2p_ns = inq_lower_median_i64(measured, n);
    pipe->transfers = pipe->from_delays = n > 0;
    pipe->in_order = 2 * in_order > n_pairs;
    inq_mem_free(measured);
    return INQ_OK;
}

/* In a schedule's graph all transfers are alike, and have no sends of their own. */
static void take_schedule_transfers(const struct fix_step *job, struct fix_pipe *pipe)
{
    for (size_t i = 0; i < job->n_ops; i++) {
        if (inq_op_is_p2p(job->ops[i].op.type)) {
            for (size_t k = 0; !pipe->transfers && k < pipe->n_ranks * 2; k++) {
                pipe->p2p_ns[k] = job->ops[i].dur_ns;
            }
            pipe->usual_p2p_ns = pipe->p2p_ns[0];
            pipe->transfers = true;
        }
    }
}

/* Whether most receives wait for the compute op that stands before their own on its lane. */
static int find_posting(const struct fix_step *job, struct fix_pipe *pipe, struct inq_err *err)
{
    uint32_t *before = inq_mem_alloc(2 * (job->n_ops + 1) * sizeof *before); /* on its lane */
    uint32_t *last = inq_mem_alloc((job->n_ranks + 1) * sizeof *last);
    if (before == NULL || last == NULL) {
        inq_mem_free(before);
        inq_mem_free(last);
        return inq_fix_no_memory(err);
    }
    uint32_t *posted = before + job->n_ops + 1; /* compute that a receive waits for */
    size_t n = 0;
    size_t in_order = 0;
    memset(before, 0xff, 2 * (job->n_ops + 1) * sizeof *before);
    memset(last, 0xff, (job->n_ranks + 1) * sizeof *last);
    for (size_t i = 0; i < job->n_ops; i++) {
        if (inq_op_is_compute(job->ops[i].op.type)) {
            before[i] = last[job->ops[i].op.rank];
            last[job->ops[i].op.rank] = (uint32_t)i;
        }
    }
    for (size_t e = 0; e < job->n_edges; e++) {
        if (inq_op_is_compute(job->ops[job->edges[e].before].op.type)) {
            posted[job->edges[e].after] = job->edges[e].before;
        }
    }
    for (size_t e = 0; e < job->n_edges; e++) {
        uint32_t from = job->edges[e].before;
        uint32_t to = job->edges[e].after;
        bool receives = job->ops[from].op.type == INQ_OP_FORWARD_RECV ||
                        job->ops[from].op.type == INQ_OP_BACKWARD_RECV;
        if (receives && inq_op_is_compute(job->ops[to].op.type) && before[to] != INQ_NONE) {
            n++;
            in_order += posted[from] == before[to];
        }
    }
    pipe->in_order = 2 * in_order > n;
    inq_mem_free(before);
    inq_mem_free(last);
    return INQ_OK;
}

/* Full backwards among split ones have a weight gradient of the share that those have. */
static void split_full(struct fix_pipe *p, const uint8_t *seen, size_t n_cells)
{
    double weight = 0.0;
    double all = 0.0;
    for (size_t k = 0; k < n_cells; k++) {
        bool split = (seen[k] & 4) != 0;
        weight += split ? (double)p->cells[k].w_ns : 0.0;
        all += split ? (double)(p->cells[k].i_ns + p->cells[k].w_ns) : 0.0;
    }
    for (size_t k = 0; all > 0.0 && k < n_cells; k++) {
        if ((seen[k] & 4) == 0) {
            p->cells[k].w_ns = inq_fix_scaled(p->cells[k].i_ns, weight / all);
            p->cells[k].i_ns -= p->cells[k].w_ns;
        }
    }
}

static int alloc_pipe(struct fix_pipe *p, struct inq_err *err)
{
    p->cells = inq_mem_zalloc(p->n_dp * p->n_virtual * p->n_microbatches + 1, sizeof *p->cells);
    p->rank_of = inq_mem_zalloc(p->n_virtual + 1, sizeof *p->rank_of);
    p->p2p_ns = inq_mem_zalloc(p->n_dp * p->n_ranks * 2 + 1, sizeof *p->p2p_ns);
    return p->cells != NULL && p->rank_of != NULL && p->p2p_ns != NULL ? INQ_OK
                                                                       : inq_fix_no_memory(err);
}

/* The transfers of a recorded step. */
static int take_recorded(const struct fix_step *job, struct fix_pipe *pipe, struct inq_err *err)
{
    int code = take_transfers(job, pipe, err);
    if (code == INQ_OK && !pipe->transfers && pipe->n_microbatches > 0 && !job->two_way) {
        return take_delays(pipe, err);
    }
    return code == INQ_OK ? find_posting(job, pipe, err) : code;
}

int inq_fix_pipe_take(const struct fix_step *job, struct fix_pipe *pipe, struct inq_err *err)
{
    bool by_schedule = job->n_virtual > 0;
    size_t chunks = job->two_way ? 1 : job->n_chunks;
    *pipe = (struct fix_pipe){.n_dp = by_schedule ? 1 : job->n_dp,
                              .n_ranks = by_schedule ? job->n_ranks : job->n_stages,
                              .n_virtual = by_schedule ? job->n_virtual : job->n_stages * chunks,
                              .n_microbatches = job->n_microbatches,
                              .split = job->split,
                              .beside = job->beside};
    if (pipe->n_ranks < 2 || job->n_microbatches == 0) {
        return inq_err_set(err, INQ_UNSUPPORTED, "this is no pipeline: there is no schedule");
    }
    size_t n_cells = pipe->n_dp * pipe->n_virtual * pipe->n_microbatches;
    uint8_t *seen = inq_mem_zalloc(n_cells + 1, 1);
    int code = seen != NULL ? alloc_pipe(pipe, err) : inq_fix_no_memory(err);
    bool whole = true;
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        if (inq_op_is_compute(job->ops[i].op.type)) {
            whole = take_compute(job, &job->ops[i], pipe, seen) && whole;
        }
    }
    for (size_t k = 0; code == INQ_OK && k < n_cells; k++) {
        whole = whole && (seen[k] & 3) == 3;
    }
    if (code == INQ_OK && pipe->split) {
        split_full(pipe, seen, n_cells);
    }
    if (code == INQ_OK && !whole) {
        code = inq_err_set(err, INQ_UNSUPPORTED,
                           "not every micro-batch has one forward and one backward on every stage");
    }
    if (code == INQ_OK && by_schedule) {
        take_schedule_transfers(job, pipe);
    } else if (code == INQ_OK) {
        code = take_recorded(job, pipe, err);
    }
    inq_mem_free(seen);
    return code;
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* Compute of each rank of each replica against the median replica's: pace[dp * n_ranks + rank]. */
static int find_paces(const struct fix_pipe *p, double *pace, struct inq_err *err)
{
    double *values = inq_mem_zalloc(p->n_dp + 1, sizeof *values);
    if (values == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t d = 0; d < p->n_dp; d++) {
        for (size_t k = 0; k < p->n_virtual * p->n_microbatches; k++) {
            const struct fix_cell *c = &p->cells[d * p->n_virtual * p->n_microbatches + k];
            size_t rank = (size_t)p->rank_of[k / p->n_microbatches];
            pace[d * p->n_ranks + rank] += (double)(c->f_ns + c->i_ns + c->w_ns);
        }
    }
    for (size_t r = 0; r < p->n_ranks; r++) {
        for (size_t d = 0; d < p->n_dp; d++) {
            values[d] = pace[d * p->n_ranks + r];
        }
        double usual = inq_median(values, p->n_dp);
        for (size_t d = 0; d < p->n_dp; d++) {
            double *own = &pace[d * p->n_ranks + r];
            *own = usual > 0.0 && *own > 0.0 ? *own / usual : 1.0;
        }
    }
    inq_mem_free(values);
    return INQ_OK;
}

/* Costs of a cell, to be added up. */
struct costs {
    double f, i, w;
};

/* What the first and the last stage do besides layers (embedding, output layer, loss) is what they
 * take longer than the median stage; it stays at its end of the model. */
struct cut {
    const struct fix_pipe *p;
    const double *pace; /* [n_dp * n_ranks] */
    double *values;     /* scratch [n_virtual] */
    size_t n;           /* virtual stages from now on */
};

static double part_of(const struct fix_pipe *p, const double *pace, size_t dp, size_t cell,
                      int part)
{
    const struct fix_cell *c = &p->cells[dp * p->n_virtual * p->n_microbatches + cell];
    double rank_pace = pace[dp * p->n_ranks + (size_t)p->rank_of[cell / p->n_microbatches]];
    return (double)(part == 0 ? c->f_ns : part == 1 ? c->i_ns : c->w_ns) / rank_pace;
}

/* At the pace of a usual rank. */
static struct costs extra_of(const struct cut *x, size_t dp, size_t stage, size_t mb)
{
    const struct fix_pipe *p = x->p;
    double extra[3];
    for (int part = 0; part < 3; part++) {
        for (size_t s = 0; s < p->n_virtual; s++) {
            x->values[s] = part_of(p, x->pace, dp, s * p->n_microbatches + mb, part);
        }
        double own = x->values[stage];
        inq_sort_double(x->values, p->n_virtual);
        extra[part] = fmax(own - x->values[(p->n_virtual - 1) / 2], 0.0);
    }
    return (struct costs){extra[0], extra[1], extra[2]};
}

static void add_share(struct costs *sum, const struct costs *part, double share)
{
    sum->f += share * part->f;
    sum->i += share * part->i;
    sum->w += share * part->w;
}

/* The layers of virtual stage `k`, whatever measured stages they were on, at a rank's pace. */
static struct fix_cell cut_cell(const struct cut *x, size_t dp, size_t mb, size_t k,
                                double own_pace)
{
    const struct fix_pipe *p = x->p;
    double scale = (double)p->n_virtual / (double)x->n;
    double from = (double)k * scale;
    double to = from + scale;
    struct costs sum = {0};
    size_t first = (size_t)(from + 1e-9);
    for (size_t s = first; s < p->n_virtual && (double)s < to - 1e-9; s++) {
        double low = from > (double)s ? from : (double)s;
        double high = to < (double)s + 1.0 ? to : (double)s + 1.0;
        size_t cell = s * p->n_microbatches + mb;
        struct costs all = {part_of(p, x->pace, dp, cell, 0), part_of(p, x->pace, dp, cell, 1),
                            part_of(p, x->pace, dp, cell, 2)};
        bool end = p->n_virtual > 1 && (s == 0 || s + 1 == p->n_virtual);
        struct costs extra = {0};
        if (end) {
            extra = extra_of(x, dp, s, mb);
            add_share(&all, &extra, -1.0);
        }
        add_share(&sum, &all, (high - low) * own_pace);
        if (end && (s == 0 ? k == 0 : k + 1 == x->n)) {
            add_share(&sum, &extra, own_pace);
        }
    }
    const struct fix_cell *old = cell_at(p, dp, first < p->n_virtual ? first : 0, mb);
    return (struct fix_cell){llround(sum.f), llround(sum.i), llround(sum.w), old->f_delay_ns,
                             old->b_delay_ns};
}

int inq_fix_pipe_recut(struct fix_pipe *pipe, size_t n_virtual, const int32_t *rank_of,
                       struct inq_err *err)
{
    struct fix_pipe out = *pipe;
    double *pace = inq_mem_zalloc(pipe->n_dp * pipe->n_ranks + pipe->n_virtual + 1, sizeof *pace);
    out.n_virtual = n_virtual;
    out.cells = NULL;
    out.rank_of = NULL;
    out.p2p_ns = NULL;
    int code = pace != NULL ? alloc_pipe(&out, err) : inq_fix_no_memory(err);
    if (code == INQ_OK) {
        code = find_paces(pipe, pace, err);
    }
    for (size_t d = 0; code == INQ_OK && d < out.n_dp; d++) {
        for (size_t k = 0; k < n_virtual * out.n_microbatches; k++) {
            size_t stage = k / out.n_microbatches;
            size_t mb = k % out.n_microbatches;
            struct cut cut = {pipe, pace, pace + pipe->n_dp * pipe->n_ranks, n_virtual};
            double own = pace[d * pipe->n_ranks + (size_t)rank_of[stage]];
            *cell_at(&out, d, stage, mb) = cut_cell(&cut, d, mb, stage, own);
        }
    }
    inq_mem_free(pace);
    if (code != INQ_OK) {
        inq_fix_pipe_release(&out);
        return code;
    }
    memcpy(out.rank_of, rank_of, n_virtual * sizeof *rank_of);
    memcpy(out.p2p_ns, pipe->p2p_ns, out.n_dp * out.n_ranks * 2 * sizeof *out.p2p_ns);
    inq_fix_pipe_release(pipe);
    *pipe = out;
    return INQ_OK;
}

/* ---- dividing -------------------------------------------------------------------------------- */

static struct fix_cell mean_cell(const struct fix_pipe *p, size_t dp, size_t stage)
{
    struct fix_cell sum = {0};
    int64_t n = p->n_microbatches > 0 ? (int64_t)p->n_microbatches : 1;
    for (size_t mb = 0; mb < p->n_microbatches; mb++) {
        const struct fix_cell *c = cell_at(p, dp, stage, mb);
        sum.f_ns += c->f_ns;
        sum.i_ns += c->i_ns;
        sum.w_ns += c->w_ns;
        sum.f_delay_ns += c->f_delay_ns;
        sum.b_delay_ns += c->b_delay_ns;
    }
    return (struct fix_cell){sum.f_ns / n, sum.i_ns / n, sum.w_ns / n, sum.f_delay_ns / n,
                             sum.b_delay_ns / n};
}

static int64_t resized(const struct fix_curve *curve, int64_t dur_ns, double size)
{
    int64_t span_ns = curve->dur_ns[1] - curve->dur_ns[0];
    double at = span_ns > 0 ? (double)(dur_ns - curve->dur_ns[0]) / (double)span_ns : 0.0;
    at = at < 0.0 ? 0.0 : at < 1.0 ? at : 1.0;
    double fixed = curve->fixed[0] + at * (curve->fixed[1] - curve->fixed[0]);
    return inq_fix_scaled(dur_ns, fixed + (1.0 - fixed) * size);
}

int inq_fix_pipe_divide(struct fix_pipe *pipe, size_t n, const struct fix_curve *curve, double size,
                        struct inq_err *err)
{
    struct fix_cell *cells = inq_mem_zalloc(pipe->n_dp * pipe->n_virtual * n + 1, sizeof *cells);
    if (cells == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t k = 0; k < pipe->n_dp * pipe->n_virtual; k++) {
        struct fix_cell mean = mean_cell(pipe, k / pipe->n_virtual, k % pipe->n_virtual);
        /* what came before the very first forward is the step's, not a micro-batch's */
        int64_t first_ns = cell_at(pipe, k / pipe->n_virtual, k % pipe->n_virtual, 0)->f_delay_ns;
        int64_t others = (int64_t)pipe->n_microbatches - 1;
        int64_t usual_ns = others > 0 ? (mean.f_delay_ns * (others + 1) - first_ns) / others : 0;
        /* that of a stage that sends and receives at once are further transfers */
        usual_ns = pipe->from_delays ? inq_fix_scaled(usual_ns, size) : usual_ns;
        mean.b_delay_ns =
            pipe->from_delays ? inq_fix_scaled(mean.b_delay_ns, size) : mean.b_delay_ns;
        mean.f_ns = resized(curve, mean.f_ns, size);
        mean.i_ns = resized(curve, mean.i_ns, size);
        mean.w_ns = resized(curve, mean.w_ns, size);
        for (size_t mb = 0; mb < n; mb++) {
            cells[k * n + mb] = mean;
            cells[k * n + mb].f_delay_ns = mb == 0 ? first_ns : not_negative(usual_ns);
        }
    }
    for (size_t k = 0; k < pipe->n_dp * pipe->n_ranks * 2; k++) {
        if (pipe->p2p_ns[k] != INQ_TIME_NONE) {
            pipe->p2p_ns[k] = inq_fix_scaled(pipe->p2p_ns[k], size);
        }
    }
    pipe->usual_p2p_ns = inq_fix_scaled(pipe->usual_p2p_ns, size);
    inq_mem_free(pipe->cells);
    pipe->cells = cells;
    pipe->n_microbatches = n;
    return INQ_OK;
}
