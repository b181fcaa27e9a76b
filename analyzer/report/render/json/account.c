/* SPDX-License-Identifier: Apache-2.0 */
/* The sections `account`, which every number about time comes from, and `steps`. */
#include "report/report.h"

#include "inquest/account.h"
#include "report/render/json/json.h"

#include <math.h>

static void write_steps(struct inq_json *json, const struct inq_account *account)
{
    inq_json_object(json, "steps");
    inq_json_int(json, "judged", (int64_t)account->steps_judged);
    inq_json_int(json, "ranks", (int64_t)account->ranks_judged);
    inq_json_bool(json, "inferred", account->steps_inferred);
    if (account->one_interval) {
        inq_json_given(json, "one_interval", account->one_interval_why);
    }
    inq_json_array(json, "set_aside");
    for (size_t s = 0; s < account->n_steps; s++) {
        if (!account->steps[s].judged) {
            inq_json_object(json, NULL);
            inq_json_int(json, "step", account->steps[s].number);
            inq_json_string(json, "why", account->steps[s].why);
            inq_json_end_object(json);
        }
    }
    inq_json_end_array(json);
    inq_json_end_object(json);
}

/* ns per rank and judged step, rounded; the rank-time that is exact stands beside it. */
static void write_parts(struct inq_json *json, const struct inq_account *account,
                        enum inq_account_class cls)
{
    int64_t cells = (int64_t)(account->ranks_judged * account->steps_judged);
    inq_json_array(json, "parts");
    for (size_t i = 0; i < account->n_parts; i++) {
        const struct inq_account_part *part = &account->parts[i];
        if (part->cls == cls) {
            inq_json_object(json, NULL);
            inq_json_string(json, "what", part->what);
            inq_json_int(json, "ns", part->total_ns / cells);
            inq_json_int(json, "total_ns", part->total_ns);
            inq_json_end_object(json);
        }
    }
    inq_json_end_array(json);
}

static void write_classes(struct inq_json *json, const struct inq_account *account)
{
    inq_json_array(json, "classes");
    for (int c = 0; c < INQ_ACCOUNT_CLASS_COUNT; c++) {
        inq_json_object(json, NULL);
        inq_json_string(json, "class", inq_account_class_id((enum inq_account_class)c));
        inq_json_int(json, "ns", account->class_ns[c]);
        inq_json_double(json, "share",
                        account->rank_time_ns > 0
                            ? (double)account->total_ns[c] / (double)account->rank_time_ns
                            : (double)NAN);
        inq_json_int(json, "total_ns", account->total_ns[c]);
        write_parts(json, account, (enum inq_account_class)c);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_texts(struct inq_json *json, const char *key, const char *const *texts, size_t n)
{
    inq_json_array(json, key);
    for (size_t i = 0; i < n; i++) {
        inq_json_string(json, NULL, texts[i]);
    }
    inq_json_end_array(json);
}

static void write_cause(struct inq_json *json, const struct inq_account_cause *cause)
{
    inq_json_object(json, NULL);
    inq_json_string(json, "id", cause->id);
    inq_json_string(json, "cause", cause->cause);
    inq_json_numbers(json, "ranks", cause->ranks, cause->n_ranks);
    write_texts(json, "hosts", cause->hosts, cause->n_hosts);
    inq_json_numbers(json, "stages", cause->stages, cause->n_stages);
    inq_json_known(json, "ns", cause->ns);
    inq_json_known(json, "gain_alone_ns", cause->gain_alone_ns);
    inq_json_known(json, "gain_in_order_ns", cause->gain_in_order_ns);
    inq_json_known(json, "gain_joint_ns", cause->gain_joint_ns);
    if (cause->gain_interval_ns[0] == INQ_TIME_NONE) {
        inq_json_null(json, "gain_interval_ns");
    } else {
        inq_json_array(json, "gain_interval_ns");
        inq_json_int(json, NULL, cause->gain_interval_ns[0]);
        inq_json_int(json, NULL, cause->gain_interval_ns[1]);
        inq_json_end_array(json);
    }
    write_texts(json, "overlaps", cause->overlaps, cause->n_overlaps);
    inq_json_string(json, "confidence", inq_confidence_text(cause->confidence));
    inq_json_given(json, "fix", cause->fix);
    inq_json_end_object(json);
}

static void write_step_rows(struct inq_json *json, const struct inq_context *context)
{
    const struct inq_trace *trace = context->trace;
    if (trace->n_steps == 0 || context->report->step_ns == NULL) {
        return;
    }
    inq_json_array(json, "steps");
    for (size_t s = 0; s < trace->n_steps; s++) {
        inq_json_object(json, NULL);
        inq_json_int(json, "step", trace->steps[s].number);
        inq_json_int(json, "start_ns", context->report->step_start_ns[s]);
        inq_json_known(json, "dur_ns", context->report->step_ns[s]);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
    inq_json_bool(json, "steps_inferred", trace->steps_inferred);
    inq_json_known(json, "step_ns_median", context->report->step_ns_median);
}

static void write_account(struct inq_json *json, const struct inq_account *account)
{
    inq_json_object(json, "account");
    inq_json_int(json, "t_ns", account->t_ns);
    inq_json_int(json, "rank_time_ns", account->rank_time_ns);
    write_steps(json, account);
    write_classes(json, account);
    inq_json_given(json, "looks_like_communication", account->looks_like_comm);
    inq_json_array(json, "causes");
    for (size_t i = 0; i < account->n_causes; i++) {
        write_cause(json, &account->causes[i]);
    }
    inq_json_end_array(json);
    inq_json_known(json, "unexplained_wait_ns", account->unexplained_wait_ns);
    inq_json_known(json, "ideal_ns", account->ideal_ns);
    if (account->ideal_ns < 0) { /* a residual can be negative: not known only without an ideal */
        inq_json_null(json, "residual_ns");
    } else {
        inq_json_int(json, "residual_ns", account->residual_ns);
    }
    inq_json_double(json, "base_error", account->base_error);
    inq_json_given(json, "gains_problem", account->gains_problem);
    write_texts(json, "withheld", account->violations, account->n_violations);
    inq_json_end_object(json);
}

void inq_json_account(struct inq_json *json, const struct inq_context *context)
{
    if (context->report->account != NULL) {
        write_account(json, context->report->account);
    }
    write_step_rows(json, context);
}
