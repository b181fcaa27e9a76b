/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop of the host engine: messages and timers in, ops started and ended. Durations are
 * counted from the op's real start, so that nothing drifts. */
#include "engine/host.h"

#include "base/time.h"

#include <sched.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

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

void inq_host_post(struct host_run *run, uint32_t op)
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
        inq_host_post(run, op);
    }
}

void inq_host_stop(struct host_run *run, enum host_outcome outcome)
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
        inq_host_stop(run, all ? HOST_DONE : HOST_STUCK);
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
        inq_host_stop(run, HOST_TIMED_OUT);
        return;
    }
    int64_t until = next < deadline ? next - run->margin_ns : deadline;
    if (until > now) {
        sleep_until(w, until);
    } else if (next < now - run->margin_ns) {
        (void)sched_yield(); /* whoever is late may need this CPU */
    }
}

/* Waiting threads sleep but for the last moments, so that others get what they need all the same.
 */
bool inq_host_raise_priority(void)
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

void *inq_host_loop(void *worker)
{
    struct host_worker *w = worker;
    if (w->run->realtime) {
        w->refused = !inq_host_raise_priority();
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
