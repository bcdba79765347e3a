"""Data: does every MMA multiply one K-tile, and does every accumulator get every tile once?

These findings do not depend on timing: in-order execution already goes wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from warploom.document import WaveId
from warploom.verify.dataflow import NOTHING
from warploom.verify.explain import NO_EVENT, event, register_name
from warploom.verify.findings import Code, Event, Finding, Severity
from warploom.verify.races import Run
from warploom.verify.text import Item, Kind, Text

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
