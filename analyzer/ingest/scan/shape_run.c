/* SPDX-License-Identifier: Apache-2.0 */
/* Learning runs: nodes of shapes that are matched at once. */
#include "ingest/scan/shape.h"

#include "base/hash.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* To miss is to compare once more, to learn anew costs ten times that. */
enum { MAX_MISSES = 8 };

/* The number at the end of a step; false when its width says too little of the next one's: it has
 * an exponent, or decimals and is no time. */
static bool measure_step(const struct inq_shape_step *step, struct inq_run_value *number)
{
    const char *p = step->from + step->node->len;
    bool time = step->node->slot == INQ_SLOT_TIME || step->node->field == INQ_FIELD_TS;
    bool minus = !time && *p == '-';
    p += minus;
    size_t width = (size_t)(step->to - p);
    size_t whole = 0;
    while (whole < width && is_digit(p[whole])) {
        whole++;
    }
    size_t decimals = whole + 1;
    while (decimals < width && is_digit(p[decimals])) {
        decimals++;
    }
    bool decimal = time && whole + 1 < width && p[whole] == '.' && decimals == width;
    *number = (struct inq_run_value){.whole = (uint8_t)whole,
                                     .width = (uint8_t)width,
                                     .slot = step->node->slot,
                                     .field = step->node->field};
    if (minus && number->slot == INQ_SLOT_NUMBER) {
        number->slot = INQ_SLOT_NEGATIVE;
    }
    bool fixed = step->node->slot == INQ_SLOT_NONE || step->node->slot == INQ_SLOT_STRING;
    return fixed || (whole > 0 && (whole == width || decimal));
}

/* Any digits will do from there on, but not a point. */
static void allow_digits(struct inq_shape_run *run, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (is_digit((char)run->low[i])) {
            run->low[i] = '0';
            run->span[i] = 9;
        }
    }
}

/* Adds a step to the run; false when it does not fit, with the byte behind it. What is passed over
 * at the end of an event ends where it does whatever its digits are. */
static bool extend_run(struct inq_shape_run *run, const struct inq_shape_step *step)
{
    struct inq_run_value value = {.slot = INQ_SLOT_NONE};
    const struct inq_shape_node *node = step->node;
    size_t n = (size_t)(step->to - step->from);
    bool last = node->slot >= INQ_SLOT_SKIP;
    bool fits = run->len + n < INQ_SHAPE_RUN && run->n_values < INQ_RUN_VALUES;
    if (!fits || (!last && !measure_step(step, &value))) {
        return false;
    }
    memcpy(run->low + run->len, step->from, n);
    memset(run->span + run->len, 0, n);
    if (node->slot != INQ_SLOT_STRING) {
        allow_digits(run, (size_t)run->len + node->len, run->len + n);
    }
    if (value.slot == INQ_SLOT_NUMBER || value.slot == INQ_SLOT_NEGATIVE ||
        value.slot == INQ_SLOT_TIME ||
        (value.slot == INQ_SLOT_STRING && node->field < INQ_FIELD_COUNT)) {
        value.at = (uint8_t)(run->len + node->len + (value.slot == INQ_SLOT_NEGATIVE));
        run->values[run->n_values++] = value;
    }
    run->len = (uint8_t)(run->len + n);
    return true;
}

/* Steps that follow each other, of the first n. */
static size_t count_row(const struct inq_shape_step *steps, size_t n)
{
    size_t row = 1;
    while (row < n && steps[row].from == steps[row - 1].to) {
        row++;
    }
    return row;
}

/* Makes a run of the first steps; returns how many of them it deals with. */
static size_t learn_run(const struct inq_shape_step *steps, size_t n)
{
    struct inq_shape_node *node = steps[0].node;
    size_t row = count_row(steps, n);
    if (row == 1 && node->slot < INQ_SLOT_SKIP) { /* is matched as well by its node */
        return 1;
    }
    if (node->n_runs == INQ_RUNS && ++node->misses < MAX_MISSES) {
        return row;
    }
    struct inq_shape_run fresh = {.len = 0};
    memset(fresh.span, UINT8_MAX, sizeof fresh.span);
    size_t taken = 0; /* up to a number or the end: what is behind a text is looked at too */
    uint8_t len = 0;
    uint8_t n_values = 0;
    for (size_t i = 0; i < row && extend_run(&fresh, &steps[i]); i++) {
        if (steps[i].node->slot != INQ_SLOT_STRING) {
            taken = i + 1;
            len = fresh.len;
            n_values = fresh.n_values;
        }
    }
    const struct inq_shape_node *last = taken > 0 ? steps[taken - 1].node : NULL;
    if (last == NULL || (taken == 1 && last->slot < INQ_SLOT_SKIP)) {
        return 1;
    }
    memset(fresh.span + len, UINT8_MAX, sizeof fresh.span - len);
    fresh.low[len] = (unsigned char)*steps[taken - 1].to;
    fresh.span[len] = 0;
    fresh.len = len;
    fresh.next = last->child;
    fresh.leaf = last->slot >= INQ_SLOT_SKIP ? last->leaf : NULL;
    bool dropped = fresh.leaf != NULL && fresh.leaf->action == INQ_SHAPE_DROP;
    fresh.n_values = dropped ? 0 : n_values;
    node->runs[node->oldest] = fresh;
    node->n_runs = (uint8_t)(node->n_runs + (node->n_runs < INQ_RUNS));
    node->oldest = (uint8_t)((node->oldest + 1) % INQ_RUNS);
    node->misses = 0;
    return taken;
}

/* Notes whether the text of a step is the one that was there before; false when it is another one
 * for the first time. */
static bool is_same_text(const struct inq_shape_step *step)
{
    struct inq_shape_node *node = step->node;
    const char *text = step->from + node->len;
    uint32_t hash = (uint32_t)inq_hash_bytes(text, (size_t)(step->to - text));
    node->varies = node->upto != 0 && node->stops != hash;
    node->stops = hash;
    node->upto = 1;
    return !node->varies;
}

void inq_shape_learn_runs(const struct inq_shape_step *steps, size_t n)
{
    bool same = true;
    for (size_t i = 0; i < n; i++) {
        same = (steps[i].node->slot != INQ_SLOT_STRING || is_same_text(&steps[i])) && same;
    }
    if (!same) { /* the runs with that text are of no use any more, and it comes into none again */
        for (size_t i = 0; i < n; i++) {
            steps[i].node->n_runs = 0;
            steps[i].node->oldest = 0;
        }
        return;
    }
    for (size_t i = 0; i < n;) {
        i += learn_run(steps + i, n - i);
    }
}
