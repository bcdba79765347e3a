"""On a Hopper GPU: every shipped text against its NumPy meaning, over types, sizes and edges.

Kernels are scheduled and compiled beforehand by as many processes as there are cores.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from tests.kernels.cases import TOLERANCE, cases, distinct
from tests.runtime.gpu import NEEDS_HOPPER, TORCH_WARNINGS
from warploom.ir.tile import DType

pytestmark = [*NEEDS_HOPPER, *TORCH_WARNINGS]
CASES = cases()


def build(number):
    """Compile a case's kernel into the cache; no GPU is touched. Texts cannot be sent: numbers."""
    return CASES[number].compiled.built.config.name


@pytest.fixture(scope="session", autouse=True)
def _compiled():
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        list(pool.map(build, [CASES.index(case) for case in distinct(CASES).values()]))


def torch_type(torch, dtype):
    return {
        DType.BF16: torch.bfloat16,
        DType.F16: torch.float16,
        DType.F32: torch.float32,
        DType.E4M3: torch.float8_e4m3fn,
        DType.I32: torch.int32,
    }[dtype]


def call(torch, case, arrays):
    """The results of a call, as NumPy arrays."""
    text = case.kernel_text
    tensors = text.signature.tensors
    kinds = {t.name: DType(case.types.get(t.name) or t.dtype or "f32") for t in tensors}
    given = {
        n: torch.from_numpy(np.ascontiguousarray(x)).to("cuda").to(torch_type(torch, kinds[n]))
        for n, x in arrays.items()
    }
    wanted = {t.name: True for t in text.signature.outputs if t.name in case.optional}
    types = {t.name: kinds[t.name] for t in text.signature.outputs if t.name not in case.left_out}
    made = text(**given, **wanted, **case.constants, **case.scalars, types=types)
    made = made if isinstance(made, tuple) else (made,)
    torch.cuda.synchronize()
    return [x.float().cpu().numpy().astype(np.float64) for x in made]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_text_computes_its_meaning(case):
    torch = pytest.importorskip("torch")
    arrays = case.arrays()
    found, wanted = call(torch, case, arrays), case.reference(arrays)
    assert len(found) == len(wanted)
    out = case.types["out"]
    for mine, right in zip(found, wanted, strict=True):
        assert mine.shape == right.shape
        hidden = ~np.isfinite(right)
        assert np.array_equal(mine[hidden], right[hidden])
        size = max(1.0, np.abs(right[~hidden]).max(initial=0.0))
        worst = np.abs(mine - right)[~hidden].max(initial=0.0)
        assert worst <= TOLERANCE[out] * size, (worst, size)
