/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of Perseus: durations by iteration become ops of a 1F1B pipeline; real profiles against
 * the iteration times that they record. */
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
    assert_string_equal(shard.file.format, "perseus");
    return shard;
}

/* The start of a rank's op in ns; INQ_TIME_NONE when there is none. */
static int64_t start_of(const struct inq_shard *shard, int32_t number, enum inq_op_type type,
                        int32_t step, int32_t micro_batch)
{
    const struct inq_rank *rank = test_rank(shard, number);
    for (size_t i = 0; i < rank->events.n; i++) {
        const struct inq_label *label = &rank->labels[rank->events.label[i]];
        if (label->type == type && label->step == step && label->micro_batch == micro_batch) {
            return rank->events.start_ns[i];
        }
    }
    return INQ_TIME_NONE;
}

#define SECOND INT64_C(1000000000)

/* Two stages, two micro-batches of 1 s forward and 2 s backward; the second iteration's first
 * entries are the profiler's. */
static const char two_stages[] =
    "[{\"rank\": 1, \"iter_time\": [9.5, 9.25], \"time_breakdown\": {"
    "\"forward\": [[1, 1], [1e-5, 1, 1]], \"backward\": [[2, 2], [0.00001, 2, 2]]}},\n"
    " {\"rank\": 0, \"iter_time\": [9.75, 9], \"iter_energy\": [100], \"time_breakdown\": {"
    "\"load\": [[0.5, 0], [0, 0]], \"forward\": [[1, 1], [0, 1, 1]],"
    " \"backward\": [[2.0, 2.0], [0, 2, 2]]}, \"energy_breakdown\": {\"forward\": [[1, 2]]}}]";

static void perseus__places_passes_as_1f1b(void **state)
{
    (void)state;
    struct inq_shard shard = read_text(two_stages);
    assert_int_equal(shard.n_ranks, 2);
    assert_int_equal(inq_damage_total(&shard.file.damage), 0);
    /* stage 0 loads for half a second, F0, F1, waits for stage 1's B0 */
    assert_int_equal(start_of(&shard, 0, INQ_OP_FORWARD, 0, 0), SECOND / 2);
    assert_int_equal(start_of(&shard, 0, INQ_OP_FORWARD, 0, 1), 3 * SECOND / 2);
    assert_int_equal(start_of(&shard, 1, INQ_OP_FORWARD, 0, 0), 3 * SECOND / 2);
    assert_int_equal(start_of(&shard, 1, INQ_OP_BACKWARD, 0, 0), 5 * SECOND / 2);
    assert_int_equal(start_of(&shard, 1, INQ_OP_FORWARD, 0, 1), 9 * SECOND / 2);
    assert_int_equal(start_of(&shard, 0, INQ_OP_BACKWARD, 0, 0), 9 * SECOND / 2);
    assert_int_equal(start_of(&shard, 1, INQ_OP_BACKWARD, 0, 1), 11 * SECOND / 2);
    assert_int_equal(start_of(&shard, 0, INQ_OP_BACKWARD, 0, 1), 15 * SECOND / 2);
    assert_non_null(strstr(shard.file.reason, "placed as 1F1B"));
    assert_int_equal(test_rank(&shard, 0)->stage, 0);
    inq_shard_release(&shard);
}

static void perseus__iterations_follow_each_other_by_their_times(void **state)
{
    (void)state;
    struct inq_shard shard = read_text(two_stages);
    /* the slower stage's 9.75 s; entries of the profiler are no micro-batches */
    assert_int_equal(start_of(&shard, 0, INQ_OP_FORWARD, 1, 0), 39 * SECOND / 4);
    assert_int_equal(start_of(&shard, 1, INQ_OP_FORWARD, 1, 0), 43 * SECOND / 4);
    assert_int_equal(start_of(&shard, 1, INQ_OP_FORWARD, 1, 2), INQ_TIME_NONE);
    inq_shard_release(&shard);
}

static void perseus__of_a_cut_profile_whole_iterations_are_kept(void **state)
{
    (void)state;
    char text[sizeof two_stages];
    const char *end = strstr(two_stages, "[0, 2, 2]");
    size_t n = (size_t)(end - two_stages) + 4;
    memcpy(text, two_stages, n);
    text[n] = '\0';
    struct inq_shard shard = read_text(text);
    assert_int_equal(shard.file.damage.count[INQ_DAMAGE_TRUNCATED], 1);
    assert_int_equal(shard.n_ranks, 2);
    assert_int_equal(start_of(&shard, 0, INQ_OP_BACKWARD, 0, 1), 15 * SECOND / 2);
    assert_int_equal(start_of(&shard, 1, INQ_OP_FORWARD, 1, 0), INQ_TIME_NONE);
    inq_shard_release(&shard);
}

static void perseus__a_damaged_stage_costs_itself_alone(void **state)
{
    (void)state;
    struct inq_shard shard =
        read_text("[{\"rank\": 0, \"iter_time\": [9], \"time_breakdown\": {\"forward\": [[1} oops"
                  " {\"rank\": 1, \"iter_time\": [9], \"time_breakdown\": {"
                  "\"forward\": [[1, 1]], \"backward\": [[2, 2]]}},"
                  " {\"rank\": 1, \"iter_time\": [9], \"time_breakdown\": {"
                  "\"forward\": [[1, 1]], \"backward\": [[2, 2]]}}]");
    assert_int_equal(shard.n_ranks, 1);
    assert_int_equal(shard.ranks[0].rank, 1);
    assert_int_equal(shard.ranks[0].world_size, 2); /* rank 0 is missing */
    assert_true(shard.file.damage.count[INQ_DAMAGE_BAD_EVENT] >= 1);
    assert_int_equal(shard.file.damage.count[INQ_DAMAGE_REPEATED], 1);
    inq_shard_release(&shard);
}

/* Loads, passes and their order explain all but transfers and the optimizer. */
static void perseus__real_profiles_fill_their_iterations(void **state)
{
    (void)state;
    static const char *const files[] = {"perseus/a100_pp4_bert-huge/0.prof.json.gz",
                                        "perseus/a100_pp4_gpt3-xl/24.prof.json.gz"};
    for (size_t i = 0; i < 2; i++) {
        char path[TEST_PATH];
        struct inq_shard shard;
        struct inq_err err = {0};
        if (!test_data_path(path, INQ_SHARED_DATA, files[i])) {
            skip();
        }
        assert_int_equal(test_read_file(path, &shard, &err), INQ_OK);
        assert_int_equal(shard.n_ranks, 4);
        assert_int_equal(inq_damage_total(&shard.file.damage), 0);
        int64_t begin = start_of(&shard, 0, INQ_OP_FORWARD, 2, 0);
        int64_t next = start_of(&shard, 0, INQ_OP_FORWARD, 3, 0);
        int64_t last_end = 0;
        const struct inq_rank *rank = test_rank(&shard, 0);
        for (size_t k = 0; k < rank->events.n; k++) {
            int64_t end_ns = rank->events.start_ns[k] + rank->events.dur_ns[k];
            bool own = rank->labels[rank->events.label[k]].step == 2;
            last_end = own && end_ns > last_end ? end_ns : last_end;
        }
        double share = (double)(last_end - begin) / (double)(next - begin);
        assert_true(share > 0.97 && share < 1.0);
        inq_shard_release(&shard);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perseus__places_passes_as_1f1b),
        cmocka_unit_test(perseus__iterations_follow_each_other_by_their_times),
        cmocka_unit_test(perseus__of_a_cut_profile_whole_iterations_are_kept),
        cmocka_unit_test(perseus__a_damaged_stage_costs_itself_alone),
        cmocka_unit_test(perseus__real_profiles_fill_their_iterations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
