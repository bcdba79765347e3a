"""One loop of a tile as CUDA source: what its roles declare, and what they run for every tile."""

from __future__ import annotations

from dataclasses import replace

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.legality import refuse_conditional, refuse_unfaithful
from warploom.codegen.cuda.lowering import LoweringTable, Site
from warploom.codegen.cuda.roles import indent, number
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.from_module import printer
from warploom.codegen.cuda.tile.gathered import THREADS, gathered_lines
from warploom.codegen.cuda.tile.grid import NEXT, again_lines, count_lines
from warploom.codegen.cuda.tile.loads import called, kind_of
from warploom.codegen.cuda.tile.loop_view import GATHERER, LoopView
from warploom.codegen.cuda.tile.operands import product_functions
from warploom.codegen.cuda.tile.ops import Ops
from warploom.codegen.cuda.tile.ordered_reduction import asked_before
from warploom.codegen.cuda.tile.positions import advance_lines, others_lines, position_lines
from warploom.codegen.cuda.tile.ptxas_fences import (
    drawn_after,
    owned_by,
    retired_at,
    summed_after,
    told_apart,
)
from warploom.codegen.cuda.tile.signature import Param
from warploom.codegen.cuda.tile.smem_stores import put_text
from warploom.codegen.cuda.tile.stamps import StampedRole, stamp_line, stamped_line
from warploom.codegen.cuda.tile.steps import step_text
from warploom.codegen.cuda.tile.stores import fill_text
from warploom.codegen.cuda.tile.waits import wait_function
from warploom.errors import BackendError
from warploom.ir import operations as ops
from warploom.ir.dataflow import When
from warploom.ir.mbarrier_dialect import (
    Compute,
    MmaFence,
    NamedArrive,
    RoleProgram,
    RolesDocument,
    WaitGroup,
)
from warploom.ir.module import RegisterArray
from warploom.ir.operations import VectorKind, VectorOp, VectorSlot
from warploom.ir.rings import Per

MARK = "//@ "  # begins a comment with a loop and the owner of the lines after it, for views


class Part:
    """A loop with its head and tail; ``params`` collects what all parts of a kernel take."""

    def __init__(
        self,
        loop: LoopView,
        document: RolesDocument,
        params: dict[str, Param],
        stamps: dict[str, StampedRole],
    ) -> None:
        self.loop, self.document, self.stamps = loop, document, stamps
        self.marks = False  # whether comments say which entry a line belongs to
        self.context = Context(loop, params)
        self.printer = printer(self.context)
        self.waits: dict[str, str] = {}
        self.steps = loop.named(VectorKind.STEP)
        self.masked = frozenset(
            x.name for x in self.steps if x.when is When.LOOP and self.printer.work(x.name).hides()
        )
        self.ops = Ops(self.context, self.masked)
        self.producer = self.ops.producer_table()
        self.plain = self.ops.consumer_table("No{}")
        self.gatherer = self.ops.gatherer_table()

    def functions(self) -> dict[str, str]:
        """The products' instruction wrappers, by name."""
        return dict(product_functions(self.context))

    def role(self, name: str) -> RoleProgram:
        """The program of a role."""
        return self.document.program(name)

    def producer_tile(self) -> list[str]:
        """What the producer runs for a tile."""
        once = self.printer.quotient_lines()
        tile = self.role_tile(self.role("producer"), self.producer, None)
        return [*self.trip_lines(), *once, *tile]

    def gatherer_tile(self) -> list[str]:
        """What the gathering warpgroup runs for a tile."""
        threads = self.role(GATHERER).threads
        if self.loop.gathers and threads != THREADS:
            raise BackendError(
                f"rows that a list picks, copied by {threads} threads",
                where=f"document {self.document.name!r}",
                why=f"{THREADS} threads beside the producer's warp copy them",
                fix=f"{THREADS} threads of the role {GATHERER!r}",
            )
        declared = [y for x in self.loop.gathers for y in gathered_lines(self.context, x)]
        tile = self.role_tile(self.role(GATHERER), self.gatherer, None)
        return [*self.trip_lines(), *declared, *tile]

    def consumer_tile(self) -> list[str]:
        """What a consumer runs for a tile."""
        steps = self.step_functions()  # first: products read what steps want early
        masked = self.ops.consumer_table("Yes{}")
        copies = masked if self.masked and not self.loop.crowded else None
        role = self.role("consumer")
        others = others_lines(self.document, role, shared=self.loop.crowded)
        tile = self.role_tile(role, self.plain, copies)
        works, table = self.loop.consumer.works, self.plain
        if works is not None:
            for name in {e.op for _, row in role.phases() for e in row if hasattr(e, "op")}:
                table = table.with_op(name, lambda e, s: [])  # what others wait for is left
            idle = indent(self.role_tile(role, table, None), 2)
            tile = [f"if ({self.printer.text(works)}) {{", *indent(tile, 2)]
            tile += ["} else {  // the group has no rows here", *idle, "}"]
        return [*self.trip_lines(), *others, *self.read_ahead(), *steps, *tile]

    def places(self) -> list[str]:
        """Where a consumer's thread finds its elements."""
        return [
            f"auto row_of = [&](int b, int i) {{ return 64 * ({self.loop.blocks} * instance + b)"
            " + 16 * warp_in_group + lane / 4 + 8 * i; };",
            "auto column_of = [&](int h, int e)"
            " { return 8 * h + e / 4 * 8 + lane % 4 * 2 + e % 2; };",
            *self.slot_function(),
            *self.staging(),
        ]

    def arrays(self) -> list[str]:
        """A consumer's registers."""
        return [
            *(array_declaration(a) for a in self.loop.arrays),
            *(f"float {a.name}[{a.registers}];" for a in self.loop.early),
        ]

    def read_ahead(self) -> list[str]:
        """Registers for what steps want read as their product is issued."""
        return [
            f"{kind_of(a.dtype)} {a.name}{f'[{a.blocks}][2]' if a.form == 'row' else ''};"
            for a in self.loop.read_ahead
        ]

    def positions(self, role: str) -> list[str]:
        """The role's places in the rings."""
        return position_lines(self.document, self.role(role), shared=self.loop.crowded)

    def trip_lines(self) -> list[str]:
        """How many iterations a tile has, and how many of them lie wholly inside."""
        return self.printer.trip_lines()

    def staging(self) -> list[str]:
        """Where a warp's staging copies begin."""
        if not self.loop.named(VectorKind.FILL):
            return []
        mine = number(self.role("consumer"))
        place = f"smem + OUT_STAGING + {mine} * OUT_INSTANCE + warp_in_group * 2048"
        return [f"const uint32_t staging = {place};"]

    def slot_function(self) -> list[str]:
        """Where elements of a tile in shared memory lie, if any are read."""
        if not any(self._is_fragment(x) for op in self.loop.vectors() for x in op.body):
            return []
        return [
            "// Where a warp's lane finds its part of 16 columns of a tile in shared memory.",
            "auto slot_element = [&](uint32_t slot, int rows, int b, int g) {",
            f"  const int row = 64 * ({self.loop.blocks} * instance + b) + 16 * warp_in_group"
            " + lane % 16;",
            "  return slot + g / 4 * rows * 128 + row * 128"
            " + (((g % 4 * 2 + lane / 16) ^ (row % 8)) << 4);",
            "};",
        ]

    def _is_fragment(self, op: VectorOp) -> bool:
        """Whether elements of 16 bits are read of a swizzled tile, 16 columns of a warp at once."""
        if not isinstance(op, VectorSlot) or op.dtype.bits != 16:
            return False
        return bool(self.context.module.part(op.ring, op.part).swizzle)

    def step_functions(self) -> list[str]:
        """A function for every step, once a tile: positions are known there."""
        lines: list[str] = []
        for step in self.steps:
            work = self.printer.work(step.name)
            slots = [called("slot", x.result) for x in work.slots]
            arguments = "".join(f", uint32_t {name}" for name in slots)
            cut = self.loop.interrupted.get(step.name, 0)
            arguments += ", auto landed" if cut else ""
            head = f"auto {step.name} = [&](auto masked, int k{arguments}) {{"
            made = step_text(self.context, work, cut)
            lines += [
                *made.kept,
                *self.mark(f"op {step.name}"),
                f"// {step.when}: {', '.join(step.results) or step.name}",
                head,
                *(["  constexpr bool MASKED = decltype(masked)::value;"] if made.masked else []),
                *indent(made.lines, 2),
                "};",
                *self.mark(""),
            ]
        for put in self.loop.named(VectorKind.PUT):
            lines += [
                f"// loop: {', '.join(put.results)}",
                f"auto {put.name} = [&](uint32_t slot, int k) {{",
                *indent(put_text(self.context, put.name), 2),
                "};",
            ]
        for fill in self.loop.named(VectorKind.FILL):
            before, text = fill_text(self.context, fill.name)
            lines += [
                *before,
                f"auto {fill.name} = [&](int b, int column, uint32_t buffer) {{",
                *indent(text, 2),
                "};",
            ]
        return lines

    def list_lines(
        self,
        program: RoleProgram,
        phase: str,
        table: LoweringTable,
        *,
        start: int = 0,
        end: int | None = None,
    ) -> list[str]:
        """The lines of a list; waits for products own what they have made final."""
        site = Site(document=self.document, program=program, phase=phase)
        final = retired_at(program)
        early, asked = asked_before(self.context, self.document, program, phase) or (None, [])
        lines: list[str] = []
        entries, listed = getattr(program, phase), self.printer.entries(site)
        for i, e in list(enumerate(entries))[start:end]:
            op = listed[i]
            lines += self.mark(f"{program.name}.{phase} {i}")
            if isinstance(e, WaitGroup | MmaFence):
                refuse_unfaithful(e, self.document, program)
                if isinstance(e, WaitGroup):
                    ordered = isinstance(op, ops.WaitGroup) and op.ordered
                    done = final.get((phase, i), ())
                    owned = owned_by(self.loop, program, i, done, ordered=ordered)
                    wait = wait_function(e.pending, owned)
                    wait = told_apart(self.loop, program, phase, e, owned, wait, ordered=ordered)
                else:
                    every = isinstance(op, ops.MmaFence) and op.all_sums
                    sums = summed_after(self.loop, program, phase, i, every=every)
                    wait = wait_function(None, sums)
                self.waits |= wait.functions
                lines += asked if i == early else []
                lines += [f"// {e.reason}", wait.call] if e.reason else [wait.call]
            elif isinstance(op, ops.Wait) and op.amid:
                amid = tuple(table.lower(replace(e, reason=""), site))
                site = replace(site, amid=amid)
            else:
                lines += table.lower(e, site)
                site = replace(site, amid=())
                looped = phase == "kernel" and isinstance(e, NamedArrive)
                if looped and not self.loop.deferred and drawn_after(program.kernel, i):
                    lines.append(f"{device.turn_given}({number(program)});")
            if self.stamps and phase == "kernel":
                lines.append(stamp_line(self.stamps[program.name], i))
        return lines + self.mark("")

    def mark(self, owner: str) -> list[str]:
        """A comment saying which entry the lines after it belong to, where it is asked for."""
        return [f"{MARK}{self.context.number} {owner}"] if self.marks else []

    def role_tile(
        self, program: RoleProgram, table: LoweringTable, masked: LoweringTable | None
    ) -> list[str]:
        """One tile of a role: prologue, loop (and its copy with masks), epilogue."""
        shared = self.loop.crowded
        step = advance_lines(self.document, program, Per.ITERATION, shared=shared)
        once = advance_lines(self.document, program, Per.TILE, shared=shared)
        lines = [stamped_line(program)] if self.stamps else []
        lines += [*self.list_lines(program, "prologue", table), *step * program.peel]
        if self.context.module.role(program.name).finds_next:
            lines.append(NEXT)
        lines.append(f"int k = {program.peel};")
        loops = [("k_tiles", table)]
        if masked is not None:
            first = [("whole_from", masked)] if self.loop.hides_first else []
            plain = [("whole_to", table)] if self.loop.shows_some else []
            last = [("k_tiles", masked)] if self.loop.hides_last else []
            loops = [*first, *plain, *last]
        again = again_lines(self.printer)
        for n, (bound, lowerings) in enumerate(loops):
            if again and n and bound == "k_tiles":  # counted anew: one register less until here
                lines += self.counted_again()
                bound = "k_end"  # noqa: PLW2901
            lines.append(f"for (; k < {bound}; ++k) {{")
            body = [*self.pace_lines(program), *self.list_lines(program, "kernel", lowerings)]
            lines += indent([*body, *step], 2)
            lines.append("}")
        tail = self.epilogue(program, table)
        if again:
            tail = ["{", *indent([*self.recounted(), *again, *tail], 2), "}"]
        return [*lines, *tail, *once]

    def pace_lines(self, program: RoleProgram) -> list[str]:
        """Where the producer waits for those of other CTAs."""
        pace = self.context.module.role(program.name).pace
        rests = self.loop.consumer.works is not None
        late = "gridDim.x / 4" if rests else "gridDim.x / 16"  # who rests is early
        meet = (
            f"{device.keep_pace}((unsigned*){self.context.work()}, ++paces, {late});"
            if pace
            else ""
        )
        return [f"if (k % {pace} == 0) {meet}"] if pace else []

    def epilogue(self, program: RoleProgram, table: LoweringTable) -> list[str]:
        """The end of a tile; what follows a meeting of parts is the last one's alone."""
        met = self.loop.meet
        named = [e.op if isinstance(e, Compute) else "" for e in program.epilogue]
        if met is None or met.op not in named:
            return self.list_lines(program, "epilogue", table)
        at = named.index(met.op) + 1
        refuse_conditional(self.document, program, program.epilogue[at:])
        return [
            *self.list_lines(program, "epilogue", table, end=at),
            "if (is_last) {",
            *indent(self.list_lines(program, "epilogue", table, start=at), 2),
            "}",
        ]

    def recounted(self) -> list[str]:
        """Counts of tiles computed anew for every tile, where registers are short: they, and
        reciprocals to divide by them, would wait in registers all along the loop.
        """
        if not self.loop.crowded and not again_lines(self.printer):
            return []
        return count_lines(self.printer, anew=True)

    def counted_again(self) -> list[str]:
        """``k_end``: the iterations of the tile once more, from its row."""
        row = f"pos_{self.loop.schedule.tiled[0].var}"
        return [
            f"const int k_end = [&](const int {row}) {{",
            *indent(self.printer.count_trips(), 2),
            "  return k_tiles;",
            f"}}({device.opaque}({row}));",
        ]


def array_declaration(array: RegisterArray) -> str:
    """The registers of an array."""
    if array.form == "packed":
        return f"uint32_t {array.name}[{array.blocks}][{array.cols // 16}][4];"
    count = array.cols // 2 if array.form == "tile" else 2
    return f"{kind_of(array.dtype)} {array.name}[{array.blocks}][{count}];"
