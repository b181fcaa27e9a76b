/* SPDX-License-Identifier: Apache-2.0 */
#include "support_flight.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void add_op(struct inq_out *out, const struct test_flight_op *op, int record, bool first)
{
    bool p2p = strstr(op->name, "->") != NULL || strstr(op->name, "<-") != NULL ||
               strcmp(op->name, "coalesced") == 0;
    inq_out_printf(out,
                   "%s{\"collective_seq_id\": %d, \"p2p_seq_id\": %d, \"process_group\": [\"%s\", "
                   "\"g%s\"], \"profiling_name\": \"nccl:%s\", \"input_sizes\": [[%s]], "
                   "\"output_sizes\": [[%s]], \"input_dtypes\": [\"%s\"], \"state\": \"%s\", "
                   "\"record_id\": %d, \"is_p2p\": %s}",
                   first ? "" : ", ", p2p ? 0 : op->seq, p2p ? op->seq : 0, op->group, op->group,
                   op->name, op->in, op->out, op->dtype, op->state, record, p2p ? "true" : "false");
}

void test_add_dump(struct test_dumps *made, int rank, const struct test_flight_op *ops, size_t n)
{
    struct inq_out *out = &made->out[made->n];
    inq_out_text(out,
                 "{\"version\": \"2.10\", \"pg_config\": {\"0\": {\"name\": \"0\", \"desc\": "
                 "\"all\", \"ranks\": \"[0, 1, 2, 3]\"}, \"1\": {\"name\": \"1\", \"desc\": "
                 "\"pair\", \"ranks\": \"[0, 1]\"}, \"2\": {\"name\": \"2\", \"desc\": \"other\", "
                 "\"ranks\": \"[0, 1, 2, 3]\"}}, \"entries\": [");
    for (size_t i = 0; i < n; i++) {
        add_op(out, &ops[i], (int)i, i == 0);
    }
    inq_out_text(out, "]}");
    (void)snprintf(made->names[made->n], sizeof made->names[0], "run/trace_rank_%d.json", rank);
    made->blobs[made->n] = (struct inq_ingest_blob){made->names[made->n], out->buf, out->len};
    made->n++;
}

void test_dumps_release(struct test_dumps *made)
{
    for (size_t i = 0; i < made->n; i++) {
        inq_out_release(&made->out[i]);
    }
}

struct test_judged test_judge(const struct inq_ingest_blob *blobs, size_t n)
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

bool test_has_rank(const int32_t *ranks, size_t n, int32_t rank)
{
    for (size_t i = 0; i < n; i++) {
        if (ranks[i] == rank) {
            return true;
        }
    }
    return false;
}
