/* SPDX-License-Identifier: Apache-2.0 */
/* Shards of JSON traces: read from memory in every way, compared to the last row. */
#ifndef INQ_TEST_SUPPORT_TRACE_H
#define INQ_TEST_SUPPORT_TRACE_H

#include "ingest/kineto/kineto.h"

struct test_text {
    char *p;
    size_t n;
};

/* A file's text, decompressed; p == NULL (and a message) when it is not there. */
struct test_text test_load(const char *shared, const char *name);
/* Gzip of a text, at level 1. */
struct test_text test_gzip(struct test_text text);

/* How a text is read. */
struct test_way {
    int level;    /* enum inq_shape_level; -1: the general reader only */
    size_t chunk; /* 0: as usual */
    bool threaded, no_isal;
    bool operators; /* read them */
};

/* Reads into a zeroed shard (not sealed); the reader's code. */
int test_read_trace(struct test_text text, struct test_way way, struct inq_shard *shard);
/* The same, which must succeed. */
void test_read_ok(struct test_text text, struct test_way way, struct inq_shard *shard);

/* Where two shards differ first, "" if nowhere. Static text. */
const char *test_shard_difference(const struct inq_shard *a, const struct inq_shard *b);
/* Fails the test, naming `what`, when they differ. */
void test_same_shard(const struct inq_shard *a, const struct inq_shard *b, const char *what);

/* Reads the text in all ways that must give the same shard as the general reader does; that one is
 * the caller's (inq_shard_release). */
void test_all_ways(struct test_text text, const char *what, struct inq_shard *shard);

/* A 64-bit xorshift step. */
uint64_t test_random(uint64_t *state);

#endif
