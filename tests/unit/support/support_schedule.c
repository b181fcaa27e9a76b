/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's own schedule files. */
#include "support_schedule.h"

#include "support_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

int test_pytorch_schedule(const char *shared, size_t which, struct inq_schedule *schedule,
                          struct inq_csv_info *info, struct inq_err *err)
{
    static const char *const names[TEST_PYTORCH_SCHEDULES] = {
        "schedules/zb1p_2rank_2stagep_compute.csv", "schedules/zb1p_2rank_2stagep_comms.csv"};
    char path[TEST_PATH];
    if (!test_data_path(path, shared, names[which])) {
        skip();
    }
    size_t n;
    char *text = test_slurp(path, &n);
    assert_non_null(text);
    int code = inq_schedule_read_csv(text, n, INQ_CSV_DETECT, schedule, info, err);
    free(text);
    return code;
}
