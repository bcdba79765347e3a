"""Random kernels of the language, as texts, with arrays to run them on.

``random_kernels()`` is a hypothesis strategy. Values stay of moderate size and conditions depend on
indices alone, so that a back end's rounding never flips a choice. What a kernel computes does not
depend on how many elements a tile or step has.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from hypothesis import strategies as st

import warploom as wl
from tests.frontend.random_forms import MAKE
from tests.frontend.sources import run_source
from warploom.frontend.pointwise import rounded
from warploom.ir.tile import Access, DType

FORMS = ("product", "softmax", "rows", "blocks", "groups", "grad", "gathered", "chained", "parts")


@dataclass(frozen=True)
class RandomKernel:
    """A text, the types and sizes it is made for, and a seed for its arrays."""

    text: str
    types: dict
    sizes: dict
    whole: dict
    scalars: dict
    seed: int

    @cached_property
    def kernel(self):
        made = run_source(self.text, wl=wl)["kernel"]
        return made.specialise(self.types, sizes=self.whole)

    def arrays(self):
        """Inputs in order; their values are values of their types."""
        rng = np.random.default_rng(self.seed)
        found = []
        for tensor in self.kernel.tensors:
            if tensor.access is Access.STARTS:
                ends = rng.integers(0, self.sizes["m"] + 1, self.sizes["e"] - 1)
                found.append(np.array([0, *sorted(ends), self.sizes["m"]]))
            if tensor.access is Access.IN:
                shape = [-(-self.sizes[a.name] // a.per) for a in tensor.axes]
                if tensor.dtype is DType.I32:  # rows, some of which do not exist
                    found.append(rng.integers(-1, self.sizes.get("s", 0) + 1, shape))
                    continue
                if tensor.dtype is DType.I8:
                    found.append(rng.integers(-128, 128, shape))
                    continue
                found.append(rounded(rng.normal(scale=0.5, size=shape), tensor.dtype))
        return tuple(found)

    def reference(self, kernel=None, **options):
        """What it computes, a tuple; ``kernel``: a rewritten one."""
        given = {a.name for t in self.kernel.tensors if t.access is not Access.OUT for a in t.axes}
        made = {a.name for t in self.kernel.tensors for a in t.axes} - given
        if made:  # axes of outputs alone
            options["sizes"] = {a: self.sizes[a] for a in made}
        made = (kernel or self.kernel).reference(*self.arrays(), **self.scalars, **options)
        return made if isinstance(made, tuple) else (made,)

    def __repr__(self):
        return f"{self.text}\n# {self.types} {self.sizes} {self.scalars} seed={self.seed}"


@st.composite
def random_kernels(
    draw, forms=FORMS, largest=70, types=("bf16", "f16"), whole=(64, 128), hopper=False
):
    """A random kernel of one of the forms; ``whole``: sizes of whole axes. ``hopper``: without
    what that target always refuses (sums over the rows of a right operand, narrow steps).
    """
    form = draw(st.sampled_from(forms))
    dtype = draw(st.sampled_from(types))
    head, body, tensors = MAKE[form](draw, hopper)
    size = st.integers(1, largest)
    sizes = {name: draw(size) for name in ("m", "n", "k")}
    sizes |= {"d": draw(st.sampled_from(whole)), "f": 64}
    sizes["b"] = draw(st.integers(1, 3))
    sizes |= {"g": (sizes["b"] + 1) // 2, "e": draw(st.integers(1, 4))}
    sizes |= {"s": draw(size), "c": draw(st.integers(1, 6)), "p": draw(st.integers(1, 4))}
    out = draw(st.sampled_from((dtype, "f32")))
    kinds = {t: (out if t.startswith("out") else dtype) for t in tensors}
    return RandomKernel(
        text="@wl.kernel\n" + head + "".join(f"    {line}\n" for line in body),
        types=kinds,
        sizes=sizes,
        whole={a: sizes[a] for a in ("d", "f") if f'"{a}"' in head},
        scalars={"alpha": draw(st.sampled_from((0.25, -0.5, 1.0)))},
        seed=draw(st.integers(0, 2**16)),
    )
