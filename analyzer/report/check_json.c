/* SPDX-License-Identifier: Apache-2.0 */
/* "inquest-check/1". */
#include "report/check_parts.h"

#include <math.h>

/* Times are whole numbers of ns; what was not measured is null. */
static void number(struct inq_json *json, const char *key, enum inq_measure_kind kind, double value)
{
    enum inq_check_unit unit = inq_measure_info(kind)->unit;
    if (unit == INQ_UNIT_NS && isfinite(value)) {
        inq_json_int(json, key, llround(value));
    } else {
        inq_json_double(json, key, value);
    }
}

static void write_row(struct inq_json *json, const struct inq_check_row *row)
{
    enum inq_measure_kind kind = row->now.kind;
    inq_json_object(json, NULL);
    inq_json_string(json, "name", row->now.name);
    number(json, "baseline", kind, row->base.value);
    number(json, "value", kind, row->now.value);
    number(json, "limit", kind, row->limit);
    inq_json_bool(json, "pass", row->pass);
    inq_json_string(json, "outcome", inq_check_outcome_text(row->outcome));
    inq_json_double(json, "change", row->change);
    number(json, "low", kind, row->now.low);
    number(json, "high", kind, row->now.high);
    inq_json_int(json, "n", (int64_t)row->now.n);
    inq_json_string(json, "message", row->message);
    inq_json_end_object(json);
}

void inq_check_json(const struct inq_check_view *view, struct inq_out *out)
{
    const struct inq_check *check = view->check;
    struct inq_json json;
    inq_json_init(&json, out, false);
    inq_json_object(&json, NULL);
    inq_json_string(&json, "schema", "inquest-check/1");
    inq_json_bool(&json, "pass", check->pass);
    inq_json_bool(&json, "updated", check->updated);
    inq_json_string(&json, "subject", check->subject == INQ_SUBJECT_SCHEDULE ? "schedule" : "run");
    inq_json_string(&json, "name", view->name);
    inq_json_string(&json, "baseline", view->baseline);
    inq_json_array(&json, "checks");
    for (size_t i = 0; i < check->n; i++) {
        write_row(&json, &check->rows[i]);
    }
    inq_json_end_array(&json);
    inq_json_array(&json, "new_findings");
    for (size_t i = 0; i < check->n_new; i++) {
        inq_json_object(&json, NULL);
        inq_json_string(&json, "id", check->fresh[i].id);
        inq_json_string(&json, "severity", inq_severity_text(check->fresh[i].severity));
        inq_json_string(&json, "title", check->fresh[i].title);
        inq_json_end_object(&json);
    }
    inq_json_end_array(&json);
    inq_json_end_object(&json);
}
