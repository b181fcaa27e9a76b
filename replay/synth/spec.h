/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a spec and of a fault, as tables that drive parsing, writing and help. */
#ifndef INQ_SYNTH_SPEC_H
#define INQ_SYNTH_SPEC_H

#include "inquest/synth.h"

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

extern const struct synth_option inq_synth_spec_options[];
extern const size_t inq_synth_n_spec_options;
extern const struct synth_option inq_synth_fault_options[];
extern const size_t inq_synth_n_fault_options;

struct synth_fault_info {
    const char *text, *finding, *what;
};

extern const struct synth_fault_info inq_synth_fault_infos[INQ_SYNTH_FAULT_COUNT];

/* Sets one key of the spec, or of its last fault. Fails with INQ_USAGE. */
int inq_synth_spec_set(struct inq_synth_spec *spec, const char *key, const char *value,
                       struct inq_err *err);
int inq_synth_spec_set_fault(struct inq_synth_spec *spec, const char *key, const char *value,
                             struct inq_err *err);
/* Everything of a fault not given. */
void inq_synth_fault_init(struct inq_synth_fault *fault, enum inq_synth_fault_kind kind);
/* Stores `text` into the member of `base` that the option stands for. Fails with INQ_USAGE. */
int inq_synth_option_set(const struct synth_option *option, void *base, const char *text,
                         struct inq_err *err);
/* The value as text that reads back the same; `size` at least 64. */
void inq_synth_option_text(const struct synth_option *option, const void *base, char *text,
                           size_t size);
/* The whole spec as text into `out`. */
struct inq_out;
void inq_synth_spec_text(const struct inq_synth_spec *spec, struct inq_out *out);
/* Reads a JSON object over the spec. */
int inq_synth_spec_read_json(const char *path, struct inq_synth_spec *spec, struct inq_err *err);

#endif
