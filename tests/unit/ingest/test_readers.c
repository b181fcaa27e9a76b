/* SPDX-License-Identifier: Apache-2.0 */
/* The table of readers: formats by content, whatever the name; what no reader takes gets a reason.
 */
#include "ingest/log/sniff.h"
#include "ingest/ingest.h"
#include "inquest/ingest.h"
#include "ingest/unrecognized.h"
#include "support_read.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static void readers__are_chosen_by_content(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        const struct inq_reader *reader;
    } rows[] = {
        {"{\"schemaVersion\": 1, \"traceEvents\": [", &inq_reader_kineto},
        {"[{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 2}]", &inq_reader_kineto},
        {"optype,start_ts,duration\n", &inq_reader_op_table},
        {"{\"1\": {\"total\": 1, \"fwd_start\": [1], \"fwd_end\": [2]}}", &inq_reader_primus},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t n = strlen(rows[i].head);
        assert_ptr_equal(inq_reader_find(rows[i].head, n, "x.txt"), rows[i].reader);
        assert_ptr_equal(inq_reader_find(rows[i].head, n, "trace.csv.gz"), rows[i].reader);
        assert_ptr_equal(inq_reader_find(rows[i].head, n, "pp_rank_0.json"), rows[i].reader);
    }
}

static void readers__take_nothing_that_is_no_trace(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "", "\n", "dp_size: 2\npp_size: 4\nworld_size: 8\n", "\x80\x02}q\x01", "{\"a\": 1}",
    };
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        assert_null(inq_reader_find(heads[i], strlen(heads[i]), "rank0.pt.trace.json"));
    }
}

/* Any text may be a log; the reader of logs says so when it holds no line that it knows. */
static void readers__leave_text_to_the_reader_of_logs(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "hello\n",
        "a,b,c\n1,2,3\n",
        "0F0,0F1\n",
        "#!/bin/sh\n",
    };
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        struct inq_shard shard;
        struct inq_err err = {0};
        assert_ptr_equal(inq_reader_find(heads[i], strlen(heads[i]), "rank0.pt.trace.json"),
                         &inq_reader_log);
        memset(&shard, 0, sizeof shard);
        assert_int_equal(test_read_bytes(heads[i], strlen(heads[i]), 0, &shard, &err),
                         INQ_UNSUPPORTED);
        assert_string_equal(err.message,
                            "not a trace: text that reports no failure and no training");
        inq_shard_release(&shard);
    }
}

/* By its name or by what stands in front of its lines; prose, lists and scripts are none. */
static void readers__know_a_log_that_tells_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *path, *head;
        bool is_log;
    } rows[] = {
        {"run/train.log", "hello\n", true},
        {"slurm-12.out", "hello\n", true},
        {"run/notes.txt", "hello\n", false},
        {"run/a.txt", "[rank3]: starts\n[rank3]: ends\n", true},
        {"run/a.txt", "2025-03-04 11:02:10,5 starts\n\n2025-03-04 11:02:11,5 ends\n", true},
        {"run/a.txt", "INFO:root:starts\n[WARNING] slow\nWarning: odd\n", true},
        {"README.md", "# A run\n\n[INFO] marks what is told\nThe log is beside it.\n", false},
        {"run.sh", "#!/bin/sh\nsrun train\n", false},
        {"run/train.log", "{\"a\": 1}", false},
        {"run/train.log", "", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *other = NULL;
        print_message("%s: %s\n", rows[i].path, rows[i].head);
        assert_int_equal(inq_log_is_log(rows[i].head, strlen(rows[i].head), rows[i].path, &other),
                         rows[i].is_log);
    }
}

static void readers__have_names_and_summaries_of_their_own(void **state)
{
    (void)state;
    const char *name;
    const char *summary;
    size_t n = 0;
    for (; inq_ingest_format(n, &name, &summary); n++) {
        assert_true(strlen(name) > 0 && strlen(summary) > 0);
        for (size_t k = 0; k < n; k++) {
            const char *other;
            assert_true(inq_ingest_format(k, &other, &summary));
            assert_string_not_equal(name, other);
        }
    }
    assert_true(n >= 3);
}

static void unknown__says_what_it_is_and_what_to_do(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        const char *reason;
    } rows[] = {
        {"", "empty file"},
        {" \n\t", "empty file"},
        {"(\xb5/\xfd"
         "abc",
         "compressed with zstd, which this build does not read: decompress it first"},
        {"\x1f\x8b\x08", "compressed many times over: decompress it first"},
        {"\x04\"M\x18@",
         "compressed with lz4, which this build does not read: decompress it first"},
        {"7z\xbc\xaf\x27", "a 7z archive: unpack it first"},
        {"PAR1", "a Parquet table: convert it to CSV"},
        {"\x80\x02}q\x01", "not a trace: a Python pickle"},
        {"trial_name: ST\ndp_size: 2\npp_size: 4\nworld_size: 8\n", "job description"},
        {"{\"world_size\": 8, \"dp_size\": 1, \"pp_size\": 8}", "job description"},
        {"{\"a\": 1}", "not a trace: JSON of another kind"},
        {"[[1, 2]]", "not a trace: JSON of another kind"},
        {"[rank3]: Watchdog caught collective operation timeout\n",
         "not a trace: text that reports no failure and no training"},
        {"W0913 11:02:07 torchrun: failed\n",
         "not a trace: text that reports no failure and no training"},
        {"\x01\x02\x03\x04\xff\xfe", "not a trace: binary data"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(inq_unrecognized_reason(NULL, "f", rows[i].head, strlen(rows[i].head)),
                            rows[i].reason);
    }
    assert_string_equal(inq_unrecognized_reason(NULL, "f", "a\0b", 3), "not a trace: binary data");
}

static void unknown__wide_text_is_not_binary_data(void **state)
{
    (void)state;
    static const char reason[] =
        "text in UTF-32: convert it to UTF-8 first (iconv -f UTF-32 -t UTF-8)";
    assert_string_equal(inq_unrecognized_reason(NULL, "f", "\xff\xfe\0\0{\0\0\0", 8), reason);
    assert_string_equal(inq_unrecognized_reason(NULL, "f", "\0\0\xfe\xff\0\0\0{", 8), reason);
    assert_string_equal(inq_unrecognized_reason(NULL, "f", "a\0\0\0", 4),
                        "not a trace: binary data");
}

static void unknown__text_with_holes_is_text(void **state)
{
    (void)state;
    char log[400];
    memset(log, 'x', sizeof log);
    memset(log + 100, 0, 200);
    assert_true(inq_unrecognized_is_text(log, sizeof log));
    assert_false(inq_unrecognized_is_text(log + 100, 200)); /* nothing but the hole */
    for (size_t i = 0; i < 100; i += 2) {
        log[i] = '\0';
    }
    assert_false(inq_unrecognized_is_text(log, sizeof log));
}

static void unknown__binary_data_is_told_by_its_name(void **state)
{
    (void)state;
    struct inq_arena arena = {0};
    assert_string_equal(inq_unrecognized_reason(&arena, "a/b.nsys-rep", "\x01\x02", 2),
                        "a report of Nsight Systems: export it: nsys export --type sqlite --output "
                        "a/b.sqlite a/b.nsys-rep");
    assert_string_equal(inq_unrecognized_reason(&arena, "my run/b.qdrep", "\x01\x02", 2),
                        "a report of Nsight Systems: export it: nsys export --type sqlite --output "
                        "'my run/b.sqlite' 'my run/b.qdrep'");
    assert_string_equal(inq_unrecognized_reason(&arena, "a/b.bin", "\x01\x02", 2),
                        "not a trace: binary data");
    assert_string_equal(inq_unrecognized_reason(&arena, "a/b.nsys-rep", "text", 4),
                        "not a trace: text that reports no failure and no training");
    inq_arena_release(&arena);
}

/* What the data folder holds besides traces is told apart from them. */
static void readers__real_neighbors_of_traces(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *format; /* NULL: no reader takes it */
    } rows[] = {
        {"whatif/ST/meta-ST.yaml", NULL},
        {"whatif/ST/trace-ST.csv.gz", "op-table"},
        {"primus/pp8/pp_rank_3.json", "primus"},
        {"schedules/zb1p_2rank_2stagep_compute.csv", NULL},
        {"logs/01.txt", "log"},
        {"flight/gpu_error_2nd/_dump_0", "flight-recorder"},
        {"flight/gpu_error_2nd/fault_injection.log", "log"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[TEST_PATH];
        if (!test_data_path(path, INQ_SHARED_DATA, rows[i].name)) {
            skip();
        }
        struct inq_shard shard;
        struct inq_err err = {0};
        int code = test_read_file(path, &shard, &err);
        if (rows[i].format == NULL) {
            assert_int_equal(code, INQ_UNSUPPORTED);
        } else {
            assert_int_equal(code, INQ_OK);
            assert_string_equal(shard.file.format, rows[i].format);
        }
        inq_shard_release(&shard);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers__are_chosen_by_content),
        cmocka_unit_test(readers__take_nothing_that_is_no_trace),
        cmocka_unit_test(readers__leave_text_to_the_reader_of_logs),
        cmocka_unit_test(readers__know_a_log_that_tells_nothing),
        cmocka_unit_test(readers__have_names_and_summaries_of_their_own),
        cmocka_unit_test(unknown__says_what_it_is_and_what_to_do),
        cmocka_unit_test(unknown__wide_text_is_not_binary_data),
        cmocka_unit_test(unknown__text_with_holes_is_text),
        cmocka_unit_test(unknown__binary_data_is_told_by_its_name),
        cmocka_unit_test(readers__real_neighbors_of_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
