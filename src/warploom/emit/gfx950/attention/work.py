"""Vector work on the lanes of a wave: every op of a step as LLVM IR, element by element.

A lane holds one query. Values of rows are one register; tiles of scores a register for each of the
lane's keys, ``8 * (r // 4) + 4 * half + r % 4`` of every 32; tiles along the head likewise. So
pointwise work needs no other lane, and a reduction over keys one exchange between the halves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from warploom.emit.gfx950.attention.plan import AttentionPlan
from warploom.emit.gfx950.lower.pointwise import constant, pointwise
from warploom.emit.gfx950.lower.text import IrText
from warploom.emit.gfx950.plan import argument_name
from warploom.kernel.values import (
    Const,
    DType,
    Fn,
    Indices,
    Op,
    Pointwise,
    Position,
    Reduce,
    Scalar,
    Size,
    Spread,
)
from warploom.lower.ranges import moves

_NONE = {Fn.MAX: float("-inf"), Fn.ADD: 0.0}  # what a key outside adds to a reduction


def place_in_tile(register: int) -> int:
    """The row of a 32-row tile that a register of the first half of the lanes holds."""
    return 8 * (register // 4) + register % 4


class Work:
    """Evaluates ops of one step. ``given`` are values from elsewhere, as elements.

    ``first_key``: the key the tile of scores starts at, plus four in the second half of the lanes.
    Keys past the end count for nothing, and conditions may hide some: that is looked at only in
    tiles that are not ``whole``, a truth of the wave that code branches on ("": in every tile).
    """

    def __init__(
        self,
        text: IrText,
        plan: AttentionPlan,
        given: Mapping[str, list[str]],
        *,
        first_key: str = "",
        whole: str = "",
    ) -> None:
        self._text = text
        self._plan = plan
        self._body = plan.text.body
        self._made: dict[str, list[str]] = dict(given)
        self._inline: dict[tuple[str, int], str] = {}
        self._first_key = first_key
        self._whole = whole

    def run(self, op: Pointwise | Reduce | Spread) -> list[str]:
        """Evaluate one op and keep its elements."""
        name = op.result.name
        if isinstance(op, Reduce):
            made = [self._reduced(op)]
        elif self._hides(op):
            assert isinstance(op, Pointwise)
            seen = [self.at(op.args[1], e) for e in range(self.elements(name))]
            made = self._where_cut(seen, lambda e, seen: self._computed(op, e))
        else:
            made = [self._computed(op, e) for e in range(self.elements(name))]
        self._made[name] = made
        return made

    def elements(self, name: str) -> int:
        """Registers of a lane that a value takes (of one tile along the head)."""
        dims = [d.var for d in self._body.values[name].dims]
        if self._plan.text.key in dims:
            return 16 * self._plan.score_tiles
        return 16 if self._plan.text.head in dims else 1

    def at(self, name: str, element: int = 0) -> str:
        """One element of a value: known, or computed where it is used."""
        made = self._made.get(name)
        if made is not None:
            return made[element if len(made) > 1 else 0]
        element = element if self.elements(name) > 1 else 0
        if (name, element) not in self._inline:
            op = self._body.ops[name]
            self._inline[name, element] = self._computed(op, element)
        return self._inline[name, element]

    def inside(self, elements: list[str], instead: float) -> list[str]:
        """Elements of a tile of scores, with another value where a key lies past the last."""
        other = constant(instead, DType.F32)

        def kept(element: int, value: str) -> str:
            exists = self._text.value(f"icmp slt i32 {self._key(element)}, %limit")
            return self._text.value(f"select i1 {exists}, float {value}, float {other}")

        return self._where_cut(elements, kept)

    def _where_cut(self, elements: list[str], change: Callable[[int, str], str]) -> list[str]:
        """Elements changed in tiles that are not whole: a branch around what changes them."""
        text = self._text
        if not self._whole:
            return [change(e, value) for e, value in enumerate(elements)]
        before, known = text.block, dict(self._inline)
        number = len(text.lines)
        text.add(f"br i1 {self._whole}, label %kept_{number}, label %cut_{number}")
        text.label(f"cut_{number}")
        changed = [change(e, value) for e, value in enumerate(elements)]
        text.add(f"br label %kept_{number}")
        text.label(f"kept_{number}")
        self._inline = known  # what was computed on the way is not there on the other
        return [
            text.value(f"phi float [ {a}, %{before} ], [ {b}, %cut_{number} ]")
            for a, b in zip(elements, changed, strict=True)
        ]

    def _key(self, element: int) -> str:
        at = 32 * (element // 16) + place_in_tile(element % 16)
        name = f"key {at}"
        if (name, 0) not in self._inline:
            self._inline[name, 0] = self._text.sum(self._first_key, at)
        return self._inline[name, 0]

    def _computed(self, op: Op, element: int) -> str:  # noqa: PLR0911 (one line a kind of op)
        text, body = self._text, self._body
        match op:
            case Const():
                return constant(op.value, op.result.dtype)
            case Scalar():
                return f"%{argument_name(op.parameter, scalar=True)}"
            case Size():
                width = self._plan.text.kernel.tensor(op.tensor).axis(op.axis).size
                return str(width) if width is not None else f"%dim_{op.axis}"
            case Position():
                return f"%at_{op.var}"
            case Spread():
                return self.at(op.arg, element)
            case Indices() if op.var == self._plan.text.row:
                return "%row"
            case Indices() if op.var == self._plan.text.key:
                return self._key(element)
            case Pointwise():
                kinds = [body.values[a].dtype for a in op.args]
                args = [self.at(a, element) for a in op.args]
                return pointwise(text, op.fn, args, kinds, op.result.dtype)
        raise AssertionError(op)

    def _hides(self, op: Op) -> bool:
        """Whether an op is a condition that hides keys."""
        if not isinstance(op, Pointwise) or op.fn is not Fn.WHERE or not self._whole:
            return False
        return moves(self._body, op.args[0])

    def _reduced(self, op: Reduce) -> str:
        text = self._text
        found = [self.at(op.arg, e) for e in range(self.elements(op.arg))]
        elements = self.inside(found, _NONE[op.fn])
        self._made[op.arg] = elements  # for all that follows: keys outside count nowhere
        total = elements[0]
        for element in elements[1:]:
            total = self._joined(op, total, element)
        bits = text.value(f"bitcast float {total} to i32")
        pair = text.value(
            "call { i32, i32 } @llvm.amdgcn.permlane32.swap("
            f"i32 {bits}, i32 {bits}, i1 false, i1 false)"
        )
        halves = [
            text.value(
                f"bitcast i32 {text.value(f'extractvalue {{ i32, i32 }} {pair}, {i}')} to float"
            )
            for i in (0, 1)
        ]
        return self._joined(op, *halves)

    def _joined(self, op: Reduce, a: str, b: str) -> str:
        return pointwise(self._text, op.fn, [a, b], [DType.F32] * 2, DType.F32)
