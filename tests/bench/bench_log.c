/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a large text log against counting its lines.
 *
 *   bench_log [MEGABYTES [ROUNDS]]     (1024, 5)
 *
 * For each kind of log writes one of that size, a failure at its end, to the temporary folder; then
 * in turn runs `wc -l` and reads it as `inquest analyze` reads a lone file (ahead on a second
 * thread), once each before the rounds that count; prints the times of every round, the median of
 * the ratios of wall time, and of user + system time, and the peak memory. Kinds: training, the
 * output of eight ranks; nccl, what NCCL says when asked for everything. */
#include "base/time.h"
#include "ingest/ingest.h"
#include "inquest/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ROUNDS = 32 };

struct figures {
    double wall_s, cpu_s;
};

static double seconds(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* The i-th line; `random` is new with each. Returns its length. */
typedef int write_line(FILE *file, uint64_t i, uint64_t random);

static int write_training(FILE *file, uint64_t i, uint64_t random)
{
    unsigned rank = (unsigned)(i & 7);
    if (i % 31 == 0) {
        return fprintf(file,
                       "INFO:root:rank %u saved shard %" PRIu64 " of /data/ckpt/step_%" PRIu64
                       "/mp_rank_%02u.pt in %u.%u s\n",
                       rank, random % 64, i, rank, (unsigned)(random % 9), rank);
    }
    return fprintf(file,
                   "2025-06-24 17:%02u:%02u,%03u [rank%u] INFO iteration %8" PRIu64
                   "/ 9000000 | consumed samples: %" PRIu64
                   " | elapsed time per iteration (ms): %u.%u | learning rate: 1.5E-04 | lm loss: "
                   "%u.%06uE+00 | grad norm: %u.%03u |\n",
                   (unsigned)(i / 6000 % 60), (unsigned)(i / 100 % 60), (unsigned)(i * 10 % 1000),
                   rank, i, i * 512, (unsigned)(random % 900), rank, (unsigned)(random % 9),
                   (unsigned)(random % 1000000), (unsigned)(random % 4), (unsigned)(random % 1000));
}

static int write_nccl(FILE *file, uint64_t i, uint64_t random)
{
    unsigned rank = (unsigned)(random % 64);
    unsigned next = (rank + 1) % 64;
    int n = fprintf(file, "node-%u:%u:%u [%u] NCCL INFO ", rank / 8, 5000 + rank, 6000 + rank,
                    rank % 8);
    switch (i % 4) {
    case 0:
        return n + fprintf(file, "Channel %02u/0 : %u[%u] -> %u[%u] via P2P/IPC/read\n",
                           (unsigned)(i % 24), rank, rank % 8, next, next % 8);
    case 1:
        return n + fprintf(file, "Trees [0] %u/-1/-1->%u->-1 [1] -1/-1/-1->%u->%u\n", next, rank,
                           rank, next);
    default:
        return n + fprintf(file,
                           "AllReduce: opCount %" PRIx64 " sendbuff 0x%" PRIx64
                           " recvbuff 0x%" PRIx64 " count %" PRIu64
                           " datatype 7 op 0 root 0 comm 0x%" PRIx64
                           " [nranks=64] stream 0x%" PRIx64 "\n",
                           i, random, random + 4096, random % 1048576, random >> 8, random >> 9);
    }
}

static void write_log(FILE *file, write_line *line, uint64_t bytes)
{
    uint64_t n = 0;
    uint64_t random = 88172645463325252U;
    for (uint64_t i = 0; n < bytes; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        int wrote = line(file, i, random);
        n += wrote > 0 ? (uint64_t)wrote : bytes;
    }
    (void)fputs(
        "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n", file);
}

/* A child that does the work; its figures. */
static struct figures measure(const char *path, bool count_lines, long *peak_kb)
{
    struct rusage usage;
    int status = 0;
    int64_t start_ns = inq_time_now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        if (count_lines) {
            (void)!freopen("/dev/null", "w", stdout);
            (void)execlp("wc", "wc", "-l", path, (char *)NULL);
            _exit(127);
        }
        struct inq_source *source = NULL;
        struct inq_shard shard = {.file = {.path = path, .reason = ""}};
        struct inq_err err = {0};
        bool ok = inq_source_open(path, &(struct inq_source_options){.threaded = true}, &source,
                                  &err) == INQ_OK &&
                  inq_reader_log.read(source, &shard, &err) == INQ_OK && shard.log != NULL &&
                  shard.log->n_events > 0;
        _exit(ok ? 0 : 1);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0) {
        fputs("a child failed\n", stderr);
        exit(1);
    }
    *peak_kb = usage.ru_maxrss > *peak_kb ? usage.ru_maxrss : *peak_kb;
    return (struct figures){(double)(inq_time_now_ns() - start_ns) / 1e9,
                            seconds(&usage.ru_utime) + seconds(&usage.ru_stime)};
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return values[n / 2];
}

static void run(const char *name, write_line *line, const char *path, uint64_t megabytes,
                int rounds)
{
    double wall[MOST_ROUNDS];
    double cpu[MOST_ROUNDS];
    long peak_kb = 0;
    long ignored = 0;
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    write_log(file, line, megabytes << 20);
    (void)fclose(file);
    (void)fflush(stdout);
    for (int i = -1; i < rounds; i++) {
        struct figures wc = measure(path, true, &ignored);
        struct figures own = measure(path, false, &peak_kb);
        printf("%s wc -l %.3f s (cpu %.3f)   read %.3f s (cpu %.3f)\n",
               i < 0 ? "warm-up" : "round  ", wc.wall_s, wc.cpu_s, own.wall_s, own.cpu_s);
        (void)fflush(stdout);
        if (i >= 0) {
            wall[i] = own.wall_s / wc.wall_s;
            cpu[i] = own.cpu_s / wc.cpu_s;
        }
    }
    printf("%s, %" PRIu64 " MB: median ratio wall %.2f, cpu %.2f; peak memory %.1f MB\n", name,
           megabytes, median(wall, rounds), median(cpu, rounds), (double)peak_kb / 1024);
    (void)unlink(path);
}

int main(int argc, char **argv)
{
    uint64_t megabytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 1024;
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    const char *folder = getenv("TMPDIR");
    char path[1024];
    rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
    (void)snprintf(path, sizeof path, "%s/bench_log_%ld.txt", folder != NULL ? folder : "/tmp",
                   (long)getpid());
    run("training", write_training, path, megabytes, rounds);
    run("nccl", write_nccl, path, megabytes, rounds);
    return 0;
}
