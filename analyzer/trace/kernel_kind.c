/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of kernels by the words that libraries put into their names. */
#include "trace/kernel_kind.h"

#include <string.h>

static const char *const update_words[] = {
    "adam",    "lamb",   "sgdfunctor", "sgd_",        "optim",   "multi_tensor", "multitensor",
    "foreach", "lpnorm", "l2norm",     "fillfunctor", "adagrad", "rmsprop"};
static const char *const math_words[] = {"gemm",  "gemv",      "xmma", "cutlass",
                                         "cijk_", "nvjet",     "conv", "flash",
                                         "fmha",  "attention", "wmma", "dot_kernel"};

static int has_any(const char *name, const char *const *words, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (strcasestr(name, words[i])) {
            return 1;
        }
    }
    return 0;
}

enum inq_kernel_kind inq_kernel_kind_of(const char *name)
{
    if (has_any(name, update_words, sizeof(update_words) / sizeof(update_words[0]))) {
        return INQ_KERNEL_UPDATE;
    }
    if (has_any(name, math_words, sizeof(math_words) / sizeof(math_words[0]))) {
        return INQ_KERNEL_MATH;
    }
    return INQ_KERNEL_OTHER;
}
