/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/log_metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LINE = 2048, NUMBER = 40, ESCAPE = 0x1b };

enum slot { STEP, LOSS, GRAD_NORM, STEP_S, STEP_MS, THROUGHPUT };

/* How frameworks call it; the longest name that ends the text in front of the number counts. */
#define NAME(text, slot)                                                                           \
    {                                                                                              \
        text, sizeof(text) - 1, slot                                                               \
    }

static const struct {
    const char *text;
    size_t len;
    enum slot slot;
} names[] = {
    NAME("iteration", STEP),
    NAME("iter", STEP),
    NAME("step", STEP),
    NAME("steps", STEP),
    NAME("loss", LOSS),
    NAME("train_loss_step", LOSS),
    NAME("loss_step", LOSS),
    NAME("grad norm", GRAD_NORM),
    NAME("grad_norm", GRAD_NORM),
    NAME("gradient norm", GRAD_NORM),
    NAME("gradient_norm", GRAD_NORM),
    NAME("gnorm", GRAD_NORM),
    NAME("global_norm", GRAD_NORM),
    NAME("elapsed time per iteration (ms)", STEP_MS),
    NAME("iteration time (ms)", STEP_MS),
    NAME("step_time_ms", STEP_MS),
    NAME("time (ms)", STEP_MS),
    NAME("iter time (s)", STEP_S),
    NAME("elapsed time per iteration (s)", STEP_S),
    NAME("train_step_timing in s", STEP_S),
    NAME("iteration_time", STEP_S),
    NAME("iter_time", STEP_S),
    NAME("step_time", STEP_S),
    NAME("time", STEP_S), /* with a unit behind the number only */
    NAME("tps", THROUGHPUT),
    NAME("tokens/s", THROUGHPUT),
    NAME("tokens/sec", THROUGHPUT),
    NAME("tok/s", THROUGHPUT),
    NAME("tok/sec", THROUGHPUT),
    NAME("tokens_per_sec", THROUGHPUT),
    NAME("tokens_per_second", THROUGHPUT),
    NAME("tokens per second", THROUGHPUT),
    NAME("samples/sec", THROUGHPUT),
    NAME("samples/s", THROUGHPUT),
    NAME("samples_per_second", THROUGHPUT),
    NAME("throughput per gpu (tflop/s/gpu)", THROUGHPUT),
    NAME("throughput", THROUGHPUT),
};

#undef NAME

/* The line without escape sequences and control characters, in lower case; returns its length. */
static size_t clean(const char *p, size_t n, char out[LINE + 1])
{
    size_t len = n < LINE ? n : LINE;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)p[i];
        unsigned char lower = (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        out[i] = (char)(lower >= ' ' || lower == ESCAPE ? lower : ' ');
    }
    out[len] = '\0';
    char *escape = memchr(out, ESCAPE, len);
    if (escape == NULL) {
        return len;
    }
    size_t to = (size_t)(escape - out);
    for (size_t i = to; i < len; i++) {
        if (out[i] == ESCAPE) {
            i += out[i + 1] == '[' ? 2 : 1;
            while (i < len && (unsigned char)out[i] < '@') {
                i++;
            }
        } else {
            out[to++] = out[i];
        }
    }
    out[to] = '\0';
    return to;
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool ends_with(const char *text, size_t n, const char *name, size_t len)
{
    return n >= len && text[n - 1] == name[len - 1] && memcmp(text + n - len, name, len) == 0 &&
           (n == len || !in_word(text[n - len - 1]) || text[n - len - 1] == '_');
}

static bool holds(const char *text, size_t n, const char *word)
{
    return memmem(text, n, word, strlen(word)) != NULL;
}

/* Values of validation are not of training, and what is counted in steps is no step. */
static bool is_other(enum slot slot, const char *text, size_t n)
{
    static const char *const losses[] = {"val", "test", "aux", "best", NULL};
    static const char *const steps[] = {"skip", "per_step", "nan", NULL};
    const char *const *words = slot == LOSS ? losses : steps;
    for (; (slot == LOSS || slot == STEP) && *words != NULL; words++) {
        if (holds(text, n, *words)) {
            return true;
        }
    }
    return false;
}

/* What a name stands for, or -1. */
static int slot_of(const char *text, size_t n)
{
    int slot = -1;
    size_t longest = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].len > longest && ends_with(text, n, names[i].text, names[i].len)) {
            longest = names[i].len;
            slot = (int)names[i].slot;
        }
    }
    return slot >= 0 && is_other((enum slot)slot, text, n) ? -1 : slot;
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

/* What a character can be; a number follows a joint, and a name does not reach over a break. */
enum { JOINT = 1, BREAK = 2, START = 4 };
static const unsigned char roles[256] = {
    [':'] = JOINT, ['='] = JOINT, [' '] = JOINT, ['\''] = JOINT, ['"'] = JOINT,
    ['|'] = BREAK, [','] = BREAK, [';'] = BREAK, ['{'] = BREAK,  [']'] = BREAK,
    ['-'] = START, ['+'] = START, ['.'] = START, ['n'] = START,  ['i'] = START,
    ['0'] = START, ['1'] = START, ['2'] = START, ['3'] = START,  ['4'] = START,
    ['5'] = START, ['6'] = START, ['7'] = START, ['8'] = START,  ['9'] = START,
};

static bool is_role(char c, int role)
{
    return roles[(unsigned char)c] == role;
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
        if (is_role(line[i], BREAK)) {
            from = i + 1;
            continue;
        }
        if (!is_role(line[i], START) || !is_role(line[i - 1], JOINT)) {
            continue;
        }
        const char *end = number_at(line + i, &value);
        if (end == NULL) {
            continue;
        }
        size_t to = i;
        while (to > from && is_role(line[to - 1], JOINT)) {
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
