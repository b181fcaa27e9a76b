# SPDX-License-Identifier: Apache-2.0
"""GPUs: memory, illegal accesses, Xid, the bus, the driver; NVIDIA, AMD and Ascend."""
from case import dead, log
from forms import *

dead("gpu_oom_one_rank_then_timeouts", "cuda_oom", [5], ["rank 5", r"out of memory|memory"], log(
    megatron(1201, 1206),
    {"r5": tb(oom(5), MAIN, LOOP, STEP, rank=5)},
    {f"r{r}": watchdog(r, 60312, done=60311) for r in (0, 1, 2, 3, 4, 6, 7)},
    {"agent": elastic([(0, 0, -6, 71230)], stop=(71231, 71232), stamp="0314 10:15:44.704000",
                      when="2026-03-14_10:15:44")}))

dead("gpu_oom_all_ranks", "cuda_oom", [0, 1, 2, 3], ["memory", r"rank|ranks"], log(
    plain(1, 3),
    {f"r{r}": tb(oom(r, "4.50 GiB"), MAIN, LOOP, STEP, BACK, rank=r) for r in range(4)},
    {"agent": elastic([(0, 0, 1, 801), (1, 1, 1, 802), (2, 2, 1, 803), (3, 3, 1, 804)])}))

dead("gpu_oom_old_form", "cuda_oom", [], ["memory", r"304\.00 MiB|GPU 0"], log(
    hf(10, 60),
    tb("RuntimeError: CUDA out of memory. Tried to allocate 304.00 MiB (GPU 0; 23.70 GiB total capacity; 21.90 GiB "
       "already allocated; 120.56 MiB free; 22.31 GiB reserved in total by PyTorch) If reserved memory is >> "
       "allocated memory try setting max_split_size_mb to avoid fragmentation.", MAIN, STEP)), may=[0])

dead("gpu_oom_cublas_create", "cuda_error|cuda_oom", [2], ["rank 2", "CUBLAS_STATUS_ALLOC_FAILED|cublas"], log(
    plain(1, 5),
    {"r2": tb("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", MAIN, LOOP,
              STEP, rank=2)},
    {"agent": elastic([(2, 2, 1, 4402)], stop=(4400, 4401, 4403))}))

dead("gpu_illegal_access_srun", "cuda_error", [11], ["rank 11", "illegal memory access"], log(
    {"r0": megatron(880, 886)},
    {"r11": tb(cuda("an illegal memory access was encountered"), MAIN, LOOP, STEP, rank=11)},
    {"r3": watchdog(3, 9120), "r8": watchdog(8, 9120)},
    {"slurm": "srun: error: gpu-n2: task 11: Exited with exit code 1\n"
              "srun: Terminating StepId=91822.0\n"
              "slurmstepd: error: *** STEP 91822.0 ON gpu-n1 CANCELLED AT 2026-03-14T10:13:02 ***\n"
              "srun: error: gpu-n1: tasks 0-7: Terminated\n"
              "srun: error: gpu-n2: tasks 8-10,12-15: Terminated"}, prefix="srun"))

dead("gpu_assert_index", "cuda_error|application_error", [1], ["rank 1", "assert"], log(
    hf(10, 40),
    {"r1": "../aten/src/ATen/native/cuda/Indexing.cu:1369: indexSelectSmallIndex: block: [12,0,0], thread: [64,0,0] "
           "Assertion `srcIndex < srcSelectDimSize` failed.\n" * 3 +
           tb(cuda("device-side assert triggered"), MAIN, STEP,
              "/workspace/model.py:88:forward:h = self.wte(input_ids)", rank=1)},
    {"agent": elastic([(1, 1, 1, 5501)], stop=(5500,))}))

dead("gpu_xid79_with_map", "gpu_hardware", [3], ["rank 3", r"bus|Xid 79"], {
    "train.log": log(nccl_init("gpu07", 31200, 8, bus=0x1b), megatron(300, 306),
                     {"r3": tb(cuda("unspecified launch failure"), MAIN, LOOP, rank=3)},
                     {"r0": watchdog(0, 5101), "r6": watchdog(6, 5101)}),
    "gpu07-dmesg.txt": log(
        xid(79, "GPU has fallen off the bus.", "88123.412210", "0000:4b:00", pid=31203) + "\n" +
        "[88123.412233] NVRM: GPU 0000:4b:00.0: GPU has fallen off the bus.\n" +
        xid(154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", "88123.511210",
            "0000:4b:00"))}, merge="class")

dead("gpu_xid79_dmesg_only", "gpu_hardware", [], ["bus", "0000:ca:00"], {
    "dmesg-node12.log":
    "[    0.000000] Linux version 5.15.0-105-generic (buildd@lcy02) #115-Ubuntu SMP\n"
    "[12051.001002] nvidia-nvlink: Nvlink Core is being initialized, major device number 510\n"
    "[90211.118101] NVRM: GPU at PCI:0000:ca:00: GPU-509665ad-1f1e-4b7c-a0ab-0242ac120002\n" +
    xid(79, "GPU has fallen off the bus.", "90211.118110", "0000:ca:00") + "\n"
    "[90211.118140] NVRM: A GPU crash dump has been created. If possible, please run\n"
    "[90223.400000] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up"})

dead("gpu_ecc_xid48", "gpu_hardware", [6], ["rank 6", "ECC|memory"], {
    "job.log": log(nccl_init("h100-31", 9100, 8), plain(1, 6),
                   {"r6": tb(cuda("uncorrectable ECC error encountered"), MAIN, LOOP, STEP, rank=6)},
                   {"r1": watchdog(1, 411)}),
    "kern.log": log("\n".join([
        xid(48, "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physical "
            "address 0x2f10a0", "Mar 14 10:02:04", "0000:7b:00", "h100-31", 9106),
        xid(45, "Ch 00000001, errorString CTX SWITCH TIMEOUT", "Mar 14 10:02:05", "0000:7b:00", "h100-31", 9106),
        xid(63, "Row remapping event: remap pending", "Mar 14 10:02:05", "0000:7b:00", "h100-31")]))}, merge="class")

dead("gpu_contained_ecc_94", "gpu_hardware", [], ["ECC|memory", "node-19|0000:0f:00|Xid 94"], log(
    "\n".join([
        xid(94, "Contained: SM (0x1). RST: No, D-RST: No", "Mar  3 02:11:09", "0000:0f:00", "node-19", 7711),
        "Mar  3 02:11:09 node-19 slurmd[2211]: [step 88.0] task 4 exited with exit code 1",
        "Mar  3 02:11:11 node-19 slurmd[2211]: done with job 88"])))

dead("gpu_gsp_timeout", "driver_firmware", [], ["GSP", "0000:8a:00|a100-04|Xid 119"], {
    "syslog": log("\n".join([
        xid(119, "Timeout after 6s of waiting for RPC response from GPU3 GSP! Expected function 76 (GSP_RM_CONTROL) "
            "(0x20800a4c 0x4).", "Mar 14 05:03:41", "0000:8a:00", "a100-04", 2290, "nvidia-smi"),
        "Mar 14 05:03:41 a100-04 kernel: NVRM: GPU3 GSP RPC buffer contains function 4097 (GSP_INIT_DONE) and data "
        "0x0000000000000000 0x0000000000000000.",
        xid(154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "Mar 14 05:04:41",
            "0000:8a:00", "a100-04")]))})

dead("gpu_nvlink_xid74", "gpu_hardware", [], ["NVLink", "0000:3b:00|Xid 74|node-c"], {
    "node-c.kern.log": log(
        xid(74, "NVLink: fatal error detected on link 3(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", "Mar 14 11:00:01",
            "0000:3b:00", "node-c", 4182)),
    "run.log": log(plain(10, 14, h=10, m=59),
                   {"r2": tb(cuda("Invalid access of peer GPU memory over nvlink or a hardware error"), MAIN, LOOP,
                             rank=2)})}, may=[2], merge="class")

dead("gpu_xid13_then_109", "cuda_error", [], ["Xid 13|illegal|graphics"], {
    "kern.log": log("\n".join([
        xid(13, "Graphics SM Warp Exception on (GPC 3, TPC 1, SM 1): Out Of Range Address", "Mar 14 12:20:01",
            "0000:1a:00", "w3", 9921),
        xid(13, "Graphics Exception: ESR 0x51df30=0x107000e 0x51df34=0x24 0x51df28=0xf81eb60 0x51df2c=0x1174",
            "Mar 14 12:20:01", "0000:1a:00", "w3", 9921),
        xid(109, "Ch 00000012, errorString CTX SWITCH TIMEOUT, Info 0x6c012", "Mar 14 12:20:09", "0000:1a:00", "w3",
            9921)]))}, never=["replace"])

dead("gpu_driver_nvml_mismatch", "driver_firmware", [], ["version|mismatch", "driver"], log(
    "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.183",
    tb("RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
       "NumCudaDevices() that might have already set an error? Error 804: forward compatibility was attempted on "
       "non supported HW", MAIN, "/opt/conda/lib/python3.11/site-packages/torch/cuda/__init__.py:302:_lazy_init:"
       "torch._C._cuda_init()")))

dead("gpu_cuda_999", "driver_firmware|cuda_error", [], ["999|unknown error"], log(
    tb("RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env "
       "variable CUDA_VISIBLE_DEVICES after program start. Setting the available devices to be zero.",
       "/home/ml/run.py:14:<module>:torch.cuda.set_device(0)",
       "/home/ml/.venv/lib/python3.10/site-packages/torch/cuda/__init__.py:319:_lazy_init:torch._C._cuda_init()")),
     never=["replace", "drain"])

dead("amd_page_fault_kernel", "cuda_error", [4], ["rank 4", "memory access fault|page fault"], {
    "train.log": log(
        plain(50, 56),
        {"r4": "Memory access fault by GPU node-6 (Agent handle: 0x7c2be10) on address 0x7f31c0e00000. Reason: Page "
               "not present or supervisor privilege."},
        {"agent": elastic([(4, 4, -6, 22114)], stop=(22110, 22111))}),
    "dmesg.txt": log(
        "[77120.110023] amdgpu 0000:a3:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 "
        "pasid:32781, for process python pid 22114 thread python pid 22114)\n"
        "[77120.110041] amdgpu 0000:a3:00.0: amdgpu:   in page starting at address 0x00007f31c0e00000 from IH client "
        "0x1b (UTCL2)\n"
        "[77120.110055] amdgpu 0000:a3:00.0: amdgpu: VM_L2_PROTECTION_FAULT_STATUS:0x00801031\n"
        "[77120.110066] amdgpu 0000:a3:00.0: amdgpu: \t Faulty UTCL2 client ID: TCP (0x8)")}, merge="class")

dead("amd_kernel_only", "cuda_error|gpu_hardware", [], ["page fault|fault", "0000:46:00.0|amdgpu"], {
    "dmesg-mi250-2.txt": log(
        "[ 5120.110023] amdgpu 0000:46:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:3 "
        "pasid:32770, for process pt_main_thread pid 8812 thread pt_main_thread pid 8812)\n"
        "[ 5120.110041] amdgpu 0000:46:00.0: amdgpu:   in page starting at address 0x00007e31c0e00000 from IH client "
        "0x1b (UTCL2)\n"
        "[ 5120.110055] amdgpu 0000:46:00.0: amdgpu: VM_L2_PROTECTION_FAULT_STATUS:0x00301031")})

dead("amd_ras_uncorrectable", "gpu_hardware", [], ["uncorrectable|ECC|RAS|memory", "0000:c5:00.0|amdgpu|mi300-9"], {
    "mi300-9.log": log(
        "Mar 14 08:41:10 mi300-9 kernel: amdgpu 0000:c5:00.0: amdgpu: 1 uncorrectable hardware errors detected in umc "
        "block\n"
        "Mar 14 08:41:10 mi300-9 kernel: amdgpu 0000:c5:00.0: amdgpu: GPU reset begin!\n"
        "Mar 14 08:41:14 mi300-9 kernel: amdgpu 0000:c5:00.0: amdgpu: GPU reset(3) succeeded!")})

dead("amd_hip_oom", "cuda_oom", [7], ["rank 7", "memory"], log(
    hf(10, 30),
    {"r7": tb(oom(7, "1.17 GiB", "63.98 GiB", "512.00 MiB", "63.11 GiB").replace("CUDA out", "HIP out")
              .replace("CUDA_ALLOC", "HIP_ALLOC"), MAIN, STEP, rank=7)},
    {"agent": elastic([(7, 7, 1, 907)], stop=(900, 901))}))

dead("npu_oom", "cuda_oom", [3], ["rank 3", "memory"], log(
    plain(1, 4),
    {"r3": tb("RuntimeError: NPU out of memory. Tried to allocate 1.95 GiB (NPU 3; 60.97 GiB total capacity; 57.80 GiB "
              "already allocated; 57.80 GiB current active; 1.20 GiB free; 58.90 GiB reserved in total by PyTorch) If "
              "reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.\n"
              "[ERROR] 2026-03-14-10:21:10 (PID:7313, Device:3, RankID:3) ERR99999 UNKNOWN application exception",
              MAIN, LOOP, STEP, rank=3)},
    {"agent": elastic([(3, 3, 1, 7313)], stop=(7310, 7311, 7312))}))

dead("npu_aicore_exception", "cuda_error|gpu_hardware", [2], ["rank 2|device 2", "aicore|AI Core|EZ9999|507015"], log(
    plain(1, 9),
    {"r2": tb("RuntimeError: The Inner error is reported as above. The process exits for this inner error, and the "
              "current working operator name is MatMul.\n"
              "[ERROR] 2026-03-14-10:21:31 (PID:40112, Device:2, RankID:2) ERR00100 PTA call acl api failed", MAIN,
              LOOP, rank=2) +
           "\n[rank2]: EZ9999: Inner Error!\n[rank2]: EZ9999: [PID: 40112] 2026-03-14-10:21:30.881.204 The error from "
           "device(chipId:2, dieId:0), serial number is 7, there is an exception of aicore error, core id is 11, error "
           "code = 0x800000, dump info: pc start: 0x1240c00ff000.\n[rank2]: rtStreamSynchronize execute failed, "
           "reason=[the model stream execute failed][error code is 507015]"}))
