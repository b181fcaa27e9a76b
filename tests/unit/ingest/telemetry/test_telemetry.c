/* SPDX-License-Identifier: Apache-2.0 */
#include "support_read.h"

#include "inquest/ingest.h"
#include "trace/telemetry/telemetry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static const int64_t EPOCH = INT64_C(1768464000000000000); /* 2026-01-15 08:00:00 UTC */

/* ---- words ----------------------------------------------------------------------------------- */

/* The sample that a row of CSV is, with the time `time` and `cell` under `column`; false: none. */
static bool read_row(const char *time, const char *column, const char *cell,
                     struct inq_gpu_sample *sample)
{
    char text[512];
    struct inq_shard shard;
    struct inq_err err = {0};
    int n = snprintf(text, sizeof text, "timestamp, index, temperature.gpu, %s\n%s, 1, 60, %s\n",
                     column, time, cell);
    assert_int_equal(test_read_bytes(text, (size_t)n, 0, &shard, &err), INQ_OK);
    assert_non_null(shard.telemetry);
    bool any = shard.telemetry->n > 0;
    *sample = any ? shard.telemetry->samples[0] : (struct inq_gpu_sample){0};
    inq_shard_release(&shard);
    return any;
}

/* Of EPOCH. */
static const char AT[] = "2026/01/15 08:00:00.000";

static void telemetry__values_have_units_or_none(void **state)
{
    (void)state;
    static const struct {
        const char *cell;
        double value; /* NaN: none */
    } rows[] = {{"1980 MHz", 1980.0}, {"71.52", 71.52},         {"1.98e+03", 1980.0},
                {"[N/A]", NAN},       {"12abc", NAN},           {"1e999", NAN},
                {"-", NAN},           {"999999e9", 9.99999e14}, {"1e15", NAN}};
    struct inq_gpu_sample sample;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(read_row(AT, "power.draw [W]", rows[i].cell, &sample));
        double value = (double)sample.values[INQ_GPU_POWER_W];
        bool same = fabs(value / rows[i].value - 1.0) < 2e-5;
        assert_true(isnan(rows[i].value) ? isnan(value) : same);
    }
    static const char reasons[] = "clocks_throttle_reasons.active";
    assert_true(read_row(AT, reasons, "0x0000000000000040", &sample));
    assert_true(sample.has_reasons && sample.reasons == 0x40);
    assert_true(read_row(AT, reasons, "64", &sample));
    assert_true(sample.has_reasons && sample.reasons == 64);
    assert_true(read_row(AT, reasons, "0xzz", &sample));
    assert_false(sample.has_reasons);
}

static void telemetry__times_are_exact_in_every_form(void **state)
{
    (void)state;
    static const char *const forms[] = {"2026/01/15 08:00:00.250", "2026-01-15T08:00:00.250",
                                        "20260115 08:00:00.250"};
    struct inq_gpu_sample sample;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        assert_true(read_row(forms[i], "name", "H100", &sample));
        assert_true(sample.at_ns == EPOCH + 250000000);
    }
    assert_true(read_row("2024/02/29 00:00:00", "name", "H100", &sample));
    assert_true(sample.at_ns == INT64_C(1709164800000000000));
    assert_false(read_row("2026/13/15 08:00:00", "name", "H100", &sample));
    assert_false(read_row("08:00:00", "name", "H100", &sample));
}

static void telemetry__columns_by_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *name, *cell;
        bool clock, reasons;
    } cases[] = {{"clocks.current.sm [MHz]", "1170", true, false},
                 {"clocks_event_reasons.active", "64", false, true},
                 {"clocks_throttle_reasons.hw_thermal_slowdown", "Active", false, true},
                 {"name", "64", false, false},
                 {"", "64", false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_gpu_sample sample;
        assert_true(read_row(AT, cases[i].name, cases[i].cell, &sample));
        assert_int_equal(!isnan(sample.values[INQ_GPU_SM_MHZ]), cases[i].clock);
        assert_int_equal(sample.has_reasons, cases[i].reasons);
        assert_int_equal(sample.reasons, cases[i].reasons ? 0x40 : 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(telemetry__values_have_units_or_none),
        cmocka_unit_test(telemetry__times_are_exact_in_every_form),
        cmocka_unit_test(telemetry__columns_by_their_names),
        cmocka_unit_test(telemetry__a_file_named_after_a_host_is_of_its_gpus),
        cmocka_unit_test(telemetry__local_times_are_moved_by_whole_zones),
        cmocka_unit_test(telemetry__what_cannot_be_joined_says_why),
        cmocka_unit_test(telemetry__tables_and_metrics_say_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
