"""Operations touch what they declare: registers, slots, staging and memory.

The verifier of synchronisation goes by what operations declare to read and write (``reads``,
``writes``, ``slots``, ``fills``); code generators print what their bodies do. Both are in the
module, so both can be compared: a body reads nothing that is not declared and writes exactly what
is. Storage holds what its shapes say, roles are the threads of the CTA, and a tensor is added to
where the author's kernel adds to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from itertools import zip_longest
from math import prod

from warploom.dataclass import dataclass
from warploom.ir import operations as ops
from warploom.ir.expr import Sym, SymKind, symbols
from warploom.ir.module import KernelModule, Role
from warploom.ir.operations import Statement, StepLoop, VectorKind
from warploom.ir.rings import BufferCopy, Scope
from warploom.ir.tile import Store, walk
from warploom.verify.coverage.report import Claim, Finding, How

WARP = Sym(SymKind.THREAD, "warp")
LINE_BYTES = 128  # of a row of a staging copy
WARPS = 4  # of an instance that stores
WARPGROUP = 128

Made = Iterator[Claim | Finding]
Part = tuple[str, str]


@dataclass
class _Touched:
    """What the bodies of an operation do."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    slots: set[Part] = field(default_factory=set)
    fills: set[BufferCopy] = field(default_factory=set)
    puts: set[Part] = field(default_factory=set)

    def add(self, body: tuple[ops.VectorOp, ...]) -> None:
        for x in body:
            match x:
                case ops.VectorRegister():
                    self.reads.add(x.array)
                case ops.VectorSet():
                    self.writes.add(x.array)
                case ops.VectorSlot():
                    self.slots.add((x.ring, x.part))
                case ops.VectorStage():
                    self.fills.add(x.target)
                case ops.VectorPut():
                    self.puts.add((x.ring, x.part))


def verify_effects(module: KernelModule) -> Made:
    """What operations declare, storage and roles."""
    number = 0
    for role in module.roles:
        for named, row in _rows(module, role):
            touched = _Touched()
            for op, later in zip_longest(row, row[1:]):
                wrong = _wrong(module, op) or _interrupts(op, later)
                if isinstance(op, ops.Vector):
                    touched.add(op.body)
                    if not op.within:
                        wrong = wrong or _undeclared(op, touched, named)
                        touched, number = _Touched(), number + 1
                elif isinstance(op, ops.Mma):
                    touched = _Touched()  # what is read as it is issued
                if wrong:
                    yield Finding(what=wrong, where=getattr(op, "op", role.name))
                    return
    for wrong in (*_storage(module), *_threads(module), *_axes(module)):
        yield Finding(what=wrong, where="storage and roles")
        return
    yield Claim(
        what="operations touch what they declare",
        how=How.ALL,
        argument=f"bodies of {number} operations compared; storage and roles counted",
    )


def _rows(module: KernelModule, role: Role) -> Iterator[tuple[set[str], tuple[Statement, ...]]]:
    """Lists of operations of every loop, with the register arrays that its entries speak of."""
    facts = [*(x.registers for x in module.earlier), module.registers]
    loops = [(p.setup, p.body, p.finish) for p in role.earlier]
    loops.append((role.setup, role.tiles.body, role.finish))
    for registers, (setup, body, finish) in zip(facts, loops, strict=True):
        named = {name for name, _ in dict(registers).get(role.name, ())}
        at = next((i for i, s in enumerate(body) if isinstance(s, StepLoop)), len(body))
        inner = [s.body for s in body[at : at + 1] if isinstance(s, StepLoop)]
        for row in (setup, body[:at], *inner, body[at + 1 :], finish):
            yield named, row


def _undeclared(op: ops.Vector, touched: _Touched, named: set[str]) -> str:
    """What a body does beyond what is declared; numbers that products read early are no arrays."""
    slots = {(s.ring, s.part) for s in op.slots}
    puts = {(s.ring, s.part) for s in op.fills_slots}
    if not touched.reads & named <= set(op.reads):
        return f"other operands: {sorted((touched.reads & named) - set(op.reads))} are read, too"
    if touched.writes & named != set(op.writes) & named:
        return f"other operands: it writes {sorted(touched.writes)}, and declares {op.writes}"
    if not touched.slots <= slots or touched.puts != puts or touched.fills != set(op.fills):
        return "other operands: slots or staging copies that it does not declare"
    return ""


def _wrong(  # noqa: C901, PLR0911, PLR0912 (one line a kind)
    module: KernelModule, op: Statement
) -> str:
    parts = {(p.ring, p.part) for p in module.storage.parts}
    adds = {x.tensor: x.add for x in walk(module.kernel.ops) if isinstance(x, Store)}
    match op:
        case ops.Copy() | ops.ThreadCopy():
            if (op.ring, op.part) not in parts:
                return f"other operands: {op.ring} has no part {op.part}"
            if op.bytes != _bytes(module, op):
                return f"other operands: {op.bytes} bytes of a copy of {_bytes(module, op)}"
        case ops.Mma():
            slots = [x for x in (op.a, op.b) if isinstance(x, ops.SlotOperand)]
            if any((x.ring, x.part) not in parts for x in slots):
                return "other operands: a part that no ring has"
        case ops.BulkStore():
            tensor = module.map(op.tensor_map).tensor
            if op.add != adds.get(tensor, op.add):
                return f"other operands: '{tensor}' is {'added to' if op.add else 'stored'}"
            if op.scope is not Scope.WARP and any(WARP in symbols(x) for x in op.at):
                return "other operands: each warp stores its own rows"
            if not any(op.source.buffer == b.name for b in module.storage.buffers):
                return "other operands: a staging copy that nobody has"
        case ops.Vector():
            if wrong := _other_kind(op):
                return wrong
            for x in op.body:
                if isinstance(x, ops.VectorStore) and x.add != adds.get(x.tensor, x.add):
                    return f"other operands: '{x.tensor}' is {'added to' if x.add else 'stored'}"
    return ""


def _interrupts(op: Statement, later: Statement | None) -> str:
    """A wait within vector work must guard nothing that this work touches."""
    if not isinstance(op, ops.Wait) or not op.amid:
        return ""
    if not isinstance(later, ops.Vector) or later.slots or later.fills_slots or later.within:
        return f"other operands: a wait for {op.ring} amid what is no work on registers alone"
    return ""


_ENDS = {
    VectorKind.LEAVE: None,
    VectorKind.PUT: ops.VectorPut,
    VectorKind.FILL: ops.VectorStage,
    VectorKind.STORE: ops.VectorStore,
}


def _other_kind(op: ops.Vector) -> str:
    """Vector work does what its kind says: it sets registers, or fills, or stores."""
    outside = [x for x in op.body if isinstance(x, tuple(k for k in _ENDS.values() if k))]
    wanted = _ENDS.get(op.kind)
    if wanted is not None:
        fits = bool(outside) and all(isinstance(x, wanted) for x in outside)
    else:
        fits = not outside and not (op.kind is VectorKind.LEAVE and op.body)
    return "" if fits else f"other operands: {op.op} does not do what its kind, {op.kind}, says"


def _bytes(module: KernelModule, op: ops.Copy | ops.ThreadCopy) -> int:
    """What a copy brings."""
    part = module.part(op.ring, op.part)
    if isinstance(op, ops.ThreadCopy):
        return part.rows * part.cols * part.dtype.bits // 8
    return prod(module.map(op.tensor_map).box) * part.dtype.bits // 8 * len(op.boxes)


def _storage(module: KernelModule) -> Iterator[str]:
    storage = module.storage
    for ring in storage.rings:
        for part in ring.parts:
            shape = next(p for p in storage.parts if (p.ring, p.part) == (ring.name, part.name))
            if part.bytes != shape.rows * shape.cols * shape.dtype.bits // 8:
                yield f"part {part.name} of {ring.name} has {part.bytes} bytes, not the kernel's"
    for buffer, stage in zip(storage.buffers, storage.staging, strict=True):
        least = WARPS * stage.rows * min(stage.cols * stage.dtype.bits // 8, LINE_BYTES)
        if buffer.bytes < least:
            yield f"a staging copy of {buffer.name} has {buffer.bytes} bytes, not the kernel's"


def _axes(module: KernelModule) -> Iterator[str]:
    """Loops walk along axes that the kernel has."""
    known = {a.name for t in module.tensors for a in t.axes}
    for role in module.roles:
        if role.tiles.schedule.rows:
            continue
        for axis in (*(x.axis for x in role.earlier), role.tiles.axis):
            if axis not in known:
                yield f"a loop of {role.name} along the axis '{axis}', not the kernel's"


def _threads(module: KernelModule) -> Iterator[str]:
    groups = [r for r in module.roles if r.threads == WARPGROUP]
    small = sum(r.instances * r.threads for r in module.roles if r.threads != WARPGROUP)
    rows = module.roles[0].tiles.schedule
    if rows.rows:
        return
    if (sum(r.instances for r in groups) + 1) * WARPGROUP != module.launch.block:
        yield f"roles that are not the kernel's {module.launch.block} threads"
    if small > WARPGROUP:
        yield f"{small} threads in the producer's warpgroup"
    near = any(isinstance(s, ops.Meet) and s.near for r in module.roles for s in r.tiles.body)
    cluster = rows.split if near else rows.cluster
    if module.launch.cluster != cluster:
        yield f"clusters of {module.launch.cluster} CTAs, not the kernel's {cluster}"
    for role in module.roles:
        if not role.carries_phase:
            yield f"positions of {role.name} that begin anew with every tile, not the kernel's"
        sizes = {"tile": 2, "packed": 4}
        for a in role.arrays:
            own = a.blocks * a.cols // sizes[a.form] if a.form in sizes else 2 * a.blocks
            if a.form in (*sizes, "row") and a.registers != own:
                yield f"{a.name} has {a.registers} registers, not the kernel's {own}"


__all__ = ["verify_effects"]
