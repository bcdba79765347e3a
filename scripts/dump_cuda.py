"""Write the CUDA source of every shipped kernel to a folder, to compare two states of the compiler.

    .venv/bin/python scripts/dump_cuda.py before/     # in the old tree
    .venv/bin/python scripts/dump_cuda.py after/      # in the new one
    diff -r before after                              # equal sources are equal machine code

Kernels as a command names them: the tiles measured for long rows, and the first choice of the model
(``free``), with masks and lengths where a kernel has them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from warploom.cli.kernels import TEXTS, USUAL, TileKernel
from warploom.errors import WarploomError

CHOICES = {
    "attention": ({}, {"causal": True}, {"d": 64}, {"d": 64, "causal": True}),
    "packed": ({}, {"causal": True}),
    "attention_grad": ({}, {"causal": True}, {"d": 64}),
}
PINS = {"gemm": ({}, {"split_k": 4, "m": 128, "n": 128, "k": 64})}


def every() -> list[tuple[str, TileKernel]]:
    """Shipped kernels with choices, by a name for their file."""
    found = []
    for name, text in TEXTS.items():
        for chosen in CHOICES.get(name, ({},)):
            for pins in PINS.get(name, ({},)):
                for free in (False, True):
                    whole = {n: v for n, v in chosen.items() if n == "d"}
                    choices = {n: v for n, v in chosen.items() if n != "d"}
                    said = [*(f"{n}={v}" for n, v in {**chosen, **pins}.items())]
                    label = "-".join([name, *said, *(["free"] if free else [])])
                    made = TileKernel(
                        text,
                        USUAL.get(name, "bf16"),
                        pins=tuple(pins.items()),
                        whole=tuple(whole.items()),
                        choices=tuple(choices.items()),
                        free=free,
                    )
                    found.append((label, made))
    return found


def main(folder: str) -> None:
    """Write all sources."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for label, kernel in every():
        try:
            text = kernel.source(kernel.lowered.document)
        except WarploomError as error:
            text = f"{type(error).__name__}: {error}\n"
        text = re.sub(r"kernel (\w+), \S*/", r"kernel \1, ", text)  # without the author's folder
        (target / f"{label}.cu").write_text(text)


if __name__ == "__main__":
    main(sys.argv[1])
