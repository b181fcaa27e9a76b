/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/kernel_classes.h"

#include "base/mem.h"
#include "trace/classify.h"

#include <string.h>

enum inq_op_class inq_kernel_class_anew(struct inq_kernel_classes *classes,
                                        const struct inq_strtab *names, uint32_t name)
{
    enum inq_op_class cls =
        inq_classify_kernel(inq_strtab_get(names, name), inq_strtab_len(names, name));
    if (name >= classes->n) {
        size_t cap = classes->n;
        size_t need = (size_t)name + 1;
        if (inq_mem_grow(&classes->known, &cap, need, 1, UINT32_MAX, NULL) != INQ_OK) {
            return cls; /* only a cache */
        }
        memset(classes->known + classes->n, 0, cap - classes->n);
        classes->n = cap;
    }
    classes->known[name] = (uint8_t)(1 + cls);
    return cls;
}

void inq_kernel_classes_release(struct inq_kernel_classes *classes)
{
    inq_mem_free(classes->known);
    *classes = (struct inq_kernel_classes){0};
}
