"""A split loop that adds to memory in its iterations: its copies out are over where parts meet."""

from dataclasses import replace

import numpy as np
import pytest

import warploom as wl
from tests.host_cuda import NEEDS_COMPILER
from tests.kernels.written import close, drawn, executed
from warploom.compiler.compiled import Compiled
from warploom.ir.mbarrier_dialect import BulkWait, Compute
from warploom.passes.split_k import MEET, drained
from warploom.verify.roles import verify_roles


@wl.kernel
def both_ways(
    a: wl.In["m", "d"], b: wl.In["k", "d"], out: wl.Out["m", "d"], sums: wl.Out["k", "d", wl.f32]
):
    """Rows of a times those of b, summed over both."""
    m = wl.tile(out, whole="d")
    mine, acc = a[m], wl.zeros(m, b.d)
    for k in wl.steps(b.k):
        theirs = b[k]
        p = (mine @ theirs.T).to(a.dtype)
        acc += p @ theirs
        sums[k] += p.T @ mine
    out[m] = acc


TYPES = {"a": "bf16", "b": "bf16", "out": "f32"}
SIZES = {"m": 199, "k": 170, "d": 64}
PINS = {"split_k": 3, "m": 64, "k": 64, "consumer_warpgroups": 1}


@NEEDS_COMPILER
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_part_adds_all_of_its_own(seed):
    arrays = {"a": drawn(199, 64) * 0.125, "b": drawn(170, 64, seed=1)}
    (out, sums), _ = executed(both_ways, TYPES, SIZES, arrays, seed=seed, **PINS)
    p = arrays["a"] @ arrays["b"].T
    close(out, p @ arrays["b"], 0.15)
    close(sums, p.T @ arrays["a"], 0.15)


def test_the_interpreter_agrees():
    arrays = drawn(199, 64) * 0.125, drawn(170, 64, seed=1)
    out, sums = both_ways.interpret(*arrays, types=TYPES, config=PINS, timing="adversarial")
    p = arrays[0] @ arrays[1].T
    close(out, p @ arrays[1], 0.15)
    close(sums, p.T @ arrays[0], 0.15)


def test_the_verifier_finds_counts_that_some_parts_do_not_have():
    made = Compiled(both_ways.specialise(TYPES, sizes={"d": 64}), sizes=SIZES, pins=PINS)
    document = made.lower(made.choices[0].config).document
    assert verify_roles(document).clean
    program = document.program("consumer")
    at = next(i for i, e in enumerate(program.epilogue) if isinstance(e, Compute) and e.op == MEET)
    assert isinstance(program.epilogue[at - 1], BulkWait)
    without = replace(program, epilogue=(*program.epilogue[: at - 1], *program.epilogue[at:]))
    others = tuple(without if p.name == "consumer" else p for p in document.programs)
    wrong = replace(document, programs=others)
    report = verify_roles(wrong)
    assert report.verdict == "race"
    assert "count too few" in str(report.findings[0])
    assert drained(wrong) == document


def test_loops_that_store_nothing_wait_for_nothing():
    from warploom.kernels.gemm import gemm

    types = dict.fromkeys(("a", "b", "out"), "bf16")
    kernel = gemm.compile(types, without={"bias", "residual"}).kernel
    sizes = {"m": 64, "n": 64, "k": 600}
    made = Compiled(kernel, sizes=sizes, pins={"split_k": 2, "m": 64, "n": 64})
    document = made.lower(made.choices[0].config).document
    assert drained(document) == document
    assert np.all([not isinstance(e, BulkWait) for e in document.program("consumer").epilogue[:1]])
