/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of kernels by the words that libraries put into their names. */
#include "trace/kernel_kind.h"

#include "base/any_case.h"

#include <string.h>

static const char *const update_words[] = {
    "adam",    "lamb",   "sgdfunctor", "sgd_",        "optim",   "multi_tensor", "multitensor",
    "foreach", "lpnorm", "l2norm",     "fillfunctor", "adagrad", "rmsprop"};
static const char *const math_words[] = {"gemm",  "gemv",      "xmma", "cutlass",
                                         "cijk_", "nvjet",     "conv", "flash",
                                         "fmha",  "attention", "wmma", "dot_kernel"};

enum inq_kernel_kind inq_kernel_kind_of(const char *name)
{
    size_t len = strlen(name);
    if (inq_any_case_has(update_words, sizeof(update_words) / sizeof(update_words[0]), name, len)) {
        return INQ_KERNEL_UPDATE;
    }
    if (inq_any_case_has(math_words, sizeof(math_words) / sizeof(math_words[0]), name, len)) {
        return INQ_KERNEL_MATH;
    }
    return INQ_KERNEL_OTHER;
}
