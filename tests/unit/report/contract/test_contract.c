/* SPDX-License-Identifier: Apache-2.0 */
/* The contracts: found by name, whole as tables, and as JSON Schema. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/json.h"
#include "inquest/contract.h"

#include <string.h>

static void contract__found_by_name(void **state)
{
    (void)state;
    const struct inq_contract *report = inq_contract_find("report");
    assert_non_null(report);
    assert_string_equal(report->schema, "inquest-report/1");
    assert_ptr_equal(inq_contract_find("inquest-report"), report);
    assert_ptr_equal(inq_contract_find("inquest-report/1"), report);
    assert_ptr_equal(inq_contract_find("report/1"), report);
    assert_string_equal(inq_contract_find("report-set")->schema, "inquest-report-set/1");
    assert_null(inq_contract_find("report/2"));
    assert_null(inq_contract_find("repor"));
    assert_null(inq_contract_find(""));
}

/* Keys of one object differ, each has a text, and what is no object holds none. */
static void look_at(const struct inq_key *keys)
{
    for (const struct inq_key *key = keys; key->name != NULL; key++) {
        assert_non_null(key->text);
        assert_true(key->text[0] != '\0');
        assert_non_null(key->unit);
        assert_true(key->type < INQ_KEY_TYPE_COUNT);
        assert_true(inq_key_type_text(key->type)[0] != '\0');
        for (const struct inq_key *other = keys; other != key; other++) {
            assert_string_not_equal(other->name, key->name);
        }
        if (key->keys != NULL) {
            assert_true(key->type == INQ_KEY_OBJECT || key->type == INQ_KEY_OBJECTS ||
                        key->type == INQ_KEY_MAP_OF_OBJECTS);
            look_at(key->keys);
        }
    }
}

static void contract__tables_are_whole(void **state)
{
    (void)state;
    const struct inq_contract *contract;
    size_t n = 0;
    for (; (contract = inq_contract(n)) != NULL; n++) {
        assert_ptr_equal(inq_contract_find(contract->schema), contract);
        look_at(contract->keys);
    }
    assert_true(n >= 15);
    look_at(inq_contract_unavailable());
}

/* A section may be {unavailable}; a null is a type; a word is one of a few. */
static void contract__as_json_schema(void **state)
{
    struct inq_out out = {0};
    struct inq_err err = {0};
    struct cJSON *root = NULL;
    (void)state;
    assert_int_equal(inq_contract_schema(inq_contract_find("report"), inq_out_sink(&out), &err),
                     INQ_OK);
    assert_int_equal(inq_json_parse(out.buf, out.len, &root, &err), INQ_OK);
    const struct cJSON *keys = inq_json_get(root, "properties");
    const struct cJSON *account = inq_json_get(inq_json_get(keys, "account"), "anyOf");
    assert_int_equal(inq_json_count(account), 2);
    const struct cJSON *verdict = inq_json_get(inq_json_get(keys, "verdict"), "properties");
    const struct cJSON *why = inq_json_get(verdict, "why");
    assert_int_equal(inq_json_count(inq_json_get(why, "type")), 2);
    assert_string_equal(inq_json_text(inq_json_get(why, "x-null"), ""), "none");
    const struct cJSON *lost = inq_json_get(verdict, "lost_ns_per_step");
    assert_string_equal(inq_json_text(inq_json_get(lost, "x-unit"), ""), "ns");
    assert_int_equal(inq_json_count(inq_json_get(inq_json_get(verdict, "confidence"), "enum")), 3);
    const struct cJSON *required = inq_json_get(root, "required");
    assert_string_equal(inq_json_text(inq_json_first(required), ""), "schema");
    inq_json_free(root);
    inq_out_release(&out);
}

static int refuse(void *ctx, const char *bytes, size_t n)
{
    (void)ctx;
    (void)bytes;
    (void)n;
    return INQ_IO;
}

static void contract__says_when_it_cannot_be_written(void **state)
{
    struct inq_err err = {0};
    (void)state;
    assert_int_equal(
        inq_contract_schema(inq_contract_find("error"), (struct inq_sink){.write = refuse}, &err),
        INQ_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contract__found_by_name),
        cmocka_unit_test(contract__tables_are_whole),
        cmocka_unit_test(contract__as_json_schema),
        cmocka_unit_test(contract__says_when_it_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
