"""Defective and harmless kernels on the device; the shipped texts under compute-sanitizer.

    WARPLOOM_CACHE=DIR/cache python bench/h200_mutants.py build DIR [TEXT ...]   needs nvcc, no GPU
    python bench/h200_mutants.py run DIR [TEXT ...]      every mutant in a process with a time limit
    python bench/h200_mutants.py once [TEXT ...]         one launch of each (for sanitizers)
    python bench/h200_mutants.py sanitize [TOOL ...]     memcheck, racecheck, synccheck of `once`

`build` edits the schedule of a text, asks the verifier, emits and compiles the edited program, and
writes cubins and `mutants.json`. `run` launches each in the place of the right kernel, three times,
and compares with NumPy: defective ones are expected wrong or hanging, harmless ones right. Not
every defect shows on a given device and day: a race needs bad luck.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from tests.texts.cases import TEXTS, TOLERANCE, Case

from warploom.kernels.attention_grad import attention_grad
from warploom.kernels.block_scaled import block_scaled

TEXTS.update({t.name: t for t in (attention_grad, block_scaled)})
BF16 = "bf16"


def _types(*names):
    return dict.fromkeys(names, BF16)


_FP8 = {"a": "e4m3", "b": "e4m3", "out": BF16}
CASES = {
    "gemm": Case(
        "gemm",
        {"m": 1500, "n": 3080, "k": 520},
        _types("a", "b", "out"),
        {"activation": "none"},
        scalars={"alpha": 0.75},
        pins={"m": 128, "n": 256},
    ),
    "attention": Case(
        "attention",
        {"b": 2, "h": 12, "g": 1, "s": 1000, "t": 700, "d": 64},
        _types("q", "k", "v", "out"),
        {"causal": False},
        scalars={"scale": 0.125},
        pins={"s": 128, "t": 128},
    ),
    "packed": Case(
        "packed",
        {"i": 3, "h": 16, "g": 1, "s": 1200, "t": 1000, "d": 64},
        _types("q", "k", "v", "out"),
        {"causal": True},
        scalars={"scale": 0.125},
        pins={"s": 128, "t": 128},
    ),
    "swiglu": Case(
        "swiglu",
        {"m": 1500, "n": 1600, "k": 392},
        _types("x", "gate", "up", "out"),
        pins={"m": 128, "n": 128},
    ),
    "rms_gemm": Case(
        "rms_gemm",
        {"m": 1500, "n": 3080, "k": 392},
        _types("x", "w", "out"),
        scalars={"eps": 1e-5},
        pins={"m": 128, "n": 256},
    ),
    "grouped": Case(
        "grouped",
        {"t": 1200, "n": 1600, "k": 192, "e": 3},
        _types("x", "w", "out"),
        pins={"t": 128, "n": 128},
    ),
    "block_scaled": Case(
        "block_scaled", {"m": 1500, "n": 1664, "k": 512}, _FP8, pins={"m": 128, "n": 128}
    ),
    "attention_grad": Case(
        "attention_grad",
        {"b": 2, "h": 16, "s": 640, "t": 600, "d": 64},
        _types("q", "k", "v", "do", "dk", "dv"),
        {"causal": False},
        scalars={"scale": 0.125},
    ),
}
WANTED = {
    "gemm": 12,
    "attention": 9,
    "packed": 3,
    "swiglu": 5,
    "rms_gemm": 5,
    "grouped": 5,
    "block_scaled": 5,
    "attention_grad": 4,
}
HARMLESS = 3  # every so many-th mutant is one the verifier calls clean
LIMIT = 5  # seconds of one mutant on the device
ABREAST = 10


# -- build ----------------------------------------------------------------------------------------


def build(folder, names):
    from warploom.emit.cuda.tile.source import emit_kernel
    from warploom.errors import WarploomError
    from warploom.launch.build import compile_source

    folder.mkdir(parents=True, exist_ok=True)
    index = folder / "mutants.json"
    rows = json.loads(index.read_text()) if index.exists() else []
    for name in names or CASES:
        rows = [r for r in rows if r["text"] != name]
        made = CASES[name].compiled
        built = made.built
        lowered = made.lower(built.tiling)
        print(name, built.tiling.name, "built", flush=True)
        for mutant, verdict, codes in chosen(lowered.document, WANTED[name]):
            try:
                source = emit_kernel(replace(lowered, document=mutant.document))
                if source.params != built.source.params:
                    continue  # launched with other arguments: it cannot stand in for the right one
                cubin = compile_source(source.text, name=f"{name} mutant", judged=False)
            except WarploomError as error:
                print("  refused:", mutant.operator, mutant.where, error.what, flush=True)
                continue
            file = f"{name}_{len(rows)}.cubin"
            (folder / file).write_bytes(cubin.data)
            rows.append(
                {
                    "text": name,
                    "file": file,
                    "operator": mutant.operator,
                    "where": mutant.where,
                    "verdict": verdict,
                    "codes": codes,
                    "ptxas": list(cubin.report.messages),
                }
            )
            print("  ", rows[-1]["operator"], mutant.where, verdict, codes, flush=True)
            index.write_text(json.dumps(rows, indent=1) + "\n")


def chosen(document, wanted):
    """Mutants the back end can express, of as many operators as there are; (mutant, verdict)."""
    from tests.mutation.flow_mutants import flow_mutants
    from tests.mutation.role_mutants import role_mutants

    from warploom.verify.roles import verify_roles

    by_operator = {}
    for mutant in (*role_mutants(document), *flow_mutants(document)):
        same = mutant.document.rings == document.rings
        if same and mutant.document.barriers == document.barriers:
            by_operator.setdefault(mutant.operator, []).append(mutant)
    drawn = random.Random(7)
    operators = list(by_operator.values())
    drawn.shuffle(operators)
    for mutants in operators:
        drawn.shuffle(mutants)
    order = [m for turn in zip_longest(*operators) for m in turn if m]
    kinds = {"race": wanted - wanted // HARMLESS, "clean": wanted // HARMLESS}
    for mutant in order:
        report = verify_roles(mutant.document)
        kind = "clean" if report.clean else "race"
        if kinds[kind]:
            kinds[kind] -= 1
            yield mutant, report.verdict, sorted(str(c) for c in report.codes())
        if not any(kinds.values()):
            return


# -- on the device --------------------------------------------------------------------------------


def inputs(torch, case):
    kinds = {
        "bf16": torch.bfloat16,
        "f32": torch.float32,
        "e4m3": torch.float8_e4m3fn,
        "i32": torch.int32,
    }
    arrays = case.arrays()
    types = {
        t.name: case.types.get(t.name) or t.dtype or "f32"
        for t in case.kernel_text.signature.tensors
    }
    types = {n: getattr(k, "value", k) for n, k in types.items()}
    given = {
        n: torch.from_numpy(np.ascontiguousarray(x)).to("cuda").to(kinds[types[n]])
        for n, x in arrays.items()
    }
    return arrays, given, types


def launch(torch, case, given, types):
    text = case.kernel_text
    outs = {t.name: types[t.name] for t in text.signature.outputs if t.name not in case.left_out}
    more = {}
    if case.text == "attention_grad":  # it adds to what is there
        more["dq"] = torch.zeros(given["q"].shape, dtype=torch.float32, device="cuda")
    made = text(**given, **more, **case.constants, **case.scalars, types=outs)
    torch.cuda.synchronize()
    made = made if isinstance(made, tuple) else (made,)
    return [x.float().cpu().numpy().astype(np.float64) for x in made]


def off(found, wanted):
    """The worst error, in units of the largest value."""
    worst = 0.0
    for mine, right in zip(found, wanted, strict=True):
        hidden = ~np.isfinite(right)
        if not np.array_equal(mine[hidden], right[hidden]) or not np.isfinite(mine[~hidden]).all():
            return float("inf")
        size = max(1.0, np.abs(right[~hidden]).max(initial=0.0))
        worst = max(worst, float(np.abs(mine - right)[~hidden].max(initial=0.0) / size))
    return worst


def one(torch, name, wanted, cubin=None):
    """'right', 'wrong' or the error of three launches of a text, perhaps with another cubin."""
    from warploom.launch import compiled

    case = CASES[name]
    if cubin is not None:
        plain = compiled.compile_source
        compiled.compile_source = lambda *a, **k: replace(plain(*a, **k), data=cubin)
    _, given, types = inputs(torch, case)
    errors = [off(launch(torch, case, given, types), wanted) for _ in range(3)]
    tolerance = TOLERANCE[BF16] * (2 if name == "attention_grad" else 1)
    bad = [e for e in errors if not e <= tolerance]
    return f"wrong in {len(bad)} of 3 ({max(errors):.2g})" if bad else "right"


def child(torch, name, wanted, cubin, out):
    """A process for one mutant, forked before any GPU is touched."""
    pid = os.fork()
    if pid:
        return pid
    try:
        said = one(torch, name, wanted, cubin)
    except BaseException as error:  # whatever it was is the result
        said = f"{type(error).__name__}: {str(error).splitlines()[0][:90]}"
    out.write_text(said)
    os._exit(0)


def run(folder, more=()):
    import torch

    rows = json.loads((folder / "mutants.json").read_text())
    target = Path(os.environ.get("OUT", folder))
    target.mkdir(exist_ok=True, parents=True)
    names = dict.fromkeys([*more, *(r["text"] for r in rows)])
    wanted = {n: CASES[n].reference(CASES[n].arrays()) for n in names}
    plain = [
        {
            "text": n,
            "file": "",
            "operator": "unchanged",
            "where": "",
            "verdict": "clean",
            "codes": [],
        }
        for n in names
    ]
    todo, running = [*plain, *rows], {}
    results = []
    while todo or running:
        while todo and len(running) < ABREAST:
            row = todo.pop(0)
            cubin = (folder / row["file"]).read_bytes() if row["file"] else None
            out = target / f"said_{len(todo)}.txt"
            out.unlink(missing_ok=True)
            pid = child(torch, row["text"], wanted[row["text"]], cubin, out)
            running[pid] = (row, out, time.time())
        time.sleep(0.05)
        for pid, (row, out, start) in list(running.items()):
            done, _ = os.waitpid(pid, os.WNOHANG)
            if not done and time.time() - start > LIMIT:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                done, said = pid, f"hangs (killed after {LIMIT} s)"
            elif done:
                said = out.read_text() if out.exists() else "the process died"
            if done:
                out.unlink(missing_ok=True)
                del running[pid]
                results.append(row | {"device": said})
                print(
                    row["text"],
                    row["operator"],
                    row["where"],
                    row["verdict"],
                    "->",
                    said,
                    flush=True,
                )
                (target / "h200_mutants.json").write_text(json.dumps(results, indent=1) + "\n")
                (target / "h200_mutants.md").write_text(page(results))


def page(results):
    """The results as a table."""
    lines = [
        "# Defective and harmless kernels on the H200",
        "",
        f"Made by `bench/h200_mutants.py` on {datetime.now(UTC):%Y-%m-%d}. Each runs 3 times in "
        f"a process of its own, killed after {LIMIT} s, in the place of the right kernel.",
        "",
        "| text | edit | where | verdict | on the device |",
        "|---|---|---|---|---|",
    ]
    for r in results:
        lines.append(
            f"| {r['text']} | {r['operator']} | {r['where']} | {r['verdict']} | {r['device']} |"
        )
    wrong = [r for r in results if r["verdict"] == "race"]
    shown = [r for r in wrong if r["device"] != "right"]
    right = [r for r in results if r["verdict"] == "clean"]
    good = [r for r in right if r["device"] == "right"]
    lines += ["", f"{len(shown)} of {len(wrong)} defective ones show; {len(good)} of {len(right)} "]
    lines[-1] += "harmless and unchanged ones are right."
    return "\n".join([*lines, ""])


def once(names):
    import torch

    for name in names or CASES:
        case = CASES[name]
        try:
            print(name, one(torch, name, case.reference(case.arrays())), flush=True)
        except Exception as error:  # the others are still of interest
            print(name, type(error).__name__, str(error).splitlines()[0][:150], flush=True)


def sanitize(tools, seconds=50):
    """What each tool says of `once`; one that takes longer is stopped and shown so far."""
    me = [sys.executable, __file__, "once"]
    folder = Path(os.environ.get("OUT", "."))
    running = {}
    for tool in tools or ("memcheck", "racecheck", "synccheck"):
        out = (folder / f"sanitizer_{tool}.txt").open("w+")
        options = ["--tool", tool, "--report-api-errors", "no", "--print-limit", "8"]
        command = ["compute-sanitizer", *options, *me]
        running[tool] = (out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT))
    until = time.time() + seconds
    for tool, (out, process) in running.items():
        try:
            process.wait(max(0.1, until - time.time()))
        except subprocess.TimeoutExpired:
            process.kill()
        out.seek(0)
        print(f"-- {tool}", *out.read().splitlines()[-25:], sep="\n", flush=True)


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "build":
        build(Path(rest[0]), rest[1:])
    elif what == "run":
        run(Path(rest[0]), rest[1:])
    elif what == "once":
        once(rest)
    else:
        sanitize(rest)
