"""The engine: runs the programs of a workload against its units, event by event.

Rows issue in order. The event that can happen earliest happens next; of several rows that could
take a unit in the same cycle the one with the higher priority wins, then the one that came first,
then the lower row. Nothing is random, so equal input gives equal events.
"""

from __future__ import annotations

import heapq
from typing import assert_never

from warploom.errors import SimulationError
from warploom.sim.events import (
    BarrierEvent,
    OpEvent,
    StallCause,
    StallEvent,
    StallKind,
    WaitEvent,
)
from warploom.sim.program import (
    Await,
    Issue,
    Meet,
    Priority,
    Signal,
    Spend,
    Step,
    Turn,
    WaitQueue,
    Workload,
    check_length,
)
from warploom.sim.state import (
    BarrierState,
    Due,
    Gift,
    RowState,
    SignalState,
    StepTime,
    Trace,
    UnitState,
    Waiting,
)


def run(workload: Workload) -> Trace:
    """Run every program to its end. Raises ``SimulationError`` when rows wait for ever."""
    check_length(sum(len(program.steps) for program in workload.programs), workload.name)
    return _Engine(workload).run()


class _Engine:
    """One run. Times only grow: events leave the heap in time order."""

    def __init__(self, workload: Workload) -> None:
        self.name = workload.name
        self.rows = [
            RowState(i, program, dict(program.limits))
            for i, program in enumerate(workload.programs)
        ]
        self.units = {
            unit.name: UnitState(
                unit, [Due(0, None)] * (len(self.rows) if unit.shared else unit.capacity)
            )
            for unit in workload.units
        }
        self.barriers = {spec.name: BarrierState(spec) for spec in workload.barriers}
        self.signals: dict[str, SignalState] = {}
        self.ops: list[OpEvent] = []
        self.issues: list[Issue] = []
        self.stalls: list[StallEvent] = []
        self.waits: list[WaitEvent] = []
        self.meetings: list[BarrierEvent] = []
        # (time, kind, -priority, ready, number): kind 0 gives a signal, kind 1 moves a row.
        self.heap: list[tuple[int, int, int, int, int]] = []
        self.gifts: list[Gift] = []

    def run(self) -> Trace:
        for row in self.rows:
            self._schedule(row)
        while self.heap:
            time, kind, _, _, number = heapq.heappop(self.heap)
            if kind == 0:
                self._give(self.gifts[number], time)
            else:
                self._step(self.rows[number], time)
        self._check_finished()
        return Trace(
            rows=tuple(row.program.row for row in self.rows),
            ops=tuple(self.ops),
            issues=tuple(self.issues),
            stalls=tuple(self.stalls),
            waits=tuple(self.waits),
            barriers=tuple(self.meetings),
            steps=tuple(tuple(row.steps) for row in self.rows),
        )

    def _schedule(self, row: RowState, time: int | None = None) -> None:
        if row.pc < len(row.program.steps):
            at = row.time if time is None else time
            heapq.heappush(self.heap, (at, 1, -row.priority, row.time, row.index))

    def _step(self, row: RowState, now: int) -> None:
        step = row.program.steps[row.pc]
        match step:
            case Issue():
                self._issue(row, step, now)
            case WaitQueue():
                self._wait(row, step)
            case Meet():
                self._meet(row, step, now)
            case Await():
                signal = self.signals.setdefault(step.signal, SignalState())
                if signal.given >= step.count:
                    self._pass(row, step, row.time, step.cost)
                else:
                    signal.waiting.append(Waiting(row.index, step, step.count, step.cost))
            case Signal():
                self._pass(row, step, row.time, step.cost)
                gift = Gift(step.signal, step.place, None, row.index)
                self._promise(gift, row.time + step.handoff)
            case Turn():
                self._turn(row, step)
            case Priority():
                row.priority = step.value
                self._pass(row, step, row.time, step.cost)
            case Spend():
                self._pass(row, step, row.time, step.cost)
            case _:
                assert_never(step)

    def _pass(
        self, row: RowState, step: Step, went: int, cost: int, served: int | None = None
    ) -> None:
        """The row leaves a step it could begin at ``went`` and goes on ``cost`` cycles later."""
        leave = went + cost
        at = went if served is None else served
        row.steps.append(StepTime(step.place, row.time, went, leave, at))
        row.time = leave
        row.pc += 1
        self._schedule(row)

    def _stall(self, row: RowState, step: Step, until: int, cause: StallCause) -> None:
        if until <= row.time:
            return
        stall = StallEvent(row=row.index, place=step.place, start=row.time, end=until, cause=cause)
        self.stalls.append(stall)
        if row.worst is None or until - row.time > row.worst.end - row.worst.start:
            row.worst = stall

    def _issue(self, row: RowState, step: Issue, now: int) -> None:
        unit = self.units[step.unit]
        due, kind = self._earliest(row, step, unit)
        until = due.time
        if until > now:
            self._schedule(row, until)
            return
        if until > row.time:
            self._stall(row, step, until, self._blame(kind, due, step))
        start = max(until, unit.free().time)
        timing, op = step.timing, len(self.ops)
        end = start + step.instructions * timing.occupancy
        if timing.occupancy:
            unit.take(end, op)
        pace = max(timing.issue, timing.occupancy)
        done = start + (step.instructions - 1) * pace + timing.latency
        if step.queue:
            queue = row.queue(step.queue)
            done = queue.push(op, step.count, start, step.instructions, timing)
        for register in step.gives:
            row.registers[register] = Due(done, op)
        for signal in step.signals:
            self._promise(Gift(signal, step.place, op, row.index), done + step.handoff)
        issued = until + step.instructions * timing.issue
        if step.ahead is not None:
            issued = max(issued, end - step.ahead)
        self.issues.append(step)
        self.ops.append(
            OpEvent(
                row=row.index,
                place=step.place,
                kind=step.kind,
                unit=unit.unit.name,
                lane=unit.unit.lane,
                issue=until,
                issued=issued,
                start=start,
                end=end,
                done=done,
                queue=step.queue,
                count=step.count,
                detail=step.detail,
            )
        )
        self._pass(row, step, until, issued - until, start)

    def _earliest(self, row: RowState, step: Issue, unit: UnitState) -> tuple[Due, StallKind]:
        """When the step may begin, and what holds it up until then."""
        due, kind = Due(row.time, None), StallKind.UNIT
        if unit.unit.blocking and unit.free().time > due.time:
            due = unit.free()
        limit = row.limits.get(step.queue)
        if limit is not None and (free := row.queue(step.queue).when_free(step.count, limit)):
            due, kind = (free, StallKind.CAPACITY) if free.time > due.time else (due, kind)
        for register in step.needs:
            ready = row.registers.get(register)
            if ready is not None and ready.time > due.time:
                due, kind = ready, StallKind.REGISTER
        return due, kind

    def _blame(self, kind: StallKind, due: Due, step: Issue) -> StallCause:
        if due.op is None:
            return StallCause(kind=kind, text="")
        culprit = self.ops[due.op]
        what = culprit.place.text()
        text = {
            StallKind.UNIT: f"{step.unit} is busy with {what} of {self._row_name(culprit.row)}",
            StallKind.CAPACITY: f"{step.queue} is full: {what} must retire first",
            StallKind.REGISTER: f"the result of {what} is needed",
        }[kind]
        return StallCause(kind=kind, text=text, op=due.op, row=culprit.row)

    def _wait(self, row: RowState, step: WaitQueue) -> None:
        queue = row.queue(step.queue)
        due = queue.due(step.leave)
        went = max(row.time, due.time)
        cause = self._queue_cause(step.queue, step.leave, due)
        self.waits.append(
            WaitEvent(
                row=row.index,
                place=step.place,
                start=row.time,
                end=went,
                op=due.op,
                ready=due.time,
                text=cause.text,
            )
        )
        self._stall(row, step, went, cause)
        self._pass(row, step, went, step.cost)

    def _queue_cause(self, queue: str, leave: int, due: Due) -> StallCause:
        if due.op is None:
            return StallCause(kind=StallKind.QUEUE, text="")
        text = f"{self.ops[due.op].place.text()} must complete"
        text += f"; {leave} younger {queue} units may stay in flight" if leave else ""
        return StallCause(kind=StallKind.QUEUE, text=text, op=due.op, row=self.ops[due.op].row)

    def _meet(self, row: RowState, step: Meet, now: int) -> None:
        for name in step.drain:
            due = row.queue(name).due(0)
            if due.time > row.time:
                self._stall(row, step, due.time, self._queue_cause(name, 0, due))
                row.time = due.time
        if row.time > now:
            self._schedule(row)
            return
        barrier = self.barriers[step.barrier]
        barrier.arrivals.append((row.index, row.time, step.place))
        if len(barrier.arrivals) < barrier.spec.rows:
            return
        arrivals, barrier.arrivals = barrier.arrivals, []
        last = max(time for _, time, _ in arrivals)
        release = last + barrier.spec.cost
        self.meetings.append(
            BarrierEvent(
                name=step.barrier,
                ordinal=barrier.ordinal,
                release=release,
                arrivals=tuple((i, time) for i, time, _ in arrivals),
            )
        )
        barrier.ordinal += 1
        # Of several that came last together, the lowest row is named.
        slow, place = min(
            ((i, place) for i, time, place in arrivals if time == last), key=lambda late: late[0]
        )
        text = f"{self._row_name(slow)} came last, to {place.text()}"
        if (worst := self.rows[slow].worst) is not None:
            text += f", held up {worst.end - worst.start} cycles at {worst.place.label}"
        cause = StallCause(kind=StallKind.BARRIER, text=text, row=slow)
        for index, _, _ in arrivals:
            member = self.rows[index]
            here = member.program.steps[member.pc]
            self._stall(member, here, last, cause)
            member.worst = None
            self._pass(member, here, last, barrier.spec.cost)

    def _turn(self, row: RowState, step: Turn) -> None:
        """Arrive; the round that counts is the one under way at the time of arrival."""
        signal = self.signals.setdefault(step.barrier, SignalState())
        signal.promised += 1
        count = -(-signal.promised // step.per) * step.per
        gift = Gift(step.barrier, step.place, None, row.index)
        self._promise(gift, row.time + step.handoff)
        if step.waits:
            signal.waiting.append(Waiting(row.index, step, count, 0))
        else:
            self._pass(row, step, row.time, 0)

    def _promise(self, gift: Gift, time: int) -> None:
        """Give a signal at a later time, in its place among all events."""
        self.gifts.append(gift)
        heapq.heappush(self.heap, (time, 0, 0, 0, len(self.gifts) - 1))

    def _give(self, gift: Gift, time: int) -> None:
        signal = self.signals.setdefault(gift.signal, SignalState())
        signal.given += 1
        ready = [item for item in signal.waiting if item.count <= signal.given]
        signal.waiting = [item for item in signal.waiting if item.count > signal.given]
        how = "arrives" if gift.op is None else "completes"
        text = f"{gift.signal}: {gift.place.text()} of {self._row_name(gift.row)} {how}"
        cause = StallCause(kind=StallKind.SIGNAL, text=text, op=gift.op, row=gift.row)
        for item in ready:
            row = self.rows[item.row]
            went = max(row.time, time)
            left = max(0, item.cost - (went - row.time))  # the rest passed while it stood
            self._stall(row, item.step, went, cause)
            self._pass(row, item.step, went, left)

    def _row_name(self, index: int) -> str:
        return self.rows[index].program.row.name

    def _check_finished(self) -> None:
        stuck = [row for row in self.rows if row.pc < len(row.program.steps)]
        if not stuck:
            return
        first = stuck[0]
        place = first.program.steps[first.pc].place
        others = ", ".join(row.program.row.name for row in stuck[1:])
        raise SimulationError(
            f"{first.program.row.name} waits for ever at {place.text()}",
            where=self.name,
            why="no other row comes to that barrier or gives that signal again"
            + (f"; also stuck: {others}" if others else ""),
            fix="every row must execute the same number of barriers; every awaited signal "
            "must be given",
        )
