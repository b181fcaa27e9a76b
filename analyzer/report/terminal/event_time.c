/* SPDX-License-Identifier: Apache-2.0 */
#include "report/terminal/event_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define SECOND INT64_C(1000000000)

const char *inq_event_time_text(const struct inq_timeline_event *moment, char *buf, size_t size)
{
    int64_t ns = moment->time_ns;
    buf[0] = '\0';
    if (ns == INQ_TIME_NONE || ns < 0) {
        return buf;
    }
    if (moment->since_boot) {
        (void)snprintf(buf, size, "boot + %" PRId64 ".%06" PRId64 " s", ns / SECOND,
                       ns % SECOND / 1000);
        return buf;
    }
    time_t seconds = (time_t)(ns / SECOND);
    struct tm tm;
    char date[32];
    if (gmtime_r(&seconds, &tm) == NULL ||
        strftime(date, sizeof date, moment->dated ? "%Y-%m-%d %H:%M:%S" : "%m-%d %H:%M:%S", &tm) ==
            0) {
        return buf;
    }
    (void)snprintf(buf, size, "%s.%03" PRId64, date, ns % SECOND / 1000000);
    return buf;
}
