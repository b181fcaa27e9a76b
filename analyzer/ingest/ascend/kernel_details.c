/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kernels that Ascend's profiler writes of one process: kernel_details.csv of
 * torch_npu and MindSpore, op_summary_*.csv of msprof. A row has the step, the stream, what ran it,
 * and when; what launched it is only in trace_view.json. */
#include "ingest/ingest.h"

#include "base/mem.h"
#include "base/sort.h"
#include "ingest/scan/scan.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- lines ----------------------------------------------------------------------------------- */

enum column { STEP, DEVICE, STREAM, NAME, TYPE, CORE, START, DURATION, SHAPES, DTYPES, N_COLUMNS };

/* By either program's words. */
static const char *const titles[N_COLUMNS][2] = {
    [STEP] = {"Step Id", "Step ID"},
    [DEVICE] = {"Device_id", "Device_ID"},
    [STREAM] = {"Stream ID", "Stream Id"},
    [NAME] = {"Name", "Op Name"},
    [TYPE] = {"Type", "OP Type"},
    [CORE] = {"Accelerator Core", "Task Type"},
    [START] = {"Start Time(us)", "Task Start Time(us)"},
    [DURATION] = {"Duration(us)", "Task Duration(us)"},
    [SHAPES] = {"Input Shapes", "Input Shapes"},
    [DTYPES] = {"Input Data Types", "Input Data Types"},
};

/* More columns are none: metrics of cores are some dozens. */
enum { MAX_FIELDS = 256 };

/* What the fields of a line are, up to the last that is of interest. */
struct titles {
    int n;
    int column[MAX_FIELDS]; /* N_COLUMNS: of no interest */
};

/* Whether the line of titles has those of kernels. */
static bool find_columns(const char *line, const char *end, struct titles *found)
{
    struct inq_text field;
    bool has[N_COLUMNS] = {false};
    found->n = 0;
    for (int i = 0; i < MAX_FIELDS && inq_csv_field(&line, end, &field); i++) {
        found->column[i] = N_COLUMNS;
        for (int c = 0; c < N_COLUMNS; c++) {
            if (!has[c] && (inq_text_is(field, titles[c][0]) || inq_text_is(field, titles[c][1]))) {
                has[c] = true;
                found->column[i] = c;
                found->n = i + 1;
            }
        }
    }
    return has[NAME] && has[CORE] && has[START] && has[DURATION];
}

/* Those of the first line. */
static bool find_titles(const char *head, size_t n, struct titles *found)
{
    if (n >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0) {
        head += 3;
        n -= 3;
    }
    const char *stop = n > 0 ? memchr(head, '\n', n) : NULL;
    found->n = 0;
    return stop != NULL && find_columns(head, stop, found);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The wall clock in 2001: what is below counts from the start of something. And the year 2100. */
#define MIN_EPOCH_NS ((int64_t)1000000000 * 1000000000)
#define MAX_TIME_NS  ((int64_t)4102444800 * 1000000000)
/* A kernel of more than a day is none. */
#define MAX_DUR_NS ((int64_t)86400 * 1000000000)
/* Where the table has no streams (level 0): computing and communication go on beside each other. */
enum { LANE_COMPUTE = 0, LANE_COPY = 1, LANE_COMM = 2 };

/* When the first row of a step begins. */
struct step {
    int64_t number, start_ns;
};

/* What a line says. Numbers: -1 not there. */
struct row {
    struct inq_text fields[N_COLUMNS];
    int64_t start_ns, dur_ns, step, stream, device;
    bool good, comm; /* comm: of a collective */
};

struct reading {
    struct inq_shard *shard;
    struct inq_rank *rank;
    struct titles titles;
    bool has_titles; /* the line of them was passed */
    struct step *steps;
    size_t n_steps, cap_steps;
    int64_t end_ns;
    struct inq_kernel_classes classes;
};

static int add_name(struct reading *r, struct inq_text text, inq_str *name, struct inq_err *err)
{
    if (text.n == 0 || inq_text_is(text, "N/A")) {
        return INQ_OK;
    }
    return inq_scan_name(text, &r->shard->names, name, err);
}

static int64_t number_of(const struct row *row, enum column column)
{
    int64_t value;
    struct inq_text text = row->fields[column];
    return text.n > 0 && inq_scan_int(text.p, text.n, &value) && value >= 0 ? value : -1;
}

static int note_step(struct reading *r, int64_t number, int64_t start_ns, struct inq_err *err)
{
    if (number < 0) {
        return INQ_OK;
    }
    for (size_t i = r->n_steps; i > 0; i--) { /* nearly always the last */
        struct step *step = &r->steps[i - 1];
        if (step->number == number) {
            step->start_ns = start_ns < step->start_ns ? start_ns : step->start_ns;
            return INQ_OK;
        }
    }
    enum { MAX_STEPS = 1 << 16 };
    int code =
        inq_mem_grow(&r->steps, &r->cap_steps, r->n_steps + 1, sizeof *r->steps, MAX_STEPS, err);
    if (code == INQ_OK) {
        r->steps[r->n_steps++] = (struct step){number, start_ns};
    }
    return code;
}

/* "hcom_allReduce__231_17_1" is the 17th of the group whose name ends in 231 as a hash. */
static int add_comm(struct reading *r, inq_str name, uint32_t *index, struct inq_err *err)
{
    const char *text = inq_strtab_get(&r->shard->names, name);
    struct inq_hccl_name parsed = inq_hccl_name(text);
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.kind = inq_coll_from_kernel(text, strlen(text));
    comm.op_name = name;
    comm.seq = parsed.number;
    inq_str group = 0;
    int code = INQ_OK;
    if (parsed.group_n > 0) {
        code = inq_strtab_add(&r->shard->names, parsed.group, parsed.group_n, &group, err);
        code = code == INQ_OK
                   ? inq_shard_add_group(r->shard, group, 0, -1, NULL, 0, &comm.group, err)
                   : code;
    }
    return code == INQ_OK ? inq_rank_add_comm(r->rank, &comm, index, err) : code;
}

static int add_launch(struct reading *r, const struct row *row, uint32_t *index,
                      struct inq_err *err)
{
    struct inq_launch launch = {0};
    int code = add_name(r, row->fields[TYPE], &launch.op, err);
    code = code == INQ_OK ? add_name(r, row->fields[SHAPES], &launch.dims, err) : code;
    code = code == INQ_OK ? add_name(r, row->fields[DTYPES], &launch.types, err) : code;
    return code == INQ_OK ? inq_launches_add(&r->shard->launches, &launch, index, err) : code;
}

/* What ran it is no core where it is a collective. */
static bool is_collective(const struct row *row)
{
    struct inq_text core = row->fields[CORE];
    struct inq_text name = row->fields[NAME];
    return inq_text_is(core, "HCCL") || inq_text_is(core, "COMMUNICATION") ||
           (name.n > 5 && strncasecmp(name.p, "hcom_", 5) == 0 && !inq_text_is(core, "AI_CORE") &&
            !inq_text_is(core, "AI_VECTOR_CORE"));
}

static int add_row(struct reading *r, const struct row *own, struct inq_err *err)
{
    struct inq_event_row row = {.start_ns = own->start_ns,
                                .dur_ns = own->dur_ns,
                                .call = INQ_NONE,
                                .comm = INQ_NONE,
                                .label = INQ_NONE,
                                .kind = INQ_EVENT_KERNEL};
    int code = add_name(r, own->fields[NAME], &row.name, err);
    if (code != INQ_OK) {
        return code;
    }
    bool comm = own->comm;
    row.cls = comm ? INQ_CLASS_COMM : inq_kernel_class(&r->classes, &r->shard->names, row.name);
    if (row.cls == INQ_CLASS_COMM && !comm) {
        return INQ_OK; /* a core that runs all of a collective, which has its own row */
    }
    row.kind = row.cls == INQ_CLASS_COPY ? INQ_EVENT_MEMCPY : INQ_EVENT_KERNEL;
    int64_t lane = comm ? LANE_COMM : row.cls == INQ_CLASS_COPY ? LANE_COPY : LANE_COMPUTE;
    code = inq_rank_lane(r->rank, INQ_LANE_STREAM,
                         own->device <= INT32_MAX ? (int32_t)own->device : -1,
                         own->stream >= 0 && !comm ? own->stream : lane, &row.lane, err);
    code = code == INQ_OK && comm ? add_comm(r, row.name, &row.comm, err) : code;
    code = code == INQ_OK && !comm ? add_launch(r, own, &row.launch, err) : code;
    code = code == INQ_OK ? note_step(r, own->step, own->start_ns, err) : code;
    int64_t end_ns = own->start_ns + own->dur_ns;
    r->end_ns = end_ns > r->end_ns ? end_ns : r->end_ns;
    r->rank->has_clock_epoch = r->rank->has_clock_epoch || own->start_ns >= MIN_EPOCH_NS;
    return code == INQ_OK ? inq_rank_add_event(r->rank, &row, err) : code;
}

static void parse_line(const void *ctx, const struct inq_line *line, void *out)
{
    const struct reading *r = ctx;
    struct row *row = out;
    struct inq_text field;
    bool fraction = false;
    const char *at = line->p;
    for (int i = 0; i < r->titles.n && inq_csv_field(&at, line->p + line->n, &field); i++) {
        if (r->titles.column[i] < N_COLUMNS) {
            row->fields[r->titles.column[i]] = field;
        }
    }
    struct inq_text start = row->fields[START];
    struct inq_text dur = row->fields[DURATION];
    row->good = row->fields[NAME].n > 0 && start.n > 0 && dur.n > 0 &&
                inq_scan_time(start.p, start.n, &row->start_ns, &fraction) &&
                inq_scan_time(dur.p, dur.n, &row->dur_ns, &fraction) && row->start_ns >= 0 &&
                row->start_ns <= MAX_TIME_NS && row->dur_ns >= 0 && row->dur_ns <= MAX_DUR_NS;
    row->comm = is_collective(row);
    row->step = number_of(row, STEP);
    row->stream = number_of(row, STREAM);
    row->device = number_of(row, DEVICE);
}

static int take_line(void *ctx, const struct inq_line *line, void *row, struct inq_err *err)
{
    struct reading *r = ctx;
    const struct row *own = row;
    if (!r->has_titles) { /* the first line, as sniffed */
        r->has_titles = true;
        return INQ_OK;
    }
    r->shard->file.events++;
    inq_damage_add(&r->shard->file.damage, INQ_DAMAGE_BAD_EVENT, !own->good, line->offset);
    return own->good ? add_row(r, own, err) : INQ_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b, void *ctx)
{
    const struct step *x = a;
    const struct step *y = b;
    (void)ctx;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* A step lasts until the next one begins: what idles between two is the first one's. */
static int add_steps(struct reading *r, struct inq_err *err)
{
    int code = inq_sort(r->steps, r->n_steps, sizeof *r->steps, by_start, NULL, err);
    for (size_t i = 0; i < r->n_steps && code == INQ_OK; i++) {
        int64_t end_ns = i + 1 < r->n_steps ? r->steps[i + 1].start_ns : r->end_ns;
        struct inq_note note = {.start_ns = r->steps[i].start_ns,
                                .dur_ns = end_ns - r->steps[i].start_ns,
                                .number = r->steps[i].number,
                                .kind = INQ_NOTE_STEP};
        code = inq_strtab_add(&r->shard->names, "Step Id", 7, &note.name, err);
        code =
            code == INQ_OK ? inq_rank_lane(r->rank, INQ_LANE_THREAD, -1, 0, &note.lane, err) : code;
        code = code == INQ_OK ? inq_rank_add_note(r->rank, &note, err) : code;
    }
    return code;
}

/* ---- the reader ------------------------------------------------------------------------------ */

static int read_details(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    uint32_t index = 0;
    const char *head = NULL;
    size_t n = 0;
    struct reading *r = inq_mem_zalloc(1, sizeof *r);
    if (r == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    shard->file.format = inq_reader_ascend.name;
    int code = inq_shard_add_rank(shard, &index, err);
    code = code == INQ_OK ? inq_source_peek(source, &head, &n, err) : code;
    if (code == INQ_OK) {
        struct inq_lines lines = {.jobs = shard->jobs,
                                  .ctx = r,
                                  .row_size = sizeof(struct row),
                                  .parse = parse_line,
                                  .take = take_line,
                                  .damage = &shard->file.damage};
        r->shard = shard;
        r->rank = &shard->ranks[index];
        (void)find_titles(head, n, &r->titles);
        code = inq_lines_read(source, &lines, err);
    }
    if (code == INQ_OK) {
        code = inq_strtab_add(&shard->names, "Ascend NPU", 10, &r->rank->device_name, err);
    }
    code = code == INQ_OK ? add_steps(r, err) : code;
    if (code == INQ_OK) {
        shard->file.reason = r->rank->events.n > 0 ? "no launches: they are in trace_view.json"
                                                   : "no device work is recognized";
    }
    inq_kernel_classes_release(&r->classes);
    inq_mem_free(r->steps);
    inq_mem_free(r);
    return code;
}

static int sniff_details(const char *head, size_t n, const char *path)
{
    struct titles found;
    (void)path;
    return find_titles(head, n, &found) ? 97 : 0;
}

static size_t folder_of(const struct inq_shard *shard)
{
    const char *slash = strrchr(shard->file.path, '/');
    return slash != NULL ? (size_t)(slash - shard->file.path) + 1 : 0;
}

/* The same kernels are in the trace of the same folder, with their launches. In the order of paths
 * that stands close by. */
static int join_details(struct inq_shard *shards, size_t n, struct inq_err *err)
{
    (void)err;
    for (size_t i = 0; i < n; i++) {
        struct inq_shard *own = &shards[i];
        size_t folder = folder_of(own);
        bool details = own->file.read && own->file.format != NULL &&
                       strcmp(own->file.format, "ascend-kernels") == 0;
        for (size_t k = i + 1; details && k < n && folder_of(&shards[k]) == folder &&
                               memcmp(shards[k].file.path, own->file.path, folder) == 0;
             k++) {
            if (shards[k].file.read &&
                strncmp(shards[k].file.path + folder, "trace_view.json", 15) == 0) {
                inq_unrecognized_set_aside(own, "its kernels are in trace_view.json beside it");
                details = false;
            }
        }
    }
    return INQ_OK;
}

const struct inq_reader inq_reader_ascend = {
    .name = "ascend-kernels",
    .summary = "Ascend's kernel_details.csv, op_summary: kernels and HCCL operations by step",
    .sniff = sniff_details,
    .read = read_details,
    .join = join_details,
};
