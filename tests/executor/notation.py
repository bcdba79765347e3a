"""Short documents from text: ``LA[0,1]K0 LB[1,0] W4 L0 B FA[0,0] FB[0,1] M[0,1] S P1``."""

import re

from warploom.ir import Counters, Protocol, ScheduleDocument
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, OpRole, OpTag, Phase, ScheduleEntry

_DATA = re.compile(r"(LA|LB|FA|FB|M|ST|D)\[(\d+),(\d+)\](K0|K1|K_PREV|K_NEXT)?")
_KINDS = {
    "LA": (OpTag(0, "LOAD_A"), OpRole.GLOBAL_LOAD, 0),
    "LB": (OpTag(1, "LOAD_B"), OpRole.GLOBAL_LOAD, 1),
    "FA": (OpTag(3, "MMA_LOAD_A"), OpRole.FRAGMENT_LOAD, 0),
    "FB": (OpTag(4, "MMA_LOAD_B"), OpRole.FRAGMENT_LOAD, 1),
    "M": (OpTag(5, "MMA"), OpRole.COMPUTE, -1),
    "D": (OpTag(6, "LOAD_DRAM"), OpRole.GLOBAL_LOAD, 0),
    "ST": (OpTag(7, "STORE_SMEM"), OpRole.SHARED_STORE, 0),
}


def op(text):
    if match := _DATA.fullmatch(text):
        kind, stage, subtile, k = match.groups()
        tag, role, channel = _KINDS[kind]
        offset = KOffsetKind[k] if k else KOffsetKind.NONE
        return OpDesc(
            tag=tag,
            role=role,
            channel=channel,
            stage=int(stage),
            subtile=int(subtile),
            k_offset=offset,
            lgkm_cost=int(kind == "ST"),
        )
    if text == "B":
        return OpDesc.barrier()
    if text == "S":
        return OpDesc.schedule_barrier()
    kind, number = text[0], int(text[1:])
    return {"W": OpDesc.wait_vm, "L": OpDesc.wait_lgkm, "P": OpDesc.set_prio}[kind](number)


def entries(text, phase):
    return tuple(
        ScheduleEntry(op=op(word), time_slot=i, phase=phase)
        for i, word in enumerate(text.replace("|", " ").split())
    )


def written(prologue, kernel="", epilogue="", *, name="small", vm=(1, 1), lgkm=(1, 1), **protocol):
    """A document in notation; by default one group of two waves and one K-tile an iteration."""
    base = {"waves_per_group": 2, "k_tiles_per_iteration": 1, "kernel_k_base": 1}
    return ScheduleDocument(
        name=name,
        target="test",
        strategy="by hand",
        protocol=Protocol(**(base | protocol)),
        counters=Counters(vm_per_load=vm, lgkm_per_load=lgkm),
        prologue=entries(prologue, Phase.PROLOGUE),
        kernel=entries(kernel, Phase.KERNEL),
        epilogue=entries(epilogue, Phase.EPILOGUE),
    )


def replace_entries(document, phase, *edits):
    """The document with ``(index, words or "")`` edits: the entry is replaced by the words."""
    from dataclasses import replace

    table = dict(edits)
    new = []
    for i, entry in enumerate(document.phase(phase)):
        if i not in table:
            new.append(entry)
        else:
            new += entries(table[i], phase)
    return replace(document, **{phase.name.lower(): tuple(new)})
