#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small model on CPUs with DistributedDataParallel over Gloo and leaves a trace per rank.

    train.py OUT [--world N] [--steps N] [--fault NAME] [--rank R] [--amount PART]

Faults, each costing about PART of a step on rank R:
  healthy        none
  extra-work     the rank multiplies matrices that the others do not
  data-stall     its data loader sleeps
  late           the program sleeps between two steps
  uneven         its batches are larger
Exits 77 where PyTorch is not installed."""
import argparse
import os
import sys
import tempfile
import time

try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
    from torch.nn.parallel import DistributedDataParallel
    from torch.profiler import ProfilerActivity, profile, schedule
except ImportError:
    print("skipped: no PyTorch", file=sys.stderr)
    sys.exit(77)

BATCH = 64
WIDTH = 512
WARM_UP = 3


class Samples(torch.utils.data.IterableDataset):
    """Batches of random samples; `stall_s` of sleep before each."""

    def __init__(self, batch, stall_s):
        super().__init__()
        self.batch = batch
        self.stall_s = stall_s

    def __iter__(self):
        while True:
            if self.stall_s > 0:
                time.sleep(self.stall_s)
            yield torch.randn(self.batch, WIDTH), torch.randint(0, 10, (self.batch,))


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        layers = []
        for _ in range(4):
            layers += [torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()]
        self.model = DistributedDataParallel(
            torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 10)))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)

    def step(self, x, y):
        loss = torch.nn.functional.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def measure(trainer):
    """Seconds of a step, the same on all ranks."""
    x, y = torch.randn(BATCH, WIDTH), torch.randint(0, 10, (BATCH,))
    for _ in range(WARM_UP):
        trainer.step(x, y)
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        trainer.step(x, y)
        times.append(time.perf_counter() - begin)
    median = torch.tensor(sorted(times)[2])
    dist.all_reduce(median)
    return median.item() / dist.get_world_size()


def count_extra(seconds):
    """How many multiplications of two matrices take that long."""
    a = torch.randn(WIDTH, WIDTH)
    torch.mm(a, a)
    begin = time.perf_counter()
    for _ in range(10):
        torch.mm(a, a)
    return max(1, round(seconds / ((time.perf_counter() - begin) / 10)))


def work(rank, options, meeting):
    torch.set_num_threads(1)
    # by a file: a port that was free when it was looked for may be another program's by now
    dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=options.world)
    trainer = Trainer()
    cost_s = measure(trainer) * options.amount
    fault = options.fault if rank == options.rank else "healthy"
    extra = count_extra(cost_s) if fault == "extra-work" else 0
    batch = round(BATCH * (1 + options.amount)) if fault == "uneven" else BATCH
    loader = torch.utils.data.DataLoader(
        Samples(batch, cost_s if fault == "data-stall" else 0), batch_size=None)
    matrix = torch.randn(WIDTH, WIDTH)

    def write(profiler):
        profiler.export_chrome_trace(os.path.join(options.out, "rank%d.json" % rank))

    dist.barrier()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, on_trace_ready=write,
                 schedule=schedule(wait=1, warmup=1, active=options.steps)) as profiler:
        for number, (x, y) in enumerate(loader):
            if fault == "late":
                time.sleep(cost_s)
            for _ in range(extra):
                torch.mm(matrix, matrix)
            trainer.step(x, y)
            profiler.step()
            if number == options.steps + 1:
                break
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--world", type=int, default=2)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--fault", default="healthy",
                        choices=["healthy", "extra-work", "data-stall", "late", "uneven"])
    parser.add_argument("--rank", type=int, default=1)
    parser.add_argument("--amount", type=float, default=0.3)
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(work, (options, os.path.join(folder, "meeting")), nprocs=options.world)


if __name__ == "__main__":
    main()
