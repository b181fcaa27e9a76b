/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes as text, Markdown, JSON and a page: what the formats share. */
#ifndef INQ_REPORT_FIX_FIX_H
#define INQ_REPORT_FIX_FIX_H

#include "base/json.h"
#include "inquest/fix.h"
#include "inquest/report.h"
#include "report/sections/sections.h"

/* "not executed", "confirmed" .. */
/* n, median, and what bounds it: ci95_ns, or range_ns of fewer than INQ_CI95_LEAST values. */
void inq_fix_json_sample(struct inq_json *json, const struct inq_sample *sample);
const char *inq_judgement_words(enum inq_judgement judgement);
/* One fix a row. Release the table on failure too. */
void inq_fix_table(const struct inq_fixes *fixes, struct inq_table *table);
/* Collects what one of the functions below says, as a string in `text->buf`. */
void inq_fix_collect(void (*what)(const struct inq_fixes *fixes, struct inq_out *out),
                     const struct inq_fixes *fixes, struct inq_out *text);
/* What the base is, and how far the model is off, into `out`. */
void inq_fix_say_base(const struct inq_fixes *fixes, struct inq_out *out);
/* The verdict in one sentence. */
void inq_fix_say_best(const struct inq_fixes *fixes, struct inq_out *out);
/* What was executed and how far the executed original is from the recorded step; nothing when
 * nothing was executed. */
void inq_fix_say_executed(const struct inq_fixes *fixes, struct inq_out *out);
/* Of an executed fix, nothing where it was not: the gains side by side; both verdicts and why. */
void inq_fix_say_outcome(const struct inq_fix *fix, struct inq_out *out);
void inq_fix_say_order(const struct inq_fix *fix, struct inq_out *out);
void inq_fix_say_cost(const struct inq_fix *fix, struct inq_out *out);
/* One of these of a fix, as a string in `text->buf`. */
void inq_fix_collect_one(void (*what)(const struct inq_fix *fix, struct inq_out *out),
                         const struct inq_fix *fix, struct inq_out *text);

void inq_fix_text(const struct inq_fixes *fixes, const struct inq_report_options *options,
                  struct inq_arena *arena, struct inq_out *out);
void inq_fix_markdown(const struct inq_fixes *fixes, struct inq_arena *arena, struct inq_out *out);
void inq_fix_json(const struct inq_fixes *fixes, bool compact, struct inq_out *out);
/* Only where D3 was found (INQ_HAVE_HTML). */
int inq_fix_html(const struct inq_fixes *fixes, const struct inq_report_options *options,
                 struct inq_arena *arena, struct inq_out *out, struct inq_err *err);

#endif
