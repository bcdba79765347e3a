"""Parts of a split loop that meet in the shared memory of their cluster, as CUDA source.

Every CTA of the cluster finishes the sums of some of the consumers: of consumer i the CTA of part
i modulo the parts. The same consumer of every other part sends its registers into an inbox there,
which announces its bytes on a barrier, and goes on. What was read is free for the next tile.
"""

from __future__ import annotations

from itertools import zip_longest

from warploom.codegen.cuda.legality import exchange_at, unfaithful_step
from warploom.codegen.cuda.lowering import Site
from warploom.codegen.cuda.roles import indent
from warploom.codegen.cuda.tile.context import Context
from warploom.codegen.cuda.tile.split_k import FEW_REGISTERS, quads_text
from warploom.passes.cross_cta import NEAR
from warploom.passes.layout import Layout
from warploom.passes.split_k import (
    BARRIER_BYTES,
    GROUP_THREADS,
    MEET,
    QUAD_BYTES,
    met_arrays,
    owned,
)

WARPS = 4
MANY_REGISTERS = 64  # of a thread: sums of two parts that need more are written as such


def inbox_constants(layout: Layout, at: int) -> list[str]:
    """Where barriers and inboxes lie."""
    consumers = layout.config.consumer_warpgroups
    names = ("MEET_FULL", "MEET_FREE", "MEET_INBOX")
    starts = (at, at + BARRIER_BYTES * consumers, at + 2 * BARRIER_BYTES * consumers)
    return [f"constexpr uint32_t {n} = {x};" for n, x in zip(names, starts, strict=True)]


def inbox_setup(layout: Layout) -> list[str]:
    """Barriers before their first use."""
    lines = []
    for i in range(layout.config.consumer_warpgroups):
        at = BARRIER_BYTES * i
        lines += [
            f"mbar_init(smem + MEET_FULL + {at}, 1);",
            f"mbar_init(smem + MEET_FREE + {at}, {WARPS});",
        ]
    return indent(lines, 4)


def near_lines(context: Context, site: Site) -> list[str]:
    """Send the part's sums to the CTA that finishes them, or add up what was sent."""
    layout, exchange = context.layout, exchange_at(site.document, MEET)
    for step, judged in zip_longest(exchange.steps, NEAR):
        if step != judged:  # a write counts itself, and what follows the read is known to all
            raise unfaithful_step(exchange, step or judged)
    near = layout.config.split_k
    every = [
        [word.replace("[b]", f"[{b}]") for word in quad]
        for array in met_arrays(layout)
        for b in range(array.blocks)
        for quad in quads_text(array)
    ]
    step = GROUP_THREADS * QUAD_BYTES
    each = len(every) * step
    used = sum(a.registers for a in layout.arrays)
    owners = owned(layout)
    slot = f"instance / {near}" if owners > 1 else "0"
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
        "    mbar_wait_cluster(free, round ^ 1);",
        f"    const uint32_t to = at_cta(inbox + (own - (own > owner)) * {each}, owner),"
        " told = at_cta(full, owner);",
        *(
            f"    send_shared4(to + {n * step}, told, {', '.join(quad)});"
            for n, quad in enumerate(every)
        ),
        "  } else {",
        f"    if (threadIdx.x % {GROUP_THREADS} == 0) mbar_expect(full, {(near - 1) * each});",
        "    mbar_wait_cluster(full, round);",
        *indent(_added(every, near, step, each, used), 4),
        "    __syncwarp();",
        f"    if (unit + gridDim.x < tiles * {layout.config.split_k} && lane < {near}"
        " && lane != own)",
        "      mbar_arrive_at(free, lane);  // for the next tile",
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
            lines += ["{", f"  const float4 x = load_shared4(inbox + {n * step});"]
            lines += [f"  {to} = 0.0f + {to} + x.{w};" for to, w in words if to != "0.0f"]
            lines.append("}")
            continue
        lines += ["{", f"  float4 x[{near}][1]{' = {}' if many else ''};", "#pragma unroll"]
        lines += [
            f"  for (int p = 0; p < {near}; ++p)",
            f"    if (p != own) x[p][0] = load_shared4(inbox + (p - (p > own)) * {each}"
            f" + {n * step});",
            f"  const float4 sum = in_order<{near}>(x, 0, own, make_float4({', '.join(quad)}));",
        ]
        lines += [f"  {to} = sum.{w};" for to, w in words if to != "0.0f"]
        lines.append("}")
    return lines
