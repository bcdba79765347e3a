"""Schedule documents for tests: the recorded reference outputs, and tiny hand-made ones."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from warploom.document import (
    BarrierKind,
    Counters,
    Protocol,
    RegisterWaits,
    ScheduleDocument,
)
from warploom.document.ops import (
    DepEdge,
    DepKind,
    KOffsetKind,
    OpDesc,
    OpRole,
    OpTag,
    Phase,
    ResourceKind,
    ScheduleEntry,
)

GOLDEN = Path(__file__).parent.parent / "golden"
NAMES = {
    "pingpong": {
        0: "LOAD_A",
        1: "LOAD_B",
        2: "COMPUTE",
        3: "MMA_LOAD_A",
        4: "MMA_LOAD_B",
        5: "MMA",
    },
    "single_buffer": {0: "LOAD_DRAM", 1: "STORE_SMEM", 2: "LOAD_FRAG", 3: "COMPUTE"},
}
NAMES["fourwave"] = NAMES["pingpong"]


def decode_op(family, values):
    fields = dict(zip(_fields(family), values, strict=True))
    tag = fields.pop("tag")
    return OpDesc(
        tag=OpTag(tag, NAMES[family][tag]) if tag in NAMES[family] else tag,
        k_offset=KOffsetKind[fields.pop("k_offset")],
        resource=ResourceKind[fields.pop("resource")],
        role=OpRole[fields.pop("role")],
        **fields,
    )


def decode_entries(family, rows):
    return tuple(
        ScheduleEntry(
            op=decode_op(family, op), time_slot=slot, phase=Phase[phase], is_prefetch=prefetch
        )
        for op, slot, phase, prefetch in rows
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
def _recorded(family):
    return json.loads((GOLDEN / f"{family}.json").read_text())


def _fields(family):
    return _recorded(family)["legend"]["op"]


def _cases(family):
    return _recorded(family)["cases"]


def case_names(family):
    return [case["name"] for case in _cases(family)]


@cache
def golden(family, name):
    """One recorded schedule of the families pingpong, fourwave and single_buffer."""
    case = next(c for c in _cases(family) if c["name"] == name)
    out, pipeline = case["outputs"], case["inputs"]["pipeline_config"]
    return ScheduleDocument(
        name=name,
        target="mi355x",
        strategy=case["inputs"].get("schedule_config", {}).get("scheduling", "IDENTITY"),
        protocol=_protocol(family, out["warp_stagger_index"]),
        counters=Counters(
            vm_per_load=(pipeline["vm_per_load_a"], pipeline["vm_per_load_b"]),
            lgkm_per_load=(out["lgkm_per_load_a"], out["lgkm_per_load_b"]),
        ),
        prologue=decode_entries(family, out["prologue"]),
        kernel=decode_entries(family, out["kernel"]),
        epilogue=decode_entries(family, out["epilogue"]),
        body=tuple(decode_op(family, op) for op in out["body"]),
        edges=tuple(DepEdge(p, c, DepKind[k], d) for p, c, k, d in out["edges"]),
        warp_stagger_index=out["warp_stagger_index"],
    )


# --- tiny documents ---------------------------------------------------------------------------


def load(stage=0, subtile=0, channel=0, latency=200, k=KOffsetKind.K0):
    return OpDesc.op(
        OpTag(channel, f"LOAD_{'AB'[channel]}"),
        ResourceKind.GLOBAL_MEM,
        latency,
        OpRole.GLOBAL_LOAD,
        channel=channel,
        stage=stage,
        subtile=subtile,
        k_offset=k,
    )


def frag(stage=0, subtile=0, channel=0, latency=20):
    return OpDesc.op(
        OpTag(3 + channel, f"MMA_LOAD_{'AB'[channel]}"),
        ResourceKind.LDS,
        latency,
        OpRole.FRAGMENT_LOAD,
        channel=channel,
        stage=stage,
        subtile=subtile,
    )


def mma(row=0, col=0, latency=16):
    return OpDesc.op(
        OpTag(5, "MMA"),
        ResourceKind.MMA_UNIT,
        latency,
        OpRole.COMPUTE,
        stage=row,
        subtile=col,
    )


def entries(ops, phase):
    return tuple(ScheduleEntry(op=op, time_slot=i, phase=phase) for i, op in enumerate(ops))


def document(
    *, prologue=(), kernel=(), epilogue=(), vm=(1, 1), lgkm=(1, 1), name="tiny", **protocol
):
    protocol = {"groups": 1, "waves_per_group": 1, **protocol}
    return ScheduleDocument(
        name=name,
        target="test",
        strategy="HAND",
        protocol=Protocol(**protocol),
        counters=Counters(vm_per_load=vm, lgkm_per_load=lgkm),
        prologue=entries(prologue, Phase.PROLOGUE),
        kernel=entries(kernel, Phase.KERNEL),
        epilogue=entries(epilogue, Phase.EPILOGUE),
    )
