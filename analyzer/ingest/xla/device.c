/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/xla/device.h"

#include "base/mem.h"
#include "base/sort.h"

#include <string.h>

/* Asynchronous ops that run at one time go on as many lanes; more than these share the last. */
enum { MAX_ASYNC_LANES = 16 };
/* Lanes of such ops begin here: ids of lines are smaller. */
static const int64_t ASYNC_LANE = INT64_C(1) << 40;

/* One line of HLO ops, as accelerators without streams record it. `beside`: the line is of
 * asynchronous ops as a whole; `halves`: there is such a line, so halves on this one are notes. */
struct ops_line {
    const struct inq_xla_plane *plane;
    const struct inq_xla_line *line;
    uint32_t rank; /* of the shard */
    int32_t ordinal;
    bool beside, halves;
};

struct op {
    int64_t start_ns, end_ns;
    uint32_t info;
    bool container, taken;
};

/* What an op's metadata says, once for all its events. */
struct info {
    struct inq_hlo hlo;
    inq_str name;
    uint32_t launch;      /* of the shard */
    struct inq_comm comm; /* of communication */
};

struct reading {
    struct inq_xla_file *file;
    const struct ops_line *of;
    size_t n, cap;
    struct op *ops;
    size_t n_infos, cap_infos;
    struct info *infos;
    struct inq_map by_meta;
    int64_t lane_end_ns[MAX_ASYNC_LANES];
};

/* Without the copy's number ("replica_4/dense/MatMul"): every rank has the op. */
static struct inq_hlo_text xla_op_name(struct inq_hlo_text name)
{
    static const char prefix[] = "replica_";
    size_t n = sizeof prefix - 1;
    if (name.n <= n || memcmp(name.at, prefix, n) != 0) {
        return name;
    }
    while (n < name.n && name.at[n] >= '0' && name.at[n] <= '9') {
        n++;
    }
    bool copies = n < name.n && name.at[n] == '/';
    return copies ? (struct inq_hlo_text){name.at + n + 1, name.n - n - 1} : name;
}

/* ---- communication --------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* All groups of an op under one name, that of their list; *first gets the index of the first. */
static int add_groups(struct inq_shard *shard, const struct inq_hlo *hlo, uint32_t *first,
                      int32_t *size, struct inq_err *err)
{
    inq_str name = 0;
    int code = inq_strtab_add(&shard->names, hlo->groups.at, hlo->groups.n, &name, err);
    for (size_t g = 0; code == INQ_OK && g < shard->n_groups; g++) {
        if (shard->groups[g].name == name) {
            *first = (uint32_t)g;
            *size = shard->groups[g].size;
            return INQ_OK;
        }
    }
    int32_t *ranks = inq_mem_alloc(INQ_HLO_MAX_MEMBERS * sizeof *ranks);
    size_t *sizes = inq_mem_alloc(INQ_HLO_MAX_MEMBERS * sizeof *sizes);
    if (code == INQ_OK && (ranks == NULL || sizes == NULL)) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for replica groups");
    }
    size_t n = code == INQ_OK ? inq_hlo_groups(hlo->groups, ranks, sizes, INQ_HLO_MAX_MEMBERS) : 0;
    for (size_t g = 0, at = 0; code == INQ_OK && g < n; at += sizes[g++]) {
        uint32_t index;
        code = inq_sort(ranks + at, sizes[g], sizeof *ranks, by_number, NULL, err);
        if (code != INQ_OK) {
            break;
        }
        code = inq_shard_add_group(shard, name, 0, (int32_t)sizes[g], ranks + at,
                                   (uint32_t)sizes[g], &index, err);
        *first = g == 0 ? index : *first;
        *size = g == 0 ? (int32_t)sizes[g] : *size;
    }
    inq_mem_free(ranks);
    inq_mem_free(sizes);
    return code;
}

/* HLO gives the shape of the result. */
static void set_sizes(struct inq_comm *comm, const struct inq_hlo *hlo)
{
    char type[16] = "";
    if (hlo->elems < 0 || hlo->dtype.n >= sizeof type) {
        return;
    }
    memcpy(type, hlo->dtype.at, hlo->dtype.n);
    /* HLO's names of integers are "s32", "pred" */
    const char *known = strcmp(type, "pred") == 0 ? "bool" : type;
    type[0] = type[0] == 's' && type[1] != '\0' ? 'i' : type[0];
    comm->dtype_bytes = inq_dtype_bytes(known, strlen(known));
    comm->out_elems = hlo->elems;
    bool parts = comm->kind == INQ_COLL_ALLGATHER || comm->kind == INQ_COLL_REDUCE_SCATTER;
    comm->in_elems = parts ? -1 : hlo->elems;
}

/* What HLO says of communication: kind, elements, replica groups (the first of several alike).
 * Fails with INQ_NOMEM, INQ_LIMIT. */
static int xla_describe_comm(struct inq_shard *shard, const struct inq_hlo *hlo,
                             struct inq_comm *comm, struct inq_err *err)
{
    inq_comm_init(comm);
    if (hlo->opcode == NULL) {
        return INQ_OK; /* its name says what it is when the shard is sealed */
    }
    comm->kind = hlo->kind;
    set_sizes(comm, hlo);
    int code = inq_strtab_add(&shard->names, hlo->opcode, strlen(hlo->opcode), &comm->op_name, err);
    if (code == INQ_OK && hlo->elems >= 0) {
        code = inq_strtab_add(&shard->names, hlo->dtype.at, hlo->dtype.n, &comm->dtype, err);
    }
    if (code == INQ_OK && hlo->groups.n > 0) {
        code = add_groups(shard, hlo, &comm->group, &comm->group_size, err);
    }
    return code;
}

/* ---- metadata -------------------------------------------------------------------------------- */

static int add_launch(struct reading *r, struct info *info, struct inq_hlo_text op,
                      struct inq_err *err)
{
    struct inq_shard *shard = r->file->shard;
    struct inq_launch launch = {0};
    op = xla_op_name(op);
    int code = inq_strtab_add(&shard->names, op.at, op.n, &launch.op, err);
    if (code == INQ_OK && info->hlo.shape.n > 0) {
        code =
            inq_strtab_add(&shard->names, info->hlo.shape.at, info->hlo.shape.n, &launch.dims, err);
    }
    return code == INQ_OK ? inq_launches_add(&shard->launches, &launch, &info->launch, err) : code;
}

static int read_info(struct reading *r, const struct inq_xla_meta *meta, struct info *info,
                     struct inq_err *err)
{
    struct inq_hlo_text text = meta->name;
    struct inq_hlo_text category = {"", 0};
    struct inq_hlo_text op = {"", 0};
    struct inq_wire rest = meta->message;
    struct inq_xla_stat stat;
    while (inq_xla_next_stat(r->of->plane, INQ_XLA_META_STATS, &rest, &stat)) {
        text = stat.id == INQ_XLA_STAT_LONG_NAME && stat.text.n > 0 ? stat.text : text;
        category = stat.id == INQ_XLA_STAT_HLO_CATEGORY ? stat.text : category;
        op = stat.id == INQ_XLA_STAT_TF_OP ? stat.text : op;
    }
    info->hlo = inq_hlo_parse(text, category);
    struct inq_hlo_text name = meta->display.n > 0 ? meta->display : info->hlo.name;
    int code = inq_strtab_add(&r->file->shard->names, name.at, name.n, &info->name, err);
    if (code == INQ_OK && info->hlo.cls == INQ_CLASS_COMM) {
        code = xla_describe_comm(r->file->shard, &info->hlo, &info->comm, err);
    }
    return code == INQ_OK ? add_launch(r, info, op.n > 0 ? op : category, err) : code;
}

static int info_of(struct reading *r, uint64_t metadata, uint32_t *index, struct inq_err *err)
{
    static const char lost[] = "(name lost)";
    if (inq_map_get(&r->by_meta, metadata, index)) {
        return INQ_OK;
    }
    int code =
        inq_mem_grow(&r->infos, &r->cap_infos, r->n_infos + 1, sizeof *r->infos, INQ_MAX_ROWS, err);
    if (code != INQ_OK) {
        return code;
    }
    struct info *info = &r->infos[r->n_infos];
    *info = (struct info){.hlo = {.cls = INQ_CLASS_OTHER, .elems = -1}};
    const struct inq_xla_meta *meta = inq_xla_meta_of(r->of->plane, metadata);
    code = meta != NULL
               ? read_info(r, meta, info, err)
               : inq_strtab_add(&r->file->shard->names, lost, sizeof lost - 1, &info->name, err);
    r->file->lost_names += meta == NULL;
    *index = (uint32_t)r->n_infos++;
    return code == INQ_OK ? inq_map_put(&r->by_meta, metadata, *index, err) : code;
}

/* ---- ops ------------------------------------------------------------------------------------- */

static int gather(struct reading *r, struct inq_err *err)
{
    struct inq_wire rest = r->of->line->events;
    struct inq_xla_event event;
    int code = INQ_OK;
    while (code == INQ_OK && inq_xla_next_event(&rest, &event)) {
        struct op op = {0};
        int64_t dur_ns;
        if (!inq_xla_times(r->file, r->of->line, &event, &op.start_ns, &dur_ns)) {
            continue;
        }
        op.end_ns = op.start_ns + dur_ns;
        code = info_of(r, event.metadata, &op.info, err);
        if (code == INQ_OK) {
            code = inq_mem_grow(&r->ops, &r->cap, r->n + 1, sizeof *r->ops, INQ_MAX_ROWS, err);
        }
        if (code == INQ_OK) {
            r->ops[r->n++] = op;
        }
    }
    return code;
}

static int by_time(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct op *x = a;
    const struct op *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

/* What holds the op after it is a loop or a call: the ops in it are the work. */
static void find_containers(struct reading *r)
{
    for (size_t i = 0; i + 1 < r->n; i++) {
        const struct op *next = &r->ops[i + 1];
        struct op *op = &r->ops[i];
        op->container = next->end_ns > next->start_ns && next->start_ns < op->end_ns &&
                        next->end_ns <= op->end_ns && r->infos[op->info].hlo.cls != INQ_CLASS_COMM;
    }
}

static int put_note(struct reading *r, const struct op *op, struct inq_err *err)
{
    struct inq_rank *rank = &r->file->shard->ranks[r->of->rank];
    struct inq_note note = {.start_ns = op->start_ns,
                            .dur_ns = op->end_ns - op->start_ns,
                            .name = r->infos[op->info].name,
                            .number = -1,
                            .kind = INQ_NOTE_OTHER,
                            .on_gpu = true};
    int code =
        inq_rank_lane(rank, INQ_LANE_STREAM, r->of->ordinal, r->of->line->id, &note.lane, err);
    return code == INQ_OK ? inq_rank_add_note(rank, &note, err) : code;
}

/* The first lane on which nothing runs at that time. */
static int64_t async_lane(struct reading *r, int64_t start_ns, int64_t end_ns)
{
    size_t k = 0;
    while (k + 1 < MAX_ASYNC_LANES && r->lane_end_ns[k] > start_ns) {
        k++;
    }
    r->lane_end_ns[k] = end_ns > r->lane_end_ns[k] ? end_ns : r->lane_end_ns[k];
    return ASYNC_LANE + (int64_t)k;
}

static int put_op(struct reading *r, const struct op *op, int64_t end_ns, bool beside,
                  struct inq_err *err)
{
    struct inq_rank *rank = &r->file->shard->ranks[r->of->rank];
    const struct info *info = &r->infos[op->info];
    int64_t lane = beside ? async_lane(r, op->start_ns, end_ns) : r->of->line->id;
    struct inq_event_row row = {.start_ns = op->start_ns,
                                .dur_ns = end_ns - op->start_ns,
                                .name = info->name,
                                .call = INQ_NONE,
                                .comm = INQ_NONE,
                                .label = INQ_NONE,
                                .launch = info->launch,
                                .kind = info->hlo.host_copy ? INQ_EVENT_MEMCPY : INQ_EVENT_KERNEL,
                                .cls = info->hlo.cls};
    int code = inq_rank_lane(rank, INQ_LANE_STREAM, r->of->ordinal, lane, &row.lane, err);
    if (code == INQ_OK && row.cls == INQ_CLASS_COMM) {
        code = inq_rank_add_comm(rank, &info->comm, &row.comm, err);
    }
    return code == INQ_OK ? inq_rank_add_event(rank, &row, err) : code;
}

/* ---- asynchronous pairs ---------------------------------------------------------------------- */

static bool is_half(const struct reading *r, size_t i, enum inq_hlo_part part)
{
    const struct inq_hlo *hlo = &r->infos[r->ops[i].info].hlo;
    return hlo->part == part && (hlo->opcode != NULL || hlo->host_copy);
}

/* Whether the names differ in "-start" and "-done" alone ("all-reduce-start.5"). */
static bool same_number(struct inq_hlo_text start, struct inq_hlo_text done)
{
    const char *a = memchr(start.at, '.', start.n);
    const char *b = memchr(done.at, '.', done.n);
    size_t n = a != NULL ? (size_t)(start.at + start.n - a) : 0;
    size_t m = b != NULL ? (size_t)(done.at + done.n - b) : 0;
    return n == m && (n == 0 || memcmp(a, b, n) == 0);
}

/* The end of the op that begins at `i`: its second half's. The one of the same number, else the
 * first of its kind that is still free. i itself: it has none. */
static size_t second_half(const struct reading *r, size_t i)
{
    enum { MOST_OPS_BETWEEN = 1 << 16 };
    const struct inq_hlo *start = &r->infos[r->ops[i].info].hlo;
    size_t first = i;
    for (size_t k = i + 1; k < r->n && k - i < MOST_OPS_BETWEEN; k++) {
        const struct inq_hlo *done = &r->infos[r->ops[k].info].hlo;
        if (r->ops[k].taken || !is_half(r, k, INQ_HLO_DONE) || done->opcode != start->opcode ||
            done->host_copy != start->host_copy) {
            continue;
        }
        if (same_number(start->name, done->name)) {
            return k;
        }
        first = first == i ? k : first;
    }
    return first;
}

static int put_pair(struct reading *r, size_t i, struct inq_err *err)
{
    size_t k = second_half(r, i);
    int64_t end_ns = r->ops[k].end_ns > r->ops[i].end_ns ? r->ops[k].end_ns : r->ops[i].end_ns;
    r->ops[k].taken = true;
    return put_op(r, &r->ops[i], end_ns, true, err);
}

static int put_all(struct reading *r, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; i < r->n && code == INQ_OK; i++) {
        const struct op *op = &r->ops[i];
        bool half = is_half(r, i, INQ_HLO_START) || is_half(r, i, INQ_HLO_DONE);
        if (r->of->beside) {
            code = put_op(r, op, op->end_ns, true, err);
        } else if (op->container || (half && r->of->halves)) {
            code = put_note(r, op, err);
        } else if (is_half(r, i, INQ_HLO_START)) {
            code = put_pair(r, i, err);
        } else if (!op->taken) {
            code = put_op(r, op, op->end_ns, false, err);
        }
    }
    return code;
}

/* Adds the ops of a line to the rank. Ops that only hold others (loops, calls) become notes; the
 * two halves of an asynchronous op become one row, from its start to its end, on a lane of its own.
 * Fails with INQ_NOMEM, INQ_LIMIT. */
static int xla_read_ops(struct inq_xla_file *file, const struct ops_line *of, struct inq_err *err)
{
    struct reading r = {.file = file, .of = of};
    int code = gather(&r, err);
    for (size_t k = 0; k < MAX_ASYNC_LANES; k++) {
        r.lane_end_ns[k] = INT64_MIN;
    }
    if (code == INQ_OK) {
        code = inq_sort(r.ops, r.n, sizeof *r.ops, by_time, NULL, err);
    }
    if (code == INQ_OK) {
        find_containers(&r);
        code = put_all(&r, err);
    }
    inq_mem_free(r.ops);
    inq_mem_free(r.infos);
    inq_map_release(&r.by_meta);
    return code;
}

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
    op = xla_op_name(hlo_op->n > 0 ? *hlo_op : op);
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
    int code = xla_describe_comm(shard, &hlo, &comm, err);
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
    struct ops_line ops = {.plane = d->plane,
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
        return xla_read_ops(d->file, &ops, err);
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
        if (code == INQ_OK && !file->full) { /* the source may want an end */
            code = inq_source_ask(file->source, -1, &file->full, err);
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
