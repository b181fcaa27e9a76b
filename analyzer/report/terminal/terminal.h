/* SPDX-License-Identifier: Apache-2.0 */
/* Text for people: contexts, escapes, times, and the writer. */
#ifndef INQ_REPORT_TERMINAL_TERMINAL_H
#define INQ_REPORT_TERMINAL_TERMINAL_H

#include "report/terminal/context.h"
#include "report/terminal/event_time.h"
#include "report/terminal/labels.h"
#include "report/terminal/sentences.h"
#include "report/terminal/writer.h"

#endif
