"""Starting values of the accumulators.

With few registers a wave the zeros are plain constants. When the accumulators need the upper half
of the register file (AGPRs) LLVM has to be told: left alone it keeps them in the lower half, copies
and spills. An empty assembly statement with an AGPR operand says so and emits nothing. And a matrix
instruction of 16x16, whose result LLVM may put elsewhere, is written out with its accumulator in
place: at 256x256 there is no register left for an elsewhere.
"""

from __future__ import annotations

from warploom.emit.gfx950.lower.state import Machine
from warploom.emit.gfx950.plan import KernelPlan, Movement

ARCH_REGISTERS = 256  # what one instruction can name without AGPRs
ADDRESSES = 48  # measured: offsets, bases and temporaries of the emitted kernels


def registers_wanted(plan: KernelPlan) -> int:
    """Registers a wave needs at least: accumulators, fragments, staged loads, addresses."""
    tile = plan.tile
    rows, columns = plan.grid
    accumulators = rows * columns * tile.mfma.accumulator_registers
    staged = plan.movement is Movement.STAGED
    fragments = sum(
        4 * plan.fragment_reads(c) * (plan.k_parts if staged else plan.subtiles[c]) for c in (0, 1)
    )
    waiting = sum(4 * plan.loads(c) for c in (0, 1)) if staged else 0
    return accumulators + fragments + waiting + ADDRESSES


def wants_agprs(plan: KernelPlan) -> bool:
    """True when the kernel cannot live in the lower half of the register file."""
    return plan.tile.waves <= 4 and registers_wanted(plan) > ARCH_REGISTERS


def start_accumulators(machine: Machine) -> None:
    """Give every accumulator its starting value."""
    rows, columns = machine.plan.grid
    kind = machine.accumulator_type
    upper = wants_agprs(machine.plan)
    machine.in_place = upper and machine.plan.tile.mfma.m == 16
    machine.text.comment("zero the accumulators")
    for row in range(rows):
        for column in range(columns):
            zero = "zeroinitializer"
            if upper:
                zero = machine.text.value(f'call {kind} asm sideeffect "", "=a,0"({kind} {zero})')
            machine.accumulators[row, column] = zero
