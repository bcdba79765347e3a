"""The judge of warp-specialised schedules (mbarrier targets).

``verify_roles`` decides, for every timing of copies and matrix groups, every number of iterations
of a tile and every sequence of tiles of a persistent kernel, whether the protocol of a
``RolesDocument`` is free of races, of barrier confusion and of deadlock. It reads the document
and nothing else.

Why finitely many tile sequences suffice. Every condition relates two events at most ``depth`` uses
of a ring apart, and the chain of orderings between them stays inside that window (plus the
``peel`` iterations a role lags). The lists are the same for every tile, so any window of any run
occurs in a run whose tile lengths are one composition of the window's length, repeated. All
compositions are tried. The first wrong wait of a run would be found with the phases meant by the
waits before it, so judging each wait by the phase it means is no loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from warploom.document.roles import Per, RolesDocument
from warploom.errors import VerificationError
from warploom.verify.roles import agent as agent_checks
from warploom.verify.roles import barriers, slots
from warploom.verify.roles.finding import (
    Code,
    Place,
    RoleFinding,
    RolesReport,
    Severity,
    roles_report_to_json,
)
from warploom.verify.roles.order import Order, build_order

__all__ = [
    "Code",
    "Place",
    "RoleFinding",
    "RolesReport",
    "Severity",
    "require_clean",
    "roles_report_to_json",
    "tile_sequences",
    "verify_roles",
]

SMEM_LIMIT = 232_448
MAX_WINDOW = 12
MAX_FINDINGS = 60


def verify_roles(
    document: RolesDocument, *, sequences: Iterable[tuple[int, ...]] | None = None
) -> RolesReport:
    """Judge a document; ``sequences`` restricts the tile sequences (the verdict is then partial).

    Findings are reported once per code and entry, with the first sequence that shows them.
    """
    window = _window(document)
    tried = tuple(sequences) if sequences is not None else tile_sequences(document)
    found: dict[tuple[object, ...], RoleFinding] = {}
    for finding in _capacity(document):
        found.setdefault(_identity(finding), finding)
    for tiles in tried:
        for finding in _judge(build_order(document, tiles)):
            found.setdefault(_identity(finding), finding)
        if len(found) > MAX_FINDINGS:
            break
    return RolesReport(
        document=document.name,
        findings=tuple(found.values()),
        window=window,
        sequences=len(tried),
        complete=sequences is None and window <= MAX_WINDOW,
    )


def require_clean(document: RolesDocument) -> RolesReport:
    """The report of a clean document; ``VerificationError`` with all findings otherwise."""
    report = verify_roles(document)
    if not report.clean:
        raise VerificationError(
            f"schedule {document.name!r} is not proven",
            report=report,
            where=document.name,
            why="\n".join(str(f) for f in report.findings) or "the rings are too deep to enumerate",
            fix="see each finding",
        )
    return report


def tile_sequences(document: RolesDocument) -> tuple[tuple[int, ...], ...]:
    """The tile lengths that decide every run: compositions of the window, repeated."""
    window = min(_window(document), MAX_WINDOW)
    least = max(document.minimum_trips, 1)
    depth = max((r.depth for r in document.rings if r.per is Per.ITERATION), default=1)
    tiles = max((r.depth for r in document.rings if r.per is Per.TILE), default=0) + 2
    total = window + depth
    out = {(least + i,) * tiles for i in range(window)}
    for parts in _compositions(window, least):
        repeats = max(-(-total // sum(parts)), -(-tiles // len(parts)))
        out.add(parts * repeats)
    return tuple(sorted(out, key=lambda s: (sum(s), s)))


def _window(document: RolesDocument) -> int:
    depth = max((r.depth for r in document.rings if r.per is Per.ITERATION), default=1)
    return max(depth + document.minimum_trips + 1, document.minimum_trips + 2)


def _compositions(total: int, least: int) -> Iterator[tuple[int, ...]]:
    """All ways to write ``total`` as an ordered sum of parts >= least (the last may overshoot)."""
    if total <= 0:
        yield ()
        return
    for first in range(least, max(total, least) + 1):
        for rest in _compositions(total - first, least):
            yield (first, *rest)


def _judge(order: Order) -> Iterator[RoleFinding]:
    yield from barriers.check_phases(order)
    yield from barriers.check_counts(order)
    for agent in order.programs:
        yield from agent_checks.check_registers(order, agent)
        yield from agent_checks.check_staging(order, agent)
        yield from agent_checks.check_coverage(order, agent)
    yield from slots.check_scopes(order)
    yield from barriers.check_deadlock(order)
    if not order.blocked:
        yield from barriers.check_waits(order)
        yield from barriers.check_early_arrivals(order)
        yield from barriers.check_named(order)
        yield from slots.check_slots(order)
    yield from _cluster_exit(order)


def _cluster_exit(order: Order) -> Iterator[RoleFinding]:
    document = order.document
    if document.cluster == 1:
        return
    for program in document.programs:
        if not any(type(e).__name__ == "ClusterSync" for e in program.finish):
            yield RoleFinding(
                code=Code.DRAIN,
                why=f"{program.name} exits while CTAs of its cluster may still copy or arrive here",
                fix="ClusterSync at the end of finish, in every role",
                tiles=order.tiles,
            )


def _capacity(document: RolesDocument) -> Iterator[RoleFinding]:
    used = sum(r.depth * (r.slot_bytes + 16) for r in document.rings)
    instances = {p.name: p.instances for p in document.programs}
    used += sum(b.copies * b.bytes * instances.get(b.role, 1) for b in document.buffers)
    if used + 1024 > SMEM_LIMIT:
        yield RoleFinding(
            code=Code.CAPACITY,
            why=f"{used} bytes of shared memory and 1024 of alignment exceed {SMEM_LIMIT}",
            fix="fewer stages or smaller tiles",
        )


def _identity(finding: RoleFinding) -> tuple[object, ...]:
    where = tuple((p.role, p.phase, p.index) for p in finding.where)
    return (finding.code, where or finding.why.split(" iterations")[0])
