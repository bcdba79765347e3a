"""One loop of a tile as CUDA source: what its roles declare, and what they run for every tile."""

from __future__ import annotations

from warploom.codegen.cuda.legality import refuse_conditional, refuse_unfaithful
from warploom.codegen.cuda.lowering import LoweringTable, Site
from warploom.codegen.cuda.roles import indent, number
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.from_module import printer
from warploom.codegen.cuda.tile.gathered import gathered_lines
from warploom.codegen.cuda.tile.grid import NEXT, again_lines, count_lines, finds_early
from warploom.codegen.cuda.tile.loads import called, kind_of
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
from warploom.ir.dataflow import When
from warploom.ir.mbarrier_dialect import (
    Compute,
    MmaFence,
    NamedArrive,
    RoleEntry,
    RoleProgram,
    RolesDocument,
    WaitFull,
    WaitGroup,
)
from warploom.ir.module import KernelModule
from warploom.ir.operations import VectorSet
from warploom.ir.rings import Per
from warploom.ir.tile import Dot, Fn, Pointwise
from warploom.passes.body import Body
from warploom.passes.driver import Lowered
from warploom.passes.fuse import Step
from warploom.passes.gather import GATHERER
from warploom.passes.hoist_full_wait import interrupted
from warploom.passes.layout import Array, Form, Layout
from warploom.passes.loop_bounds import cut_of, moves
from warploom.passes.loop_ops import CONSUMER
from warploom.passes.smem_budget import staged_stores
from warploom.passes.smem_layout import grouped_vars
from warploom.passes.smem_ops import early_array, early_vectors, puts
from warploom.passes.split_k import MEET
from warploom.passes.warp_specialize import held_loads, stored

MARK = "//@ "  # begins a comment with a loop and the owner of the lines after it, for views


class Part:
    """A loop with its head and tail; ``params`` collects what all parts of a kernel take."""

    def __init__(
        self,
        lowered: Lowered,
        params: dict[str, Param],
        stamps: dict[str, StampedRole],
        module: KernelModule,
        number: int,
    ) -> None:
        self.lowered, self.stamps = lowered, stamps
        self.marks = False  # whether comments say which entry a line belongs to
        self.layout: Layout = lowered.layout
        self.document: RolesDocument = lowered.document
        self.context = Context(self.layout, params)
        self.context.module, self.context.number = module, number
        self.printer = printer(self.context)
        self.waits: dict[str, str] = {}
        self.masked = masked_steps(self.layout.body, self.layout.steps)
        self.ops = Ops(self.context, self.masked)
        self.cut = cut_of(self.layout.body, self.layout.steps)
        self.interrupted = (
            interrupted(self.role("consumer")) if self.layout.config.full_wait_after > 0 else None
        )
        self.producer = self.ops.producer_table()
        self.plain = self.ops.consumer_table("No{}")
        self.gatherer = self.ops.gatherer_table()

    def functions(self) -> dict[str, str]:
        """The products' instruction wrappers, by name."""
        return dict(
            named
            for _, op in self.layout.body.placed
            if isinstance(op, Dot)
            for named in product_functions(self.context, op)
        )

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
        rings = [r for r in self.layout.rings if r.gathered]
        declared = [line for r in rings for line in gathered_lines(self.context, r)]
        tile = self.role_tile(self.role(GATHERER), self.gatherer, None)
        return [*self.trip_lines(), *declared, *tile]

    def consumer_tile(self) -> list[str]:
        """What a consumer runs for a tile."""
        steps = self.step_functions()  # first: products read what steps want early
        masked = self.ops.consumer_table("Yes{}")
        copies = masked if self.masked and not self.layout.crowded else None
        role = self.role("consumer")
        others = others_lines(self.document, role, shared=self.layout.crowded)
        tile = self.role_tile(role, self.plain, copies)
        if self.rests():
            rows, table = grouped_vars(self.context.kernel)[1], self.plain
            for name in {e.op for _, row in role.phases() for e in row if hasattr(e, "op")}:
                table = table.with_op(name, lambda e, s: [])  # what others wait for is left
            idle = indent(self.role_tile(role, table, None), 2)
            first = f"pos_{rows} + {64 * self.layout.blocks} * instance"
            tile = [f"if ({first} < end_{rows}) {{", *indent(tile, 2)]
            tile += ["} else {  // the group has no rows here", *idle, "}"]
        return [*self.trip_lines(), *others, *self.read_ahead(), *steps, *tile]

    def rests(self) -> bool:
        """Whether a consumer whose rows lie past a group's end leaves its products out: where CTAs
        keep one pace, else they come apart and read again what they share.
        """
        config = self.layout.config
        return (
            bool(config.cta_sync_interval)
            and config.consumer_warpgroups > 1
            and finds_early(self.layout)
        )

    def places(self) -> list[str]:
        """Where a consumer's thread finds its elements."""
        return [
            f"auto row_of = [&](int b, int i) {{ return 64 * ({self.layout.blocks} * instance + b)"
            " + 16 * warp_in_group + lane / 4 + 8 * i; };",
            "auto column_of = [&](int h, int e)"
            " { return 8 * h + e / 4 * 8 + lane % 4 * 2 + e % 2; };",
            *self.slot_function(),
            *self.staging(),
        ]

    def arrays(self) -> list[str]:
        """A consumer's registers."""
        early = early_vectors(self.layout).items()
        return [
            *(array_declaration(a) for a in self.layout.arrays),
            *(f"float {early_array(n)}[{columns // 4}];" for n, (_, columns) in early),
        ]

    def read_ahead(self) -> list[str]:
        """Registers for what steps want read as their product is issued."""
        made = self.printer.module.role("consumer")
        own = {x.array for op in self.printer.within() for x in op.body if isinstance(x, VectorSet)}
        known = {a.name for a in self.layout.arrays}
        known |= {early_array(n) for n in early_vectors(self.layout)}
        return [
            f"{kind_of(a.dtype)} {a.name}{f'[{a.blocks}][2]' if a.form == 'row' else ''};"
            for a in made.arrays
            if a.name in own - known
        ]

    def positions(self, role: str) -> list[str]:
        """The role's places in the rings."""
        return position_lines(self.document, self.role(role), shared=self.layout.crowded)

    def trip_lines(self) -> list[str]:
        """How many iterations a tile has, and how many of them lie wholly inside."""
        return self.printer.trip_lines()

    def staging(self) -> list[str]:
        """Where a warp's staging copies begin."""
        if not staged_stores(self.layout):
            return []
        mine = number(self.role("consumer"))
        place = f"smem + OUT_STAGING + {mine} * OUT_INSTANCE + warp_in_group * 2048"
        return [f"const uint32_t staging = {place};"]

    def slot_function(self) -> list[str]:
        """Where elements of a tile in shared memory lie, if any are read."""
        if not held_loads(self.layout) and not any(s.loads for s in self.layout.steps):
            return []
        return [
            "// Where a warp's lane finds its part of 16 columns of a tile in shared memory.",
            "auto slot_element = [&](uint32_t slot, int rows, int b, int g) {",
            f"  const int row = 64 * ({self.layout.blocks} * instance + b) + 16 * warp_in_group"
            " + lane % 16;",
            "  return slot + g / 4 * rows * 128 + row * 128"
            " + (((g % 4 * 2 + lane / 16) ^ (row % 8)) << 4);",
            "};",
        ]

    def step_functions(self) -> list[str]:
        """A function for every step, once a tile: positions are known there."""
        lines: list[str] = []
        for step in self.layout.steps:
            work = self.printer.work(step.name)
            slots = [called("slot", x.result) for x in work.slots]
            arguments = "".join(f", uint32_t {name}" for name in slots)
            cut = self.layout.config.full_wait_after if step.name == self.interrupted else 0
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
        for put in puts(self.layout):
            lines += [
                f"// loop: {put.result}",
                f"auto {put.name} = [&](uint32_t slot, int k) {{",
                *indent(put_text(self.context, put.name), 2),
                "};",
            ]
        for op in staged_stores(self.layout):
            before, text = fill_text(self.context, op)
            lines += [
                *before,
                f"auto fill_{stored(self.layout, op)} = [&](int b, int column, uint32_t buffer) {{",
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
        between: list[str] = []
        entries = getattr(program, phase)
        for i, e in list(enumerate(entries))[start:end]:
            lines += self.mark(f"{program.name}.{phase} {i}")
            if isinstance(e, WaitGroup | MmaFence):
                refuse_unfaithful(e, self.document, program)
                if isinstance(e, WaitGroup):
                    owned = owned_by(self.layout, program, phase, i, final.get((phase, i), ()))
                    wait = wait_function(e.pending, owned)
                    wait = told_apart(self.layout, program, phase, e, owned, wait)
                else:
                    wait = wait_function(None, summed_after(self.layout, program, phase, i))
                self.waits |= wait.functions
                lines += asked if i == early else []
                lines += [f"// {e.reason}", wait.call] if e.reason else [wait.call]
            elif isinstance(e, WaitFull) and self.interrupts(entries[i + 1 : i + 2]):
                between = table.lower(e, site)
            else:
                lines += _with_between(table.lower(e, site), between)
                between = []
                looped = phase == "kernel" and isinstance(e, NamedArrive)
                amid = (
                    self.layout.config.deferred_mmas
                )  # the rest of a product is issued amid what follows
                if looped and not amid and drawn_after(program.kernel, i):
                    lines.append(f"turn_given({number(program)});")
            if self.stamps and phase == "kernel":
                lines.append(stamp_line(self.stamps[program.name], i))
        return lines + self.mark("")

    def mark(self, owner: str) -> list[str]:
        """A comment saying which entry the lines after it belong to, where it is asked for."""
        return [f"{MARK}{self.context.number} {owner}"] if self.marks else []

    def interrupts(self, after: tuple[RoleEntry, ...]) -> bool:
        """Whether a wait for bytes stands right before the work in whose middle it is made."""
        return any(isinstance(e, Compute) and e.op == self.interrupted for e in after)

    def role_tile(
        self, program: RoleProgram, table: LoweringTable, masked: LoweringTable | None
    ) -> list[str]:
        """One tile of a role: prologue, loop (and its copy with masks), epilogue."""
        shared = self.layout.crowded
        step = advance_lines(self.document, program, Per.ITERATION, shared=shared)
        once = advance_lines(self.document, program, Per.TILE, shared=shared)
        lines = [stamped_line(program)] if self.stamps else []
        lines += [*self.list_lines(program, "prologue", table), *step * program.peel]
        if program.name == CONSUMER and finds_early(self.layout):
            lines.append(NEXT)
        lines.append(f"int k = {program.peel};")
        loops = [("k_tiles", table)]
        if masked is not None:
            first = [("whole_from", masked)] if self.cut is not None and self.cut.below else []
            unknown = self.cut is not None and not self.cut.known
            plain = [] if unknown else [("whole_to", table)]
            ends_whole = self.cut is not None and self.cut.known and not self.cut.above
            ends_whole = ends_whole and not self.layout.body.loop.lists
            loops = [*first, *plain, *([] if ends_whole else [("k_tiles", masked)])]
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
        pace = self.layout.config.cta_sync_interval if program.name == "producer" else 0
        late = "gridDim.x / 4" if self.rests() else "gridDim.x / 16"  # who rests is early
        meet = f"keep_pace((unsigned*){self.context.work()}, ++paces, {late});" if pace else ""
        return [f"if (k % {pace} == 0) {meet}"] if pace else []

    def epilogue(self, program: RoleProgram, table: LoweringTable) -> list[str]:
        """The end of a tile; what follows a meeting of parts is the last one's alone."""
        ops = [e.op if isinstance(e, Compute) else "" for e in program.epilogue]
        if MEET not in ops:
            return self.list_lines(program, "epilogue", table)
        at = ops.index(MEET) + 1
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
        if not self.layout.crowded and not again_lines(self.printer):
            return []
        return count_lines(self.printer, anew=True)

    def counted_again(self) -> list[str]:
        """``k_end``: the iterations of the tile once more, from its row."""
        assert self.cut is not None
        row = f"pos_{self.cut.row}"
        return [
            f"const int k_end = [&](const int {row}) {{",
            *indent(self.printer.count_trips(), 2),
            "  return k_tiles;",
            f"}}(opaque({row}));",
        ]


def masked_steps(body: Body, steps: tuple[Step, ...]) -> frozenset[str]:
    """Steps of the loop that hide elements by a condition along it."""
    found = set()
    for step in steps:
        if step.when is not When.LOOP:
            continue
        if any(
            isinstance(op, Pointwise) and op.fn is Fn.WHERE and moves(body, op.args[0])
            for op in step.ops
        ):
            found.add(step.name)
    return frozenset(found)


def array_declaration(array: Array) -> str:
    """The registers of an array."""
    if array.form is Form.PACKED:
        return f"uint32_t {array.name}[{array.blocks}][{array.cols // 16}][4];"
    count = array.cols // 2 if array.form is Form.TILE else 2
    return f"{array.kind} {array.name}[{array.blocks}][{count}];"


def _with_between(lines: list[str], between: list[str]) -> list[str]:
    """The call of a step, with what is done in its middle."""
    if not between:
        return lines
    *first, call = lines
    inner = [x for x in between if not x.startswith("//")]
    return [*first, f"{call.removesuffix(');')}, [&] {{ {' '.join(inner)} }});"]
