/* SPDX-License-Identifier: Apache-2.0 */
/* Sources: whatever the bytes, they end, and the chunk size changes nothing. */
#include "ingest/source/source.h"

#include <stdlib.h>
#include <string.h>

/* Bombs are cut here: what is fuzzed is the end of things, not their size. */
enum { MAX_OUT = 4 << 20 };

struct sum {
    uint64_t n, hash;
    struct inq_damage damage;
};

static int read_way(const uint8_t *data, size_t size, struct inq_source_options options,
                    struct sum *sum)
{
    struct inq_source *source = NULL;
    struct inq_err err = {0};
    memset(sum, 0, sizeof *sum);
    if (inq_source_open_memory(data, size, &options, &source, &err) != INQ_OK) {
        return 1;
    }
    const char *bytes = NULL;
    size_t n = 0;
    int code = INQ_OK;
    while (sum->n < MAX_OUT && (code = inq_source_next(source, &bytes, &n, &err)) == INQ_OK &&
           n > 0) {
        for (size_t i = 0; i < n && sum->n < MAX_OUT; i++, sum->n++) {
            sum->hash = (sum->hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
        }
    }
    sum->damage = *inq_source_damage(source);
    inq_source_close(source);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sum a;
    struct sum b;
    int first = read_way(data, size, (struct inq_source_options){.no_isal = true}, &a);
    int second =
        read_way(data, size, (struct inq_source_options){.no_isal = true, .chunk_size = 509}, &b);
    if (first != second || a.n != b.n || a.hash != b.hash ||
        (a.n < MAX_OUT && memcmp(&a.damage, &b.damage, sizeof a.damage) != 0)) {
        abort();
    }
    struct sum isal;
    (void)read_way(data, size, (struct inq_source_options){.threaded = true}, &isal);
    return 0;
}
