/* SPDX-License-Identifier: Apache-2.0 */
/* The program: reads the arguments, runs one command, makes sure that its output has arrived. */
#include "cli/cli.h"
#include "inquest/version.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What files may be compressed with besides gzip. */
#ifdef INQ_HAVE_ZSTD
#define HAS_ZSTD "zstd "
#else
#define HAS_ZSTD ""
#endif
#ifdef INQ_HAVE_LZ4
#define HAS_LZ4 "lz4 "
#else
#define HAS_LZ4 ""
#endif
#ifdef INQ_HAVE_LZMA
#define HAS_LZMA "xz "
#else
#define HAS_LZMA ""
#endif
#ifdef INQ_HAVE_BZIP2
#define HAS_BZIP2 "bzip2 "
#else
#define HAS_BZIP2 ""
#endif

static void write_version(struct inq_out *out)
{
    inq_out_printf(out, "inquest %s\n", INQ_VERSION_STRING);
#ifdef INQ_HAVE_ISAL
    inq_out_text(out, "gzip:    ISA-L, zlib\n");
#else
    inq_out_text(out, "gzip:    zlib\n");
#endif
    inq_out_text(out, "codecs:  " HAS_ZSTD HAS_LZ4 HAS_LZMA HAS_BZIP2 "tar zip\n");
#ifdef INQ_HAVE_SQLITE
    inq_out_text(out, "sqlite:  yes (Nsight Systems exports)\n");
#else
    inq_out_text(out, "sqlite:  no (Nsight Systems exports are not read)\n");
#endif
#ifdef INQ_HAVE_HTML
    inq_out_text(out, "html:    yes\n");
#else
    inq_out_text(out, "html:    no (D3 was not found when this was built)\n");
#endif
#ifdef INQ_HAVE_CUDA
    inq_out_text(out, "cuda:    yes (the driver is loaded when it is needed)\n");
#else
    inq_out_text(out, "cuda:    no (nothing is executed on GPUs)\n");
#endif
    inq_out_printf(out, "threads: OpenMP, %d by default\n", inq_threads(0));
}

/* --help and --version, which no command needs to know of. */
static int answer(const struct inq_cli *cli, bool version)
{
    struct inq_out out = {0};
    struct inq_err err = {0};
    if (version) {
        write_version(&out);
    } else {
        inq_cli_help(cli->bare ? NULL : cli->command, &out);
    }
    int code = out.code != INQ_OK ? inq_err_set(&err, INQ_NOMEM, "no memory for the help")
                                  : inq_cli_stdout(cli, out.buf, out.len, false, &err);
    inq_out_release(&out);
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

static bool has_command(const struct inq_cli_reading *reading, const char *name)
{
    const char *const *has = reading->commands;
    while (has != NULL && *has != NULL && strcmp(*has, name) != 0) {
        has++;
    }
    return has == NULL || *has != NULL;
}

static int run(struct inq_cli *cli)
{
    if (cli->given[INQ_OPT_HELP] || cli->given[INQ_OPT_VERSION]) {
        return answer(cli, !cli->given[INQ_OPT_HELP]);
    }
    if (cli->bare && cli->n_words == 0) {
        return inq_cli_usage(cli,
                             "'inquest help' lists the commands; 'inquest PATH' analyzes a run",
                             "nothing to do");
    }
    if (!has_command(cli->reading, cli->command->name)) {
        return inq_cli_usage(cli, cli->reading->others, "there is no '%s' here",
                             cli->command->name);
    }
    return cli->command->run(cli);
}

/* A standard descriptor that is closed would be given to the next file that is opened, and what is
 * meant for the terminal would go into it: such a one is held by what cannot be written. */
static void hold_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

/* Output that did not arrive is a failure, unless the reader closed the pipe. */
static int close_stdout(const struct inq_cli *cli, int status)
{
    if (fclose(stdout) != 0 && errno != EPIPE && status == INQ_EXIT_OK) {
        struct inq_err err = {0};
        (void)inq_err_set(&err, INQ_IO, "cannot write to stdout: %s", strerror(errno));
        return inq_cli_fail(cli, &err, NULL);
    }
    return status;
}

int inq_cli_main(int argc, char **argv, const struct inq_cli_reading *reading)
{
    struct inq_cli cli;
    hold_standard_descriptors();
    (void)setlocale(LC_CTYPE, ""); /* characters only: numbers stay in the C locale */
    inq_cli_signals_init();
    int status = inq_cli_parse(argc, argv, &cli);
    cli.reading = reading;
    if (status == INQ_EXIT_OK) {
        status = run(&cli);
    }
    status = close_stdout(&cli, status);
    inq_cli_release(&cli);
    return status;
}
