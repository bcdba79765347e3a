"""The dataflow of counter schedules that declare one: does every op find the declared values?

One wave's program is run in order. The n-th run of an op is its iteration n; it must find, in the
home of each operand, the value the declaration names, of the right iteration. A home holds what was
written there last, so an op that runs too late finds the next iteration's value. What other waves
and the queues can do to this order is the other judges' matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from warploom.document import WaveId
from warploom.document.flow import SETUP, STORE, WAVE, Flow, FlowOp, FlowOperand, Key, When
from warploom.verify.explain import NO_EVENT, event
from warploom.verify.findings import Code, Event, Finding
from warploom.verify.races import Run
from warploom.verify.text import Item, Kind, Slot

Instance = tuple[str, int]  # value and iteration
_WORK = (Kind.LOAD, Kind.READ, Kind.MMA, Kind.VECTOR)


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
        self.ops: dict[Key, FlowOp] = {
            (op.name, op.args[0] if op.args else 0): op for op in flow.ops if op.role == WAVE
        }
        self.outside = {r: [op for op in flow.ops if op.role == r] for r in (SETUP, STORE)}
        self.maker = {value: op for op in flow.ops for value in op.results}
        self.home = {h.value: h.place for h in flow.homes}
        self.held: dict[str, Instance] = {}
        self.slots: dict[Slot, Instance] = {}
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
                yield from self._work(position, item, (item.op.name, item.op.subtile))
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
        turn = self.done[key] if op.when is When.LOOP else 0
        self.done[key] += 1
        for operand in op.operands:
            place, wanted = self._wanted(op, operand, turn)
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
                self.held[self.home[value]] = (value, turn)

    def _wanted(self, op: FlowOp, operand: FlowOperand, turn: int) -> tuple[str, Instance]:
        """The place of an operand, and the value that must be there."""
        if self.maker[operand.value].when is not When.LOOP:
            return self.home[operand.value], (operand.value, 0)
        if turn - operand.back < 0 and operand.before is not None:
            return self.home[operand.before], (operand.before, 0)
        return self.home[operand.value], (operand.value, turn - operand.back)

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


def _words(value: Instance | None) -> str:
    return "nothing" if value is None else f"{value[0]} of iteration {value[1]}"
