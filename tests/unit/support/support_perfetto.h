/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace processor asks of an exported trace. */
#ifndef INQ_TESTS_SUPPORT_PERFETTO_H
#define INQ_TESTS_SUPPORT_PERFETTO_H

#include <stddef.h>
#include <stdint.h>

struct perfetto_count {
    size_t slices, flows, tracks, processes;
    int64_t idle_ns, wait_ns, lost_ns; /* lengths of the slices so named */
    size_t findings, path;             /* slices on such tracks */
};

/* Checks a document as -f perfetto writes it, one event on a line: that all of it is valid JSON;
 * events ascend in time; slices of one track lie beside or within each other; every track and
 * process with slices has a name; every flow has one begin and one end, not before it, each within
 * a slice. Fails the test where that is not so. */
void perfetto_check(const char *text, size_t n, struct perfetto_count *count);

#endif
