"""``attention_backward`` on a Hopper GPU, for tensors of any library.

Three kernels: what is needed of each row beforehand, the gradients, and their sums made ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from warploom.compiler.layout import Layout
from warploom.ir.tile import DType
from warploom.ir.types import BLOCK_ROWS
from warploom.kernels.attention_grad import (
    attention_grad,
    blocked_grad,
    blocked_values,
    packed_grad,
    packed_values,
    values_grad,
)
from warploom.kernels.attention_grad_ends import converted, prepared, summed
from warploom.passes.kernel_config import KernelConfig
from warploom.runtime.arguments import tiles
from warploom.runtime.attention_checks import causal_choice, check_backward, checked_scale
from warploom.runtime.block_mask import block_lists, is_block_mask
from warploom.runtime.declared_calls import calls_of
from warploom.runtime.flexible import flexible
from warploom.runtime.kernel_calls import Calls
from warploom.runtime.tensors import allocator, on_stream, row_major, view_of

Options = tuple[Any, ...]
TOGETHER = 128  # the largest head dimension of which registers hold both sums
BEFORE: Options = ((), (), frozenset(), frozenset({"delta", "dq"}), ())
IN_TURN: Options = (*BEFORE[:3], BEFORE[3] | {"turns"}, ())


def attention_backward(
    grad: object,
    q: Any,  # noqa: ANN401 (the caller's own tensor type)
    k: Any,  # noqa: ANN401
    v: object,
    out: object,
    lse: object,
    causal: bool | str = False,
    scale: float | None = None,
    *,
    score: Callable[..., Any] | None = None,
    visible: object | None = None,
    lengths: object | None = None,
    deterministic: bool = False,
    kernel: KernelConfig | None = None,
    stream: int | None = None,
) -> tuple[Any, Any, Any]:
    """Gradients of ``attention`` for q, k and v, given that of its result.

    ``out`` and ``lse`` are what ``attention(..., return_lse=True)`` gave for the same arguments;
    head dim is 64, 128 or 256. The sums that make ``dq`` are in fp32 and in no fixed order, so it
    may differ in its last bit from run to run, unless ``deterministic`` is asked for: then they are
    added in turn. ``dk`` and ``dv`` are the same in every run. ``score``, ``visible`` and
    ``lengths`` are those of the forward pass; the derivative of ``score`` follows from its source.
    Of a block mask its blocks alone are walked, where sums are added in turn those its function
    sees.
    """
    given = {"q": q, "k": k, "v": v, "grad": grad, "out": out, "lse": lse}
    check_backward("attention_backward", given)
    if 0 in (*q.shape, *k.shape):
        return _zeros(q, stream), _zeros(k, stream), _zeros(v, stream)
    factor = q.shape[3] ** -0.5 if scale is None else checked_scale(scale)
    mask = causal_choice(causal)
    each = q.shape[1] // k.shape[1]
    kind = view_of(q, "q").layout.dtype
    sums = _sums(q, stream)
    before = IN_TURN if deterministic else BEFORE
    *_, delta, _, turns = PREPARED.launch((grad, out, None, sums, None), (), before, stream)
    own = score is not None or visible is not None
    apart = q.shape[3] > TOGETHER
    walked = is_block_mask(visible) and not deterministic
    options = _options(mask, DType.F32 if each > 1 else kind, apart, tiles(kernel, "kernel"))
    lists = block_lists(visible, q, k, turned=True) if walked else ()
    calls, values = (BLOCKED, BLOCKED_VALUES) if walked else (CALLS, VALUES)
    in_turn = () if walked else (turns,)

    def run(calls: Calls, tensors: tuple[Any, ...], options: Options) -> Any:  # noqa: ANN401
        more: tuple[Any, ...] = ()
        if own:
            calls, options, more = flexible(calls, score, visible, options)
        return calls.launch((*tensors, *lists, *more), (factor,), options, stream)

    done = run(calls, (q, k, v, grad, lse, delta, None, sums, None, lengths, *in_turn), options[0])
    dk, dv = done[6], done[8]
    if apart:
        dv = run(values, (q, k, grad, lse, None, lengths), options[1])[4]
    dq = CONVERTED.launch((sums, None), (factor,), _made(kind), stream)[1]
    if each > 1:
        dk, dv = (_summed(x, k, kind, each, stream) for x in (dk, dv))
    return dq, dk, dv


def attention_packed_backward(
    grad: Any,  # noqa: ANN401 (the caller's own tensor type)
    q: Any,  # noqa: ANN401
    k: Any,  # noqa: ANN401
    v: object,
    out: Any,  # noqa: ANN401
    lse: object,
    q_starts: object,
    k_starts: object,
    causal: bool | str = False,
    scale: float | None = None,
    *,
    stream: int | None = None,
) -> tuple[Any, Any, Any]:
    """Gradients of ``attention_packed`` for q, k and v, given that of its result.

    ``out`` and ``lse`` are what it gave with ``return_lse``; head dim is 64, 128 or 256. ``dq``
    may differ in its last bit from run to run.
    """
    given = {"q": q, "k": k, "v": v, "grad": grad, "out": out, "lse": lse}
    check_backward("attention_packed_backward", given, packed=True)
    if 0 in (*q.shape, *k.shape):
        return _zeros(q, stream), _zeros(k, stream), _zeros(v, stream)
    factor = q.shape[2] ** -0.5 if scale is None else checked_scale(scale)
    each, kind = q.shape[1] // k.shape[1], view_of(q, "q").layout.dtype
    sums = _sums(_headed(q), stream)
    delta = PREPARED.launch((_headed(grad), _headed(out), None, sums, None), (), BEFORE, stream)[2]
    types = DType.F32 if each > 1 else kind
    apart = q.shape[2] > TOGETHER
    options = _options(causal_choice(causal), types, apart, None)
    tensors = (q, k, v, grad, lse, delta[0], q_starts, k_starts, None, sums[0], None)
    done = PACKED.launch(tensors, (factor,), options[0], stream)
    dk, dv = done[8], done[10]
    if apart:
        values = (q, k, grad, lse, q_starts, k_starts, None)
        dv = PACKED_VALUES.launch(values, (factor,), options[1], stream)[6]
    dq = _summed(sums, q, kind, 1, stream, factor)
    if each > 1:
        dk, dv = (_summed(_headed(x), k, kind, each, stream) for x in (dk, dv))
    return dq, dk, dv


def _headed(x: Any) -> Any:  # noqa: ANN401
    """[rows, heads, head dim] seen as one batch of heads."""
    return x.swapaxes(0, 1)[None]


def kernels_of(
    q: Layout,
    k: Layout,
    rows: Layout,
    sums: Layout,
    mask: bool | str,
    *,
    deterministic: bool = False,
    lists: tuple[Layout | None, ...] = (),
) -> Iterator[tuple[Calls, tuple[Layout | None, ...], Options]]:
    """The kernels of a call with tensors of these layouts, in order, to compile them ahead.

    ``lists``: of a block mask.
    """
    each = q.shape[1] // k.shape[1]
    apart = q.shape[3] > TOGETHER
    options = _options(mask, DType.F32 if each > 1 else q.dtype, apart, None)
    turns = rows if deterministic else None
    yield PREPARED, (q, q, None, sums, None), IN_TURN if deterministic else BEFORE
    calls, values = (BLOCKED, BLOCKED_VALUES) if lists else (CALLS, VALUES)
    in_turn = () if lists else (turns,)
    yield calls, (q, k, k, q, rows, rows, None, sums, None, None, *in_turn, *lists), options[0]
    if apart:
        yield values, (q, k, q, rows, None, None, *lists), options[1]
    yield CONVERTED, (sums, None), _made(q.dtype)
    if each > 1:
        shape = (*q.shape[:2], *k.shape[2:])
        yield SUMMED, (Layout(shape, row_major(shape), DType.F32), k), _made(q.dtype, each)


def _sums(q: Any, stream: int | None) -> Any:  # noqa: ANN401
    """Memory for the sums of ``dq``, in whole blocks of rows."""
    batch, heads, length, size = q.shape
    rows = -(-length // BLOCK_ROWS) * BLOCK_ROWS
    with on_stream(q, stream):
        return allocator(q, (batch, heads, rows, size), DType.F32)()[:, :, :length]


def _zeros(like: Any, stream: int | None) -> Any:  # noqa: ANN401
    """The gradient of what nobody sees."""
    with on_stream(like, stream):
        result = allocator(like, tuple(like.shape), view_of(like, "q").layout.dtype)()
        result[...] = 0
    return result


def _summed(
    x: object,
    like: Any,  # noqa: ANN401
    kind: DType,
    each: int,
    stream: int | None,
    scale: float = 1.0,
) -> Any:  # noqa: ANN401
    """The sum over query heads that share a head of keys."""
    with on_stream(like, stream):
        out = allocator(like, tuple(like.shape), kind)()
    seen = out if len(like.shape) == 4 else _headed(out)
    SUMMED.launch((x, seen), (scale,), _made(kind, each), stream)
    return out


@lru_cache(maxsize=256)
def _options(
    mask: bool | str, kind: DType, apart: bool, kernel: KernelConfig | None
) -> tuple[Options, Options]:
    """Of the kernel that makes all gradients, and of one for those of values ``apart``."""
    wanted = {"dk", "dq", *(() if apart else ("dv",))}
    types = (("dk", kind), ("dv", kind))
    pins = kernel.pins if kernel is not None else ()
    rest = (("causal", mask),), frozenset({"scale"})
    return (types, *rest, frozenset(wanted), pins), (types[1:], *rest, frozenset({"dv"}), ())


@lru_cache(maxsize=256)
def _made(kind: DType, each: int = 1) -> Options:
    choices = (("each", each),) if each > 1 else ()
    return ((("out", kind),), choices, frozenset(), frozenset({"out"}), ())


PREPARED, CONVERTED, SUMMED = calls_of(prepared), calls_of(converted), calls_of(summed)
PACKED, PACKED_VALUES = calls_of(packed_grad), calls_of(packed_values)
CALLS, VALUES = calls_of(attention_grad), calls_of(values_grad)
BLOCKED, BLOCKED_VALUES = calls_of(blocked_grad), calls_of(blocked_values)
