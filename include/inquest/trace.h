/* SPDX-License-Identifier: Apache-2.0 */
/* The trace: what was recorded. One inq_trace is one job; one inq_rank is what one process (rank)
 * left behind. Everything is columns of integers: times in int64 nanoseconds, names as ids in one
 * string table. The structs are plain: read them freely, write them only through trace/ code. */
#ifndef INQUEST_TRACE_H
#define INQUEST_TRACE_H

#include "inquest/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "No such row" in a column of indices. */
#define INQ_NONE UINT32_MAX
/* "Not measured" in a column of times. */
#define INQ_TIME_NONE INT64_MIN

/* Numbers from first to last, both included. */
struct inq_range {
    int64_t first, last;
};

/* Id of an interned string; 0 is always the empty string. */
typedef uint32_t inq_str;

/* ---- classes ------------------------------------------------------------------------------ */

enum inq_event_kind {
    INQ_EVENT_KERNEL,
    INQ_EVENT_MEMCPY,
    INQ_EVENT_MEMSET,
    INQ_EVENT_SYNC,  /* cuda_sync records on a stream: kept, but no GPU work */
    INQ_EVENT_OP,    /* a row of an op table (label != NULL) */
    INQ_EVENT_SLICE, /* a slice of a generic Chrome trace: no GPU work */
    INQ_EVENT_KIND_COUNT
};

enum inq_op_class {
    INQ_CLASS_COMPUTE,
    INQ_CLASS_COMM,
    INQ_CLASS_COPY, /* memcpy and memset */
    INQ_CLASS_OTHER,
    INQ_CLASS_COUNT
};

/* X(name, "text"): what a collective or P2P operation does. */
#define INQ_COLL_KINDS(X)                                                                          \
    X(UNKNOWN, "unknown")                                                                          \
    X(ALLREDUCE, "all_reduce")                                                                     \
    X(ALLGATHER, "all_gather")                                                                     \
    X(REDUCE_SCATTER, "reduce_scatter")                                                            \
    X(ALLTOALL, "all_to_all")                                                                      \
    X(ALLTOALLV, "all_to_allv")                                                                    \
    X(BROADCAST, "broadcast")                                                                      \
    X(REDUCE, "reduce")                                                                            \
    X(GATHER, "gather")                                                                            \
    X(SCATTER, "scatter")                                                                          \
    X(BARRIER, "barrier")                                                                          \
    X(SEND, "send")                                                                                \
    X(RECV, "recv")                                                                                \
    X(SENDRECV, "send_recv") /* a fused P2P kernel: direction not known from its name */           \
    X(COALESCED, "coalesced")

enum inq_coll_kind {
#define INQ_COLL_ENUM(name, text) INQ_COLL_##name,
    INQ_COLL_KINDS(INQ_COLL_ENUM)
#undef INQ_COLL_ENUM
        INQ_COLL_KIND_COUNT
};

/* X(name, "text"): op types of a labeled (pipeline) op; names as in the OSDI'25 traces. */
#define INQ_OP_TYPES(X)                                                                            \
    X(NONE, "")                                                                                    \
    X(FORWARD, "forward-compute")                                                                  \
    X(BACKWARD, "backward-compute")                                                                \
    X(BACKWARD_INPUT, "backward-input-compute")                                                    \
    X(BACKWARD_WEIGHT, "backward-weight-compute")                                                  \
    X(FORWARD_SEND, "forward-send")                                                                \
    X(FORWARD_RECV, "forward-recv")                                                                \
    X(BACKWARD_SEND, "backward-send")                                                              \
    X(BACKWARD_RECV, "backward-recv")                                                              \
    X(PARAMS_ALL_GATHER, "params-all-gather")                                                      \
    X(GRADS_REDUCE_SCATTER, "grads-reduce-scatter")                                                \
    X(SEPARATE_GRADS_ALL_REDUCE, "separate-grads-all-reduce")                                      \
    X(LAYERNORM_GRADS_ALL_REDUCE, "layernorm-grads-all-reduce")                                    \
    X(EMBEDDING_GRADS_ALL_REDUCE, "embedding-grads-all-reduce")                                    \
    X(OPTIMIZER_CLIP, "optimizer-clip-main-grad")                                                  \
    X(OPTIMIZER, "optimizer")                                                                      \
    X(GC, "gc")

enum inq_op_type {
#define INQ_OP_TYPE_ENUM(name, text) INQ_OP_##name,
    INQ_OP_TYPES(INQ_OP_TYPE_ENUM)
#undef INQ_OP_TYPE_ENUM
        INQ_OP_TYPE_COUNT
};

/* ---- rows ---------------------------------------------------------------------------------- */

enum inq_lane_kind {
    INQ_LANE_STREAM, /* a CUDA/HIP stream of one device */
    INQ_LANE_THREAD, /* a CPU thread */
    INQ_LANE_OPS     /* one op lane of an op table (compute, DP comm, four P2P) */
};

struct inq_lane {
    enum inq_lane_kind kind;
    int32_t device; /* -1: none */
    int64_t id;     /* stream or thread id as recorded (string ids: a hash, `name` has the text) */
    inq_str name;   /* "" if not named */
};

/* How GPU work was launched, as recorded. Launches that are alike in everything are one row of
 * inq_trace.launches; row 0 is the one of which nothing was recorded. */
struct inq_launch {
    int32_t grid[3], block[3]; /* in blocks, in threads; 0: not recorded */
    int64_t bytes;             /* of a copy; 0: not recorded */
    inq_str op;                /* the innermost operator around it; "" unknown */
    inq_str dims, types;       /* its "Input Dims" and "Input type", as written; "" unknown */
    inq_str module;            /* the innermost nn.Module around it; "" unknown */
    inq_str source;            /* the user's line that called it, "file.py(12): f"; "" unknown */
};

/* The GPU events of one rank, columns of `n` rows, sorted by (lane, start, -dur) once sealed.
 * `label` and `launch` are NULL when no event carries one. */
struct inq_events {
    size_t n, cap;
    int64_t *start_ns;
    int64_t *dur_ns;
    inq_str *name;
    uint32_t *lane;   /* index into inq_rank.lanes */
    uint32_t *call;   /* index into inq_rank.calls of the launching call, or INQ_NONE */
    uint32_t *comm;   /* index into inq_rank.comms, or INQ_NONE */
    uint32_t *step;   /* index into inq_trace.steps, or INQ_NONE; filled by inq_steps_assign */
    uint32_t *label;  /* index into inq_rank.labels, or INQ_NONE; column may be NULL */
    uint32_t *launch; /* index into inq_trace.launches (in a shard: into inq_shard.launches) */
    uint8_t *kind;    /* enum inq_event_kind */
    uint8_t *cls;     /* enum inq_op_class */
};

/* Host calls into the driver (launches, copies, synchronizations), sorted by start. */
struct inq_calls {
    size_t n, cap;
    int64_t *start_ns;
    int64_t *dur_ns;
    inq_str *name;
    uint32_t *lane; /* the calling thread */
    int64_t *correlation;
};

enum inq_note_kind {
    INQ_NOTE_STEP,     /* ProfilerStep#N; `number` = N */
    INQ_NOTE_PIPELINE, /* Forward i, Backward i, PP:... */
    INQ_NOTE_COMM,     /* nccl:..., record_param_comms */
    INQ_NOTE_DATA,     /* data loading */
    INQ_NOTE_OPTIMIZER,
    INQ_NOTE_OTHER
};

/* A user annotation or NVTX range. */
struct inq_note {
    int64_t start_ns, dur_ns;
    inq_str name;
    uint32_t lane;
    int64_t number; /* INQ_NOTE_STEP: the step; INQ_NOTE_PIPELINE: the micro-batch; else -1 */
    uint8_t kind;   /* enum inq_note_kind */
    bool on_gpu;    /* gpu_user_annotation: a projection, not a host range */
};

/* What is known of one communication op. -1 or INQ_NONE: not recorded. */
struct inq_comm {
    enum inq_coll_kind kind;
    inq_str op_name; /* "allreduce", "_allgather_base", ... as recorded, or the kernel's name */
    inq_str dtype;   /* c10 ScalarType name, "" unknown */
    uint32_t dtype_bytes; /* 0 unknown */
    uint32_t group;       /* index into inq_trace.groups (in a shard: into inq_shard.groups) */
    int32_t group_size;   /* -1 unknown */
    int64_t in_elems, out_elems;
    int64_t seq;         /* recorded sequence number in its group */
    int32_t peer;        /* P2P: global rank of the peer */
    int64_t external_id; /* links a kernel with its record_param_comms */
    /* Of the host's record_param_comms: when it began (on the clock of the rank's calls) and its
     * thread (index into inq_rank.lanes). INQ_TIME_NONE, INQ_NONE: the row is not from one. */
    int64_t start_ns;
    uint32_t lane;
    /* Of a kernel that did several transfers at once: the record of the first among the rank's
     * comms; of such a record: the next one. */
    uint32_t batch;
    bool from_name;    /* deduced from the kernel's name only */
    inq_str algorithm; /* "RING SIMPLE": NCCL's algorithm and protocol; 0: not recorded */
    int32_t channels;  /* thread blocks that moved the data; 0: not recorded */
};

/* Labels of one op of an op table. -1: not given. */
struct inq_label {
    enum inq_op_type type;
    int32_t step, stage, dp_rank, micro_batch, chunk, seq;
};

/* A process group. Two groups are the same when name and ranks agree. */
struct inq_group {
    inq_str name, desc;
    int32_t size;         /* -1 unknown */
    uint32_t n_ranks;     /* global ranks known; 0 unknown */
    const int32_t *ranks; /* ascending */
    bool inferred;        /* not recorded: deduced from stream and order */
};

/* ---- damage -------------------------------------------------------------------------------- */

/* X(name, "word", "text"): what was wrong with a file. Nothing is dropped without being counted
 * here. */
#define INQ_DAMAGE_KINDS(X)                                                                        \
    X(TRUNCATED_GZIP, "truncated_gzip", "compressed stream cut short")                             \
    X(CORRUPT_GZIP, "corrupt_gzip", "compressed stream corrupt")                                   \
    X(TRUNCATED, "truncated", "document cut short")                                                \
    X(UNTERMINATED, "unterminated", "event array not closed")                                      \
    X(BAD_EVENT, "bad_event", "malformed event skipped")                                           \
    X(BAD_UTF8, "bad_utf8", "invalid UTF-8 replaced")                                              \
    X(BAD_NUMBER, "bad_number", "bad number")                                                      \
    X(NEGATIVE_DURATION, "negative_duration", "negative duration set to zero")                     \
    X(UNMATCHED_BEGIN, "unmatched_begin", "B without E")                                           \
    X(UNMATCHED_END, "unmatched_end", "E without B")                                               \
    X(LONG_STRING, "long_string", "over-long string cut")                                          \
    X(GARBAGE, "garbage", "bytes skipped")                                                         \
    X(NO_LAUNCH, "no_launch", "GPU event without its launch")                                      \
    X(REPEATED, "repeated", "event that was there before skipped")                                 \
    X(OUTLIER, "outlier", "far outside the rest of the capture, set aside")                        \
    X(LIMIT, "limit", "dropped at a safety limit")

enum inq_damage_kind {
#define INQ_DAMAGE_ENUM(name, word, text) INQ_DAMAGE_##name,
    INQ_DAMAGE_KINDS(INQ_DAMAGE_ENUM)
#undef INQ_DAMAGE_ENUM
        INQ_DAMAGE_KIND_COUNT
};

struct inq_damage {
    uint64_t count[INQ_DAMAGE_KIND_COUNT];       /* occurrences (GARBAGE: bytes) */
    int64_t first_offset[INQ_DAMAGE_KIND_COUNT]; /* uncompressed byte offset; valid if count > 0 */
};

/* One input file, as reported to the user. Strings are owned by the trace's (run's) arena. */
struct inq_file {
    const char *path;
    const char *format;   /* "kineto", "chrome", "op-table", "primus", "nsys", "unknown", ... */
    const char *reason;   /* why it was not read, or what is missing from it; "" if nothing */
    uint64_t bytes;       /* on disk */
    uint64_t bytes_raw;   /* after decompression */
    uint64_t events;      /* seen */
    uint64_t events_kept; /* in the model */
    bool compressed;
    bool read; /* understood and in the model */
    struct inq_damage damage;
};

/* ---- rank, trace, run ------------------------------------------------------------------------ */

/* From `from_ns` (of the clock itself) on: what was added there, and how fast that grows. */
struct inq_clock_piece {
    int64_t from_ns, offset_ns, drift_ppb;
};

/* aligned = raw + offset_ns + (raw - ref_ns) * drift_ppb / 1e9, up to where the next piece begins
 * (its from_ns for ref_ns) */
struct inq_clock {
    bool aligned;      /* the columns hold aligned times */
    int64_t offset_ns; /* what was added */
    int64_t drift_ppb;
    int64_t ref_ns;
    int64_t residual_ns; /* median |disagreement| of anchors after alignment; -1 not measured */
    uint32_t anchors;    /* matched synchronizing collectives used */
    uint32_t source;     /* ranks with the same number read one clock: a host's, or their file's */
    size_t n_later;
    struct inq_clock_piece *later; /* ascending; where the drift changed or the clock was set */
};

/* Why a step of a reduced partial (inquest-partial(5)) has all its rows, or has not. */
enum inq_step_kept {
    INQ_STEP_REDUCED,    /* only communication and this total */
    INQ_STEP_SAMPLED,    /* whole: one of those spread over the capture */
    INQ_STEP_STANDS_OUT, /* whole: far longer than the median */
    INQ_STEP_KEPT_COUNT
};

/* What is known of a step of one rank whatever became of its rows. */
struct inq_step_total {
    int64_t number;
    int64_t last_start_ns, last_dur_ns; /* the GPU work that ended it; start INQ_TIME_NONE: none */
    int64_t work;                       /* rows of GPU work */
    int64_t class_ns[INQ_CLASS_COUNT];  /* their durations added up, by class */
    uint8_t kept;                       /* enum inq_step_kept */
};

/* Of a job with reduced partials: how far those steps stand for the run that have all their rows on
 * every rank, the only ones in the trace. Lengths are means over ranks and steps; -1 unknown. */
struct inq_reduced {
    size_t n_ranks;            /* whose files were reduced */
    size_t n_steps;            /* recorded by them */
    size_t n_whole;            /* in the trace */
    size_t n_stand_out;        /* of those, kept because they were long on some rank */
    int64_t mean_ns, whole_ns; /* length of all steps, and of those in the trace */
    int64_t work_ns[INQ_CLASS_COUNT], whole_work_ns[INQ_CLASS_COUNT]; /* durations, by class */
};

/* Steps of a run, where its partials are reduced. */
struct inq_kept_steps {
    size_t whole;    /* with all rows */
    size_t recorded; /* 0: none is reduced */
};

struct inq_rank {
    int32_t rank;                   /* global rank; -1 unknown */
    int32_t world_size;             /* as this file says; -1 unknown */
    int32_t stage, dp_rank;         /* -1 unknown */
    inq_str host, device_name, job; /* "" unknown */
    int32_t multiprocessors;        /* of the device; -1 unknown */
    inq_str label;        /* how to call it in a report: "3", or the file's name when unknown */
    uint32_t file;        /* index into inq_trace.files */
    int64_t pid;          /* -1 unknown */
    int64_t base_ns;      /* baseTimeNanoseconds, already added to every time; 0 if none */
    bool fractional_us;   /* some `ts` had a decimal point (HTA's rounding depends on it) */
    bool has_clock_epoch; /* times are wall-clock (absolute or base given), not per-step origins */
    /* The very first event of a Kineto file's array, whatever it is, when it has "dur" and "cat"
     * (not "Trace"): its start, base included, never shifted by the clock alignment. HTA takes it
     * for the launch of GPU work whose launch is not in the file; set by the reader. */
    bool has_row0;
    int64_t row0_ns;
    struct inq_clock clock;
    int64_t first_ns, last_ns; /* over events and notes; INQ_TIME_NONE if empty */

    size_t n_lanes, cap_lanes;
    struct inq_lane *lanes;
    struct inq_events events;
    struct inq_calls calls;
    size_t n_notes, cap_notes;
    struct inq_note *notes; /* sorted by start */
    size_t n_comms, cap_comms;
    struct inq_comm *comms;
    size_t n_labels, cap_labels;
    struct inq_label *labels;

    bool reduced; /* of a partial that has all rows of some steps only */
    size_t n_totals, cap_totals;
    struct inq_step_total *totals; /* by number; of a step that is not there nothing is known */
};

/* A step's extent on a rank: recorded, the profiler's marks on the host (its GPU work may end
 * later); inferred, from its first launch to the next step's; of labeled ops, from the first start
 * to the last end. */
struct inq_step {
    int64_t number;           /* as recorded; ordinal when inferred */
    int64_t start_ns, end_ns; /* over all ranks */
    int64_t *rank_start_ns;   /* [n_ranks]; INQ_TIME_NONE where a rank lacks the step */
    int64_t *rank_end_ns;
};

/* Members of a synchronizing collective end together, but for what their clocks leave in doubt
 * (some times the median disagreement that alignment left on the two worst, and the microseconds in
 * which times are written) and for a fiftieth of the longest member. If they do not, or if one of
 * them ended before the last arrived, they were not one synchronization (an uneven exchange from
 * which members leave early, a wrong match, clocks that are not aligned), and what they "waited" is
 * not counted. */
#define INQ_ENDS_RESIDUALS     4
#define INQ_ENDS_RESOLUTION_NS 1000
#define INQ_ENDS_PART          50

/* How many times the larger residual of two clocks their times may be apart. */
#define INQ_DOUBT_RESIDUALS 3

/* One matched collective (or P2P pair): members index (rank, event). A kernel that did several
 * transfers at once is a member of one pair with each kernel that was at the other end. */
struct inq_collective {
    uint32_t group;
    enum inq_coll_kind kind;
    int64_t seq;           /* ordinal in its group after alignment of the windows */
    uint32_t first_member; /* into inq_trace.members */
    uint32_t n_members;    /* members present */
    bool complete;         /* every rank of the group that is in the trace has it */
    bool ends_disagree;    /* synchronizing, but the members' ends do not agree: its waits are
                              not counted */
};

struct inq_member {
    uint32_t rank;  /* index into inq_trace.ranks */
    uint32_t event; /* index into that rank's events */
};

struct inq_strtab;
struct inq_arena;
struct inq_flight_dump;
struct inq_log;
struct inq_gpu_state;

/* The file of a rank that was there but could not be read, by path. */
struct inq_unread {
    int32_t rank;
    const char *path, *reason;
};

struct inq_trace {
    struct inq_arena *arena;
    struct inq_strtab *names;
    const char *name; /* of the job: folder or job name */

    size_t n_files;
    struct inq_file *files;
    size_t n_ranks; /* sorted by rank number, then file path */
    struct inq_rank *ranks;
    int32_t world_size; /* -1 unknown */
    size_t n_missing;   /* ranks below world_size without a file */
    int32_t *missing;
    size_t n_unread; /* ranks with a file that could not be read; not among the missing */
    struct inq_unread *unread;
    size_t n_groups;
    struct inq_group *groups;
    size_t n_launches; /* distinct ones, in the order of files and rows */
    struct inq_launch *launches;

    size_t n_steps;
    struct inq_step *steps;
    bool steps_inferred;
    const char *no_steps_why; /* why what repeats was not taken for steps; NULL: nothing to say */

    size_t n_collectives; /* sorted by latest start */
    struct inq_collective *collectives;
    size_t n_members;
    struct inq_member *members;
    uint64_t unmatched_comms; /* communication events that no collective holds */

    const struct inq_reduced *reduced; /* NULL: no file of it was */
    bool cut;                          /* to some of its steps or to a range of time */
    int64_t origin_ns; /* if so: the first moment before that, which times in reports count from */

    /* Flight Recorder dumps, by rank (flight.h). A job that left only these has ranks without
     * events. */
    size_t n_dumps;
    struct inq_flight_dump **dumps;

    /* Text logs, by path (log.h). */
    size_t n_logs;
    struct inq_log **logs;

    /* What each rank's GPU reported of itself meanwhile (telemetry.h); NULL: no telemetry. */
    struct inq_gpu_state *gpu_states; /* [n_ranks] */
};

/* All jobs found under the paths given, and the files that were not understood. */
struct inq_run {
    struct inq_arena *arena;
    size_t n_traces; /* sorted by first time, then name */
    struct inq_trace **traces;
    size_t n_skipped;
    struct inq_file *skipped;
};

/* How far the times of two ranks (indices into trace->ranks) may be apart: a wait of one for the
 * other that is no longer cannot be told from transfer. 2 us where both read one clock, and where
 * clocks were not aligned; INT64_MAX where nothing connects the clocks. */
INQ_API int64_t inq_clock_doubt_ns(const struct inq_trace *trace, uint32_t a, uint32_t b);
/* How much later than `arrival_ns`, the start of rank `last`, the last member of a collective may
 * have arrived: another one whose clock is in doubt may be the last. INT64_MAX where nothing
 * connects the clocks of two members. */
INQ_API int64_t inq_arrival_doubt_ns(const struct inq_trace *trace, const struct inq_collective *c,
                                     uint32_t last, int64_t arrival_ns);

/* Text of a string id; never NULL; valid as long as the trace. */
INQ_API const char *inq_trace_str(const struct inq_trace *trace, inq_str id);

/* How an event of the rank was launched; never NULL: row 0, all unknown, when that was not
 * recorded. */
INQ_API const struct inq_launch *inq_trace_launch(const struct inq_trace *trace,
                                                  const struct inq_rank *rank, size_t event);
/* Whether the rank had no device: its threads ran what they launched (PyTorch on CPUs). */
INQ_API bool inq_rank_on_cpu(const struct inq_trace *trace, const struct inq_rank *rank);
/* Whether ranks ran the step at different times, with no collective to say what that means: it then
 * has no length over all ranks. */
INQ_API bool inq_step_is_apart(const struct inq_trace *trace, size_t step);
/* What the rank computes on, in a word: "CPU" as above, "NPU", "TPU", "HPU", "MLU", "MTIA" where
 * the device's name says so, else "GPU". */
INQ_API const char *inq_rank_device(const struct inq_trace *trace, const struct inq_rank *rank);
/* Whether both have a grid and a block, and the same. */
INQ_API bool inq_launch_same_grid(const struct inq_launch *a, const struct inq_launch *b);

INQ_API const char *inq_coll_kind_text(enum inq_coll_kind kind);
INQ_API const char *inq_op_type_text(enum inq_op_type type);
INQ_API const char *inq_damage_text(enum inq_damage_kind kind);
INQ_API const char *inq_damage_word(enum inq_damage_kind kind); /* "bad_number" */

/* Whether some rank's events are labeled ops (an op table). */
INQ_API bool inq_trace_has_labels(const struct inq_trace *trace);

/* Number of damaged places over all kinds. */
INQ_API uint64_t inq_damage_total(const struct inq_damage *damage);

/* Keeps only the steps whose number lies in `range`, and of the GPU events, notes and collectives
 * only those that belong to them, as if nothing else had been recorded; clocks stay as they were
 * aligned with everything. Host calls stay. Fails with INQ_NOT_FOUND (nothing changed) when the
 * trace has no such step, INQ_NOMEM. */
INQ_API int inq_trace_keep_steps(struct inq_trace *trace, struct inq_range range,
                                 struct inq_err *err);

/* Keeps only what lies, at least in part, in [from_ns, to_ns) counted from the first moment of the
 * run, as if nothing else had been recorded: GPU events and notes as long as they are, collectives
 * of which two members or more remain, and of the steps those that lie in it as a whole. Labels of
 * ops whose step does not are taken off. Clocks and host calls stay. Fails with INQ_NOT_FOUND
 * (nothing changed) when there is no GPU event in it, INQ_NOMEM. */
INQ_API int inq_trace_keep_time(struct inq_trace *trace, int64_t from_ns, int64_t to_ns,
                                struct inq_err *err);

/* Releases a run with everything in it; NULL is fine. */
INQ_API void inq_run_free(struct inq_run *run);

#ifdef __cplusplus
}
#endif

#endif
