"""``run_kernel``: all workgroups of a launch, wave by wave, under one timing and one order.

Input is assembly text, memory and argument bytes; nothing of the schedule that made the text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from warploom.codegen.amdgcn.emulator.matrix import FLOAT, make_mfma
from warploom.codegen.amdgcn.emulator.operands import (
    LANES,
    EmulationError,
    Moment,
    Order,
    Timing,
    Turns,
    Wave,
)
from warploom.codegen.amdgcn.emulator.transfer import Devices, GlobalMemory, make_transfer
from warploom.codegen.amdgcn.emulator.vector import SCALAR, VECTOR, Effect
from warploom.codegen.amdgcn.isa import Assembly, Instruction, parse_assembly, read_resources

MAX_STEPS = 20_000_000
LDS_FILL = 0xFF  # NaN in every element type


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatistics:
    """What a launch did: instructions executed and the deepest queues of any wave."""

    instructions: int
    deepest_vm: int
    deepest_lgkm: int
    barriers: int


def run_kernel(
    text: str,
    grid: tuple[int, ...],
    arguments: bytes,
    memory: GlobalMemory,
    timing: Timing,
    order: Order = Order.FORWARD,
) -> RunStatistics:
    """Execute every workgroup of ``grid``. Raises ``EmulationError`` on any fault."""
    assembly = parse_assembly(text)
    waves = _number(text, r"\.max_flat_workgroup_size:\s+(\d+)") // LANES
    first_id = _number(text, r"\.amdhsa_user_sgpr_count\s+(\d+)")
    lds = np.full(read_resources(text).lds_bytes, LDS_FILL, np.uint8)
    program = _decode(assembly, Devices(lds, memory, arguments))
    total = [0, 0, 0, 0]
    with np.errstate(all="ignore"):
        for place in product(*(range(n) for n in reversed(grid))):
            lds[:] = LDS_FILL
            group = [_start(i, timing, first_id, place[::-1]) for i in range(waves)]
            barriers, steps = _run_group(program, assembly, group, timing, order)
            total[0] += steps
            total[1] = max(total[1], *(w.deepest[0] for w in group))
            total[2] = max(total[2], *(w.deepest[1] for w in group))
            total[3] += barriers
    return RunStatistics(
        instructions=total[0], deepest_vm=total[1], deepest_lgkm=total[2], barriers=total[3]
    )


def _start(index: int, timing: Timing, first_id: int, place: tuple[int, ...]) -> Wave:
    wave = Wave(index, timing)
    wave.v[0] = index * LANES + np.arange(LANES)
    wave.s[0] = wave.s[1] = 0  # the argument pointer; scalar loads name it by register
    wave.s[first_id : first_id + len(place)] = place
    return wave


def _run_group(
    program: list[Effect], assembly: Assembly, group: list[Wave], timing: Timing, order: Order
) -> tuple[int, int]:
    turns = Turns(order, len(group), timing.seed)
    stirred = Moment.RANDOM in (timing.dma, timing.read)
    barriers = steps = 0
    while True:
        runnable = [w.index for w in group if not w.ended and not w.at_barrier]
        if not runnable:
            waiting = [w for w in group if w.at_barrier]
            if not waiting:
                return barriers, steps
            if len(waiting) < len(group):
                raise EmulationError(
                    f"{len(waiting)} wave(s) wait at a barrier that the others never reach",
                    why="waves that have ended execute no more barriers",
                )
            barriers += 1
            for wave in waiting:
                wave.at_barrier = False
            continue
        index, limit = turns.next(runnable)
        steps += _run_wave(program, assembly, group[index], limit)
        if stirred:
            for wave in group:
                wave.stir()
        if steps > MAX_STEPS:
            raise EmulationError(f"no end after {MAX_STEPS} instructions")


def _run_wave(program: list[Effect], assembly: Assembly, wave: Wave, limit: int) -> int:
    """Run until the wave blocks, ends, or has executed ``limit`` instructions."""
    steps = 0
    while not (wave.ended or wave.at_barrier) and (not limit or steps < limit):
        at = wave.pc
        wave.pc += 1
        try:
            program[at](wave)
        except EmulationError as error:
            where = assembly.instructions[at]
            raise EmulationError(
                error.what,
                where=f"wave {wave.index}, line {where.line}: {where.text}",
                why=error.why,
            ) from None
        steps += 1
        if steps > MAX_STEPS:
            raise EmulationError(f"no end after {MAX_STEPS} instructions")
    return steps


def _decode(assembly: Assembly, devices: Devices) -> list[Effect]:
    return [_effect(assembly, instruction, devices) for instruction in assembly.instructions]


def _effect(assembly: Assembly, instruction: Instruction, devices: Devices) -> Effect:
    name, operands, modifiers = instruction.mnemonic, instruction.operands, instruction.modifiers
    plain = re.sub(r"_e(32|64)$", "", name)
    effect = (
        _control(assembly, instruction)
        or make_mfma(name, operands, modifiers)
        or make_transfer(name, operands, modifiers, devices)
    )
    if effect is None and plain in SCALAR:
        effect = SCALAR[plain](operands)
    if effect is None and plain in VECTOR:
        effect = VECTOR[plain](operands, modifiers)
    if effect is None and plain in FLOAT:
        effect = FLOAT[plain](operands, modifiers)
    if effect is None:
        raise EmulationError(
            f"the emulator does not know {name!r}",
            where=f"line {instruction.line}: {instruction.text}",
        )
    return effect


def _control(assembly: Assembly, instruction: Instruction) -> Effect | None:
    name = instruction.mnemonic
    if name == "s_waitcnt":
        vm, lgkm = instruction.waits()
        return lambda w: w.wait(vm, lgkm)
    if name == "s_barrier":
        return lambda w: setattr(w, "at_barrier", True)
    if name == "s_endpgm":
        return _end
    if name == "s_branch":
        target = assembly.branch_target(instruction)
        return lambda w: setattr(w, "pc", target)
    if name.startswith("s_cbranch"):
        return _branch(name, assembly.branch_target(instruction))
    return None


def _end(wave: Wave) -> None:
    wave.wait(0, 0)
    wave.ended = True


def _branch(name: str, target: int) -> Effect:
    tests: dict[str, Callable[[Wave], bool]] = {
        "s_cbranch_scc0": lambda w: not w.scc,
        "s_cbranch_scc1": lambda w: bool(w.scc),
        "s_cbranch_vccz": lambda w: not w.vcc,
        "s_cbranch_vccnz": lambda w: bool(w.vcc),
        "s_cbranch_execz": lambda w: not w.exec,
        "s_cbranch_execnz": lambda w: bool(w.exec),
    }
    taken = tests.get(name)
    if taken is None:
        raise EmulationError(f"the emulator does not know {name!r}")

    def effect(w: Wave) -> None:
        if taken(w):
            w.pc = target

    return effect


def _number(text: str, pattern: str) -> int:
    match = re.search(pattern, text)
    if match is None:
        raise EmulationError(f"the assembly has no {pattern.split('[', maxsplit=1)[0]!r} line")
    return int(match[1])
