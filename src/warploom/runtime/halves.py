"""Block scales with many columns: a tile lies in both halves of the weights, and fetches rows once.

Callers know one product. Where tiles of both halves are quicker, the weights, their scales and the
result are seen as two halves each (``kernels.block_scaled.block_scaled_pair``).
"""

from __future__ import annotations

from typing import Any

from warploom.compiler.binary import Binary
from warploom.compiler.cuda_driver import sm_count
from warploom.compiler.layout import Layout
from warploom.ir.tile import Tensor
from warploom.kernels.block_scaled import block_scaled_pair
from warploom.kernels.registry import declared
from warploom.runtime.kernel_calls import Calls
from warploom.runtime.launch_cache import Request
from warploom.runtime.runner import Layouts, View

BLOCK = 128  # rows of a tile, and columns that share a scale
RANK, WEIGHTS, RESULT = 2, 2, 4
MANY = 8192
GAIN = 1.04  # what rounds of larger tiles may cost more


class Half(Layout):
    """Rows of a tensor as two halves."""

    __slots__ = ()


def halves(layouts: Layouts, options: tuple[Any, ...]) -> View:
    """Weights, scales and result in two halves, where tiles of both pay; else all as given."""
    a, _, b, scales, out = layouts
    if any(w is not None and len(w.shape) != RANK for w in layouts):
        return layouts, {}
    if a is None or b is None or scales is None or options[-1]:
        return layouts, {}
    (m, k), n = a.shape, b.shape[0]
    whole = scales.shape[0] * BLOCK == n and (out is None or out.shape == (m, n))
    if not whole or n % (2 * BLOCK) or not pays(m, n, k, sm_count(a.device)):
        return layouts, {}
    if out is not None:
        rows, columns = out.strides
        out = Layout((m, 2, n // 2), (rows, n // 2 * columns, columns), out.dtype, out.device)
    return (*layouts[:2], _halved(b), _halved(scales), out), {RESULT: (m, n)}


def pays(m: int, n: int, k: int, sms: int) -> bool:
    """Whether tiles of twice as many columns are quicker, and leave no more SMs idle. Of many rows
    and columns a tile of 192 rows, which is as large, is quicker still.
    """
    if min(m, n) >= MANY:
        return False
    tiles = -(-m // BLOCK) * (n // (2 * BLOCK))
    apart, together = -(-2 * tiles // sms), 2 * -(-tiles // sms)
    sizes = {"m": m, "n": n // 2, "k": k}
    return together <= GAIN * apart and bool(declared(block_scaled_pair).configuration({}, sizes))


def _halved(w: Layout) -> Half:
    rows = w.shape[0] // 2
    shape, strides = (2, rows, *w.shape[1:]), (rows * w.strides[0], *w.strides)
    return Half(shape, strides, w.dtype, w.device)


class Halved(Calls):
    """Calls of a product; ``pair``: those of the kernel whose tiles lie in both halves."""

    def __init__(self, plain: Calls, pair: Calls) -> None:
        super().__init__(plain.tile_kernel, plain.spelled, plain.check, halves)
        self.pair = pair

    def _binary(self, layouts: Layouts, options: tuple[Any, ...]) -> Binary:
        if isinstance(layouts[WEIGHTS], Half):
            return self.pair._binary(layouts, options)
        return super()._binary(layouts, options)

    def _asked(
        self, layouts: Layouts, options: tuple[Any, ...]
    ) -> tuple[Request, tuple[Tensor, ...], dict[str, int]]:
        if isinstance(layouts[WEIGHTS], Half):
            return self.pair._asked(layouts, options)
        return super()._asked(layouts, options)
