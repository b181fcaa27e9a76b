/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of an Nsight Systems export: by process, at the device that it works most on. */
#include "ingest/nsys/homes.h"

#include "base/mem.h"

enum { MAX_SHARES = 4096 };

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
    for (size_t i = 0; i < homes->n; i++) {
        struct inq_nsys_share *own = &homes->shares[i];
        if (own->process == share->process && own->device == share->device) {
            own->kernels_ns += share->kernels_ns;
            own->others_ns += share->others_ns;
            return INQ_OK;
        }
    }
    if (homes->n == MAX_SHARES) {
        return INQ_OK;
    }
    int code = inq_mem_grow(&homes->shares, &homes->cap, homes->n + 1, sizeof *homes->shares,
                            MAX_SHARES, err);
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

static const struct inq_nsys_share *busiest_of(const struct inq_nsys_homes *homes, int64_t process)
{
    const struct inq_nsys_share *best = NULL;
    for (size_t i = 0; i < homes->n; i++) {
        const struct inq_nsys_share *own = &homes->shares[i];
        if (own->process == process && (best == NULL || works_more(own, best))) {
            best = own;
        }
    }
    return best;
}

int inq_nsys_homes_settle(struct inq_nsys_homes *homes, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < homes->n; i++) {
        const struct inq_nsys_share *own = &homes->shares[i];
        const struct inq_nsys_share *best = busiest_of(homes, own->process);
        bool drives = own->kernels_ns > 0.0 && own->kernels_ns >= busy_part * best->kernels_ns;
        int64_t device = drives ? own->device : best->device;
        code = inq_map_put(&homes->devices, key_of(own->process, own->device),
                           (uint32_t)(device + 1), err);
    }
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
    inq_map_release(&homes->devices);
    *homes = (struct inq_nsys_homes){0};
}
