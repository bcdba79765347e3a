"""``PipelineProgram``: the blocks of a kernel, their entries, dump and structural checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.errors import ProgramError, StructureError
from warploom.ir.schedule_ops import OpDesc, OpRole, Phase, ScheduleEntry, ScheduleOps
from warploom.ir.validation import all_of, check_fields, instance, integer
from warploom.pipeline.block_expand.spec import MMABlockSpec
from warploom.pipeline.body import EntryBuilder
from warploom.pipeline.config.pipeline import PipelineConfig
from warploom.pipeline.config.schedule import NO_WAIT


@dataclass(frozen=True, slots=True)
class PipelineProgram:
    """Blocks in order. A non-empty explicit list replaces a block's template expansion."""

    blocks: tuple[MMABlockSpec, ...] = ()
    explicit_blocks: tuple[tuple[OpDesc, ...], ...] = ()
    trailing_barrier: bool = False
    to_the_letter: bool = False  # waits and layout as the reference has them, gaps included

    def __post_init__(self) -> None:
        check_fields(self)
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


def format_program_blocks(program: PipelineProgram, config: PipelineConfig) -> str:
    """Every block with its fragments, loads, MMA and drain."""
    size = max(config.blocks_per_partition(), 1)
    lines = []
    for b, block in enumerate(program.blocks):
        if b % size == 0:
            lines.append(f"=== Half {b // size} ===")
        lines.append(f"  Block {b} :")
        lines += [f"    {line}" for line in _block_lines(block, b // size)]
    return "\n".join(lines)


def dump_program_blocks(program: PipelineProgram, config: PipelineConfig) -> None:
    """Print every block."""
    print(format_program_blocks(program, config))


def _block_lines(block: MMABlockSpec, half: int) -> Iterator[str]:
    for i, op in enumerate(block.fragments):
        yield f"pre_op_{i}: tag= {int(op.tag)} stage= {op.stage} ch= {op.channel}"
    for i, (op, _) in enumerate(block.loads):
        slot = "global_load" if i == 0 else f"global_load_{i}"
        purpose = "prefetch" if op.stage == half else "completion"
        yield f"{slot}: tag= {int(op.tag)} stage= {op.stage} ch= {op.channel}  [{purpose}]"
    mma = block.mma
    yield f"mma: tag= {int(mma.tag)} stage= {mma.stage} sub= {mma.subtile}"
    if block.drain_lgkm_before_loads:
        yield "[drain_lgkm_before_loads]"


Blocks = Sequence[MMABlockSpec]


Program = PipelineProgram | Blocks


def blocks_of(program: Program, owner: str) -> Blocks:
    """The blocks of a program, which may be given by its blocks alone."""
    blocks = program.blocks if isinstance(program, PipelineProgram) else program
    all_of(blocks, MMABlockSpec, "program", owner)
    return blocks


def verify_schedule(
    program: Program,
    config: PipelineConfig,
    lgkm_per_a: int = 0,
    lgkm_per_b: int = 0,
    wait_lgkm_first: int = 0,
    wait_vm_last: int = 0,
    *,
    guesses: bool = True,
) -> None:
    """Run all structural checks; the first violation raises ``StructureError``.

    ``lgkm_per_a`` and ``lgkm_per_b`` are the counter units of a load per channel; with them first
    waits, those of the blocks and ``wait_lgkm_first``, are held against what can be outstanding.
    Manual waits are the caller's: give 0 and 0. ``guesses``: also the documented checks that refuse
    some programs without races (how evenly loads lie, which stages a partition completes, what a
    staggered group may still read); a proof decides better.
    """
    owner = "verify_schedule"
    blocks = blocks_of(program, owner)
    instance(config, PipelineConfig, "config", owner)
    integer(lgkm_per_a, "lgkm_per_a", owner, least=0)
    integer(lgkm_per_b, "lgkm_per_b", owner, least=0)
    units = (lgkm_per_a, lgkm_per_b)
    integer(wait_lgkm_first, "wait_lgkm_first", owner, least=0)
    integer(wait_vm_last, "wait_vm_last", owner, least=0)
    _block_completeness(blocks, config)
    _wait_bounds(blocks, config, units, wait_lgkm_first)
    if guesses:
        _uniform_distribution(blocks, config)
    if not any(flag for block in blocks for _, flag in block.loads):
        raise StructureError(
            "no global load prefetches",
            check="prefetch_coverage",
            why="the next iteration would find no data",
            fix="give loads a k-offset of K0, K1 or K_NEXT",
        )
    if config.depth == 2 and not config.cross_stage_rotation:
        _verify_stage_consistency(blocks, config)
        if guesses:
            _completion_coverage(blocks, config)
    staggered = config.warp_stagger.enabled and config.block_sizing.max_globals <= 0
    if guesses and config.depth == 2 and staggered:
        _stagger_safety(blocks, config)


def _partitions(blocks: Blocks, config: PipelineConfig) -> Iterator[tuple[int, Blocks]]:
    size = config.blocks_per_partition()
    for p in range(config.num_partitions):
        yield p, blocks[p * size : (p + 1) * size]


def _block_completeness(blocks: Blocks, config: PipelineConfig) -> None:
    if len(blocks) != config.total_blocks() or not blocks:
        raise StructureError(
            f"the program has {len(blocks)} blocks, the grid needs {config.total_blocks()}",
            check="block_completeness",
            fix="one MMA per grid cell and partition",
        )
    for b, block in enumerate(blocks):
        if block.mma.role is not OpRole.COMPUTE:
            raise StructureError(
                "a block has no MMA",
                check="block_completeness",
                where=f"block {b}: {block.mma.label()}",
                why="its fragments would be loaded for nothing",
            )


def _wait_bounds(
    blocks: Blocks, config: PipelineConfig, units: tuple[int, int], first: int = 0
) -> None:
    if max(units) <= 0:
        return
    for p, part in _partitions(blocks, config):
        bound = sum(units[0 if op.channel == 0 else 1] for op, _ in part[0].loads)
        for wait in (part[0].entry_wait_lgkm, part[0].pre_sync, OpDesc.wait_lgkm(first)):
            if wait.tag == ScheduleOps.WAIT_LGKM and bound < wait.wait_value < NO_WAIT:
                raise StructureError(
                    f"the first wait leaves {wait.wait_value} LDS operations outstanding, "
                    f"but only {bound} can be",
                    check="wait_bounds",
                    where=f"partition {p}, block {p * len(part)}",
                    why="it would not wait for this partition's fragments",
                    fix=f"wait for {bound} or fewer",
                )


def _uniform_distribution(blocks: Blocks, config: PipelineConfig) -> None:
    cap = config.block_sizing.max_globals
    if cap <= 0 or sum(len(b.loads) for b in blocks) < len(blocks) * cap:
        return
    for b, block in enumerate(blocks):
        if len(block.loads) != cap:
            raise StructureError(
                f"a block has {len(block.loads)} global loads instead of {cap}",
                check="uniform_distribution",
                where=f"block {b}",
                fix="BlockSizing.max_globals=0 lifts the cap",
            )


def _verify_stage_consistency(blocks: Blocks, config: PipelineConfig) -> None:
    for p, part in _partitions(blocks, config):
        for block in part:
            for fragment in block.fragments:
                if fragment.stage != p:
                    raise StructureError(
                        f"partition {p} reads a fragment of stage {fragment.stage}",
                        check="stage_consistency",
                        where=f"{fragment.label()} before {block.mma.label()}",
                        why="partition p computes the tile in stage p",
                        fix="set cross_stage_rotation=True if the rotation is intended",
                    )


def _completion_coverage(blocks: Blocks, config: PipelineConfig) -> None:
    for p, part in _partitions(blocks, config):
        if all(op.stage == p for block in part for op, _ in block.loads):
            raise StructureError(
                f"partition {p} completes no tile of another stage",
                check="completion_coverage",
                where=f"partition {p}",
                why="double buffering here leaves one sub-tile of a stage to the other partition",
                fix="declare the completion load, or cross_stage_rotation=True",
            )


def _stagger_safety(blocks: Blocks, config: PipelineConfig) -> None:
    for p, part in _partitions(blocks, config):
        for i in range(1, len(part) - 1):
            written = {op.stage for op, _ in part[i].loads if op.stage == p}
            for fragment in part[i + 1].fragments:
                if fragment.stage in written:
                    raise StructureError(
                        "a prefetch may land while the staggered wave group still reads",
                        check="stagger_safety",
                        where=f"block {p * len(part) + i} loads stage {p}, the next block reads "
                        f"{fragment.label()}",
                        why="the second group runs one barrier interval behind",
                        fix="BlockSizing.max_globals=1, or move the load",
                    )
