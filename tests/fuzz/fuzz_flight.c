/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the dump of a rank, through ingest and analysis. */
#include "inquest/failure.h"
#include "inquest/ingest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* two ranks, so that they are compared */
    const struct inq_ingest_blob blobs[] = {{"rank_0", data, size}, {"rank_1", data, size / 4 * 3}};
    struct inq_ingest_options options = {.jobs = 1};
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;
    struct inq_err err = {0};
    if (inq_ingest_memory(blobs, 2, &options, &run, &err) != INQ_OK) {
        return 0;
    }
    for (size_t t = 0; t < run->n_traces; t++) {
        if (inq_analyze(run->traces[t], NULL, &report, &err) == INQ_OK) {
            inq_report_free(report);
        }
    }
    inq_run_free(run);
    return 0;
}
