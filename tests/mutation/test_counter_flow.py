"""Edits of what a counter schedule with a declared dataflow computes, vector ops included.

What a mutant computes is decided by running one wave in order on symbols, which knows nothing of
the verifier; waits and barriers stay as they are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from warploom.frontend.simplify import simplify
from warploom.ir.schedule_ops import KOffsetKind, OpRole
from warploom.kernels.attention import attention
from warploom.passes.amdgcn.loop_schedule import schedule_kernel
from warploom.passes.amdgcn.plan import TilePlan
from warploom.verify import Code, verify

PHASES = ("prologue", "kernel", "epilogue")
AHEAD = {KOffsetKind.K_PREV: -1, KOffsetKind.K0: 0, KOffsetKind.K1: 1, KOffsetKind.K_NEXT: 2}
SAMPLE = 12
CASES = {"full": {}, "causal": {"causal": "end"}}


@cache
def scheduled(case):
    """The loop of attention on MI355X: two products around vector work."""
    types = dict.fromkeys(("q", "k", "v", "out"), "bf16")
    kernel = attention.specialise(
        types, sizes={"d": 64}, constants=CASES[case], without={"lengths", "lse"}
    )
    plan = TilePlan(kernel=simplify(kernel), extents={"s": 64, "t": 32, "d": 64})
    (schedule,) = schedule_kernel(plan).by_loop.values()
    return schedule.document


def mutants(document):
    """(operator, where, document), one edit each."""
    for phase in PHASES:
        row = getattr(document, phase)
        ops = [i for i, e in enumerate(row) if e.op.tag < 128]
        for n, i in enumerate(ops):
            for operator, new in edits(row, ops, n):
                yield (
                    operator,
                    f"{phase}[{i}] {row[i].op.label()}",
                    replace(document, **{phase: tuple(new)}),
                )


def edits(row, ops, n):
    i, op = ops[n], row[ops[n]].op
    yield "drop", (*row[:i], *row[i + 1 :])
    yield "double", (*row[:i], row[i], *row[i:])
    for j in ops[n + 1 : n + 5]:
        new = list(row)
        new[i], new[j] = new[j], new[i]
        yield "swap", new
    for j in (ops[0], ops[-1]):
        new = list(row)
        new.insert(j, new.pop(i))
        yield "move", new
    others = [replace(op, subtile=op.subtile ^ 1)]
    if op.role in (OpRole.GLOBAL_LOAD, OpRole.FRAGMENT_LOAD):
        others.append(replace(op, stage=op.stage ^ 1))
    if op.k_offset is not KOffsetKind.NONE:
        others += [replace(op, k_offset=k) for k in AHEAD if k is not op.k_offset]
    for other in others:
        yield "retarget", (*row[:i], replace(row[i], op=other), *row[i + 1 :])


def computed(document, trips):
    """What the stores find, and how often every op ran."""
    flow, protocol = document.flow, document.protocol
    ops = {(op.name, op.args[0] if op.args else 0): op for op in flow.ops}
    home = {h.value: h.place for h in flow.homes}
    total = protocol.kernel_k_base + protocol.k_tiles_per_iteration * trips
    held, ran = {}, Counter()
    start = next(op for op in flow.ops if op.role == "setup")
    held.update({home[v]: v for v in start.results})
    loops = [protocol.kernel_k_base + protocol.k_tiles_per_iteration * i for i in range(trips)]
    lists = [(document.prologue, 0), *((document.kernel, b) for b in loops)]
    for row, base in (*lists, (document.epilogue, total)):
        for entry in row:
            op = ops.get((entry.op.name, entry.op.subtile)) if entry.op.tag < 128 else None
            if entry.op.tag < 128 and op is None:
                return f"no {entry.op.label()}", ran
            if op is None:
                continue
            ran[op.name, op.args] += 1

            def place(value, slot=(entry.op.channel, entry.op.stage)):
                return slot if "." in home[value] else home[value]

            taken = tuple(held.get(place(o.value)) for o in op.operands)
            if entry.op.role is OpRole.GLOBAL_LOAD:
                offset = entry.op.k_offset  # without one it is the next tile of its channel
                taken = (base + AHEAD[offset] if offset in AHEAD else ran[op.name, op.args] - 1,)
            # Nested tuples would grow without end: a value is the hash of what made it.
            held.update({place(v): hash((v, taken)) for v in op.results})
    store = next(op for op in flow.ops if op.stores)
    return tuple(held.get(home[o.value]) for o in store.operands), ran


def judged(document, mutants):
    """Counts of outcomes, and those in which verifier and symbols disagree."""
    right = [computed(document, n) for n in range(4)]
    out, disputed = Counter(), []
    for operator, where, mutant in mutants:
        wrong = [computed(mutant, n) for n in range(4)] != right
        report = verify(mutant)
        flow = any(f.code is Code.FLOW for f in report.findings)
        out["found" if wrong else "raced" if report.races() else "passed"] += 1
        if (wrong and not flow) or (not wrong and flow):
            disputed.append((operator, where, wrong, report.verdict))
    return out, disputed


def test_a_sample_of_mutants_gets_the_right_verdict():
    document = scheduled("full")
    every = tuple(mutants(document))
    out, disputed = judged(document, every[3 :: -(-len(every) // SAMPLE)])
    assert not disputed
    assert out["found"] >= SAMPLE // 2


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("case", CASES)
def test_every_mutant_gets_the_right_verdict(case):
    document = scheduled(case)
    out, disputed = judged(document, mutants(document))
    assert not disputed
    assert out["found"] > 300
