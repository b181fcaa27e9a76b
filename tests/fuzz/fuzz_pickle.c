/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes through the decoder of pickles, with a small limit so that bombs show as limits. */
#include "ingest/flight/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct inq_pickle_limits limits = {.max_objects = (size_t)1 << 16};
    struct inq_arena arena = {0};
    struct inq_value *root = NULL;
    bool complete = false;
    struct inq_err err = {0};
    (void)inq_pickle_decode(data, size, &limits, &arena, &root, &complete, &err);
    inq_arena_release(&arena);
    return 0;
}
