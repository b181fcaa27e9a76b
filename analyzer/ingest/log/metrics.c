/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/log/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LINE = 2048, NUMBER = 40, ESCAPE = 0x1b };

enum slot { STEP, EPOCH, LOSS, GRAD_NORM, STEP_S, STEP_MS, STEP_RATE, THROUGHPUT };

/* How frameworks call it; the longest name that ends the text in front of the number counts. */
#define NAME(text, slot)                                                                           \
    {                                                                                              \
        text, sizeof(text) - 1, slot                                                               \
    }

static const struct {
    char text[36];
    unsigned char len;
    enum slot slot;
} names[] = {
    NAME("iteration", STEP),
    NAME("iter", STEP),
    NAME("step", STEP),
    NAME("steps", STEP),
    NAME("num_updates", STEP),
    NAME("epoch", EPOCH),
    NAME("loss", LOSS),
    NAME("train_loss_step", LOSS),
    NAME("train/crossentropyloss", LOSS),
    NAME("loss/train/total", LOSS),
    NAME("loss train", LOSS),
    NAME("loss train (curr)", LOSS),
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
    NAME("time", STEP_S),
    NAME("seconds", STEP_S),
    NAME("batch_cost", STEP_S),
    NAME("dt", STEP_S),
    NAME("steps_per_second", STEP_RATE),
    NAME("steps/s", STEP_RATE),
    NAME("steps/sec", STEP_RATE),
    NAME("train_speed(iter/s)", STEP_RATE),
    NAME("tps", THROUGHPUT),
    NAME("tgs", THROUGHPUT),
    NAME("tgs (tokens/gpu/second)", THROUGHPUT),
    NAME("wps", THROUGHPUT),
    NAME("ips", THROUGHPUT),
    NAME("tokens/s/device", THROUGHPUT),
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

/* Units that tell what a number is without a name. */
static const struct {
    const char *text;
    enum slot slot;
} units[] = {
    {"s/it", STEP_S},     {"s/step", STEP_S},    {" sec/step", STEP_S}, {" s/step", STEP_S},
    {"ms/step", STEP_MS}, {" ms/step", STEP_MS}, {"it/s", STEP_RATE},   {" it/s", STEP_RATE},
};

/* What was read of a line so far. */
struct reading {
    struct inq_log_metric *metric;
    int loss_rank;    /* how sure it is that the loss is the whole one; 0: none yet */
    int64_t bar_step; /* of "12/500 [" and "[12/500]", counted anew each epoch; -1 none */
};

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool in_word(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

/* "grad-norm" is "grad_norm". */
static void join_words(char *line, size_t len)
{
    for (size_t i = 1; i + 1 < len; i++) {
        if (line[i] == '-' && is_letter(line[i - 1]) && is_letter(line[i + 1])) {
            line[i] = '_';
        }
    }
}

/* The line without escape sequences and control characters, in lower case; returns its length. Of a
 * progress bar, which goes back to its line's start, one state. */
static size_t clean(const char *p, size_t n, char out[LINE + 1])
{
    const char *back = n > 0 ? memchr(p, '\r', n) : NULL;
    n = back != NULL ? (size_t)(back - p) : n;
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

static bool ends_with(const char *text, size_t n, const char *name, size_t len)
{
    return n >= len && text[n - 1] == name[len - 1] && memcmp(text + n - len, name, len) == 0 &&
           (n == len || !in_word(text[n - len - 1]) || text[n - len - 1] == '_');
}

static bool holds(const char *text, size_t n, const char *word)
{
    return memmem(text, n, word, strlen(word)) != NULL;
}

/* Values of validation are not of training, what is counted in steps is no step, and not every time
 * is one of a step. */
static bool is_other(enum slot slot, const char *text, size_t n)
{
    static const char *const others[][9] = {
        [LOSS] = {"val", "test", "aux", "best"},
        [EPOCH] = {"in_epoch"},
        [STEP] = {"skip", "per_step", "nan", "max_step", "total"},
        [STEP_S] = {"elapsed", "remain", "total", "left", "data", "load", "eta", "wall"},
        [THROUGHPUT] = {NULL},
    };
    for (const char *const *word = others[slot]; *word != NULL; word++) {
        if (holds(text, n, *word)) {
            return !(slot == STEP_S && holds(text, n, "per iter")) &&
                   !(slot == STEP && holds(text, n, "step/max"));
        }
    }
    return false;
}

/* A line of an evaluation: "| valid |", "[eval]", "validation: step 12 ...". */
static bool is_evaluation(const char *line, size_t len)
{
    static const char *const words[] = {"valid", "validation", "eval", "evaluation", "test"};
    if (!holds(line, len, "val") && !holds(line, len, "test")) {
        return false;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i]);
        const char *end = line + len;
        for (const char *p = line; (p = memmem(p, (size_t)(end - p), words[i], n)) != NULL; p++) {
            const char *next = p + n + strspn(p + n, " ");
            bool alone = (p == line || (!in_word(p[-1]) && p[-1] != '/')) && !in_word(p[n]);
            if (alone && (strchr("|]):", *next) != NULL || strncmp(next, "on ", 3) == 0)) {
                return *next != '\0';
            }
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
    const char *name = p + (*p == '-');
    bool word = (*name == 'n' && strncmp(name, "nan", 3) == 0) ||
                (*name == 'i' && strncmp(name, "inf", 3) == 0);
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
    [':'] = JOINT, ['='] = JOINT, [' '] = JOINT, ['\''] = JOINT, ['"'] = JOINT, ['['] = JOINT,
    ['('] = JOINT, ['|'] = BREAK, [','] = BREAK, [';'] = BREAK,  ['{'] = BREAK, [']'] = BREAK,
    ['-'] = START, ['+'] = START, ['.'] = START, ['n'] = START,  ['i'] = START, ['0'] = START,
    ['1'] = START, ['2'] = START, ['3'] = START, ['4'] = START,  ['5'] = START, ['6'] = START,
    ['7'] = START, ['8'] = START, ['9'] = START,
};

static bool is_role(char c, int role)
{
    return roles[(unsigned char)c] == role;
}

/* The last word of a name, '/' and '_' within it. */
static const char *last_word(const char *name, const char *to)
{
    const char *p = to;
    while (p > name && (in_word(p[-1]) || p[-1] == '/')) {
        p--;
    }
    return p;
}

/* 2: the whole loss, 1: one that may be a part of it ("nll_loss"). */
static int rank_of_loss(const char *name, size_t n)
{
    const char *word = last_word(name, name + n);
    size_t len = (size_t)(name + n - word);
    bool whole = len == 4 || holds(word, len, "total") || holds(word, len, "train") ||
                 holds(word, len, "lm_loss");
    return whole ? 2 : 1;
}

/* Of the last two words and what joins them to the number; a word with digits names a rank. */
static uint32_t hash_wording(const char *name, size_t n)
{
    const char *end = name + n;
    const char *from = last_word(name, end);
    const char *word = from > name && from[-1] == ' ' ? last_word(name, from - 1) : from;
    for (const char *p = word; p < from; p++) {
        word = *p >= '0' && *p <= '9' ? from : word;
    }
    uint32_t hash = UINT32_C(2166136261);
    for (const char *p = word; p <= end; p++) {
        hash = (hash ^ (unsigned char)*p) * UINT32_C(16777619);
    }
    return hash;
}

static void put_loss(struct reading *r, double value, const char *name, size_t n)
{
    int rank = rank_of_loss(name, n);
    if (rank > r->loss_rank) {
        r->loss_rank = rank;
        r->metric->loss = value;
        r->metric->wording = hash_wording(name, n);
    }
}

static void put(struct reading *r, enum slot slot, double value, const char *unit)
{
    struct inq_log_metric *metric = r->metric;
    unit += *unit == ' ' ? 1 : 0;
    bool ms = strncmp(unit, "ms", 2) == 0;
    bool s = unit[0] == 's' && !in_word(unit[1]);
    switch (slot) {
    case STEP:
        if (metric->step < 0 && value >= 0 && value < 1e15) {
            metric->step = (int64_t)value;
        }
        return;
    case EPOCH:
        metric->epoch = value;
        return;
    case LOSS:
        return;
    case GRAD_NORM:
        metric->grad_norm = isnan(value) ? (double)INFINITY : value;
        return;
    case STEP_MS:
        metric->step_s = value / 1e3;
        return;
    case STEP_S:
        if (ms || s || isnan(metric->step_s)) {
            metric->step_s = ms ? value / 1e3 : value;
        }
        return;
    case STEP_RATE:
        metric->step_s = value > 0.0 && isnan(metric->step_s) ? 1.0 / value : metric->step_s;
        return;
    case THROUGHPUT:
        metric->throughput = value;
        return;
    }
}

static int slot_of_unit(const char *end)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (*end != units[i].text[0]) {
            continue;
        }
        size_t n = strlen(units[i].text);
        if (strncmp(end, units[i].text, n) == 0 && !in_word(end[n])) {
            return (int)units[i].slot;
        }
    }
    return -1;
}

/* "12/500 [" or "[12/500]": a bar's count, from its '/' on. */
static bool is_bar(char in_front, const char *end)
{
    const char *p = end + 1;
    if (*end != '/' || *p < '0' || *p > '9') {
        return false;
    }
    p += strspn(p, "0123456789");
    return in_front == '[' ? *p == ']' : *p == ' ' && p[1] == '[';
}

/* The number at `line + i` with its name in [from, i); where it ends, or NULL. */
static const char *take_number(struct reading *r, const char *line, size_t from, size_t i)
{
    double value = 0.0;
    const char *end = number_at(line + i, &value);
    if (end == NULL) {
        return NULL;
    }
    size_t to = i;
    while (to > from && is_role(line[to - 1], JOINT)) {
        to--;
    }
    /* "loss is 7.99" ends MindSpore's lines; in a sentence it goes on */
    bool stated = to - from > 3 && memcmp(line + to - 3, " is", 3) == 0;
    to -= stated && (*end == '\0' || *end == ',') ? 3 : 0;
    int slot = slot_of(line + from, to - from);
    int unit = slot_of_unit(end);
    if (slot == LOSS) {
        put_loss(r, value, line + from, to - from);
    } else if (slot >= 0) {
        put(r, (enum slot)slot, value, end);
    } else if (unit >= 0) {
        put(r, (enum slot)unit, value, "");
    } else if (r->bar_step < 0 && value < 1e15 && is_bar(line[i - 1], end)) {
        r->bar_step = (int64_t)value;
    }
    return end;
}

/* GRPO, PPO and the like; the "rewards" of DPO are not theirs. */
static bool is_rewarded(const char *line, size_t len)
{
    const char *reward = memmem(line, len, "reward", 6);
    return (reward != NULL && reward[6] != 's') ||
           (holds(line, len, "_loss") &&
            (holds(line, len, "pg_loss") || holds(line, len, "policy_loss")));
}

bool inq_log_read_metric(const char *p, size_t n, struct inq_log_metric *metric)
{
    char line[LINE + 1];
    size_t len = clean(p, n, line);
    join_words(line, len);
    size_t from = 0; /* of the name of the next number */
    struct reading r = {.metric = metric, .bar_step = -1};
    *metric = (struct inq_log_metric){.step = -1,
                                      .epoch = (double)NAN,
                                      .loss = (double)NAN,
                                      .grad_norm = (double)NAN,
                                      .step_s = (double)NAN,
                                      .throughput = (double)NAN};
    for (size_t i = 1; i < len; i++) {
        if (is_role(line[i], BREAK)) {
            from = i + 1;
        } else if (is_role(line[i], START) && is_role(line[i - 1], JOINT)) {
            const char *end = take_number(&r, line, from, i);
            i = end != NULL ? (size_t)(end - line) - 1 : i;
            from = end != NULL ? (size_t)(end - line) : from;
        }
    }
    metric->step = metric->step < 0 ? r.bar_step : metric->step;
    metric->rewarded = r.loss_rank > 0 && is_rewarded(line, len);
    /* a trainer's last line is the mean of the run */
    return r.loss_rank > 0 && !holds(line, len, "train_runtime") && !is_evaluation(line, len);
}

/* ---- a step in many lines ----------------------------------------------------------------------
 */

enum { BLOCK_LINES = 64 };

static bool is_indented(const char *p, const char *hi)
{
    return p < hi && (*p == ' ' || *p == '\t');
}

static const char *next_line(const char *p, const char *hi)
{
    const char *end = memchr(p, '\n', (size_t)(hi - p));
    return end != NULL ? end + 1 : hi;
}

/* The line in front of all indented ones, or NULL. */
static const char *find_head(const char *lo, const char *hi, const char *start)
{
    for (int i = 0; i < BLOCK_LINES && start > lo && is_indented(start, hi); i++) {
        for (start--; start > lo && start[-1] != '\n'; start--) {
        }
    }
    return is_indented(start, hi) ? NULL : start;
}

/* "[batch=12/4800]:" */
static int64_t batch_of(const char *p, const char *end)
{
    static const char word[] = "[batch=";
    const char *at = memmem(p, (size_t)(end - p), word, sizeof word - 1);
    int64_t batch = 0;
    bool digit = false;
    for (at = at != NULL ? at + sizeof word - 1 : end; at < end && *at >= '0' && *at <= '9'; at++) {
        batch = batch < INT64_MAX / 100 ? batch * 10 + (*at - '0') : batch;
        digit = true;
    }
    return digit ? batch : -1;
}

static void take(double *to, double value)
{
    *to = isnan(*to) ? value : *to;
}

void inq_log_complete_metric(const char *lo, const char *hi, const char *start,
                             struct inq_log_metric *metric)
{
    const char *head = metric->step < 0 ? find_head(lo, hi, start) : NULL;
    if (head == NULL || head == start) {
        return;
    }
    struct inq_log_metric other;
    const char *end = next_line(head, hi);
    (void)inq_log_read_metric(head, (size_t)(end - head), &other);
    metric->step = other.step >= 0 ? other.step : batch_of(head, end);
    take(&metric->epoch, other.epoch);
    const char *p = end;
    for (int i = 0; i < BLOCK_LINES && metric->step >= 0 && is_indented(p, hi); i++) {
        end = next_line(p, hi);
        (void)inq_log_read_metric(p, (size_t)(end - p), &other);
        take(&metric->epoch, other.epoch);
        take(&metric->grad_norm, other.grad_norm);
        take(&metric->step_s, other.step_s);
        take(&metric->throughput, other.throughput);
        p = end;
    }
}
