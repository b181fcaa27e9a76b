/* SPDX-License-Identifier: Apache-2.0 */
/* inquest completion SHELL: a completion script, made of the tables of commands and options. */
#include "cli/cli.h"

#include "inquest/contract.h"
#include "inquest/fix.h"

#include <string.h>

static bool takes(const struct inq_command *command, size_t option)
{
    return (command->options & INQ_OPT_BIT(option)) != 0;
}

static bool takes_path(const struct inq_command *command)
{
    return strstr(command->arguments, "PATH") != NULL || strstr(command->arguments, "SPEC") != NULL;
}

/* "a|b" as "a b". */
static void write_choices(struct inq_out *out, const char *choices)
{
    for (; *choices != '\0'; choices++) {
        inq_out_bytes(out, *choices == '|' ? " " : choices, 1);
    }
}

static void write_tables(struct inq_out *out)
{
    const struct inq_report_table *table;
    inq_out_text(out, "list");
    for (size_t i = 0; (table = inq_report_table(i)) != NULL; i++) {
        inq_out_printf(out, " %s", table->name);
    }
}

static void write_fixes(struct inq_out *out)
{
    const struct inq_fix_kind *kind;
    for (size_t i = 0; (kind = inq_fix_kind_at(i)) != NULL; i++) {
        int n = (int)strspn(kind->grammar, "abcdefghijklmnopqrstuvwxyz-");
        inq_out_printf(out, "%s%.*s%s", i > 0 ? " " : "", n, kind->grammar,
                       kind->grammar[n] == ':' ? ":" : "");
    }
}

static void write_analyses(struct inq_out *out)
{
    size_t n;
    const struct inq_analysis *all = inq_analyses(&n);
    for (size_t i = 0; i < n; i++) {
        inq_out_printf(out, "%s%s", i > 0 ? " " : "", all[i].name);
    }
}

/* "report report-set ..." */
static void write_documents(struct inq_out *out)
{
    const struct inq_contract *contract;
    for (size_t i = 0; (contract = inq_contract(i)) != NULL; i++) {
        const char *name = contract->schema + strlen("inquest-");
        inq_out_printf(out, "%s%.*s", i > 0 ? " " : "", (int)strcspn(name, "/"), name);
    }
}

/* The words that a command's first argument can be; false when there are none. */
static bool write_first_words(struct inq_out *out, const struct inq_command *command)
{
    static const struct {
        const char *command;
        const char *words;
    } rows[] = {{"schedule", "show make lint convert compare search"},
                {"completion", "bash zsh fish"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].command, command->name) == 0) {
            inq_out_text(out, rows[i].words);
            return true;
        }
    }
    if (strcmp(command->name, "schema") == 0) {
        write_documents(out);
        return true;
    }
    if (strcmp(command->name, "help") != 0) {
        return false;
    }
    for (const struct inq_command *c = inq_commands; c->name != NULL; c++) {
        inq_out_printf(out, "%s ", c->name);
    }
    return true;
}

static bool has_first_words(const struct inq_command *command)
{
    struct inq_out none = {0};
    bool has = write_first_words(&none, command);
    inq_out_release(&none);
    return has;
}

/* The words an option's value can be. */
static void write_values(struct inq_out *out, const struct inq_command *command,
                         const struct inq_option *option)
{
    char list[96];
    if (option->completion == INQ_COMPLETE_ANALYSES) {
        write_analyses(out);
    } else if (option->completion == INQ_COMPLETE_TABLES) {
        write_tables(out);
    } else if (option->completion == INQ_COMPLETE_FIXES) {
        write_fixes(out);
    } else if (option->completion == INQ_COMPLETE_FORMATS) {
        inq_out_text(out, inq_cli_format_list(command->formats, " ", " ", list, sizeof list));
    } else if (option->choices != NULL) {
        write_choices(out, option->choices);
    }
}

static bool has_values(const struct inq_option *option)
{
    return option->completion == INQ_COMPLETE_ANALYSES ||
           option->completion == INQ_COMPLETE_TABLES || option->completion == INQ_COMPLETE_FIXES ||
           option->completion == INQ_COMPLETE_FORMATS || option->choices != NULL;
}

/* Text inside single quotes. */
static void write_quoted(struct inq_out *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            inq_out_text(out, "'\\''");
        } else {
            inq_out_bytes(out, text, 1);
        }
    }
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void bash_values(struct inq_out *out, const struct inq_command *command)
{
    inq_out_text(out, "        case $prev in\n");
    if (has_first_words(command)) {
        inq_out_printf(out, "        %s) words='", command->name);
        (void)write_first_words(out, command);
        inq_out_text(out, "' ;;\n");
    }
    for (size_t i = 0; i < INQ_OPT_COUNT; i++) {
        const struct inq_option *option = inq_cli_option((enum inq_option_id)i);
        if (!takes(command, i) || option->arg == NULL) {
            continue;
        }
        inq_out_text(out, "        ");
        if (option->letter != 0) {
            inq_out_printf(out, "-%c|", option->letter);
        }
        inq_out_printf(out, "--%s) ", option->name);
        if (has_values(option)) {
            inq_out_text(out, "words='");
            write_values(out, command, option);
            inq_out_text(out, "' ;;\n");
        } else {
            inq_out_text(out,
                         option->completion == INQ_COMPLETE_FILE ? "files=1 ;;\n" : "return ;;\n");
        }
    }
    inq_out_text(out, "        *) words='");
    for (size_t i = 0; i < INQ_OPT_COUNT; i++) {
        if (takes(command, i)) {
            inq_out_printf(out, "--%s ", inq_cli_option((enum inq_option_id)i)->name);
        }
    }
    inq_out_printf(out, "'; files=%d ;;\n        esac ;;\n", takes_path(command));
}

static void bash(struct inq_out *out)
{
    inq_out_text(out, "# bash completion for inquest\n"
                      "_inquest() {\n"
                      "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                      "    local command='' words='' files=0 word\n"
                      "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                      "        case $word in -*) ;; *) command=$word; break ;; esac\n"
                      "    done\n"
                      "    case $cur in =) cur='' ;; esac\n" /* --format=json is three words */
                      "    case $prev in =) prev=${COMP_WORDS[COMP_CWORD-2]} ;; esac\n"
                      "    COMPREPLY=()\n"
                      "    case $command in\n");
    inq_out_text(out, "    '') words='");
    for (const struct inq_command *c = inq_commands; c->name != NULL; c++) {
        inq_out_printf(out, "%s ", c->name);
    }
    inq_out_text(out, "--help --version'; files=1 ;;\n");
    for (const struct inq_command *c = inq_commands; c->name != NULL; c++) {
        inq_out_printf(out, "    %s)\n", c->name);
        bash_values(out, c);
    }
    inq_out_text(out, "    *) files=1 ;;\n"
                      "    esac\n"
                      "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                      "    if [ \"$files\" = 1 ] && [[ $cur != -* ]]; then\n"
                      "        COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
                      "    fi\n"
                      "}\n"
                      "complete -o filenames -F _inquest inquest\n");
}

/* ---- zsh ------------------------------------------------------------------------------------- */

/* What is special between [ and ] or after a colon in _arguments. */
static void zsh_text(struct inq_out *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("[]:\\", *text) != NULL) {
            inq_out_text(out, "\\");
        }
        if (*text == '\'') {
            inq_out_text(out, "'\\''");
        } else {
            inq_out_bytes(out, text, 1);
        }
    }
}

static void zsh_spec(struct inq_out *out, const struct inq_command *command,
                     const struct inq_option *option, bool is_long)
{
    inq_out_text(out, "            '");
    if (is_long) {
        inq_out_printf(out, "--%s%s", option->name, option->arg != NULL ? "=" : "");
    } else {
        inq_out_printf(out, "-%c%s", option->letter, option->arg != NULL ? "+" : "");
    }
    inq_out_text(out, "[");
    zsh_text(out, option->help);
    inq_out_text(out, "]");
    if (option->arg != NULL) {
        inq_out_text(out, ":");
        zsh_text(out, option->arg);
        inq_out_text(out, ":");
        if (has_values(option)) {
            inq_out_text(out, "(");
            write_values(out, command, option);
            inq_out_text(out, ")");
        } else if (option->completion == INQ_COMPLETE_FILE) {
            inq_out_text(out, "_files");
        }
    }
    inq_out_text(out, "' \\\n");
}

static void zsh_command(struct inq_out *out, const struct inq_command *command)
{
    inq_out_printf(out, "    %s)\n        _arguments -s \\\n", command->name);
    for (size_t i = 0; i < INQ_OPT_COUNT; i++) {
        const struct inq_option *option = inq_cli_option((enum inq_option_id)i);
        if (takes(command, i)) {
            zsh_spec(out, command, option, true);
            if (option->letter != 0) {
                zsh_spec(out, command, option, false);
            }
        }
    }
    if (has_first_words(command)) {
        inq_out_text(out, "            '1:word:(");
        (void)write_first_words(out, command);
        inq_out_text(out, ")' \\\n");
    }
    inq_out_printf(out, "            '*:%s:_files' ;;\n",
                   takes_path(command) ? "path" : "argument");
}

static void zsh(struct inq_out *out)
{
    inq_out_text(out, "#compdef inquest\n"
                      "# zsh completion for inquest\n"
                      "_inquest() {\n"
                      "    if (( CURRENT == 2 )); then\n"
                      "        local -a described\n"
                      "        described=(\n");
    for (const struct inq_command *c = inq_commands; c->name != NULL; c++) {
        inq_out_printf(out, "            '%s:", c->name);
        zsh_text(out, c->summary);
        inq_out_text(out, "'\n");
    }
    inq_out_text(out, "        )\n"
                      "        _describe command described\n"
                      "        _files\n"
                      "        return\n"
                      "    fi\n"
                      "    shift words\n"
                      "    (( CURRENT-- ))\n"
                      "    case $words[1] in\n");
    for (const struct inq_command *c = inq_commands; c->name != NULL; c++) {
        zsh_command(out, c);
    }
    inq_out_text(out, "    *) _files ;;\n"
                      "    esac\n"
                      "}\n"
                      "if [ \"$funcstack[1]\" = _inquest ]; then\n"
                      "    _inquest \"$@\"\n"
                      "else\n"
                      "    compdef _inquest inquest\n"
                      "fi\n");
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_option(struct inq_out *out, const struct inq_command *command,
                        const struct inq_option *option)
{
    inq_out_printf(out, "complete -c inquest -n '__fish_seen_subcommand_from %s' -l %s",
                   command->name, option->name);
    if (option->letter != 0) {
        inq_out_printf(out, " -s %c", option->letter);
    }
    if (option->arg != NULL) {
        inq_out_text(out, option->completion == INQ_COMPLETE_FILE ? " -r -F" : " -x");
        if (has_values(option)) {
            inq_out_text(out, " -a '");
            write_values(out, command, option);
            inq_out_text(out, "'");
        }
    }
    inq_out_text(out, " -d '");
    write_quoted(out, option->help);
    inq_out_text(out, "'\n");
}

static void fish(struct inq_out *out)
{
    inq_out_text(out, "# fish completion for inquest\n");
    for (const struct inq_command *c = inq_commands; c->name != NULL; c++) {
        inq_out_printf(out, "complete -c inquest -n __fish_use_subcommand -a %s -d '", c->name);
        write_quoted(out, c->summary);
        inq_out_text(out, "'\n");
    }
    for (const struct inq_command *c = inq_commands; c->name != NULL; c++) {
        if (has_first_words(c)) { /* the word just before is the command */
            inq_out_printf(out, "complete -c inquest -n 'test (commandline -opc)[-1] = %s' -f -a '",
                           c->name);
            (void)write_first_words(out, c);
            inq_out_text(out, "'\n");
        }
        for (size_t i = 0; i < INQ_OPT_COUNT; i++) {
            if (takes(c, i)) {
                fish_option(out, c, inq_cli_option((enum inq_option_id)i));
            }
        }
    }
}

int inq_cmd_completion(struct inq_cli *cli)
{
    static const struct {
        const char *name;
        void (*write)(struct inq_out *out);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    struct inq_out out = {0};
    struct inq_err err = {0};
    if (cli->n_words != 1) {
        return inq_cli_usage(cli, NULL, "name one shell: bash, zsh or fish");
    }
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].name, cli->words[0]) == 0) {
            shells[i].write(&out);
        }
    }
    if (out.len == 0 && out.code == INQ_OK) {
        return inq_cli_usage(cli, "bash, zsh or fish", "no completion for '%s'", cli->words[0]);
    }
    int code = out.code != INQ_OK ? inq_err_set(&err, INQ_NOMEM, "no memory for the script")
                                  : inq_cli_stdout(cli, out.buf, out.len, false, &err);
    inq_out_release(&out);
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}
