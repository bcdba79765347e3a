"""Tiles that leave late, as CUDA text: packed at their end, written under the next tile's products.

A tile's sums are free for the next tile as soon as its elements are packed, in half as
many registers. What is left of the store, exchanges between threads and writes to memory, needs
nothing of the tile but its place. Half of it runs after the next tile's first product is issued,
half an iteration later; that of the last tile after all tiles.
"""

from __future__ import annotations

import re

from warploom.emit.cuda.roles import indent
from warploom.emit.cuda.tile.context import Context
from warploom.emit.cuda.tile.stores import line_text, packed_parts
from warploom.kernel.values import Store
from warploom.lower.storage import late_store

_PLACES = re.compile(r"\b(?:pos|end)_\w+")


def late_places(context: Context, op: Store) -> list[str]:
    """What of a tile its writes need."""
    return sorted(set(_PLACES.findall("\n".join(line_text(context, op)))))


def late_declarations(context: Context) -> list[str]:
    """A tile that waits, and what writes some of its parts; nothing where none waits."""
    op = late_store(context.layout)
    if op is None:
        return []
    blocks, parts = packed_parts(context.layout, op)
    places = late_places(context, op)
    return [
        f"uint32_t late[{blocks}][{parts}][8];  // a tile that waits for its way out",
        "bool waiting = false;",
        f"int {', '.join(f'late_{p} = 0' for p in places)};",
        "auto leave = [&](int from, int to) {",
        *(f"  const int {p} = late_{p};" for p in places),
        "#pragma unroll",
        f"  for (int b = 0; b < {blocks}; ++b) {{",
        "#pragma unroll",
        f"    for (int part = 0; part < {parts}; ++part) {{",
        "      if (part < from || part >= to) continue;",
        *indent(line_text(context, op), 6),
        "    }",
        "  }",
        "};",
    ]


def late_lines(context: Context, share: int | None = None) -> list[str]:
    """The first or second half of the tile that waits, or all of it."""
    op = late_store(context.layout)
    if op is None:
        return []
    _, parts = packed_parts(context.layout, op)
    from_, to = (0, parts) if share is None else (share * (parts // 2), (parts // 2, parts)[share])
    return [f"if (waiting) leave({from_}, {to});"]


def waits_now(context: Context, op: Store) -> list[str]:
    """Where the tile lies that waits from here on."""
    return [*(f"late_{p} = {p};" for p in late_places(context, op)), "waiting = true;"]
