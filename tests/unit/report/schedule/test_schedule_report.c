/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of a timed schedule: SVG and traces are well formed and show every op of every kind. */
#include "base/json.h"
#include "base/out.h"
#include "inquest/report.h"
#include "inquest/schedule.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

struct made {
    struct inq_schedule schedule;
    struct inq_schedule_timing timing;
    struct inq_costs costs;
    size_t ops;
};

static struct made make_kind(const char *kind, int32_t p, int32_t m)
{
    struct inq_schedule_spec spec = {
        .kind = kind,
        .n_ranks = p,
        .n_microbatches = m,
        .costs = {.stage = {1000, 1000, 1000}, .p2p_ns = 10, .reduce_ns = 500, .update_ns = 100}};
    struct made made = {.costs = spec.costs};
    struct inq_err err = {0};
    assert_int_equal(inq_schedule_make(&spec, &made.schedule, &err), INQ_OK);
    assert_int_equal(inq_schedule_time(&made.schedule, &spec.costs, &made.timing, &err), INQ_OK);
    for (int32_t r = 0; r < p; r++) {
        for (size_t i = 0; i < made.schedule.ranks[r].n; i++) {
            const struct inq_action *a = &made.schedule.ranks[r].actions[i];
            made.ops += inq_action_computes(a) || a->kind == INQ_ACTION_UPDATE ||
                        a->kind == INQ_ACTION_REDUCE_GRAD;
        }
    }
    return made;
}

static void release(struct made *made)
{
    inq_schedule_timing_release(&made->timing, made->schedule.n_ranks);
    inq_schedule_release(&made->schedule);
}

static char *written(const struct made *made, enum inq_format format, struct inq_out *out)
{
    struct inq_report_options options = {.format = format};
    struct inq_schedule_theory theory = inq_schedule_theory_of(&made->schedule, &made->costs);
    struct inq_err err = {0};
    assert_int_equal(inq_schedule_report(&made->schedule, &made->timing, &theory, &options,
                                         inq_out_sink(out), &err),
                     INQ_OK);
    return out->buf;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) {
        n++;
    }
    return n;
}

static const struct {
    const char *kind;
    int32_t p, m;
} kinds[] = {{"1f1b", 4, 8},      {"zb-2p", 4, 8},     {"v-min", 4, 12},  {"interleaved", 4, 8},
             {"dualpipe", 4, 12}, {"dualpipev", 3, 8}, {"chimera", 4, 8}, {"dp", 3, 5}};

static void svg__has_a_box_for_every_op_and_closes_what_it_opens(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct made made = make_kind(kinds[i].kind, kinds[i].p, kinds[i].m);
        struct inq_out out = {0};
        const char *svg = written(&made, INQ_FORMAT_SVG, &out);
        assert_int_equal(count(svg, "<g>"), made.ops);
        assert_int_equal(count(svg, "<g>"), count(svg, "</g>"));
        assert_int_equal(count(svg, "<text"), count(svg, "</text>"));
        assert_int_equal(count(svg, "<title>"), count(svg, "</title>"));
        assert_int_equal(count(svg, "<rect") + count(svg, "<path"), count(svg, "/>"));
        assert_string_equal(svg + strlen(svg) - 7, "</svg>\n");
        inq_out_release(&out);
        release(&made);
    }
}

static void perfetto__every_op_once_and_every_arrow_has_both_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct made made = make_kind(kinds[i].kind, kinds[i].p, kinds[i].m);
        struct inq_out out = {0};
        struct inq_err err = {0};
        struct cJSON *root = NULL;
        (void)written(&made, INQ_FORMAT_PERFETTO, &out);
        assert_int_equal(inq_json_parse(out.buf, out.len, &root, &err), INQ_OK);
        size_t boxes = 0;
        int64_t arrows = 0;
        const struct cJSON *events = inq_json_get(root, "traceEvents");
        for (const struct cJSON *e = inq_json_first(events); e != NULL; e = inq_json_next(e)) {
            const char *phase = inq_json_text(inq_json_get(e, "ph"), "");
            boxes += phase[0] == 'X';
            int64_t id = inq_json_integer(inq_json_get(e, "id"), 0) + 1;
            arrows += phase[0] == 's' ? id : phase[0] == 'f' ? -id : 0;
        }
        size_t composites = 0;
        for (int32_t r = 0; r < made.schedule.n_ranks; r++) {
            for (size_t k = 0; k < made.schedule.ranks[r].n; k++) {
                composites += made.schedule.ranks[r].actions[k].kind == INQ_ACTION_OVERLAP_F_B;
            }
        }
        assert_int_equal(boxes, made.ops - composites); /* two parts are one box */
        assert_int_equal(arrows, 0);
        inq_json_free(root);
        inq_out_release(&out);
        release(&made);
    }
}

static void json__has_theory_beside_what_was_measured(void **state)
{
    (void)state;
    struct made made = make_kind("1f1b", 4, 8);
    struct inq_out out = {0};
    struct cJSON *root = NULL;
    (void)written(&made, INQ_FORMAT_JSON, &out);
    assert_int_equal(inq_json_parse(out.buf, out.len, &root, NULL), INQ_OK);
    const struct cJSON *theory = inq_json_get(root, "theory");
    assert_int_equal(inq_json_integer(inq_json_get(theory, "bubble_ns"), -1), 9000);
    assert_int_equal(inq_json_integer(inq_json_get(theory, "peak_activations"), -1), 4);
    assert_int_equal(inq_json_count(inq_json_get(root, "ops")), made.ops);
    inq_json_free(root);
    inq_out_release(&out);
    release(&made);
}

/* Two devices, two micro-batches: what happens when, in order. */
static void text__small_schedules_list_their_events_in_order(void **state)
{
    (void)state;
    struct made made = make_kind("1f1b", 2, 2);
    struct inq_out out = {0};
    const char *text = written(&made, INQ_FORMAT_TEXT, &out);
    static const char *const order[] = {"Order of events",
                                        "rank 0  forward of micro-batch 0",
                                        "rank 0  forward of micro-batch 1",
                                        "rank 1  forward of micro-batch 0",
                                        "rank 1  backward of micro-batch 0",
                                        "rank 1  forward of micro-batch 1",
                                        "rank 0  backward of micro-batch 0",
                                        "rank 1  backward of micro-batch 1",
                                        "rank 0  backward of micro-batch 1"};
    const char *at = text;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        at = strstr(at, order[i]);
        if (at == NULL) {
            fail_msg("no '%s' where it belongs in:\n%s", order[i], text);
        }
    }
    inq_out_release(&out);
    release(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(svg__has_a_box_for_every_op_and_closes_what_it_opens),
        cmocka_unit_test(perfetto__every_op_once_and_every_arrow_has_both_ends),
        cmocka_unit_test(json__has_theory_beside_what_was_measured),
        cmocka_unit_test(text__small_schedules_list_their_events_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
