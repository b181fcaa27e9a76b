# SPDX-License-Identifier: Apache-2.0
"""Runs that really failed (and some that did not), each made on one machine by
tests/bench/failures_real/make: how it was started, and the truth, written before the run. The logs
are NAME/... in tests/data/failures_real.tar.xz; a case without its logs is left out."""
import os
import tarfile

from case import Recorded, dead, healthy

HERE = os.path.dirname(os.path.abspath(__file__))
LOGS = os.path.join(HERE, "..", "..", "data", "failures_real.tar.xz")
COMMANDS = {}
FILES = {}


def read_logs():
    if not os.path.exists(LOGS):
        return
    with tarfile.open(LOGS) as archive:
        for member in archive:
            name, file = member.name.split("/", 1)
            FILES.setdefault(name, {})[file] = archive.extractfile(member).read().decode(errors="replace")


def real(name, cls, roots, first, command, **more):
    COMMANDS[name] = command
    more.setdefault("part", "real")
    files = FILES.get(name)
    if not files:
        return
    files = {file: Recorded(text) for file, text in files.items()}
    if cls == "healthy":
        healthy(name, files, first=first, ordered=True, **more)
    else:
        dead(name, cls, roots, first, files, merge=more.pop("merge", "class"), **more)


read_logs()
RUN = "torchrun --nproc_per_node 3 fit.py"
TEE = "torchrun --nproc_per_node 3 --tee 3 fit.py"
DIR = "torchrun --nproc_per_node 3 --redirects 3 --log_dir $OUT/logs fit.py"
MPI = "mpirun -np 3 python fit.py"
TAG = "mpirun --tag-output -np 3 python fit.py"
SRUN = "srun --mem=2000 -n3 --label python fit.py"
GLOO = ["Gloo|time(d)? ?out|Connection closed"]

# ---- an exception of one rank ----
real("r_key_tee", "application_error", [1], ["rank 1", "KeyError", "pixel_values"], f"{TEE} --fault key")
real("r_key_console", "application_error", [], ["KeyError", "pixel_values"], f"{RUN} --fault key", may=[1])
real("r_key_files", "application_error", [2], ["rank 2", "KeyError", "pixel_values"], f"{DIR} --fault key --who 2")
real("r_store_words_tee", "application_error", [2], ["rank 2", "shard 7|feature store"],
     f"{TEE} --fault message --who 2 --text 'feature store has no shard 7'")
real("r_connection_words_tee", "application_error", [0], ["rank 0", "Connection pool|tokens"],
     f"{TEE} --fault message --who 0 --text 'Connection pool of the tokens service is exhausted'")
real("r_eof_tee", "application_error|host", [1], ["rank 1", "EOFError|Ran out of input"], f"{TEE} --fault eof")
real("r_unpickle_srun", "application_error", [1], ["rank 1|task 1", "Unpickling|pickle|load"], f"{SRUN} --fault unpickle")
real("r_connect_tee", "application_error|network", [1], ["rank 1", "refused"], f"{TEE} --fault connect")
real("r_dns_tee", "application_error|network", [0], ["rank 0", "resolution|gaierror|Name or service|dataserver"],
     f"{TEE} --fault dns --who 0")
real("r_assert_srun", "application_error", [2], ["rank 2|task 2", "loss mask|AssertionError"], f"{SRUN} --fault assert --who 2")
real("r_index_first_step", "application_error", [1], ["rank 1", "index out of range"], f"{TEE} --fault index --at 1")
real("r_shape_tag", "application_error", [1], ["rank 1", "shape|mat1|4x16"], f"{TAG} --fault shape")
real("r_zero_files", "application_error", [0], ["rank 0", "ZeroDivision|division"], f"{DIR} --fault zero --who 0")
real("r_nested_tee", "application_error", [1], ["rank 1", "OSError|tokenizer"], f"{TEE} --fault nested")
real("r_recursion_tee", "application_error", [1], ["rank 1", "Recursion"], f"{TEE} --fault recursion")
real("r_exit_code", "application_error|unknown", [1], ["rank 1", "exit code 3|code 3|exitcode:? 3|status 3"], f"{RUN} --fault exit")
real("r_sysexit_tee", "application_error|unknown", [2], ["rank 2", "budget|wrong split"], f"{TEE} --fault sysexit --who 2")
real("r_buffered_stdout", "application_error", [0], ["rank 0", "KeyError", "pixel_values"],
     f"{TEE} --fault key --who 0 --buffered 1")
real("r_buffered_srun", "application_error", [0], ["rank 0|task 0", "KeyError"], f"{SRUN} --fault key --who 0 --buffered 1")
real("r_import_all", "application_error", [], ["nvfuser_kernels"], f"{TEE} --early all", may=[0, 1, 2])
real("r_argument_all", "application_error", [], ["--color|unrecognized"], f"{TEE} --color red", may=[0, 1, 2])
real("r_die_before_group", "application_error", [1], ["rank 1", "a100-80|accelerator"], f"{TEE} --early die")
real("r_worker_raises", "application_error", [1], ["rank 1", "ValueError", "37|columns|worker"],
     f"{TEE} --bad raise --workers 1 --steps 40")
real("r_worker_killed", "host|application_error|unknown", [2], ["rank 2", "worker|loader", "kill|SIGKILL"],
     f"{TEE} --bad kill --workers 1 --steps 40 --who 2")
real("r_nan_assert", "numerical_divergence|application_error", [0], ["rank 0", "nan"], f"{TEE} --fault nanassert --who 0")
real("r_mpirun_plain", "application_error", [1], ["rank 1", "ZeroDivision|division"], f"{MPI} --fault zero")
# ---- signals ----
real("r_segv", "application_error", [1], ["rank 1", "SIGSEGV|segmentation|signal 11"], f"{RUN} --fault sigsegv")
real("r_abort_tee", "application_error|unknown", [0], ["rank 0", "SIGABRT|abort|signal 6"], f"{TEE} --fault sigabrt --who 0")
real("r_kill", "unknown|host|scheduler|application_error", [2], ["rank 2", "SIGKILL|kill"], f"{RUN} --fault sigkill --who 2",
     never=["out of memory"])
real("r_term_one", "unknown|scheduler|application_error", [1], ["rank 1", "SIGTERM|terminated|signal 15"],
     f"{RUN} --fault sigterm")
real("r_fpe_srun", "application_error", [1], ["rank 1|task 1", "floating|SIGFPE|signal 8"], f"{SRUN} --fault sigfpe")
real("r_bus_files", "application_error|host", [1], ["rank 1", "SIGBUS|bus error|signal 7"], f"{DIR} --fault bus")
real("r_agent_term", "scheduler|unknown|application_error", [], ["SIGTERM|signal|15|stopped|terminat"],
     f"later 9 TERM {TEE} --steps 4000")
real("r_agent_int", "scheduler|unknown|application_error", [], ["interrupt|SIGINT|signal"], f"later 9 INT {TEE} --steps 4000")
# ---- memory, files, disks ----
real("r_memory_error", "host|application_error", [1], ["rank 1", "memory|MemoryError"], f"{TEE} --fault memory")
real("r_array_memory", "host", [0], ["rank 0", "memory|allocate", "16\\.0 GiB|array|65536"], f"{TEE} --fault numpymemory --who 0")
real("r_cpu_allocator", "host", [2], ["rank 2", "memory|allocat"], f"{TEE} --fault torchmemory --who 2")
real("r_cgroup_oom", "host|unknown|application_error|scheduler", [1], ["rank 1", "SIGKILL|kill|memory"],
     f"cgroup 700 {RUN} --fault eat")
real("r_cgroup_oom_kernel", "host", [1], ["rank 1", "memory|OOM"], f"cgroup 700 dmesg {RUN} --fault eat")
real("r_disk_full", "host", [0], ["rank 0", "space"], f"tmpdisk 40 {TEE} --fault full --who 0 --text $DISK")
real("r_disk_full_save", "host|application_error", [0], ["rank 0", "space|write|inline_container"],
     f"tmpdisk 8 {TEE} --fault fullsave --who 0 --text $DISK")
real("r_shm_small", "host", [1], ["shared memory|shm|bus error"], f"shm 8 {TEE} --bad big --workers 1 --who 1", may=[1])
real("r_open_files", "host|application_error", [1], ["rank 1", "open files"], f"{TEE} --fault files")
real("r_no_file", "application_error|host", [2], ["rank 2", "shard_0031|No such file"], f"{TEE} --fault file --who 2")
real("r_no_permission", "application_error|host", [0], ["rank 0", "ckpt.pt|/proc|open"], f"{TEE} --fault readonly --who 0")
# ---- hangs and collectives ----
real("r_skip_tee", "cpu_stall|unknown|communication_stall|collective_mismatch|uneven_work", [], GLOO, f"{TEE} --fault skip",
     may=[1])
real("r_sleep_tee", "cpu_stall|unknown|communication_stall", [1], ["rank 1"], f"{TEE} --fault sleep --noise 1 --seconds 40")
real("r_lock_files", "cpu_stall|unknown|communication_stall", [0], ["rank 0"],
     f"{DIR} --fault lock --who 0 --noise 1 --seconds 40")
real("r_stop_srun", "cpu_stall|unknown|communication_stall|scheduler", [2], ["rank 2|task 2"],
     f"later 25 INTINT {SRUN} --fault sigstop --who 2 --noise 1")
real("r_barrier", "cpu_stall|uneven_work", [1], ["rank 1"], f"{TEE} --fault barrier --seconds 6")
real("r_hang_stopped", "scheduler|unknown|cpu_stall|communication_stall|application_error", [],
     ["SIGTERM|signal|15|stopped|terminat"], f"later 16 TERM {TEE} --fault sleep --timeout 900 --seconds 900", may=[1])
real("r_sizes", "collective_mismatch|unknown", [], ["size|length|preamble|400|nbytes"], f"{TEE} --fault size", may=[0, 1, 2])
real("r_ops", "collective_mismatch|unknown|communication_stall|cpu_stall", [],
     ["mismatch|differ|size|length|time(d)? ?out|closed"], f"{TEE} --fault op", may=[0, 1, 2])
real("r_ops_detail", "collective_mismatch", [1], ["mismatch|differ", "BROADCAST", "ALLREDUCE|all.?reduce"],
     f"env TORCH_DISTRIBUTED_DEBUG=DETAIL {TEE} --fault op", may=[0, 1, 2])
real("r_uneven", "uneven_work|cpu_stall|unknown|application_error|peer_died", [2], ["rank 2"], f"{TEE} --fault done --who 2")
# ---- stores and ports ----
real("r_port_used", "network|host|application_error", [], ["29761|[Aa]ddress already in use"],
     f"port 29761 torchrun --master_port 29761 --nproc_per_node 2 fit.py")
real("r_absent_at_start", "cpu_stall|unknown|peer_died|application_error|network", [2], ["rank 2|2 of 3|2/3|1 .*(join|miss)|join|store"],
     f"{SRUN} --early absent --who 2 --seconds 20", may=[2])
# ---- numbers ----
real("r_nan_loss", "numerical_divergence", [], ["nan"], f"{RUN} --fault nan --who 0")
real("r_inf_loss", "numerical_divergence", [], ["inf"], f"{RUN} --fault inf --who 0")
real("r_diverges", "numerical_divergence", [], ["diverg|loss"], f"{RUN} --fault diverge --who 0 --steps 60 --at 40")
# ---- Open MPI ----
real("r_mpi_abort", "application_error", [1], ["rank 1", "abort", "17|experts"], "mpirun -np 3 fit_mpi abort 1")
real("r_mpi_exit", "application_error|unknown", [2], ["rank 2", "9|status|exit"], "mpirun -np 3 fit_mpi exit 2")
real("r_mpi_segv", "application_error", [1], ["rank 1", "segmentation|SIGSEGV|signal 11"], "mpirun -np 3 fit_mpi segv 1")
real("r_mpi_kill", "unknown|host|application_error|scheduler", [2], ["rank 2", "kill|signal 9"], "mpirun -np 3 fit_mpi kill 2")
real("r_mpi_timeout", "scheduler|cpu_stall|unknown", [], ["time ?limit|time-limit|timeout|time out|timed out|user-provided"],
     "mpirun --timeout 6 -np 3 fit_mpi hang 1")
real("r_mpi_count", "collective_mismatch|application_error", [], ["truncat|MPI_ERR|mismatch"], "mpirun -np 3 fit_mpi count 1",
     may=[0, 1, 2])
# ---- Slurm ----
real("r_slurm_exit", "application_error|unknown", [1], ["rank 1|task 1", "3"], f"{SRUN} --fault exit")
real("r_slurm_segv", "application_error", [2], ["rank 2|task 2", "segmentation|SIGSEGV|signal 11"], f"{SRUN} --fault sigsegv --who 2")
real("r_slurm_kill", "unknown|host|scheduler|application_error", [1], ["rank 1|task 1", "kill|SIGKILL"], f"{SRUN} --fault sigkill")
real("r_slurm_time_limit", "scheduler", [], ["time limit"], f"sbatch 1 {SRUN} --steps 100000 --pause 1")
real("r_slurm_time_limit_hung", "scheduler|cpu_stall|unknown|communication_stall", [], ["time limit|rank 1"],
     f"sbatch 1 {SRUN} --fault sleep --seconds 900 --timeout 900", may=[1])
real("r_slurm_memory", "host", [], ["memory"], f"sbatch 5 srun --mem=900 -n3 --label python fit.py --fault eat", may=[1])
real("r_slurm_cancel", "scheduler|unknown", [], ["cancel"], f"sbatch 5 cancel 14 {SRUN} --steps 100000")
real("r_slurm_preempted", "scheduler", [], ["preempt"], f"sbatch 5 preempt 14 {SRUN} --steps 100000")
# ---- restarts and runs that are well ----
real("r_restarts_spent", "application_error", [1], ["rank 1", "KeyError", "pixel_values"],
     f"torchrun --nproc_per_node 3 --max_restarts 1 --tee 3 fit.py --fault key --text always")
real("w_plain", "healthy", [], [], f"{TEE}")
real("w_files", "healthy", [], [], f"{DIR} --workers 1")
real("w_restart_recovers", "healthy", [], [], "torchrun --nproc_per_node 3 --max_restarts 2 --tee 3 fit.py --fault key --steps 30")
real("w_restart_after_kill", "healthy", [], [],
     "torchrun --nproc_per_node 3 --max_restarts 2 --tee 3 fit.py --fault sigkill --steps 30")
real("w_handled_exception", "healthy", [], [], f"{TEE} --noise 1 --steps 20")
real("w_slow", "healthy", [], [], f"{RUN} --fault slow --steps 40 --at 20")
real("w_mpi", "healthy", [], [], "mpirun -np 3 fit_mpi")
real("w_mpi_torch", "healthy", [], [], f"{TAG} --steps 20")
real("w_srun", "healthy", [], [], f"{SRUN} --steps 20")
real("w_slurm_requeued", "healthy", [], [], f"sbatch 5 requeue 12 {SRUN} --steps 60 --pause 0.2")
