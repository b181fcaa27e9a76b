/* SPDX-License-Identifier: Apache-2.0 */
#include "account_families.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define COUNT_OF(list) (sizeof(list) / sizeof(*(list)))

struct draw {
    uint64_t state;
    char *text;
    size_t n;
};

/* splitmix64 */
static uint64_t next(struct draw *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int below(struct draw *d, int n)
{
    return (int)(next(d) % (uint64_t)n);
}

static void __attribute__((format(printf, 2, 3))) add(struct draw *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    d->n += (size_t)vsnprintf(d->text + d->n, sizeof(((struct drawn_run *)0)->spec) - d->n, format,
                              args);
    va_end(args);
}

/* One of the words; words that stand more than once are as much likelier. */
static const char *word(struct draw *d, const char *const *words, size_t n)
{
    return words[below(d, (int)n)];
}

/* ---- shapes ---------------------------------------------------------------------------------- */

struct drawn_shape {
    int ranks, gpus_per_host;
    bool pipeline, experts, chunks;
};

static void draw_pipeline(struct draw *d, struct drawn_shape *s)
{
    static const char *const p2p[] = {"args", "args", "batched", "batched", "fused", "bare"};
    static const char *const early[] = {"0", "0", "1", "2"};
    static const int stages[] = {2, 2, 4, 4, 8};
    int pp = stages[below(d, COUNT_OF(stages))];
    int dp = 1 + below(d, 4);
    int tp = 1 + (below(d, 4) == 0);
    /* A kernel that serves several transfers can be posted early by none of them. */
    const char *kind = word(d, p2p, COUNT_OF(p2p));
    bool shared = strcmp(kind, "batched") == 0 || strcmp(kind, "fused") == 0;
    const int batches[] = {1, pp / 2, pp, 2 * pp, 2 * pp, 3 * pp};
    int m = batches[below(d, COUNT_OF(batches))];
    bool chunks = m >= pp && !shared && below(d, 8) == 0;

    dp += dp * tp * pp < 4; /* two ranks are apart by at most two */
    s->ranks = dp * tp * pp;
    s->pipeline = true;
    s->chunks = chunks;
    add(d, "dp=%d,tp=%d,pp=%d,micro_batches=%d,layers=%d", dp, tp, pp, m,
        pp * (chunks ? 2 : 1 + below(d, 2)));
    add(d, "%s,p2p=%s,early_recv=%s%s%s", chunks ? ",chunks=2" : "", kind,
        shared ? "0" : word(d, early, COUNT_OF(early)), below(d, 4) == 0 ? ",p2p_group=world" : "",
        below(d, 3) == 0 ? ",labels=1" : "");
}

static void draw_replicas(struct draw *d, struct drawn_shape *s)
{
    static const int replicas[] = {4, 4, 6, 8, 8, 8, 12, 16, 32};
    int dp = replicas[below(d, COUNT_OF(replicas))];
    int tp = dp <= 8 && below(d, 3) == 0 ? 2 << below(d, 2) : 1;
    int kind = below(d, 4);

    s->ranks = dp * tp;
    s->experts = kind == 1 && tp == 1;
    add(d, "dp=%d,tp=%d,layers=%d,micro_batches=%d%s", dp, tp, 2 + 2 * below(d, 4), 1 + below(d, 2),
        kind == 0    ? ",sharded=1"
        : s->experts ? ",experts=1"
                     : "");
}

static struct drawn_shape draw_shape(struct draw *d)
{
    struct drawn_shape s = {0};

    if (below(d, 2) == 0) {
        draw_pipeline(d, &s);
    } else {
        draw_replicas(d, &s);
    }
    s.gpus_per_host = 2 << below(d, 3);
    add(d, ",gpus_per_host=%d", s.gpus_per_host);
    return s;
}

/* ---- ways to run and to record -----------------------------------------------------------------
 */

static void draw_record(struct draw *d)
{
    static const char *const sync[] = {"", "", ",wait=item", ",sync=0", ",sync=4,wait=item"};
    static const char *const args[] = {"", "", "", ",args=seq", ",args=old"};
    static const char *const clocks[] = {"", "", ",clock=1ms", ",clock=20ms",
                                         ",clock=1ms,drift=20"};
    static const char *const window[] = {"", "", "", ",window=ragged"};
    static const char *const ts[] = {"", "", ",ts=abs", ",ts=split"};
    static const char *const more[] = {
        "", "", "", ",calls=0", ",shapes=1", ",flows=1", ",cpu_ops=0", ",lean=1", ",names=handler"};
    static const char *const noise[] = {
        "",
        "",
        ",sigma=0.04",
        ",host_sigma=0.4",
        ",step_sigma=0.006",
        ",rank_sigma=0.004",
        ",link_sigma=0.08",
    };
    add(d, ",steps=%d%s%s%s%s%s%s%s", 5 + below(d, 8), word(d, sync, COUNT_OF(sync)),
        word(d, args, COUNT_OF(args)), word(d, clocks, COUNT_OF(clocks)),
        word(d, window, COUNT_OF(window)), word(d, ts, COUNT_OF(ts)), word(d, more, COUNT_OF(more)),
        word(d, noise, COUNT_OF(noise)));
}

/* ---- faults ---------------------------------------------------------------------------------- */

static bool has_needs(const struct family *family, const struct drawn_shape *s)
{
    bool p = strchr(family->needs, 'p') == NULL || s->pipeline;
    bool h = strchr(family->needs, 'h') == NULL || s->ranks >= 2 * s->gpus_per_host;
    bool e = strchr(family->needs, 'e') == NULL || s->experts;
    /* Of a job without any file nothing is said. */
    bool left = strstr(family->name, "missing_files") == NULL || s->ranks >= 8;
    /* Half of a job of another size is drawn by the table's own text for eight. */
    bool half = strstr(family->name, "half") == NULL || s->ranks == 8;
    /* Interleaved stages take their micro-batches in rounds. */
    bool whole = strstr(family->name, "one_micro_batch") == NULL || !s->chunks;
    return p && h && e && half && whole && left;
}

static void add_fault(struct draw *d, const struct family *family, const struct drawn_shape *s)
{
    const char *form = family->faults[below(d, STRENGTHS)];
    /* Two ranks of a set are two apart. */
    int rank = below(d, s->ranks - 2);

    add(d, *form != '\0' ? "," : "");
    for (; *form != '\0'; form++) {
        if (form[0] == '%' && form[1] == 'd') {
            add(d, "%d", rank);
            rank += 2;
            form++;
        } else {
            add(d, "%c", *form);
        }
    }
}

/* Families that are a fault each, of one finding: two of them at once are told apart. */
static bool joins(const struct family *family)
{
    return strchr(family->kinds, ' ') == NULL && *family->kinds != '\0' && !family->rotates &&
           strstr(family->faults[0], "fault=") == family->faults[0];
}

void draw_run(uint64_t seed, struct drawn_run *run)
{
    struct draw d = {.state = seed, .text = run->spec};
    size_t row = (size_t)below(&d, FAMILIES + 2);
    bool two = row >= FAMILIES;
    const struct family *first = &families[two ? 0 : row];
    const struct family *second = NULL;
    struct drawn_shape s;

    while (two && !joins(first)) {
        first = &families[below(&d, FAMILIES)];
    }
    while (two && (second == NULL || strcmp(second->kinds, first->kinds) == 0 || !joins(second))) {
        second = &families[below(&d, FAMILIES)];
    }
    do {
        d.n = 0;
        s = draw_shape(&d);
    } while (!has_needs(first, &s) || (two && !has_needs(second, &s)));
    draw_record(&d);
    add(&d, ",seed=%d,gz=0", 1 + below(&d, 1000000));
    run->family = *first;
    add_fault(&d, first, &s);
    if (two) {
        run->family.name = "two_at_once";
        (void)snprintf(run->kinds, sizeof run->kinds, "%s %s", first->kinds, second->kinds);
        run->family.kinds = run->kinds;
        add_fault(&d, second, &s);
    }
    run->row = two ? FAMILIES : row;
}
