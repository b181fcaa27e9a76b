/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a spec as tables that drive everything: a spec from text or JSON, and back; and
 * explained. */
#include "synth/spec.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUE = 128, HEAD_WIDTH = 16, HELP_WIDTH = 100 };

/* ---- the keys of a spec and of a fault ------------------------------------------------------- */

enum synth_key_type {
    SYNTH_INT,   /* int32_t */
    SYNTH_SEED,  /* uint64_t */
    SYNTH_TIME,  /* int64_t ns; a bare number is in us */
    SYNTH_REAL,  /* double */
    SYNTH_CHOICE /* enum, one of `choices` */
};

struct synth_option {
    const char *key;
    enum synth_key_type type;
    size_t offset;
    double min, max;     /* of the stored value */
    const char *choices; /* words separated by '|', in the order of the enum */
    const char *what;
};

#define SPEC(member)  offsetof(struct inq_synth_spec, member)
#define FAULT(member) offsetof(struct inq_synth_fault, member)

static const double MINUTE_NS = 60e9;

static const struct synth_option spec_options[] = {
    {"dp", SYNTH_INT, SPEC(dp), 1, INQ_SYNTH_MAX_RANKS, "", "data-parallel replicas"},
    {"tp", SYNTH_INT, SPEC(tp), 1, 64, "", "tensor-parallel ranks"},
    {"pp", SYNTH_INT, SPEC(pp), 1, 256, "", "pipeline stages (1F1B)"},
    {"micro_batches", SYNTH_INT, SPEC(micro_batches), 0, 4096, "",
     "per step and replica; 0: 1, or 2 * pp with a pipeline"},
    {"chunks", SYNTH_INT, SPEC(chunks), 1, 16, "", "model chunks per stage (interleaved 1F1B)"},
    {"layers", SYNTH_INT, SPEC(layers), 0, 4096, "",
     "of the whole model; 0: 8, or 2 per chunk with a pipeline"},
    {"steps", SYNTH_INT, SPEC(steps), 1, 10000, "", "steps recorded"},
    {"first_step", SYNTH_INT, SPEC(first_step), 0, 1e9, "", "number of the first ProfilerStep"},
    {"gpus_per_host", SYNTH_INT, SPEC(gpus_per_host), 1, 64, "", "ranks that share a host"},
    {"bucket_layers", SYNTH_INT, SPEC(bucket_layers), 1, 4096, "",
     "layers per gradient all-reduce"},
    {"sharded", SYNTH_INT, SPEC(sharded), 0, 1, "",
     "parameters are gathered layer by layer, gradients reduce-scattered"},
    {"hidden", SYNTH_INT, SPEC(hidden), 64, 65536, "", "width of the model: sizes of transfers"},
    {"tokens", SYNTH_INT, SPEC(tokens), 16, 1048576, "", "tokens of a micro-batch"},
    {"experts", SYNTH_INT, SPEC(experts), 0, 1, "",
     "the second half of each layer is experts, spread over the replicas: two all-to-alls"},
    {"early_recv", SYNTH_INT, SPEC(early_recv), 0, 2, "",
     "receives are posted one forward or backward ahead; 2: the first of a step in the step "
     "before"},
    {"seed", SYNTH_SEED, SPEC(seed), 0, 0, "", "of all random draws"},
    {"layer", SYNTH_TIME, SPEC(layer_ns), 1e4, MINUTE_NS, "",
     "forward of one layer and micro-batch; backward takes twice that"},
    {"op", SYNTH_TIME, SPEC(op_ns), 100, 1e9, "", "host time of an operator before its launch"},
    {"launch", SYNTH_TIME, SPEC(launch_ns), 100, 1e9, "", "host time of a launch"},
    {"data", SYNTH_TIME, SPEC(data_ns), 0, MINUTE_NS, "", "host time of data loading per step"},
    {"sigma", SYNTH_REAL, SPEC(sigma), 0, 2, "", "log-normal noise of each kernel"},
    {"step_sigma", SYNTH_REAL, SPEC(step_sigma), 0, 2, "", "of a rank's kernels in one step"},
    {"rank_sigma", SYNTH_REAL, SPEC(rank_sigma), 0, 2, "", "of a rank's kernels in all steps"},
    {"host_sigma", SYNTH_REAL, SPEC(host_sigma), 0, 2, "", "of host times"},
    {"link_sigma", SYNTH_REAL, SPEC(link_sigma), 0, 2, "", "of transfers"},
    {"dp_gbps", SYNTH_REAL, SPEC(dp_gbps), 0.001, 1e6, "", "bus bandwidth between replicas"},
    {"tp_gbps", SYNTH_REAL, SPEC(tp_gbps), 0.001, 1e6, "", "bus bandwidth inside a TP group"},
    {"pp_gbps", SYNTH_REAL, SPEC(pp_gbps), 0.001, 1e6, "", "bandwidth between stages"},
    {"link", SYNTH_TIME, SPEC(link_ns), 0, 1e9, "", "latency of a transfer"},
    {"clock", SYNTH_TIME, SPEC(clock_ns), 0, MINUTE_NS, "",
     "hosts' clocks differ by this much (one sigma)"},
    {"drift", SYNTH_REAL, SPEC(drift_ppm), 0, 1e5, "",
     "rates of the hosts' clocks differ by this much, parts per million (one sigma)"},
    {"args", SYNTH_CHOICE, SPEC(args), 0, 0, "new|old|seq",
     "what NCCL kernels carry: groups and sizes, nothing, or sequence numbers too"},
    {"ts", SYNTH_CHOICE, SPEC(ts), 0, 0, "base|abs|split",
     "us with three decimals over baseTimeNanoseconds, whole absolute us, or as base with two "
     "different bases"},
    {"window", SYNTH_CHOICE, SPEC(window), 0, 0, "full|ragged",
     "whole steps, or windows cut at a different place on each rank"},
    {"p2p", SYNTH_CHOICE, SPEC(p2p), 0, 0, "args|bare|fused|batched",
     "send and receive kernels carry arguments, or not, or share a kernel where they can, or do so "
     "and are recorded by the host (batch_isend_irecv)"},
    {"p2p_group", SYNTH_CHOICE, SPEC(p2p_group), 0, 0, "pp|world",
     "the process group in which stages talk"},
    {"names", SYNTH_CHOICE, SPEC(names), 0, 0, "rank|handler", "file names"},
    {"gpu", SYNTH_CHOICE, SPEC(gpu), 0, 0, "synthetic|a100|h100",
     "what deviceProperties says; kernels take as long as told"},
    {"labels", SYNTH_INT, SPEC(labels), 0, 1, "", "Forward i and Backward i annotations"},
    {"cpu_ops", SYNTH_INT, SPEC(cpu_ops), 0, 1, "", "operators (cpu_op)"},
    {"shapes", SYNTH_INT, SPEC(shapes), 0, 1, "", "operators with Input Dims and Input type"},
    {"flows", SYNTH_INT, SPEC(flows), 0, 1, "", "arrows from launches to kernels"},
    {"calls", SYNTH_INT, SPEC(calls), 0, 1, "", "event and wait calls"},
    {"lean", SYNTH_INT, SPEC(lean), 0, 1, "", "kernels carry only the arguments that link them"},
    {"base_last", SYNTH_INT, SPEC(base_last), 0, 1, "",
     "baseTimeNanoseconds after the events: lost with the end of a file"},
    {"gz", SYNTH_INT, SPEC(gz), 0, 1, "", "compress"},
    {"sync", SYNTH_INT, SPEC(sync), 0, 10000, "",
     "the host waits for the GPU at the end of every so many steps, 0: never"},
    {"wait", SYNTH_CHOICE, SPEC(wait), 0, 0, "sync|item",
     "what that is: a synchronization, or a loss that is read (a copy to pageable memory blocks)"},
};
enum { N_SPEC_OPTIONS = sizeof spec_options / sizeof spec_options[0] };

static const struct synth_option fault_options[] = {
    {"rank", SYNTH_INT, FAULT(rank), 0, 16383, "", "the rank concerned"},
    {"last", SYNTH_INT, FAULT(last), 0, 16383, "", "all ranks from `rank` to this one"},
    {"stride", SYNTH_INT, FAULT(stride), 1, 16383, "", "of these only every so many"},
    {"peer", SYNTH_INT, FAULT(peer), 0, 16383, "", "the other end of a link"},
    {"host", SYNTH_INT, FAULT(host), 0, 16383, "", "the host concerned, with all its ranks"},
    {"factor", SYNTH_REAL, FAULT(factor), 0.01, 1000, "", "how many times as long"},
    {"sigma", SYNTH_REAL, FAULT(sigma), 0, 2, "", "of a log-normal"},
    {"ppm", SYNTH_REAL, FAULT(ppm), -1e5, 1e5, "", "rate of a clock, parts per million"},
    {"at", SYNTH_REAL, FAULT(at), 0, 1, "", "part of the file that is left"},
    {"delay", SYNTH_TIME, FAULT(delay_ns), 0, MINUTE_NS, "", "of the host"},
    {"offset", SYNTH_TIME, FAULT(offset_ns), -MINUTE_NS * 60, MINUTE_NS * 60, "", "of a clock"},
    {"from", SYNTH_INT, FAULT(from), 0, 10000, "", "first step concerned, from 0"},
    {"to", SYNTH_INT, FAULT(to), 0, 10000, "", "last step concerned"},
    {"every", SYNTH_INT, FAULT(every), 1, 10000, "", "only every so many steps"},
    {"mode", SYNTH_CHOICE, FAULT(mode), 0, 0, "default|step|launch|gc|count|size|pause|experts",
     "see above"},
    {"links", SYNTH_CHOICE, FAULT(links), 0, 0, "all|dp|tp|pp", "transfers concerned"},
};
enum { N_FAULT_OPTIONS = sizeof fault_options / sizeof fault_options[0] };

const struct synth_fault_info inq_synth_fault_infos[INQ_SYNTH_FAULT_COUNT] = {
#define INFO(name, text, finding, what) {text, finding, what},
    INQ_SYNTH_FAULTS(INFO)
#undef INFO
};

static void fault_init(struct inq_synth_fault *fault, enum inq_synth_fault_kind kind)
{
    *fault = (struct inq_synth_fault){
        .kind = kind,
        .rank = -1,
        .last = -1,
        .stride = 1,
        .peer = -1,
        .host = -1,
        .factor = 1.3,
        .sigma = 0.3,
        .ppm = 50.0,
        .at = 0.6,
        .delay_ns = 5000000,
        .offset_ns = 5000000,
        .to = 10000,
        .every = kind == INQ_SYNTH_GC ? 4 : 1,
    };
}

/* The place of `text` in "a|b|c", or -1. */
static int find_choice(const char *choices, const char *text)
{
    size_t len = strlen(text);
    const char *p = choices;
    for (int i = 0;; i++) {
        const char *bar = strchrnul(p, '|');
        if ((size_t)(bar - p) == len && strncmp(p, text, len) == 0) {
            return i;
        }
        if (*bar == '\0') {
            return -1;
        }
        p = bar + 1;
    }
}

static int bad_value(const struct synth_option *option, const char *text, struct inq_err *err)
{
    return inq_err_set(err, INQ_USAGE, "%s=%s: must be a %s from %.15g to %.15g%s", option->key,
                       text, option->type == SYNTH_INT ? "whole number" : "number", option->min,
                       option->max, option->type == SYNTH_TIME ? " ns" : "");
}

static int set_seed(const struct synth_option *option, void *member, const char *text,
                    struct inq_err *err)
{
    char *end;
    uint64_t seed = strtoull(text, &end, 0);
    if (*text < '0' || *text > '9' || *end != '\0') {
        return inq_err_set(err, INQ_USAGE, "%s=%s: must be a whole number", option->key, text);
    }
    *(uint64_t *)member = seed;
    return INQ_OK;
}

static int set_choice(const struct synth_option *option, void *member, const char *text,
                      struct inq_err *err)
{
    int choice = find_choice(option->choices, text);
    if (choice < 0) {
        return inq_err_set(err, INQ_USAGE, "%s=%s: must be one of %s", option->key, text,
                           option->choices);
    }
    *(int *)member = choice;
    return INQ_OK;
}

static int set_number(const struct synth_option *option, void *member, const char *text,
                      struct inq_err *err)
{
    char *end;
    int64_t ns = 0;
    double value;
    if (option->type == SYNTH_TIME) {
        if (!inq_time_parse(text, 1000, &ns)) {
            return bad_value(option, text, err);
        }
        value = (double)ns;
    } else {
        value = strtod(text, &end);
        if (end == text || *end != '\0') {
            return bad_value(option, text, err);
        }
    }
    if (!(value >= option->min && value <= option->max)) {
        return bad_value(option, text, err);
    }
    if (option->type == SYNTH_INT) {
        int32_t whole = (int32_t)value;
        if ((double)whole < value || (double)whole > value) {
            return bad_value(option, text, err);
        }
        *(int32_t *)member = whole;
    } else if (option->type == SYNTH_TIME) {
        *(int64_t *)member = ns;
    } else {
        *(double *)member = value;
    }
    return INQ_OK;
}

static int option_set(const struct synth_option *option, void *base, const char *text,
                      struct inq_err *err)
{
    void *member = (char *)base + option->offset;
    if (option->type == SYNTH_SEED) {
        return set_seed(option, member, text, err);
    }
    if (option->type == SYNTH_CHOICE) {
        return set_choice(option, member, text, err);
    }
    return set_number(option, member, text, err);
}

/* As few digits as read back as the same double. */
static void write_real(double value, char *text, size_t size)
{
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, size, "%.*g", digits, value);
        double again = strtod(text, NULL);
        if (!(again < value) && !(again > value)) {
            return;
        }
    }
}

static void write_choice(const char *choices, int choice, char *text, size_t size)
{
    for (; choice > 0 && strchr(choices, '|') != NULL; choice--) {
        choices = strchr(choices, '|') + 1;
    }
    (void)snprintf(text, size, "%.*s", (int)strcspn(choices, "|"), choices);
}

static void option_text(const struct synth_option *option, const void *base, char *text,
                        size_t size)
{
    const void *member = (const char *)base + option->offset;
    switch (option->type) {
    case SYNTH_INT:
        (void)snprintf(text, size, "%" PRId32, *(const int32_t *)member);
        break;
    case SYNTH_SEED:
        (void)snprintf(text, size, "%" PRIu64, *(const uint64_t *)member);
        break;
    case SYNTH_TIME: {
        int64_t ns = *(const int64_t *)member;
        bool us = ns % 1000 == 0;
        (void)snprintf(text, size, "%" PRId64 "%s", us ? ns / 1000 : ns, us ? "us" : "ns");
        break;
    }
    case SYNTH_REAL:
        write_real(*(const double *)member, text, size);
        break;
    case SYNTH_CHOICE:
        write_choice(option->choices, *(const int *)member, text, size);
        break;
    }
}

/* ---- from text ------------------------------------------------------------------------------- */

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
            fault_init(&spec->faults[spec->n_faults++], (enum inq_synth_fault_kind)kind);
            return INQ_OK;
        }
    }
    return inq_err_set(err, INQ_USAGE, "unknown fault \"%.*s\" (%s, %s, ...)", (int)len, text,
                       inq_synth_fault_infos[0].text, inq_synth_fault_infos[1].text);
}

static int set_in_fault(struct inq_synth_spec *spec, const char *key, const char *value,
                        struct inq_err *err)
{
    struct inq_synth_fault *fault = &spec->faults[spec->n_faults - 1];
    const struct synth_option *option = find_option(fault_options, N_FAULT_OPTIONS, key);
    if (option == NULL) {
        return inq_err_set(err, INQ_USAGE, "fault %s: unknown key \"%s\"",
                           inq_synth_fault_infos[fault->kind].text, key);
    }
    return option_set(option, fault, value, err);
}

static int add_fault(struct inq_synth_spec *spec, const char *text, struct inq_err *err)
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
            code = set_in_fault(spec, key, value, err);
        }
        p += len;
    }
    return code;
}

static int set_in_spec(struct inq_synth_spec *spec, const char *key, const char *value,
                       struct inq_err *err)
{
    if (strcmp(key, "fault") == 0) {
        return add_fault(spec, value, err);
    }
    const struct synth_option *option = find_option(spec_options, N_SPEC_OPTIONS, key);
    if (option == NULL) {
        return inq_err_set(err, INQ_USAGE, "unknown key \"%s\"", key);
    }
    return option_set(option, spec, value, err);
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
    int code = add_fault(spec, kind, err);
    const struct cJSON *member = inq_json_first(node);
    for (; code == INQ_OK && member != NULL; member = inq_json_next(member)) {
        char text[MAX_VALUE];
        if (strcmp(inq_json_key(member), "kind") != 0) {
            code = scalar_text(member, text, err);
            if (code == INQ_OK) {
                code = set_in_fault(spec, inq_json_key(member), text, err);
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
    return code != INQ_OK ? code : set_in_spec(spec, inq_json_key(member), text, err);
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

static int read_json(const char *path, struct inq_synth_spec *spec, struct inq_err *err)
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

/* ---- reading and checking ------------------------------------------------------------------- */

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
        code = read_json(text, spec, err);
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
                code = set_in_spec(spec, key, value, err);
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
    case INQ_SYNTH_LOW_CLOCK:
    case INQ_SYNTH_SLOW_LINK:
    case INQ_SYNTH_LATE_HOST:
    case INQ_SYNTH_MORE_WORK:
    case INQ_SYNTH_MISSING_RANK:
    case INQ_SYNTH_CUT_FILE:
    case INQ_SYNTH_CLOCK_OFFSET:
    case INQ_SYNTH_CLOCK_DRIFT:
        return fault->rank < 0 && fault->host < 0;
    case INQ_SYNTH_GC:
    case INQ_SYNTH_LONG_LAST_STAGE:
    case INQ_SYNTH_UNEVEN_SEQ:
    case INQ_SYNTH_UNEVEN_EXPERTS:
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
    case INQ_SYNTH_MODE_PAUSE:
        return host;
    case INQ_SYNTH_MODE_COUNT:
    case INQ_SYNTH_MODE_SIZE:
    case INQ_SYNTH_MODE_EXPERTS:
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
        return inq_err_set(err, INQ_USAGE, "fault %s: needs rank= or host=", name);
    }
    if (fault->last >= 0 && fault->last < fault->rank) {
        return inq_err_set(err, INQ_USAGE, "fault %s: last= must not be below rank=", name);
    }
    bool of_experts =
        fault->kind == INQ_SYNTH_UNEVEN_EXPERTS || fault->mode == INQ_SYNTH_MODE_EXPERTS;
    if (of_experts && (spec->experts == 0 || spec->dp < 2)) {
        return inq_err_set(err, INQ_USAGE, "fault %s: needs experts=1 and dp=2 or more", name);
    }
    if (fault->rank >= world || fault->peer >= world || fault->last >= world) {
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
    bool fused = spec->p2p == INQ_SYNTH_P2P_FUSED || spec->p2p == INQ_SYNTH_P2P_BATCHED;
    if (fused && (spec->chunks > 1 || spec->early_recv > 0)) {
        return inq_err_set(err, INQ_USAGE, "p2p=fused, p2p=batched: not with chunks or early_recv");
    }
    if (spec->experts > 0 && spec->tp > 1) {
        return inq_err_set(err, INQ_USAGE, "experts: not with tp");
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

/* ---- writing and explaining ----------------------------------------------------------------- */

/* Writes the keys that differ from `plain`, each with `separator` in front. */
static void write_options(const struct synth_option *options, size_t n, const void *base,
                          const void *plain, const char *separator, struct inq_out *out)
{
    for (size_t i = 0; i < n; i++) {
        char text[MAX_VALUE];
        char usual[MAX_VALUE];
        option_text(&options[i], base, text, sizeof text);
        option_text(&options[i], plain, usual, sizeof usual);
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
    write_options(spec_options, N_SPEC_OPTIONS, spec, &plain, ",", out);
    for (size_t i = 0; i < spec->n_faults; i++) {
        struct inq_synth_fault usual;
        const struct inq_synth_fault *fault = &spec->faults[i];
        fault_init(&usual, fault->kind);
        inq_out_printf(out, ",fault=%s", inq_synth_fault_infos[fault->kind].text);
        write_options(fault_options, N_FAULT_OPTIONS, fault, &usual, ":", out);
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
        option_text(&options[i], plain, usual, sizeof usual);
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
    fault_init(&usual, INQ_SYNTH_SLOW_GPU);
    inq_out_text(&out, "Keys of a spec (KEY=VALUE,... or a JSON file), [default]; a bare number of "
                       "a time is in us:\n");
    explain_options(spec_options, N_SPEC_OPTIONS, &plain, &out);
    inq_out_text(&out, "\nFaults (fault=KIND:KEY=VALUE:..., any number of them):\n");
    for (int i = 0; i < INQ_SYNTH_FAULT_COUNT; i++) {
        explain(&out, inq_synth_fault_infos[i].text, inq_synth_fault_infos[i].what);
    }
    inq_out_text(&out, "\nKeys of a fault:\n");
    explain_options(fault_options, N_FAULT_OPTIONS, &usual, &out);
    return hand_over(&out, sink, err);
}
