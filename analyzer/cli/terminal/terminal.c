/* SPDX-License-Identifier: Apache-2.0 */
/* What the terminal can do. */
#include "cli/cli.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* choices of --color and --progress */
enum { WHEN_AUTO, COLOR_ALWAYS = 1, COLOR_NEVER = 2 };

bool inq_cli_on_terminal(const struct inq_cli *cli, int fd)
{
    return !cli->reading->launched && isatty(fd) == 1;
}

static bool to_stdout(const struct inq_cli *cli)
{
    const char *path = cli->value[INQ_OPT_OUTPUT];
    return path == NULL || strcmp(path, "-") == 0;
}

static bool wants_color(const struct inq_cli *cli)
{
    int when = cli->choice[INQ_OPT_COLOR];
    if (when != WHEN_AUTO) {
        return when == COLOR_ALWAYS;
    }
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    bool dumb = term == NULL || strcmp(term, "dumb") == 0;
    bool refused = no_color != NULL && no_color[0] != '\0';
    return !dumb && !refused && to_stdout(cli) && inq_cli_on_terminal(cli, STDOUT_FILENO);
}

/* 0: it is none. */
static int width_of_terminal(const struct inq_cli *cli)
{
    struct winsize size;
    if (!inq_cli_on_terminal(cli, STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) {
        return 0;
    }
    return size.ws_col;
}

struct inq_report_options inq_cli_report_options(const struct inq_cli *cli)
{
    int width = width_of_terminal(cli);
    enum { NARROWEST = 72, WIDEST = 100 };
    return (struct inq_report_options){
        .format = cli->format,
        .width = width <= 0 || width > WIDEST ? WIDEST
                 : width < NARROWEST          ? NARROWEST
                                              : width,
        .color = wants_color(cli),
        .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
        .verbose = cli->given[INQ_OPT_VERBOSE],
    };
}
