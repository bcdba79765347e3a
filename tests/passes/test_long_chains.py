"""Long chains of values: no reader of an expression runs out of stack."""

import warploom as wl
from warploom.codegen.cuda.threads import emit_threads

GROUPS, STEPS = 8, 200


@wl.kernel
def chained(x: wl.In["m", "n"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    v = x[m, n]
    for _ in range(GROUPS):
        for _ in range(STEPS):
            v = v * 0.5 + 1.0
    out[m, n] = v


def test_a_chain_of_elementwise_functions_is_cut():
    module = chained.compile("f32", sizes={"m": 8, "n": 64}).thread_module
    text = emit_threads(module).text
    products = [line.count(" * 0.5f") + line.count(" * v_") for line in text.splitlines()]
    assert sum(products) >= GROUPS * STEPS
    assert max(products) <= 100
