"""The consumer program of an attention document, run on numbers in program order.

Whether asynchronous work may still be in flight is the verifier's question; this asks whether the
order of the ops computes attention at all: every op takes what the ops before it left.
"""

from __future__ import annotations

import numpy as np

from warploom.interchange.roles import Compute, Mma

ROWS, KEYS, DIM = 4, 3, 5


def consumer_output(document, trips, seed=0):
    """(what the program computes, what attention is) for random tiles."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(ROWS, DIM))
    k, v = (rng.normal(size=(trips, KEYS, DIM)) for _ in range(2))
    regs = {name: np.full((1,), np.nan) for name in ("s", "p", "o", "m", "l", "a")}
    for entry, step in _steps(document.program("consumer"), trips):
        if isinstance(entry, Mma):
            _multiply(regs, entry, q, k[step], v[step])
        elif isinstance(entry, Compute):
            _compute(regs, entry.op)
    s = q @ k.reshape(-1, DIM).T
    weights = np.exp2(s - s.max(1, keepdims=True))
    exact = weights @ v.reshape(-1, DIM) / weights.sum(1, keepdims=True)
    return regs["o"] * regs["l"][:, None], exact


def _steps(program, trips):
    for e in program.prologue:
        yield e, getattr(e, "k", 0)
    for i in range(program.peel, trips):
        for e in program.kernel:
            yield e, i + getattr(e, "k", 0)
    for e in program.epilogue:
        yield e, trips + getattr(e, "k", 0)


def _multiply(regs, mma, q, k, v):
    product = q @ k.T if mma.op == "qk" else regs["p"] @ v
    old = regs[mma.accumulator] if mma.accumulate else 0.0
    regs[mma.accumulator] = product + old


def _compute(regs, op):
    if op == "start_tile":
        regs["o"] = np.zeros((ROWS, DIM))
        regs["m"], regs["l"] = np.full(ROWS, -np.inf), np.zeros(ROWS)
    elif op == "max":
        new = np.maximum(regs["m"], regs["s"].max(1))
        regs["a"], regs["m"] = np.exp2(regs["m"] - new), new
    elif op == "exp":
        regs["s"] = np.exp2(regs["s"] - regs["m"][:, None])
        regs["l"] = regs["l"] * regs["a"] + regs["s"].sum(1)
    elif op == "cvt":
        regs["p"] = regs["s"].copy()
    elif op == "rescale":
        regs["o"] = regs["o"] * regs["a"][:, None]
    elif op == "finish_rows":
        regs["l"] = 1.0 / regs["l"]
    else:
        assert op in ("store_o", "fetch_q"), op
