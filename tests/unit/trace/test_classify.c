/* SPDX-License-Identifier: Apache-2.0 */
/* What names say. */
#include "trace/classify.h"

#include "base/strtab.h"
#include "inquest/trace.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

struct row {
    const char *name;
    int expected;
};

static void kernels__their_class(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
         INQ_CLASS_COMM},
        {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", INQ_CLASS_COMM},
        {"void rccl::something<int>()", INQ_CLASS_COMM},
        {"void vllm::cross_device_reduce_1stage<__half, 2>(vllm::RankData*)", INQ_CLASS_COMM},
        {"void one_shot_all_reduce_kernel<c10::BFloat16>(long)", INQ_CLASS_COMM},
        {"multimem_all_reduce_kernel", INQ_CLASS_COMM},
        {"nvshmemi_put_kernel", INQ_CLASS_COMM},
        {"oneccl_allreduce_kernel", INQ_CLASS_COMM},
        {"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", INQ_CLASS_COMM},
        {"volta_sgemm_128x64_nn", INQ_CLASS_COMPUTE},
        {"void at::native::vectorized_elementwise_kernel<4>()", INQ_CLASS_COMPUTE},
        {"Memcpy HtoD (Pageable -> Device)", INQ_CLASS_COPY},
        {"Memset (Device)", INQ_CLASS_COPY},
        {"__amd_rocclr_copyBuffer.kd", INQ_CLASS_COPY},
        {"", INQ_CLASS_COMPUTE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if ((int)inq_classify_kernel(rows[i].name, strlen(rows[i].name)) != rows[i].expected) {
            fail_msg("class of '%s'", rows[i].name);
        }
    }
}

static void kernels__their_collective(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", INQ_COLL_ALLREDUCE},
        {"ncclDevKernel_AllReduce_Sum_f32_TREE_LL(ncclDevComm*)", INQ_COLL_ALLREDUCE},
        {"ncclDevKernel_AllGather_RING_LL", INQ_COLL_ALLGATHER},
        {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_SIMPLE", INQ_COLL_REDUCE_SCATTER},
        {"ncclDevKernel_Reduce_Sum_f32_RING_LL", INQ_COLL_REDUCE},
        {"ncclKernel_Reduce_RING_LL_Sum_float", INQ_COLL_REDUCE},
        {"ncclKernel_Broadcast_RING_LL_Sum_int8_t", INQ_COLL_BROADCAST},
        {"ncclDevKernel_SendRecv(ncclDevComm*)", INQ_COLL_SENDRECV},
        {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", INQ_COLL_SENDRECV},
        {"ncclDevKernel_Generic(ncclDevComm*)", INQ_COLL_UNKNOWN},
        {"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", INQ_COLL_UNKNOWN},
        {"void vllm::cross_device_reduce_2stage<float, 8>()", INQ_COLL_ALLREDUCE},
        {"void two_shot_all_reduce_kernel<float>()", INQ_COLL_ALLREDUCE},
        {"ncclDevKernel_AlltoAll_RING", INQ_COLL_ALLTOALL},
        {"void deep_ep::intranode::combine<__nv_bfloat16, 8>(x)", INQ_COLL_ALLTOALLV},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if ((int)inq_coll_from_kernel(rows[i].name, strlen(rows[i].name)) != rows[i].expected) {
            fail_msg("collective of '%s'", rows[i].name);
        }
    }
}

static void recorded__collective_names(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"allreduce", INQ_COLL_ALLREDUCE},
        {"nccl:all_reduce", INQ_COLL_ALLREDUCE},
        {"gloo:all_reduce", INQ_COLL_ALLREDUCE},
        {"gloo:barrier", INQ_COLL_BARRIER},
        {"c10d::allreduce_", INQ_COLL_ALLREDUCE},
        {"allreduce_coalesced", INQ_COLL_ALLREDUCE},
        {"_allgather_base", INQ_COLL_ALLGATHER},
        {"nccl:_all_gather_base", INQ_COLL_ALLGATHER},
        {"all_gather_into_tensor_coalesced", INQ_COLL_ALLGATHER},
        {"_reduce_scatter_base", INQ_COLL_REDUCE_SCATTER},
        {"reduce_scatter_tensor_coalesced", INQ_COLL_REDUCE_SCATTER},
        {"all_to_all", INQ_COLL_ALLTOALL},
        {"all_to_allv", INQ_COLL_ALLTOALLV},
        {"broadcast", INQ_COLL_BROADCAST},
        {"barrier", INQ_COLL_BARRIER},
        {"send", INQ_COLL_SEND},
        {"recv", INQ_COLL_RECV},
        {"nccl:send 1->2", INQ_COLL_SEND},
        {"nccl:recv 3<-0", INQ_COLL_RECV},
        {"nccl:coalesced", INQ_COLL_COALESCED},
        {"wait", INQ_COLL_UNKNOWN},
        {"", INQ_COLL_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if ((int)inq_coll_from_name(rows[i].name, strlen(rows[i].name)) != rows[i].expected) {
            fail_msg("collective '%s'", rows[i].name);
        }
    }
}

static void dtypes__their_bytes(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"Float", 4},  {"BFloat16", 2}, {"Half", 2},          {"Long", 8},
        {"Int", 4},    {"Byte", 1},     {"Char", 1},          {"Bool", 1},
        {"Double", 8}, {"Short", 2},    {"Float8_e4m3fn", 1}, {"Float8_e5m2fnuz", 1},
        {"f32", 4},    {"bf16", 2},     {"int8_t", 1},        {"ComplexDouble", 16},
        {"", 0},       {"Quantity", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if ((int)inq_dtype_bytes(rows[i].name, strlen(rows[i].name)) != rows[i].expected) {
            fail_msg("bytes of '%s'", rows[i].name);
        }
    }
}

static void notes__kind_and_number(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum inq_note_kind kind;
        int64_t number;
    } rows[] = {
        {"ProfilerStep#12", INQ_NOTE_STEP, 12},
        {"ProfilerStep#0", INQ_NOTE_STEP, 0},
        {"ProfilerStep#", INQ_NOTE_OTHER, -1},
        {"Forward 3", INQ_NOTE_PIPELINE, 3},
        {"Backward 0", INQ_NOTE_PIPELINE, 0},
        {"Forward pass", INQ_NOTE_OTHER, -1},
        {"PP:2F7", INQ_NOTE_PIPELINE, 7},
        {"PP:0SEND_F1", INQ_NOTE_PIPELINE, 1},
        {"PP:3UNSHARD", INQ_NOTE_PIPELINE, -1},
        {"PP:(1F0;2B3)OVERLAP_F_B", INQ_NOTE_PIPELINE, -1},
        {"nccl:all_reduce", INQ_NOTE_COMM, -1},
        {"record_param_comms", INQ_NOTE_COMM, -1},
        {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", INQ_NOTE_DATA, -1},
        {"Optimizer.step#AdamW.step", INQ_NOTE_OPTIMIZER, -1},
        {"Optimizer.zero_grad#SGD.zero_grad", INQ_NOTE_OPTIMIZER, -1},
        {"## forward ##", INQ_NOTE_OTHER, -1},
        {"", INQ_NOTE_OTHER, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t number = 99;
        enum inq_note_kind kind = inq_classify_note(rows[i].name, strlen(rows[i].name), &number);
        if (kind != rows[i].kind || number != rows[i].number) {
            fail_msg("note '%s': kind %d number %lld", rows[i].name, (int)kind, (long long)number);
        }
    }
}

static void notes__names_need_no_terminator(void **state)
{
    (void)state;
    int64_t number = -1;
    char bytes[] = {'P', 'r', 'o', 'f', 'i', 'l', 'e', 'r', 'S', 't', 'e', 'p', '#', '4', '2'};
    assert_int_equal(inq_classify_note(bytes, sizeof bytes, &number), INQ_NOTE_STEP);
    assert_int_equal(number, 42);
    assert_int_equal(inq_classify_note(bytes, sizeof bytes - 1, &number), INQ_NOTE_STEP);
    assert_int_equal(number, 4);
}

/* nccl-tests, doc/PERFORMANCE.md */
static void sizes__as_nccl_tests(void **state)
{
    (void)state;
    const int32_t n = 8;
    assert_int_equal(inq_coll_bytes(INQ_COLL_ALLREDUCE, 1000, 1000, 4, n), 4000);
    assert_int_equal(inq_coll_bytes(INQ_COLL_ALLGATHER, 1000, 8000, 2, n), 16000);
    assert_int_equal(inq_coll_bytes(INQ_COLL_ALLGATHER, 1000, -1, 2, n), 16000);
    assert_int_equal(inq_coll_bytes(INQ_COLL_REDUCE_SCATTER, 8000, 1000, 2, n), 16000);
    assert_int_equal(inq_coll_bytes(INQ_COLL_REDUCE_SCATTER, -1, 1000, 2, n), 16000);
    assert_int_equal(inq_coll_bytes(INQ_COLL_ALLTOALL, 8000, 8000, 4, n), 32000);
    assert_int_equal(inq_coll_bytes(INQ_COLL_ALLTOALLV, 700, 900, 4, n), 3600);
    assert_int_equal(inq_coll_bytes(INQ_COLL_BROADCAST, 10, 10, 8, n), 80);
    assert_int_equal(inq_coll_bytes(INQ_COLL_SEND, 10, -1, 8, 2), 80);
    assert_int_equal(inq_coll_bytes(INQ_COLL_RECV, -1, 10, 8, 2), 80);
    assert_int_equal(inq_coll_bytes(INQ_COLL_ALLREDUCE, 1000, 1000, 0, n), -1);
    assert_int_equal(inq_coll_bytes(INQ_COLL_ALLREDUCE, -1, -1, 4, n), -1);
    assert_int_equal(inq_coll_bytes(INQ_COLL_ALLREDUCE, INT64_MAX, INT64_MAX, 4, n), -1);
    assert_int_equal(inq_coll_bytes(INQ_COLL_ALLGATHER, INT64_MAX / 2, -1, 1, n), -1);
}

static bool is_factor(enum inq_coll_kind kind, double expected)
{
    return fabs(inq_coll_bus_factor(kind, 8) - expected) < 1e-12;
}

static void factors__as_nccl_tests(void **state)
{
    (void)state;
    assert_true(is_factor(INQ_COLL_ALLREDUCE, 14.0 / 8));
    assert_true(is_factor(INQ_COLL_ALLGATHER, 7.0 / 8));
    assert_true(is_factor(INQ_COLL_REDUCE_SCATTER, 7.0 / 8));
    assert_true(is_factor(INQ_COLL_ALLTOALL, 7.0 / 8));
    assert_true(is_factor(INQ_COLL_ALLTOALLV, 7.0 / 8));
    assert_true(is_factor(INQ_COLL_BROADCAST, 1));
    assert_true(is_factor(INQ_COLL_REDUCE, 1));
    assert_true(is_factor(INQ_COLL_SENDRECV, 1));
    assert_true(isnan(inq_coll_bus_factor(INQ_COLL_BARRIER, 8)));
    assert_true(isnan(inq_coll_bus_factor(INQ_COLL_ALLREDUCE, -1)));
}

static void synchronizing__no_member_ends_before_all_began(void **state)
{
    (void)state;
    assert_true(inq_coll_synchronizes(INQ_COLL_ALLREDUCE));
    assert_true(inq_coll_synchronizes(INQ_COLL_BARRIER));
    assert_false(inq_coll_synchronizes(INQ_COLL_BROADCAST));
    assert_false(inq_coll_synchronizes(INQ_COLL_SEND));
    assert_false(inq_coll_synchronizes(INQ_COLL_UNKNOWN));
}

static void op_types__by_their_names(void **state)
{
    (void)state;
    for (int type = INQ_OP_NONE + 1; type < INQ_OP_TYPE_COUNT; type++) {
        const char *text = inq_op_type_text((enum inq_op_type)type);
        assert_int_equal(inq_op_type_from_name(text, strlen(text)), type);
    }
    assert_int_equal(inq_op_type_from_name("forward-comput", 14), INQ_OP_NONE);
    assert_int_equal(inq_op_type_from_name("", 0), INQ_OP_NONE);
}

static void kernels__that_update_the_weights(void **state)
{
    (void)state;
    assert_true(inq_kernel_updates_weights(
        "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4> >(int)"));
    assert_true(inq_kernel_updates_weights("split_embedding_backward_codegen_sgd_unweighted"));
    assert_false(inq_kernel_updates_weights("multi_tensor_apply_kernel<L2NormFunctor>"));
    assert_false(inq_kernel_updates_weights("vectorized_elementwise_kernel<{lambda()#2}>"));
}

static void classify__kinds_of_devices(void **state)
{
    (void)state;
    static const struct {
        const char *name, *kind;
    } cases[] = {{"CPU", "CPU"},
                 {"Ascend NPU", "NPU"},
                 {"TPU v5e", "TPU"},
                 {"MTIA", "MTIA"},
                 {"NVIDIA H100 80GB HBM3", "GPU"},
                 {"", "GPU"},
                 {"gfx942", "GPU"},
                 {"INPUT", "GPU"},
                 {"NPUs", "GPU"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_strtab names = {0};
        struct inq_rank rank = {0};
        struct inq_err err;
        assert_int_equal(
            inq_strtab_add(&names, cases[i].name, strlen(cases[i].name), &rank.device_name, &err),
            INQ_OK);
        struct inq_trace trace = {.names = &names};
        assert_string_equal(inq_rank_device(&trace, &rank), cases[i].kind);
        inq_strtab_release(&names);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels__their_class),
        cmocka_unit_test(kernels__that_update_the_weights),
        cmocka_unit_test(kernels__their_collective),
        cmocka_unit_test(recorded__collective_names),
        cmocka_unit_test(dtypes__their_bytes),
        cmocka_unit_test(notes__kind_and_number),
        cmocka_unit_test(notes__names_need_no_terminator),
        cmocka_unit_test(sizes__as_nccl_tests),
        cmocka_unit_test(factors__as_nccl_tests),
        cmocka_unit_test(synchronizing__no_member_ends_before_all_began),
        cmocka_unit_test(op_types__by_their_names),
        cmocka_unit_test(classify__kinds_of_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
