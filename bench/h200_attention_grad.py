"""Attention backward on the H200, from its text, against cuDNN's through torch.

``build DIR`` lowers, verifies and compiles the kernels (any machine with nvcc), ``run DIR`` checks
them against float64 and times them (an H200). ``--quick`` runs in less than two minutes.

    python bench/h200_attention_grad.py build .trial/grad
    python bench/h200_attention_grad.py run .trial/grad --quick
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import json
import math
import pathlib
import subprocess
import sys
import time

SMS = 132
KINDS = {"bf16": 9, "f16": 6, "f32": 7}
BYTES = {"bf16": 2, "f16": 2, "f32": 4}
NVCC = [
    "nvcc",
    "-std=c++17",
    "-O3",
    "-cubin",
    "-gencode=arch=compute_90a,code=sm_90a",
    "-Xptxas",
    "-v",
]
LEAN = {"joined": True, "shared": True, "cleared": True}
TIGHT = LEAN | {"spare": 48}
VARIANTS = {  # name: head size, queries, keys, causal, further choices of the tiling
    "d64": (64, 64, 128, False, LEAN),
    "d64_causal": (64, 64, 128, True, LEAN),
    "d64_wide": (64, 128, 128, False, TIGHT),
    "d128": (128, 64, 128, False, TIGHT),
    "d128_causal": (128, 64, 128, True, TIGHT),
}


def build(folder, names):
    """Cubins and what a launch must know, one pair of files for each variant."""
    from warploom.emit.cuda.tile.source import emit_kernel
    from warploom.kernel.simplify import simplify
    from warploom.kernel.values import DType
    from warploom.kernels.attention_grad import attention_grad
    from warploom.lower.column import lower
    from warploom.lower.rewrite import rewrite
    from warploom.lower.tiling import tiling_of
    from warploom.order import ModuloOptions
    from warploom.order.model import Goal
    from warploom.verify.roles import verify_roles

    folder.mkdir(parents=True, exist_ok=True)
    half = dict.fromkeys(("q", "k", "v", "do", "dk", "dv"), DType.BF16)
    for name in names or VARIANTS:
        size, queries, keys, causal, choices = VARIANTS[name]
        started = time.time()
        kernel = attention_grad.specialise(half, sizes={"d": size}, constants={"causal": causal})
        kernel = rewrite(simplify(kernel), positive=frozenset({"scale"}))
        tiling = tiling_of(kernel, consumers=2, s=queries, t=keys)
        tiling = dataclasses.replace(tiling, hold=False, **choices)
        options = ModuloOptions(
            goals=(Goal.REGISTERS, Goal.LENGTH),
            find_work=4,
            prove_work=1,
            optimise_work=2,
            seconds=80.0,
        )
        lowered = lower(kernel, tiling, options=options)
        source = emit_kernel(lowered)
        (folder / f"{name}.cu").write_text(source.text)
        done = subprocess.run(
            [*NVCC, "-o", str(folder / f"{name}.cubin"), str(folder / f"{name}.cu")],
            capture_output=True,
            text=True,
            check=False,
        )
        said = [x.strip() for x in done.stderr.splitlines() if "spill" in x or "C75" in x]
        report = verify_roles(lowered.document)
        print(
            name,
            f"interval {lowered.result.ii}",
            "clean" if report.clean else str(report),
            f"nvcc {done.returncode}",
            *said,
            f"{time.time() - started:.0f} s",
            flush=True,
        )
        if done.returncode:
            sys.exit(done.stderr)
        (folder / f"{name}.json").write_text(json.dumps(_spec(kernel, tiling, source, causal)))


def build_ends(folder):
    """The small kernels before and after the main one."""
    from warploom.emit.cuda.tile.plain import emit_plain
    from warploom.kernel.simplify import simplify
    from warploom.kernel.values import DType
    from warploom.kernels.attention_grad_ends import converted, row_products

    folder.mkdir(parents=True, exist_ok=True)
    half = DType.BF16
    for size in (64, 128):
        for name, text, types in (
            ("delta", row_products, {"x": half, "y": half}),
            ("convert", converted, {"out": half}),
        ):
            kernel = simplify(text.specialise(types, sizes={"d": size}))
            source = emit_plain(kernel)
            path = folder / f"{name}{size}.end.cu"
            path.write_text(source.text)
            to = ["-o", str(path.with_suffix(".cubin")), str(path)]
            subprocess.run([*NVCC, *to], check=True, capture_output=True)
            spec = _spec(kernel, None, source, causal=False)
            path.with_suffix(".json").write_text(json.dumps(spec))


def _spec(kernel, tiling, source, causal):
    params = []
    for p in source.params:
        fields = {f.name: getattr(p, f.name) for f in dataclasses.fields(p)}
        params.append({"kind": type(p).__name__} | {k: _plain(v) for k, v in fields.items()})
    return {
        "params": params,
        "entry": source.entry,
        "threads": source.threads,
        "shared": source.shared_bytes,
        "grid": [(kernel.var(v).axis, tiling.extent(v)) for v in kernel.grid.vars]
        if tiling
        else [],
        "axes": {t.name: [a.name for a in t.axes] for t in kernel.tensors},
        "size": kernel.var("d").extent,
        "causal": causal,
    }


def _plain(value):
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, bool | int) else str(value)


class Launch:
    """A built kernel; ``prepare`` gives a call without arguments."""

    def __init__(self, folder, name):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.folder = folder
        self.spec = json.loads((folder / f"{name}.json").read_text())
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        cubin = (folder / f"{name}.cubin").read_bytes()
        self._check(self.cuda.cuModuleLoadData(ctypes.byref(module), cubin))
        entry = self.spec["entry"].encode()
        self._check(self.cuda.cuModuleGetFunction(ctypes.byref(self.function), module, entry))
        if self.spec["shared"]:
            self._check(self.cuda.cuFuncSetAttribute(self.function, 8, self.spec["shared"]))

    def _check(self, code):
        if code:
            raise RuntimeError(f"CUDA driver error {code}")

    def map_of(self, tensor, param):
        """A tensor map in aligned host memory."""
        held = ctypes.create_string_buffer(192)
        address = (ctypes.addressof(held) + 63) // 64 * 64
        size, rank = BYTES[param["dtype"]], tensor.dim()
        strides = [n * size for n in tensor.stride()[:-1]]
        code = self.cuda.cuTensorMapEncodeTiled(
            ctypes.c_void_p(address),
            ctypes.c_int(KINDS[param["dtype"]]),
            ctypes.c_uint32(rank),
            ctypes.c_void_p(tensor.data_ptr()),
            (ctypes.c_uint64 * rank)(*reversed(tensor.shape)),
            (ctypes.c_uint64 * (rank - 1))(*reversed(strides)),
            (ctypes.c_uint32 * rank)(*reversed(param["box"])),
            (ctypes.c_uint32 * rank)(*[1] * rank),
            ctypes.c_int(0),
            ctypes.c_int(0 if param["plain"] else 3),
            ctypes.c_int(2),
            ctypes.c_int(0),
        )
        self._check(code)
        return held, address

    def prepare(self, tensors, scalars):
        """A call that launches on torch's current stream."""
        import torch

        sizes = {}
        for name, tensor in tensors.items():
            sizes |= dict(zip(self.spec["axes"][name], tensor.shape, strict=True))
        held, places = [], []
        for p in self.spec["params"]:
            kind = p["kind"]
            if kind == "MapParam":
                owner, address = self.map_of(tensors[p["tensor"]], p)
                held.append(owner)
                places.append(address)
                continue
            if kind == "PointerParam":
                value = ctypes.c_void_p(tensors[p["tensor"]].data_ptr())
            elif kind == "StrideParam":
                value = ctypes.c_longlong(tensors[p["tensor"]].stride(int(p["axis"])))
            elif kind == "SizeParam":
                value = ctypes.c_int(sizes[p["axis"]])
            else:
                value = ctypes.c_float(scalars[p["parameter"]])
            held.append(value)
            places.append(ctypes.addressof(value))
        arguments = (ctypes.c_void_p * len(places))(*places)
        tiles = math.prod(-(-sizes[axis] // extent) for axis, extent in self.spec["grid"])
        grid, threads, shared = min(SMS, tiles), self.spec["threads"], self.spec["shared"]
        if not self.spec["grid"]:
            grid = 8 * SMS

        def call(owners=(held, tensors)):
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            sizes_of = (grid, 1, 1, threads, 1, 1, shared)
            self._check(self.cuda.cuLaunchKernel(self.function, *sizes_of, stream, arguments, None))

        return call


def inputs(case, causal, seed=0):
    """Inputs of one case with cuDNN's own result and log-sum-exp."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    torch.manual_seed(seed)
    batch, heads, length, size = case
    made = [torch.randn(batch, heads, length, size, device="cuda").bfloat16() for _ in range(4)]
    q, k, v, do = made
    for x in (q, k, v):
        x.requires_grad_()
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        out = scaled_dot_product_attention(q, k, v, is_causal=causal)
    found = torch.ops.aten._scaled_dot_product_cudnn_attention(
        q, k, v, None, True, 0.0, causal, False
    )
    lse = found[1].reshape(batch, heads, length).contiguous().float()

    def library():
        return torch.autograd.grad(out, (q, k, v), do, retain_graph=True)

    return q, k, v, do, out, lse, library


def ours(launch, made):
    """Calls: the main kernel alone, and the whole backward pass with what surrounds it."""
    import torch

    q, k, v, do, out, lse, _ = made
    scale = q.shape[-1] ** -0.5
    dq = torch.zeros(q.shape, device="cuda")
    dk, dv = (torch.empty(x.shape, **_half(x)) for x in (k, v))
    delta = (do.float() * out.detach().float()).sum(-1)
    tensors = {"q": q.detach(), "k": k.detach(), "v": v.detach(), "do": do, "lse": lse}
    tensors |= {"delta": delta, "dq": dq, "dk": dk, "dv": dv}
    main = launch.prepare(tensors, {"scale": scale})

    def cleared():
        dq.zero_()
        main()

    size = q.shape[-1]
    before, after = (Launch(launch.folder, f"{n}{size}.end") for n in ("delta", "convert"))
    rows, result = out.detach().contiguous().view(-1, size), torch.empty(q.shape, **_half(q))
    first = before.prepare({"x": do.view(-1, size), "y": rows, "out": delta.view(-1)}, {})
    shown = {"x": dq.view(-1, size), "out": result.view(-1, size)}
    last = after.prepare(shown, {"scale": scale})

    def whole():
        first()
        dq.zero_()
        main()
        last()
        return result, dk, dv

    return main, cleared, whole


def _half(like):
    return {"device": like.device, "dtype": like.dtype}


def error(found, wanted):
    """Relative error in the 2-norm."""
    return ((found.double() - wanted).norm() / wanted.norm()).item()


def exact(made, causal):
    """Gradients in float64."""
    import torch

    q, k, v, do = (x.detach().double().requires_grad_() for x in made[:4])
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        length = q.shape[-2]
        hidden = torch.ones(length, length, device="cuda", dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
    out = scores.softmax(-1) @ v
    return torch.autograd.grad(out, (q, k, v), do.detach())


def check(folder, names):
    """Errors against float64, ours and cuDNN's, at whole and odd lengths."""
    import torch

    for name in names:
        launch = Launch(folder, name)
        size, causal = launch.spec["size"], launch.spec["causal"]
        for length in (64, 128, 192, 512, 1000, 1024, 2052):
            made = inputs((2, 3, length, size), causal)
            wanted = exact(made, causal)
            library = made[-1]()
            _, _, whole = ours(launch, made)
            found = [x.clone() for x in whole()]
            torch.cuda.synchronize()
            again = [x.clone() for x in whole()]
            torch.cuda.synchronize()
            same = all(torch.equal(a, b) for a, b in zip(found[1:], again[1:], strict=True))
            text = "  ".join(
                f"{part} {error(f, w):.2e} ({error(g, w):.2e})"
                for part, f, g, w in zip(("dq", "dk", "dv"), found, library, wanted, strict=True)
            )
            print(f"{name} S={length}: {text}  dk, dv again the same: {same}", flush=True)


def clock(calls, seconds):
    """Median milliseconds of each, in turns."""
    import torch

    times = {n: [] for n in calls}
    repeats = {}

    def once(call, n):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(n):
            call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / n

    for n, call in calls.items():
        once(call, 2)
        repeats[n] = max(2, int(seconds * 1000 / once(call, 2)))
    for r in range(3):
        names = list(calls)
        for n in names[r % len(names) :] + names[: r % len(names)]:
            once(calls[n], repeats[n])
            times[n].append(once(calls[n], repeats[n]))
    return {n: sorted(t)[len(t) // 2] for n, t in times.items()}


def speed(folder, names, *, quick):
    """TFLOPS of the main kernel, of the whole pass, and of cuDNN."""
    for name in names:
        launch = Launch(folder, name)
        size, causal = launch.spec["size"], launch.spec["causal"]
        lengths = (4096,) if quick else (4096, 8192, 16384)
        for length in lengths:
            case = (16384 // length, 32, length, size)
            made = inputs(case, causal)
            main, cleared, whole = ours(launch, made)
            calls = {"main": main, "with zeros": cleared, "whole": whole, "cudnn": made[-1]}
            took = clock(calls, 0.1 if quick else 0.3)
            work = 10 * case[0] * case[1] * length**2 * size / (2 if causal else 1)
            text = "  ".join(
                f"{n} {work / t / 1e9:.0f} ({took['cudnn'] / t:.3f})" for n, t in took.items()
            )
            print(f"{name} {case}: {text}", flush=True)


def main():
    """The commands."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("build", "run", "check", "speed"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.command == "build":
        build_ends(given.folder)
        if given.names != ["ends"]:
            build(given.folder, given.names)
        return
    every = sorted(p.stem for p in given.folder.glob("*.cubin"))
    names = given.names or [n for n in every if not n.endswith(".end")]
    import torch

    torch.zeros(1, device="cuda")
    if given.command in ("run", "check"):
        check(given.folder, names)
    if given.command in ("run", "speed"):
        speed(given.folder, names, quick=given.quick)


if __name__ == "__main__":
    main()
