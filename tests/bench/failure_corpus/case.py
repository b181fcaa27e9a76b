# SPDX-License-Identifier: Apache-2.0
"""Cases of the failure corpus: text logs of runs that died, and of runs that did not, with the truth
beside each. Written from public descriptions of the programs' messages; hosts, paths, numbers and
interleavings are our own.

A case states, before its logs:
  cls     the classes that are right (names of include/inquest/failure.h), or "healthy"
  roots   the ranks that failed first; [] where the logs do not let anybody know. `may` lists ranks
          that may be named as well without being wrong
  first   patterns (no case) that the first line must all contain to be of use: who, what, where
  never   patterns that the first line must not contain

A log is a list of phases, each a map from a stream (r0, r1, ... for ranks; agent, kernel, ...) to
its text. Streams of one phase run at the same time: their blocks (a line; a whole traceback) may
come in any order that keeps each stream's own. A prefix mode labels each line with its rank, and
then single lines may interleave."""
import random
import re

CASES = {}

PREFIXES = {
    "srun": "{r}: ",
    "default": "[default{r}]:",
    "rank": "[rank{r}]: ",
    "mpirun": "[1,{r}]<stdout>:",
}


def after_watchdogs(text, phases):
    """The agent ends a node soon after the error, or after the watchdogs where those speak."""
    late = any("Watchdog caught" in other for p in phases for other in p.values())
    return text.replace("10:05:31", "10:12:52") if late else text


class Log:
    def __init__(self, phases, prefix=None):
        phases = [{k: v.strip("\n") for k, v in p.items() if v} for p in phases]
        self.phases = [{k: after_watchdogs(v, phases) for k, v in p.items()} for p in phases]
        self.prefix = prefix

    def streams(self):
        keys = []
        for phase in self.phases:
            keys += [k for k in phase if k not in keys]
        return keys

    def blocks(self, key, phase):
        """The stream's indivisible pieces in one phase, with its prefix on each line."""
        text = self.phases[phase].get(key, "")
        if not text:
            return []
        if self.prefix and re.fullmatch(r"r\d+", key):
            label = PREFIXES[self.prefix].format(r=key[1:])
            return [label + line for line in text.split("\n")]
        return split_blocks(text)

    def text(self, seed=None, free=False):
        """One interleaving: of each phase, or (free) of the streams as a whole. No seed: as
        written."""
        out = []
        runs = [[self.blocks(k, p) for k in self.streams()] for p in range(len(self.phases))]
        if free:
            runs = [[sum((run[i] for run in runs), []) for i in range(len(self.streams()))]]
        for run in runs:
            out += weave(run, seed)
        return "\n".join(out) + "\n"

    def split(self):
        """Each stream's text alone."""
        for key in self.streams():
            yield key, "\n".join(
                b for p in range(len(self.phases)) for b in self.blocks(key, p)) + "\n"


LABEL = re.compile(r"^(?:\[default(\d+)\]:|(\d+): |\[1,(\d+)\]<)")


class Recorded(Log):
    """A real console log: as it was, or with the lines of its labeled ranks woven anew."""

    def __init__(self, text):
        streams = {}
        for line in text.split("\n"):
            found = LABEL.match(line)
            key = "r" + next(g for g in found.groups() if g) if found else "main"
            streams[key] = streams[key] + "\n" + line if key in streams else line
        super().__init__([streams])
        self.recorded = text

    def text(self, seed=None, free=False):
        return self.recorded if seed is None else super().text(seed, free)


def weave(lists, seed):
    lists = [list(blocks) for blocks in lists if blocks]
    if seed is None:
        return sum(lists, [])
    draw = random.Random(seed)
    out = []
    while lists:
        blocks = draw.choices(lists, [len(blocks) for blocks in lists])[0]
        out.append(blocks.pop(0))
        lists = [blocks for blocks in lists if blocks]
    return out


TRACE = re.compile(r"^(\[rank\d+\]: ?|\S*\|)?\s*(Traceback \(most recent|The above exception|During handling)")


def split_blocks(text):
    """Lines, with a traceback or a box in one piece: unlabeled, its lines would belong to nobody."""
    if re.search(r"^[=*-]{12,}$", text, re.M):
        return [text]
    blocks, inside = [], False
    for line in text.split("\n"):
        body = re.sub(r"^\[rank\d+\]: ?", "", line)
        starts = bool(TRACE.match(line))
        if inside or (blocks and body[:1] in (" ", "\t", "")):
            blocks[-1] += "\n" + line
        else:
            blocks.append(line)
        if starts:
            inside = True
        elif inside and body and body[0] not in " \t":
            inside = False
    return blocks


def log(*phases, prefix=None):
    return Log([p if isinstance(p, dict) else {"main": p} for p in phases], prefix)


def add(name, cls, roots, first, files, **more):
    assert name not in CASES, name
    if not isinstance(files, dict):
        files = {"train.log": files}
    CASES[name] = dict(
        name=name, cls=cls.split("|"), roots=roots, first=first, may=more.pop("may", []),
        never=more.pop("never", []), source=more.pop("source", ""), part=more.pop("part", PART[0]),
        kind=more.pop("kind", "log"), ordered=more.pop("ordered", False),
        merge=more.pop("merge", True), free=more.pop("free", True),
        files={k: v if isinstance(v, (Log, bytes)) else log(v) for k, v in files.items()})
    assert not more, more


PART = ["a"]


def dead(name, cls, roots, first, files, **more):
    add(name, cls, roots, first, files, **more)


def healthy(name, files, first=(), **more):
    add(name, "healthy", [], list(first), files, **more)
