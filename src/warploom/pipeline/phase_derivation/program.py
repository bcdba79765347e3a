"""Prologue and epilogue: of one buffer by recipe, of two from the kernel's program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from warploom.dataclass import dataclass
from warploom.errors import ConfigError, PhaseError
from warploom.ir.schedule_ops import (
    DepEdge,
    KOffsetKind,
    OpDesc,
    OpRole,
    Phase,
    ScheduleEntry,
    ScheduleOps,
)
from warploom.pipeline.block_expand.program import PipelineProgram
from warploom.pipeline.block_expand.spec import MMABlockSpec
from warploom.pipeline.body import EntryBuilder, entries_of
from warploom.pipeline.config.pipeline import PipelineConfig
from warploom.pipeline.config.schedule import ScheduleConfig


class PhaseAction(Enum):
    """What a recipe step does."""

    EMIT = 0
    BARRIER = 1
    FENCE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseStep:
    """One step: emit matching ops of the body, or a barrier, or a scheduler fence."""

    action: PhaseAction
    match_role: OpRole = OpRole.NONE
    match_subtile: int = -1
    exclude_lc: bool = False
    match_lc_only: bool = False
    match_all: bool = False

    @classmethod
    def emit(
        cls,
        role: OpRole,
        *,
        subtile: int = -1,
        exclude_lc: bool = False,
        match_lc_only: bool = False,
        match_all: bool = False,
    ) -> PhaseStep:
        """Emit the first (or all) ops of a role."""
        return cls(
            action=PhaseAction.EMIT,
            match_role=role,
            match_subtile=subtile,
            exclude_lc=exclude_lc,
            match_lc_only=match_lc_only,
            match_all=match_all,
        )

    @classmethod
    def barrier(cls) -> PhaseStep:
        """Emit a workgroup barrier."""
        return cls(action=PhaseAction.BARRIER)

    @classmethod
    def fence(cls) -> PhaseStep:
        """Emit a scheduler fence."""
        return cls(action=PhaseAction.FENCE)

    def matches(self, op: OpDesc, carried: bool) -> bool:
        """Whether this step emits ``op``."""
        return (
            op.role is self.match_role
            and self.match_subtile in (-1, op.subtile)
            and not (self.exclude_lc and carried)
            and not (self.match_lc_only and not carried)
        )


_LOAD, _STORE = OpRole.GLOBAL_LOAD, OpRole.SHARED_STORE
_FRAG, _MMA = OpRole.FRAGMENT_LOAD, OpRole.COMPUTE

SINGLE_BUFFER_PROLOGUE = (
    PhaseStep.emit(_LOAD),
    PhaseStep.emit(_STORE),
    PhaseStep.barrier(),
    PhaseStep.emit(_LOAD),
    PhaseStep.emit(_FRAG, match_lc_only=True),
    PhaseStep.fence(),
)
SINGLE_BUFFER_EPILOGUE = (
    PhaseStep.fence(),
    PhaseStep.emit(_FRAG, exclude_lc=True, match_all=True),
    PhaseStep.barrier(),
    PhaseStep.emit(_STORE),
    PhaseStep.emit(_MMA, match_all=True),
    PhaseStep.fence(),
    PhaseStep.barrier(),
    PhaseStep.emit(_FRAG, match_all=True),
    PhaseStep.emit(_MMA, match_all=True),
    PhaseStep.fence(),
)


def single_buffer_prologue_recipe() -> list[PhaseStep]:
    """The steps of ``default_prologue``."""
    return [*SINGLE_BUFFER_PROLOGUE]


def single_buffer_epilogue_recipe() -> list[PhaseStep]:
    """The steps of ``default_epilogue``."""
    return [*SINGLE_BUFFER_EPILOGUE]


def apply_phase_recipe(
    body: Sequence[OpDesc], steps: Sequence[PhaseStep], config: PipelineConfig, phase: Phase
) -> list[ScheduleEntry]:
    """Walk the steps; each emits its matches in body order."""
    out = EntryBuilder(phase)
    for step in steps:
        match step.action:
            case PhaseAction.BARRIER:
                out.emit(OpDesc.barrier())
            case PhaseAction.FENCE:
                out.emit(OpDesc.schedule_barrier())
            case PhaseAction.EMIT:
                selector = config.loop_carried.selector
                found = [op for op in body if step.matches(op, op.subtile == selector)]
                for op in found if step.match_all else found[:1]:
                    out.emit(op)
    return out.entries


def whole(recipe: Sequence[PhaseStep]) -> tuple[PhaseStep, ...]:
    """A recipe that emits all ops a step matches: every load and store of a body."""
    return tuple(replace(step, match_all=True) for step in recipe)


def default_prologue(
    body: Sequence[OpDesc], config: PipelineConfig, *, first_only: bool = True
) -> list[ScheduleEntry]:
    """Load and store the first tile, load the second, read the loop-carried fragment.

    ``first_only``: of several loads or stores the first, as in the reference; compilation keeps all
    of them, unless ``SyncPolicy.REFERENCE`` asks for the letter.
    """
    recipe = SINGLE_BUFFER_PROLOGUE if first_only else whole(SINGLE_BUFFER_PROLOGUE)
    return apply_phase_recipe(body, recipe, config, Phase.PROLOGUE)


def default_kernel(body: Sequence[OpDesc]) -> list[ScheduleEntry]:
    """The body as it is."""
    return entries_of(body, Phase.KERNEL)


def default_epilogue(
    body: Sequence[OpDesc], config: PipelineConfig, *, first_only: bool = True
) -> list[ScheduleEntry]:
    """Finish the tile in LDS, then store, read and compute the last one.

    ``first_only`` as in ``default_prologue``.
    """
    recipe = SINGLE_BUFFER_EPILOGUE if first_only else whole(SINGLE_BUFFER_EPILOGUE)
    return apply_phase_recipe(body, recipe, config, Phase.EPILOGUE)


_ABSENT = OpDesc.none()


def derive_prologue_from_program(
    program: PipelineProgram,
    config: PipelineConfig,
    sched: ScheduleConfig | None = None,
    bootstrap: Sequence[OpDesc] = (),
) -> list[ScheduleEntry]:
    """Fill every stage with the kernel's prefetches, then drain fully or per bootstrap fragment.

    Stage 0 lands first, so that the first partition can start; the other stages follow together.
    """
    partial_drain = (sched or ScheduleConfig()).partial_prologue_drain
    out = EntryBuilder(Phase.PROLOGUE)
    first, others = _prologue_loads(program, config)
    for op in first:
        out.emit(op)
    if not partial_drain:
        out.emit(OpDesc.wait_vm(0))
        out.emit(OpDesc.barrier())
    for op in others:
        out.emit(op)
    if partial_drain:
        _emit_bootstrap(out, [op.vm_cost for op in (*first, *others)], bootstrap)
    else:
        out.emit(OpDesc.wait_vm(0))
    return out.entries


def _prologue_loads(
    program: PipelineProgram, config: PipelineConfig
) -> tuple[list[OpDesc], list[OpDesc]]:
    """Prefetches of stage 0, and of the other stages in stage order, as prologue loads."""
    loads = [op for block in program.blocks for op, prefetch in block.loads if prefetch]
    stages = {
        stage: [op for op in loads if op.stage == stage] for stage in {x.stage for x in loads}
    }
    fixed = {0: KOffsetKind.K0, 1: KOffsetKind.K1}
    made = {
        stage: [_prologue_load(op, fixed.get(stage, op.k_offset), config) for op in ops]
        for stage, ops in stages.items()
    }
    return made.pop(0, []), [op for stage in sorted(made) for op in made[stage]]


def _prologue_load(load: OpDesc, k_offset: KOffsetKind, config: PipelineConfig) -> OpDesc:
    """The load with its own offset and cost; channel and registers stay unset, as documented."""
    return OpDesc(
        tag=load.tag,
        stage=load.stage,
        subtile=load.subtile,
        k_offset=k_offset,
        vm_cost=config.vm_per_channel(load.channel),
        resource=load.resource,
        latency=load.latency,
        role=load.role,
    )


def _emit_bootstrap(out: EntryBuilder, units: Sequence[int], bootstrap: Sequence[OpDesc]) -> None:
    if len(bootstrap) > len(units):
        raise PhaseError(
            f"{len(bootstrap)} bootstrap fragments for {len(units)} prefetches",
            where=", ".join(op.label() for op in bootstrap[len(units) :]),
            why="the i-th bootstrap fragment reads what the i-th prefetch loaded",
            fix="return at most one bootstrap fragment per prologue load",
        )
    outstanding = sum(units)
    for op, landed in zip(bootstrap, units, strict=False):
        outstanding -= landed
        out.emit(OpDesc.wait_vm(outstanding))
        out.emit(OpDesc.barrier())
        out.emit(op)


def derive_epilogue_from_program(
    program: PipelineProgram, config: PipelineConfig
) -> list[ScheduleEntry]:
    """The kernel's blocks without prefetches, with full drains; MMAs fuse where nothing is left."""
    size = config.blocks_per_partition()
    drained: list[MMABlockSpec] = []
    for p in range(config.num_partitions):
        drained += _drained(program.blocks[p * size : (p + 1) * size])
    if drained:
        drained[-1] = replace(drained[-1], pre_sync=_ABSENT)
    out = EntryBuilder(Phase.EPILOGUE)
    for block in drained:
        block.expand(out)
    out.emit(OpDesc.barrier())
    return out.entries


def _drained(blocks: Sequence[MMABlockSpec]) -> list[MMABlockSpec]:
    first = next((i for i, b in enumerate(blocks) if any(f for _, f in b.loads)), len(blocks))
    out, i = [], 0
    while i < len(blocks):
        block = _drained_block(blocks[i], drain=i >= first)
        following = blocks[i + 1] if i + 1 < len(blocks) else None
        if following and not following.fragments and all(f for _, f in following.loads):
            block = replace(block, fused_mma=following.mma)
            i += 1
        out.append(block)
        i += 1
    return out


def _drained_block(block: MMABlockSpec, *, drain: bool) -> MMABlockSpec:
    return (
        MMABlockSpec(
            mma=block.mma,
            entry_wait_lgkm=OpDesc.wait_lgkm(0),
            pre_sync=OpDesc.wait_vm(0) if drain else _ABSENT,
            pre_mma_barrier=block.pre_mma_barrier,
            pre_mma_set_prio=block.pre_mma_set_prio,
            post_mma_barrier=block.post_mma_barrier,
            post_mma_set_prio=block.post_mma_set_prio,
            post_barrier_lgkm=block.post_barrier_lgkm,
        )
        .with_fragments(block.fragments)
        .with_loads([(op, False) for op, prefetch in block.loads if not prefetch])
    )


def default_warp_stagger(prologue: Sequence[ScheduleEntry]) -> int:
    """An index after the prologue: no stagger."""
    return len(prologue) + 1


def default_warp_stagger_double_buffer(body: Sequence[OpDesc]) -> int:
    """After the prologue's stage-0 loads."""
    return sum(op.role is OpRole.GLOBAL_LOAD and op.is_prefetch() and op.stage == 0 for op in body)


def warp_stagger_index(
    config: PipelineConfig, body: Sequence[OpDesc], prologue: Sequence[ScheduleEntry]
) -> int:
    """The prologue entry before which later wave groups execute an extra barrier."""
    rule = config.warp_stagger
    if not rule.enabled:
        return default_warp_stagger(prologue)
    if rule.compute_from_body:
        return default_warp_stagger_double_buffer(body)
    if rule.fixed_amount > len(prologue):
        raise ConfigError(
            f"fixed_amount = {rule.fixed_amount} lies after the prologue's end",
            where="WarpStaggerRule.fixed_amount",
            why=f"it is the index of one of the prologue's {len(prologue)} entries, or their end",
            fix=f"0..{len(prologue)}, WarpStaggerRule.auto() or WarpStaggerRule.none()",
        )
    return rule.fixed_amount


def default_kernel_deps_double_buffer(
    kernel: Sequence[ScheduleEntry], config: PipelineConfig
) -> list[DepEdge]:
    """Order edges inside each partition's slice: sync to first MMA, then the first three MMAs."""
    if config.num_partitions <= 0:
        return []
    size = len(kernel) // config.num_partitions
    edges = []
    for start in range(0, size * config.num_partitions, max(size, 1)):
        ops = [e.op for e in kernel[start : start + size]]
        mmas = [start + i for i, op in enumerate(ops) if op.role is OpRole.COMPUTE]
        if not mmas:
            continue
        before = range(mmas[0] - start)
        syncs = [start + i for i in before if ops[i].role is OpRole.SYNC]
        waits = [start + i for i, op in enumerate(ops) if op.tag == ScheduleOps.WAIT_LGKM]
        edges += [DepEdge.flow(i, mmas[0]) for i in (*syncs[:1], *waits[:1])]
        if len(mmas) >= 3:
            edges += [DepEdge.flow(mmas[0], mmas[1]), DepEdge.flow(mmas[1], mmas[2])]
    return edges
