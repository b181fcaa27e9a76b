/* SPDX-License-Identifier: Apache-2.0 */
/* Where written bytes go. */
#ifndef INQUEST_SINK_H
#define INQUEST_SINK_H

#include "inquest/error.h"

#include <stdio.h>

struct inq_sink {
    /* Returns 0 or a negative inq_code. */
    int (*write)(void *ctx, const char *bytes, size_t n);
    void *ctx;
};

#ifdef __cplusplus
extern "C" {
#endif

/* Writes into a stream, which stays the caller's; a failed write is INQ_IO. */
INQ_API struct inq_sink inq_sink_file(FILE *file);

#ifdef __cplusplus
}
#endif

#endif
