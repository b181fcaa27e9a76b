/* SPDX-License-Identifier: Apache-2.0 */
#include "report/render/json/json.h"

void inq_json_known(struct inq_json *json, const char *key, int64_t value)
{
    if (value < 0) {
        inq_json_null(json, key);
    } else {
        inq_json_int(json, key, value);
    }
}

void inq_json_time(struct inq_json *json, const char *key, int64_t ns)
{
    if (ns == INQ_TIME_NONE) {
        inq_json_null(json, key);
    } else {
        inq_json_int(json, key, ns);
    }
}

void inq_json_given(struct inq_json *json, const char *key, const char *text)
{
    inq_json_string(json, key, text != NULL && text[0] != '\0' ? text : NULL);
}

void inq_json_name(struct inq_json *json, const char *key, const struct inq_trace *trace,
                   inq_str id)
{
    inq_json_given(json, key, inq_trace_str(trace, id));
}

void inq_json_numbers(struct inq_json *json, const char *key, const int32_t *numbers, size_t n)
{
    inq_json_array(json, key);
    for (size_t i = 0; i < n; i++) {
        inq_json_int(json, NULL, numbers[i]);
    }
    inq_json_end_array(json);
}

void inq_json_rank(struct inq_json *json, const char *key, const struct inq_view *view,
                   uint32_t index)
{
    bool there = index < view->trace->n_ranks;
    inq_json_known(json, key, there ? view->trace->ranks[index].rank : -1);
}
