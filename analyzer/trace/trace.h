/* SPDX-License-Identifier: Apache-2.0 */
/* What the rest needs of the model besides its public header: classes of ops, files, rows of
 * communication, matched collectives. */
#ifndef INQ_TRACE_TRACE_H
#define INQ_TRACE_TRACE_H

#include "trace/classify.h"
#include "trace/collectives.h"
#include "trace/comm_rows.h"
#include "trace/files.h"
#include "trace/kernel_classes.h"
#include "trace/kernel_kind.h"
#include "trace/totals.h"

#endif
