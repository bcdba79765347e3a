"""Every kind of finding of role programs says where, why and what to do, and has a run."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from tests.mbarrier.samples import lowered
from tests.mutation.exchange_mutants import exchange_mutants
from tests.mutation.flow_mutants import flow_mutants
from tests.mutation.role_mutants import role_mutants
from warploom.errors import DocumentError
from warploom.interp.executor.roles import role_witness
from warploom.ir.mbarrier_dialect import Arrive, Mma
from warploom.ir.rings import Scope
from warploom.verify.roles import Code, Severity, verify_roles

OF_COUNTERS = {Code.RAW_LDS, Code.WAR_LDS, Code.WAW_LDS, Code.ENCODING, Code.DEAD_READ}
KINDS = [c for c in Code if c not in OF_COUNTERS]
# FLOW says which value stands where another was declared; SCOPE needs warps
# of an instance that run apart: the model checker has them (tests/mbarrier/test_roles_warps.py).
STATIC = {Code.CAPACITY, Code.ALIGNMENT}  # of no run: declarations that do not fit
WITHOUT_RUN = {Code.FLOW, Code.SCOPE, *STATIC}


def own_defects(document):
    """What no single edit of an entry makes: too many registers, one thread for all."""
    consumer = document.program("consumer")
    names = tuple((n, 400) for n, _ in consumer.registers)
    yield _with(document, replace(consumer, registers=names))
    phases = {
        phase: tuple(
            replace(e, scope=Scope.THREAD) if isinstance(e, Arrive) else e for e in entries
        )
        for phase, entries in consumer.phases()
    }
    rings = tuple(replace(r, empty_arrivals=consumer.instances) for r in document.rings)
    yield replace(_with(document, replace(consumer, **phases)), rings=rings)
    kernel = tuple(
        replace(e, registers=(*e.registers, e.accumulator)) if isinstance(e, Mma) else e
        for e in consumer.kernel
    )
    yield _with(document, replace(consumer, kernel=kernel))
    strides = (replace(r, stride=r.slot_bytes + 16) for r in document.rings)
    yield replace(document, rings=tuple(strides))


def _with(document, program):
    programs = tuple(program if p.name == program.name else p for p in document.programs)
    return replace(document, programs=programs)


def _of_turns(mutant):
    return "turn" in mutant.where


@cache
def found():
    """(document, intended, finding) of every kind."""
    out = {}
    document = lowered("split_gemm").document
    for mutant in list(exchange_mutants(document))[::18]:
        for f in verify_roles(mutant.document).findings:
            out.setdefault(f.code, []).append((mutant.document, document, f))
    for name in ("gemm", "attention"):
        document = lowered(name).document
        edited = [m.document for m in role_mutants(document) if name == "gemm" or _of_turns(m)]
        flow = list(flow_mutants(document))[::19] if name == "gemm" else ()
        for mutant in (
            *own_defects(document),
            *edited[:90:3],
            *edited[90::9],
            *(m.document for m in flow),
        ):
            try:
                report = verify_roles(mutant)
            except DocumentError:
                continue
            for f in report.findings:
                out.setdefault(f.code, []).append((mutant, document, f))
    return out


@pytest.mark.parametrize("code", KINDS)
def test_it_occurs_with_line_reason_and_fix(code):
    every = found()[code]
    for _, _, f in every:
        assert f.why
        assert f.fix
        assert code in STATIC or f.tiles
        assert f.line or not f.where
    assert code in STATIC or any(".py:" in f.line for _, _, f in every)


@pytest.mark.parametrize("code", [c for c in KINDS if c not in WITHOUT_RUN])
def test_a_run_shows_it(code):
    races = [x for x in found()[code] if x[2].severity is Severity.RACE and sum(x[2].tiles) < 24]
    assert any(
        role_witness(mutant, [f.tiles], intended=document, seeds=range(40)) is not None
        for mutant, document, f in races[:12]
    )
