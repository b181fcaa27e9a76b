/* SPDX-License-Identifier: Apache-2.0 */
/* Baselines of the gate: whatever is accepted is written as bytes that read back to the same, and
 * compares with itself. */
#include "inquest/check.h"

#include "base/out.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void write_out(const struct inq_baseline *baseline, struct inq_out *out)
{
    struct inq_sink sink = inq_out_sink(out);
    if (inq_baseline_write(&baseline->snapshot, &baseline->rules, sink, NULL) != INQ_OK) {
        abort();
    }
}

static void use(const struct inq_baseline *baseline)
{
    struct inq_baseline again;
    struct inq_check check;
    struct inq_out first = {0};
    struct inq_out second = {0};
    write_out(baseline, &first);
    if (inq_baseline_read(first.buf, first.len, &again, NULL) != INQ_OK) {
        abort();
    }
    write_out(&again, &second);
    if (first.len != second.len || memcmp(first.buf, second.buf, first.len) != 0) {
        abort();
    }
    if (inq_check_compare(&again.snapshot, baseline, NULL, &check, NULL) != INQ_OK) {
        abort();
    }
    inq_check_release(&check);
    inq_baseline_release(&again);
    inq_out_release(&first);
    inq_out_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct inq_baseline baseline;
    char *text = malloc(n + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, bytes, n);
    text[n] = '\0';
    if (inq_baseline_read(text, n, &baseline, NULL) == INQ_OK) {
        use(&baseline);
    }
    inq_baseline_release(&baseline);
    free(text);
    return 0;
}
