/* SPDX-License-Identifier: Apache-2.0 */
/* All documents, and what schedules, baselines, truths and errors hold. */
#include "report/contract/contract.h"

#include <string.h>

/* ---- schedules ------------------------------------------------------------------------------- */

#define AT      "with --at"
#define NOT_AT  "without --at"
#define PROBLEM "there is a problem"

static const struct inq_key theory_keys[] = {
    INQ_KEY_IF("bubble", TEXT, "", "formula of the bubble", "none is known"),
    INQ_KEY_IF("bubble_ns", INTEGER, "ns", "by it", "none is known"),
    INQ_KEY_IF("bubble_rate", NUMBER, "1", "bubble_ns over the step", "none is known"),
    INQ_KEY_IF("peak", TEXT, "", "formula of the peak memory", "none is known"),
    INQ_KEY_IF("peak_activations", NUMBER, "", "by it", "none is known"),
    INQ_KEY_IF("peak_is_bound", BOOLEAN, "", "it is an upper bound", "none is known"),
    INQ_KEY("condition", TEXT, "", "under which they hold"),
    INQ_KEYS_END,
};

static const struct inq_key schedule_rank_keys[] = {
    INQ_KEY("rank", INTEGER, "", "its number"),
    INQ_KEY("busy_ns", INTEGER, "ns", "at work"),
    INQ_KEY("idle_ns", INTEGER, "ns", "the rest of the span"),
    INQ_KEY_NULL("peak_activations", NUMBER, "", "most that it holds, in units of --memory",
                 "not known"),
    INQ_KEYS_END,
};

static const struct inq_key schedule_op_keys[] = {
    INQ_KEY("rank", INTEGER, "", "whose it is"),
    INQ_KEY("action", TEXT, "", "as in the CSV: 2F1"),
    INQ_KEY("start_ns", INTEGER, "ns", "from the start of the step"),
    INQ_KEY("end_ns", INTEGER, "ns", "from the start of the step"),
    INQ_KEYS_END,
};

static const struct inq_key doing_keys[] = {
    INQ_KEY("rank", INTEGER, "", "its number"),
    INQ_KEY_NULL("action", TEXT, "", "what it does then, in words", "it is idle"),
    INQ_KEY_IF("start_ns", INTEGER, "ns", "of the action", "it is idle"),
    INQ_KEY_IF("end_ns", INTEGER, "ns", "of the action", "it is idle"),
    INQ_KEYS_END,
};

static const struct inq_key schedule_keys[] = {
    INQ_KEY_SCHEMA("inquest-schedule/1"),
    INQ_KEY("kind", TEXT, "", "name of the schedule"),
    INQ_KEY_IF("ranks", INTEGER, "", "of the pipeline", AT),
    INQ_KEY_IF("stages", INTEGER, "", "of the model", AT),
    INQ_KEY_IF("microbatches", INTEGER, "", "per step", AT),
    INQ_KEY_IF("segments", INTEGER, "", "of each sequence, numbered through like micro-batches",
               "sequences are not cut"),
    INQ_KEY_IF("replicas", INTEGER, "", "copies of the model in it", AT),
    INQ_KEY_IF("makespan_ns", INTEGER, "ns", "of the step", AT),
    INQ_KEY_IF("span_ns", INTEGER, "ns", "of its compute", AT),
    INQ_KEY_NULL_IF("bubble_ratio", NUMBER, "1", "idle share of the span", "no span", AT),
    INQ_KEY_NULL_IF("bubble_rate_zb", NUMBER, "1", "as the Zero Bubble paper defines it",
                    "no compute", AT),
    INQ_KEY_NULL_IF("peak_activations", NUMBER, "", "most that a rank holds, in units of --memory",
                    "not known", AT),
    INQ_KEY_OF_IF("theory", OBJECT, "what formulas say", "there are none, or with --at",
                  theory_keys),
    INQ_KEY_OF_IF("per_rank", OBJECTS, "of each rank", AT, schedule_rank_keys),
    INQ_KEY_OF_IF("ops", OBJECTS, "every op, by rank, in order", AT, schedule_op_keys),
    INQ_KEY_IF("at_ns", INTEGER, "ns", "the moment asked for", NOT_AT),
    INQ_KEY_OF_IF("doing", OBJECTS, "what each rank does then", NOT_AT, doing_keys),
    INQ_KEYS_END,
};

const struct inq_contract inq_contract_schedule = {"inquest-schedule/1",
                                                   "inquest schedule show -f json", schedule_keys};

static const struct inq_key schedule_row_keys[] = {
    INQ_KEY("schedule", TEXT, "", "kind or file"),
    INQ_KEY_IF("problem", TEXT, "", "why it cannot be timed", "there is none"),
    INQ_KEY_IF("ranks", INTEGER, "", "of the pipeline", PROBLEM),
    INQ_KEY_IF("stages", INTEGER, "", "of the model", PROBLEM),
    INQ_KEY_IF("microbatches", INTEGER, "", "per step", PROBLEM),
    INQ_KEY_IF("microbatch_size", INTEGER, "", "samples in each", "without --sizes"),
    INQ_KEY_IF("interpolated", BOOLEAN, "", "its times are between those given", "without --sizes"),
    INQ_KEY_IF("makespan_ns", INTEGER, "ns", "of the step", PROBLEM),
    INQ_KEY_NULL_IF("bubble_ratio", NUMBER, "1", "idle share of the span", "no span", PROBLEM),
    INQ_KEY_NULL_IF("bubble_rate_zb", NUMBER, "1", "as the Zero Bubble paper defines it",
                    "no compute", PROBLEM),
    INQ_KEY_IF("worst_idle_ns", INTEGER, "ns", "of the rank that is idle longest", PROBLEM),
    INQ_KEY_NULL_IF("peak_activations", NUMBER, "", "most that a rank holds, in units of --memory",
                    "not known", PROBLEM),
    INQ_KEY_IF("weights", INTEGER, "", "copies of the weights that a rank holds", PROBLEM),
    INQ_KEY_IF("fits", BOOLEAN, "", "under the limit", "without --memory-limit"),
    INQ_KEYS_END,
};

static const struct inq_key schedule_compare_keys[] = {
    INQ_KEY_SCHEMA("inquest-schedule-compare/1"),
    INQ_KEY("headline", TEXT, "", "the answer in one sentence"),
    INQ_KEY_IF("memory_limit", NUMBER, "", "most that a rank may hold", "without --memory-limit"),
    INQ_KEY_NULL("best", TEXT, "", "name of the best; compare: of the shortest",
                 "none runs or fits"),
    INQ_KEY_IF("best_microbatch_size", INTEGER, "", "samples in its micro-batches",
               "without --sizes"),
    INQ_KEY_OF("schedules", OBJECTS, "search: best first; compare: as given", schedule_row_keys),
    INQ_KEYS_END,
};

static const struct inq_contract contract_schedule_compare = {
    "inquest-schedule-compare/1", "inquest schedule compare and search -f json",
    schedule_compare_keys};

/* ---- baselines ------------------------------------------------------------------------------- */

#define OF_A_RUN      "of a run"
#define OF_A_SCHEDULE "of a schedule"

static const struct inq_key made_keys[] = {
    INQ_KEY("version", TEXT, "", "of inquest"),
    INQ_KEY("command", TEXT, "", "that makes it again"),
    INQ_KEY("inputs", TEXT, "", "what it was made of"),
    INQ_KEYS_END,
};

static const struct inq_key item_keys[] = {
    INQ_KEY("what", TEXT, "", "operator, or kernel where no operator was recorded"),
    INQ_KEY("shape", TEXT, "", "of its inputs; may be empty"),
    INQ_KEY("count", INTEGER, "", "per step"),
    INQ_KEY_NULL("share", NUMBER, "1", "of the compute time", "not measured"),
    INQ_KEY_IF("math", BOOLEAN, "", "matrix product, convolution or attention", "it is none"),
    INQ_KEYS_END,
};

static const struct inq_key work_keys[] = {
    INQ_KEY("kernels", INTEGER, "", "launches per step"),
    INQ_KEY("math", INTEGER, "", "of these, matrix products, convolutions and attentions"),
    INQ_KEY("passes", INTEGER, "", "micro-batches"),
    INQ_KEY("replicas", INTEGER, "", "ranks that share a stage"),
    INQ_KEY_IF("even", BOOLEAN, "", "the ranks of a stage run equally many", "they do not"),
    INQ_KEY_OF("items", OBJECTS, "what runs equally often in every step", item_keys),
    INQ_KEYS_END,
};

static const struct inq_key measure_keys[] = {
    INQ_KEY("value", NUMBER, "", "of the steps, or mean of the runs; ns in _ns"),
    INQ_KEY_IF("low", NUMBER, "", "lower end of its interval", "exact"),
    INQ_KEY_IF("high", NUMBER, "", "upper end", "exact"),
    INQ_KEY_IF("n", INTEGER, "", "steps that the interval rests on", "exact"),
    INQ_KEY_IF("runs", NUMBERS, "", "value of each run, oldest first", "of one run"),
    INQ_KEYS_END,
};

static const struct inq_key baseline_finding_keys[] = {
    INQ_KEY("id", TEXT, "", "of the finding"),
    INQ_KEY_WORDS("severity", "low and above", INQ_WORDS_SEVERITY),
    INQ_KEYS_END,
};

static const struct inq_key baseline_keys[] = {
    INQ_KEY_SCHEMA("inquest-baseline/1"),
    INQ_KEY_WORDS("subject", "what it is of", "run|schedule"),
    INQ_KEY_OF_IF("made", OBJECT, "how it was made", "written by hand or by an older version",
                  made_keys),
    INQ_KEY("ranks", INTEGER, "", "how many there are"),
    INQ_KEY_IF("stages", INTEGER, "", "of the model", OF_A_RUN),
    INQ_KEY_IF("microbatches", INTEGER, "", "per step", OF_A_RUN),
    INQ_KEY_IF("times_ns", INTEGERS, "ns", "the times of --times: four, or all eight", OF_A_RUN),
    INQ_KEY_IF("stage_times_ns", INTEGERS, "ns", "F, B and W of each stage",
               "of a run, or stages are alike"),
    INQ_KEY_IF("times_of_run", BOOLEAN, "", "they are of a recorded run, and may differ",
               "they are exact"),
    INQ_KEY_IF("order", TEXTS, "", "cells of each rank, as CSV", OF_A_RUN),
    INQ_KEY_IF("gpu", TEXT, "", "that all ranks ran on",
               "of a schedule, not recorded, or of several kinds"),
    INQ_KEY_OF_IF("work", OBJECT, "what a step does", "of a schedule, or no kernels were recorded",
                  work_keys),
    INQ_KEY_OF("measures", MAP_OF_OBJECTS, "by name, as in inquest list", measure_keys),
    INQ_KEY_OF_IF("findings", OBJECTS, "those of severity low and above", OF_A_SCHEDULE,
                  baseline_finding_keys),
    INQ_KEY_IF("rules", MAP_OF_TEXTS, "",
               "\"tolerance\", and limits by name of the measure, as --rule takes them",
               "none was given"),
    INQ_KEYS_END,
};

static const struct inq_contract contract_baseline = {
    "inquest-baseline/1", "inquest check --update; see inquest-baseline(5)", baseline_keys};

/* ---- truth ----------------------------------------------------------------------------------- */

static const struct inq_key fault_keys[] = {
    INQ_KEY("kind", TEXT, "", "as in inquest synth help"),
    INQ_KEY_NULL("finding", TEXT, "", "kind of finding that it should give", "none"),
    INQ_KEY("ranks", INTEGERS, "", "where it is"),
    INQ_KEY_IF("hosts", INTEGERS, "", "where it is", "not of hosts"),
    INQ_KEY("stages", INTEGERS, "", "where it is"),
    INQ_KEY("cost_ns_per_step", INTEGER, "ns", "mean step less that of the same run without it"),
    INQ_KEY_NULL("share", NUMBER, "1", "of the mean step", "no steps"),
    INQ_KEYS_END,
};

static const struct inq_key truth_step_keys[] = {
    INQ_KEY("step", INTEGER, "", "its number"),
    INQ_KEY("dur_ns", INTEGER, "ns", "its length"),
    INQ_KEY("healthy_ns", INTEGER, "ns", "without any fault"),
    INQ_KEYS_END,
};

static const struct inq_key truth_rank_keys[] = {
    INQ_KEY("rank", INTEGER, "", "its number"),
    INQ_KEY_NULL("file", TEXT, "", "its trace", "it has none"),
    INQ_KEY("host", INTEGER, "", "number of its host"),
    INQ_KEY("stage", INTEGER, "", "pipeline stage"),
    INQ_KEY("dp_rank", INTEGER, "", "data-parallel replica"),
    INQ_KEY("tp_rank", INTEGER, "", "place in its tensor-parallel group"),
    INQ_KEY("clock_offset_ns", INTEGER, "ns", "of its clock"),
    INQ_KEY("clock_drift_ppb", INTEGER, "1e-9", "of its clock"),
    INQ_KEY("compute_ns", INTEGER, "ns", "GPU compute of all steps"),
    INQ_KEY("wait_ns", INTEGER, "ns", "waiting in collectives, of all steps"),
    INQ_KEY("collectives", INTEGER, "", "that it is in"),
    INQ_KEY("last_arrivals", INTEGER, "", "that it comes to last"),
    INQ_KEYS_END,
};

static const struct inq_key truth_keys[] = {
    INQ_KEY_SCHEMA("inquest-truth/1"),
    INQ_KEY_NULL("spec", TEXT, "", "that makes the run again", "no memory for it"),
    INQ_KEY("healthy", BOOLEAN, "", "no fault is planted"),
    INQ_KEY("world_size", INTEGER, "", "ranks"),
    INQ_KEY("dp", INTEGER, "", "data-parallel replicas"),
    INQ_KEY("tp", INTEGER, "", "ranks of a tensor-parallel group"),
    INQ_KEY("pp", INTEGER, "", "pipeline stages"),
    INQ_KEY("micro_batches", INTEGER, "", "per step"),
    INQ_KEY("chunks", INTEGER, "", "model chunks per rank"),
    INQ_KEY("step_ns", INTEGER, "ns", "mean step"),
    INQ_KEY("healthy_step_ns", INTEGER, "ns", "without any fault"),
    INQ_KEY_OF("faults", OBJECTS, "what was planted", fault_keys),
    INQ_KEY_OF("steps", OBJECTS, "each of them", truth_step_keys),
    INQ_KEY_OF("ranks", OBJECTS, "each of them", truth_rank_keys),
    INQ_KEYS_END,
};

static const struct inq_contract contract_truth = {"inquest-truth/1",
                                                   "inquest synth, as truth.json", truth_keys};

/* ---- errors ---------------------------------------------------------------------------------- */

static const struct inq_key error_keys[] = {
    INQ_KEY_SCHEMA("inquest-error/1"),
    INQ_KEY("code", TEXT, "", "nomem, io, format, limit, usage, unsupported, not_found, ..."),
    INQ_KEY("message", TEXT, "", "in words"),
    INQ_KEY_NULL("path", TEXT, "", "the file", "of none"),
    INQ_KEY_NULL("offset", INTEGER, "bytes", "in it, uncompressed", "of no place"),
    INQ_KEY_NULL("next", TEXT, "", "what to do", "nothing"),
    INQ_KEYS_END,
};

static const struct inq_contract contract_error = {
    "inquest-error/1", "any command with -f json that fails, on standard error", error_keys};

/* ---- all of them ----------------------------------------------------------------------------- */

static const struct inq_contract *const contracts[] = {&inq_contract_report,
                                                       &inq_contract_report_set,
                                                       &inq_contract_info,
                                                       &inq_contract_compare,
                                                       &inq_contract_check,
                                                       &inq_contract_check_set,
                                                       &contract_baseline,
                                                       &inq_contract_fix,
                                                       &inq_contract_replay,
                                                       &inq_contract_schedule,
                                                       &contract_schedule_compare,
                                                       &inq_contract_lint,
                                                       &inq_contract_lint_set,
                                                       &contract_truth,
                                                       &contract_error};

const struct inq_contract *inq_contract(size_t i)
{
    return i < sizeof contracts / sizeof *contracts ? contracts[i] : NULL;
}

const struct inq_contract *inq_contract_find(const char *name)
{
    static const char PREFIX[] = "inquest-";
    name += strncmp(name, PREFIX, sizeof PREFIX - 1) == 0 ? sizeof PREFIX - 1 : 0;
    size_t len = strcspn(name, "/");
    for (size_t i = 0; i < sizeof contracts / sizeof *contracts; i++) {
        const char *schema = contracts[i]->schema + sizeof PREFIX - 1;
        bool same = strcspn(schema, "/") == len && strncmp(schema, name, len) == 0;
        if (same && (name[len] == '\0' || strcmp(schema + len, name + len) == 0)) {
            return contracts[i];
        }
    }
    return NULL;
}
