# SPDX-License-Identifier: Apache-2.0
"""torchrun of PyTorch 1.13 under Python 3.11, which does not list the values 0 and 3 of a flag."""
import torch.distributed.elastic.multiprocessing as multiprocessing
from torch.distributed.elastic.multiprocessing import api
from torch.distributed.run import main

to_map = api.to_map


def to_map_with_none(value, n):
    return to_map(api.Std.NONE if value is None else value, n)


api.Std.from_str = classmethod(lambda cls, value: cls(int(value)))
api.to_map = multiprocessing.to_map = to_map_with_none
main()
