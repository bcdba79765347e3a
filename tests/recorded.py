"""The reference's recorded outputs as schedule documents, with the protocols that consume them.

They are facts: judging them does not involve our compiler.
"""

import json
from functools import cache
from pathlib import Path

from warploom.ir import BarrierKind, Counters, Protocol, RegisterWaits, ScheduleDocument
from warploom.ir.schedule_ops import (
    DepEdge,
    DepKind,
    KOffsetKind,
    OpDesc,
    OpRole,
    OpTag,
    Phase,
    ResourceKind,
    ScheduleEntry,
    ScheduleOps,
)

GOLDEN = Path(__file__).parent / "golden"
DOUBLE = ("LOAD_A", "LOAD_B", "COMPUTE", "MMA_LOAD_A", "MMA_LOAD_B", "MMA")
NAMES = {
    "pingpong": DOUBLE,
    "fourwave": DOUBLE,
    "single_buffer": ("LOAD_DRAM", "STORE_SMEM", "LOAD_FRAG", "COMPUTE"),
}


@cache
def _file(family):
    return json.loads((GOLDEN / f"{family}.json").read_text())


@cache
def cases(family):
    """Inputs and outputs by name, ``pingpong/..``."""
    return {case["name"]: case for case in _file(family)["cases"]}


def _op(family, row):
    if row is None:
        return OpDesc.none()
    values = dict(zip(_file(family)["legend"]["op"], row, strict=True))
    tag, names = values.pop("tag"), NAMES[family]
    return OpDesc(
        tag=ScheduleOps(tag) if tag > 127 else OpTag(tag, names[tag]),
        k_offset=KOffsetKind[values.pop("k_offset")],
        resource=ResourceKind[values.pop("resource")],
        role=OpRole[values.pop("role")],
        **values,
    )


def _entries(family, rows):
    return tuple(
        ScheduleEntry(op=_op(family, op), time_slot=slot, phase=Phase[phase], is_prefetch=ahead)
        for op, slot, phase, ahead in rows
    )


def _protocol(family, stagger):
    if family == "pingpong":
        return Protocol(
            groups=2,
            waves_per_group=4,
            stagger_index=stagger,
            barrier_after_prologue=True,
            tail_barriers=(1, 0),
        )
    if family == "fourwave":
        return Protocol(groups=1, waves_per_group=4)
    return Protocol(
        k_tiles_per_iteration=1,
        barrier=BarrierKind.FENCING,
        register_waits=RegisterWaits.COMPILER,
    )


@cache
def recorded(family, name):
    """One schedule of the families pingpong, fourwave and single_buffer."""
    case = cases(family)[name]
    out, inputs = case["outputs"], case["inputs"]
    config = inputs.get("pipeline_config") or out["config"]
    return ScheduleDocument(
        name=name,
        target="mi355x",
        strategy=inputs.get("schedule_config", {}).get("scheduling", "IDENTITY"),
        protocol=_protocol(family, out["warp_stagger_index"]),
        counters=Counters(
            vm_per_load=(config["vm_per_load_a"], config["vm_per_load_b"]),
            lgkm_per_load=(out["lgkm_per_load_a"], out["lgkm_per_load_b"]),
        ),
        prologue=_entries(family, out["prologue"]),
        kernel=_entries(family, out["kernel"]),
        epilogue=_entries(family, out["epilogue"]),
        body=tuple(_op(family, op) for op in out.get("body", ())),
        edges=tuple(DepEdge(p, c, DepKind[k], d) for p, c, k, d in out.get("edges", ())),
        warp_stagger_index=out["warp_stagger_index"],
    )
