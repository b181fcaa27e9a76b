/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/flight.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/strtab.h"

#include <string.h>

struct inq_flight_dump *inq_flight_new(void)
{
    struct inq_flight_dump *dump = inq_mem_zalloc(1, sizeof *dump);
    if (dump == NULL) {
        return NULL;
    }
    dump->rank = -1;
    dump->comm_version = "";
    dump->arena = inq_mem_zalloc(1, sizeof *dump->arena);
    dump->names = inq_mem_zalloc(1, sizeof *dump->names);
    if (dump->arena == NULL || dump->names == NULL) {
        inq_flight_free(dump);
        return NULL;
    }
    return dump;
}

void inq_flight_free(struct inq_flight_dump *dump)
{
    if (dump == NULL) {
        return;
    }
    if (dump->arena != NULL) {
        inq_arena_release(dump->arena);
        inq_mem_free(dump->arena);
    }
    if (dump->names != NULL) {
        inq_strtab_release(dump->names);
        inq_mem_free(dump->names);
    }
    inq_mem_free(dump);
}

int32_t inq_flight_rank(const char *path, size_t *digits)
{
    static const char *const suffixes[] = {".gz", ".json", ".pkl", ".pickle", ".bin", ".dump"};
    size_t end = strlen(path);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0];) {
        size_t len = strlen(suffixes[i]);
        bool cut = end > len && strncmp(path + end - len, suffixes[i], len) == 0;
        end -= cut ? len : 0;
        i = cut ? 0 : i + 1; /* they may stack */
    }
    size_t start = end;
    int64_t rank = 0;
    while (start > 0 && path[start - 1] >= '0' && path[start - 1] <= '9') {
        start--;
    }
    *digits = start;
    if (start == end || end - start > 7) { /* a longer number is a time or an id */
        return -1;
    }
    for (size_t i = start; i < end; i++) {
        rank = rank * 10 + (path[i] - '0');
    }
    return rank < (int64_t)INQ_MAX_RANKS ? (int32_t)rank : -1;
}

const char *inq_flight_state_text(enum inq_flight_state state)
{
    static const char *const texts[] = {"scheduled", "started", "completed"};
    return texts[state];
}
