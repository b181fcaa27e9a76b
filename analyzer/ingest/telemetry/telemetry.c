/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry of GPUs as text, one reader for the forms that it has: CSV of `nvidia-smi --query-gpu`,
 * tables of `dcgmi dmon` and `nvidia-smi dmon`, Prometheus' text of dcgm-exporter. */
#include "ingest/ingest.h"

#include "base/mem.h"
#include "ingest/scan/scan.h"
#include "ingest/telemetry/fields.h"
#include "trace/telemetry/telemetry.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MAX_COLUMNS = 128 };
/* Names of metrics are shorter. */
enum { MAX_METRIC = 128 };

enum form { UNKNOWN, TABLE_CSV, TABLE_BLANKS, PROMETHEUS };

struct text {
    const char *at;
    size_t n;
};

/* What is between the braces of a metric, and what it says. */
struct label_set {
    struct text text; /* in the shard's arena */
    bool has_gpu;
    int32_t gpu;
    inq_str host;
};

/* What the fields of a table's lines are. */
struct titles {
    enum form form;
    size_t n;
    struct inq_gpu_column columns[MAX_COLUMNS];
};

/* What a line says. */
enum what { NOTHING, BAD, TITLES, ROW, METRIC };

struct row {
    enum what what;
    int32_t index; /* of a row: -1 not there */
    /* of a row: uuid; of a metric: its name, labels, value, time */
    struct text uuid, name, labels, value;
    struct inq_gpu_sample sample; /* of the time of a row, which has one: `stamped` */
    bool stamped;
};

struct reading {
    struct inq_shard *shard;
    struct titles first;              /* by which lines are parsed */
    struct titles now;                /* by which the line that is taken is to be read, */
    bool changed;                     /* unless it is the same */
    int64_t offset;                   /* of the line */
    inq_str uuids[INQ_GPU_MAX_UUIDS]; /* GPUs of a table without their number, as they come */
    int32_t n_uuids;
    /* of Prometheus' text: */
    char metric[MAX_METRIC]; /* the one of the last line */
    size_t metric_n;
    struct inq_gpu_column column;
    struct label_set *sets; /* as they came first: they come in the same order again */
    size_t n_sets, cap_sets, last_set;
};

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct text trimmed(const char *at, const char *end)
{
    while (at < end && is_blank(*at)) {
        at++;
    }
    while (end > at && is_blank(end[-1])) {
        end--;
    }
    return (struct text){at, (size_t)(end - at)};
}

/* The next field of a line: up to a comma, or a word. False at the end. */
static bool next_field(enum form form, const char **at, const char *end, struct text *field)
{
    if (form == TABLE_CSV) {
        if (*at > end) {
            return false;
        }
        const char *comma = memchr(*at, ',', (size_t)(end - *at));
        comma = comma != NULL ? comma : end;
        *field = trimmed(*at, comma);
        *at = comma + 1;
        return true;
    }
    while (*at < end && is_blank(**at)) {
        (*at)++;
    }
    const char *begin = *at;
    while (*at < end && !is_blank(**at)) {
        (*at)++;
    }
    *field = (struct text){begin, (size_t)(*at - begin)};
    return *at > begin;
}

static void bad_line(struct reading *r)
{
    inq_damage_add(&r->shard->file.damage, INQ_DAMAGE_BAD_EVENT, 1, r->offset);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* How many columns there were no room for. */
static size_t read_titles(struct titles *titles, enum form form, const char *at, const char *end)
{
    struct text field;
    size_t left_out = 0;
    *titles = (struct titles){.form = form};
    at += at < end && *at == '#';
    while (next_field(form, &at, end, &field)) {
        if (titles->n < MAX_COLUMNS) {
            titles->columns[titles->n++] = inq_gpu_column_of(field.at, field.n);
        } else {
            left_out++;
        }
    }
    return left_out;
}

/* A GPU without a number is counted by when it is named first, as both tools go through them in
 * the order of their numbers. */
static int number_of(struct reading *r, struct text uuid, int32_t *index, struct inq_err *err)
{
    inq_str id = 0;
    int code = inq_strtab_add(&r->shard->names, uuid.at, uuid.n, &id, err);
    int32_t known = 0;
    while (known < r->n_uuids && r->uuids[known] != id) {
        known++;
    }
    if (known == INQ_GPU_MAX_UUIDS) {
        inq_damage_add(&r->shard->file.damage, INQ_DAMAGE_LIMIT, 1, r->offset);
        return code;
    }
    if (known == r->n_uuids) {
        r->uuids[r->n_uuids++] = id;
    }
    *index = known;
    return code;
}

/* GPUs report in turns: the one that is sought is the next one, or close to it. */
static int find_gpu(struct inq_telemetry *telemetry, inq_str host, int32_t index, uint32_t *gpu,
                    struct inq_err *err)
{
    size_t last = telemetry->n > 0 ? telemetry->samples[telemetry->n - 1].gpu : 0;
    for (size_t k = 0, i = last; k < telemetry->n_gpus; k++, i++) {
        i = i < telemetry->n_gpus ? i : 0;
        if (telemetry->gpus[i].host == host && telemetry->gpus[i].index == index) {
            *gpu = (uint32_t)i;
            return INQ_OK;
        }
    }
    int code = inq_mem_grow(&telemetry->gpus, &telemetry->cap_gpus, telemetry->n_gpus + 1,
                            sizeof *telemetry->gpus, INQ_MAX_GPUS, err);
    if (code == INQ_OK) {
        *gpu = (uint32_t)telemetry->n_gpus;
        telemetry->gpus[telemetry->n_gpus++] = (struct inq_gpu_source){host, index};
    }
    return code;
}

/* Fails with INQ_NOMEM, INQ_LIMIT. */
static int add_sample(struct inq_telemetry *telemetry, const struct inq_gpu_sample *sample,
                      struct inq_err *err)
{
    int code = inq_mem_grow(&telemetry->samples, &telemetry->cap, telemetry->n + 1,
                            sizeof *telemetry->samples, INQ_MAX_GPU_SAMPLES, err);
    if (code == INQ_OK) {
        telemetry->samples[telemetry->n++] = *sample;
    }
    return code;
}

static int add(struct reading *r, inq_str host, int32_t index, struct inq_gpu_sample *sample,
               struct inq_err *err)
{
    int code = find_gpu(r->shard->telemetry, host, index, &sample->gpu, err);
    r->shard->file.events++;
    return code == INQ_OK ? add_sample(r->shard->telemetry, sample, err) : code;
}

static struct inq_gpu_sample empty_sample(void)
{
    struct inq_gpu_sample sample = {.at_ns = INQ_TIME_NONE};
    for (int k = 0; k < INQ_GPU_METRIC_COUNT; k++) {
        sample.values[k] = NAN;
    }
    return sample;
}

static void take_value(const struct inq_gpu_column *column, struct text field, int32_t *index,
                       struct inq_gpu_sample *sample)
{
    double value = 0.0;
    switch (column->kind) {
    case INQ_GPU_COLUMN_METRIC:
        if (inq_gpu_number(field.at, field.n, &value)) {
            sample->values[column->metric] = (float)value;
        }
        break;
    case INQ_GPU_COLUMN_REASONS:
        sample->has_reasons |= inq_gpu_reasons(field.at, field.n, &sample->reasons);
        break;
    case INQ_GPU_COLUMN_REASON: {
        bool active = field.n >= 6 && memcmp(field.at, "Active", 6) == 0;
        bool not_active = field.n >= 3 && memcmp(field.at, "Not", 3) == 0;
        sample->has_reasons |= active || not_active;
        sample->reasons |= active ? column->bit : 0;
        break;
    }
    case INQ_GPU_COLUMN_INDEX:
        if (inq_gpu_number(field.at, field.n, &value) && value >= 0 && value < 65536) {
            *index = (int32_t)value;
        }
        break;
    case INQ_GPU_COLUMN_TIME:
    case INQ_GPU_COLUMN_UUID:
    case INQ_GPU_COLUMN_OTHER:
        break;
    }
}

/* "GPU 0" of dcgmi is one column of two words; rows of other entities are of parts of a GPU. */
static bool read_entity(const char **at, const char *end, int32_t *index)
{
    struct text field;
    double value = 0.0;
    const char *p = *at;
    if (!next_field(TABLE_BLANKS, &p, end, &field) || field.n != 3 ||
        memcmp(field.at, "GPU", 3) != 0 || !next_field(TABLE_BLANKS, &p, end, &field) ||
        !inq_gpu_number(field.at, field.n, &value)) {
        return false;
    }
    *index = value >= 0 && value < 65536 ? (int32_t)value : -1;
    *at = p;
    return true;
}

static void parse_row(const struct titles *titles, const char *at, const char *end, struct row *row)
{
    struct text field;
    struct text stamp = {"", 0};
    bool entity = titles->form == TABLE_BLANKS && read_entity(&at, end, &row->index);
    size_t n = entity ? 1 : 0;
    row->uuid = (struct text){"", 0};
    for (; n < titles->n && next_field(titles->form, &at, end, &field); n++) {
        const struct inq_gpu_column *c = &titles->columns[n];
        if (c->kind == INQ_GPU_COLUMN_TIME) {
            stamp = stamp.n == 0 ? field
                                 : (struct text){stamp.at, (size_t)(field.at + field.n - stamp.at)};
        } else if (c->kind == INQ_GPU_COLUMN_UUID) {
            row->uuid = field;
        }
        take_value(c, field, &row->index, &row->sample);
    }
    bool good = n == titles->n && n > 1 && (row->index >= 0 || row->uuid.n > 0) &&
                (stamp.n == 0 || inq_gpu_time(stamp.at, stamp.n, &row->sample.at_ns));
    row->stamped = stamp.n > 0;
    row->what = good ? ROW : BAD;
}

static int take_row(struct reading *r, struct row *row, struct inq_err *err)
{
    r->shard->telemetry->local_time |= row->stamped;
    int code = row->index >= 0 ? INQ_OK : number_of(r, row->uuid, &row->index, err);
    return code == INQ_OK && row->index >= 0 ? add(r, 0, row->index, &row->sample, err) : code;
}

/* ---- Prometheus ------------------------------------------------------------------------------ */

/* The value of a label in `{gpu="0",Hostname="node-1"}`. */
static struct text label(struct text labels, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = labels.at; at + n + 2 < labels.at + labels.n; at++) {
        bool begins = at == labels.at || at[-1] == ',' || at[-1] == '{' || at[-1] == ' ';
        if (begins && memcmp(at, name, n) == 0 && at[n] == '=' && at[n + 1] == '"') {
            const char *from = at + n + 2;
            const char *to = memchr(from, '"', (size_t)(labels.at + labels.n - from));
            return to != NULL ? (struct text){from, (size_t)(to - from)} : (struct text){"", 0};
        }
    }
    return (struct text){"", 0};
}

static bool is_same(struct text a, struct text b)
{
    return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

static int read_labels(struct reading *r, struct text text, struct label_set *set,
                       struct inq_err *err)
{
    struct text gpu = label(text, "gpu");
    struct text host = label(text, "Hostname");
    double number = 0.0;
    set->has_gpu = inq_gpu_number(gpu.at, gpu.n, &number) && number >= 0 && number < 65536;
    set->gpu = set->has_gpu ? (int32_t)number : -1;
    return set->has_gpu ? inq_strtab_add(&r->shard->names, host.at, host.n, &set->host, err)
                        : INQ_OK;
}

/* Every metric is there for each GPU, in the same order: its labels are the next ones in turn. */
static int find_labels(struct reading *r, struct text text, struct label_set *found,
                       struct inq_err *err)
{
    enum { TRIED = 64, MOST = 4096 }; /* not all: texts that tell a time are always new */
    for (size_t k = 0, i = r->last_set + 1; k < TRIED && k < r->n_sets; k++, i++) {
        i = i < r->n_sets ? i : 0;
        if (is_same(r->sets[i].text, text)) {
            r->last_set = i;
            *found = r->sets[i];
            return INQ_OK;
        }
    }
    *found = (struct label_set){.gpu = -1};
    int code = read_labels(r, text, found, err);
    if (code != INQ_OK || r->n_sets == MOST) {
        return code;
    }
    found->text.at = inq_arena_strndup(&r->shard->arena, text.at, text.n);
    found->text.n = text.n;
    code = found->text.at != NULL
               ? inq_mem_grow(&r->sets, &r->cap_sets, r->n_sets + 1, sizeof *r->sets, MOST, err)
               : inq_err_set(err, INQ_NOMEM, "out of memory");
    if (code == INQ_OK) {
        r->last_set = r->n_sets;
        r->sets[r->n_sets++] = *found;
    }
    return code;
}

/* Lines of one metric follow each other. */
static void find_metric(struct reading *r, struct text name)
{
    if (is_same(name, (struct text){r->metric, r->metric_n})) {
        return;
    }
    r->column = inq_gpu_column_of(name.at, name.n);
    r->metric_n = name.n <= MAX_METRIC ? name.n : 0;
    memcpy(r->metric, name.at, r->metric_n);
}

static void parse_metric(const char *at, const char *end, struct row *row)
{
    const char *open = memchr(at, '{', (size_t)(end - at));
    const char *close = open != NULL ? memrchr(open, '}', (size_t)(end - open)) : NULL;
    struct text stamp;
    double ms = 0.0;
    if (*at == '#') {
        return;
    }
    row->what = close != NULL ? METRIC : BAD;
    if (close == NULL) {
        return;
    }
    row->name = (struct text){at, (size_t)(open - at)};
    row->labels = (struct text){open, (size_t)(close - open)};
    at = close + 1;
    if (next_field(PROMETHEUS, &at, end, &row->value) && next_field(PROMETHEUS, &at, end, &stamp) &&
        inq_gpu_number(stamp.at, stamp.n, &ms) && ms > 0 && ms < 4e12) {
        row->sample.at_ns = (int64_t)ms * 1000000;
    }
}

static int take_metric(struct reading *r, struct row *row, struct inq_err *err)
{
    struct label_set labels;
    find_metric(r, row->name);
    if (r->column.kind == INQ_GPU_COLUMN_OTHER) {
        return INQ_OK;
    }
    int code = find_labels(r, row->labels, &labels, err);
    if (code != INQ_OK) {
        return code;
    }
    if (row->value.n == 0 || !labels.has_gpu) {
        bad_line(r);
        return INQ_OK;
    }
    take_value(&r->column, row->value, &row->index, &row->sample);
    return add(r, labels.host, labels.gpu, &row->sample, err);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static enum form form_of(const char *at, size_t n)
{
    const char *end = memchr(at, '\n', n);
    struct text line = trimmed(at, end != NULL ? end : at + n);
    if (line.n >= 7 && memcmp(line.at, "#Entity", 7) == 0) {
        return TABLE_BLANKS;
    }
    if (line.n > 5 && line.at[0] == '#' &&
        (memmem(line.at, line.n, "gtemp", 5) != NULL ||
         memmem(line.at, line.n, "pclk", 4) != NULL)) {
        return TABLE_BLANKS;
    }
    bool exporter = line.n > 12 && (memcmp(line.at, "DCGM_FI_", 8) == 0 ||
                                    (line.at[0] == '#' && memmem(line.at, line.n, " DCGM_FI_", 9)));
    if (exporter) {
        return PROMETHEUS;
    }
    struct text field;
    const char *p = line.at;
    size_t known = 0;
    while (memchr(line.at, ',', line.n) != NULL &&
           next_field(TABLE_CSV, &p, line.at + line.n, &field)) {
        struct inq_gpu_column column = inq_gpu_column_of(field.at, field.n);
        known += column.kind == INQ_GPU_COLUMN_METRIC || column.kind == INQ_GPU_COLUMN_REASONS ||
                 column.kind == INQ_GPU_COLUMN_REASON;
    }
    return known > 0 ? TABLE_CSV : UNKNOWN;
}

/* By a line's first character: most lines are values, and to look up their words takes long. */
static bool may_be_titles(enum form form, char first)
{
    return form == UNKNOWN || (form == TABLE_BLANKS && first == '#') ||
           (form == TABLE_CSV && isalpha((unsigned char)first) != 0);
}

/* Tables repeat their titles now and then; the second line of them may be of units. */
static void parse_by(const struct titles *titles, struct text line, struct row *row)
{
    *row = (struct row){.index = -1, .sample = empty_sample()};
    bool units = titles->form == TABLE_BLANKS &&
                 (line.at[0] == '#' || (line.n >= 2 && memcmp(line.at, "ID", 2) == 0));
    enum form form = may_be_titles(titles->form, line.at[0]) ? form_of(line.at, line.n) : UNKNOWN;
    if (form != UNKNOWN && form != PROMETHEUS &&
        (titles->form == UNKNOWN || form == titles->form)) {
        row->what = TITLES;
    } else if (titles->form == PROMETHEUS) {
        parse_metric(line.at, line.at + line.n, row);
    } else if (!units) {
        parse_row(titles, line.at, line.at + line.n, row);
    }
}

static void parse_line(const void *ctx, const struct inq_line *line, void *row)
{
    const struct reading *r = ctx;
    struct text text = trimmed(line->p, line->p + line->n);
    if (text.n > 0) {
        parse_by(&r->first, text, row);
    }
}

static int take_line(void *ctx, const struct inq_line *line, void *out, struct inq_err *err)
{
    struct reading *r = ctx;
    struct row *row = out;
    struct text text = trimmed(line->p, line->p + line->n);
    r->offset = line->offset;
    if (r->changed && text.n > 0) {
        parse_by(&r->now, text, row);
    }
    switch (row->what) {
    case TITLES: {
        size_t left_out = read_titles(&r->now, r->first.form, text.at, text.at + text.n);
        inq_damage_add(&r->shard->file.damage, INQ_DAMAGE_LIMIT, left_out, r->offset);
        r->changed = r->now.n != r->first.n || memcmp(r->now.columns, r->first.columns,
                                                      r->now.n * sizeof *r->now.columns) != 0;
        return INQ_OK;
    }
    case ROW:
        return take_row(r, row, err);
    case METRIC:
        return take_metric(r, row, err);
    case BAD:
        bad_line(r);
        return INQ_OK;
    case NOTHING:
        break;
    }
    return INQ_OK;
}

/* The titles of the first line that is not empty. */
static void find_titles(const char *head, size_t n, struct titles *titles)
{
    struct text text = trimmed(head, head + n);
    const char *stop = text.n > 0 ? memchr(text.at, '\n', text.n) : NULL;
    struct text line = trimmed(text.at, stop != NULL ? stop : text.at + text.n);
    enum form form = line.n > 0 ? form_of(line.at, line.n) : UNKNOWN;
    (void)read_titles(titles, form, line.at, form != PROMETHEUS ? line.at + line.n : line.at);
}

static int read_telemetry(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    const char *head = NULL;
    size_t n = 0;
    shard->file.format = inq_reader_telemetry.name;
    int code = inq_source_peek(source, &head, &n, err);
    if (code != INQ_OK) {
        return code;
    }
    struct reading *r = inq_mem_zalloc(1, sizeof *r);
    shard->telemetry = inq_mem_zalloc(1, sizeof *shard->telemetry);
    if (r == NULL || shard->telemetry == NULL) {
        inq_mem_free(r);
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    r->shard = shard;
    struct inq_lines lines = {.jobs = shard->jobs,
                              .ctx = r,
                              .row_size = sizeof(struct row),
                              .parse = parse_line,
                              .take = take_line,
                              .damage = &shard->file.damage};
    find_titles(head, n, &r->first);
    r->now = r->first;
    code = inq_lines_read(source, &lines, err);
    inq_mem_free(r->sets);
    inq_mem_free(r);
    return code;
}

static int sniff_telemetry(const char *head, size_t n, const char *path)
{
    (void)path;
    while (n > 0 && is_blank(*head)) {
        head++;
        n--;
    }
    return n > 0 && form_of(head, n) != UNKNOWN ? 95 : 0;
}

const struct inq_reader inq_reader_telemetry = {
    .name = "gpu-telemetry",
    .summary = "clocks, power, slowdowns: nvidia-smi CSV, dcgmi dmon, dcgm-exporter",
    .sniff = sniff_telemetry,
    .read = read_telemetry,
};
