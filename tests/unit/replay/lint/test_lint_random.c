/* SPDX-License-Identifier: Apache-2.0 */
/* Lint on random schedules: any order that runs passes, and of orders made by moving calls about,
 * exactly those that a plain simulation of blocking calls cannot finish are reported. */
#include "inquest/lint.h"
#include "schedule/schedule.h"
#include "support_sanitize.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CASES = TEST_SANITIZED ? 1000 : 10000, /* of a kind: each is like the others to a sanitizer */
    MOST_RANKS = 5,
    MOST_STAGES = 12,
    MOST_MICROBATCHES = 5
};

static uint32_t below(uint64_t *random, uint32_t n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33) % n;
}

/* ---- random orders that run ------------------------------------------------------------------ */

/* A schedule being grown by doing one thing after the other that can be done next. */
struct growth {
    struct inq_schedule s;
    int32_t next[MOST_STAGES], previous[MOST_STAGES]; /* -1: none */
    bool comms, split[MOST_STAGES];
    uint8_t f[MOST_STAGES][MOST_MICROBATCHES]; /* 1: done */
    uint8_t b[MOST_STAGES][MOST_MICROBATCHES]; /* 1: done (B, or I) */
    uint8_t w[MOST_STAGES][MOST_MICROBATCHES];
    /* what a stage has at hand; with `comms` only after a SEND and a RECV */
    uint8_t have_f[MOST_STAGES][MOST_MICROBATCHES];
    uint8_t have_b[MOST_STAGES][MOST_MICROBATCHES];
    uint8_t sent_f[MOST_STAGES][MOST_MICROBATCHES];
    uint8_t sent_b[MOST_STAGES][MOST_MICROBATCHES];
};

enum move_kind { MOVE_F, MOVE_B, MOVE_W, MOVE_SEND_F, MOVE_SEND_B };

struct move {
    enum move_kind kind;
    int32_t stage, microbatch;
};

static bool possible(const struct growth *g, struct move m)
{
    int32_t s = m.stage;
    int32_t i = m.microbatch;
    switch (m.kind) {
    case MOVE_F:
        return !g->f[s][i] && (g->previous[s] < 0 || g->have_f[s][i]);
    case MOVE_B:
        return !g->b[s][i] && g->f[s][i] && (g->next[s] < 0 || g->have_b[s][i]);
    case MOVE_W:
        return g->split[s] && g->b[s][i] && !g->w[s][i];
    case MOVE_SEND_F:
        return g->next[s] >= 0 && g->f[s][i] && !g->sent_f[s][i];
    case MOVE_SEND_B:
    default:
        return g->previous[s] >= 0 && g->b[s][i] && !g->sent_b[s][i];
    }
}

/* Hands a result to a neighboring stage: calls on both ranks, unless they are one. */
static void hand_over(struct growth *g, struct move m)
{
    bool forward = m.kind == MOVE_SEND_F;
    int32_t to = forward ? g->next[m.stage] : g->previous[m.stage];
    int32_t from_rank = g->s.stage_rank[m.stage];
    int32_t to_rank = g->s.stage_rank[to];
    (forward ? g->sent_f : g->sent_b)[m.stage][m.microbatch] = 1;
    (forward ? g->have_f : g->have_b)[to][m.microbatch] = 1;
    if (g->comms && from_rank != to_rank) {
        inq_schedule_append(&g->s, from_rank, forward ? INQ_ACTION_SEND_F : INQ_ACTION_SEND_B,
                            m.stage, m.microbatch, NULL);
        inq_schedule_append(&g->s, to_rank, forward ? INQ_ACTION_RECV_F : INQ_ACTION_RECV_B, to,
                            m.microbatch, NULL);
    }
}

static void make_move(struct growth *g, struct move m)
{
    int32_t rank = g->s.stage_rank[m.stage];
    enum inq_action_kind backward = g->split[m.stage] ? INQ_ACTION_I : INQ_ACTION_B;
    switch (m.kind) {
    case MOVE_F:
        g->f[m.stage][m.microbatch] = 1;
        inq_schedule_append(&g->s, rank, INQ_ACTION_F, m.stage, m.microbatch, NULL);
        break;
    case MOVE_B:
        g->b[m.stage][m.microbatch] = 1;
        inq_schedule_append(&g->s, rank, backward, m.stage, m.microbatch, NULL);
        break;
    case MOVE_W:
        g->w[m.stage][m.microbatch] = 1;
        inq_schedule_append(&g->s, rank, INQ_ACTION_W, m.stage, m.microbatch, NULL);
        break;
    case MOVE_SEND_F:
    case MOVE_SEND_B:
    default:
        hand_over(g, m);
    }
}

/* Any stages on any ranks, full and split backwards mixed, in any order that can be done. */
static void grow(struct growth *g, uint64_t *random, bool comms)
{
    memset(g, 0, sizeof *g);
    int32_t n_ranks = 1 + (int32_t)below(random, MOST_RANKS);
    int32_t n_stages = n_ranks + (int32_t)below(random, (uint32_t)(MOST_STAGES - n_ranks));
    int32_t m = 1 + (int32_t)below(random, MOST_MICROBATCHES);
    assert_int_equal(inq_schedule_start(n_ranks, n_stages, m, &g->s, NULL), INQ_OK);
    g->comms = g->s.has_comms = comms;
    for (int32_t s = 0; s < n_stages; s++) {
        g->s.stage_rank[s] = s < n_ranks ? s : (int32_t)below(random, (uint32_t)n_ranks);
        g->split[s] = below(random, 2) == 0;
    }
    for (int32_t s = 0; s < n_stages; s++) {
        g->next[s] = inq_schedule_next(&g->s, s);
        g->previous[s] = inq_schedule_previous(&g->s, s);
    }
    struct move moves[5 * MOST_STAGES * MOST_MICROBATCHES];
    for (size_t n = 1; n > 0;) {
        n = 0;
        for (int kind = MOVE_F; kind <= MOVE_SEND_B; kind++) {
            for (int32_t s = 0; s < n_stages; s++) {
                for (int32_t i = 0; i < m; i++) {
                    struct move one = {(enum move_kind)kind, s, i};
                    if (possible(g, one)) {
                        moves[n++] = one;
                    }
                }
            }
        }
        if (n > 0) {
            make_move(g, moves[below(random, (uint32_t)n)]);
        }
    }
}

static struct inq_lint lint_of(const struct inq_schedule *s, enum inq_grouping grouping)
{
    struct inq_lint_options options = {.grouping = grouping, .costs = {.stage = {1, 1, 1}}};
    struct inq_lint lint;
    struct inq_err err = {0};
    assert_int_equal(inq_lint_schedule(s, NULL, &options, &lint, &err), INQ_OK);
    return lint;
}

static void print_schedule(const struct inq_schedule *s)
{
    for (int32_t r = 0; r < s->n_ranks; r++) {
        for (size_t i = 0; i < s->ranks[r].n; i++) {
            char text[48];
            print_message("%s,", inq_action_format(&s->ranks[r].actions[i], text, sizeof text));
        }
        print_message("\n");
    }
}

static void assert_passes(const struct inq_schedule *s, enum inq_grouping grouping, int round)
{
    struct inq_lint lint = lint_of(s, grouping);
    if (lint.n_errors > 0) {
        print_schedule(s);
        fail_msg("case %d: %s %s: %s", round, inq_lint_rule_text(lint.problems[0].rule),
                 lint.problems[0].action, lint.problems[0].message);
    }
    assert_true(lint.buffer_depth == 0);
    inq_lint_release(&lint);
}

static bool is_comm(const struct inq_action *a)
{
    return a->kind >= INQ_ACTION_SEND_F && a->kind <= INQ_ACTION_RECV_B;
}

static bool is_send(const struct inq_action *a)
{
    return a->kind == INQ_ACTION_SEND_F || a->kind == INQ_ACTION_SEND_B;
}

static int32_t peer_of(const struct inq_schedule *s, const struct inq_action *a)
{
    bool to_next = a->kind == INQ_ACTION_SEND_F || a->kind == INQ_ACTION_RECV_B;
    return s
        ->stage_rank[to_next ? inq_schedule_next(s, a->stage) : inq_schedule_previous(s, a->stage)];
}

/* Within a group, calls to different peers or in different directions may stand in any order. */
static void shuffle_groups(struct inq_schedule *s, uint64_t *random)
{
    for (int32_t r = 0; r < s->n_ranks; r++) {
        for (size_t i = 1; i < s->ranks[r].n; i++) {
            struct inq_action *a = &s->ranks[r].actions[i - 1];
            bool free =
                is_comm(&a[0]) && is_comm(&a[1]) &&
                (is_send(&a[0]) != is_send(&a[1]) || peer_of(s, &a[0]) != peer_of(s, &a[1]));
            if (free && below(random, 2) == 0) {
                struct inq_action swap = a[0];
                a[0] = a[1];
                a[1] = swap;
            }
        }
    }
}

static void valid_schedules__never_raise_a_false_alarm(void **state)
{
    (void)state;
    uint64_t random = 20260101;
    static struct growth g;
    for (int round = 0; round < CASES; round++) {
        grow(&g, &random, round % 2 == 1);
        assert_passes(&g.s, INQ_GROUPING_NONE, round);
        assert_passes(&g.s, INQ_GROUPING_ADJACENT, round);
        if (g.comms) {
            shuffle_groups(&g.s, &random);
            assert_passes(&g.s, INQ_GROUPING_ADJACENT, round);
        }
        inq_schedule_release(&g.s);
    }
}

/* ---- orders that may hang -------------------------------------------------------------------- */

static bool partners(const struct inq_schedule *s, const struct inq_action *send,
                     const struct inq_action *recv)
{
    bool forward = send->kind == INQ_ACTION_SEND_F;
    int32_t to =
        forward ? inq_schedule_next(s, send->stage) : inq_schedule_previous(s, send->stage);
    return send->microbatch == recv->microbatch && recv->stage == to &&
           recv->kind == (forward ? INQ_ACTION_RECV_F : INQ_ACTION_RECV_B);
}

/* Whether ranks that block in every call until its peer calls the matching one get through. Without
 * tags a call meets the next call of its peer towards it, and that must be its own other half. */
static bool gets_through(const struct inq_schedule *s)
{
    size_t at[MOST_RANKS] = {0};
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t r = 0; r < s->n_ranks; r++) {
            const struct inq_rank_actions *list = &s->ranks[r];
            while (at[r] < list->n && !is_comm(&list->actions[at[r]])) {
                at[r]++;
                moved = true;
            }
            if (at[r] == list->n || !is_send(&list->actions[at[r]])) {
                continue;
            }
            int32_t peer = peer_of(s, &list->actions[at[r]]);
            if (at[peer] < s->ranks[peer].n &&
                partners(s, &list->actions[at[r]], &s->ranks[peer].actions[at[peer]])) {
                at[r]++;
                at[peer]++;
                moved = true;
            }
        }
    }
    for (int32_t r = 0; r < s->n_ranks; r++) {
        if (at[r] < s->ranks[r].n) {
            return false;
        }
    }
    return true;
}

/* Moves a call by some cells: a receive earlier or a send later, which its rank does not mind. */
static void disturb(struct inq_schedule *s, uint64_t *random)
{
    int32_t r = (int32_t)below(random, (uint32_t)s->n_ranks);
    struct inq_rank_actions *list = &s->ranks[r];
    if (list->n < 2) {
        return;
    }
    size_t i = below(random, (uint32_t)list->n);
    size_t cells = 1 + below(random, 4);
    if (!is_comm(&list->actions[i])) {
        return;
    }
    bool later = is_send(&list->actions[i]);
    for (size_t k = 0; k < cells && (later ? i + 1 < list->n : i > 0); k++) {
        size_t to = later ? i + 1 : i - 1;
        struct inq_action swap = list->actions[i];
        list->actions[i] = list->actions[to];
        list->actions[to] = swap;
        i = to;
    }
}

static void disturbed_schedules__are_reported_when_they_hang_and_only_then(void **state)
{
    (void)state;
    uint64_t random = 4711;
    static struct growth g;
    size_t hung = 0;
    size_t fine = 0;
    for (int round = 0; round < CASES; round++) {
        grow(&g, &random, true);
        for (uint32_t n = 1 + below(&random, 4); n > 0; n--) {
            disturb(&g.s, &random);
        }
        bool runs = gets_through(&g.s);
        struct inq_lint lint = lint_of(&g.s, INQ_GROUPING_NONE);
        if (runs != (lint.n_errors == 0)) {
            print_schedule(&g.s);
            fail_msg("case %d: it %s, lint found %zu errors: %s", round,
                     runs ? "gets through" : "hangs", lint.n_errors,
                     lint.n > 0 ? lint.problems[0].message : "");
        }
        hung += !runs;
        fine += runs;
        inq_lint_release(&lint);
        inq_schedule_release(&g.s);
    }
    print_message("%zu hang, %zu get through\n", hung, fine);
    assert_true(hung > CASES / 10 && fine > CASES / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_schedules__never_raise_a_false_alarm),
        cmocka_unit_test(disturbed_schedules__are_reported_when_they_hang_and_only_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
