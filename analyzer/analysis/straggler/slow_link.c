/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing transfers: rows of (what, among whom, how long), sorted so that the same transfers of
 * different sets of ranks stand together. */
#include "analysis/straggler/slow_link.h"

#include "analysis/comm/comm.h"
#include "analysis/measure/measure.h"
#include "analysis/straggler/straggler.h"
#include "analysis/straggler/candidates.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

struct row {
    uint64_t kin;   /* kind, size and number of ranks */
    uint64_t what;  /* and their spacing */
    uint32_t hosts; /* that these are on */
    uint64_t whom;  /* the ranks */
    uint32_t collective;
    uint32_t step; /* 0 where the capture is one interval */
    int64_t transfer_ns, last_start_ns;
};

/* One set of ranks doing one thing: a run of rows. */
struct series {
    size_t from, to;
    double median_ns, sigma_ns, error_ns; /* sigma of one transfer; standard error of the median */
    double doubt_ns;                      /* by which the clocks may disagree */
};

struct search {
    const struct inq_trace *trace;
    const struct inq_step_stats *cells;
    struct row *rows;
    size_t n_rows;
    struct series *series; /* of one `what`, those on fewer hosts first */
    size_t n_series;
    double *sorted; /* the medians of those that are compared */
    size_t n_sorted;
    double *scratch, *off;
    struct inq_intervals *compute; /* [n_ranks] built when first asked for */
    bool *built;
    bool *slow; /* [n_steps] scratch */
    struct inq_links *links;
    size_t cap_links;
    struct known *known; /* [links] */
    size_t cap_known;
    bool alone; /* now those are asked for that have no like */
};

/* Of a slow link: its ranks, and the kind of transfer that speaks for it. */
struct known {
    uint64_t whom, kin;
};

/* ---- kernels of several transfers ------------------------------------------------------------ */

static uint64_t member_key(const struct inq_member *member)
{
    return (uint64_t)member->rank << 32 | member->event;
}

static int64_t last_start(const struct inq_trace *trace, const struct inq_collective *c)
{
    int64_t last_ns = INT64_MIN;

    for (uint32_t m = 0; m < c->n_members; m++) {
        const struct inq_member *member = &trace->members[c->first_member + m];
        int64_t ns = trace->ranks[member->rank].events.start_ns[member->event];
        last_ns = ns > last_ns ? ns : last_ns;
    }
    return last_ns;
}

/* Of each kernel of a batch, which of its transfers began last. */
static int find_latest(const struct inq_trace *trace, struct inq_map *latest, struct inq_err *err)
{
    int code = INQ_OK;

    for (uint32_t i = 0; i < trace->n_collectives; i++) {
        const struct inq_collective *c = &trace->collectives[i];
        for (uint32_t m = 0; code == INQ_OK && m < c->n_members; m++) {
            const struct inq_member *member = &trace->members[c->first_member + m];
            uint32_t other;
            if (inq_coll_is_batched(trace, member) &&
                (!inq_map_get(latest, member_key(member), &other) ||
                 last_start(trace, c) > last_start(trace, &trace->collectives[other]))) {
                code = inq_map_put(latest, member_key(member), i, err);
            }
        }
    }
    return code;
}

/* How long the transfer itself took. A kernel of a batch waits for all ranks that it exchanges with
 * and ends with the slowest of these transfers: the time from the last of their arrivals on is the
 * most that each can have taken, and of two ends the shorter one is. */
static int64_t own_transfer(const struct search *s, const struct inq_map *latest,
                            const struct inq_collective *c, const struct inq_coll_figures *figures)
{
    const struct inq_trace *trace = s->trace;
    int64_t least_ns = figures->transfer_ns;

    for (uint32_t m = 0; m < c->n_members; m++) {
        const struct inq_member *member = &trace->members[c->first_member + m];
        const struct inq_events *events = &trace->ranks[member->rank].events;
        uint32_t other;
        if (inq_map_get(latest, member_key(member), &other)) {
            int64_t ns = events->start_ns[member->event] + events->dur_ns[member->event] -
                         last_start(trace, &trace->collectives[other]);
            least_ns = ns < least_ns ? ns : least_ns;
        }
    }
    return least_ns > 0 ? least_ns : 0;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static bool all_there(const struct search *s, const struct inq_collective *c)
{
    if (c->n_members < 2 || !c->complete || c->kind == INQ_COLL_UNKNOWN) {
        return false;
    }
    const struct inq_group *group =
        c->group < s->trace->n_groups ? &s->trace->groups[c->group] : NULL;

    return inq_coll_is_p2p(c->kind) || !group || group->size <= 0 ||
           (uint32_t)group->size == c->n_members;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return inq_hash_u64(hash ^ inq_hash_u64(value));
}

/* How many hosts a collective's members are on, each with a clock of its own: a link between hosts
 * is slower than one inside, and compared with its like. */
static uint32_t count_hosts(const struct inq_trace *trace, const struct inq_collective *c,
                            int64_t *scratch)
{
    uint32_t n = 0;

    for (uint32_t m = 0; m < c->n_members; m++) {
        scratch[m] = trace->ranks[trace->members[c->first_member + m].rank].clock.source;
    }
    inq_sort_i64(scratch, c->n_members);
    for (uint32_t m = 0; m < c->n_members; m++) {
        n += m == 0 || scratch[m] != scratch[m - 1];
    }
    return n;
}

static void add_row(struct search *s, uint32_t index, const struct inq_coll_figures *figures,
                    int64_t *scratch)
{
    const struct inq_collective *c = &s->trace->collectives[index];
    int32_t low = INT32_MAX;
    int32_t high = INT32_MIN;
    struct row *row = &s->rows[s->n_rows++];

    *row = (struct row){.collective = index,
                        .step = inq_link_step(s->trace, s->cells, c),
                        .transfer_ns = figures->transfer_ns,
                        .last_start_ns = figures->last_start_ns};
    for (uint32_t m = 0; m < c->n_members; m++) {
        uint32_t r = s->trace->members[c->first_member + m].rank;
        int32_t number = s->trace->ranks[r].rank;
        row->whom += inq_hash_u64(r); /* in whatever order the members are */
        low = number < low ? number : low;
        high = number > high ? number : high;
    }
    row->kin = mix(mix(c->kind, (uint64_t)figures->bytes), c->n_members);
    row->what = mix(row->kin, (uint64_t)((int64_t)high - low));
    row->hosts = count_hosts(s->trace, c, scratch);
}

static int by_what_hosts_whom_and_step(const void *a, const void *b, void *ctx)
{
    const struct row *x = a;
    const struct row *y = b;

    (void)ctx;
    if (x->what != y->what) {
        return x->what < y->what ? -1 : 1;
    }
    if (x->hosts != y->hosts) {
        return x->hosts < y->hosts ? -1 : 1;
    }
    if (x->whom != y->whom) {
        return x->whom < y->whom ? -1 : 1;
    }
    return (x->step > y->step) - (x->step < y->step);
}

static int load_rows(struct search *s, struct inq_err *err)
{
    uint32_t most = 1;
    struct inq_map latest = {0};

    for (size_t i = 0; i < s->trace->n_collectives; i++) {
        uint32_t n = s->trace->collectives[i].n_members;
        most = n > most ? n : most;
    }
    int64_t *scratch = inq_mem_alloc(most * sizeof(*scratch));
    if (!scratch) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a collective of %u members", most);
    }
    int code = find_latest(s->trace, &latest, err);
    for (size_t i = 0; code == INQ_OK && i < s->trace->n_collectives; i++) {
        const struct inq_collective *c = &s->trace->collectives[i];
        struct inq_coll_figures figures;
        if (all_there(s, c) && inq_link_step(s->trace, s->cells, c) != INQ_NONE) {
            inq_coll_figures(s->trace, c, scratch, &figures);
            figures.transfer_ns = own_transfer(s, &latest, c, &figures);
            add_row(s, (uint32_t)i, &figures, scratch);
        }
    }
    inq_map_release(&latest);
    inq_mem_free(scratch);
    return code == INQ_OK ? inq_sort(s->rows, s->n_rows, sizeof(*s->rows),
                                     by_what_hosts_whom_and_step, NULL, err)
                          : code;
}

/* ---- exposure ------------------------------------------------------------------------------ */

static int build_compute(struct search *s, uint32_t r, struct inq_err *err)
{
    const struct inq_events *events = &s->trace->ranks[r].events;
    struct inq_row_merge merge;
    uint32_t row;

    s->built[r] = true;
    int code = inq_row_merge_init(&merge, events, err);
    while (code == INQ_OK && inq_row_merge_next(&merge, &row)) {
        if (inq_row_class(events, row) == INQ_CLASS_COMPUTE) {
            code = inq_intervals_push(&s->compute[r], events->start_ns[row],
                                      events->start_ns[row] + events->dur_ns[row], err);
        }
    }
    inq_row_merge_release(&merge);
    return code;
}

/* Part of [from, to) in which the set has nothing. */
static int64_t uncovered_ns(const struct inq_intervals *set, int64_t from, int64_t to)
{
    size_t low = 0;
    size_t high = set->n;
    int64_t ns = to > from ? to - from : 0;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (set->at[middle].end <= from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < set->n && set->at[low].start < to; low++) {
        int64_t a = set->at[low].start > from ? set->at[low].start : from;
        int64_t b = set->at[low].end < to ? set->at[low].end : to;
        ns -= b > a ? b - a : 0;
    }
    return ns;
}

/* The longest time that a member of the transfer had nothing else to do than to wait for its end.
 */
static int exposed_ns(struct search *s, const struct row *row, int64_t *ns, struct inq_err *err)
{
    const struct inq_collective *c = &s->trace->collectives[row->collective];

    *ns = 0;
    for (uint32_t m = 0; m < c->n_members; m++) {
        const struct inq_member *member = &s->trace->members[c->first_member + m];
        const struct inq_events *events = &s->trace->ranks[member->rank].events;
        int64_t end_ns = events->start_ns[member->event] + events->dur_ns[member->event];
        if (!s->built[member->rank]) {
            int code = build_compute(s, member->rank, err);
            if (code != INQ_OK) {
                return code;
            }
        }
        int64_t own_ns = uncovered_ns(&s->compute[member->rank], row->last_start_ns, end_ns);
        *ns = own_ns > *ns ? own_ns : *ns;
    }
    return INQ_OK;
}

/* ---- comparison ---------------------------------------------------------------------------- */

static double clock_doubt_ns(const struct search *s, const struct row *row)
{
    const struct inq_collective *c = &s->trace->collectives[row->collective];
    int64_t most = 0;

    for (uint32_t m = 0; m < c->n_members; m++) {
        const struct inq_rank *rank = &s->trace->ranks[s->trace->members[c->first_member + m].rank];
        most = rank->clock.residual_ns > most ? rank->clock.residual_ns : most;
    }
    return 3.0 * (double)most;
}

static double error_of_median(double sigma_ns, size_t n)
{
    return 1.2533 * sigma_ns / sqrt((double)n);
}

static struct series describe(struct search *s, size_t from, size_t to)
{
    struct series series = {.from = from, .to = to};
    size_t n = to - from;

    for (size_t i = 0; i < n; i++) {
        s->scratch[i] = (double)s->rows[from + i].transfer_ns;
    }
    series.median_ns = inq_median(s->scratch, n);
    series.sigma_ns = INQ_MAD_SIGMA * inq_mad(s->scratch, n, series.median_ns);
    series.error_ns = error_of_median(series.sigma_ns, n);
    series.doubt_ns = clock_doubt_ns(s, &s->rows[from]);
    return series;
}

/* With s->sorted: where the set's median is among all. */
static size_t place_of(const struct search *s, size_t which)
{
    size_t low = 0;
    size_t high = s->n_sorted;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->sorted[middle] < s->series[which].median_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* How far the medians lie from `middle_ns`, the one at `place` left out. */
static double spread_of_others(struct search *s, size_t place, double middle_ns)
{
    size_t n = s->n_sorted - 1;

    if (n < INQ_LINK_FEW_SETS) {
        return 0.0;
    }
    memcpy(s->scratch, s->sorted, place * sizeof(*s->scratch));
    memcpy(s->scratch + place, s->sorted + place + 1, (n - place) * sizeof(*s->scratch));
    return 1.4826 * inq_mad(s->scratch, n, middle_ns);
}

/* What the others' transfers take, and how much the sets differ. */
struct usual {
    double peers_ns, spread_ns;
    double sigma_ns; /* of one transfer, of the middle set */
    double least;    /* times as long that a slow one takes at least */
};

/* The median of the other sets' medians: of an even number the lower middle, of two the faster, not
 * half a slow one. A job has a set of ranks for every stage and replica, so that no set may look at
 * all others. */
static double usual_of(const struct search *s, size_t place)
{
    size_t middle = (s->n_sorted - 2) / 2;

    return s->sorted[middle >= place ? middle + 1 : middle];
}

static bool is_longer(const struct series *own, double ns, const struct usual *usual)
{
    return usual->peers_ns > 0.0 && ns >= usual->least * usual->peers_ns &&
           ns - usual->peers_ns > own->doubt_ns;
}

/* Their spread is wanted of the few sets only that may be slow without it. */
static double longest_of(const struct search *s, const struct series *own)
{
    int64_t most_ns = 0;

    for (size_t i = own->from; i < own->to; i++) {
        most_ns = s->rows[i].transfer_ns > most_ns ? s->rows[i].transfer_ns : most_ns;
    }
    return (double)most_ns;
}

/* Whether the transfers of a series are slow on the whole. */
static bool is_steadily_slow(const struct series *own, const struct usual *usual)
{
    double noise_ns = hypot(own->error_ns, usual->spread_ns);

    return is_longer(own, own->median_ns, usual) && own->to - own->from >= 2 &&
           own->median_ns - usual->peers_ns >= INQ_STRAGGLER_SIGMAS * noise_ns;
}

/* Median of the rows [from, to) and their number; they are of one step. */
static double median_of_step(struct search *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        s->scratch[i - from] = (double)s->rows[i].transfer_ns;
    }
    return inq_median(s->scratch, to - from);
}

/* End of the rows that are in the step of row `from`. */
static size_t end_of_step(const struct search *s, const struct series *own, size_t from)
{
    size_t end = from;

    while (end < own->to && s->rows[end].step == s->rows[from].step) {
        end++;
    }
    return end;
}

/* Sigma of one transfer within its step: what it is slow by in whole steps does not count. Not less
 * than is usual, for a step may have a single one. */
static double sigma_in_steps(struct search *s, const struct series *own, const struct usual *usual)
{
    size_t n = 0;

    for (size_t i = own->from; i < own->to;) {
        size_t end = end_of_step(s, own, i);
        double middle = median_of_step(s, i, end);
        for (size_t k = i; end - i > 1 && k < end; k++) {
            s->off[n++] = fabs((double)s->rows[k].transfer_ns - middle);
        }
        i = end;
    }
    return fmax(usual->sigma_ns, n > 0 ? INQ_MAD_SIGMA * inq_median(s->off, n) : 0.0);
}

/* Marks the steps in which the transfers of a series are slow; returns how many transfers are in
 * these. `steady`: they are slow on the whole, and chance is no longer the question. */
static size_t mark_steps(struct search *s, const struct series *own, const struct usual *usual,
                         bool steady)
{
    struct usual in_step = *usual;
    size_t n = 0;

    in_step.least = steady ? usual->least : INQ_LINK_RATIO_FEW;
    double sigma_ns = steady ? 0.0 : sigma_in_steps(s, own, usual);
    memset(s->slow, 0, s->cells->n_steps * sizeof(*s->slow));
    for (size_t i = own->from; i < own->to;) {
        size_t end = end_of_step(s, own, i);
        double ns = median_of_step(s, i, end);
        double noise_ns = hypot(error_of_median(sigma_ns, end - i), usual->spread_ns);
        bool slow = is_longer(own, ns, &in_step) &&
                    (steady || ns - usual->peers_ns >= INQ_STRAGGLER_SIGMAS * noise_ns);
        s->slow[s->rows[i].step] = slow;
        n += slow ? end - i : 0;
        i = end;
    }
    return n;
}

/* The entry of a set of ranks. */
static struct inq_link *link_of(struct search *s, const struct row *row, struct inq_err *err)
{
    struct inq_links *links = s->links;

    for (size_t i = 0; i < links->n; i++) {
        if (s->known[i].whom == row->whom) {
            return &links->at[i];
        }
    }
    if (inq_mem_grow(&links->at, &s->cap_links, links->n + 1, sizeof(*links->at), INT32_MAX, err) ||
        inq_mem_grow(&s->known, &s->cap_known, links->n + 1, sizeof(*s->known), INT32_MAX, err)) {
        return NULL;
    }
    s->known[links->n] = (struct known){row->whom, row->kin};
    links->at[links->n] = (struct inq_link){.first_collective = row->collective,
                                            .group = s->trace->collectives[row->collective].group};
    links->at[links->n].slow = inq_mem_zalloc(s->cells->n_steps + 1, sizeof(bool));
    links->at[links->n].usual = inq_mem_zalloc(s->cells->n_steps + 1, sizeof(bool));
    if (!links->at[links->n].slow || !links->at[links->n].usual) {
        inq_mem_free(links->at[links->n].slow);
        inq_mem_free(links->at[links->n].usual);
        (void)inq_err_set(err, INQ_NOMEM, "no memory for a link");
        return NULL;
    }
    return &links->at[links->n++];
}

/* Median of the series' transfers in the steps in which they are slow. */
static double median_when_slow(struct search *s, const struct series *series)
{
    size_t n = 0;

    for (size_t i = series->from; i < series->to; i++) {
        if (s->slow[s->rows[i].step]) {
            s->scratch[n++] = (double)s->rows[i].transfer_ns;
        }
    }
    return inq_median(s->scratch, n);
}

/* Adds a series that is slow in the steps of s->slow. */
static int add_slow(struct search *s, const struct series *series, double peers_ns,
                    struct inq_err *err)
{
    struct inq_link *link = link_of(s, &s->rows[series->from], err);
    double cost_ns = 0.0;
    int64_t worst_ns = -1;

    if (!link) {
        return INQ_NOMEM;
    }
    bool fresh = link->count == 0;
    for (size_t i = series->from; i < series->to; i++) {
        const struct row *row = &s->rows[i];
        int64_t bare_ns;
        link->usual[row->step] = link->usual[row->step] || !s->slow[row->step];
        if (!s->slow[row->step]) {
            continue;
        }
        int code = exposed_ns(s, row, &bare_ns, err);
        if (code != INQ_OK) {
            return code;
        }
        double more_ns = (double)row->transfer_ns - peers_ns;
        cost_ns += fmax(0.0, fmin(more_ns, (double)bare_ns));
        link->count++;
        link->steps_slow += !link->slow[row->step];
        link->slow[row->step] = true;
        if (row->transfer_ns > worst_ns) {
            worst_ns = row->transfer_ns;
            link->worst_start_ns = row->last_start_ns;
            link->worst_end_ns = row->last_start_ns + worst_ns;
        }
    }
    cost_ns /= (double)(s->cells->n_steps - s->cells->first_step);
    if (fresh || cost_ns > link->cost_ns) { /* the kind that loses most speaks for the link */
        link->coll = s->trace->collectives[s->rows[series->from].collective].kind;
        link->own_ns = median_when_slow(s, series);
        link->peers_ns = peers_ns;
        link->ratio = link->own_ns / peers_ns;
        s->known[link - s->links->at].kin = s->rows[series->from].kin;
    }
    link->cost_ns += cost_ns;
    return INQ_OK;
}

/* Compares series[k] with the others that s->sorted has the medians of. */
static int compare_series(struct search *s, size_t k, double sigma_ns, struct inq_err *err)
{
    const struct series *own = &s->series[k];
    size_t place = place_of(s, k);
    struct usual usual = {.peers_ns = usual_of(s, place),
                          .sigma_ns = sigma_ns,
                          .least = s->n_sorted > INQ_LINK_FEW_SETS ? INQ_LINK_RATIO
                                                                   : INQ_LINK_RATIO_FEW};
    if (!is_longer(own, longest_of(s, own), &usual)) {
        return INQ_OK;
    }
    usual.spread_ns = spread_of_others(s, place, usual.peers_ns);
    if (mark_steps(s, own, &usual, is_steadily_slow(own, &usual)) < 2) {
        return INQ_OK;
    }
    return add_slow(s, own, usual.peers_ns, err);
}

static bool meet(const struct inq_trace *trace, uint32_t x, uint32_t y)
{
    const struct inq_collective *a = &trace->collectives[x];
    const struct inq_collective *b = &trace->collectives[y];

    for (uint32_t i = 0; i < a->n_members; i++) {
        for (uint32_t k = 0; k < b->n_members; k++) {
            if (trace->members[a->first_member + i].rank ==
                trace->members[b->first_member + k].rank) {
                return true;
            }
        }
    }
    return false;
}

/* A set without its like (the only link of a job between two hosts) may be slow by its nature. But
 * where one of its ranks has a slow link and the same transfers take as long on both, that rank is
 * what slows them: as long is what a quarter does not part. */
static int compare_alone(struct search *s, size_t k, struct inq_err *err)
{
    const struct series *own = &s->series[k];
    const struct row *row = &s->rows[own->from];

    for (size_t i = 0; i < s->links->n; i++) {
        const struct inq_link *link = &s->links->at[i];
        struct usual usual = {.peers_ns = link->peers_ns, .least = INQ_LINK_RATIO_FEW};
        bool as_long = own->median_ns < INQ_LINK_RATIO_FEW * link->own_ns &&
                       link->own_ns < INQ_LINK_RATIO_FEW * own->median_ns;
        if (as_long && s->known[i].kin == row->kin && s->known[i].whom != row->whom &&
            meet(s->trace, link->first_collective, row->collective) &&
            is_steadily_slow(own, &usual) && mark_steps(s, own, &usual, true) >= 2) {
            return add_slow(s, own, usual.peers_ns, err);
        }
    }
    return INQ_OK;
}

static const struct inq_collective *first_of(const struct search *s, size_t k)
{
    return &s->trace->collectives[s->rows[s->series[k].from].collective];
}

/* Whether a host is in all series of [from, to) that take `least_ns` and in no other. */
static bool is_host_of(const struct search *s, size_t from, size_t to, double least_ns,
                       uint32_t host)
{
    bool is = true;

    for (size_t k = from; is && k < to; k++) {
        is = (inq_link_on_host(s->trace, first_of(s, k), host) > 0) ==
             (s->series[k].median_ns >= least_ns);
    }
    return is;
}

/* Whether there is one such host, not two of which either could be it. */
static bool has_host_of(const struct search *s, size_t from, size_t to, double least_ns)
{
    const struct inq_trace *trace = s->trace;
    size_t k = from;
    uint32_t found = 0;
    bool any = false;
    bool one = true;

    while (s->series[k].median_ns < least_ns) {
        k++;
    }
    const struct inq_collective *c = first_of(s, k);
    for (uint32_t m = 0; m < c->n_members; m++) {
        uint32_t host = trace->ranks[trace->members[c->first_member + m].rank].clock.source;
        if ((!any || host != found) && is_host_of(s, from, to, least_ns, host)) {
            one = !any;
            any = true;
            found = host;
        }
    }
    return any && one;
}

/* A host that is slow may be in most of the sets, as one of four in a row is in two of the three
 * links between them: what is usual is slow then. Where less than half are faster by what parts two
 * sets, and just those are not on one host, all are compared with these only. */
static void leave_out_slow_host(struct search *s, size_t from, size_t to)
{
    size_t n = to - from;
    size_t fast = 1;

    while (fast < n / 2 && s->sorted[fast] < INQ_LINK_RATIO_FEW * s->sorted[fast - 1]) {
        fast++;
    }
    if (fast >= 2 && fast < n / 2 && has_host_of(s, from, to, s->sorted[fast])) {
        s->sorted[fast] = (double)INFINITY; /* the place of those that are slow */
        s->n_sorted = fast + 1;
    }
}

/* Compares series [from, to), on equally many hosts, with each other. One alone is compared with
 * those on more hosts, up to `end`: it should not be slower than these. */
static int compare_like(struct search *s, size_t from, size_t to, size_t end, struct inq_err *err)
{
    int code = INQ_OK;

    s->n_sorted = (to - from > 1 ? to : end) - from;
    if (s->n_sorted < 2 || s->alone) {
        return s->n_sorted < 2 && s->alone ? compare_alone(s, from, err) : INQ_OK;
    }
    s->links->compared += to - from;
    for (size_t k = 0; k < s->n_sorted; k++) {
        s->scratch[k] = s->series[from + k].sigma_ns;
        s->sorted[k] = s->series[from + k].median_ns;
    }
    double sigma_ns = inq_median(s->scratch, s->n_sorted);
    inq_sort_double(s->sorted, s->n_sorted);
    if (to - from > 1) {
        leave_out_slow_host(s, from, to);
    }
    for (size_t k = from; code == INQ_OK && k < to; k++) {
        code = compare_series(s, k, sigma_ns, err);
    }
    return code;
}

/* Compares the sets of ranks that do the same thing: rows [from, to). */
static int compare_sets(struct search *s, size_t from, size_t to, struct inq_err *err)
{
    int code = INQ_OK;

    s->n_series = 0;
    for (size_t i = from; i < to;) {
        size_t end = i;
        while (end < to && s->rows[end].whom == s->rows[i].whom) {
            end++;
        }
        s->series[s->n_series++] = describe(s, i, end);
        i = end;
    }
    for (size_t k = 0; code == INQ_OK && k < s->n_series;) {
        size_t end = k;
        while (end < s->n_series &&
               s->rows[s->series[end].from].hosts == s->rows[s->series[k].from].hosts) {
            end++;
        }
        code = compare_like(s, k, end, s->n_series, err);
        k = end;
    }
    return code;
}

static int compare_all(struct search *s, struct inq_err *err)
{
    int code = INQ_OK;

    for (size_t i = 0; code == INQ_OK && i < s->n_rows;) {
        size_t end = i;
        while (end < s->n_rows && s->rows[end].what == s->rows[i].what) {
            end++;
        }
        code = compare_sets(s, i, end, err);
        i = end;
    }
    return code;
}

static int costliest_first(const void *a, const void *b, void *ctx)
{
    const struct inq_link *x = a;
    const struct inq_link *y = b;

    (void)ctx;
    if (x->cost_ns < y->cost_ns || x->cost_ns > y->cost_ns) {
        return x->cost_ns > y->cost_ns ? -1 : 1;
    }
    return x->first_collective < y->first_collective ? -1
                                                     : x->first_collective > y->first_collective;
}

static int search_init(struct search *s, struct inq_err *err)
{
    size_t n = s->trace->n_collectives;

    s->rows = inq_mem_alloc((n + 1) * sizeof(*s->rows));
    s->series = inq_mem_alloc((n + 1) * sizeof(*s->series));
    s->scratch = inq_mem_alloc((n + 1) * sizeof(*s->scratch));
    s->off = inq_mem_alloc((n + 1) * sizeof(*s->off));
    s->sorted = inq_mem_alloc((n + 1) * sizeof(*s->sorted));
    s->compute = inq_mem_zalloc(s->trace->n_ranks + 1, sizeof(*s->compute));
    s->built = inq_mem_zalloc(s->trace->n_ranks + 1, sizeof(*s->built));
    s->slow = inq_mem_zalloc(s->cells->n_steps + 1, sizeof(*s->slow));
    if (!s->slow || !s->off || !s->rows || !s->series || !s->sorted || !s->scratch || !s->compute ||
        !s->built) {
        return inq_err_set(err, INQ_NOMEM, "no memory to compare %zu transfers", n);
    }
    return INQ_OK;
}

static void search_release(struct search *s)
{
    for (size_t r = 0; s->compute && r < s->trace->n_ranks; r++) {
        inq_intervals_release(&s->compute[r]);
    }
    inq_mem_free(s->compute);
    inq_mem_free(s->built);
    inq_mem_free(s->slow);
    inq_mem_free(s->rows);
    inq_mem_free(s->series);
    inq_mem_free(s->sorted);
    inq_mem_free(s->scratch);
    inq_mem_free(s->off);
    inq_mem_free(s->known);
}

int inq_links_find(const struct inq_trace *trace, const struct inq_step_stats *cells,
                   struct inq_links *links, struct inq_err *err)
{
    struct search s = {.trace = trace, .cells = cells, .links = links};

    *links = (struct inq_links){0};
    int code = search_init(&s, err);
    if (code == INQ_OK) {
        code = load_rows(&s, err);
    }
    for (int pass = 0; code == INQ_OK && pass < 2; pass++) {
        s.alone = pass == 1;
        code = compare_all(&s, err);
    }
    if (code == INQ_OK) {
        code = inq_sort(links->at, links->n, sizeof(*links->at), costliest_first, NULL, err);
    }
    search_release(&s);
    return code;
}
