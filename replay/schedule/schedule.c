/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule itself: storage, neighbors, text of actions, and the table of kinds. */
#include "schedule/schedule.h"

#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void inq_schedule_release(struct inq_schedule *schedule)
{
    for (int32_t r = 0; schedule->ranks != NULL && r < schedule->n_ranks; r++) {
        inq_mem_free(schedule->ranks[r].actions);
    }
    inq_mem_free(schedule->ranks);
    inq_mem_free(schedule->stage_rank);
    *schedule = (struct inq_schedule){0};
}

int inq_schedule_start(int32_t n_ranks, int32_t n_stages, int32_t n_microbatches,
                       struct inq_schedule *schedule, struct inq_err *err)
{
    *schedule = (struct inq_schedule){.n_pipelines = 1, .n_segments = 1};
    if (n_ranks < 1 || n_ranks > INQ_MAX_SCHEDULE_RANKS || n_stages < 1 ||
        n_stages > INQ_MAX_SCHEDULE_RANKS * 16 || n_microbatches < 0 ||
        n_microbatches > INQ_MAX_SCHEDULE_MICROBATCHES) {
        return inq_err_set(err, INQ_LIMIT,
                           "a schedule of %" PRId32 " ranks, %" PRId32 " stages and %" PRId32
                           " micro-batches is out of range",
                           n_ranks, n_stages, n_microbatches);
    }
    schedule->ranks = inq_mem_zalloc((size_t)n_ranks, sizeof *schedule->ranks);
    schedule->stage_rank = inq_mem_zalloc((size_t)n_stages, sizeof *schedule->stage_rank);
    if (schedule->ranks == NULL || schedule->stage_rank == NULL) {
        inq_schedule_release(schedule);
        return inq_err_set(err, INQ_NOMEM, "out of memory for a schedule");
    }
    schedule->n_ranks = n_ranks;
    schedule->n_stages = n_stages;
    schedule->n_microbatches = n_microbatches;
    return INQ_OK;
}

int inq_schedule_append(struct inq_schedule *schedule, int32_t rank, enum inq_action_kind kind,
                        int32_t stage, int32_t microbatch, struct inq_err *err)
{
    struct inq_rank_actions *list = &schedule->ranks[rank];
    int code = inq_mem_grow(&list->actions, &list->cap, list->n + 1, sizeof *list->actions,
                            INQ_MAX_SCHEDULE_ACTIONS, err);
    if (code == INQ_OK) {
        list->actions[list->n++] = (struct inq_action){
            .kind = (uint8_t)kind, .stage = stage, .microbatch = microbatch, .column = -1};
    }
    return code;
}

static int32_t stages_per_pipeline(const struct inq_schedule *schedule)
{
    return schedule->n_stages / schedule->n_pipelines;
}

int32_t inq_schedule_previous(const struct inq_schedule *schedule, int32_t stage)
{
    return stage % stages_per_pipeline(schedule) == 0 ? -1 : stage - 1;
}

int32_t inq_schedule_next(const struct inq_schedule *schedule, int32_t stage)
{
    return (stage + 1) % stages_per_pipeline(schedule) == 0 ? -1 : stage + 1;
}

const char *inq_action_text(enum inq_action_kind kind)
{
    static const char *const text[] = {
#define ACTION_TEXT(name, csv) csv,
        INQ_ACTIONS(ACTION_TEXT)
#undef ACTION_TEXT
    };
    return kind < INQ_ACTION_KIND_COUNT ? text[kind] : "?";
}

bool inq_action_computes(const struct inq_action *action)
{
    return action->kind >= INQ_ACTION_F && action->kind <= INQ_ACTION_B && action->microbatch >= 0;
}

char *inq_action_format(const struct inq_action *action, char *buf, size_t size)
{
    const char *kind = inq_action_text((enum inq_action_kind)action->kind);
    if (action->stage < 0) {
        (void)snprintf(buf, size, "%s", kind);
    } else if (action->microbatch < 0) {
        (void)snprintf(buf, size, "%" PRId32 "%s", action->stage, kind);
    } else {
        (void)snprintf(buf, size, "%" PRId32 "%s%" PRId32, action->stage, kind, action->microbatch);
    }
    return buf;
}

/* ---- costs ----------------------------------------------------------------------------------- */

const struct inq_stage_cost *inq_stage_cost_of(const struct inq_costs *costs, int32_t stage)
{
    return costs->per_stage != NULL ? &costs->per_stage[stage] : &costs->stage;
}

double inq_memory_change(const struct inq_costs *costs, uint8_t kind, int32_t stage)
{
    bool told = costs->memory_f != 0.0 || costs->memory_b != 0.0 || costs->memory_w != 0.0;
    struct inq_stage_memory m = {1.0, 0.0, -1.0};
    if (costs->memory_per_stage != NULL && stage >= 0) {
        m = costs->memory_per_stage[stage];
    } else if (told) {
        m = (struct inq_stage_memory){costs->memory_f, costs->memory_b, costs->memory_w};
    }
    const double by_kind[INQ_ACTION_KIND_COUNT] = {[INQ_ACTION_F] = m.f,
                                                   [INQ_ACTION_I] = m.b,
                                                   [INQ_ACTION_W] = m.w,
                                                   [INQ_ACTION_B] = m.b + m.w};
    return by_kind[kind];
}

int64_t inq_transfer_ns(const struct inq_costs *costs, int32_t from, int32_t to)
{
    return costs->p2p_per_stage != NULL ? costs->p2p_per_stage[from < to ? from : to]
                                        : costs->p2p_ns;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static const struct inq_schedule_kind kinds[] = {
    {"gpipe", "all forwards, then all backwards", 1, inq_make_closed_form},
    {"1f1b", "one forward, one backward in steady state", 1, inq_make_closed_form},
    {"interleaved", "1F1B over several model chunks a rank", 0, inq_make_closed_form},
    {"looped-bfs", "every micro-batch through one chunk, then the next: breadth first", 0,
     inq_make_closed_form},
    {"interleaved-zb", "interleaved 1F1B with the backward split: weight gradients fill in", 0,
     inq_make_closed_form},
    {"seq1f1b", "1F1B of segments of each micro-batch's sequences, --chunks of them", 1,
     inq_make_closed_form},
    {"zb-h1", "zero bubble, 1F1B's memory: weight gradients fill the cool-down", 1,
     inq_make_closed_form},
    {"zb-h2", "zero bubble, twice 1F1B's memory", 1, inq_make_closed_form},
    {"zb-1p", "zero bubble searched by the times given, 1F1B's memory", 1, inq_make_zb_greedy},
    {"zb-2p", "zero bubble searched by the times given, twice 1F1B's memory", 1,
     inq_make_zb_greedy},
    {"zb-v", "zero bubble, two chunks a rank in a V, 1F1B's memory", 2, inq_make_closed_form},
    {"v-half", "two chunks a rank in a V, half of 1F1B's memory", 2, inq_make_v},
    {"v-min", "two chunks a rank in a V, a third of 1F1B's memory", 2, inq_make_v},
    {"dualpipe", "from both ends at once, forward overlapped with backward, weights twice", 1,
     inq_make_dual},
    {"dualpipev", "DualPipe folded into a V: half the ranks, weights once a rank", 2,
     inq_make_dual},
    {"chimera", "from both ends at once, 1F1B in each direction, weights twice", 1, inq_make_dual},
    {"dp", "plain data parallelism: split, compute, bucketed all-reduce, update", 0, inq_make_dp},
};

int inq_schedule_generate(const struct inq_schedule_generator *generators, size_t n,
                          const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                          struct inq_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(generators[i].kind, spec->kind) == 0) {
            return generators[i].make(spec, schedule, err);
        }
    }
    return inq_err_set(err, INQ_USAGE, "no schedule is called '%s'", spec->kind);
}

const struct inq_schedule_kind *inq_schedule_kinds(size_t *n)
{
    *n = sizeof kinds / sizeof *kinds;
    return kinds;
}

int inq_schedule_make(const struct inq_schedule_spec *spec, struct inq_schedule *out,
                      struct inq_err *err)
{
    *out = (struct inq_schedule){0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(spec->kind, kinds[i].name) == 0) {
            int code = kinds[i].make(spec, out, err);
            if (code != INQ_OK) {
                inq_schedule_release(out);
                return code;
            }
            (void)snprintf(out->kind, sizeof out->kind, "%s", kinds[i].name);
            return INQ_OK;
        }
    }
    return inq_err_set(err, INQ_USAGE, "no schedule is called '%s'", spec->kind);
}

char *inq_memory_format(enum inq_memory_unit unit, double value, char *buf, size_t size)
{
    if (unit == INQ_MEMORY_BYTES) {
        return inq_size_format(value, INQ_SIZE_BINARY, buf, size);
    }
    /* whole numbers as they are, chunks of a rank's stages to six digits */
    (void)snprintf(buf, size, "%.*g %s%s", value == floor(value) ? 15 : 6, value,
                   unit == INQ_MEMORY_ACTIVATIONS ? "activation" : "unit", value == 1.0 ? "" : "s");
    return buf;
}
