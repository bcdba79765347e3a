"""Reading ``warploom.schedule/1``: strict, bounded, and precise about where a document is wrong.

A document may come from anywhere. Unknown and missing keys, wrong types and out-of-range numbers
raise ``DocumentError`` with the path inside the document; nothing else escapes.
"""

from __future__ import annotations

import json
from typing import Any

from warploom.document.checks import check_flow
from warploom.document.counters import (
    SCHEMA,
    BarrierKind,
    Counters,
    KernelShape,
    Protocol,
    RegisterWaits,
    ScheduleDocument,
)
from warploom.document.flow import SETUP, STORE, WAVE, Flow
from warploom.document.kinds import (
    DepKind,
    KOffsetKind,
    OpRole,
    OpTag,
    Phase,
    ResourceKind,
    ScheduleOps,
)
from warploom.document.machine_json import machine_from_json
from warploom.document.ops import DepEdge, OpDesc, ScheduleEntry
from warploom.document.records import record
from warploom.document.values import (
    MAX_LIST,
    listed,
    mapping,
    member_named,
    member_valued,
    pair,
    triple,
    truth,
    whole,
    words,
)
from warploom.errors import DocumentError

MAX_TEXT = 24 * 1024 * 1024
MAX_OPENED = 400_000
MAX_COMMAS = 4_000_000
MAX_GROUPS = 64

_INFRASTRUCTURE = {int(t): t for t in ScheduleOps}


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
    optional = tuple(
        n for n in ("shape", "machine", "flow") if isinstance(data, dict) and n in data
    )
    fields = mapping(data, "$", (*_DOCUMENT, *optional))
    if fields["schema"] != SCHEMA:
        raise DocumentError(
            f"unknown schema {fields['schema']!r}", path="$.schema", fix=f"expected {SCHEMA!r}"
        )
    document = ScheduleDocument(
        name=words(fields["name"], "$.name"),
        target=words(fields["target"], "$.target"),
        strategy=words(fields["strategy"], "$.strategy"),
        protocol=_protocol(fields["protocol"], "$.protocol"),
        counters=_counters(fields["counters"], "$.counters"),
        body=listed(fields["body"], "$.body", _op),
        edges=listed(fields["edges"], "$.edges", _edge),
        prologue=_phase(fields["prologue"], "$.prologue", Phase.PROLOGUE),
        kernel=_phase(fields["kernel"], "$.kernel", Phase.KERNEL),
        epilogue=_phase(fields["epilogue"], "$.epilogue", Phase.EPILOGUE),
        kernel_deps=listed(fields["kernel_deps"], "$.kernel_deps", _edge),
        warp_stagger_index=whole(fields["warp_stagger_index"], "$.warp_stagger_index"),
        shape=_shape(fields["shape"], "$.shape") if "shape" in fields else None,
        machine=machine_from_json(fields["machine"]) if "machine" in fields else None,
        flow=record(fields["flow"], "$.flow", Flow) if "flow" in fields else None,
    )
    if document.flow is not None:
        check_flow(document.flow, (WAVE, SETUP, STORE))
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
    f = mapping(data, path, _PROTOCOL)
    groups = whole(f["groups"], f"{path}.groups", 1, MAX_GROUPS)
    stagger = f["stagger_index"]
    tails = listed(
        f["tail_barriers"], f"{path}.tail_barriers", lambda v, p: whole(v, p, 0, MAX_LIST)
    )
    if len(tails) != groups:
        raise DocumentError(
            f"tail_barriers has {len(tails)} numbers for {groups} group(s)",
            path=f"{path}.tail_barriers",
            fix="give one number per group",
        )
    return Protocol(
        groups=groups,
        waves_per_group=whole(f["waves_per_group"], f"{path}.waves_per_group", 1, 1024),
        stagger_index=None
        if stagger is None
        else whole(stagger, f"{path}.stagger_index", 0, MAX_LIST),
        barrier_after_prologue=truth(f["barrier_after_prologue"], f"{path}.barrier_after_prologue"),
        tail_barriers=tails,
        k_tiles_per_iteration=whole(
            f["k_tiles_per_iteration"], f"{path}.k_tiles_per_iteration", 1, 1024
        ),
        kernel_k_base=whole(f["kernel_k_base"], f"{path}.kernel_k_base", 0, 1024),
        epilogue_drain=truth(f["epilogue_drain"], f"{path}.epilogue_drain"),
        barrier=member_valued(f["barrier"], f"{path}.barrier", BarrierKind),
        register_waits=member_valued(f["register_waits"], f"{path}.register_waits", RegisterWaits),
    )


def _counters(data: object, path: str) -> Counters:
    f = mapping(data, path, ("vm_per_load", "lgkm_per_load"))
    return Counters(
        vm_per_load=pair(f["vm_per_load"], f"{path}.vm_per_load"),
        lgkm_per_load=pair(f["lgkm_per_load"], f"{path}.lgkm_per_load"),
    )


def _shape(data: object, path: str) -> KernelShape:
    f = mapping(data, path, ("tile", "mma", "dtype"))
    return KernelShape(
        tile=triple(f["tile"], f"{path}.tile"),
        mma=triple(f["mma"], f"{path}.mma"),
        dtype=words(f["dtype"], f"{path}.dtype"),
    )


def _op(data: object, path: str) -> OpDesc:
    f = mapping(data, path, _OP)
    tag = whole(f["tag"], f"{path}.tag", 0, 255)
    name = words(f["name"], f"{path}.name")
    infrastructure = _INFRASTRUCTURE.get(tag)
    return OpDesc(
        tag=infrastructure if infrastructure and infrastructure.name == name else OpTag(tag, name),
        stage=whole(f["stage"], f"{path}.stage", 0),
        subtile=whole(f["subtile"], f"{path}.subtile", 0),
        k_offset=member_named(f["k_offset"], f"{path}.k_offset", KOffsetKind),
        vm_cost=whole(f["vm_cost"], f"{path}.vm_cost", 0),
        lgkm_cost=whole(f["lgkm_cost"], f"{path}.lgkm_cost", 0),
        wait_value=whole(f["wait_value"], f"{path}.wait_value", 0),
        resource=member_named(f["resource"], f"{path}.resource", ResourceKind),
        latency=whole(f["latency"], f"{path}.latency", 0),
        role=member_named(f["role"], f"{path}.role", OpRole),
        channel=whole(f["channel"], f"{path}.channel", -1, 1024),
        vgpr_def=whole(f["vgpr_def"], f"{path}.vgpr_def", 0),
        vgpr_kill=whole(f["vgpr_kill"], f"{path}.vgpr_kill", 0),
    )


def _edge(data: object, path: str) -> DepEdge:
    f = mapping(data, path, ("producer_idx", "consumer_idx", "dep_kind", "loop_distance"))
    return DepEdge(
        whole(f["producer_idx"], f"{path}.producer_idx", 0),
        whole(f["consumer_idx"], f"{path}.consumer_idx", 0),
        member_named(f["dep_kind"], f"{path}.dep_kind", DepKind),
        whole(f["loop_distance"], f"{path}.loop_distance", 0),
    )


_ENTRY = ("op", "time_slot", "phase", "is_prefetch")


def _phase(data: object, path: str, phase: Phase) -> tuple[ScheduleEntry, ...]:
    def entry(item: object, at: str) -> ScheduleEntry:
        f = mapping(item, at, (*_ENTRY, "reason"), optional=frozenset({"reason"}))
        found = member_named(f["phase"], f"{at}.phase", Phase)
        if found is not phase:
            raise DocumentError(
                f"an entry of phase {found.name} stands in the {phase.name.lower()}",
                path=f"{at}.phase",
            )
        return ScheduleEntry(
            op=_op(f["op"], f"{at}.op"),
            time_slot=whole(f["time_slot"], f"{at}.time_slot", 0),
            phase=phase,
            is_prefetch=truth(f["is_prefetch"], f"{at}.is_prefetch"),
            reason=words(f.get("reason", ""), f"{at}.reason"),
        )

    return listed(data, path, entry)


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
