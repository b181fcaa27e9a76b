/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the files of a job, through everything: ingest, all analyses, fixes, every report.
 * Files are separated by a byte 0x1e. */
#include "inquest/fix.h"
#include "inquest/ingest.h"
#include "inquest/report.h"

#include <string.h>

enum { MAX_FILES = 4, SEPARATOR = 0x1e };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int drop(void *ctx, const char *bytes, size_t n)
{
    (void)ctx;
    (void)bytes;
    (void)n;
    return INQ_OK;
}

static size_t cut_apart(const uint8_t *data, size_t size, struct inq_ingest_blob blobs[MAX_FILES])
{
    static const char *const names[] = {"run/rank_0", "run/rank_1", "run/rank_2", "run/rank_3"};
    const uint8_t *end = data + size;
    size_t n = 0;
    while (n < MAX_FILES && data < end) {
        const uint8_t *stop = memchr(data, SEPARATOR, (size_t)(end - data));
        stop = stop != NULL ? stop : end;
        blobs[n] = (struct inq_ingest_blob){names[n], data, (size_t)(stop - data)};
        data = stop < end ? stop + 1 : end;
        n++;
    }
    return n;
}

static void write_reports(const struct inq_run *run, struct inq_report *report)
{
    static const enum inq_format formats[] = {INQ_FORMAT_TEXT, INQ_FORMAT_JSON, INQ_FORMAT_MARKDOWN,
                                              INQ_FORMAT_HTML, INQ_FORMAT_PERFETTO};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct inq_report_options options = {.format = formats[i], .verbose = true};
        (void)inq_report_write(run, &report, 1, &options, (struct inq_sink){drop, NULL}, NULL);
    }
}

static void fix(const struct inq_trace *trace, struct inq_report *report)
{
    struct inq_fix_options options = {.jobs = 1};
    struct inq_fix_base *base = NULL;
    struct inq_fixes *fixes = NULL;
    if (inq_fix_base_of_run(trace, report, &base, NULL) == INQ_OK &&
        inq_fix_study(base, report, &options, &fixes, NULL) == INQ_OK) {
        struct inq_report_options text = {.verbose = true};
        (void)inq_fix_report(fixes, &text, (struct inq_sink){drop, NULL}, NULL);
    }
    inq_fixes_free(fixes);
    inq_fix_base_free(base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct inq_ingest_blob blobs[MAX_FILES];
    size_t n = cut_apart(data, size, blobs);
    struct inq_ingest_options how = {.jobs = 1};
    struct inq_run *run = NULL;
    struct inq_report_options text = {.verbose = true};
    if (n == 0 || inq_ingest_memory(blobs, n, &how, &run, NULL) != INQ_OK) {
        return 0;
    }
    (void)inq_info_write(run, &text, (struct inq_sink){drop, NULL}, NULL);
    for (size_t t = 0; t < run->n_traces; t++) {
        struct inq_analysis_options options = {.jobs = 1};
        struct inq_report *report = NULL;
        if (inq_analyze(run->traces[t], &options, &report, NULL) == INQ_OK) {
            if (run->n_traces == 1) { /* a document is of all jobs */
                write_reports(run, report);
            }
            fix(run->traces[t], report);
        }
        inq_report_free(report);
    }
    inq_run_free(run);
    return 0;
}
