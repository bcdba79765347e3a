"""The consumer program of an attention document, run on numbers in program order.

Whether asynchronous work may still be in flight is the verifier's question; this asks whether the
order of the ops computes attention at all: every op takes what the ops before it left.
"""

from __future__ import annotations

import numpy as np

from warploom.document.roles import Compute, Mma
from warploom.run.roles.program import steps_of

ROWS, KEYS, DIM = 4, 3, 5


def consumer_output(document, trips, seed=0):
    """(what the program computes, what attention is) for random tiles."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(ROWS, DIM))
    k, v = (rng.normal(size=(trips, KEYS, DIM)) for _ in range(2))
    regs = {name: np.full((1,), np.nan) for name in ("s", "p", "o", "m", "l", "a")}
    for step in steps_of(document.program("consumer"), 0, (trips,)):
        if isinstance(step.entry, Mma):
            _multiply(regs, step.entry, q, k[step.index], v[step.index])
        elif isinstance(step.entry, Compute):
            _compute(regs, step.entry.op)
    s = q @ k.reshape(-1, DIM).T
    weights = np.exp2(s - s.max(1, keepdims=True))
    exact = weights @ v.reshape(-1, DIM) / weights.sum(1, keepdims=True)
    return regs["o"] * regs["l"][:, None], exact


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
