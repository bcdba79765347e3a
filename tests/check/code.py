"""Small PTX programs for tests: a body in place of a whole file, and the values it leaves."""

from __future__ import annotations

import numpy as np

from warploom.check import check

HEAD = """.version 8.3
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 x, .param .u64 y)
{
 .reg .pred %p<16>;
 .reg .b16 %h<32>;
 .reg .b32 %r<64>;
 .reg .f32 %f<64>;
 .reg .b64 %d<32>;
 .reg .f64 %g<8>;
"""


def kernel(body: str) -> str:
    """A file whose one entry has two pointers and this body."""
    return HEAD + body + "\n ret;\n}\n"


def launch(block: int = 32, x: dict | None = None, y: dict | None = None, **more) -> dict:
    tensors = {
        "x": {"shape": [256], "dtype": "u32", "role": "in", **(x or {})},
        "y": {"shape": [256], "dtype": "u32", "role": "out", **(y or {})},
    }
    return {
        "entry": "kernel",
        "grid": [1, 1, 1],
        "block": [block, 1, 1],
        "params": [{"kind": "pointer", "tensor": t} for t in tensors],
        "tensors": tensors,
        **more,
    }


LOADS = """ ld.param.u64 %d1, [x];
 ld.param.u64 %d2, [y];
 mov.u32 %r1, %tid.x;
 mul.wide.u32 %d3, %r1, 4;
 add.s64 %d4, %d1, %d3;
 add.s64 %d5, %d2, %d3;
 ld.global.u32 %r2, [%d4];
 ld.global.u32 %r3, [%d4+128];
 ld.global.u32 %r4, [%d4+256];
"""


def compute(body: str, values: np.ndarray, **more) -> np.ndarray:
    """The 32 words that a body leaves in ``%r10``; ``%r2``, ``%r3``, ``%r4`` are its inputs."""
    words = np.ascontiguousarray(values).view(np.uint32).reshape(-1)
    given = {"shape": [96], "values": [int(v) for v in words]}
    out: dict[str, np.ndarray] = {}
    text = kernel(LOADS + body + " st.global.u32 [%d5], %r10;")
    report = check(text, launch(x=given, y={"shape": [32]}), outputs=out, **more)
    assert report.clean, report.text()
    return out["y"]
