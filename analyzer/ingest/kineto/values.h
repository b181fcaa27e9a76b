/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the document's head, from their text. */
#ifndef INQ_INGEST_KINETO_VALUES_H
#define INQ_INGEST_KINETO_VALUES_H

#include "ingest/kineto/kineto.h"

/* Called for each member of an object. `value` is its text, quotes included. */
typedef int (*inq_kineto_member_fn)(struct inq_kineto *k, void *ctx, struct inq_text key,
                                    struct inq_text value);

/* Walks the members of an object; stops quietly where it is malformed. */
int inq_kineto_each_member(struct inq_kineto *k, struct inq_text object, inq_kineto_member_fn fn,
                           void *ctx);
/* A cursor behind the bracket of an array or object. A value's text is bounded by what follows it;
 * at its very end something has to. */
struct inq_scan inq_kineto_inside(struct inq_text value);
/* The next element of an array. */
bool inq_kineto_next_element(struct inq_scan *scan, struct inq_text *value);
/* The inside of a string's quotes; any other value as it is. */
struct inq_text inq_kineto_unquote(struct inq_text value);
int64_t inq_kineto_number(struct inq_text value, int64_t fallback);
int inq_kineto_text(struct inq_kineto *k, struct inq_text value, inq_str *id);
/* Ranks of a process group from the text of a list; sets ranks, n_ranks and cut of `note`. */
int inq_kineto_ranks(struct inq_kineto *k, struct inq_text list, struct inq_group_note *note);

#endif
