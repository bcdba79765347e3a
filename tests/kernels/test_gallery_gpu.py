"""On a Hopper GPU: every kernel of ``examples/gallery`` against float64 NumPy, by the public call.

Outputs are given: what nobody writes is NaN (the least integer), what is added to holds the case's
initial value. Each kernel is called twice, so the second call is the one from the plan.
"""

from __future__ import annotations

import numpy as np
import pytest
from examples.gallery import CASES

from tests.kernels import gallery
from tests.runtime.gpu import NEEDS_HOPPER, TORCH_WARNINGS
from warploom.ir.tile import DType

pytestmark = [
    *NEEDS_HOPPER,
    *TORCH_WARNINGS,
    pytest.mark.filterwarnings(
        "ignore::warploom.compiler.cubin.SpillWarning"
    ),  # no default tile is free of them
]

TYPES = {
    DType.BF16: "bfloat16",
    DType.F16: "float16",
    DType.F32: "float32",
    DType.E4M3: "float8_e4m3fn",
    DType.E5M2: "float8_e5m2",
    DType.I32: "int32",
    DType.I8: "int8",
    DType.U32: "uint32",
    DType.U8: "uint8",
    DType.BOOL: "bool",
}


def tensor(torch, array, dtype):
    kind = getattr(torch, TYPES[dtype])
    whole = not dtype.is_float
    host = np.ascontiguousarray(np.asarray(array, np.int64 if whole else np.float32))
    return torch.from_numpy(host).to("cuda").to(kind)


def outputs(torch, case, sizes):
    """Output tensors with what they hold before the call."""
    initial = gallery.initial_of(case, sizes)
    kinds = gallery.types_of(case)
    found = {}
    for t in case.kernel.signature.outputs:
        shape = [-(-sizes[a.name] // a.per) for a in t.axes]
        kind = kinds[t.name]
        unwritten = np.nan if kind.is_float else -1
        found[t.name] = tensor(torch, initial.get(t.name, np.full(shape, unwritten)), kind)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_kernels_of_the_gallery_compute_their_meaning(case):
    torch = pytest.importorskip("torch")
    arrays = gallery.inputs(case)
    kinds = gallery.types_of(case)
    given = {n: tensor(torch, a, kinds.get(n, DType.I32)) for n, a in arrays.items()}
    for _ in range(2):
        held = outputs(torch, case, gallery.sizes_of(case, arrays))
        case.kernel(**given, **held, **case.scalars, **case.choices)
        torch.cuda.synchronize()
        made = [held[t.name].float().cpu().numpy() for t in case.kernel.signature.outputs]
        assert gallery.near(case, made) == ""
