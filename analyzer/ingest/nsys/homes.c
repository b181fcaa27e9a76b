/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of an Nsight Systems export: by process, at the device that it works most on. */
#include "ingest/nsys/homes.h"

#include "base/mem.h"
#include "trace/build/build.h"

/* A process drives each GPU on which its kernels run at least this part as long as on its busiest:
 * replicas and stages in one process differ by less, strays by far more. */
static const double busy_part = 0.25;

static uint64_t key_of(int64_t process, int64_t device)
{
    int64_t pair[2] = {process, device};
    return inq_hash_bytes(pair, sizeof pair);
}

int inq_nsys_homes_add(struct inq_nsys_homes *homes, const struct inq_nsys_share *share,
                       struct inq_err *err)
{
    uint32_t at = 0;
    uint64_t key = key_of(share->process, share->device);
    if (inq_map_get(&homes->known, key, &at)) {
        homes->shares[at].kernels_ns += share->kernels_ns;
        homes->shares[at].others_ns += share->others_ns;
        return INQ_OK;
    }
    int code = inq_mem_grow(&homes->shares, &homes->cap, homes->n + 1, sizeof *homes->shares,
                            INQ_MAX_RANKS, err);
    if (code == INQ_OK) {
        code = inq_map_put(&homes->known, key, (uint32_t)homes->n, err);
    }
    if (code == INQ_OK) {
        homes->shares[homes->n++] = *share;
    }
    return code;
}

/* By kernels; by copies where there are none; the lower device of two alike. */
static bool works_more(const struct inq_nsys_share *a, const struct inq_nsys_share *b)
{
    if (a->kernels_ns > b->kernels_ns || a->kernels_ns < b->kernels_ns) {
        return a->kernels_ns > b->kernels_ns;
    }
    if (a->others_ns > b->others_ns || a->others_ns < b->others_ns) {
        return a->others_ns > b->others_ns;
    }
    return a->device < b->device;
}

/* The busiest share of each process. */
static int find_busiest(const struct inq_nsys_homes *homes, struct inq_map *busiest,
                        struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < homes->n; i++) {
        const struct inq_nsys_share *own = &homes->shares[i];
        uint32_t best = 0;
        bool known = inq_map_get(busiest, (uint64_t)own->process, &best);
        if (!known || works_more(own, &homes->shares[best])) {
            code = inq_map_put(busiest, (uint64_t)own->process, (uint32_t)i, err);
        }
    }
    return code;
}

int inq_nsys_homes_settle(struct inq_nsys_homes *homes, struct inq_err *err)
{
    struct inq_map busiest = {0};
    int code = find_busiest(homes, &busiest, err);
    for (size_t i = 0; code == INQ_OK && i < homes->n; i++) {
        const struct inq_nsys_share *own = &homes->shares[i];
        uint32_t at = (uint32_t)i;
        (void)inq_map_get(&busiest, (uint64_t)own->process, &at);
        const struct inq_nsys_share *best = &homes->shares[at];
        bool drives = own->kernels_ns > 0.0 && own->kernels_ns >= busy_part * best->kernels_ns;
        int64_t device = drives ? own->device : best->device;
        code = inq_map_put(&homes->devices, key_of(own->process, own->device),
                           (uint32_t)(device + 1), err);
    }
    inq_map_release(&busiest);
    return code;
}

int64_t inq_nsys_home(const struct inq_nsys_homes *homes, int64_t process, int64_t device)
{
    uint32_t home = 0;
    bool known = inq_map_get(&homes->devices, key_of(process, device), &home);
    return known ? (int64_t)home - 1 : device;
}

void inq_nsys_homes_release(struct inq_nsys_homes *homes)
{
    inq_mem_free(homes->shares);
    inq_map_release(&homes->known);
    inq_map_release(&homes->devices);
    *homes = (struct inq_nsys_homes){0};
}
