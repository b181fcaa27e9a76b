/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/groups.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/strtab.h"
#include "trace/classify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends, or the intervals between them, differ by no more than this, usually, between members of one
 * group: the narrowest that parts the ranks is taken. Members leave a collective microseconds
 * apart; ranks of other groups differ by what kernels vary, tens of microseconds. */
static const int64_t ALIKE_NS[] = {3000, 6000, 12000, 24000};
enum { N_ALIKE = sizeof ALIKE_NS / sizeof *ALIKE_NS };
/* Sets are apart when the intervals of their first ranks differ by at least twice as much; more
 * than 2^3 times as much says no more. */
enum { MOST_APART = 3 };
/* Intervals or ends that are compared, and the fewest of two ranks that tell anything; more where
 * which kernels correspond is tried. */
enum { SAMPLES = 64, LEAST_INTERVALS = 3, LEAST_ENDS = 3, LEAST_SHIFTED = 5 };
/* Clocks of hosts differ by no more than this, and no more kernels of another host than these are
 * tried as the one that a kernel corresponds to. */
static const int64_t CLOCKS_APART_NS = 50000000;
enum { MOST_SHIFTS = 256 };
/* What agrees by chance does so the more rarely the further sets are apart: where that is twice the
 * limit an interval is worth one bit, two where it is four times. So many, of all ranks that joined
 * another's set, are no chance. */
enum { LEAST_BITS = 16 };

static bool needs_group(const struct inq_rank *rank, size_t event)
{
    return inq_is_comm_kernel(&rank->events, event) &&
           rank->comms[rank->events.comm[event]].group == INQ_NONE;
}

/* Lanes of a rank that carry communication without a recorded group, by stream id. */
struct streams {
    size_t n;
    uint32_t *lanes;
};

/* What a lane carries: pieces of a pipeline's transfers and all-to-all look alike. */
enum cargo { COLLECTIVES, EXCHANGES, CARGOES };

struct inference {
    struct inq_trace *trace;
    bool threads;                     /* of a backend on CPUs: they take turns with one order */
    struct streams *streams[CARGOES]; /* [n_ranks] */
    size_t n_groups;                  /* so far */
    size_t n_alike;                   /* limits that are tried: of exchanges those that collectives
                                       * needed, since members leave either alike */
    /* Of the stream at hand: */
    size_t *n_ends;   /* [n_ranks] */
    int64_t **end_ns; /* [n_ranks] of its kernels, in order */
    uint32_t *set_of; /* [n_ranks] */
    uint32_t *firsts; /* [n_ranks] first rank of each set */
    size_t *sizes;    /* [n_ranks] of each set */
    size_t n_sets;
    size_t agreed;    /* intervals or ends, of all ranks that joined a set */
    uint32_t *groups; /* [n_ranks] of each set */
    bool parted;      /* the job has groups smaller than all ranks */
};

static void add_lane(const struct inq_rank *rank, uint32_t lane, struct streams *streams)
{
    size_t at = streams->n++;
    for (; at > 0 && rank->lanes[streams->lanes[at - 1]].id > rank->lanes[lane].id; at--) {
        streams->lanes[at] = streams->lanes[at - 1];
    }
    streams->lanes[at] = lane;
}

/* Whether a kernel is, or may be, a transfer between two ranks: a coalesced call is, unless its
 * kernel is a collective's. */
static bool exchanges(const struct inq_trace *trace, const struct inq_rank *rank, size_t event)
{
    enum inq_coll_kind kind = rank->comms[rank->events.comm[event]].kind;
    if (kind == INQ_COLL_COALESCED) {
        inq_str name = rank->events.name[event];
        return inq_coll_of_call(kind, inq_strtab_get(trace->names, name),
                                inq_strtab_len(trace->names, name)) == kind;
    }
    return inq_coll_is_p2p(kind);
}

static int list_streams(struct inference *x, size_t r, struct inq_err *err)
{
    const struct inq_rank *rank = &x->trace->ranks[r];
    uint8_t *carries = inq_mem_zalloc(rank->n_lanes + 1, 1);
    bool full = carries == NULL;
    for (int k = 0; k < CARGOES; k++) {
        x->streams[k][r].lanes = inq_mem_alloc((rank->n_lanes + 1) * sizeof(uint32_t));
        full = full || x->streams[k][r].lanes == NULL;
    }
    for (size_t i = 0; !full && i < rank->events.n; i++) {
        if (needs_group(rank, i)) {
            enum cargo cargo = exchanges(x->trace, rank, i) ? EXCHANGES : COLLECTIVES;
            carries[rank->events.lane[i]] |= (uint8_t)(1U << cargo);
        }
    }
    for (uint32_t l = 0; !full && l < rank->n_lanes; l++) {
        if (carries[l] != 0) {
            bool collectives = (carries[l] & 1U << COLLECTIVES) != 0;
            add_lane(rank, l, &x->streams[collectives ? COLLECTIVES : EXCHANGES][r]);
            x->threads = x->threads || rank->lanes[l].kind == INQ_LANE_THREAD;
        }
    }
    inq_mem_free(carries);
    return full ? inq_err_set(err, INQ_NOMEM, "out of memory for %zu streams", rank->n_lanes)
                : INQ_OK;
}

/* ---- who ends together ----------------------------------------------------------------------- */

static int list_ends(struct inference *x, const struct streams *streams, size_t ordinal,
                     struct inq_err *err)
{
    for (size_t r = 0; r < x->trace->n_ranks; r++) {
        const struct inq_rank *rank = &x->trace->ranks[r];
        const struct inq_events *e = &rank->events;
        size_t n = 0;
        for (size_t i = 0; i < e->n; i++) {
            n += needs_group(rank, i);
        }
        inq_mem_free(x->end_ns[r]);
        x->n_ends[r] = 0;
        x->end_ns[r] = inq_mem_alloc((n + 1) * sizeof *x->end_ns[r]);
        if (x->end_ns[r] == NULL) {
            return inq_err_set(err, INQ_NOMEM, "out of memory for %zu kernels", n);
        }
        for (size_t i = 0; ordinal < streams[r].n && i < e->n; i++) {
            if (needs_group(rank, i) && e->lane[i] == streams[r].lanes[ordinal]) {
                x->end_ns[r][x->n_ends[r]++] = e->start_ns[i] + e->dur_ns[i];
            }
        }
    }
    return INQ_OK;
}

/* Of `taken` values the upper quartile is within a limit unless more than these are beyond it. */
static size_t most_beyond(size_t taken)
{
    return taken - taken * 3 / 4 - 1;
}

/* Whether the intervals between `n` ends of two ranks differ by at most `limit_ns`: by the upper
 * quartile, since many have next to no work in them that could differ. */
static bool intervals_agree(const int64_t *a, const int64_t *b, size_t n, int64_t limit_ns)
{
    size_t taken = n - 1 < SAMPLES ? n - 1 : SAMPLES;
    size_t beyond = 0;
    for (size_t k = 0; k < taken && beyond <= most_beyond(taken); k++) {
        size_t i = (n - 1) * k / taken;
        beyond += llabs(a[i + 1] - a[i] - (b[i + 1] - b[i])) > limit_ns;
    }
    return beyond <= most_beyond(taken);
}

/* Of two ranks whose kernels correspond one to one. Clocks do not matter. How many agree; 0: they
 * do not. */
static size_t like_intervals(const struct inference *x, size_t a, size_t b, int64_t limit_ns)
{
    size_t n = x->n_ends[a];
    bool agree = n == x->n_ends[b] && n > LEAST_INTERVALS &&
                 intervals_agree(x->end_ns[a], x->end_ns[b], n, limit_ns);
    return agree ? n - 1 : 0;
}

/* The same of ranks whose captures begin or end elsewhere, on hosts whose clocks differ: a kernel
 * in the middle of one corresponds to any that may have ended with it. */
static size_t shifted_intervals(const struct inference *x, size_t a, size_t b, int64_t limit_ns)
{
    const int64_t *theirs = x->end_ns[b];
    size_t middle = x->n_ends[a] / 2;
    if (x->n_ends[a] == 0 || x->trace->ranks[a].host == x->trace->ranks[b].host) {
        return 0;
    }
    int64_t end_ns = x->end_ns[a][middle];
    size_t to = inq_first_from_i64(theirs, 0, x->n_ends[b], end_ns + CLOCKS_APART_NS);
    size_t from = inq_first_from_i64(theirs, 0, x->n_ends[b], end_ns - CLOCKS_APART_NS);
    for (size_t at = from; at < to && at < from + MOST_SHIFTS; at++) {
        size_t before = at < middle ? at : middle;
        size_t after_a = x->n_ends[a] - middle;
        size_t after_b = x->n_ends[b] - at;
        size_t n = before + (after_a < after_b ? after_a : after_b);
        if (n > LEAST_SHIFTED &&
            intervals_agree(x->end_ns[a] + middle - before, theirs + at - before, n, limit_ns)) {
            return n - 1;
        }
    }
    return 0;
}

/* The same of the ends themselves, where both ranks were recorded: it needs one clock, and no
 * captures that begin and end together. */
static size_t like_ends(const struct inference *x, size_t a, size_t b, int64_t limit_ns)
{
    const int64_t *theirs = x->end_ns[b];
    size_t n = x->n_ends[b];
    if (n == 0) {
        return 0;
    }
    size_t lo = inq_first_from_i64(x->end_ns[a], 0, x->n_ends[a], theirs[0]);
    size_t hi = inq_first_from_i64(x->end_ns[a], 0, x->n_ends[a], theirs[n - 1]);
    if (hi < lo + LEAST_ENDS) {
        return 0;
    }
    size_t taken = hi - lo < SAMPLES ? hi - lo : SAMPLES;
    size_t beyond = 0;
    for (size_t k = 0; k < taken && beyond <= most_beyond(taken); k++) {
        int64_t at_ns = x->end_ns[a][lo + (hi - lo) * k / taken];
        size_t next =
            inq_first_from_i64(theirs, 0, n, at_ns); /* below n: it lies before the last */
        int64_t after_ns = theirs[next] - at_ns;
        int64_t before_ns = next > 0 ? at_ns - theirs[next - 1] : after_ns;
        beyond += (before_ns < after_ns ? before_ns : after_ns) > limit_ns;
    }
    return beyond <= most_beyond(taken) ? taken : 0;
}

static size_t alike(const struct inference *x, size_t a, size_t b, int64_t limit_ns)
{
    size_t n = like_intervals(x, a, b, limit_ns);
    n = n > 0 ? n : like_ends(x, a, b, limit_ns);
    return n > 0 ? n : shifted_intervals(x, a, b, limit_ns);
}

/* Parts the ranks by their first ones: each joins the first that it ends together with. */
static void part_ranks(struct inference *x, int64_t alike_ns)
{
    x->n_sets = 0;
    x->agreed = 0;
    for (size_t r = 0; r < x->trace->n_ranks; r++) {
        size_t set = 0;
        size_t agreed = 0;
        while (set < x->n_sets && agreed == 0) {
            agreed = alike(x, x->firsts[set], r, alike_ns);
            set += agreed == 0;
        }
        x->agreed += agreed;
        if (set == x->n_sets) {
            x->firsts[set] = (uint32_t)r;
            x->sizes[x->n_sets++] = 0;
        }
        x->set_of[r] = (uint32_t)set;
        x->sizes[set]++;
    }
}

/* By which power of two of the limit all sets are apart; 0: they are not. */
static size_t how_far_apart(const struct inference *x, int64_t alike_ns)
{
    size_t apart = x->n_sets > 1 ? MOST_APART : 1;
    for (size_t s = 1; s < x->n_sets; s++) {
        for (size_t t = 0; t < s; t++) {
            while (apart > 0 && alike(x, x->firsts[s], x->firsts[t], (alike_ns << apart) - 1) > 0) {
                apart--;
            }
        }
    }
    return apart;
}

/* Sets of equal size, more than one rank in each, clearly apart: nothing else is a process group of
 * a parallel job. */
static bool are_groups(const struct inference *x, int64_t alike_ns)
{
    for (size_t s = 0; s < x->n_sets; s++) {
        if (x->sizes[s] < 2 || x->sizes[s] != x->sizes[0]) {
            return false;
        }
    }
    return x->agreed * how_far_apart(x, alike_ns) >= LEAST_BITS;
}

static void take_all(struct inference *x)
{
    x->n_sets = 1;
    x->sizes[0] = x->trace->n_ranks;
    memset(x->set_of, 0, x->trace->n_ranks * sizeof *x->set_of);
}

/* Sets of ranks of one stream; all ranks where nothing parts them. *together: they end together;
 * *needed: at least so many limits were tried. */
static int find_sets(struct inference *x, const struct streams *streams, size_t ordinal,
                     bool *together, size_t *needed, struct inq_err *err)
{
    int code = list_ends(x, streams, ordinal, err);
    *together = false;
    for (size_t k = 0; code == INQ_OK && k < x->n_alike && !*together; k++) {
        part_ranks(x, ALIKE_NS[k]);
        *together = are_groups(x, ALIKE_NS[k]);
        *needed = *together && k + 1 > *needed ? k + 1 : *needed;
    }
    if (!*together) {
        take_all(x);
    }
    return code;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Appends the group of one set. */
static int append_group(struct inference *x, size_t set, struct inq_err *err)
{
    struct inq_trace *trace = x->trace;
    struct inq_group *groups =
        inq_arena_array(trace->arena, trace->n_groups + 1, sizeof *trace->groups);
    int32_t *ranks = inq_arena_array(trace->arena, x->sizes[set], sizeof *ranks);
    if (groups == NULL || ranks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a process group");
    }
    if (trace->n_groups > 0) {
        memcpy(groups, trace->groups, trace->n_groups * sizeof *groups);
    }
    uint32_t n = 0;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (x->set_of[r] == set && trace->ranks[r].rank >= 0) {
            ranks[n++] = trace->ranks[r].rank;
        }
    }
    char text[32];
    int len = snprintf(text, sizeof text, "inferred %zu", x->n_groups++);
    struct inq_group *group = &groups[trace->n_groups];
    *group = (struct inq_group){
        .size = (int32_t)x->sizes[set], .n_ranks = n, .ranks = ranks, .inferred = true};
    x->groups[set] = (uint32_t)trace->n_groups;
    trace->groups = groups;
    trace->n_groups++;
    return inq_strtab_add(trace->names, text, (size_t)len, &group->name, err);
}

static int append_sets(struct inference *x, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t s = 0; code == INQ_OK && s < x->n_sets; s++) {
        code = append_group(x, s, err);
    }
    return code;
}

/* Gives the kernels of one lane of each rank the groups of their sets. Exchanges that more than two
 * ranks leave together are one of all of them: `together`. */
static void assign_sets(const struct inference *x, const struct streams *streams, size_t ordinal,
                        bool together)
{
    for (size_t r = 0; r < x->trace->n_ranks; r++) {
        struct inq_rank *rank = &x->trace->ranks[r];
        for (size_t i = 0; ordinal < streams[r].n && i < rank->events.n; i++) {
            if (needs_group(rank, i) && rank->events.lane[i] == streams[r].lanes[ordinal]) {
                struct inq_comm *comm = &rank->comms[rank->events.comm[i]];
                comm->group = x->groups[x->set_of[r]];
                comm->group_size = (int32_t)x->sizes[x->set_of[r]];
                comm->kind = together ? INQ_COLL_ALLTOALL : comm->kind;
            }
        }
    }
}

/* Most lanes of a rank; *equal: all that have any have as many. */
static size_t most_lanes(const struct inference *x, const struct streams *streams, bool *equal)
{
    size_t most = 0;
    *equal = !x->threads;
    for (size_t r = 0; r < x->trace->n_ranks; r++) {
        size_t n = streams[r].n;
        *equal = *equal && (n == 0 || most == 0 || n == most);
        most = n > most ? n : most;
    }
    return most;
}

/* One group of all ranks, of streams `from` to `to`. */
static int assign_all(struct inference *x, const struct streams *streams, size_t from, size_t to,
                      struct inq_err *err)
{
    take_all(x);
    int code = append_sets(x, err);
    for (size_t g = from; code == INQ_OK && g < to; g++) {
        assign_sets(x, streams, g, false);
    }
    return code;
}

/* Parts each stream's ranks; told[]: of which streams they could be. */
static int part_streams(struct inference *x, enum cargo cargo, size_t most, bool *told,
                        struct inq_err *err)
{
    const struct streams *streams = x->streams[cargo];
    size_t needed = 1;
    int code = INQ_OK;
    for (size_t g = 0; code == INQ_OK && g < most; g++) {
        code = find_sets(x, streams, g, &told[g], &needed, err);
        told[g] = told[g] && (cargo == COLLECTIVES || x->sizes[0] > 2);
        if (code == INQ_OK && told[g]) {
            x->parted = x->parted || x->n_sets > 1;
            code = append_sets(x, err);
            assign_sets(x, streams, g, cargo == EXCHANGES);
        }
    }
    x->n_alike = needed;
    return code;
}

/* Streams of different ranks correspond by their order of id when all ranks have as many; where
 * they do not, their communication is of one group of all. What exchanges by twos pairs a
 * pipeline's stages, each with several others: that is, too. A stream that does not tell who
 * belongs together is of all ranks unless the job has smaller groups: then it may be of any. */
static int assign_groups(struct inference *x, enum cargo cargo, struct inq_err *err)
{
    const struct streams *streams = x->streams[cargo];
    bool equal;
    size_t most = most_lanes(x, streams, &equal);
    if (most == 0 || !equal) {
        return most == 0 ? INQ_OK : assign_all(x, streams, 0, most, err);
    }
    bool *told = inq_mem_zalloc(most, sizeof *told);
    if (told == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu streams", most);
    }
    int code = part_streams(x, cargo, most, told, err);
    bool left = false;
    for (size_t g = 0; code == INQ_OK && g < most; g++) {
        left = left || !told[g];
        if (!told[g] && cargo == COLLECTIVES && !x->parted) {
            code = assign_all(x, streams, g, g + 1, err);
        }
    }
    inq_mem_free(told);
    return code == INQ_OK && left && cargo == EXCHANGES ? assign_all(x, streams, 0, most, err)
                                                        : code;
}

static void release(struct inference *x)
{
    for (size_t r = 0; r < x->trace->n_ranks; r++) {
        for (int k = 0; k < CARGOES; k++) {
            if (x->streams[k] != NULL) {
                inq_mem_free(x->streams[k][r].lanes);
            }
        }
        if (x->end_ns != NULL) {
            inq_mem_free(x->end_ns[r]);
        }
    }
    for (int k = 0; k < CARGOES; k++) {
        inq_mem_free(x->streams[k]);
    }
    inq_mem_free(x->end_ns);
    inq_mem_free(x->n_ends);
    inq_mem_free(x->set_of);
    inq_mem_free(x->firsts);
    inq_mem_free(x->sizes);
    inq_mem_free(x->groups);
}

int inq_groups_infer(struct inq_trace *trace, struct inq_err *err)
{
    struct inference x = {.trace = trace, .n_alike = N_ALIKE};
    size_t n = trace->n_ranks + 1;
    for (int k = 0; k < CARGOES; k++) {
        x.streams[k] = inq_mem_zalloc(n, sizeof *x.streams[k]);
    }
    x.end_ns = inq_mem_zalloc(n, sizeof *x.end_ns);
    x.n_ends = inq_mem_zalloc(n, sizeof *x.n_ends);
    x.set_of = inq_mem_zalloc(n, sizeof *x.set_of);
    x.firsts = inq_mem_zalloc(n, sizeof *x.firsts);
    x.sizes = inq_mem_zalloc(n, sizeof *x.sizes);
    x.groups = inq_mem_zalloc(n, sizeof *x.groups);
    int code = INQ_OK;
    if (x.streams[COLLECTIVES] == NULL || x.streams[EXCHANGES] == NULL || x.end_ns == NULL ||
        x.n_ends == NULL || x.set_of == NULL || x.firsts == NULL || x.sizes == NULL ||
        x.groups == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for %zu ranks", trace->n_ranks);
    }
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        code = list_streams(&x, r, err);
    }
    for (int k = 0; code == INQ_OK && k < CARGOES; k++) {
        code = assign_groups(&x, (enum cargo)k, err);
    }
    release(&x);
    return code;
}
