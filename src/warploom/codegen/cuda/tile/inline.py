"""Functions of elements that authors wrote in PTX or C++."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from warploom.ir.tile import DType, Inline, Line, Op, Pointwise, walk
from warploom.ir.types import refusal

C_TYPE = {DType.F32: "float", DType.I32: "int"}
CONSTRAINT = {DType.F32: "f", DType.I32: "r"}


def name_of(code: Inline, line: Line | None) -> str:
    """What a function is called in the source: two of one name may stand in a kernel."""
    if not (code.ptx or code.c):
        raise refusal(
            f"inline function '{code.name}' has no code for Hopper",
            line,
            why="it is written for other targets alone",
            fix='@wl.inline(ptx="...", amdgcn="..."), or a branch on a choice of the kernel',
        )
    digest = hashlib.sha256(f"{code.params} {code.result} {code.ptx} {code.c}".encode()).hexdigest()
    return f"inline_{code.name}_{digest[:8]}"


def definitions(ops: Iterable[Op]) -> str:
    """The functions that ops call."""
    found = {
        name_of(op.code, op.result.line): op.code
        for op in walk(tuple(ops))
        if isinstance(op, Pointwise) and op.code is not None
    }
    return "\n".join(definition(name, code) for name, code in found.items())


def definition(name: str, code: Inline) -> str:
    """The function of that name."""
    result = C_TYPE[code.result]
    head = f"static __device__ __forceinline__ {result} {name}("
    head += ", ".join(f"{C_TYPE[kind]} {param}" for param, kind in code.params) + ") {"
    if not code.ptx:
        text = code.c.format(**{n: f"({n})" for n, _ in code.params})
        return f"{head}\n  return {text};\n}}"
    places = {"out": "%0"} | {n: f"%{i + 1}" for i, (n, _) in enumerate(code.params)}
    text = code.ptx.format(**places).replace("\\", "\\\\").replace('"', '\\"')
    text = text.replace("\n", "\\n")
    inputs = ", ".join(f'"{CONSTRAINT[kind]}"({param})' for param, kind in code.params)
    return (
        f"{head}\n  {result} inline_out;\n"
        f'  asm("{{{text}}}" : "={CONSTRAINT[code.result]}"(inline_out) : {inputs});\n'
        "  return inline_out;\n}"
    )
