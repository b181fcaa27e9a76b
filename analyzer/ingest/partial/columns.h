/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of integers to bytes and back: differences of neighbors, small ones in one byte. Which
 * columns a table has stands in one list for both directions. */
#ifndef INQ_INGEST_PARTIAL_COLUMNS_H
#define INQ_INGEST_PARTIAL_COLUMNS_H

#include "inquest/out.h"
#include "trace/build/build.h"

/* ---- the file: inquest-partial(5) ---------------------------------------------------------------
 */

/* Every file begins with this; the last byte is the version. Any change of a section or of a column
 * in columns.c is a new version: older partials are then read anew from their inputs. */
#define INQ_PARTIAL_MAGIC "INQPART\5"

enum { INQ_PARTIAL_MAGIC_BYTES = 8 };

/* Rows of one section at most: what a damaged section costs, and what one may make a reader hold.
 */
#define INQ_PARTIAL_ROWS ((size_t)1 << 16)
/* Bytes of one section at most: the rows of the widest table, ten bytes a value. */
#define INQ_PARTIAL_BYTES ((size_t)32 << 20)

/* X(name, "tag"): the sections, in the order in which a file has them. */
#define INQ_PARTIAL_SECTIONS(X)                                                                    \
    X(ORIGIN, "ORIG")                                                                              \
    X(STRINGS, "STRS")                                                                             \
    X(BYTES_OF, "BYTE") /* of a file that is no trace: as it is, decompressed */                   \
    X(FILE, "FILE")                                                                                \
    X(GROUPS, "GRPS")                                                                              \
    X(LAUNCHES, "LNCH")                                                                            \
    X(RANK, "RANK") /* and what follows is of this rank */                                         \
    X(LANES, "LANE")                                                                               \
    X(LABELS, "LABL")                                                                              \
    X(COMMS, "COMM")                                                                               \
    X(CALLS, "CALL")                                                                               \
    X(NOTES, "NOTE")                                                                               \
    X(EVENTS, "EVNT")                                                                              \
    X(TOTALS, "TOTL") /* of a reduced rank */                                                      \
    X(END, "END ")

enum inq_partial_section {
#define INQ_PARTIAL_ENUM(name, tag) INQ_PARTIAL_##name,
    INQ_PARTIAL_SECTIONS(INQ_PARTIAL_ENUM)
#undef INQ_PARTIAL_ENUM
        INQ_PARTIAL_SECTION_COUNT
};

/* In front of every section's bytes: little-endian, 32 bytes. */
struct inq_partial_head {
    char tag[4];
    uint32_t rank;  /* whose: index into the file's ranks */
    uint32_t first; /* index of the first row in its table */
    uint32_t rows;
    uint32_t bytes;
    uint32_t flags; /* EVENTS: which of the columns that may be missing are there; LAUNCHES: whether
                       a reader that is not asked for operators leaves them out; GROUPS: how many
                       runs its ranks are */
    uint32_t crc;   /* of the bytes */
    uint32_t head_crc; /* of the members above */
};

enum { INQ_PARTIAL_HAS_LABEL = 1, INQ_PARTIAL_HAS_LAUNCH = 2, INQ_PARTIAL_ASKED_OPERATORS = 4 };

/* ---- columns -----------------------------------------------------------------------------------
 */

/* What the numbers of a column are, and so which are valid. */
enum inq_column_role {
    INQ_COLUMN_NUMBER,   /* any */
    INQ_COLUMN_COUNT,    /* of int32: not below -1 */
    INQ_COLUMN_FLAG,     /* 0 or 1 */
    INQ_COLUMN_CHOICE,   /* below `below` */
    INQ_COLUMN_TIME,     /* of the capture: within +-2^61 ns */
    INQ_COLUMN_DURATION, /* the same, not below 0 */
    INQ_COLUMN_LANE,     /* index of a row that is there */
    INQ_COLUMN_STRING,   /* index of a string; "" when that was lost */
    INQ_COLUMN_CALL,     /* index of a row; these may be INQ_NONE, and become it when it was lost */
    INQ_COLUMN_COMM,
    INQ_COLUMN_LABEL,
    INQ_COLUMN_GROUP,
    INQ_COLUMN_ANY_LANE,
    INQ_COLUMN_ROLES
};

/* A column: where its first value is, how far it is to the next one. */
struct inq_column {
    void *base;
    size_t stride;
    uint8_t size; /* bytes of a value: 1, 4 or 8 */
    enum inq_column_role role;
    uint64_t below; /* INQ_COLUMN_CHOICE */
};

enum { INQ_MAX_COLUMNS = 48 };

struct inq_columns {
    size_t n;
    struct inq_column at[INQ_MAX_COLUMNS];
};

/* Ranks that the groups of one file may list in all: sixteen times the world of the largest job.
 * Runs are a few bytes for any number of them. */
#define INQ_PARTIAL_GROUP_RANKS ((size_t)16 << 20)

/* The columns of tables whose first row is given. */
void inq_columns_of_file(struct inq_file *file, struct inq_columns *columns);
void inq_columns_of_rank(struct inq_rank *rank, struct inq_columns *columns);
void inq_columns_of_groups(struct inq_group *groups, struct inq_columns *columns);
void inq_columns_of_launches(struct inq_launch *rows, struct inq_columns *columns);
void inq_columns_of_totals(struct inq_step_total *totals, struct inq_columns *columns);
void inq_columns_of_lanes(struct inq_lane *lanes, struct inq_columns *columns);
void inq_columns_of_labels(struct inq_label *labels, struct inq_columns *columns);
void inq_columns_of_comms(struct inq_comm *comms, struct inq_columns *columns);
void inq_columns_of_notes(struct inq_note *notes, struct inq_columns *columns);
void inq_columns_of_calls(const struct inq_calls *calls, struct inq_columns *columns);
/* Columns that the rank does not have are left out. */
void inq_columns_of_events(const struct inq_events *events, struct inq_columns *columns);

/* Appends rows [first, first + n). */
void inq_columns_pack(const struct inq_columns *columns, size_t first, size_t n,
                      struct inq_out *out);

/* How many rows the tables have that indices point to, by role. */
struct inq_column_limits {
    uint64_t rows[INQ_COLUMN_ROLES];
    uint64_t lost; /* indices of rows and strings that are not there */
};

/* Fills rows [0, n) from the bytes at *p, which moves behind them. False when they are not such
 * columns: what was filled is not to be used. */
bool inq_columns_unpack(const struct inq_columns *columns, size_t n, const unsigned char **p,
                        const unsigned char *end, struct inq_column_limits *limits);

#endif
