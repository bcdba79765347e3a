"""Kernels that were built before, by what was asked: a process that finds one runs no pass.

The key is the kernel's value as it was read, the sizes its configuration was chosen for, what is
pinned or was measured for it, this package's code and the compiler. The entry holds the facts a
launch needs and the key of the cubin, which is kept by itself. Where one of them is missing the
kernel is compiled as if there were none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from warploom.compiler.binary import Binary, LaunchFacts, Sizes
from warploom.compiler.code_digest import CHOOSING, SHAPING, fingerprint
from warploom.compiler.cubin import cubin_key, find_toolchain, recall_cubin
from warploom.compiler.disk_cache import digest, disk_cache
from warploom.compiler.json_values import params_data, read_value
from warploom.dataclass import dataclass
from warploom.frontend.tile_kernel import TileKernel
from warploom.ir.tile import Kernel, Tensor
from warploom.kernels.registry import is_shipped

if TYPE_CHECKING:
    from warploom.compiler.compiled import Compiled

KERNELS = 512  # kernels a process keeps
Pins = tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the kernel of a call comes from: its source, choices, the sizes of all axes."""

    tile_kernel: TileKernel
    choices: tuple[tuple[str, object], ...]
    sizes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What a call asks for. ``pins``: fixed by the caller, or measured by them."""

    kernel: Kernel
    sizes: tuple[tuple[str, int], ...]
    pins: Pins
    positive: frozenset[str]
    origin: Origin

    def key(self) -> str:
        """A digest of everything the built kernel follows from."""
        return digest(
            fingerprint(*SHAPING, *CHOOSING, ranking=True),
            find_toolchain(),
            repr(self.kernel),
            self.sizes,
            self.pins,
            sorted(self.positive),
            is_shipped(self.origin.tile_kernel),
            self.origin.sizes,
            *(self._choice(name, value) for name, value in self.origin.choices),
        )

    @staticmethod
    def _choice(name: str, value: object) -> tuple[str, str]:
        """A choice as far as tables of measured configurations look at it; the kernel has the
        rest of it inlined.
        """
        return name, repr(value) if isinstance(value, str | int | float | None) else "given"

    def measured(self) -> Pins:
        """What was measured best for such a kernel, if anything; nothing for pinned ones."""
        from warploom.compiler.tuned import tuned_pins  # noqa: PLC0415 (compares kernels)

        known = dict(self.origin.choices), dict(self.origin.sizes)
        return () if self.pins else tuned_pins(self.origin.tile_kernel, self.kernel, *known)

    def compiled(self) -> Compiled:
        """The compilation, by the passes; kept in this process."""
        from warploom.runtime.kernel_calls import (  # noqa: PLC0415 (loads every pass)
            compiled_or_chosen,
        )

        return compiled_or_chosen(self)


class Launchable:
    """A built kernel: recalled, or compiled now."""

    def __init__(self, request: Request) -> None:
        self.request = request

    @cached_property
    def _held(self) -> tuple[LaunchFacts, bytes]:
        key = self.request.key()
        return _recalled(key) or self._built(key)

    @property
    def facts(self) -> LaunchFacts:
        """What a launch has to know beside the cubin."""
        return self._held[0]

    def binary(self, tensors: tuple[Tensor, ...]) -> Binary:
        """The kernel for tensors in the order of a call."""
        facts, cubin = self._held
        return facts.binary(cubin, tensors, self._visits)

    def _built(self, key: str) -> tuple[LaunchFacts, bytes]:
        from warploom.compiler.described import facts_of  # noqa: PLC0415 (loads every pass)

        made = self.request.compiled()
        facts, cubin = facts_of(made), made.built.cubin
        data = asdict(facts) | {"parameters": params_data(facts.parameters)}
        if cubin.toolchain == find_toolchain():  # not in place of a compiler
            kept = {"facts": data, "cubin": cubin_key(made.built.source.text)}
            disk_cache().put("binary", key, json.dumps(kept).encode())
        return facts, cubin.data

    def _visits(self, sizes: Sizes, ctas: int) -> Sequence[int]:
        """The list of tiles that CTAs walk; it takes passes to make, so it is kept too."""
        kept = disk_cache()
        key = digest(self.request.key(), self.facts.config, sorted(sizes.items()), ctas)
        data = kept.get("visits", key)
        if data is not None:
            return read_value(tuple[int, ...], json.loads(data))  # type: ignore[no-any-return]
        from warploom.passes.tile_order import visit_list  # noqa: PLC0415 (a pass)

        made = self.request.compiled()
        result = visit_list(made.launched(), made.built.config, sizes, ctas, made.target)
        kept.put("visits", key, json.dumps(result).encode())
        return result


def _recalled(key: str) -> tuple[LaunchFacts, bytes] | None:
    data = disk_cache().get("binary", key)
    if data is None:
        return None
    try:
        kept = json.loads(data)
        facts: LaunchFacts = read_value(LaunchFacts, kept["facts"])
        cubin = recall_cubin(kept["cubin"])
    except (ValueError, KeyError, TypeError):
        return None
    return None if cubin is None else (facts, cubin.data)


@lru_cache(maxsize=KERNELS)
def launchable(request: Request) -> Launchable:
    """The built kernel of a request; one a process."""
    return Launchable(request)
