/* SPDX-License-Identifier: Apache-2.0 */
/* The account: classes, causes and who waited for whom; and the time of each rank. */
#include "report/data/data.h"

#include <math.h>

#include "inquest/account.h"

/* ---- accounts
 * ------------------------------------------------------------------------------------ */

static const struct inq_report_column accounts_columns[] = {
    INQ_DATA_JOB,
    {"t_ns", INQ_TYPE_INTEGER, "ns", "rank-time per rank and judged step; NULL: nothing is judged"},
    {"rank_time_ns", INQ_TYPE_INTEGER, "ns", "sum over the judged cells"},
    {"ranks_judged", INQ_TYPE_INTEGER, "", "ranks in it"},
    {"steps_judged", INQ_TYPE_INTEGER, "", "steps in it"},
    {"unexplained_wait_ns", INQ_TYPE_INTEGER, "ns",
     "waiting that no cause has, per rank and step; NULL: not known"},
    {"ideal_ns", INQ_TYPE_INTEGER, "ns",
     "t_ns with all causes repaired, by simulation; NULL: not simulated"},
    {"residual_ns", INQ_TYPE_INTEGER, "ns",
     "t_ns less the gains in order less the ideal; NULL: not simulated"},
    {"base_error", INQ_TYPE_REAL, "1", "simulated base against t_ns; NULL: not simulated"},
    {"gains_problem", INQ_TYPE_TEXT, "", "why gains are not known; NULL: they are"},
};

static void fill_accounts(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_account *a = context->report->account;
    if (a == NULL) {
        return;
    }
    inq_data_known(rows, a->t_ns);
    inq_data_int(rows, a->rank_time_ns);
    inq_data_int(rows, (int64_t)a->ranks_judged);
    inq_data_int(rows, (int64_t)a->steps_judged);
    inq_data_known(rows, a->unexplained_wait_ns);
    inq_data_known(rows, a->ideal_ns);
    inq_data_time(rows, a->ideal_ns < 0 ? INQ_TIME_NONE : a->residual_ns);
    inq_data_real(rows, a->base_error);
    inq_data_text(rows, a->gains_problem);
}

/* ---- classes
 * ------------------------------------------------------------------------------------- */

static const struct inq_report_column classes_columns[] = {
    INQ_DATA_JOB,
    {"class", INQ_TYPE_TEXT, "", "as in inquest-report(5)"},
    {"ns", INQ_TYPE_INTEGER, "ns", "per rank and judged step; the classes sum to t_ns"},
    {"share", INQ_TYPE_REAL, "1", "of rank-time; NULL: there is none"},
    {"total_ns", INQ_TYPE_INTEGER, "ns", "rank-time"},
};

static void fill_classes(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_account *a = context->report->account;
    for (int c = 0; a != NULL && c < INQ_ACCOUNT_CLASS_COUNT; c++) {
        inq_data_text(rows, inq_account_class_id((enum inq_account_class)c));
        inq_data_int(rows, a->class_ns[c]);
        inq_data_real(rows, a->rank_time_ns > 0 ? (double)a->total_ns[c] / (double)a->rank_time_ns
                                                : (double)NAN);
        inq_data_int(rows, a->total_ns[c]);
    }
}

/* ---- class_parts
 * --------------------------------------------------------------------------------- */

static const struct inq_report_column class_parts_columns[] = {
    INQ_DATA_JOB,
    {"class", INQ_TYPE_TEXT, "", "key of the class"},
    {"part_id", INQ_TYPE_INTEGER, "", "key; most time first within a class"},
    {"what", INQ_TYPE_TEXT, "", "in words"},
    {"total_ns", INQ_TYPE_INTEGER, "ns", "rank-time"},
};

static void fill_class_parts(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_account *a = context->report->account;
    for (size_t i = 0; a != NULL && i < a->n_parts; i++) {
        inq_data_text(rows, inq_account_class_id(a->parts[i].cls));
        inq_data_int(rows, (int64_t)i);
        inq_data_text(rows, a->parts[i].what);
        inq_data_int(rows, a->parts[i].total_ns);
    }
}

static const char *const class_parts_foreign[] = {"(job, class) REFERENCES classes", NULL};

/* ---- rank_classes
 * -------------------------------------------------------------------------------- */

static const struct inq_report_column rank_classes_columns[] = {
    INQ_DATA_JOB,
    INQ_DATA_RANK,
    {"class", INQ_TYPE_TEXT, "", "as in inquest-report(5)"},
    {"ns", INQ_TYPE_INTEGER, "ns", "summed over the judged steps of the rank"},
};

static void fill_rank_classes(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_account *a = context->report->account;
    for (uint32_t r = 0; a != NULL && r < a->n_ranks; r++) {
        for (int c = 0; inq_context_shows_index(context, r) && c < INQ_ACCOUNT_CLASS_COUNT; c++) {
            inq_data_rank(rows, context, r);
            inq_data_text(rows, inq_account_class_id((enum inq_account_class)c));
            inq_data_int(rows, a->rank_ns[(size_t)r * INQ_ACCOUNT_CLASS_COUNT + (size_t)c]);
        }
    }
}

static const char *const rank_classes_foreign[] = {"(job, rank_id) REFERENCES ranks", NULL};

/* ---- waits
 * --------------------------------------------------------------------------------------- */

static const struct inq_report_column waits_columns[] = {
    INQ_DATA_JOB,
    {"wait_id", INQ_TYPE_INTEGER, "", "key"},
    INQ_DATA_RANK,
    {"step", INQ_TYPE_INTEGER, "", "number of the step"},
    {"waited_for_id", INQ_TYPE_INTEGER, "",
     "key in `ranks` of the last member to arrive, or of the sender; NULL: not known"},
    {"waited_for_rank", INQ_TYPE_INTEGER, "", "its global rank number; NULL: not known"},
    {"collective_id", INQ_TYPE_INTEGER, "", "key in `collectives`; NULL: of an op table"},
    {"class", INQ_TYPE_TEXT, "", "wait or dependency"},
    {"start_ns", INQ_TYPE_INTEGER, "ns", "on the aligned clock"},
    {"end_ns", INQ_TYPE_INTEGER, "ns", "on the aligned clock"},
};

static void fill_waits(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_account *a = context->report->account;
    for (size_t i = 0; a != NULL && i < a->n_waits; i++) {
        const struct inq_account_wait *w = &a->waits[i];
        if (!inq_context_shows_index(context, w->rank)) {
            continue;
        }
        inq_data_int(rows, (int64_t)i);
        inq_data_rank(rows, context, w->rank);
        inq_data_int(rows, a->steps[w->step].number);
        inq_data_rank(rows, context, w->waited_for);
        inq_data_known(rows, w->collective != INQ_NONE ? (int64_t)w->collective : -1);
        inq_data_text(rows, inq_account_class_id(w->cls));
        inq_data_int(rows, w->start_ns);
        inq_data_int(rows, w->end_ns);
    }
}

static const char *const waits_foreign[] = {"(job, rank_id) REFERENCES ranks", NULL};

/* ---- causes
 * -------------------------------------------------------------------------------------- */

static const struct inq_report_column causes_columns[] = {
    INQ_DATA_JOB,
    {"position", INQ_TYPE_INTEGER, "", "key; largest gain alone first"},
    {"id", INQ_TYPE_TEXT, "", "of its finding"},
    {"cause", INQ_TYPE_TEXT, "", "kind"},
    {"ranks", INQ_TYPE_TEXT, "", "JSON array of global rank numbers"},
    {"stages", INQ_TYPE_TEXT, "", "JSON array of pipeline stages"},
    {"ns", INQ_TYPE_INTEGER, "ns",
     "wait and dependency with this root, per rank and step; NULL: it causes none"},
    {"gain_alone_ns", INQ_TYPE_INTEGER, "ns",
     "what a step gets shorter by with it repaired; NULL: not simulated"},
    {"gain_in_order_ns", INQ_TYPE_INTEGER, "ns",
     "the same after all causes before it; NULL: not simulated"},
    {"gain_low_ns", INQ_TYPE_INTEGER, "ns",
     "lower end of the 95 % interval of gain_alone_ns; NULL: none"},
    {"gain_high_ns", INQ_TYPE_INTEGER, "ns", "upper end; NULL: none"},
    {"confidence", INQ_TYPE_TEXT, "", "established, supported or hypothesis"},
    {"fix", INQ_TYPE_TEXT, "", "spec for inquest fix; NULL: none"},
};

static void fill_causes(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_account *a = context->report->account;
    for (size_t i = 0; a != NULL && i < a->n_causes; i++) {
        const struct inq_account_cause *c = &a->causes[i];
        inq_data_int(rows, (int64_t)i);
        inq_data_text(rows, c->id);
        inq_data_text(rows, c->cause);
        inq_data_list(rows, context, c->ranks, c->n_ranks);
        inq_data_list(rows, context, c->stages, c->n_stages);
        inq_data_known(rows, c->ns);
        inq_data_known(rows, c->gain_alone_ns);
        inq_data_known(rows, c->gain_in_order_ns);
        inq_data_time(rows, c->gain_interval_ns[0]);
        inq_data_time(rows, c->gain_interval_ns[1]);
        inq_data_text(rows, inq_confidence_text(c->confidence));
        inq_data_text(rows, c->fix);
    }
}

/* ---- rank_times
 * ---------------------------------------------------------------------------------- */

static const struct inq_report_column rank_times_columns[] = {
    INQ_DATA_JOB,
    INQ_DATA_RANK,
    {"span_ns", INQ_TYPE_INTEGER, "ns", "compute + exposed_comm + exposed_memcpy + idle"},
    {"compute_ns", INQ_TYPE_INTEGER, "ns", "a compute kernel runs"},
    {"exposed_comm_ns", INQ_TYPE_INTEGER, "ns", "communication that no compute covers"},
    {"exposed_memcpy_ns", INQ_TYPE_INTEGER, "ns", "copies that neither covers"},
    {"idle_ns", INQ_TYPE_INTEGER, "ns", "nothing runs"},
    {"comm_ns", INQ_TYPE_INTEGER, "ns", "all communication"},
    {"comm_overlap_ns", INQ_TYPE_INTEGER, "ns", "of it covered by compute"},
    {"overlap_pct", INQ_TYPE_REAL, "%", "NULL: no communication"},
    {"idle_host_ns", INQ_TYPE_INTEGER, "ns",
     "idle because the launch came late; NULL: launches not recorded"},
    {"idle_kernel_ns", INQ_TYPE_INTEGER, "ns",
     "idle in gaps below 30 us; NULL: launches not recorded"},
    {"idle_other_ns", INQ_TYPE_INTEGER, "ns", "the rest of idle; NULL: launches not recorded"},
};

static void fill_rank_times(const struct inq_context *context, struct inq_data_rows *rows)
{
    for (size_t i = 0; i < context->report->n_rank_times; i++) {
        const struct inq_rank_time *t = &context->report->rank_times[i];
        if (!inq_context_shows_index(context, t->rank)) {
            continue;
        }
        inq_data_rank(rows, context, t->rank);
        inq_data_int(rows, t->span_ns);
        inq_data_int(rows, t->compute_ns);
        inq_data_int(rows, t->exposed_comm_ns);
        inq_data_int(rows, t->exposed_memcpy_ns);
        inq_data_int(rows, t->idle_ns);
        inq_data_int(rows, t->comm_ns);
        inq_data_int(rows, t->comm_overlap_ns);
        inq_data_real(rows, t->overlap_pct);
        inq_data_known(rows, t->idle_causes_known ? t->idle_host_ns : -1);
        inq_data_known(rows, t->idle_causes_known ? t->idle_kernel_ns : -1);
        inq_data_known(rows, t->idle_causes_known ? t->idle_other_ns : -1);
    }
}

static const char *const rank_times_foreign[] = {"(job, rank_id) REFERENCES ranks", NULL};

static const char *const no_foreign[] = {NULL};

const struct inq_data_table inq_data_account[] = {
    {INQ_DATA_SHAPE("accounts", "one row per job: what the shares are of", "job", no_foreign, NULL,
                    accounts_columns),
     INQ_SECTION_ACCOUNT, fill_accounts},
    {INQ_DATA_SHAPE("classes", "where rank-time goes: every nanosecond is in one class",
                    "job, class", no_foreign, NULL, classes_columns),
     INQ_SECTION_ACCOUNT, fill_classes},
    {INQ_DATA_SHAPE("class_parts",
                    "a class in more detail: transfer by collective, wait by rank, copies by kind, "
                    "host by what it was in",
                    "job, class, part_id", class_parts_foreign, NULL, class_parts_columns),
     INQ_SECTION_ACCOUNT, fill_class_parts},
    {INQ_DATA_SHAPE("rank_classes", "the classes of each rank", "job, rank_id, class",
                    rank_classes_foreign, NULL, rank_classes_columns),
     INQ_SECTION_ACCOUNT, fill_rank_classes},
    {INQ_DATA_SHAPE(
         "waits",
         "stretches of judged time in which a rank waited for another and nothing else ran",
         "job, wait_id", waits_foreign, "job, waited_for_id", waits_columns),
     INQ_SECTION_ACCOUNT, fill_waits},
    {INQ_DATA_SHAPE("causes", "causes of lost time, with what repairing them gains",
                    "job, position", no_foreign, NULL, causes_columns),
     INQ_SECTION_ACCOUNT, fill_causes},
    {INQ_DATA_SHAPE("rank_times",
                    "where each rank's GPU time went, from its first GPU work to its last",
                    "job, rank_id", rank_times_foreign, NULL, rank_times_columns),
     INQ_SECTION_RANKS, fill_rank_times},
    {.fill = NULL},
};
