/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds files to a libFuzzer target without libFuzzer: how ctest replays the seeds. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "cannot read %s\n", path);
        return 1;
    }
    long size = ftell(file);
    rewind(file);
    /* exact size, so that a sanitizer sees a read past the end */
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    int bad = data == NULL || size < 0 || fread(data, 1, (size_t)size, file) != (size_t)size;
    if (!bad) {
        LLVMFuzzerTestOneInput(data, (size_t)size);
    }
    free(data);
    fclose(file);
    return bad;
}

int main(int argc, char **argv)
{
    int bad = 0;
    for (int i = 1; i < argc; i++) {
        bad |= replay(argv[i]);
    }
    printf("%d inputs replayed\n", argc - 1);
    return bad;
}
