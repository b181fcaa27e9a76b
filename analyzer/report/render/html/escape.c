/* SPDX-License-Identifier: Apache-2.0 */
/* What stands between the inputs' strings and the scripts of the page. */
#include "report/render/html/html.h"

/* ---- JSON in a script element ---------------------------------------------------------------- */

static const char LINE_SEPARATOR[] = "\xe2\x80\xa8"; /* U+2029 differs in the last bit */

/* The bytes held back turned out to be something else. */
static void let_go(struct inq_html_script *script)
{
    inq_out_bytes(script->to, LINE_SEPARATOR, script->held);
    script->held = 0;
}

/* True when the byte was taken as a part of U+2028 or U+2029. */
static bool hold(struct inq_html_script *script, unsigned char c)
{
    if (script->held == 2 && (c & 0xfe) == 0xa8) {
        inq_out_text(script->to, c == 0xa8 ? "\\u2028" : "\\u2029");
        script->held = 0;
        return true;
    }
    if (script->held < 2 && c == (unsigned char)LINE_SEPARATOR[script->held]) {
        script->held++;
        return true;
    }
    let_go(script);
    if (c == (unsigned char)LINE_SEPARATOR[0]) {
        script->held = 1;
        return true;
    }
    return false;
}

int inq_html_script_write(void *ctx, const char *bytes, size_t n)
{
    struct inq_html_script *script = ctx;
    size_t plain = 0; /* where the bytes that need nothing begin */
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        bool special = c == '<' || c == '>' || c == '&';
        if (!special && c != 0xe2 && script->held == 0) {
            continue;
        }
        inq_out_bytes(script->to, bytes + plain, i - plain);
        plain = i;
        bool held = hold(script, c);
        if (special) {
            inq_out_printf(script->to, "\\u%04x", (unsigned)c);
        }
        plain += held || special;
    }
    inq_out_bytes(script->to, bytes + plain, n - plain);
    return script->to->code;
}

int inq_html_script_end(struct inq_html_script *script)
{
    let_go(script);
    return script->to->code;
}
