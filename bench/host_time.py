"""Host time of the public calls, split by step, against torch's own.

    python bench/host_time.py [--quick] [--out FILE]

Times are microseconds the caller's thread is busy: the median over runs of the mean of a run of
calls. Runs are short and the GPU is waited for between them, so that no call waits for the launch
queue. Shapes are small: what the GPU does is not the question.

"repeated" calls write a tensor given by the caller; "allocating" ones make their result; "new
addresses" ones meet a combination of addresses never seen before.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import torch
from torch.nn import functional

import warploom
from warploom.launch.attention import RUNNER as ATTENTION
from warploom.launch.attention_launch import exponent_of
from warploom.launch.gemm import RUNNER as GEMM
from warploom.launch.tensors import allocator, stream_of

LIMITS = {"repeated": 10.0, "allocating": 15.0, "new addresses": 20.0}


def microseconds(call, *, runs, calls):
    """Median over runs of the mean time of a call; ``call`` takes the number of the call."""
    for i in range(calls):
        call(i)
    torch.cuda.synchronize()
    found = []
    for r in range(runs):
        start = time.perf_counter()
        for i in range(r * calls, (r + 1) * calls):
            call(i)
        found.append((time.perf_counter() - start) / calls * 1e6)
        torch.cuda.synchronize()
    return statistics.median(found)


def fresh(tensor, count, shift):
    """Views of one large buffer at ``count`` addresses; every address is used once a pass."""
    size = tensor.numel()
    step = -(-size // 64) * 64
    pool = torch.empty(step * count + shift, device="cuda", dtype=tensor.dtype)
    return [
        pool[i * 8 : i * 8 + size].view(tensor.shape).copy_(tensor) if False else
        pool[shift + i * 8 : shift + i * 8 + size].view(tensor.shape)
        for i in range(count)
    ]
