"""A unit with a bounded queue: whoever issues more than it takes stands still."""

from dataclasses import replace

import pytest

from tests.modulo.bodies.attention import AttentionShape, attention_body
from tests.modulo.bodies.attention_costs import hopper_attention
from warploom.errors import ConfigError
from warploom.kernels.attention import attention
from warploom.modulo import (
    Hold,
    ModuloOp,
    ModuloOptions,
    ModuloProblem,
    Role,
    Unit,
    check_result,
    solve_modulo,
)
from warploom.passes.driver import lower
from warploom.targets.h200 import h200

II_ONLY = ModuloOptions(goals=())
MEASURED = {  # cycles until commit returns, a lone warpgroup: (n, products)
    (64, 8): 81,
    (64, 12): 209,
    (64, 16): 337,
    (128, 4): 59,
    (128, 8): 113,
    (128, 12): 369,
    (128, 16): 625,
    (176, 16): 841,
    (256, 8): 217,
    (256, 12): 689,
    (256, 16): 1201,
}


@pytest.mark.parametrize(("n", "count"), MEASURED)
def test_the_hold_of_a_group_follows_the_measurement(n, count):
    """The tensor cores take about eight unfinished products, then issuing stands still. Within a
    twelfth, and at most 30 cycles off where little is held."""
    real, chip = MEASURED[n, count], h200()
    interval = chip.wgmma_interval(n)
    end = count * interval + chip.tensor_drain
    held = max(count * chip.product_issue(n // 2), end - chip.products_ahead * interval)
    assert abs(held - real) <= max(30, real / 12)


def products(pieces, queue, vector):
    """A product of some pieces, and vector work on the same stream."""
    return ModuloProblem(
        name="queue",
        ops=(
            ModuloOp(name="mma", unit="tensor", occupancy=64 * pieces, issue=8, pieces=pieces),
            ModuloOp(name="exp", also=(Hold(unit="mufu", cycles=vector),), issue=vector),
        ),
        capacities=(Unit(name="tensor", queue=queue),),
        roles=(Role(name="warps"),),
    )


def test_pieces_beyond_the_queue_hold_the_stream():
    free, held = products(16, None, 1000), products(16, 8, 1000)
    assert (free.stream_cycles(0), held.stream_cycles(0)) == (8, 512)
    assert solve_modulo(free, II_ONLY).ii == 1024
    result = solve_modulo(held, II_ONLY)
    assert (result.ii, result.proven) == (1512, True)
    check_result(result)


def test_a_queue_that_is_deep_enough_costs_nothing():
    assert solve_modulo(products(8, 8, 500), II_ONLY).ii == 512


def test_a_queue_of_nothing_is_refused():
    with pytest.raises(ConfigError):
        solve_modulo(products(8, 0, 10))


def test_attention_under_the_queue_is_slower_than_the_constant_said():
    body = AttentionShape(s_copies=2)
    plain = solve_modulo(attention_body(body), II_ONLY)
    queued = solve_modulo(attention_body(body, hopper_attention(queued=True)), II_ONLY)
    assert queued.proven
    assert queued.ii > plain.ii == 1040


def test_kernels_are_placed_under_the_queue_and_beside_products():
    """Products hold their warps, vector work is slowed: slower than the tensor cores alone."""
    sizes = {"b": 4, "h": 32, "g": 32, "s": 4096, "t": 4096, "d": 128}
    made = attention.compile("bf16", sizes=sizes, without={"lse", "lengths"}, positive={"scale"})
    config = replace(made.choices[0].config, schedule="")
    lowered = lower(made.rewritten, config, options=II_ONLY)
    assert 2200 <= lowered.result.lower_bound <= lowered.result.ii <= 2300
    products = [v for v, op in enumerate(lowered.problem.ops) if op.unit == "tensor"]
    assert all(lowered.problem.stream_cycles(v) >= 100 for v in products)
    check_result(lowered.result)
