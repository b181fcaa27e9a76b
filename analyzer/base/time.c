/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"

#include "base/digits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

__extension__ typedef __int128 wide;

struct decimal {
    bool negative;
    wide mantissa; /* at most 36 digits kept */
    int exponent;  /* of ten */
};

enum { MAX_DIGITS = 36, MAX_EXPONENT = 400 };

/* Adds one digit to the mantissa; later digits than the mantissa can hold only shift or drop. */
static void add_digit(struct decimal *d, int digit, int *digits, bool fraction)
{
    if (*digits < MAX_DIGITS) {
        d->mantissa = d->mantissa * 10 + digit;
        *digits += d->mantissa != 0;
        d->exponent -= fraction;
    } else {
        d->exponent += !fraction;
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The part after 'e'; false when malformed. */
static bool parse_exponent(const char *p, const char *end, int *exponent)
{
    bool negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    if (p == end) {
        return false;
    }
    int value = 0;
    for (; p < end; p++) {
        if (!is_digit(*p)) {
            return false;
        }
        value = value < MAX_EXPONENT ? value * 10 + (*p - '0') : value;
    }
    *exponent += negative ? -value : value;
    return true;
}

static bool parse_decimal(const char *text, size_t len, struct decimal *d)
{
    const char *p = text;
    const char *end = text + len;
    *d = (struct decimal){0};
    d->negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    int digits = 0;
    bool any = false;
    for (; p < end && is_digit(*p); p++) {
        add_digit(d, *p - '0', &digits, false);
        any = true;
    }
    if (p < end && *p == '.') {
        for (p++; p < end && is_digit(*p); p++) {
            add_digit(d, *p - '0', &digits, true);
            any = true;
        }
    }
    if (!any) {
        return false;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        return parse_exponent(p + 1, end, &d->exponent);
    }
    return p == end;
}

/* mantissa * 10^exponent, rounded half away from zero; false on overflow of int64. */
static bool scale(wide mantissa, int exponent, int64_t *out)
{
    for (; exponent > 0 && mantissa != 0; exponent--) {
        mantissa *= 10;
        if (mantissa > INT64_MAX) {
            return false;
        }
    }
    int last = 0;
    for (; exponent < 0 && (mantissa != 0 || last != 0); exponent++) {
        last = (int)(mantissa % 10);
        mantissa /= 10;
    }
    mantissa += last >= 5;
    if (mantissa > INT64_MAX) {
        return false;
    }
    *out = (int64_t)mantissa;
    return true;
}

/* frac / 10^decimals units, rounded half up; false: it takes more than 64 bits. */
static bool scale_fraction(uint64_t frac, int decimals, uint64_t unit_ns, uint64_t *ns)
{
    static const uint64_t tens[19] = {1u,
                                      10u,
                                      100u,
                                      1000u,
                                      10000u,
                                      100000u,
                                      1000000u,
                                      10000000u,
                                      100000000u,
                                      1000000000u,
                                      10000000000u,
                                      100000000000u,
                                      1000000000000u,
                                      10000000000000u,
                                      100000000000000u,
                                      1000000000000000u,
                                      10000000000000000u,
                                      100000000000000000u,
                                      1000000000000000000u};
    if (decimals >= 9 && unit_ns % 1000000000 == 0) { /* seconds at once */
        unit_ns /= 1000000000;
        decimals -= 9;
    }
    for (; decimals >= 3 && unit_ns % 1000 == 0; decimals -= 3) {
        unit_ns /= 1000;
    }
    for (; decimals > 0 && unit_ns % 10 == 0; decimals--) {
        unit_ns /= 10;
    }
    uint64_t scaled;
    if (decimals > 18 || __builtin_mul_overflow(frac, unit_ns, &scaled) || scaled > INT64_MAX) {
        return false;
    }
    *ns = decimals == 0 ? scaled : (scaled + tens[decimals] / 2) / tens[decimals];
    return true;
}

/* What nearly all numbers are, in 64 bits: at most 18 digits before a point and as many behind it
 * and its zeros. False for every other text. */
static bool parse_short(const char *text, size_t len, int64_t unit_ns, int64_t *ns)
{
    const size_t most = 18;
    const char *end = text + len;
    bool negative = len > 0 && *text == '-';
    const char *p = text + negative;
    uint64_t whole = 0;
    uint64_t frac = 0;
    uint64_t whole_ns;
    uint64_t part_ns = 0;
    int decimals = 0;
    if (p == end || inq_digits_read(&p, end, &whole) > most) {
        return false;
    }
    if (p > text + negative && p < end && *p == '.') {
        const char *point = p++;
        for (unsigned zeros = 8; zeros == 8 && end - p >= 8; p += zeros) {
            zeros = inq_digits_zeros(inq_digits_load(p));
        }
        if (inq_digits_read(&p, end, &frac) > most) {
            return false;
        }
        decimals = (int)(p - point) - 1;
    }
    if (p < end || __builtin_mul_overflow(whole, (uint64_t)unit_ns, &whole_ns) ||
        whole_ns > INT64_MAX / 2 ||
        (frac > 0 && !scale_fraction(frac, decimals, (uint64_t)unit_ns, &part_ns))) {
        return false;
    }
    int64_t value = (int64_t)(whole_ns + part_ns);
    *ns = negative ? -value : value;
    return true;
}

bool inq_time_parse_decimal(const char *text, size_t len, int64_t unit_ns, int64_t *ns)
{
    struct decimal d;
    int64_t value;
    if (parse_short(text, len, unit_ns, ns)) {
        return true;
    }
    /* 36 digits times a unit of at most 3.6e12 would overflow 128 bits: drop digits below 1e-20 */
    if (!parse_decimal(text, len, &d)) {
        return false;
    }
    const wide room = (wide)1 << 80;
    while (d.mantissa > room) {
        d.mantissa /= 10;
        d.exponent++;
    }
    if (!scale(d.mantissa * unit_ns, d.exponent, &value)) {
        return false;
    }
    *ns = d.negative ? -value : value;
    return true;
}

struct unit {
    const char *text;
    int64_t ns;
};

bool inq_time_parse(const char *text, int64_t default_unit_ns, int64_t *ns)
{
    static const struct unit units[] = {
        {"ns", 1},         {"us", 1000},         {"ms", 1000000}, {"min", 60000000000},
        {"s", 1000000000}, {"h", 3600000000000},
    };
    size_t len = strlen(text);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t unit_len = strlen(units[i].text);
        if (len > unit_len && strcmp(text + len - unit_len, units[i].text) == 0) {
            return inq_time_parse_decimal(text, len - unit_len, units[i].ns, ns);
        }
    }
    return inq_time_parse_decimal(text, len, default_unit_ns, ns);
}

char *inq_time_format(int64_t ns, char *buf, size_t size)
{
    double magnitude = ns < 0 ? -(double)ns : (double)ns;
    const char *unit = "ns";
    double scaled = (double)ns;
    if (magnitude >= 999.5e6) {
        unit = "s";
        scaled /= 1e9;
    } else if (magnitude >= 999.5e3) {
        unit = "ms";
        scaled /= 1e6;
    } else if (magnitude >= 1000) {
        unit = "us";
        scaled /= 1e3;
    } else {
        (void)snprintf(buf, size, "%" PRId64 " ns", ns);
        return buf;
    }
    double shown = scaled < 0 ? -scaled : scaled;
    int decimals = shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : 2;
    (void)snprintf(buf, size, "%.*f %s", decimals, scaled, unit);
    return buf;
}

int64_t inq_time_now_ns(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        return 0;
    }
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
