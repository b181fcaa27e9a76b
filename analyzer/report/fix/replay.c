/* SPDX-License-Identifier: Apache-2.0 */
/* A replay to bytes: text and "inquest-replay/1". */
#include "inquest/replay.h"
#include "inquest/report.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/time.h"
#include "report/terminal/terminal.h"
#include "report/render/text/text.h"
#include "report/contract/contract.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Rows of ranks shown unless all are asked for. */
enum { MOST_RANKS = 32 };

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_known(struct inq_json *json, const char *key, int64_t ns)
{
    if (ns >= 0) {
        inq_json_int(json, key, ns);
    } else {
        inq_json_null(json, key);
    }
}

static double error_to(int64_t executed_ns, int64_t to_ns)
{
    return to_ns > 0 ? (double)executed_ns / (double)to_ns - 1.0 : 0.0;
}

/* Ops whose time came from there. */
static size_t count_timing(const struct inq_execution *x, enum inq_op_timing timing)
{
    size_t n = x->timing == NULL && timing == INQ_TIMING_GIVEN ? x->n_ops : 0;
    for (size_t i = 0; x->timing != NULL && i < x->n_ops; i++) {
        n += x->timing[i] == timing;
    }
    return n;
}

static enum inq_op_timing timing_of(const struct inq_execution *x, size_t op)
{
    return x->timing != NULL ? (enum inq_op_timing)x->timing[op] : INQ_TIMING_GIVEN;
}

static void json_executed(const struct inq_replay *r, struct inq_json *json)
{
    inq_json_object(json, "executed");
    inq_json_int(json, "n", (int64_t)r->sample.n);
    inq_json_int(json, "t_ns_median", r->sample.median_ns);
    inq_json_array(json, r->sample.n >= INQ_CI95_LEAST ? "ci95_ns" : "range_ns");
    inq_json_int(json, NULL, r->sample.ci95_ns[0]);
    inq_json_int(json, NULL, r->sample.ci95_ns[1]);
    inq_json_end_array(json);
    inq_json_array(json, "t_ns");
    for (size_t i = 0; i < r->execution.n_repeats; i++) {
        inq_json_int(json, NULL, r->execution.makespan_ns[i]);
    }
    inq_json_end_array(json);
    inq_json_int(json, "resolution_ns", r->execution.resolution_ns);
    if (r->execution.verified) {
        inq_json_bool(json, "reductions_verified", true);
    }
    if (r->execution.n_virtual > 0) {
        inq_json_int(json, "virtual_devices", (int64_t)r->execution.n_virtual);
    }
    if (r->execution.peak_bytes > 0) {
        inq_json_int(json, "peak_bytes", r->execution.peak_bytes);
    }
    inq_json_object(json, "ops_by_timing");
    for (int t = 0; t < INQ_TIMING_COUNT; t++) {
        inq_json_int(json, inq_op_timing_text((enum inq_op_timing)t),
                     (int64_t)count_timing(&r->execution, (enum inq_op_timing)t));
    }
    inq_json_end_object(json);
    inq_json_end_object(json);
}

static void json_ranks(const struct inq_replay *r, struct inq_json *json)
{
    inq_json_array(json, "per_rank");
    for (size_t i = 0; i < r->n_ranks; i++) {
        inq_json_object(json, NULL);
        inq_json_int(json, "rank", r->ranks[i].rank);
        inq_json_int(json, "busy_ns", r->ranks[i].busy_ns);
        inq_json_int(json, "idle_ns", r->ranks[i].idle_ns);
        inq_json_int(json, "simulated_idle_ns", r->ranks[i].simulated_idle_ns);
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void json_ops(const struct inq_replay_view *view, struct inq_json *json)
{
    const struct inq_graph *g = view->plan->graph;
    inq_json_array(json, "ops");
    for (size_t i = 0; i < g->n_ops; i++) {
        const struct inq_graph_op *op = &g->op[i];
        inq_json_object(json, NULL);
        inq_json_int(json, "rank", view->plan->lanes[view->plan->lane_of[i]].number);
        inq_json_int(json, "lane", view->plan->lane_of[i]);
        inq_json_string(json, "type",
                        op->type == INQ_OP_NONE ? NULL
                                                : inq_op_type_text((enum inq_op_type)op->type));
        inq_json_int(json, "stage", op->stage);
        inq_json_int(json, "microbatch", op->micro_batch);
        inq_json_int(json, "start_ns", view->replay->execution.start_ns[i]);
        inq_json_int(json, "end_ns", view->replay->execution.end_ns[i]);
        inq_json_string(json, "timing", inq_op_timing_text(timing_of(&view->replay->execution, i)));
        inq_json_end_object(json);
    }
    inq_json_end_array(json);
}

static void write_json(const struct inq_replay_view *view, bool verbose, struct inq_out *out)
{
    const struct inq_replay *r = view->replay;
    struct inq_json json;
    inq_json_init(&json, out, false);
    inq_json_document(&json, &inq_contract_replay);
    inq_json_string(&json, "engine", r->engine->name);
    inq_json_string(&json, "device", r->execution.device);
    inq_json_string(&json, "note", r->execution.note);
    inq_json_string(&json, "what", view->what);
    inq_json_string(&json, "fix", view->fix[0] != '\0' ? view->fix : NULL);
    inq_json_string(&json, "work", view->work);
    inq_json_double(&json, "scale", view->plan->scale);
    inq_json_int(&json, "steps", (int64_t)view->steps);
    inq_json_int(&json, "ranks", (int64_t)r->n_ranks);
    inq_json_int(&json, "lanes", (int64_t)view->plan->n_lanes);
    inq_json_int(&json, "n_ops", (int64_t)view->plan->graph->n_ops);
    inq_json_int(&json, "shortest_compute_ns", view->plan->shortest_ns);
    json_executed(r, &json);
    inq_json_int(&json, "simulated_ns", r->simulated_ns);
    inq_json_double(&json, "error_to_simulated", r->error);
    json_known(&json, "recorded_ns", view->recorded_ns);
    if (view->recorded_ns > 0) {
        inq_json_double(&json, "error_to_recorded",
                        error_to(r->sample.median_ns, view->recorded_ns));
    } else {
        inq_json_null(&json, "error_to_recorded");
    }
    json_ranks(r, &json);
    if (verbose) {
        json_ops(view, &json);
    }
    inq_json_end_object(&json);
}

/* ---- text ------------------------------------------------------------------------------------ */

static bool only_simulates(const struct inq_replay *replay)
{
    return strcmp(replay->engine->name, "sim") == 0;
}

static void say_what(const struct inq_replay_view *view, const struct inq_terminal *terminal)
{
    const struct inq_replay *r = view->replay;
    char line[1024];
    char scale[48] = "";
    char steps[48] = "";
    if (view->plan->scale < 1.0 || view->plan->scale > 1.0) {
        (void)snprintf(scale, sizeof scale, ", time scaled by %.3g", view->plan->scale);
    }
    if (view->steps > 1) {
        (void)snprintf(steps, sizeof steps, ", %zu steps in a row", view->steps);
    }
    bool simulates = only_simulates(r);
    inq_terminal_tint(terminal, INQ_TINT_BOLD);
    (void)snprintf(line, sizeof line, "%s %s%s%s%s%s%s", simulates ? "Simulated" : "Executed",
                   view->what, view->fix[0] != '\0' ? ", with " : "", view->fix, steps, scale,
                   simulates ? "." : "");
    inq_terminal_words(terminal, line, 0, 0);
    if (!simulates) {
        (void)snprintf(line, sizeof line, " on %s.", r->execution.device);
        inq_out_text(terminal->out, line);
    }
    inq_terminal_plain(terminal);
    inq_out_text(terminal->out, "\n");
    if (r->execution.note[0] != '\0') {
        inq_terminal_wrap(terminal, r->execution.note, 0, 0);
    }
}

static void say_time(const struct inq_replay_view *view, const struct inq_terminal *terminal)
{
    const struct inq_replay *r = view->replay;
    char median[32];
    char low[32];
    char high[32];
    char other[32];
    (void)inq_time_format(r->sample.median_ns, median, sizeof median);
    inq_out_printf(terminal->out, "\n  %-10s %10s", "step", median);
    if (r->sample.n > 1) {
        inq_out_printf(terminal->out, "   median of %zu, %s: %s to %s", r->sample.n,
                       r->sample.n >= INQ_CI95_LEAST ? "95 %" : "all",
                       inq_time_format(r->sample.ci95_ns[0], low, sizeof low),
                       inq_time_format(r->sample.ci95_ns[1], high, sizeof high));
    }
    inq_out_text(terminal->out, "\n");
    if (!only_simulates(r)) {
        inq_out_printf(terminal->out, "  %-10s %10s   the execution is %+.2f %% off\n", "simulated",
                       inq_time_format(r->simulated_ns, other, sizeof other), 100.0 * r->error);
    }
    if (view->recorded_ns > 0) {
        inq_out_printf(terminal->out,
                       "  %-10s %10s   from the first op to the last; the %s is %+.2f %% off\n",
                       "recorded", inq_time_format(view->recorded_ns, other, sizeof other),
                       only_simulates(r) ? "simulation" : "execution",
                       100.0 * error_to(r->sample.median_ns, view->recorded_ns));
    }
    if (r->execution.verified) {
        inq_out_text(terminal->out, "  every reduced value was right\n");
    }
    if (r->execution.timing != NULL) {
        inq_out_printf(
            terminal->out,
            "  times of ops: %zu measured here, %zu calibrated to the record, %zu given\n",
            count_timing(&r->execution, INQ_TIMING_MEASURED),
            count_timing(&r->execution, INQ_TIMING_CALIBRATED),
            count_timing(&r->execution, INQ_TIMING_GIVEN));
    }
    if (r->execution.peak_bytes > 0) {
        inq_out_printf(terminal->out, "  peak memory of the work on a GPU: %.1f MiB\n",
                       (double)r->execution.peak_bytes / (1 << 20));
    }
}

/* Ops too short for the clock and the engine's own overhead make the figures meaningless. */
static void say_shortest(const struct inq_replay_view *view, const struct inq_terminal *terminal)
{
    const int64_t overhead_ns = 20000;
    const struct inq_replay *r = view->replay;
    int64_t step = 20 * r->execution.resolution_ns;
    int64_t least = step > overhead_ns ? step : overhead_ns;
    char text[32];
    if (r->execution.resolution_ns > 0 && view->plan->shortest_ns > 0 &&
        view->plan->shortest_ns < least) {
        inq_out_printf(terminal->out, "  the shortest compute takes %s: too short to be exact\n",
                       inq_time_format(view->plan->shortest_ns, text, sizeof text));
    }
}

static int rank_table(const struct inq_replay_view *view, bool verbose,
                      const struct inq_terminal *terminal)
{
    const struct inq_replay *r = view->replay;
    struct inq_arena arena = {0};
    struct inq_table table = {.arena = &arena, .title = "Compute and idle time"};
    size_t shown = verbose || r->n_ranks <= MOST_RANKS ? r->n_ranks : MOST_RANKS;
    inq_table_column(&table, INQ_COLUMN_RIGHT, "rank");
    inq_table_unit(&table, r->sample.median_ns);
    inq_table_column_ns(&table, "busy");
    inq_table_column_ns(&table, "idle");
    inq_table_column(&table, INQ_COLUMN_RIGHT, "idle %");
    bool simulates = only_simulates(r);
    if (!simulates) {
        inq_table_column_ns(&table, "simulated idle");
    }
    for (size_t i = 0; i < shown; i++) {
        const struct inq_replay_rank *row = &r->ranks[i];
        int64_t whole = row->busy_ns + row->idle_ns;
        inq_table_count(&table, row->rank);
        inq_table_ns(&table, row->busy_ns);
        inq_table_ns(&table, row->idle_ns);
        inq_table_real(&table, whole > 0 ? 100.0 * (double)row->idle_ns / (double)whole : 0.0, 1);
        if (!simulates) {
            inq_table_ns(&table, row->simulated_idle_ns);
        }
    }
    char more[64] = "";
    if (shown < r->n_ranks) {
        (void)snprintf(more, sizeof more, "and %zu more ranks (-v shows all)", r->n_ranks - shown);
    }
    table.more = more;
    inq_out_text(terminal->out, "\n");
    inq_table_print(&table, terminal);
    int code = table.code;
    inq_table_release(&table);
    inq_arena_release(&arena);
    return code;
}

int inq_replay_report(const struct inq_replay_view *view, const struct inq_report_options *options,
                      struct inq_sink sink, struct inq_err *err)
{
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    int code = INQ_OK;
    if (options->format == INQ_FORMAT_JSON) {
        write_json(view, options->verbose, &out);
    } else if (options->format == INQ_FORMAT_TEXT) {
        struct inq_terminal terminal = inq_terminal_of(options, &out);
        say_what(view, &terminal);
        say_time(view, &terminal);
        say_shortest(view, &terminal);
        code = rank_table(view, options->verbose, &terminal);
    } else {
        code = INQ_UNSUPPORTED;
    }
    return inq_out_end(&out, code, "a replay", err);
}
