/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that wait in one collective for the same others are one row: of a thousand ranks that is a
 * handful. Transfers are between two ranks, and have a row each. */
#include "analysis/failure/state/wait_rows.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/arena_text.h"

#include <string.h>

const char *inq_state_group_text(const struct inq_state *model, uint32_t team)
{
    const struct inq_state_group *of = &model->groups[team];
    const char *name = of->desc[0] != '\0' ? of->desc : of->name;
    return inq_arena_printf(model->arena, "%.80s [%s]", name,
                            inq_arena_list(model->arena, of->members, of->n_members));
}

const char *inq_state_op_text(const struct inq_state *model, const struct inq_flight_entry *entry)
{
    if (entry == NULL) {
        return "";
    }
    const char *colon = strchr(entry->name, ':');
    const char *name = colon != NULL ? colon + 1 : entry->name;
    const char *kind = inq_coll_kind_text(entry->kind);
    if (name[0] == '\0') {
        return "collective"; /* of counters that a rank printed */
    }
    if (entry->is_p2p || strcmp(name, kind) == 0 || entry->kind == INQ_COLL_UNKNOWN) {
        return inq_arena_printf(model->arena, "%.80s", name);
    }
    return inq_arena_printf(model->arena, "%s (%.80s)", kind, name);
}

static const struct inq_state_op *op_of(const struct inq_state *model,
                                        const struct inq_solution *solution, size_t rank)
{
    return &model->ranks[rank].pending[solution->nodes[rank].op];
}

static int64_t number_of(const struct inq_state_op *op)
{
    return op->entry->is_p2p ? op->entry->p2p_seq : op->entry->collective_seq;
}

/* Fills row_of[rank], INQ_NONE of a rank that waits for nobody, and counts the rows. */
static int number_rows(const struct inq_state *model, const struct inq_solution *solution,
                       uint32_t *row_of, size_t *n, struct inq_err *err)
{
    struct inq_map known = {0};
    int code = INQ_OK;
    *n = 0;
    for (size_t r = 0; r < model->n_ranks && code == INQ_OK; r++) {
        row_of[r] = INQ_NONE;
        if (solution->nodes[r].others == INQ_NONE) {
            continue;
        }
        const struct inq_state_op *op = op_of(model, solution, r);
        int64_t what[] = {solution->nodes[r].others, op->team, number_of(op), op->entry->is_p2p};
        uint64_t key = inq_hash_bytes(what, sizeof what);
        if (!inq_map_get(&known, key, &row_of[r])) {
            row_of[r] = (uint32_t)(*n)++;
            code = inq_map_put(&known, key, row_of[r], err);
        }
    }
    inq_map_release(&known);
    return code;
}

static int32_t *numbers_of(const struct inq_state *model, const struct inq_state_others *others)
{
    int32_t *numbers = inq_arena_array(model->arena, others->n, sizeof *numbers);
    for (uint32_t i = 0; numbers != NULL && i < others->n; i++) {
        numbers[i] = model->ranks[others->at[i]].rank;
    }
    return numbers;
}

/* The row of a rank that is the first of it. */
static struct inq_failure_wait begin_row(const struct inq_state *model,
                                         const struct inq_solution *solution, size_t rank,
                                         size_t n_ranks)
{
    const struct inq_state_op *op = op_of(model, solution, rank);
    const struct inq_state_others *others = &solution->others[solution->nodes[rank].others];
    return (struct inq_failure_wait){
        .op = inq_state_op_text(model, op->entry),
        .group = inq_state_group_text(model, op->team),
        .seq = number_of(op),
        .ranks = inq_arena_array(model->arena, n_ranks, sizeof(int32_t)),
        .n_others = others->n,
        .others = numbers_of(model, others),
    };
}

int inq_state_list_waits(const struct inq_state *model, const struct inq_solution *solution,
                         struct inq_failure_wait **waits, size_t *n, struct inq_err *err)
{
    uint32_t *row_of = inq_mem_alloc(2 * (model->n_ranks + 1) * sizeof *row_of);
    int code = row_of != NULL ? number_rows(model, solution, row_of, n, err) : INQ_NOMEM;
    *waits = code == INQ_OK ? inq_arena_array(model->arena, *n, sizeof **waits) : NULL;
    if (*waits == NULL) {
        inq_mem_free(row_of);
        return inq_err_set(err, INQ_NOMEM, "no memory for who waits for whom");
    }
    uint32_t *count = row_of + model->n_ranks; /* of ranks in a row: no more rows than ranks */
    memset(count, 0, *n * sizeof *count);
    for (size_t r = 0; r < model->n_ranks; r++) {
        count[row_of[r] != INQ_NONE ? row_of[r] : 0] += row_of[r] != INQ_NONE;
    }
    bool lacks = false;
    for (size_t r = 0; r < model->n_ranks && !lacks; r++) {
        struct inq_failure_wait *row = row_of[r] != INQ_NONE ? &(*waits)[row_of[r]] : NULL;
        if (row != NULL && row->ranks == NULL) {
            *row = begin_row(model, solution, r, count[row_of[r]]);
            lacks = row->ranks == NULL || row->others == NULL;
        }
        if (row != NULL && !lacks) {
            row->ranks[row->n_ranks++] = model->ranks[r].rank;
        }
    }
    inq_mem_free(row_of);
    return lacks ? inq_err_set(err, INQ_NOMEM, "no memory for who waits for whom") : INQ_OK;
}
