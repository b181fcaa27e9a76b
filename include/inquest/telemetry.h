/* SPDX-License-Identifier: Apache-2.0 */
/* What GPUs reported of themselves while a run was recorded: clocks, power, temperature, reasons
 * for low clocks. */
#ifndef INQUEST_TELEMETRY_H
#define INQUEST_TELEMETRY_H

#include "inquest/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum inq_gpu_metric {
    INQ_GPU_SM_MHZ,
    INQ_GPU_MEMORY_MHZ,
    INQ_GPU_POWER_W,
    INQ_GPU_TEMPERATURE_C,
    INQ_GPU_ECC_ERRORS, /* uncorrected, since the driver was loaded */
    INQ_GPU_METRIC_COUNT
};

/* X(BIT, "text"): reasons for a low clock, by NVML's and DCGM's bits. That a GPU idles or follows a
 * setting of its user is none. */
#define INQ_GPU_SLOWDOWNS(X)                                                                       \
    X(0x04, "SW power cap")                                                                        \
    X(0x08, "HW slowdown")                                                                         \
    X(0x20, "SW thermal slowdown")                                                                 \
    X(0x40, "HW thermal slowdown")                                                                 \
    X(0x80, "HW power brake slowdown")

/* Of one rank's GPU while the trace was recorded. */
struct inq_gpu_state {
    uint64_t samples;                    /* 0: nothing is known of it */
    double median[INQ_GPU_METRIC_COUNT]; /* NaN: not reported */
    uint32_t slowdown;                   /* bits that were set in some sample */
    double slowdown_share;               /* of the samples that report reasons; NaN: none does */
};

#ifdef __cplusplus
}
#endif

#endif
