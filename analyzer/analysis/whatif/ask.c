/* SPDX-License-Identifier: Apache-2.0 */
/* The user's own what-if questions: "rank=5:speed=1.0", "type=p2p:factor=0.5", "stage=3:fix".
 *
 * A question is terms joined by ':'. Filters, all of which must hold:
 *   rank=LIST stage=LIST dp=LIST step=LIST   lists like 0-3,7 (step also 10..20)
 *   type=NAME[,NAME...]  op types, or compute, comm, p2p, sync
 * and one action (fix when there is none):
 *   speed=V   as fast as the median of the same ops elsewhere (replicas of the stage, else all
 *             stages), times V: 1.0 is a healthy worker, 0.5 one at half speed
 *   factor=K  K times what it takes
 *   fix       takes the ideal (mean of the type for compute, median for communication)
 *   keep      stays as recorded while all else takes the ideal */
#include "analysis/whatif/op_bins.h"
#include "analysis/whatif/whatif.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum action { FIX, KEEP, SPEED, FACTOR };

struct list {
    const char *text; /* NULL: everything */
    size_t len;
};

struct question {
    struct list rank, stage, dp, step;
    uint32_t types;
    enum action action;
    double value;
};

struct ask {
    const struct inq_op_study *study;
    const struct inq_op_model *m;
    struct inq_arena *arena;
    struct inq_op_bins bins; /* by worker */
    double *mean;            /* of each bin, over all steps */
    double *typical;         /* [stages][types] median of the workers' mean durations */
    int64_t *matrix;
    uint8_t *workers;
};

/* ---- reading a question --------------------------------------------------------------------- */

/* Whether `x` is in a list like "0-3,7" or "10..20"; *ok is cleared when it is no list. */
static bool in_list(struct list list, int64_t x, bool *ok)
{
    bool found = list.text == NULL;
    const char *at = list.text;
    const char *end = at != NULL ? at + list.len : NULL;
    while (at < end) {
        char *next = NULL;
        int64_t low = strtoll(at, &next, 10);
        int64_t high = low;
        bool number = next != at;
        if (number && next + 2 < end && next[0] == '.' && next[1] == '.') {
            at = next + 2;
            high = strtoll(at, &next, 10);
            number = next != at;
        } else if (number && next + 1 < end && next[0] == '-') {
            at = next + 1;
            high = strtoll(at, &next, 10);
            number = next != at;
        }
        if (!number || next > end || (next < end && *next != ',')) {
            *ok = false;
            return false;
        }
        found = found || (x >= low && x <= high);
        at = next < end ? next + 1 : end;
    }
    return found;
}

static uint32_t types_named(const char *name, size_t len)
{
    uint32_t types = 0;
    for (uint32_t type = 1; type < INQ_OP_TYPE_COUNT; type++) {
        const char *text = inq_op_type_text((enum inq_op_type)type);
        bool sync = type >= INQ_OP_PARAMS_ALL_GATHER && type <= INQ_OP_OPTIMIZER_CLIP;
        bool named =
            (strlen(text) == len && memcmp(text, name, len) == 0) ||
            (len == 7 && memcmp(name, "compute", 7) == 0 && inq_op_is_compute((uint8_t)type)) ||
            (len == 4 && memcmp(name, "comm", 4) == 0 && inq_op_is_comm((uint8_t)type)) ||
            (len == 3 && memcmp(name, "p2p", 3) == 0 && inq_op_is_p2p((uint8_t)type)) ||
            (len == 4 && memcmp(name, "sync", 4) == 0 && sync);
        types |= named ? INQ_TYPE_BIT(type) : 0;
    }
    return types;
}

static const char *read_types(struct question *q, const char *text, size_t len)
{
    q->types = 0;
    while (len > 0) {
        const char *comma = memchr(text, ',', len);
        size_t n = comma != NULL ? (size_t)(comma - text) : len;
        uint32_t types = types_named(text, n);
        if (types == 0) {
            return "unknown op type";
        }
        q->types |= types;
        text += comma != NULL ? n + 1 : n;
        len -= comma != NULL ? n + 1 : n;
    }
    return q->types != 0 ? "" : "type= needs a name";
}

static const char *read_value(struct question *q, enum action action, const char *text)
{
    char *end = NULL;
    q->action = action;
    q->value = strtod(text, &end);
    bool good = end != text && (*end == '\0' || *end == ':') && isfinite(q->value) &&
                q->value >= (action == SPEED ? 1e-3 : 0.0) && q->value <= 1e3;
    return good ? "" : "speed= and factor= need a number, at most 1000";
}

static bool is_word(const char *term, size_t len, const char *word)
{
    return strlen(word) == len && memcmp(term, word, len) == 0;
}

/* One term into the question; "" or what is wrong with it. */
static const char *read_term(struct question *q, const char *term, size_t len)
{
    static const char *const keys[] = {"rank=", "stage=", "dp=", "step="};
    struct list *const lists[] = {&q->rank, &q->stage, &q->dp, &q->step};
    for (size_t k = 0; k < 4; k++) {
        size_t n = strlen(keys[k]);
        if (len > n && memcmp(term, keys[k], n) == 0) {
            *lists[k] = (struct list){term + n, len - n};
            bool ok = true;
            (void)in_list(*lists[k], 0, &ok);
            return ok ? "" : "a list is like 0-3,7";
        }
    }
    if (len > 5 && memcmp(term, "type=", 5) == 0) {
        return read_types(q, term + 5, len - 5);
    }
    if (len > 6 && memcmp(term, "speed=", 6) == 0) {
        return read_value(q, SPEED, term + 6);
    }
    if (len > 7 && memcmp(term, "factor=", 7) == 0) {
        return read_value(q, FACTOR, term + 7);
    }
    if (is_word(term, len, "fix") || is_word(term, len, "keep")) {
        q->action = term[0] == 'f' ? FIX : KEEP;
        return "";
    }
    return "terms are rank=, stage=, dp=, step=, type=, speed=, factor=, fix or keep";
}

static const char *read_question(const char *spec, struct question *q)
{
    *q = (struct question){.types = INQ_ALL_TYPES, .action = FIX};
    for (const char *at = spec; *at != '\0';) {
        size_t len = strcspn(at, ":");
        const char *problem = read_term(q, at, len);
        if (problem[0] != '\0') {
            return problem;
        }
        at += len;
        at += *at == ':';
    }
    return spec[0] != '\0' ? "" : "the question is empty";
}

const char *inq_what_if_problem(const char *spec)
{
    struct question q;
    return read_question(spec, &q);
}

/* ---- answering it ---------------------------------------------------------------------------- */

/* Mean duration of each bin, of one type on one worker, over all steps; 0 for an empty one. */
static int find_means(struct ask *a, struct inq_err *err)
{
    a->mean = inq_mem_zalloc(a->bins.n, sizeof *a->mean);
    if (a->mean == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for what-if questions");
    }
    for (size_t bin = 0; bin < a->bins.n; bin++) {
        size_t count = a->bins.start[bin + 1] - a->bins.start[bin];
        double sum = 0.0;
        for (size_t k = a->bins.start[bin]; k < a->bins.start[bin + 1]; k++) {
            sum += (double)inq_steps_sum(a->m, a->m->dur_ns + a->bins.op[k] * a->m->stride);
        }
        a->mean[bin] = count > 0 ? sum / (double)count / (double)a->m->n_steps : 0.0;
    }
    return INQ_OK;
}

/* For each stage and type, the median over replicas of the workers' mean durations. */
static int find_typical(struct ask *a, struct inq_err *err)
{
    const struct inq_op_model *m = a->m;
    double *space = inq_mem_alloc(m->n_dp * sizeof *space);
    a->typical = inq_mem_zalloc(m->n_stages * INQ_OP_TYPE_COUNT, sizeof *a->typical);
    if (space == NULL || a->typical == NULL) {
        inq_mem_free(space);
        return inq_err_set(err, INQ_NOMEM, "out of memory for what-if questions");
    }
    for (size_t place = 0; place < m->n_stages * INQ_OP_TYPE_COUNT; place++) {
        size_t n = 0;
        for (size_t d = 0; d < m->n_dp; d++) {
            size_t bin = d * m->n_stages * INQ_OP_TYPE_COUNT + place;
            if (a->bins.start[bin + 1] > a->bins.start[bin]) {
                space[n++] = a->mean[bin];
            }
        }
        a->typical[place] = n > 0 ? inq_median(space, n) : 0.0;
    }
    inq_mem_free(space);
    return INQ_OK;
}

/* What the op's kind takes elsewhere over what it takes on this worker. */
static double healthy_factor(const struct ask *a, size_t op)
{
    const struct inq_op_model *m = a->m;
    const struct inq_graph_op *o = &m->graph->op[op];
    double own_mean = a->mean[inq_op_worker(m, op) * INQ_OP_TYPE_COUNT + o->type];
    double usual = a->typical[(size_t)o->stage * INQ_OP_TYPE_COUNT + o->type];
    if (m->n_dp == 1) { /* no replicas: the other stages */
        double sum = 0.0;
        double n = 0.0;
        for (size_t s = 0; s < m->n_stages; s++) {
            double other = a->typical[s * INQ_OP_TYPE_COUNT + o->type];
            bool counts = s != (size_t)o->stage && other > 0.0;
            sum += counts ? other : 0.0;
            n += counts ? 1.0 : 0.0;
        }
        usual = n > 0.0 ? sum / n : usual;
    }
    return own_mean > 0.0 ? usual / own_mean : 1.0;
}

static int64_t scaled(int64_t ns, double factor)
{
    double x = (double)ns * factor;
    return (int64_t)(x < 0.0 ? x - 0.5 : x + 0.5);
}

static int64_t answer_cell(const struct ask *a, const struct question *q, size_t op, int64_t ns,
                           bool chosen, double factor)
{
    int64_t ideal = a->study->ideal_ns[a->m->graph->op[op].type];
    if (q->action == KEEP) {
        return chosen ? ns : ideal;
    }
    if (!chosen) {
        return ns;
    }
    return q->action == FIX ? ideal : scaled(ns, factor);
}

/* The durations the question asks for; how many ops it selected. */
static size_t make_matrix(struct ask *a, const struct question *q)
{
    const struct inq_op_model *m = a->m;
    bool ok = true;
    size_t selected = 0;
    for (size_t w = 0; w < m->n_dp * m->n_stages; w++) {
        int32_t rank = a->study->trace->ranks[m->worker_rank[w]].rank;
        a->workers[w] = in_list(q->rank, rank, &ok) &&
                        in_list(q->stage, m->stage_number[w % m->n_stages], &ok) &&
                        in_list(q->dp, m->dp_number[w / m->n_stages], &ok);
    }
    struct inq_op_filter filter = inq_op_filter_all();
    filter.types = q->types;
    filter.workers = a->workers;
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        bool chosen = inq_op_selected(m, &filter, i);
        double factor = q->value;
        if (chosen && q->action == SPEED) {
            factor = healthy_factor(a, i) / q->value;
        }
        for (size_t t = 0; t < m->n_steps; t++) {
            bool here = chosen && in_list(q->step, m->step[t], &ok);
            size_t cell = i * m->stride + t;
            a->matrix[cell] = answer_cell(a, q, i, m->dur_ns[cell], here, factor);
            selected += here;
        }
    }
    return selected;
}

static int answer(struct ask *a, const char *spec, struct inq_whatif *w,
                  struct inq_whatif_scenario *out, struct inq_err *err)
{
    struct question q;
    out->spec = inq_arena_strdup(a->arena, spec);
    out->problem = read_question(spec, &q);
    out->t_ns = -1;
    out->speedup = (double)NAN;
    int64_t *t_ns = inq_mem_alloc(a->m->stride * sizeof *t_ns);
    if (out->spec == NULL || t_ns == NULL) {
        inq_mem_free(t_ns);
        return inq_err_set(err, INQ_NOMEM, "out of memory for what-if questions");
    }
    int code = INQ_OK;
    if (out->problem[0] == '\0' && make_matrix(a, &q) == 0) {
        out->problem = "no op fits the filters";
    }
    if (out->problem[0] == '\0') {
        struct inq_op_case asked = {inq_op_filter_all(), a->matrix, NULL};
        code = inq_op_cases_run(a->study, &asked, 1, t_ns, err);
        out->t_ns = code == INQ_OK ? inq_steps_mean(a->m, t_ns) : -1;
        out->speedup = out->t_ns > 0 ? (double)w->t_ns / (double)out->t_ns : (double)NAN;
    }
    inq_mem_free(t_ns);
    return code;
}

int inq_whatif_answer(const struct inq_op_study *study, const struct inq_analysis_options *options,
                      struct inq_report *report, struct inq_err *err)
{
    struct inq_whatif *w = report->whatif;
    if (options->n_what_if == 0) {
        return INQ_OK;
    }
    struct ask a = {.study = study, .m = study->model, .arena = report->arena};
    int code = inq_op_bins_sort(a.m, true, &a.bins, err);
    if (code == INQ_OK) {
        code = find_means(&a, err);
    }
    if (code == INQ_OK) {
        code = find_typical(&a, err);
    }
    a.matrix = inq_mem_zalloc(a.m->graph->n_ops * a.m->stride, sizeof *a.matrix);
    a.workers = inq_mem_zalloc(a.m->n_dp * a.m->n_stages, sizeof *a.workers);
    w->scenarios = inq_arena_array(a.arena, options->n_what_if, sizeof *w->scenarios);
    if (code == INQ_OK && (a.matrix == NULL || a.workers == NULL || w->scenarios == NULL)) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for what-if questions");
    }
    for (size_t k = 0; code == INQ_OK && w->scenarios != NULL && k < options->n_what_if; k++) {
        code = answer(&a, options->what_if[k], w, &w->scenarios[w->n_scenarios++], err);
    }
    inq_op_bins_release(&a.bins);
    inq_mem_free(a.mean);
    inq_mem_free(a.typical);
    inq_mem_free(a.matrix);
    inq_mem_free(a.workers);
    return code;
}
