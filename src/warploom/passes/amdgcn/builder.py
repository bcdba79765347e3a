"""``Builder``: a wave program under construction, instruction by instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warploom.ir import waves as ir
from warploom.ir.tile import DType, Fn, Pointwise
from warploom.ir.waves import Instruction, IntOp, Kind, Operand, Order, Word
from warploom.passes.amdgcn.numbers import PAIR, held_alike

Body = list[Instruction]


class Section(Instruction):
    """The place of instructions that are found out later."""

    __slots__ = ("body",)

    def __init__(self, body: Body) -> None:
        self.body = body


def finished(body: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """A body with everything in its place."""
    found: list[Instruction] = []
    for one in body:
        match one:
            case Section():
                found += finished(one.body)
            case ir.If():
                rest = None if one.otherwise is None else finished(one.otherwise)
                found.append(replace(one, body=finished(one.body), otherwise=rest))
            case ir.While():
                found.append(replace(one, body=finished(one.body)))
            case _:
                found.append(one)
    return tuple(found)


class Builder:
    """Appends instructions to a body and names their registers. Mutable; lives for one lowering."""

    def __init__(self, mark: str = "v") -> None:
        self.body: Body = []
        self.mark = mark
        self._fresh = 0

    def name(self) -> str:
        """A register that nobody else writes."""
        self._fresh += 1
        return f"%{self.mark}{self._fresh}"

    def add(self, instruction: Instruction) -> None:
        """Append an instruction."""
        self.body.append(instruction)

    # Whole numbers.

    def integer(self, op: str, a: Operand, b: Operand, bits: int = 32, name: str = "") -> str:
        """Arithmetic of whole numbers."""
        to = name or self.name()
        self.add(ir.Integer(to, IntOp(op), bits, a, b))
        return to

    def wide(self, op: str, a: Operand, b: Operand) -> str:
        """The same with 64 bits."""
        return self.integer(op, a, b, 64)

    def truth(self, op: str, a: Operand, b: Operand) -> str:
        """Two truths joined."""
        return self.integer(op, a, b, 1)

    def compare(self, op: str, a: Operand, b: Operand, bits: int = 32) -> str:
        """A truth about two whole numbers."""
        to = self.name()
        self.add(ir.Compare(to, Order(op), bits, a, b))
        return to

    def times(self, a: Operand, b: int) -> Operand:
        """A product with a number that is known, by a shift where one does."""
        if b & (b - 1) == 0 and b > 0:
            return a if b == 1 else self.integer("shl", a, b.bit_length() - 1)
        return self.integer("mul", a, b)

    def sum(self, a: Operand, b: int) -> Operand:
        """A sum with a number that is known."""
        return a if b == 0 else self.integer("add", a, b)

    def widened(self, value: Operand, *, signed: bool = False) -> str:
        """32 bits as 64."""
        to = self.name()
        self.add(ir.Resize(to, value, Word.I32, Word.I64, signed))
        return to

    def shortened(self, value: Operand) -> str:
        """64 bits as 32."""
        return self.resized(value, Word.I64, Word.I32)

    def resized(self, value: Operand, source: Word, word: Word) -> str:
        """A whole number with other bits, zeros before it."""
        to = self.name()
        self.add(ir.Resize(to, value, source, word))
        return to

    # Numbers of any type.

    def select(self, condition: Operand, kind: Kind | Word, a: Operand, b: Operand) -> str:
        """One of two."""
        to = self.name()
        kind = kind if isinstance(kind, Kind) else Kind(kind)
        self.add(ir.Select(to, kind, condition, a, b))
        return to

    def cast(self, value: Operand, source: Kind, kind: Kind) -> str:
        """The same bits as another type."""
        to = self.name()
        self.add(ir.Cast(to, value, source, kind))
        return to

    def function(
        self, fn: Fn, args: Sequence[Operand], types: Sequence[DType], dtype: DType
    ) -> str:
        """A function of the table."""
        to = self.name()
        self.add(ir.Function(to, fn, tuple(args), tuple(types), dtype))
        return to

    def inline(self, op: Pointwise, args: Sequence[Operand], types: Sequence[DType]) -> str:
        """A function that its author wrote."""
        to = self.name()
        self.add(ir.Function(to, op.fn, tuple(args), tuple(types), op.result.dtype, op.code))
        return to

    def pair(self, fn: Fn, a: Operand, b: Operand) -> str:
        """A function of two neighbours at once."""
        to = self.name()
        self.add(ir.Pairwise(to, fn, a, b))
        return to

    def convert(self, value: Operand, source: DType, to: DType) -> Operand:
        """A number as one of another type."""
        if held_alike(source, to):
            return value
        name = self.name()
        self.add(ir.Convert(name, value, source, to))
        return name

    def decode(self, value: Operand, dtype: DType) -> Operand:
        """An element of memory as a number."""
        if dtype in (DType.F32, DType.I32):
            return value
        to = self.name()
        self.add(ir.Decode(to, value, dtype))
        return to

    def encode(self, value: Operand, dtype: DType) -> Operand:
        """A number as an element of memory."""
        if dtype in (DType.F32, DType.I32):
            return value
        to = self.name()
        self.add(ir.Encode(to, (value,), dtype))
        return to

    def encode_all(self, values: Sequence[Operand], dtype: DType) -> str:
        """Numbers as neighbours in memory."""
        to = self.name()
        self.add(ir.Encode(to, tuple(values), dtype, many=True))
        return to

    # Vectors.

    def vector(self, values: Sequence[Operand], word: Word) -> str:
        """A vector of values."""
        to = self.name()
        self.add(ir.Vector(to, tuple(values), word))
        return to

    def insert(self, vector: Operand, kind: Kind, value: Operand, at: int) -> str:
        """A vector with another element."""
        to = self.name()
        self.add(ir.Insert(to, vector, kind, value, at))
        return to

    def extract(self, vector: Operand, kind: Kind, at: int) -> str:
        """An element of a vector."""
        to = self.name()
        self.add(ir.Extract(to, vector, kind, at))
        return to

    def halves(self, vector: Operand) -> list[str]:
        """Both elements of a pair."""
        return [self.extract(vector, PAIR, i) for i in (0, 1)]

    def slice(self, vector: Operand, kind: Kind, start: int, count: int) -> str:
        """Neighbours of a vector."""
        to = self.name()
        picked = tuple(range(start, start + count))
        self.add(ir.Shuffle(to, vector, None, kind, kind, picked))
        return to

    def joined(self, a: Operand, b: Operand, a_kind: Kind, b_kind: Kind) -> str:
        """Two vectors one after the other."""
        to = self.name()
        picked = tuple(range(a_kind.count + b_kind.count))
        self.add(ir.Shuffle(to, a, b, a_kind, b_kind, picked))
        return to

    # Memory.

    def address(self, tensor: str, offset: Operand, scale: int = 0, start: str = "") -> str:
        """A place in memory."""
        to = self.name()
        self.add(ir.Address(to, tensor, offset, scale, start))
        return to

    def load(self, kind: Kind, tensor: str, address: str, align: int) -> str:
        """What lies there."""
        to = self.name()
        self.add(ir.Load(to, kind, tensor, address, align))
        return to

    def number(self, tensor: str, index: Operand) -> str:
        """One whole number of a tensor."""
        to = self.name()
        self.add(ir.Number(to, tensor, index))
        return to

    def read(
        self, kind: Kind, lane: Operand, at: int, align: int, *,
        ring: int = -1, stage: int = 0, turned: bool = False,
    ) -> str:  # fmt: skip
        """What lies in LDS."""
        to = self.name()
        self.add(ir.ReadLds(to, kind, lane, at, align, ring, stage, turned))
        return to

    def multiply(self, matrix: ir.MatrixOp, a: Operand, b: Operand, total: Operand) -> str:
        """One matrix instruction."""
        to = self.name()
        self.add(ir.Mfma(to, matrix, a, b, total))
        return to

    # Lanes.

    def first_lane(self, value: Operand) -> str:
        """The number of the first lane, for all."""
        to = self.name()
        self.add(ir.FirstLane(to, value))
        return to

    def permute(self, at: Operand, value: Operand, word: Word) -> str:
        """The number of another lane."""
        to = self.name()
        self.add(ir.Permute(to, at, value, word))
        return to

    def neighbours(self, value: Operand, step: int, word: Word, count: int) -> tuple[str, ...]:
        """The numbers of two halves."""
        names = tuple(self.name() for _ in range(count))
        self.add(ir.Neighbours(names, value, step, word))
        return names

    def no_lane(self, value: Operand) -> str:
        """Whether a condition holds nowhere."""
        to = self.name()
        self.add(ir.NoLane(to, value))
        return to

    def anew(self, value: Operand, *, fixed: bool = False, name: str = "") -> str:
        """The same in a register of its own."""
        to = name or self.name()
        self.add(ir.Anew(to, value, fixed))
        return to

    def pin(self) -> None:
        """Nothing moves across this place."""
        self.add(ir.Pin())

    # Bodies inside of bodies.

    def open(self) -> Body:
        """Begin a body; what was begun before is given back by ``close``."""
        outer, self.body = self.body, []
        return outer

    def close(self, outer: Body) -> Body:
        """The body that was begun last."""
        inner, self.body = self.body, outer
        return inner
