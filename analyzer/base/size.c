/* SPDX-License-Identifier: Apache-2.0 */
#include "inquest/memory.h"

#include <math.h>
#include <stdio.h>

char *inq_size_format(double bytes, enum inq_size_units units, char *buf, size_t size)
{
    static const char *const names[][6] = {
        [INQ_SIZE_DECIMAL] = {"B", "kB", "MB", "GB", "TB", "PB"},
        [INQ_SIZE_BINARY] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"}};
    enum { MOST = sizeof names[0] / sizeof *names[0] - 1 };
    double step = units == INQ_SIZE_BINARY ? 1024.0 : 1000.0;
    /* three digits: 999.5 rounds to four; in powers of two 1000 to 1023 take four */
    double most = units == INQ_SIZE_BINARY ? 1024.0 : 999.5;
    int unit = 0;

    while (unit < MOST && fabs(bytes) >= most) {
        bytes /= step;
        unit++;
    }
    int decimals = unit == 0 || fabs(bytes) >= 99.95 ? 0 : fabs(bytes) >= 9.995 ? 1 : 2;
    (void)snprintf(buf, size, "%.*f %s", decimals, bytes, names[units][unit]);
    return buf;
}
