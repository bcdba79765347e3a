"""Instruction-group hints of AMD's single-buffer kernels (``sched_group_barrier``)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from warploom.errors import ConfigError
from warploom.ir.schedule_ops import OpDesc, OpRole, Phase, ScheduleEntry
from warploom.pipeline.amd_target.cost import AMDScheduleHints
from warploom.pipeline.body import EntryBuilder
from warploom.pipeline.config.pipeline import PipelineConfig


class HintMask(IntEnum):
    """Instruction groups a hint can name."""

    DS_READ = 0
    DS_WRITE = 1
    VMEM_READ = 2
    MFMA = 3


def append_amd_hints(
    kernel: Sequence[ScheduleEntry],
    body: Sequence[OpDesc],
    config: PipelineConfig,
    hints: AMDScheduleHints,
) -> list[ScheduleEntry]:
    """The kernel followed by hints that spread its MFMAs over reads, writes and loads."""
    fragments = [op for op in body if op.role is OpRole.FRAGMENT_LOAD]
    carried = sum(op.subtile == config.loop_carried.selector for op in fragments)
    per_fragment = hints.m_mmas + hints.n_mmas
    reads = per_fragment * len(fragments)
    mmas = hints.m_mmas * hints.n_mmas * hints.k_mmas
    stores = hints.a_loads_per_thread + hints.b_loads_per_thread
    if reads <= 0:
        raise ConfigError(
            "hints need at least one LDS read to spread MFMAs over",
            where=f"AMDScheduleHints: {per_fragment} reads a fragment, {len(fragments)} fragments",
            fix="give m_mmas + n_mmas >= 1 and a body with fragment loads",
        )
    per_read = min(1 if hints.mma_m == hints.mma_n == 32 else 2, mmas // reads)
    share, rest = divmod(mmas - reads * per_read, stores) if stores else (0, 0)
    out = EntryBuilder(Phase.KERNEL, list(kernel))

    def hint(mask: HintMask, count: int) -> None:
        out.emit(OpDesc.sched_group_barrier(int(mask), count))

    def read_groups(n: int) -> None:
        for _ in range(n):
            hint(HintMask.DS_READ, 1)
            hint(HintMask.MFMA, per_read)

    read_groups(per_fragment * (len(fragments) - carried))
    for i in range(stores):
        count = share + (i < rest)
        hint(HintMask.DS_WRITE, 1)
        hint(HintMask.MFMA, count // 2)
        hint(HintMask.VMEM_READ, 1)
        hint(HintMask.MFMA, count - count // 2)
    read_groups(per_fragment * carried)
    return out.entries
