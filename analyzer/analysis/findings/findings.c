/* SPDX-License-Identifier: Apache-2.0 */
/* Building findings: memory, ids, words. */
#include "analysis/findings/findings.h"

#include "inquest/account.h"

#include "base/arena.h"
#include "base/mem.h"
#include "inquest/out.h"
#include "base/arena_text.h"
#include "base/time.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_FINDINGS 100000

/* Fixes that a finding names at most. */
enum { MOST_FIXES = 16 };

/* Ranks that a list names before it says how many more there are. */
#define NAMED_RANKS 6

struct inq_finding *inq_findings_add(struct inq_findings *findings, enum inq_finding_kind kind)
{
    if (inq_mem_grow(&findings->at, &findings->cap, findings->n + 1, sizeof(*findings->at),
                     MAX_FINDINGS, NULL) != INQ_OK) {
        findings->no_memory = true;
        return NULL;
    }
    struct inq_finding *finding = &findings->at[findings->n++];
    *finding = (struct inq_finding){.kind = kind,
                                    .severity = INQ_SEVERITY_INFO,
                                    .confidence = INQ_CONFIDENCE_ESTABLISHED,
                                    .cost_ns_per_step = -1,
                                    .in_order_ns = -1,
                                    .joint_ns = -1,
                                    .low_ns = INQ_TIME_NONE,
                                    .high_ns = INQ_TIME_NONE,
                                    .share = (double)NAN};
    finding->id = inq_finding_kind_text(kind);
    finding->title = "";
    finding->detail = "";
    finding->advice = "";
    finding->measured = "";
    finding->expected = "";
    return finding;
}

const char *inq_findings_text(struct inq_findings *findings, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = inq_arena_vprintf(findings->arena, fmt, args);
    va_end(args);
    findings->no_memory = findings->no_memory || findings->arena->failed;
    return text;
}

void inq_findings_call_for(struct inq_findings *f, struct inq_finding *finding, const char *spec)
{
    if (!finding->fixes) {
        finding->fixes = inq_arena_array(f->arena, MOST_FIXES, sizeof(*finding->fixes));
    }
    if (!finding->fixes) {
        f->no_memory = true;
    } else if (finding->n_fixes < MOST_FIXES && spec[0]) {
        finding->fixes[finding->n_fixes++] = spec;
    }
}

void inq_findings_set_ranks(struct inq_findings *findings, struct inq_finding *finding,
                            const uint32_t *ranks, size_t n)
{
    const struct inq_trace *trace = findings->report->trace;
    struct inq_out id = {0};

    finding->ranks = inq_arena_array(findings->arena, n, sizeof(*finding->ranks));
    if (!finding->ranks) {
        findings->no_memory = true;
        return;
    }
    inq_out_text(&id, inq_finding_kind_text(finding->kind));
    for (size_t i = 0; i < n; i++) {
        const struct inq_rank *rank = &trace->ranks[ranks[i]];
        finding->ranks[i] = rank->rank;
        if (rank->rank >= 0) {
            inq_out_printf(&id, "%s%d", i == 0 ? ":rank" : ",", rank->rank);
        } else {
            inq_out_printf(&id, "%s%s", i == 0 ? ":" : ",", inq_trace_str(trace, rank->label));
        }
    }
    finding->n_ranks = n;
    finding->id = inq_findings_text(findings, "%.*s", (int)id.len, id.buf ? id.buf : "");
    findings->no_memory = findings->no_memory || id.code != INQ_OK;
    inq_out_release(&id);
}

struct inq_evidence *inq_findings_evidence(struct inq_findings *findings,
                                           struct inq_finding *finding, size_t n)
{
    finding->evidence = inq_arena_array(findings->arena, n, sizeof(*finding->evidence));
    if (!finding->evidence) {
        findings->no_memory = true;
    }
    return finding->evidence;
}

double inq_findings_share(const struct inq_findings *findings, int64_t ns, int64_t step_ns)
{
    const struct inq_account *account = findings->report->account;
    if (account && account->t_ns > 0) {
        step_ns = account->t_ns;
    }
    return step_ns > 0 ? (double)ns / (double)step_ns : (double)NAN;
}

void inq_findings_set_cost(const struct inq_findings *findings, struct inq_finding *finding,
                           int64_t cost_ns, int64_t step_ns)
{
    finding->cost_ns_per_step = cost_ns;
    finding->share = inq_findings_share(findings, cost_ns, step_ns);
    finding->severity = inq_severity_of(finding->share);
}

static void add_rank_name(const struct inq_trace *trace, const struct inq_rank *rank,
                          struct inq_out *out)
{
    if (rank->rank >= 0) {
        inq_out_printf(out, "%d", rank->rank);
    } else {
        inq_out_printf(out, "of %s", inq_trace_str(trace, rank->label));
    }
}

const char *inq_findings_rank_list(struct inq_findings *findings, const uint32_t *ranks, size_t n,
                                   bool capital)
{
    const struct inq_trace *trace = findings->report->trace;
    size_t named = n <= NAMED_RANKS ? n : NAMED_RANKS - 1;
    struct inq_out out = {0};

    inq_out_text(&out, capital ? "Rank" : "rank");
    inq_out_text(&out, n == 1 ? " " : "s ");
    for (size_t i = 0; i < named; i++) {
        if (i > 0) {
            inq_out_text(&out, i + 1 == n ? " and " : ", ");
        }
        add_rank_name(trace, &trace->ranks[ranks[i]], &out);
    }
    if (named < n) {
        inq_out_printf(&out, " and %zu more", n - named);
    }
    const char *text = inq_findings_text(findings, "%.*s", (int)out.len, out.buf ? out.buf : "");
    findings->no_memory = findings->no_memory || out.code != INQ_OK;
    inq_out_release(&out);
    return text;
}

const char *inq_findings_time(struct inq_findings *findings, int64_t ns)
{
    char buf[32];

    return inq_findings_text(findings, "%s", inq_time_format(ns, buf, sizeof(buf)));
}

const char *inq_findings_percent(struct inq_findings *findings, double share)
{
    double percent = 100.0 * share;

    return inq_findings_text(findings, percent >= 9.95 ? "%.0f %%" : "%.1f %%", percent);
}
