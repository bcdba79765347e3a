"""What is searched: a body on its workbench, its schedule's own orders, orders compiled back."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from warploom.dataclass import dataclass
from warploom.errors import WarploomError, WarploomWarning
from warploom.ir.schedule_ops import DepEdge, OpDesc
from warploom.modulo.sequence import Program, as_result
from warploom.modulo.starts import Start
from warploom.pipeline.compile import CompiledSchedule, compile_schedule
from warploom.pipeline.compile.hooks import Hooks, own_machine
from warploom.pipeline.compile.modulo import scheduled
from warploom.pipeline.compile.result import counters
from warploom.pipeline.config.pipeline import SchedulingStrategy
from warploom.pipeline.modulo.auto import WHOLE, Split, Workbench, body_order, refined, workbench
from warploom.pipeline.modulo.bridge import ModuloRequest
from warploom.pipeline.schedule import PipelineSchedule
from warploom.pipeline.schedules.shipped import tuned
from warploom.pipeline.sync.marks import SyncPolicy
from warploom.sim import MachineCosts
from warploom.sync.counters import synthesise
from warploom.verify import verify

Baseline = tuple[str, CompiledSchedule, float]
Sequenced = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A schedule at one granularity; ``parts`` maps its declared ops to those of the bench."""

    hooks: Hooks
    body: tuple[OpDesc, ...]
    edges: tuple[DepEdge, ...]
    bench: Workbench
    parts: tuple[tuple[int, ...], ...]
    split: Split

    def starts(self, baselines: Sequence[Baseline]) -> list[Sequenced]:
        """Orders over the declared ops: the body's own, and those of the compiled baselines."""
        out: list[Sequenced] = [("identity order", tuple(range(len(self.body))))]
        for name, compiled, _ in baselines:
            order = _order_in(self.body, [e.op for e in compiled.kernel])
            if order is not None:
                out.append((f"{name} order", order))
        return out

    def programs(self, orders: Sequence[Sequenced]) -> list[Start]:
        """Those orders on the bench's ops, each op replaced by its parts."""
        out = []
        for name, order in orders:
            fine = [i for v in order if v < len(self.parts) for i in self.parts[v]]
            if sorted(fine) == list(range(len(self.bench.parts.ops))):
                out.append(body_order(self.bench, fine, name))
        return out


def finer_splits(schedule: PipelineSchedule) -> tuple[Split, ...]:
    """The body as declared, and cut finer wherever its loads, reads and products can be."""
    hooks = Hooks(schedule)
    units = counters(hooks.config(), hooks.schedule_config())
    out = [WHOLE]
    for split in ((2, 1), (2, 2), (1, 2)):
        with suppress(WarploomError):
            refined(hooks.build_body(), units, split)
            if _leaves_whole_products(hooks, split):
                out.append(split)
    return tuple(out)


def _leaves_whole_products(hooks: Hooks, split: Split) -> bool:
    """Whether every wave still has whole matrix instructions in every sub-tile."""
    if hooks.shape is None:
        return True
    config, waves = hooks.config(), hooks.protocol(0)
    count = waves.groups * waves.waves_per_group
    rows = hooks.shape.tile[0] // (config.m_mmas * split[0])
    columns = hooks.shape.tile[1] // (config.n_mmas * split[1])
    m, n, _ = hooks.shape.mma
    grids = [(w, count // w) for w in range(1, count + 1) if count % w == 0]
    return any(rows % (a * m) == 0 and columns % (b * n) == 0 for a, b in grids)


def machine_of(schedule: PipelineSchedule) -> MachineCosts:
    """The machine every command prices a schedule by."""
    hooks = Hooks(schedule)
    return own_machine(hooks, tuple(hooks.build_body())) or MachineCosts()


def subject_of(
    schedule: PipelineSchedule, machine: MachineCosts, split: Split, lds_bytes: int | None = None
) -> Subject:
    """Put a schedule's body on the bench."""
    hooks = Hooks(schedule)
    body = tuple(hooks.build_body())
    edges = tuple(hooks.derive_edges(body))
    request = ModuloRequest(smem_budget=lds_bytes, max_depth=2)
    bench, parts = workbench(hooks, body, edges, machine=machine, request=request, split=split)
    return Subject(hooks=hooks, body=body, edges=edges, bench=bench, parts=parts, split=split)


def _order_in(body: Sequence[OpDesc], entries: Sequence[OpDesc]) -> tuple[int, ...] | None:
    """The order in which a kernel runs the body's ops; None when it does not run each once."""
    free: dict[tuple[int, int, int], list[int]] = {}
    for v, op in enumerate(body):
        free.setdefault((int(op.tag), op.stage, op.subtile), []).append(v)
    order = []
    for op in entries:
        left = free.get((int(op.tag), op.stage, op.subtile))
        if left:
            order.append(left.pop(0))
    return tuple(order) if len(order) == len(body) else None


def baselines(schedule: PipelineSchedule) -> Iterator[tuple[str, CompiledSchedule]]:
    """The schedule's own kernels by strategy, with proven waits; equal ones once."""
    seen = []
    for strategy in (
        SchedulingStrategy.IDENTITY,
        SchedulingStrategy.GREEDY,
        SchedulingStrategy.CSP,
    ):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", WarploomWarning)
                compiled = compile_schedule(
                    tuned(schedule, scheduling=strategy), sync=SyncPolicy.PROVEN_WEAKEST
                )
        except WarploomError:
            continue  # this order cannot be compiled or loses data: no candidate
        if compiled.kernel not in seen:
            seen.append(compiled.kernel)
            yield strategy.name.lower(), compiled


def compiled_order(subject: Subject, program: Program, effort: int) -> CompiledSchedule | None:
    """An order as a compiled schedule: synchronised, with reasons, checked clean; else None."""
    bench, hooks = subject.bench, subject.hooks
    result = as_result(bench.parts.problem, program)
    if result is None:
        return None
    try:
        done = synthesise(
            bench.document(result), cost=bench.interval(), prices=bench.stalls(), limit=effort
        )
    except WarploomError:
        return None
    report = verify(done.document)
    if report.verdict != "clean":
        return None
    document, config = done.document, hooks.config()
    (vm_a, vm_b), (lgkm_a, lgkm_b) = bench.units.vm_per_load, bench.units.lgkm_per_load
    a, b = subject.split
    whole = subject.split == WHOLE
    body, edges = (subject.body, subject.edges) if whole else (bench.parts.ops, ())
    return replace(
        scheduled(hooks, body, edges, bench.parts, result, ModuloRequest()),
        config=replace(
            config,
            vm_per_load_a=vm_a,
            vm_per_load_b=vm_b,
            lgkm_per_load_a=lgkm_a,
            lgkm_per_load_b=lgkm_b,
            m_mmas=config.m_mmas * a,
            n_mmas=config.n_mmas * b,
        ),
        schedule_config=replace(hooks.schedule_config(), scheduling=SchedulingStrategy.AUTO),
        protocol=document.protocol,
        prologue=document.prologue,
        kernel=document.kernel,
        epilogue=document.epilogue,
        sync=SyncPolicy.PROVEN_WEAKEST,
        reasons=done.reasons,
        report=report,
    )
