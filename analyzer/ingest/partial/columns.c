/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/partial/columns.h"

#include <string.h>

/* Times beyond are no capture's, and sums of two of them would not fit. */
#define MOST_NS (INT64_C(1) << 61)

static void add(struct inq_columns *columns, void *base, size_t stride, size_t size,
                enum inq_column_role role, uint64_t below)
{
    columns->at[columns->n++] = (struct inq_column){base, stride, (uint8_t)size, role, below};
}

/* The member of an array of structs, and one column of a struct of arrays. Both may be missing
 * where there are no rows. */
#define MEMBER(row, member, role) CHOICE(row, member, role, 0)
#define CHOICE(row, member, role, below)                                                           \
    add(columns, (row) != NULL ? &(row)->member : NULL, sizeof *(row), sizeof(row)->member,        \
        INQ_COLUMN_##role, below)
#define COLUMN(array, role) COLUMN_BELOW(array, role, 0)
#define COLUMN_BELOW(array, role, below)                                                           \
    add(columns, array, sizeof *(array), sizeof *(array), INQ_COLUMN_##role, below)

void inq_columns_of_file(struct inq_file *file, struct inq_columns *columns)
{
    columns->n = 0;
    MEMBER(file, bytes, NUMBER);
    MEMBER(file, bytes_raw, NUMBER);
    MEMBER(file, events, NUMBER);
    MEMBER(file, events_kept, NUMBER);
    MEMBER(file, compressed, FLAG);
    for (int kind = 0; kind < INQ_DAMAGE_KIND_COUNT; kind++) {
        MEMBER(file, damage.count[kind], NUMBER);
        MEMBER(file, damage.first_offset[kind], NUMBER);
    }
}

void inq_columns_of_rank(struct inq_rank *rank, struct inq_columns *columns)
{
    columns->n = 0;
    MEMBER(rank, rank, COUNT);
    MEMBER(rank, world_size, COUNT);
    MEMBER(rank, stage, COUNT);
    MEMBER(rank, dp_rank, COUNT);
    MEMBER(rank, host, STRING);
    MEMBER(rank, device_name, STRING);
    MEMBER(rank, job, STRING);
    MEMBER(rank, label, STRING);
    MEMBER(rank, multiprocessors, COUNT);
    MEMBER(rank, pid, NUMBER);
    MEMBER(rank, base_ns, TIME);
    MEMBER(rank, fractional_us, FLAG);
    MEMBER(rank, has_clock_epoch, FLAG);
    MEMBER(rank, has_row0, FLAG);
    MEMBER(rank, row0_ns, TIME);
    MEMBER(rank, first_ns, TIME);
    MEMBER(rank, last_ns, TIME);
    MEMBER(rank, reduced, FLAG);
}

void inq_columns_of_totals(struct inq_step_total *totals, struct inq_columns *columns)
{
    columns->n = 0;
    MEMBER(totals, number, NUMBER);
    MEMBER(totals, last_start_ns, TIME);
    MEMBER(totals, last_dur_ns, DURATION);
    MEMBER(totals, work, NUMBER);
    for (int c = 0; c < INQ_CLASS_COUNT; c++) {
        MEMBER(totals, class_ns[c], DURATION);
    }
    CHOICE(totals, kept, CHOICE, INQ_STEP_KEPT_COUNT);
}

void inq_columns_of_groups(struct inq_group *groups, struct inq_columns *columns)
{
    columns->n = 0;
    MEMBER(groups, name, STRING);
    MEMBER(groups, desc, STRING);
    MEMBER(groups, size, COUNT);
    MEMBER(groups, n_ranks, NUMBER);
    MEMBER(groups, inferred, FLAG);
}

void inq_columns_of_launches(struct inq_launch *rows, struct inq_columns *columns)
{
    columns->n = 0;
    for (int axis = 0; axis < 3; axis++) {
        MEMBER(rows, grid[axis], NUMBER);
        MEMBER(rows, block[axis], NUMBER);
    }
    MEMBER(rows, bytes, NUMBER);
    MEMBER(rows, op, STRING);
    MEMBER(rows, dims, STRING);
    MEMBER(rows, types, STRING);
    MEMBER(rows, module, STRING);
    MEMBER(rows, source, STRING);
}

void inq_columns_of_lanes(struct inq_lane *lanes, struct inq_columns *columns)
{
    columns->n = 0;
    CHOICE(lanes, kind, CHOICE, INQ_LANE_OPS + 1);
    MEMBER(lanes, device, NUMBER);
    MEMBER(lanes, id, NUMBER);
    MEMBER(lanes, name, STRING);
}

void inq_columns_of_labels(struct inq_label *labels, struct inq_columns *columns)
{
    columns->n = 0;
    CHOICE(labels, type, CHOICE, INQ_OP_TYPE_COUNT);
    MEMBER(labels, step, COUNT);
    MEMBER(labels, stage, COUNT);
    MEMBER(labels, dp_rank, COUNT);
    MEMBER(labels, micro_batch, COUNT);
    MEMBER(labels, chunk, COUNT);
    MEMBER(labels, seq, COUNT);
}

void inq_columns_of_comms(struct inq_comm *comms, struct inq_columns *columns)
{
    columns->n = 0;
    CHOICE(comms, kind, CHOICE, INQ_COLL_KIND_COUNT);
    MEMBER(comms, op_name, STRING);
    MEMBER(comms, dtype, STRING);
    MEMBER(comms, dtype_bytes, NUMBER);
    MEMBER(comms, group, GROUP);
    MEMBER(comms, group_size, COUNT);
    MEMBER(comms, in_elems, NUMBER);
    MEMBER(comms, out_elems, NUMBER);
    MEMBER(comms, seq, NUMBER);
    MEMBER(comms, peer, COUNT);
    MEMBER(comms, external_id, NUMBER);
    MEMBER(comms, start_ns, TIME);
    MEMBER(comms, lane, ANY_LANE);
    MEMBER(comms, batch, COMM);
    MEMBER(comms, from_name, FLAG);
    MEMBER(comms, algorithm, STRING);
    MEMBER(comms, channels, COUNT);
}

void inq_columns_of_notes(struct inq_note *notes, struct inq_columns *columns)
{
    columns->n = 0;
    MEMBER(notes, start_ns, TIME);
    MEMBER(notes, dur_ns, DURATION);
    MEMBER(notes, name, STRING);
    MEMBER(notes, lane, LANE);
    MEMBER(notes, number, NUMBER);
    CHOICE(notes, kind, CHOICE, INQ_NOTE_OTHER + 1);
    MEMBER(notes, on_gpu, FLAG);
}

void inq_columns_of_calls(const struct inq_calls *calls, struct inq_columns *columns)
{
    columns->n = 0;
    COLUMN(calls->start_ns, TIME);
    COLUMN(calls->dur_ns, DURATION);
    COLUMN(calls->name, STRING);
    COLUMN(calls->lane, LANE);
    COLUMN(calls->correlation, NUMBER);
}

void inq_columns_of_events(const struct inq_events *events, struct inq_columns *columns)
{
    columns->n = 0;
    COLUMN(events->start_ns, TIME);
    COLUMN(events->dur_ns, DURATION);
    COLUMN(events->name, STRING);
    COLUMN(events->lane, LANE);
    COLUMN(events->call, CALL);
    COLUMN(events->comm, COMM);
    COLUMN_BELOW(events->kind, CHOICE, INQ_EVENT_KIND_COUNT);
    COLUMN_BELOW(events->cls, CHOICE, INQ_CLASS_COUNT);
    if (events->label != NULL) {
        COLUMN(events->label, LABEL);
    }
    if (events->launch != NULL) {
        COLUMN(events->launch,
               NUMBER); /* of another table than INQ_NONE belongs to: the reader's */
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* One more than the value, modulo its size: -1 and INQ_NONE are common and become 0. */
static uint64_t load(const char *at, uint8_t size)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    switch (size) {
    case 8:
        memcpy(&wide, at, sizeof wide);
        return wide + 1;
    case 4:
        memcpy(&narrow, at, sizeof narrow);
        return (uint32_t)(narrow + 1);
    default:
        return (uint8_t)*at;
    }
}

static void store(char *at, uint8_t size, uint64_t value)
{
    switch (size) {
    case 8:
        memcpy(at, &value, sizeof value);
        break;
    case 4: {
        uint32_t narrow = (uint32_t)value;
        memcpy(at, &narrow, sizeof narrow);
        break;
    }
    default:
        *at = (char)value;
        break;
    }
}

static void pack_column(const struct inq_column *column, size_t first, size_t n,
                        struct inq_out *out)
{
    const char *at = (const char *)column->base + first * column->stride;
    uint64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t value = load(at + i * column->stride, column->size);
        uint64_t step = value - before;
        uint64_t zigzag = step << 1 ^ (uint64_t) - (int64_t)(step >> 63);
        char bytes[10];
        size_t used = 0;
        for (; zigzag >= 0x80; zigzag >>= 7) {
            bytes[used++] = (char)(zigzag | 0x80);
        }
        bytes[used++] = (char)zigzag;
        inq_out_bytes(out, bytes, used);
        before = value;
    }
}

void inq_columns_pack(const struct inq_columns *columns, size_t first, size_t n,
                      struct inq_out *out)
{
    for (size_t c = 0; c < columns->n; c++) {
        pack_column(&columns->at[c], first, n, out);
    }
}

static bool read_varint(const unsigned char **p, const unsigned char *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
        unsigned char byte = *(*p)++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

/* Whether the value may stand in its column; one that points to a lost row becomes INQ_NONE. */
static bool admit(const struct inq_column *column, struct inq_column_limits *limits,
                  uint64_t *value)
{
    int64_t time = 0;
    switch (column->role) {
    case INQ_COLUMN_NUMBER:
        return true;
    case INQ_COLUMN_COUNT:
        return *value <= INT32_MAX || *value == UINT32_MAX;
    case INQ_COLUMN_FLAG:
        return *value <= 1;
    case INQ_COLUMN_CHOICE:
        return *value < column->below;
    case INQ_COLUMN_TIME:
    case INQ_COLUMN_DURATION:
        memcpy(&time, value, sizeof time);
        return (time >= (column->role == INQ_COLUMN_TIME ? -MOST_NS : 0) && time <= MOST_NS) ||
               (column->role == INQ_COLUMN_TIME && time == INQ_TIME_NONE);
    case INQ_COLUMN_LANE:
        return *value < limits->rows[column->role];
    case INQ_COLUMN_STRING:
        if (*value >= limits->rows[column->role]) {
            *value = 0;
            limits->lost++;
        }
        return true;
    case INQ_COLUMN_CALL:
    case INQ_COLUMN_COMM:
    case INQ_COLUMN_LABEL:
    case INQ_COLUMN_GROUP:
    case INQ_COLUMN_ANY_LANE:
        if (*value >= limits->rows[column->role] && *value != INQ_NONE) {
            *value = INQ_NONE;
            limits->lost++;
        }
        return true;
    case INQ_COLUMN_ROLES:
        break;
    }
    return false;
}

static bool unpack_column(const struct inq_column *column, size_t n, const unsigned char **p,
                          const unsigned char *end, struct inq_column_limits *limits)
{
    char *at = column->base;
    uint64_t value = 0;
    uint64_t most = column->size == 8 ? UINT64_MAX : column->size == 4 ? UINT32_MAX : UINT8_MAX;
    for (size_t i = 0; i < n; i++) {
        uint64_t zigzag = 0;
        if (!read_varint(p, end, &zigzag)) {
            return false;
        }
        value += zigzag >> 1 ^ (uint64_t) - (int64_t)(zigzag & 1);
        uint64_t plain = column->size == 1   ? value
                         : column->size == 4 ? (uint32_t)((uint32_t)value - 1)
                                             : value - 1;
        if (value > most || !admit(column, limits, &plain)) {
            return false;
        }
        store(at + i * column->stride, column->size, plain);
    }
    return true;
}

bool inq_columns_unpack(const struct inq_columns *columns, size_t n, const unsigned char **p,
                        const unsigned char *end, struct inq_column_limits *limits)
{
    for (size_t c = 0; c < columns->n; c++) {
        if (!unpack_column(&columns->at[c], n, p, end, limits)) {
            return false;
        }
    }
    return true;
}
