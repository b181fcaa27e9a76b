/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the address or the thread sanitizer watches: all is much slower then, and terabytes are
 * mapped. */
#ifndef INQ_TEST_SUPPORT_SANITIZE_H
#define INQ_TEST_SUPPORT_SANITIZE_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif

#endif
