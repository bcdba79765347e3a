"""The verifier of dataflow: does a program compute what was declared?

``check_flow`` walks the programs of a document in order and compares what every op finds in its
registers, slots and staging copies with what the declaration says it reads; timing is the other
judges' matter. Each declared op must run exactly once an iteration (or a tile), and nothing else.

Why few tile lengths decide all. A register or staging place is written in every iteration of the
kernel list or in none. So after one iteration of it, what every place holds is the same but for
the iteration's number, and the iterations after the second find what the second found, shifted. A
declaration looks ``back`` at most b iterations, so it differs from one iteration to the next only
in the first b. Tiles of ``least`` .. ``least + b + 3`` iterations therefore show everything. Values
of the tile before are never right, whatever its length: two equal tiles of everybody show leaks.

Schedules of matrix products and of attention were written before documents carried a flow. Their
ops have fixed names and meanings, so what they must compute is known here. A document with any
other op, or without a flow, is not judged by this verifier, and says so.

Work that nobody uses is a sign of work that is missing: slots that are filled and never read, sums
that are never taken, no op that could write a result.
"""

from collections.abc import Iterator
from itertools import pairwise, product

from warploom.ir.dataflow import Flow, FlowOp, FlowOperand, Home, When
from warploom.ir.mbarrier_dialect import (
    BulkStore,
    Compute,
    Load,
    Mma,
    RoleEntry,
    RoleProgram,
    RolesDocument,
)
from warploom.ir.rings import Per
from warploom.verify.findings import Code, Finding
from warploom.verify.flow.operands import check_flow, flow_tiles

_ROWS, _MOST_PIECES = 64, 64
_GEMM = {"mma", "convert_c", "store_c"}
_ATTENTION = {
    "start_tile",
    "fetch_q",
    "qk",
    "max",
    "exp",
    "cvt",
    "rescale",
    "pv",
    "finish_rows",
    "store_o",
}


def known_flow(document: RolesDocument) -> Flow | None:
    """The flow a document's op names stand for; None when some name is unknown."""
    work = {e.op for _, e in _ops(document) if not isinstance(e, Load)}
    if not work:
        return None
    if work <= _GEMM:
        return _gemm(document)
    if work <= _ATTENTION and {r.name for r in document.rings} == {"Q", "K", "V"}:
        return _attention(document)
    return None


def op_names(document: RolesDocument) -> tuple[str, ...]:
    """The names of all ops that are not loads."""
    return tuple(dict.fromkeys(e.op for _, e in _ops(document) if not isinstance(e, Load)))


def _ops(document: RolesDocument) -> list[tuple[str, Load | Mma | Compute | BulkStore]]:
    entries: list[tuple[str, RoleEntry]] = [
        (p.name, e) for p in document.programs for _, listed in p.phases() for e in listed
    ]
    return [(r, e) for r, e in entries if isinstance(e, Load | Mma | Compute | BulkStore)]


class _Maker:
    """Collects ops and the homes of their results."""

    def __init__(self, document: RolesDocument) -> None:
        self.document = document
        self.ops: list[FlowOp] = []
        self.homes: list[Home] = []

    def op(
        self,
        role: str,
        name: str,
        operands: tuple[FlowOperand, ...],
        results: tuple[tuple[str, str], ...],
        when: When = When.LOOP,
        args: tuple[int, ...] = (),
        stores: bool = False,
    ) -> None:
        """One op with its results as (value, home)."""
        self.homes += [Home(value=v, place=h) for v, h in results]
        made = tuple(v for v, _ in results)
        self.ops.append(
            FlowOp(
                name=name,
                role=role,
                args=args,
                when=when,
                operands=operands,
                results=made,
                stores=stores,
            )
        )

    def loads(self) -> None:
        """One op for every copy; it fills the place that its name means."""
        found = ((r, e) for r, e in _ops(self.document) if isinstance(e, Load))
        for role, op, (ring, part) in dict.fromkeys((r, e.op, self._meant(e)) for r, e in found):
            per_tile = self.document.ring(ring).per is Per.TILE
            when = When.HEAD if per_tile else When.LOOP
            place = f"{ring}.{part}"
            self.op(role, op, (), ((f"{op}>{place}", place),), when)

    def _meant(self, entry: Load) -> tuple[str, str]:
        """``load.A`` fills part A, ``LOAD_K.c1`` part c1 of ring K; other names say nothing."""
        stem, _, part = entry.op.rpartition(".")
        letter = stem.rpartition("_")[2].lower()
        rings = [r for r in self.document.rings if r.name.lower() == letter]
        ring = rings[0] if rings else self.document.ring(entry.ring)
        known = any(p.name == part for p in ring.parts)
        return ring.name, part if known else entry.part

    def slots(self, ring: str) -> tuple[FlowOperand, ...]:
        """All parts of a ring, as operands."""
        places = [f"{ring}.{p.name}" for p in self.document.ring(ring).parts]
        return tuple(_of(h.value) for place in places for h in self.homes if h.place == place)

    def flow(self) -> Flow:
        """What was collected."""
        return Flow(ops=tuple(self.ops), homes=tuple(self.homes))


def _of(value: str, back: int = 0, before: str | None = None) -> FlowOperand:
    return FlowOperand(value=value, back=back, before=before)


def _gemm(document: RolesDocument) -> Flow | None:
    """acc += a @ b.T; converted and stored piece by piece."""
    found = _ops(document)
    copies = {e.args: (r, e) for r, e in found if isinstance(e, BulkStore)}
    converts = [(r, e) for r, e in found if isinstance(e, Compute)]
    sums = {e.accumulator for _, e in found if isinstance(e, Mma)}
    sums |= {name for _, e in converts for name in e.reads}
    roles = {r for r, e in found if not isinstance(e, Load)}
    if len(sums) != 1 or len(roles) != 1:
        return None
    role, acc = min(roles), min(sums)
    make = _Maker(document)
    make.loads()
    operands = tuple(o for ring in document.rings for o in make.slots(ring.name))
    if len(operands) < 2:
        return None  # of what it is the product, nothing says
    make.op(role, "mma", (*operands, _of("sum", 1)), (("sum", acc),))
    pieces = _grid(document, list(dict.fromkeys([*copies, *(e.args for _, e in converts)])))
    for args in pieces:
        value = f"c{list(args)}"
        filled = [f"{c.buffer}#{c.copy}" for _, e in converts if e.args == args for c in e.fills]
        if args in copies:
            source = copies[args][1].source
            home = f"{source.buffer}#{source.copy}"
        else:
            home = filled[0] if filled else ""
        results = ((value, home),) if home else ()
        make.op(role, "convert_c", (_of("sum"),), results, When.TAIL, args, stores=not home)
        if home:
            make.op(role, "store_c", (_of(value),), (), When.TAIL, args, stores=True)
    return make.flow()


def _grid(document: RolesDocument, pieces: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The pieces and those missing among them: their rows and columns leave no gap.

    A staging copy holds 64 rows of at least 16 bits, so no piece is wider than that.
    """
    widest = max((b.bytes // (_ROWS * 2) for b in document.buffers), default=0)
    if not widest or any(len(args) != 2 or min(args) < 0 for args in pieces):
        return pieces
    rows, columns = ({args[axis] for args in pieces} for axis in (0, 1))
    down, across = _filled(rows, _ROWS), _filled(columns, widest)
    if len(down) * len(across) > _MOST_PIECES**2:
        return pieces
    return list(dict.fromkeys([*pieces, *product(down, across)]))


def _filled(found: set[int], most: int) -> list[int]:
    """Starts from 0 on, with more of them where two lie further apart than ``most``."""
    starts = sorted(found | {0})
    gaps = ((a, b) for a, b in pairwise(starts) if a + most < b <= a + most * _MOST_PIECES)
    return sorted({*starts, *(n for a, b in gaps for n in range(a + most, b, most))})


def _attention(document: RolesDocument) -> Flow | None:
    """The softmax recurrence: running maximum m, sum l, output o."""
    found = _ops(document)
    roles = {r for r, e in found if not isinstance(e, Load)}
    if len(roles) != 1:
        return None
    role = min(roles)
    if not {"s", "p", "o", "m", "l", "a"} <= {n for n, _ in document.program(role).registers}:
        return None
    make = _Maker(document)
    make.loads()
    held = any(e.op == "fetch_q" for _, e in found)
    make.op(role, "start_tile", (), (("o0", "o"), ("m0", "m"), ("l0", "l")), When.HEAD)
    if held:
        make.op(role, "fetch_q", make.slots("Q"), (("q", "q"),), When.HEAD)
    query = (_of("q"),) if held else make.slots("Q")
    make.op(role, "qk", (*query, *make.slots("K")), (("scores", "s"),))
    make.op(
        role,
        "max",
        (_of("scores"), _of("top", 1, "m0")),
        (("masked", "s"), ("top", "m"), ("keep", "a")),
    )
    make.op(
        role,
        "exp",
        (_of("masked"), _of("top"), _of("keep"), _of("total", 1, "l0")),
        (("weights", "s"), ("total", "l")),
    )
    make.op(role, "cvt", (_of("weights"),), (("packed", "p"),))
    make.op(role, "rescale", (_of("out", 1, "o0"), _of("keep")), (("kept", "o"),))
    kept = FlowOperand(value="kept", zero_first=True)
    make.op(role, "pv", (_of("packed"), *make.slots("V"), kept), (("out", "o"),))
    make.op(role, "finish_rows", (_of("total"), _of("top")), (("rows", "l"),), When.TAIL)
    make.op(role, "store_o", (_of("out"), _of("rows")), (), When.TAIL, stores=True)
    return make.flow()


def check_uses(document: RolesDocument) -> Iterator[Finding]:
    """Filled slots and accumulators that nothing reads; programs that store nothing."""
    filled: dict[tuple[str, str], str] = {}
    read: set[tuple[str, str]] = set()
    stores = False
    for program in document.programs:
        for _, entries in program.phases():
            for e in entries:
                if isinstance(e, Load):
                    filled.setdefault((e.ring, e.part), e.op)
                elif isinstance(e, Compute):
                    filled.update(dict.fromkeys(((s.ring, s.part) for s in e.fills_slots), e.op))
                    stores = stores or not (e.writes or e.fills or e.fills_slots)
                if isinstance(e, Compute | Mma):
                    read.update((s.ring, s.part) for s in e.slots)
                stores = stores or isinstance(e, BulkStore)
        yield from _untaken(program)
    for (ring, part), op in filled.items():
        if (ring, part) not in read:
            why = f"{op} fills part {part} of ring {ring}, which no op reads"
            yield _finding(why, "a product or another op that reads it, or no copy")
    if filled and not stores:
        yield _finding("no op stores a result", "store what was computed")


def _untaken(program: RoleProgram) -> Iterator[Finding]:
    taken: set[str] = set()
    sums: dict[str, str] = {}
    for _, entries in program.phases():
        for e in entries:
            if isinstance(e, Compute):
                taken.update(e.reads)
            elif isinstance(e, Mma):
                taken.update(e.registers)
                sums.setdefault(e.accumulator, e.op)
    for name, op in sums.items():
        if name not in taken:
            why = f"{op} of {program.name} sums into {name}, which no op reads"
            yield _finding(why, "convert and store it, or leave the product out")


def _finding(why: str, fix: str) -> Finding:
    return Finding(code=Code.FLOW, why=why, fix=fix)
