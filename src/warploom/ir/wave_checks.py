"""Wave programs that came from outside: every register is written once, before it is read.

So is every name that a reader looks up: tensors, arguments, rings. What holds for values (bounds,
what lies in LDS) is for the interpreter and the verifier to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from warploom.errors import DocumentError
from warploom.ir import waves as ir
from warploom.ir.module import KernelModule
from warploom.ir.waves import Instruction, Operand

START = frozenset({ir.TID, ir.LANE, ir.WAVE, ir.GROUP})
MOST_WAVES = 16
_OUTER = (ir.If, ir.While, ir.Step, ir.Pipeline)


def check_waves(module: KernelModule) -> None:
    """``DocumentError`` for a wave program that no reader can give a meaning to."""
    program = module.program
    if program is None:
        return
    if module.roles or module.threads is not None:
        raise DocumentError("a wave program beside others", path="$.module.program")
    if not 1 <= program.waves <= MOST_WAVES:
        raise DocumentError(f"{program.waves} waves", path="$.module.program.waves")
    _Checker(module, program).run()


class _Checker:
    def __init__(self, module: KernelModule, program: ir.WaveProgram) -> None:
        self.program = program
        self.tensors = {t.name for t in module.tensors}
        self.grid = module.kernel.grid.vars
        self.written: set[str] = set(START)
        self.pipeline: ir.Pipeline | None = None

    def run(self) -> None:
        known: set[str] = set(START)
        for a in self.program.arguments:
            self.write(a.name, known, "$.module.program.arguments")
            if a.what in (ir.ArgumentKind.TENSOR, ir.ArgumentKind.STRIDE):
                self.tensor(a.of, "$.module.program.arguments")
        self.body(self.program.entry, known, "$.module.program.entry")
        self.body(self.program.body, known, "$.module.program.body")
        self.read([place for _, place in self.program.tile], known, "$.module.program.tile")
        if [name for name, _ in self.program.tile] != list(self.grid):
            raise DocumentError(
                "places of other variables than the grid has",
                path="$.module.program.tile",
                fix=", ".join(self.grid),
            )

    def write(self, name: str, known: set[str], path: str) -> None:
        if not name.startswith("%") or name in self.written:
            why = "is written twice" if name in self.written else "does not begin with %"
            raise DocumentError(f"register {name!r} {why}", path=path)
        self.written.add(name)
        known.add(name)

    def read(self, values: Iterable[Operand], known: set[str], path: str) -> None:
        for value in values:
            if isinstance(value, str) and value not in known:
                raise DocumentError(
                    f"register {value!r} is not written here", path=path,
                    fix="a register that is written before, in this body or around it",
                )  # fmt: skip

    def tensor(self, name: str, path: str) -> None:
        if name not in self.tensors:
            raise DocumentError(
                f"no tensor {name!r}", path=path, fix=", ".join(sorted(self.tensors))
            )

    def body(self, body: tuple[Instruction, ...], known: set[str], path: str) -> None:
        for i, one in enumerate(body):
            self.one(one, known, f"{path}[{i}]")

    def one(  # noqa: C901 (a case a structure)
        self, one: Instruction, known: set[str], path: str
    ) -> None:
        if hasattr(one, "tensor"):
            self.tensor(one.tensor, path)
        if not isinstance(one, _OUTER):
            self.read(operands(one), known, path)
            self.ring(one, path)
            for name in ir.names_of(one):
                self.write(name, known, path)
            return
        match one:
            case ir.If():
                self.read([one.condition], known, path)
                then, rest = set(known), set(known)
                self.body(one.body, then, f"{path}.body")
                self.body(one.otherwise or (), rest, f"{path}.otherwise")
                for c in one.results:
                    self.read([c.then], then, path)
                    self.read([c.otherwise], rest, path)
                    self.write(c.name, known, path)
            case ir.While():
                kept = (*one.carried, *([one.going] if one.going is not None else []))
                self.read([one.first, one.end, *(k.first for k in kept)], known, path)
                if one.step < 1:
                    raise DocumentError(f"a loop in steps of {one.step}", path=path)
                inner = set(known)
                self.write(one.counter, inner, path)
                for k in kept:
                    self.write(k.name, inner, path)
                self.body(one.body, inner, f"{path}.body")
                self.read([k.last for k in kept], inner, path)
                known |= {k.name for k in kept}
            case ir.Step():
                if self.pipeline is None:
                    raise DocumentError("a step outside of a pipelined loop", path=path)
                self.body(one.body, known, f"{path}.body")
            case ir.Pipeline():
                self.loop(one, known, path)

    def loop(self, one: ir.Pipeline, known: set[str], path: str) -> None:
        """Prologue, turns, epilogue: what a turn writes is known after it by its results alone."""
        if self.pipeline is not None:
            raise DocumentError("a pipelined loop in a pipelined loop", path=path)
        self.pipeline = one
        self.read([one.trips], known, path)
        self.body(one.prologue, known, f"{path}.prologue")
        self.read([k.first for k in one.carried], known, path)
        self.read([c.otherwise for c in one.results], known, path)
        inner = set(known)
        self.write(one.counter, inner, path)
        for k in one.carried:
            self.write(k.name, inner, path)
        self.body(one.kernel, inner, f"{path}.kernel")
        self.read([k.last for k in one.carried], inner, path)
        self.read([c.then for c in one.results], inner, path)
        for c in one.results:
            self.write(c.name, known, path)
        self.body(one.epilogue, known, f"{path}.epilogue")
        self.pipeline = None

    def ring(self, one: Instruction, path: str) -> None:
        if not isinstance(one, ir.CopyToLds | ir.ReadLds | ir.WriteLds) or one.ring < 0:
            return
        rings = self.pipeline.rings if self.pipeline is not None else ()
        own = next((r for r in rings if r.channel == one.ring), None)
        if own is None or not 0 <= one.stage < own.stages:
            raise DocumentError(
                f"no stage {one.stage} of ring {one.ring}", path=path,
                fix=", ".join(f"ring {r.channel}: {r.stages} stages" for r in rings),
            )  # fmt: skip


def operands(one: Instruction) -> tuple[Operand, ...]:
    """The registers that an instruction reads itself."""
    written = set(ir.names_of(one))
    found: list[Operand] = []
    for f in fields(one):  # type: ignore[arg-type]  # every instruction is a dataclass
        value = getattr(one, f.name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, str) and each.startswith("%") and each not in written:
                found.append(each)
    return tuple(found)
