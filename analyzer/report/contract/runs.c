/* SPDX-License-Identifier: Apache-2.0 */
/* What comparisons, checks, baselines and fixes hold. */
#include "report/contract/contract.h"

#include "inquest/compare.h"

/* ---- compare --------------------------------------------------------------------------------- */

static const struct inq_key kept_keys[] = {
    INQ_KEY("steps", INTEGER, "", "steps that were recorded"),
    INQ_KEY("whole", INTEGER, "", "steps that have all rows: others are not compared"),
    INQ_KEYS_END,
};

static const struct inq_key compared_run_keys[] = {
    INQ_KEY("name", TEXT, "", "of the job"),
    INQ_KEY("ranks", INTEGER, "", "ranks of the job"),
    INQ_KEY("ranks_seen", INTEGER, "", "ranks that were measured"),
    INQ_KEY("steps", INTEGER, "", "steps that were measured"),
    INQ_KEY("warm_up_steps", INTEGER, "", "leading steps left out"),
    INQ_KEY("outlier_steps", INTEGER, "", "other steps left out"),
    INQ_KEY("damaged_files", INTEGER, "", "files with damage"),
    INQ_KEY("missing_ranks", INTEGER, "", "ranks without a file"),
    INQ_KEY_OF_IF("reduced", OBJECT, "what reduced partials have", "they are not reduced",
                  kept_keys),
    INQ_KEY_NULL("device", TEXT, "", "name of the GPU", INQ_NULL_NOT_KNOWN),
    INQ_KEY("step_ns", INTEGER, "ns", "mean step"),
    INQ_KEY("median_step_ns", INTEGER, "ns", "median step"),
    INQ_KEY_NULL("step_low_ns", INTEGER, "ns", "lower end of the interval of the mean step",
                 "too few steps"),
    INQ_KEY_NULL("step_high_ns", INTEGER, "ns", "upper end", "too few steps"),
    INQ_KEYS_END,
};

static const struct inq_key scaling_keys[] = {
    INQ_KEY_WORDS("kind", "of scaling", "same|weak|strong|other"),
    INQ_KEY_NULL("work_per_rank", NUMBER, "1", "rho: new over base", INQ_NULL_NOT_KNOWN),
    INQ_KEY("work_given", BOOLEAN, "", "by --samples; else it was inferred"),
    INQ_KEY("how", TEXT, "", "how it was inferred, in words"),
    INQ_KEY_NULL("speedup", NUMBER, "1", "work per time, new over base", INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("ideal_speedup", NUMBER, "1", "ratio of the ranks", INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("efficiency", NUMBER, "1", "speedup over ideal_speedup", INQ_NULL_NOT_MEASURED),
    INQ_KEY("ideal_step_ns", INTEGER, "ns", "rho times the base's step"),
    INQ_KEYS_END,
};

static const struct inq_key loss_keys[] = {
    INQ_KEY_WORDS("cause", "as in inquest-compare(1), Losses", INQ_LOSSES(INQ_KEY_WORD_3)),
    INQ_KEY("loss_ns", INTEGER, "ns", "of a step; negative: a gain"),
    INQ_KEYS_END,
};

static const struct inq_key compared_cause_keys[] = {
    INQ_KEY_WORDS("cause", "kind of loss", INQ_LOSSES(INQ_KEY_WORD_3)),
    INQ_KEY("ns", INTEGER, "ns", "of a step; negative: a gain"),
    INQ_KEY("simulated", BOOLEAN, "", "by swapping its part of the other run in, see METHODS"),
    INQ_KEY_NULL("in_order_ns", INTEGER, "ns", "the same after the causes before it",
                 "not simulated"),
    INQ_KEY("text", TEXT, "", "in words"),
    INQ_KEY("ranks", INTEGERS, "", "where it is; none: all are alike"),
    INQ_KEY_NULL("stage", INTEGER, "", "the stage that these ranks are", "not a stage"),
    INQ_KEY_NULL("host", TEXT, "", "the host that these ranks are on", "not a host"),
    INQ_KEY_NULL("collective", TEXT, "", "name in collectives", "of none"),
    INQ_KEYS_END,
};

static const struct inq_key compared_part_keys[] = {
    INQ_KEY_WORDS("part", "of a step", INQ_STEP_PARTS(INQ_KEY_WORD_3)),
    INQ_KEY("base_ns", INTEGER, "ns", "in the base"),
    INQ_KEY("ideal_ns", INTEGER, "ns", "rho times that"),
    INQ_KEY("new_ns", INTEGER, "ns", "in the new run"),
    INQ_KEYS_END,
};

static const struct inq_key coll_side_keys[] = {
    INQ_KEY("group_size", INTEGER, "", "members of a group"),
    INQ_KEY_NULL("count", NUMBER, "", "per rank and step", INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("bytes", NUMBER, "bytes", "per rank and step", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("busbw_gbps", NUMBER, "GB/s", "bus bandwidth as nccl-tests define it",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY("transfer_ns", INTEGER, "ns", "per rank and step"),
    INQ_KEY("exposed_ns", INTEGER, "ns", "of it, what no compute covers"),
    INQ_KEY("wait_ns", INTEGER, "ns", "waiting for the last member, per rank and step"),
    INQ_KEYS_END,
};

static const struct inq_key compared_coll_keys[] = {
    INQ_KEY("name", TEXT, "", "kind and role of the group"),
    INQ_KEY("gradients", BOOLEAN, "", "it seems to be of gradients"),
    INQ_KEY("loss_ns", INTEGER, "ns", "of a step"),
    INQ_KEY_OF("losses", OBJECTS, "those that are not 0", loss_keys),
    INQ_KEY_OF("base", OBJECT, "in the base", coll_side_keys),
    INQ_KEY_OF("new", OBJECT, "in the new run", coll_side_keys),
    INQ_KEYS_END,
};

static const struct inq_key compared_rank_keys[] = {
    INQ_KEY_NULL("rank", INTEGER, "", "global rank number", "a row of a stage"),
    INQ_KEY_NULL("stage", INTEGER, "", "pipeline stage", "not a pipeline"),
    INQ_KEY("base_ns", INTEGER, "ns", "in the base, per step"),
    INQ_KEY("new_ns", INTEGER, "ns", "in the new run, per step"),
    INQ_KEY("loss_ns", INTEGER, "ns", "new less rho times base"),
    INQ_KEYS_END,
};

static const struct inq_key compared_kernel_keys[] = {
    INQ_KEY("name", TEXT, "", "of the kernel"),
    INQ_KEY_NULL("base_count", NUMBER, "", "launches per rank and step", INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("new_count", NUMBER, "", "launches per rank and step", INQ_NULL_NOT_MEASURED),
    INQ_KEY("base_ns", INTEGER, "ns", "per rank and step"),
    INQ_KEY("new_ns", INTEGER, "ns", "per rank and step"),
    INQ_KEY("loss_ns", INTEGER, "ns", "new less rho times base"),
    INQ_KEYS_END,
};

static const struct inq_key compared_finding_keys[] = {
    INQ_KEY_WORDS("change", "between the runs", "new|gone|worse|better"),
    INQ_KEY("id", TEXT, "", "of the finding"),
    INQ_KEY("title", TEXT, "", "one line"),
    {.name = "base_severity",
     .type = INQ_KEY_TEXT,
     .unit = "",
     .text = "in the base",
     .null = "not found there",
     .words = INQ_WORDS_SEVERITY},
    {.name = "new_severity",
     .type = INQ_KEY_TEXT,
     .unit = "",
     .text = "in the new run",
     .null = "not found there",
     .words = INQ_WORDS_SEVERITY},
    INQ_KEY_NULL("base_cost_ns_per_step", INTEGER, "ns", "in the base",
                 "not found there, or not measured"),
    INQ_KEY_NULL("new_cost_ns_per_step", INTEGER, "ns", "in the new run",
                 "not found there, or not measured"),
    INQ_KEYS_END,
};

static const struct inq_key compare_keys[] = {
    INQ_KEY_SCHEMA("inquest-compare/1"),
    INQ_KEY_TOOL,
    INQ_KEY("headline", TEXT, "", "the answer in one sentence"),
    INQ_KEY("reason", TEXT, "", "what it comes from, in sentences; may be empty"),
    INQ_KEY("changed", BOOLEAN, "", "more than the spread between runs"),
    INQ_KEY_OF("base", OBJECT, "the run that is compared with", compared_run_keys),
    INQ_KEY_OF("new", OBJECT, "the other", compared_run_keys),
    INQ_KEY_OF("scaling", OBJECT, "how the runs' sizes relate", scaling_keys),
    INQ_KEY("loss_ns", INTEGER, "ns", "new step less rho times the base's"),
    INQ_KEY_OF("losses", OBJECTS, "they sum to loss_ns", loss_keys),
    INQ_KEY_OF("causes", OBJECTS, "most in the direction of the change first", compared_cause_keys),
    INQ_KEY_OF("parts", OBJECTS, "of the step; they sum to it", compared_part_keys),
    INQ_KEY_OF("collectives", OBJECTS, "by kind and role of the group", compared_coll_keys),
    INQ_KEY_OF("compute", OBJECTS, "of each rank, or stage where sizes differ", compared_rank_keys),
    INQ_KEY_OF("kernels", OBJECTS, "that changed most", compared_kernel_keys),
    INQ_KEY_OF("findings", OBJECTS, "that changed", compared_finding_keys),
    INQ_KEYS_END,
};

const struct inq_contract inq_contract_compare = {"inquest-compare/1", "inquest compare -f json",
                                                  compare_keys};

/* ---- check ----------------------------------------------------------------------------------- */

#define NO_PLACE                           "it passes, or is not in a schedule's file"
#define PLACE_IF(key, kind, what, nothing) INQ_KEY_NULL_IF(key, kind, "", what, nothing, NO_PLACE)

static const struct inq_key check_row_keys[] = {
    INQ_KEY("name", TEXT, "", "of the measure, as in inquest list; may end in its stage"),
    INQ_KEY_NULL("baseline", NUMBER, "", "in the baseline; ns where the name ends in _ns",
                 "not in it"),
    INQ_KEY_NULL("value", NUMBER, "", "measured now, in the same unit", INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("limit", NUMBER, "", "what it may be, in the same unit", INQ_NULL_NONE),
    INQ_KEY("pass", BOOLEAN, "", "it keeps its limit"),
    INQ_KEY_WORDS("outcome", "of the comparison", "within|improved|regressed|gone|added|off"),
    INQ_KEY_NULL("change", NUMBER, "1", "of the baseline", "nothing to compare"),
    INQ_KEY_NULL("low", NUMBER, "", "lower end of its interval", INQ_NULL_NONE),
    INQ_KEY_NULL("high", NUMBER, "", "upper end", INQ_NULL_NONE),
    INQ_KEY("n", INTEGER, "", "steps that the interval rests on; 0: exact"),
    INQ_KEY("within_noise", BOOLEAN, "", "worse than the limit by less than the noise"),
    PLACE_IF("file", TEXT, "the schedule's file", INQ_NULL_NONE),
    PLACE_IF("line", INTEGER, "in it, from 1", INQ_NULL_NONE),
    PLACE_IF("column", INTEGER, "where the cell's text begins in the line, from 1", INQ_NULL_NONE),
    PLACE_IF("rank", INTEGER, "whose row it is", INQ_NULL_NONE),
    PLACE_IF("position", INTEGER, "cell in the row, from 1", INQ_NULL_NONE),
    INQ_KEY_IF("action", TEXT, "", "what stands there; may be empty", NO_PLACE),
    INQ_KEY("message", TEXT, "", "in words"),
    INQ_KEYS_END,
};

static const struct inq_key new_finding_keys[] = {
    INQ_KEY("id", TEXT, "", "of the finding"),
    INQ_KEY_WORDS("severity", "how grave", INQ_WORDS_SEVERITY),
    INQ_KEY_NULL("title", TEXT, "", "one line", INQ_NULL_NONE),
    INQ_KEYS_END,
};

static const struct inq_key problem_keys[] = {
    INQ_KEY("rule", TEXT, "", "R1 to R12, as in inquest list"),
    INQ_KEY_WORDS("severity", "whether it fails", "error|note"),
    INQ_KEY_NULL("file", TEXT, "", "the schedule's file", "made, not read"),
    INQ_KEY_NULL("line", INTEGER, "", "in it, from 1", INQ_NULL_NONE),
    INQ_KEY_NULL("column", INTEGER, "", "where the cell's text begins in the line, from 1",
                 INQ_NULL_NONE),
    INQ_KEY_NULL("rank", INTEGER, "", "whose row it is", INQ_NULL_NONE),
    INQ_KEY_NULL("position", INTEGER, "", "cell in the row, from 1", INQ_NULL_NONE),
    INQ_KEY("action", TEXT, "", "what stands there; may be empty"),
    INQ_KEY("message", TEXT, "", "in words"),
    INQ_KEYS_END,
};

static const struct inq_key check_keys[] = {
    INQ_KEY_SCHEMA("inquest-check/1"),
    INQ_KEY("pass", BOOLEAN, "", "every check passes"),
    INQ_KEY("updated", BOOLEAN, "", "the baseline was written instead"),
    INQ_KEY_WORDS("subject", "what is checked", "run|schedule"),
    INQ_KEY("name", TEXT, "", "of what is checked"),
    INQ_KEY("baseline", TEXT, "", "its file"),
    INQ_KEY("headline", TEXT, "", "the answer in one sentence"),
    INQ_KEY_OF_IF("reduced", OBJECT, "what reduced partials have", "they are not reduced",
                  kept_keys),
    INQ_KEY_OF("checks", OBJECTS, "one per measure", check_row_keys),
    INQ_KEY_OF("new_findings", OBJECTS, "not in the baseline", new_finding_keys),
    INQ_KEY_OF_IF("problems", OBJECTS, "what lint finds in it", "of a run", problem_keys),
    INQ_KEYS_END,
};

const struct inq_contract inq_contract_check = {
    "inquest-check/1", "inquest check -f json, of one run or schedule", check_keys};

static const struct inq_key check_set_keys[] = {
    INQ_KEY_SCHEMA("inquest-check-set/1"),
    INQ_KEY("pass", BOOLEAN, "", "all pass"),
    INQ_KEY_OF("results", OBJECTS, "one inquest-check each", check_keys),
    INQ_KEYS_END,
};

const struct inq_contract inq_contract_check_set = {
    "inquest-check-set/1", "inquest check -f json, of several", check_set_keys};

static const struct inq_key remedy_keys[] = {
    INQ_KEY("rank", INTEGER, "", "whose row"),
    INQ_KEY("first", INTEGER, "", "cell, from 1"),
    INQ_KEY("second", INTEGER, "", "cell to swap it with"),
    INQ_KEYS_END,
};

static const struct inq_key lint_keys[] = {
    INQ_KEY_SCHEMA("inquest-lint/1"),
    INQ_KEY_NULL("file", TEXT, "", "the schedule's file", "made, not read"),
    INQ_KEY("pass", BOOLEAN, "", "no error"),
    INQ_KEY_NULL("buffer_depth", INTEGER, "", "messages to be buffered for its order to run",
                 "it runs with none"),
    INQ_KEY_NULL("peak_activations", NUMBER, "", "most that a rank holds, in units of --memory",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_OF("problems", OBJECTS, "in the order of the rules", problem_keys),
    INQ_KEY("story", TEXTS, "", "of a schedule that hangs: what happens, in order"),
    INQ_KEY_OF_IF("remedy", OBJECT, "a swap with which it runs",
                  "it does not hang, or no swap helps", remedy_keys),
    INQ_KEYS_END,
};

const struct inq_contract inq_contract_lint = {
    "inquest-lint/1", "inquest schedule lint -f json, of one schedule", lint_keys};

static const struct inq_key lint_set_keys[] = {
    INQ_KEY_SCHEMA("inquest-lint-set/1"),
    INQ_KEY("pass", BOOLEAN, "", "all pass"),
    INQ_KEY_OF("files", OBJECTS, "one inquest-lint each", lint_keys),
    INQ_KEYS_END,
};

const struct inq_contract inq_contract_lint_set = {
    "inquest-lint-set/1", "inquest schedule lint -f json, of several", lint_set_keys};

/* ---- fix and replay -------------------------------------------------------------------------- */

#define SAMPLE(n_text)                                                                             \
    INQ_KEY("n", INTEGER, "", n_text), INQ_KEY("t_ns_median", INTEGER, "ns", "of the step"),       \
        INQ_KEY_IF("ci95_ns", INTEGERS, "ns", "95 % interval of the median",                       \
                   "fewer than 6 executions"),                                                     \
        INQ_KEY_IF("range_ns", INTEGERS, "ns", "shortest and longest", "6 executions or more")

static const struct inq_key kind_keys[] = {
    INQ_KEY("kind", TEXT, "", "of op"),
    INQ_KEY("n", INTEGER, "", "ops"),
    INQ_KEY("planned_ns", INTEGER, "ns", "per rank and execution"),
    INQ_KEY("executed_ns", INTEGER, "ns", "the same, as executed"),
    INQ_KEYS_END,
};

static const struct inq_key base_executed_keys[] = {
    INQ_KEY("engine", TEXT, "", "sim, host or cuda"),
    INQ_KEY("device", TEXT, "", "what it ran on"),
    INQ_KEY("note", TEXT, "", "what limits the result; may be empty"),
    INQ_KEY_NULL("scale", NUMBER, "1", "of time in execution", INQ_NULL_NOT_KNOWN),
    SAMPLE("executions of the original"),
    INQ_KEY("expected_ns", INTEGER, "ns", "the recorded step, scaled, less what no op stands for"),
    INQ_KEY_NULL("fidelity_error", NUMBER, "1", "executed over expected, less 1",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_OF("kinds", OBJECTS, "ops of the original, farthest from its plan first", kind_keys),
    INQ_KEYS_END,
};

#define NO_PIPELINE "not a pipeline"

static const struct inq_key base_keys[] = {
    INQ_KEY("source", TEXT, "", "what it was made of"),
    INQ_KEY("steps", INTEGER, "", "judged steps; 1 of a schedule"),
    INQ_KEY("simulated_steps", INTEGER, "",
            "of them, simulated as a whole; 0: the one step stands for all, in proportion"),
    INQ_KEY_NULL("recorded_ns", INTEGER, "ns",
                 "their mean, recorded: the account's t_ns; gains are of it", "not recorded"),
    INQ_KEY("t_ns", INTEGER, "ns", "their mean, simulated"),
    INQ_KEY_NULL("step", INTEGER, "", "number of the one step that is executed and drawn",
                 "a schedule, or one interval"),
    INQ_KEY_NULL("step_recorded_ns", INTEGER, "ns", "its recorded length", "not recorded"),
    INQ_KEY("step_t_ns", INTEGER, "ns", "it, simulated"),
    INQ_KEY("t_without_gaps_ns", INTEGER, "ns", "it, simulated without launch delays"),
    INQ_KEY_NULL("model_error", NUMBER, "1", "t_ns over recorded_ns, less 1", "not recorded"),
    INQ_KEY("ops", INTEGER, "", "ops of that step"),
    INQ_KEY("ranks", INTEGER, "", "ranks"),
    INQ_KEY_IF("stages", INTEGER, "", "pipeline stages", NO_PIPELINE),
    INQ_KEY_IF("replicas", INTEGER, "", "data-parallel copies", NO_PIPELINE),
    INQ_KEY_IF("microbatches", INTEGER, "", "per step", NO_PIPELINE),
    INQ_KEY_NULL_IF("schedule", TEXT, "", "its name", INQ_NULL_NOT_KNOWN, NO_PIPELINE),
    INQ_KEY("ranks_connected", BOOLEAN, "",
            "ranks wait for each other; false: transfers could not be matched across ranks"),
    INQ_KEY("contradictions", INTEGER, "",
            "dependencies cut because ops wait for each other in a circle"),
    INQ_KEY_OF_NULL("executed", OBJECT, "the original, executed", "nothing was executed",
                    base_executed_keys),
    INQ_KEYS_END,
};

static const struct inq_key ruling_keys[] = {
    INQ_KEY("verdict", TEXT, "", "confirmed, refuted, inconclusive or not judged"),
    INQ_KEY("why", TEXT, "", "the reason"),
    INQ_KEYS_END,
};

static const struct inq_key assumption_keys[] = {
    INQ_KEY("name", TEXT, "", "what is assumed"),
    INQ_KEY_NULL("unit", TEXT, "", "of its numbers", "a ratio"),
    INQ_KEY_NULL("assumed", NUMBER, "", "by the prediction", INQ_NULL_NONE),
    INQ_KEY_NULL("measured", NUMBER, "", "on the device", INQ_NULL_NOT_MEASURED),
    {.name = "ci95",
     .type = INQ_KEY_NUMBERS,
     .unit = "",
     .text = "95 % interval of measured",
     .null_item = INQ_NULL_NOT_MEASURED},
    INQ_KEYS_END,
};

static const struct inq_key fix_executed_keys[] = {
    INQ_KEY("engine", TEXT, "", "sim, host or cuda"),
    INQ_KEY("device", TEXT, "", "what it ran on"),
    SAMPLE("executions with the fix"),
    INQ_KEY_NULL("predicted_speedup", NUMBER, "1", "of the one step", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("measured_speedup", NUMBER, "1", "with the costs that were measured", "none were"),
    INQ_KEY_NULL("speedup", NUMBER, "1", "executed", INQ_NULL_NOT_MEASURED),
    INQ_KEY_IF("speedup_ci95", NUMBERS, "1", "95 % interval of it", "fewer than 6 executions"),
    INQ_KEY_IF("speedup_range", NUMBERS, "1", "least and greatest", "6 executions or more"),
    INQ_KEY_OF("order", OBJECT, "did it run in the planned order", ruling_keys),
    INQ_KEY_OF("cost", OBJECT, "is the executed gain the predicted one", ruling_keys),
    INQ_KEY_OF("assumptions", OBJECTS, "what the prediction takes for granted", assumption_keys),
    INQ_KEYS_END,
};

static const struct inq_key costs_keys[] = {
    INQ_KEY_NULL("memory", TEXT, "", "in words", INQ_NULL_NONE),
    INQ_KEY_NULL("accuracy", TEXT, "", "in words", INQ_NULL_NONE),
    INQ_KEY_NULL("work", TEXT, "", "in words", INQ_NULL_NONE),
    INQ_KEYS_END,
};

#define NOT_PREDICTED "there is no prediction"

static const struct inq_key fix_row_keys[] = {
    INQ_KEY("spec", TEXT, "", "as --fix takes it"),
    INQ_KEY_NULL("what", TEXT, "", "what it changes, in words", INQ_NULL_NONE),
    INQ_KEY_NULL("finding", TEXT, "", "id of the one that calls for it", "asked for by --fix"),
    INQ_KEY("repairs", BOOLEAN, "", "a finding of more than info severity calls for it"),
    INQ_KEY_NULL("problem", TEXT, "", "why there is no prediction", "there is one"),
    INQ_KEY_NULL("predicted_t_ns", INTEGER, "ns", "the step with it", NOT_PREDICTED),
    INQ_KEY_NULL("predicted_step_t_ns", INTEGER, "ns",
                 "the one step that is executed and drawn, with it",
                 "no prediction, a measured one, or one of what the ops of that step do not have"),
    INQ_KEY_NULL("predicted_gain_ns", INTEGER, "ns", "base.t_ns less that", NOT_PREDICTED),
    INQ_KEY_NULL("predicted_speedup", NUMBER, "1", "base.t_ns over that", NOT_PREDICTED),
    INQ_KEY("helps", BOOLEAN, "", "the step gets shorter by more than 0.1 %"),
    INQ_KEY_OF_NULL("executed", OBJECT, "the step with it, executed", "it was not executed",
                    fix_executed_keys),
    INQ_KEY_WORDS("verdict", "on the prediction",
                  "confirmed|refuted|order_confirmed|inconclusive|not_executed"),
    INQ_KEY("assumes", TEXT, "", "in words; may be empty"),
    INQ_KEY_OF("costs", OBJECT, "what it costs", costs_keys),
    INQ_KEYS_END,
};

static const struct inq_key fix_keys[] = {
    INQ_KEY_SCHEMA("inquest-fix/1"),
    INQ_KEY_TOOL,
    INQ_KEY("headline", TEXT, "", "the answer in one sentence"),
    INQ_KEY_OF("base", OBJECT, "what the fixes are applied to", base_keys),
    INQ_KEY_OF("fixes", OBJECTS,
               "those that help and repair first, then greatest gain first, without a prediction "
               "last",
               fix_row_keys),
    INQ_KEY("fixes_left_out", INTEGER, "",
            "limit: further ones, past 256 in all or 64 places for one rank: not looked at"),
    INQ_KEYS_END,
};

const struct inq_contract inq_contract_fix = {"inquest-fix/1", "inquest fix -f json", fix_keys};

static const struct inq_key op_timing_keys[] = {
    INQ_KEY("given", INTEGER, "", "lasted as planned, or not less than was recorded"),
    INQ_KEY("calibrated", INTEGER, "", "work of another kind that takes as long as planned"),
    INQ_KEY("measured", INTEGER, "", "what was recorded, in the time that it takes here"),
    INQ_KEYS_END,
};

static const struct inq_key replay_executed_keys[] = {
    SAMPLE("executions"),
    INQ_KEY("t_ns", INTEGERS, "ns", "of each execution"),
    INQ_KEY("resolution_ns", INTEGER, "ns", "of its clock"),
    INQ_KEY_IF("reductions_verified", BOOLEAN, "", "every received value was checked",
               "they were not"),
    INQ_KEY_IF("virtual_devices", INTEGER, "", "partitions of GPUs that stand for ranks",
               INQ_NULL_NONE),
    INQ_KEY_IF("peak_bytes", INTEGER, "bytes", "memory of the work on the GPU that had most of it",
               INQ_NULL_NONE),
    INQ_KEY_OF("ops_by_timing", OBJECT, "ops by where their time came from", op_timing_keys),
    INQ_KEYS_END,
};

static const struct inq_key replay_rank_keys[] = {
    INQ_KEY("rank", INTEGER, "", "its number"),
    INQ_KEY("busy_ns", INTEGER, "ns", "at work, in the median execution"),
    INQ_KEY("idle_ns", INTEGER, "ns", "the rest"),
    INQ_KEY("simulated_idle_ns", INTEGER, "ns", "the same in the simulation"),
    INQ_KEYS_END,
};

static const struct inq_key replay_op_keys[] = {
    INQ_KEY("rank", INTEGER, "", "whose it is"),
    INQ_KEY("lane", INTEGER, "", "its lane"),
    INQ_KEY_NULL("type", TEXT, "", "op type of the study", "has none"),
    INQ_KEY("stage", INTEGER, "", "pipeline stage; -1: none"),
    INQ_KEY("microbatch", INTEGER, "", "its number; -1: none"),
    INQ_KEY("start_ns", INTEGER, "ns", "in the median execution"),
    INQ_KEY("end_ns", INTEGER, "ns", "in the median execution"),
    INQ_KEY_WORDS("timing", "where its time came from", "given|calibrated|measured"),
    INQ_KEYS_END,
};

static const struct inq_key replay_keys[] = {
    INQ_KEY_SCHEMA("inquest-replay/1"),
    INQ_KEY_WORDS("engine", "what executed it", "sim|host|cuda"),
    INQ_KEY("device", TEXT, "", "what it ran on"),
    INQ_KEY("note", TEXT, "", "what limits the result; may be empty"),
    INQ_KEY("what", TEXT, "", "what was executed, in words"),
    INQ_KEY_NULL("fix", TEXT, "", "spec of what was changed", INQ_NULL_NONE),
    INQ_KEY_WORDS("work", "what ops do", "timed|recorded"),
    INQ_KEY_NULL("scale", NUMBER, "1", "of time in execution", INQ_NULL_NOT_KNOWN),
    INQ_KEY("steps", INTEGER, "", "in a row"),
    INQ_KEY("ranks", INTEGER, "", "ranks"),
    INQ_KEY("lanes", INTEGER, "", "lanes of all ranks"),
    INQ_KEY("n_ops", INTEGER, "", "ops"),
    INQ_KEY("shortest_compute_ns", INTEGER, "ns", "shortest compute op, scaled"),
    INQ_KEY_OF("executed", OBJECT, "what it took", replay_executed_keys),
    INQ_KEY("simulated_ns", INTEGER, "ns", "the same, simulated"),
    INQ_KEY_NULL("error_to_simulated", NUMBER, "1", "executed over simulated, less 1",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("recorded_ns", INTEGER, "ns", "the same, recorded, scaled", "not comparable"),
    INQ_KEY_NULL("error_to_recorded", NUMBER, "1", "executed over recorded, less 1",
                 "not comparable"),
    INQ_KEY_OF("per_rank", OBJECTS, "of each rank", replay_rank_keys),
    INQ_KEY_OF_IF("ops", OBJECTS, "every op", "without -v", replay_op_keys),
    INQ_KEYS_END,
};

const struct inq_contract inq_contract_replay = {"inquest-replay/1", "inquest replay -f json",
                                                 replay_keys};
