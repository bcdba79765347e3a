"""The column from a tile kernel to its guarded role programs; each pass one function.

read, simplify (``warploom.kernel``) -> fuse -> lay out -> relate and price -> schedule -> expand
and guard -> a document with its declared flow. ``Lowered`` keeps what every pass made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from warploom.errors import CycleError
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.ir.tile import Kernel
from warploom.modulo import ModuloOptions, ModuloProblem, ModuloResult
from warploom.modulo.symmetry import solve_alike
from warploom.passes.body import body_of, refusal
from warploom.passes.candidates import SOURCE_ORDER, candidates_of, given_times, in_source_order
from warploom.passes.cross_cta import exchanges_of
from warploom.passes.dataflow import flow_of
from warploom.passes.dependence_graph import problem_of
from warploom.passes.drain_mma import settled
from warploom.passes.fuse import fuse
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
from warploom.passes.split_k import refuse_split
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


def lower(
    kernel: Kernel,
    config: KernelConfig,
    *,
    target: HopperTarget | None = None,
    options: ModuloOptions | None = None,
    keep: Keep | None = None,
) -> Lowered:
    """A kernel's role programs for a config, scheduled at the least interval found.

    ``keep`` may know the answer of a solve from before, by its problem and what else was asked.
    """
    target = (target or h200()).shared_by(config.ctas_per_sm)
    *before, last = each_loop(kernel)
    earlier: list[Lowered] = []
    for number, part in enumerate(before):
        mine = part_config(part, config)
        found = _lower(part, mine, target, (options, keep), f"_loop{number + 1}", number)
        earlier.append(replace(found, earlier=tuple(earlier)))
        layout = earlier[-1].layout
        target = less_memory(target, [(r, layout) for r in layout.rings])
    mine = part_config(last, config, last=True)
    made = _lower(last, mine, target, (options, keep), "", len(before))
    return replace(made, kernel=kernel, config=config, earlier=tuple(earlier))


def _lower(
    kernel: Kernel,
    config: KernelConfig,
    target: HopperTarget,
    solving: tuple[ModuloOptions | None, Keep | None],
    tag: str,
    part: int,
) -> Lowered:
    """The role programs of one loop."""
    body = body_of(kernel)
    steps = fuse(body)
    layout = lay_out(body, config, join(body, steps) if config.fuse_vector_chains else steps)
    check_allowed(layout)
    name = f"{kernel.name}_{config.name}{tag}"
    problem = problem_of(layout, target, name)
    plan = plan_of(layout, target, name, part)
    try:
        result = schedule(problem, plan, layout, *solving)
    except CycleError as error:
        raise refusal(
            "carried values of this loop are made of one another",
            body.loop.line,
            why="each is replaced after the other was read, by steps that run one after the other",
            fix="make them by the same kind of work, or carry one of them in a kernel of its own",
        ) from error
    document = programs_of(result, plan, config)
    refuse_split(layout, document)
    split = target.register_split(
        config.warpgroups, cluster=config.ctas > 1, producer=gather_registers(layout.rings)
    )
    producer, consumer = split or (0, 0)
    programs = tuple(
        replace(p, most_registers=consumer if p.name == CONSUMER else producer)
        for p in document.programs
    )
    flow, exchanges = parted_flow(flow_of(layout, target), document), exchanges_of(layout)
    document = replace(
        document,
        programs=programs,
        flow=flow,
        exchanges=exchanges,
        least_trips=fewest_trips(layout),
        unroll=body.loop.times,
    )
    return Lowered(
        kernel=kernel,
        config=config,
        layout=layout,
        problem=problem,
        result=result,
        plan=plan,
        document=document,
    )


def programs_of(result: ModuloResult, plan: Plan, config: KernelConfig) -> RolesDocument:
    """The guarded programs of a schedule, arranged as a config wants them."""
    document = derive_roles(result, plan)
    if config.drain_mma:
        document = settled(document)
    if config.full_wait_after > 0:
        document = awaited_early(document, CONSUMER)
    return parted(document, CONSUMER) if config.deferred_mmas else document


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
