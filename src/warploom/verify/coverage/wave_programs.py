"""Coverage of wave programs: what holds of them for all sizes, by argument over their text.

*Tiles*: the place that the program computes for the tile of a workgroup is evaluated for all
workgroups of many grids: together they are all tiles, each once, and the launch has as many.

*Barriers*: a register is *shared* if it is the same for all lanes of a workgroup: sizes, strides,
scalars, the number of the workgroup, elements of inputs at shared places, what is computed of these
under shared conditions, and of a wave's first lane, or of all its lanes together, what is the same
for all waves. A barrier under shared conditions alone is reached by all waves or none; one that a
group of waves has alone is the protocol's, which the verifier of synchronisation judges.

*Rings*: stages lie one after the other in LDS, and rings do not overlap.

*Stages*: copies fill the stage they name: what the waves' lanes write lies inside of it, and all of
it is written, whatever the sizes are, since no size enters a place in LDS.

Bounds, and which element a store writes, are for execution (``verify_dataflow``), which checks
every access of its size classes and counts stores; the claim says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod

from warploom.ir import waves as ir
from warploom.ir.expr import Sym, SymKind, evaluate
from warploom.ir.module import KernelModule
from warploom.ir.tile import is_number
from warploom.ir.wave_checks import check_waves, operands
from warploom.ir.waves import Instruction, Operand, WaveProgram
from warploom.verify.coverage.report import Claim, CoverageReport, Finding, How

EXECUTED = "verify_dataflow executes it, checks every access and counts stores"
LANES = 64
MOST_LDS = 160 * 1024
MOST_TILES = 40
COUNTS = (1, 2, 3, 5, 8, 9, 17, 26)  # of tiles along an axis


def verify_wave_coverage(module: KernelModule) -> CoverageReport:
    """The verdict on a wave program."""
    check_waves(module)
    program = module.program
    assert program is not None
    claims: list[Claim] = []
    findings: list[Finding] = []
    for made in (_tiles(module, program), *_rings(program), *_copies(program), _barriers(program)):
        (claims if isinstance(made, Claim) else findings).append(made)  # type: ignore[arg-type]
    claims.append(
        Claim(
            what="every access lies in its tensor, every element is stored as the kernel says",
            how=How.CLASSES,
            argument=EXECUTED,
        )
    )
    return CoverageReport(module=module.name, claims=tuple(claims), findings=tuple(findings))


# Rings.


def _rings(program: WaveProgram) -> Iterator[Claim | Finding]:
    count = 0
    for n, loop in enumerate(ir.pipelines(program)):
        where = f"pipelined loop {n}"
        end = 0
        for ring in sorted(loop.rings, key=lambda r: r.at):
            if ring.at < end:
                yield Finding(what=f"ring of '{ring.name}' lies in another one", where=where)
            end = max(end, ring.at + ring.stages * ring.bytes)
            count += 1
        if end > program.lds_bytes:
            yield Finding(
                what=f"rings end at byte {end} of {program.lds_bytes} of LDS", where=where
            )
    if program.lds_bytes > MOST_LDS:
        yield Finding(what=f"{program.lds_bytes} bytes of LDS", where="the program")
    if count:
        yield Claim(
            what=f"{count} rings lie apart in LDS",
            how=How.ALL,
            argument="their bytes are numbers of the program",
        )


def _copies(program: WaveProgram) -> Iterator[Claim | Finding]:
    """The bytes that the copies of a step write are its stage, each once."""
    registers = _Evaluated(program)
    count = 0
    for n, loop in enumerate(ir.pipelines(program)):
        for step in (s for p in (loop.prologue, loop.kernel, loop.epilogue) for s in p):
            copies = [x for x in getattr(step, "body", ()) if isinstance(x, ir.CopyToLds)]
            if not isinstance(step, ir.Step) or not copies:
                continue
            where = f"pipelined loop {n}, {step.name}[{step.number}]"
            ring = next(r for r in loop.rings if r.channel == copies[0].ring)
            first = ring.at + copies[0].stage * ring.bytes
            spans = registers.spans(copies)
            if spans is None:
                yield Claim(what=f"where {where} writes", how=How.NOT, argument=EXECUTED)
                return
            ends = [first, *(end for _, end in spans)]
            if [s for s, _ in spans] != ends[:-1] or ends[-1] != first + ring.bytes:
                yield Finding(
                    what=f"copies do not fill stage {copies[0].stage} of '{ring.name}', each byte"
                    " once",
                    where=where,
                )
                return
            count += 1
    if count:
        yield Claim(
            what=f"the copies of {count} steps fill their stage, each byte once",
            how=How.ALL,
            argument="places in LDS are numbers of the program and of the wave",
        )


class _Evaluated:
    """Whole numbers of 32 bits that follow from others that are known."""

    def __init__(self, program: WaveProgram) -> None:
        self.made = {
            x.to: x
            for x in ir.instructions((*program.entry, *program.body))
            if isinstance(x, ir.Integer) and x.bits == 32
        }
        self.waves = program.waves

    def spans(self, copies: Sequence[ir.CopyToLds]) -> list[tuple[int, int]] | None:
        """The bytes that copies of all waves write, in order; None where they do not follow."""
        found: list[tuple[int, int]] = []
        for one in copies:
            for wave in range(self.waves):
                share = self.at(one.share, {ir.WAVE: wave})
                if share is None:
                    return None
                found.append((one.at + share, one.at + share + LANES * one.bytes))
        return sorted(found)

    def at(self, operand: Operand, known: dict[str, int]) -> int | None:
        """The number, without a sign; what is found on the way becomes known."""
        if isinstance(operand, int):
            return int(operand) & MASK
        name = str(operand)
        if name in known:
            return known[name]
        one = self.made.get(name)
        if one is None:
            return None
        a, b = self.at(one.a, known), self.at(one.b, known)
        apply = _UNSIGNED.get(one.op)
        if a is None or b is None or apply is None or (one.op in _DIVISIONS and not b):
            return None
        known[name] = apply(a, b) & MASK
        return known[name]


MASK = (1 << 32) - 1
_DIVISIONS = (ir.IntOp.UDIV, ir.IntOp.UREM)
_UNSIGNED: Mapping[ir.IntOp, Callable[[int, int], int]] = {
    ir.IntOp.ADD: lambda a, b: a + b,
    ir.IntOp.SUB: lambda a, b: a - b,
    ir.IntOp.MUL: lambda a, b: a * b,
    ir.IntOp.UDIV: lambda a, b: a // b,
    ir.IntOp.UREM: lambda a, b: a % b,
    ir.IntOp.SHL: lambda a, b: a << b,
    ir.IntOp.LSHR: lambda a, b: a >> b,
    ir.IntOp.AND: lambda a, b: a & b,
    ir.IntOp.UMIN: min,
}


# Tiles.


def _tiles(module: KernelModule, program: WaveProgram) -> Claim | Finding:
    """Every tile is that of one workgroup of the launch."""
    kernel, extents = module.kernel, dict(program.extents)
    what = "every tile is that of one workgroup"
    if kernel.grid.kind != "tiles" or kernel.grid.order:
        return Claim(what=what, how=How.CLASSES, argument=f"data decides it; {EXECUTED}")
    steps = [1 if is_number(kernel.var(n)) else extents[n] for n, _ in program.tile]
    axes = [kernel.var(n).axis for n, _ in program.tile]
    sizes = {a.of: a.name for a in program.arguments if a.what is ir.ArgumentKind.SIZE}
    evaluated = _Evaluated(program)
    tried = 0
    for lengths in _lengths(axes, steps, dict(program.fixed)):
        counts = [-(-lengths[a] // s) for a, s in zip(axes, steps, strict=True)]
        total = prod(counts)
        values = {Sym(SymKind.SIZE, a): n for a, n in lengths.items()}
        if evaluate(module.launch.grid, values) != total:
            return Finding(
                what=f"the launch has not {total} workgroups", where="launch",
                sizes=tuple(lengths.items()),
            )  # fmt: skip
        taken = set()
        for group in range(total):
            known = {ir.GROUP: group} | {sizes[a]: n for a, n in lengths.items() if a in sizes}
            at = tuple(evaluated.at(place, known) for _, place in program.tile)
            if None in at:
                return Claim(what=what, how=How.NOT, argument=EXECUTED)
            taken.add(at)
        wanted = product(*(range(0, c * s, s) for c, s in zip(counts, steps, strict=True)))
        if taken != set(wanted):
            return Finding(
                what="workgroups do not take every tile once", where="the tile of a workgroup",
                sizes=tuple(lengths.items()),
            )  # fmt: skip
        tried += 1
    return Claim(
        what=what, how=How.CLASSES, argument=f"{tried} grids of up to {MOST_TILES} tiles counted"
    )


def _lengths(
    axes: Sequence[str], steps: Sequence[int], fixed: dict[str, int]
) -> Iterator[dict[str, int]]:
    """Lengths of axes that give every small number of tiles along each."""
    free = {a: s for a, s in zip(axes, steps, strict=True) if a not in fixed}
    for counts in product(COUNTS, repeat=len(free)):
        lengths = fixed | {
            a: (c - 1) * s + 1 for c, (a, s) in zip(counts, free.items(), strict=True)
        }
        if prod(-(-lengths[a] // s) for a, s in zip(axes, steps, strict=True)) <= MOST_TILES:
            yield {a: lengths[a] for a in axes}


# Barriers.


def _barriers(program: WaveProgram) -> Claim:
    shared = _Shared(program)
    meetings = sum(
        isinstance(x, ir.Barrier) for x in ir.instructions((*program.entry, *program.body))
    )
    what = f"all waves reach each of {meetings} barriers, and loops end for all at once"
    if shared.holds():
        return Claim(what=what, how=How.ALL, argument="every condition around them is shared")
    return Claim(what=what, how=How.NOT, argument=f"{shared.why}: {EXECUTED}")


BY_LANE, BY_WAVE = 1, 2  # what a register may differ by


class _Shared:
    """What registers may differ by: the least that the program allows."""

    def __init__(self, program: WaveProgram) -> None:
        self.program = program
        self.by: dict[str, int] = {
            ir.TID: BY_LANE | BY_WAVE, ir.LANE: BY_LANE, ir.WAVE: BY_WAVE,
        }  # fmt: skip
        self.threads = {ir.TID}  # registers that hold the number of the work item
        self.why = ""
        self.changed = False

    def holds(self) -> bool:
        """Whether all conditions around barriers, and of loops, are shared."""
        while True:
            self.why, self.changed = "", False
            self.body(self.program.entry, 0, groups=False)
            self.body(self.program.body, 0, groups=False)
            if not self.changed:
                return not self.why

    def of(self, *values: Operand) -> int:
        """What operands may differ by."""
        result = 0
        for v in values:
            if isinstance(v, str):
                result |= self.by.get(v, 0)
        return result

    def put(self, names: Iterable[str], by: int) -> None:
        """Registers may differ so."""
        for name in names:
            before = self.by.get(name, 0)
            if by & ~before:
                self.by[name] = before | by
                self.changed = True

    def body(self, body: Sequence[Instruction], around: int, *, groups: bool) -> None:
        """``around``: what the conditions around differ by; ``groups``: some waves may be here
        alone, as a protocol says.
        """
        for one in body:
            self.one(one, around, groups=groups)

    def one(  # noqa: C901, PLR0912 (a case a kind)
        self, one: Instruction, around: int, *, groups: bool
    ) -> None:
        match one:
            case ir.If():
                inner = around | self.of(one.condition)
                self.body(one.body, inner, groups=groups)
                self.body(one.otherwise or (), inner, groups=groups)
                for c in one.results:
                    self.put([c.name], inner | self.of(c.then, c.otherwise))
            case ir.While():
                kept = (*one.carried, *([one.going] if one.going is not None else []))
                for k in kept:
                    self.put([k.name], around | self.of(k.first, k.last))
                self.put([one.counter], around | self.of(one.first))
                going = () if one.going is None else (one.going.name,)
                end = self.of(one.counter, one.end, *going)
                if end:
                    self.why = "the end of a loop may differ between lanes"
                self.body(one.body, around | end, groups=groups)
            case ir.Pipeline():
                if self.of(one.trips):
                    self.why = "the turns of a pipelined loop may differ between lanes"
                for part in (one.prologue, one.kernel, one.epilogue):
                    self.body(part, around, groups=True)
                    for k in one.carried:
                        self.put([k.name], around | self.of(k.first, k.last))
                    for c in one.results:
                        self.put([c.name], around | self.of(c.then, c.otherwise))
            case ir.Step():
                self.body(one.body, around, groups=groups)
            case ir.Barrier():
                if around and not groups:
                    self.why = "a barrier stands under a condition that may differ between lanes"
            case ir.AllIndices():  # lanes look at them in turn
                told = self.of(one.first, one.stride, one.count, one.limit)
                self.put([one.to], (around | told) & BY_WAVE)
            case ir.FirstLane() | ir.NoLane():  # one number for every wave
                self.put([one.to], (around | self.of(one.value)) & BY_WAVE)
            case ir.Anew() if one.value in self.threads:
                self.threads.add(one.to)
                self.put([one.to], BY_LANE | BY_WAVE)
            case ir.Integer(op=ir.IntOp.AND, b=63) if one.a in self.threads:
                self.put([one.to], BY_LANE)
            case ir.ReadLds() | ir.Mfma():
                self.put(ir.names_of(one), BY_LANE | BY_WAVE)
            case ir.Permute() | ir.Neighbours():
                self.put(ir.names_of(one), BY_LANE | around | self.of(*operands(one)))
            case _:
                self.put(ir.names_of(one), around | self.of(*operands(one)))
