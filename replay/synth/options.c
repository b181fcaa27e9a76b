/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of keys, and one value to and from text. */
#include "synth/spec.h"

#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPEC(member)  offsetof(struct inq_synth_spec, member)
#define FAULT(member) offsetof(struct inq_synth_fault, member)

static const double MINUTE_NS = 60e9;

const struct synth_option inq_synth_spec_options[] = {
    {"dp", SYNTH_INT, SPEC(dp), 1, 16384, "", "data-parallel replicas"},
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
    {"args", SYNTH_CHOICE, SPEC(args), 0, 0, "new|old|seq",
     "what NCCL kernels carry: groups and sizes, nothing, or sequence numbers too"},
    {"ts", SYNTH_CHOICE, SPEC(ts), 0, 0, "base|abs|split",
     "us with three decimals over baseTimeNanoseconds, whole absolute us, or as base with two "
     "different bases"},
    {"window", SYNTH_CHOICE, SPEC(window), 0, 0, "full|ragged",
     "whole steps, or windows cut at a different place on each rank"},
    {"p2p", SYNTH_CHOICE, SPEC(p2p), 0, 0, "args|bare|fused",
     "send and receive kernels carry arguments, or not, or share a kernel where they can"},
    {"names", SYNTH_CHOICE, SPEC(names), 0, 0, "rank|handler", "file names"},
    {"labels", SYNTH_INT, SPEC(labels), 0, 1, "", "Forward i and Backward i annotations"},
    {"cpu_ops", SYNTH_INT, SPEC(cpu_ops), 0, 1, "", "operators (cpu_op)"},
    {"flows", SYNTH_INT, SPEC(flows), 0, 1, "", "arrows from launches to kernels"},
    {"calls", SYNTH_INT, SPEC(calls), 0, 1, "", "event and wait calls"},
    {"lean", SYNTH_INT, SPEC(lean), 0, 1, "", "kernels carry only the arguments that link them"},
    {"base_last", SYNTH_INT, SPEC(base_last), 0, 1, "",
     "baseTimeNanoseconds after the events: lost with the end of a file"},
    {"gz", SYNTH_INT, SPEC(gz), 0, 1, "", "compress"},
    {"sync", SYNTH_INT, SPEC(sync), 0, 1, "", "the host waits for the GPU at the end of a step"},
};
const size_t inq_synth_n_spec_options =
    sizeof inq_synth_spec_options / sizeof inq_synth_spec_options[0];

const struct synth_option inq_synth_fault_options[] = {
    {"rank", SYNTH_INT, FAULT(rank), 0, 16383, "", "the rank concerned"},
    {"peer", SYNTH_INT, FAULT(peer), 0, 16383, "", "the other end of a link"},
    {"host", SYNTH_INT, FAULT(host), 0, 16383, "", "the host concerned"},
    {"factor", SYNTH_REAL, FAULT(factor), 0.01, 1000, "", "how many times as long"},
    {"sigma", SYNTH_REAL, FAULT(sigma), 0, 2, "", "of a log-normal"},
    {"ppm", SYNTH_REAL, FAULT(ppm), -1e5, 1e5, "", "rate of a clock, parts per million"},
    {"at", SYNTH_REAL, FAULT(at), 0, 1, "", "part of the file that is left"},
    {"delay", SYNTH_TIME, FAULT(delay_ns), 0, MINUTE_NS, "", "of the host"},
    {"offset", SYNTH_TIME, FAULT(offset_ns), -MINUTE_NS * 60, MINUTE_NS * 60, "", "of a clock"},
    {"from", SYNTH_INT, FAULT(from), 0, 10000, "", "first step concerned, from 0"},
    {"to", SYNTH_INT, FAULT(to), 0, 10000, "", "last step concerned"},
    {"every", SYNTH_INT, FAULT(every), 1, 10000, "", "only every so many steps"},
    {"mode", SYNTH_CHOICE, FAULT(mode), 0, 0, "default|step|launch|gc|count|size", "see above"},
    {"links", SYNTH_CHOICE, FAULT(links), 0, 0, "all|dp|tp|pp", "transfers concerned"},
};
const size_t inq_synth_n_fault_options =
    sizeof inq_synth_fault_options / sizeof inq_synth_fault_options[0];

const struct synth_fault_info inq_synth_fault_infos[INQ_SYNTH_FAULT_COUNT] = {
#define INFO(name, text, finding, what) {text, finding, what},
    INQ_SYNTH_FAULTS(INFO)
#undef INFO
};

void inq_synth_fault_init(struct inq_synth_fault *fault, enum inq_synth_fault_kind kind)
{
    *fault = (struct inq_synth_fault){
        .kind = kind,
        .rank = -1,
        .peer = -1,
        .host = -1,
        .factor = 1.3,
        .sigma = 0.3,
        .ppm = 50.0,
        .at = 0.6,
        .delay_ns = 5000000,
        .offset_ns = 5000000,
        .to = 10000,
        .every = 1,
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

int inq_synth_option_set(const struct synth_option *option, void *base, const char *text,
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

void inq_synth_option_text(const struct synth_option *option, const void *base, char *text,
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
