/* SPDX-License-Identifier: Apache-2.0 */
/* The readers: one per format, chosen by content. */
#ifndef INQ_INGEST_INGEST_H
#define INQ_INGEST_INGEST_H

#include "ingest/unrecognized.h"
#include "ingest/source/source.h"
#include "trace/build/build.h"

struct inq_reader {
    const char *name;    /* the file's format in reports */
    const char *summary; /* one line for `inquest list` */
    /* How sure the first bytes are of this format, 0 (not) .. 100. `path` only breaks ties. */
    int (*sniff)(const char *head, size_t n, const char *path);
    /* Reads everything into the shard (file.format, events, damage, ranks; not sealed). Malformed
     * input is damage, not failure; fails with INQ_NOMEM, INQ_IO, INQ_LIMIT, or INQ_UNSUPPORTED
     * when the content is not this format after all (file.reason says why). */
    int (*read)(struct inq_source *source, struct inq_shard *shard, struct inq_err *err);
    /* With all files read: what its files are only told together, or against those of other formats
     * (n shards, of whatever format). NULL: nothing. Fails with INQ_NOMEM. */
    int (*join)(struct inq_shard *shards, size_t n, struct inq_err *err);
};

/* The best match for the first bytes, or NULL. */
const struct inq_reader *inq_reader_find(const char *head, size_t n, const char *path);

/* The entries of the table, one per file: */
extern const struct inq_reader inq_reader_kineto;    /* kineto.c: object or array, Chrome events */
extern const struct inq_reader inq_reader_op_table;  /* ingest/optable/table.c: CSV */
extern const struct inq_reader inq_reader_primus;    /* primus.c */
extern const struct inq_reader inq_reader_perseus;   /* ingest/optable/perseus.c */
extern const struct inq_reader inq_reader_nsys;      /* nsys.c */
extern const struct inq_reader inq_reader_telemetry; /* of GPUs: text */
extern const struct inq_reader inq_reader_inspector; /* NCCL's: JSON lines */
extern const struct inq_reader inq_reader_nccl_profiler; /* its example's: Chrome events */
extern const struct inq_reader inq_reader_xspace;        /* ingest/xla/xspace.c */
extern const struct inq_reader inq_reader_chakra;        /* ingest/chakra/chakra.c */
extern const struct inq_reader inq_reader_rocprof;       /* rocprofv3's JSON */
extern const struct inq_reader inq_reader_rocprof_csv;   /* rocprofv3's tables */
extern const struct inq_reader inq_reader_ascend;        /* kernel_details.csv */
extern const struct inq_reader inq_reader_partial;       /* ingest/partial/read.c */
extern const struct inq_reader inq_reader_log;           /* log.c: text */
extern const struct inq_reader inq_reader_flight;        /* flight.c: Flight Recorder dumps */

/* The global rank in a file's name ("rank-34.", "worker7_step", "_rank_3.json"), or -1. */
int32_t inq_rank_from_name(const char *path);
/* Ranks of the processes of one run, one a shard, that do not say theirs: by host and number of the
 * process, and `why` is said of each file. The list is sorted so. Fails with INQ_NOMEM. */
int inq_number_processes(struct inq_shard **shards, size_t n, const char *why, struct inq_err *err);
/* The host in a name that the profiler gave ("{host}_{pid}.{time}.pt.trace.json"): *host points
 * into `path`, the length is returned; 0 when there is none. */
size_t inq_host_from_name(const char *path, const char **host);

#endif
