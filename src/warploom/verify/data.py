"""Data: every MMA of one K-tile, every tile summed once, every op its declared values.

These findings do not depend on timing: in-order execution already goes wrong.

One wave's program is run in order. The n-th run of an op is its iteration n; it must find, in the
home of each operand, the value the declaration names, of the right iteration. A home holds what was
written there last, so an op that runs too late finds the next iteration's value. What other waves
and the queues can do to this order is the other verifiers' matter.
"""

from collections import Counter
from collections.abc import Iterator

from warploom.ir import WaveId
from warploom.ir.dataflow import SETUP, STORE, WAVE, Flow, FlowOp, FlowOperand, Key, When
from warploom.verify.dataflow import NOTHING
from warploom.verify.events import Item, Kind, Slot, Text
from warploom.verify.explain import NO_EVENT, event, register_name
from warploom.verify.findings import Code, Event, Finding, Severity
from warploom.verify.races import Run

Accumulator = tuple[int, int]
_ANY_WAVE = (WaveId(0, 0),)


def find_data_errors(run: Run) -> Iterator[Finding]:
    """TOKEN, WAR-REG and COVERAGE findings of one unrolled program."""
    sums: dict[Accumulator, list[int]] = {}
    last: dict[Accumulator, int] = {}
    spoiled: set[Accumulator] = set()
    for position in run.flow.operands:
        key = _accumulator(run.program.items[position])
        last[key] = position
        finding = _operand_error(run, position)
        if finding is None:
            tile = run.flow.tile[run.flow.operands[position][0]]
            assert tile is not None
            sums.setdefault(key, []).append(tile)
        else:
            spoiled.add(key)
            yield finding
    yield from _coverage(run, sums, last, spoiled)


def _accumulator(item: Item) -> Accumulator:
    assert item.op is not None
    return item.op.stage, item.op.subtile


def _operand_error(run: Run, mma: int) -> Finding | None:
    """What is wrong with the operands of one MMA, if anything."""
    flow, items = run.flow, run.program.items
    reads = flow.operands[mma]
    for read, register in zip(reads, items[mma].registers, strict=True):
        if read == NOTHING:
            why = f"no fragment load fills {register_name(register)} before this MMA"
            return _finding(run, Code.TOKEN, (mma, mma), register_name(register), why)
        if flow.tile[read] is None:
            why = "the fragment comes from a slot that no load has written"
            return _finding(run, Code.TOKEN, (read, mma), register_name(register), why)
    tiles = [flow.tile[r] for r in reads]
    if len(set(tiles)) == 1:
        return None
    for read, wanted in zip(reads, reversed(tiles), strict=True):
        older = flow.before[read]
        if older != NOTHING and flow.tile[older] == wanted:
            name = register_name(items[read].registers[0])
            why = (
                f"it replaces tile {wanted}, which this MMA still needs, by tile {flow.tile[read]}"
            )
            return _finding(run, Code.WAR_REG, (read, mma), name, why)
    why = f"{event(run.program, mma)} multiplies tile {tiles[0]} of A with tile {tiles[1]} of B"
    return _finding(run, Code.TOKEN, (reads[0], mma), None, why)


_FIXES = {
    Code.TOKEN: "load the same K-tile for both operands before the fragments are read",
    Code.WAR_REG: "move the fragment load after the last MMA that uses the old value",
    Code.COVERAGE: "emit one MMA per accumulator and K-tile over prologue, loop and epilogue",
}


def _finding(run: Run, code: Code, pair: tuple[int, int], slot: str | None, why: str) -> Finding:
    where = event(run.program, pair[0]), event(run.program, pair[1])
    return _at(run, code, where, slot, f"{where[0]}: {why}")


def _at(run: Run, code: Code, where: tuple[Event, Event], slot: str | None, why: str) -> Finding:
    return Finding(
        code=code,
        severity=Severity.RACE,
        trip_count=run.program.trips,
        where=where,
        slot=slot,
        waves=_ANY_WAVE,
        why=why,
        fix=_FIXES[code],
    )


def _coverage(
    run: Run,
    sums: dict[Accumulator, list[int]],
    last: dict[Accumulator, int],
    spoiled: set[Accumulator],
) -> Iterator[Finding]:
    p = run.program.text.protocol
    total = p.kernel_k_base + p.k_tiles_per_iteration * run.program.trips
    for key in sorted(last):
        if key not in spoiled and len(sums[key]) == total and set(sums[key]) == set(range(total)):
            continue
        if key not in spoiled:
            where = event(run.program, last[key])
            why = _miscount(Counter(sums[key]), total)
            yield _at(run, Code.COVERAGE, (where, where), f"accumulator {list(key)}", why)
    missing = _missing_accumulator(run.program.text, last)
    if missing is not None and total > 0:
        count, example = missing
        why = f"{count} accumulator(s) receive nothing of {total} K-tile(s)"
        slot = None if example is None else f"accumulator {list(example)}"
        yield _at(run, Code.COVERAGE, (NO_EVENT, NO_EVENT), slot, why)


def _miscount(counts: Counter[int], total: int) -> str:
    missing = next((t for t in range(total) if t not in counts), None)
    twice = next((t for t in sorted(counts) if counts[t] > 1), None)
    foreign = next((t for t in sorted(counts) if not 0 <= t < total), None)
    parts = [f"of {total} K-tile(s) it receives {sum(counts.values())}"]
    if missing is not None:
        parts.append(f"tile {missing} is missing")
    if twice is not None:
        parts.append(f"tile {twice} is added {counts[twice]} times")
    if foreign is not None:
        parts.append(f"tile {foreign} lies outside the matrix")
    return "; ".join(parts)


def _missing_accumulator(
    text: Text, seen: dict[Accumulator, int]
) -> tuple[int, Accumulator | None] | None:
    """How many accumulators of the grid no MMA of this run touches, with one of them.

    The grid is every row with every column that the document's MMAs name.
    """
    named = [_accumulator(i) for i in text.items() if i.kind is Kind.MMA]
    rows, columns = sorted({r for r, _ in named}), sorted({c for _, c in named})
    if not named:
        return 1, None
    count = len(rows) * len(columns) - len(seen)
    if count <= 0:
        return None
    cells = ((r, c) for r in rows for c in columns)
    return count, next(cell for cell in cells if cell not in seen)


Made = tuple[str, int]  # value and iteration
_WORK = (Kind.LOAD, Kind.STORE, Kind.READ, Kind.MMA, Kind.VECTOR)


def looks_back(flow: Flow) -> int:
    """How many iterations an op looks back at most."""
    return max((o.back for op in flow.ops for o in op.operands), default=0)


def find_flow_errors(run: Run) -> Iterator[Finding]:
    """FLOW findings of one unrolled program."""
    flow = run.program.text.flow
    assert flow is not None
    yield from _Walk(run, flow).findings()


class _Walk:
    """An in-order run: what every home and every LDS slot holds."""

    def __init__(self, run: Run, flow: Flow) -> None:
        self.run = run
        self.ops: dict[Key, FlowOp] = {op.key: op for op in flow.ops if op.role == WAVE}
        self.outside = {r: [op for op in flow.ops if op.role == r] for r in (SETUP, STORE)}
        self.maker = {value: op for op in flow.ops for value in op.results}
        self.home = {h.value: h.place for h in flow.homes}
        self.held: dict[str, Made] = {}
        self.slots: dict[Slot, Made] = {}
        self.done: Counter[Key] = Counter()
        protocol = run.program.text.protocol
        trips = protocol.k_tiles_per_iteration * run.program.trips
        self.total = protocol.kernel_k_base + trips

    def findings(self) -> Iterator[Finding]:
        """What this run shows."""
        for op in self.outside[SETUP]:
            self.held.update({self.home[v]: (v, 0) for v in op.results})
        for position, item in enumerate(self.run.program.items):
            if item.kind in _WORK and item.op is not None:
                yield from self._work(position, item, item.op.key)
        yield from self._counts()
        for op in self.outside[STORE]:
            for operand in op.operands:
                place, wanted = self._wanted(op, operand, self.total - 1)
                if self.total > 0 and self.held.get(place) != wanted:
                    why = f"{op.name} finds {_words(self.held.get(place))}, not {_words(wanted)}"
                    yield self._finding(NO_EVENT, op, place, why, "run what makes it last")
        if not any(op.stores for op in self.outside[STORE]):
            yield self._finding(NO_EVENT, None, "", "no declared op stores a result", "declare it")

    def _work(self, position: int, item: Item, key: Key) -> Iterator[Finding]:
        here, op = event(self.run.program, position), self.ops.get(key)
        if op is None:
            yield self._finding(here, None, "", f"{here} is no declared op", "declare it")
            return
        iteration = self.done[key] if op.when is When.LOOP else 0
        self.done[key] += 1
        for operand in op.operands:
            place, wanted = self._wanted(op, operand, iteration)
            in_lds = "." in place and item.slot is not None
            has = self.slots.get(item.slot) if in_lds and item.slot else self.held.get(place)
            if has != wanted:
                why = f"{here} finds {_words(has)} in {place}, not {_words(wanted)}"
                fix = f"run {self.maker[wanted[0]].name} first, and nothing over it"
                yield self._finding(here, op, place, why, fix)
        for value in op.results:
            if "." in self.home[value] and item.slot is not None:
                tile = self.run.flow.tile[position] if op.when is When.LOOP else 0
                self.slots[item.slot] = (value, -1 if tile is None else tile)
            else:
                self.held[self.home[value]] = (value, iteration)

    def _wanted(self, op: FlowOp, operand: FlowOperand, iteration: int) -> tuple[str, Made]:
        """The place of an operand, and the value that must be there."""
        if self.maker[operand.value].when is not When.LOOP:
            return self.home[operand.value], (operand.value, 0)
        if iteration - operand.back < 0 and operand.before is not None:
            return self.home[operand.before], (operand.before, 0)
        return self.home[operand.value], (operand.value, iteration - operand.back)

    def _counts(self) -> Iterator[Finding]:
        for key, op in self.ops.items():
            wanted = self.total if op.when is When.LOOP else 1
            if self.done[key] != wanted:
                why = f"{op.name}{list(op.args)} runs {self.done[key]} time(s), not {wanted}"
                fix = "run every declared op once an iteration"
                yield self._finding(NO_EVENT, op, f"{key}", why, fix)

    def _finding(self, here: Event, op: FlowOp | None, slot: str, why: str, fix: str) -> Finding:
        return Finding(
            code=Code.FLOW,
            why=why,
            fix=fix,
            trip_count=self.run.program.trips,
            where=(here, here),
            slot=slot or None,
            waves=(WaveId(0, 0),),
            line=op.line if op else "",
        )


def _words(value: Made | None) -> str:
    return "nothing" if value is None else f"{value[0]} of iteration {value[1]}"
