"""Simulated against measured times of attention programs, judged on programs nothing was fitted to.

    python bench/h200_attention_model.py draw SEED [EACH]   adds programs not measured yet
    python bench/h200_attention_model.py prepare   compiles the programs into $WARPLOOM_CACHE
    python bench/h200_attention_model.py measure [--out FOLDER]   times them on an H200
    python bench/h200_attention_model.py judge     simulates all, writes the table (no GPU)

Programs (``results/h200_attention_model.json``): of all that exist at the least interval of head
dimension 128 (two consumers, 128 keys) and at a longer one a sample with a fixed seed, those the
joint search drew of eight widths of key tiles, and four draws at random over widths, orders, ties
and loads ahead (``fresh`` says which). No mask, 4 x 32 heads of 4096. Inputs are zeros and launches
are single, with pauses: then the board stays far below its power cap, the clock at its top, and
times are cycles; under the cap rounds differ by more than programs do. Code and machines differ
between runs by more than the model errs, so only times of the present code in one run count.

The first two draws and what was before them are seen: the model was mended with them (two of its
figures, vector.own_beside and vector.mufu_beside, are fits to older times). The third and the
fourth were drawn before they were measured, by ``draw`` or the joint search, without a simulation:
they alone judge it. A longer latency of copies was tried on the seen ones and left out again.
``wait``: registers a wait was tied to in the code of then; the assembler kept little of that.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from contextlib import suppress
from dataclasses import replace
from math import log
from pathlib import Path

from warploom.document.roles import WaitGroup
from warploom.errors import WarploomError
from warploom.kernels.attention import attention as text
from warploom.lower.column import lower
from warploom.lower.tiling import Tiling
from warploom.search.ranks import rank_correlation
from warploom.search.tiles import HOLDS, SOLVE, _others, hash_of, trial_of
from warploom.target.h200 import h200

RESULTS = Path(__file__).parent / "results"
NAME = "h200_attention_model"
ROUNDS, PAUSE = 7, 0.002
WIDTHS = range(64, 177, 16)
HELD = (3, 4)  # draws nothing was made with


def known():
    return json.loads((RESULTS / f"{NAME}.json").read_text())


def made(case):
    b, h, s, d = case
    sizes = {"b": b, "h": h, "g": h, "s": s, "t": s, "d": d}
    return text.compile("bf16", sizes=sizes, without={"lse", "lengths"}, positive={"scale"})


def tiling_of(base: Tiling, row) -> Tiling:
    """The tiling of one program."""
    extents = tuple((n, row["t"] if n == "t" else e) for n, e in base.extents)
    given = {n: row[n] for n in ("hold", "tie", "late", "ahead") if n in row}
    return replace(base, extents=extents, times=tuple(row["times"]), **({"hold": False} | given))


def draw(data, seed: int, each: int):
    """So many programs of each width: of all orders that exist a little above the least interval,
    and of what else a tiling says, any with the same chance. No simulation is asked.
    """
    compiled, target, rng = made(data["case"]), h200(), random.Random(seed)
    base = compiled.choices[0].tiling
    for width in WIDTHS:
        orders = {}
        for hold in (True, False):
            tiling = tiling_of(base, {"t": width, "times": (), "hold": hold})
            with suppress(WarploomError):
                first = lower(compiled.rewritten, tiling, target=target, options=SOLVE)
                found = [first, *_others(first, lambda: False)]
                orders[hold] = sorted({(x.result.ii, *x.result.times) for x in found})
        for _ in range(each):
            hold = rng.choice(sorted(orders))
            row = {"t": width, "times": rng.choice(orders[hold]), "hold": hold}
            row |= dict(zip(("tie", "late"), rng.choice(HOLDS), strict=True))
            row["ahead"] = rng.choice((1, 2))
            name = f"{seed}x{width}_{hash_of(row['times']):06x}_{'h' if hold else 's'}"
            name += f"_a{row['ahead']}_t{row['tie']}_l{row['late']}"
            print(name, "of", {h: len(x) for h, x in orders.items()}, flush=True)
            data["programs"].setdefault(name, row | {"fresh": seed})


def builds(data):
    """All programs built; what the compiler serialises or spills is left out."""
    compiled = made(data["case"])
    for name, row in data["programs"].items():
        try:
            built = compiled.build(tiling_of(compiled.choices[0].tiling, row))
        except WarploomError as error:
            print(name, "refused:", error.what, flush=True)
            continue
        report = built.cubin.report
        if report.spill_bytes or report.messages:
            print(name, f"{report.spill_bytes} bytes spilled", *report.messages, flush=True)
        else:
            yield name, compiled, built


def measure(out: Path) -> None:
    import torch
    from lib.protocol import environment, milliseconds

    from warploom.launch.direct import Direct

    data = known()
    b, h, s, d = data["case"]
    q, k, v = (torch.zeros(b, h, s, d, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    tensors = {"q": q, "k": k, "v": v, "out": torch.empty_like(q)}
    calls = {n: [Direct(c, x, tensors, {"scale": d**-0.5})] for n, c, x in builds(data)}
    times, order = {n: [] for n in calls}, random.Random(5)
    for _ in range(ROUNDS):
        for name in order.sample(list(calls), len(calls)):
            time.sleep(PAUSE)
            times[name].append(milliseconds(calls[name], 1))
    for name, found in times.items():
        data["programs"][name]["ms"] = round(statistics.median(found[1:]), 4)
    data["environment"] = environment()
    write(data, out)


def write(data, out: Path) -> None:
    (out / f"{NAME}.json").write_text(json.dumps(data, separators=(",", ":")) + "\n")


def judged(data):
    """Each program with what the simulator says of it."""
    compiled, target = made(data["case"]), h200()
    b, h, s, d = data["case"]
    sizes = {"b": b, "h": h, "g": h, "s": s, "t": s, "d": d}
    for name, row in data["programs"].items():
        if "ms" in row:
            lowered = compiled.lower(tiling_of(compiled.choices[0].tiling, row))
            trial = trial_of(compiled.rewritten, lowered.tiling, lowered, 0.0, sizes, target)
            yield name, row, trial.predicted, kind(lowered.document)


def kind(document) -> str:
    """Whether consumers wait for products inside a turn, and whether V comes before the next K."""
    role = next(p for p in document.programs if p.name == "consumer")
    names = [type(e).__name__ for e in role.kernel]
    turn = role.kernel[names.index("NamedSync") : names.index("NamedArrive")]
    waits = any(isinstance(e, WaitGroup) and not e.pending for e in turn)
    late = next(p for p in document.programs if p.name == "producer").peel == 0
    return " and ".join(["waits in its turn"] * waits + ["V before the next K"] * late)


def judge(out: Path) -> None:
    """Rank correlations on what nothing was fitted to, and the table of all."""
    data = known()
    rows = list(judged(data))
    held = [r for r in rows if r[1].get("fresh", 0) in HELD]
    groups = {
        "third draw, held out": [r for r in held if r[1]["fresh"] == HELD[0]],
        "fourth draw, held out": [r for r in held if r[1]["fresh"] == HELD[1]],
        "both, held out": held,
        "first draw, seen": [r for r in rows if r[1].get("fresh") is True],
        "second draw, seen": [r for r in rows if r[1].get("fresh") == 2],
        "seen, all": [r for r in rows if r not in held],
    }
    lines = [
        "# Simulated against measured times of attention programs",
        "",
        f"Measured {data['environment']['date'][:10]} on an H200, judged by "
        "`bench/h200_attention_model.py judge`; its first lines say what was measured and how. "
        "Rank correlation of the cycles every command simulates with measured time, and the spread "
        "of measured over simulated:",
        "",
        "| programs | number | rank correlation | spread |",
        "|---|---|---|---|",
    ]
    for name, found in groups.items():
        rank = rank_correlation([r[2] for r in found], [r[1]["ms"] for r in found])
        spread = statistics.stdev(log(r[1]["ms"] / r[2]) for r in found)
        lines.append(f"| {name} | {len(found)} | {rank:.2f} | {spread:.1%} |")
    lines += ["", "| program | draw | keys | cycles | ms | |", "|---|---|---|---|---|---|"]
    for name, row, said, what in sorted(rows, key=lambda r: r[1]["ms"]):
        draw_of = {None: "", True: "1"}.get(row.get("fresh"), row.get("fresh"))
        lines.append(f"| {name} | {draw_of} | {row['t']} | {said:.0f} | {row['ms']} | {what} |")
    (out / f"{NAME}.md").write_text("\n".join([*lines, ""]))
    print("\n".join(lines[4:12]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("draw", "prepare", "measure", "judge"))
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("each", nargs="?", type=int, default=4)
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    match args.mode:
        case "draw":
            data = known()
            draw(data, args.seed, args.each)
            write(data, args.out)
        case "prepare":
            print(sum(1 for _ in builds(known())), "programs built")
        case "measure":
            measure(args.out)
        case _:
            judge(args.out)


if __name__ == "__main__":
    main()
