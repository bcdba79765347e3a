"""A machine inside a document: its numbers as JSON, in both directions."""

from __future__ import annotations

from typing import Any

from warploom.document.kinds import OpRole, ResourceKind
from warploom.document.machine import MachineCosts, OpTiming, UnitSpec
from warploom.document.values import listed, mapping, member, number, truth, whole, words
from warploom.errors import ConfigError, DocumentError

_TIMING = ("issue", "occupancy", "latency")
_WHOLE = ("simds", "barrier", "sync_issue")
_LIMITS = ("vm_limit", "lgkm_limit", "storage")
MOST_HZ = 10**12


def machine_to_json(machine: MachineCosts) -> dict[str, Any]:
    """The machine as JSON-ready values."""
    return {
        "name": machine.name,
        "by_role": [{"role": r.name, **_timing(t)} for r, t in machine.by_role],
        "by_name": [{"op": n, **_timing(t)} for n, t in machine.by_name],
        "units": [
            {
                "unit": kind.name,
                "capacity": unit.capacity,
                "shared": unit.shared,
                "blocking": unit.blocking,
            }
            for kind, unit in machine.units
        ],
        **{n: getattr(machine, n) for n in (*_WHOLE, *_LIMITS, "clock_hz")},
    }


def machine_from_json(data: object, path: str = "$.machine") -> MachineCosts:
    """The machine of a document; ``DocumentError`` on anything that is none."""
    lists = ("name", "by_role", "by_name", "units")
    f = mapping(data, path, (*lists, *_WHOLE, *_LIMITS, "clock_hz"))
    numbers: dict[str, Any] = {n: whole(f[n], f"{path}.{n}", 0) for n in _WHOLE}
    for n in _LIMITS:
        numbers[n] = None if f[n] is None else whole(f[n], f"{path}.{n}", 0)
    clock = f["clock_hz"]
    try:
        return MachineCosts(
            name=words(f["name"], f"{path}.name"),
            by_role=listed(f["by_role"], f"{path}.by_role", _priced_role),
            by_name=listed(f["by_name"], f"{path}.by_name", _priced_op),
            units=listed(f["units"], f"{path}.units", _unit),
            clock_hz=None if clock is None else number(clock, f"{path}.clock_hz", 1, MOST_HZ),
            **numbers,
        )
    except ConfigError as error:
        raise DocumentError(error.what, path=path) from None


def _timing(timing: OpTiming) -> dict[str, int]:
    return {n: getattr(timing, n) for n in _TIMING}


def _read_timing(f: Any, path: str) -> OpTiming:  # noqa: ANN401 (a judged object)
    return OpTiming(**{n: whole(f[n], f"{path}.{n}", 0) for n in _TIMING})


def _priced_role(data: object, path: str) -> tuple[OpRole, OpTiming]:
    f = mapping(data, path, ("role", *_TIMING))
    return member(f["role"], f"{path}.role", OpRole.__members__), _read_timing(f, path)


def _priced_op(data: object, path: str) -> tuple[str, OpTiming]:
    f = mapping(data, path, ("op", *_TIMING))
    return words(f["op"], f"{path}.op"), _read_timing(f, path)


def _unit(data: object, path: str) -> tuple[ResourceKind, UnitSpec]:
    f = mapping(data, path, ("unit", "capacity", "shared", "blocking"))
    spec = UnitSpec(
        capacity=whole(f["capacity"], f"{path}.capacity", 1),
        shared=truth(f["shared"], f"{path}.shared"),
        blocking=truth(f["blocking"], f"{path}.blocking"),
    )
    return member(f["unit"], f"{path}.unit", ResourceKind.__members__), spec
