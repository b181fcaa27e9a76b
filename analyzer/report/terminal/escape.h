/* SPDX-License-Identifier: Apache-2.0 */
/* Text of inputs in HTML and XML. */
#ifndef INQ_REPORT_TERMINAL_ESCAPE_H
#define INQ_REPORT_TERMINAL_ESCAPE_H

#include "inquest/out.h"

/* As text or as the value of an attribute; what is no UTF-8 and what neither may hold (control
 * characters, non-characters) becomes U+FFFD. */
void inq_markup_text(struct inq_out *out, const char *text);

#endif
