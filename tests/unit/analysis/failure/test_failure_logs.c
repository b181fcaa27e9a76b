/* SPDX-License-Identifier: Apache-2.0 */
/* Who is root and who is victim in text logs of failed runs. */
#include "support_log.h"
#include "support_read.h"
#include "support_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A wait of rank `r` in all_reduce `seq`, as PyTorch 2.7 prints it. */
#define TIMED_OUT(r, seq, enq, done)                                                               \
    "[rank" r "]:[E607 17:52:21.812004031 ProcessGroupNCCL.cpp:632] [Rank " r                      \
    "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" seq                         \
    ", OpType=ALLREDUCE, NumelIn=8192, NumelOut=8192, Timeout(ms)=600000) ran for 600012 "         \
    "milliseconds before timing out.\n"                                                            \
    "[rank" r "]:[E607 17:52:21.812204031 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID "            \
    "0(default_pg) Rank " r "]  failure detected by watchdog at work sequence id: " seq            \
    " PG status: last enqueued work: " enq ", last completed work: " done "\n"

/* Its first line alone, of some group. */
#define UNNAMED(r, seq)                                                                            \
    "[rank" r "]:[E ProcessGroupNCCL.cpp:523] [Rank " r                                            \
    "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" seq                         \
    ", OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\n"

/* The same in a group other than that of all ranks: the first line does not name it. */
#define IN_GROUP(r, seq, group)                                                                    \
    "[rank" r "]:[E607 17:52:21.812004031 ProcessGroupNCCL.cpp:632] [Rank " r                      \
    "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" seq                         \
    ", OpType=ALLREDUCE, NumelIn=8192, NumelOut=8192, Timeout(ms)=600000) ran for 600012 "         \
    "milliseconds before timing out.\n"                                                            \
    "[rank" r "]:[E607 17:52:21.812204031 ProcessGroupNCCL.cpp:2268] [PG ID 2 PG GUID " group      \
    " Rank 1]  failure detected by watchdog at work sequence id: " seq                             \
    " PG status: last enqueued work: " seq ", last completed work: 4\n"

/* What a rank that did not time out reports itself. */
#define TOLD_TO_DUMP(r, enq, done)                                                                 \
    "[rank" r "]:[E607 17:52:22.310004031 ProcessGroupNCCL.cpp:1777] [PG ID 0 PG GUID "            \
    "0(default_pg) Rank " r "] Received a dump signal due to a collective timeout from  rank 2 "   \
    "and we will try our best to dump the debug info. Last enqueued NCCL work: " enq               \
    ", last completed NCCL work: " done                                                            \
    ".This is most likely caused by incorrect usages of collectives\n"

#define ABORTED(host, rank, local, code, pid)                                                      \
    "[" local "]:\n  time      : 2025-06-07_17:53:30\n  host      : " host "\n  rank      : " rank \
    " (local_rank: " local ")\n  exitcode  : " code " (pid: " pid                                  \
    ")\n  error_file: <N/A>\n  traceback : Signal\n"

/* A desync report of PyTorch: its head, who lags, who started what. */
#define DESYNC(r, seq)                                                                             \
    "\n\t - [" r "] Timeout at collective: ALLREDUCE, #" seq                                       \
    "\n\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync "      \
    "are:\n"
#define LAGS(r, done, next)                                                                        \
    "\t   - [" r "] finished collective #" done ", but didn't join collective #" next              \
    " (count from 1)\n"
#define SNAPSHOT(seq, first, second)                                                               \
    "\t - Snapshot of ranks' latest states:\n\t   #" seq " started ranks:\n\t     " first          \
    "\n\t     " second "\n"

struct row {
    const char *what;
    const char *cls, *sub, *roots;
    const char *text;
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct test_log log;
        test_log_text(&log, "job.out", rows[i].text);
        print_message("%s\n", rows[i].what);
        test_log_expect(&log, rows[i].cls, rows[i].roots);
        if (rows[i].sub != NULL) {
            assert_non_null(log.failure->subclass);
            assert_string_equal(log.failure->subclass, rows[i].sub);
        }
        assert_true(log.failure->headline[0] != '\0');
        assert_true(log.failure->advice[0] != '\0');
        test_log_close(&log);
    }
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof((rows)[0]))

/* What a rank tells that timed out in some group. */
#define DUMPS_ITSELF(r, enq, done)                                                                 \
    "[rank" r "]:[E607 17:52:21.410004031 ProcessGroupNCCL.cpp:1777] [PG ID 0 PG GUID "            \
    "0(default_pg) Rank " r "] Received a dump signal due to a collective timeout from this "      \
    "local rank and we will try our best to dump the debug info. Last enqueued NCCL work: " enq    \
    ", last completed NCCL work: " done ".This is most likely caused by\n"

/* Those that did not join are roots; those that waited are not, whatever the launcher says. */
static void failure_logs__counters_tell_who_did_not_come(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"dump signals of two ranks that never enqueued it", "cpu_stall", NULL, "0,3",
         TIMED_OUT("1", "78", "80", "77") TIMED_OUT("2", "78", "80", "77") TIMED_OUT(
             "4", "78", "80", "77") TIMED_OUT("5", "78", "79", "77") TOLD_TO_DUMP("0", "77", "77")
             TOLD_TO_DUMP("3", "77", "77") ABORTED("n1", "1", "1", "-6", "501")},
        {"one rank far behind that enqueued and did not finish", "gpu_stall", NULL, "2",
         TIMED_OUT("0", "100", "104", "99") TIMED_OUT("1", "100", "104", "99")
             TIMED_OUT("2", "97", "103", "96") TIMED_OUT("3", "100", "104", "99")},
        {"all wait in the same", "communication_stall", NULL, "",
         TIMED_OUT("0", "9", "9", "8") TIMED_OUT("1", "9", "9", "8") TIMED_OUT("2", "9", "9", "8")},
        {"only one rank tells", "unknown", NULL, "", TIMED_OUT("3", "9", "12", "8")},
        {"two groups that no line names", "unknown", NULL, "",
         UNNAMED("6", "956300") UNNAMED("4", "956300") UNNAMED("4", "1008") UNNAMED("7", "956300")
             UNNAMED("7", "1008")},
        {"one of four is silent", "unknown", NULL, "",
         TIMED_OUT("0", "9", "9", "8") TIMED_OUT("1", "9", "9", "8") TIMED_OUT("3", "9", "9", "8")},
        {"the same, waiting in a flag", "uneven_work", NULL, "1",
         "[rank0]:[E ProcessGroupNCCL.cpp:563] [Rank 0] Watchdog caught collective operation "
         "timeout: WorkNCCL(SeqNum=31, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
         "Timeout(ms)=1800000) ran for 1800012 milliseconds before timing out.\n"
         "[rank2]:[E ProcessGroupNCCL.cpp:1537] [PG 0 Rank 2] Timeout at NCCL work: 31, last "
         "enqueued NCCL work: 31, last completed NCCL work: 30.\n"
         "[rank3]:[E ProcessGroupNCCL.cpp:1537] [PG 0 Rank 3] Timeout at NCCL work: 31, last "
         "enqueued NCCL work: 31, last completed NCCL work: 30.\n"},
        {"PyTorch 2.4: exception at work", "cpu_stall", NULL, "1",
         "[rank0]:[E1118 09:10:11.000000001 ProcessGroupNCCL.cpp:1785] [PG 1 Rank 0] Exception "
         "(either an error or timeout) detected by watchdog at work: 7753, last enqueued NCCL "
         "work: 7755, last completed NCCL work: 7752.\n"
         "[rank1]:[E1118 09:10:12.000000001 ProcessGroupNCCL.cpp:1413] [PG 1 Rank 1] Received a "
         "dump signal due to a collective timeout from  rank 0 and we will try our best to dump "
         "the debug info. Last enqueued NCCL work: 7752, last completed NCCL work: 7752.\n"},
        {"dump signals alone: they wait in one", "communication_stall", NULL, "",
         DUMPS_ITSELF("0", "31", "30") DUMPS_ITSELF("1", "31", "30")},
        {"dump signals alone: one did not join", "cpu_stall", NULL, "1",
         DUMPS_ITSELF("0", "31", "30") TOLD_TO_DUMP("1", "30", "30") DUMPS_ITSELF("2", "31", "30")},
        {"nobody waits on a GPU, but in a barrier on the CPU", "cpu_stall", NULL, "",
         DUMPS_ITSELF("0", "512", "512") TOLD_TO_DUMP(
             "1", "512", "512") "[rank1]: RuntimeError: "
                                "[/src/gloo/transport/tcp/unbound_buffer.cc:81] Timed out "
                                "waiting 600000ms for recv operation to complete\n"},
        {"the same without a word of where", "unknown", NULL, "",
         DUMPS_ITSELF("0", "512", "512") TOLD_TO_DUMP("1", "512", "512")},
        {"two groups, whose lines name them in part: no one is behind", "unknown", NULL, "",
         IN_GROUP("0", "500", "5(tp)") IN_GROUP("1", "500", "5(tp)") IN_GROUP("2", "20", "7(dp)")
             IN_GROUP("3", "20", "7(dp)")},
        {"a line of another group than those that tell their counters", "unknown", NULL, "",
         DUMPS_ITSELF("0", "1261", "1259")
             TOLD_TO_DUMP("1", "1261", "1259") "[rank13]:[E607 17:52:21.812004031 "
                                               "ProcessGroupNCCL.cpp:632] [Rank 5] Watchdog caught "
                                               "collective operation timeout: WorkNCCL(SeqNum=311, "
                                               "OpType=ALLTOALL_BASE, NumelIn=8, "
                                               "NumelOut=8, Timeout(ms)=600000) ran for 600012 "
                                               "milliseconds before timing out.\n"},
        {"told by others to dump", "unknown", NULL, "", TOLD_TO_DUMP("4", "512", "512")},
    };
    CHECK(rows);
}

/* What NCCL warns of in its sockets is the network's, in whatever words; other warnings are not. */
static void failure_logs__warnings_of_the_network(void **state)
{
    (void)state;
#define WARNING(text) "n1:39:39 [3] misc/socket.cc:484 NCCL WARN " text "\n"
    static const struct row rows[] = {
        {"a plugin", "network", NULL, "", WARNING("NET/IB : mlx5_0 went away")},
        {"the bootstrap", "network", NULL, "", WARNING("Bootstrap : no socket was found")},
        {"an interface", "network", NULL, "", WARNING("no usable interface matches eth9")},
        {"a route", "network", NULL, "", WARNING("connect to the peer: No route to host")},
        {"the disk", "unknown", NULL, "", WARNING("could not write the topology file")},
    };
    CHECK(rows);
#undef WARNING
}

/* The op that a GPU is stuck in is its own, not the later one that the others wait in. */
static void failure_logs__the_op_that_a_gpu_is_stuck_in(void **state)
{
    (void)state;
    struct test_log log;
    test_log_text(&log, "train.log",
                  TIMED_OUT("0", "100", "104", "99") TIMED_OUT("1", "100", "104", "99")
                      TIMED_OUT("2", "97", "103", "96"));
    test_log_expect(&log, "gpu_stall", "2");
    assert_non_null(strstr(log.failure->headline, "have finished: stuck in "));
    assert_non_null(strstr(log.failure->headline, " 97"));
    assert_null(strstr(log.failure->headline, " 100"));
    assert_int_equal(log.failure->seq, 97);
    test_log_close(&log);
}

static void failure_logs__ranks_that_enter_different_ops(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"one of three broadcasts", "collective_mismatch", NULL, "1",
         "[E ProcessGroupNCCL.cpp:475] [Rank 0] Watchdog caught collective operation timeout: "
         "WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)=1800000) ran "
         "for 1800190 milliseconds before timing out.\n"
         "[E ProcessGroupNCCL.cpp:475] [Rank 1] Watchdog caught collective operation timeout: "
         "WorkNCCL(SeqNum=5, OpType=BROADCAST, NumelIn=64, NumelOut=64, Timeout(ms)=1800000) ran "
         "for 1800210 milliseconds before timing out.\n"
         "[E ProcessGroupNCCL.cpp:475] [Rank 2] Watchdog caught collective operation timeout: "
         "WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)=1800000) ran "
         "for 1800110 milliseconds before timing out.\n"},
        {"fingerprints, one against one", "collective_mismatch", NULL, "",
         "RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running "
         "collective: CollectiveFingerPrint(SequenceNumber=21, OpType=BROADCAST, TensorShape=[1], "
         "TensorDtypes=Int), but Rank 0 is running collective: "
         "CollectiveFingerPrint(SequenceNumber=21, OpType=ALLGATHER).\n"},
        {"a desync report names who lags", "cpu_stall", NULL, "1,3",
         "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8, "
         "OpType=ALLREDUCE, NumelIn=512, NumelOut=512, Timeout(ms)=600000) ran for 600100 "
         "milliseconds before timing out.\n"
         "\n\t - [0] Timeout at collective: ALLREDUCE, #9\n"
         "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync "
         "are:\n"
         "\t   - [1, 3] finished collective #8, but didn't join collective #9 (count from 1)\n"
         "\t - Snapshot of ranks' latest states:\n"
         "\t   #8 finished ranks:\n\t     [1,3] finished ALLREDUCE\n"
         "\t   #9 started ranks:\n\t     [0,2] started ALLREDUCE\n"},
        {"a desync report of two that lag: the one that is further behind, first or last",
         "cpu_stall", NULL, "3", DESYNC("0", "9") LAGS("1", "8", "9") LAGS("3", "5", "6")},
        {"the same, the other way round", "cpu_stall", NULL, "3",
         DESYNC("0", "9") LAGS("3", "5", "6") LAGS("1", "8", "9")},
        {"a snapshot with another op of one rank", "collective_mismatch", NULL, "1",
         DESYNC("0", "9") SNAPSHOT("9", "[0,2,3] started ALLREDUCE", "[1] started BROADCAST")},
        {"the same, the odd one first", "collective_mismatch", NULL, "1",
         DESYNC("0", "9") SNAPSHOT("9", "[1] started BROADCAST", "[0,2,3] started ALLREDUCE")},
        {"two against two: nobody is the odd one", "collective_mismatch", NULL, "",
         DESYNC("0", "9") SNAPSHOT("9", "[0,2] started ALLREDUCE", "[1,3] started BROADCAST")},
        {"other ops under other numbers are the order of the program", "cpu_stall", NULL, "1",
         DESYNC("0", "9") LAGS("1", "7", "8") SNAPSHOT("8", "[1] started BROADCAST", "")
             SNAPSHOT("9", "[0,2,3] started ALLREDUCE", "")},
        {"the same op of all", "cpu_stall", NULL, "1",
         DESYNC("0", "9") LAGS("1", "8", "9")
             SNAPSHOT("9", "[0] started ALLREDUCE", "[2,3] started ALLREDUCE")},
        {"ranks that never came", "cpu_stall", NULL, "2",
         "\t - [0] Timeout at collective: ALLREDUCE, #1\n"
         "\t - To our best knowledge, ranks [2] are the lagging ranks that caused this timeout. "
         "They never joined any collectives\n"},
        {"a monitored barrier", "cpu_stall", NULL, "1",
         "[rank0]: RuntimeError: [Rank 0]: Ranks 1 failed to pass monitoredBarrier in 30000 ms\n"},
        {"a monitored barrier on all ranks", "cpu_stall", NULL, "5",
         "[E ProcessGroupGloo.cpp:138] Rank 1 successfully reached monitoredBarrier, but received "
         "errors while waiting for send/recv from rank 0. Please check rank 0 logs.\n"
         "[E ProcessGroupGloo.cpp:138] [Rank 0]: Rank 5 failed to pass monitoredBarrier in 40000 "
         "ms\n"},
        {"a stall that Horovod reports", "cpu_stall", NULL, "3",
         "[2025-06-07 10:00:00.123456: W /src/horovod/common/stall_inspector.cc:107] One or more "
         "tensors were submitted by a subset of ranks for more than 60 seconds.\n"
         "Missing ranks:\n3: [allreduce.w1, allreduce.w2 ...]\n"},
        {"the same under mpirun --tag-output", "cpu_stall", NULL, "3",
         "[1,0]<stderr>:[2025-06-07 10:00:00.123456: W /src/horovod/common/stall_inspector.cc:107] "
         "One or more tensors were submitted by a subset of ranks for more than 60 seconds.\n"
         "[1,0]<stderr>:Missing ranks:\n[1,0]<stderr>:3: [allreduce.w1, allreduce.w2 ...]\n"},
        {"the same under srun -l", "cpu_stall", NULL, "3",
         "0: [2025-06-07 10:00:00.123456: W /src/horovod/common/stall_inspector.cc:107] One or "
         "more tensors were submitted by a subset of ranks for more than 60 seconds.\n"
         "0: Missing ranks:\n0: 3: [allreduce.w1, allreduce.w2 ...]\n"},
        {"RAS: some are ahead", "unknown", NULL, "",
         "  30 ranks have launched up to operation 640\n"
         "  2 ranks have launched up to operation 641\n"
         "  Rank 12 -- GPU 4 managed by process 32 on node n4\n"},
        {"RAS: one does not answer", "unknown", NULL, "",
         "  Missing communicator data from 1 rank\n  Rank 1 -- GPU 0 managed by process 6\n"},
        {"NCCL says that calls differ", "collective_mismatch", NULL, "",
         "n1:39:39 [3] init.cu:1197 NCCL WARN Mismatched collective detected, please check\n"},
        {"RAS counts", "cpu_stall", NULL, "0",
         "Warnings\n========\n#0-0 (ab12) MISMATCH\n  6 ranks have launched up to operation "
         "288686\n"
         "  Rank 0 has launched up to operation 288685 -- GPU 0 managed by process 123 on node "
         "h\n"},
    };
    CHECK(rows);
}

static void failure_logs__lines_that_name_the_cause(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"out of memory, then timeouts, byte order mark and CRLF", "cuda_oom", NULL, "6",
         "\xef\xbb\xbf[rank6]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 "
         "GiB. GPU 6 has a total capacity of 79.15 GiB of which 1.25 MiB is free.\r\n" TIMED_OUT(
             "0", "9", "9", "8") TIMED_OUT("1", "9", "9", "8")},
        {"the old wording", "cuda_oom", NULL, "",
         "RuntimeError: CUDA out of memory. Tried to allocate 304.00 MiB (GPU 0; 8.00 GiB total "
         "capacity; 7.1 GiB already allocated; 0 bytes free; 7.2 GiB reserved in total)\n"},
        {"AMD", "cuda_oom", NULL, "1",
         "[rank1]: torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 1 "
         "has a total capacity of 63.98 GiB\n"},
        {"one stream of which nobody kept the order", "gpu_hardware", "memory", "1",
         TIMED_OUT("0", "9", "9", "8") "[E ProcessGroupNCCL.cpp:916] [Rank 1] NCCL watchdog thread "
                                       "terminated with exception: CUDA error: uncorrectable ECC "
                                       "error encountered\n" TIMED_OUT("2", "9", "9", "8")},
        {"an exception of a process that is torn down", "communication_stall", NULL, "",
         TIMED_OUT("0", "9", "9", "8") TIMED_OUT("1", "9", "9", "8") "[rank1]: ValueError: x\n"},
        {"garbage after a timeout", "unknown", NULL, "",
         TIMED_OUT("3", "9", "12", "8") "[rank3]: torch.OutOfMemoryError: CUDA out of memory. "
                                        "Tried to allocate more than 1EB "
                                        "memory.\n"},
        {"the watchdog dies of a CUDA error", "cuda_error", "illegal_access", "3",
         "[rank3]:[E607 17:40:21.812004031 ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID "
         "0(default_pg) Rank 3] Process group watchdog thread terminated with exception: CUDA "
         "error: an illegal memory access was encountered\n"
         "CUDA kernel errors might be asynchronously reported at some other API call, so the "
         "stacktrace below might be incorrect.\n" TIMED_OUT("0", "9", "9", "8")
             ABORTED("n1", "0", "0", "-6", "100")},
        {"ECC", "gpu_hardware", "memory", "5",
         "[rank5]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
         "[rank1]:[E607 17:52:21.812004031 ProcessGroupNCCL.cpp:632] [Rank 1] NCCL error in: "
         "x.cpp:825, ncclUnhandledCudaError: Call to CUDA function failed.\n"},
        {"NVLink", "gpu_hardware", "nvlink", "2",
         "[rank2]: torch.AcceleratorError: CUDA error: Invalid access of peer GPU memory over "
         "nvlink or a hardware error\n"},
        {"an exception, then ten minutes of silence", "application_error", "exception", "2",
         "[rank2]: Traceback (most recent call last):\n"
         "[rank2]:   File \"/app/train.py\", line 96, in step\n[rank2]:     y = f(x)\n"
         "[rank2]: ValueError: bad batch\n" TIMED_OUT("0", "9", "9", "8")
             TIMED_OUT("1", "9", "9", "8") ABORTED("n1", "0", "0", "-6", "100")},
        {"an exception of communication is none", "unknown", NULL, "",
         "[rank2]: torch.distributed.DistBackendError: NCCL error in: x.cpp:825, remote process "
         "exited or there was a network error, NCCL version 2.21.5\n"},
        {"a segmentation fault in the summary", "application_error", "segfault", "3",
         "x.py FAILED\nFailures:\n" ABORTED("n1", "0", "0", "-15", "100")
             ABORTED("n1", "3", "3", "-11", "103")},
        {"killed, and no word by whom", "unknown", "killed", "2",
         ABORTED("n1", "2", "2", "-9", "102")},
        {"killed by the launcher after its SIGTERM", "unknown", NULL, "",
         "W0607 17:53:30.684369 1400 torch/distributed/elastic/multiprocessing/api.py:851] Sending "
         "process 102 closing signal SIGTERM\n" ABORTED("n1", "2", "2", "-9", "102")},
        {"killed by the kernel", "host", "memory", "2",
         "Jun  7 17:50:00 n1 kernel: Memory cgroup out of memory: Killed process 102 (python) "
         "total-vm:900kB, anon-rss:800kB\n" ABORTED("n1", "2", "2", "-9", "102")},
        {"a data loader's worker", "host", "memory", "0",
         "2025-06-07T17:50:00.123456789Z stderr F [rank0]: RuntimeError: DataLoader worker (pid "
         "4242) is killed by signal: Killed. \n"},
        {"the time limit", "scheduler", "time_limit", "",
         "slurmstepd: error: *** STEP 123.0 ON node01 CANCELLED AT 2025-06-07T17:50:00 DUE TO TIME "
         "LIMIT ***\nsrun: error: node01: tasks 0-7: Terminated\n"},
        {"preemption", "scheduler", "preemption", "",
         "slurmstepd: error: *** JOB 123 ON node01 CANCELLED AT 2025-06-07T17:50:00 DUE TO "
         "PREEMPTION ***\n"},
        {"a node failed", "host", "node", "",
         "srun: error: Node failure on node7\nsrun: Job step aborted: Waiting up to 32 seconds for "
         "job step to finish.\n"},
        {"cancelled after a task failed", "application_error", "exception", "4",
         "4: [rank4]: KeyError: 'x'\nsrun: error: node01: task 4: Exited with exit code 1\n"
         "slurmstepd: error: *** STEP 9.0 ON node01 CANCELLED AT 2025-06-07T17:50:00 DUE TO TASK "
         "FAILURE ***\n"},
        {"a full disk", "host", "storage", "0",
         "[rank0]: OSError: [Errno 28] No space left on device\n"},
        {"NaN", "numerical_divergence", NULL, "0",
         "[rank0]: AssertionError: Rank 0: found NaN in local grad norm in backward pass before "
         "data-parallel communication collective. Device: 0\n"},
        {"a GIL that is held", "cpu_stall", "gil", "1",
         TIMED_OUT("0", "9", "9", "8") TIMED_OUT("2", "9", "9", "8")
             TOLD_TO_DUMP("1", "8", "8") "[rank1]:[E607 17:53:21.812004031 "
                                         "ProcessGroupNCCL.cpp:1700] Could not acquire GIL within "
                                         "300 ms on exit, possible GIL induced hang\n"},
    };
    CHECK(rows);
}

static void failure_logs__the_network_and_those_who_lost_a_peer(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"a port fails just before the hang begins", "network", "port", "",
         "[2025-06-07 17:42:20] n1:500:510 [0] transport/net_ib.cc:210 NCCL WARN NET/IB : mlx5_3:1 "
         "Got async event: port error\n" TIMED_OUT("0", "9", "9", "8")
             TIMED_OUT("1", "9", "9", "8")},
        {"retries exhausted, nothing else", "unknown", NULL, "",
         "n1:500:510 [0] transport/net_ib.cc:210 NCCL WARN NET/IB : Got completion from peer "
         "10.0.0.7<4444> with status=12 opcode=0 len=0 vendor err 129 (Recv)\n"},
        {"newer wording, at the first exchange", "network", "link", "",
         "n1:500:510 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB\n"
         "n1:500:512 [0] net_ib/p2p.cc:210 NCCL WARN NET/IB : Got completion from peer "
         "10.0.0.7<4444> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=4 "
         "vendor_err=129 req_type=Send\n"},
        {"flushed requests follow another error", "unknown", NULL, "",
         "n1:500:510 [0] transport/net_ib.cc:210 NCCL WARN NET/IB : Got completion from peer "
         "10.0.0.7<4444> with error 5, opcode 1, len 0, vendor err 244 (Send)\n"},
        {"a peer on another machine is gone", "peer_died", NULL, "",
         "n1:500:510 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote "
         "peer n2.cluster<4444>\nn1:500:510 [0] NCCL INFO misc/socket.cc:749 -> 6\n"},
        {"a peer on this machine", "unknown", NULL, "",
         "n1:500:510 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote "
         "peer n1.cluster<4444>\n"},
        {"the store of this machine", "unknown", NULL, "",
         "[rank3]:[W112 01:48:44.275482640 TCPStore.cpp:106] [c10d] sendBytes failed on "
         "SocketImpl(fd=83, addr=[localhost]:38648, remote=[localhost]:38381): Broken pipe\n"},
        {"Gloo", "peer_died", NULL, "",
         "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by "
         "peer [10.0.0.7]:4444\n"},
        {"a link that stays down", "network", "link", "",
         "Jun  7 17:42:22 n1 kernel: mlx5_core 0000:ab:00.0 ib0: Link DOWN\n" TIMED_OUT(
             "0", "9", "9", "8") TIMED_OUT("1", "9", "9", "8")},
    };
    CHECK(rows);
}

/* What CUDA, ROCm, NCCL and frameworks on top say of the same errors. */
static void failure_logs__wordings_of_gpu_errors(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"the driver's name of an error", "gpu_hardware", "memory", "",
         "F stream_executor/cuda/cuda_driver.cc:99] Internal: failed call to cuInit: "
         "CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered\n"},
        {"an address", "cuda_error", "illegal_access", "",
         "E xla/stream.cc:12] could not synchronize: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal "
         "memory access was encountered\n"},
        {"NVLink in capitals", "gpu_hardware", "nvlink", "4",
         "[rank4]: RuntimeError: CUDA error: uncorrectable NVLink error detected during the "
         "execution\n"},
        {"NCCL with a number in front", "driver_firmware", NULL, "",
         "n1:500:510 [0] include/alloc.h:112 NCCL WARN Cuda failure 999 'unknown error'\n"},
        {"NCCL out of memory", "cuda_oom", NULL, "",
         "n1:500:510 [0] include/alloc.h:112 NCCL WARN Cuda failure 2 'out of memory'\n"},
        {"a handle that cannot be opened", "cuda_error", NULL, "",
         "n1:500:510 [0] transport/p2p.cc:238 NCCL WARN failed to open CUDA IPC handle : 217 peer "
         "access is not supported between these two devices\n"},
        {"an assertion behind a progress bar", "cuda_error", "assert", "",
         "  5%|#    | 12/240 [01:02<20:01, 5.2s/it]\r  6%|#    | 13/240 [01:07<19:58, "
         "5.2s/it]/src/Indexing.cu:1284: indexSelect: block: [7,0,0], thread: [3,0,0] Assertion "
         "`index < size` failed.\n"},
        {"Triton", "cuda_error", "illegal_access", "2",
         "[rank2]: RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered\n"},
        {"AMD", "cuda_error", "illegal_access", "",
         "Memory access fault by GPU node-3 (Agent handle: 0x5564) on address 0x7f00. Reason: Page "
         "not present or supervisor privilege.\n"},
        {"JAX", "cuda_oom", NULL, "",
         "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
         "allocate 1024 bytes.\n"},
    };
    CHECK(rows);
    struct test_log log;
    test_log_text(&log, "job.out", rows[6].text);
    assert_string_equal(log.failure->headline,
                        "A process failed an assertion on the GPU: index < size.");
    assert_null(strchr(log.failure->evidence[0].text, '\r'));
    assert_null(strstr(log.failure->evidence[0].text, "12/240"));
    test_log_close(&log);
}

static void failure_logs__values_that_are_not_finite(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"a rank in the message", "numerical_divergence", NULL, "9",
         "AssertionError: Rank 9: found NaN in local grad norm in backwards pass. Device: 1\n"},
        {"the loss scale is at its end", "numerical_divergence", NULL, "",
         "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 2, reducing to 1\n"
         "Exception: Current loss scale already at minimum - cannot decrease scale anymore.\n"},
        {"a function's backward", "numerical_divergence", NULL, "1",
         "[rank1]: RuntimeError: Function 'ExpBackward0' returned nan values in its 0th output.\n"},
        {"a loss", "numerical_divergence", NULL, "",
         "ValueError: The loss returned in `training_step` is nan or inf.\n"},
    };
    CHECK(rows);
}

/* How mpirun, Horovod, DeepSpeed, Lightning, Ray and Slurm tell that a process ended, and of which
 * one. */
static void failure_logs__launchers(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"mpirun, killed", "unknown", "killed", "5",
         "mpirun noticed that process rank 5 with PID 0 on node gx7 exited on signal 9 "
         "(Killed).\n"},
        {"mpirun, a segmentation fault", "application_error", "segfault", "5",
         "prterun noticed that process rank 5 with PID 311 on node gx7 exited on signal 11 "
         "(Segmentation fault).\n"},
        {"mpirun, an exit code", "unknown", "exit", "3",
         "mpirun detected that one or more processes exited with non-zero status.\n\n"
         "  Process name: [[311,1],3]\n  Exit code:    1\n"},
        {"mpirun's tags", "application_error", "exception", "6",
         "[1,2]<stderr>:starts\n[1,6]<stderr>:Traceback (most recent call last):\n"
         "[1,6]<stderr>:KeyError: 'x'\n"},
        {"Horovod's", "host", "memory", "2",
         "Tue Mar  4 10:11:12 2025[2]<stderr>:MemoryError\n"
         "Tue Mar  4 10:11:13 2025[0]<stderr>:Aborted: Horovod has been shut down. This was caused "
         "by an exception on one of the ranks.\n"},
        {"tasks that start several ranks each", "application_error", "exception", "",
         "1: [default3]:ready\n1: KeyError: 'x'\n"
         "0: W0607 17:53:30.684369 1400 torch/distributed/elastic/multiprocessing/api.py:851] "
         "Sending process 102 closing signal SIGTERM\n"},
        {"one that gave up, while the others were stopped", "application_error", "exception", "3",
         "Traceback (most recent call last):\nIndexError: index 12 is out of range\n"
         "[2025-01-08 10:01:02,551] torch.distributed.elastic.multiprocessing.api: [ERROR] failed "
         "(exitcode: 1) local_rank: 3 (pid: 811) of binary: /usr/bin/python\n"
         "[2025-01-08 10:01:02,951] torch.distributed.elastic.agent.server.api: [WARNING] Sending "
         "process 812 closing signal SIGTERM\n"},
        {"two that gave up", "cuda_oom", NULL, "",
         "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB.\n" ABORTED(
             "n1", "1", "1", "1", "101") ABORTED("n1", "2", "2", "1", "102")},
        {"the log of a container", "application_error", "exception", "",
         "2025-06-07T17:50:00.123456789Z stderr F Traceback (most recent call last):\n"
         "2025-06-07T17:50:00.123456999Z stderr F ValueError: bad\n"},
        {"JAX names the task that is gone", "peer_died", NULL, "37",
         "E coordination_service.cc:954] /job:jax_worker/replica:0/task:37 has been set to ERROR "
         "in "
         "coordination service: UNAVAILABLE: heartbeat timeout.\n"},
        {"the name of a pod", "application_error", "exception", "",
         "job-worker-2: Traceback (most recent call last):\njob-worker-2: ValueError: bad\n"},
        {"DeepSpeed names its last child, whoever failed", "application_error", "segfault", "",
         "[2025-06-07 10:00:00,702] [INFO] [launch.py:314:sigkill_handler] Killing subprocess 17\n"
         "[2025-06-07 10:00:01,702] [ERROR] [launch.py:320:sigkill_handler] ['python', "
         "'train.py', '--local_rank=7'] exits with return code = -11\n"},
        {"so does the old launcher of PyTorch", "application_error", "segfault", "",
         "subprocess.CalledProcessError: Command '['python', 't.py', '--local_rank=7']' died with "
         "<Signals.SIGSEGV: 11>.\n"},
        {"PyTorch's spawn", "unknown", "killed", "1",
         "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal "
         "SIGKILL\n"},
        {"a summary in one line", "application_error", "segfault", "10",
         "| 2025-06-07T17:53:30.879Z | [2]: time : 2025-06-07_17:53:30 host : n2 rank : 10 "
         "(local_rank: 2) exitcode : -11 (pid: 189) error_file: <N/A>\n"
         "| 2025-06-07T17:53:30.880Z | [3]: time : 2025-06-07_17:53:31 host : n2 rank : 11 "
         "(local_rank: 3) exitcode : -6 (pid: 190) error_file: <N/A>\n"},
        {"no memory for C++", "host", "memory", "",
         "n1: terminate called after throwing an instance of 'std::bad_alloc'\n"},
        {"Lightning", "unknown", "killed", "",
         "[rank: 0] Child process with PID 4711 terminated with code -9. Forcefully terminating "
         "all other processes to avoid zombies\n"},
        {"Composer", "application_error", "segfault", "2",
         "ERROR:composer.cli.launcher:Global rank 2 (PID 47) exited with code -11\n"},
        {"JAX lost its coordinator", "unknown", NULL, "",
         "W preemption_sync_manager.cc:170] Failed to retrieve preemption notice from coordination "
         "service: UNAVAILABLE: Socket closed\n"},
        {"a task of several nodes is not the first one", "host", "memory", "",
         "E0812 03:11:12.684369 14 torch/distributed/elastic/multiprocessing/api.py:826] failed "
         "(exitcode: -9) local_rank: 5 (pid: 91) of binary: python\n"
         "srun: error: n7: task 1: Out Of Memory\n"},
        {"a checkpoint that cannot be written", "host", "storage", "",
         "RuntimeError: [enforce fail at inline_container.cc:1] . PytorchStreamWriter failed "
         "writing file data/7: file write failed\n"},
        {"Ray's memory monitor", "host", "memory", "",
         "(raylet) node_manager.cc:3069: 2 Workers (tasks / actors) killed due to memory pressure "
         "(OOM), 0 Workers crashed due to other reasons at node (ID: 6e7f, IP: 10.0.1.75)\n"},
        {"put back into the queue", "scheduler", "preemption", "",
         "slurmstepd: error: *** STEP 608.0 ON n4 CANCELLED AT 2025-06-07T02:06:12 DUE TO JOB "
         "REQUEUE ***\nsrun: error: n4: tasks 2-3: Exited with exit code 1\n"},
        {"a data loader out of shared memory", "host", "memory", "",
         "RuntimeError: DataLoader worker (pid 31) is killed by signal: Bus error. \n"},
        {"a data loader that crashed", "application_error", "data_loader", "",
         "RuntimeError: DataLoader worker (pid(s) 31, 32) exited unexpectedly\n"},
    };
    CHECK(rows);
}

/* Xids by themselves; joined to ranks by bus id and host, whatever file they are in. */
static void failure_logs__faults_of_gpus(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"memory", "gpu_hardware", "memory", "",
         "[Sat Jun  7 17:42:22 2025] NVRM: Xid (PCI:0000:9b:00): 48, pid=77, name=python, DBE\n"
         "[Sat Jun  7 17:42:22 2025] NVRM: Xid (PCI:0000:9b:00): 63, pid=77, name=python, Row "
         "Remapper\n"},
        {"JAX names the rank apart", "gpu_hardware", "nvlink", "1",
         "E0905 17:34:36.549000 13 allocator.cc:4] [rank 1] cuMemAllocAsync failed: "
         "CUDA_ERROR_CONTAINED: Invalid access of peer GPU memory over nvlink\n"},
        {"one that cannot be set up", "driver_firmware", "firmware", "",
         "[   21.091872] NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:8)\n"},
        {"a library that cannot begin", "driver_firmware", NULL, "",
         "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda "
         "functions "
         "before? Error 802: system not yet initialized\n"},
        {"a machine check", "host", "node", "",
         "Mar 04 10:02:03 n7 kernel: mce: [Hardware Error]: Uncorrected hardware memory error\n"},
        {"a clean-up alone is no cause", "unknown", NULL, "",
         "[Sat Jun  7 17:42:22 2025] NVRM: Xid (PCI:0000:9b:00): 45, pid=77, name=python, Ch 8\n"
         "[rank0]:[E607 17:52:22.0 x.cpp:1] [Rank 0] Watchdog caught collective operation timeout: "
         "WorkNCCL(SeqNum=8, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600100 milliseconds\n"},
        {"only what follows another error", "unknown", NULL, "",
         "[  100.000001] NVRM: Xid (PCI:0000:9b:00): 43, pid=77, name=python, Ch 00000008\n"},
        {"which it names", "gpu_hardware", "nvlink", "",
         "kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=88, name=python3, Ch 00000001 caused by "
         "previous Xid 149\n"},
        {"firmware", "driver_firmware", "firmware", "",
         "[  100.000001] NVRM: Xid (PCI:0000:9b:00): 119, pid=77, name=python, Timeout waiting for "
         "RPC from GSP!\n"},
        {"firmware without an Xid", "driver_firmware", "firmware", "",
         "[   24.302465] NVRM: GPU6 _kgspIsHeartbeatTimedOut: Heartbeat timed out, diff 6070\n"},
        {"NVLink 5", "gpu_hardware", "nvlink", "",
         "[  100.000001] NVRM: Xid (PCI:0000:9b:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 "
         "(0x004505c6 0x00000000)\n"},
        {"the driver names no PCI prefix", "gpu_hardware", "bus", "",
         "[  100.000001] NVRM: Xid (0000:9b:00): 79, GPU has fallen off the bus.\n"},
    };
    CHECK(rows);
    static const char job[] =
        "n1:500:510 [0] NCCL INFO comm 0x1 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 commId "
        "0x5 - Init COMPLETE\n"
        "n1:501:511 [1] NCCL INFO comm 0x2 rank 1 nranks 4 cudaDev 1 nvmlDev 1 busId 9b000 commId "
        "0x5 - Init COMPLETE\n"
        "n2:500:510 [0] NCCL INFO comm 0x3 rank 2 nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 commId "
        "0x5 - Init COMPLETE\n"
        "n2:501:511 [1] NCCL INFO comm 0x4 rank 3 nranks 4 cudaDev 1 nvmlDev 1 busId 9b000 commId "
        "0x5 - Init COMPLETE\n" TIMED_OUT("0", "9", "9", "8") TIMED_OUT("1", "9", "9", "8")
            TIMED_OUT("2", "9", "9", "8");
    static const char kernel[] = "Jun  7 17:42:22 n2 kernel: NVRM: Xid (PCI:0000:9b:00): 79, "
                                 "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n";
    static const char nameless[] = "[  99.000001] NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen\n";
    const struct inq_ingest_blob named[] = {{"job.log", job, sizeof job - 1},
                                            {"kern.log", kernel, sizeof kernel - 1}};
    const struct inq_ingest_blob by_file[] = {{"job.log", job, sizeof job - 1},
                                              {"n1/dmesg.txt", nameless, sizeof nameless - 1}};
    struct test_log log;
    test_log_open(&log, named, 2);
    test_log_expect(&log, "gpu_hardware", "3");
    assert_int_equal(log.failure->n_victims, 3);
    test_log_close(&log);
    test_log_open(&log, by_file, 2);
    test_log_expect(&log, "gpu_hardware", "1");
    test_log_close(&log);
}

#define STEP(n, time)                                                                              \
    "2025-06-07 " time ",000 [rank0] INFO iteration " n "/ 500 | lm loss: 2.5E+00 |\n"

static void failure_logs__faults_that_the_run_survived(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"a file server that came back long before", "cuda_oom", NULL, "1",
         STEP("1",
              "10:00:00") "Jun  7 10:00:05 n1 kernel: nfs: server fs1 not responding, timed "
                          "out\n"
                          "Jun  7 10:00:09 n1 kernel: nfs: server fs1 OK\n" STEP("2", "10:01:00")
                              STEP("3", "10:02:00") "2025-06-07 10:03:00,000 [rank1]: "
                                                    "torch.OutOfMemoryError: CUDA "
                                                    "out of memory. Tried to allocate 2.00 GiB.\n"},
        {"an exception that was caught", "application_error", "exception", "2",
         "[rank3]: ValueError: caught and logged\n[rank3]: " STEP("1", "10:00:00") "[rank3]: " STEP(
             "2", "10:01:00") "[rank2]: KeyError: 'lost'\n"},
    };
    CHECK(rows);
    struct test_log log;
    test_log_text(&log, "job.out",
                  STEP("1", "10:00:00") "n1:500:510 [0] transport/net_ib.cc:210 NCCL WARN NET/IB : "
                                        "mlx5_3:1 Got async event: port error\n" STEP(
                                            "2", "10:01:00") STEP("3", "10:02:00"));
    assert_null(log.failure);
    test_log_close(&log);
    test_log_text(&log, "job.out", "n1:500:510 [0] NCCL INFO Bootstrap : Using eth0:10.1.0.4<0>\n");
    assert_null(log.failure);
    assert_string_equal(log.report->verdict.headline,
                        "Nothing to judge: no line of the logs reports a failure, and there is no "
                        "trace from any rank.");
    test_log_close(&log);
    test_log_text(&log, "dmesg.txt",
                  "Mar 04 10:02:03 n7 kernel: mce: [Hardware Error]: Machine check events logged\n"
                  "Mar 04 10:02:03 n7 kernel: {1}[Hardware Error]: event severity: corrected\n"
                  "Mar 04 10:02:03 n7 kernel: {1}[Hardware Error]:  section_type: memory error\n");
    assert_null(log.failure);
    test_log_close(&log);
}

/* The rank may be in the file's name, the folder of the launcher, or a file of its own. */
static void failure_logs__ranks_of_files(void **state)
{
    (void)state;
    static const char text[] = "Traceback (most recent call last):\nKeyError: 'x'\n";
    static const char json[] = "{\"message\": {\"message\": \"ValueError: bad\", \"extraInfo\": "
                               "{\"py_callstack\": \"Traceback\", \"timestamp\": "
                               "\"1749318740\"}}}";
    struct test_log log;
    test_log_text(&log, "logs/rank_3.log", text);
    test_log_expect(&log, "application_error", "3");
    test_log_close(&log);
    test_log_text(&log, "none_x1/attempt_0/5/stderr.log", text);
    test_log_expect(&log, "application_error", "5");
    test_log_close(&log);
    test_log_text(&log, "events.txt",
                  "LAST SEEN   TYPE      REASON        OBJECT       MESSAGE\n2m          Warning   "
                  "NodeShutdown  pod/train-3  Pod was terminated in response to imminent node "
                  "shutdown.\n");
    test_log_expect(&log, "scheduler", "");
    test_log_close(&log);
    test_log_text(&log, "none_x1/attempt_0/2/error.json", json);
    test_log_expect(&log, "application_error", "2");
    test_log_close(&log);
}

/* One stream, a file for each rank in any order, compressed: the same is found. */
static void failure_logs__the_same_in_any_files(void **state)
{
    (void)state;
    static const char text[] =
        "[rank1]:[E607 17:52:21.812004031 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=78, [rank3]: torch.OutOfMemoryError: CUDA "
        "out of memory. Tried to allocate 2.00 GiB.\n";
    static const char *const parts[] = {
        TIMED_OUT("0", "78", "80", "77"), TOLD_TO_DUMP("1", "77", "77"),
        TIMED_OUT("2", "78", "80", "77"), TIMED_OUT("3", "78", "79", "77")};
    enum { N = sizeof parts / sizeof parts[0] };
    char all[8192] = "";
    struct inq_ingest_blob blobs[N];
    struct test_log log;
    for (size_t i = 0; i < N; i++) {
        static const char *const names[] = {"3.log", "2.log", "1.log", "0.log"};
        assert_true(strlen(all) + strlen(parts[i]) < sizeof all);
        strcat(all, parts[i]);
        blobs[N - 1 - i] = (struct inq_ingest_blob){names[i], parts[i], strlen(parts[i])};
    }
    test_log_text(&log, "job.out", all);
    test_log_expect(&log, "cpu_stall", "1");
    test_log_close(&log);
    test_log_open(&log, blobs, N);
    test_log_expect(&log, "cpu_stall", "1");
    assert_int_equal(log.failure->n_victims, 3);
    test_log_close(&log);
    struct test_text gz = test_gzip((struct test_text){all, strlen(all)});
    const struct inq_ingest_blob packed = {"job.out.gz", gz.p, gz.n};
    test_log_open(&log, &packed, 1);
    test_log_expect(&log, "cpu_stall", "1");
    test_log_close(&log);
    free(gz.p);
    test_log_text(&log, "job.out", text);
    test_log_expect(&log, "cuda_oom", "3");
    test_log_close(&log);
}

/* T0, first cause, detection and abort in the order of time. */
static void failure_logs__course_of_events(void **state)
{
    (void)state;
    struct test_log log;
    test_log_text(&log, "job.out",
                  "2025-06-07 17:42:20,500 [rank1]: torch.OutOfMemoryError: CUDA out of memory. "
                  "Tried to allocate 2.00 GiB.\n" TIMED_OUT("0", "9", "9", "8")
                      ABORTED("n1", "0", "0", "-6", "100"));
    test_log_expect(&log, "cuda_oom", "1");
    const struct inq_failure *f = log.failure;
    assert_true(f->n_moments >= 4);
    assert_int_equal(f->moments[0].phase, INQ_PHASE_CAUSE);
    assert_int_equal(f->moments[1].phase, INQ_PHASE_HANG_START);
    assert_int_equal(f->moments[f->n_moments - 1].phase, INQ_PHASE_ABORT);
    assert_true(f->moments[0].dated);
    /* 17:52:21 less 600.012 s */
    assert_int_equal((f->moments[1].time_ns - f->moments[0].time_ns) / 1000000, 1300);
    assert_string_equal(f->evidence[0].text,
                        "2025-06-07 17:42:20,500 [rank1]: torch.OutOfMemoryError: CUDA out of "
                        "memory. Tried to allocate 2.00 GiB.");
    assert_int_equal(f->evidence[0].line, 1);
    test_log_close(&log);
}

/* Real logs, without the comments in their first lines. */
static void failure_logs__real_cases(void **state)
{
    (void)state;
    static const struct {
        const char *name, *cls, *roots, *bus;
    } rows[] = {
        {"01", "cuda_oom", "2", NULL},
        {"04", "uneven_work", "0", NULL},
        {"05", "peer_died", "", NULL},
        {"07", "gpu_hardware", "", "0000:b3:00.0"},
        {"09", "unknown", "", NULL},
        {"11", "unknown", "0", NULL},
        {"12", "host", "", NULL},
        {"13", "unknown", "", NULL},
        {"15", "unknown", "", NULL},
        {"17", "cuda_oom", "11", NULL},
        {"18", "cuda_error", "", "0000:38:00.0"},
        {"20", "gpu_hardware", "", "0000:91:00.0"},
        {"22", "network", "", NULL},
        {"25", "host", "", NULL},
        {"27", "unknown", "", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[TEST_PATH];
        char name[32];
        size_t n = 0;
        (void)snprintf(name, sizeof name, "logs/%s.txt", rows[i].name);
        if (!test_data_path(path, INQ_SHARED_DATA, name)) {
            skip();
        }
        char *text = test_slurp(path, &n);
        assert_non_null(text);
        size_t from = 0;
        while (from < n && text[from] == '#') {
            const char *end = memchr(text + from, '\n', n - from);
            from = end != NULL ? (size_t)(end - text) + 1 : n;
        }
        struct test_log log;
        const struct inq_ingest_blob blob = {"job.out", text + from, n - from};
        test_log_open(&log, &blob, 1);
        print_message("%s\n", name);
        test_log_expect(&log, rows[i].cls, rows[i].roots);
        if (rows[i].bus != NULL) {
            assert_true(log.failure->n_places == 1);
            assert_string_equal(log.failure->places[0].bus, rows[i].bus);
        }
        if (strcmp(rows[i].cls, "unknown") == 0) {
            assert_true(log.failure->n_alternatives > 0);
        }
        test_log_close(&log);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failure_logs__counters_tell_who_did_not_come),
        cmocka_unit_test(failure_logs__warnings_of_the_network),
        cmocka_unit_test(failure_logs__the_op_that_a_gpu_is_stuck_in),
        cmocka_unit_test(failure_logs__ranks_that_enter_different_ops),
        cmocka_unit_test(failure_logs__lines_that_name_the_cause),
        cmocka_unit_test(failure_logs__the_network_and_those_who_lost_a_peer),
        cmocka_unit_test(failure_logs__wordings_of_gpu_errors),
        cmocka_unit_test(failure_logs__values_that_are_not_finite),
        cmocka_unit_test(failure_logs__launchers),
        cmocka_unit_test(failure_logs__faults_of_gpus),
        cmocka_unit_test(failure_logs__faults_that_the_run_survived),
        cmocka_unit_test(failure_logs__ranks_of_files),
        cmocka_unit_test(failure_logs__the_same_in_any_files),
        cmocka_unit_test(failure_logs__course_of_events),
        cmocka_unit_test(failure_logs__real_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
