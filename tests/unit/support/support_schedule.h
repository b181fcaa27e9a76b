/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's own schedule files. */
#ifndef INQ_TEST_SUPPORT_SCHEDULE_H
#define INQ_TEST_SUPPORT_SCHEDULE_H

#include "inquest/schedule.h"

#define TEST_PYTORCH_SCHEDULES 2

/* Reads one of them from the folder `shared`; the test is skipped when it is not there. *schedule
 * is the caller's. */
int test_pytorch_schedule(const char *shared, size_t which, struct inq_schedule *schedule,
                          struct inq_csv_info *info, struct inq_err *err);

#endif
