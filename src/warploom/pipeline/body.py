"""Builders for op sequences: ``PipelineBody`` declares a loop body, ``Pipe`` chains priced ops.

    with PipelineBody() as body:
        body.load(MyOps.LOAD, ch=0, stage=0, k=KOffsetKind.K0)
        body.fan(2, MyOps.FRAG, ch=0)
        body.grid(2, 2, MyOps.MMA)
    ops = body.done()

The role-typed method names document intent; roles themselves come from the cost model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from types import TracebackType

from warploom.dataclass import dataclass
from warploom.errors import ConfigError
from warploom.ir.dataflow import FlowOperand
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, Phase, ScheduleEntry
from warploom.ir.validation import all_of, instance, integer, member

_NO_K = KOffsetKind.NONE
Operands = Sequence[str | FlowOperand]


class PipelineBody:
    """Accumulates the logical ops of one loop iteration, in program order."""

    def __init__(self) -> None:
        self._ops: list[OpDesc] = []

    def __enter__(self) -> PipelineBody:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to release; the context only frames the declaration."""

    def load(
        self,
        tag: int,
        *,
        ch: int = -1,
        stage: int = 0,
        sub: int = 0,
        k: KOffsetKind = _NO_K,
        makes: Sequence[str] = (),
    ) -> PipelineBody:
        """A load from global memory."""
        return self.op(tag, ch=ch, stage=stage, sub=sub, k=k, makes=makes)

    def store(
        self,
        tag: int,
        *,
        ch: int = -1,
        stage: int = 0,
        sub: int = 0,
        takes: Operands = (),
        makes: Sequence[str] = (),
    ) -> PipelineBody:
        """A store to shared memory."""
        return self.op(tag, ch=ch, stage=stage, sub=sub, takes=takes, makes=makes)

    def frag(
        self,
        tag: int,
        *,
        ch: int = -1,
        stage: int = 0,
        sub: int = 0,
        takes: Operands = (),
        makes: Sequence[str] = (),
    ) -> PipelineBody:
        """A fragment load from shared memory to registers."""
        return self.op(tag, ch=ch, stage=stage, sub=sub, takes=takes, makes=makes)

    def compute(
        self,
        tag: int,
        *,
        stage: int = 0,
        sub: int = 0,
        takes: Operands = (),
        makes: Sequence[str] = (),
    ) -> PipelineBody:
        """A matrix instruction; ``stage`` is its row and ``sub`` its column in the grid."""
        return self.op(tag, stage=stage, sub=sub, takes=takes, makes=makes)

    def vector(
        self, tag: int, *, sub: int = 0, takes: Operands = (), makes: Sequence[str] = ()
    ) -> PipelineBody:
        """Work of the vector units: softmax, a conversion, a scale."""
        return self.op(tag, sub=sub, takes=takes, makes=makes)

    def barrier(self) -> PipelineBody:
        """A workgroup barrier."""
        self._ops.append(OpDesc.barrier())
        return self

    def op(
        self,
        tag: int,
        *,
        ch: int = -1,
        stage: int = 0,
        sub: int = 0,
        k: KOffsetKind = _NO_K,
        takes: Operands = (),
        makes: Sequence[str] = (),
    ) -> PipelineBody:
        """Any logical op. ``takes`` and ``makes`` name the values it reads and defines."""
        integer(tag, "tag", "PipelineBody", least=0, most=255)
        integer(ch, "ch", "PipelineBody", least=-1)
        integer(stage, "stage", "PipelineBody", least=0)
        integer(sub, "sub", "PipelineBody", least=0)
        member(k, KOffsetKind, "k", "PipelineBody")
        for name, value in (("takes", takes), ("makes", makes)):
            instance(value, (list, tuple), name, "PipelineBody")
        self._ops.append(
            OpDesc.logical(
                tag, channel=ch, stage=stage, subtile=sub, k_offset=k, takes=takes, makes=makes
            )
        )
        return self

    def fan(
        self, n: int, tag: int, *, ch: int = -1, stage: int = 0, k: KOffsetKind = _NO_K
    ) -> PipelineBody:
        """``n`` ops that differ only in their subtile, 0..n-1."""
        for sub in range(_count(n, "n")):
            self.op(tag, ch=ch, stage=stage, sub=sub, k=k)
        return self

    def grid(self, m: int, n: int, tag: int, *, ch: int = -1) -> PipelineBody:
        """``m * n`` ops, row by row."""
        for row in range(_count(m, "m")):
            for col in range(_count(n, "n")):
                self.op(tag, ch=ch, stage=row, sub=col)
        return self

    def extend(self, other: PipelineBody) -> PipelineBody:
        """Append all ops of another body, which stays unchanged."""
        instance(other, PipelineBody, "other", "PipelineBody.extend")
        self._ops.extend(other._ops)
        return self

    def done(self) -> list[OpDesc]:
        """The declared ops, as a new list."""
        return list(self._ops)


def _count(n: int, name: str) -> int:
    integer(n, name, "PipelineBody", least=0, why="a body holds a number of ops")
    return n


@dataclass(frozen=True, slots=True)
class Pipe:
    """A fixed sequence of ops: ``pipe(a) >> b >> c``."""

    ops: tuple[OpDesc, ...]

    def __post_init__(self) -> None:
        all_of(self.ops, OpDesc, "ops", "Pipe")

    def __rshift__(self, other: OpDesc | Pipe) -> Pipe:
        return Pipe(self.ops + (other.ops if isinstance(other, Pipe) else (other,)))

    def __len__(self) -> int:
        return len(self.ops)

    def __iter__(self) -> Iterator[OpDesc]:
        return iter(self.ops)

    def as_schedule(self, phase: Phase, offset: int = 0) -> list[ScheduleEntry]:
        """The ops as entries whose time slots start at ``offset``."""
        return entries_of(self.ops, phase, offset)

    def emit_into(self, entries: list[ScheduleEntry], phase: Phase, offset: int = 0) -> int:
        """Overwrite existing slots from ``offset`` on; returns the slot after the last."""
        end = offset + len(self.ops)
        if end > len(entries):
            raise ConfigError(
                f"the pipe of {len(self.ops)} ops does not fit",
                where=f"slots {offset}..{end - 1} of {len(entries)}",
                fix="make the entry list longer or the offset smaller",
            )
        entries[offset:end] = self.as_schedule(phase, offset)
        return end


def pipe(op: OpDesc) -> Pipe:
    """A pipe of one op."""
    return Pipe((op,))


def pipe_to_list(chain: Pipe) -> list[OpDesc]:
    """The ops of a pipe as a plain list."""
    return list(chain.ops)


def entries_of(ops: Iterable[OpDesc], phase: Phase, offset: int = 0) -> list[ScheduleEntry]:
    """Ops as entries with running time slots."""
    integer(offset, "offset", "entries", least=0)
    return [ScheduleEntry(op=op, time_slot=offset + i, phase=phase) for i, op in enumerate(ops)]


@dataclass(slots=True)
class EntryBuilder:
    """Collects the entries of one phase; the time slot of an entry is its position."""

    phase: Phase
    entries: list[ScheduleEntry] = field(default_factory=list)

    @property
    def pos(self) -> int:
        """The next time slot."""
        return len(self.entries)

    def emit(self, op: OpDesc, prefetch: bool = False) -> None:
        """Append an op."""
        self.entries.append(
            ScheduleEntry(op=op, time_slot=self.pos, phase=self.phase, is_prefetch=prefetch)
        )

    def emit_if(self, op: OpDesc, prefetch: bool = False) -> None:
        """Append an op if it is present."""
        if op.is_present():
            self.emit(op, prefetch)

    def emit_flag(self, op: OpDesc, flag: bool) -> None:
        """Append an op if ``flag``."""
        if flag:
            self.emit(op)
