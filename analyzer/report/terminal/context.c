/* SPDX-License-Identifier: Apache-2.0 */
#include "report/terminal/context.h"

#include "base/arena_text.h"

#include <ctype.h>
#include <string.h>

enum { LONG_PREFIX = 10 };

bool inq_trace_span(const struct inq_trace *trace, int64_t *first_ns, int64_t *last_ns)
{
    bool any = false;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        if (rank->first_ns == INQ_TIME_NONE || rank->last_ns == INQ_TIME_NONE) {
            continue;
        }
        *first_ns = any && *first_ns < rank->first_ns ? *first_ns : rank->first_ns;
        *last_ns = any && *last_ns > rank->last_ns ? *last_ns : rank->last_ns;
        any = true;
    }
    return any;
}

/* Bytes with which all paths begin. */
static size_t shared_bytes(const struct inq_trace *trace)
{
    const char *first = trace->files[0].path;
    size_t len = strlen(first);
    for (size_t i = 1; i < trace->n_files; i++) {
        size_t same = 0;
        const char *path = trace->files[i].path;
        while (same < len && path[same] == first[same]) {
            same++;
        }
        len = same;
    }
    return len;
}

/* Fills the parts of the paths that all files share. */
static void find_shared(struct inq_context *context)
{
    const struct inq_trace *trace = context->trace;
    if (trace->n_files == 0) {
        return;
    }
    const char *first = trace->files[0].path;
    size_t shared = shared_bytes(trace);
    context->folder_len = shared;
    while (context->folder_len > 0 && first[context->folder_len - 1] != '/') {
        context->folder_len--;
    }
    while (shared > context->folder_len && isalnum((unsigned char)first[shared - 1]) != 0) {
        shared--; /* words and numbers stay whole */
    }
    bool is_long = trace->n_files > 1 && shared >= context->folder_len + LONG_PREFIX;
    context->prefix_len = is_long ? shared : context->folder_len;
}

struct inq_context inq_context_of(const struct inq_run *run, const struct inq_trace *trace,
                                  const struct inq_report *report,
                                  const struct inq_report_options *options, struct inq_arena *arena)
{
    int64_t first_ns = 0;
    int64_t last_ns = 0;
    (void)inq_trace_span(trace, &first_ns, &last_ns);
    struct inq_context context = {.run = run,
                                  .trace = trace,
                                  .report = report,
                                  .options = options,
                                  .arena = arena,
                                  .origin_ns = trace->cut ? trace->origin_ns : first_ns};
    find_shared(&context);
    return context;
}

bool inq_context_shows(const struct inq_context *context, int32_t rank)
{
    const struct inq_report_options *options = context->options;
    for (size_t i = 0; i < options->n_ranks; i++) {
        if (rank >= options->ranks[i].first && rank <= options->ranks[i].last) {
            return true;
        }
    }
    return options->ranks == NULL;
}

bool inq_context_shows_index(const struct inq_context *context, uint32_t index)
{
    return index < context->trace->n_ranks &&
           inq_context_shows(context, context->trace->ranks[index].rank);
}

bool inq_context_shows_finding(const struct inq_context *context, const struct inq_finding *finding)
{
    for (size_t i = 0; i < finding->n_ranks; i++) {
        if (inq_context_shows(context, finding->ranks[i])) {
            return true;
        }
    }
    return finding->n_ranks == 0;
}

bool inq_context_wants(const struct inq_context *context, enum inq_section section)
{
    return (context->options->hidden & INQ_SECTION_BIT(section)) == 0;
}

bool inq_context_is_brief(const struct inq_context *context)
{
    const struct inq_report_options *options = context->options;
    return options->format == INQ_FORMAT_TEXT && !options->verbose && options->hidden == 0;
}

const char *inq_context_unavailable(const struct inq_context *context, enum inq_section section)
{
    const struct inq_section_state *state = &context->report->sections[section];
    return state->reason == NULL ? ""
                                 : inq_arena_printf(context->arena, "not available: %s; %s",
                                                    state->reason, state->next);
}

const char *inq_context_kept(struct inq_arena *arena, struct inq_kept_steps kept)
{
    return inq_arena_printf(arena,
                            "reduced partials, %zu of %zu steps have all rows; " INQ_NOT_SEEN,
                            kept.whole, kept.recorded);
}
