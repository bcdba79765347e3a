"""Walks role programs and compares every op's operands and results with the declared ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from warploom.document.flow import Flow, FlowOp, FlowOperand, When
from warploom.document.roles import BulkStore, Compute, Load, Mma, RolesDocument
from warploom.verify.agents import Agent, Event, Uses, agents, describe, run, takes
from warploom.verify.findings import Code, Finding

Made = tuple[str, int, int]  # value, tile, iteration (0 for values of a tile)
OpKey = tuple[str, str, tuple[int, ...]]  # role, op, args
_Slot = tuple[int, str, int]  # cta, ring.part, use


def check_flow(document: RolesDocument, flow: Flow) -> Iterator[Finding]:
    """All ways in which the programs do not compute the declared dataflow."""
    if not any(op.stores for op in flow.ops):
        yield Finding(
            code=Code.FLOW,
            why="no declared op stores a result",
            fix="mark the ops that write to memory with stores",
        )
    for tiles in flow_tiles(document, flow):
        yield from _Walk(document, flow, tiles).findings()


def flow_tiles(document: RolesDocument, flow: Flow) -> Iterator[tuple[int, ...]]:
    """The runs that show everything: of lengths from the least on, as far as operands look back.

    Everybody runs two tiles.
    """
    turns = max((p.instances for p in document.programs if p.alternates), default=1)
    least = max(document.minimum_trips, 1)
    back = max((o.back for op in flow.ops for o in op.operands), default=0)
    return ((trips,) * (2 * turns) for trips in range(least, least + back + 4))


@dataclass(frozen=True, slots=True)
class _Table:
    """The declaration, by name."""

    ops: dict[OpKey, FlowOp]
    maker: dict[str, FlowOp]
    home: dict[str, str]

    @classmethod
    def of(cls, flow: Flow) -> _Table:
        return cls(
            {(op.role, op.name, op.args): op for op in flow.ops},
            {value: op for op in flow.ops for value in op.results},
            {h.value: h.place for h in flow.homes},
        )


@dataclass(slots=True)
class _Walk:
    """One run over tiles of given lengths."""

    document: RolesDocument
    flow: Flow
    tiles: tuple[int, ...]
    table: _Table = field(init=False)
    uses: Uses = field(init=False)
    slots: dict[_Slot, Made | None] = field(default_factory=dict)

    def findings(self) -> Iterator[Finding]:
        """What this run shows."""
        self.table = _Table.of(self.flow)
        self.uses = Uses(self.document, self.tiles)
        programs = {a: run(self.document, a, self.tiles) for a in agents(self.document)}
        for events in programs.values():
            # What every use of every slot holds once it is full: the other judges see to when
            for event in events:
                op = self._declared(event)
                if op is None:
                    continue
                for place in writes(event):
                    if "." not in place:
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

    def _use(self, event: Event, place: str) -> int:
        return self.uses.meant(event, place.partition(".")[0])

    def _declared(self, event: Event) -> FlowOp | None:
        key = key_of(event)
        return None if key is None else self.table.ops.get(key)

    def _walk(self, agent: Agent, events: list[Event]) -> Iterator[Finding]:
        held: dict[str, Made | None] = {}
        seen: dict[tuple[OpKey, int], list[int]] = {}
        for event in events:
            key = key_of(event)
            if key is None:
                continue
            op = self.table.ops.get(key)
            if op is None:
                why = f"{describe(event.entry)} is no declared op of {agent.role}"
                yield self._finding(event, None, why, "declare it, or leave it out")
                for place in writes(event):
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
        self, event: Event, op: FlowOp, held: dict[str, Made | None]
    ) -> Iterator[Finding]:
        found = reads(event)
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
            if "." in place:
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
        for place in sorted(left):
            why = f"{describe(event.entry)} reads {place}, which is none of its operands here"
            fix = "accumulate = False where a sum starts; or declare the operand"
            yield self._finding(event, op, why, fix)

    def _order(self, event: Event, op: FlowOp) -> Iterator[Finding]:
        """A product's factors stand in the order in which they were declared."""
        if not isinstance(event.entry, Mma):
            return
        mma = event.entry
        found = [*mma.registers, *(f"{s.ring}.{s.part}" for s in mma.slots)]
        declared = [self.table.home[o.value] for o in op.operands]
        wanted = [place for place in declared if place != mma.accumulator]
        if found != wanted and {*found} == {*wanted}:
            why = f"{describe(mma)} multiplies {' by '.join(found)}"
            yield self._finding(event, op, why, f"the order declared: {', '.join(wanted)}")

    def _wanted(self, event: Event, op: FlowOp, operand: FlowOperand) -> tuple[str, Made | None]:
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

    def _results(self, event: Event, op: FlowOp, held: dict[str, Made | None]) -> Iterator[Finding]:
        made = {self.table.home[v]: v for v in op.results}
        written = writes(event)
        if isinstance(event.entry, BulkStore) and event.entry.reduce != op.adds:
            does = "adds to" if event.entry.reduce else "replaces"
            why = f"{describe(event.entry)} {does} what is in memory"
            yield self._finding(event, op, why, f"reduce = {op.adds}")
        for place in written:
            value = made.get(place)
            if "." not in place:
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


def reads(event: Event) -> tuple[str, ...]:
    """The places an op reads."""
    entry = event.entry
    match entry:
        case Mma():
            slots = tuple(f"{s.ring}.{s.part}" for s in entry.slots)
            old = (entry.accumulator,) if entry.accumulate else ()
            return (*slots, *entry.registers, *old)
        case Compute():
            return (*entry.reads, *(f"{s.ring}.{s.part}" for s in entry.slots))
        case BulkStore():
            return (f"{entry.source.buffer}#{entry.source.copy}",)
        case _:
            return ()


def writes(event: Event) -> tuple[str, ...]:
    """The places an op writes."""
    entry = event.entry
    match entry:
        case Mma():
            return (entry.accumulator,)
        case Load():
            return (f"{entry.ring}.{entry.part}",)
        case Compute():
            copies = (f"{c.buffer}#{c.copy}" for c in entry.fills)
            slots = (f"{s.ring}.{s.part}" for s in entry.fills_slots)
            return (*entry.writes, *copies, *slots)
        case _:
            return ()


def _words(value: Made | None) -> str:
    if value is None:
        return "nothing known"
    return f"{value[0]} of tile {value[1]}, iteration {value[2]}"
