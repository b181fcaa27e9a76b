/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/xla/device.h"

#include "base/mem.h"
#include "ingest/xla/ops.h"

#include <string.h>

/* Times beyond this are no times. */
#define MAX_NS (INT64_MAX / 4)

static bool is_text(struct inq_hlo_text text, const char *what)
{
    return text.n == strlen(what) && memcmp(text.at, what, text.n) == 0;
}

static bool starts_with(struct inq_hlo_text text, const char *what)
{
    return text.n >= strlen(what) && memcmp(text.at, what, strlen(what)) == 0;
}

/* Digits at *at, which goes behind them; -1: there are none. */
static int64_t read_number(const char **at, const char *end)
{
    int64_t value = -1;
    for (; *at < end && **at >= '0' && **at <= '9' && value < INT64_MAX / 16; (*at)++) {
        value = (value < 0 ? 0 : value) * 10 + (**at - '0');
    }
    return value;
}

int32_t inq_xla_device_of(struct inq_hlo_text name)
{
    static const char prefix[] = "/device:";
    const char *end = name.at + name.n;
    if (!starts_with(name, prefix)) {
        return -1;
    }
    const char *at = name.at + sizeof prefix - 1;
    const char *kind = at;
    while (at < end && *at >= 'A' && *at <= 'Z') {
        at++;
    }
    struct inq_hlo_text type = {kind, (size_t)(at - kind)};
    if (type.n == 0 || is_text(type, "CPU") || at == end || *at != ':') {
        return -1;
    }
    at++;
    int64_t ordinal = read_number(&at, end);
    return at == end && ordinal <= INT32_MAX ? (int32_t)ordinal : -1;
}

/* ---- events ---------------------------------------------------------------------------------- */

bool inq_xla_times(struct inq_xla_file *file, const struct inq_xla_line *line,
                   const struct inq_xla_event *event, int64_t *start_ns, int64_t *dur_ns)
{
    struct inq_damage *damage = &file->shard->file.damage;
    if (event->counted) {
        return false;
    }
    uint64_t place = file->shard->file.events++;
    int64_t base_ns =
        line->timestamp_ns > -MAX_NS && line->timestamp_ns < MAX_NS && file->base_ns < MAX_NS
            ? line->timestamp_ns + file->base_ns
            : INT64_MAX;
    int64_t dur_ps = event->dur_ps;
    if (base_ns >= MAX_NS || base_ns <= -MAX_NS || event->offset_ps > INT64_MAX / 2 ||
        event->offset_ps < -(INT64_MAX / 2) || dur_ps > INT64_MAX / 2) {
        inq_damage_add(damage, INQ_DAMAGE_BAD_NUMBER, 1, (int64_t)place);
        return false;
    }
    if (dur_ps < 0) {
        inq_damage_add(damage, INQ_DAMAGE_NEGATIVE_DURATION, 1, (int64_t)place);
        dur_ps = 0;
    }
    *start_ns = base_ns + event->offset_ps / 1000;
    *dur_ns = base_ns + (event->offset_ps + dur_ps) / 1000 - *start_ns;
    return true;
}

int inq_xla_ask(struct inq_xla_file *file, struct inq_err *err)
{
    return file->full ? INQ_OK : inq_source_ask(file->source, &file->full, err);
}

/* The number of a step, as its event's name or statistics say; -1 none. */
static int64_t step_number(const struct inq_xla_plane *plane, struct inq_hlo_text name,
                           const struct inq_xla_event *event)
{
    int64_t by_group = -1;
    int64_t number = -1;
    struct inq_wire rest = event->stats;
    struct inq_xla_stat stat;
    while (inq_xla_next_stat(plane, INQ_XLA_EVENT_STATS, &rest, &stat)) {
        if (stat.id == INQ_XLA_STAT_STEP_NUM) {
            number = stat.number;
        } else if (stat.id == INQ_XLA_STAT_STEP_NAME && number < 0) {
            const char *at = stat.text.at;
            number = read_number(&at, stat.text.at + stat.text.n);
        } else if (stat.id == INQ_XLA_STAT_GROUP_ID) {
            by_group = stat.number;
        }
    }
    if (number < 0) {
        const char *at = name.at;
        number = read_number(&at, name.at + name.n);
    }
    return number >= 0 ? number : by_group;
}

/* ---- kernels on streams ---------------------------------------------------------------------- */

/* Number triple behind `key` in "regs:38 shm:0 grid:160,1,1 block:1024,1,1". */
static void read_triple(struct inq_hlo_text text, const char *key, int32_t triple[3])
{
    const char *end = text.at + text.n;
    const char *at = text.n > 0 ? memmem(text.at, text.n, key, strlen(key)) : NULL;
    at = at != NULL ? at + strlen(key) : end;
    for (int i = 0; i < 3 && at < end; i++) {
        int64_t value = read_number(&at, end);
        triple[i] = value > 0 && value <= INT32_MAX ? (int32_t)value : 0;
        at += at < end && *at == ',';
    }
}

/* Copies have CUPTI's short names. */
static bool read_copy(struct inq_hlo_text name, struct inq_event_row *row, const char **called)
{
    static const char *const names[][2] = {
        {"MemcpyH2D", "Memcpy HtoD"}, {"MemcpyD2H", "Memcpy DtoH"}, {"MemcpyD2D", "Memcpy DtoD"},
        {"MemcpyP2P", "Memcpy PtoP"}, {"MemcpyH2H", "Memcpy HtoH"}, {"Memcpy", "Memcpy"},
        {"Memset", "Memset"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (starts_with(name, names[i][0])) {
            row->kind = names[i][0][3] == 's' ? INQ_EVENT_MEMSET : INQ_EVENT_MEMCPY;
            row->cls = INQ_CLASS_COPY;
            *called = names[i][1];
            return true;
        }
    }
    return false;
}

struct device {
    struct inq_xla_file *file;
    const struct inq_xla_plane *plane;
    uint32_t rank; /* of the shard */
    int32_t ordinal;
    bool streams, async, ops;
};

static int read_kernel_stats(struct device *d, const struct inq_xla_event *event,
                             struct inq_event_row *row, struct inq_hlo_text *hlo_op,
                             struct inq_err *err)
{
    struct inq_shard *shard = d->file->shard;
    struct inq_launch launch = {0};
    struct inq_hlo_text op = {"", 0};
    struct inq_hlo_text shape = {"", 0};
    struct inq_wire rest = event->stats;
    struct inq_xla_stat stat;
    int code = INQ_OK;
    while (code == INQ_OK && inq_xla_next_stat(d->plane, INQ_XLA_EVENT_STATS, &rest, &stat)) {
        if (stat.id == INQ_XLA_STAT_CORRELATION && stat.number != 0) {
            row->call = (uint32_t)stat.number;
            code = inq_map_put(&d->file->ranks_by_launch, (uint64_t)stat.number, d->rank, err);
        } else if (stat.id == INQ_XLA_STAT_KERNEL_DETAILS) {
            read_triple(stat.text, "grid:", launch.grid);
            read_triple(stat.text, "block:", launch.block);
        } else if (stat.id == INQ_XLA_STAT_HLO_OP) {
            *hlo_op = stat.text;
        } else if (stat.id == INQ_XLA_STAT_SHAPE) {
            shape = stat.text;
        } else if (stat.id == INQ_XLA_STAT_TF_OP ||
                   (stat.id == INQ_XLA_STAT_ANNOTATION && op.n == 0)) {
            op = stat.text;
        }
    }
    op = inq_xla_op_name(hlo_op->n > 0 ? *hlo_op : op);
    if (code == INQ_OK) {
        code = inq_strtab_add(&shard->names, op.at, op.n, &launch.op, err);
    }
    if (code == INQ_OK) {
        code = inq_strtab_add(&shard->names, shape.at, shape.n, &launch.dims, err);
    }
    return code == INQ_OK ? inq_launches_add(&shard->launches, &launch, &row->launch, err) : code;
}

/* Kernels are known by name, and those of a library unknown here by the op that they are of. */
static int classify(struct device *d, struct inq_hlo_text hlo_op, struct inq_event_row *row,
                    struct inq_err *err)
{
    struct inq_shard *shard = d->file->shard;
    struct inq_hlo hlo = inq_hlo_parse(hlo_op, (struct inq_hlo_text){"", 0});
    row->cls = hlo.cls == INQ_CLASS_COMM
                   ? INQ_CLASS_COMM
                   : inq_classify_kernel(inq_strtab_get(&shard->names, row->name),
                                         inq_strtab_len(&shard->names, row->name));
    if (row->cls != INQ_CLASS_COMM) {
        return INQ_OK;
    }
    struct inq_comm comm;
    int code = inq_xla_describe_comm(shard, &hlo, &comm, err);
    return code == INQ_OK ? inq_rank_add_comm(&shard->ranks[d->rank], &comm, &row->comm, err)
                          : code;
}

static int add_kernel(struct device *d, const struct inq_xla_event *event,
                      struct inq_event_row *row, struct inq_err *err)
{
    struct inq_shard *shard = d->file->shard;
    const struct inq_xla_meta *meta = inq_xla_meta_of(d->plane, event->metadata);
    const char *copy = NULL;
    struct inq_hlo_text hlo_op = {"", 0};
    struct inq_hlo_text name = meta != NULL ? meta->name : (struct inq_hlo_text){"(name lost)", 11};
    bool copies = read_copy(name, row, &copy);
    d->file->lost_names += meta == NULL;
    int code = copies ? inq_strtab_add(&shard->names, copy, strlen(copy), &row->name, err)
                      : inq_strtab_add(&shard->names, name.at, name.n, &row->name, err);
    if (code == INQ_OK) {
        code = read_kernel_stats(d, event, row, &hlo_op, err);
    }
    if (code == INQ_OK && !copies) {
        code = classify(d, hlo_op, row, err);
    }
    if (meta == NULL && row->cls == INQ_CLASS_COMPUTE) {
        row->cls = INQ_CLASS_OTHER;
    }
    return code == INQ_OK ? inq_rank_add_event(&shard->ranks[d->rank], row, err) : code;
}

static int read_stream(struct device *d, const struct inq_xla_line *line, struct inq_err *err)
{
    struct inq_wire rest = line->events;
    struct inq_xla_event event;
    uint32_t lane = 0;
    int code = inq_rank_lane(&d->file->shard->ranks[d->rank], INQ_LANE_STREAM, d->ordinal, line->id,
                             &lane, err);
    while (code == INQ_OK && inq_xla_next_event(&rest, &event)) {
        struct inq_event_row row = {.lane = lane,
                                    .call = INQ_NONE,
                                    .comm = INQ_NONE,
                                    .label = INQ_NONE,
                                    .kind = INQ_EVENT_KERNEL};
        if (inq_xla_times(d->file, line, &event, &row.start_ns, &row.dur_ns)) {
            code = add_kernel(d, &event, &row, err);
        }
    }
    return code;
}

/* ---- lines derived from others --------------------------------------------------------------- */

static int read_marks(struct device *d, const struct inq_xla_line *line, bool steps,
                      struct inq_err *err)
{
    struct inq_shard *shard = d->file->shard;
    struct inq_rank *rank = &shard->ranks[d->rank];
    struct inq_wire rest = line->events;
    struct inq_xla_event event;
    struct inq_note note = {.kind = steps ? INQ_NOTE_STEP : INQ_NOTE_OTHER, .on_gpu = true};
    int code = inq_rank_lane(rank, INQ_LANE_STREAM, d->ordinal, line->id, &note.lane, err);
    while (code == INQ_OK && inq_xla_next_event(&rest, &event)) {
        if (!inq_xla_times(d->file, line, &event, &note.start_ns, &note.dur_ns)) {
            continue;
        }
        const struct inq_xla_meta *meta = inq_xla_meta_of(d->plane, event.metadata);
        struct inq_hlo_text name = {"", 0};
        name = meta == NULL ? name : meta->display.n > 0 && !steps ? meta->display : meta->name;
        note.number = steps ? step_number(d->plane, name, &event) : -1;
        code = inq_strtab_add(&shard->names, name.at, name.n, &note.name, err);
        if (code == INQ_OK) {
            code = inq_rank_add_note(rank, &note, err);
        }
    }
    return code;
}

static int read_line(struct device *d, const struct inq_xla_line *line, struct inq_err *err)
{
    struct inq_xla_ops_line ops = {.plane = d->plane,
                                   .line = line,
                                   .rank = d->rank,
                                   .ordinal = d->ordinal,
                                   .beside = is_text(line->name, "Async XLA Ops"),
                                   .halves = d->async};
    bool is_ops = ops.beside || is_text(line->name, "XLA Ops");
    if (starts_with(line->name, "Stream ")) {
        return read_stream(d, line, err);
    }
    if (is_ops && !d->streams) {
        return inq_xla_read_ops(d->file, &ops, err);
    }
    return read_marks(d, line, is_text(line->name, "Steps"), err);
}

static void look_at_lines(struct device *d)
{
    struct inq_wire rest = d->plane->message;
    struct inq_xla_line line;
    while (inq_xla_next_line(&rest, &line)) {
        struct inq_wire events = line.events;
        struct inq_xla_event event;
        bool any = inq_xla_next_event(&events, &event);
        d->streams = d->streams || (any && starts_with(line.name, "Stream "));
        d->async = d->async || (any && is_text(line.name, "Async XLA Ops"));
        d->ops = d->ops || (any && is_text(line.name, "XLA Ops"));
    }
}

static bool runs_kernels(const struct inq_rank *rank)
{
    for (size_t i = 0; i < rank->events.n; i++) {
        if (rank->events.kind[i] == INQ_EVENT_KERNEL) {
            return true;
        }
    }
    return false;
}

static int read_properties(struct device *d, struct inq_err *err)
{
    struct inq_shard *shard = d->file->shard;
    struct inq_rank *rank = &shard->ranks[d->rank];
    struct inq_wire rest = d->plane->message;
    struct inq_xla_stat stat;
    int code = INQ_OK;
    while (code == INQ_OK && inq_xla_next_stat(d->plane, INQ_XLA_PLANE_STATS, &rest, &stat)) {
        if (stat.id == INQ_XLA_STAT_DEVICE_TYPE) {
            code =
                inq_strtab_add(&shard->names, stat.text.at, stat.text.n, &rank->device_name, err);
        } else if (stat.id == INQ_XLA_STAT_CORE_COUNT && stat.number > 0 &&
                   stat.number <= INT32_MAX) {
            rank->multiprocessors = (int32_t)stat.number;
        }
    }
    return code;
}

int inq_xla_read_device(struct inq_xla_file *file, const struct inq_xla_plane *plane,
                        int32_t ordinal, struct inq_err *err)
{
    struct device d = {.file = file, .plane = plane, .ordinal = ordinal};
    look_at_lines(&d);
    if (!d.streams && !d.async && !d.ops) {
        return INQ_OK;
    }
    int code = inq_shard_add_rank(file->shard, &d.rank, err);
    if (code != INQ_OK) {
        return code;
    }
    struct inq_rank *rank = &file->shard->ranks[d.rank];
    rank->rank = ordinal;
    rank->base_ns = file->base_ns;
    rank->has_clock_epoch = file->base_ns > 0;
    code = read_properties(&d, err);
    struct inq_wire rest = plane->message;
    struct inq_xla_line line;
    while (code == INQ_OK && !file->full && inq_xla_next_line(&rest, &line)) {
        code = read_line(&d, &line, err);
        if (code == INQ_OK) {
            code = inq_xla_ask(file, err);
        }
    }
    rank = &file->shard->ranks[d.rank];
    if (code == INQ_OK && !runs_kernels(rank)) {
        file->idle_devices++;
        file->idle_copies += rank->events.n;
        inq_rank_release(rank);
        file->shard->n_ranks--;
    }
    return code;
}
