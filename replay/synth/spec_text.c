/* SPDX-License-Identifier: Apache-2.0 */
/* A spec written as text, read from JSON, and explained. */
#include "synth/spec.h"

#include "base/json.h"
#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_VALUE = 128, HEAD_WIDTH = 16, HELP_WIDTH = 100 };

/* Writes the keys that differ from `plain`, each with `separator` in front. */
static void write_options(const struct synth_option *options, size_t n, const void *base,
                          const void *plain, const char *separator, struct inq_out *out)
{
    for (size_t i = 0; i < n; i++) {
        char text[MAX_VALUE];
        char usual[MAX_VALUE];
        inq_synth_option_text(&options[i], base, text, sizeof text);
        inq_synth_option_text(&options[i], plain, usual, sizeof usual);
        if (strcmp(text, usual) != 0) {
            inq_out_printf(out, "%s%s=%s", out->len > 0 ? separator : "", options[i].key, text);
        }
    }
}

void inq_synth_spec_text(const struct inq_synth_spec *spec, struct inq_out *out)
{
    struct inq_synth_spec plain;
    inq_synth_spec_init(&plain);
    plain.dp = -1; /* always written */
    write_options(inq_synth_spec_options, inq_synth_n_spec_options, spec, &plain, ",", out);
    for (size_t i = 0; i < spec->n_faults; i++) {
        struct inq_synth_fault usual;
        const struct inq_synth_fault *fault = &spec->faults[i];
        inq_synth_fault_init(&usual, fault->kind);
        inq_out_printf(out, ",fault=%s", inq_synth_fault_infos[fault->kind].text);
        write_options(inq_synth_fault_options, inq_synth_n_fault_options, fault, &usual, ":", out);
    }
}

static int hand_over(struct inq_out *out, struct inq_sink sink, struct inq_err *err)
{
    int code = out->code;
    if (code == INQ_OK) {
        code = sink.write(sink.ctx, out->buf != NULL ? out->buf : "", out->len);
    }
    inq_out_release(out);
    if (code != INQ_OK) {
        return inq_err_set(err, (enum inq_code)code, "could not write the spec");
    }
    return INQ_OK;
}

int inq_synth_spec_write(const struct inq_synth_spec *spec, struct inq_sink sink,
                         struct inq_err *err)
{
    struct inq_out out = {0};
    inq_synth_spec_text(spec, &out);
    return hand_over(&out, sink, err);
}

/* `head` in a column of its own, `text` wrapped beside it. */
static void explain(struct inq_out *out, const char *head, const char *text)
{
    size_t column = HEAD_WIDTH + 2;
    inq_out_printf(out, "  %-*s", HEAD_WIDTH, head);
    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        if (column + len + 1 > HELP_WIDTH) {
            inq_out_printf(out, "\n%*s", HEAD_WIDTH + 2, "");
            column = HEAD_WIDTH + 2;
        }
        inq_out_printf(out, " %.*s", (int)len, text);
        column += len + 1;
        text += len + (text[len] == ' ');
    }
    inq_out_text(out, "\n");
}

static void explain_options(const struct synth_option *options, size_t n, const void *plain,
                            struct inq_out *out)
{
    for (size_t i = 0; i < n; i++) {
        char usual[MAX_VALUE];
        char text[2 * MAX_VALUE];
        inq_synth_option_text(&options[i], plain, usual, sizeof usual);
        const char *choices = options[i].choices;
        (void)snprintf(text, sizeof text, "%s%s%s%s [%s]", options[i].what,
                       *choices != '\0' ? " (" : "", choices, *choices != '\0' ? ")" : "", usual);
        explain(out, options[i].key, text);
    }
}

int inq_synth_help(struct inq_sink sink, struct inq_err *err)
{
    struct inq_out out = {0};
    struct inq_synth_spec plain;
    struct inq_synth_fault usual;
    inq_synth_spec_init(&plain);
    inq_synth_fault_init(&usual, INQ_SYNTH_SLOW_GPU);
    inq_out_text(&out, "Keys of a spec (KEY=VALUE,... or a JSON file), [default]; a bare number of "
                       "a time is in us:\n");
    explain_options(inq_synth_spec_options, inq_synth_n_spec_options, &plain, &out);
    inq_out_text(&out, "\nFaults (fault=KIND:KEY=VALUE:..., any number of them):\n");
    for (int i = 0; i < INQ_SYNTH_FAULT_COUNT; i++) {
        explain(&out, inq_synth_fault_infos[i].text, inq_synth_fault_infos[i].what);
    }
    inq_out_text(&out, "\nKeys of a fault:\n");
    explain_options(inq_synth_fault_options, inq_synth_n_fault_options, &usual, &out);
    return hand_over(&out, sink, err);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* A scalar as the text that a spec would have. */
static int scalar_text(const struct cJSON *node, char text[MAX_VALUE], struct inq_err *err)
{
    const char *string = inq_json_text(node, NULL);
    double number = inq_json_number(node, (double)NAN);
    if (string != NULL) {
        (void)snprintf(text, MAX_VALUE, "%s", string);
    } else if (!isnan(number)) {
        (void)snprintf(text, MAX_VALUE, "%.17g", number);
    } else {
        return inq_err_set(err, INQ_USAGE, "%s: must be text or a number", inq_json_key(node));
    }
    return INQ_OK;
}

static int read_fault(const struct cJSON *node, struct inq_synth_spec *spec, struct inq_err *err)
{
    const char *kind = inq_json_text(inq_json_get(node, "kind"), NULL);
    if (kind == NULL) {
        return inq_err_set(err, INQ_USAGE, "a fault needs a \"kind\"");
    }
    int code = inq_synth_spec_add_fault(spec, kind, err);
    const struct cJSON *member = inq_json_first(node);
    for (; code == INQ_OK && member != NULL; member = inq_json_next(member)) {
        char text[MAX_VALUE];
        if (strcmp(inq_json_key(member), "kind") != 0) {
            code = scalar_text(member, text, err);
            if (code == INQ_OK) {
                code = inq_synth_spec_set_fault(spec, inq_json_key(member), text, err);
            }
        }
    }
    return code;
}

static int read_member(const struct cJSON *member, struct inq_synth_spec *spec, struct inq_err *err)
{
    int code = INQ_OK;
    if (strcmp(inq_json_key(member), "faults") == 0) {
        if (inq_json_text(member, NULL) != NULL || !isnan(inq_json_number(member, (double)NAN))) {
            return inq_err_set(err, INQ_USAGE, "faults: must be an array of objects");
        }
        const struct cJSON *fault = inq_json_first(member);
        for (; code == INQ_OK && fault != NULL; fault = inq_json_next(fault)) {
            code = read_fault(fault, spec, err);
        }
        return code;
    }
    char text[MAX_VALUE];
    code = scalar_text(member, text, err);
    return code != INQ_OK ? code : inq_synth_spec_set(spec, inq_json_key(member), text, err);
}

static int read_file(const char *path, struct inq_out *out, struct inq_err *err)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return inq_err_at(err, errno == ENOENT ? INQ_NOT_FOUND : INQ_IO, path, -1, "%s",
                          strerror(errno));
    }
    char chunk[4096];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0 && out->len < INQ_JSON_MAX_BYTES) {
        inq_out_bytes(out, chunk, n);
    }
    bool failed = ferror(file) != 0;
    (void)fclose(file);
    if (failed) {
        return inq_err_at(err, INQ_IO, path, -1, "could not be read");
    }
    return out->code == INQ_OK ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
}

int inq_synth_spec_read_json(const char *path, struct inq_synth_spec *spec, struct inq_err *err)
{
    struct inq_out text = {0};
    struct cJSON *root = NULL;
    int code = read_file(path, &text, err);
    if (code == INQ_OK) {
        code = inq_json_parse(text.buf != NULL ? text.buf : "", text.len, &root, err);
    }
    if (code == INQ_OK && !inq_json_is_object(root)) {
        code = inq_err_at(err, INQ_USAGE, path, -1, "a spec is a JSON object");
    }
    const struct cJSON *member = inq_json_first(root);
    for (; code == INQ_OK && member != NULL; member = inq_json_next(member)) {
        code = read_member(member, spec, err);
    }
    if (code != INQ_OK && err != NULL) {
        (void)snprintf(err->path, sizeof err->path, "%s", path);
    }
    inq_json_free(root);
    inq_out_release(&text);
    return code;
}
