/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/unrecognized.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static const char plain_text[] = "not a trace: text that reports no failure and no training";
static const char binary[] = "not a trace: binary data";

#define MAGIC(text) text, sizeof(text) - 1

struct magic {
    const char *bytes;
    size_t n;
    const char *reason;
};

/* What this build cannot undo. */
static const struct magic packed[] = {
    {MAGIC("\x28\xb5\x2f\xfd"),
     "compressed with zstd, which this build does not read: decompress it first"},
    {MAGIC("\xfd"
           "7zXZ"),
     "compressed with xz, which this build does not read: decompress it first"},
    {MAGIC("BZh91AY"),
     "compressed with bzip2, which this build does not read: decompress it first"},
    {MAGIC("\x1f\x8b"), "compressed many times over: decompress it first"},
    {MAGIC("\x04\"M\x18"),
     "compressed with lz4, which this build does not read: decompress it first"},
    {MAGIC("\x02!L\x18"), "compressed with lz4's old format: decompress it first (lz4 -d)"},
    {MAGIC("7z\xbc\xaf"), "a 7z archive: unpack it first"},
};

static const struct magic magics[] = {
    {MAGIC("SQLite format 3"),
     "an SQLite database: Nsight Systems exports need a build with sqlite3"},
    {MAGIC("PAR1"), "a Parquet table: convert it to CSV"},
    {MAGIC("\x7f"
           "ELF"),
     "not a trace: a program or library"},
    {MAGIC("%PDF"), "not a trace: PDF"},
    {MAGIC("\x89PNG"), "not a trace: an image"},
    {MAGIC("<!DOCTYPE"), "not a trace: HTML"},
    {MAGIC("<html"), "not a trace: HTML"},
    {MAGIC("<?xml"), "not a trace: XML"},
};

static bool contains(const char *head, size_t n, const char *word)
{
    return memmem(head, n, word, strlen(word)) != NULL;
}

/* A description of the job beside its traces: short, sizes of the parallel dimensions by name. */
static bool is_job_description(const char *head, size_t n)
{
    return n < 4096 && contains(head, n, "world_size") && contains(head, n, "pp_size") &&
           contains(head, n, "dp_size");
}

static bool only_zeros(const char *head, size_t n)
{
    size_t i = 0;
    while (i < n && head[i] == 0) {
        i++;
    }
    return n > 0 && i == n;
}

bool inq_unrecognized_is_text(const char *head, size_t n)
{
    size_t odd = 0;
    size_t hole = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)head[i];
        if (c >= ' ') {
            continue;
        }
        hole += c == 0;
        odd += c == 0 ? i == 0 || head[i - 1] != 0 : isspace(c) == 0 && strchr("\x1b\b", c) == NULL;
    }
    return hole < n && odd * 50 <= n - hole;
}

/* By its byte order mark; text in UTF-16 has become UTF-8 before. */
static bool is_wide_text(const char *head, size_t n)
{
    return n >= 4 && (memcmp(head, "\xff\xfe\0\0", 4) == 0 || memcmp(head, "\0\0\xfe\xff", 4) == 0);
}

/* "[2025-03-01 ...", "[12:30:00]", "[1,0]<stdout>:" are heads of log lines, "[1, 2.5e-3" is JSON.
 */
static bool is_number_list(const char *head, size_t n)
{
    size_t i = 1;
    for (; i < n && head[i] != ']'; i++) {
        char c = head[i];
        bool sign = c == '-' || c == '+';
        bool after = head[i - 1] >= '0' && head[i - 1] <= '9';
        if ((sign && after) || strchr("0123456789.eE+-, \t\r\n", c) == NULL) {
            return false;
        }
    }
    for (i++; i < n && isspace((unsigned char)head[i]) != 0; i++) {
    }
    return i >= n;
}

/* From the opening bracket on: "[rank0]: ..." is a line of a log. */
static bool is_json(const char *head, size_t n)
{
    size_t i = 1;
    while (i < n && isspace((unsigned char)head[i]) != 0) {
        i++;
    }
    if (i == n) {
        return true;
    }
    if (head[0] == '[' && (head[i] == '-' || isdigit((unsigned char)head[i]) != 0)) {
        return is_number_list(head, n);
    }
    return strchr(head[0] == '{' ? "\"}" : "{[\"]", head[i]) != NULL;
}

/* The reason of the signature that these bytes begin with, or NULL. */
static const char *find_magic(const struct magic *table, size_t n_table, const char *head, size_t n)
{
    for (size_t i = 0; i < n_table; i++) {
        if (n >= table[i].n && memcmp(head, table[i].bytes, table[i].n) == 0) {
            return table[i].reason;
        }
    }
    return NULL;
}

static const char *why_packed(const char *head, size_t n)
{
    return find_magic(packed, sizeof packed / sizeof packed[0], head, n);
}

bool inq_unrecognized_is_packed(const char *head, size_t n)
{
    return why_packed(head, n) != NULL;
}

static const char *reason_of(const char *head, size_t n)
{
    if (n == 0) {
        return "empty file";
    }
    if (only_zeros(head, n)) {
        return "it begins with zeros only: it was not written to the disk whole";
    }
    const char *known = why_packed(head, n);
    if (known == NULL) {
        known = find_magic(magics, sizeof magics / sizeof magics[0], head, n);
    }
    if (known != NULL) {
        return known;
    }
    if (is_wide_text(head, n)) {
        return "text in UTF-32: convert it to UTF-8 first (iconv -f UTF-32 -t UTF-8)";
    }
    if (n > 2 && (unsigned char)head[0] == 0x80 && head[1] >= 2 && head[1] <= 5) {
        return "not a trace: a Python pickle";
    }
    if (!inq_unrecognized_is_text(head, n)) {
        return binary;
    }
    if (is_job_description(head, n)) {
        return "job description";
    }
    size_t i = 0;
    while (i < n && isspace((unsigned char)head[i]) != 0) {
        i++;
    }
    if (i == n) {
        return "empty file";
    }
    if ((head[i] == '{' || head[i] == '[') && is_json(head + i, n - i)) {
        return "not a trace: JSON of another kind";
    }
    return plain_text;
}

bool inq_unrecognized_is_plain(const char *head, size_t n)
{
    return reason_of(head, n) == plain_text;
}

/* Whether a shell takes the path as it is. */
static bool is_shell_word(const char *path)
{
    return path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             "_./+:@%,=-")] == '\0';
}

/* With the command that exports the report; without memory, without the names in it. */
static const char *export_of(struct inq_arena *arena, const char *path, size_t suffix,
                             const char *reason)
{
    const char *quote = is_shell_word(path) ? "" : "'";
    int stem = (int)(strlen(path) - suffix);
    const char *text =
        inq_arena_asprintf(arena, "%s: nsys export --type sqlite --output %s%.*s.sqlite%s %s%s%s",
                           reason, quote, stem, path, quote, quote, path, quote);
    return text != NULL ? text : reason;
}

const char *inq_unrecognized_reason(struct inq_arena *arena, const char *path, const char *head,
                                    size_t n)
{
    static const char nsight[] = "a report of Nsight Systems: export it";
    static const char perfetto[] = "a Perfetto trace in protobuf: convert it with 'traceconv json'";
    static const struct {
        const char *suffix;
        const char *reason;
    } names[] = {{".nsys-rep", nsight},
                 {".qdrep", nsight},
                 {".pftrace", perfetto},
                 {".perfetto-trace", perfetto}};
    const char *reason = reason_of(head, n);
    for (size_t i = 0; reason == binary && i < sizeof names / sizeof *names; i++) {
        size_t len = strlen(names[i].suffix);
        if (strlen(path) > len && strcmp(path + strlen(path) - len, names[i].suffix) == 0) {
            return names[i].reason == nsight ? export_of(arena, path, len, nsight)
                                             : names[i].reason;
        }
    }
    return reason;
}

void inq_unrecognized_set_aside(struct inq_shard *shard, const char *reason)
{
    struct inq_file file = shard->file;
    struct inq_arena arena = shard->arena; /* a partial's path is in it */
    shard->arena = (struct inq_arena){0};
    inq_shard_release(shard);
    *shard = (struct inq_shard){.file = file, .arena = arena};
    shard->file.read = false;
    shard->file.events_kept = 0;
    shard->file.reason = reason;
}
