#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A synthetic run as the profilers of other devices would have recorded it: Ascend's trace_view.json,
rocprof's and rocprofv3's JSON, Kineto with the categories of other backends. Used by convert.py."""
import bisect
import json
import os


def us(ns):
    return "%d.%03d" % (ns // 1000, ns % 1000)


def is_comm(event):
    return event["cat"] == "kernel" and "nccl" in event["name"]


def write(out, name, doc):
    os.makedirs(os.path.dirname(os.path.join(out, name)), exist_ok=True)
    with open(os.path.join(out, name), "w") as file:
        json.dump(doc, file)


# ---- Ascend: torch_npu's trace_view.json ----------------------------------------------------

ASCEND_OPS = (
    ("gemm", "aclnnMatmul_MatMulCommon_MatMulV2", "AI_CORE"),
    ("flash_fwd", "aclnnFlashAttentionScore_FlashAttentionScore", "MIX_AIC"),
    ("flash_bwd", "aclnnFlashAttentionScoreGrad_FlashAttentionScoreGrad", "MIX_AIC"),
    ("Norm", "aclnnLayerNorm_LayerNormV4", "AI_VECTOR_CORE"),
    ("adam", "aclnnApplyAdamWV2_ApplyAdamWV2", "AI_VECTOR_CORE"),
)


def ascend_op(name):
    for word, op, task in ASCEND_OPS:
        if word.lower() in name.lower():
            return op, task
    return "Cast" if len(name) % 2 else "Mul", "AI_VECTOR_CORE"


def hcom_of(args):
    return {
        "allreduce": "hcom_allReduce_",
        "_allgather_base": "hcom_allGather_",
        "_reduce_scatter_base": "hcom_reduceScatter_",
    }.get(args.get("Collective name", ""), "hcom_alltoallv_")


def ascend_meta(pid, name, label, threads):
    rows = [("process_name", {"name": name}), ("process_labels", {"labels": label})]
    out = [{"name": n, "pid": pid, "tid": 0, "ph": "M", "args": a} for n, a in rows]
    for tid, text in threads.items():
        out.append({"name": "thread_name", "pid": pid, "tid": tid, "ph": "M", "args": {"name": text}})
    return out


def ascend_rank(rank):
    """Layers as processes: Python, CANN, Ascend Hardware, Communication, Overlap Analysis."""
    python, cann, device, comm, overlap = (rank.rank << 10 | layer << 5 for layer in (1, 2, 5, 6, 7))
    events, streams, ordinal = [], {}, 0

    def add(pid, tid, name, start, end, args=None, cat=None):
        row = {"name": name, "pid": pid, "tid": tid, "ts": us(rank.base + start), "ph": "X"}
        row["dur"] = (end - start) / 1000
        if cat:
            row["cat"] = cat
        row["args"] = args or {}
        events.append(row)

    for e in rank.of("cpu_op", "user_annotation"):
        # older versions write no categories
        cat = "cpu_op" if rank.rank % 2 or e["cat"] == "cpu_op" else None
        add(python, e["tid"], e["name"], e["start"], e["end"], {"Sequence number": -1}, cat)
    launched = {e["args"]["correlation"]: e for e in rank.of("kernel", "gpu_memcpy", "gpu_memset")}
    for e in rank.of("cuda_runtime", "cuda_driver"):
        connection = e["args"]["correlation"]
        work = launched.get(connection)
        args = {"Thread Id": e["tid"], "Mode": "launch", "level": "node", "id": "0"}
        args["item_id"] = ascend_op(work["name"])[0] if work else e["name"]
        args["connection_id"] = connection
        name = "Node@launch" if work else "AscendCL@aclrt" + e["name"][4:]
        add(cann, e["tid"], name, e["start"], e["end"], args)
    for e in sorted(launched.values(), key=lambda e: e["start"]):
        stream, connection = int(e["args"]["stream"]), e["args"]["correlation"]
        task = {"Model Id": 4294967295, "Task Type": "", "Physic Stream Id": stream}
        task.update({"Task Id": connection, "Batch Id": 0, "Subtask Id": 4294967295})
        task["connection_id"] = connection
        streams[stream] = "Stream %d" % stream
        if is_comm(e):
            name = "%s_%s_%d_1" % (hcom_of(e["args"]), "072", ordinal)
            args = {"connection_id": connection, "model id": 4294967295, "data_type": "BFP16"}
            args.update({"alg_type": "MESH-RING-NHR", "count": e["args"]["In msg nelems"]})
            add(comm, 1, name, e["start"], e["end"], args)
            half = (e["start"] + e["end"]) // 2
            plane = {"notify_id": 7, "stream id": stream, "task id": 1, "context id": 1}
            add(comm, 2, "Notify_Wait", e["start"], half, dict(plane, **{"task type": "Notify Wait"}))
            add(comm, 2, "Memcpy", half, e["end"], dict(plane, **{"task type": "SDMA", "size(Byte)": 8}))
            wait = dict(task, **{"Task Type": "NOTIFY_WAIT_SQE"})
            add(device, stream, "Notify_Wait", e["start"], half, wait)
            copy = dict(task, **{"Task Type": "SDMA_SQE"})
            add(device, stream, "Memcpy", half, e["end"], copy)
            ordinal += 1
            continue
        name, kind = ascend_op(e["name"])
        if e["cat"] != "kernel":
            name, kind = "MEMCPY_ASYNC", "MEMCPY_ASYNC"
        task["Task Type"] = kind
        add(device, stream, name, e["start"], e["end"], task)
        add(overlap, 1, "Computing", e["start"], e["end"])
        # the stream waits for an event after each kernel: no work
        wait = dict(task, **{"Task Type": "EVENT_WAIT", "connection_id": connection + 10**6})
        add(device, stream + 1000, "EVENT_WAIT", e["end"], e["end"] + 20000, wait)
    meta = ascend_meta(python, "Python", "CPU", {})
    meta += ascend_meta(cann, "CANN", "CPU", {})
    meta += ascend_meta(device, "Ascend Hardware", "NPU", streams)
    meta += ascend_meta(comm, "Communication", "NPU", {1: "Group 0 Communication", 2: "Plane 0"})
    meta += ascend_meta(overlap, "Overlap Analysis", "NPU", {1: "Computing"})
    return events + meta


def ascend(ranks, out):
    for rank in ranks:
        # processes start in any order: only profiler_info_RANK.json says which rank it is
        folder = "%s_%d_20260115080000%03d_ascend_pt" % (rank.host, 4999 - rank.rank, rank.rank)
        write(out, folder + "/ASCEND_PROFILER_OUTPUT/trace_view.json", ascend_rank(rank))
        write(out, folder + "/profiler_info_%d.json" % rank.rank, {"rank_id": rank.rank})


def ascend_kernels(ranks, out):
    """kernel_details.csv alone: no launches, and no groups but in the names of HCCL's operations."""
    head = "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),"
    head += "Duration(us),Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types\n"
    for rank in ranks:
        folder = "%s_%d_20260115080000%03d_ascend_pt" % (rank.host, 4999 - rank.rank, rank.rank)
        write(out, folder + "/profiler_info_%d.json" % rank.rank, {"rank_id": rank.rank})
        os.makedirs(os.path.join(out, folder, "ASCEND_PROFILER_OUTPUT"), exist_ok=True)
        marks = [e for e in rank.of("user_annotation") if e["name"].startswith("ProfilerStep#")]
        launches = {e["args"]["correlation"]: e["start"] for e in rank.of("cuda_runtime", "cuda_driver")}
        ordinal = 0
        with open(os.path.join(out, folder, "ASCEND_PROFILER_OUTPUT", "kernel_details.csv"), "w") as file:
            file.write(head)
            for e in sorted(rank.of("kernel", "gpu_memcpy", "gpu_memset"), key=lambda e: e["start"]):
                at = launches.get(e["args"]["correlation"], e["start"])
                step = [m["name"].split("#")[1] for m in marks if m["start"] <= at < m["end"]]
                if is_comm(e):
                    name, core = "%s_%s_%d_1" % (hcom_of(e["args"]), "072", ordinal), "HCCL"
                    ordinal += 1
                elif e["cat"] == "kernel":
                    name, core = ascend_op(e["name"])
                else:
                    name, core = "MEMCPY_ASYNC", "SDMA_SQE"
                file.write("%s,0,4294967295,%d,%s,%s,%s,dynamic,%s,%s\t,%.3f,0.0,24,0,NO," % (
                    step[0] if step else "", e["args"]["correlation"], e["args"]["stream"], name,
                    name.split("_")[-1], core, us(rank.base + e["start"]), (e["end"] - e["start"]) / 1000))
                file.write('"""%s;64,64""",BFLOAT16;BFLOAT16\n' % ",".join(map(str, e["args"].get("grid", [1]))))


# ---- ROCm -----------------------------------------------------------------------------------


def rccl(event):
    """RCCL runs every collective in a few kernels: their names say no more."""
    if is_comm(event):
        return "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"
    return event["name"]


def rocprof(ranks, out):
    """rocprof --hip-trace: no categories; processes named by what they are, times as text."""
    for rank in ranks:
        rows, gpu = [{}], 6
        for pid, name in ((2, "CPU HIP API"), (gpu, "GPU%d" % (rank.rank % 4)), (1, "Markers and Ranges")):
            rows.append({"args": {"name": name}, "ph": "M", "pid": str(pid), "name": "process_name"})

        def add(pid, tid, name, event, args):
            rows.append({
                "ts": us(rank.base + event["start"]),
                "dur": us(event["end"] - event["start"]),
                "pid": str(pid), "tid": str(tid), "name": name, "args": args, "ph": "X",
            })

        for e in rank.of("kernel", "gpu_memcpy", "gpu_memset"):
            name = rccl(e) if e["cat"] == "kernel" else "hipMemcpyAsync"
            args = {"BeginNs": str(e["start"]), "EndNs": str(e["end"]), "dev-id": "0"}
            args.update({"queue-id": str(e["args"]["stream"]), "Name": name})
            add(gpu, e["args"]["stream"], name, e, args)
        for e in rank.of("cuda_runtime", "cuda_driver"):
            add(2, e["tid"], e["name"].replace("cuda", "hip"), e, {"BeginNs": str(e["start"])})
        for e in rank.of("user_annotation"):
            add(1, e["tid"], e["name"], e, {"BeginNs": str(e["start"])})
        write(out, "rank_%d/results.json" % rank.rank, {"traceEvents": rows})


HIP, COPY, MARKER, RCCL, DISPATCH = 3, 9, 7, 12, 11
RCCL_CALLS = {
    "allreduce": "ncclAllReduce",
    "_allgather_base": "ncclAllGather",
    "_reduce_scatter_base": "ncclReduceScatter",
    "all_to_allv": "ncclAllToAllv",
    "all_to_all": "ncclAllToAll",
}


class Sdk:
    """rocprofiler-sdk's tool: names in tables, records by kind, times of the host since it was booted."""

    def __init__(self, rank):
        self.rank, self.kernels, self.texts = rank, {}, []
        self.operations = [("NONE", [])] * 13
        for kind, name in ((HIP, "HIP_RUNTIME_API"), (COPY, "MEMORY_COPY"), (MARKER, "MARKER_CORE_API"), (RCCL, "RCCL_API")):
            self.operations[kind] = (name, [])
        self.records = {k: [] for k in ("kernel_dispatch", "hip_api", "hsa_api", "marker_api", "rccl_api", "memory_copy")}

    def record(self, where, kind, name, start, end, thread, correlation, **more):
        names = self.operations[kind][1]
        if name not in names:
            names.append(name)
        row = {"size": 64, "kind": kind, "operation": names.index(name), "thread_id": thread}
        row["correlation_id"] = {"internal": correlation, "external": 0}
        # a host's clock counts from its start
        boot = (self.rank.rank // 4 + 1) * 10**12
        row.update({"start_timestamp": boot + start, "end_timestamp": boot + end})
        self.records[where].append(dict(row, **more))

    def kernel(self, e):
        args = e["args"]
        block = args.get("block", [1, 1, 1])
        grid = [g * b for g, b in zip(args.get("grid", [1, 1, 1]), block)]
        xyz = lambda v: dict(zip("xyz", v))
        info = {"size": 64, "agent_id": {"handle": 77}, "queue_id": {"handle": 1}}
        info["kernel_id"] = self.kernels.setdefault(rccl(e), len(self.kernels) + 5)
        info.update({"workgroup_size": xyz(block), "grid_size": xyz(grid)})
        more = {"dispatch_info": info, "stream_id": {"handle": int(args["stream"])}}
        self.record("kernel_dispatch", DISPATCH, "KERNEL_DISPATCH_COMPLETE", e["start"], e["end"], 1, args["correlation"], **more)

    def document(self):
        agents = [{"size": 8, "id": {"handle": 3}, "type": 1, "name": "AMD EPYC"}]
        agents.append({"size": 8, "id": {"handle": 77}, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X", "cu_count": 304})
        symbols = [{"kernel_id": i, "kernel_name": "k.kd", "formatted_kernel_name": n} for n, i in self.kernels.items()]
        strings = {"callback_records": [], "marker_api": self.texts}
        strings["buffer_records"] = [{"kind": k, "operations": o} for k, o in self.operations]
        metadata = {"node": {"hostname": self.rank.host}, "pid": 4000 + self.rank.rank, "config": {"kernel_trace": True}}
        tool = {"metadata": metadata, "agents": agents, "counters": [], "strings": strings, "code_objects": []}
        tool.update({"kernel_symbols": symbols, "callback_records": {"counter_collection": []}})
        tool["buffer_records"] = self.records
        return {"rocprofiler-sdk-tool": [tool]}


def rocprofv3(ranks, out):
    """rocprofv3 --sys-trace --output-format json: RCCL's calls around the launches of its kernels."""
    for rank in ranks:
        sdk, calls = Sdk(rank), 10**6
        work = {e["args"]["correlation"]: e for e in rank.of("kernel", "gpu_memcpy", "gpu_memset")}
        for e in work.values():
            if e["cat"] == "kernel":
                sdk.kernel(e)
            else:
                agents = {"dst_agent_id": {"handle": 77}, "src_agent_id": {"handle": 3}, "bytes": 4096}
                sdk.record("memory_copy", COPY, "MEMORY_COPY_HOST_TO_DEVICE", e["start"], e["end"], 1, e["args"]["correlation"], **agents)
        for e in rank.of("cuda_runtime", "cuda_driver"):
            correlation, tid = e["args"]["correlation"], int(e["tid"])
            sdk.record("hip_api", HIP, e["name"].replace("cuda", "hip"), e["start"], e["end"], tid, correlation)
            launched = work.get(correlation)
            if launched and is_comm(launched):
                name = RCCL_CALLS[launched["args"]["Collective name"]]
                names = [name] if rank.rank % 2 else ["ncclGroupStart", name, "ncclGroupEnd"]
                for i, call in enumerate(names):
                    last = i + 1 == len(names)
                    start = e["start"] - 10 * (len(names) - i)
                    sdk.record("rccl_api", RCCL, call, start, e["end"] + 10 if last else start + 5, tid, calls)
                    calls += 1
        for e in rank.of("user_annotation"):
            sdk.record("marker_api", MARKER, "roctxRangePushA", e["start"], e["end"], int(e["tid"]), calls)
            sdk.texts.append({"key": calls, "value": e["name"]})
            calls += 1
        write(out, "%d_results.json" % rank.rank, sdk.document())


def rocprofv3_csv(ranks, out):
    """rocprofv3 --kernel-trace --output-format csv: PID_kernel_trace.csv, in a folder for each host."""
    titles = ["Kind", "Agent_Id", "Queue_Id", "Stream_Id", "Thread_Id", "Dispatch_Id", "Kernel_Id", "Kernel_Name"]
    titles += ["Correlation_Id", "Start_Timestamp", "End_Timestamp", "LDS_Block_Size", "Scratch_Size", "VGPR_Count"]
    titles += ["Workgroup_Size_X", "Workgroup_Size_Y", "Workgroup_Size_Z", "Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z"]
    for rank in ranks:
        lines, kernels, boot = [",".join('"%s"' % t for t in titles)], {}, 10**12
        for i, e in enumerate(sorted(rank.of("kernel"), key=lambda e: e["start"])):
            block = e["args"].get("block", [1, 1, 1])
            grid = [g * b for g, b in zip(e["args"].get("grid", [1, 1, 1]), block)]
            name = rccl(e)
            row = ['"KERNEL_DISPATCH"', '"Agent 7"', 1, e["args"]["stream"], 1, i + 1, kernels.setdefault(name, len(kernels) + 5)]
            row += ['"%s"' % name.replace('"', '""'), e["args"]["correlation"], boot + e["start"], boot + e["end"], 0, 0, 32]
            lines.append(",".join(map(str, row + block + grid)))
        with open(os.path.join(out, "%d_kernel_trace.csv" % (4000 + rank.rank)), "w") as file:
            file.write("\n".join(lines) + "\n")


# ---- Kineto's Chrome JSON of other backends -------------------------------------------------

BACKENDS = {
    # runtime's, kernels', copies' category; word of its collectives' kernels
    "musa": ("musa_runtime", "musa_kernel", "musa_memcpy", "mccl"),
    "mtia": ("mtia_runtime", "mtia_ccp_events", "mtia_dma_memcpy", "hccl"),
    "xpu": ("xpu_runtime", "kernel", "gpu_memcpy", "oneccl"),
}


def backend(ranks, out, which):
    runtime, kernel, copy, ccl = BACKENDS[which]
    names = {"kernel": kernel, "gpu_memcpy": copy, "gpu_memset": copy}
    names.update({"cuda_runtime": runtime, "cuda_driver": runtime})
    for rank in ranks:
        rows = []
        for event in rank.events:
            row = {k: v for k, v in event.items() if k not in ("start", "end")}
            row["cat"] = names.get(row["cat"], row["cat"])
            row["ts"] = us(rank.base + event["start"])
            row["name"] = row["name"].replace("nccl", ccl).replace("cuda", which).replace("cuLaunch", "launch")
            rows.append(row)
        info = {"backend": ccl, "rank": rank.rank, "world_size": rank.world}
        doc = {"schemaVersion": 1, "distributedInfo": info, "traceEvents": rows}
        write(out, "rank-%d.pt.trace.json" % rank.rank, doc)


# ---- PyTorch on CPUs: no device; Gloo's threads --------------------------------------------


def cpu(ranks, out, legacy):
    """Kernels as operators of the main thread, under DDP's annotation, with operators in them;
    collectives by Gloo's two threads in turn, called in an operator. `legacy`: as PyTorch without
    Kineto writes it."""
    main, gloo = 100, (101, 102)
    for rank in ranks:
        rows, calls, at = [], 0, min(e["start"] for e in rank.events)

        def add(cat, tid, name, start, end, args=None):
            row = {"name": name, "ph": "X", "tid": tid, "args": {} if legacy else args or {}}
            row["ts"], row["dur"] = us(start - at if legacy else rank.base + start), us(end - start)
            row.update({"pid": "CPU functions"} if legacy else {"cat": cat, "pid": 4000 + rank.rank})
            rows.append(row)

        for e in rank.of("user_annotation"):
            if not e["name"].startswith("nccl"):
                add("user_annotation", main, e["name"], e["start"], e["end"])
        work = [e for e in rank.of("kernel", "gpu_memcpy", "gpu_memset")]
        ends = sorted(e["end"] for e in work if not is_comm(e))
        for e in work:
            start, end, args = e["start"], e["end"], e["args"]
            if is_comm(e): # called between two operators
                before = bisect.bisect_right(ends, start)
                called = ends[before - 1] if before > 0 else start
                op = args["Collective name"].replace("_base", "").strip("_")
                names = {"allreduce": "all_reduce", "allgather": "all_gather"}
                title = "gloo:" + names.get(op, op)
                keys = ("Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype")
                about = {k: args[k] for k in keys}
                about.update({k: v for k, v in args.items() if k.startswith("Process Group")})
                if not legacy:
                    add("cpu_op", main, "record_param_comms", called, called, about)
                add("cpu_op", main, "c10d::%s_" % op, called, called)
                add("user_annotation", gloo[calls % 2], title, start, end)
                calls += 1
                continue
            shapes = {"Input Dims": [args.get("grid", [1])]}
            name = "aten::" + e["name"].split("<")[0].split("(")[0].replace(" ", "_")
            add("cpu_op", main, name, start, end, shapes)
            add("cpu_op", main, "aten::empty", start, start + (end - start) // 4)
        if legacy:
            doc = rows
        else:
            info = {"backend": "gloo", "rank": rank.rank, "world_size": rank.world}
            doc = {"schemaVersion": 1, "deviceProperties": [], "distributedInfo": info}
            doc["traceEvents"] = rows
        write(out, "rank%d.json" % rank.rank, doc)


FORMATS = {
    "cpu": lambda ranks, out: cpu(ranks, out, False),
    "cpu-legacy": lambda ranks, out: cpu(ranks, out, True),
    "ascend": ascend,
    "rocprof": rocprof,
    "rocprofv3": rocprofv3,
    "rocprofv3-csv": rocprofv3_csv,
    "ascend-kernels": ascend_kernels,
    "musa": lambda ranks, out: backend(ranks, out, "musa"),
    "mtia": lambda ranks, out: backend(ranks, out, "mtia"),
    "xpu": lambda ranks, out: backend(ranks, out, "xpu"),
}
