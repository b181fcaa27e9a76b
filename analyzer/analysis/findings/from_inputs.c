/* SPDX-License-Identifier: Apache-2.0 */
/* Findings on what was left behind: ranks without a file, damaged files. */
#include "analysis/findings/findings.h"

#include "base/arena_text.h"

#include <inttypes.h>

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
    finding->detail = "What happened there, and whether others waited for it, is not recorded.";
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
    from_damage(trace, findings);
}
