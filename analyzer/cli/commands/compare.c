/* SPDX-License-Identifier: Apache-2.0 */
/* inquest compare BASE NEW: two runs of any size. */
#include "cli/cli.h"

#include "inquest/memory.h"
#include "inquest/compare.h"
#include "inquest/fix.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct side {
    struct inq_run *run;
    struct inq_report *report;
};

/* "BASE,NEW": two positive numbers. */
static int take_samples(const struct inq_cli *cli, double samples[2])
{
    const char *text = cli->value[INQ_OPT_SAMPLES];
    char *end = NULL;
    if (text == NULL) {
        return INQ_EXIT_OK;
    }
    samples[0] = strtod(text, &end);
    const char *second = *end == ',' ? end + 1 : "";
    samples[1] = strtod(second, &end);
    bool fine = second[0] != '\0' && *end == '\0' && isfinite(samples[0]) && samples[0] > 0.0 &&
                isfinite(samples[1]) && samples[1] > 0.0;
    return fine ? INQ_EXIT_OK
                : inq_cli_usage(cli, "for example --samples 2048,4096",
                                "--samples takes two positive numbers, not '%s'", text);
}

/* The job to take of one side: "N", of whichever holds several, or "BASE,NEW". */
struct job {
    char text[24];
};

static void choose_job(struct inq_cli *cli, size_t side, const struct inq_run *run, struct job *job)
{
    const char *text = cli->value[INQ_OPT_JOB];
    const char *comma = text != NULL ? strchr(text, ',') : NULL;
    if (comma != NULL) {
        const char *own = side == 0 ? text : comma + 1;
        int n = side == 0 ? (int)(comma - text) : (int)strlen(own);
        (void)snprintf(job->text, sizeof job->text, "%.*s", n < 20 ? n : 20, own);
        cli->value[INQ_OPT_JOB] = job->text;
    } else if (run->n_traces == 1) {
        cli->value[INQ_OPT_JOB] = NULL;
    }
}

static int load(struct inq_cli *cli, size_t word, struct side *side)
{
    struct inq_cli one = *cli;
    struct job job;
    struct inq_analysis_options options = {.jobs = cli->jobs, .predict = inq_fix_predict};
    struct inq_err err = {0};
    one.words = &cli->words[word];
    one.n_words = 1;
    int status = inq_cli_ingest(&one, &side->run);
    struct inq_trace *trace = NULL;
    if (status == INQ_EXIT_OK) {
        choose_job(&one, word, side->run, &job);
        status = inq_cli_one_job(&one, cli->words[word], side->run, &trace);
    }
    if (status != INQ_EXIT_OK) {
        return status;
    }
    int code = inq_cli_keep_steps(cli, trace, &err);
    if (code == INQ_OK) {
        code = inq_analyze(trace, &options, &side->report, &err);
    }
    return code == INQ_OK
               ? INQ_EXIT_OK
               : inq_cli_fail(cli, &err, "'inquest info' lists the steps that are there");
}

static int report(const struct inq_cli *cli, const struct inq_comparison *comparison)
{
    struct inq_report_options options = inq_cli_report_options(cli);
    struct inq_cli_output output;
    struct inq_err err = {0};
    int code = inq_cli_output_open(cli, &output, &err);
    if (code == INQ_OK) {
        code = inq_comparison_report(comparison, &options, inq_cli_output_sink(&output), &err);
        code = inq_cli_output_close(&output, code, &err);
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

static int compare(const struct inq_cli *cli, const struct side sides[2], const double samples[2])
{
    struct inq_compare_options options = {.samples = {samples[0], samples[1]}};
    struct inq_comparison *comparison = NULL;
    struct inq_err err = {0};
    int code = inq_compare_runs(sides[0].report, sides[1].report, &options, &comparison, &err);
    if (code != INQ_OK) {
        return inq_cli_fail(cli, &err, "'inquest info' lists the steps that are there");
    }
    int status = report(cli, comparison);
    inq_comparison_free(comparison);
    return status;
}

int inq_cmd_compare(struct inq_cli *cli)
{
    struct side sides[2] = {{0}, {0}};
    double samples[2] = {0.0, 0.0};
    if (cli->n_words != 2) {
        return inq_cli_usage(cli, "inquest compare monday/ tuesday/",
                             "'inquest compare' takes two runs, BASE and NEW");
    }
    int status = take_samples(cli, samples);
    for (size_t i = 0; i < 2 && status == INQ_EXIT_OK; i++) {
        status = load(cli, i, &sides[i]);
    }
    if (status == INQ_EXIT_OK) {
        status = compare(cli, sides, samples);
    }
    for (size_t i = 0; i < 2; i++) {
        inq_report_free(sides[i].report);
        inq_run_free(sides[i].run);
    }
    return status;
}
