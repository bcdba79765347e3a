"""Defective and harmless kernels on the device; the shipped kernels under compute-sanitizer.

    WARPLOOM_CACHE=DIR/cache python bench/h200_mutants.py build DIR [TEXT ...]   needs nvcc, no GPU
    python bench/h200_mutants.py exchanges DIR [TEXT ...]  `build`, of edits of how CTAs meet alone
    python bench/h200_mutants.py run DIR [TEXT ...]      every mutant in a process with a time limit
    python bench/h200_mutants.py once [TEXT ...]         one launch of each (for sanitizers)
    python bench/h200_mutants.py sanitize [TOOL ...]     memcheck, racecheck, synccheck of `once`

`build` edits the schedule of a kernel, asks the verifier, emits and compiles the program, and
writes cubins and `mutants.json`. `run` launches each in the place of the right kernel, three times,
and compares with NumPy: defective ones are expected wrong or hanging, harmless ones right; sums in
turn must have the same bits each time. Not every defect shows on a given device and day: a race
needs bad luck.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from lib.mutant_cases import CASES, sized
from tests.kernels.cases import TOLERANCE
from tests.mutation.exchange_mutants import exchange_mutants
from tests.mutation.flow_mutants import flow_mutants
from tests.mutation.role_mutants import role_mutants

from warploom.kernels.attention_grad_ends import converted
from warploom.verify.roles import verify_roles

BF16 = "bf16"
SAMPLED = ("gemm", "attention", "attention_grad", "block_scaled", "grouped", "scan", "int4_gemm")
EXCHANGED = ("split_gemm", "decode", "turns")
DEFECTIVE, HARMLESS = 5, 2  # mutants of a kernel
SEED = 11
TOOLS = ("memcheck", "racecheck", "synccheck")
SHAPES = [
    f"{name}@m={m},n={n},k={k}"
    for name in ("block_scaled", "block_scaled_turns")
    for m, n, k in (
        *((1, 128, 128), (7, 256, 256), (64, 128, 1024), (129, 384, 384), (260, 640, 128)),
        *((1000, 1152, 1280), (77, 4096, 256), (2100, 128, 512)),
    )
]
LIMIT = 5  # seconds of one mutant on the device
ABREAST = 10


# -- build ----------------------------------------------------------------------------------------


def build(folder, names, edits=(role_mutants, flow_mutants), each=(DEFECTIVE, HARMLESS)):
    from warploom.compiler.emit_cuda import emit_kernel
    from warploom.errors import WarploomError

    folder.mkdir(parents=True, exist_ok=True)
    index = folder / "mutants.json"
    rows = json.loads(index.read_text()) if index.exists() else []
    for name in names or SAMPLED:
        rows = [r for r in rows if r["text"] != name]
        made = CASES[name].compiled
        built = made.built
        lowered = made.lower(built.config)
        print(name, built.config.name, "built", flush=True)
        left = dict(zip(("race", "clean"), each, strict=True))
        for mutant in drawn(lowered.document, edits):
            report = verify_roles(mutant.document)
            kind = "clean" if report.clean else "race"
            if not left[kind]:
                continue
            try:
                source = emit_kernel(replace(lowered, document=mutant.document))
            except WarploomError as error:
                print("  refused:", mutant.operator, mutant.where, error.what, flush=True)
                continue
            if source.params != built.source.params:
                continue  # launched with other arguments: it cannot stand in for the right one
            left[kind] -= 1
            for luck, text in (("usual", source.text), ("bad", unlucky(source.text))):
                file = f"{name}_{len(rows)}"
                (folder / f"{file}.cu").write_text(text)
                rows.append(
                    {
                        "text": name,
                        "file": file,
                        "luck": luck,
                        "operator": mutant.operator,
                        "where": mutant.where,
                        "verdict": report.verdict,
                        "codes": sorted(str(c) for c in report.codes()),
                    }
                )
            print("  ", mutant.operator, mutant.where, report.verdict, flush=True)
            index.write_text(json.dumps(rows, indent=1) + "\n")
            if not any(left.values()):
                break


def drawn(document, edits):
    """Mutants with the same barriers, the operators in turn."""
    by_operator = {}
    for mutant in (m for edit in edits for m in edit(document)):
        same = mutant.document.rings == document.rings
        if same and mutant.document.barriers == document.barriers:
            by_operator.setdefault(mutant.operator, []).append(mutant)
    luck = random.Random(SEED)
    operators = list(by_operator.values())
    luck.shuffle(operators)
    for mutants in operators:
        luck.shuffle(mutants)
    return [m for turn in zip_longest(*operators) for m in turn if m]


BAD_LUCK = """
__device__ __forceinline__ void bad_luck(unsigned place) {
  unsigned now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
  unsigned drawn = (now / 32 + place * 97 + threadIdx.x / 32 * 57 + blockIdx.x * 7) * 2654435761u;
  if (drawn >> 29 == 0) __nanosleep(drawn >> 16 & 4095);
}
"""
SLOW = (
    "__stcg(",
    "__threadfence(",
    "add_relaxed(",
    "fence_gpu(",
    "mbar_wait(",
    "mbar_arrive(",
    "mbar_expect(",
    "tma_load",
    "bulk_",
    "tma_store",
    "named_",
)


def unlucky(text):
    """The same kernel with pauses drawn at random before waits, arrivals and copies."""
    head, start, body = text.partition('extern "C" __global__')
    lines = []
    for i, line in enumerate(body.splitlines()):
        code = line.lstrip()
        if code.removeprefix("if (lane == 0) ").startswith(SLOW):
            lines.append(line[: len(line) - len(code)] + f"bad_luck({i});")
        lines.append(line)
    return head + BAD_LUCK + start + "\n".join(lines) + "\n"


def compiled_at(path):
    """Compile one source; what it took, or what went wrong."""
    from warploom.compiler.cubin import compile_source
    from warploom.errors import WarploomError

    try:
        cubin = compile_source(path.read_text(), name=path.name, checked=False)
    except WarploomError as error:
        return f"{path.name}: {error.what}"
    path.with_suffix(".cubin").write_bytes(cubin.data)
    return f"{path.name}: {cubin.report.registers} registers {' '.join(cubin.report.messages)[:80]}"


def compile_all(folder, jobs=8):
    with ProcessPoolExecutor(jobs) as pool:
        for said in pool.map(compiled_at, sorted(folder.glob("*.cu"))):
            print(said, flush=True)


# -- on the device --------------------------------------------------------------------------------


def inputs(torch, case):
    kinds = {
        "bf16": torch.bfloat16,
        "f32": torch.float32,
        "e4m3": torch.float8_e4m3fn,
        "i8": torch.int8,
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
    wanted = [t for t in text.signature.outputs if t.name not in case.left_out]
    outs = {t.name: types[t.name] for t in wanted}
    more = {t.name: True for t in wanted if t.optional}
    if "dq" in outs and types["dq"] == "f32":  # it is added to
        more["dq"] = torch.zeros(given["q"].shape, dtype=torch.float32, device="cuda")
        del outs["dq"]
    if case.text == "grouped_scattered":  # so is its result
        shape = case.sizes["s"], case.sizes["n"]
        more["out"] = torch.zeros(shape, dtype=torch.float32, device="cuda")
        del outs["out"]
    if "turns" in case.optional:
        given = {n: x for n, x in given.items() if n != "turns"}
        more["turns"] = torch.zeros(given["q"].shape[:3], dtype=torch.float32, device="cuda")
    made = text(**given, **more, **case.constants, **case.scalars, types=outs)
    made = made if isinstance(made, tuple) else (made,)
    made = [
        converted(x=x, scale=1.0, types={"out": BF16}) if t.blocked else x
        for t, x in zip(wanted, made, strict=True)
    ]
    torch.cuda.synchronize()
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
    """'right', 'wrong' or the error of three launches of a kernel, perhaps with another cubin."""
    from warploom.compiler import compiled

    case = CASES[name]
    if cubin is not None:
        plain = compiled.compile_source

        def other(*args, name, **more):
            built = plain(*args, name=name, **more)
            return replace(built, data=cubin) if name.startswith(f"{case.text} ") else built

        compiled.compile_source = other
    _, given, types = inputs(torch, case)
    found = [launch(torch, case, given, types) for _ in range(3)]
    errors = [off(x, wanted) for x in found]
    tolerance = TOLERANCE[BF16] * (2 if "grad" in name else 1)
    bad = [e for e in errors if not e <= tolerance]
    if bad:
        return f"wrong in {len(bad)} of 3 ({max(errors):.2g})"
    same = all(np.array_equal(a, b) for x in found[1:] for a, b in zip(x, found[0], strict=True))
    return "right" if same or "turns" not in case.optional else "other bits in another launch"


def reference(name):
    case = CASES[name]
    return case.reference(case.arrays())


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
    with ProcessPoolExecutor(8) as pool:  # before any GPU is touched
        wanted = dict(zip(names, pool.map(reference, names), strict=True))
    plain = [
        {
            "text": n,
            "file": "",
            "luck": "usual",
            "operator": "unchanged",
            "where": "",
            "verdict": "clean",
            "codes": [],
        }
        for n in wanted
    ]
    rows = [r for r in rows if (folder / f"{r['file']}.cubin").exists()]
    todo, running = [*plain, *rows], {}
    results = []
    while todo or running:
        while todo and len(running) < ABREAST:
            row = todo.pop(0)
            cubin = (folder / f"{row['file']}.cubin").read_bytes() if row["file"] else None
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
                    row["luck"],
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
        "| text | edit | where | verdict | luck | on the device |",
        "|---|---|---|---|---|---|",
    ]
    for r in results:
        lines.append(
            f"| {r['text']} | {r['operator']} | {r['where']} | {r['verdict']} "
            f"| {r['luck']} | {r['device']} |"
        )
    wrong = [r for r in results if r["verdict"] == "race"]
    shown = [r for r in wrong if r["device"] != "right"]
    right = [r for r in results if r["verdict"] == "clean"]
    good = [r for r in right if r["device"] == "right"]
    lines += ["", f"{len(shown)} of {len(wrong)} defective ones show; {len(good)} of {len(right)} "]
    lines[-1] += "harmless and unchanged ones are right."
    return "\n".join([*lines, ""])


def once(names):
    """One launch of each, where sanitizers look on; ``NAME@m=77,n=256``: with other sizes."""
    import torch

    for name in names or CASES:
        case = sized(name)
        try:
            _, given, types = inputs(torch, case)
            launch(torch, case, given, types)
            print("ran", name, flush=True)
        except Exception as error:  # the others are still of interest
            print(name, type(error).__name__, str(error).splitlines()[0][:150], flush=True)


def sanitize(tools, seconds=80, shares=3):
    """What each tool says of `once`; one that takes longer is stopped and shown so far."""
    folder = Path(os.environ.get("OUT", "."))
    names = [*reversed(CASES), *SHAPES]
    parts = [(tool, i) for tool in tools or TOOLS for i in range(shares)]
    running = []
    for tool, i in parts:
        out = (folder / f"sanitizer_{tool}_{i}.txt").open("w+")
        options = ["--tool", tool, "--report-api-errors", "no", "--print-limit", "8"]
        me = [sys.executable, __file__, "once", *names[i::shares]]
        command = ["compute-sanitizer", *options, *me]
        running.append((tool, out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)))
    until = time.time() + seconds
    for tool, out, process in running:
        try:
            process.wait(max(0.1, until - time.time()))
        except subprocess.TimeoutExpired:
            process.kill()
        out.seek(0)
        lines = out.read().splitlines()
        ran = [x.split()[1] for x in lines if x.startswith("ran ")]
        print(f"-- {tool}: {len(ran)} ran: {' '.join(ran)}", flush=True)
        print(*[x for x in lines if not x.startswith("ran ")][-12:], sep="\n", flush=True)


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "build":
        build(Path(rest[0]), rest[1:])
    elif what == "exchanges":
        build(Path(rest[0]), rest[1:] or EXCHANGED, (exchange_mutants,), (9, 3))
    elif what == "compile":
        compile_all(Path(rest[0]))
    elif what == "run":
        run(Path(rest[0]), rest[1:])
    elif what == "once":
        once(rest)
    else:
        sanitize(rest)
