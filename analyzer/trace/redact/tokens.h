/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens for names. */
#ifndef INQ_TRACE_REDACT_TOKENS_H
#define INQ_TRACE_REDACT_TOKENS_H

#include "base/arena.h"
#include "base/strtab.h"
#include "inquest/redact.h"

#include <stdbool.h>

struct inq_redaction {
    uint64_t key[2];
    struct inq_strtab names; /* the kind's number as a digit, then the name */
    struct inq_arena arena;
    size_t n_tokens, cap_tokens;
    const char **tokens; /* [id of the name] */
    size_t count[INQ_REDACT_KIND_COUNT];
};

/* The token of a name; "" for "", NULL when memory is out (in *err). */
const char *inq_redact_token(struct inq_redaction *r, enum inq_redact_kind kind, const char *name,
                             size_t len, struct inq_err *err);
/* Whether the name has a token of this kind already. */
bool inq_redact_knows(const struct inq_redaction *r, enum inq_redact_kind kind, const char *name,
                      size_t len);
#endif
