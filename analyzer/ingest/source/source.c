/* SPDX-License-Identifier: Apache-2.0 */
/* A source fills chunks, each with room in front for what its consumer had left over. Threaded, a
 * producer fills a ring of chunks ahead of the consumer; otherwise each chunk is filled when it is
 * asked for. Decompressing takes longer than most consumers do, so these lend a hand: where chunks
 * do not depend on each other they fill some, else they read the file ahead and check sums. */
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

enum { RING_SLOTS = 12, WAKE_FREE = 6, WAKE_READY = 6 };
enum { STRETCH = 256 << 10 }; /* of packed text as much as fills the ring, more or less */
static const size_t DEFAULT_CHUNK = (size_t)256 << 10;

/* One chunk: HEADROOM, then `n` of chunk_size bytes, then PADDING. */
struct slot {
    char *memory;
    size_t n;
    void *note;
    bool noted;
    bool ready; /* under the source's mutex */
    int code;   /* of what follows the bytes */
    struct inq_err error;
    struct inq_spans spans; /* of the bytes */
};

/* A stretch of a compressed file, read ahead by the consumer. */
struct stretch {
    enum { UNWANTED, WANTED, AT_WORK, READY } state;
    unsigned char *bytes; /* [STRETCH]; NULL at first */
    uint64_t offset;
    size_t n;
};

struct inq_source {
    const char *path;
    struct inq_source_options options;
    struct inq_source_part part; /* its size is known */
    bool opened;                 /* part.fd is the source's own */
    bool is_file;
    struct inq_unpack unpack;
    atomic_uint_fast64_t consumed, produced;

    size_t chunk_size, n_slots;
    char *memory; /* of all slots */
    struct slot slots[RING_SLOTS];
    bool started, held; /* the consumer holds the slot `taken - 1` */
    pthread_t thread;
    bool has_thread, reads_ahead;
    pthread_mutex_t mutex;
    pthread_cond_t filled_some, freed_some;
    /* under `mutex` when threaded: */
    size_t claimed, taken; /* chunks so far; claimed - taken + held are in use */
    bool ended, stop, producer_waits, consumer_waits;
    inq_source_work work;
    struct stretch stretches[2]; /* what is being decompressed, and what comes then */
    size_t next_stretch;

    /* consumer's side: */
    char *head; /* bytes gathered by peek, with headroom and padding */
    size_t head_n, head_used;
    char *ahead; /* a chunk taken from the ring but not delivered yet */
    size_t ahead_n;
    const void *note;  /* of the chunk that was delivered */
    bool at_end, last; /* last: no chunk follows the one had */
    int code;          /* of what follows it */
    struct inq_err error;
    uint64_t delivered;
    uint64_t summed; /* bytes of all chunks that were had */
    uint32_t sum;    /* of the member at hand */
    struct inq_damage sum_damage, damage;
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

/* The producer's turn: takes the stretch at `offset` if the consumer has read it, and in any case
 * wants the one behind that, or behind the `n` bytes that are read without. */
static bool take_stretch(struct inq_source *source, uint64_t offset, size_t n,
                         struct stretch *taken)
{
    pthread_mutex_lock(&source->mutex);
    struct stretch *next = &source->stretches[source->next_stretch];
    while (next->state == AT_WORK) {
        source->producer_waits = true;
        pthread_cond_wait(&source->freed_some, &source->mutex);
        source->producer_waits = false;
    }
    bool ready = next->state == READY && next->offset == offset;
    if (ready) {
        *taken = *next;
        n = next->n;
        source->next_stretch = 1 - source->next_stretch;
        next = &source->stretches[source->next_stretch];
    }
    next->state = WANTED;
    next->offset = offset + n;
    pthread_mutex_unlock(&source->mutex);
    return ready;
}

/* The consumer's turn; with the mutex, but not while it reads. What it cannot read the producer
 * will, and will say why. */
static void read_stretch(struct inq_source *source)
{
    struct stretch *next = &source->stretches[source->next_stretch];
    uint64_t left = next->offset < source->part.size ? source->part.size - next->offset : 0;
    size_t cap = left < STRETCH ? (size_t)left : STRETCH;
    next->state = AT_WORK;
    pthread_mutex_unlock(&source->mutex);
    struct inq_err ignored = {0};
    size_t n = 0;
    next->bytes = next->bytes != NULL ? next->bytes : inq_mem_alloc(STRETCH);
    if (next->bytes != NULL && cap > 0) {
        (void)read_fd(source, next->offset, next->bytes, cap, &n, &ignored);
    }
    pthread_mutex_lock(&source->mutex);
    next->n = n;
    next->state = n > 0 ? READY : UNWANTED;
    if (source->producer_waits) {
        pthread_cond_signal(&source->freed_some);
    }
}

static int read_input(void *ctx, uint64_t offset, unsigned char *buffer, size_t cap,
                      const unsigned char **bytes, size_t *n, struct inq_err *err)
{
    struct inq_source *source = ctx;
    const struct inq_source_part *part = &source->part;
    uint64_t left = offset < part->size ? part->size - offset : 0;
    *n = left < cap ? (size_t)left : cap;
    struct stretch stretch;
    if (part->bytes == NULL && source->reads_ahead && take_stretch(source, offset, *n, &stretch)) {
        *bytes = stretch.bytes;
        *n = stretch.n;
        return INQ_OK;
    }
    if (part->bytes == NULL) {
        *bytes = buffer;
        return *n > 0 ? read_fd(source, offset, buffer, *n, n, err) : INQ_OK;
    }
    *bytes = (const unsigned char *)part->bytes + part->offset + offset;
    return INQ_OK;
}

static int read_plain(struct inq_source *source, uint64_t offset, char *out, size_t cap, size_t *n,
                      struct inq_err *err)
{
    *n = 0;
    while (*n < cap) {
        size_t got = 0;
        const unsigned char *bytes = NULL;
        int code =
            read_input(source, offset + *n, (unsigned char *)out + *n, cap - *n, &bytes, &got, err);
        if (code != INQ_OK || got == 0) {
            return code;
        }
        if (source->part.bytes != NULL) {
            memcpy(out + *n, bytes, got);
        }
        *n += got;
    }
    return INQ_OK;
}

/* Fills the chunk with that number; on failure what was had before it is kept. What is not full is
 * the last one. */
static void fill(struct inq_source *source, size_t number, struct slot *slot, inq_source_work work)
{
    char *out = slot->memory + INQ_SOURCE_HEADROOM;
    slot->error = (struct inq_err){0};
    if (source->unpack.n_layers > 0) {
        const struct inq_unpack_layer *outer = &source->unpack.layers[0];
        slot->code = inq_unpack_read(&source->unpack, (unsigned char *)out, source->chunk_size,
                                     &slot->n, &slot->spans, &slot->error);
        atomic_store(&source->consumed, outer->codec->consumed(outer->state));
    } else {
        slot->code = read_plain(source, (uint64_t)number * source->chunk_size, out,
                                source->chunk_size, &slot->n, &slot->error);
        atomic_fetch_add(&source->consumed, slot->n);
    }
    atomic_fetch_add(&source->produced, slot->n);
    memset(out + slot->n, 0, INQ_SOURCE_PADDING);
    slot->noted = work != NULL && slot->n > 0;
    if (slot->noted) {
        work(out, slot->n, slot->note);
    }
}

/* ---- the ring -------------------------------------------------------------------------------- */

static bool is_full(const struct inq_source *source)
{
    return source->claimed - source->taken + source->held == source->n_slots;
}

/* Fills the next slot, which must be free. Has the mutex when called and when it returns, not
 * meanwhile. */
static void fill_next(struct inq_source *source)
{
    size_t number = source->claimed++;
    struct slot *slot = &source->slots[number % source->n_slots];
    inq_source_work work = source->work;
    slot->ready = false;
    pthread_mutex_unlock(&source->mutex);
    fill(source, number, slot, work);
    pthread_mutex_lock(&source->mutex);
    slot->ready = true;
    source->ended = source->ended || slot->code != INQ_OK || slot->n < source->chunk_size;
    bool enough = source->ended || source->claimed - source->taken >= WAKE_READY;
    if (source->consumer_waits && enough) {
        pthread_cond_signal(&source->filled_some);
    }
}

static void *produce(void *arg)
{
    struct inq_source *source = arg;
    pthread_mutex_lock(&source->mutex);
    while (!source->stop && !source->ended) {
        if (is_full(source)) {
            source->producer_waits = true;
            pthread_cond_wait(&source->freed_some, &source->mutex);
            source->producer_waits = false;
        } else {
            fill_next(source);
        }
    }
    pthread_mutex_unlock(&source->mutex);
    return NULL;
}

/* Gives the held slot back; the producer is woken only when it can fill several at once. */
static void release_held(struct inq_source *source)
{
    if (source->held) {
        source->held = false;
        size_t used = source->claimed - source->taken;
        if (source->producer_waits && source->n_slots - used >= WAKE_FREE) {
            pthread_cond_signal(&source->freed_some);
        }
    }
}

/* The next slot; must not be called when the last was had. Chunks of a plain input do not depend on
 * each other: rather than wait for one the consumer fills the one behind it. */
static struct slot *next_threaded(struct inq_source *source)
{
    pthread_mutex_lock(&source->mutex);
    release_held(source);
    struct slot *slot = &source->slots[source->taken % source->n_slots];
    while (source->taken == source->claimed || !slot->ready) {
        if (source->unpack.n_layers == 0 && !source->ended && !is_full(source)) {
            fill_next(source);
        } else if (source->stretches[source->next_stretch].state == WANTED) {
            read_stretch(source);
        } else {
            source->consumer_waits = true;
            pthread_cond_wait(&source->filled_some, &source->mutex);
            source->consumer_waits = false;
        }
    }
    source->taken++;
    source->held = true;
    pthread_mutex_unlock(&source->mutex);
    return slot;
}

static struct slot *next_direct(struct inq_source *source)
{
    fill(source, source->claimed++, &source->slots[0], NULL);
    return &source->slots[0];
}

static int start(struct inq_source *source, struct inq_err *err)
{
    if (source->started) {
        return INQ_OK;
    }
    enum { LINE = 64 };
    size_t size = INQ_SOURCE_HEADROOM + source->chunk_size + INQ_SOURCE_PADDING;
    size_t step = (size + LINE - 1) / LINE * LINE;
    /* none behind the last: sanitizers see who reads on */
    source->memory = inq_mem_alloc_long((source->n_slots - 1) * step + size);
    if (source->memory == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for input buffers");
    }
    for (size_t i = 0; i < source->n_slots; i++) {
        source->slots[i].memory = source->memory + i * step;
    }
    source->reads_ahead = source->options.threaded && source->unpack.n_layers > 0;
    /* slower without, but works */
    source->has_thread =
        source->options.threaded && pthread_create(&source->thread, NULL, produce, source) == 0;
    source->started = true;
    return INQ_OK;
}

/* The checksums that the codec has left to its reader. */
static void sum_up(struct inq_source *source, const struct slot *slot)
{
    const char *bytes = slot->memory + INQ_SOURCE_HEADROOM;
    for (size_t i = 0; i < slot->spans.n; i++) {
        const struct inq_span *span = &slot->spans.of[i];
        source->sum = inq_gzip_sum(span->first ? span->sum : source->sum, bytes + span->from,
                                   span->to - span->from, source->options.no_isal);
        struct inq_damage *damage = &source->sum_damage;
        if (span->last && source->sum != span->right &&
            damage->count[INQ_DAMAGE_CORRUPT_GZIP]++ == 0) {
            damage->first_offset[INQ_DAMAGE_CORRUPT_GZIP] = (int64_t)(source->summed + span->to);
        }
    }
    source->summed += slot->n;
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
    if (source->last) {
        if (source->code != INQ_OK && err != NULL && err->code == INQ_OK) {
            *err = source->error;
        }
        return source->code;
    }
    struct slot *slot = source->has_thread ? next_threaded(source) : next_direct(source);
    source->code = slot->code;
    source->error = slot->error;
    source->last = slot->code != INQ_OK || slot->n < source->chunk_size;
    sum_up(source, slot);
    if (slot->n == 0) {
        return next_chunk(source, bytes, n, err);
    }
    *bytes = slot->memory + INQ_SOURCE_HEADROOM;
    *n = slot->n;
    source->note = slot->noted ? slot->note : NULL;
    return INQ_OK;
}

/* ---- the consumer's side --------------------------------------------------------------------- */

/* Gathers small chunks until there is enough to recognize a format by. */
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
    bool is_short = code == INQ_OK && source->head == NULL && source->ahead_n < INQ_SOURCE_PEEK;
    if (is_short && source->last && source->ahead_n > 0) { /* one chunk is all there is */
        memset(source->ahead + source->ahead_n, 0, INQ_SOURCE_PADDING);
    } else if (is_short) {
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

static void add_damage(struct inq_damage *all, const struct inq_damage *damage)
{
    for (int kind = 0; kind < INQ_DAMAGE_KIND_COUNT; kind++) {
        if (damage->count[kind] > 0 &&
            (all->count[kind] == 0 || damage->first_offset[kind] < all->first_offset[kind])) {
            all->first_offset[kind] = damage->first_offset[kind];
        }
        all->count[kind] += damage->count[kind];
    }
}

static void merge_damage(struct inq_source *source)
{
    for (size_t i = 0; i < source->unpack.n_layers; i++) {
        const struct inq_unpack_layer *layer = &source->unpack.layers[i];
        add_damage(&source->damage, layer->codec->damage(layer->state));
    }
    add_damage(&source->damage, &source->sum_damage);
}

/* Asks the owner; at a limit the source ends. */
static int ask(struct inq_source *source, int64_t offset, struct inq_err *err)
{
    if (source->options.tick == NULL) {
        return INQ_OK;
    }
    int code = source->options.tick(source->options.tick_ctx, err);
    if (code == INQ_LIMIT) {
        source->delivered = offset >= 0 ? (uint64_t)offset : source->delivered;
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

int inq_source_ask(struct inq_source *source, int64_t offset, bool *stop, struct inq_err *err)
{
    int code = ask(source, offset, err);
    *stop = source->damage.count[INQ_DAMAGE_LIMIT] > 0;
    return code;
}

int inq_source_take(struct inq_source *source, char **bytes, size_t *n, const void **note,
                    struct inq_err *err)
{
    *n = 0;
    *bytes = NULL;
    int code = source->at_end ? INQ_OK : ask(source, -1, err);
    source->note = *note = NULL;
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
        *note = source->note;
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
    const void *note = NULL;
    int code = inq_source_take(source, &chunk, n, &note, err);
    *bytes = chunk;
    return code;
}

int inq_source_work_ahead(struct inq_source *source, inq_source_work work, size_t note_size,
                          struct inq_err *err)
{
    int code = source->options.threaded ? start(source, err) : INQ_OK;
    if (code != INQ_OK || !source->has_thread) {
        return code;
    }
    pthread_mutex_lock(&source->mutex);
    for (size_t i = 0; i < source->n_slots && code == INQ_OK; i++) {
        struct slot *slot = &source->slots[i];
        slot->note = slot->note != NULL ? slot->note : inq_mem_zalloc(1, note_size);
        if (slot->note == NULL) {
            code = inq_err_set(err, INQ_NOMEM, "out of memory for input buffers");
        }
    }
    source->work = code == INQ_OK ? work : NULL;
    pthread_mutex_unlock(&source->mutex);
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
    /* of a small plain file one chunk, and a byte to see its end by */
    if (code == INQ_OK && fresh->options.chunk_size == 0 && fresh->unpack.n_layers == 0 &&
        fresh->part.size < fresh->chunk_size) {
        fresh->chunk_size = (size_t)fresh->part.size + 1;
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

bool inq_source_is_file(const struct inq_source *source, uint64_t *size)
{
    *size = source->part.size;
    return source->is_file && source->unpack.n_layers == 0;
}

uint64_t inq_source_consumed(const struct inq_source *source)
{
    uint64_t consumed = atomic_load(&source->consumed);
    uint64_t produced = atomic_load(&source->produced); /* a ring ahead of what is delivered */
    return produced > source->delivered
               ? (uint64_t)((double)consumed * (double)source->delivered / (double)produced)
               : consumed;
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
    if (source->has_thread) {
        pthread_mutex_lock(&source->mutex);
        source->stop = true;
        pthread_cond_signal(&source->freed_some);
        pthread_mutex_unlock(&source->mutex);
        (void)pthread_join(source->thread, NULL);
    }
    for (size_t i = 0; i < RING_SLOTS; i++) {
        inq_mem_free(source->slots[i].note);
    }
    inq_mem_free(source->stretches[0].bytes);
    inq_mem_free(source->stretches[1].bytes);
    inq_mem_free(source->memory);
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
