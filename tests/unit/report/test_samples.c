/* SPDX-License-Identifier: Apache-2.0 */
/* Every folder of sample-traces can be made again from the spec in its truth.json. */
#include "inquest/synth.h"

#include "base/json.h"
#include "ingest/source/source.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define SAMPLES INQ_SOURCE_DIR "/sample-traces"

enum { MIN_SAMPLES = 6, MAX_TOTAL_BYTES = 3000000 };

/* The bytes of a file of a sample; false when it is not there. */
static bool read_file(const char *sample, const char *name, struct inq_out *out)
{
    char path[PATH_MAX];
    assert_true(snprintf(path, sizeof path, SAMPLES "/%s/%s", sample, name) < PATH_MAX);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    char chunk[4096];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0) {
        inq_out_bytes(out, chunk, n);
    }
    assert_int_equal(fclose(file), 0);
    return true;
}

static struct inq_out decompress(const struct inq_out *packed)
{
    struct inq_source_options options = {0};
    struct inq_source *source = NULL;
    struct inq_out out = {0};
    const char *bytes;
    size_t n;
    assert_int_equal(inq_source_open_memory(packed->buf, packed->len, &options, &source, NULL),
                     INQ_OK);
    do {
        assert_int_equal(inq_source_next(source, &bytes, &n, NULL), INQ_OK);
        inq_out_bytes(&out, bytes, n);
    } while (n > 0);
    inq_source_close(source);
    return out;
}

/* Another zlib may pack the same text differently, and then cuts it elsewhere. */
static void same_text(const struct inq_out *there, const struct inq_out *made, const char *name)
{
    struct inq_out a = decompress(there);
    struct inq_out b = decompress(made);
    size_t n = a.len < b.len ? a.len : b.len;
    size_t longer = a.len < b.len ? b.len : a.len;
    if (n < longer - longer / 20 || memcmp(a.buf, b.buf, n) != 0) {
        fail_msg("%s: not what its spec gives", name);
    }
    inq_out_release(&a);
    inq_out_release(&b);
}

static void check_file(const struct inq_synth *synth, size_t file, const char *sample)
{
    struct inq_out made = {0};
    struct inq_out there = {0};
    struct inq_sink sink = inq_out_sink(&made);
    const char *name = inq_synth_file_name(synth, file);
    if (!read_file(sample, name, &there)) {
        fail_msg("%s/%s is missing", sample, name);
    }
    assert_int_equal(inq_synth_file_write(synth, file, sink, NULL), INQ_OK);
    if (made.len != there.len || memcmp(made.buf, there.buf, made.len) != 0) {
        same_text(&there, &made, name);
    }
    inq_out_release(&made);
    inq_out_release(&there);
}

static struct inq_synth *make_again(const struct inq_out *truth)
{
    struct cJSON *root = NULL;
    struct inq_synth_spec spec;
    struct inq_synth *synth = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_json_parse(truth->buf, truth->len, &root, NULL), INQ_OK);
    const char *text = inq_json_text(inq_json_get(root, "spec"), "none");
    if (inq_synth_spec_parse(text, &spec, &err) != INQ_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    inq_json_free(root);
    assert_int_equal(inq_synth_new(&spec, &synth, NULL), INQ_OK);
    return synth;
}

/* Files of a folder, and their bytes. */
static size_t count_files(const char *sample, size_t *bytes)
{
    size_t n = 0;
    char path[PATH_MAX];
    assert_true(snprintf(path, sizeof path, SAMPLES "/%s", sample) < PATH_MAX);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        struct inq_out out = {0};
        if (entry->d_name[0] != '.') {
            assert_true(read_file(sample, entry->d_name, &out));
            *bytes += out.len;
            n++;
        }
        inq_out_release(&out);
    }
    assert_int_equal(closedir(dir), 0);
    return n;
}

static void check_sample(const char *sample, const struct inq_out *truth, size_t *bytes)
{
    struct inq_synth *synth = make_again(truth);
    struct inq_out made = {0};
    struct inq_sink sink = inq_out_sink(&made);
    assert_int_equal(inq_synth_truth_write(synth, sink, NULL), INQ_OK);
    assert_string_equal(made.buf, truth->buf);
    inq_out_release(&made);
    assert_int_equal(count_files(sample, bytes), inq_synth_files(synth) + 1);
    for (size_t file = 0; file < inq_synth_files(synth); file++) {
        check_file(synth, file, sample);
    }
    inq_synth_free(synth);
}

static void samples__are_what_their_specs_give(void **state)
{
    (void)state;
    size_t n = 0;
    size_t bytes = 0;
    DIR *dir = opendir(SAMPLES);
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        struct inq_out truth = {0};
        if (entry->d_name[0] != '.' && read_file(entry->d_name, "truth.json", &truth)) {
            check_sample(entry->d_name, &truth, &bytes);
            n++;
        }
        inq_out_release(&truth);
    }
    assert_int_equal(closedir(dir), 0);
    assert_true(n >= MIN_SAMPLES);
    assert_true(bytes < MAX_TOTAL_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples__are_what_their_specs_give),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
