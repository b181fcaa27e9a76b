/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of lines, and reading in them. */
#include "ingest/log/line.h"

#include <string.h>

/* A line is looked through up to this far on each side, and its continuation this far. */
#define MAX_LINE  ((size_t)4 << 10)
#define MAX_LINES 3

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Behind the marked name that the line at p begins with, or p. */
static const char *behind_label(const char *p, const char *end)
{
    bool marked = p < end && *p == INQ_LOG_MARK_FRONT;
    const char *back = marked ? memchr(p, INQ_LOG_MARK_BACK, (size_t)(end - p)) : NULL;
    return back != NULL ? back + 1 : p;
}

/* "[rank12]:" at p: behind it, or NULL. */
static const char *rank_tag(const char *p, const char *end)
{
    if (end - p < 8 || memcmp(p, "[rank", 5) != 0 || !is_digit(p[5])) {
        return NULL;
    }
    for (p += 5; p < end && is_digit(*p); p++) {
    }
    return end - p >= 2 && p[0] == ']' && p[1] == ':' ? p + 2 : NULL;
}

/* Whether a line that begins here is of its own: a continuation has no prefix. */
static bool begins_anew(const char *p, const char *end)
{
    p = inq_log_blank(behind_label(p, end), end);
    struct inq_log_event event;
    bool colons = false;
    if (p >= end || *p == '\n' || *p == '[' || inq_log_stamp(p, end, &event) != NULL ||
        inq_log_match(p, end, "slurmstepd") != NULL || inq_log_match(p, end, "srun:") != NULL) {
        return true;
    }
    for (const char *q = p; q < end && !is_blank(*q); q++) {
        colons = colons || (*q == ':' && q + 1 < end && is_digit(q[1]) && q > p);
    }
    return colons;
}

/* A progress bar that goes back to its line's start ends what it had printed; a carriage return in
 * front of a newline is the newline's. */
static const char *line_end(const char *p, const char *hi)
{
    enum { AT_ONCE = 256 }; /* most lines are shorter; those of a progress bar are one long line */
    const char *stop = p + ((size_t)(hi - p) < MAX_LINE ? (size_t)(hi - p) : MAX_LINE);
    while (p < stop) {
        size_t n = stop - p < AT_ONCE ? (size_t)(stop - p) : AT_ONCE;
        const char *end = memchr(p, '\n', n);
        const char *back = memchr(p, '\r', end != NULL ? (size_t)(end - p) : n);
        if (back != NULL && back + 1 < hi && back[1] != '\n') {
            return back;
        }
        if (end != NULL) {
            return end;
        }
        p = back != NULL ? back + 1 : p + n;
    }
    return stop;
}

/* Of a line that several ranks wrote into, the part around `at`: from the last tag of a rank in
 * front of it to the next behind it. */
static void narrow(struct inq_log_line *line)
{
    for (const char *p = line->start; p < line->end;) {
        p = memchr(p, '[', (size_t)(line->end - p));
        if (p == NULL) {
            return;
        }
        const char *behind = rank_tag(p, line->end);
        size_t n = behind != NULL ? (size_t)(behind - p) : 0;
        bool other = (size_t)(line->end - line->start) < n || memcmp(line->start, p, n) != 0;
        if (behind != NULL && p <= line->at) {
            line->start = p;
        } else if (behind != NULL && behind < line->end && (other || *behind == '[')) {
            line->end = p;
            line->more = p;
            return;
        }
        p = behind != NULL ? behind : p + 1;
    }
}

void inq_log_line_around(struct inq_log_line *line, const char *lo, const char *at, const char *hi)
{
    const char *start = at;
    const char *least = (size_t)(at - lo) < MAX_LINE ? lo : at - MAX_LINE;
    while (start > least && start[-1] != '\n' && start[-1] != '\r') {
        start--; /* a progress bar goes back to its line's start */
    }
    *line = (struct inq_log_line){.lo = lo, .hi = hi, .outer = start, .start = start, .at = at};
    line->end = line_end(at, hi);
    line->cut = line->end < hi && *line->end != '\n' && *line->end != '\r';
    line->more = line->end;
    for (int i = 0; i < MAX_LINES && line->more < hi && *line->more == '\n'; i++) {
        const char *next = line->more + 1;
        const char *end = line_end(next, hi);
        if (begins_anew(next, end)) {
            break;
        }
        line->more = end;
    }
    narrow(line);
    const char *text = behind_label(start, line->end);
    line->label = (size_t)(text - start);
    line->start = line->start < text && text <= line->at ? text : line->start;
}

/* ---- what stands in front -------------------------------------------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

int32_t inq_log_small(int64_t value)
{
    return value >= 0 && value < (int64_t)INT32_MAX ? (int32_t)value : -1;
}

/* "[1,12]<stderr>:" of mpirun, "[1,mpirank:12,algo-2]<stderr>:" of SageMaker's, "[12]<stderr>:" of
 * Horovod: the task. */
static const char *read_stream_tag(const char *p, const char *end, struct inq_log_event *event)
{
    int64_t number = 0;
    p = p + 1 < end && *p == '[' && is_digit(p[1]) ? inq_log_number(p + 1, end, &number) : NULL;
    const char *named = p != NULL ? inq_log_match(p, end, ",mpirank:") : NULL;
    if (named != NULL && inq_log_number(named, end, &number) != NULL) {
        p = memchr(named, ']', (size_t)(end - named) < 64 ? (size_t)(end - named) : 64);
    } else if (p != NULL && p + 1 < end && *p == ',' && is_digit(p[1])) {
        p = inq_log_number(p + 1, end, &number);
    }
    p = p != NULL ? inq_log_match(p, end, "]<std") : NULL;
    const char *close =
        p != NULL ? memchr(p, '>', (size_t)(end - p) < 4 ? (size_t)(end - p) : 4) : NULL;
    if (close == NULL) {
        return NULL;
    }
    event->task = inq_log_small(number);
    return close + 1 + (close + 1 < end && close[1] == ':');
}

/* The field that the number of the tag at p is, and where its digits are; NULL: it is no tag. */
static int32_t *tag_field(const char *p, const char *end, struct inq_log_event *event,
                          int32_t *inner, const char **digits)
{
    if (end - p > 7 && memcmp(p, "[rank=", 6) == 0 && is_digit(p[6])) { /* Determined's */
        *digits = p + 6;
        return &event->rank;
    }
    if (end - p > 7 && memcmp(p, "[task ", 6) == 0) {
        *digits = p + 6;
        return &event->task;
    }
    const char *behind = inq_log_match(p, end, "[Rank ");
    bool apart = behind == NULL && end - p > 6 && p[5] == ' '; /* "[rank 3]" */
    *digits = apart ? inq_log_match(p, end, "[rank") : behind;
    if (*digits != NULL) {
        return inner;
    }
    for (*digits = p + 1; *digits < end && is_word(**digits); (*digits)++) {
    }
    if (*digits == p + 1 || *digits >= end || !is_digit(**digits)) {
        return NULL;
    }
    bool rank = *digits - p == 5 && memcmp(p, "[rank", 5) == 0;
    return rank ? &event->rank : &event->local_rank;
}

/* "[rank3]:", "[default3]:", "[Rank 3]" at p. */
static const char *read_tag(const char *p, const char *end, struct inq_log_event *event,
                            int32_t *inner)
{
    const char *stream = *p == '[' ? read_stream_tag(p, end, event) : NULL;
    if (stream != NULL || *p != '[') {
        return stream;
    }
    int64_t number = 0;
    const char *digits = NULL;
    int32_t *field = tag_field(p, end, event, inner, &digits);
    const char *close = field != NULL ? inq_log_number(digits, end, &number) : NULL;
    if (close == NULL || close >= end || *close != ']') {
        return NULL;
    }
    bool colon = close + 1 < end && close[1] == ':';
    if (field == &event->local_rank && !colon) {
        return NULL; /* any word may stand in brackets */
    }
    *field = inq_log_small(number);
    return close + 1 + colon;
}

/* "[PG 0 (default_pg) Rank 3]", "[PG ID 0 PG GUID 0(default_pg) Rank 1]": its rank is the one in
 * the group, which is the global one in the default group. */
static void read_group_rank(const struct inq_log_line *line, int32_t *inner)
{
    int64_t number = 0;
    const char *pg = inq_log_seek(line->start, line->end, "[PG ");
    const char *close = pg != NULL ? memchr(pg, ']', (size_t)(line->end - pg)) : NULL;
    const char *rank = close != NULL ? inq_log_seek(pg, close, "Rank ") : NULL;
    bool first = close != NULL && (inq_log_match(pg, close, "0") != NULL ||
                                   inq_log_match(pg, close, "ID 0PG") != NULL ||
                                   inq_log_seek(pg, close, "default_pg") != NULL);
    if (rank != NULL && first && inq_log_number(rank, close, &number) != NULL) {
        *inner = inq_log_small(number);
    }
}

/* "host:123:456 [3]" at p. */
static const char *read_nccl(const char *p, const char *end, struct inq_log_event *event,
                             char *host, size_t host_size)
{
    const char *space = p;
    while (space < end && !is_blank(*space)) {
        space++;
    }
    const char *colons[2] = {NULL, NULL};
    for (const char *q = space - 1; q > p && colons[1] == NULL; q--) {
        if (*q == ':') {
            colons[colons[0] != NULL] = q;
        } else if (!is_digit(*q)) {
            return NULL;
        }
    }
    int64_t number = 0;
    size_t len = colons[1] != NULL ? (size_t)(colons[1] - p) : 0;
    bool named = false; /* "17:29:06" is a time */
    for (size_t i = 0; i < len; i++) {
        named = named || !is_digit(p[i]);
    }
    if (!named || len >= host_size || colons[0] + 1 >= space ||
        inq_log_number(colons[1] + 1, colons[0], &number) != colons[0]) {
        return NULL;
    }
    memcpy(host, p, len);
    host[len] = '\0';
    event->host = host;
    event->pid = number;
    p = inq_log_blank(space, end);
    if (p + 1 < end && *p == '[' && is_digit(p[1])) {
        const char *close = inq_log_number(p + 1, end, &number);
        if (close != NULL && close < end && *close == ']') {
            event->device = inq_log_small(number);
            return close + 1;
        }
    }
    return space;
}

/* "[c7:5122:0:5130]" of UCX, "[c7:05122] ***" of Open MPI at p: host and process. A place in a
 * source, "[core.py:586]", has no second number and no stars. */
static const char *read_process_tag(const char *p, const char *end, struct inq_log_event *event,
                                    char *host, size_t host_size)
{
    const char *close =
        *p == '[' ? memchr(p, ']', (size_t)(end - p) < 128 ? (size_t)(end - p) : 128) : NULL;
    const char *colon = close != NULL ? memchr(p, ':', (size_t)(close - p)) : NULL;
    size_t len = colon != NULL ? (size_t)(colon - p) - 1 : 0;
    int64_t pid = 0;
    bool named = false;
    for (size_t i = 0; i < len; i++) {
        named = named || !is_digit(p[1 + i]);
        if (is_blank(p[1 + i]) || p[1 + i] == '[') {
            return NULL;
        }
    }
    if (!named || len >= host_size || !is_digit(colon[1])) {
        return NULL;
    }
    const char *behind = inq_log_number(colon + 1, close, &pid);
    behind += behind < close && *behind == ' '; /* "[c7:5122 :0]" */
    bool numbers = behind < close && *behind == ':';
    for (const char *q = behind; q < close && numbers; q++) {
        numbers = is_digit(*q) || *q == ':';
    }
    bool stars = behind == close && inq_log_match(close + 1, end, "***") != NULL;
    if (!numbers && !stars) {
        return NULL;
    }
    memcpy(host, p + 1, len);
    host[len] = '\0';
    event->host = host;
    event->pid = pid;
    return close + 1;
}

/* "10.128.0.33 [3]" at p, as torch_xla's launcher has it behind a time: a worker's address and
 * number. */
static const char *read_worker(const char *p, const char *end, struct inq_log_event *event,
                               char *host, size_t host_size)
{
    int64_t number = 0;
    size_t len = 0;
    int dots = 0;
    for (; p + len < end && (is_digit(p[len]) || p[len] == '.'); len++) {
        dots += p[len] == '.';
    }
    bool labeled = dots == 3 && len < host_size && end - p > (ptrdiff_t)len + 3 && p[len] == ' ' &&
                   p[len + 1] == '[' && is_digit(p[len + 2]);
    const char *close = labeled ? inq_log_number(p + len + 2, end, &number) : NULL;
    if (close == NULL || close >= end || *close != ']') {
        return NULL;
    }
    memcpy(host, p, len);
    host[len] = '\0';
    event->host = host;
    event->task = inq_log_small(number);
    return close + 1;
}

/* "slurmstepd-n14:" at p: the node's name stands in that of the daemon. */
static const char *read_daemon(const char *p, const char *end, struct inq_log_event *event,
                               char *host, size_t host_size)
{
    const char *name = inq_log_match(p, end, "slurmstepd-");
    const char *colon = name != NULL ? memchr(name, ':', (size_t)(end - name)) : NULL;
    size_t len = colon != NULL ? (size_t)(colon - name) : 0;
    if (len == 0 || len >= host_size || memchr(name, ' ', len) != NULL) {
        return NULL;
    }
    memcpy(host, name, len);
    host[len] = '\0';
    event->host = host;
    event->task = -1; /* it stands in a task's stream, but is not of it */
    return colon + 1;
}

/* Behind "kernel:", "mmfs:", "systemd-coredump[9021]:" at p, who write system logs; or NULL. */
static const char *behind_daemon(const char *p, const char *end)
{
    static const char *const names[] = {"kernel:", "mmfs:"};
    p = inq_log_blank(p, end);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *behind = inq_log_match(p, end, names[i]);
        if (behind != NULL) {
            return behind;
        }
    }
    int64_t pid = 0;
    const char *open = p;
    while (open < end && (is_word(*open) || is_digit(*open) || *open == '-' || *open == '.')) {
        open++;
    }
    const char *close = open > p && open + 1 < end && *open == '[' && is_digit(open[1])
                            ? inq_log_number(open + 1, end, &pid)
                            : NULL;
    return close != NULL ? inq_log_match(close, end, "]:") : NULL;
}

/* A host in front of "kernel:" or another daemon, as system logs have it. */
static const char *read_syslog(const char *p, const char *end, struct inq_log_event *event,
                               char *host, size_t host_size)
{
    const char *space = p;
    while (space < end && !is_blank(*space)) {
        space++;
    }
    size_t len = (size_t)(space - p);
    const char *behind = behind_daemon(space, end);
    if (len == 0 || len >= host_size || behind == NULL || p[len - 1] == ':' || *p == ':' ||
        strchr("[(", *p) != NULL) {
        return NULL;
    }
    memcpy(host, p, len);
    host[len] = '\0';
    event->host = host;
    return behind;
}

/* "10.1.1.2: kern: warning: [2026-03-14T10:02:59.108125566Z]: " at p, as talosctl prints a node's
 * kernel log. */
static const char *read_talos(const char *p, const char *end, struct inq_log_event *event,
                              char *host, size_t host_size)
{
    static const char *const facilities[] = {": kern:", ": user:", ": daemon:"};
    size_t len = 0;
    while (p + len < end && !is_blank(p[len]) && p[len] != ':') {
        len++;
    }
    const char *behind = NULL;
    for (size_t i = 0; i < sizeof facilities / sizeof *facilities && behind == NULL; i++) {
        behind = inq_log_match(p + len, end, facilities[i]);
    }
    behind = behind != NULL && len > 0 && len < host_size ? inq_log_blank(behind, end) : NULL;
    while (behind != NULL && behind < end && is_word(*behind)) { /* the severity */
        behind++;
    }
    behind =
        behind != NULL && behind < end && *behind == ':' ? inq_log_blank(behind + 1, end) : NULL;
    struct inq_log_event stamp;
    const char *next = behind != NULL ? inq_log_stamp(behind, end, &stamp) : NULL;
    if (next == NULL || next >= end || *next != ':') {
        return NULL;
    }
    memcpy(host, p, len);
    host[len] = '\0';
    event->host = host;
    event->clock = stamp.clock;
    event->year_known = stamp.year_known;
    event->time_ns = stamp.time_ns;
    event->coarse_ns = stamp.coarse_ns;
    return next + 1;
}

/* "(RayTrainWorker pid=3311, ip=10.0.3.4)": Ray's name of a process. */
static const char *read_actor(const char *p, const char *end, struct inq_log_event *event,
                              char *host, size_t host_size)
{
    const char *close = *p == '(' ? memchr(p, ')', end - p < 96 ? (size_t)(end - p) : 96) : NULL;
    const char *pid = close != NULL ? inq_log_seek(p, close, " pid=") : NULL;
    const char *ip = pid != NULL ? inq_log_seek(pid, close, " ip=") : NULL;
    if (ip != NULL) {
        inq_log_copy_word(ip, close, ",", host, host_size);
        event->host = host;
    }
    return pid != NULL && inq_log_number(pid, close, &event->pid) != NULL ? close + 1 : NULL;
}

static const char *read_label(const char *p, const char *end, struct inq_log_event *event)
{
    int64_t number = 0;
    const char *behind = is_digit(*p) ? inq_log_number(p, end, &number) : NULL;
    if (behind == NULL || behind >= end || *behind != ':' || behind - p > 6 || behind + 1 >= end ||
        !is_blank(behind[1])) {
        return NULL;
    }
    event->task = inq_log_small(number);
    return behind + 1;
}

/* A stamp; one with a year is better than one without, else the first counts. */
static const char *read_stamp(const char *p, const char *end, struct inq_log_event *event)
{
    struct inq_log_event found;
    const char *behind = inq_log_stamp(p, end, &found);
    bool taken = event->clock != INQ_LOG_CLOCK_NONE;
    if (behind != NULL && (!taken || (!event->year_known && found.year_known))) {
        event->clock = found.clock;
        event->year_known = found.year_known;
        event->time_ns = found.time_ns;
        event->coarse_ns = found.coarse_ns;
    }
    return behind;
}

static const char *skip_token(const char *p, const char *end)
{
    bool bracket = *p == '[' || *p == '(';
    p++;
    while (p < end && !is_blank(*p) && *p != '[' && (!bracket || (*p != ']' && *p != ')'))) {
        p++;
    }
    if (p < end && (*p == ']' || *p == ')')) {
        p++;
    }
    return p;
}

/* Behind marks of quoted mail and of byte order. */
static const char *skip_quotes(const char *p, const char *end)
{
    while (p < end && (*p == '>' || (unsigned char)*p >= 0x80)) {
        p++;
    }
    return inq_log_blank(p, end);
}

/* Whether a '=' stands at p, color left aside; behind it, or NULL. */
static const char *equals(const char *p, const char *end)
{
    while (p < end && *p == 0x1b) {
        p = inq_log_escape(p, end);
    }
    return p < end && *p == '=' ? p + 1 : NULL;
}

/* The pair that ends in front of p, or begins behind it: "pid=81, rank=3)", "rank=3 msg=...". */
static bool is_among_pairs(const struct inq_log_line *line, const char *p, const char *behind)
{
    const char *next = inq_log_escape(behind, line->end);
    while (next < line->end && strchr(" ,\t", *next) != NULL) {
        next = inq_log_escape(next + 1, line->end);
    }
    const char *name = next;
    while (name < line->end && (is_word(*name) || is_digit(*name))) {
        name++;
    }
    if (next > behind && name > next && equals(name, line->end) != NULL) {
        return true;
    }
    while (p > line->start && p[-1] != ' ' && p[-1] != ',') {
        p--; /* color */
    }
    while (p > line->start && (p[-1] == ' ' || p[-1] == ',')) {
        p--;
    }
    const char *from = p;
    while (from > line->start && from[-1] != ' ' && p - from < 64) {
        from--;
    }
    return memchr(from, '=', (size_t)(p - from)) != NULL;
}

/* "lost peer rank=3": not of whoever speaks. */
static bool is_other(const struct inq_log_line *line, const char *p)
{
    static const char *const words[] = {"peer ", "remote ", "from ", "with ", "for ", "to ", "of "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(p - line->start) > n && memcmp(p - n, words[i], n) == 0) {
            return true;
        }
    }
    return false;
}

/* "rank=3" among other pairs of name and value, as loggers of structured lines (logfmt, structlog)
 * and Ray's workers write it: who speaks, wherever in the line it stands. */
static int32_t paired_rank(const struct inq_log_line *line)
{
    for (const char *p = line->start; p + 5 < line->end; p++) {
        p = memchr(p, 'r', (size_t)(line->end - p));
        if (p == NULL || line->end - p < 6) {
            break;
        }
        bool begins = p == line->start || strchr(" ,(\tm{", p[-1]) != NULL; /* m: of a color */
        const char *value = begins && memcmp(p, "rank", 4) == 0 ? equals(p + 4, line->end) : NULL;
        value = value != NULL ? inq_log_escape(value, line->end) : NULL;
        int64_t rank = 0;
        const char *behind = value != NULL && value < line->end && is_digit(*value)
                                 ? inq_log_number(value, line->end, &rank)
                                 : NULL;
        if (behind != NULL && !is_other(line, p) && is_among_pairs(line, p, behind)) {
            return inq_log_small(rank);
        }
    }
    return -1;
}

/* "(PID:144556, Device:0, RankID:3) ERR02200 ..." of torch_npu, in the line or behind it. */
static int32_t ascend_rank(const struct inq_log_line *line)
{
    int64_t rank = 0;
    const char *behind = inq_log_seek(line->start, line->more, "RankID:");
    bool read = behind != NULL && inq_log_number(behind, line->more, &rank) != NULL;
    return read ? inq_log_small(rank) : -1;
}

/* What stands in front of the text that a carriage return began: the same process wrote it. */
static void read_head(const struct inq_log_line *line, struct inq_log_event *event, char *host,
                      size_t host_size)
{
    const char *start = line->outer;
    const char *least = (size_t)(start - line->lo) < MAX_LINE ? line->lo : start - MAX_LINE;
    while (start > least && start[-1] != '\n') {
        start--;
    }
    if (start < line->outer && line->outer[-1] == '\r') {
        struct inq_log_line head = *line;
        head.outer = head.start = start;
        head.at = head.end = line->outer;
        struct inq_log_event own = *event; /* the time is of when the line began */
        inq_log_prefix(&head, event, host, host_size);
        event->clock = own.clock;
        event->year_known = own.year_known;
        event->time_ns = own.time_ns;
        event->coarse_ns = own.coarse_ns;
    }
}

/* Where a prefix that names its host ends, the host not being known yet; NULL: there is none. */
static const char *read_host(const char *p, const char *end, struct inq_log_event *event,
                             char *host, size_t host_size)
{
    static const char *(*const readers[])(const char *, const char *, struct inq_log_event *,
                                          char *, size_t) = {
        read_talos, read_nccl, read_syslog, read_process_tag, read_daemon, read_worker, read_actor};
    const char *next = NULL;
    for (size_t i = 0; i < sizeof readers / sizeof *readers && next == NULL; i++) {
        next = event->host[0] == '\0' ? readers[i](p, end, event, host, host_size) : NULL;
    }
    return next;
}

/* The machine that the whole file's lines are labeled with. */
static void read_marked(const struct inq_log_line *line, struct inq_log_event *event, char *host,
                        size_t host_size)
{
    const char *behind = behind_label(line->outer, line->end);
    size_t n = (size_t)(behind - line->outer);
    if (n > 2 && n - 2 < host_size) {
        memcpy(host, line->outer + 1, n - 2);
        host[n - 2] = '\0';
        event->host = host;
    }
}

void inq_log_prefix(const struct inq_log_line *line, struct inq_log_event *event, char *host,
                    size_t host_size)
{
    int32_t inner = -1;
    bool tagged = line->start > line->outer; /* what is in front may be another rank's */
    const char *p = line->start;
    read_marked(line, event, host, host_size);
    if (tagged && is_digit(*line->outer)) {
        (void)read_label(line->outer, line->start, event);
    }
    if (tagged) {
        (void)read_stamp(inq_log_blank(line->outer, line->start), line->start, event);
    }
    bool stamps = true; /* nothing but times so far: a label may follow */
    for (int tokens = 0; tokens < 24; tokens++) {
        p = skip_quotes(inq_log_blank(p, line->at), line->at);
        if (p >= line->at) {
            break;
        }
        const char *next = read_tag(p, line->end, event, &inner);
        next = next != NULL || !stamps ? next : read_label(p, line->end, event);
        const char *stamp = next == NULL ? read_stamp(p, line->end, event) : NULL;
        stamps = stamps && stamp != NULL;
        next = next != NULL ? next : stamp;
        next = next != NULL ? next : read_host(p, line->end, event, host, host_size);
        p = next != NULL ? next : skip_token(p, line->at);
    }
    read_group_rank(line, &inner);
    event->rank = event->rank >= 0 ? event->rank : inner;
    event->rank = event->rank >= 0 ? event->rank : paired_rank(line);
    event->rank = event->rank >= 0 ? event->rank : ascend_rank(line);
    if (event->rank < 0 && line->start == line->outer) {
        read_head(line, event, host, host_size);
    }
}

/* "stderr F " behind the stamp of a container's log. */
static const char *read_stream_name(const char *p, const char *end)
{
    bool named = end - p > 9 && (memcmp(p, "stdout ", 7) == 0 || memcmp(p, "stderr ", 7) == 0);
    return named && (p[7] == 'F' || p[7] == 'P') && p[8] == ' ' ? p + 9 : NULL;
}

static bool is_message_key(const char *name, size_t len)
{
    static const char *const keys[] = {"msg", "message", "err", "error", "exc", "exception"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strlen(keys[i]) == len && memcmp(name, keys[i], len) == 0) {
            return true;
        }
    }
    return false;
}

/* `ts=... level=error rank=1 msg="`: behind the quote, or NULL. */
static const char *read_pairs(const char *p, const char *end)
{
    for (int i = 0; i < 16 && p < end; i++) {
        const char *name = p;
        while (p < end && (is_word(*p) || is_digit(*p) || *p == '.')) {
            p++;
        }
        const char *value = p > name ? equals(p, end) : NULL;
        if (value == NULL) {
            return NULL;
        }
        if (is_message_key(name, (size_t)(p - name))) {
            value = inq_log_escape(value, end);
            return value + (value < end && (*value == '"' || *value == '\''));
        }
        bool quoted = value < end && *value == '"';
        for (p = value + quoted; p < end && (quoted ? *p != '"' : *p != ' '); p++) {
        }
        p = inq_log_blank(p + (quoted && p < end), end);
    }
    return NULL;
}

const char *inq_log_message(const char *p, const char *end)
{
    struct inq_log_event event;
    char host[256];
    int32_t inner = -1;
    event = (struct inq_log_event){.rank = -1};
    p = behind_label(p, end);
    for (;;) {
        p = inq_log_blank(p, end);
        if (p >= end) {
            return end;
        }
        const char *next = read_tag(p, end, &event, &inner);
        next = next != NULL ? next : inq_log_stamp(p, end, &event);
        next = next != NULL ? next : read_label(p, end, &event);
        next = next != NULL ? next : read_stream_name(p, end);
        next = next != NULL ? next : read_pairs(p, end);
        next = next != NULL ? next : read_talos(p, end, &event, host, sizeof host);
        if (next == NULL) {
            return p;
        }
        p = next;
    }
}

/* "[rank3]:", "12: ", "[1,3]<stderr>:" at p: its length, 0 for none. */
static size_t label_at(const char *start, const char *end)
{
    const char *stop = end - start > 48 ? start + 48 : end;
    const char *p = start;
    if (p < stop && *p == '[') {
        const char *close = memchr(p, ']', (size_t)(stop - p));
        p = close != NULL ? close + 1 : stop;
        if (p < stop && *p == '<') {
            const char *colon = memchr(p, ':', (size_t)(stop - p));
            const char *angle = memchr(p, '>', (size_t)(stop - p));
            p = colon != NULL ? colon : angle != NULL ? angle + 1 : stop;
        }
        return p < stop && *p == ':' ? (size_t)(p - start) + 1 : 0;
    }
    while (p < stop && is_digit(*p)) {
        p++;
    }
    bool ends = p + 1 >= end || is_blank(p[1]) || p[1] == '\n' || p[1] == '\r';
    return p > start && p < stop && *p == ':' && ends ? (size_t)(p - start) + 1 : 0;
}

static uint32_t hash_on(uint32_t hash, const char *p, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        hash = (hash ^ (unsigned char)p[k]) * UINT32_C(16777619);
    }
    return hash;
}

/* A machine's label may have a rank's behind it: both tell writers apart. */
const char *inq_log_body(const char *start, const char *end, uint32_t *writer)
{
    const char *p = behind_label(start, end);
    uint32_t hash = hash_on(UINT32_C(2166136261), start, (size_t)(p - start));
    bool labeled = false;
    *writer = p > start ? hash | 1 : 0;
    while (p < end && *p == 0x1b) { /* blanks behind it are the text's */
        p = inq_log_escape(p, end);
    }
    for (int i = 0; i < 4 && p < end && !is_blank(*p); i++) {
        struct inq_log_event event;
        size_t n = labeled ? 0 : label_at(p, end);
        const char *next = n > 0 ? p + n : read_stream_name(p, end);
        if (next == NULL && is_digit(*p)) {
            event = (struct inq_log_event){.rank = -1};
            next = inq_log_stamp(p, end, &event);
        }
        if (next == NULL) {
            break;
        }
        const char *angle = n > 0 ? memchr(p, '<', n) : NULL; /* both streams of one process */
        hash = hash_on(hash, p, angle != NULL ? (size_t)(angle - p) : n);
        labeled = labeled || n > 0;
        *writer = n > 0 ? hash | 1 : *writer;
        p = next + (next < end && *next == ' ');
    }
    return p;
}

uint32_t inq_log_writer(const char *start, const char *end)
{
    uint32_t writer;
    (void)inq_log_body(start, end, &writer);
    return writer;
}

const char *inq_log_line_before(const struct inq_log_line *line, const char *start)
{
    if (start <= line->lo) {
        return NULL;
    }
    enum { FAR = 4096 };
    const char *lo = start - 1 - line->lo > FAR ? start - 1 - FAR : line->lo;
    const char *end = memrchr(lo, '\n', (size_t)(start - 1 - lo));
    return end != NULL ? end + 1 : lo;
}
