"""What a launcher must know about a kernel: the JSON file beside it, and its use.

The sidecar is complete: arguments in order, block size, grid formula, LDS, registers, what M, N
and K may be. ``launch_plan`` turns sizes into a grid, or refuses them with a reason.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from warploom.document import ScheduleDocument
from warploom.emit.gfx950.isa import Resources
from warploom.emit.gfx950.lower.function import KERNEL_NAME
from warploom.emit.gfx950.plan import KernelPlan
from warploom.emit.gfx950.tile import GemmTile, element_type, gemm_tile
from warploom.errors import BackendError

SCHEMA = "warploom.kernel.gfx950/1"
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
        return "C[M,N] fp32 = A[M,K] x B[N,K]^T, row-major and dense"
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
        return {"minimum": chunk, "multiple": chunk, "trips": trips, "base": base, "per": per}
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
    block_m, block_n, block_k = tile["block"]
    mma_m, mma_n, mma_k = tile["mma"]
    waves_m, waves_n = tile["waves"]
    return gemm_tile(
        block_m,
        block_n,
        block_k,
        element_type(tile["dtype"]),
        mma=(mma_m, mma_n, mma_k),
        waves=(waves_m, waves_n),
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
    size = 1 if tile["dtype"] == "fp8" else 2
    if max(block_m, block_n) * k * size >= MAX_BYTES or block_m * n * 4 >= MAX_BYTES:
        raise BackendError(
            f"M, N, K = {m}, {n}, {k}: one workgroup's rows exceed {MAX_BYTES} bytes",
            fix="split K or N over several launches",
        )
    trips = -(-max(0, k - rule["base"]) // rule["per"])
    grid = (-(-m // block_m), -(-n // block_n), 1)
    return LaunchPlan(grid=grid, block=(values["block_size"][0], 1, 1), trips=trips)
