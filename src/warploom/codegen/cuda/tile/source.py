"""The whole CUDA source of a tile kernel: parameters, grid, role branch and the roles' programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from warploom.codegen.cuda import layout as shared_layout, ptx
from warploom.codegen.cuda.device import device, noted
from warploom.codegen.cuda.legality import refuse_other_registers, with_barriers
from warploom.codegen.cuda.roles import barrier_setup, indent, number
from warploom.codegen.cuda.tile.dsmem import inbox_bytes, inbox_constants, inbox_setup
from warploom.codegen.cuda.tile.from_module import BACKWARDS
from warploom.codegen.cuda.tile.grid import (
    count_lines,
    early_lines,
    place_lines,
    walk_lines,
)
from warploom.codegen.cuda.tile.helpers import definitions
from warploom.codegen.cuda.tile.loop_view import GATHERER, LoopView
from warploom.codegen.cuda.tile.mma_slices import Part
from warploom.codegen.cuda.tile.ordered_reduction import (
    acquire_tile,
    release_tile,
    turn_barriers,
    turn_bytes,
)
from warploom.codegen.cuda.tile.signature import MapParam, Param, PointerParam
from warploom.codegen.cuda.tile.split_k import part_bytes
from warploom.codegen.cuda.tile.stamps import NAME, StampedRole, stamped_roles
from warploom.dataclass import dataclass
from warploom.ir.dataflow import Across, Exchange
from warploom.ir.mbarrier_dialect import ClusterSync, RolesDocument
from warploom.ir.module import KernelModule
from warploom.ir.roles_document import roles_documents
from warploom.ir.types import DType
from warploom.targets.h200 import HopperTarget, h200

ENTRY = "warploom_kernel"
SMEM_START = 1024  # after what the system reserves; the kernel checks it


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An emitted kernel: its text and what a launch must know.

    ``any_alignment``: tensors may lie anywhere, with any strides. ``passes``: inputs may be read
    again after outputs were written.
    """

    text: str
    entry: str
    params: tuple[Param, ...]
    threads: int
    shared_bytes: int
    work_bytes: int = 0  # of memory for a part of a split loop
    stamps: tuple[StampedRole, ...] = ()
    any_alignment: bool = False
    passes: bool = False


def emit_pipelined(
    module: KernelModule,
    target: HopperTarget | None = None,
    *,
    stamps: bool = False,
    marks: bool = False,
) -> Source:
    """The CUDA source of a module of a pipelined kernel; with ``stamps`` its loop writes clocks.

    With ``marks`` comments say which entry of the schedule lines belong to (``part.MARK``).
    """
    chip = (target or h200()).shared_by(module.launch.ctas_per_sm)
    writer = _Writer(module, chip, stamps=stamps)
    for one in writer.parts:
        one.marks = marks
    refuse_other_registers(writer.documents, chip.entry_registers(writer.threads))
    return writer.source()


class _Writer:
    """Parts run one after the other in every tile; all but one-loop kernels have several."""

    def __init__(self, module: KernelModule, target: HopperTarget, *, stamps: bool) -> None:
        self.module, self.target = module, target
        self.documents = roles_documents(module)
        last = len(self.documents) - 1
        self.stamps = {r.role: r for r in stamped_roles(self.documents[last])} if stamps else {}
        self.params: dict[str, Param] = {}
        self.parts = [
            Part(
                LoopView(module, n),
                with_barriers(x, [d for i, d in enumerate(self.documents) if i != n]),
                self.params,
                self.stamps if n == last else {},
            )
            for n, x in enumerate(self.documents)
        ]
        self.last = self.parts[-1]
        self.loop = self.last.loop
        self.document = joined([p.document for p in self.parts])

    def source(self) -> Source:
        with noted() as called:
            text = "\n".join(self.kernel_text())
        functions: dict[str, str] = {}
        waits: dict[str, str] = {}
        for part in self.parts:
            functions |= part.functions()
            waits |= part.waits
        parts = [
            "\n".join(self.head()),
            ptx.TYPES,
            ptx.CURSOR,
            definitions(called),
            *functions.values(),
            *waits.values(),
            "\n".join([*shared_layout.constants(self.document), *self.count_constants()]) + "\n",
            "struct Yes { static constexpr bool value = true; };\n"
            "struct No { static constexpr bool value = false; };\n",
            text + "\n",
        ]
        return Source(
            text="\n".join(parts),
            entry=ENTRY,
            params=tuple(self.params.values()),
            threads=self.threads,
            shared_bytes=shared_layout.layout_of(self.document).end + self.counts + self.inbox,
            work_bytes=part_bytes(self.loop),
            stamps=tuple(self.stamps.values()),
        )

    @property
    def counts(self) -> int:
        """Bytes of the barriers of turns."""
        return turn_bytes(self.turns) if self.turns else 0

    @property
    def turns(self) -> Exchange | None:
        """How tiles add in turn, if they do."""
        found = self.last.document.exchanges
        return next((x for x in found if x.across is Across.TURNS), None)

    def count_constants(self) -> list[str]:
        """Where they lie."""
        at = shared_layout.layout_of(self.document).end
        lines = [f"constexpr uint32_t TURNS = {at};"] if self.counts else []
        return lines + (inbox_constants(self.loop, at) if self.inbox else [])

    @property
    def inbox(self) -> int:
        """Bytes of what other parts of a split loop send."""
        return inbox_bytes(self.loop)

    @property
    def threads(self) -> int:
        return self.module.launch.block

    @property
    def clustered(self) -> str:
        size = self.document.cluster
        return f" __cluster_dims__({size}, 1, 1)" if size > 1 else ""

    def shared_start(self) -> list[str]:
        """``smem``, known here so that no loop computes it; in a cluster it tells the CTA."""
        at = f"{device.shared_address}(dynamic_smem)"
        if self.clustered:
            own = f"({at} & 0xffffff) != {SMEM_START}"
            return [f"  const uint32_t smem = {at};", f'  if ({own}) asm volatile("trap;");']
        return [
            f"  constexpr uint32_t smem = {SMEM_START};",
            f'  if ({at} != smem) asm volatile("trap;");',
        ]

    def head(self) -> list[str]:
        kernel, name = self.module.kernel, self.last.document.name
        place = kernel.line
        where = f"{PurePath(place.file).name}:{place.number}" if place else "a tile kernel"
        lines = [
            f"// {name}: kernel {kernel.name}, {where}.",
            "// Written by warploom from a derived and verified schedule.",
        ]
        for proof in [p.document.proof for p in self.parts]:
            if proof is not None:
                word = "proven least" if proof.proven else f"proven >= {proof.lower_bound}"
                lines.append(
                    f"// Placed at {proof.ii} in the ordering model ({word}: {proof.limit})."
                )
        return [*lines, ""]

    def kernel_text(self) -> list[str]:
        counts = count_lines(self.last.printer)
        consumer = self.consumer()
        producer = self.producer()  # after it: it names all tensor maps
        if self.stamps:
            self.params[NAME] = PointerParam(name=NAME, tensor=NAME, dtype=DType.I32, written=True)
        params = ",\n    ".join(p.text for p in self.params.values())
        return [
            f'extern "C" __global__ void __launch_bounds__({self.threads},'
            f" {self.module.launch.ctas_per_sm}){self.clustered}",
            f"{ENTRY}({params}) {{",
            "  extern __shared__ uint8_t dynamic_smem[];",
            *self.shared_start(),
            "  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32,"
            " group_of_warps = warp / 4;",
            *indent(counts, 2),
            "  if (threadIdx.x == 0) {",
            *(inbox_setup(self.loop) if self.inbox else []),
            *indent(turn_barriers(self.turns, self.threads // 32 - 4) if self.turns else [], 4),
            *indent(barrier_setup(self.document), 4),
            "  }",
            f"  {device.cluster_start if self.clustered else '__syncthreads'}();",
            f"  {device.await_kernel_before}();",
            "",
            "  if (group_of_warps == 0) {",
            *indent(producer, 4),
            "  } else {",
            *indent(consumer, 4),
            "  }",
            *self.leave_together(),
            "}",
        ]

    def leave_together(self) -> list[str]:
        """CTAs of a cluster meet at the very end where a program says so."""
        last = (e for p in self.document.programs for e in p.finish[-1:])
        return (
            [f"  {device.cluster_sync}();"] if any(isinstance(e, ClusterSync) for e in last) else []
        )

    def tile_loop(self, bodies: Sequence[list[str]], *, early: bool = False) -> list[str]:
        """The walk over tiles; the parts of a tile have names of their own."""
        made = self.last.printer
        turn, first = [], []
        if any(x.name == BACKWARDS for x in made.tiles.lets):
            turn = ["turned = !turned;", made.direction_line()]
            first = ["bool turned = true;"]
        if early:
            return [*first, *early_lines(made), *indent([*turn, *bodies[0]], 2), "}"]
        inner = [["{", *indent(b, 2), "}"] for b in bodies] if len(bodies) > 1 else bodies
        return [
            *first,
            *walk_lines(made),
            *indent(
                [
                    *self.last.recounted(),
                    *place_lines(made),
                    *turn,
                    *(line for body in inner for line in body),
                ],
                2,
            ),
            "}",
        ]

    def registers(self, role: str) -> list[str]:
        most = self.last.role(role).most_registers
        entry = self.target.entry_registers(self.threads)
        if not most:
            return []
        call = device.registers_down if most < entry else device.registers_up
        return [f"{call}<{most}>();"]

    def producer(self) -> list[str]:
        policies = []
        if self.loop.hints:
            policies = [
                f"const uint64_t policy_keep = {device.policy_evict_last}(),"
                f" policy_pass = {device.policy_evict_first}();"
            ]
        gather = self.gatherer() if any(p.loop.gathers for p in self.parts) else []
        loop = self.tile_loop([p.producer_tile() for p in self.parts])
        if self.loop.pace:
            left = f"{device.leave_pace}((unsigned*){self.last.context.work()});"
            loop = ["unsigned paces = 0;", *loop, left]
        maps = [n for n, p in self.params.items() if isinstance(p, MapParam)]
        return [
            *self.registers("producer"),
            f"if (warp == 0 && {device.elect_one}()) {{",
            *indent([f"{device.prefetch_map}(&{n});" for n in maps], 2),
            *indent(policies, 2),
            *indent(self.around("producer", loop), 2),
            *(["} else if (warp > 0) {", *indent(gather, 2)] if gather else []),
            *(self.attendants(self.turns) if self.turns else []),
            "}",
        ]

    def attendants(self, turns: Exchange) -> list[str]:
        """Warps of the producer that give turns on, and that open them."""
        trips, context = self.last.trip_lines(), self.last.context
        release = self.tile_loop([[*trips, *release_tile(context, turns)]])
        acquire = self.tile_loop([[*trips, *acquire_tile(context, turns)]])
        return [
            "} else if (warp == 1 && lane == 0) {",
            *indent([_FIRST_TURN, *release], 2),
            "} else if (warp == 2 && lane == 0) {",
            *indent([_FIRST_TURN, *acquire], 2),
        ]

    def gatherer(self) -> list[str]:
        """The producer's other warps, which fetch rows that a list picks."""
        return self.around(GATHERER, self.tile_loop([p.gatherer_tile() for p in self.parts]))

    def around(self, role: str, loop: list[str]) -> list[str]:
        """Ring positions, what a role does before its first tile, its tiles, and what after."""
        lines: list[str] = []
        for part in self.parts:
            lines += part.positions(role)
        for phase in ("setup", "finish"):
            lines += loop if phase == "finish" else []
            for part in self.parts:
                tables = {"producer": part.producer, GATHERER: part.gatherer}
                lines += part.list_lines(part.role(role), phase, tables.get(role, part.plain))
        return lines

    def instance(self) -> str:
        """Which consumer a warp belongs to: one number for the warp, where the module says so, that
        the assembler knows that all its threads go the same way, and computes addresses of products
        once a warp.
        """
        own = "group_of_warps - 1"
        return f"__shfl_sync(~0u, {own}, 0)" if self.loop.consumer.uniform else own

    def consumer(self) -> list[str]:
        several, role = len(self.parts) > 1, self.last.role("consumer")
        mine, alternates = number(role), role.alternates
        tiles = [[*(p.places() if several else ()), *p.consumer_tile()] for p in self.parts]
        return [
            *self.registers("consumer"),
            f"const int {mine} = {self.instance()}, warp_in_group = warp % 4;",
            *(["constexpr int instance = 0;", "int nth = 0;"] if alternates else ()),
            *([_FIRST_TURN] if self.counts else ()),
            *(() if several else self.last.places()),
            *(line for p in self.parts for line in p.arrays()),
            *self.around("consumer", self.tile_loop(tiles, early=self.loop.consumer.finds_next)),
        ]


_FIRST_TURN = "unsigned turn = 0;"


def joined(documents: list[RolesDocument]) -> RolesDocument:
    """The shared memory of all documents as one: rings and buffers have names of their own."""
    return replace(
        documents[-1],
        rings=tuple(r for d in documents for r in d.rings),
        buffers=tuple(b for d in documents for b in d.buffers),
    )
