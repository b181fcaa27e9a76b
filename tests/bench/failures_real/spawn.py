# SPDX-License-Identifier: Apache-2.0
"""Starts fit.py's ranks with torch.multiprocessing: spawn.py N OPTION..."""
import os
import sys

import torch.multiprocessing


def rank(i, n, options):
    os.environ.update(RANK=str(i), WORLD_SIZE=str(n))
    sys.argv = ["fit.py", *options]
    import fit
    fit.main()


if __name__ == "__main__":
    torch.multiprocessing.spawn(rank, args=(int(sys.argv[1]), sys.argv[2:]), nprocs=int(sys.argv[1]))
