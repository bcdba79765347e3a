"""Listings: entries as text, line by line, and counts of waits and barriers per phase."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, OpRole, ScheduleEntry, ScheduleOps

_K_NAMES = {
    **{k: k.name for k in KOffsetKind},
    KOffsetKind.K_NEXT: "KNEXT",
    KOffsetKind.K_PREV: "KPREV",
    KOffsetKind.NONE: "-",
}
_TAG_NAMES = {
    int(ScheduleOps.BARRIER): "BARRIER",
    int(ScheduleOps.WAIT_VM): "WAIT_VM",
    int(ScheduleOps.WAIT_LGKM): "WAIT_LGKM",
    int(ScheduleOps.SET_PRIO): "SET_PRIO",
    int(ScheduleOps.SCHEDULE_BARRIER): "SCHED_BARRIER",
    int(ScheduleOps.NONE): "NONE",
}


def default_op_name(tag: int) -> str:
    """The documented 15-character name of a bare tag number."""
    return _TAG_NAMES.get(int(tag), "OP" if tag < 128 else "?").ljust(15)


def k_offset_name(k_offset: KOffsetKind) -> str:
    """The documented 5-character name of a k-offset."""
    return _K_NAMES[k_offset].ljust(5)


def op_name(op: OpDesc) -> str:
    """An op's own name, padded for columns."""
    return op.name.ljust(15)


def format_entry(prefix: str, idx: int, name: str, entry: ScheduleEntry) -> str:
    """One entry as one line."""
    op = entry.op
    return (
        f"{prefix} [{idx}] {name} s={op.stage} sub={op.subtile} k={k_offset_name(op.k_offset)} "
        f"wait={op.wait_value} pf={entry.is_prefetch}"
    )


def format_phase_header(label: str, n: int) -> str:
    """The head of a phase listing."""
    return f"{label} ({n} entries)\n{'-' * 80}"


def print_entry(prefix: str, idx: int, name: str, entry: ScheduleEntry) -> None:
    """Print one entry."""
    print(format_entry(prefix, idx, name, entry))


def print_phase_header(label: str, n: int) -> None:
    """Print the head of a phase listing."""
    print(format_phase_header(label, n))


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitCounts:
    """How many waits, barriers and fences a phase has; ``n_combined`` vm waits precede lgkm."""

    n_vm: int = 0
    n_lgkm: int = 0
    n_combined: int = 0
    n_barrier: int = 0
    n_sched_barrier: int = 0

    @classmethod
    def empty(cls) -> WaitCounts:
        """All zero."""
        return cls()

    @classmethod
    def of(cls, entries: Sequence[ScheduleEntry]) -> WaitCounts:
        """Count a whole phase."""
        counts = cls()
        tags = [e.op.tag for e in entries] + [int(ScheduleOps.NONE)]
        for entry, following in zip(entries, tags[1:], strict=True):
            counts = update_wait_counts(counts, entry, following)
        return counts


def update_wait_counts(counts: WaitCounts, entry: ScheduleEntry, next_tag: int) -> WaitCounts:
    """The counts with one more entry; pass 255 as ``next_tag`` for the last."""
    match int(entry.op.tag):
        case ScheduleOps.WAIT_VM:
            combined = next_tag == ScheduleOps.WAIT_LGKM
            return replace(counts, n_vm=counts.n_vm + 1, n_combined=counts.n_combined + combined)
        case ScheduleOps.WAIT_LGKM:
            return replace(counts, n_lgkm=counts.n_lgkm + 1)
        case ScheduleOps.BARRIER:
            return replace(counts, n_barrier=counts.n_barrier + 1)
        case ScheduleOps.SCHEDULE_BARRIER:
            return replace(counts, n_sched_barrier=counts.n_sched_barrier + 1)
        case _:
            return counts


def format_wait_counts(label: str, c: WaitCounts) -> str:
    """The counts of a phase as one line."""
    return (
        f"  {label}: {c.n_vm} vmcnt, {c.n_lgkm} lgkmcnt ({c.n_combined} coalesced vm+lgkm), "
        f"{c.n_barrier} s_barrier, {c.n_sched_barrier} sched_barrier"
    )


def print_wait_counts(label: str, counts: WaitCounts) -> None:
    """Print the counts of a phase."""
    print(format_wait_counts(label, counts))


def phase_listing(label: str, entries: Iterable[ScheduleEntry], notes: Mapping[int, str]) -> str:
    """A whole phase, one entry a line; ``notes`` by entry index go after it."""
    rows = list(entries)
    lines = [format_phase_header(label, len(rows))]
    for i, e in enumerate(rows):
        note = f"  # {notes[i]}" if i in notes else ""
        lines.append(format_entry(" ", i, op_name(e.op), e) + note)
    return "\n".join(lines)


def split_blocks(entries: Sequence[ScheduleEntry]) -> list[tuple[int, int]]:
    """(start, end) of each MMA block; a priority reset and what trails it belong to its MMA."""
    blocks, start, i = [], 0, 0
    while i < len(entries):
        if entries[i].op.role is OpRole.COMPUTE:
            i += 1
            while i < len(entries) and entries[i].op.role is OpRole.COMPUTE:
                i += 1
            if i < len(entries) and entries[i].op.tag == ScheduleOps.SET_PRIO:
                i += 1
                while i < len(entries) and entries[i].op.tag in _TRAILING:
                    i += 1
            blocks.append((start, i))
            start = i
        else:
            i += 1
    if start < len(entries):
        blocks.append((start, len(entries)))
    return blocks


_TRAILING = (ScheduleOps.BARRIER, ScheduleOps.SCHEDULE_BARRIER)
