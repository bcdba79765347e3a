"""Races: every way in which asynchrony can make the in-order data flow untrue.

Only nearest pairs are checked. Completion is monotone along the program and so is the number of
barriers, so when a nearest pair is in order, farther ones are.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

from warploom.dataclass import dataclass
from warploom.ir import RegisterWaits, WaveId
from warploom.verify.completion import NEVER, Completion, complete
from warploom.verify.dataflow import NOTHING, Flow, Program, trace, unroll
from warploom.verify.events import Item, Kind, Register, Text
from warploom.verify.findings import Assumptions, Code


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two events that need an order they do not have.

    ``first`` must be complete before ``second`` issues. ``joined``: across waves, so a wait *and*
    a barrier are needed; otherwise inside one wave. ``harmless``: no result depends on it.
    """

    code: Code
    first: int
    second: int
    joined: bool
    waves: tuple[WaveId, WaveId]
    harmless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A program with its data flow and completion: all the race rules look at."""

    program: Program
    flow: Flow
    completion: Completion
    pairs: tuple[tuple[WaveId, WaveId], ...]

    def complete_in_wave(self, first: int, second: int) -> bool:
        """Is ``first`` complete before ``second`` in the wave that executes both?"""
        return self.completion.done[first] < second

    def broken_pair(
        self, first: int, second: int, harmless_behind: int = NEVER
    ) -> tuple[WaveId, WaveId] | None:
        """Two waves in which ``first`` need not be over when the other issues ``second``.

        Over means complete, or harmless: its wave has passed ``harmless_behind``.
        """
        for producer, consumer in self.pairs:
            late = producer.group > 0
            done = (self.completion.late if late else self.completion.done)[first]
            done = min(done, harmless_behind)
            if done == NEVER:
                return producer, consumer
            ahead = self.program.barriers_before(second, consumer.group)
            if producer == consumer:
                if done >= second:
                    return producer, consumer
            elif ahead <= self.program.barriers_before(done, producer.group):
                return producer, consumer
        return None


def analyse(text: Text, trips: int, assumptions: Assumptions) -> Run:
    """Unroll, trace and complete a text for one trip count."""
    program = unroll(text, trips)
    flow = trace(program)
    completion = complete(program, flow, assumptions)
    unsure = frozenset(
        position
        for position, item in enumerate(program.items)
        if item.kind is Kind.STORE
        and flow.source[position] != NOTHING
        and not _filled_by(flow, completion.done, position, item)
    )
    # Where the code generator guards registers, each load completes at its store.
    return Run(
        program=program,
        flow=trace(program, unsure) if unsure else flow,
        completion=completion,
        pairs=worst_pairs(text),
    )


def worst_pairs(text: Text) -> tuple[tuple[WaveId, WaveId], ...]:
    """The pairs (wave that completes, wave that relies on it) that decide for all pairs.

    The last group lags most and group 0 leads. With fencing barriers the stagger barriers of later
    groups drain too, so a wave of group 0 as producer is a case of its own.
    """
    p = text.protocol
    lead = WaveId(0, 0)
    beside = WaveId(0, 1) if p.waves_per_group > 1 else None
    if p.groups == 1:
        return ((lead, beside or lead),)
    pairs = [(WaveId(p.groups - 1, 0), lead)]
    if text.fencing and text.staggered:
        pairs.append((lead, beside or WaveId(1, 0)))
    return tuple(pairs)


def find_conflicts(run: Run) -> Iterator[Conflict]:
    """All conflicts of one unrolled program."""
    used, register_conflicts = register_rules(run)
    yield from register_conflicts
    lost: set[int] = set()
    for position, item in enumerate(run.program.items):
        if item.kind is Kind.READ:
            for conflict in _slot_rules(run, position, item, used.get(position, NEVER)):
                if position in used:
                    yield conflict
                    if conflict.code is Code.WAW_LDS:
                        lost.add(conflict.first)
                else:
                    yield _dead_read(conflict, position)
                    break
    # Two writes in flight together that no result depends on: information
    for row in run.flow.writes.values():
        for first, second in pairwise(row):
            if first not in lost and not run.complete_in_wave(first, second):
                yield _in_wave(Code.WAW_LDS, first, second, harmless=True)


def register_rules(run: Run) -> tuple[dict[int, int], list[Conflict]]:
    """The reads whose value an MMA can see, each with the last such MMA; and all RAW-REG."""
    used: dict[int, int] = {}
    found: list[Conflict] = []
    explicit = run.program.text.protocol.register_waits is RegisterWaits.EXPLICIT
    for position, reads in run.flow.operands.items():
        for read in reads:
            if read == NOTHING:
                continue
            visible = _visible_reads(run, read, position) if explicit else [read]
            used.update(dict.fromkeys(visible or [read], position))
            if not visible:
                found.append(_in_wave(Code.RAW_REG, read, position))
    return used, found + _staging_rules(run, used)


def _visible_reads(run: Run, read: int, user: int) -> list[int]:
    """The reads whose data the register may hold at ``user``; none if not even one is complete.

    Normally just ``read``. Where it may be in flight, an earlier read of the same tile serves as
    well, if that one is complete.
    """
    done = run.completion.done
    if done[read] < user:
        return [read]
    fills = run.flow.fills[run.program.items[read].registers[0]]
    first = bisect_left(fills, run.flow.run[read])
    last = bisect_left(fills, read)
    complete = bisect_left(fills, user, first, last + 1, key=done.__getitem__)
    return fills[complete - 1 : last + 1] if complete > first else []


def _staging_rules(run: Run, used: dict[int, int]) -> list[Conflict]:
    """A store takes registers that a global load fills: the load must be complete."""
    flow = run.flow
    stores = sorted({flow.source[read] for read in used} & flow.unsure)
    return [_staging_conflict(run, store) for store in stores]


def _staging_conflict(run: Run, store: int) -> Conflict:
    load = run.flow.source[store]
    staging = run.program.items[store].staging
    assert staging is not None
    if sure_load(run.flow, run.completion.done, load, staging) == NOTHING:
        return _in_wave(Code.WAW_LDS, run.flow.before[load], load)
    return _in_wave(Code.RAW_REG, load, store)


def sure_load(flow: Flow, done: list[int], load: int, staging: Register) -> int:
    """The first load of ``load``'s tile after which no other tile can land in the registers.

    ``NOTHING`` when an older load of another tile may outlast all of them.
    """
    start, other = flow.run[load], flow.before[load]
    if other == NOTHING or done[other] < start:
        return start
    row = flow.fetches[staging]
    at = bisect_right(row, done[other])
    return row[at] if at < len(row) and row[at] <= load else NOTHING


def _filled_by(flow: Flow, done: list[int], store: int, item: Item) -> bool:
    assert item.staging is not None
    sure = sure_load(flow, done, flow.source[store], item.staging)
    return sure != NOTHING and done[sure] <= store


def _slot_rules(run: Run, read: int, item: Item, last_user: int) -> Iterator[Conflict]:
    """RAW-LDS, WAR-LDS and WAW-LDS around one fragment load."""
    flow = run.flow
    write = flow.source[read]
    if write == NOTHING or item.slot is None:
        return
    sure = first_sure_write(run, read)
    if sure == NOTHING:
        yield _in_wave(Code.WAW_LDS, flow.before[write], write)
    else:
        waves = run.broken_pair(sure, read)
        if waves:
            yield Conflict(code=Code.RAW_LDS, first=sure, second=read, joined=True, waves=waves)
    overwrite = flow.after[write]
    if overwrite != NOTHING:
        waves = run.broken_pair(read, overwrite, last_user)
        if waves:
            yield Conflict(
                code=Code.WAR_LDS, first=read, second=overwrite, joined=True, waves=waves
            )


def first_sure_write(run: Run, read: int) -> int:
    """The first write of the tile ``read`` is meant to see after which no older tile can land.

    ``NOTHING`` when an older write of another tile may outlast all of them.
    """
    flow = run.flow
    write = flow.source[read]
    start, other = flow.run[write], flow.before[write]
    if other == NOTHING or run.complete_in_wave(other, start):
        return start
    slot = run.program.items[write].slot
    assert slot is not None
    row = flow.writes[slot]
    at = bisect_right(row, run.completion.done[other])
    return row[at] if at < len(row) and row[at] <= write else NOTHING


def _dead_read(conflict: Conflict, read: int) -> Conflict:
    other = conflict.first if conflict.second == read else conflict.second
    return Conflict(
        code=Code.DEAD_READ,
        first=read,
        second=other,
        joined=conflict.joined,
        waves=conflict.waves if conflict.first == read else conflict.waves[::-1],
        harmless=True,
    )


def _in_wave(code: Code, first: int, second: int, *, harmless: bool = False) -> Conflict:
    lead = WaveId(0, 0)
    return Conflict(
        code=code,
        first=first,
        second=second,
        joined=False,
        waves=(lead, lead),
        harmless=harmless,
    )
