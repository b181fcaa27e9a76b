/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and lists of ranks in words; how members compare. */
#include "analysis/failure/messages.h"

#include "base/arena_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *say_tensors(struct inq_failure_case *c, const struct inq_flight_tensors *tensors)
{
    char text[96] = "";
    size_t len = 0;
    if (tensors->elems < 0 || tensors->n == 0) {
        return "";
    }
    const struct inq_flight_shape *shape = &tensors->shapes[0];
    for (uint32_t d = 0; d < shape->n_dims && len + 24 < sizeof text; d++) {
        int used =
            snprintf(text + len, sizeof text - len, "%s%" PRId64, d > 0 ? "," : "", shape->dims[d]);
        len += used > 0 ? (size_t)used : 0;
    }
    const char *space = tensors->dtypes[0] != '\0' ? " " : "";
    if (tensors->n > 1) {
        return inq_arena_printf(c->arena, "[%s] and %u more%s%.60s", text, (unsigned)tensors->n - 1,
                                space, tensors->dtypes);
    }
    return inq_arena_printf(c->arena, "[%s]%s%.60s", text, space, tensors->dtypes);
}

const char *inq_failure_sizes(struct inq_failure_case *c, const struct inq_flight_entry *entry)
{
    const char *in = entry != NULL ? say_tensors(c, &entry->in) : "";
    const char *out = entry != NULL ? say_tensors(c, &entry->out) : "";
    bool both = in[0] != '\0' && out[0] != '\0';
    return both ? inq_arena_printf(c->arena, "%s -> %s", in, out) : in[0] != '\0' ? in : out;
}

static const char *say_unlike(struct inq_failure_case *c, const struct inq_state_verdict *v,
                              const char *usual, const char *other)
{
    const char *ranks = inq_arena_ranks(c->arena, v->odd, v->n_odd, true);
    if (v->usual == v->other) {
        return inq_arena_printf(c->arena, "%s: sizes do not fit together: %s", ranks, usual);
    }
    return inq_arena_printf(c->arena, "%s entered %s where %s entered %s", ranks, other,
                            v->tied ? "others" : "most", usual);
}

const char *inq_failure_describe_match(struct inq_failure_case *c, uint32_t team,
                                       const struct inq_state_verdict *verdict)
{
    const char *ranks = inq_arena_ranks(c->arena, verdict->odd, verdict->n_odd, true);
    const char *has = verdict->n_odd == 1 ? "has" : "have";
    (void)team;
    switch (verdict->state) {
    case INQ_MATCH_KIND:
    case INQ_MATCH_ORDER:
        return say_unlike(c, verdict, inq_state_op_text(&c->model, verdict->usual),
                          inq_state_op_text(&c->model, verdict->other));
    case INQ_MATCH_SIZE:
        return say_unlike(c, verdict, inq_failure_sizes(c, verdict->usual),
                          inq_failure_sizes(c, verdict->other));
    case INQ_MATCH_DTYPE:
        return say_unlike(c, verdict, verdict->usual->in.dtypes, verdict->other->in.dtypes);
    case INQ_MATCH_MISSING_MEMBER:
        return inq_arena_printf(c->arena, "%s %s not joined", ranks, has);
    case INQ_MATCH_STATE:
        return inq_arena_printf(c->arena, "%s %s not finished it, others have", ranks, has);
    case INQ_MATCH_UNDECIDED:
        return inq_arena_printf(c->arena, "no dump tells whether %c%s joined", 'r', ranks + 1);
    case INQ_MATCH_MATCHED:
    case INQ_MATCH_STATE_COUNT:
        break;
    }
    return "all members have joined, none has finished";
}

const struct inq_state_op *inq_failure_held(const struct inq_failure_case *c, uint32_t rank)
{
    const struct inq_state_node *node = &c->waits.nodes[rank];
    return node->op != INQ_NONE       ? &c->model.ranks[rank].pending[node->op]
           : node->waiter != INQ_NONE ? &c->model.ranks[node->waiter].pending[node->waiter_op]
                                      : NULL;
}

bool inq_failure_lone_came(const struct inq_failure_case *c)
{
    const struct inq_state_node *node = &c->waits.nodes[c->first];
    const struct inq_state_rank *rank = &c->model.ranks[c->first];
    const struct inq_state_op *waiter = &c->model.ranks[node->waiter].pending[node->waiter_op];
    for (size_t i = 0; i < rank->n_pending; i++) {
        const struct inq_state_op *op = &rank->pending[i];
        if (op->team == waiter->team && op->entry->is_p2p == waiter->entry->is_p2p &&
            (op->entry->is_p2p || op->entry->collective_seq == waiter->entry->collective_seq)) {
            return true;
        }
    }
    return false;
}
