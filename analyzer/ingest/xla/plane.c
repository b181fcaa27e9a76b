/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/xla/plane.h"

#include "base/mem.h"

#include <string.h>

/* Bound on the rows of a table: more than any program has ops. */
#define MAX_TABLE ((size_t)1 << 24)

enum { PLANE_NAME = 2, PLANE_LINES = 3, PLANE_EVENT_NAMES = 4, PLANE_STAT_NAMES = 5 };
enum { MAP_KEY = 1, MAP_VALUE = 2 };
enum { META_NAME = 2, META_DISPLAY = 4 };
enum { LINE_ID = 1, LINE_NAME = 2, LINE_TIMESTAMP = 3, LINE_EVENTS = 4, LINE_DISPLAY = 11 };
enum { EVENT_META = 1, EVENT_OFFSET = 2, EVENT_DURATION = 3, EVENT_COUNT = 5 };
enum {
    STAT_META = 1,
    STAT_UNSIGNED = 3,
    STAT_SIGNED = 4,
    STAT_TEXT = 5,
    STAT_BYTES = 6,
    STAT_REF = 7
};

static struct inq_hlo_text text_of(const struct inq_wire *bytes)
{
    return (struct inq_hlo_text){bytes->at, inq_wire_len(bytes)};
}

/* ---- tables ---------------------------------------------------------------------------------- */

static uint8_t known_stat(struct inq_hlo_text name)
{
    static const char *const names[INQ_XLA_STAT_COUNT] = {"",
#define INQ_XLA_STAT_TEXT(name, text) text,
                                                          INQ_XLA_STATS(INQ_XLA_STAT_TEXT)
#undef INQ_XLA_STAT_TEXT
    };
    for (int i = 1; i < INQ_XLA_STAT_COUNT; i++) {
        if (strlen(names[i]) == name.n && memcmp(names[i], name.at, name.n) == 0) {
            return (uint8_t)i;
        }
    }
    return INQ_XLA_STAT_OTHER;
}

static void read_entry(struct inq_wire entry, uint64_t *key, struct inq_wire *value)
{
    struct inq_wire_field field;
    *key = 0;
    *value = inq_wire_of(entry.at, 0);
    while (inq_wire_next(&entry, &field)) {
        if (field.number == MAP_KEY && field.type == INQ_WIRE_VARINT) {
            *key = field.value;
        } else if (field.number == MAP_VALUE && field.type == INQ_WIRE_BYTES) {
            *value = field.bytes;
        }
    }
}

static int add_meta(struct inq_xla_plane *plane, struct inq_wire entry, struct inq_err *err)
{
    uint64_t key;
    struct inq_xla_meta meta = {.name = {"", 0}, .display = {"", 0}};
    struct inq_wire_field field;
    read_entry(entry, &key, &meta.message);
    struct inq_wire rest = meta.message;
    while (inq_wire_next(&rest, &field)) {
        bool is_text = field.type == INQ_WIRE_BYTES;
        if (is_text && field.number == META_NAME) {
            meta.name = text_of(&field.bytes);
        } else if (is_text && field.number == META_DISPLAY) {
            meta.display = text_of(&field.bytes);
        }
    }
    int code = inq_mem_grow(&plane->metas, &plane->cap_metas, plane->n_metas + 1,
                            sizeof *plane->metas, MAX_TABLE, err);
    if (code == INQ_OK) {
        plane->metas[plane->n_metas] = meta;
        code = inq_map_put(&plane->meta_by_id, key, (uint32_t)plane->n_metas++, err);
    }
    return code;
}

static int add_stat_name(struct inq_xla_plane *plane, struct inq_wire entry, struct inq_err *err)
{
    uint64_t key;
    struct inq_wire rest;
    struct inq_hlo_text name = {"", 0};
    struct inq_wire_field field;
    read_entry(entry, &key, &rest);
    while (inq_wire_next(&rest, &field)) {
        if (field.number == META_NAME && field.type == INQ_WIRE_BYTES) {
            name = text_of(&field.bytes);
        }
    }
    size_t n = plane->n_names;
    int code =
        inq_mem_grow(&plane->names, &plane->cap_names, n + 1, sizeof *plane->names, MAX_TABLE, err);
    if (code == INQ_OK) {
        code = inq_mem_grow(&plane->known, &plane->cap_known, n + 1, sizeof *plane->known,
                            MAX_TABLE, err);
    }
    if (code == INQ_OK) {
        plane->names[n] = name;
        plane->known[n] = known_stat(name);
        plane->n_names++;
        code = inq_map_put(&plane->name_by_id, key, (uint32_t)n, err);
    }
    return code;
}

struct inq_hlo_text inq_xla_plane_name(struct inq_wire message)
{
    struct inq_wire_field field;
    while (inq_wire_next(&message, &field)) {
        if (field.number == PLANE_NAME && field.type == INQ_WIRE_BYTES) {
            return text_of(&field.bytes);
        }
    }
    return (struct inq_hlo_text){"", 0};
}

int inq_xla_plane_init(struct inq_xla_plane *plane, struct inq_wire message, struct inq_err *err)
{
    struct inq_wire rest = message;
    struct inq_wire_field field;
    int code = INQ_OK;
    *plane = (struct inq_xla_plane){.name = {"", 0}, .message = message};
    while (code == INQ_OK && inq_wire_next(&rest, &field)) {
        if (field.type != INQ_WIRE_BYTES) {
            continue;
        }
        if (field.number == PLANE_NAME) {
            plane->name = text_of(&field.bytes);
        } else if (field.number == PLANE_EVENT_NAMES) {
            code = add_meta(plane, field.bytes, err);
        } else if (field.number == PLANE_STAT_NAMES) {
            code = add_stat_name(plane, field.bytes, err);
        }
    }
    plane->cut = rest.bad;
    return code;
}

void inq_xla_plane_release(struct inq_xla_plane *plane)
{
    inq_mem_free(plane->metas);
    inq_mem_free(plane->names);
    inq_mem_free(plane->known);
    inq_map_release(&plane->meta_by_id);
    inq_map_release(&plane->name_by_id);
    *plane = (struct inq_xla_plane){0};
}

struct inq_xla_meta *inq_xla_meta_of(const struct inq_xla_plane *plane, uint64_t id)
{
    uint32_t index;
    return inq_map_get(&plane->meta_by_id, id, &index) ? &plane->metas[index] : NULL;
}

/* ---- lines, events, statistics --------------------------------------------------------------- */

bool inq_xla_next_line(struct inq_wire *rest, struct inq_xla_line *line)
{
    struct inq_wire_field field;
    while (inq_wire_next(rest, &field)) {
        if (field.number != PLANE_LINES || field.type != INQ_WIRE_BYTES) {
            continue;
        }
        *line = (struct inq_xla_line){.name = {"", 0}, .events = field.bytes};
        struct inq_wire own = field.bytes;
        while (inq_wire_next(&own, &field)) {
            bool number = field.type == INQ_WIRE_VARINT;
            if (number && field.number == LINE_ID) {
                line->id = (int64_t)field.value;
            } else if (number && field.number == LINE_TIMESTAMP) {
                line->timestamp_ns = (int64_t)field.value;
            } else if (!number && (field.number == LINE_NAME || field.number == LINE_DISPLAY) &&
                       field.type == INQ_WIRE_BYTES && line->name.n == 0) {
                line->name = text_of(&field.bytes);
            }
        }
        return true;
    }
    return false;
}

bool inq_xla_next_event(struct inq_wire *rest, struct inq_xla_event *event)
{
    struct inq_wire_field field;
    while (inq_wire_next(rest, &field)) {
        if (field.number != LINE_EVENTS || field.type != INQ_WIRE_BYTES || field.cut) {
            continue;
        }
        *event = (struct inq_xla_event){.stats = field.bytes};
        struct inq_wire own = field.bytes;
        while (inq_wire_next(&own, &field)) {
            if (field.type != INQ_WIRE_VARINT) {
                continue;
            }
            switch (field.number) {
            case EVENT_META:
                event->metadata = field.value;
                break;
            case EVENT_OFFSET:
                event->offset_ps = (int64_t)field.value;
                break;
            case EVENT_DURATION:
                event->dur_ps = (int64_t)field.value;
                break;
            case EVENT_COUNT:
                event->counted = true;
                break;
            default:
                break;
            }
        }
        rest->bad = rest->bad || own.bad;
        return true;
    }
    return false;
}

static void read_stat(const struct inq_xla_plane *plane, struct inq_wire own,
                      struct inq_xla_stat *stat)
{
    struct inq_wire_field field;
    uint32_t row;
    *stat = (struct inq_xla_stat){.text = {"", 0}};
    while (inq_wire_next(&own, &field)) {
        bool number = field.type == INQ_WIRE_VARINT;
        if (number && field.number == STAT_META) {
            bool there = inq_map_get(&plane->name_by_id, field.value, &row);
            stat->id = there ? (enum inq_xla_stat_id)plane->known[row] : INQ_XLA_STAT_OTHER;
        } else if (number && (field.number == STAT_UNSIGNED || field.number == STAT_SIGNED)) {
            stat->number = (int64_t)field.value;
        } else if (number && field.number == STAT_REF &&
                   inq_map_get(&plane->name_by_id, field.value, &row)) {
            stat->text = plane->names[row];
        } else if (field.type == INQ_WIRE_BYTES &&
                   (field.number == STAT_TEXT || field.number == STAT_BYTES)) {
            stat->text = text_of(&field.bytes);
        }
    }
}

bool inq_xla_next_stat(const struct inq_xla_plane *plane, uint32_t number, struct inq_wire *rest,
                       struct inq_xla_stat *stat)
{
    struct inq_wire_field field;
    while (inq_wire_next(rest, &field)) {
        if (field.number == number && field.type == INQ_WIRE_BYTES) {
            read_stat(plane, field.bytes, stat);
            return true;
        }
    }
    return false;
}
