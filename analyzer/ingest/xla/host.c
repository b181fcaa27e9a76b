/* SPDX-License-Identifier: Apache-2.0 */
/* Host planes: of all that the host did, what launched device work, steps and data loading. */
#include "ingest/xla/device.h"

#include <string.h>

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

int inq_xla_read_host(struct inq_xla_file *file, const struct inq_xla_plane *plane,
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
        if (code == INQ_OK) {
            code = inq_xla_ask(file, err);
        }
    }
    return code;
}

/* ---- steps of devices, on the host ----------------------------------------------------------- */

/* Launches of what starts within a step of the device. */
struct launches {
    int64_t first_ns, last_ns;
    uint32_t lane;
};

static struct launches launches_within(const struct inq_rank *rank, const struct inq_note *step,
                                       const struct inq_map *calls)
{
    const struct inq_events *e = &rank->events;
    struct launches found = {INT64_MAX, INT64_MIN, 0};
    for (size_t i = 0; i < e->n; i++) {
        uint32_t call;
        bool within =
            e->start_ns[i] >= step->start_ns && e->start_ns[i] < step->start_ns + step->dur_ns;
        if (!within || !inq_map_get(calls, e->call[i], &call)) {
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

static int mark_rank(struct inq_rank *rank, struct inq_err *err)
{
    enum { MOST_STEPS = 1024 }; /* every step looks at every event */
    struct inq_map calls = {0};
    int code = INQ_OK;
    for (size_t i = 0; i < rank->calls.n && code == INQ_OK; i++) {
        code = inq_map_put(&calls, (uint32_t)rank->calls.correlation[i], (uint32_t)i, err);
    }
    size_t n = rank->n_notes;
    size_t steps = 0;
    for (size_t i = 0; i < n && code == INQ_OK && steps < MOST_STEPS; i++) {
        struct inq_note note = rank->notes[i];
        if (note.kind != INQ_NOTE_STEP || !note.on_gpu) {
            continue;
        }
        steps++;
        struct launches found = launches_within(rank, &note, &calls);
        if (found.first_ns < found.last_ns) {
            note.start_ns = found.first_ns;
            note.dur_ns = found.last_ns - found.first_ns;
            note.lane = found.lane;
            note.on_gpu = false;
            code = inq_rank_add_note(rank, &note, err);
        }
    }
    inq_map_release(&calls);
    return code;
}

int inq_xla_mark_launches(struct inq_shard *shard, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t r = 0; r < shard->n_ranks && code == INQ_OK; r++) {
        if (shard->ranks[r].calls.n > 0) {
            code = mark_rank(&shard->ranks[r], err);
        }
    }
    return code;
}
