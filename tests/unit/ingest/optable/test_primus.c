/* SPDX-License-Identifier: Apache-2.0 */
/* Primus' pipeline dumps: a real job of eight stages, schedules with chunks and split backward, and
 * damage. Sums are from the files' text with exact decimals, by another program. */
#include "support_read.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static struct inq_shard read_text(const char *text)
{
    struct inq_shard shard;
    struct inq_err err = {0};
    assert_int_equal(test_read_bytes(text, strlen(text), 0, &shard, &err), INQ_OK);
    assert_string_equal(shard.file.format, "primus");
    assert_int_equal(shard.n_ranks, 1);
    return shard;
}

static const struct inq_label *label_of(const struct inq_shard *shard, size_t event)
{
    return &shard->ranks[0].labels[shard->ranks[0].events.label[event]];
}

static void primus__reads_passes_as_ops(void **state)
{
    (void)state;
    struct inq_shard shard = read_text(
        "{\"7\": {\"total\": 9.5, \"memory\": 84.3, \"fwd_start\": [0.0494740009307861, 2e0],"
        " \"fwd_end\": [1.5, 3], \"bwd_start\": [4], \"bwd_end\": [6.25]}}");
    const struct inq_events *events = &shard.ranks[0].events;
    assert_int_equal(events->n, 3);
    assert_int_equal(events->start_ns[0], 49474);
    assert_int_equal(events->dur_ns[0], 1450526);
    assert_int_equal(events->start_ns[1], 2000000);
    assert_int_equal(events->dur_ns[2], 2250000);
    assert_int_equal(events->kind[2], INQ_EVENT_OP);
    assert_int_equal(label_of(&shard, 0)->type, INQ_OP_FORWARD);
    assert_int_equal(label_of(&shard, 2)->type, INQ_OP_BACKWARD);
    assert_int_equal(label_of(&shard, 1)->micro_batch, 1);
    assert_int_equal(label_of(&shard, 1)->step, 7);
    assert_string_equal(test_str(&shard, events->name[2]), "backward-compute");
    assert_int_equal(shard.ranks[0].has_clock_epoch, false);
    assert_int_equal(inq_damage_total(&shard.file.damage), 0);
    inq_shard_release(&shard);
}

static void primus__split_backward_and_recorded_chunks(void **state)
{
    (void)state;
    struct inq_shard shard = read_text(
        "{\"0\": {\"fwd_start\": [1, 2], \"fwd_end\": [2, 3], \"fwd_minibatch\": [5, 4],"
        "\"fwd_chunk\": [0, 1], \"bwd_start\": [3], \"bwd_end\": [4],"
        "\"wgrad_start\": [5], \"wgrad_end\": [7], \"bwd_chunk\": [], \"new\": {\"a\": []}}}");
    assert_int_equal(shard.ranks[0].events.n, 4);
    assert_int_equal(label_of(&shard, 0)->micro_batch, 5);
    assert_int_equal(label_of(&shard, 1)->chunk, 1);
    assert_int_equal(label_of(&shard, 2)->type, INQ_OP_BACKWARD_INPUT);
    assert_int_equal(label_of(&shard, 2)->chunk, -1); /* not recorded, no description of the job */
    assert_int_equal(label_of(&shard, 3)->type, INQ_OP_BACKWARD_WEIGHT);
    inq_shard_release(&shard);
}

static void primus__sizes_come_from_the_description_beside_it(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    char path[TEST_PATH + 32];
    static const char config[] = "{\"world_size\": 8, \"dp_size\": 2, \"tp_size\": 2, "
                                 "\"pp_size\": 2, \"vpp_size\": 2, \"micro_batches\": 4}";
    static const char dump[] = "{\"1\": {\"fwd_start\": [0,1,2,3,4,5,6,7], "
                               "\"fwd_end\": [1,2,3,4,5,6,7,8], \"bwd_start\": [9], "
                               "\"bwd_end\": [10]}}";
    /* two micro-batches through one chunk, then through the other */
    static const int32_t batches[] = {0, 1, 0, 1, 2, 3, 2, 3, 0};
    static const int32_t chunks[] = {0, 0, 1, 1, 0, 0, 1, 1, 1};
    struct inq_shard shard;
    struct inq_err err = {0};
    test_make_folder(folder);
    (void)snprintf(path, sizeof path, "%s/config.json", folder);
    test_write(path, config, sizeof config - 1);
    (void)snprintf(path, sizeof path, "%s/pp_rank_1.json", folder);
    test_write(path, dump, sizeof dump - 1);
    assert_int_equal(test_read_file(path, &shard, &err), INQ_OK);
    assert_int_equal(shard.ranks[0].stage, 1);
    assert_int_equal(shard.ranks[0].rank, 4);
    assert_int_equal(shard.ranks[0].world_size, -1);
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(label_of(&shard, i)->micro_batch, batches[i]);
        assert_int_equal(label_of(&shard, i)->chunk, chunks[i]);
    }
    inq_shard_release(&shard);
    test_remove_folder(folder);
}

struct damage_case {
    const char *text;
    size_t events;
    enum inq_damage_kind kind;
};

static void primus__keeps_what_damage_leaves(void **state)
{
    (void)state;
    static const struct damage_case cases[] = {
        /* cut inside a list: the forward passes that have both times are kept */
        {"{\"1\": {\"fwd_start\": [1, 2], \"fwd_end\": [2, 3], \"bwd_start\": [3,", 2,
         INQ_DAMAGE_TRUNCATED},
        {"{\"1\": {\"fwd_start\": [1], \"fwd_end\": [2], \"bwd_start\": [3], \"bwd_end\": [4]}", 2,
         INQ_DAMAGE_TRUNCATED},
        /* garbage in one iteration does not lose the next */
        {"{\"1\": {\"fwd_start\": [1, ?!], \"fwd_end\": [2, 3], \"bwd_start\": []},"
         " \"2\": {\"fwd_start\": [1], \"fwd_end\": [2]}}",
         1, INQ_DAMAGE_BAD_EVENT},
        {"{\"1\": {\"fwd_start\": [1, null], \"fwd_end\": [2, 3]}}", 1, INQ_DAMAGE_BAD_NUMBER},
        {"{\"1\": {\"fwd_start\": [5], \"fwd_end\": [2]}}", 1, INQ_DAMAGE_NEGATIVE_DURATION},
        {"{\"1\": {\"fwd_start\": [1, 2, 3], \"fwd_end\": [2, 3]}}", 2, INQ_DAMAGE_BAD_EVENT},
        {"{\"1\": {\"fwd_start\": [1e30], \"fwd_end\": [2]}}", 0, INQ_DAMAGE_BAD_NUMBER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct inq_shard shard = read_text(cases[i].text);
        assert_int_equal(shard.ranks[0].events.n, cases[i].events);
        assert_true(shard.file.damage.count[cases[i].kind] > 0);
        inq_shard_release(&shard);
    }
}

/* 20 iterations of 16 micro-batches. */
static void primus__real_job_of_eight_stages(void **state)
{
    (void)state;
    static const int64_t forward_ns[] = {
        INT64_C(20441238986), INT64_C(18831694935), INT64_C(19030033315), INT64_C(19729258159),
        INT64_C(19405032987), INT64_C(19600654186), INT64_C(19096327053), INT64_C(22857924989)};
    static const int64_t backward_ns[] = {
        INT64_C(22793720402), INT64_C(22295868043), INT64_C(22730251835), INT64_C(22012765088),
        INT64_C(22378019455), INT64_C(22401502748), INT64_C(22123242913), INT64_C(24018992584)};
    for (int32_t stage = 0; stage < 8; stage++) {
        char name[64];
        char path[TEST_PATH];
        struct inq_shard shard;
        struct inq_err err = {0};
        (void)snprintf(name, sizeof name, "primus/pp8/pp_rank_%d.json", stage);
        if (!test_data_path(path, INQ_SHARED_DATA, name)) {
            skip();
        }
        assert_int_equal(test_read_file(path, &shard, &err), INQ_OK);
        const struct inq_rank *rank = test_rank(&shard, stage);
        assert_int_equal(rank->stage, stage);
        assert_int_equal(rank->world_size, 8);
        assert_int_equal(rank->events.n, 640);
        assert_int_equal(inq_damage_total(&shard.file.damage), 0);
        int64_t sums[2] = {0, 0};
        int64_t steps = 0;
        for (size_t i = 0; i < rank->events.n; i++) {
            sums[label_of(&shard, i)->type == INQ_OP_BACKWARD] += rank->events.dur_ns[i];
            assert_int_equal(label_of(&shard, i)->chunk, 0);
            steps += label_of(&shard, i)->step;
        }
        assert_int_equal(sums[0], forward_ns[stage]);
        assert_int_equal(sums[1], backward_ns[stage]);
        assert_int_equal(steps, 32 * 210);
        inq_shard_release(&shard);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primus__reads_passes_as_ops),
        cmocka_unit_test(primus__split_backward_and_recorded_chunks),
        cmocka_unit_test(primus__sizes_come_from_the_description_beside_it),
        cmocka_unit_test(primus__keeps_what_damage_leaves),
        cmocka_unit_test(primus__real_job_of_eight_stages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
