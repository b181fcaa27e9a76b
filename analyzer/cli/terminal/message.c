/* SPDX-License-Identifier: Apache-2.0 */
/* Errors and notes on stderr: for people, or with -f json one JSON document per error. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int status_of(int code)
{
    if (code == INQ_CANCELLED && inq_cli_interrupted() != 0) {
        return INQ_EXIT_SIGNAL + inq_cli_interrupted();
    }
    return code == INQ_USAGE ? INQ_EXIT_USAGE : INQ_EXIT_FAILED;
}

static const char *default_hint(int code)
{
    switch (code) {
    case INQ_NOMEM:
        return "fewer threads (-j 1) or fewer files at a time need less memory";
    case INQ_NOT_FOUND:
        return "check the path; 'inquest info FOLDER' lists what a folder holds";
    case INQ_IO:
        return "check that the place exists, may be read or written, and has room";
    case INQ_FORMAT:
        return "'inquest info' says what each file was read as, and what is wrong in it";
    case INQ_LIMIT:
        return "give it less at a time: fewer ranks, steps or files";
    default:
        return "";
    }
}

/* Control characters of an input must not reach the terminal. */
static void clean(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) {
            *text = '?';
        }
    }
}

static void say_json(const struct inq_err *err, const char *hint)
{
    struct inq_out out = {0};
    inq_error_write_json(err, hint, &out);
    if (out.code == INQ_OK) {
        (void)fwrite(out.buf, 1, out.len, stderr);
    }
    inq_out_release(&out);
}

static void say_text(const struct inq_err *err, const char *hint)
{
    char text[sizeof err->path + sizeof err->message + 32];
    inq_err_text(err, text, sizeof text);
    (void)fprintf(stderr, "inquest: %s\n", text);
    if (hint[0] != '\0') {
        (void)fprintf(stderr, "  next: %s\n", hint);
    }
}

int inq_cli_fail(const struct inq_cli *cli, const struct inq_err *err, const char *hint)
{
    if (err->code == INQ_CANCELLED && !cli->json_errors) {
        (void)fprintf(stderr, "inquest: interrupted, nothing was written\n");
        return status_of(err->code);
    }
    /* what a command says of its input is no help when memory or the disk is full */
    if (hint == NULL || err->code == INQ_IO || err->code == INQ_NOMEM) {
        hint = default_hint(err->code);
    }
    if (cli->json_errors) {
        say_json(err, hint);
    } else {
        say_text(err, hint);
    }
    return status_of(err->code);
}

int inq_cli_usage(const struct inq_cli *cli, const char *hint, const char *fmt, ...)
{
    struct inq_err err = {.code = INQ_USAGE, .offset = -1};
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(err.message, sizeof err.message, fmt, args);
    va_end(args);
    char help[64] = "'inquest help' lists commands and options";
    if (cli->command != NULL) {
        (void)snprintf(help, sizeof help, "see 'inquest help %s'", cli->command->name);
    }
    return inq_cli_fail(cli, &err, hint != NULL ? hint : help);
}

void inq_cli_note(const struct inq_cli *cli, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    if (cli->given[INQ_OPT_QUIET]) {
        return;
    }
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    clean(text);
    (void)fprintf(stderr, "inquest: %s\n", text);
}
