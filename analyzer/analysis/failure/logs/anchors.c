/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/failure/logs/logs.h"

#include <string.h>

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

/* An exception that wraps what it was raised from says whose connection it was. */
static bool is_wrapper(const struct inq_log_event *e, const struct inq_log_event *other)
{
    return e->kind == INQ_LOG_PYTHON_ERROR && other->kind == INQ_LOG_PYTHON_ERROR &&
           strchr(e->op, '.') != NULL && strchr(other->op, '.') == NULL;
}

/* Whether it says who was lost; an exception's `peer` is where it was raised. */
static bool names_peer(const struct inq_log_event *e)
{
    return e->peer_rank >= 0 || (e->peer[0] != '\0' && e->kind != INQ_LOG_PYTHON_ERROR) ||
           (e->kind == INQ_LOG_WORKER_LOST && e->pid >= 0);
}

const struct inq_attributed_line *inq_log_telling_victim(const struct inq_log_case *c)
{
    const struct inq_attributed_line *best = NULL;
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        const struct inq_log_event *e = mark->event;
        bool counts = mark->means.role == INQ_LOG_VICTIM && !mark->survived &&
                      !inq_log_is_end(e->kind) && strstr(e->op, "ChildFailed") == NULL &&
                      strstr(e->op, "SignalException") == NULL && e->kind != INQ_LOG_NCCL_RESULT;
        bool names = names_peer(e) || e->kind == INQ_LOG_TASK_LOST;
        bool better =
            best == NULL || is_wrapper(e, best->event) || (names && !names_peer(best->event));
        best = counts && better ? mark : best;
    }
    return best;
}

const char *inq_log_ib_status(int64_t code)
{
    static const struct {
        int64_t code;
        const char *what;
    } rows[] = {{4, "local protection error: the fault is on the reporting side"},
                {5, "flushed after an earlier error of the queue pair"},
                {9, "invalid request, as the remote side says"},
                {10, "remote access error"},
                {11, "operation failed on the remote side"},
                {12, "transport retries exhausted: the peer or the link does not answer"},
                {13, "receiver-not-ready retries exhausted: the peer is stuck or gone"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].code == code) {
            return rows[i].what;
        }
    }
    return "failed";
}
