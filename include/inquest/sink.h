/* SPDX-License-Identifier: Apache-2.0 */
/* Where written bytes go. */
#ifndef INQUEST_SINK_H
#define INQUEST_SINK_H

#include <stddef.h>

struct inq_sink {
    /* Returns 0 or a negative inq_code. */
    int (*write)(void *ctx, const char *bytes, size_t n);
    void *ctx;
};

#endif
