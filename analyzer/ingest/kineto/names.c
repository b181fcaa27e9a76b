/* SPDX-License-Identifier: Apache-2.0 */
/* Names: categories to classes, texts to ids, what a kernel's name says. Everything is worked out
 * once per distinct text. */
#include "ingest/kineto/kineto.h"

#include "base/mem.h"

#include <string.h>

/* Categories that Kineto writes, or has written. */
static const struct {
    const char *text;
    enum inq_cat cat;
} categories[] = {
    {"cpu_op", INQ_CAT_CPU_OP},
    {"Operator", INQ_CAT_OPERATOR},
    {"user_annotation", INQ_CAT_NOTE},
    {"gpu_user_annotation", INQ_CAT_GPU_NOTE},
    {"kernel", INQ_CAT_KERNEL},
    {"Kernel", INQ_CAT_KERNEL},
    {"concurrent_kernel", INQ_CAT_KERNEL},
    {"collective_comm", INQ_CAT_KERNEL},
    {"mtia_ccp_events", INQ_CAT_KERNEL},
    {"hpu_op", INQ_CAT_KERNEL},
    {"gpu_memcpy", INQ_CAT_MEMCPY},
    {"Memcpy", INQ_CAT_MEMCPY},
    {"gpu_memset", INQ_CAT_MEMSET},
    {"Memset", INQ_CAT_MEMSET},
    {"cuda_sync", INQ_CAT_SYNC},
    {"xpu_sync", INQ_CAT_SYNC},
    {"cuda_runtime", INQ_CAT_CALL},
    {"cuda_driver", INQ_CAT_CALL},
    {"Runtime", INQ_CAT_CALL},
    {"hip_runtime", INQ_CAT_CALL},
    {"mtia_runtime", INQ_CAT_CALL},
    {"xpu_runtime", INQ_CAT_CALL},
    {"xpu_driver", INQ_CAT_CALL},
    {"glow_runtime", INQ_CAT_CALL},
    {"privateuse1_runtime", INQ_CAT_CALL},
    {"privateuse1_driver", INQ_CAT_CALL},
    {"python_function", INQ_CAT_PASSING},
    {"cpu_instant_event", INQ_CAT_PASSING},
    {"ac2g", INQ_CAT_PASSING},
    {"fwdbwd", INQ_CAT_PASSING},
    {"async_cpu_to_gpu", INQ_CAT_PASSING},
    {"cuda_event", INQ_CAT_PASSING},
    {"cuda_profiler_range", INQ_CAT_PASSING},
    {"mtia_workloadd", INQ_CAT_PASSING},
    {"mtia_insight", INQ_CAT_PASSING},
};

static enum inq_cat look_up(struct inq_text text)
{
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
        if (inq_text_is(text, categories[i].text)) {
            return categories[i].cat;
        }
    }
    return inq_op_type_from_name(text.p, text.n) != INQ_OP_NONE ? INQ_CAT_OP : INQ_CAT_OTHER;
}

enum inq_cat inq_kineto_cat(struct inq_kineto *k, struct inq_text text)
{
    if (text.n == k->cat_text.n && k->cat_text.p != NULL &&
        memcmp(text.p, k->cat_bytes, text.n) == 0) {
        return k->cat;
    }
    enum inq_cat cat = look_up(text);
    if (text.n <= sizeof k->cat_bytes) {
        memcpy(k->cat_bytes, text.p, text.n);
        k->cat_text = (struct inq_text){k->cat_bytes, text.n};
        k->cat = cat;
    }
    return cat;
}

/* ---- interning ------------------------------------------------------------------------------- */

/* Cheap and only for the memo: length, both ends, and a bit of the middle. */
static uint32_t memo_slot(struct inq_text text)
{
    uint64_t a = 0;
    uint64_t b = 0;
    if (text.n >= 8) {
        memcpy(&a, text.p, 8);
        memcpy(&b, text.p + text.n - 8, 8);
    } else {
        memcpy(&a, text.p, text.n);
    }
    if (text.n >= 32) {
        uint64_t middle;
        memcpy(&middle, text.p + text.n / 2, 8);
        b += middle;
    }
    uint64_t h = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) + text.n;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 32) % INQ_NAME_MEMO;
}

bool inq_kineto_is_plain(struct inq_text text)
{
    unsigned char bad = 0;
    for (uint32_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bad |= (unsigned char)((c < 0x20) | (c >= 0x7f) | (c == '\\'));
    }
    return bad == 0 && text.n <= INQ_SCAN_MAX_STRING;
}

static int intern_decoded(struct inq_kineto *k, struct inq_text text, int64_t offset, inq_str *id)
{
    if (k->scratch == NULL) {
        k->scratch = inq_mem_alloc(INQ_SCAN_MAX_STRING);
        if (k->scratch == NULL) {
            return inq_err_set(k->err, INQ_NOMEM, "out of memory for a name");
        }
    }
    struct inq_scan_decoded decoded = inq_scan_decode(text, k->scratch, INQ_SCAN_MAX_STRING);
    if (decoded.cut) {
        inq_kineto_damage(k, INQ_DAMAGE_LONG_STRING, 1, offset);
    }
    if (decoded.bad_utf8) {
        inq_kineto_damage(k, INQ_DAMAGE_BAD_UTF8, 1, offset);
    }
    return inq_strtab_add(&k->shard->names, k->scratch, decoded.n, id, k->err);
}

int inq_kineto_name(struct inq_kineto *k, struct inq_text text, int64_t offset, inq_str *id)
{
    struct inq_strtab *names = &k->shard->names;
    *id = 0;
    if (text.n == 0) {
        return INQ_OK;
    }
    uint32_t slot = memo_slot(text);
    uint32_t known = k->memo[slot];
    if (known != 0) {
        const struct inq_strtab_row *row = &names->rows[known];
        if (row->len == text.n && memcmp(row->text, text.p, text.n) == 0) {
            *id = known;
            return INQ_OK;
        }
    }
    if (!inq_kineto_is_plain(text)) {
        return intern_decoded(k, text, offset, id);
    }
    int code = inq_strtab_add(names, text.p, text.n, id, k->err);
    k->memo[slot] = *id;
    return code;
}

enum inq_op_class inq_kineto_kernel_class(struct inq_kineto *k, inq_str name)
{
    if (name < k->kernel_class_n && k->kernel_class[name] != 0) {
        return (enum inq_op_class)(k->kernel_class[name] - 1);
    }
    const struct inq_strtab *names = &k->shard->names;
    enum inq_op_class cls =
        inq_classify_kernel(inq_strtab_get(names, name), inq_strtab_len(names, name));
    if (name >= k->kernel_class_n) {
        size_t cap = k->kernel_class_n;
        size_t need = (size_t)name + 1;
        if (inq_mem_grow(&k->kernel_class, &cap, need, 1, UINT32_MAX, NULL) != INQ_OK) {
            return cls; /* only a cache */
        }
        memset(k->kernel_class + k->kernel_class_n, 0, cap - k->kernel_class_n);
        k->kernel_class_n = cap;
    }
    k->kernel_class[name] = (uint8_t)(1 + cls);
    return cls;
}
