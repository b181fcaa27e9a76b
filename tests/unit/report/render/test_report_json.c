/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON report: valid whatever the names, integers exact, null where nothing was measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/json.h"
#include "support_report.h"

#include <stdlib.h>
#include <string.h>

struct document {
    char *text;
    struct cJSON *root;
};

static struct document write_json(const struct inq_report_options *options, size_t n_reports)
{
    struct made_report made;
    struct document doc = {0};
    struct inq_err err = {0};
    made_report_fill(&made);
    doc.text = made_report_write(&made, options, n_reports);
    made_report_release(&made);
    assert_int_equal(inq_json_parse(doc.text, strlen(doc.text), &doc.root, &err), INQ_OK);
    return doc;
}

static void release(struct document *doc)
{
    inq_json_free(doc->root);
    free(doc->text);
}

static const struct inq_report_options JSON = {.format = INQ_FORMAT_JSON};

static void json__sections_in_the_order_of_the_contract(void **state)
{
    static const char *const order[] = {"schema",         "tool",     "name",  "options",
                                        "inputs",         "verdict",  "steps", "steps_inferred",
                                        "step_ns_median", "findings", "ranks", "collectives"};
    (void)state;
    struct document doc = write_json(&JSON, 1);
    const struct cJSON *node = inq_json_first(doc.root);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        assert_non_null(node);
        assert_string_equal(inq_json_key(node), order[i]);
        node = inq_json_next(node);
    }
    assert_null(node); /* sections that do not apply are absent */
    assert_string_equal(inq_json_text(inq_json_get(doc.root, "schema"), ""), "inquest-report/1");
    release(&doc);
}

static void json__names_survive_escaping(void **state)
{
    (void)state;
    struct document doc = write_json(&JSON, 1);
    const struct cJSON *files = inq_json_get(inq_json_get(doc.root, "inputs"), "files");
    const char *path = inq_json_text(inq_json_get(inq_json_first(files), "path"), "");
    /* what is no UTF-8 was replaced, all else is as it was */
    assert_string_equal(path, "run/evil\033[31m|`*_<img src=x onerror=alert(1)></script>\r\n@team "
                              "#12 \xef\xbf\xbd\xef\xbf\xbd\x01");
    for (const char *p = doc.text; *p != '\0'; p++) {
        assert_true((unsigned char)*p >= 0x20 || *p == '\n');
    }
    release(&doc);
}

static void json__times_are_exact_integers(void **state)
{
    (void)state;
    struct document doc = write_json(&JSON, 1);
    assert_non_null(strstr(doc.text, "\"start_ns\": 1700000000123456789,"));
    assert_non_null(strstr(doc.text, "\"lost_ns_per_step\": 1000000,"));
    release(&doc);
}

static void json__unmeasured_is_null(void **state)
{
    (void)state;
    struct document doc = write_json(&JSON, 1);
    const struct cJSON *coll = inq_json_get(doc.root, "collectives");
    const struct cJSON *op = inq_json_first(inq_json_get(coll, "by_op"));
    const struct cJSON *rank = inq_json_next(inq_json_first(inq_json_get(doc.root, "ranks")));
    const struct cJSON *finding = inq_json_next(inq_json_first(inq_json_get(doc.root, "findings")));
    const struct cJSON *nulls[] = {
        inq_json_get(coll, "ends_spread_ns_max"),
        inq_json_get(op, "bytes"),
        inq_json_get(op, "algbw_gbps"),
        inq_json_get(rank, "rank"),
        inq_json_get(rank, "overlap_pct"),
        inq_json_get(rank, "idle"),
        inq_json_get(rank, "stage"),
        inq_json_get(finding, "cost_ns_per_step"),
        inq_json_get(finding, "share"),
        inq_json_get(finding, "measured"),
    };
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++) {
        assert_non_null(nulls[i]);
        assert_string_equal(inq_json_text(nulls[i], "no text"), "no text");
        assert_int_equal(inq_json_integer(nulls[i], -77), -77);
    }
    release(&doc);
}

static void json__settings_are_recorded(void **state)
{
    const struct inq_report_setting settings[] = {{"align", "none"}, {"ranks", NULL}};
    struct inq_report_options options = JSON;
    (void)state;
    options.settings = settings;
    options.n_settings = 2;
    struct document doc = write_json(&options, 1);
    const struct cJSON *set = inq_json_get(doc.root, "options");
    assert_string_equal(inq_json_text(inq_json_get(set, "align"), ""), "none");
    assert_non_null(inq_json_get(set, "ranks"));
    assert_string_equal(inq_json_text(inq_json_get(set, "ranks"), "null"), "null");
    release(&doc);
}

static void json__several_jobs_are_a_set(void **state)
{
    (void)state;
    struct document doc = write_json(&JSON, 2);
    const struct cJSON *runs = inq_json_get(doc.root, "runs");
    assert_string_equal(inq_json_text(inq_json_get(doc.root, "schema"), ""),
                        "inquest-report-set/1");
    assert_int_equal(inq_json_count(runs), 2);
    assert_string_equal(inq_json_text(inq_json_get(inq_json_first(runs), "schema"), ""),
                        "inquest-report/1");
    assert_int_equal(inq_json_count(inq_json_get(doc.root, "skipped")), 1);
    release(&doc);
}

static void json__selected_ranks_only(void **state)
{
    const struct inq_range range = {0, 0};
    struct inq_report_options options = JSON;
    (void)state;
    options.ranks = &range;
    options.n_ranks = 1;
    struct document doc = write_json(&options, 1);
    const struct cJSON *ranks = inq_json_get(doc.root, "ranks");
    assert_int_equal(inq_json_count(ranks), 1);
    assert_int_equal(inq_json_integer(inq_json_get(inq_json_first(ranks), "rank"), -1), 0);
    assert_int_equal(inq_json_count(inq_json_get(doc.root, "findings")), 2);
    release(&doc);
}

static int fail_write(void *ctx, const char *bytes, size_t n)
{
    (void)ctx;
    (void)bytes;
    (void)n;
    return INQ_IO;
}

static void json__a_sink_that_fails_is_told(void **state)
{
    struct made_report made;
    struct inq_err err = {0};
    (void)state;
    made_report_fill(&made);
    struct inq_sink sink = {fail_write, NULL};
    assert_int_equal(inq_report_write(&made.run, made.reports, 1, &JSON, sink, &err), INQ_IO);
    assert_int_equal(err.code, INQ_IO);
    made_report_release(&made);
}

static void json__info_is_valid_too(void **state)
{
    struct made_report made;
    struct inq_err err = {0};
    struct inq_out out = {0};
    struct cJSON *root = NULL;
    (void)state;
    made_report_fill(&made);
    struct inq_sink sink = inq_out_sink(&out);
    assert_int_equal(inq_info_write(&made.run, &JSON, sink, &err), INQ_OK);
    assert_int_equal(inq_json_parse(out.buf, out.len, &root, &err), INQ_OK);
    assert_string_equal(inq_json_text(inq_json_get(root, "schema"), ""), "inquest-info/1");
    const struct cJSON *job = inq_json_first(inq_json_get(root, "jobs"));
    assert_int_equal(inq_json_count(inq_json_get(job, "ranks")), 2);
    assert_int_equal(inq_json_count(inq_json_get(job, "ranks_missing")), 1);
    inq_json_free(root);
    inq_out_release(&out);
    made_report_release(&made);
}

static void json__info_has_no_markdown(void **state)
{
    struct inq_report_options markdown = {.format = INQ_FORMAT_MARKDOWN};
    struct made_report made;
    struct inq_err err = {0};
    (void)state;
    made_report_fill(&made);
    struct inq_sink sink = {fail_write, NULL};
    assert_int_equal(inq_info_write(&made.run, &markdown, sink, &err), INQ_UNSUPPORTED);
    made_report_release(&made);
}

/* A verdict lists the sections that it had to do without, and no others. */
static void json__verdict_lists_what_it_lacks(void **state)
{
    (void)state;
    struct made_report made;
    struct document doc = {0};
    struct inq_err err = {0};
    made_report_fill(&made);
    made.report.verdict.without =
        INQ_SECTION_BIT(INQ_SECTION_COLLECTIVES) | INQ_SECTION_BIT(INQ_SECTION_WHATIF);
    doc.text = made_report_write(&made, &JSON, 1);
    made_report_release(&made);
    assert_int_equal(inq_json_parse(doc.text, strlen(doc.text), &doc.root, &err), INQ_OK);
    const struct cJSON *without = inq_json_get(inq_json_get(doc.root, "verdict"), "without");
    assert_int_equal(inq_json_count(without), 2);
    const struct cJSON *key = inq_json_first(without);
    assert_string_equal(inq_json_text(key, ""), "collectives");
    assert_string_equal(inq_json_text(inq_json_next(key), ""), "whatif");
    release(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json__sections_in_the_order_of_the_contract),
        cmocka_unit_test(json__names_survive_escaping),
        cmocka_unit_test(json__times_are_exact_integers),
        cmocka_unit_test(json__unmeasured_is_null),
        cmocka_unit_test(json__settings_are_recorded),
        cmocka_unit_test(json__several_jobs_are_a_set),
        cmocka_unit_test(json__selected_ranks_only),
        cmocka_unit_test(json__a_sink_that_fails_is_told),
        cmocka_unit_test(json__info_is_valid_too),
        cmocka_unit_test(json__info_has_no_markdown),
        cmocka_unit_test(json__verdict_lists_what_it_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
