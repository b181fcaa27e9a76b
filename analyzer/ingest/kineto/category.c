/* SPDX-License-Identifier: Apache-2.0 */
/* What an event is: by its category, and of devices that no category here names by what its
 * arguments are (a stream and a device or a launch, the type of an Ascend task). */
#include "ingest/kineto/kineto.h"

#include <string.h>
#include <strings.h>

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

static enum inq_cat by_category(struct inq_kineto *k, struct inq_text text)
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

static bool has_word(struct inq_text text, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.n; i++) {
        if (strncasecmp(text.p + i, word, n) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_any(struct inq_text text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (has_word(text, words[i])) {
            return true;
        }
    }
    return false;
}

#define ANY_OF(text, words) has_any(text, words, sizeof(words) / sizeof *(words))

/* ---- arguments ------------------------------------------------------------------------------- */

/* Words in the types of Ascend tasks that wait, signal or keep books: a stream that waits does not
 * work. */
static const char *const idle_tasks[] = {"WAIT",  "RECORD",       "NOTIFY", "EVENT",
                                         "LABEL", "PLACE_HOLDER", "WRITE",  "MAINTENANCE"};
static const char *const copy_tasks[] = {"MEMCPY", "SDMA", "DMA"};

static enum inq_cat cat_of_task(struct inq_text type)
{
    return ANY_OF(type, idle_tasks)   ? INQ_CAT_PASSING
           : ANY_OF(type, copy_tasks) ? INQ_CAT_MEMCPY
           : has_word(type, "MEMSET") ? INQ_CAT_MEMSET
                                      : INQ_CAT_KERNEL;
}

/* The kind of device work by the words of a category that is not known. */
static enum inq_cat cat_of_work(struct inq_text cat)
{
    static const char *const syncs[] = {"sync", "wait", "notif", "event_record"};
    return has_word(cat, "memcpy")       ? INQ_CAT_MEMCPY
           : has_word(cat, "memset")     ? INQ_CAT_MEMSET
           : has_word(cat, "annotation") ? INQ_CAT_GPU_NOTE
           : ANY_OF(cat, syncs)          ? INQ_CAT_SYNC
                                         : INQ_CAT_KERNEL;
}

/* An event of PyTorch's profiler as it was before Kineto, and is in builds without it. */
static bool is_legacy(const struct inq_scan_event *event)
{
    return !INQ_HAS(event, CAT) && INQ_HAS(event, PID) && event->text[INQ_FIELD_PID].p != NULL &&
           inq_text_is(event->text[INQ_FIELD_PID], "CPU functions");
}

enum inq_cat inq_kineto_cat_of(struct inq_kineto *k, const struct inq_scan_event *event)
{
    static const char *const hosts[] = {"runtime", "driver"};
    struct inq_text text = {"", 0};
    enum inq_cat cat = INQ_CAT_OTHER;
    if (INQ_HAS(event, CAT)) {
        text = event->text[INQ_FIELD_CAT];
        cat = by_category(k, text);
    } else if (is_legacy(event)) {
        k->legacy = true;
        return INQ_CAT_OPERATOR;
    }
    if (cat != INQ_CAT_OTHER || k->exported) {
        return cat;
    }
    if (INQ_HAS(event, TASK_TYPE)) {
        return cat_of_task(event->text[INQ_FIELD_TASK_TYPE]);
    }
    if (INQ_HAS(event, CORRELATION) && ANY_OF(text, hosts)) {
        return INQ_CAT_CALL;
    }
    bool on_device =
        INQ_HAS(event, STREAM) && (INQ_HAS(event, DEVICE) || INQ_HAS(event, CORRELATION));
    return on_device ? cat_of_work(text) : cat;
}
