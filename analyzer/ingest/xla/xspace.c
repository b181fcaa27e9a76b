/* SPDX-License-Identifier: Apache-2.0 */
/* An XSpace: what TensorFlow's and JAX's profiler writes of one process (xplane.proto). Devices
 * become ranks; times are ns since the profile's start, whose wall clock is in the plane "Task
 * Environment". Tables of names stand behind the events that need them, so the file is held whole
 * while it is read. */
#include "base/mem.h"
#include "ingest/xla/device.h"
#include "ingest/xla/ops.h"

#include <stdio.h>
#include <string.h>

/* No message of protocol buffers is larger. */
#define MAX_XSPACE ((size_t)INT32_MAX)

enum { SPACE_PLANES = 1, SPACE_HOSTNAMES = 4 };

static int load(struct inq_source *source, char **bytes, size_t *n, struct inq_err *err)
{
    size_t cap = 0;
    for (;;) {
        const char *chunk = NULL;
        size_t got = 0;
        int code = inq_source_next(source, &chunk, &got, err);
        if (code != INQ_OK || got == 0) {
            return code;
        }
        code = inq_mem_grow(bytes, &cap, *n + got, 1, MAX_XSPACE, err);
        if (code != INQ_OK) {
            return code;
        }
        memcpy(*bytes + *n, chunk, got);
        *n += got;
    }
}

/* ---- planes ---------------------------------------------------------------------------------- */

enum pass { ABOUT, DEVICES, HOSTS };

static bool is_named(struct inq_hlo_text name, const char *text)
{
    return name.n == strlen(text) && memcmp(name.at, text, name.n) == 0;
}

static bool is_host(struct inq_hlo_text name)
{
    return name.n > 6 && memcmp(name.at, "/host:", 6) == 0 && !is_named(name, "/host:metadata");
}

static void read_environment(struct inq_xla_file *file, const struct inq_xla_plane *plane)
{
    struct inq_wire rest = plane->message;
    struct inq_xla_stat stat;
    while (inq_xla_next_stat(plane, INQ_XLA_PLANE_STATS, &rest, &stat)) {
        if (stat.id == INQ_XLA_STAT_START_TIME && stat.number > 0 && stat.number < INT64_MAX / 4) {
            file->base_ns = stat.number;
        }
    }
}

static int read_plane(struct inq_xla_file *file, struct inq_wire message, enum pass pass,
                      struct inq_err *err)
{
    struct inq_hlo_text name = inq_xla_plane_name(message);
    int32_t ordinal = inq_xla_device_of(name);
    bool wanted = pass == ABOUT     ? is_named(name, "Task Environment")
                  : pass == DEVICES ? ordinal >= 0
                                    : is_host(name);
    struct inq_xla_plane plane;
    if (!wanted) {
        return INQ_OK;
    }
    int code = inq_xla_plane_init(&plane, message, err);
    if (code == INQ_OK && pass == ABOUT) {
        read_environment(file, &plane);
    } else if (code == INQ_OK && pass == DEVICES) {
        code = inq_xla_read_device(file, &plane, ordinal, err);
    } else if (code == INQ_OK) {
        code = inq_xla_read_host(file, &plane, err);
    }
    inq_xla_plane_release(&plane);
    return code;
}

static int read_planes(struct inq_xla_file *file, struct inq_wire space, enum pass pass,
                       struct inq_err *err)
{
    struct inq_wire rest = space;
    struct inq_wire_field field;
    int code = INQ_OK;
    while (code == INQ_OK && !file->full && inq_wire_next(&rest, &field)) {
        if (field.number == SPACE_PLANES && field.type == INQ_WIRE_BYTES) {
            code = read_plane(file, field.bytes, pass, err);
        }
    }
    if (rest.bad && pass == ABOUT) {
        inq_damage_add(&file->shard->file.damage, INQ_DAMAGE_TRUNCATED, 1,
                       (int64_t)inq_wire_len(&space));
    }
    return code;
}

/* ---- the whole file -------------------------------------------------------------------------- */

/* "10.0.0.3:6009" is the host 10.0.0.3. */
static int name_host(struct inq_shard *shard, struct inq_wire space, struct inq_err *err)
{
    struct inq_wire_field field;
    inq_str host = 0;
    int code = INQ_OK;
    while (code == INQ_OK && host == 0 && inq_wire_next(&space, &field)) {
        if (field.number == SPACE_HOSTNAMES && field.type == INQ_WIRE_BYTES) {
            const char *name = field.bytes.at;
            size_t n = inq_wire_len(&field.bytes);
            const char *colon = n > 0 ? memchr(name, ':', n) : NULL;
            n = colon != NULL ? (size_t)(colon - name) : n;
            code = inq_strtab_add(&shard->names, name, n, &host, err);
        }
    }
    for (size_t r = 0; r < shard->n_ranks; r++) {
        shard->ranks[r].host = host;
    }
    return code;
}

static int explain(struct inq_xla_file *file, struct inq_err *err)
{
    struct inq_shard *shard = file->shard;
    if (shard->n_ranks == 0) {
        shard->file.reason = "no device work recognized: the profile has no plane of a GPU or TPU "
                             "with kernels";
        return INQ_OK;
    }
    char idle[128] = "";
    if (file->idle_devices > 0) {
        (void)snprintf(idle, sizeof idle, "; %u more device%s only copied (%llu copies)",
                       file->idle_devices, file->idle_devices == 1 ? "" : "s",
                       (unsigned long long)file->idle_copies);
    }
    char lost[96] = "";
    if (file->lost_names > 0) {
        (void)snprintf(lost, sizeof lost, "; %llu events without a name: its table is cut off",
                       (unsigned long long)file->lost_names);
    }
    shard->file.reason =
        inq_arena_printf(&shard->arena, "no ranks in the file: numbered by device%s%s", idle, lost);
    return shard->file.reason != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
}

static int read_space(struct inq_xla_file *file, struct inq_wire space, struct inq_err *err)
{
    int code = INQ_OK;
    for (int pass = ABOUT; pass <= HOSTS && code == INQ_OK; pass++) {
        code = read_planes(file, space, (enum pass)pass, err);
    }
    if (code == INQ_OK) {
        code = inq_xla_mark_launches(file->shard, err);
    }
    if (code == INQ_OK) {
        code = name_host(file->shard, space, err);
    }
    if (code == INQ_OK) {
        code = inq_xla_settle_groups(file->shard, err);
    }
    return code == INQ_OK ? explain(file, err) : code;
}

static int read_xspace(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    struct inq_xla_file file = {.shard = shard, .source = source};
    char *bytes = NULL;
    size_t n = 0;
    shard->file.format = inq_reader_xspace.name;
    int code = load(source, &bytes, &n, err);
    if (code == INQ_OK && n > 0) {
        code = read_space(&file, inq_wire_of(bytes, n), err);
    }
    inq_mem_free(bytes);
    inq_map_release(&file.ranks_by_launch);
    return code;
}

/* ---- recognition ----------------------------------------------------------------------------- */

/* A plane's name stands in front of all that is long. */
static int sniff_xspace(const char *head, size_t n, const char *path)
{
    static const char *const names[] = {"/host:", "/device:", "Task Environment", "#Chip"};
    (void)path;
    struct inq_wire space = inq_wire_of(head, n);
    struct inq_wire_field field;
    if (!inq_wire_next(&space, &field) || field.number != SPACE_PLANES ||
        field.type != INQ_WIRE_BYTES) {
        return 0;
    }
    struct inq_hlo_text name = inq_xla_plane_name(field.bytes);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t len = strlen(names[i]);
        if (name.n >= len && memcmp(name.at, names[i], len) == 0) {
            return 95;
        }
    }
    return 0;
}

const struct inq_reader inq_reader_xspace = {
    .name = "xspace",
    .summary = "XSpace of TensorFlow's and JAX's profiler (*.xplane.pb): device ops, steps",
    .sniff = sniff_xspace,
    .read = read_xspace,
};
