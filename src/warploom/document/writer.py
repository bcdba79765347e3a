"""Writing ``warploom.schedule/1``: one canonical text per document, one entry per line."""

from __future__ import annotations

import json
from typing import Any

from warploom.document.counters import SCHEMA, KernelShape, ScheduleDocument
from warploom.document.given import Given, counter_document_of
from warploom.document.machine_json import machine_to_json
from warploom.document.ops import DepEdge, OpDesc, ScheduleEntry
from warploom.document.records import plain


def schedule_to_json(document: ScheduleDocument) -> dict[str, Any]:
    """The document as JSON-ready dicts and lists."""
    p, c, shape = document.protocol, document.counters, document.shape
    return {
        "schema": SCHEMA,
        "name": document.name,
        "target": document.target,
        "strategy": document.strategy,
        **({"shape": _shape(shape)} if shape is not None else {}),
        **({"machine": machine_to_json(document.machine)} if document.machine else {}),
        "protocol": {
            "groups": p.groups,
            "waves_per_group": p.waves_per_group,
            "stagger_index": p.stagger_index,
            "barrier_after_prologue": p.barrier_after_prologue,
            "tail_barriers": list(p.tail_barriers),
            "k_tiles_per_iteration": p.k_tiles_per_iteration,
            "kernel_k_base": p.kernel_k_base,
            "epilogue_drain": p.epilogue_drain,
            "barrier": p.barrier.value,
            "register_waits": p.register_waits.value,
        },
        "counters": {
            "vm_per_load": list(c.vm_per_load),
            "lgkm_per_load": list(c.lgkm_per_load),
        },
        "body": [op_to_json(op) for op in document.body],
        "edges": [_edge(e) for e in document.edges],
        "prologue": [entry_to_json(e) for e in document.prologue],
        "kernel": [entry_to_json(e) for e in document.kernel],
        "epilogue": [entry_to_json(e) for e in document.epilogue],
        "kernel_deps": [_edge(e) for e in document.kernel_deps],
        "warp_stagger_index": document.warp_stagger_index,
        **({"flow": plain(document.flow)} if document.flow is not None else {}),
    }


def write_counters(given: Given) -> str:
    """The canonical text of a document; reading and writing it gives the same bytes."""
    lines = []
    for key, value in schedule_to_json(counter_document_of(given)).items():
        if isinstance(value, list) and value:
            body = ",\n  ".join(json.dumps(item) for item in value)
            lines.append(f"{json.dumps(key)}: [\n  {body}\n]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def op_to_json(op: OpDesc) -> dict[str, Any]:
    """One op in document form."""
    return {
        "tag": int(op.tag),
        "name": op.name,
        "stage": op.stage,
        "subtile": op.subtile,
        "k_offset": op.k_offset.name,
        "vm_cost": op.vm_cost,
        "lgkm_cost": op.lgkm_cost,
        "wait_value": op.wait_value,
        "resource": op.resource.name,
        "latency": op.latency,
        "role": op.role.name,
        "channel": op.channel,
        "vgpr_def": op.vgpr_def,
        "vgpr_kill": op.vgpr_kill,
    }


def entry_to_json(entry: ScheduleEntry) -> dict[str, Any]:
    """One phase entry in document form."""
    return {
        "op": op_to_json(entry.op),
        "time_slot": entry.time_slot,
        "phase": entry.phase.name,
        "is_prefetch": entry.is_prefetch,
        **({"reason": entry.reason} if entry.reason else {}),
    }


def _shape(shape: KernelShape) -> dict[str, Any]:
    return {"tile": list(shape.tile), "mma": list(shape.mma), "dtype": shape.dtype}


def _edge(edge: DepEdge) -> dict[str, Any]:
    return {
        "producer_idx": edge.producer_idx,
        "consumer_idx": edge.consumer_idx,
        "dep_kind": edge.dep_kind.name,
        "loop_distance": edge.loop_distance,
    }
