/* SPDX-License-Identifier: Apache-2.0 */
/* The names that a run is made of: kernels, operators, calls, annotations. */
#ifndef INQ_REPLAY_SYNTH_EMIT_NAMES_H
#define INQ_REPLAY_SYNTH_EMIT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum synth_kernel_id {
    SYNTH_LAYER_NORM,
    SYNTH_GEMM_QKV,
    SYNTH_FLASH_FORWARD,
    SYNTH_GEMM_PROJ,
    SYNTH_ADD,
    SYNTH_GEMM_FC1,
    SYNTH_GELU,
    SYNTH_GEMM_FC2,
    SYNTH_LAYER_NORM_BACKWARD,
    SYNTH_GELU_BACKWARD,
    SYNTH_GEMM_DGRAD,
    SYNTH_GEMM_WGRAD,
    SYNTH_FLASH_BACKWARD,
    SYNTH_EMBEDDING,
    SYNTH_EMBEDDING_BACKWARD,
    SYNTH_GEMM_LOGITS,
    SYNTH_SOFTMAX,
    SYNTH_SOFTMAX_BACKWARD,
    SYNTH_FILL,
    SYNTH_L2_NORM,
    SYNTH_ADAM,
    SYNTH_KERNEL_COUNT
};

struct synth_kernel_info {
    const char *name, *op;
    uint32_t grid, block, registers, shared;
    bool computes; /* bound by the SM clock, not by memory */
};

extern const struct synth_kernel_info inq_synth_kernels[SYNTH_KERNEL_COUNT];

enum synth_comm_kind {
    SYNTH_ALLREDUCE,
    SYNTH_ALLGATHER,
    SYNTH_REDUCE_SCATTER,
    SYNTH_SEND,
    SYNTH_RECV,
    SYNTH_SENDRECV, /* both in one kernel */
    SYNTH_ALLTOALL,
    SYNTH_COMM_COUNT
};

enum synth_call_id {
    SYNTH_CALL_LAUNCH,
    SYNTH_CALL_LAUNCH_EX,
    SYNTH_CALL_COPY,
    SYNTH_CALL_SYNC,
    SYNTH_CALL_RECORD,
    SYNTH_CALL_WAIT,
    SYNTH_CALL_COUNT
};

enum synth_note_id {
    SYNTH_NOTE_STEP,
    SYNTH_NOTE_DATA,
    SYNTH_NOTE_ZERO_GRAD,
    SYNTH_NOTE_OPTIMIZER,
    SYNTH_NOTE_FORWARD,
    SYNTH_NOTE_BACKWARD,
    SYNTH_NOTE_COUNT
};

/* Streams of a rank; their recorded ids. */
enum synth_stream {
    SYNTH_COMPUTE,
    SYNTH_DP_STREAM,
    SYNTH_TP_STREAM,
    SYNTH_MP_STREAM,
    SYNTH_SEND_FORWARD,
    SYNTH_RECV_FORWARD,
    SYNTH_SEND_BACKWARD,
    SYNTH_RECV_BACKWARD,
    SYNTH_GATHER_STREAM,
    SYNTH_P2P_STREAM, /* of fused transfers */
    SYNTH_EP_STREAM,
    SYNTH_STREAM_COUNT
};

#endif
