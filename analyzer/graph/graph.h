/* SPDX-License-Identifier: Apache-2.0 */
/* Op graphs: building one, one from a trace, and its critical path. */
#ifndef INQ_GRAPH_GRAPH_H
#define INQ_GRAPH_GRAPH_H

#include "graph/builder.h"
#include "graph/critical_path.h"
#include "graph/from_trace.h"

#endif
