"""Tiny schedule documents, and the recorded ones."""

from __future__ import annotations

from tests.recorded import cases
from warploom.ir import Counters, Protocol, ScheduleDocument
from warploom.ir.schedule_ops import (
    KOffsetKind,
    OpDesc,
    OpRole,
    OpTag,
    Phase,
    ResourceKind,
    ScheduleEntry,
)


def case_names(family):
    return list(cases(family))


def load(stage=0, subtile=0, channel=0, latency=200, k=KOffsetKind.K0):
    return OpDesc.op(
        OpTag(channel, f"LOAD_{'AB'[channel]}"),
        ResourceKind.GLOBAL_MEM,
        latency,
        OpRole.GLOBAL_LOAD,
        channel=channel,
        stage=stage,
        subtile=subtile,
        k_offset=k,
    )


def frag(stage=0, subtile=0, channel=0, latency=20):
    return OpDesc.op(
        OpTag(3 + channel, f"MMA_LOAD_{'AB'[channel]}"),
        ResourceKind.LDS,
        latency,
        OpRole.FRAGMENT_LOAD,
        channel=channel,
        stage=stage,
        subtile=subtile,
    )


def mma(row=0, col=0, latency=16):
    return OpDesc.op(
        OpTag(5, "MMA"),
        ResourceKind.MMA_UNIT,
        latency,
        OpRole.COMPUTE,
        stage=row,
        subtile=col,
    )


def entries(ops, phase):
    return tuple(ScheduleEntry(op=op, time_slot=i, phase=phase) for i, op in enumerate(ops))


def document(
    *, prologue=(), kernel=(), epilogue=(), vm=(1, 1), lgkm=(1, 1), name="tiny", **protocol
):
    protocol = {"groups": 1, "waves_per_group": 1, **protocol}
    return ScheduleDocument(
        name=name,
        target="test",
        strategy="HAND",
        protocol=Protocol(**protocol),
        counters=Counters(vm_per_load=vm, lgkm_per_load=lgkm),
        prologue=entries(prologue, Phase.PROLOGUE),
        kernel=entries(kernel, Phase.KERNEL),
        epilogue=entries(epilogue, Phase.EPILOGUE),
    )
