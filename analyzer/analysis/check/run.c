/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded run in a handful of measures, each over its steps. */
#include "analysis/account/account.h"
#include "analysis/check/check.h"
#include "analysis/measure/measure.h"
#include "analysis/record/record.h"
#include "analysis/findings/findings.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"
#include "base/time.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A baseline is to be read by people. */
static const size_t MOST_ROLES = 256;

struct measurer {
    const struct inq_report *report;
    struct inq_snapshot *out;
    struct inq_err *err;
    struct inq_run_record record;
    struct inq_peer_groups roles;
    int64_t *values; /* [account steps] */
    size_t *at;      /* [account steps] which step each of the values is of */
    double *ratios;  /* [the most values that a measure has] */
    size_t n_ratios;
    char who[sizeof((struct inq_measure *)0)->who]; /* of the measure that is added next */
    bool several;                                   /* of the same: `who` are several ranks */
};

/* A rank this part above the others is named; less is noise. Hosts differ by more: where the mean
 * of the others waits for three quarters of what the latest does, it is a matter of all. */
static const double STANDS_OUT = 0.02;
static const double HOST_STANDS_OUT = 1.0 / 3.0;

/* Ranks within this part of the way from the one with most to the one with least are named with it.
 */
static const double NEARER = 0.25;

static int64_t max2(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int set_up(struct measurer *m)
{
    const struct inq_trace *trace = m->report->trace;
    int code = inq_run_record_build(m->report, &m->record, m->err);
    if (code == INQ_OK) {
        code = inq_peer_groups_find(trace, m->report->op_model, &m->roles, m->err);
    }
    if (code != INQ_OK) {
        return code;
    }
    m->n_ratios = trace->n_steps;
    m->n_ratios += m->report->pipeline != NULL ? m->report->pipeline->n_steps : 0;
    m->n_ratios += m->report->whatif != NULL ? m->report->whatif->n_by_step : 0;
    m->values = inq_mem_zalloc(m->record.n_account_steps + 1, sizeof *m->values);
    m->at = inq_mem_zalloc(m->record.n_account_steps + 1, sizeof *m->at);
    m->ratios = inq_mem_zalloc(m->n_ratios + 1, sizeof *m->ratios);
    if (m->values == NULL || m->at == NULL || m->ratios == NULL) {
        return inq_err_set(m->err, INQ_NOMEM, "no memory to measure %zu steps", trace->n_steps);
    }
    return INQ_OK;
}

static void tear_down(struct measurer *m)
{
    inq_run_record_release(&m->record);
    inq_peer_groups_release(&m->roles);
    inq_mem_free(m->values);
    inq_mem_free(m->at);
    inq_mem_free(m->ratios);
}

static void take_name(struct measurer *m, struct inq_measure *measure)
{
    memcpy(measure->who, m->who, sizeof measure->who);
    measure->several = m->several;
    m->who[0] = '\0';
    m->several = false;
}

static int add_steps(struct measurer *m, enum inq_measure_kind kind, const char *suffix, size_t n)
{
    struct inq_measure values;
    if (n == 0) {
        return INQ_OK;
    }
    int code = inq_measure_of_steps(m->values, n, &values, m->err);
    take_name(m, &values);
    return code == INQ_OK ? inq_snapshot_add(m->out, kind, suffix, &values, m->err) : code;
}

static void name_one(struct measurer *m, const struct inq_record_rank *rank)
{
    (void)snprintf(m->who, sizeof m->who, "rank %" PRId32 "%s%.40s%s", rank->rank,
                   rank->host[0] != '\0' ? " (host " : "", rank->host,
                   rank->host[0] != '\0' ? ")" : "");
}

/* A part of the step, mean over the rank's steps; -1: it has none, or is of another role. */
static double mean_part(const struct measurer *m, size_t i, enum inq_step_part part, uint32_t role)
{
    const struct inq_record_rank *rank = &m->record.ranks[i];
    bool counts = rank->steps > 0 && (role == INQ_NONE || m->roles.of[i] == role);
    return counts ? (double)rank->part_ns[part] / (double)rank->steps : -1.0;
}

/* The ranks from `least_ns` on: "rank 3 (host node-1)", "ranks 3 and 12", "host node-1" where it is
 * all of a host's and nobody else's; of others how many there are, and `most`. */
static void name_ranks(struct measurer *m, enum inq_step_part part, uint32_t role, double least_ns,
                       const struct inq_record_rank *most)
{
    const struct inq_record_rank *second = NULL;
    size_t n = 0;
    size_t elsewhere = 0;
    size_t spared = 0; /* ranks of the host that are not among them */
    for (size_t i = 0; i < m->record.n_ranks; i++) {
        const struct inq_record_rank *rank = &m->record.ranks[i];
        double ns = mean_part(m, i, part, role);
        bool same = strcmp(rank->host, most->host) == 0;
        bool in = ns >= least_ns;
        n += in;
        elsewhere += in && !same;
        spared += ns >= 0.0 && !in && same;
        second = in && rank != most ? rank : second;
    }
    m->several = n > 1;
    if (n <= 1) {
        name_one(m, most);
    } else if (elsewhere == 0 && spared == 0 && most->host[0] != '\0') {
        (void)snprintf(m->who, sizeof m->who, "host %.40s", most->host);
    } else if (n == 2) {
        bool first = most->rank < second->rank;
        (void)snprintf(m->who, sizeof m->who, "ranks %" PRId32 " and %" PRId32,
                       first ? most->rank : second->rank, first ? second->rank : most->rank);
    } else {
        (void)snprintf(m->who, sizeof m->who, "%zu ranks, rank %" PRId32 " most", n, most->rank);
    }
}

/* The ranks of a role with most of a part of the step, where that is by far more than the mean of
 * the others: those that are nearer to the one with most than to the one with least. `stands_out`:
 * by this part of the others' mean. */
static void name_rank(struct measurer *m, enum inq_step_part part, uint32_t role, double stands_out)
{
    const struct inq_record_rank *most = NULL;
    double most_ns = 0.0;
    double least_ns = 0.0;
    double sum_ns = 0.0;
    size_t n = 0;
    for (size_t i = 0; i < m->record.n_ranks; i++) {
        double ns = mean_part(m, i, part, role);
        if (ns < 0.0) {
            continue;
        }
        most = most == NULL || ns > most_ns ? &m->record.ranks[i] : most;
        most_ns = ns > most_ns ? ns : most_ns;
        least_ns = n == 0 || ns < least_ns ? ns : least_ns;
        sum_ns += ns;
        n++;
    }
    double others_ns = n > 1 ? (sum_ns - most_ns) / (double)(n - 1) : 0.0;
    if (n > 1 && most_ns > others_ns * (1.0 + stands_out)) {
        name_ranks(m, part, role, most_ns - NEARER * (most_ns - least_ns), most);
    }
}

/* The collectives that most of the exposed communication is of. */
static void name_collective(struct measurer *m)
{
    const struct inq_record_coll *most = NULL;
    for (size_t i = 0; i < m->record.n_classes; i++) {
        const struct inq_record_coll *c = &m->record.classes[i];
        bool more = most == NULL || c->exposed_ns + c->wait_ns > most->exposed_ns + most->wait_ns;
        most = more ? c : most;
    }
    if (most != NULL) {
        (void)snprintf(m->who, sizeof m->who, "most of it %s%s over %.48s",
                       most->wait_ns > most->exposed_ns ? "waiting in " : "",
                       inq_coll_kind_text(most->kind), most->role);
    }
}

/* The rank with the latest host, and what hosts are in most. */
static void name_host(struct measurer *m)
{
    name_rank(m, INQ_PART_HOST, INQ_NONE, HOST_STANDS_OUT);
    size_t used = strlen(m->who);
    if (m->record.n_hosts > 0) {
        const char *what = m->record.hosts[0].what;
        bool known = strcmp(what, "not recorded") != 0;
        (void)snprintf(m->who + used, sizeof m->who - used, "%smost of it %s%.32s",
                       used > 0 ? ", " : "", known ? "in " : "", what);
    }
}

static int add_step_time(struct measurer *m)
{
    memcpy(m->values, m->record.step_ns, m->record.n_steps * sizeof *m->values);
    return add_steps(m, INQ_MEASURE_STEP_TIME, NULL, m->record.n_steps);
}

/* Time of a cell in the classes of `mask`. */
static int64_t in_classes(const struct inq_account_cell *cell, uint32_t mask)
{
    int64_t sum = 0;
    for (int cls = 0; cls < INQ_ACCOUNT_CLASS_COUNT; cls++) {
        sum += mask >> cls & 1 ? cell->ns[cls] : 0;
    }
    return sum;
}

#define CLASS_BIT(cls) ((uint32_t)1 << INQ_ACCOUNT_##cls)

/* Of the steps that count, over the ranks of a role (INQ_NONE: of all): the longest, or the mean.
 */
static size_t gather(struct measurer *m, uint32_t mask, uint32_t role, bool mean)
{
    const struct inq_run_record *r = &m->record;
    size_t n = 0;
    for (size_t s = 0; s < r->n_account_steps; s++) {
        int64_t longest_ns = -1;
        int64_t sum_ns = 0;
        int64_t ranks = 0;
        for (size_t i = 0; i < r->n_ranks; i++) {
            if (inq_run_record_counts(r, i, s) && (role == INQ_NONE || m->roles.of[i] == role)) {
                int64_t ns = in_classes(inq_account_cell_at(m->report->account, i, s), mask);
                longest_ns = max2(longest_ns, ns);
                sum_ns += ns;
                ranks++;
            }
        }
        if (ranks > 0) {
            m->at[n] = s;
            m->values[n++] = mean ? sum_ns / ranks : longest_ns;
        }
    }
    return n;
}

/* "stage2", "role3"; NULL: there is one role. */
static const char *suffix_of(const struct measurer *m, uint32_t role, char *buf, size_t size)
{
    if (role == INQ_NONE) {
        return NULL;
    }
    int32_t stage = m->roles.stage[role];
    (void)snprintf(buf, size, "%s%d", stage >= 0 ? "stage" : "role",
                   stage >= 0 ? (int)stage : (int)role);
    return buf;
}

/* ---- the mean step --------------------------------------------------------------------------- */

/* A mean less than this part above the median is no other story than the median's. */
static const double MEAN_STANDS_OUT = 0.01;

/* By how much the mean of a part of the step, over ranks and steps, is above its median. */
static double above_median(struct measurer *m, enum inq_step_part part)
{
    uint32_t mask = 0;
    double sum = 0.0;
    for (int cls = 0; cls < INQ_ACCOUNT_CLASS_COUNT; cls++) {
        mask |= inq_part_of_class((enum inq_account_class)cls) == part ? (uint32_t)1 << cls : 0;
    }
    size_t n = gather(m, mask, INQ_NONE, true);
    for (size_t s = 0; s < n; s++) {
        sum += (double)m->values[s];
    }
    return n > 0 ? sum / (double)n - (double)inq_median_i64(m->values, n) : 0.0;
}

/* "1.20 ms above the median, mostly the host (data loading); recurs every 4 steps" */
static void name_recurring(struct measurer *m, double above_ns, size_t period)
{
    static const char *const texts[INQ_STEP_PART_COUNT] = {
        [INQ_PART_COMPUTE] = "compute",
        [INQ_PART_TRANSFER] = "transfers",
        [INQ_PART_WAITING] = "waiting for others",
        [INQ_PART_COMM_OTHER] = "communication",
        [INQ_PART_BUBBLE] = "waiting for other stages",
        [INQ_PART_P2P] = "transfers between stages",
        [INQ_PART_COPY] = "copies",
        [INQ_PART_HOST] = "the host",
        [INQ_PART_IDLE] = "idle time"};
    enum inq_step_part most = INQ_PART_COMPUTE;
    double most_ns = 0.0;
    char above[32];
    for (int part = 0; part < INQ_STEP_PART_COUNT; part++) {
        double ns = above_median(m, (enum inq_step_part)part);
        most = ns > most_ns ? (enum inq_step_part)part : most;
        most_ns = fmax(ns, most_ns);
    }
    bool host = most == INQ_PART_HOST && m->record.n_hosts > 0;
    size_t used =
        (size_t)snprintf(m->who, sizeof m->who, "%s above the median, mostly %s%s%.24s%s",
                         inq_time_format((int64_t)above_ns, above, sizeof above), texts[most],
                         host ? " (" : "", host ? m->record.hosts[0].what : "", host ? ")" : "");
    if (period > 1) {
        (void)snprintf(m->who + used, sizeof m->who - used, "; recurs every %zu steps", period);
    }
}

static int add_mean_step(struct measurer *m)
{
    const struct inq_run_record *r = &m->record;
    size_t period;
    struct inq_measure mean = inq_measure_of_mean(r->step_ns, r->step_at, r->n_steps, &period);
    memcpy(m->values, r->step_ns, r->n_steps * sizeof *m->values);
    double above_ns = mean.value - (double)inq_median_i64(m->values, r->n_steps);
    if (r->n_steps == 0) {
        return INQ_OK;
    }
    if (above_ns > MEAN_STANDS_OUT * mean.value) {
        name_recurring(m, above_ns, period);
        take_name(m, &mean);
    }
    return inq_snapshot_add(m->out, INQ_MEASURE_MEAN_STEP, NULL, &mean, m->err);
}

static int add_compute(struct measurer *m, uint32_t role)
{
    uint32_t mask = CLASS_BIT(COMPUTE) | CLASS_BIT(UNCLASSIFIED);
    char suffix[24];
    size_t n = gather(m, mask, role, false);
    name_rank(m, INQ_PART_COMPUTE, role, STANDS_OUT);
    return add_steps(m, INQ_MEASURE_COMPUTE, suffix_of(m, role, suffix, sizeof suffix), n);
}

/* ---- a rank among its peers, a stage among the others, in the same step ---------------------- */

struct peers {
    const struct inq_run_record *record;
    const struct inq_peer_groups *roles;
    double *ratios;  /* [ranks * steps], a rank's together; NaN: not in the step, or alone */
    double *own;     /* [ranks] compute in the step at hand */
    double *sorted;  /* [ranks] of one role */
    double *scratch; /* [steps] */
};

static double compute_in(const struct peers *p, size_t rank, size_t step)
{
    const struct inq_account_cell *cell =
        inq_account_cell_at(p->record->report->account, rank, step);
    return inq_run_record_counts(p->record, rank, step)
               ? (double)(cell->ns[INQ_ACCOUNT_COMPUTE] + cell->ns[INQ_ACCOUNT_UNCLASSIFIED])
               : (double)NAN;
}

/* Median of n sorted values without one of them, which is `own`. */
static double median_without(const double *sorted, size_t n, double own)
{
    size_t low = (n - 2) / 2;
    size_t high = (n - 1) / 2;
    bool below = own <= sorted[low]; /* equal ones stand for each other */
    bool between = own <= sorted[high];
    return (sorted[below ? low + 1 : low] + sorted[between ? high + 1 : high]) / 2.0;
}

static void add_step(struct peers *p, uint32_t role, size_t step)
{
    size_t n = 0;
    for (size_t r = 0; r < p->record->n_ranks; r++) {
        if (p->roles->of[r] == role) {
            p->own[r] = compute_in(p, r, step);
            p->sorted[n] = p->own[r];
            n += isfinite(p->own[r]) != 0;
        }
    }
    if (n < 2) {
        return;
    }
    inq_sort_double(p->sorted, n);
    for (size_t r = 0; r < p->record->n_ranks; r++) {
        if (p->roles->of[r] == role && isfinite(p->own[r])) {
            double others = median_without(p->sorted, n, p->own[r]);
            p->ratios[r * p->record->n_account_steps + step] =
                others > 0.0 ? p->own[r] / others : (double)NAN;
        }
    }
}

/* The rank's finite ratios to the scratch. */
static size_t collect(const struct peers *p, size_t rank)
{
    size_t steps = p->record->n_account_steps;
    size_t n = 0;
    for (size_t s = 0; s < steps; s++) {
        p->scratch[n] = p->ratios[rank * steps + s];
        n += isfinite(p->scratch[n]) != 0;
    }
    return n;
}

static void find_leader(const struct peers *p, uint32_t role, struct inq_measure *measure,
                        size_t *rank)
{
    double most = 0.0;
    for (size_t r = 0; r < p->record->n_ranks; r++) {
        size_t n = role == INQ_NONE || p->roles->of[r] == role ? collect(p, r) : 0;
        double typical = n > 0 ? inq_median(p->scratch, n) : 0.0;
        if (typical > most) {
            most = typical;
            *rank = r;
        }
    }
    if (most > 0.0) {
        *measure = inq_measure_of_ratios(p->scratch, collect(p, *rank));
    }
}

static int make_room(struct peers *p, struct inq_err *err)
{
    size_t ranks = p->record->n_ranks;
    size_t steps = p->record->n_account_steps;
    p->ratios = inq_mem_alloc((ranks * steps + 1) * sizeof *p->ratios);
    p->own = inq_mem_zalloc(ranks + 1, sizeof *p->own);
    p->sorted = inq_mem_zalloc(ranks + 1, sizeof *p->sorted);
    p->scratch = inq_mem_zalloc(steps + 1, sizeof *p->scratch);
    if (p->ratios == NULL || p->own == NULL || p->sorted == NULL || p->scratch == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory to compare %zu ranks", ranks);
    }
    for (size_t i = 0; i < ranks * steps; i++) {
        p->ratios[i] = (double)NAN;
    }
    return INQ_OK;
}

static int measure_of_peers(const struct inq_run_record *record,
                            const struct inq_peer_groups *roles, uint32_t role,
                            struct inq_measure *measure, size_t *rank, struct inq_err *err)
{
    struct peers p = {.record = record, .roles = roles};
    *measure = (struct inq_measure){.value = (double)NAN, .low = (double)NAN, .high = (double)NAN};
    int code = make_room(&p, err);
    for (uint32_t k = 0; code == INQ_OK && k < roles->n; k++) {
        for (size_t s = 0; (role == INQ_NONE || role == k) && s < record->n_account_steps; s++) {
            add_step(&p, k, s);
        }
    }
    if (code == INQ_OK) {
        find_leader(&p, role, measure, rank);
    }
    inq_mem_free(p.ratios);
    inq_mem_free(p.own);
    inq_mem_free(p.sorted);
    inq_mem_free(p.scratch);
    return code;
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* Mean compute of the ranks of each role in a step; NaN: a role has none. */
static void stages_of_step(const struct peers *p, size_t step, double *mean, double *ranks)
{
    for (uint32_t k = 0; k < p->roles->n; k++) {
        mean[k] = ranks[k] = 0.0;
    }
    for (size_t r = 0; r < p->record->n_ranks; r++) {
        double ns = compute_in(p, r, step);
        mean[p->roles->of[r]] += isfinite(ns) ? ns : 0.0;
        ranks[p->roles->of[r]] += isfinite(ns) ? 1.0 : 0.0;
    }
    for (uint32_t k = 0; k < p->roles->n; k++) {
        mean[k] = ranks[k] > 0.0 ? mean[k] / ranks[k] : (double)NAN;
    }
}

/* A multiple of the mean of the others: stages hardly ever take equally long, and the median of a
 * few that do not is one of them, with all its noise. NaN: it is not in the step, or alone there.
 */
static double stage_ratio(const double *mean, size_t n, uint32_t role)
{
    double sum = 0.0;
    double others = 0.0;
    for (size_t k = 0; k < n; k++) {
        bool other = k != role && isfinite(mean[k]);
        sum += other ? mean[k] : 0.0;
        others += other ? 1.0 : 0.0;
    }
    return sum > 0.0 ? mean[role] * others / sum : (double)NAN;
}

static int measure_of_stage(const struct inq_run_record *record,
                            const struct inq_peer_groups *roles, uint32_t role,
                            struct inq_measure *measure, struct inq_err *err)
{
    struct peers p = {.record = record, .roles = roles};
    double *room = inq_mem_zalloc(2 * roles->n + record->n_account_steps + 1, sizeof *room);
    size_t n = 0;
    if (room == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory to compare %zu stages", roles->n);
    }
    double *ratios = room + 2 * roles->n;
    for (size_t s = 0; s < record->n_account_steps; s++) {
        stages_of_step(&p, s, room, room + roles->n);
        ratios[n] = stage_ratio(room, roles->n, role);
        n += isfinite(ratios[n]) != 0;
    }
    *measure = inq_measure_of_ratios(ratios, n);
    inq_mem_free(room);
    return INQ_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int add_slowest(struct measurer *m, uint32_t role)
{
    struct inq_measure values;
    char suffix[24];
    size_t rank = 0;
    int code = measure_of_peers(&m->record, &m->roles, role, &values, &rank, m->err);
    if (code != INQ_OK || values.n == 0) {
        return code;
    }
    name_one(m, &m->record.ranks[rank]);
    take_name(m, &values);
    return inq_snapshot_add(m->out, INQ_MEASURE_SLOWEST_RANK,
                            suffix_of(m, role, suffix, sizeof suffix), &values, m->err);
}

static int add_stage(struct measurer *m, uint32_t role)
{
    struct inq_measure values;
    char suffix[24];
    int code = measure_of_stage(&m->record, &m->roles, role, &values, m->err);
    if (code != INQ_OK || values.n == 0) {
        return code;
    }
    return inq_snapshot_add(m->out, INQ_MEASURE_STAGE_SHARE,
                            suffix_of(m, role, suffix, sizeof suffix), &values, m->err);
}

/* The mean: where hosts run ahead, most steps do not wait at all. */
static int add_host(struct measurer *m)
{
    size_t period;
    size_t n = gather(m, CLASS_BIT(HOST), INQ_NONE, false);
    struct inq_measure mean = inq_measure_of_mean(m->values, m->at, n, &period);
    if (n == 0) {
        return INQ_OK;
    }
    name_host(m);
    take_name(m, &mean);
    return inq_snapshot_add(m->out, INQ_MEASURE_HOST, NULL, &mean, m->err);
}

static int add_classes(struct measurer *m)
{
    size_t n = gather(m, CLASS_BIT(TRANSFER) | CLASS_BIT(WAIT) | CLASS_BIT(COMM), INQ_NONE, true);
    name_collective(m);
    int code = add_steps(m, INQ_MEASURE_EXPOSED_COMM, NULL, n);
    if (code == INQ_OK && m->report->trace->n_collectives > 0) {
        code =
            add_steps(m, INQ_MEASURE_WORST_WAIT, NULL, gather(m, CLASS_BIT(WAIT), INQ_NONE, false));
    }
    if (code == INQ_OK && !m->report->account->op_table) { /* there idle is not recorded */
        code = add_host(m);
        code = code == INQ_OK
                   ? add_steps(m, INQ_MEASURE_IDLE, NULL,
                               gather(m, CLASS_BIT(IDLE) | CLASS_BIT(COPY), INQ_NONE, true))
                   : code;
    }
    return code;
}

static int add_ratios(struct measurer *m, enum inq_measure_kind kind, size_t n)
{
    struct inq_measure values = inq_measure_of_ratios(m->ratios, n);
    return n > 0 ? inq_snapshot_add(m->out, kind, NULL, &values, m->err) : INQ_OK;
}

static int add_graph(struct measurer *m)
{
    const struct inq_pipeline *pipeline = m->report->pipeline;
    const struct inq_whatif *whatif = m->report->whatif;
    size_t n = 0;
    for (size_t s = 0; pipeline != NULL && s < pipeline->n_steps; s++) {
        if (!pipeline->steps[s].warm_up && isfinite(pipeline->steps[s].bubble_ratio)) {
            m->ratios[n++] = pipeline->steps[s].bubble_ratio;
        }
    }
    int code = add_ratios(m, INQ_MEASURE_BUBBLE_RATIO, n);
    n = 0;
    for (size_t s = 0; whatif != NULL && s < whatif->n_by_step; s++) {
        if (isfinite(whatif->steps[s].slowdown)) {
            m->ratios[n++] = whatif->steps[s].slowdown;
        }
    }
    return code == INQ_OK ? add_ratios(m, INQ_MEASURE_SLOWDOWN, n) : code;
}

static int add_damage(struct measurer *m)
{
    const struct inq_trace *trace = m->report->trace;
    struct inq_measure files = {.low = (double)NAN, .high = (double)NAN};
    for (size_t i = 0; i < trace->n_files; i++) {
        files.value += inq_damage_losses(&trace->files[i].damage) > 0;
    }
    return inq_snapshot_add(m->out, INQ_MEASURE_DAMAGED_FILES, NULL, &files, m->err);
}

/* What a team would not want to hold its runs against. */
static void say_unfit(struct measurer *m)
{
    const struct inq_report *report = m->report;
    const struct inq_measure *damaged = inq_snapshot_find(m->out, "damaged_files");
    char *text = m->out->unfit;
    size_t size = sizeof m->out->unfit;
    size_t used = 0;
    size_t n = 0;
    const struct inq_finding *first = NULL;
    for (size_t i = 0; i < report->n_findings; i++) {
        bool grave = report->findings[i].severity >= INQ_SEVERITY_MEDIUM;
        first = grave && first == NULL ? &report->findings[i] : first;
        n += grave;
    }
    if (damaged != NULL && damaged->value > 0.0) {
        used += (size_t)snprintf(text, size, "%.0f of %zu files damaged", damaged->value,
                                 report->trace->n_files);
    }
    m->out->missing = report->trace->n_missing;
    if (report->trace->reduced != NULL) {
        m->out->kept = (struct inq_kept_steps){report->trace->reduced->n_whole,
                                               report->trace->reduced->n_steps};
    }
    if (report->trace->n_missing > 0) {
        used += (size_t)snprintf(text + used, size - used, "%sno trace of %zu rank%s",
                                 used > 0 ? "; " : "", report->trace->n_missing,
                                 report->trace->n_missing == 1 ? "" : "s");
    }
    if (n > 0) {
        (void)snprintf(text + used, size - used,
                       "%s%zu finding%s of severity medium or above: %.200s", used > 0 ? "; " : "",
                       n, n == 1 ? "" : "s", first->title);
    }
}

/* One step that is out of line is no regression unless it recurs; it is told all the same. */
static int say_longest(struct measurer *m)
{
    const struct inq_account *a = m->report->account;
    size_t s = m->record.longest;
    const char *why = "";
    struct inq_arena arena = {0};
    if (m->record.longer_ns <= 0) {
        return INQ_OK;
    }
    int64_t median_ns = a->steps[s].length_ns - m->record.longer_ns;
    int code = inq_account_explain_step(a, s, m->record.longer_ns, &arena, &why, m->err);
    if (code == INQ_OK) {
        char lengths[2][32];
        (void)snprintf(m->out->longest, sizeof m->out->longest,
                       "Step %" PRId64
                       " was %.0f %% longer than the median step (%s, not %s)%s%.120s",
                       a->steps[s].number, 100.0 * (double)m->record.longer_ns / (double)median_ns,
                       inq_time_format(a->steps[s].length_ns, lengths[0], sizeof lengths[0]),
                       inq_time_format(median_ns, lengths[1], sizeof lengths[1]),
                       why[0] != '\0' ? ": " : "", why);
    }
    inq_arena_release(&arena);
    return code;
}

static int add_findings(struct measurer *m)
{
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < m->report->n_findings; i++) {
        const struct inq_finding *f = &m->report->findings[i];
        if (f->severity > INQ_SEVERITY_INFO) {
            code = inq_snapshot_add_finding(m->out, f->id, f->severity, f->title, m->err);
        }
    }
    return code;
}

/* A baseline is JSON, which gives other bytes back than such as are no text. */
static void copy_plain(const char *text, char *buf, size_t size)
{
    size_t used = 0;
    for (; *text != '\0' && used + 1 < size; text++) {
        buf[used++] = (char)(*text >= ' ' && *text <= '~' ? *text : '?');
    }
    buf[used] = '\0';
}

static int add_all(struct measurer *m)
{
    int code = add_step_time(m);
    code = code == INQ_OK ? add_mean_step(m) : code;
    bool one = m->roles.n <= 1 || m->roles.n > MOST_ROLES;
    for (uint32_t k = 0; code == INQ_OK && k < (one ? 1 : m->roles.n); k++) {
        uint32_t role = one ? INQ_NONE : k;
        code = add_compute(m, role);
        code = code == INQ_OK ? add_slowest(m, role) : code;
        code = code == INQ_OK && !one ? add_stage(m, role) : code;
    }
    code = code == INQ_OK ? add_classes(m) : code;
    code = code == INQ_OK ? add_graph(m) : code;
    code = code == INQ_OK ? add_damage(m) : code;
    m->out->work = m->record.work;
    copy_plain(m->record.device, m->out->gpu, sizeof m->out->gpu);
    m->out->outliers = m->record.n_outliers;
    say_unfit(m);
    code = code == INQ_OK ? say_longest(m) : code;
    return code == INQ_OK ? add_findings(m) : code;
}

int inq_snapshot_of_report(const struct inq_report *report, struct inq_snapshot *snapshot,
                           struct inq_err *err)
{
    *snapshot = (struct inq_snapshot){.subject = INQ_SUBJECT_RUN};
    snapshot->ranks = (int32_t)report->trace->n_ranks;
    struct measurer m = {.report = report, .out = snapshot, .err = err};
    int code = set_up(&m);
    if (code == INQ_OK) {
        code = add_all(&m);
    }
    tear_down(&m);
    return code;
}
