/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks that are added to the recording: steps, findings, idle time by cause, waits by culprit,
 * the critical path with its arrows. */
#include "report/render/perfetto/perfetto.h"

#include "analysis/account/account.h"
#include "analysis/comm/comm.h"
#include "base/mem.h"
#include "base/arena_text.h"
#include "base/sort.h"

#include <inttypes.h>

/* The recording as slices, laid out so that those of one track nest: a viewer drops or cuts what
 * does not. */

/* Tracks that one lane may be spread over. What overlaps more often than that is no real trace. */
enum { MAX_SHELVES = 512 };

/* Places of tracks in a process: what was found comes first. */
enum { PLACE_STREAMS = 10, PLACE_NOTES = 11, PLACE_THREADS = 12 };

bool inq_perfetto_shows(const struct inq_perfetto *p, size_t rank)
{
    return inq_context_shows(p->context, p->trace->ranks[rank].rank);
}

static int perfetto_add(struct inq_perfetto *p, const struct inq_slice *slice)
{
    int code = inq_mem_grow(&p->slices, &p->cap_slices, p->n_slices + 1, sizeof *p->slices,
                            (size_t)UINT32_MAX - 1, p->err);
    if (code == INQ_OK) {
        p->slices[p->n_slices++] = *slice;
    }
    return code;
}

/* ---- layout ---------------------------------------------------------------------------------- */

/* A track being filled: the ends of the slices that are open, innermost last. */
struct shelf {
    int64_t *ends;
    size_t n, cap;
    uint32_t tid;
};

static int by_start(const void *a, const void *b, void *ctx)
{
    const struct inq_slice *x = a;
    const struct inq_slice *y = b;
    (void)ctx;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return (x->dur_ns < y->dur_ns) - (x->dur_ns > y->dur_ns);
}

/* Whether the slice lies beside or within all that is on the shelf. */
static bool fits(struct shelf *shelf, const struct inq_slice *slice)
{
    while (shelf->n > 0 && shelf->ends[shelf->n - 1] <= slice->start_ns) {
        shelf->n--;
    }
    return shelf->n == 0 || slice->start_ns + slice->dur_ns <= shelf->ends[shelf->n - 1];
}

static int new_shelf(struct inq_perfetto *p, const struct inq_track *like, size_t ordinal,
                     struct shelf *shelf)
{
    struct inq_track track = *like;
    track.tid = (uint32_t)p->n_tracks + 1; /* unique in the whole file */
    if (ordinal > 0) {
        track.name = inq_arena_printf(p->context->arena, "%.900s (%zu)", like->name, ordinal + 1);
    }
    int code = inq_mem_grow(&p->tracks, &p->cap_tracks, p->n_tracks + 1, sizeof *p->tracks,
                            INT32_MAX, p->err);
    if (code == INQ_OK) {
        p->tracks[p->n_tracks++] = track;
        *shelf = (struct shelf){.tid = track.tid};
    }
    return code;
}

static int put_on_shelf(struct inq_perfetto *p, struct shelf *shelf, struct inq_slice *slice)
{
    int code = inq_mem_grow(&shelf->ends, &shelf->cap, shelf->n + 1, sizeof *shelf->ends,
                            INQ_MAX_ROWS, p->err);
    if (code == INQ_OK) {
        shelf->ends[shelf->n++] = slice->start_ns + slice->dur_ns;
        slice->tid = shelf->tid;
    }
    return code;
}

/* Gives the slices from `first` on tracks like `like`: as many as they need to nest. Sorts them. */
static int perfetto_lay(struct inq_perfetto *p, size_t first, const struct inq_track *like)
{
    struct shelf *shelves = inq_mem_zalloc(MAX_SHELVES, sizeof *shelves);
    size_t n = 0;
    int code = shelves != NULL ? INQ_OK : inq_err_set(p->err, INQ_NOMEM, "no memory for tracks");
    if (code == INQ_OK && p->n_slices > first) {
        code = inq_sort(p->slices + first, p->n_slices - first, sizeof *p->slices, by_start, NULL,
                        p->err);
    }
    for (size_t i = first; i < p->n_slices && code == INQ_OK; i++) {
        size_t at = 0;
        while (at < n && !fits(&shelves[at], &p->slices[i])) {
            at++;
        }
        if (at == MAX_SHELVES) {
            at--;
        } else if (at == n) {
            code = new_shelf(p, like, n, &shelves[n]);
            n += code == INQ_OK;
        }
        if (code == INQ_OK) {
            code = put_on_shelf(p, &shelves[at], &p->slices[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        inq_mem_free(shelves[i].ends);
    }
    inq_mem_free(shelves);
    return code;
}

/* ---- one rank -------------------------------------------------------------------------------- */

static const char *lane_name(const struct inq_perfetto *p, const struct inq_lane *lane)
{
    const char *name = inq_trace_str(p->trace, lane->name);
    if (name[0] != '\0') {
        return inq_arena_printf(p->context->arena, "%.900s", name);
    }
    return inq_arena_printf(p->context->arena, "%s %" PRId64,
                            lane->kind == INQ_LANE_STREAM ? "stream" : "thread", lane->id);
}

/* Rows of a rank in the order of their lanes: order[] of `n`, those of lane l from first[l] on. */
struct by_lane {
    size_t *first; /* [n_lanes + 1] */
    uint32_t *order;
};

static int sort_by_lane(const struct inq_perfetto *p, size_t n_lanes, size_t n,
                        uint32_t (*lane_of)(const struct inq_rank *rank, size_t row),
                        const struct inq_rank *rank, struct by_lane *out)
{
    out->first = inq_mem_zalloc(n_lanes + 2, sizeof *out->first);
    out->order = inq_mem_alloc((n + 1) * sizeof *out->order);
    if (out->first == NULL || out->order == NULL) {
        return inq_err_set(p->err, INQ_NOMEM, "no memory for %zu rows", n);
    }
    for (size_t i = 0; i < n; i++) {
        out->first[lane_of(rank, i) + 2]++;
    }
    for (size_t l = 2; l < n_lanes + 2; l++) {
        out->first[l] += out->first[l - 1];
    }
    for (size_t i = 0; i < n; i++) {
        out->order[out->first[lane_of(rank, i) + 1]++] = (uint32_t)i;
    }
    return INQ_OK;
}

static void release_by_lane(struct by_lane *rows)
{
    inq_mem_free(rows->first);
    inq_mem_free(rows->order);
}

static uint32_t lane_of_event(const struct inq_rank *rank, size_t row)
{
    return rank->events.lane[row];
}

static uint32_t lane_of_note(const struct inq_rank *rank, size_t row)
{
    return rank->notes[row].lane;
}

static uint32_t lane_of_call(const struct inq_rank *rank, size_t row)
{
    return rank->calls.lane[row];
}

static int add_events(struct inq_perfetto *p, size_t r, const struct by_lane *rows, uint32_t lane)
{
    const struct inq_events *e = &p->trace->ranks[r].events;
    int code = INQ_OK;
    for (size_t i = rows->first[lane]; i < rows->first[lane + 1] && code == INQ_OK; i++) {
        uint32_t row = rows->order[i];
        struct inq_slice slice = {e->start_ns[row], e->dur_ns[row], (uint32_t)r + 1, 0, row,
                                  INQ_NONE,         INQ_SLICE_EVENT};
        code = perfetto_add(p, &slice);
    }
    return code;
}

static int add_notes(struct inq_perfetto *p, size_t r, const struct by_lane *rows, uint32_t lane)
{
    const struct inq_rank *rank = &p->trace->ranks[r];
    int code = INQ_OK;
    for (size_t i = rows->first[lane]; i < rows->first[lane + 1] && code == INQ_OK; i++) {
        const struct inq_note *note = &rank->notes[rows->order[i]];
        struct inq_slice slice = {note->start_ns, note->dur_ns, (uint32_t)r + 1, 0,
                                  rows->order[i], INQ_NONE,     INQ_SLICE_NOTE};
        code = perfetto_add(p, &slice);
    }
    return code;
}

static int add_calls(struct inq_perfetto *p, size_t r, const struct by_lane *rows, uint32_t lane)
{
    const struct inq_calls *c = &p->trace->ranks[r].calls;
    int code = INQ_OK;
    for (size_t i = rows->first[lane]; i < rows->first[lane + 1] && code == INQ_OK; i++) {
        uint32_t row = rows->order[i];
        struct inq_slice slice = {c->start_ns[row], c->dur_ns[row], (uint32_t)r + 1, 0, row,
                                  INQ_NONE,         INQ_SLICE_CALL};
        code = perfetto_add(p, &slice);
    }
    return code;
}

struct rank_rows {
    struct by_lane events, notes, calls;
};

/* Work on one set of tracks, annotations on another where the lane is a stream: the projection of
 * an annotation is a little longer than what it covers. */
static int lay_lane(struct inq_perfetto *p, size_t r, uint32_t lane, const struct rank_rows *rows)
{
    const struct inq_lane *of = &p->trace->ranks[r].lanes[lane];
    bool stream = of->kind != INQ_LANE_THREAD;
    struct inq_track track = {.name = lane_name(p, of),
                              .process = (uint32_t)r + 1,
                              .lane = lane,
                              .place = stream ? PLACE_STREAMS : PLACE_THREADS};
    size_t first = p->n_slices;
    int code = add_events(p, r, &rows->events, lane);
    if (code == INQ_OK && stream) {
        code = perfetto_lay(p, first, &track);
        first = p->n_slices;
        track.name = inq_arena_printf(p->context->arena, "%.900s annotations", track.name);
        track.place = PLACE_NOTES;
    }
    if (code == INQ_OK) {
        code = add_notes(p, r, &rows->notes, lane);
    }
    if (code == INQ_OK) {
        code = add_calls(p, r, &rows->calls, lane);
    }
    return code == INQ_OK ? perfetto_lay(p, first, &track) : code;
}

/* Arrows from launching calls to what they launched, where that is not before. */
static int add_launches(struct inq_perfetto *p, size_t first, size_t r)
{
    const struct inq_rank *rank = &p->trace->ranks[r];
    uint32_t *tid = inq_mem_zalloc(rank->calls.n + 1, sizeof *tid);
    size_t end = p->n_slices;
    int code = tid != NULL ? INQ_OK : inq_err_set(p->err, INQ_NOMEM, "no memory for launches");
    for (size_t i = first; i < end && code == INQ_OK; i++) {
        if (p->slices[i].kind == INQ_SLICE_CALL) {
            tid[p->slices[i].row] = p->slices[i].tid;
        }
    }
    for (size_t i = first; i < end && code == INQ_OK; i++) {
        struct inq_slice to = p->slices[i];
        uint32_t call = to.kind == INQ_SLICE_EVENT ? rank->events.call[to.row] : INQ_NONE;
        if (call >= rank->calls.n || rank->calls.start_ns[call] > to.start_ns) {
            continue;
        }
        struct inq_slice from = {rank->calls.start_ns[call],
                                 0,
                                 to.process,
                                 tid[call],
                                 p->n_flows,
                                 INQ_NONE,
                                 INQ_SLICE_LAUNCH};
        to = (struct inq_slice){to.start_ns, 0,        to.process,        to.tid,
                                p->n_flows,  INQ_NONE, INQ_SLICE_LAUNCHED};
        p->n_flows++;
        code = perfetto_add(p, &from);
        if (code == INQ_OK) {
            code = perfetto_add(p, &to);
        }
    }
    inq_mem_free(tid);
    return code;
}

static int add_rank(struct inq_perfetto *p, size_t r)
{
    const struct inq_rank *rank = &p->trace->ranks[r];
    struct rank_rows rows = {0};
    size_t first = p->n_slices;
    int code = sort_by_lane(p, rank->n_lanes, rank->events.n, lane_of_event, rank, &rows.events);
    if (code == INQ_OK) {
        code = sort_by_lane(p, rank->n_lanes, rank->n_notes, lane_of_note, rank, &rows.notes);
    }
    if (code == INQ_OK) {
        code = sort_by_lane(p, rank->n_lanes, rank->calls.n, lane_of_call, rank, &rows.calls);
    }
    for (uint32_t lane = 0; lane < rank->n_lanes && code == INQ_OK; lane++) {
        code = lay_lane(p, r, lane, &rows);
    }
    if (code == INQ_OK) {
        code = add_launches(p, first, r);
    }
    release_by_lane(&rows.events);
    release_by_lane(&rows.notes);
    release_by_lane(&rows.calls);
    return code;
}

static int add_recorded(struct inq_perfetto *p)
{
    int code = INQ_OK;
    for (size_t r = 0; r < p->trace->n_ranks && code == INQ_OK; r++) {
        code = inq_perfetto_shows(p, r) ? add_rank(p, r) : INQ_OK;
    }
    return code;
}

/* Order of the tracks in a process, before what was recorded. */
enum { PLACE_STEPS, PLACE_PATH, PLACE_LOST, PLACE_WAITS, PLACE_IDLE, PLACE_FINDINGS };

/* ---- steps and findings: of the whole run ---------------------------------------------------- */

static int add_steps(struct inq_perfetto *p)
{
    struct inq_track track = {.name = "steps", .lane = INQ_NONE, .place = PLACE_STEPS};
    size_t first = p->n_slices;
    int code = INQ_OK;
    for (size_t s = 0; s < p->trace->n_steps && code == INQ_OK; s++) {
        const struct inq_step *step = &p->trace->steps[s];
        struct inq_slice slice = {.start_ns = step->start_ns,
                                  .dur_ns = step->end_ns - step->start_ns,
                                  .row = (uint32_t)s,
                                  .kind = INQ_SLICE_STEP};
        code = slice.dur_ns >= 0 ? perfetto_add(p, &slice) : INQ_OK;
    }
    return code == INQ_OK ? perfetto_lay(p, first, &track) : code;
}

static bool is_timed(const struct inq_evidence *e)
{
    return e->start_ns != INQ_TIME_NONE && e->end_ns != INQ_TIME_NONE && e->end_ns >= e->start_ns;
}

/* One set of tracks for each finding. One without a time range lies over the whole recording. */
static int add_finding(struct inq_perfetto *p, size_t f)
{
    const struct inq_finding *finding = &p->report->findings[f];
    struct inq_track track = {.name = inq_arena_printf(p->context->arena, "%zu. [%s] %.900s", f + 1,
                                                       inq_severity_text(finding->severity),
                                                       finding->title),
                              .lane = INQ_NONE,
                              .place = (int32_t)(PLACE_FINDINGS + f)};
    size_t first = p->n_slices;
    int code = INQ_OK;
    for (size_t i = 0; i < finding->n_evidence && code == INQ_OK; i++) {
        const struct inq_evidence *e = &finding->evidence[i];
        struct inq_slice slice = {.start_ns = e->start_ns,
                                  .dur_ns = e->end_ns - e->start_ns,
                                  .row = (uint32_t)f,
                                  .extra = (uint32_t)i,
                                  .kind = INQ_SLICE_FINDING};
        code = is_timed(e) ? perfetto_add(p, &slice) : INQ_OK;
    }
    int64_t last_ns = 0;
    struct inq_slice whole = {.row = (uint32_t)f, .extra = INQ_NONE, .kind = INQ_SLICE_FINDING};
    if (code == INQ_OK && p->n_slices == first &&
        inq_trace_span(p->trace, &whole.start_ns, &last_ns)) {
        whole.dur_ns = last_ns - whole.start_ns;
        code = perfetto_add(p, &whole);
    }
    return code == INQ_OK ? perfetto_lay(p, first, &track) : code;
}

/* ---- idle time ------------------------------------------------------------------------------- */

struct idle {
    struct inq_perfetto *p;
    size_t rank;
};

/* Of a reduced rank what ran before a step is not there, unless it is the step before. */
static int64_t recorded_from(const struct inq_trace *trace, size_t r,
                             const struct inq_sweep_piece *gap)
{
    const struct inq_rank *rank = &trace->ranks[r];
    uint32_t s = rank->reduced ? rank->events.step[gap->event] : INQ_NONE;
    bool first =
        s < trace->n_steps && (s == 0 || trace->steps[s].number != trace->steps[s - 1].number + 1);
    int64_t start_ns = first ? trace->steps[s].start_ns : gap->start_ns;

    return start_ns > gap->start_ns && start_ns < gap->end_ns ? start_ns : gap->start_ns;
}

static int add_gap(void *ctx, const struct inq_sweep_piece *piece, struct inq_err *err)
{
    const struct idle *idle = ctx;
    bool host = piece->cls == INQ_ACCOUNT_HOST;
    (void)err;
    if (!host && piece->cls != INQ_ACCOUNT_IDLE) {
        return INQ_OK;
    }
    enum inq_gap_cause cause = host               ? INQ_GAP_HOST
                               : piece->short_gap ? INQ_GAP_KERNEL
                                                  : INQ_GAP_OTHER;
    int64_t start_ns = recorded_from(idle->p->trace, idle->rank, piece);
    struct inq_slice slice = {.start_ns = start_ns,
                              .dur_ns = piece->end_ns - start_ns,
                              .process = (uint32_t)idle->rank + 1,
                              .row = (uint32_t)cause,
                              .kind = INQ_SLICE_IDLE};
    return perfetto_add(idle->p, &slice);
}

static int add_idle(struct inq_perfetto *p, size_t r)
{
    struct inq_track track = {.name = p->report->pipeline != NULL ? "bubbles and idle, by cause"
                                                                  : "idle, by cause",
                              .process = (uint32_t)r + 1,
                              .lane = INQ_NONE,
                              .place = PLACE_IDLE};
    struct idle idle = {p, r};
    size_t first = p->n_slices;
    struct inq_interval span;
    struct inq_sweep_sum sum;
    struct inq_sweep_job job = {
        .rank = &p->trace->ranks[r], .windows = &span, .n = 1, .visit = add_gap, .ctx = &idle};
    int code = inq_rank_work_span(job.rank, &span) ? inq_sweep(&job, &sum, p->err) : INQ_OK;
    return code == INQ_OK ? perfetto_lay(p, first, &track) : code;
}

/* ---- waits ----------------------------------------------------------------------------------- */

static int by_process(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    uint32_t x = ((const struct inq_slice *)a)->process;
    uint32_t y = ((const struct inq_slice *)b)->process;
    return (x > y) - (x < y);
}

/* What each member of a collective waited for its last one. */
static int add_waits_of(struct inq_perfetto *p, uint32_t index, int64_t *scratch)
{
    const struct inq_collective *c = &p->trace->collectives[index];
    struct inq_coll_figures figures;
    int code = INQ_OK;
    inq_coll_figures(p->trace, c, scratch, &figures);
    for (uint32_t m = 0; m < c->n_members && code == INQ_OK; m++) {
        const struct inq_member *member = &p->trace->members[c->first_member + m];
        int64_t wait_ns = inq_coll_wait_ns(p->trace, c, member, figures.last_start_ns);
        struct inq_slice slice = {.start_ns =
                                      p->trace->ranks[member->rank].events.start_ns[member->event],
                                  .dur_ns = wait_ns,
                                  .process = member->rank + 1,
                                  .row = index,
                                  .extra = figures.last_rank,
                                  .kind = INQ_SLICE_WAIT};
        bool shown = wait_ns > 0 && inq_perfetto_shows(p, member->rank);
        code = shown ? perfetto_add(p, &slice) : INQ_OK;
    }
    return code;
}

static int collect_waits(struct inq_perfetto *p)
{
    uint32_t most = 1;
    for (size_t i = 0; i < p->trace->n_collectives; i++) {
        uint32_t n = p->trace->collectives[i].n_members;
        most = n > most ? n : most;
    }
    int64_t *scratch = inq_mem_alloc(most * sizeof *scratch);
    int code = scratch != NULL ? INQ_OK : inq_err_set(p->err, INQ_NOMEM, "no memory for waits");
    for (size_t i = 0; i < p->trace->n_collectives && code == INQ_OK; i++) {
        const struct inq_collective *c = &p->trace->collectives[i];
        if (c->n_members > 1 && !c->ends_disagree) {
            code = add_waits_of(p, (uint32_t)i, scratch);
        }
    }
    inq_mem_free(scratch);
    return code;
}

/* Moves the slices [first, end) behind all others, process by process, and lays each one's. */
static int lay_by_process(struct inq_perfetto *p, size_t first, const struct inq_track *like)
{
    size_t end = p->n_slices;
    if (end == first) {
        return INQ_OK;
    }
    int code =
        inq_sort(p->slices + first, end - first, sizeof *p->slices, by_process, NULL, p->err);
    for (size_t lo = first, hi = first; lo < end && code == INQ_OK; lo = hi) {
        struct inq_track track = *like;
        track.process = p->slices[lo].process;
        while (hi < end && p->slices[hi].process == track.process) {
            hi++;
        }
        p->n_slices = hi; /* what lies behind is not looked at */
        code = perfetto_lay(p, lo, &track);
    }
    p->n_slices = end;
    return code;
}

static int add_waits(struct inq_perfetto *p)
{
    struct inq_track track = {
        .name = "waits, by who comes last", .lane = INQ_NONE, .place = PLACE_WAITS};
    size_t first = p->n_slices;
    int code = p->report->collectives != NULL ? collect_waits(p) : INQ_OK;
    return code == INQ_OK ? lay_by_process(p, first, &track) : code;
}

/* ---- causes ---------------------------------------------------------------------------------- */

/* What ranks wait for at the root: a track for each cause on every rank that loses time to it. */
static int add_lost(struct inq_perfetto *p, uint32_t cause)
{
    const struct inq_account *account = p->report->account;
    struct inq_track track = {.name = inq_arena_printf(p->context->arena, "lost to %u. %.900s",
                                                       cause + 1, account->causes[cause].id),
                              .lane = INQ_NONE,
                              .place = PLACE_LOST};
    size_t first = p->n_slices;
    int code = INQ_OK;
    for (size_t i = 0; i < account->n_waits && code == INQ_OK; i++) {
        const struct inq_account_wait *wait = &account->waits[i];
        struct inq_slice slice = {.start_ns = wait->start_ns,
                                  .dur_ns = wait->end_ns - wait->start_ns,
                                  .process = wait->rank + 1,
                                  .row = (uint32_t)i,
                                  .extra = cause,
                                  .kind = INQ_SLICE_LOST};
        bool shown = wait->cause == cause && inq_perfetto_shows(p, wait->rank);
        code = shown ? perfetto_add(p, &slice) : INQ_OK;
    }
    return code == INQ_OK ? lay_by_process(p, first, &track) : code;
}

static int add_causes(struct inq_perfetto *p)
{
    const struct inq_account *account = p->report->account;
    size_t n = account != NULL ? account->n_causes : 0;
    int code = INQ_OK;
    for (uint32_t i = 0; i < n && code == INQ_OK; i++) {
        code = add_lost(p, i);
    }
    return code;
}

/* ---- critical path --------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b, void *ctx)
{
    const struct inq_slice *x = a;
    const struct inq_slice *y = b;
    (void)ctx;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return (x->dur_ns > y->dur_ns) - (x->dur_ns < y->dur_ns);
}

/* Arrows from each segment in order of time, slices [0, n), to the next where the rank changes. An
 * arrow leaves its slice within it: at its very end it would be outside. */
static int add_arrows(struct inq_perfetto *p, struct inq_slice *path, size_t n)
{
    int code = inq_sort(path, n, sizeof *path, by_time, NULL, p->err);
    for (size_t i = 1; i < n && code == INQ_OK; i++) {
        int64_t leaves_ns = path[i - 1].start_ns;
        leaves_ns += path[i - 1].dur_ns > 0 ? path[i - 1].dur_ns - 1 : 0;
        if (path[i].process == path[i - 1].process || leaves_ns > path[i].start_ns) {
            continue;
        }
        struct inq_slice from = {leaves_ns,  0,        path[i - 1].process, path[i - 1].tid,
                                 p->n_flows, INQ_NONE, INQ_SLICE_NEXT};
        struct inq_slice to = {path[i].start_ns, 0,        path[i].process,  path[i].tid,
                               p->n_flows,       INQ_NONE, INQ_SLICE_FOLLOWS};
        p->n_flows++;
        code = perfetto_add(p, &from);
        if (code == INQ_OK) {
            code = perfetto_add(p, &to);
        }
    }
    return code;
}

/* Process of a global rank; 0 when it is not known, UINT32_MAX when it is not shown. */
static uint32_t process_of(const struct inq_perfetto *p, int32_t rank)
{
    for (size_t r = 0; r < p->trace->n_ranks && rank >= 0; r++) {
        if (p->trace->ranks[r].rank == rank) {
            return inq_perfetto_shows(p, r) ? (uint32_t)r + 1 : UINT32_MAX;
        }
    }
    return 0;
}

static int add_path(struct inq_perfetto *p)
{
    const struct inq_critical_path *path = p->report->critical_path;
    struct inq_track track = {.name = "critical path", .lane = INQ_NONE, .place = PLACE_PATH};
    size_t first = p->n_slices;
    int code = INQ_OK;
    for (size_t i = 0; path != NULL && i < path->n_segments && code == INQ_OK; i++) {
        const struct inq_path_segment *segment = &path->segments[i];
        struct inq_slice slice = {.start_ns = segment->start_ns,
                                  .dur_ns = segment->end_ns - segment->start_ns,
                                  .process = process_of(p, segment->rank),
                                  .row = (uint32_t)i,
                                  .kind = INQ_SLICE_PATH};
        bool shown = slice.process != UINT32_MAX && slice.dur_ns >= 0;
        code = shown ? perfetto_add(p, &slice) : INQ_OK;
    }
    if (code == INQ_OK) {
        code = lay_by_process(p, first, &track);
    }
    size_t n = p->n_slices - first;
    struct inq_slice *sorted = inq_mem_alloc((n + 1) * sizeof *sorted);
    if (code == INQ_OK && sorted == NULL) {
        code = inq_err_set(p->err, INQ_NOMEM, "no memory for the critical path");
    }
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        sorted[i] = p->slices[first + i];
    }
    if (code == INQ_OK) {
        code = add_arrows(p, sorted, n);
    }
    inq_mem_free(sorted);
    return code;
}

int inq_perfetto_fill(struct inq_perfetto *p)
{
    int code = add_recorded(p); /* first: the head lists the tracks of the lanes in this order */
    code = code == INQ_OK ? add_steps(p) : code;
    for (size_t f = 0; f < p->report->n_findings && code == INQ_OK; f++) {
        code = inq_context_shows_finding(p->context, &p->report->findings[f]) ? add_finding(p, f)
                                                                              : INQ_OK;
    }
    bool idle = p->report->n_rank_times > 0; /* else it was not asked for */
    for (size_t r = 0; r < p->trace->n_ranks && idle && code == INQ_OK; r++) {
        code = inq_perfetto_shows(p, r) ? add_idle(p, r) : INQ_OK;
    }
    if (code == INQ_OK) {
        code = add_waits(p);
    }
    if (code == INQ_OK) {
        code = add_causes(p);
    }
    return code == INQ_OK ? add_path(p) : code;
}
