/* SPDX-License-Identifier: Apache-2.0 */
#include "evened_step.h"

double evened_step(const struct inq_synth_spec *spec)
{
    static struct inq_synth_spec even; /* large */
    struct inq_synth *synth = NULL;
    double ns = 0.0;
    even = *spec;
    struct inq_synth_fault *fault = &even.faults[spec->n_faults - 1];
    fault->kind = INQ_SYNTH_SLOW_GPU;
    fault->mode = INQ_SYNTH_MODE_DEFAULT;
    fault->rank = 0;
    fault->last = spec->dp * spec->pp * spec->tp - 1;
    fault->factor = 1.0 + (fault->factor - 1.0) / spec->pp;
    if (inq_synth_new(&even, &synth, NULL) == INQ_OK) {
        ns = (double)inq_synth_truth(synth)->mean_step_ns;
    }
    inq_synth_free(synth);
    return ns;
}
