"""Instances that take turns on a deep ring are proven for every sequence of tiles, or are wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from warploom.ir import mbarrier_dialect as roles
from warploom.kernels.gemm import gemm
from warploom.kernels.scan import scan
from warploom.verify.roles import verify_roles as verify

SIZES = {"m": 8192, "n": 4096, "k": 4096}


def lowered(text, sizes, **pins):
    types = {"a": "bf16", "b": "bf16", "out": "bf16"} if text is gemm else "bf16"
    left_out = {"bias", "residual"} if text is gemm else ()
    made = text.with_config(**pins).compile(types, sizes=sizes, without=left_out)
    return made.lower(made.choices[0].config)


@pytest.fixture(scope="module")
def turned():
    tiles = {"m": 64, "n": 32, "k": 64, "consumer_warpgroups": 1, "pingpong": 2}
    document = lowered(gemm, SIZES, **tiles).document
    assert document.program("consumer").alternates
    return document


def edited(document, **rows):
    programs = tuple(replace(p, **rows) if p.name == "consumer" else p for p in document.programs)
    return replace(document, programs=programs)


def test_turns_on_a_deep_ring_are_proven(turned):
    assert max(r.depth for r in turned.rings) > 11
    report = verify(turned)
    assert (report.verdict, report.trips_proven) == ("clean", ">= 1")


def without(row, kind):
    return tuple(e for e in row if not isinstance(e, kind))


def at_the_end(row, kind):
    return (*without(row, kind), *(e for e in row if isinstance(e, kind)))


def test_turns_that_are_not_taken_or_not_given_are_found(turned):
    program = turned.program("consumer")
    wrong = {
        "no credit": edited(turned, setup=()),
        "credit of the wrong one": edited(
            turned, setup=tuple(replace(e, instance=0) for e in program.setup)
        ),
        "credit for another": edited(
            turned, setup=tuple(replace(e, turn=0) for e in program.setup)
        ),
        "nobody waits": edited(turned, prologue=without(program.prologue, roles.NamedSync)),
        "nobody gives": edited(turned, epilogue=without(program.epilogue, roles.NamedArrive)),
        "taken late": edited(turned, prologue=at_the_end(program.prologue, roles.NamedSync)),
        "given to itself": edited(
            turned,
            epilogue=tuple(
                replace(e, turn=0) if isinstance(e, roles.NamedArrive) else e
                for e in program.epilogue
            ),
        ),
        "given before the products": edited(
            turned,
            prologue=(*program.prologue, *(e for e in program.epilogue if e == give(program))),
            epilogue=without(program.epilogue, roles.NamedArrive),
        ),
    }
    found = {name: verify(document).verdict for name, document in wrong.items()}
    assert "clean" not in found.values(), found


def give(program):
    return next(e for e in program.epilogue if isinstance(e, roles.NamedArrive))


def test_a_loop_of_no_iterations_leaves_what_was_before_it():
    sizes = {"b": 1, "g": 2, "h": 4, "c": 9, "t": 64, "j": 64, "d": 64, "e": 64, "p": 4, "r": 4}
    made = lowered(scan, sizes)
    first = made.documents[0]
    assert first.minimum_trips == 0
    assert verify(first).verdict == "clean"
