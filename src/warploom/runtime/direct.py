"""One build of a kernel launched as it is: a document's own programs, or one that writes clocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warploom.codegen.cuda.tile.stamps import NAME
from warploom.compiler.compiled import Built, Compiled
from warploom.compiler.described import binary_of
from warploom.errors import BackendError
from warploom.ir.tile import Access, Axis, DType, Tensor
from warploom.runtime.plan import Plan, prepare
from warploom.runtime.tensors import stream_of, view_of
from warploom.runtime.workspace import work_memory


class Direct:
    """A build bound to tensors and scalars by name; a call launches it on the current stream.

    Outputs are given like inputs. A build with stamps takes their words as tensor ``stamps``.
    """

    def __init__(
        self,
        made: Compiled,
        built: Built,
        tensors: Mapping[str, Any],
        scalars: Mapping[str, float],
    ) -> None:
        if built.cubin.report.messages:
            raise BackendError(
                f"ptxas did not keep the schedule of {made.kernel.name} {built.config.name}",
                why="; ".join(built.cubin.report.messages),
                fix="another tile",
            )
        declared = made.rewritten.tensors
        if built.source.stamps:
            words = Axis(name=NAME)
            declared += (Tensor(name=NAME, axes=(words,), dtype=DType.I32, access=Access.OUT),)
        given = [tensors.get(t.name) for t in declared]
        views = [
            None if x is None else view_of(x, t.name) for t, x in zip(declared, given, strict=True)
        ]
        binary = binary_of(made, declared, built)
        self.plan: Plan = prepare(binary, [None if v is None else v.layout for v in views])
        self._held = given  # launches use their memory
        self._pointers = [0 if v is None else v.pointer for v in views]
        self._scalars = [scalars[s.name] for s in binary.scalars]
        like, view = next(
            (x, v) for x, v in zip(given, views, strict=True) if x is not None and v is not None
        )
        self._stream = stream_of(like)
        size = self.plan.work_bytes
        self._work = work_memory(like, view.layout.device, size) if size else None

    def __call__(self) -> None:
        """Launch."""
        stream = self._stream()
        work = [] if self._work is None else [self._work(stream, False)[0]]
        self.plan(stream, *self._pointers, *self._scalars, *work)
