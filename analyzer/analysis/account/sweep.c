/* SPDX-License-Identifier: Apache-2.0 */
/* Between two moments at which something begins, the state of the GPU is given by how far the work
 * of each slot reaches. */
#include "analysis/account/sweep.h"

#include "analysis/measure/measure.h"
#include "base/mem.h"
#include "base/sort.h"
#include "inquest/analysis.h"

/* What runs, in the order in which an instant is given away. */
enum slot { COMPUTE, UNCLASSIFIED, TRANSFER, WAIT, COMM, COPY, SLOTS };

static const enum inq_account_class class_of_slot[SLOTS] = {
    INQ_ACCOUNT_COMPUTE, INQ_ACCOUNT_UNCLASSIFIED, INQ_ACCOUNT_TRANSFER,
    INQ_ACCOUNT_WAIT,    INQ_ACCOUNT_COMM,         INQ_ACCOUNT_COPY};

struct work {
    int64_t end_ns; /* of the one that reaches farthest */
    uint32_t event;
    const struct inq_fact *fact;
};

/* A transfer that begins when its last member arrives. */
struct later {
    int64_t start_ns;
    struct work work;
};

/* A gap whose cause is not settled until all ops that end it are known. */
struct gap {
    int64_t begin_ns, end_ns;
    int64_t launch_ns; /* earliest of the ops that end it; INQ_TIME_NONE: none recorded */
    uint32_t event;    /* first op that ends it; INQ_NONE: none */
    const struct inq_fact *fact;
};

struct host_op {
    int64_t start_ns, end_ns;
    uint32_t event; /* of the rank */
};

struct sweep {
    const struct inq_sweep_job *job;
    struct inq_sweep_sum *sums;
    size_t first; /* windows before it lie behind the sweep */
    int64_t at;   /* everything before this is accounted for */
    struct work reach[SLOTS];
    struct gap gap;      /* begin < end: one is open */
    struct later *later; /* by start */
    size_t n_later, cap_later;
    bool *compute_lane;       /* NULL: every kernel computes */
    struct host_op *host_ops; /* op table: what ran on the host, by start */
    size_t n_host_ops, first_host_op;
    int code;
    struct inq_err *err;
};

static int64_t min2(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max2(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- giving time away ------------------------------------------------------------------------ */

/* Gives [start, end) of the piece to its class in each window that it lies in. */
static void credit(struct sweep *s, struct inq_sweep_piece piece)
{
    const struct inq_interval *windows = s->job->windows;
    int64_t from = piece.start_ns;
    int64_t to = piece.end_ns;
    for (size_t w = s->first; from < to && w < s->job->n && windows[w].start < to; w++) {
        piece.start_ns = max2(from, windows[w].start);
        piece.end_ns = min2(to, windows[w].end);
        piece.window = w;
        if (piece.start_ns >= piece.end_ns) {
            continue;
        }
        s->sums[w].ns[piece.cls] += piece.end_ns - piece.start_ns;
        s->sums[w].idle_kernel_ns += piece.short_gap ? piece.end_ns - piece.start_ns : 0;
        if (s->job->visit != NULL && s->code == INQ_OK) {
            s->code = s->job->visit(s->job->ctx, &piece, s->err);
        }
    }
}

/* Adds what [from, to) has in each window to the field at `offset` of its sum. */
static void add(struct sweep *s, int64_t from, int64_t to, size_t offset)
{
    const struct inq_interval *windows = s->job->windows;
    for (size_t w = s->first; from < to && w < s->job->n && windows[w].start < to; w++) {
        int64_t ns = min2(to, windows[w].end) - max2(from, windows[w].start);
        if (ns > 0) {
            *(int64_t *)(void *)((char *)&s->sums[w] + offset) += ns;
        }
    }
}

/* Windows that end at or before `ns` get nothing any more. */
static void leave_windows(struct sweep *s, int64_t ns)
{
    while (s->first < s->job->n && s->job->windows[s->first].end <= ns) {
        s->first++;
    }
}

/* The sum of the window that holds the moment before `ns`. */
static struct inq_sweep_sum *sum_of(struct sweep *s, int64_t ns)
{
    const struct inq_interval *windows = s->job->windows;
    for (size_t w = s->first; w < s->job->n && windows[w].start < ns; w++) {
        if (ns <= windows[w].end) {
            return &s->sums[w];
        }
    }
    return NULL;
}

/* ---- gaps ------------------------------------------------------------------------------------ */

static struct inq_sweep_piece idle_piece(const struct gap *gap, int64_t from, int64_t to,
                                         enum inq_account_class cls)
{
    return (struct inq_sweep_piece){.start_ns = from,
                                    .end_ns = to,
                                    .cls = cls,
                                    .event = gap->event,
                                    .launch_ns = INQ_TIME_NONE};
}

/* Idle time of an op table: the host at work there (loading data, collecting garbage), else not
 * recorded. */
static void settle_unlaunched(struct sweep *s, const struct gap *gap, int64_t from)
{
    const struct host_op *ops = s->host_ops;
    while (s->first_host_op < s->n_host_ops && ops[s->first_host_op].end_ns <= from) {
        s->first_host_op++;
    }
    for (size_t i = s->first_host_op; i < s->n_host_ops && ops[i].start_ns < gap->end_ns; i++) {
        int64_t begin = max2(from, ops[i].start_ns);
        int64_t end = min2(gap->end_ns, ops[i].end_ns);
        if (begin < end) { /* else another op covers it */
            struct inq_sweep_piece piece = idle_piece(gap, begin, end, INQ_ACCOUNT_HOST);
            piece.event = ops[i].event;
            credit(s, idle_piece(gap, from, begin, INQ_ACCOUNT_IDLE));
            credit(s, piece);
            from = end;
        }
    }
    credit(s, idle_piece(gap, from, gap->end_ns, INQ_ACCOUNT_IDLE));
}

static void settle_launched(struct sweep *s, const struct gap *gap, int64_t from)
{
    bool late = gap->launch_ns != INQ_TIME_NONE && gap->launch_ns > gap->begin_ns;
    struct inq_sweep_piece piece =
        idle_piece(gap, from, gap->end_ns, late ? INQ_ACCOUNT_HOST : INQ_ACCOUNT_IDLE);
    piece.launch_ns = late ? gap->launch_ns : INQ_TIME_NONE;
    piece.short_gap = !late && gap->end_ns - gap->begin_ns < INQ_KERNEL_GAP_NS;
    credit(s, piece);
    struct inq_sweep_sum *in = late ? sum_of(s, gap->end_ns) : NULL;
    if (in != NULL) { /* counted once, where it ends */
        in->host_gaps++;
        in->host_late_ns += min2(gap->launch_ns, gap->end_ns) - gap->begin_ns;
    }
}

static void settle_gap(struct sweep *s)
{
    struct gap gap = s->gap;
    if (gap.begin_ns >= gap.end_ns) {
        return;
    }
    int64_t from = gap.begin_ns;
    if (gap.fact != NULL && gap.fact->kind == INQ_FACT_DEPENDENCY) {
        struct inq_sweep_piece piece =
            idle_piece(&gap, from, min2(gap.fact->arrival_ns, gap.end_ns), INQ_ACCOUNT_DEPENDENCY);
        piece.fact = gap.fact;
        credit(s, piece);
        from = max2(from, piece.end_ns);
    }
    if (s->job->op_table) {
        settle_unlaunched(s, &gap, from);
    } else {
        settle_launched(s, &gap, from);
    }
    s->gap.begin_ns = s->gap.end_ns;
}

/* ---- moving on ------------------------------------------------------------------------------- */

/* Accounts for [s->at, to), during which nothing begins; what no slot covers opens a gap. */
static void advance(struct sweep *s, int64_t to)
{
    int64_t from = s->at;
    int64_t compute = max2(s->reach[COMPUTE].end_ns, s->reach[UNCLASSIFIED].end_ns);
    int64_t comm = max2(s->reach[TRANSFER].end_ns, s->reach[WAIT].end_ns);
    comm = min2(max2(comm, s->reach[COMM].end_ns), to);
    add(s, from, comm, offsetof(struct inq_sweep_sum, comm_ns));
    add(s, from, min2(compute, comm), offsetof(struct inq_sweep_sum, comm_overlap_ns));
    for (int slot = 0; slot < SLOTS; slot++) {
        const struct work *work = &s->reach[slot];
        int64_t end = min2(work->end_ns, to);
        if (end > from) {
            credit(s, (struct inq_sweep_piece){.start_ns = from,
                                               .end_ns = end,
                                               .cls = class_of_slot[slot],
                                               .event = work->event,
                                               .fact = work->fact,
                                               .launch_ns = INQ_TIME_NONE});
            from = end;
        }
    }
    if (from < to) {
        s->gap = (struct gap){from, to, INQ_TIME_NONE, INQ_NONE, NULL};
    }
    s->at = to;
}

static void move_to(struct sweep *s, int64_t ns)
{
    if (ns > s->at) {
        settle_gap(s);
        leave_windows(s, s->at);
        advance(s, ns);
    }
}

static void occupy(struct sweep *s, enum slot slot, struct work work)
{
    if (work.end_ns > s->reach[slot].end_ns) {
        s->reach[slot] = work;
    }
}

/* Transfers whose last member arrives by `ns`. */
static void begin_transfers(struct sweep *s, int64_t ns)
{
    size_t n = 0;
    while (n < s->n_later && s->later[n].start_ns <= ns) {
        move_to(s, s->later[n].start_ns);
        occupy(s, TRANSFER, s->later[n].work);
        n++;
    }
    for (size_t i = n; n > 0 && i < s->n_later; i++) {
        s->later[i - n] = s->later[i];
    }
    s->n_later -= n;
}

static void begin_later(struct sweep *s, int64_t start_ns, struct work work)
{
    int code =
        inq_mem_grow(&s->later, &s->cap_later, s->n_later + 1, sizeof(*s->later), INQ_NONE, s->err);
    if (code != INQ_OK) {
        s->code = code;
        return;
    }
    size_t at = s->n_later++;
    while (at > 0 && s->later[at - 1].start_ns > start_ns) {
        s->later[at] = s->later[at - 1];
        at--;
    }
    s->later[at] = (struct later){start_ns, work};
}

/* ---- events ---------------------------------------------------------------------------------- */

static enum slot slot_of_kernel(const struct sweep *s, uint32_t row)
{
    const struct inq_events *e = &s->job->rank->events;
    if (s->compute_lane == NULL || e->kind[row] != INQ_EVENT_KERNEL) {
        return COMPUTE;
    }
    uint8_t kind = s->job->facts->kinds.of_name[e->name[row]];
    bool computes =
        kind == INQ_NAME_COMPUTES || (kind == INQ_NAME_SILENT && s->compute_lane[e->lane[row]]);
    return computes ? COMPUTE : UNCLASSIFIED;
}

static void begin_comm(struct sweep *s, int64_t start_ns, struct work work)
{
    const struct inq_fact *fact = work.fact;
    if (fact == NULL || fact->kind == INQ_FACT_UNKNOWN) {
        work.fact = NULL;
        occupy(s, COMM, work);
        return;
    }
    if (fact->arrival_ns <= start_ns) {
        occupy(s, TRANSFER, work);
        return;
    }
    struct work wait = work;
    wait.end_ns = min2(fact->arrival_ns, work.end_ns);
    wait.fact = fact->kind == INQ_FACT_UNSURE ? NULL : fact;
    occupy(s, fact->kind == INQ_FACT_UNSURE ? COMM : WAIT, wait);
    if (fact->arrival_ns < work.end_ns) {
        begin_later(s, fact->arrival_ns, work);
    }
}

/* What the op says about the gap that it ends. */
static void end_gap(struct sweep *s, uint32_t row, const struct inq_fact *fact)
{
    const struct inq_rank *rank = s->job->rank;
    uint32_t call = rank->events.call != NULL ? rank->events.call[row] : INQ_NONE;
    int64_t launch = call < rank->calls.n ? rank->calls.start_ns[call] : INQ_TIME_NONE;
    if (s->gap.event == INQ_NONE) {
        s->gap.event = row;
        s->gap.fact = fact;
    }
    if (launch != INQ_TIME_NONE &&
        (s->gap.launch_ns == INQ_TIME_NONE || launch < s->gap.launch_ns)) {
        s->gap.launch_ns = launch;
    }
}

static void count_work(struct sweep *s, int64_t start_ns, int64_t end_ns)
{
    struct inq_sweep_sum *in = sum_of(s, start_ns + 1);
    if (in == NULL && end_ns == start_ns) { /* an instant at the very end is still in it */
        in = sum_of(s, start_ns);
    }
    if (in != NULL) {
        in->work++;
    }
}

static void take(struct sweep *s, uint32_t row)
{
    const struct inq_events *e = &s->job->rank->events;
    int64_t start = e->start_ns[row];
    struct work work = {start + e->dur_ns[row], row, NULL};
    bool comm = inq_row_class(e, row) == INQ_CLASS_COMM;
    if (s->job->facts != NULL && (comm || s->job->facts->by_event)) {
        work.fact = inq_fact_of(s->job->facts, s->job->index, row);
    }
    begin_transfers(s, start);
    move_to(s, start);
    end_gap(s, row, work.fact);
    count_work(s, start, work.end_ns);
    switch (inq_row_class(e, row)) {
    case INQ_CLASS_COMM:
        begin_comm(s, start, work);
        break;
    case INQ_CLASS_COPY:
        occupy(s, COPY, (struct work){work.end_ns, row, NULL});
        break;
    case INQ_CLASS_COMPUTE:
    case INQ_CLASS_OTHER:
    case INQ_CLASS_COUNT:
        occupy(s, slot_of_kernel(s, row), (struct work){work.end_ns, row, NULL});
        break;
    }
}

/* ---- preparing ------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b, void *ctx)
{
    const struct host_op *x = a;
    const struct host_op *y = b;
    (void)ctx;
    return x->start_ns != y->start_ns ? (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns)
                                      : (x->event > y->event) - (x->event < y->event);
}

/* What an op table records of the host. */
static int find_host_ops(struct sweep *s, struct inq_err *err)
{
    const struct inq_events *e = &s->job->rank->events;
    size_t cap = 0;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && s->job->op_table && i < e->n; i++) {
        if (e->kind[i] == INQ_EVENT_OP && e->cls[i] == INQ_CLASS_OTHER && e->dur_ns[i] > 0) {
            code = inq_mem_grow(&s->host_ops, &cap, s->n_host_ops + 1, sizeof *s->host_ops,
                                INQ_NONE, err);
            if (code == INQ_OK) {
                s->host_ops[s->n_host_ops++] =
                    (struct host_op){e->start_ns[i], e->start_ns[i] + e->dur_ns[i], (uint32_t)i};
            }
        }
    }
    return code == INQ_OK
               ? inq_sort(s->host_ops, s->n_host_ops, sizeof *s->host_ops, by_start, NULL, err)
               : code;
}

/* A stream of which this part of the known work computes is a compute stream: kernels whose names
 * say nothing count as compute there. */
static const double COMPUTE_STREAM = 0.9;

static void mark_compute_lanes(const struct inq_kernel_names *names, const struct inq_rank *rank,
                               double *scratch, bool *lanes)
{
    const struct inq_events *e = &rank->events;
    double *compute = scratch;
    double *known = scratch + rank->n_lanes;
    for (size_t i = 0; i < 2 * rank->n_lanes; i++) {
        scratch[i] = 0.0;
    }
    for (size_t i = 0; i < e->n; i++) {
        bool computes = e->kind[i] == INQ_EVENT_KERNEL && e->cls[i] != INQ_CLASS_COMM &&
                        names->of_name[e->name[i]] == INQ_NAME_COMPUTES;
        bool counts = computes || e->cls[i] == INQ_CLASS_COMM;
        compute[e->lane[i]] += computes ? (double)e->dur_ns[i] : 0.0;
        known[e->lane[i]] += counts ? (double)e->dur_ns[i] : 0.0;
    }
    for (size_t l = 0; l < rank->n_lanes; l++) {
        lanes[l] = known[l] > 0.0 && compute[l] >= COMPUTE_STREAM * known[l];
    }
}

static int find_compute_lanes(struct sweep *s, struct inq_err *err)
{
    const struct inq_rank *rank = s->job->rank;
    if (s->job->facts == NULL || s->job->facts->kinds.all_compute) {
        return INQ_OK;
    }
    double *scratch = inq_mem_alloc((2 * rank->n_lanes + 1) * sizeof(*scratch));
    s->compute_lane = inq_mem_alloc((rank->n_lanes + 1) * sizeof(*s->compute_lane));
    if (scratch != NULL && s->compute_lane != NULL) {
        mark_compute_lanes(&s->job->facts->kinds, rank, scratch, s->compute_lane);
    }
    int code = scratch != NULL && s->compute_lane != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "no memory for %zu lanes", rank->n_lanes);
    inq_mem_free(scratch);
    return code;
}

/* ---- what began before the record ------------------------------------------------------------ */

/* Whether recording began while the GPU was at work: some of it was launched before. */
static bool began_amid_work(const struct inq_rank *rank)
{
    const struct inq_events *e = &rank->events;
    bool amid = false;
    for (size_t i = 0; i < e->n && !amid; i++) {
        amid = inq_row_is_work(e, i) && (e->call == NULL || e->call[i] >= rank->calls.n);
    }
    return amid;
}

/* A receive that was posted before recording began is not in the record, and the GPU seems idle
 * while it runs. It is over when the next transfer on its stream begins, in the first step at the
 * latest: stages that post ahead do so in every step. Until then a GPU without other work may
 * communicate. */
static void assume_posted(struct sweep *s)
{
    const struct inq_rank *rank = s->job->rank;
    const struct inq_events *e = &rank->events;
    if (s->job->op_table || s->job->facts == NULL || !began_amid_work(rank)) {
        return;
    }
    uint32_t seen = INQ_NONE;
    for (size_t i = 0; i < e->n; i++) { /* rows come by lane, and by start in it */
        if (e->lane[i] != seen && inq_row_is_p2p(rank, i)) {
            seen = e->lane[i];
            bool posts = e->start_ns[i] <= s->job->windows[0].end;
            occupy(s, COMM, (struct work){posts ? e->start_ns[i] : INT64_MIN, (uint32_t)i, NULL});
        }
    }
}

static void run(struct sweep *s, struct inq_row_merge *merge)
{
    const struct inq_interval *windows = s->job->windows;
    uint32_t row;
    s->at = windows[0].start;
    s->gap = (struct gap){0, 0, INQ_TIME_NONE, INQ_NONE, NULL};
    for (int slot = 0; slot < SLOTS; slot++) {
        s->reach[slot] = (struct work){INT64_MIN, INQ_NONE, NULL};
    }
    assume_posted(s);
    while (s->code == INQ_OK && inq_row_merge_next(merge, &row)) {
        take(s, row);
    }
    begin_transfers(s, INT64_MAX);
    settle_gap(s);
    leave_windows(s, s->at);
    advance(s, max2(s->at, windows[s->job->n - 1].end));
    settle_gap(s);
}

int inq_sweep(const struct inq_sweep_job *job, struct inq_sweep_sum *sums, struct inq_err *err)
{
    struct sweep s = {.job = job, .sums = sums, .err = err};
    for (size_t w = 0; w < job->n; w++) {
        sums[w] = (struct inq_sweep_sum){0};
    }
    if (job->n == 0) {
        return INQ_OK;
    }
    struct inq_row_merge merge;
    int code = inq_row_merge_init(&merge, &job->rank->events, err);
    if (code == INQ_OK) {
        code = find_host_ops(&s, err);
    }
    if (code == INQ_OK) {
        code = find_compute_lanes(&s, err);
    }
    if (code == INQ_OK) {
        run(&s, &merge);
        code = s.code;
    }
    inq_row_merge_release(&merge);
    inq_mem_free(s.host_ops);
    inq_mem_free(s.compute_lane);
    inq_mem_free(s.later);
    return code;
}
