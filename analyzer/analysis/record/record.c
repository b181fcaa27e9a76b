/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/record/record.h"

#include "analysis/account/account.h"
#include "analysis/comm/comm.h"
#include "analysis/findings/findings.h"
#include "analysis/measure/measure.h"
#include "analysis/whatif/whatif.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"
#include "trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The communication of a record: to which kind of collective and role of group each instant of it
 * belongs. */

struct coll_book {
    const struct inq_trace *trace;
    struct inq_run_record *record;
    bool pipeline;
    int64_t *arrival_ns; /* [n_collectives] last arrival; INQ_TIME_NONE: not known */
    bool *across;        /* [n_collectives] its members are of different stages */
    int64_t *bytes;      /* [n_collectives] nccl-tests size; -1 */
    uint32_t *of;        /* scratch [most events of a rank] collective of each; INQ_NONE */
    size_t *first;       /* [n_ranks + 1] into members */
    uint32_t *members;   /* indices into trace->members, rank by rank */
    uint32_t *class_of;  /* [(n_groups + 1) * INQ_COLL_KIND_COUNT]; INQ_NONE: not met yet */
};

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
            (void)snprintf(role, size, "neighboring ranks");
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

static int class_of_group(struct coll_book *book, uint32_t group, enum inq_coll_kind kind,
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
static bool spans_stages(const struct coll_book *book, const struct inq_collective *coll)
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
static void sort_members(struct coll_book *book)
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

static int alloc_book(struct coll_book *book, int64_t **scratch, struct inq_err *err)
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

static int coll_book_init(struct inq_run_record *record, bool pipeline, struct coll_book *book,
                          struct inq_err *err)
{
    const struct inq_trace *trace = record->report->trace;
    int64_t *scratch = NULL;
    *book = (struct coll_book){.trace = trace, .record = record, .pipeline = pipeline};
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

static void coll_book_release(struct coll_book *book)
{
    inq_mem_free(book->arrival_ns);
    inq_mem_free(book->across);
    inq_mem_free(book->bytes);
    inq_mem_free(book->of);
    inq_mem_free(book->first);
    inq_mem_free(book->members);
    inq_mem_free(book->class_of);
    *book = (struct coll_book){0};
}

/* ---- what an event is ------------------------------------------------------------------------*/

/* An event of communication: its class, or what else it is. */
struct what {
    bool classed, p2p;
    bool across;    /* of different stages: waiting there is the pipeline's */
    uint32_t coll;  /* INQ_NONE: not matched */
    uint32_t index; /* of the class */
};

/* An op of an op table: its label says what it is. */
static int label_class(struct coll_book *book, enum inq_op_type type, struct what *what,
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

static int what_is(struct coll_book *book, size_t rank, uint32_t event, struct what *what,
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
        kind = inq_coll_is_p2p(kind) ? kind : trace->collectives[what->coll].kind;
        what->across = book->across[what->coll];
    } else if (label < r->n_labels && r->labels[label].type != INQ_OP_NONE) {
        return label_class(book, r->labels[label].type, what, err);
    }
    what->p2p = inq_coll_is_p2p(kind);
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

static void count(struct coll_book *book, size_t rank, uint32_t event, const struct what *what)
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

/* Counts the collectives of one rank; `spans` are those of inq_ledger_spans. */
static int coll_book_rank(struct coll_book *book, size_t rank, const struct inq_ledger_span *spans,
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

/* The part of a step that a span of communication is; adds it to its class. After
 * coll_book_rank of the same rank. */
static int coll_book_span(struct coll_book *book, size_t rank, const struct inq_ledger_span *span,
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

static const size_t MAX_KERNELS = (size_t)1 << 20;

/* A step this many scaled median deviations from the median, and this part of it, is an outlier:
 * six keep one step in 10^8 of normal noise, the part those of runs with hardly any. Of ten steps
 * one may be set aside as such: what comes more often recurs, and is how the run is. */
static const double OUTLIER_DEVIATIONS = 6.0;
static const double OUTLIER_PART = 0.05;
enum { OUTLIER_LEAST_STEPS = 5, OUTLIER_ONE_IN = 10 };
/* One that is longer by this part is worth a word even where it counts: what the gate lets a mean
 * grow by. */
static const double NOTED_PART = INQ_CHECK_TOLERANCE;

void inq_run_record_release(struct inq_run_record *r)
{
    inq_mem_free(r->use);
    inq_mem_free(r->step_ns);
    inq_mem_free(r->step_at);
    inq_mem_free(r->ranks);
    inq_mem_free(r->classes);
    inq_mem_free(r->class_of);
    inq_mem_free(r->kernels);
    inq_mem_free(r->hosts);
    *r = (struct inq_run_record){0};
}

/* ---- which steps count -----------------------------------------------------------------------*/

static bool is_far(int64_t length_ns, int64_t median_ns, double deviation_ns, double part)
{
    double off = (double)(length_ns > median_ns ? length_ns - median_ns : median_ns - length_ns);
    return off > OUTLIER_DEVIATIONS * deviation_ns && off > part * (double)median_ns;
}

/* The longest step, if it is far longer than the median one and at most `most` are. */
static void find_longest(struct inq_run_record *r, const struct inq_account *a, int64_t median_ns,
                         double deviation_ns, size_t most)
{
    int64_t longer_ns = 0;
    size_t far = 0;
    for (size_t s = 0; s < r->n_account_steps; s++) {
        int64_t more_ns = a->steps[s].length_ns - median_ns;
        if (r->use[s] == INQ_STEP_COUNTS && more_ns > 0 &&
            is_far(a->steps[s].length_ns, median_ns, deviation_ns, NOTED_PART)) {
            far++;
            r->longest = more_ns > longer_ns ? s : r->longest;
            longer_ns = more_ns > longer_ns ? more_ns : longer_ns;
        }
    }
    r->longer_ns = far <= most ? longer_ns : 0;
}

static void label_outliers(struct inq_run_record *r, const struct inq_account *a, int64_t *lengths,
                           size_t n)
{
    int64_t median = inq_median_i64(lengths, n);
    for (size_t i = 0; i < n; i++) {
        lengths[i] = lengths[i] > median ? lengths[i] - median : median - lengths[i];
    }
    double deviation = 1.4826 * (double)inq_median_i64(lengths, n);
    size_t far = 0;
    for (size_t s = 0; s < r->n_account_steps; s++) {
        far += r->use[s] == INQ_STEP_COUNTS &&
               is_far(a->steps[s].length_ns, median, deviation, OUTLIER_PART);
    }
    size_t most = n / OUTLIER_ONE_IN > 1 ? n / OUTLIER_ONE_IN : 1;
    if (n < OUTLIER_LEAST_STEPS) {
        return;
    }
    find_longest(r, a, median, deviation, most);
    if (far > most) {
        return;
    }
    for (size_t s = 0; s < r->n_account_steps; s++) {
        if (r->use[s] == INQ_STEP_COUNTS &&
            is_far(a->steps[s].length_ns, median, deviation, OUTLIER_PART)) {
            r->use[s] = INQ_STEP_OUTLIER;
            r->n_outliers++;
        }
    }
}

static int label_steps(struct inq_run_record *r, struct inq_err *err)
{
    const struct inq_account *a = r->report->account;
    r->n_account_steps = a->n_steps;
    r->use = inq_mem_zalloc(a->n_steps + 1, sizeof *r->use);
    r->step_ns = inq_mem_alloc((a->n_steps + 1) * sizeof *r->step_ns);
    r->step_at = inq_mem_alloc((a->n_steps + 1) * sizeof *r->step_at);
    if (r->use == NULL || r->step_ns == NULL || r->step_at == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", a->n_steps);
    }
    size_t n = 0;
    for (size_t s = 0; s < a->n_steps; s++) {
        r->use[s] = a->steps[s].judged ? INQ_STEP_COUNTS : INQ_STEP_SET_ASIDE;
        r->n_set_aside += !a->steps[s].judged;
        r->n_warm_up += strncmp(a->steps[s].why, "warm-up", 7) == 0;
        if (a->steps[s].judged) {
            r->step_ns[n++] = a->steps[s].length_ns;
        }
    }
    label_outliers(r, a, r->step_ns, n);
    for (size_t s = 0; s < a->n_steps; s++) {
        if (r->use[s] == INQ_STEP_COUNTS) {
            r->step_at[r->n_steps] = s;
            r->step_ns[r->n_steps++] = a->steps[s].length_ns;
        }
    }
    return INQ_OK;
}

/* ---- ranks -----------------------------------------------------------------------------------*/

static int list_ranks(struct inq_run_record *r, const struct inq_peer_groups *roles,
                      struct inq_err *err)
{
    const struct inq_trace *trace = r->report->trace;
    const struct inq_account *a = r->report->account;
    r->n_ranks = trace->n_ranks;
    r->ranks = inq_mem_zalloc(r->n_ranks + 1, sizeof *r->ranks);
    if (r->ranks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", r->n_ranks);
    }
    for (size_t i = 0; i < r->n_ranks; i++) {
        struct inq_record_rank *rank = &r->ranks[i];
        rank->rank = trace->ranks[i].rank;
        rank->stage = roles->n > 1 ? roles->stage[roles->of[i]] : -1;
        rank->host = inq_trace_str(trace, trace->ranks[i].host);
        for (size_t s = 0; s < a->n_steps; s++) {
            rank->steps += inq_run_record_counts(r, i, s);
        }
        r->n_cells += rank->steps;
    }
    return INQ_OK;
}

/* What all ranks run on; "" where it is not the same, or not recorded of one. */
static const char *device_of(const struct inq_trace *trace)
{
    const char *device = "";
    for (size_t i = 0; i < trace->n_ranks; i++) {
        const char *own = inq_trace_str(trace, trace->ranks[i].device_name);
        if (own[0] == '\0' || (i > 0 && strcmp(own, device) != 0)) {
            return "";
        }
        device = own;
    }
    return device;
}

/* ---- kernels ---------------------------------------------------------------------------------*/

static int kernel_index(struct inq_run_record *r, struct inq_map *seen, inq_str id, uint32_t *index,
                        struct inq_err *err)
{
    if (inq_map_get(seen, id, index)) {
        return INQ_OK;
    }
    int code = inq_mem_grow(&r->kernels, &r->cap_kernels, r->n_kernels + 1, sizeof *r->kernels,
                            MAX_KERNELS, err);
    if (code != INQ_OK) {
        return code;
    }
    *index = (uint32_t)r->n_kernels;
    r->kernels[r->n_kernels++] =
        (struct inq_record_kernel){.name = inq_trace_str(r->report->trace, id), .id = id};
    return inq_map_put(seen, id, *index, err);
}

static int add_kernels(struct inq_run_record *r, size_t rank, struct inq_map *seen,
                       struct inq_err *err)
{
    const struct inq_events *events = &r->report->trace->ranks[rank].events;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < events->n; i++) {
        uint32_t index = 0;
        if (events->step[i] >= r->n_account_steps ||
            !inq_run_record_counts(r, rank, events->step[i]) || !inq_row_is_work(events, i)) {
            continue;
        }
        if (inq_row_class(events, i) != INQ_CLASS_COMPUTE) {
            continue;
        }
        code = kernel_index(r, seen, events->name[i], &index, err);
        if (code == INQ_OK) {
            r->kernels[index].count++;
            r->ranks[rank].kernels++;
            r->kernels[index].ns += events->dur_ns[i];
        }
    }
    return code;
}

static int by_name(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(((const struct inq_record_kernel *)a)->name,
                  ((const struct inq_record_kernel *)b)->name);
}

/* ---- parts -----------------------------------------------------------------------------------*/

static bool is_comm(enum inq_account_class cls)
{
    return cls == INQ_ACCOUNT_TRANSFER || cls == INQ_ACCOUNT_WAIT || cls == INQ_ACCOUNT_COMM;
}

static int add_rank(struct inq_run_record *r, struct coll_book *book, size_t rank,
                    struct inq_err *err)
{
    const struct inq_account *a = r->report->account;
    struct inq_ledger_span *spans = NULL;
    size_t n = 0;
    int code = inq_ledger_spans(a, (uint32_t)rank, &spans, &n, err);
    code = code == INQ_OK ? coll_book_rank(book, rank, spans, n, err) : code;
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        const struct inq_ledger_span *span = &spans[i];
        enum inq_step_part part = inq_part_of_class(span->cls);
        if (!inq_run_record_counts(r, rank, span->step)) {
            continue;
        }
        if (is_comm(span->cls) && span->event != INQ_NONE) {
            code = coll_book_span(book, rank, span, &part, err);
        } else if (span->cls == INQ_ACCOUNT_IDLE && a->op_table && book->pipeline) {
            part = INQ_PART_BUBBLE; /* not recorded, only left: waiting for the neighbor */
        }
        r->ranks[rank].part_ns[part] += span->end_ns - span->start_ns;
    }
    inq_mem_free(spans);
    for (int part = 0; part < INQ_STEP_PART_COUNT; part++) {
        r->part_ns[part] += r->ranks[rank].part_ns[part];
    }
    return code;
}

static int add_ranks(struct inq_run_record *r, bool pipeline, struct inq_err *err)
{
    struct coll_book book = {0};
    struct inq_map seen = {0};
    size_t n = r->report->trace->n_collectives;
    r->class_of = inq_mem_alloc((n + 1) * sizeof *r->class_of);
    if (r->class_of == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu collectives", n);
    }
    memset(r->class_of, 0xff, (n + 1) * sizeof *r->class_of);
    int code = coll_book_init(r, pipeline, &book, err);
    for (size_t rank = 0; code == INQ_OK && rank < r->n_ranks; rank++) {
        if (r->ranks[rank].steps > 0) {
            code = add_rank(r, &book, rank, err);
            code = code == INQ_OK ? add_kernels(r, rank, &seen, err) : code;
        }
    }
    inq_map_release(&seen);
    coll_book_release(&book);
    return code;
}

static size_t count_damaged(const struct inq_trace *trace)
{
    size_t n = 0;
    for (size_t i = 0; i < trace->n_files; i++) {
        n += inq_damage_losses(&trace->files[i].damage) > 0;
    }
    return n;
}

/* "; 4 of 4 files are damaged": why nothing is known of steps; "" none are. */
static const char *but_damaged(const struct inq_trace *trace, char *buf, size_t size)
{
    size_t n = count_damaged(trace);
    buf[0] = '\0';
    if (n > 0) {
        (void)snprintf(buf, size, "; %zu of %zu files %s damaged", n, trace->n_files,
                       n == 1 ? "is" : "are");
    }
    return buf;
}

static int check_account(const struct inq_report *report, struct inq_err *err)
{
    const struct inq_account *a = report->account;
    char damaged[80];
    if (a == NULL || a->one_interval) {
        return inq_err_set(err, INQ_UNSUPPORTED, "no steps are known in '%.200s'%s%.200s%s",
                           report->trace->name, a != NULL && a->one_interval_why[0] ? ": " : "",
                           a != NULL ? a->one_interval_why : "",
                           but_damaged(report->trace, damaged, sizeof damaged));
    }
    if (a->t_ns <= 0) {
        return inq_err_set(err, INQ_UNSUPPORTED, "no step of '%.200s' was captured whole%s",
                           report->trace->name,
                           but_damaged(report->trace, damaged, sizeof damaged));
    }
    return INQ_OK;
}

static int list_hosts(struct inq_run_record *r, struct inq_err *err)
{
    const struct inq_account *a = r->report->account;
    int64_t cells = (int64_t)(a->ranks_judged * a->steps_judged);
    r->hosts = inq_mem_zalloc(a->n_parts + 1, sizeof *r->hosts);
    if (r->hosts == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu parts", a->n_parts);
    }
    for (size_t i = 0; i < a->n_parts; i++) {
        if (a->parts[i].cls == INQ_ACCOUNT_HOST) {
            r->hosts[r->n_hosts++] =
                (struct inq_record_host){a->parts[i].what, a->parts[i].total_ns / cells};
        }
    }
    return INQ_OK;
}

static void count_losses(struct inq_run_record *r)
{
    const struct inq_trace *trace = r->report->trace;
    r->n_damaged = count_damaged(trace);
    r->n_missing = trace->n_missing;
}

/* ---- the fingerprint of the work ------------------------------------------------------------- */

/* A kernel of which no operator was recorded: it is told apart by its name alone. */
static const inq_str NO_DIMS = 0;
static const size_t MAX_ITEMS = (size_t)1 << 20;

struct tally {
    inq_str what, dims, name; /* name: a kernel of it */
    uint64_t count;
    int64_t ns;
};

struct tallies {
    size_t n, cap;
    struct tally *at;
    struct inq_map seen;
    uint64_t *rank_kernels; /* [ranks] */
    int64_t total_ns;
};

static int add_row(struct tallies *t, const struct inq_trace *trace, size_t rank, size_t row,
                   struct inq_err *err)
{
    const struct inq_events *events = &trace->ranks[rank].events;
    const struct inq_launch *launch = inq_trace_launch(trace, &trace->ranks[rank], row);
    bool named = inq_trace_str(trace, launch->op)[0] != '\0';
    inq_str what = named ? launch->op : events->name[row];
    inq_str dims = named ? launch->dims : NO_DIMS;
    uint32_t index = 0;
    uint64_t key = (uint64_t)what << 32 | (uint64_t)dims;
    if (!inq_map_get(&t->seen, key, &index)) {
        int code = inq_mem_grow(&t->at, &t->cap, t->n + 1, sizeof *t->at, MAX_ITEMS, err);
        if (code != INQ_OK) {
            return code;
        }
        index = (uint32_t)t->n;
        t->at[t->n++] = (struct tally){.what = what, .dims = dims, .name = events->name[row]};
        code = inq_map_put(&t->seen, key, index, err);
        if (code != INQ_OK) {
            return code;
        }
    }
    t->at[index].count++;
    t->at[index].ns += events->dur_ns[row];
    t->total_ns += events->dur_ns[row];
    return INQ_OK;
}

static int add_work_of(struct inq_run_record *r, struct tallies *t, size_t rank,
                       struct inq_err *err)
{
    const struct inq_trace *trace = r->report->trace;
    const struct inq_events *events = &trace->ranks[rank].events;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < events->n; i++) {
        if (events->step[i] >= r->n_account_steps ||
            !inq_run_record_counts(r, rank, events->step[i]) ||
            events->kind[i] != INQ_EVENT_KERNEL) {
            continue;
        }
        t->rank_kernels[rank]++;
        if (inq_row_class(events, i) == INQ_CLASS_COMPUTE) {
            code = add_row(t, trace, rank, i, err);
        }
    }
    return code;
}

/* Text that ends before a character that does not fit. */
static void cut(char *to, size_t size, const char *text)
{
    size_t len = strlen(text);
    if (len >= size) {
        len = size - 1;
        while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80) {
            len--;
        }
    }
    memcpy(to, text, len);
    to[len] = '\0';
}

static int by_time(const void *a, const void *b, void *ctx)
{
    const struct tally *x = a;
    const struct tally *y = b;
    const struct inq_trace *trace = *(const struct inq_trace *const *)ctx;
    if (x->ns != y->ns) {
        return x->ns < y->ns ? 1 : -1;
    }
    int order = strcmp(inq_trace_str(trace, x->what), inq_trace_str(trace, y->what));
    return order != 0 ? order
                      : strcmp(inq_trace_str(trace, x->dims), inq_trace_str(trace, y->dims));
}

/* The item, or what has the same text. */
static struct inq_workload_item *item_of(struct inq_workload *work,
                                         const struct inq_workload_item *item)
{
    for (size_t i = 0; i < work->n; i++) {
        struct inq_workload_item *there = &work->items[i];
        if (strcmp(there->what, item->what) == 0 && strcmp(there->shape, item->shape) == 0) {
            return there;
        }
    }
    if (work->n == INQ_WORKLOAD_MOST) {
        return NULL;
    }
    work->items[work->n] = *item;
    work->items[work->n].count = 0;
    work->items[work->n].share = 0.0;
    return &work->items[work->n++];
}

static bool is_math(const char *kernel)
{
    return inq_kernel_kind_of(kernel) == INQ_KERNEL_MATH;
}

static void add_item(struct inq_workload *work, const struct inq_trace *trace,
                     const struct tally *t, size_t steps, int64_t total_ns)
{
    struct inq_workload_item item = {.math = is_math(inq_trace_str(trace, t->name))};
    cut(item.what, sizeof item.what, inq_trace_str(trace, t->what));
    cut(item.shape, sizeof item.shape, inq_trace_str(trace, t->dims));
    struct inq_workload_item *to = item_of(work, &item);
    if (to != NULL) {
        to->count += (int64_t)(t->count / steps);
        to->share += total_ns > 0 ? (double)t->ns / (double)total_ns : 0.0;
    }
}

/* Ranks of one stage run equally many kernels, the same in every step. */
static bool is_even(const struct inq_run_record *r, const struct inq_peer_groups *roles,
                    const struct tallies *t)
{
    for (size_t i = 0; i < r->n_ranks; i++) {
        for (size_t k = 0; k < i; k++) {
            if (roles->of[i] == roles->of[k]) {
                if (t->rank_kernels[i] != t->rank_kernels[k]) {
                    return false;
                }
                break; /* the others of the role were held against this one */
            }
        }
    }
    return true;
}

/* How often what runs least does so on a rank: embeddings and losses do once for each micro-batch.
 * By kernels: an operator on tensors of one shape may run once in a step. */
static int32_t passes_of(const struct inq_run_record *r)
{
    const struct inq_pipeline *pipeline = r->report->pipeline;
    uint64_t least = 0;
    if (pipeline != NULL) {
        return pipeline->microbatches;
    }
    for (size_t i = 0; i < r->n_kernels; i++) {
        const struct inq_record_kernel *k = &r->kernels[i];
        bool update = inq_kernel_kind_of(k->name) == INQ_KERNEL_UPDATE;
        if (k->count % r->n_cells == 0 && !update && (least == 0 || k->count < least)) {
            least = k->count;
        }
    }
    return (int32_t)(least / r->n_cells);
}

static int fill_work(struct inq_run_record *r, const struct inq_peer_groups *roles,
                     struct tallies *t, struct inq_err *err)
{
    const struct inq_trace *trace = r->report->trace;
    struct inq_workload *work = &r->work;
    double math = 0.0;
    double kernels = 0.0;
    size_t ranks = 0;
    for (size_t i = 0; i < r->n_ranks; i++) {
        kernels += (double)t->rank_kernels[i];
        ranks += r->ranks[i].steps > 0;
    }
    int code = inq_sort(t->at, t->n, sizeof *t->at, by_time, &trace, err);
    bool whole = r->n_cells == r->n_steps * ranks;
    for (size_t i = 0; i < r->n_kernels; i++) {
        math += is_math(r->kernels[i].name) ? (double)r->kernels[i].count : 0.0;
    }
    for (size_t i = 0; code == INQ_OK && i < t->n; i++) {
        if (whole && t->at[i].count % r->n_steps == 0) {
            add_item(work, trace, &t->at[i], r->n_steps, t->total_ns);
        }
    }
    work->kernels = (int64_t)llround(kernels / (double)r->n_steps);
    work->math = (int64_t)llround(math / (double)r->n_steps);
    work->passes = passes_of(r);
    work->replicas = (int32_t)(ranks / (roles->n > 0 ? roles->n : 1));
    work->even = is_even(r, roles, t);
    return code;
}

static int fill_workload(struct inq_run_record *r, const struct inq_peer_groups *roles,
                         struct inq_err *err)
{
    struct tallies t = {.rank_kernels = inq_mem_zalloc(r->n_ranks + 1, sizeof *t.rank_kernels)};
    int code = t.rank_kernels != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", r->n_ranks);
    for (size_t rank = 0; code == INQ_OK && rank < r->n_ranks; rank++) {
        code = add_work_of(r, &t, rank, err);
    }
    if (code == INQ_OK && r->n_steps > 0 && r->n_cells > 0) {
        code = fill_work(r, roles, &t, err);
    }
    inq_map_release(&t.seen);
    inq_mem_free(t.at);
    inq_mem_free(t.rank_kernels);
    return code;
}

int inq_run_record_build(const struct inq_report *report, struct inq_run_record *r,
                         struct inq_err *err)
{
    const struct inq_trace *trace = report->trace;
    struct inq_peer_groups roles = {0};
    *r = (struct inq_run_record){.report = report};
    r->world = trace->world_size > 0 ? trace->world_size : (int32_t)trace->n_ranks;
    int code = check_account(report, err);
    if (code != INQ_OK) {
        return code;
    }
    r->device = device_of(trace);
    count_losses(r);
    code = label_steps(r, err);
    code = code == INQ_OK ? list_hosts(r, err) : code;
    code = code == INQ_OK ? inq_peer_groups_find(trace, report->op_model, &roles, err) : code;
    code = code == INQ_OK ? list_ranks(r, &roles, err) : code;
    bool pipeline = report->pipeline != NULL || roles.pipeline;
    code = code == INQ_OK ? add_ranks(r, pipeline, err) : code;
    code = code == INQ_OK ? fill_workload(r, &roles, err) : code;
    inq_peer_groups_release(&roles);
    return code == INQ_OK
               ? inq_sort(r->kernels, r->n_kernels, sizeof *r->kernels, by_name, NULL, err)
               : code;
}
