/* SPDX-License-Identifier: Apache-2.0 */
/* What a fuzz target of a reader does with its bytes: read as a whole and in small chunks, seal. */
#ifndef INQ_FUZZ_READER_H
#define INQ_FUZZ_READER_H

#include "ingest/ingest.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever the bytes: every row has a lane, a label and a duration that make sense. */
static void fuzz_check(const struct inq_shard *shard)
{
    for (size_t r = 0; r < shard->n_ranks; r++) {
        const struct inq_rank *rank = &shard->ranks[r];
        for (size_t i = 0; i < rank->events.n; i++) {
            const uint32_t *label = rank->events.label;
            if (rank->events.lane[i] >= rank->n_lanes || rank->events.dur_ns[i] < 0 ||
                (label != NULL && label[i] != INQ_NONE && label[i] >= rank->n_labels)) {
                abort();
            }
        }
    }
}

static void fuzz_read(const struct inq_reader *reader, const uint8_t *data, size_t size,
                      size_t chunk, size_t *events)
{
    struct inq_source_options options = {.chunk_size = chunk};
    struct inq_source *source = NULL;
    struct inq_shard shard = {.file = {.path = "rank_1.json"}};
    struct inq_err err = {0};
    *events = 0;
    if (inq_source_open_memory(data, size, &options, &source, &err) != INQ_OK) {
        return;
    }
    int code = reader->read(source, &shard, &err);
    for (size_t r = 0; r < shard.n_ranks && code == INQ_OK; r++) {
        *events += shard.ranks[r].events.n;
    }
    fuzz_check(&shard);
    (void)inq_shard_finalize(&shard, &err);
    fuzz_check(&shard);
    shard.file.read = code == INQ_OK;
    if (shard.file.read && reader->join != NULL) {
        (void)reader->join(&shard, 1, &err);
        fuzz_check(&shard);
    }
    inq_shard_release(&shard);
    inq_source_close(source);
}

static void fuzz_both_ways(const struct inq_reader *reader, const uint8_t *data, size_t size)
{
    size_t whole = 0;
    size_t parts = 0;
    fuzz_read(reader, data, size, 0, &whole);
    fuzz_read(reader, data, size, 7 + size / 1024, &parts); /* of long ones not thousands */
    if (whole != parts) {
        abort();
    }
}

#endif
