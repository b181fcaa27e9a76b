/* SPDX-License-Identifier: Apache-2.0 */
/* Which fields of an event decide what becomes of it. */
#include "ingest/kineto/kineto.h"

#define BIT(field) (UINT64_C(1) << INQ_FIELD_##field)

/* What a kept event is made of. */
#define NUMBERS (BIT(PID) | BIT(TID) | BIT(TS) | BIT(DUR))
#define WHOLE   (BIT(PH) | BIT(CAT) | BIT(NAME) | NUMBERS)
#define LABEL   (BIT(STEP) | BIT(CHUNK) | BIT(MICRO_BATCH) | BIT(SEQ_ID))

/* Whatever becomes of the event: the numbers that every event has are read, so that a bad one is
 * counted. */
static void plan_complete(enum inq_cat cat, bool named, struct inq_shape_plan *plan)
{
    plan->action = INQ_SHAPE_DELIVER;
    switch (cat) {
    case INQ_CAT_CPU_OP:
        plan->need = WHOLE;
        plan->action = named ? INQ_SHAPE_DROP_OP : INQ_SHAPE_DROP;
        break;
    case INQ_CAT_PASSING:
        plan->need = WHOLE;
        plan->action = INQ_SHAPE_DROP;
        break;
    case INQ_CAT_OTHER:
        plan->need = WHOLE | BIT(CORRELATION);
        break;
    case INQ_CAT_OPERATOR:
    case INQ_CAT_NOTE:
        plan->need = WHOLE;
        break;
    case INQ_CAT_CALL:
        plan->need = WHOLE | BIT(CORRELATION);
        break;
    case INQ_CAT_KERNEL:
        plan->watch = true;
        plan->need = WHOLE | BIT(DEVICE) | BIT(STREAM) | BIT(CORRELATION);
        break;
    case INQ_CAT_GPU_NOTE:
    case INQ_CAT_MEMCPY:
    case INQ_CAT_MEMSET:
    case INQ_CAT_SYNC:
        plan->need = WHOLE | BIT(DEVICE) | BIT(STREAM) | BIT(CORRELATION);
        break;
    case INQ_CAT_OP:
        plan->need = WHOLE | LABEL;
        break;
    }
}

bool inq_kineto_plan(const struct inq_kineto *k, const struct inq_scan_event *event,
                     enum inq_cat cat, struct inq_shape_plan *plan)
{
    *plan = (struct inq_shape_plan){.tag = (int)cat};
    if (k->exported) { /* every event belongs to one rank or another */
        return false;
    }
    bool op = cat == INQ_CAT_CPU_OP || cat == INQ_CAT_OPERATOR;
    if (INQ_HAS(event, TASK_TYPE) || INQ_HAS(event, ALGORITHM)) { /* texts decide what it is */
        return false;
    }
    bool unsaid = !INQ_HAS(event, CAT) && INQ_HAS(event, PID) &&
                  event->text[INQ_FIELD_PID].p != NULL; /* the process decides */
    bool kept = op && inq_kineto_may_be_cpu(k);
    if (unsaid || kept || (k->shard->operators && op)) { /* inputs are lists */
        return false;
    }
    switch (event->ph) {
    case 'X':
        plan_complete(cat, INQ_HAS(event, NAME), plan);
        plan->need |= k->shard->operators ? BIT(EXTERNAL_ID) : 0; /* joins kernels to operators */
        return true;
    case 'B':
    case 'E':
        plan->need = WHOLE;
        plan->action = INQ_SHAPE_DELIVER;
        return cat == INQ_CAT_OTHER;
    case 'M':
        plan->need = BIT(PH) | NUMBERS | BIT(NAME) | BIT(ARG_NAME);
        plan->action = INQ_SHAPE_DELIVER;
        return true;
    default:
        plan->need = BIT(PH) | NUMBERS;
        plan->action = INQ_SHAPE_DROP;
        return true;
    }
}
