"""State of one lowering: program, registers of values, LDS regions and the barriers they need.

Values are computed where they are asked for and kept for their scope: the body of a loop, or the
kernel. What a loop's body asks of values outside it is found by lowering the body once for nothing,
and is then computed before the loop.

A barrier is emitted where a region of LDS is written that was read or written since the last one,
or read that was written since. At the head of a loop both ways into it count.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from warploom.ir.tile import DType
from warploom.ir.waves import LANE, TID, WAVE, Anew, Barrier, Integer, IntOp, Operand
from warploom.passes.amdgcn.builder import Builder, Section as Placed
from warploom.passes.amdgcn.errors import BudgetError
from warploom.passes.amdgcn.layout import LANES, AxisMap, Layout, Part, count_of, owners
from warploom.passes.amdgcn.plan import TilePlan

LDS_ALIGN = 16


@dataclass(slots=True, eq=False)
class Fragment:
    """A value in registers: single elements, or vectors of neighbours as they lie in memory.

    ``vectors``: from an element's number on, so many elements of a memory type in one register.
    """

    layout: Layout
    dtype: DType
    elements: list[Operand]
    vectors: dict[int, tuple[Operand, int, DType]] = field(default_factory=dict)


def scalars(layout: Layout, dtype: DType, names: Sequence[Operand]) -> Fragment:
    """A fragment of single elements."""
    return Fragment(layout, dtype, list(names))


def packed(
    layout: Layout, dtype: DType, vectors: dict[int, tuple[Operand, int, DType]]
) -> Fragment:
    """A fragment of vectors."""
    return Fragment(layout, dtype, [None] * count_of(layout), vectors)


@dataclass(frozen=True, slots=True)
class Region:
    """Bytes of LDS: rows of ``pitch`` bytes."""

    start: int
    size: int
    pitch: int = 0


Touched = tuple[int, int, bool]  # start, end, whether it was written


@dataclass(slots=True, eq=False)
class Section:
    """Instructions that depend on lane, wave and arguments alone, at one place of the kernel.

    After a loop that takes all registers they are computed anew, so that nothing but its own is
    held over it.
    """

    number: int
    text: Builder
    kept: dict[Hashable, Operand]

    @property
    def lane(self) -> str:
        """The lane's number."""
        return f"{LANE}{self.number or ''}"

    @property
    def tid(self) -> str:
        """The work item's number."""
        return f"{TID}{self.number or ''}"


@dataclass(frozen=True, slots=True)
class SavedState:
    """A place of a lowering."""

    count: int
    touched: frozenset[Touched]
    live: list[tuple[Region, int]]
    barriers: int
    scope: dict[Hashable, object]
    section: Section


class State:
    """The program under construction and everything that is known about it at the present place."""

    def __init__(self, plan: TilePlan, *, reuse: bool) -> None:
        self.plan = plan
        self.reuse = reuse
        self.text = Builder()
        self.section = Section(0, Builder("e0_"), {})
        self.sections = [self.section]
        self.scopes: list[dict[Hashable, object]] = [{}]
        self.demands: dict[tuple[object, ...], None] = {}
        self.loop_depth = 0
        self.depths: dict[str, int] = {}
        self.touched: frozenset[Touched] = frozenset()
        self.live: list[tuple[Region, int]] = []
        self.peak = 0
        self.barriers = 0

    def save(self) -> SavedState:
        """The present place, to come back to."""
        return SavedState(
            len(self.text.body), self.touched, list(self.live), self.barriers,
            dict(self.scopes[-1]), self.section,
        )  # fmt: skip

    def restore(self, saved: SavedState) -> None:
        """Forget everything since a place, but for what the entry block computes."""
        del self.text.body[saved.count :]
        self.touched, self.live = saved.touched, saved.live
        self.barriers, self.scopes[-1] = saved.barriers, saved.scope
        self.section = saved.section

    # Scopes.

    def find(self, key: Hashable) -> object | None:
        """What a scope around this place keeps under a key."""
        return next((s[key] for s in reversed(self.scopes) if key in s), None)

    def keep(self, key: Hashable, value: object) -> None:
        """Keep something for the present scope."""
        self.scopes[-1][key] = value

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is kept or allocated inside ends with it."""
        self.scopes.append({})
        depth = len(self.scopes)
        yield
        self.scopes.pop()
        self.live = [(r, d) for r, d in self.live if d < depth]

    # Values that depend on nothing but the lane, the wave and the arguments: computed at entry.

    def at_entry(self, key: Hashable, op: str, a: Operand, b: Operand, bits: int = 32) -> Operand:
        """Arithmetic that is done once, where the section stands."""
        return self.once(key, lambda text: text.integer(op, a, b, bits))

    def once(self, key: Hashable, make: Callable[[Builder], Operand]) -> Operand:
        """What is computed once, where the section stands."""
        kept = self.section.kept
        if key not in kept:
            kept[key] = make(self.section.text)
        return kept[key]

    def new_section(self) -> None:
        """From here on compute anew what registers would otherwise hold since the entry."""
        number = len(self.sections)
        section = Section(number, Builder(f"e{number}_"), {})
        self.sections.append(section)
        self.section = section
        self.text.add(Anew(section.tid, TID))
        self.text.add(Integer(section.lane, IntOp.AND, 32, section.tid, LANES - 1))
        self.text.add(Placed(section.text.body))
        for scope in self.scopes:
            for key in [k for k, v in scope.items() if not isinstance(v, Region)]:
                del scope[key]

    @property
    def lane(self) -> str:
        """The lane's number at the present place."""
        return self.section.lane

    @property
    def tid(self) -> str:
        """The work item's number at the present place."""
        return self.section.tid

    def base(self, axis: AxisMap) -> Operand:
        """A lane's first index along an axis."""
        parts = [
            self._part(name, part)
            for name, part in ((self.lane, axis.lane), (WAVE, axis.wave))
            if part[1] > 1 and part[2]
        ]
        if not parts:
            return 0
        if len(parts) == 1:
            return parts[0]
        return self.at_entry(("base", *parts), "add", parts[0], parts[1])

    def _part(self, name: Operand, part: Part) -> Operand:
        divisor, modulus, factor = part
        if divisor > 1:
            name = self.at_entry(("div", name, divisor), "udiv", name, divisor)
        name = self.at_entry(("mod", name, modulus), "urem", name, modulus)
        return self.at_entry(("mul", name, factor), "mul", name, factor)

    def owner(self, layout: Layout) -> Operand:
        """Whether a lane holds the first copy of its elements; None where there is one only."""
        result: Operand = None
        for name, divisor, modulus in owners(layout, self.plan.waves):
            place = self.lane if name == "lane" else WAVE
            part = self._part(place, (divisor, modulus, 1))
            test = self.once(("first", part), partial(_is_none, part))
            result = (
                test
                if result is None
                else self.at_entry(("and", result, test), "and", result, test, 1)
            )
        return result

    # LDS.

    def allocate(self, size: int, pitch: int = 0) -> Region:
        """Bytes of LDS for the present scope: the lowest that are free."""
        size = -(-size // LDS_ALIGN) * LDS_ALIGN
        start = 0
        for region, _ in sorted(self.live, key=lambda held: held[0].start):
            if start + size <= region.start:
                break
            start = max(start, region.start + region.size)
        region = Region(start, size, pitch)
        self.live.append((region, len(self.scopes)))
        self.peak = max(self.peak, start + size)
        limit = self.plan.machine.lds_bytes
        if self.peak > limit:
            raise BudgetError(
                f"a tile needs more than {limit} bytes of LDS",
                where=self.plan.kernel.name,
                fix="smaller tiles",
            )
        return region

    def free(self, region: Region) -> None:
        """Give bytes back before the scope ends."""
        self.live = [(r, d) for r, d in self.live if r is not region]

    def touch(self, *regions: Region, write: bool) -> None:
        """Accesses are about to be made, all of them after one barrier where any needs one."""
        ranges = [(r.start, r.start + r.size) for r in regions]
        if any(
            t[0] < end and start < t[1] and (write or t[2])
            for start, end in ranges
            for t in self.touched
        ):
            self.barrier()
        self.touched |= {(start, end, write) for start, end in ranges}

    def barrier(self) -> None:
        """All waves of the workgroup, with what they wrote to LDS."""
        self.text.add(Barrier(fenced=True))
        self.touched = frozenset()
        self.barriers += 1


def _is_none(part: Operand, text: Builder) -> Operand:
    return text.compare("eq", part, 0)
