"""Kernels of the tile language on the command line: compiled for a type, scheduled, priced.

A name may say sizes: ``attention@d=64,s=4096``. Axes that a kernel uses whole are 128 long where
nothing is said, optional tensors are left out, scalars are taken to exceed 0.
"""

from __future__ import annotations

import inspect
import pkgutil
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import warploom.kernels
from warploom.document.roles import RolesDocument
from warploom.emit.cuda.tile.source import emit_kernel
from warploom.errors import BackendError, ConfigError, GeometryError, SchedulingError
from warploom.kernel.text import Text
from warploom.launch.compiled import PASSES, Compiled
from warploom.launch.pricing import role_costs
from warploom.lower.column import Lowered
from warploom.sim import RoleCosts

WHOLE = 128
DTYPES = {"bf16": "bf16", "fp16": "f16", "fp8": "e4m3"}


@dataclass(frozen=True, slots=True)
class Tiled:
    """A kernel text with what the passes made of it."""

    text: Text
    compiled: Compiled
    lowered: Lowered

    @property
    def document(self) -> RolesDocument:
        """The programs of the roles."""
        return self.lowered.document

    def costs(self) -> RoleCosts:
        """What its ops cost on the target."""
        return role_costs(self.lowered, self.compiled.target)

    def after(self, name: str) -> str:
        """What the kernel is after a pass, as text."""
        if name not in PASSES:
            raise ConfigError(f"no pass {name!r}", where="--after", fix=", ".join(PASSES))
        if name == "schedule":
            return str(self.lowered.result)
        return self.source() if name == "emit" else self.compiled.after(name)

    def source(self) -> str:
        """The CUDA text of the tiling shown."""
        return emit_kernel(self.lowered, self.compiled.target).text

    def work(self) -> str:
        """Extents and types in words."""
        extents = "x".join(str(n) for _, n in self.lowered.tiling.extents if n > 1)
        types = dict.fromkeys(str(t.dtype) for t in self.lowered.kernel.tensors)
        return f"{extents} {'/'.join(types)}"


def text_names() -> tuple[str, ...]:
    """The kernels of the language that ship."""
    return tuple(m.name for m in pkgutil.iter_modules(warploom.kernels.__path__))


def text_named(name: str) -> Text | None:
    """A shipped text by its name, or None."""
    if name not in text_names():
        return None
    module = import_module(f"warploom.kernels.{name}")
    found = getattr(module, name, None)
    return found if isinstance(found, Text) else None


def split_sizes(spec: str) -> tuple[str, dict[str, int]]:
    """A name and the sizes it says after an ``@``."""
    name, at, said = spec.partition("@")
    if not at:
        return name, {}
    sizes = {}
    for part in said.split(","):
        axis, equals, size = part.partition("=")
        if not (axis.isidentifier() and equals and size.isdigit() and int(size)):
            raise ConfigError(
                f"{part!r} is no size", where=spec, fix="write name@d=64,s=4096 after the kernel"
            )
        sizes[axis] = int(size)
    return name, sizes


def compile_text(text: Text, dtype: str, sizes: dict[str, int], tile: str | None) -> Tiled:
    """The kernel for one type of its tensors, at the first tiling that can be scheduled."""
    without = {t.name for t in text.signature.tensors if t.optional}
    types = text.spell(DTYPES[dtype], without)
    if dtype == "fp8":  # results are not fp8
        types |= {t.name: "bf16" for t in text.signature.outputs if t.name in types}
    whole = text.whole_axes(types, without=without)
    known = dict.fromkeys(whole, WHOLE) | sizes
    pinned = text if tile is None else _pinned(text, types, known, without, tile)
    compiled: Compiled = pinned.compile(
        types, sizes=known, without=without, positive=set(text.signature.scalars)
    )
    return Tiled(pinned, compiled, _lowered(compiled))


def _pinned(text: Text, types: Any, sizes: Any, without: Any, tile: str) -> Text:  # noqa: ANN401
    """The text with the extents of ``MxNxK`` for its variables, in order."""
    parts = tile.lower().split("x")
    if not all(p.isdigit() and int(p) for p in parts):
        raise ConfigError(f"{tile!r} is no tile", where="--tile", fix="write it as 128x256x64")
    whole = text.whole_axes(types, without=without)
    kernel = text.specialise(
        types, sizes={a: n for a, n in sizes.items() if a in whole}, without=without
    )
    free = [v.name for v in kernel.vars if v.extent is None]
    if len(parts) > len(free):
        raise ConfigError(
            f"{len(parts)} extents for {len(free)} variables", where="--tile", fix=", ".join(free)
        )
    return text.with_tiles(**dict(zip(free, map(int, parts), strict=False)))


def _lowered(compiled: Compiled) -> Lowered:
    said = []
    for choice in compiled.choices:
        try:
            return compiled.lower(choice.tiling)
        except (SchedulingError, GeometryError) as error:
            said.append(f"{choice.tiling.name}: {error.what}")
    raise BackendError(
        f"no tiling of kernel {compiled.kernel.name} can be scheduled",
        why="; ".join(said) or "no tiling fits",
        fix="pin smaller extents with .with_tiles(...)",
    )


def declared_at(text: Text) -> str:
    """The text of a kernel as its author wrote it."""
    return inspect.getsource(text.function)
