"""Damaged forms of a kernel: each synchronising instruction deleted, weakened, moved, doubled."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warploom.check.amdgcn.reader import read_kernel, read_waits

CACHES = ("buffer_wbl2", "buffer_inv", "s_dcache_wb", "s_dcache_inv")
DELETED = "\t; deleted"


@dataclass(frozen=True)
class Mutant:
    """One change of one line."""

    what: str
    line: int
    text: str


def spelled(vm, lgkm):
    """A wait for two counts, or nothing."""
    parts = [f"vmcnt({vm})"] * (vm < 63) + [f"lgkmcnt({lgkm})"] * (lgkm < 15)
    return f"\ts_waitcnt {' '.join(parts)}" if parts else DELETED


def mutants(text, entry=None):
    """Every damaged form of a kernel's text."""
    lines = text.split("\n")
    code = read_kernel(text, entry).instructions

    def made(what, by_line):
        new = list(lines)
        for line, put in by_line.items():
            new[line - 1] = put
        return Mutant(what, min(by_line), "\n".join(new))

    for at, i in enumerate(code):
        kind = _kind(i)
        if kind:
            yield made(f"{kind} deleted", {i.line: DELETED})
            for what, put in (*_weaker(i), *_doubled(i, lines[i.line - 1])):
                yield made(what, {i.line: put})
            for where, other in _neighbours(code, at, lines):
                yield made(
                    f"{kind} moved {where}",
                    {i.line: lines[other.line - 1], other.line: lines[i.line - 1]},
                )
        for bit in ("sc0", "sc1"):
            if i.flag(bit) and i.mnemonic.startswith(("global_", "buffer_", "flat_")):
                if bit == "sc0" and "atomic" in i.mnemonic:
                    continue  # whether it returns a value, not a scope
                yield made(f"{bit} dropped", {i.line: re.sub(rf"\b{bit}\b", "", lines[i.line - 1])})


def _kind(i):
    if i.mnemonic in ("s_waitcnt", "s_barrier", "s_nop"):
        return i.mnemonic.removeprefix("s_")
    if i.mnemonic.startswith(CACHES):
        return "cache control"
    return "m0" if i.operands[:1] == ("m0",) and i.mnemonic.startswith("s_") else ""


def _weaker(i):
    if i.mnemonic == "s_nop" and int(i.operands[0], 0) > 0:
        yield "nop shortened", f"\ts_nop {int(i.operands[0], 0) - 1}"
    if i.mnemonic != "s_waitcnt":
        return
    waits = read_waits(i)
    if waits.vm < 63:
        yield "vmcnt weakened", spelled(waits.vm + 1, waits.lgkm)
    if waits.lgkm < 15:
        yield "lgkmcnt weakened", spelled(waits.vm, waits.lgkm + 1)
    if waits.vm < 63 and waits.lgkm < 15:
        yield "vmcnt dropped", spelled(63, waits.lgkm)
        yield "lgkmcnt dropped", spelled(waits.vm, 15)


def _doubled(i, line):
    if i.mnemonic == "s_barrier":
        yield "barrier doubled", f"{line}\n{line}"


def _neighbours(code, at, lines):
    """Instructions that one can change places with."""
    i = code[at]
    for step, where in ((1, "down"), (-1, "up")):
        if not 0 <= at + step < len(code):
            continue
        other = code[at + step]
        low, high = sorted((other.line, i.line))
        control = other.mnemonic.startswith(("s_branch", "s_cbranch", "s_endpgm", "s_setpc"))
        label = any(re.match(r"\s*[\w.$]+:", text) for text in lines[low : high - 1])
        if not (control or high - low > 3 or label):
            yield where, other
