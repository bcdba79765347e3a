"""Axioms: what a verdict takes for granted about hardware and tools.

Each axiom has a name, a statement, where it comes from, what is doubtful about it, a default and
the parts that rely on it. A report names the axioms that its verdict used; ``--axiom NAME=off``
turns one off. ``docs/reference/axioms.md`` is generated from this table.
"""

from __future__ import annotations

from collections.abc import Mapping

from warploom.dataclass import dataclass
from warploom.errors import CheckError


@dataclass(frozen=True, slots=True, kw_only=True)
class Axiom:
    """One assumption; ``switch`` is whether it can be turned off."""

    name: str
    statement: str
    source: str
    doubt: str
    default: bool = True
    used_by: str = "check (PTX)"
    switch: bool = True


AXIOMS: tuple[Axiom, ...] = (
    Axiom(
        name="war_proxy",
        statement=(
            "A generic read that a barrier orders before an asynchronous overwrite "
            "(bulk copy) "
            "of the same shared memory needs no proxy fence."
        ),
        source="All vendors' own kernels release a slot that was read by ordinary loads with a "
        "barrier alone.",
        doubt="The letter of the PTX memory model asks for a proxy fence between any accesses "
        "through different proxies.",
    ),
    Axiom(
        name="wgmma_per_warp",
        statement="wgmma.wait_group completes the products of the executing warp only: it says "
        "nothing of the accumulators and operand reads of the other three warps.",
        source="PTX describes the wait by executing threads; kernels that arrive once a warp are "
        "right either way.",
        doubt="Common libraries arrive once a warpgroup after one thread's wait, and this has been "
        "correct in every run measured. Turned off, a wait covers the whole warpgroup.",
    ),
    Axiom(
        name="wgmma_rows",
        statement="Of an A operand in shared memory each of the four warps reads its own 16 rows.",
        source="The layout of the result gives each warp 16 rows; FlashAttention-3 writes P to "
        "shared memory and orders it with __syncwarp alone before the product.",
        doubt="PTX says that the warpgroup reads the matrix, not which warp reads what. Turned "
        "off, each warp counts as a reader of all 64 rows.",
    ),
    Axiom(
        name="warp_wait",
        statement="Lanes of a warp may leave a try_wait loop at different times, and each lane "
        "knows only what it waited for itself; a later bar.warp.sync shares it. The warp's own "
        "wgmma counts as ordered when one lane waited.",
        source="Independent thread scheduling (PTX, Volta and later).",
        doubt="Compilers usually reconverge the warp after the loop, so one lane's wait holds the "
        "others as well. Turned off, what one lane knows its whole warp knows.",
    ),
    Axiom(
        name="read_done",
        statement="A load or an awaited wgmma that precedes an arrival, or a store to a flag, in "
        "program order has read its bytes when that is seen, also where it is relaxed or of a "
        "narrower scope than its observer.",
        source="Remote arrivals on empty barriers without .release.cluster in vendors' kernels; "
        "credits that are given back by a volatile store.",
        doubt="The memory model gives a relaxed operation no order. It is used for slots that were "
        "only read; writes need a release of sufficient scope.",
    ),
    Axiom(
        name="writer_fence",
        statement="A writer's fence of GPU scope, then a CTA barrier, then a relaxed atomic by "
        "another thread of the CTA publish the writes.",
        source="The usual order __threadfence(); __syncthreads(); if (thread 0) atomicAdd(...).",
        doubt="By the letter the fence has to stand in the thread that makes the atomic.",
    ),
    Axiom(
        name="grid_wait",
        statement="A kernel that executes griddepcontrol.wait is launched while the grid before it "
        "still runs, and any global memory may be that grid's until the wait.",
        source="PTX: the wait orders the memory operations of prerequisite grids; nothing else "
        "does.",
        doubt="Kernels may read memory before the wait that no earlier grid writes (weights, "
        "lengths). Turned off, the launch counts as the only one of its stream.",
    ),
    Axiom(
        name="late_waiters",
        statement="A thread may be held up for any time in front of a wait, also a thread that "
        "does nothing with what it waited for. Where a phase can complete twice meanwhile, each "
        "such warp is held back as long as anything else goes on: a hang is a finding, a warp that "
        "gets through a note.",
        source="A parity tells two phases apart only. A wait for phase q of a barrier that "
        "completes F phases without the waiter passes late where F - q is odd, and never where it "
        "is even; triton-lang/triton#10035 is a hang of this kind in practice.",
        doubt="Warps that wait with others and do nothing else (TileLang's producer warps) are in "
        "practice hardly ever that late, and such a warp touches no memory afterwards. The default "
        "is on all the same: the late warp never ends, so the kernel hangs, and a verdict is about "
        "every timing. Turned off, lapped waiters are not reported and no warp is held back on "
        "purpose; a report with findings gives that verdict as well.",
    ),
    Axiom(
        name="elect_lowest",
        statement="elect.sync elects the lowest lane of its mask.",
        source="Every kernel that mixes elect.sync with a test for lane 0 (one issues a bulk copy, "
        "the other waits for it) relies on it.",
        doubt="PTX says only that the same lane is elected for the same mask. Turned off, it is "
        "the highest.",
    ),
    Axiom(
        name="reconvergence",
        statement="Lanes that diverged at a branch meet again at its immediate post-dominator "
        "unless one of them blocks.",
        source="What ptxas emits (BSSY/BSYNC) for structured control flow.",
        doubt="PTX promises reconvergence only at instructions that carry a member mask.",
        switch=False,
    ),
    Axiom(
        name="same_control",
        statement=(
            "Control flow and addresses depend on the launch, not on timing, except "
            "where the "
            "report lists draws (atomics, flags, clocks); of these, several orders are run."
        ),
        source="How pipelined kernels are written; reads of such values are seen and listed.",
        doubt="Orders of draws are sampled, not enumerated.",
        switch=False,
    ),
    Axiom(
        name="progress",
        statement="Every thread that can go on goes on eventually, and all CTAs of the launch that "
        "wait for each other are resident.",
        source="Forward-progress guarantee of sm_70 and later; the launch is small.",
        doubt="A grid larger than the GPU with CTAs that wait for later CTAs hangs on hardware.",
        switch=False,
    ),
    Axiom(
        name="vm_order",
        statement="On gfx942 and gfx950 a partial vmcnt orders LDS-DMA loads: they complete in "
        "order of issue.",
        source="LLVM and rocjitsu derive partial waits from it.",
        doubt="ROCm/aiter#3413 and iree-org/wave#534 report completion out of order. Turned off, "
        "only vmcnt(0) proves that an LDS-DMA load has landed.",
        used_by="check (AMDGCN); verify of counter schedules (A1); the emitted MI355X kernels",
    ),
    Axiom(
        name="lds_order",
        statement="LDS operations of one wave complete in order, so a partial lgkmcnt orders them "
        "as long as no scalar load is in flight.",
        source="CDNA3 and CDNA4 ISA documents, counters; LLVM SIInsertWaitcnts.",
        doubt="None known.",
        used_by="check (AMDGCN); verify of counter schedules (A2)",
    ),
    Axiom(
        name="counter_stall",
        statement="Issuing beyond the capacity of a counter waits until the oldest operation "
        "retires, so what is older than the capacity is complete.",
        source="CDNA ISA documents: counters saturate and issue stalls; generated kernels of "
        "hipBLASLt rely on it (ROCm/rocm-systems#11202).",
        doubt="With scalar loads or flat accesses in flight nothing says which one retires, and "
        "nothing is derived then. The report gives the verdict without the stall as well.",
        used_by="check (AMDGCN); verify of counter schedules (A3)",
    ),
    Axiom(
        name="cu_order",
        statement="Vector accesses to global memory by the waves of one workgroup reach its cache "
        "in order of issue: a barrier alone orders them, and a write-back (buffer_wbl2) by one "
        "wave covers what the others issued before the barrier in front of it.",
        source="LLVM's AMDGPU memory model: outside of threadgroup split mode a release at "
        "workgroup scope waits for LDS only; LLVM emits no vmcnt wait before the barrier.",
        doubt="It does not hold in threadgroup split mode, and a flag without a write-back in "
        "front of it publishes what was waited for only. Turned off, the store needs its vmcnt "
        "wait before the barrier.",
        used_by="check (AMDGCN)",
    ),
    Axiom(
        name="exited_waves",
        statement="A wave that ends early, without an access to memory since its last barrier, is "
        "not waited for at later barriers.",
        source="ISA documents, S_BARRIER: terminated waves are not waited for.",
        doubt="A wave that went around a barrier and worked on is reported as a deadlock all the "
        "same, and an ended wave orders none of its accesses for the others.",
        used_by="check (AMDGCN)",
    ),
    Axiom(
        name="mfma_interlock",
        statement="The hardware holds back instructions that come too early for wait states.",
        source="None: compilers keep the distance with s_nop.",
        doubt="Turned on, missing wait states are not reported.",
        default=False,
        used_by="check (AMDGCN)",
    ),
)
_BY_NAME = {a.name: a for a in AXIOMS}


def resolve(given: Mapping[str, bool] | None = None) -> dict[str, bool]:
    """Every axiom's setting: the defaults, and what is given."""
    result = {a.name: a.default for a in AXIOMS}
    for name, value in (given or {}).items():
        axiom = _BY_NAME.get(name)
        if axiom is None:
            raise CheckError(
                f"no axiom {name[:40]!r}", where="axioms", fix=f"one of {', '.join(_BY_NAME)}"
            )
        if not axiom.switch and bool(value) != axiom.default:
            raise CheckError(f"the axiom {name} has no switch", where="axioms", why=axiom.doubt)
        result[name] = bool(value)
    return result


def parse_axiom(text: str) -> tuple[str, bool]:
    """``NAME=on`` or ``NAME=off``."""
    name, _, value = text.partition("=")
    if value not in ("on", "off"):
        raise CheckError(
            f"{text[:40]!r} is no setting of an axiom", fix="write NAME=on or NAME=off"
        )
    resolve({name: _BY_NAME[name].default if name in _BY_NAME else True})
    return name, value == "on"


def stated(name: str, *, on: bool | None = None) -> str:
    """An axiom as a report's ``assumes`` line."""
    axiom = _BY_NAME[name]
    setting = axiom.default if on is None else on
    return f"{name}={'on' if setting else 'off'}: {axiom.statement}"


def page() -> str:
    """The page of axioms in Markdown."""
    lines = [
        "# Axioms",
        "",
        "Everything a verdict of `warploom verify` or `warploom check` takes for granted about",
        "hardware and tools. Generated from `warploom.axioms`; a report names the axioms its",
        "verdict used, and `warploom check --axiom NAME=off` turns one off where it has a switch.",
        "",
    ]
    for a in AXIOMS:
        switch = f"`--axiom {a.name}={'off' if a.default else 'on'}`" if a.switch else "none"
        lines += [
            f"## {a.name}",
            "",
            a.statement,
            "",
            f"- Source: {a.source}",
            f"- Doubt: {a.doubt}",
            f"- Default: {'on' if a.default else 'off'}. Switch: {switch}.",
            f"- Relied on by: {a.used_by}.",
            "",
        ]
    return "\n".join(lines)
