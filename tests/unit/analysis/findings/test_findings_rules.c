/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes a finding, at the boundary of each rule: causes of the op model, hosts and bubbles
 * of a pipeline, damage of files. */
#include "analysis/findings/causes.h"
#include "analysis/findings/findings.h"
#include "inquest/account.h"
#include "inquest/fix.h"

#include "base/arena.h"
#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { STEP_NS = 1000000 };

/* A pipeline of two ranks whose second has a late host, by an op table that has one cause. */
struct judged {
    struct inq_arena arena;
    struct inq_file file;
    struct inq_rank ranks[2];
    struct inq_trace trace;
    struct inq_whatif_cause cause;
    struct inq_whatif whatif;
    struct inq_waterfall_part schedule;
    struct inq_pipeline pipeline;
    struct inq_report report;
    struct inq_findings findings;
};

static void begin(struct judged *j)
{
    *j = (struct judged){
        .ranks = {{.rank = 0}, {.rank = 1}},
        .trace = {.n_ranks = 2, .n_files = 1},
        .cause = {.kind = "worker", .what = "", .rank = -1, .stage = -1, .dp_rank = -1},
        .schedule = {.cause = "schedule"},
        .pipeline = {.schedule = "1f1b",
                     .stages = 4,
                     .microbatches = 4,
                     .total_ns_per_step = STEP_NS,
                     .n_waterfall = 1,
                     .n_steps = 10},
    };
    j->trace.ranks = j->ranks;
    j->trace.files = &j->file;
    j->whatif.causes = &j->cause;
    j->pipeline.waterfall = &j->schedule;
    j->report = (struct inq_report){.trace = &j->trace, .arena = &j->arena};
    j->findings = (struct inq_findings){.report = &j->report, .arena = &j->arena};
}

/* The one finding of a kind; NULL: none. */
static const struct inq_finding *find_all(struct judged *j, enum inq_finding_kind kind)
{
    const struct inq_finding *found = NULL;
    inq_findings_from_graph(&j->trace, &j->findings);
    assert_false(j->findings.no_memory);
    for (size_t i = 0; i < j->findings.n; i++) {
        if (j->findings.at[i].kind == kind) {
            assert_null(found);
            found = &j->findings.at[i];
        }
    }
    return found;
}

static void end(struct judged *j)
{
    inq_mem_free(j->findings.at);
    inq_arena_release(&j->arena);
}

/* ---- bubbles --------------------------------------------------------------------------------- */

static const struct inq_finding *bubbles(struct judged *j, double ratio, int32_t micro_batches,
                                         int64_t schedule_ns)
{
    begin(j);
    j->report.pipeline = &j->pipeline;
    j->pipeline.bubble_ratio = ratio;
    j->pipeline.microbatches = micro_batches;
    j->schedule.ns_per_step = schedule_ns;
    return find_all(j, INQ_FINDING_PIPELINE_BUBBLE);
}

static void findings__bubbles_inform_until_the_schedule_takes_as_much_as_the_work(void **state)
{
    (void)state;
    static const struct {
        double ratio;
        int32_t micro_batches;
        int64_t schedule_ns;
        bool found;
        enum inq_severity severity;
    } cases[] = {{0.049, 4, 0, false, INQ_SEVERITY_INFO},
                 {0.05, 4, 0, true, INQ_SEVERITY_INFO},
                 {0.4, 4, STEP_NS / 2 - 1, true, INQ_SEVERITY_INFO},
                 {0.4, 4, STEP_NS / 2, true, INQ_SEVERITY_LOW},
                 {0.4, 3, 0, true, INQ_SEVERITY_LOW}}; /* fewer than the stages */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct judged j;
        const struct inq_finding *finding =
            bubbles(&j, cases[i].ratio, cases[i].micro_batches, cases[i].schedule_ns);
        assert_true((finding != NULL) == cases[i].found);
        assert_true(!finding || finding->severity == cases[i].severity);
        end(&j);
    }
}

/* ---- causes of the op model ------------------------------------------------------------------ */

static void findings__a_cause_of_the_op_model_explains_a_quarter_of_a_loss(void **state)
{
    (void)state;
    static const struct {
        double slowdown, share;
        int64_t saved_ns;
        bool fits, found;
        enum inq_confidence confidence;
    } cases[] = {
        {1.03, 0.5, STEP_NS / 10, true, true, INQ_CONFIDENCE_ESTABLISHED},
        {1.03, 0.49, STEP_NS / 10, true, true, INQ_CONFIDENCE_SUPPORTED},
        {1.03, 0.25, STEP_NS / 10, true, true, INQ_CONFIDENCE_SUPPORTED},
        {1.03, 0.24, STEP_NS / 10, true, false, INQ_CONFIDENCE_SUPPORTED},
        {1.02, 0.5, STEP_NS / 10, true, false, INQ_CONFIDENCE_SUPPORTED},
        {1.03, 0.5, STEP_NS / 100, true, true, INQ_CONFIDENCE_ESTABLISHED},
        {1.03, 0.5, STEP_NS / 100 - 1, true, false, INQ_CONFIDENCE_SUPPORTED},
        {1.03, 0.5, STEP_NS / 10, false, false, INQ_CONFIDENCE_SUPPORTED},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct judged j;
        begin(&j);
        j.report.whatif = &j.whatif;
        j.whatif.t_ns = STEP_NS;
        j.whatif.slowdown = cases[i].slowdown;
        j.whatif.n_causes = 1;
        j.cause.rank = 1;
        j.cause.fits = cases[i].fits;
        j.cause.share = cases[i].share;
        j.cause.saved_ns = cases[i].saved_ns;
        const struct inq_finding *finding = find_all(&j, INQ_FINDING_SLOW_WORKER);
        assert_true((finding != NULL) == cases[i].found);
        assert_true(!finding || (finding->confidence == cases[i].confidence &&
                                 finding->n_ranks == 1 && finding->ranks[0] == 1));
        end(&j);
    }
}

/* A cause of a rank names the rank, one of a stage the stage with all its ranks. */
static void findings__a_cause_of_the_op_model_names_its_rank_or_its_stage(void **state)
{
    (void)state;
    static const struct {
        int32_t rank, stage;
        size_t n_ranks, n_stages;
    } cases[] = {{1, -1, 1, 0}, {1, 0, 1, 0}, {0, -1, 1, 0}, {-1, 0, 1, 1}, {-1, 7, 0, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct judged j;
        begin(&j);
        j.ranks[0].stage = 0;
        j.ranks[1].stage = 1;
        j.report.whatif = &j.whatif;
        j.whatif.t_ns = STEP_NS;
        j.whatif.slowdown = 1.2;
        j.whatif.n_causes = 1;
        j.cause.rank = cases[i].rank;
        j.cause.stage = cases[i].stage;
        j.cause.fits = true;
        j.cause.share = 0.5;
        j.cause.saved_ns = STEP_NS / 10;
        const struct inq_finding *finding = find_all(&j, INQ_FINDING_SLOW_WORKER);
        assert_true(finding != NULL && finding->n_ranks == cases[i].n_ranks &&
                    finding->n_stages == cases[i].n_stages);
        end(&j);
    }
}

/* A stage that is slow raises the mean that its ops are ideal at: without it a step may be shorter
 * than ideal, and a cause explains no more than all of a loss. */
static void findings__a_cause_of_the_op_model_explains_no_more_than_all(void **state)
{
    (void)state;
    static const struct {
        double share;
        const char *said;
    } cases[] = {{0.994, "explains 99 % of what"},
                 {0.995, "explains all of what"},
                 {1.22, "explains all of what"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct judged j;
        begin(&j);
        j.report.whatif = &j.whatif;
        j.whatif.t_ns = STEP_NS;
        j.whatif.slowdown = 1.2;
        j.whatif.n_causes = 1;
        j.cause.rank = 1;
        j.cause.fits = true;
        j.cause.share = cases[i].share;
        j.cause.saved_ns = STEP_NS / 10;
        const struct inq_finding *finding = find_all(&j, INQ_FINDING_SLOW_WORKER);
        assert_true(finding != NULL && strstr(finding->detail, cases[i].said) != NULL);
        end(&j);
    }
}

/* ---- damage, and accounts of nothing --------------------------------------------------------- */

/* What is only repaired, or says less of a thing that is there, has lost no work. */
static void findings__damage_that_loses_no_work_is_no_loss(void **state)
{
    (void)state;
    static const bool harmless[INQ_DAMAGE_KIND_COUNT] = {
        [INQ_DAMAGE_NO_LAUNCH] = true,       [INQ_DAMAGE_NEGATIVE_DURATION] = true,
        [INQ_DAMAGE_BAD_UTF8] = true,        [INQ_DAMAGE_LONG_STRING] = true,
        [INQ_DAMAGE_UNMATCHED_BEGIN] = true, [INQ_DAMAGE_UNMATCHED_END] = true,
        [INQ_DAMAGE_OUTLIER] = true,
    };
    for (int k = 0; k < INQ_DAMAGE_KIND_COUNT; k++) {
        struct inq_damage damage = {0};
        damage.count[k] = 3;
        assert_int_equal(inq_damage_losses(&damage), harmless[k] ? 0 : 3);
    }
}

static void findings__an_account_in_which_nothing_was_judged_has_no_causes(void **state)
{
    (void)state;
    struct judged j;
    struct inq_account account = {.t_ns = STEP_NS};
    begin(&j);
    j.report.account = &account;
    inq_findings_fill_causes(&j.findings);
    assert_false(j.findings.no_memory);
    assert_int_equal(account.n_causes, 0);
    end(&j);
}

/* A key is what scripts and baselines match, and an id begins with it. */
static void findings__a_kind_has_a_key_of_its_own_advice_and_a_fix_that_exists(void **state)
{
    (void)state;
    for (int k = 0; k < INQ_FINDING_KIND_COUNT; k++) {
        const struct inq_finding_kind_info *kind = inq_finding_kind_info((enum inq_finding_kind)k);
        assert_int_equal(strspn(kind->key, "abcdefghijklmnopqrstuvwxyz_"), strlen(kind->key));
        assert_string_equal(inq_finding_kind_text((enum inq_finding_kind)k), kind->key);
        for (int other = 0; other < k; other++) {
            assert_string_not_equal(inq_finding_kind_text((enum inq_finding_kind)other), kind->key);
        }
        assert_true(kind->about == INQ_ABOUT_END || kind->advice[0] != '\0');

        char spec[64];
        const char *ranks = strchr(kind->fix, ':');
        assert_true(ranks == NULL || strcmp(ranks, ":RANKS") == 0);
        (void)snprintf(spec, sizeof(spec), "%.*s%s", (int)strcspn(kind->fix, ":"), kind->fix,
                       ranks != NULL ? ":0" : "");
        assert_true(spec[0] == '\0' || inq_fix_check(spec, NULL) == INQ_OK);
    }
    assert_null(inq_finding_kind_info(INQ_FINDING_KIND_COUNT));
    assert_string_equal(inq_finding_kind_text(INQ_FINDING_KIND_COUNT), "unknown");
}

/* A rank whose file was recorded more than a minute after, or before, the others were is told; two
 * ranks, or two halves, have no others. */
static void findings__a_file_of_another_run_is_told(void **state)
{
    (void)state;
    static const int64_t S = 1000000000;
    static const struct {
        size_t n_ranks;
        int64_t begin_s[4]; /* each lasts 10 s */
        const char *title;  /* NULL: nothing is told */
    } rows[] = {
        {4, {0, 1, 10800, 2}, "Rank 2 was recorded 3.0 h after the others"},
        {4, {10800, 10801, 0, 10802}, "Rank 2 was recorded 3.0 h before the others"},
        {3, {0, 72, 0}, "Rank 1 was recorded 1 min after the others"},
        {3, {0, 70, 0}, NULL},
        {2, {0, 10800}, NULL},
        {4, {0, 0, 10800, 10800}, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct judged j;
        struct inq_rank ranks[4];
        begin(&j);
        for (size_t r = 0; r < rows[i].n_ranks; r++) {
            ranks[r] = (struct inq_rank){.rank = (int32_t)r,
                                         .first_ns = rows[i].begin_s[r] * S,
                                         .last_ns = (rows[i].begin_s[r] + 10) * S};
        }
        j.file.path = "rank2.json";
        j.trace.n_ranks = rows[i].n_ranks;
        j.trace.ranks = ranks;
        inq_findings_from_inputs(&j.trace, &j.findings);
        assert_false(j.findings.no_memory);
        assert_int_equal(j.findings.n, rows[i].title != NULL);
        if (rows[i].title != NULL) {
            assert_int_equal(j.findings.at[0].kind, INQ_FINDING_OTHER_RUN);
            assert_non_null(strstr(j.findings.at[0].title, rows[i].title));
        }
        end(&j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings__a_kind_has_a_key_of_its_own_advice_and_a_fix_that_exists),
        cmocka_unit_test(findings__bubbles_inform_until_the_schedule_takes_as_much_as_the_work),
        cmocka_unit_test(findings__a_cause_of_the_op_model_explains_a_quarter_of_a_loss),
        cmocka_unit_test(findings__a_cause_of_the_op_model_names_its_rank_or_its_stage),
        cmocka_unit_test(findings__a_cause_of_the_op_model_explains_no_more_than_all),
        cmocka_unit_test(findings__damage_that_loses_no_work_is_no_loss),
        cmocka_unit_test(findings__a_file_of_another_run_is_told),
        cmocka_unit_test(findings__an_account_in_which_nothing_was_judged_has_no_causes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
