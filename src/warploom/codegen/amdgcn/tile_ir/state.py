"""State of one lowering: IR, registers of values, LDS regions and the barriers they need.

Values are computed where they are asked for and kept for their scope: the body of a loop, or the
kernel. What a loop's body asks of values outside it is found by lowering the body once for nothing,
and is then computed before the loop.

A barrier is emitted where a region of LDS is written that was read or written since the last one,
or read that was written since. At the head of a loop both ways into it count.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from warploom.codegen.amdgcn.lower.pointwise import IrText
from warploom.codegen.amdgcn.tile_ir.errors import BudgetError
from warploom.codegen.amdgcn.tile_ir.layout import LANES, AxisMap, Layout, Part, count_of, owners
from warploom.codegen.amdgcn.tile_ir.plan import TilePlan
from warploom.ir.tile import DType

LDS_ALIGN = 16


@dataclass(slots=True, eq=False)
class Fragment:
    """A value in registers: single elements, or vectors of neighbours as they lie in memory.

    ``vectors``: from an element's number on, so many elements of a memory type in one SSA value.
    """

    layout: Layout
    dtype: DType
    elements: list[str | None]
    vectors: dict[int, tuple[str, int, DType]] = field(default_factory=dict)


def scalars(layout: Layout, dtype: DType, names: list[str]) -> Fragment:
    """A fragment of single elements."""
    return Fragment(layout, dtype, list(names))


def packed(layout: Layout, dtype: DType, vectors: dict[int, tuple[str, int, DType]]) -> Fragment:
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
    text: IrText
    kept: dict[Hashable, str]

    @property
    def marker(self) -> str:
        """The line that stands for the section's instructions."""
        return f"  ; section {self.number}"

    @property
    def lane(self) -> str:
        """The lane's number."""
        return f"%lane{self.number or ''}"

    @property
    def tid(self) -> str:
        """The work item's number."""
        return f"%tid{self.number or ''}"


@dataclass(frozen=True, slots=True)
class SavedState:
    """A place of a lowering."""

    lines: int
    block: str
    labels: int
    touched: frozenset[Touched]
    live: list[tuple[Region, int]]
    barriers: int
    scope: dict[Hashable, object]
    section: Section


class State:
    """IR under construction and everything that is known about it at the present place."""

    def __init__(self, plan: TilePlan, *, reuse: bool) -> None:
        self.plan = plan
        self.reuse = reuse
        self.text = IrText()
        self.section = Section(0, IrText(), {})
        self.sections = [self.section]
        self.scopes: list[dict[Hashable, object]] = [{}]
        self.demands: dict[tuple[object, ...], None] = {}
        self.loop_depth = 0
        self.depths: dict[str, int] = {}
        self.touched: frozenset[Touched] = frozenset()
        self.live: list[tuple[Region, int]] = []
        self.peak = 0
        self.labels = 0
        self.barriers = 0
        self._names = 0

    def save(self) -> SavedState:
        """The present place, to come back to."""
        return SavedState(
            len(self.text.lines), self.text.block, self.labels, self.touched, list(self.live),
            self.barriers, dict(self.scopes[-1]), self.section,
        )  # fmt: skip

    def restore(self, saved: SavedState) -> None:
        """Forget everything since a place, but for what the entry block computes."""
        del self.text.lines[saved.lines :]
        self.text.block, self.labels, self.touched = saved.block, saved.labels, saved.touched
        self.live, self.barriers, self.scopes[-1] = saved.live, saved.barriers, saved.scope
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

    def new_label(self, name: str) -> str:
        """A label that is used once."""
        self.labels += 1
        return f"{name}{self.labels}"

    # Values that depend on nothing but the lane, the wave and the arguments: computed at entry.

    def at_entry(self, key: Hashable, instruction: str) -> str:
        """An instruction of the entry block, emitted once."""
        kept = self.section.kept
        if key not in kept:
            self._names += 1
            kept[key] = self.section.text.value(instruction, f"e{self._names}")
        return kept[key]

    def new_section(self) -> None:
        """From here on compute anew what registers would otherwise hold since the entry."""
        section = Section(len(self.sections), IrText(), {})
        self.sections.append(section)
        self.section = section
        self.text.add(f'{section.tid} = call i32 asm "", "=v,0"(i32 %tid)')
        self.text.add(f"{section.lane} = and i32 {section.tid}, {LANES - 1}")
        self.text.lines.append(section.marker)
        for scope in self.scopes:
            for key in [k for k, v in scope.items() if not isinstance(v, Region)]:
                del scope[key]

    @property
    def texts(self) -> list[IrText]:
        """All that is written of the kernel."""
        return [self.text, *(s.text for s in self.sections)]

    def placed(self) -> list[str]:
        """The lines of the kernel after its entry, with those of all sections in their places."""
        inner = {s.marker: s.text.lines for s in self.sections}
        return [line for own in self.text.lines for line in inner.get(own, [own])]

    @property
    def lane(self) -> str:
        """The lane's number at the present place."""
        return self.section.lane

    @property
    def tid(self) -> str:
        """The work item's number at the present place."""
        return self.section.tid

    def base(self, axis: AxisMap) -> str:
        """A lane's first index along an axis."""
        parts = [
            self._part(name, part)
            for name, part in ((self.lane, axis.lane), ("%wave", axis.wave))
            if part[1] > 1 and part[2]
        ]
        if not parts:
            return "0"
        if len(parts) == 1:
            return parts[0]
        return self.at_entry(("base", *parts), f"add i32 {parts[0]}, {parts[1]}")

    def _part(self, name: str, part: Part) -> str:
        divisor, modulus, factor = part
        if divisor > 1:
            name = self.at_entry(("div", name, divisor), f"udiv i32 {name}, {divisor}")
        name = self.at_entry(("mod", name, modulus), f"urem i32 {name}, {modulus}")
        return self.at_entry(("mul", name, factor), f"mul i32 {name}, {factor}")

    def owner(self, layout: Layout) -> str | None:
        """Whether a lane holds the first copy of its elements; None where there is one only."""
        found: str | None = None
        for name, divisor, modulus in owners(layout, self.plan.waves):
            place = self.lane if name == "lane" else f"%{name}"
            part = self._part(place, (divisor, modulus, 1))
            test = self.at_entry(("first", part), f"icmp eq i32 {part}, 0")
            found = (
                test
                if found is None
                else self.at_entry(("and", found, test), f"and i1 {found}, {test}")
            )
        return found

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
        self.text.add('fence syncscope("workgroup") release')
        self.text.add("call void @llvm.amdgcn.s.barrier()")
        self.text.add('fence syncscope("workgroup") acquire')
        self.touched = frozenset()
        self.barriers += 1

    def lds(self, region: Region, offset: str) -> str:
        """Address of a byte of a region; ``offset`` is a value or a number."""
        if offset.lstrip("-").isdigit():
            return f"getelementptr (i8, ptr addrspace(3) @lds, i32 {region.start + int(offset)})"
        return self.text.value(
            f"getelementptr i8, ptr addrspace(3) {self.lds(region, '0')}, i32 {offset}"
        )
