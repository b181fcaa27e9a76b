/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes of the host's part: garbage collections at one time, launches captured in a graph. */
#include "fix/spec.h"

#include "base/mem.h"
#include "graph/optable/optable.h"

/* ---- garbage collection ---------------------------------------------------------------------- */

/* All ranks collect in the same step, every so many steps: then no rank waits for another one's
 * collection, and a step pays its share of the mean one. */
int inq_fix_plan_gc(struct fix_step *job, const struct fix_args *args, struct fix_notes *said,
                    struct inq_err *err)
{
    size_t n = 0;
    int64_t longest = 0;
    int64_t sum = 0;
    (void)args;
    for (size_t i = 0; i < job->n_ops; i++) {
        const struct fix_op *op = &job->ops[i];
        if (op->op.type == INQ_OP_GC) {
            longest = op->dur_ns > longest ? op->dur_ns : longest;
            sum += op->mean_ns != INQ_TIME_NONE ? op->mean_ns : op->dur_ns;
            n++;
        }
    }
    if (n == 0) {
        return inq_err_set(err, INQ_UNSUPPORTED, "no garbage collections are recorded as ops");
    }
    int64_t usual = sum / (int64_t)n;
    for (size_t i = 0; i < job->n_ops; i++) {
        struct fix_op *op = &job->ops[i];
        /* a step that collects less than its share gets no longer in what follows */
        if (op->op.type == INQ_OP_GC && op->dur_ns > usual) {
            op->dur_ns = usual;
        }
    }
    inq_fix_note(
        said,
        "garbage collection takes at most %s of a step, its mean, on every rank instead of "
        "up to %s",
        inq_fix_time(usual).text, inq_fix_time(longest).text);
    return INQ_OK;
}

/* ---- launches -------------------------------------------------------------------------------- */

static int64_t shorten(int64_t ns, int64_t pause_ns, int64_t *saved)
{
    if (ns <= 0 || ns > pause_ns) {
        return ns; /* something else than a launch: data, a collection, a lock */
    }
    *saved += ns;
    return 0;
}

int inq_fix_cuda_graphs(struct fix_step *job, const struct fix_args *args, struct fix_notes *said,
                        struct inq_err *err)
{
    double pause_us = 1000.0;
    int64_t saved = 0;
    uint8_t *begun = inq_mem_zalloc(job->n_ranks + 1, 1);
    int code = begun != NULL ? inq_fix_number(args, "pause", 0.0, 1e9, &pause_us, err)
                             : inq_fix_no_memory(err);
    int64_t pause_ns = (int64_t)(pause_us * 1000.0);
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        struct fix_op *op = &job->ops[i];
        bool labeled = job->n_stages > 0;
        bool host = op->place == FIX_PLACE_HOST;
        /* the first call (or op) of a step waits for what comes before the step */
        bool first = (host || labeled) && !begun[op->op.rank];
        begun[op->op.rank] = begun[op->op.rank] || host || labeled;
        if (host) {
            op->dur_ns = shorten(op->dur_ns, pause_ns, &saved);
        }
        bool compute = !labeled || inq_op_is_compute(op->op.type);
        if (!first && compute && op->place != FIX_PLACE_HOST_SYNC && op->op.cls != INQ_CLASS_COMM) {
            op->delay_ns = shorten(op->delay_ns, pause_ns, &saved);
        }
    }
    inq_mem_free(begun);
    if (code == INQ_OK) {
        inq_fix_note(said,
                     "launches and gaps of up to %s are removed, %s in all on %zu rank%s; longer "
                     "pauses of the host stay",
                     inq_fix_time(pause_ns).text, inq_fix_time(saved).text, job->n_ranks,
                     job->n_ranks == 1 ? "" : "s");
    }
    return code;
}
