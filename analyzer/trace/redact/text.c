/* SPDX-License-Identifier: Apache-2.0 */
/* Texts without the names in them: a line of a log, a stack, an annotation. */
#include "trace/redact/text.h"

#include "base/say.h"

#include <ctype.h>
#include <string.h>

/* ---- what stands in a text ------------------------------------------------------------------- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '_' || c == '-' || c == '.';
}

static bool is_path(char c)
{
    return is_word(c) || c == '/' || c == '~' || c == '+' || c == '%';
}

/* Suffixes that say what a file is, not whose: they stay. */
static const char *const suffixes[] = {
    ".json", ".gz",  ".zst", ".lz4", ".xz",   ".bz2",  ".zip", ".tar",  ".tgz",  ".sqlite",
    ".csv",  ".pb",  ".log", ".txt", ".out",  ".err",  ".pt",  ".pth",  ".pkl",  ".trace",
    ".py",   ".pyc", ".so",  ".c",   ".cc",   ".cpp",  ".cxx", ".cu",   ".cuh",  ".h",
    ".hpp",  ".sh",  ".inq", ".yml", ".yaml", ".nsys", ".md",  ".ckpt", ".conf", ".toml"};

/* Length of the suffix that `name` ends in; 0 none. A name that is all suffix has none. */
static size_t suffix_of(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t n = strlen(suffixes[i]);
        if (len > n && memcmp(name + len - n, suffixes[i], n) == 0) {
            return n;
        }
    }
    return 0;
}

/* A name stops before the punctuation of its sentence. */
static size_t without_end(const char *text, size_t len)
{
    while (len > 0 && (text[len - 1] == '.' || text[len - 1] == '-')) {
        len--;
    }
    return len;
}

/* Length of the path at `p` of `text`; 0: none. It begins in the root, a home or a folder named by
 * dots, goes over two folders, or ends as files do: "kB/s" and "1/2" are none. */
static size_t path_at(const char *text, const char *p)
{
    size_t len = 0;
    size_t slashes = 0;
    for (; is_path(p[len]); len++) {
        slashes += p[len] == '/';
    }
    len = without_end(p, len);
    bool begins = p == text || !is_word(p[-1]);
    bool rooted = slashes > 0 && (*p == '/' || *p == '~' || *p == '.') && len > 1;
    return begins && (rooted || slashes > 1 || suffix_of(p, len) > 0) ? len : 0;
}

/* Length of an IPv4 or IPv6 address at `p`; 0: none. A time of day has two colons and an address of
 * PCI, too; "aten::add" has no digit. */
static size_t address_at(const char *p)
{
    enum { LEAST_COLONS = 4 };
    size_t len = 0;
    size_t dots = 0;
    size_t digits = 0;
    while (isdigit((unsigned char)p[len]) != 0 || p[len] == '.') {
        dots += p[len] == '.';
        digits += p[len] != '.';
        len++;
    }
    len = without_end(p, len);
    if (dots >= 3 && digits >= 4 && digits <= 12 && !is_word(p[len])) {
        return len;
    }
    size_t colons = 0;
    bool twice = false;
    digits = 0;
    for (len = 0; isxdigit((unsigned char)p[len]) != 0 || p[len] == ':'; len++) {
        colons += p[len] == ':';
        digits += isdigit((unsigned char)p[len]) != 0;
        twice = twice || (p[len] == ':' && p[len + 1] == ':');
    }
    return (colons >= LEAST_COLONS || twice) && digits > 0 && len > 3 && !is_word(p[len]) ? len : 0;
}

/* Length of the word at `p`; 0: none. */
static size_t word_at(const char *p)
{
    size_t len = 0;
    while (is_word(p[len])) {
        len++;
    }
    return without_end(p, len);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A text that grows in an arena. */
struct draft {
    struct inq_redaction *r;
    struct inq_arena *arena;
    struct inq_out out;
    struct inq_err *err;
    bool changed;
};

static void put_token(struct draft *d, enum inq_redact_kind kind, const char *name, size_t len)
{
    const char *token = inq_redact_token(d->r, kind, name, len, d->err);
    if (token == NULL) {
        d->out.code = INQ_NOMEM;
    } else {
        inq_out_text(&d->out, token);
        d->changed = true;
    }
}

static void put_path(struct draft *d, const char *path, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = 0;
        while (i + n < len && path[i + n] != '/') {
            n++;
        }
        bool dots = (n == 1 && path[i] == '.') || (n == 2 && memcmp(path + i, "..", 2) == 0) ||
                    (n == 1 && path[i] == '~');
        size_t keep = 0;
        for (size_t more; (more = suffix_of(path + i, n - keep)) > 0;) {
            keep += more;
        }
        if (dots) {
            inq_out_bytes(&d->out, path + i, n);
        } else {
            put_token(d, INQ_REDACT_PATH, path + i, n - keep);
            inq_out_bytes(&d->out, path + i + n - keep, keep);
        }
        i += n;
        if (i < len) {
            inq_out_text(&d->out, "/");
            i++;
        }
    }
}

/* A known host or user, or "user@host"; else the word itself. How much was read. */
static size_t put_word(struct draft *d, const char *p, size_t len)
{
    size_t label = strcspn(p, "."); /* node-7 of node-7.cluster.example */
    if (p[len] == '@' && word_at(p + len + 1) > 0) {
        put_token(d, INQ_REDACT_USER, p, len);
        inq_out_text(&d->out, "@");
        size_t host = word_at(p + len + 1);
        put_token(d, INQ_REDACT_HOST, p + len + 1, host);
        return len + 1 + host;
    }
    if (inq_redact_knows(d->r, INQ_REDACT_HOST, p, len) ||
        (label < len && inq_redact_knows(d->r, INQ_REDACT_HOST, p, label))) {
        put_token(d, INQ_REDACT_HOST, p, len);
    } else if (inq_redact_knows(d->r, INQ_REDACT_USER, p, len)) {
        put_token(d, INQ_REDACT_USER, p, len);
    } else {
        inq_out_bytes(&d->out, p, len);
    }
    return len;
}

static const char *finished(struct draft *d, const char *text)
{
    const char *result = text;
    if (d->changed) {
        result = inq_arena_strndup(d->arena, d->out.buf, d->out.len);
    }
    if (d->out.code != INQ_OK || result == NULL) {
        (void)inq_err_set(d->err, INQ_NOMEM, "no memory for a redacted text");
        result = NULL;
    }
    inq_out_release(&d->out);
    return result;
}

const char *inq_redact_path(struct inq_redaction *r, struct inq_arena *arena, const char *path,
                            struct inq_err *err)
{
    struct draft d = {.r = r, .arena = arena, .err = err};
    put_path(&d, path, strlen(path));
    return finished(&d, path);
}

const char *inq_redact_text(struct inq_redaction *r, struct inq_arena *arena, const char *text,
                            struct inq_err *err)
{
    struct draft d = {.r = r, .arena = arena, .err = err};
    for (const char *p = text; *p != '\0' && d.out.code == INQ_OK;) {
        size_t n = address_at(p);
        if (n > 0) {
            put_token(&d, INQ_REDACT_HOST, p, n);
        } else if ((n = path_at(text, p)) > 0) {
            put_path(&d, p, n);
        } else if ((n = word_at(p)) > 0) {
            n = put_word(&d, p, n);
        } else {
            n = 1;
            inq_out_bytes(&d.out, p, n);
        }
        p += n;
    }
    return finished(&d, text);
}

/* ---- users ----------------------------------------------------------------------------------- */

int inq_redact_find_users(struct inq_redaction *r, const char *text, struct inq_err *err)
{
    static const char *const before[] = {"/home/", "/Users/", "/users/", "user=", "username="};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        for (const char *p = text; (p = strstr(p, before[i])) != NULL;) {
            p += strlen(before[i]);
            size_t n = word_at(p);
            if (n > 0 && inq_redact_token(r, INQ_REDACT_USER, p, n, err) == NULL) {
                return INQ_NOMEM;
            }
        }
    }
    return INQ_OK;
}
