"""Golden JSON forms <-> warploom values."""

from __future__ import annotations

from dataclasses import asdict, fields
from enum import Enum

from warploom.ir.schedule_ops import (
    DepEdge,
    DepKind,
    KOffsetKind,
    OpDesc,
    OpRole,
    ResourceKind,
    ScheduleEntry,
)
from warploom.pipeline.block_expand.program import PipelineProgram
from warploom.pipeline.block_expand.spec import MMABlockSpec
from warploom.pipeline.config.pipeline import (
    BlockSizing,
    FragOrder,
    LoopCarriedSpec,
    PipelineConfig,
    SchedulingStrategy,
    WarpStaggerRule,
)
from warploom.pipeline.config.schedule import ScheduleConfig
from warploom.pipeline.cost_model import OpCost, TargetCostModel
from warploom.pipeline.graph_builder.edges import EdgeRule

OP_FIELDS = (
    "tag",
    "stage",
    "subtile",
    "k_offset",
    "vm_cost",
    "lgkm_cost",
    "wait_value",
    "resource",
    "latency",
    "role",
    "channel",
    "vgpr_def",
    "vgpr_kill",
)
BLOCK_OPS = {
    "mma",
    "pre_op_0",
    "pre_op_1",
    "global_load",
    "global_load_1",
    "entry_wait",
    "entry_wait_lgkm",
    "pre_sync",
    "fused_mma",
}
OWN_BLOCK_FIELDS = {"more_pre_ops", "more_global_loads", "more_global_prefetch", "stated"}


def op(data):
    if data is None:
        return OpDesc.none()
    values = dict(zip(OP_FIELDS, data, strict=True))
    values["k_offset"] = KOffsetKind[values["k_offset"]]
    values["resource"] = ResourceKind[values["resource"]]
    values["role"] = OpRole[values["role"]]
    return OpDesc(**values)


def ops(data):
    return [op(item) for item in data]


def edge(data):
    return DepEdge(data[0], data[1], DepKind[data[2]], data[3])


def edges(data):
    return [edge(item) for item in data]


def pipeline_config(data):
    values = dict(data)
    carried = values["loop_carried"]
    values["loop_carried"] = LoopCarriedSpec(OpRole[carried["role"]], carried["selector"])
    values["block_sizing"] = BlockSizing(**values["block_sizing"])
    values["frag_order"] = FragOrder(**values["frag_order"])
    values["warp_stagger"] = WarpStaggerRule(**values["warp_stagger"])
    return PipelineConfig(**values)


def schedule_config(data):
    values = dict(data)
    values["scheduling"] = SchedulingStrategy[values["scheduling"]]
    return ScheduleConfig(**values)


def cost_model(rows):
    return TargetCostModel(
        {
            row[0]: OpCost(ResourceKind[row[1]], row[2], OpRole[row[3]], row[4], row[5])
            for row in rows
            if row[1:] != ["NONE", 0, "NONE", 0, 0]
        }
    )


def edge_rule(data):
    values = dict(data)
    for name, kind in (("producer_role", OpRole), ("consumer_role", OpRole)):
        values[name] = kind[values[name]]
    values["dep_kind"] = DepKind[values["dep_kind"]]
    return EdgeRule(**values)


def block(data):
    return MMABlockSpec(**{k: op(v) if k in BLOCK_OPS else v for k, v in data.items()})


def plain(value):
    """A warploom value in golden form."""
    match value:
        case OpDesc():
            return None if not value.is_present() else [plain(getattr(value, f)) for f in OP_FIELDS]
        case ScheduleEntry():
            return [plain(value.op), value.time_slot, value.phase.name, value.is_prefetch]
        case DepEdge():
            return [
                value.producer_idx,
                value.consumer_idx,
                value.dep_kind.name,
                value.loop_distance,
            ]
        case MMABlockSpec():
            return {
                f.name: plain(getattr(value, f.name))
                for f in fields(value)
                if f.name not in OWN_BLOCK_FIELDS
            }
        case PipelineConfig() | ScheduleConfig() | EdgeRule():
            return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
        case LoopCarriedSpec() | BlockSizing() | FragOrder() | WarpStaggerRule():
            return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
        case Enum():
            return value.value if isinstance(value, int) else value.name
        case list() | tuple():
            return [plain(item) for item in value]
        case dict():
            return {k: plain(v) for k, v in value.items()}
        case _:
            return value


def program(value: PipelineProgram):
    n = len(value.blocks)
    return {
        "blocks": plain(value.blocks),
        "explicit_blocks": plain(value.explicit_blocks),
        "trailing_barrier": value.trailing_barrier,
        "total_entries": value.total_entries(),
        "entry_count": [b.entry_count() for b in value.blocks],
        "mma_position": [b.mma_position() for b in value.blocks],
        "post_barrier_lgkm_position": [b.post_barrier_lgkm_position() for b in value.blocks],
        "n_ops_before_barrier_section": [b.n_ops_before_barrier_section() for b in value.blocks],
        "block_start": [value.block_start(i) for i in range(n)],
        "mma_entry": [value.mma_entry(i) for i in range(n)],
    }


def cost_rows(model: TargetCostModel, tags):
    return [
        [t, c.resource.name, c.latency, c.role.name, c.vgpr_def, c.vgpr_kill]
        for t, c in ((t, model.get_cost(t)) for t in tags)
    ]


def strategy(value):
    return asdict(value)
