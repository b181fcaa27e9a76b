/* SPDX-License-Identifier: Apache-2.0 */
/* Which fields of an event decide what becomes of it. */
#include "ingest/kineto.h"

#define BIT(field) (UINT64_C(1) << INQ_FIELD_##field)

/* What a kept event is made of. */
#define KIND  (BIT(PH) | BIT(CAT))
#define PLACE (BIT(NAME) | BIT(PID) | BIT(TID) | BIT(TS))
#define WHOLE (KIND | PLACE | BIT(DUR))
#define LABEL (BIT(STEP) | BIT(CHUNK) | BIT(MICRO_BATCH) | BIT(SEQ_ID))

static void plan_complete(const struct inq_kineto *k, enum inq_cat cat, struct inq_shape_plan *plan)
{
    plan->action = INQ_SHAPE_DELIVER;
    switch (cat) {
    case INQ_CAT_CPU_OP:
        plan->need = KIND | BIT(NAME);
        plan->action = INQ_SHAPE_DROP_OP;
        break;
    case INQ_CAT_PASSING:
        plan->need = KIND;
        plan->action = INQ_SHAPE_DROP;
        break;
    case INQ_CAT_OTHER:
        plan->need = k->kineto ? KIND : WHOLE;
        plan->action = k->kineto ? INQ_SHAPE_DROP : INQ_SHAPE_DELIVER;
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
    switch (event->ph) {
    case 'X':
        plan_complete(k, cat, plan);
        return true;
    case 'B':
    case 'E':
        plan->need = KIND | PLACE;
        plan->action = INQ_SHAPE_DELIVER;
        return cat == INQ_CAT_OTHER;
    case 'M':
        plan->need = BIT(PH) | BIT(NAME) | BIT(PID) | BIT(TID) | BIT(ARG_NAME);
        plan->action = INQ_SHAPE_DELIVER;
        return true;
    default:
        plan->need = BIT(PH);
        plan->action = INQ_SHAPE_DROP;
        return true;
    }
}
