/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/build/launches.h"

#include "base/mem.h"

#include <stddef.h>
#include <string.h>

/* There are no gaps between the members of a launch; behind the last one there may be. */
enum { MAX_LAUNCHES = 1 << 28, CONTENT = offsetof(struct inq_launch, source) + sizeof(inq_str) };
_Static_assert(CONTENT == 6 * sizeof(int32_t) + sizeof(int64_t) + 5 * sizeof(inq_str),
               "launches are compared and hashed as bytes");

static int append(struct inq_launches *launches, const struct inq_launch *row, uint32_t *index,
                  struct inq_err *err)
{
    int code = inq_mem_grow(&launches->rows, &launches->cap, launches->n + 1,
                            sizeof *launches->rows, MAX_LAUNCHES, err);
    if (code == INQ_OK) {
        *index = (uint32_t)launches->n;
        launches->rows[launches->n++] = *row;
    }
    return code;
}

int inq_launches_add(struct inq_launches *launches, const struct inq_launch *row, uint32_t *index,
                     struct inq_err *err)
{
    static const struct inq_launch unknown = {0};
    *index = 0;
    if (memcmp(row, &unknown, CONTENT) == 0) {
        return INQ_OK;
    }
    int code = launches->n == 0 ? append(launches, &unknown, index, err) : INQ_OK;
    uint64_t key = inq_hash_bytes(row, CONTENT);
    for (; code == INQ_OK && inq_map_get(&launches->by_content, key, index); key++) {
        if (memcmp(&launches->rows[*index], row, CONTENT) == 0) {
            return INQ_OK;
        }
    }
    if (code == INQ_OK) {
        code = append(launches, row, index, err);
    }
    return code == INQ_OK ? inq_map_put(&launches->by_content, key, *index, err) : code;
}

void inq_launches_release(struct inq_launches *launches)
{
    inq_mem_free(launches->rows);
    inq_map_release(&launches->by_content);
    *launches = (struct inq_launches){0};
}
