/* SPDX-License-Identifier: Apache-2.0 */
/* A timed schedule as SVG: one row a rank, an op a box with its micro-batch, the chunks of a rank
 * (or the two directions) in different shades. Needs nothing but the file. */
#include "report/schedule/schedule.h"

#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>

enum { LEFT = 64, TOP = 64, ROW = 26, BOX = 20, CHART = 1100, RIGHT = 40, TICKS = 10 };

struct drawing {
    const struct inq_schedule_view *view;
    struct inq_out *out;
    double per_ns;
    bool reduces; /* a second row a rank */
};

static int row_height(const struct drawing *d)
{
    return d->reduces ? ROW + 12 : ROW;
}

/* Fill by kind; even chunks full, odd chunks lighter. */
static const char *fill_of(const struct inq_schedule_view *view, const struct inq_action *a)
{
    static const char *const fills[2][4] = {{"#4477aa", "#66aa55", "#ddaa33", "#338855"},
                                            {"#99bbdd", "#aad499", "#eed499", "#88c4a4"}};
    int shade = a->stage >= 0 && view->chunk[a->stage] % 2 != 0;
    switch ((enum inq_action_kind)a->kind) {
    case INQ_ACTION_F:
        return fills[shade][0];
    case INQ_ACTION_I:
        return fills[shade][1];
    case INQ_ACTION_W:
        return fills[shade][2];
    case INQ_ACTION_B:
        return fills[shade][3];
    case INQ_ACTION_REDUCE_GRAD:
        return "#aa4488";
    case INQ_ACTION_UNSHARD:
        return "#448888";
    case INQ_ACTION_IDLE:
    case INQ_ACTION_SEND_F:
    case INQ_ACTION_RECV_F:
    case INQ_ACTION_SEND_B:
    case INQ_ACTION_RECV_B:
    case INQ_ACTION_RESHARD:
    case INQ_ACTION_OVERLAP_F_B:
    case INQ_ACTION_SPLIT:
    case INQ_ACTION_UPDATE:
    case INQ_ACTION_KIND_COUNT:
    default:
        return "#cc4444";
    }
}

static void draw_box(const struct drawing *d, const struct inq_schedule_cell *cell,
                     const struct inq_action *a, double y, double height)
{
    char words[96];
    double x = LEFT + (double)cell->start_ns * d->per_ns;
    double width = (double)(cell->end_ns - cell->start_ns) * d->per_ns;
    int shade = a->stage >= 0 && d->view->chunk[a->stage] % 2 != 0;
    inq_out_printf(d->out,
                   "<g><title>rank %" PRId32 ": %s, %" PRId64 " to %" PRId64 " ns</title>"
                   "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\"/>",
                   cell->rank, inq_action_words(a, words, sizeof words), cell->start_ns,
                   cell->end_ns, x, y, width, height, fill_of(d->view, a));
    int digits = a->microbatch < 10 ? 1 : a->microbatch < 100 ? 2 : 5;
    if (a->microbatch >= 0 && width > 6.5 * digits + 2 && height > 8) {
        inq_out_printf(d->out,
                       "<text x=\"%.2f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"%s\">%" PRId32
                       "</text>",
                       x + width / 2, y + height / 2 + 3.5, shade ? "#111" : "#fff", a->microbatch);
    }
    inq_out_text(d->out, "</g>\n");
}

static void draw_rank(const struct drawing *d, int32_t r)
{
    int y = TOP + r * row_height(d);
    struct inq_schedule_cell cell;
    inq_out_printf(d->out, "<text x=\"4\" y=\"%d\">rank %" PRId32 "</text>\n", y + 14, r);
    inq_out_printf(d->out,
                   "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f2f2f2\"/>\n",
                   (int)LEFT, y, (int)CHART, (int)BOX);
    for (size_t at = 0; inq_schedule_next_cell(d->view, r, &at, &cell);) {
        double height = cell.beside ? 8 : (double)BOX / (double)cell.n;
        if (cell.end_ns <= cell.start_ns) {
            continue;
        }
        for (size_t i = 0; i < cell.n; i++) { /* parts of a composite share the time: stacked */
            const struct inq_action *a = &d->view->schedule->ranks[r].actions[cell.first + i];
            draw_box(d, &cell, a, cell.beside ? y + BOX + 2 : y + (double)i * height, height);
        }
    }
}

static void draw_axis(const struct drawing *d, int bottom)
{
    for (int i = 0; i <= TICKS; i++) {
        char text[32];
        int64_t at_ns = d->view->timing->makespan_ns * i / TICKS;
        int x = LEFT + CHART * i / TICKS;
        inq_out_printf(d->out,
                       "<path d=\"M%d %dV%d\" stroke=\"#bbb\" fill=\"none\"/>"
                       "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                       x, (int)TOP - 4, bottom, x, bottom + 14,
                       inq_time_format(at_ns, text, sizeof text));
    }
}

static void draw_head(const struct drawing *d)
{
    const struct inq_schedule *s = d->view->schedule;
    const struct inq_schedule_timing *t = d->view->timing;
    const struct inq_schedule_theory *theory = d->view->theory;
    char makespan[32];
    char peak[48];
    inq_out_printf(d->out,
                   "<text x=\"4\" y=\"16\" font-size=\"13\" font-weight=\"bold\">%s: %" PRId32
                   " rank%s, %" PRId32 " stage%s, %" PRId32 " micro-batch%s</text>\n",
                   s->kind, s->n_ranks, s->n_ranks == 1 ? "" : "s", s->n_stages,
                   s->n_stages == 1 ? "" : "s", s->n_microbatches,
                   s->n_microbatches == 1 ? "" : "es");
    inq_out_printf(d->out,
                   "<text x=\"4\" y=\"32\">makespan %s, bubble ratio %.4f, bubble_rate_zb %.4f, "
                   "peak %s",
                   inq_time_format(t->makespan_ns, makespan, sizeof makespan), t->bubble_ratio,
                   t->bubble_rate_zb,
                   inq_memory_format(t->memory_unit, t->peak_memory, peak, sizeof peak));
    if (theory != NULL && theory->has_bubble) {
        inq_out_printf(d->out, "; theory: rate %.4f", theory->bubble_rate);
    }
    inq_out_text(d->out, "</text>\n");
}

static void draw_legend(const struct drawing *d)
{
    static const struct {
        const char *fill, *light, *text;
        uint8_t kind;
    } rows[] = {{"#4477aa", "#99bbdd", "forward", INQ_ACTION_F},
                {"#338855", "#88c4a4", "full backward", INQ_ACTION_B},
                {"#66aa55", "#aad499", "input gradient", INQ_ACTION_I},
                {"#ddaa33", "#eed499", "weight gradient", INQ_ACTION_W}};
    int x = 4;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        inq_out_printf(d->out,
                       "<rect x=\"%d\" y=\"42\" width=\"10\" height=\"10\" fill=\"%s\"/>"
                       "<rect x=\"%d\" y=\"42\" width=\"10\" height=\"10\" fill=\"%s\"/>"
                       "<text x=\"%d\" y=\"51\">%s</text>\n",
                       x, rows[i].fill, x + 10, rows[i].light, x + 24, rows[i].text);
        x += 130;
    }
    inq_out_printf(d->out,
                   "<text x=\"%d\" y=\"51\">number: micro-batch; light: other stages of the "
                   "rank</text>\n",
                   x);
}

static bool any_reduces(const struct inq_schedule_view *view)
{
    struct inq_schedule_cell cell;
    for (int32_t r = 0; r < view->schedule->n_ranks; r++) {
        for (size_t at = 0; inq_schedule_next_cell(view, r, &at, &cell);) {
            if (cell.beside && cell.end_ns > cell.start_ns) {
                return true;
            }
        }
    }
    return false;
}

int inq_schedule_svg(const struct inq_schedule_view *view, const struct inq_report_options *options,
                     struct inq_out *out, struct inq_err *err)
{
    struct drawing d = {.view = view, .out = out, .reduces = any_reduces(view)};
    int64_t makespan_ns = view->timing->makespan_ns;
    int bottom = TOP + view->schedule->n_ranks * row_height(&d);
    d.per_ns = makespan_ns > 0 ? (double)CHART / (double)makespan_ns : 0.0;
    inq_out_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                   "height=\"%d\" font-family=\"sans-serif\" font-size=\"11\" role=\"img\">\n"
                   "<title>Pipeline schedule %s</title>\n"
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                   LEFT + CHART + RIGHT, bottom + 24, LEFT + CHART + RIGHT, bottom + 24,
                   view->schedule->kind);
    draw_head(&d);
    draw_legend(&d);
    draw_axis(&d, bottom);
    for (int32_t r = 0; r < view->schedule->n_ranks; r++) {
        draw_rank(&d, r);
    }
    inq_out_text(out, "</svg>\n");
    (void)options;
    (void)err;
    return INQ_OK;
}
