"""Clock stamps: every entry of a role's loop writes the clock after it, for a few iterations.

CTA 0 alone writes, one thread a role instance. Its tiles overwrite each other, so that what is read
back is of its last tile, when caches are warm. Words lie as [instance][iteration][entry], role
after role.
"""

from __future__ import annotations

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.roles import number
from warploom.dataclass import dataclass
from warploom.ir.mbarrier_dialect import RoleProgram, RolesDocument

NAME = "stamps"
FIRST, COUNT = 4, 8  # iterations after the peeled ones that are left out, and that are stamped


@dataclass(frozen=True, slots=True, kw_only=True)
class StampedRole:
    """The stamps of one role: its entries' names, and where its words begin."""

    role: str
    instances: int
    peel: int
    labels: tuple[str, ...]
    offset: int
    number: str = "instance"

    @property
    def words(self) -> int:
        """How many words it writes."""
        return self.instances * COUNT * len(self.labels)


def stamped_roles(document: RolesDocument) -> tuple[StampedRole, ...]:
    """Where the roles of a document write."""
    from warploom.sim.roles import entry_label  # noqa: PLC0415 (few builds have stamps)

    found: list[StampedRole] = []
    for program in document.programs:
        role = StampedRole(
            role=program.name,
            instances=program.instances,
            peel=program.peel,
            labels=tuple(entry_label(e) for e in program.kernel),
            offset=found[-1].offset + found[-1].words if found else 0,
            number=number(program),
        )
        found.append(role)
    return tuple(found)


def stamp_line(role: StampedRole, index: int) -> str:
    """What follows an entry of the loop."""
    each = len(role.labels)
    trip = f"k - {role.peel + FIRST}"
    place = f"({trip}) * {each} + {role.offset + index}"
    if role.instances > 1:
        place = f"{role.number} * {COUNT * each} + {place}"
    return f"{device.stamp}({NAME} + {place}, stamped && (unsigned)({trip}) < {COUNT});"


def stamped_line(program: RoleProgram) -> str:
    """Who writes: CTA 0, one thread a role instance."""
    alone = "" if program.threads == 1 else " && threadIdx.x % 128 == 0"
    return f"const bool stamped = blockIdx.x == 0{alone};"


def read_words(roles: tuple[StampedRole, ...], words: list[int]) -> list[dict[str, object]]:
    """What was written, by role: cycles from the earliest stamp on, whole iterations only.

    Roles that were not stamped for two iterations are left out.
    """
    first = _earliest([w for w in words if w])
    result: list[dict[str, object]] = []
    for role in roles:
        each = len(role.labels)
        instances = []
        for i in range(role.instances):
            start = role.offset + i * COUNT * each
            rows = [words[start + t * each : start + (t + 1) * each] for t in range(COUNT)]
            whole = [row for row in rows if row and all(row)]
            instances.append([[(w - first) % 2**32 for w in row] for row in whole])
        if all(len(rows) > 1 for rows in instances):
            result.append({"role": role.role, "labels": list(role.labels), "stamps": instances})
    return result


def _earliest(words: list[int]) -> int:
    """The first of clocks of 32 bits, which may have begun anew in between."""
    wrapped = bool(words) and max(words) - min(words) > 2**31
    return min((w for w in words if not wrapped or w > 2**31), default=0)
