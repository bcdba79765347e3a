"""The kernel module: one frozen value that verifier, interpreter and code generators read.

module = compiled.module            # of warploom.kernels.gemm.gemm.compile("bf16", ...)
print(module)                       # the listing
from_json(to_json(module)) == module

Names load when they are first asked for: whoever wants one kind of value does not wait for all.
"""

from __future__ import annotations

import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING, Any as _Any

if TYPE_CHECKING:
    from warploom.ir.counter_dialect import (
        BarrierKind,
        Counters,
        KernelShape,
        Protocol,
        RegisterWaits,
        ScheduleDocument,
    )
    from warploom.ir.format1 import (
        read_schedule,
        schedule_from_json,
        schedule_to_json,
        write_schedule,
    )
    from warploom.ir.listing import listing
    from warploom.ir.module import KernelModule
    from warploom.ir.serialize import from_json, to_json
    from warploom.ir.witness import (
        Point,
        Step,
        StepKind,
        WaveId,
        Witness,
        witness_from_json,
        witness_to_json,
    )

_NAMES = {
    "counter_dialect": "BarrierKind Counters KernelShape Protocol RegisterWaits ScheduleDocument",
    "format1": "read_schedule schedule_from_json schedule_to_json write_schedule",
    "listing": "listing",
    "module": "KernelModule",
    "serialize": "from_json to_json",
    "witness": "Point Step StepKind WaveId Witness witness_from_json witness_to_json",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


class _OnDemand(_ModuleType):
    """The package as a module; the function ``listing`` wins over the module of that name."""

    def __getattr__(self, name: str) -> _Any:  # noqa: ANN401 (whatever the package exports)
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(_import_module(f"{__name__}.{_HOMES[name]}"), name)
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, _ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *_HOMES})


_sys.modules[__name__].__class__ = _OnDemand
