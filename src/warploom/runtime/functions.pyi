"""Public functions that follow from declarations; written by scripts/gen_stubs."""

from typing import Any

def rms_gemm(
    x: Any,
    w: Any,
    *,
    eps: float,
    out: Any = None,
    stream: int | None = None,
) -> Any:
    """``(x / rms(x)) @ w.T``: the row statistic is made of the tiles the product loads anyway.

    ``x`` [m, k], ``w`` [n, k], ``out`` [m, n].
    """
