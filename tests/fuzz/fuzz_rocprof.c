/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_both_ways(&inq_reader_rocprof, data, size);
    fuzz_both_ways(&inq_reader_rocprof_csv, data, size);
    return 0;
}
