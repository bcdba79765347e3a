"""Witnesses: a finding as one concrete interleaving that a machine can run.

Everything takes effect when it is issued, except for the operations that the finding is about:
those are held for as long as the waits allow, and exactly long enough to do harm. The waves that
are not part of the finding run freely, as far as barriers let them.
"""

from warploom.errors import ConfigError
from warploom.ir import Point, ScheduleDocument, Step, StepKind, WaveId, Witness
from warploom.ir.format1 import AnyGiven, counter_document_of
from warploom.ir.schedule_ops import Phase
from warploom.verify.counter_schedules import verify
from warploom.verify.dataflow import NOTHING, Program
from warploom.verify.events import Kind, Text, read_text
from warploom.verify.explain import event
from warploom.verify.findings import Assumptions, Code, Event, Finding, Place, Severity
from warploom.verify.races import Run, analyse, first_sure_write, register_rules, sure_load

_TIMING_FREE = (Code.TOKEN, Code.WAR_REG, Code.COVERAGE, Code.DEADLOCK)


def witness(
    document: AnyGiven, finding: Finding, *, assumptions: Assumptions | None = None
) -> Witness:
    """A concrete interleaving that shows a ``race`` or ``timing`` finding of this document.

    ``assumptions`` are those the finding was made under. Raises ``ConfigError`` where there is
    nothing to show: information, budgets, or a finding of another document.
    """
    assumptions = assumptions or Assumptions()
    document = counter_document_of(document)
    if not isinstance(finding, Finding):
        raise ConfigError(
            f"a {type(finding).__name__} is no finding", fix="one of verify(document).findings"
        )
    if finding.severity is Severity.INFO or finding.code is Code.CAPACITY:
        raise ConfigError(
            f"a {finding.code.value} finding of severity {finding.severity.value} has no witness",
            why="no interleaving gives a wrong result because of it",
        )
    shown = finding
    if finding.code is Code.ENCODING:
        shown = _race_behind(document, finding, assumptions)
    text = read_text(document)
    script = _Script(analyse(text, shown.trip_count, assumptions), _model_waves(text))
    outcome = script.write(shown)
    return Witness(
        document=document.name,
        code=finding.code.value,
        trip_count=shown.trip_count,
        waves=script.waves,
        steps=tuple(script.steps),
        outcome=outcome,
    )


def _race_behind(document: ScheduleDocument, finding: Finding, assumptions: Assumptions) -> Finding:
    """The race that happens because a wait the hardware can not express does not wait."""
    trips = range(finding.trip_count, finding.trip_count + 1)
    for other in verify(document, trips=trips, assumptions=assumptions).races():
        if other.code is not Code.ENCODING and other.where[1] == finding.where[1]:
            return other
    raise _foreign(finding.where[1])


def _foreign(where: Event | Place) -> ConfigError:
    return ConfigError(
        f"the schedule has no event {where}", fix="pass a finding that verify gave for it"
    )


def _model_waves(text: Text) -> tuple[WaveId, ...]:
    """Two waves of every group: every condition is about a pair of waves."""
    p = text.protocol
    members = min(2, p.waves_per_group)
    return tuple(WaveId(g, m) for g in range(p.groups) for m in range(members))


class _Script:
    """Writes the steps of one witness."""

    def __init__(self, run: Run, waves: tuple[WaveId, ...]) -> None:
        self.run = run
        self.waves = waves
        self.steps: list[Step] = []

    def write(self, finding: Finding) -> str:
        """Write all steps; returns the outcome in words."""
        if finding.code in _TIMING_FREE:
            for wave in self.waves:
                self._advance(wave, None)
            return f"for every timing: {finding.why}"
        first = self._locate(finding.where[0])
        second = self._locate(finding.where[1])
        holder, other = finding.waves[0], finding.waves[-1]
        for wave in self.waves:
            if wave not in (holder, other):
                self._advance(wave, None)
        {
            Code.RAW_LDS: self._early_read,
            Code.WAR_LDS: self._late_read,
            Code.WAW_LDS: self._late_write,
            Code.RAW_REG: self._early_use,
        }[finding.code](first, second, holder, other)
        return finding.why.split(". ")[0]

    def _locate(self, where: Event | Place) -> int:
        program = self.run.program
        for position, item in enumerate(program.items):
            if item.op is not None and event(program, position) == where:
                return position
        raise _foreign(where)

    # -- the four races --------------------------------------------------------------------------

    def _early_read(self, write: int, read: int, holder: WaveId, reader: WaveId) -> None:
        """RAW-LDS: the reader samples the slot while the holder's write has not landed."""
        run, flow = self.run, self.run.flow
        stop = self._stop(write, read, holder, reader)
        held = [
            w
            for w in flow.writes[_slot(run.program, read)]
            if first_sure_write(run, read) <= w <= flow.source[read] and w < stop
        ]
        if reader != holder:
            self._advance(reader, read, "and stands in front of the read")
        older = flow.before[write]
        self._spoil(older, write, holder)
        if older != NOTHING and not run.complete_in_wave(older, flow.run[write]):
            self._advance(holder, run.completion.done[older])
            self._step(StepKind.LAND, holder, older, "after younger writes of another tile")
        if reader != holder:
            note = "the write is in flight" if held else "the write is not even issued"
            self._advance(holder, stop, note)
        self._pass(reader, read, "the read takes its data now: the old tile")
        for position in held:
            self._step(StepKind.LAND, holder, position, "too late for the read")
        self._hold_back_younger_reads(read, reader, holder)

    def _late_read(self, read: int, write: int, holder: WaveId, writer: WaveId) -> None:
        """WAR-LDS: the holder's read samples the slot when the next tile has landed in it."""
        used, _ = register_rules(self.run)
        stop = min(self._stop(read, write, holder, writer), used[read])
        if writer != holder:
            self._advance(writer, write, "and stands in front of the overwriting write")
            self._advance(holder, stop, "the read is in flight" if read < stop else "")
        self._spoil(write, read, writer)
        self._pass(writer, write, "the write lands at once")
        if read < stop:
            self._step(StepKind.READ, holder, read, "and finds the new tile")
        self._hold_back_younger_reads(read, holder, writer)

    def _hold_back_younger_reads(self, read: int, wave: WaveId, other: WaveId) -> None:
        """Younger reads of the same tile into the register would hide a wrong older one."""
        flow, program = self.run.flow, self.run.program
        fills = flow.fills[program.items[read].registers[0]]
        younger = [f for f in fills if f > read and flow.run[f] == flow.run[read]]
        if flow.user[read] != NOTHING or not younger:
            return
        user = next(m for m, reads in flow.operands.items() if set(reads) & set(younger))
        if other != wave:
            self._advance(other, None)
        self._pass(wave, user, "the MMA uses the older read")
        for position in younger:
            if position < user:
                self._step(StepKind.READ, wave, position, "too late for the MMA")

    def _late_write(self, older: int, younger: int, holder: WaveId, _: WaveId) -> None:
        """WAW-LDS: the older write lands after the younger one of the same wave."""
        self._spoil(older, younger, holder)
        self._pass(holder, younger, "both writes are issued; the younger one lands")
        self._step(StepKind.LAND, holder, older, "and replaces the younger tile")

    def _spoil(self, write: int, right: int, wave: WaveId) -> None:
        """Let a store whose load may be in flight take the registers before the load does.

        Only where the tile it should write would be the right one and so hide the harm.
        """
        flow, done = self.run.flow, self.run.completion.done
        if write not in flow.unsure or flow.tile[write] != flow.tile[right]:
            return
        source = flow.source[write]
        if done[source] > write:
            self._pass(wave, write, "the store takes what the registers held before")
            self._step(StepKind.LAND, wave, source, "too late for the store")
        else:  # the store waits for its load: an older load must land between the two
            older = flow.before[source]
            self._advance(wave, done[older])
            self._step(StepKind.LAND, wave, older, "after the load of the store's tile")

    def _early_use(self, producer: int, user: int, holder: WaveId, _: WaveId) -> None:
        """RAW-REG: the user takes the register before the read or load that fills it."""
        run, items = self.run, self.run.program.items
        if items[producer].kind is Kind.READ:
            fills = run.flow.fills[items[producer].registers[0]]
            held = [f for f in fills if run.flow.run[producer] <= f <= producer]
            kind = StepKind.READ
        else:
            held, kind = self._held_loads(producer, user, holder), StepKind.LAND
        self._pass(holder, user, "it takes what the register held before")
        for position in held:
            self._step(kind, holder, position, "too late")

    def _held_loads(self, load: int, store: int, holder: WaveId) -> list[int]:
        """The loads of the right tile that must come too late; an older one lands before them."""
        flow, done = self.run.flow, self.run.completion.done
        staging = self.run.program.items[load].staging
        assert staging is not None
        row, other = flow.fetches[staging], flow.before[load]
        sure = sure_load(flow, done, load, staging)
        if sure != flow.run[load]:
            self._advance(holder, done[other])
            self._step(StepKind.LAND, holder, other, "after younger loads of another tile")
        return [r for r in row if sure <= r < store]

    # -- places ----------------------------------------------------------------------------------

    def _stop(self, first: int, second: int, holder: WaveId, other: WaveId) -> int:
        """Where the holder stands, at the latest, while the other wave executes ``second``.

        In front of whatever completes ``first``; and not past the next barrier, which the other
        wave has not reached.
        """
        run, program = self.run, self.run.program
        completion = run.completion.late if holder.group > 0 else run.completion.done
        done = min(completion[first], len(program.items))
        if holder == other:
            return done
        if done == program.stagger:  # a draining stagger barrier has no point in front of it
            return first
        passed = program.barriers_before(second, other.group)
        for position in range(len(program.items)):
            if program.barriers_before(position + 1, holder.group) > passed:
                return min(done, position)
        return done

    def _advance(self, wave: WaveId, position: int | None, note: str = "") -> None:
        """Let a wave run up to a position (``None``: its end)."""
        point = None if position is None else self._place(position)
        self.steps.append(Step(kind=StepKind.ADVANCE, wave=wave, point=point, note=note))

    def _place(self, position: int) -> Point | None:
        """The point in front of a position."""
        program = self.run.program
        if position >= len(program.items):
            return None
        if program.items[position].kind is not Kind.DRAIN:
            return self._point(position)
        if program.trips == 0:
            return Point(Phase.KERNEL, 0)
        return Point(Phase.KERNEL, program.text.sizes[1], program.trips - 1)

    def _pass(self, wave: WaveId, position: int, note: str) -> None:
        """Let a wave run through the entry at a position."""
        at = self._point(position)
        point = Point(at.phase, at.index + 1, at.iteration)
        self.steps.append(Step(kind=StepKind.ADVANCE, wave=wave, point=point, note=note))

    def _step(self, kind: StepKind, wave: WaveId, position: int, note: str) -> None:
        label = self.run.program.items[position].label
        step = Step(kind=kind, wave=wave, point=self._point(position), note=f"{label}, {note}")
        self.steps.append(step)

    def _point(self, position: int) -> Point:
        item = self.run.program.items[position]
        return Point(item.phase, item.index, self.run.program.iterations[position])


def _slot(program: Program, position: int) -> tuple[int, int, int]:
    slot = program.items[position].slot
    assert slot is not None
    return slot
