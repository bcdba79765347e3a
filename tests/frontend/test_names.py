"""Unknown names in what a kernel is given are errors with the nearest name, wherever they stand."""

import numpy as np
import pytest

import warploom as wl


@wl.kernel
def scaled(x: wl.In["m", "n"], out: wl.Out["m", "n"], *, factor: float):
    m, n = wl.tile(out)
    out[m, n] = x[m, n] * factor


X = np.ones((3, 8), np.float32)
CALLS = {
    "sizes": lambda: scaled.compile("f32", sizes={"M": 3}),
    "sizes, MI355X": lambda: scaled.compile("f32", sizes={"M": 3}, target="mi355x"),
    "positive": lambda: scaled.compile("f32", positive={"facto"}),
    "positive, MI355X": lambda: scaled.compile("f32", positive={"facto"}, target="mi355x"),
    "pins": lambda: scaled.with_config(mm=8).compile("f32").cuda,
    "pins, MI355X": lambda: scaled.with_config(mm=8).compile("f32", target="mi355x"),
    "reference, sizes": lambda: scaled.reference(X, factor=1.0, sizes={"N": 8}),
    "reference, extents": lambda: scaled.reference(X, factor=1.0, extents={"N": 8}),
    "reference, scalar": lambda: scaled.reference(X, facto=1.0),
    "compare, scalar": lambda: scaled.compare(X, facto=1.0),
    "interpret, sizes": lambda: scaled.interpret(X, factor=1.0, sizes={"N": 8}),
    "interpret, initial": lambda: scaled.interpret(X, factor=1.0, initial={"ou": X}),
    "interpret, types": lambda: scaled.interpret(X, factor=1.0, types={"y": "f32"}),
    "interpret, scalars": lambda: scaled.interpret(X, factor=1.0, scalars={"facto": 2.0}),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_unknown_name_is_an_error_with_the_nearest(name):
    with pytest.raises(wl.WarploomError) as found:
        CALLS[name]()
    assert "did you mean" in found.value.fix
