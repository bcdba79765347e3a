"""Milliseconds of a tiling on the GPU of this machine, for the joint search.

Tensors are random, of the sizes searched for. Launches come in short bursts with pauses: under its
power limit a board changes its clock, by more than programs differ, and a board that rests between
bursts keeps its highest. So times are cycles. A tiling whose results differ from the first one's is
refused.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from warploom.errors import BackendError, ConfigError, MissingExtraError
from warploom.kernel.signature import TensorText
from warploom.kernel.text import Text
from warploom.kernel.values import Access, DType
from warploom.launch.driver import Timer, library, require_hopper, synchronize
from warploom.launch.tensors import torch_name
from warploom.launch.texts import Calls
from warploom.lower.tiling import Tiling

BURST_MS, BURSTS = 1.5, 9
PAUSE = 4.0  # times as long as a burst
FAR = 2e-2  # relative difference of two tilings' results that rounding does not explain


def gpu_is_here() -> bool:
    """Whether kernels can run on this machine."""
    try:
        library()
        require_hopper(0)
        import_module("torch")
    except (BackendError, MissingExtraError, ImportError):
        return False
    return True


class OnGpu:
    """Measures tilings of a text; call it with a tiling."""

    def __init__(
        self,
        text: Text,
        dtype: str,
        sizes: Mapping[str, int],
        choices: Mapping[str, object],
        scalars: Mapping[str, float],
    ) -> None:
        self.calls = Calls(text)
        given: dict[str, Any] = {}
        for tensor in text.signature.tensors:
            if tensor.access is Access.IN and not tensor.optional:
                given[tensor.name] = _random(tensor, dtype, sizes)
            elif tensor.access is Access.STARTS:
                raise ConfigError(
                    f"'{tensor.name}' holds offsets of groups, which sizes do not tell",
                    where=f"kernel {text.name}",
                    fix="pass a measure of your own (--measure file.py:function)",
                )
        missing = {n: 1.0 for n in text.signature.scalars if n not in scalars}
        missing = {n: v for n, v in missing.items() if n not in text.signature.scalar_defaults}
        tensors = [given.pop(self.calls.tensors[i].name, None) for i in self.calls.inputs]
        while tensors and tensors[-1] is None:
            tensors.pop()
        named = {**choices, **missing, **scalars}
        self.tensors, self.scalars, self.options, _ = self.calls.arguments(tensors, named)
        self.timer = Timer()
        self.expected: list[Any] | None = None

    def __call__(self, tiling: Tiling) -> float:
        """Median milliseconds."""
        made = self.calls.compiled(self.tensors, self._pinned(tiling))
        report = made.built.cubin.report
        if not report.kept:
            raise BackendError(f"{report.spill_bytes} bytes spilled{''.join(report.messages)}")
        self._check(tiling)
        return self._time(tiling)

    def _pinned(self, tiling: Tiling) -> tuple[Any, ...]:
        return (*self.options[:4], tiling.pins)

    def _launch(self, tiling: Tiling) -> list[Any]:
        done = self.calls.launch(self.tensors, self.scalars, self._pinned(tiling), None)
        return [done[i] for i in self.calls.outputs if done[i] is not None]

    def _check(self, tiling: Tiling) -> None:
        out = [t.float() for t in self._launch(tiling)]
        synchronize()
        if self.expected is None:
            self.expected = out
        for mine, first in zip(out, self.expected, strict=True):
            gap = float((mine - first).norm() / first.norm().clamp_min(1e-20))
            if not gap < FAR:
                raise BackendError(f"its result differs from the first tiling's by {gap:.2g}")

    def _time(self, tiling: Tiling) -> float:
        def run(repeats: int) -> float:
            self.timer.mark(0, None)
            for _ in range(repeats):
                self._launch(tiling)
            self.timer.mark(1, None)
            took = self.timer.milliseconds()
            time.sleep(took * PAUSE / 1e3)
            return took / repeats

        repeats = max(1, int(BURST_MS / max(run(2), 1e-3)))
        return statistics.median(run(repeats) for _ in range(BURSTS))


def _random(tensor: TensorText, dtype: str, sizes: Mapping[str, int]) -> Any:  # noqa: ANN401
    torch = import_module("torch")
    kind = tensor.dtype or DType(dtype)
    unknown = [a.name for a in tensor.axes if a.name not in sizes]
    if unknown:
        raise ConfigError(
            f"no size for axis '{unknown[0]}'",
            where=f"tensor {tensor.name}",
            fix=f"name@{unknown[0]}=4096",
        )
    shape = [-(-sizes[a.name] // a.per) for a in tensor.axes]
    made = torch.randn(*shape, device="cuda")
    return made.to(getattr(torch, torch_name(kind)))
