/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/telemetry/fields.h"
#include "inquest/ingest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t EPOCH = INT64_C(1768464000000000000); /* 2026-01-15 08:00:00 UTC */

/* ---- words ----------------------------------------------------------------------------------- */

static void telemetry__values_have_units_or_none(void **state)
{
    (void)state;
    double value;
    assert_true(inq_gpu_number("1980 MHz", 8, &value) && value > 1979.5 && value < 1980.5);
    assert_true(inq_gpu_number("71.52", 5, &value) && value > 71.51 && value < 71.53);
    assert_true(inq_gpu_number("1.98e+03", 8, &value) && value > 1979.5 && value < 1980.5);
    assert_false(inq_gpu_number("[N/A]", 5, &value));
    assert_false(inq_gpu_number("12abc", 5, &value));
    assert_false(inq_gpu_number("1e999", 5, &value));
    uint32_t bits;
    assert_true(inq_gpu_reasons("0x0000000000000040", 18, &bits) && bits == 0x40);
    assert_true(inq_gpu_reasons("64", 2, &bits) && bits == 64);
    assert_false(inq_gpu_reasons("0xzz", 4, &bits));
}

/* Digits that a double holds exactly are read as a whole, longer ones one by one. */
static void telemetry__short_and_long_numbers_are_the_same(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",
        "007",
        "71.52",
        "1.",
        "999999999999999",
        "0.00000001",
        "99999999.999",
        "12345678901234.5",
        "1234567.89012345 W",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double value;
        assert_true(inq_gpu_number(texts[i], strlen(texts[i]), &value));
        assert_true(fabs(value - strtod(texts[i], NULL)) <= 1e-12 * value);
    }
    static const char *const bad[] = {"",    ".", ".5", "1.2.3", "-1", "1W", "1000000000000000",
                                      "1e15"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value;
        assert_false(inq_gpu_number(bad[i], strlen(bad[i]), &value));
    }
}

static void telemetry__times_are_exact_in_every_form(void **state)
{
    (void)state;
    static const char *const forms[] = {"2026/01/15 08:00:00.250", "2026-01-15T08:00:00.250",
                                        "20260115 08:00:00.250"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        int64_t at_ns;
        assert_true(inq_gpu_time(forms[i], strlen(forms[i]), &at_ns));
        assert_true(at_ns == EPOCH + 250000000);
    }
    int64_t leap_ns;
    assert_true(inq_gpu_time("2024/02/29 00:00:00", 19, &leap_ns));
    assert_true(leap_ns == INT64_C(1709164800000000000));
    assert_false(inq_gpu_time("2026/13/15 08:00:00", 19, &leap_ns));
    assert_false(inq_gpu_time("08:00:00", 8, &leap_ns));
}

static void telemetry__columns_by_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum inq_gpu_column_kind kind;
    } cases[] = {{"clocks.current.sm [MHz]", INQ_GPU_COLUMN_METRIC},
                 {"clocks_event_reasons.active", INQ_GPU_COLUMN_REASONS},
                 {"clocks_throttle_reasons.hw_thermal_slowdown", INQ_GPU_COLUMN_REASON},
                 {"name", INQ_GPU_COLUMN_OTHER},
                 {"", INQ_GPU_COLUMN_OTHER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(inq_gpu_column_of(cases[i].name, strlen(cases[i].name)).kind,
                         cases[i].kind);
    }
}

/* ---- beside a run ---------------------------------------------------------------------------- */

/* One rank of two hosts with two GPUs each: a kernel of a millisecond at EPOCH. */
static size_t put_rank(char *text, size_t size, int rank)
{
    return (size_t)snprintf(
        text, size,
        "{\"schemaVersion\":1,\"host_name\":\"node-%d\",\"distributedInfo\":{\"backend\":\"nccl\","
        "\"rank\":%d,\"world_size\":4},\"baseTimeNanoseconds\":%lld,\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":%d,\"tid\":7,\"ts\":1.0,"
        "\"dur\":1000.0,\"args\":{\"device\":%d,\"stream\":7,\"correlation\":1}}]}",
        rank / 2, rank, (long long)EPOCH, rank % 2, rank % 2);
}

static struct inq_run *ingest(const char *name, const char *telemetry)
{
    static char texts[4][1024];
    static char names[4][32];
    struct inq_ingest_blob blobs[5];
    struct inq_ingest_options options = {.jobs = 1};
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    for (int r = 0; r < 4; r++) {
        (void)snprintf(names[r], sizeof names[r], "rank-%d.json", r);
        blobs[r] =
            (struct inq_ingest_blob){names[r], texts[r], put_rank(texts[r], sizeof texts[r], r)};
    }
    blobs[4] = (struct inq_ingest_blob){name, telemetry, strlen(telemetry)};
    assert_int_equal(inq_ingest_memory(blobs, 5, &options, &run, &err), INQ_OK);
    assert_int_equal(run->n_traces, 1);
    assert_int_equal(run->traces[0]->n_ranks, 4);
    return run;
}

static const char smi[] =
    "timestamp, index, clocks.current.sm [MHz], clocks_throttle_reasons.active\n"
    "%s 08:00:00.000, 0, 1980 MHz, 0x0000000000000000\n"
    "%s 08:00:00.000, 1, 1170 MHz, 0x0000000000000040\n"
    "%s 08:00:01.000, 1, 1200 MHz, 0x0000000000000000\n";

static void telemetry__a_file_named_after_a_host_is_of_its_gpus(void **state)
{
    (void)state;
    char text[512];
    (void)snprintf(text, sizeof text, smi, "2026/01/15", "2026/01/15", "2026/01/15");
    struct inq_run *run = ingest("gpus-node-1.csv", text);
    const struct inq_gpu_state *states = run->traces[0]->gpu_states;
    assert_non_null(states);
    assert_int_equal(states[0].samples, 0); /* of the other host */
    assert_int_equal(states[2].samples, 1);
    assert_int_equal(states[3].samples, 2);
    assert_int_equal(llround(states[3].median[INQ_GPU_SM_MHZ]), 1185);
    assert_int_equal(states[3].slowdown, 0x40);
    assert_int_equal(llround(100 * states[3].slowdown_share), 50);
    assert_true(isnan(states[3].median[INQ_GPU_POWER_W]));
    inq_run_free(run);
}

static void telemetry__local_times_are_moved_by_whole_zones(void **state)
{
    (void)state;
    char text[512];
    (void)snprintf(text, sizeof text,
                   "timestamp, index, clocks.sm [MHz]\n2026/01/15 16:00:02.000, 1, 1170\n");
    struct inq_run *run = ingest("node-1.csv", text);
    const struct inq_trace *trace = run->traces[0];
    assert_int_equal(trace->gpu_states[3].samples, 1);
    assert_non_null(strstr(trace->files[trace->n_files - 1].reason, "taken as UTC+08:00"));
    inq_run_free(run);
}

static void telemetry__what_cannot_be_joined_says_why(void **state)
{
    (void)state;
    char text[512];
    (void)snprintf(text, sizeof text, smi, "2026/01/19", "2026/01/19", "2026/01/19");
    struct inq_run *run = ingest("node-1.csv", text);
    assert_null(run->traces[0]->gpu_states);
    assert_int_equal(run->n_skipped, 1);
    assert_non_null(strstr(run->skipped[0].reason, "another time"));
    inq_run_free(run);
    (void)snprintf(text, sizeof text, smi, "2026/01/15", "2026/01/15", "2026/01/15");
    run = ingest("gpus.csv", text); /* of which of the two hosts? */
    assert_int_equal(run->n_skipped, 1);
    assert_non_null(strstr(run->skipped[0].reason, "put the host's name"));
    inq_run_free(run);
}

static void telemetry__tables_and_metrics_say_the_same(void **state)
{
    (void)state;
    static const char dmon[] = "#Entity   SMCLK  TMPTR  DVCCTR\n"
                               "ID        MHz\n"
                               "GPU 0     1980   60     0\n"
                               "GPU 1     1170   88     64\n"
                               "a line that was cut\n";
    static const char prom[] =
        "# TYPE DCGM_FI_DEV_SM_CLOCK gauge\n"
        "DCGM_FI_DEV_SM_CLOCK{gpu=\"1\",UUID=\"GPU-9\",Hostname=\"node-1\"} 1170\n"
        "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\",Hostname=\"node-1\"} 88\n"
        "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu=\"1\",Hostname=\"node-1\"} 64\n";
    static const char *const texts[] = {dmon, prom};
    for (size_t i = 0; i < 2; i++) {
        struct inq_run *run = ingest("node-1.txt", texts[i]);
        const struct inq_trace *trace = run->traces[0];
        const struct inq_gpu_state *gpu = &trace->gpu_states[3];
        assert_int_equal(llround(gpu->median[INQ_GPU_SM_MHZ]), 1170);
        assert_int_equal(llround(gpu->median[INQ_GPU_TEMPERATURE_C]), 88);
        assert_int_equal(gpu->slowdown, 0x40);
        assert_int_equal(inq_damage_total(&trace->files[trace->n_files - 1].damage), i == 0);
        inq_run_free(run);
    }
}

/* Labels of a GPU in several spellings and orders, new ones between known ones, and none. */
static void telemetry__labels_count_by_what_they_say(void **state)
{
    (void)state;
    static const char prom[] = "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\",Hostname=\"node-1\"} 1980\n"
                               "DCGM_FI_DEV_SM_CLOCK{gpu=\"1\",Hostname=\"node-1\"} 1170\n"
                               "DCGM_FI_DEV_SM_CLOCK{Hostname=\"node-1\", gpu=\"1\"} 1180 \r\n"
                               "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\",Hostname=\"node-1\"} 1981\n"
                               "DCGM_FI_DEV_SM_CLOCK{gpu=\"1\",x=\"}\",Hostname=\"node-1\"} 1190\n"
                               "DCGM_FI_DEV_SM_CLOCK{gpu=\"1\",Hostname=\"node-0\"} 600\n"
                               "DCGM_FI_DEV_SM_CLOCK{xgpu=\"1\",Hostname=\"node-1\"} 5\n"
                               "DCGM_FI_DEV_SM_CLOCK{xgpu=\"1\",Hostname=\"node-1\"} 5\n"
                               "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\",Hostname=\"node-1\"} 88\n"
                               "DCGM_FI_DEV_SM_CLOCK{gpu=\"1\",Hostname=\"node-1\"\n"
                               "DCGM_FI_DEV_SOMETHING{gpu=\"1\",Hostname=\"node-1\"} 3\n";
    struct inq_run *run = ingest("node-1.txt", prom);
    const struct inq_trace *trace = run->traces[0];
    const struct inq_gpu_state *states = trace->gpu_states;
    assert_int_equal(llround(states[1].median[INQ_GPU_SM_MHZ]), 600);
    assert_int_equal(states[2].samples, 2);
    assert_int_equal(states[3].samples, 4);
    assert_int_equal(llround(states[3].median[INQ_GPU_SM_MHZ]), 1180);
    assert_int_equal(llround(states[3].median[INQ_GPU_TEMPERATURE_C]), 88);
    assert_int_equal(inq_damage_total(&trace->files[trace->n_files - 1].damage), 3);
    inq_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(telemetry__values_have_units_or_none),
        cmocka_unit_test(telemetry__short_and_long_numbers_are_the_same),
        cmocka_unit_test(telemetry__times_are_exact_in_every_form),
        cmocka_unit_test(telemetry__columns_by_their_names),
        cmocka_unit_test(telemetry__a_file_named_after_a_host_is_of_its_gpus),
        cmocka_unit_test(telemetry__local_times_are_moved_by_whole_zones),
        cmocka_unit_test(telemetry__what_cannot_be_joined_says_why),
        cmocka_unit_test(telemetry__labels_count_by_what_they_say),
        cmocka_unit_test(telemetry__tables_and_metrics_say_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
