/* SPDX-License-Identifier: Apache-2.0 */
#include "support_ops.h"

#include "base/strtab.h"
#include "base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct ops_trace {
    struct inq_trace trace;
    struct inq_strtab names;
};

struct ops_trace *ops_trace_new(uint32_t n_ranks)
{
    struct ops_trace *ops = calloc(1, sizeof *ops);
    ops->trace.names = &ops->names;
    ops->trace.name = "test";
    ops->trace.n_ranks = n_ranks;
    ops->trace.ranks = calloc(n_ranks > 0 ? n_ranks : 1, sizeof *ops->trace.ranks);
    for (uint32_t r = 0; r < n_ranks; r++) {
        ops->trace.ranks[r].rank = (int32_t)r;
        ops->trace.ranks[r].stage = -1;
        ops->trace.ranks[r].dp_rank = -1;
    }
    return ops;
}

void ops_trace_add(struct ops_trace *ops, uint32_t rank, const struct inq_label *label,
                   int64_t start_ns, int64_t dur_ns)
{
    struct inq_rank *r = &ops->trace.ranks[rank];
    struct inq_events *e = &r->events;
    if (e->n == e->cap) {
        e->cap = e->cap < 64 ? 64 : 2 * e->cap;
        r->cap_labels = e->cap;
        e->start_ns = realloc(e->start_ns, e->cap * sizeof *e->start_ns);
        e->dur_ns = realloc(e->dur_ns, e->cap * sizeof *e->dur_ns);
        e->label = realloc(e->label, e->cap * sizeof *e->label);
        r->labels = realloc(r->labels, e->cap * sizeof *r->labels);
    }
    e->start_ns[e->n] = start_ns;
    e->dur_ns[e->n] = dur_ns;
    e->label[e->n] = (uint32_t)r->n_labels;
    r->labels[r->n_labels++] = *label;
    e->n++;
}

static enum inq_op_type type_named(const char *name)
{
    for (int type = 1; type < INQ_OP_TYPE_COUNT; type++) {
        if (strcmp(inq_op_type_text((enum inq_op_type)type), name) == 0) {
            return (enum inq_op_type)type;
        }
    }
    return INQ_OP_NONE;
}

/* dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc */
static void add_line(struct ops_trace *ops, char *line, uint32_t *rank_of)
{
    char *field[11];
    char *rest = line;
    for (int i = 0; i < 11; i++) {
        field[i] = strsep(&rest, ",\n");
    }
    struct inq_label label = {.type = type_named(field[4]),
                              .step = atoi(field[3]),
                              .stage = atoi(field[1]),
                              .dp_rank = atoi(field[0]),
                              .micro_batch = atoi(field[9]),
                              .chunk = atoi(field[8]),
                              .seq = atoi(field[7])};
    uint32_t rank = (uint32_t)atoi(field[2]);
    if (rank_of[rank] == INQ_NONE) {
        rank_of[rank] = (uint32_t)ops->trace.n_ranks;
        ops->trace.ranks[ops->trace.n_ranks++].rank = (int32_t)rank;
    }
    int64_t start = 0;
    int64_t dur = 0;
    (void)inq_time_parse_decimal(field[5], strlen(field[5]), 1000000000, &start);
    (void)inq_time_parse_decimal(field[6], strlen(field[6]), 1000000000, &dur);
    ops_trace_add(ops, rank_of[rank], &label, start, dur);
}

struct ops_trace *ops_trace_load(const char *path)
{
    enum { MAX_RANKS = 4096 };
    gzFile file = gzopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    struct ops_trace *ops = ops_trace_new(MAX_RANKS);
    ops->trace.n_ranks = 0;
    uint32_t *rank_of = malloc(MAX_RANKS * sizeof *rank_of);
    memset(rank_of, 0xff, MAX_RANKS * sizeof *rank_of);
    char line[512];
    (void)gzgets(file, line, sizeof line); /* header */
    while (gzgets(file, line, sizeof line) != NULL) {
        add_line(ops, line, rank_of);
    }
    (void)gzclose(file);
    free(rank_of);
    return ops;
}

const struct inq_trace *ops_trace_get(struct ops_trace *ops)
{
    return &ops->trace;
}

void ops_trace_free(struct ops_trace *ops)
{
    for (size_t r = 0; ops != NULL && r < ops->trace.n_ranks; r++) {
        struct inq_rank *rank = &ops->trace.ranks[r];
        free(rank->events.start_ns);
        free(rank->events.dur_ns);
        free(rank->events.label);
        free(rank->labels);
    }
    if (ops != NULL) {
        free(ops->trace.ranks);
        inq_strtab_release(&ops->names);
        free(ops);
    }
}
