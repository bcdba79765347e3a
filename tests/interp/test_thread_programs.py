"""Thread programs: modules of kernels without matrix products, read back, executed, verified."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import warploom as wl
from tests.frontend import memory_bound as kernels
from tests.interp.thread_mutants import mutants, places, with_other
from warploom.codegen.cuda.threads import emit_threads
from warploom.compiler.module_source import emit_module
from warploom.errors import BackendError, DocumentError, VerificationError, WarploomError
from warploom.frontend.simplify import simplify
from warploom.interp.dataflow import require_computed, verify_dataflow
from warploom.interp.module_report import verify_module
from warploom.ir import from_json, threads as ir, to_json
from warploom.ir.expr import const
from warploom.ir.tile_schedule import CTA
from warploom.ir.types import DType
from warploom.passes.thread_module import build_thread_module
from warploom.verify.coverage import verify_coverage

GOLDEN = Path(__file__).parents[1] / "ir" / "golden" / "total_threads.txt"


def module_of(text, types="bf16", sizes=None):
    sizes = sizes or {}
    kernel = text.value_for(text.spell(types, ()), sizes, {}, set())
    return build_thread_module(kernel, simplify(kernel), sizes)


MODULES = {
    "long rows": lambda: module_of(kernels.layer_norm, sizes={"n": 3000}),
    "rows": lambda: module_of(kernels.softmax, sizes={"n": 70}),
    "turned": lambda: module_of(kernels.transpose),
    "loop": lambda: module_of(kernels.online_softmax),
    "sums": lambda: module_of(kernels.total, "f32"),
    "groups": lambda: module_of(kernels.group_scale),
    "gathered": lambda: module_of(kernels.embedding),
    "run": lambda: module_of(kernels.rope_halves, sizes={"d": 64}),
    "nested": lambda: module_of(kernels.nested),
    "odd rows": lambda: module_of(kernels.both_ways, sizes={"m": 70, "n": 133}),
}


@pytest.mark.parametrize("name", MODULES)
def test_read_back_it_is_the_same_and_prints_the_same(name):
    module = MODULES[name]()
    again = from_json(to_json(module))
    assert again == module
    assert emit_threads(again).text == emit_threads(module).text
    assert str(again) == str(module)


@pytest.mark.parametrize("name", MODULES)
def test_it_computes_its_kernel(name):
    report = verify_module(MODULES[name]())
    assert report.verdict == "clean", report.text()


def test_listing_reads_well(request):
    shown = str(MODULES["sums"]())
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(shown)
    assert shown == GOLDEN.read_text()


# What is executed is what the author wrote.


SIZES = [(0, 40), (1, 1), (7, 33), (31, 64), (33, 255), (64, 257)]


@pytest.mark.parametrize("timing", ["in_order", "random", "adversarial"])
@pytest.mark.parametrize(("m", "n"), SIZES)
def test_interpreted_it_gives_what_the_reference_does(m, n, timing):
    x = np.random.default_rng(m + n).normal(size=(m, n)).astype(np.float32)
    out, turned = kernels.both_ways.interpret(x, timing=timing, seed=m)
    wanted = kernels.both_ways.reference(x)
    np.testing.assert_array_equal(out, wanted[0])
    np.testing.assert_array_equal(turned, wanted[1])
    top, least = kernels.row_statistics.interpret(x, timing=timing, seed=n)
    wanted = kernels.row_statistics.reference(x)
    np.testing.assert_allclose(top, wanted[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(least, wanted[1])


def test_sums_in_memory_begin_where_the_caller_says():
    x = np.arange(70, dtype=np.float32).reshape(7, 10) / 8
    found = kernels.total.interpret(x, sizes={"one": 1}, initial={"out": np.array([4.0])})
    np.testing.assert_allclose(found, [4 + (x * x).sum()], rtol=1e-5)


def test_whole_numbers_and_conditions_are_those_of_registers():
    x = np.array([[np.nan, -1.5, 2.0], [3.0, np.inf, -0.0]], np.float32)
    mask = np.array([[True, False, True], [False, True, True]])
    out, positive = kernels.masked.interpret(x, mask)
    np.testing.assert_array_equal(out, np.where(mask, x, -1.0))
    np.testing.assert_array_equal(np.asarray(positive) != 0, np.where(mask, x, -1.0) > 0)
    counts = kernels.histogram.interpret(np.array([3, 1, 3, 99, -1]), sizes={"bins": 5})
    np.testing.assert_array_equal(counts, [0, 1, 0, 2, 0])  # numbers of no bin are not counted


def test_public_calls_are_interpreted():
    x = np.linspace(-3, 3, 90, dtype=np.float32).reshape(6, 15)
    with wl.interpreting():
        found = kernels.softmax(x)
    np.testing.assert_allclose(found, kernels.softmax.reference(x), rtol=1e-5)


@wl.kernel
def follows(x: wl.In["m", "n", wl.f32], out: wl.Out["m", wl.f32], two: wl.Out["m", wl.f32]):
    """Its names are those that a carried value's next number could have."""
    m = wl.tile(out)
    a, b = wl.zeros(m), wl.full(m, 1.0)
    for n in wl.steps(x.n):
        s = x[m, n].sum(axis=1)
        next_a_in = a * 0.5 + b + s
        a = b
        b = next_a_in
    out[m] = a
    two[m] = b


def test_names_of_authors_are_not_those_of_the_compiler():
    x = np.random.default_rng(0).normal(size=(5, 9)).astype(np.float32)
    found, wanted = follows.interpret(x), follows.reference(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    text = emit_threads(module_of(follows)).text
    assert text.count("float v_next_a_in[") == text.count("float next_a_in[") == 1


# Wrong programs are found.


FOUND = ("barrier", "store", "sum", "load", "shared store", "shuffle")


@pytest.mark.parametrize("name", ["turned", "sums", "gathered"])
def test_wrong_programs_are_found(name):
    module = MODULES[name]()
    tried = [(w, m) for w, m in mutants(module) if w.startswith(FOUND)]
    assert len(tried) >= 9
    assert [what for what, m in tried if not _is_found(m)] == []


def _is_found(module):
    try:
        return verify_dataflow(module, classes=1).verdict == "wrong"
    except WarploomError:
        return True


def _changed(module, change):
    """The module with the first node that ``change`` answers for replaced."""
    body = module.threads.body
    for path, node in places(body):
        new = change(node)
        if new is not None:
            made = with_other(body, path, new)
            return replace(module, threads=replace(module.threads, body=made))
    raise AssertionError("nothing to change")


def test_rows_at_any_address_are_stored_by_neighbouring_lanes():
    module = MODULES["odd rows"]()
    assert any(isinstance(s, ir.SendShifted) for s in ir.statements(module.threads.body))

    def lonely(node):  # the first lane of a warp takes what a lane of another warp has
        if isinstance(node, ir.SendShifted):
            return (replace(node, before=ir.Number(True, DType.BOOL)),)
        return None

    def unanswered(node):  # nobody stores the last bytes of a lane
        if isinstance(node, ir.SendShifted):
            return (replace(node, after=ir.Number(True, DType.BOOL)),)
        return None

    def uncovered(node):  # bytes around a vector that are not of its row
        if isinstance(node, ir.Covered):
            return ir.Number(True, DType.BOOL)
        return None

    for change in (lonely, unanswered, uncovered):
        assert _wrong(_changed(module, change))


def _wrong(module):
    report = verify_dataflow(module, classes=1)
    assert report.verdict == "wrong", report
    return report.findings[0]


def test_a_predicate_of_a_store_is_asked_for():
    def unasked(node):
        if isinstance(node, ir.If) and isinstance(node.body[0], ir.Write):
            return node.body
        return None

    assert "is accessed at" in _wrong(_changed(MODULES["turned"](), unasked))


def test_a_barrier_under_a_threads_condition_is_found():
    def alone(node):
        if isinstance(node, ir.Barrier):
            lane = ir.Reg("lane").eq(0)
            return (ir.If(condition=lane, body=(node,)),)
        return None

    module = _changed(MODULES["sums"](), alone)
    assert "does not reach" in _wrong(module)
    (claim,) = (c for c in verify_coverage(module).claims if "reach each" in c.what)
    assert claim.how == "not followed"
    with pytest.raises(VerificationError, match="does not reach"):
        require_computed(module)


def test_shared_memory_is_not_touched_by_two_threads_between_barriers():
    def gone(node):
        return () if isinstance(node, ir.Barrier) else None

    assert "without a barrier" in _wrong(_changed(_changed(MODULES["sums"](), gone), gone))


def test_what_is_claimed_of_all_sizes_is_not_claimed_of_wrong_programs():
    module = MODULES["gathered"]()
    assert all(c.how == "all sizes" for c in verify_coverage(module).claims)

    def further(node):
        if isinstance(node, ir.Send):
            return (replace(node, at=(node.at[0] + 1, *node.at[1:])),)
        return None

    def doubled(node):
        return (node, node) if isinstance(node, ir.Send) else None

    for change, kind in ((further, "in bounds"), (doubled, "stored once")):
        claims = verify_coverage(_changed(module, change)).claims
        said = [c.what for c in claims if kind in c.what and c.how == "all sizes"]
        assert not any("out" in s.split(": ")[1].split(", ") for s in said)


def test_an_address_that_is_no_whole_vector_is_found():
    def further(node):
        if isinstance(node, ir.Fetch):
            return (replace(node, at=(*node.at[:-1], node.at[-1] + 1)),)
        return None

    assert "no multiple" in _wrong(_changed(MODULES["gathered"](), further))


# Emission of a module.


def test_a_module_is_emitted_as_it_is_after_it_was_verified():
    module = MODULES["sums"]()
    _, text = emit_module(to_json(module))
    assert text == emit_threads(module).text

    def doubled(node):
        return (node, node) if isinstance(node, ir.Merge) else None

    with pytest.raises(VerificationError, match="the author's kernel gives"):
        emit_module(to_json(_changed(module, doubled)))


def test_what_is_compiled_shows_its_module():
    made = kernels.row_statistics.compile("bf16")
    assert made.module.threads is not None
    assert "threads  " in made.after("module")
    assert made.coverage.verdict == "clean"


# Programs without a meaning.


def _edited(change):
    data = json.loads(to_json(MODULES["sums"]()))
    change(data["module"]["threads"], data["module"])
    return json.dumps(data)


def _first(threads, kind):
    """The first statement of a kind in JSON."""
    waiting = list(threads["body"])
    while waiting:
        s = waiting.pop(0)
        if s["is"] == kind:
            return s
        waiting = [*s.get("body", []), *s.get("otherwise", []), *waiting]
    raise AssertionError(kind)


def _deep(threads, _):
    term = ["thread", "tid"]
    for _ in range(400):
        term = ["Not", term]
    _first(threads, "Declare")["value"] = term


def _nested(threads, _):
    for _ in range(200):
        threads["body"] = [{"is": "Scope", "body": threads["body"]}]


HOSTILE = {
    "a name with code in it": lambda t, m: _first(t, "Declare").update(name="x; asm()"),
    "a name twice": lambda t, m: t["body"].insert(1, dict(_first(t, "Declare"))),
    "a register of nobody": lambda t, m: _first(t, "Declare").update(value=["Reg", "no", None]),
    "a term that is none": lambda t, m: _first(t, "Declare").update(value=["Exec", "rm"]),
    "too few fields": lambda t, m: _first(t, "Declare").update(value=["Reg", "tid"]),
    "no list": lambda t, m: _first(t, "Declare").update(value={"Reg": 1}),
    "a float as an index": lambda t, m: _first(t, "Merge").update(at=[["Number", 0.5, "f32"]]),
    "coordinates": lambda t, m: _first(t, "Merge").update(at=[]),
    "an input that is written": lambda t, m: _first(t, "Merge").update(tensor="x"),
    "no such tensor": lambda t, m: _first(t, "Merge").update(tensor="y"),
    "no such view": lambda t, m: _first(t, "Put").update(view="out"),
    "a view past the end": lambda t, m: _first(t, "View").update(count=1 << 20),
    "half a warp": lambda t, m: t.update(threads=48),
    "another block": lambda t, m: m["launch"].update(block=64),
    "a loop that stands": lambda t, m: _first(t, "For").update(step=0),
    "a whole number with a type": lambda t, m: _first(t, "For").update(step=["Number", 1, "i32"]),
    "a symbol of tile loops": lambda t, m: _first(t, "For").update(step=["let", "tile"]),
    "a jump from nowhere": lambda t, m: t["body"].append({"is": "Break"}),
    "no argument": lambda t, m: t.update(arguments=[]),
    "an argument of nothing": lambda t, m: t["arguments"].append({"kind": "size", "name": "no"}),
    "many registers": lambda t, m: _first(t, "Declare").update(count=1 << 30, value=None),
    "a deep term": _deep,
    "deep scopes": _nested,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_program_without_a_meaning_is_refused(name):
    with pytest.raises(DocumentError):
        from_json(_edited(HOSTILE[name]))


def test_a_loop_that_does_not_go_on_is_found():
    def still(node):
        if isinstance(node, ir.For) and node.counter == "tile":
            return (replace(node, step=CTA),)
        return None

    assert "does not go on" in _wrong(_changed(MODULES["sums"](), still))


@pytest.mark.slow
def test_a_loop_that_is_too_long_is_not_judged():
    def long(node):
        if isinstance(node, ir.For) and node.counter == "part":
            return (replace(node, end=const(1 << 30), step=const(1), body=()),)
        return None

    module = _changed(MODULES["sums"](), long)
    assert verify_dataflow(module, classes=1).verdict == "not judged"
    with pytest.raises(BackendError, match="is not judged"):
        emit_module(to_json(module))
