"""Simulated against measured times of attention programs, judged on programs nothing was fitted to.

    python bench/h200_attention_model.py draw SEED NUMBER BODY   adds programs not measured yet
    python bench/h200_attention_model.py prepare [SEED ..]   compiles them into $WARPLOOM_CACHE
    python bench/h200_attention_model.py measure [SEED ..] [--out FOLDER]   times them on an H200
    python bench/h200_attention_model.py judge     simulates all, writes the table (no GPU)

**The draw**, the same for good: a candidate of a body is what the joint search enumerates for it
with nothing pinned, of tiles of 64 to 176 keys (the solver finds orders for few narrower ones, and
they take up to four times as long: any model tells them apart). Of all such shapes (extents, one to
three consumers, two to four stages, Q in registers or shared memory) that the search does not prune
by their bound one is taken, each with the same chance; of the orders of that shape (the solver's,
and where consumers take turns all within 6 % of the least interval) one; of the ways to hold waits
(``HOLDS``) and of tiles loaded ahead (one or two) one. No simulation is asked. What does not
compile without spills or serialised products is no candidate. Bodies (``BODIES``), 4 x 32 heads of
4096: head dimension 128 without a mask, causal, head dimension 64. A draw judges what was frozen
before it was measured: ``HELD`` names such draws. Figures are of each body; of *the narrow band*
besides (two consumers), where most times lie within a third of each other. Rank correlation of two
measurements of the same programs is the ceiling.

Inputs are zeros and launches are single, with pauses: then the board stays far below its power cap,
the clock at its top, and times are cycles; under the cap rounds differ by more than programs do.
Code and machines differ between runs by more than the model errs, so only times of one run are
compared. Draws 1 to 4 and those before them (0) were of two consumers alone, draw 5 of the shapes
then at hand; they are seen: causes were sought with them. Their times are of one run.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from dataclasses import replace
from math import log
from pathlib import Path

from warploom.autotune.joint import JointOptions, rank_correlation
from warploom.autotune.tiles import HOLDS, SOLVE, _others, hash_of, shapes, trial_of
from warploom.errors import WarploomError
from warploom.ir.mbarrier_dialect import WaitGroup
from warploom.kernels.attention import attention as text
from warploom.passes.driver import lower
from warploom.passes.kernel_config import KernelConfig
from warploom.passes.loop_ops import takes_turns
from warploom.targets.h200 import h200

RESULTS = Path(__file__).parent / "results"
NAME = "h200_attention_model"
ROUNDS, PAUSE = 7, 0.002
BODIES = {"128": (128, False), "128c": (128, True), "64": (64, False)}
CHOICES = (
    *("consumer_warpgroups", "stages", "a_in_registers", "epilogue_stages"),
    *("store_from_registers", "full_wait_after", "deferred_mmas", "tile_prefetch"),
)
KEYS = range(64, 177)  # of a tile
HELD = (6, 7)  # draws nothing was made with


def known():
    return json.loads((RESULTS / f"{NAME}.json").read_text())


def made(body: str):
    """The kernel of a body, compiled for its sizes."""
    given = {"causal": "end"} if BODIES[body][1] else {}
    without = {"lse", "lengths"}
    sizes = sizes_of(body)
    return text.compile("bf16", sizes=sizes, without=without, positive={"scale"}, constants=given)


def sizes_of(body: str) -> dict[str, int]:
    return {"b": 4, "h": 32, "g": 32, "s": 4096, "t": 4096, "d": BODIES[body][0]}


def config_of(base: KernelConfig, row) -> KernelConfig:
    """The config of one program."""
    if "tile" in row:
        fields = {n: row[n] for n in CHOICES if n in row}
        extents = tuple((n, e) for n, e in row["tile"])
        return replace(base, **fields, tile=extents, schedule=tuple(row["schedule"]))
    extents = tuple((n, row["t"] if n == "t" else e) for n, e in base.tile)
    given = {n: row[n] for n in CHOICES if n in row}
    return replace(
        base, tile=extents, schedule=tuple(row["schedule"]), **({"a_in_registers": False} | given)
    )


def draw(data, seed: int, number: int, body: str):
    """So many candidates of a body, as the first lines say. No simulation is asked."""
    compiled, target, rng = made(body), h200(), random.Random(f"{seed} {body}")
    kernel, sizes, orders = compiled.rewritten, sizes_of(body), {}
    found = shapes(kernel, sizes, {}, target)
    most = min(s.bound for s in found) * (1 + JointOptions().margin)
    every = [s for s in found if s.bound <= most and s.config.extent("t") in KEYS]
    every.sort(key=lambda s: s.config.name)
    for _ in range(number):
        config = rng.choice(every).config
        if config not in orders:
            orders[config] = orders_of(kernel, config, target)
        times, turns = orders[config]
        if not times:
            print(config.name, "has no order", flush=True)
            continue
        row = {n: getattr(config, n) for n in CHOICES}
        row |= {"body": body, "tile": config.tile, "schedule": rng.choice(times)}
        row |= dict(
            zip(
                ("full_wait_after", "deferred_mmas"),
                rng.choice(HOLDS if turns else HOLDS[:1]),
                strict=True,
            )
        )
        row |= {"tile_prefetch": rng.choice((1, 2)), "fresh": seed}
        tags = f"a{row['tile_prefetch']}_t{row['full_wait_after']}_l{row['deferred_mmas']}"
        tags += f"_{hash_of(row['schedule']):06x}"
        name = f"{seed}_{body}_{config.name}_{tags}"
        print(name, "of", len(times), flush=True)
        data["programs"].setdefault(name, row)


def orders_of(kernel, config: KernelConfig, target):
    """All orders of a shape the search looks at, and whether its consumers take turns."""
    try:
        first = lower(kernel, config, target=target, options=SOLVE)
    except WarploomError:
        return [], False
    turns = takes_turns(first.layout)
    more = _others(first, lambda: False) if turns else ()
    return sorted({(x.result.ii, *x.result.times) for x in (first, *more)}), turns


def wanted(data, seeds):
    rows = data["programs"].items()
    return {n: r for n, r in rows if not seeds or r.get("fresh") in seeds}


def builds(data, seeds):
    """All programs built; what the compiler serialises or spills is left out."""
    bodies = {b: made(b) for b in {r.get("body", "128") for r in wanted(data, seeds).values()}}
    for name, row in wanted(data, seeds).items():
        compiled = bodies[row.get("body", "128")]
        try:
            built = compiled.build(config_of(compiled.choices[0].config, row))
        except WarploomError as error:
            print(name, "refused:", error.what, flush=True)
            continue
        report = built.cubin.report
        if report.spill_bytes or report.messages:
            print(name, f"{report.spill_bytes} bytes spilled", *report.messages, flush=True)
        else:
            yield name, compiled, built


def measure(out: Path, seeds) -> None:
    import torch
    from lib.protocol import environment, milliseconds

    from warploom.runtime.direct import Direct

    data, calls, tensors = known(), {}, {}
    for body in BODIES:
        z = sizes_of(body)
        shape = z["b"], z["h"], z["s"], z["d"]
        q, k, v = (torch.zeros(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        tensors[body] = {"q": q, "k": k, "v": v, "out": torch.empty_like(q)}, shape[-1] ** -0.5
    for n, c, x in builds(data, seeds):
        given, scale = tensors[data["programs"][n].get("body", "128")]
        calls[n] = [Direct(c, x, given, {"scale": scale})]
    times, order = {n: [] for n in calls}, random.Random(5)
    for _ in range(2 * ROUNDS):
        for name in order.sample(list(calls), len(calls)):
            time.sleep(PAUSE)
            times[name].append(milliseconds(calls[name], 1))
    for name, found in times.items():
        row = data["programs"][name]
        row["ms"], row["again"] = (
            round(statistics.median(part[1:]), 4) for part in (found[:ROUNDS], found[ROUNDS:])
        )
    data["environment"] = environment()
    write(data, out)


def write(data, out: Path) -> None:
    (out / f"{NAME}.json").write_text(json.dumps(data, separators=(",", ":")) + "\n")


def judged(data):
    """Each program with what the simulator says of it."""
    target, bodies = h200(), {b: made(b) for b in BODIES}
    for name, row in data["programs"].items():
        if "ms" in row:
            body = row.get("body", "128")
            compiled = bodies[body]
            lowered = compiled.lower(config_of(compiled.choices[0].config, row))
            kernel, sizes = compiled.rewritten, sizes_of(body)
            trial = trial_of(kernel, lowered.config, lowered, 0.0, sizes, target)
            yield name, row, trial.predicted, kind(lowered.document)


def narrow(row) -> bool:
    """Whether a program is of the narrow band."""
    return row.get("consumer_warpgroups", 2) == 2 and row.get("body", "128") == "128"


def took(row) -> float:
    """Milliseconds, of both measurements."""
    return (row["ms"] + row["again"]) / 2


def keys(row) -> int:
    return dict(row["tile"])["t"] if "tile" in row else row["t"]


def kind(document) -> str:
    """Whether consumers wait for products inside a turn, and whether V comes before the next K."""
    role = next(p for p in document.programs if p.name == "consumer")
    names = [type(e).__name__ for e in role.kernel]
    if "NamedSync" not in names:
        return "no turns"
    turn = role.kernel[names.index("NamedSync") : names.index("NamedArrive")]
    waits = any(isinstance(e, WaitGroup) and not e.pending for e in turn)
    late = next(p for p in document.programs if p.name == "producer").peel == 0
    return " and ".join(["waits in its turn"] * waits + ["V before the next K"] * late)


def judge(out: Path) -> None:
    """Rank correlations on what nothing was fitted to, and the table of all."""
    data = known()
    rows = list(judged(data))
    groups = {}
    drawn = {n: [r for r in rows if r[1]["fresh"] == n] for n in HELD}
    drawn |= {"seen": [r for r in rows if r[1]["fresh"] not in HELD]}
    for n, mine in drawn.items():
        what = f"draw {n}, held out" if n in HELD else n
        for body in BODIES:
            groups[f"{body}: {what}"] = [r for r in mine if r[1].get("body", "128") == body]
        groups[f"128, two consumers: {what}"] = [r for r in mine if narrow(r[1])]
    lines = [
        "# Simulated against measured times of attention programs",
        "",
        f"Measured {data['environment']['date'][:10]} on an H200, judged by "
        "`bench/h200_attention_model.py judge`; its first lines say what was drawn and measured. "
        "Rank correlation of the cycles every command simulates with measured time, of the same "
        "programs measured twice, and the spread of measured over simulated:",
        "",
        "| programs | number | rank correlation | of two measurements | spread | ms |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in groups.items():
        if len(found) < 3:
            continue
        ms = [took(r[1]) for r in found]
        rank = rank_correlation([r[2] for r in found], ms)
        again = rank_correlation(*([r[1][n] for r in found] for n in ("ms", "again")))
        spread = statistics.stdev(log(t / r[2]) for t, r in zip(ms, found, strict=True))
        lines.append(
            f"| {name} | {len(found)} | {rank:.2f} | {again:.2f} | {spread:.1%} |"
            f" {min(ms):.2f} to {max(ms):.2f} |"
        )
    print("\n".join(lines[4:]), flush=True)
    lines += ["", "| program | draw | keys | cycles | ms | |", "|---|---|---|---|---|---|"]
    for name, row, said, what in sorted(rows, key=lambda r: took(r[1])):
        cells = name, row["fresh"] or "", keys(row), f"{said:.0f}", f"{took(row):.4f}", what
        lines.append(f"| {' | '.join(map(str, cells))} |")
    (out / f"{NAME}.md").write_text("\n".join([*lines, ""]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("draw", "prepare", "measure", "judge"))
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    match args.mode:
        case "draw":
            data = known()
            seed, number, body = args.rest
            draw(data, int(seed), int(number), body)
            write(data, args.out)
        case "prepare":
            print(sum(1 for _ in builds(known(), {int(n) for n in args.rest})), "programs built")
        case "measure":
            measure(args.out, {int(n) for n in args.rest})
        case _:
            judge(args.out)


if __name__ == "__main__":
    main()
