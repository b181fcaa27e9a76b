/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/budget.h"

#include "base/arena.h"
#include "inquest/flight.h"
#include "inquest/log.h"

#include <stdio.h>
#include <unistd.h>

static uint64_t rank_bytes(const struct inq_rank *rank)
{
    const struct inq_events *events = &rank->events;
    uint64_t event = 2 * sizeof(int64_t) + 5 * sizeof(uint32_t) + 2 * sizeof(uint8_t);
    if (events->label != NULL) {
        event += sizeof(uint32_t);
    }
    uint64_t call = 3 * sizeof(int64_t) + 2 * sizeof(uint32_t);
    return events->cap * event + rank->calls.cap * call + rank->cap_lanes * sizeof *rank->lanes +
           rank->cap_notes * sizeof *rank->notes + rank->cap_comms * sizeof *rank->comms +
           rank->cap_labels * sizeof *rank->labels;
}

uint64_t inq_shard_bytes(const struct inq_shard *shard)
{
    const struct inq_strtab *names = &shard->names;
    uint64_t bytes = shard->arena.total + names->arena.total + names->cap * sizeof *names->rows +
                     names->n_slots * sizeof *names->slots +
                     shard->cap_ranks * sizeof *shard->ranks +
                     shard->cap_groups * sizeof *shard->groups;
    if (shard->log != NULL) {
        bytes += shard->log->arena->total + shard->log->names->arena.total +
                 shard->log->cap_events * sizeof *shard->log->events;
    }
    if (shard->dump != NULL) {
        bytes += shard->dump->arena->total + shard->dump->names->arena.total;
    }
    for (size_t i = 0; i < shard->n_ranks; i++) {
        bytes += rank_bytes(&shard->ranks[i]);
    }
    return bytes;
}

/* The first number in a file, or UINT64_MAX ("max", or no such file). */
static uint64_t number_in(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return UINT64_MAX;
    }
    unsigned long long value = 0;
    bool found = fscanf(file, "%llu", &value) == 1; // NOLINT(cert-err34-c): kernel's own format
    (void)fclose(file);
    return found && value > 0 ? value : UINT64_MAX;
}

uint64_t inq_machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_C(1) << 30;
    uint64_t group = number_in("/sys/fs/cgroup/memory.max");
    return group < bytes ? group : bytes;
}
