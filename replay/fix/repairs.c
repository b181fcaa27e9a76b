/* SPDX-License-Identifier: Apache-2.0 */
/* Specs that repair causes: the account's own repairs, over all judged steps. */
#include "fix/spec.h"

#include "base/mem.h"

#include <string.h>

enum { MOST_REPAIRS = 16 };

/* Indices into the trace's ranks of those that an argument lists. */
static int list_ranks(const struct inq_study *study, const struct fix_args *args, uint32_t **ranks,
                      size_t *n, struct inq_err *err)
{
    const struct inq_trace *trace = study->trace;
    struct fix_job job = {.n_ranks = trace->n_ranks};
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

bool inq_fix_is_repair(const char *spec)
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

int inq_fix_repairs_gain(struct inq_study *study, const char *spec, bool *repairs,
                         struct inq_gain *gain, struct inq_err *err)
{
    struct inq_repair list[MOST_REPAIRS];
    uint32_t *ranks[MOST_REPAIRS] = {NULL};
    const char *at = spec;
    size_t n = 0;
    int code = INQ_OK;
    *repairs = study->run.n_steps > 0 && inq_fix_is_repair(spec);
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
