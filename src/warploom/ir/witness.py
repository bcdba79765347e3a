"""``Witness``: one concrete interleaving of a schedule document, as data, as JSON and as text.

A verifier that says "this can go wrong" writes a witness; a machine that shares no code with that
verifier runs it and shows the wrong numbers. What a step means, exactly:

**The machine.** It runs the waves named in ``waves`` and no others; each writes its own share of
every slot. Every wave runs the document's program for ``trip_count`` iterations under the
document's protocol, extra barriers of its group included.

**Points.** ``Point(phase, index, iteration)`` names the place right in front of entry ``index``:
everything before it is executed, nothing else is. Barriers and drains that the protocol adds in
front of an entry count as before it: a wave at ``(PROLOGUE, stagger_index)`` has executed its
stagger barriers, a wave at ``(KERNEL, 0, 0)`` the barrier after the prologue, a wave at
``(EPILOGUE, 0)`` the drain and its barrier. ``index`` may equal the length of its phase: that is
the place right after its last entry, in front of what the protocol adds between phases.
``iteration`` is 0 outside the kernel. ``None`` is the program's end.

**ADVANCE wave point.** Every wave has a limit, at first its start. The step raises the limit of
one wave to ``point``. Then all waves run, in the order of ``waves`` and repeatedly, each as far as
its limit and the barriers allow, until none can move. A wave that waits at a barrier goes on as
soon as every other wave has arrived at its own barrier of the same number.

**Held operations.** The asynchronous operations named by LAND and READ steps are *held*: they are
issued in program order but take effect at their step. All others take effect when they are issued.

**LAND wave point.** The global load or shared store at entry ``point`` of ``wave`` writes now: its
wave's share of the slot (or the wave's staging registers, for a load whose channel has stores).

**READ wave point.** The fragment load at entry ``point`` of ``wave`` samples all shares of its
slot now and fills its register.

**Admissible.** A held operation has been issued before its step, and its wave executes no wait,
fencing barrier or drain that completes the operation before its step. A machine refuses a witness
that breaks this: it would show nothing.

**The end.** After the last step all limits are lifted and the waves run to their end. Waves that
can not move before their end are a deadlock.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from warploom.errors import DocumentError
from warploom.ir.records import plain, record
from warploom.ir.schedule_ops import Phase

WITNESS_SCHEMA = "warploom.witness/1"


class StepKind(Enum):
    """What one step of a witness does; the module text says what each means."""

    ADVANCE = "advance"
    LAND = "land"
    READ = "read"


@dataclass(frozen=True, slots=True, order=True)
class WaveId:
    """One wave: its group and its number inside the group."""

    group: int
    member: int

    def __str__(self) -> str:
        return f"wave {self.group}.{self.member}"


@dataclass(frozen=True, slots=True)
class Point:
    """A place in a wave's program: in front of entry ``index`` of a phase (of an iteration)."""

    phase: Phase
    index: int
    iteration: int = 0

    def __str__(self) -> str:
        which = f" of iteration {self.iteration}" if self.phase is Phase.KERNEL else ""
        return f"{self.phase.name.lower()}[{self.index}]{which}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step; ``note`` says in words what it shows and has no effect."""

    kind: StepKind
    wave: WaveId
    point: Point | None
    note: str = ""

    def __str__(self) -> str:
        place = "its end" if self.point is None else str(self.point)
        action = {
            StepKind.ADVANCE: f"{self.wave} may run up to {place}",
            StepKind.LAND: f"{self.wave}: the write issued at {place} lands now",
            StepKind.READ: f"{self.wave}: the read issued at {place} takes its data now",
        }[self.kind]
        return f"{action}: {self.note}" if self.note else action


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """An interleaving that shows one finding; ``outcome`` says what goes wrong in the end."""

    document: str
    code: str
    trip_count: int
    waves: tuple[WaveId, ...]
    steps: tuple[Step, ...]
    outcome: str

    def text(self) -> str:
        """The witness as a numbered listing."""
        names = ", ".join(str(w) for w in self.waves)
        held = [s for s in self.steps if s.kind is not StepKind.ADVANCE]
        lines = [f"witness for {self.code} in {self.document!r}, {self.trip_count} iteration(s)"]
        lines.append(f"  waves: {names}")
        lines += [f"  held: the operation of {s.wave} at {s.point}" for s in held]
        lines += [f"  {i}. {step}" for i, step in enumerate(self.steps, 1)]
        lines.append(f"  => {self.outcome}")
        return "\n".join(lines)


def witness_to_json(witness: Witness) -> dict[str, Any]:
    """The witness as JSON-ready dicts and lists."""
    return {"schema": WITNESS_SCHEMA, **plain(witness)}


def witness_from_json(data: object) -> Witness:
    """Build a witness from parsed JSON. Raises ``DocumentError`` on anything else."""
    if not isinstance(data, dict) or data.get("schema") != WITNESS_SCHEMA:
        raise DocumentError("not a witness document", fix=f"expected schema {WITNESS_SCHEMA!r}")
    return record(data, "$", Witness, ("schema",))
