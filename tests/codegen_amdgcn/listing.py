"""Schedule documents from the short listing form: ``LA[0,1,K1] W8 L0 B P1 MMA[0,0] S``."""

from __future__ import annotations

import re

from warploom.ir import Counters, Protocol, ScheduleDocument
from warploom.ir.schedule_ops import (
    KOffsetKind,
    OpDesc,
    OpRole,
    OpTag,
    Phase,
    ResourceKind,
    ScheduleEntry,
)

TAGS = {
    "LA": (OpTag(0, "LOAD_A"), OpRole.GLOBAL_LOAD, ResourceKind.GLOBAL_MEM, 0),
    "LB": (OpTag(1, "LOAD_B"), OpRole.GLOBAL_LOAD, ResourceKind.GLOBAL_MEM, 1),
    "FA": (OpTag(3, "MMA_LOAD_A"), OpRole.FRAGMENT_LOAD, ResourceKind.LDS, 0),
    "FB": (OpTag(4, "MMA_LOAD_B"), OpRole.FRAGMENT_LOAD, ResourceKind.LDS, 1),
    "MMA": (OpTag(5, "MMA"), OpRole.COMPUTE, ResourceKind.MMA_UNIT, -1),
}
STAGED = {
    "LOAD": (OpTag(0, "LOAD_DRAM"), OpRole.GLOBAL_LOAD, ResourceKind.GLOBAL_MEM, 0),
    "STORE": (OpTag(1, "STORE_SMEM"), OpRole.SHARED_STORE, ResourceKind.LDS, 0),
    "FRAG": (OpTag(2, "LOAD_FRAG"), OpRole.FRAGMENT_LOAD, ResourceKind.LDS, 0),
    "COMP": (OpTag(3, "COMPUTE"), OpRole.COMPUTE, ResourceKind.MMA_UNIT, -1),
}


def op_of(word: str) -> OpDesc:
    if word == "B":
        return OpDesc.barrier()
    if word == "S":
        return OpDesc.schedule_barrier()
    if m := re.fullmatch(r"([WLP])(\d+)", word):
        make = {"W": OpDesc.wait_vm, "L": OpDesc.wait_lgkm, "P": OpDesc.set_prio}[m[1]]
        return make(int(m[2]))
    if m := re.fullmatch(r"(\w+?)(\d?)", word):
        tag, role, resource, channel = STAGED[m[1]]
        return OpDesc.op(tag, resource, 0, role, channel=channel, subtile=int(m[2] or 0))
    m = re.fullmatch(r"(\w+)\[(\d),(\d)(?:,(\w+))?\]", word)
    assert m, word
    tag, role, resource, channel = TAGS[m[1]]
    return OpDesc.op(
        tag,
        resource,
        0,
        role,
        channel=channel,
        stage=int(m[2]),
        subtile=int(m[3]),
        k_offset=KOffsetKind[m[4] or "NONE"],
    )


def entries(text: str, phase: Phase) -> tuple[ScheduleEntry, ...]:
    words = [w for w in text.split() if w != "|"]
    return tuple(ScheduleEntry(op=op_of(w), time_slot=i, phase=phase) for i, w in enumerate(words))


def document(name, prologue, kernel, epilogue, protocol, counters) -> ScheduleDocument:
    return ScheduleDocument(
        name=name,
        target="mi355x",
        strategy="listing",
        protocol=protocol,
        counters=counters,
        prologue=entries(prologue, Phase.PROLOGUE),
        kernel=entries(kernel, Phase.KERNEL),
        epilogue=entries(epilogue, Phase.EPILOGUE),
    )


def _flip(half: str) -> str:
    def swap(m: re.Match) -> str:
        k = {"K_PREV": "K0", "K0": "K1"}.get(m[4], m[4])
        return f"{m[1]}[{1 - int(m[2])},{m[3]}" + (f",{k}]" if m[4] else "]")

    return re.sub(r"\b(LA|LB|FA|FB)\[(\d),(\d)(?:,(\w+))?\]", swap, half)


def pingpong(vm: int = 2) -> ScheduleDocument:
    half = (
        "FB[0,0] FA[0,0] LA[1,1,K_PREV] L8 B L0 P1 MMA[0,0] P0 B S "
        "FB[0,1] LB[0,0,K0] B L0 P1 MMA[0,1] P0 B "
        "FA[0,1] LA[0,0,K0] B L0 P1 MMA[1,0] P0 B S "
        f"LB[0,1,K0] W{3 * vm} B P1 MMA[1,1] P0 B"
    )
    return document(
        "pingpong",
        "LB[0,0,K0] LA[0,0,K0] LB[0,1,K0] LA[0,1,K0] W0 B LB[1,0,K1] LA[1,0,K1] LB[1,1,K1] W0",
        f"{half} {_flip(half)}",
        "L0 FB[0,0] FA[0,0] LA[1,1,K_PREV] B L0 P1 MMA[0,0] P0 B "
        "L0 FB[0,1] W0 B L0 P1 MMA[0,1] P0 B L0 FA[0,1] W0 B L0 P1 MMA[1,0] MMA[1,1] P0 B "
        "L0 FB[1,0] FA[1,0] W0 B L0 P1 MMA[0,0] P0 B L0 FB[1,1] W0 B L0 P1 MMA[0,1] P0 B "
        "L0 FA[1,1] B L0 P1 MMA[1,0] MMA[1,1] P0 B B",
        Protocol(
            groups=2,
            waves_per_group=4,
            stagger_index=4,
            barrier_after_prologue=True,
            tail_barriers=(1, 0),
        ),
        Counters(vm_per_load=(vm, vm), lgkm_per_load=(8, 4)),
    )


FOUR_WAVE_PROLOGUE = (
    "LA[0,0,K0] LB[0,0,K0] LB[0,1,K0] LA[0,1,K0] LA[1,0,K1] LB[1,0,K1] LB[1,1,K1] LA[1,1,K1] "
    "W28 B FA[0,0] W24 B FB[0,0]"
)


def _fourwave(name: str, half: str, epilogue: str) -> ScheduleDocument:
    return document(
        name,
        FOUR_WAVE_PROLOGUE,
        f"{half} {_flip(half)}",
        epilogue,
        Protocol(groups=1, waves_per_group=4, tail_barriers=(0,)),
        Counters(vm_per_load=(4, 4), lgkm_per_load=(8, 8)),
    )


def fourwave_reference() -> ScheduleDocument:
    frags = ["FB[0,1]", "FA[0,1]", "FA[1,0]", "FB[1,0]", "FB[1,1]", "FA[1,1]", "FA[0,0]", "FB[0,0]"]
    mmas = ["MMA[0,0]", "MMA[0,1]", "MMA[1,0]", "MMA[1,1]"] * 2
    groups = [f"L0 {f} W0 {m}" for f, m in zip(frags, mmas, strict=True)]
    return _fourwave(
        "fourwave-reference",
        "W16 L8 B FB[0,1] S LA[0,0,K0] MMA[0,0] L0 FA[0,1] S LB[0,0,K0] MMA[0,1] "
        "W16 L0 B FA[1,0] S LB[0,1,K0] MMA[1,0] FB[1,0] S LA[0,1,K0] W16 MMA[1,1]",
        " ".join(groups[:-1]) + " L0 FB[0,0] MMA[1,1] B",
    )


def fourwave_proven() -> ScheduleDocument:
    return _fourwave(
        "fourwave-proven",
        "W16 L0 B FB[0,1] S LA[0,0,K0] MMA[0,0] FA[0,1] S LB[0,0,K0] L8 MMA[0,1] "
        "W16 L0 B FA[1,0] S LB[0,1,K0] MMA[1,0] FB[1,0] S LA[0,1,K0] MMA[1,1]",
        "W0 B FB[0,1] L8 MMA[0,0] FA[0,1] L8 MMA[0,1] FA[1,0] L8 MMA[1,0] FB[1,0] MMA[1,1] "
        "FB[1,1] L8 MMA[0,0] FA[1,1] L8 MMA[0,1] FA[0,0] L8 MMA[1,0] FB[0,0] MMA[1,1] B",
    )


def single_buffer() -> ScheduleDocument:
    from warploom.ir import BarrierKind, RegisterWaits

    return document(
        "single-buffer",
        "LOAD STORE B LOAD FRAG0 S",
        "FRAG1 COMP0 B STORE LOAD COMP1 B FRAG0",
        "S FRAG1 B STORE COMP0 COMP1 S B FRAG1 FRAG0 COMP0 COMP1 S",
        Protocol(
            groups=1,
            waves_per_group=4,
            tail_barriers=(0,),
            k_tiles_per_iteration=1,
            kernel_k_base=2,
            barrier=BarrierKind.FENCING,
            register_waits=RegisterWaits.COMPILER,
        ),
        Counters(vm_per_load=(4, 4), lgkm_per_load=(0, 0)),
    )
