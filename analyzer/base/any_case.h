/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a text has any of some words, whatever the case of letters. */
#ifndef INQ_BASE_ANY_CASE_H
#define INQ_BASE_ANY_CASE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether one of the `n` words, each at least two bytes long, is anywhere in the `len` bytes of the
 * text. Reads the text once for 64 words. */
bool inq_any_case_has(const char *const *words, size_t n, const char *text, size_t len);

#endif
