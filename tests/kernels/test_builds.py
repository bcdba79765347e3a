"""Every kernel down to a cubin: proven, nothing spilled, no product serialised."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.kernels.cases import Case, cases, distinct
from warploom.codegen.cuda.tile.signature import MapParam, OrderParam, PointerParam
from warploom.verify.roles import verify_roles

nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
BF16 = dict.fromkeys(("a", "b", "out", "x", "w", "gate", "up", "q", "k", "v"), "bf16")
LARGE = {"m": 8192, "n": 8192, "k": 4096}
HEADS = {"b": 4, "h": 16, "g": 4, "s": 4096, "t": 4096}


def case(text, sizes, **more):
    names = {t.name for t in Case(text, {}, {}).kernel_text.signature.tensors}
    types = {n: t for n, t in BF16.items() if n in names}
    return Case(text, sizes, types | more.pop("types", {}), **more)


SAMPLE = [
    case("gemm", LARGE, scalars={"alpha": 1.0}),
    case("gemm", LARGE, types={"a": "e4m3", "b": "e4m3"}, scalars={"alpha": 1.0}),
    case("gemm", {"m": 16, "n": 4096, "k": 4096}, scalars={"alpha": 1.0}),
    case("swiglu", LARGE),
    case("rms_gemm", LARGE, scalars={"eps": 1e-5}),
    case("attention", HEADS | {"d": 128}, choices={"causal": True}, scalars={"scale": 0.1}),
    case("attention", HEADS | {"d": 256}, choices={"causal": False}, scalars={"scale": 0.1}),
    case("grouped", {"t": 4096, "n": 4096, "k": 1024, "e": 8}),
]


@nvcc
@pytest.mark.parametrize("one", SAMPLE, ids=str)
def test_chosen_tiles_build(one):
    made = one.compiled
    assert made.built.cubin.report.kept
    assert made.config == made.choices[0].config  # the first choice, none dropped
    assert made.report.clean
    assert verify_roles(made.document).clean
    assert made.cubin[:4] == b"\x7fELF"


@nvcc
@pytest.mark.parametrize("one", SAMPLE[:1] + SAMPLE[5:6] + SAMPLE[7:], ids=str)
def test_memory_is_touched_after_the_kernel_before(one):
    """CTAs come while it ends: until they have waited they use shared memory and sizes alone."""
    source = one.compiled.built.source
    head, _, rest = source.text.partition("await_kernel_before();\n\n")
    body = head.rpartition(") {\n")[2]
    assert "mbar_init" in body
    assert "group_of_warps == 0" in rest
    memory = [p.name for p in source.params if isinstance(p, MapParam | PointerParam | OrderParam)]
    assert memory
    assert not [name for name in memory if re.search(rf"\b{name}\b", body)]


@nvcc
@pytest.mark.slow
def test_every_kernel_of_the_cases_builds():
    for one in distinct(cases()).values():
        assert one.compiled.built.cubin.report.kept, one
