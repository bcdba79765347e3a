"""Which tile lengths decide every run of a persistent kernel.

For regular documents the conditions that relate several tiles are proven for all sequences at once
(``induction``); runs then show what one tile does: one of each length that the proof names, with
a tile after it that is long enough to use all slots again. What one tile does is the same wherever
it stands, so a single run with tiles of all these lengths shows as much (``joined``). Where it
shows nothing, the short runs, which make better messages, are not needed.

Otherwise every pattern of tile ends is tried. Every condition relates two events at most ``depth``
uses of a ring apart, and the chain of orderings between them stays inside that window (plus the
``peel`` iterations a role lags). The lists are the same for every tile, so whether a chain exists
depends only on where tiles end inside the window. So the runs are such that *every* pattern of tile
ends over ``window`` uses occurs, whatever came before. Where that is too much (deep rings),
some patterns are tried: blocks of equal tiles, and tiles of every length before a short or a long
one. A defect that they show is one; where they show none, the document is *not judged*, and the
report says so.

What one agent does to its registers and staging copies depends on no ring: see ``every_triple``.
A list either changes what it leaves behind in its first two executions in a row or in none, and
three tiles in a row are the tile before, the one that leaves something and the one that finds it.

Rings used once a tile need several tiles of every length; those runs are added. Where instances of
a role take tiles in turn, every run is tried with each of them at its start: who runs a tile shows
in entries of one instance alone, and two tiles of one instance have those of the others between.
"""

from collections.abc import Iterable, Iterator
from itertools import product

from warploom.dataclass import dataclass
from warploom.errors import TooLargeError
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.rings import Per
from warploom.verify.agents import work_of
from warploom.verify.roles.induction import Induction, NotProven, prove

MAX_EVENTS = 300_000
"""Events unrolled for one verdict."""
MAX_RUN = 30_000
"""Events of one run: orders are kept for every pair of them."""
MOST_JOINED = 16_000
"""Events of a run with tiles of all lengths: beyond, short runs are quicker."""
FULL_WINDOW = 11
"""Up to this window every pattern of tile ends is tried."""
FULL_WINDOW_WITH_NONE = 5
"""The same where tiles of no iterations may lie between others, up to ``_EMPTY_TILES`` in a row."""
_EMPTY_TILES = 2
_RUN = 128  # uses in one run: orders are compared inside a run, at a cost that grows faster


def window_of(document: RolesDocument) -> int:
    """The uses of a ring that one condition can span."""
    depth = max((r.depth for r in document.rings if r.per is Per.ITERATION), default=1)
    return max(depth + document.minimum_trips + 1, document.minimum_trips + 2)


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs to check. ``alone``: those of agents by themselves. ``open``: why they do not decide
    every sequence, where they do not. ``joined``: fewer and longer runs that show as much.
    """

    sequences: tuple[tuple[int, ...], ...]
    alone: tuple[int, ...]
    open: str = ""
    joined: tuple[tuple[int, ...], ...] = ()


def deciding_runs(document: RolesDocument) -> Runs:
    """The runs that decide every sequence of tiles, as far as any do.

    Raises ``DocumentError`` where they would be too long to check.
    """
    try:
        proven = prove(document)
    except NotProven as missing:
        found, every = _tried(document)
        reason = "" if every else f"{missing}: only {len(found)} sequences of tiles were tried"
        return Runs(found, every_triple(document), reason)
    joined = _joined(document, proven)
    return Runs(_shown(document, proven), every_triple(document), joined=joined)


def tile_sequences(document: RolesDocument) -> tuple[tuple[int, ...], ...]:
    """The tile lengths of the runs to check, shortest first."""
    return deciding_runs(document).sequences


def _shown(document: RolesDocument, proven: Induction) -> tuple[tuple[int, ...], ...]:
    """Tiles of each length, first and last, with one between after which all slots were reused."""
    least, turns, lengths = document.minimum_trips, turns_of(document), proven.lengths
    long = _long(document, proven)
    tiles = max((r.depth for r in document.rings if r.per is Per.TILE), default=0) + 2 * turns
    rest = (least,) * max(tiles - 3, 0)
    every = {(n, long, n, *rest) for n in lengths} | {(n,) for n in lengths}
    out = _begun(every, least, turns)
    check_budget(document, out)
    return tuple(sorted(out, key=lambda s: (sum(s), s)))


def _long(document: RolesDocument, proven: Induction) -> int:
    """Iterations of a tile that uses all slots again."""
    depth = max((r.depth for r in document.rings if r.per is Per.ITERATION), default=0)
    return max(document.minimum_trips + depth + 2, proven.long)


def _joined(document: RolesDocument, proven: Induction) -> tuple[tuple[int, ...], ...]:
    """Runs with tiles of all lengths, and then of enough uses that all slots are used again."""
    least, turns, lengths = document.minimum_trips, turns_of(document), proven.lengths
    tiles = max((r.depth for r in document.rings if r.per is Per.TILE), default=0) + 2 * turns
    each = (n for n in lengths for _ in range(turns))  # by everybody who takes turns
    runs = _begun({(*each, _long(document, proven), *(least,) * tiles)}, least, turns)
    work = _work(document)
    short = all(_events(document, run, work) <= MOST_JOINED for run in runs)
    return tuple(runs) if short else ()


def every_triple(document: RolesDocument) -> tuple[int, ...]:
    """Tiles in which every three lengths follow one another, of the shortest four."""
    least = document.minimum_trips
    kinds, at, out = 4, (0, 0), [0, 0]
    left = {pair: list(range(kinds)) for pair in product(range(kinds), repeat=2)}
    while left[at]:
        at = at[1], left[at].pop()
        out.append(at[1])
    return tuple(least + n for n in out)


def _tried(document: RolesDocument) -> tuple[tuple[tuple[int, ...], ...], bool]:
    """Runs with every pattern of tile ends; where these are too many, with some of them."""
    window = window_of(document)
    none = document.minimum_trips == 0
    least = max(document.minimum_trips, 1)
    turns = turns_of(document)
    tiles = max((r.depth for r in document.rings if r.per is Per.TILE), default=0) + 2 * turns
    check_budget(document, [(least,) * tiles, (least + window,)])
    equal = {(least + i,) * tiles for i in range(min(window, FULL_WINDOW))}
    equal.add((least + window,) * tiles)
    if none:
        equal.add((0,) * tiles)
    if window <= (FULL_WINDOW_WITH_NONE if none else FULL_WINDOW):
        patterns = _every_pattern(window, least, _EMPTY_TILES if none else 0)
        every = _begun(equal.union(_runs(patterns, window, least)), least, turns)
        if _fits(document, every):
            return tuple(sorted(every, key=lambda s: (sum(s), s))), True
    more = {*_blocks(window, least), *_pairs(window, least)}
    out = _begun(_with_none(equal | more, none), least, turns)
    check_budget(document, out)
    return tuple(sorted(out, key=lambda s: (sum(s), s))), False


def turns_of(document: RolesDocument) -> int:
    """After so many tiles everybody has run one."""
    return max((p.instances for p in document.programs if p.alternates), default=1)


def _begun(runs: set[tuple[int, ...]], least: int, turns: int) -> set[tuple[int, ...]]:
    """The runs, each begun by every one of those who take turns."""
    return {(least,) * n + run for run in runs for n in range(turns)}


def _fits(document: RolesDocument, sequences: Iterable[tuple[int, ...]], times: int = 1) -> bool:
    total = 0
    work = _work(document)
    for tiles in sequences:
        events = times * _events(document, tiles, work)
        total += events
        if events > MAX_RUN or total > MAX_EVENTS:
            return False
    return True


def check_budget(
    document: RolesDocument, sequences: Iterable[tuple[int, ...]], times: int = 1
) -> None:
    """``DocumentError`` where these runs are too long to check; ``times``: work of an event."""
    if not _fits(document, sequences, times):
        raise TooLargeError(
            "the schedule is too large to judge",
            why=f"a run takes more than {MAX_RUN} events, or all together {MAX_EVENTS}",
            fix="fewer slots, shorter lists; or judge given trip counts",
        )


_Work = tuple[tuple[int, int, int], ...]


def _work(document: RolesDocument) -> _Work:
    """Of each program: what runs once, what in each tile, what in each iteration."""
    return tuple(
        (work_of((*p.setup, *p.finish)), work_of((*p.prologue, *p.epilogue)), work_of(p.kernel))
        for p in document.programs
    )


def _events(document: RolesDocument, tiles: Iterable[int], work: _Work) -> int:
    lengths = list(tiles)
    total = 0
    for p, (alone, a_tile, a_trip) in zip(document.programs, work, strict=True):
        shared = 1 if p.alternates else p.instances
        once = p.instances * (alone + 1)
        trips = sum(max(0, n - p.peel) for n in lengths)
        events = once + shared * (len(lengths) * a_tile + trips * a_trip)
        total += document.cluster * events
    return total


def _every_pattern(window: int, least: int, empty: int = 0) -> list[int]:
    """Symbols, one a use, in which every allowed pattern of ``window`` of them occurs: a walk over
    all edges of the graph of patterns. 0: the tile goes on; 1: it ends here; more: it ends and so
    many but one tiles of no iterations follow. Ends are at least ``least`` uses apart.
    """
    size = window - 1
    start = (0,) * size
    bits = list(start)
    left = {w: _following(w, least, empty) for w in _words(size, least, empty)}
    at = start
    while True:
        if not left[at]:
            path = _nearest(at, left, least, empty)
            if path is None:
                return bits
            bits += path
            at = (*at, *path)[-size:] if size else ()
            continue
        bit = left[at].pop()
        bits.append(bit)
        at = (*at, bit)[-size:] if size else ()


def _words(size: int, least: int, empty: int = 0) -> Iterator[tuple[int, ...]]:
    words: list[tuple[int, ...]] = [()]
    for _ in range(size):
        words = [(*w, b) for w in words for b in _following(w, least, empty)]
    return iter(words)


def _following(word: tuple[int, ...], least: int, empty: int = 0) -> list[int]:
    """The symbols that may follow: a tile has at least ``least`` uses."""
    if least > 1 and any(word[len(word) - least + 1 :]):
        return [0]
    return list(range(2 + empty))


def _nearest(
    start: tuple[int, ...], left: dict[tuple[int, ...], list[int]], least: int, empty: int
) -> tuple[int, ...] | None:
    """The bits of the shortest way to a pattern with an edge that was not walked."""
    ways: dict[tuple[int, ...], tuple[int, ...]] = {start: ()}
    queue = [start]
    for word in queue:
        if left[word]:
            return ways[word]
        for bit in _following(word, least, empty):
            other = (*word, bit)[1:]
            if other not in ways:
                ways[other] = (*ways[word], bit)
                queue.append(other)
    return None


def _runs(bits: list[int], window: int, least: int) -> Iterator[tuple[int, ...]]:
    """The bits as tile lengths, in runs that overlap by a window."""
    tiles, length = [], 0
    for bit in bits:
        length += 1
        if bit:
            tiles += [length, *(0,) * (bit - 1)]
            length = 0
    tiles.append(max(length, least))
    first = 0
    while first < len(tiles):
        last, uses = first, 0
        while last < len(tiles) and uses < max(_RUN, 3 * window):
            uses += tiles[last]
            last += 1
        yield tuple(tiles[first:last])
        if last == len(tiles):
            return
        overlap = 0
        while overlap < window:
            last -= 1
            overlap += tiles[last]
        first = max(last, first + 1)


def _with_none(runs: set[tuple[int, ...]], none: bool) -> set[tuple[int, ...]]:
    """The runs, and where tiles of no iterations may be, each with one and two between others."""
    if not none:
        return runs
    out = set(runs)
    for run in runs:
        for count in (1, 2):
            out.add((0,) * count + tuple(n for trips in run for n in (trips, *(0,) * count)))
    return out


def _pairs(window: int, least: int) -> Iterator[tuple[int, ...]]:
    """A tile of any length that ends inside the window, and a short or a long one after it."""
    for first in range(least, window + 1):
        for second in (least, least + 1, window):
            yield first, second


def _blocks(window: int, least: int) -> Iterator[tuple[int, ...]]:
    """Three blocks of equal tiles; those at the ends as long as the window, the middle one too,
    or a single tile.
    """
    lengths = (least, least + 1, window)
    for a in lengths:
        for c in lengths:
            ends = (a,) * -(-window // a), (c,) * -(-window // c)
            yield ends[0] + ends[1]
            for b in lengths:
                if b not in (a, c):
                    yield (*ends[0], b, *ends[1])
                    yield ends[0] + (b,) * -(-window // b) + ends[1]
