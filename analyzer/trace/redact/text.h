/* SPDX-License-Identifier: Apache-2.0 */
/* Texts in which names are replaced. All functions fail with INQ_NOMEM, or NULL and that in *err.
 */
#ifndef INQ_TRACE_REDACT_TEXT_H
#define INQ_TRACE_REDACT_TEXT_H

#include "trace/redact/tokens.h"

/* A path, part by part; what its suffixes say of its format stays. Into `arena`. */
const char *inq_redact_path(struct inq_redaction *r, struct inq_arena *arena, const char *path,
                            struct inq_err *err);
/* A text without its paths, addresses, and the hosts and users that are known. `text` itself where
 * nothing is to be replaced. */
const char *inq_redact_text(struct inq_redaction *r, struct inq_arena *arena, const char *text,
                            struct inq_err *err);
/* Takes note of the users whose home directories and addresses the text names. */
int inq_redact_find_users(struct inq_redaction *r, const char *text, struct inq_err *err);

#endif
