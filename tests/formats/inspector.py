# SPDX-License-Identifier: Apache-2.0
"""The NCCL Inspector's records of a run (NVIDIA/nccl, plugins/profiler/inspector/README.md): one file
a process, JSON lines, times of the host in microseconds (NCCL_INSPECTOR_DUMP_VERBOSE=1)."""
import json
import os

NAMES = {
    "allreduce": "AllReduce",
    "_allgather_base": "AllGather",
    "allgather": "AllGather",
    "_reduce_scatter_base": "ReduceScatter",
    "reduce_scatter": "ReduceScatter",
    "broadcast": "Broadcast",
    "all_to_all": "AlltoAll",
    "all_to_allv": "AlltoAll",
    "send": "Send",
    "recv": "Recv",
}
BYTES = {"BFloat16": 2, "Half": 2, "Float": 4, "Int": 4, "Long": 8, "Byte": 1, "Double": 8}


def comm_hash(name):
    value = 14695981039346656037
    for byte in name.encode():
        value = (value ^ byte) * 1099511628211 % 2**64
    return "0x%x" % value


def records(rank, verbose):
    """(communicator, members, record) in the order in which the operations began."""
    count = {}
    kernels = [e for e in rank.of("kernel") if "Collective name" in e["args"]]
    for event in sorted(kernels, key=lambda e: e["start"]):
        args = event["args"]
        name = NAMES.get(args["Collective name"])
        if name is None:
            continue
        group = args["Process Group Name"]
        members = rank.groups.get(group) or list(range(rank.world))
        peer = args.get("Dst Rank" if name == "Send" else "Src Rank", -1)
        kind = "p2p" if name in ("Send", "Recv") else "coll"
        size = BYTES.get(args.get("dtype"), 1)
        elems = args.get("Out msg nelems" if name == "ReduceScatter" else "In msg nelems", 0)
        key = (group, kind)
        count[key] = count.get(key, 0) + 1
        dur = round((event["end"] - event["start"]) / 1000)
        perf = {kind: name}
        if kind == "coll":
            perf.update({"coll_algo": "RING", "coll_proto": "SIMPLE"})
        else:
            perf["p2p_peer"] = members.index(int(peer))
        factor = len(members) if name in ("ReduceScatter", "AllGather") else 1
        algobw = int(elems) * size * factor / 1000 / max(dur, 1)
        perf.update(
            {
                kind + "_sn": count[key],
                kind + "_msg_size_bytes": int(elems) * size,
                kind + "_exec_time_us": dur,
                kind + "_timing_source": "kernel_gpu",
                kind + "_algobw_gbs": algobw,
                kind + "_busbw_gbs": algobw,
            }
        )
        if verbose:
            start, stop = (rank.base + event["start"]) // 1000, (rank.base + event["end"]) // 1000
            # the proxy's thread sees a start somewhat late
            kernels_ts = [
                {"channel_id": c, "kernel_start_ts": start + 7, "kernel_stop_ts": stop, "kernel_record_ts": stop}
                for c in range(2)
            ]
            kernels_sn = [
                {"channel_id": c, "kernel_start_sn": 3, "kernel_stop_sn": 48, "kernel_record_sn": 47}
                for c in range(2)
            ]
            perf["event_trace_sn"] = {kind + "_start_sn": 1, kind + "_stop_sn": 2, "kernel_events": kernels_sn}
            perf["event_trace_ts"] = {
                kind + "_start_ts": start - 20,
                kind + "_stop_ts": start - 15,
                "kernel_events": kernels_ts,
            }
        yield group, members, {kind + "_perf": perf}


def write(ranks, out, version, verbose=True):
    for rank in ranks:
        pid = 4000 + rank.rank
        stop = (rank.base + max(e["end"] for e in rank.events)) // 1000
        path = os.path.join(out, "%s-pid%d.log" % (rank.host, pid))

        def head(group, members):
            header = {"id": comm_hash(group + str(members)), "rank": members.index(rank.rank)}
            if version >= "v4.2":
                header["comm_name"] = "unknown"
            header.update({"n_ranks": len(members), "nnodes": 1})
            metadata = {
                "inspector_output_format_version": version,
                "git_rev": "",
                "rec_mechanism": "nccl_profiler_interface",
                "dump_timestamp_us": stop,
                "hostname": rank.host,
                "pid": pid,
            }
            return {"header": header, "metadata": metadata}

        batches = {}
        with open(path, "w") as file:
            for group, members, record in records(rank, verbose):
                if version >= "v4.3":
                    batches.setdefault(group, (members, []))[1].append(record)
                else:
                    file.write(json.dumps({**head(group, members), **record}) + "\n")
            for group, (members, own) in batches.items():
                stats = {"coll_records": len(own), "coll_dropped_total": 0, "p2p_records": 0}
                file.write(json.dumps({**head(group, members), "dump_stats": stats}) + "\n")
                for record in own:
                    file.write(json.dumps(record) + "\n")


FORMATS = {
    "inspector": lambda ranks, out: write(ranks, out, "v4.0"),
    "inspector-batches": lambda ranks, out: write(ranks, out, "v4.3"),
    "inspector-untimed": lambda ranks, out: write(ranks, out, "v4.0", False),
}
