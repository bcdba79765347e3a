"""Schedule documents built from the reference's recorded outputs, with the protocols that consume
them. They are facts: judging them does not involve our compiler."""

import json
from functools import cache
from pathlib import Path

from warploom.document import BarrierKind, Counters, Protocol, RegisterWaits, ScheduleDocument
from warploom.document.ops import (
    KOffsetKind,
    OpDesc,
    OpRole,
    OpTag,
    Phase,
    ResourceKind,
    ScheduleEntry,
    ScheduleOps,
)

GOLDEN = Path(__file__).parent.parent / "golden"
DOUBLE = {
    0: "LOAD_A",
    1: "LOAD_B",
    2: "COMPUTE",
    3: "MMA_LOAD_A",
    4: "MMA_LOAD_B",
    5: "MMA",
}
SINGLE = {0: "LOAD_DRAM", 1: "STORE_SMEM", 2: "LOAD_FRAG", 3: "COMPUTE"}


@cache
def cases(family):
    return {c["name"]: c for c in json.loads((GOLDEN / f"{family}.json").read_text())["cases"]}


def op(row, names):
    if row is None:
        return OpDesc.none()
    tag = row[0]
    return OpDesc(
        tag=ScheduleOps(tag) if tag > 127 else OpTag(tag, names.get(tag, f"OP_{tag}")),
        stage=row[1],
        subtile=row[2],
        k_offset=KOffsetKind[row[3]],
        vm_cost=row[4],
        lgkm_cost=row[5],
        wait_value=row[6],
        resource=ResourceKind[row[7]],
        latency=row[8],
        role=OpRole[row[9]],
        channel=row[10],
        vgpr_def=row[11],
        vgpr_kill=row[12],
    )


def document(case, protocol, counters, names):
    def entries(phase):
        return tuple(
            ScheduleEntry(op=op(o, names), time_slot=t, phase=Phase[p], is_prefetch=f)
            for o, t, p, f in case["outputs"][phase]
        )

    return ScheduleDocument(
        name=case["name"],
        target="mi355x",
        strategy="reference",
        protocol=protocol,
        counters=counters,
        prologue=entries("prologue"),
        kernel=entries("kernel"),
        epilogue=entries("epilogue"),
        warp_stagger_index=case["outputs"]["warp_stagger_index"],
    )


def counters(case, out="outputs"):
    c = case["outputs"]
    config = c["config"]
    return Counters(
        vm_per_load=(config["vm_per_load_a"], config["vm_per_load_b"]),
        lgkm_per_load=(c["lgkm_per_load_a"], c["lgkm_per_load_b"]),
    )


def ping_pong(name):
    case = cases("pingpong")[name]
    protocol = Protocol(
        groups=2,
        waves_per_group=4,
        stagger_index=case["outputs"]["warp_stagger_index"],
        barrier_after_prologue=True,
        tail_barriers=(1, 0),
    )
    return document(case, protocol, counters(case), DOUBLE)


def four_wave(name, *, epilogue_drain=False):
    case = cases("fourwave")[name]
    return document(
        case, Protocol(waves_per_group=4, epilogue_drain=epilogue_drain), counters(case), DOUBLE
    )


def single_buffer(name):
    case = cases("single_buffer")[name]
    protocol = Protocol(
        k_tiles_per_iteration=1,
        kernel_k_base=2,
        barrier=BarrierKind.FENCING,
        register_waits=RegisterWaits.COMPILER,
    )
    return document(case, protocol, counters(case), SINGLE)


def find_ping_pong(scheduling, max_globals, *, lgkm=None, **options):
    """The first recorded ping-pong case with these settings and otherwise ordinary ones."""
    for name, case in cases("pingpong").items():
        i = case["inputs"]
        config, sched = i["pipeline_config"], i["schedule_config"]
        if (
            sched["scheduling"] == scheduling
            and config["block_sizing"]["max_globals"] == max_globals
            and (lgkm is None or (i["lgkm_a"], i["lgkm_b"]) == lgkm)
            and all(sched.get(k, config.get(k)) == v for k, v in options.items())
        ):
            return name
    raise LookupError((scheduling, max_globals, lgkm, options))
