/* SPDX-License-Identifier: Apache-2.0 */
/* inquest-mpi: process 0 runs the command; whenever it reads traces, every process reads its share
 * of the files into partials (inquest-partial(5)), which travel to process 0 in memory.
 *
 * Process 0 reads whatever did not reach it as `inquest` does: what is no trace, cannot be read,
 * or was with a process that failed. So the result is that of `inquest`, whatever the others do. */
#include "cli/cli.h"

#include "inquest/memory.h"

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 1 };

/* A count of MPI's is an int, and a partial may be larger than 2 GiB. */
enum { AT_ONCE = 1 << 20 };

/* ---- messages ----------------------------------------------------------------------------------
 *
 * All processes run this program on machines of one kind: structs travel as they are. */

enum work { WORK_READ, WORK_WRITE, WORK_END };

/* From process 0; `bytes` of words, each with a NUL, follow; of WORK_WRITE the first is the folder.
 */
struct request {
    enum work work;
    int jobs; /* 0: all cores, which processes of one machine split */
    bool operators;
    size_t reduced_steps; /* WORK_WRITE */
    int status;           /* WORK_END: exit with this */
    uint64_t bytes;
};

/* To process 0, for each partial: the name with a NUL and the partial follow. Then one without a
 * name, when all is done or has failed. */
struct reply {
    uint64_t name, bytes;
    struct inq_partials partials; /* WORK_WRITE */
    struct inq_err err;
};

static int failed(struct inq_err *err)
{
    return inq_err_set(err, INQ_IO, "MPI cannot pass a message on");
}

static int send_bytes(const void *bytes, uint64_t n, int to)
{
    int code = MPI_SUCCESS;
    for (uint64_t at = 0; at < n && code == MPI_SUCCESS; at += AT_ONCE) {
        uint64_t some = n - at < AT_ONCE ? n - at : AT_ONCE;
        code = MPI_Send((const char *)bytes + at, (int)some, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
    }
    return code;
}

static int receive_bytes(void *bytes, uint64_t n, int from)
{
    int code = MPI_SUCCESS;
    for (uint64_t at = 0; at < n && code == MPI_SUCCESS; at += AT_ONCE) {
        uint64_t some = n - at < AT_ONCE ? n - at : AT_ONCE;
        code = MPI_Recv((char *)bytes + at, (int)some, MPI_BYTE, from, TAG, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE);
    }
    return code;
}

/* Lets others have the core, which a call of MPI that waits would not: for twice as long each time,
 * up to 5 ms. */
static void rest(long *ns)
{
    enum { SHORTEST_NS = 20000, LONGEST_NS = 5000000 };
    *ns = *ns == 0 ? SHORTEST_NS : *ns * 2 < LONGEST_NS ? *ns * 2 : LONGEST_NS;
    (void)nanosleep(&(struct timespec){.tv_nsec = *ns}, NULL);
}

/* ---- who is there ---------------------------------------------------------------------------- */

static int own_number(void)
{
    int number = 0;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &number);
    return number;
}

static int how_many(void)
{
    int n = 1;
    (void)MPI_Comm_size(MPI_COMM_WORLD, &n);
    return n;
}

/* Cores of this process, split with those of the machine that may run on the same ones. Every
 * process calls it. */
static int own_cores(void)
{
    cpu_set_t own;
    cpu_set_t others[CPU_SETSIZE];
    MPI_Comm machine;
    int n = 1;
    int sharing = 0;
    CPU_ZERO(&own);
    (void)sched_getaffinity(0, sizeof own, &own);
    (void)MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    (void)MPI_Comm_size(machine, &n);
    if (n <= CPU_SETSIZE) {
        (void)MPI_Allgather(&own, sizeof own, MPI_BYTE, others, sizeof own, MPI_BYTE, machine);
        for (int i = 0; i < n; i++) {
            sharing += CPU_EQUAL(&own, &others[i]) != 0;
        }
    }
    (void)MPI_Comm_free(&machine);
    int cores = sharing > 0 ? CPU_COUNT(&own) / sharing : 1;
    return cores > 0 ? cores : 1;
}

/* ---- what every process does ------------------------------------------------------------------
 */

static int send_partial(void *ctx, const struct inq_ingest_blob *partial, struct inq_err *err)
{
    (void)ctx;
    struct reply reply = {.name = strlen(partial->name) + 1, .bytes = partial->n};
    int code = send_bytes(&reply, sizeof reply, 0);
    code = code == MPI_SUCCESS ? send_bytes(partial->name, reply.name, 0) : code;
    code = code == MPI_SUCCESS ? send_bytes(partial->bytes, reply.bytes, 0) : code;
    return code == MPI_SUCCESS ? INQ_OK : failed(err);
}

static struct inq_ingest_options own_share(const struct request *request, int cores)
{
    return (struct inq_ingest_options){
        .jobs = request->jobs > 0 ? request->jobs : cores,
        .operators = request->operators,
        .reduced_steps = request->reduced_steps,
        .temp_dir = getenv("TMPDIR"),
        .share = (size_t)own_number(),
        .n_shares = (size_t)how_many(),
    };
}

static void work(const struct request *request, const char *text, int cores, struct reply *reply)
{
    size_t n = 0;
    struct inq_ingest_options options = own_share(request, cores);
    const char **words = inq_mem_alloc((request->bytes + 1) * sizeof *words);
    if (words == NULL) {
        (void)inq_err_set(&reply->err, INQ_NOMEM, "out of memory");
        return;
    }
    for (const char *word = text; word < text + request->bytes; word += strlen(word) + 1) {
        words[n++] = word;
    }
    if (request->work == WORK_READ) {
        (void)inq_ingest_traces(words, n, &options, send_partial, NULL, &reply->err);
    } else {
        (void)inq_ingest_partials(words + 1, n - 1, words[0], &options, &reply->partials,
                                  &reply->err);
    }
    inq_mem_free(words);
}

/* Processes but 0: does what is asked until the end; returns the exit status. */
static int serve(int cores)
{
    struct request request = {.work = WORK_READ};
    int code = MPI_SUCCESS;
    while (code == MPI_SUCCESS) {
        long pause_ns = 0;
        int here = 0;
        code = MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
        while (code == MPI_SUCCESS && here == 0) {
            rest(&pause_ns);
            code = MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
        }
        code = code == MPI_SUCCESS ? receive_bytes(&request, sizeof request, 0) : code;
        if (code != MPI_SUCCESS || request.work == WORK_END) {
            break;
        }
        char *text = inq_mem_alloc(request.bytes);
        struct reply reply = {.err = {.code = INQ_OK}};
        if (text == NULL) {
            return INQ_EXIT_FAILED; /* too little memory for the arguments */
        }
        code = receive_bytes(text, request.bytes, 0);
        if (code == MPI_SUCCESS) {
            work(&request, text, cores, &reply);
            code = send_bytes(&reply, sizeof reply, 0);
        }
        inq_mem_free(text);
    }
    return code == MPI_SUCCESS ? request.status : INQ_EXIT_FAILED;
}

/* ---- what process 0 does ----------------------------------------------------------------------
 */

/* The program of process 0. */
struct together {
    struct inq_cli_reading reading; /* first: cli->reading points here */
    int cores;
    bool *gone; /* [processes]: their messages come no more */
};

/* What comes of one request. */
struct gathering {
    const struct inq_cli *cli;
    const struct together *together;
    struct inq_ingest_options own; /* how process 0 reads its share */
    const char *folder;            /* NULL: the partials come to process 0 */
    struct inq_partials partials;  /* of the folder, of all processes */
    struct inq_err own_err;        /* of process 0 */
    struct inq_err err;            /* of the last of the others that failed */
    char *room;                    /* [AT_ONCE], for what does not fit into memory */
    pthread_mutex_t adding;
    struct inq_ingest_blob *blobs; /* the bytes stand behind the name, in one block */
    size_t n, cap;
};

/* Takes the block over, or frees it. */
static int add_blob(struct gathering *g, char *name, uint64_t name_bytes, uint64_t bytes,
                    struct inq_err *err)
{
    (void)pthread_mutex_lock(&g->adding);
    int code = inq_mem_grow(&g->blobs, &g->cap, g->n + 1, sizeof *g->blobs,
                            SIZE_MAX / sizeof *g->blobs, err);
    if (code == INQ_OK) {
        g->blobs[g->n++] = (struct inq_ingest_blob){name, name + name_bytes, bytes};
    } else {
        inq_mem_free(name);
    }
    (void)pthread_mutex_unlock(&g->adding);
    return code;
}

static int keep_partial(void *ctx, const struct inq_ingest_blob *partial, struct inq_err *err)
{
    size_t name_bytes = strlen(partial->name) + 1;
    char *block = inq_mem_alloc(name_bytes + partial->n);
    if (block == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    memcpy(block, partial->name, name_bytes);
    memcpy(block + name_bytes, partial->bytes, partial->n);
    return add_blob(ctx, block, name_bytes, partial->n, err);
}

/* On a thread of its own, which calls no MPI. */
static void *do_own(void *ctx)
{
    struct gathering *g = ctx;
    const struct inq_cli *cli = g->cli;
    if (g->folder == NULL) {
        (void)inq_ingest_traces(cli->words, cli->n_words, &g->own, keep_partial, g, &g->own_err);
    } else {
        (void)inq_ingest_partials(cli->words, cli->n_words, g->folder, &g->own, &g->partials,
                                  &g->own_err);
    }
    return NULL;
}

/* A partial for which there is no memory is received all the same: its process waits for that. */
static int drop_bytes(struct gathering *g, uint64_t n, int from)
{
    int code = MPI_SUCCESS;
    for (uint64_t at = 0; at < n && code == MPI_SUCCESS; at += AT_ONCE) {
        code = receive_bytes(g->room, n - at < AT_ONCE ? n - at : AT_ONCE, from);
    }
    return code;
}

static int receive_partial(struct gathering *g, const struct reply *reply, int from)
{
    char *block = inq_mem_alloc(reply->name + reply->bytes);
    struct inq_err err = {0};
    if (block == NULL) {
        int dropped = drop_bytes(g, reply->name, from);
        return dropped == MPI_SUCCESS ? drop_bytes(g, reply->bytes, from) : dropped;
    }
    int code = receive_bytes(block, reply->name, from);
    code = code == MPI_SUCCESS ? receive_bytes(block + reply->name, reply->bytes, from) : code;
    if (code == MPI_SUCCESS) {
        (void)add_blob(g, block, reply->name, reply->bytes, &err);
    } else {
        inq_mem_free(block);
    }
    return code;
}

static void count_in(struct inq_partials *all, const struct inq_partials *some)
{
    all->written += some->written;
    all->as_they_are += some->as_they_are;
    all->kept += some->kept;
    all->not_read += some->not_read;
    all->bytes_in += some->bytes_in;
    all->bytes_out += some->bytes_out;
}

/* What became of a process's share, in the end. */
static void settle_share(struct gathering *g, const struct inq_err *err, int process)
{
    if (err->code == INQ_OK) {
        return;
    }
    inq_cli_note(g->cli, "process %d: %s%s", process, err->message,
                 g->folder == NULL ? "; process 0 reads what is left of its files" : "");
    g->err = *err;
}

/* Takes one message of the process. False: it was the last one. */
static bool take_message(struct gathering *g, int process)
{
    struct reply reply = {.name = 0};
    int code = receive_bytes(&reply, sizeof reply, process);
    if (code == MPI_SUCCESS && reply.name > 0) {
        code = receive_partial(g, &reply, process);
    } else if (code == MPI_SUCCESS) {
        count_in(&g->partials, &reply.partials);
        settle_share(g, &reply.err, process);
        return false;
    }
    g->together->gone[process] = code != MPI_SUCCESS;
    return code == MPI_SUCCESS;
}

/* Whether the process may still send: looks once. *came: there was something. */
static bool look(struct gathering *g, int process, bool *came)
{
    int here = 0;
    bool more = true;
    int code = MPI_Iprobe(process, TAG, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) {
        g->together->gone[process] = true;
    } else if (here != 0) {
        *came = true;
        more = take_message(g, process);
    }
    if (g->together->gone[process]) {
        struct inq_err err = {0};
        (void)inq_err_set(&err, INQ_IO, "it has ended before its work was done");
        settle_share(g, &err, process);
        more = false;
    }
    return more;
}

static void collect(struct gathering *g, bool *working, int n)
{
    long pause_ns = 0;
    for (bool more = true; more;) {
        bool came = false;
        more = false;
        for (int p = 1; p < n; p++) {
            working[p] = working[p] && look(g, p, &came);
            more = more || working[p];
        }
        if (came) {
            pause_ns = 0;
        } else if (more) {
            rest(&pause_ns);
        }
    }
}

static void ask(const struct together *together, const struct request *request, const char *text)
{
    for (int p = 1; p < how_many(); p++) {
        if (!together->gone[p]) {
            int code = send_bytes(request, sizeof *request, p);
            code = code == MPI_SUCCESS ? send_bytes(text, request->bytes, p) : code;
            together->gone[p] = code != MPI_SUCCESS;
        }
    }
}

/* The folder, if there is one, and the paths, each with its NUL. NULL: no memory. */
static char *join_words(const struct gathering *g, uint64_t *bytes)
{
    size_t n = g->folder != NULL ? strlen(g->folder) + 1 : 0;
    for (size_t i = 0; i < g->cli->n_words; i++) {
        n += strlen(g->cli->words[i]) + 1;
    }
    char *text = inq_mem_alloc(n);
    char *at = text;
    if (text != NULL && g->folder != NULL) {
        at = stpcpy(at, g->folder) + 1;
    }
    for (size_t i = 0; text != NULL && i < g->cli->n_words; i++) {
        at = stpcpy(at, g->cli->words[i]) + 1;
    }
    *bytes = n;
    return text;
}

/* Has every process read its share. Fails with INQ_NOMEM before anybody is asked. */
static int gather(struct gathering *g, struct inq_err *err)
{
    int n = how_many();
    struct request request = {.work = g->folder == NULL ? WORK_READ : WORK_WRITE,
                              .jobs = g->cli->jobs,
                              .operators = g->own.operators,
                              .reduced_steps = g->own.reduced_steps};
    char *text = join_words(g, &request.bytes);
    bool *working = inq_mem_zalloc((size_t)n, sizeof *working);
    pthread_t own;
    g->room = inq_mem_alloc(AT_ONCE);
    int code = INQ_OK;
    if (text == NULL || working == NULL || g->room == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory");
        goto out;
    }
    ask(g->together, &request, text);
    for (int p = 1; p < n; p++) {
        working[p] = !g->together->gone[p];
    }
    bool beside = pthread_create(&own, NULL, do_own, g) == 0;
    collect(g, working, n);
    if (beside) {
        (void)pthread_join(own, NULL);
    } else {
        (void)do_own(g);
    }
out:
    inq_mem_free(text);
    inq_mem_free(working);
    inq_mem_free(g->room);
    return code;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct inq_ingest_blob *)a)->name,
                  ((const struct inq_ingest_blob *)b)->name);
}

/* Whether there are files to share: what one of the paths is not there or is a pipe, process 0 sees
 * alone. */
static bool can_share(const struct inq_cli *cli)
{
    bool can = how_many() > 1;
    for (size_t i = 0; i < cli->n_words && can; i++) {
        struct stat status;
        can = stat(cli->words[i], &status) == 0 &&
              (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
    }
    return can;
}

static struct gathering begin(const struct inq_cli *cli, const char *folder,
                              const struct inq_ingest_options *options)
{
    /* the first member of what the program gave to inq_cli_main */
    const struct together *together = (const struct together *)(const void *)cli->reading;
    struct gathering g = {.cli = cli,
                          .together = together,
                          .own = *options,
                          .folder = folder,
                          .adding = PTHREAD_MUTEX_INITIALIZER};
    g.own.jobs = options->jobs > 0 ? options->jobs : together->cores;
    g.own.n_shares = (size_t)how_many();
    return g;
}

static int read_run(const struct inq_cli *cli, const struct inq_ingest_options *options,
                    struct inq_run **run, struct inq_err *err)
{
    if (!can_share(cli)) {
        return inq_ingest(cli->words, cli->n_words, options, run, err);
    }
    struct gathering g = begin(cli, NULL, options);
    int code = gather(&g, err);
    if (code == INQ_OK) {
        struct inq_ingest_options all = *options;
        if (g.n > 0) {
            qsort(g.blobs, g.n, sizeof *g.blobs, compare_names);
        }
        all.partials = g.blobs;
        all.n_partials = g.n;
        code = inq_ingest(cli->words, cli->n_words, &all, run, err);
    }
    for (size_t i = 0; i < g.n; i++) {
        char *block = (char *)(uintptr_t)g.blobs[i].name;
        inq_mem_free(block);
    }
    inq_mem_free(g.blobs);
    return code;
}

static int write_partials(const struct inq_cli *cli, const char *folder,
                          const struct inq_ingest_options *options, struct inq_partials *partials,
                          struct inq_err *err)
{
    if (options->n_shares > 0) {
        return inq_err_set(err, INQ_USAGE, "--share is what the processes do: leave it out");
    }
    if (!can_share(cli)) {
        return inq_ingest_partials(cli->words, cli->n_words, folder, options, partials, err);
    }
    if (options->redaction != NULL) {
        return inq_err_set(err, INQ_UNSUPPORTED,
                           "no process knows the hosts and users of the others' files: redact with "
                           "'inquest ingest'");
    }
    struct gathering g = begin(cli, folder, options);
    int code = gather(&g, err);
    const struct inq_err *why = g.own_err.code != INQ_OK ? &g.own_err : &g.err;
    if (code == INQ_OK && why->code != INQ_OK) {
        *err = *why;
        code = (int)why->code;
    }
    *partials = g.partials;
    return code;
}

/* ---- the program ------------------------------------------------------------------------------
 */

/* Process 0: the command, then the end of the others, with the same exit status. */
static int lead(int argc, char **argv, int cores)
{
    static const char *const commands[] = {"ingest", "info", "analyze", "compare",
                                           "check",  "help", NULL};
    struct together together = {
        .reading = {.run = read_run,
                    .partials = write_partials,
                    .commands = commands,
                    .others = "inquest-mpi has ingest, info, analyze, compare and check; "
                              "'inquest' has all",
                    .launched = true},
        .cores = cores,
        .gone = inq_mem_zalloc((size_t)how_many(), sizeof *together.gone),
    };
    if (together.gone == NULL) {
        (void)fputs("inquest-mpi: out of memory\n", stderr);
        (void)MPI_Abort(MPI_COMM_WORLD, INQ_EXIT_FAILED);
        return INQ_EXIT_FAILED;
    }
    int status = inq_cli_main(argc, argv, &together.reading);
    const struct request end = {.work = WORK_END, .status = status};
    ask(&together, &end, "");
    for (int p = 1; p < how_many(); p++) {
        if (together.gone[p]) {
            _exit(status); /* what it has is written; MPI_Finalize would wait for the process */
        }
    }
    inq_mem_free(together.gone);
    return status;
}

int main(int argc, char **argv)
{
    int may = MPI_THREAD_SINGLE;
    int status = INQ_EXIT_FAILED;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &may) != MPI_SUCCESS) {
        (void)fputs("inquest-mpi: MPI cannot be started\n", stderr);
        return INQ_EXIT_FAILED;
    }
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    /* partials are sent by the threads that made them, one at a time: else there is one thread */
    int cores = may >= MPI_THREAD_SERIALIZED ? own_cores() : 1;
    status = own_number() == 0 ? lead(argc, argv, cores) : serve(cores);
    (void)MPI_Finalize();
    return status;
}
