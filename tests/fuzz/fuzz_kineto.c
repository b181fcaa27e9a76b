/* SPDX-License-Identifier: Apache-2.0 */
/* Event traces: small chunks and large ones, the plain matcher and the fastest, must agree. */
#include "ingest/kineto/kineto.h"

#include <stdlib.h>
#include <string.h>

static int read_way(const uint8_t *data, size_t size, size_t chunk, inq_shape_match match,
                    struct inq_shard *shard)
{
    struct inq_source_options options = {.chunk_size = chunk};
    struct inq_source *source = NULL;
    struct inq_err err = {0};
    *shard = (struct inq_shard){.file = {.path = "fuzz"}};
    if (inq_source_open_memory(data, size, &options, &source, &err) != INQ_OK) {
        return INQ_NOMEM;
    }
    int code = inq_kineto_read(source, shard, match, &err);
    inq_source_close(source);
    if (code == INQ_OK) {
        code = inq_shard_finalize(shard, &err);
    }
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct inq_shard fast;
    struct inq_shard plain;
    int code = read_way(data, size, 0, inq_shape_matcher(inq_shape_level()), &fast);
    int other = read_way(data, size, 0, inq_shape_matcher(INQ_SHAPE_PLAIN), &plain);
    if (code != other || fast.file.events != plain.file.events ||
        fast.file.events_kept != plain.file.events_kept || fast.names.n != plain.names.n ||
        memcmp(&fast.file.damage, &plain.file.damage, sizeof fast.file.damage) != 0) {
        abort();
    }
    inq_shard_release(&plain);
    inq_shard_release(&fast);
    /* general reading does not depend on how the text comes in pieces */
    struct inq_shard whole;
    struct inq_shard pieces;
    code = read_way(data, size, 0, NULL, &whole);
    other = read_way(data, size, 61, NULL, &pieces);
    if (code != other || whole.file.events != pieces.file.events ||
        whole.file.events_kept != pieces.file.events_kept || whole.names.n != pieces.names.n) {
        abort();
    }
    inq_shard_release(&pieces);
    inq_shard_release(&whole);
    return 0;
}
