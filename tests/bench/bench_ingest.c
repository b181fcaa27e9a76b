/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of tests/bench/ingest: making large traces, and reading traces into shards.
 *
 *   bench_ingest make TRACE TIMES > OUT.json    repeats the events of a real trace, later each time
 *   bench_ingest read [--zlib] [--direct] [--scan-only] FILE...
 *       one line of figures: wall and CPU seconds, bytes, events, events kept, bytes of the shards,
 *       peak memory. --direct: no thread of its own for decompression; --scan-only: the text is in
 *       memory before the clock starts; files are read on as many threads as there are cores when
 *       there is more than one.
 *   bench_ingest run COMMAND...                 the same figures of any command (and of all the
 *       processes that it waits for), its standard output thrown away */
#include "base/par.h"
#include "base/time.h"
#include "ingest/ingest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- whole files in memory ------------------------------------------------------------------- */

struct text {
    char *p;
    size_t n, cap;
};

static void append(struct text *text, const char *p, size_t n)
{
    if (text->n + n + 1 > text->cap) {
        text->cap = (text->n + n + 1) * 2;
        text->p = realloc(text->p, text->cap);
        if (text->p == NULL) {
            fputs("out of memory\n", stderr);
            exit(1);
        }
    }
    memcpy(text->p + text->n, p, n);
    text->n += n;
    text->p[text->n] = '\0';
}

static struct text load(const char *path)
{
    struct text text = {0};
    struct inq_source *source = NULL;
    struct inq_err err = {0};
    const char *chunk = NULL;
    size_t n = 0;
    append(&text, "", 0);
    if (inq_source_open(path, NULL, &source, &err) != INQ_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    while (inq_source_next(source, &chunk, &n, &err) == INQ_OK && n > 0) {
        append(&text, chunk, n);
    }
    inq_source_close(source);
    return text;
}

/* ---- make ------------------------------------------------------------------------------------ */

/* What grows from one repetition to the next, and by how much. */
struct shift {
    const char *key;
    int64_t by; /* whole units: us for times */
};

static bool is_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.';
}

/* Largest and smallest value behind `key`; whole part only. */
static void range_of(const char *text, const char *key, int64_t *least, int64_t *most)
{
    *least = INT64_MAX;
    *most = 0;
    for (const char *p = strstr(text, key); p != NULL; p = strstr(p, key)) {
        p += strlen(key);
        int64_t value = strtoll(p, NULL, 10);
        *least = value > 0 && value < *least ? value : *least;
        *most = value > *most ? value : *most;
    }
}

/* Writes the events with every shifted number moved on by `times` steps. */
static void write_shifted(const char *text, const struct shift *shifts, size_t n, int64_t times,
                          FILE *out)
{
    const char *from = text;
    for (const char *p = strchr(text, '"'); p != NULL; p = strchr(p, '"')) {
        const struct shift *hit = NULL;
        for (size_t i = 0; i < n && hit == NULL; i++) {
            hit = strncmp(p, shifts[i].key, strlen(shifts[i].key)) == 0 ? &shifts[i] : NULL;
        }
        if (hit == NULL) {
            p++;
            continue;
        }
        p += strlen(hit->key);
        if (!is_number(*p)) {
            continue;
        }
        (void)fwrite(from, 1, (size_t)(p - from), out);
        char *end;
        int64_t value = strtoll(p, &end, 10);
        (void)fprintf(out, "%" PRId64, value > 0 ? value + times * hit->by : value);
        from = end;
        p = end;
    }
    (void)fputs(from, out);
}

static int make(const char *path, int64_t times)
{
    struct text text = load(path);
    char *start = strstr(text.p, "\"traceEvents\"");
    char *open = start != NULL ? strchr(start, '[') : NULL;
    char *tail = open != NULL ? strstr(open, "\n  ],") : NULL;
    if (tail == NULL && open != NULL) {
        tail = strrchr(open, ']');
    }
    if (tail == NULL) {
        fprintf(stderr, "%s: no array of events\n", path);
        return 1;
    }
    (void)fwrite(text.p, 1, (size_t)(open + 1 - text.p), stdout);
    char end = *tail;
    *tail = '\0';
    struct shift shifts[] = {
        {"\"ts\": ", 0}, {"\"correlation\": ", 0}, {"\"External id\": ", 0}, {"\"id\": ", 0}};
    for (size_t i = 0; i < sizeof shifts / sizeof shifts[0]; i++) {
        int64_t least;
        int64_t most;
        range_of(open, shifts[i].key, &least, &most);
        shifts[i].by = i == 0 ? most - least + 1000 : most + 1;
    }
    for (int64_t i = 0; i < times; i++) {
        write_shifted(open + 1, shifts, sizeof shifts / sizeof shifts[0], i, stdout);
        (void)fputs(i + 1 < times ? "," : "", stdout);
    }
    *tail = end;
    (void)fputs(tail, stdout);
    free(text.p);
    return ferror(stdout) || fflush(stdout) != 0;
}

/* ---- read ------------------------------------------------------------------------------------ */

struct job {
    char **paths;
    struct text *texts; /* NULL: read the files */
    struct inq_shard *shards;
    uint64_t *raw;
    int jobs; /* cores for a file that is alone */
    struct inq_source_options options;
};

static int read_one(void *ctx, size_t i, struct inq_err *err)
{
    struct job *job = ctx;
    struct inq_source *source = NULL;
    int code = job->texts != NULL ? inq_source_open_memory(job->texts[i].p, job->texts[i].n,
                                                           &job->options, &source, err)
                                  : inq_source_open(job->paths[i], &job->options, &source, err);
    if (code != INQ_OK) {
        return code;
    }
    const char *head = NULL;
    size_t n = 0;
    job->shards[i].file.path = job->paths[i];
    job->shards[i].jobs = job->jobs;
    code = inq_source_peek(source, &head, &n, err);
    const struct inq_reader *reader =
        code == INQ_OK ? inq_reader_find(head, n, job->paths[i]) : NULL;
    code = reader != NULL ? reader->read(source, &job->shards[i], err)
                          : inq_err_set(err, INQ_UNSUPPORTED, "no reader takes it");
    job->raw[i] = inq_source_delivered(source);
    inq_source_close(source);
    return code;
}

static uint64_t shard_bytes(const struct inq_shard *shard)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < shard->n_ranks; i++) {
        const struct inq_rank *r = &shard->ranks[i];
        bytes += r->events.n * (2 * sizeof(int64_t) + 4 * sizeof(uint32_t) + 2);
        bytes += r->calls.n * (3 * sizeof(int64_t) + 2 * sizeof(uint32_t));
        bytes += r->n_notes * sizeof *r->notes + r->n_comms * sizeof *r->comms;
    }
    return bytes;
}

static double seconds_of(const struct timeval *tv)
{
    return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

static int report(const struct job *job, size_t n, double wall)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    uint64_t raw = 0;
    uint64_t events = 0;
    uint64_t kept = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        raw += job->raw[i];
        events += job->shards[i].file.events;
        kept += job->shards[i].file.events_kept;
        bytes += shard_bytes(&job->shards[i]);
    }
    (void)printf("wall_s %.4f user_s %.4f sys_s %.4f raw_bytes %" PRIu64 " events %" PRIu64
                 " kept %" PRIu64 " shard_bytes %" PRIu64 " peak_kb %ld\n",
                 wall, seconds_of(&usage.ru_utime), seconds_of(&usage.ru_stime), raw, events, kept,
                 bytes, usage.ru_maxrss);
    return 0;
}

static int read_files(char **argv, int argc)
{
    struct job job = {.jobs = inq_threads(0), .options = {.threaded = true}};
    bool in_memory = false;
    int first = 0;
    for (; first < argc && argv[first][0] == '-'; first++) {
        if (strcmp(argv[first], "--zlib") == 0) {
            job.options.no_isal = true;
        } else if (strcmp(argv[first], "--direct") == 0) {
            job.options.threaded = false;
            job.jobs = 1;
        } else if (strcmp(argv[first], "--scan-only") == 0) {
            in_memory = true;
            job.options.threaded = false;
        }
    }
    size_t n = (size_t)(argc - first);
    job.paths = argv + first;
    job.shards = calloc(n + 1, sizeof *job.shards);
    job.raw = calloc(n + 1, sizeof *job.raw);
    struct text *texts = calloc(n + 1, sizeof *texts);
    if (job.shards == NULL || job.raw == NULL || texts == NULL) {
        return 1;
    }
    for (size_t i = 0; in_memory && i < n; i++) {
        texts[i] = load(job.paths[i]);
        job.texts = texts;
    }
    struct inq_err err = {0};
    int64_t start = inq_time_now_ns();
    int code = inq_par_for(n, n > 1 ? 0 : 1, read_one, &job, &err);
    double wall = (double)(inq_time_now_ns() - start) / 1e9;
    if (code != INQ_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    int bad = report(&job, n, wall);
    for (size_t i = 0; i < n; i++) {
        inq_shard_release(&job.shards[i]);
        free(texts[i].p);
    }
    free(texts);
    free(job.shards);
    free(job.raw);
    return bad;
}

/* ---- run ------------------------------------------------------------------------------------- */

static int run(char **argv)
{
    int64_t start = inq_time_now_ns();
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null < 0 || dup2(null, STDOUT_FILENO) < 0) {
            _exit(126);
        }
        execvp(argv[0], argv);
        _exit(127);
    }
    int status = 0;
    struct rusage usage = {0};
    if (child < 0 || wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) ||
        (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 3)) {
        fprintf(stderr, "failed: %s\n", argv[0]);
        return 1;
    }
    (void)printf("wall_s %.4f user_s %.4f sys_s %.4f peak_kb %ld\n",
                 (double)(inq_time_now_ns() - start) / 1e9, seconds_of(&usage.ru_utime),
                 seconds_of(&usage.ru_stime), usage.ru_maxrss);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 3 && strcmp(argv[1], "run") == 0) {
        return run(argv + 2);
    }
    if (argc == 4 && strcmp(argv[1], "make") == 0) {
        return make(argv[2], strtoll(argv[3], NULL, 10));
    }
    if (argc >= 3 && strcmp(argv[1], "read") == 0) {
        return read_files(argv + 2, argc - 2);
    }
    fputs("usage: bench_ingest make TRACE TIMES | read [--zlib] [--direct] [--scan-only] FILE... | "
          "run COMMAND...\n",
          stderr);
    return 2;
}
