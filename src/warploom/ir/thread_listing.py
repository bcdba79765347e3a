"""Thread programs as text, a statement a line, with the author's names and lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from warploom.ir import threads as ir
from warploom.ir.elementwise import ELEMENTWISE, REDUCTIONS
from warploom.ir.expr import (
    CALLS,
    PRECEDENCE,
    Binary,
    Const,
    Element,
    Op,
    Select,
    Sym,
)
from warploom.ir.module import KernelModule
from warploom.ir.threads import Statement, Term
from warploom.ir.types import DType, Fn

CHOICE, UNARY, ATOM = 0, 8, 9  # how strongly terms bind that are no operators
FN_STRENGTH = {
    Fn.OR: 1, Fn.AND: 2, Fn.EQ: 4, Fn.NE: 4, Fn.LT: 5, Fn.LE: 5, Fn.GT: 5, Fn.GE: 5, Fn.BITS: 3,
    Fn.BITOR: 3, Fn.XOR: 3, Fn.SHL: 3, Fn.SHR: 3, Fn.ADD: 6, Fn.SUB: 6, Fn.MUL: 7, Fn.DIV: 7,
    Fn.FLOORDIV: 7, Fn.MOD: 7,
}  # fmt: skip


def thread_lines(module: KernelModule) -> Iterator[str]:
    """The program of every thread."""
    program = module.threads
    if program is None:
        return
    yield f"threads  {program.threads}, {program.lanes} to a row"
    yield from (f"  {line}" for line in _Listing(program).lines(program.body))


class _Listing:
    def __init__(self, program: ir.ThreadProgram) -> None:
        self.names = _names(program)
        self.note = ""

    def lines(self, body: Sequence[Statement]) -> Iterator[str]:
        for s in body:
            if isinstance(s, ir.Author):
                self.note = f"   # line {s.line.number}"
                continue
            for line in self.statement(s):
                note, self.note = self.note, ""
                yield line + note

    def inside(self, body: Sequence[Statement]) -> Iterator[str]:
        return (f"  {line}" for line in self.lines(body))

    def name(self, register: str) -> str:
        return self.names.get(register, register)

    def place(self, name: str, index: Term | None) -> str:
        return self.name(name) + ("" if index is None else f"[{self.term(index)}]")

    def element(self, tensor: str, at: tuple[Term, ...], width: int = 1) -> str:
        places = [self.term(x) for x in at]
        places[-1:] = [places[-1] + (f" :+{width}" if width > 1 else "")] if places else []
        return f"{tensor}[{', '.join(places)}]"

    def statement(self, s: Statement) -> Iterator[str]:  # noqa: C901, PLR0912, PLR0915 (a case a kind)
        match s:
            case ir.Declare():
                many = f"[{s.count}]" if s.count else ""
                kind = f"{'raw ' if s.raw else ''}{s.dtype}"
                value = "" if s.value is None else f" = {self.term(s.value)}"
                yield f"{self.name(s.name)}{many}: {kind}{value}"
            case ir.View():
                yield f"shared {s.name}[{s.count}]: {s.dtype} at byte {s.offset}"
            case ir.Assign():
                yield f"{self.place(s.name, s.index)} = {self.term(s.value)}"
            case ir.Put():
                yield f"{s.view}[{self.term(s.index)}] = {self.term(s.value)}"
            case ir.Fetch():
                into = f"{self.name(s.into)}[{self.term(s.index)} :+{s.width}]"
                yield f"{into} = load {self.element(s.tensor, s.at, s.width)}"
            case ir.Send():
                source = f"{self.name(s.source)}[{self.term(s.index)} :+{s.width}]"
                yield f"store {self.element(s.tensor, s.at, s.width)} = {source}"
            case ir.Covers():
                yield f"{s.name}[{s.count}]: cover of {s.width} {s.dtype}"
            case ir.FetchCover():
                element = self.element(s.tensor, s.at)
                yield f"{s.into}[{self.term(s.index)}] = load around {element}"
            case ir.TakeCovered():
                into = f"{self.name(s.into)}[{self.term(s.index)} ..]"
                yield f"{into} = {s.cover}[{self.term(s.number)}] at {self.element(s.tensor, s.at)}"
            case ir.SendShifted():
                yield f"store shifted {self.element(s.tensor, s.at, s.width)} = {s.source}"
                yield f"  if {self.term(s.here)}"
                yield f"  after lane: {self.term(s.before)}; before lane: {self.term(s.after)}"
            case ir.Write():
                yield f"store {self.element(s.tensor, s.at)} = {self.term(s.value)}"
            case ir.Merge():
                how = REDUCTIONS[s.fn].name
                yield f"atomic {how} {self.element(s.tensor, s.at)}, {self.term(s.value)}"
            case ir.Address():
                yield f"{s.name} = address of {self.element(s.tensor, s.at)}"
            case ir.FetchNearby():
                yield f"{self.name(s.into)}[0 :+{s.width}] = load {s.address}[0 :+{s.width}]"
            case ir.OperandTile():
                yield f"operand {s.name}[{s.rows}, {s.columns}]: {s.dtype} at byte {s.offset}"
            case ir.PutTile():
                place = f"{s.tile}[{self.term(s.row)}, {self.term(s.column)}]"
                yield f"{place} = {self.term(s.value)}"
            case ir.PutChunk():
                place = f"{s.tile}[{self.term(s.row)}, {self.term(s.column)} :+16 bytes]"
                yield f"{place} = {self.name(s.source)}"
            case ir.ClearTile():
                yield f"{s.tile} = 0"
            case ir.ProxyFence():
                yield "proxy fence"
            case ir.MmaFence():
                yield f"mma fence {', '.join(self.name(n) for n in s.registers)}"
            case ir.Mma():
                into = f"{self.name(s.into)}[{self.term(s.index)} :+{s.columns // 2}]"
                a, b = self.operand(s.a), self.operand(s.b)
                yield f"mma {into} += {a} @ {b}.T   64 x {s.columns}"
            case ir.MmaCommit():
                yield "mma commit"
            case ir.MmaWait():
                yield f"mma wait {s.pending}"
            case ir.Barrier():
                yield "barrier"
            case ir.AwaitKernelBefore():
                yield "await kernel before"
            case ir.Break():
                yield "break"
            case ir.Continue():
                yield "continue"
            case ir.Scope():
                yield from self.lines(s.body)
            case ir.If():
                yield f"if {self.term(s.condition)}:"
                yield from self.inside(s.body)
                if s.otherwise:
                    yield "else:"
                    yield from self.inside(s.otherwise)
            case ir.For():
                yield self.head(s)
                yield from self.inside(s.body)

    def operand(self, x: ir.Operand) -> str:
        """Rows of M or N, and which 32 bytes of K."""
        turned = ".T" if x.turned else ""
        return f"{x.tile}{turned}[{self.term(x.first)}, part {self.term(x.step)}]"

    def head(self, s: ir.For) -> str:
        first = self.name(s.counter) if s.first is None else self.term(s.first)
        step = "" if s.step == Const(1) else f" by {self.term(s.step)}"
        while_ = "" if s.running is None else f" while {self.term(s.running)}"
        how = f"unrolled {f'by {s.times} ' if s.times else ''}" if s.unroll else ""
        return f"{how}for {self.name(s.counter)} in {first} .. {self.term(s.end)}{step}{while_}:"

    def term(self, t: Term, outer: int = CHOICE) -> str:
        text, own = self.shown(t)
        return f"({text})" if own < outer else text

    def shown(self, t: Term) -> tuple[str, int]:  # noqa: C901, PLR0911, PLR0912 (a case a kind)
        match t:
            case ir.Number():
                text = str(t.value) if t.dtype is DType.BOOL else f"{t.value:g}"
                text = str(int(t.value)) if not t.dtype.is_float and text not in _WORDS else text
                return text.lower(), ATOM if not text.startswith("-") else UNARY
            case Const():
                return str(t.value), ATOM if t.value >= 0 else UNARY
            case Sym() | ir.Scalar():
                return t.name, ATOM
            case ir.Reg():
                return self.place(t.name, t.index), ATOM
            case Binary():
                if t.op in CALLS:
                    return f"{t.op}({self.term(t.a)}, {self.term(t.b)})", ATOM
                own = PRECEDENCE[t.op]
                return f"{self.term(t.a, own)} {t.op} {self.term(t.b, own + 1)}", own
            case ir.Not():
                return f"!{self.term(t.arg, UNARY)}", UNARY
            case ir.Within():
                own = PRECEDENCE[Op.LT]
                return f"0 <= {self.term(t.index, own + 1)} < {self.term(t.length, own + 1)}", own
            case Select():
                parts = [self.term(x, CHOICE + 1) for x in (t.condition, t.then, t.otherwise)]
                return "{} ? {} : {}".format(*parts), CHOICE
            case ir.Function():
                return self.function(t)
            case ir.Join() if t.fn is Fn.ADD:
                own = FN_STRENGTH[Fn.ADD]
                return f"{self.term(t.a, own)} + {self.term(t.b, own + 1)}", own
            case ir.Join():
                return f"{REDUCTIONS[t.fn].name}({self.term(t.a)}, {self.term(t.b)})", ATOM
            case ir.Convert() | ir.Encode():
                return f"{t.dtype}({self.term(t.arg)})", ATOM
            case ir.Decode():
                return self.shown(t.arg)
            case Element():
                return self.element(t.tensor, t.at), ATOM
            case ir.Nearby():
                return f"{t.address}[+ {self.term(t.by)} along {t.axis}]", ATOM
            case ir.Shared():
                return f"{t.view}[{self.term(t.index)}]", ATOM
            case ir.Shuffle():
                return f"shuffle_{t.how}({self.term(t.value)}, {self.term(t.by)})", ATOM
            case ir.Aligned():
                return f"aligned({t.tensor}, {t.bytes})", ATOM
            case ir.Contiguous():
                return f"contiguous({t.tensor})", ATOM
            case ir.Covered():
                element = self.element(t.tensor, t.at, t.width)
                return f"covered({element}, {self.term(t.end)})", ATOM
            case _:
                raise AssertionError(t)

    def function(self, t: ir.Function) -> tuple[str, int]:
        if t.code is not None:
            return f"{t.code.name}({', '.join(self.term(a) for a in t.args)})", ATOM
        symbol = ELEMENTWISE[t.fn].symbol
        if symbol and len(t.args) == 2 and t.fn in FN_STRENGTH:
            own = FN_STRENGTH[t.fn]
            return f"{self.term(t.args[0], own)} {symbol} {self.term(t.args[1], own + 1)}", own
        return f"{t.fn}({', '.join(self.term(a) for a in t.args)})", ATOM


_WORDS = ("True", "False")


def _names(program: ir.ThreadProgram) -> dict[str, str]:
    """The author's names of registers, where nothing else has them."""
    declared = [s for s in ir.statements(program.body) if isinstance(s, ir.Declare | ir.For)]
    held = {s.name: s.holds for s in declared if isinstance(s, ir.Declare) and s.holds}
    taken = {s.name if isinstance(s, ir.Declare) else s.counter for s in declared} - set(held)
    several = {n for n in held.values() if sum(x == n for x in held.values()) > 1}
    return {r: n for r, n in held.items() if n not in taken and n not in several}
