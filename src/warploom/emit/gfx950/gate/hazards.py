"""Wait states around matrix instructions, which the hardware does not wait out by itself.

LLVM fills them with ``s_nop``, but not around instructions that are written out. A register that
vector arithmetic writes may be read by a matrix instruction two states later; what a matrix
instruction writes may be touched by anything else only when its passes are over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from warploom.emit.gfx950.isa.assembly import Assembly, Instruction
from warploom.emit.gfx950.mfma import MFMAS

AFTER_VECTOR = 2
AFTER_PASSES = 3  # states beyond the passes, each of four cycles
PASSES = {m.mnemonic: m.cycles // 4 for m in MFMAS}
MOST = max(PASSES.values()) + AFTER_PASSES

_REGISTER = re.compile(r"\b([av])(?:\[(\d+):(\d+)\]|(\d+)\b)")


def matrix_hazards(assembly: Assembly) -> list[str]:
    """Every place where a register is used too early."""
    code, found = assembly.instructions, []
    written = [_registers(i.operands[:1]) if _vector(i) else set() for i in code]
    used = [_registers(i.operands) for i in code]
    into = _branches_into(assembly)
    for at, later in enumerate(code):
        matrix = later.mnemonic in PASSES
        for states, before in _before(at, code, into):
            earlier = code[before]
            if matrix and states < AFTER_VECTOR and not earlier.mnemonic.startswith("v_mfma"):
                early = written[before] & _registers(later.operands[1:])
            elif not matrix and states < PASSES.get(earlier.mnemonic, 0) + AFTER_PASSES:
                early = _registers(earlier.operands[:1]) & used[at] if _is_mfma(earlier) else set()
            else:
                continue
            if early:
                found.append(
                    f"line {later.line}: {later.mnemonic} uses a register {states} wait states "
                    f"after {earlier.mnemonic} of line {earlier.line}"
                )
    return found


def _is_mfma(instruction: Instruction) -> bool:
    return instruction.mnemonic in PASSES


def _vector(instruction: Instruction) -> bool:
    return instruction.mnemonic.startswith("v_")


def _before(
    at: int, code: tuple[Instruction, ...], into: dict[int, list[int]], states: int = 0
) -> Iterator[tuple[int, int]]:
    """Instructions that may run shortly before one, with the wait states between."""
    falls = [at - 1] if at and code[at - 1].mnemonic not in ("s_branch", "s_endpgm") else []
    for before in (*falls, *into.get(at, ())):
        if states < MOST:
            yield states, before
            nop = code[before].mnemonic == "s_nop"
            more = int(code[before].operands[0]) + 1 if nop else 1
            yield from _before(before, code, into, states + more)


def _branches_into(assembly: Assembly) -> dict[int, list[int]]:
    into: dict[int, list[int]] = {}
    for at, instruction in enumerate(assembly.instructions):
        if instruction.mnemonic.startswith(("s_branch", "s_cbranch")):
            into.setdefault(assembly.branch_target(instruction), []).append(at)
    return into


def _registers(operands: tuple[str, ...]) -> set[tuple[str, int]]:
    out: set[tuple[str, int]] = set()
    for operand in operands:
        for kind, first, last, one in _REGISTER.findall(operand):
            low, high = (int(one), int(one)) if one else (int(first), int(last))
            out |= {(kind, r) for r in range(low, high + 1)}
    return out
