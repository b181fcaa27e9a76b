/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that rocprofv3 writes of one process (--output-format csv): PID_kernel_trace.csv has
 * the kernels. Copies, calls and markers are tables of their own, which no number joins with the
 * kernels of theirs but for calls; JSON holds all in one file. */
#include "ingest/rocprof/rows.h"

#include "base/mem.h"
#include "ingest/ingest.h"

#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct inq_rocprof_record, member)

/* By the titles of their columns; a newer version writes some of them in other letters. */
static const struct {
    const char *title;
    size_t at;
} columns[] = {
    {"Agent_Id", AT(agent)},
    {"Queue_Id", AT(queue)},
    {"Stream_Id", AT(stream)},
    {"Thread_Id", AT(thread)},
    {"Kernel_Id", AT(kernel)},
    {"Correlation_Id", AT(correlation)},
    {"Start_Timestamp", AT(start_ns)},
    {"End_Timestamp", AT(end_ns)},
    {"Workgroup_Size_X", AT(block)},
    {"Workgroup_Size_Y", AT(block) + sizeof(int64_t)},
    {"Grid_Size_X", AT(grid)},
    {"Workgroup_Size_Z", AT(block) + 2 * sizeof(int64_t)},
    {"Grid_Size_Y", AT(grid) + sizeof(int64_t)},
    {"Grid_Size_Z", AT(grid) + 2 * sizeof(int64_t)},
};

enum { N_COLUMNS = sizeof columns / sizeof *columns, MAX_FIELDS = 64 };

/* What each field of a line is: a column, or one of these. */
enum { NOTHING = -1, NAME = N_COLUMNS };

/* A time beyond 73 years since the machine was booted is none. */
#define MAX_TIME_NS (INT64_MAX / 4)

struct reading {
    struct inq_rocprof process;
    bool has_titles; /* the line of them was passed */
    int n_fields;
    int column_of[MAX_FIELDS];
};

/* Whether these are the titles of the table of kernels. */
static bool find_columns(const char *line, const char *end, struct reading *r)
{
    struct inq_text field;
    uint32_t found = 0;
    for (r->n_fields = 0; r->n_fields < MAX_FIELDS && inq_csv_field(&line, end, &field);
         r->n_fields++) {
        int column = inq_text_is(field, "Kernel_Name") ? NAME : NOTHING;
        for (int c = 0; c < N_COLUMNS && column == NOTHING; c++) {
            column = inq_text_is(field, columns[c].title) ? c : NOTHING;
        }
        r->column_of[r->n_fields] = column;
        found |= column != NOTHING ? 1U << column : 0;
    }
    /* the agent, the kernel, start, end, and its name */
    static const uint32_t needed = 1U << 0 | 1U << 4 | 1U << 6 | 1U << 7 | 1U << NAME;
    return (found & needed) == needed;
}

/* Those of the first line. */
static bool find_titles(const char *head, size_t n, struct reading *r)
{
    const char *stop = n > 0 ? memchr(head, '\n', n) : NULL;
    return stop != NULL && find_columns(head, stop, r);
}

/* "7", or "Agent 7" as newer versions have it. -1: no number. */
static int64_t number_of(struct inq_text text)
{
    static const char agent[] = "Agent ";
    int64_t value = -1;
    size_t skip = text.n > 6 && memcmp(text.p, agent, 6) == 0 ? 6 : 0;
    return inq_scan_int(text.p + skip, text.n - skip, &value) && value >= 0 ? value : -1;
}

static void parse_line(const void *ctx, const struct inq_line *line, void *row)
{
    const struct reading *r = ctx;
    struct inq_rocprof_record *record = row;
    struct inq_text field;
    const char *at = line->p;
    *record = (struct inq_rocprof_record){
        .kind = -1, .operation = -1, .thread = -1, .correlation = -1, .start_ns = -1};
    record->end_ns = record->kernel = record->agent = record->queue = record->stream = -1;
    for (int i = 0; i < r->n_fields && inq_csv_field(&at, line->p + line->n, &field); i++) {
        int column = r->column_of[i];
        if (column == NAME) {
            record->formatted = field;
        } else if (column != NOTHING) {
            *(int64_t *)(void *)((char *)record + columns[column].at) = number_of(field);
        }
    }
}

static int take_line(void *ctx, const struct inq_line *line, void *row, struct inq_err *err)
{
    struct reading *r = ctx;
    struct inq_file *file = &r->process.shard->file;
    const struct inq_rocprof_record *record = row;
    if (!r->has_titles) { /* the first line, as sniffed */
        r->has_titles = true;
        return INQ_OK;
    }
    file->events++;
    bool good = record->formatted.n > 0 && record->kernel >= 0 && record->start_ns >= 0 &&
                record->end_ns >= record->start_ns && record->end_ns <= MAX_TIME_NS;
    inq_damage_add(&file->damage, INQ_DAMAGE_BAD_EVENT, !good, line->offset);
    if (!good) {
        return INQ_OK;
    }
    /* that kernels ran there says what it is */
    struct inq_rocprof_record agent = {.type = 2, .handle = record->agent, .units = -1};
    uint32_t none;
    bool known = false;
    for (size_t i = 0; i < r->process.n_gpus && !known; i++) {
        known = r->process.gpus[i].handle == record->agent;
    }
    int code = known ? INQ_OK : inq_rocprof_agent(&r->process, &agent, err);
    if (code == INQ_OK && !inq_map_get(&r->process.kernels, (uint64_t)record->kernel, &none)) {
        code = inq_rocprof_symbol(&r->process, record, err);
    }
    return code == INQ_OK ? inq_rocprof_dispatch(&r->process, record, err) : code;
}

/* By default the file's name begins with the process. */
static int64_t pid_of(const char *path)
{
    enum { MAX_DIGITS = 10 };
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t n = strspn(name, "0123456789");
    bool is = n > 0 && n <= MAX_DIGITS && strncmp(name + n, "_kernel_trace", 13) == 0;
    return is ? strtoll(name, NULL, 10) : -1;
}

/* One of rocprofv3's other tables: they have the same titles of times. */
static bool is_other(const char *head, size_t n)
{
    static const char *const firsts[] = {"\"Kind\",\"Direction\"", "\"Kind\",\"Operation\"",
                                         "\"Domain\",\"Function\""};
    static const char times[] = "\"Start_Timestamp\",\"End_Timestamp\"";
    bool is = false;
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        size_t len = strlen(firsts[i]);
        is = is || (n >= len && memcmp(head, firsts[i], len) == 0);
    }
    return is && memmem(head, n, times, sizeof times - 1) != NULL;
}

static int refuse_other(struct inq_shard *shard, struct inq_err *err)
{
    shard->file.reason = "rocprofv3's copies, calls or markers as a table: of tables only "
                         "kernel_trace.csv is read; --output-format json holds all";
    return inq_err_set(err, INQ_UNSUPPORTED, "%s", shard->file.reason);
}

static int read_kernels(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    const char *head = NULL;
    size_t n = 0;
    shard->file.format = INQ_ROCPROF_FORMAT;
    int code = inq_source_peek(source, &head, &n, err);
    if (code == INQ_OK && is_other(head, n)) {
        return refuse_other(shard, err);
    }
    struct reading *r = code == INQ_OK ? inq_mem_zalloc(1, sizeof *r) : NULL;
    if (r == NULL) {
        return code != INQ_OK ? code : inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    r->process.shard = shard;
    code = inq_rocprof_begin(&r->process, err);
    if (code == INQ_OK) {
        struct inq_lines lines = {.jobs = shard->jobs,
                                  .ctx = r,
                                  .row_size = sizeof(struct inq_rocprof_record),
                                  .parse = parse_line,
                                  .take = take_line,
                                  .damage = &shard->file.damage};
        shard->ranks[r->process.rank].pid = pid_of(shard->file.path);
        (void)find_titles(head, n, r);
        code = inq_lines_read(source, &lines, err);
    }
    if (shard->n_ranks > 0) {
        int finished = inq_rocprof_finish(&r->process, err);
        code = code == INQ_OK ? finished : code;
    }
    if (code == INQ_OK) {
        shard->file.reason = shard->ranks[0].events.n > 0
                                 ? "kernels only: rocprofv3 --output-format json holds launches, "
                                   "copies and RCCL's calls as well"
                                 : "no device work recognized: a table without kernels";
    }
    inq_mem_free(r);
    return code;
}

static int sniff_kernels(const char *head, size_t n, const char *path)
{
    enum { SURE = 97 };
    struct reading r;
    (void)path;
    return find_titles(head, n, &r) || is_other(head, n) ? SURE : 0;
}

const struct inq_reader inq_reader_rocprof_csv = {
    .name = "rocprof-csv",
    .summary = "rocprofv3 (ROCm), kernel_trace.csv: kernels",
    .sniff = sniff_kernels,
    .read = read_kernels,
};
