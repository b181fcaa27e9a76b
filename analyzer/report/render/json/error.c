/* SPDX-License-Identifier: Apache-2.0 */
/* An error as JSON. */
#include "base/json.h"
#include "report/contract/contract.h"
#include "inquest/report.h"

#include <ctype.h>

static const char *code_constant(int code)
{
    switch (code) {
#define CODE_NAME(name, value, text)                                                               \
    case (value):                                                                                  \
        return #name;
        INQ_CODES(CODE_NAME)
#undef CODE_NAME
    default:
        return "UNKNOWN";
    }
}

/* "not_found": the code as a word for programs. */
static const char *code_name(int code, char *buf, size_t size)
{
    const char *name = code_constant(code);
    size_t i = 0;
    for (; i + 1 < size && name[i] != '\0'; i++) {
        buf[i] = (char)tolower((unsigned char)name[i]);
    }
    buf[i] = '\0';
    return buf;
}

void inq_error_write_json(const struct inq_err *err, const char *next, struct inq_out *out)
{
    struct inq_json json;
    char word[32];
    inq_json_init(&json, out, true);
    inq_json_document(&json, inq_contract_find("error"));
    inq_json_string(&json, "code", code_name(err->code, word, sizeof word));
    inq_json_string(&json, "message", err->message);
    inq_json_string(&json, "path", err->path[0] != '\0' ? err->path : NULL);
    if (err->path[0] != '\0' && err->offset >= 0) {
        inq_json_int(&json, "offset", err->offset);
    } else {
        inq_json_null(&json, "offset");
    }
    inq_json_string(&json, "next", next[0] != '\0' ? next : NULL);
    inq_json_end_object(&json);
}
