"""Role programs to verify: GEMM schedules placed by hand, and kernels with their schedules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import warploom as wl
from tests.mbarrier.gemm_kernel import GemmKernel
from tests.mbarrier.gemm_plan import gemm_problem, roles_of
from warploom.compiler.compile_cache import cached_schedule
from warploom.compiler.compiled import SOLVE, Compiled
from warploom.compiler.pricing import priced
from warploom.frontend.tile_kernel import TileKernel
from warploom.ir.mbarrier_dialect import ClusterSync, RoleProgram, RolesDocument, WaitEmpty
from warploom.kernels.attention import attention, blocked, packed, paged
from warploom.kernels.attention_grad import (
    attention_grad,
    blocked_grad,
    blocked_values,
    packed_grad,
    packed_values,
    values_grad,
)
from warploom.kernels.block_scaled import block_scaled, block_scaled_pair
from warploom.kernels.gemm import gemm, turned
from warploom.kernels.grouped import (
    gathered_swiglu,
    grouped,
    grouped_gathered,
    grouped_input,
    grouped_scaled,
    grouped_scattered,
    grouped_swiglu,
    grouped_weights,
)
from warploom.kernels.int4_gemm import fp8_gemm, int4_gemm
from warploom.kernels.measured import (
    ATTENTION,
    GRADS,
    PRODUCTS,
    SCANS,
    SCANS_OF_PARTS,
)
from warploom.kernels.registry import measured
from warploom.kernels.rms_gemm import rms_gemm
from warploom.kernels.scan import scan, scan_parts
from warploom.kernels.swiglu import swiglu
from warploom.modulo import Limit, LimitKind, ModuloOptions, ModuloProblem, ModuloResult
from warploom.passes.driver import Lowered, lower
from warploom.targets.h200 import h200


def meeting(document: RolesDocument) -> RolesDocument:
    """CTAs of a cluster meet at the end, in place of waiting for their slots."""

    def ended(program: RoleProgram) -> RoleProgram:
        rest = (e for e in program.finish if not isinstance(e, WaitEmpty))
        return replace(program, finish=(*rest, ClusterSync()))

    return replace(document, programs=tuple(map(ended, document.programs)))


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
NONE: dict[str, int] = {}
NOTHING: frozenset[str] = frozenset()


def _softcap(x, b, h, s, t):
    return wl.tanh(x * 0.05) * 20.0


def _window(b, h, s, t):
    return t > s - 256


class Shipped(NamedTuple):
    """A shipped kernel with a loop: types, sizes of axes used whole, choices, pins; ``given`` are
    optional tensors that a call has, ``options`` the solver's work.
    """

    text: TileKernel
    types: str | dict[str, str] = "bf16"
    sizes: dict[str, int] = NONE
    constants: dict[str, object] = NONE
    pins: Mapping[str, object] = NONE
    given: frozenset[str] = frozenset({"dq", "dv"})
    options: ModuloOptions = SOLVE


def _grad(name: str, d: int) -> Mapping[str, object]:
    return dict(GRADS[name][d, False])


BRIEF = ModuloOptions(find_work=0.5, prove_work=0.0, optimise_work=0.0)  # a schedule, not the best
TURNS = {
    "m": 192,
    "n": 128,
    "consumer_warpgroups": 3,
    "mma_turns": True,
    "stages": 4,
    "store_from_registers": True,
}
ALTERNATING = {
    "m": 128,
    "n": 64,
    "consumer_warpgroups": 1,
    "pingpong": 2,
    "stages": 3,
    "epilogue_stages": 1,
}
FEW = {"m": 16, "n": 128, "stages": 3}
SHIPPED: dict[str, Shipped] = {
    "gemm": Shipped(gemm),
    "attention": Shipped(attention, sizes={"d": 128}),
    "packed": Shipped(packed, sizes={"d": 128}),
    "swiglu": Shipped(swiglu),
    "rms_gemm": Shipped(rms_gemm),
    "grouped": Shipped(grouped),
    "block_scaled": Shipped(block_scaled, E4M3),
    "attention_grad": Shipped(attention_grad, sizes={"d": 64}, pins=_grad("attention_grad", 64)),
    "turned": Shipped(turned, sizes={"m": 16}, pins=FEW),
    "paged": Shipped(paged, sizes={"d": 128, "u": 64, "s": 1}),
    "int4_gemm": Shipped(int4_gemm, {"x": "bf16", "out": "bf16"}, sizes={"m": 16}, pins=FEW),
    "fp8_gemm": Shipped(
        fp8_gemm, {"x": "bf16", "w": "e4m3", "out": "bf16"}, sizes={"m": 16}, pins=FEW
    ),
    "scan": Shipped(scan, sizes={"t": 64, "j": 64, "d": 128}, pins=SCANS[64, 128], options=BRIEF),
    "wide_scan": Shipped(
        scan, sizes={"t": 128, "j": 128, "d": 128}, pins=SCANS[128, 128], options=BRIEF
    ),
    "scan_parts": Shipped(
        scan_parts, sizes={"j": 64, "d": 64}, pins=dict(measured("scan_parts", {}, {}))
    ),
    "values_grad": Shipped(values_grad, sizes={"d": 256}, pins=_grad("values_grad", 256)),
    "packed_values": Shipped(packed_values, sizes={"d": 256}, pins=_grad("packed_values", 256)),
    "packed_grad": Shipped(packed_grad, sizes={"d": 64}, pins=_grad("packed_grad", 64)),
    "grouped_gathered": Shipped(grouped_gathered),
    "grouped_input": Shipped(grouped_input),
    "grouped_swiglu": Shipped(grouped_swiglu),
    "grouped_scaled": Shipped(grouped_scaled, {"x": "e4m3", "w": "e4m3", "out": "bf16"}),
    "flexible": Shipped(
        attention,
        sizes={"d": 64},
        constants={"score": _softcap, "visible": _window},
        pins={"consumer_warpgroups": 1},
    ),
    "near_gemm": Shipped(gemm, pins={"m": 128, "n": 128, "split_k": 2, "split_k_in_cluster": True}),
    "split_gemm": Shipped(gemm, pins={"m": 128, "n": 128, "split_k": 4, "cluster": 1}),
    "decode": Shipped(attention, sizes={"d": 128, "s": 1}, pins={"split_k": 4}),
    "alternating": Shipped(gemm, pins=ALTERNATING),
    "clustered": Shipped(gemm, pins={"m": 128, "n": 64, "consumer_warpgroups": 2, "cluster": 2}),
    "blocked": Shipped(
        blocked,
        sizes={"d": 128},
        constants={"visible": _window},
        pins=ATTENTION[128, True],
        given=frozenset({"some", "some_count", "full", "full_count"}),
    ),
    "blocked_grad": Shipped(
        blocked_grad,
        sizes={"d": 128},
        constants={"visible": _window},
        pins=dict(measured("blocked_grad", {}, {"d": 128})),
        given=frozenset({"dv", "some", "some_count", "full", "full_count"}),
    ),
    "blocked_values": Shipped(
        blocked_values,
        sizes={"d": 256},
        constants={"visible": _window},
        pins=dict(measured("blocked_values", {}, {"d": 256})),
        given=frozenset({"some", "some_count", "full", "full_count"}),
    ),
    "turns": Shipped(
        attention_grad,
        sizes={"d": 128},
        pins=_grad("attention_grad", 128),
        given=frozenset({"dq", "dv", "turns"}),
    ),
    "grouped_weights": Shipped(grouped_weights),
    "grouped_scattered": Shipped(grouped_scattered, given=frozenset({"weight"})),
    "block_scaled_turns": Shipped(block_scaled, E4M3, pins=TURNS),
    "block_scaled_measured": Shipped(block_scaled, E4M3, pins=PRODUCTS["block_scaled"][-1][1]),
    "block_scaled_pair": Shipped(
        block_scaled_pair, E4M3, pins=PRODUCTS["block_scaled_pair"][-1][1]
    ),
    "grouped_scaled_measured": Shipped(
        grouped_scaled,
        {"x": "e4m3", "w": "e4m3", "out": "bf16"},
        pins=PRODUCTS["grouped_scaled"][-1][1],
    ),
    "int4_measured": Shipped(
        int4_gemm,
        {"x": "bf16", "out": "bf16"},
        sizes={"m": 16},
        pins={"m": 16, **PRODUCTS["int4_gemm"][-1][1]},
        options=BRIEF,
    ),
    "gathered_swiglu": Shipped(gathered_swiglu),
}
KERNELS: dict[str, TileKernel] = {s.text.name: s.text for s in SHIPPED.values()}
QUANTISED = {"x": "bf16", "out": "bf16"}
SCALED = {"x": "e4m3", "w": "e4m3", "out": "bf16"}
TYPES: dict[str, dict[str, str]] = {
    "block_scaled": E4M3,
    "block_scaled_pair": E4M3,
    "grouped_scaled": SCALED,
    "int4_gemm": QUANTISED,
    "fp8_gemm": QUANTISED | {"w": "e4m3"},
}
LONG = {"s": 4096, "t": 4096}
PARTS = frozenset({"left", "gone"})


def _flexible(d: int, **functions: object) -> Shipped:
    pins = dict(measured("attention", functions, {"d": d, **LONG}))
    return Shipped(attention, sizes={"d": d}, constants=functions, pins=pins)


def _scan(t: int, d: int, *, parts: bool) -> Shipped:
    sizes = {"t": t, "j": t, "d": d}
    pins = (SCANS_OF_PARTS if parts else SCANS)[t, d]
    return Shipped(scan, sizes=sizes, pins=pins, given=PARTS if parts else NOTHING)


# As they are called, on the tiles and orders that measuring chose; too many for default tests.
MEASURED: dict[str, Shipped] = {
    f"attention_{d}{'_causal' if causal else ''}": Shipped(
        attention, sizes={"d": d}, constants={"causal": causal}, pins=ATTENTION[d, causal]
    )
    for d, causal in ((64, False), (128, False), (128, True), (256, False))
}
MEASURED |= {f"window_{d}": _flexible(d, visible=_window) for d in (64, 128, 256)}
MEASURED |= {"softcap_128": _flexible(128, score=_softcap)}
MEASURED |= {
    f"{name}_called_{i}": Shipped(
        KERNELS[name], TYPES.get(name, "bf16"), pins={"m": 16, **pins} if quantised else pins
    )
    for name, rows in PRODUCTS.items()
    for quantised in (name in ("int4_gemm", "fp8_gemm"),)
    for i, (_, pins) in enumerate(rows)
}
MEASURED |= {
    f"scan_{t}_{d}{'_parts' * parts}": _scan(t, d, parts=parts)
    for t, d, parts in ((64, 64, False), (64, 64, True), (64, 128, True), (128, 128, True))
}


def compiled(name: str = "attention", **pins: object) -> Compiled:
    """A shipped kernel, compiled."""
    text, types, sizes, constants, chosen, given, _ = (SHIPPED | MEASURED)[name]
    optional = {t.name for t in text.signature.tensors if t.optional}
    return text.with_config(**{**chosen, **pins}).compile(
        types,
        sizes=sizes,
        constants=constants,
        without=optional - given,
        positive=set(text.signature.scalars),
    )


@cache
def lowered(name: str = "attention", **pins: object) -> Lowered:
    """A shipped kernel with its schedule."""
    made, options = compiled(name, **pins), (SHIPPED | MEASURED)[name].options
    config, target = made.choices[0].config, made.target
    found = lower(made.rewritten, config, target=target, options=options, keep=cached_schedule)
    return priced(found, made.target)


def attention_document() -> RolesDocument:
    """The programs of the attention kernel."""
    return lowered().document
