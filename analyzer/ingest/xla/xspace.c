/* SPDX-License-Identifier: Apache-2.0 */
/* An XSpace: what TensorFlow's and JAX's profiler writes of one process (xplane.proto). Devices
 * become ranks; times are ns since the profile's start, whose wall clock is in the plane "Task
 * Environment". Tables of names stand behind the events that need them, so the file is held whole
 * while it is read. */
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "ingest/xla/device.h"
#include "ingest/ingest.h"

#include <stdio.h>
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

/* Each row that names one of several groups alike gets the one that its rank is in. After the ranks
 * have their numbers, and again when they change. Fails with INQ_NOMEM. */
static int settle_groups(struct inq_shard *shard, struct inq_err *err)
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
    inq_unrecognized_set_aside(json, "");
    json->file.reason = inq_arena_asprintf(&json->arena, "the same profile as %s, which holds more",
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
        code = settle_groups(hosts[i], err);
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

/* With all files read: the XSpace files of one folder are the hosts of one run, whose devices are
 * numbered one host after the other; a trace.json that JAX wrote beside one is not read a second
 * time. Fails with INQ_NOMEM. */
static int join_runs(struct inq_shard *shards, size_t n, struct inq_err *err)
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

/* Host planes: of all that the host did, what launched device work, steps and data loading. */

/* What an event's name says, kept in inq_xla_meta.seen. */
enum { UNSEEN, NOTHING, A_CALL, A_DATA_NOTE };

static bool begins(struct inq_hlo_text text, const char *what)
{
    return text.n >= strlen(what) && memcmp(text.at, what, strlen(what)) == 0;
}

static uint32_t sort_of(struct inq_hlo_text name)
{
    /* calls of CUDA, HIP and their runtimes; the pipelines of tf.data */
    static const char *const calls[] = {"cu", "hip"};
    static const char *const data[] = {"IteratorGetNext", "Iterator::GetNext", "InfeedEnqueue"};
    int64_t number;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (begins(name, calls[i])) {
            return A_CALL;
        }
    }
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
        if (begins(name, data[i])) {
            return A_DATA_NOTE;
        }
    }
    return inq_classify_note(name.at, name.n, &number) == INQ_NOTE_DATA ? A_DATA_NOTE : NOTHING;
}

struct host {
    struct inq_xla_file *file;
    const struct inq_xla_plane *plane;
    const struct inq_xla_line *line;
    uint32_t last_rank; /* that the thread launched for; INQ_NONE none yet */
};

/* The rank that a call was for: by what it launched, by the device it names (a synchronize launches
 * nothing), else the one that its thread launched for before. INQ_NONE: not recorded. */
static uint32_t rank_of_call(const struct host *h, int64_t correlation, int64_t device)
{
    const struct inq_shard *shard = h->file->shard;
    uint32_t index;
    if (correlation != 0 && inq_map_get(&h->file->ranks_by_launch, (uint64_t)correlation, &index) &&
        index < shard->n_ranks) {
        return index;
    }
    for (uint32_t r = 0; r < shard->n_ranks; r++) {
        if (shard->n_ranks == 1 || (device >= 0 && shard->ranks[r].rank == device)) {
            return r;
        }
    }
    return h->last_rank;
}

static int add_call(struct host *h, const struct inq_xla_event *event, struct inq_hlo_text name,
                    struct inq_err *err)
{
    struct inq_shard *shard = h->file->shard;
    int64_t start_ns;
    int64_t dur_ns;
    struct inq_wire rest = event->stats;
    struct inq_xla_stat stat;
    int64_t correlation = 0;
    int64_t device = -1;
    if (!inq_xla_times(h->file, h->line, event, &start_ns, &dur_ns)) {
        return INQ_OK;
    }
    while (inq_xla_next_stat(h->plane, INQ_XLA_EVENT_STATS, &rest, &stat)) {
        correlation = stat.id == INQ_XLA_STAT_CORRELATION ? stat.number : correlation;
        device = stat.id == INQ_XLA_STAT_DEVICE_ID ? stat.number : device;
    }
    uint32_t index = rank_of_call(h, correlation, device);
    if (index == INQ_NONE) {
        return INQ_OK;
    }
    struct inq_rank *rank = &shard->ranks[index];
    h->last_rank = index;
    inq_str text = 0;
    uint32_t lane = 0;
    int code = inq_strtab_add(&shard->names, name.at, name.n, &text, err);
    if (code == INQ_OK) {
        code = inq_rank_lane(rank, INQ_LANE_THREAD, -1, h->line->id, &lane, err);
    }
    return code == INQ_OK ? inq_rank_add_call(rank, start_ns, dur_ns, text, lane, correlation, err)
                          : code;
}

/* Every rank of the process gets it; steps only those whose device has none of its own. */
static int add_note(const struct host *h, const struct inq_xla_event *event,
                    struct inq_hlo_text name, struct inq_note note, struct inq_err *err)
{
    struct inq_shard *shard = h->file->shard;
    if (!inq_xla_times(h->file, h->line, event, &note.start_ns, &note.dur_ns)) {
        return INQ_OK;
    }
    int code = inq_strtab_add(&shard->names, name.at, name.n, &note.name, err);
    for (size_t r = 0; r < shard->n_ranks && code == INQ_OK; r++) {
        struct inq_rank *rank = &shard->ranks[r];
        bool has_steps = false;
        for (size_t i = 0; i < rank->n_notes && note.kind == INQ_NOTE_STEP && !has_steps; i++) {
            has_steps = rank->notes[i].kind == INQ_NOTE_STEP && rank->notes[i].on_gpu;
        }
        if (!has_steps) {
            code = inq_rank_lane(rank, INQ_LANE_THREAD, -1, h->line->id, &note.lane, err);
            code = code == INQ_OK ? inq_rank_add_note(rank, &note, err) : code;
        }
    }
    return code;
}

static int64_t marked_step(const struct host *h, const struct inq_xla_event *event)
{
    struct inq_wire rest = event->stats;
    struct inq_xla_stat stat;
    int64_t number = -1;
    while (inq_xla_next_stat(h->plane, INQ_XLA_EVENT_STATS, &rest, &stat)) {
        number = stat.id == INQ_XLA_STAT_STEP_NUM ? stat.number : number;
    }
    return number;
}

static int read_event(struct host *h, const struct inq_xla_event *event, struct inq_err *err)
{
    struct inq_xla_meta *meta = inq_xla_meta_of(h->plane, event->metadata);
    if (meta == NULL) {
        h->file->shard->file.events++;
        h->file->lost_names++;
        return INQ_OK;
    }
    if (meta->seen == UNSEEN) {
        meta->seen = sort_of(meta->name);
    }
    if (meta->seen == A_CALL) {
        return add_call(h, event, meta->name, err);
    }
    struct inq_note note = {.kind = INQ_NOTE_DATA, .number = -1};
    if (meta->seen == NOTHING) {
        note.kind = INQ_NOTE_STEP;
        note.number = marked_step(h, event);
    }
    if (meta->seen == A_DATA_NOTE || note.number >= 0) {
        return add_note(h, event, meta->name, note, err);
    }
    h->file->shard->file.events += !event->counted;
    return INQ_OK;
}

/* After the devices: launches, steps and data loading of a host plane, to the ranks they are of.
 * Fails with INQ_NOMEM, INQ_LIMIT. */
static int xla_read_host(struct inq_xla_file *file, const struct inq_xla_plane *plane,
                         struct inq_err *err)
{
    struct inq_wire lines = plane->message;
    struct inq_xla_line line;
    int code = INQ_OK;
    while (code == INQ_OK && !file->full && inq_xla_next_line(&lines, &line)) {
        struct host h = {.file = file, .plane = plane, .line = &line, .last_rank = INQ_NONE};
        struct inq_wire rest = line.events;
        struct inq_xla_event event;
        while (code == INQ_OK && inq_xla_next_event(&rest, &event)) {
            code = read_event(&h, &event, err);
        }
        if (code == INQ_OK && !file->full) {
            code = inq_source_ask(file->source, -1, &file->full, err);
        }
    }
    return code;
}

/* ---- steps of devices, on the host ----------------------------------------------------------- */

/* A rank's events by start, and its calls by correlation: what steps are looked up in. */
struct started {
    const struct inq_rank *rank;
    uint32_t *order;      /* [events.n] */
    struct inq_map calls; /* correlation -> call */
    uint64_t looks;       /* left: steps that overlap would look at every event each */
};

static void started_release(struct started *started)
{
    inq_mem_free(started->order);
    inq_map_release(&started->calls);
}

static int started_init(struct started *started, const struct inq_rank *rank, struct inq_err *err)
{
    /* Steps of a device follow each other, so that every event is looked at about once. */
    enum { LOOKS = 64 };
    size_t n = rank->events.n;
    *started = (struct started){.rank = rank, .looks = LOOKS * ((uint64_t)n + rank->n_notes)};
    started->order = inq_mem_zalloc(n + 1, sizeof *started->order);
    int code = started->order != NULL
                   ? inq_sort_order_i64(rank->events.start_ns, n, started->order, err)
                   : inq_err_set(err, INQ_NOMEM, "out of memory for the steps of a device");
    for (size_t i = 0; i < rank->calls.n && code == INQ_OK; i++) {
        code = inq_map_put(&started->calls, (uint32_t)rank->calls.correlation[i], (uint32_t)i, err);
    }
    return code;
}

/* The first event, by start, that does not start before `ns`. */
static size_t first_from(const struct started *started, int64_t ns)
{
    size_t low = 0;
    size_t high = started->rank->events.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool before = started->rank->events.start_ns[started->order[middle]] < ns;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low;
}

/* Launches of what starts within a step of the device. */
struct launches {
    int64_t first_ns, last_ns;
    uint32_t lane;
};

static struct launches launches_within(struct started *started, const struct inq_note *step)
{
    const struct inq_rank *rank = started->rank;
    const struct inq_events *e = &rank->events;
    struct launches found = {INT64_MAX, INT64_MIN, 0};
    for (size_t k = first_from(started, step->start_ns); k < e->n && started->looks > 0; k++) {
        uint32_t i = started->order[k];
        uint32_t call;
        if (e->start_ns[i] >= step->start_ns + step->dur_ns) {
            break;
        }
        started->looks--;
        if (!inq_map_get(&started->calls, e->call[i], &call)) {
            continue;
        }
        int64_t start_ns = rank->calls.start_ns[call];
        int64_t end_ns = start_ns + rank->calls.dur_ns[call];
        found.lane = start_ns < found.first_ns ? rank->calls.lane[call] : found.lane;
        found.first_ns = start_ns < found.first_ns ? start_ns : found.first_ns;
        found.last_ns = end_ns > found.last_ns ? end_ns : found.last_ns;
    }
    return found;
}

/* A step of the device, and when the host launched it. */
struct mark {
    struct inq_note note;
    int64_t first_ns, last_ns; /* of the host */
};

static int by_first(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct mark *x = a;
    const struct mark *y = b;
    return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

/* The next step follows on this one: none is missing, and they do not overlap. */
static bool is_followed(const struct mark *mark, const struct mark *next)
{
    return next->note.number == mark->note.number + 1 && mark->last_ns <= next->first_ns;
}

/* Between two steps the host waits for the device, then loads and copies data for the next. The
 * waiting belongs to the step before, and all time after that to the next, as a loop that marks its
 * own steps has it: else the lateness of a host would be in no step. */
static void close_gaps(const struct inq_shard *shard, const struct inq_rank *rank,
                       struct mark *marks, size_t n)
{
    for (size_t i = 0; i < rank->calls.n; i++) {
        int64_t start_ns = rank->calls.start_ns[i];
        int64_t end_ns = start_ns + rank->calls.dur_ns[i];
        size_t low = 0;
        const char *name = inq_strtab_get(&shard->names, rank->calls.name[i]);
        if (inq_host_kind_of(name) != INQ_HOST_SYNCHRONIZE) {
            continue;
        }
        for (size_t high = n; low < high;) { /* the first that begins later */
            size_t middle = low + (high - low) / 2;
            bool later = marks[middle].first_ns > start_ns;
            high = later ? middle : high;
            low = later ? low : middle + 1;
        }
        if (low > 0 && low < n && is_followed(&marks[low - 1], &marks[low]) &&
            end_ns <= marks[low].first_ns && end_ns > marks[low - 1].last_ns) {
            marks[low - 1].last_ns = end_ns;
        }
    }
    for (size_t i = n; i > 1; i--) {
        if (is_followed(&marks[i - 2], &marks[i - 1])) {
            marks[i - 1].first_ns = marks[i - 2].last_ns;
        }
    }
}

/* The launches of all steps of the device: marks[*n]. */
static int list_marks(struct inq_shard *shard, const struct inq_rank *rank, struct mark *marks,
                      size_t *n, struct inq_err *err)
{
    struct started started;
    int code = started_init(&started, rank, err);
    uint64_t left_out = 0;
    *n = 0;
    for (size_t i = 0; i < rank->n_notes && code == INQ_OK; i++) {
        const struct inq_note *note = &rank->notes[i];
        if (note->kind != INQ_NOTE_STEP || !note->on_gpu) {
            continue;
        }
        struct launches found = launches_within(&started, note);
        left_out += started.looks == 0;
        if (found.first_ns < found.last_ns) {
            struct mark *mark = &marks[(*n)++];
            *mark = (struct mark){*note, found.first_ns, found.last_ns};
            mark->note.lane = found.lane;
            mark->note.on_gpu = false;
        }
    }
    if (left_out > 0) {
        inq_damage_add(&shard->file.damage, INQ_DAMAGE_LIMIT, left_out, 0);
    }
    started_release(&started);
    return code == INQ_OK ? inq_sort(marks, *n, sizeof *marks, by_first, NULL, err) : code;
}

static int mark_rank(struct inq_shard *shard, struct inq_rank *rank, struct inq_err *err)
{
    size_t n = 0;
    struct mark *marks = inq_mem_alloc((rank->n_notes + 1) * sizeof *marks);
    if (marks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for the steps of a device");
    }
    int code = list_marks(shard, rank, marks, &n, err);
    if (code == INQ_OK) {
        close_gaps(shard, rank, marks, n);
    }
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        marks[i].note.start_ns = marks[i].first_ns;
        marks[i].note.dur_ns = marks[i].last_ns - marks[i].first_ns;
        code = inq_rank_add_note(rank, &marks[i].note, err);
    }
    inq_mem_free(marks);
    return code;
}

/* After the host planes: steps that the device marked become marks of the host where launches are
 * recorded, around a step's launches: what was launched is what belongs to it. Fails
 * with INQ_NOMEM, INQ_LIMIT. */
static int xla_mark_launches(struct inq_shard *shard, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t r = 0; r < shard->n_ranks && code == INQ_OK; r++) {
        if (shard->ranks[r].calls.n > 0) {
            code = mark_rank(shard, &shard->ranks[r], err);
        }
    }
    return code;
}

/* No message of protocol buffers is larger. */
#define MAX_XSPACE ((size_t)INT32_MAX)

enum { SPACE_PLANES = 1, SPACE_HOSTNAMES = 4 };

static int load(struct inq_source *source, char **bytes, size_t *n, struct inq_err *err)
{
    size_t cap = 0;
    for (;;) {
        const char *chunk = NULL;
        size_t got = 0;
        int code = inq_source_next(source, &chunk, &got, err);
        if (code != INQ_OK || got == 0) {
            return code;
        }
        code = inq_mem_grow(bytes, &cap, *n + got, 1, MAX_XSPACE, err);
        if (code != INQ_OK) {
            return code;
        }
        memcpy(*bytes + *n, chunk, got);
        *n += got;
    }
}

/* ---- planes ---------------------------------------------------------------------------------- */

enum pass { ABOUT, DEVICES, HOSTS };

static bool is_named(struct inq_hlo_text name, const char *text)
{
    return name.n == strlen(text) && memcmp(name.at, text, name.n) == 0;
}

static bool is_host(struct inq_hlo_text name)
{
    return name.n > 6 && memcmp(name.at, "/host:", 6) == 0 && !is_named(name, "/host:metadata");
}

static void read_environment(struct inq_xla_file *file, const struct inq_xla_plane *plane)
{
    struct inq_wire rest = plane->message;
    struct inq_xla_stat stat;
    while (inq_xla_next_stat(plane, INQ_XLA_PLANE_STATS, &rest, &stat)) {
        if (stat.id == INQ_XLA_STAT_START_TIME && stat.number > 0 && stat.number < INT64_MAX / 4) {
            file->base_ns = stat.number;
        }
    }
}

static int read_plane(struct inq_xla_file *file, struct inq_wire message, enum pass pass,
                      struct inq_err *err)
{
    struct inq_hlo_text name = inq_xla_plane_name(message);
    int32_t ordinal = inq_xla_device_of(name);
    bool wanted = pass == ABOUT     ? is_named(name, "Task Environment")
                  : pass == DEVICES ? ordinal >= 0
                                    : is_host(name);
    struct inq_xla_plane plane;
    if (!wanted) {
        return INQ_OK;
    }
    int code = inq_xla_plane_init(&plane, message, err);
    if (code == INQ_OK && pass == ABOUT) {
        read_environment(file, &plane);
    } else if (code == INQ_OK && pass == DEVICES) {
        code = inq_xla_read_device(file, &plane, ordinal, err);
    } else if (code == INQ_OK) {
        code = xla_read_host(file, &plane, err);
    }
    inq_xla_plane_release(&plane);
    return code;
}

static int read_planes(struct inq_xla_file *file, struct inq_wire space, enum pass pass,
                       struct inq_err *err)
{
    struct inq_wire rest = space;
    struct inq_wire_field field;
    int code = INQ_OK;
    while (code == INQ_OK && !file->full && inq_wire_next(&rest, &field)) {
        if (field.number == SPACE_PLANES && field.type == INQ_WIRE_BYTES) {
            code = read_plane(file, field.bytes, pass, err);
        }
    }
    if (rest.bad && pass == ABOUT) {
        inq_damage_add(&file->shard->file.damage, INQ_DAMAGE_TRUNCATED, 1,
                       (int64_t)inq_wire_len(&space));
    }
    return code;
}

/* ---- the whole file -------------------------------------------------------------------------- */

/* "10.0.0.3:6009" is the host 10.0.0.3. */
static int name_host(struct inq_shard *shard, struct inq_wire space, struct inq_err *err)
{
    struct inq_wire_field field;
    inq_str host = 0;
    int code = INQ_OK;
    while (code == INQ_OK && host == 0 && inq_wire_next(&space, &field)) {
        if (field.number == SPACE_HOSTNAMES && field.type == INQ_WIRE_BYTES) {
            const char *name = field.bytes.at;
            size_t n = inq_wire_len(&field.bytes);
            const char *colon = n > 0 ? memchr(name, ':', n) : NULL;
            n = colon != NULL ? (size_t)(colon - name) : n;
            code = inq_strtab_add(&shard->names, name, n, &host, err);
        }
    }
    for (size_t r = 0; r < shard->n_ranks; r++) {
        shard->ranks[r].host = host;
    }
    return code;
}

static int explain(struct inq_xla_file *file, struct inq_err *err)
{
    struct inq_shard *shard = file->shard;
    if (shard->n_ranks == 0) {
        shard->file.reason = "no device work recognized: the profile has no plane of a GPU or TPU "
                             "with kernels";
        return INQ_OK;
    }
    char idle[128] = "";
    if (file->idle_devices > 0) {
        (void)snprintf(idle, sizeof idle, "; %u more device%s only copied (%llu copies)",
                       file->idle_devices, file->idle_devices == 1 ? "" : "s",
                       (unsigned long long)file->idle_copies);
    }
    char lost[96] = "";
    if (file->lost_names > 0) {
        (void)snprintf(lost, sizeof lost, "; %llu events without a name: its table is cut off",
                       (unsigned long long)file->lost_names);
    }
    shard->file.reason = inq_arena_asprintf(
        &shard->arena, "no ranks in the file: numbered by device%s%s", idle, lost);
    return shard->file.reason != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
}

static int read_space(struct inq_xla_file *file, struct inq_wire space, struct inq_err *err)
{
    int code = INQ_OK;
    for (int pass = ABOUT; pass <= HOSTS && code == INQ_OK; pass++) {
        code = read_planes(file, space, (enum pass)pass, err);
    }
    if (code == INQ_OK) {
        code = xla_mark_launches(file->shard, err);
    }
    if (code == INQ_OK) {
        code = name_host(file->shard, space, err);
    }
    if (code == INQ_OK) {
        code = settle_groups(file->shard, err);
    }
    return code == INQ_OK ? explain(file, err) : code;
}

static int read_xspace(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    struct inq_xla_file file = {.shard = shard, .source = source};
    char *bytes = NULL;
    size_t n = 0;
    shard->file.format = inq_reader_xspace.name;
    int code = load(source, &bytes, &n, err);
    if (code == INQ_OK && n > 0) {
        code = read_space(&file, inq_wire_of(bytes, n), err);
    }
    inq_mem_free(bytes);
    inq_map_release(&file.ranks_by_launch);
    return code;
}

/* ---- recognition ----------------------------------------------------------------------------- */

/* A plane's name stands in front of all that is long. */
static int sniff_xspace(const char *head, size_t n, const char *path)
{
    static const char *const names[] = {"/host:", "/device:", "Task Environment", "#Chip"};
    (void)path;
    struct inq_wire space = inq_wire_of(head, n);
    struct inq_wire_field field;
    if (!inq_wire_next(&space, &field) || field.number != SPACE_PLANES ||
        field.type != INQ_WIRE_BYTES) {
        return 0;
    }
    struct inq_hlo_text name = inq_xla_plane_name(field.bytes);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t len = strlen(names[i]);
        if (name.n >= len && memcmp(name.at, names[i], len) == 0) {
            return 95;
        }
    }
    return 0;
}

const struct inq_reader inq_reader_xspace = {
    .name = "xspace",
    .summary = "XSpace of TensorFlow's and JAX's profiler (*.xplane.pb): device ops, steps",
    .sniff = sniff_xspace,
    .read = read_xspace,
    .join = join_runs,
};
