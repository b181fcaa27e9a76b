/* SPDX-License-Identifier: Apache-2.0 */
/* What a headline quotes of a line. */
#include "analysis/failure/logs/logs.h"

#include "base/arena_text.h"

#include <ctype.h>
#include <string.h>

static bool is_level(const char *word, size_t n)
{
    static const char *const levels[] = {"ERROR",  "FATAL", "CRITICAL", "WARNING", "INFO",
                                         "error",  "Error", "WARN",     "-",       "|",
                                         "stderr", "E",     "F",        "W",       "I"};
    n -= n > 1 && word[n - 1] == ':';
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (strlen(levels[i]) == n && memcmp(levels[i], word, n) == 0) {
            return true;
        }
    }
    return false;
}

/* "Mar 14 10:03:11", "Mar  4 ...": the month of a system log's time. */
static bool is_month(const char *word, size_t n)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const char *day = word + n + strspn(word + n, " ");
    bool dated = n == 3 && isdigit((unsigned char)*day) != 0;
    for (size_t i = 0; dated && i + 3 < sizeof months; i += 3) {
        if (memcmp(word, months + i, 3) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a word in front of a message is a time or a number. */
static bool is_stamp(const char *word, size_t n)
{
    if (is_month(word, n)) {
        return true;
    }
    bool glog = (n == 5 || n == 9) && strchr("IWEF", *word) != NULL;
    bool named = n == 11 && word[4] == '-' && word[8] == '-'; /* 2026-Mar-14 */
    if (memchr(word, '/', n) != NULL && n < 8) {
        return false; /* "0/12 nodes are available" */
    }
    if (named) {
        return isdigit((unsigned char)word[0]) != 0 && isdigit((unsigned char)word[10]) != 0;
    }
    for (size_t i = glog; i < n; i++) {
        if (isdigit((unsigned char)word[i]) == 0 && strchr("-:.,/TZ+", word[i]) == NULL) {
            return false;
        }
    }
    return n > 0;
}

/* "coordination_service_agent.cc:711]", "node_manager.cc:3069:": where a program written in C++
 * says to be. */
static bool is_source(const char *word, size_t n)
{
    bool ends = n > 6 && (word[n - 1] == ']' || word[n - 1] == ':');
    const char *colon = ends ? memrchr(word, ':', n - 1) : NULL;
    const char *dot = colon != NULL ? memrchr(word, '.', (size_t)(colon - word)) : NULL;
    return dot != NULL && colon - dot < 5 && isdigit((unsigned char)colon[1]) != 0;
}

/* "(raylet)", "(RayTrainWorker pid=3311, ip=10.0.3.4)": Ray's name of a process; behind it, or p.
 */
static const char *behind_actor(const char *p)
{
    const char *close = *p == '(' ? strchr(p, ')') : NULL;
    size_t n = close != NULL && close - p < 80 && close[1] == ' ' ? (size_t)(close - p) : 0;
    bool actor = n > 0 && (memmem(p, n, "pid=", 4) != NULL || memmem(p, n, "ip=", 3) != NULL ||
                           memmem(p, n, "raylet", 6) != NULL);
    return actor ? close + 1 : p;
}

/* "gce-vm systemd-oomd[811]: Killed ...", as system logs have it behind a time; or p. */
static const char *behind_daemon(const char *p)
{
    const char *name = p + strcspn(p, " \t");
    name += strspn(name, " \t");
    size_t n = strcspn(name, " \t");
    const char *open = n > 4 && strncmp(name + n - 2, "]:", 2) == 0 ? memchr(name, '[', n) : NULL;
    bool pid = open != NULL && open > name && isdigit((unsigned char)open[1]) != 0 &&
               strspn(open + 1, "0123456789") == (size_t)(name + n - 2 - open - 1);
    return pid && name[n] != '\0' ? name + n : p;
}

/* "2m  Warning  Evicted  pod/train-0  The node was low ...": behind the object's name; or p. */
static const char *behind_object(const char *p)
{
    enum { NEAR = 60 };
    static const char *const objects[] = {" pod/", " job/", " node/", " workload/"};
    const char *type = strstr(p, "Warning ");
    type = type != NULL ? type : strstr(p, "Normal ");
    for (size_t i = 0; i < sizeof objects / sizeof *objects && type != NULL; i++) {
        const char *object = type - p < NEAR ? strstr(type, objects[i]) : NULL;
        if (object != NULL && object - type < NEAR) {
            object += 1 + strcspn(object + 1, " \t");
            object += strspn(object, " \t");
            return *object != '\0' ? object : p;
        }
    }
    return p;
}

/* Behind "F0314 10:22:35 9276 client.cc:487] ", with a progress bar in front or not; NULL: there is
 * none near. */
static const char *behind_place(const char *text)
{
    enum { NEAR = 160 };
    for (const char *p = strstr(text, ".cc:"); p != NULL && p - text < NEAR;
         p = strstr(p + 1, ".cc:")) {
        const char *close = p + 4 + strspn(p + 4, "0123456789");
        const char *word = p;
        while (word > text && word[-1] != ' ') {
            word--;
        }
        bool of_exception =
            *word == '[' && memmem(text, (size_t)(word - text), "Error:", 6) != NULL;
        if (!of_exception && close > p + 4 && close[0] == ']' && close[1] == ' ' &&
            close[2] != '\0') {
            return close + 2;
        }
    }
    return NULL;
}

/* Behind a progress bar of tqdm's that the line begins with; or the text. */
static const char *behind_bar(const char *text)
{
    static const char *const ends[] = {"it/s]", "s/it]", "examples/s]", "it/s, "};
    const char *bar = strchr(text, '|');
    for (size_t i = 0; i < sizeof ends / sizeof *ends && bar != NULL; i++) {
        const char *end = strstr(bar, ends[i]);
        end = end != NULL ? strchr(end, ']') : NULL;
        if (end != NULL && end - text < 160 && end[1 + strspn(end + 1, " ")] != '\0') {
            return end + 1;
        }
    }
    return text;
}

/* Behind what NCCL, a kernel, UCX or a cluster writes in front; or the text. */
static const char *behind_writer(const char *text)
{
    static const char *const words[] = {
        "NCCL WARN ",   "CCOM WARN ", " kernel: ", "UCX  ERROR ", "nvidia-container-cli: ",
        "|CCL_ERROR| ", " mmfs: ",    " *ERROR* ", "|W|",         "|E|"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *word = strstr(text, words[i]);
        if (word != NULL) {
            return word + strlen(words[i]);
        }
    }
    const char *node = strstr(text, ": kern: "); /* talosctl: a severity and a time behind it */
    const char *stamped = node != NULL ? strstr(node, "]: ") : NULL;
    if (stamped != NULL) {
        return stamped + 3;
    }
    const char *failed =
        strstr(text, "Fatal error in "); /* MPICH: rank, job, time and host before */
    const char *place = behind_place(text);
    return failed != NULL ? failed : place != NULL ? place : behind_object(text);
}

/* "ERROR:root:", "WARNING:megatron.core.optimizer:" of Python's logging, without a format of one's
 * own; behind it, or p. */
static const char *behind_logger(const char *p)
{
    size_t n = strcspn(p, ": \t");
    const char *name = p[n] == ':' && is_level(p, n) ? p + n + 1 : p;
    const char *end = name;
    while (isalnum((unsigned char)*end) != 0 || *end == '.' || *end == '_') {
        end++;
    }
    return end > name && name > p && *end == ':' && end[1] != '\0' ? end + 1 : p;
}

/* "[rank3]:", "[1,3]<stderr>:": a tag at p; behind it, or p. */
static const char *behind_tag(const char *p)
{
    const char *close = *p == '[' ? strchr(p, ']') : NULL;
    if (close == NULL || close[1] == '\0' || close - p >= 80) {
        return p;
    }
    const char *behind = close + 1 + (close[1] == ':');
    return behind + (strncmp(behind, "<std", 4) == 0 ? strcspn(behind, ":") + 1 : 0);
}

/* The message of a line: what stands behind tags, times, severities and places in source code. */
static const char *message_of(const char *text)
{
    const char *pair = strstr(text, " msg=\""); /* logfmt */
    text = behind_bar(pair != NULL ? pair + 6 : text);
    const char *p = behind_writer(text);
    for (;;) {
        p += strspn(p, " \t>");
        const char *actor = behind_actor(p);
        actor = actor == p && p > text ? behind_daemon(p) : actor;
        if (actor > p) {
            p = actor;
            continue;
        }
        const char *logger = behind_logger(p);
        if (logger > p) {
            return logger;
        }
        size_t n = strcspn(p, " \t");
        const char *tag = behind_tag(p);
        if (tag > p) {
            p = tag;
        } else if (n > 0 && p[n] != '\0' && is_source(p, n)) {
            p += n;
            return p + strspn(p, " \t");
        } else if (n > 0 && p[n] != '\0' && (is_stamp(p, n) || is_level(p, n))) {
            p += n;
        } else {
            return *p != '\0' ? p : text;
        }
    }
}

/* The text with each run of blanks as one; its length. At most one byte more than a quote may
 * have. */
static size_t squeeze(const char *text, char *to)
{
    size_t n = 0;
    for (; *text != '\0' && n <= INQ_LOG_QUOTE; text++) {
        bool blank = *text == ' ' || *text == '\t';
        if (!blank || n == 0 || to[n - 1] != ' ') {
            to[n++] = blank ? ' ' : *text;
        }
    }
    return n;
}

const char *inq_log_quote(struct inq_log_case *c, const char *text, bool line)
{
    char said[INQ_LOG_QUOTE + 1];
    size_t n = squeeze(line ? message_of(text) : text, said);
    if (n <= INQ_LOG_QUOTE) {
        while (n > 0 && strchr(" .:", said[n - 1]) != NULL) {
            n--;
        }
        return inq_arena_printf(c->arena, "%.*s", (int)n, said);
    }
    while (n > INQ_LOG_QUOTE / 2 && said[n - 1] != ' ') {
        n--;
    }
    return inq_arena_printf(c->arena, "%.*s...", (int)(n - 1), said);
}
