/* SPDX-License-Identifier: Apache-2.0 */
#include "support_report.h"

#include "inquest/out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t name(struct made_report *made, const char *text)
{
    uint32_t id = 0;
    struct inq_err err = {0};
    if (inq_strtab_add(&made->names, text, strlen(text), &id, &err) != INQ_OK) {
        abort();
    }
    return id;
}

static void fill_trace(struct made_report *made)
{
    const int64_t start_ns = 1700000000123456789;
    memset(made->long_name, 'k', sizeof made->long_name - 1);
    made->files[0] = (struct inq_file){.path = "run/" HOSTILE_NAME,
                                       .format = "kineto",
                                       .reason = "",
                                       .bytes = 1234567,
                                       .events = 10,
                                       .read = true};
    made->files[0].damage.count[INQ_DAMAGE_TRUNCATED] = 1;
    made->files[0].damage.first_offset[INQ_DAMAGE_TRUNCATED] = 99;
    made->files[1] = (struct inq_file){
        .path = made->long_name, .format = "kineto", .reason = "no rank in it", .read = true};
    made->skipped[0] =
        (struct inq_file){.path = HOSTILE_HIDDEN, .format = "unknown", .reason = HOSTILE_NAME};
    for (size_t r = 0; r < 2; r++) {
        made->ranks[r] = (struct inq_rank){.rank = r == 0 ? 0 : -1,
                                           .world_size = 3,
                                           .stage = -1,
                                           .dp_rank = -1,
                                           .label = name(made, r == 0 ? "0" : HOSTILE_NAME),
                                           .file = (uint32_t)r,
                                           .has_clock_epoch = true,
                                           .clock = {.residual_ns = -1},
                                           .first_ns = start_ns,
                                           .last_ns = start_ns + 5000000};
    }
    for (size_t s = 0; s < 2; s++) {
        made->steps[s] = (struct inq_step){.number = 7 + (int64_t)s,
                                           .start_ns = start_ns + (int64_t)s * 2000000,
                                           .end_ns = start_ns + (int64_t)(s + 1) * 2000000};
        made->step_ns[s] = 2000000;
        made->step_start_ns[s] = made->steps[s].start_ns;
    }
    made->group_ranks[0] = 0;
    made->group_ranks[1] = 1;
    made->groups[0] = (struct inq_group){
        .name = name(made, HOSTILE_NAME), .size = 2, .n_ranks = 2, .ranks = made->group_ranks};
    made->collectives[0] = (struct inq_collective){.kind = INQ_COLL_ALLREDUCE, .n_members = 2};
    made->missing[0] = 2;
    made->trace = (struct inq_trace){.names = &made->names,
                                     .name = HOSTILE_NAME,
                                     .n_files = 2,
                                     .files = made->files,
                                     .n_ranks = 2,
                                     .ranks = made->ranks,
                                     .world_size = 3,
                                     .n_missing = 1,
                                     .missing = made->missing,
                                     .n_groups = 1,
                                     .groups = made->groups,
                                     .n_steps = 2,
                                     .steps = made->steps,
                                     .n_collectives = 1,
                                     .collectives = made->collectives};
    made->traces[0] = made->traces[1] = &made->trace;
    made->run = (struct inq_run){
        .n_traces = 2, .traces = made->traces, .n_skipped = 1, .skipped = made->skipped};
}

static void fill_sections(struct made_report *made)
{
    const int64_t start_ns = made->ranks[0].first_ns;
    made->times[0] = (struct inq_rank_time){.rank = 0,
                                            .span_ns = 5000000,
                                            .compute_ns = 2500000,
                                            .exposed_comm_ns = 1250000,
                                            .idle_ns = 1250000,
                                            .comm_ns = 1250000,
                                            .overlap_pct = 0,
                                            .idle_causes_known = true,
                                            .idle_host_ns = 1250000};
    made->times[1] = (struct inq_rank_time){.rank = 1,
                                            .span_ns = 5000000,
                                            .compute_ns = 4000000,
                                            .idle_ns = 1000000,
                                            .overlap_pct = (double)NAN};
    made->waits[0] =
        (struct inq_wait){.rank = 0, .wait_ns = 1000000, .first_arrivals = 1, .collectives = 1};
    made->waits[1] = (struct inq_wait){.rank = 1, .last_arrivals = 1, .collectives = 1};
    made->stats[0] = (struct inq_coll_stat){.kind = INQ_COLL_ALLREDUCE,
                                            .group_size = 2,
                                            .count = 1,
                                            .bytes = -1,
                                            .transfer_ns_median = 5000,
                                            .wait_ns = 1000000,
                                            .skew_ns_median = 1000000,
                                            .algbw_gbps = (double)NAN,
                                            .busbw_gbps = (double)NAN};
    made->worst[0] = (struct inq_coll_worst){.last_rank = 1,
                                             .start_ns = start_ns,
                                             .end_ns = start_ns + 1005000,
                                             .wait_ns = 1000000,
                                             .transfer_ns = 5000,
                                             .skew_ns = 1000000};
    made->coll = (struct inq_collectives){.matched = 1,
                                          .ends_spread_ns_max = -1,
                                          .raw_ends_spread_ns_max = -1,
                                          .n_waits = 2,
                                          .waits = made->waits,
                                          .n_by_op = 1,
                                          .by_op = made->stats,
                                          .n_worst = 1,
                                          .worst = made->worst};
    made->evidence[0] =
        (struct inq_evidence){0, HOSTILE_NAME, start_ns + 1000, start_ns + 2000, made->long_name};
    made->evidence[1] = (struct inq_evidence){-1, "", INQ_TIME_NONE, INQ_TIME_NONE, HOSTILE_HIDDEN};
}

static void fill_findings(struct made_report *made)
{
    made->finding_ranks[0] = 0;
    made->findings[0] = (struct inq_finding){.id = "late_host:rank0",
                                             .kind = INQ_FINDING_LATE_HOST,
                                             .severity = INQ_SEVERITY_HIGH,
                                             .confidence = INQ_CONFIDENCE_SUPPORTED,
                                             .title = "Rank 0 is late in " HOSTILE_NAME,
                                             .detail = HOSTILE_NAME,
                                             .advice = HOSTILE_NAME,
                                             .n_ranks = 1,
                                             .ranks = made->finding_ranks,
                                             .cost_ns_per_step = 1000000,
                                             .share = 0.5,
                                             .measured = "2.5 ms",
                                             .expected = "1.5 ms",
                                             .n_evidence = 2,
                                             .evidence = made->evidence};
    made->findings[1] = (struct inq_finding){.id = "damaged_input",
                                             .kind = INQ_FINDING_DAMAGED_INPUT,
                                             .severity = INQ_SEVERITY_LOW,
                                             .title = "A file is damaged",
                                             .detail = "",
                                             .advice = "",
                                             .cost_ns_per_step = -1,
                                             .share = (double)NAN,
                                             .measured = "",
                                             .expected = ""};
    made->report = (struct inq_report){.trace = &made->trace,
                                       .verdict = {.headline = "Rank 0 is late.",
                                                   .why = "It came last.",
                                                   .next = "Look at its host.",
                                                   .sure = "2 of 2 ranks.",
                                                   .cls = "late_host",
                                                   .lost_ns_per_step = 1000000,
                                                   .confidence = INQ_CONFIDENCE_SUPPORTED},
                                       .n_findings = 2,
                                       .findings = made->findings,
                                       .step_ns = made->step_ns,
                                       .step_start_ns = made->step_start_ns,
                                       .step_ns_median = 2000000,
                                       .n_rank_times = 2,
                                       .rank_times = made->times,
                                       .collectives = &made->coll};
    made->reports[0] = made->reports[1] = &made->report;
}

void made_report_fill(struct made_report *made)
{
    memset(made, 0, sizeof *made);
    fill_trace(made);
    fill_sections(made);
    fill_findings(made);
}

void made_report_release(struct made_report *made)
{
    inq_strtab_release(&made->names);
}

char *made_report_write(const struct made_report *made, const struct inq_report_options *options,
                        size_t n_reports)
{
    struct inq_out out = {0};
    struct inq_err err = {0};
    struct inq_run run = made->run;
    run.n_traces = n_reports;
    if (inq_report_write(&run, made->reports, n_reports, options, inq_out_sink(&out), &err) !=
        INQ_OK) {
        abort();
    }
    char *copy = strdup(out.buf);
    inq_out_release(&out);
    return copy;
}
