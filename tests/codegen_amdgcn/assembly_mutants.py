"""Damaged kernels: one wait weakened or dropped, or one barrier dropped, in the assembly text.

What a gate or an emulator is worth shows in how many of these it finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from warploom.codegen.amdgcn.isa import LGKM_CAPACITY, VM_CAPACITY

_COUNTER = re.compile(r"(vmcnt|lgkmcnt)\((\d+)\)")
_NO_WAIT = {"vmcnt": VM_CAPACITY, "lgkmcnt": LGKM_CAPACITY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One damaged kernel: what was done at which line, and the text."""

    line: int
    what: str
    text: str


def text_mutants(assembly: str) -> Iterator[Mutant]:
    """Every wait weakened by one and dropped, every barrier dropped, one at a time."""
    lines = assembly.split("\n")
    for at, line in enumerate(lines):
        words = line.split(";")[0].split()
        if words[:1] == ["s_barrier"]:
            yield _replaced(lines, at, None, "barrier dropped")
        elif words[:1] == ["s_waitcnt"]:
            for name, count in _COUNTER.findall(line):
                yield _counter(lines, at, name, int(count), int(count) + 1)
                if int(count) + 1 < _NO_WAIT[name]:
                    yield _counter(lines, at, name, int(count), _NO_WAIT[name])


def _counter(lines: list[str], at: int, name: str, old: int, new: int) -> Mutant:
    before = f"{name}({old})"
    if new < _NO_WAIT[name]:
        return _replaced(
            lines, at, lines[at].replace(before, f"{name}({new})"), f"{before} -> {new}"
        )
    rest = lines[at].replace(before, "")
    return _replaced(lines, at, rest if _COUNTER.search(rest) else None, f"{before} dropped")


def _replaced(lines: list[str], at: int, line: str | None, what: str) -> Mutant:
    kept = [] if line is None else [line]
    return Mutant(line=at + 1, what=what, text="\n".join([*lines[:at], *kept, *lines[at + 1 :]]))
