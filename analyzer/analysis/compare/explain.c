/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison in two sentences: how much, and what for; and the words for its enums. */
#include "analysis/compare/compare.h"

#include "base/arena_text.h"
#include "inquest/memory.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What the comparison says of a cause: by how much. */
struct told {
    int64_t ns;
    bool simulated;
    bool more;     /* beyond what was told before */
    bool together; /* with the cause before it, which alone explains little */
};

/* "3.1 ms of the change (84 %)": a part of the change; parts of the other sign can make it more
 * than all. */
static const char *of_it(const struct inq_comparison *c, const struct told *told)
{
    double percent = 100.0 * (double)told->ns / (double)c->loss_total_ns;
    const char *ns = inq_arena_time(c->arena, told->ns < 0 ? -told->ns : told->ns);
    const char *before = told->together ? "together " : "";
    const char *more = told->more ? " more" : "";
    const char *text =
        percent < 100.5
            ? inq_arena_asprintf(c->arena, "%s%s%s of the change (%.0f %%%s)", before, ns, more,
                                 percent, told->simulated ? ", simulated" : "")
            : inq_arena_asprintf(c->arena, "%s%s%s, more than the whole change%s", before, ns, more,
                                 told->simulated ? " (simulated)" : "");
    return text != NULL ? text : "";
}

/* ---- how much --------------------------------------------------------------------------------*/

static const char *say_same_size(const struct inq_comparison *c)
{
    const char *t1 = inq_arena_time(c->arena, c->run[0].step_ns);
    const char *t2 = inq_arena_time(c->arena, c->run[1].step_ns);
    double ratio = c->speedup;
    if (c->other_work[0] != '\0') { /* neither faster nor slower: it is another job */
        return inq_arena_asprintf(
            c->arena, "Not the same work: %s. A step takes %s, %s before (%s %s).", c->other_work,
            t2, t1,
            inq_arena_time(c->arena, c->loss_total_ns < 0 ? -c->loss_total_ns : c->loss_total_ns),
            c->loss_total_ns < 0 ? "less" : "more");
    }
    if (!c->changed) {
        return inq_arena_asprintf(
            c->arena,
            "No change beyond the spread between runs: a step takes %s, %s before (%+.1f %%).", t2,
            t1, 100.0 * (double)c->loss_total_ns / (double)c->ideal_ns);
    }
    return inq_arena_asprintf(
        c->arena, "The new run %s %.2f times as %s: a step takes %s, %s before (%s %s).",
        ratio < 1.0 ? "takes" : "is", ratio < 1.0 ? 1.0 / ratio : ratio,
        ratio < 1.0 ? "long" : "fast", t2, t1,
        inq_arena_time(c->arena, c->loss_total_ns < 0 ? -c->loss_total_ns : c->loss_total_ns),
        c->loss_total_ns < 0 ? "less" : "more");
}

static const char *say_scaled(const struct inq_comparison *c)
{
    const char *loss =
        inq_arena_time(c->arena, c->loss_total_ns < 0 ? -c->loss_total_ns : c->loss_total_ns);
    const char *step = inq_arena_time(c->arena, c->run[1].step_ns);
    const char *how = c->scaling == INQ_SCALING_STRONG ? "strong scaling, "
                      : c->scaling == INQ_SCALING_WEAK ? "weak scaling, "
                                                       : "";
    const char *more =
        !c->changed ? "nothing is lost beyond chance"
        : c->loss_total_ns > 0
            ? inq_arena_asprintf(c->arena, "%s of a step of %s are lost", loss, step)
            : inq_arena_asprintf(c->arena, "a step of %s is %s shorter than ideal", step, loss);
    return inq_arena_asprintf(c->arena,
                              "%" PRId32 " ranks are %.2f times as fast as %" PRId32
                              ", ideal is %.2f: %sefficiency %.1f %%; %s.",
                              c->run[1].ranks, c->speedup, c->run[0].ranks, c->ideal_speedup, how,
                              100.0 * c->efficiency, more != NULL ? more : "");
}

/* ---- what for --------------------------------------------------------------------------------*/

static const char *coll_name(const struct inq_comparison *c, const struct inq_compared_coll *coll)
{
    const char *name =
        coll->gradients ? inq_arena_asprintf(c->arena, "the gradient %s", coll->name) : coll->name;
    return name != NULL ? name : "";
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

/* Where they differ: what crosses the bus grows with the group, though each rank passes as much. */
static const char *say_groups(const struct inq_comparison *c, const struct inq_compared_coll *coll)
{
    bool other = coll->group_size[0] > 0 && coll->group_size[1] > 0 &&
                 coll->group_size[0] != coll->group_size[1];
    const char *text =
        other ? inq_arena_asprintf(c->arena, ", groups of %" PRId32 " ranks, %" PRId32 " before",
                                   coll->group_size[1], coll->group_size[0])
              : "";
    return text != NULL ? text : "";
}

static const char *say_why(const struct inq_comparison *c, const struct inq_compared_coll *coll,
                           int loss)
{
    const char *text = "";
    bool less = coll->loss_ns[loss] < 0;
    const char *part = inq_arena_time(c->arena, less ? -coll->loss_ns[loss] : coll->loss_ns[loss]);
    char now[32];
    char was[32];
    if (loss == INQ_LOSS_BYTES) {
        const char *work =
            c->work == 1.0 ? ""
                           : inq_arena_asprintf(c->arena, ", with %.3g times the work", c->work);
        text = inq_arena_asprintf(
            c->arena, "mostly %s bytes for the work: %s per rank and step, %s before%s%s",
            less ? "fewer" : "more",
            inq_size_format(coll->bytes[1], INQ_SIZE_DECIMAL, now, sizeof now),
            inq_size_format(coll->bytes[0], INQ_SIZE_DECIMAL, was, sizeof was), say_groups(c, coll),
            work != NULL ? work : "");
    } else if (loss == INQ_LOSS_BANDWIDTH) {
        text = inq_arena_asprintf(c->arena, "mostly %s bandwidth: busbw %.3g GB/s, %.3g before%s",
                                  less ? "more" : "less", coll->busbw_gbps[1], coll->busbw_gbps[0],
                                  say_groups(c, coll));
    } else if (loss == INQ_LOSS_WAITING) {
        text = inq_arena_asprintf(
            c->arena, "mostly %s waiting (%s): %s per rank and step, %s before",
            less ? "less" : "more", part, inq_arena_time(c->arena, coll->wait_ns[1]),
            inq_arena_time(c->arena, coll->wait_ns[0]));
    } else if (loss == INQ_LOSS_OVERLAP) {
        text = inq_arena_asprintf(
            c->arena,
            "mostly because compute covers %s of it (%s): %s of %s exposed, %s of %s before",
            less ? "more" : "less", part, inq_arena_time(c->arena, coll->exposed_ns[1]),
            inq_arena_time(c->arena, coll->transfer_ns[1]),
            inq_arena_time(c->arena, coll->exposed_ns[0]),
            inq_arena_time(c->arena, coll->transfer_ns[0]));
    } else {
        text = inq_arena_asprintf(c->arena, "its transfers take %s %s; sizes were not recorded",
                                  part, less ? "less" : "longer");
    }
    return text != NULL ? text : "";
}

static const char *say_coll(const struct inq_comparison *c, const struct inq_compared_cause *cause,
                            const struct told *told)
{
    int loss = main_loss(cause->coll, cause->ns < 0 ? -1 : 1);
    return inq_arena_asprintf(c->arena, "%s come from %s: %s%s%s.", of_it(c, told),
                              coll_name(c, cause->coll), say_why(c, cause->coll, loss),
                              cause->link != NULL ? "; transfers of " : "",
                              cause->link != NULL ? cause->link : "");
}

/* "Rank 2 computes ...; 1.9 ms of the change (97 %)." */
static const char *say_cause(const struct inq_comparison *c, const struct inq_compared_cause *cause,
                             const struct told *told)
{
    if (cause->coll != NULL) {
        return say_coll(c, cause, told);
    }
    if (cause->text == NULL) {
        return inq_arena_asprintf(
            c->arena, "%s come from %s%s%s.", of_it(c, told), inq_loss_what(cause->loss),
            cause->link != NULL ? ": those of " : "", cause->link != NULL ? cause->link : "");
    }
    return inq_arena_asprintf(c->arena, "%c%s: %s.", toupper((unsigned char)cause->text[0]),
                              cause->text + 1, of_it(c, told));
}

/* What a cause explains beyond those before it. */
static int64_t beyond(const struct inq_compared_cause *cause)
{
    return cause->simulated ? cause->in_order_ns : cause->ns;
}

/* The main cause, and the next one where it matters half as much. Where two hide each other the
 * first alone explains little: then both are told, and what they explain together. */
static const char *say_reason(struct inq_comparison *c)
{
    int64_t sign = c->loss_total_ns < 0 ? -1 : 1;
    const char *reason = "";
    int64_t so_far_ns = 0;
    for (size_t i = 0; i < c->n_causes; i++) {
        struct inq_compared_cause *cause = &c->causes[i];
        int64_t own_ns = beyond(cause);
        bool second = i == 1 && 2 * sign * own_ns > sign * so_far_ns;
        bool hidden = second && sign * own_ns > 2 * sign * so_far_ns;
        struct told told = {hidden ? own_ns + so_far_ns : own_ns, cause->simulated,
                            second && !hidden && cause->simulated, hidden};
        const char *text = say_cause(c, cause, &told);
        if (cause->text == NULL) {
            cause->text = text;
        }
        bool shown = sign * own_ns > 0 && (i == 0 || second);
        if (c->changed && shown && reason != NULL && text != NULL) {
            reason = inq_arena_asprintf(c->arena, "%s%s%s", reason, i > 0 ? " " : "", text);
        }
        so_far_ns += own_ns;
    }
    return reason;
}

void inq_compare_sentence(struct inq_comparison *c)
{
    c->headline = c->scaling == INQ_SCALING_SAME ? say_same_size(c) : say_scaled(c);
    c->reason = say_reason(c);
}

/* ---- words for the enums: part of the JSON, so they never change meaning -----------------------
 */

#define PART_TEXT(name, text, what) text,
#define PART_WHAT(name, text, what) what,

const char *inq_step_part_text(enum inq_step_part part)
{
    static const char *const texts[] = {INQ_STEP_PARTS(PART_TEXT)};
    return texts[part];
}

const char *inq_step_part_what(enum inq_step_part part)
{
    static const char *const texts[] = {INQ_STEP_PARTS(PART_WHAT)};
    return texts[part];
}

const char *inq_loss_text(enum inq_loss loss)
{
    static const char *const texts[] = {INQ_LOSSES(PART_TEXT)};
    return texts[loss];
}

const char *inq_loss_what(enum inq_loss loss)
{
    static const char *const texts[] = {INQ_LOSSES(PART_WHAT)};
    return texts[loss];
}

const char *inq_scaling_text(enum inq_scaling scaling)
{
    static const char *const texts[] = {"same", "weak", "strong", "other"};
    return texts[scaling];
}

const char *inq_change_text(enum inq_change change)
{
    static const char *const texts[] = {"new", "gone", "worse", "better"};
    return texts[change];
}
