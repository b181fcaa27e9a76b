/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that only the names of processes and threads tell from programs: rocprof's, Ascend's
 * collectives. Names may come behind the events, so these are slices up to the end of the file. */
#include "ingest/kineto/kineto.h"

#include "base/mem.h"

#include <string.h>
#include <strings.h>

/* ---- processes ------------------------------------------------------------------------------- */

static uint64_t process_key(int64_t pid, bool is_text)
{
    return inq_hash_u64((uint64_t)pid * 2 + is_text);
}

/* The kind of device in "GPU0", "NPU 3", "1 GPU0 (gfx90a)", where it has its number, or NULL: "GPU
 * Process" is a program. */
static const char *kind_in(struct inq_text name)
{
    static const char *const kinds[] = {"GPU", "NPU", "XPU", "HPU", "DCU", "GCU", "MLU", "MUSA"};
    const char *p = name.p;
    const char *end = name.p + name.n;
    while (p < end && (*p == ' ' || (*p >= '0' && *p <= '9'))) {
        p++;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = strlen(kinds[i]);
        if ((size_t)(end - p) > n && strncasecmp(p, kinds[i], n) == 0) {
            p += n;
            p += p + 1 < end && (*p == ' ' || *p == ':' || *p == '#');
            return *p >= '0' && *p <= '9' ? kinds[i] : NULL;
        }
    }
    return NULL;
}

static int note_process(struct inq_kineto *k, const struct inq_scan_event *event)
{
    struct inq_text name = event->text[INQ_FIELD_ARG_NAME];
    bool collectives = inq_text_is(name, "Communication") || inq_text_is(name, "HCCL");
    const char *kind = inq_text_is(name, "Ascend Hardware") ? INQ_KINETO_ASCEND : kind_in(name);
    static const char xla[] = "/device:";
    bool device = kind != NULL;
    k->xla |= name.n > sizeof xla - 1 && memcmp(name.p, xla, sizeof xla - 1) == 0;
    if (!collectives && !device) {
        return INQ_OK;
    }
    k->kind_of_device = device ? kind : k->kind_of_device;
    uint32_t thread = 0;
    int code = inq_kineto_thread(k, event, &thread);
    if (code != INQ_OK) {
        return code;
    }
    const struct inq_thread *t = &k->threads[thread];
    return inq_map_put(&k->processes, process_key(t->pid, t->pid_text),
                       device ? INQ_PROCESS_DEVICE : INQ_PROCESS_COLLECTIVES, k->err);
}

static enum inq_process process_of(const struct inq_kineto *k, const struct inq_thread *thread)
{
    uint32_t process = INQ_PROCESS_HOST;
    (void)inq_map_get(&k->processes, process_key(thread->pid, thread->pid_text), &process);
    return (enum inq_process)process;
}

/* ---- collectives of HCCL --------------------------------------------------------------------- */

static const char hcom[] = "hcom_";

static int note_slice(struct inq_kineto *k, const struct inq_scan_event *event, int64_t offset)
{
    struct inq_text name = event->text[INQ_FIELD_NAME];
    bool named = INQ_HAS(event, NAME) && name.n > sizeof hcom - 1 &&
                 strncasecmp(name.p, hcom, sizeof hcom - 1) == 0;
    if (k->exported || (!named && !INQ_HAS(event, ALGORITHM))) {
        return INQ_OK;
    }
    struct inq_hccl_note note = {.row = k->rank->events.n, .count = -1};
    if (INQ_HAS(event, IN_ELEMS)) {
        note.count = event->number[INQ_FIELD_IN_ELEMS];
    }
    int code = INQ_HAS(event, DTYPE)
                   ? inq_kineto_name(k, event->text[INQ_FIELD_DTYPE], offset, &note.dtype)
                   : INQ_OK;
    if (code == INQ_OK) {
        code = inq_mem_grow(&k->hccl, &k->cap_hccl, k->n_hccl + 1, sizeof *k->hccl, INQ_MAX_ROWS,
                            k->err);
    }
    if (code == INQ_OK) {
        k->hccl[k->n_hccl++] = note;
    }
    return code;
}

int inq_kineto_note_device(struct inq_kineto *k, const struct inq_scan_event *event, int64_t offset)
{
    return event->ph == 'M' ? note_process(k, event) : note_slice(k, event, offset);
}

/* The note of the group in the name of a thread ("Group 10.0.0.1%eth0_60000_0_17 Communication"),
 * else by the hash in the operation's name: a bare number in the thread's counts the groups of one
 * process. */
static int group_of(struct inq_kineto *k, const struct inq_thread *thread,
                    const struct inq_hccl_name *parsed, uint32_t *index)
{
    const char *name = inq_strtab_get(&k->shard->names, thread->name);
    const char *from = strchr(name, ' ');
    from = from != NULL ? from + 1 : name;
    size_t n = strcspn(from, " ");
    if (strspn(from, "0123456789") == n && parsed->group_n > 0) {
        from = parsed->group;
        n = parsed->group_n;
    }
    inq_str id = 0;
    int code = inq_strtab_add(&k->shard->names, from, n, &id, k->err);
    *index = 0;
    while (*index < k->n_groups && k->groups[*index].name != id) {
        (*index)++;
    }
    if (code != INQ_OK || *index < k->n_groups) {
        return code;
    }
    code = inq_mem_grow(&k->groups, &k->cap_groups, k->n_groups + 1, sizeof *k->groups,
                        INQ_KINETO_MAX_GROUPS, k->err);
    if (code == INQ_OK) {
        k->groups[k->n_groups++] = (struct inq_group_note){.name = id, .size = -1};
    }
    return code;
}

static int add_hccl(struct inq_kineto *k, const struct inq_hccl_note *note,
                    const struct inq_thread *thread)
{
    const struct inq_strtab *names = &k->shard->names;
    struct inq_events *e = &k->rank->events;
    inq_str name = e->name[note->row];
    const char *text = inq_strtab_get(names, name);
    struct inq_hccl_name parsed = inq_hccl_name(text);
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.kind = inq_coll_from_kernel(text, inq_strtab_len(names, name));
    comm.op_name = name;
    comm.seq = parsed.number;
    comm.dtype = note->dtype;
    comm.dtype_bytes =
        inq_dtype_bytes(inq_strtab_get(names, note->dtype), inq_strtab_len(names, note->dtype));
    /* HCCL counts what one rank gives, of a reduce-scatter what it gets */
    *(comm.kind == INQ_COLL_REDUCE_SCATTER ? &comm.out_elems : &comm.in_elems) = note->count;
    int code = group_of(k, thread, &parsed, &comm.group);
    return code == INQ_OK ? inq_rank_add_comm(k->rank, &comm, &e->comm[note->row], k->err) : code;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* What a thread's slices are. */
enum role { ROLE_HOST, ROLE_STREAM, ROLE_COLLECTIVES, ROLE_PARTS /* of collectives */ };

struct roles {
    uint8_t *of_lane;
    uint32_t *thread_of_lane;
    bool any;
    struct inq_map collectives; /* by connection: those of HCCL */
};

static int find_roles(struct inq_kineto *k, struct roles *roles)
{
    struct inq_rank *rank = k->rank;
    roles->of_lane = inq_mem_zalloc(rank->n_lanes + 1, 1);
    roles->thread_of_lane = inq_mem_zalloc(rank->n_lanes + 1, sizeof *roles->thread_of_lane);
    if (roles->of_lane == NULL || roles->thread_of_lane == NULL) {
        return inq_err_set(k->err, INQ_NOMEM, "out of memory for %zu lanes", rank->n_lanes);
    }
    for (uint32_t i = 0; i < k->n_threads; i++) {
        const struct inq_thread *t = &k->threads[i];
        if (t->lane == INQ_NONE) {
            continue;
        }
        const char *name = inq_strtab_get(&k->shard->names, t->name);
        enum inq_process process = process_of(k, t);
        bool group = process == INQ_PROCESS_COLLECTIVES && strncmp(name, "Group", 5) == 0;
        enum role role = group                                ? ROLE_COLLECTIVES
                         : process == INQ_PROCESS_COLLECTIVES ? ROLE_PARTS
                         : process == INQ_PROCESS_DEVICE      ? ROLE_STREAM
                                                              : ROLE_HOST;
        roles->of_lane[t->lane] = (uint8_t)role;
        roles->thread_of_lane[t->lane] = i;
        roles->any = roles->any || role != ROLE_HOST;
    }
    return INQ_OK;
}

/* Rows of waiting, as Ascend's and others' streams have them. */
static bool is_idle(const struct inq_kineto *k, inq_str name)
{
    static const char *const words[] = {"event_wait", "event_record", "notify_wait",
                                        "notify_record", "barrier"};
    const char *text = inq_strtab_get(&k->shard->names, name);
    bool idle = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        idle = idle || strncasecmp(text, words[i], strlen(words[i])) == 0;
    }
    return idle;
}

/* A slice of a device's stream: a kernel or a copy, unless its name says that it waits. */
static void make_work(struct inq_kineto *k, size_t row)
{
    struct inq_events *e = &k->rank->events;
    enum inq_op_class cls = inq_kernel_class(&k->classes, &k->shard->names, e->name[row]);
    if (cls != INQ_CLASS_COMM && is_idle(k, e->name[row])) {
        return;
    }
    e->kind[row] = cls == INQ_CLASS_COPY ? INQ_EVENT_MEMCPY : INQ_EVENT_KERNEL;
    e->cls[row] = (uint8_t)cls;
}

/* A slice of the host that launched something. */
static int make_call(struct inq_kineto *k, size_t row)
{
    const struct inq_events *e = &k->rank->events;
    return inq_rank_add_call(k->rank, e->start_ns[row], e->dur_ns[row], e->name[row], e->lane[row],
                             e->call[row], k->err);
}

static int settle_slices(struct inq_kineto *k, struct roles *roles)
{
    struct inq_events *e = &k->rank->events;
    int code = INQ_OK;
    for (size_t i = 0; i < e->n && code == INQ_OK; i++) {
        if (e->kind[i] != INQ_EVENT_SLICE) {
            continue;
        }
        enum role role = (enum role)roles->of_lane[e->lane[i]];
        if (role == ROLE_STREAM) {
            make_work(k, i);
        } else if (role == ROLE_HOST && k->kineto && e->call[i] != INQ_NONE) {
            code = make_call(k, i);
        }
        if (e->kind[i] == INQ_EVENT_SLICE) {
            e->call[i] = role == ROLE_COLLECTIVES ? e->call[i] : INQ_NONE;
        } else {
            k->slices--;
        }
    }
    return code;
}

static int settle_hccl(struct inq_kineto *k, struct roles *roles)
{
    struct inq_events *e = &k->rank->events;
    int code = INQ_OK;
    for (size_t i = 0; i < k->n_hccl && code == INQ_OK; i++) {
        size_t row = k->hccl[i].row;
        uint32_t lane = row < e->n ? e->lane[row] : INQ_NONE;
        if (lane == INQ_NONE || roles->of_lane[lane] != ROLE_COLLECTIVES) {
            continue;
        }
        code = add_hccl(k, &k->hccl[i], &k->threads[roles->thread_of_lane[lane]]);
        e->kind[row] = INQ_EVENT_KERNEL;
        e->cls[row] = INQ_CLASS_COMM;
        k->slices--;
        if (code == INQ_OK) {
            code = inq_map_put(&roles->collectives, e->call[row], 1, k->err);
        }
    }
    return code;
}

/* The tasks of which a collective consists (they have its connection) are in it already, and so is
 * a kernel that runs all of it. */
static void drop_parts(struct inq_kineto *k, const struct roles *roles)
{
    struct inq_events *e = &k->rank->events;
    for (size_t i = 0; i < e->n; i++) {
        uint32_t of = 0;
        bool part = e->cls[i] == INQ_CLASS_COMM ||
                    (e->call[i] != INQ_NONE && inq_map_get(&roles->collectives, e->call[i], &of));
        if (e->kind[i] != INQ_EVENT_SLICE && part &&
            roles->of_lane[e->lane[i]] != ROLE_COLLECTIVES) {
            e->kind[i] = INQ_EVENT_SLICE;
            k->slices++;
        }
    }
}

/* The lane of a device: of which one is not asked, a file is of one rank. */
static void make_stream(struct inq_kineto *k, uint32_t lane, const struct inq_thread *thread)
{
    struct inq_lane *l = &k->rank->lanes[lane];
    l->kind = INQ_LANE_STREAM;
    l->id = thread->tid;
}

int inq_kineto_settle_devices(struct inq_kineto *k)
{
    struct roles roles = {0};
    int code = find_roles(k, &roles);
    if (code == INQ_OK) {
        k->kineto |= roles.any;
        code = settle_slices(k, &roles);
    }
    if (code == INQ_OK) {
        code = settle_hccl(k, &roles);
    }
    if (code == INQ_OK && roles.collectives.n > 0) {
        drop_parts(k, &roles);
    }
    for (uint32_t lane = 0; code == INQ_OK && lane < k->rank->n_lanes; lane++) {
        if (roles.of_lane[lane] != ROLE_HOST) {
            make_stream(k, lane, &k->threads[roles.thread_of_lane[lane]]);
        }
    }
    inq_map_release(&roles.collectives);
    inq_mem_free(roles.of_lane);
    inq_mem_free(roles.thread_of_lane);
    return code;
}
