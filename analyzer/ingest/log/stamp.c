/* SPDX-License-Identifier: Apache-2.0 */
/* Time stamps of logs. */
#include "ingest/log/line.h"

#include <string.h>

#define SECOND INT64_C(1000000000)

struct parts {
    int64_t year, month, day, hour, minute, second, fraction_ns;
    int decimals;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Exactly `n` digits. */
static const char *digits(const char *p, const char *end, int n, int64_t *value)
{
    *value = 0;
    for (int i = 0; i < n; i++, p++) {
        if (p == NULL || p >= end || !is_digit(*p)) {
            return NULL;
        }
        *value = *value * 10 + (*p - '0');
    }
    return p < end && is_digit(*p) ? NULL : p;
}

static const char *one_of(const char *p, const char *end, const char *chars)
{
    if (p == NULL || p >= end) {
        return NULL;
    }
    while (*chars != '\0' && *chars != *p) {
        chars++;
    }
    return *chars != '\0' ? p + 1 : NULL;
}

/* Days from 1970-01-01, Gregorian. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool fill(const struct parts *t, bool year_known, struct inq_log_event *event)
{
    if (t->month < 1 || t->month > 12 || t->day < 1 || t->day > 31 || t->hour > 23 ||
        t->minute > 59 || t->second > 60 || t->year < 1970 || t->year > 2200) {
        return false;
    }
    int64_t seconds =
        days_of(t->year, t->month, t->day) * 86400 + t->hour * 3600 + t->minute * 60 + t->second;
    event->clock = INQ_LOG_CLOCK_WALL;
    event->year_known = year_known;
    event->time_ns = seconds * SECOND + t->fraction_ns;
    event->coarse_ns = t->decimals > 0 ? SECOND / 1000 : SECOND;
    return true;
}

/* ".123456" or ",123". */
static const char *read_fraction(const char *p, const char *end, struct parts *t)
{
    int64_t unit = SECOND / 10;
    if (end - p < 2 || (*p != '.' && *p != ',') || !is_digit(p[1])) {
        return p;
    }
    for (p++; p < end && is_digit(*p); p++, unit /= 10) {
        t->fraction_ns += (*p - '0') * unit;
        t->decimals++;
    }
    return p;
}

/* "17:24:49.082" */
static const char *read_clock(const char *p, const char *end, struct parts *t)
{
    p = p != NULL ? digits(p, end, 2, &t->hour) : NULL;
    p = one_of(p, end, ":");
    p = p != NULL ? digits(p, end, 2, &t->minute) : NULL;
    p = one_of(p, end, ":");
    p = p != NULL ? digits(p, end, 2, &t->second) : NULL;
    return p != NULL ? read_fraction(p, end, t) : NULL;
}

/* "Mar" at p; behind it, or NULL. */
static const char *month_name(const char *p, const char *end, int64_t *month)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int64_t i = 0; i < 12 && end - p > 3; i++) {
        if (memcmp(p, months + i * 3, 3) == 0) {
            *month = i + 1;
            return p + 3;
        }
    }
    return NULL;
}

/* "2025-01-21T04:41:44,283302+00:00": printed times are compared as they are. */
static const char *read_iso(const char *p, const char *end, struct inq_log_event *event)
{
    struct parts t = {0};
    p = digits(p, end, 4, &t.year);
    p = one_of(p, end, "-/");
    const char *named = p != NULL ? month_name(p, end, &t.month) : NULL; /* Neuron's */
    p = named != NULL || p == NULL ? named : digits(p, end, 2, &t.month);
    p = one_of(p, end, "-/");
    p = p != NULL ? digits(p, end, 2, &t.day) : NULL;
    p = one_of(p, end, "T_ ");
    while (p != NULL && p < end && *p == ' ') {
        p++;
    }
    p = read_clock(p, end, &t);
    if (p == NULL || !fill(&t, true, event)) {
        return NULL;
    }
    if (p < end && *p == 'Z') {
        return p + 1;
    }
    if (end - p >= 5 && (*p == '+' || *p == '-') && is_digit(p[1]) && is_digit(p[2])) {
        p += p[3] == ':' && end - p >= 6 ? 6 : 5;
    }
    return p;
}

/* "E1213 17:25:50.704000", "E909 09:55:46.996672294": month and day without a leading zero. Nine
 * decimals are of another clock than the seconds. */
static const char *read_glog(const char *p, const char *end, struct inq_log_event *event)
{
    struct parts t = {.year = 1970};
    int64_t date = 0;
    if (strchr("IWEFDV", *p) == NULL) {
        return NULL;
    }
    const char *behind = digits(p + 1, end, 4, &date);
    behind = behind != NULL ? behind : digits(p + 1, end, 3, &date);
    t.month = date / 100;
    t.day = date % 100;
    if (behind == NULL || behind >= end || *behind != ' ') {
        return NULL;
    }
    while (behind < end && *behind == ' ') {
        behind++;
    }
    behind = read_clock(behind, end, &t);
    if (behind == NULL || !fill(&t, false, event)) {
        return NULL;
    }
    event->coarse_ns = t.decimals == 9 ? SECOND : event->coarse_ns;
    return behind;
}

/* "Feb 14 05:03:41", "Sun Feb 23 16:24:18 2025", "Feb 23 2025 16:24:18" of NVIDIA's daemons */
static const char *read_month(const char *p, const char *end, struct inq_log_event *event)
{
    static const char days[] = "MonTueWedThuFriSatSun";
    struct parts t = {.year = 1970};
    bool weekday = false;
    if (end - p <= 14 || p[3] != ' ') {
        return NULL;
    }
    for (int i = 0; i < 7; i++) {
        weekday = weekday || memcmp(p, days + (size_t)i * 3, 3) == 0;
    }
    p += weekday ? 4 : 0;
    const char *name = end - p > 14 ? month_name(p, end, &t.month) : NULL;
    if (name == NULL || *name != ' ') {
        return NULL;
    }
    p += p[4] == ' ' ? 5 : 4;
    const char *behind = digits(p, end, 2, &t.day);
    behind = behind != NULL ? behind : digits(p, end, 1, &t.day);
    int64_t year = 0;
    const char *dated = digits(one_of(behind, end, " "), end, 4, &year);
    bool in_front = dated != NULL;
    behind = read_clock(one_of(in_front ? dated : behind, end, " "), end, &t);
    if (behind == NULL) {
        return NULL;
    }
    bool follows = !in_front && behind < end && *behind == ' ';
    dated = follows ? digits(behind + 1, end, 4, &year) : dated;
    bool known = dated != NULL && year >= 1990 && year < 2200;
    t.year = known ? year : t.year;
    return fill(&t, known, event) ? (known && !in_front ? dated : behind) : NULL;
}

/* "[ 1843.308145]" */
static const char *read_boot(const char *p, const char *end, struct inq_log_event *event)
{
    int64_t seconds = 0;
    struct parts t = {0};
    while (p < end && *p == ' ') {
        p++;
    }
    const char *from = p;
    while (p < end && is_digit(*p) && p - from < 10) {
        seconds = seconds * 10 + (*p++ - '0');
    }
    if (p == from || p >= end || *p != '.') {
        return NULL;
    }
    p = read_fraction(p, end, &t);
    if (t.decimals != 6 || p >= end || *p != ']') {
        return NULL;
    }
    event->clock = INQ_LOG_CLOCK_BOOT;
    event->year_known = false;
    event->time_ns = seconds * SECOND + t.fraction_ns;
    event->coarse_ns = 1000;
    return p;
}

/* "@1741086130.100000": seconds since 1970 */
static const char *read_epoch(const char *p, const char *end, struct inq_log_event *event)
{
    int64_t seconds = 0;
    struct parts t = {0};
    p = digits(p + 1, end, 10, &seconds);
    if (p == NULL || (p < end && *p != '.' && *p != ' ')) {
        return NULL;
    }
    p = read_fraction(p, end, &t);
    event->clock = INQ_LOG_CLOCK_WALL;
    event->year_known = true;
    event->time_ns = seconds * SECOND + t.fraction_ns;
    event->coarse_ns = t.decimals > 0 ? SECOND / 1000 : SECOND;
    return p;
}

const char *inq_log_stamp(const char *p, const char *end, struct inq_log_event *event)
{
    bool bracket = p < end && (*p == '[' || *p == '(');
    p += bracket;
    if (end - p < 8) {
        return NULL;
    }
    const char *behind = NULL;
    if (is_digit(*p)) {
        behind = read_iso(p, end, event);
    } else if (*p >= 'A' && *p <= 'Z') {
        behind = read_glog(p, end, event);
        behind = behind != NULL ? behind : read_month(p, end, event);
    } else if (*p == '@') {
        behind = read_epoch(p, end, event);
    }
    if (behind == NULL && bracket) {
        behind = read_boot(p, end, event);
    }
    if (behind != NULL && bracket && behind < end && (*behind == ']' || *behind == ')')) {
        behind++;
    }
    return behind;
}
