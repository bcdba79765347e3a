"""Defective attention kernels on the H200: found statically, and failing when they are run.

    python bench/h200_attention_mutants.py list        the verifier's findings (needs no GPU)
    python bench/h200_attention_mutants.py build       compile them (needs no GPU)
    python bench/h200_attention_mutants.py run --out DIR   run each in a process of its own

All but the one marked * are single-entry mutants of ``bench/attention_mutants.py``. Heads share K
and V and everything stays in the L2, so that copies come back quickly.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from lib.device_mutants import listing, report, wrong_runs
from tests.mutation.role_mutants import role_mutants

from warploom.document.roles import Arrive, Commit
from warploom.emit.cuda import emit_attention
from warploom.errors import BackendError
from warploom.launch.build import compile_source
from warploom.launch.shipped import attention_kernel, schedule_for

HEAD_DIM = 128
KERNEL = attention_kernel(HEAD_DIM, causal=False)
BATCHES, HEADS, KV_HEADS, LENGTH = 1, 64, 4, 1024
RUNS = 30
LIMIT_S = 4

# name -> operator, beginning of the place, part of the entry's label, which of several
CHOSEN = {
    "no wait for K": ("drop WaitFull", "consumer.kernel", "WaitFull K", 0),
    "no wait for V": ("drop WaitFull", "consumer.kernel", "WaitFull V", 0),
    "no wait for Q": ("drop WaitFull", "consumer.prologue", "WaitFull Q", 0),
    "K filled without asking": ("drop WaitEmpty", "producer.kernel", "WaitEmpty K", 0),
    "V filled without asking": ("drop WaitEmpty", "producer.kernel", "WaitEmpty V", 0),
    "K waited for in the wrong phase": ("parity flipped", "consumer.kernel", "WaitFull K", 0),
    "empty V in the wrong phase": ("parity flipped", "producer.kernel", "WaitEmpty V", 0),
    "128 bytes too many expected": ("bytes", "producer.kernel", "Expect K", 1),
    "half the bytes expected": ("bytes", "producer.kernel", "Expect K", 2),
    "K never released": ("drop Arrive", "consumer.kernel", "Arrive K", 0),
    "V released twice": ("twice", "consumer.kernel", "Arrive V", 0),
    "one empty arrival of V too few": ("arrivals of empty", "ring V", "", 0),
    "PV of the wrong tile": ("k +1", "consumer.kernel", "Mma pv", 0),
    "S read before QK retired": ("pending +1", "consumer.kernel", "WaitGroup 1", 0),
    "last PV not waited for": ("drop WaitGroup", "consumer.epilogue", "WaitGroup 0", 0),
    "V released before PV retired": ("swap", "consumer.kernel", "WaitGroup 0 / Arrive V", 0),
    "no fence before QK": ("drop MmaFence", "consumer.kernel", "MmaFence", 0),
    "turn not taken": ("drop NamedSync", "consumer.kernel", "NamedSync turn", 0),
    "turn not given": ("drop NamedArrive", "consumer.kernel", "NamedArrive turn", 0),
    "no first turn": ("drop NamedArrive", "consumer.setup", "NamedArrive turn", 0),
}


def base():
    return schedule_for(KERNEL)


def mutants():
    """The chosen mutants by name, the unchanged schedule first."""
    document = base()
    every = list(role_mutants(document))
    found = {"unchanged": document}
    for name, (operator, place, label, which) in CHOSEN.items():
        hits = [
            m
            for m in every
            if m.operator == operator and m.where.startswith(place) and label in m.where
        ]
        if len(hits) <= which:
            print(f"{name}: {KERNEL.name} has no such entry")
            continue
        found[name] = hits[which].document
    found["K and V released when issued *"] = released_early(document)
    return found


def with_consumer(document, **phases):
    new = replace(document.program("consumer"), **phases)
    return replace(document, programs=(document.program("producer"), new))


def released_early(document):
    """In the loop, slots are released right behind the commit of the last product."""
    kernel = document.program("consumer").kernel
    early = [e for e in kernel if isinstance(e, Arrive)]
    rest = [e for e in kernel if not isinstance(e, Arrive)]
    last = max(i for i, e in enumerate(rest) if isinstance(e, Commit)) + 1
    return with_consumer(document, kernel=(*rest[:last], *early, *rest[last:]))


def prepare(document):
    """The runs of one mutant."""
    import torch

    from warploom.launch.attention_launch import AttentionCall, prepare_attention
    from warploom.launch.tensors import view_of

    def make(heads):
        shape = (BATCHES, heads, LENGTH, HEAD_DIM)
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

    torch.manual_seed(1)
    q, k, v = make(HEADS), make(KV_HEADS), make(KV_HEADS)
    keys, values = (t.double().repeat_interleave(HEADS // KV_HEADS, 1) for t in (k, v))
    scale = HEAD_DIM**-0.5
    want = torch.softmax(q.double() @ keys.transpose(-1, -2) * scale, -1) @ values
    out = torch.empty_like(q)
    placed = {n: view_of(t, n) for n, t in (("q", q), ("k", k), ("v", v), ("out", out))}
    go = prepare_attention(AttentionCall(**placed, scale=scale), KERNEL, document)

    def launch(_alive=(q, k, v)):  # a prepared call knows addresses only
        go(torch.cuda.current_stream().cuda_stream)
        torch.cuda.synchronize()

    torch.cuda.synchronize()
    return lambda: wrong_runs(launch, out, want, RUNS, limit=5e-3)


def build(document):
    try:
        return (
            f"builds, {compile_source(emit_attention(document, KERNEL)).report.registers} registers"
        )
    except BackendError as error:
        return f"refused by the assembler: {error.why}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("list", "build", "run"))
    parser.add_argument("name", nargs="?", default="")
    parser.add_argument("--out", default="bench/results")
    parser.add_argument("--budget", type=float, default=150.0, help="seconds for all runs")
    args = parser.parse_args()
    chosen = {n: d for n, d in mutants().items() if args.name in n}
    if args.mode == "run":
        import torch  # noqa: F401 (imported once, for all children)

        path = f"{args.out}/attention-mutants-h200.json"
        report(chosen, prepare, path, limit_s=LIMIT_S, budget_s=args.budget)
    else:
        listing(chosen, build if args.mode == "build" else lambda document: "")


if __name__ == "__main__":
    main()
