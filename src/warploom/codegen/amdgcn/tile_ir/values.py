"""``verify_values``: the machine code of a kernel computes the author's kernel, by size class.

Every class is a launch that the machine of ``check`` executes on random inputs: what is stored is
compared with the NumPy meaning of the kernel as it was parsed, and every access is decided for all
timings of the launch. Classes differ in what happens at edges: tiles and steps that are full,
ragged, one short or alone; pipelined loops with all of their phases, exactly as many steps as they
cover, and too few; rows that are aligned and rows that are not, which take the plain loop and
narrow stores. The module of the same kernel is verified by itself (``interp.wave_dataflow``): this
judges what LLVM made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from warploom.codegen.amdgcn.tile_ir.execute import ExecutionError
from warploom.codegen.amdgcn.tile_ir.trial import PADDING, compare, random_case
from warploom.ir.tile import Kernel

ORDERS = ("forward", "random", "reverse")
ODD, ALIGNED = PADDING


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesReport:
    """The verdict (``clean`` or ``wrong``), the sizes that were executed, and what is wrong."""

    kernel: str
    tried: tuple[tuple[tuple[str, int], ...], ...]
    findings: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """``clean`` where the code computes the author's kernel."""
        return "wrong" if self.findings else "clean"

    def __str__(self) -> str:
        lines = [f"machine code of {self.kernel}: {self.verdict}"]
        lines.append(f"  {len(self.tried)} size classes executed on the CPU, never on the chip:")
        lines += ["  " + ", ".join(f"{n}={s}" for n, s in sizes) for sizes in self.tried]
        return "\n".join([*lines, *(f"  wrong: {f}" for f in self.findings)])


def verify_values(
    kernel: Kernel, assembly: str, sidecar: Mapping[str, Any], *, seed: int = 0
) -> ValuesReport:
    """Whether machine code computes its kernel, for enumerated size classes."""
    tried: list[tuple[tuple[str, int], ...]] = []
    for number, (sizes, padding) in enumerate(value_classes(kernel, sidecar)):
        case = random_case(kernel, sidecar, sizes, seed + number)
        tried.append(tuple(sorted(case.sizes.items())))
        wrong = ""
        try:
            order = ORDERS[number % len(ORDERS)]
            errors = compare(kernel, assembly, sidecar, case, order=order, padding=padding)
            for error, allowed in errors:
                if error > allowed:
                    wrong = f"an element is {error:g} off, allowed is {allowed:g}"
        except ExecutionError as error:
            wrong = str(error)
        if wrong:
            return ValuesReport(kernel=kernel.name, tried=tuple(tried), findings=(wrong,))
    return ValuesReport(kernel=kernel.name, tried=tuple(tried), findings=())


def value_classes(
    kernel: Kernel, sidecar: Mapping[str, Any]
) -> Iterator[tuple[dict[str, int], int]]:
    """Sizes of tiled and walked axes, and elements between rows."""
    fixed = set(sidecar["fixed_sizes"])
    extents = {kernel.var(n).axis: int(e) for n, e in sidecar["extents"].items()}
    steps = {str(loop["axis"]): int(loop["steps"]) for loop in sidecar.get("loops", ())}
    free = {a: e for a, e in extents.items() if a not in fixed}
    yield {}, ALIGNED  # a tile and one element more; all phases of a loop, and some left over
    yield {a: steps.get(a, 1) * e for a, e in free.items()}, ALIGNED  # whole tiles, wide stores
    yield dict.fromkeys(free, 1), ODD
    yield {a: 2 * e + 3 if a in steps else max(1, e - 1) for a, e in free.items()}, ODD
