/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of events. Exporters write events in a few fixed byte shapes: literal text with values in
 * between. Each shape is learned from the first event that has it, read by the general reader, and
 * kept in a trie of literals and slots; later events are matched literal by literal, only the slots
 * are read, and what follows the last value of interest is passed over up to the event's end.
 * Whatever does not match, in any way, is left to the general reader, so that both give the same.
 *
 * The end of an event is found by its layout. Indented documents: the first line that is indented
 * no deeper than the event's own brackets must be its closing one. Others: by counting brackets
 * outside of strings. In both cases the text between two events must be the one learned. */
#ifndef INQ_INGEST_SCAN_SHAPE_H
#define INQ_INGEST_SCAN_SHAPE_H

#include "base/arena.h"
#include "ingest/scan/scan.h"

enum {
    INQ_SHAPE_LITERAL = 64,
    INQ_SHAPE_MAX_NODES = 4096,
    INQ_SHAPE_BLOCK = 32, /* nodes allocated at once: small files have few */
    INQ_SHAPE_MAX_INDENT = 40,
    INQ_SHAPE_RUN =
        192, /* flow events, and what follows the duration of an operator, are shorter */
    INQ_RUN_VALUES = 12,
    INQ_RUNS = 2 /* of a node: threads and streams alternate, with ids of other widths; three take
                    more time again (3 %) */
};

/* What follows the literal of a node. */
enum inq_slot {
    INQ_SLOT_NONE,    /* more literal */
    INQ_SLOT_NUMBER,  /* digits, perhaps negative: pid, tid and numbers of args */
    INQ_SLOT_TIME,    /* digits, maybe a point and more */
    INQ_SLOT_CHECK,   /* the same of an event that is dropped: it only has to be a good one */
    INQ_SLOT_OTHER,   /* a number of no interest */
    INQ_SLOT_STRING,  /* up to a quote, without escapes */
    INQ_SLOT_SKIP,    /* nothing more of interest up to the end of the event */
    INQ_SLOT_END,     /* the event ends with the literal */
    INQ_SLOT_NEGATIVE /* of values of runs: digits behind a sign */
};

/* What becomes of an event whose match ends at a node. */
enum inq_shape_action {
    INQ_SHAPE_DROP,
    INQ_SHAPE_DROP_OP, /* unless its name starts with one of the marks */
    INQ_SHAPE_DELIVER
};

/* Where the digits of a number are, or a text, and what becomes of it. */
struct inq_run_value {
    uint8_t at, whole, width; /* bytes of digits, and with decimals */
    uint8_t slot, field;      /* of its node; INQ_SLOT_NEGATIVE: there is a sign in front of it */
};

/* Nodes in a row that end with numbers, as wide as they were when they were last followed one by
 * one, or with texts that are always the same, and maybe all of the event behind them: most events
 * repeat the widths of the one before, and then all is matched at once. */
struct inq_shape_run {
    /* of each byte: it is in low .. low + span */
    _Alignas(INQ_SHAPE_LITERAL) unsigned char low[INQ_SHAPE_RUN];
    unsigned char span[INQ_SHAPE_RUN];
    struct inq_shape_node *next; /* what may follow the last node */
    struct inq_shape_leaf *leaf; /* of an event that ends with the run, else NULL */
    uint8_t len;                 /* up to the end of its last value */
    uint8_t n_values;
    struct inq_run_value values[INQ_RUN_VALUES]; /* those that are read */
};

struct inq_shape_node {
    _Alignas(INQ_SHAPE_LITERAL) unsigned char literal[INQ_SHAPE_LITERAL];
    uint64_t mask; /* the low `len` bits */
    uint8_t len;
    uint8_t slot;         /* enum inq_slot */
    uint8_t field;        /* enum inq_scan_field; INQ_FIELD_COUNT: none */
    uint8_t whole, width; /* of the number measured last: bytes of digits, and with decimals */
    uint32_t stops, upto; /* of it: which bytes up to the one behind it are no digits; of a string:
                             the hash of the one learned last, and whether there is one */
    /* Addresses: to work out one from an index would take as long again as to load it, and matching
     * goes from node to node no faster than that. */
    struct inq_shape_node *child, *sibling; /* NULL: none */
    struct inq_shape_leaf *leaf;            /* SKIP, END: NULL when it could not be learned */
    /* SKIP: */
    uint8_t depth;  /* brackets open */
    bool in_string; /* starts inside of one, just behind its quote */
    /* STRING: */
    bool varies; /* its text is not always the same */
    /* from this node on: */
    uint8_t n_runs;
    uint8_t oldest; /* run: the one to be replaced next */
    uint8_t misses; /* of all runs, in a row */
    struct inq_shape_run runs[INQ_RUNS];
};

struct inq_shape_leaf {
    uint64_t has; /* fields of the event */
    struct inq_text cat;
    enum inq_shape_action action;
    int tag;                       /* the learner's */
    struct inq_shape_node *follow; /* the first node of the event that came next the last time */
    char ph;
    bool watch; /* a kernel's: its grid and block are read on the way to its end, and a
                   collective's arguments must not be passed over */
};

struct inq_shapes {
    /* From an event's closing bracket (indented: from the line break in front of it) to the next
     * one's opening bracket, both included. */
    struct inq_shape_node gap;
    struct inq_arena arena;
    void *blocks[INQ_SHAPE_MAX_NODES / INQ_SHAPE_BLOCK]; /* of nodes */
    size_t n_nodes;
    struct inq_shape_leaf *leaves; /* 0: of what came before the first event */
    size_t n_leaves;
    struct inq_shape_node *first;
    struct inq_shape_leaf *last_leaf;
    uint32_t refused; /* events that could not be learned */
    /* Layout of the document, from the first event learned. */
    bool has_layout, indented;
    unsigned indent;     /* blanks in front of an event's brackets */
    char blank;          /* which */
    unsigned gap_before; /* bytes of the gap in front of the closing bracket */
    uint64_t marks[2];   /* first eight bytes of names that DROP_OP delivers */
};

/* What the learner knows about an event just read by the general reader. */
struct inq_shape_plan {
    uint64_t need; /* once all of these fields have been read nothing more is of interest */
    enum inq_shape_action action;
    int tag;
    bool watch;
};

int inq_shapes_init(struct inq_shapes *shapes, const char mark_a[8], const char mark_b[8],
                    struct inq_err *err);
void inq_shapes_release(struct inq_shapes *shapes);
/* Learns the event in [start, stop), which has been read into `event`; the text behind it goes on
 * up to `end`. What cannot be learned is ignored. Fails with INQ_NOMEM. */
int inq_shapes_learn(struct inq_shapes *shapes, const char *start, const char *stop,
                     const char *end, const struct inq_scan_event *event,
                     const struct inq_shape_plan *plan, struct inq_err *err);

/* Key of a member as the general reader knows it; INQ_FIELD_COUNT when it is of no interest. */
enum inq_scan_field inq_scan_field_of(struct inq_text key, bool in_args, bool *number);

/* Matches events from *p, the opening bracket of one, up to the first that is to be delivered or
 * does not match. Returns the leaf of the one to deliver, whose fields are in *event (which those
 * are the leaf says, and where it watches event->has says which more were found) and which starts
 * at *start, or NULL; *p is behind the gap: at the opening bracket of the next event not yet taken.
 * *dropped is increased by the number of events passed over. */
typedef const struct inq_shape_leaf *(*inq_shape_match)(struct inq_shapes *shapes, const char **p,
                                                        const char *end,
                                                        struct inq_scan_event *event,
                                                        const char **start, uint64_t *dropped);
/* The fastest that this machine can run; INQ_SHAPE_PLAIN runs anywhere. */
enum inq_shape_level { INQ_SHAPE_PLAIN, INQ_SHAPE_NEON, INQ_SHAPE_AVX2 };
enum inq_shape_level inq_shape_level(void);
inq_shape_match inq_shape_matcher(enum inq_shape_level level);

/* A node that was followed, from where its literal began to where its number or text ended, or the
 * event's last one, up to where the next event begins. */
struct inq_shape_step {
    struct inq_shape_node *node;
    const char *from, *to;
};
/* Makes runs of those of an event that follow each other. A run that is there is replaced once it
 * has missed several times in a row: of what alternates, one is as good as the other. */
void inq_shape_learn_runs(const struct inq_shape_step *steps, size_t n);

/* The matchers: one text (ingest/scan/match.h) compiled for each. On other machines all are the
 * plain one. */
const struct inq_shape_leaf *inq_shape_match_plain(struct inq_shapes *shapes, const char **p,
                                                   const char *end, struct inq_scan_event *event,
                                                   const char **start, uint64_t *dropped);
const struct inq_shape_leaf *inq_shape_match_neon(struct inq_shapes *shapes, const char **p,
                                                  const char *end, struct inq_scan_event *event,
                                                  const char **start, uint64_t *dropped);
const struct inq_shape_leaf *inq_shape_match_avx2(struct inq_shapes *shapes, const char **p,
                                                  const char *end, struct inq_scan_event *event,
                                                  const char **start, uint64_t *dropped);

#endif
