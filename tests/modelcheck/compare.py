"""The verifier against the model checker, program by program.

Runs of seeds from ``MIXED`` on that have too many interleavings are decided by holding back one
step after the other (``held_back``).
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.errors import DocumentError
from warploom.verify.roles import verify_roles

from .checker import UNDECIDED, check
from .edits import ALTERNATING, edited
from .held_back import first_fault
from .programs import MIXED, random_program

RUNS = ((1, 1), (2, 1), (3,), (1, 1, 1), (2, 2))
TURNS = ((1, 1, 1, 1), (2, 1, 1), (1, 2, 1))  # where instances take tiles in turn
# for what only the verifier reports
LONGER = ((5,), (7,), (1,) * 6, (2, 2, 2), (3, 1, 3), (12,), (20,))
NONE = ((0,), (0, 1), (1, 0, 1), (2, 0, 0, 1))  # where tiles may have no iterations
LONGEST = 9  # iterations of a run the verifier names that the checker still tries


@dataclass(frozen=True)
class Outcome:
    seed: int
    verdict: str
    codes: tuple[str, ...]
    truth: str | None

    @property
    def missed(self):
        return self.verdict in ("clean", "timing") and self.truth not in (None, UNDECIDED)

    @property
    def false_alarm(self):
        return self.verdict == "race" and self.truth is None


def compare(seed, *, limit=4_000):
    """One program: every second one is edited."""
    intended = random_program(seed)
    document = edited(intended, seed) if seed % 2 else intended
    try:
        report = verify_roles(document)
    except DocumentError as error:
        return Outcome(seed, "malformed", (str(error).splitlines()[0],), UNDECIDED)
    shown = [f.tiles for f in report.races() if f.tiles and sum(f.tiles) <= LONGEST][:2]
    truth = None
    more = LONGER if report.races() else ()
    more += ((2,) * 4, (2,) * 6, (1,) * 9) if more and seed >= ALTERNATING else ()
    turns = TURNS if seed >= ALTERNATING else ()
    least = document.minimum_trips
    every = dict.fromkeys([*shown, *RUNS, *turns, *NONE, *more])
    for tiles in (run for run in every if min(run) >= least):
        found = check(document, intended, tiles, limit)
        if found == UNDECIDED and seed >= MIXED:
            found = first_fault(document, intended, tiles)
        if found == UNDECIDED:
            if truth:
                break  # longer runs have more interleavings still
            truth = UNDECIDED
        elif found is not None:
            truth = found
            break
    codes = tuple(sorted({f.code.value for f in report.races()}))
    return Outcome(seed, report.verdict, codes, truth)
