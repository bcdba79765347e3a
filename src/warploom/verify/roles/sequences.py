"""Which tile lengths decide every run of a persistent kernel.

Every condition relates two events at most ``depth`` uses of a ring apart, and the chain of
orderings between them stays inside that window (plus the ``peel`` iterations a role lags). The
lists are the same for every tile, so whether a chain exists depends only on where tiles end inside
the window. ``tile_sequences`` therefore makes runs in which *every* pattern of tile ends over
``window`` uses occurs, whatever came before. Where that is too much (deep rings), it takes runs of
three blocks of equal tiles: a chain that fails in some pattern lacks a link in some kind of
iteration, so it fails where iterations of that kind follow one another; a chain needs at most two
changes of kind, from what fills a slot to what reads it and to what releases it.

Rings used once a tile need several tiles of every length; those runs are added. Where instances of
a role take tiles in turn, every run is tried with each of them at its start: who runs a tile shows
in entries of one instance alone, and two tiles of one instance have those of the others between.
"""

from collections.abc import Iterable, Iterator

from warploom.document.rings import Per
from warploom.document.roles import RolesDocument
from warploom.errors import DocumentError

MAX_EVENTS = 300_000
"""Events unrolled for one verdict."""
MAX_RUN = 30_000
"""Events of one run: orders are kept for every pair of them."""
FULL_WINDOW = 11
"""Up to this window every pattern of tile ends is tried."""
_RUN = 128  # uses in one run: orders are compared inside a run, at a cost that grows faster


def window_of(document: RolesDocument) -> int:
    """The uses of a ring that one condition can span."""
    depth = max((r.depth for r in document.rings if r.per is Per.ITERATION), default=1)
    return max(depth + document.minimum_trips + 1, document.minimum_trips + 2)


def tile_sequences(document: RolesDocument) -> tuple[tuple[int, ...], ...]:
    """The tile lengths of the runs that decide every run, shortest first.

    Raises ``DocumentError`` where they would be too long to judge.
    """
    window = window_of(document)
    least = max(document.minimum_trips, 1)
    turns = turns_of(document)
    tiles = max((r.depth for r in document.rings if r.per is Per.TILE), default=0) + 2 * turns
    check_budget(document, [(least,) * tiles, (least + window,)])
    equal = {(least + i,) * tiles for i in range(min(window, FULL_WINDOW))}
    equal.add((least + window,) * tiles)
    out = _begun(equal.union(_blocks(window, least)), least, turns)
    if window <= FULL_WINDOW:
        every = equal.union(_runs(_every_pattern(window, least), window, least))
        every = _begun(every, least, turns)
        out = every if _fits(document, every) else out
    check_budget(document, out)
    return tuple(sorted(out, key=lambda s: (sum(s), s)))


def turns_of(document: RolesDocument) -> int:
    """After so many tiles everybody has run one."""
    return max((p.instances for p in document.programs if p.alternates), default=1)


def _begun(runs: set[tuple[int, ...]], least: int, turns: int) -> set[tuple[int, ...]]:
    """The runs, each begun by every one of those who take turns."""
    return {(least,) * n + run for run in runs for n in range(turns)}


def _fits(document: RolesDocument, sequences: Iterable[tuple[int, ...]]) -> bool:
    total = 0
    for tiles in sequences:
        events = _events(document, tiles)
        total += events
        if events > MAX_RUN or total > MAX_EVENTS:
            return False
    return True


def check_budget(document: RolesDocument, sequences: Iterable[tuple[int, ...]]) -> None:
    """``DocumentError`` where these runs are too long to judge."""
    if not _fits(document, sequences):
        raise DocumentError(
            "the schedule is too large to judge",
            why=f"a run takes more than {MAX_RUN} events, or all together {MAX_EVENTS}",
            fix="fewer slots, shorter lists; or judge given trip counts",
        )


def _events(document: RolesDocument, tiles: Iterable[int]) -> int:
    lengths = list(tiles)
    total = 0
    for p in document.programs:
        shared = 1 if p.alternates else p.instances
        once = p.instances * (len(p.setup) + len(p.finish) + 1)
        a_tile = len(p.prologue) + len(p.epilogue)
        trips = sum(max(0, n - p.peel) for n in lengths)
        events = once + shared * (len(lengths) * a_tile + trips * len(p.kernel))
        total += document.cluster * events
    return total


def _every_pattern(window: int, least: int) -> list[int]:
    """Bits, one a use, 1 where a tile ends, at least ``least`` apart, in which every allowed
    pattern of ``window`` bits occurs: a walk over all edges of the graph of patterns.
    """
    size = window - 1
    start = (0,) * size
    bits = list(start)
    left = {w: _following(w, least) for w in _words(size, least)}
    at = start
    while True:
        if not left[at]:
            path = _nearest(at, left, least)
            if path is None:
                return bits
            bits += path
            at = (*at, *path)[-size:] if size else ()
            continue
        bit = left[at].pop()
        bits.append(bit)
        at = (*at, bit)[-size:] if size else ()


def _words(size: int, least: int) -> Iterator[tuple[int, ...]]:
    words: list[tuple[int, ...]] = [()]
    for _ in range(size):
        words = [(*w, b) for w in words for b in _following(w, least)]
    return iter(words)


def _following(word: tuple[int, ...], least: int) -> list[int]:
    """The bits that may follow: a tile has at least ``least`` uses."""
    return [0] if 1 in word[len(word) - least + 1 :] and least > 1 else [0, 1]


def _nearest(
    start: tuple[int, ...], left: dict[tuple[int, ...], list[int]], least: int
) -> tuple[int, ...] | None:
    """The bits of the shortest way to a pattern with an edge that was not walked."""
    ways: dict[tuple[int, ...], tuple[int, ...]] = {start: ()}
    queue = [start]
    for word in queue:
        if left[word]:
            return ways[word]
        for bit in _following(word, least):
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
            tiles.append(length)
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
