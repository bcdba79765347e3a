"""The whole CUDA source of a tile kernel: parameters, grid, role branch and the roles' programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from warploom.document.flow import When
from warploom.document.roles import (
    Compute,
    Mma,
    Per,
    RoleProgram,
    RolesDocument,
    WaitGroup,
)
from warploom.emit.cuda import layout as shared_layout
from warploom.emit.cuda import ptx
from warploom.emit.cuda.lowering import LoweringTable, Site
from warploom.emit.cuda.roles import barrier_setup, indent
from warploom.emit.cuda.tile.columns import early_vectors
from warploom.emit.cuda.tile.context import Context
from warploom.emit.cuda.tile.grid import (
    again_lines,
    count_lines,
    place_lines,
    walk_lines,
)
from warploom.emit.cuda.tile.helpers import Owned, helpers_for, wait_function
from warploom.emit.cuda.tile.iterations import range_lines
from warploom.emit.cuda.tile.meet import refuse_shared
from warploom.emit.cuda.tile.operands import product_functions
from warploom.emit.cuda.tile.ops import Ops
from warploom.emit.cuda.tile.positions import advance_lines, position_lines
from warploom.emit.cuda.tile.puts import put_text
from warploom.emit.cuda.tile.signature import Param, PointerParam
from warploom.emit.cuda.tile.stamps import (
    NAME,
    StampedRole,
    stamp_line,
    stamped_line,
    stamped_roles,
)
from warploom.emit.cuda.tile.stores import fill_text
from warploom.emit.cuda.tile.ties import retired_at
from warploom.emit.cuda.tile.vector import step_text
from warploom.kernel.values import Dot, DType, Fn, Pointwise
from warploom.lower.body import Body
from warploom.lower.column import Lowered
from warploom.lower.fuse import Step
from warploom.lower.hand_over import puts
from warploom.lower.layout import Array, Form, Layout
from warploom.lower.meet import part_bytes
from warploom.lower.plan import (
    MEET,
    held_loads,
    part_name,
)
from warploom.lower.ranges import cut_of, moves
from warploom.lower.storage import staged_stores
from warploom.target.h200 import HopperTarget, h200

ENTRY = "warploom_kernel"
SMEM_START = 1024  # after what the system reserves; the kernel checks it


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An emitted kernel: its text and what a launch must know."""

    text: str
    entry: str
    params: tuple[Param, ...]
    threads: int
    shared_bytes: int
    work_bytes: int = 0  # of memory for a part of a split loop
    stamps: tuple[StampedRole, ...] = ()


def emit_kernel(
    lowered: Lowered, target: HopperTarget | None = None, *, stamps: bool = False
) -> Source:
    """The CUDA source of a lowered kernel; with ``stamps`` its loop writes clocks."""
    writer = _Writer(lowered, target or h200(), stamps=stamps)
    return writer.source()


class _Writer:
    def __init__(self, lowered: Lowered, target: HopperTarget, *, stamps: bool) -> None:
        self.lowered, self.target = lowered, target
        self.stamps = {r.role: r for r in stamped_roles(lowered.document)} if stamps else {}
        self.layout: Layout = lowered.layout
        self.document: RolesDocument = lowered.document
        self.context = Context(self.layout)
        self.waits: dict[str, str] = {}
        self.masked = masked_steps(self.layout.body, self.layout.steps)
        self.ops = Ops(self.context, self.masked)
        self.cut = cut_of(self.layout.body, self.layout.steps)

    def source(self) -> Source:
        body = self.kernel_text()
        functions = dict(
            named
            for _, op in self.layout.body.placed()
            if isinstance(op, Dot)
            for named in product_functions(self.context, op)
        )
        text = "\n".join(body)
        parts = [
            "\n".join(self.head()),
            ptx.TYPES,
            ptx.CURSOR,
            helpers_for("\n".join([text, *self.waits.values()])),
            *functions.values(),
            *self.waits.values(),
            "\n".join(shared_layout.constants(self.document)) + "\n",
            "struct Yes { static constexpr bool value = true; };\n"
            "struct No { static constexpr bool value = false; };\n",
            text + "\n",
        ]
        return Source(
            text="\n".join(parts),
            entry=ENTRY,
            params=tuple(self.context.params.values()),
            threads=128 * (self.layout.tiling.consumers + 1),
            shared_bytes=shared_layout.layout_of(self.document).end,
            work_bytes=part_bytes(self.layout) if self.layout.tiling.split > 1 else 0,
            stamps=tuple(self.stamps.values()),
        )

    def head(self) -> list[str]:
        kernel, proof = self.lowered.kernel, self.document.proof
        lines = [
            f"// {self.document.name}: kernel {kernel.name}, {kernel.line or 'a tile kernel'}.",
            "// Written by warploom from a derived and verified schedule.",
        ]
        if proof is not None:
            word = "proven least" if proof.proven else f"proven >= {proof.lower_bound}"
            lines.append(f"// Interval {proof.ii} cycles an iteration ({word}: {proof.limit}).")
        return [*lines, ""]

    def kernel_text(self) -> list[str]:
        counts = count_lines(self.context, self.cut)
        producer, consumer = self.producer(), self.consumer()
        if self.stamps:
            self.context.params[NAME] = PointerParam(
                name=NAME, tensor=NAME, dtype=DType.I32, written=True
            )
        trips = self.trip_lines()
        _ = trips
        params = ",\n    ".join(p.text for p in self.context.params.values())
        return [
            f'extern "C" __global__ void __launch_bounds__('
            f"{128 * (self.layout.tiling.consumers + 1)}, 1)",
            f"{ENTRY}({params}) {{",
            "  extern __shared__ uint8_t dynamic_smem[];",
            f"  constexpr uint32_t smem = {SMEM_START};  // known here: no loop computes it",
            '  if (shared_address(dynamic_smem) != smem) asm volatile("trap;");',
            "  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32,"
            " group_of_warps = warp / 4;",
            *indent(counts, 2),
            "  if (threadIdx.x == 0) {",
            *indent(barrier_setup(self.document), 4),
            "  }",
            "  __syncthreads();",
            "",
            "  if (group_of_warps == 0) {",
            *indent(producer, 4),
            "  } else {",
            *indent(consumer, 4),
            "  }",
            "}",
        ]

    def trip_lines(self) -> list[str]:
        """How many iterations a tile has, and how many of them lie wholly inside."""
        loop = self.layout.body.loop
        axis = self.context.kernel.var(loop.var).axis
        extent = self.layout.extent(loop.var)
        end = self.context.size(axis)
        start = self.context.uniform(loop.start) if loop.start else "0"
        lines = [f"int first_{loop.var} = {start};"]
        if loop.until:
            lines.append(f"const int until_{loop.var} = {self.context.uniform(loop.until)};")
            end = f"until_{loop.var}"
        least = max(self.document.minimum_trips, 1)
        lines += range_lines(self.context, self.cut, end, masked=bool(self.masked), fewest=least)
        step = f"{extent} * k"
        if self.layout.tiling.serpentine:
            step = f"{extent} * (backwards ? k_tiles - 1 - k : k)"
        position = f"[&](int k) {{ return first_{loop.var} + {step}; }}"
        return [*lines, f"auto step_{loop.var} = {position};"]

    def recounted(self, lines: list[str]) -> list[str]:
        """Counts of tiles computed anew for every tile, where registers are short: they, and
        reciprocals to divide by them, would wait in registers all along the loop.
        """
        if not self.layout.crowded and not again_lines(self.context, self.cut):
            return []
        found = [line for line in lines if line.startswith("const int count_")]
        return [re.sub(r"\blen_(\w+)", r"opaque(len_\1)", line) for line in found]

    def counted_again(self) -> list[str]:
        """``k_end``: the iterations of the tile once more, from its row."""
        assert self.cut is not None
        row = f"pos_{self.cut.row}"
        return [
            f"const int k_end = [&](const int {row}) {{",
            *indent(self.trip_lines()[:-1], 2),
            "  return k_tiles;",
            f"}}(opaque({row}));",
        ]

    def tile_loop(self, body: list[str], before: Sequence[str] = ()) -> list[str]:
        turn = ["backwards = !backwards;"] if self.layout.tiling.serpentine else []
        return [
            *(["bool backwards = true;"] if turn else []),
            *walk_lines(self.context, self.cut),
            *indent(
                [
                    *self.recounted(count_lines(self.context, self.cut)),
                    *place_lines(self.context, self.cut),
                    *turn,
                    *self.trip_lines(),
                    *before,
                    *body,
                ],
                2,
            ),
            "}",
        ]

    def registers(self, program: RoleProgram) -> list[str]:
        most = program.most_registers
        entry = self.target.entry_registers(128 * (self.layout.tiling.consumers + 1))
        return [f"registers_{'down' if most < entry else 'up'}<{most}>();"] if most else []

    def producer(self) -> list[str]:
        program = self.document.program("producer")
        table = self.ops.producer_table()
        policies = []
        if self.layout.tiling.keep is not None:
            policies = [
                "const uint64_t policy_keep = policy_evict_last(),"
                " policy_pass = policy_evict_first();"
            ]
        tile = self.role_tile(program, table, masked=None)
        loop = self.tile_loop(tile)
        maps = [n for n, p in self.context.params.items() if p.text.startswith("const __grid")]
        return [
            *self.registers(program),
            "if (warp == 0 && elect_one()) {",
            *indent([f"prefetch_map(&{n});" for n in maps], 2),
            *indent([*policies, *self.positions(program)], 2),
            *indent(self.list_lines(program, "setup", table), 2),
            *indent(loop, 2),
            *indent(self.list_lines(program, "finish", table), 2),
            "}",
        ]

    def positions(self, program: RoleProgram) -> list[str]:
        return position_lines(self.document, program, shared=self.layout.crowded)

    def consumer(self) -> list[str]:
        program = self.document.program("consumer")
        plain, masked = self.ops.consumer_table("No{}"), self.ops.consumer_table("Yes{}")
        copies = masked if self.masked and not self.layout.crowded else None
        tile = self.role_tile(program, plain, masked=copies)
        share = self.layout.blocks
        loop = self.tile_loop(tile, before=self.step_functions())
        return [
            *self.registers(program),
            "const int instance = group_of_warps - 1, warp_in_group = warp % 4;",
            f"auto row_of = [&](int b, int i) {{ return 64 * ({share} * instance + b)"
            " + 16 * warp_in_group + lane / 4 + 8 * i; };",
            "auto column_of = [&](int h, int e)"
            " { return 8 * h + e / 4 * 8 + lane % 4 * 2 + e % 2; };",
            *self.slot_function(),
            *self.staging(),
            *(array_declaration(a) for a in self.layout.arrays),
            *(
                f"float early_{part_name(n)}[{columns // 4}];"
                for n, (_, columns) in early_vectors(self.layout).items()
            ),
            *self.positions(program),
            *self.list_lines(program, "setup", plain),
            *loop,
            *self.list_lines(program, "finish", plain),
        ]

    def staging(self) -> list[str]:
        if not staged_stores(self.layout):
            return []
        place = "smem + OUT_STAGING + instance * OUT_INSTANCE + warp_in_group * 2048"
        return [f"const uint32_t staging = {place};"]

    def slot_function(self) -> list[str]:
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
            slots = [v for v in step.loads if self.layout.slot_of(v) is not None]
            arguments = "".join(f", uint32_t slot_{part_name(v)}" for v in slots)
            loops = step.when is When.LOOP
            head = f"auto {step.name} = [&](auto masked, int k{arguments}) {{"
            text = step_text(self.context, step, "k" if loops else None)
            uses = any("MASKED" in line for line in text)
            lines += [
                f"// {step.when}: {', '.join(step.results) or step.name}",
                head,
                *(["  constexpr bool MASKED = decltype(masked)::value;"] if uses else []),
                *indent(text, 2),
                "};",
            ]
        for put in puts(self.layout):
            lines += [
                f"// loop: {put.result}",
                f"auto {put.name} = [&](uint32_t slot) {{",
                *indent(put_text(self.context, put), 2),
                "};",
            ]
        for op in staged_stores(self.layout):
            lines += [
                f"auto fill_{op.tensor} = [&](int b, int column, uint32_t buffer) {{",
                *indent(fill_text(self.context, op), 2),
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
        lines: list[str] = []
        for i, e in list(enumerate(getattr(program, phase)))[start:end]:
            if isinstance(e, WaitGroup):
                owned = self.owned_by(program, phase, i, final.get((phase, i), ()))
                call, text = wait_function(e.pending, owned)
                if text:
                    self.waits[call.split("(")[0]] = text
                lines += [f"// {e.reason}", call] if e.reason else [call]
            else:
                lines += table.lower(e, site)
            if self.stamps and phase == "kernel":
                lines.append(stamp_line(self.stamps[program.name], i))
        return lines

    def owned_by(
        self, program: RoleProgram, phase: str, at: int, final: tuple[str, ...]
    ) -> tuple[Owned, ...]:
        """Accumulators a wait makes final, and what the loop computed before it."""
        arrays = {a.name: a for a in self.layout.arrays if a.form is Form.TILE}
        owned = [_owned(arrays[n]) for n in final if n in arrays]
        count = self.layout.tiling.tie
        if phase != "kernel" or not count:
            return tuple(owned)
        for e in reversed(program.kernel[:at]):
            if isinstance(e, WaitGroup | Mma):
                break
            made = [w for w in e.writes if w in arrays] if isinstance(e, Compute) else []
            if made:
                owned += [_owned(arrays[n], count) for n in made if n not in final]
                break
        return tuple(owned)

    def role_tile(
        self, program: RoleProgram, table: LoweringTable, masked: LoweringTable | None
    ) -> list[str]:
        """One tile of a role: prologue, loop (and its copy with masks), epilogue."""
        shared = self.layout.crowded
        step = advance_lines(self.document, program, Per.ITERATION, shared=shared)
        once = advance_lines(self.document, program, Per.TILE, shared=shared)
        lines = [stamped_line(program)] if self.stamps else []
        lines += [*self.list_lines(program, "prologue", table), *step * program.peel]
        lines.append(f"int k = {program.peel};")
        loops = [("k_tiles", table)]
        if masked is not None:
            first = [("whole_from", masked)] if self.cut is not None and self.cut.below else []
            unknown = self.cut is not None and not self.cut.known
            plain = [] if unknown else [("whole_to", table)]
            ends_whole = self.cut is not None and self.cut.known and not self.cut.above
            loops = [*first, *plain, *([] if ends_whole else [("k_tiles", masked)])]
        again = again_lines(self.context, self.cut)
        for n, (bound, lowerings) in enumerate(loops):
            if again and n and bound == "k_tiles":  # counted anew: one register less until here
                lines += self.counted_again()
                bound = "k_end"  # noqa: PLW2901
            lines.append(f"for (; k < {bound}; ++k) {{")
            lines += indent([*self.list_lines(program, "kernel", lowerings), *step], 2)
            lines.append("}")
        tail = self.epilogue(program, table)
        if again:
            counts = self.recounted(count_lines(self.context, self.cut))
            tail = ["{", *indent([*counts, *again, *tail], 2), "}"]
        return [*lines, *tail, *once]

    def epilogue(self, program: RoleProgram, table: LoweringTable) -> list[str]:
        """The end of a tile; what follows a meeting of parts is the last one's alone."""
        ops = [e.op if isinstance(e, Compute) else "" for e in program.epilogue]
        if MEET not in ops:
            return self.list_lines(program, "epilogue", table)
        at = ops.index(MEET) + 1
        refuse_shared(self.layout, program.epilogue[at:])
        return [
            *self.list_lines(program, "epilogue", table, end=at),
            "if (is_last) {",
            *indent(self.list_lines(program, "epilogue", table, start=at), 2),
            "}",
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
    return f"float {array.name}[{array.blocks}][{count}];"


def _owned(array: Array, count: int = -1) -> Owned:
    return Owned(name=array.name, blocks=array.blocks, registers=array.cols // 2, count=count)
