"""Tensors on NumPy memory, as far as calls look at them: what torch's are called, without torch.

``bfloat16`` and fp8 are kept as their bits. Views share memory, so padding, odd first elements and
strides of any kind are made by slicing, as with torch.
"""

from __future__ import annotations

import numpy as np

BITS = {
    "bfloat16": np.uint16,
    "float16": np.float16,
    "float32": np.float32,
    "int32": np.int32,
    "uint8": np.uint8,
}
NAN_BITS = {"bfloat16": 0x7FC0, "uint8": 0x7F, "int32": np.iinfo(np.int32).min}


class Place:
    """Where tensors lie: calls are executed on the CPU, by a driver that says otherwise."""

    type, index = "cpu", None


class Tensor:
    """A view of NumPy memory with an element type's name."""

    device = Place()
    requires_grad = False

    def __init__(self, bits, name):
        self.bits, self.name = bits, name

    @property
    def shape(self):
        return self.bits.shape

    @property
    def dtype(self):
        return f"torch.{self.name}"

    def stride(self):
        return tuple(s // self.bits.itemsize for s in self.bits.strides)

    def data_ptr(self):
        return self.bits.__array_interface__["data"][0]

    def get_device(self):
        return 0

    def __getitem__(self, at):
        return Tensor(self.bits[at], self.name)

    def permute(self, order):
        return Tensor(self.bits.transpose(order), self.name)

    @property
    def T(self):
        return Tensor(self.bits.T, self.name)

    def swapaxes(self, one, other):
        return Tensor(self.bits.swapaxes(one, other), self.name)

    def reshape(self, *shape):
        return Tensor(self.bits.reshape(*shape), self.name)

    def copy_(self, other):
        self.bits[...] = other.bits
        return self

    def clone(self):
        return Tensor(self.bits.copy(), self.name)

    def new_zeros(self, shape):
        return Tensor(np.zeros(shape, BITS[self.name]), self.name)

    def int(self):
        return Tensor(self.bits.astype(np.int32), "int32")

    def spoil(self, at=...):
        """NaN there; of integers the least number."""
        self.bits[at] = NAN_BITS.get(self.name, np.nan)
        return self

    def values(self):
        """What it holds, as float64 (integers as they are)."""
        if self.name == "bfloat16":
            wide = self.bits.astype(np.uint32) << 16
            return wide.view(np.float32).astype(float)
        return self.bits.copy() if self.bits.dtype.kind in "iu" else self.bits.astype(float)


def empty(shape, name):
    """Memory that holds NaN everywhere."""
    return Tensor(np.empty(tuple(shape), BITS[name]), name).spoil()


def tensor(values, name="bfloat16"):
    """A tensor of numbers, rounded to its type (to nearest, ties to even)."""
    values = np.asarray(values)
    if name != "bfloat16":
        return Tensor(values.astype(BITS[name]), name)
    bits = values.astype(np.float32).view(np.uint32)
    return Tensor(((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16), name)


def padded(values, name="bfloat16", *, pad=0, first=0):
    """The same inside of a larger tensor of NaN: rows with ``pad`` more, and ``first`` before."""
    made = tensor(values, name)
    shape = (*made.shape[:-1], made.shape[-1] + pad + first)
    view = empty(shape, name)[..., first : first + made.shape[-1]]
    return view.copy_(made)


def same_bits(a, b):
    return a.shape == b.shape and a.bits.tobytes() == b.bits.tobytes()
