/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the CSV of a schedule: linted, timed and lowered; what was read is written as bytes
 * that read back to the same. */
#include "inquest/lint.h"

#include "base/out.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* More than enough for every rule, and quick. */
static const size_t MOST_ACTIONS = 2000;

static void write_out(const struct inq_schedule *schedule, struct inq_out *out)
{
    struct inq_sink sink = inq_out_sink(out);
    if (inq_schedule_write_csv(schedule, sink, NULL) != INQ_OK) {
        abort();
    }
}

static void write_and_read(const struct inq_schedule *schedule)
{
    struct inq_schedule again;
    struct inq_csv_info info;
    struct inq_out first = {0};
    struct inq_out second = {0};
    write_out(schedule, &first);
    if (inq_schedule_read_csv(first.buf, first.len, INQ_CSV_CURRENT, &again, &info, NULL) !=
        INQ_OK) {
        abort();
    }
    write_out(&again, &second);
    if (first.len != second.len || memcmp(first.buf, second.buf, first.len) != 0) {
        abort();
    }
    inq_schedule_release(&again);
    inq_out_release(&first);
    inq_out_release(&second);
}

static void lint(const struct inq_schedule *schedule, const struct inq_csv_info *info)
{
    struct inq_lint result = {0};
    struct inq_lint_options options = {.costs = {.stage = {3, 2, 1}, .p2p_ns = 1}};
    for (int grouping = INQ_GROUPING_ADJACENT; grouping <= INQ_GROUPING_STEP; grouping++) {
        options.grouping = (enum inq_grouping)grouping;
        if (inq_lint_schedule(schedule, info, &options, &result, NULL) == INQ_OK) {
            inq_lint_release(&result);
        }
    }
}

static void run(const struct inq_schedule *schedule)
{
    const struct inq_costs costs = {.stage = {3, 2, 1}, .p2p_ns = 1};
    struct inq_schedule_timing timing = {0};
    struct inq_schedule lowered;
    if (inq_schedule_time(schedule, &costs, &timing, NULL) == INQ_OK) {
        inq_schedule_timing_release(&timing, schedule->n_ranks);
    }
    if (inq_schedule_lower(schedule, &lowered, NULL) == INQ_OK) {
        inq_schedule_release(&lowered);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct inq_schedule schedule;
    struct inq_csv_info info;
    size_t actions = 0;
    if (inq_schedule_read_csv((const char *)bytes, n, INQ_CSV_DETECT, &schedule, &info, NULL) ==
        INQ_OK) {
        for (int32_t r = 0; r < schedule.n_ranks; r++) {
            actions += schedule.ranks[r].n;
        }
        write_and_read(&schedule);
        if (actions < MOST_ACTIONS && schedule.n_stages < (int32_t)MOST_ACTIONS) {
            lint(&schedule, &info);
            run(&schedule);
        }
    }
    inq_schedule_release(&schedule);
    return 0;
}
