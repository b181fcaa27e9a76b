/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of kernels by the ids of their names in one table, each worked out once. */
#ifndef INQ_TRACE_KERNEL_CLASSES_H
#define INQ_TRACE_KERNEL_CLASSES_H

#include "base/strtab.h"
#include "inquest/trace.h"

/* All-zero is empty; release it. */
struct inq_kernel_classes {
    uint8_t *known; /* by id: 1 + class, 0 not known yet */
    size_t n;
};

/* Works the class out, and remembers it. */
enum inq_op_class inq_kernel_class_anew(struct inq_kernel_classes *classes,
                                        const struct inq_strtab *names, uint32_t name);

/* As inq_classify_kernel has it. */
static inline enum inq_op_class inq_kernel_class(struct inq_kernel_classes *classes,
                                                 const struct inq_strtab *names, uint32_t name)
{
    return name < classes->n && classes->known[name] != 0
               ? (enum inq_op_class)(classes->known[name] - 1)
               : inq_kernel_class_anew(classes, names, name);
}
void inq_kernel_classes_release(struct inq_kernel_classes *classes);

#endif
