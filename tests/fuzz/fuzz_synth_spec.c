/* SPDX-License-Identifier: Apache-2.0 */
/* Specs of synthetic runs: whatever is accepted must be written as text that reads back the same.
 */
#include "inquest/synth.h"

#include "base/out.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static bool reads_back(const struct inq_synth_spec *spec)
{
    struct inq_out out = {0};
    struct inq_sink sink = inq_out_sink(&out);
    struct inq_synth_spec again;
    bool same = inq_synth_spec_write(spec, sink, NULL) == INQ_OK &&
                inq_synth_spec_parse(out.buf, &again, NULL) == INQ_OK &&
                again.n_faults == spec->n_faults && again.seed == spec->seed &&
                again.layer_ns == spec->layer_ns &&
                memcmp(&again.sigma, &spec->sigma, sizeof again.sigma) == 0 &&
                memcmp(again.faults, spec->faults, sizeof again.faults) == 0;
    inq_out_release(&out);
    return same;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct inq_synth_spec spec;
    struct inq_err err = {0};
    char *text = malloc(n + 2);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, bytes, n);
    text[n] = ','; /* never the name of a file */
    text[n + 1] = '\0';
    if (inq_synth_spec_parse(text, &spec, &err) == INQ_OK && !reads_back(&spec)) {
        abort();
    }
    free(text);
    return 0;
}
