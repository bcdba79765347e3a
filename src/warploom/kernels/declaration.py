"""One declaration for each kernel that ships: everything else follows from it.

A module of this package ends with ``SHIPPED``, a tuple of ``Shipped``. From a declaration follow
the name that commands know (``warploom show NAME``), the element types and sizes they take where
none are stated, the checks of a call, the configurations that were measured, the public function
(``warploom.NAME``), the op of torch (``torch.ops.warploom.NAME``) and the row of the documentation.
``registry`` finds all declarations; no other list of kernels exists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from warploom.dataclass import dataclass
from warploom.frontend.signature import Signature
from warploom.frontend.tile_kernel import TileKernel
from warploom.ir.tile import Access, DType
from warploom.kernels.measured import Measured, Pins

ElementTypes = Callable[[Signature, Mapping[str, DType]], str]
"""What is wrong with the element types of a call's tensors, as the fix of an error; "" for none."""
HALVES = (DType.BF16, DType.F16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A public function that launches kernels.

    Without a ``module`` it is derived from the kernel's signature: inputs by place or name, then
    scalars and choices, ``out`` and ``stream``; so is its op of torch, which computes by the
    kernel's NumPy reference on the CPU and has no gradient. ``words``: values of choices that
    callers name by a string. With a ``module`` it is written there by hand, because it chooses
    between kernels or prepares tensors.
    """

    name: str
    module: str | None = None
    words: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def is_derived(self) -> bool:
        """Whether the function follows from the kernel's signature."""
        return self.module is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """A kernel that ships.

    For commands: ``listed``, and of inputs nobody states: ``dtype`` of all, ``types`` of some,
    ``outputs`` that are wanted though optional, ``sizes`` of axes used whole, ``decays``: inputs
    that are exponents and must not grow a sum for ever. ``target``: the chip it is for.

    For calls: ``element_types`` checks them, ``caller_axes`` are axes that callers order
    otherwise, ``called`` the names that callers know tensors by, ``summed`` an axis that may be
    empty, ``counted`` the input that says so where zeros would count.

    ``measured``: the configuration that was measured best for choices and sizes;
    ``measured_choices``: values of choices for which that was done; ``functions``: choices that are
    functions of the caller, each with one that stands for any, so that what was measured with
    functions is found whatever they compute.
    """

    kernel: TileKernel
    function: Function | None = None
    target: str = "h200"
    listed: bool = True
    dtype: str = "bf16"
    types: Mapping[str, DType] = field(default_factory=dict)
    outputs: frozenset[str] = frozenset()
    sizes: Mapping[str, int] = field(default_factory=dict)
    decays: frozenset[str] = frozenset()
    element_types: ElementTypes | None = None
    caller_axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)
    summed: str | None = None
    counted: str | None = None
    measured: Measured | None = None
    measured_choices: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    functions: Mapping[str, Callable[..., object]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name that commands know."""
        return self.kernel.name

    def configuration(self, choices: Mapping[str, object], sizes: Mapping[str, int]) -> Pins:
        """What was measured best; nothing where nothing was."""
        return () if self.measured is None else self.measured(choices, sizes)


def halves(signature: Signature, given: Mapping[str, DType]) -> str:
    """Tensors whose type the call decides are all bf16, or all fp16; integers are as declared."""
    declared = {t.name: t for t in signature.tensors}
    operands = {d for n, d in given.items() if declared[n].dtype is None}
    indices = [
        (t.name, t.dtype)
        for t in signature.tensors
        if t.access is Access.IN and t.dtype is DType.I32 and t.name in given
    ]
    fits = len(operands) == 1 and operands <= set(HALVES)
    if fits and all(given[name] is kind for name, kind in indices):
        return ""
    names = ", ".join(name for name, _ in indices)
    return "all operands bf16, or all fp16" + (f"; {names} int32" if names else "")
