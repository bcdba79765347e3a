"""Wrong and right forms of small CUDA kernels: every wrong one found, every right one clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check.pairs import PAIRS as FIRST
from tests.check.pairs_further import FURTHER
from tests.check.pairs_more import MORE
from warploom.check import check
from warploom.compiler.cubin import find_toolchain, ptx_of
from warploom.errors import BackendError
from warploom.report import Verdict

PAIRS = {**FIRST, **MORE, **FURTHER}
SYNC = Path(__file__).parents[2] / "bench" / "syncbench" / "nvidia" / "sync.h"
FOUND = (Verdict.RACE, Verdict.DEADLOCK, Verdict.INVALID)
SLICE = ["shfl_divergent", "shfl_mask_without_self", "match_groups", "red_async", "map_in_global",
         "flag_spin_volatile", "remote_arrive_scope", "wg_wait_count", "bulk_store_then_flag",
         "cas_lock_never_freed", "cutlass_semaphore_streamk", "relaxed_wait_then_acquire_fence",
         "reduce_sync_groups", "idle_waiter_and_an_even_number_of_phases"]  # fmt: skip


def _size(value):
    return list(value) if isinstance(value, list) else [value, 1, 1]


def launch_of(o):
    """The launch of a pair: what is not given is two vectors of 256 numbers."""
    kinds = [{"kind": "pointer", "tensor": t} for t in ("x", "y")]
    tensors = {
        "x": {"shape": [o.get("x", 256)], "dtype": o.get("xd", "f32"), "role": "in"},
        "y": {
            "shape": [o.get("y", 256)],
            "dtype": o.get("yd", "f32"),
            "role": "inout",
            "init": "zero",
        },
    }
    return {
        "entry": "kernel",
        "grid": _size(o.get("grid", 1)),
        "block": _size(o.get("block", 64)),
        "cluster": _size(o.get("cluster", 1)),
        "shared_bytes": o.get("shared", 0),
        "params": o.get("params", kinds),
        "tensors": o.get("tensors", tensors),
    }


def _judge(name):
    try:
        find_toolchain()
    except BackendError:
        pytest.skip("no CUDA compiler")
    code, given = PAIRS[name]
    head = SYNC.read_text().replace("#pragma once", "")
    wrong = check(ptx_of(f"{head}\n{code}"), launch_of(given))
    assert wrong.verdict in FOUND, wrong.text()
    right = check(ptx_of(f"#define FIXED\n{head}\n{code}"), launch_of(given))
    assert right.clean, right.text()


@pytest.mark.parametrize("name", SLICE)
def test_pairs(name):
    _judge(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in PAIRS if n not in SLICE])
def test_more_pairs(name):
    _judge(name)


# A slot of global memory: a block writes it, the other reads it and gives it back without a fence.
SLOT = """extern "C" __global__ void kernel(const int* x, int* y) {
  int t = threadIdx.x; volatile int* head = y + 128; volatile int* tail = y + 129;
  for (int i = 0; i < 3; ++i) {
    if (blockIdx.x == 0) {
      if (t == 0) while (*tail < i);
      __syncthreads(); y[t] = x[t] + i; __threadfence(); __syncthreads(); if (t == 0) *head = i + 1;
    } else {
      if (t == 0) while (*head <= i);
      __syncthreads(); __threadfence(); y[64 + t] = y[63 - t]; IF_FIXED(__threadfence();)
      __syncthreads(); if (t == 0) *tail = i + 1;
    } } }"""


@pytest.mark.parametrize(
    ("define", "axiom", "verdict"),
    [
        ("", "", Verdict.CLEAN),
        ("", "read_done", Verdict.RACE),
        ("#define FIXED", "read_done", Verdict.CLEAN),
        ("#define FIXED", "writer_fence", Verdict.RACE),
    ],
)
def test_a_slot_that_was_only_read(define, axiom, verdict):
    """Its reads are over when the flag is seen, by an axiom; a fence makes it sure."""
    try:
        find_toolchain()
    except BackendError:
        pytest.skip("no CUDA compiler")
    head = SYNC.read_text().replace("#pragma once", "")
    launch = launch_of({"grid": 2, "xd": "i32", "yd": "i32"})
    text = ptx_of(f"{define}\n{head}\n{SLOT}")
    found = check(text, launch, axioms={axiom: False} if axiom else None)
    assert found.verdict is verdict, found.text()
    if not axiom:
        assert ("read_done", "race") in found.without
