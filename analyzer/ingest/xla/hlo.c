/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/xla/hlo.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct opcode {
    const char *name;
    enum inq_coll_kind kind;
};

/* Communication. A permute is an exchange along pairs. Longer names before what they begin with. */
static const struct opcode comms[] = {
    {"ragged-all-to-all", INQ_COLL_ALLTOALLV},
    {"all-reduce-scatter", INQ_COLL_REDUCE_SCATTER}, /* a fusion's */
    {"all-reduce", INQ_COLL_ALLREDUCE},
    {"all-gather", INQ_COLL_ALLGATHER},
    {"reduce-scatter", INQ_COLL_REDUCE_SCATTER},
    {"all-to-all", INQ_COLL_ALLTOALL},
    {"collective-permute", INQ_COLL_SENDRECV},
    {"collective-broadcast", INQ_COLL_BROADCAST},
    {"send", INQ_COLL_SEND},
    {"recv", INQ_COLL_RECV},
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool starts_with(struct inq_hlo_text text, const char *prefix)
{
    size_t n = strlen(prefix);
    return text.n >= n && memcmp(text.at, prefix, n) == 0;
}

static const char *find(struct inq_hlo_text text, const char *what)
{
    return text.n > 0 ? memmem(text.at, text.n, what, strlen(what)) : NULL;
}

/* ---- name and opcode ------------------------------------------------------------------------- */

/* Up to " = " in a whole text, without the sign of a name. */
static struct inq_hlo_text name_of(struct inq_hlo_text text)
{
    const char *equals = find(text, " = ");
    struct inq_hlo_text name = {text.at, equals != NULL ? (size_t)(equals - text.at) : text.n};
    if (starts_with(name, "ROOT ")) {
        name.at += 5;
        name.n -= 5;
    }
    if (starts_with(name, "%")) {
        name.at++;
        name.n--;
    }
    return name;
}

/* Behind an opcode at the start of a name: nothing, "-start", "-done", ".12", "_fusion". */
static bool is_opcode_of(struct inq_hlo_text name, const char *opcode)
{
    size_t n = strlen(opcode);
    return starts_with(name, opcode) && (name.n == n || !is_word(name.at[n]) || name.at[n] == '_');
}

static void read_opcode(struct inq_hlo *hlo, struct inq_hlo_text name)
{
    for (size_t i = 0; i < COUNT(comms) && hlo->opcode == NULL; i++) {
        if (is_opcode_of(name, comms[i].name)) {
            hlo->opcode = comms[i].name;
            hlo->kind = comms[i].kind;
            hlo->cls = INQ_CLASS_COMM;
        }
    }
    bool copies = is_opcode_of(name, "copy-start") || is_opcode_of(name, "copy-done") ||
                  is_opcode_of(name, "infeed") || is_opcode_of(name, "outfeed") ||
                  is_opcode_of(name, "host-transfer");
    if (hlo->opcode == NULL && copies) {
        hlo->cls = INQ_CLASS_COPY;
        hlo->host_copy = true;
    }
}

/* What ends in "-start" or "-done", but for the number that makes it unique. A send and a receive
 * are begun by ops of these names themselves. */
static enum inq_hlo_part part_of(struct inq_hlo_text name, const char *opcode)
{
    size_t n = name.n;
    const char *dot = n > 0 ? memchr(name.at, '.', n) : NULL;
    n = dot != NULL ? (size_t)(dot - name.at) : n;
    if (n > 5 && memcmp(name.at + n - 5, "-done", 5) == 0) {
        return INQ_HLO_DONE;
    }
    bool posts = opcode != NULL && (strcmp(opcode, "send") == 0 || strcmp(opcode, "recv") == 0);
    bool starts = n > 6 && memcmp(name.at + n - 6, "-start", 6) == 0;
    return starts || posts ? INQ_HLO_START : INQ_HLO_WHOLE;
}

/* ---- shape ----------------------------------------------------------------------------------- */

/* Elements of "f32[16,1024]{1,0}" at `p`, after which *end points; -1: it is none. */
static int64_t read_array(const char *p, const char *stop, struct inq_hlo_text *dtype,
                          const char **end)
{
    const char *open = p;
    while (open < stop && is_word(*open)) {
        open++;
    }
    if (open == p || open == stop || *open != '[') {
        return -1;
    }
    *dtype = (struct inq_hlo_text){p, (size_t)(open - p)};
    int64_t elems = 1;
    int64_t dim = 0;
    for (p = open + 1; p < stop && *p != ']'; p++) {
        if (*p >= '0' && *p <= '9') {
            dim = dim < INT64_MAX / 16 ? dim * 10 + (*p - '0') : dim;
        } else if (*p == ',') {
            elems = dim == 0 || elems < INT64_MAX / dim ? elems * dim : -1;
            dim = 0;
        }
        if (elems < 0) {
            return -1;
        }
    }
    bool scalar = p == open + 1;
    *end = p < stop ? p + 1 : p;
    return scalar ? 1 : dim == 0 || elems < INT64_MAX / dim ? elems * dim : -1;
}

/* The shape behind " = ": of one array, or "(f32[8], f32[16])", whose arrays are summed when they
 * are of one type. The pair of an asynchronous op's operand and result counts the result. */
static void read_shape(struct inq_hlo *hlo, struct inq_hlo_text text)
{
    const char *equals = find(text, " = ");
    const char *stop = text.at + text.n;
    hlo->elems = -1;
    if (equals == NULL) {
        return;
    }
    const char *p = equals + 3;
    const char *begin = p;
    bool tuple = p < stop && *p == '(';
    struct inq_hlo_text dtype = {0};
    const char *end = p;
    int depth = 0;
    do {
        struct inq_hlo_text own = {0};
        depth += p < stop && *p == '(';
        int64_t elems = p < stop && is_word(*p) ? read_array(p, stop, &own, &end) : -1;
        if (elems >= 0) {
            bool same = own.n == dtype.n && (own.n == 0 || memcmp(own.at, dtype.at, own.n) == 0);
            bool add = same && hlo->elems >= 0 && hlo->part == INQ_HLO_WHOLE &&
                       hlo->elems < INT64_MAX - elems;
            hlo->elems = add ? hlo->elems + elems : elems;
            dtype = own;
            p = end;
        } else {
            depth -= p < stop && *p == ')';
            p++;
        }
    } while (tuple && p < stop && depth > 0);
    hlo->dtype = dtype;
    p = p > stop ? stop : p;
    hlo->shape = (struct inq_hlo_text){begin, (size_t)(p - begin)};
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* From behind `key` as far as its brackets close: "{{0,1},{2,3}}", "[2,2]<=[4]T(1,0)". */
static struct inq_hlo_text attribute(struct inq_hlo_text text, const char *key)
{
    const char *p = find(text, key);
    const char *stop = text.at + text.n;
    if (p == NULL) {
        return (struct inq_hlo_text){0};
    }
    p += strlen(key);
    const char *begin = p;
    int depth = 0;
    for (; p < stop; p++) {
        bool opens = *p == '{' || *p == '[' || *p == '(';
        bool closes = *p == '}' || *p == ']' || *p == ')';
        if (depth == 0 && (*p == ' ' || *p == ',' || closes)) {
            break;
        }
        depth += opens - closes;
    }
    return (struct inq_hlo_text){begin, (size_t)(p - begin)};
}

struct inq_hlo inq_hlo_parse(struct inq_hlo_text text, struct inq_hlo_text category)
{
    struct inq_hlo hlo = {.name = name_of(text), .cls = INQ_CLASS_COMPUTE, .elems = -1};
    read_opcode(&hlo, hlo.name);
    if (hlo.opcode == NULL && category.n > 0) {
        read_opcode(&hlo, category);
    }
    hlo.part = part_of(hlo.name, hlo.opcode);
    if (hlo.part == INQ_HLO_WHOLE && hlo.opcode != NULL) {
        hlo.part = part_of(category, NULL);
    }
    read_shape(&hlo, text);
    if (hlo.opcode != NULL) {
        hlo.groups = attribute(text, "replica_groups=");
        hlo.pairs = attribute(text, "source_target_pairs=");
    }
    return hlo;
}

/* ---- replica groups -------------------------------------------------------------------------- */

static bool read_number(const char **p, const char *stop, int32_t *value)
{
    int64_t got = -1;
    for (; *p < stop && **p >= '0' && **p <= '9'; (*p)++) {
        got = (got < 0 ? 0 : got) * 10 + (**p - '0');
        if (got > INT32_MAX) {
            return false;
        }
    }
    *value = (int32_t)got;
    return got >= 0;
}

static size_t listed_groups(struct inq_hlo_text text, int32_t *ranks, size_t *sizes, size_t cap)
{
    const char *p = text.at + 1;
    const char *stop = text.at + text.n;
    size_t n_groups = 0;
    size_t n = 0;
    size_t own = 0;
    for (; p < stop && n < cap; p++) {
        int32_t rank;
        if (read_number(&p, stop, &rank)) {
            ranks[n++] = rank;
            own++;
        }
        if (p < stop && *p == '}' && own > 0) {
            sizes[n_groups++] = own;
            own = 0;
        }
    }
    return n < cap ? n_groups : 0;
}

enum { MAX_DIMS = 8 };

/* Numbers of "[2,4]" at *p into dims; their count, 0: none. */
static size_t read_dims(const char **p, const char *stop, int32_t dims[MAX_DIMS])
{
    size_t n = 0;
    if (*p == stop || (**p != '[' && **p != '(')) {
        return 0;
    }
    (*p)++;
    while (n < MAX_DIMS && read_number(p, stop, &dims[n])) {
        n++;
        if (*p < stop && **p == ',') {
            (*p)++;
        }
    }
    bool closed = *p < stop && (**p == ']' || **p == ')');
    *p += closed;
    return closed ? n : 0;
}

/* "[2,4]<=[4,2]T(1,0)": the numbers from 0 on in the shape [4,2], transposed, cut into 2 groups of
 * 4. */
static size_t iota_groups(struct inq_hlo_text text, int32_t *ranks, size_t *sizes, size_t cap)
{
    int32_t cut[MAX_DIMS];
    int32_t shape[MAX_DIMS];
    int32_t perm[MAX_DIMS] = {0, 1, 2, 3, 4, 5, 6, 7};
    const char *p = text.at;
    const char *stop = text.at + text.n;
    if (read_dims(&p, stop, cut) != 2 || stop - p < 2 || memcmp(p, "<=", 2) != 0) {
        return 0;
    }
    p += 2;
    size_t n_dims = read_dims(&p, stop, shape);
    if (p < stop && *p == 'T') {
        p++;
        if (read_dims(&p, stop, perm) != n_dims) {
            return 0;
        }
    }
    uint64_t total = n_dims > 0 ? 1 : 0;
    for (size_t d = 0; d < n_dims; d++) {
        bool fits = shape[d] > 0 && total * (uint64_t)shape[d] <= cap && perm[d] >= 0 &&
                    (size_t)perm[d] < n_dims;
        total = fits ? total * (uint64_t)shape[d] : 0;
    }
    if (total == 0 || (uint64_t)cut[0] * (uint64_t)cut[1] != total) {
        return 0;
    }
    for (uint64_t i = 0; i < total; i++) {
        uint64_t rest = i; /* its place in the transposed shape, last dimension first */
        uint64_t value = 0;
        for (size_t d = n_dims; d > 0; d--) {
            size_t from = (size_t)perm[d - 1];
            uint64_t stride = 1;
            for (size_t k = from + 1; k < n_dims; k++) {
                stride *= (uint64_t)shape[k];
            }
            value += rest % (uint64_t)shape[from] * stride;
            rest /= (uint64_t)shape[from];
        }
        ranks[i] = value <= INT32_MAX ? (int32_t)value : 0;
    }
    for (int32_t g = 0; g < cut[0]; g++) {
        sizes[g] = (size_t)cut[1];
    }
    return (size_t)cut[0];
}

size_t inq_hlo_groups(struct inq_hlo_text groups, int32_t *ranks, size_t *sizes, size_t cap)
{
    if (groups.n < 2) {
        return 0;
    }
    return groups.at[0] == '{' ? listed_groups(groups, ranks, sizes, cap)
                               : iota_groups(groups, ranks, sizes, cap);
}
