/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry of GPUs as text, one reader for the forms that it has: CSV of `nvidia-smi --query-gpu`,
 * tables of `dcgmi dmon` and `nvidia-smi dmon`, Prometheus' text of dcgm-exporter. */
#include "ingest/ingest.h"

#include "base/mem.h"
#include "ingest/telemetry/fields.h"
#include "trace/telemetry/telemetry.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Bounds on what a line may be; longer ones are cut and counted. */
enum { MAX_LINE = 1 << 15, MAX_COLUMNS = 128 };
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

struct reading {
    struct inq_shard *shard;
    enum form form;
    size_t n_columns;
    struct inq_gpu_column columns[MAX_COLUMNS];
    uint64_t offset;                  /* of the line */
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
    inq_damage_add(&r->shard->file.damage, INQ_DAMAGE_BAD_EVENT, 1, (int64_t)r->offset);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void read_header(struct reading *r, const char *at, const char *end)
{
    struct text field;
    r->n_columns = 0;
    at += at < end && *at == '#';
    while (next_field(r->form, &at, end, &field)) {
        if (r->n_columns < MAX_COLUMNS) {
            r->columns[r->n_columns++] = inq_gpu_column_of(field.at, field.n);
        } else {
            inq_damage_add(&r->shard->file.damage, INQ_DAMAGE_LIMIT, 1, (int64_t)r->offset);
        }
    }
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
        inq_damage_add(&r->shard->file.damage, INQ_DAMAGE_LIMIT, 1, (int64_t)r->offset);
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

static int read_row(struct reading *r, const char *at, const char *end, struct inq_err *err)
{
    struct inq_gpu_sample sample = empty_sample();
    struct text field;
    struct text uuid = {"", 0};
    struct text stamp = {"", 0};
    int32_t index = -1;
    size_t column = r->form == TABLE_BLANKS && read_entity(&at, end, &index) ? 1 : 0;
    size_t n = column;
    for (; n < r->n_columns && next_field(r->form, &at, end, &field); n++) {
        const struct inq_gpu_column *c = &r->columns[n];
        if (c->kind == INQ_GPU_COLUMN_TIME) {
            stamp = stamp.n == 0 ? field
                                 : (struct text){stamp.at, (size_t)(field.at + field.n - stamp.at)};
        } else if (c->kind == INQ_GPU_COLUMN_UUID) {
            uuid = field;
        }
        take_value(c, field, &index, &sample);
    }
    bool numbered = index >= 0 || uuid.n > 0;
    if (n < r->n_columns || r->n_columns < 2 || !numbered) {
        bad_line(r);
        return INQ_OK;
    }
    if (stamp.n > 0 && !inq_gpu_time(stamp.at, stamp.n, &sample.at_ns)) {
        bad_line(r);
        return INQ_OK;
    }
    r->shard->telemetry->local_time |= stamp.n > 0;
    int code = index >= 0 ? INQ_OK : number_of(r, uuid, &index, err);
    return code == INQ_OK && index >= 0 ? add(r, 0, index, &sample, err) : code;
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

static int read_metric(struct reading *r, const char *at, const char *end, struct inq_err *err)
{
    const char *open = memchr(at, '{', (size_t)(end - at));
    const char *close = open != NULL ? memrchr(open, '}', (size_t)(end - open)) : NULL;
    if (*at == '#') {
        return INQ_OK;
    }
    if (close == NULL) {
        bad_line(r);
        return INQ_OK;
    }
    struct label_set labels;
    struct text value;
    struct text stamp;
    struct inq_gpu_sample sample = empty_sample();
    int32_t index = -1;
    find_metric(r, (struct text){at, (size_t)(open - at)});
    if (r->column.kind == INQ_GPU_COLUMN_OTHER) {
        return INQ_OK;
    }
    int code = find_labels(r, (struct text){open, (size_t)(close - open)}, &labels, err);
    at = close + 1;
    if (code != INQ_OK) {
        return code;
    }
    if (!next_field(PROMETHEUS, &at, end, &value) || !labels.has_gpu) {
        bad_line(r);
        return INQ_OK;
    }
    if (next_field(PROMETHEUS, &at, end, &stamp)) {
        double ms = 0.0;
        sample.at_ns = inq_gpu_number(stamp.at, stamp.n, &ms) && ms > 0 && ms < 4e12
                           ? (int64_t)ms * 1000000
                           : INQ_TIME_NONE;
    }
    take_value(&r->column, value, &index, &sample);
    return add(r, labels.host, labels.gpu, &sample, err);
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
static bool may_be_header(const struct reading *r, char first)
{
    return r->form == UNKNOWN || (r->form == TABLE_BLANKS && first == '#') ||
           (r->form == TABLE_CSV && isalpha((unsigned char)first) != 0);
}

/* Tables repeat their header now and then; the second line of one may be of units. */
static int read_line(struct reading *r, const char *at, size_t n, struct inq_err *err)
{
    struct text line = trimmed(at, at + n);
    if (line.n == 0) {
        return INQ_OK;
    }
    enum form form = may_be_header(r, line.at[0]) ? form_of(line.at, line.n) : UNKNOWN;
    if (r->form == UNKNOWN || form == r->form) {
        r->form = form;
        if (form != PROMETHEUS) {
            read_header(r, line.at, line.at + line.n);
            return INQ_OK;
        }
    }
    bool units = r->form == TABLE_BLANKS &&
                 (line.at[0] == '#' || (line.n >= 2 && memcmp(line.at, "ID", 2) == 0));
    if (units) {
        return INQ_OK;
    }
    return r->form == PROMETHEUS ? read_metric(r, line.at, line.at + line.n, err)
                                 : read_row(r, line.at, line.at + line.n, err);
}

/* A line that was begun in chunks before. */
struct rest {
    char bytes[MAX_LINE];
    size_t n;
    bool cut;
};

static void keep_rest(struct reading *r, struct rest *rest, const char *at, size_t n)
{
    size_t room = sizeof rest->bytes - rest->n;
    size_t taken = n < room ? n : room;
    memcpy(rest->bytes + rest->n, at, taken);
    rest->n += taken;
    if (taken < n && !rest->cut) {
        rest->cut = true;
        inq_damage_add(&r->shard->file.damage, INQ_DAMAGE_LONG_STRING, 1, (int64_t)r->offset);
    }
}

static int read_chunk(struct reading *r, struct rest *rest, const char *at, size_t n,
                      struct inq_err *err)
{
    const char *end = at + n;
    int code = INQ_OK;
    for (const char *stop; code == INQ_OK && at < end; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) {
            keep_rest(r, rest, at, (size_t)(end - at));
            break;
        }
        size_t len = (size_t)(stop - at);
        if (rest->n > 0 || len > sizeof rest->bytes) {
            keep_rest(r, rest, at, len);
            code = read_line(r, rest->bytes, rest->n, err);
        } else {
            code = read_line(r, at, len, err);
        }
        r->offset += rest->n > 0 ? rest->n + 1 : len + 1;
        rest->n = 0;
        rest->cut = false;
    }
    return code;
}

static int read_lines(struct reading *r, struct inq_source *source, struct inq_err *err)
{
    struct rest *rest = inq_mem_zalloc(1, sizeof *rest);
    int code = rest != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
    while (code == INQ_OK) {
        const char *chunk = NULL;
        size_t n = 0;
        code = inq_source_next(source, &chunk, &n, err);
        if (code != INQ_OK || n == 0) {
            break;
        }
        code = read_chunk(r, rest, chunk, n, err);
    }
    if (code == INQ_OK && rest->n > 0) {
        code = read_line(r, rest->bytes, rest->n, err);
    }
    inq_mem_free(rest);
    return code;
}

static int read_telemetry(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    struct reading r = {.shard = shard};
    shard->file.format = inq_reader_telemetry.name;
    shard->telemetry = inq_mem_zalloc(1, sizeof *shard->telemetry);
    if (shard->telemetry == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    int code = read_lines(&r, source, err);
    inq_mem_free(r.sets);
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
