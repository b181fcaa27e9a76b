/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/optable/optable.h"

#include "base/any_case.h"
#include "trace/trace.h"

#include <ctype.h>
#include <string.h>

static const char *const lane_names[INQ_ROLE_COUNT] = {
    "compute", "dp-comm", "forward-send", "forward-recv", "backward-send", "backward-recv",
};

/* Other names of op types: letters of schedules, words of frameworks. */
static const struct {
    const char *name;
    enum inq_op_type type;
} spellings[] = {
    {"f", INQ_OP_FORWARD},
    {"fwd", INQ_OP_FORWARD},
    {"forward", INQ_OP_FORWARD},
    {"b", INQ_OP_BACKWARD},
    {"bwd", INQ_OP_BACKWARD},
    {"backward", INQ_OP_BACKWARD},
    {"i", INQ_OP_BACKWARD_INPUT},
    {"dgrad", INQ_OP_BACKWARD_INPUT},
    {"backward-input", INQ_OP_BACKWARD_INPUT},
    {"w", INQ_OP_BACKWARD_WEIGHT},
    {"wgrad", INQ_OP_BACKWARD_WEIGHT},
    {"backward-weight", INQ_OP_BACKWARD_WEIGHT},
    {"send-forward", INQ_OP_FORWARD_SEND},
    {"recv-forward", INQ_OP_FORWARD_RECV},
    {"send-backward", INQ_OP_BACKWARD_SEND},
    {"recv-backward", INQ_OP_BACKWARD_RECV},
    {"optimizer-step", INQ_OP_OPTIMIZER},
};

enum { MAX_SPELLING = 16 }; /* "backward-weight" and its end */

enum inq_op_type inq_op_type_read(const char *name, size_t len)
{
    char plain[MAX_SPELLING];
    enum inq_op_type type = inq_op_type_from_name(name, len);
    if (type != INQ_OP_NONE || len >= sizeof plain) {
        return type;
    }
    for (size_t i = 0; i < len; i++) {
        char c = (char)tolower((unsigned char)name[i]);
        plain[i] = c == '_' || c == ' ' ? '-' : c;
    }
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        if (strlen(spellings[i].name) == len && memcmp(spellings[i].name, plain, len) == 0) {
            return spellings[i].type;
        }
    }
    return INQ_OP_NONE;
}

/* An op of no known type that moves data between ranks. */
static bool sounds_like_comm(const char *name)
{
    static const char *const words[] = {"send",    "recv",     "reduce",    "gather",
                                        "all-to-", "alltoall", "broadcast", "barrier"};
    return inq_any_case_has(words, sizeof words / sizeof words[0], name, strlen(name));
}

enum inq_op_class inq_op_class(enum inq_op_type type, const char *name)
{
    switch (type) {
    case INQ_OP_FORWARD:
    case INQ_OP_BACKWARD:
    case INQ_OP_BACKWARD_INPUT:
    case INQ_OP_BACKWARD_WEIGHT:
    case INQ_OP_OPTIMIZER:
        return INQ_CLASS_COMPUTE;
    case INQ_OP_FORWARD_SEND:
    case INQ_OP_FORWARD_RECV:
    case INQ_OP_BACKWARD_SEND:
    case INQ_OP_BACKWARD_RECV:
    case INQ_OP_PARAMS_ALL_GATHER:
    case INQ_OP_GRADS_REDUCE_SCATTER:
    case INQ_OP_SEPARATE_GRADS_ALL_REDUCE:
    case INQ_OP_LAYERNORM_GRADS_ALL_REDUCE:
    case INQ_OP_EMBEDDING_GRADS_ALL_REDUCE:
    case INQ_OP_OPTIMIZER_CLIP: /* a norm over all ranks: it waits for them */
        return INQ_CLASS_COMM;
    case INQ_OP_NONE:
        if (sounds_like_comm(name)) {
            return INQ_CLASS_COMM;
        }
        return strcasestr(name, "compute") != NULL ? INQ_CLASS_COMPUTE : INQ_CLASS_OTHER;
    case INQ_OP_GC: /* on the host */
    case INQ_OP_TYPE_COUNT:
        break;
    }
    return INQ_CLASS_OTHER;
}

enum inq_op_role inq_op_role(enum inq_op_type type, const char *name)
{
    switch (type) {
    case INQ_OP_FORWARD_SEND:
        return INQ_ROLE_FORWARD_SEND;
    case INQ_OP_FORWARD_RECV:
        return INQ_ROLE_FORWARD_RECV;
    case INQ_OP_BACKWARD_SEND:
        return INQ_ROLE_BACKWARD_SEND;
    case INQ_OP_BACKWARD_RECV:
        return INQ_ROLE_BACKWARD_RECV;
    case INQ_OP_NONE:
    case INQ_OP_FORWARD:
    case INQ_OP_BACKWARD:
    case INQ_OP_BACKWARD_INPUT:
    case INQ_OP_BACKWARD_WEIGHT:
    case INQ_OP_PARAMS_ALL_GATHER:
    case INQ_OP_GRADS_REDUCE_SCATTER:
    case INQ_OP_SEPARATE_GRADS_ALL_REDUCE:
    case INQ_OP_LAYERNORM_GRADS_ALL_REDUCE:
    case INQ_OP_EMBEDDING_GRADS_ALL_REDUCE:
    case INQ_OP_OPTIMIZER_CLIP:
    case INQ_OP_OPTIMIZER:
    case INQ_OP_GC:
    case INQ_OP_TYPE_COUNT:
        break;
    }
    return inq_op_class(type, name) == INQ_CLASS_COMM ? INQ_ROLE_DP_COMM : INQ_ROLE_COMPUTE;
}

int inq_ops_add_worker(struct inq_shard *shard, uint32_t *index, struct inq_err *err)
{
    int code = inq_shard_add_rank(shard, index, err);
    for (int64_t role = 0; role < INQ_ROLE_COUNT && code == INQ_OK; role++) {
        struct inq_rank *rank = &shard->ranks[*index];
        const char *name = lane_names[role];
        uint32_t lane;
        inq_str id;
        code = inq_rank_lane(rank, INQ_LANE_OPS, -1, role, &lane, err);
        if (code == INQ_OK) {
            code = inq_strtab_add(&shard->names, name, strlen(name), &id, err);
        }
        if (code == INQ_OK) {
            rank->lanes[lane].name = id;
        }
    }
    return code;
}

int inq_ops_add(struct inq_shard *shard, uint32_t index, const struct inq_ops_row *row,
                struct inq_err *err)
{
    struct inq_rank *rank = &shard->ranks[index];
    struct inq_event_row event = {
        .start_ns = row->start_ns,
        .dur_ns = row->dur_ns,
        .name = row->name,
        .lane = (uint32_t)row->role,
        .call = INQ_NONE,
        .comm = INQ_NONE,
        .kind = INQ_EVENT_OP,
        .cls = row->cls,
    };
    int code = inq_rank_add_label(rank, &row->label, &event.label, err);
    return code == INQ_OK ? inq_rank_add_event(rank, &event, err) : code;
}
