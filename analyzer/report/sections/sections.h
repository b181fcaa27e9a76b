/* SPDX-License-Identifier: Apache-2.0 */
/* Sections as tables of fields, which every format renders. */
#ifndef INQ_REPORT_SECTIONS_SECTIONS_H
#define INQ_REPORT_SECTIONS_SECTIONS_H

#include "report/sections/step_chart.h"
#include "report/sections/table.h"
#include "report/sections/tables.h"

#endif
