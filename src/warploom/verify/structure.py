"""Structure: barriers that never meet, counts the hardware can not express, budgets exceeded."""

from collections.abc import Iterator

from warploom.ir import WaveId
from warploom.ir.counter_dialect import Queue
from warploom.verify.dataflow import Program
from warploom.verify.events import Item, Kind, Text
from warploom.verify.explain import NO_EVENT, channel_name, event
from warploom.verify.findings import Code, Event, Finding, Limits, Severity


def find_deadlock(program: Program) -> Iterator[Finding]:
    """The groups must execute equally many barriers; the difference does not depend on trips."""
    text = program.text
    p = text.protocol
    extra = [p.tail_barriers[g] + (g if text.staggered else 0) for g in range(p.groups)]
    fewest, most = min(extra), max(extra)
    if fewest == most:
        return
    base = program.barriers[-1]
    short, long = extra.index(fewest), extra.index(most)
    bars = [t for t, item in enumerate(program.items) if item.kind is Kind.BARRIER]
    last = event(program, bars[-1]) if bars else NO_EVENT
    yield Finding(
        code=Code.DEADLOCK,
        trip_count=program.trips,
        where=(last, NO_EVENT),
        waves=(WaveId(long, 0), WaveId(short, 0)),
        why=f"group {long} executes {base + most} barriers and group {short} {base + fewest}: "
        f"barrier number {base + fewest + 1} is never joined",
        fix=f"tail_barriers {[most - e + t for e, t in zip(extra, p.tail_barriers, strict=True)]}"
        " makes the totals equal",
    )


def encoding_finding(item: Item, trips: int, needed_by: Event | None) -> Finding:
    """The finding for one unencodable wait; a race when ``needed_by`` relies on it."""
    queue = item.queue or Queue.VM
    here = Event(item.phase, item.index, 0, item.label)
    relies = f"; {needed_by} relies on it" if needed_by else "; nothing relies on it"
    return Finding(
        code=Code.ENCODING,
        severity=Severity.RACE if needed_by else Severity.INFO,
        trip_count=trips,
        where=(here, needed_by or here),
        waves=(WaveId(0, 0),),
        why=f"{item.count} is above {queue.largest_wait}, the largest count {queue.value}cnt can "
        f"wait for: the hardware would not wait at all{relies}",
        fix=f"clamp it to {queue.largest_wait}, or drop the wait if nothing needs it",
    )


def find_over_budget(text: Text, limits: Limits) -> Iterator[Finding]:
    """CAPACITY: what the document needs against what a workgroup has."""
    p = text.protocol
    waves = p.groups * p.waves_per_group
    if limits.waves is not None and waves > limits.waves:
        yield _capacity(
            f"{waves} waves in a workgroup that holds {limits.waves}", "use fewer waves"
        )
    slots = {i.slot for i in text.items() if i.slot is not None and i.kind is not Kind.READ}
    used = sum(limits.slot_bytes[s[0]] for s in slots if s[0] in (0, 1))
    if limits.lds_bytes is not None and used > limits.lds_bytes:
        names = ", ".join(
            f"{sum(1 for s in slots if s[0] == c)} of {channel_name(c)}"
            for c in sorted({s[0] for s in slots})
        )
        yield _capacity(
            f"the slots ({names}) take {used} bytes of LDS; the workgroup has {limits.lds_bytes}",
            "use smaller tiles, fewer stages or fewer subtiles",
        )
    # VGPRs of all fragment registers and accumulators, each with its largest definition
    sizes: dict[tuple[int, int, int], int] = {}
    for item in text.items():
        if item.op is None or item.kind not in (Kind.READ, Kind.MMA):
            continue
        place = (item.op.stage, item.op.subtile) if item.kind is Kind.MMA else item.registers[0]
        key = (0 if item.kind is Kind.MMA else 1, *place)
        sizes[key] = max(sizes.get(key, 0), item.op.vgpr_def)
    registers = sum(sizes.values())
    if limits.vgprs is not None and registers > limits.vgprs:
        yield _capacity(
            f"fragments and accumulators take {registers} VGPRs; a wave has {limits.vgprs}",
            "use smaller fragments or fewer accumulators",
        )


def _capacity(why: str, fix: str) -> Finding:
    return Finding(
        code=Code.CAPACITY,
        where=(NO_EVENT, NO_EVENT),
        waves=(WaveId(0, 0),),
        why=why,
        fix=fix,
    )
