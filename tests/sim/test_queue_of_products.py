"""A unit that takes only so much unfinished work: whoever issues more stands still."""

import pytest

from warploom.document.machine import OpTiming
from warploom.kernels.attention import attention
from warploom.launch.pricing import role_costs
from warploom.sim import simulate_roles
from warploom.sim.events import Place, Row
from warploom.sim.program import Issue, Program, Unit, Workload
from warploom.sim.simulation import simulate_workload


def issue(index, ahead):
    return Issue(
        place=Place(phase="kernel", index=index, iteration=0, label=f"p{index}"),
        kind="COMPUTE",
        unit="tensor",
        timing=OpTiming(issue=16, occupancy=512, latency=574),
        ahead=ahead,
    )


def second_issued(ahead):
    """When the second of two groups of 512 cycles has been issued."""
    row = Program(row=Row(group=0, wave=0, name="c"), steps=(issue(0, ahead), issue(1, ahead)))
    unit = Unit(name="tensor", lane="tensor")
    return simulate_workload(Workload(name="two", programs=(row,), units=(unit,))).ops[1].issued


@pytest.mark.parametrize(("ahead", "ends"), [(None, 32), (461, 563), (2000, 32)])
def test_the_stream_is_free_when_little_enough_is_left(ahead, ends):
    assert second_issued(ahead) == ends


def test_the_measured_hold_of_sixteen_products():
    """625 cycles on a free unit, by ``bench/h200_micro.py``."""
    priced = dict(role_costs(lowered_attention()).ops)
    product = next(c for n, c in priced.items() if n.startswith("dot"))
    assert product.timing.occupancy == 512
    assert abs(second_issued(product.ahead) - 625) <= 10


def lowered_attention():
    sizes = {"b": 4, "h": 32, "g": 32, "s": 4096, "t": 4096, "d": 128}
    made = attention.compile("bf16", sizes=sizes, without={"lse", "lengths"}, positive={"scale"})
    return made.lower(made.choices[0].tiling)


def test_attention_programs_are_priced_with_queue_and_contention():
    lowered = lowered_attention()
    run = simulate_roles(lowered.document, role_costs(lowered), trips=16)
    # 2632 cycles were measured of the first program the solver found.
    assert 2048 < lowered.document.proof.ii < run.ii < 2900
