/* SPDX-License-Identifier: Apache-2.0 */
/* Where results go. A file gets its name only when it is complete; a failure leaves nothing. */
#include "cli/cli.h"

#include "inquest/out.h"
#include "inquest/memory.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char TEMP_SUFFIX[] = ".tmp.XXXXXX";

static int fail_file(const char *path, const char *what, struct inq_err *err)
{
    return inq_err_at(err, INQ_IO, path, -1, "%s '%s': %s", what, path, strerror(errno));
}

static char *join(const char *text, const char *suffix)
{
    size_t size = strlen(text) + strlen(suffix) + 1;
    char *joined = inq_mem_alloc(size);
    if (joined != NULL) {
        (void)snprintf(joined, size, "%s%s", text, suffix);
    }
    return joined;
}

/* Rights as a newly made file has them: mkstemp is stricter. */
static void usual_rights(int fd)
{
    mode_t mask = umask(0);
    (void)umask(mask);
    (void)fchmod(fd, (mode_t)0666 & ~mask);
}

static int open_temp(struct inq_cli_output *output, struct inq_err *err)
{
    output->temp = join(output->path, TEMP_SUFFIX);
    if (output->temp == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a file name");
    }
    output->fd = mkstemp(output->temp);
    if (output->fd < 0) {
        int code = fail_file(output->path, "cannot write", err);
        inq_mem_free(output->temp);
        output->temp = NULL;
        return code;
    }
    usual_rights(output->fd);
    return INQ_OK;
}

static bool is_same(const char *path, const struct stat *info)
{
    struct stat other;
    return path != NULL && stat(path, &other) == 0 && other.st_dev == info->st_dev &&
           other.st_ino == info->st_ino;
}

/* Whether the file was read as an input or is the baseline. */
static bool is_input(const struct inq_cli *cli, const struct stat *info)
{
    for (size_t i = 0; i < cli->n_words; i++) {
        if (is_same(cli->words[i], info)) {
            return true;
        }
    }
    for (size_t i = 0; i < cli->inputs->n; i++) {
        const struct inq_cli_input *input = &cli->inputs->files[i];
        if (input->device == (uint64_t)info->st_dev && input->inode == (uint64_t)info->st_ino) {
            return true;
        }
    }
    return is_same(cli->value[INQ_OPT_BASELINE], info);
}

/* Devices and pipes are written as they are; through a link the file it names is replaced. */
static int open_file(struct inq_cli_output *output, const char *path, struct inq_err *err)
{
    struct stat info;
    bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return fail_file(path, "cannot write", err);
    }
    if (exists && S_ISREG(info.st_mode) && is_input(output->cli, &info)) {
        return inq_err_at(
            err, INQ_USAGE, path, -1,
            "'%s' is an input and will not be written over: name another file with -o", path);
    }
    char *real = exists ? realpath(path, NULL) : NULL;
    output->path = join(real != NULL ? real : path, "");
    free(real);
    if (output->path == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a file name");
    }
    if (!exists || S_ISREG(info.st_mode)) {
        return open_temp(output, err);
    }
    output->fd = open(output->path, O_WRONLY | O_CLOEXEC);
    return output->fd < 0 ? fail_file(path, "cannot write", err) : INQ_OK;
}

static void release(struct inq_cli_output *output)
{
    inq_mem_free(output->path);
    inq_mem_free(output->temp);
    inq_out_release(&output->text);
    output->path = NULL;
    output->temp = NULL;
}

int inq_cli_output_open(const struct inq_cli *cli, struct inq_cli_output *output,
                        struct inq_err *err)
{
    return inq_cli_output_open_path(cli, cli->value[INQ_OPT_OUTPUT], output, err);
}

int inq_cli_output_open_path(const struct inq_cli *cli, const char *path,
                             struct inq_cli_output *output, struct inq_err *err)
{
    *output = (struct inq_cli_output){.cli = cli, .fd = -1};
    if (path == NULL || strcmp(path, "-") == 0) {
        return INQ_OK;
    }
    output->gzip = inq_cli_is_gzip(path);
    int code = open_file(output, path, err);
    if (code != INQ_OK) {
        release(output);
    }
    return code;
}

static int write_all(struct inq_cli_output *output, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(output->fd, bytes, n);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            output->why = errno;
            return INQ_IO;
        }
        bytes += done;
        n -= (size_t)done;
    }
    return INQ_OK;
}

static int deliver(void *ctx, const char *bytes, size_t n)
{
    struct inq_cli_output *output = ctx;
    if (output->fd >= 0 && !output->gzip) {
        return write_all(output, bytes, n);
    }
    inq_out_bytes(&output->text, bytes, n);
    return output->text.code;
}

/* Whether a space must stand before `c`, which comes next in the line. */
static bool is_armed(struct inq_cli_line *line, char c)
{
    if (c == '\n' || c == '\r') {
        *line = (struct inq_cli_line){0};
        return false;
    }
    bool hashes = c == '[' && line->hashes >= 2;
    bool colons = c == ':' && line->colon;
    line->hashes = c == '#' ? line->hashes + 1 : 0;
    line->colon = false;
    if (line->inside) {
        return hashes || colons;
    }
    if (line->escape || c == '\033') {
        line->escape = isalpha((unsigned char)c) == 0; /* colors do not count as content */
    } else if (isspace((unsigned char)c) == 0) {
        line->inside = true;
        line->colon = c == ':';
    }
    return hashes;
}

/* Hands `bytes` to `write` so that no line is a command to a CI runner that reads it: those begin
 * with "::" (after blanks), or have "##[" anywhere. A space is put into these; what else is there
 * stays. Returns what `write` returns. */
static int disarm(struct inq_cli_line *line, const char *bytes, size_t n,
                  int (*write)(void *ctx, const char *bytes, size_t n), void *ctx)
{
    size_t from = 0;
    int code = INQ_OK;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        if (is_armed(line, bytes[i])) {
            code = write(ctx, bytes + from, i - from);
            code = code == INQ_OK ? write(ctx, " ", 1) : code;
            from = i;
        }
    }
    return code == INQ_OK ? write(ctx, bytes + from, n - from) : code;
}

static int sink_write(void *ctx, const char *bytes, size_t n)
{
    struct inq_cli_output *output = ctx;
    enum inq_format format = output->cli->format;
    if (inq_cli_interrupted() != 0) {
        return INQ_CANCELLED;
    }
    if (format != INQ_FORMAT_TEXT && format != INQ_FORMAT_MARKDOWN) {
        return deliver(ctx, bytes, n);
    }
    return disarm(&output->line, bytes, n, deliver, output);
}

struct inq_sink inq_cli_output_sink(struct inq_cli_output *output)
{
    return (struct inq_sink){sink_write, output};
}

static int fd_write(void *ctx, const char *bytes, size_t n)
{
    return write_all(ctx, bytes, n);
}

/* Writes what was collected, compressed, into the file. */
static int compress(struct inq_cli_output *output, struct inq_err *err)
{
    enum { LEVEL = 6 };
    struct inq_out out = {.write = fd_write, .ctx = output};
    int code = inq_gzip_write(&out, output->text.buf, output->text.len, LEVEL, err);
    if (code == INQ_OK) {
        code = inq_out_flush(&out, err);
    }
    inq_out_release(&out);
    return code;
}

/* Gives the finished file its name, once its content is on the disk: after a power cut there is the
 * old file or the new one, not an empty one. */
static int finish_file(struct inq_cli_output *output, int code, struct inq_err *err)
{
    if (code != INQ_OK && output->why != 0) { /* those who wrote could not know it */
        *err = (struct inq_err){0};
        errno = output->why;
        code = fail_file(output->path, "cannot write", err);
    }
    bool synced = output->temp == NULL || fsync(output->fd) == 0 || errno == EINVAL;
    if (!synced && code == INQ_OK) {
        code = fail_file(output->path, "cannot write", err);
    }
    if (close(output->fd) != 0 && code == INQ_OK) {
        code = fail_file(output->path, "cannot write", err);
    }
    if (output->temp == NULL) {
        return code;
    }
    if (code == INQ_OK && rename(output->temp, output->path) != 0) {
        code = fail_file(output->path, "cannot write", err);
    }
    if (code != INQ_OK) {
        (void)unlink(output->temp);
    }
    return code;
}

int inq_cli_output_close(struct inq_cli_output *output, int code, struct inq_err *err)
{
    if (output->fd >= 0) {
        if (code == INQ_OK && output->gzip) {
            code = compress(output, err);
        }
        code = finish_file(output, code, err);
    } else if (code == INQ_OK && output->text.len > 0) {
        bool page = output->cli->format == INQ_FORMAT_TEXT;
        code = inq_cli_stdout(output->cli, output->text.buf, output->text.len, page, err);
    }
    release(output);
    return code;
}
