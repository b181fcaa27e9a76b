/* SPDX-License-Identifier: Apache-2.0 */
/* What suspects cost: the run simulated again, each time with the work of one of them at the pace
 * of its peers. Own time in excess is not yet what is lost: in a pipeline others may be slower
 * still, and somebody is always last. */
#include "analysis/rerun.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>

struct costs {
    const struct inq_inquiry *q;
    const struct inq_links *links;
    struct inq_rerun run;
    bool *chosen; /* [n_ranks] of the suspect at hand */
};

static int64_t scaled(int64_t ns, double factor)
{
    return (int64_t)llround((double)ns * factor);
}

/* Row of the GPU event that op `i` was; false for a host call. */
static bool is_gpu(const struct costs *c, size_t i, const struct inq_events **events, uint32_t *row)
{
    const struct inq_trace_op *what = &c->run.g.ops[i];
    *events = &c->q->trace->ranks[what->rank].events;
    *row = what->row;
    return !what->host;
}

/* ---- compute, copies ------------------------------------------------------------------------- */

static bool scale_class(struct costs *c, enum inq_op_class cls, double factor)
{
    for (size_t i = 0; i < c->run.g.graph->n_ops; i++) {
        const struct inq_events *events;
        uint32_t row;
        if (is_gpu(c, i, &events, &row) && c->chosen[c->run.g.ops[i].rank] &&
            events->cls[row] == cls) {
            c->run.dur_ns[i] = scaled(c->run.dur_ns[i], factor);
        }
    }
    return true;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* What the host did between a call and what it waited for; before the first call, since the step
 * began. */
static int64_t host_delay(const struct inq_rerun *run, size_t i)
{
    const struct inq_graph *g = run->g.graph;
    if (g->dep_start[i] < g->dep_start[i + 1]) {
        return run->recorded_delay_ns[i];
    }
    int64_t begin = run->first_step != INQ_NONE
                        ? run->trace->steps[run->first_step].rank_start_ns[run->g.ops[i].rank]
                        : INQ_TIME_NONE;
    return begin != INQ_TIME_NONE ? run->g.start_ns[i] - begin : 0;
}

/* Time between the ends of a host call and of what it waited for. */
static int64_t host_part(const struct costs *c, size_t i)
{
    const struct inq_rerun *run = &c->run;
    if (!run->g.ops[i].host || !inq_rerun_judged(run, i)) {
        return 0;
    }
    int64_t ns = host_delay(run, i) + (run->g.ops[i].sync ? 0 : run->recorded_dur_ns[i]);
    return ns > 0 ? ns : 0;
}

/* What the hosts of all ranks did, into sums; median over the ranks of the suspect's role that are
 * not chosen, -1 for none. `space` is [n_ranks]. */
static int64_t usual_host_time(const struct costs *c, uint32_t role, int64_t *sums, int64_t *space)
{
    size_t n = 0;
    for (size_t i = 0; i < c->run.g.graph->n_ops; i++) {
        sums[c->run.g.ops[i].rank] += host_part(c, i);
    }
    for (size_t r = 0; r < c->q->trace->n_ranks; r++) {
        if (c->q->roles->of[r] == role && !c->chosen[r] && sums[r] > 0) {
            space[n++] = sums[r];
        }
    }
    return n > 0 ? inq_median_i64(space, n) : -1;
}

/* The level to which the largest of `n` parts (ascending) are cut so that they sum to `target`. */
static int64_t level_of(const int64_t *part, size_t n, int64_t target)
{
    int64_t below = 0;
    for (size_t k = 0; k < n; k++) {
        int64_t rest = (int64_t)(n - k);
        if (below + part[k] * rest >= target) {
            return (target - below) / rest;
        }
        below += part[k];
    }
    return INT64_MAX;
}

/* Cuts the longest pauses of the host until it takes no more time than its peers. */
static bool cut_pauses(struct costs *c, uint32_t rank, int64_t target, int64_t *parts)
{
    size_t n = 0;
    for (size_t i = 0; i < c->run.g.graph->n_ops; i++) {
        int64_t ns = c->run.g.ops[i].rank == rank ? host_part(c, i) : 0;
        if (ns > 0) {
            parts[n++] = ns;
        }
    }
    inq_sort_i64(parts, n);
    int64_t level = level_of(parts, n, target);
    for (size_t i = 0; i < c->run.g.graph->n_ops; i++) {
        int64_t more = c->run.g.ops[i].rank == rank ? host_part(c, i) - level : 0;
        if (more > 0) {
            int64_t delay = c->run.delay_ns[i] < more ? c->run.delay_ns[i] : more;
            delay = delay > 0 ? delay : 0;
            c->run.delay_ns[i] -= delay;
            c->run.dur_ns[i] -= more - delay;
        }
    }
    return level < INT64_MAX;
}

/* Only where the calls show at least half of what the GPU was left idle for. */
static int repair_hosts(struct costs *c, const struct inq_suspect *suspect, bool *done,
                        struct inq_err *err)
{
    size_t n_ranks = c->q->trace->n_ranks;
    int64_t late_ns = (suspect->own_ns - suspect->peers_ns) * (int64_t)suspect->steps;
    int64_t *sums = inq_mem_zalloc(2 * n_ranks + 1, sizeof *sums);
    int64_t *parts = inq_mem_alloc((c->run.g.graph->n_ops + 1) * sizeof *parts);
    int code = sums != NULL && parts != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "out of memory for the pauses of hosts");
    int64_t target = -1;
    if (code == INQ_OK) {
        target = usual_host_time(c, c->q->roles->of[suspect->ranks[0]], sums, sums + n_ranks);
    }
    for (size_t k = 0; target >= 0 && k < suspect->n_ranks; k++) {
        bool shows = sums[suspect->ranks[k]] - target >= late_ns / 2;
        *done = (shows && cut_pauses(c, suspect->ranks[k], target, parts)) || *done;
    }
    inq_mem_free(sums);
    inq_mem_free(parts);
    return code;
}

/* ---- links ----------------------------------------------------------------------------------- */

static uint64_t members_hash(const struct inq_trace *trace, const struct inq_collective *c)
{
    uint64_t hash = 0;
    for (uint32_t m = 0; m < c->n_members; m++) {
        hash += inq_hash_u64(trace->members[c->first_member + m].rank);
    }
    return hash;
}

static bool has_all(const struct inq_trace *trace, const struct inq_collective *c,
                    const struct inq_suspect *suspect)
{
    size_t n = 0;
    for (uint32_t m = 0; m < c->n_members; m++) {
        for (size_t k = 0; k < suspect->n_ranks; k++) {
            n += trace->members[c->first_member + m].rank == suspect->ranks[k];
        }
    }
    return n == suspect->n_ranks;
}

/* Factors of the transfers among each set of ranks that has a slow link. */
static int link_factors(const struct costs *c, const struct inq_suspect *suspect,
                        struct inq_map *link_of, struct inq_err *err)
{
    const struct inq_trace *trace = c->q->trace;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < c->links->n; i++) {
        const struct inq_collective *first = &trace->collectives[c->links->at[i].first_collective];
        if (has_all(trace, first, suspect)) {
            code = inq_map_put(link_of, members_hash(trace, first), (uint32_t)i, err);
        }
    }
    return code;
}

/* Factor of each event's transfer: (rank, event) to the link. */
static int mark_transfers(const struct costs *c, const struct inq_map *link_of,
                          struct inq_map *link_of_event, struct inq_err *err)
{
    const struct inq_trace *trace = c->q->trace;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < trace->n_collectives; i++) {
        const struct inq_collective *coll = &trace->collectives[i];
        uint32_t link = 0;
        bool slow = inq_map_get(link_of, members_hash(trace, coll), &link);
        for (uint32_t m = 0; slow && code == INQ_OK && m < coll->n_members; m++) {
            const struct inq_member *member = &trace->members[coll->first_member + m];
            code =
                inq_map_put(link_of_event, (uint64_t)member->rank << 32 | member->event, link, err);
        }
    }
    return code;
}

static int speed_links(struct costs *c, const struct inq_suspect *suspect, bool *done,
                       struct inq_err *err)
{
    struct inq_map link_of = {0};
    struct inq_map link_of_event = {0};
    int code = link_factors(c, suspect, &link_of, err);
    if (code == INQ_OK) {
        code = mark_transfers(c, &link_of, &link_of_event, err);
    }
    for (size_t i = 0; code == INQ_OK && i < c->run.g.graph->n_ops; i++) {
        const struct inq_trace_op *what = &c->run.g.ops[i];
        uint32_t link = 0;
        if (!what->host &&
            inq_map_get(&link_of_event, (uint64_t)what->rank << 32 | what->row, &link)) {
            c->run.dur_ns[i] = scaled(c->run.dur_ns[i], 1.0 / c->links->at[link].ratio);
            *done = true;
        }
    }
    inq_map_release(&link_of);
    inq_map_release(&link_of_event);
    return code;
}

/* ---- uneven work ----------------------------------------------------------------------------- */

struct mean {
    int64_t sum_ns, n;
};

/* The role, stream and name of a piece of GPU work. */
static uint64_t work_key(const struct costs *c, size_t i)
{
    const struct inq_trace_op *what = &c->run.g.ops[i];
    const struct inq_rank *rank = &c->q->trace->ranks[what->rank];
    int64_t stream = rank->lanes[rank->events.lane[what->row]].id;
    uint64_t key = inq_hash_u64((uint64_t)stream) ^ rank->events.name[what->row];
    return inq_hash_u64(key) ^ c->q->roles->of[what->rank];
}

/* Compute, and transfers, whose sizes follow from its sizes. */
static bool has_a_size(const struct costs *c, size_t i)
{
    const struct inq_events *events;
    uint32_t row;
    return is_gpu(c, i, &events, &row) &&
           (events->cls[row] == INQ_CLASS_COMPUTE || events->cls[row] == INQ_CLASS_COMM);
}

/* Kernels of one name and stream take the mean of their role's ranks: every micro-batch has as many
 * of them, so all micro-batches take equally long. */
static int even_kernels(struct costs *c, bool *done, struct inq_err *err)
{
    size_t n_ops = c->run.g.graph->n_ops;
    struct mean *means = inq_mem_zalloc(n_ops + 1, sizeof *means);
    struct inq_map place = {0};
    uint32_t n = 0;
    int code = means != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for kernels");
    for (size_t i = 0; code == INQ_OK && i < n_ops; i++) {
        uint32_t at = 0;
        if (!has_a_size(c, i) || !inq_rerun_judged(&c->run, i)) {
            continue;
        }
        if (!inq_map_get(&place, work_key(c, i), &at)) {
            at = n++;
            code = inq_map_put(&place, work_key(c, i), at, err);
        }
        means[at].sum_ns += c->run.recorded_dur_ns[i];
        means[at].n++;
    }
    for (size_t i = 0; code == INQ_OK && i < n_ops; i++) {
        uint32_t at = 0;
        if (has_a_size(c, i) && inq_rerun_judged(&c->run, i) &&
            inq_map_get(&place, work_key(c, i), &at)) {
            c->run.dur_ns[i] = means[at].sum_ns / means[at].n;
            *done = true;
        }
    }
    inq_map_release(&place);
    inq_mem_free(means);
    return code;
}

/* ---- all suspects ---------------------------------------------------------------------------- */

/* Takes the suspect's fault away; *done: the graph has what there is to change. */
static int take_away(struct costs *c, const struct inq_suspect *suspect, bool *done,
                     struct inq_err *err)
{
    double factor = suspect->own_ns > 0 ? (double)suspect->peers_ns / (double)suspect->own_ns : 1.0;

    *done = false;
    if (suspect->kind == INQ_FINDING_LATE_HOST) {
        return repair_hosts(c, suspect, done, err);
    }
    if (suspect->kind == INQ_FINDING_SLOW_LINK) {
        return speed_links(c, suspect, done, err);
    }
    if (suspect->kind == INQ_FINDING_SEQUENCE_IMBALANCE) {
        return even_kernels(c, done, err);
    }
    *done = factor < 1.0 &&
            scale_class(
                c, suspect->kind == INQ_FINDING_EXPOSED_COPY ? INQ_CLASS_COPY : INQ_CLASS_COMPUTE,
                factor);
    return INQ_OK;
}

static int cost_of(struct costs *c, struct inq_suspect *suspect, struct inq_err *err)
{
    bool done = false;
    for (size_t k = 0; k < suspect->n_ranks; k++) {
        c->chosen[suspect->ranks[k]] = true;
    }
    inq_rerun_reset(&c->run);
    int code = take_away(c, suspect, &done, err);
    if (code == INQ_OK && done) {
        suspect->cost_ns_per_step = scaled(suspect->step_ns, inq_rerun_saved(&c->run));
    }
    for (size_t k = 0; k < suspect->n_ranks; k++) {
        c->chosen[suspect->ranks[k]] = false;
    }
    return code;
}

int inq_suspects_cost(const struct inq_inquiry *inquiry, const struct inq_links *links,
                      struct inq_suspect *suspects, size_t n, struct inq_err *err)
{
    struct costs c = {.q = inquiry, .links = links};
    if (n == 0 || inquiry->cells->op_table) {
        return INQ_OK;
    }
    int code = inq_rerun_init(inquiry->trace, inquiry->cells, &c.run, err);
    c.chosen = inq_mem_zalloc(inquiry->trace->n_ranks + 1, sizeof *c.chosen);
    if (code == INQ_OK && c.chosen == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", inquiry->trace->n_ranks);
    }
    for (size_t i = 0; code == INQ_OK && c.run.t_ns > 0 && i < n; i++) {
        code = cost_of(&c, &suspects[i], err);
    }
    inq_mem_free(c.chosen);
    inq_rerun_release(&c.run);
    return code;
}
