/* SPDX-License-Identifier: Apache-2.0 */
/* What a snapshot is made of: named measures, each a median with its interval. */
#include "analysis/check/check.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Three of each stage of the longest pipeline that is taken, and the rest. */
static const size_t MAX_MEASURES = (size_t)1 << 18;
static const size_t MAX_KNOWN = 20000;

#define ROW(name, text, title, unit, growth, what)                                                 \
    {text, title, INQ_UNIT_##unit, INQ_GROWS_##growth, what},
static const struct inq_measure_info infos[] = {INQ_MEASURES(ROW)};
#undef ROW

/* Hash of each name -> index. */
struct inq_measure_names {
    struct inq_map at;
};

const struct inq_measure_info *inq_measure_info(enum inq_measure_kind kind)
{
    return &infos[kind];
}

void inq_snapshot_release(struct inq_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_findings; i++) {
        inq_mem_free(snapshot->findings[i].id);
        inq_mem_free(snapshot->findings[i].title);
    }
    for (size_t r = 0; r < snapshot->n_order; r++) {
        inq_mem_free(snapshot->order[r]);
    }
    inq_mem_free(snapshot->order);
    inq_mem_free(snapshot->problems);
    inq_mem_free(snapshot->lines);
    for (size_t r = 0; snapshot->begins != NULL && r < snapshot->n_order; r++) {
        inq_mem_free(snapshot->begins[r]);
    }
    inq_mem_free(snapshot->begins);
    inq_mem_free(snapshot->command);
    inq_mem_free(snapshot->inputs);
    inq_mem_free(snapshot->findings);
    inq_mem_free(snapshot->measures);
    if (snapshot->names != NULL) {
        inq_map_release(&snapshot->names->at);
    }
    inq_mem_free(snapshot->names);
    inq_mem_free(snapshot->stage_times_ns);
    *snapshot = (struct inq_snapshot){0};
}

static uint64_t name_key(const char *name)
{
    return inq_hash_bytes(name, strlen(name));
}

int inq_snapshot_add(struct inq_snapshot *snapshot, enum inq_measure_kind kind, const char *suffix,
                     const struct inq_measure *values, struct inq_err *err)
{
    if (snapshot->names == NULL) {
        snapshot->names = inq_mem_zalloc(1, sizeof *snapshot->names);
    }
    if (snapshot->names == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for names of measures");
    }
    int code = inq_mem_grow(&snapshot->measures, &snapshot->cap, snapshot->n + 1,
                            sizeof *snapshot->measures, MAX_MEASURES, err);
    if (code != INQ_OK) {
        return code;
    }
    struct inq_measure *measure = &snapshot->measures[snapshot->n++];
    *measure = *values;
    measure->kind = kind;
    (void)snprintf(measure->name, sizeof measure->name, "%s%s%s", infos[kind].name,
                   suffix != NULL ? "." : "", suffix != NULL ? suffix : "");
    return inq_map_put(&snapshot->names->at, name_key(measure->name), (uint32_t)snapshot->n - 1,
                       err);
}

static char *copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copied = inq_mem_alloc(size);
    if (copied != NULL) {
        memcpy(copied, text, size);
    }
    return copied;
}

/* The text as a baseline would give it back: a file's name may be no UTF-8, JSON always is. */
static char *as_json_has_it(const char *text)
{
    struct inq_out out = {0};
    struct inq_json json;
    struct cJSON *root = NULL;
    char *made = NULL;
    inq_json_init(&json, &out, true);
    inq_json_string(&json, NULL, text);
    if (out.code == INQ_OK && inq_json_parse(out.buf, out.len, &root, NULL) == INQ_OK) {
        made = copy(inq_json_text(root, text));
    }
    inq_json_free(root);
    inq_out_release(&out);
    return made;
}

int inq_snapshot_add_finding(struct inq_snapshot *snapshot, const char *id,
                             enum inq_severity severity, const char *title, struct inq_err *err)
{
    int code = inq_mem_grow(&snapshot->findings, &snapshot->cap_findings, snapshot->n_findings + 1,
                            sizeof *snapshot->findings, MAX_KNOWN, err);
    if (code != INQ_OK) {
        return code;
    }
    struct inq_known_finding *finding = &snapshot->findings[snapshot->n_findings++];
    *finding = (struct inq_known_finding){as_json_has_it(id), severity,
                                          title != NULL ? copy(title) : NULL};
    if (finding->id == NULL || (title != NULL && finding->title == NULL)) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a finding");
    }
    return INQ_OK;
}

const struct inq_measure *inq_snapshot_find(const struct inq_snapshot *snapshot, const char *name)
{
    uint32_t at = 0;
    bool found = snapshot->names != NULL && inq_map_get(&snapshot->names->at, name_key(name), &at);
    return found && at < snapshot->n ? &snapshot->measures[at] : NULL;
}

const char *inq_measure_like(const struct inq_measure *of, enum inq_measure_kind kind, char *buf,
                             size_t size)
{
    const char *suffix = strchr(of->name, '.');
    (void)snprintf(buf, size, "%s%s", infos[kind].name, suffix != NULL ? suffix : "");
    return buf;
}

static bool same_name(const char *full, const char *name, size_t len, bool loose)
{
    size_t full_len = strlen(full);
    bool short_form =
        loose && full_len > 3 && strcmp(full + full_len - 3, "_ns") == 0 && len == full_len - 3;
    if (len != full_len && !short_form) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        char c = loose && name[i] == '-' ? '_' : name[i];
        if (c != full[i]) {
            return false;
        }
    }
    return true;
}

/* "stage2", "role13". */
static bool is_suffix(const char *text, size_t len)
{
    size_t word = len > 5 && memcmp(text, "stage", 5) == 0  ? 5
                  : len > 4 && memcmp(text, "role", 4) == 0 ? 4
                                                            : len;
    return word < len && len - word <= 10 && strspn(text + word, "0123456789") >= len - word;
}

int inq_measure_kind_of(const char *name, size_t len, bool loose)
{
    const char *dot = memchr(name, '.', len);
    size_t base = dot != NULL ? (size_t)(dot - name) : len;
    for (int kind = 0; kind < INQ_MEASURE_COUNT; kind++) {
        bool by_role = kind == INQ_MEASURE_COMPUTE || kind == INQ_MEASURE_SLOWEST_RANK ||
                       kind == INQ_MEASURE_STAGE_SHARE;
        bool whole =
            base == len || (by_role && !loose && is_suffix(name + base + 1, len - base - 1));
        if (whole && same_name(infos[kind].name, name, base, loose)) {
            return kind;
        }
    }
    return -1;
}

/* ---- medians ---------------------------------------------------------------------------------*/

enum { FEWEST = 3, FEWEST_FOR_95 = 6 };
static const double LEVEL = 0.95;

struct inq_median_place inq_median_interval(size_t n)
{
    if (n < FEWEST) {
        return (struct inq_median_place){0, 0.0};
    }
    if (n < FEWEST_FOR_95) {
        return (struct inq_median_place){1, 0.0};
    }
    /* P(B = i) and P(B <= i) for B binomial(n, 1/2), through logarithms: 2^-n may underflow */
    double log_p = -(double)n * log(2.0);
    double below = 0.0; /* P(B < k) */
    for (size_t k = 0;; k++) {
        double next = below + exp(log_p);
        if (1.0 - 2.0 * next < LEVEL && k > 0) {
            /* from the k-th value, which gives more than the level, towards the next, which gives
             * less */
            double part = (1.0 - 2.0 * below - LEVEL) / (2.0 * (next - below));
            double rest = (double)(n - k);
            double lambda = rest * part / ((double)k + (rest - (double)k) * part);
            return (struct inq_median_place){k, lambda};
        }
        below = next;
        log_p += log((double)(n - k)) - log((double)(k + 1));
    }
}

static struct inq_measure of_sorted(const double *values, size_t n)
{
    struct inq_median_place place = inq_median_interval(n);
    struct inq_measure m = {.value = (double)NAN, .low = (double)NAN, .high = (double)NAN, .n = n};
    if (n > 0) {
        m.value = values[(n - 1) / 2];
    }
    if (place.k > 0) {
        size_t next = place.lambda > 0.0 ? 1 : 0;
        const double *low = &values[place.k - 1];
        const double *high = &values[n - place.k];
        m.low = *low + place.lambda * (low[next] - *low);
        m.high = *high - place.lambda * (*high - *(high - next));
    }
    return m;
}

/* Of sorted values: the mean without a tenth of them at either end, without one at least. Of normal
 * steps it varies from run to run by 3 % more than the mean does, where their median varies by 18
 * to 24 % more; and one step that is far off moves neither. */
static double middle_mean(const double *sorted, size_t n)
{
    size_t cut = n < FEWEST ? 0 : n < 20 ? 1 : n / 10;
    return inq_mean(sorted + cut, n - 2 * cut);
}

struct inq_measure inq_measure_of_ratios(double *values, size_t n)
{
    inq_sort_double(values, n);
    struct inq_measure m = of_sorted(values, n);
    double middle = middle_mean(values, n);
    /* the interval is the median's: the middle of a skewed distribution can lie beside it */
    m.value = isfinite(m.low) ? fmin(fmax(middle, m.low), m.high) : middle;
    return m;
}

int inq_measure_of_steps(const int64_t *values, size_t n, struct inq_measure *measure,
                         struct inq_err *err)
{
    double *copied = inq_mem_alloc((n + 1) * sizeof *copied);
    if (copied == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", n);
    }
    for (size_t i = 0; i < n; i++) {
        copied[i] = (double)values[i];
    }
    inq_sort_double(copied, n);
    *measure = of_sorted(copied, n);
    measure->low = round(measure->low); /* whole ns */
    measure->high = round(measure->high);
    inq_mem_free(copied);
    return INQ_OK;
}
