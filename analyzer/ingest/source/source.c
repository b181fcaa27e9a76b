/* SPDX-License-Identifier: Apache-2.0 */
/* A source fills chunks, each with room in front for what its consumer had left over. Threaded, a
 * producer fills a ring of chunks ahead of the consumer; otherwise each chunk is filled when it is
 * asked for. */
#include "ingest/source/source.h"

#include "base/mem.h"
#include "ingest/source/codec.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RING_SLOTS = 6, WAKE_FREE = 3 };
static const size_t DEFAULT_CHUNK = (size_t)256 << 10;

/* One chunk: HEADROOM, then `n` of chunk_size bytes, then PADDING. */
struct slot {
    char *memory;
    size_t n;
};

struct inq_source {
    const char *path;
    struct inq_source_options options;
    struct inq_source_part part; /* its size is known */
    bool opened;                 /* part.fd is the source's own */
    bool is_file;
    uint64_t position; /* of the next read of a plain input */
    struct inq_unpack unpack;
    atomic_uint_fast64_t consumed;

    size_t chunk_size, n_slots;
    struct slot slots[RING_SLOTS];
    bool started, held; /* the consumer holds the slot `taken - 1` */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t filled_some, freed_some;
    /* under `mutex` when threaded: */
    size_t filled, taken; /* chunks so far; filled - taken + held are in use */
    bool ended, stop, producer_waits, consumer_waits;
    int code;
    struct inq_err error;

    /* consumer's side: */
    char *head; /* bytes gathered by peek, with headroom and padding */
    size_t head_n, head_used;
    char *ahead; /* a chunk taken from the ring but not delivered yet */
    size_t ahead_n;
    bool at_end;
    uint64_t delivered;
    struct inq_damage damage;
};

/* ---- input ----------------------------------------------------------------------------------- */

static int read_fd(struct inq_source *source, uint64_t offset, void *out, size_t cap, size_t *n,
                   struct inq_err *err)
{
    ssize_t got;
    do {
        got = pread(source->part.fd, out, cap, (off_t)(source->part.offset + offset));
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return inq_err_at(err, INQ_IO, source->path, (int64_t)offset, "cannot be read: %s",
                          strerror(errno));
    }
    *n = (size_t)got;
    return INQ_OK;
}

static int read_input(void *ctx, uint64_t offset, unsigned char *buffer, size_t cap,
                      const unsigned char **bytes, size_t *n, struct inq_err *err)
{
    struct inq_source *source = ctx;
    const struct inq_source_part *part = &source->part;
    uint64_t left = offset < part->size ? part->size - offset : 0;
    *n = left < cap ? (size_t)left : cap;
    if (part->bytes == NULL) {
        *bytes = buffer;
        return *n > 0 ? read_fd(source, offset, buffer, *n, n, err) : INQ_OK;
    }
    *bytes = (const unsigned char *)part->bytes + part->offset + offset;
    return INQ_OK;
}

static int read_plain(struct inq_source *source, char *out, size_t cap, size_t *n,
                      struct inq_err *err)
{
    *n = 0;
    while (*n < cap) {
        size_t got = 0;
        const unsigned char *bytes = NULL;
        int code = read_input(source, source->position, (unsigned char *)out + *n, cap - *n, &bytes,
                              &got, err);
        if (code != INQ_OK || got == 0) {
            return code;
        }
        if (source->part.bytes != NULL) {
            memcpy(out + *n, bytes, got);
        }
        *n += got;
        source->position += got;
    }
    return INQ_OK;
}

/* Fills one chunk; on failure what was had before it is kept in *n. */
static int fill(struct inq_source *source, struct slot *slot, struct inq_err *err)
{
    char *out = slot->memory + INQ_SOURCE_HEADROOM;
    int code;
    if (source->unpack.n_layers > 0) {
        const struct inq_unpack_layer *outer = &source->unpack.layers[0];
        code = inq_unpack_read(&source->unpack, (unsigned char *)out, source->chunk_size, &slot->n,
                               err);
        atomic_store(&source->consumed, outer->codec->consumed(outer->state));
    } else {
        code = read_plain(source, out, source->chunk_size, &slot->n, err);
        atomic_store(&source->consumed, source->position);
    }
    return code;
}

/* ---- the ring -------------------------------------------------------------------------------- */

static void *produce(void *arg)
{
    struct inq_source *source = arg;
    bool more = true;
    while (more) {
        pthread_mutex_lock(&source->mutex);
        while (source->filled - source->taken + source->held == source->n_slots && !source->stop) {
            source->producer_waits = true;
            pthread_cond_wait(&source->freed_some, &source->mutex);
        }
        source->producer_waits = false;
        bool stop = source->stop;
        size_t index = source->filled % source->n_slots;
        pthread_mutex_unlock(&source->mutex);
        if (stop) {
            break;
        }
        struct inq_err error = {0};
        int code = fill(source, &source->slots[index], &error);
        more = code == INQ_OK && source->slots[index].n > 0;
        pthread_mutex_lock(&source->mutex);
        source->filled += source->slots[index].n > 0;
        source->ended = !more;
        source->code = code;
        source->error = error;
        if (source->consumer_waits) {
            pthread_cond_signal(&source->filled_some);
        }
        pthread_mutex_unlock(&source->mutex);
    }
    return NULL;
}

/* Gives the held slot back; the producer is woken only when it can fill several at once. */
static void release_held(struct inq_source *source)
{
    if (source->held) {
        source->held = false;
        size_t used = source->filled - source->taken;
        if (source->producer_waits && source->n_slots - used >= WAKE_FREE) {
            pthread_cond_signal(&source->freed_some);
        }
    }
}

static int next_threaded(struct inq_source *source, struct slot **slot, struct inq_err *err)
{
    pthread_mutex_lock(&source->mutex);
    release_held(source);
    while (source->filled == source->taken && !source->ended) {
        source->consumer_waits = true;
        pthread_cond_wait(&source->filled_some, &source->mutex);
    }
    source->consumer_waits = false;
    int code = INQ_OK;
    if (source->filled > source->taken) {
        *slot = &source->slots[source->taken % source->n_slots];
        source->taken++;
        source->held = true;
    } else if (source->code != INQ_OK) {
        code = source->code;
        if (err != NULL && err->code == INQ_OK) {
            *err = source->error;
        }
    }
    pthread_mutex_unlock(&source->mutex);
    return code;
}

static int next_direct(struct inq_source *source, struct slot **slot, struct inq_err *err)
{
    if (!source->ended) {
        source->code = fill(source, &source->slots[0], &source->error);
        source->ended = source->code != INQ_OK || source->slots[0].n == 0;
        if (source->slots[0].n > 0) {
            *slot = &source->slots[0];
            return INQ_OK;
        }
    }
    if (source->code != INQ_OK && err != NULL && err->code == INQ_OK) {
        *err = source->error;
    }
    return source->code;
}

static int start(struct inq_source *source, struct inq_err *err)
{
    if (source->started) {
        return INQ_OK;
    }
    for (size_t i = 0; i < source->n_slots; i++) {
        size_t size = INQ_SOURCE_HEADROOM + source->chunk_size + INQ_SOURCE_PADDING;
        char *memory = inq_mem_alloc(size);
        if (memory == NULL) {
            return inq_err_set(err, INQ_NOMEM, "out of memory for input buffers");
        }
        memset(memory + size - INQ_SOURCE_PADDING, 0, INQ_SOURCE_PADDING);
        source->slots[i].memory = memory;
    }
    if (source->options.threaded && pthread_create(&source->thread, NULL, produce, source) != 0) {
        source->options.threaded = false; /* slower, but works */
    }
    source->started = true;
    return INQ_OK;
}

/* The next chunk of the ring, *n == 0 at the end. */
static int next_chunk(struct inq_source *source, char **bytes, size_t *n, struct inq_err *err)
{
    *n = 0;
    *bytes = NULL;
    int code = start(source, err);
    if (code != INQ_OK) {
        return code;
    }
    struct slot *slot = NULL;
    code = source->options.threaded ? next_threaded(source, &slot, err)
                                    : next_direct(source, &slot, err);
    if (code == INQ_OK && slot != NULL) {
        *bytes = slot->memory + INQ_SOURCE_HEADROOM;
        *n = slot->n;
        memset(*bytes + slot->n, 0, INQ_SOURCE_PADDING);
    }
    return code;
}

/* ---- the consumer's side --------------------------------------------------------------------- */

/* Gathers small chunks until there is enough to recognise a format by. */
static int gather_head(struct inq_source *source, struct inq_err *err)
{
    char *memory = inq_mem_zalloc(1, INQ_SOURCE_HEADROOM + INQ_SOURCE_PEEK + INQ_SOURCE_PADDING);
    if (memory == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for input buffers");
    }
    source->head = memory;
    char *out = memory + INQ_SOURCE_HEADROOM;
    int code = INQ_OK;
    while (source->ahead_n > 0 && source->head_n < INQ_SOURCE_PEEK) {
        size_t room = INQ_SOURCE_PEEK - source->head_n;
        size_t part = source->ahead_n < room ? source->ahead_n : room;
        memcpy(out + source->head_n, source->ahead, part);
        source->head_n += part;
        source->ahead += part;
        source->ahead_n -= part;
        if (source->ahead_n == 0) {
            code = next_chunk(source, &source->ahead, &source->ahead_n, err);
        }
        if (code != INQ_OK) {
            return code;
        }
    }
    return INQ_OK;
}

int inq_source_peek(struct inq_source *source, const char **bytes, size_t *n, struct inq_err *err)
{
    int code = INQ_OK;
    if (source->ahead_n == 0 && source->head == NULL) {
        code = next_chunk(source, &source->ahead, &source->ahead_n, err);
    }
    if (code == INQ_OK && source->head == NULL && source->ahead_n < INQ_SOURCE_PEEK) {
        code = gather_head(source, err);
    }
    if (source->head != NULL) {
        *bytes = source->head + INQ_SOURCE_HEADROOM;
        *n = source->head_n;
    } else {
        *bytes = source->ahead;
        *n = source->ahead_n < INQ_SOURCE_PEEK ? source->ahead_n : INQ_SOURCE_PEEK;
    }
    return code;
}

static void merge_damage(struct inq_source *source)
{
    for (size_t i = 0; i < source->unpack.n_layers; i++) {
        const struct inq_unpack_layer *layer = &source->unpack.layers[i];
        const struct inq_damage *damage = layer->codec->damage(layer->state);
        for (int kind = 0; kind < INQ_DAMAGE_KIND_COUNT; kind++) {
            if (source->damage.count[kind] == 0) {
                source->damage.first_offset[kind] = damage->first_offset[kind];
            }
            source->damage.count[kind] += damage->count[kind];
        }
    }
}

/* Asks the owner; at a limit the source ends. */
static int ask(struct inq_source *source, struct inq_err *err)
{
    if (source->options.tick == NULL) {
        return INQ_OK;
    }
    int code = source->options.tick(source->options.tick_ctx, err);
    if (code == INQ_LIMIT) {
        source->damage.first_offset[INQ_DAMAGE_LIMIT] = (int64_t)source->delivered;
        source->damage.count[INQ_DAMAGE_LIMIT] = 1;
        source->at_end = true;
        if (err != NULL && err->code == INQ_LIMIT) {
            err->code = INQ_OK;
        }
        code = INQ_OK;
    }
    return code;
}

int inq_source_ask(struct inq_source *source, bool *stop, struct inq_err *err)
{
    int code = ask(source, err);
    *stop = source->damage.count[INQ_DAMAGE_LIMIT] > 0;
    return code;
}

int inq_source_take(struct inq_source *source, char **bytes, size_t *n, struct inq_err *err)
{
    *n = 0;
    *bytes = NULL;
    int code = source->at_end ? INQ_OK : ask(source, err);
    if (code != INQ_OK || source->at_end) {
        return code;
    }
    if (source->head_used < source->head_n) {
        size_t left = source->head_n - source->head_used;
        *bytes = source->head + INQ_SOURCE_HEADROOM + source->head_used;
        *n = left < source->chunk_size ? left : source->chunk_size;
        source->head_used += *n;
    } else if (source->ahead_n > 0) {
        *bytes = source->ahead;
        *n = source->ahead_n;
        source->ahead_n = 0;
    } else {
        code = next_chunk(source, bytes, n, err);
        source->at_end = code == INQ_OK && *n == 0;
        if (source->at_end) {
            merge_damage(source); /* the producer has finished with it */
        }
    }
    source->delivered += *n;
    return code;
}

int inq_source_next(struct inq_source *source, const char **bytes, size_t *n, struct inq_err *err)
{
    char *chunk = NULL;
    int code = inq_source_take(source, &chunk, n, err);
    *bytes = chunk;
    return code;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int open_file(struct inq_source *source, struct inq_err *err)
{
    struct inq_source_part *part = &source->part;
    bool given = part->fd >= 0;
    if (!given) {
        part->fd = open(part->path, O_RDONLY | O_CLOEXEC);
        source->opened = part->fd >= 0;
    }
    struct stat info;
    if (part->fd < 0 || fstat(part->fd, &info) != 0) {
        return inq_err_at(err, errno == ENOENT ? INQ_NOT_FOUND : INQ_IO, source->path, -1, "%s",
                          strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return inq_err_at(err, INQ_IO, source->path, -1, "not a file");
    }
    uint64_t all = info.st_size > 0 ? (uint64_t)info.st_size : 0;
    uint64_t left = part->offset < all ? all - part->offset : 0;
    source->is_file = !given && part->offset == 0 && part->size >= all;
    part->size = part->size < left ? part->size : left;
    (void)posix_fadvise(part->fd, (off_t)part->offset, (off_t)part->size, POSIX_FADV_SEQUENTIAL);
    return INQ_OK;
}

int inq_source_open_part(const char *name, const struct inq_source_part *part,
                         const struct inq_source_options *options, struct inq_source **source,
                         struct inq_err *err)
{
    *source = NULL;
    struct inq_source *fresh = inq_mem_zalloc(1, sizeof *fresh);
    if (fresh == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a source");
    }
    fresh->path = name;
    fresh->part = *part;
    if (options != NULL) {
        fresh->options = *options;
    }
    fresh->chunk_size = fresh->options.chunk_size > 0 ? fresh->options.chunk_size : DEFAULT_CHUNK;
    fresh->n_slots = fresh->options.threaded ? RING_SLOTS : 1;
    pthread_mutex_init(&fresh->mutex, NULL);
    pthread_cond_init(&fresh->filled_some, NULL);
    pthread_cond_init(&fresh->freed_some, NULL);
    int code = part->bytes == NULL ? open_file(fresh, err) : INQ_OK;
    if (code == INQ_OK) {
        struct inq_codec_input input = {.read = read_input,
                                        .ctx = fresh,
                                        .seekable = true,
                                        .no_isal = fresh->options.no_isal,
                                        .deflated =
                                            part->is_deflated ? &fresh->part.deflated : NULL};
        code = inq_unpack_open(&fresh->unpack, &input, err);
    }
    if (code != INQ_OK) {
        inq_source_close(fresh);
        return code;
    }
    *source = fresh;
    return INQ_OK;
}

int inq_source_open(const char *path, const struct inq_source_options *options,
                    struct inq_source **source, struct inq_err *err)
{
    struct inq_source_part part = {.fd = -1, .path = path, .size = UINT64_MAX};
    return inq_source_open_part(path, &part, options, source, err);
}

int inq_source_open_memory(const void *bytes, size_t n, const struct inq_source_options *options,
                           struct inq_source **source, struct inq_err *err)
{
    struct inq_source_part part = {.bytes = bytes != NULL ? bytes : "", .fd = -1, .size = n};
    return inq_source_open_part("", &part, options, source, err);
}

bool inq_source_compressed(const struct inq_source *source)
{
    return source->unpack.n_layers > 0;
}

bool inq_source_is_file(const struct inq_source *source)
{
    return source->is_file && source->unpack.n_layers == 0;
}

uint64_t inq_source_size(const struct inq_source *source)
{
    return source->part.size;
}

uint64_t inq_source_consumed(const struct inq_source *source)
{
    return atomic_load(&source->consumed);
}

uint64_t inq_source_delivered(const struct inq_source *source)
{
    return source->delivered;
}

const struct inq_damage *inq_source_damage(const struct inq_source *source)
{
    return &source->damage;
}

const char *inq_source_path(const struct inq_source *source)
{
    return source->path;
}

void inq_source_close(struct inq_source *source)
{
    if (source == NULL) {
        return;
    }
    if (source->started && source->options.threaded) {
        pthread_mutex_lock(&source->mutex);
        source->stop = true;
        pthread_cond_signal(&source->freed_some);
        pthread_mutex_unlock(&source->mutex);
        pthread_join(source->thread, NULL);
    }
    for (size_t i = 0; i < RING_SLOTS; i++) {
        inq_mem_free(source->slots[i].memory);
    }
    inq_mem_free(source->head);
    inq_unpack_close(&source->unpack);
    pthread_cond_destroy(&source->freed_some);
    pthread_cond_destroy(&source->filled_some);
    pthread_mutex_destroy(&source->mutex);
    if (source->opened) {
        (void)close(source->part.fd);
    }
    inq_mem_free(source);
}
