"""``PipelineProgram``: the blocks of a kernel, and their expansion to entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from warploom.document.fields import all_of, instance, integer, judge
from warploom.document.kinds import OpRole, Phase
from warploom.document.ops import OpDesc, ScheduleEntry
from warploom.errors import ProgramError
from warploom.seed.blocks.spec import MMABlockSpec
from warploom.seed.body import EntryBuilder


@dataclass(frozen=True, slots=True)
class PipelineProgram:
    """Blocks in order. A non-empty explicit list replaces a block's template expansion."""

    blocks: tuple[MMABlockSpec, ...] = ()
    explicit_blocks: tuple[tuple[OpDesc, ...], ...] = ()
    trailing_barrier: bool = False
    to_the_letter: bool = False  # waits and layout as the reference has them, gaps included

    def __post_init__(self) -> None:
        judge(self)
        instance(self.explicit_blocks, (tuple, list), "explicit_blocks", "PipelineProgram")
        for i, ops in enumerate(self.explicit_blocks):
            all_of(ops, OpDesc, f"explicit_blocks[{i}]", "PipelineProgram")

    @classmethod
    def empty(cls, num_blocks: int, *, trailing_barrier: bool = False) -> PipelineProgram:
        """``num_blocks`` blocks without an MMA."""
        integer(num_blocks, "num_blocks", "PipelineProgram.empty", least=0)
        return cls(
            tuple(MMABlockSpec(mma=OpDesc.none()) for _ in range(num_blocks)),
            tuple(() for _ in range(num_blocks)),
            trailing_barrier,
        )

    @classmethod
    def of(cls, blocks: Sequence[MMABlockSpec], *, to_the_letter: bool = False) -> PipelineProgram:
        """A program of the given blocks, all expanded by template."""
        return cls(tuple(blocks), tuple(() for _ in blocks), to_the_letter=to_the_letter)

    def with_explicit(self, explicit: Sequence[Sequence[OpDesc]]) -> PipelineProgram:
        """This program with explicit op lists, one per block."""
        if len(explicit) != len(self.blocks):
            raise ProgramError(
                f"{len(explicit)} explicit blocks for a program of {len(self.blocks)}",
                where="build_explicit_blocks",
                why="explicit lists replace blocks one by one",
                fix="return one list per block (empty lists use the template), or no list at all",
            )
        return replace(self, explicit_blocks=tuple(tuple(ops) for ops in explicit))

    def _explicit(self, index: int) -> tuple[OpDesc, ...]:
        return self.explicit_blocks[index] if index < len(self.explicit_blocks) else ()

    def block_count(self, index: int) -> int:
        """Entries of one block."""
        return len(self._explicit(index)) or self.blocks[index].entry_count()

    def total_entries(self) -> int:
        """Entries of the whole program."""
        return self.block_start(len(self.blocks)) + self.trailing_barrier

    def block_start(self, index: int) -> int:
        """Index of a block's first entry."""
        return sum(self.block_count(i) for i in range(index))

    def mma_entry(self, index: int) -> int:
        """Index of a block's MMA entry."""
        explicit = self._explicit(index)
        if not explicit:
            return self.block_start(index) + self.blocks[index].mma_position()
        computes = [i for i, op in enumerate(explicit) if op.role is OpRole.COMPUTE]
        return self.block_start(index) + (computes[0] if computes else 0)

    def expand_to_list(self, phase: Phase) -> list[ScheduleEntry]:
        """All blocks as entries of one phase."""
        out = EntryBuilder(phase)
        for i, block in enumerate(self.blocks):
            explicit = self._explicit(i)
            for op in explicit:
                out.emit(op)
            if not explicit:
                block.expand(out)
        out.emit_flag(OpDesc.barrier(), self.trailing_barrier)
        return out.entries
