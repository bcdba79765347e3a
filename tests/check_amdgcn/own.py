"""Launches of this project's gfx950 kernels, made from the metadata of their assembly."""

import numpy as np

from warploom.axioms import resolve
from warploom.check.amdgcn import check_amdgcn, read_kernel
from warploom.check.launch import Launch

NAMES = {"bf16": "bf16", "fp16": "f16", "fp8": "e4m3"}


def argument_names(assembly):
    kernel = read_kernel(assembly)
    return [
        a.name.removesuffix(".coerce") for a in kernel.arguments if not a.kind.startswith("hidden")
    ]


def launch_for(assembly, tensors, numbers, grid):
    """``tensors``: argument to (shape, dtype, role); ``numbers``: argument to value."""
    params = []
    for name in argument_names(assembly):
        if name in tensors:
            params.append({"kind": "pointer", "tensor": name})
        else:
            value = numbers[name]
            kind = "i32" if isinstance(value, int) else "f32"
            params.append({"kind": kind, "value": value})
    return Launch.from_json(
        {
            "grid": list(grid),
            "params": params,
            "tensors": {
                n: {"shape": list(s), "dtype": d, "role": r} for n, (s, d, r) in tensors.items()
            },
        }
    )


def gemm_launch(assembly, m, n, k, dtype, block, out="f32"):
    grid = (-(-m // block[0]), -(-n // block[1]), 1)
    tensors = {
        "mat_a": ((m, k), NAMES[dtype], "in"),
        "mat_b": ((n, k), NAMES[dtype], "in"),
        "mat_c": ((m, n), out, "out"),
    }
    return launch_for(assembly, tensors, {"dim_m": m, "dim_n": n, "dim_k": k}, grid)


def product(mat_a, mat_b):
    return mat_a.astype(np.float64) @ mat_b.astype(np.float64).T


def judge(assembly, launch, against=None, *, axioms=None, **more):
    return check_amdgcn(assembly, launch, axioms=resolve(axioms), against=against, **more)


def mutant_cases():
    """(name, text, launch) of small kernels that the project emits."""
    from tests.codegen_amdgcn.conftest import KERNELS, _emitted

    for name, steps in (("fourwave-small", 4), ("single-buffer-small", 2)):
        _, block, element, *_ = KERNELS[name]
        text = _emitted(name).assembly
        launch = gemm_launch(text, block[0], block[1], steps * block[2], element.value, block)
        yield name, text, launch
