/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of records. A program writes its JSON objects in a few fixed layouts: literal text with
 * values in between. Each is learned from the first object that has it, read by its reader key by
 * key, and kept in a trie of literals and values; later objects are matched literal by literal, and
 * give the same values without a look at a key. What does not match in every byte is left to the
 * reader, so that both give the same. Where whole events may be passed over unread,
 * ingest/scan/shape.h is faster. */
#ifndef INQ_INGEST_SCAN_LAYOUT_H
#define INQ_INGEST_SCAN_LAYOUT_H

#include "base/arena.h"
#include "ingest/scan/scan.h"

enum { INQ_LAYOUT_MAX_VALUES = 512 }; /* of interest, of one object */

/* A value that a reader takes from an object: `field` is the reader's. */
struct inq_layout_value {
    struct inq_text text;
    int field;
};

struct inq_layout_node;

/* All-zero is a valid set without a layout; release in any case. */
struct inq_layouts {
    struct inq_arena arena;
    struct inq_layout_node *nodes; /* 0 unused */
    uint32_t n_nodes, cap_nodes;
    uint32_t refused; /* objects that could not be learned */
    size_t n_values;  /* of the object read or matched last, in the order of the text */
    struct inq_layout_value values[INQ_LAYOUT_MAX_VALUES];
};

void inq_layouts_release(struct inq_layouts *layouts);
/* Matches the object whose opening brace is at *p; INQ_SOURCE_PADDING bytes behind `end` are
 * readable. If true, its values are in `values`, *tag is what it was learned with, and *p is behind
 * its closing brace. */
bool inq_layouts_match(struct inq_layouts *layouts, const char **p, const char *end, int *tag);
/* While a reader reads an object: empties `values`, and adds one, taken as scalar text. */
void inq_layouts_begin(struct inq_layouts *layouts);
void inq_layouts_note(struct inq_layouts *layouts, const struct inq_layout_value *value);
/* Learns the object in [start, stop), that the reader has read and noted. What cannot be learned is
 * ignored. Fails with INQ_NOMEM. */
int inq_layouts_learn(struct inq_layouts *layouts, const char *start, const char *stop, int tag,
                      struct inq_err *err);

#endif
