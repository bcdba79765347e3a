"""A new kernel's schedule from nothing: a 2 x 4 grid of MMAs, proven, simulated, written down.

python examples/wide_kernel.py [OUT.json]
"""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import IntEnum
from pathlib import Path

from warploom import (
    KOffsetKind,
    OpCost,
    OpRole,
    PipelineBody,
    PipelineSchedule,
    ResourceKind,
    ScheduleConfig,
    SchedulingStrategy,
    SyncPolicy,
    TargetCostModel,
    annotate_ops,
    compile_schedule,
    mi355x_costs,
    mi355x_double_buffer,
    simulate,
    write_schedule,
)
from warploom.pipeline.scheduling.greedy import double_buffer_reorder


class WideOps(IntEnum):
    LOAD_A = 0
    LOAD_B = 1
    FRAG_A = 2
    FRAG_B = 3
    MMA = 4


LOAD = OpCost(ResourceKind.GLOBAL_MEM, 200, OpRole.GLOBAL_LOAD)
FRAG = OpCost(ResourceKind.LDS, 20, OpRole.FRAGMENT_LOAD, vgpr_def=8)
COSTS = TargetCostModel(
    {
        WideOps.LOAD_A: LOAD,
        WideOps.LOAD_B: LOAD,
        WideOps.FRAG_A: FRAG,
        WideOps.FRAG_B: FRAG,
        WideOps.MMA: OpCost(ResourceKind.MMA_UNIT, 16, OpRole.COMPUTE, vgpr_def=4),
    }
)


def partition(p):
    k = (KOffsetKind.K0, KOffsetKind.K1)[p]
    late = (KOffsetKind.K_PREV, KOffsetKind.K0)[p]
    with PipelineBody() as body:
        body.load(WideOps.LOAD_A, ch=0, stage=1 - p, sub=1, k=late)
        body.load(WideOps.LOAD_A, ch=0, stage=p, sub=0, k=k)
        body.fan(4, WideOps.LOAD_B, ch=1, stage=p, k=k)
        body.fan(2, WideOps.FRAG_A, ch=0, stage=p)
        body.fan(4, WideOps.FRAG_B, ch=1, stage=p)
        body.grid(2, 4, WideOps.MMA)
    return body


class Wide(PipelineSchedule):
    def config(self):
        return replace(
            mi355x_double_buffer(vm_per_load_a=2, vm_per_load_b=1, max_globals=1),
            n_mmas=4,
            lgkm_per_load_a=8,
            lgkm_per_load_b=2,
        )

    def build_body(self):
        ops = PipelineBody().extend(partition(0)).extend(partition(1)).done()
        return double_buffer_reorder(annotate_ops(ops, COSTS), self.config())

    def schedule_config(self):
        return ScheduleConfig(scheduling=SchedulingStrategy.CSP)

    def sync_policy(self):
        return SyncPolicy.PROVEN_WEAKEST


def main(arguments):
    compiled = compile_schedule(Wide())
    document = compiled.document()
    sim = simulate(document, mi355x_costs(), trips=8)
    print(f"order: makespan {compiled.order.makespan}, proven least: {compiled.order.proven}")
    print(f"verdict: {compiled.report.verdict}, trip counts {compiled.report.trips_proven}")
    print(f"simulated interval: {sim.ii} cycles")
    if arguments:
        Path(arguments[0]).write_text(write_schedule(document))


if __name__ == "__main__":
    main(sys.argv[1:])
