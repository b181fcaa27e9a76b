/* SPDX-License-Identifier: Apache-2.0 */
/* Several ranks of made-up events through everything. The bytes say what each event is, when, and
 * what it refers to, so that every input is a trace and reaches the analyses; whatever its events
 * are, a report must come out: no analysis fails, every format is written, `fix`, `compare` and
 * `check` answer or say why they do not. */
#include "inquest/out.h"
#include "inquest/check.h"
#include "inquest/compare.h"
#include "inquest/fix.h"
#include "inquest/ingest.h"
#include "inquest/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_RANKS = 4, EVENT_BYTES = 8, MAX_EVENTS = 300 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must never be; the sanitizer's stack says where. */
static void require(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "fuzz_pipeline: %s\n", what);
        abort();
    }
}

static int drop(void *ctx, const char *bytes, size_t n)
{
    (void)ctx;
    (void)bytes;
    (void)n;
    return INQ_OK;
}

/* ---- bytes to events ------------------------------------------------------------------------- */

/* Times in us: mostly small steps onwards, ties, steps back, and an absurd one, 46 days onwards. It
 * comes once for a rank: a record of more than 73 years is refused, and rightly so. */
static int64_t next_time(int64_t now, uint8_t byte)
{
    const int64_t days = INT64_C(4000000000000);
    switch (byte >> 6) {
    case 0:
        return now;
    case 1:
        return now + (byte & 0x3f);
    case 2:
        return now + (int64_t)(byte & 0x3f) * 100;
    default:
        return byte == 0xff && now < days ? now + days : now - (byte & 0x3f);
    }
}

static int64_t length(uint8_t byte)
{
    return byte == 0xff ? INT64_C(1000000000) : byte > 0xf0 ? 0 : (int64_t)byte * byte / 16;
}

static void write_head(struct inq_out *out, const char *category, const char *name)
{
    inq_out_printf(out, ",\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\"", category, name);
}

static void write_call(struct inq_out *out, const uint8_t *e)
{
    static const char *const names[] = {"cudaLaunchKernel", "cudaStreamSynchronize",
                                        "cudaMemcpyAsync", "cudaEventQuery"};
    write_head(out, "cuda_runtime", names[e[3] % 4]);
    inq_out_printf(out, ",\"pid\":1,\"tid\":%d,\"args\":{\"correlation\":%d}", e[4] % 3, e[5]);
}

static void write_kernel(struct inq_out *out, const uint8_t *e)
{
    write_head(out, "kernel", e[3] % 2 == 0 ? "gemm" : "elementwise_kernel");
    inq_out_printf(out,
                   ",\"pid\":0,\"tid\":%d,\"args\":{\"device\":0,\"stream\":%d,\"correlation\":%d,"
                   "\"grid\":[%d,1,1],\"block\":[128,1,1]}",
                   7 + e[4] % 3, 7 + e[4] % 3, e[5], e[6]);
}

static void write_collective(struct inq_out *out, const uint8_t *e)
{
    static const char *const kernels[] = {"ncclDevKernel_AllReduce_Sum_f32",
                                          "ncclDevKernel_SendRecv", "ncclDevKernel_AllGather",
                                          "ncclDevKernel_Broadcast"};
    static const char *const names[] = {"allreduce", "send", "_allgather_base", "broadcast"};
    write_head(out, "kernel", kernels[e[3] % 4]);
    inq_out_printf(out,
                   ",\"pid\":0,\"tid\":%d,\"args\":{\"device\":0,\"stream\":%d,\"correlation\":%d,"
                   "\"Collective name\":\"%s\",\"Process Group Name\":\"%d\",\"Group size\":%d,"
                   "\"In msg nelems\":%d,\"dtype\":\"Float\",\"Process Group Ranks\":\"[0, 1, 2, "
                   "3]\",\"Seq\":%d,\"Src Rank\":%d,\"Dst Rank\":%d}",
                   20 + e[4] % 2, 20 + e[4] % 2, e[5], names[e[3] % 4], e[6] % 2, MAX_RANKS,
                   (e[6] + 1) * 100, e[7], e[7] % MAX_RANKS, e[6] % MAX_RANKS);
}

static void write_other(struct inq_out *out, const uint8_t *e)
{
    char name[32];
    (void)snprintf(name, sizeof name, "ProfilerStep#%d", e[5] % 8);
    if (e[3] % 2 == 0) {
        write_head(out, "user_annotation", name);
        inq_out_text(out, ",\"pid\":1,\"tid\":1,\"args\":{}");
    } else {
        write_head(out, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)");
        inq_out_printf(out,
                       ",\"pid\":0,\"tid\":7,\"args\":{\"device\":0,\"stream\":7,\"correlation\":"
                       "%d,\"bytes\":%d}",
                       e[5], e[6] * 1000);
    }
}

/* Appends the event to its rank's file. */
static void write_event(struct inq_out *out, const uint8_t *e, int64_t *now)
{
    static void (*const kinds[])(struct inq_out * out, const uint8_t *e) = {
        write_call, write_kernel, write_collective, write_other, write_call, write_kernel};
    *now = next_time(*now, e[1]);
    kinds[(e[0] >> 2) % (sizeof kinds / sizeof *kinds)](out, e);
    inq_out_printf(out, ",\"ts\":%" PRId64 ",\"dur\":%" PRId64 "}", *now, length(e[2]));
}

static size_t write_ranks(const uint8_t *data, size_t size, struct inq_out files[MAX_RANKS])
{
    int64_t now[MAX_RANKS] = {1000, 1000, 1000, 1000};
    size_t n = size / EVENT_BYTES < MAX_EVENTS ? size / EVENT_BYTES : MAX_EVENTS;
    for (int r = 0; r < MAX_RANKS; r++) { /* one sound kernel each: there is something to tell */
        inq_out_printf(&files[r],
                       "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":%d,\"world_size\":%d},"
                       "\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"first\","
                       "\"pid\":0,\"tid\":7,\"ts\":900,\"dur\":10,\"args\":{\"device\":0,"
                       "\"stream\":7,\"correlation\":999}}",
                       r, MAX_RANKS);
    }
    for (size_t i = 0; i < n; i++) {
        const uint8_t *e = data + i * EVENT_BYTES;
        write_event(&files[e[0] % MAX_RANKS], e, &now[e[0] % MAX_RANKS]);
    }
    for (int r = 0; r < MAX_RANKS; r++) {
        inq_out_text(&files[r], "]}");
    }
    return n;
}

/* ---- what must come out ---------------------------------------------------------------------- */

static void all_formats(const struct inq_run *run, struct inq_report *report)
{
    for (int format = 0; format <= INQ_FORMAT_PERFETTO; format++) {
        struct inq_report_options options = {.format = (enum inq_format)format, .verbose = true};
        struct inq_sink sink = {drop, NULL};
        bool offered = format == INQ_FORMAT_TEXT || format == INQ_FORMAT_JSON ||
                       format == INQ_FORMAT_MARKDOWN || format == INQ_FORMAT_PERFETTO;
#ifdef INQ_HAVE_HTML
        offered = offered || format == INQ_FORMAT_HTML;
#endif
        struct inq_err err = {0};
        require(!offered || inq_report_write(run, &report, 1, &options, sink, &err) == INQ_OK,
                err.message);
    }
}

static void fixed(const struct inq_trace *trace, struct inq_report *report)
{
    struct inq_fix_options options = {.jobs = 1};
    struct inq_report_options text = {.verbose = true};
    struct inq_sink sink = {drop, NULL};
    struct inq_fix_base *base = NULL;
    struct inq_fixes *fixes = NULL;
    struct inq_err err = {0};
    int code = inq_fix_base_of_run(trace, report, &base, &err);
    require(code == INQ_OK || code == INQ_UNSUPPORTED, err.message);
    if (code == INQ_OK) {
        require(inq_fix_study(base, report, &options, &fixes, &err) == INQ_OK, err.message);
        require(inq_fix_report(fixes, &text, sink, &err) == INQ_OK, err.message);
    }
    inq_fixes_free(fixes);
    inq_fix_base_free(base);
}

static void compared(struct inq_report *report)
{
    struct inq_report_options text = {.verbose = true};
    struct inq_comparison *comparison = NULL;
    struct inq_err err = {0};
    int code = inq_compare_runs(report, report, NULL, &comparison, &err);
    require(code == INQ_OK || code == INQ_UNSUPPORTED, err.message);
    if (code == INQ_OK) {
        struct inq_sink sink = {drop, NULL};
        require(inq_comparison_report(comparison, &text, sink, &err) == INQ_OK, err.message);
    }
    inq_comparison_free(comparison);
}

static void checked(struct inq_report *report)
{
    struct inq_snapshot snapshot = {0};
    struct inq_err err = {0};
    int code = inq_snapshot_of_report(report, &snapshot, &err);
    require(code == INQ_OK || code == INQ_UNSUPPORTED, err.message);
    inq_snapshot_release(&snapshot);
}

static void check_pipeline(const struct inq_run *run, struct inq_trace *trace)
{
    struct inq_analysis_options options = {.jobs = 1};
    struct inq_report *report = NULL;
    struct inq_err err = {0};
    require(inq_analyze(trace, &options, &report, &err) == INQ_OK, err.message);
    bool whole = true;
    for (int s = 0; s < INQ_SECTION_COUNT;
         s++) { /* all of them: one failure costs its dependents */
        if (report->sections[s].reason != NULL) {
            (void)fprintf(stderr, "fuzz_pipeline: %s: %s\n", inq_section_key((enum inq_section)s),
                          report->sections[s].reason);
            whole = false;
        }
    }
    require(whole, "a section is not available");
    require(report->verdict.headline[0] != '\0', "no headline");
    if (run->n_traces == 1) { /* a document is of all jobs */
        all_formats(run, report);
    }
    fixed(trace, report);
    compared(report);
    checked(report);
    inq_report_free(report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"run/rank_0.json", "run/rank_1.json", "run/rank_2.json",
                                        "run/rank_3.json"};
    struct inq_out files[MAX_RANKS] = {{0}};
    struct inq_ingest_blob blobs[MAX_RANKS];
    struct inq_ingest_options how = {.jobs = 1};
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    (void)write_ranks(data, size, files);
    for (int r = 0; r < MAX_RANKS; r++) {
        blobs[r] = (struct inq_ingest_blob){names[r], files[r].buf, files[r].len};
    }
    require(inq_ingest_memory(blobs, MAX_RANKS, &how, &run, &err) == INQ_OK, err.message);
    require(run->n_traces > 0 && run->n_skipped == 0, "a file was not read");
    for (size_t t = 0; t < run->n_traces; t++) {
        check_pipeline(run, run->traces[t]);
    }
    inq_run_free(run);
    for (int r = 0; r < MAX_RANKS; r++) {
        inq_out_release(&files[r]);
    }
    return 0;
}
