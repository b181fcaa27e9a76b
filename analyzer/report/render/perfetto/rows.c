/* SPDX-License-Identifier: Apache-2.0 */
/* The recording as slices, laid out so that those of one track nest: a viewer drops or cuts what
 * does not. */
#include "report/render/perfetto/perfetto.h"

#include "base/mem.h"
#include "base/say.h"
#include "base/sort.h"

#include <inttypes.h>

/* Tracks that one lane may be spread over. What overlaps more often than that is no real trace. */
enum { MAX_SHELVES = 512 };

/* Places of tracks in a process: what was found comes first. */
enum { PLACE_STREAMS = 10, PLACE_NOTES = 11, PLACE_THREADS = 12 };

bool inq_perfetto_shows(const struct inq_perfetto *p, size_t rank)
{
    return inq_view_shows(p->view, p->trace->ranks[rank].rank);
}

int inq_perfetto_add(struct inq_perfetto *p, const struct inq_slice *slice)
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
        track.name = inq_say(p->view->arena, "%.900s (%zu)", like->name, ordinal + 1);
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

int inq_perfetto_lay(struct inq_perfetto *p, size_t first, const struct inq_track *like)
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
        return inq_say(p->view->arena, "%.900s", name);
    }
    return inq_say(p->view->arena, "%s %" PRId64,
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
        code = inq_perfetto_add(p, &slice);
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
        code = inq_perfetto_add(p, &slice);
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
        code = inq_perfetto_add(p, &slice);
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
        code = inq_perfetto_lay(p, first, &track);
        first = p->n_slices;
        track.name = inq_say(p->view->arena, "%.900s annotations", track.name);
        track.place = PLACE_NOTES;
    }
    if (code == INQ_OK) {
        code = add_notes(p, r, &rows->notes, lane);
    }
    if (code == INQ_OK) {
        code = add_calls(p, r, &rows->calls, lane);
    }
    return code == INQ_OK ? inq_perfetto_lay(p, first, &track) : code;
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
        code = inq_perfetto_add(p, &from);
        if (code == INQ_OK) {
            code = inq_perfetto_add(p, &to);
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

int inq_perfetto_recorded(struct inq_perfetto *p)
{
    int code = INQ_OK;
    for (size_t r = 0; r < p->trace->n_ranks && code == INQ_OK; r++) {
        code = inq_perfetto_shows(p, r) ? add_rank(p, r) : INQ_OK;
    }
    return code;
}
