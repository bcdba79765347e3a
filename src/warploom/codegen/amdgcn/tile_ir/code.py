"""``ModuleCode``: the machine code of a module's waves, with everything a launcher needs.

It is made of the module alone: LLVM IR is printed, LLVM compiles it, and the code of pipelined
loops is compared with their steps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import Any

from warploom.codegen.amdgcn.isa import Resources, read_resources
from warploom.codegen.amdgcn.isa_check import GateReport
from warploom.codegen.amdgcn.isa_check.regions import check_regions
from warploom.codegen.amdgcn.tile_ir.gate import gated_loop, loop_sidecar
from warploom.codegen.amdgcn.tile_ir.printer import KERNEL_NAME, print_waves
from warploom.codegen.amdgcn.toolchain import compile_ir, compile_object
from warploom.dataclass import dataclass
from warploom.errors import BackendError, ConfigError
from warploom.ir.module import KernelModule
from warploom.ir.tile import is_number
from warploom.ir.types import DType
from warploom.ir.waves import Argument, Merge, Pipeline, WaveProgram, instructions, pipelines
from warploom.targets.amdgcn import MACHINES
from warploom.targets.mi355x import LANES

SCHEMA = "warploom.tile_kernel.gfx950/1"
PLAIN = "single buffer, not pipelined"
AHEAD = "single buffer in LDS, the next step's tiles are loaded ahead into registers"
MOST_GROUPS = 2**31 - 1
HALVES = (DType.BF16, DType.F16)


@dataclass(frozen=True, kw_only=True)
class ModuleCode:
    """A module, its LLVM IR and assembly."""

    module: KernelModule
    ir: str
    written_out: bool
    assembly: str
    versions: Mapping[str, str]

    @property
    def program(self) -> WaveProgram:
        """What the waves do."""
        return waves_of(self.module)

    @property
    def cpu(self) -> str:
        """The chip as LLVM calls it."""
        return MACHINES[self.module.target].cpu

    @cached_property
    def loops(self) -> tuple[Pipeline, ...]:
        """The pipelined loops, in the order of the kernel."""
        return pipelines(self.program)

    @cached_property
    def resources(self) -> Resources:
        """Registers, spills and LDS of the compiled kernel."""
        return read_resources(self.assembly)

    @property
    def schedule(self) -> str:
        """How its loops are scheduled, in words."""
        if self.loops:
            copies = max(r.stages for loop in self.loops for r in loop.rings)
            return f"pipelined, {copies} tiles deep in LDS; waits and barriers derived"
        return AHEAD if self.program.prefetched else PLAIN

    @cached_property
    def gate(self) -> GateReport | None:
        """The code of pipelined loops against their steps; None where none is pipelined."""
        if not self.loops:
            return None
        loops = [gated_loop(loop, self.module.target) for loop in self.loops]
        return check_regions(loops, self.assembly)

    def grid(self, sizes: Mapping[str, int]) -> int:
        """Workgroups of a launch with these axis sizes."""
        return grid_of(grid_rule(self.module), sizes)

    def object(self) -> bytes:
        """The relocatable object."""
        return self._object

    @cached_property
    def _object(self) -> bytes:
        return compile_object(self.ir, self.assembly, self.cpu, written_out=self.written_out)

    def sidecar(self) -> dict[str, Any]:
        """What a launcher needs, as JSON-ready values."""
        module, program = self.module, self.program
        # Numbers of 16 bits are added to the word they lie in: the last one's ends with the tensor.
        added = {x.tensor for x in instructions(program.body) if isinstance(x, Merge)}
        summed = {t.name for t in module.tensors if t.name in added and t.dtype in HALVES}
        found = self.resources
        return {
            "schema": SCHEMA,
            "kernel": KERNEL_NAME,
            "computes": module.name,
            "target": self.cpu,
            "schedule": self.schedule,
            "arguments": [_argument(a) for a in program.arguments],
            "tensors": [
                {
                    "name": t.name,
                    "dtype": t.dtype.value,
                    "access": t.access,
                    "axes": [{"name": a.name, "per": a.per} for a in t.axes],
                    **({"whole_words": True} if t.name in summed else {}),
                }
                for t in module.tensors
            ],
            "fixed_sizes": dict(program.fixed),
            "grid": grid_rule(module),
            "block_size": [LANES * program.waves, 1, 1],
            "extents": dict(program.extents),
            "lds_bytes": found.lds_bytes,
            "registers": {"vgprs": found.vgprs, "agprs": found.agprs, "sgprs": found.sgprs},
            "spills": {"vgpr": found.vgpr_spills, "sgpr": found.sgpr_spills},
            "scratch_bytes": found.scratch_bytes,
            "loops": [loop_sidecar(loop) for loop in self.loops],
            "not_pipelined": list(program.plain),
            "made_with": dict(self.versions),
        }

    def sidecar_text(self) -> str:
        """Canonical text of the sidecar."""
        return json.dumps(self.sidecar(), indent=2) + "\n"


def waves_of(module: KernelModule) -> WaveProgram:
    """The wave program of a module; ``BackendError`` where it has none."""
    if module.program is None or module.target not in MACHINES:
        raise BackendError(
            f"module {module.name} for {module.target} has no program of waves",
            where=module.name,
            why="it is of another target",
            fix="warploom emit h200 module.json",
        )
    return module.program


def compile_module(module: KernelModule) -> ModuleCode:
    """The machine code of a module."""
    printed = print_waves(waves_of(module))
    made = compile_ir(printed.ir, MACHINES[module.target].cpu)
    return ModuleCode(
        module=module,
        ir=printed.ir,
        written_out=printed.written_out,
        assembly=made.assembly,
        versions={"llvm": made.llvm, "llvmlite": made.llvmlite},
    )


def _argument(argument: Argument) -> dict[str, Any]:
    own: dict[str, Any] = {
        "name": argument.name.removeprefix("%"),
        "kind": argument.kind,
        "what": argument.what.value,
        "of": argument.of,
    }
    return own | ({"axis": argument.axis} if argument.what == "stride" else {})


def is_tile_sidecar(text: str) -> bool:
    """Whether a sidecar is one of a module's code."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(values, dict) and values.get("schema") == SCHEMA


def grid_rule(module: KernelModule) -> dict[str, Any]:
    """How many workgroups a launch has: a product over axes, for groups at most so many."""
    kernel, extents = module.kernel, dict(waves_of(module).extents)
    names = list(kernel.grid.vars)
    rule: dict[str, Any] = {"kind": kernel.grid.kind}
    if kernel.grid.kind == "groups":
        group = kernel.var(names[0])
        row = next(n for n in names[1:] if not is_number(kernel.var(n)))
        names = [n for n in names[1:] if n != row]
        rule |= {
            "groups": group.axis,
            "rows": {"axis": kernel.var(row).axis, "extent": extents[row]},
        }
    rule["tiles"] = [
        {"axis": kernel.var(n).axis, "extent": 1 if is_number(kernel.var(n)) else extents[n]}
        for n in names
    ]
    return rule


def grid_of(rule: Mapping[str, Any], sizes: Mapping[str, int]) -> int:
    """Workgroups by a grid rule."""
    total: int = prod(-(-sizes[t["axis"]] // t["extent"]) for t in rule["tiles"])
    if rule["kind"] == "groups":
        rows = sizes[rule["rows"]["axis"]]
        some = rows // rule["rows"]["extent"] + sizes[rule["groups"]] if rows else 0
        total *= some
    if total > MOST_GROUPS:
        raise ConfigError(
            f"a launch of {total} workgroups", where="grid", fix="split it into several launches"
        )
    return total
