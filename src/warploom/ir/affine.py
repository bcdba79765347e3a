"""Affine forms of places in a tile: what masks and bounds of loops are computed from."""

from __future__ import annotations

from warploom.dataclass import dataclass
from warploom.ir.types import Fn


@dataclass(frozen=True, slots=True)
class Affine:
    """``loop`` * (index along the loop) + ``rows`` * (row) + the sum of ``rest`` (factor, value of
    no place) + ``constant``.
    """

    loop: int = 0
    rows: int = 0
    rest: tuple[tuple[int, str], ...] = ()
    constant: int = 0

    def plus(self, other: Affine, sign: int = 1) -> Affine:
        """The sum with ``sign`` times another one."""
        return Affine(
            self.loop + sign * other.loop,
            self.rows + sign * other.rows,
            (*self.rest, *((sign * f, v) for f, v in other.rest)),
            self.constant + sign * other.constant,
        )

    def times(self, factor: int) -> Affine:
        """A multiple."""
        return Affine().plus(self, factor)


def apply_affine(fn: Fn, args: list[Affine]) -> Affine | None:
    """A function of affine forms, where it is one itself."""
    if fn is Fn.ADD:
        return args[0].plus(args[1])
    if fn is Fn.SUB:
        return args[0].plus(args[1], -1)
    if fn is Fn.NEG:
        return args[0].times(-1)
    if fn is Fn.MUL:
        for a, b in (args, args[::-1]):
            if a == Affine(constant=a.constant):
                return b.times(a.constant)
    return None
