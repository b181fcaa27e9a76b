/* SPDX-License-Identifier: Apache-2.0 */
/* Text to stdout; long text on a terminal through a pager. */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The pager's command, or NULL when nothing is to be paged. */
static const char *pager_command(const struct inq_cli *cli)
{
    if (cli->given[INQ_OPT_NO_PAGER] || !inq_cli_on_terminal(cli, STDOUT_FILENO)) {
        return NULL;
    }
    const char *command = getenv("INQ_PAGER");
    if (command == NULL) {
        command = getenv("PAGER");
    }
    if (command == NULL) {
        command = "less";
    }
    return command[0] == '\0' || strcmp(command, "cat") == 0 ? NULL : command;
}

static bool fits_screen(const char *text, size_t n)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) {
        return true;
    }
    size_t lines = 0;
    for (const char *p = text; (p = memchr(p, '\n', n - (size_t)(p - text))) != NULL; p++) {
        lines++;
    }
    return lines < size.ws_row;
}

static void run_pager(const char *command, int from)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    (void)sigaction(SIGPIPE, &usual, NULL);
    if (dup2(from, STDIN_FILENO) < 0) {
        _exit(127);
    }
    (void)setenv("LESS", "FRSX", 0); /* colors, quit when it fits; a user's own LESS wins */
    (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static void feed(int to, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t done = write(to, text, n);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            return; /* the reader has seen enough */
        }
        text += done;
        n -= (size_t)done;
    }
}

/* False when the pager could not be run, so that nothing was shown. */
static bool page_text(const char *command, const char *text, size_t n)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return false;
    }
    pid_t pid = fork();
    if (pid < 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return false;
    }
    if (pid == 0) {
        (void)close(ends[1]);
        run_pager(command, ends[0]);
    }
    (void)close(ends[0]);
    feed(ends[1], text, n);
    (void)close(ends[1]);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        continue;
    }
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 127); /* 127: no such command */
}

int inq_cli_stdout(const struct inq_cli *cli, const char *text, size_t n, bool page,
                   struct inq_err *err)
{
    const char *command = page ? pager_command(cli) : NULL;
    if (command != NULL && !fits_screen(text, n) && page_text(command, text, n)) {
        return INQ_OK;
    }
    errno = 0;
    if (fwrite(text, 1, n, stdout) != n || fflush(stdout) != 0) {
        if (errno == EPIPE) {
            return INQ_OK; /* the reader has seen enough */
        }
        return inq_err_set(err, INQ_IO, "cannot write to stdout: %s", strerror(errno));
    }
    return INQ_OK;
}
