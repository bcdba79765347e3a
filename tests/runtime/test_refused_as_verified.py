"""Documents that the back end refuses, and why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.mbarrier.samples import lowered
from tests.mutation.flow_mutants import flow_mutants
from warploom.codegen.cuda.lowering import Site, base_table
from warploom.compiler.emit_cuda import emit_kernel
from warploom.errors import BackendError
from warploom.ir.format1 import read_schedule
from warploom.ir.mbarrier_dialect import Arrive, ClusterSync, MmaFence, WaitGroup


@pytest.mark.parametrize("entry", [WaitGroup(pending=0), MmaFence()])
def test_products_of_one_lane_are_refused(entry):
    """Such an entry does no harm to the schedule, but its code is a whole warp's."""
    made = lowered("gemm")
    programs = tuple(
        replace(p, kernel=(entry, *p.kernel)) if p.name == "producer" else p
        for p in made.document.programs
    )
    with pytest.raises(BackendError, match="judged"):
        emit_kernel(replace(made, document=replace(made.document, programs=programs)))


def test_what_others_wait_for_stands_before_the_parts_of_a_split_loop_meet():
    """After that only the last part goes on; its release would never come from the others."""
    made = lowered("split_gemm")
    consumer = made.document.program("consumer")
    release = next(e for e in consumer.epilogue if isinstance(e, Arrive))
    rest = tuple(e for e in consumer.epilogue if e is not release)
    late = replace(consumer, epilogue=(*rest, release))
    programs = tuple(late if p.name == "consumer" else p for p in made.document.programs)
    with pytest.raises(BackendError, match="only the last part"):
        emit_kernel(replace(made, document=replace(made.document, programs=programs)))


def test_registers_that_cannot_be_had_are_refused():
    """Two CTAs on an SM have half the registers each; the judge knows of one."""
    made = lowered("gemm")
    most = {"producer": 24, "consumer": 240}
    programs = tuple(replace(p, most_registers=most[p.name]) for p in made.document.programs)
    edited = replace(made, document=replace(made.document, programs=programs))
    assert emit_kernel(edited).text
    two = replace(made.config, ctas_per_sm=2)
    with pytest.raises(BackendError, match="cannot be had"):
        emit_kernel(replace(edited, config=two))


def test_the_cluster_barrier_in_a_loop_is_refused():
    path = Path(__file__).parents[1] / "verify" / "defects"
    text = (path / "cluster_sync_in_loop_emits_nothing.json").read_text()
    made = read_schedule(text)
    found = [e for p in made.programs for e in p.kernel if isinstance(e, ClusterSync)]
    assert found
    program = next(p for p in made.programs if found[0] in p.kernel)
    with pytest.raises(BackendError, match="at the very end"):
        base_table().lower(found[0], Site(document=made, program=program, phase="kernel"))


@pytest.mark.parametrize("operator", ["retarget registers", "retarget reads", "less writes"])
def test_an_op_with_other_operands_than_the_text_is_refused(operator):
    made = lowered("attention")
    mutant = next(m for m in flow_mutants(made.document) if m.operator == operator)
    with pytest.raises(BackendError, match="other operands"):
        emit_kernel(replace(made, document=mutant.document))


def test_a_store_that_adds_instead_is_refused():
    made = lowered("gemm")
    mutant = next(m for m in flow_mutants(made.document) if m.operator == "reduce flipped")
    with pytest.raises(BackendError, match="other operands"):
        emit_kernel(replace(made, document=mutant.document))


def test_other_memory_than_the_kernels_is_refused():
    made = lowered("gemm")
    smaller = tuple(replace(b, bytes=b.bytes // 2) for b in made.document.buffers)
    parts = tuple(
        replace(r, parts=tuple(replace(p, bytes=p.bytes // 2) for p in r.parts))
        for r in made.document.rings
    )
    deeper = tuple(replace(r, depth=r.depth - 1) for r in made.document.rings)
    assert emit_kernel(replace(made, document=replace(made.document, rings=deeper))).text
    many = tuple(replace(r, depth=r.depth + 9) for r in made.document.rings)
    with pytest.raises(BackendError, match="bytes of shared memory"):
        emit_kernel(replace(made, document=replace(made.document, rings=many)))
    for change in ({"buffers": smaller}, {"rings": parts}, {"cluster": 2}):
        with pytest.raises(BackendError, match="not the kernel's"):
            emit_kernel(replace(made, document=replace(made.document, **change)))


def test_rows_that_fewer_threads_copy_are_refused():
    made = lowered("grouped_gathered")
    programs = tuple(
        replace(p, threads=64) if p.name == "gatherer" else p for p in made.document.programs
    )
    with pytest.raises(BackendError, match="64 threads"):
        emit_kernel(replace(made, document=replace(made.document, programs=programs)))
