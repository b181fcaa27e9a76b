/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry joined to traces: by host, number of the GPU on it, and time. */
#include "trace/telemetry/telemetry.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/stats.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

/* A capture lasts milliseconds to seconds, and GPUs are asked every second or less often: samples
 * this long before and after it are still of it. */
static const int64_t NEAR_NS = INT64_C(30) * 1000000000;
/* Time zones differ by quarters of an hour, and by 14 hours at most. */
static const int64_t ZONE_NS = INT64_C(900) * 1000000000;
enum { MOST_ZONES = 14 * 4 };

/* How the samples of a file lie beside a trace. */
struct match {
    struct inq_trace *trace;
    const struct inq_telemetry_file *of;
    int64_t shift_ns; /* added to the file's times */
    int64_t from_ns, to_ns;
    bool timed; /* both have wall-clock times */
    size_t n;   /* samples that are of the trace */
};

/* ---- time ------------------------------------------------------------------------------------ */

static bool find_window(const struct inq_trace *trace, int64_t *from_ns, int64_t *to_ns)
{
    *from_ns = INT64_MAX;
    *to_ns = INT64_MIN;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        if (rank->has_clock_epoch && rank->first_ns != INQ_TIME_NONE) {
            *from_ns = rank->first_ns < *from_ns ? rank->first_ns : *from_ns;
            *to_ns = rank->last_ns > *to_ns ? rank->last_ns : *to_ns;
        }
    }
    return *from_ns <= *to_ns;
}

static bool is_within(const struct match *m, const struct inq_gpu_sample *sample)
{
    return !m->timed || sample->at_ns == INQ_TIME_NONE ||
           (sample->at_ns + m->shift_ns >= m->from_ns - NEAR_NS &&
            sample->at_ns + m->shift_ns <= m->to_ns + NEAR_NS);
}

static size_t count_within(const struct match *m)
{
    const struct inq_telemetry *t = m->of->telemetry;
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        n += is_within(m, &t->samples[i]);
    }
    return n;
}

/* The time zone nearest to UTC in which the file says anything of the trace. */
static void find_shift(struct match *m)
{
    const struct inq_telemetry *t = m->of->telemetry;
    bool stamped = false;
    for (size_t i = 0; i < t->n && !stamped; i++) {
        stamped = t->samples[i].at_ns != INQ_TIME_NONE;
    }
    m->timed = stamped && find_window(m->trace, &m->from_ns, &m->to_ns);
    m->n = count_within(m);
    for (int64_t zone = 1; m->n == 0 && t->local_time && zone <= MOST_ZONES; zone++) {
        for (int sign = -1; m->n == 0 && sign <= 1; sign += 2) {
            m->shift_ns = sign * zone * ZONE_NS;
            m->n = count_within(m);
        }
    }
}

/* ---- host and GPU ---------------------------------------------------------------------------- */

static int32_t device_of(const struct inq_rank *rank)
{
    for (size_t l = 0; l < rank->n_lanes; l++) {
        if (rank->lanes[l].kind == INQ_LANE_STREAM && rank->lanes[l].device >= 0) {
            return rank->lanes[l].device;
        }
    }
    return -1;
}

/* The rank's GPU on its host: as recorded, but where processes that see one GPU each all call it
 * the same, by the rank's place among those of the host. */
static int32_t gpu_of(const struct inq_trace *trace, size_t index)
{
    const struct inq_rank *own = &trace->ranks[index];
    int32_t device = device_of(own);
    int32_t place = 0;
    bool shared = false;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (r != index && trace->ranks[r].host == own->host) {
            shared = shared || device_of(&trace->ranks[r]) == device;
            place += r < index;
        }
    }
    return shared || device < 0 ? place : device;
}

static bool one_host(const struct inq_trace *trace)
{
    for (size_t r = 1; r < trace->n_ranks; r++) {
        if (trace->ranks[r].host != trace->ranks[0].host) {
            return false;
        }
    }
    return true;
}

static bool is_letter_or_digit(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* Whether a path has the host's name in it as a whole word ("gpu-node-1.csv" is not of "node-10").
 */
static bool names_host(const char *path, const char *host)
{
    size_t n = strlen(host);
    for (const char *at = strstr(path, host); at != NULL && n > 0; at = strstr(at + 1, host)) {
        if ((at == path || !is_letter_or_digit(at[-1])) && !is_letter_or_digit(at[n])) {
            return true;
        }
    }
    return false;
}

/* "node-1.cluster.local" and "node-1" are one host. */
static bool same_host(const char *a, const char *b)
{
    size_t n = strcspn(a, ".");
    return strcmp(a, b) == 0 || (n == strcspn(b, ".") && n > 0 && memcmp(a, b, n) == 0 &&
                                 (a[n] == '\0' || b[n] == '\0'));
}

static bool is_of_host(const struct match *m, const struct inq_gpu_source *gpu, size_t r)
{
    const char *said = inq_strtab_get(m->of->names, gpu->host);
    const char *host = inq_trace_str(m->trace, m->trace->ranks[r].host);
    return said[0] != '\0' ? host[0] == '\0' || same_host(said, host)
                           : one_host(m->trace) || names_host(m->of->file->path, host);
}

/* ---- states ---------------------------------------------------------------------------------- */

static int median_of(const struct match *m, const uint8_t *own, enum inq_gpu_metric metric,
                     double *median, struct inq_err *err)
{
    const struct inq_telemetry *t = m->of->telemetry;
    double *values = inq_mem_alloc((t->n + 1) * sizeof *values);
    size_t n = 0;
    if (values == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for telemetry");
    }
    for (size_t i = 0; i < t->n; i++) {
        const struct inq_gpu_sample *sample = &t->samples[i];
        if (own[sample->gpu] && !isnan(sample->values[metric]) && is_within(m, sample)) {
            values[n++] = (double)sample->values[metric];
        }
    }
    *median = n > 0 ? inq_median(values, n) : *median;
    inq_mem_free(values);
    return INQ_OK;
}

static void read_reasons(const struct match *m, const uint8_t *own, struct inq_gpu_state *state)
{
    static const uint32_t slowdowns = 0
#define INQ_SLOWDOWN_BIT(bit, text) | (bit)
        INQ_GPU_SLOWDOWNS(INQ_SLOWDOWN_BIT)
#undef INQ_SLOWDOWN_BIT
        ;
    const struct inq_telemetry *t = m->of->telemetry;
    size_t told = 0;
    size_t slow = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct inq_gpu_sample *sample = &t->samples[i];
        if (!own[sample->gpu] || !is_within(m, sample)) {
            continue;
        }
        state->samples++;
        told += sample->has_reasons;
        slow += sample->has_reasons && (sample->reasons & slowdowns) != 0;
        state->slowdown |= sample->reasons & slowdowns;
    }
    state->slowdown_share = told > 0 ? (double)slow / (double)told : state->slowdown_share;
}

static int fill_rank(const struct match *m, size_t r, uint8_t *own, size_t *ranks,
                     struct inq_err *err)
{
    const struct inq_telemetry *t = m->of->telemetry;
    struct inq_gpu_state *state = &m->trace->gpu_states[r];
    bool any = false;
    int32_t index = -1; /* of the rank's GPU: asked for once, and of this host's ranks only */
    for (size_t g = 0; g < t->n_gpus; g++) {
        own[g] = is_of_host(m, &t->gpus[g], r);
        index = own[g] && index < 0 ? gpu_of(m->trace, r) : index;
        own[g] = own[g] && t->gpus[g].index == index;
        any = any || own[g];
    }
    int code = INQ_OK;
    for (int metric = 0; any && metric < INQ_GPU_METRIC_COUNT && code == INQ_OK; metric++) {
        code = median_of(m, own, (enum inq_gpu_metric)metric, &state->median[metric], err);
    }
    if (any) {
        read_reasons(m, own, state);
        (*ranks)++;
    }
    return code;
}

static int make_states(struct inq_trace *trace, struct inq_err *err)
{
    if (trace->gpu_states != NULL) {
        return INQ_OK;
    }
    trace->gpu_states = inq_arena_array(trace->arena, trace->n_ranks, sizeof *trace->gpu_states);
    if (trace->gpu_states == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for telemetry");
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        struct inq_gpu_state *state = &trace->gpu_states[r];
        *state = (struct inq_gpu_state){.slowdown_share = (double)NAN};
        for (int k = 0; k < INQ_GPU_METRIC_COUNT; k++) {
            state->median[k] = (double)NAN;
        }
    }
    return INQ_OK;
}

/* Fills the states of the ranks whose GPUs the file reports; *ranks gets their number. */
static int fill(const struct match *m, size_t *ranks, struct inq_err *err)
{
    uint8_t *own = inq_mem_alloc(m->of->telemetry->n_gpus + 1);
    int code = own != NULL ? make_states(m->trace, err)
                           : inq_err_set(err, INQ_NOMEM, "out of memory for telemetry");
    *ranks = 0;
    for (size_t r = 0; r < m->trace->n_ranks && code == INQ_OK; r++) {
        code = fill_rank(m, r, own, ranks, err);
    }
    inq_mem_free(own);
    return code;
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *zone_text(const struct match *m, struct inq_arena *arena)
{
    if (!m->timed) {
        return "no times to align by: all samples are taken";
    }
    if (!m->of->telemetry->local_time) {
        return "by its times";
    }
    int64_t minutes = -m->shift_ns / (INT64_C(60) * 1000000000);
    int64_t size = minutes < 0 ? -minutes : minutes;
    return minutes == 0
               ? "its times taken as UTC"
               : inq_arena_asprintf(arena, "its times taken as UTC%c%02d:%02d",
                                    minutes < 0 ? '-' : '+', (int)(size / 60), (int)(size % 60));
}

static int say(struct inq_telemetry_file *of, const char *text, struct inq_err *err)
{
    of->file->reason = text;
    return text != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
}

/* The trace of which the file says most, the first of equals. */
static struct match find_trace(const struct inq_run *run, const struct inq_telemetry_file *of)
{
    struct match best = {.of = of};
    for (size_t t = 0; t < run->n_traces; t++) {
        struct match m = {.trace = run->traces[t], .of = of};
        if (m.trace->n_ranks > 0) {
            find_shift(&m);
            best = m.n > best.n ? m : best;
        }
    }
    return best;
}

static int join(struct inq_run *run, struct inq_telemetry_file *of, struct inq_err *err)
{
    struct match m = find_trace(run, of);
    size_t ranks = 0;
    if (m.n == 0) {
        return say(of,
                   run->n_traces == 0 ? "telemetry of GPUs, and no trace to join it to"
                                      : "telemetry of another time than any trace",
                   err);
    }
    int code = fill(&m, &ranks, err);
    if (code != INQ_OK || ranks == 0) {
        return code != INQ_OK
                   ? code
                   : say(of, "telemetry of no known host: put the host's name into the file's",
                         err);
    }
    code = say(of,
               inq_arena_asprintf(run->arena, "GPUs of %zu rank%s, joined by host and GPU, %s",
                                  ranks, ranks == 1 ? "" : "s", zone_text(&m, run->arena)),
               err);
    of->joined = code == INQ_OK;
    code = code == INQ_OK ? inq_trace_reserve_files(m.trace, 1, err) : code;
    return code == INQ_OK ? inq_trace_keep_file(m.trace, of->file, err) : code;
}

int inq_assemble_telemetry(struct inq_run *run, struct inq_telemetry_file *files, size_t n,
                           struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        code = join(run, &files[i], err);
    }
    return code;
}
