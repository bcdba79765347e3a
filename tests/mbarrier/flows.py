"""Declared dataflow of the hand-made kernels' documents, as their texts state it."""

from __future__ import annotations

from dataclasses import replace

from warploom.ir.dataflow import Flow, FlowOp, FlowOperand, Home, When
from warploom.ir.mbarrier_dialect import BulkStore, Compute, Load, RolesDocument


def of(value, back=0, before=None, zero_first=False):
    return FlowOperand(value=value, back=back, before=before, zero_first=zero_first)


def entries(document: RolesDocument, role: str):
    return [e for _, es in document.program(role).phases() for e in es]


def gemm_flow(document: RolesDocument) -> RolesDocument:
    """``acc += a @ b.T`` in the loop, converted and stored in pieces after it."""
    ops, homes = [], []
    loads = dict.fromkeys(
        (e.op, e.ring, e.part) for e in entries(document, "producer") if isinstance(e, Load)
    )
    for op, ring, part in loads:
        ops.append(FlowOp(name=op, role="producer", results=(part,), line="gemm.py:6"))
        homes.append(Home(value=part, place=f"{ring}.{part}"))
    read = tuple(of(part) for _, _, part in loads)
    ops.append(
        FlowOp(
            name="mma",
            role="consumer",
            operands=(*read, of("sum", 1)),
            results=("sum",),
            line="gemm.py:7",
        )
    )
    homes.append(Home(value="sum", place="acc"))
    consumer = entries(document, "consumer")
    for e in consumer:
        if isinstance(e, Compute):
            made = tuple(f"c{'_'.join(map(str, e.args))}" for _ in e.fills)
            ops.append(
                FlowOp(
                    name=e.op,
                    role="consumer",
                    args=e.args,
                    when=When.TAIL,
                    operands=(of("sum"),),
                    results=made,
                    stores=not made,
                    line="gemm.py:8",
                )
            )
            homes += [
                Home(value=v, place=f"{c.buffer}#{c.copy}")
                for v, c in zip(made, e.fills, strict=True)
            ]
        elif isinstance(e, BulkStore):
            ops.append(
                FlowOp(
                    name=e.op,
                    role="consumer",
                    args=e.args,
                    when=When.TAIL,
                    operands=(of(f"c{'_'.join(map(str, e.args))}"),),
                    stores=True,
                    line="gemm.py:8",
                )
            )
    return replace(document, flow=Flow(ops=tuple(ops), homes=tuple(homes)))
