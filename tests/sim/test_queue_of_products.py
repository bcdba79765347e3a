"""A unit that takes only so much unfinished work: whoever issues more stands still."""

from dataclasses import replace

import pytest

from warploom.compiler.pricing import role_costs
from warploom.ir.machine_costs import OpTiming
from warploom.kernels.attention import attention
from warploom.passes.loop_ops import loop_ops
from warploom.sim import simulate_roles
from warploom.sim.events import Place, Row
from warploom.sim.program import Issue, Program, Unit, Workload
from warploom.sim.roles import lower_roles
from warploom.sim.simulation import simulate_workload
from warploom.targets.h200 import h200


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


# QK and PV in turns of their own, the exponentials after the second one.
TWO_TURNS = (2514, 0, 3114, 3804, 778, 4379, 1353, 5002, 1976, 6422, 3396, 6050, 3024, 7412, 4386)


def lowered_attention(**given):
    sizes = {"d": 128}  # of all sizes together the measured order would be taken
    made = attention.compile("bf16", sizes=sizes, without={"lse", "lengths"}, positive={"scale"})
    return made.lower(replace(made.choices[0].config, **given))


def test_exponentials_drawn_between_a_turns_products_stay_before_the_wait():
    lowered = lowered_attention(
        schedule=TWO_TURNS, a_in_registers=False, full_wait_after=0, deferred_mmas=0
    )
    workload = lower_roles(lowered.document, role_costs(lowered), 4)
    consumer = next(p for p in workload.programs if p.row.name == "consumer 0")
    inner = [s.place for s in consumer.steps if s.place.phase == "kernel"]
    labels = [x.label for x in inner if x.iteration == 2]
    product = labels.index("dot_o_1")
    rest = labels[product:]
    assert rest.index("NamedArrive(turn)") < rest.index("make_p") < rest.index("WaitGroup(0)")


def test_steps_cost_what_most_iterations_have():
    lowered, rates = lowered_attention(), h200().vector
    priced = dict(role_costs(lowered).ops)
    of_loop = {op.name: op.cost for op in loop_ops(lowered.layout, h200(), 1)}
    scaled, maxima, sums = (priced[f"make_{n}"] for n in ("v25", "v13_here", "p"))
    assert (scaled.timing.issue, scaled.beside) == (rates.scaled_by_ones, 0)
    assert maxima.timing.issue == round(64 * 128 * 0.5 / rates.max) + rates.row_answer
    assert of_loop["make_v13_here"].issue == round(64 * 128 * 1.5 / rates.max)
    assert sums.timing.issue == of_loop["make_p"].issue


def test_attention_programs_are_priced_with_queue_and_contention():
    lowered = lowered_attention()
    run = simulate_roles(lowered.document, role_costs(lowered), trips=16)
    # 2632 cycles were measured of the first program the solver found.
    assert 2048 < lowered.document.proof.ii < run.ii < 2900
