/* SPDX-License-Identifier: Apache-2.0 */
/* The op table: one row per op of a pipeline job, as CSV with the columns of
 * ingest/optable/header.h. Each worker (DP rank and stage, or rank) becomes one inq_rank. Times
 * stay as recorded, in every step from an origin of its own. */
#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/time.h"
#include "ingest/ingest.h"
#include "ingest/optable/optable.h"
#include "ingest/optable/place.h"
#include "ingest/scan/scan.h"
#include "inquest/ingest.h"
#include "trace/build/build.h"
#include "trace/trace.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* A field of a line (RFC 4180: maybe quoted; any separator, blanks around it). */
struct csv_field {
    const char *text; /* unquoted, not terminated */
    size_t len;
};

/* Unquotes in place. Bytes between the closing quote and the separator belong to the field: better
 * than losing them. Returns where the field ends. */
static char *quoted_field(char *p, const char *end, char separator, struct csv_field *field)
{
    char *out = ++p;
    field->text = out;
    while (p < end && (*p != '"' || (p + 1 < end && p[1] == '"'))) {
        p += *p == '"';
        *out++ = *p++;
    }
    for (p += p < end; p < end && *p != separator; p++) {
        *out++ = *p;
    }
    field->len = (size_t)(out - field->text);
    return p;
}

/* "a, b": people write tables so. */
static void trim(struct csv_field *field)
{
    while (field->len > 0 && *field->text == ' ') {
        field->text++;
        field->len--;
    }
    while (field->len > 0 && field->text[field->len - 1] == ' ') {
        field->len--;
    }
}

/* The field at `p`; returns where it ends. */
static char *next_field(char *p, char *end, char separator, struct csv_field *field)
{
    if (p < end && *p == '"') {
        return quoted_field(p, end, separator, field);
    }
    field->text = p;
    while (p < end && *p != separator) {
        p++;
    }
    field->len = (size_t)(p - field->text);
    trim(field);
    return p;
}

enum inq_op_column {
    INQ_COL_TYPE,
    INQ_COL_START,
    INQ_COL_DURATION,
    INQ_COL_END, /* instead of a duration */
    INQ_COL_STEP,
    INQ_COL_RANK,
    INQ_COL_DP_RANK,
    INQ_COL_STAGE,
    INQ_COL_MICRO_BATCH,
    INQ_COL_CHUNK,
    INQ_COL_SEQ,
    INQ_COL_COUNT
};

/* Columns beyond are not looked at. */
enum { MAX_PLACES = 1024 };

struct inq_op_header {
    char separator;
    size_t n_columns;               /* of any name */
    int place[INQ_COL_COUNT];       /* index of the field; -1: no such column */
    int64_t unit_ns[INQ_COL_COUNT]; /* of the three columns of time */
    uint8_t column[MAX_PLACES];     /* of the field: enum inq_op_column; INQ_COL_COUNT: of none */
};

#define SECOND INT64_C(1000000000)

/* Names of columns, and others that tools write. */
static const struct inq_op_column_info columns[INQ_COL_COUNT] = {
    [INQ_COL_TYPE] = {"op_type", "optype|op",
                      "what the op does: forward-compute, backward-send, optimizer, ...; needed"},
    [INQ_COL_START] = {"start", "start_ts|start_time",
                       "in seconds, or _ms, _us, _ns after the name; needed unless stage, "
                       "micro_batch and duration are there: ops are then placed"},
    [INQ_COL_DURATION] = {"duration", "dur", "as start; needed unless end is there"},
    [INQ_COL_END] = {"end", "end_ts|end_time", "as start, instead of duration"},
    [INQ_COL_STEP] = {"step", "iteration", "number of the step"},
    [INQ_COL_RANK] = {"rank", "global_rank", "global rank number"},
    [INQ_COL_DP_RANK] = {"dp_rank", "dp", "data-parallel replica"},
    [INQ_COL_STAGE] = {"stage", "pp_rank", "pipeline stage"},
    [INQ_COL_MICRO_BATCH] = {"micro_batch", "microbatch|mb|mb_id", "number of the micro-batch"},
    [INQ_COL_CHUNK] = {"chunk", "model_chunk|mc", "model chunk of the stage"},
    [INQ_COL_SEQ] = {"seq", "seq_id", "number of the op among those of its kind"},
};

const struct inq_op_column_info *inq_op_column_at(size_t i)
{
    return i < INQ_COL_COUNT ? &columns[i] : NULL;
}

/* A suffix of a time column's name. Without one, times are in seconds. */
static const struct {
    const char *suffix;
    int64_t unit_ns;
} units[] = {{"_ns", 1}, {"_us", 1000}, {"_ms", 1000000}, {"_s", SECOND}};

static bool is_time(enum inq_op_column column)
{
    return column == INQ_COL_START || column == INQ_COL_DURATION || column == INQ_COL_END;
}

/* Whether `text` is one of "a|b". */
static bool is_one_of(const char *text, size_t len, const char *names)
{
    while (names != NULL && *names != '\0') {
        size_t n = strcspn(names, "|");
        if (n == len && memcmp(names, text, len) == 0) {
            return true;
        }
        names += n + (names[n] == '|');
    }
    return false;
}

static bool find_name(const char *text, size_t len, enum inq_op_column *column)
{
    for (int i = 0; i < INQ_COL_COUNT; i++) {
        if (is_one_of(text, len, columns[i].name) || is_one_of(text, len, columns[i].others)) {
            *column = (enum inq_op_column)i;
            return true;
        }
    }
    return false;
}

enum { MAX_COLUMN_NAME = 32 }; /* no name that is understood is as long */

static char plain_letter(char c)
{
    return isalnum((unsigned char)c) != 0 ? (char)tolower((unsigned char)c) : '_';
}

/* "Start (ms)" as "start_ms", "DP rank" as "dp_rank"; 0: it is longer than any name. */
static size_t plain_name(const char *text, size_t len, char name[MAX_COLUMN_NAME])
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        char c = plain_letter(text[i]);
        bool again = c == '_' && (n == 0 || name[n - 1] == '_');
        if (!again && n == MAX_COLUMN_NAME) {
            return 0;
        }
        if (!again) {
            name[n++] = c;
        }
    }
    return n > 0 && name[n - 1] == '_' ? n - 1 : n;
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
        if (len > n && memcmp(text + len - n, units[i].suffix, n) == 0 &&
            find_name(text, len - n, column) && is_time(*column)) {
            *unit_ns = units[i].unit_ns;
            return true;
        }
    }
    return false;
}

/* Fields of a header are a few words, quoted or not. */
static void add_field(struct inq_op_header *header, const char *text, size_t len, int place)
{
    char name[MAX_COLUMN_NAME];
    enum inq_op_column column;
    int64_t unit_ns;
    len = plain_name(text, len, name);
    /* of two columns with the same name the first counts */
    if (place < MAX_PLACES && understand(name, len, &column, &unit_ns) &&
        header->place[column] < 0) {
        header->column[place] = (uint8_t)column;
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
    memset(header->column, INQ_COL_COUNT, sizeof header->column);
    const char *end = line + len;
    for (int place = 0;; place++) {
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

/* What a row cannot do without. */
enum { NEEDS_TYPE = 1, NEEDS_START = 2, NEEDS_LENGTH = 4, NEEDS_ALL = 7 };

/* Whether ops without a start can be placed: what they wait for is known. */
static bool can_place(const struct inq_op_header *header)
{
    return header->place[INQ_COL_DURATION] >= 0 && header->place[INQ_COL_STAGE] >= 0 &&
           header->place[INQ_COL_MICRO_BATCH] >= 0;
}

static unsigned needs_of(const struct inq_op_header *header)
{
    bool length = header->place[INQ_COL_DURATION] >= 0 || header->place[INQ_COL_END] >= 0;
    bool start = header->place[INQ_COL_START] >= 0 || can_place(header);
    return (header->place[INQ_COL_TYPE] < 0 ? NEEDS_TYPE : 0U) | (start ? 0U : NEEDS_START) |
           (length ? 0U : NEEDS_LENGTH);
}

static int understood(const struct inq_op_header *header)
{
    int n = 0;
    for (int i = 0; i < INQ_COL_COUNT; i++) {
        n += header->place[i] >= 0;
    }
    return n;
}

/* Understands a first line (`len` bytes, without its line break) with the separator by which it has
 * most columns that are known. Returns what of NEEDS_ALL is not there: 0 for an op table. */
static unsigned op_header_parse(const char *line, size_t len, struct inq_op_header *header)
{
    static const char separators[] = {',', '\t', ';'};
    struct inq_op_header parsed;
    if (len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
        line += 3;
        len -= 3;
    }
    if (len > 0 && (line[0] == '{' || line[0] == '[')) {
        len = 0; /* JSON, in which a line can have very many commas */
    }
    parse_with(line, len, separators[0], header);
    for (size_t i = 1; i < sizeof separators; i++) {
        parse_with(line, len, separators[i], &parsed);
        *header = understood(&parsed) > understood(header) ? parsed : *header;
    }
    return needs_of(header);
}

/* Whether a header that lacks one of the three was meant to be one: a column is there that only
 * pipelines have. Steps and times alone are in logs of training, too. */
static bool is_near(const struct inq_op_header *header)
{
    static const enum inq_op_column pipeline[] = {INQ_COL_TYPE, INQ_COL_STAGE, INQ_COL_DP_RANK,
                                                  INQ_COL_MICRO_BATCH, INQ_COL_CHUNK};
    unsigned needs = needs_of(header);
    bool any = false;
    for (size_t i = 0; i < sizeof pipeline / sizeof *pipeline; i++) {
        any = any || header->place[pipeline[i]] >= 0;
    }
    return any && (needs == NEEDS_TYPE || needs == NEEDS_START || needs == NEEDS_LENGTH);
}

/* Says which columns are missing. */
static int refuse(unsigned needs, struct inq_err *err)
{
    return inq_err_set(err, INQ_UNSUPPORTED,
                       "an op table without%s%s%s: it needs the columns op_type, start, and "
                       "duration or end ('inquest list' has all)",
                       (needs & NEEDS_TYPE) != 0 ? " op_type" : "",
                       (needs & NEEDS_START) != 0 ? " start" : "",
                       (needs & NEEDS_LENGTH) != 0 ? " duration" : "");
}

/* A time beyond this is no time: sums of two stay far from overflow. */
#define MAX_TIME_NS (INT64_MAX / 4)
/* Spellings of op types that are remembered; more are looked up again. */
#define MAX_SPELLINGS 256
/* Types that are compared before they are looked up: a job has some ten. */
enum { MAX_TYPES = 16 };

/* What an op type's spelling means. */
struct spelling {
    bool known;
    enum inq_op_type type;
    enum inq_op_role role;
    enum inq_op_class cls;
};

/* What tells workers apart. */
struct worker {
    int32_t dp_rank, stage, rank;
};

/* The latest op of a type. */
struct place {
    int64_t start_ns;
    int32_t step;
    bool known;
};

/* How a worker's ops follow each other; lost: they do not. */
struct order {
    struct place last[INQ_OP_TYPE_COUNT];
    bool lost;
};

/* What a line says. */
struct row {
    struct csv_field type;
    struct inq_ops_row op; /* without what its type says */
    struct worker worker;
    bool whole;     /* it has all fields, and times */
    bool no_worker; /* it would be the op of a worker that is none */
    bool negative;  /* its duration */
    uint32_t bad_numbers;
};

struct table {
    struct inq_shard *shard;
    struct inq_op_header header;
    bool has_header;                          /* its line was passed */
    int64_t offset;                           /* of the line that is taken */
    struct inq_map workers;                   /* hash of a worker -> index of its rank */
    uint32_t last_index;                      /* of the last row's worker */
    struct spelling spellings[MAX_SPELLINGS]; /* by string id */
    inq_str types[MAX_TYPES];                 /* the first few that occurred */
    size_t n_types;
    struct order *order; /* [cap_order] of each worker */
    size_t cap_order;
    struct inq_map ops; /* of workers whose order is lost: hash of an op -> its row */
    uint64_t n_unknown; /* ops of types not known */
    inq_str unknown;    /* one of them */
};

/* ---- fields ---------------------------------------------------------------------------------- */

static void complain(struct table *table, enum inq_damage_kind kind)
{
    inq_damage_add(&table->shard->file.damage, kind, 1, table->offset);
}

/* The fields of a line: those of columns that are known, the others are empty. False: it has fewer
 * than the header. */
static bool split(const struct inq_op_header *header, const struct inq_line *line,
                  struct csv_field fields[INQ_COL_COUNT])
{
    char *p = line->p;
    char *end = line->p + line->n;
    for (int i = 0; i < INQ_COL_COUNT; i++) {
        fields[i] = (struct csv_field){"", 0};
    }
    for (size_t place = 0;; place++, p++) {
        struct csv_field field;
        p = next_field(p, end, header->separator, &field);
        if (place < MAX_PLACES && header->column[place] < INQ_COL_COUNT) {
            fields[header->column[place]] = field;
        }
        if (p == end) {
            return place + 1 >= header->n_columns;
        }
    }
}

/* A time in ns; false when the field holds none. */
static bool time_of(const struct csv_field *field, int64_t unit_ns, int64_t *ns)
{
    return inq_time_parse_decimal(field->text, field->len, unit_ns, ns) && *ns <= MAX_TIME_NS &&
           *ns >= -MAX_TIME_NS;
}

enum { BAD = -2 };

static bool is_nothing(const struct csv_field *field)
{
    return field->len == 0 || (field->len == 3 && strncasecmp(field->text, "nan", 3) == 0) ||
           (field->len == 4 && strncasecmp(field->text, "none", 4) == 0);
}

/* A small number, also as "3.0"; -1 for none, BAD for what is no number. */
static int32_t number_of(const struct csv_field *field, struct row *row)
{
    if (field->len > 0 && field->len < 9) {
        int32_t value = 0;
        size_t i = 0;
        while (i < field->len && field->text[i] >= '0' && field->text[i] <= '9') {
            value = value * 10 + (field->text[i++] - '0');
        }
        if (i == field->len) {
            return value;
        }
    }
    int64_t thousandths;
    if (is_nothing(field)) {
        return -1;
    }
    if (!inq_time_parse_decimal(field->text, field->len, 1000, &thousandths) ||
        thousandths % 1000 != 0 || thousandths < -1000 || thousandths / 1000 > INT32_MAX) {
        row->bad_numbers++;
        return BAD;
    }
    return (int32_t)(thousandths / 1000);
}

/* The same of what an op can do without; -1 also for what is no number. */
static int32_t label_of(const struct csv_field *field, struct row *row)
{
    int32_t value = number_of(field, row);
    return value == BAD ? -1 : value;
}

/* Start and duration; false when the line has none. */
static bool read_times(const struct inq_op_header *header, const struct csv_field *fields,
                       struct row *row)
{
    struct inq_ops_row *op = &row->op;
    bool placed_later = header->place[INQ_COL_START] < 0;
    bool has_length = header->place[INQ_COL_DURATION] >= 0;
    enum inq_op_column length = has_length ? INQ_COL_DURATION : INQ_COL_END;
    if ((!placed_later &&
         !time_of(&fields[INQ_COL_START], header->unit_ns[INQ_COL_START], &op->start_ns)) ||
        !time_of(&fields[length], header->unit_ns[length], &op->dur_ns)) {
        return false;
    }
    op->dur_ns -= has_length ? 0 : op->start_ns;
    row->negative = op->dur_ns < 0;
    op->dur_ns = row->negative ? 0 : op->dur_ns;
    return true;
}

static void parse_line(const void *ctx, const struct inq_line *line, void *out)
{
    const struct table *table = ctx;
    struct csv_field fields[INQ_COL_COUNT];
    struct row *row = out;
    struct inq_label *label = &row->op.label;
    bool has_fields = split(&table->header, line, fields);
    row->type = fields[INQ_COL_TYPE];
    row->whole = has_fields && row->type.len > 0 && read_times(&table->header, fields, row);
    if (!row->whole) {
        return;
    }
    row->worker.dp_rank = number_of(&fields[INQ_COL_DP_RANK], row);
    row->worker.stage = number_of(&fields[INQ_COL_STAGE], row);
    row->worker.rank = number_of(&fields[INQ_COL_RANK], row);
    row->no_worker =
        row->worker.dp_rank == BAD || row->worker.stage == BAD || row->worker.rank == BAD;
    if (row->no_worker) {
        return;
    }
    label->step = label_of(&fields[INQ_COL_STEP], row);
    label->stage = row->worker.stage;
    label->dp_rank = row->worker.dp_rank;
    label->micro_batch = label_of(&fields[INQ_COL_MICRO_BATCH], row);
    label->chunk = label_of(&fields[INQ_COL_CHUNK], row);
    label->seq = label_of(&fields[INQ_COL_SEQ], row);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_worker(const struct table *table, uint32_t index, const struct worker *worker)
{
    const struct inq_rank *rank = &table->shard->ranks[index];
    return rank->rank == worker->rank && rank->stage == worker->stage &&
           rank->dp_rank == worker->dp_rank;
}

/* Nearly every row is of the worker of the one before, or of the next in turn. */
static int find_worker(struct table *table, const struct worker *worker, uint32_t *index,
                       struct inq_err *err)
{
    uint32_t n = (uint32_t)table->shard->n_ranks;
    for (uint32_t i = 0; i < 2 && n > 0; i++) {
        uint32_t at = (table->last_index + i) % n;
        if (is_worker(table, at, worker)) {
            *index = table->last_index = at;
            return INQ_OK;
        }
    }
    uint64_t key = inq_hash_bytes(worker, sizeof *worker);
    int code = INQ_OK;
    if (!inq_map_get(&table->workers, key, index)) {
        code = inq_ops_add_worker(table->shard, index, err);
        if (code != INQ_OK) {
            return code;
        }
        struct inq_rank *rank = &table->shard->ranks[*index];
        rank->rank = worker->rank;
        rank->stage = worker->stage;
        rank->dp_rank = worker->dp_rank;
        code = inq_map_put(&table->workers, key, *index, err);
    }
    table->last_index = *index;
    return code;
}

static int name_type(struct table *table, const struct csv_field *field, inq_str *name,
                     struct inq_err *err)
{
    const struct inq_strtab *names = &table->shard->names;
    for (size_t i = 0; i < table->n_types; i++) {
        *name = table->types[i];
        if (inq_strtab_len(names, *name) == field->len &&
            memcmp(inq_strtab_get(names, *name), field->text, field->len) == 0) {
            return INQ_OK;
        }
    }
    int code = inq_strtab_add(&table->shard->names, field->text, field->len, name, err);
    if (code == INQ_OK && table->n_types < MAX_TYPES) {
        table->types[table->n_types++] = *name;
    }
    return code;
}

static int read_type(struct table *table, const struct csv_field *field, struct inq_ops_row *row,
                     struct inq_err *err)
{
    int code = name_type(table, field, &row->name, err);
    if (code != INQ_OK) {
        return code;
    }
    struct spelling spare = {0};
    struct spelling *spelling = row->name < MAX_SPELLINGS ? &table->spellings[row->name] : &spare;
    if (!spelling->known) {
        const char *name = inq_strtab_get(&table->shard->names, row->name);
        spelling->known = true;
        spelling->type = inq_op_type_read(field->text, field->len);
        spelling->role = inq_op_role(spelling->type, name);
        spelling->cls = inq_op_class(spelling->type, name);
    }
    row->label.type = spelling->type;
    row->role = spelling->role;
    row->cls = spelling->cls;
    if (spelling->type == INQ_OP_NONE) {
        table->unknown = table->n_unknown++ == 0 ? row->name : table->unknown;
    }
    return INQ_OK;
}

static uint64_t key_of(uint32_t worker, const struct inq_events *events, size_t row,
                       const struct inq_label *label)
{
    const int64_t what[] = {worker,      events->start_ns[row], events->dur_ns[row], label->type,
                            label->step, label->micro_batch,    label->chunk,        label->seq};
    return inq_hash_bytes(what, sizeof what);
}

/* Ops that only their times tell apart may be several. */
static bool is_told(const struct inq_label *label)
{
    return label->micro_batch >= 0 || label->seq >= 0;
}

/* Whether the worker's last op is there a second time; else it is remembered. */
static int find_last(struct table *table, uint32_t index, size_t row, bool *repeated,
                     struct inq_err *err)
{
    const struct inq_rank *rank = &table->shard->ranks[index];
    const struct inq_events *e = &rank->events;
    const struct inq_label *label = &rank->labels[e->label[row]];
    uint64_t key = key_of(index, e, row, label);
    uint32_t known = 0;
    *repeated = is_told(label) && inq_map_get(&table->ops, key, &known) &&
                e->start_ns[known] == e->start_ns[row] && e->dur_ns[known] == e->dur_ns[row];
    return *repeated ? INQ_OK : inq_map_put(&table->ops, key, (uint32_t)row, err);
}

/* The same rows may be there twice: tables get appended to each other. As long as the ops of a type
 * follow each other none is; from then on those of the worker are looked up. */
static int take_out_repeated(struct table *table, uint32_t index, struct inq_err *err)
{
    struct inq_rank *rank = &table->shard->ranks[index];
    size_t last = rank->events.n - 1;
    const struct inq_label *label = &rank->labels[rank->events.label[last]];
    struct order *order = &table->order[index];
    struct place *place = &order->last[label->type];
    int64_t start_ns = rank->events.start_ns[last];
    bool follows = !place->known || label->step > place->step ||
                   (label->step == place->step && start_ns > place->start_ns);
    bool repeated = false;
    int code = INQ_OK;
    if (follows) {
        *place = (struct place){start_ns, label->step, true};
    }
    for (size_t row = 0; !follows && !order->lost && code == INQ_OK && row < last; row++) {
        code = find_last(table, index, row, &repeated, err);
    }
    order->lost = order->lost || !follows;
    if (code == INQ_OK && order->lost) {
        code = find_last(table, index, last, &repeated, err);
    }
    if (code == INQ_OK && repeated) {
        complain(table, INQ_DAMAGE_REPEATED);
        rank->events.n--;
        rank->n_labels--;
    }
    return code;
}

static int add_op(struct table *table, uint32_t index, const struct inq_ops_row *row,
                  struct inq_err *err)
{
    size_t had = table->cap_order;
    int code = inq_mem_grow(&table->order, &table->cap_order, (size_t)index + 1,
                            sizeof *table->order, INQ_MAX_ROWS, err);
    if (code == INQ_OK && table->cap_order > had) {
        memset(table->order + had, 0, (table->cap_order - had) * sizeof *table->order);
    }
    if (code == INQ_OK) {
        code = inq_ops_add(table->shard, index, row, err);
    }
    return code == INQ_OK ? take_out_repeated(table, index, err) : code;
}

static int take_line(void *ctx, const struct inq_line *line, void *out, struct inq_err *err)
{
    struct table *table = ctx;
    struct row *row = out;
    struct inq_damage *damage = &table->shard->file.damage;
    table->offset = line->offset;
    if (!table
             ->has_header) { /* understood already; if it is not there, it is too long for a line */
        table->has_header = true;
        if (line->offset == 0) {
            return INQ_OK;
        }
    }
    table->shard->file.events++;
    if (!row->whole) {
        complain(table, line->cut ? INQ_DAMAGE_TRUNCATED : INQ_DAMAGE_BAD_EVENT);
        return INQ_OK;
    }
    inq_damage_add(damage, INQ_DAMAGE_NEGATIVE_DURATION, row->negative, line->offset);
    inq_damage_add(damage, INQ_DAMAGE_BAD_NUMBER, row->bad_numbers, line->offset);
    if (row->no_worker) {
        return INQ_OK;
    }
    uint32_t index = 0;
    int code = read_type(table, &row->type, &row->op, err);
    code = code == INQ_OK ? find_worker(table, &row->worker, &index, err) : code;
    return code == INQ_OK ? add_op(table, index, &row->op, err) : code;
}

/* ---- the whole file -------------------------------------------------------------------------- */

/* Without a rank column the workers are numbered as Megatron does it: stage by stage. */
static int compare_workers(const void *a, const void *b, void *ctx)
{
    const struct inq_rank *ranks = ctx;
    const struct inq_rank *x = &ranks[*(const uint32_t *)a];
    const struct inq_rank *y = &ranks[*(const uint32_t *)b];
    int by_stage = (x->stage > y->stage) - (x->stage < y->stage);
    return by_stage != 0 ? by_stage : (x->dp_rank > y->dp_rank) - (x->dp_rank < y->dp_rank);
}

static int number_workers(struct inq_shard *shard, struct inq_err *err)
{
    uint32_t *order = inq_mem_alloc((shard->n_ranks + 1) * sizeof *order);
    if (order == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < shard->n_ranks; i++) {
        order[i] = i;
    }
    int code = inq_sort(order, shard->n_ranks, sizeof *order, compare_workers, shard->ranks, err);
    for (uint32_t i = 0; i < shard->n_ranks && code == INQ_OK; i++) {
        shard->ranks[order[i]].rank = (int32_t)i;
    }
    inq_mem_free(order);
    return code;
}

static int explain(struct table *table, struct inq_err *err)
{
    struct inq_shard *shard = table->shard;
    const char *unknown = inq_strtab_get(&shard->names, table->unknown);
    bool numbered = table->header.place[INQ_COL_RANK] < 0 && shard->n_ranks > 1;
    const char *how = numbered ? "no rank column: workers numbered by stage, then DP rank" : "";
    const char *placed = "";
    int code = numbered ? number_workers(shard, err) : INQ_OK;
    if (code == INQ_OK && table->header.place[INQ_COL_START] < 0) {
        code = inq_ops_place(shard, NULL, 0, &placed, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    if (shard->n_ranks == 0 && shard->file.events > 0) {
        shard->file.reason = "a table without a row that has an op type, a worker and times";
        return INQ_OK;
    }
    const char *join = numbered && placed[0] != '\0' ? "; " : "";
    const char *then = table->n_unknown > 0 && (numbered || placed[0] != '\0') ? "; " : "";
    shard->file.reason =
        table->n_unknown == 0
            ? inq_arena_asprintf(&shard->arena, "%s%s%s", how, join, placed)
            : inq_arena_asprintf(&shard->arena, "%s%s%s%s%llu ops of types not known, as %.60s",
                                 how, join, placed, then, (unsigned long long)table->n_unknown,
                                 unknown);
    return shard->file.reason != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
}

/* The first line of what was peeked at. */
static size_t first_line(const char *head, size_t n)
{
    const char *stop = memchr(head, '\n', n);
    return stop != NULL ? (size_t)(stop - head) : n;
}

static int read_table(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    const char *head = NULL;
    size_t n = 0;
    int code = inq_source_peek(source, &head, &n, err);
    if (code != INQ_OK) {
        return code;
    }
    struct table *table = inq_mem_zalloc(1, sizeof *table);
    if (table == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    table->shard = shard;
    size_t header = first_line(head, n);
    if (header == INQ_SOURCE_PEEK) { /* what its further columns are is not looked at */
        inq_damage_add(&shard->file.damage, INQ_DAMAGE_LIMIT, 1, (int64_t)header);
    }
    unsigned needs = op_header_parse(head, header, &table->header);
    if (needs != 0) {
        code = refuse(needs, err);
    } else {
        struct inq_lines lines = {.jobs = shard->jobs,
                                  .ctx = table,
                                  .row_size = sizeof(struct row),
                                  .parse = parse_line,
                                  .take = take_line,
                                  .separator = table->header.separator,
                                  .damage = &shard->file.damage};
        shard->file.format = inq_reader_op_table.name;
        code = inq_lines_read(source, &lines, err);
    }
    if (code == INQ_OK || code == INQ_LIMIT) {
        int explained = explain(table, code == INQ_OK ? err : NULL);
        code = code == INQ_OK ? explained : code;
    }
    inq_map_release(&table->workers);
    inq_map_release(&table->ops);
    inq_mem_free(table->order);
    inq_mem_free(table);
    return code;
}

/* As sure as is_near: more than that it is some text, which may be a log. */
enum { NEAR = 7 };

static int sniff_table(const char *head, size_t n, const char *path)
{
    (void)path;
    struct inq_op_header header;
    if (n == 0) {
        return 0;
    }
    unsigned needs = op_header_parse(head, first_line(head, n), &header);
    return needs == 0 ? 90 : is_near(&header) ? NEAR : 0;
}

const struct inq_reader inq_reader_op_table = {
    .name = "op-table",
    .summary = "CSV table of pipeline ops: step, stage, op type, start, duration",
    .sniff = sniff_table,
    .read = read_table,
};
