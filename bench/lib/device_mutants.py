"""Defective kernels on a GPU: each in a process of its own, under a time limit.

The parent never touches the GPU; children are forked from it, so that libraries are imported
once. A kernel that hangs is killed with its process before the next one starts.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from pathlib import Path

from warploom.errors import BackendError
from warploom.verify.roles import verify_roles

READY = "ready"
START_S = 60  # importing, compiling and preparing have time; only runs are limited


def observe(prepare, limit_s):
    """What ``prepare()()`` returns in a child, ``hangs``, or how it ended otherwise.

    The limit counts from when ``prepare`` is through.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(prepare, sender))
    child.start()
    sender.close()
    result = _received(receiver, START_S)
    if result == READY:
        result = _received(receiver, limit_s)
    child.join(1)
    if child.is_alive():
        child.kill()
        child.join(20)
    if child.is_alive():
        return f"{result} (the process cannot be ended)"
    return result or f"error: the process ended with {child.exitcode}"


def _received(receiver, limit_s):
    if not receiver.poll(limit_s):
        return "hangs"
    try:
        return receiver.recv()
    except EOFError:
        return ""


def _child(prepare, sender):
    try:
        runs = prepare()
        sender.send(READY)
        sender.send(runs())
    except BackendError as error:
        sender.send(f"refused: {error.why or error}"[:200])
    except Exception as error:
        sender.send(f"error: {type(error).__name__}: {error}"[:200])


def wrong_runs(launch, out, want, runs, limit):
    """``k of n runs wrong`` over launches of one kernel into ``out``."""
    wrong = 0
    for _ in range(runs):
        out.fill_(float("nan"))
        launch()
        error = ((out.double() - want).norm() / want.norm()).item()
        wrong += not error < limit  # NaN is wrong too
    return f"{wrong} of {runs} runs wrong" if wrong else f"not seen in {runs} runs"


def codes(document):
    """The verifier's findings on a document."""
    return sorted({str(f.code) for f in verify_roles(document).findings})


def listing(subjects, build):
    """The verifier's findings, and whether the assembler takes the kernel."""
    for name, document in subjects.items():
        print(
            f"{name:36s} {' '.join(codes(document)) or 'clean':44s} {build(document)}", flush=True
        )


def report(subjects, prepare, out, *, limit_s, budget_s):
    """Run all subjects, print a table and write it; ``prepare(document)`` gives the runs."""
    from lib.protocol import environment  # needs torch

    result = {"environment": environment(), "rows": []}
    rows, start = result["rows"], time.perf_counter()
    path = Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    for name, document in subjects.items():
        began = time.perf_counter()
        if began - start > budget_s:
            print(f"{budget_s} s are over: {name} and what follows were not run")
            break
        seen = observe(lambda document=document: prepare(document), limit_s)
        took = round(time.perf_counter() - began, 1)
        rows.append({"mutant": name, "static": codes(document), "device": seen, "seconds": took})
        path.write_text(json.dumps(result, indent=1) + "\n")
        print(f"{took:5.1f} s  {name}: {seen}", flush=True)
    print(f"\n{'mutant':36s} {'verifier':44s} device   ({time.perf_counter() - start:.0f} s)")
    for row in rows:
        print(f"{row['mutant']:36s} {' '.join(row['static']) or 'clean':44s} {row['device']}")
