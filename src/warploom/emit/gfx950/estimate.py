"""A static estimate of the emitted loop: how long each unit is busy in one iteration.

Counted from the assembly, not from the schedule: matrix cycles, instruction issue, LDS and memory
traffic. The busiest unit bounds the loop; the matrix unit's share of it is the efficiency the code
can reach at best. Latencies, waits and cache misses are not in it: the simulator has those.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from warploom.emit.gfx950.isa import Assembly, Instruction, parse_assembly
from warploom.emit.gfx950.tile import GemmTile, waves_per_simd
from warploom.errors import BackendError
from warploom.target.mi355x import WAVE_BYTES, mi355x


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEstimate:
    """Busy cycles of one loop iteration on one compute unit, per unit."""

    matrix: int
    issue: int
    lds: int
    memory: int
    flops: int
    instructions: tuple[tuple[str, int], ...]

    @property
    def bound(self) -> int:
        """Cycles of the busiest unit."""
        return max(self.matrix, self.issue, self.lds, self.memory)

    @property
    def limited_by(self) -> str:
        """The unit that is busiest."""
        return max(("matrix", "issue", "lds", "memory"), key=lambda name: int(getattr(self, name)))

    @property
    def efficiency(self) -> float:
        """Matrix cycles over the bound: 1.0 means nothing but the matrix unit limits the loop."""
        return self.matrix / self.bound

    def tflops(self, cycles: float | None = None) -> float:
        """TFLOP/s of the whole chip with ``cycles`` an iteration (by default the bound)."""
        chip = mi355x()
        return self.flops / (cycles or self.bound) * chip.compute_units * chip.clock_hz / 1e12

    def text(self) -> str:
        """A small table."""
        rows = [f"{name:>8} {getattr(self, name):>7} cycles" for name in _UNITS]
        return "\n".join(
            [
                *rows,
                f"bound by {self.limited_by}: {self.bound} cycles an iteration, "
                f"{self.efficiency:.1%} of the matrix bound, {self.tflops():.0f} TFLOP/s at best",
            ]
        )


_UNITS = ("matrix", "issue", "lds", "memory")


def estimate_loop(tile: GemmTile, assembly_text: str) -> LoopEstimate:
    """Estimate the loop of an emitted kernel."""
    loop = _loop(parse_assembly(assembly_text))
    counts = Counter(_kind(instruction) for instruction in loop)
    waves, per_simd, chip = tile.waves, waves_per_simd(tile), mi355x()
    reads = counts["ds_read_b128"] + counts["ds_write_b128"]
    dmas, loads = counts["dma"], counts["load"]
    return LoopEstimate(
        matrix=counts["mfma"] * tile.mfma.cycles * per_simd,
        issue=sum(_issue(instruction) for instruction in loop) * chip.issue,
        lds=(reads + dmas) * waves * WAVE_BYTES // chip.lds_rate,
        memory=(dmas + loads) * waves * WAVE_BYTES // chip.memory_rate,
        flops=counts["mfma"] * tile.mfma.flops * waves,
        instructions=tuple(sorted(Counter(i.mnemonic for i in loop).items())),
    )


def _loop(assembly: Assembly) -> tuple[Instruction, ...]:
    """The largest stretch of code a branch jumps back over."""
    found: tuple[Instruction, ...] = ()
    for at, instruction in enumerate(assembly.instructions):
        if instruction.mnemonic.startswith(("s_cbranch", "s_branch")):
            start = assembly.branch_target(instruction)
            if start <= at and at - start >= len(found):
                found = assembly.instructions[start : at + 1]
    if not found:
        raise BackendError("the kernel has no loop", where=assembly.name)
    return found


def _kind(instruction: Instruction) -> str:
    if instruction.mnemonic.startswith("v_mfma"):
        return "mfma"
    if instruction.mnemonic.startswith("buffer_load"):
        return "dma" if "lds" in instruction.modifiers else "load"
    return instruction.mnemonic


def _issue(instruction: Instruction) -> int:
    """Issue slots of one wave: one, or as many as an ``s_nop`` says."""
    if instruction.mnemonic == "s_nop":
        return int(instruction.operands[0], 0) + 1
    return 1
