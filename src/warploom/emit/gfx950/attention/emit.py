"""The way of a text of two products through this back end: schedule, emit, compile, gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warploom.document import ScheduleDocument
from warploom.emit.gfx950.attention.lower import attention_ir
from warploom.emit.gfx950.attention.plan import AttentionPlan, attention_plan
from warploom.emit.gfx950.attention.text import AttentionText
from warploom.emit.gfx950.gate import GateReport, check_isa
from warploom.emit.gfx950.tile import GemmTile
from warploom.emit.gfx950.toolchain import compile_ir


@dataclass(frozen=True, slots=True, kw_only=True)
class EmittedAttention:
    """A kernel as IR and assembly."""

    plan: AttentionPlan
    ir: str
    assembly: str
    gate: GateReport
    sidecar: dict[str, Any]


def emit_attention(
    document: ScheduleDocument, tile: GemmTile, text: AttentionText, *, insist: bool = True
) -> EmittedAttention:
    """Emit, compile and check. ``insist=False`` returns a kernel that fails the gate, too."""
    plan = attention_plan(document, tile, text)
    ir = attention_ir(plan)
    open("/tmp/chipw/k.ll", "w").write(ir)
    compiled = compile_ir(ir)
    open("/tmp/chipw/k.s", "w").write(compiled.assembly)
    gate = check_isa(plan, compiled.assembly)
    if insist:
        gate.require()
    return EmittedAttention(plan=plan, ir=ir, assembly=compiled.assembly, gate=gate, sidecar={})
