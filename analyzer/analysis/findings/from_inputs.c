/* SPDX-License-Identifier: Apache-2.0 */
/* Findings on what was left behind: ranks without a file, files of other runs, damaged ones. */
#include "analysis/findings/findings.h"

#include "base/arena_text.h"
#include "base/mem.h"
#include "base/stats.h"
#include "inquest/account.h"

#include <inttypes.h>

/* Clocks of hosts that nothing aligns differ by less than this: what was recorded further apart was
 * not recorded at the same time. */
static const int64_t APART_NS = INT64_C(60) * 1000000000;

/* What the others' traces say of ranks without one: as much as they may have waited for them. */
static const char *of_missing(const struct inq_trace *trace, struct inq_findings *f)
{
    const struct inq_account *account = f->report->account;
    int64_t ns = account ? account->class_ns[INQ_ACCOUNT_COMM] : 0;
    double share = inq_findings_share(f, ns, -1);

    if (!account || inq_severity_of(share) == INQ_SEVERITY_INFO) { /* not worth telling */
        return "What happened there, and whether others waited for it, is not recorded.";
    }
    return inq_findings_text(f,
                             "What happened there is not recorded. Up to %s%s (%s) of the others' "
                             "communication is waiting for %s: without %s that cannot be told from "
                             "transfer.",
                             inq_findings_time(f, ns), account->one_interval ? "" : " per step",
                             inq_findings_percent(f, share), trace->n_missing == 1 ? "it" : "them",
                             trace->n_missing == 1 ? "its trace" : "their traces");
}

static void from_missing(const struct inq_trace *trace, struct inq_findings *f)
{
    if (trace->n_missing == 0) {
        return;
    }
    struct inq_finding *finding = inq_findings_add(f, INQ_FINDING_MISSING_RANK);
    if (!finding) {
        return;
    }
    finding->ranks = inq_arena_array(f->arena, trace->n_missing, sizeof(*finding->ranks));
    if (!finding->ranks) {
        f->no_memory = true;
        return;
    }
    for (size_t i = 0; i < trace->n_missing; i++) {
        finding->ranks[i] = trace->missing[i];
    }
    finding->n_ranks = trace->n_missing;
    finding->severity = INQ_SEVERITY_MEDIUM;
    finding->measured = inq_findings_text(f, "%zu ranks with a trace", trace->n_ranks);
    finding->expected = inq_findings_text(f, "%d, the world size", trace->world_size);
    finding->title =
        inq_findings_text(f, "No trace from %s (%zu of %d ranks)",
                          inq_arena_ranks(f->arena, trace->missing, trace->n_missing, false),
                          trace->n_missing, trace->world_size);
    finding->detail = of_missing(trace, f);
    if (trace->n_missing == 1) {
        finding->advice =
            "Collect its trace, or find out why it wrote none: a rank that died first "
            "often left nothing.";
    }
}

/* "The file of rank 1 could not be read: Permission denied" */
static const char *unread_title(const struct inq_trace *trace, struct inq_findings *f)
{
    const char *reason = trace->unread[0].reason;
    if (trace->n_unread == 1) {
        return inq_findings_text(f, "The file of rank %" PRId32 " could not be read: %s",
                                 trace->unread[0].rank, reason);
    }
    int32_t *ranks = inq_arena_array(f->arena, trace->n_unread, sizeof(*ranks));
    for (size_t i = 0; ranks && i < trace->n_unread; i++) {
        ranks[i] = trace->unread[i].rank;
    }
    f->no_memory = f->no_memory || !ranks;
    return inq_findings_text(f, "The files of %s could not be read: %s",
                             ranks ? inq_arena_ranks(f->arena, ranks, trace->n_unread, false) : "",
                             reason);
}

/* That a file cannot be read says nothing of its rank. */
static void from_unread(const struct inq_trace *trace, struct inq_findings *f)
{
    if (trace->n_unread == 0) {
        return;
    }
    struct inq_finding *finding = inq_findings_add(f, INQ_FINDING_UNREAD_INPUT);
    if (!finding) {
        return;
    }
    finding->ranks = inq_arena_array(f->arena, trace->n_unread, sizeof(*finding->ranks));
    if (!finding->ranks) {
        f->no_memory = true;
        return;
    }
    for (size_t i = 0; i < trace->n_unread; i++) {
        finding->ranks[i] = trace->unread[i].rank;
    }
    finding->n_ranks = trace->n_unread;
    finding->severity = INQ_SEVERITY_MEDIUM;
    finding->measured =
        inq_findings_text(f, "%s: %s", trace->unread[0].path, trace->unread[0].reason);
    finding->expected = "files that can be read";
    finding->title = unread_title(trace, f);
    finding->detail = inq_findings_text(f,
                                        "%s. What these ranks did is in no section of this report; "
                                        "whether they died is not known.",
                                        finding->measured);
}

/* Whether a rank was recorded, on the aligned clock, far from where the job was. */
static bool is_apart(const struct inq_rank *rank, const int64_t job_ns[2])
{
    bool known = rank->first_ns != INQ_TIME_NONE && rank->last_ns != INQ_TIME_NONE;
    return known && (rank->first_ns - job_ns[1] > APART_NS || job_ns[0] - rank->last_ns > APART_NS);
}

/* The median beginning and end of the ranks' recordings; false: fewer than three are known, of
 * which none is in the minority. */
static bool find_job_time(const struct inq_trace *trace, struct inq_findings *f, int64_t job_ns[2])
{
    int64_t *times = inq_mem_alloc((2 * trace->n_ranks + 1) * sizeof *times);
    size_t n = 0;
    if (times == NULL) {
        f->no_memory = true;
        return false;
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        if (rank->first_ns != INQ_TIME_NONE && rank->last_ns != INQ_TIME_NONE) {
            times[n] = rank->first_ns;
            times[trace->n_ranks + n] = rank->last_ns;
            n++;
        }
    }
    job_ns[0] = inq_lower_median_i64(times, n);
    job_ns[1] = inq_lower_median_i64(times + trace->n_ranks, n);
    inq_mem_free(times);
    return n >= 3;
}

/* "3.0 h", "25 min" */
static const char *long_time(struct inq_findings *f, int64_t ns)
{
    double minutes = (double)ns / 60e9;
    return minutes >= 120.0 ? inq_findings_text(f, "%.1f h", minutes / 60.0)
                            : inq_findings_text(f, "%.0f min", minutes);
}

/* A file of another run in the folder has a rank of this one, and steps of the same numbers; its
 * collectives align with nobody's. */
static void from_other_runs(const struct inq_trace *trace, struct inq_findings *f)
{
    int64_t job_ns[2];
    size_t n = 0;
    uint32_t *ranks = inq_arena_array(f->arena, trace->n_ranks + 1, sizeof *ranks);
    f->no_memory = f->no_memory || ranks == NULL;
    if (ranks == NULL || !find_job_time(trace, f, job_ns)) {
        return;
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (is_apart(&trace->ranks[r], job_ns)) {
            ranks[n++] = (uint32_t)r;
        }
    }
    struct inq_finding *finding =
        n > 0 && 2 * n < trace->n_ranks ? inq_findings_add(f, INQ_FINDING_OTHER_RUN) : NULL;
    if (finding == NULL) {
        return;
    }
    const struct inq_rank *first = &trace->ranks[ranks[0]];
    int64_t off_ns = first->first_ns - job_ns[0];
    const char *off = long_time(f, off_ns < 0 ? -off_ns : off_ns);
    const char *side = off_ns < 0 ? "before" : "after";
    inq_findings_set_ranks(f, finding, ranks, n);
    finding->severity = INQ_SEVERITY_MEDIUM;
    finding->confidence = INQ_CONFIDENCE_SUPPORTED;
    finding->measured = inq_findings_text(
        f, "%s: recorded %s %s the others",
        first->file < trace->n_files ? trace->files[first->file].path : "a file", off, side);
    finding->expected = "files that were recorded at the same time";
    finding->title = inq_findings_text(
        f, "%s %s recorded %s %s the others: another run's file, or a clock that is wrong",
        inq_findings_rank_list(f, ranks, n, true), n == 1 ? "was" : "were", off, side);
    finding->detail = inq_findings_text(
        f, "Measured %s; its collectives align with nobody's, so no waiting for it is known.",
        finding->measured);
}

uint64_t inq_damage_losses(const struct inq_damage *damage)
{
    uint64_t n = 0;

    for (int k = 0; k < INQ_DAMAGE_KIND_COUNT; k++) {
        bool harmless = k == INQ_DAMAGE_NO_LAUNCH || k == INQ_DAMAGE_NEGATIVE_DURATION ||
                        k == INQ_DAMAGE_BAD_UTF8 || k == INQ_DAMAGE_LONG_STRING ||
                        k == INQ_DAMAGE_UNMATCHED_BEGIN || k == INQ_DAMAGE_UNMATCHED_END ||
                        k == INQ_DAMAGE_OUTLIER;
        n += harmless ? 0 : damage->count[k];
    }
    return n;
}

static enum inq_damage_kind first_loss(const struct inq_damage *damage)
{
    for (int k = 0; k < INQ_DAMAGE_KIND_COUNT; k++) {
        struct inq_damage one = {0};
        one.count[k] = damage->count[k];
        if (inq_damage_losses(&one) > 0) {
            return (enum inq_damage_kind)k;
        }
    }
    return INQ_DAMAGE_LIMIT;
}

static void from_damage(const struct inq_trace *trace, struct inq_findings *f)
{
    size_t damaged = 0;
    size_t n_ranks = 0;
    bool only_limits = true;
    const struct inq_file *first = NULL;

    for (size_t i = 0; i < trace->n_files; i++) {
        if (inq_damage_losses(&trace->files[i].damage) > 0) {
            first = first ? first : &trace->files[i];
            only_limits = only_limits && first_loss(&trace->files[i].damage) == INQ_DAMAGE_LIMIT;
            damaged++;
        }
    }
    if (damaged == 0 || first == NULL) {
        return;
    }
    struct inq_finding *finding = inq_findings_add(f, INQ_FINDING_DAMAGED_INPUT);
    uint32_t *ranks = inq_arena_array(f->arena, trace->n_ranks, sizeof(*ranks));
    if (!finding || !ranks) {
        f->no_memory = true;
        return;
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        uint32_t file = trace->ranks[r].file;
        if (file < trace->n_files && inq_damage_losses(&trace->files[file].damage) > 0) {
            ranks[n_ranks++] = (uint32_t)r;
        }
    }
    inq_findings_set_ranks(f, finding, ranks, n_ranks);
    finding->severity = INQ_SEVERITY_LOW;
    finding->measured =
        inq_findings_text(f, "%s: %s", first->path, inq_damage_text(first_loss(&first->damage)));
    finding->expected = only_limits ? "files within the limits" : "whole files";
    const char *what = only_limits    ? "held more than was kept"
                       : damaged == 1 ? "is damaged"
                                      : "are damaged";
    finding->title = trace->n_files == 1 ? inq_findings_text(f, "The only file %s", what)
                                         : inq_findings_text(f, "%zu of %zu files %s", damaged,
                                                             trace->n_files, what);
    finding->detail = inq_findings_text(f,
                                        "First: %s. What could be read is in this report; what "
                                        "was lost is counted per file.",
                                        finding->measured);
    if (only_limits) {
        finding->advice = "Capture fewer steps, split the files, or allow the program more memory; "
                          "'inquest info' counts what was dropped of each file.";
    }
}

void inq_findings_from_inputs(const struct inq_trace *trace, struct inq_findings *findings)
{
    from_missing(trace, findings);
    from_unread(trace, findings);
    from_other_runs(trace, findings);
    from_damage(trace, findings);
}
