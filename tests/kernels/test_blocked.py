"""Attention over lists of tiles: the meaning in NumPy, and the emitted program on the host."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.host_cuda import NEEDS_COMPILER
from tests.kernels.test_random_kernels import Lowered, check
from warploom.compiler.emit_cuda import emit_kernel
from warploom.errors import KernelError
from warploom.frontend import language as wl
from warploom.ir.tile import Kernel
from warploom.kernels.attention import blocked
from warploom.passes.build_module import build_module
from warploom.verify.roles import verify_roles

BLOCK, D = 128, 64
document = np.array([0])  # stands for a tensor of any length


def same_document(b, h, i, j):
    return document[i] == document[j]


def steep(x, b, h, i, j):
    return x - 0.01 * wl.abs(i - j)


def lists(rng, shape, blocks, seen):
    """For every row of blocks its tiles in any order, of which those of ``seen`` count."""
    tiles = np.stack([rng.permutation(blocks) for _ in range(int(np.prod(shape)))])
    tiles = tiles.reshape(*shape, blocks)
    order = np.argsort(~np.take_along_axis(seen, tiles, -1), -1, kind="stable")
    return np.take_along_axis(tiles, order, -1), seen.sum(-1)


@dataclass
class Case:
    """A call of ``blocked`` with random lists."""

    kernel: Kernel
    sizes: dict[str, int]
    given: list[np.ndarray]
    wanted: np.ndarray
    scalars: dict[str, float] = field(default_factory=lambda: {"scale": 0.125})

    def arrays(self):
        return self.given

    def reference(self):
        return (self.wanted,)


def drawn(seed, queries, keys, *, whole=True, score=None, causal=False, lengths=False):
    """A case, and what plain arithmetic gives for it."""
    rng = np.random.default_rng(seed)
    b, h, g = 1 + lengths, 2, 1
    rows, blocks = -(-queries // BLOCK), -(-keys // BLOCK)
    q, k, v = (
        rng.normal(size=(b, n, length, D)).astype(np.float16).astype(np.float64)
        for n, length in ((h, queries), (g, keys), (g, keys))
    )
    document_of = rng.integers(0, 3, max(queries, keys))
    kind = rng.integers(0, 3, (b, h, rows, blocks))  # nothing, by the function, everything
    kind = kind if whole else np.minimum(kind, 1)
    some, somes = lists(rng, (b, h, rows), blocks, kind == 1)
    full, fulls = lists(rng, (b, h, rows), blocks, kind == 2)
    order = rng.permutation(b * h * rows)
    given_arrays = [q, k, v, order, some, somes, full, fulls, document_of]
    ends = np.array([keys // 2, keys])[:b]
    text, _ = blocked.given_functions(visible=same_document, **({"score": score} if score else {}))
    types = dict.fromkeys(("q", "k", "v", "out"), "f16") | {"given_document": "i32"}
    without = {"lse", *(() if lengths else ("lengths",))}
    if not whole:
        without |= {"full", "full_count"}
        given_arrays = [*given_arrays[:6], document_of]
    if lengths:
        given_arrays.insert(3, ends)
    kernel = text.specialise(types, sizes={"d": D}, constants={"causal": causal}, without=without)
    i, j = np.arange(queries)[:, None], np.arange(keys)
    x = np.einsum("bhsd,bgtd->bhst", q, k) * 0.125
    x = x - 0.01 * np.abs(i - j) if score else x
    at = kind[:, :, np.arange(queries) // BLOCK][..., np.arange(keys) // BLOCK]
    seen = (at == 2) | ((at == 1) & (document_of[i] == document_of[j]))
    seen &= (i >= j) | (not causal)
    seen &= (j < ends[:, None, None, None]) | (not lengths)
    p = np.where(seen, np.exp(x), 0.0)
    total = p.sum(-1, keepdims=True)
    wanted = np.einsum("bhst,bgtd->bhsd", p / np.where(total > 0, total, 1), v)
    sizes = {"b": b, "h": h, "g": g, "s": queries, "t": keys, "d": D, "c": blocks}
    sizes |= {"n": b * h * rows, "given_document_0": len(document_of)}
    return Case(kernel, sizes, given_arrays, wanted)


CASES = st.tuples(
    st.integers(0, 2**31),
    st.integers(1, 400),
    st.integers(1, 400) | st.sampled_from((128, 256)),
    st.fixed_dictionaries(
        {},
        optional={
            "whole": st.booleans(),
            "causal": st.booleans(),
            "lengths": st.booleans(),
            "score": st.just(steep),
        },
    ),
)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(CASES)
def test_the_meaning_is_that_of_the_lists(case):
    seed, queries, keys, options = case
    made = drawn(seed, queries, keys, **options)
    found = made.kernel.reference(*made.given, scale=0.125)
    assert np.allclose(found, made.wanted)


@NEEDS_COMPILER
@pytest.mark.parametrize(
    ("queries", "keys", "options", "pins"),
    [
        pytest.param(
            300, 256, {}, {"consumer_warpgroups": 2}, marks=pytest.mark.slow
        ),  # solved for turns
        (130, 300, {}, {"mma_turns": False}),
        (200, 256, {"score": steep, "causal": True}, {"mma_turns": False}),
        (140, 384, {"whole": False, "lengths": True}, {"mma_turns": False}),
    ],
)
def test_the_program_walks_the_lists(queries, keys, options, pins):
    made = drawn(5, queries, keys, **options)
    assert check(made, pins) is not None


def test_whole_tiles_run_without_a_mask():
    made = Lowered(drawn(1, 256, 256), {"mma_turns": False}).made
    assert verify_roles(made.document).clean
    assert ranges(made) == {"whole_from": "0", "whole_to": "t % 128 ? 0 : whole_t"}
    assert "whole_to = len_t % 128 ? 0 : whole_t;" in emit_kernel(made).text
    # Hides elements of whole tiles, too.
    hidden = Lowered(drawn(1, 256, 256, causal=True), {"mma_turns": False}).made
    assert ranges(hidden) == {"whole_from": "0", "whole_to": "0"}


def ranges(made):
    """Iterations that hide nothing, as the module says them."""
    bound = build_module(made.kernel, made).role("consumer").tiles.ranges
    return {x.name.name: str(x.value) for x in bound}


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("wl.steps(x.k, 64, some=(tiles, tiles))", "no list of tiles"),
        ("wl.steps(x.k, some=(tiles, counts))", "without their size"),
        ("wl.steps(x.k, 64, some=(tiles, counts), until=3)", "and bounds"),
        ("wl.steps(x.k, 64, whole=tiles)", "no list of tiles"),
        ("wl.steps(x.k, 64, some=(wide, wides))", "no list of tiles"),
    ],
)
def test_mistakes_are_reported(steps, said, kernel_of):
    with pytest.raises(KernelError, match=said):
        kernel_of(
            f"""
@wl.kernel
def kernel(x: wl.In["m", "k"], w: wl.In["n", "k"], tiles: wl.In["m/128", "c", wl.i32],
           counts: wl.In["m/128", wl.i32], wide: wl.In["m/96", "c", wl.i32],
           wides: wl.In["m/96", wl.i32], out: wl.Out["m", "n"]):
    m, n = wl.tile(out, rows=128)
    acc = wl.zeros(m, n)
    for k in {steps}:
        acc += x[m, k] @ w[n, k].T
    out[m, n] = acc
"""
        )


@pytest.fixture
def kernel_of():
    from tests.frontend.random_kernels import RandomKernel

    def made(text):
        types = dict.fromkeys(("x", "w", "out"), "bf16")
        return RandomKernel(text=text, types=types, sizes={}, whole={}, scalars={}, seed=0).kernel

    return made
