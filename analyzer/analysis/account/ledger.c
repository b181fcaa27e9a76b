/* SPDX-License-Identifier: Apache-2.0 */
/* Level one: every rank's judged cells swept, its waits and parts collected. */
#include "analysis/account/account.h"

#include "analysis/account/steps.h"
#include "analysis/account/sweep.h"
#include "analysis/analysis.h"
#include "analysis/whatif/whatif.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "base/stats.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

/* ---- parts: booked under a key, put in words once at the end -------------------------------- */

struct part {
    uint64_t key; /* class and what it is within it */
    int64_t ns;
};

/* All-zero is empty. */
struct part_book {
    struct part *at;
    size_t n, cap;
    struct inq_map index; /* by key */
};

static void part_book_release(struct part_book *book)
{
    inq_mem_free(book->at);
    inq_map_release(&book->index);
    *book = (struct part_book){0};
}

/* A key: the class, what kind of thing it is, and which one. */
enum { CLASS_SHIFT = 60, THING_SHIFT = 56 };
enum thing {
    THING_COLLECTIVE, /* kind << 32 | group + 1 (0: no group) */
    THING_OP_TYPE,
    THING_RANK,
    THING_NAME, /* of an event, an annotation or a call */
    THING_SHORT_GAP,
    THING_POLLING,
    THING_NOTHING /* not recorded */
};
static const uint64_t WHICH = ((uint64_t)1 << THING_SHIFT) - 1;

/* A range must fill this part of a gap to be named as what the host was in. */
static const double FILLS = 0.5;
/* Ranges nest shallowly: of those that begin before a gap ends so many are looked at. */
enum { LOOK_BACK = 64 };
/* Names of kernels that look like communication: so many are said. */
enum { MOST_SUSPECTS = 3 };

static uint64_t key_of(enum inq_account_class cls, enum thing thing, uint64_t which)
{
    return (uint64_t)cls << CLASS_SHIFT | (uint64_t)thing << THING_SHIFT | (which & WHICH);
}

static enum inq_account_class class_of(uint64_t key)
{
    return (enum inq_account_class)(key >> CLASS_SHIFT);
}

static enum thing thing_of(uint64_t key)
{
    return (enum thing)(key >> THING_SHIFT & 15);
}

/* ---- what the host was in -------------------------------------------------------------------- */

/* Asking whether the GPU is done is no work. */
static bool is_poll(const char *name)
{
    return strcmp(name, "cudaEventQuery") == 0 || strcmp(name, "cudaStreamQuery") == 0 ||
           strcmp(name, "hipEventQuery") == 0 || strcmp(name, "hipStreamQuery") == 0;
}

struct search {
    const struct inq_trace *trace;
    int64_t from_ns, to_ns;
    int64_t best_ns; /* the shortest range that fills most of it */
    inq_str best;    /* 0: none */
    bool polled;
};

static void consider(struct search *s, int64_t start_ns, int64_t dur_ns, inq_str name)
{
    int64_t end_ns = start_ns + dur_ns;
    int64_t from = start_ns > s->from_ns ? start_ns : s->from_ns;
    int64_t to = end_ns < s->to_ns ? end_ns : s->to_ns;
    if ((double)(to - from) > FILLS * (double)(s->to_ns - s->from_ns) &&
        (s->best == 0 || dur_ns < s->best_ns)) {
        s->best = name;
        s->best_ns = dur_ns;
    }
}

/* Number of calls that begin before `ns`. */
static size_t calls_before(const struct inq_calls *calls, int64_t ns)
{
    return inq_first_from_i64(calls->start_ns, 0, calls->n, ns);
}

static size_t notes_before(const struct inq_rank *rank, int64_t ns)
{
    size_t low = 0;
    size_t high = rank->n_notes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rank->notes[middle].start_ns < ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* A host that asks now and then is not polling: between two questions, and before and behind them,
 * lies no more of the range than what would fill it. */
static void search_calls(struct search *s, const struct inq_calls *calls)
{
    size_t n = calls_before(calls, s->to_ns);
    int64_t polled_from_ns = s->to_ns;
    int64_t widest_ns = 0;
    size_t i = n;
    for (; i > 0 && n - i < LOOK_BACK; i--) {
        int64_t start_ns = calls->start_ns[i - 1];
        int64_t end_ns = start_ns + calls->dur_ns[i - 1];
        bool inside = end_ns > s->from_ns;
        if (inside && is_poll(inq_trace_str(s->trace, calls->name[i - 1]))) {
            widest_ns = polled_from_ns - end_ns > widest_ns ? polled_from_ns - end_ns : widest_ns;
            polled_from_ns = start_ns;
        } else if (inside) {
            consider(s, start_ns, calls->dur_ns[i - 1], calls->name[i - 1]);
        }
    }
    bool all = i == 0 || calls->start_ns[i - 1] < s->from_ns; /* else more lie in front */
    if (all && polled_from_ns - s->from_ns > widest_ns) {
        widest_ns = polled_from_ns - s->from_ns;
    }
    s->polled =
        polled_from_ns < s->to_ns && (double)widest_ns <= FILLS * (double)(s->to_ns - s->from_ns);
}

static void search_notes(struct search *s, const struct inq_rank *rank)
{
    size_t n = notes_before(rank, s->to_ns);
    for (size_t i = n; i > 0 && n - i < LOOK_BACK; i--) {
        const struct inq_note *note = &rank->notes[i - 1];
        if (!note->on_gpu && note->kind != INQ_NOTE_STEP) {
            consider(s, note->start_ns, note->dur_ns, note->name);
        }
    }
}

static uint64_t host_key(const struct inq_trace *trace, uint32_t rank,
                         const struct inq_sweep_piece *piece)
{
    struct search s = {.trace = trace, .from_ns = piece->start_ns, .to_ns = piece->end_ns};
    if (piece->launch_ns == INQ_TIME_NONE) { /* of an op table: what it records of the host */
        return key_of(INQ_ACCOUNT_HOST, THING_NAME, trace->ranks[rank].events.name[piece->event]);
    }
    if (piece->end_ns - piece->start_ns < INQ_KERNEL_GAP_NS) {
        return key_of(INQ_ACCOUNT_HOST, THING_SHORT_GAP, 0);
    }
    if (piece->launch_ns > s.from_ns && piece->launch_ns < s.to_ns) {
        s.to_ns = piece->launch_ns;
    }
    search_calls(&s, &trace->ranks[rank].calls);
    search_notes(&s, &trace->ranks[rank]);
    if (s.best != 0) {
        return key_of(INQ_ACCOUNT_HOST, THING_NAME, s.best);
    }
    return key_of(INQ_ACCOUNT_HOST, s.polled ? THING_POLLING : THING_NOTHING, 0);
}

/* ---- booking --------------------------------------------------------------------------------- */

static uint64_t comm_key(const struct inq_trace *trace, uint32_t rank,
                         const struct inq_sweep_piece *piece)
{
    const struct inq_rank *r = &trace->ranks[rank];
    uint32_t label = r->events.label != NULL ? r->events.label[piece->event] : INQ_NONE;
    uint32_t comm = r->events.comm != NULL ? r->events.comm[piece->event] : INQ_NONE;
    if (label != INQ_NONE) {
        return key_of(piece->cls, THING_OP_TYPE, (uint64_t)r->labels[label].type);
    }
    if (piece->fact != NULL && piece->fact->collective != INQ_NONE) {
        const struct inq_collective *c = &trace->collectives[piece->fact->collective];
        return key_of(piece->cls, THING_COLLECTIVE,
                      (uint64_t)c->kind << 32 | (uint32_t)(c->group + 1));
    }
    if (comm >= r->n_comms) {
        return key_of(piece->cls, THING_NAME, r->events.name[piece->event]);
    }
    uint32_t group = r->comms[comm].group;
    return key_of(piece->cls, THING_COLLECTIVE,
                  (uint64_t)r->comms[comm].kind << 32 | (uint32_t)(group + 1));
}

static uint64_t piece_key(const struct inq_trace *trace, uint32_t rank,
                          const struct inq_sweep_piece *piece)
{
    switch (piece->cls) {
    case INQ_ACCOUNT_TRANSFER:
    case INQ_ACCOUNT_COMM:
        return comm_key(trace, rank, piece);
    case INQ_ACCOUNT_WAIT:
    case INQ_ACCOUNT_DEPENDENCY:
        return key_of(piece->cls, THING_RANK, piece->fact->waited_for);
    case INQ_ACCOUNT_HOST:
        return host_key(trace, rank, piece);
    case INQ_ACCOUNT_IDLE:
        return key_of(piece->cls, piece->short_gap ? THING_SHORT_GAP : THING_NOTHING, 0);
    case INQ_ACCOUNT_COMPUTE:
    case INQ_ACCOUNT_UNCLASSIFIED:
    case INQ_ACCOUNT_COPY:
    case INQ_ACCOUNT_CLASS_COUNT:
        break;
    }
    return key_of(piece->cls, THING_NAME, trace->ranks[rank].events.name[piece->event]);
}

static int book_ns(struct part_book *book, uint64_t key, int64_t ns, struct inq_err *err)
{
    uint32_t at;
    if (inq_map_get(&book->index, key, &at)) {
        book->at[at].ns += ns;
        return INQ_OK;
    }
    int code =
        inq_mem_grow(&book->at, &book->cap, book->n + 1, sizeof(*book->at), INQ_NONE - 1, err);
    if (code == INQ_OK) {
        code = inq_map_put(&book->index, key, (uint32_t)book->n, err);
    }
    if (code == INQ_OK) {
        book->at[book->n++] = (struct part){key, ns};
    }
    return code;
}

static int join(struct part_book *into, const struct part_book *from, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < from->n; i++) {
        code = book_ns(into, from->at[i].key, from->at[i].ns, err);
    }
    return code;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* What a call or an annotation of the host is for; the name itself where that is not known. */
static const char *host_words(const char *name)
{
    switch (inq_host_kind_of(name)) {
    case INQ_HOST_DATA:
        return INQ_ACCOUNT_DATA_LOADING;
    case INQ_HOST_SYNCHRONIZE:
        return "synchronization";
    case INQ_HOST_MEMORY:
        return INQ_ACCOUNT_ALLOCATION;
    case INQ_HOST_COLLECTION:
        return INQ_ACCOUNT_COLLECTION;
    case INQ_HOST_COPY:
        return "copy calls";
    case INQ_HOST_LAUNCH:
        return "kernel launches";
    case INQ_HOST_OTHER:
        break;
    }
    return name;
}

static const char *collective_words(const struct inq_trace *trace, uint64_t key,
                                    struct inq_arena *arena)
{
    enum inq_coll_kind kind = (enum inq_coll_kind)((key & WHICH) >> 32);
    uint32_t group = (uint32_t)(key & UINT32_MAX) - 1;
    const char *what = kind != INQ_COLL_UNKNOWN ? inq_coll_kind_text(kind) : "communication";
    if (group >= trace->n_groups) {
        return inq_arena_strdup(arena, what);
    }
    const struct inq_group *g = &trace->groups[group];
    const char *name = inq_trace_str(trace, g->name);
    return name[0] != '\0' ? inq_arena_asprintf(arena, "%s, group %s", what, name)
           : g->size > 0   ? inq_arena_asprintf(arena, "%s, group of %d", what, g->size)
                           : inq_arena_strdup(arena, what);
}

static const char *words_of(const struct inq_trace *trace, uint64_t key, struct inq_arena *arena)
{
    bool host = class_of(key) == INQ_ACCOUNT_HOST;
    uint32_t which = (uint32_t)(key & WHICH);
    const char *name;
    switch (thing_of(key)) {
    case THING_COLLECTIVE:
        return collective_words(trace, key, arena);
    case THING_OP_TYPE:
        return inq_op_type_text((enum inq_op_type)which);
    case THING_RANK:
        return which < trace->n_ranks
                   ? inq_arena_asprintf(arena, "rank %s",
                                        inq_trace_str(trace, trace->ranks[which].label))
                   : "a rank without a trace";
    case THING_NAME:
        name = inq_trace_str(trace, which);
        return host ? host_words(name) : name;
    case THING_SHORT_GAP:
        return host ? "between launches" : "scheduling of kernels";
    case THING_POLLING:
        return "polling";
    case THING_NOTHING:
        break;
    }
    return "not recorded";
}

static int by_class_and_words(const void *a, const void *b, void *ctx)
{
    const struct inq_account_part *x = a;
    const struct inq_account_part *y = b;
    (void)ctx;
    return x->cls != y->cls ? (x->cls > y->cls) - (x->cls < y->cls) : strcmp(x->what, y->what);
}

static int by_class_and_time(const void *a, const void *b, void *ctx)
{
    const struct inq_account_part *x = a;
    const struct inq_account_part *y = b;
    (void)ctx;
    if (x->cls != y->cls) {
        return (x->cls > y->cls) - (x->cls < y->cls);
    }
    return (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
}

/* Different names can have the same words. */
static int merge_alike(struct inq_account *account, struct inq_err *err)
{
    int code = inq_sort(account->parts, account->n_parts, sizeof(*account->parts),
                        by_class_and_words, NULL, err);
    size_t n = 0;
    for (size_t i = 0; code == INQ_OK && i < account->n_parts; i++) {
        if (n > 0 && by_class_and_words(&account->parts[n - 1], &account->parts[i], NULL) == 0) {
            account->parts[n - 1].total_ns += account->parts[i].total_ns;
        } else {
            account->parts[n++] = account->parts[i];
        }
    }
    account->n_parts = n;
    return code;
}

static int list(const struct part_book *book, struct inq_account *account, struct inq_arena *arena,
                struct inq_err *err)
{
    account->parts = inq_arena_array(arena, book->n, sizeof(*account->parts));
    if (account->parts == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for the parts of the account");
    }
    for (size_t i = 0; i < book->n; i++) {
        const char *what = words_of(account->trace, book->at[i].key, arena);
        if (what == NULL) {
            return inq_err_set(err, INQ_NOMEM, "no memory for the parts of the account");
        }
        account->parts[account->n_parts++] =
            (struct inq_account_part){class_of(book->at[i].key), what, book->at[i].ns};
    }
    int code = merge_alike(account, err);
    return code == INQ_OK ? inq_sort(account->parts, account->n_parts, sizeof(*account->parts),
                                     by_class_and_time, NULL, err)
                          : code;
}

static int name_candidates(const struct part_book *book, struct inq_account *account,
                           struct inq_arena *arena, struct inq_err *err)
{
    const char *names = "";
    size_t n = 0;
    for (size_t i = 0; names != NULL && i < book->n && n < MOST_SUSPECTS; i++) {
        uint64_t key = book->at[i].key;
        uint32_t name = (uint32_t)(key & WHICH);
        if (class_of(key) == INQ_ACCOUNT_UNCLASSIFIED &&
            account->facts->kinds.of_name[name] == INQ_NAME_LOOKS_COMM) {
            names = inq_arena_asprintf(arena, "%s%s%s", names, n > 0 ? ", " : "",
                                       inq_trace_str(account->trace, name));
            n++;
        }
    }
    account->looks_like_comm = names != NULL ? names : "";
    return names != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "no memory for names");
}

static int report_parts(const struct part_book *const *books, size_t n, struct inq_account *account,
                        struct inq_arena *arena, struct inq_err *err)
{
    struct part_book all = {0};
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        code = join(&all, books[i], err);
    }
    if (code == INQ_OK) {
        code = list(&all, account, arena, err);
    }
    if (code == INQ_OK) {
        code = name_candidates(&all, account, arena, err);
    }
    part_book_release(&all);
    return code;
}

/* ---- the ledger of all ranks ----------------------------------------------------------------- */

/* A stretch in which the GPU waits for its host, and what the host was in. */
struct pause {
    uint64_t key;
    int64_t ns;
};

/* What one rank's sweep gives. */
struct rank_part {
    struct inq_interval *windows; /* its judged cells, .. */
    uint32_t *steps;              /* .. their steps .. */
    struct pause *pauses;         /* .. and the longest pause of each; ns 0: none */
    struct inq_sweep_sum *sums;
    size_t n;
    struct inq_account_wait *waits;
    size_t n_waits, cap_waits;
    struct part_book parts;
};

struct ledger {
    struct inq_account *account;
    struct rank_part *ranks; /* [n_ranks] */
};

/* A visit of one rank. */
struct visit {
    const struct ledger *ledger;
    struct rank_part *part;
    uint32_t rank;
};

/* ---- one rank -------------------------------------------------------------------------------- */

static int list_windows(const struct inq_account *account, size_t rank, struct rank_part *part,
                        struct inq_err *err)
{
    size_t room = account->n_steps + 1;
    part->windows = inq_mem_alloc(room * sizeof(*part->windows));
    part->steps = inq_mem_alloc(room * sizeof(*part->steps));
    part->pauses = inq_mem_zalloc(room, sizeof(*part->pauses));
    part->sums = inq_mem_alloc(room * sizeof(*part->sums));
    if (part->windows == NULL || part->steps == NULL || part->pauses == NULL ||
        part->sums == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", account->n_steps);
    }
    for (size_t s = 0; s < account->n_steps; s++) {
        const struct inq_account_cell *cell = inq_account_cell_at(account, rank, s);
        if (cell->judged) {
            part->steps[part->n] = (uint32_t)s;
            part->windows[part->n++] = (struct inq_interval){cell->start_ns, cell->end_ns};
        }
    }
    return INQ_OK;
}

static void release_part(struct rank_part *part)
{
    inq_mem_free(part->windows);
    inq_mem_free(part->steps);
    inq_mem_free(part->pauses);
    inq_mem_free(part->sums);
    inq_mem_free(part->waits);
    part_book_release(&part->parts);
    *part = (struct rank_part){0};
}

/* A stretch that follows the one before without a gap, for the same reason, is part of it. */
static int add_wait(struct visit *v, const struct inq_sweep_piece *piece, struct inq_err *err)
{
    struct rank_part *part = v->part;
    struct inq_account_wait wait = {.rank = v->rank,
                                    .step = part->steps[piece->window],
                                    .waited_for = piece->fact->waited_for,
                                    .collective = piece->fact->collective,
                                    .event = piece->event,
                                    .cause = INQ_NONE, /* known once there are findings */
                                    .cls = piece->cls,
                                    .start_ns = piece->start_ns,
                                    .end_ns = piece->end_ns};
    struct inq_account_wait *last = part->n_waits > 0 ? &part->waits[part->n_waits - 1] : NULL;
    if (last != NULL && last->end_ns == wait.start_ns && last->event == wait.event &&
        last->cls == wait.cls && last->step == wait.step) {
        last->end_ns = wait.end_ns;
        return INQ_OK;
    }
    int code = inq_mem_grow(&part->waits, &part->cap_waits, part->n_waits + 1, sizeof(*part->waits),
                            SIZE_MAX / 64, err);
    if (code == INQ_OK) {
        part->waits[part->n_waits++] = wait;
    }
    return code;
}

static int add_part(struct visit *v, const struct inq_sweep_piece *piece, struct inq_err *err)
{
    if (piece->cls == INQ_ACCOUNT_COMPUTE) {
        return INQ_OK;
    }
    struct pause part = {piece_key(v->ledger->account->trace, v->rank, piece),
                         piece->end_ns - piece->start_ns};
    struct pause *longest = &v->part->pauses[piece->window];
    if (piece->cls == INQ_ACCOUNT_HOST && part.ns > longest->ns) {
        *longest = part;
    }
    return book_ns(&v->part->parts, part.key, part.ns, err);
}

static int take_piece(void *ctx, const struct inq_sweep_piece *piece, struct inq_err *err)
{
    int code = INQ_OK;
    if (piece->cls == INQ_ACCOUNT_WAIT || piece->cls == INQ_ACCOUNT_DEPENDENCY) {
        code = add_wait(ctx, piece, err);
    }
    return code == INQ_OK ? add_part(ctx, piece, err) : code;
}

static struct inq_sweep_job job_of(const struct inq_account *account, uint32_t rank,
                                   const struct rank_part *part)
{
    return (struct inq_sweep_job){.rank = &account->trace->ranks[rank],
                                  .index = rank,
                                  .facts = account->facts,
                                  .op_table = account->op_table,
                                  .windows = part->windows,
                                  .n = part->n};
}

static int measure_rank(void *ctx, size_t r, struct inq_err *err)
{
    struct ledger *l = ctx;
    struct rank_part *part = &l->ranks[r];
    struct visit v = {l, part, (uint32_t)r};
    int code = list_windows(l->account, r, part, err);
    if (code != INQ_OK) {
        return code;
    }
    struct inq_sweep_job job = job_of(l->account, (uint32_t)r, part);
    job.visit = take_piece;
    job.ctx = &v;
    code = inq_sweep(&job, part->sums, err);
    for (size_t w = 0; code == INQ_OK && w < part->n; w++) {
        struct inq_account_cell *cell =
            &l->account->cells[r * l->account->n_steps + part->steps[w]];
        memcpy(cell->ns, part->sums[w].ns, sizeof(cell->ns));
    }
    return code;
}

/* ---- all ranks ------------------------------------------------------------------------------- */

static int join_waits(struct ledger *l, struct inq_arena *arena, struct inq_err *err)
{
    struct inq_account *account = l->account;
    size_t n = 0;
    for (size_t r = 0; r < account->n_ranks; r++) {
        n += l->ranks[r].n_waits;
    }
    account->waits = inq_arena_array(arena, n, sizeof(*account->waits));
    if (account->waits == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu waits", n);
    }
    for (size_t r = 0; r < account->n_ranks; r++) {
        const struct rank_part *part = &l->ranks[r];
        if (part->n_waits > 0) {
            memcpy(account->waits + account->n_waits, part->waits,
                   part->n_waits * sizeof(*part->waits));
            account->n_waits += part->n_waits;
        }
    }
    return INQ_OK;
}

static int join_parts(struct ledger *l, struct inq_arena *arena, struct inq_err *err)
{
    const struct part_book **books = inq_mem_alloc((l->account->n_ranks + 1) * sizeof(*books));
    if (books == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", l->account->n_ranks);
    }
    for (size_t r = 0; r < l->account->n_ranks; r++) {
        books[r] = &l->ranks[r].parts;
    }
    int code = report_parts(books, l->account->n_ranks, l->account, arena, err);
    inq_mem_free(books);
    return code;
}

/* Of each step the longest pause on any rank. */
static int join_pauses(struct ledger *l, struct inq_arena *arena, struct inq_err *err)
{
    struct inq_account *account = l->account;
    for (size_t r = 0; r < account->n_ranks; r++) {
        for (size_t w = 0; w < l->ranks[r].n; w++) {
            const struct pause *pause = &l->ranks[r].pauses[w];
            struct inq_account_step *step = &account->steps[l->ranks[r].steps[w]];
            if (pause->ns > step->pause_ns) {
                step->pause_ns = pause->ns;
                step->pause_in = words_of(account->trace, pause->key, arena);
            }
            if (step->pause_in == NULL) {
                return inq_err_set(err, INQ_NOMEM, "no memory for the pauses of the account");
            }
        }
    }
    return INQ_OK;
}

static void sum_cells(struct inq_account *account)
{
    for (size_t i = 0; i < account->n_ranks * account->n_steps; i++) {
        const struct inq_account_cell *cell = &account->cells[i];
        int64_t *rank_ns = &account->rank_ns[i / account->n_steps * INQ_ACCOUNT_CLASS_COUNT];
        for (int c = 0; cell->judged && c < INQ_ACCOUNT_CLASS_COUNT; c++) {
            account->total_ns[c] += cell->ns[c];
            rank_ns[c] += cell->ns[c];
            account->rank_time_ns += cell->ns[c];
        }
    }
}

/* T and its classes in whole ns: those with the largest remainders get the ns that rounding down
 * left over. */
static void round_classes(struct inq_account *account)
{
    int64_t cells = (int64_t)(account->ranks_judged * account->steps_judged);
    if (cells == 0) {
        return;
    }
    account->t_ns = account->rank_time_ns / cells;
    int64_t left = account->t_ns;
    for (int c = 0; c < INQ_ACCOUNT_CLASS_COUNT; c++) {
        account->class_ns[c] = account->total_ns[c] / cells;
        left -= account->class_ns[c];
    }
    bool taken[INQ_ACCOUNT_CLASS_COUNT] = {false};
    for (; left > 0; left--) {
        int best = -1;
        for (int c = 0; c < INQ_ACCOUNT_CLASS_COUNT; c++) {
            bool more = best < 0 || account->total_ns[c] % cells > account->total_ns[best] % cells;
            best = !taken[c] && more ? c : best;
        }
        taken[best] = true;
        account->class_ns[best]++;
    }
}

/* Times of a hostile trace need not fit: then nothing is judged. */
static void drop_overlong(struct inq_account *account)
{
    int64_t sum = 0;
    bool fits = true;
    for (size_t i = 0; i < account->n_ranks * account->n_steps; i++) {
        const struct inq_account_cell *cell = &account->cells[i];
        int64_t length;
        fits = fits &&
               (!cell->judged || (!__builtin_sub_overflow(cell->end_ns, cell->start_ns, &length) &&
                                  !__builtin_add_overflow(sum, length, &sum)));
    }
    for (size_t i = 0; !fits && i < account->n_ranks * account->n_steps; i++) {
        account->cells[i].judged = false;
    }
    account->steps_judged = fits ? account->steps_judged : 0;
}

static int measure(struct ledger *l, int jobs, struct inq_arena *arena, struct inq_err *err)
{
    struct inq_account *account = l->account;
    l->ranks = inq_mem_zalloc(account->n_ranks + 1, sizeof(*l->ranks));
    account->rank_ns = inq_arena_array(arena, account->n_ranks * INQ_ACCOUNT_CLASS_COUNT + 1,
                                       sizeof(*account->rank_ns));
    if (l->ranks == NULL || account->rank_ns == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", account->n_ranks);
    }
    int code = inq_par_for(account->n_ranks, jobs, measure_rank, l, err);
    if (code == INQ_OK) {
        sum_cells(account);
        round_classes(account);
        code = join_waits(l, arena, err);
    }
    if (code == INQ_OK) {
        code = join_pauses(l, arena, err);
    }
    return code == INQ_OK ? join_parts(l, arena, err) : code;
}

int inq_account_measure(const struct inq_trace *trace, const struct inq_op_model *model, int jobs,
                        struct inq_arena *arena, struct inq_account **account, struct inq_err *err)
{
    struct inq_account *made = inq_arena_alloc(arena, sizeof(*made));
    if (made == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for the account");
    }
    *made = (struct inq_account){.trace = trace,
                                 .t_ns = -1,
                                 .looks_like_comm = "",
                                 .unexplained_wait_ns = -1,
                                 .ideal_ns = -1,
                                 .residual_ns = -1,
                                 .base_error = (double)NAN,
                                 .gains_problem = ""};
    struct ledger l = {.account = made};
    int code = inq_account_rebase_steps(made, model, jobs, arena, err);
    if (code == INQ_OK) {
        drop_overlong(made);
        code =
            inq_account_find_facts(trace, made->op_table ? model : NULL, arena, &made->facts, err);
    }
    if (code == INQ_OK) {
        code = measure(&l, jobs, arena, err);
    }
    for (size_t r = 0; l.ranks != NULL && r < made->n_ranks; r++) {
        release_part(&l.ranks[r]);
    }
    inq_mem_free(l.ranks);
    *account = made;
    return code;
}

/* ---- the analysis -----------------------------------------------------------------------------
 */

/* When the first rank that has the step whole began it. Marks are the host's, which may run ahead.
 */
static int64_t first_start(const struct inq_account *account, size_t s)
{
    int64_t first_ns = INQ_TIME_NONE;

    for (size_t r = 0; r < account->n_ranks; r++) {
        const struct inq_account_cell *cell = inq_account_cell_at(account, r, s);
        bool earlier = first_ns == INQ_TIME_NONE || cell->start_ns < first_ns;
        first_ns = cell->whole && account->rank_judged[r] && earlier ? cell->start_ns : first_ns;
    }
    if (first_ns == INQ_TIME_NONE && s < account->trace->n_steps) {
        first_ns = account->trace->steps[s].start_ns;
    }
    return first_ns;
}

/* The begins and lengths of the steps, and the median length of those that are judged. */
static int fill_steps(const struct inq_account *account, struct inq_report *report,
                      struct inq_err *err)
{
    int64_t *judged = inq_mem_alloc((account->n_steps + 1) * sizeof(*judged));
    size_t n = 0;

    report->step_ns = inq_arena_array(report->arena, account->n_steps, sizeof(*report->step_ns));
    report->step_start_ns =
        inq_arena_array(report->arena, account->n_steps, sizeof(*report->step_start_ns));
    if (judged == NULL || report->step_ns == NULL || report->step_start_ns == NULL) {
        inq_mem_free(judged);
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", account->n_steps);
    }
    for (size_t s = 0; s < account->n_steps; s++) {
        report->step_ns[s] = account->steps[s].length_ns;
        report->step_start_ns[s] = first_start(account, s);
        if (account->steps[s].judged) {
            judged[n++] = account->steps[s].length_ns;
        }
    }
    report->step_ns_median = n > 0 ? inq_median_i64(judged, n) : -1;
    inq_mem_free(judged);
    return INQ_OK;
}

int inq_run_account(const struct inq_trace *trace, const struct inq_analysis_options *options,
                    struct inq_report *report, struct inq_err *err)
{
    const struct inq_op_model *model = NULL;
    struct inq_account *account = NULL;
    int code =
        inq_trace_has_labels(trace) ? inq_op_model_shared(trace, report, &model, err) : INQ_OK;
    if (code == INQ_OK) {
        code = inq_account_measure(trace, model, options->jobs, report->arena, &account, err);
    }
    if (code == INQ_OK && trace->n_steps > 0) {
        code = fill_steps(account, report, err);
    }
    if (code == INQ_OK && account->t_ns >= 0) {
        report->account = account;
    }
    return code;
}

/* ---- spans ----------------------------------------------------------------------------------- */

struct span_list {
    const uint32_t *steps;
    struct inq_ledger_span *at;
    size_t n, cap;
};

/* Compute that goes on is one span, whatever kernels it is of. */
static int add_span(void *ctx, const struct inq_sweep_piece *piece, struct inq_err *err)
{
    struct span_list *list = ctx;
    struct inq_ledger_span span = {
        .start_ns = piece->start_ns,
        .end_ns = piece->end_ns,
        .step = list->steps[piece->window],
        .waited_for = piece->fact != NULL ? piece->fact->waited_for : INQ_NONE,
        .collective = piece->fact != NULL ? piece->fact->collective : INQ_NONE,
        .event = piece->event,
        .cls = piece->cls};
    struct inq_ledger_span *last = list->n > 0 ? &list->at[list->n - 1] : NULL;
    if (last != NULL && last->end_ns == span.start_ns && last->step == span.step &&
        last->cls == span.cls && (span.event == last->event || span.cls == INQ_ACCOUNT_COMPUTE)) {
        last->end_ns = span.end_ns;
        last->event = span.event;
        return INQ_OK;
    }
    int code =
        inq_mem_grow(&list->at, &list->cap, list->n + 1, sizeof(*list->at), SIZE_MAX / 64, err);
    if (code == INQ_OK) {
        list->at[list->n++] = span;
    }
    return code;
}

int inq_ledger_spans(const struct inq_account *account, uint32_t rank,
                     struct inq_ledger_span **spans, size_t *n, struct inq_err *err)
{
    struct rank_part part = {0};
    struct span_list list = {0};
    int code = list_windows(account, rank, &part, err);
    if (code == INQ_OK) {
        list.steps = part.steps;
        struct inq_sweep_job job = job_of(account, rank, &part);
        job.visit = add_span;
        job.ctx = &list;
        code = inq_sweep(&job, part.sums, err);
    }
    release_part(&part);
    if (code != INQ_OK) {
        inq_mem_free(list.at);
        return code;
    }
    *spans = list.at;
    *n = list.n;
    return INQ_OK;
}
