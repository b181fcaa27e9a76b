/* SPDX-License-Identifier: Apache-2.0 */
/* inquest list: what there is to choose from. */
#include "cli/cli.h"

#include "inquest/check.h"
#include "inquest/fix.h"
#include "inquest/lint.h"
#include "inquest/replay.h"

#include <inttypes.h>
#include <string.h>

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
    inq_out_text(out, "Formats written (-f NAME, or the suffix of -o; .gz after it compresses):\n");
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

static void list_columns(struct inq_out *out)
{
    const struct inq_op_column_info *column;
    inq_out_text(out,
                 "Columns of op tables (the first line of the CSV; case, blanks and signs do not "
                 "matter):\n");
    for (size_t i = 0; (column = inq_op_column_at(i)) != NULL; i++) {
        inq_out_printf(out, "  %-18s%s", column->name, column->what);
        for (const char *at = column->others; *at != '\0';) {
            size_t n = strcspn(at, "|");
            inq_out_printf(out, "%s%.*s", at == column->others ? "; also " : ", ", (int)n, at);
            at += n + (at[n] == '|');
        }
        inq_out_text(out, "\n");
    }
}

static void list_damage(struct inq_out *out)
{
    inq_out_text(out, "Damage of files, counted and worked around:\n");
    for (int k = 0; k < INQ_DAMAGE_KIND_COUNT; k++) {
        inq_out_printf(out, "  %-18s%s\n", inq_damage_word((enum inq_damage_kind)k),
                       inq_damage_text((enum inq_damage_kind)k));
    }
}

static void list_limits(struct inq_out *out)
{
    const struct inq_limit_info *limit;
    inq_out_text(out,
                 "Safety limits of reading (what goes past one is counted as damage, or refused "
                 "with its reason):\n");
    for (size_t i = 0; (limit = inq_limit_at(i)) != NULL; i++) {
        inq_out_printf(out, "  %10" PRId64 " %-6s %s\n", limit->value, limit->unit, limit->what);
    }
}

static void list_severities(struct inq_out *out)
{
    inq_out_text(out, "Severity of a finding, by the share of the step that it costs:\n");
    for (int s = INQ_SEVERITY_HIGH; s >= INQ_SEVERITY_INFO; s--) {
        double least = inq_severity_least((enum inq_severity)s);
        inq_out_printf(out, least > 0 ? "  %-18sfrom %g %%\n" : "  %-18sbelow, or not known\n",
                       inq_severity_text((enum inq_severity)s), least * 100);
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
    static void (*const lists[])(struct inq_out *) = {
        list_analyses, list_fixes,   list_checks,  list_severities, list_lint_rules, list_engines,
        list_formats,  list_written, list_columns, list_damage,     list_limits};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        inq_out_text(&out, i > 0 ? "\n" : "");
        lists[i](&out);
    }
    int code = out.code != INQ_OK ? inq_err_set(&err, INQ_NOMEM, "no memory for the list")
                                  : inq_cli_stdout(cli, out.buf, out.len, false, &err);
    inq_out_release(&out);
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}
