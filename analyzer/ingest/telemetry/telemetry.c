/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry of GPUs as text, one reader for the forms that it has: CSV of `nvidia-smi --query-gpu`,
 * tables of `dcgmi dmon` and `nvidia-smi dmon`, Prometheus' text of dcgm-exporter. */
#include "ingest/ingest.h"

#include "base/mem.h"
#include "trace/telemetry/telemetry.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- words: names of columns and metrics, values with units, times -----------------------------
 */

enum { MAX_UUIDS = 256 }; /* of one host */

enum column_kind {
    COLUMN_OTHER,
    COLUMN_TIME,
    COLUMN_INDEX,
    COLUMN_UUID,
    COLUMN_METRIC,
    COLUMN_REASONS, /* a mask of bits */
    COLUMN_REASON   /* one of them: "Active", "Not Active" */
};

struct column {
    enum column_kind kind;
    enum inq_gpu_metric metric;
    uint32_t bit;
};

struct column_row {
    const char *name;
    struct column column;
};

#define METRIC(name, what)                                                                         \
    {                                                                                              \
        name,                                                                                      \
        {                                                                                          \
            COLUMN_METRIC, what, 0                                                                 \
        }                                                                                          \
    }
#define OTHER(name, kind)                                                                          \
    {                                                                                              \
        name,                                                                                      \
        {                                                                                          \
            kind, INQ_GPU_SM_MHZ, 0                                                                \
        }                                                                                          \
    }
#define REASON(name, bit)                                                                          \
    {                                                                                              \
        name,                                                                                      \
        {                                                                                          \
            COLUMN_REASON, INQ_GPU_SM_MHZ, bit                                                     \
        }                                                                                          \
    }

/* nvidia-smi --help-query-gpu, nvidia-smi dmon, dcgmi dmon, dcgm-exporter. */
static const struct column_row rows[] = {
    OTHER("timestamp", COLUMN_TIME),
    OTHER("Date", COLUMN_TIME),
    OTHER("Time", COLUMN_TIME),
    OTHER("index", COLUMN_INDEX),
    OTHER("gpu", COLUMN_INDEX),
    OTHER("uuid", COLUMN_UUID),
    OTHER("gpu_uuid", COLUMN_UUID),
    OTHER("pci.bus_id", COLUMN_UUID),
    OTHER("gpu_bus_id", COLUMN_UUID),
    METRIC("clocks.sm", INQ_GPU_SM_MHZ),
    METRIC("clocks.current.sm", INQ_GPU_SM_MHZ),
    METRIC("pclk", INQ_GPU_SM_MHZ),
    METRIC("SMCLK", INQ_GPU_SM_MHZ),
    METRIC("DCGM_FI_DEV_SM_CLOCK", INQ_GPU_SM_MHZ),
    METRIC("clocks.mem", INQ_GPU_MEMORY_MHZ),
    METRIC("clocks.current.memory", INQ_GPU_MEMORY_MHZ),
    METRIC("mclk", INQ_GPU_MEMORY_MHZ),
    METRIC("MMCLK", INQ_GPU_MEMORY_MHZ),
    METRIC("DCGM_FI_DEV_MEM_CLOCK", INQ_GPU_MEMORY_MHZ),
    METRIC("power.draw", INQ_GPU_POWER_W),
    METRIC("power.draw.instant", INQ_GPU_POWER_W),
    METRIC("power.draw.average", INQ_GPU_POWER_W),
    METRIC("pwr", INQ_GPU_POWER_W),
    METRIC("POWER", INQ_GPU_POWER_W),
    METRIC("DCGM_FI_DEV_POWER_USAGE", INQ_GPU_POWER_W),
    METRIC("temperature.gpu", INQ_GPU_TEMPERATURE_C),
    METRIC("gtemp", INQ_GPU_TEMPERATURE_C),
    METRIC("TMPTR", INQ_GPU_TEMPERATURE_C),
    METRIC("DCGM_FI_DEV_GPU_TEMP", INQ_GPU_TEMPERATURE_C),
    METRIC("ecc.errors.uncorrected.volatile.total", INQ_GPU_ECC_ERRORS),
    METRIC("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", INQ_GPU_ECC_ERRORS),
    OTHER("clocks_throttle_reasons.active", COLUMN_REASONS),
    OTHER("clocks_event_reasons.active", COLUMN_REASONS),
    OTHER("DVCCTR", COLUMN_REASONS),
    OTHER("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", COLUMN_REASONS),
    OTHER("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", COLUMN_REASONS),
    REASON("sw_power_cap", 0x04),
    REASON("hw_slowdown", 0x08),
    REASON("sw_thermal_slowdown", 0x20),
    REASON("hw_thermal_slowdown", 0x40),
    REASON("hw_power_brake_slowdown", 0x80),
};

/* By the name of a column or metric, its unit in brackets or not. */
static struct column column_of(const char *name, size_t n)
{
    static const char *const prefixes[] = {"clocks_throttle_reasons.", "clocks_event_reasons."};
    const char *unit = n > 0 ? memmem(name, n, " [", 2) : NULL;
    n = unit != NULL ? (size_t)(unit - name) : n;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool same = strlen(rows[i].name) == n && strncasecmp(rows[i].name, name, n) == 0;
        bool reason = rows[i].column.kind == COLUMN_REASON;
        for (size_t k = 0; reason && k < sizeof prefixes / sizeof *prefixes; k++) {
            size_t len = strlen(prefixes[k]);
            same =
                same || (n == len + strlen(rows[i].name) && memcmp(name, prefixes[k], len) == 0 &&
                         memcmp(name + len, rows[i].name, n - len) == 0);
        }
        if (same) {
            return rows[i].column;
        }
    }
    return (struct column){.kind = COLUMN_OTHER};
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "1980", "1980 MHz", "71.52 W"; false for "[N/A]", "-" and the like. */
static bool read_number(const char *text, size_t n, double *value)
{
    double got = 0.0;
    double unit = 1.0;
    size_t i = 0;
    bool point = false;
    for (; i < n && (is_digit(text[i]) || (text[i] == '.' && !point)); i++) {
        point = point || text[i] == '.';
        if (is_digit(text[i])) {
            got = got * 10.0 + (text[i] - '0');
            unit = point ? unit * 10.0 : unit;
        }
    }
    *value = got / unit;
    bool ends = i == n || text[i] == ' ';
    if (i + 1 < n && (text[i] == 'e' || text[i] == 'E')) { /* Prometheus: 1.98e+03 */
        bool minus = text[i + 1] == '-';
        size_t k = i + 1 + (minus || text[i + 1] == '+');
        int power = 0;
        for (; k < n && is_digit(text[k]) && power < 1000; k++) {
            power = power * 10 + (text[k] - '0');
        }
        *value *= pow(10.0, minus ? -power : power);
        ends = k == n;
    }
    return i > 0 && is_digit(text[0]) && ends && isfinite(*value) && *value < 1e15;
}

/* "0x0000000000000040" or a decimal number. */
static bool read_reasons(const char *text, size_t n, uint32_t *bits)
{
    double decimal;
    if (n > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
        uint64_t got = 0;
        for (size_t i = 2; i < n; i++) {
            char c = (char)(text[i] | 0x20);
            if (!is_digit(c) && (c < 'a' || c > 'f')) {
                return false;
            }
            got = got << 4 | (uint64_t)(is_digit(c) ? c - '0' : c - 'a' + 10);
        }
        *bits = (uint32_t)got;
        return true;
    }
    if (!read_number(text, n, &decimal) || decimal > (double)UINT32_MAX) {
        return false;
    }
    *bits = (uint32_t)decimal;
    return true;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Exactly `digits` digits at *at. */
static bool fixed_number(const char **at, const char *end, int digits, int64_t *value)
{
    *value = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        if (*at == end || !is_digit(**at)) {
            return false;
        }
        *value = *value * 10 + (**at - '0');
    }
    return true;
}

/* Days since 1970-01-01 of the Gregorian calendar, years counted from March. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t m = month > 2 ? month - 3 : month + 9;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static bool skip(const char **at, const char *end, const char *any)
{
    bool there = *at < end && strchr(any, **at) != NULL && **at != '\0';
    *at += there;
    return there;
}

/* "2026/01/15 08:00:00.123", "2026-01-15T08:00:00", "20260115 08:00:00" as if it were UTC. */
static bool read_time(const char *text, size_t n, int64_t *at_ns)
{
    const char *at = text;
    const char *end = text + n;
    int64_t year;
    int64_t month;
    int64_t day;
    int64_t hour;
    int64_t minute;
    int64_t second;
    if (!fixed_number(&at, end, 4, &year)) {
        return false;
    }
    bool parted = skip(&at, end, "/-");
    if (!fixed_number(&at, end, 2, &month) || (parted && !skip(&at, end, "/-")) ||
        !fixed_number(&at, end, 2, &day) || !skip(&at, end, " T")) {
        return false;
    }
    while (skip(&at, end, " \t")) {
    }
    if (!fixed_number(&at, end, 2, &hour) || !skip(&at, end, ":") ||
        !fixed_number(&at, end, 2, &minute) || !skip(&at, end, ":") ||
        !fixed_number(&at, end, 2, &second) || year < 1970 || year > 2200 || month < 1 ||
        month > 12 || day < 1 || day > 31) {
        return false;
    }
    int64_t part_ns = 0;
    if (skip(&at, end, ".")) {
        for (int64_t unit_ns = 100000000; at < end && is_digit(*at) && unit_ns > 0; unit_ns /= 10) {
            part_ns += (*at++ - '0') * unit_ns;
        }
    }
    int64_t seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    *at_ns = seconds * 1000000000 + part_ns;
    return true;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Bounds on what a line may be; longer ones are cut and counted. */
enum { MAX_LINE = 1 << 15, MAX_COLUMNS = 128 };

enum form { UNKNOWN, TABLE_CSV, TABLE_BLANKS, PROMETHEUS };

struct reading {
    struct inq_shard *shard;
    enum form form;
    size_t n_columns;
    struct column columns[MAX_COLUMNS];
    uint64_t offset;          /* of the line */
    inq_str uuids[MAX_UUIDS]; /* GPUs of a table without their number, as they come */
    int32_t n_uuids;
};

struct text {
    const char *at;
    size_t n;
};

static struct text trimmed(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at) != 0) {
        at++;
    }
    while (end > at && isspace((unsigned char)end[-1]) != 0) {
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
    while (*at < end && isspace((unsigned char)**at) != 0) {
        (*at)++;
    }
    const char *begin = *at;
    while (*at < end && isspace((unsigned char)**at) == 0) {
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
            r->columns[r->n_columns++] = column_of(field.at, field.n);
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
    if (known == MAX_UUIDS) {
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
    for (size_t k = 0; k < telemetry->n_gpus; k++) {
        size_t i = (last + k) % telemetry->n_gpus;
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

static void take_value(const struct column *column, struct text field, int32_t *index,
                       struct inq_gpu_sample *sample)
{
    double value = 0.0;
    switch (column->kind) {
    case COLUMN_METRIC:
        if (read_number(field.at, field.n, &value)) {
            sample->values[column->metric] = (float)value;
        }
        break;
    case COLUMN_REASONS:
        sample->has_reasons |= read_reasons(field.at, field.n, &sample->reasons);
        break;
    case COLUMN_REASON: {
        bool active = field.n >= 6 && memcmp(field.at, "Active", 6) == 0;
        bool not_active = field.n >= 3 && memcmp(field.at, "Not", 3) == 0;
        sample->has_reasons |= active || not_active;
        sample->reasons |= active ? column->bit : 0;
        break;
    }
    case COLUMN_INDEX:
        if (read_number(field.at, field.n, &value) && value >= 0 && value < 65536) {
            *index = (int32_t)value;
        }
        break;
    case COLUMN_TIME:
    case COLUMN_UUID:
    case COLUMN_OTHER:
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
        !read_number(field.at, field.n, &value)) {
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
        const struct column *c = &r->columns[n];
        if (c->kind == COLUMN_TIME) {
            stamp = stamp.n == 0 ? field
                                 : (struct text){stamp.at, (size_t)(field.at + field.n - stamp.at)};
        } else if (c->kind == COLUMN_UUID) {
            uuid = field;
        }
        take_value(c, field, &index, &sample);
    }
    bool numbered = index >= 0 || uuid.n > 0;
    if (n < r->n_columns || r->n_columns < 2 || !numbered) {
        bad_line(r);
        return INQ_OK;
    }
    if (stamp.n > 0 && !read_time(stamp.at, stamp.n, &sample.at_ns)) {
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
    struct column column = column_of(at, (size_t)(open - at));
    struct text labels = {open, (size_t)(close - open)};
    struct text gpu = label(labels, "gpu");
    struct text host = label(labels, "Hostname");
    struct text value;
    struct text stamp;
    struct inq_gpu_sample sample = empty_sample();
    int32_t index = -1;
    double number = 0.0;
    at = close + 1;
    if (column.kind == COLUMN_OTHER) {
        return INQ_OK;
    }
    if (!next_field(PROMETHEUS, &at, end, &value) || !read_number(gpu.at, gpu.n, &number) ||
        number < 0 || number >= 65536) {
        bad_line(r);
        return INQ_OK;
    }
    if (next_field(PROMETHEUS, &at, end, &stamp)) {
        double ms = 0.0;
        sample.at_ns = read_number(stamp.at, stamp.n, &ms) && ms > 0 && ms < 4e12
                           ? (int64_t)ms * 1000000
                           : INQ_TIME_NONE;
    }
    index = (int32_t)number;
    take_value(&column, value, &index, &sample);
    inq_str name = 0;
    int code = inq_strtab_add(&r->shard->names, host.at, host.n, &name, err);
    return code == INQ_OK ? add(r, name, (int32_t)number, &sample, err) : code;
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
        struct column column = column_of(field.at, field.n);
        known += column.kind == COLUMN_METRIC || column.kind == COLUMN_REASONS ||
                 column.kind == COLUMN_REASON;
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
    return read_lines(&r, source, err);
}

static int sniff_telemetry(const char *head, size_t n, const char *path)
{
    (void)path;
    while (n > 0 && isspace((unsigned char)*head) != 0) {
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
