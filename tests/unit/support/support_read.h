/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a file or a text with the reader that its content asks for. */
#ifndef INQ_TEST_SUPPORT_READ_H
#define INQ_TEST_SUPPORT_READ_H

#include "ingest/ingest.h"

#include <stdio.h>

/* Room for any path that the tests make. */
#define TEST_PATH 1024

/* INQ_SHARED_DATA/name into `path`; false (and a message) when the file is not there: skip. */
bool test_data_path(char path[TEST_PATH], const char *shared, const char *name);
/* The whole file in memory (the caller's to free), or NULL. */
char *test_slurp(const char *path, size_t *n);
/* Writes a file; fails the test when it cannot. */
void test_write(const char *path, const void *bytes, size_t n);
/* An empty folder of its own under the system's temporary folder, and its removal with all in it.
 */
void test_make_folder(char path[TEST_PATH]);
void test_remove_folder(const char *path);

/* Opens, recognizes and reads into a zeroed shard (not sealed); returns the reader's code, or
 * INQ_UNSUPPORTED when no reader takes it. */
int test_read_file(const char *path, struct inq_shard *shard, struct inq_err *err);
/* The same for bytes in memory, delivered in chunks of `chunk` bytes (0: as usual). */
int test_read_bytes(const void *bytes, size_t n, size_t chunk, struct inq_shard *shard,
                    struct inq_err *err);

/* Text of a string id of the shard. */
const char *test_str(const struct inq_shard *shard, inq_str id);
/* The rank with this number; fails the test when there is none. */
const struct inq_rank *test_rank(const struct inq_shard *shard, int32_t number);

#endif
