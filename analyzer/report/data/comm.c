/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives: each of them, its members, and sums. */
#include "report/data/data.h"

/* ---- collectives
 * --------------------------------------------------------------------------------- */

static const struct inq_report_column collectives_columns[] = {
    INQ_DATA_JOB,
    {"collective_id", INQ_TYPE_INTEGER, "", "key"},
    {"op", INQ_TYPE_TEXT, "", "all_reduce, send_recv, ..."},
    {"group_name", INQ_TYPE_TEXT, "", "process group; NULL: not known"},
    {"group_ranks", INQ_TYPE_TEXT, "", "JSON array of global rank numbers"},
    {"seq", INQ_TYPE_INTEGER, "", "number in its group"},
    {"members", INQ_TYPE_INTEGER, "", "members present"},
    {"complete", INQ_TYPE_INTEGER, "", "1: every rank of the group that left a trace is there"},
    {"ends_disagree", INQ_TYPE_INTEGER, "",
     "1: the ends of its members disagree, its waits are not counted"},
};

static void fill_collectives(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_trace *trace = context->trace;
    for (size_t i = 0; context->report->collectives != NULL && i < trace->n_collectives; i++) {
        const struct inq_collective *c = &trace->collectives[i];
        bool known = c->group < trace->n_groups;
        inq_data_int(rows, (int64_t)i);
        inq_data_text(rows, inq_coll_kind_text(c->kind));
        inq_data_text(rows, known ? inq_trace_str(trace, trace->groups[c->group].name) : NULL);
        inq_data_list(rows, context, known ? trace->groups[c->group].ranks : NULL,
                      known ? trace->groups[c->group].n_ranks : 0);
        inq_data_int(rows, c->seq);
        inq_data_int(rows, c->n_members);
        inq_data_int(rows, c->complete);
        inq_data_int(rows, c->ends_disagree);
    }
}

/* ---- arrivals
 * ------------------------------------------------------------------------------------ */

static const struct inq_report_column arrivals_columns[] = {
    INQ_DATA_JOB,
    {"collective_id", INQ_TYPE_INTEGER, "", "key of the collective"},
    {"arrival_id", INQ_TYPE_INTEGER, "", "key"},
    INQ_DATA_RANK,
    {"start_ns", INQ_TYPE_INTEGER, "ns", "on the aligned clock"},
    {"end_ns", INQ_TYPE_INTEGER, "ns", "on the aligned clock"},
};

static void fill_arrivals(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_trace *trace = context->trace;
    for (size_t i = 0; context->report->collectives != NULL && i < trace->n_collectives; i++) {
        const struct inq_collective *c = &trace->collectives[i];
        for (uint32_t k = c->first_member; k < c->first_member + c->n_members; k++) {
            const struct inq_member *m = &trace->members[k];
            const struct inq_events *events = &trace->ranks[m->rank].events;
            if (inq_context_shows_index(context, m->rank)) {
                inq_data_int(rows, (int64_t)i);
                inq_data_int(rows, k);
                inq_data_rank(rows, context, m->rank);
                inq_data_int(rows, events->start_ns[m->event]);
                inq_data_int(rows, events->start_ns[m->event] + events->dur_ns[m->event]);
            }
        }
    }
}

static const char *const arrivals_foreign[] = {"(job, collective_id) REFERENCES collectives",
                                               "(job, rank_id) REFERENCES ranks", NULL};

/* ---- collective_ops
 * ------------------------------------------------------------------------------ */

static const struct inq_report_column collective_ops_columns[] = {
    INQ_DATA_JOB,
    {"op_id", INQ_TYPE_INTEGER, "", "key"},
    {"op", INQ_TYPE_TEXT, "", "all_reduce, send_recv, ..."},
    {"group_name", INQ_TYPE_TEXT, "", "process group; NULL: not known"},
    {"group_size", INQ_TYPE_INTEGER, "", "NULL: not known"},
    {"count", INQ_TYPE_INTEGER, "", "operations"},
    {"bytes", INQ_TYPE_INTEGER, "bytes",
     "per operation, size S of nccl-tests, median; NULL: not known"},
    {"transfer_ns_median", INQ_TYPE_INTEGER, "ns", "own end less last arrival; NULL: not measured"},
    {"skew_ns_median", INQ_TYPE_INTEGER, "ns", "last less first arrival; NULL: not measured"},
    {"wait_ns", INQ_TYPE_INTEGER, "ns", "summed over ranks; NULL: not measured"},
    {"algbw_gbps", INQ_TYPE_REAL, "GB/s", "1e9 bytes; NULL: sizes not known"},
    {"busbw_gbps", INQ_TYPE_REAL, "GB/s", "as in nccl-tests; NULL: sizes not known"},
};

static void fill_collective_ops(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_trace *trace = context->trace;
    const struct inq_collectives *coll = context->report->collectives;
    for (size_t i = 0; coll != NULL && i < coll->n_by_op; i++) {
        const struct inq_coll_stat *s = &coll->by_op[i];
        bool known = s->group < trace->n_groups;
        inq_data_int(rows, (int64_t)i);
        inq_data_text(rows, inq_coll_kind_text(s->kind));
        inq_data_text(rows, known ? inq_trace_str(trace, trace->groups[s->group].name) : NULL);
        inq_data_known(rows, s->group_size);
        inq_data_int(rows, (int64_t)s->count);
        inq_data_known(rows, s->bytes);
        inq_data_known(rows, s->transfer_ns_median);
        inq_data_known(rows, s->skew_ns_median);
        inq_data_known(rows, s->wait_ns);
        inq_data_real(rows, s->algbw_gbps);
        inq_data_real(rows, s->busbw_gbps);
    }
}

/* ---- rank_waits
 * ---------------------------------------------------------------------------------- */

static const struct inq_report_column rank_waits_columns[] = {
    INQ_DATA_JOB,
    INQ_DATA_RANK,
    {"wait_ns", INQ_TYPE_INTEGER, "ns", "its own waiting for the last arrival, summed"},
    {"last_arrivals", INQ_TYPE_INTEGER, "", "how often the others waited for it"},
    {"first_arrivals", INQ_TYPE_INTEGER, "", "how often it arrived first"},
    {"collectives", INQ_TYPE_INTEGER, "", "matched ones that it took part in"},
};

static void fill_rank_waits(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_collectives *coll = context->report->collectives;
    for (size_t i = 0; coll != NULL && i < coll->n_waits; i++) {
        const struct inq_wait *w = &coll->waits[i];
        if (inq_context_shows_index(context, w->rank)) {
            inq_data_rank(rows, context, w->rank);
            inq_data_int(rows, w->wait_ns);
            inq_data_int(rows, (int64_t)w->last_arrivals);
            inq_data_int(rows, (int64_t)w->first_arrivals);
            inq_data_int(rows, (int64_t)w->collectives);
        }
    }
}

static const char *const rank_waits_foreign[] = {"(job, rank_id) REFERENCES ranks", NULL};

static const char *const no_foreign[] = {NULL};

const struct inq_data_table inq_data_comm[] = {
    {INQ_DATA_SHAPE("collectives", "collectives and P2P operations matched across ranks",
                    "job, collective_id", no_foreign, NULL, collectives_columns),
     INQ_SECTION_COLLECTIVES, fill_collectives},
    {INQ_DATA_SHAPE("arrivals", "members of collectives: when each began and ended",
                    "job, collective_id, rank_id, arrival_id", arrivals_foreign, "job, rank_id",
                    arrivals_columns),
     INQ_SECTION_COLLECTIVES, fill_arrivals},
    {INQ_DATA_SHAPE("collective_ops", "collectives alike, summed", "job, op_id", no_foreign, NULL,
                    collective_ops_columns),
     INQ_SECTION_COLLECTIVES, fill_collective_ops},
    {INQ_DATA_SHAPE("rank_waits",
                    "what each rank waited in collectives, and how often it arrived last",
                    "job, rank_id", rank_waits_foreign, NULL, rank_waits_columns),
     INQ_SECTION_COLLECTIVES, fill_rank_waits},
    {.fill = NULL},
};
