"""CTAs that meet in global memory, executed at the same time and in any order."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import warploom
from tests import host_cuda
from tests.calls.arrays import tensor
from tests.calls.executing import executing
from tests.host_cuda import NEEDS_COMPILER
from warploom.kernels.gemm import gemm

pytestmark = NEEDS_COMPILER
CALLS = Path(__file__).parents[2] / "bench" / "random_calls.py"


@pytest.fixture
def calls():
    spec = importlib.util.spec_from_file_location("random_calls", CALLS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("sms", "seed"), [(5, 1), *(pytest.param(n, s, marks=SLOW) for n in (2, 5) for s in (2, 3))]
)
def test_sums_in_turn_wait_for_ctas_that_run_beside(calls, sms, seed):
    """A deterministic gradient: tiles of keys add to the same queries, each after the one before.
    One CTA after the other in another order, this would never end.
    """
    rng = np.random.default_rng(seed)
    q, k, v, grad = (rng.normal(size=(1, 1, n, 64)) for n in (9, 140, 140, 9))
    q, k, v, grad = (tensor(x).values() for x in (q, k, v, grad))
    out, lse, _ = calls.heads(q[0], k[0], v[0], 140, False, 0.125)
    wanted = calls.heads_grad(q[0], k[0], v[0], grad[0], 140, False, 0.125)
    given = [tensor(x) for x in (grad, q, k, v, out[None])]
    with executing(sms=sms, seed=seed) as driver:
        found = warploom.attention_backward(
            *given, tensor(lse[None], "float32"), deterministic=True
        )
        assert driver.kernels
    for one, right in zip(found, wanted, strict=True):
        assert not calls.near(one, right[None])


@pytest.mark.parametrize("seed", [1, *(pytest.param(s, marks=SLOW) for s in range(2, 6))])
@pytest.mark.parametrize("pins", [{}, {"split_k_in_cluster": True}, {"cluster": 2}])
def test_parts_of_a_sum_meet_in_any_order(seed, pins):
    rng = np.random.default_rng(seed)
    a, b = (tensor(rng.normal(size=(n, 520))) for n in (130, 72))
    more = {"m": 64, "n": 64, "k": 64, "consumer_warpgroups": 1, "split_k": 2}
    with executing(sms=6, seed=seed):
        found = gemm.with_config(**more, **pins)(a, b, types={"out": "f32"})
    wanted = a.values() @ b.values().T
    assert np.abs(found.values() - wanted).max() < 1e-3 * np.abs(wanted).max()


SOURCE = """
extern "C" __global__ void __launch_bounds__(32) other_first(int* at) {
  if (blockIdx.x == 0) while (*(volatile int*)at == 0) __nanosleep(1);
  *at = 1;
}
"""


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_a_cta_may_wait_for_any_other(order):
    library = host_cuda.built(SOURCE, "other_first")
    count = np.zeros(1, np.int32)
    argument = ctypes.c_void_p(count.ctypes.data)
    table = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
    host_cuda.shuffle(order)
    host_cuda.together(2)
    try:
        assert host_cuda.host_run(library, table, 2, 32, 1024, 1, 7) is None
    finally:
        host_cuda.shuffle(0)
        host_cuda.together(0)
    assert count[0] == 1
