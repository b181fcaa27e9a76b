/* SPDX-License-Identifier: Apache-2.0 */
#include "support_perfetto.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 512 };

/* A track: the slices that are open on it. */
struct track {
    int64_t start_ns[MAX_DEPTH], end_ns[MAX_DEPTH];
    size_t n;
    bool named;
    int kind; /* by its name: 'i'dle, 'w'aits, 'l'ost, 'f'inding, 'p'ath, 0 */
};

struct checker {
    struct inq_map track_of; /* (pid, tid) -> index */
    struct track **tracks;
    size_t n_tracks, cap_tracks;
    struct inq_map processes;
    struct inq_map flows; /* id -> 1 begun, 2 ended */
    int64_t last_ns;
    bool any;
    struct perfetto_count *count;
};

static struct track *track_at(struct checker *c, int64_t pid, int64_t tid)
{
    uint64_t key = inq_hash_u64((uint64_t)pid) ^ (uint64_t)tid;
    uint32_t index;
    if (!inq_map_get(&c->track_of, key, &index)) {
        index = (uint32_t)c->n_tracks;
        assert_int_equal(inq_mem_grow(&c->tracks, &c->cap_tracks, c->n_tracks + 1,
                                      sizeof *c->tracks, 1 << 20, NULL),
                         INQ_OK);
        c->tracks[c->n_tracks] = inq_mem_zalloc(1, sizeof **c->tracks);
        assert_non_null(c->tracks[c->n_tracks++]);
        assert_int_equal(inq_map_put(&c->track_of, key, index, NULL), INQ_OK);
    }
    return c->tracks[index];
}

/* A time as it is written: cJSON has only doubles. Its key cannot be within a string, where its
 * quotes would be escaped. */
static int64_t time_in(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    int64_t ns = 0;
    if (at == NULL) {
        fail_msg("no %s in %.300s", key, line);
        return 0;
    }
    at += strlen(key);
    size_t n = strspn(at, "-0123456789.");
    const char *point = memchr(at, '.', n);
    assert_true(point != NULL && at + n - point == 4); /* three decimals: nanoseconds */
    assert_true(inq_time_parse_decimal(at, n, 1000, &ns));
    return ns;
}

static void take_name(struct checker *c, const struct cJSON *event, int64_t pid, int64_t tid)
{
    const char *what = inq_json_text(inq_json_get(event, "name"), "");
    const char *name = inq_json_text(inq_json_get(inq_json_get(event, "args"), "name"), "");
    if (strcmp(what, "process_name") == 0) {
        assert_true(name[0] != '\0');
        assert_int_equal(inq_map_put(&c->processes, (uint64_t)pid, 1, NULL), INQ_OK);
        c->count->processes++;
    } else if (strcmp(what, "thread_name") == 0) {
        struct track *track = track_at(c, pid, tid);
        assert_false(track->named);
        track->named = true;
        track->kind = strstr(name, "idle, by cause") != NULL    ? 'i'
                      : strncmp(name, "waits, by ", 10) == 0    ? 'w'
                      : strncmp(name, "lost to ", 8) == 0       ? 'l'
                      : strncmp(name, "critical path", 13) == 0 ? 'p'
                      : strstr(name, ". [") != NULL             ? 'f'
                                                                : 0;
        c->count->tracks++;
    }
}

static void take_slice(struct checker *c, struct track *track, int64_t start_ns, int64_t dur_ns,
                       const char *line)
{
    int64_t end_ns = start_ns + dur_ns;
    assert_true(dur_ns >= 0);
    while (track->n > 0 && track->end_ns[track->n - 1] <= start_ns) {
        track->n--;
    }
    if (track->n > 0 && track->end_ns[track->n - 1] < end_ns) {
        fail_msg("does not nest: %.300s", line);
    }
    assert_true(track->n < MAX_DEPTH);
    track->start_ns[track->n] = start_ns;
    track->end_ns[track->n++] = end_ns;
    c->count->slices++;
    c->count->idle_ns += track->kind == 'i' ? dur_ns : 0;
    c->count->wait_ns += track->kind == 'w' ? dur_ns : 0;
    c->count->lost_ns += track->kind == 'l' ? dur_ns : 0;
    c->count->findings += track->kind == 'f';
    c->count->path += track->kind == 'p';
}

static void take_flow(struct checker *c, const struct cJSON *event, struct track *track,
                      int64_t at_ns, const char *line)
{
    uint64_t id = (uint64_t)inq_json_integer(inq_json_get(event, "id"), -1);
    bool begin = inq_json_text(inq_json_get(event, "ph"), "")[0] == 's';
    uint32_t state = 0;
    (void)inq_map_get(&c->flows, id, &state);
    if (state != (begin ? 0u : 1u)) {
        fail_msg("flow out of turn: %.300s", line);
    }
    assert_int_equal(inq_map_put(&c->flows, id, begin ? 1 : 2, NULL), INQ_OK);
    bool bound = track->n > 0 && track->start_ns[track->n - 1] <= at_ns &&
                 track->end_ns[track->n - 1] >= at_ns;
    if (!bound) {
        fail_msg("flow outside of any slice: %.300s", line);
    }
    c->count->flows += begin;
}

static void take_event(struct checker *c, const char *line, size_t n)
{
    struct cJSON *event = NULL;
    if (inq_json_parse(line, n, &event, NULL) != INQ_OK) {
        fail_msg("no valid JSON: %.300s", line);
    }
    const char *phase = inq_json_text(inq_json_get(event, "ph"), "?");
    int64_t pid = inq_json_integer(inq_json_get(event, "pid"), -1);
    int64_t tid = inq_json_integer(inq_json_get(event, "tid"), -1);
    assert_true(pid >= 0 && tid >= 0);
    if (phase[0] == 'M') {
        assert_false(c->any); /* names come first */
        take_name(c, event, pid, tid);
    } else {
        struct track *track = track_at(c, pid, tid);
        int64_t at_ns = time_in(line, "\"ts\":");
        uint32_t known = 0;
        assert_true(track->named && inq_map_get(&c->processes, (uint64_t)pid, &known));
        if (c->any && at_ns < c->last_ns) {
            fail_msg("goes back in time: %.300s", line);
        }
        c->any = true;
        c->last_ns = at_ns;
        if (phase[0] == 'X') {
            take_slice(c, track, at_ns, time_in(line, "\"dur\":"), line);
        } else {
            assert_true(phase[0] == 's' || phase[0] == 'f');
            take_flow(c, event, track, at_ns, line);
        }
    }
    inq_json_free(event);
}

/* The document without its events. */
static void check_head(const char *text, const char *events, const char *tail)
{
    struct inq_out out = {0};
    struct cJSON *root = NULL;
    inq_out_bytes(&out, text, (size_t)(events - text));
    inq_out_text(&out, tail);
    assert_int_equal(out.code, INQ_OK);
    assert_int_equal(inq_json_parse(out.buf, out.len, &root, NULL), INQ_OK);
    assert_non_null(inq_json_get(root, "inquest"));
    assert_non_null(inq_json_get(root, "baseTimeNanoseconds"));
    inq_json_free(root);
    inq_out_release(&out);
}

void perfetto_check(const char *text, size_t n, struct perfetto_count *count)
{
    struct checker c = {.count = count};
    *count = (struct perfetto_count){0};
    assert_true(n > 4 && strcmp(text + n - 3, "]}\n") == 0);
    const char *line = strchr(text, '\n');
    assert_non_null(line);
    check_head(text, line, "]}");
    const char *end = text + n - 3;
    bool first = true;
    for (line++; line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        const char *stop = next != NULL ? next : end;
        bool comma = line[0] == ',';
        assert_true(comma == !first); /* between events, and nowhere else */
        char *copy = strndup(line + comma, (size_t)(stop - line) - comma);
        assert_non_null(copy);
        take_event(&c, copy, strlen(copy));
        free(copy);
        first = false;
        line = stop + 1;
    }
    for (size_t i = 0; i < c.flows.n_slots; i++) {
        assert_true(!c.flows.used[i] || c.flows.values[i] == 2);
    }
    for (size_t i = 0; i < c.n_tracks; i++) {
        inq_mem_free(c.tracks[i]);
    }
    inq_mem_free(c.tracks);
    inq_map_release(&c.track_of);
    inq_map_release(&c.processes);
    inq_map_release(&c.flows);
}
