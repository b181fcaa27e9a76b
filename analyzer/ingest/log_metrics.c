/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/log_metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LINE = 2048, NUMBER = 40 };

enum slot { STEP, LOSS, GRAD_NORM, STEP_S, STEP_MS, THROUGHPUT };

/* How frameworks call it; the longest name that ends the text in front of the number counts. */
static const struct {
    const char *name;
    enum slot slot;
} names[] = {
    {"iteration", STEP},
    {"iter", STEP},
    {"step", STEP},
    {"steps", STEP},
    {"loss", LOSS},
    {"train_loss_step", LOSS},
    {"loss_step", LOSS},
    {"grad norm", GRAD_NORM},
    {"grad_norm", GRAD_NORM},
    {"gradient norm", GRAD_NORM},
    {"gradient_norm", GRAD_NORM},
    {"gnorm", GRAD_NORM},
    {"global_norm", GRAD_NORM},
    {"elapsed time per iteration (ms)", STEP_MS},
    {"iteration time (ms)", STEP_MS},
    {"step_time_ms", STEP_MS},
    {"time (ms)", STEP_MS},
    {"iter time (s)", STEP_S},
    {"elapsed time per iteration (s)", STEP_S},
    {"train_step_timing in s", STEP_S},
    {"iteration_time", STEP_S},
    {"iter_time", STEP_S},
    {"step_time", STEP_S},
    {"time", STEP_S}, /* with a unit behind the number only */
    {"tps", THROUGHPUT},
    {"tokens/s", THROUGHPUT},
    {"tokens/sec", THROUGHPUT},
    {"tok/s", THROUGHPUT},
    {"tok/sec", THROUGHPUT},
    {"tokens_per_sec", THROUGHPUT},
    {"tokens_per_second", THROUGHPUT},
    {"tokens per second", THROUGHPUT},
    {"samples/sec", THROUGHPUT},
    {"samples/s", THROUGHPUT},
    {"samples_per_second", THROUGHPUT},
    {"throughput per gpu (tflop/s/gpu)", THROUGHPUT},
    {"throughput", THROUGHPUT},
};

/* The line without escape sequences and control characters, in lower case; returns its length. */
static size_t clean(const char *p, size_t n, char out[LINE + 1])
{
    size_t len = 0;
    for (size_t i = 0; i < n && len < LINE; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c == 0x1b && i + 1 < n && p[i + 1] == '[') {
            for (i += 2; i < n && (unsigned char)p[i] < '@'; i++) {
            }
            continue;
        }
        out[len++] = c < ' ' ? ' ' : c >= 'A' && c <= 'Z' ? (char)(c + 32) : (char)c;
    }
    out[len] = '\0';
    return len;
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool ends_with(const char *text, size_t n, const char *name)
{
    size_t len = strlen(name);
    return n >= len && memcmp(text + n - len, name, len) == 0 &&
           (n == len || !in_word(text[n - len - 1]) || text[n - len - 1] == '_');
}

static bool holds(const char *text, size_t n, const char *word)
{
    return memmem(text, n, word, strlen(word)) != NULL;
}

/* What a name stands for, or -1. Values of validation are not of training. */
static int slot_of(const char *text, size_t n)
{
    int slot = -1;
    size_t longest = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t len = strlen(names[i].name);
        if (len > longest && ends_with(text, n, names[i].name)) {
            longest = len;
            slot = (int)names[i].slot;
        }
    }
    bool other = holds(text, n, "val") || holds(text, n, "test") || holds(text, n, "skip") ||
                 holds(text, n, "aux") || holds(text, n, "per_step") || holds(text, n, "best");
    return other ? -1 : slot;
}

/* A number at p with thousands' commas, or nan, or inf; where it ends, or NULL. */
static const char *number_at(const char *p, double *value)
{
    char text[NUMBER];
    size_t n = 0;
    const char *at = p;
    bool word = strncmp(p + (*p == '-'), "nan", 3) == 0 || strncmp(p + (*p == '-'), "inf", 3) == 0;
    bool digit = (*p >= '0' && *p <= '9') ||
                 ((*p == '-' || *p == '+' || *p == '.') && p[1] >= '0' && p[1] <= '9');
    if (!word && !digit) {
        return NULL;
    }
    for (; n + 1 < NUMBER; at++) {
        bool comma = *at == ',' && at > p && at[1] >= '0' && at[1] <= '9' && at[2] >= '0' &&
                     at[2] <= '9' && at[3] >= '0' && at[3] <= '9' &&
                     !(at[4] >= '0' && at[4] <= '9');
        if (comma) {
            continue;
        }
        bool sign = (*at == '-' || *at == '+') && (at == p || at[-1] == 'e');
        bool part = in_word(*at) ? *at != '_' : *at == '.' || sign;
        if (!part) {
            break;
        }
        text[n++] = *at;
    }
    text[n] = '\0';
    char *end = NULL;
    *value = strtod(text, &end);
    if (end == text || strncmp(text, "0x", 2) == 0) {
        return NULL;
    }
    return at - (text + n - end); /* a unit may follow */
}

static bool is_joint(char c)
{
    return c == ':' || c == '=' || c == ' ' || c == '\'' || c == '"';
}

static void put(struct inq_log_metric *metric, int slot, double value, const char *unit)
{
    bool ms = strncmp(unit, "ms", 2) == 0;
    bool s = unit[0] == 's' && !in_word(unit[1]);
    switch ((enum slot)slot) {
    case STEP:
        if (metric->step < 0 && value >= 0 && value < 1e15) {
            metric->step = (int64_t)value;
        }
        return;
    case LOSS:
        metric->loss = value;
        return;
    case GRAD_NORM:
        metric->grad_norm = value;
        return;
    case STEP_MS:
        metric->step_s = value / 1e3;
        return;
    case STEP_S:
        if (ms || s || metric->step_s != metric->step_s) {
            metric->step_s = ms ? value / 1e3 : value;
        }
        return;
    case THROUGHPUT:
        metric->throughput = value;
        return;
    }
}

bool inq_log_read_metric(const char *p, size_t n, struct inq_log_metric *metric)
{
    char line[LINE + 1];
    size_t len = clean(p, n, line);
    bool found = false;
    size_t from = 0; /* of the name of the next number */
    *metric = (struct inq_log_metric){.step = -1,
                                      .loss = (double)NAN,
                                      .grad_norm = (double)NAN,
                                      .step_s = (double)NAN,
                                      .throughput = (double)NAN};
    for (size_t i = 1; i < len; i++) {
        double value = 0.0;
        const char *end =
            is_joint(line[i - 1]) && !is_joint(line[i]) ? number_at(line + i, &value) : NULL;
        if (line[i] == '|' || line[i] == ',' || line[i] == ';' || line[i] == '{' ||
            line[i] == ']') {
            from = i + 1;
        }
        if (end == NULL) {
            continue;
        }
        size_t to = i;
        while (to > from && is_joint(line[to - 1])) {
            to--;
        }
        int slot = slot_of(line + from, to - from);
        if (slot >= 0) {
            put(metric, slot, value, end);
            found = found || slot == LOSS;
        }
        i = (size_t)(end - line) - 1;
        from = (size_t)(end - line);
    }
    return found;
}
