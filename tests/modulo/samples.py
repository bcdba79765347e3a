"""Small matmul bodies of any grid and partition count, and their documents."""

from warploom.ir import Counters, Protocol, ScheduleDocument
from warploom.ir.schedule_ops import KOffsetKind
from warploom.pipeline.amd_target.cost import PingPongOps as T, mi355x_cost_model
from warploom.pipeline.body import PipelineBody
from warploom.pipeline.cost_model import annotate_ops


def matmul_ops(m, n, partitions):
    """Priced ops of an m x n grid: loads, fragment loads and MMAs of each K-partition."""
    with PipelineBody() as body:
        for h in range(partitions):
            for ch, count, tag in ((0, m, T.LOAD_A), (1, n, T.LOAD_B)):
                body.fan(count, tag, ch=ch, stage=h, k=KOffsetKind.K0)
            for ch, count, tag in ((0, m, T.MMA_LOAD_A), (1, n, T.MMA_LOAD_B)):
                body.fan(count, tag, ch=ch, stage=h)
            body.grid(m, n, T.MMA)
    return annotate_ops(body.done(), mi355x_cost_model())


def document(phases, name="sample"):
    return ScheduleDocument(
        name=name,
        target="mi355x",
        strategy="MODULO",
        protocol=Protocol(
            waves_per_group=4,
            k_tiles_per_iteration=phases.k_tiles_per_iteration,
            kernel_k_base=phases.kernel_k_base,
        ),
        counters=Counters(vm_per_load=(1, 1), lgkm_per_load=(1, 1)),
        prologue=phases.prologue,
        kernel=phases.kernel,
        epilogue=phases.epilogue,
    )
