"""What a traced kernel's clock says: durations of ops and waits, and a timeline of both consumers.

A trace holds the clock behind every entry of the consumers' loop for some iterations of one CTA.
The time of an entry is from the stamp before it to its own; of a product, until the wait that
retires it. Vector work of one consumer shares its units with the others', so durations are those of
the running kernel, not of the op alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from warploom.document.roles import Commit, Compute, Mma, RoleEntry, WaitGroup
from warploom.errors import ConfigError

LETTERS = {"qk": "q", "pv": "p", "max": "m", "exp": "e", "cvt": "c", "rescale": "r"}
TURN = "take turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Stamps in cycles by instance, iteration and entry; ``labels`` name the entries."""

    labels: tuple[str, ...]
    stamps: tuple[tuple[tuple[int, ...], ...], ...]

    def __post_init__(self) -> None:
        lines = [line for instance in self.stamps for line in instance]
        if not self.labels or any(len(line) != len(self.labels) for line in lines):
            raise ConfigError("a trace needs one stamp for each entry", where="Trace")
        if any(len(instance) < 2 for instance in self.stamps) or not self.stamps:
            raise ConfigError("a trace needs two iterations or more", where="Trace")

    @property
    def interval(self) -> float:
        """Cycles an iteration, over all instances."""
        each = [(s[-1][-1] - s[0][-1]) / (len(s) - 1) for s in self.stamps]
        return sum(each) / len(each)

    def steps(self, instance: int) -> list[tuple[int, int, int]]:
        """(entry, start, end) of everything behind the first iteration, in order."""
        line = [t for stamps in self.stamps[instance] for t in stamps]
        count = len(self.labels)
        return [(i % count, line[i - 1], line[i]) for i in range(count, len(line))]


def entry_times(trace: Trace) -> tuple[float, ...]:
    """The median time of each entry of the loop."""
    found: list[list[int]] = [[] for _ in trace.labels]
    for instance in range(len(trace.stamps)):
        for entry, start, end in trace.steps(instance):
            found[entry].append(end - start)
    return tuple(float(median(times)) for times in found)


def op_durations(trace: Trace, kernel: Sequence[RoleEntry]) -> Mapping[str, float]:
    """Median cycles of the loop's ordinary ops, by name."""
    times = entry_times(trace)
    pairs = zip(kernel, times, strict=True)
    return {e.op: t for e, t in pairs if isinstance(e, Compute)}


def product_times(trace: Trace, kernel: Sequence[RoleEntry]) -> Mapping[str, float]:
    """Median cycles from the issue of each product until a wait has retired it.

    An upper bound of its latency: the wait may come later than the result.
    """
    out = {}
    for i, entry in enumerate(kernel):
        if isinstance(entry, Mma):
            at = _retired_at(kernel, i)
            if at is not None:
                out[entry.op] = _between(trace, i, at)
    return out


def _retired_at(kernel: Sequence[RoleEntry], product: int) -> int | None:
    """How many entries behind a product the first wait stands that retires its group."""
    younger, own = 0, False
    for ahead in range(1, 2 * len(kernel)):
        entry = kernel[(product + ahead) % len(kernel)]
        if isinstance(entry, Commit):
            younger, own = younger + own, True
        elif isinstance(entry, WaitGroup) and own and entry.pending <= younger:
            return ahead
    return None


def _between(trace: Trace, product: int, ahead: int) -> float:
    found = []
    for instance in range(len(trace.stamps)):
        line = [t for stamps in trace.stamps[instance] for t in stamps]
        starts = range(product, len(line) - ahead, len(trace.labels))
        found += [line[i + ahead] - line[i - 1] for i in starts if i > 0]
    return float(median(found))


def timeline(trace: Trace, *, column: int = 32, intervals: int = 2) -> list[str]:
    """One line an instance: what it was at, ``column`` cycles a character; waits are dots.

    Products are shown where they are issued; ``t`` is a wait for a turn.
    """
    begin = trace.steps(0)[0][1]
    width = round(intervals * trace.interval / column)
    lines = []
    for instance in range(len(trace.stamps)):
        cells = ["."] * width
        for entry, start, end in trace.steps(instance):
            label = trace.labels[entry]
            letter = LETTERS.get(label, "t" if label == TURN else ".")
            last = max(end - 1, start)
            for cell in range((start - begin) // column, (last - begin) // column + 1):
                if 0 <= cell < width and (letter != "." or cells[cell] == "."):
                    cells[cell] = letter.upper() if instance % 2 else letter
        lines.append("".join(cells))
    return lines
