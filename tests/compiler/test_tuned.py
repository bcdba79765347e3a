"""Measured configurations are found by content: for renamed copies, and never by name."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap

import numpy as np
import pytest

import warploom as wl
from tests.frontend.sources import run_source
from warploom.compiler.tuned import tuned_pins
from warploom.frontend.canonical import Canonical, canonical_hash
from warploom.frontend.simplify import simplify
from warploom.kernels import measured as tables
from warploom.kernels.attention import attention
from warploom.kernels.block_scaled import block_scaled
from warploom.kernels.grouped import grouped
from warploom.kernels.int4_gemm import fp8_gemm
from warploom.kernels.registry import declared, shipped
from warploom.kernels.swiglu import swiglu

LONG = {"b": 2, "h": 8, "g": 8, "s": 4096, "t": 4096, "d": 128}
ROWS = {"m": 4096, "n": 8192, "k": 8192}
SCALED = {"a": "e4m3", "b": "e4m3", "out": "bf16"}
COPIES = {
    "swiglu": (swiglu, "bf16", ROWS, ()),
    "attention": (attention, "bf16", LONG, ("lse", "lengths")),
    "block_scaled": (block_scaled, SCALED, {"m": 4096, "n": 4096, "k": 4096}, ()),
    "grouped": (grouped, "bf16", {"t": 8192, "n": 8192, "k": 4096, "e": 8}, ()),
    "fp8_gemm": (fp8_gemm, {"x": "bf16", "w": "e4m3", "out": "bf16"}, ROWS | {"m": 256}, ()),
}


class Renamed(ast.NodeTransformer):
    """Every name the author chose, tensors, axes and locals, with another one."""

    def __init__(self, tree, keep):
        names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        names |= {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}
        self.names = {n: f"my_{n}" for n in names if n not in keep}

    def visit_Name(self, node):
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_arg(self, node):
        node = self.generic_visit(node)
        return ast.arg(self.names.get(node.arg, node.arg), node.annotation)

    def visit_Constant(self, node):
        if isinstance(node.value, str) and re.fullmatch(r"[a-z](/\d+)?", node.value):
            return ast.Constant(f"my_{node.value}")
        return node

    def visit_Attribute(self, node):
        node = self.generic_visit(node)
        own = isinstance(node.value, ast.Name) and node.value.id.startswith("my_")
        if own and len(node.attr) == 1 and node.attr not in "T":
            node.attr = f"my_{node.attr}"
        return node


def copy_of(text):
    """The kernel as another author would have written it."""
    function = text.function
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    known = {n for n in function.__globals__ if not n.startswith("__")}
    renamed = Renamed(tree, known | {"range", "float", "int", "min", "max", "None"})
    tree = renamed.visit(tree)
    tree.body[0].name = "somebodys_kernel"
    tree.body[0].decorator_list = [ast.parse("wl.kernel").body[0].value]
    scope = {n: function.__globals__[n] for n in known}
    return run_source(ast.unparse(ast.fix_missing_locations(tree)), **scope)["somebodys_kernel"]


def compiled(text, types, sizes, without, *, own):
    types = types if isinstance(types, str) else {own(n): t for n, t in types.items()}
    return text.compile(
        types,
        sizes={own(a): n for a, n in sizes.items()},
        without=[own(n) for n in without],
        positive=text.signature.scalars,
    )


def both(name):
    text, types, sizes, without = COPIES[name]
    return (
        compiled(text, types, sizes, without, own=str),
        compiled(copy_of(text), types, sizes, without, own=lambda n: f"my_{n}"),
    )


@pytest.mark.parametrize("name", COPIES)
def test_a_renamed_copy_gets_what_was_measured(name):
    first, copy = both(name)
    assert canonical_hash(first.simplified) == canonical_hash(copy.simplified)
    wanted = first.pins
    assert wanted
    assert {n.removeprefix("my_"): v for n, v in copy.pins.items()} == wanted
    configs = [c.choices[0].config.name for c in (first, copy)]
    assert configs[0] == configs[1]


def code_sections(cubin):
    """Bytes of the sections of machine code of an ELF file."""
    at, size, count, names = (
        int.from_bytes(cubin[o : o + n], "little") for o, n in ((40, 8), (58, 2), (60, 2), (62, 2))
    )
    heads = [cubin[at + i * size : at + (i + 1) * size] for i in range(count)]

    def word(head, o, n=8):
        return int.from_bytes(head[o : o + n], "little")

    words = cubin[word(heads[names], 24) :]
    found = []
    for head in heads:
        name = words[word(head, 0, 4) :].split(b"\0", 1)[0]
        if name.startswith(b".text"):
            found.append(cubin[word(head, 24) : word(head, 24) + word(head, 32)])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", COPIES)
def test_a_renamed_copy_is_the_same_machine_code(name):
    pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed")
    first, copy = (code_sections(c.cubin) for c in both(name))
    assert first
    assert first == copy


def test_forms_tell_kernels_apart_that_differ_in_more_than_names():
    makes = {"bf16": {}, "f16": {}}
    forms = {
        canonical_hash(simplify(swiglu.specialise(swiglu.spell(t), **more)))
        for t, more in makes.items()
    }
    assert len(forms) == 2
    kernel = attention.specialise(attention.spell("bf16"), sizes={"d": 64}, without=["lse"])
    plain = attention.specialise(
        attention.spell("bf16"), sizes={"d": 64}, constants={"causal": True}, without=["lse"]
    )
    assert Canonical(kernel).form != Canonical(plain).form


def test_every_measured_entry_belongs_to_a_shipped_kernel():
    known = {name for name, one in shipped().items() if one.measured is not None}
    tabled = {*tables.PRODUCTS, *tables.GRADS}
    assert known - tabled == {"attention", "blocked", "scan", "scan_parts"}
    assert tabled <= known
    for one in shipped().values():
        assert set(one.measured_choices) <= set(one.kernel.signature.choices)


def entries():
    """Kernels, choices and sizes at which each entry of the tables is found."""
    for name, rows in tables.PRODUCTS.items():
        for least, pins in rows:
            yield name, {}, dict(least), dict(pins)
    for (d, causal), pins in tables.ATTENTION.items():
        yield "attention", {"causal": causal}, LONG | {"d": d}, dict(pins)
    for (d, causal), pins in tables.MANY_HEADS.items():
        sizes = {"b": 64, "h": 16, "s": 512, "t": 512, "d": d}
        yield "attention", {"causal": causal}, sizes, dict(pins)
    for d, pins in tables.SHORT.items():
        yield "attention", {}, {"s": 64, "t": 64, "d": d}, dict(pins)
    for name, table in tables.GRADS.items():
        if not name.startswith("blocked"):
            for (d, causal), pins in table.items():
                yield name, {"causal": causal}, {"d": d}, dict(pins)
    for (t, d), pins in tables.SCANS.items():
        yield "scan", {}, {"t": t, "d": d}, dict(pins)
    for (t, d), pins in tables.SCANS_OF_PARTS.items():
        yield "scan", {}, {"t": t, "d": d, "r": 4}, dict(pins)


def test_every_measured_entry_is_found_and_names_what_its_kernel_has():
    for name, choices, sizes, pins in entries():
        text = shipped()[name].kernel
        axes = {a.name for t in text.signature.tensors for a in t.axes}
        assert set(sizes) <= axes, name
        found = dict(tuned_pins(text, None, choices, sizes))
        assert found == pins, (name, choices, sizes)


def capped(x, batch, head, query, key):
    return 20.0 * wl.tanh(x * 0.05)


def windowed(batch, head, query, key):
    return query - key < 512


FUNCTIONS = {
    "score": {"score": capped},
    "visible": {"visible": windowed},
    "both": {"score": capped, "visible": windowed},
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_functions_of_the_caller_are_abstracted(kind):
    """With any function attention gets what was measured with functions, and so does its copy."""
    given, without = FUNCTIONS[kind], ("lse", "lengths")
    wanted = dict(declared(attention).configuration(given, LONG))
    assert wanted["s"] == 128
    assert ("schedule" in wanted) is (kind != "score")  # dear scores have an order of their own
    for text, own in ((attention, str), (copy_of(attention), lambda n: f"my_{n}")):
        kernel, captured = text.given_functions(**{own(n): f for n, f in given.items()})
        assert not captured
        left = [own(n) for n in without]
        types = kernel.spell("bf16", left)
        for sizes, pins in ((LONG, wanted), (LONG | {"s": 512, "t": 512}, {})):
            mine = {own(a): n for a, n in sizes.items()}
            value = kernel.value_for(types, mine, {}, left)
            found = dict(tuned_pins(kernel, value, {}, mine))
            assert {n.removeprefix("my_"): v for n, v in found.items()} == pins


def test_compile_takes_what_was_measured_with_a_function():
    kernel, _ = attention.given_functions(score=capped)
    made = compiled(kernel, "bf16", LONG, ("lse", "lengths"), own=str)
    assert made.pins == dict(declared(attention).configuration({"score": capped}, LONG))


def test_functions_with_tensors_of_their_own_are_abstracted_too():
    bias = np.zeros((8,), np.float32)

    def biased(x, batch, head, query, key):
        return x + bias[head]

    copy, captured = copy_of(attention).given_functions(my_score=biased)
    assert len(captured) == 1
    types = dict.fromkeys(("my_q", "my_k", "my_v", "my_out"), "bf16") | dict.fromkeys(
        captured, "f32"
    )
    sizes = {f"my_{a}": n for a, n in LONG.items()} | {f"{n}_0": 8 for n in captured}
    kernel = copy.value_for(types, sizes, {}, ("my_lse", "my_lengths"))
    found = dict(tuned_pins(copy, kernel, {}, sizes))
    wanted = dict(declared(attention).configuration({"score": biased}, LONG))
    assert {n.removeprefix("my_"): v for n, v in found.items()} == wanted


def test_another_kernel_with_a_function_gets_nothing():
    source = """
import warploom as wl

@wl.kernel
def plain(
    q: wl.In["b", "h", "s", "d"], k: wl.In["b", "g", "t", "d"], v: wl.In["b", "g", "t", "d"],
    out: wl.Out["b", "h", "s", "d"], *, scale: float, score=None,
):
    b, h, s = wl.tile(out, whole="d")
    g = h // (q.h // k.g)
    qs, o = q[b, h, s], wl.zeros(s, q.d)
    for t in wl.steps(k.t):
        x = score((qs @ k[b, g, t].T) * scale, b, h, wl.index(s), wl.index(t))
        o += x.to(v.dtype) @ v[b, g, t]
    out[b, h, s] = o
"""
    kernel, _ = run_source(source)["plain"].given_functions(score=capped)
    assert kernel.compile("bf16", sizes=LONG, positive={"scale"}).pins == {}
