"""Frozen values as JSON and back, each checked where it stands: errors name their path.

So a field is described once. Fields that came later (``_OPTIONAL``) may be missing and are written
only where they say something; a ``reason`` may always be missing.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, replace
from difflib import get_close_matches
from enum import Enum, IntEnum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from warploom.errors import ConfigError, DocumentError
from warploom.ir import (
    counter_dialect as counters,
    dataflow as exchange,
    dataflow as flow,
    mbarrier_dialect as roles,
    rings,
    schedule_ops as ops,
)
from warploom.ir.machine_costs import MachineCosts, RoleCosts, RoleOpCost
from warploom.ir.schedule_ops import OpTag, ScheduleOps

MAX_LIST = 100_000
MAX_INT = 10**9
MOST_HZ = 10**12

E = TypeVar("E", bound=Enum)
T = TypeVar("T")


def mapping(
    data: object, path: str, keys: tuple[str, ...], optional: frozenset[str] = frozenset()
) -> Mapping[str, object]:
    """An object with exactly these keys."""
    if not isinstance(data, dict):
        raise DocumentError(f"expected an object, found {kind_of(data)}", path=path)
    for key in data:
        if key not in keys:
            near = get_close_matches(str(key), keys, 1)
            raise DocumentError(
                f"unknown key {str(key)[:80]!r}",
                path=path,
                fix=f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(keys)}",
            )
    for key in keys:
        if key not in data and key not in optional:
            raise DocumentError(f"missing key {key!r}", path=path, fix=f"add {key!r}")
    return data


def listed(data: object, path: str, item: Callable[[object, str], T]) -> tuple[T, ...]:
    """A list of bounded length, item by item."""
    if not isinstance(data, list):
        raise DocumentError(f"expected a list, found {kind_of(data)}", path=path)
    if len(data) > MAX_LIST:
        raise DocumentError(f"more than {MAX_LIST} elements", path=path)
    return tuple(item(value, f"{path}[{i}]") for i, value in enumerate(data))


def whole(data: object, path: str, low: int = -MAX_INT, high: int = MAX_INT) -> int:
    """A whole number in a range."""
    if not isinstance(data, int) or isinstance(data, bool):
        raise DocumentError(f"expected a whole number, found {kind_of(data)}", path=path)
    if not low <= data <= high:
        raise DocumentError(f"a number outside {low}..{high}", path=path)
    return data


def number(data: object, path: str, low: int, high: int) -> float:
    """A number, whole or not."""
    if isinstance(data, bool) or not isinstance(data, int | float) or not low <= data <= high:
        found = data if isinstance(data, int | float) else kind_of(data)
        raise DocumentError(f"expected a number from {low} to {high}, found {found}", path=path)
    return float(data)


def truth(data: object, path: str) -> bool:
    """True or false."""
    if not isinstance(data, bool):
        raise DocumentError(f"expected true or false, found {kind_of(data)}", path=path)
    return data


def words(data: object, path: str) -> str:
    """A text of bounded length."""
    if not isinstance(data, str):
        raise DocumentError(f"expected a text, found {kind_of(data)}", path=path)
    if len(data) > 10_000:
        raise DocumentError("a text of more than 10000 characters", path=path)
    return data


def member(data: object, path: str, kinds: Mapping[str, E]) -> E:
    """A member of an enum, by the word that stands for it."""
    if not isinstance(data, str) or data not in kinds:
        raise DocumentError(
            f"expected one of {', '.join(kinds)}, found {str(data)[:40]!r}", path=path
        )
    return kinds[data]


def kind_of(data: object) -> str:
    """What a JSON value is, in words."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true/false", int: "a number"}
    return "null" if data is None else names.get(type(data), type(data).__name__)


# ruff: noqa: ANN401  # the form is read off type hints, so values pass through untyped


Reader = Callable[[object, str], Any]

ENTRY_KINDS: dict[str, type] = {c.__name__: c for c in get_args(roles.RoleEntry)}
_FROM_ZERO = (
    "depth", "offset", "bytes", "pending", "peel", "full_arrivals", "empty_arrivals", "back",
    "issue", "occupancy", "latency", "ahead", "beside", "handoff", "arrive", "barrier_handoff",
    "step", "stage", "subtile", "vm_cost", "lgkm_cost", "wait_value", "vgpr_def", "vgpr_kill",
    "ask", "producer_idx", "consumer_idx", "loop_distance", "time_slot", "vm_per_load",
    "lgkm_per_load", "simds", "barrier", "sync_issue", "vm_limit", "lgkm_limit", "storage",
    "stride", "least_trips",
)  # fmt: skip
_POSITIVE = ("instances", "threads", "multicast", "ctas", "cluster", "copies", "count")
# Bounds of numbers, by field, or by class and field.
_BOUNDS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(_FROM_ZERO, (0, MAX_INT)),
    **dict.fromkeys(_POSITIVE, (1, 4096)),
    **dict.fromkeys(("KernelShape.tile", "mma"), (1, MAX_INT)),
    **dict.fromkeys(("waves_per_group", "k_tiles_per_iteration"), (1, 1024)),
    **dict.fromkeys(("stagger_index", "tail_barriers"), (0, MAX_LIST)),
    "parity": (0, 1),
    "own": (1, 1000),
    "clock_hz": (1, MOST_HZ),
    "capacity": (1, MAX_INT),
    **dict.fromkeys(("Exchange.parts", "Exchange.slots"), (1, 4096)),
    "groups": (1, 64),
    "kernel_k_base": (0, 1024),
    "tag": (0, 255),
    "channel": (-1, 1024),
}
_OPTIONAL: dict[type, frozenset[str]] = {
    roles.Load: frozenset({"by_threads"}),
    roles.Arrive: frozenset({"side"}),
    roles.Compute: frozenset({"fills_slots"}),
    roles.BulkStore: frozenset({"k", "reduce"}),
    roles.RoleProgram: frozenset({"most_registers", "alternates"}),
    roles.RolesDocument: frozenset(
        {"tile", "dtype", "flow", "exchanges", "costs", "machine", "least_trips", "unroll"}
    ),
    rings.RoleRing: frozenset({"stride"}),
    RoleCosts: frozenset({"clock_hz", "shared", "step", "own", "tied", "ask"}),
    RoleOpCost: frozenset({"ahead", "beside"}),
    counters.ScheduleDocument: frozenset({"shape", "machine", "flow"}),
    ops.ScheduleEntry: frozenset({"reason"}),
}
# Keys of former versions, which mean nothing any more: read over.
_FORMER: dict[type, frozenset[str]] = {RoleCosts: frozenset({"waiting"})}
# Lists of pairs that are written as one object each, under the name of the first.
_PAIRS = {
    "MachineCosts.by_role": "role",
    "MachineCosts.by_name": "op",
    "MachineCosts.units": "unit",
}
# Fields that a document says elsewhere: the names of values are its flow.
_ELSEWHERE: dict[type, frozenset[str]] = {ops.OpDesc: frozenset({"takes", "makes"})}
_INFRASTRUCTURE = {(int(t), t.name): t for t in ScheduleOps}


def plain(value: Any) -> Any:
    """A value as JSON-ready dicts and lists."""
    if isinstance(value, Enum):
        return int(value) if isinstance(value, IntEnum) else _word(value)
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    if isinstance(value, ops.OpDesc):
        return {"tag": int(value.tag), "name": value.name, **_plain_fields(value)}
    if type(value).__name__ in ENTRY_KINDS:
        return {"entry": type(value).__name__, **_plain_fields(value)}
    if hasattr(type(value), "__dataclass_fields__"):
        return _plain_fields(value)
    return value


def _word(value: Enum) -> str:
    """What stands for a member: its value if that is a word, else its name."""
    return value.value if isinstance(value.value, str) else value.name


def _plain_fields(value: Any) -> dict[str, Any]:
    optional = _optional_fields(type(value))  # type: ignore[arg-type]
    owner = type(value).__name__
    return {
        f.name: _plain_field(getattr(value, f.name), f"{owner}.{f.name}")
        for f in fields(value)
        if f.name != "tag"
        and f.name not in _ELSEWHERE.get(type(value), ())
        and (f.name not in optional or getattr(value, f.name) != f.default)
    }


def _plain_field(value: Any, place: str) -> Any:
    if place not in _PAIRS:
        return plain(value)
    return [{_PAIRS[place]: plain(first), **plain(second)} for first, second in value]


@cache
def _optional_fields(cls: type) -> frozenset[str]:
    """Fields that are written only where they differ from their default."""
    if cls.__module__ in (flow.__name__, exchange.__name__):
        return frozenset(f.name for f in fields(cls) if f.default is not MISSING)
    return _OPTIONAL.get(cls, frozenset())


def record(data: object, path: str, cls: type[T], also: tuple[str, ...] = ()) -> T:
    """A value of a class from parsed JSON; keys of ``also`` stand beside its fields."""
    readers, optional = _readers(cls)  # type: ignore[arg-type]  # a class is hashable
    former = _FORMER.get(cls, frozenset())
    found = mapping(data, path, (*also, *readers, *former), optional | former)
    return cls(**{k: readers[k](v, f"{path}.{k}") for k, v in found.items() if k in readers})


@cache
def _readers(cls: type) -> tuple[dict[str, Reader], frozenset[str]]:
    """How each field of a class is read, and which may be missing."""
    hints = get_type_hints(cls)
    elsewhere = _ELSEWHERE.get(cls, frozenset())
    kept = {name: kind for name, kind in hints.items() if name not in elsewhere}
    readers = {name: _reader(kind, name, cls.__name__) for name, kind in kept.items()}
    return readers, _optional_fields(cls) | {"reason"}


def _reader(kind: Any, key: str, owner: str) -> Reader:  # noqa: PLR0911
    if kind is int:
        low, high = _BOUNDS.get(f"{owner}.{key}") or _BOUNDS.get(key) or (-MAX_INT, MAX_INT)
        return lambda data, path: whole(data, path, low, high)
    if kind is float:
        least, most = _BOUNDS[key]
        return lambda data, path: number(data, path, least, most)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        words_of = {_word(m): m for m in kind}
        return lambda data, path: member(data, path, words_of)
    if f"{owner}.{key}" in _PAIRS:
        return _paired(_PAIRS[f"{owner}.{key}"], *get_args(get_args(kind)[0]))
    if get_origin(kind) is tuple:
        return _sequence(get_args(kind), key, owner)
    if isinstance(kind, UnionType):
        options = get_args(kind)
        if type(None) not in options:
            return _entry
        inside = _reader(next(o for o in options if o is not type(None)), key, owner)
        return lambda data, path: None if data is None else inside(data, path)
    return lambda data, path: record(data, path, kind)


def _sequence(kinds: tuple[Any, ...], key: str, owner: str) -> Reader:
    items = [_reader(k, key, owner) for k in kinds if k is not Ellipsis]
    if kinds[-1] is Ellipsis:
        return lambda data, path: listed(data, path, items[0])

    def read(data: object, path: str) -> tuple[Any, ...]:
        values = listed(data, path, lambda value, at: (value, at))
        if len(values) != len(items):
            raise DocumentError(f"expected {len(items)} elements, found {len(values)}", path=path)
        return tuple(item(*value) for item, value in zip(items, values, strict=True))

    return read


def _paired(key: str, first: Any, second: Any) -> Reader:
    read = _reader(first, key, "")

    def pair(data: object, path: str) -> tuple[Any, Any]:
        rest = record(data, path, second, (key,))
        assert isinstance(data, dict)
        return read(data[key], f"{path}.{key}"), rest

    return lambda data, path: listed(data, path, pair)


def _machine(data: object, path: str) -> MachineCosts:
    try:
        return record(data, path, MachineCosts)
    except ConfigError as error:
        raise DocumentError(error.what, path=path) from None


def _entry(data: object, path: str) -> roles.RoleEntry:
    if not isinstance(data, dict):
        raise DocumentError(f"expected an object, found {kind_of(data)}", path=path)
    name = data.get("entry")
    if not isinstance(name, str) or name not in ENTRY_KINDS:
        raise DocumentError(
            f"unknown entry {str(name)[:40]!r}",
            path=f"{path}.entry",
            fix=f"known: {', '.join(ENTRY_KINDS)}",
        )
    rest = {k: v for k, v in data.items() if k != "entry"}
    entry: roles.RoleEntry = record(rest, path, ENTRY_KINDS[name])
    return entry


def _op(data: object, path: str) -> ops.OpDesc:
    """An op: the name of its tag stands beside the number."""
    op = record(data, path, ops.OpDesc, ("name",))
    assert isinstance(data, dict)
    name = words(data["name"], f"{path}.name")
    return replace(op, tag=_INFRASTRUCTURE.get((op.tag, name)) or OpTag(op.tag, name))


_PLAIN: dict[type, Reader] = {
    str: words,
    bool: truth,
    MachineCosts: _machine,
    ops.OpDesc: _op,
}
