/* SPDX-License-Identifier: Apache-2.0 */
/* Reading "NAME:ARGUMENT:KEY=VALUE+NAME...". */
#include "fix/spec.h"

#include "base/mem.h"
#include "base/stats.h"
#include "base/time.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool inq_fix_is(struct fix_text text, const char *word)
{
    return text.at != NULL && text.len == strlen(word) && memcmp(text.at, word, text.len) == 0;
}

int inq_fix_no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory for a fix");
}

/* ---- saying ---------------------------------------------------------------------------------- */

void inq_fix_note(struct fix_notes *said, const char *fmt, ...)
{
    size_t used = strlen(said->what);
    va_list args;
    if (used > 0 && used + 2 < sizeof said->what) {
        memcpy(said->what + used, "; ", 3);
        used += 2;
    }
    va_start(args, fmt);
    (void)vsnprintf(said->what + used, sizeof said->what - used, fmt, args);
    va_end(args);
}

struct fix_time inq_fix_time(int64_t ns)
{
    struct fix_time time = {""};
    (void)inq_time_format(ns, time.text, sizeof time.text);
    return time;
}

/* ---- one fix --------------------------------------------------------------------------------- */

static const struct fix_row *find_row(struct fix_text name)
{
    size_t n = 0;
    const struct fix_row *rows = inq_fix_rows(&n);
    for (size_t i = 0; i < n; i++) {
        if (inq_fix_is(name, rows[i].kind.name)) {
            return &rows[i];
        }
    }
    return NULL;
}

static bool has_key(const struct fix_row *row, struct fix_text key)
{
    char word[32];
    if (key.len == 0 || key.len + 3 > sizeof word) {
        return false;
    }
    (void)snprintf(word, sizeof word, " %.*s ", (int)key.len, key.at);
    return strstr(row->keys, word) != NULL;
}

static int wrong(const struct fix_row *row, struct fix_text part, struct inq_err *err)
{
    return inq_err_set(err, INQ_USAGE, "'%.*s' does not fit: %s",
                       part.len < 60 ? (int)part.len : 60, part.at, row->kind.grammar);
}

/* One part between colons, after the name. */
static int read_part(const struct fix_row *row, struct fix_text part, bool first,
                     struct fix_args *args, struct inq_err *err)
{
    const char *equals = memchr(part.at, '=', part.len);
    if (equals == NULL) {
        if (!first || !row->argument || part.len == 0) {
            return wrong(row, part, err);
        }
        args->argument = part;
        return INQ_OK;
    }
    struct fix_text key = {part.at, (size_t)(equals - part.at)};
    if (!has_key(row, key) || args->n_keys == FIX_MAX_KEYS) {
        return wrong(row, part, err);
    }
    args->keys[args->n_keys] = key;
    args->values[args->n_keys++] = (struct fix_text){equals + 1, part.len - key.len - 1};
    return INQ_OK;
}

int inq_fix_read(const char **at, const struct fix_row **row, struct fix_args *args,
                 struct inq_err *err)
{
    const char *p = *at;
    struct fix_text name = {p, strcspn(p, ":+")};
    *args = (struct fix_args){0};
    *row = find_row(name);
    if (*row == NULL) {
        return inq_err_set(err, INQ_USAGE, "no fix is called '%.*s'",
                           name.len < 60 ? (int)name.len : 60, name.at);
    }
    args->name = (*row)->kind.name;
    p += name.len;
    for (bool first = true; *p == ':'; first = false) {
        struct fix_text part = {p + 1, strcspn(p + 1, ":+")};
        int code = read_part(*row, part, first, args, err);
        if (code != INQ_OK) {
            return code;
        }
        p += 1 + part.len;
    }
    if ((*row)->argument && args->argument.at == NULL) {
        return inq_err_set(err, INQ_USAGE, "%s needs an argument: %s", args->name,
                           (*row)->kind.grammar);
    }
    if (*p == '+' && p[1] == '\0') {
        return inq_err_set(err, INQ_USAGE, "nothing follows the '+'");
    }
    *at = *p == '+' ? p + 1 : p;
    return INQ_OK;
}

int inq_fix_check(const char *spec, struct inq_err *err)
{
    const char *at = spec;
    int code = INQ_OK;
    if (*at == '\0' || strlen(at) > FIX_MAX_SPEC) {
        return inq_err_set(err, INQ_USAGE, "a fix is NAME[:ARGUMENT][:KEY=VALUE]...");
    }
    while (code == INQ_OK && *at != '\0') {
        const struct fix_row *row = NULL;
        struct fix_args args;
        code = inq_fix_read(&at, &row, &args, err);
    }
    return code;
}

/* ---- what fixes take for granted ------------------------------------------------------------- */

double inq_fix_assume(struct fix_step *job, const struct fix_need *need)
{
    struct fix_needs *needs = job->needs;
    if (needs == NULL || (!needs->measured && needs->n == INQ_MOST_ASSUMPTIONS)) {
        return need->assumed;
    }
    if (needs->measured) {
        const struct fix_need *known = needs->taken < needs->n ? &needs->at[needs->taken] : NULL;
        needs->taken++;
        return known != NULL && isfinite(known->measured) ? known->measured : need->assumed;
    }
    struct fix_need *own = &needs->at[needs->n++];
    *own = *need;
    own->measured = own->ci95[0] = own->ci95[1] = (double)NAN;
    return need->assumed;
}

/* Ops that got shorter (or longer) have another amount of work: they take the pace that the device
 * has at that size. before_ns[n_ops] is what they took. */
static int pace_one_way(struct fix_step *job, const int64_t *before_ns, bool shorter,
                        struct inq_err *err)
{
    struct fix_need need = {.cost = FIX_COST_PACE, .assumed = 1.0, .bytes = -1};
    int64_t *lengths_ns = inq_mem_alloc((job->n_ops + 1) * sizeof *lengths_ns);
    double old_ns = 0.0;
    double new_ns = 0.0;
    size_t n = 0;
    if (lengths_ns == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t i = 0; i < job->n_ops; i++) {
        int64_t now_ns = job->ops[i].dur_ns;
        if (before_ns[i] > 0 && now_ns > 0 &&
            (shorter ? now_ns < before_ns[i] : now_ns > before_ns[i])) {
            lengths_ns[n++] = before_ns[i];
            old_ns += (double)before_ns[i];
            new_ns += (double)now_ns;
        }
    }
    need.dur_ns = inq_median_i64(lengths_ns, n);
    need.share = old_ns > 0.0 ? new_ns / old_ns : 1.0;
    inq_mem_free(lengths_ns);
    if (n == 0) {
        return INQ_OK;
    }
    double pace = inq_fix_assume(job, &need);
    for (size_t i = 0; i < job->n_ops; i++) {
        int64_t now_ns = job->ops[i].dur_ns;
        if (before_ns[i] > 0 && (shorter ? now_ns < before_ns[i] : now_ns > before_ns[i])) {
            job->ops[i].dur_ns = inq_fix_scaled(now_ns, pace);
        }
    }
    return INQ_OK;
}

static int apply_one(struct fix_step *job, const struct fix_row *row, const struct fix_args *args,
                     struct fix_notes *said, struct inq_err *err)
{
    struct fix_needs *needs = job->needs;
    size_t n = job->n_ops;
    int64_t *before_ns = NULL;
    if (needs != NULL && row->resizes) {
        before_ns = inq_mem_alloc((n + 1) * sizeof *before_ns);
        if (before_ns == NULL) {
            return inq_fix_no_memory(err);
        }
        for (size_t i = 0; i < n; i++) {
            before_ns[i] = job->ops[i].dur_ns;
        }
    }
    if (needs != NULL && row->unmeasured != NULL) {
        needs->unmeasured = row->unmeasured;
    }
    int code = row->apply(job, args, said, err);
    job->needs = needs; /* a job that was laid anew does not know them */
    for (int way = 0; code == INQ_OK && before_ns != NULL && job->n_ops == n && way < 2; way++) {
        code = pace_one_way(job, before_ns, way == 0, err);
    }
    inq_mem_free(before_ns);
    return code;
}

int inq_fix_apply(struct fix_step *job, const char *spec, struct fix_notes *said,
                  struct inq_err *err)
{
    int code = INQ_OK;
    const char *at = spec != NULL ? spec : "";
    if (strlen(at) > FIX_MAX_SPEC) {
        return inq_err_set(err, INQ_USAGE, "a fix of more than %d characters", FIX_MAX_SPEC);
    }
    while (code == INQ_OK && *at != '\0') {
        const struct fix_row *row = NULL;
        struct fix_args args;
        code = inq_fix_read(&at, &row, &args, err);
        code = code == INQ_OK ? inq_fix_step_expand(job, err) : code;
        if (code == INQ_OK) {
            code = apply_one(job, row, &args, said, err);
        }
    }
    return code;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool read_double(struct fix_text text, double *value)
{
    char copy[40];
    char *end = NULL;
    if (text.len == 0 || text.len >= sizeof copy) {
        return false;
    }
    (void)snprintf(copy, sizeof copy, "%.*s", (int)text.len, text.at);
    *value = strtod(copy, &end);
    return *end == '\0' && isfinite(*value);
}

static bool read_integer(struct fix_text text, int64_t *value)
{
    char copy[24];
    char *end = NULL;
    if (text.len == 0 || text.len >= sizeof copy) {
        return false;
    }
    (void)snprintf(copy, sizeof copy, "%.*s", (int)text.len, text.at);
    errno = 0;
    *value = strtoll(copy, &end, 10);
    return *end == '\0' && errno == 0;
}

int inq_fix_number(const struct fix_args *args, const char *key, double low, double high,
                   double *value, struct inq_err *err)
{
    for (size_t i = 0; i < args->n_keys; i++) {
        if (inq_fix_is(args->keys[i], key) &&
            (!read_double(args->values[i], value) || *value < low || *value > high)) {
            return inq_err_set(err, INQ_USAGE, "%s: %s is a number from %g to %g", args->name, key,
                               low, high);
        }
    }
    return INQ_OK;
}

static int integer_of(const struct fix_args *args, struct fix_text text, const char *key,
                      const int64_t range[2], int64_t *value, struct inq_err *err)
{
    if (!read_integer(text, value) || *value < range[0] || *value > range[1]) {
        return inq_err_set(err, INQ_USAGE, "%s: %s is a whole number from %lld to %lld", args->name,
                           key, (long long)range[0], (long long)range[1]);
    }
    return INQ_OK;
}

int inq_fix_integer(const struct fix_args *args, const char *key, int64_t low, int64_t high,
                    int64_t *value, struct inq_err *err)
{
    const int64_t range[2] = {low, high};
    int code = INQ_OK;
    if (key == NULL) {
        return integer_of(args, args->argument, "its argument", range, value, err);
    }
    for (size_t i = 0; code == INQ_OK && i < args->n_keys; i++) {
        if (inq_fix_is(args->keys[i], key)) {
            code = integer_of(args, args->values[i], key, range, value, err);
        }
    }
    return code;
}

static int choose(const struct fix_step *job, int64_t low, int64_t high, uint8_t *chosen,
                  struct inq_err *err)
{
    for (int64_t number = low; number <= high; number++) {
        bool found = false;
        for (size_t r = 0; r < job->n_ranks; r++) {
            if (job->ranks[r].number == number) {
                chosen[r] = 1;
                found = true;
            }
        }
        if (!found) {
            return inq_err_set(err, INQ_UNSUPPORTED, "there is no rank %lld", (long long)number);
        }
    }
    return INQ_OK;
}

int inq_fix_ranks(const struct fix_step *job, const struct fix_args *args, uint8_t *chosen,
                  size_t *n, struct inq_err *err)
{
    const char *at = args->argument.at;
    const char *end = at + args->argument.len;
    int code = INQ_OK;
    memset(chosen, 0, job->n_ranks);
    while (code == INQ_OK && at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct fix_text item = {at, (size_t)((comma != NULL ? comma : end) - at)};
        const char *dash = memchr(item.at, '-', item.len);
        struct fix_text first = {item.at, dash != NULL ? (size_t)(dash - item.at) : item.len};
        struct fix_text last = first;
        if (dash != NULL) {
            last = (struct fix_text){dash + 1, item.len - first.len - 1};
        }
        int64_t low = 0;
        int64_t high = -1;
        bool fine = read_integer(first, &low) && read_integer(last, &high) && low >= 0 &&
                    high >= low && high <= INT32_MAX;
        if (!fine) {
            return inq_err_set(err, INQ_USAGE, "%s: ranks are a list like 0-3,7", args->name);
        }
        code = choose(job, low, high, chosen, err);
        at = comma != NULL ? comma + 1 : end;
    }
    *n = 0;
    for (size_t r = 0; r < job->n_ranks; r++) {
        *n += chosen[r];
    }
    return code;
}
