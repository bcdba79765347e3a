"""The rule of charges: whether results depend on the reference exponentials are taken with.

Let a running maximum be moved by an arbitrary amount d, another one every iteration. A value either
stays as it is, shifts by a multiple of d, or is multiplied by 2 to a multiple of d. These multiples
are its *charges*: of the reference before the iteration and of the one after it. A value for which
no charge follows is *mixed*. If every carried value has the same charges at the end of an iteration
(of the reference after it) as at its start (of the one before it), and everything stored has none,
then the reference may lag.
"""

from __future__ import annotations

import math

from warploom.dataclass import dataclass
from warploom.ir.tile import (
    Broadcast,
    Carried,
    Const,
    Dot,
    Fn,
    Kernel,
    Loop,
    Op,
    Pointwise,
    Reduce,
    Store,
    Transpose,
    operands,
)


@dataclass(frozen=True, slots=True)
class Charge:
    """Multiples of d before and after the iteration, additive or in the exponent."""

    shift: tuple[float, float] = (0, 0)
    power: tuple[int, int] = (0, 0)

    @property
    def none(self) -> bool:
        """True for a value that does not change."""
        return self.power == (0, 0) and max(map(abs, self.shift)) < ROUNDING


ROUNDING = 1e-9  # of factors such as ln 2
NONE = Charge()
ANY = Charge(power=(1 << 30, 1 << 30))  # of a 0 that has not been added to yet
Found = Charge | None  # None: mixed


def shift_is_harmless(kernel: Kernel, loop: Loop, reference: Carried) -> bool:
    """Whether a carried maximum may be any reference without changing what is stored."""
    numbers = _numbers(kernel.ops)
    start = {c.inside.name: ANY if numbers.get(c.first) == 0 else NONE for c in loop.carried}
    start[reference.inside.name] = Charge(shift=(1, 0))
    for _ in range(len(loop.carried) + 1):
        ends = _loop_charges(kernel, loop, start, reference)
        if ends is None:
            return False
        again = {c.inside.name: _before(ends[c.last]) for c in loop.carried}
        if again == start:
            return _tail_is_plain(kernel, loop, ends)
        start = again
    return False


def _before(charge: Charge) -> Charge:
    """The charges at the end of an iteration, as those at the start of the next."""
    return Charge(shift=(charge.shift[1], 0), power=(charge.power[1], 0))


def _loop_charges(
    kernel: Kernel, loop: Loop, start: dict[str, Charge], reference: Carried
) -> dict[str, Charge] | None:
    found: dict[str, Found] = dict(start)
    numbers = _numbers((*kernel.ops, *loop.body))
    for op in loop.body:
        if isinstance(op, Store | Loop):
            return None
        if op.result.name == reference.last:
            found[op.result.name] = Charge(shift=(0, 1))
            continue
        found[op.result.name] = _charge(op, found, numbers)
    ends = {c.last: found.get(c.last, NONE) for c in loop.carried}
    plain: dict[str, Charge] = {}
    for c in loop.carried:
        charge = ends[c.last]
        if charge is None or charge == ANY or charge.shift[0] or charge.power[0]:
            return None
        plain[c.last] = charge
    return plain


def _tail_is_plain(kernel: Kernel, loop: Loop, ends: dict[str, Charge]) -> bool:
    found: dict[str, Found] = {c.result.name: ends[c.last] for c in loop.carried}
    numbers = _numbers(kernel.ops)
    after = False
    for op in kernel.ops:
        if op is loop or (isinstance(op, Loop) and op.var == loop.var):
            after = True
            continue
        if not after:
            continue
        if isinstance(op, Store):
            charge = found.get(op.value, NONE)
            if charge is None or not charge.none:
                return False
        elif isinstance(op, Loop):
            return False
        else:
            found[op.result.name] = _charge(op, found, numbers)
    return True


def _numbers(ops: tuple[Op, ...]) -> dict[str, float]:
    """Constants, spread or not."""
    result: dict[str, float] = {}
    for op in ops:
        if isinstance(op, Const):
            result[op.result.name] = float(op.value)
        elif isinstance(op, Broadcast) and op.arg in result:
            result[op.result.name] = result[op.arg]
    return result


def _charge(  # noqa: PLR0911 (one rule a kind of op)
    op: Op, found: dict[str, Found], numbers: dict[str, float]
) -> Found:
    args = [found.get(n, NONE) for n in operands(op)]
    if any(a is None for a in args):
        return None
    known = [a for a in args if a is not None]
    if all(a.none for a in known):
        return NONE
    if ANY in known:
        return _of_nothing(op, known)
    if isinstance(op, Reduce):
        return known[0]
    if isinstance(op, Broadcast | Transpose):
        return known[0]
    if isinstance(op, Dot):
        product = _times(found.get(op.a, NONE), found.get(op.b, NONE))
        into = found.get(op.into, NONE) if op.into else product
        return product if product == into else None
    return _pointwise(op, known, numbers) if isinstance(op, Pointwise) else None


def _of_nothing(op: Op, args: list[Charge]) -> Found:
    """What follows from a 0: another summand decides, a product stays 0."""
    others = [a for a in args if a != ANY]
    if isinstance(op, Dot) and op.into is not None:
        product = _times(args[0], args[1])
        return product if args[2] == ANY else None
    if isinstance(op, Pointwise) and op.fn in (Fn.ADD, Fn.SUB):
        return others[0] if others else ANY
    return ANY if isinstance(op, Pointwise) and op.fn is Fn.MUL else None


def _times(a: Found, b: Found) -> Found:
    if a is None or b is None or any(x for x in (*a.shift, *b.shift)):
        return None
    return Charge(power=(a.power[0] + b.power[0], a.power[1] + b.power[1]))


def _pointwise(  # noqa: PLR0911 (one rule a function)
    op: Pointwise, args: list[Charge], numbers: dict[str, float]
) -> Found:
    powers = [a.power for a in args]
    plain = all(p == (0, 0) for p in powers)
    match op.fn:
        case Fn.ADD | Fn.SUB if plain:
            sign = 1 if op.fn is Fn.ADD else -1
            a, b = (x.shift for x in args)
            return Charge(shift=(a[0] + sign * b[0], a[1] + sign * b[1]))
        case Fn.ADD | Fn.SUB | Fn.MAX | Fn.MIN:
            return args[0] if args[0] == args[1] and args[0].shift == (0, 0) else None
        case Fn.MUL if plain:
            return _multiple(op, args, numbers)
        case Fn.MUL:
            return _times(args[0], args[1])
        case Fn.DIV:
            a, b = powers
            if any(x for c in args for x in c.shift):
                return None
            return Charge(power=(a[0] - b[0], a[1] - b[1]))
        case Fn.EXP2 if plain and all(float(s).is_integer() for s in args[0].shift):
            return Charge(power=(int(args[0].shift[0]), int(args[0].shift[1])))
        case Fn.LOG2 | Fn.LOG if args[0].shift == (0, 0):
            unit = math.log(2) if op.fn is Fn.LOG else 1
            return Charge(shift=(args[0].power[0] * unit, args[0].power[1] * unit))
        case Fn.CAST:
            return args[0]
        case _:
            return _chosen(op, args, numbers)


def _multiple(op: Pointwise, args: list[Charge], numbers: dict[str, float]) -> Found:
    """A shifting value times a number."""
    for charge, factor in ((args[0], op.args[1]), (args[1], op.args[0])):
        if factor in numbers:
            n = numbers[factor]
            return Charge(shift=(charge.shift[0] * n, charge.shift[1] * n))
    return None


def _chosen(op: Pointwise, args: list[Charge], numbers: dict[str, float]) -> Found:
    """``where(l > 0, l, 1)``: a sum that is 0 stays 0 under any power, and so does all that was
    weighed by its terms.
    """
    if op.fn in (Fn.GT, Fn.LE, Fn.EQ, Fn.NE) and args[0].shift == (0, 0):
        return NONE if numbers.get(op.args[1]) == 0 else None
    if op.fn is Fn.WHERE and args[0].none:
        if args[1] == args[2]:
            return args[1]
        return args[1] if args[2].none and args[1].shift == (0, 0) else None
    return None
