/* SPDX-License-Identifier: Apache-2.0 */
/* One step that is longer than the others: what it spends more time on, and where. */
#include "analysis/account/account.h"
#include "base/arena_text.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/stats.h"

/* A class is named when it explains this part of what the step is longer by. */
static const double EXPLAINS = 0.5;
/* All ranks spend it, not one, where their mean is this part of what the rank spends that spends
 * most: ranks differ by some of it anyway. */
static const double ALL_ALIKE = 0.75;
/* From so many times as many kernels on they are told: equal steps launch as many, give or take a
 * few. */
static const double MORE_KERNELS = 1.02;
/* An annotation is what the host was in when it is longer by this part of the time. */
static const double FILLS = 0.5;

struct growth {
    uint32_t rank; /* that grew most */
    enum inq_account_class cls;
    double ns, mean_ns; /* on that rank; over all that are judged */
};

/* Waiting for another rank is that rank's matter. */
static bool is_own(enum inq_account_class cls)
{
    return cls != INQ_ACCOUNT_WAIT && cls != INQ_ACCOUNT_DEPENDENCY;
}

/* How much more of a class a rank has in the step than in its median one. `values`: [n_steps] */
static double grown_ns(const struct inq_account *a, size_t r, size_t step,
                       enum inq_account_class cls, int64_t *values)
{
    size_t n = 0;
    for (size_t s = 0; s < a->n_steps; s++) {
        const struct inq_account_cell *cell = inq_account_cell_at(a, r, s);
        if (cell->judged) {
            values[n++] = cell->ns[cls];
        }
    }
    int64_t here_ns = inq_account_cell_at(a, r, step)->ns[cls];
    return (double)(here_ns - inq_median_i64(values, n));
}

static struct growth largest_growth(const struct inq_account *a, size_t step, int64_t *values)
{
    struct growth best = {.rank = INQ_NONE};
    for (int c = 0; c < INQ_ACCOUNT_CLASS_COUNT; c++) {
        struct growth g = {.rank = INQ_NONE, .cls = (enum inq_account_class)c};
        for (uint32_t r = 0; is_own(g.cls) && r < a->n_ranks; r++) {
            bool judged = inq_account_cell_at(a, r, step)->judged;
            double ns = judged ? grown_ns(a, r, step, g.cls, values) : 0.0;
            g.mean_ns += ns / (double)(a->ranks_judged > 0 ? a->ranks_judged : 1);
            if (judged && ns > g.ns) {
                g.ns = ns;
                g.rank = r;
            }
        }
        best = g.rank != INQ_NONE && g.ns > best.ns ? g : best;
    }
    return best;
}

/* ", 1.5 times as many kernels" where compute grew with the work; else "". `values`: [n_steps] */
static const char *more_kernels(const struct inq_account *a, const struct growth *g, size_t step,
                                int64_t *values, struct inq_arena *arena)
{
    size_t n = 0;
    for (size_t s = 0; s < a->n_steps; s++) {
        const struct inq_account_cell *cell = inq_account_cell_at(a, g->rank, s);
        if (cell->judged) {
            values[n++] = (int64_t)cell->work;
        }
    }
    double ratio = (double)inq_account_cell_at(a, g->rank, step)->work /
                   fmax(1.0, (double)inq_median_i64(values, n));
    return g->cls == INQ_ACCOUNT_COMPUTE && ratio >= MORE_KERNELS
               ? inq_arena_printf(arena, ", %.1f times as many kernels", ratio)
               : "";
}

/* ---- what the host was in -------------------------------------------------------------------- */

struct activity {
    inq_str name;
    double ns, elsewhere_ns; /* in the step; in all other judged ones */
};

static double in_cell_ns(const struct inq_note *note, const struct inq_account_cell *cell)
{
    int64_t end_ns = note->start_ns + note->dur_ns;
    int64_t from_ns = note->start_ns > cell->start_ns ? note->start_ns : cell->start_ns;
    int64_t to_ns = end_ns < cell->end_ns ? end_ns : cell->end_ns;
    return to_ns > from_ns ? (double)(to_ns - from_ns) : 0.0;
}

static bool is_activity(const struct inq_note *note)
{
    return !note->on_gpu && note->kind != INQ_NOTE_STEP && note->kind != INQ_NOTE_COMM;
}

/* What of a note lies in the step, and in other judged ones. `first`: a step before which none of
 * it lies. */
static void add_note(const struct inq_account *a, uint32_t r, size_t step, size_t first,
                     const struct inq_note *note, struct activity *activity)
{
    for (size_t s = first; s < a->n_steps; s++) {
        const struct inq_account_cell *cell = inq_account_cell_at(a, r, s);
        double ns = cell->judged ? in_cell_ns(note, cell) : 0.0;
        activity->ns += s == step ? ns : 0.0;
        activity->elsewhere_ns += s == step ? 0.0 : ns;
        if (cell->judged && cell->end_ns >= note->start_ns + note->dur_ns) {
            break;
        }
    }
}

/* Sums the rank's annotations by name; `list` has room for all. */
static int sum_activities(const struct inq_account *a, uint32_t r, size_t step,
                          struct activity *list, size_t *n, struct inq_err *err)
{
    const struct inq_rank *rank = &a->trace->ranks[r];
    struct inq_map at = {0};
    int code = INQ_OK;
    size_t first = 0; /* step that ends after the note begins: of those that follow it, as well */
    int64_t before_ns = INT64_MIN;
    *n = 0;
    for (size_t i = 0; code == INQ_OK && i < rank->n_notes; i++) {
        const struct inq_note *note = &rank->notes[i];
        uint32_t k = 0;
        if (!is_activity(note)) {
            continue;
        }
        if (!inq_map_get(&at, note->name, &k)) {
            k = (uint32_t)(*n)++;
            list[k] = (struct activity){.name = note->name};
            code = inq_map_put(&at, note->name, k, err);
        }
        first = note->start_ns >= before_ns ? first : 0;
        before_ns = note->start_ns;
        while (first < a->n_steps && inq_account_cell_at(a, r, first)->end_ns <= before_ns) {
            first++;
        }
        add_note(a, r, step, first, note, &list[k]);
    }
    inq_map_release(&at);
    return code;
}

/* The annotation that got longer by most of `ns`; of several the one that is shortest in all, which
 * the others hold. 0: none. */
static int find_activity(const struct inq_account *a, uint32_t r, size_t step, double ns,
                         inq_str *name, struct inq_err *err)
{
    size_t n = 0;
    double others = a->steps_judged > 1 ? (double)(a->steps_judged - 1) : 1.0;
    double least_ns = 0.0;
    struct activity *list = inq_mem_alloc((a->trace->ranks[r].n_notes + 1) * sizeof *list);
    int code = list != NULL ? sum_activities(a, r, step, list, &n, err)
                            : inq_err_set(err, INQ_NOMEM, "no memory for annotations");
    *name = 0;
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        bool longer = list[i].ns - list[i].elsewhere_ns / others >= FILLS * ns;
        if (longer && (*name == 0 || list[i].ns < least_ns)) {
            *name = list[i].name;
            least_ns = list[i].ns;
        }
    }
    inq_mem_free(list);
    return code;
}

int inq_account_explain_step(const struct inq_account *account, size_t step, int64_t more_ns,
                             struct inq_arena *arena, const char **text, struct inq_err *err)
{
    int64_t *values = inq_mem_alloc((account->n_steps + 1) * sizeof *values);
    inq_str in = 0;
    *text = "";
    if (values == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", account->n_steps);
    }
    struct growth g = largest_growth(account, step, values);
    bool explains = g.rank != INQ_NONE && g.ns >= EXPLAINS * (double)more_ns;
    const char *kernels = explains ? more_kernels(account, &g, step, values, arena) : "";
    inq_mem_free(values);
    if (!explains) {
        return INQ_OK;
    }
    bool hosts = g.cls == INQ_ACCOUNT_HOST || g.cls == INQ_ACCOUNT_COPY;
    int code = hosts ? find_activity(account, g.rank, step, g.ns, &in, err) : INQ_OK;
    if (code != INQ_OK) {
        return code;
    }
    bool all = g.mean_ns >= ALL_ALIKE * g.ns;
    const char *where =
        account->n_ranks == 1 ? ""
        : all                 ? " on all ranks"
              : inq_arena_printf(arena, " on rank %d", account->trace->ranks[g.rank].rank);
    *text = inq_arena_printf(
        arena, "%s more %s%s%s%s%s", inq_arena_time(arena, (int64_t)(all ? g.mean_ns : g.ns)),
        inq_account_class_words(g.cls), where, kernels, in != 0 ? ", in " : "",
        in != 0 ? inq_arena_name(arena, inq_trace_str(account->trace, in)) : "");
    return INQ_OK;
}
