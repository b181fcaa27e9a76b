/* SPDX-License-Identifier: Apache-2.0 */
/* A recorder that sees nothing finish (that of XPUs) tells only what was enqueued. What all members
 * of a group have enqueued, as far as dumps tell, is taken as finished, and so is every transfer:
 * what is left is what a member never came to. */
#include "trace/build/flight.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

enum { MAX_GROUPS = 1 << 20 };

struct table {
    struct inq_map index; /* hash of name and members */
    int64_t *least;       /* the lowest of the members' last numbers */
    size_t n, cap;
    struct inq_err *err;
};

static bool is_unfollowed(const struct inq_flight_dump *dump)
{
    for (size_t i = 0; i < dump->n_entries; i++) {
        const struct inq_flight_entry *entry = &dump->entries[i];
        if (strncmp(entry->name, "xccl:", 5) != 0 || entry->state == INQ_FLIGHT_COMPLETED) {
            return false;
        }
    }
    return dump->n_entries > 0;
}

static int count_group(struct table *t, const struct inq_flight_group *group, int64_t last)
{
    uint64_t key = inq_flight_group_key(group);
    uint32_t at = 0;
    if (inq_map_get(&t->index, key, &at)) {
        t->least[at] = last < t->least[at] ? last : t->least[at];
        return INQ_OK;
    }
    int code = inq_mem_grow(&t->least, &t->cap, t->n + 1, sizeof *t->least, MAX_GROUPS, t->err);
    if (code != INQ_OK) {
        return code;
    }
    t->least[t->n] = last;
    return inq_map_put(&t->index, key, (uint32_t)t->n++, t->err);
}

static int count_dump(struct table *t, const struct inq_flight_dump *dump)
{
    int64_t *last = inq_mem_zalloc(dump->n_groups + 1, sizeof *last);
    int code = last != NULL ? INQ_OK : inq_err_set(t->err, INQ_NOMEM, "out of memory for dumps");
    for (size_t i = 0; i < dump->n_entries && code == INQ_OK; i++) {
        const struct inq_flight_entry *entry = &dump->entries[i];
        bool counts = entry->group != INQ_NONE && !entry->is_p2p;
        if (counts && entry->collective_seq > last[entry->group]) {
            last[entry->group] = entry->collective_seq;
        }
    }
    for (size_t g = 0; g < dump->n_groups && code == INQ_OK; g++) {
        code = count_group(t, &dump->groups[g], last[g]);
    }
    inq_mem_free(last);
    return code;
}

static void settle(const struct table *t, struct inq_flight_dump *dump)
{
    dump->unfollowed = true;
    for (size_t i = 0; i < dump->n_entries; i++) {
        struct inq_flight_entry *entry = &dump->entries[i];
        uint32_t at = 0;
        bool listed =
            entry->group != INQ_NONE &&
            inq_map_get(&t->index, inq_flight_group_key(&dump->groups[entry->group]), &at);
        if (entry->is_p2p || (listed && entry->collective_seq <= t->least[at])) {
            entry->state = INQ_FLIGHT_COMPLETED;
        }
    }
}

int inq_flight_settle_unfollowed(struct inq_trace *trace, struct inq_err *err)
{
    struct table t = {.err = err};
    bool any = false;
    int code = INQ_OK;
    for (size_t d = 0; d < trace->n_dumps; d++) {
        any = any || is_unfollowed(trace->dumps[d]);
    }
    for (size_t d = 0; d < trace->n_dumps && any && code == INQ_OK; d++) {
        code = count_dump(&t, trace->dumps[d]);
    }
    for (size_t d = 0; d < trace->n_dumps && any && code == INQ_OK; d++) {
        if (is_unfollowed(trace->dumps[d])) {
            settle(&t, trace->dumps[d]);
        }
    }
    inq_map_release(&t.index);
    inq_mem_free(t.least);
    return code;
}
