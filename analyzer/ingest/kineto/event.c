/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of an event: GPU work, driver calls, annotations, collectives; slices of generic
 * traces. Everything else streams past. */
#include "ingest/kineto/kineto.h"

#include "base/mem.h"

#include <string.h>

/* Name prefixes of cpu_ops that are kept. */
static const char comm_op[] = "record_param_comms";
static const char step_op[] = "ProfilerStep#";

static bool starts_with(struct inq_text text, const char *prefix)
{
    size_t n = strlen(prefix);
    return text.n >= n && memcmp(text.p, prefix, n) == 0;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Start and duration of a complete event; false (and counted) when it has no place in time. */
static bool times_of(struct inq_kineto *k, const struct inq_scan_event *event, int64_t offset,
                     int64_t *start_ns, int64_t *dur_ns)
{
    if (!INQ_HAS(event, TS)) {
        inq_kineto_damage(k, INQ_DAMAGE_BAD_EVENT, 1, offset);
        return false;
    }
    *start_ns = event->number[INQ_FIELD_TS];
    *dur_ns = INQ_HAS(event, DUR) ? event->number[INQ_FIELD_DUR] : 0;
    if (*dur_ns < 0) {
        inq_kineto_damage(k, INQ_DAMAGE_NEGATIVE_DURATION, 1, offset);
        *dur_ns = 0;
    }
    if (*start_ns > INQ_KINETO_MAX_TIME || *start_ns < -INQ_KINETO_MAX_TIME ||
        *dur_ns > INQ_KINETO_MAX_TIME) {
        inq_kineto_damage(k, INQ_DAMAGE_BAD_NUMBER, 1, offset);
        return false;
    }
    k->rank->fractional_us |= event->fraction;
    return true;
}

/* ---- operators ------------------------------------------------------------------------------- */

static int take_operator(struct inq_kineto *k, const struct inq_scan_event *event, int64_t offset)
{
    struct inq_launch row = {0};
    uint32_t index = 0;
    int code = inq_kineto_name(k, event->text[INQ_FIELD_NAME], offset, &row.op);
    if (code == INQ_OK && INQ_HAS(event, DIMS)) {
        code = inq_kineto_name(k, event->text[INQ_FIELD_DIMS], offset, &row.dims);
    }
    if (code == INQ_OK && INQ_HAS(event, TYPES)) {
        code = inq_kineto_name(k, event->text[INQ_FIELD_TYPES], offset, &row.types);
    }
    if (code == INQ_OK) {
        code = inq_launches_add(&k->inputs, &row, &index, k->err);
    }
    return code == INQ_OK
               ? inq_map_put(&k->op_by_id, (uint64_t)event->number[INQ_FIELD_EXTERNAL_ID], index,
                             k->err)
               : code;
}

/* What a copy moved. */
static int take_bytes(struct inq_kineto *k, const struct inq_scan_event *event, uint32_t *launch)
{
    struct inq_launch row = {.bytes = event->number[INQ_FIELD_BYTES]};
    return row.bytes > 0 ? inq_launches_add(&k->shard->launches, &row, launch, k->err) : INQ_OK;
}

/* Sizes of the inputs of an operator that is work itself, for want of a device. */
static int take_sizes(struct inq_kineto *k, const struct inq_scan_event *event, int64_t offset,
                      uint32_t *launch)
{
    struct inq_launch row = {0};
    int code = inq_kineto_name(k, event->text[INQ_FIELD_DIMS], offset, &row.dims);
    return code == INQ_OK ? inq_launches_add(&k->shard->launches, &row, launch, k->err) : code;
}

/* ---- launches: grids and blocks. A trace has few distinct pairs, written alike each time, so a
 * memo of their texts answers nearly always. */

/* Three sizes from a list, one of fewer has ones behind; false when that is not what it is. */
static bool read_sizes(struct inq_text list, int32_t sizes[3])
{
    int n = 0;
    bool in_number = false;
    int64_t value = 0;
    for (uint32_t i = 0; i < list.n; i++) {
        char c = list.p[i];
        if (c >= '0' && c <= '9') {
            value = (in_number ? value * 10 : 0) + (c - '0');
            in_number = true;
            if (value > INT32_MAX) {
                return false;
            }
            continue;
        }
        if (in_number && n < 3) {
            sizes[n] = (int32_t)value;
        }
        n += in_number;
        in_number = false;
    }
    for (int i = n; i < 3; i++) {
        sizes[i] = 1;
    }
    return n >= 1 && n <= 3 && sizes[0] > 0 && sizes[1] > 0 && sizes[2] > 0;
}

static int find_launch(struct inq_kineto *k, const struct inq_scan_event *event, uint32_t *launch)
{
    struct inq_launch row = {0};
    *launch = 0;
    if (!read_sizes(event->text[INQ_FIELD_GRID], row.grid) ||
        !read_sizes(event->text[INQ_FIELD_BLOCK], row.block)) {
        return INQ_OK;
    }
    return inq_launches_add(&k->shard->launches, &row, launch, k->err);
}

/* Of lists as Kineto writes them the first bytes and the lengths tell most apart. */
static struct inq_grid_memo *memo_of(struct inq_kineto *k, struct inq_text grid,
                                     struct inq_text block)
{
    uint64_t a;
    uint64_t b;
    memcpy(&a, grid.p, sizeof a);
    memcpy(&b, block.p, sizeof b);
    uint64_t h = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) + (uint64_t)grid.n * 31 + block.n;
    return &k->grids[(h * UINT64_C(0xd6e8feb86659fd93)) >> 56];
}

/* The shard's row of launches for the grid and the block of a kernel; 0 when they are not there or
 * are no sizes. */
static int grid_of(struct inq_kineto *k, const struct inq_scan_event *event, uint32_t *launch)
{
    struct inq_text grid = event->text[INQ_FIELD_GRID];
    struct inq_text block = event->text[INQ_FIELD_BLOCK];
    *launch = 0;
    if (!INQ_HAS(event, BLOCK)) {
        return INQ_OK;
    }
    if (grid.n < 8 || block.n < 8 || grid.n + block.n > INQ_GRID_TEXT) {
        return find_launch(k, event, launch);
    }
    if (k->grids == NULL) {
        k->grids = inq_mem_zalloc(INQ_GRID_MEMO, sizeof *k->grids);
        if (k->grids == NULL) {
            return inq_err_set(k->err, INQ_NOMEM, "out of memory for launches");
        }
    }
    struct inq_grid_memo *memo = memo_of(k, grid, block);
    if (memo->grid_n == grid.n && memo->block_n == block.n &&
        memcmp(memo->text, grid.p, grid.n) == 0 &&
        memcmp(memo->text + grid.n, block.p, block.n) == 0) {
        *launch = memo->launch;
        return INQ_OK;
    }
    int code = find_launch(k, event, launch);
    if (code == INQ_OK) {
        memcpy(memo->text, grid.p, grid.n);
        memcpy(memo->text + grid.n, block.p, block.n);
        memo->grid_n = (uint8_t)grid.n;
        memo->block_n = (uint8_t)block.n;
        memo->launch = *launch;
    }
    return code;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* GPU work: the communication of a kernel too. */
static int add_gpu_work(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat,
                        struct inq_part *part, int64_t offset)
{
    bool comm = cat == INQ_CAT_KERNEL &&
                (INQ_HAS(event, COLLECTIVE) ||
                 inq_kernel_class(&k->classes, &k->shard->names, part->name) == INQ_CLASS_COMM);
    int code = comm ? inq_kineto_comm(k, event, true, offset, &part->comm) : INQ_OK;
    if (code == INQ_OK && INQ_HAS(event, GRID)) {
        code = grid_of(k, event, &part->launch);
    }
    if (code == INQ_OK && k->shard->operators && cat == INQ_CAT_MEMCPY && INQ_HAS(event, BYTES)) {
        code = take_bytes(k, event, &part->launch);
    }
    return code == INQ_OK ? inq_kineto_add_row(k, cat, part) : code;
}

/* Whether a cpu_op of that name is an annotation. */
static bool is_note(enum inq_cat cat, struct inq_text name)
{
    int64_t number;
    return starts_with(name, step_op) ||
           (cat == INQ_CAT_OPERATOR &&
            inq_classify_note(name.p, name.n, &number) != INQ_NOTE_OTHER);
}

/* Whether anything of a complete event is kept; the class under which it is. */
static bool wanted(const struct inq_kineto *k, const struct inq_scan_event *event,
                   enum inq_cat *cat)
{
    switch (*cat) {
    case INQ_CAT_CPU_OP:
    case INQ_CAT_OPERATOR:
        if (k->exported || !INQ_HAS(event, NAME)) {
            return false;
        }
        *cat = is_note(*cat, event->text[INQ_FIELD_NAME]) ? INQ_CAT_NOTE : INQ_CAT_CPU_OP;
        return *cat == INQ_CAT_NOTE || inq_kineto_may_be_cpu(k);
    case INQ_CAT_PASSING:
        return false;
    case INQ_CAT_OTHER: /* until the names of all processes are known */
        if (INQ_HAS(event, NAME) && starts_with(event->text[INQ_FIELD_NAME], step_op)) {
            *cat = INQ_CAT_NOTE; /* of profilers that write no categories */
        }
        return true;
    case INQ_CAT_OP:
    case INQ_CAT_NOTE:
    case INQ_CAT_GPU_NOTE:
    case INQ_CAT_KERNEL:
    case INQ_CAT_MEMCPY:
    case INQ_CAT_MEMSET:
    case INQ_CAT_SYNC:
    case INQ_CAT_CALL:
        return true;
    }
    return false;
}

/* What every kept event has: its name, its lane, its ids. */
static int take_part(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat,
                     int64_t offset, struct inq_part *part)
{
    int code = INQ_HAS(event, NAME)
                   ? inq_kineto_name(k, event->text[INQ_FIELD_NAME], offset, &part->name)
                   : INQ_OK;
    if (code == INQ_OK) {
        code = inq_kineto_lane(k, event, cat, &part->lane);
    }
    bool sized = cat == INQ_CAT_CPU_OP || (k->exported && cat == INQ_CAT_KERNEL);
    if (code == INQ_OK && sized && INQ_HAS(event, DIMS)) {
        code = take_sizes(k, event, offset, &part->launch);
    }
    if (INQ_HAS(event, CORRELATION)) {
        part->correlation = event->number[INQ_FIELD_CORRELATION];
    }
    if (INQ_HAS(event, EXTERNAL_ID)) {
        part->external_id = event->number[INQ_FIELD_EXTERNAL_ID];
    }
    return code;
}

static int add_complete(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat,
                        int64_t offset)
{
    bool op = (cat == INQ_CAT_CPU_OP || cat == INQ_CAT_OPERATOR) && INQ_HAS(event, NAME);
    if (op && k->shard->operators && INQ_HAS(event, EXTERNAL_ID)) {
        int code = take_operator(k, event, offset);
        if (code != INQ_OK) {
            return code;
        }
    }
    struct inq_part part = {.correlation = -1, .comm = INQ_NONE};
    if (op && inq_text_is(event->text[INQ_FIELD_NAME], comm_op)) {
        int code = inq_kineto_comm(k, event, false, offset, &part.comm);
        if (code != INQ_OK || part.comm == INQ_NONE || !inq_kineto_may_be_cpu(k)) {
            return code;
        }
        cat = INQ_CAT_CPU_OP;
    }
    if (!wanted(k, event, &cat) || !times_of(k, event, offset, &part.start_ns, &part.dur_ns)) {
        return INQ_OK;
    }
    int code = take_part(k, event, cat, offset, &part);
    if (code != INQ_OK) {
        return code;
    }
    k->shard->file.events_kept++;
    if (k->exported) {
        bool is_op;
        code = inq_kineto_export_op(k, event, &part, &is_op);
        if (code != INQ_OK || is_op) {
            return code;
        }
    }
    switch (cat) {
    case INQ_CAT_CALL:
        return inq_rank_add_call(k->rank, part.start_ns, part.dur_ns, part.name, part.lane,
                                 part.correlation, k->err);
    case INQ_CAT_NOTE:
    case INQ_CAT_GPU_NOTE:
        return inq_kineto_add_note(k, cat, &part);
    case INQ_CAT_OTHER:
        code = inq_kineto_note_device(k, event, offset);
        break;
    case INQ_CAT_CPU_OP:
    case INQ_CAT_OPERATOR:
    case INQ_CAT_KERNEL:
    case INQ_CAT_MEMCPY:
    case INQ_CAT_MEMSET:
    case INQ_CAT_SYNC:
    case INQ_CAT_PASSING:
    case INQ_CAT_OP:
        break;
    }
    return code != INQ_OK ? code : add_gpu_work(k, event, cat, &part, offset);
}

/* ---- metadata -------------------------------------------------------------------------------- */

/* Names of threads and processes; everything else that 'M' events say is of no interest. */
static int take_metadata(struct inq_kineto *k, const struct inq_scan_event *event, int64_t offset)
{
    if (!INQ_HAS(event, NAME) || !INQ_HAS(event, ARG_NAME)) {
        return INQ_OK;
    }
    if (inq_text_is(event->text[INQ_FIELD_NAME], "process_name")) {
        return inq_kineto_note_device(k, event, offset);
    }
    if (!inq_text_is(event->text[INQ_FIELD_NAME], "thread_name")) {
        return INQ_OK;
    }
    uint32_t thread = 0;
    inq_str name = 0;
    int code = inq_kineto_thread(k, event, &thread);
    if (code == INQ_OK) {
        code = inq_kineto_name(k, event->text[INQ_FIELD_ARG_NAME], offset, &name);
    }
    if (code == INQ_OK) {
        k->threads[thread].name = name;
    }
    return code;
}

/* The first event of the array: where HTA's table begins. */
static void take_first(struct inq_kineto *k, const struct inq_scan_event *event)
{
    if (INQ_HAS(event, TS) && INQ_HAS(event, DUR) && INQ_HAS(event, CAT) &&
        !inq_text_is(event->text[INQ_FIELD_CAT], "Trace")) {
        k->rank->has_row0 = true;
        k->rank->row0_ns = event->number[INQ_FIELD_TS];
    }
}

/* The process, from the first event of the host. */
static void take_pid(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat)
{
    bool host = cat == INQ_CAT_CPU_OP || cat == INQ_CAT_OPERATOR || cat == INQ_CAT_NOTE ||
                cat == INQ_CAT_CALL;
    if (!host || event->ph != 'X') {
        return;
    }
    k->has_host = true;
    if (INQ_HAS(event, PID) && event->text[INQ_FIELD_PID].p == NULL) {
        k->rank->pid = event->number[INQ_FIELD_PID];
    }
}

/* Whether only a recording of a device has events of that class. */
static bool is_of_device(enum inq_cat cat)
{
    return cat == INQ_CAT_KERNEL || cat == INQ_CAT_MEMCPY || cat == INQ_CAT_MEMSET ||
           cat == INQ_CAT_SYNC || cat == INQ_CAT_GPU_NOTE || cat == INQ_CAT_CALL;
}

static int add_half(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat,
                    int64_t offset)
{
    if (!INQ_HAS(event, TS) || event->number[INQ_FIELD_TS] > INQ_KINETO_MAX_TIME ||
        event->number[INQ_FIELD_TS] < -INQ_KINETO_MAX_TIME) {
        inq_kineto_damage(k, INQ_DAMAGE_BAD_EVENT, 1, offset);
        return INQ_OK;
    }
    struct inq_half half = {.ts = event->number[INQ_FIELD_TS],
                            .correlation = -1,
                            .lane = INQ_NONE,
                            .order = (uint32_t)k->n_halves,
                            .cat = (uint8_t)cat,
                            .begin = event->ph == 'B'};
    if (INQ_HAS(event, CORRELATION) && cat != INQ_CAT_OTHER) {
        half.correlation = event->number[INQ_FIELD_CORRELATION];
    }
    k->rank->fractional_us |= event->fraction;
    int code = inq_mem_grow(&k->halves, &k->cap_halves, k->n_halves + 1, sizeof *k->halves,
                            INQ_MAX_ROWS, k->err);
    if (code == INQ_OK) {
        code = inq_kineto_thread(k, event, &half.thread);
    }
    if (code == INQ_OK && INQ_HAS(event, NAME)) {
        code = inq_kineto_name(k, event->text[INQ_FIELD_NAME], offset, &half.name);
    }
    if (code == INQ_OK && half.begin) {
        code = inq_kineto_lane(k, event, cat, &half.lane);
    }
    if (code == INQ_OK) {
        k->halves[k->n_halves++] = half;
    }
    return code;
}

static int32_t small(const struct inq_scan_event *event, enum inq_scan_field field)
{
    int64_t value = (event->has >> field & 1) != 0 ? event->number[field] : -1;
    return value < 0 || value > INT32_MAX ? -1 : (int32_t)value;
}

static int add_op(struct inq_kineto *k, const struct inq_scan_event *event, int64_t offset)
{
    if (!INQ_HAS(event, TS) || !INQ_HAS(event, DUR) ||
        event->number[INQ_FIELD_TS] > INQ_KINETO_MAX_TIME ||
        event->number[INQ_FIELD_TS] < -INQ_KINETO_MAX_TIME ||
        event->number[INQ_FIELD_DUR] > INQ_KINETO_MAX_TIME) {
        inq_kineto_damage(k, INQ_DAMAGE_BAD_EVENT, 1, offset);
        return INQ_OK;
    }
    struct inq_text cat = event->text[INQ_FIELD_CAT];
    struct inq_op_note op = {.row = {.start_ns = event->number[INQ_FIELD_TS],
                                     .dur_ns = event->number[INQ_FIELD_DUR],
                                     .label = {.step = small(event, INQ_FIELD_STEP),
                                               .micro_batch = small(event, INQ_FIELD_MICRO_BATCH),
                                               .chunk = small(event, INQ_FIELD_CHUNK),
                                               .seq = small(event, INQ_FIELD_SEQ_ID)}}};
    if (op.row.dur_ns < 0) {
        inq_kineto_damage(k, INQ_DAMAGE_NEGATIVE_DURATION, 1, offset);
        op.row.dur_ns = 0;
    }
    k->rank->fractional_us |= event->fraction;
    op.row.label.type = inq_op_type_from_name(cat.p, cat.n);
    int code = inq_kineto_name(k, cat, offset, &op.row.name);
    if (code == INQ_OK) {
        code = inq_kineto_thread(k, event, &op.thread);
    }
    if (code == INQ_OK) {
        code =
            inq_mem_grow(&k->ops, &k->cap_ops, k->n_ops + 1, sizeof *k->ops, INQ_MAX_ROWS, k->err);
    }
    if (code == INQ_OK) {
        const char *name = inq_strtab_get(&k->shard->names, op.row.name);
        op.row.role = inq_op_role(op.row.label.type, name);
        op.row.cls = inq_op_class(op.row.label.type, name);
        k->ops[k->n_ops++] = op;
        k->shard->file.events_kept++;
    }
    return code;
}

static int take_event(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat,
                      int64_t offset)
{
    if (k->exported) {
        bool known = false;
        k->shard->file.events++;
        int code = event->ph == 'X' ? inq_kineto_export_enter(k, event, &known) : INQ_OK;
        return code == INQ_OK && known ? add_complete(k, event, cat, offset) : code;
    }
    if (k->shard->file.events++ == 0) {
        take_first(k, event);
    }
    if (!k->has_host) {
        take_pid(k, event, cat);
    }
    if (event->ph == 'X' || event->ph == 'B') { /* others are passed over before they are known */
        k->kineto |= cat != INQ_CAT_OTHER && cat != INQ_CAT_OP;
        k->device |= is_of_device(cat);
    }
    switch (event->ph) {
    case 'X':
        return cat == INQ_CAT_OP ? add_op(k, event, offset) : add_complete(k, event, cat, offset);
    case 'B':
    case 'E':
        return wanted(k, event, &cat) || event->ph == 'E' ? add_half(k, event, cat, offset)
                                                          : INQ_OK;
    case 'M':
        return take_metadata(k, event, offset);
    default:
        return INQ_OK;
    }
}

int inq_kineto_event(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat,
                     int64_t offset)
{
    int code = take_event(k, event, cat, offset);
    k->named.p = NULL; /* other text will be there */
    return code;
}
