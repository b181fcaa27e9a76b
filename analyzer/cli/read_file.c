/* SPDX-License-Identifier: Apache-2.0 */
/* A small file as a whole. */
#include "cli/cli.h"

#include "inquest/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int inq_cli_read_file(const char *path, size_t max, char **text, size_t *len, struct inq_err *err)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    size_t cap = 0;
    *text = NULL;
    *len = 0;
    if (file == NULL) {
        return inq_err_at(err, errno == ENOENT ? INQ_NOT_FOUND : INQ_IO, path, -1,
                          "cannot read '%s': %s", path, strerror(errno));
    }
    int code = INQ_OK;
    size_t got = 1;
    while (code == INQ_OK && got > 0) {
        code = *len <= max ? inq_mem_grow(text, &cap, *len + 65536, 1, max + 65536, err)
                           : inq_err_at(err, INQ_LIMIT, path, -1, "'%s' is larger than %zu MB",
                                        path, max >> 20);
        if (code == INQ_OK) {
            got = fread(*text + *len, 1, 65536, file);
            *len += got;
        }
    }
    if (code == INQ_OK) {
        (*text)[*len] = '\0'; /* the last round had room to read on */
    }
    if (code == INQ_OK && ferror(file)) {
        code = inq_err_at(err, INQ_IO, path, -1, "cannot read '%s'", path);
    }
    if (file != stdin) {
        (void)fclose(file);
    }
    return code;
}
