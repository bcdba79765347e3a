"""Parts of a split loop that meet in the shared memory of their cluster, as CUDA source.

Every CTA of the cluster finishes the sums of some of the consumers: of consumer i the CTA of part
i modulo the parts. The same consumer of every other part sends its registers into an inbox there,
which announces its bytes on a barrier, and goes on. What was read is free for the next tile.
"""

from __future__ import annotations

from itertools import zip_longest

from warploom.codegen.cuda.device import device
from warploom.codegen.cuda.legality import exchange_at, unfaithful_step
from warploom.codegen.cuda.lowering import Site
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.loop_view import LoopView
from warploom.codegen.cuda.tile.split_k import (
    BARRIER_BYTES,
    FEW_REGISTERS,
    GROUP_THREADS,
    QUAD_BYTES,
    meeting,
    met_arrays,
    part_bytes,
    quads_text,
)
from warploom.ir.dataflow import Counted, Does, ExchangeStep, Reach, Who

WARPS = 4
_FAR = Reach.CLUSTER
STEPS = (  # what the code does, in this order
    ExchangeStep(does=Does.AWAIT, by=Who.SENDER, flag=Counted.FREE, reach=_FAR),
    ExchangeStep(does=Does.WRITE, by=Who.SENDER),
    ExchangeStep(does=Does.PUBLISH, by=Who.SENDER, flag=Counted.FULL, reach=_FAR),
    ExchangeStep(does=Does.AWAIT, by=Who.OWNER, flag=Counted.FULL, reach=_FAR),
    ExchangeStep(does=Does.READ, by=Who.OWNER),
    ExchangeStep(does=Does.PUBLISH, by=Who.OWNER, flag=Counted.FREE, reach=_FAR),
)
MANY_REGISTERS = 64  # of a thread: sums of two parts that need more are written as such


def owners(loop: LoopView) -> int:
    """Consumers of a CTA whose sums it finishes."""
    return -(-loop.consumers // loop.schedule.split)


def inbox_bytes(loop: LoopView) -> int:
    """Shared memory for what the other parts of a tile send; 0 where they meet in memory."""
    if loop.meet is None or not loop.meet.near:
        return 0
    each = part_bytes(loop) // loop.consumers
    barriers = 2 * BARRIER_BYTES * loop.consumers
    return owners(loop) * (loop.schedule.split - 1) * each + barriers


def inbox_constants(loop: LoopView, at: int) -> list[str]:
    """Where barriers and inboxes lie."""
    consumers = loop.consumers
    names = ("MEET_FULL", "MEET_FREE", "MEET_INBOX")
    starts = (at, at + BARRIER_BYTES * consumers, at + 2 * BARRIER_BYTES * consumers)
    return [f"constexpr uint32_t {n} = {x};" for n, x in zip(names, starts, strict=True)]


def inbox_setup(loop: LoopView) -> list[str]:
    """Barriers before their first use."""
    lines = []
    for i in range(loop.consumers):
        at = BARRIER_BYTES * i
        lines += [
            f"{device.mbar_init}(smem + MEET_FULL + {at}, 1);",
            f"{device.mbar_init}(smem + MEET_FREE + {at}, {WARPS});",
        ]
    return indent(lines, 4)


def near_lines(context: Context, site: Site) -> list[str]:
    """Send the part's sums to the CTA that finishes them, or add up what was sent."""
    loop = context.loop
    exchange = exchange_at(site.document, meeting(loop).op)
    for step, mine in zip_longest(exchange.steps, STEPS):
        if step != mine:  # a write counts itself, and what follows the read is known to all
            raise unfaithful_step(exchange, step or mine)
    near = loop.schedule.split
    every = [
        quad
        for array in met_arrays(loop)
        for b in range(array.blocks)
        for quad in quads_text(array, b)
    ]
    step = GROUP_THREADS * QUAD_BYTES
    each = len(every) * step
    used = loop.registers
    slot = f"instance / {near}" if owners(loop) > 1 else "0"
    return [
        f"const bool is_last = part == instance % {near};",
        "{",
        f"  const int own = part, owner = instance % {near};",
        f"  const uint32_t full = smem + MEET_FULL + {BARRIER_BYTES} * instance;",
        f"  const uint32_t free = smem + MEET_FREE + {BARRIER_BYTES} * instance;",
        f"  const uint32_t inbox = smem + MEET_INBOX + ({slot}) * {(near - 1) * each}"
        f" + threadIdx.x % {GROUP_THREADS} * {QUAD_BYTES};",
        "  const uint32_t round = unit / gridDim.x & 1;",
        "  if (!is_last) {",
        f"    {device.mbar_wait_cluster}(free, round ^ 1);",
        f"    const uint32_t to = {device.at_cta}(inbox + (own - (own > owner)) * {each}, owner),"
        f" told = {device.at_cta}(full, owner);",
        *(
            f"    {device.send_shared4}(to + {n * step}, told, {', '.join(quad)});"
            for n, quad in enumerate(every)
        ),
        "  } else {",
        f"    if (threadIdx.x % {GROUP_THREADS} == 0)"
        f" {device.mbar_expect}(full, {(near - 1) * each});",
        f"    {device.mbar_wait_cluster}(full, round);",
        *indent(_added(every, near, step, each, used), 4),
        "    __syncwarp();",
        f"    if (unit + gridDim.x < tiles * {near} && lane < {near} && lane != own)",
        f"      {device.mbar_arrive_at}(free, lane);  // for the next tile",
        "  }",
        "}",
    ]


def _added(every: list[list[str]], near: int, step: int, each: int, used: int) -> list[str]:
    """The sums over the parts in their order; ``used``: registers of a thread that arrays take.

    Parts that are not loaded are undefined, which few registers bear; for many ptxas spills. Then
    the sum of two parts, in any order the same bits, is written as such, and others are zero.
    """
    many = 4 * len(every) > FEW_REGISTERS and (near > 2 or used > MANY_REGISTERS)
    lines = []
    for n, quad in enumerate(every):
        words = list(zip(quad, "xyzw", strict=True))
        if many and near == 2:
            lines += ["{", f"  const float4 x = {device.load_shared4}(inbox + {n * step});"]
            lines += [f"  {to} = 0.0f + {to} + x.{w};" for to, w in words if to != "0.0f"]
            lines.append("}")
            continue
        lines += ["{", f"  float4 x[{near}][1]{' = {}' if many else ''};", "#pragma unroll"]
        lines += [
            f"  for (int p = 0; p < {near}; ++p)",
            f"    if (p != own) x[p][0] = {device.load_shared4}(inbox + (p - (p > own)) * {each}"
            f" + {n * step});",
            f"  const float4 sum = {device.in_order}<{near}>(x, 0, own,"
            f" make_float4({', '.join(quad)}));",
        ]
        lines += [f"  {to} = sum.{w};" for to, w in words if to != "0.0f"]
        lines.append("}")
    return lines
