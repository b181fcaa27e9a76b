/* SPDX-License-Identifier: Apache-2.0 */
/* Learning runs: nodes of shapes that are matched at once. */
#include "ingest/scan/shape.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* To miss is to compare once more, to learn anew costs ten times that. */
enum { MAX_MISSES = 8 };

/* The number at the end of a step; false when its width says too little of the next one's: it has a
 * sign, an exponent, or decimals and is no time. */
static bool measure_step(const struct inq_shape_step *step, struct inq_run_number *number)
{
    const char *p = step->from + step->node->len;
    size_t width = (size_t)(step->to - p);
    size_t whole = 0;
    while (whole < width && is_digit(p[whole])) {
        whole++;
    }
    bool time = step->node->slot == INQ_SLOT_TIME || step->node->field == INQ_FIELD_TS;
    size_t decimals = whole + 1;
    while (decimals < width && is_digit(p[decimals])) {
        decimals++;
    }
    bool decimal = time && whole + 1 < width && p[whole] == '.' && decimals == width;
    *number = (struct inq_run_number){.whole = (uint8_t)whole,
                                      .width = (uint8_t)width,
                                      .slot = step->node->slot,
                                      .field = step->node->field};
    bool longer_literal = step->node->slot == INQ_SLOT_NONE;
    return longer_literal || (whole > 0 && (whole == width || decimal));
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

/* Adds a step to the run of *len bytes; false when it does not fit, with the byte behind it. What
 * is passed over at the end of an event ends where it does whatever its digits are. */
static bool extend_run(struct inq_shape_run *run, const struct inq_shape_step *step, size_t *len)
{
    struct inq_run_number number;
    size_t n = (size_t)(step->to - step->from);
    bool last = step->node->slot >= INQ_SLOT_SKIP;
    bool fits = *len + n < INQ_SHAPE_RUN && run->n_numbers < INQ_RUN_NUMBERS;
    if (!fits || (!last && !measure_step(step, &number))) {
        return false;
    }
    memcpy(run->low + *len, step->from, n);
    memset(run->span + *len, 0, n);
    allow_digits(run, *len + step->node->len, *len + n);
    if (!last && (number.slot == INQ_SLOT_NUMBER || number.slot == INQ_SLOT_TIME)) {
        number.at = (uint8_t)(*len + step->node->len);
        run->numbers[run->n_numbers++] = number;
    }
    run->leaf = last ? step->node->leaf : NULL;
    run->next = step->node->child;
    *len += n;
    return true;
}

/* Makes a run of the first steps; returns how many of them it deals with. */
static size_t learn_run(const struct inq_shape_step *steps, size_t n)
{
    struct inq_shape_node *node = steps[0].node;
    if (node->run_len > 0 && ++node->run.misses < MAX_MISSES) {
        size_t row = 1;
        while (row < n && steps[row].from == steps[row - 1].to) {
            row++;
        }
        return row;
    }
    struct inq_shape_run fresh = {.n_numbers = 0};
    memset(fresh.span, UINT8_MAX, sizeof fresh.span);
    size_t len = 0;
    size_t taken = 0;
    while (taken < n && (taken == 0 || steps[taken].from == steps[taken - 1].to) &&
           extend_run(&fresh, &steps[taken], &len)) {
        taken++;
    }
    if (taken < 2 && fresh.leaf == NULL) { /* one number is matched as well by its node */
        return 1;
    }
    fresh.low[len] = (unsigned char)*steps[taken - 1].to;
    fresh.span[len] = 0;
    node->run = fresh;
    node->run_len = (uint8_t)len;
    return taken;
}

void inq_shape_learn_runs(const struct inq_shape_step *steps, size_t n)
{
    for (size_t i = 0; i < n;) {
        i += learn_run(steps + i, n - i);
    }
}
