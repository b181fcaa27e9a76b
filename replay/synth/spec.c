/* SPDX-License-Identifier: Apache-2.0 */
/* A spec from text and back. */
#include "synth/spec.h"

#include "base/out.h"

#include <stdio.h>
#include <string.h>

enum { MAX_VALUE = 128 };

void inq_synth_spec_init(struct inq_synth_spec *spec)
{
    *spec = (struct inq_synth_spec){
        .dp = 4,
        .tp = 1,
        .pp = 1,
        .chunks = 1,
        .steps = 5,
        .first_step = 10,
        .gpus_per_host = 8,
        .bucket_layers = 1,
        .hidden = 2048,
        .tokens = 4096,
        .seed = 1,
        .layer_ns = 800000,
        .op_ns = 6000,
        .launch_ns = 4000,
        .data_ns = 300000,
        .sigma = 0.02,
        .step_sigma = 0.003,
        .rank_sigma = 0.002,
        .host_sigma = 0.2,
        .link_sigma = 0.03,
        .dp_gbps = 150.0,
        .tp_gbps = 300.0,
        .pp_gbps = 50.0,
        .link_ns = 15000,
        .gz = 1,
        .calls = 1,
        .cpu_ops = 1,
        .sync = 1,
    };
}

static const struct synth_option *find_option(const struct synth_option *options, size_t n,
                                              const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(options[i].key, key) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

/* Cuts "key=value" (at most `len` bytes) into its two parts. */
static int split_pair(const char *text, size_t len, char key[MAX_VALUE], char value[MAX_VALUE],
                      struct inq_err *err)
{
    const char *equals = memchr(text, '=', len);
    size_t key_len = equals != NULL ? (size_t)(equals - text) : len;
    size_t value_len = equals != NULL ? len - key_len - 1 : 0;
    if (equals == NULL || key_len == 0 || key_len >= MAX_VALUE || value_len >= MAX_VALUE) {
        return inq_err_set(err, INQ_USAGE, "\"%.*s\": must be KEY=VALUE", (int)len, text);
    }
    (void)snprintf(key, MAX_VALUE, "%.*s", (int)key_len, text);
    (void)snprintf(value, MAX_VALUE, "%.*s", (int)value_len, equals + 1);
    return INQ_OK;
}

static int add_kind(struct inq_synth_spec *spec, const char *text, size_t len, struct inq_err *err)
{
    if (spec->n_faults == INQ_SYNTH_MAX_FAULTS) {
        return inq_err_set(err, INQ_LIMIT, "more than %d faults", INQ_SYNTH_MAX_FAULTS);
    }
    for (int kind = 0; kind < INQ_SYNTH_FAULT_COUNT; kind++) {
        const char *name = inq_synth_fault_infos[kind].text;
        if (strlen(name) == len && strncmp(name, text, len) == 0) {
            inq_synth_fault_init(&spec->faults[spec->n_faults++], (enum inq_synth_fault_kind)kind);
            return INQ_OK;
        }
    }
    return inq_err_set(err, INQ_USAGE, "unknown fault \"%.*s\" (%s, %s, ...)", (int)len, text,
                       inq_synth_fault_infos[0].text, inq_synth_fault_infos[1].text);
}

int inq_synth_spec_add_fault(struct inq_synth_spec *spec, const char *text, struct inq_err *err)
{
    size_t len = strcspn(text, ":");
    int code = add_kind(spec, text, len, err);
    const char *p = text + len;
    while (code == INQ_OK && *p == ':') {
        p++;
        len = strcspn(p, ":");
        char key[MAX_VALUE];
        char value[MAX_VALUE];
        code = split_pair(p, len, key, value, err);
        if (code == INQ_OK) {
            code = inq_synth_spec_set_fault(spec, key, value, err);
        }
        p += len;
    }
    return code;
}

int inq_synth_spec_set_fault(struct inq_synth_spec *spec, const char *key, const char *value,
                             struct inq_err *err)
{
    struct inq_synth_fault *fault = &spec->faults[spec->n_faults - 1];
    const struct synth_option *option =
        find_option(inq_synth_fault_options, inq_synth_n_fault_options, key);
    if (option == NULL) {
        return inq_err_set(err, INQ_USAGE, "fault %s: unknown key \"%s\"",
                           inq_synth_fault_infos[fault->kind].text, key);
    }
    return inq_synth_option_set(option, fault, value, err);
}

int inq_synth_spec_set(struct inq_synth_spec *spec, const char *key, const char *value,
                       struct inq_err *err)
{
    if (strcmp(key, "fault") == 0) {
        return inq_synth_spec_add_fault(spec, value, err);
    }
    const struct synth_option *option =
        find_option(inq_synth_spec_options, inq_synth_n_spec_options, key);
    if (option == NULL) {
        return inq_err_set(err, INQ_USAGE, "unknown key \"%s\"", key);
    }
    return inq_synth_option_set(option, spec, value, err);
}

static bool is_json_path(const char *text)
{
    size_t len = strlen(text);
    return len > 5 && strcmp(text + len - 5, ".json") == 0 && strchr(text, '=') == NULL;
}

int inq_synth_spec_parse(const char *text, struct inq_synth_spec *spec, struct inq_err *err)
{
    inq_synth_spec_init(spec);
    int code = INQ_OK;
    if (is_json_path(text)) {
        code = inq_synth_spec_read_json(text, spec, err);
        return code != INQ_OK ? code : inq_synth_spec_check(spec, err);
    }
    const char *p = text;
    while (code == INQ_OK && *p != '\0') {
        size_t len = strcspn(p, ",");
        char key[MAX_VALUE];
        char value[MAX_VALUE];
        if (len > 0) {
            code = split_pair(p, len, key, value, err);
            if (code == INQ_OK) {
                code = inq_synth_spec_set(spec, key, value, err);
            }
        }
        p += len + (p[len] == ',');
    }
    return code != INQ_OK ? code : inq_synth_spec_check(spec, err);
}

/* Whether the kind concerns one rank, which must then be given. */
static bool needs_rank(const struct inq_synth_fault *fault)
{
    switch (fault->kind) {
    case INQ_SYNTH_SLOW_GPU:
    case INQ_SYNTH_SLOW_LINK:
    case INQ_SYNTH_LATE_HOST:
    case INQ_SYNTH_MORE_WORK:
    case INQ_SYNTH_MISSING_RANK:
    case INQ_SYNTH_CUT_FILE:
        return fault->rank < 0;
    case INQ_SYNTH_CLOCK_OFFSET:
    case INQ_SYNTH_CLOCK_DRIFT:
        return fault->rank < 0 && fault->host < 0;
    case INQ_SYNTH_LONG_LAST_STAGE:
    case INQ_SYNTH_UNEVEN_SEQ:
    case INQ_SYNTH_JITTER:
    case INQ_SYNTH_FAULT_COUNT:
        break;
    }
    return false;
}

static bool mode_fits(const struct inq_synth_fault *fault)
{
    bool host = fault->kind == INQ_SYNTH_LATE_HOST;
    bool work = fault->kind == INQ_SYNTH_MORE_WORK;
    switch (fault->mode) {
    case INQ_SYNTH_MODE_STEP:
    case INQ_SYNTH_MODE_LAUNCH:
    case INQ_SYNTH_MODE_GC:
        return host;
    case INQ_SYNTH_MODE_COUNT:
    case INQ_SYNTH_MODE_SIZE:
        return work;
    case INQ_SYNTH_MODE_DEFAULT:
        break;
    }
    return true;
}

static int check_fault(const struct inq_synth_spec *spec, const struct inq_synth_fault *fault,
                       struct inq_err *err)
{
    const char *name = inq_synth_fault_infos[fault->kind].text;
    int32_t world = spec->dp * spec->tp * spec->pp;
    if (needs_rank(fault)) {
        return inq_err_set(err, INQ_USAGE, "fault %s: needs rank=", name);
    }
    if (fault->rank >= world || fault->peer >= world) {
        return inq_err_set(err, INQ_USAGE, "fault %s: the last rank is %d", name, (int)world - 1);
    }
    if (!mode_fits(fault)) {
        return inq_err_set(err, INQ_USAGE, "fault %s: has no such mode", name);
    }
    if (fault->kind == INQ_SYNTH_LONG_LAST_STAGE && spec->pp < 2) {
        return inq_err_set(err, INQ_USAGE, "fault %s: needs a pipeline (pp=2 or more)", name);
    }
    bool adds = fault->kind == INQ_SYNTH_MORE_WORK || fault->kind == INQ_SYNTH_LONG_LAST_STAGE;
    if (adds && fault->factor < 1.0) {
        return inq_err_set(err, INQ_USAGE, "fault %s: factor must be 1 or more", name);
    }
    return INQ_OK;
}

static void fill_defaults(struct inq_synth_spec *spec)
{
    if (spec->micro_batches == 0) {
        spec->micro_batches = spec->pp > 1 ? 2 * spec->pp : 1;
    }
    if (spec->layers == 0) {
        spec->layers = spec->pp > 1 ? 2 * spec->pp * spec->chunks : 8;
    }
}

int inq_synth_spec_check(struct inq_synth_spec *spec, struct inq_err *err)
{
    fill_defaults(spec);
    int64_t world = (int64_t)spec->dp * spec->tp * spec->pp;
    if (world < 1 || world > INQ_SYNTH_MAX_RANKS) {
        return inq_err_set(err, INQ_USAGE, "dp * tp * pp must be from 1 to %d",
                           INQ_SYNTH_MAX_RANKS);
    }
    if (spec->chunks > 1 && (spec->pp < 2 || spec->micro_batches % spec->pp != 0)) {
        return inq_err_set(err, INQ_USAGE, "chunks: needs pp >= 2 and micro_batches a multiple");
    }
    if (spec->chunks > 1 && spec->p2p == INQ_SYNTH_P2P_FUSED) {
        return inq_err_set(err, INQ_USAGE, "p2p=fused: not with chunks");
    }
    if (spec->layers < spec->pp * spec->chunks) {
        return inq_err_set(err, INQ_USAGE, "layers: needs at least one per stage and chunk");
    }
    for (size_t i = 0; i < spec->n_faults; i++) {
        int code = check_fault(spec, &spec->faults[i], err);
        if (code != INQ_OK) {
            return code;
        }
    }
    return INQ_OK;
}
