"""Reading ``warploom.schedule/1``: strict, bounded, and precise about where a document is wrong.

A document may come from anywhere. Unknown and missing keys, wrong types and out-of-range numbers
raise ``DocumentError`` with the path inside the document; nothing else escapes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from enum import Enum
from typing import Any, TypeVar

from warploom.document.counters import (
    SCHEMA,
    BarrierKind,
    Counters,
    KernelShape,
    Protocol,
    RegisterWaits,
    ScheduleDocument,
)
from warploom.document.kinds import (
    DepKind,
    KOffsetKind,
    OpRole,
    OpTag,
    Phase,
    ResourceKind,
    ScheduleOps,
)
from warploom.document.ops import DepEdge, OpDesc, ScheduleEntry
from warploom.errors import DocumentError

MAX_TEXT = 24 * 1024 * 1024
MAX_OPENED = 400_000
MAX_COMMAS = 4_000_000
MAX_LIST = 100_000
MAX_INT = 10**9
MAX_GROUPS = 64

_INFRASTRUCTURE = {int(t): t for t in ScheduleOps}

E = TypeVar("E", bound=Enum)
T = TypeVar("T")


def read_counters(text: str | bytes) -> ScheduleDocument:
    """Parse a document. Raises ``DocumentError`` on anything that is not exactly the form."""
    return schedule_from_json(parse_json(text))


def parse_json(text: str | bytes) -> object:
    """The JSON value of a document's text, of bounded size and without repeated keys."""
    if len(text) > MAX_TEXT:
        raise DocumentError(f"the document is larger than {MAX_TEXT} bytes")
    _check_text(text)
    try:
        data: object = json.loads(text, object_pairs_hook=_no_duplicates)
    except DocumentError:
        raise
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"not a JSON document: {error}") from None
    return data


def _check_text(text: str | bytes) -> None:
    """Refuse a text whose values would take long to build: counted before anything is built."""
    marks = (b"{", b"[", b",") if isinstance(text, bytes) else ("{", "[", ",")
    opened = text.count(marks[0]) + text.count(marks[1])  # type: ignore[arg-type]
    if opened > MAX_OPENED or text.count(marks[2]) > MAX_COMMAS:  # type: ignore[arg-type]
        raise DocumentError(
            f"more than {MAX_OPENED} lists and objects, or {MAX_COMMAS} elements",
            fix="a schedule is far smaller",
        )


def schedule_from_json(data: object) -> ScheduleDocument:
    """Build a document from parsed JSON."""
    optional = ("shape",) if isinstance(data, dict) and "shape" in data else ()
    fields = _object(data, "$", (*_DOCUMENT, *optional))
    if fields["schema"] != SCHEMA:
        raise DocumentError(
            f"unknown schema {fields['schema']!r}", path="$.schema", fix=f"expected {SCHEMA!r}"
        )
    document = ScheduleDocument(
        name=_text(fields["name"], "$.name"),
        target=_text(fields["target"], "$.target"),
        strategy=_text(fields["strategy"], "$.strategy"),
        protocol=_protocol(fields["protocol"], "$.protocol"),
        counters=_counters(fields["counters"], "$.counters"),
        body=_list(fields["body"], "$.body", _op),
        edges=_list(fields["edges"], "$.edges", _edge),
        prologue=_phase(fields["prologue"], "$.prologue", Phase.PROLOGUE),
        kernel=_phase(fields["kernel"], "$.kernel", Phase.KERNEL),
        epilogue=_phase(fields["epilogue"], "$.epilogue", Phase.EPILOGUE),
        kernel_deps=_list(fields["kernel_deps"], "$.kernel_deps", _edge),
        warp_stagger_index=_int(fields["warp_stagger_index"], "$.warp_stagger_index"),
        shape=_shape(fields["shape"], "$.shape") if optional else None,
    )
    _check_indices(document)
    return document


_DOCUMENT = (
    "schema",
    "name",
    "target",
    "strategy",
    "protocol",
    "counters",
    "body",
    "edges",
    "prologue",
    "kernel",
    "epilogue",
    "kernel_deps",
    "warp_stagger_index",
)
_PROTOCOL = (
    "groups",
    "waves_per_group",
    "stagger_index",
    "barrier_after_prologue",
    "tail_barriers",
    "k_tiles_per_iteration",
    "kernel_k_base",
    "epilogue_drain",
    "barrier",
    "register_waits",
)
_OP = (
    "tag",
    "name",
    "stage",
    "subtile",
    "k_offset",
    "vm_cost",
    "lgkm_cost",
    "wait_value",
    "resource",
    "latency",
    "role",
    "channel",
    "vgpr_def",
    "vgpr_kill",
)


def _protocol(data: object, path: str) -> Protocol:
    f = _object(data, path, _PROTOCOL)
    groups = _int(f["groups"], f"{path}.groups", 1, MAX_GROUPS)
    stagger = f["stagger_index"]
    tails = _list(f["tail_barriers"], f"{path}.tail_barriers", lambda v, p: _int(v, p, 0, MAX_LIST))
    if len(tails) != groups:
        raise DocumentError(
            f"tail_barriers has {len(tails)} numbers for {groups} group(s)",
            path=f"{path}.tail_barriers",
            fix="give one number per group",
        )
    return Protocol(
        groups=groups,
        waves_per_group=_int(f["waves_per_group"], f"{path}.waves_per_group", 1, 1024),
        stagger_index=None
        if stagger is None
        else _int(stagger, f"{path}.stagger_index", 0, MAX_LIST),
        barrier_after_prologue=_bool(f["barrier_after_prologue"], f"{path}.barrier_after_prologue"),
        tail_barriers=tails,
        k_tiles_per_iteration=_int(
            f["k_tiles_per_iteration"], f"{path}.k_tiles_per_iteration", 1, 1024
        ),
        kernel_k_base=_int(f["kernel_k_base"], f"{path}.kernel_k_base", 0, 1024),
        epilogue_drain=_bool(f["epilogue_drain"], f"{path}.epilogue_drain"),
        barrier=_value(f["barrier"], f"{path}.barrier", BarrierKind),
        register_waits=_value(f["register_waits"], f"{path}.register_waits", RegisterWaits),
    )


def _counters(data: object, path: str) -> Counters:
    f = _object(data, path, ("vm_per_load", "lgkm_per_load"))
    return Counters(
        vm_per_load=_pair(f["vm_per_load"], f"{path}.vm_per_load"),
        lgkm_per_load=_pair(f["lgkm_per_load"], f"{path}.lgkm_per_load"),
    )


def _shape(data: object, path: str) -> KernelShape:
    f = _object(data, path, ("tile", "mma", "dtype"))
    return KernelShape(
        tile=_triple(f["tile"], f"{path}.tile"),
        mma=_triple(f["mma"], f"{path}.mma"),
        dtype=_text(f["dtype"], f"{path}.dtype"),
    )


def _op(data: object, path: str) -> OpDesc:
    f = _object(data, path, _OP)
    tag = _int(f["tag"], f"{path}.tag", 0, 255)
    name = _text(f["name"], f"{path}.name")
    infrastructure = _INFRASTRUCTURE.get(tag)
    return OpDesc(
        tag=infrastructure if infrastructure and infrastructure.name == name else OpTag(tag, name),
        stage=_int(f["stage"], f"{path}.stage", 0),
        subtile=_int(f["subtile"], f"{path}.subtile", 0),
        k_offset=_name(f["k_offset"], f"{path}.k_offset", KOffsetKind),
        vm_cost=_int(f["vm_cost"], f"{path}.vm_cost", 0),
        lgkm_cost=_int(f["lgkm_cost"], f"{path}.lgkm_cost", 0),
        wait_value=_int(f["wait_value"], f"{path}.wait_value", 0),
        resource=_name(f["resource"], f"{path}.resource", ResourceKind),
        latency=_int(f["latency"], f"{path}.latency", 0),
        role=_name(f["role"], f"{path}.role", OpRole),
        channel=_int(f["channel"], f"{path}.channel", -1, 1024),
        vgpr_def=_int(f["vgpr_def"], f"{path}.vgpr_def", 0),
        vgpr_kill=_int(f["vgpr_kill"], f"{path}.vgpr_kill", 0),
    )


def _edge(data: object, path: str) -> DepEdge:
    f = _object(data, path, ("producer_idx", "consumer_idx", "dep_kind", "loop_distance"))
    return DepEdge(
        _int(f["producer_idx"], f"{path}.producer_idx", 0),
        _int(f["consumer_idx"], f"{path}.consumer_idx", 0),
        _name(f["dep_kind"], f"{path}.dep_kind", DepKind),
        _int(f["loop_distance"], f"{path}.loop_distance", 0),
    )


_ENTRY = ("op", "time_slot", "phase", "is_prefetch")


def _phase(data: object, path: str, phase: Phase) -> tuple[ScheduleEntry, ...]:
    def entry(item: object, at: str) -> ScheduleEntry:
        f = _object(item, at, (*_ENTRY, "reason"), optional=frozenset({"reason"}))
        found = _name(f["phase"], f"{at}.phase", Phase)
        if found is not phase:
            raise DocumentError(
                f"an entry of phase {found.name} stands in the {phase.name.lower()}",
                path=f"{at}.phase",
            )
        return ScheduleEntry(
            op=_op(f["op"], f"{at}.op"),
            time_slot=_int(f["time_slot"], f"{at}.time_slot", 0),
            phase=phase,
            is_prefetch=_bool(f["is_prefetch"], f"{at}.is_prefetch"),
            reason=_text(f.get("reason", ""), f"{at}.reason"),
        )

    return _list(data, path, entry)


def _check_indices(document: ScheduleDocument) -> None:
    for name, edges, size in (
        ("edges", document.edges, len(document.body)),
        ("kernel_deps", document.kernel_deps, max(len(document.kernel), len(document.body))),
    ):
        for i, edge in enumerate(edges):
            if max(edge.producer_idx, edge.consumer_idx) >= size:
                raise DocumentError(
                    f"edge {edge.producer_idx} -> {edge.consumer_idx} points outside the "
                    f"{size} ops it speaks of",
                    path=f"$.{name}[{i}]",
                )


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise DocumentError(f"the key {key!r} is written twice in one object")
        out[key] = value
    return out


def _object(
    data: object, path: str, keys: tuple[str, ...], optional: frozenset[str] = frozenset()
) -> Mapping[str, object]:
    if not isinstance(data, dict):
        raise DocumentError(f"expected an object, found {_kind(data)}", path=path)
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


def _list(data: object, path: str, item: Callable[[object, str], T]) -> tuple[T, ...]:
    if not isinstance(data, list):
        raise DocumentError(f"expected a list, found {_kind(data)}", path=path)
    if len(data) > MAX_LIST:
        raise DocumentError(f"more than {MAX_LIST} elements", path=path)
    return tuple(item(value, f"{path}[{i}]") for i, value in enumerate(data))


def _pair(data: object, path: str) -> tuple[int, int]:
    values = _list(data, path, lambda v, p: _int(v, p, 0))
    if len(values) != 2:
        raise DocumentError(f"expected two numbers (a, b), found {len(values)}", path=path)
    return values[0], values[1]


def _triple(data: object, path: str) -> tuple[int, int, int]:
    values = _list(data, path, lambda v, p: _int(v, p, 1))
    if len(values) != 3:
        raise DocumentError(f"expected three numbers (m, n, k), found {len(values)}", path=path)
    return values[0], values[1], values[2]


def _int(data: object, path: str, low: int = -MAX_INT, high: int = MAX_INT) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        raise DocumentError(f"expected a whole number, found {_kind(data)}", path=path)
    if not low <= data <= high:
        raise DocumentError(f"a number outside {low}..{high}", path=path)
    return data


def _bool(data: object, path: str) -> bool:
    if not isinstance(data, bool):
        raise DocumentError(f"expected true or false, found {_kind(data)}", path=path)
    return data


def _text(data: object, path: str) -> str:
    if not isinstance(data, str):
        raise DocumentError(f"expected a text, found {_kind(data)}", path=path)
    if len(data) > 10_000:
        raise DocumentError("a text of more than 10000 characters", path=path)
    return data


def _name(data: object, path: str, kind: type[E]) -> E:
    names = [m.name for m in kind]
    if not isinstance(data, str) or data not in names:
        raise DocumentError(
            f"expected one of {', '.join(names)}, found {str(data)[:40]!r}", path=path
        )
    return kind[data]


def _value(data: object, path: str, kind: type[E]) -> E:
    values = [str(m.value) for m in kind]
    if not isinstance(data, str) or data not in values:
        raise DocumentError(
            f"expected one of {', '.join(values)}, found {str(data)[:40]!r}", path=path
        )
    return kind(data)


def _kind(data: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true/false", int: "a number"}
    return "null" if data is None else names.get(type(data), type(data).__name__)
