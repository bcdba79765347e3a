"""How hardware runs the declared ops: tags, costs, profiles, and those of AMD's MI355X."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from types import MappingProxyType

from warploom.errors import CostModelError
from warploom.ir.machine_costs import MachineCosts
from warploom.ir.schedule_ops import MAX_KERNEL_TAG, OpDesc, OpRole, ResourceKind, tag_name
from warploom.ir.validation import all_of, instance, integer, judge
from warploom.pipeline.body import Pipe
from warploom.pipeline.config.pipeline import (
    BlockSizing,
    FragOrder,
    LoopCarriedSpec,
    PipelineConfig,
    WarpStaggerRule,
)
from warploom.targets.seed_model import seed_model


class PingPongOps(IntEnum):
    """Ops of the ping-pong kernel."""

    LOAD_A = 0
    LOAD_B = 1
    COMPUTE = 2
    MMA_LOAD_A = 3
    MMA_LOAD_B = 4
    MMA = 5


class FourWaveOps(IntEnum):
    """Ops of the 4-wave kernel; the same numbers as ping-pong."""

    LOAD_A = 0
    LOAD_B = 1
    COMPUTE = 2
    MMA_LOAD_A = 3
    MMA_LOAD_B = 4
    MMA = 5


class DefaultMatmulOps(IntEnum):
    """Ops of the single-buffer kernel."""

    LOAD_DRAM = 0
    STORE_SMEM = 1
    LOAD_FRAG = 2
    COMPUTE = 3


@dataclass(frozen=True, slots=True)
class OpCost:
    """What one op costs: its unit, latency in cycles, role, registers defined and freed."""

    resource: ResourceKind
    latency: int
    role: OpRole
    vgpr_def: int = 0
    vgpr_kill: int = 0

    def __post_init__(self) -> None:
        judge(self, error=CostModelError)

    @classmethod
    def none(cls) -> OpCost:
        """No cost, no role."""
        return cls(ResourceKind.NONE, 0, OpRole.NONE)


class TargetCostModel:
    """Costs by kernel tag (0..127). Immutable: ``with_cost`` returns a new model."""

    __slots__ = ("_costs",)

    def __init__(self, costs: Mapping[int, OpCost] | None = None) -> None:
        if costs is not None:
            instance(costs, Mapping, "costs", "TargetCostModel", error=CostModelError)
        for tag, cost in (costs or {}).items():
            _check_tag(tag, "TargetCostModel.costs")
            instance(cost, OpCost, f"costs[{int(tag)}]", "TargetCostModel", error=CostModelError)
        self._costs: Mapping[int, OpCost] = MappingProxyType(dict(costs or {}))

    @property
    def costs(self) -> Mapping[int, OpCost]:
        """The registered costs."""
        return self._costs

    def with_cost(self, tag: int, cost: OpCost) -> TargetCostModel:
        """This model with one cost added or replaced."""
        _check_tag(tag)
        return TargetCostModel({**self._costs, tag: cost})

    def set_cost(self, tag: int, cost: OpCost) -> None:
        """Add or replace one cost in place, as the documented builder does."""
        _check_tag(tag)
        instance(cost, OpCost, "cost", "TargetCostModel.set_cost", error=CostModelError)
        self._costs = MappingProxyType({**self._costs, tag: cost})

    def get_cost(self, tag: int) -> OpCost:
        """The cost of a tag; ``OpCost.none()`` if it is not registered."""
        _check_tag(tag)
        return self._costs.get(tag, OpCost.none())

    def price(self, op: OpDesc) -> OpCost:
        """The cost of a declared op; raises if the model does not know it."""
        _check_tag(op.tag)
        try:
            return self._costs[op.tag]
        except KeyError:
            known = ", ".join(f"{tag_name(t)} ({int(t)})" for t in sorted(self._costs)) or "nothing"
            raise CostModelError(
                f"the cost model does not know {op.name} (tag {int(op.tag)})",
                where=op.label(),
                why="an unpriced op has no unit, latency or role, so it would silently vanish",
                fix=f"add it with set_cost; known: {known}",
            ) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TargetCostModel) and dict(self._costs) == dict(other._costs)

    __hash__ = None  # type: ignore[assignment]  # set_cost changes it

    def __repr__(self) -> str:
        return f"TargetCostModel({dict(self._costs)!r})"


def _check_tag(tag: int, owner: str = "TargetCostModel") -> None:
    integer(tag, "tag", owner, error=CostModelError)
    if not 0 <= tag <= MAX_KERNEL_TAG:
        raise CostModelError(
            f"tag {int(tag)} is not a kernel tag",
            where=f"{owner}: {tag_name(tag)}",
            why="tags 128 and up belong to barriers, waits and hints, which have no cost",
            fix=f"use a tag in 0..{MAX_KERNEL_TAG}",
        )


def annotate_ops(ops: Iterable[OpDesc], model: TargetCostModel) -> list[OpDesc]:
    """Price every kernel op; infrastructure ops pass through. Idempotent."""
    instance(model, TargetCostModel, "model", "annotate_ops", error=CostModelError)
    instance(ops, Iterable, "ops", "annotate_ops")
    ops = list(ops)
    all_of(ops, OpDesc, "ops", "annotate_ops")
    return [_annotated(op, model, registers=True) for op in ops]


def annotate_pipe(pipe: Pipe, model: TargetCostModel) -> Pipe:
    """Price the ops of a pipe, leaving their register numbers as they are."""
    return Pipe(tuple(_annotated(op, model, registers=False) for op in pipe))


def _annotated(op: OpDesc, model: TargetCostModel, *, registers: bool) -> OpDesc:
    if op.tag > MAX_KERNEL_TAG:
        return op
    cost = model.price(op)
    priced = replace(op, resource=cost.resource, latency=cost.latency, role=cost.role)
    if registers:
        priced = replace(priced, vgpr_def=cost.vgpr_def, vgpr_kill=cost.vgpr_kill)
    return priced


@dataclass(frozen=True, slots=True)
class TargetProfile:
    """A target: its cost model, the pipeline structure it runs best, and its machine.

    ``machine`` has real cycles, shared units, counter limits, storage and clock. Everything takes
    the target: ``compile_schedule`` through a schedule, which checks that buffers fit and puts the
    machine into the document; ``simulate``, ``timeline``, back ends and commands, which name it.
    Without a machine they count the latencies of the cost model, and say so.
    """

    cost_model: TargetCostModel
    pipeline: PipelineConfig
    name: str = "custom"
    machine: MachineCosts | None = None

    def __post_init__(self) -> None:
        judge(self)
        if self.machine is not None:
            instance(self.machine, MachineCosts, "machine", "TargetProfile")


_SEED = seed_model()
_DRAM = OpCost(ResourceKind.GLOBAL_MEM, _SEED.load, OpRole.GLOBAL_LOAD)


def mi355x_cost_model() -> TargetCostModel:
    """Costs of the double-buffer kernels (ping-pong and 4-wave share their tags)."""
    fragment = OpCost(ResourceKind.LDS, _SEED.fragment, OpRole.FRAGMENT_LOAD, vgpr_def=8)
    mma = OpCost(ResourceKind.MMA_UNIT, _SEED.mma, OpRole.COMPUTE, vgpr_def=4)
    return TargetCostModel(
        {
            PingPongOps.LOAD_A: _DRAM,
            PingPongOps.LOAD_B: _DRAM,
            PingPongOps.COMPUTE: mma,
            PingPongOps.MMA_LOAD_A: fragment,
            PingPongOps.MMA_LOAD_B: fragment,
            PingPongOps.MMA: mma,
        }
    )


def mi355x_single_buffer_cost_model() -> TargetCostModel:
    """Costs of the single-buffer kernel."""
    return TargetCostModel(
        {
            DefaultMatmulOps.LOAD_DRAM: _DRAM,
            DefaultMatmulOps.STORE_SMEM: OpCost(
                ResourceKind.LDS, _SEED.fragment, OpRole.SHARED_STORE
            ),
            DefaultMatmulOps.LOAD_FRAG: OpCost(
                ResourceKind.LDS, _SEED.fragment, OpRole.FRAGMENT_LOAD, vgpr_def=4
            ),
            DefaultMatmulOps.COMPUTE: OpCost(
                ResourceKind.MMA_UNIT, _SEED.block, OpRole.COMPUTE, vgpr_def=16
            ),
        }
    )


def mi355x_double_buffer(
    vm_per_load_a: int = 4, vm_per_load_b: int = 4, max_globals: int = 1, *, depth: int = 2
) -> PipelineConfig:
    """A 2x2 MMA grid over two buffers, or over a deeper ring; one K-partition a buffer."""
    integer(depth, "depth", "mi355x_double_buffer", least=2)
    return PipelineConfig(
        depth=depth,
        prefetch=1,
        drain_passes=depth,
        prologue_fill=1,
        loop_carried=LoopCarriedSpec.none(),
        block_sizing=BlockSizing(4, 2, max_globals),
        frag_order=FragOrder.b_first(),
        m_mmas=2,
        n_mmas=2,
        num_partitions=depth,
        mma_serial=True,
        mma_latency=_SEED.mma,
        vm_per_load_a=vm_per_load_a,
        vm_per_load_b=vm_per_load_b,
        ch0_match_field=0,
        ch1_match_field=1,
        warp_stagger=WarpStaggerRule.auto(),
    )


def mi355x_single_buffer() -> PipelineConfig:
    """One buffer, one partition; the fragment of subtile 0 crosses the loop boundary."""
    return PipelineConfig(
        depth=1,
        prefetch=1,
        drain_passes=2,
        prologue_fill=0,
        loop_carried=LoopCarriedSpec.fragment_zero(),
        block_sizing=BlockSizing.default_2x2(),
        frag_order=FragOrder.b_first(),
        m_mmas=2,
        n_mmas=2,
        num_partitions=1,
        mma_serial=True,
        mma_latency=_SEED.mma,
        vm_per_load_a=4,
        vm_per_load_b=4,
        ch0_match_field=0,
        ch1_match_field=1,
        warp_stagger=WarpStaggerRule.none(),
    )


def mi355x_target(
    vm_per_load_a: int = 4, vm_per_load_b: int = 4, max_globals: int = 1, *, depth: int = 2
) -> TargetProfile:
    """The double-buffer target (or a deeper ring): cost model and structure in one call."""
    return TargetProfile(
        mi355x_cost_model(),
        mi355x_double_buffer(vm_per_load_a, vm_per_load_b, max_globals, depth=depth),
        name="mi355x",
    )


def mi355x_single_buffer_target() -> TargetProfile:
    """The single-buffer target."""
    return TargetProfile(
        mi355x_single_buffer_cost_model(), mi355x_single_buffer(), name="mi355x-single"
    )


@dataclass(frozen=True, slots=True)
class AMDScheduleHints:
    """What the instruction-group hints of the single-buffer kernel are computed from."""

    m_mmas: int
    n_mmas: int
    k_mmas: int
    mma_m: int
    mma_n: int
    a_loads_per_thread: int
    b_loads_per_thread: int

    def __post_init__(self) -> None:
        judge(self)
