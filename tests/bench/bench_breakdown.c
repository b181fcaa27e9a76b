/* SPDX-License-Identifier: Apache-2.0 */
/* Time breakdown of made-up ranks: ns per event, by number of lanes. */
#include "analysis/account/time_breakdown.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/time.h"

#include <stdio.h>
#include <string.h>

enum { REPEATS = 7, MIDDLE = REPEATS / 2 };

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static int fill(struct inq_rank *rank, size_t n, uint32_t lanes)
{
    struct inq_events *e = &rank->events;
    uint32_t random = 1;

    *rank = (struct inq_rank){0};
    e->start_ns = inq_mem_zalloc(n, sizeof(*e->start_ns));
    e->dur_ns = inq_mem_zalloc(n, sizeof(*e->dur_ns));
    e->lane = inq_mem_zalloc(n, sizeof(*e->lane));
    e->call = inq_mem_zalloc(n, sizeof(*e->call));
    e->kind = inq_mem_zalloc(n, sizeof(*e->kind));
    e->cls = inq_mem_zalloc(n, sizeof(*e->cls));
    rank->calls.start_ns = inq_mem_zalloc(n, sizeof(*rank->calls.start_ns));
    if (!e->start_ns || !e->dur_ns || !e->lane || !e->call || !e->kind || !e->cls ||
        !rank->calls.start_ns) {
        return INQ_NOMEM;
    }
    e->n = n;
    rank->calls.n = n;
    for (size_t i = 0; i < n; i++) {
        e->lane[i] = (uint32_t)(i * lanes / n);
        int64_t before = i > 0 && e->lane[i] == e->lane[i - 1] ? e->start_ns[i - 1] : 0;
        e->dur_ns[i] = 2000 + next_random(&random) % 20000;
        e->start_ns[i] = before + 12000 + next_random(&random) % 25000;
        e->cls[i] = (uint8_t)(e->lane[i] % 3);
        e->call[i] = (uint32_t)i;
        rank->calls.start_ns[i] = e->start_ns[i] - next_random(&random) % 40000;
    }
    return INQ_OK;
}

static void drop(struct inq_rank *rank)
{
    inq_mem_free(rank->events.start_ns);
    inq_mem_free(rank->events.dur_ns);
    inq_mem_free(rank->events.lane);
    inq_mem_free(rank->events.call);
    inq_mem_free(rank->events.kind);
    inq_mem_free(rank->events.cls);
    inq_mem_free(rank->calls.start_ns);
}

int main(void)
{
    const size_t n = 1000000;
    static const uint32_t lane_counts[] = {1, 2, 4, 16, 256};

    printf("%-8s %12s %12s\n", "lanes", "ms", "ns/event");
    for (size_t l = 0; l < sizeof(lane_counts) / sizeof(lane_counts[0]); l++) {
        struct inq_rank rank;
        int64_t took_ns[REPEATS];
        if (fill(&rank, n, lane_counts[l]) != INQ_OK) {
            drop(&rank);
            return 1;
        }
        for (int i = 0; i < REPEATS; i++) {
            struct inq_rank_time time = {0};
            struct inq_trace trace = {0};
            bool any = false;
            int64_t begin_ns = inq_time_now_ns();
            if (inq_rank_time_all(&trace, &rank, &time, &any, NULL) != INQ_OK || !any) {
                drop(&rank);
                return 1;
            }
            took_ns[i] = inq_time_now_ns() - begin_ns;
        }
        inq_sort_i64(took_ns, REPEATS);
        double median_ns = (double)took_ns[MIDDLE];
        printf("%-8u %12.2f %12.1f\n", lane_counts[l], median_ns / 1e6, median_ns / (double)n);
        drop(&rank);
    }
    return 0;
}
