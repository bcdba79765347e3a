"""Kernels on the GPU at hand: their tensors, launches, results against NumPy, and the clock.

Torch is needed only here, and only where a GPU is.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

from warploom.cli.problem import Problem, distance, in_rows
from warploom.codegen.cuda.tile.stamps import COUNT, FIRST, NAME, read_words
from warploom.compiler import cuda_driver as driver
from warploom.compiler.compiled import Built
from warploom.errors import BackendError, WarploomError
from warploom.frontend import builtins as words
from warploom.ir.mbarrier_dialect import RolesDocument
from warploom.passes.kernel_config import KernelConfig
from warploom.runtime.attention import attention
from warploom.runtime.attention_grad import attention_backward
from warploom.runtime.direct import Direct
from warploom.runtime.kernel_calls import Calls
from warploom.runtime.tensors import torch_name
from warploom.runtime.tuning import rotated
from warploom.viz.measured import SCHEMA

Call = Callable[[], Any]
Tensors = Mapping[str, Any]


def library_for(name: str, tensors: Tensors, settings: Mapping[str, Any]) -> Call | None:
    """The library's call for a shipped kernel; None where there is none."""
    make = _KNOWN.get(name)
    return None if make is None else make(import_module("torch"), dict(tensors), dict(settings))


def whole_call(name: str, tensors: Tensors, settings: Mapping[str, Any]) -> Call | None:
    """Our public call that computes what the library's does, where one kernel is a part of it."""
    if name != "attention_grad":
        return None
    q, k, v, grad = (tensors[n] for n in ("q", "k", "v", "do"))
    given = {n: settings[n] for n in ("causal", "scale", "score", "visible")}
    given["causal"] = "lower_right" if given["causal"] == "end" else given["causal"]
    out, lse = attention(q, k, v, return_lse=True, **given)
    return lambda: attention_backward(grad, q, k, v, out, lse, **given)


def _gemm(torch: Any, x: dict[str, Any], given: dict[str, Any]) -> Call | None:  # noqa: ANN401
    a, b, alpha = x["a"], x["b"], given["alpha"]
    if given["activation"] is not None:
        return None
    if a.dtype == torch.float8_e4m3fn:
        one = torch.ones((), device=a.device)
        return lambda: torch._scaled_mm(a, b.T, one, one, out_dtype=torch.bfloat16)
    return (lambda: a @ b.T) if alpha == 1 else lambda: alpha * (a @ b.T)


def _attention(torch: Any, x: dict[str, Any], given: dict[str, Any]) -> Call | None:  # noqa: ANN401
    if given["score"] is not None or given["visible"] is not None or given["causal"] == "end":
        return None
    q, k, v = x["q"], x["k"], x["v"]
    shared = q.shape[1] != k.shape[1]
    attend = torch.nn.functional.scaled_dot_product_attention
    return lambda: attend(
        q, k, v, is_causal=bool(given["causal"]), scale=given["scale"], enable_gqa=shared
    )


def _packed(torch: Any, x: dict[str, Any], given: dict[str, Any]) -> Call | None:  # noqa: ANN401
    """One call a sequence."""
    if given["causal"] == "end":
        return None
    attend = torch.nn.functional.scaled_dot_product_attention
    qs, ks = x["q_starts"].tolist(), x["k_starts"].tolist()
    spans = [
        (slice(a, b), slice(c, d))
        for (a, b), (c, d) in zip(pairwise(qs), pairwise(ks), strict=True)
        if b > a and d > c
    ]
    parts = [(x["q"][None, :, s], x["k"][None, :, t], x["v"][None, :, t]) for s, t in spans]
    causal, scale = bool(given["causal"]), given["scale"]
    return lambda: [attend(*p, is_causal=causal, scale=scale) for p in parts]


def _attention_grad(torch: Any, x: dict[str, Any], given: dict[str, Any]) -> Call | None:  # noqa: ANN401
    """The whole backward pass of the forward call."""
    if given["causal"] == "end" or given["score"] is not None or given["visible"] is not None:
        return None
    leaves = [x[n].detach().requires_grad_() for n in "qkv"]
    attend = torch.nn.functional.scaled_dot_product_attention
    out = attend(*leaves, is_causal=bool(given["causal"]), scale=given["scale"])
    return lambda: torch.autograd.grad(out, leaves, x["do"], retain_graph=True)


def _swiglu(torch: Any, x: dict[str, Any], given: dict[str, Any]) -> Call | None:  # noqa: ANN401
    if given["activation"] is not words.silu:
        return None
    silu = torch.nn.functional.silu
    return lambda: silu(x["x"] @ x["gate"].T) * (x["x"] @ x["up"].T)


def _rms_gemm(torch: Any, x: dict[str, Any], given: dict[str, Any]) -> Call:  # noqa: ANN401
    norm, rows = torch.nn.functional.rms_norm, x["x"]
    return lambda: norm(rows, (rows.shape[-1],), eps=given["eps"]) @ x["w"].T


def _grouped(torch: Any, x: dict[str, Any], given: dict[str, Any]) -> Call:  # noqa: ANN401
    """One call for all groups where torch has it, else one a group."""
    rows, weights, starts = x["x"], x["w"], x["starts"]
    whole = getattr(torch, "_grouped_mm", None)
    if whole is not None:
        turned, ends = weights.transpose(1, 2), starts[1:].contiguous()
        return lambda: whole(rows, turned, offs=ends)
    bounds = starts.tolist()
    spans = list(pairwise(bounds))
    return lambda: [rows[a:b] @ weights[e].T for e, (a, b) in enumerate(spans)]


_KNOWN: dict[str, Callable[[Any, dict[str, Any], dict[str, Any]], Call | None]] = {
    "gemm": _gemm,
    "turned": _gemm,
    "attention": _attention,
    "packed": _packed,
    "attention_grad": _attention_grad,
    "swiglu": _swiglu,
    "rms_gemm": _rms_gemm,
    "grouped": _grouped,
}


SLICE_MS = 20.0  # of one turn of a contestant
BURST_MS, BURSTS = 1.5, 9
PAUSE = 4.0  # times as long as a burst
FAR = 2e-2  # relative difference of two configs' results that rounding does not explain


def why_no_gpu() -> str:
    """Empty where a Hopper GPU and torch are at hand; else what is missing, in words."""
    try:
        driver.library()
        driver.require_hopper(0)
    except WarploomError as error:
        return error.what
    try:
        torch = import_module("torch")
    except ImportError:
        return "torch is not installed, which makes the tensors (pip install torch)"
    return "" if torch.cuda.is_available() else "torch sees no GPU"


class Bound:
    """A problem with tensors on the GPU.

    A kernel is called as its users call it; a ``document``'s own programs are launched as they are.
    """

    def __init__(self, problem: Problem, document: RolesDocument | None = None) -> None:
        self.problem, self.document = problem, document
        self.torch: Any = import_module("torch")
        self.torch.manual_seed(0)
        signature = problem.kernel.tile_kernel.signature
        self.inputs = {
            t.name: self._made(t.name) for t in signature.inputs if t.name in problem.types
        }
        self.outputs = [t.name for t in signature.outputs if t.name in problem.types]

    def _made(self, name: str) -> Any:  # noqa: ANN401
        problem, torch = self.problem, self.torch
        dtype = problem.types[name]
        kind = getattr(torch, torch_name(dtype))
        if dtype.is_float:
            made = torch.randn(problem.shape(name), device="cuda").to(kind)
            return -made.abs() if name in problem.kernel.decays else made
        numbers = np.ascontiguousarray(problem.whole_number_input(name))
        return torch.from_numpy(numbers).to("cuda").to(kind)

    def empty(self) -> dict[str, Any]:
        """New outputs; those that are added to begin as zeros, blocks of rows are whole."""
        result = {}
        for name in self.outputs:
            kind = getattr(self.torch, torch_name(self.problem.types[name]))
            make = self.torch.zeros if name in self.problem.added else self.torch.empty
            shape = self.problem.shape(name)
            whole = make(self.problem.allocated(name), dtype=kind, device="cuda")
            result[name] = whole[..., : shape[-2], :] if name in self.problem.blocked else whole
        return result

    def launcher(self, outputs: Mapping[str, Any]) -> Callable[[], Any]:
        """What launches the kernel into these outputs."""
        problem = self.problem
        if self.document is not None:
            return self._direct(self._built_document(stamps=False), outputs)
        tile_kernel = problem.kernel.pinned
        given = {**self.inputs, **outputs, **problem.scalars, **problem.choices}
        return lambda: tile_kernel(**given)

    def race(self, theirs: Callable[[], Any] | None = None, rounds: int = 5) -> dict[str, float]:
        """Median milliseconds: the kernel's, and twice those of the library, or of ``theirs``."""
        name, problem = self.problem.kernel.tile_kernel.name, self.problem
        settings = {**problem.scalars, **problem.choices}
        theirs = theirs or library_for(name, self.inputs, settings)
        whole = whole_call(name, self.inputs, settings)
        found = {"library": theirs, "warploom": self.launcher(self.empty())}
        found |= {"whole call": whole, "library again": theirs}
        calls = {n: call for n, call in found.items() if call is not None}
        times = rotated(list(calls.values()), rounds=rounds, slice_ms=SLICE_MS)
        return dict(zip(calls, times, strict=True))

    def _built_document(self, *, stamps: bool) -> Built:
        kernel = self.problem.kernel
        if self.document is None:
            return kernel.compiled.build(kernel.config, stamps=stamps)
        return kernel.compiled.built_from(self.document, kernel.config, stamps=stamps)

    def _direct(self, built: Built, outputs: Mapping[str, Any]) -> Direct:
        tensors = {**self.inputs, **outputs}
        return Direct(self.problem.kernel.compiled, built, tensors, self.problem.scalars)

    def check(self) -> tuple[dict[str, float], bool]:
        """Relative errors by output against NumPy, and whether a second run gives the same bits."""
        first, again = self.empty(), self.empty()
        for outputs in (first, again):
            self.launcher(outputs)()
        self._wait()
        problem = self.problem
        part = problem.part(np.random.default_rng(1))
        arrays = {n: self._cut(n, x, part) for n, x in self.inputs.items()}
        errors = {
            name: distance(self._cut(name, first[name], part), right)
            for name, right in zip(self.outputs, problem.meaning(arrays), strict=True)
        }
        same = all(
            self.torch.equal(first[n], again[n]) for n in self.outputs if n not in problem.added
        )
        return errors, same

    def _wait(self) -> None:
        """Until the GPU is done; a kernel that died is an error of ours, reported as one."""
        try:
            self.torch.cuda.synchronize()
        except RuntimeError as error:
            text = self.problem.kernel.tile_kernel.name
            raise BackendError(
                f"the GPU stopped while it ran {text}: {str(error).splitlines()[0]}",
                where=self.problem.words,
                why="a defect of the kernel, or of what was launched before it",
                fix=f"`warploom run {text} --host` runs its programs without a GPU",
            ) from None

    def _cut(self, name: str, tensor: Any, part: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """A part of a tensor as an array; fp8 cannot be indexed, so it is converted first."""
        if name in self.problem.blocked:
            blocks = tensor.as_strided(self.problem.allocated(name), tensor.stride()).cpu().numpy()
            rows = in_rows(blocks)[..., : tensor.shape[-2], :]
            return self.problem.cut(name, rows, part)
        places = {a: self.torch.from_numpy(i).to(tensor.device) for a, i in part.items()}
        if tensor.dtype.is_floating_point:
            tensor = tensor.float()
        return self.problem.cut(name, tensor, places).cpu().numpy()

    def stamps(self) -> dict[str, Any]:
        """Clocks of the loop's entries, and how long the kernel takes with and without them."""
        outputs = self.empty()
        plain = self._direct(self._built_document(stamps=False), outputs)
        built = self._built_document(stamps=True)
        count = sum(r.words for r in built.source.stamps)
        words = self.torch.zeros(count, dtype=self.torch.int32, device="cuda")
        stamped = self._direct(built, outputs | {NAME: words})
        alone, with_clocks = rotated((plain, stamped))
        words.zero_()
        stamped()
        self.torch.cuda.synchronize()
        found = [int(w) % 2**32 for w in words.cpu().tolist()]
        kernel, roles = self.problem.kernel, read_words(built.source.stamps, found)
        if not roles:
            raise BackendError(
                f"no clocks were written for {self.problem.words}",
                why=f"the loop's iterations {FIRST} to {FIRST + COUNT} are stamped",
                fix="a longer loop: --shape",
            )
        return {
            "schema": SCHEMA,
            "name": self.document.name if self.document else kernel.name,
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "device": self.torch.cuda.get_device_name(),
            "problem": self.problem.words,
            "milliseconds": alone,
            "milliseconds_stamped": with_clocks,
            "spilled": built.cubin.report.spill_bytes,
            "roles": roles,
        }


class Tried(Bound):
    """A problem whose configs are measured: called with one, it gives milliseconds.

    Launches come in short bursts with pauses: under its power limit a board changes its clock, by
    more than programs differ, and a board that rests between bursts keeps its highest. So times are
    cycles. A config whose results differ from the first one's is refused.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.calls, self.timer = Calls(problem.kernel.tile_kernel), driver.Timer()
        given = {**self.inputs, **problem.scalars, **problem.choices}
        given |= dict.fromkeys(self.outputs, True)
        self.tensors, self.scalars, self.options, _ = self.calls.arguments((), given)
        self.expected: list[Any] | None = None

    def __call__(self, config: KernelConfig) -> float:
        """Median milliseconds."""
        pinned = (*self.options[:4], config.pins)
        report = self.calls.compiled(self.tensors, pinned).built.cubin.report
        if not report.kept:
            raise BackendError(f"{report.spill_bytes} bytes spilled{''.join(report.messages)}")

        def launch() -> Sequence[Any]:
            return self.calls.launch(self.tensors, self.scalars, pinned, None)

        self._check_results(launch())
        repeats = max(1, int(BURST_MS / max(self._burst(launch, 2), 1e-3)))
        return median(self._burst(launch, repeats) for _ in range(BURSTS))

    def _check_results(self, done: Sequence[Any]) -> None:
        out = [done[i].float() for i in self.calls.outputs if done[i] is not None]
        driver.synchronize()
        self.expected = self.expected or out
        for mine, first in zip(out, self.expected, strict=True):
            gap = float((mine - first).norm() / first.norm().clamp_min(1e-20))
            if not gap < FAR:
                raise BackendError(f"its result differs from the first config's by {gap:.2g}")

    def _burst(self, launch: Callable[[], Any], repeats: int) -> float:
        self.timer.mark(0, None)
        for _ in range(repeats):
            launch()
        self.timer.mark(1, None)
        took = self.timer.milliseconds()
        time.sleep(took * PAUSE / 1e3)
        return took / repeats
