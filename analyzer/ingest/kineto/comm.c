/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives and process groups, from kernels and from the host's record_param_comms. */
#include "ingest/kineto/kineto.h"

#include "base/mem.h"
#include "base/sort.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int64_t number_or(const struct inq_scan_event *event, enum inq_scan_field field,
                         int64_t fallback)
{
    return (event->has >> field & 1) != 0 ? event->number[field] : fallback;
}

static int32_t small_or(const struct inq_scan_event *event, enum inq_scan_field field,
                        int32_t fallback)
{
    int64_t value = number_or(event, field, fallback);
    return value < 0 || value > INT32_MAX ? fallback : (int32_t)value;
}

static bool is_time(int64_t ns)
{
    return ns >= -INQ_KINETO_MAX_TIME && ns <= INQ_KINETO_MAX_TIME;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static bool has_group(const struct inq_scan_event *event)
{
    return INQ_HAS(event, GROUP_NAME) || INQ_HAS(event, GROUP_ID) ||
           (INQ_HAS(event, GROUP_RANKS) && event->text[INQ_FIELD_GROUP_RANKS].n > 2);
}

static uint64_t add_to_key(uint64_t key, const struct inq_scan_event *event,
                           enum inq_scan_field field)
{
    if ((event->has >> field & 1) == 0) {
        return inq_hash_u64(key + 1);
    }
    struct inq_text text = event->text[field];
    return inq_hash_u64(key ^ inq_hash_bytes(text.p, text.n));
}

static int name_of_group(struct inq_kineto *k, const struct inq_scan_event *event, int64_t offset,
                         inq_str *name)
{
    if (INQ_HAS(event, GROUP_NAME)) {
        return inq_kineto_name(k, event->text[INQ_FIELD_GROUP_NAME], offset, name);
    }
    *name = 0;
    if (!INQ_HAS(event, GROUP_ID)) {
        return INQ_OK;
    }
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRId64, event->number[INQ_FIELD_GROUP_ID]);
    return inq_kineto_name(k, (struct inq_text){digits, (uint32_t)n}, offset, name);
}

static int new_group(struct inq_kineto *k, const struct inq_scan_event *event, int64_t offset,
                     uint32_t *index)
{
    if (k->n_groups == INQ_KINETO_MAX_GROUPS) {
        inq_kineto_damage(k, INQ_DAMAGE_LIMIT, 1, offset);
        *index = INQ_NONE;
        return INQ_OK;
    }
    struct inq_group_note note = {.size = small_or(event, INQ_FIELD_GROUP_SIZE, -1)};
    int code = name_of_group(k, event, offset, &note.name);
    if (code == INQ_OK && INQ_HAS(event, GROUP_DESC)) {
        code = inq_kineto_name(k, event->text[INQ_FIELD_GROUP_DESC], offset, &note.desc);
    }
    if (code == INQ_OK && INQ_HAS(event, GROUP_RANKS)) {
        code = inq_kineto_ranks(k, event->text[INQ_FIELD_GROUP_RANKS], &note);
    }
    if (code == INQ_OK) {
        code = inq_mem_grow(&k->groups, &k->cap_groups, k->n_groups + 1, sizeof *k->groups,
                            INQ_MAX_GROUPS, k->err);
    }
    if (code == INQ_OK) {
        *index = (uint32_t)k->n_groups;
        k->groups[k->n_groups++] = note;
    }
    return code;
}

static int group_of(struct inq_kineto *k, const struct inq_scan_event *event, int64_t offset,
                    uint32_t *index)
{
    *index = INQ_NONE;
    if (k->exported) {
        *index = inq_kineto_export_group(k, event);
        return INQ_OK;
    }
    if (!has_group(event)) {
        return INQ_OK;
    }
    uint64_t key = add_to_key(0, event, INQ_FIELD_GROUP_NAME);
    key = add_to_key(key, event, INQ_FIELD_GROUP_DESC);
    key = add_to_key(key, event, INQ_FIELD_GROUP_RANKS);
    key ^= (uint64_t)number_or(event, INQ_FIELD_GROUP_ID, -1) << 32;
    key += (uint64_t)number_or(event, INQ_FIELD_GROUP_SIZE, -1);
    if (inq_map_get(&k->groups_by_key, key, index)) {
        return INQ_OK;
    }
    int code = new_group(k, event, offset, index);
    return code == INQ_OK && *index != INQ_NONE
               ? inq_map_put(&k->groups_by_key, key, *index, k->err)
               : code;
}

/* ---- comm rows ------------------------------------------------------------------------------- */

/* The peer of a transfer: a global rank. `Rank` of the host's record is the peer's place in its
 * group and is used only when nothing better is there. */
static int32_t peer_of(const struct inq_kineto *k, const struct inq_scan_event *event,
                       const struct inq_comm *comm)
{
    bool send = comm->kind == INQ_COLL_SEND;
    if (!send && comm->kind != INQ_COLL_RECV) {
        return -1;
    }
    int32_t peer = small_or(event, send ? INQ_FIELD_DST_RANK : INQ_FIELD_SRC_RANK, -1);
    if (peer >= 0 || k->exported || !INQ_HAS(event, RANK) || comm->group == INQ_NONE) {
        return peer;
    }
    int32_t place = small_or(event, INQ_FIELD_RANK, -1);
    const struct inq_group_note *group = &k->groups[comm->group];
    if (place >= 0 && (group->cut || group->n_ranks == 0) &&
        strcmp(inq_strtab_get(&k->shard->names, group->desc), "default_pg") == 0) {
        return place; /* the group of all ranks: long lists of those are not written out */
    }
    return place >= 0 && (uint32_t)place < group->n_ranks && !group->cut ? group->ranks[place] : -1;
}

int inq_kineto_comm(struct inq_kineto *k, const struct inq_scan_event *event, bool kernel,
                    int64_t offset, uint32_t *index)
{
    *index = INQ_NONE;
    struct inq_text name = event->text[INQ_FIELD_COLLECTIVE];
    bool named = INQ_HAS(event, COLLECTIVE) && !inq_text_is(name, "wait");
    if (!named && !kernel) {
        return INQ_OK; /* a host's record that says nothing */
    }
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.external_id = number_or(event, INQ_FIELD_EXTERNAL_ID, -1);
    int code = INQ_OK;
    if (named) {
        code = inq_kineto_name(k, name, offset, &comm.op_name);
        comm.kind = inq_coll_from_name(name.p, name.n);
        comm.group_size = small_or(event, INQ_FIELD_GROUP_SIZE, -1);
        comm.in_elems = number_or(event, INQ_FIELD_IN_ELEMS, -1);
        comm.out_elems = number_or(event, INQ_FIELD_OUT_ELEMS, -1);
        comm.seq = number_or(event, INQ_FIELD_SEQ, -1);
    }
    if (code == INQ_OK && named && INQ_HAS(event, DTYPE)) {
        struct inq_text dtype = event->text[INQ_FIELD_DTYPE];
        comm.dtype_bytes = inq_dtype_bytes(dtype.p, dtype.n);
        code = inq_kineto_name(k, dtype, offset, &comm.dtype);
    }
    if (code == INQ_OK && named) {
        code = group_of(k, event, offset, &comm.group);
    }
    if (code != INQ_OK) {
        return code;
    }
    comm.peer = peer_of(k, event, &comm);
    if (!kernel && INQ_HAS(event, TS) && is_time(event->number[INQ_FIELD_TS])) {
        comm.start_ns = event->number[INQ_FIELD_TS];
        code = inq_kineto_lane(k, event, INQ_CAT_CPU_OP, &comm.lane);
        if (code != INQ_OK) {
            return code;
        }
    }
    k->shard->file.events_kept += !kernel;
    return inq_rank_add_comm(k->rank, &comm, index, k->err);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* The description of a group in the head of the file. */
static const struct inq_group_note *find_config(const struct inq_kineto *k,
                                                const struct inq_group_note *note)
{
    for (size_t i = 0; i < k->n_config; i++) {
        const struct inq_group_note *c = &k->config[i];
        if (c->name == note->name && (note->size < 0 || c->size < 0 || c->size == note->size)) {
            return c;
        }
    }
    return NULL;
}

static int settle_group(struct inq_kineto *k, struct inq_group_note *note, uint32_t *index)
{
    if (note->cut || note->n_ranks == 0) {
        const struct inq_group_note *config = find_config(k, note);
        if (config != NULL && config->n_ranks > 0) {
            note->ranks = config->ranks;
            note->n_ranks = config->n_ranks;
        } else {
            note->n_ranks = 0; /* half a list is no list */
        }
        if (config != NULL && note->desc == 0) {
            note->desc = config->desc;
        }
    }
    if (note->size < 0 && note->n_ranks > 0) {
        note->size = (int32_t)note->n_ranks;
    }
    return inq_shard_add_group(k->shard, note->name, note->desc, note->size, note->ranks,
                               note->n_ranks, index, k->err);
}

int inq_kineto_settle_groups(struct inq_kineto *k)
{
    uint32_t *final = inq_mem_zalloc(k->n_groups, sizeof *final);
    if (final == NULL) {
        return inq_err_set(k->err, INQ_NOMEM, "out of memory for process groups");
    }
    int code = INQ_OK;
    for (size_t i = 0; i < k->n_config && code == INQ_OK; i++) {
        uint32_t index;
        code = settle_group(k, &k->config[i], &index);
    }
    for (size_t i = 0; i < k->n_groups && code == INQ_OK; i++) {
        code = settle_group(k, &k->groups[i], &final[i]);
    }
    for (size_t i = 0; i < k->rank->n_comms && code == INQ_OK; i++) {
        struct inq_comm *comm = &k->rank->comms[i];
        if (comm->group != INQ_NONE) {
            comm->group = final[comm->group];
        }
    }
    inq_mem_free(final);
    return code;
}
