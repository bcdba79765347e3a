"""``CompiledMi355x``: a kernel for MI355X, from its value to machine code, and its launches.

``execute`` runs the machine code on the CPU, ``check`` checks it for every timing of a launch, and
``run`` launches it through HIP. Nothing has run on the chip.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.check.amdgcn import check_amdgcn
from warploom.codegen.amdgcn.tile_ir.code import ModuleCode, grid_of
from warploom.codegen.amdgcn.tile_ir.execute import (
    Executed,
    NotExecutedError,
    execute,
    launch_of,
    shape_of,
)
from warploom.codegen.amdgcn.tile_ir.host import host_source
from warploom.codegen.amdgcn.tile_ir.printer import KERNEL_NAME
from warploom.codegen.amdgcn.tile_ir.values import ValuesReport, verify_values
from warploom.codegen.amdgcn.toolchain import find_linker, link_code_object
from warploom.compiler import amd_pass_list
from warploom.compiler.amd_tiles import TileProgram, compile_tile_kernel
from warploom.compiler.compile_cache import verdict_of
from warploom.compiler.rich import scheduled_html
from warploom.errors import BackendError, ConfigError, KernelCallError
from warploom.frontend.simplify import simplify
from warploom.frontend.tile_kernel import TileKernel, Types
from warploom.interp.dataflow import DataflowReport, require_computed
from warploom.interp.executed import executed_sizes, require_executed, verify_executed
from warploom.ir import ScheduleDocument, write_schedule
from warploom.ir.module import KernelModule
from warploom.ir.serialize import to_json
from warploom.ir.tile import Access, DType, Kernel, Store, walk
from warploom.ir.wave_documents import wave_documents
from warploom.passes.heuristics import check_pins
from warploom.report import CodeReport
from warploom.runtime.hip import HipKernel
from warploom.runtime.tensors import ROCM_DEVICES, TensorView, allocator, stream_of, view_of
from warploom.targets.amdgcn import MACHINES, MI355X, AmdMachine
from warploom.targets.h200 import HOPPER
from warploom.targets.mi355x import Mi355x
from warploom.verify import Report, verify
from warploom.verify.coverage import require_covered

SIMDS = 4  # of a CU, and what each of them holds
MOST_WAVES = 8
VECTOR_REGISTERS = 512
MOST_EXECUTED = 4_000_000  # instructions of all waves, where code is compared with its kernel


@dataclass(frozen=True, repr=False)
class CompiledMi355x:
    """A kernel's value and its gfx950 code. ``extents``: tiles and steps that were asked for;
    ``given``: its code, where it was made from schedules at hand.
    """

    kernel: Kernel
    extents: Mapping[str, int]
    machine: AmdMachine = MI355X
    given: TileProgram | None = None

    @classmethod
    def resumed(cls, folder: str | Path) -> CompiledMi355x:
        """The kernel of dumped passes, with its schedules as they are there now."""
        program = amd_pass_list.resume(Path(folder))
        plan = program.plan
        return cls(program.kernel, dict(plan.extents), plan.machine, program)

    def __repr__(self) -> str:
        what = f"Compiled kernel {self.kernel.name} for {self.machine.name}"
        if "program" not in self.__dict__:
            return f"<{what}, not built yet>"
        held = self.sidecar
        tile = "x".join(str(n) for n in held["extents"].values())
        used, spilled = held["registers"], held["spills"]
        threads = prod(held["block_size"])
        return (
            f"<{what}: {tile}, {used['vgprs']} VGPRs, {used['agprs']} AGPRs, {used['sgprs']} SGPRs,"
            f" {sum(spilled.values())} registers spilled, {held['lds_bytes']} bytes of LDS,"
            f" {self.occupancy} workgroups of {threads} threads on a CU>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        made = "program" in self.__dict__
        return scheduled_html(
            repr(self),
            str(self.kernel),
            self.documents if made else (),
            self.assembly if made else "",
        )

    @property
    def occupancy(self) -> int:
        """Workgroups that a CU runs at once, by registers, LDS and waves."""
        held = self.sidecar
        vectors = held["registers"]["vgprs"] + held["registers"]["agprs"]
        waves = -(-prod(held["block_size"]) // 64)
        by_waves = MOST_WAVES // -(-waves // SIMDS)
        by_registers = VECTOR_REGISTERS // max(8, -(-vectors // 8) * 8) // -(-waves // SIMDS)
        by_memory = self.machine.lds_bytes // max(1, held["lds_bytes"])
        return int(max(0, min(by_waves, by_registers, by_memory)))

    @cached_property
    def simplified(self) -> Kernel:
        """The kernel after folding and sharing."""
        return simplify(self.kernel)

    @cached_property
    def program(self) -> TileProgram:
        """The compiled kernel; ``VerificationError`` where its code computes something else."""
        if self.given is not None:
            return self.given
        result = compile_tile_kernel(self.kernel, extents=self.extents, machine=self.machine)
        require_covered(result.module)
        require_computed(result.module)
        require_executed(self._executed(result), self.kernel)
        return result

    @property
    def module(self) -> KernelModule:
        """What the waves do: what is verified, executed and printed as code."""
        return self.program.module

    @property
    def executed(self) -> DataflowReport:
        """What every compilation runs: the machine code, executed once on drawn inputs of one size
        class, against the author's kernel (``dataflow``: for several).
        """
        return self._executed(self.program)

    def _executed(self, made: TileProgram) -> DataflowReport:
        sidecar = made.sidecar()
        added = {
            op.tensor: np.zeros(1)
            for op in walk(self.kernel.ops)
            if isinstance(op, Store) and op.add
        }

        def run(
            arrays: Mapping[str, Any], scalars: Mapping[str, float], sizes: Mapping[str, int]
        ) -> Mapping[str, Any]:
            try:
                return execute(
                    made.assembly,
                    sidecar,
                    arrays,
                    scalars,
                    sizes=sizes,
                    initial=added,
                    max_steps=MOST_EXECUTED,
                ).outputs
            except NotExecutedError as error:
                raise BackendError(error.what, why=error.why) from error

        sizes = executed_sizes(self.kernel, made.plan.extents, sidecar["fixed_sizes"])
        name = f"{self.kernel.name} on {self.machine.name}"
        return verdict_of(
            self.kernel,
            made.assembly,
            sizes,
            lambda: verify_executed(self.kernel, name, run, sizes, made.plan.extents),
        )

    @property
    def documents(self) -> tuple[ScheduleDocument, ...]:
        """The schedules of its pipelined loops, as ``verify`` and ``timeline`` read them."""
        return tuple(s.document for s in self.program.schedules)

    @property
    def reports(self) -> tuple[Report, ...]:
        """What is verified of the schedules of its pipelined loops: every timing, all trip counts;
        with the axioms each verdict rests on.
        """
        return tuple(verify(document) for document in wave_documents(self.module))

    @cached_property
    def dataflow(self) -> ValuesReport:
        """Whether the machine code computes the kernel, executed for enumerated size classes."""
        return verify_values(self.kernel, self.assembly, self.sidecar)

    @property
    def assembly(self) -> str:
        """The machine code as text."""
        return self.program.assembly

    @property
    def llvm_ir(self) -> str:
        """What LLVM compiled."""
        return self.program.code.ir

    @cached_property
    def sidecar(self) -> dict[str, Any]:
        """Arguments, grid, registers and LDS, as JSON-ready values."""
        return self.program.sidecar()

    @cached_property
    def code_object(self) -> bytes:
        """What the HIP runtime loads; needs an lld."""
        return link_code_object(self.program.object())

    def listing(self) -> str:
        """What was chosen, in words."""
        return self.program.listing()

    def after(self, name: str) -> str:
        """What the kernel is after a pass, as text (``compiler.amd_pass_list``)."""
        return amd_pass_list.after(self.on_its_way, name)

    def dump_passes(self, folder: str | Path) -> str:
        """Write the kernel after every pass; the passes with their times."""
        return amd_pass_list.dump(self.on_its_way, Path(folder))

    @property
    def on_its_way(self) -> amd_pass_list.Made:
        """As the passes see it."""
        return amd_pass_list.Made(
            self.kernel, self.machine, dict(self.extents), lambda: self.program
        )

    def execute(
        self,
        inputs: Mapping[str, NDArray[Any]],
        scalars: Mapping[str, float] | None = None,
        **options: Any,  # noqa: ANN401 (those of the function)
    ) -> Executed:
        """Run the machine code on the CPU (``tile_ir.execute``)."""
        return execute(self.assembly, self.sidecar, inputs, scalars, **options)

    def check(
        self,
        inputs: Mapping[str, NDArray[Any]],
        scalars: Mapping[str, float] | None = None,
        *,
        sizes: Mapping[str, int] | None = None,
    ) -> CodeReport:
        """What the checker of machine code says of one launch, with the axioms it rests on."""
        launch = launch_of(self.sidecar, inputs, scalars or {}, sizes=sizes or {}, initial={})
        if launch is None:
            raise ConfigError("a launch without tiles", where="check", fix="sizes of one at least")
        return check_amdgcn(self.assembly, launch, file=f"{self.kernel.name}.s")

    @property
    def llvm(self) -> str:
        """The LLVM IR that machine code is made of."""
        return self.llvm_ir

    @property
    def asm(self) -> str:
        """The assembly."""
        return self.assembly

    @property
    def ptx(self) -> str:
        """``BackendError``: code of this chip is assembly, by LLVM."""
        raise self._no_cuda("PTX")

    @property
    def sass(self) -> str:
        """``BackendError``, as for ``ptx``."""
        raise self._no_cuda("SASS")

    @property
    def cuda(self) -> str:
        """``BackendError``, as for ``ptx``."""
        raise self._no_cuda("CUDA source")

    def _no_cuda(self, what: str) -> BackendError:
        return BackendError(
            f"no {what} of kernel {self.kernel.name}",
            where=f"compile(target={self.machine.name!r})",
            why="code for this chip goes through LLVM, not through CUDA's compilers",
            fix="compiled.llvm or compiled.asm; compile(target='h200') for CUDA",
        )

    def export(self, folder: str | Path, *, name: str = "") -> tuple[Path, ...]:
        """``write``, in a folder of the kernel's name where one is given."""
        return self.write(Path(folder) / name if name else Path(folder))

    def write(self, folder: Path) -> tuple[Path, ...]:
        """A folder that runs without this package: code, arguments and grid, a host program."""
        if find_linker() is not None:
            linked: bytes | None = self.code_object
        else:
            linked = None
        return write_code(self.program.code, self.documents, folder, linked, self.sidecar)

    # Launches.

    def run(self, *tensors: object, stream: int | None = None, **named: Any) -> Any:  # noqa: ANN401
        """Launch on an AMD GPU: inputs in order, outputs by name or made; scalars by name.

        Tensors are torch's (ROCm) or anything with DLPack. Gives the outputs.
        """
        inputs = [t for t in self.kernel.tensors if t.access is not Access.OUT]
        outputs = [t for t in self.kernel.tensors if t.access is Access.OUT]
        given = dict(zip((t.name for t in inputs), tensors, strict=False))
        given |= {t.name: named.pop(t.name) for t in self.kernel.tensors if t.name in named}
        missing = [t.name for t in inputs if t.name not in given]
        if missing or len(tensors) > len(inputs):
            self._fail(
                f"'{missing[0]}' is not given" if missing else f"{len(tensors)} inputs",
                "inputs in order: " + ", ".join(t.name for t in inputs),
            )
        views = {n: view_of(t, n, ROCM_DEVICES) for n, t in given.items()}
        lengths = self._lengths(views, named.pop("sizes", {}))
        like = given[inputs[0].name]
        for tensor, described in zip(self.kernel.tensors, self.sidecar["tensors"], strict=True):
            if tensor.name not in given:
                shape = shape_of(described, lengths)
                given[tensor.name] = allocator(like, shape, tensor.dtype)()
                views[tensor.name] = view_of(given[tensor.name], tensor.name, ROCM_DEVICES)
        self._check(views, lengths)
        scalars = {p.name: named.pop(p.name, None) for p in self.kernel.parameters}
        absent = [n for n, v in scalars.items() if v is None] + list(named)
        if absent:
            known = ", ".join(scalars) or "none"
            self._fail(f"scalar '{absent[0]}' does not fit", f"scalars by name: {known}")
        groups = grid_of(self.sidecar["grid"], lengths)
        if groups:
            device = views[inputs[0].name].layout.device
            own = stream if stream is not None else stream_of(like)()
            block = tuple(self.sidecar["block_size"])
            packed = pack(self.sidecar["arguments"], views, lengths, scalars)
            self._loaded(device).launch(groups, (block[0], block[1], block[2]), packed, stream=own)
        made = tuple(given[t.name] for t in outputs)
        return made[0] if len(made) == 1 else made

    @cached_property
    def _kernels(self) -> dict[int, HipKernel]:
        return {}

    def _loaded(self, device: int) -> HipKernel:
        if device not in self._kernels:
            self._kernels[device] = HipKernel(self.code_object, KERNEL_NAME, device=device)
        return self._kernels[device]

    def _lengths(self, views: Mapping[str, TensorView], sizes: Mapping[str, int]) -> dict[str, int]:
        result = dict(self.sidecar["fixed_sizes"]) | dict(sizes)
        for tensor in self.kernel.tensors:
            view = views.get(tensor.name)
            if view is None:
                continue
            if len(view.layout.shape) != len(tensor.axes):
                names = ", ".join(a.name for a in tensor.axes)
                self._fail(f"'{tensor.name}' has {len(view.layout.shape)} axes", f"[{names}]")
            for axis, size in zip(tensor.axes, view.layout.shape, strict=True):
                own = size - (tensor.access is Access.STARTS)
                if axis.per == 1 and result.setdefault(axis.name, own) != own:
                    self._fail(
                        f"axis '{axis.name}' of '{tensor.name}' has {own} elements, elsewhere "
                        f"{result[axis.name]}",
                        "tensors whose axes of one name agree",
                    )
        return result

    def _check(self, views: Mapping[str, TensorView], lengths: Mapping[str, int]) -> None:
        """Types, shapes and strides are those the code was made for."""
        devices = {v.layout.device for v in views.values()}
        if len(devices) > 1:
            self._fail(f"tensors on devices {sorted(devices)}", "all on one device")
        for tensor, described in zip(self.kernel.tensors, self.sidecar["tensors"], strict=True):
            layout = views[tensor.name].layout
            if layout.dtype is not tensor.dtype and {layout.dtype, tensor.dtype} != {
                DType.BOOL,
                DType.I8,
            }:
                self._fail(
                    f"'{tensor.name}' is {layout.dtype.value}", f"{tensor.dtype.value}, as compiled"
                )
            wanted = shape_of(described, lengths)
            if tuple(layout.shape) != wanted:
                self._fail(f"'{tensor.name}' has shape {layout.shape}", f"shape {wanted}")
            if 0 not in layout.shape and layout.shape[-1] > 1 and layout.strides[-1] != 1:
                self._fail(
                    f"the last axis of '{tensor.name}' has stride {layout.strides[-1]}",
                    "a tensor whose last axis is contiguous",
                )
            if any(n >= 2**31 for n in layout.shape):
                self._fail(f"an axis of '{tensor.name}' with 2^31 elements", "shorter axes")

    def _fail(self, what: str, fix: str) -> None:
        raise KernelCallError(
            f"call of kernel '{self.kernel.name}' on MI355X: {what}",
            where=str(self.kernel.line or ""),
            fix=fix,
        )


def write_code(
    code: ModuleCode,
    documents: Sequence[ScheduleDocument],
    folder: Path,
    linked: bytes | None = None,
    sidecar: Mapping[str, Any] | None = None,
) -> tuple[Path, ...]:
    """The files of a module's code; ``linked``: what the HIP runtime loads."""
    folder.mkdir(parents=True, exist_ok=True)
    said = code.sidecar() if sidecar is None else sidecar
    parts: dict[str, bytes] = {
        "kernel.ll": code.ir.encode(),
        "kernel.s": code.assembly.encode(),
        "kernel.o": code.object(),
        "kernel.json": (json.dumps(said, indent=2) + "\n").encode(),
        "host.cpp": host_source(said).encode(),
        "module.json": (to_json(code.module) + "\n").encode(),
    }
    for number, document in enumerate(documents):
        more = f".{number}" if number else ""
        parts[f"kernel.schedule{more}.json"] = write_schedule(document).encode()
    if linked is not None:
        parts["kernel.hsaco"] = linked
    for name, data in parts.items():
        (folder / name).write_bytes(data)
    return tuple(folder / name for name in parts)


def pack(
    arguments: list[Mapping[str, Any]],
    views: Mapping[str, TensorView],
    lengths: Mapping[str, int],
    scalars: Mapping[str, Any],
) -> bytes:
    """The block of arguments: each at a multiple of its size, in order."""
    block = bytearray()
    # Lanes without an element read a tensor's first one and drop it. A tensor without elements has
    # none: the largest tensor stands for it.
    spare = max(views.values(), key=lambda v: prod(v.layout.shape), default=None)
    for argument in arguments:
        of = argument["of"]
        match argument["what"]:
            case "tensor":
                view = views[of]
                empty = 0 in view.layout.shape
                value: Any = spare.pointer if empty and spare is not None else view.pointer
            case "stride":
                value = views[of].layout.strides[argument["axis"]]
            case "size":
                if of not in lengths:
                    raise BackendError(f"the size of axis '{of}' is not known", fix="sizes={...}")
                value = lengths[of]
            case _:
                value = scalars[of]
        form = {"pointer": "<Q", "i64": "<q", "i32": "<i", "f32": "<f"}[argument["kind"]]
        size = struct.calcsize(form)
        block += bytes(-len(block) % size)
        block += struct.pack(form, float(value) if form == "<f" else int(value))
    return bytes(block)


def extents_of(kernel: Kernel, pins: Mapping[str, object]) -> dict[str, int]:
    """What pins say here: extents of variables and axes; other knobs are of other targets."""
    known = {v.name for v in kernel.vars} | {v.axis for v in kernel.vars}
    return {n: v for n, v in pins.items() if n in known and isinstance(v, int)}


def compile_for_amd(
    tile_kernel: TileKernel,
    types: Types,
    target: object,
    sizes: Mapping[str, int],
    constants: Mapping[str, object],
    without: Collection[str],
) -> CompiledMi355x:
    """``TileKernel.compile`` for a chip of AMD; ``ConfigError`` for any other target."""
    machine = MACHINES.get("mi355x" if isinstance(target, Mi355x) else str(target))
    if machine is None:
        known = (*HOPPER, *MACHINES)
        near = get_close_matches(str(target), known, n=1) if isinstance(target, str) else []
        hint = f"did you mean '{near[0]}'? Known: " if near else ""
        what = f"target {target!r}" if isinstance(target, str) else f"a {type(target).__name__}"
        raise ConfigError(
            f"{what} is not known",
            where="target",
            fix=f"{hint}{', '.join(known)}, or a HopperTarget by dataclasses.replace",
        )
    kernel = tile_kernel.value_for(tile_kernel.spell(types, without), sizes, constants, without)
    check_pins(kernel, tile_kernel.pins)
    return CompiledMi355x(kernel, extents_of(kernel, dict(tile_kernel.pins)), machine)
