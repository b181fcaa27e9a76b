/* SPDX-License-Identifier: Apache-2.0 */
/* The table of readers. */
#include "base/limits.h"
#include "ingest/ingest.h"

#include "inquest/ingest.h"

/* Of two readers as sure of themselves, the first here wins. */
static const struct inq_reader *const table[] = {
    &inq_reader_partial,       &inq_reader_kineto,  &inq_reader_op_table,  &inq_reader_primus,
    &inq_reader_flight,        &inq_reader_xspace,  &inq_reader_telemetry, &inq_reader_inspector,
    &inq_reader_nccl_profiler, &inq_reader_chakra,  &inq_reader_rocprof,   &inq_reader_ascend,
    &inq_reader_rocprof_csv,   &inq_reader_perseus, &inq_reader_log,
#ifdef INQ_HAVE_SQLITE
    &inq_reader_nsys,
#endif
};

#define N_READERS (sizeof table / sizeof table[0])

bool inq_ingest_format(size_t i, const char **name, const char **summary)
{
    if (i < N_READERS) {
        *name = table[i]->name;
        *summary = table[i]->summary;
    }
    return i < N_READERS;
}

const struct inq_limit_info *inq_limit_at(size_t i)
{
#define LIMIT_INFO(name, value, unit, what) {value, unit, what},
    static const struct inq_limit_info limits[] = {INQ_LIMITS(LIMIT_INFO)};
#undef LIMIT_INFO
    return i < sizeof limits / sizeof *limits ? &limits[i] : NULL;
}

const struct inq_reader *inq_reader_find(const char *head, size_t n, const char *path)
{
    const struct inq_reader *best = NULL;
    int best_score = 0;
    for (size_t i = 0; i < N_READERS && best_score < 100; i++) {
        int score = table[i]->sniff(head, n, path);
        if (score > best_score) {
            best = table[i];
            best_score = score;
        }
    }
    return best;
}
