/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two runs do the same work in a step. */
#include "inquest/check.h"

#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Profilers lose single records: a layer less of fifty is more than this. */
static const double SAME_WORK = 0.98;
/* Of the time of kernels that both runs have: what changes by one factor is at least half (the
 * rest does not depend on layers: embeddings, the loss, the update), by other factors little. */
static const double SCALED_LEAST = 0.5;
static const double OTHERWISE_MOST = 0.1;
/* Of the time: by so much in other shapes the work is other. */
static const double OTHER_SHAPES = 0.1;

static const struct inq_workload_item *same_item(const struct inq_workload *work,
                                                 const struct inq_workload_item *item)
{
    for (size_t i = 0; i < work->n; i++) {
        if (strcmp(work->items[i].what, item->what) == 0 &&
            strcmp(work->items[i].shape, item->shape) == 0) {
            return &work->items[i];
        }
    }
    return NULL;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* ---- more or fewer of everything that repeats ------------------------------------------------ */

/* now / base, in lowest terms. */
struct factor {
    int64_t now, base;
};

static struct factor factor_of(const struct inq_workload_item *now,
                               const struct inq_workload_item *base)
{
    int64_t common = gcd(now->count, base->count);
    return (struct factor){now->count / common, base->count / common};
}

/* How often what changed repeats in either run: the largest numbers that divide all counts but
 * those of updates, which run once for all micro-batches. */
struct scaled {
    double share, otherwise, all;
    int64_t now, base;
};

static struct scaled scale_by(const struct inq_workload *now, const struct inq_workload *base,
                              struct factor by)
{
    struct scaled s = {0};
    for (size_t i = 0; i < base->n; i++) {
        const struct inq_workload_item *was = &base->items[i];
        const struct inq_workload_item *is = same_item(now, was);
        if (is == NULL || is->count == 0 || was->count == 0) {
            continue;
        }
        struct factor own = factor_of(is, was);
        bool same = own.now == by.now && own.base == by.base;
        s.all += was->share;
        s.share += same ? was->share : 0.0;
        s.otherwise += !same && own.now != own.base ? was->share : 0.0;
        bool repeats = same && inq_kernel_kind_of(was->what) != INQ_KERNEL_UPDATE;
        s.now = repeats ? gcd(is->count, s.now) : s.now;
        s.base = repeats ? gcd(was->count, s.base) : s.base;
    }
    return s;
}

/* The factor of what takes most time of that which changed. */
static bool find_factor(const struct inq_workload *now, const struct inq_workload *base,
                        struct factor *by)
{
    for (size_t i = 0; i < base->n; i++) {
        const struct inq_workload_item *was = &base->items[i];
        const struct inq_workload_item *is = same_item(now, was);
        if (is != NULL && is->count > 0 && was->count > 0 && is->count != was->count) {
            *by = factor_of(is, was);
            return true;
        }
    }
    return false;
}

static void say_scaled(const struct inq_workload *now, const struct inq_workload *base,
                       const struct scaled *s, char *text, size_t size)
{
    int32_t replicas = now->replicas == base->replicas && now->replicas > 0 ? now->replicas : 1;
    bool whole = s->now % replicas == 0 && s->base % replicas == 0;
    int64_t of_now = whole ? s->now / replicas : s->now;
    int64_t of_base = whole ? s->base / replicas : s->base;
    int32_t passes = base->passes;
    bool batches = passes > 0 && now->passes > 0 && now->passes * of_base == passes * of_now;
    if (batches) {
        (void)snprintf(text, size, "%" PRId32 " micro-batch%s instead of %" PRId32, now->passes,
                       now->passes == 1 ? "" : "es", passes);
    } else if (whole && passes > 0 && passes == now->passes && of_now % passes == 0 &&
               of_base % passes == 0) {
        (void)snprintf(text, size, "%" PRId64 " layer%s instead of %" PRId64, of_now / passes,
                       of_now == passes ? "" : "s", of_base / passes);
    } else {
        (void)snprintf(text, size, "%.4g times the work", (double)s->now / (double)s->base);
    }
    size_t used = strlen(text);
    (void)snprintf(text + used, size - used,
                   " (what repeats in a step runs %" PRId64 " time%s%s instead of %" PRId64 ")",
                   of_now, of_now == 1 ? "" : "s", whole ? " in a replica" : "", of_base);
}

static bool is_scaled(const struct inq_workload *now, const struct inq_workload *base, char *text,
                      size_t size)
{
    struct factor by;
    if (!now->even || !base->even || !find_factor(now, base, &by)) {
        return false;
    }
    struct scaled s = scale_by(now, base, by);
    if (s.now == 0 || s.share < SCALED_LEAST * s.all || s.otherwise > OTHERWISE_MOST * s.all) {
        return false;
    }
    say_scaled(now, base, &s, text, size);
    return true;
}

/* ---- fewer products -------------------------------------------------------------------------- */

static bool is_less(const struct inq_workload *now, const struct inq_workload *base, char *text,
                    size_t size)
{
    bool math = base->math > 0;
    int64_t is = math ? now->math : now->kernels;
    int64_t was = math ? base->math : base->kernels;
    if ((double)is >= SAME_WORK * (double)was) {
        return false;
    }
    (void)snprintf(text, size,
                   "a step has %" PRId64 " %s instead of %" PRId64 ": that is less work", is,
                   math ? "matrix products, convolutions and attentions" : "GPU kernels", was);
    return true;
}

/* ---- other shapes ---------------------------------------------------------------------------- */

static int64_t count_of(const struct inq_workload *work, const char *what)
{
    int64_t count = 0;
    for (size_t i = 0; i < work->n; i++) {
        count += strcmp(work->items[i].what, what) == 0 ? work->items[i].count : 0;
    }
    return count;
}

/* What of the operator `base` does not have. */
static const struct inq_workload_item *fresh_shape(const struct inq_workload *now,
                                                   const struct inq_workload *base,
                                                   const struct inq_workload_item *was)
{
    for (size_t i = 0; i < now->n; i++) {
        const struct inq_workload_item *item = &now->items[i];
        if (strcmp(item->what, was->what) == 0 && item->shape[0] != '\0' &&
            item->count == was->count && same_item(base, item) == NULL) {
            return item;
        }
    }
    return NULL;
}

static bool is_reshaped(const struct inq_workload *now, const struct inq_workload *base, char *text,
                        size_t size)
{
    double share = 0.0;
    for (size_t i = 0; i < base->n; i++) {
        const struct inq_workload_item *was = &base->items[i];
        if (was->shape[0] == '\0' || same_item(now, was) != NULL ||
            count_of(now, was->what) != count_of(base, was->what)) {
            continue;
        }
        const struct inq_workload_item *is = fresh_shape(now, base, was);
        if (is != NULL && share == 0.0) {
            (void)snprintf(text, size, "other shapes: %s of %s instead of %s", was->what, is->shape,
                           was->shape);
        }
        share += is != NULL ? was->share : 0.0;
    }
    return share >= OTHER_SHAPES;
}

bool inq_workload_differs(const struct inq_workload *now, const struct inq_workload *base,
                          char *text, size_t size)
{
    text[0] = '\0';
    return is_scaled(now, base, text, size) || is_less(now, base, text, size) ||
           is_reshaped(now, base, text, size);
}
