/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel works on, from the inputs of the operator that launched it. */
#include "fix/base/base.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists as they are written: [[32, 2048], [2048, 1000], []] and ["float", "float", ""] -- */

enum { MOST_INPUTS = 16, MOST_DIMS = 8 };

struct shape {
    size_t n;
    int64_t dim[MOST_DIMS];
};

struct shapes {
    size_t n;
    struct shape at[MOST_INPUTS];
};

static const char *skip(const char *p)
{
    while (*p == ' ' || *p == ',') {
        p++;
    }
    return p;
}

/* Sizes of one input, from behind its bracket; NULL: not as it must be. */
static const char *read_shape(const char *p, struct shape *shape)
{
    for (p = skip(p); *p >= '0' && *p <= '9'; p = skip(p)) {
        char *end = NULL;
        long long size = strtoll(p, &end, 10);
        if (shape->n == MOST_DIMS || size > INT32_MAX) {
            return NULL;
        }
        shape->dim[shape->n++] = size;
        p = end;
    }
    return *p == ']' ? p + 1 : NULL;
}

/* False where an input is a list of lists, or nothing is as it must be. */
static bool read_shapes(const char *text, struct shapes *shapes)
{
    const char *p = text;
    *shapes = (struct shapes){0};
    if (*p != '[') {
        return false;
    }
    for (p = skip(p + 1); p != NULL && *p == '['; p = p != NULL ? skip(p) : NULL) {
        if (shapes->n == MOST_INPUTS) {
            return false;
        }
        p = read_shape(p + 1, &shapes->at[shapes->n++]);
    }
    return p != NULL && *p == ']' && shapes->n > 0;
}

/* The i-th text of a list; its length, 0 for none. */
static size_t type_at(const char *list, size_t i, const char **type)
{
    const char *p = list;
    for (size_t k = 0;; k++) {
        const char *begin = strchr(p, '"');
        const char *end = begin != NULL ? strchr(begin + 1, '"') : NULL;
        if (end == NULL) {
            return 0;
        }
        if (k == i) {
            *type = begin + 1;
            return (size_t)(end - begin - 1);
        }
        p = end + 1;
    }
}

/* ---- products -------------------------------------------------------------------------------- */

/* What PyTorch's operators say of a product: which inputs are its factors. linear's second is
 * n x k. */
static const struct matmul {
    const char *name;
    size_t a, b;
    bool transposed;
} matmuls[] = {{"aten::mm", 0, 1, false},     {"aten::addmm", 1, 2, false},
               {"aten::bmm", 0, 1, false},    {"aten::baddbmm", 1, 2, false},
               {"aten::linear", 0, 1, true},  {"aten::_addmm_activation", 1, 2, false},
               {"aten::matmul", 0, 1, false}, {"aten::_scaled_mm", 0, 1, false}};

static bool type_of(const char *types, size_t input, uint8_t *type)
{
    static const struct {
        const char *name;
        uint8_t type;
    } known[] = {{"float", INQ_PRODUCT_F32},
                 {"double", INQ_PRODUCT_F64},
                 {"c10::Half", INQ_PRODUCT_F16},
                 {"c10::BFloat16", INQ_PRODUCT_BF16},
                 {"c10::Float8_e4m3fn", INQ_PRODUCT_F8},
                 {"c10::Float8_e5m2", INQ_PRODUCT_F8}};
    const char *text = NULL;
    size_t n = type_at(types, input, &text);
    for (size_t i = 0; n > 0 && i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) == n && memcmp(known[i].name, text, n) == 0) {
            *type = known[i].type;
            return true;
        }
    }
    return false;
}

/* Leading sizes of both are batches; what only the first has is more rows. */
static bool product_of(const struct shape *a, const struct shape *b, bool transposed,
                       struct inq_product *product)
{
    if (a->n < 2 || b->n < 2 || (b->n > 2 && a->n != b->n)) {
        return false;
    }
    int64_t k = a->dim[a->n - 1];
    int64_t rows = a->dim[a->n - 2];
    int64_t batch = 1;
    for (size_t i = 0; i + 2 < a->n; i++) {
        bool both = b->n > 2;
        if (both && a->dim[i] != b->dim[i]) {
            return false;
        }
        int64_t *to = both ? &batch : &rows;
        if (a->dim[i] > INT32_MAX / (*to > 0 ? *to : 1)) {
            return false;
        }
        *to *= a->dim[i];
    }
    int64_t inner = b->dim[b->n - (transposed ? 1 : 2)];
    int64_t n = b->dim[b->n - (transposed ? 2 : 1)];
    if (inner != k || rows <= 0 || n <= 0 || k <= 0 || batch <= 0) {
        return false;
    }
    product->m = (int32_t)rows;
    product->n = (int32_t)n;
    product->k = (int32_t)k;
    product->batch = (int32_t)batch;
    return true;
}

/* Kernels that multiply, by what the libraries call theirs; what runs beside them under the same
 * operator (copies of a bias, sums of parts) does not. */
static bool multiplies(const char *kernel)
{
    static const char *const words[] = {"gemm", "Gemm", "GEMM", "xmma", "cutlass", "nvjet", "gemv"};
    static const char *const others[] = {"splitKreduce", "elementwise", "reduce_kernel"};
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        found = found || strstr(kernel, words[i]) != NULL;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        found = found && strstr(kernel, others[i]) == NULL;
    }
    return found;
}

/* f32 that the kernel multiplies as tf32: cuBLAS' and CUTLASS' names say so, by the type or by the
 * instruction (1688 is that of tf32; f32 has none). */
static bool is_tf32(const char *kernel)
{
    return strstr(kernel, "tf32") != NULL || strstr(kernel, "s1688gemm") != NULL;
}

/* cuBLAS multiplies f8 only in these steps. */
enum { F8_STEP = 16 };

static void take_product(const struct matmul *op, const struct shapes *shapes, const char *types,
                         const char *kernel, struct fix_op *to)
{
    struct inq_product product = {0};
    if (op->a < shapes->n && op->b < shapes->n && type_of(types, op->a, &product.type) &&
        product_of(&shapes->at[op->a], &shapes->at[op->b], op->transposed, &product)) {
        bool steps = product.n % F8_STEP == 0 && product.k % F8_STEP == 0 && product.batch == 1;
        if (product.type == INQ_PRODUCT_F8 && !steps) {
            return;
        }
        if (product.type == INQ_PRODUCT_F32 && is_tf32(kernel)) {
            product.type = INQ_PRODUCT_TF32;
        }
        to->product = product;
        to->shaped_ns = to->dur_ns;
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int64_t bytes_of_type(const char *types, size_t input)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } known[] = {{"float", 4},
                 {"double", 8},
                 {"int", 4},
                 {"long int", 8},
                 {"c10::Half", 2},
                 {"c10::BFloat16", 2},
                 {"bool", 1},
                 {"long", 8},
                 {"unsigned char", 1},
                 {"c10::Float8_e4m3fn", 1},
                 {"c10::Float8_e5m2", 1}};
    const char *text = NULL;
    size_t n = type_at(types, input, &text);
    for (size_t i = 0; n > 0 && i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) == n && memcmp(known[i].name, text, n) == 0) {
            return known[i].bytes;
        }
    }
    return 0;
}

/* Bytes of all inputs, and of the largest. */
static int64_t sum_inputs(const struct shapes *shapes, const char *types, int64_t *largest)
{
    const int64_t most = (int64_t)1 << 44;
    int64_t sum = 0;
    *largest = 0;
    for (size_t i = 0; i < shapes->n; i++) {
        int64_t bytes = bytes_of_type(types, i);
        bool scalar = shapes->at[i].n == 0;
        for (size_t d = 0; d < shapes->at[i].n; d++) {
            bool fits = bytes <= most / (shapes->at[i].dim[d] > 0 ? shapes->at[i].dim[d] : 1);
            bytes = fits ? bytes * shapes->at[i].dim[d] : 0;
        }
        sum += scalar ? 0 : bytes;
        *largest = !scalar && bytes > *largest ? bytes : *largest;
    }
    return sum;
}

/* Within a GPU or between two, what is copied is as large as what it is copied to. */
static void take_copy(const struct inq_trace *trace, const struct inq_launch *launch,
                      const char *kernel, struct fix_op *to)
{
    bool device = strstr(kernel, "DtoD") != NULL || strstr(kernel, "PtoP") != NULL;
    struct shapes shapes;
    int64_t bytes = launch->bytes;
    if (bytes == 0 && device && read_shapes(inq_trace_str(trace, launch->dims), &shapes)) {
        (void)sum_inputs(&shapes, inq_trace_str(trace, launch->types), &bytes);
    }
    to->copy = strstr(kernel, "HtoD") != NULL   ? INQ_WORK_COPY_HTOD
               : strstr(kernel, "DtoH") != NULL ? INQ_WORK_COPY_DTOH
                                                : 0;
    to->bytes = bytes > 0 ? bytes : -1;
    to->shaped_ns = to->dur_ns;
}

/* Element by element: each input is read once, and what comes out is as large as the largest. */
static void take_traffic(const struct shapes *shapes, const char *types, struct fix_op *to)
{
    int64_t largest = 0;
    int64_t sum = sum_inputs(shapes, types, &largest);
    if (largest > 0) {
        to->bytes = sum + largest;
        to->shaped_ns = to->dur_ns;
    }
}

void inq_fix_take_shapes(const struct inq_trace *trace, const struct inq_launch *launch,
                         const char *kernel, struct fix_op *op)
{
    struct shapes shapes;
    const char *name = inq_trace_str(trace, launch->op);
    const char *types = inq_trace_str(trace, launch->types);
    if (op->op.cls == INQ_CLASS_COPY) {
        take_copy(trace, launch, kernel, op);
        return;
    }
    if (launch->op == 0 || !read_shapes(inq_trace_str(trace, launch->dims), &shapes)) {
        return;
    }
    if (strstr(kernel, "elementwise_kernel") != NULL) {
        /* the copy of a bias into a product's result is not of the operator's size */
        bool own = strstr(name, "mm") == NULL;
        if (own) {
            take_traffic(&shapes, types, op);
        }
        return;
    }
    for (size_t i = 0; multiplies(kernel) && i < sizeof matmuls / sizeof *matmuls; i++) {
        if (strcmp(matmuls[i].name, name) == 0) {
            take_product(&matmuls[i], &shapes, types, kernel, op);
            return;
        }
    }
}
