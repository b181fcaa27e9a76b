/* SPDX-License-Identifier: Apache-2.0 */
#include "support_read.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool test_data_path(char path[TEST_PATH], const char *shared, const char *name)
{
    (void)snprintf(path, TEST_PATH, "%s/%s", shared, name);
    if (access(path, R_OK) != 0) {
        print_message("no %s here: skipped\n", path);
        return false;
    }
    return true;
}

char *test_slurp(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    (void)fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    *n = fread(bytes, 1, (size_t)size, file);
    bytes[*n] = '\0';
    (void)fclose(file);
    return bytes;
}

void test_write(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

void test_make_folder(char path[TEST_PATH])
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(path, TEST_PATH, "%s/inquest-test-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(path));
}

static int remove_entry(const char *path, const struct stat *info, int flag, struct FTW *at)
{
    (void)info;
    (void)flag;
    (void)at;
    return remove(path);
}

void test_remove_folder(const char *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static int read_source(struct inq_source *source, const char *path, struct inq_shard *shard,
                       struct inq_err *err)
{
    const char *head = NULL;
    size_t n = 0;
    int code = inq_source_peek(source, &head, &n, err);
    if (code == INQ_OK) {
        const struct inq_reader *reader = inq_reader_find(head, n, path);
        code = reader != NULL ? reader->read(source, shard, err) : INQ_UNSUPPORTED;
    }
    inq_source_close(source);
    return code;
}

int test_read_file(const char *path, struct inq_shard *shard, struct inq_err *err)
{
    struct inq_source_options options = {0};
    struct inq_source *source = NULL;
    *shard = (struct inq_shard){.file = {.path = path}};
    int code = inq_source_open(path, &options, &source, err);
    return code == INQ_OK ? read_source(source, path, shard, err) : code;
}

int test_read_bytes(const void *bytes, size_t n, size_t chunk, struct inq_shard *shard,
                    struct inq_err *err)
{
    struct inq_source_options options = {.chunk_size = chunk};
    struct inq_source *source = NULL;
    *shard = (struct inq_shard){.file = {.path = ""}};
    int code = inq_source_open_memory(bytes, n, &options, &source, err);
    return code == INQ_OK ? read_source(source, "", shard, err) : code;
}

const char *test_str(const struct inq_shard *shard, inq_str id)
{
    return inq_strtab_get(&shard->names, id);
}

const struct inq_rank *test_rank(const struct inq_shard *shard, int32_t number)
{
    for (size_t i = 0; i < shard->n_ranks; i++) {
        if (shard->ranks[i].rank == number) {
            return &shard->ranks[i];
        }
    }
    fail_msg("no rank %d in the shard", number);
    return NULL;
}
