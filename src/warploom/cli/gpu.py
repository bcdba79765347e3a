"""The GPU at hand, and Hopper kernels on it: their tensors, what they should give, the library.

Torch is needed only here, and only where a GPU is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from warploom.cli.kernels import TileKernel
from warploom.errors import ConfigError, WarploomError
from warploom.launch import driver
from warploom.launch.attention import attention
from warploom.launch.gemm import gemm

ERROR_LIMITS = {"bf16": 8e-3, "fp16": 4e-3, "fp8": 1e-2}
SHAPES = {"gemm": (4096, 4096, 4096), "attention": (2, 16, 4096, 0)}


def why_no_gpu() -> str:
    """Empty where a Hopper GPU and torch are at hand; else what is missing, in words."""
    try:
        driver.library()
        driver.require_hopper(0)
    except WarploomError as error:
        return error.what
    try:
        torch = import_module("torch")
    except ImportError:
        return "torch is not installed, which makes the tensors (pip install 'warploom[torch]')"
    return "" if torch.cuda.is_available() else "torch sees no GPU"


@dataclass(frozen=True, slots=True)
class Problem:
    """A kernel with tensors: ours, the library's call, and the exact result of some rows."""

    words: str
    flop: float
    ours: Callable[[], Any]
    library: Callable[[], Any]
    error: Callable[[Any], float]
    limit: float


def parse_shape(text: str | None, kernel: TileKernel) -> tuple[int, ...]:
    """``MxNxK``, or ``BxHxSxD`` of attention."""
    if kernel.text.name not in SHAPES:
        raise ConfigError(
            f"no problem is known for kernel {kernel.text.name}",
            why="a command makes tensors for gemm and attention",
            fix="call the kernel with tensors of your own, from Python",
        )
    head = dict(kernel.tiling.extents).get("d", 0)
    default = SHAPES[kernel.text.name]
    names = "MxNxK, e.g. 4096x4096x4096"
    if kernel.text.name == "attention":
        default, names = (*default[:3], head), "BxHxSxD, e.g. 2x16x4096x128"
    if text is None:
        return default
    parts = text.lower().split("x")
    if len(parts) != len(default) or not all(p.isdigit() and int(p) for p in parts):
        raise ConfigError(f"{text!r} is no shape", where="--shape", fix=f"write it as {names}")
    return tuple(int(p) for p in parts)


def problem(kernel: TileKernel, shape: tuple[int, ...]) -> Problem:
    """Random tensors of a shape and everything to do with them."""
    torch: Any = import_module("torch")
    torch.manual_seed(0)
    make = _gemm if kernel.text.name == "gemm" else _attention
    return make(torch, kernel, shape)


def _gemm(torch: Any, kernel: TileKernel, shape: tuple[int, ...]) -> Problem:  # noqa: ANN401
    m, n, k = shape
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp8": torch.float8_e4m3fn}
    dtype = kind[kernel.dtype]
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16).to(dtype)
    b = torch.randn(n, k, device="cuda", dtype=torch.bfloat16).to(dtype)
    choice = kernel.tiling if kernel.pins else None
    one = torch.ones((), device="cuda")

    def library() -> Any:  # noqa: ANN401
        if kernel.dtype == "fp8":
            return torch._scaled_mm(a, b.T, one, one, out_dtype=torch.bfloat16)
        return a @ b.T

    def error(out: Any) -> float:  # noqa: ANN401
        rows = torch.randint(0, m, (min(96, m),), device="cuda")
        exact = a[rows].double() @ b.double().T
        return float((out[rows].double() - exact).norm() / exact.norm())

    return Problem(
        f"{m}x{n}x{k} {kernel.dtype}",
        2.0 * m * n * k,
        lambda: gemm(a, b.T, choice=choice),
        library,
        error,
        ERROR_LIMITS[kernel.dtype],
    )


def _attention(torch: Any, kernel: TileKernel, shape: tuple[int, ...]) -> Problem:  # noqa: ANN401
    b, h, s, d = shape
    dtype = torch.bfloat16 if kernel.dtype == "bf16" else torch.float16
    q, k, v = (torch.randn(b, h, s, d, device="cuda", dtype=dtype) for _ in range(3))

    choice = kernel.tiling if kernel.pins else None

    def error(out: Any) -> float:  # noqa: ANN401
        rows = torch.randint(0, s, (min(64, s),), device="cuda")
        scores = q[0, 0, rows].double() @ k[0, 0].double().T / d**0.5
        exact = scores.softmax(-1) @ v[0, 0].double()
        return float((out[0, 0, rows].double() - exact).norm() / exact.norm())

    return Problem(
        f"batch {b}, {h} heads, {s} queries and keys, head dimension {d}, {kernel.dtype}",
        4.0 * b * h * s * s * d,
        lambda: attention(q, k, v, kernel=choice),
        lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v),
        error,
        ERROR_LIMITS[kernel.dtype],
    )


def milliseconds(call: Callable[[], Any], repeats: int) -> float:
    """Mean time of a call."""
    torch: Any = import_module("torch")
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(repeats):
        call()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / repeats
