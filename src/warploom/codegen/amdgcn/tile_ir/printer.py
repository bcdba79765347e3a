"""``print_waves``: a wave program as LLVM IR, instruction by instruction.

What is decided here is how LLVM says it: intrinsics, types, basic blocks, addresses of LDS. Order,
waits, barriers, layouts and masks are the program's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatchmethod

from warploom.codegen.amdgcn.lower.attributes import METADATA, attributes
from warploom.codegen.amdgcn.lower.pointwise import IrText
from warploom.codegen.amdgcn.lower.table import DMA_SCOPE, READ_SCOPE, encode_wait
from warploom.codegen.amdgcn.tile_ir import numbers
from warploom.dataclass import dataclass
from warploom.ir import waves as ir
from warploom.ir.tile import DType
from warploom.ir.waves import Instruction, Kind, Operand, WaveProgram, Word
from warploom.targets.mi355x import LANES

KERNEL_NAME = "warploom_tile"
BUFFER_FLAGS = 0x27000  # raw buffer of untyped 32-bit data, swizzling off
BUFFER_BYTES = 2**31 - 1
_WORDS = {Word.F32: "float", Word.BF16: "bfloat", Word.F16: "half"}
_ARGUMENTS = {"pointer": "ptr addrspace(1)", "i64": "i64", "i32": "i32", "f32": "float"}
_FUNCTIONS = {"smin", "smax", "umin"}
_QUADS = {1: 0xB1, 2: 0x4E, 4: 0x141, 8: 0x140}  # quads, mirrored rows
_HALVES = {DType.BF16: "bf16", DType.F16: "f16"}
_BYTES = {DType.E4M3: "fp8", DType.E5M2: "bf8"}
_LAST = "i32 0, i32 0, i32 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedProgram:
    """LLVM IR of a program, and whether instructions stand in it as assembly."""

    ir: str
    written_out: bool


def print_waves(program: WaveProgram) -> PrintedProgram:
    """LLVM IR of a whole kernel."""
    text = IrText()
    printer = _Printer(program, text)
    printer.every(program.entry)
    text.add("br label %tile")
    text.label("tile")
    printer.every(program.body)
    threads = LANES * program.waves
    scheduled = bool(ir.pipelines(program))
    given = ", ".join(f"{_argument(a)} {a.name}" for a in program.arguments)
    lines = [
        'target triple = "amdgcn-amd-amdhsa"',
        f"@lds = internal addrspace(3) global [{max(16, program.lds_bytes)} x i8] poison, "
        "align 1024",
        f"define amdgpu_kernel void @{KERNEL_NAME}({given}) #0 {{",
        "entry:",
        f"  {ir.TID} = call i32 @llvm.amdgcn.workitem.id.x()",
        f"  {ir.LANE} = and i32 {ir.TID}, {LANES - 1}",
        f"  {ir.WAVE}_v = lshr i32 {ir.TID}, {LANES.bit_length() - 1}",
        f"  {ir.WAVE} = call i32 @llvm.amdgcn.readfirstlane.i32(i32 {ir.WAVE}_v)",
        f"  {ir.GROUP} = call i32 @llvm.amdgcn.workgroup.id.x()",
        *text.lines,
        "  br label %end",
        "end:",
        "  ret void",
        "}",
        attributes(threads, max(1, program.waves // 4), agprs=not scheduled, grid=1),
    ]
    return PrintedProgram(ir="\n".join(lines) + METADATA, written_out=text.written_out)


def _argument(argument: ir.Argument) -> str:
    noalias = " noalias" if argument.kind == "pointer" else ""
    return _ARGUMENTS[argument.kind] + noalias


def word_type(word: Word) -> str:
    """The IR type of a word."""
    return _WORDS.get(word, word.value)


def kind_type(kind: Kind) -> str:
    """The IR type of a register."""
    one = word_type(kind.word)
    return one if kind.count == 1 else f"<{kind.count} x {one}>"


class _Printer:
    """Prints one program. ``held``: what stands for each register."""

    def __init__(self, program: WaveProgram, text: IrText) -> None:
        self.program, self.text = program, text
        self.held: dict[str, str] = {}
        self.pointers = {a.of: a.name for a in program.arguments if a.kind == "pointer"}
        self.labels = 0

    def every(self, body: Sequence[Instruction]) -> None:
        """Instructions in order."""
        for one in body:
            self.one(one)

    # Operands.

    def new_label(self, name: str) -> str:
        """A label that is used once."""
        self.labels += 1
        return f"{name}{self.labels}"

    def put(self, to: str, instruction: str) -> None:
        """An instruction whose value a register holds."""
        self.held[to] = self.text.value(instruction)

    def at(self, operand: Operand, kind: Kind | Word = Word.I32) -> str:
        """An operand as IR."""
        if isinstance(operand, str):
            return self.held.get(operand, operand)
        if operand is None:
            return "poison"
        kind = kind if isinstance(kind, Kind) else Kind(kind)
        if kind.count > 1:
            assert operand == 0
            return "zeroinitializer"
        return _literal(operand, kind.word)

    def number(self, operand: Operand, dtype: DType) -> str:
        """An operand that is a number of a type."""
        if isinstance(operand, int | float):
            return numbers.number(operand, dtype)
        return self.at(operand)

    def typed(self, operand: Operand, kind: Kind) -> str:
        """An operand with its type."""
        return f"{kind_type(kind)} {self.at(operand, kind)}"

    # Instructions.

    @singledispatchmethod
    def one(self, one: Instruction) -> None:
        """One instruction."""
        raise AssertionError(one)

    @one.register
    def _(self, one: ir.Integer) -> None:
        word = Word(f"i{one.bits}")
        a, b = self.at(one.a, word), self.at(one.b, word)
        if one.op in _FUNCTIONS:
            self.put(one.to, f"call {word} @llvm.{one.op}.{word}({word} {a}, {word} {b})")
        else:
            self.put(one.to, f"{one.op} {word} {a}, {b}")

    @one.register
    def _(self, one: ir.Compare) -> None:
        word = Word(f"i{one.bits}")
        self.put(one.to, f"icmp {one.op} {word} {self.at(one.a, word)}, {self.at(one.b, word)}")

    @one.register
    def _(self, one: ir.Select) -> None:
        a, b = self.typed(one.a, one.kind), self.typed(one.b, one.kind)
        self.put(one.to, f"select i1 {self.at(one.condition, Word.I1)}, {a}, {b}")

    @one.register
    def _(self, one: ir.Resize) -> None:
        how = "trunc"
        if one.word.bits > one.source.bits:
            how = "sext" if one.signed else "zext"
        self.put(one.to, f"{how} {self.typed(one.value, Kind(one.source))} to {one.word}")

    @one.register
    def _(self, one: ir.Cast) -> None:
        self.put(one.to, f"bitcast {self.typed(one.value, one.source)} to {kind_type(one.kind)}")

    @one.register
    def _(self, one: ir.Function) -> None:
        args = [self.number(a, t) for a, t in zip(one.args, one.types, strict=True)]
        types = list(one.types)
        if one.code is not None:
            self.held[one.to] = numbers.inline(self.text, one.code, args, types)
        else:
            self.held[one.to] = numbers.pointwise(self.text, one.fn, args, types, one.dtype)

    @one.register
    def _(self, one: ir.Pairwise) -> None:
        two = Kind(Word.F32, 2)
        made = numbers.pair(self.text, one.fn, self.at(one.a, two), self.at(one.b, two))
        self.held[one.to] = made

    @one.register
    def _(self, one: ir.Convert) -> None:
        value = self.number(one.value, one.source)
        self.held[one.to] = numbers.convert(self.text, value, one.source, one.dtype)

    @one.register
    def _(self, one: ir.Decode) -> None:
        value = self.at(one.value, _memory(one.dtype))
        self.held[one.to] = numbers.widen(self.text, value, one.dtype)

    @one.register
    def _(self, one: ir.Encode) -> None:
        values = [self.number(v, one.dtype) for v in one.values]
        if one.many:
            self.held[one.to] = numbers.narrow_vector(self.text, values, one.dtype)
        else:
            self.held[one.to] = numbers.narrow(self.text, values[0], one.dtype)

    @one.register
    def _(self, one: ir.Round) -> None:
        value = self.typed(one.value, Kind(Word.F32))
        self.put(one.to, f"fptrunc {value} to {word_type(one.word)}")

    @one.register
    def _(self, one: ir.IsNumber) -> None:
        value = self.at(one.value, Word.F32)
        self.put(one.to, f"fcmp ord float {value}, {value}")

    @one.register
    def _(self, one: ir.Vector) -> None:
        values = [self.at(v, one.word) for v in one.values]
        self.held[one.to] = numbers.build_vector(self.text, values, word_type(one.word))

    @one.register
    def _(self, one: ir.Insert) -> None:
        element = self.typed(one.value, Kind(one.kind.word))
        vector = self.typed(one.vector, one.kind)
        self.put(one.to, f"insertelement {vector}, {element}, i32 {one.at}")

    @one.register
    def _(self, one: ir.Extract) -> None:
        self.put(one.to, f"extractelement {self.typed(one.vector, one.kind)}, i32 {one.at}")

    @one.register
    def _(self, one: ir.Shuffle) -> None:
        picked = ", ".join(f"i32 {i}" for i in one.picked)
        a, b = self.typed(one.a, one.a_kind), self.typed(one.b, one.b_kind)
        self.put(one.to, f"shufflevector {a}, {b}, <{len(one.picked)} x i32> <{picked}>")

    # Memory.

    @one.register
    def _(self, one: ir.AddressBits) -> None:
        self.put(one.to, f"ptrtoint ptr addrspace(1) {self.pointers[one.tensor]} to i64")

    @one.register
    def _(self, one: ir.Address) -> None:
        base = self.at(one.start) if one.start else self.pointers[one.tensor]
        offset = self.at(one.offset, Word.I64)
        if one.scale:
            offset = self.text.value(f"shl i64 {offset}, {one.scale}")
        self.put(one.to, f"getelementptr i8, ptr addrspace(1) {base}, i64 {offset}")

    @one.register
    def _(self, one: ir.Load) -> None:
        place = self.at(one.address)
        self.put(one.to, f"load {kind_type(one.kind)}, ptr addrspace(1) {place}, align {one.align}")

    @one.register
    def _(self, one: ir.Number) -> None:
        self.held[one.to] = self._number_of(one.tensor, self.at(one.index))

    def _number_of(self, tensor: str, index: str) -> str:
        """One whole number of a tensor, in a scalar register."""
        text = self.text
        base = self.pointers[tensor]
        place = text.value(f"getelementptr i32, ptr addrspace(1) {base}, i32 {index}")
        value = text.value(f"load i32, ptr addrspace(1) {place}, align 4")
        return text.value(f"call i32 @llvm.amdgcn.readfirstlane.i32(i32 {value})")

    @one.register
    def _(self, one: ir.Store) -> None:
        place = self.at(one.address)
        value = self.typed(one.value, one.kind)
        self.text.add(f"store {value}, ptr addrspace(1) {place}, align {one.align}")

    @one.register
    def _(self, one: ir.Merge) -> None:
        value = self.typed(one.value, Kind(one.word))
        self.text.add(
            f"atomicrmw {one.how} ptr addrspace(1) {self.at(one.address)}, {value} "
            'syncscope("agent") monotonic, !amdgpu.no.fine.grained.memory !7'
        )

    @one.register
    def _(self, one: ir.Buffer) -> None:
        self.put(
            one.to,
            "call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1("
            f"ptr addrspace(1) {self.at(one.address)}, i16 0, i64 {BUFFER_BYTES}, "
            f"i32 {BUFFER_FLAGS})",
        )

    @one.register
    def _(self, one: ir.CopyToLds) -> None:
        to = self.text.value(
            f"getelementptr inbounds i8, ptr addrspace(3) {_lds(one.at)}, i32 {self.at(one.share)}"
        )
        self.text.add(
            "call void @llvm.amdgcn.raw.ptr.buffer.load.lds("
            f"ptr addrspace(8) {self.at(one.buffer)}, ptr addrspace(3) {to}, i32 {one.bytes}, "
            f"i32 {self.at(one.lane)}, i32 {self.at(one.along)}, i32 0, i32 0){DMA_SCOPE}"
        )

    def _in_lds(self, lane: Operand, at: int, ring: int) -> str:
        """An address of LDS; of a ring what an instruction can add itself is left to it."""
        if ring < 0:
            return self.text.value(
                f"getelementptr i8, ptr addrspace(3) {_lds(at)}, i32 {self.at(lane)}"
            )
        first = self.text.value(f"getelementptr i8, ptr addrspace(3) @lds, i32 {self.at(lane)}")
        return self.text.value(f"getelementptr inbounds i8, ptr addrspace(3) {first}, i32 {at}")

    @one.register
    def _(self, one: ir.ReadLds) -> None:
        place = self._in_lds(one.lane, one.at, one.ring)
        scope = READ_SCOPE if one.ring >= 0 else ""
        kind = kind_type(one.kind)
        if one.turned:
            four = self.text.value(
                f"call <4 x i16> @llvm.amdgcn.ds.read.tr16.b64.v4i16(ptr addrspace(3) {place})"
                f"{scope}"
            )
            self.put(one.to, f"bitcast <4 x i16> {four} to {kind}")
            return
        self.put(one.to, f"load {kind}, ptr addrspace(3) {place}, align {one.align}{scope}")

    @one.register
    def _(self, one: ir.WriteLds) -> None:
        place = self._in_lds(one.lane, one.at, one.ring)
        scope = READ_SCOPE if one.ring >= 0 else ""
        value = self.typed(one.value, one.kind)
        self.text.add(f"store {value}, ptr addrspace(3) {place}, align {one.align}{scope}")

    @one.register
    def _(self, one: ir.Mfma) -> None:
        name, kind, last = matrix_intrinsic(one.matrix)
        four = Kind(Word.F32, 4)
        self.put(
            one.to,
            f"call <4 x float> @{name}({kind} {self.at(one.a)}, {kind} {self.at(one.b)}, "
            f"{self.typed(one.total, four)}, {last})",
        )

    # Lanes.

    @one.register
    def _(self, one: ir.FirstLane) -> None:
        self.put(one.to, f"call i32 @llvm.amdgcn.readfirstlane.i32(i32 {self.at(one.value)})")

    def _as_bits(self, value: Operand, word: Word) -> str:
        bits = self.at(value, word)
        return bits if word is Word.I32 else self.text.value(f"bitcast float {bits} to i32")

    def _as_word(self, to: str, bits: str, word: Word) -> None:
        if word is Word.I32:
            self.held[to] = bits
        else:
            self.put(to, f"bitcast i32 {bits} to float")

    @one.register
    def _(self, one: ir.Permute) -> None:
        bits = self._as_bits(one.value, one.word)
        at = self.at(one.at)
        moved = self.text.value(f"call i32 @llvm.amdgcn.ds.bpermute(i32 {at}, i32 {bits})")
        self._as_word(one.to, moved, one.word)

    @one.register
    def _(self, one: ir.Neighbours) -> None:
        text = self.text
        bits = self._as_bits(one.value, one.word)
        if len(one.to) == 1:
            words = [
                text.value(
                    f"call i32 @llvm.amdgcn.update.dpp.i32(i32 {bits}, i32 {bits}, "
                    f"i32 {_QUADS[one.step]}, i32 15, i32 15, i1 true)"
                )
            ]
        else:
            pair = text.value(
                f"call {{ i32, i32 }} @llvm.amdgcn.permlane{one.step}.swap(i32 {bits}, "
                f"i32 {bits}, i1 false, i1 false)"
            )
            words = [text.value(f"extractvalue {{ i32, i32 }} {pair}, {i}") for i in (0, 1)]
        for to, word in zip(one.to, words, strict=True):
            self._as_word(to, word, one.word)

    @one.register
    def _(self, one: ir.NoLane) -> None:
        value = self.at(one.value, Word.I1)
        votes = self.text.value(f"call i64 @llvm.amdgcn.ballot.i64(i1 {value})")
        self.put(one.to, f"icmp eq i64 {votes}, 0")

    @one.register
    def _(self, one: ir.Anew) -> None:
        fixed = "sideeffect " if one.fixed else ""
        self.put(one.to, f'call i32 asm {fixed}"", "=v,0"(i32 {self.at(one.value)})')

    # Synchronisation.

    @one.register
    def _(self, one: ir.Wait) -> None:
        count = encode_wait(vm=one.vm, lgkm=one.lgkm)
        self.text.add(f"call void @llvm.amdgcn.s.waitcnt(i32 {count})")

    @one.register
    def _(self, one: ir.Barrier) -> None:
        if one.fenced:
            self.text.add('fence syncscope("workgroup") release')
        self.text.add("call void @llvm.amdgcn.s.barrier()")
        if one.fenced:
            self.text.add('fence syncscope("workgroup") acquire')

    @one.register
    def _(self, one: ir.Priority) -> None:
        self.text.add(f"call void @llvm.amdgcn.s.setprio(i16 {one.value})")

    @one.register
    def _(self, one: ir.Pin) -> None:
        self.text.add("call void @llvm.amdgcn.sched.barrier(i32 0)")

    @one.register
    def _(self, one: ir.Settle) -> None:
        for a in self.program.arguments:
            self.text.add(f'call void asm sideeffect "", "s"({_ARGUMENTS[a.kind]} {a.name})')

    # Structure.

    @one.register
    def _(self, one: ir.If) -> None:
        text = self.text
        test = self.at(one.condition, Word.I1)
        then, rest, join = (self.new_label(n) for n in ("then", "else", "join"))
        before = text.block
        if one.otherwise is None:
            rest = join
        text.add(f"br i1 {test}, label %{then}, label %{rest}")
        text.label(then)
        self.every(one.body)
        after = text.block
        text.add(f"br label %{join}")
        if one.otherwise is not None:
            text.label(rest)
            self.every(one.otherwise)
            before = text.block
            text.add(f"br label %{join}")
        text.label(join)
        for c in one.results:
            a, b = self.at(c.then, c.kind), self.at(c.otherwise, c.kind)
            kind = kind_type(c.kind)
            if one.otherwise is None:
                self.put(c.name, f"phi {kind} [ {b}, %{before} ], [ {a}, %{after} ]")
            else:
                self.put(c.name, f"phi {kind} [ {a}, %{after} ], [ {b}, %{before} ]")

    @one.register
    def _(self, one: ir.While) -> None:
        text = self.text
        head, body, out = (self.new_label(n) for n in ("head", "body", "out"))
        before = text.block
        text.add(f"br label %{head}")
        text.label(head)
        at = len(text.lines)
        carried = [*([one.going] if one.going is not None else []), *one.carried]
        again = text.value(f"icmp slt i32 {one.counter}, {self.at(one.end)}")
        if one.going is not None:
            again = text.value(f"and i1 {again}, {one.going.name}")
        text.add(f"br i1 {again}, label %{body}, label %{out}")
        text.label(body)
        self.every(one.body)
        after = text.value(f"add i32 {one.counter}, {one.step}")
        latch = text.block
        text.add(f"br label %{head}")
        first = self.at(one.first)
        phis = [f"  {one.counter} = phi i32 [ {first}, %{before} ], [ {after}, %{latch} ]"]
        phis += [self._phi(k, before, latch) for k in carried]
        text.lines[at:at] = phis
        text.label(out)

    def _phi(self, kept: ir.Kept, before: str, after: str) -> str:
        first, last = self.at(kept.first, kept.kind), self.at(kept.last, kept.kind)
        kind = kind_type(kept.kind)
        return f"  {kept.name} = phi {kind} [ {first}, %{before} ], [ {last}, %{after} ]"

    @one.register
    def _(self, one: ir.FindGroup) -> None:
        text = self.text
        before = text.block
        group, left = "%g", "%left"
        self.held |= {one.group: group, one.left: left}
        number, groups = self.at(one.number), self.at(one.groups)
        text.add("br label %groups")
        text.label("groups")
        text.add(f"{group} = phi i32 [ 0, %{before} ], [ %g_next, %no_group ]")
        text.add(f"{left} = phi i32 [ {number}, %{before} ], [ %left_next, %no_group ]")
        text.add(f"%some_groups = icmp slt i32 {group}, {groups}")
        text.add("br i1 %some_groups, label %look, label %end")
        text.label("look")
        for more, to in enumerate(one.bounds):
            at = group if not more else text.value(f"add i32 {group}, 1")
            value = self._number_of(one.tensor, at)
            value = text.value(f"call i32 @llvm.smax.i32(i32 {value}, i32 0)")
            self.put(to, f"call i32 @llvm.smin.i32(i32 {value}, i32 {self.at(one.length)})")
        first, end = (self.at(b) for b in one.bounds)
        size = text.value(f"sub i32 {end}, {first}")
        size = text.value(f"call i32 @llvm.smax.i32(i32 {size}, i32 0)")
        rows = text.value(f"add i32 {size}, {one.extent - 1}")
        tiles = text.value(f"udiv i32 {rows}, {one.extent}")
        mine = text.value(f"icmp slt i32 {left}, {tiles}")
        text.add(f"br i1 {mine}, label %my_group, label %no_group")
        text.label("no_group")
        text.add(f"%left_next = sub i32 {left}, {tiles}")
        text.add(f"%g_next = add i32 {group}, 1")
        text.add("br label %groups")
        text.label("my_group")

    @one.register
    def _(self, one: ir.AllIndices) -> None:
        text = self.text
        head, body, out = (self.new_label(n) for n in ("pages", "page", "picked"))
        before = text.block
        text.add(f"br label %{head}")
        text.label(head)
        at, bad = f"%{head}_at", f"%{head}_bad"
        phis = len(text.lines)
        count = self.at(one.count)
        more = text.value(f"icmp ult i32 {at}, {count}")
        text.add(f"br i1 {more}, label %{body}, label %{out}")
        text.label(body)
        mine = text.value(f"add i32 {at}, {self.at(one.lane)}")
        counts = text.value(f"icmp ult i32 {mine}, {count}")
        mine = text.value(f"select i1 {counts}, i32 {mine}, i32 0")
        wide = text.value(f"zext i32 {mine} to i64")
        far = text.value(f"mul i64 {wide}, {self.at(one.stride, Word.I64)}")
        far = text.value(f"add i64 {far}, {self.at(one.first, Word.I64)}")
        far = text.value(f"shl i64 {far}, 2")
        base = self.pointers[one.tensor]
        place = text.value(f"getelementptr i8, ptr addrspace(1) {base}, i64 {far}")
        found = text.value(f"load i32, ptr addrspace(1) {place}, align 4")
        outside = text.value(f"icmp uge i32 {found}, {self.at(one.limit)}")
        outside = text.value(f"and i1 {outside}, {counts}")
        worse = text.value(f"or i1 {bad}, {outside}")
        following = text.value(f"add i32 {at}, {LANES}")
        latch = text.block
        text.add(f"br label %{head}")
        text.lines[phis:phis] = [
            f"  {at} = phi i32 [ 0, %{before} ], [ {following}, %{latch} ]",
            f"  {bad} = phi i1 [ false, %{before} ], [ {worse}, %{latch} ]",
        ]
        text.label(out)
        votes = text.value(f"call i64 @llvm.amdgcn.ballot.i64(i1 {bad})")
        self.put(one.to, f"icmp eq i64 {votes}, 0")

    @one.register
    def _(self, one: ir.Step) -> None:
        self.text.comment(f"{one.name}[{one.number}]")
        self.every(one.body)

    @one.register
    def _(self, one: ir.Pipeline) -> None:
        text = self.text
        guard, loop, drain = (self.new_label(n) for n in ("guard", "loop", "drain"))
        trips = self.at(one.trips)
        self.every(one.prologue)
        text.add(f"br label %{guard}")
        text.label(guard)
        enter = text.value(f"icmp sgt i32 {trips}, 0")
        text.add(f"br i1 {enter}, label %{loop}, label %{drain}")
        text.label(loop)
        at = len(text.lines)
        self.every(one.kernel)
        following = text.value(f"add i32 {one.counter}, 1")
        again = text.value(f"icmp slt i32 {following}, {trips}")
        after = text.block
        text.add(f"br i1 {again}, label %{loop}, label %{drain}")
        phis = [f"  {one.counter} = phi i32 [ 0, %{guard} ], [ {following}, %{after} ]"]
        phis += [self._phi(k, guard, after) for k in one.carried]
        text.lines[at:at] = phis
        text.label(drain)
        for c in one.results:
            a, b = self.at(c.otherwise, c.kind), self.at(c.then, c.kind)
            self.put(c.name, f"phi {kind_type(c.kind)} [ {a}, %{guard} ], [ {b}, %{after} ]")
        self.every(one.epilogue)


def matrix_intrinsic(matrix: ir.MatrixOp) -> tuple[str, str, str]:
    """The intrinsic of a matrix instruction, its operands' type, and its last arguments."""
    left, right, k = matrix.left, matrix.right, matrix.k
    if left in _HALVES:
        name = _HALVES[left]
        if k == 32:
            word = "bfloat" if left is DType.BF16 else "half"
            return f"llvm.amdgcn.mfma.f32.16x16x32.{name}", f"<8 x {word}>", _LAST
        short, kind = ("bf16.1k", "<4 x i16>") if left is DType.BF16 else ("f16", "<4 x half>")
        return f"llvm.amdgcn.mfma.f32.16x16x16{short}", kind, _LAST
    if k == 128:
        formats = ", ".join(f"i32 {int(t is DType.E5M2)}" for t in (left, right))
        return (
            "llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4.v8i32.v8i32",
            "<8 x i32>",
            f"{formats}, i32 0, i32 0, i32 0, i32 0",  # both scales 0: none
        )
    names = f"{_BYTES[left]}.{_BYTES[right]}"
    return f"llvm.amdgcn.mfma.f32.16x16x32.{names}", "i64", _LAST


def _memory(dtype: DType) -> Word:
    return {4: Word.I8, 8: Word.I8, 16: Word.I16}.get(dtype.bits, Word.I32)


def _literal(value: float | int | bool, word: Word) -> str:
    if word is Word.I1:
        return "true" if value else "false"
    if word is Word.F32:
        return numbers.number(float(value), DType.F32)
    return str(int(value))


def _lds(at: int) -> str:
    """A byte of LDS."""
    return f"getelementptr (i8, ptr addrspace(3) @lds, i32 {at})"
