"""Role programs to judge: GEMM schedules placed by hand, and texts with their schedules."""

from __future__ import annotations

from functools import cache

from tests.roles.gemm_kernel import GemmKernel
from tests.roles.gemm_plan import gemm_problem, roles_of
from warploom.document.roles import RolesDocument
from warploom.kernel.text import Text
from warploom.kernels.attention import attention, packed
from warploom.kernels.attention_grad import attention_grad
from warploom.kernels.block_scaled import block_scaled
from warploom.kernels.gemm import gemm
from warploom.kernels.grouped import grouped
from warploom.kernels.rms_gemm import rms_gemm
from warploom.kernels.swiglu import swiglu
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


E4M3 = {"a": "e4m3", "b": "e4m3", "out": "bf16"}
SHIPPED: dict[str, tuple[Text, str | dict[str, str], dict[str, int]]] = {
    "gemm": (gemm, "bf16", {}),
    "attention": (attention, "bf16", {"d": 128}),
    "packed": (packed, "bf16", {"d": 128}),
    "swiglu": (swiglu, "bf16", {}),
    "rms_gemm": (rms_gemm, "bf16", {}),
    "grouped": (grouped, "bf16", {}),
    "block_scaled": (block_scaled, E4M3, {}),
    "attention_grad": (attention_grad, "bf16", {"d": 64}),
}
"""The shipped texts with a loop: types, and the sizes of axes that are used whole."""


@cache
def lowered(name: str = "attention", **pins: object) -> Lowered:
    """A shipped text with its schedule."""
    text, types, sizes = SHIPPED[name]
    without = {t.name for t in text.signature.tensors if t.optional}
    made = text.with_tiles(**pins).compile(
        types, sizes=sizes, without=without, positive=set(text.signature.scalars)
    )
    return made.lower(made.choices[0].tiling)


def attention_document() -> RolesDocument:
    """The programs of the attention text."""
    return lowered().document
