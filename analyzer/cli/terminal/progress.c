/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line: bytes, events, files and the time left, at most six times a second. */
#include "cli/cli.h"

#include "inquest/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { PROGRESS_AUTO, PROGRESS_NEVER, PROGRESS_ALWAYS };

static const int64_t REDRAW_NS = 1000000000 / 6;

void inq_cli_progress_init(const struct inq_cli *cli, struct inq_cli_progress *progress)
{
    *progress = (struct inq_cli_progress){.start_ns = inq_time_now_ns()};
    int when = cli->choice[INQ_OPT_PROGRESS];
    if (when == PROGRESS_AUTO) {
        progress->enabled = inq_cli_on_terminal(cli, STDERR_FILENO) && !cli->given[INQ_OPT_QUIET] &&
                            !cli->json_errors;
    } else {
        progress->enabled = when == PROGRESS_ALWAYS && !cli->given[INQ_OPT_QUIET];
    }
    progress->last_ns = progress->start_ns;
}

static void draw(const struct inq_cli_progress *progress, const struct inq_progress *now)
{
    double done = (double)now->bytes_done;
    double total = (double)now->bytes_total;
    double part = total > 0 ? done / total : 0;
    char left[48] = "";
    if (part > 0.02) {
        double elapsed_ns = (double)(progress->last_ns - progress->start_ns);
        char buf[32];
        int64_t eta_ns = (int64_t)(elapsed_ns * (1 - part) / part);
        (void)snprintf(left, sizeof left, "  %s left", inq_time_format(eta_ns, buf, sizeof buf));
    }
    (void)fprintf(stderr,
                  "\r\033[Kreading %.1f of %.1f MB (%.0f%%)  %.1f M events  file %u of %u%s",
                  done / 1e6, total / 1e6, part * 100, (double)now->events / 1e6, now->files_done,
                  now->files_total, left);
    (void)fflush(stderr);
}

/* Whatever the path holds, it stays on the line. */
static void draw_pipe(const struct inq_progress *now)
{
    (void)fprintf(stderr, "\r\033[K");
    if (now->bytes_done == 0) {
        (void)fprintf(stderr, "waiting for ");
    } else {
        (void)fprintf(stderr, "reading %.1f MB from ", (double)now->bytes_done / 1e6);
    }
    for (const char *at = now->pipe; *at != '\0' && at - now->pipe < 60; at++) {
        (void)fputc((unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at, stderr);
    }
    (void)fprintf(stderr, "%s",
                  now->bytes_done == 0 ? ": nothing was written to this pipe yet" : "");
    (void)fflush(stderr);
}

int inq_cli_progress_tick(void *ctx, const struct inq_progress *now)
{
    struct inq_cli_progress *progress = ctx;
    if (inq_cli_interrupted() != 0) {
        return 1;
    }
    int64_t now_ns = inq_time_now_ns();
    if (progress->enabled && now_ns - progress->last_ns >= REDRAW_NS) {
        progress->last_ns = now_ns;
        progress->shown = true;
        if (now->pipe != NULL) {
            draw_pipe(now);
        } else {
            draw(progress, now);
        }
    }
    return 0;
}

void inq_cli_progress_clear(struct inq_cli_progress *progress)
{
    if (progress->shown) {
        (void)fprintf(stderr, "\r\033[K");
        (void)fflush(stderr);
        progress->shown = false;
    }
}
