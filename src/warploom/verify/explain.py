"""Words for conflicts: why it can happen, and the smallest change that prevents it."""

from bisect import bisect_left, bisect_right

from warploom.ir.schedule_ops import Phase
from warploom.verify.completion import NEVER
from warploom.verify.dataflow import Program
from warploom.verify.events import Item, Kind, Register, Slot
from warploom.verify.findings import Code, Event, Finding, Severity
from warploom.verify.races import Conflict, Run

NO_EVENT = Event(Phase.EPILOGUE, 0, 0, "end of program")


def event(program: Program, position: int) -> Event:
    """The event at a position."""
    if not program.items:
        return NO_EVENT
    item = program.items[position]
    return Event(item.phase, item.index, program.iterations[position], item.label)


def channel_name(channel: int) -> str:
    """A, B, or the number of a further channel."""
    return "AB"[channel] if channel in (0, 1) else f"channel {channel} "


def slot_name(slot: Slot | None) -> str | None:
    """A slot as shown in findings, e.g. ``A[1,0]``."""
    return None if slot is None else f"{channel_name(slot[0])}[{slot[1]},{slot[2]}]"


def register_name(register: Register) -> str:
    """A fragment register as shown in findings."""
    return f"register {channel_name(register[0])}[{register[1]}]"


def explain(run: Run, conflict: Conflict, severity: Severity, note: str = "") -> Finding:
    """The finding for one conflict."""
    program = run.program
    first, second = program.items[conflict.first], program.items[conflict.second]
    why = f"{_why(run, conflict)} {_completion(run, conflict)}{note}"
    return Finding(
        code=conflict.code,
        severity=severity,
        trip_count=program.trips,
        where=(event(program, conflict.first), event(program, conflict.second)),
        slot=_place(first, second),
        waves=conflict.waves,
        why=why,
        fix=_fix(run, conflict),
    )


def _place(first: Item, second: Item) -> str | None:
    if first.kind is Kind.READ and second.kind is Kind.MMA:
        return register_name(first.registers[0])
    if first.slot is None:
        return f"staging registers of {channel_name(first.channel)}"
    return slot_name(first.slot)


def _why(run: Run, conflict: Conflict) -> str:
    flow, (one, other) = run.flow, conflict.waves
    first = event(run.program, conflict.first)
    second = event(run.program, conflict.second)
    tile = f"tile {flow.tile[conflict.first]}"
    match conflict.code:
        case Code.RAW_LDS:
            return (
                f"{other} may read the slot in {second} before the share of {tile} that {one} "
                f"writes in {first} has landed."
            )
        case Code.WAR_LDS:
            return (
                f"{second} of {other} may land tile {flow.tile[conflict.second]} in the slot "
                f"while {first} of {one} still reads {tile} from it."
            )
        case Code.WAW_LDS if conflict.harmless:
            return f"{first} and {second} can be in flight together, but no result depends on it."
        case Code.WAW_LDS:
            return (
                f"{first} may land {tile} after {second} of the same wave, so the slot can end "
                f"with the older tile."
            )
        case Code.DEAD_READ:
            return f"{first} races with {second}, but no MMA takes the value it reads."
        case _:
            return f"{second} takes its operand before {first} is known to be complete."


def _completion(run: Run, conflict: Conflict) -> str:
    """Where the first event becomes complete, and what is missing from there to the second."""
    program = run.program
    if conflict.code is Code.DEAD_READ or conflict.harmless:
        return ""
    late = conflict.waves[0].group > 0
    done = (run.completion.late if late else run.completion.done)[conflict.first]
    if done == NEVER:
        return "Nothing completes it at all."
    wait = event(program, done)
    if not conflict.joined or conflict.waves[0] == conflict.waves[1]:
        return f"It is complete after {wait} only."
    have = program.barriers[conflict.second] - program.barriers[done]
    need = 1 + _lag(program, done)
    if done >= conflict.second:
        return f"It is complete after {wait} only, which comes too late."
    return (
        f"It is complete after {wait}; from there {have} barrier(s) lie in front of the other "
        f"event where {need} are needed to order all waves."
    )


def _lag(program: Program, position: int) -> int:
    """Barriers by which the last group is behind group 0 at a position."""
    groups = program.text.protocol.groups
    return groups - 1 if 0 <= program.stagger < position else 0


def latest_gap(program: Program, first: int, second: int, *, joined: bool) -> int | None:
    """The latest position in front of which a wait for ``first`` still serves ``second``."""
    if not joined:
        return second
    barriers, stagger = program.barriers, program.stagger
    groups = program.text.protocol.groups if stagger >= 0 else 1
    # The last position from which enough barriers are left: all groups after the stagger point,
    # one barrier in front of it.
    gap = bisect_right(barriers, barriers[second] - groups) - 1
    if gap <= stagger:
        gap = min(bisect_right(barriers, barriers[second] - 1) - 1, stagger)
    return gap if gap > first else None


def _fix(run: Run, conflict: Conflict) -> str:
    program, first, second = run.program, conflict.first, conflict.second
    if conflict.harmless:
        return "nothing needs to change; removing the operation saves its cost"
    queue = program.items[first].queue
    assert queue is not None
    joined = conflict.joined and conflict.waves[0] != conflict.waves[1]
    gap = latest_gap(program, first, second, joined=joined)
    if gap is None:
        missing = 1 + _lag(program, second) - (program.barriers[second] - program.barriers[first])
        return (
            f"put {max(missing, 1)} more BARRIER between {event(program, first)} and "
            f"{event(program, second)}, and WAIT_{queue.name} for the first in front of it"
        )
    # The last wait on the queue between an operation and a gap, if there is one
    waits = program.waits[queue]
    last = bisect_left(waits, gap) - 1
    weak = waits[last] if last >= 0 and waits[last] > first else None
    at = gap if weak is None else weak
    count = min(program.units_between(queue, first, at), queue.largest_wait)
    if weak is None:
        return f"insert WAIT_{queue.name}({count}) in front of {event(program, gap)}"
    return f"lower {event(program, weak)} to {count}"
