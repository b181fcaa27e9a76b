/* SPDX-License-Identifier: Apache-2.0 */
/* What batch systems, launchers of other worlds, accelerators and services say of an end. */
#include "support_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TRACEBACK "Traceback (most recent call last):\n  File \"/w/t.py\", line 9, in run\n"

static void worlds__batch_systems(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"scheduler", "", "exceeded resource walltime",
         TEST_LOG_STEPS "comment = Job run at Sat Mar 14 at 09:00 on (gx-1:ncpus=8) and exceeded "
                        "resource walltime\n"},
        {"host", "", "beyond the 'PHYSICAL' memory limit",
         TEST_LOG_STEPS "2026-03-14 10:02:21,118 WARN a.b.ContainersMonitorImpl: Container "
                        "[pid=1201,containerID=c_7] is running 212992B beyond the 'PHYSICAL' "
                        "memory limit. Current usage: 32.0 GB of 32 GB. Killing container.\n"},
        {"scheduler", "", "Host EC2 (instance i-0ab12) terminated",
         TEST_LOG_STEPS "statusReason: Host EC2 (instance i-0ab12) terminated.\n"},
        {"scheduler", "", "Slurm could not start the tasks: srun: error: Task launch",
         "srun: error: Task launch for StepId=911.0 failed on node gx-4: Unspecified error\n"
         "srun: error: Application launch failed: Unspecified error\n"},
        {"unknown", "5", "Rank 5 exited with code 1",
         TEST_LOG_STEPS "ERROR:  One or more process (first noticed rank 5) terminated with a "
                        "non-zero exit code of 1\n"},
        {"unknown", "", "was killed (SIGKILL)",
         TEST_LOG_STEPS "UserExceptionMessage: User program failed with exit code 137\n"},
        {"unknown", "", "The run ended with \"failed to run torchrun",
         "Error: failed to run torchrun train.py on 10.0.0.4, exception: bad command\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

static void worlds__launchers(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"application_error", "2", "Rank 2 aborted (SIGABRT)",
         TRACEBACK "RuntimeError: Horovod detected that one or more processes exited with "
                   "non-zero status, thus causing the job to be terminated. The first process to "
                   "do so was:\nProcess name: 2\nExit code: 134\n"},
        {"application_error", "0", "Rank 0 aborted: ",
         TEST_LOG_STEPS "[0]<stderr>:bash: line 1: 35237 Aborted          HOROVOD_RANK=0 python\n"},
        {"application_error", "0", "Rank 0 aborted: pure virtual method called",
         TEST_LOG_STEPS "pure virtual method called\nterminate called without an active exception\n"
                        "E0314 10:05:31.704000 4012 torch/distributed/elastic/multiprocessing/"
                        "api.py:874] failed (exitcode: -6) local_rank: 0 (pid: 3042) of binary: "
                        "/x/python3\n"},
        {"unknown", "", "A worker died without telling why on 10.2.3.19",
         TRACEBACK "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing "
                   "this task.\nThe actor is dead because its owner has died. Owner Id: 01 Owner "
                   "Ip address: 10.2.3.19 Worker exit detail: Owner's node has crashed.\n"},
        {"unknown", "", "A worker died without telling why (Worker proc VllmWorker-1 died",
         "ERROR 07-04 17:35:16 [multiproc_executor.py:140] Worker proc VllmWorker-1 died "
         "unexpectedly, shutting down executor.\n"},
        /* of a logger's traceback, no line is the error */
        {"unknown", "", "raised TimeoutError: RPC call to sample_tokens timed out at",
         "(EngineCore pid=5) ERROR 10-20 03:20:50 [core.py:720] Traceback (most recent call "
         "last):\n(EngineCore pid=5) ERROR 10-20 03:20:50 [core.py:720]   File "
         "\"/opt/lib/python3.11/site-packages/core.py\", "
         "line 7, in run\n(EngineCore pid=5) ERROR 10-20 03:20:50 [core.py:720]     loop()\n"
         "(EngineCore pid=5) ERROR 10-20 03:20:50 [core.py:720] TimeoutError: RPC call to "
         "sample_tokens timed out\n(APIServer pid=4) ERROR 10-20 03:20:51 [async_llm.py:485] "
         "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n"},
        {"peer_died", "3", "Rank 3 was lost",
         "F0314 03:34:25.118 1400 session_support.py:402] Worker failure, exiting: lame workers: "
         "/job:worker/replica:0/task:3\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

/* On one host a local rank is the rank; hosts are told apart by their names, not by how long those
 * are, and without the domain. */
static void worlds__a_local_rank_is_a_rank_on_one_host(void **state)
{
    (void)state;
#define WARNS(host) host ":4011:4102 [0] NCCL WARN Call to connect returned Connection refused\n"
#define ENDED                                                                                      \
    "E0314 10:05:31.704000 4012 torch/distributed/elastic/multiprocessing/api.py:874] failed "     \
    "(exitcode: -6) local_rank: 1 (pid: 3042) of binary: /x/python3\n"
    static const struct {
        const char *text;
        int32_t root;
    } cases[] = {{WARNS("gx-1") WARNS("gx-1") ENDED, 1},
                 {WARNS("gx-1") WARNS("gx-2") ENDED, -1},
                 {WARNS("gx-1") WARNS("gx-10") ENDED, -1},
                 {WARNS("gx-1") WARNS("gx-1.pod.example") ENDED, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_log log;
        test_log_text(&log, "run/train.log", cases[i].text);
        print_message("%s\n%s\n", cases[i].text, log.failure->headline);
        const struct inq_log_event *end = test_log_event(&log, INQ_LOG_EXIT, 0);
        assert_non_null(end);
        assert_int_equal(log.failure->n_roots, cases[i].root >= 0);
        if (cases[i].root >= 0) {
            assert_int_equal(log.failure->root_ranks[0], cases[i].root);
        }
        test_log_close(&log);
    }
}

static void worlds__accelerators_and_fabrics(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"network", "", "can not open network providers",
         "2026:03:14-10:02:40:(955) |CCL_ERROR| atl_ofi_helper.cpp:1204 atl_ofi_prov_init: "
         "fi_scalable_ep(ep)\n fails with ret: -12, strerror: Cannot allocate memory\n"
         "2026:03:14-10:02:40:(955) |CCL_ERROR| atl_ofi_helper.cpp:1635 open_nw_provs: can not "
         "open network providers\n"},
        {"network", "", "LE resources not recovered",
         TEST_LOG_STEPS "libfabric:911:1773::cxi:ep_ctrl:recv_cb():2121<warn> n4: RXC PtlTE "
                        "10:[Fatal] LE resources not recovered during flow control\n"},
        {"gpu_hardware", "", "hung: HW Exception by GPU node-9",
         TEST_LOG_STEPS "HW Exception by GPU node-9 (Agent handle: 0x6313) reason :GPU Hang\n"},
        {"network", "", "failed on gx-3: mlx5_core 0000:5e:00.0: poll_health",
         "Mar 14 10:02:11 gx-3 kernel: mlx5_core 0000:5e:00.0: poll_health:823:(pid 0): device's "
         "health compromised - reached miss count\n"},
        {"driver_firmware", "", "Xid 119",
         "[ 22.275339] NVRM: _kgspLogXid119: ********** GSP Timeout **********\n"
         "[ 22.275357] NVRM: Xid (PCI:0000:83:00): 119, pid=849, name=python, Timeout after 6s of "
         "waiting for RPC response from GPU0 GSP!\n"},
        {"unknown", "", "the last error that a process on gb-1 tells is \"MNNVL (cliqueSize 8)",
         "gb-1:411:411 [0] init.cc:1180 NCCL WARN MNNVL (cliqueSize 8) is available but not "
         "working on some systems\n" TRACEBACK
         "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:77, unhandled system "
         "error, NCCL version 2.26.3\n"},
        /* TensorFlow's letter stands behind a time, and its list below a line */
        {"unknown", "", "Aborting RingReduce with Unavailable: Socket closed",
         TEST_LOG_STEPS "2026-03-14 15:08:13.121241: E tensorflow/core/ring_reducer.cc:369] "
                        "Aborting RingReduce with Unavailable: Socket closed\n"},
        {"application_error", "", "(0) INTERNAL: Nrt::Load failed",
         TRACEBACK "RuntimeError: INTERNAL: From /job:c_localservice/replica:0/task:0:\n"
                   "2 root error(s) found.\n  (0) INTERNAL: Nrt::Load failed on NeuronCores 0\n"},
        {"numerical_divergence", "3", "not finite: Unexpected result nan on rank 3",
         TEST_LOG_STEPS "2026-03-14T10:00:22.123Z ERROR:megatron.core.rerun_state_machine:"
                        "Unexpected result nan on rank 3 at iteration #3 (found NaN in local grad "
                        "norm)\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

/* What a shell reports, and what native code says of its heap and its libraries. */
static void worlds__native_ends(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"unknown", "", "Timed out waiting 1800000ms",
         "terminate called after throwing an instance of 'gloo::TimeoutException'\n"
         "  what():  [gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 1800000ms for "
         "recv operation to complete\nAborted (core dumped)\n"},
        {"application_error", "", "corrupted heap: munmap_chunk(): invalid pointer",
         TEST_LOG_STEPS "munmap_chunk(): invalid pointer\nAborted (core dumped)\n"},
        {"application_error", "", "Could not load library libcudnn_cnn_infer.so.8",
         "Could not load library libcudnn_cnn_infer.so.8. Error: libnvrtc.so: cannot open\n"
         "Aborted (core dumped)\n"},
        {"unknown", "", "Stopped from outside: ./run.sh: line 9: 2101 Terminated",
         TEST_LOG_STEPS "./run.sh: line 9: 2101 Terminated              python train.py\n"},
        {"cuda_oom", "2", "Rank 2 ran out of GPU memory",
         "[rank2]: torch.OutOfMemoryError: XPU out of memory. Tried to allocate 2.00 GiB.\n"},
        {"cuda_oom", "", "ran out of GPU memory",
         TRACEBACK "RuntimeError: MPS backend out of memory (MPS allocated: 17.9 GB). Tried to "
                   "allocate 256.00 MB on private pool.\n"},
        {"cuda_oom", "1", "Rank 1 ran out of device memory",
         "[rank1]: RuntimeError: [Rank:1] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for "
         "size::402653184 (384)MB\n"},
        {"host", "", "A node was lost",
         TRACEBACK "ray.exceptions.RayActorError: The actor died unexpectedly before finishing "
                   "this task.\nThe actor is dead because its node has died. Node Id: 677df2a9\n"},
        /* "DeadlineExceeded" of a request is no limit of the job's time */
        {"application_error", "0", "Rank 0 raised ValueError: status: DeadlineExceeded",
         "[rank0]: ValueError: status: DeadlineExceeded, message: \"Timeout expired\"\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

#define GATHER(rank, pg, in)                                                                       \
    "[rank" rank "]:[E314 10:12:31.110 ProcessGroupNCCL.cpp:632] [Rank " rank                      \
    "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=21, OpType=_ALLGATHER_BASE, " \
    "NumelIn=" in ", NumelOut=64, Timeout(ms)=600000) ran for 600012 milliseconds before timing "  \
    "out.\n[rank" rank "]:[E314 10:12:31.110 ProcessGroupNCCL.cpp:2268] " pg "  failure detected " \
    "by watchdog at work sequence id: 21 PG status: last enqueued work: 21, last completed work: " \
    "20\n"

/* Members of the default group that gather shards of two sizes; of groups without a name, each may
 * have its own. */
static void worlds__sizes_of_shards(void **state)
{
    (void)state;
    struct test_log log;
    test_log_text(&log, "job.out",
                  GATHER("0", "[PG ID 0 PG GUID 0(default_pg) Rank 0]", "32")
                      GATHER("1", "[PG ID 0 PG GUID 0(default_pg) Rank 1]", "16"));
    assert_string_equal(inq_failure_class_text(log.failure->cls), "collective_mismatch");
    test_log_close(&log);
    test_log_text(&log, "job.out", GATHER("0", "", "32") GATHER("1", "", "16"));
    assert_string_not_equal(inq_failure_class_text(log.failure->cls), "collective_mismatch");
    test_log_close(&log);
}

/* Words that are no errors, and a log by its name alone. */
static void worlds__what_is_none(void **state)
{
    (void)state;
    struct test_log log;
    test_log_text(&log, "train.log", TEST_LOG_STEPS "Error: 0.0312\nValidation Error: 0.4\n");
    assert_null(log.failure);
    test_log_close(&log);
    test_log_text(&log, "train.log",
                  TEST_LOG_STEPS "Warning: rpc error: code = DeadlineExceeded, the job retries\n");
    assert_null(log.failure);
    test_log_close(&log);
    test_log_text(&log, "messages.1",
                  "a line\nanother\n03/14/2026|qm|W|job 42.1 exceeded hard wallclock time\n");
    assert_null(log.failure);
    test_log_close(&log);
    test_log_text(&log, "messages",
                  "a line\nanother\n03/14/2026|qm|W|job 42.1 exceeded hard wallclock time\n");
    test_log_expect(&log, "scheduler", "");
    test_log_close(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worlds__batch_systems),
        cmocka_unit_test(worlds__launchers),
        cmocka_unit_test(worlds__a_local_rank_is_a_rank_on_one_host),
        cmocka_unit_test(worlds__accelerators_and_fabrics),
        cmocka_unit_test(worlds__native_ends),
        cmocka_unit_test(worlds__sizes_of_shards),
        cmocka_unit_test(worlds__what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
