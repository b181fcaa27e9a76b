/* SPDX-License-Identifier: Apache-2.0 */
/* Selecting steps: what belongs to others goes, and every index still points at its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "inquest/trace.h"

#include <string.h>

enum { RANKS = 2, EVENTS = 6, STEPS = 3 };

/* Two ranks, three steps (5, 6, 7) of two events each: event i starts at 100 * i and belongs to
 * step i / 2; the odd ones are one collective each. */
struct fixture {
    struct inq_trace trace;
    struct inq_rank ranks[RANKS];
    struct inq_step steps[STEPS];
    struct inq_collective collectives[STEPS];
    struct inq_member members[RANKS * STEPS];
    struct inq_note notes[RANKS][STEPS];
    int64_t start_ns[RANKS][EVENTS], dur_ns[RANKS][EVENTS];
    uint32_t name[RANKS][EVENTS], lane[RANKS][EVENTS], call[RANKS][EVENTS], comm[RANKS][EVENTS];
    uint32_t step[RANKS][EVENTS];
    uint8_t kind[RANKS][EVENTS], cls[RANKS][EVENTS];
};

static void fill_rank(struct fixture *f, size_t r)
{
    for (size_t i = 0; i < EVENTS; i++) {
        f->start_ns[r][i] = (int64_t)(100 * i);
        f->dur_ns[r][i] = 50;
        f->name[r][i] = (uint32_t)i;
        f->call[r][i] = INQ_NONE;
        f->comm[r][i] = i % 2 == 1 ? 0 : INQ_NONE;
        f->step[r][i] = (uint32_t)(i / 2);
    }
    for (size_t s = 0; s < STEPS; s++) {
        f->notes[r][s] = (struct inq_note){
            .start_ns = (int64_t)(200 * s), .dur_ns = 190, .number = (int64_t)(5 + s)};
    }
    f->ranks[r] = (struct inq_rank){
        .rank = (int32_t)r,
        .n_notes = STEPS,
        .notes = f->notes[r],
        .events = {.n = EVENTS,
                   .start_ns = f->start_ns[r],
                   .dur_ns = f->dur_ns[r],
                   .name = f->name[r],
                   .lane = f->lane[r],
                   .call = f->call[r],
                   .comm = f->comm[r],
                   .step = f->step[r],
                   .kind = f->kind[r],
                   .cls = f->cls[r]},
    };
}

static void fill(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    for (size_t r = 0; r < RANKS; r++) {
        fill_rank(f, r);
    }
    for (uint32_t s = 0; s < STEPS; s++) {
        f->steps[s] = (struct inq_step){
            .number = 5 + s, .start_ns = 200 * (int64_t)s, .end_ns = 200 * (int64_t)s + 190};
        f->collectives[s] =
            (struct inq_collective){.seq = s, .first_member = 2 * s, .n_members = 2};
        for (uint32_t r = 0; r < RANKS; r++) {
            f->members[2 * s + r] = (struct inq_member){r, 2 * s + 1};
        }
    }
    f->trace = (struct inq_trace){.n_ranks = RANKS,
                                  .ranks = f->ranks,
                                  .n_steps = STEPS,
                                  .steps = f->steps,
                                  .n_collectives = STEPS,
                                  .collectives = f->collectives,
                                  .n_members = RANKS * STEPS,
                                  .members = f->members};
}

static void keep_steps__indices_follow(void **state)
{
    struct fixture f;
    struct inq_err err = {0};
    (void)state;
    fill(&f);
    assert_int_equal(inq_trace_keep_steps(&f.trace, (struct inq_range){6, 6}, &err), INQ_OK);
    assert_int_equal(f.trace.n_steps, 1);
    assert_int_equal(f.trace.steps[0].number, 6);
    for (size_t r = 0; r < RANKS; r++) {
        assert_int_equal(f.ranks[r].events.n, 2);
        assert_int_equal(f.ranks[r].events.name[0], 2);
        assert_int_equal(f.ranks[r].events.step[1], 0);
        assert_int_equal(f.ranks[r].n_notes, 1);
        assert_int_equal(f.ranks[r].notes[0].number, 6);
        assert_int_equal(f.ranks[r].first_ns, 200);
        assert_int_equal(f.ranks[r].last_ns, 390);
    }
    assert_int_equal(f.trace.n_collectives, 1);
    assert_int_equal(f.trace.collectives[0].seq, 1);
    assert_int_equal(f.trace.n_members, 2);
    assert_int_equal(f.trace.members[1].rank, 1);
    assert_int_equal(f.trace.members[1].event, 1);
    assert_int_equal(f.trace.unmatched_comms, 0);
}

/* Collectives are sorted by time, their members by how they were matched. */
static void keep_steps__members_in_any_order(void **state)
{
    struct fixture f;
    struct inq_err err = {0};
    (void)state;
    fill(&f);
    for (uint32_t s = 0; s < STEPS; s++) {
        f.collectives[s].first_member = 2 * (STEPS - 1 - s);
        for (uint32_t r = 0; r < RANKS; r++) {
            f.members[f.collectives[s].first_member + r] = (struct inq_member){r, 2 * s + 1};
        }
    }
    assert_int_equal(inq_trace_keep_steps(&f.trace, (struct inq_range){5, 7}, &err), INQ_OK);
    assert_int_equal(f.trace.n_collectives, STEPS);
    assert_int_equal(f.trace.unmatched_comms, 0);
    for (uint32_t s = 0; s < STEPS; s++) {
        const struct inq_collective *c = &f.trace.collectives[s];
        assert_int_equal(c->n_members, RANKS);
        for (uint32_t r = 0; r < RANKS; r++) {
            assert_int_equal(f.trace.members[c->first_member + r].rank, r);
            assert_int_equal(f.trace.members[c->first_member + r].event, 2 * s + 1);
        }
    }
}

/* A receive that was posted a step ahead stays with its send, and goes with it. */
static void keep_steps__receives_posted_ahead(void **state)
{
    (void)state;
    for (int64_t step = 5; step <= 6; step++) {
        struct fixture f;
        struct inq_err err = {0};
        fill(&f);
        f.collectives[1].kind = INQ_COLL_SENDRECV;
        f.step[0][3] = 0; /* the receive of what is sent in step 6 */
        assert_int_equal(inq_trace_keep_steps(&f.trace, (struct inq_range){step, step}, &err),
                         INQ_OK);
        assert_int_equal(f.trace.n_collectives, 1);
        assert_int_equal(f.trace.n_members, 2);
        assert_int_equal(f.trace.unmatched_comms, 0);
        assert_int_equal(f.ranks[0].events.n, 2);
        assert_int_equal(f.ranks[0].events.step[1], 0);
    }
}

static void keep_steps__half_a_collective_is_unmatched(void **state)
{
    struct fixture f;
    struct inq_err err = {0};
    (void)state;
    fill(&f);
    f.step[1][3] = INQ_NONE; /* rank 1's part of the second collective belongs to no step */
    assert_int_equal(inq_trace_keep_steps(&f.trace, (struct inq_range){6, 9}, &err), INQ_OK);
    assert_int_equal(f.trace.n_steps, 2);
    assert_int_equal(f.trace.n_collectives, 1);
    assert_int_equal(f.trace.collectives[0].seq, 2);
    assert_int_equal(f.trace.unmatched_comms, 1);
    assert_int_equal(f.ranks[1].events.n, 3);
}

static void keep_steps__none_there_changes_nothing(void **state)
{
    struct fixture f;
    struct inq_err err = {0};
    (void)state;
    fill(&f);
    assert_int_equal(inq_trace_keep_steps(&f.trace, (struct inq_range){8, 20}, &err),
                     INQ_NOT_FOUND);
    assert_int_equal(f.trace.n_steps, STEPS);
    assert_int_equal(f.ranks[0].events.n, EVENTS);
    assert_int_equal(f.trace.n_members, RANKS * STEPS);
}

static void keep_time__keeps_what_overlaps(void **state)
{
    struct fixture f;
    struct inq_err err = {0};
    (void)state;
    fill(&f);
    f.ranks[0].first_ns = f.ranks[1].first_ns = 0;
    /* the end of event 1, event 2, the start of event 3; no step as a whole */
    assert_int_equal(inq_trace_keep_time(&f.trace, 149, 301, &err), INQ_OK);
    assert_int_equal(f.ranks[0].events.n, 3);
    assert_int_equal(f.ranks[0].events.name[0], 1);
    assert_int_equal(f.ranks[0].events.dur_ns[0], 50);
    assert_int_equal(f.ranks[0].events.step[0], INQ_NONE);
    assert_int_equal(f.trace.n_steps, 0);
    assert_int_equal(f.trace.n_collectives, 2);
    assert_int_equal(f.trace.members[3].event, 2);
    assert_int_equal(f.ranks[1].n_notes, 2); /* those of steps 5 and 6 */
    assert_true(f.trace.cut);
    assert_int_equal(f.trace.origin_ns, 0);
}

static void keep_time__counts_from_the_first_event_of_all(void **state)
{
    struct fixture f;
    struct inq_err err = {0};
    (void)state;
    fill(&f);
    for (size_t r = 0; r < RANKS; r++) {
        for (size_t i = 0; i < EVENTS; i++) {
            f.start_ns[r][i] += 1000;
        }
        for (size_t s = 0; s < STEPS; s++) {
            f.notes[r][s].start_ns += 1000;
        }
        f.ranks[r].first_ns = 1000;
    }
    for (size_t s = 0; s < STEPS; s++) {
        f.steps[s].start_ns += 1000;
        f.steps[s].end_ns += 1000;
    }
    assert_int_equal(inq_trace_keep_steps(&f.trace, (struct inq_range){6, 7}, &err), INQ_OK);
    assert_int_equal(f.ranks[0].first_ns, 1200);
    assert_int_equal(inq_trace_keep_time(&f.trace, 400, INT64_MAX, &err), INQ_OK);
    assert_int_equal(f.trace.origin_ns, 1000);
    assert_int_equal(f.trace.n_steps, 1);
    assert_int_equal(f.trace.steps[0].number, 7);
    assert_int_equal(f.ranks[0].events.n, 2);
    assert_int_equal(f.ranks[0].events.step[1], 0);
}

static void keep_time__none_there_changes_nothing(void **state)
{
    struct fixture f;
    struct inq_err err = {0};
    (void)state;
    fill(&f);
    assert_int_equal(inq_trace_keep_time(&f.trace, 60, 99, &err), INQ_NOT_FOUND);
    assert_int_equal(f.trace.n_steps, STEPS);
    assert_int_equal(f.ranks[0].events.n, EVENTS);
    assert_false(f.trace.cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keep_steps__indices_follow),
        cmocka_unit_test(keep_steps__members_in_any_order),
        cmocka_unit_test(keep_steps__receives_posted_ahead),
        cmocka_unit_test(keep_steps__half_a_collective_is_unmatched),
        cmocka_unit_test(keep_steps__none_there_changes_nothing),
        cmocka_unit_test(keep_time__keeps_what_overlaps),
        cmocka_unit_test(keep_time__counts_from_the_first_event_of_all),
        cmocka_unit_test(keep_time__none_there_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
