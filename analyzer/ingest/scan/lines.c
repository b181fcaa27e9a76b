/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/scan/lines.h"

#include "base/mem.h"
#include "base/par.h"
#include "ingest/scan/window.h"
#include "trace/build/build.h"

#include <pthread.h>
#include <string.h>

/* What a core parses at once: with its rows it stays in the core's cache, and takes some twenty
 * times as long as waking another core. */
#define PIECE ((size_t)128 << 10)
/* Lines as long as so many pieces (1 MiB) are none: those of fused kernels have some thousand bytes
 * of shapes. */
enum { PIECES_OF_LONGEST = 8 };
/* Pieces in work, more than cores: what the slowest core has must be taken before those behind. */
enum { PIECES_PER_CORE = 2, MAX_PIECES = 64 };

/* Whole lines, and what they say. */
struct piece {
    char *text;
    size_t n_text, cap_text;
    int64_t offset; /* of the text in the document */
    bool is_quoted; /* some field of it may be */
    bool ends;      /* the document ends with it */
    bool is_parsed;
    struct inq_line *at;
    size_t n, cap;
    char *rows;
    size_t cap_rows;
};

/* Every core goes round: takes the oldest piece if it was parsed, or else reads one and parses it.
 * One at a time reads or takes, since the source asks how much was taken. */
struct lines {
    const struct inq_lines *how;
    struct inq_window window;
    size_t piece, too_long; /* bytes that are parsed at once, of a line that is none */
    bool skipping;          /* a line that is too long */
    struct piece pieces[MAX_PIECES];
    size_t n_pieces;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* under `mutex`: */
    size_t read, taken; /* pieces so far */
    bool busy;          /* some core reads or takes */
    bool ended, failed;
};

/* ---- where lines end ------------------------------------------------------------------------- */

/* Where a quoted field ends: the place of its closing quote, or NULL. `p` is behind the opening. */
static char *closing_quote(char *p, const char *end)
{
    while ((p = memchr(p, '"', (size_t)(end - p))) != NULL) {
        if (p + 1 == end || p[1] != '"') {
            return p;
        }
        p += 2;
    }
    return NULL;
}

/* Where the line at `p` ends, line breaks in quotes aside: its line break, or `end` if the document
 * `ends` there. NULL: not up to `end`, or it is too long. A quote counts only at the start of a
 * field. */
static char *line_end(const struct lines *l, char *p, char *end, bool ends, char separator)
{
    ends = ends && (size_t)(end - p) < l->too_long;
    end = (size_t)(end - p) < l->too_long ? end : p + l->too_long;
    char *stop = memchr(p, '\n', (size_t)(end - p));
    char *last = stop != NULL ? stop : end;
    if (separator == 0 || memchr(p, '"', (size_t)(last - p)) == NULL) {
        return stop != NULL || ends ? last : NULL;
    }
    for (bool start = true; p < end && *p != '\n'; p++) {
        if (start && *p == '"') {
            p = closing_quote(p + 1, end);
            /* a quote at the very end may be the first half of a doubled one */
            if (p == NULL || (p + 1 == end && !ends)) {
                return NULL;
            }
        }
        start = *p == separator;
    }
    return p < end || ends ? p : NULL;
}

/* The end of the last whole line among the first bytes of the window, a piece of them or, if it
 * takes more, the first line alone; the window's start where no line ends. */
static char *last_end(const struct lines *l, bool is_quoted)
{
    const struct inq_window *w = &l->window;
    char *end = w->p;
    bool all = (size_t)(w->end - w->p) <= l->piece;
    char *stop = all ? w->end : w->p + l->piece;
    if (!is_quoted && all && w->ended) {
        return w->end;
    }
    if (!is_quoted) {
        char *last = stop > w->p ? memrchr(w->p, '\n', (size_t)(stop - w->p)) : NULL;
        if (last == NULL && !all) {
            last = line_end(l, w->p, w->end, w->ended, 0);
        }
        return last == NULL ? w->p : last < w->end ? last + 1 : last;
    }
    while (end < stop) {
        char *next = line_end(l, end, w->end, w->ended, l->how->separator);
        if (next == NULL) {
            break;
        }
        end = next < w->end ? next + 1 : next;
    }
    return end;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Passes over the rest of a line. */
static void skip_line(struct lines *l)
{
    struct inq_window *w = &l->window;
    char *stop = w->p < w->end ? memchr(w->p, '\n', (size_t)(w->end - w->p)) : NULL;
    l->skipping = stop == NULL && !w->ended;
    w->p = stop != NULL ? stop + 1 : w->end;
}

/* Of what is in the window no whole line can be made: more of it, or without its first line. */
static int get_on(struct lines *l, struct inq_err *err)
{
    struct inq_window *w = &l->window;
    size_t have = (size_t)(w->end - w->p);
    if (!w->ended && have < l->too_long) {
        return inq_window_more(w, have + 1, err);
    }
    have = have < l->too_long ? have : l->too_long;
    bool is_long = have == l->too_long && memchr(w->p, '\n', have) == NULL;
    inq_damage_add(l->how->damage, is_long ? INQ_DAMAGE_LIMIT : INQ_DAMAGE_BAD_EVENT, 1,
                   inq_window_offset(w, w->p));
    skip_line(l);
    return INQ_OK;
}

static int copy_piece(struct lines *l, struct piece *piece, char *end, struct inq_err *err)
{
    struct inq_window *w = &l->window;
    size_t n = (size_t)(end - w->p);
    int code = inq_mem_grow(&piece->text, &piece->cap_text, n + INQ_SOURCE_PADDING, 1,
                            2 * l->too_long + INQ_SOURCE_PADDING, err);
    if (code == INQ_OK) {
        memcpy(piece->text, w->p, n);
        memset(piece->text + n, 0, INQ_SOURCE_PADDING);
        piece->n_text = n;
        piece->offset = inq_window_offset(w, w->p);
        piece->ends = w->ended && end == w->end;
        w->p = end;
    }
    return code;
}

/* Whole lines into the piece; *got: there are some. Else the document has ended. */
static int read_piece(struct lines *l, struct piece *piece, bool *got, struct inq_err *err)
{
    struct inq_window *w = &l->window;
    int code = INQ_OK;
    *got = false;
    while (code == INQ_OK && !*got && (w->p < w->end || !w->ended)) {
        size_t have = (size_t)(w->end - w->p);
        if (have < l->piece && !w->ended) {
            code = inq_window_more(w, l->piece - have, err);
        }
        if (code == INQ_OK && l->skipping) {
            skip_line(l);
            continue;
        }
        have = (size_t)(w->end - w->p);
        piece->is_quoted = l->how->separator != 0 && have > 0 && memchr(w->p, '"', have) != NULL;
        char *end = last_end(l, piece->is_quoted);
        *got = code == INQ_OK && end > w->p;
        if (*got) {
            code = copy_piece(l, piece, end, err);
        } else if (code == INQ_OK && have > 0) {
            code = get_on(l, err);
        }
    }
    return code;
}

/* ---- parsing and taking ---------------------------------------------------------------------- */

static int parse_line(const struct inq_lines *how, struct piece *piece, const struct inq_line *line,
                      struct inq_err *err)
{
    enum { MOST = 1 << 22 }; /* a line is at least a byte and a line break */
    int code = inq_mem_grow(&piece->at, &piece->cap, piece->n + 1, sizeof *piece->at, MOST, err);
    if (code == INQ_OK) {
        code = inq_mem_grow(&piece->rows, &piece->cap_rows, (piece->n + 1) * how->row_size, 1,
                            MOST * how->row_size, err);
    }
    if (code == INQ_OK) {
        char *row = piece->rows + piece->n * how->row_size;
        memset(row, 0, how->row_size);
        piece->at[piece->n++] = *line;
        how->parse(how->ctx, line, row);
    }
    return code;
}

static int parse_piece(const struct lines *l, struct piece *piece, struct inq_err *err)
{
    char *end = piece->text + piece->n_text;
    char separator = piece->is_quoted ? l->how->separator : 0;
    int code = INQ_OK;
    piece->n = 0;
    for (char *p = piece->text; p < end && code == INQ_OK;) {
        char *stop = line_end(l, p, end, true, separator);
        struct inq_line line = {p, 0, piece->offset + (p - piece->text),
                                piece->ends && stop == end};
        line.n = (size_t)((stop != NULL ? stop : end) - p);
        line.n -= line.n > 0 && p[line.n - 1] == '\r';
        if (line.n > 0) {
            code = parse_line(l->how, piece, &line, err);
        }
        p += (stop != NULL ? stop : end) + 1 - p;
    }
    return code;
}

static int take_piece(const struct lines *l, const struct piece *piece, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; i < piece->n && code == INQ_OK; i++) {
        code = l->how->take(l->how->ctx, &piece->at[i], piece->rows + i * l->how->row_size, err);
    }
    return code;
}

/* ---- the cores ------------------------------------------------------------------------------- */

/* With the mutex held: takes the oldest piece. The source may want an end behind it, however much
 * was read: what is cut does not depend on the cores. */
static int take_next(struct lines *l, struct inq_err *err)
{
    struct piece *piece = &l->pieces[l->taken % l->n_pieces];
    bool stop = false;
    l->busy = true;
    (void)pthread_mutex_unlock(&l->mutex);
    int code = take_piece(l, piece, err);
    if (code == INQ_OK && !piece->ends) {
        int64_t end = piece->offset + (int64_t)piece->n_text;
        code = inq_source_ask(l->window.source, end, &stop, err);
    }
    (void)pthread_mutex_lock(&l->mutex);
    l->busy = false;
    l->taken++;
    if (stop) {
        l->ended = true;
        l->read = l->taken;
    }
    return code;
}

/* With the mutex held: reads the next piece and parses it. */
static int read_next(struct lines *l, struct inq_err *err)
{
    struct piece *piece = &l->pieces[l->read % l->n_pieces];
    bool got = false;
    l->busy = true;
    piece->is_parsed = false;
    (void)pthread_mutex_unlock(&l->mutex);
    int code = read_piece(l, piece, &got, err);
    (void)pthread_mutex_lock(&l->mutex);
    l->busy = false;
    l->ended = !got;
    l->read += got;
    (void)pthread_cond_broadcast(&l->changed);
    if (code == INQ_OK && got) {
        (void)pthread_mutex_unlock(&l->mutex);
        code = parse_piece(l, piece, err);
        (void)pthread_mutex_lock(&l->mutex);
        piece->is_parsed = true;
    }
    return code;
}

static int go_round(void *ctx, size_t core, struct inq_err *err)
{
    struct lines *l = ctx;
    int code = INQ_OK;
    (void)core;
    (void)pthread_mutex_lock(&l->mutex);
    while (code == INQ_OK && !l->failed && !(l->ended && l->taken == l->read)) {
        if (!l->busy && l->taken < l->read && l->pieces[l->taken % l->n_pieces].is_parsed) {
            code = take_next(l, err);
        } else if (!l->busy && !l->ended && l->read - l->taken < l->n_pieces) {
            code = read_next(l, err);
        } else {
            (void)pthread_cond_wait(&l->changed, &l->mutex);
            continue;
        }
        l->failed = l->failed || code != INQ_OK;
        (void)pthread_cond_broadcast(&l->changed);
    }
    (void)pthread_mutex_unlock(&l->mutex);
    return code;
}

int inq_lines_read(struct inq_source *source, const struct inq_lines *lines, struct inq_err *err)
{
    struct lines *l = inq_mem_zalloc(1, sizeof *l);
    if (l == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    int jobs = lines->jobs > 1 ? lines->jobs : 1;
    jobs = jobs < MAX_PIECES / PIECES_PER_CORE ? jobs : MAX_PIECES / PIECES_PER_CORE;
    l->how = lines;
    l->piece = lines->piece_bytes > 0 ? lines->piece_bytes : PIECE;
    l->too_long = PIECES_OF_LONGEST * l->piece;
    l->n_pieces = jobs > 1 ? (size_t)jobs * PIECES_PER_CORE : 1;
    (void)pthread_mutex_init(&l->mutex, NULL);
    (void)pthread_cond_init(&l->changed, NULL);
    int code = inq_window_init(&l->window, source, err);
    code = code == INQ_OK ? inq_par_for((size_t)jobs, jobs, go_round, l, err) : code;
    for (size_t i = 0; i < l->n_pieces; i++) {
        inq_mem_free(l->pieces[i].text);
        inq_mem_free(l->pieces[i].at);
        inq_mem_free(l->pieces[i].rows);
    }
    (void)pthread_cond_destroy(&l->changed);
    (void)pthread_mutex_destroy(&l->mutex);
    inq_window_release(&l->window);
    inq_mem_free(l);
    return code;
}
