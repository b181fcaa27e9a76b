/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a stretch of text, noted for whoever reads it later. */
#include "ingest/log/words/words.h"

/* Lines are counted again from the hit before: they may not be far apart. */
enum { APART = 4096 };

static uint64_t count_ends(const char *p, const char *end)
{
    uint64_t n = 0;
    for (; p < end; p++) {
        n += *p == '\n';
    }
    return n;
}

void inq_log_search(struct inq_log_hits *hits, const struct inq_log_scan *scan, const char *p,
                    size_t n)
{
    const size_t reach = INQ_LOG_WORD_BYTES - 1;
    const size_t last = n > reach ? n - reach : 0; /* a word may go on behind the stretch */
    uint64_t lines = 0;
    size_t at = 0;
    hits->scan = scan;
    hits->size = (uint32_t)n;
    hits->n = 0;
    while (at < last && hits->n < INQ_LOG_HITS) {
        size_t stop = (at / APART + 1) * APART;
        stop = stop < last ? stop : last;
        const char *end = p + stop + reach;
        const char *found = inq_log_find(scan, p + at, end, &lines);
        bool word = found != NULL && found < p + stop;
        if (!word) {
            lines -= count_ends(p + stop, found != NULL ? found : end);
        }
        at = word ? (size_t)(found - p) : stop;
        hits->list[hits->n++] = (struct inq_log_hit){(uint32_t)at, (uint32_t)lines, word};
        if (word) {
            lines += p[at] == '\n';
            at++;
        }
    }
    hits->covered = (uint32_t)at;
}

/* The first hit from `at` on; hits->n: none. */
static uint32_t first_from(const struct inq_log_hits *hits, size_t at)
{
    uint32_t lo = 0;
    uint32_t hi = hits->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (hits->list[mid].at < at) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* Line ends in front of `at`; `p` is the text there, `next` the first hit from there on. */
static uint64_t lines_before(const struct inq_log_hits *hits, uint32_t next, const char *p,
                             size_t at)
{
    if (next < hits->n && hits->list[next].at == at) {
        return hits->list[next].lines;
    }
    struct inq_log_hit before = {0};
    if (next > 0) {
        before = hits->list[next - 1];
    }
    return before.lines + count_ends(p - (at - before.at), p);
}

const char *inq_log_find_ahead(const struct inq_log_hits *hits, const char *p, size_t from,
                               size_t to, uint64_t *lines)
{
    uint32_t i = first_from(hits, from);
    uint64_t before = lines_before(hits, i, p, from);
    while (i < hits->n && hits->list[i].at < to && !hits->list[i].word) {
        i++;
    }
    bool found = i < hits->n && hits->list[i].at < to;
    size_t at = found ? hits->list[i].at : to;
    *lines += lines_before(hits, i, p + (at - from), at) - before;
    return found ? p + (at - from) : NULL;
}
