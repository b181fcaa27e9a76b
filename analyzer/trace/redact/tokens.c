/* SPDX-License-Identifier: Apache-2.0 */
/* Keyed tokens: SipHash-2-4 of Aumasson and Bernstein, of which 48 bits are shown: among a million
 * names two share a token with a chance of two in a thousand, and a token is still easy to read. */
#include "trace/redact/tokens.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/words.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

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
    if (id >= r->cap_tokens) {
        size_t cap = 2 * (size_t)id + 64;
        const char **tokens = inq_mem_realloc(r->tokens, cap * sizeof *tokens);
        if (tokens == NULL) {
            return inq_err_set(err, INQ_NOMEM, "no memory for tokens");
        }
        r->tokens = tokens;
        r->cap_tokens = cap;
    }
    r->tokens[id] = token;
    r->n_tokens = (size_t)id + 1;
    return INQ_OK;
}

/* "0node-7": what the table of names holds of a name; NULL when memory is out. */
static char *entry_of(struct inq_arena *arena, enum inq_redact_kind kind, const char *name,
                      size_t len)
{
    return inq_arena_printf(arena, "%d%.*s", (int)kind, (int)len, name);
}

const char *inq_redact_token(struct inq_redaction *r, enum inq_redact_kind kind, const char *name,
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
    const char *token = inq_arena_printf(&r->arena, "%s-%012" PRIx64 "%s", kind_texts[kind],
                                         siphash(r->key, entry, len + 1) >> 16,
                                         kind == INQ_REDACT_KERNEL ? class_word(entry + 1) : "");
    if (token == NULL) {
        (void)inq_err_set(err, INQ_NOMEM, "no memory for tokens");
        return NULL;
    }
    if (keep_token(r, id, token, err) != INQ_OK) {
        return NULL;
    }
    r->count[kind]++;
    return token;
}

bool inq_redact_knows(const struct inq_redaction *r, enum inq_redact_kind kind, const char *name,
                      size_t len)
{
    uint32_t id;
    char entry[256];
    int n = snprintf(entry, sizeof entry, "%d%.*s", (int)kind, (int)len, name);
    return n > 0 && (size_t)n < sizeof entry && inq_strtab_find(&r->names, entry, (size_t)n, &id);
}

size_t inq_redaction_count(const struct inq_redaction *redaction, enum inq_redact_kind kind)
{
    return (unsigned)kind < INQ_REDACT_KIND_COUNT ? redaction->count[kind] : 0;
}

/* ---- the map --------------------------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b, void *ctx)
{
    const struct inq_redaction *r = ctx;
    const uint32_t *x = a;
    const uint32_t *y = b;
    return strcmp(inq_strtab_get(&r->names, *x), inq_strtab_get(&r->names, *y));
}

static void write_quoted(struct inq_out *out, const char *text)
{
    inq_out_text(out, "\"");
    for (const char *p = text; *p != '\0'; p++) {
        inq_out_bytes(out, p, 1);
        if (*p == '"') {
            inq_out_text(out, "\"");
        }
    }
    inq_out_text(out, "\"");
}

int inq_redaction_map(const struct inq_redaction *redaction, struct inq_sink sink,
                      struct inq_err *err)
{
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    size_t n = redaction->n_tokens > 0 ? redaction->n_tokens - 1 : 0; /* id 0 is "" */
    uint32_t *order = inq_mem_alloc((n + 1) * sizeof *order);
    int code = order != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "no memory for a map");
    for (uint32_t i = 0; code == INQ_OK && i < n; i++) {
        order[i] = i + 1;
    }
    if (code == INQ_OK) {
        code = inq_sort(order, n, sizeof *order, compare_entries, (void *)redaction, err);
    }
    inq_out_text(&out, "kind,name,token\r\n");
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        const char *entry = inq_strtab_get(&redaction->names, order[i]);
        inq_out_printf(&out, "%s,", kind_texts[entry[0] - '0']);
        write_quoted(&out, entry + 1);
        inq_out_printf(&out, ",%s\r\n", redaction->tokens[order[i]]);
    }
    inq_mem_free(order);
    return inq_out_end(&out, code, "the map of a redaction", err);
}
