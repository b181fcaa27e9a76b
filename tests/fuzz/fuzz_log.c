/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a text log: read as a whole and in small chunks, then through ingest and analysis.
 */
#include "ingest/ingest.h"
#include "inquest/failure.h"
#include "inquest/ingest.h"
#include "inquest/log.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count(const uint8_t *data, size_t size, size_t chunk)
{
    struct inq_source_options options = {.chunk_size = chunk};
    struct inq_source *source = NULL;
    struct inq_shard shard = {.file = {.path = "rank_1.log", .reason = ""}};
    struct inq_err err = {0};
    size_t events = 0;
    if (inq_source_open_memory(data, size, &options, &source, &err) != INQ_OK) {
        return 0;
    }
    if (inq_reader_log.read(source, &shard, &err) == INQ_OK) {
        events = shard.log->n_events;
    }
    inq_shard_release(&shard);
    inq_source_close(source);
    return events;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct inq_ingest_blob blobs[] = {{"rank_1.log", data, size},
                                            {"node1/dmesg.log", data, size / 2}};
    struct inq_ingest_options options = {.jobs = 1};
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;
    struct inq_err err = {0};
    if (count(data, size, 0) != count(data, size, 7)) {
        abort();
    }
    if (inq_ingest_memory(blobs, 2, &options, &run, &err) != INQ_OK) {
        return 0;
    }
    for (size_t t = 0; t < run->n_traces; t++) {
        if (inq_analyze(run->traces[t], NULL, &report, &err) == INQ_OK) {
            const struct inq_failure *f = report->failure;
            for (size_t i = 0; f != NULL && i < f->n_roots; i++) {
                for (size_t k = 0; k < f->n_victims; k++) {
                    if (f->root_ranks[i] == f->victim_ranks[k]) {
                        abort(); /* no victim is a root */
                    }
                }
            }
            inq_report_free(report);
        }
    }
    inq_run_free(run);
    return 0;
}
