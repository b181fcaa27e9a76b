/* SPDX-License-Identifier: Apache-2.0 */
/* The host engine: set-up, one execution after the other, results. */
#include "engine/host.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/time.h"
#include "engine/engine.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

/* The event loop of the host engine: messages and timers in, ops started and ended. Durations are
 * counted from the op's real start, so that nothing drifts. */

/* ---- timers: a binary heap ------------------------------------------------------------------- */

static void add_timer(struct host_worker *w, int64_t at_ns, uint32_t op)
{
    size_t i = w->n_timers++;
    while (i > 0 && w->timers[(i - 1) / 2].at_ns > at_ns) {
        w->timers[i] = w->timers[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    w->timers[i] = (struct host_timer){at_ns, op};
}

static uint32_t take_timer(struct host_worker *w)
{
    uint32_t op = w->timers[0].op;
    struct host_timer last = w->timers[--w->n_timers];
    size_t i = 0;
    for (size_t child = 1; child < w->n_timers; child = 2 * i + 1) {
        if (child + 1 < w->n_timers && w->timers[child + 1].at_ns < w->timers[child].at_ns) {
            child++;
        }
        if (w->timers[child].at_ns >= last.at_ns) {
            break;
        }
        w->timers[i] = w->timers[child];
        i = child;
    }
    w->timers[i] = last;
    return op;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void wake(struct host_worker *w)
{
    (void)pthread_mutex_lock(&w->lock);
    (void)pthread_cond_signal(&w->wake);
    (void)pthread_mutex_unlock(&w->lock);
}

/* Puts a message for `op` into its owner's box and wakes the owner. */
static void host_post(struct host_run *run, uint32_t op)
{
    struct host_worker *to = &run->workers[run->owner[op]];
    uint32_t head = atomic_load_explicit(&to->inbox, memory_order_relaxed);
    do {
        run->next[op] = head;
    } while (!atomic_compare_exchange_weak(&to->inbox, &head, op));
    if (atomic_load(&to->sleep_until) != INT64_MIN) {
        wake(to);
    }
}

static void send(struct host_worker *w, uint32_t op)
{
    struct host_run *run = w->run;
    if (&run->workers[run->owner[op]] == w) {
        run->next[op] = w->local;
        w->local = op;
    } else {
        host_post(run, op);
    }
}

/* Ends the execution, if nothing has yet, and wakes everyone. */
static void host_stop(struct host_run *run, enum host_outcome outcome)
{
    int goes_on = HOST_GOES_ON;
    if (atomic_compare_exchange_strong(&run->outcome, &goes_on, (int)outcome)) {
        for (size_t i = 0; i < run->n_workers; i++) {
            wake(&run->workers[i]);
        }
    }
}

/* ---- ops ------------------------------------------------------------------------------------- */

/* `n` ops fewer can go on by themselves; with none left and none to come, it is over. */
static void rest(struct host_run *run, uint64_t n)
{
    if (atomic_fetch_sub(&run->active, n) == n) {
        bool all = atomic_load(&run->n_ended) == run->plan->graph->n_ops;
        host_stop(run, all ? HOST_DONE : HOST_STUCK);
    }
}

static void end_op(struct host_worker *w, uint32_t op)
{
    struct host_run *run = w->run;
    run->end_ns[op] = inq_time_now_ns();
    run->state[op] = HOST_ENDED;
    for (uint32_t k = run->out_start[op]; k < run->out_start[op + 1]; k++) {
        uint32_t next = run->out[k];
        if (atomic_fetch_sub_explicit(&run->needs[next], 1, memory_order_acq_rel) == 1) {
            atomic_fetch_add_explicit(&run->active, 1, memory_order_relaxed);
            send(w, next);
        }
    }
    atomic_fetch_add_explicit(&run->n_ended, 1, memory_order_relaxed);
    rest(run, 1);
}

static bool goes_on(void *ctx)
{
    const struct host_run *run = ctx;
    return atomic_load_explicit(&run->outcome, memory_order_relaxed) == HOST_GOES_ON;
}

static void run_op(struct host_worker *w, uint32_t op, int64_t from_ns)
{
    struct host_run *run = w->run;
    int64_t dur_ns = run->plan->dur_ns[op];
    run->state[op] = HOST_RUNNING;
    if (run->work != NULL) {
        const struct host_task task = {run->plan, op, run->group[op], (size_t)(w - run->workers)};
        (void)inq_host_work_do(run->work, &task, goes_on, run);
        end_op(w, op);
    } else if (dur_ns == 0) {
        end_op(w, op);
    } else {
        add_timer(w, from_ns + dur_ns, op);
    }
}

/* The last to arrive tells all members, itself too, that the transfer begins. */
static void arrive(struct host_worker *w, uint32_t op)
{
    struct host_run *run = w->run;
    uint32_t first = run->group[op];
    uint32_t n = run->plan->graph->members[first];
    int64_t latest = atomic_load_explicit(&run->go_ns[first], memory_order_relaxed);
    int64_t own = run->start_ns[op];
    run->state[op] = HOST_ARRIVED;
    while (latest < own && !atomic_compare_exchange_weak(&run->go_ns[first], &latest, own)) {
    }
    if (atomic_fetch_sub(&run->away[first], 1) > 1) {
        rest(run, 1);
        return;
    }
    atomic_fetch_add_explicit(&run->active, n - 1, memory_order_relaxed);
    for (uint32_t k = first; k < first + n; k++) {
        send(w, k);
    }
}

static void start_op(struct host_worker *w, uint32_t op)
{
    struct host_run *run = w->run;
    int64_t now = inq_time_now_ns();
    run->start_ns[op] = now;
    if (run->plan->graph->members[run->group[op]] > 1) {
        arrive(w, op);
    } else {
        run_op(w, op, now);
    }
}

/* A message: all inputs are there, or the whole group is. */
static void receive(struct host_worker *w, uint32_t op)
{
    struct host_run *run = w->run;
    const int64_t *delay_ns = run->plan->delay_ns;
    if (run->state[op] == HOST_ARRIVED) {
        int64_t go_ns = atomic_load_explicit(&run->go_ns[run->group[op]], memory_order_relaxed);
        run_op(w, op, go_ns);
    } else if (delay_ns != NULL && delay_ns[op] > 0) {
        run->state[op] = HOST_DELAYED;
        add_timer(w, inq_time_now_ns() + delay_ns[op], op);
    } else {
        start_op(w, op);
    }
}

static bool read_messages(struct host_worker *w)
{
    bool any = false;
    for (;;) {
        uint32_t op = w->local;
        if (op != INQ_NONE) {
            w->local = w->run->next[op];
            receive(w, op);
            any = true;
            continue;
        }
        if (atomic_load_explicit(&w->inbox, memory_order_relaxed) == INQ_NONE) {
            return any;
        }
        w->local = atomic_exchange(&w->inbox, INQ_NONE);
    }
}

static bool fire_timers(struct host_worker *w)
{
    bool any = false;
    for (;;) {
        int64_t late_ns = w->n_timers > 0 ? inq_time_now_ns() - w->timers[0].at_ns : -1;
        if (late_ns < 0) {
            return any;
        }
        w->latest_ns = late_ns > w->latest_ns ? late_ns : w->latest_ns;
        uint32_t op = take_timer(w);
        if (w->run->state[op] == HOST_DELAYED) {
            start_op(w, op);
        } else {
            end_op(w, op);
        }
        (void)read_messages(w);
        any = true;
    }
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Sleeps until a moment on the monotonic clock or a wake-up; `worker` is awake before and after. */
static void sleep_until(struct host_worker *worker, int64_t until_ns)
{
    const int64_t second = 1000000000;
    struct timespec at = {.tv_sec = (time_t)(until_ns / second),
                          .tv_nsec = (long)(until_ns % second)};
    (void)pthread_mutex_lock(&worker->lock);
    atomic_store(&worker->sleep_until, until_ns);
    if (atomic_load(&worker->inbox) == INQ_NONE &&
        atomic_load(&worker->run->outcome) == HOST_GOES_ON) {
        (void)pthread_cond_timedwait(&worker->wake, &worker->lock, &at);
    }
    atomic_store(&worker->sleep_until, INT64_MIN);
    (void)pthread_mutex_unlock(&worker->lock);
}

/* When something may happen next, here or elsewhere: others' ops may have messages for us, and who
 * is awake by then gets them at once. Sleepers that count on a later moment are told. */
static int64_t next_event(struct host_worker *w)
{
    struct host_run *run = w->run;
    int64_t own = w->n_timers > 0 ? w->timers[0].at_ns : INT64_MAX;
    int64_t next = own;
    if (atomic_load_explicit(&w->next_ns, memory_order_relaxed) != own) {
        atomic_store(&w->next_ns, own);
        for (size_t i = 0; i < run->n_workers; i++) {
            int64_t sleeps = atomic_load(&run->workers[i].sleep_until);
            if (sleeps != INT64_MIN && sleeps > own - run->margin_ns / 2) {
                wake(&run->workers[i]);
            }
        }
    }
    for (size_t i = 0; i < run->n_workers; i++) {
        int64_t other = atomic_load(&run->workers[i].next_ns);
        next = other < next ? other : next;
    }
    return next;
}

static void wait_for_more(struct host_worker *w)
{
    struct host_run *run = w->run;
    int64_t next = next_event(w);
    int64_t now = inq_time_now_ns();
    int64_t deadline = atomic_load_explicit(&run->begin_ns, memory_order_relaxed) + run->timeout_ns;
    if (now >= deadline) {
        host_stop(run, HOST_TIMED_OUT);
        return;
    }
    int64_t until = next < deadline ? next - run->margin_ns : deadline;
    if (until > now) {
        sleep_until(w, until);
    } else if (next < now - run->margin_ns) {
        (void)sched_yield(); /* whoever is late may need this CPU */
    }
}

/* Real-time priority for the calling thread; false when it is refused. Waiting threads sleep but
 * for the last moments, so that others get what they need all the same. */
static bool host_raise_priority(void)
{
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};
    return pthread_setschedparam(pthread_self(), SCHED_RR, &lowest) == 0;
}

/* The execution begins at one moment for all, when the last thread has come to run. */
static void wait_for_all(struct host_worker *w)
{
    const int64_t head_start_ns = 200000;
    const struct timespec nap = {.tv_nsec = 50000};
    struct host_run *run = w->run;
    if (atomic_fetch_add(&run->n_ready, 1) + 1 == run->n_workers) {
        atomic_store(&run->begin_ns, inq_time_now_ns() + run->margin_ns + head_start_ns);
    }
    while (atomic_load(&run->outcome) == HOST_GOES_ON) {
        int64_t begin = atomic_load(&run->begin_ns);
        int64_t now = inq_time_now_ns();
        if (begin != 0 && now >= begin) {
            return;
        }
        if (begin == 0 || now < begin - run->margin_ns) {
            (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
        }
    }
}

/* The body of a worker's thread; `worker` is a struct host_worker. */
static void *host_loop(void *worker)
{
    struct host_worker *w = worker;
    if (w->run->realtime) {
        w->refused = !host_raise_priority();
    }
#ifdef __linux__
    /* timers of this thread fire on time, not when it suits the kernel */
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
#endif
    wait_for_all(w);
    while (atomic_load(&w->run->outcome) == HOST_GOES_ON) {
        bool any = read_messages(w);
        any = fire_timers(w) || any;
        if (!any) {
            wait_for_more(w);
        }
    }
    (void)pthread_mutex_lock(&w->run->gate_lock);
    w->run->n_running--;
    (void)pthread_cond_signal(&w->run->gate);
    (void)pthread_mutex_unlock(&w->run->gate_lock);
    return NULL;
}

/* Why an execution came to a stop: walks from an op that did not end to what it waits for, until it
 * meets itself. */

/* Waits named in the message; the rest is counted. */
enum { MAX_NAMED = 6 };

enum why { WHY_DATA, WHY_LANE, WHY_GROUP };

struct wait {
    uint32_t op, on;
    enum why why;
};

/* What blocks an op, when it has not even arrived or waits in its group. */
static struct wait wait_of(const struct host_run *run, uint32_t op)
{
    const struct inq_plan *plan = run->plan;
    const struct inq_graph *g = plan->graph;
    if (run->state[op] == HOST_ARRIVED) {
        uint32_t first = run->group[op];
        for (uint32_t k = first; k < first + g->members[first]; k++) {
            if (run->state[k] == HOST_WAITING) {
                return (struct wait){op, k, WHY_GROUP};
            }
        }
    }
    uint32_t place = plan->place_of[op];
    uint32_t before = place > 0 ? plan->lanes[plan->lane_of[op]].ops[place - 1] : op;
    for (uint32_t d = g->dep_start[op]; d < g->dep_start[op + 1]; d++) {
        if (run->state[g->deps[d]] != HOST_ENDED) {
            return (struct wait){op, g->deps[d], g->deps[d] == before ? WHY_LANE : WHY_DATA};
        }
    }
    return (struct wait){op, before, WHY_LANE};
}

/* A name that says which one it is even where the plan knows nothing of it. */
static void name_op(const struct host_run *run, uint32_t op, char *name, size_t size)
{
    const struct inq_graph_op *o = &run->plan->graph->op[op];
    (void)inq_graph_op_text(o, name, size);
    if (o->type == INQ_OP_NONE) {
        size_t lane = run->plan->lane_of[op];
        (void)snprintf(name, size, "rank %d op %u of lane %zu", o->rank, run->plan->place_of[op],
                       lane);
    }
}

static size_t append(char *text, size_t size, size_t len, const char *more)
{
    int n = snprintf(text + len, size - len, "%s", more);
    return n < 0 ? len : len + (size_t)n < size ? len + (size_t)n : size - 1;
}

static void describe_waits(const struct host_run *run, const struct wait *waits, size_t n,
                           char *text, size_t size)
{
    static const char *const verbs[] = {" waits for the result of ", " waits on its lane for ",
                                        " waits in its transfer for "};
    char name[96];
    size_t len = 0;
    for (size_t i = 0; i < n && i < MAX_NAMED; i++) {
        len = append(text, size, len, i > 0 ? "; " : "");
        name_op(run, waits[i].op, name, sizeof name);
        len = append(text, size, len, name);
        len = append(text, size, len, verbs[waits[i].why]);
        name_op(run, waits[i].on, name, sizeof name);
        len = append(text, size, len, name);
    }
    if (n > MAX_NAMED) {
        (void)snprintf(name, sizeof name, "; and %zu more", n - MAX_NAMED);
        (void)append(text, size, len, name);
    }
}

/* Says which ops wait for each other; returns INQ_DEADLOCK (or INQ_NOMEM). No thread runs. */
static int host_explain(const struct host_run *run, struct inq_err *err)
{
    size_t n_ops = run->plan->graph->n_ops;
    struct wait *waits = inq_mem_alloc((n_ops + 1) * sizeof *waits);
    uint32_t *place = inq_mem_zalloc(n_ops + 1, sizeof *place); /* 1 + where its wait is */
    int code = INQ_DEADLOCK;
    if (waits == NULL || place == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for explaining a deadlock");
    } else {
        uint32_t op = 0;
        while (op + 1 < n_ops && run->state[op] == HOST_ENDED) {
            op++;
        }
        size_t n = 0;
        while (place[op] == 0) {
            waits[n] = wait_of(run, op);
            place[op] = (uint32_t)++n;
            op = waits[n - 1].on;
        }
        char text[420] = "";
        size_t skip = place[op] - 1; /* the way into the circle is not part of it */
        describe_waits(run, waits + skip, n - skip, text, sizeof text);
        (void)inq_err_set(err, INQ_DEADLOCK, "%zu ops never finish: %s",
                          n_ops - (size_t)atomic_load(&run->n_ended), text);
    }
    inq_mem_free(waits);
    inq_mem_free(place);
    return code;
}

#ifdef __linux__

#endif

/* A timer this late means that the CPUs were busy with other work, which the reader must know. */
static const int64_t late_ns = 1000000;

/* ---- the machine ----------------------------------------------------------------------------- */

static size_t count_cpus(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        int n = CPU_COUNT(&set);
        return n > 0 ? (size_t)n : 1;
    }
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (size_t)n : 1;
}

static int64_t clock_step(void)
{
    int64_t step = INT64_MAX;
    int64_t before = inq_time_now_ns();
    for (int i = 0; i < 1000; i++) {
        int64_t now = inq_time_now_ns();
        if (now > before && now - before < step) {
            step = now - before;
        }
        before = now;
    }
    return step == INT64_MAX ? 1 : step;
}

struct nap_test {
    bool realtime;
    int64_t margin_ns;
};

/* How late a sleeper gets up on this machine, in a thread as the workers are. */
static void *measure_oversleep(void *ctx)
{
    struct nap_test *test = ctx;
    const int64_t nap_ns = 200000;
    const int64_t least_ns = 40000;
    const int64_t most_ns = 300000;
    int64_t worst = 0;
    if (test->realtime) {
        (void)host_raise_priority();
    }
#ifdef __linux__
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
#endif
    for (int i = 0; i < 8; i++) {
        const struct timespec nap = {.tv_nsec = (long)nap_ns};
        int64_t before = inq_time_now_ns();
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
        int64_t late = inq_time_now_ns() - before - nap_ns;
        worst = late > worst ? late : worst;
    }
    worst += worst / 4;
    test->margin_ns = worst < least_ns ? least_ns : worst > most_ns ? most_ns : worst;
    return NULL;
}

static int64_t margin_of_machine(const struct inq_replay_options *options)
{
    pthread_t thread;
    struct nap_test test = {options != NULL && options->realtime, 200000};
    if (pthread_create(&thread, NULL, measure_oversleep, &test) == 0) {
        (void)pthread_join(thread, NULL);
    }
    return test.margin_ns;
}

bool inq_host_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    if (pthread_condattr_init(&attr) != 0) {
        return false;
    }
    bool ok = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
              pthread_cond_init(cond, &attr) == 0;
    (void)pthread_condattr_destroy(&attr);
    return ok;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static int no_memory(size_t n, struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory for executing %zu ops", n);
}

static bool has_dep(const struct inq_graph *g, uint32_t op, uint32_t on)
{
    for (uint32_t d = g->dep_start[op]; d < g->dep_start[op + 1]; d++) {
        if (g->deps[d] == on) {
            return true;
        }
    }
    return false;
}

/* The op before `op` on its lane, when no data edge says so anyway; else INQ_NONE. */
static uint32_t lane_input(const struct inq_plan *plan, uint32_t op)
{
    uint32_t place = plan->place_of[op];
    uint32_t before = place > 0 ? plan->lanes[plan->lane_of[op]].ops[place - 1] : INQ_NONE;
    return before == INQ_NONE || has_dep(plan->graph, op, before) ? INQ_NONE : before;
}

/* Who waits for whom: what the graph says, and the order of the plan's lanes. */
static int index_inputs(struct host_run *run, struct inq_err *err)
{
    const struct inq_graph *g = run->plan->graph;
    if (g->n_deps + g->n_ops >= UINT32_MAX) {
        return inq_err_set(err, INQ_LIMIT, "too many edges to execute");
    }
    uint32_t *start = run->out_start;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        uint32_t lane = lane_input(run->plan, i);
        run->n_needs[i] = g->dep_start[i + 1] - g->dep_start[i] + (lane != INQ_NONE ? 1 : 0);
        for (uint32_t d = g->dep_start[i]; d < g->dep_start[i + 1]; d++) {
            start[g->deps[d] + 1]++;
        }
        if (lane != INQ_NONE) {
            start[lane + 1]++;
        }
    }
    for (size_t i = 0; i < g->n_ops; i++) {
        start[i + 1] += start[i];
    }
    run->out = inq_mem_alloc(((size_t)start[g->n_ops] + 1) * sizeof *run->out);
    if (run->out == NULL) {
        return no_memory(g->n_ops, err);
    }
    /* filling moves each start to its end, which is the next one's start: shifted back after */
    for (uint32_t i = 0; i < g->n_ops; i++) {
        uint32_t lane = lane_input(run->plan, i);
        for (uint32_t d = g->dep_start[i]; d < g->dep_start[i + 1]; d++) {
            run->out[start[g->deps[d]]++] = i;
        }
        if (lane != INQ_NONE) {
            run->out[start[lane]++] = i;
        }
    }
    for (size_t i = g->n_ops; i > 0; i--) {
        start[i] = start[i - 1];
    }
    start[0] = 0;
    return INQ_OK;
}

/* Neighboring ranks share a thread; the lanes of a rank always do, but where they work: there each
 * rank's first lane has a thread of its own, and the others take those that are left in turns. */
static void assign_lanes(struct host_run *run, size_t n_ranks, bool works)
{
    const struct inq_plan *plan = run->plan;
    size_t rank = 0;
    size_t n_others = 0;
    for (size_t k = 0; k < plan->n_lanes && n_ranks > 0; k++) {
        bool first = k == 0 || plan->lanes[k].rank != plan->lanes[k - 1].rank;
        rank += k > 0 && first;
        size_t owner = rank * run->n_workers / n_ranks;
        if (works) {
            owner = first ? rank : (n_ranks + n_others++) % run->n_workers;
        }
        for (size_t i = 0; i < plan->lanes[k].n; i++) {
            run->owner[plan->lanes[k].ops[i]] = (uint32_t)owner;
        }
        run->workers[owner].n_ops += plan->lanes[k].n;
    }
    for (uint32_t i = 0; i < plan->graph->n_ops; i += plan->graph->members[i]) {
        for (uint32_t m = i; m < i + plan->graph->members[i]; m++) {
            run->group[m] = i;
        }
    }
}

static int make_workers(struct host_run *run, bool works, struct inq_err *err)
{
    size_t n_ranks = inq_plan_ranks(run->plan);
    size_t n_cpus = count_cpus();
    size_t n_busy = works ? run->plan->n_lanes : n_ranks;
    size_t n = n_busy < n_cpus ? n_busy : n_cpus;
    if (works && n_ranks > n_cpus) {
        return inq_err_set(err, INQ_LIMIT,
                           "recorded work of %zu ranks needs as many CPUs, %zu are here", n_ranks,
                           n_cpus);
    }
    run->workers = inq_mem_zalloc(n + 1, sizeof *run->workers);
    if (run->workers == NULL) {
        return no_memory(run->plan->graph->n_ops, err);
    }
    for (size_t i = 0; i < n; i++) {
        struct host_worker *w = &run->workers[i];
        w->run = run;
        if (pthread_mutex_init(&w->lock, NULL) != 0) {
            return no_memory(n, err);
        }
        if (!inq_host_cond_init(&w->wake)) {
            (void)pthread_mutex_destroy(&w->lock);
            return no_memory(n, err);
        }
        run->n_workers = i + 1;
    }
    assign_lanes(run, n_ranks, works);
    for (size_t i = 0; i < n; i++) {
        struct host_worker *w = &run->workers[i];
        w->timers = inq_mem_alloc((w->n_ops + 1) * sizeof *w->timers);
        if (w->timers == NULL) {
            return no_memory(run->plan->graph->n_ops, err);
        }
    }
    return INQ_OK;
}

static void run_release(struct host_run *run)
{
    for (size_t i = 0; i < run->n_workers; i++) {
        (void)pthread_mutex_destroy(&run->workers[i].lock);
        (void)pthread_cond_destroy(&run->workers[i].wake);
        inq_mem_free(run->workers[i].timers);
    }
    inq_mem_free(run->workers);
    inq_mem_free(run->out_start);
    inq_mem_free(run->out);
    inq_mem_free(run->n_needs);
    inq_mem_free(run->group);
    inq_mem_free(run->owner);
    inq_mem_free(run->state);
    inq_mem_free(run->next);
    inq_mem_free(run->needs);
    inq_mem_free(run->away);
    inq_mem_free(run->go_ns);
    *run = (struct host_run){0};
}

static bool works(const struct inq_replay_options *options)
{
    return options != NULL && options->work == INQ_WORK_RECORDED;
}

/* The work of all runs, which share the threads' memory one after the other. */
static int give_work(struct host_run *runs, size_t n, const struct inq_replay_options *options,
                     struct host_work *work, struct inq_err *err)
{
    size_t n_threads = 0;
    for (size_t k = 0; k < n; k++) {
        n_threads = runs[k].n_workers > n_threads ? runs[k].n_workers : n_threads;
        runs[k].work = works(options) ? work : NULL;
    }
    return works(options) ? inq_host_work_init(work, n_threads, options->latency_ns, err) : INQ_OK;
}

static int run_init(struct host_run *run, const struct inq_plan *plan,
                    const struct inq_replay_options *options, struct inq_err *err)
{
    size_t n = plan->graph->n_ops;
    *run = (struct host_run){.plan = plan, .timeout_ns = inq_replay_timeout_ns(plan, options)};
    run->realtime = options != NULL && options->realtime;
    run->out_start = inq_mem_zalloc(n + 1, sizeof *run->out_start);
    run->n_needs = inq_mem_zalloc(n + 1, sizeof *run->n_needs);
    run->group = inq_mem_zalloc(n + 1, sizeof *run->group);
    run->owner = inq_mem_zalloc(n + 1, sizeof *run->owner);
    run->state = inq_mem_zalloc(n + 1, sizeof *run->state);
    run->next = inq_mem_zalloc(n + 1, sizeof *run->next);
    run->needs = inq_mem_zalloc(n + 1, sizeof *run->needs);
    run->away = inq_mem_zalloc(n + 1, sizeof *run->away);
    run->go_ns = inq_mem_zalloc(n + 1, sizeof *run->go_ns);
    if (run->out_start == NULL || run->n_needs == NULL || run->group == NULL ||
        run->owner == NULL || run->state == NULL || run->next == NULL || run->needs == NULL ||
        run->away == NULL || run->go_ns == NULL) {
        return no_memory(n, err);
    }
    int code = index_inputs(run, err);
    return code == INQ_OK ? make_workers(run, works(options), err) : code;
}

/* ---- one execution --------------------------------------------------------------------------- */

static void reset(struct host_run *run)
{
    const struct inq_graph *g = run->plan->graph;
    atomic_store(&run->begin_ns, 0);
    atomic_store(&run->n_ready, 0);
    atomic_store(&run->n_ended, 0);
    atomic_store(&run->outcome, HOST_GOES_ON);
    for (size_t i = 0; i < run->n_workers; i++) {
        struct host_worker *w = &run->workers[i];
        w->local = INQ_NONE;
        w->n_timers = 0;
        w->latest_ns = 0;
        atomic_store(&w->inbox, INQ_NONE);
        atomic_store(&w->next_ns, INT64_MAX);
        atomic_store(&w->sleep_until, INT64_MIN);
    }
    uint64_t active = 0;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        run->state[i] = HOST_WAITING;
        atomic_store_explicit(&run->needs[i], run->n_needs[i], memory_order_relaxed);
        atomic_store_explicit(&run->away[i], g->members[i], memory_order_relaxed);
        atomic_store_explicit(&run->go_ns[i], INT64_MIN, memory_order_relaxed);
        if (run->n_needs[i] == 0) {
            host_post(run, i);
            active++;
        }
    }
    atomic_store(&run->active, active);
    if (active == 0) {
        atomic_store(&run->outcome, g->n_ops == 0 ? HOST_DONE : HOST_STUCK);
    }
}

static bool is_interrupted(const struct inq_replay_options *options)
{
    return options != NULL && options->interrupted != NULL &&
           options->interrupted(options->interrupted_ctx);
}

/* The calling thread has nothing to do but to see whether the user has had enough. */
static void watch(struct host_run *run, const struct inq_replay_options *options)
{
    const int64_t second = 1000000000;
    bool stop = false;
    (void)pthread_mutex_lock(&run->gate_lock);
    while (run->n_running > 0 && !stop) {
        int64_t until = inq_time_now_ns() + second / 10;
        struct timespec at = {.tv_sec = (time_t)(until / second),
                              .tv_nsec = (long)(until % second)};
        (void)pthread_cond_timedwait(&run->gate, &run->gate_lock, &at);
        stop = is_interrupted(options);
    }
    (void)pthread_mutex_unlock(&run->gate_lock);
    if (stop) {
        host_stop(run, HOST_INTERRUPTED);
    }
}

static int run_threads(struct host_run *run, const struct inq_replay_options *options,
                       struct inq_err *err)
{
    if (pthread_mutex_init(&run->gate_lock, NULL) != 0) {
        return no_memory(run->n_workers, err);
    }
    if (!inq_host_cond_init(&run->gate)) {
        (void)pthread_mutex_destroy(&run->gate_lock);
        return no_memory(run->n_workers, err);
    }
    int code = INQ_OK;
    size_t n = 0;
    run->n_running = run->n_workers;
    for (; code == INQ_OK && n < run->n_workers; n++) {
        if (pthread_create(&run->workers[n].thread, NULL, host_loop, &run->workers[n]) != 0) {
            code = inq_err_set(err, INQ_NOMEM, "cannot start a thread");
            host_stop(run, HOST_INTERRUPTED);
            n--;
        }
    }
    if (code == INQ_OK && options != NULL && options->interrupted != NULL) {
        watch(run, options);
    }
    while (n > 0) {
        (void)pthread_join(run->workers[--n].thread, NULL);
    }
    (void)pthread_mutex_destroy(&run->gate_lock);
    (void)pthread_cond_destroy(&run->gate);
    return code;
}

static int execute(struct host_run *run, const struct inq_replay_options *options,
                   int64_t *start_ns, int64_t *end_ns, struct inq_err *err)
{
    run->start_ns = start_ns;
    run->end_ns = end_ns;
    if (is_interrupted(options)) {
        return inq_err_set(err, INQ_CANCELLED, "interrupted");
    }
    reset(run);
    int code = run_threads(run, options, err);
    if (code != INQ_OK) {
        return code;
    }
    char text[32];
    switch ((enum host_outcome)atomic_load(&run->outcome)) {
    case HOST_STUCK:
        return host_explain(run, err);
    case HOST_TIMED_OUT:
        return inq_err_set(err, INQ_LIMIT,
                           "the execution did not end in %s: %" PRIu64 " of %zu ops had",
                           inq_time_format(run->timeout_ns, text, sizeof text),
                           (uint64_t)atomic_load(&run->n_ended), run->plan->graph->n_ops);
    case HOST_INTERRUPTED:
        return inq_err_set(err, INQ_CANCELLED, "interrupted");
    case HOST_DONE:
    case HOST_GOES_ON:
        break;
    }
    return INQ_OK;
}

/* ---- the engine ------------------------------------------------------------------------------ */

/* By how much any timer was late. */
static int64_t lateness(const struct host_run *run)
{
    int64_t worst = 0;
    for (size_t i = 0; i < run->n_workers; i++) {
        worst = run->workers[i].latest_ns > worst ? run->workers[i].latest_ns : worst;
    }
    return worst;
}

/* `late`: the median over the executions of how late a timer was at worst. */
static void describe(const struct host_run *run, int64_t late, struct inq_execution *out)
{
    size_t n_ranks = inq_plan_ranks(run->plan);
    size_t n_cpus = count_cpus();
    char busy[128] = "";
    char text[32];
    (void)snprintf(out->device, sizeof out->device, "host, %zu %s", n_cpus,
                   n_cpus == 1 ? "CPU" : "CPUs");
    if (late >= late_ns) {
        (void)snprintf(busy, sizeof busy, "; the CPUs were busy: timers fired up to %s late",
                       inq_time_format(late, text, sizeof text));
    }
    bool refused = run->n_workers > 0 && run->workers[0].refused;
    (void)snprintf(out->note, sizeof out->note, "%zu %s on %zu %s%s%s", n_ranks,
                   n_ranks == 1 ? "rank" : "ranks", run->n_workers,
                   run->n_workers == 1 ? "thread" : "threads",
                   refused         ? "; real-time priority was refused"
                   : run->realtime ? " of real-time priority"
                                   : "",
                   busy);
    out->resolution_ns = clock_step();
}

int inq_engine_host_run(const struct inq_plan *plan, const struct inq_replay_options *options,
                        struct inq_execution *out, struct inq_err *err)
{
    struct host_run run = {0};
    struct host_work work = {0};
    struct inq_recorder recorder = {0};
    int warmup = inq_replay_warmup(options);
    int repeats = inq_replay_repeats(options);
    *out = (struct inq_execution){0};
    int64_t *late = inq_mem_zalloc((size_t)repeats, sizeof *late);
    int code = late != NULL ? run_init(&run, plan, options, err) : no_memory(1, err);
    if (code == INQ_OK) {
        code = give_work(&run, 1, options, &work, err);
    }
    if (code == INQ_OK) {
        code = inq_recorder_init(&recorder, plan->graph->n_ops, (size_t)repeats, err);
    }
    run.margin_ns = code == INQ_OK ? margin_of_machine(options) : 0;
    for (int i = -warmup; code == INQ_OK && i < repeats; i++) {
        code =
            execute(&run, options, inq_recorder_start(&recorder), inq_recorder_end(&recorder), err);
        if (code == INQ_OK && i >= 0) {
            (void)inq_recorder_next(&recorder);
            late[i] = lateness(&run);
        }
    }
    if (code == INQ_OK) {
        code = inq_recorder_finish(&recorder, out, err);
    }
    if (code == INQ_OK) {
        describe(&run, inq_median_i64(late, (size_t)repeats), out);
    }
    inq_mem_free(late);
    inq_recorder_release(&recorder);
    inq_host_work_release(&work);
    run_release(&run);
    return code;
}

int inq_engine_host_alternate(const struct inq_plan *const plans[2], const uint8_t *order, size_t n,
                              const struct inq_replay_options *options, int64_t *makespan_ns,
                              struct inq_witness *witness, struct inq_execution *device,
                              struct inq_err *err)
{
    struct host_run runs[2] = {{0}, {0}};
    struct host_work work = {0};
    struct inq_recorder recorders[2] = {{0}, {0}};
    int64_t margin_ns = margin_of_machine(options);
    int64_t clock_step_ns = clock_step();
    int64_t *late = inq_mem_zalloc(n + 1, sizeof *late);
    int code = late != NULL ? INQ_OK : no_memory(n, err);
    *device = (struct inq_execution){0};
    for (size_t k = 0; code == INQ_OK && k < 2; k++) {
        code = run_init(&runs[k], plans[k], options, err);
        runs[k].margin_ns = margin_ns;
        if (code == INQ_OK) {
            code = inq_recorder_init(&recorders[k], plans[k]->graph->n_ops, 1, err);
        }
    }
    if (code == INQ_OK) {
        code = give_work(runs, 2, options, &work, err);
    }
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        struct inq_recorder *recorder = &recorders[order[i]];
        recorder->n = 0;
        code = execute(&runs[order[i]], options, inq_recorder_start(recorder),
                       inq_recorder_end(recorder), err);
        makespan_ns[i] = code == INQ_OK ? inq_recorder_next(recorder) : 0;
        late[i] = lateness(&runs[order[i]]);
        if (code == INQ_OK) {
            recorder->n = 0;
            const struct inq_execution x = {.n_ops = recorder->n_ops,
                                            .start_ns = inq_recorder_start(recorder),
                                            .end_ns = inq_recorder_end(recorder)};
            inq_witness_take(witness, plans[order[i]], order[i] == 0, &x, 2 * clock_step_ns);
        }
    }
    if (code == INQ_OK) {
        describe(&runs[0], inq_median_i64(late, n), device);
    }
    inq_mem_free(late);
    inq_host_work_release(&work);
    for (size_t k = 0; k < 2; k++) {
        inq_recorder_release(&recorders[k]);
        run_release(&runs[k]);
    }
    return code;
}
