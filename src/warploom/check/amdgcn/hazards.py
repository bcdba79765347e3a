"""Wait states that the hardware does not enforce, on every path of the text.

gfx942 and gfx950 let some instructions run into registers that an earlier one has not written (or
read) yet; whoever writes the code keeps the distance, with ``s_nop`` or other work between. The
distances are those of the CDNA3 and CDNA4 documents and of LLVM's hazard recognizer. One
instruction is one wait state, ``s_nop n`` is ``n + 1``.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from warploom.check.amdgcn.matrix import is_double, is_mfma, is_xdl, passes
from warploom.check.amdgcn.operands import has_dpp, literal
from warploom.check.amdgcn.reader import AssemblyError, Instruction, Kernel
from warploom.check.amdgcn.state import SGPR
from warploom.check.amdgcn.uses import (
    EXEC_IDS,
    M0_IDS,
    NONE,
    VCC_IDS,
    Ids,
    Uses,
    is_dma,
    is_vector_memory,
    uses_of,
)

_TRANSCENDENTAL = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)(_legacy|_iflag)?_(f16|f32|f64)$")
_DOT = re.compile(r"v_dot\d")
_TO_FP8 = re.compile(r"v_cvt_(pk|sr)_(fp8|bf8)_f32$")
_LANE = ("v_readlane_b32", "v_readfirstlane_b32", "v_writelane_b32")
_SWAP = ("v_permlane16_swap_b32", "v_permlane32_swap_b32")
_READ_C = {2: 1, 4: 3, 8: 7, 16: 15}
MOST = 20


@dataclass(frozen=True, slots=True)
class Hazard:
    """Two instructions closer to each other than the hardware allows."""

    first: Instruction
    second: Instruction
    states: int
    needed: int
    what: str
    registers: Ids = NONE


@dataclass(frozen=True, slots=True)
class Site:
    """An instruction with what the rules ask of it."""

    instruction: Instruction
    uses: Uses
    target: str

    @property
    def name(self) -> str:
        """Its mnemonic."""
        return self.instruction.mnemonic

    @property
    def matrix(self) -> bool:
        """Whether it runs on the matrix unit."""
        return is_mfma(self.name)

    @property
    def vector(self) -> bool:
        """Whether it runs on the vector unit (not the matrix unit)."""
        return self.name.startswith("v_") and not self.matrix and self.name != "v_nop"

    @property
    def memory(self) -> bool:
        """Whether it reads vector registers to access memory."""
        return self.name.startswith("ds_") or is_vector_memory(self.name)

    @property
    def passes(self) -> int:
        """Passes of a matrix instruction."""
        return passes(self.name, self.instruction)

    @property
    def factors(self) -> tuple[tuple[int, ...], ...]:
        """The factors of a matrix instruction."""
        return self.uses.sources[1:3] if self.sparse else self.uses.sources[:2]

    @property
    def addend(self) -> tuple[int, ...]:
        """What a matrix instruction adds to; a sparse one adds to its own destination."""
        at = 0 if self.sparse else 2
        return self.uses.sources[at] if len(self.uses.sources) > at else ()

    @property
    def sparse(self) -> bool:
        """Whether one factor is sparse (``v_smfmac``)."""
        return self.name.startswith("v_smfmac_")

    def uses_in_order(self) -> tuple[int, ...]:
        """The registers of the first operand, in order."""
        return tuple(sorted(self.uses.writes))

    def reads_vector(self) -> Ids:
        """Vector registers read."""
        return frozenset(r for r in self.uses.reads if r < SGPR)

    def reads_scalar(self) -> Ids:
        """Scalar registers read."""
        return frozenset(r for r in self.uses.reads if r >= SGPR)


Need = tuple[int, str, Ids]
Rule = Callable[[Site, Site, Ids], Iterator[Need]]


# Rules: what a later instruction asks after a first; ``live`` are results not written again since.


def _after_vector(first: Site, second: Site, live: Ids) -> Iterator[Need]:
    """Results of the vector unit."""
    if not first.vector:
        return
    scalars = frozenset(r for r in live if r >= SGPR)
    vectors = live - scalars
    if scalars:
        yield from _after_scalar_result(second, scalars)
    if vectors and second.matrix and not _DOT.match(first.name):
        yield 2, "its result in a matrix instruction", vectors & second.reads_vector()
    if vectors and second.memory and _DOT.match(first.name):
        yield 3, "the result of a dot product", vectors & second.uses.all
    if vectors and second.vector:
        yield from _after_vector_result(first, second, vectors)


def _after_vector_result(first: Site, second: Site, vectors: Ids) -> Iterator[Need]:
    read = vectors & second.reads_vector()
    if has_dpp(second.instruction):
        yield 2, "its result through DPP", read
    if second.name in ("v_readlane_b32", "v_readfirstlane_b32"):
        yield 1, "its result in a lane read", read
    if second.name in _SWAP and second.target == "gfx950":
        yield 2, "its result in a lane swap", vectors & second.uses.all
    if _TRANSCENDENTAL.match(first.name) and not _TRANSCENDENTAL.match(second.name):
        yield 1, "the result of a transcendental instruction", read
    if _writes_part(first):
        yield 1, "a result of which only a part is written", read
    yield from _after_dot(first, second, vectors)


def _after_scalar_result(second: Site, scalars: Ids) -> Iterator[Need]:
    """A scalar register, mask or EXEC that the vector unit wrote."""
    reads = scalars & second.reads_scalar()
    if is_vector_memory(second.name):
        yield 5, "its scalar result in a memory access", reads
    if second.vector or second.matrix:
        if second.name.startswith("v_div_fmas"):
            yield 4, "its carry in v_div_fmas", reads & VCC_IDS
        if second.name in ("v_readlane_b32", "v_writelane_b32"):
            lane = second.uses.sources[-1] if second.uses.sources else ()
            yield 4, "its scalar result as a lane number", scalars & frozenset(lane)
        yield 2, "its scalar result", reads - EXEC_IDS
    changed = scalars & EXEC_IDS
    if not changed:
        return
    if has_dpp(second.instruction):
        yield 5, "EXEC in a DPP instruction", changed
    if second.matrix or second.name in _LANE:
        yield 4, "EXEC", changed
    if second.name in _SWAP and second.target == "gfx950":
        yield 4, "EXEC in a lane swap", changed


def _after_dot(first: Site, second: Site, vectors: Ids) -> Iterator[Need]:
    if not _DOT.match(first.name):
        return
    same = second.name == first.name
    if not same:
        yield 3, "the result of a dot product", vectors & second.uses.all
        return
    sources = second.uses.sources
    into = re.match(r"v_dot\dc_", second.name) is not None  # it adds to its own destination
    factors = frozenset(r for s in (sources[1:3] if into else sources[:2]) for r in s)
    yield 3, "the result of a dot product as a factor", vectors & factors


_NARROW = re.compile(r"v_cvt_(scalef32_)?(?!sr_pk_fp4)(sr_)?(pk_)?(fp8|bf8|fp4)_")


def _writes_part(site: Site) -> bool:
    """Whether an instruction writes only a half or a byte of its destination."""
    i = site.instruction
    if i.modifiers.get("dst_sel", "DWORD") != "DWORD":
        return True
    if (
        i.flag("op_sel")
        and not site.name.startswith("v_pk_")
        and not site.name.startswith("v_mad_mix")
    ):
        bits = i.bits("op_sel", 1)
        if len(bits) == len(i.operands) and bits[-1]:
            return True
    if _NARROW.match(site.name):  # op_sel names the byte or half of the destination behind sources
        return any(i.bits("op_sel", 4)[2:])
    return site.target == "gfx950" and site.name.startswith("v_cvt_scalef32_sr_pk_fp4")


def _after_store(first: Site, second: Site, live: Ids) -> Iterator[Need]:
    """Data of a wide store that is written again before it was read."""
    if not (second.vector or second.matrix) or not is_vector_memory(first.name):
        return
    data = _store_data(first)
    if len(data) > 2:
        yield _store_states(first), "the data of a wide store", data & second.uses.writes


def _store_states(site: Site) -> int:
    """With an offset register the data of a buffer store are read one state earlier."""
    i = site.instruction
    if not site.name.startswith("buffer_") or len(i.operands) < 4:
        return 2
    return 2 if literal(i.operands[3]) is not None or i.operands[3] == "off" else 1


def _store_data(site: Site) -> Ids:
    i, name = site.instruction, site.name
    if is_dma(i) or not ("_store_" in name or "_atomic_" in name):
        return NONE
    sources = site.uses.sources
    if name.startswith("buffer_"):
        return frozenset(sources[0]) if sources else NONE
    wide = [s for s in sources if s and s[0] < SGPR]
    return frozenset(wide[1]) if len(wide) > 1 else NONE


def _after_scalar_unit(first: Site, second: Site, live: Ids) -> Iterator[Need]:
    """M0 written by the scalar unit; hardware registers set and read back."""
    if not first.name.startswith("s_"):
        return
    if live & M0_IDS and (is_dma(second.instruction) or "addtid" in second.name
                          or second.name.startswith(("s_sendmsg", "s_movrel"))):  # fmt: skip
        yield 1, "M0", M0_IDS
    both = first.name.startswith("s_setreg") and second.name.startswith(("s_setreg", "s_getreg"))
    if both and _hardware(first.instruction) == _hardware(second.instruction):
        yield 2, "the same hardware register", frozenset((-1,))


def _hardware(instruction: Instruction) -> str:
    match = re.search(r"hwreg\(\s*([\w]+)", ",".join(instruction.operands))
    return match[1] if match else ",".join(instruction.operands)


def _after_matrix(first: Site, second: Site, live: Ids) -> Iterator[Need]:
    """Results and addends of the matrix unit."""
    if not first.matrix:
        return
    if second.matrix:
        yield from _matrix_after_matrix(first, second, live)
        return
    if not (second.vector or second.memory):
        return
    count = first.passes
    reads, writes = live & second.reads_vector(), live & second.uses.writes
    if is_double(first.name):
        small = count == 4
        yield (
            (9 if small else 18) if second.memory else _double_behind(first), "its result", reads,
        )  # fmt: skip
        yield 6 if small else 11, "its result", writes
        if re.match(r"v_fmac?_f64", second.name):
            yield 2, "the double-precision unit", frozenset((-1,))
        return
    yield count + _behind(first), "its result", reads | writes
    if is_xdl(first.name):
        addend = frozenset(first.addend)
        yield _READ_C.get(count, 15), "its addend", addend & second.uses.writes


def _behind(first: Site) -> int:
    """States after the last pass until a result can be used."""
    if not is_xdl(first.name):
        return 2
    return 4 if first.target == "gfx950" and first.passes != 2 else 3


def _double_behind(first: Site) -> int:
    """The same for products of double precision."""
    if first.passes == 4:
        return 6
    return 19 if first.target == "gfx950" else 11


def _matrix_after_matrix(first: Site, second: Site, live: Ids) -> Iterator[Need]:
    count, sources = first.passes, second.uses.sources
    factors = live & frozenset(r for s in second.factors for r in s)
    scales = live & frozenset(r for s in sources[3:] for r in s)  # or the index of a sparse one
    if is_double(first.name):
        yield _double_behind(first), "its result as a factor", factors | scales
    else:
        yield count + _behind(first), "its result as a factor", factors | scales
    addend = second.addend
    touched = live & frozenset(addend)
    if not touched:
        return
    if addend == first.uses_in_order():
        if is_double(first.name) and is_double(second.name) and count == 4 == second.passes:
            yield 4, "its result as the addend", touched
        elif count == 2:
            yield 2, "its result as the addend", touched
    elif is_double(first.name):
        if not is_xdl(second.name):
            wide = 17 if first.target == "gfx950" else 9
            yield 4 if count == 4 else wide, "part of its result as the addend", touched
    elif is_xdl(first.name) or not is_xdl(second.name):
        longer = first.target == "gfx950" and (count != 2 or is_xdl(second.name))
        more = (2 if longer else 1) if is_xdl(first.name) else 0
        yield count + more, "part of its result as the addend", touched


_RULES: tuple[Rule, ...] = (_after_vector, _after_store, _after_scalar_unit, _after_matrix)


def wait_state_hazards(kernel: Kernel) -> list[Hazard]:
    """Every pair of instructions that are too close to each other on some path."""
    code = kernel.instructions
    sites = [Site(i, uses_of(i), kernel.target) for i in code]
    found: dict[tuple[int, int], Hazard] = {}
    for at, first in enumerate(sites):
        reach = _reach(first)
        if not reach:
            continue
        for later, states, live in _following(kernel, sites, at, reach):
            second = sites[later]
            for rule in _RULES:
                for needed, what, registers in rule(first, second, live):
                    old = found.get((at, later))
                    if states < needed and registers and (old is None or old.needed < needed):
                        found[at, later] = Hazard(
                            first.instruction, second.instruction, states, needed, what, registers
                        )
    return list(found.values())


def _reach(site: Site) -> int:
    """Wait states after which nothing can go wrong with an instruction any more."""
    if site.matrix:
        return MOST if is_double(site.name) else site.passes + 4
    if site.vector:
        return 5
    if is_vector_memory(site.name):
        return 2 if len(_store_data(site)) > 2 else 0
    if site.name.startswith("s_setreg"):
        return 2
    return 1 if M0_IDS & site.uses.writes else 0


def _following(
    kernel: Kernel, sites: list[Site], at: int, reach: int
) -> Iterator[tuple[int, int, Ids]]:
    """Instructions within ``reach`` wait states, the states between, and results still live."""
    code = kernel.instructions
    best: dict[tuple[int, Ids], int] = {}
    live = sites[at].uses.writes
    stack = [(n, 0, live) for n in successors(kernel, at)]
    while stack:
        place, states, live = stack.pop()
        if states >= reach or best.get((place, live), reach) <= states:
            continue
        best[place, live] = states
        instruction = code[place]
        more = instruction.number_operand() + 1 if instruction.mnemonic == "s_nop" else 1
        after = live - sites[place].uses.writes if live else live
        stack += [(n, states + more, after) for n in successors(kernel, place)]
    for (place, live), states in best.items():
        yield place, states, live


def successors(kernel: Kernel, at: int) -> list[int]:
    """Instructions that may come next."""
    instruction = kernel.instructions[at]
    name = instruction.mnemonic
    if name.startswith("s_endpgm") or name in ("s_setpc_b64", "s_swappc_b64", "s_trap"):
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
