/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the model's words. */
#include "base/strtab.h"
#include "base/words.h"
#include "inquest/trace.h"

#include <ctype.h>
#include <string.h>

const char *inq_trace_str(const struct inq_trace *trace, inq_str id)
{
    return trace->names == NULL ? "" : inq_strtab_get(trace->names, id);
}

const struct inq_launch *inq_trace_launch(const struct inq_trace *trace,
                                          const struct inq_rank *rank, size_t event)
{
    static const struct inq_launch unknown = {0};
    uint32_t row = rank->events.launch != NULL ? rank->events.launch[event] : 0;
    return row < trace->n_launches ? &trace->launches[row] : &unknown;
}

bool inq_rank_on_cpu(const struct inq_trace *trace, const struct inq_rank *rank)
{
    return strcmp(inq_trace_str(trace, rank->device_name), "CPU") == 0;
}

/* Whether the word stands alone in the text: "TPU v4", not "TPUx". */
static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = strstr(text, word); p != NULL; p = strstr(p + 1, word)) {
        bool begins = p == text || isalnum((unsigned char)p[-1]) == 0;
        if (begins && isalpha((unsigned char)p[n]) == 0) {
            return true;
        }
    }
    return false;
}

const char *inq_rank_device(const struct inq_trace *trace, const struct inq_rank *rank)
{
    static const char *const words[] = {"CPU", "NPU", "TPU", "HPU", "MLU", "MTIA"};
    const char *name = inq_trace_str(trace, rank->device_name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (has_word(name, words[i])) {
            return words[i];
        }
    }
    return "GPU";
}

bool inq_launch_same_grid(const struct inq_launch *a, const struct inq_launch *b)
{
    for (int i = 0; i < 3; i++) {
        if (a->grid[i] != b->grid[i] || a->block[i] != b->block[i]) {
            return false;
        }
    }
    return a->grid[0] > 0 && a->block[0] > 0;
}

const char *inq_coll_kind_text(enum inq_coll_kind kind)
{
    static const char *const text[] = {INQ_COLL_KINDS(INQ_WORD_TEXT)};
    return kind < INQ_COLL_KIND_COUNT ? text[kind] : text[0];
}

const char *inq_op_type_text(enum inq_op_type type)
{
    static const char *const text[] = {INQ_OP_TYPES(INQ_WORD_TEXT)};
    return type < INQ_OP_TYPE_COUNT ? text[type] : text[0];
}

const char *inq_damage_text(enum inq_damage_kind kind)
{
#define DAMAGE_TEXT(name, word, text) text,
    static const char *const texts[] = {INQ_DAMAGE_KINDS(DAMAGE_TEXT)};
#undef DAMAGE_TEXT
    return kind < INQ_DAMAGE_KIND_COUNT ? texts[kind] : "unknown damage";
}

const char *inq_damage_word(enum inq_damage_kind kind)
{
#define DAMAGE_WORD(name, word, text) word,
    static const char *const words[] = {INQ_DAMAGE_KINDS(DAMAGE_WORD)};
#undef DAMAGE_WORD
    return kind < INQ_DAMAGE_KIND_COUNT ? words[kind] : "unknown";
}

uint64_t inq_damage_total(const struct inq_damage *damage)
{
    uint64_t total = 0;
    for (int kind = 0; kind < INQ_DAMAGE_KIND_COUNT; kind++) {
        /* garbage is counted in bytes: as places it is one */
        bool bytes = kind == INQ_DAMAGE_GARBAGE;
        total += bytes && damage->count[kind] > 0 ? 1 : damage->count[kind];
    }
    return total;
}

bool inq_trace_has_labels(const struct inq_trace *trace)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (trace->ranks[r].events.label != NULL) {
            return true;
        }
    }
    return false;
}
