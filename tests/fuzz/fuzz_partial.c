/* SPDX-License-Identifier: Apache-2.0 */
/* Partials. Bytes as they are are hardly ever a section, so the input is also taken as a list of
 * sections whose heads and checksums are made right: their content reaches the reader. */
#include "base/gzip_out.h"
#include "base/out.h"
#include "ingest/partial/columns.h"
#include "inquest/analysis.h"
#include "inquest/ingest.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char tags[][5] = {
#define TAG(name, tag) tag,
    INQ_PARTIAL_SECTIONS(TAG)
#undef TAG
};

/* One section: which, first row, rows, flags, length, then the bytes. Returns how many were used.
 */
static size_t write_section(struct inq_out *out, const uint8_t *data, size_t size)
{
    enum { HEAD = 6 };
    struct inq_partial_head head = {0};
    size_t n = size > HEAD ? (size_t)data[4] + 256 * (size_t)(data[5] & 0x0f) : 0;
    if (size <= HEAD) {
        return size;
    }
    n = n < size - HEAD ? n : size - HEAD;
    memcpy(head.tag, tags[data[0] % INQ_PARTIAL_SECTION_COUNT], sizeof head.tag);
    head.rank = data[0] >> 7;
    head.first = data[1] == 0xff ? UINT32_MAX : data[1];
    head.rows = data[2];
    head.flags = data[3];
    head.bytes = (uint32_t)n;
    head.crc = inq_crc32(data + HEAD, n);
    head.head_crc = inq_crc32(&head, offsetof(struct inq_partial_head, head_crc));
    inq_out_bytes(out, (const char *)&head, sizeof head);
    inq_out_bytes(out, (const char *)data + HEAD, n);
    return HEAD + n;
}

static void read_bytes(const void *bytes, size_t n)
{
    struct inq_ingest_blob blob = {.name = "rank0.json.inq", .bytes = bytes, .n = n};
    struct inq_ingest_options options = {.jobs = 1, .memory_limit = 256 << 20, .operators = true};
    struct inq_analysis_options judging = {.jobs = 1};
    struct inq_run *run = NULL;
    if (inq_ingest_memory(&blob, 1, &options, &run, NULL) != INQ_OK) {
        return;
    }
    for (size_t t = 0; t < run->n_traces; t++) {
        struct inq_report *report = NULL;
        if (inq_analyze(run->traces[t], &judging, &report, NULL) == INQ_OK) {
            inq_report_free(report);
        }
    }
    inq_run_free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 16) {
        return 0;
    }
    read_bytes(data, size); /* a real partial, compressed or not */
    struct inq_out out = {0};
    inq_out_bytes(&out, INQ_PARTIAL_MAGIC, INQ_PARTIAL_MAGIC_BYTES);
    for (size_t at = 0; at < size;) {
        at += write_section(&out, data + at, size - at);
    }
    read_bytes(out.buf, out.len);
    inq_out_release(&out);
    return 0;
}
