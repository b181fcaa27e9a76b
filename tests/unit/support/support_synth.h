/* SPDX-License-Identifier: Apache-2.0 */
/* Generated runs through ingest and analysis. */
#ifndef INQ_TEST_SUPPORT_SYNTH_H
#define INQ_TEST_SUPPORT_SYNTH_H

#include "inquest/analysis.h"
#include "inquest/ingest.h"
#include "inquest/synth.h"

struct test_synth {
    struct inq_synth *synth;
    struct inq_run *run;
    struct inq_report *report;
};

/* Makes, reads and analyzes the run of a spec ("dp=4,steps=6"), which is one job; fails the test
 * when that cannot be. */
struct test_synth test_synth_open(const char *spec, const struct inq_analysis_options *options);
void test_synth_close(struct test_synth *made);

/* What the judged steps lose against the same run without its faults, as a share. */
double test_synth_lost_share(const struct test_synth *made);
/* The verdict is of this kind, and nothing else of weight was found. */
void test_synth_expect(const char *spec, const char *cls);
/* The verdict is of the first planted fault's kind, and the first finding costs what that fault
 * does, give or take `percent` of it. */
void test_synth_expect_cost(const char *spec, int64_t percent);
/* The only finding of weight is of this kind and costs what the judged steps lose, give or take one
 * point. */
void test_synth_expect_loss(const char *spec, const char *cls);

#endif
