/* SPDX-License-Identifier: Apache-2.0 */
/* The op table's reader: columns in any order, exact times, damage; real tables against sums that
 * were made from their text with exact decimals by another program. */
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
    int code = test_read_bytes(text, strlen(text), 0, &shard, &err);
    if (code != INQ_OK) {
        fail_msg("%s", err.message);
    }
    return shard;
}

static void op_table__reads_columns_in_any_order(void **state)
{
    (void)state;
    struct inq_shard shard =
        read_text("duration,junk,optype,mb_id,stage,dp_rank,step,rank,start_ts,seq_id,mc\r\n"
                  "0.25,x,forward-compute,3,1,0,7,5,1.5,2,0\r\n"
                  "\"1e-3\",\"a,\"\"b\"\"\nc\",\"gc\",-1,1,0,7,5,2,0,-1\r\n");
    assert_string_equal(shard.file.format, "op-table");
    assert_int_equal(shard.n_ranks, 1);
    const struct inq_rank *rank = test_rank(&shard, 5);
    assert_int_equal(rank->stage, 1);
    assert_int_equal(rank->dp_rank, 0);
    assert_false(rank->has_clock_epoch);
    assert_int_equal(rank->events.n, 2);
    assert_int_equal(rank->events.start_ns[0], 1500000000);
    assert_int_equal(rank->events.dur_ns[0], 250000000);
    assert_int_equal(rank->events.kind[0], INQ_EVENT_OP);
    assert_int_equal(rank->events.cls[0], INQ_CLASS_COMPUTE);
    const struct inq_label *label = &rank->labels[rank->events.label[0]];
    assert_int_equal(label->type, INQ_OP_FORWARD);
    assert_int_equal(label->step, 7);
    assert_int_equal(label->stage, 1);
    assert_int_equal(label->dp_rank, 0);
    assert_int_equal(label->micro_batch, 3);
    assert_int_equal(label->chunk, 0);
    assert_int_equal(label->seq, 2);
    assert_int_equal(rank->events.start_ns[1], 2000000000);
    assert_int_equal(rank->events.dur_ns[1], 1000000);
    assert_int_equal(rank->events.cls[1], INQ_CLASS_OTHER); /* gc runs on the host */
    assert_string_equal(test_str(&shard, rank->events.name[1]), "gc");
    assert_int_equal(inq_damage_total(&shard.file.damage), 0);
    assert_int_equal(shard.file.events, 2);
    inq_shard_release(&shard);
}

static void op_table__takes_a_row_that_is_there_twice_once(void **state)
{
    (void)state;
    struct inq_shard shard = read_text("optype,start_ts,duration,rank,mb_id\n"
                                       "forward-compute,1,2,0,0\n"
                                       "forward-compute,1,2,1,0\n" /* of another rank */
                                       "forward-compute,1,2,0,1\n" /* and micro-batch */
                                       "gc,7,0,0,-1\n"
                                       "gc,7,0,0,-1\n" /* nothing tells them apart */
                                       "forward-compute,1,2,0,0\n"
                                       "forward-compute,1.0,2.0,0,0\n");
    assert_int_equal(test_rank(&shard, 0)->events.n, 4);
    assert_int_equal(test_rank(&shard, 1)->events.n, 1);
    assert_int_equal(shard.file.damage.count[INQ_DAMAGE_REPEATED], 2);
    assert_int_equal(inq_damage_total(&shard.file.damage), 2);
    assert_int_equal(shard.file.events, 7);
    inq_shard_release(&shard);
}

static void op_table__knows_units_separators_and_an_end_column(void **state)
{
    (void)state;
    struct inq_shard shard = read_text("\xef\xbb\xbfop_type;start_us;end_us\n"
                                       "backward-compute;10.0005;12.5\n");
    assert_int_equal(shard.ranks[0].events.start_ns[0], 10001); /* half away from zero */
    assert_int_equal(shard.ranks[0].events.dur_ns[0], 2499);
    inq_shard_release(&shard);
    shard = read_text("optype\tstart_ns\tduration_ms\nforward-send\t-5\t3\n");
    assert_int_equal(shard.ranks[0].events.start_ns[0], -5);
    assert_int_equal(shard.ranks[0].events.dur_ns[0], 3000000);
    inq_shard_release(&shard);
}

static void op_table__blanks_around_fields_are_none_of_them(void **state)
{
    (void)state;
    struct inq_shard shard = read_text("optype, start , duration, rank\n"
                                       "gc, 1.5 , 2, 0\n"
                                       " backward-compute ,4,1 , 0\n");
    assert_int_equal(shard.n_ranks, 1);
    assert_int_equal(shard.ranks[0].events.n, 2);
    assert_int_equal(shard.ranks[0].events.start_ns[0], 1500000000);
    assert_int_equal(shard.ranks[0].labels[shard.ranks[0].events.label[1]].type, INQ_OP_BACKWARD);
    assert_int_equal(inq_damage_total(&shard.file.damage), 0);
    inq_shard_release(&shard);
}

/* A worker whose number cannot be read would be one more rank of the job. */
static void op_table__rows_of_no_worker_make_none(void **state)
{
    (void)state;
    struct inq_shard shard = read_text("optype,start,duration,stage,dp_rank\n"
                                       "gc,1,1,0,0\n"
                                       "gc,1,1,4000000000,0\n"
                                       "gc,1,1,0,x\n");
    assert_int_equal(shard.n_ranks, 1);
    assert_int_equal(shard.ranks[0].events.n, 1);
    assert_int_equal(shard.file.damage.count[INQ_DAMAGE_BAD_NUMBER], 2);
    inq_shard_release(&shard);
    shard = read_text("optype;start;duration\ngc;0,5;0,25\n");
    assert_int_equal(shard.n_ranks, 0);
    assert_string_equal(shard.file.reason,
                        "a table without a row that has an op type, a worker and times");
    inq_shard_release(&shard);
}

static void op_table__puts_each_role_on_its_own_lane(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *lane;
        enum inq_op_class cls;
    } rows[] = {
        {"forward-compute", "compute", INQ_CLASS_COMPUTE},
        {"optimizer", "compute", INQ_CLASS_COMPUTE},
        {"gc", "compute", INQ_CLASS_OTHER},
        {"forward-send", "forward-send", INQ_CLASS_COMM},
        {"forward-recv", "forward-recv", INQ_CLASS_COMM},
        {"backward-send", "backward-send", INQ_CLASS_COMM},
        {"backward-recv", "backward-recv", INQ_CLASS_COMM},
        {"params-all-gather", "dp-comm", INQ_CLASS_COMM},
        {"optimizer-clip-main-grad", "dp-comm", INQ_CLASS_COMM},
        {"my-own-all-reduce", "dp-comm", INQ_CLASS_COMM},
        {"lunch", "compute", INQ_CLASS_OTHER},
    };
    char text[1024] = "optype,start,duration\n";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)strcat(strcat(text, rows[i].type), ",1,1\n");
    }
    struct inq_shard shard = read_text(text);
    const struct inq_rank *rank = &shard.ranks[0];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct inq_lane *lane = &rank->lanes[rank->events.lane[i]];
        assert_int_equal(lane->kind, INQ_LANE_OPS);
        assert_string_equal(test_str(&shard, lane->name), rows[i].lane);
        assert_int_equal(rank->events.cls[i], rows[i].cls);
    }
    assert_string_equal(shard.file.reason, "2 ops of types not known, as my-own-all-reduce");
    inq_shard_release(&shard);
}

static void op_table__numbers_workers_without_a_rank_column(void **state)
{
    (void)state;
    struct inq_shard shard = read_text("optype,start,duration,dp_rank,stage\n"
                                       "gc,0,1,1,1\ngc,0,2,1,0\ngc,0,3,0,1\ngc,0,4,0,0\n");
    static const int64_t seconds[] = {4, 2, 3, 1}; /* by stage, then DP rank */
    assert_int_equal(shard.n_ranks, 4);
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(test_rank(&shard, i)->events.dur_ns[0], seconds[i] * 1000000000);
    }
    assert_string_equal(shard.file.reason,
                        "no rank column: workers numbered by stage, then DP rank");
    inq_shard_release(&shard);
}

static void op_table__counts_what_it_cannot_read(void **state)
{
    (void)state;
    struct inq_shard shard = read_text("optype,start,duration,step\n"
                                       "gc,1,1,1\n"
                                       "gc,soon,1,1\n"          /* no time */
                                       "gc,1\n"                 /* too short */
                                       "gc,1,-0.5,1\n"          /* negative */
                                       "gc,1,1,three\n"         /* no number */
                                       "\n"                     /* blank: nothing wrong */
                                       "gc,1e300,1,1\n"         /* overflows */
                                       ",1,1,1\n"               /* no type */
                                       "gc,1,1,2.0\n"           /* a number as pandas writes it */
                                       "gc,1,1,nan\n"           /* missing, as pandas writes it */
                                       "\"gc,1,1,1\ngc,1,1,9\n" /* a quote that never closes */
                                       "gc,1,1");               /* cut */
    const struct inq_damage *damage = &shard.file.damage;
    const struct inq_rank *rank = &shard.ranks[0];
    assert_int_equal(rank->events.n, 6);
    assert_int_equal(damage->count[INQ_DAMAGE_BAD_EVENT], 5);
    assert_int_equal(damage->first_offset[INQ_DAMAGE_BAD_EVENT], 36);
    assert_int_equal(damage->count[INQ_DAMAGE_NEGATIVE_DURATION], 1);
    assert_int_equal(damage->count[INQ_DAMAGE_BAD_NUMBER], 1);
    assert_int_equal(damage->count[INQ_DAMAGE_TRUNCATED], 1);
    assert_int_equal(inq_damage_total(damage), 8);
    static const int32_t steps[] = {1, 1, -1, 2, -1, 9};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(rank->labels[rank->events.label[i]].step, steps[i]);
    }
    assert_int_equal(rank->events.dur_ns[1], 0);
    inq_shard_release(&shard);
}

static void op_table__leaves_other_tables_alone(void **state)
{
    (void)state;
    static const char *const texts[] = {"a,b,c\n1,2,3\n", "start,duration\n1,2\n", "", "\n",
                                        "optype",         "0F0,0F1,,\n0B0,0B1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(inq_reader_op_table.sniff(texts[i], strlen(texts[i]), ""), 0);
    }
}

/* One column is missing of those that a row needs, and the others are no other table's. */
static void op_table__names_the_column_that_a_near_miss_lacks(void **state)
{
    (void)state;
    static const struct {
        const char *text, *lacks;
    } cases[] = {{"optype,start\ngc,1\n", "an op table without duration:"},
                 {"optype,duration\ngc,1\n", "an op table without start:"},
                 {"stage,start,end\n0,1,2\n", "an op table without op_type:"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct inq_shard shard;
        struct inq_err err = {0};
        size_t len = strlen(cases[i].text);
        assert_int_not_equal(inq_reader_op_table.sniff(cases[i].text, len, ""), 0);
        assert_int_equal(test_read_bytes(cases[i].text, len, 0, &shard, &err), INQ_UNSUPPORTED);
        assert_non_null(strstr(err.message, cases[i].lacks));
        inq_shard_release(&shard);
    }
}

/* A digest of everything in a shard that this reader fills. */
static uint64_t digest(const struct inq_shard *shard)
{
    uint64_t sum = 0;
    for (size_t r = 0; r < shard->n_ranks; r++) {
        const struct inq_rank *rank = &shard->ranks[r];
        for (size_t i = 0; i < rank->events.n; i++) {
            const struct inq_label *label = &rank->labels[rank->events.label[i]];
            uint64_t row[] = {(uint64_t)rank->rank,
                              (uint64_t)rank->events.start_ns[i],
                              (uint64_t)rank->events.dur_ns[i],
                              rank->events.lane[i],
                              (uint64_t)label->type,
                              (uint64_t)label->step,
                              (uint64_t)label->micro_batch,
                              (uint64_t)label->chunk,
                              (uint64_t)label->seq};
            for (size_t k = 0; k < sizeof row / sizeof row[0]; k++) {
                sum = (sum ^ row[k]) * UINT64_C(0x100000001b3) + k;
            }
        }
    }
    return sum;
}

static void op_table__chunks_of_one_byte_give_the_same(void **state)
{
    (void)state;
    static const char text[] = "optype,start,duration,step\r\n"
                               "forward-compute,0.1,0.2,1\r\n\"gc\",\"1\"\"\",0.2,1\r\n"
                               "gc,0.5,\"0.125\",2\n";
    struct inq_shard whole = read_text(text);
    for (size_t chunk = 1; chunk < 9; chunk++) {
        struct inq_shard shard;
        struct inq_err err = {0};
        assert_int_equal(test_read_bytes(text, sizeof text - 1, chunk, &shard, &err), INQ_OK);
        assert_int_equal(digest(&shard), digest(&whole));
        assert_memory_equal(&shard.file.damage, &whole.file.damage, sizeof shard.file.damage);
        inq_shard_release(&shard);
    }
    assert_int_equal(whole.ranks[0].events.n, 2);
    inq_shard_release(&whole);
}

/* ---- real tables ----------------------------------------------------------------------------- */

struct type_facts {
    const char *name;
    uint64_t count;
    int64_t dur_ns;
};

struct table_facts {
    const char *name;
    size_t n_ranks, rows;
    int64_t start_ns, steps, seqs, chunks, micro_batches; /* sums */
    struct type_facts types[13];
};

static const struct table_facts st = {
    "whatif/ST/trace-ST.csv.gz",
    8,
    6784,
    INT64_C(6893271394959),
    3616932,
    7680,
    -4224,
    -1408,
    {
        {"backward-compute", 1024, INT64_C(162212084119)},
        {"backward-recv", 768, INT64_C(182529626802)},
        {"backward-send", 768, INT64_C(444702464)},
        {"embedding-grads-all-reduce", 128, INT64_C(30373276173)},
        {"forward-compute", 1024, INT64_C(87328832137)},
        {"forward-recv", 768, INT64_C(27352698716)},
        {"forward-send", 768, INT64_C(105659296923)},
        {"gc", 256, 0},
        {"grads-reduce-scatter", 256, INT64_C(14953684154)},
        {"layernorm-grads-all-reduce", 256, INT64_C(9769408)},
        {"optimizer", 256, INT64_C(10368122580)},
        {"optimizer-clip-main-grad", 256, INT64_C(34305873555)},
        {"params-all-gather", 256, INT64_C(6470741754)},
    },
};

static const struct table_facts ar = {
    "whatif/AR/trace-AR.csv.gz",
    16,
    117216,
    INT64_C(1684647316543399),
    78151104,
    1745920,
    -70752,
    626912,
    {
        {"backward-compute", 22528, INT64_C(9377994998402)},
        {"backward-recv", 16896, INT64_C(837106968427)},
        {"backward-send", 16896, INT64_C(3082957226090)},
        {"embedding-grads-all-reduce", 352, INT64_C(2861650816769)},
        {"forward-compute", 22528, INT64_C(5445774268415)},
        {"forward-recv", 16896, INT64_C(3419493016025)},
        {"forward-send", 16896, INT64_C(637664011231)},
        {"gc", 704, 0},
        {"grads-reduce-scatter", 704, INT64_C(7246528786715)},
        {"layernorm-grads-all-reduce", 704, INT64_C(4517963301)},
        {"optimizer", 704, INT64_C(16198929311)},
        {"optimizer-clip-main-grad", 704, INT64_C(182730070818)},
        {"params-all-gather", 704, INT64_C(108368198446)},
    },
};

static void check_type(const struct inq_shard *shard, const struct type_facts *facts)
{
    uint64_t count = 0;
    int64_t dur_ns = 0;
    for (size_t r = 0; r < shard->n_ranks; r++) {
        const struct inq_rank *rank = &shard->ranks[r];
        for (size_t i = 0; i < rank->events.n; i++) {
            const struct inq_label *label = &rank->labels[rank->events.label[i]];
            if (strcmp(test_str(shard, rank->events.name[i]), facts->name) == 0) {
                assert_string_equal(inq_op_type_text(label->type), facts->name);
                count++;
                dur_ns += rank->events.dur_ns[i];
            }
        }
    }
    assert_int_equal(count, facts->count);
    assert_int_equal(dur_ns, facts->dur_ns);
}

static void check_table(const struct table_facts *facts)
{
    char path[TEST_PATH];
    struct inq_shard shard;
    struct inq_err err = {0};
    if (!test_data_path(path, INQ_SHARED_DATA, facts->name)) {
        skip();
    }
    assert_int_equal(test_read_file(path, &shard, &err), INQ_OK);
    assert_int_equal(shard.n_ranks, facts->n_ranks);
    assert_int_equal(inq_damage_total(&shard.file.damage), 0);
    int64_t sums[5] = {0};
    size_t rows = 0;
    for (size_t r = 0; r < shard.n_ranks; r++) {
        const struct inq_rank *rank = &shard.ranks[r];
        rows += rank->events.n;
        for (size_t i = 0; i < rank->events.n; i++) {
            const struct inq_label *label = &rank->labels[rank->events.label[i]];
            assert_int_equal(label->stage, rank->stage);
            assert_int_equal(label->dp_rank, rank->dp_rank);
            sums[0] += rank->events.start_ns[i];
            sums[1] += label->step;
            sums[2] += label->seq;
            sums[3] += label->chunk;
            sums[4] += label->micro_batch;
        }
    }
    assert_int_equal(rows, facts->rows);
    assert_int_equal(sums[0], facts->start_ns);
    assert_int_equal(sums[1], facts->steps);
    assert_int_equal(sums[2], facts->seqs);
    assert_int_equal(sums[3], facts->chunks);
    assert_int_equal(sums[4], facts->micro_batches);
    for (size_t i = 0; i < sizeof facts->types / sizeof facts->types[0]; i++) {
        check_type(&shard, &facts->types[i]);
    }
    inq_shard_release(&shard);
}

static void op_table__long_last_stage_job(void **state)
{
    (void)state;
    check_table(&st);
}

static void op_table__slow_worker_job(void **state)
{
    (void)state;
    check_table(&ar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(op_table__reads_columns_in_any_order),
        cmocka_unit_test(op_table__takes_a_row_that_is_there_twice_once),
        cmocka_unit_test(op_table__knows_units_separators_and_an_end_column),
        cmocka_unit_test(op_table__blanks_around_fields_are_none_of_them),
        cmocka_unit_test(op_table__rows_of_no_worker_make_none),
        cmocka_unit_test(op_table__puts_each_role_on_its_own_lane),
        cmocka_unit_test(op_table__numbers_workers_without_a_rank_column),
        cmocka_unit_test(op_table__counts_what_it_cannot_read),
        cmocka_unit_test(op_table__leaves_other_tables_alone),
        cmocka_unit_test(op_table__names_the_column_that_a_near_miss_lacks),
        cmocka_unit_test(op_table__chunks_of_one_byte_give_the_same),
        cmocka_unit_test(op_table__long_last_stage_job),
        cmocka_unit_test(op_table__slow_worker_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
