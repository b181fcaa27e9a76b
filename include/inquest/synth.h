/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic runs: Kineto traces, one per rank, of a simulated training job with planted faults, and
 * the truth about them. Equal specs give equal bytes on every machine.
 *
 * A spec is text, `KEY=VALUE` separated by commas, or a JSON object with the same keys and an array
 * `faults` of objects {"kind": ..., KEY: VALUE}. In text a fault is `fault=KIND:KEY=VALUE:...` and
 * may be given more than once:
 *
 *     dp=4,steps=6,layers=8,seed=7,fault=slow_gpu:rank=2:factor=1.3
 *
 * Times take units (`delay=5ms`, `layer=800us`); a bare number is in microseconds. Keys, defaults
 * and what they mean are listed by inq_synth_help. Ranks are numbered as Megatron does by default:
 * rank = tp_rank + tp * (dp_rank + dp * stage). */
#ifndef INQUEST_SYNTH_H
#define INQUEST_SYNTH_H

#include "inquest/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, "text", "finding", "what it does"): `finding` is the kind of finding that a sound
 * analysis should raise ("" none: the run is healthy). */
#define INQ_SYNTH_FAULTS(X)                                                                        \
    X(SLOW_GPU, "slow_gpu", "slow_gpu", "all kernels of `rank` take `factor` times as long")       \
    X(LOW_CLOCK, "low_clock", "slow_gpu",                                                          \
      "the SM clock of `rank` is low: kernels that compute take `factor` times as long, those "    \
      "that"                                                                                       \
      " memory bounds do not")                                                                     \
    X(SLOW_LINK, "slow_link", "slow_link",                                                         \
      "transfers that touch `rank` (and `peer`), or that leave or enter `host`, take `factor` "    \
      "times as long; `links`: all|dp|tp|pp")                                                      \
    X(LATE_HOST, "late_host", "late_host",                                                         \
      "the host of `rank` is late: `mode`=step (`delay` in the data loading of each step), pause " \
      "(`delay` behind it, under no annotation), launch (every call `factor` times as long) or "   \
      "gc "                                                                                        \
      "(a pause of `delay` inside the forward)")                                                   \
    X(GC, "gc", "unplanned_gc",                                                                    \
      "garbage collection: the hosts of all ranks (or of `rank`, `host`) pause for `delay` "       \
      "inside "                                                                                    \
      "the forward, each once in `every` steps, in steps of its own")                              \
    X(MORE_WORK, "more_work", "more_work",                                                         \
      "`rank` has `factor` times the forward and backward work: `mode`=count (more kernels), "     \
      "size (larger kernels) or experts (of its experts only, which are hot; needs experts=1)")    \
    X(LONG_LAST_STAGE, "long_last_stage", "slow_last_stage",                                       \
      "the last stage has `factor` times the work of the others (output layer and loss)")          \
    X(UNEVEN_SEQ, "uneven_seq", "sequence_imbalance",                                              \
      "sequence lengths of micro-batches differ, log-normal with `sigma`; the sum of the work is " \
      "kept")                                                                                      \
    X(UNEVEN_EXPERTS, "uneven_experts", "expert_imbalance",                                        \
      "tokens are routed unevenly: the experts of each rank get a log-normal share with `sigma`, " \
      "drawn anew for each layer and micro-batch; the sum is kept (needs experts=1)")              \
    X(JITTER, "jitter", "", "healthy noise: kernel durations log-normal with `sigma`")             \
    X(CLOCK_OFFSET, "clock_offset", "", "the clock of `host` (or `rank`) is ahead by `offset`")    \
    X(CLOCK_DRIFT, "clock_drift", "", "the clock of `host` (or `rank`) runs fast by `ppm`")        \
    X(MISSING_RANK, "missing_rank", "missing_rank", "`rank` has left no file")                     \
    X(CUT_FILE, "cut_file", "damaged_input", "the file of `rank` ends after the part `at` of it")

enum inq_synth_fault_kind {
#define INQ_SYNTH_FAULT_ENUM(name, text, finding, what) INQ_SYNTH_##name,
    INQ_SYNTH_FAULTS(INQ_SYNTH_FAULT_ENUM)
#undef INQ_SYNTH_FAULT_ENUM
        INQ_SYNTH_FAULT_COUNT
};

enum inq_synth_mode {
    INQ_SYNTH_MODE_DEFAULT,
    INQ_SYNTH_MODE_STEP,
    INQ_SYNTH_MODE_LAUNCH,
    INQ_SYNTH_MODE_GC,
    INQ_SYNTH_MODE_COUNT,
    INQ_SYNTH_MODE_SIZE,
    INQ_SYNTH_MODE_PAUSE,
    INQ_SYNTH_MODE_EXPERTS
};

enum inq_synth_links {
    INQ_SYNTH_LINKS_ALL,
    INQ_SYNTH_LINKS_DP,
    INQ_SYNTH_LINKS_TP,
    INQ_SYNTH_LINKS_PP
};

struct inq_synth_fault {
    enum inq_synth_fault_kind kind;
    int32_t rank;      /* -1: none given */
    int32_t last;      /* all of rank, rank + stride, ... up to this one; -1: `rank` alone */
    int32_t stride;    /* default 1 */
    int32_t peer;      /* slow_link: the other end; -1: all that touch `rank` */
    int32_t host;      /* all ranks of this host, instead of `rank`; -1: none given */
    double factor;     /* default 1.3 */
    double sigma;      /* default 0.3 */
    double ppm;        /* default 50 */
    double at;         /* part of the file kept, 0..1; default 0.6 */
    int64_t delay_ns;  /* default 5 ms */
    int64_t offset_ns; /* default 5 ms */
    int32_t from, to;  /* steps concerned, counted from 0, inclusive; default all */
    int32_t every;     /* only every so many of these steps; default 1, gc 4 */
    enum inq_synth_mode mode;
    enum inq_synth_links links;
};

#define INQ_SYNTH_MAX_FAULTS 32
#define INQ_SYNTH_MAX_RANKS  65536

enum inq_synth_args {
    INQ_SYNTH_ARGS_NEW, /* collective name, sizes, process group on kernels */
    INQ_SYNTH_ARGS_OLD, /* kernel names only, as before PyTorch 2.4 */
    INQ_SYNTH_ARGS_SEQ  /* as NEW, with Seq and Comms Id */
};

enum inq_synth_ts {
    INQ_SYNTH_TS_BASE, /* us with three decimals, relative to baseTimeNanoseconds */
    INQ_SYNTH_TS_ABS,  /* whole us, absolute, as in old traces */
    INQ_SYNTH_TS_SPLIT /* as BASE, odd ranks with an earlier base (processes started in between) */
};

enum inq_synth_window { INQ_SYNTH_WINDOW_FULL, INQ_SYNTH_WINDOW_RAGGED };

enum inq_synth_p2p {
    INQ_SYNTH_P2P_ARGS,  /* send and receive kernels say so, with their peers */
    INQ_SYNTH_P2P_BARE,  /* nothing but the kernel's name, as from batch_isend_irecv */
    INQ_SYNTH_P2P_FUSED, /* as BARE, a send and a receive with one peer in one kernel, one stream */
    INQ_SYNTH_P2P_BATCHED /* as FUSED; the host records each transfer in front of the launch */
};

enum inq_synth_p2p_group { INQ_SYNTH_P2P_GROUP_PP, INQ_SYNTH_P2P_GROUP_WORLD };

/* What a host that waits for its GPU does. */
enum inq_synth_wait {
    INQ_SYNTH_WAIT_SYNC, /* an asynchronous copy to the host, and a synchronization that waits */
    INQ_SYNTH_WAIT_ITEM  /* loss.item(): the copy, to pageable memory, waits by itself */
};

enum inq_synth_gpu { INQ_SYNTH_GPU_SYNTHETIC, INQ_SYNTH_GPU_A100, INQ_SYNTH_GPU_H100 };

enum inq_synth_names {
    INQ_SYNTH_NAMES_RANK,   /* rank-3.pt.trace.json.gz */
    INQ_SYNTH_NAMES_HANDLER /* HOST_PID.TIME.pt.trace.json.gz: no rank in the name */
};

struct inq_synth_spec {
    int32_t dp, tp, pp;
    int32_t micro_batches; /* per step and replica; 0: 1 without, 2 * pp with a pipeline */
    int32_t chunks;        /* model chunks per stage: interleaved 1F1B when above 1 */
    int32_t layers;        /* of the whole model; 0: 8 per stage with pp=1, else 2 per chunk */
    int32_t steps;
    int32_t first_step; /* number of the first ProfilerStep */
    int32_t gpus_per_host;
    int32_t bucket_layers; /* layers per gradient all-reduce */
    int32_t sharded;       /* parameters sharded over the replicas */
    int32_t hidden, tokens;
    int32_t experts;    /* the layers' second half is experts, spread over the replicas */
    int32_t early_recv; /* receives are posted one action ahead; 2: also into the next step */
    uint64_t seed;
    int64_t layer_ns;  /* forward time of one layer and micro-batch; backward is twice that */
    int64_t op_ns;     /* host time of one operator before its launch */
    int64_t launch_ns; /* host time of one launch */
    int64_t data_ns;   /* host time of data loading per step */
    double sigma;      /* log-normal noise of each kernel */
    double step_sigma; /* of all kernels of a rank in one step */
    double rank_sigma; /* of all kernels of a rank */
    double host_sigma; /* of host times */
    double link_sigma; /* of transfers */
    double dp_gbps, tp_gbps, pp_gbps; /* bus bandwidth */
    int64_t link_ns;                  /* latency of a transfer */
    int64_t clock_ns;                 /* hosts' clocks are off by this much (one sigma) */
    double drift_ppm;                 /* and run fast or slow by this much (one sigma) */
    enum inq_synth_args args;
    enum inq_synth_ts ts;
    enum inq_synth_window window;
    enum inq_synth_p2p p2p;
    enum inq_synth_p2p_group p2p_group;
    enum inq_synth_names names;
    enum inq_synth_gpu gpu; /* what deviceProperties says; kernels take as long as told */
    int32_t labels;         /* "Forward i", "Backward i" annotations */
    int32_t cpu_ops;        /* operators (cpu_op) */
    int32_t shapes;         /* operators with "Input Dims" and "Input type" */
    int32_t flows;          /* ac2g arrows from launches to kernels */
    int32_t calls;     /* event and wait calls; launches and synchronizations are always there */
    int32_t lean;      /* kernels carry only the arguments that link them */
    int32_t base_last; /* baseTimeNanoseconds after the events: lost with the end of a file */
    int32_t gz;
    int32_t sync; /* the host waits for the GPU at the end of every so many steps; 0: never */
    enum inq_synth_wait wait;
    size_t n_faults;
    struct inq_synth_fault faults[INQ_SYNTH_MAX_FAULTS];
};

/* The defaults: four data-parallel ranks, five steps, healthy. */
INQ_API void inq_synth_spec_init(struct inq_synth_spec *spec);
/* Reads a spec from text, or from the JSON file that the text names (suffix .json), over the
 * defaults, and checks it. Fails with INQ_USAGE (the message names the key and what it may be). */
INQ_API int inq_synth_spec_parse(const char *text, struct inq_synth_spec *spec,
                                 struct inq_err *err);
/* Fills defaults that depend on others and checks all values. Fails with INQ_USAGE. */
INQ_API int inq_synth_spec_check(struct inq_synth_spec *spec, struct inq_err *err);
/* Writes the shortest text that gives this spec again. */
INQ_API int inq_synth_spec_write(const struct inq_synth_spec *spec, struct inq_sink sink,
                                 struct inq_err *err);
/* The list of keys, defaults and faults for people. */
INQ_API int inq_synth_help(struct inq_sink sink, struct inq_err *err);

/* ---- truth ---------------------------------------------------------------------------------- */

struct inq_synth_truth_fault {
    struct inq_synth_fault fault;
    const char *kind;    /* text of the kind */
    const char *finding; /* kind of finding to expect; "" none */
    size_t n_ranks;      /* ranks to be named; 0 where none is the cause */
    int32_t *ranks;
    size_t n_hosts; /* hosts all of whose ranks it concerns, where it is about hosts */
    int32_t *hosts;
    int32_t stage; /* -1 none */
    /* Mean step time of this run minus that of the same run, same random draws, without this fault:
     * an exact counterfactual. */
    int64_t cost_ns_per_step;
    double share; /* of the step time */
};

/* One rank, on a true clock, over all steps. */
struct inq_synth_truth_rank {
    int32_t rank, host, stage, dp_rank, tp_rank;
    int64_t clock_offset_ns, clock_drift_ppb; /* local = true + offset + true * ppb / 1e9 */
    int64_t compute_ns;                       /* sum of its kernels, communication apart */
    int64_t wait_ns;                          /* for the last to arrive, over all communication */
    uint64_t collectives, last_arrivals;      /* P2P transfers included */
};

struct inq_synth_truth {
    int32_t world_size;
    struct inq_synth_truth_rank *ranks; /* [world_size] */
    size_t n_steps;
    int64_t *step_ns;         /* [n_steps], on a true clock; they add up to the whole run */
    int64_t *step_ns_healthy; /* the same without any fault */
    int64_t mean_step_ns;     /* sum / n_steps */
    int64_t mean_step_ns_healthy;
    size_t n_faults;
    struct inq_synth_truth_fault *faults; /* in the order of the spec */
    /* No fault that asks for a finding. What belongs to the job's shape (pipeline bubbles, exposed
     * communication) is there in a healthy run as well. */
    bool healthy;
};

/* ---- a run ---------------------------------------------------------------------------------- */

struct inq_synth;

/* Simulates the run that `spec` (checked) describes. On success *synth is the caller's
 * (inq_synth_free). Fails with INQ_NOMEM, INQ_LIMIT, INQ_USAGE. */
INQ_API int inq_synth_new(const struct inq_synth_spec *spec, struct inq_synth **synth,
                          struct inq_err *err);
/* NULL is fine. */
INQ_API void inq_synth_free(struct inq_synth *synth);
/* Valid as long as the synth. */
INQ_API const struct inq_synth_truth *inq_synth_truth(const struct inq_synth *synth);

/* The trace files of the run (missing ranks have none): their number, name and global rank. */
INQ_API size_t inq_synth_files(const struct inq_synth *synth);
INQ_API const char *inq_synth_file_name(const struct inq_synth *synth, size_t file);
INQ_API int32_t inq_synth_file_rank(const struct inq_synth *synth, size_t file);
/* The bytes of one file as they would be on disk (gzip'd, cut). Safe to call for several files in
 * parallel. Fails with INQ_NOMEM, INQ_IO, or what the sink returns. */
INQ_API int inq_synth_file_write(const struct inq_synth *synth, size_t file, struct inq_sink sink,
                                 struct inq_err *err);
/* The document truth.json ("inquest-truth/1"). */
INQ_API int inq_synth_truth_write(const struct inq_synth *synth, struct inq_sink sink,
                                  struct inq_err *err);

/* Writes all files and truth.json into the folder `dir`, which is made if need be. */
INQ_API int inq_synth_write_dir(const struct inq_synth *synth, const char *dir, int jobs,
                                struct inq_err *err);
/* The run as inq_ingest would read it from disk, without a disk: *run is the caller's
 * (inq_run_free). */
INQ_API int inq_synth_ingest(const struct inq_synth *synth, bool align, int jobs,
                             struct inq_run **run, struct inq_err *err);

#ifdef __cplusplus
}
#endif

#endif
