/* SPDX-License-Identifier: Apache-2.0 */
/* Flight Recorder dumps: a pickle (protocols 2 to 5) or JSON. */
#include "ingest/flight/values.h"

#include "base/mem.h"
#include "ingest/flight/value_json.h"
#include "ingest/ingest.h"

#include <ctype.h>
#include <string.h>

/* Whose dump it is, as far as its content tells: a rank is a member of all groups that its dump
 * lists, and one side of all its sends and receives. */

/* The place in its group that a transfer's writer has; -1 unknown. */
static int32_t own_place(const struct inq_flight_entry *entry)
{
    return entry->kind == INQ_COLL_SEND   ? entry->src
           : entry->kind == INQ_COLL_RECV ? entry->dst
                                          : -1;
}

static int32_t rank_by_transfers(const struct inq_flight_dump *dump)
{
    int32_t rank = -1;
    for (size_t i = 0; i < dump->n_entries; i++) {
        const struct inq_flight_entry *entry = &dump->entries[i];
        int32_t place = entry->group != INQ_NONE ? own_place(entry) : -1;
        const struct inq_flight_group *group = place >= 0 ? &dump->groups[entry->group] : NULL;
        if (group == NULL || (size_t)place >= group->n_ranks) {
            continue;
        }
        if (rank >= 0 && rank != group->ranks[place]) {
            return -1; /* they contradict each other */
        }
        rank = group->ranks[place];
    }
    return rank;
}

/* Counts of how many groups each rank is a member of; *n_groups gets how many list members. */
static void count_groups(const struct inq_flight_dump *dump, uint32_t *counts, size_t *n_groups)
{
    for (size_t g = 0; g < dump->n_groups; g++) {
        const struct inq_flight_group *group = &dump->groups[g];
        *n_groups += group->n_ranks > 0;
        for (size_t i = 0; i < group->n_ranks; i++) {
            counts[group->ranks[i]]++;
        }
    }
}

static int32_t highest_rank(const struct inq_flight_dump *dump)
{
    int32_t highest = dump->rank;
    for (size_t g = 0; g < dump->n_groups; g++) {
        for (size_t i = 0; i < dump->groups[g].n_ranks; i++) {
            int32_t rank = dump->groups[g].ranks[i];
            highest = rank > highest ? rank : highest;
        }
    }
    return highest;
}

/* Gives the dump the rank that its groups and transfers leave, where its name tells none or one
 * that cannot be. Fails with INQ_NOMEM. */
static int flight_settle_rank(struct inq_flight_dump *dump, struct inq_err *err)
{
    size_t n_groups = 0;
    size_t world = (size_t)highest_rank(dump) + 1;
    uint32_t *counts = inq_mem_zalloc(world + 1, sizeof *counts);
    if (counts == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a dump");
    }
    count_groups(dump, counts, &n_groups);
    size_t n = 0;
    int32_t only = -1;
    for (size_t r = 0; r < world && n_groups > 0; r++) {
        n += counts[r] == n_groups;
        only = counts[r] == n_groups ? (int32_t)r : only;
    }
    bool can_be = n == 0 || (dump->rank >= 0 && counts[dump->rank] == n_groups);
    int32_t by_transfers = rank_by_transfers(dump);
    if (by_transfers >= 0 && (n == 0 || counts[by_transfers] == n_groups)) {
        dump->rank = by_transfers;
    } else if (n == 1 && (!can_be || dump->rank < 0)) {
        dump->rank = only;
    }
    inq_mem_free(counts);
    return INQ_OK;
}

/* A dump of 20,000 entries with stacks takes some tens of megabytes. */
static const size_t max_bytes = (size_t)1 << 30;
static const size_t max_objects = (size_t)1 << 24;

static bool has(const char *head, size_t n, const char *word)
{
    return memmem(head, n, word, strlen(word)) != NULL;
}

static bool is_pickle(const char *head, size_t n)
{
    return n > 2 && (unsigned char)head[0] == 0x80 && head[1] >= 2 && head[1] <= 5;
}

static int sniff(const char *head, size_t n, const char *path)
{
    (void)path;
    if (is_pickle(head, n)) {
        return has(head, n, "pg_config") || has(head, n, "pg_status") || has(head, n, "entries") ||
                       (has(head, n, "version") && n < 256)
                   ? 95
                   : 0;
    }
    size_t i = 0;
    while (i < n && isspace((unsigned char)head[i]) != 0) {
        i++;
    }
    bool object = i < n && head[i] == '{' && !has(head, n, "\"traceEvents\"");
    return object && (has(head, n, "\"pg_config\"") || has(head, n, "\"collective_seq_id\"")) ? 95
                                                                                              : 0;
}

/* All of it, in one block that the caller frees. */
static int slurp(struct inq_source *source, char **bytes, size_t *n, struct inq_err *err)
{
    size_t cap = 0;
    for (;;) {
        const char *chunk = NULL;
        size_t len = 0;
        int code = inq_source_next(source, &chunk, &len, err);
        if (code == INQ_OK && len > 0) {
            code = inq_mem_grow(bytes, &cap, *n + len, 1, max_bytes, err);
        }
        if (code != INQ_OK || len == 0) {
            return code;
        }
        memcpy(*bytes + *n, chunk, len);
        *n += len;
    }
}

/* Notes in the file's account why the document was not read to its end. */
static int note_end(struct inq_shard *shard, size_t n, bool complete, const struct inq_err *why,
                    struct inq_err *err)
{
    const char *reason = why->message;
    if (why->code == INQ_LIMIT) {
        inq_damage_add(&shard->file.damage, INQ_DAMAGE_LIMIT, 1, why->offset);
    } else if (why->code != INQ_OK) {
        uint64_t left = why->offset >= 0 && (size_t)why->offset < n ? n - (size_t)why->offset : 1;
        inq_damage_add(&shard->file.damage, INQ_DAMAGE_GARBAGE, left, why->offset);
    } else if (!complete) {
        inq_damage_add(&shard->file.damage, INQ_DAMAGE_TRUNCATED, 1, (int64_t)n);
        reason = "the dump is cut short: what was whole before the cut is kept";
    } else {
        return INQ_OK;
    }
    shard->file.reason = inq_arena_strdup(&shard->arena, reason);
    if (shard->file.reason == NULL) {
        shard->file.reason = "";
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    return INQ_OK;
}

static int take(struct inq_shard *shard, const struct inq_value *root, size_t n, bool complete,
                struct inq_err *why, struct inq_err *err)
{
    if (root == NULL || root->type != INQ_VALUE_DICT || !inq_flight_is_dump(root)) {
        bool refused = why->code != INQ_OK;
        return inq_err_set(err, INQ_UNSUPPORTED, "%s%s", "not a Flight Recorder dump",
                           refused ? ", and not plain data" : "");
    }
    shard->dump = inq_flight_new();
    if (shard->dump == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a dump");
    }
    size_t digits = 0;
    shard->file.format = "flight-recorder";
    shard->dump->rank = inq_flight_rank(shard->file.path, &digits);
    int code = inq_flight_fill(shard->dump, root, &shard->file.damage, err);
    if (code == INQ_LIMIT) {
        *why = (struct inq_err){.code = INQ_OK};
        inq_err_record(why, INQ_LIMIT, NULL, -1, "%s",
                       "the dump is too large: its first entries are kept");
        if (err != NULL) {
            *err = (struct inq_err){.code = INQ_OK};
        }
        code = INQ_OK;
    }
    code = code == INQ_OK ? flight_settle_rank(shard->dump, err) : code;
    shard->dump->partial = shard->dump->partial || !complete;
    shard->file.events = shard->dump->n_entries;
    return code == INQ_OK ? note_end(shard, n, complete, why, err) : code;
}

static int read(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    char *bytes = NULL;
    size_t n = 0;
    struct inq_arena arena = {0};
    struct inq_value *root = NULL;
    bool complete = false;
    struct inq_err why = {.offset = -1};
    struct inq_pickle_limits limits = {.max_objects = max_objects};
    int code = slurp(source, &bytes, &n, err);
    if (code == INQ_OK || code == INQ_LIMIT) {
        code = is_pickle(bytes, n)
                   ? inq_pickle_decode(bytes, n, &limits, &arena, &root, &complete, &why)
                   : inq_value_json(bytes, n, &limits, &arena, &root, &complete, &why);
        code = code == INQ_NOMEM ? inq_err_set(err, INQ_NOMEM, "out of memory for a dump")
                                 : take(shard, root, n, complete, &why, err);
    }
    inq_arena_release(&arena);
    inq_mem_free(bytes);
    return code;
}

const struct inq_reader inq_reader_flight = {
    .name = "flight-recorder",
    .summary = "Flight Recorder dumps of PyTorch (pickle or JSON): what each rank had enqueued",
    .sniff = sniff,
    .read = read,
};
