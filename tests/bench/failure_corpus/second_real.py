# SPDX-License-Identifier: Apache-2.0
"""More real runs (see real_runs.py): other launchers, sizes and faults."""
from real_runs import real as run


def real(*args, **more):
    run(*args, part="b", **more)


FOUR = "torchrun --nproc_per_node 4 --tee 3 fit.py"
TWO = "torchrun --nproc_per_node 2 --tee 3 fit.py"
FILES = "torchrun --nproc_per_node 4 --redirects 3 --log_dir $OUT/logs fit.py"
TAG = "mpirun --tag-output -np 4 python fit.py"
SRUN = "srun --mem=3000 -n4 --label python fit.py"
NODES = "nodes 2 torchrun --nproc_per_node 2 --tee 3 fit.py"

real("q_spawn_key", "application_error", [1], ["rank 1|process 1", "KeyError", "pixel_values"], "python spawn.py 3 --fault key")
real("q_spawn_segv", "application_error", [2], ["rank 2|process 2", "SIGSEGV|segmentation"], "python spawn.py 3 --fault sigsegv --who 2")
real("q_spawn_exit", "application_error|unknown", [1], ["rank 1|process 1", "3"], "python spawn.py 3 --fault exit")
real("q_timeout_error", "application_error", [3], ["rank 3", "TimeoutError", "batch"],
     f"{FOUR} --fault raise --who 3 --text 'TimeoutError: no batch within 30 s from queue 2'")
real("q_broken_pipe", "application_error", [0], ["rank 0", "BrokenPipeError|Broken pipe"],
     f"{FOUR} --fault raise --who 0 --text 'BrokenPipeError: writer of the sample log is gone'")
real("q_connection_error", "application_error|network", [1], ["rank 1", "ConnectionError|peer table"],
     f"{FILES} --fault raise --text 'ConnectionError: peer table is empty'")
real("q_nccl_word", "application_error", [2], ["rank 2|task 2", "NCCL is not built|RuntimeError"],
     f"{SRUN} --fault raise --who 2 --text 'RuntimeError: NCCL is not built into this image'")
real("q_memory_word", "application_error|host", [3], ["rank 3", "ValueError|memory"],
     f"{FOUR} --fault raise --who 3 --text 'ValueError: memory bank of 0 entries'")
real("q_lock_srun", "cpu_stall|unknown|communication_stall", [1], ["rank 1|task 1"],
     f"{SRUN} --fault lock --noise 1 --seconds 25")
real("q_kill_tag", "unknown|host|scheduler|application_error", [3], ["rank 3", "kill|signal 9|SIGKILL"], f"{TAG} --fault sigkill --who 3")
real("q_worker_tag", "application_error", [1], ["rank 1", "ValueError|columns|37"], f"{TAG} --bad raise --workers 1 --steps 40")
real("q_mpi_abort", "application_error", [3], ["rank 3", "abort", "17|experts"], "mpirun -np 4 fit_mpi abort 3")
real("q_mpi_segv_tag", "application_error", [0], ["rank 0", "segmentation|SIGSEGV|signal 11"], "mpirun --tag-output -np 2 fit_mpi segv 0")
real("q_skip_pair", "cpu_stall|unknown|communication_stall|collective_mismatch|uneven_work", [], ["time(d)? ?out|closed|Gloo"],
     f"{TWO} --fault skip", may=[0, 1])
real("q_nodes_key", "application_error", [3], ["rank 3", "KeyError", "pixel_values"], f"{NODES} --fault key --who 3")
real("q_nodes_kill", "unknown|host|scheduler|application_error", [2], ["rank 2", "SIGKILL|kill"], f"{NODES} --fault sigkill --who 2")
real("q_disk_srun", "host", [0], ["rank 0|task 0", "space"], f"tmpdisk 30 {FOUR} --fault full --who 0 --text $DISK")
real("q_nan_noise", "numerical_divergence", [], ["nan"], f"{FOUR} --fault nan --who 0 --noise 1", may=[0])
real("q_diverge_srun", "numerical_divergence", [], ["diverg|loss"], f"{SRUN} --fault diverge --who 0 --steps 60 --at 40")
real("q_step_too_large", "scheduler|unknown|application_error", [], ["create step|processors"], f"sbatch 1 {SRUN} --steps 20")
real("q_time_limit", "scheduler", [], ["time limit"],
     "sbatch 1 srun --mem=3000 -n3 --label python fit.py --steps 100000 --pause 2")
real("q_files_absent", "cpu_stall|unknown|communication_stall", [2], ["rank 2"], f"{FILES} --fault sleep --who 2 --noise 1 --seconds 25")
real("v_spawn", "healthy", [], [], "python spawn.py 3 --steps 20")
real("v_nodes", "healthy", [], [], f"{NODES} --steps 20")
real("v_restart", "healthy", [], [], "torchrun --nproc_per_node 4 --max_restarts 3 --tee 3 fit.py --fault raise --text 'ValueError: bad seed' --steps 40")
real("v_slow_noise", "healthy", [], [], f"{SRUN} --fault slow --noise 1 --steps 40 --at 10")
