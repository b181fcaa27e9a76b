/* SPDX-License-Identifier: Apache-2.0 */
/* What a compute kernel's time depends on, as far as its name tells. */
#ifndef INQ_TRACE_KERNEL_KIND_H
#define INQ_TRACE_KERNEL_KIND_H

enum inq_kernel_kind {
    INQ_KERNEL_MATH,   /* matrix products, convolutions, attention: the clock of the cores first */
    INQ_KERNEL_UPDATE, /* optimizer, gradient norms, zeroing: parameters, not the batch */
    INQ_KERNEL_OTHER   /* element by element, norms, copies: memory first */
};

enum inq_kernel_kind inq_kernel_kind_of(const char *name);

#endif
