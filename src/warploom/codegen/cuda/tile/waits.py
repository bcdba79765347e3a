"""Waits for products that own what they wait for."""

from __future__ import annotations

from warploom.codegen.cuda.device import device
from warploom.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """An array a wait takes as operand: its shape."""

    name: str
    blocks: int
    registers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A call, and the functions that it needs, by name."""

    call: str
    functions: dict[str, str]


def wait_function(pending: int | None, arrays: tuple[Owned, ...]) -> Wait:
    """A wait for products that owns what it waits for: reads cannot move above it.

    Without a number it is the fence before products: writes cannot move below it.
    """
    if not arrays:
        call = (
            f"{device.wgmma_fence}();" if pending is None else f"{device.wgmma_wait}<{pending}>();"
        )
        return Wait(call=call, functions={})
    shape = "_".join(f"{a.blocks}x{a.registers}" for a in arrays)
    name = f"wgmma_fence_{shape}" if pending is None else f"wgmma_wait_{pending}_{shape}"
    word = "fence.sync.aligned" if pending is None else f"wait_group.sync.aligned {pending}"
    arguments = ", ".join(f"float (&x{n})[{a.blocks}][{a.registers}]" for n, a in enumerate(arrays))
    outputs = ", ".join(
        f'"+f"(x{n}[{i}][{j}])'
        for n, a in enumerate(arrays)
        for i in range(a.blocks)
        for j in range(a.registers)
    )
    text = (
        f"DEVICE void {name}({arguments}) {{\n"
        f'  asm volatile("wgmma.{word};"\n    : {outputs}\n'
        '    :: "memory");\n}\n'
    )
    return Wait(call=f"{name}({', '.join(a.name for a in arrays)});", functions={name: text})
