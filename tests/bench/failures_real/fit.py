# SPDX-License-Identifier: Apache-2.0
"""A small data-parallel training (Gloo, CPU) that fails in one of many ways, at a step, on a rank.

Started by torchrun, srun or mpirun; `real_runs.py` says which failure is which."""
import argparse
import builtins
import datetime
import logging
import os
import pickle
import resource
import signal
import socket
import sys
import threading
import time

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset


def env(*names, default="0"):
    return int(next((os.environ[n] for n in names if n in os.environ), default))


RANK = env("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
WORLD = env("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", default="1")


class Records(Dataset):
    """Rows of numbers; a bad record on one rank when asked for."""

    def __init__(self, n, bad):
        self.n, self.bad = n, bad

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.bad == "raise" and i == 37:
            raise ValueError(f"record {i}: 12 columns where 16 are expected")
        if self.bad == "kill" and i == 37:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.bad == "big":
            return torch.zeros(4 << 20)
        rng = np.random.RandomState(i)
        return torch.from_numpy(rng.rand(16).astype("float32"))


def fault(args, step, model, state):
    """Fails as told; most do not return."""
    name = args.fault
    if name == "key":
        {"image": 1}["pixel_values"]
    elif name == "message":
        raise RuntimeError(args.text)
    elif name == "raise":
        kind, text = args.text.split(": ", 1)
        raise getattr(builtins, kind)(text)
    elif name == "eof":
        open("part.pkl", "wb").close()
        pickle.load(open("part.pkl", "rb"))
    elif name == "unpickle":
        open("ckpt.pt", "wb").write(b"not a checkpoint")
        torch.load("ckpt.pt")
    elif name == "connect":
        socket.create_connection(("127.0.0.1", 9), timeout=2)
    elif name == "dns":
        socket.create_connection(("dataserver.invalid", 80), timeout=2)
    elif name == "assert":
        assert step < 0, f"loss mask of step {step} is empty"
    elif name == "index":
        torch.nn.Embedding(10, 4)(torch.tensor([11]))
    elif name == "shape":
        torch.ones(4, 16) @ torch.ones(12, 4)
    elif name == "zero":
        step // (step - step)
    elif name == "nested":
        try:
            {}["tokenizer"]
        except KeyError as e:
            raise OSError("cannot load the tokenizer from /models/tok") from e
    elif name == "recursion":
        def down(n):
            return down(n + 1)
        down(0)
    elif name == "exit":
        os._exit(3)
    elif name == "sysexit":
        sys.exit("fit.py: the run's budget of tokens is spent on the wrong split")
    elif name.startswith("sig"):
        os.kill(os.getpid(), getattr(signal, name.upper()))
        time.sleep(30)
    elif name == "bus":
        import mmap
        f = open("map.bin", "wb+")
        f.truncate(1 << 16)
        view = mmap.mmap(f.fileno(), 1 << 16)
        f.truncate(0)
        view[4096]
    elif name == "memory":
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
        bytearray(16 << 30)
    elif name == "numpymemory":
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
        np.zeros((1 << 16, 1 << 16), dtype="float32")
    elif name == "torchmemory":
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
        torch.zeros(1 << 33)
    elif name == "eat":
        hoard = []
        while True:
            hoard.append(bytearray(b"x" * (16 << 20)))
    elif name == "sleep":
        time.sleep(args.seconds)
    elif name == "lock":
        lock = threading.Lock()
        lock.acquire()
        lock.acquire(timeout=args.seconds)
    elif name == "skip":
        state["skip"] = True
    elif name == "size":
        state["size"] = 100
    elif name == "op":
        state["op"] = True
    elif name == "file":
        open("/data/tokens/shard_0031.bin", "rb")
    elif name == "readonly":
        torch.save(model.state_dict(), "/proc/ckpt.pt")
    elif name == "full":
        with open(os.path.join(args.text, f"step_{step}.bin"), "wb") as out:
            for _ in range(64):
                out.write(b"x" * (1 << 20))
    elif name == "fullsave":
        torch.save({"w": torch.zeros(8 << 20)}, os.path.join(args.text, f"step_{step}.pt"))
    elif name == "files":
        held = [open("/dev/null") for _ in range(100000)]
        print(len(held))
    elif name == "nan":
        state["nan"] = float("nan")
    elif name == "inf":
        state["nan"] = float("inf")
    elif name == "diverge":
        state["grow"] = 1.6
    elif name == "nanassert":
        raise FloatingPointError(f"loss is nan at step {step}")
    elif name == "done":
        print(f"rank {RANK}: the data is at its end after {step} steps", flush=True)
        state["done"] = True


def log_handled(step):
    try:
        raise ConnectionResetError(104, "Connection reset by peer")
    except OSError:
        logging.exception("metrics server away at step %d, goes on without it", step)


def main():
    parse = argparse.ArgumentParser()
    for name, kind, value in (("fault", str, ""), ("who", int, 1), ("at", int, 6), ("steps", int, 12), ("text", str, ""),
                              ("seconds", float, 30), ("timeout", float, 8), ("workers", int, 0), ("bad", str, ""),
                              ("pause", float, 0.02), ("buffered", int, 0), ("early", str, ""), ("noise", int, 0)):
        parse.add_argument(f"--{name}", type=kind, default=value)
    args = parse.parse_args()
    logging.basicConfig(format=f"%(asctime)s %(levelname)s rank {RANK}: %(message)s", level=logging.INFO,
                        stream=sys.stdout if not args.noise else sys.stderr)
    if args.early == "die" and RANK == args.who:
        raise RuntimeError("no accelerator matches the recipe's 'a100-80'")
    if args.early == "all":
        import nvfuser_kernels  # noqa: F401
    if args.early == "absent" and RANK == args.who:
        time.sleep(args.seconds)
        return
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29731")
    dist.init_process_group("gloo", rank=RANK, world_size=WORLD,
                            timeout=datetime.timedelta(seconds=args.timeout))
    logging.info("pid %d of world %d on %s", os.getpid(), WORLD, socket.gethostname())
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = DataLoader(Records(4 * 400, args.bad if RANK == args.who else ""), batch_size=4,
                        num_workers=args.workers)
    state, feed, start = {}, iter(loader), 0
    first = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", os.environ.get("SLURM_RESTART_COUNT", "0"))) == 0
    for step in range(start + 1, args.steps + 1):
        began = time.time()
        x = next(feed)[:, :16]
        if step == args.at and RANK == args.who and args.fault and (first or "always" in args.text):
            fault(args, step, model, state)
        if state.get("done"):
            break
        loss = (model(x) - x.sum(1, keepdim=True) * 0.3).square().mean()
        opt.zero_grad()
        loss.backward()
        grads = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
        if not state.pop("skip", False):
            if "size" in state:
                grads = grads[:state.pop("size")].clone()
            if state.pop("op", False):
                dist.broadcast(grads, src=RANK)
            elif args.fault == "barrier" and step == args.at:
                if RANK == args.who:
                    time.sleep(args.seconds)
                dist.monitored_barrier(timeout=datetime.timedelta(seconds=3))
            else:
                dist.all_reduce(grads)
        opt.step()
        value = loss.item()
        if "nan" in state:
            value = state["nan"]
        if "grow" in state:
            state["value"] = state.get("value", value + 1) * state["grow"]
            value = state["value"]
        time.sleep(args.pause * (6 if args.fault == "slow" and step >= args.at else 1))
        if args.noise and step == args.at:
            log_handled(step)
            logging.warning("Killed 3%% of weights; error budget 0.2; no failure so far")
        if RANK == 0 or args.noise:
            logging.info("step %d/%d loss %.4f grad_norm %.4f step_time %.3f s", step, args.steps, value,
                         float(grads.norm()) / WORLD, time.time() - began)
        if args.buffered == 0:
            sys.stdout.flush()
    logging.info("training finished")


if __name__ == "__main__":
    main()
