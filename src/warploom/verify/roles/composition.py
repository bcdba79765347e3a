"""Several loops of a tile: programs that are proven one by one, run one after the other.

In every tile each role runs its lists of the first loop, then those of the second, and so on;
``setup`` of all runs before the first tile, ``finish`` of all after the last. Each loop is proven
by itself (``verify_roles``). That their composition is right as well follows if they share nothing
but the threads:

- Rings, staging buffers and named barriers of one loop are no other's: then what happens to them is
  what happens in the loop's own proof. Other loops between two tiles only delay an agent, and the
  proof holds for every timing.
- Every entry about a use runs in the tile that has it (*regular*). So an edge of the order of
  events leads from a loop of a tile to the same loop of the same tile or a later one, and program
  order leads from loop to loop and from tile to tile, forward. A circle of waits would therefore
  lie in one loop of one tile, where its own proof has none.
- What counts unfinished work counts its own loop's alone: matrix groups and store groups of a
  thread are queues that all loops share, so none is left in flight where another loop has some.
- Together they fit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from warploom.errors import VerificationError
from warploom.ir import mbarrier_dialect as roles
from warploom.ir.mbarrier_dialect import RoleProgram, RolesDocument
from warploom.verify.findings import Code, Finding
from warploom.verify.roles.capacity import SHARED_BYTES
from warploom.verify.roles.induction import NotProven, check_regular

_STORES = (roles.BulkStore, roles.BulkCommit, roles.BulkWait)
_PRODUCTS = (roles.Mma, roles.Commit, roles.WaitGroup)


def check_loops(documents: Sequence[RolesDocument]) -> Iterator[Finding]:
    """What is wrong with loops that run one after the other in every tile, each proven alone."""
    if len(documents) < 2:
        return
    yield from _same_agents(documents)
    yield from _apart(documents)
    yield from _fits(documents)
    for document in documents:
        yield from _own_tiles(document)
    for kinds, what in ((_PRODUCTS, "matrix products"), (_STORES, "bulk stores")):
        for role in {p.name for d in documents for p in d.programs}:
            yield from _left_in_flight(documents, role, kinds, what)


def require_composed(documents: Sequence[RolesDocument]) -> None:
    """``VerificationError`` where loops that are proven alone are not proven together."""
    found = tuple(check_loops(documents))
    if found:
        name = documents[-1].name
        raise VerificationError(
            f"the {len(documents)} loops of {name!r} are not proven together",
            where=name,
            why="\n".join(str(f) for f in found),
            fix=found[0].fix,
        )


def _same_agents(documents: Sequence[RolesDocument]) -> Iterator[Finding]:
    def agents(document: RolesDocument) -> object:
        rows = ((p.name, p.instances, p.threads, p.alternates) for p in document.programs)
        return document.cluster, sorted(rows)

    for document in documents[1:]:
        if agents(document) != agents(documents[0]):
            why = f"{document.name} has other roles or threads than {documents[0].name}"
            yield Finding(code=Code.BARRIER, why=why, fix="the same roles in all loops of a tile")


def _apart(documents: Sequence[RolesDocument]) -> Iterator[Finding]:
    owner: dict[tuple[str, object], str] = {}
    for document in documents:
        own: list[tuple[str, object]] = [("ring", r.name) for r in document.rings]
        own += [("staging buffer", b.name) for b in document.buffers]
        for b in document.barriers:
            own += [("barrier id", n) for n in range(b.id, b.id + max(b.count, 1))]
        for kind, name in own:
            other = owner.setdefault((kind, name), document.name)
            if other != document.name:
                why = f"{kind} {name} is used by loops {other} and {document.name}"
                fix = f"a {kind} of its own for every loop: phases of one would count for the other"
                yield Finding(code=Code.PHASE, why=why, fix=fix)
    names = [d.name for d in documents]
    if len({*names}) < len(names):
        why = "two loops of a tile have the same name"
        yield Finding(code=Code.PHASE, why=why, fix="a name of its own for every loop")


def _fits(documents: Sequence[RolesDocument]) -> Iterator[Finding]:
    used = 0
    for document in documents:
        instances = {p.name: p.instances for p in document.programs}
        used += sum(r.depth * (r.slot_stride + 16) for r in document.rings)
        used += sum(b.copies * b.bytes * instances.get(b.role, 1) for b in document.buffers)
    if used + 1024 > SHARED_BYTES:
        why = f"the loops take {used} bytes of shared memory together, and 1024 of alignment"
        fix = f"fewer stages in some loop: a CTA has {SHARED_BYTES} bytes"
        yield Finding(code=Code.CAPACITY, why=why, fix=fix)


def _own_tiles(document: RolesDocument) -> Iterator[Finding]:
    reasons = []
    for program in document.programs:
        lists = program.prologue, program.kernel, program.epilogue
        if any(isinstance(e, roles.ClusterSync) for row in lists for e in row):
            reasons.append("CTAs of the cluster meet inside of tiles")
        try:
            check_regular(document, program)
        except NotProven as missing:
            reasons.append(str(missing))
    for reason in reasons:
        why = f"{document.name}: {reason}; what another loop does between is not considered"
        fix = "entries that speak of their own tile's iterations"
        yield Finding(code=Code.PHASE, why=why, fix=fix)


def _left_in_flight(
    documents: Sequence[RolesDocument], role: str, kinds: tuple[type, ...], what: str
) -> Iterator[Finding]:
    """Loops that leave work in flight as a tile ends, while another loop counts such work."""
    users = [
        (d, p)
        for d in documents
        for p in d.programs
        if p.name == role and any(isinstance(e, kinds) for _, row in p.phases() for e in row)
    ]
    for document, program in users if len(users) > 1 else ():
        left = max(_unfinished(program, kinds, n) for n in _trips(document, program))
        if left:
            why = f"{document.name} leaves {left} groups of {what} in flight as its loop ends"
            fix = "wait for all groups at the loop's end: the next loop's waits would count them"
            yield Finding(code=Code.DRAIN, why=why, fix=fix)


def _trips(document: RolesDocument, program: RoleProgram) -> range:
    """Lengths of a tile in which the kernel list runs never, once, and often."""
    least = max(document.minimum_trips, program.peel)
    return range(least, least + 3)


def _unfinished(program: RoleProgram, kinds: tuple[type, ...], trips: int) -> int:
    """Groups that may be in flight, or are not closed, as a tile of so many iterations ends."""
    kernel = program.kernel * (trips - program.peel)
    counts: dict[str, int] = defaultdict(int)
    for entry in (*program.prologue, *kernel, *program.epilogue):
        if isinstance(entry, roles.Mma | roles.BulkStore) and isinstance(entry, kinds):
            counts["open"] = 1
        elif isinstance(entry, roles.Commit | roles.BulkCommit) and isinstance(entry, kinds):
            counts["groups"], counts["open"] = counts["groups"] + 1, 0
        elif isinstance(entry, roles.WaitGroup | roles.BulkWait) and isinstance(entry, kinds):
            counts["groups"] = min(counts["groups"], entry.pending)
    return counts["groups"] + counts["open"]
