/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes longer than its peers. In a synchronous job all ranks' steps are equally long: who
 * takes more time of its own waits less for the others, who wait for it. So the comparison needs no
 * common clock, and a rank that is late only because it waited for somebody else has no excess of
 * its own: the delay is attributed to the root. */
#include "analysis/straggler/delays.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

/* Two parts of a role's ranks are apart when the gap between them is so many times what the ranks
 * of the lower part differ by. */
#define SPLIT_APART 2.0
/* Times that the usual is found again without the outliers found so far. */
enum { MOST_ROUNDS = 4 };

/* Beside a pause, what is this part of it is the noise of a step without one. */
#define NOISE_PART 0.1

enum part { OWN, WAIT, COMPUTE, COPY, IDLE, LAUNCH, PARTS };

/* One role's ranks in one step. */
struct sheet {
    size_t n;
    uint32_t *member; /* [n] place in the role's list of ranks */
    int64_t *ns;      /* [n] value */
    uint32_t *order;  /* [n] by value */
    int64_t *peers;   /* values of those not set aside, ascending */
    size_t n_peers;
    int64_t middle_ns; /* their median */
    double *share;     /* [n] of the cost of being last */
    double *wait_gap;  /* [n] how much less it waits than the others */
};

struct role {
    size_t n;
    uint32_t *ranks;
    size_t *steps; /* [n] judged steps of each */
    double *sum[PARTS], *peers[PARTS];
    double *cost, *length, *late; /* late: excess in the steps seen */
    double *excess;    /* [n * steps] own time over the others' median; NaN: not judged */
    double *compute;   /* [n * steps] the same of compute */
    double *idle;      /* [n * steps] idle time; NaN: not judged */
    double *idle_late; /* [n * steps] the same over the others' median */
    double *launch;    /* [n * steps] time of launches over the others' median; NaN: not judged */
    size_t *seen;
    size_t judged; /* steps in which enough ranks could be compared */
};

struct context {
    const struct inq_step_stats *cells;
    const struct inq_silences *silences;
    struct sheet sheet;
    const bool *aside; /* [n_ranks] not to be compared with */
    double *scratch;
    double min_cost_ns;
    double *deviations; /* of all roles so far, and room for as many */
    size_t n_deviations, most_steps;
    double freedom; /* degrees of it behind them */
};

static int64_t part_of(const struct context *ctx, const struct inq_step_stat *cell, enum part part)
{
    const struct inq_step_stats *cells = ctx->cells;

    switch (part) {
    case OWN:
        return inq_step_stat_own_ns(cells, cell);
    case WAIT:
        return inq_step_stat_wait_ns(cells, cell);
    case COMPUTE:
        return cell->compute_ns;
    case COPY:
        return cell->copy_ns;
    case IDLE:
        return inq_step_stat_idle_ns(cells, cell);
    case LAUNCH:
        return ctx->silences->pace_ns[cell - cells->at];
    case PARTS:
        break;
    }
    return 0;
}

/* Median of the others that are not set aside; `own`: the value at hand, `aside`: it is. */
static int64_t median_of_others(const struct sheet *sheet, int64_t own, bool aside)
{
    size_t n = sheet->n_peers;
    return aside ? sheet->middle_ns : inq_median_of_others_i64(sheet->peers, n, own);
}

static void list_values(const struct context *ctx, const struct role *role, struct sheet *sheet,
                        bool all)
{
    sheet->n_peers = 0;
    for (size_t place = 0; place < sheet->n; place++) {
        size_t k = sheet->order[place];
        if (all || !ctx->aside[role->ranks[sheet->member[k]]]) {
            sheet->peers[sheet->n_peers++] = sheet->ns[k];
        }
    }
}

/* Values of the ranks to compare with, ascending; of all when none is left. The last one that is
 * left is what is usual for the others, and is itself compared with these. */
static void list_peers(const struct context *ctx, const struct role *role, struct sheet *sheet,
                       bool *all)
{
    list_values(ctx, role, sheet, false);
    *all = sheet->n_peers == 0;
    if (*all) {
        list_values(ctx, role, sheet, true);
    }
    sheet->middle_ns = inq_median_of_sorted_i64(sheet->peers, sheet->n_peers);
    if (sheet->n_peers == 1) {
        list_values(ctx, role, sheet, true);
    }
}

/* Splits what the last rank costs the median one: the time between two neighbors in the order is
 * the fault of all who come after it, in equal parts. */
static void split_cost(struct sheet *sheet)
{
    double share = 0.0;

    for (size_t k = 0; k < sheet->n; k++) {
        if (k > (sheet->n - 1) / 2) {
            int64_t gap_ns = sheet->ns[sheet->order[k]] - sheet->ns[sheet->order[k - 1]];
            share += (double)gap_ns / (double)(sheet->n - k);
        }
        sheet->share[sheet->order[k]] = share;
    }
}

static int load_sheet(struct context *ctx, const struct role *role, size_t step, enum part part,
                      struct inq_err *err)
{
    struct sheet *sheet = &ctx->sheet;

    sheet->n = 0;
    for (size_t i = 0; i < role->n; i++) {
        const struct inq_step_stat *cell = inq_step_stat_at(ctx->cells, role->ranks[i], step);
        if (cell->valid) {
            sheet->member[sheet->n] = (uint32_t)i;
            sheet->ns[sheet->n++] = part_of(ctx, cell, part);
        }
    }
    return inq_sort_order_i64(sheet->ns, sheet->n, sheet->order, err);
}

static void add_part(struct context *ctx, struct role *role, size_t step, enum part part)
{
    struct sheet *sheet = &ctx->sheet;
    bool all;

    list_peers(ctx, role, sheet, &all);
    for (size_t k = 0; k < sheet->n; k++) {
        size_t i = sheet->member[k];
        bool aside = !all && ctx->aside[role->ranks[i]];
        int64_t others_ns = median_of_others(sheet, sheet->ns[k], aside);
        role->sum[part][i] += (double)sheet->ns[k];
        role->peers[part][i] += (double)others_ns;
        if (part == OWN) {
            role->excess[i * ctx->cells->n_steps + step] = (double)(sheet->ns[k] - others_ns);
        } else if (part == COMPUTE) {
            role->compute[i * ctx->cells->n_steps + step] = (double)(sheet->ns[k] - others_ns);
        } else if (part == IDLE) {
            role->idle[i * ctx->cells->n_steps + step] = (double)sheet->ns[k];
            role->idle_late[i * ctx->cells->n_steps + step] = (double)(sheet->ns[k] - others_ns);
        } else if (part == LAUNCH) {
            role->launch[i * ctx->cells->n_steps + step] = (double)(sheet->ns[k] - others_ns);
        } else if (part == WAIT) {
            sheet->wait_gap[k] = (double)(others_ns - sheet->ns[k]);
        }
    }
}

/* The cost of a rank in a step is its share of what being last costs, but no more than the others
 * wait longer than it does. */
static void add_costs(struct context *ctx, struct role *role, size_t step)
{
    struct sheet *sheet = &ctx->sheet;

    for (size_t k = 0; k < sheet->n; k++) {
        size_t i = sheet->member[k];
        const struct inq_step_stat *cell = inq_step_stat_at(ctx->cells, role->ranks[i], step);
        double cost_ns = fmax(0.0, fmin(sheet->share[k], sheet->wait_gap[k]));
        role->cost[i] += cost_ns;
        if (cost_ns >= ctx->min_cost_ns) {
            role->seen[i]++;
            role->late[i] += role->excess[i * ctx->cells->n_steps + step];
        }
        role->length[i] += (double)(cell->end_ns - cell->start_ns);
        role->steps[i]++;
    }
}

static int compare_in_step(struct context *ctx, struct role *role, size_t step, double *waste_ns,
                           struct inq_err *err)
{
    struct sheet *sheet = &ctx->sheet;

    for (int part = 0; part < PARTS; part++) {
        int code = load_sheet(ctx, role, step, (enum part)part, err);
        if (code != INQ_OK) {
            return code;
        }
        if (sheet->n < 2 || 2 * sheet->n < role->n) {
            return INQ_OK; /* too few to compare with */
        }
        if (part == OWN) {
            split_cost(sheet);
            int64_t last_ns = sheet->ns[sheet->order[sheet->n - 1]];
            size_t middle = (sheet->n - 1) / 2;
            *waste_ns += (double)(last_ns - sheet->ns[sheet->order[middle]]);
        }
        add_part(ctx, role, step, (enum part)part);
    }
    add_costs(ctx, role, step);
    role->judged++;
    return INQ_OK;
}

/* MAD to sigma for normal noise: 1.4826, times what a small sample lacks (Croux and Rousseeuw). */
static double mad_factor(size_t n)
{
    static const double small[] = {1.0,   1.0,   1.196, 1.495, 1.363,
                                   1.206, 1.200, 1.140, 1.129, 1.107};
    double factor = n < sizeof(small) / sizeof(small[0]) ? small[n] : (double)n / ((double)n - 0.8);

    return 1.4826 * factor;
}

/* Sigma of one step's excess: how far each rank's steps lie from its own median, over all ranks of
 * the role. Steady faults do not count, and rare ones do not sway a median. `deviations`: room for
 * them; *n: how many there are. */
static double excess_sigma(struct context *ctx, const struct role *role, const double *excess_of,
                           double *deviations, size_t *n)
{
    size_t n_steps = ctx->cells->n_steps;
    size_t most = 0;

    *n = 0;
    for (size_t i = 0; i < role->n; i++) {
        const double *excess = &excess_of[i * n_steps];
        size_t k = 0;
        for (size_t s = 0; s < n_steps; s++) {
            if (!isnan(excess[s])) {
                ctx->scratch[k++] = excess[s];
            }
        }
        double middle = inq_median(ctx->scratch, k);
        for (size_t j = 0; j < k; j++) {
            deviations[(*n)++] = fabs(ctx->scratch[j] - middle);
        }
        most = k > most ? k : most;
    }
    ctx->most_steps = most > ctx->most_steps ? most : ctx->most_steps;
    memcpy(ctx->scratch, deviations, *n * sizeof(*deviations));
    return *n > 0 ? mad_factor(ctx->most_steps) * inq_median(ctx->scratch, *n) : 0.0;
}

/* Of own time; the deviations stay in ctx->deviations for the sigma over all roles. */
static double own_sigma(struct context *ctx, const struct role *role)
{
    size_t n = 0;
    double sigma_ns =
        excess_sigma(ctx, role, role->excess, &ctx->deviations[ctx->n_deviations], &n);

    ctx->n_deviations += n;
    return sigma_ns;
}

/* How much the steadier of two ranks varies from step to step in what it computes; infinity: there
 * are too few steps. */
static double steadier_sigma(struct context *ctx, const struct role *role)
{
    enum { LEAST_STEPS = 5 };
    size_t n_steps = ctx->cells->n_steps;
    double least_ns = (double)INFINITY;

    for (size_t i = 0; i < role->n; i++) {
        size_t n = 0;
        for (size_t s = 0; s < n_steps; s++) {
            const struct inq_step_stat *cell = inq_step_stat_at(ctx->cells, role->ranks[i], s);
            if (!isnan(role->compute[i * n_steps + s])) {
                ctx->scratch[n++] = (double)cell->compute_ns;
            }
        }
        double middle = n > 0 ? inq_median(ctx->scratch, n) : 0.0;
        double sigma_ns =
            n >= LEAST_STEPS ? mad_factor(n) * inq_mad(ctx->scratch, n, middle) : (double)INFINITY;
        least_ns = fmin(least_ns, sigma_ns);
    }
    return least_ns;
}

/* Of compute: what hosts do now and then is not in it. The differences of two ranks mirror each
 * other: one that slows down in every second step, or more and more, would make both noisy. There
 * it is what the steadier one varies by, twice. */
static double compute_sigma(struct context *ctx, const struct role *role)
{
    size_t n = 0; /* behind the deviations that stay */
    double own_ns = excess_sigma(ctx, role, role->compute, &ctx->deviations[ctx->n_deviations], &n);

    return role->n == 2 ? fmin(own_ns, sqrt(2.0) * steadier_sigma(ctx, role)) : own_ns;
}

/* Sigma of idle time, the lesser of two, which what hosts lose does not make smaller: over all
 * steps of all ranks, so that what some of them lose now and then does not count even between two
 * ranks, whose differences mirror each other; and around each rank's own median, so that a host
 * that is late in all steps does not count. */
static double idle_sigma(struct context *ctx, const struct role *role)
{
    size_t n = 0; /* behind the deviations that stay */
    double own_ns = excess_sigma(ctx, role, role->idle, &ctx->deviations[ctx->n_deviations], &n);

    n = 0;
    for (size_t i = 0; i < role->n * ctx->cells->n_steps; i++) {
        if (!isnan(role->idle[i])) {
            ctx->scratch[n++] = role->idle[i];
        }
    }
    double middle = n > 0 ? inq_median(ctx->scratch, n) : 0.0;
    return n > 0 ? fmin(own_ns, mad_factor(n) * inq_mad(ctx->scratch, n, middle)) : 0.0;
}

/* Of launches: around each rank's own median, as of own time. */
static double launch_sigma(struct context *ctx, const struct role *role)
{
    size_t n = 0; /* behind the deviations that stay */
    return excess_sigma(ctx, role, role->launch, &ctx->deviations[ctx->n_deviations], &n);
}

/* What an excess must reach. Chips differ by a part of what they compute, not of the step: a rank
 * that computes for a third of it, as in a pipeline of few micro-batches, tells a slow GPU by less
 * of the step. What hosts differ by has no such measure. */
static double least_excess(const struct inq_delay *delay, enum part part, size_t compared)
{
    double least_ns = inq_straggler_min_share(compared, delay->steps) * delay->step_ns;
    double usual_ns = part == OWN ? delay->peers_own_ns : delay->peers_compute_ns;

    bool of_host = part == IDLE || part == LAUNCH;
    if (delay->steps < 2 || compared > INQ_STRAGGLER_FEW_RANKS || of_host) {
        return least_ns;
    }
    return fmin(least_ns,
                fmax(INQ_STRAGGLER_COST_SHARE * delay->step_ns, INQ_STRAGGLER_COST_FEW * usual_ns));
}

static void set_means(struct inq_delay *delay, const struct role *role, size_t i)
{
    double n = (double)role->steps[i];

    delay->own_ns = role->sum[OWN][i] / n;
    delay->peers_own_ns = role->peers[OWN][i] / n;
    delay->own.ns = delay->own_ns - delay->peers_own_ns;
    delay->peers_compute_ns = role->peers[COMPUTE][i] / n;
    delay->peers_copy_ns = role->peers[COPY][i] / n;
    delay->peers_idle_ns = role->peers[IDLE][i] / n;
    delay->idle.ns = role->sum[IDLE][i] / n - delay->peers_idle_ns;
    delay->compute.ns = role->sum[COMPUTE][i] / n - delay->peers_compute_ns;
    delay->copy_ns = role->sum[COPY][i] / n - delay->peers_copy_ns;
    delay->peers_launch_ns = role->peers[LAUNCH][i] / n;
    delay->launch.ns = role->sum[LAUNCH][i] / n - delay->peers_launch_ns;
    delay->cost_ns = role->cost[i] / n;
    delay->step_ns = role->length[i] / n;
    delay->steps = role->steps[i];
    delay->seen = role->seen[i];
    delay->late_ns = delay->seen > 0 ? role->late[i] / (double)delay->seen : delay->own.ns;
}

/* In which steps the rank is idle for longer than the others, and how much in those. */
static void set_idle_late(struct inq_delay *delay, const double *late_ns, size_t n_steps,
                          double least_ns)
{
    double sum_ns = 0.0;
    for (size_t s = 0; s < n_steps; s++) {
        least_ns = isnan(late_ns[s]) ? least_ns : fmax(least_ns, NOISE_PART * late_ns[s]);
    }
    for (size_t s = 0; s < n_steps; s++) {
        bool seen = !isnan(late_ns[s]) && late_ns[s] >= least_ns;
        sum_ns += seen ? late_ns[s] : 0.0;
        delay->idle_seen += seen;
    }
    delay->idle_late_ns = delay->idle_seen > 0 ? sum_ns / (double)delay->idle_seen : delay->idle.ns;
}

static struct inq_excess *excess_of(struct inq_delay *delay, enum part part)
{
    return part == IDLE      ? &delay->idle
           : part == COMPUTE ? &delay->compute
           : part == LAUNCH  ? &delay->launch
                             : &delay->own;
}

/* How much ranks of the role differ lastingly: what an outlier among them must exceed. */
static double spread_limit(struct inq_delay *first, size_t n, enum part part, const bool *aside,
                           double *scratch)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (!aside[first[i].rank]) {
            scratch[kept++] = excess_of(&first[i], part)->ns;
        }
    }
    double middle = kept > 0 ? inq_median(scratch, kept) : 0.0;
    return middle + INQ_STRAGGLER_SIGMAS * mad_factor(kept) * inq_mad(scratch, kept, middle);
}

/* A spread estimated from a handful of ranks, the outlier among them, is hardly worth the name:
 * there it is enough to be several times further off than any other rank. */
static double set_apart(struct inq_delay *first, size_t n, enum part part, const bool *aside,
                        size_t which)
{
    double most_ns = 0.0;

    for (size_t i = 0; i < n; i++) {
        most_ns = i != which && !aside[first[i].rank]
                      ? fmax(most_ns, fabs(excess_of(&first[i], part)->ns))
                      : most_ns;
    }
    return INQ_STRAGGLER_APART * most_ns;
}

/* How much ranks of small roles differ lastingly, over all these roles: enough of them tell a fault
 * from how chips differ though no role has enough ranks by itself. Infinite: there are too few.
 * Many faults at once raise it: it makes a smaller one count, and never hides a larger one. */
static double pooled_spread(struct context *ctx, struct inq_delays *delays, enum part part)
{
    size_t n = 0;

    for (size_t i = 0; i < delays->n; i++) {
        bool few = delays->at[i].peers + 1 <= INQ_STRAGGLER_HANDFUL;
        if (few && !ctx->aside[delays->at[i].rank]) {
            ctx->scratch[n++] = excess_of(&delays->at[i], part)->ns;
        }
    }
    return n > INQ_STRAGGLER_HANDFUL
               ? INQ_STRAGGLER_SIGMAS * mad_factor(n) * inq_mad(ctx->scratch, n, 0.0)
               : (double)INFINITY;
}

static void set_spreads(struct inq_delay *first, size_t n, enum part part, const bool *aside,
                        double *scratch)
{
    double limit_ns = spread_limit(first, n, part, aside, scratch);
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        kept += !aside[first[i].rank];
    }
    for (size_t i = 0; i < n; i++) {
        double *spread_ns = &excess_of(&first[i], part)->spread_ns;
        *spread_ns = n <= INQ_STRAGGLER_FEW_RANKS ? 0.0 : limit_ns;
        if (n > INQ_STRAGGLER_FEW_RANKS && kept <= INQ_STRAGGLER_FEW_RANKS &&
            !aside[first[i].rank]) { /* as in a role of so few: no spread is known */
            *spread_ns = least_excess(&first[i], part, kept);
        } else if (n > INQ_STRAGGLER_FEW_RANKS && n <= INQ_STRAGGLER_HANDFUL) {
            *spread_ns = fmin(limit_ns, set_apart(first, n, part, aside, i));
        }
    }
}

/* Ranks that each can be compared with without those set aside. */
static void count_usual(struct inq_delay *first, size_t n, const bool *aside)
{
    size_t usual = 0;

    for (size_t i = 0; i < n; i++) {
        usual += !aside[first[i].rank];
    }
    for (size_t i = 0; i < n; i++) {
        first[i].usual = usual - !aside[first[i].rank];
    }
}

static void describe_role(struct context *ctx, const struct role *role, struct inq_delays *delays)
{
    double own_sigma_ns = own_sigma(ctx, role);
    double compute_sigma_ns = compute_sigma(ctx, role);
    double idle_sigma_ns = idle_sigma(ctx, role);
    double launch_sigma_ns = launch_sigma(ctx, role);
    struct inq_delay *first = &delays->at[delays->n];
    size_t most = 0;
    size_t n = 0;

    for (size_t i = 0; i < role->n; i++) {
        if (role->steps[i] > 0) {
            first[n] = (struct inq_delay){.rank = role->ranks[i], .peers = role->n - 1};
            first[n].own.sigma_ns = own_sigma_ns;
            first[n].compute.sigma_ns = compute_sigma_ns;
            first[n].idle.sigma_ns = idle_sigma_ns;
            first[n].launch.sigma_ns = launch_sigma_ns;
            set_means(&first[n], role, i);
            set_idle_late(&first[n++], &role->idle_late[i * ctx->cells->n_steps],
                          ctx->cells->n_steps, ctx->min_cost_ns);
            most = role->steps[i] > most ? role->steps[i] : most;
        }
    }
    count_usual(first, n, ctx->aside);
    set_spreads(first, n, OWN, ctx->aside, ctx->scratch);
    set_spreads(first, n, COMPUTE, ctx->aside, ctx->scratch);
    set_spreads(first, n, IDLE, ctx->aside, ctx->scratch);
    set_spreads(first, n, LAUNCH, ctx->aside, ctx->scratch);
    delays->n += n;
    ctx->freedom += n > 1 && most > 1 ? (double)(n - 1) * (double)(most - 1) : 0.0;
}

/* Scores an excess with no less noise than `noise_ns` and repeated steps have; whether it passes.
 * Beyond what the ranks of all small roles differ by (`pooled_ns`) it is one among `all`. */
static bool test(struct inq_delay *delay, enum part part, double noise_ns, double pooled_ns,
                 size_t all)
{
    struct inq_excess *excess = excess_of(delay, part);
    size_t compared = excess->ns >= pooled_ns ? all : delay->peers + 1;
    double floor_ns = INQ_STRAGGLER_SIGMA_SHARE * delay->step_ns;
    double least_ns = least_excess(delay, part, compared);
    bool few = delay->peers + 1 <= INQ_STRAGGLER_HANDFUL;
    double spread_ns = few ? fmin(excess->spread_ns, pooled_ns) : excess->spread_ns;

    excess->sigma_ns = fmax(fmax(excess->sigma_ns, noise_ns), floor_ns);
    excess->score = excess->ns * sqrt((double)delay->steps) / excess->sigma_ns;
    return excess->ns >= least_ns && excess->ns >= spread_ns &&
           (delay->steps < 2 || excess->score >= delay->limit);
}

/* Whether a part of own time is in excess by itself, and own time with it: that says nothing where
 * all peers are set aside for an excess of their own, or where it is they who do more of the rest
 * than is usual; `rest_ns`: how much more of it than usual this rank does, minus infinity where no
 * other role tells what is usual. */
static bool test_part(struct inq_delay *delay, enum part part, double pooled_ns, size_t all,
                      double rest_ns)
{
    const struct inq_excess *excess = excess_of(delay, part);

    return test(delay, part, 0.0, pooled_ns, all) && delay->steps > 1 &&
           (2.0 * delay->own.ns >= excess->ns || delay->usual == 0 ||
            2.0 * (excess->ns + rest_ns) >= excess->ns);
}

/* Whether a rank that is idle for longer is so because its host launches slower than others. Where
 * ranks wait for each other after every few launches, whose GPU idles says little: behind the last
 * of them, by however little, the others' idle time is hidden in waiting, and how ranks differ in
 * it is no measure. What launches take differs by the host's own pace alone. Of few ranks idle time
 * is not asked how they differ. */
static bool launches_slower(struct inq_delay *delay, double pooled_ns, size_t all)
{
    size_t compared = delay->peers + 1;

    return test(delay, LAUNCH, 0.0, pooled_ns, all) && delay->steps > 1 &&
           compared > INQ_STRAGGLER_FEW_RANKS && delay->peers_launch_ns > 0.0 &&
           delay->idle.ns >= least_excess(delay, IDLE, compared) &&
           delay->idle.score >= delay->limit;
}

static double idle_of(const struct inq_delay *delay)
{
    return delay->peers_idle_ns + delay->idle.ns;
}

static double usual_idle(const struct context *ctx, const struct inq_delays *delays)
{
    for (size_t i = 0; i < delays->n; i++) {
        ctx->scratch[i] = idle_of(&delays->at[i]);
    }
    return delays->n > 0 ? inq_median(ctx->scratch, delays->n) : 0.0;
}

/* Noise is taken from all roles together, which knows it better, or from the rank's own role where
 * that is noisier. */
static void test_all(struct context *ctx, struct inq_delays *delays)
{
    double sigma_ns = ctx->n_deviations > 0 ? mad_factor(ctx->most_steps) *
                                                  inq_median(ctx->deviations, ctx->n_deviations)
                                            : 0.0;
    double pooled_ns[PARTS];
    double idle_ns = usual_idle(ctx, delays);

    for (int part = 0; part < PARTS; part++) {
        pooled_ns[part] = pooled_spread(ctx, delays, (enum part)part);
    }
    for (size_t i = 0; i < delays->n; i++) {
        struct inq_delay *delay = &delays->at[i];
        delay->limit = inq_straggler_limit(ctx->freedom);
        bool by_own = test(delay, OWN, sigma_ns, pooled_ns[OWN], delays->n);
        bool by_idle = test_part(delay, IDLE, pooled_ns[IDLE], delays->n, -(double)INFINITY);
        double rest_ns =
            delays->n > delay->peers + 1 ? idle_of(delay) - idle_ns : -(double)INFINITY;
        delay->computes = test_part(delay, COMPUTE, pooled_ns[COMPUTE], delays->n, rest_ns);
        bool by_launch = launches_slower(delay, pooled_ns[LAUNCH], delays->n);
        if (by_launch && !by_idle && !by_own) { /* others idle for what it takes longer, not more */
            delay->cost_ns = fmin(delay->cost_ns, delay->launch.ns);
        }
        by_idle = by_idle || by_launch;
        delay->idles = by_idle && (delay->computes || !by_own);
        delay->outlier = by_own || delay->computes || by_idle;
    }
}

/* ---- memory and order ---------------------------------------------------------------------- */

static void role_release(struct role *role)
{
    inq_mem_free(role->ranks);
    inq_mem_free(role->steps);
    inq_mem_free(role->seen);
    inq_mem_free(role->cost);
    inq_mem_free(role->excess);
    inq_mem_free(role->compute);
    inq_mem_free(role->idle);
    inq_mem_free(role->idle_late);
    inq_mem_free(role->launch);
    *role = (struct role){0};
}

/* Room for roles of up to `n` ranks. */
static int role_init(struct role *role, size_t n, size_t n_steps, struct inq_err *err)
{
    role->ranks = inq_mem_alloc((n + 1) * sizeof(*role->ranks));
    role->steps = inq_mem_alloc((n + 1) * sizeof(*role->steps));
    role->seen = inq_mem_alloc((n + 1) * sizeof(*role->seen));
    role->cost = inq_mem_alloc((n + 1) * (3 + 2 * PARTS) * sizeof(double));
    role->excess = inq_mem_alloc((n * n_steps + 1) * sizeof(double));
    role->compute = inq_mem_alloc((n * n_steps + 1) * sizeof(double));
    role->idle = inq_mem_alloc((n * n_steps + 1) * sizeof(double));
    role->idle_late = inq_mem_alloc((n * n_steps + 1) * sizeof(double));
    role->launch = inq_mem_alloc((n * n_steps + 1) * sizeof(double));
    if (!role->ranks || !role->steps || !role->seen || !role->cost || !role->excess ||
        !role->compute || !role->idle || !role->idle_late || !role->launch) {
        return inq_err_set(err, INQ_NOMEM, "no memory to compare %zu ranks", n);
    }
    role->length = role->cost + n;
    role->late = role->cost + 2 * n;
    for (size_t part = 0; part < PARTS; part++) {
        role->sum[part] = role->cost + (3 + part) * n;
        role->peers[part] = role->cost + (3 + PARTS + part) * n;
    }
    return INQ_OK;
}

static void role_start(struct role *role, const struct inq_peer_groups *roles, size_t n_ranks,
                       size_t n_steps, size_t index)
{
    role->n = 0;
    role->judged = 0;
    for (size_t r = 0; r < n_ranks; r++) {
        if (roles->of[r] == index) {
            role->ranks[role->n++] = (uint32_t)r;
        }
    }
    memset(role->steps, 0, role->n * sizeof(*role->steps));
    memset(role->seen, 0, n_ranks * sizeof(*role->seen));
    memset(role->cost, 0, n_ranks * (3 + 2 * PARTS) * sizeof(double));
    for (size_t i = 0; i < role->n * n_steps; i++) {
        role->excess[i] = (double)NAN;
        role->compute[i] = (double)NAN;
        role->idle[i] = (double)NAN;
        role->idle_late[i] = (double)NAN;
        role->launch[i] = (double)NAN;
    }
}

static void sheet_release(struct sheet *sheet)
{
    inq_mem_free(sheet->member);
    inq_mem_free(sheet->ns);
    inq_mem_free(sheet->order);
    inq_mem_free(sheet->peers);
    inq_mem_free(sheet->share);
    inq_mem_free(sheet->wait_gap);
}

static int sheet_init(struct sheet *sheet, size_t n, struct inq_err *err)
{
    sheet->member = inq_mem_alloc((n + 1) * sizeof(*sheet->member));
    sheet->ns = inq_mem_alloc((n + 1) * sizeof(*sheet->ns));
    sheet->order = inq_mem_alloc((n + 1) * sizeof(*sheet->order));
    sheet->peers = inq_mem_alloc((n + 1) * sizeof(*sheet->peers));
    sheet->share = inq_mem_alloc((n + 1) * sizeof(*sheet->share));
    sheet->wait_gap = inq_mem_alloc((n + 1) * sizeof(*sheet->wait_gap));
    if (!sheet->member || !sheet->ns || !sheet->order || !sheet->peers || !sheet->share ||
        !sheet->wait_gap) {
        return inq_err_set(err, INQ_NOMEM, "no memory to compare %zu ranks", n);
    }
    return INQ_OK;
}

static int compare_peers(struct context *ctx, struct role *role, struct inq_delays *delays,
                         struct inq_err *err)
{
    const struct inq_step_stats *cells = ctx->cells;
    double waste_ns = 0.0;

    for (size_t s = cells->first_step; s < cells->n_steps; s++) {
        int code = compare_in_step(ctx, role, s, &waste_ns, err);
        if (code != INQ_OK) {
            return code;
        }
    }
    waste_ns /= role->judged > 0 ? (double)role->judged : 1.0;
    delays->waste_ns = waste_ns > delays->waste_ns ? waste_ns : delays->waste_ns;
    describe_role(ctx, role, delays);
    return INQ_OK;
}

static int find_once(struct context *ctx, const struct inq_peer_groups *roles,
                     struct inq_delays *delays, struct inq_err *err)
{
    const struct inq_step_stats *cells = ctx->cells;
    struct role role = {0};
    size_t n = cells->n_ranks;

    int code = role_init(&role, n, cells->n_steps, err);
    delays->n = 0;
    delays->waste_ns = 0.0;
    ctx->n_deviations = ctx->most_steps = 0;
    ctx->freedom = 0.0;
    for (size_t k = 0; code == INQ_OK && k < roles->n; k++) {
        role_start(&role, roles, n, cells->n_steps, k);
        if (role.n > 1) {
            size_t first = delays->n;
            code = compare_peers(ctx, &role, delays, err);
            for (size_t i = first; i < delays->n; i++) {
                delays->at[i].role = (uint32_t)k;
            }
        }
    }
    if (code == INQ_OK) {
        test_all(ctx, delays);
    }
    role_release(&role);
    return code;
}

/* Outliers hide each other: those found are set aside, and the others' usual is found again. Sets
 * aside[n_ranks] to the outliers; whether that changed anything. */
static bool set_aside(const struct inq_delays *delays, bool *aside)
{
    bool changed = false;

    for (size_t i = 0; i < delays->n; i++) {
        bool *own = &aside[delays->at[i].rank];
        changed = changed || *own != delays->at[i].outlier;
        *own = delays->at[i].outlier;
    }
    return changed;
}

/* ---- alike ----------------------------------------------------------------------------------- */

static double value_of(const struct inq_delay *delay, enum part part)
{
    return part == OWN       ? delay->own_ns
           : part == COMPUTE ? delay->peers_compute_ns + delay->compute.ns
                             : idle_of(delay);
}

/* The upper part of a role's ranks, when a gap parts it from the others that is wider than these
 * lie from each other: several slow ranks, up to the half of all. They need not be alike: some may
 * have a second fault. The largest part counts, as what is above another gap is in it. By what they
 * compute it may be most of the ranks, as long as two are left, whose distance says little: then
 * those above must be alike, too. Their kernels tell whether they are slow. */
static void split_role(struct inq_delay *const *row, size_t n, enum part part, bool *aside)
{
    size_t half = (n + 1) / 2;
    size_t most = part == COMPUTE && n > 4 ? n - 2 : half;

    for (size_t upper = n > 3 ? 2 : n; upper <= most && n - upper >= 2; upper++) {
        double high_ns = value_of(row[n - upper], part);
        double below_ns = value_of(row[n - upper - 1], part);
        double above_ns = upper > half ? value_of(row[n - 1], part) - high_ns : 0.0;
        double range_ns = fmax(below_ns - value_of(row[0], part), above_ns);
        if (high_ns - below_ns >= SPLIT_APART * range_ns &&
            high_ns - below_ns >= least_excess(row[n - upper], part, INQ_STRAGGLER_FEW_RANKS)) {
            for (size_t i = n - upper; i < n; i++) {
                aside[row[i]->rank] = true;
            }
        }
    }
}

static int by_value(const void *a, const void *b, void *ctx)
{
    const struct inq_delay *x = *(struct inq_delay *const *)a;
    const struct inq_delay *y = *(struct inq_delay *const *)b;
    double off_ns = value_of(x, *(enum part *)ctx) - value_of(y, *(enum part *)ctx);

    if (off_ns < 0 || off_ns > 0) {
        return off_ns < 0 ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* By own time, and by each part of it: half of the ranks with slow GPUs and a late host among the
 * others are not two parts of own time. */
static int find_alike(struct inq_delays *delays, bool *aside, struct inq_err *err)
{
    static const enum part parts[] = {OWN, COMPUTE, IDLE};
    struct inq_delay **row = inq_mem_alloc((delays->n + 1) * sizeof(*row));
    int code = row ? INQ_OK : inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", delays->n);

    for (size_t i = 0; code == INQ_OK && i < delays->n;) {
        size_t n = 0;
        for (size_t k = i; k < delays->n && delays->at[k].role == delays->at[i].role; k++) {
            row[n++] = &delays->at[k];
        }
        for (size_t p = 0; p < sizeof parts / sizeof *parts && code == INQ_OK; p++) {
            enum part part = parts[p];
            code = inq_sort(row, n, sizeof(*row), by_value, &part, err);
            if (code == INQ_OK) {
                split_role(row, n, part, aside);
            }
        }
        i += n;
    }
    inq_mem_free(row);
    return code;
}

/* ---- all ranks ------------------------------------------------------------------------------- */

/* Where some are outliers only as long as others are not, all of them are set aside: of four ranks
 * one with a late host and two with slow GPUs leave one to compare with, in whatever order. */
static void set_aside_too(const struct inq_delays *delays, bool *aside)
{
    for (size_t i = 0; i < delays->n; i++) {
        bool *own = &aside[delays->at[i].rank];
        *own = *own || delays->at[i].outlier;
    }
}

static int find_all(struct context *ctx, const struct inq_peer_groups *roles, bool *aside,
                    struct inq_delays *delays, struct inq_err *err)
{
    bool changed = true;

    ctx->aside = aside;
    delays->step_ns = inq_step_stats_mean_ns(ctx->cells);
    ctx->min_cost_ns = INQ_STRAGGLER_COST_SHARE * delays->step_ns;
    int code = find_once(ctx, roles, delays, err);
    if (code == INQ_OK) {
        (void)set_aside(delays, aside);
        code = find_alike(delays, aside, err);
    }
    for (int round = 0; code == INQ_OK && changed && round < MOST_ROUNDS; round++) {
        code = find_once(ctx, roles, delays, err);
        changed = code == INQ_OK && set_aside(delays, aside);
    }
    if (code == INQ_OK && changed) {
        code = find_once(ctx, roles, delays, err);
        if (code == INQ_OK) {
            set_aside_too(delays, aside);
            code = find_once(ctx, roles, delays, err);
        }
    }
    return code;
}

int inq_delays_find(const struct inq_step_stats *cells, const struct inq_peer_groups *roles,
                    const struct inq_silences *silences, struct inq_delays *delays,
                    struct inq_err *err)
{
    struct context ctx = {.cells = cells, .silences = silences};
    size_t n = cells->n_ranks;
    bool *aside = inq_mem_zalloc(n + 1, sizeof(*aside));

    *delays = (struct inq_delays){0};
    delays->at = inq_mem_zalloc(n + 1, sizeof(*delays->at));
    ctx.scratch = inq_mem_alloc((n + 1) * (cells->n_steps + 1) * sizeof(double));
    ctx.deviations = inq_mem_alloc(2 * (n + 1) * (cells->n_steps + 1) * sizeof(double));
    int code = aside && delays->at && ctx.scratch && ctx.deviations
                   ? sheet_init(&ctx.sheet, n, err)
                   : inq_err_set(err, INQ_NOMEM, "no memory to compare %zu ranks", n);
    if (code == INQ_OK) {
        code = find_all(&ctx, roles, aside, delays, err);
    }
    sheet_release(&ctx.sheet);
    inq_mem_free(aside);
    inq_mem_free(ctx.scratch);
    inq_mem_free(ctx.deviations);
    return code;
}
