/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/failure/logs/anchors.h"

int64_t inq_log_signal(int64_t code)
{
    return code < 0 && code > -65 ? -code : code > 128 && code < 193 ? code - 128 : 0;
}

bool inq_log_of_host(enum inq_log_kind kind)
{
    switch ((int)kind) {
    case INQ_LOG_XID:
    case INQ_LOG_FALLEN_OFF:
    case INQ_LOG_GPU_DRIVER:
    case INQ_LOG_SXID:
    case INQ_LOG_KERNEL_OOM:
    case INQ_LOG_SOFT_LOCKUP:
    case INQ_LOG_HUNG_TASK:
    case INQ_LOG_NFS_DOWN:
    case INQ_LOG_NFS_OK:
    case INQ_LOG_LINK_DOWN:
    case INQ_LOG_LINK_UP:
    case INQ_LOG_PCIE_CORRECTED:
    case INQ_LOG_PCIE_FATAL:
    case INQ_LOG_MACHINE_CHECK:
    case INQ_LOG_PANIC:
    case INQ_LOG_SLURM_TIME_LIMIT:
    case INQ_LOG_SLURM_PREEMPTED:
    case INQ_LOG_SLURM_NODE_FAILED:
    case INQ_LOG_SLURM_CANCELLED:
    case INQ_LOG_SLURM_OOM:
    case INQ_LOG_SLURM_EXIT:
    case INQ_LOG_POD_EVICTED:
    case INQ_LOG_EVICTED_MEMORY:
    case INQ_LOG_EVICTED_DISK:
    case INQ_LOG_NODE_LOST:
    case INQ_LOG_AMD_PAGE_FAULT:
    case INQ_LOG_AMD_RESET:
    case INQ_LOG_AMD_MEMORY:
    case INQ_LOG_TIME_LIMIT:
    case INQ_LOG_MEMORY_LIMIT:
    case INQ_LOG_RECLAIMED:
    case INQ_LOG_POD_FAILED:
        return true;
    default:
        return false;
    }
}

bool inq_log_is_end(enum inq_log_kind kind)
{
    return kind == INQ_LOG_EXIT || kind == INQ_LOG_EXIT_ROW || kind == INQ_LOG_SLURM_EXIT;
}
