/* SPDX-License-Identifier: Apache-2.0 */
/* What a name says. Tables of the field's names; no state. */
#include "trace/classify.h"

#include "base/any_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct text_code {
    const char *text;
    int code;
};

static bool equals(const char *name, size_t len, const char *text)
{
    return strlen(text) == len && memcmp(name, text, len) == 0;
}

static bool starts_with(const char *name, size_t len, const char *prefix)
{
    size_t n = strlen(prefix);
    return len >= n && memcmp(name, prefix, n) == 0;
}

/* Position just behind the first occurrence of `text`, any case; NULL when it is not in the name.
 */
static const char *find_any_case(const char *name, size_t len, const char *text)
{
    size_t n = strlen(text);
    int first = text[0] | 32; /* equal but for the case of a letter: all that most places need */
    for (size_t i = 0; i + n <= len; i++) {
        if ((name[i] | 32) == first && strncasecmp(name + i, text, n) == 0) {
            return name + i + n;
        }
    }
    return NULL;
}

/* The code of the first row whose text is anywhere in the name (any case), or -1. */
static int find_row(const struct text_code *rows, size_t n, const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++) {
        if (find_any_case(name, len, rows[i].text) != NULL) {
            return rows[i].code;
        }
    }
    return -1;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- kernels --------------------------------------------------------------------------------- */

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_letter(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

/* Whether the name has a word like nccl, rccl, hccl, oneccl or that of a library still to come:
 * letters that end in "ccl", with no lower-case letter behind ("occlusion" is none). At `*end` the
 * word ends. */
static bool find_ccl(const char *name, size_t len, const char **end)
{
    const char *stop = name + len;
    for (const char *p = find_any_case(name, len, "ccl"); p != NULL;
         p = find_any_case(p, (size_t)(stop - p), "ccl")) {
        bool begins = p - name > 3 && is_letter(p[-4]);
        if (begins && (p == stop || !is_lower(*p))) {
            *end = p;
            return true;
        }
    }
    return false;
}

/* Libraries and the operations themselves, however their author spells them. */
static bool is_communication(const char *name, size_t len)
{
    static const char *const comm[] = {
        "nvshmem",
        "rocshmem",
        "deep_ep", /* DeepEP's dispatch and combine, under this or another namespace */
        "::internode",
        "::intranode",
        "userbuffers_",        /* Transformer Engine's overlapped tensor parallelism */
        "cross_device_reduce", /* vLLM's custom all-reduce */
        "quickreduce",         /* its AMD variant */
        "mscclpp",
        "multimem_", /* symmetric memory */
        "all_reduce",
        "allreduce",
        "all_gather",
        "allgather",
        "reduce_scatter",
        "reducescatter",
        "all_to_all",
        "alltoall",
        "all2all",
        "sendrecv",
        "hcom_", /* Ascend */
    };
    const char *end;
    return find_ccl(name, len, &end) || inq_any_case_has(comm, COUNT(comm), name, len);
}

enum inq_op_class inq_classify_kernel(const char *name, size_t len)
{
    if (is_communication(name, len)) {
        return INQ_CLASS_COMM;
    }
    bool copies = starts_with(name, len, "Memcpy") || starts_with(name, len, "Memset") ||
                  starts_with(name, len, "hipMemcpy") || starts_with(name, len, "hipMemset") ||
                  starts_with(name, len, "__amd_rocclr_copyBuffer") ||
                  starts_with(name, len, "__amd_rocclr_fillBuffer");
    return copies ? INQ_CLASS_COPY : INQ_CLASS_COMPUTE;
}

/* Libraries of kernels, then what kernels compute. */
static const char *const compute[] = {
    "compute", /* what replays execute */
    "at::native",
    "aten::",
    "-dtype_", /* MTIA's names of ops */
    "aclnn",   /* Ascend's, and the core that runs them */
    "AiCore",
    "at_cuda_detail",
    "cub::",
    "thrust::",
    "cutlass",
    "cute::",
    "cublas",
    "cudnn",
    "cask_",
    "xmma",
    "nvjet",
    "magma",
    "Cijk_",
    "triton",
    "fbgemm",
    "flash",
    "fmha",
    "transformer_engine",
    "miopen",
    "rocblas",
    "hipblas",
    "gemm",
    "gemv",
    "matmul",
    "splitK",
    "dgrad",
    "wgrad",
    "fprop",
    "conv",
    "winograd",
    "im2col",
    "nchw",
    "nhwc",
    "fft",
    "elementwise",
    "multi_tensor",
    "reduce_kernel",
    "attention",
    "attn",
    "softmax",
    "norm",
    "embedding",
    "dropout",
    "pool",
    "gelu",
    "relu",
    "silu",
    "swiglu",
    "sigmoid",
    "tanh",
    "rotary",
    "rope",
    "adam",
    "sgd",
    "optimizer",
    "loss",
    "criterion",
    "entropy",
    "topk",
    "sort",
    "index",
    "transpose",
    "permute",
    "quant",
    "forward",
    "backward",
    "_fwd",
    "_bwd",
    "fused",
    "cumsum",
    "dot_kernel",
    "cast_to",
    "layout",
    "bounds_check",
    "LayerNorm",
    "mlp",
    "lstm",
    "bias",
    "bn_",
    "Eigen::",
    "tensorflow::",
    "autograd::",
    "reducer::",
    "Optimizer.",
    /* HLO's opcodes, as XLA names its ops and kernels */
    "fusion",
    "broadcast.",
    "reduce.",
    "select",
    "slice",
    "bitcast",
    "convert",
    "reshape",
    "iota",
    "concatenate",
    "pad.",
    "dot.",
    "copy.",
    "gather.",
    "scatter.",
    "compare.",
    "rng",
    "custom-call",
    "while",
};

bool inq_kernel_is_compute(const char *name, size_t len)
{
    return inq_any_case_has(compute, COUNT(compute), name, len);
}

bool inq_kernel_updates_weights(const char *name)
{
    static const char *const words[] = {"adam", "sgd", "optimizer", "adagrad", "adafactor"};
    return inq_any_case_has(words, COUNT(words), name, strlen(name));
}

enum inq_coll_kind inq_coll_from_kernel(const char *name, size_t len)
{
    /* ReduceScatter and AllReduce before Reduce: the first match counts */
    static const struct text_code kinds[] = {
        {"AllReduce", INQ_COLL_ALLREDUCE},
        {"all_reduce", INQ_COLL_ALLREDUCE},
        {"cross_device_reduce", INQ_COLL_ALLREDUCE},
        {"AllGather", INQ_COLL_ALLGATHER},
        {"all_gather", INQ_COLL_ALLGATHER},
        {"ReduceScatter", INQ_COLL_REDUCE_SCATTER},
        {"reduce_scatter", INQ_COLL_REDUCE_SCATTER},
        {"AllToAllv", INQ_COLL_ALLTOALLV},
        {"AlltoAllv", INQ_COLL_ALLTOALLV},
        {"AllToAll", INQ_COLL_ALLTOALL},
        {"all_to_all", INQ_COLL_ALLTOALL},
        {"SendRecv", INQ_COLL_SENDRECV},
        {"dispatch", INQ_COLL_ALLTOALLV},
        {"combine", INQ_COLL_ALLTOALLV},
        {"Broadcast", INQ_COLL_BROADCAST},
        {"Bcast", INQ_COLL_BROADCAST},
        {"Gather", INQ_COLL_GATHER},
        {"Scatter", INQ_COLL_SCATTER},
        {"hcom_send", INQ_COLL_SEND},
        {"hcom_receive", INQ_COLL_RECV},
    };
    int kind = find_row(kinds, COUNT(kinds), name, len);
    if (kind >= 0) {
        return (enum inq_coll_kind)kind;
    }
    bool reduce = find_any_case(name, len, "Kernel_Reduce") != NULL;
    return reduce ? INQ_COLL_REDUCE : INQ_COLL_UNKNOWN;
}

/* ---- recorded collective names --------------------------------------------------------------- */

enum inq_coll_kind inq_coll_of_call(enum inq_coll_kind call, const char *kernel, size_t len)
{
    if (call != INQ_COLL_COALESCED) {
        return call;
    }
    enum inq_coll_kind kind = inq_coll_from_kernel(kernel, len);
    return kind != INQ_COLL_UNKNOWN && kind != INQ_COLL_SENDRECV ? kind : call;
}

struct inq_hccl_name inq_hccl_name(const char *name)
{
    struct inq_hccl_name parsed = {.number = -1};
    const char *p = strstr(name, "__");
    if (p == NULL) {
        return parsed;
    }
    parsed.group = p + 2;
    parsed.group_n = strspn(parsed.group, "0123456789");
    p = parsed.group + parsed.group_n;
    if (parsed.group_n > 0 && *p == '_' && p[1] >= '0' && p[1] <= '9') {
        parsed.number = strtoll(p + 1, NULL, 10);
    }
    return parsed;
}

/* "nccl:all_reduce", "hccl:...", "c10d::allreduce_", "record_param_comms". */
static bool match_comm(const char *name, size_t len)
{
    static const char *const prefixes[] = {"gloo:", "ucc:", "mpi:", "c10d::", "record_param_comms"};
    const char *end = NULL;
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        if (starts_with(name, len, prefixes[i])) {
            return true;
        }
    }
    return find_ccl(name, len, &end) && end < name + len && *end == ':';
}

enum inq_coll_kind inq_coll_from_name(const char *name, size_t len)
{
    static const struct text_code kinds[] = {
        {"allreduce", INQ_COLL_ALLREDUCE},
        {"all_reduce", INQ_COLL_ALLREDUCE},
        {"allreduce_coalesced", INQ_COLL_ALLREDUCE},
        {"allreduce_sparse", INQ_COLL_ALLREDUCE},
        {"allgather", INQ_COLL_ALLGATHER},
        {"all_gather", INQ_COLL_ALLGATHER},
        {"_allgather_base", INQ_COLL_ALLGATHER},
        {"_all_gather_base", INQ_COLL_ALLGATHER},
        {"all_gather_into_tensor_coalesced", INQ_COLL_ALLGATHER},
        {"allgather_into_tensor_coalesced", INQ_COLL_ALLGATHER},
        {"allgather_coalesced", INQ_COLL_ALLGATHER},
        {"reduce_scatter", INQ_COLL_REDUCE_SCATTER},
        {"reducescatter", INQ_COLL_REDUCE_SCATTER},
        {"_reduce_scatter_base", INQ_COLL_REDUCE_SCATTER},
        {"reduce_scatter_tensor_coalesced", INQ_COLL_REDUCE_SCATTER},
        {"all_to_all", INQ_COLL_ALLTOALL},
        {"alltoall", INQ_COLL_ALLTOALL},
        {"alltoall_base", INQ_COLL_ALLTOALL},
        {"all_to_allv", INQ_COLL_ALLTOALLV},
        {"alltoallv", INQ_COLL_ALLTOALLV},
        {"broadcast", INQ_COLL_BROADCAST},
        {"_broadcast_oop", INQ_COLL_BROADCAST},
        {"reduce", INQ_COLL_REDUCE},
        {"_reduce_oop", INQ_COLL_REDUCE},
        {"gather", INQ_COLL_GATHER},
        {"scatter", INQ_COLL_SCATTER},
        {"barrier", INQ_COLL_BARRIER},
        {"all_reduce_barrier", INQ_COLL_BARRIER},
        {"send", INQ_COLL_SEND},
        {"recv", INQ_COLL_RECV},
        {"recvAnySource", INQ_COLL_RECV},
        {"recv_any_source", INQ_COLL_RECV},
        {"send_recv", INQ_COLL_SENDRECV},
        {"coalesced", INQ_COLL_COALESCED},
    };
    if (starts_with(name, len, "c10d::")) {
        name += 6;
        len -= 6;
        len -= len > 0 && name[len - 1] == '_'; /* "c10d::allreduce_" works in place */
    } else if (match_comm(name, len)) {         /* "nccl:all_reduce", "gloo:...", "hccl:..." */
        const char *colon = memchr(name, ':', len);
        size_t prefix = colon != NULL ? (size_t)(colon + 1 - name) : 0;
        name += prefix;
        len -= prefix;
    }
    const char *space = len > 0 ? memchr(name, ' ', len) : NULL; /* "send 1->2", "recv 3<-0" */
    len = space != NULL ? (size_t)(space - name) : len;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (strlen(kinds[i].text) == len && strncasecmp(name, kinds[i].text, len) == 0) {
            return (enum inq_coll_kind)kinds[i].code;
        }
    }
    return INQ_COLL_UNKNOWN;
}

uint32_t inq_dtype_bytes(const char *dtype, size_t len)
{
    static const struct text_code types[] = {
        {"Float", 4},        {"Int", 4},
        {"Long", 8},         {"BFloat16", 2},
        {"Half", 2},         {"Double", 8},
        {"Short", 2},        {"Byte", 1},
        {"Char", 1},         {"Bool", 1},
        {"float", 4},        {"half", 2},
        {"double", 8},       {"f16", 2},
        {"f32", 4},          {"f64", 8},
        {"bf16", 2},         {"i8", 1},
        {"u8", 1},           {"i32", 4},
        {"u32", 4},          {"i64", 8},
        {"u64", 8},          {"int8_t", 1},
        {"uint8_t", 1},      {"int32_t", 4},
        {"uint32_t", 4},     {"int64_t", 8},
        {"uint64_t", 8},     {"__nv_bfloat16", 2},
        {"f8e4m3", 1},       {"f8e5m2", 1},
        {"ComplexFloat", 8}, {"ComplexDouble", 16},
        {"FP16", 2},         {"BFP16", 2},
        {"FP32", 4},         {"FP64", 8},
        {"INT8", 1},         {"UINT8", 1},
        {"INT16", 2},        {"UINT16", 2},
        {"INT32", 4},        {"UINT32", 4},
        {"INT64", 8},        {"UINT64", 8},
        {"float32", 4},      {"float16", 2},
        {"bfloat16", 2},     {"float64", 8},
        {"int8", 1},         {"uint8", 1},
        {"int16", 2},        {"int32", 4},
        {"int64", 8},        {"int", 4},
        {"UInt16", 2},       {"UInt32", 4},
        {"UInt64", 8},
    };
    if (starts_with(dtype, len, "Float8_") || starts_with(dtype, len, "float8_")) {
        return 1;
    }
    for (size_t i = 0; i < COUNT(types); i++) {
        if (equals(dtype, len, types[i].text)) {
            return (uint32_t)types[i].code;
        }
    }
    return 0;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* nccl-tests, doc/PERFORMANCE.md: S is the buffer of one rank for all-reduce, broadcast, reduce and
 * P2P; the whole of all ranks' parts for all-gather (its output), reduce-scatter (its input),
 * gather, scatter and all-to-all. PyTorch records elements per rank in and out. */
int64_t inq_coll_bytes(enum inq_coll_kind kind, int64_t in_elems, int64_t out_elems,
                       uint32_t dtype_bytes, int32_t group_size)
{
    int64_t elems = in_elems;
    bool whole_is_output = kind == INQ_COLL_ALLGATHER || kind == INQ_COLL_GATHER;
    if (whole_is_output || (kind == INQ_COLL_RECV && out_elems > 0)) {
        elems = out_elems;
    }
    if (whole_is_output && elems < 0 && in_elems >= 0 && group_size > 0 &&
        in_elems < INT64_MAX / group_size) {
        elems = in_elems * group_size;
    }
    bool whole_is_input = kind == INQ_COLL_REDUCE_SCATTER || kind == INQ_COLL_SCATTER;
    if (whole_is_input && elems < 0 && out_elems >= 0 && group_size > 0 &&
        out_elems < INT64_MAX / group_size) {
        elems = out_elems * group_size;
    }
    if (kind == INQ_COLL_ALLTOALLV && out_elems > elems) {
        elems = out_elems; /* the larger side bounds it */
    }
    if (elems < 0 || dtype_bytes == 0 || elems > INT64_MAX / dtype_bytes) {
        return -1;
    }
    return elems * dtype_bytes;
}

double inq_coll_bus_factor(enum inq_coll_kind kind, int32_t group_size)
{
    double n = group_size;
    if (group_size < 1) {
        return (double)NAN;
    }
    if (kind == INQ_COLL_ALLREDUCE) {
        return 2.0 * (n - 1.0) / n;
    }
    bool parts = kind == INQ_COLL_ALLGATHER || kind == INQ_COLL_REDUCE_SCATTER ||
                 kind == INQ_COLL_ALLTOALL || kind == INQ_COLL_ALLTOALLV ||
                 kind == INQ_COLL_GATHER || kind == INQ_COLL_SCATTER;
    bool once = kind == INQ_COLL_BROADCAST || kind == INQ_COLL_REDUCE || inq_coll_is_p2p(kind);
    return parts ? (n - 1.0) / n : once ? 1.0 : (double)NAN;
}

bool inq_coll_synchronizes(enum inq_coll_kind kind)
{
    return kind == INQ_COLL_ALLREDUCE || kind == INQ_COLL_ALLGATHER ||
           kind == INQ_COLL_REDUCE_SCATTER || kind == INQ_COLL_ALLTOALL ||
           kind == INQ_COLL_ALLTOALLV || kind == INQ_COLL_BARRIER;
}

/* ---- annotations and op types ---------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The decimal number at the start of `p`, or -1. */
static int64_t leading_number(const char *p, const char *end)
{
    int64_t value = -1;
    for (; p < end && is_digit(*p) && value < INT64_MAX / 16; p++) {
        value = (value < 0 ? 0 : value) * 10 + (*p - '0');
    }
    return value;
}

static const char *const step_prefixes[] = {"ProfilerStep#", "ProfilerStep ", "## ProfilerStep#"};

static bool match_step(const char *name, size_t len, int64_t *number)
{
    for (size_t i = 0; i < COUNT(step_prefixes); i++) {
        if (starts_with(name, len, step_prefixes[i])) {
            *number = leading_number(name + strlen(step_prefixes[i]), name + len);
            return *number >= 0;
        }
    }
    return false;
}

/* "Forward 3", "Backward 3" of PyTorch's single-stage schedules; "PP:2F3", "PP::fwd_send" of its
 * runtime. The number is the micro-batch, -1 where there is none. */
static bool match_pipeline(const char *name, size_t len, int64_t *number)
{
    static const char *const passes[] = {"Forward ", "Backward "};
    const char *end = name + len;
    for (size_t i = 0; i < COUNT(passes); i++) {
        if (starts_with(name, len, passes[i])) {
            *number = leading_number(name + strlen(passes[i]), end);
            return *number >= 0;
        }
    }
    if (!starts_with(name, len, "PP:")) {
        return false;
    }
    const char *p = end;
    while (p > name && is_digit(p[-1])) {
        p--;
    }
    *number = p < end && p > name + 3 ? leading_number(p, end) : -1;
    return true;
}

enum inq_note_kind inq_classify_note(const char *name, size_t len, int64_t *number)
{
    *number = -1;
    if (match_step(name, len, number)) {
        return INQ_NOTE_STEP;
    }
    if (match_pipeline(name, len, number)) {
        return INQ_NOTE_PIPELINE;
    }
    *number = -1;
    if (match_comm(name, len)) {
        return INQ_NOTE_COMM;
    }
    if (find_any_case(name, len, "dataloader") != NULL ||
        find_any_case(name, len, "data_loader") != NULL) {
        return INQ_NOTE_DATA;
    }
    return starts_with(name, len, "Optimizer.") ? INQ_NOTE_OPTIMIZER : INQ_NOTE_OTHER;
}

enum inq_host_kind inq_host_kind_of(const char *name)
{
    static const struct {
        const char *part;
        enum inq_host_kind kind;
    } parts[] = {
        {"DataLoader", INQ_HOST_DATA},
        {"dataloader", INQ_HOST_DATA},
        {"data-loading", INQ_HOST_DATA}, /* of op tables */
        {"Synchronize", INQ_HOST_SYNCHRONIZE},
        {"Malloc", INQ_HOST_MEMORY},
        {"Free", INQ_HOST_MEMORY},
        {"garbage", INQ_HOST_COLLECTION},
        {"gc.collect", INQ_HOST_COLLECTION},
        {"Memcpy", INQ_HOST_COPY},
        {"Memset", INQ_HOST_COPY},
        {"Launch", INQ_HOST_LAUNCH},
    };
    for (size_t i = 0; i < COUNT(parts); i++) {
        if (strstr(name, parts[i].part) != NULL) {
            return parts[i].kind;
        }
    }
    return INQ_HOST_OTHER;
}

enum inq_op_type inq_op_type_from_name(const char *name, size_t len)
{
    for (int type = INQ_OP_NONE + 1; type < INQ_OP_TYPE_COUNT; type++) {
        if (equals(name, len, inq_op_type_text((enum inq_op_type)type))) {
            return (enum inq_op_type)type;
        }
    }
    return INQ_OP_NONE;
}
