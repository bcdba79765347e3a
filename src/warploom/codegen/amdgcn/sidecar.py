"""What a kernel tells of itself: the sidecar a launcher reads, and the truth about registers.

The sidecar is complete: arguments in order, block size, grid formula, LDS, registers, what M, N
and K may be. ``launch_plan`` turns sizes into a grid, or refuses them with a reason.

The cost model gives each op the registers it defines and kills; their running sum is what the
scheduler believed the fragments take. ``register_truth`` sets it beside the registers the fragments
take in the emitted code, and ``require_registers`` refuses a schedule that does not fit, with what
to change.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from warploom.codegen.amdgcn.isa import Resources
from warploom.codegen.amdgcn.lower.function import KERNEL_NAME
from warploom.codegen.amdgcn.lower.state import ADDRESSES
from warploom.codegen.amdgcn.plan import KernelPlan, plan_kernel
from warploom.codegen.amdgcn.tile import GemmTile, element_type, gemm_tile, waves_per_simd
from warploom.errors import BackendError
from warploom.ir import ScheduleDocument
from warploom.ir.schedule_ops import OpRole
from warploom.targets.mi355x import mi355x

SCHEMA = "warploom.kernel.gfx950/1"
T = TypeVar("T")
MAX_BYTES = 1 << 31  # offsets inside one workgroup's rows are 32-bit


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """Grid, block and loop iterations of one launch."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    trips: int


def sidecar(plan: KernelPlan, resources: Resources, versions: dict[str, str]) -> dict[str, Any]:
    """The sidecar of an emitted kernel as JSON-ready values."""
    tile = plan.tile
    own = {
        "computes": _computes(plan),
        "grid": {
            "formula": f"[ceil(M / {tile.block_m}), ceil(N / {tile.block_n}), 1]",
            "m_per_block": tile.block_m,
            "n_per_block": tile.block_n,
        },
        "k": _k_rule(plan),
        "tail": {"reads": plan.tail_reads},
    }
    return described(plan.document, tile, plan.arguments, resources, versions) | own


def described(
    document: ScheduleDocument,
    tile: GemmTile,
    arguments: Sequence[tuple[str, str]],
    resources: Resources,
    versions: dict[str, str],
) -> dict[str, Any]:
    """What every kernel's sidecar says, beside what it computes and its grid."""
    return {
        "schema": SCHEMA,
        "kernel": KERNEL_NAME,
        "target": "gfx950",
        "schedule": {
            "name": document.name,
            "strategy": document.strategy,
            "target": document.target,
        },
        "arguments": [{"name": name, "kind": kind} for name, kind in arguments],
        "tile": {
            "block": [tile.block_m, tile.block_n, tile.block_k],
            "mma": [tile.mfma.m, tile.mfma.n, tile.mfma.k],
            "dtype": tile.element.value,
            "waves": [tile.waves_m, tile.waves_n],
        },
        "block_size": [tile.threads, 1, 1],
        "lds_bytes": resources.lds_bytes,
        "registers": {k: v for k, v in asdict(resources).items() if k.endswith("gprs")},
        "spills": {"vgpr": resources.vgpr_spills, "sgpr": resources.sgpr_spills},
        "made_with": versions,
    }


def _computes(plan: KernelPlan) -> str:
    if plan.text is None:
        blocks = ", with scales (e8m0) SA[M,K/32] and SB[N,K/32]"
        return "C[M,N] fp32 = A[M,K] x B[N,K]^T, row-major and dense" + (
            blocks if plan.tile.element.scaled else ""
        )
    kernel = plan.text.kernel
    outputs = ", ".join(f"{s.tensor} {kernel.tensor(s.tensor).dtype}" for s in plan.text.stores)
    return (
        f"{kernel.name} with A = {plan.text.a}, B = {plan.text.b}: {outputs}, row-major and dense"
    )


def _k_rule(plan: KernelPlan) -> dict[str, Any]:
    """What K may be, and the iterations it takes."""
    tile, protocol = plan.tile, plan.document.protocol
    base, per = (n * tile.block_k for n in (protocol.kernel_k_base, protocol.k_tiles_per_iteration))
    if plan.ragged_k:
        chunk = 16 // tile.element.size
        trips = f"ceil(max(0, K - {base}) / {per})"
        return {
            "minimum": chunk,
            "multiple": chunk,
            "trips": trips,
            "base": base,
            "per": per,
            "ragged": True,
        }
    trips = f"(K / {tile.block_k} - {protocol.kernel_k_base}) / {protocol.k_tiles_per_iteration}"
    return {"minimum": base, "multiple": per, "trips": trips, "base": base, "per": per}


def sidecar_text(values: dict[str, Any]) -> str:
    """Canonical text of a sidecar."""
    return json.dumps(values, indent=2) + "\n"


def read_sidecar(text: str) -> dict[str, Any]:
    """Parse a sidecar. Raises ``BackendError`` for anything else."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BackendError(f"the sidecar is no JSON: {error}") from None
    if not isinstance(values, dict) or values.get("schema") != SCHEMA:
        raise BackendError(
            "not the sidecar of a gfx950 kernel",
            fix=f"give the JSON file written beside the kernel (schema {SCHEMA})",
        )
    return values


def tile_of_sidecar(values: dict[str, Any]) -> GemmTile:
    """The tile a sidecar describes."""
    tile = values["tile"]
    m, n, k = tile["block"]
    shape: dict[str, Any] = {name: tuple(tile[name]) for name in ("mma", "waves")}
    return gemm_tile(m, n, k, element_type(tile["dtype"]), **shape)


def plan_of_sidecar(document: ScheduleDocument, values: dict[str, Any]) -> KernelPlan:
    """The plan an emitted product was made from, as far as its schedule and sidecar tell."""
    return plan_kernel(
        document,
        tile_of_sidecar(values),
        ragged_k=bool(values["k"].get("ragged")),
        reading_tail=bool(values.get("tail", {}).get("reads")),
    )


def launch_plan(values: dict[str, Any], m: int, n: int, k: int) -> LaunchPlan:
    """Grid and block for a problem. Raises ``BackendError`` for sizes the kernel cannot do."""
    if "k" not in values:
        raise BackendError(
            "this kernel is no product: it has no M, N and K",
            where=str(values["computes"]),
            fix="its grid is in the sidecar",
        )
    rule, tile = values["k"], values["tile"]
    block_m, block_n, _ = tile["block"]
    if min(m, n) < 1:
        raise BackendError(f"M and N must be at least 1, got {m} and {n}")
    if k < rule["minimum"] or (k - rule["minimum"]) % rule["multiple"]:
        near = max(rule["minimum"], k - (k - rule["minimum"]) % rule["multiple"])
        raise BackendError(
            f"K = {k} is no whole number of loop iterations",
            why=f"the kernel takes {rule['minimum']} and then {rule['multiple']} at a time",
            fix=f"pad K with zeros to {near + rule['multiple']}"
            if k > rule["minimum"]
            else f"pad K with zeros to {rule['minimum']}",
        )
    row = element_type(tile["dtype"]).bytes_of(k)
    if max(block_m, block_n) * row >= MAX_BYTES or block_m * n * 4 >= MAX_BYTES:
        raise BackendError(
            f"M, N, K = {m}, {n}, {k}: one workgroup's rows exceed {MAX_BYTES} bytes",
            fix="split K or N over several launches",
        )
    trips = -(-max(0, k - rule["base"]) // rule["per"])
    grid = (-(-m // block_m), -(-n // block_n), 1)
    return LaunchPlan(grid=grid, block=(values["block_size"][0], 1, 1), trips=trips)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterTruth:
    """Modelled and real registers of one wave.

    ``fragment_loads`` lists each kind of fragment load with the registers its ``vgpr_def`` claims
    and those it really fills.
    """

    modelled_peak: int
    fragments: int
    accumulators: int
    real: int
    agprs: int
    budget: int
    fragment_loads: tuple[tuple[str, int, int], ...]

    @property
    def overhead(self) -> int:
        """Registers of the real kernel that hold neither accumulators nor fragments."""
        return self.real - self.accumulators - self.fragments

    @property
    def model_agrees(self) -> bool:
        """Whether the cost model's fragment registers are those of the tile."""
        return self.modelled_peak == self.fragments

    def text(self) -> str:
        """One line for reports."""
        verdict = "agrees with" if self.model_agrees else "differs from"
        wrong = [
            f"{name} defines {claimed} in the model and {real} in the code"
            for name, claimed, real in self.fragment_loads
            if claimed != real
        ]
        return "; ".join(
            [
                f"{self.real} of {self.budget} registers ({self.agprs} AGPR): {self.accumulators} "
                f"accumulators, {self.fragments} fragments at the peak, {self.overhead} others",
                f"the cost model's peak of {self.modelled_peak} {verdict} the fragments",
                *wrong,
            ]
        )


def register_truth(plan: KernelPlan, resources: Resources) -> RegisterTruth:
    """Set the model's numbers beside the compiler's."""
    rows, columns = plan.grid
    return RegisterTruth(
        modelled_peak=_modelled_peak(plan),
        fragments=_fragment_peak(plan),
        accumulators=rows * columns * plan.tile.mfma.accumulator_registers,
        real=resources.vgprs,
        agprs=resources.agprs,
        budget=mi355x().registers // waves_per_simd(plan.tile),
        fragment_loads=_fragment_loads(plan),
    )


def _fragment_loads(plan: KernelPlan) -> tuple[tuple[str, int, int], ...]:
    size = _fragment_sizes(plan)
    return tuple(
        dict.fromkeys(
            (e.op.name, e.op.vgpr_def, sum(size[c] for c in plan.channels(e.op)))
            for e in plan.document.kernel
            if e.op.role is OpRole.FRAGMENT_LOAD
        )
    )


def _fragment_sizes(plan: KernelPlan) -> dict[int, int]:
    return {c: plan.fragment_registers(c) for c in (0, 1)}


def require_registers(plan: KernelPlan, resources: Resources) -> None:
    """Refuse a kernel that spills, saying what would make it fit."""
    if resources.spills == 0 and resources.scratch_bytes == 0:
        return
    truth = register_truth(plan, resources)
    need = truth.accumulators + truth.fragments + ADDRESSES
    options = ["a smaller block (half of BM or BN halves the accumulators)"]
    if plan.tile.waves < 8:
        options.append("more waves (8 instead of 4 halves each wave's accumulators)")
    if plan.tile.mfma.m == 16:
        options.append("the 32x32 matrix instruction, whose accumulators need no copies")
    raise BackendError(
        f"the kernel spills {resources.vgpr_spills} vector and {resources.sgpr_spills} scalar "
        f"registers ({resources.scratch_bytes} bytes of scratch)",
        where=plan.tile.label(),
        why=f"a wave has {truth.budget} registers; this schedule wants about {need}: "
        f"{truth.accumulators} accumulators, {truth.fragments} fragments, addresses",
        fix="; or ".join(options),
    )


def _modelled_peak(plan: KernelPlan) -> int:
    """Peak of the running sum of ``vgpr_def - vgpr_kill`` over one iteration of the loop."""
    live = peak = 0
    for entry in plan.document.kernel:
        live += entry.op.vgpr_def
        peak = max(peak, live)
        live -= entry.op.vgpr_kill
    return peak


def _fragment_peak(plan: KernelPlan) -> int:
    """Most fragment registers that hold a value still to be used, over a steady iteration."""
    size = _fragment_sizes(plan)
    steps = [(set(plan.defines(e.op)), set(plan.uses(e.op))) for e in plan.document.kernel]
    return most_live(steps, lambda slot: size[slot[1]] if slot[0] == "fragment" else 0)


def most_live(steps: Sequence[tuple[set[T], set[T]]], size: Callable[[T], int]) -> int:
    """The most that is held at once of what is still to be used, over a steady iteration.

    ``steps`` of an iteration: what each defines and uses.
    """
    live: set[T] = set()
    peak = 0
    for trip in range(3):  # backwards: a value lives from its last use to where it is defined
        for defined, used in reversed(steps):
            if trip:
                peak = max(peak, sum(map(size, live | defined)))
            live = (live - defined) | used
    return peak
