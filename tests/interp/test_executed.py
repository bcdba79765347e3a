"""Code that no module is printed to is executed in every compilation and compared with its kernel.

Wrong code is made on purpose: the code generators are handed another kernel than the author's.
"""

import pytest

import warploom as wl
from warploom.compiler import compile_cache, compiled as compiler
from warploom.compiler.cubin import find_toolchain
from warploom.errors import BackendError, VerificationError
from warploom.interp import executed, thread_dataflow
from warploom.runtime import mi355x


@wl.kernel
def scaled(x: wl.In["m", "n"], w: wl.In["n"], out: wl.Out["m", "n"]):
    m = wl.tile(out, whole="n")
    out[m] = x[m] / (x[m] * x[m]).sum(axis=1) * w[:]


@wl.kernel
def other(x: wl.In["m", "n"], w: wl.In["n"], out: wl.Out["m", "n"]):
    m = wl.tile(out, whole="n")
    out[m] = x[m] / (x[m] * x[m]).sum(axis=1) * (w[:] + 1)


@wl.kernel
def summed(x: wl.In["m", "n"], out: wl.Out["n", wl.f32]):
    n = wl.tile(out)
    acc = wl.zeros(n)
    for m in wl.steps(x.m):
        acc += x[m, n].sum(axis=0)
    out[n] = acc


@wl.kernel
def unsummed(x: wl.In["m", "n"], out: wl.Out["n", wl.f32]):
    n = wl.tile(out)
    acc = wl.zeros(n)
    for m in wl.steps(x.m):
        acc += (x[m, n] * x[m, n]).sum(axis=0)
    out[n] = acc


@wl.kernel
def chained(x: wl.In["m", "d"], up: wl.In["f", "d"], down: wl.In["e", "f"], out: wl.Out["m", "e"]):
    m = wl.tile(out, whole="e")
    acc = wl.zeros(m, down.e)
    for f in wl.steps(up.f, 64):
        u = wl.zeros(m, f)
        for d in wl.steps(x.d):
            u += x[m, d] @ up[f, d].T
        acc += wl.relu(u).to(x.dtype) @ down[:, f].T
    out[m] = acc


@wl.kernel
def unchained(
    x: wl.In["m", "d"], up: wl.In["f", "d"], down: wl.In["e", "f"], out: wl.Out["m", "e"]
):
    m = wl.tile(out, whole="e")
    acc = wl.zeros(m, down.e)
    for f in wl.steps(up.f, 64):
        u = wl.zeros(m, f)
        for d in wl.steps(x.d):
            u += x[m, d] @ up[f, d].T
        acc += u.to(x.dtype) @ down[:, f].T
    out[m] = acc


PAIRS = {
    "rows": (scaled, other, {"n": 72}),
    "long rows": (scaled, other, {"n": 1000}),
    "a loop": (summed, unsummed, {}),
    "a block": (chained, unchained, {"e": 64}),
}


def _needs_compiler():
    try:
        find_toolchain()
    except BackendError:
        pytest.skip("no CUDA compiler")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))


@pytest.mark.parametrize("name", PAIRS)
def test_code_for_hopper_is_compared(name):
    _needs_compiler()
    right, _, sizes = PAIRS[name]
    report = right.compile("bf16", sizes=sizes).dataflow
    assert report.verdict == "clean", report
    assert thread_dataflow.HOW in str(report)  # printed from a module: that is executed
    assert len(report.tried) == 7


@pytest.mark.parametrize("name", PAIRS)
def test_other_code_for_hopper_is_found(name, monkeypatch):
    _needs_compiler()
    right, wrong, sizes = PAIRS[name]
    made = right.compile("bf16", sizes=sizes)
    instead = wrong.compile("bf16", sizes=sizes)
    # The generators see the other kernel; the author's is what is compared with.
    if name == "a block":
        block = compiler.block_form(instead.kernel)
        monkeypatch.setattr(compiler, "block_form", lambda _: block)
    else:
        simplified, rewritten = instead.simplified, instead.rewritten
        monkeypatch.setattr(compiler, "simplify", lambda *_, **__: simplified)
        monkeypatch.setattr(compiler, "rewrite", lambda *_, **__: rewritten)
    with pytest.raises(VerificationError, match="the author's kernel gives"):
        _ = made.built


@pytest.mark.parametrize("name", ["rows", "a loop"])
def test_code_for_mi355x_is_compared(name, monkeypatch):
    right, wrong, sizes = PAIRS[name]
    sizes = dict.fromkeys(sizes, 16)
    made = right.compile("bf16", sizes=sizes, target="mi355x")
    assert made.executed.verdict == "clean", made.executed
    assert executed.HOW in str(made.executed)
    made = right.compile("bf16", sizes=sizes, target="mi355x")
    instead = wrong.compile("bf16", sizes=sizes, target="mi355x").program
    monkeypatch.setattr(mi355x, "compile_tile_kernel", lambda *_, **__: instead)
    with pytest.raises(VerificationError, match="the author's kernel gives"):
        _ = made.program


def test_a_verdict_is_kept_and_one_of_wrong_code_is_not(monkeypatch):
    made = scaled.compile("bf16", sizes={"n": 16}, target="mi355x")
    assert made.executed.verdict == "clean"
    monkeypatch.setattr(mi355x, "verify_executed", None)  # it is asked no more
    assert scaled.compile("bf16", sizes={"n": 16}, target="mi355x").executed.verdict == "clean"
    asked = []
    wrong = executed.DataflowReport(module="x", tried=(), findings=("wrong",))
    for _ in range(2):
        found = compile_cache.verdict_of(made.kernel, "code", (), lambda: asked.append(1) or wrong)
        assert found.verdict == "wrong"
    assert len(asked) == 2


def test_what_cannot_be_executed_is_not_called_right():
    kernel = scaled.compile("bf16", sizes={"n": 16}, target="mi355x").kernel

    def run(*_):
        raise BackendError("an instruction of tomorrow")

    report = executed.verify_executed(kernel, "scaled", run, [{"m": 5, "n": 16}])
    assert report.verdict == "not judged"
    assert "an instruction of tomorrow" in str(report)


@wl.kernel
def scattered(x: wl.In["m", "n"], rows: wl.In["m", wl.i32], far: wl.Out["r", "n"]):
    m, n = wl.tile("m", "n")
    far[rows[m], n] = x[m, n]


@wl.kernel
def halved(x: wl.In["m", "n"], rows: wl.In["m", wl.i32], far: wl.Out["r", "n"]):
    m, n = wl.tile("m", "n")
    far[rows[m] // 2, n] = x[m, n]


@pytest.mark.parametrize("target", [None, "mi355x"], ids=["h200", "mi355x"])
def test_stores_that_may_meet_are_no_difference(target):
    """Of several stores to one element any may be the last: the inputs of the trial have none, and
    where the author computes with the numbers the outcome is no verdict.
    """
    if target is None:
        _needs_compiler()
    sizes = {"m": 257, "n": 16, "r": 15}
    for kernel in (scattered, halved):
        made = kernel.compile("bf16", sizes=sizes, target=target)
        report = made.dataflow if target is None else made.executed
        assert not report.findings, report
        assert kernel is halved or report.verdict == "clean", report
