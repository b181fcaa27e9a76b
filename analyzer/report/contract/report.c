/* SPDX-License-Identifier: Apache-2.0 */
/* What reports hold, and inquest-info, which shares their files, ranks and clocks. */
#include "report/contract/contract.h"
#include "report/sections/sections.h"

#include "inquest/account.h"
#include "inquest/analysis.h"
#include "inquest/failure.h"
#include "inquest/training.h"

/* ---- inputs ---------------------------------------------------------------------------------- */

static const struct inq_key damage_keys[] = {
    INQ_KEY("kind", TEXT, "", "as in inquest-report(5), Damage"),
    INQ_KEY("count", INTEGER, "", "occurrences; of garbage, bytes"),
    INQ_KEY_NULL("first_offset", INTEGER, "bytes", "of the first, in the uncompressed file",
                 "not at one place of the file"),
    INQ_KEYS_END,
};

static const struct inq_key file_keys[] = {
    INQ_KEY("path", TEXT, "", "as given or found"),
    INQ_KEY("format", TEXT, "", "as in inquest list"),
    INQ_KEY("bytes", INTEGER, "bytes", "on disk"),
    INQ_KEY("bytes_uncompressed", INTEGER, "bytes", "read, after decompression"),
    INQ_KEY("events", INTEGER, "", "records in it"),
    INQ_KEY("events_kept", INTEGER, "", "of them, those that the analysis needs"),
    INQ_KEY_NULL("reason", TEXT, "", "a remark on how it was read", INQ_NULL_NONE),
    INQ_KEY_OF("damage", OBJECTS, "what was damaged and worked around", damage_keys),
    INQ_KEYS_END,
};

static const struct inq_key skipped_keys[] = {
    INQ_KEY("path", TEXT, "", "as given or found"),
    INQ_KEY_NULL("format", TEXT, "", "what it seems to be", INQ_NULL_NOT_KNOWN),
    INQ_KEY("bytes", INTEGER, "bytes", "on disk"),
    INQ_KEY("reason", TEXT, "", "why it was not read"),
    INQ_KEYS_END,
};

static const struct inq_key unread_keys[] = {
    INQ_KEY("rank", INTEGER, "", "rank that the file is of"),
    INQ_KEY("path", TEXT, "", "the file"),
    INQ_KEY("reason", TEXT, "", "why it could not be read"),
    INQ_KEYS_END,
};

#define NO_LENGTH "no step's length is known"
static const struct inq_key reduced_keys[] = {
    INQ_KEY("ranks", INTEGER, "", "ranks whose partials are reduced"),
    INQ_KEY("steps", INTEGER, "", "steps that they recorded"),
    INQ_KEY("whole", INTEGER, "", "steps that have all rows: all else in the document is of those"),
    INQ_KEY("stand_out", INTEGER, "", "of these, kept for being long: they weigh too much"),
    INQ_KEY_NULL("step_ns", INTEGER, "ns", "mean length of all steps", NO_LENGTH),
    INQ_KEY_NULL("whole_step_ns", INTEGER, "ns", "mean length of the whole ones", NO_LENGTH),
    INQ_KEY("compute_ns", INTEGER, "ns", "durations of computing kernels in a step, mean of all"),
    INQ_KEY("whole_compute_ns", INTEGER, "ns", "the same, mean of the whole ones"),
    INQ_KEY("comm_ns", INTEGER, "ns", "of communication, mean of all steps"),
    INQ_KEY("whole_comm_ns", INTEGER, "ns", "the same, mean of the whole ones"),
    INQ_KEY("copy_ns", INTEGER, "ns", "of copies, mean of all steps"),
    INQ_KEY("whole_copy_ns", INTEGER, "ns", "the same, mean of the whole ones"),
    INQ_KEYS_END,
};

static const struct inq_key clock_keys[] = {
    INQ_KEY_NULL("rank", INTEGER, "", "whose clock it is", INQ_NULL_NOT_KNOWN),
    INQ_KEY("offset_ns", INTEGER, "ns", "added to its times (of the first piece)"),
    INQ_KEY("drift_ppb", INTEGER, "1e-9", "by how much it runs slow (of the first piece)"),
    INQ_KEY_NULL("residual_ns", INTEGER, "ns", "median disagreement that is left",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY("anchors", INTEGER, "", "collectives that it was fitted to"),
    INQ_KEY_IF("pieces", INTEGER, "", "stretches of its own offset and drift",
               "the clock was never set and its drift never changed"),
    INQ_KEYS_END,
};

#define RANK_LISTS                                                                                 \
    INQ_KEY_NULL("world_size", INTEGER, "", "ranks of the job", INQ_NULL_NOT_KNOWN),               \
        {.name = "ranks_present",                                                                  \
         .type = INQ_KEY_INTEGERS,                                                                 \
         .unit = "",                                                                               \
         .text = "ranks with a file that was read",                                                \
         .null_item = "a file whose rank is not known"},                                           \
        INQ_KEY("ranks_missing", INTEGERS, "", "ranks without a file"),                            \
        INQ_KEY_OF("ranks_unread", OBJECTS,                                                        \
                   "ranks with a file that could not be read: they are not missing", unread_keys), \
        INQ_KEY_OF_IF("reduced", OBJECT, "what reduced partials leave unknown", "none is reduced", \
                      reduced_keys)

#define CLOCKS  INQ_KEY_OF("clock", OBJECTS, "ranks whose clock was aligned", clock_keys)
#define SKIPPED INQ_KEY_OF("skipped", OBJECTS, "files that were not understood", skipped_keys)
#define FILES   INQ_KEY_OF("files", OBJECTS, "files that were read", file_keys)

#define INPUTS_KEYS                                                                                \
    RANK_LISTS, CLOCKS,                                                                            \
        INQ_KEY_NULL("origin_ns", INTEGER, "ns",                                                   \
                     "first moment of the run: times in text and --time count from here",          \
                     "no event has a time"),                                                       \
        INQ_KEYS_END

static const struct inq_key inputs_keys[] = {
    FILES,
    INQ_KEY_OF_IF("skipped", OBJECTS, "files that were not understood",
                  "in a set, which has it once", skipped_keys),
    INPUTS_KEYS,
};

#define OPTIONS_TEXT "what the analysis was asked for, each as on the command line"

static const struct inq_key options_keys[] = {
    INQ_KEY_NULL("method", TEXT, "", "--method", "not given"),
    INQ_KEY_NULL("align", TEXT, "", "--align", "not given"),
    INQ_KEY_NULL("only", TEXT, "", "--only", "not given"),
    INQ_KEY_NULL("ranks", TEXT, "", "--rank", "not given"),
    INQ_KEY_NULL("steps", TEXT, "", "--step", "not given"),
    INQ_KEY_NULL("time", TEXT, "", "--time", "not given"),
    INQ_KEY_IF("redacted", TEXT, "",
               "what --redact has replaced, \"hosts 2, paths 17, users 1, kernels 40, modules 0\"",
               "names are as recorded"),
    INQ_KEYS_END,
};

/* ---- verdict, failure, training, findings ---------------------------------------------------- */

static const struct inq_key verdict_keys[] = {
    INQ_KEY("headline", TEXT, "", "one sentence: what, where, how much"),
    INQ_KEY_NULL("why", TEXT, "", "what it rests on, measured against expected", INQ_NULL_NONE),
    INQ_KEY_NULL("next", TEXT, "", "the fix with its predicted gain, and what to look at",
                 INQ_NULL_NONE),
    INQ_KEY_NULL("sure", TEXT, "",
                 "ranks and steps judged, and how far the simulated base is off the record",
                 INQ_NULL_NONE),
    INQ_KEY("class", TEXT, "",
            "failure.class of a run that died, else the kind of the costliest finding, healthy, "
            "waiting_unexplained (no cause was found, and more than 3 % of the rank-time is "
            "waiting with none, or half of it communication that may be waiting), "
            "nothing_to_judge or not_available"),
    INQ_KEY_NULL("lost_ns_per_step", INTEGER, "ns", "the first finding's cost",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_WORDS("confidence", "how sure it is", INQ_WORDS_CONFIDENCE),
    INQ_KEY_IF("without", TEXTS, "",
               "sections that failed: verdict and findings do not know of them, and no such "
               "verdict is established",
               "no section failed"),
    INQ_KEYS_END,
};

static const struct inq_key failure_evidence_keys[] = {
    INQ_KEY_NULL("rank", INTEGER, "", "whose it is", "of no single rank"),
    INQ_KEY_NULL("file", TEXT, "", "the dump or log", INQ_NULL_NONE),
    INQ_KEY_NULL("what", TEXT, "", "in words", INQ_NULL_NONE),
    INQ_KEY_IF("line", INTEGER, "", "in the log, from 1", "not a line of a log"),
    INQ_KEY_NULL_IF("text", TEXT, "", "the line, verbatim", "an empty line", "not a line of a log"),
    INQ_KEYS_END,
};

static const struct inq_key frame_keys[] = {
    INQ_KEY_NULL("name", TEXT, "", "function", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("file", TEXT, "", "source file", INQ_NULL_NOT_KNOWN),
    INQ_KEY("line", INTEGER, "", "in it"),
    INQ_KEYS_END,
};

static const struct inq_key stack_keys[] = {
    INQ_KEY("rank", INTEGER, "", "whose it is"),
    INQ_KEY_NULL("op", TEXT, "", "the pending collective", INQ_NULL_NOT_KNOWN),
    INQ_KEY_OF("frames", OBJECTS, "innermost first", frame_keys),
    INQ_KEYS_END,
};

static const struct inq_key match_keys[] = {
    INQ_KEY("group", TEXT, "", "process group"),
    INQ_KEY("seq", INTEGER, "", "number of its oldest collective that is not finished everywhere"),
    INQ_KEY_WORDS("state", "how its members stand", INQ_MATCH_STATES(INQ_KEY_WORD)),
    INQ_KEY("ranks", INTEGERS, "", "members that differ or have not joined"),
    INQ_KEY_NULL("what", TEXT, "", "in words", INQ_NULL_NONE),
    INQ_KEYS_END,
};

static const struct inq_key failure_wait_keys[] = {
    INQ_KEY("op", TEXT, "", "the collective or transfer"),
    INQ_KEY("group", TEXT, "", "its process group"),
    INQ_KEY_NULL("seq", INTEGER, "", "its number in the group", INQ_NULL_NOT_KNOWN),
    INQ_KEY("ranks", INTEGERS, "", "who waits in it"),
    INQ_KEY("for_ranks", INTEGERS, "", "whom each of these waits for, itself aside"),
    INQ_KEYS_END,
};

static const struct inq_key root_keys[] = {
    INQ_KEY_NULL("rank", INTEGER, "", "global rank number", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("host", TEXT, "", "name of the host", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("pid", INTEGER, "", "process", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("bus_id", TEXT, "", "PCI address of the GPU", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("peer", TEXT, "", "address of a process that only others report", INQ_NULL_NONE),
    INQ_KEY_NULL("what", TEXT, "", "in words", INQ_NULL_NONE),
    INQ_KEYS_END,
};

static const struct inq_key moment_keys[] = {
    INQ_KEY_WORDS("phase", "part of the failure", INQ_FAILURE_PHASES(INQ_KEY_WORD)),
    INQ_KEY_NULL("time_ns", INTEGER, "ns", "since 1970", "no time was printed, or no year"),
    INQ_KEY_NULL("time", TEXT, "", "as printed in the log", INQ_NULL_NONE),
    INQ_KEY_NULL("rank", INTEGER, "", "whose line it is", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("file", TEXT, "", "the log", INQ_NULL_NONE),
    INQ_KEY("line", INTEGER, "", "in it, from 1; 0: none"),
    INQ_KEY_NULL("what", TEXT, "", "in words", INQ_NULL_NONE),
    INQ_KEYS_END,
};

static const struct inq_key victims_keys[] = {
    INQ_KEY_NULL("what", TEXT, "", "in words", INQ_NULL_NONE),
    INQ_KEY("count", INTEGER, "", "lines of this kind"),
    INQ_KEY("ranks", INTEGERS, "", "those that are known"),
    INQ_KEY_NULL("file", TEXT, "", "log of the first", INQ_NULL_NONE),
    INQ_KEY("line", INTEGER, "", "in it, from 1; 0: none"),
    INQ_KEY_NULL("text", TEXT, "", "the line, verbatim", INQ_NULL_NONE),
    INQ_KEYS_END,
};

static const struct inq_key failure_keys[] = {
    INQ_KEY_WORDS("class", "what stopped the run", INQ_FAILURE_CLASSES(INQ_KEY_WORD)),
    INQ_KEY_NULL("subclass", TEXT, "", "which part: memory, bus, nvlink, storage, node",
                 INQ_NULL_NONE),
    INQ_KEY_WORDS("confidence", "how sure it is", INQ_WORDS_CONFIDENCE),
    INQ_KEY("headline", TEXT, "", "one sentence"),
    INQ_KEY("root_ranks", INTEGERS, "", "where it began"),
    INQ_KEY("victim_ranks", INTEGERS, "", "who only waited, directly or through others"),
    INQ_KEY("missing_ranks", INTEGERS, "", "members of groups without a whole dump"),
    INQ_KEY("suspect_ranks", INTEGERS, "", "of these, where the chains of waiting end"),
    INQ_KEY_OF_NULL("first_evidence", OBJECT, "the evidence that says most", INQ_NULL_NONE,
                    failure_evidence_keys),
    INQ_KEY_NULL("group", TEXT, "", "process group where the waiting began", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("seq", INTEGER, "", "number of the collective in its group", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("op", TEXT, "", "the collective", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("sizes", TEXT, "", "what it moves: shapes and types", INQ_NULL_NOT_KNOWN),
    INQ_KEY_OF("evidence", OBJECTS, "most telling first", failure_evidence_keys),
    INQ_KEY_OF("stacks", OBJECTS, "where pending collectives were called", stack_keys),
    INQ_KEY_OF("collectives", OBJECTS, "groups that wait", match_keys),
    INQ_KEY_OF("waits", OBJECTS,
               "who waits for whom, one row for ranks that wait in the same op "
               "for the same others",
               failure_wait_keys),
    INQ_KEY("alternatives", TEXTS, "", "other explanations, and what would decide"),
    INQ_KEY("set_aside", TEXTS, "", "lines of errors that are not the cause, and why"),
    INQ_KEY_NULL("advice", TEXT, "", "what to do next", INQ_NULL_NONE),
    INQ_KEY_OF("roots", OBJECTS, "where the roots are, from logs", root_keys),
    INQ_KEY_OF("timeline", OBJECTS, "the course of events, from logs", moment_keys),
    INQ_KEY_OF("victims", OBJECTS, "lines that only report suffering", victims_keys),
    INQ_KEYS_END,
};

static const struct inq_key event_keys[] = {
    INQ_KEY_WORDS("kind", "as in inquest-report(5)", INQ_TRAINING_EVENTS(INQ_KEY_WORD)),
    INQ_KEY("first_step", INTEGER, "", "where it begins"),
    INQ_KEY("last_step", INTEGER, "", "where it ends"),
    INQ_KEY("to_end", BOOLEAN, "", "it lasts to the end of its attempt"),
    INQ_KEY("line", INTEGER, "", "of the log, from 1"),
    INQ_KEY_NULL("measured", NUMBER, "", "loss, norm or time of its rows", "no finite number"),
    INQ_KEY_NULL("expected", NUMBER, "", "the same of the rows before", "nothing to compare with"),
    INQ_KEY("what", TEXT, "", "in words"),
    INQ_KEYS_END,
};

static const struct inq_key training_keys[] = {
    INQ_KEY("file", TEXT, "", "the log that it is of"),
    INQ_KEY("rows", INTEGER, "", "rows of training output in it"),
    INQ_KEY("steps_printed", BOOLEAN, "", "rows print their step; else they are counted"),
    INQ_KEY("sampled", BOOLEAN, "",
            "after the first 16,384 rows only stretches of the file and its end were read"),
    INQ_KEY("first_step", INTEGER, "", "first step printed"),
    INQ_KEY("last_step", INTEGER, "", "last step printed"),
    INQ_KEY("restarts", INTEGER, "", "how often the count of steps goes back"),
    INQ_KEY_NULL("loss_first", NUMBER, "", "first loss", "no finite loss"),
    INQ_KEY_NULL("loss_least", NUMBER, "", "least loss", "no finite loss"),
    INQ_KEY_NULL("loss_last", NUMBER, "", "last loss", "no finite loss"),
    INQ_KEY_NULL("step_s_median", NUMBER, "s", "time of a row", "not printed"),
    INQ_KEY_NULL("throughput_median", NUMBER, "", "as printed, in the log's unit", "not printed"),
    INQ_KEY_OF("events", OBJECTS, "what went wrong, in the order of steps", event_keys),
    INQ_KEY("events_left_out", INTEGER, "", "limit: further ones, which weigh least"),
    INQ_KEYS_END,
};

static const struct inq_key evidence_keys[] = {
    INQ_KEY_NULL("rank", INTEGER, "", "global rank number", "of no single rank"),
    INQ_KEY_NULL("lane", TEXT, "", "stream, thread or lane", "of none"),
    INQ_KEY_NULL("start_ns", INTEGER, "ns", "on the aligned clock", "not a time range"),
    INQ_KEY_NULL("end_ns", INTEGER, "ns", "on the aligned clock", "not a time range"),
    INQ_KEY_NULL("what", TEXT, "", "in words", INQ_NULL_NONE),
    INQ_KEYS_END,
};

#define FINDING_KEY(name, key, about, fix, advice) key "|"

static const struct inq_key finding_keys[] = {
    INQ_KEY("id", TEXT, "", "stable: the kind and its subject, slow_gpu:rank2"),
    INQ_KEY_WORDS("kind", "what was found", INQ_FINDING_KINDS(FINDING_KEY)),
    INQ_KEY_WORDS("severity",
                  "by the share of a known cost, or of gain_in_order_ns or gain_joint_ns where "
                  "that is more; see inquest-report(5)",
                  INQ_WORDS_SEVERITY),
    INQ_KEY_WORDS("confidence", "how sure it is", INQ_WORDS_CONFIDENCE),
    INQ_KEY_NULL("title", TEXT, "", "one line", INQ_NULL_NONE),
    INQ_KEY_NULL("detail", TEXT, "", "what was measured, in sentences", INQ_NULL_NONE),
    INQ_KEY_NULL("advice", TEXT, "", "what to do", INQ_NULL_NONE),
    INQ_KEY("ranks", INTEGERS, "", "ranks that it names"),
    INQ_KEY("stages", INTEGERS, "", "pipeline stages that it names"),
    INQ_KEY_NULL("cost_ns_per_step", INTEGER, "ns",
                 "what a step gains by the first of fixes, as predicted, mean over the judged "
                 "steps; where nothing can be simulated, what the others waited, as measured",
                 "neither is known"),
    INQ_KEY_NULL("share", NUMBER, "1",
                 "cost_ns_per_step over account.t_ns (of an op table over whatif.t_ns); without a "
                 "cost the share of the rank-time that it is about",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("measured", TEXT, "", "with unit", "does not apply"),
    INQ_KEY_NULL("expected", TEXT, "", "with unit", "does not apply"),
    INQ_KEY_OF("evidence", OBJECTS, "where to look", evidence_keys),
    INQ_KEY("fixes", TEXTS, "", "specs for inquest fix --fix"),
    INQ_KEYS_END,
};

/* ---- account and steps ----------------------------------------------------------------------- */

static const struct inq_key set_aside_keys[] = {
    INQ_KEY("step", INTEGER, "", "its number"),
    INQ_KEY("why", TEXT, "", "why it is not judged"),
    INQ_KEYS_END,
};

static const struct inq_key account_steps_keys[] = {
    INQ_KEY("judged", INTEGER, "", "steps in the account"),
    INQ_KEY("ranks", INTEGER, "", "ranks in the account"),
    INQ_KEY("inferred", BOOLEAN, "", "steps were inferred from repetition"),
    INQ_KEY_IF("one_interval", TEXT, "", "why there are no steps", "there are steps"),
    INQ_KEY_OF("set_aside", OBJECTS, "steps that are not judged", set_aside_keys),
    INQ_KEYS_END,
};

static const struct inq_key part_keys[] = {
    INQ_KEY("what", TEXT, "", "kernel, collective, rank waited for, ..."),
    INQ_KEY("ns", INTEGER, "ns", "per rank and judged step"),
    INQ_KEY("total_ns", INTEGER, "ns", "rank-time"),
    INQ_KEYS_END,
};

static const struct inq_key class_keys[] = {
    INQ_KEY_WORDS("class", "as in inquest-report(5), Account", INQ_ACCOUNT_CLASSES(INQ_KEY_WORD_3)),
    INQ_KEY("ns", INTEGER, "ns", "per rank and judged step; all sum to t_ns"),
    INQ_KEY_NULL("share", NUMBER, "1", "of rank-time", "nothing is judged"),
    INQ_KEY("total_ns", INTEGER, "ns", "rank-time; all sum to rank_time_ns"),
    INQ_KEY_OF("parts", OBJECTS, "what it consists of, most first", part_keys),
    INQ_KEYS_END,
};

static const struct inq_key cause_keys[] = {
    INQ_KEY("id", TEXT, "", "as of the finding"),
    INQ_KEY("cause", TEXT, "", "in words"),
    INQ_KEY("ranks", INTEGERS, "", "ranks that it names"),
    INQ_KEY("hosts", TEXTS, "", "hosts that it names"),
    INQ_KEY("stages", INTEGERS, "", "pipeline stages that it names"),
    INQ_KEY_NULL("ns", INTEGER, "ns", "waiting that it causes, per rank and judged step",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("gain_alone_ns", INTEGER, "ns", "what a step gains by its repair alone",
                 "not simulated"),
    INQ_KEY_NULL("gain_in_order_ns", INTEGER, "ns", "what it gains after all causes before it",
                 "not simulated"),
    INQ_KEY_NULL("gain_joint_ns", INTEGER, "ns",
                 "where it gains hardly anything alone: what its repair gains with that of the "
                 "first cause that it hides",
                 "it hides none"),
    INQ_KEY_NULL("gain_interval_ns", INTEGERS, "ns", "95 % interval of gain_alone_ns",
                 "fewer than two steps"),
    INQ_KEY("overlaps", TEXTS, "", "ids of causes whose gain is partly the same"),
    INQ_KEY_WORDS("confidence", "how sure it is", INQ_WORDS_CONFIDENCE),
    INQ_KEY_NULL("fix", TEXT, "", "spec for inquest fix --fix", INQ_NULL_NONE),
    INQ_KEYS_END,
};

static const struct inq_key account_keys[] = {
    INQ_KEY("t_ns", INTEGER, "ns", "rank-time per rank and judged step: the denominator of shares"),
    INQ_KEY("rank_time_ns", INTEGER, "ns", "sum over the judged (rank, step) cells"),
    INQ_KEY_OF("steps", OBJECT, "what is judged", account_steps_keys),
    INQ_KEY_OF("classes", OBJECTS, "where it goes; each nanosecond is in one", class_keys),
    INQ_KEY_NULL("looks_like_communication", TEXT, "",
                 "unclassified kernels whose names may mean communication", INQ_NULL_NONE),
    INQ_KEY_OF("causes", OBJECTS, "of waiting, most gain first", cause_keys),
    INQ_KEY_NULL("unexplained_wait_ns", INTEGER, "ns", "waiting that no cause has",
                 INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("ideal_ns", INTEGER, "ns", "t_ns with all causes repaired", "not simulated"),
    INQ_KEY_NULL("residual_ns", INTEGER, "ns", "t_ns less the gains in order less ideal_ns",
                 "not simulated"),
    INQ_KEY_NULL("base_error", NUMBER, "1", "simulated base against t_ns", "not simulated"),
    INQ_KEY_NULL("gains_problem", TEXT, "", "why gains are not known", "they are"),
    INQ_KEY("withheld", TEXTS, "", "what breaks a rule of the account and is left out"),
    INQ_KEYS_END,
};

static const struct inq_key step_keys[] = {
    INQ_KEY("step", INTEGER, "", "its number"),
    INQ_KEY("start_ns", INTEGER, "ns", "on the aligned clock"),
    INQ_KEY_NULL("dur_ns", INTEGER, "ns", "its length", INQ_NULL_NOT_MEASURED),
    INQ_KEYS_END,
};

/* ---- ranks and collectives ------------------------------------------------------------------- */

static const struct inq_key idle_keys[] = {
    INQ_KEY("host_ns", INTEGER, "ns", "gaps whose launch came after they had begun"),
    INQ_KEY("kernel_ns", INTEGER, "ns", "gaps under 30 us, launched in time"),
    INQ_KEY("other_ns", INTEGER, "ns", "other gaps"),
    INQ_KEY("host_late_ns", INTEGER, "ns", "launch less begin of the gap, summed"),
    INQ_KEY("host_gaps", INTEGER, "", "gaps that the host causes"),
    INQ_KEYS_END,
};

static const struct inq_key rank_keys[] = {
    INQ_KEY_NULL("rank", INTEGER, "", "global rank number", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("label", TEXT, "", "what tells a rank without number apart", INQ_NULL_NONE),
    INQ_KEY_NULL("stage", INTEGER, "", "pipeline stage", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("dp_rank", INTEGER, "", "data-parallel replica", INQ_NULL_NOT_KNOWN),
    INQ_KEY("span_ns", INTEGER, "ns",
            "first start to last end of its GPU work; of a reduced rank without steps that "
            "have no rows"),
    INQ_KEY("compute_ns", INTEGER, "ns", "kernels that do not communicate"),
    INQ_KEY("exposed_comm_ns", INTEGER, "ns", "communication that no compute covers"),
    INQ_KEY("exposed_memcpy_ns", INTEGER, "ns", "copies that neither covers"),
    INQ_KEY("idle_ns", INTEGER, "ns", "the rest of the span"),
    INQ_KEY("comm_ns", INTEGER, "ns", "communication"),
    INQ_KEY("comm_overlap_ns", INTEGER, "ns", "communication that compute covers"),
    INQ_KEY_NULL("overlap_pct", NUMBER, "%", "100 comm_overlap_ns / comm_ns", "no communication"),
    INQ_KEY_OF_NULL("idle", OBJECT, "idle_ns by cause", "launches were not recorded", idle_keys),
    INQ_KEYS_END,
};

static const struct inq_key wait_keys[] = {
    INQ_KEY_NULL("rank", INTEGER, "", "who waits", INQ_NULL_NOT_KNOWN),
    INQ_KEY("wait_ns", INTEGER, "ns", "waiting for the last member, summed"),
    INQ_KEY("last_arrivals", INTEGER, "", "collectives that it comes to last"),
    INQ_KEY("first_arrivals", INTEGER, "", "collectives that it comes to first"),
    INQ_KEY("collectives", INTEGER, "", "collectives that it is in"),
    INQ_KEYS_END,
};

#define GROUP_KEYS                                                                                 \
    INQ_KEY_NULL("group", TEXT, "", "process group", INQ_NULL_NOT_KNOWN),                          \
        INQ_KEY_NULL_IF("group_desc", TEXT, "", "its description", INQ_NULL_NONE,                  \
                        "the group is not known"),                                                 \
        INQ_KEY_IF("group_ranks", INTEGERS, "", "its members", "the group is not known")

static const struct inq_key by_op_keys[] = {
    INQ_KEY("op", TEXT, "", "all_reduce, send_recv, ..."),
    GROUP_KEYS,
    INQ_KEY_NULL("group_size", INTEGER, "", "members of the group", INQ_NULL_NOT_KNOWN),
    INQ_KEY("count", INTEGER, "", "operations"),
    INQ_KEY_NULL("bytes", INTEGER, "bytes", "size S of nccl-tests, median", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("algorithm", TEXT, "", "NCCL's algorithm and protocol that most ran with",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("channels", INTEGER, "", "of NCCL, median", INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("transfer_ns_median", INTEGER, "ns", "own end less last arrival",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("skew_ns_median", INTEGER, "ns", "last less first arrival", INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("wait_ns", INTEGER, "ns", "waiting of all members, summed", INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("algbw_gbps", NUMBER, "GB/s", "S / transfer, as nccl-tests define it",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("busbw_gbps", NUMBER, "GB/s", "algbw times the factor of nccl-tests",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEYS_END,
};

static const struct inq_key worst_keys[] = {
    INQ_KEY("op", TEXT, "", "all_reduce, send_recv, ..."),
    GROUP_KEYS,
    INQ_KEY("seq", INTEGER, "", "number in its group"),
    INQ_KEY("members", INTEGER, "", "members present"),
    INQ_KEY("complete", BOOLEAN, "", "every rank of the group that left a trace is there"),
    INQ_KEY_NULL("last_rank", INTEGER, "", "the rank that arrived last", INQ_NULL_NOT_KNOWN),
    INQ_KEY("start_ns", INTEGER, "ns", "first arrival, on the aligned clock"),
    INQ_KEY("end_ns", INTEGER, "ns", "last end, on the aligned clock"),
    INQ_KEY("skew_ns", INTEGER, "ns", "last less first arrival"),
    INQ_KEY("wait_ns", INTEGER, "ns", "waiting of all members, summed"),
    INQ_KEY("transfer_ns", INTEGER, "ns", "own end less last arrival, median of the members"),
    INQ_KEYS_END,
};

static const struct inq_key collectives_keys[] = {
    INQ_KEY("matched", INTEGER, "", "collectives matched across ranks"),
    INQ_KEY("unmatched", INTEGER, "", "communication events without a match"),
    INQ_KEY_NULL("ends_spread_ns_max", INTEGER, "ns",
                 "largest less smallest end of a collective, the worst, after alignment",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("raw_ends_spread_ns_max", INTEGER, "ns", "the same before alignment",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_OF("waits", OBJECTS, "by rank", wait_keys),
    INQ_KEY_OF("by_op", OBJECTS, "by kind, group and size", by_op_keys),
    INQ_KEY_OF("worst", OBJECTS, "those with most waiting", worst_keys),
    INQ_KEYS_END,
};

/* ---- pipeline, what-if, critical path -------------------------------------------------------- */

static const struct inq_key waterfall_keys[] = {
    INQ_KEY("cause", TEXT, "", "as in inquest-report(5), Pipeline"),
    INQ_KEY("ns_per_step", INTEGER, "ns",
            "by how much a step gets shorter without it; negative: longer"),
    INQ_KEYS_END,
};

static const struct inq_key stage_keys[] = {
    INQ_KEY("stage", INTEGER, "", "its number"),
    INQ_KEY("forward_ns", INTEGER, "ns", "forward, per step"),
    INQ_KEY("backward_ns", INTEGER, "ns", "backward, per step"),
    INQ_KEY("busy_ns", INTEGER, "ns", "either, per step"),
    INQ_KEY("bubble_ns", INTEGER, "ns", "the rest of the pipeline's span"),
    INQ_KEY("compute_ns", INTEGER, "ns", "compute, per step"),
    INQ_KEY("p2p_ns", INTEGER, "ns", "sends and receives, per step"),
    INQ_KEY("sync_ns", INTEGER, "ns", "gradient sync and parameter gather, per step"),
    INQ_KEY("other_ns", INTEGER, "ns", "other work, per step"),
    INQ_KEY("idle_ns", INTEGER, "ns", "no work, per step"),
    INQ_KEYS_END,
};

static const struct inq_key pipeline_step_keys[] = {
    INQ_KEY("step", INTEGER, "", "its number"),
    INQ_KEY("dur_ns", INTEGER, "ns", "its length"),
    INQ_KEY_NULL("bubble_ratio", NUMBER, "1", "of this step", INQ_NULL_NOT_MEASURED),
    INQ_KEY("warm_up", BOOLEAN, "", "left out of the means"),
    INQ_KEY_NULL("parts_ns", INTEGERS, "ns", "of this step, in the order of waterfall",
                 "not simulated"),
    INQ_KEYS_END,
};

static const struct inq_key pipeline_keys[] = {
    INQ_KEY("schedule", TEXT, "", "name of the schedule that its order keeps best"),
    INQ_KEY_NULL("confidence", NUMBER, "1", "share of the order that it keeps",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY("source", TEXT, "", "what told the pipeline: labels, annotations, transfers"),
    INQ_KEY_NULL("stages", INTEGER, "", "pipeline stages", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("microbatches", INTEGER, "", "per step", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("chunks", INTEGER, "", "model chunks per rank", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("replicas", INTEGER, "", "data-parallel copies", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("bubble_ratio", NUMBER, "1", "idle share of the pipeline's span",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("bubble_ratio_theory", NUMBER, "1", "of the same schedule with equal ops",
                 INQ_NULL_NOT_KNOWN),
    INQ_KEY("total_ns_per_step", INTEGER, "ns", "mean recorded step"),
    INQ_KEY_OF("waterfall", OBJECTS, "causes taken away one after the other; they sum to the step",
               waterfall_keys),
    INQ_KEY_OF("per_stage", OBJECTS, "means over replicas and steps", stage_keys),
    INQ_KEY_OF("steps", OBJECTS, "those in the model", pipeline_step_keys),
    INQ_KEY("dropped_steps", INTEGER, "", "steps whose ops differ: not in the model"),
    INQ_KEYS_END,
};

static const struct inq_key worker_keys[] = {
    INQ_KEY("name", TEXT, "", "stage and replica"),
    INQ_KEY_NULL("rank", INTEGER, "", "global rank number", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("stage", INTEGER, "", "pipeline stage", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("dp_rank", INTEGER, "", "data-parallel replica", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("slowdown", NUMBER, "1", "of its DP rank or its stage, the lesser",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEYS_END,
};

static const struct inq_key whatif_step_keys[] = {
    INQ_KEY("step", INTEGER, "", "its number"),
    INQ_KEY_NULL("recorded_ns", INTEGER, "ns", "as recorded", INQ_NULL_NOT_MEASURED),
    INQ_KEY("t_ns", INTEGER, "ns", "T of this step"),
    INQ_KEY("t_ideal_ns", INTEGER, "ns", "T_ideal of this step"),
    INQ_KEY_NULL("slowdown", NUMBER, "1", "T / T_ideal", INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("launch_slowdown", NUMBER, "1", "with launch delays over without",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEYS_END,
};

static const struct inq_key whatif_cause_keys[] = {
    INQ_KEY("kind", TEXT, "", "kind of finding"),
    INQ_KEY("what", TEXT, "", "in words"),
    INQ_KEY_NULL("share", NUMBER, "1", "of T - T_ideal that is gone without it",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY("saved_ns", INTEGER, "ns", "by how much a step gets shorter without it"),
    INQ_KEY("fits", BOOLEAN, "", "it explains the slowdown"),
    INQ_KEY_NULL("stage", INTEGER, "", "pipeline stage", "of none"),
    INQ_KEY_NULL("dp_rank", INTEGER, "", "data-parallel replica", "of none"),
    INQ_KEY_NULL("rank", INTEGER, "", "global rank number", "of none"),
    INQ_KEYS_END,
};

static const struct inq_key scenario_keys[] = {
    INQ_KEY("spec", TEXT, "", "as --what-if has it"),
    INQ_KEY_NULL("problem", TEXT, "", "why there is no answer", "there is one"),
    INQ_KEY_NULL("t_ns", INTEGER, "ns", "the step then", "no answer"),
    INQ_KEY_NULL("speedup", NUMBER, "1", "T over it", "no answer"),
    INQ_KEYS_END,
};

static const struct inq_key whatif_keys[] = {
    INQ_KEY("t_ns", INTEGER, "ns", "T: mean simulated step, recorded durations, no launch delays"),
    INQ_KEY("t_ideal_ns", INTEGER, "ns", "T_ideal: the same with ops of a type equally long"),
    INQ_KEY_NULL("recorded_ns", INTEGER, "ns", "mean recorded step", INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("replayed_ns", INTEGER, "ns", "mean simulated step with launch delays",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("slowdown", NUMBER, "1", "T / T_ideal", INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("launch_slowdown", NUMBER, "1", "with launch delays over without",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY("by_op_type", MAP_OF_NUMBERS, "1", "slowdown of each op type"),
    INQ_KEY("by_stage", MAP_OF_NUMBERS, "1", "slowdown of each stage, by number"),
    INQ_KEY("by_dp_rank", MAP_OF_NUMBERS, "1", "slowdown of each replica, by number"),
    INQ_KEY_OF("by_worker", OBJECTS, "slowdown of each (stage, replica)", worker_keys),
    INQ_KEY_OF("by_step", OBJECTS, "of each step", whatif_step_keys),
    INQ_KEY_NULL("m_w", NUMBER, "1", "share of T - T_ideal that the slowest 3 % of workers have",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("m_s", NUMBER, "1", "share of T - T_ideal that the last stage has",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("forward_backward_correlation", NUMBER, "1",
                 "of forward and backward times of a micro-batch: high with uneven sequences",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_OF("causes", OBJECTS, "of the slowdown", whatif_cause_keys),
    INQ_KEY_OF_IF("scenarios", OBJECTS, "answers to --what-if", "nothing was asked", scenario_keys),
    INQ_KEY("dropped_steps", INTEGER, "", "steps whose ops differ: not in the model"),
    INQ_KEYS_END,
};

static const struct inq_key path_rank_keys[] = {
    INQ_KEY_NULL("rank", INTEGER, "", "global rank number", INQ_NULL_NOT_KNOWN),
    INQ_KEY("on_path_ns", INTEGER, "ns", "its part of the path"),
    INQ_KEY_NULL("slack_ns_min", INTEGER, "ns",
                 "by how much its ops could end later before the step gets longer, least",
                 "no ops"),
    INQ_KEY_NULL("slack_ns_median", INTEGER, "ns", "the same, median", "no ops"),
    INQ_KEYS_END,
};

static const struct inq_key segment_keys[] = {
    INQ_KEY_NULL("rank", INTEGER, "", "global rank number", "between ranks"),
    INQ_KEY("kind", TEXT, "", "compute, transfer, copy, launch, host or gap"),
    INQ_KEY("what", TEXT, "", "name of the op, or what the gap waits for"),
    INQ_KEY("start_ns", INTEGER, "ns", "on the aligned clock"),
    INQ_KEY("end_ns", INTEGER, "ns", "on the aligned clock"),
    INQ_KEYS_END,
};

static const struct inq_key path_keys[] = {
    INQ_KEY_NULL("step", INTEGER, "", "the step of median length", "there are no steps"),
    INQ_KEY("start_ns", INTEGER, "ns", "of it, on the aligned clock"),
    INQ_KEY(
        "contradictions", INTEGER, "",
        "dependencies that were cut because by the record ops wait in a circle: those concluded "
        "from times first, then members of matched transfers, then recorded ones; a verdict is "
        "not established then"),
    INQ_KEY("length_ns", INTEGER, "ns", "sum of the segments, with those left out"),
    INQ_KEY("by_kind", MAP_OF_INTEGERS, "ns", "compute, transfer, copy, launch, host, gap"),
    INQ_KEY_IF("by_stage", MAP_OF_INTEGERS, "ns", "by number of the stage", "not a pipeline"),
    INQ_KEY_OF("by_rank", OBJECTS, "of each rank", path_rank_keys),
    INQ_KEY_OF("segments", OBJECTS, "the longest first, at most 1000", segment_keys),
    INQ_KEY("segments_left_out", INTEGER, "", "limit: shorter ones, past 1000"),
    INQ_KEY("segments_left_out_ns", INTEGER, "ns", "their length in all"),
    INQ_KEYS_END,
};

/* ---- the documents --------------------------------------------------------------------------- */

#define SECTION(key, kind, what, list)                                                             \
    INQ_KEY_SECTION(key, kind, what, "does not apply, or not asked for", list)

static const struct inq_key report_keys[] = {
    INQ_KEY_SCHEMA("inquest-report/1"),
    INQ_KEY_TOOL,
    INQ_KEY("name", TEXT, "", "name of the job"),
    INQ_KEY_OF_IF("options", OBJECT, OPTIONS_TEXT, "in a set, which has it once", options_keys),
    INQ_KEY_OF("inputs", OBJECT, "what was read", inputs_keys),
    INQ_KEY_OF("verdict", OBJECT, "the answer", verdict_keys),
    SECTION("failure", OBJECT, "what stopped the run, from Flight Recorder dumps and text logs",
            failure_keys),
    SECTION("training", OBJECT, "what the training output in a log reports", training_keys),
    SECTION("account", OBJECT, "where the time of ranks and steps went", account_keys),
    INQ_KEY_OF_IF("steps", OBJECTS, "all steps", "no steps", step_keys),
    INQ_KEY_IF("steps_inferred", BOOLEAN, "", "steps were inferred from repetition", "no steps"),
    INQ_KEY_NULL_IF("step_ns_median", INTEGER, "ns", "median length of the judged steps",
                    INQ_NULL_NOT_MEASURED, "no steps"),
    INQ_KEY_SECTION("blame", OBJECT, "the comparison of the ranks", "it did not fail", NULL),
    SECTION("findings", OBJECTS, "most costly first", finding_keys),
    SECTION("ranks", OBJECTS, "where each rank's GPU time went", rank_keys),
    SECTION("collectives", OBJECT, "communication matched across ranks", collectives_keys),
    SECTION("pipeline", OBJECT, "a pipeline that was recognized", pipeline_keys),
    SECTION("whatif", OBJECT, "what stragglers cost, as in the OSDI'25 study", whatif_keys),
    SECTION("critical_path", OBJECT, "what made the step of median length as long as it was",
            path_keys),
#define APART(section, key, function, keys, what) SECTION(key, OBJECT, what, keys),
    INQ_SECTION_JSON(APART)
#undef APART
        INQ_KEYS_END,
};

const struct inq_contract inq_contract_report = {
    "inquest-report/1", "inquest analyze -f json, of one job", report_keys};

static const struct inq_key report_set_keys[] = {
    INQ_KEY_SCHEMA("inquest-report-set/1"),
    INQ_KEY_TOOL,
    INQ_KEY_OF("options", OBJECT, OPTIONS_TEXT, options_keys),
    SKIPPED,
    INQ_KEY_OF("runs", OBJECTS, "one report per job", report_keys),
    INQ_KEYS_END,
};

const struct inq_contract inq_contract_report_set = {
    "inquest-report-set/1", "inquest analyze -f json, of several jobs", report_set_keys};

/* ---- info ------------------------------------------------------------------------------------ */

static const struct inq_key info_steps_keys[] = {
    INQ_KEY("count", INTEGER, "", "steps"),
    INQ_KEY_IF("inferred", BOOLEAN, "", "inferred from repetition", "no steps"),
    INQ_KEY_IF("first", INTEGER, "", "number of the first", "no steps"),
    INQ_KEY_IF("last", INTEGER, "", "number of the last", "no steps"),
    INQ_KEYS_END,
};

static const struct inq_key info_collectives_keys[] = {
    INQ_KEY("matched", INTEGER, "", "collectives matched across ranks"),
    INQ_KEY("unmatched", INTEGER, "", "communication events without a match"),
    INQ_KEYS_END,
};

static const struct inq_key info_rank_keys[] = {
    INQ_KEY_NULL("rank", INTEGER, "", "global rank number", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("label", TEXT, "", "what tells a rank without number apart", INQ_NULL_NONE),
    INQ_KEY_NULL("path", TEXT, "", "its file", INQ_NULL_NONE),
    INQ_KEY_NULL("stage", INTEGER, "", "pipeline stage", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("dp_rank", INTEGER, "", "data-parallel replica", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("host", TEXT, "", "name of the host", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("device", TEXT, "", "name of the GPU", INQ_NULL_NOT_KNOWN),
    INQ_KEY("steps", INTEGER, "", "steps that it has"),
    INQ_KEY("gpu_events", INTEGER, "", "kernels, copies, sets and ops"),
    INQ_KEY("lanes", INTEGER, "", "streams or lanes"),
    INQ_KEY_NULL("start_ns", INTEGER, "ns", "first event, on the aligned clock", "no event"),
    INQ_KEY_NULL("end_ns", INTEGER, "ns", "last event", "no event"),
    INQ_KEYS_END,
};

static const struct inq_key job_keys[] = {
    INQ_KEY("name", TEXT, "", "of the job"),
    RANK_LISTS,
    INQ_KEY_NULL("start_ns", INTEGER, "ns", "first event, on the aligned clock", "no event"),
    INQ_KEY_NULL("end_ns", INTEGER, "ns", "last event", "no event"),
    INQ_KEY_OF("steps", OBJECT, "steps recorded", info_steps_keys),
    INQ_KEY_OF("collectives", OBJECT, "collectives", info_collectives_keys),
    INQ_KEY_OF("ranks", OBJECTS, "ranks that are there", info_rank_keys),
    CLOCKS,
    FILES,
    INQ_KEYS_END,
};

static const struct inq_key info_keys[] = {
    INQ_KEY_SCHEMA("inquest-info/1"),
    INQ_KEY_TOOL,
    INQ_KEY_OF("jobs", OBJECTS, "jobs that were found", job_keys),
    SKIPPED,
    INQ_KEYS_END,
};

const struct inq_contract inq_contract_info = {"inquest-info/1", "inquest info -f json", info_keys};
