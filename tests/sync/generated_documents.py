"""Documents of any grid, number of stages and wave groups, sound in their order by construction."""

from warploom.ir import Counters, Protocol, ScheduleDocument
from warploom.ir.schedule_ops import KOffsetKind, OpDesc, OpRole, OpTag, Phase, ScheduleEntry

LOAD = (OpTag(0, "LOAD_A"), OpTag(1, "LOAD_B"))
READ = (OpTag(3, "READ_A"), OpTag(4, "READ_B"))
MMA = OpTag(5, "MMA")
OFFSETS = (KOffsetKind.K0, KOffsetKind.K1, KOffsetKind.K_NEXT)


def load(channel, stage, subtile):
    return OpDesc(
        tag=LOAD[channel],
        stage=stage,
        subtile=subtile,
        k_offset=OFFSETS[stage],
        role=OpRole.GLOBAL_LOAD,
        channel=channel,
    )


def read(channel, stage, subtile):
    return OpDesc(
        tag=READ[channel], stage=stage, subtile=subtile, role=OpRole.FRAGMENT_LOAD, channel=channel
    )


def mma(row, col):
    return OpDesc(tag=MMA, stage=row, subtile=col, role=OpRole.COMPUTE)


def entries(ops, phase):
    return tuple(ScheduleEntry(op=op, time_slot=i, phase=phase) for i, op in enumerate(ops))


def ring(rows, cols, stages, groups=1, *, waves=4, vm=(2, 3), lgkm=(4, 2), late=False):
    """``stages`` buffers, one K-tile each an iteration; no waits and no barriers.

    ``late``: fragments are read one iteration before their MMAs, so that a chain load -> read ->
    MMA spans two back edges.
    """
    parts = [(0, i) for i in range(rows)] + [(1, j) for j in range(cols)]
    grid = [mma(i, j) for i in range(rows) for j in range(cols)]
    reads = {s: [read(c, s, x) for c, x in parts] for s in range(stages)}
    loads = {s: [load(c, s, x) for c, x in parts] for s in range(stages)}
    prologue = [op for s in range(stages) for op in loads[s]]
    if late:
        assert stages == 1
        prologue += reads[0] + loads_at(parts, KOffsetKind.K1)
        kernel = grid + reads[0] + loads_at(parts, KOffsetKind.K0)
        epilogue = grid + reads[0] + grid
    else:
        kernel = [op for s in range(stages) for op in (*reads[s], *grid, *loads[s])]
        epilogue = [op for s in range(stages) for op in (*reads[s], *grid)]
    tiles = 1 if late else stages
    staggered = groups > 1
    return ScheduleDocument(
        name=f"ring {rows}x{cols}x{stages}",
        target="generated",
        strategy="none",
        protocol=Protocol(
            groups=groups,
            waves_per_group=waves,
            stagger_index=len(parts) if staggered else None,
            barrier_after_prologue=staggered,
            tail_barriers=tuple(groups - 1 - g for g in range(groups)),
            k_tiles_per_iteration=tiles,
            kernel_k_base=2 if late else tiles,
        ),
        counters=Counters(vm_per_load=vm, lgkm_per_load=lgkm),
        prologue=entries(prologue, Phase.PROLOGUE),
        kernel=entries(kernel, Phase.KERNEL),
        epilogue=entries(epilogue, Phase.EPILOGUE),
    )


def loads_at(parts, k_offset):
    return [
        OpDesc(tag=LOAD[c], subtile=x, k_offset=k_offset, role=OpRole.GLOBAL_LOAD, channel=c)
        for c, x in parts
    ]
