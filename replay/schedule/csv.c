/* SPDX-License-Identifier: Apache-2.0 */
/* torch.distributed.pipelining CSV in and out. */
#include "schedule/schedule.h"

#include "base/mem.h"
#include "inquest/out.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct reader {
    const char *text;
    size_t len, at;
    int32_t row, column;
    int32_t line;            /* of the file, from 1 */
    size_t line_at, cell_at; /* where the line and the text of the cell begin */
    struct inq_schedule *out;
    size_t cap_ranks;
    struct inq_csv_info *info;
    size_t count_i, count_w, count_bw, count_new; /* cells that tell the dialect */
    char *cell; /* the cell being read, unquoted, NUL-terminated */
    size_t n_cell, cap_cell;
    struct inq_err *err;
};

enum { MAX_CELL = 4096 };

/* How the letters of a cell read before the dialect is known; BW is only in 2024 files. */
enum { LETTERS_BW = INQ_ACTION_KIND_COUNT };

/* Where the cell at hand begins in its line, from 1, as editors count. */
static int32_t begins(const struct reader *in)
{
    return (int32_t)(in->cell_at - in->line_at) + 1;
}

static int bad_cell(struct reader *in, const char *why)
{
    struct inq_csv_fault *fault = &in->info->fault;
    *fault = (struct inq_csv_fault){
        .line = in->line, .column = begins(in), .rank = in->row, .cell = in->column};
    (void)snprintf(fault->text, sizeof fault->text, "%.47s", in->cell);
    (void)snprintf(fault->message, sizeof fault->message, "%s", why);
    return inq_err_at(in->err, INQ_FORMAT, NULL, (int64_t)in->cell_at,
                      "row %" PRId32 ", cell %" PRId32 " '%s': %s", in->line, in->column + 1,
                      in->cell, why);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static int append_char(struct reader *in, char c)
{
    if (in->n_cell >= MAX_CELL) {
        return bad_cell(in, "longer than any cell should be");
    }
    int code = inq_mem_grow(&in->cell, &in->cap_cell, in->n_cell + 2, 1, MAX_CELL + 2, in->err);
    if (code == INQ_OK) {
        in->cell[in->n_cell++] = c;
        in->cell[in->n_cell] = '\0';
    }
    return code;
}

/* Takes the next cell (RFC 4180 quotes) and what ended it: ',', '\n', or 0 at the end. */
static int next_cell(struct reader *in, char *end)
{
    bool quoted = false;
    in->n_cell = 0;
    in->cell[0] = '\0';
    in->cell_at = in->at;
    while (in->cell_at < in->len && strchr(" \t\"", in->text[in->cell_at]) != NULL) {
        in->cell_at++;
    }
    while (in->at < in->len) {
        char c = in->text[in->at++];
        bool doubled = quoted && c == '"' && in->at < in->len && in->text[in->at] == '"';
        if (c == '"' && !doubled) {
            quoted = !quoted;
            continue;
        }
        in->at += doubled;
        if (!quoted && (c == ',' || c == '\n')) {
            *end = c;
            return INQ_OK;
        }
        int code = c == '\r' ? INQ_OK : append_char(in, c);
        if (code != INQ_OK) {
            return code;
        }
    }
    *end = '\0';
    return INQ_OK;
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t");
}

/* Decimal digits to *value; NULL when there are none or too many. */
static const char *parse_number(const char *p, int32_t *value)
{
    size_t n = strspn(p, "0123456789");
    if (n == 0 || n > 8) {
        return NULL;
    }
    *value = 0;
    for (size_t i = 0; i < n; i++) {
        *value = *value * 10 + (p[i] - '0');
    }
    return p + n;
}

/* The longest kind that `p` starts with, BW included. */
static const char *parse_kind(const char *p, int *kind)
{
    size_t longest = 0;
    for (int k = INQ_ACTION_F; k < INQ_ACTION_OVERLAP_F_B; k++) {
        const char *text = inq_action_text((enum inq_action_kind)k);
        size_t n = strlen(text);
        if (n > longest && strncmp(p, text, n) == 0) {
            longest = n;
            *kind = k;
        }
    }
    if (strncmp(p, "BW", 2) == 0) {
        longest = 2;
        *kind = LETTERS_BW;
    }
    return longest == 0 ? NULL : p + longest;
}

static int add_action(struct reader *in, const struct inq_action *action)
{
    struct inq_rank_actions *list = &in->out->ranks[in->row];
    int code = inq_mem_grow(&list->actions, &list->cap, list->n + 1, sizeof *list->actions,
                            INQ_MAX_SCHEDULE_ACTIONS, in->err);
    if (code == INQ_OK) {
        list->actions[list->n++] = *action;
    }
    return code;
}

static void count_action(struct reader *in, int kind, int32_t stage, int32_t microbatch)
{
    struct inq_schedule *out = in->out;
    in->count_i += kind == INQ_ACTION_I;
    in->count_w += kind == INQ_ACTION_W;
    in->count_bw += kind == LETTERS_BW;
    in->count_new += kind == INQ_ACTION_REDUCE_GRAD;
    out->has_comms = out->has_comms || (kind >= INQ_ACTION_SEND_F && kind <= INQ_ACTION_RECV_B);
    out->n_stages = stage >= out->n_stages ? stage + 1 : out->n_stages;
    out->n_microbatches = microbatch >= out->n_microbatches ? microbatch + 1 : out->n_microbatches;
}

/* One plain action at *p, which moves behind it. */
static int parse_action(struct reader *in, const char **p)
{
    struct inq_action action = {.microbatch = -1, .column = in->column, .begins = begins(in)};
    int kind = 0;
    const char *at = parse_number(skip_blanks(*p), &action.stage);
    at = at == NULL ? NULL : parse_kind(at, &kind);
    if (at == NULL) {
        return bad_cell(in, "expected STAGE KIND MICRO-BATCH, as in 0F1 or 2SEND_B0");
    }
    if (action.stage >= INQ_MAX_SCHEDULE_RANKS * 16) {
        return bad_cell(in, "stage out of range");
    }
    const char *behind = parse_number(at, &action.microbatch);
    if (behind != NULL && action.microbatch >= INQ_MAX_SCHEDULE_MICROBATCHES) {
        return bad_cell(in, "micro-batch out of range");
    }
    *p = behind == NULL ? at : behind;
    action.kind = (uint8_t)kind;
    count_action(in, kind, action.stage, action.microbatch);
    return add_action(in, &action);
}

/* "(a;b)OVERLAP_F_B": the composite, then its parts. */
static int parse_composite(struct reader *in, const char *p)
{
    const char *close = strchr(p, ')');
    if (close == NULL || strncmp(skip_blanks(close + 1), "OVERLAP_F_B", 11) != 0) {
        return bad_cell(in, "expected (A;B)OVERLAP_F_B");
    }
    struct inq_rank_actions *list = &in->out->ranks[in->row];
    size_t head = list->n;
    in->count_new++;
    int code = add_action(in, &(struct inq_action){.kind = INQ_ACTION_OVERLAP_F_B,
                                                   .stage = -1,
                                                   .microbatch = -1,
                                                   .column = in->column,
                                                   .begins = begins(in)});
    p++;
    while (code == INQ_OK) {
        code = parse_action(in, &p);
        p = skip_blanks(p);
        if (code != INQ_OK || *p == ')') {
            break;
        }
        if (*p != ';') {
            return bad_cell(in, "expected ';' or ')' between the parts");
        }
        p++;
    }
    if (code == INQ_OK && list->n - head - 1 > UINT8_MAX) {
        return bad_cell(in, "too many parts");
    }
    if (code == INQ_OK) {
        list->actions[head].n_sub = (uint8_t)(list->n - head - 1);
    }
    return code;
}

static int parse_cell(struct reader *in)
{
    const char *p = skip_blanks(in->cell);
    in->info->cells++;
    if (*p == '\0') {
        in->info->empty_cells++;
        return add_action(in, &(struct inq_action){.kind = INQ_ACTION_IDLE,
                                                   .stage = -1,
                                                   .microbatch = -1,
                                                   .column = in->column,
                                                   .begins = begins(in)});
    }
    if (*p == '(') {
        return parse_composite(in, p);
    }
    int code = parse_action(in, &p);
    if (code == INQ_OK && *skip_blanks(p) != '\0') {
        return bad_cell(in, "one action a cell, and cells separated by commas");
    }
    return code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int start_row(struct reader *in)
{
    struct inq_schedule *out = in->out;
    if (in->row >= INQ_MAX_SCHEDULE_RANKS) {
        return inq_err_set(in->err, INQ_LIMIT, "more than %d ranks", INQ_MAX_SCHEDULE_RANKS);
    }
    int code = inq_mem_grow(&out->ranks, &in->cap_ranks, (size_t)in->row + 1, sizeof *out->ranks,
                            INQ_MAX_SCHEDULE_RANKS, in->err);
    if (code == INQ_OK) {
        out->ranks[in->row] = (struct inq_rank_actions){.line = in->line};
        out->n_ranks = in->row + 1;
    }
    return code;
}

static void pass_blank_line(struct reader *in)
{
    struct inq_csv_info *info = in->info;
    info->first_blank_line = info->blank_lines++ == 0 ? in->line : info->first_blank_line;
}

/* Cells of one line; a quoted one may go on over several. */
static int read_row(struct reader *in, bool *more)
{
    in->column = 0;
    in->line++;
    in->line_at = in->at;
    char end = ',';
    int code = next_cell(in, &end);
    if (code == INQ_OK && end != ',' && *skip_blanks(in->cell) == '\0') {
        pass_blank_line(in);
    } else if (code == INQ_OK) {
        code = start_row(in);
        if (code == INQ_OK) {
            code = parse_cell(in);
        }
        while (code == INQ_OK && end == ',') {
            in->column++;
            code = next_cell(in, &end);
            if (code == INQ_OK) {
                code = parse_cell(in);
            }
        }
        in->row++;
    }
    *more = end == '\n' && in->at < in->len;
    return code;
}

/* ---- after the last row ---------------------------------------------------------------------- */

static void choose_dialect(struct reader *in, enum inq_csv_dialect told)
{
    struct inq_csv_info *info = in->info;
    info->dialect_certain = true;
    if (told != INQ_CSV_DETECT) {
        info->dialect = told;
    } else if (in->count_bw > 0 || (in->count_w > 0 && in->count_i == 0 && in->count_new == 0)) {
        info->dialect = INQ_CSV_2024; /* W without I can only belong to a B that is half of it */
    } else { /* OVERLAP_F_B and REDUCE_GRAD are younger than the change of letters */
        info->dialect = INQ_CSV_CURRENT;
        info->dialect_certain = in->count_i > 0 || in->count_new > 0;
    }
}

static void translate(struct reader *in)
{
    bool old = in->info->dialect == INQ_CSV_2024;
    for (int32_t r = 0; r < in->out->n_ranks; r++) {
        struct inq_rank_actions *list = &in->out->ranks[r];
        for (size_t i = 0; i < list->n; i++) {
            uint8_t *kind = &list->actions[i].kind;
            if (*kind == LETTERS_BW) {
                *kind = INQ_ACTION_B;
            } else if (old && *kind == INQ_ACTION_B) {
                *kind = INQ_ACTION_I;
            }
        }
    }
}

/* The rank of a stage is the first row that computes it; -1 for a stage no row computes (lint
 * reports that, and a stage on two ranks). */
static int map_stages(struct reader *in)
{
    struct inq_schedule *out = in->out;
    out->stage_rank = inq_mem_alloc((size_t)out->n_stages * sizeof *out->stage_rank);
    if (out->stage_rank == NULL) {
        return inq_err_set(in->err, INQ_NOMEM, "out of memory for a schedule");
    }
    for (int32_t s = 0; s < out->n_stages; s++) {
        out->stage_rank[s] = -1;
    }
    for (int32_t r = 0; r < out->n_ranks; r++) {
        const struct inq_rank_actions *list = &out->ranks[r];
        for (size_t i = 0; i < list->n; i++) {
            const struct inq_action *action = &list->actions[i];
            bool computes = action->kind >= INQ_ACTION_F && action->kind <= INQ_ACTION_B;
            if (computes && out->stage_rank[action->stage] < 0) {
                out->stage_rank[action->stage] = r;
            }
        }
    }
    return inq_schedule_find_name(out, in->err);
}

/* A schedule has each micro-batch on each stage, so a few cells with great numbers are none, and
 * whatever looks at all of them would take memory that the file's size does not justify. Much may
 * be missing all the same: lint says what. */
static int check_numbers(const struct reader *in)
{
    enum { FEW = 1 << 20, PER_ACTION = 256 };
    const struct inq_schedule *s = in->out;
    size_t n = 0;
    for (int32_t r = 0; r < s->n_ranks; r++) {
        n += s->ranks[r].n;
    }
    if ((size_t)s->n_stages * (size_t)s->n_microbatches <= FEW + PER_ACTION * n) {
        return INQ_OK;
    }
    return inq_err_set(in->err, INQ_LIMIT,
                       "%zu actions name stages up to %" PRId32 " and micro-batches up to %" PRId32
                       ": far too few for a schedule; correct the numbers that are too great",
                       n, s->n_stages - 1, s->n_microbatches - 1);
}

static int read_rows(struct reader *in, enum inq_csv_dialect dialect)
{
    int code = inq_mem_grow(&in->cell, &in->cap_cell, 1, 1, MAX_CELL + 2, in->err);
    bool more = in->len > 0;
    while (code == INQ_OK && more) {
        code = read_row(in, &more);
    }
    if (code == INQ_OK && in->out->n_stages == 0) {
        static const char none[] = "no action in it: not a pipeline schedule";
        in->info->fault = (struct inq_csv_fault){.rank = -1, .cell = -1};
        (void)snprintf(in->info->fault.message, sizeof in->info->fault.message, "%s", none);
        code = inq_err_set(in->err, INQ_FORMAT, "%s", none);
    }
    code = code == INQ_OK ? check_numbers(in) : code;
    if (code == INQ_OK) {
        choose_dialect(in, dialect);
        translate(in);
        code = map_stages(in);
    }
    return code;
}

int inq_schedule_read_csv(const char *text, size_t len, enum inq_csv_dialect dialect,
                          struct inq_schedule *out, struct inq_csv_info *info, struct inq_err *err)
{
    *out = (struct inq_schedule){.kind = "csv", .n_pipelines = 1, .n_segments = 1};
    *info = (struct inq_csv_info){0};
    struct reader in = {.text = text, .len = len, .out = out, .info = info, .err = err};
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        in.at = 3; /* a byte-order mark, as spreadsheets write it */
    }
    int code = read_rows(&in, dialect);
    inq_mem_free(in.cell);
    if (code != INQ_OK) {
        inq_schedule_release(out);
    }
    return code;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A plain cell in the letters of 2024: B was the input gradient, BW the full backward. */
static const char *old_cell(const struct inq_action *action, char *cell, size_t size)
{
    const char *letters = action->kind == INQ_ACTION_I ? "B" : "BW";
    if (action->kind != INQ_ACTION_I && action->kind != INQ_ACTION_B) {
        return inq_action_format(action, cell, size);
    }
    (void)snprintf(cell, size, "%" PRId32 "%s%" PRId32, action->stage, letters, action->microbatch);
    return cell;
}

static void write_row(struct inq_out *out, const struct inq_rank_actions *list, bool old)
{
    char cell[48];
    bool first = true;
    for (size_t i = 0; i < list->n; i++) {
        const struct inq_action *action = &list->actions[i];
        if (action->kind == INQ_ACTION_SPLIT || action->kind == INQ_ACTION_UPDATE) {
            continue; /* PyTorch's parser knows no such cell: they stand around the pipeline */
        }
        inq_out_text(out, first ? "" : ",");
        first = false;
        if (action->kind != INQ_ACTION_OVERLAP_F_B) {
            inq_out_text(out, old ? old_cell(action, cell, sizeof cell)
                                  : inq_action_format(action, cell, sizeof cell));
            continue;
        }
        inq_out_text(out, "(");
        for (size_t part = 0; part < action->n_sub; part++) {
            inq_out_text(out, part > 0 ? ";" : "");
            inq_out_text(out, inq_action_format(&list->actions[++i], cell, sizeof cell));
        }
        inq_out_text(out, ")OVERLAP_F_B");
    }
    inq_out_text(out, "\n");
}

int inq_schedule_write_dialect(const struct inq_schedule *schedule, enum inq_csv_dialect dialect,
                               struct inq_sink sink, struct inq_err *err)
{
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    bool old = dialect == INQ_CSV_2024;
    for (int32_t r = 0; old && r < schedule->n_ranks; r++) {
        for (size_t i = 0; i < schedule->ranks[r].n; i++) {
            uint8_t kind = schedule->ranks[r].actions[i].kind;
            if (kind == INQ_ACTION_OVERLAP_F_B || kind == INQ_ACTION_REDUCE_GRAD) {
                return inq_err_set(err, INQ_UNSUPPORTED,
                                   "the dialect of 2024 has no cell for %s (rank %" PRId32 ")",
                                   inq_action_text((enum inq_action_kind)kind), r);
            }
        }
    }
    for (int32_t r = 0; r < schedule->n_ranks; r++) {
        write_row(&out, &schedule->ranks[r], old);
    }
    return inq_out_end(&out, INQ_OK, "a schedule", err);
}

int inq_schedule_write_csv(const struct inq_schedule *schedule, struct inq_sink sink,
                           struct inq_err *err)
{
    return inq_schedule_write_dialect(schedule, INQ_CSV_CURRENT, sink, err);
}
