"""Values of columns as CUDA source: a thread has four of 16 columns, the same for all its rows."""

from __future__ import annotations

from warploom.codegen.cuda.device import device

COLUMN = "[e / 4 * 2 + e % 2]"  # of element e, among the four columns of a thread


def columns_text(kind: str, label: str, text: str) -> list[str]:
    """A value of columns, computed once for 16 columns."""
    return [
        f"{kind} {label}[4];",
        "#pragma unroll",
        "for (int c = 0; c < 4; ++c) {",
        "  const int e = c / 2 * 4 + c % 2;",
        f"  {label}{COLUMN} = {text};",
        "}",
    ]


def vector_text(label: str, slot: str, early: str = "", *, loose: bool = False) -> list[str]:
    """A vector in shared memory, read by pairs; or what was read of it ``early``.

    ``loose``: pairs may lie anywhere, so elements are read one by one.
    """
    if early:
        return [f"const float* {label} = {early} + 4 * g;"]
    if loose:
        return columns_text("float", label, f"{device.load_shared1}({slot} + 4 * column_of(h, e))")
    return [
        f"float {label}[4];",
        *(
            f"{device.load_shared2}({slot} + 4 * column_of(h, {4 * h}), {label}[{2 * h}],"
            f" {label}[{2 * h + 1}]);"
            for h in range(2)
        ),
    ]


def early_text(array: str, slot: str, columns: int) -> list[str]:
    """All elements a thread has of a vector."""
    return [
        "#pragma unroll",
        f"for (int n = 0; n < {columns // 8}; ++n)",
        f"  {device.load_shared2}({slot} + 4 * column_of(n, 0), {array}[2 * n],"
        f" {array}[2 * n + 1]);",
    ]
