"""Wave programs as text, an instruction a line, with the author's names of sizes and tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from warploom.ir import waves as ir
from warploom.ir.elementwise import ELEMENTWISE
from warploom.ir.module import KernelModule
from warploom.ir.waves import Instruction, Kind, Operand, Word

_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "udiv": "/", "urem": "%", "and": "&", "or": "|",
    "xor": "^", "shl": "<<", "lshr": ">>", "ashr": ">>s", "eq": "==", "ne": "!=", "slt": "<",
    "sge": ">=", "sgt": ">", "ult": "<u", "ugt": ">u", "uge": ">=u",
}  # fmt: skip


def wave_lines(module: KernelModule) -> Iterator[str]:
    """The program of every wave."""
    program = module.program
    if program is None:
        return
    yield f"waves    {program.waves} of 64 lanes, {program.across} along the other axis"
    for why in program.plain:
        yield f"plain    {why}"
    printed = _Listing(program)
    yield "  at the beginning:"
    yield from (f"    {line}" for line in printed.lines(program.entry))
    yield from (f"  {line}" for line in printed.lines(program.body))


class _Listing:
    def __init__(self, program: ir.WaveProgram) -> None:
        self.names: dict[str, str] = {}
        for a in program.arguments:
            axis = f".stride{a.axis}" if a.what is ir.ArgumentKind.STRIDE else ""
            self.names[a.name] = a.of + axis

    def at(self, operand: Operand) -> str:
        if isinstance(operand, str):
            return self.names.get(operand, operand.removeprefix("%"))
        if operand is None:
            return "any"
        if isinstance(operand, bool):
            return str(operand).lower()
        return f"{operand:g}" if isinstance(operand, float) else str(operand)

    def all(self, operands: Sequence[Operand]) -> str:
        return ", ".join(self.at(x) for x in operands)

    def lines(self, body: Sequence[Instruction]) -> Iterator[str]:
        for one in body:
            if not isinstance(one, ir.Pin):
                yield from self.one(one)

    def inside(self, body: Sequence[Instruction]) -> Iterator[str]:
        return (f"  {line}" for line in self.lines(body))

    def one(self, one: Instruction) -> Iterator[str]:  # noqa: C901 (a case a structure)
        match one:
            case ir.If():
                yield f"if {self.at(one.condition)}:"
                yield from self.inside(one.body)
                if one.otherwise is not None:
                    yield "else:"
                    yield from self.inside(one.otherwise)
                for c in one.results:
                    yield f"{self.at(c.name)} = {self.at(c.then)} or else {self.at(c.otherwise)}"
            case ir.While():
                for k in (*one.carried, *([one.going] if one.going is not None else [])):
                    first, last = self.at(k.first), self.at(k.last)
                    yield f"{self.at(k.name)}: {kind(k.kind)} = {first}, then {last}"
                head = f"{self.at(one.first)} .. {self.at(one.end)} by {one.step}"
                going = f" while {self.at(one.going.name)}" if one.going is not None else ""
                yield f"for {self.at(one.counter)} in {head}{going}:"
                yield from self.inside(one.body)
            case ir.Step():
                reason = f"   # {one.reason}" if one.reason else ""
                yield f"{one.name}[{one.number}]:{reason}"
                yield from self.inside(one.body)
            case ir.Pipeline():
                yield f"pipelined loop {one.name} along {one.axis}"
                for r in one.rings:
                    yield f"  ring {r.channel}: {r.stages} x {r.bytes} bytes of {r.name} at {r.at}"
                yield "  prologue:"
                yield from (f"    {line}" for line in self.lines(one.prologue))
                for k in one.carried:
                    first, last = self.at(k.first), self.at(k.last)
                    yield f"  {self.at(k.name)}: {kind(k.kind)} = {first}, then {last}"
                yield f"  for {self.at(one.counter)} in 0 .. {self.at(one.trips)}:"
                yield from (f"    {line}" for line in self.lines(one.kernel))
                for c in one.results:
                    then, rest = self.at(c.then), self.at(c.otherwise)
                    yield f"  {self.at(c.name)} = {then} or, without a turn, {rest}"
                yield "  epilogue:"
                yield from (f"    {line}" for line in self.lines(one.epilogue))
            case _:
                yield self.simple(one)

    def simple(self, one: Instruction) -> str:
        """An instruction without a body."""
        names = [self.at(n) for n in ir.names_of(one)]
        to = f"{', '.join(names)} = " if names else ""
        return to + self.value(one)

    def value(self, one: Instruction) -> str:  # noqa: C901, PLR0911, PLR0912 (a case a kind)
        match one:
            case ir.Integer() | ir.Compare():
                a, b = self.at(one.a), self.at(one.b)
                symbol = _SYMBOLS.get(one.op)
                wide = ":64" if one.bits == 64 else ""
                return f"{a} {symbol}{wide} {b}" if symbol else f"{one.op}({a}, {b}){wide}"
            case ir.Select():
                return f"{self.at(one.condition)} ? {self.at(one.a)} : {self.at(one.b)}"
            case ir.Resize():
                return f"{one.word}({self.at(one.value)})" + (" signed" if one.signed else "")
            case ir.Cast():
                return f"bits of {self.at(one.value)} as {kind(one.kind)}"
            case ir.Function():
                name = one.code.name if one.code is not None else _function(one)
                return f"{name}({self.all(one.args)}): {one.dtype}"
            case ir.Pairwise():
                return f"{_SYMBOLS[one.fn.value]}2({self.at(one.a)}, {self.at(one.b)})"
            case ir.Convert():
                return f"{one.dtype}({self.at(one.value)})"
            case ir.Decode():
                return f"number of {one.dtype} {self.at(one.value)}"
            case ir.Encode():
                return f"{one.dtype} bits of {self.all(one.values)}"
            case ir.Vector():
                return f"[{self.all(one.values)}]"
            case ir.Insert():
                return f"{self.at(one.vector)} with [{one.at}] = {self.at(one.value)}"
            case ir.Extract():
                return f"{self.at(one.vector)}[{one.at}]"
            case ir.Shuffle():
                return f"[{self.at(one.a)}, {self.at(one.b)}] at {', '.join(map(str, one.picked))}"
            case ir.Address():
                start = f" + {self.at(one.start)}" if one.start else ""
                return f"{one.tensor} + {self.at(one.offset)} << {one.scale} bytes{start}"
            case ir.Load():
                return f"load {kind(one.kind)} {one.tensor} at {self.at(one.address)}"
            case ir.Number():
                return f"load {one.tensor}[{self.at(one.index)}]"
            case ir.Store():
                return f"store {one.tensor} at {self.at(one.address)} = {self.at(one.value)}"
            case ir.Merge():
                return (
                    f"atomic {one.how} {one.tensor} at {self.at(one.address)}, {self.at(one.value)}"
                )
            case ir.CopyToLds():
                return (
                    f"copy {one.bytes} bytes a lane {one.tensor} [{self.at(one.buffer)} +"
                    f" {self.at(one.lane)} + {self.at(one.along)}] -> ring {one.ring}"
                    f"[{one.stage}], byte {one.at} + {self.at(one.share)}"
                )
            case ir.ReadLds():
                turned = " turned" if one.turned else ""
                return (
                    f"read{turned} {kind(one.kind)} {_ring(one)}byte {one.at} + {self.at(one.lane)}"
                )
            case ir.WriteLds():
                return (
                    f"write {_ring(one)}byte {one.at} + {self.at(one.lane)} = {self.at(one.value)}"
                )
            case ir.Mfma():
                m = one.matrix
                total = "0" if one.total == 0 else self.at(one.total)
                shape = f"16x16x{m.k} {m.left}, {m.right}"
                return f"mma {total} + {self.at(one.a)} @ {self.at(one.b)}   {shape}"
            case ir.Wait():
                said = [
                    f"{n}cnt({c})" for n, c in (("vm", one.vm), ("lgkm", one.lgkm)) if c is not None
                ]
                return f"wait {', '.join(said)}"
            case ir.Barrier():
                return "barrier, after all LDS accesses" if one.fenced else "barrier"
            case ir.Priority():
                return f"priority {one.value}"
            case ir.Settle():
                return "all arguments are in registers"
            case ir.FindGroup():
                return f"group of tile {self.at(one.number)} of {one.extent} rows, by {one.tensor}"
            case ir.AllIndices():
                return (
                    f"every {one.tensor}[{self.at(one.first)} + i * {self.at(one.stride)}], i <"
                    f" {self.at(one.count)}, below {self.at(one.limit)}"
                )
            case ir.Permute():
                return f"{self.at(one.value)} of lane {self.at(one.at)} / 4"
            case ir.Neighbours():
                return f"{self.at(one.value)} of lanes apart by {one.step}"
            case _:
                value = getattr(one, "value", getattr(one, "address", getattr(one, "tensor", "")))
                return f"{_WORDS[type(one)]} {self.at(value)}"


_WORDS: dict[type, str] = {
    ir.Round: "rounded", ir.IsNumber: "is a number", ir.AddressBits: "address of",
    ir.Buffer: "buffer from", ir.FirstLane: "first lane's", ir.NoLane: "for no lane",
    ir.Anew: "again",
}  # fmt: skip


def kind(of: Kind) -> str:
    """The type of a register."""
    word = of.word.value if of.word is not Word.I1 else "truth"
    return word if of.count == 1 else f"{word}[{of.count}]"


def _function(one: ir.Function) -> str:
    return ELEMENTWISE[one.fn].symbol or one.fn.value


def _ring(one: ir.ReadLds | ir.WriteLds) -> str:
    return f"ring {one.ring}[{one.stage}], " if one.ring >= 0 else ""
