"""Whatever changes what a program computes is found, vector ops included; nothing else is."""

from __future__ import annotations

import inspect
from collections import Counter
from importlib import import_module
from pkgutil import iter_modules

import pytest

from tests.mbarrier.flows import gemm_flow
from tests.mbarrier.gemm_kernel import GemmKernel
from tests.mbarrier.samples import SHIPPED, gemm_document, lowered
from warploom import kernels
from warploom.frontend.tile_kernel import TileKernel
from warploom.ir.mbarrier_dialect import Compute
from warploom.verify.roles import verify_roles

from .flow_mutants import flow_mutants, judge_flow
from .role_score import RoleVerdict

GEMM = gemm_document()


def judge(document, mutants):
    """How the verifier and the truth agree, and where they do not."""
    outcomes = [judge_flow(m, document) for m in mutants]
    disputed = [
        (o.verdict.value, o.mutant.operator, o.mutant.where, o.codes)
        for o in outcomes
        if o.verdict in (RoleVerdict.MISSED, RoleVerdict.REPORTED_ONLY)
    ]
    return Counter(o.verdict.value for o in outcomes), disputed


SUBJECTS = {
    "known ops": lambda: GEMM,
    "declared": lambda: gemm_flow(GEMM),
    **{f"{name} text": lambda name=name: lowered(name).document for name in SHIPPED},
}
SAMPLE = 10
QUICK = ("gemm", "attention", "packed_grad", "blocked", "grouped_weights", "grouped_scattered")
OFTEN = ("known ops", "declared", *(f"{name} text" for name in QUICK))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in OFTEN else pytest.mark.slow) for n in SUBJECTS]
)
def test_a_sample_of_mutants_gets_the_right_verdict(name):
    document = SUBJECTS[name]()
    mutants = tuple(flow_mutants(document))
    out, disputed = judge(document, mutants[1 :: -(-len(mutants) // SAMPLE)])
    assert not disputed, (out, disputed)
    assert out["found"] >= SAMPLE // 2


def test_every_text_with_a_loop_is_a_subject():
    modules = [import_module(m.name) for m in iter_modules(kernels.__path__, "warploom.kernels.")]
    texts = {t.name: t for m in modules for t in vars(m).values() if isinstance(t, TileKernel)}
    with_loop = {n for n, t in texts.items() if "wl.steps(" in inspect.getsource(t.function)}
    assert len(with_loop) >= 20
    assert set(texts) - with_loop == {"prepared", "converted", "summed", "picked_rows"}
    on_mi355x = {"split_product", "summed_parts", "conv2d"}  # machine code, no role program
    assert {s.text.name for s in SHIPPED.values()} == with_loop - on_mi355x


def test_the_operators_reach_vector_ops():
    document = lowered("attention").document
    mutants = tuple(flow_mutants(document))
    operators = Counter(m.operator for m in mutants)
    for name in ("drop op", "double op", "swap ops", "move op", "retarget reads"):
        assert operators[name] > 5, operators
    vector = {e.op for e in document.program("consumer").kernel if isinstance(e, Compute)}
    assert vector
    for op in vector:
        assert any(f"Compute {op}" in m.where and m.operator == "drop op" for m in mutants)


def test_the_authors_line_is_named():
    document = lowered("attention").document
    dropped = next(
        m
        for m in flow_mutants(document)
        if m.operator == "drop op" and "kernel" in m.where and "Compute" in m.where
    )
    report = verify_roles(dropped.document)
    lines = {f.line for f in report.races() if f.line}
    assert any("attention.py:" in line for line in lines), report.text()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", SUBJECTS)
def test_every_mutant_gets_the_right_verdict(name):
    document = SUBJECTS[name]()
    out, disputed = judge(document, flow_mutants(document))
    assert not disputed, (out, disputed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_mutant_of_a_cluster_gets_the_right_verdict():
    document = gemm_document(GemmKernel(cluster=(2, 1)))
    out, disputed = judge(document, flow_mutants(document))
    assert not disputed, (out, disputed)
