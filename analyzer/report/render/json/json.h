/* SPDX-License-Identifier: Apache-2.0 */
/* Values as every JSON section writes them, and the parts that documents share. */
#ifndef INQ_REPORT_RENDER_JSON_JSON_H
#define INQ_REPORT_RENDER_JSON_JSON_H

#include "base/json.h"
#include "report/terminal/terminal.h"

/* An integer, or null when it is negative (not measured, unknown). */
void inq_json_known(struct inq_json *json, const char *key, int64_t value);
/* A time, or null for INQ_TIME_NONE. */
void inq_json_time(struct inq_json *json, const char *key, int64_t ns);
/* Text, or null for none and for "". */
void inq_json_given(struct inq_json *json, const char *key, const char *text);
/* The same of an interned string. */
void inq_json_name(struct inq_json *json, const char *key, const struct inq_trace *trace,
                   inq_str id);
void inq_json_numbers(struct inq_json *json, const char *key, const int32_t *numbers, size_t n);
/* The number of the rank with this index, or null. */
void inq_json_rank(struct inq_json *json, const char *key, const struct inq_context *context,
                   uint32_t index);

/* ---- what reports and `info` share ---------------------------------------------------------- */

/* {path, format, bytes, ..., damage[]} of one file. */
void inq_json_file(struct inq_json *json, const struct inq_file *file);
void inq_json_skipped(struct inq_json *json, const struct inq_run *run);
/* reduced: {steps, whole}; nothing where none is. */
void inq_json_kept(struct inq_json *json, struct inq_kept_steps kept);
/* ranks_present, ranks_missing; ranks without a number are null. */
void inq_json_rank_lists(struct inq_json *json, const struct inq_trace *trace);
/* clock[] of the ranks shown. */
void inq_json_clocks(struct inq_json *json, const struct inq_context *context);

#endif
