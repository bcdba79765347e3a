"""Registers that an instruction reads and writes, implicit ones included.

Ids are those of ``operands.register_ids``: vector registers, accumulation registers, scalar
registers from ``SGPR`` on (``vcc``, ``exec`` and ``m0`` among them).
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from warploom.check.amdgcn.operands import register_ids
from warploom.check.amdgcn.reader import Instruction
from warploom.check.amdgcn.state import EXEC, M0, SGPR, VCC
from warploom.errors import UnsupportedCodeError

Ids = frozenset[int]
NONE: Ids = frozenset()
VCC_IDS = frozenset((SGPR + VCC, SGPR + VCC + 1))
EXEC_IDS = frozenset((SGPR + EXEC, SGPR + EXEC + 1))
M0_IDS = frozenset((SGPR + M0,))

VECTOR_MEMORY = ("global_", "flat_", "buffer_", "scratch_", "tbuffer_")
_NO_REGISTERS = ("s_waitcnt", "s_branch", "s_sendmsg", "s_nop", "s_barrier", "s_endpgm")
_READS_FIRST = re.compile(
    r"v_(fmac|mac|swap|permlane|dot\w*c_|writelane|pk_fmac|smfmac)"
    r"|s_(cmp|bitcmp|cmovk?|addk|mulk|bitset)"
)
_ALL_SOURCES = (
    "s_setpc", "s_rfe", "s_cmp_", "s_cmpk_", "s_bitcmp", "s_store_", "s_buffer_store_",
)  # fmt: skip
_TWO_RESULTS = re.compile(r"v_\w*_co_|v_div_scale|v_mad_[ui]64_[ui]32")


@dataclass(frozen=True, slots=True)
class Uses:
    """``sources`` has one entry an operand that is read; ``implicit`` are further reads."""

    writes: Ids
    sources: tuple[tuple[int, ...], ...]
    implicit: Ids = NONE

    @property
    def reads(self) -> Ids:
        """Every register read."""
        return frozenset(r for source in self.sources for r in source) | self.implicit

    @property
    def all(self) -> Ids:
        """Every register read or written."""
        return self.reads | self.writes


def is_dma(instruction: Instruction) -> bool:
    """Whether a load goes to LDS instead of registers."""
    return instruction.flag("lds") or "_load_lds_" in instruction.mnemonic


def is_vector_memory(mnemonic: str) -> bool:
    """Whether the vector memory counter counts it."""
    return mnemonic.startswith(VECTOR_MEMORY)


def has_result(instruction: Instruction) -> bool:
    """Whether the first operand of a memory instruction is written."""
    name = instruction.mnemonic
    if is_dma(instruction) or "_store_" in name:
        return False
    if name.startswith("ds_"):
        return (
            "_rtn" in name or "read" in name or "permute" in name or "swizzle" in name
            or name in ("ds_append", "ds_consume")
        )  # fmt: skip
    if "_atomic_" in name:
        return instruction.flag("sc0") or instruction.flag("glc")
    return "_load_" in name


@lru_cache(maxsize=1 << 16)
def _ids(text: str) -> tuple[int, ...]:
    try:
        return register_ids(text)
    except UnsupportedCodeError:
        return ()


def uses_of(instruction: Instruction) -> Uses:
    """What an instruction reads and writes."""
    name = instruction.mnemonic
    if name.startswith("s_cbranch"):
        which = VCC_IDS if "vcc" in name else EXEC_IDS if "exec" in name else NONE
        return Uses(NONE, (), which)
    if name.startswith(_NO_REGISTERS):
        return Uses(NONE, ())
    if name in ("s_getreg_b32", "s_setreg_b32"):
        texts = [t.strip() for t in ",".join(instruction.operands).split(",")]
        if name == "s_getreg_b32":
            return Uses(frozenset(_ids(texts[0])), ())
        return Uses(NONE, (_ids(texts[-1]),))
    ids = [_ids(t) for t in instruction.operands]
    if name.startswith("ds_") or is_vector_memory(name):
        return _memory_uses(instruction, ids)
    return _plain_uses(instruction, ids)


def _memory_uses(instruction: Instruction, ids: list[tuple[int, ...]]) -> Uses:
    name = instruction.mnemonic
    by_m0 = is_dma(instruction) or "addtid" in name or name in ("ds_append", "ds_consume")
    implicit = M0_IDS if by_m0 else NONE
    if not ids or not has_result(instruction):
        return Uses(NONE, tuple(ids), implicit)
    both = name.startswith("buffer_atomic")  # one operand for what goes in and what comes back
    return Uses(frozenset(ids[0]), tuple(ids if both else ids[1:]), implicit)


def _plain_uses(instruction: Instruction, ids: list[tuple[int, ...]]) -> Uses:
    name = instruction.mnemonic
    if not ids:
        return Uses(NONE, ())
    if name.startswith("v_cmpx"):
        sources = ids[1:] if len(ids) == 3 else ids
        return Uses(EXEC_IDS | frozenset(ids[0] if len(ids) == 3 else ()), tuple(sources))
    implicit = NONE
    written = frozenset(ids[0])
    if name.startswith(("v_swap", "v_permlane")) or _TWO_RESULTS.match(name):
        written |= frozenset(ids[1] if len(ids) > 1 else ())
    if name.startswith("v_div_fmas"):
        implicit = VCC_IDS
    if name.startswith(("s_atomic_", "s_buffer_atomic_")):
        back = len(ids[0]) // 2 if "cmpswap" in name else len(ids[0])
        return Uses(frozenset(ids[0][:back]) if instruction.flag("glc") else NONE, tuple(ids))
    if "saveexec" in name:
        return Uses(written | EXEC_IDS, tuple(ids[1:]), EXEC_IDS)
    if name.startswith(_ALL_SOURCES):
        return Uses(NONE, tuple(ids))
    first = 2 if _TWO_RESULTS.match(name) else 1
    explicit = tuple(ids if _READS_FIRST.match(name) else ids[first:])
    if name.startswith("v_cndmask") and len(ids) == 3:
        implicit = VCC_IDS
    return Uses(written, explicit, implicit)
