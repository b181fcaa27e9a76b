/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/optable/rows.h"

#include "base/hash.h"
#include "base/mem.h"
#include "trace/build/build.h"

#include <stdlib.h>
#include <string.h>

bool inq_op_is_compute(uint8_t type)
{
    return type == INQ_OP_FORWARD || type == INQ_OP_BACKWARD || type == INQ_OP_BACKWARD_INPUT ||
           type == INQ_OP_BACKWARD_WEIGHT;
}

bool inq_op_is_backward(uint8_t type)
{
    return type == INQ_OP_BACKWARD || type == INQ_OP_BACKWARD_INPUT;
}

bool inq_op_is_p2p(uint8_t type)
{
    return type >= INQ_OP_FORWARD_SEND && type <= INQ_OP_BACKWARD_RECV;
}

bool inq_op_is_comm(uint8_t type)
{
    return type >= INQ_OP_FORWARD_SEND && type <= INQ_OP_OPTIMIZER_CLIP;
}

void inq_op_rows_release(struct inq_op_rows *rows)
{
    inq_mem_free(rows->row);
    inq_mem_free(rows->step_number);
    inq_mem_free(rows->stage_number);
    inq_mem_free(rows->dp_number);
    inq_mem_free(rows->origin_ns);
    inq_mem_free(rows->length_ns);
    *rows = (struct inq_op_rows){0};
}

/* Sequence number of a row that has none: forward and backward of one micro-batch and chunk are
 * unique among their type; the first of anything else is all there is. */
static int32_t seq_of(const struct inq_label *label)
{
    const int32_t chunk_shift = 20;
    if (label->seq >= 0) {
        return label->seq;
    }
    int32_t micro_batch = label->micro_batch >= 0 ? label->micro_batch : 0;
    int32_t chunk = label->chunk > 0 && label->chunk < 1024 ? label->chunk : 0;
    return (chunk << chunk_shift) + (micro_batch & ((1 << chunk_shift) - 1));
}

static int add_rank(const struct inq_trace *trace, uint32_t rank, struct inq_op_rows *rows,
                    struct inq_err *err)
{
    const struct inq_rank *r = &trace->ranks[rank];
    const struct inq_events *e = &r->events;
    if (e->label == NULL || e->n == 0) {
        return INQ_OK;
    }
    int code =
        inq_mem_grow(&rows->row, &rows->cap, rows->n + e->n, sizeof *rows->row, INQ_MAX_ROWS, err);
    if (code != INQ_OK) {
        return code;
    }
    const int64_t far = (int64_t)1 << 60; /* differences of times beyond could overflow */
    for (size_t i = 0; i < e->n; i++) {
        const struct inq_label *label = e->label[i] != INQ_NONE ? &r->labels[e->label[i]] : NULL;
        if (label == NULL || label->type == INQ_OP_NONE || label->type >= INQ_OP_TYPE_COUNT ||
            e->start_ns[i] < -far || e->start_ns[i] > far || e->dur_ns[i] < -far ||
            e->dur_ns[i] > far) {
            continue;
        }
        int32_t stage = label->stage >= 0 ? label->stage : r->stage;
        int32_t dp = label->dp_rank >= 0 ? label->dp_rank : r->dp_rank;
        rows->row[rows->n++] = (struct inq_step_op){
            .start_ns = e->start_ns[i],
            .end_ns = e->start_ns[i] + e->dur_ns[i],
            .rank = rank,
            .event = (uint32_t)i,
            .step = (uint32_t)label->step,
            .stage = stage >= 0 ? (uint32_t)stage : 0,
            .dp = dp >= 0 ? (uint32_t)dp : 0,
            .seq = seq_of(label),
            .micro_batch = label->micro_batch,
            .chunk = label->chunk,
            .type = (uint8_t)label->type,
        };
    }
    return INQ_OK;
}

/* ---- recorded numbers to dense indices ---------------------------------------------------- */

static int compare_i32(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t *column(struct inq_step_op *row, size_t offset)
{
    return (uint32_t *)(void *)((char *)row + offset);
}

/* Distinct values of a column, ascending, and each row's place among them. */
static int make_dense(struct inq_op_rows *rows, size_t offset, int32_t **numbers, size_t *n,
                      struct inq_err *err)
{
    struct inq_map place = {0};
    size_t cap = 0;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < rows->n; i++) {
        uint32_t value = *column(&rows->row[i], offset);
        uint32_t known = 0;
        bool same = i > 0 && value == *column(&rows->row[i - 1], offset);
        if (same || inq_map_get(&place, value, &known)) {
            continue;
        }
        code = inq_mem_grow(numbers, &cap, *n + 1, sizeof **numbers, INQ_MAX_ROWS, err);
        if (code == INQ_OK) {
            (*numbers)[(*n)++] = (int32_t)value;
            code = inq_map_put(&place, value, 0, err);
        }
    }
    if (code == INQ_OK && *n > 1) {
        qsort(*numbers, *n, sizeof **numbers, compare_i32);
    }
    for (size_t k = 0; code == INQ_OK && k < *n; k++) {
        code = inq_map_put(&place, (uint32_t)(*numbers)[k], (uint32_t)k, err);
    }
    uint32_t last = 0;
    uint32_t last_place = INQ_NONE;
    for (size_t i = 0; code == INQ_OK && i < rows->n; i++) {
        uint32_t *cell = column(&rows->row[i], offset);
        if (last_place == INQ_NONE || *cell != last) {
            last = *cell;
            (void)inq_map_get(&place, last, &last_place);
        }
        *cell = last_place;
    }
    inq_map_release(&place);
    return code;
}

int inq_op_rows_from_labels(const struct inq_trace *trace, struct inq_op_rows *rows,
                            struct inq_err *err)
{
    int code = INQ_OK;
    rows->source = "labels";
    for (uint32_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        code = add_rank(trace, r, rows, err);
    }
    if (code == INQ_OK) {
        code = make_dense(rows, offsetof(struct inq_step_op, step), &rows->step_number,
                          &rows->n_steps, err);
    }
    if (code == INQ_OK) {
        code = make_dense(rows, offsetof(struct inq_step_op, stage), &rows->stage_number,
                          &rows->n_stages, err);
    }
    if (code == INQ_OK) {
        code =
            make_dense(rows, offsetof(struct inq_step_op, dp), &rows->dp_number, &rows->n_dp, err);
    }
    return code;
}
