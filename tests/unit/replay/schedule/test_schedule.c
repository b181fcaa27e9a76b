/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules: generators whose order is a closed form, and the CSV of torch.distributed.pipelining.
 */
#include "inquest/out.h"
#include "schedule/schedule.h"
#include "support_schedule.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static struct inq_schedule made(const char *kind, int32_t p, int32_t m, int32_t v)
{
    struct inq_schedule_spec spec = {
        .kind = kind, .n_ranks = p, .n_microbatches = m, .n_chunks = v};
    struct inq_schedule schedule;
    struct inq_err err = {0};
    if (inq_schedule_make(&spec, &schedule, &err) != INQ_OK) {
        fail_msg("%s p=%d m=%d: %s", kind, p, m, err.message);
    }
    return schedule;
}

static void assert_csv(const struct inq_schedule *schedule, const char *expected)
{
    struct inq_out out = {0};
    struct inq_err err = {0};
    assert_int_equal(inq_schedule_write_csv(schedule, inq_out_sink(&out), &err), INQ_OK);
    assert_string_equal(out.buf, expected);
    inq_out_release(&out);
}

static void generators__orders_written_out_by_hand(void **state)
{
    (void)state;
    struct inq_schedule s = made("gpipe", 2, 2, 0);
    assert_csv(&s, "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
    inq_schedule_release(&s);
    s = made("1f1b", 2, 3, 0);
    assert_csv(&s, "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
    inq_schedule_release(&s);
    s = made("zb-h1", 2, 3, 0);
    assert_csv(&s, "0F0,0F1,0I0,0W0,0F2,0I1,0W1,0I2,0W2\n1F0,1I0,1F1,1I1,1W0,1F2,1I2,1W1,1W2\n");
    inq_schedule_release(&s);
}

/* Every stage does each op of each micro-batch exactly once, in a possible order on its rank. */
static void assert_complete(const struct inq_schedule *s, bool split)
{
    size_t cells = (size_t)s->n_stages * (size_t)s->n_microbatches;
    int *done = calloc(cells * INQ_ACTION_KIND_COUNT, sizeof *done);
    for (int32_t r = 0; r < s->n_ranks; r++) {
        for (size_t i = 0; i < s->ranks[r].n; i++) {
            const struct inq_action *a = &s->ranks[r].actions[i];
            assert_int_equal(s->stage_rank[a->stage], r);
            int *row =
                done + ((size_t)a->stage * (size_t)s->n_microbatches + (size_t)a->microbatch) *
                           INQ_ACTION_KIND_COUNT;
            row[a->kind]++;
            bool backward = a->kind == INQ_ACTION_B || a->kind == INQ_ACTION_I;
            assert_false(backward && row[INQ_ACTION_F] == 0);
            assert_false(a->kind == INQ_ACTION_W && row[INQ_ACTION_I] == 0);
        }
    }
    for (size_t c = 0; c < cells; c++) {
        const int *row = done + c * INQ_ACTION_KIND_COUNT;
        assert_int_equal(row[INQ_ACTION_F], 1);
        assert_int_equal(row[INQ_ACTION_B], split ? 0 : 1);
        assert_int_equal(row[INQ_ACTION_I], split ? 1 : 0);
        assert_int_equal(row[INQ_ACTION_W], split ? 1 : 0);
    }
    free(done);
}

static void generators__every_op_once_for_any_size(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        bool split;
    } cases[] = {{"gpipe", false}, {"1f1b", false}, {"zb-h1", true},
                 {"zb-h2", true},  {"zb-v", true},  {"interleaved", false}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int32_t p = 1; p <= 6; p++) {
            for (int32_t rounds = 1; rounds <= 5; rounds++) {
                bool any_m = strcmp(cases[c].kind, "interleaved") != 0;
                struct inq_schedule s =
                    made(cases[c].kind, p, any_m ? rounds * 2 + 1 : rounds * p, any_m ? 0 : 3);
                assert_complete(&s, cases[c].split);
                inq_schedule_release(&s);
            }
        }
    }
}

static void generators__refuse_what_does_not_exist(void **state)
{
    (void)state;
    struct inq_schedule_spec spec = {.kind = "interleaved", .n_ranks = 4, .n_microbatches = 9};
    struct inq_schedule s;
    struct inq_err err = {0};
    assert_int_equal(inq_schedule_make(&spec, &s, &err), INQ_USAGE);
    spec.kind = "magic";
    assert_int_equal(inq_schedule_make(&spec, &s, NULL), INQ_USAGE);
    spec.kind = "1f1b";
    spec.n_ranks = 0;
    assert_int_equal(inq_schedule_make(&spec, &s, NULL), INQ_LIMIT);
}

static void csv__composites_quotes_and_ragged_rows_survive_a_round_trip(void **state)
{
    (void)state;
    const char *text = "0F0,,\" 0F1 \",(0F2;0B0)OVERLAP_F_B,0UNSHARD,0I1,0W1\r\n1RECV_F0,1F0\n";
    struct inq_schedule s;
    struct inq_csv_info info;
    struct inq_err err = {0};
    int code = inq_schedule_read_csv(text, strlen(text), INQ_CSV_DETECT, &s, &info, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(code, INQ_OK);
    assert_int_equal(info.dialect, INQ_CSV_CURRENT);
    assert_true(info.dialect_certain);
    assert_int_equal(info.empty_cells, 1);
    assert_int_equal(s.n_ranks, 2);
    assert_int_equal(s.n_stages, 2);
    assert_int_equal(s.n_microbatches, 3);
    assert_true(s.has_comms);
    assert_csv(&s, "0F0,,0F1,(0F2;0B0)OVERLAP_F_B,0UNSHARD,0I1,0W1\n1RECV_F0,1F0\n");
    inq_schedule_release(&s);
}

/* Every kind, written and read back: the same cells, the same replicas of the model. */
static void csv__every_kind_loads_back_equal(void **state)
{
    (void)state;
    size_t n = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n);
    for (size_t k = 0; k < n; k++) {
        struct inq_schedule_spec spec = {.kind = kinds[k].name,
                                         .n_ranks = 4,
                                         .n_microbatches = 8,
                                         .costs = {.stage = {1, 1, 1}}};
        struct inq_schedule s;
        struct inq_schedule again;
        struct inq_csv_info info;
        assert_int_equal(inq_schedule_make(&spec, &s, NULL), INQ_OK);
        struct inq_out out = {0};
        assert_int_equal(inq_schedule_write_csv(&s, inq_out_sink(&out), NULL), INQ_OK);
        assert_int_equal(
            inq_schedule_read_csv(out.buf, out.len, INQ_CSV_CURRENT, &again, &info, NULL), INQ_OK);
        assert_csv(&again, out.buf);
        assert_int_equal(again.n_pipelines, s.n_pipelines);
        assert_int_equal(again.n_stages, s.n_stages);
        inq_out_release(&out);
        inq_schedule_release(&s);
        inq_schedule_release(&again);
    }
}

static void csv__old_letters_are_told_from_new_ones(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum inq_csv_dialect dialect;
        const char *now;
    } cases[] = {
        {"0F0,0BW0\n", INQ_CSV_2024, "0F0,0B0\n"},
        {"0F0,0B0,0W0\n", INQ_CSV_2024, "0F0,0I0,0W0\n"},
        {"0F0,0I0,0W0\n", INQ_CSV_CURRENT, "0F0,0I0,0W0\n"},
        {"0F0,0B0\n", INQ_CSV_CURRENT, "0F0,0B0\n"},
        {"\xef\xbb\xbf"
         "0F0,0B0\n",
         INQ_CSV_CURRENT, "0F0,0B0\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_schedule s;
        struct inq_csv_info info;
        assert_int_equal(inq_schedule_read_csv(cases[i].text, strlen(cases[i].text), INQ_CSV_DETECT,
                                               &s, &info, NULL),
                         INQ_OK);
        assert_int_equal(info.dialect, cases[i].dialect);
        assert_csv(&s, cases[i].now);
        inq_schedule_release(&s);
    }
}

/* A million places may be empty, and 256 for each action. */
static void csv__few_actions_with_great_numbers_are_no_schedule(void **state)
{
    (void)state;
    static const char whole[] = "0F0,1F524543";
    static const char over[] = "0F0,1F524544";
    struct inq_schedule s;
    struct inq_csv_info info;
    struct inq_err err = {0};
    assert_int_equal(inq_schedule_read_csv(whole, strlen(whole), INQ_CSV_DETECT, &s, &info, &err),
                     INQ_OK);
    inq_schedule_release(&s);
    assert_int_equal(inq_schedule_read_csv(over, strlen(over), INQ_CSV_DETECT, &s, &info, &err),
                     INQ_LIMIT);
    assert_non_null(strstr(err.message, "micro-batches up to 524544"));
    assert_null(s.ranks);
}

static void csv__bad_cells_are_named(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "\n",
                                      "0F0\n1X2\n",
                                      "F0\n",
                                      "(0F0;0B0\n",
                                      "(0F0)\n",
                                      "(0F0 0B0)OVERLAP_F_B\n",
                                      "999999999F0\n",
                                      "0F0;0F1;0B0\n", /* other separators */
                                      "0F0 0B0\n",
                                      "0F99999999\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct inq_schedule s;
        struct inq_csv_info info;
        struct inq_err err = {0};
        int code = inq_schedule_read_csv(bad[i], strlen(bad[i]), INQ_CSV_DETECT, &s, &info, &err);
        if (code != INQ_FORMAT) {
            fail_msg("'%s' gave %d", bad[i], code);
        }
        assert_null(s.ranks);
    }
    struct inq_schedule s;
    struct inq_csv_info info;
    struct inq_err err = {0};
    (void)inq_schedule_read_csv("0F0\n0F1,1X2\n", 12, INQ_CSV_DETECT, &s, &info, &err);
    assert_non_null(strstr(err.message, "row 2, cell 2 '1X2'"));
    assert_int_equal(err.offset, 8);
    assert_int_equal(info.fault.line, 2);
    assert_int_equal(info.fault.column, 5);
    assert_int_equal(info.fault.rank, 1);
    assert_int_equal(info.fault.cell, 1);
    assert_string_equal(info.fault.text, "1X2");
    assert_non_null(strstr(info.fault.message, "expected STAGE KIND MICRO-BATCH"));
}

/* At the start, in between, at the end, with blanks and carriage returns; a row of empty cells is
 * a rank that waits. */
static void csv__blank_lines_are_no_ranks(void **state)
{
    (void)state;
    static const char text[] = "\n0F0,0B0\r\n\r\n  \t\n1F0,1B0\n,,\n\n\n1X0\n";
    struct inq_schedule s;
    struct inq_csv_info info;
    struct inq_err err = {0};
    size_t good = strlen(text) - 4;
    assert_int_equal(inq_schedule_read_csv(text, good, INQ_CSV_DETECT, &s, &info, &err), INQ_OK);
    assert_int_equal(s.n_ranks, 3);
    assert_int_equal(s.ranks[0].line, 2);
    assert_int_equal(s.ranks[1].line, 5);
    assert_int_equal(s.ranks[2].line, 6);
    assert_int_equal(s.stage_rank[1], 1);
    assert_int_equal(info.blank_lines, 5);
    assert_int_equal(info.first_blank_line, 1);
    inq_schedule_release(&s);
    /* a bad cell is named by the line of the file */
    assert_int_equal(inq_schedule_read_csv(text, strlen(text), INQ_CSV_DETECT, &s, &info, &err),
                     INQ_FORMAT);
    assert_non_null(strstr(err.message, "row 9, cell 1 '1X0'"));
}

static void csv__pytorch_files_load_and_write_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_PYTORCH_SCHEDULES; i++) {
        struct inq_schedule s;
        struct inq_csv_info info;
        struct inq_err err = {0};
        int code = test_pytorch_schedule(INQ_SHARED_DATA, i, &s, &info, &err);
        assert_string_equal(err.message, "");
        assert_int_equal(code, INQ_OK);
        assert_int_equal(info.dialect, INQ_CSV_2024);
        assert_int_equal(s.n_ranks, 2);
        assert_int_equal(s.n_stages, 4);
        assert_int_equal(s.n_microbatches, 8);
        struct inq_out first = {0};
        struct inq_out again = {0};
        assert_int_equal(inq_schedule_write_csv(&s, inq_out_sink(&first), NULL), INQ_OK);
        inq_schedule_release(&s);
        assert_int_equal(
            inq_schedule_read_csv(first.buf, first.len, INQ_CSV_DETECT, &s, &info, NULL), INQ_OK);
        assert_int_equal(inq_schedule_write_csv(&s, inq_out_sink(&again), NULL), INQ_OK);
        assert_string_equal(first.buf, again.buf);
        inq_schedule_release(&s);
        inq_out_release(&first);
        inq_out_release(&again);
    }
}

static void csv__younger_cells_tell_the_dialect(void **state)
{
    (void)state;
    static const char *const texts[] = {"0F0,0B0,0REDUCE_GRAD\n", "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct inq_schedule s;
        struct inq_csv_info info;
        assert_int_equal(
            inq_schedule_read_csv(texts[i], strlen(texts[i]), INQ_CSV_DETECT, &s, &info, NULL),
            INQ_OK);
        assert_int_equal(info.dialect, INQ_CSV_CURRENT);
        assert_true(info.dialect_certain);
        inq_schedule_release(&s);
    }
}

struct text {
    char bytes[65536];
    size_t n;
};

static int keep_bytes(void *ctx, const char *bytes, size_t n)
{
    struct text *text = ctx;
    assert_true(text->n + n <= sizeof text->bytes);
    memcpy(text->bytes + text->n, bytes, n);
    text->n += n;
    return INQ_OK;
}

/* What a generator made is called by its name when it is read again, with its transfers too; what
 * differs in one place is not. */
static void csv__kinds_are_recognized(void **state)
{
    (void)state;
    static const char *const kinds[] = {"gpipe",    "1f1b",      "interleaved", "zb-h1",  "zb-h2",
                                        "zb-1p",    "zb-2p",     "zb-v",        "v-half", "v-min",
                                        "dualpipe", "dualpipev", "chimera"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        /* times that do not make the searched ones one of the others */
        struct inq_schedule_spec spec = {.kind = kinds[i],
                                         .n_ranks = 4,
                                         .n_microbatches = 8,
                                         .costs = {.stage = {12, 13, 7}, .p2p_ns = 1}};
        struct inq_schedule made;
        struct inq_schedule lowered;
        struct inq_schedule read;
        struct inq_csv_info info;
        struct text text = {.n = 0};
        struct inq_sink sink = {.write = keep_bytes, .ctx = &text};
        assert_int_equal(inq_schedule_make(&spec, &made, NULL), INQ_OK);
        assert_int_equal(inq_schedule_lower(&made, &lowered, NULL), INQ_OK);
        assert_int_equal(inq_schedule_write_csv(&lowered, sink, NULL), INQ_OK);
        assert_int_equal(
            inq_schedule_read_csv(text.bytes, text.n, INQ_CSV_CURRENT, &read, &info, NULL), INQ_OK);
        assert_string_equal(read.kind, kinds[i]);
        inq_schedule_release(&read);
        char *first = strstr(text.bytes, "0F1"); /* 0F1 and 0F0 change places */
        char *zeroth = strstr(text.bytes, "0F0");
        assert_true(first != NULL && zeroth != NULL);
        first[2] = '0';
        zeroth[2] = '1';
        assert_int_equal(
            inq_schedule_read_csv(text.bytes, text.n, INQ_CSV_CURRENT, &read, &info, NULL), INQ_OK);
        assert_string_equal(read.kind, "csv");
        inq_schedule_release(&read);
        inq_schedule_release(&lowered);
        inq_schedule_release(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generators__orders_written_out_by_hand),
        cmocka_unit_test(generators__every_op_once_for_any_size),
        cmocka_unit_test(generators__refuse_what_does_not_exist),
        cmocka_unit_test(csv__composites_quotes_and_ragged_rows_survive_a_round_trip),
        cmocka_unit_test(csv__every_kind_loads_back_equal),
        cmocka_unit_test(csv__few_actions_with_great_numbers_are_no_schedule),
        cmocka_unit_test(csv__old_letters_are_told_from_new_ones),
        cmocka_unit_test(csv__bad_cells_are_named),
        cmocka_unit_test(csv__blank_lines_are_no_ranks),
        cmocka_unit_test(csv__pytorch_files_load_and_write_back),
        cmocka_unit_test(csv__younger_cells_tell_the_dialect),
        cmocka_unit_test(csv__kinds_are_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
