/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra execution traces (MLCommons): the graph of what one rank did, one file a rank. Nodes that
 * were linked with a device trace have times; of those the devices' become rows, and the host's
 * nodes that called them their launches. */
#include "base/hash.h"
#include "ingest/chakra/rows.h"
#include "ingest/ingest.h"
#include "ingest/wire/wire.h"

#include <stddef.h>
#include <string.h>

/* ---- as protocol buffers --------------------------------------------------------------------- */

enum {
    NODE_ID = 1,
    NODE_NAME = 2,
    NODE_TYPE = 3,
    NODE_CTRL_DEPS = 4,
    NODE_DATA_DEPS = 5,
    NODE_START = 6,
    NODE_DURATION = 7,
    NODE_INPUTS = 8,
    NODE_OUTPUTS = 9,
    NODE_ATTR = 10,
    NODE_STORAGE = 11
};
enum { METADATA_VERSION = 1, METADATA_ATTR = 2 };
enum { IO_VALUES = 1, IO_SHAPES = 2, IO_TYPES = 3 };
enum {
    ATTR_NAME = 1,
    ATTR_SINT32 = 15,
    ATTR_SINT64 = 17,
    ATTR_STRING = 29,
    ATTR_LAST = 32,
};
/* Types there are, with room for those to come. */
enum { MAX_TYPE = 31 };

static void node_init(struct inq_chakra_node *node)
{
    *node = (struct inq_chakra_node){.id = -1,
                                     .parent = -1,
                                     .type = INQ_CHAKRA_NONE,
                                     .start_us = -1,
                                     .dur_us = -1,
                                     .is_cpu_op = -1,
                                     .stream = -1,
                                     .tid = -1,
                                     .pid = -1,
                                     .comm_type = -1,
                                     .comm_size = -1,
                                     .comm_src = -1,
                                     .comm_dst = -1,
                                     .dur_ns = -1,
                                     .stage = -1,
                                     .chunk = -1,
                                     .micro_batch = -1,
                                     .step = -1,
                                     .dp_rank = -1,
                                     .seq = -1};
}

static void set_attribute(struct inq_chakra_node *node, struct inq_text name, int64_t number,
                          struct inq_text text)
{
#define AT(member) offsetof(struct inq_chakra_node, member)
    static const struct {
        const char *name;
        size_t at;
    } numbers[] = {{"is_cpu_op", AT(is_cpu_op)},
                   {"stream", AT(stream)},
                   {"tid", AT(tid)},
                   {"pid", AT(pid)},
                   {"comm_type", AT(comm_type)},
                   {"comm_size", AT(comm_size)},
                   {"comm_src", AT(comm_src)},
                   {"comm_dst", AT(comm_dst)},
                   {"duration_nanos", AT(dur_ns)},
                   {"stage", AT(stage)},
                   {"chunk", AT(chunk)},
                   {"micro_batch", AT(micro_batch)},
                   {"step", AT(step)},
                   {"dp_rank", AT(dp_rank)},
                   {"seq_id", AT(seq)}};
#undef AT
    if (inq_text_is(name, "pg_name")) {
        node->group = text;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && text.n == 0; i++) {
        if (inq_text_is(name, numbers[i].name)) {
            node->bad_number = node->bad_number || number < 0;
            *(int64_t *)(void *)((char *)node + numbers[i].at) = number;
        }
    }
}

static struct inq_text text_of(const struct inq_wire *bytes)
{
    size_t n = inq_wire_len(bytes);
    return (struct inq_text){bytes->at, n <= UINT32_MAX ? (uint32_t)n : UINT32_MAX};
}

static int64_t zigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Lists and decimal numbers are no attribute of interest. */
static bool read_attribute(struct inq_wire message, struct inq_chakra_node *node)
{
    struct inq_wire_field field;
    struct inq_text name = {NULL, 0};
    struct inq_text text = {NULL, 0};
    int64_t number = -1;
    bool has_number = false;
    while (inq_wire_next(&message, &field)) {
        bool bytes = field.type == INQ_WIRE_BYTES;
        if (field.number > ATTR_LAST || (field.number == ATTR_NAME && !bytes)) {
            return false;
        }
        if (field.number == ATTR_NAME) {
            name = text_of(&field.bytes);
        } else if (field.number == ATTR_STRING && bytes) {
            text = text_of(&field.bytes);
        } else if (!bytes) {
            bool signs = field.number == ATTR_SINT32 || field.number == ATTR_SINT64;
            number = signs ? zigzag(field.value) : (int64_t)field.value;
            has_number = true;
        }
    }
    if (!message.bad && name.n > 0 && (has_number || text.n > 0)) {
        set_attribute(node, name, number, text);
    }
    return !message.bad;
}

static bool read_inputs(struct inq_wire message, struct inq_chakra_node *node)
{
    struct inq_wire_field field;
    while (inq_wire_next(&message, &field)) {
        if (field.type != INQ_WIRE_BYTES) {
            return false;
        }
        if (field.number == IO_VALUES) {
            node->values = text_of(&field.bytes);
        } else if (field.number == IO_SHAPES) {
            node->shapes = text_of(&field.bytes);
        } else if (field.number == IO_TYPES) {
            node->types = text_of(&field.bytes);
        }
    }
    return !message.bad;
}

/* Data dependencies stay in front of control dependencies. */
static void add_dependency(struct inq_chakra_node *node, int64_t id, bool data)
{
    node->parent = !data && node->parent < 0 ? id : node->parent;
    node->more_deps = node->more_deps || node->n_deps == INQ_CHAKRA_DEPS;
    if (id < 0 || node->n_deps == INQ_CHAKRA_DEPS) {
        return;
    }
    node->deps[node->n_deps++] = id;
    if (data) {
        int64_t moved = node->deps[node->n_data_deps];
        node->deps[node->n_data_deps++] = id;
        node->deps[node->n_deps - 1] = node->n_data_deps < node->n_deps ? moved : id;
    }
}

/* One number, or several packed. */
static bool read_dependencies(struct inq_chakra_node *node, const struct inq_wire_field *field)
{
    bool data = field->number == NODE_DATA_DEPS;
    struct inq_wire packed = field->bytes;
    uint64_t value = field->value;
    bool more = field->type == INQ_WIRE_VARINT || inq_wire_varint(&packed, &value);
    while (more) {
        int64_t id = value <= INT64_MAX ? (int64_t)value : -1;
        add_dependency(node, id, data);
        more = field->type == INQ_WIRE_BYTES && inq_wire_varint(&packed, &value);
    }
    return !packed.bad && (field->type == INQ_WIRE_BYTES || field->type == INQ_WIRE_VARINT);
}

static bool read_number(struct inq_chakra_node *node, const struct inq_wire_field *field,
                        int64_t *out)
{
    node->bad_number = node->bad_number || field->value > INT64_MAX;
    *out = field->value <= INT64_MAX ? (int64_t)field->value : -1;
    return field->type == INQ_WIRE_VARINT;
}

static bool is_name(struct inq_text text)
{
    for (uint32_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] < ' ') {
            return false;
        }
    }
    return true;
}

static bool read_field(struct inq_chakra_node *node, const struct inq_wire_field *field)
{
    bool bytes = field->type == INQ_WIRE_BYTES;
    switch (field->number) {
    case NODE_ID:
        return read_number(node, field, &node->id);
    case NODE_NAME:
        node->name = bytes ? text_of(&field->bytes) : node->name;
        return bytes && is_name(node->name);
    case NODE_TYPE:
        return read_number(node, field, &node->type) && node->type >= 0 && node->type <= MAX_TYPE;
    case NODE_CTRL_DEPS:
    case NODE_DATA_DEPS:
        return read_dependencies(node, field);
    case NODE_START:
        return read_number(node, field, &node->start_us);
    case NODE_DURATION:
        return read_number(node, field, &node->dur_us);
    case NODE_INPUTS:
        return bytes && read_inputs(field->bytes, node);
    case NODE_ATTR:
        return bytes && read_attribute(field->bytes, node);
    default:
        return field->number > NODE_STORAGE || bytes; /* outputs, storage, what is to come */
    }
}

/* A version and attributes: in a node the first field is a number, the second is no message. */
static bool read_metadata(struct inq_wire message, struct inq_chakra_node *node)
{
    struct inq_wire_field field;
    node->is_metadata = true;
    while (inq_wire_next(&message, &field)) {
        bool known = field.number == METADATA_VERSION || field.number == METADATA_ATTR;
        if (!known || field.type != INQ_WIRE_BYTES ||
            (field.number == METADATA_VERSION && !is_name(text_of(&field.bytes))) ||
            (field.number == METADATA_ATTR && !read_attribute(field.bytes, node))) {
            return false;
        }
    }
    return !message.bad;
}

static bool decode(struct inq_wire message, struct inq_chakra_node *node)
{
    struct inq_wire rest = message;
    struct inq_wire_field field;
    node_init(node);
    bool good = true;
    while (good && inq_wire_next(&rest, &field)) {
        good = read_field(node, &field);
    }
    if (good && !rest.bad && node->name.n > 0 && node->type != INQ_CHAKRA_NONE) {
        node->id = node->id < 0 ? 0 : node->id;
        return true;
    }
    node_init(node);
    return read_metadata(message, node);
}

/* ---- as JSON ----------------------------------------------------------------------------------
 */

/* Protobuf's: one object after the other, 64-bit numbers in quotes; and the members of ASTRA-sim's
 * "workload_graph". */
#define AT(member) offsetof(struct inq_chakra_node, member)

static const struct {
    const char *key;
    size_t at;
} numbers[] = {
    {"id", AT(id)},
    {"Id", AT(id)},
    {"startTimeMicros", AT(start_us)},
    {"start_time_micros", AT(start_us)},
    {"durationMicros", AT(dur_us)},
    {"duration_micros", AT(dur_us)},
    {"runtime", AT(dur_us)},
};

/* In the order of their numbers. */
static const char *const types[] = {
    "INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
    "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE",
};

static enum inq_scan_result scan_scalar(struct inq_scan *scan, int first, struct inq_text *text)
{
    return first == '"' ? inq_scan_string(scan, text) : inq_scan_bare(scan, text);
}

static int64_t number_of(struct inq_text text, bool *bad)
{
    int64_t value = -1;
    if (inq_text_is(text, "true") || inq_text_is(text, "false")) {
        return text.n == 4;
    }
    if (!inq_scan_int(text.p, text.n, &value) || value < 0) {
        *bad = true;
        value = -1;
    }
    return value;
}

static int64_t type_of(struct inq_text text, bool *bad)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (inq_text_is(text, types[i])) {
            return (int64_t)i;
        }
    }
    /* one of the host's, or a number */
    bool word = text.n > 5 && memcmp(text.p + text.n - 5, "_NODE", 5) == 0;
    return word ? INQ_CHAKRA_METADATA : number_of(text, bad);
}

/* {"name": "comm_size", "int64Val": "4096"} */
static enum inq_scan_result scan_attribute(struct inq_scan *scan, struct inq_chakra_node *node)
{
    struct inq_text name = {NULL, 0};
    struct inq_text value = {NULL, 0};
    bool string = false;
    scan->p++;
    for (;;) {
        struct inq_text key = {NULL, 0};
        struct inq_text text = {NULL, 0};
        int first = 0;
        enum inq_scan_result result = inq_scan_member(scan, &key, &first);
        if (result != INQ_SCAN_OK || first == 0) {
            bool bad = false;
            struct inq_text none = {NULL, 0};
            if (result == INQ_SCAN_OK && string) {
                set_attribute(node, name, -1, value);
            } else if (result == INQ_SCAN_OK && value.n > 0) {
                set_attribute(node, name, number_of(value, &bad), none);
            }
            return result;
        }
        bool scalar = first != '{' && first != '[';
        result = scalar ? scan_scalar(scan, first, &text) : inq_scan_skip(scan);
        if (result != INQ_SCAN_OK) {
            return result;
        }
        if (inq_text_is(key, "name")) {
            name = text;
        } else if (scalar && !inq_text_is(key, "docString")) {
            value = text;
            string = inq_text_is(key, "stringVal");
        }
    }
}

static enum inq_scan_result scan_attributes(struct inq_scan *scan, struct inq_chakra_node *node)
{
    scan->p++;
    for (;;) {
        int first = 0;
        enum inq_scan_result result = inq_scan_element(scan, &first);
        if (result != INQ_SCAN_OK || first == 0) {
            return result;
        }
        result = first == '{' ? scan_attribute(scan, node) : INQ_SCAN_BAD;
        if (result != INQ_SCAN_OK) {
            return result;
        }
    }
}

static enum inq_scan_result scan_inputs(struct inq_scan *scan, struct inq_chakra_node *node)
{
    scan->p++;
    for (;;) {
        struct inq_text key = {NULL, 0};
        struct inq_text text = {NULL, 0};
        int first = 0;
        enum inq_scan_result result = inq_scan_member(scan, &key, &first);
        if (result != INQ_SCAN_OK || first == 0) {
            return result;
        }
        result = first == '"' ? inq_scan_string(scan, &text) : inq_scan_skip(scan);
        if (result != INQ_SCAN_OK) {
            return result;
        }
        if (inq_text_is(key, "values")) {
            node->values = text;
        } else if (inq_text_is(key, "shapes")) {
            node->shapes = text;
        } else if (inq_text_is(key, "types")) {
            node->types = text;
        }
    }
}

/* A list of ids. */
static enum inq_scan_result scan_dependencies(struct inq_scan *scan, bool data,
                                              struct inq_chakra_node *node)
{
    scan->p++;
    for (;;) {
        struct inq_text text = {NULL, 0};
        int first = 0;
        enum inq_scan_result result = inq_scan_element(scan, &first);
        if (result != INQ_SCAN_OK || first == 0) {
            return result;
        }
        bool scalar = first != '{' && first != '[';
        result = scalar ? scan_scalar(scan, first, &text) : INQ_SCAN_BAD;
        if (result != INQ_SCAN_OK) {
            return result;
        }
        int64_t id = number_of(text, &node->bad_number);
        add_dependency(node, id, data);
    }
}

static bool is_dependencies(struct inq_text key)
{
    return inq_text_is(key, "ctrlDeps") || inq_text_is(key, "ctrl_deps") ||
           inq_text_is(key, "dataDeps") || inq_text_is(key, "data_deps");
}

/* Members of workload graphs are attributes without a list of them. */
static void take_scalar(struct inq_chakra_node *node, struct inq_text key, struct inq_text text,
                        bool quoted)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (inq_text_is(key, numbers[i].key)) {
            *(int64_t *)(void *)((char *)node + numbers[i].at) = number_of(text, &node->bad_number);
            return;
        }
    }
    if (inq_text_is(key, "name") || inq_text_is(key, "Name")) {
        node->name = text;
    } else if (inq_text_is(key, "type") || inq_text_is(key, "NodeType")) {
        node->type = type_of(text, &node->bad_number);
    } else if (inq_text_is(key, "version")) {
        node->is_metadata = true;
    } else {
        bool bad = false;
        struct inq_text none = {NULL, 0};
        bool group = quoted && inq_text_is(key, "pg_name");
        set_attribute(node, key, group ? -1 : number_of(text, &bad), group ? text : none);
    }
}

static enum inq_scan_result scan_node(struct inq_scan *scan, struct inq_chakra_node *node)
{
    node_init(node);
    node->escaped = true;
    scan->p++;
    for (;;) {
        struct inq_text key = {NULL, 0};
        struct inq_text text = {NULL, 0};
        int first = 0;
        enum inq_scan_result result = inq_scan_member(scan, &key, &first);
        if (result != INQ_SCAN_OK || first == 0) {
            node->is_metadata = node->is_metadata && node->id < 0;
            return result;
        }
        if (first == '[' && inq_text_is(key, "attr")) {
            result = scan_attributes(scan, node);
        } else if (first == '{' && inq_text_is(key, "inputs")) {
            result = scan_inputs(scan, node);
        } else if (first == '[' && is_dependencies(key)) {
            result = scan_dependencies(scan, key.p[0] == 'd', node);
        } else if (first == '{' || first == '[') {
            result = inq_scan_skip(scan);
        } else {
            result = scan_scalar(scan, first, &text);
            if (result == INQ_SCAN_OK) {
                take_scalar(node, key, text, first == '"');
            }
        }
        if (result != INQ_SCAN_OK) {
            return result;
        }
    }
}

static bool is_node(const struct inq_chakra_node *node)
{
    return node->type > INQ_CHAKRA_NONE && node->type < INT32_MAX && node->name.n > 0;
}

/* ---- one after the other ----------------------------------------------------------------------
 */

/* In protocol buffers every message has its length in front, as a varint; in JSON one object
 * follows the other. */
/* A longer message is none. */
enum { MAX_MESSAGE = INQ_SCAN_MAX_EVENT };
/* Among damage a node is looked for at every byte, so the message there must be of a usual size:
 * nodes of PyTorch take some hundred bytes. */
enum { MAX_FOUND = 1 << 16 };
/* A varint of no more bytes is the length of a message that is not too long. */
enum { MAX_LENGTH_BYTES = 5 };
/* And no file makes that take long: messages look broken in their first bytes, so that looking
 * costs some bytes each. */
enum { LOOKS = 64 };

static bool has(const char *head, size_t n, const char *word)
{
    return memmem(head, n, word, strlen(word)) != NULL;
}

/* "{" alone may as well be the length of the first message. */
static bool is_json(const char *head, size_t n)
{
    static const char *const nodes[] = {
        "\"COMP_NODE\"",     "\"COMM_COLL_NODE\"", "\"COMM_SEND_NODE\"", "\"COMM_RECV_NODE\"",
        "\"METADATA_NODE\"", "\"MEM_LOAD_NODE\"",  "\"MEM_STORE_NODE\""};
    size_t at = 0;
    while (at < n && strchr(" \t\r\n", head[at]) != NULL && head[at] != '\0') {
        at++;
    }
    bool typed = has(head, n, "\"workload_graph\"") && has(head, n, "\"NodeType\"");
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        typed = typed || has(head, n, nodes[i]);
    }
    return typed && head[at] == '{' && !has(head, n, "\"traceEvents\"");
}

/* What is being read, and where. */
struct frames {
    struct inq_window window;
    struct inq_damage *damage;
    bool json;
    bool begun;     /* something was read: metadata stands in front */
    int64_t offset; /* of what was read last */
    uint64_t left;  /* bytes that looking for a node among damage may still look at */
};

static size_t held(const struct inq_window *w)
{
    return (size_t)(w->end - w->p);
}

/* Has `n` bytes there, or all that are left. */
static int need(struct inq_window *w, size_t n, struct inq_err *err)
{
    int code = INQ_OK;
    while (code == INQ_OK && held(w) < n && !w->ended) {
        code = inq_window_more(w, n - held(w), err);
    }
    return code;
}

/* ---- protocol buffers ------------------------------------------------------------------------ */

/* The message behind the length at `at`. False: there is no length, or none that can be. *cut: the
 * message goes on behind `end`. */
static bool message_at(const char *at, const char *end, struct inq_wire *message, bool *cut)
{
    struct inq_wire rest = inq_wire_of(at, (size_t)(end - at));
    uint64_t length = 0;
    *message = inq_wire_of(at, 0);
    if (!inq_wire_varint(&rest, &length)) {
        *cut = end - at < MAX_LENGTH_BYTES;
        return false;
    }
    *cut = length <= MAX_MESSAGE && length > inq_wire_len(&rest);
    if (length > MAX_MESSAGE) {
        return false;
    }
    *message = inq_wire_of(rest.at, *cut ? inq_wire_len(&rest) : (size_t)length);
    return true;
}

/* A node whose length is right, for there is no other sign of where one begins. */
static bool is_node_at(struct frames *f, const char *at, const char *end)
{
    struct inq_wire message;
    struct inq_chakra_node node;
    bool cut = false;
    if (!message_at(at, end, &message, &cut) || cut || message.end - at > MAX_FOUND) {
        return false;
    }
    /* only one that begins as nodes do, by its id or name, is worth the look */
    bool begins = inq_wire_len(&message) > 3 && (*message.at == 0x08 || *message.at == 0x12);
    uint64_t cost = begins ? inq_wire_len(&message) : 0;
    cost = cost < f->left ? cost : f->left;
    f->left -= cost;
    return begins && f->left > 0 && decode(message, &node) && !node.is_metadata;
}

/* Behind damage: passes over bytes up to the next node, and counts them. */
static int find_node(struct frames *f, struct inq_err *err)
{
    struct inq_window *w = &f->window;
    int64_t from = inq_window_offset(w, w->p);
    bool found = false;
    int code = INQ_OK;
    w->p++;
    while (code == INQ_OK && !found) {
        code = need(w, 2 * (size_t)MAX_FOUND, err);
        if (code != INQ_OK || held(w) == 0) {
            break;
        }
        /* further on a message might look cut only because the rest is not here yet */
        size_t room = w->ended ? held(w) : held(w) - MAX_FOUND;
        for (const char *stop = w->p + room; w->p < stop && !found;) {
            found = is_node_at(f, w->p, w->end);
            w->p += !found;
        }
    }
    inq_damage_add(f->damage, INQ_DAMAGE_GARBAGE, (uint64_t)(inq_window_offset(w, w->p) - from),
                   from);
    return code;
}

static int next_message(struct frames *f, struct inq_chakra_node *node, bool *found,
                        struct inq_err *err)
{
    struct inq_window *w = &f->window;
    while (!*found) {
        struct inq_wire message;
        bool cut = false;
        int code = need(w, 8, err);
        bool sized = code == INQ_OK && held(w) > 0 && message_at(w->p, w->end, &message, &cut);
        if (code != INQ_OK || held(w) == 0) {
            return code;
        }
        if (sized && cut && !w->ended) {
            code = inq_window_more(w, held(w), err);
            if (code != INQ_OK) {
                return code;
            }
            continue;
        }
        bool empty = sized && inq_wire_len(&message) == 0;
        bool first = !f->begun;
        f->begun = true;
        f->offset = inq_window_offset(w, w->p);
        if (sized && !cut && (!empty || first) && decode(message, node)) {
            f->left += LOOKS * (uint64_t)(message.end - w->p);
            w->p = (char *)(uintptr_t)message.end;
            *found = true;
            return INQ_OK;
        }
        inq_damage_add(f->damage, cut && w->ended ? INQ_DAMAGE_TRUNCATED : INQ_DAMAGE_BAD_EVENT, 1,
                       f->offset);
        code = find_node(f, err);
        if (code != INQ_OK) {
            return code;
        }
    }
    return INQ_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Its key and bracket lie within this many bytes. */
enum { MAX_GRAPH_HEAD = 256 };

/* The list that ASTRA-sim's workload graphs hold their nodes in. */
static bool is_workload_graph(struct inq_scan *scan)
{
    struct inq_scan inner = {scan->p + 1, scan->end, NULL};
    struct inq_text key = {NULL, 0};
    bool is = inq_scan_blank(&inner) == '"' && inq_scan_key(&inner, &key) == INQ_SCAN_OK &&
              inq_text_is(key, "workload_graph") && inq_scan_blank(&inner) == '[';
    scan->p = is ? inner.p + 1 : scan->p;
    return is;
}

static bool is_between(char c)
{
    return c != '\0' && strchr(" \t\r\n,[]}", c) != NULL;
}

/* What is no node: up to the next opening brace. */
static int pass_object(struct inq_window *w, struct inq_err *err)
{
    w->p++;
    for (;;) {
        char *brace = memchr(w->p, '{', held(w));
        w->p = brace != NULL ? brace : w->end;
        if (brace != NULL || w->ended) {
            return INQ_OK;
        }
        int code = inq_window_more(w, 1, err);
        if (code != INQ_OK) {
            return code;
        }
    }
}

/* At a byte that is not between objects. */
static int read_object(struct frames *f, struct inq_chakra_node *node, bool *found,
                       struct inq_err *err)
{
    struct inq_window *w = &f->window;
    size_t have = held(w);
    struct inq_scan scan = {w->p, w->p + (have < MAX_GRAPH_HEAD ? have : MAX_GRAPH_HEAD), NULL};
    if (have < MAX_GRAPH_HEAD && !w->ended) {
        return inq_window_more(w, MAX_GRAPH_HEAD, err);
    }
    if (*w->p == '{' && is_workload_graph(&scan)) {
        w->p = (char *)(uintptr_t)scan.p;
        return INQ_OK;
    }
    scan = (struct inq_scan){w->p, w->end, NULL};
    enum inq_scan_result result = *w->p == '{' ? scan_node(&scan, node) : INQ_SCAN_BAD;
    if (result == INQ_SCAN_MORE && !w->ended && have < MAX_MESSAGE) {
        return inq_window_more(w, have, err);
    }
    bool whole = result == INQ_SCAN_OK && (node->is_metadata || is_node(node));
    bool first = !f->begun;
    f->begun = true;
    f->offset = inq_window_offset(w, w->p);
    if (whole || (first && result == INQ_SCAN_OK)) { /* metadata may be empty */
        node->is_metadata = node->is_metadata || !whole;
        f->left += LOOKS * (uint64_t)(scan.p - w->p);
        w->p = (char *)(uintptr_t)scan.p;
        *found = true;
        return INQ_OK;
    }
    uint64_t cost = result == INQ_SCAN_MORE ? have : (uint64_t)(scan.p - w->p) + 1;
    f->left -= cost < f->left ? cost : f->left;
    inq_damage_add(f->damage, result == INQ_SCAN_MORE ? INQ_DAMAGE_TRUNCATED : INQ_DAMAGE_BAD_EVENT,
                   1, f->offset);
    return pass_object(w, err);
}

static int next_object(struct frames *f, struct inq_chakra_node *node, bool *found,
                       struct inq_err *err)
{
    struct inq_window *w = &f->window;
    int code = INQ_OK;
    while (code == INQ_OK && !*found && f->left > 0) {
        while (w->p < w->end && is_between(*w->p)) {
            w->p++;
        }
        if (w->p < w->end) {
            code = read_object(f, node, found, err);
        } else if (w->ended) {
            break;
        } else {
            code = inq_window_more(w, 1, err);
        }
    }
    if (code == INQ_OK && f->left == 0) {
        inq_damage_add(f->damage, INQ_DAMAGE_LIMIT, 1, inq_window_offset(w, w->p));
    }
    return code;
}

static int next_node(void *ctx, struct inq_chakra_node *node, int64_t *offset, bool *found,
                     struct inq_err *err)
{
    struct frames *f = ctx;
    *found = false;
    int code = f->json ? next_object(f, node, found, err) : next_message(f, node, found, err);
    *offset = f->offset;
    return code;
}

/* What PyTorch's ExecutionTraceObserver writes: operators in the order of the host, their tensors,
 * and nothing of a device. */
static bool is_observed(const char *head, size_t n)
{
    return has(head, n, "\"schema\"") && has(head, n, "-chakra.") && has(head, n, "\"nodes\"");
}

static int refuse_observed(struct inq_shard *shard, struct inq_err *err)
{
    shard->file.reason = "PyTorch's own execution trace, without times and device work: give the "
                         "Kineto trace of the run, or both linked (chakra_trace_link)";
    return inq_err_set(err, INQ_UNSUPPORTED, "%s", shard->file.reason);
}

static int read_chakra(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    const char *head = NULL;
    size_t n = 0;
    struct frames f = {.damage = &shard->file.damage, .left = LOOKS * (uint64_t)MAX_FOUND};
    shard->file.format = INQ_CHAKRA_FORMAT;
    shard->file.reason = shard->file.reason != NULL ? shard->file.reason : "";
    int code = inq_source_peek(source, &head, &n, err);
    if (code == INQ_OK && is_observed(head, n)) {
        return refuse_observed(shard, err);
    }
    if (code == INQ_OK) {
        f.json = is_json(head, n);
        code = inq_window_init(&f.window, source, err);
    }
    code = code == INQ_OK ? inq_chakra_rows(shard, next_node, &f, err) : code;
    inq_window_release(&f.window);
    return code;
}

/* ---- recognition ----------------------------------------------------------------------------- */

/* Metadata and then nodes, as many as the head holds; the last may be cut off by its end. One node
 * has so many fields of their own types that it is enough where damage follows it. */
static int sniff_messages(const char *head, size_t n)
{
    enum { ENOUGH = 4, SURE = 90, DAMAGED = 50 };
    const char *end = head + n;
    int nodes = 0;
    bool good = true;
    for (const char *at = head; at < end && nodes < ENOUGH && good;) {
        struct inq_wire message;
        struct inq_chakra_node node;
        bool cut = false;
        good = message_at(at, end, &message, &cut);
        if (cut) {
            break;
        }
        good = good && decode(message, &node) && (!node.is_metadata || at == head);
        nodes += good && !node.is_metadata;
        at = message.end;
    }
    return nodes == 0 ? 0 : good ? SURE : DAMAGED;
}

static int sniff_chakra(const char *head, size_t n, const char *path)
{
    (void)path;
    return is_json(head, n) || is_observed(head, n) ? 96 : sniff_messages(head, n);
}

const struct inq_reader inq_reader_chakra = {
    .name = INQ_CHAKRA_FORMAT,
    .summary = "Chakra execution traces (*.et, or as JSON), with times or without",
    .sniff = sniff_chakra,
    .read = read_chakra,
    .join = inq_chakra_join,
};
