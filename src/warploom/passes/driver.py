"""The passes of one pipelined loop, and what they leave: ``Lowered``.

``LOOP_PASSES`` is the list, in order; each pass is a function from ``LoopState`` to ``LoopState``
whose work is in the file it is named after. ``compiler.pass_list`` shows them among all passes of
a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import partial
from time import perf_counter
from typing import NamedTuple

from warploom.dataclass import dataclass
from warploom.errors import CycleError
from warploom.ir.mbarrier_dialect import RolesDocument, WaitFull
from warploom.ir.rings import Per
from warploom.ir.tile import Kernel
from warploom.modulo import ModuloOptions, ModuloProblem, ModuloResult
from warploom.modulo.symmetry import solve_alike
from warploom.passes.body import Body, body_of, refusal
from warploom.passes.candidates import SOURCE_ORDER, candidates_of, given_times, in_source_order
from warploom.passes.cross_cta import exchanges_of
from warploom.passes.dataflow import flow_of
from warploom.passes.dependence_graph import problem_of
from warploom.passes.drain_mma import settled
from warploom.passes.fuse import Step, fuse
from warploom.passes.fuse_chains import join
from warploom.passes.gather import gather_registers
from warploom.passes.hoist_full_wait import awaited_early
from warploom.passes.kernel_config import KernelConfig, part_config
from warploom.passes.layout import Layout, lay_out
from warploom.passes.legality import check_allowed
from warploom.passes.loop_bounds import fewest_trips
from warploom.passes.loop_ops import CONSUMER, takes_turns
from warploom.passes.loops import each_loop
from warploom.passes.smem_budget import less_memory
from warploom.passes.split_k import drained, refuse_split
from warploom.passes.split_mma import parted, parted_flow
from warploom.passes.warp_specialize import plan_of
from warploom.sync.mbarrier import Plan, derive_roles
from warploom.targets.h200 import HopperTarget, h200

Keep = Callable[[ModuloProblem, str, Callable[[], ModuloResult]], ModuloResult]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Lowered:
    """A kernel on its way: what each pass made of it.

    Of several loops in a tile it is the last one; ``earlier`` are those before it.
    """

    kernel: Kernel
    config: KernelConfig
    layout: Layout
    problem: ModuloProblem
    result: ModuloResult
    plan: Plan
    document: RolesDocument
    earlier: tuple[Lowered, ...] = ()

    @property
    def documents(self) -> tuple[RolesDocument, ...]:
        """The programs of all loops, in order; each is proven by itself."""
        return (*(x.document for x in self.earlier), self.document)

    def __repr__(self) -> str:
        where = f"{self.document.name} on {self.document.target}"
        return f"<Lowered {where}: interval {self.result.ii}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopState:
    """One loop between two passes. What no pass has made yet is not to be read."""

    kernel: Kernel
    config: KernelConfig
    target: HopperTarget
    number: int = 0  # of the loop in its tile
    tag: str = ""
    options: ModuloOptions | None = None
    cache: Keep | None = None
    body: Body = field(default=None)  # type: ignore[assignment]
    steps: tuple[Step, ...] = ()
    layout: Layout = field(default=None)  # type: ignore[assignment]
    problem: ModuloProblem = field(default=None)  # type: ignore[assignment]
    plan: Plan = field(default=None)  # type: ignore[assignment]
    result: ModuloResult = field(default=None)  # type: ignore[assignment]
    document: RolesDocument = field(default=None)  # type: ignore[assignment]

    @property
    def name(self) -> str:
        """The name of the loop's programs."""
        return f"{self.kernel.name}_{self.config.name}{self.tag}"


def _find_body(state: LoopState) -> LoopState:
    return replace(state, body=body_of(state.kernel))


def _fuse_ops(state: LoopState) -> LoopState:
    return replace(state, steps=fuse(state.body))


def _fuse_vector_chains(state: LoopState) -> LoopState:
    if not state.config.fuse_vector_chains:
        return state
    return replace(state, steps=join(state.body, state.steps))


def _assign_layouts(state: LoopState) -> LoopState:
    return replace(state, layout=lay_out(state.body, state.config, state.steps))


def _check_legality(state: LoopState) -> LoopState:
    check_allowed(state.layout)
    return state


def _build_dependence_graph(state: LoopState) -> LoopState:
    return replace(state, problem=problem_of(state.layout, state.target, state.name))


def _specialize_warps(state: LoopState) -> LoopState:
    plan = plan_of(state.layout, state.target, state.name, state.number)
    return replace(state, plan=plan)


def _modulo_schedule(state: LoopState) -> LoopState:
    try:
        found = schedule(state.problem, state.plan, state.layout, state.options, state.cache)
    except CycleError as error:
        raise refusal(
            "carried values of this loop are made of one another",
            state.body.loop.line,
            why="each is replaced after the other was read, by steps that run one after the other",
            fix="make them by the same kind of work, or carry one of them in a kernel of its own",
        ) from error
    return replace(state, result=found)


def _derive_sync(state: LoopState) -> LoopState:
    return replace(state, document=derive_roles(state.result, state.plan))


def _drain_mma(document: RolesDocument, config: KernelConfig) -> RolesDocument:
    return settled(document) if config.drain_mma else document


def _hoist_full_wait(document: RolesDocument, config: KernelConfig) -> RolesDocument:
    return awaited_early(document, CONSUMER) if config.full_wait_after > 0 else document


def _split_mma(document: RolesDocument, config: KernelConfig) -> RolesDocument:
    return parted(document, CONSUMER) if config.deferred_mmas else document


def _on_document(
    edit: Callable[[RolesDocument, KernelConfig], RolesDocument],
) -> Callable[[LoopState], LoopState]:
    return lambda state: replace(state, document=edit(state.document, state.config))


def _check_split_k(state: LoopState) -> LoopState:
    refuse_split(state.layout, state.document)
    return replace(state, document=drained(state.document))


def _assign_registers(state: LoopState) -> LoopState:
    config = state.config
    split = state.target.register_split(
        config.warpgroups,
        cluster=config.ctas > 1,
        producer=gather_registers(state.layout.rings),
    )
    producer, consumer = split or (0, 0)
    programs = tuple(
        replace(p, most_registers=consumer if p.name == CONSUMER else producer)
        for p in state.document.programs
    )
    return replace(state, document=replace(state.document, programs=programs))


def _declare_dataflow(state: LoopState) -> LoopState:
    flow = parted_flow(flow_of(state.layout, state.target), state.document)
    return replace(state, document=replace(state.document, flow=flow))


def _declare_cross_cta(state: LoopState) -> LoopState:
    exchanges = exchanges_of(state.layout)
    return replace(state, document=replace(state.document, exchanges=exchanges))


def _reads_once_a_tile(document: RolesDocument) -> bool:
    """Whether a loop waits for a slot that is filled once a tile: without an iteration nobody
    would, and who fills it laps whoever reads it.
    """
    once = {ring.name for ring in document.rings if ring.per is Per.TILE}
    waits = (e for p in document.programs for e in p.kernel if isinstance(e, WaitFull))
    return any(wait.ring in once for wait in waits)


def _declare_loop_bounds(state: LoopState) -> LoopState:
    document = replace(
        state.document,
        least_trips=max(fewest_trips(state.layout), int(_reads_once_a_tile(state.document))),
        unroll=state.body.loop.times,
    )
    return replace(state, document=document)


class LoopPass(NamedTuple):
    """A pass over one loop. ``made``: the field of ``LoopState`` that shows its work."""

    name: str
    run: Callable[[LoopState], LoopState]
    made: str
    what: str


LOOP_PASSES = (
    LoopPass(
        "body", _find_body, "body", "find the loop with its head and tail; refuse other forms"
    ),
    LoopPass("fuse", _fuse_ops, "steps", "vector ops on one tile become steps"),
    LoopPass("fuse_chains", _fuse_vector_chains, "steps", "chains of steps become one op each"),
    LoopPass(
        "layout", _assign_layouts, "layout", "values to registers, loaded tiles to smem rings"
    ),
    LoopPass("legality", _check_legality, "layout", "refuse configurations that have no code"),
    LoopPass("dependence_graph", _build_dependence_graph, "problem", "ops, costs and distances"),
    LoopPass(
        "warp_specialize", _specialize_warps, "plan", "what each role does: producer, consumers"
    ),
    LoopPass(
        "modulo", _modulo_schedule, "result", "the least interval: exact solver, or pinned times"
    ),
    LoopPass("sync", _derive_sync, "document", "role programs with mbarriers, waits and fences"),
    LoopPass(
        "drain_mma",
        _on_document(_drain_mma),
        "document",
        "fewer MMAs in flight where ptxas serialises",
    ),
    LoopPass(
        "hoist_full_wait",
        _on_document(_hoist_full_wait),
        "document",
        "wait for a stage amid vector work",
    ),
    LoopPass(
        "split_mma",
        _on_document(_split_mma),
        "document",
        "the last MMA instructions after other work",
    ),
    LoopPass(
        "split_k",
        _check_split_k,
        "document",
        "refuse split-K where partial sums have no place; end copies out before parts meet",
    ),
    LoopPass("registers", _assign_registers, "document", "registers of every role (setmaxnreg)"),
    LoopPass("dataflow", _declare_dataflow, "document", "which values every op reads and writes"),
    LoopPass("cross_cta", _declare_cross_cta, "document", "how CTAs that share a tile meet"),
    LoopPass(
        "loop_bounds", _declare_loop_bounds, "document", "fewest trips, steps of an iteration"
    ),
)

Observer = Callable[[LoopPass, LoopState, float], None]


def lower(
    kernel: Kernel,
    config: KernelConfig,
    *,
    target: HopperTarget | None = None,
    options: ModuloOptions | None = None,
    keep: Keep | None = None,
    observe: Observer | None = None,
) -> Lowered:
    """A kernel's role programs for a config, scheduled at the least interval found.

    ``keep`` may know the answer of a solve from before, by its problem and what else was asked.
    ``observe`` is called after every pass, with the state and the seconds it took.
    """
    target = (target or h200()).shared_by(config.ctas_per_sm)
    *before, last = each_loop(kernel)
    earlier: list[Lowered] = []
    for number, part in enumerate(before):
        start = LoopState(
            kernel=part,
            config=part_config(part, config),
            target=target,
            number=number,
            tag=f"_loop{number + 1}",
            options=options,
            cache=keep,
        )
        earlier.append(replace(run_passes(start, observe), earlier=tuple(earlier)))
        layout = earlier[-1].layout
        target = less_memory(target, [(r, layout) for r in layout.rings])
    start = LoopState(
        kernel=last,
        config=part_config(last, config, last=True),
        target=target,
        number=len(before),
        options=options,
        cache=keep,
    )
    made = run_passes(start, observe)
    alike = tuple(replace(x, document=_launched_as(made.document, x.document)) for x in earlier)
    return replace(made, kernel=kernel, config=config, earlier=alike)


def _launched_as(last: RolesDocument, document: RolesDocument) -> RolesDocument:
    """An earlier loop of a tile runs in the CTAs, and with the registers, of the last one."""
    registers = {p.name: p.most_registers for p in last.programs}
    programs = tuple(
        replace(p, most_registers=registers.get(p.name, p.most_registers))
        for p in document.programs
    )
    return replace(document, cluster=last.cluster, programs=programs)


def run_passes(state: LoopState, observe: Observer | None = None) -> Lowered:
    """One loop through all passes."""
    for each in LOOP_PASSES:
        begun = perf_counter()
        state = each.run(state)
        if observe is not None:
            observe(each, state, perf_counter() - begun)
    return Lowered(
        kernel=state.kernel,
        config=state.config,
        layout=state.layout,
        problem=state.problem,
        result=state.result,
        plan=state.plan,
        document=state.document,
    )


def programs_of(result: ModuloResult, plan: Plan, config: KernelConfig) -> RolesDocument:
    """The role programs of a schedule, as the passes from ``sync`` to ``split_mma`` leave them."""
    return _split_mma(
        _hoist_full_wait(_drain_mma(derive_roles(result, plan), config), config), config
    )


def schedule(
    problem: ModuloProblem,
    plan: Plan,
    layout: Layout,
    options: ModuloOptions | None = None,
    keep: Keep | None = None,
) -> ModuloResult:
    """The least interval, one program for all consumers."""
    if layout.config.issue_times:
        return given_times(problem, *layout.config.issue_times)
    if layout.config.schedule_name == SOURCE_ORDER:
        return in_source_order(problem)
    if layout.config.schedule_name:
        return (
            candidates_of(problem, plan, options=options).named(layout.config.schedule_name).result
        )
    turns = layout.config.consumer_warpgroups if takes_turns(layout) else 0
    roles, names = tuple(f"{CONSUMER}{i}" for i in range(turns)), dict(plan.aliases)
    steps = layout.body.loop.times if turns else 1
    solve = partial(solve_alike, problem, roles, names, options, steps)
    how = f"{roles} {names} {options}" + (f" {steps}" if steps > 1 else "")
    return keep(problem, how, solve) if keep else solve()
