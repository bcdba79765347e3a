"""Cases of mutants on the device: one of every shipped text with a loop, each of which is right.

They are drawn in ``bench/lib/mutant_cases.py``, for the device; here small ones run on the host.
"""

from __future__ import annotations

import inspect
import pkgutil
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.host_cuda import NEEDS_COMPILER, run_case
from tests.kernels.test_grad_on_host import rows_of
from warploom import kernels
from warploom.compiler.emit_cuda import emit_kernel
from warploom.frontend.tile_kernel import TileKernel
from warploom.ir.tile import Access
from warploom.verify.roles import verify_roles

SMALL = {
    "packed_values": "i=3,h=2,g=1,s=140,t=150",
    "blocked": "b=1,h=2,g=1,s=200,t=300,c=3,n=4",
    "blocked_grad": "b=1,h=2,g=1,s=208,t=200,c=4,n=4",
    "blocked_values": "b=1,h=1,g=1,s=130,t=130,c=3,n=2",
    "grouped_weights": "t=200,n=136,k=136",
    "grouped_scattered": "s=70,t=200,n=136,k=100",
    "gathered_swiglu": "s=70,t=200,n=136,k=100",
}


@pytest.fixture(scope="module")
def cases():
    sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
    try:
        yield import_module("lib.mutant_cases")
    finally:
        del sys.path[0]


def shipped():
    """Every text of ``warploom.kernels``."""
    for module in pkgutil.iter_modules(kernels.__path__):
        found = import_module(f"warploom.kernels.{module.name}")
        for text in vars(found).values():
            if isinstance(text, TileKernel) and text.function.__module__ == found.__name__:
                yield text


def test_every_text_with_a_loop_has_a_case(cases):
    known = {case.text for case in cases.CASES.values()}
    looped = {t.name for t in shipped() if "wl.steps(" in inspect.getsource(t.function)}
    assert looped - known == {"split_product", "summed_parts", "conv2d"}, "those are for MI355X"
    assert len(looped) > 25


@NEEDS_COMPILER
@pytest.mark.parametrize("name", SMALL)
def test_a_small_case_computes_its_reference(cases, name):
    case = cases.sized(f"{name}@{SMALL[name]}")
    made, arrays = case.compiled, case.arrays()
    lowered = made.lower(made.choices[0].config)
    assert verify_roles(lowered.document).clean
    inputs = [t.name for t in made.rewritten.tensors if t.access is not Access.OUT]
    given = SimpleNamespace(
        sizes=case.sizes, scalars=case.scalars, arrays=lambda: [arrays[n] for n in inputs]
    )
    found, fault = run_case(given, made.rewritten, emit_kernel(lowered), lowered.config)
    assert fault is None
    outs = [t for t in made.rewritten.tensors if t.access is Access.OUT]
    for tensor, mine, right in zip(outs, found, case.reference(arrays), strict=True):
        rows = rows_of(mine) if tensor.blocked else mine
        assert np.linalg.norm(rows - right) < 0.01 * np.linalg.norm(right), tensor.name
