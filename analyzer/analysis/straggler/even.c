/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/straggler/even.h"

#include "analysis/measure/measure.h"
#include "analysis/straggler/stretches.h"
#include "base/hash.h"
#include "base/mem.h"
#include "trace/trace.h"

/* ---- what the work usually takes ------------------------------------------------------------- */

/* Work of one name on one stream: all of it on the ranks of a role, in all judged steps. */
struct usual {
    double sum_ns, n, n_elems;
    double least_elems, most_elems, sum_elems;
    uint32_t most_members; /* of a transfer */
    double even_ns;        /* what one takes where all members have the mean size */
};

/* Stretches of the same kernels: how long all of them are, and what they would be by the usual of
 * their kernels. Kernels of one name are longer in some places of a step than in others (an
 * expert's and an attention's in a backward pass), always. Deviations from that, squared: all, and
 * by noise. */
struct content {
    double ns, expect_ns;
    double n, ratios, squares; /* of what each takes by what is expected */
    double all, noise;
};

struct even {
    struct inq_repairing *x;
    struct inq_stretches stretches;
    struct usual *usual;
    uint32_t *of;        /* [n_ops] into `usual`; UINT32_MAX: not compute, no transfer */
    double *size;        /* [n_ops] of a transfer's mean member, by the mean of all transfers .. */
    double *more;        /* [n_ops] .. and how much larger its largest member is */
    uint32_t *n_members; /* [n_ops] of a transfer */
    bool *first;         /* [n_ops] of the ops of a transfer, which stand next to each other */
    double *expect_ns;   /* by stretch: what its kernels usually take */
    double *squares;     /* by stretch: sum of their squares */
    uint64_t *kernels;   /* by stretch: which they are */
    uint32_t *alike;     /* by stretch: into `contents` */
    struct content *contents;
    bool *update;   /* [n_ops] the optimizer's */
    double *common; /* by place: by how much the rank's step is longer whatever its work is */
    double kernel;  /* sigma of its kernels beyond that */
};

static int no_memory(const struct even *e, struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", e->x->n_ops);
}

static bool has_a_size(const struct even *e, size_t i)
{
    return inq_repairing_is(e->x, i, INQ_CLASS_COMPUTE) ||
           inq_repairing_is(e->x, i, INQ_CLASS_COMM);
}

/* The stream and name of a piece of GPU work. */
static uint64_t name_key(const struct even *e, size_t i)
{
    const struct inq_trace_op *what = &e->x->run->g.ops[i];
    const struct inq_rank *rank = &e->x->study->trace->ranks[what->rank];
    uint64_t stream = (uint64_t)rank->lanes[rank->events.lane[what->row]].id;
    return inq_hash_u64(inq_hash_u64(stream) ^ rank->events.name[what->row]);
}

/* Elements of a transfer; -1: not recorded. */
static double elements_of(const struct even *e, size_t i)
{
    const struct inq_trace_op *what = &e->x->run->g.ops[i];
    const struct inq_rank *rank = &e->x->study->trace->ranks[what->rank];
    uint32_t at = rank->events.comm[what->row];
    if (at == INQ_NONE) {
        return -1.0;
    }
    const struct inq_comm *comm = &rank->comms[at];
    return (double)(comm->in_elems > comm->out_elems ? comm->in_elems : comm->out_elems);
}

static void add_usual(struct usual *usual, double ns, double elems)
{
    usual->sum_ns += ns;
    usual->n++;
    if (elems < 0.0) {
        return;
    }
    usual->least_elems = usual->n_elems == 0.0 ? elems : fmin(usual->least_elems, elems);
    usual->most_elems = fmax(usual->most_elems, elems);
    usual->sum_elems += elems;
    usual->n_elems++;
}

/* Which work each op is, and what it takes. All micro-batches together: few steps have few of any
 * one of them. */
static int find_usual(struct even *e, struct inq_err *err)
{
    struct inq_repairing *x = e->x;
    struct inq_map place = {0};
    uint32_t n = 0;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < x->n_ops; i++) {
        e->of[i] = UINT32_MAX;
        if (!has_a_size(e, i)) {
            continue;
        }
        uint64_t key = name_key(e, i) ^ x->study->roles.of[x->run->g.ops[i].rank];
        if (!inq_map_get(&place, key, &e->of[i])) {
            e->of[i] = n++;
            code = inq_map_put(&place, key, e->of[i], err);
        }
        if (code == INQ_OK) {
            add_usual(&e->usual[e->of[i]], (double)x->run->dur_ns[i], elements_of(e, i));
        }
    }
    inq_map_release(&place);
    return code;
}

static double usual_ns(const struct even *e, size_t i)
{
    const struct usual *usual = &e->usual[e->of[i]];
    return usual->sum_ns / usual->n;
}

static void add_stretches(struct even *e)
{
    for (size_t i = 0; i < e->x->n_ops; i++) {
        if (inq_repairing_is(e->x, i, INQ_CLASS_COMPUTE)) {
            size_t k = inq_stretch_of(e->x, &e->stretches, i);
            double ns = usual_ns(e, i);
            e->expect_ns[k] += ns;
            e->squares[k] += ns * ns;
            e->kernels[k] += inq_hash_u64((uint64_t)e->of[i] + 1);
        }
    }
}

static size_t count_stretches(const struct even *e)
{
    return e->stretches.start[e->x->n_ranks * e->x->n_steps];
}

static void add_to_content(struct content *content, double ns, double expect_ns)
{
    double ratio = expect_ns > 0.0 ? ns / expect_ns : 0.0;
    content->ns += ns;
    content->expect_ns += expect_ns;
    content->n += expect_ns > 0.0;
    content->ratios += ratio;
    content->squares += ratio * ratio;
}

/* Squares of the deviations of a content's stretches from their own mean. */
static double squares_off(const struct content *content)
{
    return content->n > 0.0
               ? fmax(content->squares - content->ratios * content->ratios / content->n, 0.0)
               : 0.0;
}

/* Variance of a stretch beside others of its content, over all contents that have more than one. */
static double usual_variance(const struct content *contents, uint32_t n)
{
    double squares = 0.0;
    double freedom = 0.0;
    for (uint32_t c = 0; c < n; c++) {
        squares += squares_off(&contents[c]);
        freedom += fmax(contents[c].n - 1.0, 0.0);
    }
    return freedom > 0.0 ? squares / freedom : 0.0;
}

/* Few stretches of one content differ from the usual also by the work that came to them: of their
 * mean deviation that part is left out which the square of twice its standard error has in it. What
 * single stretches of it vary by, one of a kind cannot tell and few tell badly: the variance that
 * is usual counts as one more of them. */
static void leave_out_chance(struct content *content, double usual)
{
    double chance =
        content->n > 0.0 ? 4.0 * (squares_off(content) + usual) / (content->n * content->n) : 0.0;
    double off = content->expect_ns > 0.0 ? content->ns / content->expect_ns - 1.0 : 0.0;
    double left = chance < off * off ? 1.0 - chance / (off * off) : 0.0;
    content->ns = content->expect_ns * (1.0 + left * off);
}

static int find_contents(struct even *e, struct inq_err *err)
{
    struct inq_map place = {0};
    uint32_t n = 0;
    int code = INQ_OK;
    for (size_t k = 0; code == INQ_OK && k < count_stretches(e); k++) {
        if (!inq_map_get(&place, e->kernels[k], &e->alike[k])) {
            e->alike[k] = n++;
            code = inq_map_put(&place, e->kernels[k], e->alike[k], err);
        }
        if (code == INQ_OK) {
            add_to_content(&e->contents[e->alike[k]], (double)e->stretches.at[k].compute_ns,
                           e->expect_ns[k]);
        }
    }
    double usual = usual_variance(e->contents, n);
    for (uint32_t c = 0; code == INQ_OK && c < n; c++) {
        leave_out_chance(&e->contents[c], usual);
    }
    inq_map_release(&place);
    return code;
}

/* ---- what is not the work's ------------------------------------------------------------------ */

static void mark_updates(struct even *e)
{
    inq_str last = 0;
    bool last_is = false;
    for (size_t i = 0; i < e->x->n_ops; i++) {
        const struct inq_trace_op *what = &e->x->run->g.ops[i];
        if (!inq_repairing_is(e->x, i, INQ_CLASS_COMPUTE)) {
            continue;
        }
        inq_str name = e->x->study->trace->ranks[what->rank].events.name[what->row];
        if (name != last) {
            last = name;
            last_is =
                inq_kernel_kind_of(inq_trace_str(e->x->study->trace, name)) == INQ_KERNEL_UPDATE;
        }
        e->update[i] = last_is;
    }
}

/* Sums over the optimizer's kernels of each rank's step. */
struct update {
    double ns, expect_ns, squares;
};

/* By how much a step of a rank is longer whatever its work is: as its optimizer's kernels are, but
 * for what chance leaves in a sum of them. */
static void find_common(struct even *e, const struct update *at, size_t n_places)
{
    double together = 0.0;
    double chance = 0.0;
    for (size_t k = 0; k < n_places; k++) {
        if (at[k].expect_ns > 0.0) {
            e->common[k] = at[k].ns / at[k].expect_ns - 1.0;
            together += e->common[k] * e->common[k];
            chance += e->kernel * e->kernel * at[k].squares / (at[k].expect_ns * at[k].expect_ns);
        }
    }
    for (size_t k = 0; k < n_places; k++) {
        e->common[k] *= together > chance ? 1.0 - chance / together : 0.0;
    }
}

/* How the optimizer's kernels deviate from their usual: together in a rank's step, and each beyond
 * that. Without any, all deviations are taken for uneven work. */
static int find_noise(struct even *e, struct inq_err *err)
{
    struct inq_repairing *x = e->x;
    size_t n_places = x->n_ranks * x->n_steps;
    struct update *at = inq_mem_zalloc(n_places + 1, sizeof *at);
    double single = 0.0;
    double weight = 0.0;
    if (at == NULL) {
        return no_memory(e, err);
    }
    for (size_t i = 0; i < x->n_ops; i++) {
        if (e->update[i]) {
            struct update *u = &at[inq_repairing_place(x, i)];
            double ns = usual_ns(e, i);
            u->ns += (double)x->run->recorded_dur_ns[i];
            u->expect_ns += ns;
            u->squares += ns * ns;
        }
    }
    for (size_t i = 0; i < x->n_ops; i++) {
        if (e->update[i]) {
            const struct update *u = &at[inq_repairing_place(x, i)];
            double ns = usual_ns(e, i) * u->ns / u->expect_ns;
            double off = (double)x->run->recorded_dur_ns[i] - ns;
            single += off * off;
            weight += ns * ns;
        }
    }
    e->kernel = weight > 0.0 ? sqrt(single / weight) : 0.0;
    find_common(e, at, n_places);
    inq_mem_free(at);
    return INQ_OK;
}

/* ---- evened ---------------------------------------------------------------------------------- */

static double off_at(const struct even *e, size_t stretch)
{
    const struct content *content = &e->contents[e->alike[stretch]];
    double ns = (double)e->stretches.at[stretch].compute_ns;
    double usual =
        content->expect_ns > 0.0 ? e->expect_ns[stretch] * content->ns / content->expect_ns : 0.0;
    return usual > 0.0 && ns > 0.0 ? ns / usual - 1.0 : 0.0;
}

/* Close to normal, of variance 1, and the same on every machine: the sum of four even ones. */
static double draw(size_t stretch)
{
    uint64_t bits = inq_hash_u64(stretch + 1);
    double sum = 0.0;
    for (int i = 0; i < 4; i++) {
        sum += (double)((bits >> (16 * i)) & 0xffff) / 65535.0 - 0.5;
    }
    return sqrt(3.0) * sum;
}

/* What chance leaves in a stretch whose work is even: of a deviation that is work and chance the
 * part that chance has in all of them, and what that does not tell, drawn. All of it taken from the
 * deviation would come to the same ranks at once, in stretch after stretch. */
static double left_of(const struct even *e, size_t stretch, double off)
{
    const struct content *content = &e->contents[e->alike[stretch]];
    if (content->all <= content->noise || content->all <= 0.0) {
        return off;
    }
    double part = content->noise / content->all;
    double chance = e->squares[stretch] / (e->expect_ns[stretch] * e->expect_ns[stretch]);
    return part * off + e->kernel * sqrt(chance * (1.0 - part)) * draw(stretch);
}

/* By stretch: what its compute is to be scaled by. */
static void find_factors(struct even *e)
{
    size_t n_places = e->x->n_ranks * e->x->n_steps;
    for (size_t p = 0; p < n_places; p++) {
        for (size_t k = e->stretches.start[p]; k < e->stretches.start[p + 1]; k++) {
            struct content *content = &e->contents[e->alike[k]];
            double off = off_at(e, k) - e->common[p];
            if (e->expect_ns[k] > 0.0) {
                double chance = e->squares[k] / (e->expect_ns[k] * e->expect_ns[k]);
                content->all += off * off;
                content->noise += e->kernel * e->kernel * chance;
            }
        }
    }
    for (size_t p = 0; p < n_places; p++) {
        for (size_t k = e->stretches.start[p]; k < e->stretches.start[p + 1]; k++) {
            double off = off_at(e, k);
            double left = e->common[p] + left_of(e, k, off - e->common[p]);
            e->stretches.at[k].factor = e->expect_ns[k] > 0.0 ? (1.0 + left) / (1.0 + off) : 1.0;
        }
    }
}

/* Size of one member's part, by the mean one. Where not all are recorded, by the work that the rank
 * did before it: both follow the batch. */
static double own_size(const struct even *e, size_t i)
{
    const struct usual *usual = &e->usual[e->of[i]];
    const struct inq_trace_op *what = &e->x->run->g.ops[i];
    if (usual->n_elems == usual->n && usual->sum_elems > 0.0) {
        return elements_of(e, i) * usual->n / usual->sum_elems;
    }
    bool launched = e->x->study->trace->ranks[what->rank].events.call[what->row] != INQ_NONE;
    return launched ? 1.0 + off_at(e, inq_stretch_of(e->x, &e->stretches, i)) : 1.0;
}

static bool is_transfer(const struct even *e, size_t i)
{
    return e->of[i] != UINT32_MAX && inq_repairing_is(e->x, i, INQ_CLASS_COMM);
}

/* Of all ops of a transfer, which stand next to each other, the mean part, and how much more the
 * largest one is. */
static void find_sizes(struct even *e)
{
    const uint32_t *members = e->x->run->g.graph->members;
    for (size_t i = 0; i < e->x->n_ops; i += members[i]) {
        double largest = 0.0;
        double sum = 0.0;
        double n = 0.0;
        for (size_t k = i; k < i + members[i]; k++) {
            double size = is_transfer(e, k) ? own_size(e, k) : 0.0;
            largest = fmax(largest, size);
            sum += size;
            n += is_transfer(e, k);
        }
        for (size_t k = i; k < i + members[i]; k++) {
            struct usual *usual = is_transfer(e, k) ? &e->usual[e->of[k]] : NULL;
            e->size[k] = n > 0.0 ? sum / n : 0.0;
            e->more[k] = largest - e->size[k];
            e->n_members[k] = members[i];
            e->first[k] = k == i;
            if (usual != NULL && members[i] > usual->most_members) {
                usual->most_members = members[i];
            }
        }
    }
}

/* Sums over the whole transfers of one name: how many, times (y), mean sizes (x), by how much the
 * largest part is larger (d), and products of them. */
struct fit {
    double n, y, x, d, yy, xx, dd, xy, dy, xd;
};

static void add_to_fit(struct fit *f, double y, double x, double d)
{
    f->n++;
    f->y += y;
    f->x += x;
    f->d += d;
    f->yy += y * y;
    f->xx += x * x;
    f->dd += d * d;
    f->xy += x * y;
    f->dy += d * y;
    f->xd += x * d;
}

/* A size varies when it does by a millionth: less is rounding. */
#define SIZE_VARIES 1e-12
/* Standard errors by which a slope is known not to be chance. */
#define SLOPE_SIGMAS 3.0

/* By least squares of the time on the mean size and on what the largest part has more: the time
 * where it has nothing more. */
static double even_ns(const struct fit *f)
{
    double mean_ns = f->y / f->n;
    double xx = f->xx - f->x * f->x / f->n;
    double along = xx > SIZE_VARIES * f->n ? 1.0 / xx : 0.0; /* 0: all are of one mean size */
    double xd = f->xd - f->x * f->d / f->n;
    double xy = f->xy - f->x * mean_ns;
    double dd = f->dd - f->d * f->d / f->n - xd * xd * along;
    double dy = f->dy - f->d * mean_ns - xd * xy * along;
    if (f->n <= 3.0 || dd <= SIZE_VARIES * f->n || dy <= 0.0) {
        return mean_ns;
    }
    double rest = fmax(f->yy - f->y * mean_ns - xy * xy * along - dy * dy / dd, 0.0);
    double sigma = sqrt(rest / (f->n - 3.0) / dd);
    double slope = dy / dd >= SLOPE_SIGMAS * sigma ? dy / dd : 0.0;
    return fmax(mean_ns - slope * f->d / f->n, 0.0);
}

/* Whether the op before it is of the same transfer and name: it has no record of its own. */
static bool is_like_last(const struct even *e, size_t i)
{
    return !e->first[i] && is_transfer(e, i - 1) && e->of[i - 1] == e->of[i];
}

/* A collective takes as long as its largest member's part, or two transfers in one kernel as the
 * larger one: where all parts are equal none is larger. Where a kernel is now the one and now the
 * other of two transfers, its time follows their mean alone. What lacks members says nothing, as it
 * may wait for them. */
static int find_even_transfers(struct even *e, struct inq_err *err)
{
    struct fit *fits = inq_mem_zalloc(e->x->n_ops + 1, sizeof *fits);
    if (fits == NULL) {
        return no_memory(e, err);
    }
    find_sizes(e);
    for (size_t i = 0; i < e->x->n_ops; i++) {
        bool is_whole = is_transfer(e, i) && e->n_members[i] == e->usual[e->of[i]].most_members;
        if (is_whole && !is_like_last(e, i)) {
            add_to_fit(&fits[e->of[i]], (double)e->x->run->dur_ns[i], e->size[i], e->more[i]);
        }
    }
    for (size_t i = 0; i < e->x->n_ops; i++) {
        if (is_transfer(e, i)) {
            e->usual[e->of[i]].even_ns = even_ns(&fits[e->of[i]]);
        }
    }
    inq_mem_free(fits);
    return INQ_OK;
}

/* Transfers whose sizes are recorded and equal do not follow the work. */
static void even_transfer(struct even *e, size_t i)
{
    const struct usual *usual = &e->usual[e->of[i]];
    bool equal = usual->n_elems == usual->n && usual->least_elems == usual->most_elems;
    if (!equal) {
        inq_repairing_set(e->x, i, (int64_t)llround(usual->even_ns));
    }
}

static void apply(struct even *e)
{
    for (size_t i = 0; i < e->x->n_ops; i++) {
        if (inq_repairing_is(e->x, i, INQ_CLASS_COMPUTE)) {
            size_t k = inq_stretch_of(e->x, &e->stretches, i);
            inq_repairing_scale(e->x, i, e->stretches.at[k].factor);
        } else if (inq_repairing_is(e->x, i, INQ_CLASS_COMM)) {
            even_transfer(e, i);
        }
    }
}

static int even_work(struct even *e, struct inq_err *err)
{
    size_t n = e->x->n_ops + 1;
    int code = inq_stretches_find(e->x, true, &e->stretches, err);
    if (code != INQ_OK) {
        return code;
    }
    size_t n_stretches = count_stretches(e);
    e->usual = inq_mem_zalloc(n, sizeof *e->usual);
    e->of = inq_mem_alloc(n * sizeof *e->of);
    e->size = inq_mem_zalloc(2 * n, sizeof *e->size);
    e->n_members = inq_mem_zalloc(n, sizeof *e->n_members);
    e->first = inq_mem_zalloc(n, sizeof *e->first);
    e->update = inq_mem_zalloc(n, sizeof *e->update);
    e->expect_ns = inq_mem_zalloc(2 * n_stretches + 1, sizeof *e->expect_ns);
    e->kernels = inq_mem_zalloc(n_stretches + 1, sizeof *e->kernels);
    e->alike = inq_mem_zalloc(n_stretches + 1, sizeof *e->alike);
    e->contents = inq_mem_zalloc(n_stretches + 1, sizeof *e->contents);
    e->common = inq_mem_zalloc(e->x->n_ranks * e->x->n_steps + 1, sizeof *e->common);
    bool all = e->kernels != NULL && e->alike != NULL && e->contents != NULL;
    all = all && e->common != NULL && e->size != NULL && e->n_members != NULL && e->first != NULL;
    if (!all || e->usual == NULL || e->of == NULL || e->update == NULL || e->expect_ns == NULL) {
        return no_memory(e, err);
    }
    e->squares = e->expect_ns + n_stretches;
    e->more = e->size + n;
    code = find_usual(e, err);
    if (code == INQ_OK) {
        add_stretches(e);
        mark_updates(e);
        code = find_contents(e, err);
    }
    if (code == INQ_OK) {
        code = find_noise(e, err);
    }
    if (code == INQ_OK) {
        code = find_even_transfers(e, err);
    }
    if (code == INQ_OK) {
        find_factors(e);
        apply(e);
    }
    return code;
}

static int even_sequences(struct inq_repairing *x, struct inq_err *err)
{
    struct even e = {.x = x};
    int code = even_work(&e, err);
    inq_stretches_release(&e.stretches);
    inq_mem_free(e.usual);
    inq_mem_free(e.of);
    inq_mem_free(e.size);
    inq_mem_free(e.n_members);
    inq_mem_free(e.first);
    inq_mem_free(e.update);
    inq_mem_free(e.expect_ns);
    inq_mem_free(e.kernels);
    inq_mem_free(e.alike);
    inq_mem_free(e.contents);
    inq_mem_free(e.common);
    return code;
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* A role's compute over the judged steps: that of its sound ranks is the work that it has; with
 * faulty ones, as repaired so far, its load. */
struct stage {
    double work_ns, load_ns;
    double sound, all; /* cells that they are of */
    double factor;
};

static void measure_stages(const struct inq_repairing *x, struct stage *stages)
{
    const struct inq_study *study = x->study;

    for (size_t r = 0; r < x->n_ranks; r++) {
        struct stage *stage = &stages[study->roles.of[r]];
        for (size_t s = 0; s < x->n_steps; s++) {
            const struct inq_step_stat *cell = inq_study_step_stat(study, r, s);
            double ns = cell->valid ? (double)cell->compute_ns : 0.0;
            bool sound = cell->valid && !study->faulty[r];
            stage->load_ns += ns;
            stage->all += cell->valid;
            stage->work_ns += sound ? ns : 0.0;
            stage->sound += sound;
        }
    }
    for (size_t i = 0; i < x->n_ops; i++) {
        uint32_t rank = x->run->g.ops[i].rank;
        if (study->faulty[rank] && inq_repairing_is(x, i, INQ_CLASS_COMPUTE)) {
            stages[study->roles.of[rank]].load_ns +=
                (double)(x->run->dur_ns[i] - x->run->recorded_dur_ns[i]);
        }
    }
}

/* Of two factors the one that changes less; none where they do not agree which way. */
static double smaller_change(double a, double b)
{
    return a < 1.0 && b < 1.0 ? fmax(a, b) : a > 1.0 && b > 1.0 ? fmin(a, b) : 1.0;
}

/* Each stage gets the mean work or the mean load, whichever moves less: one with a faulty rank has
 * none to give for that, nor gets any on top of it. No work is lost. */
static void share_work(struct stage *stages, size_t n)
{
    double work = 0.0;
    double load = 0.0;
    double sound = 0.0;
    double all = 0.0;
    double moved = 0.0;

    for (size_t k = 0; k < n; k++) {
        struct stage *stage = &stages[k];
        bool known = stage->work_ns > 0.0;
        work += known ? stage->work_ns / stage->sound * stage->all : 0.0;
        sound += known ? stage->all : 0.0;
        load += stage->load_ns;
        all += stage->all;
    }
    for (size_t k = 0; k < n; k++) {
        struct stage *stage = &stages[k];
        stage->factor = 1.0;
        if (stage->work_ns > 0.0) {
            stage->factor = smaller_change(work / sound * stage->sound / stage->work_ns,
                                           load / all * stage->all / stage->load_ns);
            moved += stage->work_ns / stage->sound * stage->all * stage->factor;
        }
    }
    for (size_t k = 0; k < n && moved > 0.0; k++) {
        stages[k].factor *= stages[k].work_ns > 0.0 ? fmax(1.0, work / moved) : 1.0;
    }
}

static int even_stages(struct inq_repairing *x, struct inq_err *err)
{
    size_t n = x->study->roles.n;
    struct stage *stages = inq_mem_zalloc(n + 1, sizeof *stages);

    if (stages == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu stages", n);
    }
    measure_stages(x, stages);
    share_work(stages, n);
    x->applies = x->applies || n > 1; /* that no work moves is an answer, too */
    for (size_t i = 0; n > 1 && i < x->n_ops; i++) {
        if (inq_repairing_is(x, i, INQ_CLASS_COMPUTE)) {
            inq_repairing_scale(x, i, stages[x->study->roles.of[x->run->g.ops[i].rank]].factor);
        }
    }
    inq_mem_free(stages);
    return INQ_OK;
}

int inq_repair_evenly(struct inq_repairing *x, enum inq_repair_kind kind, struct inq_err *err)
{
    return kind == INQ_REPAIR_STAGES ? even_stages(x, err) : even_sequences(x, err);
}
