"""The fix that an error proposes, applied: the corrected kernel is read and computes.

``quoted`` is the part of the fix that was followed. It stands in the error and in the corrected
kernel, so that neither changes without the other.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.frontend.test_mistakes import CASES, GOOD, SIGNATURE, TYPES, loop, make, tail
from warploom.errors import KernelError


def in_columns(source):
    """Tiles of a stated extent: what is reduced along them does not depend on a choice."""
    return source.replace("wl.tile(out)", "wl.tile(out, cols=64)")


SUM = "acc += x[m, k] @ w[n, k].T"
OUT = "out[m, n] = acc"
# mistake: (what the fix says, what follows it, the corrected kernel)
FIXED = {
    "while": ("for k in wl.steps(x.k)", GOOD),
    "break": ("until=", GOOD.replace("wl.steps(x.k)", "wl.steps(x.k, until=64)")),
    "continue": (
        "wl.where",
        loop("acc += wl.where(wl.index(k) < 3, x[m, k], 0).to(wl.bf16) @ w[n, k].T"),
    ),
    "return": ("out[m, n] = ", GOOD),
    "no effect": ("acc = wl.zeros(m, n)", GOOD),
    "unused expression": ("out[m, n] = ", GOOD.replace(OUT, "out[m, n] = acc + 1")),
    "if on a value": (
        "wl.where(",
        loop("acc += wl.where(x[m, k] > 0, x[m, k], 0).to(wl.bf16) @ w[n, k].T"),
    ),
    "for over a tile": ("for k in wl.steps(x.k)", GOOD),
    "long for": ("for k in wl.steps(x.k)", GOOD),
    "steps alone": ("for k in wl.steps(x.k)", GOOD),
    "store before tile": ("m, n = wl.tile(out)", GOOD),
    "loop before tile": ("m, n = wl.tile(out)", GOOD),
    "unknown name": ("'acc'", GOOD),
    "unknown word": ("'zeros'", GOOD),
    "unknown axis": ("'k'", tail("out[m, n] = acc / x.k")),
    "attribute of a variable": ("x.k", tail("out[m, n] = acc / x.k")),
    "product without .T": (".T", GOOD),
    "product of vectors": (
        ".sum(axis=1)",
        in_columns(tail("out[m, n] = acc + (acc * v[n]).sum(axis=1)")),
    ),
    "too many indices": ("x[m, k]", GOOD),
    "no such axis": ("axis=1", in_columns(tail("out[m, n] = acc + acc.sum(axis=1)"))),
    "axis the value has not": ("axis=", in_columns(tail("out[m, n] = acc * acc.sum(axis=n)"))),
    ".T of a vector": ("leave the .T out", tail("out[m, n] = acc + v[n]")),
    "carried shape": (
        "t = wl.zeros(m)",
        loop(
            "a = x[m, k]\nacc += a @ w[n, k].T\nt = t + a.to(wl.f32).sum(axis=1)",
            before="acc = wl.zeros(m, n)\nt = wl.zeros(m)",
            after="out[m, n] = acc + t",
        ),
    ),
    "steps that cut blocks": (
        "128)",
        loop("acc += (x[m, k] @ w[n, k].T) * sx[m, k]").replace("(x.k)", "(x.k, 128)"),
    ),
    "tensor as a value": ("x[m, k]", GOOD),
    "product of tensors": ("x[m, k]", GOOD),
    "product of a number": ("* for numbers", loop("acc += (x[m, k] * 2).to(wl.bf16) @ w[n, k].T")),
    "mixed product": (
        ".to(wl.bf16)",
        loop("acc += x[m, k].to(wl.f32).to(wl.bf16) @ w[n, k].T"),
    ),
    "variable as a number": ("wl.index(", tail("out[m, n] = acc + wl.index(n)")),
    "no tensor": ("m, n = wl.tile(out)", GOOD),
    "names of tile": ("as many names as values", GOOD),
    "steps of a number": ("wl.steps(x.k, 128)", GOOD.replace("(x.k)", "(x.k, 128)")),
    "step of a tile": ("wl.steps(x.k, 128)", GOOD.replace("(x.k)", "(x.k, 128)")),
    "negative step": ("wl.steps(x.k, 128)", GOOD.replace("(x.k)", "(x.k, 128)")),
    "bound is a tile": (".max() + 1", GOOD.replace("(x.k)", "(x.k, until=wl.index(m).max() + 1)")),
    "zeros of a number": ("wl.zeros(m, n)", GOOD),
    "where of no condition": ("> 0", tail("out[m, n] = wl.where(acc > 0, acc, 0)")),
    "condition as a number": ("wl.where(", tail("out[m, n] = acc + wl.where(acc > 0, 1.0, 0.0)")),
    "condition stored": (", 1.0, 0.0)", tail("out[m, n] = wl.where(acc > 0, 1.0, 0.0)")),
    "sum of conditions": (
        ", 1.0, 0.0)",
        in_columns(tail("out[m, n] = acc + wl.where(acc > 0, 1.0, 0.0).sum(axis=1)")),
    ),
    "// of floats": ("wl.floor(", tail("out[m, n] = acc + wl.floor(acc / 2.0)")),
    "append": ("y = [*y, ", tail("y = []\ny = [*y, acc]\nout[m, n] = y[0]")),
    "unpacked tile": ("x[m, k]", GOOD),
    "an axis added": (
        "acc.sum(axis=1)",
        in_columns(tail("out[m, n] = acc + acc.sum(axis=1)")),
    ),
    "any of numbers": (
        " != 0).any(",
        in_columns(tail("y = (acc != 0).any(axis=1)\nout[m, n] = wl.where(y, acc, 0)")),
    ),
    "power of whole numbers": (
        ".to(wl.f32) ** ",
        tail("i = wl.index(m)\nout[m, n] = acc + i.to(wl.f32) ** i"),
    ),
    "method of arrays": (
        "(d * d).mean(axis=1)",
        in_columns(tail("d = acc - acc.mean(axis=1)\nout[m, n] = acc + (d * d).mean(axis=1)")),
    ),
    "a word of another language": (" @ ", GOOD),
    "to no type": (".to(wl.bf16)", loop("acc += x[m, k].to(wl.bf16) @ w[n, k].T")),
    "condition converted": ("wl.where(", tail("out[m, n] = acc + wl.where(acc > 0, 1.0, 0.0)")),
    "index of no variable": ("wl.index(m)", tail("out[m, n] = acc + wl.index(m)")),
    "too few arguments": ("wl.maximum(", tail("out[m, n] = wl.maximum(acc, 1.0)")),
    "strange argument": ("wl.exp(", tail("out[m, n] = wl.exp(acc * 0.01)")),
    "bits of a float": (".to(wl.i32)", tail("out[m, n] = acc + (acc.to(wl.i32) >> 4)")),
    "type called": (".to(wl.f32)", tail("out[m, n] = acc.to(wl.f32)")),
    "gelu": ('approximate="tanh"', tail('out[m, n] = wl.gelu(acc, approximate="tanh")')),
    "store twice": ("store the final value once", tail("out[m, n] = acc * 2")),
    "= and +=": ("use one of them", tail("out[m, n] += acc")),
    "store in every step": ("store after the loop", GOOD),
    "-= on memory": ("+=", tail("out[m, n] += -acc")),
    "store of another shape": (".T", tail("out[m, n] = acc")),
}
QUOTED_IN_KERNEL = {"'", "use", "store", "as many", "leave", "* for"}  # words, not code


def fix_of(name):
    body = next(c[2] for c in CASES if c[1] == name)
    made, _ = make(SIGNATURE, body)
    with pytest.raises(KernelError) as raised:
        made.specialise(TYPES)
    return raised.value.fix


@pytest.mark.parametrize("name", FIXED)
def test_the_fix_of_a_mistake_works(name):
    quoted, body = FIXED[name]
    assert quoted in fix_of(name)
    assert any(quoted.startswith(word) for word in QUOTED_IN_KERNEL) or quoted in body
    made, _ = make(SIGNATURE, body)
    kernel = made.specialise(TYPES)
    rng = np.random.default_rng(0)
    sizes = {"m": 5, "n": 7, "k": 130}
    shapes = [[-(-sizes[a.name] // a.per) for a in t.axes] for t in kernel.tensors]
    given = [
        rng.integers(0, 5, s).astype(np.int32) if t.name == "rows" else rng.normal(size=s)
        for t, s in zip(kernel.tensors, shapes, strict=True)
        if t.name != "out"
    ]
    assert np.isfinite(kernel.reference(*given, eps=1.0)).all()


def test_most_mistakes_have_a_fix_that_is_tried():
    proposed = [c[1] for c in CASES if "wl." in fix_of(c[1])]
    tried = [name for name in proposed if name in FIXED]
    assert len(tried) > len(proposed) // 2
