/* SPDX-License-Identifier: Apache-2.0 */
/* Archives, and what is in them: members lie inside the input, and reading ends. */
#include "base/mem.h"
#include "ingest/archive/archive.h"
#include "inquest/ingest.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct inq_source_part whole = {.bytes = data, .fd = -1, .size = size};
    struct inq_arena arena = {0};
    struct inq_archive archive = {0};
    if (size > 0) {
        (void)inq_archive_list(&whole, 1000, &arena, &archive, NULL);
    }
    for (size_t i = 0; i < archive.n; i++) {
        const struct inq_source_part *part = &archive.members[i].part;
        if (part->offset > size || size - part->offset < part->size) {
            abort();
        }
    }
    inq_mem_free(archive.members);
    inq_arena_release(&arena);
    struct inq_ingest_blob blob = {.name = "a", .bytes = data, .n = size};
    struct inq_ingest_options options = {.jobs = 1, .memory_limit = 64 << 20};
    struct inq_run *run = NULL;
    if (size < 64 << 10 && inq_ingest_memory(&blob, 1, &options, &run, NULL) == INQ_OK) {
        inq_run_free(run);
    }
    return 0;
}
