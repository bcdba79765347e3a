"""Planted protocol defects on the H200: found statically, and failing when they are run.

    python bench/h200_mutants.py list            the verifier's findings (needs no GPU)
    python bench/h200_mutants.py build           compile them into the kernel cache (needs no GPU)
    python bench/h200_mutants.py run --out DIR   run each in a child process under a time limit

Most have two stages only and small operands that stay in the L2, so that copies come back
quickly enough to hit a slot that was released too early; the weak wait needs all stages, since
only a consumer that runs ahead has the group in flight that it should have waited for.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from lib.device_mutants import listing, report, wrong_runs

from warploom.document.roles import Arrive, Expect, WaitEmpty, WaitFull, WaitGroup
from warploom.emit.cuda import emit_gemm
from warploom.hopper import GemmKernel
from warploom.launch.build import compile_source
from warploom.launch.shipped import shipped_schedule

KERNEL = GemmKernel(tile_m=128, tile_n=256)
SHAPE = (1024, 1024, 16384)
LIMIT_S = 6


def base():
    """The 128x256 schedule with two stages."""
    document = shipped_schedule("gemm_128x256_w2")
    ring = replace(document.rings[0], depth=2)
    return replace(document, name=f"{KERNEL.name}_s2", rings=(ring,))


def edited(document, role, phase, change):
    program = document.program(role)
    entries = tuple(x for e in getattr(program, phase) for x in change(e))
    new = replace(program, **{phase: entries})
    return replace(
        document, programs=tuple(new if p.name == role else p for p in document.programs)
    )


def on(kind, **fields):
    return lambda e: (replace(e, **fields),) if isinstance(e, kind) else (e,)


def weaker(document):
    """The kernel's wait; a weaker one in the epilogue is refused by ptxas (C7517) already."""
    return edited(
        document,
        "consumer",
        "kernel",
        lambda e: (replace(e, pending=e.pending + 1),) if isinstance(e, WaitGroup) else (e,),
    )


def early_arrive(document):
    """Every slot is released as soon as its products are issued, before any wait."""

    def change(e):
        if isinstance(e, WaitGroup):
            return ()
        return (replace(e, k=0),) if isinstance(e, Arrive) else (e,)

    program = document.program("consumer")
    kernel = tuple(x for e in program.kernel for x in change(e))
    arrive = next(e for e in kernel if isinstance(e, Arrive))
    epilogue = tuple(e for e in program.epilogue if not isinstance(e, Arrive))
    new = replace(program, prologue=(*program.prologue, arrive), kernel=kernel, epilogue=epilogue)
    return replace(document, programs=(document.program("producer"), new))


def mutants():
    d = base()
    bytes_of = d.rings[0].slot_bytes
    return {
        "unchanged": d,
        "wait_group one too weak": weaker(shipped_schedule(GemmKernel().name)),
        "empty arrive before the wait": early_arrive(d),
        "consumer phase wrong": edited(d, "consumer", "kernel", on(WaitFull, parity=1)),
        "producer phase wrong": edited(d, "producer", "kernel", on(WaitEmpty, parity=0)),
        "16 bytes too many expected": edited(
            d, "producer", "kernel", on(Expect, bytes=bytes_of + 16)
        ),
        "half the bytes expected": edited(d, "producer", "kernel", on(Expect, bytes=bytes_of // 2)),
        "one empty arrival too few": replace(d, rings=(replace(d.rings[0], empty_arrivals=7),)),
    }


def prepare(document):
    """The runs of one mutant."""
    import torch
    from h200_gemm import inputs  # same inputs as the benchmark

    from warploom.launch.launch import Choice, GemmCall, prepare_gemm
    from warploom.launch.tensors import view_of

    torch.manual_seed(1)
    a, b = inputs(*SHAPE, "bf16")
    want = a.double() @ b.double().T
    c = torch.empty(SHAPE[0], SHAPE[1], device="cuda", dtype=torch.bfloat16)
    call = GemmCall(a=view_of(a, "a"), b=view_of(b.T, "b"), c=view_of(c, "out"))
    go = prepare_gemm(call, Choice(kernel=KERNEL), document)

    def launch():
        go(torch.cuda.current_stream().cuda_stream)
        torch.cuda.synchronize()

    torch.cuda.synchronize()
    return lambda: wrong_runs(launch, c, want, runs=50, limit=5e-3)


def build(document):
    return compile_source(emit_gemm(document, KERNEL)).toolchain


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("list", "build", "run"))
    parser.add_argument("name", nargs="?", default="")
    parser.add_argument("--out", default="bench/results")
    args = parser.parse_args()
    chosen = {n: d for n, d in mutants().items() if args.name in n}
    if args.mode == "run":
        import torch  # noqa: F401 (imported once, for all children)

        report(chosen, prepare, f"{args.out}/mutants.json", limit_s=LIMIT_S, budget_s=150)
    else:
        listing(chosen, build if args.mode == "build" else lambda document: "")


if __name__ == "__main__":
    main()
