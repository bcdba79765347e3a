"""Starting values of the accumulators.

With few registers a wave the zeros are plain constants. When the accumulators need the upper half
of the register file (AGPRs) constants make the register allocator copy and spill; a matrix
instruction of zeros, one for each accumulator, puts them where the loop wants them, and no copy
remains. LLVM must not see that the instructions are equal, or it merges them: each multiplies
another pattern of a value that is zero at run time only (the sign bit of a size).
"""

from __future__ import annotations

import math

from warploom.codegen.amdgpu.lower.state import Machine
from warploom.codegen.amdgpu.plan import KernelPlan, Movement

ARCH_REGISTERS = 256  # what one instruction can name without AGPRs
ADDRESSES = 48  # measured: offsets, bases and temporaries of the emitted kernels


def registers_wanted(plan: KernelPlan) -> int:
    """Registers a wave needs at least: accumulators, fragments, staged loads, addresses."""
    tile = plan.tile
    rows, columns = plan.grid
    accumulators = rows * columns * tile.mfma.accumulator_registers
    fragments = (plan.subtiles if plan.movement is Movement.DMA else plan.k_parts) * sum(
        4 * tile.fragment_reads(c, plan.subtiles, plan.k_steps) for c in (0, 1)
    )
    staged = 0
    if plan.movement is Movement.STAGED:
        staged = sum(4 * tile.loads(c, 1) for c in (0, 1))
    return accumulators + fragments + staged + ADDRESSES


def wants_agprs(plan: KernelPlan) -> bool:
    """True when the kernel cannot live in the lower half of the register file."""
    return plan.tile.waves <= 4 and registers_wanted(plan) > ARCH_REGISTERS


def start_accumulators(machine: Machine) -> None:
    """Give every accumulator its starting value."""
    rows, columns = machine.plan.grid
    names = [(row, column) for row in range(rows) for column in range(columns)]
    if not wants_agprs(machine.plan):
        for name in names:
            machine.accumulators[name] = "zeroinitializer"
        return
    machine.text.comment("zero the accumulators")
    hidden = [_hidden_zero(machine, size) for size in ("%dim_k", "%dim_n")]
    width = math.isqrt(len(names) - 1) + 1
    patterns: dict[tuple[int, int], str] = {}
    for index, (row, column) in enumerate(names):
        high, low = divmod(index, width)
        left = _pattern(machine, patterns, hidden, 0, low + 1)
        right = _pattern(machine, patterns, hidden, 1, high + 1)
        machine.multiply(row, column, left, right)


def _hidden_zero(machine: Machine, size: str) -> str:
    """Zero at run time (sizes are below 2^31), and in a vector register."""
    mixed = machine.text.value(f"xor i32 %tid, {size}")
    return machine.text.value(f"lshr i32 {mixed}, 31")


def _pattern(
    machine: Machine, made: dict[tuple[int, int], str], hidden: list[str], side: int, bits: int
) -> str:
    """An operand whose dwords named by ``bits`` hold the hidden zero, the others a plain one."""
    if (side, bits) in made:
        return made[side, bits]
    mfma = machine.plan.tile.mfma
    words = mfma.operand_bytes // 4
    vector = "zeroinitializer"
    for word in range(4):
        if bits >> word & 1:
            vector = machine.text.value(
                f"insertelement <{words} x i32> {vector}, i32 {hidden[side]}, i32 {word}"
            )
    made[side, bits] = machine.text.value(f"bitcast <{words} x i32> {vector} to {mfma.operand_ir}")
    return made[side, bits]
