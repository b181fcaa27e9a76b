/* SPDX-License-Identifier: Apache-2.0 */
/* Which files belong to one job. */
#ifndef INQ_TRACE_BUILD_JOBS_H
#define INQ_TRACE_BUILD_JOBS_H

#include "trace/build/shard.h"

struct inq_jobs {
    size_t n_jobs;
    uint32_t *job_of;  /* [n shards] */
    uint32_t *same_as; /* [n shards] the shard that holds all its events, or INQ_NONE */
};

/* Tells apart the jobs that the shards (sorted by path) come from. Two files are of different jobs
 * when they are of different formats, were recorded far apart (a minute, and longer than either
 * lasted, and neither every rank of the world once in the same steps nor parts that complement each
 * other in one process group), or name different world sizes or job names. Where one rank is still
 * there twice, the files are divided, by what they differ in most clearly: time, folder, host,
 * process id; so are several captures of one process. A copy of another file's events is no second
 * capture. Files that do not say when they were recorded join the job that lacks their rank. *jobs
 * is the caller's (inq_jobs_release). Fails with INQ_NOMEM. */
int inq_jobs_find(const struct inq_shard *shards, size_t n, struct inq_jobs *jobs,
                  struct inq_err *err);
void inq_jobs_release(struct inq_jobs *jobs);

#endif
