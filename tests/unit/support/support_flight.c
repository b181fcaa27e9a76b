/* SPDX-License-Identifier: Apache-2.0 */
#include "support_flight.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add_op(struct test_dumps *made, const struct test_flight_op *op, int record, bool first)
{
    bool p2p = strstr(op->name, "->") != NULL || strstr(op->name, "<-") != NULL ||
               strcmp(op->name, "coalesced") == 0;
    bool completed = strcmp(op->state, "completed") == 0;
    bool started = strcmp(op->state, "started") == 0 || (made->timed && completed);
    inq_out_printf(&made->out[made->n],
                   "%s{\"collective_seq_id\": %d, \"p2p_seq_id\": %d, \"process_group\": [\"%s\", "
                   "\"g%s\"], \"profiling_name\": \"%s%s\", \"input_sizes\": [[%s]], "
                   "\"output_sizes\": [[%s]], \"input_dtypes\": [\"%s\"], \"state\": \"%s\", "
                   "\"record_id\": %d, \"pg_id\": %s, \"is_p2p\": %s, \"time_created_ns\": %" PRId64
                   ", \"time_discovered_started_ns\": %d}",
                   first ? "" : ", ", p2p ? 0 : op->seq, p2p ? op->seq : 0, op->group, op->group,
                   strchr(op->name, ':') != NULL ? "" : "nccl:",
                   op->name[0] == '(' ? "coalesced" : op->name, op->in, op->out, op->dtype,
                   op->state, record, op->group, p2p ? "true" : "false", made->created_ns, started);
}

void test_add_dump(struct test_dumps *made, int rank, const struct test_flight_op *ops, size_t n)
{
    struct inq_out *out = &made->out[made->n];
    inq_out_text(out, "{\"version\": \"2.10\", \"pg_config\": {\"0\": {\"name\": \"0\", \"desc\": "
                      "\"all\", \"ranks\": \"[0, 1, 2, 3");
    for (int r = 4; r < made->world; r++) {
        inq_out_printf(out, ", %d", r);
    }
    inq_out_text(out, "]\"}, \"1\": {\"name\": \"1\", \"desc\": \"pair\", \"ranks\": \"[0, 1]\"}");
    inq_out_text(out, made->no_other ? "}"
                                     : ", \"2\": {\"name\": \"2\", \"desc\": \"other\", "
                                       "\"ranks\": \"[0, 1, 2, 3]\"}}");
    if (made->status != NULL) {
        inq_out_printf(out, ", \"pg_status\": {%s}", made->status);
    }
    inq_out_text(out, ", \"entries\": [");
    for (size_t i = 0; i < n; i++) {
        add_op(made, &ops[i], made->first_record + (int)i, i == 0);
    }
    inq_out_text(out, "]}");
    (void)snprintf(made->names[made->n], sizeof made->names[0], "run/trace_rank_%d.json", rank);
    made->blobs[made->n] = (struct inq_ingest_blob){made->names[made->n], out->buf, out->len};
    made->n++;
}

void test_add_four(struct test_dumps *made, int odd, const struct test_flight_op *its, size_t n_its,
                   const struct test_flight_op *theirs, size_t n_theirs)
{
    for (int rank = 0; rank < 4; rank++) {
        test_add_dump(made, rank, rank == odd ? its : theirs, rank == odd ? n_its : n_theirs);
    }
}

void test_dumps_release(struct test_dumps *made)
{
    for (size_t i = 0; i < made->n; i++) {
        inq_out_release(&made->out[i]);
    }
}

struct test_judged test_analyze_dumps(const struct inq_ingest_blob *blobs, size_t n)
{
    struct test_judged j = {0};
    struct inq_err err = {0};
    assert_int_equal(inq_ingest_memory(blobs, n, NULL, &j.run, &err), INQ_OK);
    assert_int_equal(j.run->n_traces, 1);
    assert_int_equal(inq_analyze(j.run->traces[0], NULL, &j.report, &err), INQ_OK);
    j.failure = j.report->failure;
    assert_non_null(j.failure);
    return j;
}

void test_judged_release(struct test_judged *j)
{
    inq_report_free(j->report);
    inq_run_free(j->run);
}

struct test_judged test_find(struct test_dumps *made, enum inq_failure_class cls, const char *roots)
{
    struct test_judged j = test_analyze_dumps(made->blobs, made->n);
    char found[128] = "";
    size_t len = 0;
    for (size_t i = 0; i < j.failure->n_roots && len + 16 < sizeof found; i++) {
        len += (size_t)snprintf(found + len, sizeof found - len, "%s%" PRId32, i > 0 ? ", " : "",
                                j.failure->root_ranks[i]);
    }
    assert_string_equal(found, roots);
    assert_int_equal(j.failure->cls, cls);
    test_dumps_release(made);
    return j;
}

void test_expect(struct test_dumps *made, enum inq_failure_class cls, const char *roots)
{
    struct test_judged j = test_find(made, cls, roots);
    test_judged_release(&j);
}

bool test_has_rank(const int32_t *ranks, size_t n, int32_t rank)
{
    for (size_t i = 0; i < n; i++) {
        if (ranks[i] == rank) {
            return true;
        }
    }
    return false;
}
