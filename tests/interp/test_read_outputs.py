"""An output that is read in the launch that stores it: a race that nothing orders."""

from dataclasses import replace

import pytest

import warploom as wl
from tests.interp.test_thread_programs import MODULES, _changed
from tests.mbarrier.samples import compiled
from warploom.errors import KernelMemoryError
from warploom.interp.dataflow import verify_dataflow
from warploom.interp.module_report import verify_module
from warploom.ir import threads as ir
from warploom.ir.expr import Element, const
from warploom.ir.tile import Access
from warploom.verify.coverage import verify_coverage


@wl.kernel
def moved(x: wl.Out["m", "n", wl.f32]):
    m, n = wl.tile(x)
    x[m, n] = x[wl.index(m) + 1, n] * 2.0


@wl.kernel
def stored_first(x: wl.In["m", "n", wl.f32], a: wl.Out["m", "n", wl.f32], y: wl.Out["m", wl.f32]):
    m = wl.tile(y)
    a[m, 0] = x[m, 0]
    y[m] = a[m, 0]


@pytest.mark.parametrize("kernel", [moved, stored_first])
def test_the_language_refuses_it_at_the_line(kernel):
    with pytest.raises(KernelMemoryError, match="is an output and cannot be loaded") as caught:
        kernel.specialise({})
    assert "test_read_outputs.py:" in str(caught.value)


def _reading(change):
    """A module of a transpose whose threads store, and read what they stored."""
    made = MODULES["turned"]()
    assert len([t for t in made.tensors if t.access == "out"]) == 1

    def again(node):
        if isinstance(node, ir.If) and isinstance(node.body[0], ir.Write):
            (write,) = node.body
            seen = ir.Declare(
                name="seen",
                dtype=made.tensor(write.tensor).dtype,
                value=ir.Decode(
                    Element(write.tensor, change(write.at)), made.tensor(write.tensor).dtype
                ),
            )
            return (replace(node, body=(write, seen)),)
        return None

    return _changed(made, again)


def test_a_thread_may_read_what_it_stored_itself():
    assert verify_dataflow(_reading(lambda at: at), classes=1).verdict == "clean"


def test_what_another_thread_stores_is_not_read():
    report = verify_dataflow(_reading(lambda at: (const(0), const(0))), classes=1)
    assert report.verdict == "wrong"
    assert "is stored by one thread and read by another" in report.findings[0]


def test_a_kernel_in_a_document_does_not_load_outputs():
    made = MODULES["turned"]()
    tensors = tuple(replace(t, access=Access.OUT) for t in made.kernel.tensors)
    other = replace(made, kernel=replace(made.kernel, tensors=tensors))
    report = verify_module(other)
    assert report.verdict == "wrong"
    assert "is an output and is loaded" in report.text()


def test_roles_do_not_read_outputs():
    module = compiled("gemm").module
    assert "no output is read" in {c.what for c in verify_coverage(module).claims}
    tensors = tuple(replace(t, access="out") if t.name == "a" else t for t in module.tensors)
    report = verify_coverage(replace(module, tensors=tensors))
    assert any("'a' is an output and is read" in str(f) for f in report.findings)
