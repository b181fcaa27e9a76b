/* SPDX-License-Identifier: Apache-2.0 */
/* In protocol buffers every message has its length in front, as a varint; in JSON one object
 * follows the other. */
#include "ingest/chakra/frames.h"

#include "trace/build/build.h"

#include <string.h>

/* A longer message is none. */
enum { MAX_MESSAGE = INQ_SCAN_MAX_EVENT };
/* Among damage a node is looked for at every byte, so the message there must be of a usual size:
 * nodes of PyTorch take some hundred bytes. */
enum { MAX_FOUND = 1 << 16 };
/* And no file makes that take long: messages look broken in their first bytes, so that looking
 * costs some bytes each. */
enum { LOOKS = 64 };

static bool has(const char *head, size_t n, const char *word)
{
    return memmem(head, n, word, strlen(word)) != NULL;
}

/* "{" alone may as well be the length of the first message. */
static bool is_json(const char *head, size_t n)
{
    static const char *const nodes[] = {
        "\"COMP_NODE\"",     "\"COMM_COLL_NODE\"", "\"COMM_SEND_NODE\"", "\"COMM_RECV_NODE\"",
        "\"METADATA_NODE\"", "\"MEM_LOAD_NODE\"",  "\"MEM_STORE_NODE\""};
    size_t at = 0;
    while (at < n && strchr(" \t\r\n", head[at]) != NULL && head[at] != '\0') {
        at++;
    }
    bool typed = has(head, n, "\"workload_graph\"") && has(head, n, "\"NodeType\"");
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        typed = typed || has(head, n, nodes[i]);
    }
    return typed && head[at] == '{' && !has(head, n, "\"traceEvents\"");
}

int inq_chakra_frames_init(struct inq_chakra_frames *frames, struct inq_source *source,
                           struct inq_damage *damage, struct inq_err *err)
{
    const char *head = NULL;
    size_t n = 0;
    *frames = (struct inq_chakra_frames){.damage = damage};
    int code = inq_source_peek(source, &head, &n, err);
    if (code == INQ_OK) {
        frames->json = is_json(head, n);
        frames->left = LOOKS * (uint64_t)MAX_FOUND;
        code = inq_window_init(&frames->window, source, err);
    }
    return code;
}

void inq_chakra_frames_release(struct inq_chakra_frames *frames)
{
    inq_window_release(&frames->window);
}

static size_t held(const struct inq_window *w)
{
    return (size_t)(w->end - w->p);
}

/* Has `n` bytes there, or all that are left. */
static int need(struct inq_window *w, size_t n, struct inq_err *err)
{
    int code = INQ_OK;
    while (code == INQ_OK && held(w) < n && !w->ended) {
        code = inq_window_more(w, n - held(w), err);
    }
    return code;
}

/* ---- protocol buffers ------------------------------------------------------------------------ */

/* The message behind the length at `at`. False: there is no length, or none that can be. *cut: the
 * message goes on behind `end`. */
static bool message_at(const char *at, const char *end, struct inq_wire *message, bool *cut)
{
    uint64_t length = 0;
    *message = inq_wire_of(at, 0);
    for (unsigned shift = 0; at < end && shift < 35; shift += 7) {
        unsigned char byte = (unsigned char)*at++;
        length |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *cut = length > (size_t)(end - at);
            *message = inq_wire_of(at, *cut ? (size_t)(end - at) : (size_t)length);
            return length <= MAX_MESSAGE;
        }
    }
    *cut = at == end;
    return false;
}

/* A node whose length is right, for there is no other sign of where one begins. */
static bool is_node_at(struct inq_chakra_frames *f, const char *at, const char *end)
{
    struct inq_wire message;
    struct inq_chakra_node node;
    bool cut = false;
    if (!message_at(at, end, &message, &cut) || cut || message.end - at > MAX_FOUND) {
        return false;
    }
    /* only one that begins as nodes do, by its id or name, is worth the look */
    bool begins = inq_wire_len(&message) > 3 && (*message.at == 0x08 || *message.at == 0x12);
    uint64_t cost = begins ? inq_wire_len(&message) : 0;
    cost = cost < f->left ? cost : f->left;
    f->left -= cost;
    return begins && f->left > 0 && inq_chakra_decode(message, &node) && !node.is_metadata;
}

/* Behind damage: passes over bytes up to the next node, and counts them. */
static int find_node(struct inq_chakra_frames *f, struct inq_err *err)
{
    struct inq_window *w = &f->window;
    int64_t from = inq_window_offset(w, w->p);
    bool found = false;
    int code = INQ_OK;
    w->p++;
    while (code == INQ_OK && !found) {
        code = need(w, 2 * (size_t)MAX_FOUND, err);
        if (code != INQ_OK || held(w) == 0) {
            break;
        }
        /* further on a message might look cut only because the rest is not here yet */
        size_t room = w->ended ? held(w) : held(w) - MAX_FOUND;
        for (const char *stop = w->p + room; w->p < stop && !found;) {
            found = is_node_at(f, w->p, w->end);
            w->p += !found;
        }
    }
    inq_damage_add(f->damage, INQ_DAMAGE_GARBAGE, (uint64_t)(inq_window_offset(w, w->p) - from),
                   from);
    return code;
}

static int next_message(struct inq_chakra_frames *f, struct inq_chakra_node *node, bool *found,
                        struct inq_err *err)
{
    struct inq_window *w = &f->window;
    while (!*found) {
        struct inq_wire message;
        bool cut = false;
        int code = need(w, 8, err);
        bool sized = code == INQ_OK && held(w) > 0 && message_at(w->p, w->end, &message, &cut);
        if (code != INQ_OK || held(w) == 0) {
            return code;
        }
        if (sized && cut && !w->ended) {
            code = inq_window_more(w, held(w), err);
            if (code != INQ_OK) {
                return code;
            }
            continue;
        }
        bool empty = sized && inq_wire_len(&message) == 0;
        bool first = !f->begun;
        f->begun = true;
        f->offset = inq_window_offset(w, w->p);
        if (sized && !cut && (!empty || first) && inq_chakra_decode(message, node)) {
            f->left += LOOKS * (uint64_t)(message.end - w->p);
            w->p = (char *)(uintptr_t)message.end;
            *found = true;
            return INQ_OK;
        }
        inq_damage_add(f->damage, cut && w->ended ? INQ_DAMAGE_TRUNCATED : INQ_DAMAGE_BAD_EVENT, 1,
                       f->offset);
        code = find_node(f, err);
        if (code != INQ_OK) {
            return code;
        }
    }
    return INQ_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Its key and bracket lie within this many bytes. */
enum { MAX_GRAPH_HEAD = 256 };

/* The list that ASTRA-sim's workload graphs hold their nodes in. */
static bool is_workload_graph(struct inq_scan *scan)
{
    struct inq_scan inner = {scan->p + 1, scan->end, NULL};
    struct inq_text key = {NULL, 0};
    bool is = inq_scan_blank(&inner) == '"' && inq_scan_key(&inner, &key) == INQ_SCAN_OK &&
              inq_text_is(key, "workload_graph") && inq_scan_blank(&inner) == '[';
    scan->p = is ? inner.p + 1 : scan->p;
    return is;
}

static bool is_between(char c)
{
    return c != '\0' && strchr(" \t\r\n,[]}", c) != NULL;
}

/* What is no node: up to the next opening brace. */
static int pass_object(struct inq_window *w, struct inq_err *err)
{
    w->p++;
    for (;;) {
        char *brace = memchr(w->p, '{', held(w));
        w->p = brace != NULL ? brace : w->end;
        if (brace != NULL || w->ended) {
            return INQ_OK;
        }
        int code = inq_window_more(w, 1, err);
        if (code != INQ_OK) {
            return code;
        }
    }
}

/* At a byte that is not between objects. */
static int read_object(struct inq_chakra_frames *f, struct inq_chakra_node *node, bool *found,
                       struct inq_err *err)
{
    struct inq_window *w = &f->window;
    size_t have = held(w);
    struct inq_scan scan = {w->p, w->p + (have < MAX_GRAPH_HEAD ? have : MAX_GRAPH_HEAD), NULL};
    if (have < MAX_GRAPH_HEAD && !w->ended) {
        return inq_window_more(w, MAX_GRAPH_HEAD, err);
    }
    if (*w->p == '{' && is_workload_graph(&scan)) {
        w->p = (char *)(uintptr_t)scan.p;
        return INQ_OK;
    }
    scan = (struct inq_scan){w->p, w->end, NULL};
    enum inq_scan_result result = *w->p == '{' ? inq_chakra_scan(&scan, node) : INQ_SCAN_BAD;
    if (result == INQ_SCAN_MORE && !w->ended && have < MAX_MESSAGE) {
        return inq_window_more(w, have, err);
    }
    bool whole = result == INQ_SCAN_OK && (node->is_metadata || inq_chakra_is_node(node));
    bool first = !f->begun;
    f->begun = true;
    f->offset = inq_window_offset(w, w->p);
    if (whole || (first && result == INQ_SCAN_OK)) { /* metadata may be empty */
        node->is_metadata = node->is_metadata || !whole;
        f->left += LOOKS * (uint64_t)(scan.p - w->p);
        w->p = (char *)(uintptr_t)scan.p;
        *found = true;
        return INQ_OK;
    }
    uint64_t cost = result == INQ_SCAN_MORE ? have : (uint64_t)(scan.p - w->p) + 1;
    f->left -= cost < f->left ? cost : f->left;
    inq_damage_add(f->damage, result == INQ_SCAN_MORE ? INQ_DAMAGE_TRUNCATED : INQ_DAMAGE_BAD_EVENT,
                   1, f->offset);
    return pass_object(w, err);
}

static int next_object(struct inq_chakra_frames *f, struct inq_chakra_node *node, bool *found,
                       struct inq_err *err)
{
    struct inq_window *w = &f->window;
    int code = INQ_OK;
    while (code == INQ_OK && !*found && f->left > 0) {
        while (w->p < w->end && is_between(*w->p)) {
            w->p++;
        }
        if (w->p < w->end) {
            code = read_object(f, node, found, err);
        } else if (w->ended) {
            break;
        } else {
            code = inq_window_more(w, 1, err);
        }
    }
    if (code == INQ_OK && f->left == 0) {
        inq_damage_add(f->damage, INQ_DAMAGE_LIMIT, 1, inq_window_offset(w, w->p));
    }
    return code;
}

int inq_chakra_next(struct inq_chakra_frames *frames, struct inq_chakra_node *node, bool *found,
                    struct inq_err *err)
{
    *found = false;
    return frames->json ? next_object(frames, node, found, err)
                        : next_message(frames, node, found, err);
}

/* ---- recognition ----------------------------------------------------------------------------- */

/* Metadata and then nodes, as many as the head holds; the last may be cut off by its end. One node
 * has so many fields of their own types that it is enough where damage follows it. */
static int sniff_messages(const char *head, size_t n)
{
    enum { ENOUGH = 4, SURE = 90, DAMAGED = 50 };
    const char *end = head + n;
    int nodes = 0;
    bool good = true;
    for (const char *at = head; at < end && nodes < ENOUGH && good;) {
        struct inq_wire message;
        struct inq_chakra_node node;
        bool cut = false;
        good = message_at(at, end, &message, &cut);
        if (cut) {
            break;
        }
        good = good && inq_chakra_decode(message, &node) && (!node.is_metadata || at == head);
        nodes += good && !node.is_metadata;
        at = message.end;
    }
    return nodes == 0 ? 0 : good ? SURE : DAMAGED;
}

int inq_chakra_sniff(const char *head, size_t n, const char *path)
{
    (void)path;
    return is_json(head, n) ? 96 : sniff_messages(head, n);
}
