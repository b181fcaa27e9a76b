/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU work of a recorded run in order of launch, with what is known about each piece: thread,
 * annotation. */
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "graph/pipeline/pipeline.h"
#include "graph/pipeline/transfers.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

/* What an annotation "Forward 3", "Backward 3" or "PP:2F3" (stage 2) says; -1: not given. */
struct action {
    enum inq_op_type type;
    int32_t stage, micro_batch;
};

/* Annotations nest; this many are looked through for the one around a launch. */
enum { MAX_NESTED = 8 };

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory for the pieces of a run");
}

/* ---- annotations --------------------------------------------------------------------------- */

/* False for anything else, transfers and composites among them. */
static bool parse_action(const char *text, struct action *out)
{
    static const char *const passes[] = {"Forward ", "Backward "};
    *out = (struct action){INQ_OP_NONE, -1, -1};
    for (int k = 0; k < 2; k++) {
        if (strncmp(text, passes[k], strlen(passes[k])) == 0) {
            out->type = k == 0 ? INQ_OP_FORWARD : INQ_OP_BACKWARD;
            out->micro_batch = (int32_t)strtol(text + strlen(passes[k]), NULL, 10);
            return true;
        }
    }
    if (strncmp(text, "PP:", 3) != 0) {
        return false;
    }
    char *at = NULL;
    long stage = strtol(text + 3, &at, 10);
    static const struct {
        char letter;
        enum inq_op_type type;
    } letters[] = {{'F', INQ_OP_FORWARD},
                   {'B', INQ_OP_BACKWARD},
                   {'I', INQ_OP_BACKWARD_INPUT},
                   {'W', INQ_OP_BACKWARD_WEIGHT}};
    for (int k = 0; at != text + 3 && k < 4; k++) {
        char *end = NULL;
        long micro_batch = at[0] == letters[k].letter ? strtol(at + 1, &end, 10) : -1;
        if (end != NULL && end != at + 1 && *end == '\0' && stage >= 0 && stage < 1 << 20 &&
            micro_batch >= 0 && micro_batch < 1 << 20) {
            *out = (struct action){letters[k].type, (int32_t)stage, (int32_t)micro_batch};
            return true;
        }
    }
    return false;
}

/* The host's pipeline annotations of a rank, in order of start: few among all its annotations. */
struct marks {
    uint32_t *notes; /* [n] indexes of the rank's notes */
    size_t n;
};

static int find_marks(const struct inq_rank *rank, struct marks *out, struct inq_err *err)
{
    out->notes = inq_mem_alloc(rank->n_notes * sizeof *out->notes);
    if (out->notes == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < rank->n_notes; i++) {
        const struct inq_note *note = &rank->notes[i];
        if (note->kind == INQ_NOTE_PIPELINE && !note->on_gpu) {
            out->notes[out->n++] = (uint32_t)i;
        }
    }
    return INQ_OK;
}

/* The annotation around a time. */
static uint32_t note_around(const struct inq_trace *trace, const struct inq_rank *rank,
                            const struct marks *marks, int64_t at)
{
    struct action action;
    size_t low = 0;
    size_t high = marks->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (rank->notes[marks->notes[mid]].start_ns <= at) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    for (size_t i = low; i > 0 && low - i < MAX_NESTED; i--) {
        const struct inq_note *note = &rank->notes[marks->notes[i - 1]];
        if (at < note->start_ns + note->dur_ns &&
            parse_action(inq_trace_str(trace, note->name), &action)) {
            return marks->notes[i - 1];
        }
    }
    return INQ_NONE;
}

/* ---- items ----------------------------------------------------------------------------------- */

static bool is_p2p(const struct inq_trace *trace, const struct inq_events *e, size_t row,
                   const struct inq_comm *comm)
{
    if (comm != NULL && comm->kind != INQ_COLL_COALESCED && comm->kind != INQ_COLL_UNKNOWN) {
        return inq_coll_is_p2p(comm->kind);
    }
    const char *name = inq_trace_str(trace, e->name[row]);
    return inq_coll_from_kernel(name, strlen(name)) == INQ_COLL_SENDRECV;
}

static void fill_item(const struct inq_pipe_run *run, const struct inq_rank *rank,
                      const struct marks *marks, size_t row, struct inq_pipe_item *out)
{
    const struct inq_events *e = &rank->events;
    const struct inq_comm *comm = e->comm[row] != INQ_NONE ? &rank->comms[e->comm[row]] : NULL;
    uint32_t call = e->call[row];
    *out = (struct inq_pipe_item){
        .launch_ns = call != INQ_NONE ? rank->calls.start_ns[call] : e->start_ns[row],
        .start_ns = e->start_ns[row],
        .end_ns = e->start_ns[row] + e->dur_ns[row],
        .event = (uint32_t)row,
        .thread = call != INQ_NONE ? rank->calls.lane[call] : INQ_NONE,
        .partner = INQ_NONE,
        .step = run->trace->n_steps > 0 ? e->step[row] : 0,
        .kind = INQ_ITEM_COMPUTE,
        .dir = INQ_COLL_SENDRECV,
    };
    if (e->cls[row] == INQ_CLASS_COMM) {
        out->kind = is_p2p(run->trace, e, row, comm) ? INQ_ITEM_P2P : INQ_ITEM_SYNC;
    }
    if (comm != NULL && (comm->kind == INQ_COLL_SEND || comm->kind == INQ_COLL_RECV)) {
        out->dir = (uint8_t)comm->kind;
    }
    out->note = note_around(run->trace, rank, marks, out->launch_ns);
}

static int compare_items(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_pipe_item *x = a;
    const struct inq_pipe_item *y = b;
    if (x->step != y->step) {
        return x->step < y->step ? -1 : 1;
    }
    if (x->launch_ns != y->launch_ns) {
        return x->launch_ns < y->launch_ns ? -1 : 1;
    }
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int collect_rank(struct inq_pipe_run *run, size_t r, struct inq_err *err)
{
    const struct inq_rank *rank = &run->trace->ranks[r];
    struct inq_pipe_rank *out = &run->ranks[r];
    const struct inq_events *e = &rank->events;
    struct marks marks = {0};
    out->items = inq_mem_alloc(e->n * sizeof *out->items);
    out->step_start = inq_mem_zalloc(run->n_steps + 1, sizeof *out->step_start);
    if (out->items == NULL || out->step_start == NULL || find_marks(rank, &marks, err) != INQ_OK) {
        inq_mem_free(marks.notes);
        return no_memory(err);
    }
    for (size_t i = 0; i < e->n; i++) {
        bool work = e->kind[i] == INQ_EVENT_KERNEL || e->kind[i] == INQ_EVENT_MEMCPY ||
                    e->kind[i] == INQ_EVENT_MEMSET;
        if (work && (run->trace->n_steps == 0 || e->step[i] != INQ_NONE)) {
            fill_item(run, rank, &marks, i, &out->items[out->n_items++]);
        }
    }
    inq_mem_free(marks.notes);
    return INQ_OK;
}

/* By step, in order of launch. */
static int order_items(struct inq_pipe_run *run, struct inq_pipe_rank *rank, struct inq_err *err)
{
    for (size_t i = 0; i < rank->n_items; i++) {
        rank->step_start[rank->items[i].step + 1]++;
    }
    for (size_t s = 0; s < run->n_steps; s++) {
        rank->step_start[s + 1] += rank->step_start[s];
    }
    return inq_sort(rank->items, rank->n_items, sizeof *rank->items, compare_items, NULL, err);
}

int inq_pipe_collect(const struct inq_trace *trace, bool streams, struct inq_pipe_run *run,
                     struct inq_err *err)
{
    *run = (struct inq_pipe_run){.trace = trace};
    run->n_steps = trace->n_steps > 0 ? trace->n_steps : 1;
    run->ranks = inq_mem_zalloc(trace->n_ranks, sizeof *run->ranks);
    int code = run->ranks != NULL ? INQ_OK : no_memory(err);
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        code = collect_rank(run, r, err);
        for (size_t i = 0; code == INQ_OK && i < run->ranks[r].n_items; i++) {
            const struct inq_pipe_item *item = &run->ranks[r].items[i];
            run->has_notes = run->has_notes || item->note != INQ_NONE;
        }
    }
    if (code == INQ_OK) {
        code = inq_pipe_find_partners(run, streams, err);
    }
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        code = order_items(run, &run->ranks[r], err);
    }
    return code;
}

/* Forwards and backwards of a recorded run: by annotation, or by the thread that launched them (the
 * backward pass has its own) and the transfers between them. */

static int add_op(struct inq_pipe_rank *rank, const struct inq_pipe_item *item, uint8_t type,
                  int32_t micro_batch, int32_t chunk, struct inq_err *err)
{
    int code = inq_mem_grow(&rank->ops, &rank->cap_ops, rank->n_ops + 1, sizeof *rank->ops,
                            (size_t)1 << 28, err);
    if (code == INQ_OK) {
        rank->ops[rank->n_ops++] =
            (struct inq_pipe_op){item->start_ns, item->end_ns, item->launch_ns, item->step,
                                 item->event,    micro_batch,  chunk,           type};
    }
    return code;
}

static void widen(struct inq_pipe_op *op, const struct inq_pipe_item *item)
{
    op->start_ns = item->start_ns < op->start_ns ? item->start_ns : op->start_ns;
    op->end_ns = item->end_ns > op->end_ns ? item->end_ns : op->end_ns;
}

/* ---- by annotation --------------------------------------------------------------------------- */

static int ops_from_notes(const struct inq_trace *trace, const struct inq_rank *source,
                          struct inq_pipe_rank *rank, struct inq_err *err)
{
    uint32_t *op_of = inq_mem_alloc(source->n_notes * sizeof *op_of);
    if (op_of == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu annotations", source->n_notes);
    }
    memset(op_of, 0xff, source->n_notes * sizeof *op_of);
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < rank->n_items; i++) {
        const struct inq_pipe_item *item = &rank->items[i];
        struct action action;
        if (item->kind != INQ_ITEM_COMPUTE || item->note == INQ_NONE) {
            continue;
        }
        if (op_of[item->note] != INQ_NONE) {
            widen(&rank->ops[op_of[item->note]], item);
            continue;
        }
        (void)parse_action(inq_trace_str(trace, source->notes[item->note].name), &action);
        op_of[item->note] = (uint32_t)rank->n_ops;
        /* the stage in the chunk's place until all of the rank's are known */
        code = add_op(rank, item, (uint8_t)action.type, action.micro_batch, action.stage, err);
    }
    inq_mem_free(op_of);
    return code;
}

static int32_t chunk_among(const int64_t *stages, size_t n, int64_t stage)
{
    size_t k = 0;
    while (k < n && stages[k] != stage) {
        k++;
    }
    return (int32_t)k;
}

/* Stages of "PP:2F3" to chunks: the rank's stages in ascending order. */
static int chunks_from_stages(struct inq_pipe_rank *rank, struct inq_err *err)
{
    int64_t *stages = inq_mem_alloc(rank->n_ops * sizeof *stages);
    if (stages == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", rank->n_ops);
    }
    size_t n = 0;
    for (size_t i = 0; i < rank->n_ops; i++) {
        if (chunk_among(stages, n, rank->ops[i].chunk) == (int32_t)n) {
            stages[n++] = rank->ops[i].chunk;
        }
    }
    inq_sort_i64(stages, n);
    for (size_t i = 0; i < rank->n_ops; i++) {
        rank->ops[i].chunk = chunk_among(stages, n, rank->ops[i].chunk);
    }
    inq_mem_free(stages);
    return INQ_OK;
}

static uint64_t pass_key(const struct inq_pipe_op *op)
{
    return (uint64_t)op->type << 56 | (uint64_t)(op->step & 0xffffff) << 32 |
           (uint32_t)op->micro_batch;
}

/* "Forward 3" several times in a step: the chunks one after the other, backwards the other way. */
static int chunks_from_repeats(struct inq_pipe_rank *rank, struct inq_err *err)
{
    struct inq_map seen = {0};
    uint32_t chunks = 1;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < rank->n_ops; i++) {
        uint32_t before = 0;
        (void)inq_map_get(&seen, pass_key(&rank->ops[i]), &before);
        rank->ops[i].chunk = (int32_t)before;
        code = inq_map_put(&seen, pass_key(&rank->ops[i]), before + 1, err);
        chunks = before + 1 > chunks ? before + 1 : chunks;
    }
    for (size_t i = 0; i < rank->n_ops; i++) {
        if (rank->ops[i].type != INQ_OP_FORWARD) {
            rank->ops[i].chunk = (int32_t)chunks - 1 - rank->ops[i].chunk;
        }
    }
    inq_map_release(&seen);
    return code;
}

/* ---- by thread ------------------------------------------------------------------------------- */

/* Whether the launch of some work of a step is not recorded: hosts that run ahead made it before
 * the window. */
static bool is_blind(const struct inq_pipe_rank *rank, size_t step)
{
    size_t i = rank->step_start[step];
    while (i < rank->step_start[step + 1] && rank->items[i].thread != INQ_NONE) {
        i++;
    }
    return i < rank->step_start[step + 1];
}

/* The thread that runs the forward pass launches first in most steps: one that the window cuts may
 * begin in a backward pass. INQ_NONE: no launch is recorded. */
static uint32_t main_thread(const struct inq_pipe_rank *rank, size_t n_steps)
{
    uint32_t first = INQ_NONE;
    size_t votes = 0; /* a majority vote in one pass */
    for (size_t i = 0; first == INQ_NONE && i < rank->n_items; i++) {
        first = rank->items[i].thread;
    }
    for (size_t s = 0; s < n_steps; s++) {
        size_t i = rank->step_start[s];
        if (i == rank->step_start[s + 1] || is_blind(rank, s)) {
            continue;
        }
        if (votes == 0) {
            first = rank->items[i].thread;
        }
        votes += rank->items[i].thread == first ? 1 : (size_t)-1;
    }
    return first;
}

/* ---- steps without launches ------------------------------------------------------------------ */

/* A step's work, lane by lane, each in order of time: as all steps of ranks of a stage have it. */
struct by_lane {
    struct inq_pipe_run *run;
    uint32_t **order; /* [n_ranks][n_items] indexes of items, by step */
    bool *blind;      /* [n_ranks * n_steps] */
    uint32_t rank;    /* that is being sorted */
};

static int64_t lane_of(const struct by_lane *x, uint32_t rank, uint32_t item)
{
    const struct inq_rank *source = &x->run->trace->ranks[rank];
    uint32_t event = x->run->ranks[rank].items[item].event;
    return source->lanes[source->events.lane[event]].id;
}

static int compare_on_lanes(const void *a, const void *b, void *ctx)
{
    const struct by_lane *x = ctx;
    uint32_t i = *(const uint32_t *)a;
    uint32_t k = *(const uint32_t *)b;
    const struct inq_pipe_item *items = x->run->ranks[x->rank].items;
    int64_t lane = lane_of(x, x->rank, i);
    int64_t other = lane_of(x, x->rank, k);
    if (lane != other) {
        return lane < other ? -1 : 1;
    }
    if (items[i].start_ns != items[k].start_ns) {
        return items[i].start_ns < items[k].start_ns ? -1 : 1;
    }
    return items[i].event < items[k].event ? -1 : items[i].event > items[k].event;
}

static int sort_by_lane(struct by_lane *x, struct inq_err *err)
{
    int code = INQ_OK;
    for (uint32_t r = 0; code == INQ_OK && r < x->run->trace->n_ranks; r++) {
        const struct inq_pipe_rank *rank = &x->run->ranks[r];
        x->rank = r;
        x->order[r] = inq_mem_alloc((rank->n_items + 1) * sizeof **x->order);
        if (x->order[r] == NULL) {
            return no_memory(err);
        }
        for (size_t i = 0; i < rank->n_items; i++) {
            x->order[r][i] = (uint32_t)i;
        }
        for (size_t s = 0; code == INQ_OK && s < x->run->n_steps; s++) {
            code = inq_sort(x->order[r] + rank->step_start[s],
                            rank->step_start[s + 1] - rank->step_start[s], sizeof **x->order,
                            compare_on_lanes, x, err);
        }
    }
    return code;
}

/* A step of a rank. */
struct place {
    uint32_t rank, step;
};

static uint32_t item_at(const struct by_lane *x, struct place p, size_t i)
{
    return x->order[p.rank][x->run->ranks[p.rank].step_start[p.step] + i];
}

static size_t count_items(const struct by_lane *x, struct place p)
{
    const size_t *start = x->run->ranks[p.rank].step_start;
    return start[p.step + 1] - start[p.step];
}

static inq_str name_at(const struct by_lane *x, struct place p, size_t i)
{
    const struct inq_pipe_item *item = &x->run->ranks[p.rank].items[item_at(x, p, i)];
    return x->run->trace->ranks[p.rank].events.name[item->event];
}

static bool begins_lane(const struct by_lane *x, struct place p, size_t i)
{
    return i == 0 ||
           lane_of(x, p.rank, item_at(x, p, i)) != lane_of(x, p.rank, item_at(x, p, i - 1));
}

static bool is_like(const struct by_lane *x, struct place a, struct place b)
{
    size_t n = count_items(x, a);
    bool same = n == count_items(x, b);
    for (size_t i = 0; same && i < n; i++) {
        same = name_at(x, a, i) == name_at(x, b, i) && begins_lane(x, a, i) == begins_lane(x, b, i);
    }
    return same;
}

/* A step with the same work whose launches are known: of the rank, else of one of its stage. */
static bool find_like(const struct by_lane *x, struct place blind, struct place *like)
{
    const struct inq_pipe_run *run = x->run;
    for (uint32_t k = 0; k < run->trace->n_ranks; k++) {
        uint32_t r = (uint32_t)((blind.rank + k) % run->trace->n_ranks);
        if (run->ranks[r].stage != run->ranks[blind.rank].stage) {
            continue;
        }
        for (uint32_t s = 0; s < run->n_steps; s++) {
            *like = (struct place){r, s};
            if (!x->blind[r * run->n_steps + s] && is_like(x, *like, blind)) {
                return true;
            }
        }
    }
    return false;
}

/* Order and threads of launches are as in the step that is like it. */
static void borrow(const struct by_lane *x, struct place blind, struct place like)
{
    const struct inq_pipe_rank *from = &x->run->ranks[like.rank];
    struct inq_pipe_rank *to = &x->run->ranks[blind.rank];
    to->main_thread = to->main_thread != INQ_NONE ? to->main_thread : from->main_thread;
    for (size_t i = 0; i < count_items(x, blind); i++) {
        const struct inq_pipe_item *item = &from->items[item_at(x, like, i)];
        struct inq_pipe_item *own = &to->items[item_at(x, blind, i)];
        bool forward = item->thread == from->main_thread;
        own->launch_ns = item->launch_ns;
        own->thread = forward ? to->main_thread : INQ_NONE;
    }
}

/* ---- passes of steps without launches ----------------------------------------------------------
 *
 * Hosts that run far ahead launched all of a short capture before it. Whom a rank exchanged with
 * before and after its work tells a forward, which comes from the stage before and goes to the next
 * one, from a backward; the kernels of those tell them apart where one follows the other, as on the
 * last stage. */

enum neighbor { NOBODY, STAGE_BEFORE, NEXT_STAGE, STRANGER };
/* What a kernel was seen in. */
enum { IN_FORWARD = 1, IN_BACKWARD = 2, IN_NEITHER = 4 };

/* Work of a rank between two transfers of a step. */
struct stretch {
    size_t from, to; /* items */
    enum neighbor before, after;
};

static enum neighbor neighbor_of(const struct inq_pipe_run *run, const struct inq_pipe_rank *rank,
                                 const struct inq_pipe_item *item)
{
    if (item->partner == INQ_NONE) {
        return STRANGER;
    }
    uint32_t other = run->ranks[item->partner].stage;
    return other == rank->stage + 1   ? NEXT_STAGE
           : other + 1 == rank->stage ? STAGE_BEFORE
                                      : STRANGER;
}

/* The next stretch of a rank's items [at, end); false: there is none. */
static bool next_stretch(const struct inq_pipe_run *run, const struct inq_pipe_rank *rank,
                         size_t at, size_t end, struct stretch *s)
{
    const struct inq_pipe_item *items = rank->items;
    while (at < end && items[at].kind == INQ_ITEM_P2P) {
        at++;
    }
    *s = (struct stretch){at, at, NOBODY, NOBODY};
    if (at == end) {
        return false;
    }
    uint32_t step = items[at].step;
    while (s->to < end && items[s->to].step == step && items[s->to].kind != INQ_ITEM_P2P) {
        s->to++;
    }
    if (at > 0 && items[at - 1].step == step) {
        s->before = neighbor_of(run, rank, &items[at - 1]);
    }
    if (s->to < end && items[s->to].step == step) {
        s->after = neighbor_of(run, rank, &items[s->to]);
    }
    return true;
}

/* What the transfers around it say of a stretch: one of IN_*, or 0: its kernels have to. */
static uint32_t kind_of_stretch(const struct inq_pipe_run *run, const struct inq_pipe_rank *rank,
                                const struct stretch *s)
{
    bool first = rank->stage == 0;
    bool last = rank->stage + 1 == run->n_stages;
    if (s->before == NOBODY) {
        return first && s->after == NEXT_STAGE ? IN_FORWARD : IN_NEITHER;
    }
    if (s->after == NOBODY && !first) {
        return IN_NEITHER;
    }
    if (first || last || s->before == s->after) {
        return 0;
    }
    return s->before == STAGE_BEFORE ? IN_FORWARD : IN_BACKWARD;
}

static inq_str kernel_of(const struct inq_pipe_run *run, uint32_t r, size_t item)
{
    return run->trace->ranks[r].events.name[run->ranks[r].items[item].event];
}

/* Counts a kernel in one of IN_*: ten bits for each, until one is full. */
static uint32_t count_in(uint32_t counts, uint32_t kind)
{
    enum { FULL = 1023 };
    uint32_t shift = kind == IN_FORWARD ? 0 : kind == IN_BACKWARD ? 10 : 20;
    uint32_t forward = counts & FULL;
    uint32_t backward = counts >> 10 & FULL;
    bool full = forward == FULL || backward == FULL || counts >> 20 == FULL;
    return full ? counts : counts + (1U << shift);
}

/* Nearly all in backwards: windows cut stretches, and steps are told apart by launches. */
static bool is_of_backwards(uint32_t counts)
{
    enum { FULL = 1023, TIMES = 4 };
    return (counts >> 10 & FULL) > TIMES * ((counts & FULL) + (counts >> 20));
}

/* Where kernels are seen. Of two stages the first one's last work of a step is a backward, with
 * what follows it on every stage. */
static int learn_kernels(const struct inq_pipe_run *run, struct inq_map *seen, struct inq_err *err)
{
    int code = INQ_OK;
    for (uint32_t r = 0; r < run->trace->n_ranks; r++) {
        const struct inq_pipe_rank *rank = &run->ranks[r];
        struct stretch s;
        for (size_t at = 0; next_stretch(run, rank, at, rank->n_items, &s); at = s.to) {
            bool ends = rank->stage == 0 && s.before == NEXT_STAGE && s.after == NOBODY;
            uint32_t kind = ends ? IN_BACKWARD : kind_of_stretch(run, rank, &s);
            for (size_t i = s.from; code == INQ_OK && kind != 0 && i < s.to; i++) {
                uint32_t counts = 0;
                (void)inq_map_get(seen, kernel_of(run, r, i), &counts);
                code = inq_map_put(seen, kernel_of(run, r, i), count_in(counts, kind), err);
            }
        }
    }
    return code;
}

/* The first (`last`: the last) item of a stretch that only backwards have; s->to: none. */
static size_t find_backward(const struct inq_pipe_run *run, uint32_t r, const struct stretch *s,
                            const struct inq_map *seen, bool last)
{
    size_t found = s->to;
    for (size_t i = s->from; i < s->to && (last || found == s->to); i++) {
        uint32_t counts = 0;
        bool work = run->ranks[r].items[i].kind == INQ_ITEM_COMPUTE;
        if (work && inq_map_get(seen, kernel_of(run, r, i), &counts) && is_of_backwards(counts)) {
            found = i;
        }
    }
    return found;
}

/* The part of a stretch that is a backward: on the last stage it follows the forward, on the others
 * comes before it. What is left of those where kernels of both end them is a forward when it is at
 * least half as long as the work before the first transfer (`forward` items). */
static void find_part(const struct inq_pipe_run *run, uint32_t r, const struct inq_map *seen,
                      size_t forward, struct stretch *s)
{
    const struct inq_pipe_rank *rank = &run->ranks[r];
    uint32_t kind = kind_of_stretch(run, rank, s);
    size_t end = s->to;
    if (kind == IN_FORWARD || kind == IN_NEITHER) {
        s->to = s->from;
    } else if (kind == 0 && rank->stage + 1 == run->n_stages) {
        s->from = find_backward(run, r, s, seen, false);
    } else if (kind == 0) {
        size_t last = find_backward(run, r, s, seen, true);
        bool rest = s->after == NOBODY || 2 * (end - last) > forward;
        s->to = last == end ? s->from : rest ? last + 1 : end;
    }
}

/* Gives the passes of a step without launches threads of their own, in the order of their starts: a
 * receive waits for its data and what follows it for the receive. */
static int type_by_transfers(struct inq_pipe_run *run, struct place blind,
                             const struct inq_map *seen, struct inq_err *err)
{
    struct inq_pipe_rank *rank = &run->ranks[blind.rank];
    size_t from = rank->step_start[blind.step];
    size_t to = rank->step_start[blind.step + 1];
    size_t forward = 0;
    rank->main_thread = rank->main_thread != INQ_NONE ? rank->main_thread : 0;
    for (size_t i = from; i < to; i++) {
        struct inq_pipe_item *item = &rank->items[i];
        bool receive = item->kind == INQ_ITEM_P2P && item->dir == INQ_COLL_RECV;
        item->launch_ns = receive ? item->end_ns : item->start_ns;
        item->thread = rank->main_thread;
    }
    int code =
        inq_sort(rank->items + from, to - from, sizeof *rank->items, compare_items, NULL, err);
    struct stretch s;
    for (size_t at = from, next = 0; next_stretch(run, rank, at, to, &s); at = next) {
        next = s.to;
        forward = s.before == NOBODY ? s.to - s.from : forward;
        find_part(run, blind.rank, seen, forward, &s);
        for (size_t i = s.from; i < s.to; i++) {
            rank->items[i].thread = INQ_NONE;
        }
    }
    return code;
}

/* Marks the steps without launches; whether there are some. */
static bool mark_blind(struct by_lane *x)
{
    struct inq_pipe_run *run = x->run;
    bool any = false;
    for (size_t r = 0; r < run->trace->n_ranks; r++) {
        for (size_t s = 0; s < run->n_steps; s++) {
            bool blind = is_blind(&run->ranks[r], s);
            x->blind[r * run->n_steps + s] = blind;
            any = any || blind;
        }
    }
    return any;
}

static int borrow_all(struct by_lane *x, struct inq_err *err)
{
    struct inq_pipe_run *run = x->run;
    struct inq_map seen = {0};
    int code = sort_by_lane(x, err);
    code = code == INQ_OK ? learn_kernels(run, &seen, err) : code;
    for (uint32_t r = 0; code == INQ_OK && r < run->trace->n_ranks; r++) {
        for (uint32_t s = 0; code == INQ_OK && s < run->n_steps; s++) {
            struct place place = {r, s};
            struct place like;
            if (x->blind[r * run->n_steps + s] && find_like(x, place, &like)) {
                borrow(x, place, like);
            } else if (x->blind[r * run->n_steps + s]) {
                code = type_by_transfers(run, place, &seen, err);
            }
        }
    }
    inq_map_release(&seen);
    for (size_t r = 0; code == INQ_OK && r < run->trace->n_ranks; r++) {
        code = inq_sort(run->ranks[r].items, run->ranks[r].n_items, sizeof *run->ranks[r].items,
                        compare_items, NULL, err);
    }
    return code;
}

/* Gives steps whose launches came before the window those of a step that is like them, else what
 * their transfers tell. */
static int borrow_launches(struct inq_pipe_run *run, struct inq_err *err)
{
    size_t n = run->trace->n_ranks;
    struct by_lane x = {.run = run,
                        .order = inq_mem_zalloc(n + 1, sizeof *x.order),
                        .blind = inq_mem_zalloc(n * run->n_steps + 1, sizeof *x.blind)};
    int code = x.order != NULL && x.blind != NULL ? INQ_OK : no_memory(err);
    if (code == INQ_OK && mark_blind(&x)) {
        code = borrow_all(&x, err);
    }
    for (size_t r = 0; x.order != NULL && r < n; r++) {
        inq_mem_free(x.order[r]);
    }
    inq_mem_free(x.order);
    inq_mem_free(x.blind);
    return code;
}

/* Whether work that was launched after this receive began before it was done: it was posted early,
 * for a later pass. */
static bool is_early(const struct inq_pipe_rank *rank, size_t i)
{
    const struct inq_pipe_item *item = &rank->items[i];
    if (item->kind != INQ_ITEM_P2P || item->dir != INQ_COLL_RECV) {
        return false;
    }
    for (size_t k = i + 1; k < rank->n_items; k++) {
        if (rank->items[k].kind == INQ_ITEM_COMPUTE) {
            return rank->items[k].start_ns < item->end_ns;
        }
    }
    return false;
}

/* When the receives that were posted early were done, in order of time. */
static int find_arrivals(const struct inq_pipe_rank *rank, int64_t **arrivals, size_t *n,
                         struct inq_err *err)
{
    *n = 0;
    *arrivals = inq_mem_alloc((rank->n_items + 1) * sizeof **arrivals);
    if (*arrivals == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu transfers", rank->n_items);
    }
    for (size_t i = 0; i < rank->n_items; i++) {
        if (is_early(rank, i)) {
            (*arrivals)[(*n)++] = rank->items[i].end_ns;
        }
    }
    inq_sort_i64(*arrivals, *n);
    return INQ_OK;
}

/* Runs of kernels of one thread between transfers. A receive that was posted early parts two passes
 * when it is done, if the GPU waited for it. */
static int ops_from_threads(struct inq_pipe_rank *rank, struct inq_err *err)
{
    uint32_t forward = rank->main_thread;
    int64_t *arrivals = NULL;
    int64_t busy_ns = INT64_MIN; /* until when kernels ran */
    size_t n = 0;
    size_t next = 0;
    bool open = false;
    int code = find_arrivals(rank, &arrivals, &n, err);
    for (size_t i = 0; code == INQ_OK && i < rank->n_items; i++) {
        const struct inq_pipe_item *item = &rank->items[i];
        if (item->kind != INQ_ITEM_COMPUTE) {
            open = open && (item->kind != INQ_ITEM_P2P || is_early(rank, i));
            continue;
        }
        for (; next < n && arrivals[next] <= item->start_ns; next++) {
            open = open && arrivals[next] < busy_ns;
        }
        busy_ns = item->end_ns > busy_ns ? item->end_ns : busy_ns;
        uint8_t type = item->thread == forward ? INQ_OP_FORWARD : INQ_OP_BACKWARD;
        struct inq_pipe_op *last = rank->n_ops > 0 ? &rank->ops[rank->n_ops - 1] : NULL;
        if (open && last != NULL && last->type == type && last->step == item->step) {
            widen(last, item);
        } else {
            code = add_op(rank, item, type, -1, 0, err);
            open = true;
        }
    }
    inq_mem_free(arrivals);
    return code;
}

/* What the main thread launches after the last backward is the optimizer's; what it launches before
 * its first transfer and is not followed by one of its own is preparation. */
static void drop_strangers(struct inq_pipe_rank *rank, size_t from, size_t to)
{
    size_t forwards = 0;
    size_t backwards = 0;
    size_t last = to;
    for (size_t i = from; i < to; i++) {
        forwards += rank->ops[i].type == INQ_OP_FORWARD;
        backwards += rank->ops[i].type == INQ_OP_BACKWARD;
        last = rank->ops[i].type == INQ_OP_BACKWARD ? i : last;
    }
    for (size_t i = last + 1; last < to && i < to; i++) {
        rank->ops[i].type = INQ_OP_NONE;
        forwards--;
    }
    if (forwards == backwards + 1 && rank->ops[from].type == INQ_OP_FORWARD) {
        rank->ops[from].type = INQ_OP_NONE;
    }
}

static void number_runs(struct inq_pipe_rank *rank)
{
    for (size_t from = 0; from < rank->n_ops;) {
        size_t to = from;
        while (to < rank->n_ops && rank->ops[to].step == rank->ops[from].step) {
            to++;
        }
        drop_strangers(rank, from, to);
        int32_t next[2] = {0, 0};
        for (size_t i = from; i < to; i++) {
            bool backward = rank->ops[i].type == INQ_OP_BACKWARD;
            if (rank->ops[i].type != INQ_OP_NONE) {
                rank->ops[i].micro_batch = next[backward]++;
            }
        }
        from = to;
    }
    size_t kept = 0;
    for (size_t i = 0; i < rank->n_ops; i++) {
        if (rank->ops[i].type != INQ_OP_NONE) {
            rank->ops[kept++] = rank->ops[i];
        }
    }
    rank->n_ops = kept;
}

/* ---- all ranks ------------------------------------------------------------------------------- */

/* As many backwards as forwards on every rank. */
static bool makes_sense(const struct inq_pipe_rank *rank)
{
    size_t forwards = 0;
    size_t backwards = 0;
    for (size_t i = 0; i < rank->n_ops; i++) {
        forwards += rank->ops[i].type == INQ_OP_FORWARD;
        backwards += inq_op_is_backward(rank->ops[i].type);
    }
    return forwards > 0 && backwards > 0;
}

static int find_by_notes(struct inq_pipe_run *run, bool *found, struct inq_err *err)
{
    int code = INQ_OK;
    *found = true;
    for (size_t r = 0; code == INQ_OK && r < run->trace->n_ranks; r++) {
        struct inq_pipe_rank *rank = &run->ranks[r];
        code = ops_from_notes(run->trace, &run->trace->ranks[r], rank, err);
        *found = *found && makes_sense(rank);
        bool stages = rank->n_ops > 0 && rank->ops[0].chunk >= 0;
        if (code == INQ_OK) {
            code = stages ? chunks_from_stages(rank, err) : chunks_from_repeats(rank, err);
        }
    }
    return code;
}

static int find_by_threads(struct inq_pipe_run *run, bool *found, struct inq_err *err)
{
    *found = true;
    for (size_t r = 0; r < run->trace->n_ranks; r++) {
        run->ranks[r].main_thread = main_thread(&run->ranks[r], run->n_steps);
    }
    int code = borrow_launches(run, err);
    for (size_t r = 0; code == INQ_OK && r < run->trace->n_ranks; r++) {
        code = ops_from_threads(&run->ranks[r], err);
        number_runs(&run->ranks[r]);
        *found = *found && makes_sense(&run->ranks[r]);
    }
    return code;
}

static void forget_ops(struct inq_pipe_run *run)
{
    for (size_t r = 0; r < run->trace->n_ranks; r++) {
        run->ranks[r].n_ops = 0;
    }
}

/* Whether all ranks have passes in at least half of the steps. */
static bool cover_half(const struct inq_pipe_run *run, struct inq_err *err, int *code)
{
    size_t *n = inq_mem_zalloc(run->n_steps, sizeof *n);
    size_t whole = 0;
    *code = n != NULL ? INQ_OK : no_memory(err);
    for (size_t r = 0; n != NULL && r < run->trace->n_ranks; r++) {
        const struct inq_pipe_rank *rank = &run->ranks[r];
        for (size_t i = 0; i < rank->n_ops; i++) { /* in order of their steps */
            n[rank->ops[i].step] += i == 0 || rank->ops[i].step != rank->ops[i - 1].step;
        }
    }
    for (size_t s = 0; n != NULL && s < run->n_steps; s++) {
        whole += n[s] == run->trace->n_ranks;
    }
    inq_mem_free(n);
    return 2 * whole >= run->n_steps;
}

/* Annotations are of launches: where hosts ran ahead, those of some ranks came before the window.
 * Where they leave most steps without passes of some rank, passes are told without them. */
int inq_pipe_find_ops(struct inq_pipe_run *run, bool *found, struct inq_err *err)
{
    bool noted = false;
    int code = INQ_OK;
    if (run->has_notes) {
        code = find_by_notes(run, &noted, err);
        bool cover = code == INQ_OK && noted && cover_half(run, err, &code);
        *found = noted;
        if (code != INQ_OK || cover) {
            return code;
        }
    }
    forget_ops(run);
    run->has_notes = false;
    code = find_by_threads(run, found, err);
    if (code == INQ_OK && !*found && noted) {
        forget_ops(run);
        run->has_notes = true;
        code = find_by_notes(run, found, err);
    }
    return code;
}
