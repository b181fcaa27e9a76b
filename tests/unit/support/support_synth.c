/* SPDX-License-Identifier: Apache-2.0 */
#include "support_synth.h"

#include "inquest/account.h"

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

int64_t test_synth_cost(const struct test_synth *made)
{
    const struct inq_synth_truth *truth = inq_synth_truth(made->synth);
    const struct inq_account *account = made->report->account;
    double all = 0.0;
    double judged = 0.0;

    assert_int_equal(account->n_steps, truth->n_steps);
    for (size_t s = 0; s < truth->n_steps; s++) {
        double lost = (double)(truth->step_ns[s] - truth->step_ns_healthy[s]);
        all += lost / (double)truth->n_steps;
        judged += account->steps[s].judged ? lost / (double)account->steps_judged : 0.0;
    }
    return (int64_t)((double)truth->faults[0].cost_ns_per_step * judged / all);
}
