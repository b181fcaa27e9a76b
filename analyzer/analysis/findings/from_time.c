/* SPDX-License-Identifier: Apache-2.0 */
/* Findings on where the time of all ranks goes: exposed communication, copies, waiting for hosts,
 * steps out of line. They name no rank. */
#include "analysis/account/account.h"
#include "analysis/findings/findings.h"
#include "inquest/account.h"
#include "inquest/memory.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

/* Every job has some of it: below this share of the rank-time it is not mentioned. */
#define MENTIONED_SHARE 0.05
/* Communication of which the traces do not tell waiting from transfer is not called transfer where
 * it is more than this part of what is not covered: the digits told then depend on it; more than
 * half of it leaves open what the time is spent on. */
#define LEAST_UNSPLIT  0.05
#define MOSTLY_UNSPLIT 0.5
/* A step is out of line when it is longer than the median by this part of it, and by 5 sigma. */
#define OUTLIER_SHARE  0.2
#define OUTLIER_SIGMAS 5.0
/* Steps below which none is out of line. */
enum { OUTLIER_LEAST_STEPS = 4 };
/* They are not told a second time where causes in some steps explain this part of what they lose.
 */
#define EXPLAINED_PART 0.5

/* A class of the account, or two, that names nobody: a view of where time goes. */
struct view {
    enum inq_finding_kind kind;
    enum inq_account_class cls, too;
    double low, medium; /* share from which on it is worth work on the job itself */
    const char *title, *expected;
    const char *one_title, *one_expected; /* the same of a run of one rank */
    const char *advice;                   /* "": that of the kind */
    /* fixes that depend on the run; NULL: that of the kind */
    void (*call_for)(struct inq_findings *f, struct inq_finding *finding);
};

static void call_for_transfers(struct inq_findings *f, struct inq_finding *finding)
{
    if (f->report->pipeline) {
        inq_findings_call_for(f, finding, "overlap-grads");
    } else {
        inq_findings_call_for(f, finding, "bucket-size:factor=0.5");
        inq_findings_call_for(f, finding, "bucket-size:factor=2");
    }
}

static void call_for_graphs(struct inq_findings *f, struct inq_finding *finding)
{
    inq_findings_call_for(f, finding, "cuda-graphs");
}

/* Exposed communication belongs to the shape of a job, up to half of it. A GPU that waits for its
 * own host, or for copies, is never meant to be. */
static const struct view views[] = {
    {INQ_FINDING_EXPOSED_COMM, INQ_ACCOUNT_TRANSFER, INQ_ACCOUNT_COMM, 0.5, 0.7,
     "transfers not covered by compute", "transfers covered by compute",
     "transfers not covered by compute", "transfers covered by compute", "", call_for_transfers},
    {INQ_FINDING_HOST_BOUND, INQ_ACCOUNT_HOST, INQ_ACCOUNT_HOST, 0.3, 0.5,
     "the GPUs wait for their hosts to launch work", "hosts that run ahead of their GPUs",
     "the GPU waits for its host to launch work", "a host that runs ahead of its GPU", "",
     call_for_graphs},
    {INQ_FINDING_EXPOSED_COPY, INQ_ACCOUNT_COPY, INQ_ACCOUNT_COPY, 0.2, 0.4,
     "copies not covered by compute", "copies covered by compute", "copies not covered by compute",
     "copies covered by compute", "Copy from pinned memory on a stream of its own, ahead of use.",
     NULL},
};

/* The host's part where there is no device, so that no graph of its launches can be recorded. */
static const struct view cpu_view = {
    INQ_FINDING_HOST_BOUND,
    INQ_ACCOUNT_HOST,
    INQ_ACCOUNT_HOST,
    0.3,
    0.5,
    "between operators: the interpreter, data loading, waits that nothing records",
    "threads that go from operator to operator",
    "between operators: the interpreter, data loading, waits that nothing records",
    "threads that go from operator to operator",
    "Load data ahead of use in workers of their own, and give the interpreter less and larger "
    "operators to call.",
    NULL,
};

/* What hosts do while their GPUs wait, where it is not launching: no graph of launches shortens it.
 */
struct host_work {
    const char *what, *title, *one_title, *expected, *advice;
};

static const struct host_work host_works[] = {
    {INQ_ACCOUNT_DATA_LOADING, "the GPUs wait for data loading", "the GPU waits for data loading",
     "data that is loaded ahead of its use",
     "Load data ahead of use in more worker processes (num_workers, prefetch_factor), and make "
     "what a sample takes shorter: faster storage, decoding and tokenizing beforehand."},
    {INQ_ACCOUNT_ALLOCATION, "the GPUs wait for memory allocation",
     "the GPU waits for memory allocation", "memory that is kept and used again",
     "Keep memory and use it again: a caching allocator, equal shapes in all steps, less memory "
     "in use than the device has, no emptying of the cache."},
    {INQ_ACCOUNT_COLLECTION, "the GPUs wait for garbage collection",
     "the GPU waits for garbage collection", "no collection within a step",
     "Collect garbage between steps, at chosen ones (gc.disable, gc.collect), and freeze what "
     "stays (gc.freeze)."},
};

static const struct host_work *host_work_named(const char *what)
{
    for (size_t k = 0; k < sizeof host_works / sizeof *host_works; k++) {
        if (strcmp(what, host_works[k].what) == 0) {
            return &host_works[k];
        }
    }
    return NULL;
}

/* Which of them this is, for more than half of *ns per rank and step, and then *ns of it alone;
 * NULL: none. What late hosts are told of by themselves, `told_ns`, may be any of it. */
static const struct host_work *work_of_hosts(const struct inq_account *a, int64_t told_ns,
                                             int64_t *ns)
{
    for (size_t i = 0; i < a->n_parts; i++) {
        const struct inq_account_part *part = &a->parts[i];
        double per_step = (double)part->total_ns / (double)a->rank_time_ns * (double)a->t_ns;
        double rest_ns = per_step - (double)told_ns;
        bool most = part->cls == INQ_ACCOUNT_HOST && 2.0 * rest_ns > (double)*ns;
        const struct host_work *work = most ? host_work_named(part->what) : NULL;
        if (work != NULL) {
            *ns = llround(rest_ns);
            return work;
        }
    }
    return NULL;
}

/* Late hosts and pauses, whose idle time is told as theirs. */
static bool is_host_delay(enum inq_finding_kind kind)
{
    return kind == INQ_FINDING_LATE_HOST || kind == INQ_FINDING_UNPLANNED_GC;
}

/* Ids of findings before this one that are causes of the same loss: "slow_gpu:rank2, ...". */
static const char *causes_of(struct inq_findings *f, bool host_delays)
{
    const char *text = "";
    for (size_t i = 0; i < f->n; i++) {
        if (f->at[i].in_order_ns >= 0 && (host_delays || !is_host_delay(f->at[i].kind))) {
            text = inq_findings_text(f, "%s%s%s", text, text[0] ? ", " : "", f->at[i].id);
        }
    }
    return text;
}

/* What hosts that are late against their peers add to the class, per rank and step: they have
 * findings of their own, so the view of all hosts leaves it out. `whose`: how they are named. */
static int64_t late_hosts_ns(struct inq_findings *f, const char **whose)
{
    const struct inq_account *a = f->report->account;
    const struct inq_attribution *blame = f->report->attribution;
    int64_t sum_ns = 0;

    *whose = "";
    for (size_t i = 0; blame != NULL && a->ranks_judged > 0 && i < blame->n_candidates; i++) {
        const struct inq_candidate *s = &blame->candidates[i];
        int64_t extra_ns = s->own_ns - s->peers_ns;
        if (!is_host_delay(s->kind) || !s->launches_known || extra_ns <= 0) {
            continue; /* without launches its idle time is not in the class */
        }
        sum_ns += extra_ns * (int64_t)s->n_ranks / (int64_t)a->ranks_judged;
        *whose =
            (*whose)[0] != '\0' || s->n_ranks != 1
                ? "late hosts"
                : inq_findings_text(f, "%s's host", inq_findings_rank_list(f, s->ranks, 1, false));
    }
    return sum_ns;
}

/* Ranks alone, cut windows, members without a file: waiting is in what was measured then. How that
 * limits what is said. */
static const char *say_unsplit(struct inq_findings *f, struct inq_finding *finding, int64_t ns)
{
    int64_t unsplit_ns = f->report->account->class_ns[INQ_ACCOUNT_COMM];

    finding->expected = "communication covered by compute";
    finding->confidence = (double)unsplit_ns > MOSTLY_UNSPLIT * (double)ns
                              ? INQ_CONFIDENCE_HYPOTHESIS
                              : INQ_CONFIDENCE_SUPPORTED;
    return inq_findings_text(f,
                             "; in %s of it waiting for other ranks and transfer are not separable",
                             unsplit_ns < ns ? inq_findings_time(f, unsplit_ns) : "all");
}

/* Whether a class of `ns` asks for action, and how sure that is. */
static void rate(struct inq_finding *finding, const struct view *view, const struct inq_account *a,
                 int64_t ns, bool one_rank)
{
    double share = (double)ns / (double)a->t_ns;
    /* Of ranks that could tell each other's arrivals, but do not: nothing says what to work on. */
    bool open = view->too == INQ_ACCOUNT_COMM && !one_rank &&
                (double)a->class_ns[INQ_ACCOUNT_COMM] > MOSTLY_UNSPLIT * (double)ns;

    if (share >= view->low && !open) {
        finding->severity = share >= view->medium ? INQ_SEVERITY_MEDIUM : INQ_SEVERITY_LOW;
    }
    if (a->steps_judged < 2) { /* measured, but one step need not be like the others */
        finding->confidence = INQ_CONFIDENCE_SUPPORTED;
    }
}

/* The text, with the run's own kind of device in place of "GPU". */
static const char *of_device(struct inq_findings *f, const char *text)
{
    const struct inq_trace *trace = f->report->trace;
    const char *device = trace->n_ranks > 0 ? inq_rank_device(trace, &trace->ranks[0]) : "GPU";
    const char *from = strstr(text, "GPU");
    if (from == NULL || strcmp(device, "GPU") == 0) {
        return text;
    }
    return inq_findings_text(f, "%.*s%s%s", (int)(from - text), text, device,
                             of_device(f, from + 3));
}

/* The view of hosts of which most is one sort of work. Launching belongs to a job's shape; this
 * work does not, so that it is told one level below a cause of the same share, whose cost is
 * simulated. A stage of a pipeline may have waited for its inputs meanwhile: there it is as any
 * other. */
static struct view narrowed(const struct inq_findings *f, const struct view *view,
                            const struct host_work *work)
{
    struct view narrow = *view;
    if (f->report->pipeline == NULL) {
        narrow.low = inq_severity_least(INQ_SEVERITY_MEDIUM);
        narrow.medium = inq_severity_least(INQ_SEVERITY_HIGH);
    }
    narrow.title = work->title;
    narrow.one_title = work->one_title;
    narrow.expected = narrow.one_expected = work->expected;
    narrow.advice = work->advice;
    narrow.call_for = NULL;
    return narrow;
}

/* The operation whose transfers take longest in all, of those with a bandwidth; NULL: none. */
static const struct inq_coll_stat *longest_transfers(const struct inq_collectives *colls)
{
    const struct inq_coll_stat *most = NULL;
    double most_ns = 0.0;
    for (size_t i = 0; colls != NULL && i < colls->n_by_op; i++) {
        const struct inq_coll_stat *op = &colls->by_op[i];
        double ns = (double)op->transfer_ns_median * (double)op->count;
        if (isfinite(op->busbw_gbps) && ns > most_ns) {
            most = op;
            most_ns = ns;
        }
    }
    return most;
}

/* A fabric that is slow for everybody shows no rank that is slower than others: the bandwidth
 * itself, against what the nodes reach, is what tells it from a job that sends too much. */
static void add_bandwidth(struct inq_findings *f, struct inq_finding *finding)
{
    const struct inq_coll_stat *op = longest_transfers(f->report->collectives);
    char size[32];
    if (op == NULL || finding->severity == INQ_SEVERITY_INFO) {
        return;
    }
    finding->detail = inq_findings_text(
        f,
        "%s The longest in all: %s of %s over %d ranks, %s each at a bus bandwidth of %.3g "
        "GB/s.",
        finding->detail, inq_coll_kind_text(op->kind),
        inq_size_format((double)op->bytes, INQ_SIZE_DECIMAL, size, sizeof size), op->group_size,
        inq_findings_time(f, op->transfer_ns_median), op->busbw_gbps);
    finding->advice =
        "Compare the bus bandwidth with what nccl-tests reach on these nodes: far less is a slow "
        "network or link. Otherwise overlap the transfers with compute (bucket sizes, prefetch, "
        "asynchronous collectives), or send less.";
}

/* What is left of the view's classes per rank and step without late hosts, which are told by
 * themselves, and the part of it that the view names. */
struct left {
    int64_t all_ns, ns, told_ns;
    const char *whose; /* how they are named */
};

static void add_view(struct inq_findings *f, const struct view *view, const struct left *left)
{
    const struct inq_account *a = f->report->account;
    bool hosts = view->cls == INQ_ACCOUNT_HOST;
    bool one_rank = f->report->trace->n_ranks == 1;
    int64_t ns = left->ns;
    double share = (double)ns / (double)a->t_ns;

    if (share < MENTIONED_SHARE || (a->op_table && hosts)) {
        return;
    }
    /* records of communication only: whether compute covers it is not known */
    if (view->kind == INQ_FINDING_EXPOSED_COMM && a->class_ns[INQ_ACCOUNT_COMPUTE] == 0) {
        return;
    }
    const char *causes = causes_of(f, !hosts);
    struct inq_finding *finding = inq_findings_add(f, view->kind);
    if (!finding) {
        return;
    }
    rate(finding, view, a, left->all_ns, one_rank);
    finding->share = share;
    const char *percent = inq_findings_percent(f, share);
    bool unsplit = view->too == INQ_ACCOUNT_COMM &&
                   (double)a->class_ns[INQ_ACCOUNT_COMM] > LEAST_UNSPLIT * (double)ns;
    finding->title = inq_findings_text(f, "%s of the time: %s", percent,
                                       unsplit    ? "communication not covered by compute"
                                       : one_rank ? view->one_title
                                                  : view->title);
    finding->title = of_device(f, finding->title);
    finding->measured = inq_findings_text(
        f, "%s of the time, %s of %s of %s", percent, inq_findings_time(f, ns),
        a->one_interval ? "the capture" : "a step", inq_findings_time(f, a->t_ns));
    finding->expected = of_device(f, one_rank ? view->one_expected : view->expected);
    const char *limits =
        unsplit ? say_unsplit(f, finding, ns)
        : left->told_ns > 0
            ? inq_findings_text(f, ", without waiting for other ranks and without the delays of %s",
                                left->whose)
            : (one_rank ? "" : ", without waiting for other ranks");
    finding->detail = inq_findings_text(f, "Measured %s%s%s%s.", finding->measured, limits,
                                        causes[0] ? "; part of it may be due to " : "", causes);
    finding->advice = view->advice;
    if (view->kind == INQ_FINDING_EXPOSED_COMM && !unsplit) {
        add_bandwidth(f, finding);
    }
    if (view->call_for != NULL) {
        view->call_for(f, finding);
    }
}

/* Lengths of the judged steps into `steps`; how many. */
static size_t list_steps(const struct inq_account *a, double *steps)
{
    size_t n = 0;
    for (size_t s = 0; s < a->n_steps; s++) {
        if (a->steps[s].judged && a->steps[s].length_ns >= 0) {
            steps[n++] = (double)a->steps[s].length_ns;
        }
    }
    return n;
}

/* Median of the judged steps, and what a step out of line exceeds; -1: too few steps. */
static int64_t outlier_limit(const struct inq_account *a, int64_t *median_ns)
{
    double *steps = inq_mem_alloc((a->n_steps + 1) * sizeof(*steps));
    size_t n = steps ? list_steps(a, steps) : 0;
    int64_t limit_ns = -1;

    if (n >= OUTLIER_LEAST_STEPS) {
        double middle = inq_median(steps, n);
        (void)list_steps(a, steps);
        double sigma = 1.4826 * inq_mad(steps, n, middle);
        *median_ns = (int64_t)llround(middle);
        limit_ns = (int64_t)(middle + fmax(OUTLIER_SHARE * middle, OUTLIER_SIGMAS * sigma));
    }
    inq_mem_free(steps);
    return limit_ns;
}

/* Whether causes that come and go cost what the long steps lose: then these are told already. */
static bool is_explained(const struct inq_report *report, int64_t lost_ns_per_step)
{
    double explained_ns = 0.0;

    for (size_t i = 0; report->attribution && i < report->attribution->n_candidates; i++) {
        const struct inq_candidate *s = &report->attribution->candidates[i];
        bool sometimes = s->steps_seen > 0 && s->steps_seen < s->steps;
        explained_ns += sometimes ? (double)s->cost_ns_per_step : 0.0;
    }
    return explained_ns >= EXPLAINED_PART * (double)lost_ns_per_step;
}

static bool is_out(const struct inq_account *a, size_t s, int64_t limit_ns)
{
    return a->steps[s].judged && a->steps[s].length_ns > limit_ns;
}

/* Steps out of line: above `limit_ns`, they lose `lost_ns` in all against the median. */
struct long_steps {
    int64_t limit_ns, median_ns, lost_ns;
    size_t n, longest;
    const char *why; /* the longest is so long; "" not known */
};

static struct long_steps find_long_steps(const struct inq_account *a)
{
    struct long_steps out = {.limit_ns = -1, .why = ""};
    out.limit_ns = a->one_interval ? -1 : outlier_limit(a, &out.median_ns);
    for (size_t s = 0; out.limit_ns >= 0 && s < a->n_steps; s++) {
        if (is_out(a, s, out.limit_ns)) {
            bool first = out.n == 0 || a->steps[s].length_ns > a->steps[out.longest].length_ns;
            out.longest = first ? s : out.longest;
            out.lost_ns += a->steps[s].length_ns - out.median_ns;
            out.n++;
        }
    }
    return out;
}

/* Whether long steps are told by themselves. */
static bool are_told(const struct inq_report *report, const struct long_steps *out)
{
    return out->n > 0 &&
           !is_explained(report, out->lost_ns / (int64_t)report->account->steps_judged);
}

/* What long steps have of the class beyond what the others have, per rank and step of all: a
 * checkpoint is told as such a step, and says nothing of how the job goes in the others. */
static int64_t long_steps_ns(const struct inq_report *report, enum inq_account_class cls)
{
    const struct inq_account *a = report->account;
    struct long_steps out = find_long_steps(a);
    double sum_ns[2] = {0.0, 0.0};
    double n[2] = {0.0, 0.0};

    for (size_t i = 0; are_told(report, &out) && i < a->n_ranks * a->n_steps; i++) {
        if (a->cells[i].judged) {
            size_t k = is_out(a, i % a->n_steps, out.limit_ns);
            sum_ns[k] += (double)a->cells[i].ns[cls];
            n[k]++;
        }
    }
    double more_ns = n[0] > 0.0 && n[1] > 0.0 ? sum_ns[1] - sum_ns[0] / n[0] * n[1] : 0.0;
    return more_ns > 0.0 ? (int64_t)llround(more_ns / (n[0] + n[1])) : 0;
}

static void from_view(struct inq_findings *f, const struct view *view)
{
    const struct inq_account *a = f->report->account;
    const struct host_work *work = NULL;
    struct left left = {.all_ns = a->class_ns[view->cls], .whose = ""};

    if (view->too != view->cls) {
        left.all_ns += a->class_ns[view->too];
    } else {
        left.told_ns = long_steps_ns(f->report, view->cls);
        left.whose = left.told_ns > 0 ? "the long steps" : "";
    }
    left.all_ns -= left.told_ns;
    left.ns = left.all_ns;
    if (view->cls == INQ_ACCOUNT_HOST) {
        const char *whose;
        int64_t late_ns = late_hosts_ns(f, &whose);
        if (whose[0] != '\0') {
            left.whose = left.whose[0] == '\0'
                             ? whose
                             : inq_findings_text(f, "%s and of %s", whose, left.whose);
        }
        left.told_ns += late_ns;
        left.all_ns -= late_ns;
        left.ns = left.all_ns;
        work = work_of_hosts(a, left.told_ns, &left.ns);
        left.all_ns = work != NULL && f->report->pipeline == NULL ? left.ns : left.all_ns;
    }
    struct view narrow = work != NULL ? narrowed(f, view, work) : *view;
    add_view(f, &narrow, &left);
}

/* Why the step is so long; "" not known. */
static const char *why_long(struct inq_findings *f, size_t s, int64_t median_ns)
{
    const struct inq_account *a = f->report->account;
    const char *why = "";
    int64_t more_ns = a->steps[s].length_ns - median_ns;
    if (inq_account_explain_step(a, s, more_ns, f->arena, &why, NULL) != INQ_OK) {
        f->no_memory = true;
    }
    return why;
}

/* Of more steps nobody reads why; each is looked for in all annotations. */
enum { STEPS_EXPLAINED = 8 };

static void say_steps(const struct inq_trace *trace, struct inq_findings *f,
                      const struct long_steps *out, struct inq_finding *finding)
{
    const struct inq_account *a = f->report->account;
    struct inq_evidence *evidence = inq_findings_evidence(f, finding, out->n);

    for (size_t s = 0; evidence && s < a->n_steps; s++) {
        if (is_out(a, s, out->limit_ns)) {
            const char *why = s == out->longest ? out->why
                              : finding->n_evidence < STEPS_EXPLAINED
                                  ? why_long(f, s, out->median_ns)
                                  : "";
            evidence[finding->n_evidence++] = (struct inq_evidence){
                -1, "", trace->steps[s].start_ns, trace->steps[s].end_ns,
                inq_findings_text(f, "step %lld took %s%s%s", (long long)a->steps[s].number,
                                  inq_findings_time(f, a->steps[s].length_ns),
                                  why[0] != '\0' ? ", " : "", why)};
        }
    }
}

/* The host's work of known kind whose pauses make up for most of what they lose; NULL: none. */
static const struct host_work *work_in(const struct inq_account *a, const struct long_steps *out)
{
    for (size_t k = 0; k < sizeof host_works / sizeof *host_works; k++) {
        int64_t sum_ns = 0;
        for (size_t s = 0; s < a->n_steps; s++) {
            bool in = is_out(a, s, out->limit_ns) && a->steps[s].pause_ns > 0 &&
                      host_work_named(a->steps[s].pause_in) == &host_works[k];
            sum_ns += in ? a->steps[s].pause_ns : 0;
        }
        if ((double)sum_ns > EXPLAINED_PART * (double)out->lost_ns) {
            return &host_works[k];
        }
    }
    return NULL;
}

/* Whether most of what they lose is compute: what a rank computes longer in one of them than in
 * another step. */
static bool are_long_by_compute(const struct inq_account *a, const struct long_steps *out)
{
    double sum_ns[2] = {0.0, 0.0};
    size_t n[2] = {0, 0};
    for (size_t i = 0; i < a->n_ranks * a->n_steps; i++) {
        if (a->cells[i].judged) {
            size_t k = is_out(a, i % a->n_steps, out->limit_ns);
            sum_ns[k] += (double)a->cells[i].ns[INQ_ACCOUNT_COMPUTE];
            n[k]++;
        }
    }
    double longer_ns =
        n[0] > 0 && n[1] > 0 ? sum_ns[1] / (double)n[1] - sum_ns[0] / (double)n[0] : 0.0;
    return longer_ns * (double)out->n > EXPLAINED_PART * (double)out->lost_ns;
}

/* What makes them long: pauses of the host and evaluation call for different things. */
static void say_why_long(struct inq_findings *f, const struct long_steps *out,
                         struct inq_finding *finding)
{
    const struct inq_account *a = f->report->account;
    const struct host_work *work = work_in(a, out);

    if (work != NULL) {
        bool one_rank = f->report->trace->n_ranks == 1;
        finding->title = inq_findings_text(f, "%s: %s", finding->title,
                                           of_device(f, one_rank ? work->one_title : work->title));
        finding->advice = work->advice;
    } else if (out->why[0] != '\0') {
        finding->title = inq_findings_text(f, "%s (%s%s)", finding->title,
                                           out->n > 1 ? "the longest: " : "", out->why);
    }
    if (are_long_by_compute(a, out)) {
        finding->advice = "Look for evaluation, or for more or longer samples, in these steps.";
    }
}

/* Judged steps much longer than the others. */
static void from_steps(const struct inq_trace *trace, struct inq_findings *f)
{
    const struct inq_account *a = f->report->account;
    struct long_steps out = find_long_steps(a);

    if (!are_told(f->report, &out)) {
        return;
    }
    struct inq_finding *finding = inq_findings_add(f, INQ_FINDING_STEP_OUTLIER);
    if (!finding) {
        return;
    }
    out.why = why_long(f, out.longest, out.median_ns);
    say_steps(trace, f, &out, finding);
    inq_findings_set_cost(f, finding, out.lost_ns / (int64_t)a->steps_judged, a->t_ns);
    finding->measured = inq_findings_text(f, "%zu of %zu steps above %s", out.n, a->steps_judged,
                                          inq_findings_time(f, out.limit_ns));
    finding->expected = inq_findings_text(f, "%s, the median", inq_findings_time(f, out.median_ns));
    finding->title = inq_findings_text(f, "%zu of %zu steps took much longer than the others",
                                       out.n, a->steps_judged);
    finding->detail =
        inq_findings_text(f, "Measured %s; expected %s.", finding->measured, finding->expected);
    say_why_long(f, &out, finding);
    finding->title = inq_findings_text(f, "%s, which costs %s %s (%s)", finding->title,
                                       inq_findings_time(f, finding->cost_ns_per_step),
                                       inq_account_per(a), inq_findings_percent(f, finding->share));
}

void inq_findings_from_time(const struct inq_trace *trace, struct inq_findings *findings)
{
    const struct inq_account *a = findings->report->account;

    if (a == NULL || a->t_ns <= 0) {
        return;
    }
    bool cpu = trace->n_ranks > 0 && inq_rank_on_cpu(trace, &trace->ranks[0]);
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
        bool of_cpu = cpu && views[i].kind == cpu_view.kind;
        from_view(findings, of_cpu ? &cpu_view : &views[i]);
    }
    from_steps(trace, findings);
}
