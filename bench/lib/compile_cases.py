"""What ``bench/compile_time.py`` compiles: kernels of authors, public calls, solver bodies.

Every case is a function without arguments that runs in a process of its own. Nothing is imported
here that a case does not need: what a process imports is part of the figure.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
POINTWISE = ("x = x * y", "y = wl.maximum(x, y)", "x = x + 0.25", "y = x - y")


def _built(made):
    """The cubin of a compilation, and what ptxas said of it."""
    report = made.built.cubin.report
    return {
        "spilled": report.spill_bytes,
        "registers": report.registers,
        "config": made.built.config.name,
        "cubin": _digest(made.built.cubin.data),
        "source": _digest(made.built.source.text.encode()),
    }


def _digest(data):
    import hashlib

    return hashlib.sha256(data).hexdigest()[:16]


def _source(name, text):
    """A kernel from a source in a file: its lines must be there to be read."""
    import importlib.util
    import tempfile

    path = Path(tempfile.mkdtemp()) / f"{name}.py"
    path.write_text("import warploom as wl\n\n\n" + text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def epilogue(ops):
    lines = [POINTWISE[i % 4] for i in range(ops)]
    body = "\n".join(f"    {line}" for line in lines)
    text = f"""@wl.kernel
def chain(a: wl.In["m", "k"], b: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        acc += a[m, k] @ b[n, k].T
    x, y = acc, acc * 0.5
{body}
    out[m, n] = x + y
"""
    made = _source("chain", text).compile("bf16", sizes={"m": 4096, "n": 4096, "k": 4096})
    return _built(made)


def loop_ops(ops, rows=False):
    """Vector work in the loop: a chain on the left operand of a product; with maxima of rows."""
    lines = ["x = x - x.max(axis=1)", *POINTWISE[1:]] if rows else POINTWISE
    body = "\n".join(f"        {lines[i % 4]}" for i in range(ops))
    text = f"""@wl.kernel
def chain(a: wl.In["m", "k"], b: wl.In["n", "k"], out: wl.Out["m", "n"]):
    m, n = wl.tile(out)
    acc = wl.zeros(m, n)
    for k in wl.steps(a.k):
        x = a[m, k].to(wl.f32)
        y = x * 0.5
{body}
        acc += (x + y).to(a.dtype) @ b[n, k].T
    out[m, n] = acc
"""
    return _source("chain", text).compile("bf16", sizes={"m": 1024, "n": 1024, "k": 1024})


def loop_passes(ops, rows=False):
    """Fuse and layout of a loop, without the schedule."""
    import time

    from warploom.passes.body import body_of
    from warploom.passes.fuse import fuse
    from warploom.passes.kernel_config import config_of
    from warploom.passes.layout import lay_out
    from warploom.passes.loops import each_loop

    kernel = loop_ops(ops, rows).rewritten
    *_, part = each_loop(kernel)
    start = time.process_time()
    body = body_of(part)
    layout = lay_out(body, config_of(kernel, consumer_warpgroups=2, m=128, n=128, k=64), fuse(body))
    return {"passes_s": round(time.process_time() - start, 3), "steps": len(layout.steps)}


TWO_VALUES = """@wl.kernel
def two_values(
    q: wl.In["s", "d"],
    k: wl.In["t", "d"],
    v: wl.In["t", "d"],
    w: wl.In["t", "d"],
    out: wl.Out["s", "d"],
    more: wl.Out["s", "d"],
    *,
    scale: float,
):
    s = wl.tile(out, whole="d")
    qs = q[s]
    o, p, l, top = wl.zeros(s, q.d), wl.zeros(s, q.d), wl.zeros(s), wl.full(s, -1.0e30)
    for t in wl.steps(k.t):
        x = (qs @ k[t].T) * scale
        new = wl.maximum(top, x.max(axis=1))
        keep, e = wl.exp(top - new), wl.exp(x - new)
        l = l * keep + e.sum(axis=1)
        o = o * keep + e.to(v.dtype) @ v[t]
        p = p * keep + e.to(v.dtype) @ w[t]
        top = new
    out[s] = o / l
    more[s] = p / l
"""
GATED = """@wl.kernel
def gated(
    q: wl.In["b", "h", "c", "t", "d"],
    k: wl.In["b", "h", "c", "j", "d"],
    v: wl.In["b", "h", "c", "j", "e"],
    grown: wl.In["b", "h", "c", "t", wl.f32],
    seen: wl.In["b", "h", "c", "j", wl.f32],
    all: wl.In["b", "h", "c", wl.f32],
    out: wl.Out["b", "h", "c", "t", "e"],
    state: wl.Out["b", "h", "d", "e", wl.f32],
):
    b, h, e = wl.tile(state, whole="d")
    s = wl.zeros(q.d, e)
    for c in wl.steps(q.c, 1):
        qs, ks, vs = q[b, h, c], k[b, h, c], v[b, h, c, :, e]
        now, then, end = grown[b, h, c], seen[b, h, c], all[b, h, c]
        x = (qs @ ks.T) * wl.exp(now - then)
        x = wl.where(wl.index(k.j) <= wl.index(q.t), x, 0.0)
        old = (qs @ s.to(q.dtype)) * wl.exp(now)
        out[b, h, c, :, e] = x.to(q.dtype) @ vs + old
        s = s * wl.exp(end) + ks.T @ (vs * wl.exp(end - then)).to(q.dtype)
    state[b, h, :, e] = s
"""
MLP = """@wl.kernel
def mlp(x: wl.In["m", "d"], up: wl.In["f", "d"], down: wl.In["f", "d"], out: wl.Out["m", "d"]):
    m = wl.tile(out, whole="d")
    xs = x[m]
    acc = wl.zeros(m, x.d)
    for f in wl.steps(up.f):
        h = wl.gelu(xs @ up[f].T)
        acc += h.to(x.dtype) @ down[f]
    out[m] = acc
"""


def two_values():
    made = _source("two_values", TWO_VALUES).compile(
        "bf16", sizes={"s": 8192, "t": 8192, "d": 128}, positive={"scale"}
    )
    return _built(made)


def gated(t=64, d=128):
    sizes = {"b": 2, "h": 16, "c": 64, "t": t, "j": t, "d": d, "e": 128}
    return _built(_source("gated", GATED).compile("bf16", sizes=sizes))


def mlp(m):
    sizes = {"m": m, "d": 128, "f": 4096}
    return _built(_source("mlp", MLP).compile("bf16", sizes=sizes))


def _layouts(*tensors):
    """Row-major layouts on a device, by shape and type; None stays."""
    from warploom.compiler.layout import Layout
    from warploom.ir.tile import DType

    found = []
    for tensor in tensors:
        if tensor is None:
            found.append(None)
            continue
        *shape, kind = tensor
        strides = [1]
        for n in shape[:0:-1]:
            strides.insert(0, strides[0] * n)
        found.append(Layout(tuple(shape), tuple(strides), DType(kind)))
    return tuple(found)


def _transposed(layout):
    from dataclasses import replace

    return replace(layout, shape=layout.shape[::-1], strides=layout.strides[::-1])


def quantised(bits, m, n=8192, k=8192):
    from warploom.runtime.fused import FP8, INT4, PLAIN

    calls = INT4 if bits == 4 else FP8
    weight = (n, k // 2, "i8") if bits == 4 else (n, k, "e4m3")
    layouts = _layouts((m, k, "bf16"), weight, (k // 128, n, "f32"), None)
    layouts = (*layouts[:2], _transposed(layouts[2]), None)
    return _built(calls.compiled_for(layouts, PLAIN))


def attention(h=16, g=16, s=4096, t=4096, d=128, causal=False):
    from warploom.runtime import attention as module

    shapes = ((2, h, s, d, "bf16"), (2, g, t, d, "bf16"), (2, g, t, d, "bf16"))
    given = dict(zip(("q", "k", "v"), _layouts(*shapes), strict=True))
    layouts = tuple(given.get(name) for name in module.CALLS.names)
    return _built(module.CALLS.compiled_for(layouts, module._options(causal, False, None)))


def gemm(m=4096, n=4096, k=4096, kind="bf16"):
    from warploom.runtime.gemm import CALLS, PLAIN

    a, b = _layouts((m, k, kind), (n, k, kind))
    return _built(CALLS.compiled_for((a, _transposed(b), None, None, None), PLAIN))


def swiglu(m=4096, n=8192, k=4096):
    from warploom.runtime.fused import SWIGLU, _gated

    layouts = _layouts((m, k, "bf16"), (n, k, "bf16"), (n, k, "bf16"), None)
    return _built(SWIGLU.compiled_for(layouts, _gated("silu")))


def binary():
    """What a first call of ``warploom.gemm`` needs before the driver: its binary."""
    from warploom.runtime.gemm import CALLS, PLAIN

    a, b = _layouts((4096, 4096, "bf16"), (4096, 4096, "bf16"))
    found = CALLS.binary_for((a, _transposed(b), None, None, None), PLAIN)
    return {"cubin": _digest(found.cubin), **_modules()}


def _modules():
    heavy = ("numpy", "ortools", "warploom.passes", "warploom.modulo", "warploom.verify", "typer")
    return {
        "modules": len(sys.modules),
        "heavy": [m for m in heavy if m in sys.modules],
    }


def imported():
    import warploom

    assert callable(warploom.gemm)
    return _modules()


def command(*arguments):
    """A command of the command line, in this process."""
    import contextlib
    import io

    from warploom.cli import main

    sys.argv = ["warploom", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(SystemExit):
        main()
    return {"bytes": len(text.getvalue()), **_modules()}


def verified():
    """``warploom verify FILE`` of a written schedule."""
    return command("verify", str(ROOT / "bench" / "lib" / "pingpong.json"))


def timeline():
    """A page of 512 iterations."""
    import tempfile

    path = Path(tempfile.mkdtemp()) / "page.html"
    command("timeline", "gemm", "--trips", "512", "-o", str(path))
    return {"page_bytes": path.stat().st_size}


def solved(name, seconds=None):
    """A hard body, to its proof or its time limit."""
    sys.path.insert(0, str(ROOT))
    from bench.lib.hard_bodies import body_named

    from warploom.modulo import ModuloOptions, solve_modulo

    result = solve_modulo(body_named(name), ModuloOptions(seconds=seconds, goals=()))
    return {"ii": result.ii, "bound": result.lower_bound, "proven": result.proven}


def plain(name):
    """The same body with a plain CP-SAT model, interval by interval from the bound on."""
    sys.path.insert(0, str(ROOT))
    from bench.lib.hard_bodies import body_named, plain_model

    return plain_model(body_named(name))


CASES = {
    "epilogue of 28 pointwise ops": (epilogue, 28),
    "epilogue of 50 pointwise ops": (epilogue, 50),
    "epilogue of 100 pointwise ops": (epilogue, 100),
    "epilogue of 200 pointwise ops": (epilogue, 200),
    "softmax with two value products, d = 128": (two_values,),
    "int4 weights, M = 256": (quantised, 4, 256),
    "int4 weights, M = 4096": (quantised, 4, 4096),
    "fp8 weights, M = 256": (quantised, 8, 256),
    "gated linear attention, chunks of 64": (gated,),
    "fused MLP, m = 512": (mlp, 512),
    "fused MLP, m = 4096": (mlp, 4096),
    "attention d = 192": (attention, 16, 16, 4096, 4096, 192),
    "attention d = 128, 7 heads": (attention, 7, 7, 300, 300, 128),
    "attention d = 64, 7 heads": (attention, 7, 1, 1000, 1000, 64),
    "attention d = 256, causal, short": (attention, 3, 3, 200, 200, 256, True),
    "GEMM": (gemm,),
    "SwiGLU": (swiglu,),
    "attention": (attention,),
    "first call, from the cache": (binary,),
    "warploom --version": (command, "--version"),
    "warploom --help": (command, "--help"),
    "warploom verify FILE": (verified,),
    "warploom show gemm": (command, "show", "gemm"),
    "warploom emit gfx950 fourwave": (command, "emit", "gfx950", "fourwave"),
    "timeline page of 512 iterations": (timeline,),
    "solver, hard body of 24 ops": (solved, "hard24"),
    "solver, hard body of 96 ops, a": (solved, "hard96a"),
    "solver, hard body of 96 ops, b": (solved, "hard96b"),
    "solver, hard body of 192 ops, 3 s": (solved, "hard192", 3.0),
    "plain model, hard body of 24 ops": (plain, "hard24"),
    "plain model, hard body of 96 ops, a": (plain, "hard96a"),
    "plain model, hard body of 96 ops, b": (plain, "hard96b"),
    "import warploom, then warploom.gemm": (imported,),
    "loop of 50 vector ops: fuse and layout": (loop_passes, 50),
    "loop of 100 vector ops: fuse and layout": (loop_passes, 100),
    "loop of 200 vector ops: fuse and layout": (loop_passes, 200),
    "loop of 50 ops with maxima of rows: fuse and layout": (loop_passes, 50, True),
    "loop of 100 ops with maxima of rows: fuse and layout": (loop_passes, 100, True),
    "loop of 200 ops with maxima of rows: fuse and layout": (loop_passes, 200, True),
}


WANTED = {  # CPU seconds
    "epilogue of 28 pointwise ops": 1.2,
    "epilogue of 50 pointwise ops": 1.5,
    "epilogue of 100 pointwise ops": 2.5,
    "epilogue of 200 pointwise ops": 5,
    "softmax with two value products, d = 128": 5,
    "int4 weights, M = 256": 4,
    "int4 weights, M = 4096": 4,
    "fp8 weights, M = 256": 4,
    "gated linear attention, chunks of 64": 6,
    "fused MLP, m = 512": 6,
    "fused MLP, m = 4096": 6,
    "attention d = 192": 4,
    "attention d = 128, 7 heads": 4,
    "GEMM": 1.52,
    "SwiGLU": 1.34,
    "attention": 1.36,
    "first call, from the cache": 0.25,
    "warploom --version": 0.15,
    "warploom --help": 0.2,
    "warploom verify FILE": 0.4,
    "warploom show gemm": 0.7,
    "import warploom, then warploom.gemm": 0.15,
    "warploom emit gfx950 fourwave": 1.5,
}


def main():
    """Run one case and print what it found as a line of JSON; or a body, as ``solver:96:7``."""
    which, _, name = sys.argv[1].partition(":")
    bodies = {"solver": solved, "plain": plain}
    case, *arguments = (bodies[which], name) if name and which in bodies else CASES[sys.argv[1]]
    print(json.dumps(case(*arguments)))


if __name__ == "__main__":
    main()
