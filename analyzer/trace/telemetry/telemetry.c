/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/telemetry/telemetry.h"

#include "base/mem.h"

struct inq_telemetry *inq_telemetry_new(void)
{
    return inq_mem_zalloc(1, sizeof(struct inq_telemetry));
}

/* GPUs report in turns: the one that is sought is the next one, or close to it. */
int inq_telemetry_gpu(struct inq_telemetry *telemetry, inq_str host, int32_t index, uint32_t *gpu,
                      struct inq_err *err)
{
    size_t last = telemetry->n > 0 ? telemetry->samples[telemetry->n - 1].gpu : 0;
    for (size_t k = 0; k < telemetry->n_gpus; k++) {
        size_t i = (last + k) % telemetry->n_gpus;
        if (telemetry->gpus[i].host == host && telemetry->gpus[i].index == index) {
            *gpu = (uint32_t)i;
            return INQ_OK;
        }
    }
    int code = inq_mem_grow(&telemetry->gpus, &telemetry->cap_gpus, telemetry->n_gpus + 1,
                            sizeof *telemetry->gpus, INQ_MAX_GPUS, err);
    if (code == INQ_OK) {
        *gpu = (uint32_t)telemetry->n_gpus;
        telemetry->gpus[telemetry->n_gpus++] = (struct inq_gpu_source){host, index};
    }
    return code;
}

int inq_telemetry_add(struct inq_telemetry *telemetry, const struct inq_gpu_sample *sample,
                      struct inq_err *err)
{
    int code = inq_mem_grow(&telemetry->samples, &telemetry->cap, telemetry->n + 1,
                            sizeof *telemetry->samples, INQ_MAX_GPU_SAMPLES, err);
    if (code == INQ_OK) {
        telemetry->samples[telemetry->n++] = *sample;
    }
    return code;
}
