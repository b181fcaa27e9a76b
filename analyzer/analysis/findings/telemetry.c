/* SPDX-License-Identifier: Apache-2.0 */
/* What GPUs said of themselves, as evidence for or against a slow one. */
#include "analysis/findings/findings.h"

#include "base/mem.h"
#include "base/stats.h"
#include "inquest/telemetry.h"

#include <math.h>
#include <string.h>

/* A clock is low when it is below the others by more than this: GPUs of one kind under one load
 * boost to clocks that differ by one or two steps of 15 MHz, about one percent each. */
static const double LOW_CLOCK = 0.03;

static bool is_one_of(const uint32_t *ranks, size_t n, size_t rank)
{
    for (size_t i = 0; i < n; i++) {
        if (ranks[i] == rank) {
            return true;
        }
    }
    return false;
}

/* Median of a metric over the ranks named, or over all others; NaN where none reports it. */
static double median_of(struct inq_findings *f, const uint32_t *ranks, size_t n, bool others,
                        enum inq_gpu_metric metric)
{
    const struct inq_trace *trace = f->report->trace;
    double *values = inq_mem_alloc((trace->n_ranks + 1) * sizeof *values);
    size_t found = 0;
    if (values == NULL) {
        f->no_memory = true;
        return (double)NAN;
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        double value = trace->gpu_states[r].median[metric];
        if (is_one_of(ranks, n, r) != others && !isnan(value)) {
            values[found++] = value;
        }
    }
    double median = inq_median(values, found);
    inq_mem_free(values);
    return median;
}

/* "1,170" */
static const char *thousands(struct inq_findings *f, double value)
{
    long long whole = llround(value);
    return whole >= 1000 ? inq_findings_text(f, "%lld,%03lld", whole / 1000, whole % 1000)
                         : inq_findings_text(f, "%lld", whole);
}

/* ", HW thermal slowdown active in 98 % of the samples" */
static const char *slowdowns(struct inq_findings *f, const struct inq_gpu_state *state)
{
    static const struct {
        uint32_t bit;
        const char *text;
    } reasons[] = {
#define INQ_SLOWDOWN_ROW(bit, text) {bit, text},
        INQ_GPU_SLOWDOWNS(INQ_SLOWDOWN_ROW)
#undef INQ_SLOWDOWN_ROW
    };
    const char *list = "";
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if ((state->slowdown & reasons[i].bit) != 0) {
            list = inq_findings_text(f, "%s%s%s", list, list[0] != '\0' ? " and " : "",
                                     reasons[i].text);
        }
    }
    return list[0] == '\0' ? ""
                           : inq_findings_text(f, ", %s active in %s of the samples", list,
                                               inq_findings_percent(f, state->slowdown_share));
}

static const char *about_temperature(struct inq_findings *f, const uint32_t *ranks, size_t n)
{
    double own = median_of(f, ranks, n, false, INQ_GPU_TEMPERATURE_C);
    double peers = median_of(f, ranks, n, true, INQ_GPU_TEMPERATURE_C);
    return isnan(own) || isnan(peers)
               ? ""
               : inq_findings_text(f, "; %.0f C, its peers' %.0f C", own, peers);
}

/* " Its SM clock is 1,170 MHz, its peers' 1,980 MHz, ..."; "" where it is not known. */
static const char *about_clock(struct inq_findings *f, const uint32_t *ranks, size_t n,
                               enum inq_gpu_metric metric, const char *name)
{
    const struct inq_gpu_state *state = &f->report->trace->gpu_states[ranks[0]];
    double own = median_of(f, ranks, n, false, metric);
    double peers = median_of(f, ranks, n, true, metric);
    if (isnan(own) || isnan(peers)) {
        return "";
    }
    if (own < (1.0 - LOW_CLOCK) * peers) {
        return inq_findings_text(f, " Its %s clock is %s MHz, its peers' %s MHz%s%s.", name,
                                 thousands(f, own), thousands(f, peers), slowdowns(f, state),
                                 about_temperature(f, ranks, n));
    }
    return metric == INQ_GPU_SM_MHZ
               ? inq_findings_text(
                     f,
                     " Its %s clock (%s MHz) is that of its peers (%s MHz): the clock is not "
                     "the reason.",
                     name, thousands(f, own), thousands(f, peers))
               : "";
}

const char *inq_findings_about_gpu(struct inq_findings *f, const uint32_t *ranks, size_t n)
{
    const struct inq_gpu_state *states = f->report->trace->gpu_states;
    if (states == NULL || n == 0 || states[ranks[0]].samples == 0) {
        return "";
    }
    double errors = median_of(f, ranks, n, false, INQ_GPU_ECC_ERRORS);
    const char *ecc =
        errors > 0.0 ? inq_findings_text(f, " It counts %.0f uncorrected ECC errors.", errors) : "";
    return inq_findings_text(f, "%s%s%s", about_clock(f, ranks, n, INQ_GPU_SM_MHZ, "SM"),
                             about_clock(f, ranks, n, INQ_GPU_MEMORY_MHZ, "memory"), ecc);
}
