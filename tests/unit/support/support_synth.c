/* SPDX-License-Identifier: Apache-2.0 */
#include "support_synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct test_synth test_synth_open(const char *spec, const struct inq_analysis_options *options)
{
    struct inq_synth_spec *parsed = malloc(sizeof(*parsed));
    struct inq_err err = {0};
    struct test_synth made = {0};

    assert_non_null(parsed);
    assert_int_equal(inq_synth_spec_parse(spec, parsed, &err), INQ_OK);
    assert_int_equal(inq_synth_new(parsed, &made.synth, &err), INQ_OK);
    free(parsed);
    assert_int_equal(inq_synth_ingest(made.synth, true, 0, &made.run, &err), INQ_OK);
    assert_int_equal(made.run->n_traces, 1);
    assert_int_equal(inq_analyze(made.run->traces[0], options, &made.report, &err), INQ_OK);
    return made;
}

void test_synth_close(struct test_synth *made)
{
    inq_report_free(made->report);
    inq_run_free(made->run);
    inq_synth_free(made->synth);
}
