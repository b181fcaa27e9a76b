/* SPDX-License-Identifier: Apache-2.0 */
/* Redaction: a run whose names tell nobody where and what it was, for reports that leave the house.
 * Numbers, ranks, times, operators and annotations stay; hosts, paths, users, kernels and modules
 * become tokens, "kernel-1f9a03c42b77": a keyed hash (SipHash-2-4), so that one name has one token
 * under one key and nobody without the key can try names until a token fits. */
#ifndef INQUEST_REDACT_H
#define INQUEST_REDACT_H

#include "inquest/out.h"
#include "inquest/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, "word"): what is replaced; the word begins its tokens. */
#define INQ_REDACT_KINDS(X)                                                                        \
    X(HOST, "host")     /* hosts and addresses */                                                  \
    X(PATH, "path")     /* each part of a path, lines of source, names of jobs after folders */    \
    X(USER, "user")     /* whose home a path lies in; what stands before @host */                  \
    X(KERNEL, "kernel") /* its class is kept: "kernel-1f9a03c42b77_gemm" */                        \
    X(MODULE, "module") /* nn.Module around a launch */

enum inq_redact_kind {
#define INQ_REDACT_ENUM(name, word) INQ_REDACT_##name,
    INQ_REDACT_KINDS(INQ_REDACT_ENUM)
#undef INQ_REDACT_ENUM
        INQ_REDACT_KIND_COUNT
};

/* Names met so far, and their tokens. Not thread-safe. */
struct inq_redaction;

/* With the `n` bytes of `key` any two redactions give the same tokens; NULL: a random key that is
 * told to nobody. Fails with INQ_NOMEM, and with INQ_IO when there is no source of randomness. */
INQ_API int inq_redaction_new(const void *key, size_t n, struct inq_redaction **redaction,
                              struct inq_err *err);
INQ_API void inq_redaction_free(struct inq_redaction *redaction);
/* Replaces the names of a run that was read and not yet analyzed. What is printed of a log or a
 * stack loses the paths, addresses, known hosts and users in it. Fails with INQ_NOMEM; the run can
 * then only be freed. */
INQ_API int inq_redaction_apply(struct inq_redaction *redaction, struct inq_run *run,
                                struct inq_err *err);
/* Distinct names of a kind that were replaced. */
INQ_API size_t inq_redaction_count(const struct inq_redaction *redaction,
                                   enum inq_redact_kind kind);
INQ_API const char *inq_redact_kind_text(enum inq_redact_kind kind);
/* Writes what became of what, as CSV: "kind,name,token", by kind and name. */
INQ_API int inq_redaction_map(const struct inq_redaction *redaction, struct inq_sink sink,
                              struct inq_err *err);

#ifdef __cplusplus
}
#endif

#endif
