/* SPDX-License-Identifier: Apache-2.0 */
/* Whose dump it is, as far as its content tells: a rank is a member of all groups that its dump
 * lists, and one side of all its sends and receives. */
#include "ingest/flight/values.h"

#include "base/mem.h"

#include <string.h>

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

int inq_flight_settle_rank(struct inq_flight_dump *dump, struct inq_err *err)
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
