/* SPDX-License-Identifier: Apache-2.0 */
/* Op tables as graphs: the model, its rows, its templates. */
#ifndef INQ_GRAPH_OPTABLE_OPTABLE_H
#define INQ_GRAPH_OPTABLE_OPTABLE_H

#include "graph/optable/model.h"
#include "graph/optable/rows.h"
#include "graph/optable/split_name.h"
#include "graph/optable/template.h"

#endif
