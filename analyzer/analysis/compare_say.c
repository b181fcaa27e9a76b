/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison in two sentences: how much, and what for. */
#include "analysis/compare_parts.h"

#include "base/arena.h"
#include "base/time.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *ns(struct inq_arena *arena, int64_t value)
{
    char buf[32];
    const char *text = inq_arena_strdup(arena, inq_time_format(value, buf, sizeof buf));
    return text != NULL ? text : "";
}

/* "3.1 ms of it (84 %)": a part of the loss; parts of the other sign can make it more than all. */
static const char *of_it(const struct inq_comparison *c, int64_t part_ns)
{
    double percent = 100.0 * (double)part_ns / (double)c->loss_total_ns;
    const char *text =
        percent < 100.5
            ? inq_arena_printf(c->arena, "%s of it (%.0f %%)", ns(c->arena, part_ns), percent)
            : inq_arena_printf(c->arena, "%s, more than all of it,", ns(c->arena, part_ns));
    return text != NULL ? text : "";
}

/* ---- how much --------------------------------------------------------------------------------*/

static const char *say_same_size(const struct inq_comparison *c)
{
    const char *t1 = ns(c->arena, c->run[0].step_ns);
    const char *t2 = ns(c->arena, c->run[1].step_ns);
    double ratio = c->speedup;
    if (!c->changed) {
        return inq_arena_printf(c->arena, "Nothing changed: a step takes %s, %s before (%+.1f %%).",
                                t2, t1, 100.0 * (double)c->loss_total_ns / (double)c->ideal_ns);
    }
    return inq_arena_printf(
        c->arena, "The new run is %.2f times as %s: a step takes %s, %s before (%s %s).",
        ratio < 1.0 ? 1.0 / ratio : ratio, ratio < 1.0 ? "slow" : "fast", t2, t1,
        ns(c->arena, c->loss_total_ns < 0 ? -c->loss_total_ns : c->loss_total_ns),
        c->loss_total_ns < 0 ? "less" : "more");
}

static const char *say_scaled(const struct inq_comparison *c)
{
    const char *loss = ns(c->arena, c->loss_total_ns < 0 ? -c->loss_total_ns : c->loss_total_ns);
    const char *step = ns(c->arena, c->run[1].step_ns);
    const char *how = c->scaling == INQ_SCALING_STRONG ? "strong scaling, "
                      : c->scaling == INQ_SCALING_WEAK ? "weak scaling, "
                                                       : "";
    const char *more =
        !c->changed ? "nothing is lost beyond chance"
        : c->loss_total_ns > 0
            ? inq_arena_printf(c->arena, "%s of a step of %s are lost", loss, step)
            : inq_arena_printf(c->arena, "a step of %s is %s shorter than ideal", step, loss);
    return inq_arena_printf(c->arena,
                            "%" PRId32 " ranks are %.2f times as fast as %" PRId32
                            ", ideal is %.2f: %sefficiency %.1f %%; %s.",
                            c->run[1].ranks, c->speedup, c->run[0].ranks, c->ideal_speedup, how,
                            100.0 * c->efficiency, more != NULL ? more : "");
}

/* ---- what for --------------------------------------------------------------------------------*/

static const char *coll_name(const struct inq_comparison *c, const struct inq_compared_coll *coll)
{
    const char *name =
        coll->gradients ? inq_arena_printf(c->arena, "the gradient %s", coll->name) : coll->name;
    return name != NULL ? name : "";
}

static bool is_coll_loss(int loss)
{
    return loss == INQ_LOSS_BYTES || loss == INQ_LOSS_BANDWIDTH || loss == INQ_LOSS_OVERLAP ||
           loss == INQ_LOSS_UNSIZED || loss == INQ_LOSS_WAITING;
}

/* Which of a collective's losses is the largest in the direction of the whole. */
static int main_loss(const struct inq_compared_coll *coll, int sign)
{
    int best = INQ_LOSS_BYTES;
    for (int loss = 0; loss < INQ_LOSS_COUNT; loss++) {
        if (sign * coll->loss_ns[loss] > sign * coll->loss_ns[best]) {
            best = loss;
        }
    }
    return best;
}

static const char *say_why(const struct inq_comparison *c, const struct inq_compared_coll *coll,
                           int loss)
{
    const char *part = ns(c->arena, coll->loss_ns[loss]);
    const char *text = "";
    bool less = coll->loss_ns[loss] < 0;
    if (loss == INQ_LOSS_BYTES) {
        const char *work =
            c->work == 1.0 ? "" : inq_arena_printf(c->arena, ", with %.3g times the work", c->work);
        text = inq_arena_printf(c->arena,
                                "mostly %s bytes for the work (%s): %.3g MB per rank and step, "
                                "%.3g before%s",
                                less ? "fewer" : "more", part, coll->bytes[1] / 1e6,
                                coll->bytes[0] / 1e6, work != NULL ? work : "");
    } else if (loss == INQ_LOSS_BANDWIDTH) {
        text = inq_arena_printf(c->arena,
                                "mostly %s bandwidth (%s): busbw %.3g GB/s, %.3g before, groups of "
                                "%" PRId32 " ranks, %" PRId32 " before",
                                less ? "more" : "less", part, coll->busbw_gbps[1],
                                coll->busbw_gbps[0], coll->group_size[1], coll->group_size[0]);
    } else if (loss == INQ_LOSS_WAITING) {
        text = inq_arena_printf(c->arena, "mostly %s waiting (%s): %s per rank and step, %s before",
                                less ? "less" : "more", part, ns(c->arena, coll->wait_ns[1]),
                                ns(c->arena, coll->wait_ns[0]));
    } else if (loss == INQ_LOSS_OVERLAP) {
        text = inq_arena_printf(
            c->arena,
            "mostly because compute covers %s of it (%s): %s of %s exposed, %s of %s before",
            less ? "more" : "less", part, ns(c->arena, coll->exposed_ns[1]),
            ns(c->arena, coll->transfer_ns[1]), ns(c->arena, coll->exposed_ns[0]),
            ns(c->arena, coll->transfer_ns[0]));
    } else {
        text = inq_arena_printf(c->arena, "its transfers take %s %s; sizes were not recorded", part,
                                less ? "less" : "longer");
    }
    return text != NULL ? text : "";
}

static const char *say_coll(const struct inq_comparison *c, int sign)
{
    const struct inq_compared_coll *coll = &c->colls[0];
    for (size_t i = 1; i < c->n_colls; i++) {
        coll = sign * c->colls[i].total_loss_ns > sign * coll->total_loss_ns ? &c->colls[i] : coll;
    }
    int loss = main_loss(coll, sign);
    return inq_arena_printf(c->arena, "%s come from %s: %s.", of_it(c, coll->total_loss_ns),
                            coll_name(c, coll), say_why(c, coll, loss));
}

static const char *say_kernel(const struct inq_comparison *c)
{
    const struct inq_compared_kernel *k = c->n_kernels > 0 ? &c->kernels[0] : NULL;
    if (k == NULL || k->loss_ns == 0) {
        return "";
    }
    const char *text = inq_arena_printf(
        c->arena, " The kernel that changed most takes %s per rank and step, %s before: %.80s.",
        ns(c->arena, k->ns[1]), ns(c->arena, k->ns[0]), k->name);
    return text != NULL ? text : "";
}

/* More than this is not the noise of one rank. */
static const double COMPUTES_LONGER = 0.02;

/* Ranks (or stages) whose compute grew like that of the one that grew most, and well more than that
 * of the usual one: waiting and bubbles of all others come from them. */
static bool grew(const struct inq_comparison *c, const struct inq_compared_rank *r)
{
    const struct inq_compared_rank *usual = &c->compared[c->n_compared / 2];
    const struct inq_compared_rank *most = &c->compared[0];
    return most->loss_ns > 0 && r->loss_ns * 2 > most->loss_ns && r->loss_ns > 2 * usual->loss_ns &&
           (double)r->loss_ns > COMPUTES_LONGER * (double)(r->ns[1] - r->loss_ns);
}

static const char *say_ranks(const struct inq_comparison *c)
{
    enum { NAMED = 4 };
    const char *names = "";
    size_t n = 0;
    for (size_t i = 0; i < c->n_compared && grew(c, &c->compared[i]); i++) {
        const struct inq_compared_rank *r = &c->compared[i];
        if (++n <= NAMED) {
            names = inq_arena_printf(c->arena, "%s%s%" PRId32, names, n > 1 ? ", " : "",
                                     r->rank >= 0 ? r->rank : r->stage);
            names = names != NULL ? names : "";
        }
    }
    if (n == 0) {
        return "";
    }
    const struct inq_compared_rank *most = &c->compared[0];
    const char *text = inq_arena_printf(
        c->arena, "%s %s%s compute%s %.1f %% longer than %s, %s against %s, and the others wait. ",
        most->rank >= 0 ? (n > 1 ? "Ranks" : "Rank") : (n > 1 ? "Stages" : "Stage"), names,
        n > NAMED ? " and more" : "", n > 1 ? "" : "s",
        100.0 * (double)most->loss_ns / (double)(most->ns[1] - most->loss_ns),
        c->scaling == INQ_SCALING_SAME ? "before" : "their share", ns(c->arena, most->ns[1]),
        ns(c->arena, most->ns[1] - most->loss_ns));
    return text != NULL ? text : "";
}

static const char *say_part(const struct inq_comparison *c, int loss)
{
    const char *more = loss == INQ_LOSS_COMPUTE ? say_kernel(c) : "";
    return inq_arena_printf(c->arena, "%s come from %s.%s", of_it(c, c->loss_ns[loss]),
                            inq_loss_what((enum inq_loss)loss), more);
}

/* The largest cause in the direction of the whole: one kind of collective with all of its losses,
 * or one of the other parts. */
static const char *say_cause(const struct inq_comparison *c, int sign)
{
    int64_t most = 0;
    int best = -1;
    for (int loss = 0; loss < INQ_LOSS_COUNT; loss++) {
        if (!is_coll_loss(loss) && sign * c->loss_ns[loss] > most) {
            most = sign * c->loss_ns[loss];
            best = loss;
        }
    }
    for (size_t i = 0; i < c->n_colls; i++) {
        if (sign * c->colls[i].total_loss_ns > most) {
            return say_coll(c, sign);
        }
    }
    return best >= 0 ? say_part(c, best) : "";
}

/* A rank that computes longer comes first: what the others lose by it looks like bubbles, waiting,
 * or transfers that nothing covers. */
static const char *say_reason(const struct inq_comparison *c)
{
    int sign = c->loss_total_ns < 0 ? -1 : 1;
    if (!c->changed) {
        return "";
    }
    const char *ranks =
        sign > 0 && c->n_compared > 1 && 3 * c->compared[0].loss_ns > c->loss_total_ns
            ? say_ranks(c)
            : "";
    const char *cause = say_cause(c, sign);
    return cause != NULL ? inq_arena_printf(c->arena, "%s%s", ranks, cause) : NULL;
}

void inq_compare_say(struct inq_comparison *c)
{
    c->headline = c->scaling == INQ_SCALING_SAME ? say_same_size(c) : say_scaled(c);
    c->reason = say_reason(c);
}
