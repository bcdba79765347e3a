"""``torch.ops.warploom`` of the fused products and the scan.

``grouped_gemm`` has a gradient, the others have none and say so when one is asked for. On the CPU
they compute by torch, for tests of models.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from warploom.errors import BackendError
from warploom.runtime import fused
from warploom.torch import schema
from warploom.torch.autograd import is_deterministic, is_transformed, needs_grad, no_gradient
from warploom.torch.ops import LIBRARY

BLOCK = 128
GATES = {
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
}


def _halves(gate: Tensor, up: Tensor | None) -> tuple[Tensor, Tensor]:
    return (gate[0::2], gate[1::2]) if up is None else (gate, up)


def _cpu_swiglu(
    x: Tensor, gate: Tensor, up: Tensor | None = None, activation: str = "silu"
) -> Tensor:
    gate, up = _halves(gate, up)
    result: Tensor = GATES[activation](x @ gate.T) * (x @ up.T)
    return result


def _cpu_grouped(x: Tensor, w: Tensor, starts: Tensor, transposed: bool = False) -> Tensor:
    right = w if transposed else w.mT
    ends = starts.tolist()
    made = [x[a:b] @ right[e] for e, (a, b) in enumerate(pairwise(ends))]
    around = x[: ends[0]], x[max(0, ends[-1]) :]  # rows of no group
    first, last = (rows.new_zeros((rows.shape[0], right.shape[2])) for rows in around)
    return torch.cat([first, *made, last])


def _cpu_gathered(
    x: Tensor,
    w: Tensor,
    starts: Tensor,
    tokens: Tensor,
    up: Tensor | None = None,
    activation: str = "silu",
) -> Tensor:
    exists = (tokens >= 0) & (tokens < x.shape[0])
    rows = x[torch.where(exists, tokens, 0).long()] * exists[:, None]
    made = _cpu_grouped(rows, w, starts)
    return made if up is None else GATES[activation](made) * _cpu_grouped(rows, up, starts)


def _cpu_grouped_swiglu(
    x: Tensor, gate: Tensor, up: Tensor, starts: Tensor, activation: str = "silu"
) -> Tensor:
    return GATES[activation](_cpu_grouped(x, gate, starts)) * _cpu_grouped(x, up, starts)


def _cpu_weights(y: Tensor, x: Tensor, starts: Tensor) -> Tensor:
    return torch.stack([y[a:b].T @ x[a:b] for a, b in pairwise(starts.tolist())])


def _cpu_scattered(
    out: Tensor, x: Tensor, w: Tensor, starts: Tensor, rows: Tensor, weight: Tensor | None = None
) -> None:
    made = _cpu_grouped(schema.wide(x), schema.wide(w), starts)
    made = made if weight is None else made * weight[:, None]
    exists = (rows >= 0) & (rows < out.shape[0])
    out.index_add_(0, rows[exists].long(), made[exists].to(out.dtype))


class _Grouped(torch.autograd.Function):
    """Products of groups, with gradients of rows and weights."""

    @staticmethod
    def forward(x: Tensor, w: Tensor, starts: Tensor, transposed: bool) -> Tensor:
        """The products."""
        result: Tensor = torch.ops.warploom.grouped_gemm.default(x, w, starts, transposed)
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ANN401
        """Keep the operands."""
        x, w, starts, ctx.transposed = inputs
        ctx.save_for_backward(x, w, starts)

    @staticmethod
    def backward(ctx: Any, y: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        """Gradients of x and w; those of the weights are not differentiated again."""
        x, w, starts = ctx.saved_tensors
        ops, rows, weights = torch.ops.warploom, None, None
        if ctx.needs_input_grad[0]:
            rows = ops.grouped_gemm(y, w, starts, not ctx.transposed)
        if ctx.needs_input_grad[1]:
            pair = (x, y) if ctx.transposed else (y, x)
            weights = ops.grouped_gemm_weights(*pair, starts)
        return rows, weights, None, None


def _grouped_autograd(x: Tensor, w: Tensor, starts: Tensor, transposed: bool = False) -> Tensor:
    result: Tensor
    if is_transformed(x, w):
        _fake_grouped(x, w, starts, transposed)
        return _cpu_grouped(x, w, starts, transposed)
    if needs_grad(x, w):
        result = _Grouped.apply(x, w, starts, transposed)
        return result
    with torch._C._AutoDispatchBelowAutograd():
        result = torch.ops.warploom.grouped_gemm.default(x, w, starts, transposed)
    return result


def _cpu_scaled(
    a: Tensor, scale_a: Tensor, b: Tensor, scale_b: Tensor, starts: Tensor | None = None
) -> Tensor:
    left = a.float() * scale_a.repeat_interleave(BLOCK, 1)[:, : a.shape[1]]
    wide = scale_b.repeat_interleave(BLOCK, -2)[..., : b.shape[-2], :]
    right = b.float() * wide.repeat_interleave(BLOCK, -1)[..., : b.shape[-1]]
    made = left @ right.T if starts is None else _cpu_grouped(left, right, starts)
    return made.bfloat16()


def _is_packed(w: Tensor) -> bool:
    return w.dtype in (torch.int8, torch.uint8)


def _cpu_quantised(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
    whole = w.float()
    if _is_packed(w):
        bits = w.to(torch.int32)
        whole = torch.stack([bits & 15, (bits >> 4) & 15], -1).flatten(1).float() - 8
    wide = scale.repeat_interleave(BLOCK, 1)[:, : whole.shape[1]]
    return (schema.wide(x) @ (whole * wide).to(schema.wide(x).dtype).T).to(x.dtype)


def _cpu_scan(q: Tensor, k: Tensor, v: Tensor, grown: Tensor) -> tuple[Tensor, Tensor]:
    state = _state(q, v).zero_().to(schema.wide(q).dtype)
    q, k = (x.repeat_interleave(v.shape[1] // q.shape[1], 1) for x in (q, k))
    rows = []
    for c in range(q.shape[2]):
        qs, ks, vs, now = (schema.wide(x[:, :, c]) for x in (q, k, v, grown))
        p = ((qs @ ks.mT) * (now[..., :, None] - now[..., None, :]).exp()).tril()
        rows.append(p @ vs + (qs @ state) * now.exp()[..., None])
        end = now[..., -1:, None]
        state = state * end.exp() + ks.mT @ (vs * (end - now[..., None]).exp())
    return torch.stack(rows, 2).to(v.dtype), state.float()


def by_name(call: Callable[..., Any], text: str) -> Callable[..., Any]:
    """The kernel of an op: a call that takes the op's arguments by their names."""
    parsed = torch._C.parse_schema(text)
    names = [argument.name for argument in parsed.arguments]

    def kernel(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        made = call(**dict(zip(names, given, strict=False)), **named)
        return made if parsed.returns else None

    return kernel


class _WithoutGradient(torch.autograd.Function):
    """A call whose results have no gradient."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        op: str,
        call: Callable[..., Any],
        named: dict[str, Any],
        *given: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """The call."""
        ctx.op = op
        return call(*given, **named)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> None:  # noqa: ANN401
        """Refused."""
        raise no_gradient(ctx.op)


def without_gradient(text: str) -> Callable[..., Any]:
    """What stands before an op without a gradient: it refuses when one is asked for."""
    parsed = torch._C.parse_schema(text)
    name, nothing = parsed.name, not parsed.returns
    op = getattr(torch.ops.warploom, name).default

    def below(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        with torch._C._AutoDispatchBelowAutograd():
            return op(*given, **named)

    def kernel(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        tensors = [x for x in given if isinstance(x, Tensor)]
        if is_transformed(*tensors):
            raise no_gradient(name)
        if not needs_grad(*tensors):
            result = below(*given, **named)
            if nothing:  # whoever kept its first argument learns that it has changed
                torch.autograd.graph.increment_version(given[0])
            return result
        if nothing:  # results are added to a tensor that the graph knows already
            raise no_gradient(name)
        return _WithoutGradient.apply(name, below, named, *given)

    return kernel


def _run_added(**given: Any) -> Any:  # noqa: ANN401
    """Rows are added in the order in which they come: not the same bits every time."""
    if is_deterministic() and not torch.is_deterministic_algorithms_warn_only_enabled():
        raise BackendError(
            "the same bits of warploom.grouped_gemm_add are asked for",
            where="torch.ops.warploom.grouped_gemm_add",
            why="sums of three or more rows depend on the order in which these come",
            fix="grouped_gemm and index_add_, or torch.use_deterministic_algorithms(False)",
        )
    return fused.grouped_gemm(**given)


def _run_grouped_swiglu(gate: Tensor, **given: Any) -> Tensor:  # noqa: ANN401
    result: Tensor = fused.grouped_gemm(w=gate, **given)
    return result


def _state(q: Tensor, v: Tensor) -> Tensor:
    return q.new_empty((*v.shape[:2], q.shape[-1], v.shape[-1]), dtype=torch.float32)


def _check_gate(op: str, activation: str) -> None:
    schema.require(activation in GATES, f"warploom.{op}: unknown activation {activation!r}")


def _fake_swiglu(
    x: Tensor, gate: Tensor, up: Tensor | None = None, activation: str = "silu"
) -> Tensor:
    schema.check_axes("swiglu", "x m k, gate n k, up n k", x, gate, up, empty="m n k")
    _check_gate("swiglu", activation)
    if up is None:
        schema.require(gate.shape[0] % 2 == 0, "warploom.swiglu: without up, gate is [2 n, k]")
    return x.new_empty((x.shape[0], gate.shape[0] // (2 if up is None else 1)))


def _fake_grouped(x: Tensor, w: Tensor, starts: Tensor, transposed: bool = False) -> Tensor:
    weights = "e k n" if transposed else "e n k"
    axes = f"x t k, w {weights}, starts e+1 int32"
    schema.check_axes("grouped_gemm", axes, x, w, starts, empty="t k n")
    return x.new_empty((x.shape[0], w.shape[2 if transposed else 1]))


def _fake_gathered(
    x: Tensor,
    w: Tensor,
    starts: Tensor,
    tokens: Tensor,
    up: Tensor | None = None,
    activation: str = "silu",
) -> Tensor:
    axes = "x s k, w e n k, starts e+1 int32, tokens t int32, up e n k"
    schema.check_axes("grouped_gemm_gathered", axes, x, w, starts, tokens, up)
    _check_gate("grouped_gemm_gathered", activation)
    return x.new_empty((tokens.shape[0], w.shape[1]))


def _fake_grouped_swiglu(
    x: Tensor, gate: Tensor, up: Tensor, starts: Tensor, activation: str = "silu"
) -> Tensor:
    axes = "x t k, gate e n k, up e n k, starts e+1 int32"
    schema.check_axes("grouped_swiglu", axes, x, gate, up, starts, empty="t k n")
    _check_gate("grouped_swiglu", activation)
    return x.new_empty((x.shape[0], gate.shape[1]))


def _fake_weights(y: Tensor, x: Tensor, starts: Tensor) -> Tensor:
    axes = "y t n, x t k, starts e+1 int32"
    schema.check_axes("grouped_gemm_weights", axes, y, x, starts, empty="t k n")
    return x.new_empty((starts.shape[0] - 1, y.shape[1], x.shape[1]))


def _fake_scattered(
    out: Tensor, x: Tensor, w: Tensor, starts: Tensor, rows: Tensor, weight: Tensor | None = None
) -> None:
    axes = "out s n any, x t k, w e n k, starts e+1 int32, rows t int32, weight t float32"
    schema.check_axes("grouped_gemm_add", axes, out, x, w, starts, rows, weight)


def _fake_scaled(
    a: Tensor, scale_a: Tensor, b: Tensor, scale_b: Tensor, starts: Tensor | None = None
) -> Tensor:
    e = "" if starts is None else "e "
    axes = f"a m k, b {e}n k, scale_a m k/128 float32, scale_b {e}n/128 k/128 float32"
    given = (a, b, scale_a, scale_b, starts)
    schema.check_axes("gemm_block_scaled", f"{axes}, starts e+1 int32", *given)
    return a.new_empty((a.shape[0], b.shape[-2]), dtype=torch.bfloat16)


def _fake_quantised(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
    columns = "k/2" if _is_packed(w) else "k"
    axes = f"x m k, w n {columns} any, scale n k/128 float32"
    schema.check_axes("gemm_quantised", axes, x, w, scale)
    return x.new_empty((x.shape[0], w.shape[0]))


def _fake_scan(q: Tensor, k: Tensor, v: Tensor, grown: Tensor) -> tuple[Tensor, Tensor]:
    axes = "q b g c t d, k b g c t d, v b h c t e, grown b h c t float32"
    schema.check_axes("scan", axes, q, k, v, grown)
    even = v.shape[1] % q.shape[1] == 0
    schema.require(even, "warploom.scan: heads of q and k do not divide those of v")
    return v.new_empty(v.shape), _state(q, v)


# Each op: its schema, our call, what it is on the CPU, and what its results look like.
KERNELS: tuple[tuple[str, Callable[..., Any], Callable[..., Any], Callable[..., Any]], ...] = (
    (
        "swiglu(Tensor x, Tensor gate, Tensor? up=None, str activation='silu') -> Tensor",
        fused.swiglu,
        _cpu_swiglu,
        _fake_swiglu,
    ),
    (
        "grouped_gemm(Tensor x, Tensor w, Tensor starts, bool transposed=False) -> Tensor",
        fused.grouped_gemm,
        _cpu_grouped,
        _fake_grouped,
    ),
    (
        "grouped_gemm_gathered(Tensor x, Tensor w, Tensor starts, Tensor tokens, Tensor? up=None,"
        " str activation='silu') -> Tensor",
        fused.grouped_gemm,
        _cpu_gathered,
        _fake_gathered,
    ),
    (
        "grouped_swiglu(Tensor x, Tensor gate, Tensor up, Tensor starts, str activation='silu')"
        " -> Tensor",
        _run_grouped_swiglu,
        _cpu_grouped_swiglu,
        _fake_grouped_swiglu,
    ),
    (
        "grouped_gemm_weights(Tensor y, Tensor x, Tensor starts) -> Tensor",
        fused.grouped_gemm_weights,
        _cpu_weights,
        _fake_weights,
    ),
    (
        "grouped_gemm_add(Tensor(a!) out, Tensor x, Tensor w, Tensor starts, Tensor rows,"
        " Tensor? weight=None) -> ()",
        _run_added,
        _cpu_scattered,
        _fake_scattered,
    ),
    (
        "gemm_block_scaled(Tensor a, Tensor scale_a, Tensor b, Tensor scale_b, Tensor? starts=None)"
        " -> Tensor",
        fused.gemm_block_scaled,
        _cpu_scaled,
        _fake_scaled,
    ),
    (
        "gemm_quantised(Tensor x, Tensor w, Tensor scale) -> Tensor",
        fused.gemm_quantised,
        _cpu_quantised,
        _fake_quantised,
    ),
    (
        "scan(Tensor q, Tensor k, Tensor v, Tensor grown) -> (Tensor out, Tensor state)",
        fused.scan,
        _cpu_scan,
        _fake_scan,
    ),
)


for _text, _call, _cpu, _fake in KERNELS:
    _name = schema.define(LIBRARY, _text, by_name(_call, _text), _cpu, _fake)
    _differentiated = _grouped_autograd if _cpu is _cpu_grouped else without_gradient(_text)
    LIBRARY.impl(_name, _differentiated, "Autograd")
