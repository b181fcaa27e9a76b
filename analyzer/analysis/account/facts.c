/* SPDX-License-Identifier: Apache-2.0 */
/* Arrivals: of the members of collectives, and of what ops of an op table depend on. */
#include "analysis/account/facts.h"

#include "base/any_case.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/strtab.h"
#include "graph/optable/optable.h"
#include "trace/trace.h"

#include <string.h>

/* Clocks and records of an op table disagree by less than this; what starts so soon after another
 * rank's op waited for it. */
static const int64_t HANDOVER_NS = 50000;

struct listing {
    const struct inq_trace *trace;
    struct inq_account_facts *facts;
    size_t *next; /* [n_ranks] where the rank's next fact of a collective goes */
};

/* ---- names of kernels ------------------------------------------------------------------------ */

static bool is_kernel(const struct inq_events *e, size_t event)
{
    return e->kind[event] == INQ_EVENT_KERNEL &&
           (e->cls[event] == INQ_CLASS_COMPUTE || e->cls[event] == INQ_CLASS_OTHER);
}

/* Words in the names of kernels that communicate, in any case. */
static bool looks_like_comm(const char *name, size_t len)
{
    static const char *const words[] = {"comm",     "send",   "recv",     "dispatch",  "combine",
                                        "notify",   "a2a",    "bcast",    "broadcast", "gather",
                                        "scatter",  "reduce", "p2p",      "peer",      "remote",
                                        "symm_mem", "rdma",   "ibgda",    "nvlink",    "nvls",
                                        "barrier",  "signal", "exchange", "_put",      "_ring"};
    return inq_any_case_has(words, sizeof(words) / sizeof(words[0]), name, len);
}

static uint8_t kind_of(const struct inq_trace *trace, inq_str name)
{
    const char *text = inq_strtab_get(trace->names, name);
    size_t len = inq_strtab_len(trace->names, name);
    if (inq_kernel_is_compute(text, len)) {
        return INQ_NAME_COMPUTES;
    }
    return looks_like_comm(text, len) ? INQ_NAME_LOOKS_COMM : INQ_NAME_SILENT;
}

static int find_names(const struct inq_trace *trace, struct inq_arena *arena,
                      struct inq_kernel_names *kinds, struct inq_err *err)
{
    *kinds = (struct inq_kernel_names){.all_compute = true};
    if (trace->names == NULL) { /* nothing is named */
        return INQ_OK;
    }
    kinds->n_names = trace->names->n + 1;
    kinds->of_name = inq_arena_array(arena, kinds->n_names, sizeof(*kinds->of_name));
    if (kinds->of_name == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu names", kinds->n_names);
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_events *e = &trace->ranks[r].events;
        for (size_t i = 0; e->kind != NULL && e->cls != NULL && e->name != NULL && i < e->n; i++) {
            if (is_kernel(e, i) && kinds->of_name[e->name[i]] == INQ_NAME_UNUSED) {
                uint8_t kind = kind_of(trace, e->name[i]);
                kinds->of_name[e->name[i]] = kind;
                kinds->all_compute = kinds->all_compute && kind == INQ_NAME_COMPUTES;
            }
        }
    }
    return INQ_OK;
}

/* ---- of collectives -------------------------------------------------------------------------- */

static int64_t start_of(const struct inq_trace *trace, const struct inq_member *member)
{
    return trace->ranks[member->rank].events.start_ns[member->event];
}

/* The member that arrived last; of equals the one of the lowest rank. */
static struct inq_member last_arriver(const struct inq_trace *trace, const struct inq_collective *c)
{
    struct inq_member last = trace->members[c->first_member];
    for (uint32_t i = 1; i < c->n_members; i++) {
        struct inq_member member = trace->members[c->first_member + i];
        int64_t later = start_of(trace, &member) - start_of(trace, &last);
        if (later > 0 || (later == 0 && member.rank < last.rank)) {
            last = member;
        }
    }
    return last;
}

/* Whether a rank that takes part may be missing: it could have arrived last. */
static bool lacks_members(const struct inq_trace *trace, const struct inq_collective *c)
{
    int32_t size = c->group < trace->n_groups ? trace->groups[c->group].size : -1;
    bool p2p = inq_coll_is_p2p(c->kind);
    return !c->complete || c->n_members < 2 || (!p2p && size > (int32_t)c->n_members);
}

static void list_collective(struct listing *l, uint32_t index)
{
    const struct inq_trace *trace = l->trace;
    const struct inq_collective *c = &trace->collectives[index];
    if (c->n_members == 0) {
        return;
    }
    struct inq_member last = last_arriver(trace, c);
    int64_t arrival_ns = start_of(trace, &last);
    int64_t later_ns = inq_arrival_doubt_ns(trace, c, last.rank, arrival_ns);
    bool unknown = c->ends_disagree || lacks_members(trace, c) || later_ns == INT64_MAX;
    for (uint32_t i = 0; i < c->n_members; i++) {
        struct inq_member member = trace->members[c->first_member + i];
        int64_t wait_ns = arrival_ns - start_of(trace, &member);
        int64_t doubt_ns = inq_clock_doubt_ns(trace, member.rank, last.rank);
        doubt_ns = doubt_ns > later_ns ? doubt_ns : later_ns;
        enum inq_fact_kind kind = unknown                              ? INQ_FACT_UNKNOWN
                                  : wait_ns > 0 && wait_ns <= doubt_ns ? INQ_FACT_UNSURE
                                                                       : INQ_FACT_GROUP;
        l->facts->at[l->next[member.rank]++] =
            (struct inq_fact){arrival_ns, member.event, last.rank, index, (uint8_t)kind};
    }
}

static void count_members(const struct inq_trace *trace, size_t *count)
{
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct inq_collective *c = &trace->collectives[i];
        for (uint32_t k = 0; k < c->n_members; k++) {
            count[trace->members[c->first_member + k].rank]++;
        }
    }
}

/* ---- of the op model ------------------------------------------------------------------------- */

static int64_t begin_of(const struct inq_op_model *m, size_t op, size_t step)
{
    return m->origin_ns[step] + m->start_ns[op * m->stride + step];
}

static uint32_t rank_of(const struct inq_op_model *m, size_t op)
{
    return m->worker_rank[inq_op_worker(m, op)];
}

static void put(struct listing *l, const struct inq_op_model *m, size_t op, size_t step,
                struct inq_fact fact)
{
    uint32_t rank = rank_of(m, op);
    fact.event = m->event[op * m->stride + step];
    if (fact.event < l->trace->ranks[rank].events.n) {
        l->facts->at[l->facts->first[rank] + fact.event] = fact;
    }
}

/* A transfer between members can begin with the last of them. A pair that was cut to its transfer
 * begins together: then what kept the one back was the other. */
static void list_group(struct listing *l, const struct inq_op_model *m, size_t first, size_t n)
{
    for (size_t k = 0; k < m->n_steps; k++) {
        size_t last = first;
        for (size_t op = first; op < first + n; op++) {
            last = begin_of(m, op, k) > begin_of(m, last, k) ? op : last;
        }
        struct inq_fact fact = {.arrival_ns = begin_of(m, last, k), .collective = INQ_NONE};
        for (size_t op = first; op < first + n; op++) {
            bool together = n == 2 && fact.arrival_ns <= begin_of(m, op, k) + HANDOVER_NS;
            size_t other = together ? 2 * first + 1 - op : last;
            fact.waited_for = rank_of(m, other);
            fact.kind = together ? INQ_FACT_DEPENDENCY : INQ_FACT_GROUP;
            put(l, m, op, k, fact);
        }
    }
}

/* The last input from another worker, directly from stage to stage. */
static void list_inputs(struct listing *l, const struct inq_op_model *m, size_t op)
{
    const struct inq_graph *g = m->graph;
    uint32_t own = rank_of(m, op);
    for (size_t k = 0; k < m->n_steps; k++) {
        struct inq_fact fact = {.kind = INQ_FACT_NONE};
        for (uint32_t d = g->dep_start[op]; d < g->dep_start[op + 1]; d++) {
            uint32_t rank = rank_of(m, g->deps[d]);
            int64_t end_ns = m->origin_ns[k] + m->end_ns[g->deps[d] * m->stride + k];
            if (rank != own && (fact.kind == INQ_FACT_NONE || end_ns > fact.arrival_ns)) {
                fact = (struct inq_fact){.arrival_ns = end_ns,
                                         .waited_for = rank,
                                         .collective = INQ_NONE,
                                         .kind = INQ_FACT_DEPENDENCY};
            }
        }
        if (fact.kind != INQ_FACT_NONE) {
            put(l, m, op, k, fact);
        }
    }
}

static void list_model(struct listing *l, const struct inq_op_model *model)
{
    const struct inq_graph *g = model->graph;
    for (size_t op = 0; op < g->n_ops; op++) {
        if (g->members[op] > 1) {
            list_group(l, model, op, g->members[op]);
        } else if (g->members[op] == 1 && inq_op_needs_stage(model, op)) {
            list_inputs(l, model, op);
        }
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int compare_facts(const void *a, const void *b, void *ctx)
{
    uint32_t x = ((const struct inq_fact *)a)->event;
    uint32_t y = ((const struct inq_fact *)b)->event;
    (void)ctx;
    return (x > y) - (x < y);
}

/* An event that stands in several collectives (a batch of transfers with several peers) could go on
 * when the last of them came; what is not known of one is not known of it. */
static void join_facts(struct inq_fact *at, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (at[i].event != at[i - 1].event) {
            continue;
        }
        bool unknown = at[i].kind == INQ_FACT_UNKNOWN || at[i - 1].kind == INQ_FACT_UNKNOWN;
        if (at[i - 1].arrival_ns > at[i].arrival_ns) {
            at[i] = at[i - 1];
        }
        at[i].kind = unknown ? INQ_FACT_UNKNOWN : at[i].kind;
        for (size_t k = i; k > 0 && at[k - 1].event == at[i].event; k--) {
            at[k - 1] = at[i];
        }
    }
}

static int list_collectives(struct listing *l, struct inq_err *err)
{
    struct inq_account_facts *facts = l->facts;
    int code = INQ_OK;
    for (size_t i = 0; i < l->trace->n_collectives; i++) {
        list_collective(l, (uint32_t)i);
    }
    for (size_t r = 0; code == INQ_OK && r < l->trace->n_ranks; r++) {
        size_t n = facts->first[r + 1] - facts->first[r];
        code =
            inq_sort(facts->at + facts->first[r], n, sizeof(*facts->at), compare_facts, NULL, err);
        join_facts(facts->at + facts->first[r], n);
    }
    return code;
}

int inq_account_find_facts(const struct inq_trace *trace, const struct inq_op_model *model,
                           struct inq_arena *arena, struct inq_account_facts **facts,
                           struct inq_err *err)
{
    struct listing l = {.trace = trace,
                        .facts = inq_arena_alloc(arena, sizeof(*l.facts)),
                        .next = inq_mem_zalloc(trace->n_ranks + 1, sizeof(*l.next))};
    size_t n = 0;
    if (l.facts == NULL || l.next == NULL) {
        inq_mem_free(l.next);
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", trace->n_ranks);
    }
    l.facts->by_event = model != NULL;
    l.facts->first = inq_arena_array(arena, trace->n_ranks + 1, sizeof(*l.facts->first));
    if (model == NULL) {
        count_members(trace, l.next);
    }
    for (size_t r = 0; l.facts->first != NULL && r < trace->n_ranks; r++) {
        l.facts->first[r] = n;
        n += model != NULL ? trace->ranks[r].events.n : l.next[r];
        l.next[r] = l.facts->first[r];
        l.facts->first[r + 1] = n;
    }
    l.facts->at = inq_arena_array(arena, n, sizeof(*l.facts->at));
    int code = find_names(trace, arena, &l.facts->kinds, err);
    if (code != INQ_OK) {
        inq_mem_free(l.next);
        return code;
    }
    if (l.facts->first == NULL || l.facts->at == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for %zu arrivals", n);
    } else if (model != NULL) {
        list_model(&l, model);
    } else {
        code = list_collectives(&l, err);
    }
    inq_mem_free(l.next);
    *facts = l.facts;
    return code;
}
