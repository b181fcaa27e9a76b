# SPDX-License-Identifier: Apache-2.0
"""A ninth part: sources that the other parts have least of (RCCL and MES, NVSHMEM and DeepEP, fabric managers,
Composer's launcher, torchft, NeMo-Run's labels, axolotl, megascale, InfiniBand's rarer codes). The forms are those
of public issue threads; the truth was written before any verdict was seen."""
from case import dead, healthy, log
from forms import *

A, U = "application_error", "unknown"
STUCK = "cpu_stall|gpu_stall|communication_stall|communication|network|peer_died|unknown"


def axolotl(text, rank, pid, level="INFO", where="axolotl.train.execute_training:225", s=0):
    return f"[2026-03-14 10:{s // 60:02d}:{s % 60:02d},656] [{level}] [{where}] [PID:{pid}] [RANK:{rank}] {text}"


def composer(text, rank, pid, s=0, where="composer.trainer.trainer", level="INFO"):
    return f"2026-03-14 10:{s // 60:02d}:{s % 60:02d},920: rank{rank}[{pid}][MainThread]: {level}: {where}: {text}"


def ft(text, replica, s=0, level="INFO"):
    return f"2026-03-14T10:{s // 60:02d}:{s % 60:02d}.678 [{level}] [torchft::manager] - [Replica torchtitan_ft_{replica}] {text}"


# ---- GPUs and their drivers -------------------------------------------------------------------------
dead("n9_mes_remove_queue", "gpu_hardware|driver_firmware|cuda_error", [], ["MES|GPU|amdgpu|reset"], {
    "train.log": log(plain(1, 30)),
    "dmesg.txt": log("[ 950.818166] amdgpu 0000:c5:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE\n"
                     "[ 950.818171] amdgpu 0000:c5:00.0: amdgpu: failed to remove hardware queue from MES, doorbell=0x1802\n"
                     "[ 950.818174] amdgpu 0000:c5:00.0: amdgpu: MES might be in unrecoverable state, issue a GPU reset\n"
                     "[ 950.818199] amdgpu 0000:c5:00.0: amdgpu: GPU reset begin!. Source:  3")})
dead("n9_fabric_manager_802", "driver_firmware|cuda_error|host|application_error", [], ["802|not yet initialized"], log(
    "Note: NVIDIA H200 x8\n" + tb("RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
    "NumCudaDevices() that might have already set an error? Error 802: system not yet initialized",
    "/srv/t/train.py:12:<module>:torch.cuda.set_device(local_rank)")), never=["out of memory"])
dead("n9_cuda_802_nccl", "driver_firmware|cuda_error|host", [3], ["rank 3", "802|not yet initialized"], log({
    "r3": nccl("b200-1", 4103, 3, "Cuda failure 802 'system not yet initialized'", src="init.cc:512") + "\n" +
          tb("torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:94, unhandled cuda error, NCCL version 2.27.3", MAIN, rank=3)}), may=[])
dead("n9_fm_kernel", "gpu_hardware|driver_firmware|network|host", [], ["NVLink|NVSwitch|SXid|fabric|link"], {
    "train.log": log(plain(1, 30)),
    "fabricmanager.log": log("[Mar 14 2026 10:05:00] [ERROR] [tid 2210] failed to train NVLink between GPU 3 and NVSwitch 1, link 12: link is in recovery state\n"
                             "[Mar 14 2026 10:05:01] [ERROR] [tid 2210] fabric partition 0 is degraded, aborting all CUDA jobs")})
dead("n9_mig_gone", "cuda_error|application_error|driver_firmware", [], ["MIG|no CUDA-capable|invalid device"], log(plain(1, 9) + "\n" + tb(
    cuda("no CUDA-capable device is detected").strip(), "/srv/t/train.py:40:main:x = x.cuda()")))
dead("n9_te_cublas", "cuda_error|application_error", [2], ["rank 2", "cublas|CUBLAS|TransformerEngine|gemm"], log({"r0": plain(1, 9), "r2": tb(
    "RuntimeError: /te/common/gemm/cublaslt_gemm.cu:319 in function cublas_gemm: Assertion failed: status != CUBLAS_STATUS_NOT_SUPPORTED. "
    "Unable to find suitable cuBLAS GEMM algorithm", STEP, rank=2)}))
dead("n9_graph_capture", "cuda_error|application_error", [5], ["rank 5", "captur"], log({"r0": plain(1, 9), "r5": tb(
    cuda("operation not permitted when stream is capturing").strip(), STEP, rank=5)}))
dead("n9_bnb_setup", A, [], ["bitsandbytes|CUDA Setup failed|libbitsandbytes"], log(
    "bitsandbytes library load error: Configured CUDA binary not found at /opt/bnb/libbitsandbytes_cuda130.so\n" + tb(
        "RuntimeError: Configured CUDA binary not found at /opt/bnb/libbitsandbytes_cuda130.so", "/srv/t/lora.py:8:<module>:import bitsandbytes as bnb")))

# ---- communication ----------------------------------------------------------------------------------
dead("n9_deepep_barrier", STUCK, [], ["DeepEP|timeout|rank"], log(plain(1, 20), {
    f"r{r}": "\n".join(f"DeepEP timeout check failed: rank = {r}, thread = {t}, value = {1024 if t == 5 else 0})" for t in range(8)) for r in (6, 2)}),
    may=[0, 1, 2, 3, 4, 5, 6, 7], free=False)  # 100 s after the last step anywhere
dead("n9_deepep_dispatch", STUCK + "|application_error|cuda_error", [], ["DeepEP|dispatch"], log(plain(1, 9) + "\n" + tb(
    "RuntimeError: DeepEP error: timeout (dispatch CPU)", "/srv/t/moe.py:377:dispatch:return self.internode_dispatch(x, handle)")))
dead("n9_nvshmem_init", "network|unknown|application_error|host", [], ["nvshmem|NVSHMEM|connect|status: 7"], log(
    "/opt/nvshmem/src/modules/transport/ibrc/ibrc.cpp:1433: non-zero status: 7 connect EPS failed \n"
    "/opt/nvshmem/src/host/init/init.cu:1007: non-zero status: 7 nvshmem setup connections failed \n"
    "/opt/nvshmem/include/host/nvshmemx_api.h:63: non-zero status: 7: Connection timed out, exiting..."))
dead("n9_ib_rnr", "network|peer_died|unknown|communication", [], ["13|RNR|receiver", "gx-4|10.4.0.12"], log({
    "r0": plain(1, 9), "r4": nccl("gx-4", 440, 0, "NET/IB: Got completion from peer 10.4.0.12<41022> with status=13 opcode=0 len=0 vendor err 135 (Send) "
    "localGid fe80::4 remoteGid fe80::c hca mlx5_1", src="transport/net_ib.cc:1310")}), may=[4])
dead("n9_ib_local_protection", "network|application_error|host|unknown|gpu_hardware", [], ["status 4|local protection", "gx-4"], log({
    "r0": plain(1, 9), "r4": nccl("gx-4", 440, 0, "NET/IB: Got completion from peer 10.4.0.12<41022> with status=4 opcode=0 len=0 vendor err 81 (Send) "
    "localGid fe80::4 remoteGid fe80::c hca mlx5_1", src="transport/net_ib.cc:1310")}), may=[4])
dead("n9_rccl_unhandled", "cuda_error|application_error|network|unknown|gpu_hardware", [1], ["rank 1", "RCCL|NCCL|hip|HIP"], log({"r0": plain(1, 9), "r1": tb(
    "torch.distributed.DistBackendError: NCCL error in: /opt/pytorch/torch/csrc/distributed/c10d/NCCLUtils.hpp:219, unhandled cuda error (run with "
    "NCCL_DEBUG=INFO for details), RCCL version 2.22.3\nncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\n"
    "HIP failure: 'out of memory'", MAIN, rank=1)}))
dead("n9_megascale_hang", STUCK, [], ["[Mm]egascale|hang|slice"], log(
    "\n".join(f"I0314 10:00:{i:02d}.000000  81 train.py:88] step {i}, loss={4 - i * .01:.3f}" for i in range(1, 40)) +
    "\nE0314 10:20:41.118000     912 megascale_hang.cc:231] Megascale detects a hang that is likely caused by an unrecoverable error on a TPU in slice 3.\n"
    "F0314 10:20:42.118000     912 megascale_hang.cc:288] aborting because megascale_abort_on_hangs is set"))
dead("n9_torchft_no_quorum", "cpu_stall|peer_died|network|unknown|application_error", [], ["quorum|replica"], log(
    plain(1, 20) + "\n" + ft("got exception in quorum thread: lighthouse did not answer within 60 s", 0, 130, "ERROR") + "\n" + tb(
        "TimeoutError: quorum timed out: New quorum not ready, only have 1 participants, need min_replicas 2", "/srv/t/train.py:61:train:manager.start_quorum()")))

# ---- launchers and frameworks -----------------------------------------------------------------------
dead("n9_composer_sigbus", f"{A}|host|{U}", [2], ["rank 2", "-7|SIGBUS|bus|Bus"], log(
    composer("Building trainer", 0, 2208, 1, "llmfoundry.command_utils.train") + "\n" + composer("Setting seed to 17", 0, 2208, 2, "composer.utils.reproducibility") +
    "\nERROR:composer.cli.launcher:Rank 2 crashed with exit code -7.\nWaiting up to 30 seconds for all training processes to terminate. Press Ctrl-C to exit immediately.\n"
    "Global rank 0 (PID 2208) exited with code -15\nERROR:composer.cli.launcher:Global rank 0 (PID 2208) exited with code -15"))
dead("n9_composer_segv", f"{A}|{U}", [0], ["rank 0", "-11|SIGSEGV|segmentation"], log(
    composer("Run name: llm-12", 0, 208865, 1) + "\nERROR:composer.cli.launcher:Global rank 0 (PID 208865) exited with code -11"))
dead("n9_nemo_run_label", A, [0], ["ValueError|sharded|shape"], log("\n".join(
    "i.pretrain/0 " + line for line in (
        "[NeMo I 2026-03-14 10:00:01 nemo_logging:393] Rank 0 has data parallel group : [0]\n" +
        "\n".join(f"Training epoch 0, iteration {i}/999 | lr: 3e-4 | global_step: {i} | reduced_train_loss: {11 - i * .1:.3f}" for i in range(30)) + "\n" +
        "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/opt/NeMo/nemo/lightning/io/pl.py\", line 188, in save_checkpoint\n"
        "[rank0]:     return dist_checkpointing.save(checkpoint)\n[rank0]: ValueError: flattened range of sharded tensor 'decoder.final_norm' has shape (0,)").split("\n"))))
dead("n9_axolotl_tokens", A, [2], ["rank 2", "include_tokens_per_second|AttributeError"], log({
    "r0": axolotl("Starting trainer...", 0, 13837, s=1),
    "r2": tb("AttributeError: 'NoneType' object has no attribute 'include_tokens_per_second'", "/opt/axolotl/cli/train.py:93:do_cli:do_train(cfg)", rank=2)}))
dead("n9_llamafactory_subprocess", f"{A}|{U}", [], ["FileNotFoundError|dataset_info"], log(
    "[INFO|2026-03-14 10:00:01] llamafactory.cli:143 >> Initializing 8 distributed tasks at: 127.0.0.1:46265\n" +
    tb("FileNotFoundError: Cannot open data/dataset_info.json", "/srv/lf/data/parser.py:101:get_dataset_list:raise err") + "\n" +
    tb("subprocess.CalledProcessError: Command '['torchrun', '--nnodes', '1', '--nproc_per_node', '8', 'launcher.py']' returned non-zero exit status 1.",
       "/usr/lib/python3.11/subprocess.py:571:run:raise CalledProcessError(retcode, process.args,")), never=["subprocess.py"])
dead("n9_map_remote_trace", A, [], ["UnboundLocalError|tokens"], log("Map (num_proc=24):  64%|######    | 33416/52002 [00:02<00:01, 11257.98 examples/s]\n"
    "multiprocess.pool.RemoteTraceback:\n\"\"\"\n" + tb("UnboundLocalError: local variable 'tokens' referenced before assignment", "/srv/t/tokenize.py:129:encode:return tokens") +
    "\n\"\"\"\n\nThe above exception was the direct cause of the following exception:\n\n" + tb("UnboundLocalError: local variable 'tokens' referenced before assignment", MAIN)))
dead("n9_fsdp_flat", A, [6], ["rank 6", "FlatParameter|requires_grad"], log({"r0": plain(1, 3), "r6": tb(
    "ValueError: Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`: FlatParameter 12", MAIN, rank=6)}))
dead("n9_gpfs_stale", "host|application_error", [], ["Stale|stale|/gpfs"], log({"r0": plain(1, 30), "r4": tb(
    "OSError: [Errno 116] Stale file handle: '/gpfs/ckpt/step_3000/shard_4.pt'", "/srv/t/ckpt.py:40:save:torch.save(state, path)", rank=4)}), may=[4])
dead("n9_pod_memory_evicted", "host", [], ["memory|evict|Evict"], {"train.log": log(plain(1, 30)), "events.txt": log(
    "LAST SEEN   TYPE      REASON    OBJECT          MESSAGE\n3m   Warning   Evicted   pod/llm-worker-5   The node was low on resource: memory. Threshold quantity: 100Mi, available: 41212Ki. "
    "Container trainer was using 1022Gi, request is 900Gi, has larger consumption of memory.")}, may=[5])

# ---- healthy ----------------------------------------------------------------------------------------
healthy("n9k_torchft_heals", log(plain(1, 30) + "\n" + ft("healing is required step=0, max_step=10, recover_src_replica_rank=0", 1, 121) + "\n" +
                                 ft("Finished quorum for group_rank 1", 1, 122) + "\n" + plain(31, 90, m=3)), ordered=True)
healthy("n9k_lighthouse_waits", log("torchft::lighthouse: 2026-03-14T10:00:00.422+00:00 - INFO start: No quorum, only have 1 participants, need 2\n" * 3 + plain(1, 90, m=1)), ordered=True)
healthy("n9k_composer_warns", log(
    "UserWarning: `device_train_microbatch_size='auto'` may potentially fail with unexpected CUDA errors. Auto microbatching attempts to catch CUDA Out of Memory errors and adjust the batch size.\n  warnings.warn((\n" +
    composer("CUDA out of memory detected. Train microbatch size will be decreased from 16 -> 8.", 0, 2208, 2) + "\n" + plain(1, 90, m=1)), ordered=True)
healthy("n9k_nemo_labels", log("\n".join("i.pretrain/0 " + t for t in (
    ["[NeMo W 2026-03-14 10:00:00 nemo_logging:361] failed to import apex, fused kernels are off"] +
    [f"Training epoch 0, iteration {i}/999 | lr: 3e-4 | global_step: {i} | reduced_train_loss: {11 - i * .1:.3f}" for i in range(60)]))))
healthy("n9k_axolotl_start", log(axolotl("batch_size is not recommended. Please use gradient_accumulation_steps instead.", 0, 640, "WARNING", "axolotl.validate_config:16") + "\n" +
                                 axolotl("Unable to find prepared dataset in last_run_prepared/ba96bd8ae009", 0, 640, s=2) + "\n" + hf(10, 900)), ordered=True)
healthy("n9k_nvshmem_warns", log("WARN: IB: read failed in ib_roce_get_version_num: Invalid argument\n" * 6 + plain(1, 90)), ordered=True)
healthy("n9k_amdgpu_ring_reset", {"train.log": log(plain(1, 90)), "dmesg.txt": log("[ 327.006239] sched: RT throttling activated\n[ 950.818166] amdgpu 0000:04:00.0: amdgpu: SMU is initialized successfully!")})
healthy("n9k_fm_info", {"train.log": log(plain(1, 90)), "fabricmanager.log": log(
    "[Mar 14 2026 09:05:00] [INFO] [tid 2210] Fabric Manager version 570.86 is running with the following configuration options\n"
    "[Mar 14 2026 09:05:01] [INFO] [tid 2210] LINK_TRAINING_TIMEOUT=20\n[Mar 14 2026 09:05:09] [INFO] [tid 2210] Successfully configured all the available NVSwitches to route GPU NVLink traffic.")})
healthy("n9k_flash_missing", log("WARNING: flash_attn is not installed, error in import ignored; using SDPA\n" + plain(1, 90)), ordered=True)
healthy("n9k_grad_overflow", log(plain(1, 30) + "\n[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n" + plain(31, 90, m=3)), ordered=True)
healthy("n9k_compile_graph_break", log("W0314 10:00:01.000000 81 torch/_dynamo/convert_frame.py:906] [3/8] torch._dynamo hit config.recompile_limit (8)\n"
    "W0314 10:00:01.000000 81 torch/_dynamo/convert_frame.py:906] [3/8]    function: 'forward' (/srv/t/model.py:81) last reason: 3/0: tensor 'x' size mismatch at index 0. expected 16, actual 8\n" + plain(1, 90, m=1)), ordered=True)
healthy("n9k_eval_accuracy", log(plain(1, 60) + "\n2026-03-14 10:04:10 INFO eval: word error rate 4.1, failed cases 12 of 880, timeout cases 0\n" + plain(61, 90, m=5)), ordered=True)
healthy("n9k_ecc_corrected", {"train.log": log(plain(1, 90)), "dmesg.txt": log("[ 88.10] EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0\n[ 90.10] mce: [Hardware Error]: Corrected error, no action required.")})
healthy("n9k_sigterm_handler", log("2026-03-14 09:59:58 INFO SIGTERM handler installed: will checkpoint and exit on SIGTERM\n" + plain(1, 90)))
healthy("n9k_retry_download", log("huggingface_hub.utils: '(ReadTimeoutError(\"HTTPSConnectionPool: Read timed out. (read timeout=10)\"))' thrown while requesting HEAD config.json\n"
                                  "Retrying in 1s [Retry 1/5].\n" + plain(1, 90)), ordered=True)
