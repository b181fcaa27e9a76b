/* SPDX-License-Identifier: Apache-2.0 */
/* Nsight Systems exports: an SQLite database (schema 3.11 and later), read by the tables and
 * columns that are there. The only door to sqlite3.
 *
 * Every process that did GPU work becomes one rank (struct homes): kernels, copies, sets and
 * synchronizations on lanes by stream, driver calls with their correlation, NVTX ranges as notes.
 * Times are ns since the start of the session, whose wall-clock time is in the file. */
#include "ingest/ingest.h"

#include "base/mem.h"
#include "trace/build/build.h"
#include "trace/trace.h"

#include <sqlite3.h>
#include <string.h>

/* Bounds on what a hostile database can make us hold. */
#define MAX_NSYS_RANKS 4096
#define MAX_NSYS_NAME  16384
#define MAX_NSYS_IMAGE ((size_t)2 << 30) /* of a compressed database, in memory */
#define MAX_COLUMNS    16
#define MAX_QUERY      1024
#define ASK_EVERY      1024                /* rows */
#define CONTEXT_STREAM INT64_C(0xffffffff) /* "all streams" */

/* What a process did on a device. */
struct share {
    int64_t process, device; /* device: -1 unknown */
    double kernels_ns, others_ns;
};

/* Which rank the GPU work of a process belongs to: that of the GPU on which its kernels run
 * longest. What it does on other GPUs (the stray copy or context on GPU 0 that many jobs have)
 * belongs to that rank too; only a process that keeps several GPUs busy with kernels is as many
 * ranks. All-zero is empty and releasable. */
struct homes {
    struct share *shares;
    size_t n, cap;
    struct inq_map known;   /* hash of process and device -> its share */
    struct inq_map devices; /* hash of process and device -> device of the rank, + 1 */
};

/* Whose GPU work a rank of the shard holds. */
struct owner {
    int64_t process; /* globalPid */
    int64_t device;
};

struct nsys {
    struct inq_shard *shard;
    struct inq_source *source;
    bool full; /* no more may be kept */
    sqlite3 *db;
    sqlite3_stmt *string_by_id;
    struct inq_map strings; /* StringIds.id -> inq_str */
    int64_t base_ns;
    bool has_epoch;
    struct owner *owners; /* [n_ranks of the shard] */
    size_t cap_owners;
    struct homes homes;
    struct inq_map by_owner;   /* hash of an owner -> rank */
    struct inq_map by_launch;  /* hash of process and correlation -> rank */
    uint64_t row;              /* of the table being read, for damage */
    const char *damaged_table; /* the first one that could not be read to its end */
    inq_str host;
};

/* A row handler; columns are those of its table's list, NULL where the file lacks one. */
typedef int (*row_fn)(struct nsys *nsys, sqlite3_stmt *row, struct inq_err *err);

/* ---- database -------------------------------------------------------------------------------- */

static int fail(struct nsys *nsys, int sqlite_code, struct inq_err *err)
{
    if (sqlite_code == SQLITE_NOMEM) {
        return inq_err_set(err, INQ_NOMEM, "out of memory in sqlite");
    }
    const char *why = nsys->db != NULL ? sqlite3_errmsg(nsys->db) : sqlite3_errstr(sqlite_code);
    return inq_err_set(err, INQ_UNSUPPORTED, "damaged SQLite database: %s", why);
}

/* Makes a list "a, b, NULL" of the columns that the table has. False: no such table. */
static bool list_columns(struct nsys *nsys, const char *table, const char *const *columns, size_t n,
                         char *list, size_t size)
{
    bool there[MAX_COLUMNS] = {false};
    bool any = false;
    sqlite3_stmt *info = NULL;
    const char *sql = "SELECT p.name FROM sqlite_master m JOIN pragma_table_info(m.name) p "
                      "WHERE m.type = 'table' AND m.sql LIKE 'CREATE TABLE%' AND m.name = ?1";
    if (sqlite3_prepare_v2(nsys->db, sql, -1, &info, NULL) != SQLITE_OK ||
        sqlite3_bind_text(info, 1, table, -1, SQLITE_STATIC) != SQLITE_OK) {
        (void)sqlite3_finalize(info);
        return false;
    }
    while (sqlite3_step(info) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(info, 0);
        for (size_t i = 0; i < n && name != NULL; i++) {
            there[i] = there[i] || sqlite3_stricmp(name, columns[i]) == 0;
        }
        any = true;
    }
    (void)sqlite3_finalize(info);
    list[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(list);
        sqlite3_snprintf((int)(size - len), list + len, "%s%w", i > 0 ? ", " : "",
                         there[i] ? columns[i] : "NULL");
    }
    return any;
}

/* Calls `handle` for every row of a table, if the file has it. A damaged table gives what can be
 * read of it. */
static int each_row(struct nsys *nsys, const char *table, const char *const *columns, size_t n,
                    row_fn handle, struct inq_err *err)
{
    char list[MAX_QUERY / 2];
    char sql[MAX_QUERY];
    sqlite3_stmt *row = NULL;
    if (nsys->full || !list_columns(nsys, table, columns, n, list, sizeof list)) {
        return INQ_OK;
    }
    sqlite3_snprintf(sizeof sql, sql, "SELECT %s FROM \"%w\"", list, table);
    int step = sqlite3_prepare_v2(nsys->db, sql, -1, &row, NULL);
    int code = INQ_OK;
    nsys->row = 0;
    while (step == SQLITE_OK || step == SQLITE_ROW) {
        step = sqlite3_step(row);
        if (step != SQLITE_ROW) {
            break;
        }
        code = handle(nsys, row, err);
        if (code == INQ_OK && ++nsys->row % ASK_EVERY == 0) {
            code = inq_source_ask(nsys->source, -1, &nsys->full, err);
        }
        if (code != INQ_OK || nsys->full) {
            break;
        }
    }
    (void)sqlite3_finalize(row);
    if (code == INQ_OK && step == SQLITE_NOMEM) {
        return fail(nsys, step, err);
    }
    if (code == INQ_OK && step != SQLITE_DONE && !nsys->full) {
        inq_damage_add(&nsys->shard->file.damage, INQ_DAMAGE_TRUNCATED, 1, (int64_t)nsys->row);
        nsys->damaged_table = nsys->damaged_table != NULL ? nsys->damaged_table : table;
    }
    return code;
}

#define EACH_ROW(nsys, table, columns, handle, err)                                                \
    each_row(nsys, table, columns, sizeof(columns) / sizeof *(columns), handle, err)

static bool is_null(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL;
}

static int add_text(struct nsys *nsys, sqlite3_stmt *row, int column, inq_str *name,
                    struct inq_err *err)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    size_t len = text != NULL ? strlen(text) : 0; /* up to a NUL byte, should there be one */
    if (len > MAX_NSYS_NAME) {
        inq_damage_add(&nsys->shard->file.damage, INQ_DAMAGE_LONG_STRING, 1, (int64_t)nsys->row);
        len = MAX_NSYS_NAME;
    }
    return inq_strtab_add(&nsys->shard->names, text != NULL ? text : "", len, name, err);
}

/* The text of StringIds.id = `id`; "" when there is none. */
static int string_of(struct nsys *nsys, int64_t id, inq_str *name, struct inq_err *err)
{
    *name = 0;
    if (inq_map_get(&nsys->strings, (uint64_t)id, name) || nsys->string_by_id == NULL) {
        return INQ_OK;
    }
    int code = INQ_OK;
    if (sqlite3_bind_int64(nsys->string_by_id, 1, id) == SQLITE_OK &&
        sqlite3_step(nsys->string_by_id) == SQLITE_ROW) {
        code = add_text(nsys, nsys->string_by_id, 0, name, err);
    }
    (void)sqlite3_reset(nsys->string_by_id);
    return code == INQ_OK ? inq_map_put(&nsys->strings, (uint64_t)id, *name, err) : code;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static int64_t process_of(int64_t global_tid)
{
    return global_tid & ~INT64_C(0xffffff);
}

static uint64_t pair_key(int64_t a, int64_t b)
{
    int64_t pair[2] = {a, b};
    return inq_hash_bytes(pair, sizeof pair);
}

static int find_rank(struct nsys *nsys, struct owner owner, uint32_t *index, struct inq_err *err)
{
    uint64_t key = pair_key(owner.process, owner.device);
    struct inq_shard *shard = nsys->shard;
    if (inq_map_get(&nsys->by_owner, key, index)) {
        return INQ_OK;
    }
    int code = inq_mem_grow(&nsys->owners, &nsys->cap_owners, shard->n_ranks + 1,
                            sizeof *nsys->owners, MAX_NSYS_RANKS, err);
    if (code == INQ_OK) {
        code = inq_shard_add_rank(shard, index, err);
    }
    if (code == INQ_OK) {
        code = inq_map_put(&nsys->by_owner, key, *index, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    nsys->owners[*index] = owner;
    struct inq_rank *rank = &shard->ranks[*index];
    rank->pid = owner.process >> 24 & 0xffffff;
    rank->base_ns = nsys->base_ns;
    rank->has_clock_epoch = nsys->has_epoch;
    rank->host = nsys->host;
    return INQ_OK;
}

/* Start and duration of the current row (columns 0 and 1), wall clock. False: dropped, counted. */
static bool read_times(struct nsys *nsys, sqlite3_stmt *row, int64_t *start_ns, int64_t *dur_ns)
{
    struct inq_damage *damage = &nsys->shard->file.damage;
    int64_t start = sqlite3_column_int64(row, 0);
    int64_t end = is_null(row, 1) ? start : sqlite3_column_int64(row, 1);
    nsys->shard->file.events++;
    if (is_null(row, 0) || start < -(INT64_MAX / 4) || start > INT64_MAX / 4 ||
        end < -(INT64_MAX / 4) || end > INT64_MAX / 4) {
        inq_damage_add(damage, INQ_DAMAGE_BAD_NUMBER, 1, (int64_t)nsys->row);
        return false;
    }
    if (end < start) {
        inq_damage_add(damage, INQ_DAMAGE_NEGATIVE_DURATION, 1, (int64_t)nsys->row);
        end = start;
    }
    *start_ns = start + nsys->base_ns;
    *dur_ns = end - start;
    return true;
}

/* ---- homes ----------------------------------------------------------------------------------- */

/* A process drives each GPU on which its kernels run at least this part as long as on its busiest:
 * replicas and stages in one process differ by less, strays by far more. */
static const double busy_part = 0.25;

static uint64_t key_of(int64_t process, int64_t device)
{
    int64_t pair[2] = {process, device};
    return inq_hash_bytes(pair, sizeof pair);
}

/* Adds to the share of a process on a device. */
static int add_share(struct homes *homes, const struct share *share, struct inq_err *err)
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
static bool works_more(const struct share *a, const struct share *b)
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
static int find_busiest(const struct homes *homes, struct inq_map *busiest, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < homes->n; i++) {
        const struct share *own = &homes->shares[i];
        uint32_t best = 0;
        bool known = inq_map_get(busiest, (uint64_t)own->process, &best);
        if (!known || works_more(own, &homes->shares[best])) {
            code = inq_map_put(busiest, (uint64_t)own->process, (uint32_t)i, err);
        }
    }
    return code;
}

static int settle_homes(struct homes *homes, struct inq_err *err)
{
    struct inq_map busiest = {0};
    int code = find_busiest(homes, &busiest, err);
    for (size_t i = 0; code == INQ_OK && i < homes->n; i++) {
        const struct share *own = &homes->shares[i];
        uint32_t at = (uint32_t)i;
        (void)inq_map_get(&busiest, (uint64_t)own->process, &at);
        const struct share *best = &homes->shares[at];
        bool drives = own->kernels_ns > 0.0 && own->kernels_ns >= busy_part * best->kernels_ns;
        int64_t device = drives ? own->device : best->device;
        code = inq_map_put(&homes->devices, key_of(own->process, own->device),
                           (uint32_t)(device + 1), err);
    }
    inq_map_release(&busiest);
    return code;
}

/* Device of the rank that the work belongs to. */
static int64_t home_of(const struct homes *homes, int64_t process, int64_t device)
{
    uint32_t home = 0;
    bool known = inq_map_get(&homes->devices, key_of(process, device), &home);
    return known ? (int64_t)home - 1 : device;
}

static void release_homes(struct homes *homes)
{
    inq_mem_free(homes->shares);
    inq_map_release(&homes->known);
    inq_map_release(&homes->devices);
    *homes = (struct homes){0};
}

/* ---- GPU work -------------------------------------------------------------------------------- */

/* The first columns of every table of GPU work. */
#define GPU_COLUMNS "start", "end", "deviceId", "streamId", "correlationId", "globalPid"
enum { AT_DEVICE = 2, AT_STREAM, AT_CORRELATION, AT_PROCESS, AT_DETAIL };

/* A device's number; -1 for what cannot be one. */
static int64_t known_device(int64_t device)
{
    return device < -1 || device > INT32_MAX ? -1 : device;
}

/* What every process did on every device in one table of GPU work, if the file has it; a damaged
 * table gives what can be read of it. */
static int add_shares(struct nsys *nsys, const char *table, bool kernels, struct inq_err *err)
{
    enum { PROCESS, DEVICE, TIME };
    static const char *const columns[] = {"globalPid", "deviceId", "start", "end"};
    char list[MAX_QUERY / 2];
    char sql[MAX_QUERY];
    sqlite3_stmt *row = NULL;
    if (!list_columns(nsys, table, columns, 4, list, sizeof list) || strstr(list, "NULL") != NULL) {
        return INQ_OK; /* without any of them there is nothing to tell devices apart by */
    }
    sqlite3_snprintf(sizeof sql, sql,
                     "SELECT globalPid, deviceId, total(end - start) FROM \"%w\" GROUP BY 1, 2",
                     table);
    int code = INQ_OK;
    if (sqlite3_prepare_v2(nsys->db, sql, -1, &row, NULL) == SQLITE_OK) {
        while (code == INQ_OK && sqlite3_step(row) == SQLITE_ROW) {
            double ns = sqlite3_column_double(row, TIME);
            struct share share = {.process = sqlite3_column_int64(row, PROCESS),
                                  .device = is_null(row, DEVICE)
                                                ? -1
                                                : known_device(sqlite3_column_int64(row, DEVICE)),
                                  .kernels_ns = kernels ? ns : 0.0,
                                  .others_ns = kernels ? 0.0 : ns};
            code = add_share(&nsys->homes, &share, err);
        }
    }
    (void)sqlite3_finalize(row);
    return code;
}

static int find_homes(struct nsys *nsys, struct inq_err *err)
{
    static const struct {
        const char *table;
        bool kernels;
    } tables[] = {{"CUPTI_ACTIVITY_KIND_KERNEL", true},
                  {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", true},
                  {"CUPTI_ACTIVITY_KIND_MEMCPY", false},
                  {"CUPTI_ACTIVITY_KIND_MEMSET", false},
                  {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", false}};
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < sizeof tables / sizeof tables[0]; i++) {
        code = add_shares(nsys, tables[i].table, tables[i].kernels, err);
    }
    return code == INQ_OK ? settle_homes(&nsys->homes, err) : code;
}

static int add_gpu(struct nsys *nsys, sqlite3_stmt *row, struct inq_event_row *event,
                   struct inq_err *err)
{
    if (!read_times(nsys, row, &event->start_ns, &event->dur_ns)) {
        return INQ_OK;
    }
    struct owner owner = {
        .process = is_null(row, AT_PROCESS) ? 0 : sqlite3_column_int64(row, AT_PROCESS),
        .device = is_null(row, AT_DEVICE) ? -1 : sqlite3_column_int64(row, AT_DEVICE),
    };
    int64_t device = known_device(owner.device);
    owner.device = home_of(&nsys->homes, owner.process, device);
    int64_t stream = is_null(row, AT_STREAM) ? -1 : sqlite3_column_int64(row, AT_STREAM);
    uint32_t index = 0;
    int code = find_rank(nsys, owner, &index, err);
    if (code != INQ_OK) {
        return code;
    }
    event->call = event->comm = event->label = INQ_NONE;
    if (!is_null(row, AT_CORRELATION)) {
        int64_t correlation = sqlite3_column_int64(row, AT_CORRELATION);
        event->call = (uint32_t)correlation;
        code = inq_map_put(&nsys->by_launch, pair_key(owner.process, correlation), index, err);
    }
    struct inq_rank *rank = &nsys->shard->ranks[index];
    if (code == INQ_OK) {
        code = inq_rank_lane(rank, INQ_LANE_STREAM, (int32_t)device,
                             stream == CONTEXT_STREAM ? -1 : stream, &event->lane, err);
    }
    return code == INQ_OK ? inq_rank_add_event(rank, event, err) : code;
}

static int add_named(struct nsys *nsys, sqlite3_stmt *row, struct inq_event_row *event,
                     const char *name, struct inq_err *err)
{
    int code = inq_strtab_add(&nsys->shard->names, name, strlen(name), &event->name, err);
    return code == INQ_OK ? add_gpu(nsys, row, event, err) : code;
}

static int kernel_row(struct nsys *nsys, sqlite3_stmt *row, struct inq_err *err)
{
    struct inq_event_row event = {.kind = INQ_EVENT_KERNEL};
    /* demangled name, else the short one */
    int column = is_null(row, AT_DETAIL) ? AT_DETAIL + 1 : AT_DETAIL;
    int code = INQ_OK;
    if (!is_null(row, column)) {
        code = string_of(nsys, sqlite3_column_int64(row, column), &event.name, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    const char *name = inq_strtab_get(&nsys->shard->names, event.name);
    event.cls = inq_classify_kernel(name, strlen(name));
    return add_gpu(nsys, row, &event, err);
}

static int memcpy_row(struct nsys *nsys, sqlite3_stmt *row, struct inq_err *err)
{
    /* by CUPTI's numbers */
    static const char *const kinds[] = {
        "Memcpy",      "Memcpy HtoD", "Memcpy DtoH", "Memcpy HtoA", "Memcpy AtoH",
        "Memcpy AtoA", "Memcpy AtoD", "Memcpy DtoA", "Memcpy DtoD", "Memcpy HtoH",
        "Memcpy PtoP", "Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD",
    };
    struct inq_event_row event = {.kind = INQ_EVENT_MEMCPY, .cls = INQ_CLASS_COPY};
    int64_t kind = sqlite3_column_int64(row, AT_DETAIL);
    bool known = kind >= 0 && (size_t)kind < sizeof kinds / sizeof kinds[0];
    return add_named(nsys, row, &event, kinds[known ? kind : 0], err);
}

static int memset_row(struct nsys *nsys, sqlite3_stmt *row, struct inq_err *err)
{
    struct inq_event_row event = {.kind = INQ_EVENT_MEMSET, .cls = INQ_CLASS_COPY};
    return add_named(nsys, row, &event, "Memset", err);
}

static int sync_row(struct nsys *nsys, sqlite3_stmt *row, struct inq_err *err)
{
    static const char *const types[] = {"Synchronize", "Event Sync", "Stream Wait Event",
                                        "Stream Sync", "Context Sync"};
    struct inq_event_row event = {.kind = INQ_EVENT_SYNC, .cls = INQ_CLASS_OTHER};
    int64_t type = sqlite3_column_int64(row, AT_DETAIL);
    bool known = type >= 0 && (size_t)type < sizeof types / sizeof types[0];
    return add_named(nsys, row, &event, types[known ? type : 0], err);
}

/* A CUDA graph that was traced as a whole. */
static int graph_row(struct nsys *nsys, sqlite3_stmt *row, struct inq_err *err)
{
    struct inq_event_row event = {.kind = INQ_EVENT_KERNEL, .cls = INQ_CLASS_COMPUTE};
    return add_named(nsys, row, &event, "CUDA graph", err);
}

/* ---- host ------------------------------------------------------------------------------------ */

/* "cudaLaunchKernel_v7000" is cudaLaunchKernel. */
static size_t without_version(const char *name, size_t len)
{
    size_t i = len;
    while (i > 0 && name[i - 1] >= '0' && name[i - 1] <= '9') {
        i--;
    }
    bool version = len - i >= 4 && i > 2 && name[i - 1] == 'v' && name[i - 2] == '_';
    return version ? i - 2 : len;
}

/* The first rank of a process, for what does not belong to one of its devices. */
static bool rank_of_process(const struct nsys *nsys, int64_t process, uint32_t *index)
{
    for (uint32_t i = 0; i < nsys->shard->n_ranks; i++) {
        if (nsys->owners[i].process == process || nsys->owners[i].process == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

static int runtime_row(struct nsys *nsys, sqlite3_stmt *row, struct inq_err *err)
{
    enum { AT_THREAD = 2, AT_CALL_CORRELATION, AT_NAME };
    int64_t start_ns = 0;
    int64_t dur_ns = 0;
    if (!read_times(nsys, row, &start_ns, &dur_ns)) {
        return INQ_OK;
    }
    int64_t thread = sqlite3_column_int64(row, AT_THREAD);
    int64_t process = process_of(thread);
    int64_t correlation = sqlite3_column_int64(row, AT_CALL_CORRELATION);
    uint32_t index = 0;
    if (!inq_map_get(&nsys->by_launch, pair_key(process, correlation), &index) &&
        !inq_map_get(&nsys->by_launch, pair_key(0, correlation), &index) &&
        !rank_of_process(nsys, process, &index)) {
        return INQ_OK; /* a process without GPU work */
    }
    inq_str name = 0;
    uint32_t lane = 0;
    int code = string_of(nsys, sqlite3_column_int64(row, AT_NAME), &name, err);
    if (code != INQ_OK) {
        return code;
    }
    const char *text = inq_strtab_get(&nsys->shard->names, name);
    size_t len = strlen(text);
    if (without_version(text, len) < len) {
        char plain[256];
        sqlite3_snprintf((int)sizeof plain, plain, "%.*s", (int)without_version(text, len), text);
        code = inq_strtab_add(&nsys->shard->names, plain, strlen(plain), &name, err);
    }
    struct inq_rank *rank = &nsys->shard->ranks[index];
    if (code == INQ_OK) {
        code = inq_rank_lane(rank, INQ_LANE_THREAD, -1, thread & 0xffffff, &lane, err);
    }
    return code == INQ_OK ? inq_rank_add_call(rank, start_ns, dur_ns, name, lane, correlation, err)
                          : code;
}

static int add_note(struct nsys *nsys, uint32_t index, int64_t thread, struct inq_note note,
                    struct inq_err *err)
{
    struct inq_rank *rank = &nsys->shard->ranks[index];
    int code = inq_rank_lane(rank, INQ_LANE_THREAD, -1, thread & 0xffffff, &note.lane, err);
    return code == INQ_OK ? inq_rank_add_note(rank, &note, err) : code;
}

/* Ranges only: they have an end. Every rank of the process gets them. */
static int nvtx_row(struct nsys *nsys, sqlite3_stmt *row, struct inq_err *err)
{
    enum { AT_THREAD = 2, AT_TEXT, AT_TEXT_ID, AT_EVENT_TYPE };
    enum { PUSH_POP = 59, START_END = 60 };
    struct inq_note note = {0};
    int64_t type = sqlite3_column_int64(row, AT_EVENT_TYPE);
    if (is_null(row, 1)) {
        nsys->shard->file.events++;
        if (type == PUSH_POP || type == START_END) {
            inq_damage_add(&nsys->shard->file.damage, INQ_DAMAGE_UNMATCHED_BEGIN, 1,
                           (int64_t)nsys->row);
        }
        return INQ_OK;
    }
    if (!read_times(nsys, row, &note.start_ns, &note.dur_ns)) {
        return INQ_OK;
    }
    int code = is_null(row, AT_TEXT)
                   ? string_of(nsys, sqlite3_column_int64(row, AT_TEXT_ID), &note.name, err)
                   : add_text(nsys, row, AT_TEXT, &note.name, err);
    const char *text = inq_strtab_get(&nsys->shard->names, note.name);
    note.kind = (uint8_t)inq_classify_note(text, strlen(text), &note.number);
    int64_t thread = sqlite3_column_int64(row, AT_THREAD);
    for (uint32_t i = 0; i < nsys->shard->n_ranks && code == INQ_OK; i++) {
        if (nsys->owners[i].process == process_of(thread) || nsys->owners[i].process == 0) {
            code = add_note(nsys, i, thread, note, err);
        }
    }
    return code;
}

static int thread_name_row(struct nsys *nsys, sqlite3_stmt *row, struct inq_err *err)
{
    int64_t thread = sqlite3_column_int64(row, 0);
    inq_str name = 0;
    int code = string_of(nsys, sqlite3_column_int64(row, 1), &name, err);
    for (size_t i = 0; i < nsys->shard->n_ranks && code == INQ_OK; i++) {
        struct inq_rank *rank = &nsys->shard->ranks[i];
        for (size_t k = 0; k < rank->n_lanes && nsys->owners[i].process == process_of(thread);
             k++) {
            struct inq_lane *lane = &rank->lanes[k];
            if (lane->kind == INQ_LANE_THREAD && lane->id == (thread & 0xffffff)) {
                lane->name = name;
            }
        }
    }
    return code;
}

static int gpu_name_row(struct nsys *nsys, sqlite3_stmt *row, struct inq_err *err)
{
    int64_t device = sqlite3_column_int64(row, 0);
    inq_str name = 0;
    int code = add_text(nsys, row, 1, &name, err);
    for (size_t i = 0; i < nsys->shard->n_ranks && code == INQ_OK; i++) {
        if (nsys->owners[i].device == device) {
            nsys->shard->ranks[i].device_name = name;
        }
    }
    return code;
}

static int system_row(struct nsys *nsys, sqlite3_stmt *row, struct inq_err *err)
{
    const char *name = (const char *)sqlite3_column_text(row, 0);
    bool is_host = name != NULL && strcmp(name, "Hostname") == 0;
    return is_host ? add_text(nsys, row, 1, &nsys->host, err) : INQ_OK;
}

static int session_row(struct nsys *nsys, sqlite3_stmt *row, struct inq_err *err)
{
    (void)err;
    int64_t epoch = sqlite3_column_int64(row, 0);
    if (epoch > 0 && epoch < INT64_MAX / 4) {
        nsys->base_ns = epoch;
        nsys->has_epoch = true;
    }
    return INQ_OK;
}

/* ---- the whole file -------------------------------------------------------------------------- */

static int read_gpu_tables(struct nsys *nsys, struct inq_err *err)
{
    static const char *const kernel[] = {GPU_COLUMNS, "demangledName", "shortName"};
    static const char *const copy[] = {GPU_COLUMNS, "copyKind"};
    static const char *const set[] = {GPU_COLUMNS};
    static const char *const sync[] = {GPU_COLUMNS, "syncType"};
    int code = find_homes(nsys, err);
    if (code == INQ_OK) {
        code = EACH_ROW(nsys, "CUPTI_ACTIVITY_KIND_KERNEL", kernel, kernel_row, err);
    }
    if (code == INQ_OK) {
        code = EACH_ROW(nsys, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", set, graph_row, err);
    }
    if (code == INQ_OK) {
        code = EACH_ROW(nsys, "CUPTI_ACTIVITY_KIND_MEMCPY", copy, memcpy_row, err);
    }
    if (code == INQ_OK) {
        code = EACH_ROW(nsys, "CUPTI_ACTIVITY_KIND_MEMSET", set, memset_row, err);
    }
    if (code == INQ_OK) {
        code = EACH_ROW(nsys, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", sync, sync_row, err);
    }
    return code;
}

static int read_host_tables(struct nsys *nsys, struct inq_err *err)
{
    static const char *const runtime[] = {"start", "end", "globalTid", "correlationId", "nameId"};
    static const char *const nvtx[] = {"start", "end", "globalTid", "text", "textId", "eventType"};
    static const char *const threads[] = {"globalTid", "nameId"};
    static const char *const gpus[] = {"id", "name"};
    int code = EACH_ROW(nsys, "CUPTI_ACTIVITY_KIND_RUNTIME", runtime, runtime_row, err);
    if (code == INQ_OK) {
        code = EACH_ROW(nsys, "NVTX_EVENTS", nvtx, nvtx_row, err);
    }
    if (code == INQ_OK) {
        code = EACH_ROW(nsys, "ThreadNames", threads, thread_name_row, err);
    }
    if (code == INQ_OK) {
        code = EACH_ROW(nsys, "TARGET_INFO_GPU", gpus, gpu_name_row, err);
    }
    return code;
}

/* With several ranks in one file no name can tell them apart; their devices may. */
static int number_ranks(struct nsys *nsys, struct inq_err *err)
{
    struct inq_shard *shard = nsys->shard;
    bool distinct = shard->n_ranks > 1;
    for (size_t i = 0; i < shard->n_ranks; i++) {
        for (size_t k = 0; k < i; k++) {
            distinct = distinct && nsys->owners[i].device != nsys->owners[k].device;
        }
        distinct = distinct && nsys->owners[i].device >= 0;
    }
    for (size_t i = 0; i < shard->n_ranks && distinct; i++) {
        shard->ranks[i].rank = (int32_t)nsys->owners[i].device;
    }
    char damaged[96] = "";
    const char *numbered = distinct ? "no ranks in the file: numbered by device" : "";
    if (nsys->damaged_table != NULL) {
        sqlite3_snprintf((int)sizeof damaged, damaged, "%stable %s is damaged",
                         distinct ? "; " : "", nsys->damaged_table);
    }
    shard->file.reason = inq_arena_asprintf(&shard->arena, "%s%s", numbered, damaged);
    return shard->file.reason != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
}

static bool has_table(struct nsys *nsys, const char *table)
{
    char list[MAX_QUERY];
    static const char *const none[] = {"start"};
    return list_columns(nsys, table, none, 1, list, sizeof list);
}

/* What rocprofv3 writes by default: tables named after the recording, and views of them. */
static bool is_rocpd(struct nsys *nsys)
{
    sqlite3_stmt *find = NULL;
    const char *sql = "SELECT 1 FROM sqlite_master WHERE name GLOB 'rocpd_kernel_dispatch*'";
    bool is = sqlite3_prepare_v2(nsys->db, sql, -1, &find, NULL) == SQLITE_OK &&
              sqlite3_step(find) == SQLITE_ROW;
    (void)sqlite3_finalize(find);
    return is;
}

static int read_database(struct nsys *nsys, struct inq_err *err)
{
    static const char *const session[] = {"utcEpochNs"};
    static const char *const system[] = {"name", "value"};
    int code = sqlite3_exec(nsys->db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
    if (code != SQLITE_OK) {
        return fail(nsys, code, err);
    }
    if (!has_table(nsys, "StringIds")) {
        return inq_err_set(err, INQ_UNSUPPORTED, "%s",
                           is_rocpd(nsys) ? "rocprofv3's rocpd database, which is not read: record "
                                            "with --output-format json"
                                          : "an SQLite database, but no export of Nsight Systems");
    }
    (void)sqlite3_prepare_v2(nsys->db, "SELECT value FROM StringIds WHERE id = ?1", -1,
                             &nsys->string_by_id, NULL);
    code = EACH_ROW(nsys, "TARGET_INFO_SESSION_START_TIME", session, session_row, err);
    if (code == INQ_OK) {
        code = EACH_ROW(nsys, "TARGET_INFO_SYSTEM_ENV", system, system_row, err);
    }
    if (code == INQ_OK) {
        code = read_gpu_tables(nsys, err);
    }
    if (code == INQ_OK && nsys->shard->n_ranks == 0 && nsys->damaged_table == NULL) {
        return inq_err_set(err, INQ_UNSUPPORTED,
                           "an Nsight Systems export without GPU work: no CUPTI activity tables");
    }
    if (code == INQ_OK) {
        code = read_host_tables(nsys, err);
    }
    return code == INQ_OK ? number_ranks(nsys, err) : code;
}

/* A compressed database has to be unpacked into memory; *image is sqlite's to free. */
static int load_image(struct inq_source *source, unsigned char **image, size_t *n,
                      struct inq_err *err)
{
    size_t cap = 0;
    for (;;) {
        const char *chunk = NULL;
        size_t got = 0;
        int code = inq_source_next(source, &chunk, &got, err);
        if (code != INQ_OK || got == 0) {
            return code;
        }
        if (*n + got > cap) {
            cap = cap == 0 ? (size_t)4 << 20 : 2 * cap;
            cap = cap < *n + got ? *n + got : cap;
            if (cap > MAX_NSYS_IMAGE) {
                return inq_err_set(err, INQ_UNSUPPORTED,
                                   "compressed database too large: decompress it first");
            }
            unsigned char *grown = sqlite3_realloc64(*image, cap);
            if (grown == NULL) {
                return inq_err_set(err, INQ_NOMEM, "out of memory");
            }
            *image = grown;
        }
        memcpy(*image + *n, chunk, got);
        *n += got;
    }
}

static int open_image(struct nsys *nsys, struct inq_source *source, struct inq_err *err)
{
    unsigned char *image = NULL;
    size_t n = 0;
    int code = load_image(source, &image, &n, err);
    if (code != INQ_OK) {
        sqlite3_free(image);
        return code;
    }
    int opened = sqlite3_open_v2(":memory:", &nsys->db, SQLITE_OPEN_READWRITE, NULL);
    if (opened != SQLITE_OK) {
        sqlite3_free(image);
        return fail(nsys, opened, err);
    }
    /* bytes 18 and 19: a write-ahead log, which an image in memory cannot have */
    if (n > 19) {
        image[18] = image[19] = 1;
    }
    opened = sqlite3_deserialize(nsys->db, "main", image, (sqlite3_int64)n, (sqlite3_int64)n,
                                 SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
    return opened == SQLITE_OK ? INQ_OK : fail(nsys, opened, err);
}

/* Immutable: nothing is written beside the file, and no log is looked for. */
static int open_file(struct nsys *nsys, const char *path, struct inq_err *err)
{
    struct inq_arena scratch = {0};
    size_t len = strlen(path);
    char *uri = inq_arena_alloc(&scratch, 3 * len + 32);
    if (uri == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    char *out = stpcpy(uri, "file:");
    for (const char *p = path; *p != '\0'; p++) {
        if (strchr("?#%", *p) != NULL) {
            sqlite3_snprintf(4, out, "%%%02X", (unsigned)(unsigned char)*p);
            out += 3;
        } else {
            *out++ = *p;
        }
    }
    (void)stpcpy(out, "?mode=ro&immutable=1");
    int opened = sqlite3_open_v2(uri, &nsys->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    inq_arena_release(&scratch);
    return opened == SQLITE_OK ? INQ_OK : fail(nsys, opened, err);
}

/* A database is a program of sorts: no views, triggers or functions of its own. */
static void distrust(sqlite3 *db)
{
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 16 << 20);
    (void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_exec(db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
}

static int read_nsys(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    struct nsys nsys = {.shard = shard, .source = source};
    const char *path = inq_source_path(source);
    uint64_t size_bytes = 0;
    bool in_memory = !inq_source_is_file(source, &size_bytes);
    int code = in_memory ? open_image(&nsys, source, err) : open_file(&nsys, path, err);
    if (code == INQ_OK) {
        distrust(nsys.db);
        shard->file.format = inq_reader_nsys.name;
        shard->file.bytes_raw = in_memory ? inq_source_delivered(source) : size_bytes;
        code = read_database(&nsys, err);
    }
    (void)sqlite3_finalize(nsys.string_by_id);
    (void)sqlite3_close(nsys.db);
    inq_mem_free(nsys.owners);
    inq_map_release(&nsys.strings);
    release_homes(&nsys.homes);
    inq_map_release(&nsys.by_owner);
    inq_map_release(&nsys.by_launch);
    return code;
}

static int sniff_nsys(const char *head, size_t n, const char *path)
{
    (void)path;
    static const char magic[] = "SQLite format 3"; /* and its NUL */
    return n >= sizeof magic && memcmp(head, magic, sizeof magic) == 0 ? 100 : 0;
}

const struct inq_reader inq_reader_nsys = {
    .name = "nsys",
    .summary = "Nsight Systems export (SQLite): kernels, copies, calls, NVTX ranges",
    .sniff = sniff_nsys,
    .read = read_nsys,
};
