"""What may cost more or less, whatever ops are called."""

import random
from dataclasses import replace
from itertools import islice

from tests.modulo.mixed_bodies import mixed_body
from warploom.modulo import starts
from warploom.modulo.learn import LATENCY, OP, UNIT, features


def test_an_op_called_latency_is_an_op(monkeypatch):
    body = mixed_body(3)
    named = replace(body, ops=(replace(body.ops[0], name="latency of it"), *body.ops[1:]))
    assert (OP, "latency of it") in features(named)
    varied = []

    def under(problem, factors, fine=1):
        varied.append(set(factors))
        return problem

    monkeypatch.setattr(starts, "under", under)
    list(islice(starts.solver_starts(named, random.Random(0)), 60))
    assert varied
    kinds = {kind for kind, _ in varied[0]}
    assert kinds <= {LATENCY}
    assert UNIT not in kinds
