"""Kernels with products that no pipeline takes: their modules read back, verified, attacked."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.interp.test_thread_programs import MODULES, _first
from tests.interp.thread_mutants import mutants, places, with_other
from tests.kernels.block_kernels import CASES
from warploom.codegen.cuda.threads import emit_threads
from warploom.compiler.module_source import emit_module
from warploom.errors import DocumentError, VerificationError, WarploomError
from warploom.interp.dataflow import verify_dataflow
from warploom.interp.module_report import verify_module
from warploom.interp.turns import Turns
from warploom.ir import from_json, threads as ir, to_json
from warploom.ir.expr import const
from warploom.verify.coverage import verify_coverage

GOLDEN = Path(__file__).parents[1] / "ir" / "golden" / "integer_gemm_threads.txt"


@cache
def module(name):
    return CASES[name].module()


@pytest.mark.parametrize("name", CASES)
def test_read_back_it_is_the_same_and_prints_the_same(name):
    again = from_json(to_json(module(name)))
    assert again == module(name)
    assert emit_threads(again).text == emit_threads(module(name)).text
    assert str(again) == str(module(name))


@pytest.mark.parametrize("name", CASES)
def test_it_computes_its_kernel(name):
    report = verify_module(module(name))
    assert report.verdict == "clean", report.text()


@pytest.mark.parametrize("name", CASES)
def test_what_is_claimed_for_all_sizes(name):
    claims = verify_coverage(module(name)).claims
    assert {c.how for c in claims if c.what.startswith(("all threads", "every tile"))} == {
        "all sizes"
    }
    open_ = [c.what for c in claims if c.how != "all sizes"]
    lists = ["accesses are in bounds: fulls, counts, full, some"]
    shared = "what a thread stores to shared memory no other touches before the next barrier"
    shared += ", and products read tiles behind a fence and a barrier"
    assert shared in {c.what for c in claims}
    stores = {
        "block_quantised": ["each element is stored once: scale, most"],
        "scan": ["each element is stored once: out", shared],
    }
    assert open_ == stores.get(name, lists if name == "listed_parts" else [])


def test_listing_reads_well(request):
    shown = str(module("i8"))
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(shown)
    assert shown == GOLDEN.read_text()


def test_a_module_is_emitted_as_it_is_after_it_was_verified():
    _, text = emit_module(to_json(module("i8")))
    assert text == emit_threads(module("i8")).text
    doubled = _changed(module("i8"), lambda n: (n, n) if isinstance(n, ir.Mma) else None)
    with pytest.raises(VerificationError, match="the author's kernel gives"):
        emit_module(to_json(doubled))


# Turns of loops that are executed at once are what they are one after the other.


@pytest.mark.parametrize("name", ["i8", "scan", "break", *MODULES])
def test_turns_at_once_are_turns_one_after_the_other(name, monkeypatch):
    made = MODULES[name]() if name in MODULES else module(name)
    once = _outputs(made)
    monkeypatch.setattr(Turns, "apart", lambda *_: False)
    assert _outputs(made) == once


def _outputs(made):
    import numpy as np

    from warploom.interp.dataflow import drawn_inputs
    from warploom.interp.run import run_module
    from warploom.interp.thread_dataflow import size_classes

    found = []
    for n, sizes in enumerate(size_classes(made)):
        if n > 2:
            break
        arrays, scalars = drawn_inputs(made.kernel, sizes, np.random.default_rng(n))
        out = run_module(made, arrays, scalars, sizes=sizes, rows=n % 2 == 1, sms=2)
        found += [(name, np.asarray(x).tobytes()) for name, x in sorted(out.items())]
    return found


# Wrong programs are found.

FOUND = (
    "address", "barrier", "clear", "commit", "load", "product", "shared", "store", "tile store",
    "wait",
)  # fmt: skip


@pytest.mark.parametrize("name", ["i8"])
def test_wrong_programs_are_found(name):
    tried = [(w, m) for w, m in mutants(module(name)) if w.startswith(FOUND)]
    assert len(tried) >= 25
    assert [what for what, m in tried if not _is_found(m)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mlp", "fp8", "scan", "listed_parts"])
def test_more_wrong_programs_are_found(name):
    """Of fixed sizes some barriers and last elements are not needed."""
    kinds = tuple(k for k in FOUND if k != "barrier")
    tried = [(w, m) for w, m in mutants(module(name)) if w.startswith(kinds)]
    assert len(tried) >= 30
    assert [what for what, m in tried if not _is_found(m)] == []


def _is_found(made):
    try:
        return verify_dataflow(made, classes=1).verdict == "wrong"
    except WarploomError:
        return True


def _changed(made, change, nth=0):
    """The module with a node that ``change`` answers for replaced."""
    body = made.threads.body
    for path, node in places(body):
        new = change(node)
        if new is not None:
            if nth == 0:
                other = with_other(body, path, new)
                return replace(made, threads=replace(made.threads, body=other))
            nth -= 1
    raise AssertionError("nothing to change")


def _without(kind, nth=0):
    return _changed(module("i8"), lambda n: () if isinstance(n, kind) else None, nth)


def _moved(**changes):
    def change(node):
        if isinstance(node, ir.Mma):
            return (replace(node, a=replace(node.a, **changes)),)
        return None

    return _changed(module("i8"), change)


WRONG = {
    "no fence of the stores": (lambda: _without(ir.ProxyFence, 1), "without a proxy fence"),
    "no barrier after the stores": (lambda: _without(ir.Barrier, 1), "without a barrier"),
    "no barrier before the stores": (lambda: _without(ir.Barrier, 0), "without a barrier"),
    "no fence of accumulators": (lambda: _without(ir.MmaFence), "without a fence"),
    "no wait": (lambda: _without(ir.MmaWait), "while a product"),
    "no commit": (lambda: _without(ir.MmaCommit), "while a product"),
    "rows that no pattern begins with": (lambda: _moved(first=const(4)), "can take them"),
    "rows outside of the tile": (lambda: _moved(first=const(72)), "can take them"),
    "a part outside of the tile": (lambda: _moved(step=const(4)), "can take them"),
    "rows of each thread": (
        lambda: _moved(first=ir.TID),
        "differ between threads",
    ),
    "half a warpgroup": (
        lambda: _changed(module("i8"), _some_threads),
        "without some threads of a warpgroup",
    ),
}


def _some_threads(node):
    if isinstance(node, ir.Mma):
        return (ir.If(condition=ir.TID < 32, body=(node,)),)
    return None


@pytest.mark.parametrize("name", WRONG)
def test_what_products_need_is_asked_for(name):
    make, said = WRONG[name]
    report = verify_dataflow(make(), classes=1)
    assert report.verdict == "wrong"
    assert said in report.findings[0]
    if name.startswith("no "):
        claims = verify_coverage(make()).claims
        (claim,) = (c for c in claims if "stores to shared memory" in c.what)
        assert (claim.how == "all sizes") == (name == "no fence of accumulators")


def test_what_is_claimed_of_all_sizes_is_not_claimed_of_wrong_programs():
    def further(node):
        if isinstance(node, ir.Address):
            return (replace(node, at=(node.at[0] + 1, *node.at[1:])),)
        return None

    def moved(node):
        if isinstance(node, ir.Write):
            return (replace(node, at=(node.at[0], node.at[1] * 2)),)
        return None

    def alone(node):
        if isinstance(node, ir.MmaWait):
            return (ir.If(condition=ir.TID < 128, body=(node,)),)
        return None

    for change, kind in ((further, "bounds: a"), (moved, "stored once"), (alone, "barriers")):
        claims = verify_coverage(_changed(module("i8"), change)).claims
        said = [c.what for c in claims if kind in c.what and c.how == "all sizes"]
        assert not said, said


# Programs without a meaning.


def _operand(threads):
    return _first(threads, "OperandTile")


def _product(threads):
    return _first(threads, "Mma")


HOSTILE = {
    "a tile past the end": lambda t: _operand(t).update(offset=1 << 18),
    "a tile at any byte": lambda t: _operand(t).update(offset=4097),
    "a tile of f32": lambda t: _operand(t).update(dtype="f32"),
    "a tile without rows": lambda t: _operand(t).update(rows=0),
    "a tile of half a slab": lambda t: _operand(t).update(columns=72),
    "a product into nothing": lambda t: _product(t).update(into="no"),
    "a product of too many columns": lambda t: _product(t).update(columns=512),
    "a product of no tile": lambda t: _product(t)["a"].update(tile="no"),
    "bytes by K that are turned": lambda t: _product(t)["a"].update(turned=True),
    "a fence of nothing": lambda t: _first(t, "MmaFence").update(registers=["no"]),
    "a wait for less than none": lambda t: _first(t, "MmaWait").update(pending=-1),
    "an address of nothing": lambda t: _first(t, "FetchNearby").update(address="no"),
    "a vector that is too wide": lambda t: _first(t, "FetchNearby").update(width=128),
    "a chunk of nothing": lambda t: _first(t, "PutChunk").update(source="no"),
    "a chunk of no tile": lambda t: _first(t, "PutChunk").update(tile="x"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_program_without_a_meaning_is_refused(name):
    data = json.loads(to_json(module("i8")))
    HOSTILE[name](data["module"]["threads"])
    with pytest.raises(DocumentError):
        from_json(json.dumps(data))
