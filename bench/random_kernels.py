"""Random kernels of the language on a GPU, or on the host, against their NumPy reference.

    python bench/random_kernels.py build FOLDER [--count 60] [--seed 1] [--forms F,F]
    python bench/random_kernels.py run FOLDER [--only NAME,NAME] [--out FILE]
    python bench/random_kernels.py apart FOLDER [--out FILE]                a process a kernel
    python bench/random_kernels.py host FILE [--seed FIRST] [--count 5000] [--seconds S]
    python bench/random_kernels.py mi355x FILE [--seed FIRST] [--count 300] [--seconds S]

``build`` draws kernels (``tests/frontend/random_kernels.py``), lowers and proves them, compiles
them
and keeps cubins, inputs and the results NumPy expects; SwiGLU, RMS-norm GEMM and GEMM at odd sizes
and kernels of several loops are among them. ``run`` needs neither the solver nor torch: sanitizers
see nothing but the kernel.

``host`` needs no GPU: one kernel a seed is lowered, proven, emitted and executed thread by thread
(``tests/host_cuda``). FILE has a line a seed: ``right``, ``refused`` (with the reason), or what
went wrong. Seeds that it holds are left out, so a campaign can be stopped and resumed. ``mi355x``
does the same with gfx950 machine code, executed on the CPU and judged for every timing of a launch.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
import time
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

SMS = 132
SHIPPED = {  # name: text, sizes, scalars
    "swiglu_a": ("swiglu", {"m": 200, "n": 136, "k": 72}, {}),
    "swiglu_b": ("swiglu", {"m": 129, "n": 136, "k": 264}, {}),
    "rms_gemm_a": ("rms_gemm", {"m": 200, "n": 136, "k": 72}, {"eps": 1e-3}),
    "rms_gemm_b": ("rms_gemm", {"m": 77, "n": 136, "k": 264}, {"eps": 1e-3}),
    "gemm_a": ("gemm", {"m": 300, "n": 264, "k": 136}, {"alpha": 0.5}),
}


def shipped_cases():
    """Shipped kernels at small odd sizes."""
    from importlib import import_module

    from warploom.frontend.pointwise import rounded
    from warploom.ir.tile import Access

    for name, (text, sizes, scalars) in SHIPPED.items():
        found = getattr(import_module(f"warploom.kernels.{text}"), text)
        left = {t.name for t in found.signature.tensors if t.optional}
        kernel = found.specialise(found.spell("bf16", left), without=left)
        rng = np.random.default_rng(len(name))
        arrays = tuple(
            rounded(rng.normal(scale=0.5, size=[sizes[a.name] for a in t.axes]), t.dtype)
            for t in kernel.tensors
            if t.access is Access.IN
        )
        wanted = kernel.reference(*arrays, **scalars)
        case = SimpleNamespace(kernel=kernel, sizes=sizes, scalars=scalars, text=text)
        case.arrays, case.reference = (lambda a=arrays: a), (lambda w=wanted: (w,))
        yield name, case


def several_loops():
    """Kernels with two and three loops in a tile."""
    from tests.kernels import samples as texts

    for name in ("NORM_THEN_PRODUCT", "TWO_SOURCES", "ROW_SOFTMAX"):
        yield name.lower(), texts.case(getattr(texts, name))


def random_cases(count, seed, forms, keep):
    """Random kernels that the target has a place for, each kept as it is drawn."""
    from hypothesis import HealthCheck, Phase, given, seed as seeded, settings, strategies as st
    from tests.frontend.random_kernels import random_kernels
    from tests.kernels.test_random_kernels import PINS, lowered_with

    found = set()

    @seeded(seed)
    @settings(
        max_examples=max(1, 4 * count),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(random_kernels(forms=forms, hopper=True, largest=200), st.just({}) | PINS)
    def draw(case, pins):
        if len(found) < count and case.text not in found:
            made = lowered_with(case, pins)
            if made.made is not None:
                keep(f"random_{len(found):03d}", case, made.compiled, made.made.config)
                found.add(case.text)

    draw()


def build(folder, count, seed, forms):
    """Cubins, inputs and expected results."""
    from tests.frontend.random_kernels import FORMS

    from warploom.compiler.compiled import Compiled

    folder.mkdir(parents=True, exist_ok=True)

    def keep(name, case, compiled, config):
        started = time.time()
        built = compiled.build(config)
        if built.cubin.report.messages:
            print(name, config.name, *built.cubin.report.messages, flush=True)
            return
        data = zlib.compress(pickle.dumps(kept(case, compiled, built)))
        (folder / f"{name}.pickle").write_bytes(data)
        spilled = built.cubin.report.spill_bytes
        print(name, config.name, f"{spilled} spilled, {time.time() - started:.1f} s", flush=True)

    for name, case in (*shipped_cases(), *several_loops()):
        made = Compiled(case.kernel, sizes=case.sizes)
        keep(name, case, made, made.config)
    random_cases(count, seed, forms or FORMS, keep)


def kept(case, compiled, built):
    """All a run needs, without functions."""
    from tests.host_cuda import Memory

    from warploom.codegen.cuda.tile.signature import OrderParam
    from warploom.compiler.described import binary_of
    from warploom.compiler.layout import bind
    from warploom.ir.tile import Access

    binary = binary_of(compiled, built=built)
    arrays, tensors = iter(case.arrays()), []
    for t in compiled.rewritten.tensors:
        shape = [-(-case.sizes[a.name] // a.per) for a in t.axes]
        given = None if t.access is Access.OUT else next(arrays)
        tensors.append(Memory(t, shape if given is None else given.shape, given))
    sizes = bind(binary.tensors, [t.layout for t in tensors])
    tiles = binary.grid.tiles(sizes)
    ctas = min(tiles, SMS * (binary.grid.resident or 1))
    listed = any(isinstance(p, OrderParam) for p in binary.parameters)
    return {
        "text": case.text,
        "config": built.config.name,
        "binary": replace(binary, grid=None, work=None, visits=None),
        "resident": binary.grid.resident,
        "work": binary.work(sizes) if binary.work else 0,
        "visits": tuple(binary.visits(sizes, ctas)) if listed else (),
        "tiles": tiles,
        "scalars": [case.scalars[s.name] for s in binary.scalars],
        "layouts": [t.layout for t in tensors],
        "bytes": [t.bytes[t.start : -1024] for t in tensors],
        "wanted": [x.astype(np.float32) for x in case.reference()],
    }


def restored(case):
    """The binary of a kept case."""
    from warploom.compiler.binary import Grid

    grid = Grid(tiles=lambda sizes: case["tiles"], resident=case["resident"])
    work = (lambda sizes: case["work"]) if case["work"] else None
    visits = case["visits"]
    return replace(case["binary"], grid=grid, work=work, visits=lambda sizes, ctas: visits)


def launch(case):
    """One launch; the outputs' bits."""
    from warploom.compiler.cuda_driver import check, ensure_context, library
    from warploom.ir.tile import Access
    from warploom.runtime.plan import prepare

    ensure_context(0)
    cuda = library()
    binary = restored(case)
    plan = prepare(binary, case["layouts"])
    places = []
    for data in case["bytes"]:
        at = check(cuda.cuMemAlloc(len(data)), "cuMemAlloc")
        check(cuda.cuMemcpyHtoD(at, data.ctypes.data, len(data)), "copy")
        places.append(at)
    more = []
    if case["work"]:
        more = [int(check(cuda.cuMemAlloc(case["work"]), "cuMemAlloc"))]
        check(cuda.cuMemsetD8(more[0], 0, case["work"]), "cuMemset")
    plan(0, *(int(p) for p in places), *case["scalars"], *more)
    check(cuda.cuCtxSynchronize(), "run")
    found = []
    for tensor, layout, data, at in zip(
        binary.tensors, case["layouts"], case["bytes"], places, strict=True
    ):
        if tensor.access is Access.OUT:
            back = np.empty_like(data)
            check(cuda.cuMemcpyDtoH(back.ctypes.data, at, len(back)), "copy back")
            found.append(values(back, layout))
        check(cuda.cuMemFree(at), "free")
    return found


def values(data, layout):
    """A tensor's elements as numbers."""
    size = layout.dtype.bits // 8
    kind = {2: np.uint16, 4: np.uint32}[size]
    raw = np.ndarray(layout.shape, kind, data.data, 0, [s * size for s in layout.strides])
    raw = np.ascontiguousarray(raw)
    if size == 4:
        return raw.view(np.int32 if layout.dtype == "i32" else np.float32).astype(np.float64)
    if layout.dtype == "f16":
        return raw.view(np.float16).astype(np.float64)
    return (raw.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def distance(found, wanted):
    """The largest difference, in units of the largest finite result."""
    worst = 0.0
    for mine, right in zip(found, wanted, strict=True):
        size = max(1.0, np.abs(right[np.isfinite(right)]).max(initial=0.0))
        same = (mine == right) | (np.isnan(mine) & np.isnan(right))
        with np.errstate(invalid="ignore"):
            far = np.where(same, 0.0, np.abs(mine - right)) / size
        worst = max(worst, float(np.where(np.isnan(far), np.inf, far).max(initial=0.0)))
    return worst


def run(folder, only, out):
    """Launch every kept kernel and compare."""
    rows, bad = [], 0
    for path in sorted(folder.glob("*.pickle")):
        if only and path.stem not in only:
            continue
        case = pickle.loads(zlib.decompress(path.read_bytes()))
        far = distance(launch(case), case["wanted"])
        rows.append({"name": path.stem, "config": case["config"], "distance": far})
        if not far < 2e-2:
            bad += 1
            print("WRONG", rows[-1], case["text"], flush=True)
    worst = max((r["distance"] for r in rows), default=0.0)
    print(f"{len(rows) - bad} of {len(rows)} right, largest distance {worst:.1e}", flush=True)
    if out:
        Path(out).write_text(json.dumps(rows, indent=1) + "\n")
    return bad


def run_apart(folder, out, at_once=8):
    """Every kept kernel in a process of its own: one that fails takes no other along."""
    import subprocess

    names = [p.stem for p in sorted(folder.glob("*.pickle"))]
    command = [sys.executable, __file__, "run", str(folder), "--only"]
    going, said = {}, {}
    while names or going:
        while names and len(going) < at_once:
            name = names.pop(0)
            pipe = subprocess.PIPE
            going[name] = subprocess.Popen([*command, name], stdout=pipe, stderr=pipe, text=True)
        name = next(iter(going))
        done = going.pop(name)
        try:
            text, trouble = done.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            done.kill()
            text, trouble = "", "no end in 20 s"
        said[name] = text.strip() or trouble.strip()[-200:]
        if done.returncode:
            print(name, said[name], flush=True)
    bad = [n for n, s in said.items() if not s.startswith("1 of 1 right")]
    print(f"{len(said) - len(bad)} of {len(said)} right", *bad, flush=True)
    if out:
        Path(out).write_text(json.dumps(said, indent=1) + "\n")
    return len(bad)


def drawn(seed, forms):
    """The kernel of a seed, and choices for it."""
    from hypothesis import HealthCheck, Phase, given, seed as seeded, settings, strategies as st
    from tests.frontend.random_kernels import random_kernels
    from tests.kernels.test_random_kernels import PINS

    found = []

    @seeded(seed)
    @settings(
        max_examples=3,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(random_kernels(forms=forms, hopper=True, largest=150), st.just({}) | PINS)
    def draw(case, pins):
        found.append((case, pins))

    draw()
    return found[-1]  # the first one is the simplest, whatever the seed


def host_line(seed, forms):
    """One kernel, executed on the host: its line of results."""
    from tests.kernels.test_random_kernels import check

    from warploom.errors import WarploomError

    start, found = time.time(), "right"
    case, pins = drawn(seed, forms)
    try:
        try:
            made = check(case, pins, seed + 1)
        except WarploomError:  # choices that the emitter refuses
            made = check(case, {}, seed + 1)
        found = "right" if made is not None else "refused: no config"
    except AssertionError as error:
        found = f"wrong: {error}"[:300]
    except WarploomError as error:
        found = "refused: " + str(error).partition("\n")[0]
    except Exception as error:
        found = f"raw {type(error).__name__}: {error}"[:300]
    seconds = round(time.time() - start, 2)
    return {"seed": seed, "text": case.text, "found": found, "s": seconds}


def long_and_aligned(case):
    """The same kernel with rows of whole 16 bytes and many steps, as pipelined loops want them."""
    walked = {case.kernel.var(loop.var).axis for loop in case.kernel.loops}
    sizes = {
        name: size if name in case.whole else -(-size // 16) * 16 + 320 * (name in walked)
        for name, size in case.sizes.items()
        if name in {"m", "n", "k", "s"}
    }
    return replace(case, sizes=case.sizes | sizes)


def mi355x_line(seed, forms):
    """One kernel, compiled for gfx950 and executed from its machine code: its line of results.

    ``loops``: how many are pipelined; ``ran``: in how many of them the pipelined part has steps.
    """
    from tests.codegen_amdgcn.tile_cases import try_kernel

    from warploom.codegen.amdgcn.tile_ir.execute import ExecutionError
    from warploom.errors import WarploomError
    from warploom.ir.tile import Access, is_number

    start, found, loops, ran = time.time(), "right", 0, 0
    case, _ = drawn(seed, forms)
    aligned = seed % 3 != 0
    if aligned:
        case = long_and_aligned(case)
    try:
        names = [t.name for t in case.kernel.tensors if t.access is not Access.OUT]
        arrays = dict(zip(names, case.arrays(), strict=True))
        order = ("forward", "reverse", "random")[seed // 3 % 3]
        free = [v for v in case.kernel.vars if v.extent is None and not is_number(v)]
        small = {v.name: (64, 32, 16)[min(i, 1 + seed % 2)] for i, v in enumerate(free)}
        done = try_kernel(
            case.kernel, arrays, case.scalars, sizes=case.sizes, order=order, pipelined=True,
            padding=(16, 0)[seed % 2] if aligned else 3, extents=small if seed % 8 else None,
        )  # fmt: skip
        loops = len(done.program.schedules)
        for schedule in done.program.schedules:
            extents = done.program.plan.extents
            walked = [extents.get(v.name, 1) for v in case.kernel.vars if v.axis == schedule.axis]
            steps = case.sizes[schedule.axis] // min(walked)
            ran += aligned and steps > schedule.document.protocol.kernel_k_base
        wrong = done.wrong
        found = f"wrong: {wrong}"[:300] if wrong else "right"
    except ExecutionError as error:
        found = f"wrong: {error}"[:300]
    except WarploomError as error:
        found = "refused: " + str(error).partition("\n")[0]
    except Exception as error:
        found = f"raw {type(error).__name__}: {error}"[:300]
    seconds = round(time.time() - start, 2)
    made = {"seed": seed, "text": case.text, "found": found, "s": seconds}
    return made | {"loops": loops, "ran": ran}


def host(path, first, count, forms, seconds, line_of=host_line):
    """Kernels of some seeds; those that the file holds are left out."""
    from tests.frontend.random_kernels import FORMS

    began = time.time()
    lines = [json.loads(x) for x in path.read_text().splitlines()] if path.exists() else []
    done = {line["seed"] for line in lines}
    with path.open("a") as file:
        for seed in range(first, first + count):
            if seed in done or time.time() - began > seconds:
                continue
            line = line_of(seed, forms or FORMS)
            lines.append(line)
            file.write(json.dumps(line) + "\n")
            file.flush()
            if not line["found"].startswith(("right", "refused")):
                print(json.dumps(line), flush=True)
    for what, times in Counter(x["found"].partition(":")[0] for x in lines).most_common():
        print(f"{times:6} {what}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("build", "run", "apart", "host", "mi355x"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--forms", default="", help="of random kernels, e.g. product,softmax")
    parser.add_argument("--out", default="")
    parser.add_argument("--seconds", type=float, default=1e9, help="of host: stop after so many")
    args = parser.parse_args()
    forms = tuple(args.forms.split(",")) if args.forms else ()
    if args.mode == "build":
        return build(args.folder, args.count, args.seed, forms)
    if args.mode == "host":
        return host(args.folder, args.seed, args.count, forms, args.seconds)
    if args.mode == "mi355x":
        return host(args.folder, args.seed, args.count, forms, args.seconds, mi355x_line)
    if args.mode == "apart":
        return run_apart(args.folder, args.out)
    return run(args.folder, set(filter(None, args.only.split(","))), args.out)


if __name__ == "__main__":
    sys.exit(main())
