"""The table of a module's operations: how each is printed, and which entry of a role program it is.

A row is all that ``ir`` says of an operation beside its class in ``operations``, from which its
JSON follows (``serialize``). An operation without a row is an error as this module is imported.
Code generators have a lowering for it; verifier and interpreter state its effect by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args

from warploom.dataclass import dataclass
from warploom.ir import mbarrier_dialect as roles, operations as ops
from warploom.ir.elementwise import ELEMENTWISE
from warploom.ir.expr import Expr, IntExpr, Sym, SymKind, show
from warploom.ir.mbarrier_dialect import RoleEntry
from warploom.ir.rings import Side, SlotRead
from warploom.ir.types import Fn, Line

SIGNS = {fn: row.symbol for fn, row in ELEMENTWISE.items() if row.symbol}

Offset = Callable[[IntExpr], int]
"""How far an iteration is from the one that the list of an entry speaks of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRow:
    """One operation: its lines in a listing, and the entry of the document that the verifier of
    synchronisation reads; None for operations of the counter dialect, which has documents of its
    own (``counter_document``).
    """

    lines: Callable[[Any], Iterator[str]]
    entry: Callable[[Any, Offset], RoleEntry] | None = None


def text(expr: IntExpr | Expr) -> str:
    """An expression as listings spell it."""
    return show(expr, _name)  # type: ignore[arg-type]


def _name(symbol: Sym) -> str:
    return f"tile_{symbol.name}" if symbol.kind is SymKind.TILE else symbol.name


def _says(said: str) -> Callable[[Any], Iterator[str]]:
    """An operation that is always printed alike."""
    return lambda _: iter([said])


def _line(line: Line | None) -> str:
    return f"   # line {line.number}" if line is not None else ""


def _where(predicate: IntExpr | None, otherwise: str = "") -> str:
    return "" if predicate is None else f" if {text(predicate)}{otherwise}"


def _at(places: tuple[IntExpr, ...]) -> str:
    return ", ".join(text(x) for x in places)


# Both dialects: vector work, and parts of a loop that meet.


def _vector(op: ops.Vector) -> Iterator[str]:
    layout = op.layout
    if not op.body:
        yield f"{op.op}: nothing to do"
        return
    over = ", ".join(f"{i.name} < {i.extent}" for i in layout.indices)
    yield f"for each element ({over}; row = {text(layout.row)}, col = {text(layout.col)}):"
    for inner in op.body:
        yield f"  {VECTOR_OPERATIONS[type(inner)](inner, layout)}"


def _vector_entry(op: ops.Vector, k: Offset) -> RoleEntry:
    return roles.Compute(
        op=op.op,
        k=k(op.iteration),
        reads=op.reads,
        writes=op.writes,
        slots=op.slots,
        fills=op.fills,
        fills_slots=op.fills_slots,
        args=op.args,
        reason=op.reason,
    )


def _meet(op: ops.Meet) -> Iterator[str]:
    where = "shared memory of the cluster" if op.near else "memory"
    yield f"meet {op.parts} parts in {where}: the last one goes on"
    if op.top:
        yield f"  {op.top} = max over parts"
    for name in op.sums:
        scale = f" * 2 ** (own {op.top} - {op.top})" if name in op.rescaled else ""
        yield f"  {name} = sum over parts of {name}{scale}{_where(op.exists)}"


def _meet_entry(op: ops.Meet, k: Offset) -> RoleEntry:
    return roles.Compute(
        op=op.op, k=k(op.iteration), reads=op.reads, writes=op.writes, reason=op.reason
    )


# The mbarrier dialect.


def _wait(op: ops.Wait) -> Iterator[str]:
    usual = op.parity == (0 if op.side is Side.FULL else 1)
    other = "" if usual else f" parity {op.parity}"
    amid = f" amid what follows, after {op.amid} elements" if op.amid else ""
    yield f"wait {op.side} {op.ring}[{text(op.iteration)}]{other}{amid}"


def _wait_entry(op: ops.Wait, k: Offset) -> RoleEntry:
    kind = roles.WaitFull if op.side is Side.FULL else roles.WaitEmpty
    return kind(ring=op.ring, k=k(op.iteration), parity=op.parity, reason=op.reason)


def _expect(op: ops.Expect) -> Iterator[str]:
    yield f"expect {op.bytes:,} bytes on {op.ring}[{text(op.iteration)}]"


def _expect_entry(op: ops.Expect, k: Offset) -> RoleEntry:
    return roles.Expect(ring=op.ring, k=k(op.iteration), bytes=op.bytes, reason=op.reason)


def _copy(op: ops.Copy) -> Iterator[str]:
    cast = f" to {op.multicast} CTAs" if op.multicast > 1 else ""
    for box in op.boxes:
        to = f"{op.ring}[{text(op.iteration)}].{op.part}"
        if text(box.row) != "0" or box.col:
            to += f"[{text(box.row)}, {box.col}]"
        end = "" if box.end is None else f" up to {text(box.end)}"
        yield f"copy {op.tensor_map} at [{_at(box.at)}]{end} -> {to}{cast}{_line(op.line)}"


def _copy_entry(op: ops.Copy, k: Offset) -> RoleEntry:
    return roles.Load(
        op=op.op,
        ring=op.ring,
        part=op.part,
        k=k(op.iteration),
        bytes=op.bytes,
        multicast=op.multicast,
        reason=op.reason,
    )


def _thread_copy(op: ops.ThreadCopy) -> Iterator[str]:
    yield (
        f"copy by threads {op.tensor}[{_at(op.at)}]{_where(op.predicate, ', else 0')} ->"
        f" {op.ring}[{text(op.iteration)}].{op.part}[row, col]{_line(op.line)}"
    )


def _thread_copy_entry(op: ops.ThreadCopy, k: Offset) -> RoleEntry:
    return roles.Load(
        op=op.op,
        ring=op.ring,
        part=op.part,
        k=k(op.iteration),
        bytes=op.bytes,
        by_threads=True,
        reason=op.reason,
    )


def _arrive(op: ops.Arrive) -> Iterator[str]:
    where = f" of {op.ctas} CTAs" if op.ctas > 1 else ""
    yield f"arrive {op.side} {op.ring}[{text(op.iteration)}] per {op.scope}{where}"


def _arrive_entry(op: ops.Arrive, k: Offset) -> RoleEntry:
    return roles.Arrive(
        ring=op.ring,
        k=k(op.iteration),
        scope=op.scope,
        ctas=op.ctas,
        side=op.side,
        reason=op.reason,
    )


def _mma(op: ops.Mma) -> Iterator[str]:
    a, b = (_operand(x, op.iteration) for x in (op.a, op.b))
    sign = "+=" if op.accumulate else "="
    m, n, k = op.shape
    part = "" if op.inner is None else f", k {op.inner[0]} .. {op.inner[1]}"
    yield f"mma {op.accumulator} {sign} {a} @ {b}.T   {m}x{n}x{k}{part}{_line(op.line)}"


def _operand(x: ops.SlotOperand | ops.RegisterOperand, iteration: IntExpr) -> str:
    if isinstance(x, ops.RegisterOperand):
        return x.array
    rows = f"[{text(x.row)} :+{x.rows}]" if text(x.row) != "0" else ""
    turned = ".T" if x.transposed else ""
    return f"{x.ring}[{text(iteration)}].{x.part}{rows}{turned}"


def _mma_entry(op: ops.Mma, k: Offset) -> RoleEntry:
    both = (x for x in (op.a, op.b) if isinstance(x, ops.SlotOperand))
    return roles.Mma(
        op=op.op,
        k=k(op.iteration),
        slots=tuple(SlotRead(ring=x.ring, part=x.part) for x in both),
        registers=(op.a.array,) if isinstance(op.a, ops.RegisterOperand) else (),
        accumulator=op.accumulator,
        accumulate=op.accumulate,
        reason=op.reason,
    )


def _named_barrier(op: ops.NamedBarrierOp) -> Iterator[str]:
    only = "" if op.instance is None else f" (instance {op.instance} only)"
    yield f"{'sync' if op.waits else 'arrive'} {op.barrier}[instance + {op.turn}]{only}"


def _named_barrier_entry(op: ops.NamedBarrierOp, _: Offset) -> RoleEntry:
    kind = roles.NamedSync if op.waits else roles.NamedArrive
    return kind(barrier=op.barrier, turn=op.turn, instance=op.instance, reason=op.reason)


def _bulk_store(op: ops.BulkStore) -> Iterator[str]:
    how = "+=" if op.add else "="
    end = "" if op.end is None else f" up to {text(op.end)}"
    yield (
        f"bulk store {op.tensor_map} at [{_at(op.at)}]{end} {how}"
        f" {op.source.buffer}#{op.source.copy} per {op.scope}{_line(op.line)}"
    )


def _bulk_store_entry(op: ops.BulkStore, k: Offset) -> RoleEntry:
    return roles.BulkStore(
        op=op.op,
        source=op.source,
        scope=op.scope,
        args=op.args,
        k=0 if op.iteration is None else k(op.iteration),
        reduce=op.add,
        reason=op.reason,
    )


# The counter dialect.


def _lds_copy(op: ops.LdsCopy) -> Iterator[str]:
    yield (
        f"copy {op.tensor}[{text(op.row)}, {text(op.col)} :+{op.chunk}] ->"
        f" lds {'ab'[op.channel]}.{op.stage}.{op.subtile}[{text(op.lds_row)},"
        f" {text(op.lds_col)}]   x {op.count}"
    )


def _fragment_read(op: ops.FragmentRead) -> Iterator[str]:
    name = "ab"[op.channel]
    yield (
        f"read lds {name}.{op.stage}.{op.subtile}[{text(op.lds_row)},"
        f" {text(op.lds_col)} :+{op.chunk}] -> {name}{op.subtile}[{text(op.row)},"
        f" {text(op.col)}]   x {op.tiles * op.reads}"
    )


def _wave_mma(op: ops.WaveMma) -> Iterator[str]:
    m, n, k = op.shape
    only = "" if op.valid is None else f", columns of K below {text(op.valid)}"
    yield (
        f"mma acc.{op.a}.{op.b} += a{op.a} @ b{op.b}.T"
        f"   {op.rows} x {op.columns} of {m}x{n}x{k}{only}"
    )


def _wait_count(op: ops.WaitCount) -> Iterator[str]:
    counts = [f"vmcnt({op.vm})"] if op.vm is not None else []
    counts += [f"lgkmcnt({op.lgkm})"] if op.lgkm is not None else []
    yield f"wait {' '.join(counts)}"


def _workgroup_barrier(op: ops.WorkgroupBarrier) -> Iterator[str]:
    only = f" (wave groups {', '.join(map(str, op.groups))})" if op.groups else ""
    yield f"barrier{only}"


def _hint(op: ops.Hint) -> Iterator[str]:
    name = op.scheduled.name if op.scheduled else "none"
    yield f"hint {name.lower()} {op.value}"


OPERATIONS: dict[type, OperationRow] = {
    ops.Vector: OperationRow(lines=_vector, entry=_vector_entry),
    ops.Meet: OperationRow(lines=_meet, entry=_meet_entry),
    ops.Wait: OperationRow(lines=_wait, entry=_wait_entry),
    ops.Expect: OperationRow(lines=_expect, entry=_expect_entry),
    ops.Copy: OperationRow(lines=_copy, entry=_copy_entry),
    ops.ThreadCopy: OperationRow(lines=_thread_copy, entry=_thread_copy_entry),
    ops.Arrive: OperationRow(lines=_arrive, entry=_arrive_entry),
    ops.MmaFence: OperationRow(
        lines=lambda op: iter(["mma fence" + (" of all sums" if op.all_sums else "")]),
        entry=lambda op, _: roles.MmaFence(reason=op.reason),
    ),
    ops.Mma: OperationRow(lines=_mma, entry=_mma_entry),
    ops.Commit: OperationRow(
        lines=_says("commit"), entry=lambda op, _: roles.Commit(reason=op.reason)
    ),
    ops.WaitGroup: OperationRow(
        lines=lambda op: iter([f"wait_group {op.pending}{' in order' if op.ordered else ''}"]),
        entry=lambda op, _: roles.WaitGroup(pending=op.pending, reason=op.reason),
    ),
    ops.ProxyFence: OperationRow(
        lines=_says("proxy fence"), entry=lambda op, _: roles.ProxyFence(reason=op.reason)
    ),
    ops.ScopeSync: OperationRow(
        lines=lambda op: iter([f"sync {op.scope}"]),
        entry=lambda op, _: roles.ScopeSync(scope=op.scope, reason=op.reason),
    ),
    ops.NamedBarrierOp: OperationRow(lines=_named_barrier, entry=_named_barrier_entry),
    ops.BulkStore: OperationRow(lines=_bulk_store, entry=_bulk_store_entry),
    ops.BulkCommit: OperationRow(
        lines=_says("bulk commit"), entry=lambda op, _: roles.BulkCommit(reason=op.reason)
    ),
    ops.BulkWait: OperationRow(
        lines=lambda op: iter([f"bulk wait {op.pending}{' read' if op.source_read else ''}"]),
        entry=lambda op, _: roles.BulkWait(
            pending=op.pending, source_read=op.source_read, reason=op.reason
        ),
    ),
    ops.ClusterSync: OperationRow(
        lines=_says("cluster sync"), entry=lambda op, _: roles.ClusterSync(reason=op.reason)
    ),
    ops.LdsCopy: OperationRow(lines=_lds_copy),
    ops.FragmentRead: OperationRow(lines=_fragment_read),
    ops.WaveMma: OperationRow(lines=_wave_mma),
    ops.WaitCount: OperationRow(lines=_wait_count),
    ops.WorkgroupBarrier: OperationRow(lines=_workgroup_barrier),
    ops.Hint: OperationRow(lines=_hint),
}
assert set(OPERATIONS) == set(get_args(ops.Operation)), set(get_args(ops.Operation)) ^ {*OPERATIONS}


# Operations of a vector's body.


def _register(op: ops.VectorRegister | ops.VectorSet, layout: ops.FragmentLayout) -> str:
    at = layout.register if op.register is None else op.register
    return f"{op.array}.register[{text(at)}]"


def _reduce(op: ops.VectorReduce, _: ops.FragmentLayout) -> str:
    lanes = f", lanes ^ {', '.join(map(str, op.lanes))}" if op.lanes else ""
    return f"{op.result} = {op.fn} of {op.arg} over {', '.join(op.over) or 'itself'}{lanes}"


def _put(op: ops.VectorPut, _: ops.FragmentLayout) -> str:
    where = f"{op.ring}[{text(op.iteration)}].{op.part}[{text(op.row)}, {text(op.col)}]"
    return f"{where} = {op.dtype}({op.value}){_where(op.predicate, ', else 0')}"


def _pointwise(op: ops.VectorPointwise, _: ops.FragmentLayout) -> str:
    if op.fn in SIGNS:
        return f"{op.result} = {op.args[0]} {SIGNS[op.fn]} {op.args[1]}"
    name = str(op.dtype) if op.fn is Fn.CAST else str(op.fn)
    return f"{op.result} = {name}({', '.join(op.args)})"


def _stage(op: ops.VectorStage, _: ops.FragmentLayout) -> str:
    where = f"{op.target.buffer}#{op.target.copy}[{text(op.row)}, {text(op.col)}]"
    return f"stage {where} = {op.dtype}({op.value})"


def _store(op: ops.VectorStore, _: ops.FragmentLayout) -> str:
    how = ("+=" if op.add else "=") + (_turn(op.turn) if op.turn is not None else "")
    made = f"{op.dtype}({op.value}){_where(op.predicate)}"
    return f"store {op.tensor}[{_at(op.at)}] {how} {made}{_line(op.line)}"


def _turn(turn: ops.Turn) -> str:
    counted = f"{text(turn.before)} tiles at {turn.tensor}[{_at(turn.at)}]"
    return f" in turns of {turn.rows} rows after {counted}{_where(turn.exists)},"


def _slot(op: ops.VectorSlot, _: ops.FragmentLayout) -> str:
    where = f"{op.ring}[{text(op.iteration)}].{op.part}"
    return f"{op.result} = {where}[{text(op.row)}, {text(op.col)}]"


def _load(op: ops.VectorLoad, _: ops.FragmentLayout) -> str:
    return f"{op.result} = load {op.tensor}[{_at(op.at)}]{_where(op.predicate, ', else 0')}"


VECTOR_OPERATIONS: dict[type, Callable[[Any, ops.FragmentLayout], str]] = {
    ops.VectorConst: lambda op, _: f"{op.result} = {op.value}",
    ops.VectorScalar: lambda op, _: f"{op.result} = scalar {op.parameter}",
    ops.VectorIndex: lambda op, _: f"{op.result} = {text(op.value)}",
    ops.VectorRegister: lambda op, layout: f"{op.result} = {_register(op, layout)}",
    ops.VectorSet: lambda op, layout: f"{_register(op, layout)} = {op.value}",
    ops.VectorSlot: _slot,
    ops.VectorPut: _put,
    ops.VectorReduce: _reduce,
    ops.VectorLoad: _load,
    ops.VectorPointwise: _pointwise,
    ops.VectorStage: _stage,
    ops.VectorStore: _store,
}
assert set(VECTOR_OPERATIONS) == set(get_args(ops.VectorOp))
