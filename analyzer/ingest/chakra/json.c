/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes as JSON: protobuf's (one object after the other, 64-bit numbers in quotes), and the members
 * of ASTRA-sim's "workload_graph". */
#include "ingest/chakra/node.h"

#include <stddef.h>
#include <string.h>

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

/* The next member's key and the first byte of its value; *first is 0 at the closing brace, which is
 * passed. */
static enum inq_scan_result next_member(struct inq_scan *scan, struct inq_text *key, int *first)
{
    int c = inq_scan_blank(scan);
    if (c == ',') {
        scan->p++;
        c = inq_scan_blank(scan);
    }
    *first = 0;
    if (c == '}') {
        scan->p++;
        return INQ_SCAN_OK;
    }
    if (c != '"') {
        return c < 0 ? INQ_SCAN_MORE : INQ_SCAN_BAD;
    }
    enum inq_scan_result result = inq_scan_key(scan, key);
    if (result == INQ_SCAN_OK) {
        *first = inq_scan_blank(scan);
        result = *first < 0 ? INQ_SCAN_MORE : INQ_SCAN_OK;
    }
    return result;
}

/* The same in a list: the first byte of the next element, 0 at its end. */
static enum inq_scan_result next_element(struct inq_scan *scan, int *first)
{
    int c = inq_scan_blank(scan);
    if (c == ',') {
        scan->p++;
        c = inq_scan_blank(scan);
    }
    *first = c == ']' ? 0 : c;
    scan->p += c == ']';
    return c < 0 ? INQ_SCAN_MORE : INQ_SCAN_OK;
}

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
        enum inq_scan_result result = next_member(scan, &key, &first);
        if (result != INQ_SCAN_OK || first == 0) {
            bool bad = false;
            struct inq_text none = {NULL, 0};
            if (result == INQ_SCAN_OK && string) {
                inq_chakra_attribute(node, name, -1, value);
            } else if (result == INQ_SCAN_OK && value.n > 0) {
                inq_chakra_attribute(node, name, number_of(value, &bad), none);
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
        enum inq_scan_result result = next_element(scan, &first);
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
        enum inq_scan_result result = next_member(scan, &key, &first);
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
        enum inq_scan_result result = next_element(scan, &first);
        if (result != INQ_SCAN_OK || first == 0) {
            return result;
        }
        bool scalar = first != '{' && first != '[';
        result = scalar ? scan_scalar(scan, first, &text) : INQ_SCAN_BAD;
        if (result != INQ_SCAN_OK) {
            return result;
        }
        int64_t id = number_of(text, &node->bad_number);
        if (data) {
            inq_chakra_depend(node, id);
        } else if (node->parent < 0) {
            node->parent = id;
        }
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
        inq_chakra_attribute(node, key, group ? -1 : number_of(text, &bad), group ? text : none);
    }
}

enum inq_scan_result inq_chakra_scan(struct inq_scan *scan, struct inq_chakra_node *node)
{
    inq_chakra_node_init(node);
    node->escaped = true;
    scan->p++;
    for (;;) {
        struct inq_text key = {NULL, 0};
        struct inq_text text = {NULL, 0};
        int first = 0;
        enum inq_scan_result result = next_member(scan, &key, &first);
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

bool inq_chakra_is_node(const struct inq_chakra_node *node)
{
    return node->type > INQ_CHAKRA_NONE && node->type < INT32_MAX && node->name.n > 0;
}
