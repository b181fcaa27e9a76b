/* SPDX-License-Identifier: Apache-2.0 */
/* inquest list: what there is to choose from. */
#include "cli/cli.h"

#include "inquest/check.h"
#include "inquest/fix.h"
#include "inquest/lint.h"
#include "inquest/replay.h"

static void list_formats(struct inq_out *out)
{
    const char *name;
    const char *summary;
    inq_out_text(
        out,
        "Formats read (recognized by content, plain, compressed or in tar and zip archives):\n");
    for (size_t i = 0; inq_ingest_format(i, &name, &summary); i++) {
        inq_out_printf(out, "  %-18s%s\n", name, summary);
    }
}

static void list_written(struct inq_out *out)
{
    inq_out_text(out,
                 "Formats written (-f NAME, or the suffix of -o; .gz behind it compresses):\n");
    for (int i = 0; i < INQ_FORMAT_COUNT; i++) {
        const struct inq_cli_format *format = inq_cli_format((enum inq_format)i);
        inq_out_printf(out, "  %-18s%s%s", format->name, format->what,
                       format->suffix[0] != NULL ? ":" : "");
        for (size_t k = 0; k < 4 && format->suffix[k] != NULL; k++) {
            inq_out_printf(out, " %s", format->suffix[k]);
        }
        inq_out_text(out, "\n");
    }
}

static void list_analyses(struct inq_out *out)
{
    size_t n;
    const struct inq_analysis *analyses = inq_analyses(&n);
    inq_out_text(out, "Analyses (--only NAME,...):\n");
    for (size_t i = 0; i < n; i++) {
        inq_out_printf(out, "  %-18s%s\n", analyses[i].name, analyses[i].summary);
    }
}

static void list_fixes(struct inq_out *out)
{
    const struct inq_fix_kind *kind;
    inq_out_text(out, "Fixes (inquest fix --fix SPEC; several joined by '+'):\n");
    for (size_t i = 0; (kind = inq_fix_kind_at(i)) != NULL; i++) {
        inq_out_printf(out, "  %s\n                    %s\n", kind->grammar, kind->summary);
    }
}

static void list_checks(struct inq_out *out)
{
    inq_out_text(out, "Checks (inquest check --rule NAME=LIMIT):\n");
    for (int k = 0; k < INQ_MEASURE_COUNT; k++) {
        const struct inq_measure_info *info = inq_measure_info((enum inq_measure_kind)k);
        inq_out_printf(out, "  %-18s%s\n", info->name, info->what);
    }
}

static void list_lint_rules(struct inq_out *out)
{
    inq_out_text(out, "Rules of lint (inquest schedule lint):\n");
    for (int k = 0; k < INQ_LINT_RULE_COUNT; k++) {
        inq_out_printf(out, "  %-18s%s\n", inq_lint_rule_text((enum inq_lint_rule)k),
                       inq_lint_rule_what((enum inq_lint_rule)k));
    }
}

static void list_engines(struct inq_out *out)
{
    size_t n;
    const struct inq_engine *engines = inq_engines(&n);
    inq_out_text(out, "Engines (inquest replay --engine NAME):\n");
    for (size_t i = 0; i < n; i++) {
        inq_out_printf(out, "  %-18s%s%s\n", engines[i].name, engines[i].summary,
                       engines[i].built ? "" : " (not built)");
    }
}

int inq_cmd_list(struct inq_cli *cli)
{
    struct inq_out out = {0};
    struct inq_err err = {0};
    if (cli->n_words > 0) {
        return inq_cli_usage(cli, NULL, "'inquest list' takes no argument");
    }
    list_analyses(&out);
    inq_out_text(&out, "\n");
    list_fixes(&out);
    inq_out_text(&out, "\n");
    list_checks(&out);
    inq_out_text(&out, "\n");
    list_lint_rules(&out);
    inq_out_text(&out, "\n");
    list_engines(&out);
    inq_out_text(&out, "\n");
    list_formats(&out);
    inq_out_text(&out, "\n");
    list_written(&out);
    int code = out.code != INQ_OK ? inq_err_set(&err, INQ_NOMEM, "no memory for the list")
                                  : inq_cli_stdout(cli, out.buf, out.len, false, &err);
    inq_out_release(&out);
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}
