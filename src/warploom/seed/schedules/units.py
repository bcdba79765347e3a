"""Counter units have one source: a geometry and whatever else states them must agree."""

from __future__ import annotations

from collections.abc import Container

from warploom.errors import ConfigError
from warploom.seed.target.cost import TargetProfile
from warploom.seed.target.geometry import KernelGeometry
from warploom.seed.target.mi355x import mi355x_target


def agreeing_target(
    owner: str, geometry: KernelGeometry, target: TargetProfile | None, max_globals: int
) -> TargetProfile:
    """The given target if its units are the geometry's, else the chip's with these units."""
    if target is None:
        return mi355x_target(*geometry.vm_per_load, max_globals)
    pipeline = target.pipeline
    for name in ("vm_per_load_a", "vm_per_load_b"):
        _agree(owner, name, getattr(geometry, name), getattr(pipeline, name), geometry)
    for name in ("lgkm_per_load_a", "lgkm_per_load_b"):
        if getattr(pipeline, name) and getattr(geometry, name):
            _agree(owner, name, getattr(geometry, name), getattr(pipeline, name), geometry)
    return target


def agreeing_units(
    owner: str,
    geometry: KernelGeometry,
    is_fp8: bool,
    lgkm: tuple[int, int],
    stated: Container[str],
) -> tuple[bool, tuple[int, int]]:
    """Element type and lgkm units of the geometry, refused where an argument says otherwise."""
    if (is_fp8 or "is_fp8" in stated) and is_fp8 != geometry.is_fp8:
        _agree(owner, "is_fp8", geometry.is_fp8, is_fp8, geometry)
    for name, given, own in zip(("lgkm_a", "lgkm_b"), lgkm, geometry.lgkm_per_load, strict=True):
        if given and own:
            _agree(owner, name, own, given, geometry)
    return geometry.is_fp8, (
        geometry.lgkm_per_load_a or lgkm[0],
        geometry.lgkm_per_load_b or lgkm[1],
    )


def _agree(owner: str, name: str, own: object, given: object, geometry: KernelGeometry) -> None:
    if own == given:
        return
    raise ConfigError(
        f"{name} = {given}, but the geometry has {own}",
        where=f"{owner}.{name}",
        why=f"waits for the tile {geometry.tile} are proven in the units its loads really take",
        fix=f"{name} = {own}, or leave it to the geometry",
    )
