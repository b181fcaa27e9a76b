/* SPDX-License-Identifier: Apache-2.0 */
/* Products and traffic of kernels in the plan of a recorded step, by the inputs of the operators
 * that launched them. */
#include "inquest/fix.h"
#include "inquest/ingest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct row {
    const char *op, *dims, *types, *kernel;
    struct inq_product product;
    int64_t bytes;
};

#define NONE                                                                                       \
    {                                                                                              \
        0, 0, 0, 0, 0                                                                              \
    }

static const struct row rows[] = {
    /* a bias is copied, the product made in parts, the parts summed: one of three multiplies */
    {"aten::addmm",
     "[[1000], [32, 2048], [2048, 1000], [], []]",
     "[\"float\", \"float\", \"float\", \"Scalar\", \"Scalar\"]",
     "volta_sgemm_64x32_sliced1x4_tn",
     {32, 1000, 2048, 1, INQ_PRODUCT_F32},
     -1},
    {"aten::addmm", "[[1000], [32, 2048], [2048, 1000], [], []]",
     "[\"float\", \"float\", \"float\", \"Scalar\", \"Scalar\"]",
     "void at::native::unrolled_elementwise_kernel<copy>", NONE, -1},
    {"aten::addmm", "[[1000], [32, 2048], [2048, 1000], [], []]",
     "[\"float\", \"float\", \"float\", \"Scalar\", \"Scalar\"]",
     "void splitKreduce_kernel<float>(cublasSplitKParams)", NONE, -1},
    {"aten::mm",
     "[[4096, 512], [512, 128]]",
     "[\"c10::BFloat16\", \"c10::BFloat16\"]",
     "sm90_xmma_gemm_bf16bf16",
     {4096, 128, 512, 1, INQ_PRODUCT_BF16},
     -1},
    {"aten::bmm",
     "[[24, 64, 80], [24, 80, 96]]",
     "[\"c10::Half\", \"c10::Half\"]",
     "cutlass_80_wmma_tensorop_f16",
     {64, 96, 80, 24, INQ_PRODUCT_F16},
     -1},
    /* leading sizes are rows of one product, and weights are n x k */
    {"aten::linear",
     "[[8, 16, 256], [1024, 256], [1024]]",
     "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\"]",
     "nvjet_tst_128x256_64x4",
     {128, 1024, 256, 1, INQ_PRODUCT_BF16},
     -1},
    {"aten::add", "[[4096, 2048], [2048], []]",
     "[\"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\"]",
     "void at::native::vectorized_elementwise_kernel<4, add>", NONE,
     2 * 4096 * 2048 * 2 + 2048 * 2},
    {"aten::mm",
     "[[4096, 512], [512, 128]]",
     "[\"double\", \"double\"]",
     "ampere_dgemm_64x64_nn",
     {4096, 128, 512, 1, INQ_PRODUCT_F64},
     -1},
    {"aten::mm",
     "[[4096, 512], [512, 128]]",
     "[\"float\", \"float\"]",
     "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16",
     {4096, 128, 512, 1, INQ_PRODUCT_TF32},
     -1},
    {"aten::_scaled_mm",
     "[[128, 512], [512, 144], [], []]",
     "[\"c10::Float8_e4m3fn\", \"c10::Float8_e4m3fn\", \"float\", \"float\"]",
     "nvjet_qqtst_128x128_128x6",
     {128, 144, 512, 1, INQ_PRODUCT_F8},
     -1},
    /* what does not tell: sizes that do not fit, types that no library is called with, lists of
     * tensors, reductions, other operators */
    {"aten::mm", "[[4096, 512], [511, 128]]", "[\"float\", \"float\"]", "ampere_sgemm", NONE, -1},
    {"aten::mm", "[[4096, 512], [512, 128]]", "[\"int\", \"int\"]", "ampere_igemm", NONE, -1},
    {"aten::_scaled_mm", "[[128, 512], [512, 120]]",
     "[\"c10::Float8_e4m3fn\", \"c10::Float8_e4m3fn\"]", "nvjet_qqtst_128x128", NONE, -1},
    {"aten::mm", "[[4096, 512]]", "[\"float\"]", "ampere_sgemm", NONE, -1},
    {"aten::mm", "[[99999999999, 512], [512, 128]]", "[\"float\", \"float\"]", "ampere_sgemm", NONE,
     -1},
    {"aten::cat", "[[[8, 8], [8, 8]], []]", "[\"TensorList\", \"Scalar\"]",
     "void at::native::elementwise_kernel<cat>", NONE, -1},
    {"aten::sum", "[[4096, 2048]]", "[\"float\"]", "void at::native::reduce_kernel<512>", NONE, -1},
    {"aten::cudnn_convolution", "[[8, 3, 8, 8], [3, 3, 8, 8]]", "[\"float\", \"float\"]",
     "implicit_convolve_sgemm", NONE, -1},
};
#define N_ROWS (sizeof rows / sizeof *rows)

/* A copy by aten::copy_ of 4096 x 512 bf16; `bytes`: what its event says of its size. */
static void write_copy(FILE *f, int at, int id, const char *name, int dur, const char *bytes)
{
    (void)fprintf(f,
                  ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::copy_\",\"pid\":1,\"tid\":1,"
                  "\"ts\":%d,\"dur\":9,\"args\":{\"External id\":%d,"
                  "\"Input Dims\":[[4096,512],[4096,512],[]],"
                  "\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\",\"Scalar\"]}}"
                  ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaMemcpyAsync\",\"pid\":1,"
                  "\"tid\":1,\"ts\":%d,\"dur\":4,\"args\":{\"correlation\":%d,\"External id\":%d}}"
                  ",{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"%s\",\"pid\":0,\"tid\":7,"
                  "\"ts\":%d,\"dur\":%d,\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d,"
                  "\"External id\":%d%s}}",
                  at, id, at + 2, id, id, name, at + 8, dur, id, id, bytes);
}

/* What a copy's own event says counts; a size that is none or is not said is that of what its
 * operator wrote, where the link is the GPU's own. */
static const struct copy {
    const char *name, *said;
    uint8_t work;
    int64_t bytes;
} copies[] = {
    {"Memcpy DtoD (Device -> Device)", "", INQ_WORK_COPY, INT64_C(4096) * 512 * 2},
    {"Memcpy DtoD (Device -> Device)", ",\"bytes\":4096", INQ_WORK_COPY, 4096},
    {"Memcpy HtoD (Pinned -> Device)", "", INQ_WORK_COPY_HTOD, -1},
    {"Memcpy HtoD (Pinned -> Device)", ",\"bytes\":5000000000", INQ_WORK_COPY_HTOD, 5000000000},
    {"Memcpy DtoH (Device -> Pageable)", ",\"bytes\":12,\"memory bandwidth (GB/s)\":3.5",
     INQ_WORK_COPY_DTOH, 12},
    {"Memcpy DtoH (Device -> Pageable)", ",\"bytes\":-7", INQ_WORK_COPY_DTOH, -1},
};
#define N_COPIES (sizeof copies / sizeof *copies)

/* Four steps of all rows, 1.5 ms each; every kernel has a duration of its own. */
static void write_trace(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fprintf(f, "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":0,\"world_size\":1},"
                     "\"traceEvents\":[");
    for (int step = 0; step < 4; step++) {
        int t = 1000 + step * 1500;
        (void)fprintf(f,
                      "%s{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\","
                      "\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1499}",
                      step > 0 ? "," : "", step, t);
        for (int i = 0; i < (int)N_ROWS; i++) {
            int id = step * 100 + i + 1;
            int at = t + 10 + i * 60;
            (void)fprintf(f,
                          ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":1,\"tid\":1,"
                          "\"ts\":%d,\"dur\":9,\"args\":{\"External id\":%d,\"Input Dims\":%s,"
                          "\"Input type\":%s}}",
                          rows[i].op, at, id, rows[i].dims, rows[i].types);
            (void)fprintf(f,
                          ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
                          "\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":4,\"args\":{\"correlation\":%d,"
                          "\"External id\":%d}}",
                          at + 2, id, id);
            (void)fprintf(f,
                          ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,"
                          "\"ts\":%d,\"dur\":%d,\"args\":{\"device\":0,\"stream\":7,"
                          "\"correlation\":%d,\"External id\":%d}}",
                          rows[i].kernel, at + 8, 20 + i, id, id);
        }
        for (int i = 0; i < (int)N_COPIES; i++) {
            write_copy(f, t + 1200 + i * 40, step * 100 + 90 + i, copies[i].name, 2 + i,
                       copies[i].said);
        }
    }
    (void)fprintf(f, "]}\n");
    assert_int_equal(fclose(f), 0);
}

/* The row whose kernel lasts that long. */
static const struct row *row_of(int64_t dur_ns)
{
    int64_t i = dur_ns / 1000 - 20;
    assert_true(i >= 0 && i < (int64_t)N_ROWS);
    return &rows[i];
}

static void assert_rows(const struct inq_plan *plan, double pace)
{
    size_t n = 0;
    size_t n_copies = 0;
    for (size_t i = 0; i < plan->graph->n_ops; i++) {
        int64_t dur_ns = (int64_t)((double)plan->dur_ns[i] * pace + 0.5);
        if (plan->graph->op[i].cls == INQ_CLASS_COPY) { /* each has a length of its own */
            const struct copy *copy = &copies[dur_ns / 1000 - 2];
            assert_int_equal(plan->work[i], copy->work);
            assert_int_equal(plan->bytes[i], pace == 1.0 ? copy->bytes : -1);
            n_copies++;
        }
        if (plan->work[i] != INQ_WORK_COMPUTE) {
            continue;
        }
        const struct row *row = row_of(dur_ns);
        bool same = pace == 1.0;
        assert_int_equal(plan->bytes[i], same ? row->bytes : -1);
        assert_non_null(plan->product);
        const struct inq_product none = NONE;
        assert_memory_equal(&plan->product[i], same ? &row->product : &none, sizeof none);
        n++;
    }
    assert_int_equal(n, N_ROWS);
    assert_int_equal(n_copies, N_COPIES);
}

static void plan__has_products_and_traffic_of_kernels(void **state)
{
    (void)state;
    char path[] = "/tmp/inquest-shapes-XXXXXX.json";
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    (void)close(fd);
    write_trace(path);
    const char *paths[] = {path};
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;
    struct inq_fix_base *base = NULL;
    struct inq_graph *graph = NULL;
    struct inq_plan *plan = NULL;
    struct inq_err err = {0};
    const struct inq_ingest_options ingest = {.jobs = 1, .operators = true};
    const struct inq_analysis_options analysis = {.jobs = 1};
    if (inq_ingest(paths, 1, &ingest, &run, &err) != INQ_OK ||
        inq_analyze(run->traces[0], &analysis, &report, &err) != INQ_OK ||
        inq_fix_base_of_run(run->traces[0], report, &base, &err) != INQ_OK ||
        inq_fix_plan(base, NULL, 1, 1.0, &graph, &plan, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    assert_rows(plan, 1.0);
    inq_plan_free(plan);
    inq_graph_free(graph);
    /* an op of another length is other work */
    assert_int_equal(inq_fix_plan(base, "speed-rank:0:speed=2", 1, 1.0, &graph, &plan, &err),
                     INQ_OK);
    assert_rows(plan, 2.0);
    inq_plan_free(plan);
    inq_graph_free(graph);
    inq_fix_base_free(base);
    inq_report_free(report);
    inq_run_free(run);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan__has_products_and_traffic_of_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
