/* SPDX-License-Identifier: Apache-2.0 */
#include "support_digest.h"

#include "base/hash.h"

#include <string.h>

struct digest {
    uint64_t sum;
    const struct inq_trace *trace;
    enum test_digest_what what;
};

static void add_bytes(struct digest *d, const void *bytes, size_t n)
{
    if (n > 0) {
        d->sum = inq_hash_u64(d->sum ^ inq_hash_bytes(bytes, n));
    }
    d->sum = inq_hash_u64(d->sum + n);
}

static void add_int(struct digest *d, int64_t value)
{
    d->sum = inq_hash_u64(d->sum ^ (uint64_t)value) + 1;
}

static void add_text(struct digest *d, const char *text)
{
    add_bytes(d, text, strlen(text));
}

/* Ids may differ between two runs, texts may not. */
static void add_str(struct digest *d, inq_str id)
{
    add_text(d, inq_trace_str(d->trace, id));
}

static void add_file(struct digest *d, const struct inq_file *file)
{
    if (d->what == TEST_DIGEST_ALL) {
        add_text(d, file->path);
        add_int(d, (int64_t)file->bytes);
        add_int(d, file->compressed);
        add_text(d, file->reason);
    }
    add_text(d, file->format);
    add_int(d, (int64_t)file->bytes_raw);
    add_int(d, (int64_t)file->events);
    add_int(d, (int64_t)file->events_kept);
    add_int(d, file->read);
    for (int kind = 0; kind < INQ_DAMAGE_KIND_COUNT; kind++) {
        add_int(d, (int64_t)file->damage.count[kind]);
        add_int(d, file->damage.count[kind] > 0 ? file->damage.first_offset[kind] : 0);
    }
}

static void add_events(struct digest *d, const struct inq_rank *rank)
{
    const struct inq_events *e = &rank->events;
    add_bytes(d, e->start_ns, e->n * sizeof *e->start_ns);
    add_bytes(d, e->dur_ns, e->n * sizeof *e->dur_ns);
    add_bytes(d, e->lane, e->n * sizeof *e->lane);
    add_bytes(d, e->call, e->n * sizeof *e->call);
    add_bytes(d, e->comm, e->n * sizeof *e->comm);
    add_bytes(d, e->kind, e->n);
    add_bytes(d, e->cls, e->n);
    if (e->step != NULL) {
        add_bytes(d, e->step, e->n * sizeof *e->step);
    }
    for (size_t i = 0; i < e->n; i++) {
        add_str(d, e->name[i]);
        if (e->label != NULL && e->label[i] != INQ_NONE) {
            add_bytes(d, &rank->labels[e->label[i]], sizeof *rank->labels);
        }
        const struct inq_launch *launch = inq_trace_launch(d->trace, rank, i);
        add_bytes(d, launch->grid, sizeof launch->grid);
        add_bytes(d, launch->block, sizeof launch->block);
        add_str(d, launch->op);
        add_str(d, launch->dims);
    }
}

static void add_rank(struct digest *d, const struct inq_rank *rank)
{
    add_int(d, rank->rank);
    add_int(d, rank->world_size);
    add_int(d, rank->stage);
    add_int(d, rank->dp_rank);
    add_int(d, rank->pid);
    add_int(d, rank->base_ns);
    add_int(d, rank->first_ns);
    add_int(d, rank->last_ns);
    add_int(d, rank->clock.offset_ns);
    add_int(d, rank->clock.residual_ns);
    add_str(d, rank->host);
    add_str(d, rank->device_name);
    for (size_t i = 0; i < rank->n_lanes; i++) {
        add_int(d, rank->lanes[i].kind);
        add_int(d, rank->lanes[i].device);
        add_int(d, rank->lanes[i].id);
        add_str(d, rank->lanes[i].name);
    }
    add_events(d, rank);
    add_bytes(d, rank->calls.start_ns, rank->calls.n * sizeof *rank->calls.start_ns);
    add_bytes(d, rank->calls.dur_ns, rank->calls.n * sizeof *rank->calls.dur_ns);
    for (size_t i = 0; i < rank->calls.n; i++) {
        add_str(d, rank->calls.name[i]);
    }
    for (size_t i = 0; i < rank->n_notes; i++) {
        add_int(d, rank->notes[i].start_ns);
        add_int(d, rank->notes[i].dur_ns);
        add_int(d, rank->notes[i].number);
        add_str(d, rank->notes[i].name);
    }
    for (size_t i = 0; i < rank->n_comms; i++) {
        add_int(d, rank->comms[i].kind);
        add_int(d, rank->comms[i].in_elems);
        add_int(d, rank->comms[i].out_elems);
        add_int(d, rank->comms[i].group);
        add_str(d, rank->comms[i].op_name);
        add_int(d, rank->comms[i].start_ns);
    }
}

static void add_trace(struct digest *d, const struct inq_trace *trace)
{
    d->trace = trace;
    if (d->what == TEST_DIGEST_ALL) {
        add_text(d, trace->name);
    }
    add_int(d, trace->world_size);
    for (size_t i = 0; i < trace->n_files; i++) {
        add_file(d, &trace->files[i]);
    }
    for (size_t i = 0; i < trace->n_ranks; i++) {
        add_rank(d, &trace->ranks[i]);
    }
    add_bytes(d, trace->missing, trace->n_missing * sizeof *trace->missing);
    for (size_t i = 0; i < trace->n_groups; i++) {
        add_str(d, trace->groups[i].name);
        add_int(d, trace->groups[i].size);
        add_bytes(d, trace->groups[i].ranks, trace->groups[i].n_ranks * sizeof(int32_t));
    }
    for (size_t i = 0; i < trace->n_steps; i++) {
        add_int(d, trace->steps[i].number);
        add_int(d, trace->steps[i].start_ns);
        add_int(d, trace->steps[i].end_ns);
    }
    add_bytes(d, trace->members, trace->n_members * sizeof *trace->members);
    for (size_t i = 0; i < trace->n_collectives; i++) {
        add_int(d, trace->collectives[i].group);
        add_int(d, trace->collectives[i].kind);
        add_int(d, trace->collectives[i].seq);
        add_int(d, trace->collectives[i].n_members);
    }
    add_int(d, (int64_t)trace->unmatched_comms);
}

uint64_t test_digest_run(const struct inq_run *run, enum test_digest_what what)
{
    struct digest d = {.what = what};
    for (size_t i = 0; i < run->n_traces; i++) {
        add_trace(&d, run->traces[i]);
    }
    for (size_t i = 0; i < run->n_skipped; i++) {
        add_file(&d, &run->skipped[i]);
    }
    return d.sum;
}
