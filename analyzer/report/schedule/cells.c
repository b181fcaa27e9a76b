/* SPDX-License-Identifier: Apache-2.0 */
/* What a schedule's formats share: the cells that are drawn, their names, and who does what when.
 */
#include "report/schedule/schedule.h"
#include "report/contract/contract.h"

#include "base/sort.h"
#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

char *inq_schedule_cell_text(const struct inq_schedule_view *view,
                             const struct inq_schedule_cell *cell, char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < cell->n && used + 1 < size; i++) {
        char one[48];
        const struct inq_action *a = &view->schedule->ranks[cell->rank].actions[cell->first + i];
        int n = snprintf(buf + used, size - used, "%s%s", i > 0 ? " " : "",
                         inq_action_format(a, one, sizeof one));
        used += n > 0 ? (size_t)n : 0;
    }
    return buf;
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

/* ---- who does what at a moment --------------------------------------------------------------- */

/* The n-th cell that rank does then (compute and an all-reduce can be at once); an op owns its
 * start: at the end of one the next is what is done. */
static bool cell_at(const struct inq_schedule_view *view, int32_t rank, int64_t at_ns, size_t *at,
                    struct inq_schedule_cell *cell)
{
    while (inq_schedule_next_cell(view, rank, at, cell)) {
        if (cell->start_ns <= at_ns && at_ns < cell->end_ns) {
            return true;
        }
    }
    return false;
}

void inq_schedule_text_at(const struct inq_schedule_view *view, int64_t at_ns, struct inq_out *out)
{
    char text[128];
    inq_out_printf(out, "at %s\n", inq_time_format(at_ns, text, sizeof text));
    for (int32_t r = 0; r < view->schedule->n_ranks; r++) {
        struct inq_schedule_cell cell;
        size_t at = 0;
        bool any = false;
        inq_out_printf(out, "rank %3" PRId32 " ", r);
        while (cell_at(view, r, at_ns, &at, &cell)) {
            inq_out_printf(out, "%s %s", any ? "," : "",
                           inq_schedule_cell_text(view, &cell, text, sizeof text));
            any = true;
        }
        inq_out_text(out, any ? "\n" : " idle\n");
    }
}

static void json_doing(const struct inq_schedule_view *view, int32_t rank,
                       const struct inq_schedule_cell *cell, struct inq_json *json)
{
    char text[128];
    inq_json_object(json, NULL);
    inq_json_int(json, "rank", rank);
    if (cell == NULL) {
        inq_json_null(json, "action");
    } else {
        inq_json_string(json, "action", inq_schedule_cell_text(view, cell, text, sizeof text));
        inq_json_int(json, "start_ns", cell->start_ns);
        inq_json_int(json, "end_ns", cell->end_ns);
    }
    inq_json_end_object(json);
}

void inq_schedule_json_at(const struct inq_schedule_view *view, int64_t at_ns, struct inq_out *out)
{
    struct inq_json json;
    inq_json_init(&json, out, false);
    inq_json_document(&json, &inq_contract_schedule);
    inq_json_string(&json, "kind", view->schedule->kind);
    inq_json_int(&json, "at_ns", at_ns);
    inq_json_array(&json, "doing");
    for (int32_t r = 0; r < view->schedule->n_ranks; r++) {
        struct inq_schedule_cell cell;
        size_t at = 0;
        bool any = false;
        while (cell_at(view, r, at_ns, &at, &cell)) {
            json_doing(view, r, &cell, &json);
            any = true;
        }
        if (!any) {
            json_doing(view, r, NULL, &json);
        }
    }
    inq_json_end_array(&json);
    inq_json_end_object(&json);
}

/* ---- the order of events --------------------------------------------------------------------- */

static int compare_cells(const void *a, const void *b, void *ctx)
{
    const struct inq_schedule_cell *x = a;
    const struct inq_schedule_cell *y = b;
    (void)ctx;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x->rank == y->rank ? 0 : x->rank < y->rank ? -1 : 1;
}

static void write_event(const struct inq_schedule_view *view, const struct inq_pen *pen,
                        const struct inq_schedule_cell *cell, bool first)
{
    char text[192] = "";
    size_t used = 0;
    for (size_t i = 0; i < cell->n && used + 1 < sizeof text; i++) {
        char words[96];
        const struct inq_action *a = &view->schedule->ranks[cell->rank].actions[cell->first + i];
        int n = snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " overlapped with " : "",
                         inq_action_words(a, words, sizeof words));
        used += n > 0 ? (size_t)n : 0;
    }
    char start[32];
    inq_out_printf(pen->out, "  %10s  rank %" PRId32 "  %s\n",
                   first ? inq_time_format(cell->start_ns, start, sizeof start) : "", cell->rank,
                   text);
}

int inq_schedule_events(const struct inq_schedule_view *view, const struct inq_pen *pen,
                        struct inq_err *err)
{
    enum { MOST_EVENTS = 32 };
    struct inq_schedule_cell cells[MOST_EVENTS];
    size_t n = 0;
    for (int32_t r = 0; r < view->schedule->n_ranks; r++) {
        struct inq_schedule_cell cell;
        for (size_t at = 0; inq_schedule_next_cell(view, r, &at, &cell);) {
            if (n == MOST_EVENTS) {
                return INQ_OK;
            }
            cells[n++] = cell;
        }
    }
    int code = inq_sort(cells, n, sizeof *cells, compare_cells, NULL, err);
    inq_out_text(pen->out, "\nOrder of events\n");
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        bool first = i == 0 || cells[i].start_ns != cells[i - 1].start_ns;
        write_event(view, pen, &cells[i], first);
    }
    return code;
}
