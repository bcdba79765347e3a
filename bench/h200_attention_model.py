"""Simulated against measured times of attention programs; nothing is fitted to them.

    python bench/h200_attention_model.py prepare     compiles programs into $WARPLOOM_CACHE (no GPU)
    python bench/h200_attention_model.py predict     simulates them (no GPU)
    python bench/h200_attention_model.py measure [--out FOLDER]   times them on an H200, and judges

Programs: of all that exist at the least interval of head dimension 128 (two consumers, 128 keys),
and some at a longer one, a sample with a fixed seed: orders of a consumer's ops, lags, ways to take
turns. No mask, 4 x 32 heads of 4096. They are simulated under the target's own figures (the queue
of products, vector work beside products), each measured alone, before any of them is timed.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from dataclasses import replace
from pathlib import Path

from lib.ranks import spearman

from warploom.errors import WarploomError
from warploom.kernel.values import DType
from warploom.kernels.attention import attention as text
from warploom.launch.attention import CALLS, _options
from warploom.launch.layout import Layout
from warploom.launch.pricing import role_costs
from warploom.launch.tensors import row_major
from warploom.lower.body import body_of
from warploom.lower.candidates import candidates_of
from warploom.lower.fuse import fuse
from warploom.lower.layout import lay_out
from warploom.lower.plan import plan_of
from warploom.lower.relate import problem_of
from warploom.lower.tiling import Tiling
from warploom.sim import simulate_roles
from warploom.target.h200 import h200

CASE, DRAWN, LONGER = (4, 32, 4096, 128), 30, ((0.1, 8),)
RESULTS = Path(__file__).parent / "results"
NAME = "h200_attention_model"


def made():
    b, h, s, d = CASE
    sizes = {"b": b, "h": h, "g": h, "s": s, "t": s, "d": d}
    return text.compile("bf16", sizes=sizes, without={"lse", "lengths"}, positive={"scale"})


def programs() -> dict[str, Tiling]:
    """The tilings of all programs, by a short name."""
    compiled = made()
    base = replace(compiled.choices[0].tiling, slack=0, hold=False)
    body = body_of(compiled.rewritten)
    layout = lay_out(body, base, fuse(body))
    problem, plan = problem_of(layout, h200(), "attention"), plan_of(layout, h200(), "attention")
    rng, out = random.Random(3), {}
    for longer, count in ((0.0, DRAWN), *LONGER):
        found = candidates_of(problem, plan, longer=longer).found
        for one in rng.sample(found, min(count, len(found))):
            out.setdefault(one.name, replace(base, times=(one.result.ii, *one.result.times)))
    return out


def prepare(folder: Path) -> None:
    """Compile all; what the compiler serialises or spills is left out."""
    b, h, s, d = CASE
    kept = {}
    layout = Layout((b, h, s, d), row_major((b, h, s, d)), DType.BF16)
    for name, tiling in programs().items():
        try:
            found = CALLS.compiled_for(
                (layout, layout, layout, None, None, None), _options(False, False, tiling)
            )
        except WarploomError as error:
            print(name, "refused:", error.what, flush=True)
            continue
        report = found.built.cubin.report
        print(name, f"{report.registers} registers, {report.spill_bytes} spilled", flush=True)
        if not report.spill_bytes and not report.messages:
            kept[name] = list(tiling.times)
        (folder / f"{NAME}_programs.json").write_text(json.dumps(kept))


def predict(folder: Path) -> None:
    """Simulated cycles of every compiled program, written down before any is timed."""
    times, compiled = json.loads((folder / f"{NAME}_programs.json").read_text()), made()
    base, found = replace(compiled.choices[0].tiling, slack=0, hold=False), {}
    for name, given in times.items():
        lowered = compiled.lower(replace(base, times=tuple(given)))
        run = simulate_roles(lowered.document, role_costs(lowered), trips=16)
        found[name] = float(run.ii or 0.0)
        print(name, found[name], flush=True)
        (folder / f"{NAME}_predicted.json").write_text(json.dumps(found))


def measure(folder: Path, out: Path, seconds: float) -> None:
    import torch
    from lib.protocol import compare, environment

    import warploom

    begun = time.monotonic()
    times = json.loads((folder / f"{NAME}_programs.json").read_text())
    predicted = json.loads((folder / f"{NAME}_predicted.json").read_text())
    b, h, s, d = CASE
    base = replace(made().choices[0].tiling, slack=0, hold=False)
    q, k, v = (torch.randn(b, h, s, d, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    want = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    result, contestants, wrong = torch.empty_like(q), {}, []
    for name in sorted(predicted):  # by their digests: as good as drawn
        if time.monotonic() - begun > seconds:
            break
        tiling = replace(base, times=tuple(times[name]))

        def call(tiling=tiling):
            return warploom.attention(q, k, v, out=result, kernel=tiling)

        try:
            result.fill_(float("nan"))
            call()
            torch.cuda.synchronize()
        except WarploomError as error:
            print("FAIL", name, error.what, flush=True)
            continue
        error = (result.float() - want.float()).norm() / want.float().norm()
        if error < 6e-3:
            contestants[name] = [call]
        else:
            wrong.append(name)
        print(name, f"{time.monotonic() - begun:.1f} s", flush=True)
    ms = compare(contestants, rounds=3, run_ms=40.0, preheat_s=0.4)
    data = {"script": "bench/h200_attention_model.py measure", "environment": environment()}
    data |= {"case": CASE, "times": {n: times[n] for n in ms}, "ms": ms, "wrong": wrong}
    data |= {"predicted": {n: predicted[n] for n in ms}}
    (out / f"{NAME}.json").write_text(json.dumps(data, indent=1) + "\n")
    judge(out, data)


def judge(out: Path, data) -> None:
    """The table of one measured set."""
    names = sorted(data["ms"], key=data["ms"].get)
    measured = [data["ms"][n] for n in names]
    guess = [data["predicted"][n] for n in names]
    rank = spearman(guess, measured)
    lines = [
        "# Simulated against measured times of attention programs",
        "",
        f"Written by `bench/h200_attention_model.py measure` ({data['environment']['date']}, "
        f"{data['environment']['gpu'].partition(',')[0]}). Nothing was fitted to these programs.",
        "",
        f"{len(names)} programs, wrong: {len(data['wrong'])}; **rank correlation {rank:.3f}**.",
        "",
        "| program | simulated cycles | ms |",
        "|---|---|---|",
        *(f"| {n} | {g:.0f} | {m:.4f} |" for n, g, m in zip(names, guess, measured, strict=True)),
    ]
    (out / f"{NAME}.md").write_text("\n".join([*lines, ""]))
    print("\n".join(lines[4:5]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("prepare", "predict", "measure"))
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--seconds", type=float, default=120.0, help="to make kernels ready in")
    args = parser.parse_args()
    match args.mode:
        case "prepare":
            prepare(args.folder)
        case "predict":
            predict(args.folder)
        case _:
            measure(args.folder, args.out, args.seconds)


if __name__ == "__main__":
    main()
