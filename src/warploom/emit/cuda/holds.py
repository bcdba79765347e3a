"""Holding vector work in its place: what stands in front of a wait is done before it.

The assembler orders waits and barriers among themselves, but ordinary arithmetic may sink below
them: exponentials meant to run under a product then start when it is over. A *hold* is a no-op that
needs a result of the work in front of it and that the assembler keeps in front of the wait: a sleep
of a nanosecond under a condition that never holds (a bit pattern no result has; if one had it,
nothing but that nanosecond would be lost).

Holds are entries of their own, put into a copy of the document at emission; they touch nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from warploom.document.roles import (
    Compute,
    NamedSync,
    RoleEntry,
    RoleProgram,
    RolesDocument,
    WaitFull,
    WaitGroup,
)
from warploom.emit.cuda.lowering import Lowering

HOLD = "hold"

_TEXT = """\
// Does nothing, but not before `x` is known: what x stands for is done before the wait behind this.
__device__ __forceinline__ void hold(unsigned int x) {
  asm volatile("{\\n.reg .pred p;\\nsetp.eq.u32 p, %0, 0x7fffdead;\\n@p nanosleep.u32 1;\\n}"
               :: "r"(x) : "memory");
}
"""

RESULTS = {
    "s": ("__float_as_uint(s[S_REGS - 1])",),
    "p": ("p[P_STEPS - 1][3]",),
    **{n: (f"__float_as_uint({n}[0])", f"__float_as_uint({n}[1])") for n in "mla"},
}
"""Registers that tell when an array has been written, by the array's name.

Not those of O: they are rescaled in a branch of their own, which stays where it is, and reading one
behind it costs the registers that keep products in flight.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """A document with further entries: text in front of the source, lowerings of the entries."""

    document: RolesDocument
    text: str
    ops: Mapping[str, Lowering]

    def then(self, other: Extended) -> Extended:
        """This extension, extended by one that was made from its document."""
        return Extended(
            document=other.document, text=self.text + other.text, ops={**self.ops, **other.ops}
        )


def held(document: RolesDocument, role: str = "consumer") -> Extended:
    """The document with a hold in front of every wait of the role's loop that has work before it.

    The work is what the loop did since the wait before; the last array an op writes stands for it.
    """
    program = document.program(role)
    kernel: list[RoleEntry] = []
    ops: dict[str, Lowering] = {}
    pending: list[str] = []
    for i, entry in enumerate(program.kernel):
        if pending and isinstance(entry, WaitGroup | WaitFull | NamedSync):
            name = f"{HOLD}.{i}"
            kernel.append(Compute(op=name, reason="the work in front of the wait stays there"))
            ops[name] = lines(*(f"hold({r});" for w in pending for r in RESULTS[w]))
            pending = []
        kernel.append(entry)
        if isinstance(entry, Compute) and entry.writes and entry.writes[-1] in RESULTS:
            pending.append(entry.writes[-1])
    extended = replace(program, kernel=tuple(kernel))
    return Extended(document=with_program(document, extended), text=_TEXT if ops else "", ops=ops)


def lines(*text: str) -> Lowering:
    """A lowering to fixed lines."""
    return lambda entry, site: list(text)


def with_program(document: RolesDocument, program: RoleProgram) -> RolesDocument:
    """The document with the program of that name replaced."""
    programs = tuple(program if p.name == program.name else p for p in document.programs)
    return replace(document, programs=programs)
