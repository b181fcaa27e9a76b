/* SPDX-License-Identifier: Apache-2.0 */
/* The board on which ops find their times and note when they ran. */
#include "cuda/session.h"

#define OP_THREADS 32

struct inq_gpu_board inq_gpu_board_of(const struct inq_gpu_program *program, uint32_t gpu)
{
    return (struct inq_gpu_board){.start_at = program->start,
                                  .end_at = program->end,
                                  .delay_at = program->delay,
                                  .dur_at = program->dur,
                                  .abort_at = inq_gpu_flag_at(program->session, INQ_GPU_FLAG_ABORT),
                                  .shift_at = gpu > 0 ? program->shift + gpu * sizeof(int64_t) : 0,
                                  .limit_ns = program->session->limit_ns};
}

/* Ops that take SMs occupy all of their partition, one block each; others one block. */
int inq_gpu_program_put_op(struct inq_gpu_program *program, uint32_t lane, uint32_t op,
                           uint32_t does, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = program->session->calls;
    const struct inq_plan *plan = program->plan;
    uint32_t gpu = program->layout->spots[plan->lanes[lane].rank].gpu;
    struct inq_gpu_op_args args = {
        .board = inq_gpu_board_of(program, gpu), .op = op, .first = op, .n = 1, .does = does};
    bool wide = false;
    if (op < plan->graph->n_ops) {
        args.first = inq_graph_group_of(plan->graph, op, &args.n);
        wide = plan->work[op] == INQ_WORK_COMPUTE && (does & INQ_GPU_DOES_HOLD) != 0 && gpu == 0 &&
               !program->real;
    }
    const struct inq_gpu_launch launch = {INQ_KERNEL_OP,
                                          wide ? inq_gpu_part_sms(program->session, gpu) : 1,
                                          OP_THREADS, &args, sizeof args};
    return calls->launch(calls->self, program->stream[lane], &launch, err);
}
