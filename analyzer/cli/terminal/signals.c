/* SPDX-License-Identifier: Apache-2.0 */
/* An interrupt asks the work in progress to stop; a second one ends the program at once. */
#include "cli/cli.h"

#include <signal.h>

/* The one variable a signal handler may write. */
static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    interrupted = number;
}

void inq_cli_signals_init(void)
{
    struct sigaction stop = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGINT, &stop, NULL);
    (void)sigaction(SIGTERM, &stop, NULL);
    (void)sigaction(SIGHUP, &stop, NULL);
    (void)sigaction(SIGPIPE, &ignore, NULL); /* a write says EPIPE instead */
    (void)sigaction(SIGXFSZ, &ignore, NULL); /* and EFBIG, and the file is taken away again */
}

int inq_cli_interrupted(void)
{
    return interrupted;
}
