"""Role programs to judge: GEMM schedules placed by hand, and texts with their schedules."""

from __future__ import annotations

from functools import cache

from tests.roles.gemm_kernel import GemmKernel
from tests.roles.gemm_plan import gemm_problem, roles_of
from warploom.document.roles import RolesDocument
from warploom.kernels.attention import attention
from warploom.kernels.gemm import gemm
from warploom.lower.column import Lowered
from warploom.order import Limit, LimitKind, ModuloProblem, ModuloResult
from warploom.target.h200 import h200


def placed(problem: ModuloProblem) -> ModuloResult:
    """The obvious schedule: loads first, products when they landed, one stage a tensor interval."""
    arrival = problem.edges[0].latency + problem.handoff
    over = arrival + problem.rings[0].readers[0][0].hold + problem.release
    interval = max(problem.ops[1].occupancy, -(-over // problem.rings[0].max_depth))
    return ModuloResult(
        problem=problem,
        ii=interval,
        lower_bound=interval,
        proven=True,
        times=(0, arrival),
        depths=(-(-over // interval),),
        roles=tuple(op.role or "main" for op in problem.ops),
        limit=Limit(kind=LimitKind.UNIT, text="the tensor unit is full"),
        res_mii=interval,
        rec_mii=1,
        rec_mii_at_depths=1,
    )


def gemm_document(kernel: GemmKernel | None = None) -> RolesDocument:
    """The derived programs of a kernel."""
    kernel = kernel or GemmKernel()
    return roles_of(placed(gemm_problem(kernel, h200())), kernel)


@cache
def lowered(name: str = "attention", **pins: object) -> Lowered:
    """A shipped text (head dimension 128) with its schedule."""
    text = {"attention": attention, "gemm": gemm}[name]
    without = {t.name for t in text.signature.tensors if t.optional}
    made = text.with_tiles(**pins).compile(
        "bf16", sizes={"d": 128} if name == "attention" else {}, without=without, positive={"scale"}
    )
    return made.lower(made.choices[0].tiling)


def attention_document() -> RolesDocument:
    """The programs of the attention text."""
    return lowered().document
