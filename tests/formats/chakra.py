# SPDX-License-Identifier: Apache-2.0
"""A synthetic run as Chakra execution traces (mlcommons/chakra, schema/protobuf/et_def.proto): one
file a rank, every message with its length in front; the attributes are those that Chakra's converter
writes for PyTorch. Also as its jsonizer prints them, and without times, as graphs for simulators
are. Used by convert.py."""
import json
import os

METADATA, LOAD, COMPUTE, SEND, RECV, COLLECTIVE = 1, 2, 4, 5, 6, 7
TYPES = {METADATA: "METADATA_NODE", LOAD: "MEM_LOAD_NODE", COMPUTE: "COMP_NODE"}
TYPES.update({SEND: "COMM_SEND_NODE", RECV: "COMM_RECV_NODE", COLLECTIVE: "COMM_COLL_NODE"})
# CollectiveCommType
COLLECTIVES = {
    "allreduce": 0,
    "reduce": 1,
    "_allgather_base": 2,
    "allgather": 2,
    "gather": 3,
    "scatter": 4,
    "broadcast": 5,
    "all_to_all": 6,
    "all_to_allv": 6,
    "_reduce_scatter_base": 7,
    "reduce_scatter": 7,
    "barrier": 9,
}
BYTES = {"BFloat16": 2, "Half": 2, "Float": 4, "Int": 4, "Long": 8, "Byte": 1, "Double": 8}


def group_config(rank):
    groups = rank.groups or {"0": list(range(rank.world))}
    return [
        {
            "pg_name": name,
            "pg_desc": "default_pg" if len(ranks) == rank.world else "mesh",
            "backend_config": "cuda:nccl",
            "ranks": ranks,
            "group_size": len(ranks),
            "group_count": len(groups),
        }
        for name, ranks in groups.items()
    ]


def node(index, name, kind, start, end, parent=None, deps=(), **attrs):
    return dict(id=index, name=name, type=kind, start=start, end=end, parent=parent, deps=deps, attrs=attrs)


def comm_attrs(args):
    """The converter knows bytes of the input, the group and what the kernel's name says."""
    name = args["Collective name"]
    attrs = {"comm_size": int(args.get("In msg nelems", 0)) * BYTES.get(args.get("dtype"), 1)}
    if "Process Group Name" in args:
        attrs["pg_name"] = args["Process Group Name"]
    if name in ("send", "recv"):
        kind = SEND if name == "send" else RECV
        peer = int(args.get("Dst Rank" if kind == SEND else "Src Rank", -1))
        if peer >= 0:
            attrs["comm_dst" if kind == SEND else "comm_src"] = peer
        return kind, attrs
    return COLLECTIVE, {"comm_type": COLLECTIVES[name], **attrs}


def device_node(index, event, caller, last, ends, absolute):
    args = event["args"]
    kind, attrs = COMPUTE, {}
    if event["cat"] != "kernel":
        kind = LOAD
    elif args.get("Collective name") in COLLECTIVES or args.get("Collective name") in ("send", "recv"):
        kind, attrs = comm_attrs(args)
    stream = int(args["stream"])
    # streams wait for each other's events: for what ended just before on another one
    events = [n for s, n in last.items() if s != stream and 0 <= event["start"] - ends[n] < 50000]
    deps = [d for d in [caller, last.get(stream)] + events if d is not None]
    ends[index] = event["end"]
    last[stream] = index
    made = node(
        index,
        event["name"],
        kind,
        absolute(event["start"]),
        absolute(event["end"]),
        caller,
        deps,
        is_cpu_op=False,
        stream=stream,
        **attrs
    )
    # the converter gives a kernel the inputs of its operator
    made["shapes"] = str([args.get("grid", [])])
    return made


def nodes_of(rank):
    def absolute(ns):
        return (rank.base + ns) // 1000

    work = {}
    for event in rank.of("kernel", "gpu_memcpy", "gpu_memset"):
        work.setdefault(event["args"].get("correlation"), []).append(event)
    host = rank.of("cuda_runtime", "cuda_driver")
    host += [e for e in rank.of("user_annotation") if e["name"].startswith("ProfilerStep#")]
    out = [node(1, "[pytorch|profiler|execution_trace|process]", METADATA, 0, 0)]
    out.append(node(2, "## process_group:init ##", METADATA, 0, 0, 1, (1,)))
    out[-1]["values"] = "['%s']" % json.dumps(group_config(rank))
    index, last, ends, before = 3, {}, {}, 2
    operators = {e["args"].get("External id"): e["name"] for e in rank.of("cpu_op") if "args" in e}
    for event in sorted(host, key=lambda e: e["start"]):
        caller = index
        # durations of callers are without what they call: nothing is left of a step's
        mark = event["cat"] == "user_annotation"
        name, deps = event["name"], [before]
        if "Synchronize" in name:
            name, deps = "aten::item", [before] + list(last.values())
        elif not mark:
            name = operators.get(event.get("args", {}).get("External id"), "aten::empty")
        end = event["start"] + 2000 if mark else event["end"]
        out.append(
            node(caller, name, COMPUTE, absolute(event["start"]), absolute(end), 1, deps, is_cpu_op=True, tid=int(event["tid"]))
        )
        index, before = index + 1, caller
        for kernel in work.pop(event["args"].get("correlation") if not mark else None, []):
            out.append(device_node(index, kernel, caller, last, ends, absolute))
            index += 1
    return out


def pack(made, varint, number, blob):
    def attribute(name, value):
        body = blob(1, name)
        if isinstance(value, bool):
            return body + number(27, int(value))
        return body + (blob(29, value) if isinstance(value, str) else number(9, value))

    body = number(1, made["id"]) + blob(2, made["name"]) + number(3, made["type"])
    if made["parent"] is not None:
        body += blob(4, varint(made["parent"]))
    body += blob(5, b"".join(varint(d) for d in made["deps"]))
    if made["start"]:
        body += number(6, made["start"])
    body += number(7, made["end"] - made["start"])
    body += blob(8, blob(1, made.get("values", "[]")) + blob(2, made.get("shapes", "[]")) + blob(3, "[]"))
    body += blob(9, blob(1, "[]"))
    for name, value in made["attrs"].items():
        body += blob(10, attribute(name, value))
    return varint(len(body)) + body


def as_json(made):
    def attribute(name, value):
        if isinstance(value, bool):
            return {"name": name, "boolVal": value}
        return {"name": name, "stringVal": value} if isinstance(value, str) else {"name": name, "int64Val": str(value)}

    out = {"id": str(made["id"]), "name": made["name"], "type": TYPES[made["type"]]}
    if made["parent"] is not None:
        out["ctrlDeps"] = [str(made["parent"])]
    out["dataDeps"] = [str(d) for d in made["deps"]]
    out["startTimeMicros"] = str(made["start"])
    out["durationMicros"] = str(made["end"] - made["start"])
    out["inputs"] = {"values": made.get("values", "[]"), "shapes": made.get("shapes", "[]"), "types": "[]"}
    out["attr"] = [attribute(name, value) for name, value in made["attrs"].items()]
    return out


def write(ranks, out, wire, form):
    varint, number, blob = wire
    for rank in ranks:
        nodes = nodes_of(rank)
        if form == "json":
            with open(os.path.join(out, "train.%d.json" % rank.rank), "w") as file:
                file.write(json.dumps({"version": "0.0.4"}, indent=2))
                for made in nodes:
                    file.write(json.dumps(as_json(made), indent=2))
            continue
        with open(os.path.join(out, "train.%d.et" % rank.rank), "wb") as file:
            about = blob(2, blob(1, "schema") + blob(29, "1.1.1-chakra.0.0.4"))
            about += blob(2, blob(1, "pid") + number(21, 4000 + rank.rank))
            file.write(varint(len(about)) + about)
            for made in nodes:
                if form == "untimed":
                    made["end"], made["start"] = made["end"] - made["start"], 0
                file.write(pack(made, varint, number, blob))


def formats(wire):
    return {
        "chakra": lambda ranks, out: write(ranks, out, wire, "messages"),
        "chakra-json": lambda ranks, out: write(ranks, out, wire, "json"),
        "chakra-untimed": lambda ranks, out: write(ranks, out, wire, "untimed"),
    }
