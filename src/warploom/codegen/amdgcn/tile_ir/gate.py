"""What the gate compares machine code with: the pipelined loops of a module, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from warploom.dataclass import dataclass
from warploom.ir import ScheduleDocument
from warploom.ir.schedule_ops import OpDesc
from warploom.ir.wave_documents import pipeline_document
from warploom.ir.waves import (
    CopyToLds,
    Instruction,
    Merge,
    Mfma,
    Pipeline,
    ReadLds,
    Step,
    Store,
    WriteLds,
    instructions,
)

Kinds = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedLoop:
    """A scheduled loop as the gate asks it; ``kinds``: instructions of each data op."""

    document: ScheduleDocument
    kinds: Mapping[tuple[str, int], Kinds]
    lds_bytes: int = 0
    unused_reads: tuple[tuple[int, int], ...] = ()
    tail_reads: bool = False

    def instructions(self, op: OpDesc) -> list[tuple[str, int]]:
        """Instruction classes and counts of a data op."""
        return list(self.kinds[op.name, op.subtile])


def gated_loop(loop: Pipeline, target: str) -> GatedLoop:
    """What the gate compares the code of a loop with."""
    return GatedLoop(document=pipeline_document(loop, target, loop.name), kinds=kinds_of(loop))


def gated_from(document: ScheduleDocument, loop: Mapping[str, Any]) -> GatedLoop:
    """A loop of a sidecar, to compare code with."""
    kinds = {
        (name, i): tuple((str(kind), int(count)) for kind, count in found)
        for name, each in loop["instructions"].items()
        for i, found in enumerate(each)
    }
    return GatedLoop(document=document, kinds=kinds)


def loop_sidecar(loop: Pipeline) -> dict[str, Any]:
    """What the gate and readers of a kernel's files need of a loop, as JSON-ready values."""
    kinds: dict[str, list[list[list[Any]]]] = {}
    for (name, _), found in sorted(kinds_of(loop).items()):
        kinds.setdefault(name, []).append([list(f) for f in found])
    protocol = loop.protocol
    return {
        "schedule": loop.name,
        "axis": loop.axis,
        "steps": protocol.kernel_k_base + 2 * protocol.k_tiles_per_iteration + 1,
        "instructions": kinds,
        "copies": {str(r.channel): r.stages for r in sorted(loop.rings, key=lambda r: r.channel)},
    }


def kinds_of(loop: Pipeline) -> dict[tuple[str, int], Kinds]:
    """The memory and matrix instructions of every data op of a loop."""
    result: dict[tuple[str, int], Kinds] = {}
    for phase in (loop.prologue, loop.kernel, loop.epilogue):
        for step in phase:
            if isinstance(step, Step):
                counted: dict[str, int] = {}
                for kind in _kinds(step):
                    counted[kind] = counted.get(kind, 0) + 1
                result[step.name, step.number] = tuple(counted.items())
    return result


def _kinds(step: Step) -> Iterator[str]:
    for one in instructions(step.body):
        kind = _kind(one)
        if kind:
            yield kind


def _kind(one: Instruction) -> str:  # noqa: PLR0911 (one a kind)
    match one:
        case CopyToLds():
            return "dma"
        case ReadLds(turned=True):
            return "ds_read_tr"
        case ReadLds():
            return "ds_read" if one.kind.bits == 128 else f"ds_read_b{one.kind.bits}"
        case WriteLds():
            return f"ds_write_b{one.kind.bits}"
        case Mfma():
            return "mfma"
        case Merge():
            return f"global_atomic_add_{one.word}"
        case Store():
            return "store"
        case _:
            return ""
