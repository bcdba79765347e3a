"""Products in two parts: only where the work between them neither needs nor changes them."""

from dataclasses import replace

import pytest

import warploom as wl
from tests.verify.hand_made import SLOT, consumer, document, multiply, producer
from warploom.compiler.compiled import Compiled
from warploom.errors import WarploomError
from warploom.ir.mbarrier_dialect import Commit, Compute, Mma, WaitGroup
from warploom.passes.split_mma import parted
from warploom.verify.roles import verify_roles

WORK = Compute(op="work", reads=("y",), writes=("y",))


def taken(*between, registers=()):
    """A product, what follows it in an iteration, and whether it is in two parts then."""
    head = [replace(e, registers=registers) if isinstance(e, Mma) else e for e in multiply()[:3]]
    made = document(producer(), consumer([*head, *between]))
    done = parted(made, "consumer").program("consumer").kernel
    return sum(isinstance(e, Mma) for e in done) == 2


def test_work_on_something_else_comes_between_the_parts():
    assert taken(Commit(), WaitGroup(pending=1), WORK)
    assert taken(Commit(), WaitGroup(pending=2), WORK, registers=("a",))


@pytest.mark.parametrize(
    "entries",
    [
        (Commit(), WaitGroup(pending=1), replace(WORK, reads=("y", "z"))),
        (Commit(), WaitGroup(pending=1), replace(WORK, writes=("z",))),
        (Commit(), WaitGroup(pending=1), replace(WORK, fills_slots=(SLOT,))),
        (Commit(), WaitGroup(pending=0), WORK),
        (Commit(), WaitGroup(pending=1), WaitGroup(pending=0), WORK),
        (Commit(), WORK),
    ],
)
def test_products_stay_whole_where_the_work_waits_for_them(entries):
    assert not taken(*entries)


def test_operands_in_registers_are_not_written_over():
    assert not taken(Commit(), WaitGroup(pending=1), replace(WORK, writes=("a",)), registers=("a",))


@wl.kernel
def chained(
    x: wl.In["m", "k"],
    y: wl.In["m", "k"],
    w: wl.In["n", "k"],
    out: wl.Out["m", "n"],
    sums: wl.Out["m", wl.f32],
):
    m, n = wl.tile(out)
    acc, old = wl.zeros(m, n), wl.zeros(m, n)
    for k in wl.steps(x.k):
        acc += x[m, k] @ w[n, k].T
        acc += y[m, k] @ w[n, k].T
        acc += y[m, k] @ w[n, k].T
        old += wl.tanh(acc) * 0.25
    z = acc + old
    out[m, n] = z
    sums[m] += z.sum(axis=1)


@pytest.mark.parametrize("pins", [{}, {"unroll": 2}, {"mma_turns": False}, {"pingpong": 2}])
def test_what_reads_the_sum_in_the_loop_is_proven(pins):
    types = dict.fromkeys(("x", "y", "w", "out"), "bf16")
    kernel = chained.specialise(types)
    sizes = {"m": 96, "n": 149, "k": 91}
    made = Compiled(kernel, sizes=sizes, pins={"deferred_mmas": 1, **pins})
    try:
        lowered = made.lower(made.choices[0].config)
    except WarploomError:
        assert pins  # a choice that does not go with this kernel
        return
    assert verify_roles(lowered.document).clean


def test_vectors_are_added_where_tiles_leave_from_registers():
    types = dict.fromkeys(("x", "y", "w", "out"), "bf16")
    made = chained.with_config(reduce_from_registers=True).compile(
        types, sizes={"m": 96, "n": 149, "k": 91}
    )
    assert "atomicAdd" in made.cuda
