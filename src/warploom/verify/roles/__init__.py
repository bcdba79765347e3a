"""The verifier of warp-specialised schedules (mbarrier targets).

``verify_roles`` decides, for every timing of copies and matrix groups, every number of iterations
of a tile and every sequence of tiles of a persistent kernel, whether the protocol of a
``RolesDocument`` is free of races, of barrier confusion and of deadlock, and whether its ops
compute what was declared. It reads the document and nothing else. Which runs decide all of them:
``sequences``. The first wrong wait of a run would be found with the laps meant by the waits
before it, so checking each wait by the lap it means is no loss.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from warploom.errors import VerificationError
from warploom.ir.dataflow import Flow
from warploom.ir.document_checks import check_document
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.verify.agents import USUAL, alike
from warploom.verify.findings import (
    FLOW_DECLARED,
    FLOW_NAMED,
    Code,
    Finding,
    Place,
    Report,
    Severity,
)
from warploom.verify.flow import check_flow, check_uses, flow_tiles, known_flow, op_names
from warploom.verify.roles import (
    barriers,
    barriers as named,
    registers,
    registers as staging,
    scopes,
    slots,
)
from warploom.verify.roles.capacity import check_alignment, check_capacity
from warploom.verify.roles.exchange import check_exchanges, undeclared
from warploom.verify.roles.graph import build_order, events_of
from warploom.verify.roles.order import Order
from warploom.verify.roles.sequences import (
    Runs,
    check_budget,
    deciding_runs,
    tile_sequences as tile_sequences,
    window_of,
)

MAX_FINDINGS = 60
SHOWN_RUNS = 12  # of those tried, in a report
MORE_RUNS = 24
"""Runs in a row that show nothing new, after which a document with races is checked no further."""


def verify_roles(
    document: RolesDocument,
    *,
    sequences: Iterable[tuple[int, ...]] | None = None,
    scope: str = "",
) -> Report:
    """Check a document; ``sequences`` restricts the runs to these tile lengths.

    The report then says so (``scope``, or how many they were). Findings are reported once per code
    and entry, with the first run that shows them. ``DocumentError`` where the document has no
    meaning on the hardware or is too large to check.
    """
    check_document(document)
    found: dict[tuple[object, ...], Finding] = {}
    _keep(found, (*check_capacity(document), *check_alignment(document)))
    flow = document.flow or known_flow(document)
    notes = undeclared(document)
    notes += () if flow else (f"the document declares no dataflow of {_listed(document)}",)
    runs = Runs((), ())
    if not found:
        given = None if sequences is None else tuple(sequences)
        runs = deciding_runs(document) if given is None else Runs(given, ())
        check_budget(document, (*runs.sequences, runs.alone))
        if flow:
            wide = max((len(op.operands) + len(op.results) for op in flow.ops), default=0)
            check_budget(document, flow_tiles(document, flow), max(1, 2 * wide // USUAL))
    if runs.sequences:
        _keep(found, check_exchanges(document, flow))
        _keep(found, check_flow(document, flow) if flow else check_uses(document))
    verified = 0
    if runs.joined and not found:
        joined = [next(_findings_of(build_order(document, tiles)), None) for tiles in runs.joined]
        verified = 0 if any(joined) else len(joined)
    if not verified:
        verified = _verify_sequences(document, runs.sequences, found)
    if runs.alone:
        _keep(found, _findings_alone(events_of(document, runs.alone)))
    if runs.open and not any(f.severity is Severity.RACE for f in found.values()):
        notes += (runs.open,)
    least = document.minimum_trips
    proven = f">= {least}" if least else "all"
    if sequences is not None or runs.open:
        proven = scope or _tried(runs.sequences[:verified])
    return Report(
        name=document.name,
        findings=tuple(_with_line(document, f) for f in found.values()),
        trips_proven=proven,
        depth=window_of(document),
        sequences=verified,
        not_judged=notes,
        assumes=_assumed(document, flow),
    )


def _verify_sequences(
    document: RolesDocument,
    sequences: Iterable[tuple[int, ...]],
    found: dict[tuple[object, ...], Finding],
) -> int:
    """Check runs until the verdict stands and some more show nothing new; how many they were."""
    verified = quiet = 0
    for tiles in sequences:
        known = len(found)
        _keep(found, _findings_of(build_order(document, tiles)))
        verified += 1
        quiet = 0 if len(found) > known else quiet + 1
        stands = any(f.severity is Severity.RACE for f in found.values())
        if len(found) > MAX_FINDINGS or (stands and quiet > MORE_RUNS):
            break
    return verified


def _tried(sequences: tuple[tuple[int, ...], ...]) -> str:
    """Which runs a verdict rests on, where these do not decide every sequence."""
    some = ", ".join("-".join(map(str, tiles)) for tiles in sequences[:SHOWN_RUNS])
    more = ", .." if len(sequences) > SHOWN_RUNS else ""
    return f"{len(sequences)} tile sequences ({some}{more})"


def _keep(found: dict[tuple[object, ...], Finding], more: Iterable[Finding]) -> None:
    """Findings, each once: as the first run shows it, or the first one that shows it as a race.

    Another instance of the same entry may race where the first one rests on a stated latency.
    """
    for finding in more:
        known = found.setdefault(_identity(finding), finding)
        if known.severity is not Severity.RACE and finding.severity is Severity.RACE:
            found[_identity(finding)] = finding


def _assumed(document: RolesDocument, flow: Flow | None) -> tuple[str, ...]:
    """What nothing in a document ties to the author's kernel."""
    if flow is None:
        return ()
    return (FLOW_DECLARED if document.flow else FLOW_NAMED,)


def _with_line(document: RolesDocument, finding: Finding) -> Finding:
    """The finding with the author's line: of an op it names, else of the op next to its entry."""
    if finding.line or document.flow is None:
        return finding
    lines = {(op.role, op.name, op.args): op.line for op in document.flow.ops}
    places = [p for p in finding.where if isinstance(p, Place)]
    for near in (False, True):
        for place in places:
            phases = dict(document.program(place.role).phases())
            listed = phases[place.phase]
            entries: Iterable[object] = listed[place.index : place.index + 1]
            if (
                near
            ):  # what it waits for comes next; what it ends came before; else any op of the role
                rest = (e for other in phases.values() for e in other)
                entries = (*listed[place.index :], *listed[: place.index][::-1], *rest)
            found = (
                lines.get((place.role, getattr(e, "op", ""), getattr(e, "args", ())), "")
                for e in entries
            )
            line = next(filter(None, found), "")
            if line:
                return replace(finding, line=line)
    return finding


def _listed(document: RolesDocument) -> str:
    names = op_names(document)
    return "its ops " + ", ".join(names[:8]) + (", .." if len(names) > 8 else "")


def require_clean(document: RolesDocument) -> Report:
    """The report of a clean document; ``VerificationError`` with all findings otherwise."""
    report = verify_roles(document)
    if not report.clean:
        raise VerificationError(
            f"schedule {document.name!r} is not proven",
            report=report,
            where=document.name,
            why="\n".join([*report.not_judged, *(str(f) for f in report.findings)]),
            fix="see each finding",
        )
    return report


def _findings_of(order: Order) -> Iterator[Finding]:
    """What one run shows. All CTAs run the same programs and reach one another alike, so what
    happens in the first, and to it, is checked for all.
    """
    yield from barriers.check_phases(order)
    yield from barriers.check_counts(order)
    uses = slots.accesses(order)
    yield from slots.check_parts(order, uses)
    yield from _findings_alone(order)
    yield from barriers.check_deadlock(order)
    if not order.blocked:
        yield from barriers.check_waits(order)
        yield from barriers.check_early_arrivals(order)
        yield from named.check_named(order)
        yield from slots.check_slots(order, uses)
        yield from named.check_exit(order)


def _findings_alone(order: Order) -> Iterator[Finding]:
    """What each agent does by itself, in program order."""
    for agent in alike(order.document):
        yield from registers.check_registers(order, agent)
        yield from staging.check_staging(order, agent)
        yield from registers.check_coverage(order, agent)
        yield from scopes.check_scopes(order, agent)


def _identity(finding: Finding) -> tuple[object, ...]:
    where = tuple((p.role, p.phase, p.index) for p in finding.where if isinstance(p, Place))
    if finding.code is Code.EXCHANGE:  # all of an exchange stand at its op
        where = ()
    return (finding.code, where or finding.about or finding.why)
