"""Wait states around matrix instructions, on every path of the text.

The hardware does not hold an instruction back that touches the registers of a matrix instruction
too early (LLVM fills the distance with ``s_nop``). The distances are those of gfx942 and gfx950.
"""

from collections.abc import Iterator

from warploom.check.amdgcn.matrix import is_mfma, is_xdl, passes
from warploom.check.amdgcn.operands import register_ids
from warploom.check.amdgcn.reader import AssemblyError, Instruction, Kernel
from warploom.check.amdgcn.state import SGPR
from warploom.errors import UnsupportedCodeError

AFTER_VECTOR = 2
MOST = 19
_MEMORY = ("ds_", "global_", "flat_", "buffer_", "scratch_")
_WAR = {2: 1, 4: 3, 8: 7, 16: 15}

Hazard = tuple[Instruction, Instruction, int, int, str]


def matrix_hazards(kernel: Kernel) -> list[Hazard]:
    """Pairs of instructions too close to each other: (first, second, states, needed, what)."""
    code = kernel.instructions
    if not any(is_mfma(i.mnemonic) for i in code):
        return []
    try:
        uses = [_uses(i) for i in code]
    except UnsupportedCodeError:
        return []
    found: dict[tuple[int, int], Hazard] = {}
    for at, first in enumerate(code):
        matrix = is_mfma(first.mnemonic)
        if not matrix and not first.mnemonic.startswith("v_"):
            continue
        reach = passes(first.mnemonic, first) + 3 if matrix else AFTER_VECTOR
        for later, states in _after(kernel, at, reach):
            need, what = _needed(first, code[later], uses[at], uses[later])
            if states < need and (at, later) not in found:
                found[at, later] = (first, code[later], states, need, what)
    return list(found.values())


def _uses(instruction: Instruction) -> tuple[frozenset[int], tuple[tuple[int, ...], ...]]:
    """Vector registers written, and those of every source."""
    ids = [tuple(r for r in register_ids(t) if r < SGPR) for t in instruction.operands]
    name = instruction.mnemonic
    stores = "_store_" in name or name.startswith("ds_write") or instruction.flag("lds")
    if not ids or stores or (name.startswith("ds_") and "_rtn" not in name and "read" not in name
                             and "permute" not in name and "swizzle" not in name):  # fmt: skip
        return frozenset(), tuple(ids)
    both = name.startswith(("v_swap", "v_permlane"))
    written = frozenset(ids[0] + (ids[1] if both else ()))
    reads = ids if name.startswith(("v_fmac", "v_mac", "v_swap", "v_permlane")) else ids[1:]
    return written, tuple(reads)


def _needed(
    first: Instruction,
    second: Instruction,
    before: tuple[frozenset[int], tuple[tuple[int, ...], ...]],
    after: tuple[frozenset[int], tuple[tuple[int, ...], ...]],
) -> tuple[int, str]:
    """Wait states between two instructions, and which registers ask for them."""
    written, _ = before
    later_written, later_reads = after
    matrix = is_mfma(second.mnemonic)
    if not is_mfma(first.mnemonic):
        touched = matrix and any(written & set(r) for r in later_reads)
        return (AFTER_VECTOR, "its source") if touched else (0, "")
    count, narrow = passes(first.mnemonic, first), is_xdl(first.mnemonic)
    if matrix:
        return _matrix_after_matrix(first, second, written, later_reads, count, narrow)
    if not second.mnemonic.startswith(("v_", *_MEMORY)):
        return 0, ""
    if written & later_written or any(written & set(r) for r in later_reads):
        return count + (3 if narrow else 2), "its result"
    addend = frozenset(before[1][2]) if len(before[1]) > 2 else frozenset()
    if narrow and second.mnemonic.startswith("v_") and addend & later_written:
        return _WAR.get(count, 15), "its addend"
    return 0, ""


def _matrix_after_matrix(
    first: Instruction, second: Instruction, written: frozenset[int],
    reads: tuple[tuple[int, ...], ...], count: int, narrow: bool,
) -> tuple[int, str]:  # fmt: skip
    if any(written & set(r) for r in reads[:2]):
        return count + (3 if narrow else 2), "its result as a factor"
    addend = reads[2] if len(reads) > 2 else ()
    if not written & set(addend):
        return 0, ""
    if written == frozenset(addend):
        return (2 if count == 2 else 0), "its result as the addend"
    if is_xdl(second.mnemonic) and not narrow:
        return 0, ""
    return count + (1 if narrow else 0), "part of its result as the addend"


def _after(kernel: Kernel, at: int, reach: int) -> Iterator[tuple[int, int]]:
    """Instructions that may follow within ``reach`` wait states, with the states between."""
    code = kernel.instructions
    best: dict[int, int] = {}
    stack = [(n, 0) for n in _next(kernel, at)]
    while stack:
        place, states = stack.pop()
        if states >= reach or best.get(place, reach) <= states:
            continue
        best[place] = states
        instruction = code[place]
        more = instruction.number_operand() + 1 if instruction.mnemonic == "s_nop" else 1
        stack += [(n, states + more) for n in _next(kernel, place)]
    yield from best.items()


def _next(kernel: Kernel, at: int) -> list[int]:
    instruction = kernel.instructions[at]
    name = instruction.mnemonic
    if name.startswith("s_endpgm") or name in ("s_setpc_b64", "s_trap"):
        return []
    falls = [at + 1] if at + 1 < len(kernel.instructions) else []
    if name == "s_branch" or name.startswith("s_cbranch"):
        try:
            target = [kernel.target_of(instruction)]
        except AssemblyError:
            target = []
        target = [t for t in target if t < len(kernel.instructions)]
        return target if name == "s_branch" else falls + target
    return falls
