/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives once they are matched: their order, and whether their ends say that they were one
 * synchronization. */
#include "base/sort.h"
#include "trace/classify.h"
#include "trace/collectives.h"

#include "base/mem.h"

static int64_t latest_start(const struct inq_trace *trace, const struct inq_collective *c)
{
    int64_t latest = INT64_MIN;
    for (uint32_t i = 0; i < c->n_members; i++) {
        struct inq_member member = trace->members[c->first_member + i];
        int64_t start = trace->ranks[member.rank].events.start_ns[member.event];
        latest = start > latest ? start : latest;
    }
    return latest;
}

static int compare_collectives(const void *a, const void *b, void *ctx)
{
    int64_t x = latest_start(ctx, a);
    int64_t y = latest_start(ctx, b);
    return x < y ? -1 : x > y;
}

int inq_collectives_sort(struct inq_trace *trace, struct inq_err *err)
{
    return inq_sort(trace->collectives, trace->n_collectives, sizeof *trace->collectives,
                    compare_collectives, trace, err);
}

/* What is known of a collective's members: whether they were one synchronization. */
struct ends {
    int64_t first_ns, last_ns; /* ends */
    int64_t last_start_ns, longest_ns;
    int64_t residual_ns[2]; /* of the two clocks that agree least */
};

static struct ends find_ends(const struct inq_trace *trace, const struct inq_collective *c)
{
    struct ends ends = {INT64_MAX, INT64_MIN, INT64_MIN, 0, {0, 0}};
    for (uint32_t j = 0; j < c->n_members; j++) {
        struct inq_member member = trace->members[c->first_member + j];
        const struct inq_events *e = &trace->ranks[member.rank].events;
        int64_t start = e->start_ns[member.event];
        int64_t end = start + e->dur_ns[member.event];
        int64_t residual = trace->ranks[member.rank].clock.residual_ns;
        ends.first_ns = end < ends.first_ns ? end : ends.first_ns;
        ends.last_ns = end > ends.last_ns ? end : ends.last_ns;
        ends.last_start_ns = start > ends.last_start_ns ? start : ends.last_start_ns;
        ends.longest_ns = end - start > ends.longest_ns ? end - start : ends.longest_ns;
        if (residual > ends.residual_ns[0]) {
            ends.residual_ns[1] = ends.residual_ns[0];
            ends.residual_ns[0] = residual;
        } else if (residual > ends.residual_ns[1]) {
            ends.residual_ns[1] = residual;
        }
    }
    return ends;
}

void inq_collectives_check_ends(struct inq_trace *trace)
{
    for (size_t i = 0; i < trace->n_collectives; i++) {
        struct inq_collective *c = &trace->collectives[i];
        struct ends ends = find_ends(trace, c);
        int64_t doubt = INQ_ENDS_RESIDUALS * (ends.residual_ns[0] + ends.residual_ns[1]) +
                        (int64_t)2 * INQ_ENDS_RESOLUTION_NS;
        int64_t part = ends.longest_ns / INQ_ENDS_PART;
        int64_t limit = part > doubt ? part : doubt;
        c->ends_disagree =
            inq_coll_synchronizes(c->kind) &&
            (ends.last_ns - ends.first_ns > limit || ends.first_ns < ends.last_start_ns - doubt);
    }
}

bool inq_step_is_apart(const struct inq_trace *trace, size_t step)
{
    const struct inq_step *s = &trace->steps[step];
    int64_t last_start_ns = INT64_MIN;
    int64_t first_end_ns = INT64_MAX;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (s->rank_start_ns[r] != INQ_TIME_NONE) {
            last_start_ns =
                s->rank_start_ns[r] > last_start_ns ? s->rank_start_ns[r] : last_start_ns;
            first_end_ns = s->rank_end_ns[r] < first_end_ns ? s->rank_end_ns[r] : first_end_ns;
        }
    }
    return trace->n_collectives == 0 && last_start_ns >= first_end_ns;
}

uint8_t **inq_marks_new(const struct inq_trace *trace)
{
    size_t n = 1;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        n += trace->ranks[r].events.n;
    }
    uint8_t **marks = inq_mem_zalloc(trace->n_ranks * sizeof *marks + n, 1);
    uint8_t *next = marks != NULL ? (uint8_t *)(marks + trace->n_ranks) : NULL;
    for (size_t r = 0; marks != NULL && r < trace->n_ranks; r++) {
        marks[r] = next;
        next += trace->ranks[r].events.n;
    }
    return marks;
}
