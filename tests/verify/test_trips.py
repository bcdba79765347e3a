"""A few trip counts decide all: nothing new appears beyond those the judge unrolls."""

import itertools
import random

import pytest
from hypothesis import given, settings, strategies as st

from warploom.verify import Code, verify

from .documents import document
from .test_golden import verify_exactly

FULL = "W0 L0 B"
RACES = {Code.RAW_LDS, Code.WAR_LDS, Code.WAW_LDS, Code.RAW_REG}
DATA = {Code.TOKEN, Code.WAR_REG, Code.COVERAGE}


def random_words(rng, stages, count, kinds):
    """Loads, reads and MMAs of both operands in random order, mostly synchronised."""
    out = []
    for _ in range(count):
        kind, stage = rng.choice(kinds), rng.randrange(stages)
        offset = rng.choice("01-2")
        both = {
            "L": f"LA[{stage},0]{offset} LB[{stage},0]{offset}",
            "F": f"FA[{stage},0] FB[{stage},0]",
            "M": "M[0,0]",
        }
        out += [FULL] if rng.random() < 0.8 else []
        out.append(both[kind])
    return " ".join(out + ([FULL] if rng.random() < 0.8 else []))


def random_loop(seed):
    rng = random.Random(seed)
    stages = rng.choice((1, 2))
    return document(
        random_words(rng, stages, rng.randint(1, 4), "LLF"),
        random_words(rng, stages, rng.randint(1, 5), "LFM"),
        random_words(rng, stages, rng.randint(1, 4), "LFM"),
        k_tiles_per_iteration=rng.choice((1, 1, 2)),
        kernel_k_base=rng.choice((0, 1, 2)),
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_no_kind_of_finding_first_appears_beyond_the_deciding_counts(seed):
    doc = random_loop(seed)
    report = verify(doc)
    assert report.trips_proven == "all"
    last = report.trips_checked[-1]
    for kinds in (RACES, DATA):
        if not any(f.code in kinds for f in report.races()):
            for n in range(last + 1, last + 3):
                assert not [f for f in verify_exactly(doc, n) if f.code in kinds], (seed, n)


WORDS = [f"L{s}{k}" for s in "01" for k in "-012"] + ["F0", "F1", "M"]
OFFSETS = {"-": -1, "0": 0, "1": 1, "2": 2}


def accumulated(phases, base, step, n):
    """The tiles one accumulator gets when everything happens in order; the simplest of models."""
    prologue, kernel, epilogue = phases
    slots, register, out = {}, None, []
    runs = [
        (prologue, 0),
        *((kernel, base + step * i) for i in range(n)),
        (epilogue, base + step * n),
    ]
    for words, k in runs:
        for word in words:
            if word[0] == "L":
                slots[word[1]] = k + OFFSETS[word[2]]
            elif word[0] == "F":
                register = slots.get(word[1])
            else:
                out.append(register)
    return out


def is_complete(phases, base, step, n):
    tiles = accumulated(phases, base, step, n)
    return None not in tiles and sorted(tiles) == list(range(base + step * n))


def spelled(words):
    both = {"F": "FA[{1},0] FB[{1},0]", "M": "M[0,0]"}
    parts = [
        f"LA[{w[1]},0]{w[2]} LB[{w[1]},0]{w[2]}" if w[0] == "L" else both[w[0]].format(*w, "")
        for w in words
    ]
    return " ".join(f"{FULL} {p}" for p in parts) + f" {FULL}"


LOOPS = [
    # prologue, kernel, are the loops right beyond two iterations?
    ("L00", "F0 M L00", True),
    ("L00", "L10 F0 M F1 L00", True),
    ("L00 F0 L01", "M F0 L01", True),
    ("L00 F0 L11", "M F1", False),
    ("L00 L11 F0", "M F1 L02", False),
    ("L00 F0", "M L00 F0", True),
    ("L00 F0", "L10 M F1", True),
]


@pytest.mark.parametrize(("prologue", "kernel", "expected"), LOOPS)
def test_loops_with_every_epilogue_that_is_right_for_two_iterations(prologue, kernel, expected):
    """What happens beyond two iterations is judged right: it may stay right, or go wrong."""
    outcomes = []
    for epilogue in itertools.product(WORDS, repeat=3):
        phases = prologue.split(), kernel.split(), list(epilogue)
        if not all(is_complete(phases, 1, 1, n) for n in range(3)):
            continue
        right = all(is_complete(phases, 1, 1, n) for n in range(3, 8))
        if len(outcomes) < 25:
            doc = document(*(spelled(p) for p in phases))
            assert (verify(doc).verdict == "clean") == right, phases
        outcomes.append(right)
    assert set(outcomes) == {expected}
