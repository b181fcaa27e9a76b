/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ranks and steps: the account's cells, as ranks are compared by them. */
#include "analysis/measure/step_stats.h"

#include "base/mem.h"
#include "inquest/account.h"

static struct inq_step_stat cell_of(const struct inq_account_cell *from)
{
    return (struct inq_step_stat){
        .valid = from->judged,
        .start_ns = from->start_ns,
        .end_ns = from->end_ns,
        .compute_ns = from->ns[INQ_ACCOUNT_COMPUTE] + from->ns[INQ_ACCOUNT_UNCLASSIFIED],
        .comm_ns = from->ns[INQ_ACCOUNT_TRANSFER] + from->ns[INQ_ACCOUNT_WAIT] +
                   from->ns[INQ_ACCOUNT_COMM],
        .copy_ns = from->ns[INQ_ACCOUNT_COPY],
        .host_ns = from->ns[INQ_ACCOUNT_HOST],
        .other_ns = from->ns[INQ_ACCOUNT_IDLE] + from->ns[INQ_ACCOUNT_DEPENDENCY],
        .dependency_ns = from->ns[INQ_ACCOUNT_DEPENDENCY],
        .work = from->work,
    };
}

int inq_step_stats_build(const struct inq_account *account, struct inq_step_stats *cells,
                         struct inq_err *err)
{
    *cells = (struct inq_step_stats){0};
    if (account == NULL) {
        return inq_err_set(err, INQ_NOT_FOUND, "it needs account, and that is not available");
    }
    size_t n = account->n_ranks * account->n_steps;
    cells->n_ranks = account->n_ranks;
    cells->n_steps = account->n_steps;
    cells->op_table = account->op_table;
    cells->one_step = account->one_interval;
    cells->first_step = n;
    cells->at = inq_mem_zalloc(n + 1, sizeof(*cells->at));
    if (cells->at == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks in %zu steps", cells->n_ranks,
                           cells->n_steps);
    }
    for (size_t i = 0; i < n; i++) {
        cells->at[i] = cell_of(&account->cells[i]);
        size_t step = i % account->n_steps;
        cells->first_step =
            cells->at[i].valid && step < cells->first_step ? step : cells->first_step;
    }
    cells->first_step = cells->first_step < cells->n_steps ? cells->first_step : 0;
    return INQ_OK;
}

double inq_step_stats_mean_ns(const struct inq_step_stats *cells)
{
    double sum_ns = 0.0;
    size_t n = 0;

    for (size_t r = 0; r < cells->n_ranks; r++) {
        for (size_t s = cells->first_step; s < cells->n_steps; s++) {
            const struct inq_step_stat *cell = inq_step_stat_at(cells, r, s);
            if (cell->valid) {
                sum_ns += (double)(cell->end_ns - cell->start_ns);
                n++;
            }
        }
    }
    return n > 0 ? sum_ns / (double)n : 0.0;
}
