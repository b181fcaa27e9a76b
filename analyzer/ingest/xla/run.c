/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/xla/xla.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "ingest/xla/device.h"

#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool is_xspace(const struct inq_shard *shard)
{
    return shard->file.read && shard->n_ranks > 0 && shard->file.format != NULL &&
           strcmp(shard->file.format, "xspace") == 0;
}

static bool in_one_folder(const struct inq_shard *a, const struct inq_shard *b)
{
    size_t n = (size_t)(base_name(a->file.path) - a->file.path);
    return n == (size_t)(base_name(b->file.path) - b->file.path) &&
           memcmp(a->file.path, b->file.path, n) == 0;
}

/* ---- groups of ranks ------------------------------------------------------------------------- */

static bool has_member(const struct inq_group *group, int32_t rank)
{
    for (uint32_t i = 0; i < group->n_ranks; i++) {
        if (group->ranks[i] == rank) {
            return true;
        }
    }
    return false;
}

static uint32_t group_like(const struct inq_shard *shard, uint32_t group, int32_t rank)
{
    for (uint32_t g = 0; g < shard->n_groups; g++) {
        if (shard->groups[g].name == shard->groups[group].name &&
            has_member(&shard->groups[g], rank)) {
            return g;
        }
    }
    return INQ_NONE;
}

static int settle_rank(struct inq_shard *shard, struct inq_rank *rank, struct inq_err *err)
{
    struct inq_map found = {0}; /* of the group that was named */
    int code = INQ_OK;
    for (size_t i = 0; i < rank->n_comms && code == INQ_OK; i++) {
        struct inq_comm *comm = &rank->comms[i];
        uint32_t group = comm->group;
        if (group == INQ_NONE) {
            continue;
        }
        if (!inq_map_get(&found, comm->group, &group)) {
            group = group_like(shard, comm->group, rank->rank);
            code = inq_map_put(&found, comm->group, group, err);
        }
        if (group != INQ_NONE) {
            comm->group = group;
            comm->group_size = shard->groups[group].size;
        }
    }
    inq_map_release(&found);
    return code;
}

int inq_xla_settle_groups(struct inq_shard *shard, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t r = 0; r < shard->n_ranks && code == INQ_OK; r++) {
        code = settle_rank(shard, &shard->ranks[r], err);
    }
    return code;
}

/* ---- the same profile as JSON ---------------------------------------------------------------- */

/* Length of the name in front of a suffix, with or without ".gz"; 0: it has another. */
static size_t stem(const char *name, const char *suffix)
{
    size_t len = strlen(name);
    size_t n = strlen(suffix);
    len -= len > 3 && strcmp(name + len - 3, ".gz") == 0 ? 3 : 0;
    return len > n && memcmp(name + len - n, suffix, n) == 0 ? len - n : 0;
}

static bool is_json_of(const struct inq_shard *json, const struct inq_shard *space)
{
    const char *name = base_name(json->file.path);
    const char *of = base_name(space->file.path);
    size_t n = stem(name, ".trace.json");
    bool of_host = n > 0 && n == stem(of, ".xplane.pb") && memcmp(name, of, n) == 0;
    bool of_run = strncmp(name, "perfetto_trace.json", 19) == 0;
    return in_one_folder(json, space) && (of_host || of_run);
}

static int drop(struct inq_shard *json, const struct inq_shard *space, struct inq_err *err)
{
    struct inq_file file = json->file;
    inq_shard_release(json);
    *json = (struct inq_shard){.file = file};
    json->file.read = false;
    json->file.events_kept = 0;
    json->file.reason = inq_arena_printf(&json->arena, "the same profile as %s, which holds more",
                                         base_name(space->file.path));
    return json->file.reason != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
}

static int drop_json(struct inq_shard *shards, size_t n, const struct inq_shard *space,
                     struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        if (shards[i].file.read && !is_xspace(&shards[i]) && is_json_of(&shards[i], space)) {
            code = drop(&shards[i], space, err);
        }
    }
    return code;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "worker-2" before "worker-10". */
static int compare_names(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        if (is_digit(*a) && is_digit(*b)) {
            a += strspn(a, "0") < strspn(a, "0123456789") ? strspn(a, "0") : 0;
            b += strspn(b, "0") < strspn(b, "0123456789") ? strspn(b, "0") : 0;
            size_t n = strspn(a, "0123456789");
            size_t m = strspn(b, "0123456789");
            int order = n != m ? (n > m) - (n < m) : memcmp(a, b, n);
            if (order != 0) {
                return order;
            }
            a += n;
            b += m;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return (*a != '\0') - (*b != '\0');
}

static int by_name(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_shard *x = *(struct inq_shard *const *)a;
    const struct inq_shard *y = *(struct inq_shard *const *)b;
    int order = compare_names(base_name(x->file.path), base_name(y->file.path));
    return order != 0 ? order : strcmp(x->file.path, y->file.path);
}

static bool overlap(const struct inq_shard *a, const struct inq_shard *b)
{
    const struct inq_rank *x = &a->ranks[0];
    const struct inq_rank *y = &b->ranks[0];
    return !x->has_clock_epoch || !y->has_clock_epoch || x->first_ns == INQ_TIME_NONE ||
           y->first_ns == INQ_TIME_NONE || (x->first_ns <= y->last_ns && y->first_ns <= x->last_ns);
}

static bool share_device(const struct inq_shard *a, const struct inq_shard *b)
{
    for (size_t i = 0; i < a->n_ranks; i++) {
        for (size_t k = 0; k < b->n_ranks; k++) {
            if (a->ranks[i].rank == b->ranks[k].rank) {
                return true;
            }
        }
    }
    return false;
}

/* Devices are numbered on their host: those of the k-th host follow on those of the hosts before,
 * as JAX and TensorFlow number them. */
static int number(struct inq_shard *const *hosts, size_t n, struct inq_err *err)
{
    bool shared = false;
    int32_t per_host = 0;
    for (size_t i = 0; i < n; i++) {
        shared = shared || (i > 0 && share_device(hosts[0], hosts[i]));
        for (size_t r = 0; r < hosts[i]->n_ranks; r++) {
            int32_t own = hosts[i]->ranks[r].rank;
            per_host = own >= per_host && own < INT32_MAX ? own + 1 : per_host;
        }
    }
    int code = INQ_OK;
    for (size_t i = 1; i < n && shared && code == INQ_OK; i++) {
        for (size_t r = 0; r < hosts[i]->n_ranks; r++) {
            int64_t own = hosts[i]->ranks[r].rank + (int64_t)i * per_host;
            hosts[i]->ranks[r].rank = own <= INT32_MAX ? (int32_t)own : -1;
        }
        code = inq_xla_settle_groups(hosts[i], err);
    }
    return code;
}

/* In ".../plugins/profile/RUN/" the folder is the run's name. */
static int name_run(struct inq_shard *shard, struct inq_err *err)
{
    static const char above[] = "plugins/profile/";
    const char *path = shard->file.path;
    const char *name = base_name(path);
    const char *at = strstr(path, above);
    if (at == NULL || at + sizeof above - 1 >= name) {
        return INQ_OK;
    }
    at += sizeof above - 1;
    size_t len = (size_t)(name - at) - 1;
    int code = INQ_OK;
    for (size_t r = 0; r < shard->n_ranks && code == INQ_OK && len > 0; r++) {
        code = inq_strtab_add(&shard->names, at, len, &shard->ranks[r].job, err);
    }
    return code;
}

/* The hosts of the run that the i-th file is of, that file among them: hosts[*n]. */
static void list_hosts(struct inq_shard *shards, size_t n, size_t i, struct inq_shard **hosts,
                       size_t *found)
{
    *found = 0;
    for (size_t k = 0; k < n; k++) {
        if (is_xspace(&shards[k]) && in_one_folder(&shards[i], &shards[k]) &&
            overlap(&shards[i], &shards[k])) {
            hosts[(*found)++] = &shards[k];
        }
    }
}

int inq_xla_join_runs(struct inq_shard *shards, size_t n, struct inq_err *err)
{
    struct inq_shard **hosts = inq_mem_alloc((n + 1) * sizeof(struct inq_shard *));
    uint8_t *done = inq_mem_zalloc(n + 1, 1);
    int code =
        hosts != NULL && done != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        if (!is_xspace(&shards[i]) || done[i]) {
            continue;
        }
        size_t found;
        list_hosts(shards, n, i, hosts, &found);
        code = inq_sort(hosts, found, sizeof(struct inq_shard *), by_name, NULL, err);
        if (code == INQ_OK) {
            code = number(hosts, found, err);
        }
        for (size_t k = 0; k < found && code == INQ_OK; k++) {
            done[hosts[k] - shards] = 1;
            code = name_run(hosts[k], err);
            code = code == INQ_OK ? drop_json(shards, n, hosts[k], err) : code;
        }
    }
    inq_mem_free(hosts);
    inq_mem_free(done);
    return code;
}
