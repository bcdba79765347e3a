"""Phases from a schedule: modulo variable expansion, prologue and epilogue for any trip count.

Interval q runs op v for iteration ``q - lag(v)``. Intervals before the first full one are the
prologue, those after the last the epilogue; nothing is taken from a recipe. Storage with D copies
needs indices that repeat with D, so the kernel is unrolled by the least common period. With fewer
iterations than overlap there is no full interval: all ops are laid out in time order.

>>> expand(result, iterations=7)     # doctest: +SKIP
Expansion(prologue=..., kernel=..., epilogue=..., trips=5, unroll=1)
"""

from math import gcd, lcm
from typing import NamedTuple

from warploom.dataclass import dataclass
from warploom.errors import PhaseError
from warploom.modulo.bounds.system import build_system
from warploom.modulo.result import ModuloResult


class Issued(NamedTuple):
    """Op ``op`` of iteration ``iteration`` (in the kernel: of its first trip)."""

    op: int
    iteration: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """A finite or repeated program: prologue, ``trips`` times the kernel, epilogue.

    Kernel trip j runs each op with its iteration moved up by ``j * unroll``. The epilogue's
    iterations are those of ``trips`` as given; moved likewise for other counts.
    """

    prologue: tuple[Issued, ...]
    kernel: tuple[Issued, ...]
    epilogue: tuple[Issued, ...]
    trips: int
    unroll: int

    def issued(self) -> tuple[Issued, ...]:
        """Everything that runs, in program order."""
        out = list(self.prologue)
        for j in range(self.trips):
            out += [Issued(x.op, x.iteration + j * self.unroll) for x in self.kernel]
        return (*out, *self.epilogue)


def unroll_factor(result: ModuloResult) -> int:
    """After how many iterations the copies of every ring repeat (modulo variable expansion)."""
    periods = [
        depth // gcd(depth, len(ring.writers))
        for ring, depth in zip(result.problem.rings, result.depths, strict=True)
    ]
    lives = [_copies(result, v) for v in range(len(result.problem.values))]
    return lcm(1, *periods, *lives)


def _copies(result: ModuloResult, value: int) -> int:
    """Names a renamed value needs: its lifetime in intervals, rounded up."""
    v = result.problem.values[value]
    start = result.times[v.src] + v.late
    ends = [result.times[u.op] + u.distance * result.ii + u.hold for u in v.uses]
    return max(1, -(-(max([start, *ends]) - start) // result.ii))


def copy_index(result: ModuloResult, ring: int, write: int, iteration: int) -> int:
    """The copy of a ring that write ``write`` of an iteration goes to."""
    writers = len(result.problem.rings[ring].writers)
    return (iteration * writers + write) % result.depths[ring]


def kernel_rank(result: ModuloResult) -> tuple[int, ...]:
    """Ops of one interval in program order: by cycle; in the same one what must come first first.

    A reader may share its cycle with the next writer of its copy, or a zero-latency producer with
    its consumer: then the constraint between them decides.
    """
    fixed = result.problem.with_roles(result.roles) if result.problem.roles else result.problem
    arcs = build_system(fixed).all_arcs(result.depths)
    before: dict[int, set[int]] = {}
    for a in arcs:
        same = result.times[a.dst] + a.distance * result.ii == result.times[a.src]
        if same and a.src != a.dst:
            before.setdefault(a.dst, set()).add(a.src)
    order: list[int] = []
    left = sorted(range(len(result.times)), key=lambda v: (result.cycle(v), -result.lag(v), v))
    while left:
        cycle = result.cycle(left[0])
        group = [v for v in left if result.cycle(v) == cycle]
        ready = [v for v in group if not before.get(v, set()) & set(group) - {v}]
        chosen = ready[0] if ready else group[0]
        order.append(chosen)
        left.remove(chosen)
    return tuple(order)


def expand(result: ModuloResult, iterations: int) -> Expansion:
    """The program for a number of iterations, also for none and for fewer than overlap."""
    if iterations < 0:
        raise PhaseError(f"{iterations} iterations", fix="give a number of at least 0")
    unroll, fill = unroll_factor(result), result.overlap - 1
    full = iterations - fill
    trips = full // unroll if full > 0 else 0
    order = kernel_rank(result)
    if full < 0:
        everything = _intervals(result, order, 0, iterations + fill, iterations)
        return Expansion(prologue=everything, kernel=(), epilogue=(), trips=0, unroll=unroll)
    peeled = full - trips * unroll
    first = fill + peeled
    return Expansion(
        prologue=_intervals(result, order, 0, first, iterations),
        kernel=_intervals(result, order, first, first + unroll, None),
        epilogue=_intervals(result, order, first + trips * unroll, iterations + fill, iterations),
        trips=trips,
        unroll=unroll,
    )


def _intervals(
    result: ModuloResult, order: tuple[int, ...], first: int, end: int, iterations: int | None
) -> tuple[Issued, ...]:
    """Intervals ``first .. end - 1``, counted from the one that starts iteration 0."""
    out = []
    for interval in range(first, end):
        for v in order:
            i = interval - result.lag(v)
            if i >= 0 and (iterations is None or i < iterations):
                out.append(Issued(v, i))
    return tuple(out)
