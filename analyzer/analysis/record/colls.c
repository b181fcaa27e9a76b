/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/record/colls.h"

#include "analysis/comm/comm.h"
#include "analysis/measure/measure.h"
#include "analysis/whatif/whatif.h"
#include "base/mem.h"
#include "trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const size_t MAX_CLASSES = 4096;

/* ---- roles of groups -------------------------------------------------------------------------*/

static const char *named_role(const char *desc)
{
    static const struct {
        const char *word, *role;
    } words[] = {{"data", "DP group"},   {"dp", "DP group"},   {"tensor", "TP group"},
                 {"tp", "TP group"},     {"pipe", "PP group"}, {"pp", "PP group"},
                 {"expert", "EP group"}, {"ep", "EP group"},   {"context", "CP group"},
                 {"model", "MP group"},  {"cp", "CP group"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasestr(desc, words[i].word) != NULL) {
            return words[i].role;
        }
    }
    return NULL;
}

/* What the group is for: by its description, else by how its ranks lie. */
static void role_of(const struct inq_trace *trace, uint32_t index, char *role, size_t size)
{
    static const struct inq_group none = {.size = -1};
    const struct inq_group *group = index < trace->n_groups ? &trace->groups[index] : &none;
    const char *desc = inq_trace_str(trace, group->desc);
    /* "default_pg" has a "p" too many */
    const char *named = strcmp(desc, "default_pg") == 0 ? NULL : named_role(desc);
    int32_t world = trace->world_size > 0 ? trace->world_size : (int32_t)trace->n_ranks;
    if (named != NULL) {
        (void)snprintf(role, size, "%s", named);
    } else if (group->size == world || (group->size < 0 && group->n_ranks == trace->n_ranks)) {
        (void)snprintf(role, size, "all ranks");
    } else if (group->n_ranks < 2) {
        (void)snprintf(role, size, "a group");
    } else {
        int32_t apart = group->ranks[1] - group->ranks[0];
        if (apart == 1) {
            (void)snprintf(role, size, "neighbouring ranks");
        } else {
            (void)snprintf(role, size, "ranks %d apart", (int)apart);
        }
    }
}

static int class_of(struct inq_run_record *r, enum inq_coll_kind kind, const char *role,
                    int32_t group_size, uint32_t *index, struct inq_err *err)
{
    size_t i = 0;
    while (i < r->n_classes &&
           (r->classes[i].kind != kind || strcmp(r->classes[i].role, role) != 0)) {
        i++;
    }
    *index = (uint32_t)i;
    if (i < r->n_classes) {
        return INQ_OK;
    }
    int code = inq_mem_grow(&r->classes, &r->cap_classes, r->n_classes + 1, sizeof *r->classes,
                            MAX_CLASSES, err);
    if (code == INQ_OK) {
        struct inq_record_coll *made = &r->classes[r->n_classes++];
        *made = (struct inq_record_coll){
            .kind = kind, .group_size = group_size, .earliest = 1.0, .seen_step = INQ_NONE};
        (void)snprintf(made->role, sizeof made->role, "%s", role);
    }
    return code;
}

static int class_of_group(struct inq_coll_book *book, uint32_t group, enum inq_coll_kind kind,
                          uint32_t *index, struct inq_err *err)
{
    const struct inq_trace *trace = book->trace;
    size_t known = group < trace->n_groups ? group : trace->n_groups;
    uint32_t *slot = &book->class_of[known * INQ_COLL_KIND_COUNT + (size_t)kind];
    char role[64];
    if (*slot != INQ_NONE) {
        *index = *slot;
        return INQ_OK;
    }
    role_of(trace, group, role, sizeof role);
    int code = class_of(book->record, kind, role,
                        group < trace->n_groups ? trace->groups[group].size : -1, index, err);
    *slot = code == INQ_OK ? *index : INQ_NONE;
    return code;
}

/* ---- all collectives -------------------------------------------------------------------------*/

/* Whether members are of different stages: what they wait for there is the pipeline to fill or to
 * drain. */
static bool spans_stages(const struct inq_coll_book *book, const struct inq_collective *coll)
{
    const struct inq_member *members = &book->trace->members[coll->first_member];
    const struct inq_record_rank *ranks = book->record->ranks;
    for (uint32_t i = 1; i < coll->n_members; i++) {
        if (ranks[members[i].rank].stage != ranks[members[0].rank].stage) {
            return true;
        }
    }
    return false;
}

static size_t count_members(const struct inq_trace *trace)
{
    size_t n = 0;
    for (size_t c = 0; c < trace->n_collectives; c++) {
        n += trace->collectives[c].n_members;
    }
    return n;
}

/* Members by their rank; `members` gets collectives and events side by side. */
static void sort_members(struct inq_coll_book *book)
{
    const struct inq_trace *trace = book->trace;
    for (size_t c = 0; c < trace->n_collectives; c++) {
        const struct inq_collective *coll = &trace->collectives[c];
        for (uint32_t i = 0; i < coll->n_members; i++) {
            book->first[trace->members[coll->first_member + i].rank + 1]++;
        }
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        book->first[r + 1] += book->first[r];
    }
    for (size_t c = trace->n_collectives; c-- > 0;) {
        const struct inq_collective *coll = &trace->collectives[c];
        for (uint32_t i = 0; i < coll->n_members; i++) {
            const struct inq_member *member = &trace->members[coll->first_member + i];
            size_t at = 2 * --book->first[member->rank + 1];
            book->members[at] = (uint32_t)c;
            book->members[at + 1] = member->event;
        }
    }
    /* what was counted down is where the rank begins */
    for (size_t r = 0; r < trace->n_ranks; r++) {
        book->first[r] = book->first[r + 1];
    }
    book->first[trace->n_ranks] = count_members(trace);
}

static int alloc_book(struct inq_coll_book *book, int64_t **scratch, struct inq_err *err)
{
    const struct inq_trace *trace = book->trace;
    size_t slots = (trace->n_groups + 1) * INQ_COLL_KIND_COUNT;
    size_t events = 0;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        events = trace->ranks[r].events.n > events ? trace->ranks[r].events.n : events;
    }
    size_t n = trace->n_collectives + 1;
    size_t n_members = count_members(trace);
    book->arrival_ns = inq_mem_alloc(n * sizeof *book->arrival_ns);
    book->bytes = inq_mem_alloc(n * sizeof *book->bytes);
    book->across = inq_mem_zalloc(n, sizeof *book->across);
    book->of = inq_mem_alloc((events + 1) * sizeof *book->of);
    book->first = inq_mem_zalloc(trace->n_ranks + 2, sizeof *book->first);
    book->members = inq_mem_alloc((2 * n_members + 1) * sizeof *book->members);
    book->class_of = inq_mem_alloc(slots * sizeof *book->class_of);
    *scratch = inq_mem_alloc((n_members + 1) * sizeof **scratch);
    if (book->arrival_ns == NULL || book->bytes == NULL || book->across == NULL ||
        book->of == NULL || book->first == NULL || book->members == NULL ||
        book->class_of == NULL || *scratch == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu collectives", trace->n_collectives);
    }
    memset(book->class_of, 0xff, slots * sizeof *book->class_of);
    return INQ_OK;
}

int inq_coll_book_init(struct inq_run_record *record, bool pipeline, struct inq_coll_book *book,
                       struct inq_err *err)
{
    const struct inq_trace *trace = record->report->trace;
    int64_t *scratch = NULL;
    *book = (struct inq_coll_book){.trace = trace, .record = record, .pipeline = pipeline};
    int code = alloc_book(book, &scratch, err);
    for (size_t c = 0; code == INQ_OK && c < trace->n_collectives; c++) {
        const struct inq_collective *coll = &trace->collectives[c];
        struct inq_coll_figures f = {.bytes = -1};
        if (coll->n_members > 0) {
            inq_coll_figures(trace, coll, scratch, &f);
        }
        book->arrival_ns[c] =
            coll->n_members > 1 && !coll->ends_disagree ? f.last_start_ns : INQ_TIME_NONE;
        book->bytes[c] = f.bytes;
        book->across[c] = pipeline && spans_stages(book, coll);
    }
    if (code == INQ_OK) {
        sort_members(book);
    }
    inq_mem_free(scratch);
    return code;
}

void inq_coll_book_release(struct inq_coll_book *book)
{
    inq_mem_free(book->arrival_ns);
    inq_mem_free(book->across);
    inq_mem_free(book->bytes);
    inq_mem_free(book->of);
    inq_mem_free(book->first);
    inq_mem_free(book->members);
    inq_mem_free(book->class_of);
    *book = (struct inq_coll_book){0};
}

/* ---- what an event is ------------------------------------------------------------------------*/

/* An event of communication: its class, or what else it is. */
struct what {
    bool classed, p2p;
    bool across;    /* of different stages: waiting there is the pipeline's */
    uint32_t coll;  /* INQ_NONE: not matched */
    uint32_t index; /* of the class */
};

static bool is_p2p(enum inq_coll_kind kind)
{
    return kind == INQ_COLL_SEND || kind == INQ_COLL_RECV || kind == INQ_COLL_SENDRECV;
}

/* An op of an op table: its label says what it is. */
static int label_class(struct inq_coll_book *book, enum inq_op_type type, struct what *what,
                       struct inq_err *err)
{
    static const struct {
        enum inq_op_type type;
        enum inq_coll_kind kind;
        const char *role;
        bool across; /* its members are of different stages */
    } kinds[] = {{INQ_OP_PARAMS_ALL_GATHER, INQ_COLL_ALLGATHER, "DP group", false},
                 {INQ_OP_GRADS_REDUCE_SCATTER, INQ_COLL_REDUCE_SCATTER, "DP group", false},
                 {INQ_OP_SEPARATE_GRADS_ALL_REDUCE, INQ_COLL_ALLREDUCE, "DP group", false},
                 {INQ_OP_LAYERNORM_GRADS_ALL_REDUCE, INQ_COLL_ALLREDUCE, "TP group", false},
                 {INQ_OP_EMBEDDING_GRADS_ALL_REDUCE, INQ_COLL_ALLREDUCE, "embedding group", true}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].type == type) {
            what->classed = true;
            what->across = kinds[i].across;
            return class_of(book->record, kinds[i].kind, kinds[i].role, -1, &what->index, err);
        }
    }
    what->p2p = type >= INQ_OP_FORWARD_SEND && type <= INQ_OP_BACKWARD_RECV;
    return INQ_OK;
}

static int what_is(struct inq_coll_book *book, size_t rank, uint32_t event, struct what *what,
                   struct inq_err *err)
{
    const struct inq_trace *trace = book->trace;
    const struct inq_rank *r = &trace->ranks[rank];
    uint32_t comm = r->events.comm != NULL ? r->events.comm[event] : INQ_NONE;
    uint32_t label = r->events.label != NULL ? r->events.label[event] : INQ_NONE;
    enum inq_coll_kind kind = comm < r->n_comms ? r->comms[comm].kind : INQ_COLL_UNKNOWN;
    uint32_t group = comm < r->n_comms ? r->comms[comm].group : INQ_NONE;
    *what = (struct what){.coll = book->of[event]};
    if (what->coll != INQ_NONE) {
        group = trace->collectives[what->coll].group;
        kind = is_p2p(kind) ? kind : trace->collectives[what->coll].kind;
        what->across = book->across[what->coll];
    } else if (label < r->n_labels && r->labels[label].type != INQ_OP_NONE) {
        return label_class(book, r->labels[label].type, what, err);
    }
    what->p2p = is_p2p(kind);
    if (what->p2p || kind == INQ_COLL_UNKNOWN) {
        return INQ_OK;
    }
    what->classed = true;
    return class_of_group(book, group, kind, &what->index, err);
}

/* ---- one rank --------------------------------------------------------------------------------*/

/* Compute of the rank in the event's step before the event, as a part of all compute in it. */
static double done_before(const struct inq_ledger_span *spans, size_t n, uint32_t step,
                          int64_t start_ns)
{
    int64_t done = 0;
    int64_t all = 0;
    size_t low = 0;
    size_t high = n; /* steps ascend with the spans */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans[middle].step < step) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (size_t i = low; i < n && spans[i].step == step; i++) {
        if (inq_part_of_class(spans[i].cls) == INQ_PART_COMPUTE) {
            int64_t end = spans[i].end_ns < start_ns ? spans[i].end_ns : start_ns;
            done += end > spans[i].start_ns ? end - spans[i].start_ns : 0;
            all += spans[i].end_ns - spans[i].start_ns;
        }
    }
    return all > 0 ? (double)done / (double)all : 0.0;
}

static void count(struct inq_coll_book *book, size_t rank, uint32_t event, const struct what *what)
{
    const struct inq_events *events = &book->trace->ranks[rank].events;
    struct inq_record_coll *cls = &book->record->classes[what->index];
    int64_t start = events->start_ns[event];
    int64_t end = start + events->dur_ns[event];
    bool matched = what->coll != INQ_NONE && book->arrival_ns[what->coll] != INQ_TIME_NONE;
    double factor = inq_coll_bus_factor(cls->kind, cls->group_size);
    cls->count++;
    if (matched) {
        int64_t arrival = book->arrival_ns[what->coll];
        int64_t from = arrival > start ? arrival : start;
        cls->transfer_ns += end > from ? end - from : 0;
    }
    if (what->coll != INQ_NONE && book->bytes[what->coll] >= 0 && isfinite(factor)) {
        cls->sized++;
        cls->bytes += (double)book->bytes[what->coll];
        cls->bus_bytes += matched ? (double)book->bytes[what->coll] * factor : 0.0;
    }
}

int inq_coll_book_rank(struct inq_coll_book *book, size_t rank, const struct inq_ledger_span *spans,
                       size_t n, struct inq_err *err)
{
    const struct inq_events *events = &book->trace->ranks[rank].events;
    int code = INQ_OK;
    memset(book->of, 0xff, events->n * sizeof *book->of);
    for (size_t i = book->first[rank]; i < book->first[rank + 1]; i++) {
        book->of[book->members[2 * i + 1]] = book->members[2 * i];
    }
    for (uint32_t i = 0; code == INQ_OK && i < events->n; i++) {
        struct what what;
        if (events->step[i] >= book->record->n_account_steps ||
            inq_row_class(events, i) != INQ_CLASS_COMM ||
            !inq_run_record_counts(book->record, rank, events->step[i])) {
            continue;
        }
        code = what_is(book, rank, i, &what, err);
        if (code == INQ_OK && what.coll != INQ_NONE && (what.p2p || what.classed)) {
            book->record->class_of[what.coll] = what.p2p ? INQ_RECORD_P2P : what.index;
        }
        if (code != INQ_OK || !what.classed) {
            continue;
        }
        count(book, rank, i, &what);
        struct inq_record_coll *cls = &book->record->classes[what.index];
        if (cls->seen_rank != rank || cls->seen_step != events->step[i]) { /* first of the step */
            double at = done_before(spans, n, events->step[i], events->start_ns[i]);
            cls->earliest = at < cls->earliest ? at : cls->earliest;
            cls->seen_rank = rank;
            cls->seen_step = events->step[i];
        }
    }
    return code;
}

int inq_coll_book_span(struct inq_coll_book *book, size_t rank, const struct inq_ledger_span *span,
                       enum inq_step_part *part, struct inq_err *err)
{
    int64_t ns = span->end_ns - span->start_ns;
    struct what what;
    int code = what_is(book, rank, span->event, &what, err);
    if (code != INQ_OK) {
        return code;
    }
    if (what.p2p) {
        *part = span->cls == INQ_ACCOUNT_TRANSFER                 ? INQ_PART_P2P
                : span->cls == INQ_ACCOUNT_WAIT || book->pipeline ? INQ_PART_BUBBLE
                                                                  : INQ_PART_COMM_OTHER;
        return INQ_OK;
    }
    if (!what.classed) {
        return INQ_OK;
    }
    struct inq_record_coll *cls = &book->record->classes[what.index];
    if (span->cls == INQ_ACCOUNT_TRANSFER) {
        cls->exposed_ns += ns;
    } else if (span->cls == INQ_ACCOUNT_COMM) {
        cls->unsure_ns += ns;
    } else if (what.across) {
        *part = INQ_PART_BUBBLE;
    } else {
        cls->wait_ns += ns;
    }
    return INQ_OK;
}
