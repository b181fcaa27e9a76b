/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by name, rank against rank. */
#include "analysis/measure/kernel_speed.h"

#include "trace/trace.h"
#include "analysis/measure/row_merge.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>

/* Kernels that run at their usual speed tell why others do not. A slow chip slows matrix products
 * first; those that wait for memory may be spared. More work per kernel slows all of the model's
 * kernels but those of the optimizer, which depend on the parameters only. */
#define SPARED_MATH 0.002

/* The optimizer's kernels can tell the one from the other when the two are this many standard
 * errors apart. */
#define TELLING_SIGMAS 3.0

/* Kernels are larger whose grids grow by this part of what their times grow by. */
#define GROWN_PART 0.5

struct timed {
    inq_str name;
    int64_t dur_ns;
    double blocks; /* in its grid; 0: not recorded */
};

/* The compute kernels of one rank in the judged steps, by name. All-zero is releasable. */
struct kernel_stats {
    size_t n; /* ascending by name id */
    struct kernel_stat {
        inq_str name;
        size_t first; /* in rows */
        uint64_t count;
        double mean_ns;  /* of the middle 80 % of the durations */
        double sigma_ns; /* of that mean, from the spread of the durations */
        double blocks;   /* mean number of blocks in a grid; 0: not recorded of all */
    } * at;
    struct timed *rows; /* by (name, duration) */
    size_t steps;       /* over which they were counted */
};

/* Kernels are surely not slower when they lie below half of the common factor by this many standard
 * errors. */
#define SURE_SIGMAS 4.0

static void stats_release(struct kernel_stats *stats)
{
    inq_mem_free(stats->at);
    inq_mem_free(stats->rows);
    *stats = (struct kernel_stats){0};
}

static int by_name_and_time(const void *a, const void *b, void *ctx)
{
    const struct timed *x = a;
    const struct timed *y = b;

    (void)ctx;
    if (x->name != y->name) {
        return x->name < y->name ? -1 : 1;
    }
    return (x->dur_ns > y->dur_ns) - (x->dur_ns < y->dur_ns);
}

/* The elements of all inputs multiplied, from "[[64, 512], [512, 256], []]": it grows with each
 * size on which the work depends. */
static double elements_of(const char *dims)
{
    double product = dims[0] != '\0' ? 1.0 : 0.0;
    double number = 0.0;
    bool in_number = false;

    for (const char *p = dims; *p != '\0'; p++) {
        if (*p >= '0' && *p <= '9') {
            number = number * 10.0 + (double)(*p - '0');
            in_number = true;
        } else if (in_number) {
            product *= number > 0.0 ? number : 1.0;
            number = 0.0;
            in_number = false;
        }
    }
    return product;
}

/* How much work a kernel has: blocks of its grid; an operator of a rank without a device: by the
 * sizes of its inputs. */
static double blocks_of(const struct inq_trace *trace, const struct inq_rank *rank, size_t event)
{
    const struct inq_launch *launch = inq_trace_launch(trace, rank, event);
    double blocks = 1.0;

    for (int k = 0; k < 3; k++) {
        blocks *= launch->grid[k] > 0 ? (double)launch->grid[k] : 0.0;
    }
    return blocks > 0.0 || !inq_rank_on_cpu(trace, rank)
               ? blocks
               : elements_of(inq_trace_str(trace, launch->dims));
}

/* Steps of a rank whose kernels are looked at: all judged ones, or those marked or not marked. */
struct choice {
    const struct inq_step_stats *cells;
    uint32_t rank;
    const bool *marked; /* NULL: all */
    bool mark;
};

static bool is_chosen(const struct choice *choice, size_t step)
{
    return inq_step_stat_at(choice->cells, choice->rank, step)->valid &&
           (!choice->marked || choice->marked[step] == choice->mark);
}

/* The compute kernels that began in a chosen step. */
static size_t collect(const struct inq_trace *trace, const struct choice *choice,
                      struct timed *rows)
{
    const struct inq_rank *rank = &trace->ranks[choice->rank];
    const struct inq_step_stats *cells = choice->cells;
    const struct inq_events *events = &rank->events;
    size_t n = 0;

    for (size_t i = 0; i < events->n; i++) {
        size_t step = cells->one_step ? 0 : events->step[i];
        bool chosen = step >= cells->first_step && step < cells->n_steps && is_chosen(choice, step);
        if (chosen && inq_row_is_work(events, i) && inq_row_class(events, i) == INQ_CLASS_COMPUTE) {
            rows[n++] =
                (struct timed){events->name[i], events->dur_ns[i], blocks_of(trace, rank, i)};
        }
    }
    return n;
}

/* Sums up one name's kernels, sorted by duration: the mean of the middle 80 % is as good for
 * durations of one kind as for a mix of a few, and does not mind outliers. */
static struct kernel_stat sum_up(const struct timed *rows, size_t n)
{
    size_t cut = n / 10;
    size_t kept = n - 2 * cut;
    double sum = 0.0;
    double squares = 0.0;

    for (size_t i = cut; i < n - cut; i++) {
        sum += (double)rows[i].dur_ns;
    }
    double mean = sum / (double)kept;
    for (size_t i = cut; i < n - cut; i++) {
        double off = (double)rows[i].dur_ns - mean;
        squares += off * off;
    }
    struct kernel_stat stat = {.name = rows[0].name, .count = n, .mean_ns = mean};
    stat.sigma_ns = kept > 1 ? sqrt(squares / (double)(kept - 1) / (double)kept) : mean;
    bool recorded = true;
    for (size_t i = 0; i < n; i++) {
        stat.blocks += rows[i].blocks / (double)n;
        recorded = recorded && rows[i].blocks > 0.0;
    }
    stat.blocks = recorded ? stat.blocks : 0.0;
    return stat;
}

static int group(struct kernel_stats *stats, size_t n, struct inq_err *err)
{
    const struct timed *rows = stats->rows;
    size_t names = 0;
    for (size_t i = 0; i < n; i++) {
        names += i == 0 || rows[i].name != rows[i - 1].name;
    }
    stats->at = inq_mem_alloc((names + 1) * sizeof(*stats->at));
    if (!stats->at) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu kernel names", names);
    }
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && rows[end].name == rows[i].name) {
            end++;
        }
        stats->at[stats->n] = sum_up(&rows[i], end - i);
        stats->at[stats->n++].first = i;
        i = end;
    }
    return INQ_OK;
}

static int stats_build(const struct inq_trace *trace, const struct choice *choice,
                       struct kernel_stats *stats, struct inq_err *err)
{
    const struct inq_rank *source = &trace->ranks[choice->rank];

    *stats = (struct kernel_stats){0};
    stats->rows = inq_mem_alloc((source->events.n + 1) * sizeof(*stats->rows));
    if (!stats->rows) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu kernels", source->events.n);
    }
    for (size_t s = choice->cells->first_step; s < choice->cells->n_steps; s++) {
        stats->steps += is_chosen(choice, s);
    }
    size_t n = collect(trace, choice, stats->rows);
    int code = inq_sort(stats->rows, n, sizeof(*stats->rows), by_name_and_time, NULL, err);
    return code == INQ_OK ? group(stats, n, err) : code;
}

/* The row of a name, or NULL. */
static const struct kernel_stat *find(const struct kernel_stats *stats, inq_str name)
{
    size_t low = 0;
    size_t high = stats->n;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (stats->at[middle].name < name) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < stats->n && stats->at[low].name == name ? &stats->at[low] : NULL;
}

/* The peers' usual: per step count, mean duration and its sigma, each the median over peers; peers
 * without the kernel count it zero times. */
struct usual {
    double per_step, mean_ns, sigma_ns;
    double blocks; /* of the first that has the kernel */
};

static struct usual usual_of(const struct kernel_stats *peers, size_t n_peers, inq_str name,
                             double *scratch)
{
    double *counts = scratch;
    double *means = scratch + n_peers;
    double *sigmas = scratch + 2 * n_peers;
    double blocks = 0.0;
    size_t n = 0;

    for (size_t p = 0; p < n_peers; p++) {
        const struct kernel_stat *stat = find(&peers[p], name);
        counts[p] = stat && peers[p].steps > 0 ? (double)stat->count / (double)peers[p].steps : 0.0;
        if (stat) {
            blocks = n == 0 ? stat->blocks : blocks;
            means[n] = stat->mean_ns;
            sigmas[n++] = stat->sigma_ns;
        }
    }
    struct usual usual = {inq_median(counts, n_peers), 0.0, 0.0, blocks};
    if (n > 0) {
        usual.mean_ns = inq_median(means, n);
        usual.sigma_ns = inq_median(sigmas, n);
    }
    return usual;
}

/* One name that both have, for the second pass. */
struct pair {
    inq_str name;
    double time_ns; /* the peers', per step */
    double ratio, sigma;
    double blocks; /* own over the peers' blocks in a grid; 0: not recorded */
};

static double total_ns(const struct timed *rows, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)rows[i].dur_ns;
    }
    return sum;
}

/* Of more kernels than the peers', as many as they have are alike: the shortest, so that what else
 * has their name (a product of other sizes) is extra compute and no slower device. */
static void add_name(const struct kernel_stats *own, const struct kernel_stat *stat,
                     const struct usual *usual, struct inq_kernel_comparison *result,
                     struct pair *pairs)
{
    double steps = (double)own->steps;
    size_t alike = (size_t)llround(usual->per_step * steps);
    struct kernel_stat same = *stat;

    if (alike == 0 || !(usual->mean_ns > 0.0)) {
        result->more_ns += (double)stat->count / steps * stat->mean_ns;
        return;
    }
    if (stat->count > alike) {
        const struct timed *rows = &own->rows[stat->first];
        same = sum_up(rows, alike);
        result->more_ns += total_ns(rows + alike, stat->count - alike) / steps;
    } else {
        result->more_ns += ((double)stat->count / steps - usual->per_step) * usual->mean_ns;
    }
    struct pair *pair = &pairs[result->common++];
    pair->name = stat->name;
    pair->blocks = same.blocks > 0.0 && usual->blocks > 0.0 ? same.blocks / usual->blocks : 0.0;
    pair->time_ns = usual->per_step * usual->mean_ns;
    pair->ratio = same.mean_ns / usual->mean_ns;
    pair->sigma = hypot(same.sigma_ns, usual->sigma_ns * pair->ratio) / usual->mean_ns;
    result->slower_ns += (double)same.count / steps * (same.mean_ns - usual->mean_ns);
}

static void compare_pairs(const struct inq_trace *trace, const struct pair *pairs,
                          struct inq_kernel_comparison *result)
{
    double time_ns = 0.0;
    double own_ns = 0.0;
    double gridded_ns = 0.0;
    double blocks = 0.0;

    for (size_t i = 0; i < result->common; i++) {
        time_ns += pairs[i].time_ns;
        own_ns += pairs[i].time_ns * pairs[i].ratio;
        gridded_ns += pairs[i].blocks > 0.0 ? pairs[i].time_ns : 0.0;
        blocks += pairs[i].time_ns * pairs[i].blocks;
    }
    result->ratio = time_ns > 0.0 ? own_ns / time_ns : (double)NAN;
    result->grid_share = time_ns > 0.0 ? gridded_ns / time_ns : 0.0;
    result->grid_ratio = gridded_ns > 0.0 ? blocks / gridded_ns : (double)NAN;
    double half = 1.0 + 0.5 * (result->ratio - 1.0);
    double half_grid = 1.0 + 0.5 * (result->grid_ratio - 1.0); /* NaN: none is larger */
    for (size_t i = 0; i < result->common; i++) {
        const struct pair *pair = &pairs[i];
        double share = pair->time_ns / time_ns;
        struct inq_kernel_kind_ratio *kind =
            &result->kind[inq_kernel_kind_of(inq_trace_str(trace, pair->name))];
        kind->share += share;
        kind->ratio += share * pair->ratio;
        kind->sigma = hypot(kind->sigma, share * pair->sigma);
        kind->spared_share += pair->ratio + SURE_SIGMAS * pair->sigma < half ? share : 0.0;
        result->larger_share += pair->blocks >= half_grid ? share : 0.0;
    }
    for (int k = 0; k < 3; k++) {
        struct inq_kernel_kind_ratio *kind = &result->kind[k];
        kind->ratio = kind->share > 0.0 ? kind->ratio / kind->share : (double)NAN;
        kind->sigma = kind->share > 0.0 ? kind->sigma / kind->share : (double)NAN;
    }
}

/* Kernels of all names in a step. */
static double kernels_of(const struct kernel_stats *stats)
{
    double n = 0.0;
    for (size_t i = 0; i < stats->n; i++) {
        n += (double)stats->at[i].count;
    }
    return stats->steps > 0 ? n / (double)stats->steps : 0.0;
}

/* Libraries choose another kernel for another size: such ones are not more of them. */
static void count_kernels(const struct kernel_stats *own, const struct kernel_stats *peers,
                          size_t n_peers, double more, double *scratch,
                          struct inq_kernel_comparison *result)
{
    double kernels = kernels_of(own);
    for (size_t p = 0; p < n_peers; p++) {
        scratch[p] = kernels_of(&peers[p]);
    }
    double peers_kernels = inq_median(scratch, n_peers);
    result->kernels = (uint64_t)llround(kernels);
    result->peers_kernels = (uint64_t)llround(peers_kernels);
    result->others = 2.0 * (kernels - peers_kernels) < more;
}

static int compare(const struct inq_trace *trace, const struct kernel_stats *own,
                   const struct kernel_stats *peers, size_t n_peers,
                   struct inq_kernel_comparison *result, struct inq_err *err)
{
    struct pair *pairs = inq_mem_alloc((own->n + 1) * sizeof(*pairs));
    double *scratch = inq_mem_alloc((3 * n_peers + 1) * sizeof(*scratch));
    double more = 0.0; /* kernels in a step, of names of which the peers run fewer */
    int code = INQ_OK;

    *result = (struct inq_kernel_comparison){.ratio = (double)NAN};
    if (!pairs || !scratch) {
        code = inq_err_set(err, INQ_NOMEM, "no memory to compare %zu kernel names", own->n);
    } else if (own->steps > 0 && n_peers > 0) {
        for (size_t i = 0; i < own->n; i++) {
            struct usual usual = usual_of(peers, n_peers, own->at[i].name, scratch);
            add_name(own, &own->at[i], &usual, result, pairs);
            more += fmax(0.0, (double)own->at[i].count / (double)own->steps - usual.per_step);
        }
        compare_pairs(trace, pairs, result);
        count_kernels(own, peers, n_peers, more, scratch, result);
    }
    inq_mem_free(pairs);
    inq_mem_free(scratch);
    return code;
}

/* Peers whose kernels are looked at name by name: more would not move a median much. */
#define MAX_PEERS 9

int inq_kernels_against(const struct inq_trace *trace, const struct inq_step_stats *cells,
                        uint32_t rank, const bool *steps, const uint32_t *others, size_t n_others,
                        struct inq_kernel_comparison *result, struct inq_err *err)
{
    struct kernel_stats own = {0};
    struct kernel_stats peers[MAX_PEERS] = {{0}};
    size_t n = steps ? 1 : n_others < MAX_PEERS ? n_others : MAX_PEERS;

    int code = stats_build(trace, &(struct choice){cells, rank, steps, true}, &own, err);
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        uint32_t peer = steps ? rank : others[i * n_others / n];
        code = stats_build(trace, &(struct choice){cells, peer, steps, false}, &peers[i], err);
        inq_mem_free(peers[i].rows); /* their means will do */
        peers[i].rows = NULL;
    }
    if (code == INQ_OK) {
        code = compare(trace, &own, peers, n, result, err);
    }
    stats_release(&own);
    for (size_t i = 0; i < MAX_PEERS; i++) {
        stats_release(&peers[i]);
    }
    return code;
}

/* ---- larger or slower ------------------------------------------------------------------------ */

/* Whether the optimizer's kernels are no slower while the model's are. */
static bool spares_optimizer(const struct inq_kernel_comparison *c)
{
    const struct inq_kernel_kind_ratio *update = &c->kind[INQ_KERNEL_UPDATE];
    double half = 1.0 + 0.5 * (c->ratio - 1.0);

    return update->share > 0.0 && update->ratio < half &&
           c->ratio - 1.0 >= TELLING_SIGMAS * update->sigma;
}

/* Whether the model's kernels that wait for memory grew as well, as they do with extra work and do
 * not with a low clock: nearer to what all grew by than to nothing. That none is surely spared is
 * no evidence of it, since the noise of single kernels hides who is. */
static bool others_grew(const struct inq_kernel_comparison *c)
{
    const struct inq_kernel_kind_ratio *other = &c->kind[INQ_KERNEL_OTHER];

    bool near = other->share <= 0.0 || other->ratio >= 1.0 + 0.5 * (c->ratio - 1.0);
    return near && other->spared_share < INQ_SPARED_OTHER;
}

bool inq_kernels_are_larger(const struct inq_kernel_comparison *c)
{
    if (inq_kernels_have_grids(c)) {
        return c->grid_ratio - 1.0 >= GROWN_PART * (c->ratio - 1.0);
    }
    return c->kind[INQ_KERNEL_MATH].spared_share >= SPARED_MATH ||
           (spares_optimizer(c) && others_grew(c));
}
