/* SPDX-License-Identifier: Apache-2.0 */
/* Help and version, out of the tables. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

enum { OPTION_COLUMN = 26, HELP_WIDTH = 100 };

static void help_all(struct inq_out *out)
{
    inq_out_text(
        out, "Usage: inquest COMMAND [OPTION]... [ARGUMENT]...\n"
             "       inquest PATH...             the same as inquest analyze PATH...\n"
             "\n"
             "Holds an inquest into a distributed training run: from the traces, Flight Recorder "
             "dumps\n"
             "and logs that a run left behind it says where the GPU time went, who delayed whom "
             "and\n"
             "what stopped it.\n"
             "\n"
             "Commands:\n");
    for (const struct inq_command *c = inq_commands; c->name != NULL; c++) {
        char head[64];
        (void)snprintf(head, sizeof head, "%s %s", c->name, c->arguments);
        inq_out_printf(out, "  %-24s%s\n", head, c->summary);
    }
    inq_out_text(out,
                 "\n'inquest help COMMAND' lists a command's options.\n"
                 "Exit status: 0 done, 1 could not, 2 wrong usage, 3 done and a finding reached "
                 "--fail-on,\n"
                 "130 interrupted.\n");
}

/* `text` from column OPTION_COLUMN on, wrapped. */
static void wrap(struct inq_out *out, const char *text)
{
    size_t column = OPTION_COLUMN;
    bool fresh = true;
    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        if (!fresh && column + 1 + len > HELP_WIDTH) {
            inq_out_printf(out, "\n%*s", (int)OPTION_COLUMN, "");
            column = OPTION_COLUMN;
            fresh = true;
        }
        if (!fresh) {
            inq_out_text(out, " ");
            column++;
        }
        inq_out_bytes(out, text, len);
        column += len;
        fresh = false;
        text += len;
        text += *text == ' ';
    }
    inq_out_text(out, "\n");
}

static void help_option(const struct inq_command *command, const struct inq_option *option,
                        struct inq_out *out)
{
    char head[64];
    char text[256];
    char list[96];
    char letter[8] = "    ";
    if (option->letter != 0) {
        (void)snprintf(letter, sizeof letter, "-%c, ", option->letter);
    }
    (void)snprintf(head, sizeof head, "%s--%s%s%s", letter, option->name,
                   option->arg != NULL ? " " : "", option->arg != NULL ? option->arg : "");
    inq_out_printf(out, "  %-*s", OPTION_COLUMN - 2, head);
    if (option->completion == INQ_COMPLETE_FORMATS) {
        (void)inq_cli_format_list(command->formats, ", ", " or ", list, sizeof list);
        (void)snprintf(text, sizeof text, "%s %s", list, option->help);
        wrap(out, text);
    } else {
        wrap(out, option->help);
    }
}

static void help_one(const struct inq_command *command, struct inq_out *out)
{
    inq_out_printf(out, "Usage: inquest %s [OPTION]... %s\n\n%s.\n", command->name,
                   command->arguments, command->summary);
    if (command->about[0] != '\0') {
        inq_out_printf(out, "\n%s\n", command->about);
    }
    inq_out_text(out, "\nOptions:\n");
    for (size_t i = 0; i < INQ_OPT_COUNT; i++) {
        if ((command->options & INQ_OPT_BIT(i)) != 0) {
            help_option(command, inq_cli_option((enum inq_option_id)i), out);
        }
    }
}

void inq_cli_help(const struct inq_command *command, struct inq_out *out)
{
    if (command == NULL) {
        help_all(out);
    } else {
        help_one(command, out);
    }
}
