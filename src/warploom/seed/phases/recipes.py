"""Single-buffer phases by recipe: which ops of the body a phase emits, in which steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from warploom.document.kinds import OpRole, Phase
from warploom.document.ops import OpDesc, ScheduleEntry
from warploom.seed.body import EntryBuilder, entries_of
from warploom.seed.config.pipeline import PipelineConfig


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

PROLOGUE_RECIPE = (
    PhaseStep.emit(_LOAD),
    PhaseStep.emit(_STORE),
    PhaseStep.barrier(),
    PhaseStep.emit(_LOAD),
    PhaseStep.emit(_FRAG, match_lc_only=True),
    PhaseStep.fence(),
)
EPILOGUE_RECIPE = (
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


def default_prologue(body: Sequence[OpDesc], config: PipelineConfig) -> list[ScheduleEntry]:
    """Load and store the first tile, load the second, read the loop-carried fragment."""
    return apply_phase_recipe(body, PROLOGUE_RECIPE, config, Phase.PROLOGUE)


def default_kernel(body: Sequence[OpDesc]) -> list[ScheduleEntry]:
    """The body as it is."""
    return entries_of(body, Phase.KERNEL)


def default_epilogue(body: Sequence[OpDesc], config: PipelineConfig) -> list[ScheduleEntry]:
    """Finish the tile in LDS, then store, read and compute the last one."""
    return apply_phase_recipe(body, EPILOGUE_RECIPE, config, Phase.EPILOGUE)
