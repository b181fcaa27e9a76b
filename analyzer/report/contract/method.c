/* SPDX-License-Identifier: Apache-2.0 */
/* What the section `method` holds: numbers of HTA and TraceLens, by their own definitions, units
 * and names. */
#include "report/contract/contract.h"
#include "report/sections/sections.h"

#define OF_HTA                       "--method tracelens"
#define OF_TRACELENS                 "--method hta"
#define HTA_NUMBER(name, unit, what) INQ_KEY_IF(name, NUMBER, unit, what, OF_HTA)
#define TL_NUMBER(key, in, what)                                                                   \
    INQ_KEY_NULL_IF(key, NUMBER, in, what, INQ_NULL_NOT_MEASURED, OF_TRACELENS)

static const struct inq_key hta_stream_keys[] = {
    INQ_KEY("stream", INTEGER, "", "number of the stream"),
    INQ_KEY_NULL("host_wait_us", NUMBER, "us", "idle, waiting for the host", "no such gap"),
    INQ_KEY_NULL("kernel_wait_us", NUMBER, "us", "idle between kernels launched in time",
                 "no such gap"),
    INQ_KEY_NULL("other_us", NUMBER, "us", "idle otherwise", "no such gap"),
    INQ_KEY_NULL("host_wait_ratio", NUMBER, "1", "of the idle time", "no idle time"),
    INQ_KEY_NULL("kernel_wait_ratio", NUMBER, "1", "of the idle time", "no idle time"),
    INQ_KEY_NULL("other_ratio", NUMBER, "1", "of the idle time", "no idle time"),
    INQ_KEYS_END,
};

static const struct inq_key method_rank_keys[] = {
    INQ_KEY_NULL("rank", INTEGER, "", "global rank number", INQ_NULL_NOT_KNOWN),
    INQ_KEY("idle_time_us", NUMBER, "us", "idle"),
    HTA_NUMBER("compute_time_us", "us", "compute"),
    HTA_NUMBER("non_compute_time_us", "us", "neither compute nor idle"),
    HTA_NUMBER("kernel_time_us", "us", "span of the kernels"),
    HTA_NUMBER("idle_time_pctg", "%", "of the span"),
    HTA_NUMBER("compute_time_pctg", "%", "of the span"),
    HTA_NUMBER("non_compute_time_pctg", "%", "of the span"),
    INQ_KEY_NULL_IF("comp_comm_overlap_pctg", NUMBER, "%", "of communication that compute covers",
                    "no communication", OF_HTA),
    INQ_KEY_OF_IF("idle_time_breakdown", OBJECTS, "by stream", OF_HTA, hta_stream_keys),
    TL_NUMBER("computation_time_us", "us", "compute"),
    TL_NUMBER("exposed_comm_time_us", "us", "communication that no compute covers"),
    TL_NUMBER("exposed_memcpy_time_us", "us", "copies that nothing covers"),
    TL_NUMBER("total_time_us", "us", "first start to last end"),
    INQ_KEYS_END,
};

static const struct inq_key hta_kernel_type_keys[] = {
    INQ_KEY("kernel_type", TEXT, "", "COMPUTATION, COMMUNICATION, MEMORY and their overlaps"),
    INQ_KEY("sum_us", NUMBER, "us", "of all ranks"),
    INQ_KEY("percentage", NUMBER, "%", "of all of them"),
    INQ_KEYS_END,
};

static const struct inq_key tl_member_keys[] = {
    INQ_KEY_NULL("rank", INTEGER, "", "global rank number", INQ_NULL_NOT_KNOWN),
    INQ_KEY("ts_us", NUMBER, "us", "start"),
    INQ_KEY("dur_us", NUMBER, "us", "length"),
    INQ_KEY("wait_us", NUMBER, "us", "latest start less own start"),
    INQ_KEYS_END,
};

#define TL_KIND                                                                                    \
    INQ_KEY("process_group", TEXT, "", "name of the group"),                                       \
        INQ_KEY("collective", TEXT, "", "its name"),                                               \
        INQ_KEY("dtype", TEXT, "", "type of elements"),                                            \
        INQ_KEY("in_elems", INTEGER, "", "elements in"),                                           \
        INQ_KEY("group_size", INTEGER, "", "members"),                                             \
        INQ_KEY_NULL("full_mb", NUMBER, "MiB", "size of the message", INQ_NULL_NOT_KNOWN)

static const struct inq_key tl_collective_keys[] = {
    INQ_KEY("id", TEXT, "", "group and number in it"),
    INQ_KEY("process_group_ranks", TEXT, "", "its members"),
    TL_KIND,
    INQ_KEY("out_elems", INTEGER, "", "elements out"),
    INQ_KEY_NULL("in_mb", NUMBER, "MiB", "size in", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("out_mb", NUMBER, "MiB", "size out", INQ_NULL_NOT_KNOWN),
    INQ_KEY("comm_latency_us", NUMBER, "us", "latest start to earliest end"),
    INQ_KEY("skew_in_start_us", NUMBER, "us", "latest less earliest start"),
    INQ_KEY("avg_wait_us", NUMBER, "us", "mean of wait_us"),
    INQ_KEY("skew_in_end_us", NUMBER, "us", "latest less earliest end"),
    INQ_KEY_NULL("earliest_arrival_rank", INTEGER, "", "who starts first", INQ_NULL_NOT_KNOWN),
    INQ_KEY_NULL("algbw_gibps", NUMBER, "GiB/s", "full_mb over comm_latency_us",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("busbw_gibps", NUMBER, "GiB/s", "times the factor of nccl-tests",
                 INQ_NULL_NOT_MEASURED),
    INQ_KEY_OF("members", OBJECTS, "each of them", tl_member_keys),
    INQ_KEYS_END,
};

static const struct inq_key mean_keys[] = {
    INQ_KEY_NULL("mean", NUMBER, "", "mean", INQ_NULL_NOT_MEASURED),
    INQ_KEY_NULL("std", NUMBER, "", "standard deviation", "fewer than two"),
    INQ_KEYS_END,
};

static const struct inq_key tl_summary_keys[] = {
    TL_KIND,
    INQ_KEY_OF("comm_latency_us", OBJECT, "of its collectives, in us", mean_keys),
    INQ_KEY_OF("skew_in_start_us", OBJECT, "of its collectives, in us", mean_keys),
    INQ_KEY_OF("skew_in_end_us", OBJECT, "of its collectives, in us", mean_keys),
    INQ_KEY_OF("algbw_gibps", OBJECT, "of its collectives, in GiB/s", mean_keys),
    INQ_KEY_OF("busbw_gibps", OBJECT, "of its collectives, in GiB/s", mean_keys),
    INQ_KEY("count", INTEGER, "", "collectives"),
    INQ_KEY("total_latency_ms", NUMBER, "ms", "sum of comm_latency_us"),
    INQ_KEYS_END,
};

static const struct inq_key tl_straggler_keys[] = {
    INQ_KEY_NULL("rank", INTEGER, "", "global rank number", INQ_NULL_NOT_KNOWN),
    INQ_KEY("total_wait_us", NUMBER, "us", "sum of its wait_us"),
    INQ_KEY("mean_wait_us", NUMBER, "us", "mean of its wait_us"),
    INQ_KEY("times_last", INTEGER, "", "collectives that it starts last"),
    INQ_KEY("times_first", INTEGER, "", "collectives that it starts first"),
    INQ_KEY("collectives", INTEGER, "", "collectives that it is in"),
    INQ_KEY("last_pct", NUMBER, "%", "times_last of collectives"),
    INQ_KEY("total_dur_us", NUMBER, "us", "sum of its dur_us"),
    INQ_KEYS_END,
};

#define METHOD_ROWS(key, what, other, list) INQ_KEY_OF_IF(key, OBJECTS, what, other, list)

const struct inq_key inq_contract_method_keys[] = {
    INQ_KEY_WORDS("name", "the tool whose numbers follow, by its own definitions and in its units",
                  "hta|tracelens"),
    INQ_KEY_OF("ranks", OBJECTS, "time of each rank", method_rank_keys),
    METHOD_ROWS("kernel_types", "kernels by type", OF_HTA, hta_kernel_type_keys),
    METHOD_ROWS("collectives", "each of them", OF_TRACELENS, tl_collective_keys),
    METHOD_ROWS("summary", "by group, name, type and size", OF_TRACELENS, tl_summary_keys),
    METHOD_ROWS("stragglers", "who starts last", OF_TRACELENS, tl_straggler_keys),
    INQ_KEYS_END,
};
