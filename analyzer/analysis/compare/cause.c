/* SPDX-License-Identifier: Apache-2.0 */
/* Why a step changed. A rank's own time (compute, host, copies, idle) is held against that of the
 * same rank of the base run, or of its stage; waiting belongs to the rank at its root and to what
 * that rank took longer with in the step. What all ranks have in common is one cause, what stands
 * out on some is another. Transfers are causes by kind of collective. */
#include "analysis/compare/compare.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/arena_text.h"
#include "base/sort.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A change below this part of a step is no cause of its own. */
static const double LEAST = 0.003;
/* Numbers of kernels that differ by less are the same work: profilers lose single records. */
static const double SAME_COUNT = 0.005;
/* What all take longer themselves explains a cost of up to so many times that: in pipelines each
 * waits for the one before. Above, it is not the mean that costs, but that it varies. */
static const double TURNS = 4.0;
/* Standard errors beyond which a rank differs: of a thousand ranks that do not, three seem to. The
 * mean of those chosen would differ by two in any group, because they were chosen for it. */
static const double ERRORS = 3.0;
static const double NEARLY_ALL = 0.8;
/* Ranks that waited themselves are followed so far. */
enum { MOST_HOPS = 8, NAMED = 4 };

enum own { OWN_COMPUTE, OWN_HOST, OWN_COPY, OWN_IDLE, OWNS };

static const enum inq_loss own_loss[OWNS] = {INQ_LOSS_COMPUTE, INQ_LOSS_HOST, INQ_LOSS_COPY,
                                             INQ_LOSS_IDLE};
static const enum inq_step_part own_part[OWNS] = {INQ_PART_COMPUTE, INQ_PART_HOST, INQ_PART_COPY,
                                                  INQ_PART_IDLE};

struct causing {
    struct inq_comparison *c;
    const struct inq_run_record *p;
    struct inq_arena *scratch;
    size_t n;         /* ranks of the new run that have steps */
    uint32_t *rank;   /* [n] index into p[1].ranks */
    double *was_ns;   /* [n * OWNS] what it should be, per step */
    double *own_ns;   /* [n * OWNS] what it is more, per step */
    double *wait_ns;  /* [n * OWNS] by which waiting for it grew, per rank and step of all */
    double *error_ns; /* [n * OWNS] standard error of own_ns */
    double *kernels;  /* [n * 2] per step, before and now */
    bool *stands_out; /* [n] scratch */
    double *sorted;   /* [n] scratch */
    struct inq_cause_swap *swaps; /* beside the causes */
    bool no_memory;
};

/* ---- what was to be expected -----------------------------------------------------------------*/

static void expect(struct causing *x, size_t i)
{
    const struct inq_record_rank *now = &x->p[1].ranks[x->rank[i]];
    double sum[OWNS] = {0};
    double kernels = 0.0;
    size_t n = 0;
    for (int pass = 0; pass < 2 && n == 0; pass++) { /* without peers: all */
        for (size_t r = 0; r < x->p[0].n_ranks; r++) {
            const struct inq_record_rank *base = &x->p[0].ranks[r];
            if (pass == 0 ? inq_is_peer(x->c, base, now) : base->steps > 0) {
                for (int own = 0; own < OWNS; own++) {
                    sum[own] += (double)base->part_ns[own_part[own]] / (double)base->steps;
                }
                kernels += (double)base->kernels / (double)base->steps;
                n++;
            }
        }
    }
    for (int own = 0; own < OWNS; own++) {
        double is = (double)now->part_ns[own_part[own]] / (double)now->steps;
        x->was_ns[i * OWNS + (size_t)own] = n > 0 ? x->c->work * sum[own] / (double)n : is;
        x->own_ns[i * OWNS + (size_t)own] = is - x->was_ns[i * OWNS + (size_t)own];
    }
    x->kernels[i * 2] = n > 0 ? kernels / (double)n : 0.0;
    x->kernels[i * 2 + 1] = (double)now->kernels / (double)now->steps;
}

/* Standard error of a rank's mean over its steps. */
static double error_of(const struct inq_run_record *p, size_t r, int own)
{
    const struct inq_account *a = p->report->account;
    double n = (double)p->ranks[r].steps;
    double mean = (double)p->ranks[r].part_ns[own_part[own]] / n;
    double squares = 0.0;
    for (size_t s = 0; s < a->n_steps; s++) {
        if (inq_run_record_counts(p, r, s)) {
            double off = inq_own_ns(inq_account_cell_at(a, r, s), own_loss[own]) - mean;
            squares += off * off;
        }
    }
    return n > 1.0 ? sqrt(squares / (n - 1.0) / n) : 0.0;
}

static void find_errors(struct causing *x)
{
    for (size_t i = 0; i < x->n; i++) {
        for (int own = 0; own < OWNS; own++) {
            double error = error_of(&x->p[1], x->rank[i], own);
            for (size_t r = 0; r < x->p[0].n_ranks; r++) {
                const struct inq_record_rank *base = &x->p[0].ranks[r];
                bool same = x->c->run[0].ranks == x->c->run[1].ranks && base->steps > 0 &&
                            base->rank == x->p[1].ranks[x->rank[i]].rank;
                error = same ? hypot(error, error_of(&x->p[0], r, own)) : error;
            }
            x->error_ns[i * OWNS + (size_t)own] = error;
        }
    }
}

/* ---- waiting by its roots --------------------------------------------------------------------*/

/* Whom each rank waited for longest in each step; INQ_NONE: nobody. */
static uint32_t *find_longest(struct causing *x, const struct inq_account *a)
{
    size_t n = a->n_ranks * a->n_steps;
    uint32_t *whom = inq_arena_array(x->scratch, n + 1, sizeof *whom);
    int64_t *longest = inq_arena_array(x->scratch, n + 1, sizeof *longest);
    if (whom == NULL || longest == NULL) {
        x->no_memory = true;
        return NULL;
    }
    for (size_t k = 0; k < n; k++) {
        whom[k] = INQ_NONE;
    }
    for (size_t i = 0; i < a->n_waits; i++) {
        const struct inq_account_wait *w = &a->waits[i];
        size_t k = w->rank * a->n_steps + w->step;
        if (w->end_ns - w->start_ns > longest[k]) {
            longest[k] = w->end_ns - w->start_ns;
            whom[k] = w->waited_for;
        }
    }
    return whom;
}

static uint32_t root_of(const struct inq_account *a, const uint32_t *whom,
                        const struct inq_account_wait *w)
{
    uint32_t rank = w->waited_for;
    for (int hop = 0; hop < MOST_HOPS && rank < a->n_ranks; hop++) {
        uint32_t next = whom[rank * a->n_steps + w->step];
        if (next == INQ_NONE || next == w->rank) {
            break;
        }
        rank = next;
    }
    return rank;
}

/* Adds sign * the waiting of one run: to the rank at its root and to what took that rank longer in
 * the step than `usual` [OWNS] of each rank says. `of`: the place of each of its ranks; INQ_NONE:
 * spread over all. */
static void add_waits(struct causing *x, const struct inq_run_record *p, const double *usual,
                      const uint32_t *of, double sign)
{
    const struct inq_account *a = p->report->account;
    const uint32_t *whom = find_longest(x, a);
    for (size_t i = 0; whom != NULL && i < a->n_waits; i++) {
        const struct inq_account_wait *w = &a->waits[i];
        if (!inq_run_record_counts(p, w->rank, w->step)) {
            continue;
        }
        size_t root = root_of(a, whom, w);
        if (root >= a->n_ranks) {
            continue;
        }
        const struct inq_account_cell *cell = inq_account_cell_at(a, (uint32_t)root, w->step);
        int best = OWN_COMPUTE;
        for (int own = 1; own < OWNS; own++) {
            double excess = inq_own_ns(cell, own_loss[own]) - usual[root * OWNS + (size_t)own];
            double most = inq_own_ns(cell, own_loss[best]) - usual[root * OWNS + (size_t)best];
            best = excess > most ? own : best;
        }
        /* nobody is waited for longer than it took longer itself */
        double excess = inq_own_ns(cell, own_loss[best]) - usual[root * OWNS + (size_t)best];
        double waited = fmin((double)(w->end_ns - w->start_ns), fmax(excess, 0.0));
        double ns = sign * waited / (double)p->n_cells;
        for (size_t k = 0; of[root] == INQ_NONE && k < x->n; k++) {
            x->wait_ns[k * OWNS + (size_t)best] += ns / (double)x->n;
        }
        if (of[root] != INQ_NONE) {
            x->wait_ns[(size_t)of[root] * OWNS + (size_t)best] += ns;
        }
    }
}

/* Place among the compared ranks of rank r of a run; INQ_NONE: it is not compared. */
static uint32_t place_of(const struct causing *x, int run, const struct inq_record_rank *rank)
{
    uint32_t place = INQ_NONE;
    bool same_size = x->c->run[0].ranks == x->c->run[1].ranks;
    for (size_t i = 0; i < x->n; i++) {
        const struct inq_record_rank *now = &x->p[1].ranks[x->rank[i]];
        bool same = run == 1 ? rank == now : same_size && rank->rank == now->rank;
        place = same ? (uint32_t)i : place;
    }
    return place;
}

/* Of rank r what is usual: the base's own mean; in the new run what the base lets expect. */
static void usual_of(const struct causing *x, int run, uint32_t place,
                     const struct inq_record_rank *rank, double usual[OWNS])
{
    for (size_t own = 0; own < OWNS; own++) {
        double steps = (double)rank->steps;
        double mean = rank->steps > 0 ? (double)rank->part_ns[own_part[own]] / steps : 0.0;
        bool expected = run == 1 && place != INQ_NONE;
        usual[own] = expected ? x->was_ns[(size_t)place * OWNS + own] : mean;
    }
}

static void attribute(struct causing *x)
{
    for (int run = 0; run < 2; run++) {
        const struct inq_run_record *p = &x->p[run];
        double *usual = inq_arena_array(x->scratch, p->n_ranks * OWNS + 1, sizeof *usual);
        uint32_t *of = inq_arena_array(x->scratch, p->n_ranks + 1, sizeof *of);
        if (usual == NULL || of == NULL) {
            x->no_memory = true;
            return;
        }
        for (size_t r = 0; r < p->n_ranks; r++) {
            of[r] = place_of(x, run, &p->ranks[r]);
            usual_of(x, run, of[r], &p->ranks[r], usual + r * OWNS);
        }
        add_waits(x, p, usual, of, run == 1 ? 1.0 : -x->c->work);
    }
}

/* ---- who -------------------------------------------------------------------------------------*/

/* All chosen ranks, and no others, have this stage or (by_host) this host. */
static bool is_all_of(const struct causing *x, bool by_host)
{
    const struct inq_record_rank *first = NULL;
    bool others = false;
    for (size_t i = 0; i < x->n; i++) {
        const struct inq_record_rank *rank = &x->p[1].ranks[x->rank[i]];
        first = x->stands_out[i] && first == NULL ? rank : first;
    }
    for (size_t i = 0; first != NULL && i < x->n; i++) {
        const struct inq_record_rank *rank = &x->p[1].ranks[x->rank[i]];
        bool same = by_host ? strcmp(rank->host, first->host) == 0 && first->host[0] != '\0'
                            : rank->stage == first->stage && first->stage >= 0;
        if (same != x->stands_out[i]) {
            return false;
        }
        others = others || !same;
    }
    return first != NULL && others;
}

static size_t count_out(const struct causing *x)
{
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        n += x->stands_out[i];
    }
    return n;
}

static const char *or_empty(struct causing *x, const char *text)
{
    x->no_memory = x->no_memory || text == NULL;
    return text != NULL ? text : "";
}

/* "rank 2", "ranks 2, 5", "stage 1", "host node-01"; fills who of the cause. `all`: none stand out.
 */
static const char *name_who(struct causing *x, struct inq_compared_cause *cause)
{
    size_t n = count_out(x);
    const char *names = "";
    const struct inq_record_rank *first = NULL;
    size_t shown = 0;
    cause->ranks = inq_arena_array(x->c->arena, n + 1, sizeof *cause->ranks);
    x->no_memory = x->no_memory || cause->ranks == NULL;
    for (size_t i = 0; cause->ranks != NULL && i < x->n; i++) {
        if (x->stands_out[i]) {
            const struct inq_record_rank *rank = &x->p[1].ranks[x->rank[i]];
            first = first == NULL ? rank : first;
            cause->ranks[cause->n_ranks++] = rank->rank;
            if (++shown <= NAMED) {
                names = or_empty(x, inq_arena_asprintf(x->c->arena, "%s%s%" PRId32, names,
                                                       shown > 1 ? ", " : "", rank->rank));
            }
        }
    }
    if (first != NULL && is_all_of(x, false)) {
        cause->stage = first->stage;
        return or_empty(x, inq_arena_asprintf(x->c->arena, "stage %" PRId32, first->stage));
    }
    if (first != NULL && n > 1 && is_all_of(x, true)) {
        cause->host = first->host;
        return or_empty(x, inq_arena_asprintf(x->c->arena, "host %.80s", first->host));
    }
    return or_empty(x, inq_arena_asprintf(x->c->arena, "rank%s %s%s", n > 1 ? "s" : "", names,
                                          n > NAMED ? " and more" : ""));
}

/* ---- in words --------------------------------------------------------------------------------*/

/* Mean over the chosen ranks. */
static double mean_of(const struct causing *x, const double *values, size_t stride, size_t at)
{
    double sum = 0.0;
    for (size_t i = 0; i < x->n; i++) {
        sum += x->stands_out[i] ? values[i * stride + at] : 0.0;
    }
    return sum / (double)count_out(x);
}

static const char *ns(const struct causing *x, double value)
{
    return inq_arena_time(x->c->arena, (int64_t)llround(value));
}

/* The kernel that changed most in the direction of the cause. */
static const char *say_kernel(struct causing *x, int sign)
{
    const struct inq_compared_kernel *best = NULL;
    for (size_t i = 0; i < x->c->n_kernels; i++) {
        const struct inq_compared_kernel *k = &x->c->kernels[i];
        best = sign * k->loss_ns > (best != NULL ? sign * best->loss_ns : 0) ? k : best;
    }
    if (best == NULL) {
        return "";
    }
    return or_empty(x, inq_arena_asprintf(x->c->arena, "; most of it %s (%s, %s before)",
                                          inq_arena_name(x->c->arena, best->name),
                                          inq_arena_time(x->c->arena, best->ns[1]),
                                          inq_arena_time(x->c->arena, best->ns[0])));
}

/* "s" after the verb of one: a rank, a stage, a host. */
static const char *verb_s(const char *who)
{
    return strncmp(who, "ranks", 5) == 0 || strncmp(who, "all", 3) == 0 ? "" : "s";
}

static const char *say_compute(struct causing *x, const char *who, double was_ns, double more_ns)
{
    double before = mean_of(x, x->kernels, 2, 0);
    double now = mean_of(x, x->kernels, 2, 1);
    const char *than = x->c->scaling == INQ_SCALING_SAME ? "before" : "expected";
    const char *device = x->c->run[1].device;
    bool other_gpu = count_out(x) == x->n && device[0] != '\0' && x->c->run[0].device[0] != '\0' &&
                     strcmp(device, x->c->run[0].device) != 0;
    if (other_gpu && fabs(now - before) <= SAME_COUNT * before) {
        return inq_arena_asprintf(x->c->arena,
                                  "another GPU: %.60s -> %.60s, compute takes %s per step, %s %s "
                                  "(%.2fx)",
                                  x->c->run[0].device, device, ns(x, was_ns + more_ns),
                                  ns(x, was_ns), than, was_ns / (was_ns + more_ns));
    }
    if (fabs(now - before) > SAME_COUNT * before && before > 0.0 &&
        x->c->scaling == INQ_SCALING_SAME) {
        return inq_arena_asprintf(
            x->c->arena,
            "%s run%s %.1f %% %s kernels (%.0f per step, %.0f before): compute "
            "takes %s, %s before%s",
            who, verb_s(who), 100.0 * fabs(now / before - 1.0), now > before ? "more" : "fewer",
            now, before, ns(x, was_ns + more_ns), ns(x, was_ns),
            say_kernel(x, more_ns > 0.0 ? 1 : -1));
    }
    return inq_arena_asprintf(
        x->c->arena, "%s compute%s %.1f %% %s than %s, %s per step against %s%s", who, verb_s(who),
        100.0 * fabs(more_ns) / was_ns, more_ns > 0.0 ? "longer" : "less", than,
        ns(x, was_ns + more_ns), ns(x, was_ns),
        count_out(x) == x->n ? say_kernel(x, more_ns > 0.0 ? 1 : -1) : "");
}

/* What the hosts were in, where that changed most. */
static const char *say_host_part(struct causing *x, int sign)
{
    const struct inq_record_host *best = NULL;
    int64_t most = 0;
    int64_t before = 0;
    for (int run = 0; run < 2; run++) { /* also what is gone */
        for (size_t i = 0; i < x->p[run].n_hosts; i++) {
            const struct inq_record_host *h = &x->p[run].hosts[i];
            int64_t other = 0;
            for (size_t k = 0; k < x->p[1 - run].n_hosts; k++) {
                bool same = strcmp(x->p[1 - run].hosts[k].what, h->what) == 0;
                other = same ? x->p[1 - run].hosts[k].ns : other;
            }
            int64_t grown = run == 1 ? h->ns - other : other - h->ns;
            if (sign * grown > most) {
                most = sign * grown;
                best = h;
                before = run == 1 ? other : h->ns;
            }
        }
    }
    if (best == NULL || strcmp(best->what, "not recorded") == 0) {
        return "";
    }
    return or_empty(
        x, inq_arena_asprintf(x->c->arena, "; %s %s most (mean of all ranks: %s, %s before)",
                              inq_arena_name(x->c->arena, best->what), sign > 0 ? "grew" : "shrank",
                              inq_arena_time(x->c->arena, before + sign * most),
                              inq_arena_time(x->c->arena, before)));
}

static const char *say_own(struct causing *x, int own, const char *who, double was_ns,
                           double more_ns)
{
    const char *longer = more_ns > 0.0 ? "longer" : "less";
    const char *name = count_out(x) < x->n ? who : x->n > 1 ? "all ranks" : "the rank";
    switch (own) {
    case OWN_COMPUTE:
        return say_compute(x, name, was_ns, more_ns);
    case OWN_HOST:
        return inq_arena_asprintf(
            x->c->arena, "the GPU%s of %s wait%s %s for %s host, %s per step, %s before%s",
            count_out(x) > 1 ? "s" : "", name, count_out(x) > 1 ? "" : "s", longer,
            count_out(x) > 1 ? "their" : "its", ns(x, was_ns + more_ns), ns(x, was_ns),
            say_host_part(x, more_ns > 0.0 ? 1 : -1));
    case OWN_COPY:
        return inq_arena_asprintf(x->c->arena, "exposed copies of %s take %s, %s before", name,
                                  ns(x, was_ns + more_ns), ns(x, was_ns));
    default:
        return inq_arena_asprintf(x->c->arena,
                                  "the GPU%s of %s idle%s %s, %s per step, %s before; the cause "
                                  "was not recorded",
                                  count_out(x) > 1 ? "s" : "", name, count_out(x) > 1 ? "" : "s",
                                  longer, ns(x, was_ns + more_ns), ns(x, was_ns));
    }
}

/* ---- candidates ------------------------------------------------------------------------------*/

static struct inq_compared_cause *add(struct causing *x, enum inq_loss loss, double value)
{
    struct inq_compared_cause *cause = &x->c->causes[x->c->n_causes++];
    *cause = (struct inq_compared_cause){.loss = loss, .ns = llround(value), .stage = -1};
    return cause;
}

/* The part of the waiting for a rank that its excess over `common` has, or (common_too) that what
 * is common has. */
static double wait_of(const struct causing *x, size_t at, double common, bool common_too)
{
    double own = x->own_ns[at];
    double part = common == 0.0 || own * common <= 0.0 ? 0.0 : fmin(common / own, 1.0);
    return x->wait_ns[at] * (common_too ? part : 1.0 - part);
}

/* What stands out of the common costs: on average with the waiting for it, or, where few stand out,
 * what they take longer and all the others wait for; never more than changed at all. */
static double cost_of(const struct causing *x, int own, double more_ns, double common)
{
    double mean = 0.0;
    for (size_t i = 0; i < x->n; i++) {
        size_t at = i * OWNS + (size_t)own;
        mean += x->stands_out[i]
                    ? (x->own_ns[at] - common) / (double)x->n + wait_of(x, at, common, false)
                    : 0.0;
    }
    double sign = more_ns - common > 0.0 ? 1.0 : -1.0;
    double total = (double)x->c->loss_total_ns;
    double cost = sign * mean > sign * (more_ns - common) ? mean : more_ns - common;
    return sign * total > 0.0 && sign * cost > sign * total ? total : cost;
}

/* What all have in common costs, with the waiting for it; where it stands out of nothing (`alone`)
 * all waiting is for it. */
static double cost_of_all(const struct causing *x, int own, double common, bool alone)
{
    double cost = common;
    for (size_t i = 0; i < x->n; i++) {
        size_t at = i * OWNS + (size_t)own;
        cost += alone ? x->wait_ns[at] : wait_of(x, at, common, true);
    }
    double total = (double)x->c->loss_total_ns;
    bool over = cost * total > 0.0 && fabs(cost) > fabs(total);
    return over ? total : cost;
}

static void add_own(struct causing *x, int own, double common)
{
    double was_ns = mean_of(x, x->was_ns, OWNS, (size_t)own);
    double more_ns = mean_of(x, x->own_ns, OWNS, (size_t)own);
    struct inq_compared_cause *cause = add(x, own_loss[own], cost_of(x, own, more_ns, common));
    const char *who = name_who(x, cause);
    cause->part = fabs(more_ns - common) / (double)x->c->ideal_ns;
    x->swaps[x->c->n_causes - 1] = (struct inq_cause_swap){true, common, false};
    cause->text = or_empty(x, say_own(x, own, who, was_ns, more_ns));
}

/* Whether each that stands out differs from the others by more than chance; or, few of them (a
 * fault that comes in some steps), have nearly all of what is more than common. */
static bool differs(const struct causing *x, int own, double common, double most)
{
    double others = 0.0;
    double n[2] = {0.0, 0.0};
    double beyond[2] = {0.0, 0.0};
    for (size_t i = 0; i < x->n; i++) {
        int out = x->stands_out[i];
        double more = x->own_ns[i * OWNS + (size_t)own];
        others += out ? 0.0 : more;
        n[out] += 1.0;
        double over = fabs(more - common); /* work that moves between ranks is less on others */
        beyond[out] += 4.0 * over > most ? over : 0.0; /* less is noise beside it */
    }
    bool few = 4.0 * n[1] <= n[0] + n[1] && beyond[1] > NEARLY_ALL * (beyond[0] + beyond[1]);
    bool each = n[0] > 0.0;
    for (size_t i = 0; each && i < x->n; i++) {
        size_t at = i * OWNS + (size_t)own;
        each = !x->stands_out[i] || fabs(x->own_ns[at] - others / n[0]) > ERRORS * x->error_ns[at];
    }
    return n[0] > 0.0 && (few || each);
}

/* Chooses the ranks on which a part grew (or shrank, sign -1) by more than on the usual one: at
 * least half as much as on that which did so most. False: none does by more than `least` or chance.
 */
static bool choose_group(struct causing *x, int own, double common, int sign, double least)
{
    double most = 0.0;
    for (size_t i = 0; i < x->n; i++) {
        most = fmax(most, sign * (x->own_ns[i * OWNS + (size_t)own] - common));
    }
    for (size_t i = 0; i < x->n; i++) {
        x->stands_out[i] = 2.0 * sign * (x->own_ns[i * OWNS + (size_t)own] - common) >= most;
    }
    return most > least && differs(x, own, common, most);
}

/* What three of four ranks have in common, in the direction in which they agree. */
static double common_of(struct causing *x, int own)
{
    for (size_t i = 0; i < x->n; i++) {
        x->sorted[i] = x->own_ns[i * OWNS + (size_t)own];
    }
    inq_sort_double(x->sorted, x->n);
    double low = x->sorted[x->n / 4];
    double high = x->sorted[x->n - 1 - x->n / 4];
    return low > 0.0 ? low : high < 0.0 ? high : 0.0;
}

/* Ranks of which each takes longer in steps of its own: their means say little. */
static const char *say_turns(struct causing *x, int own, double cost)
{
    static const char *const what[OWNS] = {"compute", "waiting for the host", "copies",
                                           "idle time"};
    return inq_arena_asprintf(x->c->arena,
                              "%s of the ranks differs %s from step to step and from rank to rank, "
                              "and the others wait for whoever is late%s",
                              what[own], cost > 0.0 ? "more" : "less",
                              own == OWN_HOST ? say_host_part(x, cost > 0.0 ? 1 : -1) : "");
}

static void add_common(struct causing *x, int own, double common, bool alone, double least)
{
    for (size_t i = 0; i < x->n; i++) {
        x->stands_out[i] = true;
    }
    common = alone ? mean_of(x, x->own_ns, OWNS, (size_t)own) : common;
    double cost = cost_of_all(x, own, common, alone);
    if (fabs(cost) <= least) {
        return;
    }
    double was_ns = mean_of(x, x->was_ns, OWNS, (size_t)own);
    struct inq_compared_cause *cause = add(x, own_loss[own], cost);
    cause->part = fabs(common) / (double)x->c->ideal_ns;
    bool turns = TURNS * fabs(common) < fabs(cost);
    x->swaps[x->c->n_causes - 1] = (struct inq_cause_swap){alone, alone ? 0.0 : common, turns};
    cause->text =
        or_empty(x, turns ? say_turns(x, own, cost) : say_own(x, own, "", was_ns, common));
}

/* Whether those that do not stand out are waited for more than those that do cost in all: then who
 * is late changes from step to step, and those that stand out do so by chance. */
static bool takes_turns(const struct causing *x, int own, double common)
{
    double others = 0.0;
    for (size_t i = 0; i < x->n; i++) {
        others += x->stands_out[i] ? 0.0 : x->wait_ns[i * OWNS + (size_t)own];
    }
    double more_ns = mean_of(x, x->own_ns, OWNS, (size_t)own);
    double sign = more_ns - common > 0.0 ? 1.0 : -1.0;
    return sign * others > sign * cost_of(x, own, more_ns, common);
}

/* +1: the ranks are waited for longer than before for this part of theirs; -1: less; 0: by no more
 * than `least`, either way. */
static int direction_of(const struct causing *x, int own, double least)
{
    double sum = 0.0;
    for (size_t i = 0; i < x->n; i++) {
        sum += x->wait_ns[i * OWNS + (size_t)own];
    }
    return fabs(sum) <= least ? 0 : sum < 0.0 ? -1 : 1;
}

/* What is waited for belongs to all, unless some stand out in the same direction. */
static void add_owns(struct causing *x)
{
    double least = LEAST * (double)x->c->ideal_ns;
    for (int own = 0; own < OWNS; own++) {
        double common = common_of(x, own);
        bool alone = true;
        for (int sign = 1; sign >= -1; sign -= 2) {
            if (choose_group(x, own, common, sign, least) && !takes_turns(x, own, common)) {
                add_own(x, own, common);
                int direction = direction_of(x, own, least);
                alone = alone && direction != 0 && direction != sign;
            }
        }
        add_common(x, own, common, alone, least);
    }
}

/* Bytes and bandwidth are causes; what compute covers of them follows from the rest, and counts
 * against them only. */
static double transfer_cost(const struct inq_compared_coll *coll)
{
    double moved = (double)(coll->loss_ns[INQ_LOSS_BYTES] + coll->loss_ns[INQ_LOSS_BANDWIDTH] +
                            coll->loss_ns[INQ_LOSS_UNSIZED]);
    double covered = (double)coll->loss_ns[INQ_LOSS_OVERLAP];
    if (moved * covered < 0.0) {
        return fabs(moved) > fabs(covered) ? moved + covered : 0.0;
    }
    return moved;
}

static void add_colls(struct causing *x)
{
    const struct inq_comparison *c = x->c;
    double least = LEAST * (double)c->ideal_ns;
    for (size_t i = 0; i < c->n_colls; i++) {
        const struct inq_compared_coll *coll = &c->colls[i];
        double cost = transfer_cost(coll);
        if (fabs(cost) > least) {
            bool bytes = fabs((double)coll->loss_ns[INQ_LOSS_BYTES]) >
                         fabs((double)coll->loss_ns[INQ_LOSS_BANDWIDTH]);
            enum inq_loss loss = coll->loss_ns[INQ_LOSS_UNSIZED] != 0 ? INQ_LOSS_UNSIZED
                                 : bytes                              ? INQ_LOSS_BYTES
                                                                      : INQ_LOSS_BANDWIDTH;
            add(x, loss, cost)->coll = coll;
        }
    }
}

/* Parts of the step that are no rank's own. */
static void add_parts(struct causing *x, const enum inq_loss *rest, size_t n)
{
    double least = LEAST * (double)x->c->ideal_ns;
    for (size_t i = 0; i < n; i++) {
        double value = (double)x->c->loss_ns[rest[i]];
        if (fabs(value) > least) {
            (void)add(x, rest[i], value);
        }
    }
}

/* Whether what is there explains a fifth of the change, alone or the first two together (of those
 * that hide each other neither does alone). The rest are consequences that lead to none of it. */
static bool explains(const struct inq_comparison *c)
{
    int64_t sign = c->loss_total_ns < 0 ? -1 : 1;
    int64_t together_ns = 0;
    for (size_t i = 0; i < c->n_causes; i++) {
        const struct inq_compared_cause *cause = &c->causes[i];
        together_ns += i < 2 && cause->simulated ? cause->in_order_ns : 0;
        if (5 * sign * cause->ns > sign * c->loss_total_ns ||
            5 * sign * together_ns > sign * c->loss_total_ns) {
            return true;
        }
    }
    return false;
}

/* Causes from `first` on, each before those that cost less. */
static void put_in_order(struct inq_comparison *c, size_t first)
{
    int64_t sign = c->loss_total_ns < 0 ? -1 : 1;
    for (size_t i = first; i < c->n_causes; i++) {
        struct inq_compared_cause cause = c->causes[i];
        size_t at = i;
        while (at > 0 && sign * c->causes[at - 1].ns < sign * cause.ns) {
            c->causes[at] = c->causes[at - 1];
            at--;
        }
        c->causes[at] = cause;
    }
}

/* ---- links -----------------------------------------------------------------------------------*/

static bool is_over(const struct inq_candidate *link, const struct inq_compared_cause *cause,
                    const struct inq_trace *trace, int run)
{
    if (cause->coll == NULL) {
        return cause->loss == INQ_LOSS_P2P && inq_coll_is_p2p(link->coll);
    }
    const char *kind = inq_coll_kind_text(link->coll);
    size_t length = strlen(kind);
    return cause->loss == INQ_LOSS_BANDWIDTH && link->group < trace->n_groups &&
           trace->groups[link->group].size == cause->coll->group_size[run] &&
           strncmp(cause->coll->name, kind, length) == 0 && cause->coll->name[length] == ' ';
}

/* Whether the other run's links are slow at the same ranks. */
static bool has_link(const struct inq_report *report, const struct inq_trace *trace,
                     const struct inq_candidate *link)
{
    const struct inq_attribution *known = report->attribution;
    for (size_t i = 0; known != NULL && i < known->n_candidates; i++) {
        const struct inq_candidate *other = &known->candidates[i];
        bool same = other->kind == INQ_FINDING_SLOW_LINK && other->n_ranks == link->n_ranks;
        for (size_t r = 0; same && r < link->n_ranks; r++) {
            same = report->trace->ranks[other->ranks[r]].rank == trace->ranks[link->ranks[r]].rank;
        }
        if (same) {
            return true;
        }
    }
    return false;
}

/* Whom a transfer that got slower is between, where its link is slow among those like it in the run
 * in which it costs, and was not in the other. */
static void name_links(struct causing *x, struct inq_report *const reports[2],
                       struct inq_compared_cause *cause)
{
    int run = cause->ns > 0 ? 1 : 0;
    const struct inq_trace *trace = reports[run]->trace;
    const struct inq_attribution *known = reports[run]->attribution;
    double ratio = (double)NAN; /* of the costliest */
    for (size_t i = 0; i < x->n; i++) {
        x->stands_out[i] = false;
    }
    for (size_t i = 0; known != NULL && i < known->n_candidates; i++) {
        const struct inq_candidate *link = &known->candidates[i];
        if (link->kind != INQ_FINDING_SLOW_LINK || !is_over(link, cause, trace, run) ||
            has_link(reports[1 - run], trace, link)) {
            continue;
        }
        ratio = isfinite(ratio) ? ratio : link->ratio;
        for (size_t r = 0; r < link->n_ranks; r++) {
            for (size_t k = 0; k < x->n; k++) {
                bool same = x->p[1].ranks[x->rank[k]].rank == trace->ranks[link->ranks[r]].rank;
                x->stands_out[k] = x->stands_out[k] || same;
            }
        }
    }
    if (count_out(x) > 0) {
        const char *who = name_who(x, cause);
        cause->link = or_empty(
            x, inq_arena_asprintf(x->c->arena, "%s %s %.3g times as long as among other ranks", who,
                                  run == 1 ? "take" : "took", ratio));
    }
}

static int set_up(struct causing *x)
{
    const struct inq_run_record *now = &x->p[1];
    size_t most = now->n_ranks + 1;
    x->rank = inq_arena_array(x->scratch, most, sizeof *x->rank);
    x->was_ns = inq_arena_array(x->scratch, most * OWNS, sizeof *x->was_ns);
    x->own_ns = inq_arena_array(x->scratch, most * OWNS, sizeof *x->own_ns);
    x->wait_ns = inq_arena_array(x->scratch, most * OWNS, sizeof *x->wait_ns);
    x->error_ns = inq_arena_array(x->scratch, most * OWNS, sizeof *x->error_ns);
    x->kernels = inq_arena_array(x->scratch, most * 2, sizeof *x->kernels);
    x->stands_out = inq_arena_array(x->scratch, most, sizeof *x->stands_out);
    x->sorted = inq_arena_array(x->scratch, most, sizeof *x->sorted);
    size_t most_causes = (size_t)OWNS * 3 + x->c->n_colls + 5;
    x->swaps = inq_arena_array(x->scratch, most_causes, sizeof *x->swaps);
    x->c->causes = inq_arena_array(x->c->arena, most_causes, sizeof *x->c->causes);
    if (x->rank == NULL || x->was_ns == NULL || x->own_ns == NULL || x->wait_ns == NULL ||
        x->error_ns == NULL || x->kernels == NULL || x->stands_out == NULL || x->sorted == NULL ||
        x->swaps == NULL || x->c->causes == NULL) {
        return INQ_NOMEM;
    }
    for (size_t r = 0; r < now->n_ranks; r++) {
        if (now->ranks[r].steps > 0) {
            x->rank[x->n] = (uint32_t)r;
            expect(x, x->n++);
        }
    }
    return INQ_OK;
}

int inq_compare_causes(struct inq_comparison *c, const struct inq_run_record *p,
                       struct inq_report *const reports[2], struct inq_err *err)
{
    /* consequences, told where nothing explains the change; what cannot be parted holds waiting */
    static const enum inq_loss rest[] = {INQ_LOSS_OVERLAP, INQ_LOSS_WAITING, INQ_LOSS_BUBBLE,
                                         INQ_LOSS_COMM_OTHER};
    static const enum inq_loss links[] = {INQ_LOSS_P2P};
    struct inq_arena scratch = {0};
    struct causing x = {.c = c, .p = p, .scratch = &scratch};
    int code = set_up(&x);
    if (code == INQ_OK && x.n > 0) {
        find_errors(&x);
        attribute(&x);
        add_owns(&x);
        add_colls(&x);
        add_parts(&x, links, sizeof links / sizeof *links);
    }
    if (code != INQ_OK || x.no_memory) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for a comparison");
    } else {
        code = inq_compare_swap(c, p, reports, x.swaps, err);
    }
    if (code == INQ_OK && x.n > 0 && !explains(c)) {
        size_t n = c->n_causes;
        add_parts(&x, rest, sizeof rest / sizeof *rest);
        put_in_order(c, n);
    }
    for (size_t i = 0; code == INQ_OK && i < c->n_causes; i++) {
        if (c->causes[i].n_ranks == 0) { /* of a transfer; its own costs name ranks already */
            name_links(&x, reports, &c->causes[i]);
        }
    }
    if (code == INQ_OK && x.no_memory) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for a comparison");
    }
    inq_arena_release(&scratch);
    return code;
}
