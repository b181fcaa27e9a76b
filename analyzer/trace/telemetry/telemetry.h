/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry of GPUs among the traces: samples of a file, and what they say of each rank. */
#ifndef INQ_TRACE_TELEMETRY_TELEMETRY_H
#define INQ_TRACE_TELEMETRY_TELEMETRY_H

#include "base/strtab.h"
#include "inquest/telemetry.h"

/* Bounds on what a file can make us hold. */
#define INQ_MAX_GPU_SAMPLES ((size_t)1 << 23)
#define INQ_MAX_GPUS        ((size_t)1 << 16)

/* What was reported of a GPU at one time: some metrics, reasons, or both. */
struct inq_gpu_sample {
    int64_t at_ns; /* INQ_TIME_NONE: not recorded */
    uint32_t gpu;  /* of the file */
    bool has_reasons;
    uint32_t reasons;
    float values[INQ_GPU_METRIC_COUNT]; /* NaN: not reported */
};

struct inq_gpu_source {
    inq_str host;  /* of the shard's names; 0: the file does not say */
    int32_t index; /* on its host; -1 unknown */
};

/* All-zero is empty and releasable. */
struct inq_telemetry {
    bool local_time; /* times are of an unknown time zone */
    size_t n_gpus, cap_gpus;
    struct inq_gpu_source *gpus;
    size_t n, cap;
    struct inq_gpu_sample *samples;
};

/* A file of telemetry on its way into a run. */
struct inq_telemetry_file {
    const struct inq_telemetry *telemetry;
    const struct inq_strtab *names;
    struct inq_file *file; /* its reason gets how it was joined or why not (in the run's arena) */
    bool joined;           /* to a trace, which then lists the file too */
};

/* Joins telemetry to the run's traces by host, GPU and time: fills inq_trace.gpu_states. A file
 * goes to the trace that it says most of. Fails with INQ_NOMEM. */
int inq_assemble_telemetry(struct inq_run *run, struct inq_telemetry_file *files, size_t n,
                           struct inq_err *err);

#endif
