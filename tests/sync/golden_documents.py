"""Schedule documents built from the golden data, as the kernels consume them."""

import json
from functools import cache
from pathlib import Path

from warploom.document import Counters, Protocol, ScheduleDocument
from warploom.document.counters import BarrierKind, RegisterWaits
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

GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = {0: "LOAD_A", 1: "LOAD_B", 2: "COMPUTE", 3: "MMA_LOAD_A", 4: "MMA_LOAD_B", 5: "MMA"}
SINGLE = {0: "LOAD_DRAM", 1: "STORE_SMEM", 2: "LOAD_FRAG", 3: "COMPUTE"}


@cache
def cases(family):
    data = json.loads((GOLDEN / f"{family}.json").read_text())
    return {c["name"]: c for c in data["cases"]}


def op_from_row(row, names):
    tag = row[0]
    return OpDesc(
        tag=ScheduleOps(tag) if tag > 127 else OpTag(tag, names[tag]),
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


def phases(outputs, names):
    return {
        key: tuple(
            ScheduleEntry(
                op=op_from_row(e[0], names), time_slot=e[1], phase=Phase[e[2]], is_prefetch=e[3]
            )
            for e in outputs[key]
        )
        for key in ("prologue", "kernel", "epilogue")
    }


def pingpong(name):
    case = cases("pingpong")[f"pingpong/{name}"]
    return _two_partition(case, staggered=True)


def fourwave(name):
    return _two_partition(cases("fourwave")[f"fourwave/{name}"], staggered=False)


def _two_partition(case, staggered):
    out, config = case["outputs"], case["inputs"]["pipeline_config"]
    protocol = Protocol(groups=1, waves_per_group=4)
    if staggered:
        protocol = Protocol(
            groups=2,
            waves_per_group=4,
            stagger_index=out["warp_stagger_index"],
            barrier_after_prologue=True,
            tail_barriers=(1, 0),
        )
    return ScheduleDocument(
        name=case["name"],
        target="mi355x",
        strategy=case["inputs"]["schedule_config"]["scheduling"],
        protocol=protocol,
        counters=Counters(
            vm_per_load=(config["vm_per_load_a"], config["vm_per_load_b"]),
            lgkm_per_load=(out["lgkm_per_load_a"], out["lgkm_per_load_b"]),
        ),
        warp_stagger_index=out["warp_stagger_index"],
        **phases(out, NAMES),
    )


def single_buffer(name):
    case = cases("single_buffer")[f"single_buffer/{name}"]
    out, hints = case["outputs"], case["inputs"].get("hints") or {}
    return ScheduleDocument(
        name=case["name"],
        target="mi355x",
        strategy="single",
        protocol=Protocol(
            groups=1,
            waves_per_group=4,
            k_tiles_per_iteration=1,
            kernel_k_base=2,
            barrier=BarrierKind.FENCING,
            register_waits=RegisterWaits.COMPILER,
        ),
        counters=Counters(
            vm_per_load=(hints.get("a_loads_per_thread", 2) * 2, 4), lgkm_per_load=(4, 4)
        ),
        warp_stagger_index=out["warp_stagger_index"],
        **phases(out, SINGLE),
    )
