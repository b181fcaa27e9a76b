/* SPDX-License-Identifier: Apache-2.0 */
/* Flight Recorder dumps made in memory, and what the analysis says of them. */
#ifndef INQ_TEST_SUPPORT_FLIGHT_H
#define INQ_TEST_SUPPORT_FLIGHT_H

#include "inquest/out.h"
#include "inquest/failure.h"
#include "inquest/ingest.h"

enum { TEST_MAX_DUMPS = 32 };

/* One op of a dump: sizes and dtype as in "4, 4" and "Float"; "send 0->2" is P2P, "coalesced" the
 * entry of a batch of such, "(coalesced)" that of a batch of collectives;
 * "xccl:broadcast" has another backend than NCCL. */
struct test_flight_op {
    const char *group, *name, *in, *out, *dtype, *state;
    int seq;
};

#define TEST_ALL_REDUCE(number, size)                                                              \
    {                                                                                              \
        "0", "all_reduce", size, size, "Float", "scheduled", number                                \
    }

/* Dumps as JSON; zero-initialize, release. What is set before a dump is added holds for it. */
struct test_dumps {
    int64_t created_ns; /* when all that it lists was enqueued; 0: not recorded */
    const char *status; /* its "pg_status"; NULL none. Groups have their names as numbers */
    int world;          /* ranks of group "0"; less than 4: 4 */
    int first_record;   /* its ring of entries begins here */
    bool no_other;      /* it does not list group "2" */
    bool timed;         /* it tells what had started; so does an op that is "started" */
    struct inq_out out[TEST_MAX_DUMPS];
    struct inq_ingest_blob blobs[TEST_MAX_DUMPS];
    char names[TEST_MAX_DUMPS][32];
    size_t n;
};

/* A dump of `rank` in groups "0" (all ranks), "2" (ranks 0-3) and "1" (ranks 0 and 1). */
void test_add_dump(struct test_dumps *made, int rank, const struct test_flight_op *ops, size_t n);
/* Dumps of ranks 0 to 3: `odd` (-1: nobody) has the first ops, all others the second. */
void test_add_four(struct test_dumps *made, int odd, const struct test_flight_op *its, size_t n_its,
                   const struct test_flight_op *theirs, size_t n_theirs);
void test_dumps_release(struct test_dumps *made);

/* The one run that the dumps are of, analyzed. */
struct test_judged {
    struct inq_run *run;
    struct inq_report *report;
    const struct inq_failure *failure;
};

struct test_judged test_analyze_dumps(const struct inq_ingest_blob *blobs, size_t n);
void test_judged_release(struct test_judged *j);
/* Judges the dumps, releases them, and compares class and roots (as in "0, 3"). */
struct test_judged test_find(struct test_dumps *made, enum inq_failure_class cls,
                             const char *roots);
/* The same, and nothing more is asked. */
void test_expect(struct test_dumps *made, enum inq_failure_class cls, const char *roots);

bool test_has_rank(const int32_t *ranks, size_t n, int32_t rank);

#endif
