# SPDX-License-Identifier: Apache-2.0
"""A run as NCCL's example profiler dumps it (NVIDIA/nccl, plugins/profiler/example/README.md): one file
a communicator and rank, a list of asynchronous Chrome events, each operation inside of the API call
and group that it is of; microseconds since the process's profiler began, and with
NCCL_PROFILE_EVENT_MASK=64 the GPU's clock at the start and stop of each channel's kernel."""
import os

from inspector import NAMES, comm_hash

TYPES = {"BFloat16": "ncclBfloat16", "Half": "ncclFloat16", "Float": "ncclFloat32", "Int": "ncclInt32",
         "Long": "ncclInt64", "Byte": "ncclUint8", "Double": "ncclFloat64"}


class Dump:
    """One file; ids count by category."""

    def __init__(self, pid, began):
        self.pid, self.began, self.ids, self.lines = pid, began, {}, []

    def begin(self, name, cat, at, args):
        self.event(name, cat, "b", at, ', "args": {%s}' % args)

    def end(self, name, cat, at):
        self.event(name, cat, "e", at, "")
        self.ids[cat] = self.ids.get(cat, 0) + 1

    def event(self, name, cat, phase, at, args):
        row = '{"name": "%s", "cat": "%s", "ph": "%s", "id": %d, "pid": %d, "tid": 1, "ts": %.6f%s},'
        ts = (at - self.began) / 1000
        self.lines.append(row % (name, cat, phase, self.ids.get(cat, 0), self.pid, ts, args))


def operation(dump, event, comm, place, peer, seq, base, proxies):
    args = event["args"]
    name = NAMES[args["Collective name"]]
    p2p = name in ("Send", "Recv")
    kind = "P2P" if p2p else "COLL"
    dtype = TYPES.get(args.get("dtype"), "ncclInt8")
    elems = int(args.get("Out msg nelems" if name == "ReduceScatter" else "In msg nelems", 0))
    start, end = base + event["start"], base + event["end"]
    launched, stream = start - 30000, "0x5020000567d0"
    dump.begin("Group API", "GROUP_API", launched, '"groupApiId": %d, "groupDepth": 1' % dump.ids.get("GROUP_API", 0))
    root = "" if p2p else '"root": 0, '
    dump.begin(name, kind + "_API", launched + 1000, '"count": %d, "datatype": "%s", %s"GraphCaptured": 0, "Stream": "%s"' % (elems, dtype, root, stream))
    who = '"CommHash": %d, "Rank": %d' % (comm, place)
    how = '"nChannels": 2' if p2p else '"Algorithm": "RING", "Protocol": "SIMPLE", "nChannels": 2'
    what = '"Count": %d, "Datatype": "%s", %s' % (elems, dtype, how)
    more = '%s, "Peer": %d, %s' % (who, peer, what) if p2p else '"SeqNum": %d, %s, %s' % (seq, who, what)
    dump.begin(name, kind, start if proxies else launched + 2000, more)
    for channel in range(2):
        if not proxies: # the proxy's thread sees it somewhat late
            clock = '"Channel": %d, "StartGpuClk": %d, "StopGpuClk": %d' % (channel, start, end)
            dump.begin("KernelCh", "GPU", start + 7000, clock)
            dump.end("KernelCh", "GPU", end + 5000)
            continue
        step = '"Channel": %d, "Peer": 1, "Steps": 4, "ChunkSize": 4194304, "transSize": 524288' % channel
        for verb, since, until in (("Schedule", start, start + 500), ("Progress", start + 500, end)):
            dump.begin(verb + "Send", "PROXY", since, step)
            dump.event(verb + "Send", "PROXY", "e", until, "")
        dump.ids["PROXY"] = dump.ids.get("PROXY", 0) + 1
    dump.end(name, kind, end if proxies else start - 10000)
    dump.end(name, kind + "_API", launched + 4000)
    dump.end("Group API", "GROUP_API", launched + 5000)


def write(ranks, out, proxies=False):
    for rank in ranks:
        dumps, seqs = {}, {}
        began = rank.base + min(e["start"] for e in rank.events) - 1000003 * (rank.rank + 1)
        kernels = [e for e in rank.of("kernel") if e["args"].get("Collective name") in NAMES]
        for event in sorted(kernels, key=lambda e: e["start"]):
            args = event["args"]
            group = args["Process Group Name"]
            members = rank.groups.get(group) or list(range(rank.world))
            name = NAMES[args["Collective name"]]
            peer = args.get("Dst Rank" if name == "Send" else "Src Rank", -1)
            comm = int(comm_hash(group + str(members)), 16)
            place = members.index(rank.rank)
            dump = dumps.setdefault((comm, place), Dump(4000 + rank.rank, began))
            seq = seqs[comm, name] = seqs.get((comm, name), -1) + 1
            peer = members.index(int(peer)) if name in ("Send", "Recv") else -1
            operation(dump, event, comm, place, peer, seq, rank.base, proxies)
        for (comm, place), dump in dumps.items():
            with open(os.path.join(out, "nccl_%d_%d.json" % (comm, place)), "w") as file:
                file.write("[\n" + "\n".join(dump.lines) + "\n{}]\n")


FORMATS = {
    "nccl-profiler": write,
    "nccl-profiler-proxies": lambda ranks, out: write(ranks, out, True),
}
