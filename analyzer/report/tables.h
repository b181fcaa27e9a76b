/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a report, in the order of the document. Text and Markdown print the same ones. */
#ifndef INQ_REPORT_TABLES_H
#define INQ_REPORT_TABLES_H

#include "report/table.h"
#include "report/view.h"

enum { INQ_TABLE_ROWS = 32 }; /* shown at most without -v */

struct inq_table_kind {
    /* Fills the table; leaves it without columns when it does not apply. */
    void (*build)(const struct inq_view *view, struct inq_table *table);
    bool folded; /* Markdown: inside <details> */
};

extern const struct inq_table_kind inq_report_tables[]; /* ends with a NULL build */

/* tables_failure.c */
void inq_table_failure(const struct inq_view *view, struct inq_table *table);
void inq_table_failure_moments(const struct inq_view *view, struct inq_table *table);
void inq_table_failure_victims(const struct inq_view *view, struct inq_table *table);
void inq_table_failure_evidence(const struct inq_view *view, struct inq_table *table);
void inq_table_failure_groups(const struct inq_view *view, struct inq_table *table);
void inq_table_failure_stacks(const struct inq_view *view, struct inq_table *table);
/* tables_training.c */
void inq_table_training(const struct inq_view *view, struct inq_table *table);
void inq_table_training_events(const struct inq_view *view, struct inq_table *table);
/* tables_time.c */
void inq_table_rank_times(const struct inq_view *view, struct inq_table *table);
void inq_table_idle(const struct inq_view *view, struct inq_table *table);
void inq_table_steps(const struct inq_view *view, struct inq_table *table);
/* tables_comm.c */
void inq_table_waits(const struct inq_view *view, struct inq_table *table);
void inq_table_collectives(const struct inq_view *view, struct inq_table *table);
void inq_table_worst(const struct inq_view *view, struct inq_table *table);
/* tables_pipeline.c */
void inq_table_waterfall(const struct inq_view *view, struct inq_table *table);
void inq_table_stages(const struct inq_view *view, struct inq_table *table);
void inq_table_pipeline_steps(const struct inq_view *view, struct inq_table *table);
/* tables_whatif.c */
void inq_table_whatif(const struct inq_view *view, struct inq_table *table);
void inq_table_whatif_parts(const struct inq_view *view, struct inq_table *table);
void inq_table_workers(const struct inq_view *view, struct inq_table *table);
void inq_table_causes(const struct inq_view *view, struct inq_table *table);
void inq_table_scenarios(const struct inq_view *view, struct inq_table *table);
/* tables_path.c */
void inq_table_path(const struct inq_view *view, struct inq_table *table);
void inq_table_path_ranks(const struct inq_view *view, struct inq_table *table);
void inq_table_path_segments(const struct inq_view *view, struct inq_table *table);
/* tables_inputs.c */
void inq_table_files(const struct inq_view *view, struct inq_table *table);
void inq_table_clocks(const struct inq_view *view, struct inq_table *table);
/* tables_peers.c */
void inq_table_hta_times(const struct inq_view *view, struct inq_table *table);
void inq_table_hta_idle(const struct inq_view *view, struct inq_table *table);
void inq_table_hta_kernels(const struct inq_view *view, struct inq_table *table);
void inq_table_tl_times(const struct inq_view *view, struct inq_table *table);
void inq_table_tl_stragglers(const struct inq_view *view, struct inq_table *table);
void inq_table_tl_summary(const struct inq_view *view, struct inq_table *table);
void inq_table_tl_collectives(const struct inq_view *view, struct inq_table *table);

/* ---- shared by the builders ------------------------------------------------------------------ */

/* Which of the trace's ranks get a row: all that were asked for, or, when they are many, those that
 * findings name, then those that arrived last most often. [n_ranks] in the view's arena, NULL when
 * memory is out; *left_out: ranks asked for that get none. */
const bool *inq_pick_ranks(const struct inq_view *view, size_t *left_out);
/* The same for at most `most` rows. */
const bool *inq_pick_most_ranks(const struct inq_view *view, size_t most, size_t *left_out);
/* Whether the ranks have stages; then a column of them. */
bool inq_table_stage_column(const struct inq_view *view, struct inq_table *table);

#endif
