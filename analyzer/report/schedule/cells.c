/* SPDX-License-Identifier: Apache-2.0 */
/* What a schedule's formats share: the cells that are drawn, and their names. */
#include "report/schedule/schedule.h"

#include <inttypes.h>
#include <stdio.h>

/* Cells without a duration of their own (SEND, RECV, ...) are not. */
static bool is_shown(const struct inq_schedule_view *view, int32_t rank, size_t i)
{
    const struct inq_action *a = &view->schedule->ranks[rank].actions[i];
    bool gathers = a->kind == INQ_ACTION_UNSHARD &&
                   view->timing->end_ns[rank][i] > view->timing->start_ns[rank][i];
    return gathers || inq_action_computes(a) || a->kind == INQ_ACTION_REDUCE_GRAD ||
           a->kind == INQ_ACTION_UPDATE || a->kind == INQ_ACTION_SPLIT;
}

bool inq_schedule_next_cell(const struct inq_schedule_view *view, int32_t rank, size_t *at,
                            struct inq_schedule_cell *cell)
{
    const struct inq_rank_actions *list = &view->schedule->ranks[rank];
    while (*at < list->n) {
        bool composite = list->actions[*at].kind == INQ_ACTION_OVERLAP_F_B;
        size_t first = *at + (composite ? 1 : 0);
        size_t n = composite ? list->actions[*at].n_sub : 1;
        n = n < list->n - first ? n : list->n - first;
        *at = first + n;
        if (n > 0 && is_shown(view, rank, first)) {
            uint8_t kind = list->actions[first].kind;
            *cell = (struct inq_schedule_cell){.rank = rank,
                                               .first = first,
                                               .n = n,
                                               .head = &list->actions[first],
                                               .start_ns = view->timing->start_ns[rank][first],
                                               .end_ns = view->timing->end_ns[rank][first],
                                               .composite = composite,
                                               .beside = kind == INQ_ACTION_REDUCE_GRAD ||
                                                         kind == INQ_ACTION_UNSHARD};
            return true;
        }
    }
    return false;
}

char *inq_action_words(const struct inq_action *action, char *buf, size_t size)
{
    static const char *const words[INQ_ACTION_KIND_COUNT] = {
        [INQ_ACTION_F] = "forward",
        [INQ_ACTION_I] = "input gradient",
        [INQ_ACTION_W] = "weight gradient",
        [INQ_ACTION_B] = "backward",
        [INQ_ACTION_REDUCE_GRAD] = "all-reduce of the gradients",
        [INQ_ACTION_UNSHARD] = "all-gather of the parameters",
        [INQ_ACTION_SPLIT] = "split of the batch",
        [INQ_ACTION_UPDATE] = "update of the weights"};
    const char *word = words[action->kind] == NULL ? "?" : words[action->kind];
    if (action->stage < 0) {
        (void)snprintf(buf, size, "%s", word);
    } else if (action->microbatch < 0) {
        (void)snprintf(buf, size, "%s of stage %" PRId32, word, action->stage);
    } else {
        (void)snprintf(buf, size, "%s of micro-batch %" PRId32 " (stage %" PRId32 ")", word,
                       action->microbatch, action->stage);
    }
    return buf;
}
