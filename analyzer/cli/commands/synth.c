/* SPDX-License-Identifier: Apache-2.0 */
/* inquest synth SPEC -o DIR: a run with planted faults, and the truth about it. */
#include "cli/cli.h"

#include "base/time.h"
#include "inquest/synth.h"

#include <string.h>

static int print(const struct inq_cli *cli, struct inq_out *out)
{
    struct inq_err err = {0};
    int code = out->code != INQ_OK ? inq_err_set(&err, INQ_NOMEM, "no memory for the text")
                                   : inq_cli_stdout(cli, out->buf, out->len, false, &err);
    inq_out_release(out);
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

static int print_keys(const struct inq_cli *cli)
{
    struct inq_out out = {0};
    struct inq_sink sink = inq_out_sink(&out);
    (void)inq_synth_help(sink, NULL);
    return print(cli, &out);
}

/* "rank 5", "ranks 0, 1 and 6 more". */
static void print_ranks(const struct inq_synth_truth_fault *fault, struct inq_out *out)
{
    enum { SHOWN = 4 };
    inq_out_text(out, fault->n_ranks == 0 ? "" : fault->n_ranks == 1 ? " rank" : " ranks");
    for (size_t i = 0; i < fault->n_ranks && i < SHOWN; i++) {
        inq_out_printf(out, "%s %d", i > 0 ? "," : "", (int)fault->ranks[i]);
    }
    if (fault->n_ranks > SHOWN) {
        inq_out_printf(out, " and %zu more", fault->n_ranks - SHOWN);
    }
}

static int print_truth(const struct inq_cli *cli, const struct inq_synth *synth, const char *dir)
{
    const struct inq_synth_truth *truth = inq_synth_truth(synth);
    struct inq_out out = {0};
    char step[32];
    char healthy[32];
    inq_out_printf(&out, "%zu trace files and truth.json in %s\n", inq_synth_files(synth), dir);
    inq_out_printf(&out, "%zu steps of %s on average, %s without faults\n", truth->n_steps,
                   inq_time_format(truth->mean_step_ns, step, sizeof step),
                   inq_time_format(truth->mean_step_ns_healthy, healthy, sizeof healthy));
    for (size_t i = 0; i < truth->n_faults; i++) {
        const struct inq_synth_truth_fault *fault = &truth->faults[i];
        char cost[32];
        inq_out_printf(&out, "  %s", fault->kind);
        print_ranks(fault, &out);
        inq_out_printf(&out, ": %s per step (%.1f %%)\n",
                       inq_time_format(fault->cost_ns_per_step, cost, sizeof cost),
                       fault->share * 100.0);
    }
    return print(cli, &out);
}

int inq_cmd_synth(struct inq_cli *cli)
{
    const char *dir = cli->value[INQ_OPT_FOLDER];
    struct inq_synth_spec spec;
    struct inq_synth *synth = NULL;
    struct inq_err err = {0};
    if (cli->n_words == 1 && strcmp(cli->words[0], "help") == 0) {
        return print_keys(cli);
    }
    if (cli->n_words != 1 || dir == NULL) {
        return inq_cli_usage(cli, NULL, "'inquest synth' takes one SPEC and -o DIR");
    }
    int code = inq_synth_spec_parse(cli->words[0], &spec, &err);
    if (code != INQ_OK) {
        return inq_cli_fail(cli, &err, "'inquest synth help' lists keys and faults");
    }
    code = inq_synth_new(&spec, &synth, &err);
    if (code == INQ_OK) {
        code = inq_synth_write_dir(synth, dir, cli->jobs, &err);
    }
    int status = code == INQ_OK ? print_truth(cli, synth, dir) : inq_cli_fail(cli, &err, NULL);
    inq_synth_free(synth);
    return status;
}
