"""Kernels that differ from a shipped one in vector work get what was measured for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scripts import write_skeletons

from tests.frontend.sources import run_source
from warploom.compiler import compiled
from warploom.compiler.cubin import Cubin, read_log
from warploom.compiler.similar import similar, skeleton_of
from warploom.kernels.registry import shipped

GATED = """
import warploom as wl

@wl.kernel
def mine(left: wl.In["r", "i"], first: wl.In["c", "i"], second: wl.In["c", "i"],
         shift: wl.In["c"], result: wl.Out["r", "c"]):
    r, c = wl.tile(result)
    one, two = wl.zeros(r, c), wl.zeros(r, c)
    for i in wl.steps(left.i):
        x = left[r, i]
        one += x @ first[c, i].T
        two += x @ second[c, i].T
    result[r, c] = wl.gelu(one) * two + shift[c].to(wl.f32)
"""
CAPPED = """
import warploom as wl

@wl.kernel
def mine(q: wl.In["b", "h", "s", "d"], k: wl.In["b", "h", "t", "d"], v: wl.In["b", "h", "t", "d"],
         out: wl.Out["b", "h", "s", "d"], *, scale: float):
    b, h, s = wl.tile(out, whole="d")
    qs = q[b, h, s]
    o, l, top = wl.zeros(s, q.d), wl.zeros(s), wl.full(s, -1.0e30)
    for t in wl.steps(k.t):
        x = wl.tanh((qs @ k[b, h, t].T) * scale * 0.02) * 50.0
        new = wl.maximum(top, x.max(axis=1))
        keep, e = wl.exp(top - new), wl.exp(x - new)
        l = l * keep + e.sum(axis=1)
        o = o * keep + e.to(v.dtype) @ v[b, h, t]
        top = new
    out[b, h, s] = o / l
"""
GROUPS = """
import warploom as wl

@wl.kernel
def mine(x: wl.In["t", "k"], w: wl.In["e", "n", "k"], starts: wl.Starts["e"],
         out: wl.Out["t", "n"]):
    e, t, n = wl.tile(out, groups=starts)
    acc = wl.zeros(t, n)
    for k in wl.steps(x.k):
        acc += x[t, k] @ w[e, n, k].T
    out[t, n] = wl.relu(acc) * wl.relu(acc)
"""
ANOTHER = """
import warploom as wl

@wl.kernel
def swiglu(x: wl.In["m", "k"], gate: wl.In["n", "k"], up: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    g = wl.zeros(m, n)
    for k in wl.steps(x.k):
        g += x[m, k] @ (gate[n, k] * up[n, k]).to(x.dtype).T
    out[m, n] = g
"""
LONG = {"b": 2, "h": 16, "s": 4096, "t": 4096}


def made(source, sizes, name="mine", **given):
    return run_source(source)[name].compile("bf16", sizes=sizes, **given)


def of(name, sizes, **choices):
    return dict(shipped()[name].configuration(choices, sizes))


def test_the_table_is_what_the_kernels_are():
    assert write_skeletons.OUT.read_text() == write_skeletons.written()


def test_another_activation_and_one_more_operand_keep_the_knobs():
    found = made(GATED, {"r": 4096, "c": 8192, "i": 8192})
    names = {"m": "r", "n": "c", "k": "i"}
    wanted = of("swiglu", {"m": 4096, "n": 8192, "k": 8192})
    assert wanted["cta_sync_interval"]
    assert found.likened == {names.get(n, n): v for n, v in wanted.items()}
    config = found.choices[0].config
    assert (config.extent("r"), config.extent("c")) == (wanted["m"], wanted["n"])
    assert config.cta_sync_interval == wanted["cta_sync_interval"]


@pytest.mark.parametrize("d", [64, 128])
def test_another_score_keeps_the_tile_its_prefetch_and_its_waits(d):
    found = made(CAPPED, {**LONG, "d": d}, positive={"scale"})
    wanted = of("attention", {**LONG, "g": 16, "d": d}, causal=False)
    order = {n for n in wanted if n not in found.likened}
    assert order <= {"schedule"}  # issue times are of one loop
    assert found.likened == {n: v for n, v in wanted.items() if n not in order}
    assert found.likened["full_wait_after"]


def test_short_sequences_are_looked_up_as_those_of_the_shipped_kernel():
    found = made(CAPPED, {"b": 1, "h": 2, "s": 256, "t": 256, "d": 128}, positive={"scale"})
    assert found.likened == {}
    assert [x.name for x in similar(found.simplified)] == ["attention"]


def test_groups_keep_their_pace():
    sizes = {"t": 8192, "n": 8192, "k": 4096, "e": 8}
    found = made(GROUPS, sizes)
    assert found.likened == of("grouped", sizes)
    assert found.likened["cta_sync_interval"]


def test_a_kernel_with_other_products_gets_nothing_whatever_its_name():
    found = made(ANOTHER, {"m": 4096, "n": 8192, "k": 8192}, "swiglu")
    assert similar(found.simplified) == ()
    assert found.pins == {}


def test_types_of_another_width_get_nothing():
    kernel = run_source(GATED)["mine"]
    found = kernel.compile("e4m3", sizes={"r": 4096, "c": 8192, "i": 8192})
    assert similar(found.simplified) == ()


def test_a_shipped_kernel_is_not_likened():
    kernel = shipped()["gemm"].kernel
    found = kernel.compile(
        "bf16", sizes={"m": 512, "n": 512, "k": 512}, without=("bias", "residual")
    )
    assert found.likened == {}


def test_names_do_not_count_and_products_do():
    first, second = (
        skeleton_of(made(text, {"r": 512, "c": 512, "i": 512}).simplified).digest
        for text in (GATED, GATED.replace("one", "some").replace("wl.gelu", "wl.silu"))
    )
    assert first == second
    fewer = GATED.replace("two += x @ second[c, i].T", "two += x @ first[c, i].T")
    assert skeleton_of(made(fewer, {"r": 512, "c": 512, "i": 512}).simplified).digest != first


@pytest.mark.parametrize("why", ["100 bytes spill stores", "C7510"])
def test_what_ptxas_does_not_keep_gives_way_to_the_models_own(monkeypatch, why):
    found = made(GATED, {"r": 4096, "c": 8192, "i": 8192})
    likened = found.choices[0].config
    seen = []

    def compile_source(source, *, name, **_):
        seen.append(name)
        log = why if likened.name in name else ""
        return Cubin(data=b"", toolchain="none", report=replace(read_log(log)))

    monkeypatch.setattr(compiled, "compile_source", compile_source)
    assert found.built.config.name != likened.name
    assert likened.name in seen[0]
    assert found.built.cubin.report.kept
