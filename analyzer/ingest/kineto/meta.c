/* SPDX-License-Identifier: Apache-2.0 */
/* What a document says besides its events: rank, world, process groups, devices, host, job, base
 * of its clock. */
#include "ingest/kineto/kineto.h"

#include "base/mem.h"

#include <string.h>

enum { MAX_CONFIG = INQ_KINETO_MAX_GROUPS, MAX_DEVICES = 4096 };

static int32_t rank_number(struct inq_text value)
{
    int64_t number = inq_kineto_number(value, -1);
    return number < 0 || number > INT32_MAX ? -1 : (int32_t)number;
}

/* ---- process groups -------------------------------------------------------------------------- */

static int take_config_member(struct inq_kineto *k, void *ctx, struct inq_text key,
                              struct inq_text value)
{
    struct inq_group_note *note = ctx;
    if (inq_text_is(key, "pg_name")) {
        return inq_kineto_text(k, value, &note->name);
    }
    if (inq_text_is(key, "pg_desc")) {
        return inq_kineto_text(k, value, &note->desc);
    }
    if (inq_text_is(key, "pg_size")) {
        note->size = rank_number(value);
    } else if (inq_text_is(key, "ranks")) {
        return inq_kineto_ranks(k, value, note); /* a list, or a list in quotes */
    }
    return INQ_OK;
}

static int take_config(struct inq_kineto *k, struct inq_text list)
{
    if (list.n < 2 || list.p[0] != '[') {
        return INQ_OK;
    }
    struct inq_scan scan = inq_kineto_inside(list);
    struct inq_text value;
    while (inq_kineto_next_element(&scan, &value)) {
        struct inq_group_note note = {.size = -1};
        int code = inq_kineto_each_member(k, value, take_config_member, &note);
        if (code == INQ_OK && k->n_config == MAX_CONFIG) {
            inq_kineto_damage(k, INQ_DAMAGE_LIMIT, 1, -1);
            continue;
        }
        if (code == INQ_OK) {
            code = inq_mem_grow(&k->config, &k->cap_config, k->n_config + 1, sizeof *k->config,
                                MAX_CONFIG, k->err);
        }
        if (code != INQ_OK) {
            return code;
        }
        k->config[k->n_config++] = note;
    }
    return INQ_OK;
}

static int take_distributed_member(struct inq_kineto *k, void *ctx, struct inq_text key,
                                   struct inq_text value)
{
    (void)ctx;
    if (inq_text_is(key, "rank")) {
        k->rank->rank = rank_number(value);
    } else if (inq_text_is(key, "world_size")) {
        k->rank->world_size = rank_number(value);
    } else if (inq_text_is(key, "backend")) {
        struct inq_text backend = inq_kineto_unquote(value);
        k->device |= inq_text_is(backend, "nccl") || inq_text_is(backend, "hccl") ||
                     inq_text_is(backend, "xccl") || inq_text_is(backend, "mccl");
    } else if (inq_text_is(key, "pg_config")) {
        return take_config(k, value);
    }
    return INQ_OK;
}

/* ---- devices --------------------------------------------------------------------------------- */

static int take_device_member(struct inq_kineto *k, void *ctx, struct inq_text key,
                              struct inq_text value)
{
    struct inq_device_note *device = ctx;
    if (inq_text_is(key, "id")) {
        device->id = inq_kineto_number(value, -1);
    } else if (inq_text_is(key, "name")) {
        return inq_kineto_text(k, value, &device->name);
    } else if (inq_text_is(key, "numSms")) {
        device->multiprocessors = rank_number(value);
    }
    return INQ_OK;
}

static int take_devices(struct inq_kineto *k, struct inq_text list)
{
    if (list.n < 2 || list.p[0] != '[') {
        return INQ_OK;
    }
    struct inq_scan scan = inq_kineto_inside(list);
    struct inq_text value;
    while (inq_kineto_next_element(&scan, &value)) {
        struct inq_device_note device = {.id = -1, .multiprocessors = -1};
        if (k->n_devices == MAX_DEVICES) {
            inq_kineto_damage(k, INQ_DAMAGE_LIMIT, 1, -1);
            continue;
        }
        int code = inq_kineto_each_member(k, value, take_device_member, &device);
        if (code == INQ_OK) {
            code = inq_mem_grow(&k->devices, &k->cap_devices, k->n_devices + 1, sizeof *k->devices,
                                MAX_DEVICES, k->err);
        }
        if (code != INQ_OK) {
            return code;
        }
        k->devices[k->n_devices++] = device;
    }
    return INQ_OK;
}

/* ---- members of the document ----------------------------------------------------------------- */

/* Where a job's name, version and attempt are written. */
static const char *const job_keys[2][INQ_JOB_PARTS] = {
    {"PT_PROFILER_JOB_NAME", "PT_PROFILER_JOB_VERSION", "PT_PROFILER_JOB_ATTEMPT_INDEX"},
    {"mast_job_name", "mast_job_version", "mast_job_attempt"},
};

static int take_job(struct inq_kineto *k, struct inq_text key, struct inq_text value)
{
    for (int i = 0; i < 2; i++) {
        for (int part = 0; part < INQ_JOB_PARTS; part++) {
            if (inq_text_is(key, job_keys[i][part])) {
                return inq_kineto_text(k, value, &k->job[i][part]);
            }
        }
    }
    return INQ_OK;
}

static void take_base(struct inq_kineto *k, struct inq_text value, int64_t offset)
{
    int64_t base = 0;
    struct inq_text text = inq_kineto_unquote(value);
    if (!inq_scan_int(text.p, text.n, &base) || base < 0 || base > INQ_KINETO_MAX_TIME) {
        inq_kineto_damage(k, INQ_DAMAGE_BAD_NUMBER, 1, offset);
        return;
    }
    k->rank->base_ns = base;
    k->has_base = true;
}

int inq_kineto_member(struct inq_kineto *k, struct inq_text key, struct inq_text value,
                      int64_t offset)
{
    if (inq_text_is(key, "inquest") && !k->exported && k->shard->file.events == 0) {
        return inq_kineto_export_head(k, value);
    }
    if (k->exported) {
        return INQ_OK; /* for other programs; the head says it all */
    }
    if (inq_text_is(key, "distributedInfo")) {
        k->kineto = true;
        k->has_distributed = true;
        return inq_kineto_each_member(k, value, take_distributed_member, NULL);
    }
    if (inq_text_is(key, "deviceProperties")) {
        k->kineto = true;
        return take_devices(k, value);
    }
    if (inq_text_is(key, "baseTimeNanoseconds")) {
        k->kineto = true;
        take_base(k, value, offset);
        return INQ_OK;
    }
    if (inq_text_is(key, "schemaVersion") || inq_text_is(key, "traceName")) {
        k->kineto = true;
        return INQ_OK;
    }
    if (inq_text_is(key, "host_name")) {
        return inq_kineto_text(k, value, &k->rank->host);
    }
    return take_job(k, key, value);
}
