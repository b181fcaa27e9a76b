/* SPDX-License-Identifier: Apache-2.0 */
/* One number for everything that a run holds, to compare two ways of getting it. */
#ifndef INQ_TEST_SUPPORT_DIGEST_H
#define INQ_TEST_SUPPORT_DIGEST_H

#include "inquest/trace.h"

enum test_digest_what {
    TEST_DIGEST_ALL,
    TEST_DIGEST_CONTENT /* without how the files are called and how many bytes they have on disk */
};

uint64_t test_digest_run(const struct inq_run *run, enum test_digest_what what);

#endif
