"""Declared dataflow of the hand-made kernels' documents, as their texts state it."""

from __future__ import annotations

from dataclasses import replace

from warploom.document.flow import Flow, FlowOp, FlowOperand, Home, When
from warploom.document.roles import BulkStore, Compute, Load, RolesDocument


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


def attention_flow(document: RolesDocument) -> RolesDocument:
    """The softmax recurrence: running maximum ``m``, sum ``l``, output ``o``."""
    ops, homes = [], []
    for e in entries(document, "producer"):
        if isinstance(e, Load):
            when = When.HEAD if e.op.startswith("load_q") else When.LOOP
            value = f"{e.ring}{e.part}"
            ops.append(FlowOp(name=e.op, role="producer", when=when, results=(value,)))
            homes.append(Home(value=value, place=f"{e.ring}.{e.part}"))
    parts = {r.name: [p.name for p in r.parts] for r in document.rings}

    def slots(ring):
        return tuple(of(f"{ring}{part}") for part in parts[ring])

    def op(name, operands, results, when=When.LOOP, **more):
        for value, home in results:
            homes.append(Home(value=value, place=home))
        made = tuple(v for v, _ in results)
        ops.append(
            FlowOp(name=name, role="consumer", when=when, operands=operands, results=made, **more)
        )

    held = any(isinstance(e, Compute) and e.op == "fetch_q" for e in entries(document, "consumer"))
    op("start_tile", (), (("o0", "o"), ("m0", "m"), ("l0", "l")), When.HEAD)
    if held:
        op("fetch_q", slots("Q"), (("q", "q"),), When.HEAD)
    query = (of("q"),) if held else slots("Q")
    op("qk", (*query, *slots("K")), (("scores", "s"),))
    op(
        "max",
        (of("scores"), of("top", 1, "m0")),
        (("scores2", "s"), ("top", "m"), ("keep", "a")),
        line="attention.py:12",
    )
    op(
        "exp",
        (of("scores2"), of("top"), of("keep"), of("total", 1, "l0")),
        (("weights", "s"), ("total", "l")),
        line="attention.py:14",
    )
    op("cvt", (of("weights"),), (("packed", "p"),), line="attention.py:16")
    op("rescale", (of("out", 1, "o0"), of("keep")), (("kept", "o"),), line="attention.py:16")
    op(
        "pv",
        (of("packed"), *slots("V"), of("kept", zero_first=True)),
        (("out", "o"),),
        line="attention.py:16",
    )
    op("finish_rows", (of("total"), of("top")), (("rows", "l"),), When.TAIL)
    op("store_o", (of("out"), of("rows")), (), When.TAIL, stores=True)
    return replace(document, flow=Flow(ops=tuple(ops), homes=tuple(homes)))
