/* SPDX-License-Identifier: Apache-2.0 */
/* Paths in, one partial a file out: into a folder, or handed over. */
#include "inquest/ingest.h"

#include "base/hash.h"
#include "base/mem.h"
#include "ingest/discover.h"
#include "ingest/loader.h"
#include "ingest/partial/partial.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct job {
    struct inq_discovery walk;
    const char *folder;
    size_t share, n_shares;          /* at least one */
    size_t reduced_steps;            /* 0: full partials */
    struct inq_redaction *redaction; /* NULL: names stay */
    pthread_mutex_t counting;        /* and handing over, and redacting */
    struct inq_partials *partials;
    inq_take_partial *take; /* NULL: into the folder */
    void *take_ctx;
};

/* What fills one partial. */
struct content {
    const struct inq_shard *shard;
    struct inq_source *source; /* of a file that is no trace; NULL: of a trace */
    struct inq_partial_origin origin;
};

static int fill(void *ctx, struct inq_out *out, struct inq_err *err)
{
    const struct content *c = ctx;
    return inq_partial_write(c->shard, c->source, &c->origin, out, err);
}

/* "FOLDER/PATH.inq"; no part of the path leads out of the folder. */
static int name_partial(const char *folder, const char *path, char *name, struct inq_err *err)
{
    size_t n = (size_t)snprintf(name, PATH_MAX, "%s", folder);
    for (const char *p = path; *p != '\0' && n < PATH_MAX;) {
        size_t len = strcspn(p, "/");
        bool up = len == 2 && memcmp(p, "..", 2) == 0;
        bool here = len == 0 || (len == 1 && *p == '.');
        if (!here) {
            n += (size_t)snprintf(name + n, PATH_MAX - n, "/%.*s", (int)len, up ? "__" : p);
        }
        p += len + (p[len] == '/');
    }
    n += n < PATH_MAX ? (size_t)snprintf(name + n, PATH_MAX - n, INQ_PARTIAL_SUFFIX) : 0;
    return n < PATH_MAX ? INQ_OK : inq_err_at(err, INQ_USAGE, path, -1, "the path is too long");
}

static void count_partial(struct job *job, uint64_t bytes_in, const char *name, size_t *which)
{
    struct stat status;
    uint64_t bytes_out = stat(name, &status) == 0 ? (uint64_t)status.st_size : 0;
    (void)pthread_mutex_lock(&job->counting);
    (*which)++;
    job->partials->bytes_in += bytes_in;
    job->partials->bytes_out += bytes_out;
    (void)pthread_mutex_unlock(&job->counting);
}

/* Of the file at `path`; all-zero when it cannot be read. */
static struct inq_partial_origin ends_of(const char *path)
{
    enum { ENDS = 64 << 10 };
    struct inq_partial_origin origin = {0};
    struct stat status;
    char *bytes = inq_mem_alloc(2 * (size_t)ENDS);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (bytes != NULL && fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        ssize_t first = pread(fd, bytes, ENDS, 0);
        off_t tail = status.st_size > ENDS ? status.st_size - ENDS : 0;
        ssize_t last = first >= 0 ? pread(fd, bytes + first, ENDS, tail) : -1;
        if (last >= 0) {
            origin.bytes = (uint64_t)status.st_size;
            origin.modified_ns =
                (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
            origin.ends = inq_hash_bytes(bytes, (size_t)(first + last));
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    inq_mem_free(bytes);
    return origin;
}

static struct inq_partial_origin origin_of(const struct job *job,
                                           const struct inq_discovered_file *file)
{
    struct inq_partial_origin origin = {0};
    if (file->part.path != NULL) {
        origin = ends_of(file->path);
    }
    origin.steps = job->reduced_steps;
    return origin;
}

/* Members of an archive are behind all files, and only there when the archive is of this share. */
static bool is_mine(const struct job *job, size_t file)
{
    return job->walk.files[file].level > 0 || file % job->n_shares == job->share;
}

/* Whether the partial is there and its file has not changed since, or it is another share's. */
static bool is_done(void *ctx, size_t file)
{
    struct job *job = ctx;
    const struct inq_discovered_file *of = &job->walk.files[file];
    if (!is_mine(job, file)) {
        return true;
    }
    if (job->redaction != NULL) {
        return false; /* with another key it has other names */
    }
    struct inq_partial_origin origin = origin_of(job, of);
    char name[PATH_MAX];
    bool done = origin.bytes > 0 && name_partial(job->folder, of->path, name, NULL) == INQ_OK &&
                inq_partial_is_of(name, &origin);
    if (done) {
        count_partial(job, of->size, name, &job->partials->kept);
    }
    return done;
}

/* Names of all files are known before the first is written: a host may be named in another's. */
static int redact(struct job *job, struct inq_shard *shard, bool learn, struct inq_err *err)
{
    (void)pthread_mutex_lock(&job->counting);
    int code = inq_redact_shard(job->redaction, shard, learn, err);
    (void)pthread_mutex_unlock(&job->counting);
    return code;
}

static int learn_one(void *ctx, size_t file, struct inq_shard *shard, struct inq_err *err)
{
    (void)file;
    return redact(ctx, shard, true, err);
}

static int reduce(const struct job *job, struct inq_shard *shard, struct inq_err *err)
{
    return job->reduced_steps > 0 ? inq_shard_reduce(shard, job->reduced_steps, err) : INQ_OK;
}

static int write_redacted(struct job *job, size_t file, struct inq_shard *shard,
                          struct inq_err *err)
{
    const struct inq_discovered_file *of = &job->walk.files[file];
    struct content content = {.shard = shard, .origin = origin_of(job, of)};
    char name[PATH_MAX];
    if (!shard->file.read || shard->n_ranks == 0) {
        count_partial(job, 0, "", &job->partials->withheld);
        return INQ_OK;
    }
    int code = reduce(job, shard, err);
    code = code == INQ_OK ? redact(job, shard, false, err) : code;
    code = code == INQ_OK ? name_partial(job->folder, shard->file.path, name, err) : code;
    code = code == INQ_OK ? inq_out_file(name, fill, &content, err) : code;
    if (code == INQ_OK) {
        count_partial(job, of->size, name, &job->partials->written);
    }
    return code;
}

static int write_one(void *ctx, size_t file, struct inq_shard *shard, struct inq_err *err)
{
    struct job *job = ctx;
    if (job->redaction != NULL) {
        return write_redacted(job, file, shard, err);
    }
    const struct inq_discovered_file *of = &job->walk.files[file];
    struct inq_source_options options = {0};
    struct content content = {.shard = shard, .origin = origin_of(job, of)};
    char name[PATH_MAX];
    bool trace = shard->file.read && shard->n_ranks > 0;
    bool readable =
        trace || (of->reason == NULL && inq_source_open_part(of->path, &of->part, &options,
                                                             &content.source, NULL) == INQ_OK);
    if (!readable) {
        count_partial(job, 0, "", &job->partials->not_read);
        return INQ_OK;
    }
    int code = trace ? reduce(job, shard, err) : INQ_OK;
    code = code == INQ_OK ? name_partial(job->folder, of->path, name, err) : code;
    code = code == INQ_OK ? inq_out_file(name, fill, &content, err) : code;
    inq_source_close(content.source);
    if (code == INQ_OK) {
        count_partial(job, of->size, name,
                      trace ? &job->partials->written : &job->partials->as_they_are);
    }
    return code;
}

/* Another share's, or what whoever gets the others reads as well itself. */
static bool is_left(void *ctx, size_t file)
{
    const struct job *job = ctx;
    const char *path = job->walk.files[file].path;
    size_t n = strlen(path);
    size_t suffix = sizeof INQ_PARTIAL_SUFFIX - 1;
    return !is_mine(job, file) ||
           (n > suffix && strcmp(path + n - suffix, INQ_PARTIAL_SUFFIX) == 0);
}

static int hand_over(void *ctx, size_t file, struct inq_shard *shard, struct inq_err *err)
{
    struct job *job = ctx;
    const struct inq_discovered_file *of = &job->walk.files[file];
    const struct inq_partial_origin unknown = {0};
    struct inq_out out = {0};
    if (!shard->file.read || shard->n_ranks == 0 || of->cut != NULL) {
        return INQ_OK;
    }
    int code = inq_partial_write(shard, NULL, &unknown, &out, err);
    if (code == INQ_OK) {
        const struct inq_ingest_blob partial = {of->path, out.buf, out.len};
        (void)pthread_mutex_lock(&job->counting);
        code = job->take(job->take_ctx, &partial, err);
        (void)pthread_mutex_unlock(&job->counting);
    }
    inq_out_release(&out);
    return code;
}

static int read_each(struct job *job, const char *const *paths, size_t n_paths,
                     const struct inq_ingest_options *reading, const struct inq_load_each *each,
                     struct inq_err *err)
{
    int code = inq_discover_paths(paths, n_paths, &job->walk, err);
    code = code == INQ_OK ? inq_load_each(&job->walk, reading, each, err) : code;
    inq_discovery_release(&job->walk);
    return code;
}

/* `options` may be NULL. */
static int make_partials(struct job *job, const char *const *paths, size_t n_paths,
                         const struct inq_ingest_options *options, struct inq_err *err)
{
    static const struct inq_ingest_options defaults;
    struct inq_ingest_options reading = options != NULL ? *options : defaults;
    struct inq_load_each each = {is_done, write_one, job};
    job->share = reading.share;
    job->reduced_steps = job->take == NULL ? reading.reduced_steps : 0;
    job->n_shares = reading.n_shares > 0 ? reading.n_shares : 1;
    if (job->share >= job->n_shares) {
        return inq_err_set(err, INQ_USAGE, "there is no share %zu of %zu: they count from 0",
                           job->share, job->n_shares);
    }
    if (job->redaction != NULL && job->n_shares > 1) {
        return inq_err_set(err, INQ_USAGE,
                           "a share does not know the hosts and users of the others: redact all "
                           "files in one call");
    }
    if (job->take != NULL) {
        each.is_done = is_left;
        each.take = hand_over;
    } else {
        reading.operators = true; /* whoever reads the partial may want them */
    }
    (void)pthread_mutex_init(&job->counting, NULL);
    int code = INQ_OK;
    if (job->redaction != NULL) {
        const struct inq_load_each learning = {is_done, learn_one, job};
        code = read_each(job, paths, n_paths, &reading, &learning, err);
    }
    code = code == INQ_OK ? read_each(job, paths, n_paths, &reading, &each, err) : code;
    (void)pthread_mutex_destroy(&job->counting);
    return code;
}

int inq_ingest_partials(const char *const *paths, size_t n_paths, const char *folder,
                        const struct inq_ingest_options *options, struct inq_partials *partials,
                        struct inq_err *err)
{
    struct job job = {.folder = folder,
                      .partials = partials,
                      .redaction = options != NULL ? options->redaction : NULL};
    *partials = (struct inq_partials){0};
    return make_partials(&job, paths, n_paths, options, err);
}

int inq_ingest_traces(const char *const *paths, size_t n_paths,
                      const struct inq_ingest_options *options, inq_take_partial *take, void *ctx,
                      struct inq_err *err)
{
    struct job job = {.take = take, .take_ctx = ctx};
    return make_partials(&job, paths, n_paths, options, err);
}
