"""Write ``warploom/compiler/skeletons.py``: the skeletons of shipped kernels with tuned entries.

python scripts/write_skeletons.py [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain, combinations, product
from pathlib import Path

from warploom.compiler.similar import skeleton_of
from warploom.errors import WarploomError
from warploom.frontend.simplify import simplify
from warploom.ir.tile import Kernel
from warploom.kernels.registry import shipped

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "src" / "warploom" / "compiler" / "skeletons.py"
HEAD = '''# ruff: noqa: E501 (written by a script)
"""Skeletons of shipped kernels of which anything was measured (``compiler.similar``).

Written by ``scripts/write_skeletons.py``; a test compares it with the kernels.
"""

from typing import NamedTuple


class Entry(NamedTuple):
    """A form of a shipped kernel: variables with their axes, and loaded tiles, by number."""

    name: str
    choices: tuple[tuple[str, object], ...]
    vars: tuple[str, ...]
    axes: tuple[str, ...]
    tensors: tuple[str, ...]
    bits: tuple[int, ...]


# fmt: off
SKELETONS: dict[str, tuple[Entry, ...]] = {
'''
WHOLE = 64  # elements of whole axes that nothing is declared of


def forms() -> Iterator[tuple[str, dict[str, object], Kernel, bool]]:
    """Every form of every shipped kernel of which something was measured, most usual first; and
    whether it is of the types that were measured.
    """
    for name, one in shipped().items():
        if one.measured is None:
            continue
        text = one.kernel
        optional = [t.name for t in text.signature.tensors if t.optional]
        subsets = chain.from_iterable(
            combinations(optional, n) for n in range(len(optional), -1, -1)
        )
        values = list(product(*one.measured_choices.values()))
        for without in map(frozenset, subsets):
            for chosen in values:
                choices = dict(zip(one.measured_choices, chosen, strict=True))
                own = text.spell(one.dtype, without) | dict(one.types)
                for types in (own, text.spell("bf16", without), text.spell("e4m3", without)):
                    try:
                        whole = text.whole_axes(types, constants=choices, without=without)
                        sizes = {a: one.sizes.get(a, WHOLE) for a in whole}
                        kernel = text.value_for(types, sizes, choices, without)
                        yield name, choices, simplify(kernel), types is own
                    except (WarploomError, KeyError):
                        continue


def written() -> str:
    """The module's text."""
    found: dict[str, dict[tuple[object, ...], None]] = {}
    for name, choices, kernel, usual in forms():
        own = skeleton_of(kernel)
        axes = {v.name: v.axis for v in kernel.vars}
        entry = (
            name,
            tuple(sorted(choices.items())),
            tuple(own.vars),
            tuple(axes[v] for v in own.vars),
            tuple(own.tensors),
            own.bits,
        )
        known = found.setdefault(own.digest, {})
        if usual:
            known[entry] = None
    lines = []
    for digest, entries in sorted(found.items()):
        lines.append(f'    "{digest}": (')
        lines += [f"        Entry{entry!r},".replace("'", '"') for entry in entries]
        lines.append("    ),")
    return HEAD + "\n".join(lines) + "\n}\n# fmt: on\n"


def main() -> int:
    """Write it, or compare."""
    if "--check" in sys.argv:
        same = OUT.read_text() == written()
        print("the same" if same else "other skeletons: run this script")
        return int(not same)
    OUT.write_text(written())
    return 0


if __name__ == "__main__":
    sys.exit(main())
