"""Schedule documents for the judge's tests: from golden outputs, and written by hand."""

from dataclasses import replace
from functools import cache

from tests.recorded import cases, recorded
from warploom.ir import Counters, Protocol, ScheduleDocument
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, OpRole, OpTag, Phase, ScheduleEntry


@cache
def golden_cases(family):
    return {name.split("/", 1)[1]: case for name, case in cases(family).items()}


def golden_document(family, name):
    return replace(recorded(family, f"{family}/{name}"), name=name)


def pingpong_named(scheduling, max_globals, lgkm=(8, 4)):
    """The first plain golden ping-pong document of a strategy and max_globals."""
    for name, case in golden_cases("pingpong").items():
        i = case["inputs"]
        p, s = i["pipeline_config"], i["schedule_config"]
        if (
            s["scheduling"] == scheduling
            and p["block_sizing"] == {"heavy": 4, "light": 2, "max_globals": max_globals}
            and p["frag_order"]["b_before_a"]
            and (p["vm_per_load_a"], p["vm_per_load_b"]) == (4, 4)
            and (i["lgkm_a"], i["lgkm_b"]) == lgkm
        ):
            return golden_document("pingpong", name)
    raise LookupError((scheduling, max_globals))


_K = {"": "NONE", "0": "K0", "1": "K1", "2": "K_NEXT", "-": "K_PREV"}


def op(text):
    """``LA[1,0]0`` load A stage 1 subtile 0 at K0 (- is K_PREV, nothing NONE); ``FB[0,1]`` a
    fragment; ``M[0,1]`` MMA; ``SA[0,0]`` store; ``W4``/``L2`` waits; ``B`` barrier; ``X`` no
    effect."""
    head = text.split("[")[0]
    if text == "B":
        return OpDesc.barrier()
    if text == "X":
        return OpDesc.schedule_barrier()
    if head[0] == "W":
        return OpDesc.wait_vm(int(head[1:]))
    if head[0] == "L" and head[1:].isdigit():
        return OpDesc.wait_lgkm(int(head[1:]))
    inside, k = text.split("[")[1].split("]")
    stage, subtile = (int(v) for v in inside.split(","))
    tags = {"LA": 0, "LB": 1, "SA": 6, "SB": 7, "FA": 3, "FB": 4, "M": 5}
    names = {"LA": "LOAD_A", "LB": "LOAD_B", "SA": "STORE_A", "SB": "STORE_B"}
    names |= {"FA": "FRAG_A", "FB": "FRAG_B", "M": "MMA"}
    roles = {"L": OpRole.GLOBAL_LOAD, "S": OpRole.SHARED_STORE, "F": OpRole.FRAGMENT_LOAD}
    return OpDesc(
        tag=OpTag(tags[head], names[head]),
        role=roles.get(head[0], OpRole.COMPUTE),
        channel=-1 if head == "M" else "AB".index(head[1]),
        stage=stage,
        subtile=subtile,
        k_offset=KOffsetKind[_K[k]],
        latency={"L": 200, "S": 20, "F": 20, "M": 16}[head[0]],
    )


def phase(text, which):
    return tuple(
        ScheduleEntry(op=op(word), time_slot=i, phase=which) for i, word in enumerate(text.split())
    )


def document(prologue="", kernel="", epilogue="", *, vm=(1, 1), lgkm=(1, 1), **protocol):
    """A document from three lines of op words; protocol fields as keywords."""
    base = Protocol(waves_per_group=2, k_tiles_per_iteration=1, kernel_k_base=1)
    return ScheduleDocument(
        name="hand-written",
        target="test",
        strategy="none",
        protocol=replace(base, **protocol),
        counters=Counters(vm_per_load=vm, lgkm_per_load=lgkm),
        prologue=phase(prologue, Phase.PROLOGUE),
        kernel=phase(kernel, Phase.KERNEL),
        epilogue=phase(epilogue, Phase.EPILOGUE),
    )
