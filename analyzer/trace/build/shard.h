/* SPDX-License-Identifier: Apache-2.0 */
/* A shard is what one file gave: ranks with columns, its own string table and groups, no links to
 * other files. Readers fill shards in parallel; assemble.h makes traces of them. It is the compact
 * trace of design.md: self-contained and mergeable. */
#ifndef INQ_TRACE_BUILD_SHARD_H
#define INQ_TRACE_BUILD_SHARD_H

#include "base/limits.h"
#include "base/strtab.h"
#include "inquest/trace.h"
#include "inquest/redact.h"
#include "trace/build/group_ranks.h"
#include "trace/build/launches.h"
#include "trace/build/rows.h"

/* Bounds on what a hostile file can make us hold; of rows: INQ_MAX_ROWS. */
#define INQ_MAX_LANES  ((size_t)1 << 20)
#define INQ_MAX_GROUPS ((size_t)1 << 20)

struct inq_telemetry;
struct inq_untimed;

/* All-zero is a valid empty shard. Not thread-safe; one thread fills it. */
struct inq_shard {
    struct inq_file file; /* path owned by the caller until assembled */
    struct inq_strtab names;
    struct inq_arena arena; /* group rank lists, reasons */
    size_t n_ranks, cap_ranks;
    struct inq_rank *ranks; /* string ids, group indices: of this shard */
    size_t n_groups, cap_groups;
    struct inq_group *groups;
    struct inq_rank_lists *shared; /* for their ranks; NULL: the arena holds them */
    struct inq_launches launches;
    int jobs;                     /* cores that reading and sealing it may use; 0: 1 */
    bool operators;               /* asked for: the operators of launches */
    bool took_operators;          /* because of that: without, launches would have none */
    bool sealed;                  /* before it was written down: rows are as sealing leaves them */
    struct inq_flight_dump *dump; /* NULL: none; such a shard has no ranks */
    struct inq_log *log;          /* NULL: none; nor has such a one */
    struct inq_telemetry *telemetry; /* NULL: none; nor has such a one */
    struct inq_untimed *untimed; /* in the arena: a graph that its reader's `join` gives times, and
                                  * with them its rank's rows; NULL: none */
};

void inq_shard_release(struct inq_shard *shard);
/* Takes note of the hosts and users that a shard names (`learn`), or replaces all its names, that
 * of its file too, as inq_redaction_apply does those of a run (trace/redact.c). Fails with
 * INQ_NOMEM. */
int inq_redact_shard(struct inq_redaction *redaction, struct inq_shard *shard, bool learn,
                     struct inq_err *err);

/* Appends a rank with everything unknown; *index gets its place (pointers into ranks move). */
int inq_shard_add_rank(struct inq_shard *shard, uint32_t *index, struct inq_err *err);
/* Finds the group with this name and ranks (copied; may be NULL when unknown) or appends it. */
int inq_shard_add_group(struct inq_shard *shard, inq_str name, inq_str desc, int32_t size,
                        const int32_t *ranks, uint32_t n_ranks, uint32_t *index,
                        struct inq_err *err);
/* Notes one more damage of `kind` at `offset` (uncompressed); `n` occurrences or bytes. */
void inq_damage_add(struct inq_damage *damage, enum inq_damage_kind kind, uint64_t n,
                    int64_t offset);

/* ---- filling a rank; all fail with INQ_NOMEM or INQ_LIMIT ------------------------------------ */

/* Finds the lane (kind, device, id) or appends it. */
int inq_rank_lane(struct inq_rank *rank, enum inq_lane_kind kind, int32_t device, int64_t id,
                  uint32_t *index, struct inq_err *err);

int inq_rank_add_note(struct inq_rank *rank, const struct inq_note *note, struct inq_err *err);
/* Readers give a communication kernel a comm row with its external_id even when the event says
 * nothing more (then kind is UNKNOWN and op_name 0: sealing fills it), and add the
 * record_param_comms of the host as rows that no event points to. */
/* A comm with everything unknown is {.group = INQ_NONE, .group_size = -1, .in_elems = -1,
 * .out_elems = -1, .seq = -1, .peer = -1, .external_id = -1, .start_ns = INQ_TIME_NONE, .lane =
 * INQ_NONE}: inq_comm_init. */
void inq_comm_init(struct inq_comm *comm);
int inq_rank_add_comm(struct inq_rank *rank, const struct inq_comm *comm, uint32_t *index,
                      struct inq_err *err);
int inq_rank_add_label(struct inq_rank *rank, const struct inq_label *label, uint32_t *index,
                       struct inq_err *err);

/* After the last row: sorts events by (lane, start, longer first), calls and notes by start; sets
 * aside (counted as OUTLIER) what lies absurdly far from the rest; turns
 * correlation ids into call indices (unlinked: counted as NO_LAUNCH when the file has calls);
 * fills comm rows of communication kernels that have none from record_param_comms (external id) or
 * from the kernel's name; sets first_ns, last_ns. Called by every reader's driver, per shard, so it
 * runs in parallel; so do the ranks of a shard. */
int inq_shard_finalize(struct inq_shard *shard, struct inq_err *err);

#endif
