/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/optable/header.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define SECOND INT64_C(1000000000)

/* Names of columns as tools write them. */
static const struct {
    const char *name;
    enum inq_op_column column;
} names[] = {
    {"optype", INQ_COL_TYPE},
    {"op_type", INQ_COL_TYPE},
    {"op", INQ_COL_TYPE},
    {"start", INQ_COL_START},
    {"start_ts", INQ_COL_START},
    {"start_time", INQ_COL_START},
    {"duration", INQ_COL_DURATION},
    {"dur", INQ_COL_DURATION},
    {"end", INQ_COL_END},
    {"end_ts", INQ_COL_END},
    {"end_time", INQ_COL_END},
    {"step", INQ_COL_STEP},
    {"iteration", INQ_COL_STEP},
    {"rank", INQ_COL_RANK},
    {"global_rank", INQ_COL_RANK},
    {"dp_rank", INQ_COL_DP_RANK},
    {"dp", INQ_COL_DP_RANK},
    {"stage", INQ_COL_STAGE},
    {"pp_rank", INQ_COL_STAGE},
    {"mb_id", INQ_COL_MICRO_BATCH},
    {"mb", INQ_COL_MICRO_BATCH},
    {"micro_batch", INQ_COL_MICRO_BATCH},
    {"microbatch", INQ_COL_MICRO_BATCH},
    {"mc", INQ_COL_CHUNK},
    {"chunk", INQ_COL_CHUNK},
    {"model_chunk", INQ_COL_CHUNK},
    {"seq_id", INQ_COL_SEQ},
    {"seq", INQ_COL_SEQ},
};

/* A suffix of a time column's name. Without one, times are in seconds. */
static const struct {
    const char *suffix;
    int64_t unit_ns;
} units[] = {{"_ns", 1}, {"_us", 1000}, {"_ms", 1000000}, {"_s", SECOND}};

static bool is_time(enum inq_op_column column)
{
    return column == INQ_COL_START || column == INQ_COL_DURATION || column == INQ_COL_END;
}

static bool find_name(const char *text, size_t len, enum inq_op_column *column)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i].name) == len && strncasecmp(names[i].name, text, len) == 0) {
            *column = names[i].column;
            return true;
        }
    }
    return false;
}

/* The column that a field of the header names, and the unit of a time. */
static bool understand(const char *text, size_t len, enum inq_op_column *column, int64_t *unit_ns)
{
    *unit_ns = SECOND;
    if (find_name(text, len, column)) {
        return true;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t n = strlen(units[i].suffix);
        if (len > n && strncasecmp(text + len - n, units[i].suffix, n) == 0 &&
            find_name(text, len - n, column) && is_time(*column)) {
            *unit_ns = units[i].unit_ns;
            return true;
        }
    }
    return false;
}

/* Fields of a header are plain words, quoted or not. */
static void add_field(struct inq_op_header *header, const char *text, size_t len, int place)
{
    enum inq_op_column column;
    int64_t unit_ns;
    while (len > 0 && (isspace((unsigned char)*text) != 0 || *text == '"')) {
        text++;
        len--;
    }
    while (len > 0 && (isspace((unsigned char)text[len - 1]) != 0 || text[len - 1] == '"')) {
        len--;
    }
    /* of two columns with the same name the first counts */
    if (understand(text, len, &column, &unit_ns) && header->place[column] < 0) {
        header->place[column] = place;
        header->unit_ns[column] = unit_ns;
    }
}

static void parse_with(const char *line, size_t len, char separator, struct inq_op_header *header)
{
    header->separator = separator;
    header->n_columns = 0;
    for (int i = 0; i < INQ_COL_COUNT; i++) {
        header->place[i] = -1;
        header->unit_ns[i] = SECOND;
    }
    const char *end = line + len;
    for (int place = 0; place < INQ_CSV_MAX_FIELDS; place++) {
        const char *stop = memchr(line, separator, (size_t)(end - line));
        const char *last = stop != NULL ? stop : end;
        add_field(header, line, (size_t)(last - line), place);
        header->n_columns++;
        if (stop == NULL) {
            return;
        }
        line = stop + 1;
    }
}

bool inq_op_header_parse(const char *line, size_t len, struct inq_op_header *header)
{
    static const char separators[] = {',', '\t', ';'};
    if (len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
        line += 3;
        len -= 3;
    }
    for (size_t i = 0; i < sizeof separators; i++) {
        parse_with(line, len, separators[i], header);
        if (header->place[INQ_COL_TYPE] >= 0 && header->place[INQ_COL_START] >= 0 &&
            (header->place[INQ_COL_DURATION] >= 0 || header->place[INQ_COL_END] >= 0)) {
            return true;
        }
    }
    return false;
}
