/* SPDX-License-Identifier: Apache-2.0 */
/* The one place where the version is written; CMake reads it from here. */
#ifndef INQUEST_VERSION_H
#define INQUEST_VERSION_H

#include "inquest/error.h"

#define INQ_VERSION_MAJOR  0
#define INQ_VERSION_MINOR  1
#define INQ_VERSION_PATCH  0
#define INQ_VERSION_STRING "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is linked, which may be newer than these headers: "0.1.0". */
INQ_API const char *inq_version(void);

#ifdef __cplusplus
}
#endif

#endif
