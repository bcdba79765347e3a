"""What a thread program may say: names that are declared, types that fit, sizes that exist.

A program that breaks these rules has no meaning; ``DocumentError`` names the statement. What a
program with a meaning does wrong is for the verifier to find.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import field

from warploom.dataclass import dataclass
from warploom.errors import DocumentError
from warploom.ir import threads as ir
from warploom.ir.elementwise import ELEMENTWISE, REDUCTIONS
from warploom.ir.expr import COMPARISONS, Binary, Const, Element, Select, Sym, SymKind, nodes, parts
from warploom.ir.module import KernelModule
from warploom.ir.threads import ArgumentKind, Statement, Term
from warploom.ir.tile_schedule import CTA, CTAS
from warploom.ir.types import DType, Fn

MAX_THREADS = 1024
WARP = 32
MAX_SHARED = 232_448  # bytes of a CTA on Hopper
MAX_STATEMENTS = 200_000
MAX_REGISTERS = 4096  # of one array
WIDTHS = (1, 2, 4, 8, 16, 32, 64)
VECTOR_BITS = 8, 512
MEMORY = frozenset(
    (DType.F32, DType.BF16, DType.F16, DType.E4M3, DType.E5M2, DType.I32, DType.I8, DType.BOOL)
)
NUMBERS = MEMORY | {DType.U32, DType.I4}
OPERANDS = frozenset((DType.BF16, DType.F16, DType.E4M3, DType.E5M2, DType.I8))  # of products
SLAB = 128  # bytes of a row of an operand tile
TILE_ALIGN = 1024
CHUNK = 16
MMA_COLUMNS = (8, 256)
GROUP = 128  # threads of a warpgroup
WORDS = frozenset((DType.F32, DType.I32, DType.BOOL))
MERGED = {DType.F32, DType.I32, DType.BF16, DType.F16}


def scalar_declared(module: KernelModule, name: str) -> DType:
    """The type of a scalar of the call."""
    return next(s.dtype for s in module.scalars if s.name == name)


_CHECKED: list[object] = []  # the last module that was checked, and its identity


def check_threads(module: KernelModule) -> None:
    """``DocumentError`` for a thread program without a meaning."""
    program = module.threads
    if program is None or _CHECKED[:1] == [id(module)]:
        return
    path = "$.module.threads"
    _refuse(bool(module.roles), "a module with both roles and a thread program", "$.module.roles")
    count = program.threads
    wrong = count % WARP != 0 or not WARP <= count <= MAX_THREADS
    _refuse(wrong, f"{count} threads", f"{path}.threads", "whole warps, 1024 threads at most")
    _refuse(
        module.launch.block != count,
        f"a block of {module.launch.block} for a program of {count} threads",
        "$.module.launch.block",
    )
    _refuse(
        not 1 <= program.lanes <= count or count % program.lanes != 0,
        f"{program.lanes} lanes",
        f"{path}.lanes",
        "a divisor of the threads",
    )
    bytes_ = module.launch.shared_bytes
    _refuse(
        not 0 <= bytes_ <= MAX_SHARED,
        f"{bytes_} bytes of shared memory",
        "$.module.launch.shared_bytes",
        f"0 to {MAX_SHARED}",
    )
    _Checker(module, program).run(path)
    _CHECKED[:] = [id(module), module]


def _refuse(wrong: bool, what: str, path: str, fix: str = "") -> None:
    if wrong:
        raise DocumentError(what, path=path, fix=fix)


@dataclass
class _Name:
    dtype: DType
    raw: bool
    count: int
    view: bool = False
    counter: bool = False
    cover: int = 0  # neighbours of each
    tile: ir.OperandTile | None = None
    address: ir.Address | None = None

    @property
    def holds(self) -> bool:
        """Whether it is a register, or several."""
        return not self.view and self.tile is None and self.address is None


@dataclass
class _Checker:
    module: KernelModule
    program: ir.ThreadProgram
    names: dict[str, _Name] = field(default_factory=dict)
    used: set[ir.Argument] = field(default_factory=set)
    seen: int = 0
    loops: int = 0

    def run(self, path: str) -> None:
        self.tensors = {t.name: t for t in self.module.tensors}
        self.scalars = {s.name: s.dtype for s in self.module.scalars}
        self.axes = {a.name for t in self.module.tensors for a in t.axes}
        self.axes |= {v.axis for v in self.module.kernel.vars}
        given = self.program.arguments
        _refuse(len(set(given)) != len(given), "an argument comes twice", f"{path}.arguments")
        for i, a in enumerate(given):
            self.argument(a, f"{path}.arguments[{i}]")
        for i, (name, extent) in enumerate(self.program.extents):
            known = {v.name for v in self.module.kernel.vars}
            wrong = name not in known or not 1 <= extent <= 1 << 20
            _refuse(wrong, f"{extent} elements of {name!r}", f"{path}.extents[{i}]")
        self.body(self.program.body, f"{path}.body")
        missing = self.used - set(given)
        _refuse(
            bool(missing),
            f"{min((f'{a.kind} {a.name}' for a in missing), default='')} is used and not given",
            f"{path}.arguments",
            "a parameter for everything that the program reads",
        )

    def argument(self, a: ir.Argument, path: str) -> None:
        match a.kind:
            case ArgumentKind.POINTER | ArgumentKind.STRIDE:
                tensor = self.tensors.get(a.name)
                _refuse(tensor is None, f"no tensor {a.name!r}", path)
                if tensor is not None and a.kind is ArgumentKind.STRIDE:
                    _refuse(not 0 <= a.axis < len(tensor.axes), f"axis {a.axis}", path)
            case ArgumentKind.SIZE:
                _refuse(a.name not in self.axes, f"no axis {a.name!r}", path)
            case ArgumentKind.SCALAR:
                _refuse(a.name not in self.scalars, f"no scalar {a.name!r}", path)
        _refuse(a.kind is not ArgumentKind.STRIDE and a.axis != 0, f"axis {a.axis}", path)

    # Statements.

    def body(self, body: Sequence[Statement], path: str) -> None:
        """A body is a scope: what it declares is gone after it."""
        before = dict(self.names)
        for i, statement in enumerate(body):
            self.seen += 1
            _refuse(self.seen > MAX_STATEMENTS, f"more than {MAX_STATEMENTS} statements", path)
            self.statement(statement, f"{path}[{i}]")
        self.names = before

    def declare(self, name: str, found: _Name, path: str) -> None:
        wrong = not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name)
        _refuse(wrong or len(name) > 500, f"a register called {name[:40]!r}", path, "an identifier")
        _refuse(name in self.names, f"{name!r} is declared twice", path, "another name")
        self.names[name] = found

    def statement(self, s: Statement, path: str) -> None:  # noqa: C901, PLR0912, PLR0915 (a case a kind)
        match s:
            case ir.Declare():
                self.declaration(s, path)
            case ir.View():
                size = _bytes(s.dtype)
                wrong = s.dtype not in WORDS or s.offset < 0 or s.offset % size or s.count < 1
                end = s.offset + size * s.count
                wrong = wrong or end > self.module.launch.shared_bytes
                _refuse(bool(wrong), f"a view of bytes {s.offset} to {end}", path, "what there is")
                self.declare(s.name, _Name(s.dtype, raw=False, count=s.count, view=True), path)
            case ir.Assign():
                found = self.register(s.name, s.index, path)
                _refuse(found.counter and self.names[s.name].counter, f"{s.name!r} counts", path)
                self.value(s.value, found.dtype, raw=found.raw, path=f"{path}.value")
            case ir.Put():
                found = self.view(s.view, s.index, path)
                self.value(s.value, found.dtype, raw=False, path=f"{path}.value")
            case ir.Fetch():
                self.vector(s.into, s.index, s.tensor, s.at, s.width, path)
            case ir.Address():
                dtype = self.element(s.tensor, s.at, path)
                self.placed(s.tensor)
                made = _Name(dtype, raw=True, count=0, address=s)
                self.declare(s.name, made, path)
            case ir.FetchNearby():
                address = self.address(s.address, path)
                self.vector(s.into, Const(0), address.tensor, address.at, s.width, path)
            case ir.OperandTile() | ir.PutTile() | ir.PutChunk() | ir.ClearTile():
                self.tile(s, path)
            case ir.MmaFence():
                for name in s.registers:
                    array = self.names.get(name)
                    wrong = array is None or not array.holds or array.raw or array.count == 0
                    _refuse(wrong, f"no register array {name[:40]!r} here", path)
            case ir.Mma():
                self.product(s, path)
            case ir.MmaWait():
                _refuse(not 0 <= s.pending < 8, f"{s.pending} groups pending", path, "0 to 7")
            case ir.Send():
                self.vector(s.source, s.index, s.tensor, s.at, s.width, path)
                self.written(s.tensor, path)
            case ir.Covers() | ir.FetchCover() | ir.TakeCovered():
                self.covers(s, path)
            case ir.SendShifted():
                self.vector(s.source, Const(0), s.tensor, s.at, s.width, path)
                self.written(s.tensor, path)
                self.whole_vectors(s.width, self.tensors[s.tensor].dtype, path)
                for x in (s.here, s.before, s.after):
                    self.boolean(x, path)
            case ir.Write():
                dtype = self.element(s.tensor, s.at, path)
                self.written(s.tensor, path)
                self.value(s.value, dtype, raw=True, path=f"{path}.value")
            case ir.Merge():
                dtype = self.element(s.tensor, s.at, path)
                self.written(s.tensor, path)
                wrong = s.fn not in REDUCTIONS or dtype not in MERGED
                wrong = wrong or (s.fn is not Fn.ADD and dtype not in (DType.F32, DType.I32))
                _refuse(wrong, f"{s.fn} of {dtype} as one operation of memory", path)
                self.value(s.value, dtype, raw=False, path=f"{path}.value")
            case ir.Break() | ir.Continue():
                _refuse(self.loops == 0, "a jump outside of a loop", path)
            case ir.Scope():
                self.body(s.body, f"{path}.body")
            case ir.If():
                self.boolean(s.condition, f"{path}.condition")
                self.body(s.body, f"{path}.body")
                self.body(s.otherwise, f"{path}.otherwise")
            case ir.For():
                self.loop(s, path)

    def declaration(self, s: ir.Declare, path: str) -> None:
        known = MEMORY if s.raw else NUMBERS
        wrong = s.dtype not in known or not 0 <= s.count <= MAX_REGISTERS
        zeros = s.raw and s.value == ir.Encode(ir.constant(0, s.dtype), s.dtype)
        wrong = wrong or (s.raw and s.count == 0)
        wrong = wrong or ((s.raw or s.count > 0) and s.value is not None and not zeros)
        _refuse(wrong, f"{s.count} registers of {s.dtype}", path)
        if s.value is not None:
            self.value(s.value, s.dtype, raw=s.raw, path=f"{path}.value")
        self.declare(s.name, _Name(s.dtype, raw=s.raw, count=s.count), path)

    def loop(self, s: ir.For, path: str) -> None:
        before = dict(self.names)
        if s.first is None:
            self.register(s.counter, None, path)
        else:
            self.whole(s.first, f"{path}.first")
            dtype = DType.U32 if s.unsigned else DType.I32
            self.declare(s.counter, _Name(dtype, raw=False, count=0, counter=True), path)
        self.whole(s.end, f"{path}.end")
        self.whole(s.step, f"{path}.step")
        forward = not isinstance(s.step, Const) or s.step.value > 0
        _refuse(not forward, "a loop that does not go on", f"{path}.step", "a number above 0")
        if s.running is not None:
            self.boolean(s.running, f"{path}.running")
        _refuse(not 0 <= s.times <= 1024, f"{s.times} turns at once", path)
        self.loops += 1
        self.body(s.body, f"{path}.body")
        self.loops -= 1
        self.names = before

    def covers(self, s: ir.Covers | ir.FetchCover | ir.TakeCovered, path: str) -> None:
        if isinstance(s, ir.Covers):
            self.whole_vectors(s.width, s.dtype, path)
            _refuse(not 1 <= s.count <= MAX_REGISTERS, f"{s.count} covers", path)
            made = _Name(s.dtype, raw=True, count=s.count, view=True, cover=s.width)
            self.declare(s.name, made, path)
            return
        name, number = (s.into, s.index) if isinstance(s, ir.FetchCover) else (s.cover, s.number)
        found = self.names.get(name)
        if found is None or not found.cover:
            raise DocumentError(f"no cover {name[:40]!r} here", path=path, fix="declare it")
        self.whole(number, path)
        dtype = self.element(s.tensor, s.at, path)
        _refuse(dtype is not found.dtype, f"{dtype} in a cover of {found.dtype}", path)
        if isinstance(s, ir.TakeCovered):
            self.vector(s.into, s.index, s.tensor, s.at, found.cover, path)

    def whole_vectors(self, width: int, dtype: DType, path: str) -> None:
        wrong = width < 1 or width * dtype.bits % 128 or dtype not in MEMORY
        _refuse(bool(wrong), f"{width} elements of {dtype} as whole vectors", path)

    def tile(self, s: ir.OperandTile | ir.PutTile | ir.PutChunk | ir.ClearTile, path: str) -> None:
        if isinstance(s, ir.OperandTile):
            size = _bytes(s.dtype)
            wrong = s.dtype not in OPERANDS or s.offset < 0 or s.offset % TILE_ALIGN != 0
            wrong = wrong or s.rows < 1 or s.rows % 8 != 0 or s.columns < 1
            wrong = wrong or s.columns * size % SLAB != 0
            end = s.offset + s.rows * s.columns * size
            wrong = wrong or end > self.module.launch.shared_bytes
            _refuse(wrong, f"{s.rows} x {s.columns} {s.dtype} at byte {s.offset}", path)
            self.declare(s.name, _Name(s.dtype, raw=True, count=0, tile=s), path)
            return
        found = self.operand_tile(s.tile, path)
        if isinstance(s, ir.ClearTile):
            return
        self.whole(s.row, f"{path}.row")
        self.whole(s.column, f"{path}.column")
        if isinstance(s, ir.PutTile):
            self.value(s.value, found.dtype, raw=True, path=f"{path}.value")
            return
        made = self.names.get(s.source)
        wrong = made is None or not made.holds or not made.raw or made.dtype is not found.dtype
        wrong = wrong or (made is not None and made.count * _bytes(made.dtype) < CHUNK)
        _refuse(wrong, f"16 bytes of {s.source[:40]!r} here", path)

    def operand_tile(self, name: str, path: str) -> ir.OperandTile:
        found = self.names.get(name)
        if found is None or found.tile is None:
            raise DocumentError(f"no operand tile {name[:40]!r} here", path=path, fix="declare it")
        return found.tile

    def address(self, name: str, path: str) -> ir.Address:
        found = self.names.get(name)
        if found is None or found.address is None:
            raise DocumentError(f"no address {name[:40]!r} here", path=path, fix="declare it")
        return found.address

    def product(self, s: ir.Mma, path: str) -> None:
        self.register(s.into, s.index, path)
        into = self.names[s.into]
        tiles = [self.operand_tile(x.tile, path) for x in (s.a, s.b)]
        kinds = {t.dtype for t in tiles}
        least, most = MMA_COLUMNS
        wrong = into.raw or s.columns % least != 0 or not least <= s.columns <= most
        wrong = wrong or into.count < s.columns // 2 or self.program.threads % GROUP != 0
        whole = kinds == {DType.I8}
        wrong = wrong or into.dtype is not (DType.I32 if whole else DType.F32)
        mixed = len(kinds) > 1 and not kinds <= {DType.E4M3, DType.E5M2}
        sides = zip((s.a, s.b), tiles, strict=True)
        turned = any(x.turned and t.dtype.bits != 16 for x, t in sides)
        types = " and ".join(sorted(map(str, kinds)))
        _refuse(wrong, f"64 x {s.columns} products into {s.into[:40]!r}", path)
        _refuse(mixed or turned, f"products of {types} as they lie", path)
        for x in (s.a, s.b):
            self.whole(x.first, f"{path}.{'a' if x is s.a else 'b'}.first")
            self.whole(x.step, f"{path}.{'a' if x is s.a else 'b'}.step")

    # Places.

    def placed(self, tensor: str) -> None:
        """An address is the first element of a tensor and steps along each of its axes."""
        for n in range(len(self.tensors[tensor].axes)):
            self.used.add(ir.Argument(kind=ArgumentKind.STRIDE, name=tensor, axis=n))

    def register(self, name: str, index: Term | None, path: str) -> _Name:
        result = self.names.get(name)
        if result is None or not result.holds:
            raise DocumentError(f"no register {name[:40]!r} here", path=path, fix="declare it")
        array = result.count > 0
        _refuse(array != (index is not None), f"{name!r} is {'an' if array else 'no'} array", path)
        if index is not None:
            self.whole(index, path)
            if isinstance(index, Const):
                wrong = not 0 <= index.value < result.count
                _refuse(wrong, f"register {index.value} of {result.count}", path)
        return result

    def view(self, name: str, index: Term, path: str) -> _Name:
        result = self.names.get(name)
        if result is None or not result.view or result.cover:
            raise DocumentError(f"no view {name[:40]!r} here", path=path, fix="declare it")
        self.whole(index, path)
        return result

    def element(self, name: str, at: tuple[Term, ...], path: str) -> DType:
        tensor = self.tensors.get(name)
        if tensor is None:
            raise DocumentError(f"no tensor {name[:40]!r}", path=path)
        _refuse(len(at) != len(tensor.axes), f"{len(at)} coordinates of {name!r}", path)
        _refuse(tensor.dtype not in MEMORY, f"elements of {tensor.dtype}", path)
        self.used.add(ir.Argument(kind=ArgumentKind.POINTER, name=name))
        strides = [a for a in self.program.arguments
                   if a.kind is ArgumentKind.STRIDE and a.name == name]  # fmt: skip
        if strides or len(at) > 1:
            for n in range(len(at)):
                self.used.add(ir.Argument(kind=ArgumentKind.STRIDE, name=name, axis=n))
        for i, x in enumerate(at):
            self.whole(x, f"{path}.at[{i}]")
        return tensor.dtype

    def written(self, name: str, path: str) -> None:
        _refuse(self.tensors[name].access != "out", f"'{name}' is written", path, "an output")

    def vector(
        self, name: str, index: Term, tensor: str, at: tuple[Term, ...], width: int, path: str
    ) -> None:
        found = self.names.get(name)
        if found is None or not found.raw or not found.holds:
            raise DocumentError(f"no raw registers {name[:40]!r} here", path=path)
        dtype = self.element(tensor, at, path)
        bits = width * dtype.bits
        wrong = found.dtype is not dtype or width not in WIDTHS or width > found.count
        wrong = wrong or not VECTOR_BITS[0] <= bits <= VECTOR_BITS[1]
        _refuse(wrong, f"{width} elements of {dtype} as {found.dtype}", path)
        self.whole(index, f"{path}.index")

    # Terms.

    def whole(self, term: Term, path: str) -> None:
        dtype, raw = self.typed(term, path)
        wrong = raw or dtype not in (DType.I32, DType.U32, DType.I8, DType.I4, DType.BOOL)
        _refuse(wrong, f"{dtype} where a whole number stands", path)

    def boolean(self, term: Term, path: str) -> None:
        dtype, raw = self.typed(term, path)
        _refuse(raw or dtype is not DType.BOOL, f"{dtype} where a condition stands", path)

    def value(self, term: Term, dtype: DType, *, raw: bool, path: str) -> None:
        """A term where a type is wanted: raw elements of that type, numbers of that kind."""
        found, own = self.typed(term, path)
        if raw:
            _refuse(not own or found is not dtype, f"{found} where {dtype} lies in memory", path)
        else:
            floats = found.is_float == dtype.is_float or dtype.is_float  # numbers become floats
            _refuse(own or not floats, f"{found} where {dtype} stands", path)

    def typed(self, root: Term, path: str) -> tuple[DType, bool]:
        """The type of a term, and whether it is an element of memory; checks all it is made of."""
        found: dict[int, tuple[DType, bool]] = {}
        order = list(nodes(root))
        _refuse(len(order) > MAX_STATEMENTS, "a term too large", path)
        for term in reversed(order):
            found[id(term)] = self.own(term, [found[id(p)] for p in parts(term)], path)
        return found[id(root)]

    def own(  # noqa: C901, PLR0911, PLR0912, PLR0915 (one case a kind)
        self, t: Term, of: list[tuple[DType, bool]], path: str
    ) -> tuple[DType, bool]:
        types = [dtype for dtype, _ in of]
        raws = any(raw for _, raw in of)
        integers = all(not d.is_float for d in types) and not raws
        match t:
            case ir.Number():
                wrong = t.dtype not in NUMBERS or t.dtype is DType.I32
                _refuse(wrong, f"a number of {t.dtype}", path, "i32: the number itself")
                held = t.dtype.is_float or (t.value == t.value // 1 and abs(t.value) < 1 << 32)
                _refuse(not held, f"{t.value} as {t.dtype}", path)
                return t.dtype, False
            case Const():
                _refuse(not -(1 << 32) < t.value < 1 << 32, f"{t.value} as i32", path)
                return DType.I32, False
            case Sym(kind=SymKind.SIZE):
                self.used.add(ir.Argument(kind=ArgumentKind.SIZE, name=t.name))
                return DType.I32, False
            case Sym():
                known = (ir.TID, CTA, CTAS)
                _refuse(t not in known, f"no {t.kind} {t.name[:40]!r} here", path)
                return DType.U32, False
            case ir.Scalar():
                _refuse(self.scalars.get(t.name) is not t.dtype, f"no {t.dtype} {t.name!r}", path)
                self.used.add(ir.Argument(kind=ArgumentKind.SCALAR, name=t.name))
                return t.dtype, False
            case ir.Reg():
                made = self.names.get(t.name)
                if made is None or not made.holds:
                    raise DocumentError(f"no register {t.name[:40]!r} here", path=path)
                array = made.count > 0
                _refuse(array != (t.index is not None) or not integers, f"{t.name!r} here", path)
                if isinstance(t.index, Const):
                    wrong = not 0 <= t.index.value < made.count
                    _refuse(wrong, f"register {t.index.value} of {made.count}", path)
                return made.dtype, made.raw
            case Binary():
                _refuse(not integers, f"{t.op} of {', '.join(types)}", path)
                if t.op in COMPARISONS:
                    return DType.BOOL, False
                return (DType.U32 if DType.U32 in types else DType.I32), False
            case ir.Not() | ir.Within():
                _refuse(not integers, f"{type(t).__name__} of {', '.join(types)}", path)
                return DType.BOOL, False
            case Select():
                one, two = of[1:]
                wrong = types[0] is not DType.BOOL or of[0][1] or one[1] != two[1]
                wrong = wrong or (one[1] and one[0] is not two[0])
                _refuse(wrong, "a choice of two kinds", path)
                return one
            case ir.Function():
                _refuse(raws or t.dtype not in NUMBERS, f"{t.fn} of elements of memory", path)
                _refuse((t.fn is Fn.INLINE) != (t.code is not None), f"{t.fn}", path)
                self.arity(t, path)
                return t.dtype, False
            case ir.Join():
                wrong = t.fn not in REDUCTIONS or raws or t.dtype not in NUMBERS
                _refuse(wrong, f"{t.fn} as a reduction", path)
                return t.dtype, False
            case ir.Convert():
                _refuse(raws or t.dtype not in NUMBERS, f"a conversion to {t.dtype}", path)
                return t.dtype, False
            case ir.Decode():
                _refuse(of != [(t.dtype, True)], f"{types[0]} read as {t.dtype}", path)
                return t.dtype, False
            case ir.Encode():
                _refuse(raws or t.dtype not in MEMORY, f"an element of {t.dtype}", path)
                return t.dtype, True
            case Element():
                _refuse(not integers, "coordinates are whole numbers", path)
                tensor = self.tensors.get(t.tensor)
                wrong = tensor is None or len(tensor.axes) != len(t.at) or not t.at
                _refuse(wrong, f"{len(t.at)} coordinates of {t.tensor[:40]!r}", path)
                return self.element_type(t.tensor, len(t.at), path), True
            case ir.Nearby():
                address = self.address(t.address, path)
                axes = self.tensors[address.tensor].axes
                wrong = not integers or not 0 <= t.axis < len(axes)
                _refuse(wrong, f"elements along axis {t.axis} of {address.tensor!r}", path)
                return self.tensors[address.tensor].dtype, True
            case ir.Shared():
                shared = self.names.get(t.view)
                if shared is None or not shared.view or shared.cover:
                    raise DocumentError(f"no view {t.view[:40]!r} here", path=path)
                _refuse(not integers, "an index is a whole number", path)
                return shared.dtype, False
            case ir.Shuffle():
                _refuse(raws or types[1].is_float, "a shuffle", path)
                return types[0], False
            case ir.Aligned():
                tensor = self.tensors.get(t.tensor)
                _refuse(tensor is None, f"no tensor {t.tensor[:40]!r}", path)
                _refuse(t.bytes not in (1, 2, 4, 8, 16), f"multiples of {t.bytes} bytes", path)
                if tensor is not None:
                    self.element_type(t.tensor, len(tensor.axes), path, strided=True)
                return DType.BOOL, False
            case ir.Contiguous() | ir.Covered():
                tensor = self.tensors.get(t.tensor)
                if tensor is None:
                    raise DocumentError(f"no tensor {t.tensor[:40]!r}", path=path)
                rank = len(tensor.axes)
                wrong = isinstance(t, ir.Covered) and (len(t.at) != rank or t.width < 1)
                _refuse(wrong or not integers, "coordinates are whole numbers", path)
                self.element_type(t.tensor, rank, path, strided=True)
                return DType.BOOL, False
            case _:
                raise AssertionError(t)

    def element_type(self, name: str, rank: int, path: str, *, strided: bool = False) -> DType:
        dtype = self.tensors[name].dtype
        _refuse(dtype not in MEMORY, f"elements of {dtype}", path)
        self.used.add(ir.Argument(kind=ArgumentKind.POINTER, name=name))
        listed = any(a.kind is ArgumentKind.STRIDE and a.name == name
                     for a in self.program.arguments)  # fmt: skip
        if listed or rank > 1 or strided:
            for n in range(rank):
                self.used.add(ir.Argument(kind=ArgumentKind.STRIDE, name=name, axis=n))
        return dtype

    def arity(self, t: ir.Function, path: str) -> None:
        if t.code is not None:
            wanted = len(t.code.params)
        else:
            row = ELEMENTWISE[t.fn]
            pattern = row.cuda
            wanted = pattern.count("{}") if pattern else 2
        _refuse(len(t.args) != wanted, f"{t.fn} of {len(t.args)}", path, f"{wanted} arguments")


def _bytes(dtype: DType) -> int:
    return max(1, dtype.bits // 8)
