/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of partials. A section that is damaged costs its rows; the rest is kept. */
#include "ingest/ingest.h"

#include "base/hash.h"
#include "inquest/out.h"
#include "base/mem.h"
#include "ingest/partial/columns.h"
#include "ingest/partial/partial.h"

#include <stddef.h>
#include <string.h>

/* One section's rows before they go into the shard. */
union scratch {
    struct inq_launch launches[INQ_PARTIAL_ROWS];
    struct inq_lane lanes[INQ_PARTIAL_ROWS];
    struct inq_step_total totals[INQ_PARTIAL_ROWS];
    struct inq_label labels[INQ_PARTIAL_ROWS];
    struct inq_comm comms[INQ_PARTIAL_ROWS];
    struct inq_note notes[INQ_PARTIAL_ROWS];
    struct {
        int64_t start_ns[INQ_PARTIAL_ROWS], dur_ns[INQ_PARTIAL_ROWS], correlation[INQ_PARTIAL_ROWS];
        inq_str name[INQ_PARTIAL_ROWS];
        uint32_t lane[INQ_PARTIAL_ROWS], call[INQ_PARTIAL_ROWS], comm[INQ_PARTIAL_ROWS],
            label[INQ_PARTIAL_ROWS], launch[INQ_PARTIAL_ROWS];
        uint8_t kind[INQ_PARTIAL_ROWS], cls[INQ_PARTIAL_ROWS];
    } columns;
};

struct reading {
    struct inq_source *source;
    struct inq_shard *shard;
    struct inq_err *err;
    char *bytes; /* decompressed, not yet taken */
    size_t n, at, cap;
    uint64_t offset; /* of bytes[at] in the decompressed file */
    bool at_end;     /* of the source */
    union scratch *scratch;
    struct inq_rank *rank; /* NULL: its section was lost */
    uint32_t rank_index;   /* as the sections number it */
    uint32_t *launch_of;   /* [n_launches] as numbered in the file -> the shard's */
    size_t n_launches, cap_launches;
    size_t group_ranks; /* listed so far */
    char *raw;          /* of a file that is no trace */
    size_t n_raw, cap_raw;
    struct inq_column_limits limits;
    bool ended;
    int code;
};

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Whether `need` bytes are at hand; takes more from the source. */
static bool have(struct reading *r, size_t need)
{
    while (r->code == INQ_OK && r->n - r->at < need && !r->at_end) {
        const char *chunk = NULL;
        size_t n = 0;
        r->code = inq_source_next(r->source, &chunk, &n, r->err);
        r->at_end = n == 0;
        if (r->code == INQ_OK && n > 0) {
            if (r->at > 0) { /* else there may be no buffer yet */
                memmove(r->bytes, r->bytes + r->at, r->n - r->at);
                r->n -= r->at;
                r->at = 0;
            }
            r->code = inq_mem_grow(&r->bytes, &r->cap, r->n + n, 1, SIZE_MAX / 2, r->err);
        }
        if (r->code == INQ_OK && n > 0) {
            memcpy(r->bytes + r->n, chunk, n);
            r->n += n;
        }
    }
    return r->code == INQ_OK && r->n - r->at >= need;
}

static void skip(struct reading *r, size_t n)
{
    r->at += n;
    r->offset += n;
}

static void damage(struct reading *r, enum inq_damage_kind kind, uint64_t n)
{
    inq_damage_add(&r->shard->file.damage, kind, n, (int64_t)r->offset);
}

static enum inq_partial_section section_of(const char tag[4])
{
    static const char *const tags[] = {
#define TAG(name, tag) tag,
        INQ_PARTIAL_SECTIONS(TAG)
#undef TAG
    };
    int s = 0;
    while (s < INQ_PARTIAL_SECTION_COUNT && memcmp(tags[s], tag, 4) != 0) {
        s++;
    }
    return (enum inq_partial_section)s;
}

/* The head at hand, if it is one. */
static bool is_head(const struct reading *r, struct inq_partial_head *head)
{
    if (section_of(r->bytes + r->at) == INQ_PARTIAL_SECTION_COUNT) {
        return false;
    }
    memcpy(head, r->bytes + r->at, sizeof *head);
    return inq_crc32(head, offsetof(struct inq_partial_head, head_crc)) == head->head_crc &&
           head->rows <= INQ_PARTIAL_ROWS && head->bytes <= INQ_PARTIAL_BYTES;
}

/* The next head that is whole: what a damaged section left is skipped. False at the end. */
static bool next_head(struct reading *r, struct inq_partial_head *head)
{
    uint64_t garbage = 0;
    while (have(r, sizeof *head)) {
        if (is_head(r, head)) {
            damage(r, INQ_DAMAGE_GARBAGE, garbage);
            return true;
        }
        garbage++;
        skip(r, 1);
    }
    damage(r, INQ_DAMAGE_GARBAGE, garbage + (r->n - r->at));
    return false;
}

/* ---- sections -------------------------------------------------------------------------------- */

struct bytes {
    const unsigned char *p, *end;
};

static bool read_text(struct bytes *in, const char **text, size_t *n)
{
    uint32_t len = 0;
    if ((size_t)(in->end - in->p) < sizeof len) {
        return false;
    }
    memcpy(&len, in->p, sizeof len);
    in->p += sizeof len;
    if ((size_t)(in->end - in->p) < len || memchr(in->p, 0, len) != NULL) {
        return false;
    }
    *text = (const char *)in->p;
    *n = len;
    in->p += len;
    return true;
}

static bool take_strings(struct reading *r, const struct inq_partial_head *head, struct bytes *in)
{
    if (head->first != inq_strtab_count(&r->shard->names)) {
        return false; /* ids would shift */
    }
    for (uint32_t i = 0; i < head->rows && r->code == INQ_OK; i++) {
        const char *text = NULL;
        size_t n = 0;
        uint32_t id = 0;
        if (!read_text(in, &text, &n)) {
            return false;
        }
        r->code = inq_strtab_add(&r->shard->names, text, n, &id, r->err);
        if (id != head->first + i) {
            return false;
        }
    }
    return true;
}

static bool take_file(struct reading *r, struct bytes *in)
{
    struct inq_shard *shard = r->shard;
    struct inq_file file = {0};
    struct inq_columns columns;
    const char *text[3];
    for (int i = 0; i < 3; i++) {
        size_t n = 0;
        if (!read_text(in, &text[i], &n)) {
            return false;
        }
        text[i] = inq_arena_strndup(&shard->arena, text[i], n);
        if (text[i] == NULL) {
            r->code = inq_err_set(r->err, INQ_NOMEM, "out of memory");
            return true;
        }
    }
    inq_columns_of_file(&file, &columns);
    if (text[0][0] == '\0' || text[1][0] == '\0' ||
        !inq_columns_unpack(&columns, 1, &in->p, in->end, &r->limits)) {
        return false;
    }
    file.path = text[0];
    file.format = text[1];
    file.reason = text[2];
    for (int kind = 0; kind < INQ_DAMAGE_KIND_COUNT; kind++) { /* of the partial so far */
        inq_damage_add(&file.damage, (enum inq_damage_kind)kind, shard->file.damage.count[kind],
                       shard->file.damage.first_offset[kind]);
    }
    shard->file = file;
    return true;
}

/* The ranks ascend, and are as many as the group says. */
static bool runs_ascend(const struct inq_rank_runs *runs)
{
    int64_t before = -1;
    int64_t left = (int64_t)runs->n_ranks;
    for (size_t i = 0; i < runs->n; i++) {
        const struct inq_rank_run *run = &runs->rows[i];
        bool spaced = run->n == 1 ? run->stride == 0 : run->stride > 0;
        if (run->n < 1 || run->n > left || run->first <= before || run->first > INT32_MAX ||
            !spaced || (run->n > 1 && run->stride > (INT32_MAX - run->first) / (run->n - 1))) {
            return false;
        }
        before = run->first + run->stride * (run->n - 1);
        left -= run->n;
    }
    return left == 0;
}

/* The `n` runs of a group of `n_ranks`; false when the section has no such. */
static bool unpack_runs(struct reading *r, uint32_t n, uint32_t n_ranks, struct inq_rank_runs *runs,
                        struct bytes *in)
{
    enum { NUMBERS = sizeof *runs->rows / sizeof(int64_t) }; /* a byte each at least */
    if (n > (size_t)(in->end - in->p) / NUMBERS) {
        return false;
    }
    runs->n = n;
    runs->n_ranks = n_ranks;
    runs->rows = inq_mem_zalloc(n, sizeof *runs->rows);
    if (runs->rows == NULL) {
        r->code = inq_err_set(r->err, INQ_NOMEM, "out of memory");
        return true;
    }
    const struct inq_columns columns = {
        .n = 1, .at = {{runs->rows, sizeof(int64_t), sizeof(int64_t), INQ_COLUMN_NUMBER, 0}}};
    return inq_columns_unpack(&columns, (size_t)NUMBERS * n, &in->p, in->end, &r->limits) &&
           runs_ascend(runs);
}

static bool take_group(struct reading *r, const struct inq_partial_head *head, struct bytes *in)
{
    struct inq_group group = {0};
    struct inq_rank_runs runs = {0};
    struct inq_shard *shard = r->shard;
    struct inq_columns columns;
    inq_columns_of_groups(&group, &columns);
    if (head->first != shard->n_groups ||
        !inq_columns_unpack(&columns, 1, &in->p, in->end, &r->limits) ||
        group.n_ranks > INQ_PARTIAL_GROUP_RANKS - r->group_ranks) {
        return false;
    }
    bool sound = unpack_runs(r, head->flags, group.n_ranks, &runs, in);
    if (sound && r->code == INQ_OK) {
        r->code = inq_mem_grow(&shard->groups, &shard->cap_groups, shard->n_groups + 1,
                               sizeof group, INQ_MAX_GROUPS, r->err);
    }
    if (sound && r->code == INQ_OK) {
        r->code = inq_shard_keep_runs(shard, &runs, &group, r->err);
    }
    if (sound && r->code == INQ_OK) {
        shard->groups[shard->n_groups++] = group;
        r->group_ranks += group.n_ranks;
    }
    inq_mem_free(runs.rows);
    return sound;
}

/* What nobody asked for is left out: then launches that differ in nothing else are one. */
static int take_launch(struct reading *r, struct inq_launch row, bool asked)
{
    if (asked && !r->shard->operators) {
        row.op = row.dims = row.types = row.module = row.source = 0;
        row.bytes = 0;
    }
    int code = inq_mem_grow(&r->launch_of, &r->cap_launches, r->n_launches + 1,
                            sizeof *r->launch_of, INQ_MAX_ROWS, r->err);
    if (code == INQ_OK) {
        code = inq_launches_add(&r->shard->launches, &row, &r->launch_of[r->n_launches], r->err);
        r->n_launches++;
    }
    return code;
}

static void take_bytes(struct reading *r, const struct bytes *in)
{
    size_t n = (size_t)(in->end - in->p);
    r->code = inq_mem_grow(&r->raw, &r->cap_raw, r->n_raw + n, 1, SIZE_MAX / 2, r->err);
    if (r->code == INQ_OK && n > 0) {
        memcpy(r->raw + r->n_raw, in->p, n);
        r->n_raw += n;
    }
}

static bool take_rank(struct reading *r, const struct inq_partial_head *head, struct bytes *in)
{
    struct inq_rank row = {.clock = {.residual_ns = -1}};
    struct inq_columns columns;
    uint32_t index = 0;
    r->rank = NULL;
    r->rank_index = head->rank;
    inq_columns_of_rank(&row, &columns);
    if (!inq_columns_unpack(&columns, 1, &in->p, in->end, &r->limits)) {
        return false;
    }
    r->code = inq_shard_add_rank(r->shard, &index, r->err);
    if (r->code == INQ_OK) {
        r->rank = &r->shard->ranks[index];
        *r->rank = row;
    }
    return true;
}

static bool is_of_rank(const struct reading *r, const struct inq_partial_head *head)
{
    return r->rank != NULL && r->rank_index == head->rank;
}

static bool unpack(struct reading *r, const struct inq_partial_head *head, struct bytes *in,
                   const struct inq_columns *columns)
{
    return inq_columns_unpack(columns, head->rows, &in->p, in->end, &r->limits);
}

static bool take_launches(struct reading *r, const struct inq_partial_head *head, struct bytes *in)
{
    bool asked = (head->flags & INQ_PARTIAL_ASKED_OPERATORS) != 0;
    struct inq_columns columns;
    inq_columns_of_launches(r->scratch->launches, &columns);
    memset(r->scratch->launches, 0, head->rows * sizeof *r->scratch->launches);
    if (head->first != r->n_launches || !unpack(r, head, in, &columns)) {
        return false;
    }
    for (uint32_t i = 0; i < head->rows && r->code == INQ_OK; i++) {
        r->code = take_launch(r, r->scratch->launches[i], asked);
    }
    return true;
}

static bool take_lanes(struct reading *r, const struct inq_partial_head *head, struct bytes *in)
{
    struct inq_columns columns;
    inq_columns_of_lanes(r->scratch->lanes, &columns);
    if (!is_of_rank(r, head) || head->first != r->rank->n_lanes || !unpack(r, head, in, &columns)) {
        return false;
    }
    r->code = inq_mem_grow(&r->rank->lanes, &r->rank->cap_lanes, r->rank->n_lanes + head->rows,
                           sizeof *r->rank->lanes, INQ_MAX_LANES, r->err);
    if (r->code == INQ_OK && head->rows > 0) { /* else there may be no array yet */
        memcpy(r->rank->lanes + r->rank->n_lanes, r->scratch->lanes,
               head->rows * sizeof *r->rank->lanes);
        r->rank->n_lanes += head->rows;
    }
    return true;
}

static bool take_totals(struct reading *r, const struct inq_partial_head *head, struct bytes *in)
{
    struct inq_columns columns;
    inq_columns_of_totals(r->scratch->totals, &columns);
    memset(r->scratch->totals, 0, head->rows * sizeof *r->scratch->totals);
    if (!is_of_rank(r, head) || !unpack(r, head, in, &columns)) {
        return false;
    }
    for (uint32_t i = 0; i < head->rows && r->code == INQ_OK; i++) {
        const struct inq_step_total *total = &r->scratch->totals[i];
        size_t n = r->rank->n_totals;
        if (n > 0 && r->rank->totals[n - 1].number >= total->number) {
            return false; /* they are found by their numbers */
        }
        r->code = inq_mem_grow(&r->rank->totals, &r->rank->cap_totals, n + 1, sizeof *total,
                               INQ_MAX_ROWS, r->err);
        if (r->code == INQ_OK) {
            r->rank->totals[r->rank->n_totals++] = *total;
        }
    }
    return true;
}

static bool take_labels(struct reading *r, const struct inq_partial_head *head, struct bytes *in)
{
    struct inq_columns columns;
    uint32_t index = 0;
    inq_columns_of_labels(r->scratch->labels, &columns);
    if (!is_of_rank(r, head) || head->first != r->rank->n_labels ||
        !unpack(r, head, in, &columns)) {
        return false;
    }
    for (uint32_t i = 0; i < head->rows && r->code == INQ_OK; i++) {
        r->code = inq_rank_add_label(r->rank, &r->scratch->labels[i], &index, r->err);
    }
    return true;
}

static bool take_comms(struct reading *r, const struct inq_partial_head *head, struct bytes *in)
{
    struct inq_columns columns;
    uint32_t index = 0;
    inq_columns_of_comms(r->scratch->comms, &columns);
    memset(r->scratch->comms, 0, head->rows * sizeof *r->scratch->comms);
    if (!is_of_rank(r, head) || head->first != r->rank->n_comms || !unpack(r, head, in, &columns)) {
        return false;
    }
    for (uint32_t i = 0; i < head->rows && r->code == INQ_OK; i++) {
        r->code = inq_rank_add_comm(r->rank, &r->scratch->comms[i], &index, r->err);
    }
    return true;
}

static bool take_calls(struct reading *r, const struct inq_partial_head *head, struct bytes *in)
{
    union scratch *s = r->scratch;
    const struct inq_calls calls = {.start_ns = s->columns.start_ns,
                                    .dur_ns = s->columns.dur_ns,
                                    .name = s->columns.name,
                                    .lane = s->columns.lane,
                                    .correlation = s->columns.correlation};
    struct inq_columns columns;
    inq_columns_of_calls(&calls, &columns);
    if (!is_of_rank(r, head) || head->first != r->rank->calls.n || !unpack(r, head, in, &columns)) {
        return false;
    }
    for (uint32_t i = 0; i < head->rows && r->code == INQ_OK; i++) {
        r->code = inq_rank_add_call(r->rank, calls.start_ns[i], calls.dur_ns[i], calls.name[i],
                                    calls.lane[i], calls.correlation[i], r->err);
    }
    return true;
}

static bool take_notes(struct reading *r, const struct inq_partial_head *head, struct bytes *in)
{
    struct inq_columns columns;
    inq_columns_of_notes(r->scratch->notes, &columns);
    if (!is_of_rank(r, head) || !unpack(r, head, in, &columns)) {
        return false;
    }
    for (uint32_t i = 0; i < head->rows && r->code == INQ_OK; i++) {
        r->code = inq_rank_add_note(r->rank, &r->scratch->notes[i], r->err);
    }
    return true;
}

static bool take_events(struct reading *r, const struct inq_partial_head *head, struct bytes *in)
{
    union scratch *s = r->scratch;
    bool labeled = (head->flags & INQ_PARTIAL_HAS_LABEL) != 0;
    bool launched = (head->flags & INQ_PARTIAL_HAS_LAUNCH) != 0;
    const struct inq_events events = {.start_ns = s->columns.start_ns,
                                      .dur_ns = s->columns.dur_ns,
                                      .name = s->columns.name,
                                      .lane = s->columns.lane,
                                      .call = s->columns.call,
                                      .comm = s->columns.comm,
                                      .label = labeled ? s->columns.label : NULL,
                                      .launch = launched ? s->columns.launch : NULL,
                                      .kind = s->columns.kind,
                                      .cls = s->columns.cls};
    struct inq_columns columns;
    inq_columns_of_events(&events, &columns);
    if (!is_of_rank(r, head) || !unpack(r, head, in, &columns)) {
        return false;
    }
    for (uint32_t i = 0; i < head->rows && r->code == INQ_OK; i++) {
        bool known = launched && events.launch[i] < r->n_launches;
        struct inq_event_row row = {.start_ns = events.start_ns[i],
                                    .dur_ns = events.dur_ns[i],
                                    .name = events.name[i],
                                    .lane = events.lane[i],
                                    .call = events.call[i],
                                    .comm = events.comm[i],
                                    .label = labeled ? events.label[i] : INQ_NONE,
                                    .launch = known ? r->launch_of[events.launch[i]] : 0,
                                    .kind = (enum inq_event_kind)events.kind[i],
                                    .cls = (enum inq_op_class)events.cls[i]};
        r->code = inq_rank_add_event(r->rank, &row, r->err);
    }
    return true;
}

/* What may be pointed to by now. */
static void set_limits(struct reading *r, bool comms)
{
    const struct inq_rank *rank = r->rank;
    uint64_t *rows = r->limits.rows;
    rows[INQ_COLUMN_STRING] = inq_strtab_count(&r->shard->names);
    rows[INQ_COLUMN_GROUP] = r->shard->n_groups;
    rows[INQ_COLUMN_LANE] = rows[INQ_COLUMN_ANY_LANE] = rank != NULL ? rank->n_lanes : 0;
    rows[INQ_COLUMN_CALL] = rank != NULL ? rank->calls.n : 0;
    rows[INQ_COLUMN_LABEL] = rank != NULL ? rank->n_labels : 0;
    /* they point to later ones of their own: cut_chains */
    rows[INQ_COLUMN_COMM] = comms ? INQ_NONE : rank != NULL ? rank->n_comms : 0;
}

/* False when the bytes are not what the head says. */
static bool take(struct reading *r, const struct inq_partial_head *head, struct bytes *in)
{
    set_limits(r, section_of(head->tag) == INQ_PARTIAL_COMMS);
    switch (section_of(head->tag)) {
    case INQ_PARTIAL_STRINGS:
        return take_strings(r, head, in);
    case INQ_PARTIAL_FILE:
        return take_file(r, in);
    case INQ_PARTIAL_BYTES_OF:
        take_bytes(r, in);
        return true;
    case INQ_PARTIAL_GROUPS:
        return take_group(r, head, in);
    case INQ_PARTIAL_LAUNCHES:
        return take_launches(r, head, in);
    case INQ_PARTIAL_RANK:
        return take_rank(r, head, in);
    case INQ_PARTIAL_TOTALS:
        return take_totals(r, head, in);
    case INQ_PARTIAL_LANES:
        return take_lanes(r, head, in);
    case INQ_PARTIAL_LABELS:
        return take_labels(r, head, in);
    case INQ_PARTIAL_COMMS:
        return take_comms(r, head, in);
    case INQ_PARTIAL_CALLS:
        return take_calls(r, head, in);
    case INQ_PARTIAL_NOTES:
        return take_notes(r, head, in);
    case INQ_PARTIAL_EVENTS:
        return take_events(r, head, in);
    case INQ_PARTIAL_END:
        r->ended = true;
        return true;
    case INQ_PARTIAL_ORIGIN:
    case INQ_PARTIAL_SECTION_COUNT:
        break;
    }
    return true;
}

static void read_sections(struct reading *r)
{
    struct inq_partial_head head;
    while (r->code == INQ_OK && !r->ended && next_head(r, &head)) {
        if (!have(r, sizeof head + head.bytes)) {
            break;
        }
        const char *bytes = r->bytes + r->at + sizeof head;
        struct bytes in = {(const unsigned char *)bytes, (const unsigned char *)bytes + head.bytes};
        bool sound = inq_crc32(bytes, head.bytes) == head.crc;
        if (!sound || !take(r, &head, &in)) {
            damage(r, INQ_DAMAGE_BAD_EVENT, head.rows);
        }
        /* behind bytes that are not the head's, another head may stand among them */
        skip(r, sound ? sizeof head + head.bytes : sizeof head);
    }
    if (r->code == INQ_OK && !r->ended) {
        damage(r, INQ_DAMAGE_TRUNCATED, 1);
    }
}

/* ---- what sealing promises and a partial must hold ------------------------------------------- */

static bool events_ascend(const struct inq_events *e)
{
    for (size_t i = 1; i < e->n; i++) {
        if (e->lane[i] < e->lane[i - 1] ||
            (e->lane[i] == e->lane[i - 1] &&
             (e->start_ns[i] < e->start_ns[i - 1] ||
              (e->start_ns[i] == e->start_ns[i - 1] && e->dur_ns[i] > e->dur_ns[i - 1])))) {
            return false;
        }
    }
    return true;
}

static bool calls_ascend(const struct inq_calls *c)
{
    for (size_t i = 1; i < c->n; i++) {
        if (c->start_ns[i] < c->start_ns[i - 1]) {
            return false;
        }
    }
    return true;
}

static bool notes_ascend(const struct inq_rank *rank)
{
    for (size_t i = 1; i < rank->n_notes; i++) {
        if (rank->notes[i].start_ns < rank->notes[i - 1].start_ns) {
            return false;
        }
    }
    return true;
}

/* A batch is a chain of records that ends: a link to a row that is lost, or back to where the walk
 * came from, is cut. */
static void cut_chains(struct reading *r, struct inq_rank *rank)
{
    enum { NEW, ON_THIS_WALK, DONE };
    uint8_t *seen = inq_mem_zalloc(rank->n_comms + 1, 1);
    if (seen == NULL) {
        r->code = inq_err_set(r->err, INQ_NOMEM, "out of memory");
        return;
    }
    for (size_t start = 0; start < rank->n_comms; start++) {
        size_t i = start;
        while (seen[i] == NEW) {
            uint32_t *next = &rank->comms[i].batch;
            seen[i] = ON_THIS_WALK;
            if (*next != INQ_NONE && (*next >= rank->n_comms || seen[*next] == ON_THIS_WALK)) {
                *next = INQ_NONE;
            }
            i = *next != INQ_NONE ? *next : i;
        }
        for (i = start; seen[i] == ON_THIS_WALK;) {
            seen[i] = DONE;
            i = rank->comms[i].batch != INQ_NONE ? rank->comms[i].batch : i;
        }
    }
    inq_mem_free(seen);
}

/* What a whole file cannot have is not used. */
static void settle(struct reading *r)
{
    for (size_t k = 0; k < r->shard->n_ranks && r->code == INQ_OK; k++) {
        struct inq_rank *rank = &r->shard->ranks[k];
        if (!calls_ascend(&rank->calls) || !events_ascend(&rank->events) || !notes_ascend(rank)) {
            damage(r, INQ_DAMAGE_BAD_EVENT, rank->events.n + rank->calls.n + rank->n_notes);
            rank->events.n = rank->calls.n = rank->n_notes = 0;
        }
        cut_chains(r, rank);
    }
    damage(r, INQ_DAMAGE_NO_LAUNCH, r->limits.lost);
}

/* A file that was kept as it is: read now, by its own reader. */
static int read_raw(const struct reading *r, struct inq_err *err)
{
    struct inq_shard *shard = r->shard;
    struct inq_source_options options = {0};
    struct inq_source *source = NULL;
    const struct inq_reader *reader = inq_reader_find(r->raw, r->n_raw, shard->file.path);
    shard->sealed = false;
    shard->file.format = NULL;
    if (reader == NULL || reader == &inq_reader_partial) {
        return inq_err_set(
            err, INQ_UNSUPPORTED, "%s",
            inq_unrecognized_reason(&shard->arena, shard->file.path, r->raw, r->n_raw));
    }
    int code = inq_source_open_memory(r->raw, r->n_raw, &options, &source, err);
    if (code == INQ_OK) {
        code = reader->read(source, shard, err);
        shard->file.format = shard->file.format == NULL ? reader->name : shard->file.format;
    }
    inq_source_close(source);
    return code;
}

static int read_partial(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    struct reading r = {.source = source, .shard = shard, .err = err, .code = INQ_OK};
    uint64_t bytes = shard->file.bytes;
    r.scratch = inq_mem_alloc(sizeof *r.scratch);
    if (r.scratch == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    shard->file.format = inq_reader_partial.name;
    shard->sealed = true;
    if (have(&r, INQ_PARTIAL_MAGIC_BYTES)) {
        unsigned version = (unsigned char)r.bytes[r.at + INQ_PARTIAL_MAGIC_BYTES - 1];
        unsigned own = (unsigned char)INQ_PARTIAL_MAGIC[INQ_PARTIAL_MAGIC_BYTES - 1];
        skip(&r, INQ_PARTIAL_MAGIC_BYTES);
        if (version != own) {
            r.code = inq_err_set(err, INQ_UNSUPPORTED,
                                 "a partial of version %u, and this program reads version %u: run "
                                 "'inquest ingest' on the trace again",
                                 version, own);
        }
    }
    if (r.code == INQ_OK) {
        read_sections(&r);
        settle(&r);
    }
    if (r.code == INQ_OK && r.n_raw > 0) {
        r.code = read_raw(&r, err);
    } else if (r.code == INQ_OK && shard->n_ranks == 0) {
        shard->file.bytes = bytes;
        r.code = inq_err_set(err, INQ_UNSUPPORTED, "a partial without a whole section");
    }
    inq_mem_free(r.scratch);
    inq_mem_free(r.bytes);
    inq_mem_free(r.raw);
    inq_mem_free(r.launch_of);
    return r.code;
}

static int sniff_partial(const char *head, size_t n, const char *path)
{
    (void)path;
    return n >= INQ_PARTIAL_MAGIC_BYTES &&
                   memcmp(head, INQ_PARTIAL_MAGIC, INQ_PARTIAL_MAGIC_BYTES - 1) ==
                       0 /* any version */
               ? 100
               : 0;
}

const struct inq_reader inq_reader_partial = {
    .name = "partial",
    .summary = "what 'inquest ingest' wrote of a trace",
    .sniff = sniff_partial,
    .read = read_partial,
};

bool inq_partial_is_of(const char *path, const struct inq_partial_origin *origin)
{
    struct inq_source *source = NULL;
    struct reading r = {.code = INQ_OK};
    struct inq_partial_head head;
    bool same = false;
    if (inq_source_open(path, NULL, &source, NULL) != INQ_OK) {
        return false;
    }
    r.source = source;
    if (have(&r, INQ_PARTIAL_MAGIC_BYTES + sizeof head + sizeof *origin) &&
        memcmp(r.bytes, INQ_PARTIAL_MAGIC, INQ_PARTIAL_MAGIC_BYTES) == 0) {
        skip(&r, INQ_PARTIAL_MAGIC_BYTES);
        same = is_head(&r, &head) && section_of(head.tag) == INQ_PARTIAL_ORIGIN &&
               memcmp(r.bytes + r.at + sizeof head, origin, sizeof *origin) == 0;
    }
    inq_source_close(source);
    inq_mem_free(r.bytes);
    return same;
}
