/* SPDX-License-Identifier: Apache-2.0 */
/* What a run holds, as text or JSON. */
#include "report/info/info.h"

#include "base/out.h"

int inq_info_write(const struct inq_run *run, const struct inq_report_options *options,
                   struct inq_sink sink, struct inq_err *err)
{
    static const struct inq_report_options defaults;
    struct inq_arena arena = {0};
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    int code = INQ_OK;
    options = options != NULL ? options : &defaults;
    if (options->format == INQ_FORMAT_TEXT) {
        code = inq_info_text(run, options, &arena, &out, err);
    } else if (options->format == INQ_FORMAT_JSON) {
        inq_info_json(run, options, &arena, &out);
    } else {
        code = INQ_UNSUPPORTED;
    }
    inq_arena_release(&arena);
    return inq_out_end(&out, code, "info", err);
}
