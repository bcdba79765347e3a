"""Walks role programs and compares every op's operands and results with the declared ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Literal

from warploom.dataclass import dataclass
from warploom.errors import DocumentError
from warploom.ir.dataflow import Flow, FlowOp, FlowOperand, When
from warploom.ir.mbarrier_dialect import BulkStore, Compute, Load, Mma, RoleEntry, RolesDocument
from warploom.ir.rings import BufferCopy, SlotRead
from warploom.verify.agents import Agent, Event, Uses, agents, describe, run, takes
from warploom.verify.findings import Code, Finding

Made = tuple[str, int, int]  # value, tile, iteration (0 for values of a tile)
OpKey = tuple[str, str, tuple[int, ...]]  # role, op, args


@dataclass(frozen=True, slots=True)
class Store:
    """Where values live: a register array, a part of a ring's slots, or a staging copy.

    What it is and the names of its parts are its identity. A text may mean several: an array may
    be called ``r.p`` beside part p of ring r.
    """

    kind: Literal["register", "slot", "copy"]
    name: str
    part: str | int = ""

    def __str__(self) -> str:
        mark = {"register": "", "slot": ".", "copy": "#"}[self.kind]
        return f"{self.name}{mark}{self.part}"


_Slot = tuple[int, Store, int]  # cta, part of a ring, use


def stores_called(document: RolesDocument, role: str, text: str) -> list[Store]:
    """All that a text may mean for a role."""
    slots = [Store("slot", r.name, p.name) for r in document.rings for p in r.parts]
    heads = [b for b in document.buffers if text.startswith(f"{b.name}#")]
    tails = [(b, text[len(b.name) + 1 :]) for b in heads]
    copies = [
        Store("copy", b.name, int(n))
        for b, n in tails
        if n.isdecimal() and len(n) < 10 and int(n) < b.copies and str(int(n)) == n
    ]
    arrays = [Store("register", n) for n, _ in document.program(role).registers if n == text]
    return [*arrays, *(s for s in slots if str(s) == text), *copies]


def home_of(document: RolesDocument, op: FlowOp, text: str) -> Store:
    """The home of a value that an op makes; of several that a text may mean, the one it writes."""
    found = stores_called(document, op.role, text)
    if len(found) > 1:
        rows = (row for _, row in document.program(op.role).phases())
        mine = [e for row in rows for e in row if _runs(op, e)]
        written = {s for e in mine for s in writes(e)}
        found = [s for s in found if s in written] or found
    if len(found) != 1:
        raise DocumentError(
            f"home {text!r} of op {op.name!r} may be {len(found)} things",
            path="$.flow.homes",
            why=", ".join(f"the {s.kind} {s}" for s in found) or "nothing is called so",
            fix="name register arrays, parts and staging copies so that no two read alike",
        )
    return found[0]


def _runs(op: FlowOp, entry: RoleEntry) -> bool:
    own = isinstance(entry, Compute | BulkStore | Load | Mma) and entry.op == op.name
    return own and getattr(entry, "args", ()) == op.args


def check_flow(document: RolesDocument, flow: Flow) -> Iterator[Finding]:
    """All ways in which the programs do not compute the declared dataflow."""
    if not any(op.stores for op in flow.ops):
        yield Finding(
            code=Code.FLOW,
            why="no declared op stores a result",
            fix="mark the ops that write to memory with stores",
        )
    table = _Table.of(document, flow)
    for tiles in flow_tiles(document, flow):
        yield from _Walk(document, flow, tiles, table).findings()


def flow_tiles(document: RolesDocument, flow: Flow) -> Iterator[tuple[int, ...]]:
    """The runs that show everything: of lengths from the least on, as far as operands look back.

    Everybody runs two tiles.
    """
    turns = max((p.instances for p in document.programs if p.alternates), default=1)
    least = document.minimum_trips
    back = max((o.back for op in flow.ops for o in op.operands), default=0)
    return ((trips,) * (2 * turns) for trips in range(least, least + back + 4))


@dataclass(frozen=True, slots=True)
class _Table:
    """The declaration, by name."""

    ops: dict[OpKey, FlowOp]
    maker: dict[str, FlowOp]
    home: dict[str, Store]

    @classmethod
    def of(cls, document: RolesDocument, flow: Flow) -> _Table:
        maker = {value: op for op in flow.ops for value in op.results}
        return cls(
            {(op.role, op.name, op.args): op for op in flow.ops},
            maker,
            {h.value: home_of(document, maker[h.value], h.place) for h in flow.homes},
        )


@dataclass(slots=True)
class _Walk:
    """One run over tiles of given lengths."""

    document: RolesDocument
    flow: Flow
    tiles: tuple[int, ...]
    table: _Table
    uses: Uses = field(init=False)
    slots: dict[_Slot, Made | None] = field(default_factory=dict)

    def findings(self) -> Iterator[Finding]:
        """What this run shows."""
        self.uses = Uses(self.document, self.tiles)
        programs = {a: run(self.document, a, self.tiles) for a in agents(self.document)}
        for events in programs.values():
            # What every use of every slot holds once it is full: the other verifiers see to when
            for event in events:
                op = self._declared(event)
                if op is None:
                    continue
                for place in writes(event.entry):
                    if place.kind != "slot":
                        continue
                    made = [v for v in op.results if self.table.home[v] == place]
                    value = (made[0], event.tile, _turn(op, event)) if made else None
                    for cta in self._ctas(event):
                        self.slots[cta, place, self._use(event, place)] = value
        for agent, events in programs.items():
            yield from self._walk(agent, events)

    def _ctas(self, event: Event) -> range:
        entry, cta = event.entry, event.agent.cta
        if not isinstance(entry, Load) or entry.multicast == 1:
            return range(cta, cta + 1)
        first = cta // entry.multicast * entry.multicast
        return range(first, first + entry.multicast)

    def _use(self, event: Event, place: Store) -> int:
        return self.uses.meant(event, place.name)

    def _declared(self, event: Event) -> FlowOp | None:
        key = key_of(event)
        return None if key is None else self.table.ops.get(key)

    def _walk(self, agent: Agent, events: list[Event]) -> Iterator[Finding]:
        held: dict[Store, Made | None] = {}
        seen: dict[tuple[OpKey, int], list[int]] = {}
        for event in events:
            key = key_of(event)
            if key is None:
                continue
            op = self.table.ops.get(key)
            if op is None:
                why = f"{describe(event.entry)} is no declared op of {agent.role}"
                yield self._finding(event, None, why, "declare it, or leave it out")
                for place in writes(event.entry):
                    held[place] = None
                continue
            if event.phase in ("setup", "finish"):
                why = f"{describe(event.entry)} runs outside of every tile"
                yield self._finding(event, op, why, "run it in prologue, kernel or epilogue")
                continue
            seen.setdefault((key, event.tile), []).append(_turn(op, event))
            yield from self._operands(event, op, held)
            yield from self._results(event, op, held)
        yield from self._counts(agent, seen)

    def _operands(
        self, event: Event, op: FlowOp, held: dict[Store, Made | None]
    ) -> Iterator[Finding]:
        found = reads(event.entry)
        left = set(found)
        for operand in op.operands:
            place, wanted = self._wanted(event, op, operand)
            if wanted is None:
                continue  # nothing stands for it yet: the place must not be read, see below
            left.discard(place)
            if place not in found and operand.zero_first and event.step == 0:
                continue
            if place not in found:
                why = f"{describe(event.entry)} does not read {operand.value} in {place}"
                yield self._finding(event, op, why, f"read {place}")
                continue
            if place.kind == "slot":
                has = self.slots.get((event.agent.cta, place, self._use(event, place)))
            else:
                has = held.get(place)
            if has != wanted:
                why = (
                    f"{describe(event.entry)} finds {_words(has)} in {place}, not {_words(wanted)}"
                )
                fix = f"run {self.table.maker[wanted[0]].name} first, and nothing over it"
                yield self._finding(event, op, why, fix)
        yield from self._order(event, op)
        for place in sorted(left, key=str):
            why = f"{describe(event.entry)} reads {place}, which is none of its operands here"
            fix = "accumulate = False where a sum starts; or declare the operand"
            yield self._finding(event, op, why, fix)

    def _order(self, event: Event, op: FlowOp) -> Iterator[Finding]:
        """A product's factors stand in the order in which they were declared."""
        if not isinstance(event.entry, Mma):
            return
        mma = event.entry
        found = [*map(_array, mma.registers), *map(_part, mma.slots)]
        declared = [self.table.home[o.value] for o in op.operands]
        wanted = [place for place in declared if place != _array(mma.accumulator)]
        if found != wanted and {*found} == {*wanted}:
            why = f"{describe(mma)} multiplies {' by '.join(map(str, found))}"
            right = ", ".join(map(str, wanted))
            yield self._finding(event, op, why, f"the order declared: {right}")

    def _wanted(self, event: Event, op: FlowOp, operand: FlowOperand) -> tuple[Store, Made | None]:
        """The place of an operand and the value that must be there."""
        maker = self.table.maker[operand.value]
        place = self.table.home[operand.value]
        if maker.when is not When.LOOP:
            return place, (operand.value, event.tile, 0)
        last = self.tiles[event.tile] - 1
        iteration = (last if op.when is When.TAIL else event.step) - operand.back
        if iteration >= 0:
            return place, (operand.value, event.tile, iteration)
        if operand.before is None:
            return place, None
        return self.table.home[operand.before], (operand.before, event.tile, 0)

    def _results(
        self, event: Event, op: FlowOp, held: dict[Store, Made | None]
    ) -> Iterator[Finding]:
        made = {self.table.home[v]: v for v in op.results}
        written = writes(event.entry)
        if isinstance(event.entry, BulkStore) and event.entry.reduce != op.adds:
            does = "adds to" if event.entry.reduce else "replaces"
            why = f"{describe(event.entry)} {does} what is in memory"
            yield self._finding(event, op, why, f"reduce = {op.adds}")
        for place in written:
            value = made.get(place)
            if place.kind != "slot":
                held[place] = None if value is None else (value, event.tile, _turn(op, event))
            if value is None:
                why = f"{describe(event.entry)} writes {place}, which holds none of its results"
                yield self._finding(event, op, why, "declare the result, or do not write there")
        for place, value in made.items():
            if place not in written:
                why = f"{describe(event.entry)} does not write {value} to {place}"
                yield self._finding(event, op, why, f"write {place}")

    def _counts(self, agent: Agent, seen: dict[tuple[OpKey, int], list[int]]) -> Iterator[Finding]:
        for key, op in self.table.ops.items():
            if key[0] != agent.role:
                continue
            for tile, trips in enumerate(self.tiles):
                if not takes(self.document, agent, tile):
                    continue
                found = sorted(seen.get((key, tile), []))
                wanted = list(range(trips)) if op.when is When.LOOP else [0]
                if found != wanted:
                    times = (
                        f"iterations {found[:8]}" if op.when is When.LOOP else f"{len(found)} times"
                    )
                    yield Finding(
                        code=Code.FLOW,
                        why=f"{op.name}{list(op.args) or ''} of {agent.role} runs for {times} in a "
                        f"tile of {trips}, not exactly once each",
                        fix="run every declared op once an iteration (head and tail: once a tile)",
                        tiles=self.tiles,
                        line=op.line,
                    )
                    break

    def _finding(self, event: Event, op: FlowOp | None, why: str, fix: str) -> Finding:
        return Finding(
            code=Code.FLOW,
            why=why,
            fix=fix,
            where=(event.place(),),
            tiles=self.tiles,
            line=op.line if op else "",
        )


def key_of(event: Event) -> OpKey | None:
    """The op an event runs; None for entries that only synchronise."""
    entry = event.entry
    if isinstance(entry, (Compute, BulkStore)):
        return event.agent.role, entry.op, entry.args
    if isinstance(entry, (Load, Mma)):
        return event.agent.role, entry.op, ()
    return None


def _turn(op: FlowOp, event: Event) -> int:
    return event.step if op.when is When.LOOP else 0


def reads(entry: RoleEntry) -> tuple[Store, ...]:
    """Where an op reads."""
    match entry:
        case Mma():
            old = (_array(entry.accumulator),) if entry.accumulate else ()
            return (*map(_part, entry.slots), *map(_array, entry.registers), *old)
        case Compute():
            return (*map(_array, entry.reads), *map(_part, entry.slots))
        case BulkStore():
            return (_copy(entry.source),)
        case _:
            return ()


def writes(entry: RoleEntry) -> tuple[Store, ...]:
    """Where an op writes."""
    match entry:
        case Mma():
            return (_array(entry.accumulator),)
        case Load():
            return (Store("slot", entry.ring, entry.part),)
        case Compute():
            copies, slots = map(_copy, entry.fills), map(_part, entry.fills_slots)
            return (*map(_array, entry.writes), *copies, *slots)
        case _:
            return ()


def _array(name: str) -> Store:
    return Store("register", name)


def _part(read: SlotRead) -> Store:
    return Store("slot", read.ring, read.part)


def _copy(copy: BufferCopy) -> Store:
    return Store("copy", copy.buffer, copy.copy)


def _words(value: Made | None) -> str:
    if value is None:
        return "nothing known"
    return f"{value[0]} of tile {value[1]}, iteration {value[2]}"
