/* SPDX-License-Identifier: Apache-2.0 */
/* Logs as people paste them into reports: pieces of a console, without labels, cut at either end;
 * and what launchers and libraries put around a failure. */
#include "support_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define WATCHDOG(rank)                                                                             \
    "[E ProcessGroupNCCL.cpp:457] [Rank " rank "] Watchdog caught collective operation timeout: "  \
    "WorkNCCL(SeqNum=771, OpType=ALLREDUCE, NumelIn=640, NumelOut=640, Timeout(ms)=600000) ran "   \
    "for 600035 milliseconds before timing out.\n"
#define DIST_ERROR "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:275, "
#define VLLM       "ERROR 07-10 16:53:50 [core.py:459] "

static void pasted__what_a_library_says_of_itself(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        /* an abort without a word is the watchdog's own */
        {"unknown", "", "hangs in ALLREDUCE 771",
         WATCHDOG("3")
             WATCHDOG("2") "terminate called after throwing an instance of 'std::runtime_error'\n"},
        {"unknown", "", "hangs in ALLREDUCE (rank 3 timed out first)",
         "  what():  [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(OpType="
         "ALLREDUCE, Timeout(ms)=600000) ran for 600030 milliseconds before timing out.\n"
         "terminate called after throwing an instance of 'std::runtime_error'\n"
         "  what():  [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(OpType="
         "ALLREDUCE, Timeout(ms)=600000) ran for 600041 milliseconds before timing out.\n"},
        {"application_error", "", "aborted: vector::_M_range_check",
         TEST_LOG_STEPS "terminate called after throwing an instance of 'std::out_of_range'\n"
                        "  what():  vector::_M_range_check: __n (which is 9) >= size (which is "
                        "8)\n"},
        {"cuda_error", "", "met a CUDA error: NCCL Error 1: unhandled cuda error",
         "Evaluating:   0%|          | 0/12 [00:00<?, ?it/s]\n"
         "terminate called after throwing an instance of 'std::runtime_error'\n"
         "  what():  NCCL Error 1: unhandled cuda error\n"
         "./go.sh: line 9: 2101 Aborted                 (core dumped) python train.py\n"},
        /* NCCL that fails by itself says why in a warning, and accuses no peer */
        {"unknown", "", "NCCL failed on rank 1 at /w/train.py:12 in main: no algorithm",
         "1: n1:41367:41367 [1] enqueue.cc:422 NCCL WARN Error : no algorithm/protocol available\n"
         "1: Traceback (most recent call last):\n1:   File \"/w/train.py\", line 12, in main\n"
         "1: RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1047, internal error, NCCL "
         "version 2.11.4\n"},
        /* NCCL's ranks are those of one communicator, which may be of a group: whoever speaks is
         * known by its label alone */
        {"application_error", "", "Ranks share a GPU, which NCCL does not allow: Duplicate GPU",
         DIST_ERROR "invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.20.5\n"
                    "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"
                    "Last error:\nDuplicate GPU detected : rank 3 and rank 0 both on CUDA device "
                    "f000\n"},
        {"application_error", "5,7", "Ranks share a GPU, which NCCL does not allow: Duplicate GPU",
         "[rank5]: Duplicate GPU detected : rank 1 and rank 3 both on CUDA device f000\n"
         "[rank7]: Duplicate GPU detected : rank 3 and rank 1 both on CUDA device f000\n"},
        {"application_error", "5", "Ranks share a GPU, which NCCL does not allow: Duplicate GPU",
         "n4:31:40 [1] init.cc:894 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on "
         "CUDA device f000\n[rank5]: Traceback (most recent call last):\n[rank5]:   File "
         "\"/w/t.py\", line 2, in f\n[rank5]: " DIST_ERROR "invalid usage, NCCL version 2.20.5\n"},
        /* the line of the error gives way to the exception that says whom it waited for */
        {"unknown", "", "DistStoreError: wait timeout after 300000ms, keys: /broadcast/0/2",
         VLLM "Invocation of collective_rpc method failed\n" VLLM
              "Traceback (most recent call last):\n" VLLM
              "  File \"/opt/lib/python3.11/site-packages/vllm/core.py\", line 6, in call\n" VLLM
              "    return self.run()\n" VLLM "           ^^^^^^^^^^\n" VLLM
              "torch.distributed.DistStoreError: wait timeout after 300000ms, keys: "
              "/broadcast/0/2\n"},
        {"network", "", "The connection to the C10d store has failed",
         "Traceback (most recent call last):\n"
         "  File \"/opt/lib/python3.10/site-packages/torch/x.py\", line 3, in call\n"
         "RuntimeError: Broken pipe\n\nThe above exception was the direct cause of the following "
         "exception:\n\nTraceback (most recent call last):\n"
         "  File \"/opt/lib/python3.10/site-packages/torch/x.py\", line 9, in run\n"
         "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to "
         "the C10d store has failed. See inner exception for details.\n"},
        {"network", "", "RendezvousConnectionError: The connection to the C10d store",
         "[ERROR] 2025-09-13 22:18:26,678 error_handler: {\n  \"message\": {\n"
         "    \"message\": \"RendezvousConnectionError: The connection to the C10d store has "
         "failed.\",\n    \"extraInfo\": {}\n  }\n}\n"},
        {"peer_died", "", "ended first (10.0.7.9)",
         "  File \"/opt/lib/python3.9/site-packages/torch/autograd.py\", line 6, in backward\n"
         "RuntimeError: [/x/gloo/transport/tcp/pair.cc:598] Connection closed by peer "
         "[10.0.7.9]:12717\n"},
        /* two processes in one line */
        {"cuda_error", "", "failed an assertion on the GPU at",
         "Traceback (most recent call last):\n  File \"/w/ppo.py\", line 19, in <module>\n"
         "RuntimeErrorRuntimeError: : CUDA error: device-side assert triggered\n"},
        {"gpu_hardware", "", "failed: uncorrectable ECC error encountered at /x/a.cpp:265",
         "RuntimeError: cuda runtime error (39) : uncorrectable ECC error encountered at "
         "/x/a.cpp:265\n"},
        {"cuda_oom", "", "Tried to allocate 3.20 GiB (GPU 0).",
         "RuntimeError: CUDA out of memory. Tried to allocate 3.20 GiB (GPU 0; 10.76 GiB total "
         "capacity; 3.22 GiB already allocated)\n"},
        {"network", "", "Couldn't find any optimal provider",
         "n4: WARN: Function: find_ofi_provider Line: 543: NET/OFI Couldn't find any optimal "
         "provider\n"},
        {"unknown", "", "the last error that rank 2 tells is \"Attribute arch",
         "[1,2]<stdout>:n0:75:95 [2] graph/xml.h:101 NCCL WARN Attribute arch of node cpu not "
         "found\n[1,2]<stdout>:n0:75:95 [2] NCCL INFO init.cc:1012 -> 3\n"},
        {"cuda_error", "", "aborted on a CUDA error: [FT] CUDA runtime error: operation not",
         "terminate called after throwing an instance of 'std::runtime_error'\n"
         "  what():  [FT] CUDA runtime error: operation not supported x.h:160\n"},
        {"network", "", "Transfers of process 738 on 10.2.0.110 failed: mlx5: n7: got completion",
         "(LLMRayActor pid=738, ip=10.2.0.110) mlx5: n7: got completion with error:\n"
         "(LLMRayActor pid=738, ip=10.2.0.110) 00000000 02005104 0800016a 0001d1d2\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

static void pasted__what_launchers_say(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"application_error", "", "Error while finding module specification for 'trainer.cli'",
         "/opt/py/bin/python: Error while finding module specification for 'trainer.cli' "
         "(ModuleNotFoundError: No module named 'trainer')\n"
         "E0616 02:11:09.117000 1403 torch/distributed/elastic/multiprocessing/api.py:826] failed "
         "(exitcode: 1) local_rank: 0 (pid: 291) of binary: /opt/py/bin/python\n"},
        {"application_error", "", "could not be started: /opt/py/bin/python3: No module named",
         "/opt/py/bin/python3: No module named trainer\n"},
        /* killed while it saved what it had trained */
        {"unknown", "1", "Rank 1 was killed (SIGKILL)",
         "{'train_runtime': 23.5, 'train_steps_per_second': 1.6, 'train_loss': 1.07, 'epoch': "
         "3.0}\n[INFO|trainer.py:3410] 2025-08-23 12:22:35,576 >> Saving model checkpoint to s\n"
         "E0823 12:22:36.795000 1403 torch/distributed/elastic/multiprocessing/api.py:826] failed "
         "(exitcode: -9) local_rank: 1 (pid: 2737) of binary: /opt/py/bin/python\n"},
        {"unknown", "", "Back-off restarting failed container init",
         "  Warning  BackOff  2m49s                 kubelet  Back-off restarting failed container "
         "init in pod llm-worker-0\n"
         "  Normal   Started  2m34s (x3 over 9m31s)  kubelet  Started container init\n"},
        {"unknown", "", "was killed (SIGKILL)",
         "                    \"terminated\": {\n                        \"exitCode\": 137,\n"
         "                        \"reason\": \"Error\"\n"},
        {"application_error", "5",
         "Rank 5 raised KeyError: 'last_optimizer_state' at /w/cli.py:88 in main",
         "Traceback (most recent call last):\n"
         "  File \"/opt/lib/python3.7/site-packages/torch/multiprocessing/spawn.py\", line 119, in "
         "join\n    raise Exception(msg)\nException:\n\n"
         "-- Process 5 terminated with the following error:\nTraceback (most recent call last):\n"
         "  File \"/w/cli.py\", line 88, in main\n    load(path)\n"
         "KeyError: 'last_optimizer_state'\n"},
        {"unknown", "", "A worker died without telling why: process 909",
         "(Runner pid=892) ray::Server.wake_up() (pid=913, ip=10.9.3.18)\n"
         "(Runner pid=892)   File \"/w/server.py\", line 71, in wake_up\n"
         "(Runner pid=892) ray.exceptions.ActorDiedError: The actor died unexpectedly before "
         "finishing this task.\n(Runner pid=892) \tclass_name: WorkerDict\n"
         "(Runner pid=892) \tactor_id: 2611\n(Runner pid=892) \tpid: 909\n"},
        {"application_error", "",
         "Process 585 on 10.1.1.4 raised KeyError: 'w' at /w/sync.py:9 in run",
         "(Actor pid=585, ip=10.1.1.4) (EngineCore pid=586) Traceback (most recent call last):\n"
         "(Actor pid=585, ip=10.1.1.4) (EngineCore pid=586)   File \"/w/sync.py\", line 9, in "
         "run\n(Actor pid=585, ip=10.1.1.4) (EngineCore pid=586) KeyError: 'w'\n"},
        {"cuda_oom", "5", "Rank 5 ran out of GPU memory",
         "{\"ts\": \"2025-03-01T10:00:00Z\", \"rank\": 0, \"level\": \"info\", \"msg\": \"step 40 "
         "loss 2.11\"}\n{\"ts\": \"2025-03-01T10:00:10Z\", \"rank\": 5, \"level\": \"error\", "
         "\"msg\": \"CUDA out of memory. Tried to allocate 1.50 GiB.\"}\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

static void pasted__what_machines_say(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"unknown", "", "by SIGHUP, as when the launcher's terminal or session ends: Received 1",
         "{'loss': 2.0, 'epoch': 1.8}\n 59%|#####8    | 1663/2840 [6:59:31<4:51:53, 14.88s/it]"
         "W1229 16:43:25.650000 1908 torch/distributed/elastic/agent/server/api.py:723] Received "
         "1 death signal, shutting down workers\n"},
        {"numerical_divergence", "", "grad norm: nan",
         " iteration 5426/ 250000 | loss scale: 1.0 | grad norm: nan | number of nan iterations:  "
         " 0 |\n iteration 5427/ 250000 | loss scale: 1.0 | grad norm: nan | number of nan "
         "iterations:   0 |\n"},
        {"host", "0", "Rank 0 on sd6156 was killed",
         "slurmstepd: error: Detected 1 oom_kill event in StepId=781.0. Some of the step tasks "
         "have been OOM Killed.\nsrun: error: sd6156: task 0: Out Of Memory\n"},
        {"host", "0,2", "Ranks 0 and 2 on n4 were killed",
         "0: step: 1 loss: 2.0\n1: step: 1 loss: 2.0\n2: step: 1 loss: 2.0\n"
         "srun: error: n4: tasks 0,2: Out Of Memory\n"},
        {"host", "", "Data loader worker 1642 was killed",
         "RuntimeError: DataLoader worker (pid 1642) is killed by signal: Killed.\n"
         "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=440.batch. Some of your "
         "processes may have been killed by the cgroup out-of-memory handler.\n"},
        {"application_error", "",
         "A data loader worker of a process died: RuntimeError: DataLoader",
         "Traceback (most recent call last):\n"
         "  File \"/opt/lib/python3.8/site-packages/torch/dataloader.py\", line 11, in get\n"
         "    raise RuntimeError('DataLoader worker (pid(s) {}) exited unexpectedly'.format(p))\n"
         "RuntimeError: DataLoader worker (pid(s) 1835) exited unexpectedly\n"},
        {"gpu_hardware", "", "A GPU is lost",
         TEST_LOG_STEPS "slurmstepd: error: NVML: Failed to get usage(15): GPU is lost\n"},
        {"gpu_hardware", "", "GPU 0000:9b:00.0 on gx-2 fell off the bus: NVRM: GPU 0000:9b:00.0",
         "Mar 14 10:02:11 gx-2 kernel: NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.\n"},
        {"gpu_hardware", "", "GPU 0000:02:00.0: GPU is lost",
         "Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.  Reboot the "
         "system to recover this GPU\n"},
        {"host", "", "__init__: OSError: [Errno 28] No space",
         "/opt/lib/joblib/_mp.py:46: UserWarning: [Errno 28] No space left on device.  joblib will "
         "operate in serial mode\nTraceback (most recent call last):\n"
         "  File \"/opt/lib/python3.9/multiprocessing/synchronize.py\", line 57, in __init__\n"
         "OSError: [Errno 28] No space left on device\n"},
        {"host", "",
         "is used up at /w/train.py:12 in main: OSError: [Errno 122] Disk quota exceeded",
         "Traceback (most recent call last):\n  File \"/w/train.py\", line 12, in main\n"
         "OSError: [Errno 122] Disk quota exceeded\n"},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

#define ACL(rank, text)                                                                            \
    TEST_LOG_STEPS "[rank" rank "]: Traceback (most recent call last):\n[rank" rank "]:   File "   \
                   "\"/w/t.py\", line 2, in f\n[rank" rank "]: RuntimeError: " text "\n"

/* CANN's codes say what failed: a kernel, the memory, the driver, a link, or another device. */
static void pasted__what_cann_calls_by_number(void **state)
{
    (void)state;
    static const struct test_log_row rows[] = {
        {"driver_firmware", "2", "The NPU's driver reports an internal error on rank 2",
         ACL("2", "Initialize:NPU function error: aclrtSetDevice(0), error code is 507899")},
        {"driver_firmware", "2", "The NPU's driver reports an internal error on rank 2",
         ACL("2", "NPU error, error code:507899")},
        {"cuda_error", "2", "A kernel of rank 2 failed on the NPU",
         ACL("2", "NPU function error: aclrtSynchronizeStream, error code is 507015")},
        {"gpu_hardware", "2", "The memory of the NPU of rank 2 failed",
         ACL("2", "NPU function error: aclrtSynchronizeStream, error code is 507054")},
        {"gpu_hardware", "2", "The memory of the NPU of rank 2 failed",
         ACL("2", "The HBM multi-bit ECC error is detected.")},
        {"network", "2", "The link from the NPU of rank 2 to another broke",
         ACL("2", "NPU function error: aclrtSynchronizeStream, error code is 507056")},
        {"unknown", "",
         "Rank 2 met a fault in the memory of another NPU, or accessed its own out of",
         ACL("2", "NPU function error: aclrtSynchronizeStream, error code is 507057")},
        {"driver_firmware", "2", "The NPU's runtime reports an error on rank 2",
         ACL("2", "NPU function error: aclrtSynchronizeStream, error code is 507000")},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
}

/* A collector's color or stamp in front of each line of a box, or of a traceback. */
static void pasted__dressed_lines(void **state)
{
    (void)state;
#define AT      "2026-03-14T10:00:22.001Z "
#define C(text) "\x1b[36m" text "\x1b[0m\n"
    static const struct test_log_row rows[] = {
        {"application_error", "3", "Rank 3 on c-11 met a segmentation fault",
         AT "=========================================================\n" AT
            "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n" AT
            "=   RANK 3 PID 9912 RUNNING AT c-11\n" AT
            "=   KILLED BY SIGNAL: 11 (Segmentation fault)\n" AT
            "=========================================================\n"},
        {"application_error", "", "aborted: vector::_M_range_check",
         TEST_LOG_STEPS AT "terminate called after throwing an instance of 'std::out_of_range'\n" AT
                           "  what():  vector::_M_range_check: __n (which is 9)\n"},
        {"application_error", "", "raised google.api_core.exceptions.TooManyRequests: 429 PUT",
         TEST_LOG_STEPS C("Traceback (most recent call last):")
             C("  File \"/w/ckpt.py\", line 33, in save") C("    blob.upload_from_file(f)")
                 C("google.api_core.exceptions.TooManyRequests: 429 PUT https://s.example/up")},
    };
    test_log_rows_say(rows, sizeof rows / sizeof *rows);
#undef AT
#undef C
}

/* Warnings of connections that were tried again, and of Python's own. */
static void pasted__warnings_that_a_run_outlived(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "[W socket.cpp:697] [c10d] The client socket has failed to connect to [::1]:29500 (errno: "
        "111 - Connection refused).\n" TEST_LOG_STEPS,
        "/opt/lib/joblib/_mp.py:46: UserWarning: [Errno 28] No space left on device.  joblib will "
        "operate in serial mode\n" TEST_LOG_STEPS,
        TEST_LOG_STEPS "{'train_runtime': 23.5, 'train_loss': 1.07, 'epoch': 3.0}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct test_log log;
        print_message("%s", texts[i]);
        test_log_text(&log, "train.log", texts[i]);
        assert_null(log.failure);
        test_log_close(&log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pasted__what_a_library_says_of_itself),
        cmocka_unit_test(pasted__what_launchers_say),
        cmocka_unit_test(pasted__what_machines_say),
        cmocka_unit_test(pasted__what_cann_calls_by_number),
        cmocka_unit_test(pasted__dressed_lines),
        cmocka_unit_test(pasted__warnings_that_a_run_outlived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
