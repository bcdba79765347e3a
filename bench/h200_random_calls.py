"""Public calls at random sizes, layouts and options on a GPU, against float64.

    python bench/h200_random_calls.py [--seconds 120] [--jobs 16] [--seed 0] [--parts gemm,groups]

Every job draws calls of all parts in turn until its time is up. The figure of a call is the worst
row: how far it is from float64, in units of its length. A refusal must be one of warploom's
errors. ``--seed S --only J N`` repeats call N of job J by itself.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from lib.protocol import environment
from lib.random_torch_calls import PARTS, Draw, worst

import warploom

ROOT = Path(__file__).resolve().parent.parent
LIMIT = {"fp8": 1.2e-2, "attention": 2e-2, "gradients": 3e-2, "sums": 1.2e-2}
USUAL, LATE = 8e-3, 30.0  # the limit of other kinds; seconds for the calls that are begun
AGAIN = 6  # sizes of a draw


def one(part, seed, again):
    """(what was sampled, kind, worst row or the error) of each result of a call."""
    d = Draw(seed, again)
    try:
        for kind, call, wanted in PARTS[part](d):
            found = call()
            torch.cuda.synchronize()
            yield dict(d.said), kind, worst(found, wanted)
    except warploom.WarploomError as error:
        yield dict(d.said), "refused", str(error).splitlines()[0]


def work(args, job):
    """Calls of one job until its time is up; a line before each, and one for each result."""
    names = args.parts.split(",") if args.parts else list(PARTS)
    until, n = time.time() + args.seconds, 0
    while time.time() < until if args.only is None else n <= args.only[1]:
        part, seed = names[(n + job) % len(names)], f"{args.seed} {job} {n}"
        line = {"part": part, "job": job, "n": n}
        n += 1
        if args.only is not None and line["n"] != args.only[1]:
            continue
        print(json.dumps(line), flush=True)
        for again in range(AGAIN):
            for said, kind, error in one(part, seed, again):
                row = {**line, "again": again, "said": said, "kind": kind, "error": error}
                print(json.dumps(row), flush=True)
        torch.cuda.empty_cache()


def all_jobs(args):
    """The lines of all jobs; those that are not done half a minute late are stopped."""
    own = [sys.executable, __file__, *sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / str(j) for j in range(args.jobs)]
        jobs = []
        for j, path in enumerate(files):
            with path.open("w") as out:
                jobs.append(subprocess.Popen([*own, "--job", str(j)], stdout=out))
        until, ended = time.time() + args.seconds + LATE, []
        for j, job in enumerate(jobs):
            try:
                status = job.wait(max(0.1, until - time.time()))
            except subprocess.TimeoutExpired:
                job.kill()
                status = "stopped"
            lines = [x for x in files[j].read_text().splitlines() if x.startswith("{")]
            ended.append((status, [json.loads(x) for x in lines]))
        return ended


def summary(ended):
    """By part: how many were right, refused and why, wrong; and how jobs ended."""
    found = [x for _, lines in ended for x in lines if "kind" in x]
    table, wrong, refused = {}, [], {}
    for x in found:
        row = table.setdefault(x["part"], {"right": 0, "worst": 0.0, "wrong": 0, "refused": 0})
        if x["kind"] == "refused":
            row["refused"] += 1
            refused[x["error"]] = refused.get(x["error"], 0) + 1
        elif x["error"] < LIMIT.get(x["kind"], USUAL):
            row["right"] += 1
            row["worst"] = max(row["worst"], x["error"])
        else:
            row["wrong"] += 1
            wrong.append(x)
    died = [{"status": s, "last": lines[-1:]} for s, lines in ended if s != 0]
    rows = [{"part": part, **row} for part, row in table.items()]
    return {"table": rows, "refusals": refused, "wrong": wrong, "died": died}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", default="")
    parser.add_argument("--out", default=str(ROOT / "bench" / "results" / "h200_random_calls.json"))
    parser.add_argument("--only", type=int, nargs=2, help="job and number of one call")
    parser.add_argument("--job", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only is not None or args.job is not None:
        work(args, args.only[0] if args.only else args.job)
        return
    made = summary(all_jobs(args))
    for row in made["table"]:
        print(row)
    for name in ("wrong", "died"):
        for x in made[name]:
            print(name, x)
    head = {"script": "bench/h200_random_calls.py", "environment": environment(), "seed": args.seed}
    Path(args.out).write_text(json.dumps({**head, **made}, indent=1))
    sys.exit(bool(made["wrong"] or made["died"]))


if __name__ == "__main__":
    main()
