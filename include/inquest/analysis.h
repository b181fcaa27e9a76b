/* SPDX-License-Identifier: Apache-2.0 */
/* Analyses: questions asked of one trace, and the one result structure that every report formats.
 * Times are int64 ns; ratios are doubles computed from the integer sums. A section that does not
 * apply is absent (NULL or has_ = false), never zero. Formulas: man inquest-report(5), METHODS. */
#ifndef INQUEST_ANALYSIS_H
#define INQUEST_ANALYSIS_H

#include "inquest/findings.h"
#include "inquest/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum inq_method { INQ_METHOD_INQUEST, INQ_METHOD_HTA, INQ_METHOD_TRACELENS };

/* Where a rank's GPU time went, over the span from the first start to the last end of its GPU work;
 * of a reduced rank steps that have no rows, and what lies between them, are left out of it.
 *
 * GPU work: kernels, memory copies and sets, and the ops of an op table that are not of class other
 * (a garbage collection runs on the host). Synchronization records and generic slices are no work.
 * A kernel of class other counts as compute. All sums are lengths of unions of intervals over all
 * lanes of the rank, so work that runs side by side counts once:
 *   compute        = |C|
 *   exposed_comm   = |K \ C|        K: communication
 *   exposed_memcpy = |(M \ C) \ K|  M: copies and sets
 *   idle           = span - |C + K + M|
 * compute + exposed_comm + exposed_memcpy + idle == span exactly.
 *
 * Idle by cause: every gap between the union of GPU work belongs to the op whose start ends it (of
 * several with the same start, the one that was launched first):
 *   host   = the gaps whose op was launched (start of the launching call) after the gap had begun:
 *            the host was late; host_late_ns is by how much, summed: launch - begin of the gap
 *   kernel = launched in time, and the gap is shorter than 30 us: scheduling on the device
 *   other  = launched in time and longer (it waited for another stream or another rank), or the
 *            launch was not recorded and the gap is 30 us or longer
 * host + kernel + other == idle exactly. Without any recorded launch the causes are not known. */
#define INQ_KERNEL_GAP_NS 30000

struct inq_rank_time {
    uint32_t rank; /* index into inq_trace.ranks */
    int64_t span_ns;
    int64_t compute_ns, exposed_comm_ns, exposed_memcpy_ns, idle_ns;
    int64_t comm_ns;         /* |K| */
    int64_t comm_overlap_ns; /* |K & C|: the part of it covered by compute */
    double overlap_pct;      /* 100 * comm_overlap / comm; NaN: no communication */
    bool idle_causes_known;  /* false: the three below are not measured */
    int64_t idle_host_ns, idle_kernel_ns, idle_other_ns;
    int64_t host_late_ns;
    uint64_t host_gaps; /* gaps of cause host */
    uint64_t kernels;   /* pieces of GPU work: kernels, copies, sets, ops */
};

/* ---- peers' numbers, in the peers' own rules, rounding and units (us); only for --method --------
 *
 * Both read times as recorded: before the clocks were aligned and without the file's base time.
 *
 * HTA (0.6.1). Rows are kernels, copies, sets and synchronization records on a stream >= 0. If any
 * `ts` of the file has a fraction, starts are rounded up and ends down to whole us. With two or
 * more different ProfilerSteps (over all ranks) only rows count whose launching call started before
 * the last step's start (hta_include_last_step: not after its end), as often as there are such
 * calls. Types by name, the first that fits: COMMUNICATION begins with nccl, hip or hccl or
 * contains ncclKernel; MEMORY begins with Memcpy, Memset or dma; COMPUTATION is the rest but for
 * what contains Memcpy, Memset, dma or Sync and some host-side names. |X|: length of the union.
 *   kernel  = last end - first start of all rows;  idle = kernel - |all rows|
 *   compute = |COMPUTATION|;  non_compute = kernel - compute - idle
 *   overlap = 100 * |COMMUNICATION & COMPUTATION| / |COMMUNICATION|
 *   idle by stream: each gap between neighbors (negative ones too) is host_wait if the launch came
 *   after the previous end, else kernel_wait below 30 us, else other; a row without a recorded
 *   launch takes the file's very first event for it
 *   kernel types: time during which exactly these types ran, summed over ranks
 *
 * TraceLens (1.0). C: kernels and sets, K: those with nccl, rccl or cross_device_reduce in the name
 * (any case), M: copies; in doubles, no rounding, no choice of steps.
 *   computation = |C|; exposed_comm = |K \ C|; exposed_memcpy = |(M \ C) \ K|
 *   total = last end - first start; idle = total - |C + K + M|
 * Collectives: the n-th kernel of a process group on each rank, kinds all-reduce, reduce-scatter,
 * all-gather, all-to-all. latency = shortest duration; wait = last start - own start; skews:
 * largest minus smallest start, end; algbw = full size / 1024^3 / latency (full: output of an
 * all-gather, else input), busbw = algbw * 2(n-1)/n for all-reduce, (n-1)/n for the others. */

/* One stream's idle time as HTA's get_idle_time_breakdown has it (threshold 30 us). NaN where HTA
 * has no row: no gap of that category on the stream. */
struct inq_reference_idle {
    int64_t stream;
    double host_wait_us, kernel_wait_us, other_us;
    double host_wait_ratio, kernel_wait_ratio, other_ratio; /* of the stream's sum; two decimals */
};

struct inq_reference_rank_time {
    uint32_t rank; /* index into inq_trace.ranks */
    /* HTA: get_temporal_breakdown, get_comm_comp_overlap; percentages with two decimals */
    int64_t hta_idle_us, hta_compute_us, hta_non_compute_us, hta_kernel_us;
    double hta_idle_pct, hta_compute_pct, hta_non_compute_pct;
    double hta_overlap_pct; /* NaN: no communication */
    size_t n_streams;       /* ascending */
    struct inq_reference_idle *streams;
    /* TraceLens: GPU timeline */
    double tl_computation_us, tl_exposed_comm_us, tl_exposed_memcpy_us, tl_idle_us, tl_total_us;
};

/* HTA's get_gpu_kernel_breakdown, first table: time over all ranks during which exactly these types
 * of kernels ran. */
struct inq_reference_kernel_type {
    const char *type; /* "COMPUTATION overlapping COMMUNICATION", ... */
    int64_t sum_us;
    double pct; /* of all rows; one decimal */
};

/* One implicitly synchronizing collective as TraceLens' NcclAnalyser has it. GB are GiB there. */
struct inq_tl_collective {
    const char *id; /* "<process group>_<ordinal>" */
    const char *group, *group_ranks, *name, *dtype;
    int32_t group_size;
    int64_t in_elems, out_elems;
    double in_mb, out_mb, full_mb; /* MiB; NaN: type without a size */
    double latency_us;             /* shortest duration of a member */
    double skew_start_us, avg_wait_us, skew_end_us;
    uint32_t earliest_rank; /* index into inq_trace.ranks */
    double algbw, busbw;    /* NaN: sizes unknown */
    size_t n_members;       /* by rank */
    struct inq_tl_member {
        uint32_t rank; /* index into inq_trace.ranks */
        double ts_us, dur_us, wait_us;
    } * members;
};

/* TraceLens' straggler summary: least waiting first. One decimal. */
struct inq_tl_straggler {
    uint32_t rank; /* index into inq_trace.ranks */
    double total_wait_us, mean_wait_us;
    uint64_t last, first, collectives;
    double last_pct, total_dur_us;
};

/* TraceLens' summary of collectives alike: mean and sample deviation (NaN for one). */
struct inq_tl_summary {
    const char *name, *dtype, *group;
    int64_t in_elems;
    int32_t group_size;
    double full_mb;
    double latency_mean, latency_std, skew_start_mean, skew_start_std, skew_end_mean, skew_end_std;
    double algbw_mean, algbw_std, busbw_mean, busbw_std;
    uint64_t count;
    double total_latency_ms;
};

struct inq_reference {
    size_t n_rank_times;
    struct inq_reference_rank_time *rank_times;
    size_t n_kernel_types; /* most time first */
    struct inq_reference_kernel_type *kernel_types;
    size_t n_collectives;
    struct inq_tl_collective *collectives;
    size_t n_summaries;
    struct inq_tl_summary *summaries;
    size_t n_stragglers;
    struct inq_tl_straggler *stragglers;
};

/* Collectives and P2P operations matched across ranks, from the members' starts and ends on the
 * aligned clocks. For one of them, over its members:
 *   first, last arrival = smallest, largest start; skew = last - first arrival
 *   wait of a member    = last arrival - own start, but not past its own end (a broadcast's root
 *                         may be done before the last member comes)
 *   transfer            = own end - last arrival, at least 0; of the operation: median of members
 *   ends spread         = largest end - smallest end (synchronizing kinds, all members there)
 *   algbw = S / transfer, busbw = algbw * factor, GB = 1e9 bytes, S and factor as in nccl-tests; of
 *           several operations sum(S) / sum(transfer) over those whose size is known
 *
 * The last arriver is the member with the largest start, the first the one with the smallest; of
 * several with the same start, the lowest rank. Operations with a single member known have a
 * transfer but no wait and no arrivals.
 *
 * Collectives whose ends disagree (inq_collective.ends_disagree) are counted as uneven; they add to
 * no wait and no arrival. */
struct inq_wait {
    uint32_t rank;   /* index into inq_trace.ranks */
    int64_t wait_ns; /* summed over matched collectives */
    uint64_t last_arrivals, first_arrivals, collectives;
};

struct inq_coll_stat {
    enum inq_coll_kind kind;
    uint32_t group; /* index into inq_trace.groups */
    int32_t group_size;
    uint64_t count;
    int64_t bytes;     /* per op, nccl-tests size S; median; -1 unknown */
    inq_str algorithm; /* that most of them ran with, of those known; 0 unknown */
    int32_t channels;  /* median of those known; -1 unknown */
    int64_t transfer_ns_median;
    int64_t wait_ns; /* summed over ranks */
    int64_t skew_ns_median;
    double algbw_gbps, busbw_gbps; /* NaN: sizes unknown */
};

struct inq_coll_worst {
    uint32_t collective; /* index into inq_trace.collectives */
    uint32_t last_rank;  /* index into inq_trace.ranks */
    int64_t start_ns, end_ns;
    int64_t wait_ns; /* summed over ranks */
    int64_t transfer_ns, skew_ns;
};

struct inq_collectives {
    uint64_t matched, unmatched;
    uint64_t uneven;            /* of the matched: their ends disagree, waits not counted */
    int64_t ends_spread_ns_max; /* after clock alignment; -1 none matched */
    int64_t raw_ends_spread_ns_max;
    size_t n_waits;
    struct inq_wait *waits;
    size_t n_by_op;
    struct inq_coll_stat *by_op;
    size_t n_worst;
    struct inq_coll_worst *worst;
};

/* ---- pipeline and what-if (op graph) --------------------------------------------------------- */

/* A named share of a step; the parts of one table sum exactly to its total. */
struct inq_waterfall_part {
    const char *cause;
    int64_t ns_per_step;
};

/* One stage, means over its workers and over the steps. compute + p2p + sync + other + idle ==
 * total_ns_per_step of the pipeline, exactly: each instant of a step belongs to the first of them
 * that the worker was busy with; waiting for a peer before a transfer is idle. */
struct inq_stage_time {
    int32_t stage;
    int64_t forward_ns, backward_ns; /* mean per micro-batch */
    int64_t busy_ns, bubble_ns;      /* forward and backward; idle of the pipeline's span */
    int64_t compute_ns, p2p_ns, sync_ns, other_ns, idle_ns;
};

/* One step of the pipeline. */
struct inq_pipeline_step {
    int64_t step; /* recorded number */
    int64_t dur_ns;
    double bubble_ratio;
    bool warm_up;      /* an outlier at the beginning: set aside, in no mean */
    int64_t *parts_ns; /* [n_waterfall], sum to dur_ns; NULL where set aside */
};

/* The waterfall takes the causes away one after the other and simulates the step each time; a part
 * is what the step got shorter by. In this order:
 *   unexplained          recorded step - replay of the recorded durations and delays
 *   host_gaps            delays between what an op waited for and its start (launches, data)
 *   stragglers           each worker's forward and backward as long as its stage's median worker's
 *                        (but for what all stages of its replica have in common: that is its data);
 *                        of a stage whose workers all are stragglers by the attribution, its peers'
 *   microbatch_variation each stage's forwards and backwards all as long as their mean in the step
 *   stage_imbalance      work moves until all stages compute equally long: its sum stays
 *   p2p_transfer         transfers between stages take no time
 *   gradient_sync        parameter gathers, gradient reductions and the clip's too
 *   optimizer_and_other  and neither do optimizer, garbage collection and the rest
 *   schedule             what is left above the compute: warm-up and cool-down, what p and m cost
 *   ideal                the compute itself: m (F + B) of one stage
 * Parts can be negative where taking a cause away made another worse. */
struct inq_pipeline {
    const char *schedule; /* "1f1b", "interleaved-1f1b", "zb-v", ...; "zero-bubble", "v-shaped",
                           * "bidirectional": one of these; "unknown" */
    double confidence;    /* 0..1: share of the ops that stand where this schedule has them */
    const char *source;   /* "labels", "annotations", "inferred" */
    int32_t stages, microbatches, chunks, replicas;
    /* Idle share of the pipeline's span: from the first forward to the last backward of a replica,
     * forward and backward compute against the span, over all stages and steps. */
    double bubble_ratio;
    double bubble_ratio_theory; /* of this schedule with equal ops; NaN: no closed form */
    int64_t total_ns_per_step;  /* mean recorded step; the waterfall's parts sum to this */
    size_t n_waterfall;
    struct inq_waterfall_part
        *waterfall; /* in the order of the list above, backwards: ideal first */
    size_t n_per_stage;
    struct inq_stage_time *per_stage;
    size_t n_steps;
    struct inq_pipeline_step *steps; /* longest first, those set aside last */
    size_t n_dropped_steps;          /* their ops differ from the others': not in the model */
    size_t n_warm_up_steps;
};

/* What a part of the job costs: S of it, T with all else ideal over T_ideal. */
struct inq_named_ratio {
    const char *name;
    double slowdown;
    int64_t t_ns;           /* mean step with all else ideal; -1 not simulated (workers) */
    int32_t stage, dp_rank; /* as recorded; -1: not one */
    int32_t rank;           /* workers: global rank; -1: not one */
    double *per_step;       /* [n_by_step]; NULL for workers and steps */
};

/* A root cause that could explain the slowdown, tested by taking it away. */
struct inq_whatif_cause {
    const char *kind; /* "worker", "stage", "last_stage", "sequence_imbalance", "communication",
                         "garbage_collection" */
    const char *what; /* one sentence, with the numbers */
    double share;     /* of T - T_ideal that taking it away saves */
    int64_t saved_ns; /* per step */
    bool fits;        /* the cause's own test holds, not only its share */
    int32_t stage, dp_rank, rank; /* as recorded; -1: not one */
};

struct inq_whatif_step {
    int64_t step; /* recorded number */
    int64_t recorded_ns, t_ns, t_ideal_ns;
    double slowdown, launch_slowdown;
};

struct inq_whatif_scenario { /* one --what-if question answered */
    const char *spec;
    const char *problem; /* why it could not be answered; "" if it was */
    int64_t t_ns;
    double speedup; /* t / t_scenario */
};

/* Definitions of the OSDI'25 what-if analysis. T: mean simulated step with the recorded durations
 * and no launch delays; T_ideal: every compute op takes the mean of its type, every transfer the
 * median of its type; S = T / T_ideal. */
struct inq_whatif {
    int64_t t_ns, t_ideal_ns;
    int64_t recorded_ns; /* step as recorded; the model's own error = t - recorded */
    int64_t replayed_ns; /* simulated with the recorded launch delays too */
    double slowdown;     /* S = T / T_ideal */
    double launch_slowdown;
    double m_w, m_s; /* share of T - T_ideal that the slowest 3 % of workers, the last stage,
                        explain; NaN: T <= T_ideal */
    int64_t m_w_t_ns, m_s_t_ns; /* T with them ideal */
    /* Pearson, over all micro-batches, of forward and backward relative to the worker's means; NaN:
     * not both there */
    double forward_backward_correlation;
    size_t n_by_op_type, n_by_stage, n_by_dp_rank, n_by_worker, n_by_step;
    struct inq_named_ratio *by_op_type, *by_stage, *by_dp_rank, *by_worker, *by_step;
    struct inq_whatif_step *steps; /* [n_by_step] */
    size_t n_dropped_steps;        /* their ops differ from the others': not in the model */
    size_t n_warm_up_steps;        /* far longer steps at the beginning: not in the model either */
    size_t n_causes;               /* largest share first */
    struct inq_whatif_cause *causes;
    size_t n_scenarios;
    struct inq_whatif_scenario *scenarios;
};

struct inq_path_segment {
    int32_t rank;     /* global rank; -1 unknown */
    const char *kind; /* "compute", "transfer", "copy", "launch", "host", "gap" */
    const char *what;
    int64_t start_ns, end_ns; /* on the trace's clock */
};

/* How far the rest of a rank's ops is from mattering: by how much one could end later before the
 * step gets longer. */
struct inq_rank_slack {
    uint32_t rank;             /* index into inq_trace.ranks */
    int64_t on_path_ns;        /* time of the path on this rank */
    int64_t min_ns, median_ns; /* over its ops off the path; -1: none */
};

/* The chain of ops, transfers and gaps over all ranks that made a step as long as it was. by_kind,
 * by_rank and by_stage each sum to length_ns. */
struct inq_critical_path {
    int64_t step; /* recorded number of the step shown: the one of median length; -1: no steps */
    int64_t start_ns; /* on the trace's clock */
    int64_t length_ns;
    size_t contradictions; /* circles of ops that wait for each other by the record: cut */
    size_t n_by_kind;
    struct inq_waterfall_part *by_kind;
    size_t n_by_rank;
    int64_t *by_rank_ns; /* [n_ranks of the trace] */
    size_t n_by_stage;   /* 0: not a pipeline */
    struct inq_waterfall_part *by_stage;
    size_t n_slack; /* ranks with ops */
    struct inq_rank_slack *slack;
    size_t n_segments; /* longest first; runs of like ops are one segment */
    struct inq_path_segment *segments;
    size_t n_segments_left_out; /* shorter ones, past 1000 */
    int64_t left_out_ns;        /* their length in all */
};

/* ---- who delays whom ----------------------------------------------------------------------------
 *
 * Ranks of one role (pipeline stage; all ranks without a pipeline) are compared step by step. In a
 * synchronous job their steps are equally long, so a rank that takes more time of its own (compute,
 * exposed copies, idle) is one that the others wait for, and one that is late because it waited
 * itself has no excess: the root gets it. No clock but the rank's own enters. */

/* Successive judged steps in which a GPU is slow: one of several that are slow in turn. */
struct inq_turn {
    uint32_t rank;                 /* index into inq_trace.ranks */
    int64_t first_step, last_step; /* recorded numbers */
};

/* A rank, or several alike, or a link, that others wait for, beyond what chance explains. */
struct inq_candidate {
    enum inq_finding_kind kind; /* slow_gpu, more_work, late_host, exposed_copy, slow_link, ... */
    enum inq_confidence confidence;
    size_t n_ranks;
    uint32_t *ranks;         /* indices into inq_trace.ranks, ascending; none: sequence_imbalance */
    uint32_t group;          /* slow_link: index into inq_trace.groups; else INQ_NONE */
    enum inq_coll_kind coll; /* slow_link: what is slow; else unknown */
    int64_t cost_ns_per_step; /* what a step gains without it; estimated where not simulated */
    int64_t in_order_ns;      /* the same after those before it in the list are repaired; -1: not
                               * simulated, the cost is estimated from times of its own */
    int64_t low_ns, high_ns;  /* 95 % interval of the cost; INQ_TIME_NONE: none */
    bool hidden;              /* alone it gains hardly anything, in_order_ns after others */
    const struct inq_candidate *hidden_by; /* after this one; NULL: only after all before it */
    const struct inq_candidate *hides;     /* this one, and alone it gains as little; NULL */
    int64_t joint_ns;                      /* gained by its repair and that of `hides`; -1: none */
    const char *joint_fix;                 /* the spec of both; "" none */
    const char *host;         /* whose ranks these are, all of them; "" of no one host */
    const char *fix;          /* the spec whose prediction the cost is; "" none */
    int64_t step_ns;          /* length of a step, to set it against */
    int64_t own_ns, peers_ns; /* per step (slow_link: per transfer): the candidate's, its peers' */
    int64_t late_ns;          /* one rank's: what it takes longer in a step of `steps_seen` */
    uint64_t late_steps;      /* one host's: of so many steps; more are not seen; 0: any number */
    double ratio;             /* slow_gpu: durations of the same kernels; slow_link: of transfers;
                               * more_work: kernels per step; late_host: the same, where launching
                               * them is what makes it late; NaN: does not apply; the mean of
                               * several ranks */
    double least_ratio, most_ratio; /* of several that were joined: of each; 0: of one */
    uint64_t steps, steps_seen;     /* judged; of these, with a cost worth mentioning */
    uint64_t last_arrivals, waits;  /* collectives with a real wait that it came to last; all of
                                     * these that it took part in */
    int32_t stage;                  /* slow_last_stage, stage_imbalance: which; else -1 */
    bool of_other_roles;            /* `peers_ns` is: it has no peers, or they are as late */
    bool beside_roles;   /* its peers are as late: it was compared with ranks of other roles */
    bool rotates;        /* late_host, unplanned_gc: its ranks pause in turn */
    bool everywhere;     /* they do in most steps, each time at another place */
    bool silences;       /* they are told by for how long hosts make no call, beyond the usual; not
                          * by for how long GPUs idle */
    bool of_experts;     /* sequence_imbalance: experts' kernels differ, the others do not */
    double memory_ratio; /* slow_gpu: its matrix products are as fast as its peers', and this is how
                          * long all else takes beside theirs; 0: not so */
    uint64_t pauses;     /* so often, all together; of `late_ns` each */
    bool launches_known; /* LATE_HOST: its trace tells when work was launched */
    bool comm_only;      /* its traces hold nothing but communication */
    bool to_others;      /* slow_link: the links from these ranks, of one host, to other hosts */
    const char *running; /* what its host did meanwhile; "" not known, or nothing for long */
    bool spread;         /* late_host: idle between many launches, no gap holds most of a step's */
    double call_ratio;   /* late_host: how long its calls that launch take, beside those of ranks
                          * that are not late; NaN not known */
    size_t n_turns;      /* slow_gpu, of several ranks: 0 unless each is slow in steps of its own */
    struct inq_turn *turns; /* by their first steps */
    size_t n_evidence;
    struct inq_evidence *evidence;
};

/* Where a step goes on a rank that delays nobody: medians, so they do not quite add up. */
struct inq_usual_step {
    int64_t step_ns; /* as the GPU saw it: from the end of its last work to the end of the next */
    int64_t compute_ns, comm_ns, copy_ns; /* communication and copies not covered by compute */
    int64_t host_ns, other_ns;            /* idle because the host launched late; otherwise */
};

struct inq_attribution {
    uint64_t ranks_compared, steps_judged;
    bool first_step_left_out; /* ranks begin to record at different moments */
    bool one_step;            /* no steps known: the capture was taken as a single one */
    bool op_table;            /* labeled ops: what is idle was not recorded, only left over */
    struct inq_usual_step usual;
    int64_t waste_ns_per_step; /* what the last rank of a role costs the median one, by whatever
                                * cause, chance included */
    const char *no_gains;      /* why costs could not be simulated; "" they were */
    int64_t simulated_ns;      /* the judged steps' mean by the simulator, as recorded; -1 none */
    size_t n_candidates;       /* costliest first */
    struct inq_candidate *candidates;
};

/* ---- the result ------------------------------------------------------------------------------ */

/* X(NAME, "key", "title"): the parts of a report that may fail each by itself. The key is the
 * section's in JSON. */
#define INQ_SECTIONS(X)                                                                            \
    X(ACCOUNT, "account", "Where the rank-time goes")                                              \
    X(RANKS, "ranks", "Where each rank's GPU time went")                                           \
    X(COLLECTIVES, "collectives", "Collectives")                                                   \
    X(PIPELINE, "pipeline", "Pipeline")                                                            \
    X(WHATIF, "whatif", "What stragglers cost")                                                    \
    X(CRITICAL_PATH, "critical_path", "Critical path")                                             \
    X(KERNELS, "kernels", "Top kernels")                                                           \
    X(BLAME, "blame", "Comparison of the ranks")                                                   \
    X(FAILURE, "failure", "What stopped the run")                                                  \
    X(TRAINING, "training", "Training output")                                                     \
    X(METHOD, "method", "Numbers of the reference tool")                                           \
    X(FINDINGS, "findings", "Findings")

enum inq_section {
#define INQ_SECTION_ENUM(name, key, title) INQ_SECTION_##name,
    INQ_SECTIONS(INQ_SECTION_ENUM)
#undef INQ_SECTION_ENUM
        INQ_SECTION_COUNT
};
#define INQ_SECTION_BIT(section) (1U << (section))

/* Whether a section was made. A section that failed is empty, as one that does not apply is; only
 * `reason` tells them apart. */
enum { INQ_REASON_BYTES = 512 }; /* as an inq_err's message */

struct inq_section_state {
    const char *reason; /* why it is not available; NULL: it is */
    const char *next;   /* what to do about it */
    bool left_out;      /* not run: `only` named others */
};

struct inq_report {
    struct inq_arena *arena;
    const struct inq_trace *trace; /* borrowed */
    enum inq_method method;
    struct inq_verdict verdict;
    size_t n_findings; /* most costly first */
    struct inq_finding *findings;
    int64_t *step_ns;       /* [trace->n_steps] how long each took, by the account; -1: not known */
    int64_t *step_start_ns; /* [trace->n_steps] when the first rank began it, by the account; its
                             * mark where no rank has it whole */
    int64_t step_ns_median; /* of those judged; -1 no steps */
    size_t n_rank_times;
    struct inq_rank_time *rank_times;
    struct inq_reference *reference;         /* NULL: not asked for */
    struct inq_collectives *collectives;     /* NULL: none matched or unmatched */
    struct inq_pipeline *pipeline;           /* NULL: not a pipeline */
    struct inq_whatif *whatif;               /* NULL: no labeled ops */
    struct inq_critical_path *critical_path; /* NULL: not computed */
    struct inq_kernels *kernels;             /* kernels.h; NULL: no kernel was recorded */
    struct inq_op_model *op_model;           /* private to the analyses of the op graph */
    struct inq_account *account;             /* account.h; NULL: not computed */
    struct inq_attribution *attribution;     /* NULL: no two ranks could be compared */
    struct inq_training *training;           /* NULL: no training output (training.h) */
    struct inq_failure *failure;             /* NULL: no dumps, no logs (failure.h) */
    struct inq_section_state sections[INQ_SECTION_COUNT];
    char (*reasons)[INQ_REASON_BYTES]; /* of all sections: where their reasons are written */
};

/* Predicts what a step gains by each of n fixes, each alone: gain_ns[i], INQ_TIME_NONE where there
 * is no prediction. `report` has all sections but findings. Fails with INQ_NOMEM. */
typedef int inq_predict_gains(const struct inq_trace *trace, struct inq_report *report,
                              const char *const *specs, size_t n, int64_t *gain_ns,
                              struct inq_err *err);

struct inq_analysis_options {
    int jobs;
    /* Prices findings whose fix is no repair of the account's: inq_fix_predict (inquest/fix.h).
     * NULL: such findings have no cost. */
    inq_predict_gains *predict;
    enum inq_method method;
    bool hta_include_last_step; /* HTA's include_last_profiler_step=True */
    const char *const *only;    /* names of analyses, run with those that they need; NULL: all */
    size_t n_only;
    const char *const *what_if; /* scenario specs */
    size_t n_what_if;
};

/* One question. `run` fills its section of the report. When it fails, its section is emptied and
 * marked as not available, and so are those that need it; all others are as if it had not failed.
 */
struct inq_analysis {
    const char *name;
    const char *summary;
    enum inq_section section;
    uint32_t needs; /* INQ_SECTION_BIT of the sections that it cannot do without */
    uint32_t reads; /* the same of those that it reads where they are there */
    int (*run)(const struct inq_trace *trace, const struct inq_analysis_options *options,
               struct inq_report *report, struct inq_err *err);
};

/* All analyses in the order they run; *n gets their number. */
INQ_API const struct inq_analysis *inq_analyses(size_t *n);

/* Runs the chosen analyses over one trace. The trace must outlive the report. On success *report is
 * the caller's (inq_report_free), even where analyses failed: report->sections says which. Fails
 * with INQ_USAGE on an unknown name in `only`, INQ_NOMEM without memory for a report at all. */
INQ_API int inq_analyze(const struct inq_trace *trace, const struct inq_analysis_options *options,
                        struct inq_report **report, struct inq_err *err);

INQ_API void inq_report_free(struct inq_report *report);

/* Whether sections failed and no other says anything. */
INQ_API bool inq_report_is_void(const struct inq_report *report);

/* The section's key in JSON, and its title. */
INQ_API const char *inq_section_key(enum inq_section section);
INQ_API const char *inq_section_title(enum inq_section section);

/* What is wrong with the wording of a what-if question; "" if nothing. */
INQ_API const char *inq_what_if_problem(const char *spec);

INQ_API const char *inq_method_text(enum inq_method method);

#ifdef __cplusplus
}
#endif

#endif
