/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of one matched collective. */
#include "analysis/comm/comm.h"

#include "analysis/measure/measure.h"
#include "base/stats.h"
#include "trace/trace.h"

static int64_t start_of(const struct inq_trace *trace, const struct inq_member *member)
{
    return trace->ranks[member->rank].events.start_ns[member->event];
}

static int64_t end_of(const struct inq_trace *trace, const struct inq_member *member)
{
    const struct inq_events *events = &trace->ranks[member->rank].events;

    return events->start_ns[member->event] + events->dur_ns[member->event];
}

static int64_t max2(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min2(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Arrivals and ends of all members; the first and last arrivers are the lowest ranks of equals. */
static void fill_order(const struct inq_trace *trace, const struct inq_member *members, uint32_t n,
                       struct inq_coll_figures *f)
{
    f->first_rank = f->last_rank = members[0].rank;
    f->first_start_ns = f->last_start_ns = start_of(trace, &members[0]);
    f->first_end_ns = f->last_end_ns = end_of(trace, &members[0]);
    for (uint32_t i = 1; i < n; i++) {
        int64_t start = start_of(trace, &members[i]);
        int64_t end = end_of(trace, &members[i]);
        uint32_t rank = members[i].rank;
        if (start < f->first_start_ns || (start == f->first_start_ns && rank < f->first_rank)) {
            f->first_start_ns = start;
            f->first_rank = rank;
        }
        if (start > f->last_start_ns || (start == f->last_start_ns && rank < f->last_rank)) {
            f->last_start_ns = start;
            f->last_rank = rank;
        }
        f->first_end_ns = min2(f->first_end_ns, end);
        f->last_end_ns = max2(f->last_end_ns, end);
    }
    f->skew_ns = f->last_start_ns - f->first_start_ns;
}

int64_t inq_coll_wait_ns(const struct inq_trace *trace, const struct inq_collective *collective,
                         const struct inq_member *member, int64_t last_start_ns)
{
    int64_t start = start_of(trace, member);

    if (inq_coll_synchronizes(collective->kind)) {
        return last_start_ns - start;
    }
    return max2(0, min2(last_start_ns, end_of(trace, member)) - start);
}

static int64_t raw_spread(const struct inq_trace *trace, const struct inq_member *members,
                          uint32_t n)
{
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;

    for (uint32_t i = 0; i < n; i++) {
        const struct inq_rank *rank = &trace->ranks[members[i].rank];
        int64_t end = inq_reference_raw_ns(rank, start_of(trace, &members[i])) + rank->base_ns +
                      rank->events.dur_ns[members[i].event];
        first = min2(first, end);
        last = max2(last, end);
    }
    return last - first;
}

/* The largest size any member knows of: of an uneven all-to-all it is the one that takes longest.
 */
static int64_t bytes_of(const struct inq_trace *trace, const struct inq_collective *collective,
                        const struct inq_member *members)
{
    int64_t bytes = -1;

    for (uint32_t i = 0; i < collective->n_members; i++) {
        const struct inq_rank *rank = &trace->ranks[members[i].rank];
        uint32_t c = rank->events.comm ? rank->events.comm[members[i].event] : INQ_NONE;
        if (c >= rank->n_comms) {
            continue;
        }
        const struct inq_comm *comm = &rank->comms[c];
        int32_t size = comm->group_size > 0 ? comm->group_size : (int32_t)collective->n_members;
        bytes = max2(bytes, inq_coll_bytes(collective->kind, comm->in_elems, comm->out_elems,
                                           comm->dtype_bytes, size));
    }
    return bytes;
}

/* From the last arrival to the end, the median over members. A kernel of several transfers
 * (batch_isend_irecv) ends with the last of them, so what ends one of its transfers is the member
 * that ends first: the other one has a partner elsewhere that is late or far. */
static int64_t transfer_of(const struct inq_trace *trace, const struct inq_member *members,
                           uint32_t n, const struct inq_coll_figures *f, int64_t *scratch)
{
    bool batched = false;

    for (uint32_t i = 0; i < n; i++) {
        scratch[i] = max2(0, end_of(trace, &members[i]) - f->last_start_ns);
        batched = batched || inq_coll_is_batched(trace, &members[i]);
    }
    return batched ? max2(0, f->first_end_ns - f->last_start_ns) : inq_median_i64(scratch, n);
}

static void fill_algorithm(const struct inq_trace *trace, const struct inq_member *members,
                           uint32_t n, struct inq_coll_figures *f)
{
    for (uint32_t i = 0; i < n && (f->algorithm == 0 || f->channels == 0); i++) {
        const struct inq_rank *rank = &trace->ranks[members[i].rank];
        uint32_t c = rank->events.comm ? rank->events.comm[members[i].event] : INQ_NONE;
        if (c < rank->n_comms) {
            f->algorithm = f->algorithm != 0 ? f->algorithm : rank->comms[c].algorithm;
            f->channels = f->channels > 0 ? f->channels : rank->comms[c].channels;
        }
    }
}

void inq_coll_figures(const struct inq_trace *trace, const struct inq_collective *collective,
                      int64_t *scratch, struct inq_coll_figures *figures)
{
    const struct inq_member *members = &trace->members[collective->first_member];
    uint32_t n = collective->n_members;
    struct inq_coll_figures *f = figures;

    *f = (struct inq_coll_figures){.spread_ns = -1, .raw_spread_ns = -1};
    fill_order(trace, members, n, f);
    for (uint32_t i = 0; i < n; i++) {
        int64_t wait = inq_coll_wait_ns(trace, collective, &members[i], f->last_start_ns);
        if (__builtin_add_overflow(f->wait_ns, wait, &f->wait_ns)) {
            f->wait_ns = INT64_MAX;
        }
    }
    f->transfer_ns = transfer_of(trace, members, n, f, scratch);
    f->bytes = bytes_of(trace, collective, members);
    fill_algorithm(trace, members, n, f);
    if (collective->ends_disagree) {
        f->wait_ns = 0;
    }
    if (collective->complete && n > 1 && inq_coll_synchronizes(collective->kind)) {
        f->spread_ns = f->last_end_ns - f->first_end_ns;
        f->raw_spread_ns = raw_spread(trace, members, n);
    }
}
