/* SPDX-License-Identifier: Apache-2.0 */
/* Tolerances and limits as people write them. */
#include "analysis/check/check.h"
#include "base/time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A plain decimal number, not negative, nothing behind it. */
static bool read_number(const char *text, size_t len, double *value)
{
    char buf[48];
    char *end = NULL;
    if (len == 0 || len >= sizeof buf || strspn(text, "0123456789.eE+-") < len || text[0] == '-') {
        return false;
    }
    memcpy(buf, text, len);
    buf[len] = '\0';
    *value = strtod(buf, &end);
    return end == buf + len && isfinite(*value) && *value >= 0.0;
}

/* Ten thousand times as much: whoever wants to allow more means "off". */
static const double MOST_PERCENT = 1e6;

static bool read_percent(const char *text, double *part)
{
    size_t len = strlen(text);
    double value;
    if (len < 2 || text[len - 1] != '%') {
        return false;
    }
    len--;
    while (len > 0 && text[len - 1] == ' ') {
        len--;
    }
    if (!read_number(text, len, &value) || value > MOST_PERCENT) {
        return false;
    }
    *part = value / 100.0;
    return true;
}

int inq_check_tolerance_parse(const char *text, struct inq_check_rules *rules, struct inq_err *err)
{
    double part;
    if (!read_percent(text, &part) && !(read_number(text, strlen(text), &part) && part < 1.0)) {
        return inq_err_set(err, INQ_USAGE, "a tolerance is a percentage such as 3%%, not '%.80s'",
                           text);
    }
    rules->has_tolerance = true;
    rules->tolerance = part;
    return INQ_OK;
}

static bool read_severity(const char *text, enum inq_severity *severity)
{
    for (int s = INQ_SEVERITY_LOW; s <= INQ_SEVERITY_HIGH; s++) {
        if (strcmp(text, inq_severity_text((enum inq_severity)s)) == 0) {
            *severity = (enum inq_severity)s;
            return true;
        }
    }
    return false;
}

static bool read_absolute(enum inq_measure_kind kind, const char *text, double *value)
{
    int64_t ns;
    if (inq_measure_info(kind)->unit != INQ_UNIT_NS) {
        return read_number(text, strlen(text), value);
    }
    /* a bare number would be ambiguous: the measures are in ns, people think in ms */
    if (strspn(text, "0123456789.") == strlen(text) || !inq_time_parse(text, 1, &ns) || ns < 0) {
        return false;
    }
    *value = (double)ns;
    return true;
}

static int unknown_measure(const char *text, size_t len, struct inq_err *err)
{
    char names[360] = "";
    size_t at = 0;
    for (int k = 0; k < INQ_MEASURE_COUNT && at < sizeof names; k++) {
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", k > 0 ? ", " : "",
                               inq_measure_info((enum inq_measure_kind)k)->name);
    }
    return inq_err_set(err, INQ_USAGE, "there is no check '%.*s'; there are %s",
                       len < 60 ? (int)len : 60, text, names);
}

static int bad_limit(enum inq_measure_kind kind, const char *limit, struct inq_err *err)
{
    const struct inq_measure_info *info = inq_measure_info(kind);
    const char *what = kind == INQ_MEASURE_NEW_FINDINGS ? "low, medium, high or off"
                       : info->growth == INQ_GROWS_NOT  ? "a number (4) or off"
                       : info->unit == INQ_UNIT_NS
                           ? "a percentage (5%), a time with its unit (12.5ms) or off"
                           : "a percentage (5%), a number (0.3) or off";
    return inq_err_set(err, INQ_USAGE, "the limit of %s is %s, not '%.60s'", info->name, what,
                       limit);
}

int inq_check_rule_parse(const char *text, struct inq_check_rules *rules, struct inq_err *err)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL) {
        return inq_err_set(err, INQ_USAGE, "a rule is NAME=LIMIT, not '%.80s'", text);
    }
    int kind = inq_measure_kind_of(text, (size_t)(equals - text), true);
    if (kind < 0) {
        return unknown_measure(text, (size_t)(equals - text), err);
    }
    const char *limit = equals + 1;
    struct inq_check_rule rule = {INQ_RULE_OFF, 0.0};
    if (strcmp(limit, "off") == 0) {
        rules->of[kind] = rule;
        return INQ_OK;
    }
    if (kind == INQ_MEASURE_NEW_FINDINGS) {
        if (!read_severity(limit, &rules->severity)) {
            return bad_limit((enum inq_measure_kind)kind, limit, err);
        }
        rules->has_severity = true;
        rules->of[kind].kind = INQ_RULE_DEFAULT;
        return INQ_OK;
    }
    bool follows = inq_measure_info((enum inq_measure_kind)kind)->growth != INQ_GROWS_NOT;
    if (follows && read_percent(limit, &rule.value)) {
        rule.kind = INQ_RULE_TOLERANCE;
    } else if (read_absolute((enum inq_measure_kind)kind, limit, &rule.value)) {
        rule.kind = INQ_RULE_LIMIT;
    } else {
        return bad_limit((enum inq_measure_kind)kind, limit, err);
    }
    rules->of[kind] = rule;
    return INQ_OK;
}

void inq_check_rules_merge(struct inq_check_rules *rules, const struct inq_check_rules *over)
{
    if (over->has_tolerance) {
        rules->has_tolerance = true;
        rules->tolerance = over->tolerance;
    }
    if (over->has_severity) {
        rules->has_severity = true;
        rules->severity = over->severity;
        rules->of[INQ_MEASURE_NEW_FINDINGS].kind = INQ_RULE_DEFAULT;
    }
    for (int k = 0; k < INQ_MEASURE_COUNT; k++) {
        if (over->of[k].kind != INQ_RULE_DEFAULT) {
            rules->of[k] = over->of[k];
        }
    }
}
