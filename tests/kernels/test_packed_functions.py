"""Functions of the caller on packed sequences: meaning, and the emitted program on the host."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.host_cuda import NEEDS_COMPILER
from tests.kernels.test_blocked import Case
from tests.kernels.test_random_kernels import check
from warploom.kernels.attention import packed

D, SCALE = 64, 0.125
slopes = np.array([0.0])  # stands for a tensor of any length
sinks = np.array([0.0])


def alibi(x, b, h, i, j):
    return x + slopes[h] * (j - i)


def window(b, h, i, j):
    return (i >= j) & (i - j <= 40)


def odd_one_out(b, h, i, j):
    return (i + j + b) % 3 != 1


def near_on_a_grid(b, h, i, j):
    across, down = np.clip(i // 8, 1, 6) - j // 8, np.clip(i % 8, 1, 6) - j % 8
    return np.logical_and(np.abs(across) <= 1, np.abs(down) <= 1) | (j < 2)


def sink(h):
    return sinks[h]


def drawn(seed, lengths, score=None, visible=None, sunk=False, causal=False):
    """A call of ``packed``, and what arithmetic sequence by sequence gives for it."""
    rng = np.random.default_rng(seed)
    heads, groups, total = 2, 1, sum(lengths)
    q, k, v = (
        rng.normal(size=(n, total, D)).astype(np.float16).astype(np.float64)
        for n in (heads, groups, groups)
    )
    starts = np.concatenate([[0], np.cumsum(lengths)])
    captured = {"slopes": np.array([0.05, 0.2]), "sinks": np.array([0.5, -1.0])}
    functions = {"score": score, "visible": visible, "sink": sink if sunk else None}
    functions = {n: f for n, f in functions.items() if f is not None}
    text, names = packed.given_functions(**functions)
    types = dict.fromkeys(("q", "k", "v", "out"), "f16") | dict.fromkeys(names, "f32")
    kernel = text.specialise(types, sizes={"d": D}, constants={"causal": causal}, without={"lse"})
    wanted = np.zeros((heads, total, D))
    for n, (first, end) in enumerate(pairwise(starts)):
        i, j = np.arange(end - first)[:, None], np.arange(end - first)
        for h in range(heads):
            x = q[h, first:end] @ k[0, first:end].T * SCALE
            x = x + captured["slopes"][h] * (j - i) if score else x
            seen = visible(n, h, i, j) if visible else np.ones_like(x, bool)
            p = np.where(seen & ((i >= j) | (not causal)), np.exp(x), 0.0)
            sums = p.sum(-1, keepdims=True) + (np.exp(captured["sinks"][h]) if sunk else 0)
            wanted[h, first:end] = p @ v[0, first:end] / np.where(sums > 0, sums, 1)
    arrays = [q, k, v, starts, starts, *(captured[n.removeprefix("given_")] for n in names)]
    sizes = {"h": heads, "g": groups, "s": total, "t": total, "d": D, "i": len(lengths)}
    sizes |= {f"{n}_0": heads for n in names}
    return Case(kernel, sizes, arrays, wanted)


FUNCTIONS = st.fixed_dictionaries(
    {},
    optional={
        "score": st.just(alibi),
        "visible": st.sampled_from((window, odd_one_out, near_on_a_grid)),
        "sunk": st.booleans(),
        "causal": st.booleans(),
    },
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**31), st.lists(st.integers(0, 90), min_size=1, max_size=5), FUNCTIONS)
def test_the_meaning_counts_within_the_sequence(seed, lengths, functions):
    made = drawn(seed, [*lengths, 1], **functions)
    found = made.kernel.reference(*made.given, scale=SCALE)
    assert np.allclose(found, made.wanted)


@NEEDS_COMPILER
@pytest.mark.parametrize(
    "functions",
    [
        {"score": alibi, "visible": window, "sunk": True},
        {"visible": odd_one_out, "causal": True},
    ],
)
def test_the_program_counts_within_the_sequence(functions):
    made = drawn(3, [70, 0, 130, 5], **functions)
    assert check(made, {"consumer_warpgroups": 1, "t": 64}) is not None
