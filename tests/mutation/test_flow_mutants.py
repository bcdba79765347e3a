"""Whatever changes what a program computes is found, vector ops included; nothing else is."""

from __future__ import annotations

from collections import Counter

import pytest
from warploom.hopper import GemmKernel
from warploom.hopper.attention import AttentionKernel
from warploom.launch.shipped import SHIPPED_ATTENTION, shipped_schedule

from tests.roles.flows import attention_flow, gemm_flow
from tests.roles.samples import gemm_document
from warploom.document.roles import Compute
from warploom.run.roles import first_fault
from warploom.verify.roles import verify_roles

from .flow_mutants import computes_the_same, flow_mutants

ATTENTION = shipped_schedule(AttentionKernel().name)
GEMM = gemm_document()
RUNS = ((1, 2), (3, 1), (2, 2, 2))


def judge(document, mutants):
    """How the verifier and the truth agree."""
    out, disputed = Counter(), []
    for m in mutants:
        clean = verify_roles(m.document).clean
        same = computes_the_same(m.document, document)
        if not same:
            out["found" if not clean else "missed"] += 1
            disputed += [] if not clean else [(m.operator, m.where)]
        elif clean:
            out["harmless"] += 1
        else:  # the same values, so it must be a race
            faults = (first_fault(m.document, t, range(25), intended=document) for t in RUNS)
            shown = any(f is not None for f in faults)
            out["race" if shown else "reported only"] += 1
            disputed += [] if shown else [(m.operator, m.where)]
    return out, disputed


@pytest.mark.parametrize("flow", [False, True], ids=["known ops", "declared"])
@pytest.mark.parametrize("name", ["attention", "gemm"])
def test_a_sample_of_mutants_is_judged_right(name, flow):
    document, declare = {"attention": (ATTENTION, attention_flow), "gemm": (GEMM, gemm_flow)}[name]
    document = declare(document) if flow else document
    mutants = tuple(flow_mutants(document))
    step = len(mutants) // 20
    out, disputed = judge(document, mutants[flow::step])
    assert not disputed, (out, disputed)
    assert out["found"] > 10


def test_the_operators_reach_vector_ops():
    mutants = tuple(flow_mutants(ATTENTION))
    operators = Counter(m.operator for m in mutants)
    for name in ("drop op", "double op", "swap ops", "move op", "retarget reads"):
        assert operators[name] > 5, operators
    vector = {e.op for e in ATTENTION.program("consumer").kernel if isinstance(e, Compute)}
    for op in vector:
        assert any(f"Compute {op}" in m.where and m.operator == "drop op" for m in mutants)


def test_the_authors_line_is_named():
    document = attention_flow(ATTENTION)
    [dropped] = [
        m
        for m in flow_mutants(document)
        if m.operator == "drop op" and "kernel" in m.where and "Compute exp" in m.where
    ]
    found = verify_roles(dropped.document).races()
    assert "attention.py:14" in {f.line for f in found}
    assert "attention.py:14" in verify_roles(dropped.document).text()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "document",
    [shipped_schedule(k.name) for k in SHIPPED_ATTENTION]
    + [gemm_document(k) for k in (GemmKernel(), GemmKernel(cluster=(2, 1)), GemmKernel(stages=2))],
    ids=lambda d: d.name,
)
def test_every_mutant_of_every_shipped_kernel_is_judged_right(document):
    out, disputed = judge(document, flow_mutants(document))
    assert not disputed, (out, disputed)
