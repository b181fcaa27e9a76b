/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions: each fix by itself, the best ones together, ranked by what they gain. */
#include "fix/base/base.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "fix/spec.h"
#include "inquest/account.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Specs that repair causes: the account's own repairs, over all judged steps -------------- */

enum { MOST_REPAIRS = 16 };

/* Indices into the trace's ranks of those that an argument lists. */
static int list_ranks(const struct inq_study *study, const struct fix_args *args, uint32_t **ranks,
                      size_t *n, struct inq_err *err)
{
    const struct inq_trace *trace = study->trace;
    struct fix_step job = {.n_ranks = trace->n_ranks};
    uint8_t *chosen = inq_mem_zalloc(trace->n_ranks + 1, 1);
    job.ranks = inq_mem_zalloc(trace->n_ranks + 1, sizeof *job.ranks);
    *ranks = inq_mem_alloc((trace->n_ranks + 1) * sizeof **ranks);
    int code =
        chosen != NULL && job.ranks != NULL && *ranks != NULL ? INQ_OK : inq_fix_no_memory(err);
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        job.ranks[r].number = trace->ranks[r].rank;
    }
    if (code == INQ_OK) {
        code = inq_fix_ranks(&job, args, chosen, n, err);
    }
    *n = 0;
    for (uint32_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        if (chosen[r]) {
            (*ranks)[(*n)++] = r;
        }
    }
    inq_mem_free(chosen);
    inq_mem_free(job.ranks);
    return code;
}

/* Whether all of the spec repairs causes. */
static bool fix_is_repair(const char *spec)
{
    const char *at = spec != NULL ? spec : "";
    size_t n = 0;
    while (*at != '\0') {
        const struct fix_row *row = NULL;
        struct fix_args args;
        if (inq_fix_read(&at, &row, &args, NULL) != INQ_OK || !row->repairs || args.n_keys > 0 ||
            ++n > MOST_REPAIRS) {
            return false;
        }
    }
    return n > 0;
}

/* What a step of a recorded run gains by a spec that only repairs causes, by the study of its
 * findings. *repairs is false for other specs and where nothing is simulated, and nothing is done.
 * Fails with INQ_UNSUPPORTED where there is nothing to repair, INQ_NOMEM. */
static int fix_repairs_gain(struct inq_study *study, const char *spec, bool *repairs,
                            struct inq_gain *gain, struct inq_err *err)
{
    struct inq_repair list[MOST_REPAIRS];
    uint32_t *ranks[MOST_REPAIRS] = {NULL};
    const char *at = spec;
    size_t n = 0;
    int code = INQ_OK;
    *repairs = study->run.n_steps > 0 && fix_is_repair(spec);
    while (*repairs && code == INQ_OK && *at != '\0') {
        const struct fix_row *row = NULL;
        struct fix_args args;
        list[n] = (struct inq_repair){0};
        code = inq_fix_read(&at, &row, &args, err);
        if (code == INQ_OK && row->argument) {
            code = list_ranks(study, &args, &ranks[n], &list[n].n_ranks, err);
            list[n].ranks = ranks[n];
        }
        if (code == INQ_OK) {
            list[n++].kind = row->repair;
        }
    }
    if (*repairs && code == INQ_OK) {
        code = inq_study_gain(study, list, n, gain, err);
    }
    if (*repairs && code == INQ_OK && !gain->applies) {
        code = inq_err_set(err, INQ_UNSUPPORTED, "there is nothing that differs from its peers");
    }
    for (size_t i = 0; i < MOST_REPAIRS; i++) {
        inq_mem_free(ranks[i]);
    }
    return code;
}

/* Each is simulated. What is found later (places for slow ranks, pairs) comes on top. */
enum { MAX_FIXES = 256, TRY_TOGETHER = 4, MAX_PARTNERS = 64 };

/* Gains are not told by a base further off the record than this. */
static const double MOST_OFF = 0.02;
static const char OFF_THE_RECORD[] = "the simulated base is more than 2 % off the record";

/* A fix while it is looked at. */
struct candidate {
    const char *spec, *finding;
    bool repairs;
    int64_t t_ns, step_t_ns;
    int code;
    struct fix_notes said;
    struct inq_err err;
};

struct study {
    const struct inq_fix_base *base;
    const struct inq_report *report; /* NULL: none */
    struct inq_arena *arena;
    size_t n, cap;
    struct candidate *at;
    struct inq_map left_out; /* hashes of specs past the most */
    size_t from;             /* first that is not predicted yet */
    int jobs;
};

/* ---- candidates ------------------------------------------------------------------------------ */

static int add(struct study *s, const char *spec, const char *finding, bool repairs,
               struct inq_err *err)
{
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(s->at[i].spec, spec) == 0) {
            s->at[i].repairs = s->at[i].repairs || repairs;
            return INQ_OK;
        }
    }
    int code = inq_mem_grow(&s->at, &s->cap, s->n + 1, sizeof *s->at, SIZE_MAX, err);
    if (code != INQ_OK) {
        return code;
    }
    const char *own_spec = inq_arena_strdup(s->arena, spec);
    const char *own_finding = inq_arena_strdup(s->arena, finding);
    if (own_spec == NULL || own_finding == NULL) {
        return inq_fix_no_memory(err);
    }
    s->at[s->n++] = (struct candidate){
        .spec = own_spec, .finding = own_finding, .repairs = repairs, .t_ns = -1, .step_t_ns = -1};
    return INQ_OK;
}

static int leave_out(struct study *s, const char *spec, struct inq_err *err)
{
    return inq_map_put(&s->left_out, inq_hash_bytes(spec, strlen(spec)), 0, err);
}

/* One that is asked for or called for: of very many only the first are looked at. */
static int add_asked(struct study *s, const char *spec, const char *finding, bool repairs,
                     struct inq_err *err)
{
    bool known = false;
    for (size_t i = 0; i < s->n && s->n >= MAX_FIXES && !known; i++) {
        known = strcmp(s->at[i].spec, spec) == 0;
    }
    return s->n < MAX_FIXES || known ? add(s, spec, finding, repairs, err)
                                     : leave_out(s, spec, err);
}

/* What the findings call for, the costliest first. */
static int add_called_for(struct study *s, const struct inq_report *report, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t f = 0; code == INQ_OK && report != NULL && f < report->n_findings; f++) {
        const struct inq_finding *finding = &report->findings[f];
        for (size_t k = 0; code == INQ_OK && k < finding->n_fixes; k++) {
            code = add_asked(s, finding->fixes[k], finding->id,
                             finding->severity != INQ_SEVERITY_INFO, err);
        }
    }
    return code;
}

/* Whether the simulated base gives the record again, so that gains may be told by it: the same for
 * what a finding costs and for what its fix is predicted to gain. */
static bool fits(const struct inq_fix_base *base)
{
    int64_t recorded_ns = base->info.mean_recorded_ns;
    int64_t off_ns = base->info.mean_t_ns - recorded_ns;
    return recorded_ns <= 0 || fabs((double)off_ns) <= MOST_OFF * (double)recorded_ns;
}

/* What one step takes, as part of the mean of all judged steps: in proportion, but for pauses of
 * hosts that only other steps hold. */
static int64_t of_mean(const struct inq_fix_base *base, int64_t t_ns)
{
    const struct inq_fix_base_info *info = &base->info;
    int64_t alike_ns = info->base_ns - base->pauses_ns;
    bool same = alike_ns == info->t_ns || info->t_ns <= 0;
    return base->pauses_ns +
           (same ? t_ns : inq_fix_scaled(t_ns, (double)alike_ns / (double)info->t_ns));
}

static int predict_one(void *ctx, size_t index, struct inq_err *err)
{
    const struct study *s = ctx;
    struct candidate *c = &s->at[s->from + index];
    struct fix_step job;
    (void)err;
    c->code = inq_fix_step_copy(&s->base->job, &job, &c->err);
    if (c->code == INQ_OK) {
        c->code = inq_fix_apply(&job, c->spec, &c->said, &c->err);
        if (c->code == INQ_OK) {
            c->code = inq_fix_step_time(&job, true, &c->t_ns, &c->err);
            c->step_t_ns = c->t_ns + s->base->tail_ns;
            c->t_ns = of_mean(s->base, c->step_t_ns);
        }
        inq_fix_step_release(&job);
    }
    return INQ_OK;
}

/* The finding whose cost is what the spec gains; NULL: none. */
static const struct inq_finding *finding_of(const struct study *s, const char *spec)
{
    for (size_t i = 0; s->report != NULL && i < s->report->n_findings; i++) {
        const struct inq_finding *finding = &s->report->findings[i];
        if (finding->n_fixes > 0 && finding->cost_ns_per_step >= 0 &&
            strcmp(finding->fixes[0], spec) == 0) {
            return finding;
        }
    }
    return NULL;
}

/* Whether the account has no simulated gain of it: the cost was measured. */
static bool is_measured(const struct study *s, const struct inq_finding *finding)
{
    const struct inq_account *a = s->report->account;
    for (size_t i = 0; a != NULL && i < a->n_causes; i++) {
        if (strcmp(a->causes[i].id, finding->id) == 0) {
            return a->causes[i].gain_alone_ns < 0;
        }
    }
    return false;
}

/* A repair that is not simulated, or whose simulation the account does not believe, gains what its
 * finding measured. Nothing else is predicted by a base that does not give the record again. */
static void take_measured(const struct study *s, struct candidate *c)
{
    const struct inq_study *study = s->base->study;
    bool repair = study->trace != NULL && fix_is_repair(c->spec);
    const struct inq_finding *finding = repair ? finding_of(s, c->spec) : NULL;
    const char *why = fits(s->base) ? study->run.problem : OFF_THE_RECORD;

    if (finding != NULL) {
        if (study->run.n_steps > 0) {
            why = "the recorded calls do not show all of what was measured";
        }
        int64_t t_ns = s->base->info.base_ns - finding->cost_ns_per_step;
        c->code = INQ_OK;
        c->t_ns = t_ns > 0 ? t_ns : 0;
        c->step_t_ns = -1; /* the one that is drawn was simulated */
        c->said.what[0] = '\0';
        inq_fix_note(&c->said, "as measured; not simulated: %s", why);
    } else if ((repair && study->run.unmatched) ||
               (!fits(s->base) && (repair || c->code == INQ_OK))) {
        c->code = inq_err_set(&c->err, INQ_UNSUPPORTED, "%s", why);
    }
}

/* Whether the step that is drawn was changed as that step is in the simulation behind the gain:
 * what a host loses may not be in the ops of a pipeline, and a drawing without it would say that
 * the repair gains nothing. */
static bool is_drawn(const struct study *s, const struct candidate *c)
{
    const struct inq_study *study = s->base->study;
    const struct inq_fix_base_info *info = &s->base->info;
    size_t first = study->run.first_step;

    for (size_t i = 0; first != INQ_NONE && i < study->run.n_steps; i++) {
        if (first + i < study->trace->n_steps &&
            study->trace->steps[first + i].number == info->step) {
            int64_t off_ns = info->t_ns - c->step_t_ns - study->step_ns[i];
            return fabs((double)off_ns) <= MOST_OFF * (double)info->t_ns;
        }
    }
    return true;
}

/* A repair of causes gains what the findings say, over all judged steps. */
static void predict_repair(struct study *s, struct candidate *c)
{
    struct inq_gain gain;
    struct inq_err own = {0};
    bool repairs = false;
    const struct inq_finding *finding = finding_of(s, c->spec);
    int code = fix_repairs_gain(s->base->study, c->spec, &repairs, &gain, &own);
    if (!repairs || (finding != NULL && is_measured(s, finding))) {
        take_measured(s, c);
        return;
    }
    if (c->code == INQ_NOMEM) { /* and what it says of the step with it */
        return;
    }
    c->code = code;
    c->err = own;
    c->t_ns = s->base->info.base_ns - gain.gain_ns;
    if (code == INQ_OK && c->said.what[0] == '\0') {
        inq_fix_note(&c->said, "%s less work and waiting in %zu judged step%s",
                     inq_fix_time(gain.removed_ns / (int64_t)s->base->study->run.n_steps).text,
                     s->base->study->run.n_steps, s->base->study->run.n_steps == 1 ? "" : "s");
    }
    if (code == INQ_OK && c->step_t_ns >= 0 && !is_drawn(s, c)) {
        c->step_t_ns = -1;
        inq_fix_note(&c->said,
                     "neither drawn nor executed: the ops of step %" PRId64
                     " do not have what it repairs",
                     s->base->info.step);
    }
}

/* Predicts those that are not yet. A fix that does not apply stays in the list. */
static int predict(struct study *s, struct inq_err *err)
{
    int code = inq_par_for(s->n - s->from, s->jobs, predict_one, s, err);
    for (size_t i = s->from; code == INQ_OK && i < s->n; i++) {
        predict_repair(s, &s->at[i]);
    }
    for (size_t i = s->from; code == INQ_OK && i < s->n; i++) {
        struct candidate *c = &s->at[i];
        if (c->code != INQ_OK && c->code != INQ_UNSUPPORTED && c->code != INQ_DEADLOCK &&
            c->code != INQ_FORMAT) {
            code =
                inq_err_set(err, (enum inq_code)c->code, "fix '%s': %s", c->spec, c->err.message);
        }
        c->t_ns = c->code == INQ_OK ? c->t_ns : -1;
    }
    s->from = s->n;
    return code;
}

static int64_t gain_of(const struct study *s, const struct candidate *c)
{
    return c->t_ns < 0 ? INT64_MIN : s->base->info.base_ns - c->t_ns;
}

static bool helps(const struct study *s, const struct candidate *c)
{
    return c->t_ns >= 0 && (double)gain_of(s, c) > INQ_FIX_NOISE * (double)s->base->info.base_ns;
}

/* ---- places for slow ranks ------------------------------------------------------------------- */

/* The one rank that a spec replaces; -1: it is no such spec. */
static int32_t replaced_rank(const char *spec)
{
    static const char name[] = "replace-rank:";
    int32_t rank = 0;
    const char *p = spec + sizeof name - 1;
    if (strncmp(spec, name, sizeof name - 1) != 0 || *p == '\0') {
        return -1;
    }
    for (; *p >= '0' && *p <= '9' && rank < 100000000; p++) {
        rank = rank * 10 + (*p - '0');
    }
    return *p == '\0' ? rank : -1;
}

/* Where a slow rank hurts least: of all swaps with another stage the best one is kept. */
static int try_places(struct study *s, size_t index, struct inq_err *err)
{
    const struct candidate of = s->at[index];
    int32_t slow = replaced_rank(of.spec);
    const struct fix_step *job = &s->base->job;
    size_t before = s->n;
    int32_t own_stage = -1;
    int code = INQ_OK;
    for (size_t r = 0; r < job->n_ranks; r++) {
        own_stage = job->ranks[r].number == slow ? job->ranks[r].stage : own_stage;
    }
    for (size_t r = 0; code == INQ_OK && slow >= 0 && own_stage >= 0 && r < job->n_ranks; r++) {
        bool elsewhere = job->ranks[r].stage != own_stage && job->ranks[r].number >= 0;
        if (elsewhere) {
            char text[64];
            (void)snprintf(text, sizeof text, "swap-ranks:%d,%d", slow, job->ranks[r].number);
            code = s->n - before < MAX_PARTNERS ? add(s, text, of.finding, of.repairs, err)
                                                : leave_out(s, text, err);
        }
    }
    if (code == INQ_OK) {
        code = predict(s, err);
    }
    size_t best = before;
    for (size_t i = before; code == INQ_OK && i < s->n; i++) {
        best = gain_of(s, &s->at[i]) > gain_of(s, &s->at[best]) ? i : best;
    }
    if (code == INQ_OK && s->n > before) {
        s->at[before] = s->at[best];
        s->n = before + (s->at[before].code == INQ_OK ? 1 : 0);
        s->from = s->n;
    }
    return code;
}

/* ---- together -------------------------------------------------------------------------------- */

/* Place in the catalog: fixes are applied in its order. */
static size_t row_of(const char *spec)
{
    const struct fix_row *row = NULL;
    struct fix_args args;
    size_t n = 0;
    const char *at = spec;
    return inq_fix_read(&at, &row, &args, NULL) == INQ_OK ? (size_t)(row - inq_fix_rows(&n)) : 0;
}

static bool can_join(const char *a, const char *b)
{
    /* of one kind one is enough, and what is one fix already is not joined further */
    return row_of(a) != row_of(b) && strchr(a, '+') == NULL && strchr(b, '+') == NULL;
}

/* Whether a fix of its kind is among the best already. */
static bool is_taken(const struct study *s, const size_t *best, size_t n_best, size_t index)
{
    for (size_t b = 0; b < n_best; b++) {
        if (row_of(s->at[best[b]].spec) == row_of(s->at[index].spec)) {
            return true;
        }
    }
    return false;
}

/* The best few that help, one of each kind. */
static size_t find_best(const struct study *s, size_t best[TRY_TOGETHER])
{
    size_t n_best = 0;
    for (size_t k = 0; k < TRY_TOGETHER; k++) {
        size_t found = SIZE_MAX;
        for (size_t i = 0; i < s->n; i++) {
            bool better = found == SIZE_MAX || gain_of(s, &s->at[i]) > gain_of(s, &s->at[found]);
            bool counts = helps(s, &s->at[i]) && !is_taken(s, best, n_best, i);
            found = counts && better ? i : found;
        }
        if (found != SIZE_MAX) {
            best[n_best++] = found;
        }
    }
    return n_best;
}

/* The best few, in pairs; a pair stays when it gains more than either. */
static int try_pairs(struct study *s, struct inq_err *err)
{
    size_t best[TRY_TOGETHER];
    size_t n_best = find_best(s, best);
    int code = INQ_OK;
    for (size_t a = 0; code == INQ_OK && a < n_best; a++) {
        for (size_t b = a + 1; code == INQ_OK && b < n_best; b++) {
            const char *x = s->at[best[a]].spec;
            const char *y = s->at[best[b]].spec;
            bool swap = row_of(x) > row_of(y);
            const char *joined = inq_arena_asprintf(s->arena, "%s+%s", swap ? y : x, swap ? x : y);
            if (joined == NULL) {
                return inq_fix_no_memory(err);
            }
            if (can_join(x, y)) {
                code = add(s, joined, "", s->at[best[a]].repairs && s->at[best[b]].repairs, err);
            }
        }
    }
    return code == INQ_OK ? predict(s, err) : code;
}

/* Whether a pair gains more than its better half. */
static bool is_worth_it(const struct study *s, size_t pair)
{
    const char *plus = strchr(s->at[pair].spec, '+');
    for (size_t i = 0; plus != NULL && i < s->n; i++) {
        size_t len = strlen(s->at[i].spec);
        const char *spec = s->at[pair].spec;
        bool half = (strncmp(spec, s->at[i].spec, len) == 0 && spec + len == plus) ||
                    strcmp(plus + 1, s->at[i].spec) == 0;
        if (half && (double)(gain_of(s, &s->at[pair]) - gain_of(s, &s->at[i])) <=
                        INQ_FIX_NOISE * (double)s->base->info.base_ns) {
            return false;
        }
    }
    return true;
}

static void drop_idle_pairs(struct study *s, size_t n_single)
{
    size_t kept = n_single;
    for (size_t i = n_single; i < s->n; i++) {
        bool lost = s->at[i].code == INQ_NOMEM; /* which is said */
        if (lost || (s->at[i].code == INQ_OK && is_worth_it(s, i))) {
            s->at[kept++] = s->at[i];
        }
    }
    s->n = kept;
}

/* ---- the result ------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_fix *x = a;
    const struct inq_fix *y = b;
    if ((x->t_ns < 0) != (y->t_ns < 0)) {
        return x->t_ns < 0 ? 1 : -1;
    }
    bool x_repairs = x->repairs && x->helps;
    bool y_repairs = y->repairs && y->helps;
    if (x_repairs != y_repairs) {
        return x_repairs ? -1 : 1;
    }
    if (x->gain_ns != y->gain_ns) {
        return x->gain_ns > y->gain_ns ? -1 : 1;
    }
    bool pair_x = strchr(x->spec, '+') != NULL;
    bool pair_y = strchr(y->spec, '+') != NULL;
    return pair_x != pair_y ? (pair_x ? 1 : -1) : strcmp(x->spec, y->spec);
}

/* One sentence out of those of all its parts. */
static const char *join(struct study *s, const char *a, const char *b)
{
    if (a[0] == '\0' || b[0] == '\0' || strcmp(a, b) == 0) {
        return a[0] == '\0' ? b : a;
    }
    const char *text = inq_arena_asprintf(s->arena, "%s; %s", a, b);
    return text != NULL ? text : "";
}

/* What a prediction does not know where ranks left no trace; "": all did. */
static const char *say_missing(struct study *s)
{
    const struct inq_trace *trace = s->report != NULL ? s->report->trace : NULL;
    size_t n = trace != NULL ? trace->n_missing + trace->n_unread : 0;
    const char *text =
        n == 0 ? ""
               : inq_arena_asprintf(s->arena,
                                    "collectives with %s whose traces are missing take as long as "
                                    "recorded: the gain is a lower bound",
                                    n == 1 ? "the rank" : "the ranks");
    return text != NULL ? text : "";
}

static void describe(struct study *s, const struct candidate *c, struct inq_fix *fix)
{
    const char *at = c->spec;
    struct fix_args args;
    const struct fix_row *row = NULL;
    fix->assumes = "";
    fix->costs = (struct inq_fix_costs){"", "", ""};
    while (*at != '\0' && inq_fix_read(&at, &row, &args, NULL) == INQ_OK) {
        fix->assumes = join(s, fix->assumes, row->kind.assumes);
        fix->costs.memory = join(s, fix->costs.memory, row->kind.costs.memory);
        fix->costs.accuracy = join(s, fix->costs.accuracy, row->kind.costs.accuracy);
        fix->costs.work = join(s, fix->costs.work, row->kind.costs.work);
    }
    fix->assumes = join(s, fix->assumes, say_missing(s));
    if (c->said.memory[0] != '\0') {
        fix->costs.memory = inq_arena_strdup(s->arena, c->said.memory);
    }
}

static int take(struct study *s, struct inq_fixes *out, struct inq_err *err)
{
    out->base = s->base->info;
    out->base.schedule = inq_arena_strdup(s->arena, s->base->info.schedule);
    out->engine = out->device = out->note = "";
    out->n_left_out = s->left_out.n;
    out->fixes = inq_arena_array(s->arena, s->n, sizeof *out->fixes);
    if (out->fixes == NULL || out->base.schedule == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t i = 0; i < s->n; i++) {
        struct candidate *c = &s->at[i];
        struct inq_fix *fix = &out->fixes[out->n++];
        fix->spec = c->spec;
        fix->finding = c->finding;
        fix->repairs = c->repairs;
        fix->what = inq_arena_strdup(s->arena, c->code == INQ_OK ? c->said.what : "");
        fix->problem = inq_arena_strdup(s->arena, c->code == INQ_OK ? "" : c->err.message);
        fix->t_ns = c->t_ns;
        fix->step_t_ns = c->step_t_ns;
        fix->gain_ns = c->t_ns >= 0 ? gain_of(s, c) : 0;
        fix->speedup = c->t_ns > 0 ? (double)s->base->info.base_ns / (double)c->t_ns : (double)NAN;
        fix->helps = helps(s, c);
        describe(s, c, fix);
        if (fix->what == NULL || fix->problem == NULL || fix->costs.memory == NULL) {
            return inq_fix_no_memory(err);
        }
    }
    return inq_sort(out->fixes, out->n, sizeof *out->fixes, compare, NULL, err);
}

static int predict_some(const struct inq_fix_base *base, const char *const *specs, size_t n,
                        int64_t *gain_ns, struct inq_err *err)
{
    struct inq_fixes *fixes = NULL;
    struct inq_fix_options options = {.specs = specs, .n_specs = n, .no_pairs = true};
    int code = inq_fix_study(base, NULL, &options, &fixes, err);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; code == INQ_OK && k < fixes->n; k++) {
            if (strcmp(fixes->fixes[k].spec, specs[i]) == 0 && fixes->fixes[k].t_ns >= 0) {
                gain_ns[i] = fixes->fixes[k].gain_ns;
            }
        }
    }
    inq_fixes_free(fixes);
    return code;
}

int inq_fix_predict(const struct inq_trace *trace, struct inq_report *report,
                    const char *const *specs, size_t n, int64_t *gain_ns, struct inq_err *err)
{
    struct inq_fix_base *base = NULL;
    struct inq_err own = {0};
    int code = inq_fix_base_of_run(trace, report, &base, &own);
    if (code == INQ_OK && !fits(base)) {
        code = inq_err_set(&own, INQ_UNSUPPORTED, "%s", OFF_THE_RECORD);
    }
    for (size_t i = 0; i < n; i++) {
        gain_ns[i] = INQ_TIME_NONE;
    }
    for (size_t i = 0; code == INQ_OK && i < n; i += MAX_FIXES) { /* a study takes so many */
        code =
            predict_some(base, specs + i, n - i < MAX_FIXES ? n - i : MAX_FIXES, gain_ns + i, &own);
    }
    inq_fix_base_free(base);
    return code == INQ_NOMEM ? inq_fix_no_memory(err) : INQ_OK;
}

/* Specs are read before anything is simulated, so that a typing error is told at once. */
static int check_specs(const struct inq_fix_options *options, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < options->n_specs; i++) {
        code = inq_fix_check(options->specs[i], err);
    }
    return code;
}

static int run_study(struct study *s, const struct inq_report *report,
                     const struct inq_fix_options *options, struct inq_err *err)
{
    int code = check_specs(options, err);
    for (size_t i = 0; code == INQ_OK && i < options->n_specs; i++) {
        code = add_asked(s, options->specs[i], "", false, err);
    }
    if (code == INQ_OK && options->n_specs == 0) {
        code = add_called_for(s, report, err);
    }
    if (code == INQ_OK) {
        code = predict(s, err);
    }
    size_t asked = s->n; /* places for slow ranks come on top */
    for (size_t i = 0; code == INQ_OK && options->n_specs == 0 && i < asked; i++) {
        code = try_places(s, i, err);
    }
    size_t n_single = s->n;
    if (code == INQ_OK && !options->no_pairs) {
        code = try_pairs(s, err);
        drop_idle_pairs(s, n_single);
    }
    return code;
}

void inq_fixes_free(struct inq_fixes *fixes)
{
    if (fixes != NULL) {
        inq_run_free(fixes->drawn);
        for (size_t i = 0; i < fixes->n; i++) {
            inq_run_free(fixes->fixes[i].drawn);
        }
        struct inq_arena arena = *fixes->arena; /* holds itself and the fixes */
        inq_arena_release(&arena);
    }
}

int inq_fix_study(const struct inq_fix_base *base, const struct inq_report *report,
                  const struct inq_fix_options *options, struct inq_fixes **out,
                  struct inq_err *err)
{
    struct inq_arena arena = {0};
    struct study s = {.base = base, .report = report, .arena = &arena, .jobs = options->jobs};
    *out = NULL;
    struct inq_arena *own = inq_arena_alloc(&arena, sizeof *own);
    struct inq_fixes *fixes = inq_arena_alloc(&arena, sizeof *fixes);
    int code = own != NULL && fixes != NULL ? INQ_OK : inq_fix_no_memory(err);
    if (code == INQ_OK) {
        code = run_study(&s, report, options, err);
    }
    if (code == INQ_OK) {
        code = take(&s, fixes, err);
    }
    inq_mem_free(s.at);
    inq_map_release(&s.left_out);
    if (code != INQ_OK) {
        inq_arena_release(&arena);
        return code;
    }
    *own = arena;
    fixes->arena = own;
    *out = fixes;
    return INQ_OK;
}
