/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/telemetry/fields.h"

#include <math.h>
#include <string.h>
#include <strings.h>

struct column_row {
    const char *name;
    struct inq_gpu_column column;
};

#define METRIC(name, what)                                                                         \
    {                                                                                              \
        name,                                                                                      \
        {                                                                                          \
            INQ_GPU_COLUMN_METRIC, what, 0                                                         \
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
            INQ_GPU_COLUMN_REASON, INQ_GPU_SM_MHZ, bit                                             \
        }                                                                                          \
    }

/* nvidia-smi --help-query-gpu, nvidia-smi dmon, dcgmi dmon, dcgm-exporter. */
static const struct column_row rows[] = {
    OTHER("timestamp", INQ_GPU_COLUMN_TIME),
    OTHER("Date", INQ_GPU_COLUMN_TIME),
    OTHER("Time", INQ_GPU_COLUMN_TIME),
    OTHER("index", INQ_GPU_COLUMN_INDEX),
    OTHER("gpu", INQ_GPU_COLUMN_INDEX),
    OTHER("uuid", INQ_GPU_COLUMN_UUID),
    OTHER("gpu_uuid", INQ_GPU_COLUMN_UUID),
    OTHER("pci.bus_id", INQ_GPU_COLUMN_UUID),
    OTHER("gpu_bus_id", INQ_GPU_COLUMN_UUID),
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
    OTHER("clocks_throttle_reasons.active", INQ_GPU_COLUMN_REASONS),
    OTHER("clocks_event_reasons.active", INQ_GPU_COLUMN_REASONS),
    OTHER("DVCCTR", INQ_GPU_COLUMN_REASONS),
    OTHER("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", INQ_GPU_COLUMN_REASONS),
    OTHER("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", INQ_GPU_COLUMN_REASONS),
    REASON("sw_power_cap", 0x04),
    REASON("hw_slowdown", 0x08),
    REASON("sw_thermal_slowdown", 0x20),
    REASON("hw_thermal_slowdown", 0x40),
    REASON("hw_power_brake_slowdown", 0x80),
};

struct inq_gpu_column inq_gpu_column_of(const char *name, size_t n)
{
    static const char *const prefixes[] = {"clocks_throttle_reasons.", "clocks_event_reasons."};
    const char *unit = n > 0 ? memmem(name, n, " [", 2) : NULL;
    n = unit != NULL ? (size_t)(unit - name) : n;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool same = strlen(rows[i].name) == n && strncasecmp(rows[i].name, name, n) == 0;
        bool reason = rows[i].column.kind == INQ_GPU_COLUMN_REASON;
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
    return (struct inq_gpu_column){.kind = INQ_GPU_COLUMN_OTHER};
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Up to 15 digits, which a double holds exactly, with or without a point among them; how many bytes
 * they are, 0 where there are more. */
static size_t short_number(const char *text, size_t n, double *value)
{
    static const double units[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    uint64_t digits = 0;
    size_t i = 0;
    size_t point = SIZE_MAX;
    for (; i < n && i <= 16 && (is_digit(text[i]) || (text[i] == '.' && point == SIZE_MAX)); i++) {
        if (text[i] == '.') {
            point = i;
        } else {
            digits = digits * 10 + (uint64_t)(text[i] - '0');
        }
    }
    size_t decimals = point < i ? i - point - 1 : 0;
    *value = decimals > 0 ? (double)digits / units[decimals & 15] : (double)digits;
    return i - (point < i) <= 15 ? i : 0;
}

bool inq_gpu_number(const char *text, size_t n, double *value)
{
    double got = 0.0;
    double unit = 1.0;
    size_t i = short_number(text, n, value);
    bool point = false;
    if (i > 0 && (i == n || text[i] == ' ')) {
        return is_digit(text[0]) && *value < 1e15;
    }
    i = 0;
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

bool inq_gpu_reasons(const char *text, size_t n, uint32_t *bits)
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
    if (!inq_gpu_number(text, n, &decimal) || decimal > (double)UINT32_MAX) {
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

static bool skip(const char **at, const char *end, const char any[2])
{
    bool there = *at < end && (**at == any[0] || **at == any[1]);
    *at += there;
    return there;
}

bool inq_gpu_time(const char *text, size_t n, int64_t *at_ns)
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
    if (!fixed_number(&at, end, 2, &hour) || !skip(&at, end, "::") ||
        !fixed_number(&at, end, 2, &minute) || !skip(&at, end, "::") ||
        !fixed_number(&at, end, 2, &second) || year < 1970 || year > 2200 || month < 1 ||
        month > 12 || day < 1 || day > 31) {
        return false;
    }
    int64_t part_ns = 0;
    if (skip(&at, end, "..")) {
        for (int64_t unit_ns = 100000000; at < end && is_digit(*at) && unit_ns > 0; unit_ns /= 10) {
            part_ns += (*at++ - '0') * unit_ns;
        }
    }
    int64_t seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    *at_ns = seconds * 1000000000 + part_ns;
    return true;
}
