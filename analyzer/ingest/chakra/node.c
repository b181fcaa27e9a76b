/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes as protocol buffers. */
#include "ingest/chakra/node.h"

#include <stddef.h>
#include <string.h>

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

void inq_chakra_node_init(struct inq_chakra_node *node)
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
                                     .comm_dst = -1};
}

void inq_chakra_attribute(struct inq_chakra_node *node, struct inq_text name, int64_t number,
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
                   {"comm_dst", AT(comm_dst)}};
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
        inq_chakra_attribute(node, name, number, text);
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

void inq_chakra_depend(struct inq_chakra_node *node, int64_t id)
{
    if (id >= 0 && node->n_deps < INQ_CHAKRA_DEPS) {
        node->deps[node->n_deps++] = id;
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
        if (data) {
            inq_chakra_depend(node, id);
        } else if (node->parent < 0) {
            node->parent = id;
        }
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

bool inq_chakra_decode(struct inq_wire message, struct inq_chakra_node *node)
{
    struct inq_wire rest = message;
    struct inq_wire_field field;
    inq_chakra_node_init(node);
    bool good = true;
    while (good && inq_wire_next(&rest, &field)) {
        good = read_field(node, &field);
    }
    if (good && !rest.bad && node->name.n > 0 && node->type != INQ_CHAKRA_NONE) {
        node->id = node->id < 0 ? 0 : node->id;
        return true;
    }
    inq_chakra_node_init(node);
    return read_metadata(message, node);
}
