/* SPDX-License-Identifier: Apache-2.0 */
/* Names out of a run. Tokens are SipHash-2-4 of Aumasson and Bernstein, of which 48 bits are shown:
 * among a million names two share a token with a chance of two in a thousand, and a token is still
 * easy to read. */
#include "inquest/redact.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/strtab.h"
#include "base/words.h"
#include "inquest/flight.h"
#include "inquest/log.h"
#include "trace/build/build.h"
#include "trace/trace.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

struct inq_redaction {
    uint64_t key[2];
    struct inq_strtab names; /* the kind's number as a digit, then the name */
    struct inq_map known;    /* by the hash of such an entry */
    struct inq_arena arena;
    size_t n_tokens, cap_tokens;
    const char **tokens; /* [id of the name] */
    size_t count[INQ_REDACT_KIND_COUNT];
};

/* ---- the hash -------------------------------------------------------------------------------- */

static uint64_t rotated(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void rounds(uint64_t v[4], int n)
{
    while (n-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotated(v[1], 13) ^ v[0];
        v[3] = rotated(v[3], 16) ^ v[2];
        v[0] = rotated(v[0], 32) + v[3];
        v[2] += v[1];
        v[3] = rotated(v[3], 21) ^ v[0];
        v[1] = rotated(v[1], 17) ^ v[2];
        v[2] = rotated(v[2], 32);
    }
}

static void take_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    rounds(v, 2);
    v[0] ^= word;
}

static uint64_t siphash(const uint64_t key[2], const char *bytes, size_t n)
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
                     key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) {
        word |= (uint64_t)(unsigned char)bytes[i] << (i % 8 * 8);
        if (i % 8 == 7) {
            take_word(v, word);
            word = 0;
        }
    }
    take_word(v, word | (uint64_t)(n & 0xff) << 56);
    v[2] ^= 0xff;
    rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static const char *const kind_texts[] = {INQ_REDACT_KINDS(INQ_WORD_TEXT)};

const char *inq_redact_kind_text(enum inq_redact_kind kind)
{
    return (unsigned)kind < INQ_REDACT_KIND_COUNT ? kind_texts[kind] : "";
}

int inq_redaction_new(const void *key, size_t n, struct inq_redaction **redaction,
                      struct inq_err *err)
{
    struct inq_redaction *r = inq_mem_zalloc(1, sizeof *r);
    *redaction = NULL;
    if (r == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a redaction");
    }
    if (key != NULL) { /* two hashes of it under keys of their own */
        static const uint64_t first[2] = {1, 2};
        static const uint64_t second[2] = {3, 4};
        r->key[0] = siphash(first, key, n);
        r->key[1] = siphash(second, key, n);
    } else if (getentropy(r->key, sizeof r->key) != 0) {
        inq_mem_free(r);
        return inq_err_set(err, INQ_IO, "the system gives no random key; give one");
    }
    *redaction = r;
    return INQ_OK;
}

void inq_redaction_free(struct inq_redaction *redaction)
{
    if (redaction != NULL) {
        inq_strtab_release(&redaction->names);
        inq_map_release(&redaction->known);
        inq_arena_release(&redaction->arena);
        inq_mem_free(redaction->tokens);
        inq_mem_free(redaction);
    }
}

static bool same_class(const char *a, const char *b)
{
    size_t na = strlen(a);
    size_t nb = strlen(b);
    return inq_classify_kernel(a, na) == inq_classify_kernel(b, nb) &&
           inq_kernel_is_compute(a, na) == inq_kernel_is_compute(b, nb) &&
           inq_coll_from_kernel(a, na) == inq_coll_from_kernel(b, nb) &&
           inq_kernel_updates_weights(a) == inq_kernel_updates_weights(b) &&
           inq_kernel_kind_of(a) == inq_kernel_kind_of(b);
}

/* Analyses know a kernel's class by words in its name: the token ends in one that says the same. */
static const char *class_word(const char *name)
{
    static const char *const words[] = {"",
                                        "_elementwise",
                                        "_gemm",
                                        "_adam",
                                        "_multi_tensor_apply",
                                        "_fill_FillFunctor",
                                        "_ncclDevKernel_AllReduce",
                                        "_ncclDevKernel_AllGather",
                                        "_ncclDevKernel_ReduceScatter",
                                        "_ncclDevKernel_SendRecv",
                                        "_ncclDevKernel_Broadcast",
                                        "_ncclDevKernel_Reduce",
                                        "_ncclDevKernel_AllToAll",
                                        "_nccl",
                                        "_copy"};
    char probe[64];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        (void)snprintf(probe, sizeof probe, "kernel-000000000000%s", words[i]);
        if (same_class(name, probe)) {
            return words[i];
        }
    }
    return "";
}

static int keep_token(struct inq_redaction *r, uint32_t id, const char *token, struct inq_err *err)
{
    int code = inq_mem_grow(&r->tokens, &r->cap_tokens, (size_t)id + 1, sizeof *r->tokens,
                            UINT32_MAX, err);
    if (code == INQ_OK) {
        r->tokens[id] = token;
        r->n_tokens = (size_t)id + 1;
    }
    return code;
}

/* "0node-7": what the table of names holds of a name; NULL when memory is out. */
static char *entry_of(struct inq_arena *arena, enum inq_redact_kind kind, const char *name,
                      size_t len)
{
    return inq_arena_asprintf(arena, "%d%.*s", (int)kind, (int)len, name);
}

/* The token of a name; "" for "", NULL when memory is out (in *err). */
static const char *token_of(struct inq_redaction *r, enum inq_redact_kind kind, const char *name,
                            size_t len, struct inq_err *err)
{
    uint32_t id;
    if (len == 0) {
        return "";
    }
    const char *entry = entry_of(&r->arena, kind, name, len);
    if (entry == NULL) {
        (void)inq_err_set(err, INQ_NOMEM, "no memory for tokens");
        return NULL;
    }
    if (inq_strtab_add(&r->names, entry, len + 1, &id, err) != INQ_OK) {
        return NULL;
    }
    if (id < r->n_tokens) {
        return r->tokens[id];
    }
    const char *token = inq_arena_asprintf(&r->arena, "%s-%012" PRIx64 "%s", kind_texts[kind],
                                           siphash(r->key, entry, len + 1) >> 16,
                                           kind == INQ_REDACT_KERNEL ? class_word(entry + 1) : "");
    if (token == NULL) {
        (void)inq_err_set(err, INQ_NOMEM, "no memory for tokens");
        return NULL;
    }
    if (keep_token(r, id, token, err) != INQ_OK ||
        inq_map_put(&r->known, inq_hash_bytes(entry, len + 1), id, err) != INQ_OK) {
        return NULL;
    }
    r->count[kind]++;
    return token;
}

/* Whether the name has a token of this kind already. */
static bool is_known(const struct inq_redaction *r, enum inq_redact_kind kind, const char *name,
                     size_t len)
{
    uint32_t id;
    char entry[256];
    int n = snprintf(entry, sizeof entry, "%d%.*s", (int)kind, (int)len, name);
    return n > 0 && (size_t)n < sizeof entry &&
           inq_map_get(&r->known, inq_hash_bytes(entry, (size_t)n), &id);
}

size_t inq_redaction_count(const struct inq_redaction *redaction, enum inq_redact_kind kind)
{
    return (unsigned)kind < INQ_REDACT_KIND_COUNT ? redaction->count[kind] : 0;
}

/* ---- the map --------------------------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b, void *ctx)
{
    const struct inq_strtab *names = *(const struct inq_strtab *const *)ctx;
    const uint32_t *x = a;
    const uint32_t *y = b;
    return strcmp(inq_strtab_get(names, *x), inq_strtab_get(names, *y));
}

int inq_redaction_map(const struct inq_redaction *redaction, struct inq_sink sink,
                      struct inq_err *err)
{
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    const struct inq_strtab *context = &redaction->names;
    size_t n = redaction->n_tokens > 0 ? redaction->n_tokens - 1 : 0; /* id 0 is "" */
    uint32_t *order = inq_mem_alloc((n + 1) * sizeof *order);
    int code = order != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "no memory for a map");
    for (uint32_t i = 0; code == INQ_OK && i < n; i++) {
        order[i] = i + 1;
    }
    if (code == INQ_OK) {
        code = inq_sort(order, n, sizeof *order, compare_entries, &context, err);
    }
    inq_out_text(&out, "kind,name,token\r\n");
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        const char *entry = inq_strtab_get(&redaction->names, order[i]);
        inq_out_printf(&out, "%s,", kind_texts[entry[0] - '0']);
        inq_out_quoted(&out, entry + 1);
        inq_out_printf(&out, ",%s\r\n", redaction->tokens[order[i]]);
    }
    inq_mem_free(order);
    return inq_out_end(&out, code, "the map of a redaction", err);
}

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
    const char *token = token_of(d->r, kind, name, len, d->err);
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
    if (is_known(d->r, INQ_REDACT_HOST, p, len) ||
        (label < len && is_known(d->r, INQ_REDACT_HOST, p, label))) {
        put_token(d, INQ_REDACT_HOST, p, len);
    } else if (is_known(d->r, INQ_REDACT_USER, p, len)) {
        put_token(d, INQ_REDACT_USER, p, len);
    } else {
        inq_out_bytes(&d->out, p, len);
    }
    return len;
}

static const char *finished(struct draft *d, const char *text)
{
    const char *result = text;
    if (d->changed && d->out.code == INQ_OK) {
        result = inq_arena_strndup(d->arena, d->out.buf, d->out.len);
    }
    if (d->out.code != INQ_OK || result == NULL) {
        (void)inq_err_set(d->err, INQ_NOMEM, "no memory for a redacted text");
        result = NULL;
    }
    inq_out_release(&d->out);
    return result;
}

/* A path, part by part; what its suffixes say of its format stays. Into `arena`. */
static const char *redacted_path(struct inq_redaction *r, struct inq_arena *arena, const char *path,
                                 struct inq_err *err)
{
    struct draft d = {.r = r, .arena = arena, .err = err};
    put_path(&d, path, strlen(path));
    return finished(&d, path);
}

/* A text without its paths, addresses, and the hosts and users that are known. `text` itself where
 * nothing is to be replaced. */
static const char *redacted_text(struct inq_redaction *r, struct inq_arena *arena, const char *text,
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

/* Takes note of the users whose home directories the text names. */
static int note_users(struct inq_redaction *r, const char *text, struct inq_err *err)
{
    static const char *const before[] = {"/home/", "/Users/", "/users/", "user=", "username="};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        for (const char *p = text; (p = strstr(p, before[i])) != NULL;) {
            p += strlen(before[i]);
            size_t n = word_at(p);
            if (n > 0 && token_of(r, INQ_REDACT_USER, p, n, err) == NULL) {
                return INQ_NOMEM;
            }
        }
    }
    return INQ_OK;
}

/* A run in work; `code` is the first failure. */
struct work {
    struct inq_redaction *r;
    struct inq_arena *arena; /* of the run: what it points at lives as long */
    struct inq_err *err;
    int code;
};

static void take(struct work *w, const char **text, const char *replaced)
{
    if (replaced == NULL) {
        w->code = w->code == INQ_OK ? INQ_NOMEM : w->code;
    } else if (replaced != *text) {
        const char *copy = inq_arena_strdup(w->arena, replaced);
        w->code = copy == NULL && w->code == INQ_OK
                      ? inq_err_set(w->err, INQ_NOMEM, "no memory for names")
                      : w->code;
        *text = copy != NULL ? copy : "";
    }
}

static void redact_text(struct work *w, const char **text)
{
    if (*text != NULL) {
        take(w, text, redacted_text(w->r, w->arena, *text, w->err));
    }
}

static void redact_path(struct work *w, const char **path)
{
    if (*path != NULL) {
        take(w, path, redacted_path(w->r, w->arena, *path, w->err));
    }
}

static void redact_host(struct work *w, const char **host)
{
    if (*host != NULL) {
        take(w, host, token_of(w->r, INQ_REDACT_HOST, *host, strlen(*host), w->err));
    }
}

/* ---- the names of a trace -------------------------------------------------------------------- */

enum { PLAIN = INQ_REDACT_KIND_COUNT }; /* a text, with names in it or not */

/* What each string of the table is; the first use counts, which is the one that hides most. */
static uint8_t *uses_of(const struct inq_trace *trace)
{
    size_t n = inq_strtab_count(trace->names);
    uint8_t *uses = inq_mem_alloc(n);
    if (uses == NULL) {
        return NULL;
    }
    memset(uses, PLAIN, n);
    for (size_t i = 0; i < trace->n_launches; i++) {
        uses[trace->launches[i].module] = INQ_REDACT_MODULE;
        uses[trace->launches[i].source] = INQ_REDACT_PATH;
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        const struct inq_events *e = &rank->events;
        bool operators = inq_rank_on_cpu(trace, rank); /* what its events are */
        for (size_t i = 0; i < e->n; i++) {
            bool kernel =
                e->kind == NULL || e->kind[i] == INQ_EVENT_KERNEL || e->kind[i] == INQ_EVENT_SLICE;
            bool labeled = e->label != NULL && e->label[i] != INQ_NONE;
            uses[e->name[i]] =
                kernel && !labeled && !operators ? INQ_REDACT_KERNEL : uses[e->name[i]];
        }
        uses[rank->job] = INQ_REDACT_PATH;
        uses[rank->host] = INQ_REDACT_HOST;
        uses[rank->label] = rank->rank < 0 ? INQ_REDACT_PATH : uses[rank->label];
    }
    return uses;
}

static const char *renamed(struct work *w, enum inq_redact_kind kind, const char *text)
{
    return kind == INQ_REDACT_PATH ? redacted_path(w->r, w->arena, text, w->err)
           : (int)kind == PLAIN    ? redacted_text(w->r, w->arena, text, w->err)
                                   : token_of(w->r, kind, text, strlen(text), w->err);
}

/* Names of one kind, so that hosts and users are known before texts are searched for them. */
static void rename_all(struct work *w, struct inq_strtab *names, const uint8_t *uses, bool plain)
{
    for (uint32_t id = 1; id < inq_strtab_count(names) && w->code == INQ_OK; id++) {
        if ((uses[id] == PLAIN) == plain) {
            const char *old = inq_strtab_get(names, id);
            const char *text = renamed(w, (enum inq_redact_kind)uses[id], old);
            w->code = text == NULL  ? INQ_NOMEM
                      : text != old ? inq_strtab_rename(names, id, text, w->err)
                                    : INQ_OK;
        }
    }
}

/* ---- hosts and users, wherever they are named ------------------------------------------------ */

static void find_users(struct work *w, const char *text)
{
    if (text != NULL && w->code == INQ_OK) {
        w->code = note_users(w->r, text, w->err);
    }
}

static void know_host(struct work *w, const char *host)
{
    if (host != NULL && token_of(w->r, INQ_REDACT_HOST, host, strlen(host), w->err) == NULL) {
        w->code = INQ_NOMEM;
    }
}

static void find_names(struct work *w, const struct inq_trace *trace)
{
    find_users(w, trace->name);
    for (size_t i = 0; i < trace->n_files; i++) {
        find_users(w, trace->files[i].path);
    }
    for (uint32_t id = 1; id < inq_strtab_count(trace->names); id++) {
        find_users(w, inq_strtab_get(trace->names, id));
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        know_host(w, inq_trace_str(trace, trace->ranks[r].host));
    }
    for (size_t l = 0; l < trace->n_logs; l++) {
        for (size_t i = 0; i < trace->logs[l]->n_events; i++) {
            know_host(w, trace->logs[l]->events[i].host);
            find_users(w, trace->logs[l]->events[i].text);
        }
    }
    for (size_t d = 0; d < trace->n_dumps; d++) {
        const struct inq_flight_dump *dump = trace->dumps[d];
        for (size_t i = 0; i < dump->n_entries; i++) {
            for (uint32_t f = 0; f < dump->entries[i].n_frames; f++) {
                find_users(w, dump->entries[i].frames[f].file);
            }
        }
    }
}

/* ---- the rest of a run ----------------------------------------------------------------------- */

static void redact_file(struct work *w, struct inq_file *file)
{
    redact_path(w, &file->path);
    redact_text(w, &file->reason);
}

static void redact_dump(struct work *w, struct inq_flight_dump *dump)
{
    for (size_t i = 0; i < dump->n_groups; i++) {
        redact_text(w, &dump->groups[i].desc);
    }
    for (size_t i = 0; i < dump->n_entries; i++) {
        struct inq_flight_entry *entry = &dump->entries[i];
        for (uint32_t f = 0; f < entry->n_frames; f++) {
            redact_path(w, &entry->frames[f].file);
        }
    }
}

static void redact_log(struct work *w, struct inq_log *log)
{
    for (size_t i = 0; i < log->n_events; i++) {
        struct inq_log_event *event = &log->events[i];
        redact_host(w, &event->host);
        redact_text(w, &event->peer);
        redact_text(w, &event->group);
        redact_text(w, &event->op);
        redact_text(w, &event->text);
    }
}

static void redact_trace(struct work *w, struct inq_trace *trace)
{
    uint8_t *uses = uses_of(trace);
    if (uses == NULL) {
        w->code = inq_err_set(w->err, INQ_NOMEM, "no memory to redact names");
        return;
    }
    w->arena = trace->arena;
    rename_all(w, trace->names, uses, false);
    rename_all(w, trace->names, uses, true);
    inq_mem_free(uses);
    redact_path(w, &trace->name);
    for (size_t i = 0; i < trace->n_files; i++) {
        redact_file(w, &trace->files[i]);
    }
    for (size_t i = 0; i < trace->n_unread; i++) {
        redact_path(w, &trace->unread[i].path);
        redact_text(w, &trace->unread[i].reason);
    }
    for (size_t i = 0; i < trace->n_dumps; i++) {
        redact_dump(w, trace->dumps[i]);
    }
    for (size_t i = 0; i < trace->n_logs; i++) {
        redact_log(w, trace->logs[i]);
    }
}

/* A shard as a trace of one file, for as long as it is worked on. */
static struct inq_trace trace_of(struct inq_shard *shard)
{
    return (struct inq_trace){.name = "",
                              .names = &shard->names,
                              .arena = &shard->arena,
                              .n_ranks = shard->n_ranks,
                              .ranks = shard->ranks,
                              .n_launches = shard->launches.n,
                              .launches = shard->launches.rows,
                              .n_files = 1,
                              .files = &shard->file};
}

int inq_redact_shard(struct inq_redaction *redaction, struct inq_shard *shard, bool learn,
                     struct inq_err *err)
{
    struct work w = {.r = redaction, .arena = &shard->arena, .err = err};
    struct inq_trace trace = trace_of(shard);
    if (learn) {
        find_names(&w, &trace);
    } else {
        redact_trace(&w, &trace);
    }
    return w.code;
}

int inq_redaction_apply(struct inq_redaction *redaction, struct inq_run *run, struct inq_err *err)
{
    struct work w = {.r = redaction, .arena = run->arena, .err = err};
    for (size_t t = 0; t < run->n_traces && w.code == INQ_OK; t++) {
        find_names(&w, run->traces[t]);
    }
    for (size_t i = 0; i < run->n_skipped; i++) {
        find_users(&w, run->skipped[i].path);
    }
    for (size_t i = 0; i < run->n_skipped && w.code == INQ_OK; i++) {
        redact_file(&w, &run->skipped[i]);
    }
    for (size_t t = 0; t < run->n_traces && w.code == INQ_OK; t++) {
        redact_trace(&w, run->traces[t]);
    }
    return w.code;
}
