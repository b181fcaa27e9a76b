/* SPDX-License-Identifier: Apache-2.0 */
/* What an HLO op's name and text say: "%all-reduce.1 = f32[1024]{0} all-reduce(...),
 * replica_groups={{0,1},{2,3}}". Pure functions of text. */
#ifndef INQ_INGEST_XLA_HLO_H
#define INQ_INGEST_XLA_HLO_H

#include "trace/trace.h"

enum { INQ_HLO_MAX_MEMBERS = 16384 }; /* of all replica groups of an op */

enum inq_hlo_part { INQ_HLO_WHOLE, INQ_HLO_START, INQ_HLO_DONE };

struct inq_hlo_text {
    const char *at;
    size_t n;
};

/* All-zero: nothing known. Texts point into what was given. */
struct inq_hlo {
    struct inq_hlo_text name; /* "all-reduce.1" */
    enum inq_hlo_part part;   /* of an asynchronous pair */
    enum inq_op_class cls;
    enum inq_coll_kind kind;    /* of communication */
    const char *opcode;         /* of communication: "all-reduce"; NULL else */
    bool host_copy;             /* infeed, outfeed, copies that run beside the ops */
    struct inq_hlo_text shape;  /* of the result, as written; n = 0 not given */
    struct inq_hlo_text groups; /* "{{0,1},{2,3}}" or "[2,2]<=[4]"; n = 0 not given */
    struct inq_hlo_text pairs;  /* source_target_pairs */
    int64_t elems;              /* of the result; -1 unknown */
    struct inq_hlo_text dtype;
};

/* Of an op's name or whole text, and its category ("all-reduce", "convolution fusion", n = 0
 * unknown). */
struct inq_hlo inq_hlo_parse(struct inq_hlo_text text, struct inq_hlo_text category);
/* The ranks of all replica groups one after the other into ranks[cap]; sizes of the groups into
 * sizes[cap]. Returns the number of groups; 0 when the text is none or too long. */
size_t inq_hlo_groups(struct inq_hlo_text groups, int32_t *ranks, size_t *sizes, size_t cap);

#endif
