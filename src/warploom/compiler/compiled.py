"""``Compiled``: what every pass makes of a kernel, from its value to a cubin; needs no GPU.

Passes run when something asks for their result. Candidates of the tile pass are tried in order of
their estimate until one can be scheduled, is proven, and is kept by ptxas: no register spilled, no
product serialised. What came out is kept on disk by content.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from warploom.codegen.cuda.threads import emit_threads
from warploom.codegen.cuda.tile.rows import emit_rows
from warploom.codegen.cuda.tile.source import Source, emit_pipelined
from warploom.codegen.cuda.tile.work import UnprintableError
from warploom.compiler.compile_cache import (
    cached_limit,
    cached_schedule,
    keep_refusal,
    keep_source,
    recall_refusal,
    recall_source,
    verdict_of,
)
from warploom.compiler.cubin import Cubin, SpillWarning, announced, compile_source, ptx_of, sass_of
from warploom.compiler.emit_cuda import emit_kernel
from warploom.compiler.pricing import priced, role_costs
from warploom.compiler.remembered import recall
from warploom.compiler.similar import similar_pins
from warploom.compiler.tuned import tuned_pins
from warploom.errors import (
    BackendError,
    CheckError,
    ConfigError,
    GeometryError,
    KernelError,
    SchedulingError,
)
from warploom.frontend import hooks
from warploom.frontend.simplify import simplify
from warploom.frontend.tile_kernel import TileKernel, Types
from warploom.garbage import few_collections
from warploom.interp.dataflow import (
    DataflowReport,
    require_clean_dataflow,
    require_computed,
    verify_dataflow,
)
from warploom.interp.executed import executed_sizes, require_executed, verify_executed
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.module import BuildRequest, KernelModule, knob
from warploom.ir.tile import Kernel, Load, Loop, Pointwise, Store, results, walk
from warploom.kernels.measured import ORDER, Pins
from warploom.kernels.registry import is_shipped
from warploom.modulo import ModuloOptions, ModuloResult
from warploom.passes.build_module import build_module
from warploom.passes.candidate_layout import CHOICES
from warploom.passes.driver import Lowered, Observer, lower
from warploom.passes.expand_products import split_f32_products
from warploom.passes.heuristics import Choice, check_pins, choose, unknown_pin
from warploom.passes.kernel_config import KernelConfig, config_of
from warploom.passes.rewrites import rewrite
from warploom.passes.row_module import build_row_module, rows_at_a_time
from warploom.passes.simt_layout import has_products
from warploom.passes.stated_module import stated_module
from warploom.passes.unroll import unrolled
from warploom.report import CodeReport
from warploom.targets.h200 import HOPPER, HopperTarget, h200
from warploom.verify.coverage import CoverageReport, require_covered, verify_coverage
from warploom.verify.findings import Report
from warploom.verify.roles import require_clean
from warploom.verify.roles.composition import require_composed

MOST_TRIED = 8
MOST_SMALL = 2  # configurations of the smallest arrays that are tried where all others spill
MOST_OWN = 4  # of the model, where a measured one spills in a form that nobody measured
SLIGHT_BYTES = 64  # spilled: as much as fewer products in flight may save
SPILL_BYTES = 16  # that are stored and loaded of a register that is spilled, at the least
MOST_LIKENED = 2  # configurations of a similar kernel that are tried before the model's
MOST_EXECUTED = 1_000_000  # instructions of all warps, where code is compared with its kernel
MOST_BLOCKS = 3  # plans of the block lowering whose machine code is looked at
SOLVE = ModuloOptions(
    find_work=4.0,
    prove_work=4.0,
    optimise_work=0.3,
    work=16.0,
    gap=0.01,
    gap_work=0.5,
    explain=False,
)
RESERVED_BYTES = 1024  # of shared memory, for the system, in every CTA
MOST_THREADS, MOST_CTAS = 2048, 32  # of an SM


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A config with its source and cubin; ``module``: the thread program of a kernel with products
    that is not pipelined.
    """

    config: KernelConfig
    source: Source
    cubin: Cubin
    module: KernelModule | None = None


class Compiled:
    """A kernel's value and everything that follows from it."""

    def __init__(
        self,
        kernel: Kernel,
        *,
        sizes: Mapping[str, int] | None = None,
        pins: Mapping[str, object] | None = None,
        positive: Collection[str] = (),
        target: HopperTarget | None = None,
        measured: Callable[[], Pins] | None = None,
        warns: bool = True,
        liken: bool = False,
    ) -> None:
        self.kernel: Kernel = kernel
        self.sizes, self._pinned, self._measured = dict(sizes or {}), dict(pins or {}), measured
        self.positive = frozenset(positive)
        self.target, self.warns, self._liken = target or h200(), warns, liken

    def _warn_of_spills(self, built: Built) -> None:
        """Authors can choose other tiles; callers of a public function cannot."""
        if self.warns:
            report = built.cubin.report
            what = (
                "the assembler waits for every product"
                if report.serialised
                else f"{report.spill_bytes} bytes of registers are spilled"
            )
            warnings.warn(
                f"kernel {self.kernel.name}, {built.config.name}: {what} in every"
                " configuration that was tried; smaller tiles (.with_config(...)) or shorter whole"
                " axes avoid it",
                SpillWarning,
                stacklevel=3,
            )

    def check(
        self,
        sizes: Mapping[str, int],
        *,
        scalars: Mapping[str, float] | None = None,
        axioms: Mapping[str, bool] | None = None,
    ) -> CodeReport:
        """The machine code's report for a small launch: races, deadlocks, broken rules.

        Scalars that are not given and have no usual value are 1.
        """
        from warploom.check import check  # noqa: PLC0415 (needs a CUDA compiler)
        from warploom.compiler.check_launch import launch_of  # noqa: PLC0415
        from warploom.compiler.described import binary_of  # noqa: PLC0415

        open_ = [s.name for s in binary_of(self).scalars if getattr(s, "default", None) is None]
        values = {**dict.fromkeys(open_, 1.0), **(scalars or {})}
        return check(self.ptx_with_lines, launch_of(self, sizes, scalars=values), axioms=axioms)

    def require_checked(self, sizes: Mapping[str, int]) -> None:
        """``CheckError`` where the machine code is not clean for a small launch."""
        report = self.check(sizes)
        if not report.clean:
            raise CheckError(
                f"the machine code is {report.verdict.value}",
                where=f"check={dict(sizes)}",
                why=report.text()[:2000],
                fix="warploom check KERNEL shows the whole report",
            )

    def __repr__(self) -> str:
        what = f"Compiled kernel {self.kernel.name} for {self.target.name}"
        if "built" not in self.__dict__:
            return f"<{what}, not built yet>"
        return (
            f"<{what}: {self.config.name}, {self.registers} registers,"
            f" {self.spill_bytes} bytes spilled, {self.shared_bytes} bytes of shared memory,"
            f" {self.occupancy} CTAs of {self.built.source.threads} threads on an SM>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from warploom.compiler.rich import hopper_html  # noqa: PLC0415 (notebooks only)

        return hopper_html(self)

    def __getstate__(self) -> dict[str, Any]:
        """What was measured is looked up before it is pickled, and goes along."""
        held = {"pins": self.pins} if self._measured is not None else {}
        return {**self.__dict__, **held, "_measured": None}

    @property
    def pinned(self) -> dict[str, object]:
        """What the author pinned, and nothing that was measured."""
        return self._pinned

    @cached_property
    def pins(self) -> dict[str, object]:
        """What is pinned; else what was measured for such a kernel, where that can be scheduled."""
        best = self._measured() if self._measured is not None and not self._pinned else ()
        for pins in alternatives(best):
            if self._can_lower(dict(pins)):
                return dict(pins)
        return self._pinned or self.likened

    @cached_property
    def likened(self) -> dict[str, object]:
        """What was measured for a shipped kernel that does the same to tiles, where that can be
        scheduled; the model's own choices follow it.
        """
        if not self._liken or self._pinned:
            return {}
        found = map(dict, similar_pins(self.simplified, self.sizes))
        return next((pins for pins in found if self._can_lower(pins)), {})

    def _can_lower(self, pins: dict[str, object]) -> bool:
        made = Compiled(
            self.kernel, sizes=self.sizes, pins=pins, positive=self.positive, target=self.target
        )
        try:
            made.lower(made.choices[0].config)
        except (BackendError, ConfigError, GeometryError, KernelError, SchedulingError):
            return False
        return True

    @cached_property
    def simplified(self) -> Kernel:
        """After the rewrites of the language."""
        return simplify(self.kernel)

    @cached_property
    def rewritten(self) -> Kernel:
        """After the rewrites experts use; the tile pass and all later ones start from it."""
        made = rewrite(self.simplified, positive=self.positive)
        check_pins(made, self.pins)
        return unrolled(made, int(str(self.pins.get("unroll", 1))))

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """Configurations, the best by estimate first."""
        result = choose(self.rewritten, self.sizes, pins=self.pins, target=self.target)
        if not self.pins or self.pins != self.likened:
            return result
        free = {n: v for n, v in self.pins.items() if n == "unroll"}  # what was rewritten with it
        with suppress(GeometryError, KernelError):
            own = choose(self.rewritten, self.sizes, pins=free, target=self.target)
            return tuple(dict.fromkeys((*result[:MOST_LIKENED], *own)))
        return result

    def launched(self, built: Built | None = None) -> Kernel:
        """The kernel that a build was made of."""
        source = (built or self.built).source
        return self.simplified if source.any_alignment else self.rewritten

    @property
    def config(self) -> KernelConfig:
        """The config that is built."""
        return self.built.config

    @cached_property
    def lowered(self) -> Lowered:
        """The schedule of the config that is built."""
        return self.lower(self.config)

    @cached_property
    def module(self) -> KernelModule:
        """The kernel module of the config that is built; ``KernelError`` where there is none."""
        if self._runs_threads():
            return self.thread_module
        if has_products(self.kernel) and self.built.module is not None:
            return self.built.module
        if not self.loops:
            return self.row_module
        return build_module(self.kernel, self.lowered)

    @cached_property
    def row_module(self) -> KernelModule:
        """The module of a kernel without a loop, whose lanes share rows; ``KernelError`` where its
        rows are others.
        """
        return build_row_module(self.kernel, self.rewritten)

    @cached_property
    def thread_module(self) -> KernelModule:
        """The module of a kernel without matrix products, whose threads run one program."""
        from warploom.passes.thread_module import (  # noqa: PLC0415 (pipelined kernels do not)
            build_thread_module,
        )

        return build_thread_module(self.kernel, self.simplified, self.sizes, self.pins)

    @cached_property
    def program(self) -> KernelModule | None:
        """The thread program that runs; None where threads have roles."""
        if self._runs_threads():
            return self.thread_module
        if not has_products(self.kernel):
            return None
        try:
            self.lower(self.choices[0].config)
        except (GeometryError, KernelError, SchedulingError, UnprintableError):
            return self.built.module
        return None

    def _runs_threads(self) -> bool:
        """Whether what runs is printed from the thread program of a kernel without products."""
        found = self.without_products()
        return found is not None and found[0].any_alignment

    def module_of(self, config: KernelConfig) -> KernelModule:
        """The kernel module for a config."""
        if not config.consumer_warpgroups and self.program is not None:
            return self.program
        if not self.loops:
            return self.row_module
        asked = BuildRequest(
            knobs=tuple(knob(name, value) for name, value in config.pins),
            sizes=tuple(sorted(self.sizes.items())),
            positive=tuple(sorted(self.positive)),
        )
        return replace(build_module(self.kernel, self.lower(config)), request=asked)

    @cached_property
    def coverage(self) -> CoverageReport:
        """What is verified of the module's indices, trip counts, predicates and stores."""
        return verify_coverage(self.module)

    @cached_property
    def dataflow(self) -> DataflowReport:
        """Whether what runs computes the author's kernel: a module on random elements, for six
        size classes; code that no module is printed to, as machine code.
        """
        built = self.built
        stated = built.module is not None or self.without_products() is not None
        if built.config.consumer_warpgroups or stated:
            return verify_dataflow(self.module)
        return self._executed(self.launched(built), built.source, built.config)

    def _executed(self, emitted: Kernel, source: Source, config: KernelConfig) -> DataflowReport:
        """Whether code that no module is printed to computes the kernel, executed once."""
        from warploom.compiler.check_launch import executed  # noqa: PLC0415 (it launches this class)

        def run(
            arrays: Mapping[str, Any], scalars: Mapping[str, float], sizes: Mapping[str, int]
        ) -> Mapping[str, Any]:
            code = emitted, source, config
            return executed(
                self.kernel, code, arrays, scalars, sizes, budget=MOST_EXECUTED, clean=False
            )

        extents = dict(config.tile)
        sizes = executed_sizes(self.kernel, extents, self.sizes)
        name = f"{self.kernel.name} {config.name}"
        return verdict_of(
            self.kernel,
            source.text,
            sizes,
            lambda: verify_executed(self.kernel, name, run, sizes, extents),
        )

    @property
    def loops(self) -> bool:
        """Whether the kernel has a loop that is pipelined; threads run other loops as they are."""
        looped = any(isinstance(op, Loop) for op in self.rewritten.ops)
        return looped and not self._runs_threads()

    @property
    def document(self) -> RolesDocument:
        """The programs of the roles, with the declared dataflow."""
        return self.lowered.document

    @cached_property
    def report(self) -> Report:
        """The verdict; ``VerificationError`` where the schedule is not proven."""
        for document in self.lowered.documents[:-1]:
            require_clean(document)
        require_composed(self.lowered.documents)
        return require_clean(self.document)

    @property
    def cuda(self) -> str:
        """The CUDA source."""
        return self.built.source.text

    @property
    def cubin(self) -> bytes:
        """The compiled kernel."""
        return self.built.cubin.data

    @property
    def registers(self) -> int | None:
        """Registers of a thread at entry, by ptxas."""
        return self.built.cubin.report.registers

    @property
    def ptx(self) -> str:
        """The PTX of the kernel that is built."""
        return ptx_of(self.built.source.text)

    @property
    def ptx_with_lines(self) -> str:
        """The PTX with the lines of the CUDA source, as ``check`` reads it."""
        return ptx_of(self.cuda, options=("-lineinfo",))

    @property
    def sass(self) -> str:
        """Its machine code as text, by ``nvdisasm``."""
        return sass_of(self.cubin)

    @property
    def spill_bytes(self) -> int:
        """Bytes of stores and loads of spilled registers, by ptxas."""
        return self.built.cubin.report.spill_bytes

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a CTA."""
        return self.built.source.shared_bytes

    @property
    def occupancy(self) -> int:
        """CTAs that an SM runs at once, by registers, shared memory and threads."""
        limits, threads = self.target.limits, self.built.source.threads
        step = limits.setmaxnreg_step
        registers = -(-(self.registers or 1) // step) * step
        by_registers = limits.registers_per_sm // (registers * threads)
        by_memory = (limits.smem_per_block + RESERVED_BYTES) // (self.shared_bytes + RESERVED_BYTES)
        return max(0, min(by_registers, by_memory, MOST_THREADS // threads, MOST_CTAS))

    def timeline(self, form: str = "text", *, trips: int = 4) -> str:
        """A tile over time, by the simulator: ``text``, ``svg``, ``html`` or ``perfetto``."""
        from warploom.sim.simulation import simulate_roles  # noqa: PLC0415
        from warploom.viz.timeline import draw  # noqa: PLC0415

        sim = simulate_roles(self.document, role_costs(self.lowered, self.target), trips=trips)
        return draw(sim, form)

    def export(self, folder: str | Path, *, name: str = "") -> tuple[Path, ...]:
        """A folder that runs without this package: cubin, description, C header with a launcher."""
        from warploom.compiler.export import export  # noqa: PLC0415 (it describes this class)

        return export(self, folder, name=name)

    @property
    def llvm(self) -> str:
        """``BackendError``: CUDA's compilers show none; ``ptx``, ``sass`` and ``cuda`` exist."""
        raise BackendError(
            f"no LLVM IR of kernel {self.kernel.name}",
            where="compiled.llvm",
            why="CUDA's compilers do not show it; for MI355X code goes through LLVM",
            fix="compiled.ptx, compiled.sass or compiled.cuda",
        )

    @property
    def asm(self) -> str:
        """The assembly that is shown everywhere: PTX; ``sass`` is what the chip executes."""
        return self.ptx

    def after(self, name: str) -> str:
        """What the kernel is after a pass (``compiler.pass_list``), as text."""
        from warploom.compiler import pass_list  # noqa: PLC0415 (printing loads the listings)

        return pass_list.after(self, name)

    def dump_passes(self, folder: str | Path) -> str:
        """Write the kernel after every pass; the table of passes with their times."""
        from warploom.compiler import pass_list  # noqa: PLC0415

        return pass_list.dump(self, Path(folder))

    def lower(self, config: KernelConfig, observe: Observer | None = None) -> Lowered:
        """The schedule for a config; ``observe`` sees every pass."""
        with announced(f"scheduling {self.kernel.name} {config.name}"):
            found = lower(
                self.rewritten,
                config,
                target=self.target,
                options=SOLVE,
                keep=cached_schedule,
                observe=observe,
            )
        return priced(found, self.target)

    def limit_of(self, result: ModuloResult) -> str:
        """What blocks a lesser interval of a schedule of ``lower``.

        Compiling does not ask that where search refuted the interval; the first call does.
        """
        with announced(f"asking what limits {self.kernel.name}"):
            return cached_limit(result, SOLVE)

    @cached_property
    def built(self) -> Built:
        """The first candidate that ptxas keeps; else, of those not serialised, the least spilt."""
        with few_collections():
            return self._first_kept()

    def _first_kept(self) -> Built:
        result = self._build_without_products()
        if result is not None:
            return result
        try:
            return self._build_pipelined()
        except (GeometryError, KernelError, SchedulingError, UnprintableError) as error:
            return self._build_block(error)

    def _build_block(self, refused: Exception) -> Built:
        spilled: list[Built] = []
        for module in islice(self.block_modules(refused), MOST_BLOCKS):
            assert module.threads is not None
            extents = dict(module.threads.extents)
            config = config_of(self.blocks, consumer_warpgroups=0, **extents)
            result = replace(self._built(config, emit_threads(module)), module=module)
            if result.cubin.report.kept:
                self._verify_program(module, result.source, self.blocks, config)
                return result
            spilled.append(result)
        least = min(spilled, key=lambda b: b.cubin.report.spill_bytes)
        assert least.module is not None
        self._verify_program(least.module, least.source, self.blocks, least.config)
        self._warn_of_spills(least)
        return least

    @cached_property
    def blocks(self) -> Kernel:
        """The kernel as the block lowering takes it."""
        return block_form(self.kernel)

    def block_modules(self, refused: Exception) -> Iterator[KernelModule]:
        """What cannot be pipelined, as programs of all threads of a CTA, the largest tiles first.

        ``refused`` where it has no products, or where choices of a pipeline are pinned.
        """
        from warploom.passes.block_module import build_block_module  # noqa: PLC0415 (few need it)
        from warploom.passes.block_plan import block_plans  # noqa: PLC0415

        kernel = self.blocks
        if not has_products(kernel) or set(self.pins) - {v.name for v in kernel.vars}:
            raise refused
        check_pins(kernel, self.pins)
        for plan in block_plans(kernel, self.sizes, self.pins):
            yield build_block_module(self.kernel, plan, self.sizes, self.pins)

    def _build_pipelined(self) -> Built:
        said: list[str] = []
        spilled: list[Built] = []
        serialised: list[Built] = []
        for config in self._attempts(spilled, serialised):
            try:
                result = self.build(config)
            except (SchedulingError, GeometryError) as error:
                said.append(f"{config.name}: {error}")
                continue
            report = result.cubin.report
            if report.kept:
                return result
            (serialised if report.serialised else spilled).append(result)
            said.append(
                f"{config.name}: {report.spill_bytes} bytes spilled"
                + "".join(f", {m}" for m in report.messages)
            )
        if spilled or serialised:  # right, and slower: products wait, or registers lie in memory
            least = min(spilled or serialised, key=lambda b: b.cubin.report.spill_bytes)
            self._warn_of_spills(least)
            return least
        raise GeometryError(
            f"no config of kernel {self.kernel.name} can be built",
            where=f"sizes {self.sizes}, pins {self.pins}",
            why="; ".join(said),
            fix="pin smaller extents with .with_config(...)",
        )

    def _attempts(
        self, spilled: Sequence[Built], serialised: Sequence[Built]
    ) -> Iterator[KernelConfig]:
        """Configurations to be built one after the other, by what became of those before.

        Where one spilled, others that put as much on registers wait until the rest is tried. Where
        none was kept, fewer products in flight of those that were serialised or spilled a little,
        and where registers were spilled, what puts least on them.
        """
        pressure = {choice.config: choice.pressure for choice in self.choices}
        tried: list[KernelConfig] = []
        late: list[KernelConfig] = []
        for choice in self.choices:
            least = min((pressure[b.config] - _beyond(b) for b in spilled), default=None)
            if len(tried) == MOST_TRIED:
                break
            if least is not None and choice.pressure > least:
                late.append(choice.config)
                continue
            tried.append(choice.config)
            yield choice.config
        more = late[: MOST_TRIED - len(tried)]
        yield from more
        slight = [b for b in spilled if b.cubin.report.spill_bytes <= SLIGHT_BYTES]
        made = {b.config for b in (*slight, *serialised)}
        again = [t for t in (*tried, *more) if t in made and not t.drain_mma]
        yield from (replace(t, drain_mma=True) for t in again)
        if spilled:
            left = [c for c in pressure if c not in (*tried, *more)]
            yield from sorted(left, key=lambda c: pressure[c])[:MOST_SMALL]
            yield from self._unpinned(spilled)

    def _unmeasured(self, built: Built) -> bool:
        """Whether pins leave open that the loop comes in parts, as it does in a build: parts have
        code of their own, that those who measured the pins did not see.
        """
        return bool(self.pins) and "split_k" not in self.pins and built.config.split_k > 1

    @property
    def spills_in_parts(self) -> bool:
        """Whether registers are spilled in code that nobody measured."""
        return not self.built.cubin.report.kept and self._unmeasured(self.built)

    def _unpinned(self, spilled: Sequence[Built]) -> tuple[KernelConfig, ...]:
        """The model's own choices, where what was measured spills in a form that was not: with its
        loop in parts.
        """
        if self._pinned or not any(map(self._unmeasured, spilled)):
            return ()
        free = {n: v for n, v in self.pins.items() if n == "unroll"}
        own = choose(self.rewritten, self.sizes, pins=free, target=self.target)
        known = {c.config: c.pressure for c in self.choices}
        least = min(known.get(b.config, 0) - _beyond(b) for b in spilled)
        return tuple(c.config for c in own if c.pressure <= least)[:MOST_OWN]

    def _build_without_products(self) -> Built | None:
        found = self.without_products()
        if found is None:
            return None
        source, config = found
        cubin = compile_source(source.text, name=self.kernel.name, checked=False)
        launched = self.simplified if source.any_alignment else self.rewritten
        self._verify_program(self.module, source, launched, config)
        return Built(config=config, source=source, cubin=cubin)

    def _verify_program(
        self, module: KernelModule, source: Source, launched: Kernel, config: KernelConfig
    ) -> None:
        """``VerificationError`` for a module that is wrong. Its code is executed where the
        module is not judged, and of code that authors wrote themselves: the module knows its
        meaning alone.
        """
        if not self._judged(module, source) or _has_code(self.kernel):
            require_executed(self._executed(launched, source, config), self.kernel)

    def _judged(self, module: KernelModule, source: Source) -> bool:
        """Whether a module could be judged; ``VerificationError`` where it is wrong. The
        verdict is kept.
        """
        require_covered(module)
        sizes = [dict(module.request.sizes)] if module.request is not None else []
        report = verdict_of(
            self.kernel, source.text, sizes, lambda: verify_dataflow(module, classes=1)
        )
        return not require_clean_dataflow(report, module).not_judged

    def without_products(self) -> tuple[Source, KernelConfig] | None:
        """The source of a kernel without matrix products, and the extents of its tiles."""
        return self._without_products

    @cached_property
    def _without_products(self) -> tuple[Source, KernelConfig] | None:
        """A kernel without matrix products has no schedule: threads hold elements of its tiles.

        None where it has products, where the author pinned choices of the pipelined form, or where
        only that can do it.
        """
        kernel = self.simplified
        if has_products(kernel):
            return None
        looped = any(isinstance(op, Loop) for op in kernel.ops)
        if looped and set(self.pins) - {v.name for v in kernel.vars}:
            return None
        check_pins(kernel, self.pins)
        if not looped and not _gathers(kernel):
            with suppress(KernelError):
                module = self.row_module
                return emit_rows(module), config_of(
                    kernel, consumer_warpgroups=0, **rows_at_a_time(module)
                )
        try:
            source = emit_threads(self.thread_module)
        except KernelError:
            if not looped:
                raise
            return None
        assert self.thread_module.threads is not None
        extents = dict(self.thread_module.threads.extents)
        return source, config_of(kernel, consumer_warpgroups=0, **extents)

    def build(self, config: KernelConfig, *, stamps: bool = False) -> Built:
        """Schedule, prove, emit and compile a config, or recall it; ptxas' verdict is left open.

        With ``stamps`` its loop writes clocks.
        """
        source = recall_source(self.rewritten, config, self.target, stamps=stamps)
        if source is None:
            lowered = self._scheduled(config)
            for document in lowered.documents:
                require_clean(document)
            require_composed(lowered.documents)
            module = stated_module(self.kernel, lowered)
            require_covered(module)
            require_computed(module)
            source = emit_pipelined(module, self.target, stamps=stamps)
            keep_source(self.rewritten, config, self.target, source)
        return self._built(config, source)

    def _scheduled(self, config: KernelConfig) -> Lowered:
        """The schedule for a config; that there is none is kept too."""
        refusal = recall_refusal(self.rewritten, config, self.target)
        if refusal is not None:
            raise refusal
        try:
            return self.lower(config)
        except SchedulingError as error:
            keep_refusal(self.rewritten, config, self.target, error)
            raise

    def built_from(
        self, document: RolesDocument, config: KernelConfig, *, stamps: bool = False
    ) -> Built:
        """The programs of a document in place of the schedule's own; it is not verified here."""
        lowered = replace(self.lower(config), document=document)
        return self._built(config, emit_kernel(lowered, self.target, stamps=stamps))

    def source_from(self, documents: Sequence[RolesDocument]) -> str:
        """CUDA with these programs in place of the schedule's own; they are not verified here."""
        lowered = self.lower(self.choices[0].config)
        earlier = tuple(
            replace(x, document=d) for x, d in zip(lowered.earlier, documents, strict=False)
        )
        made = replace(lowered, document=documents[-1], earlier=earlier)
        return emit_kernel(made, self.target).text

    def _built(self, config: KernelConfig, source: Source) -> Built:
        name = f"{self.kernel.name} {config.name}"
        cubin = compile_source(source.text, name=name, checked=False)
        return Built(config=config, source=source, cubin=cubin)


def _beyond(built: Built) -> int:
    """By how many registers a build exceeds what there is, at the least."""
    return max(1, built.cubin.report.spill_bytes // SPILL_BYTES)


def block_form(kernel: Kernel) -> Kernel:
    """A kernel as the block lowering takes it."""
    return simplify(split_f32_products(kernel), without=("exp2",))


def _has_code(kernel: Kernel) -> bool:
    """Whether authors wrote functions for the target."""
    return any(isinstance(op, Pointwise) and op.code is not None for op in walk(kernel.ops))


def _gathers(kernel: Kernel) -> bool:
    """Whether an index of an access is a vector."""
    shapes = {v.name: v.dims for op in kernel.ops for v in results(op)}
    accesses = [op for op in kernel.ops if isinstance(op, Load | Store)]
    return any(i.value is not None and shapes[i.value] for op in accesses for i in op.at)


def compile_kernel(
    tile_kernel: TileKernel,
    types: Types,
    *,
    sizes: Mapping[str, int],
    constants: Mapping[str, object],
    without: Collection[str],
    positive: frozenset[str],
    target: object = None,
    free: bool = False,
) -> Any:  # noqa: ANN401 (what another target's compiler gives)
    """``TileKernel.compile``. ``free``: nothing that was measured is taken."""
    tile_kernel.check_names("sizes", sizes, tile_kernel.axes, "axes of the kernel")
    tile_kernel.check_names(
        "positive", positive, tile_kernel.signature.scalars, "scalars of the kernel"
    )
    if isinstance(target, str) and target in HOPPER:
        target = HOPPER[target]()
    if target is not None and not isinstance(target, HopperTarget):
        assert hooks.amd_compiler is not None
        return hooks.amd_compiler(tile_kernel, types, target, sizes, constants, without)
    wanted = tile_kernel.spell(types, without)
    kernel = tile_kernel.value_for(wanted, sizes, constants, without)
    whole = not free and {v.axis for v in kernel.vars} <= set(sizes) and target in (None, h200())

    def measured() -> Pins:
        """As a call of these sizes would have it; of a part of the sizes nothing is known."""
        own = tuple(sorted((v.axis, sizes[v.axis]) for v in kernel.vars)) if whole else ()
        known = recall(kernel, dict(own)) if whole else ()
        return known or (tuned_pins(tile_kernel, kernel, constants, sizes) if whole else ())

    return Compiled(
        kernel,
        liken=whole and not is_shipped(tile_kernel),
        sizes=sizes,
        pins=tile_kernel.pins,
        positive=positive,
        target=target,
        measured=measured,
    )


def check_pin_names(tile_kernel: TileKernel, pins: Mapping[str, object]) -> None:
    """``ConfigError`` for a pin that is neither a knob nor an extent; values are looked at when a
    kernel is compiled, for the variables that it has then.
    """
    variables = tile_kernel.function.__code__.co_varnames
    for name in pins:
        if name in CHOICES or name in variables:
            continue
        if any(name == a or name.startswith(f"{a}_") for a in tile_kernel.axes):
            continue
        raise unknown_pin(name, tile_kernel.axes, tile_kernel.name)


def alternatives(pins: Pins) -> tuple[Pins, ...]:
    """What was measured for kernels of a kind; for one that has no place for it, with another
    order of its own.
    """
    return tuple(dict.fromkeys((pins, tuple(p for p in pins if p[0] not in ORDER)))) if pins else ()
