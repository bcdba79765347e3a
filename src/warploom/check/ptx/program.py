"""A function made ready to run: device functions inlined, branches resolved, where lanes meet.

``meets[pc]`` of a branch is the first instruction that every path from it passes (its immediate
post-dominator), or -1 where paths only meet at the end.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace

from warploom.check.ptx.parse import (
    Addr,
    Function,
    Group,
    Instr,
    Module,
    Not,
    Operand,
    Pair,
    Reg,
    Sym,
    Variable,
    Vec,
)
from warploom.errors import CheckError, UnsupportedCodeError

MAX_DEPTH = 16
MAX_SIZE = 400_000
ENDS = ("ret", "exit", "trap", "brkpt")


@dataclass(slots=True)
class Program:
    """The instructions of an entry point with everything it calls."""

    name: str
    instrs: list[Instr]
    regs: list[str]
    params: list[Variable]
    variables: dict[str, Variable]
    directives: dict[str, tuple[int, ...]]
    files: dict[int, str]
    meets: list[int] = field(default_factory=list)
    tables: dict[int, tuple[int, ...]] = field(default_factory=dict)
    polled: frozenset[int] = frozenset()  # strong loads that a loop repeats until they change
    hasty: frozenset[int] = frozenset()  # waits for mbarriers that nothing repeats until they end

    def place(self, pc: int) -> str:
        """The source line of an instruction, where the file has line tables."""
        file, line = self.instrs[pc].source
        return f"{self.files[file]}:{line}" if line and file in self.files else ""


def link(module: Module, entry: str) -> Program:
    """The program of an entry point."""
    entries = module.entries()
    if not entries:
        raise CheckError("the file has no entry point", where="line 1")
    if entry:
        function = next((f for f in entries if f.name == entry), None)
        if function is None:
            names = ", ".join(f.name[:80] for f in entries[:8])
            raise CheckError(
                f"no entry point {entry[:80]!r}", where="--entry", fix=f"one of {names}"
            )
    else:
        if len(entries) > 1:
            names = ", ".join(f.name[:80] for f in entries[:8])
            raise CheckError(
                f"{len(entries)} entry points and none named",
                where="launch",
                fix=f"give entry in the launch or --entry: {names}",
            )
        function = entries[0]
    made = _Linker(module, function)
    program = Program(
        name=function.name,
        instrs=made.instrs,
        regs=made.regs,
        params=function.params,
        variables=made.variables,
        directives=function.directives,
        files=module.files,
        tables=made.tables,
    )
    program.meets = _meets(program)
    loops = _Loops(program)
    program.polled = frozenset(pc for pc in _strong_reads(program) if loops.decides(pc))
    program.hasty = frozenset(pc for pc in _waits(program) if not loops.only_decides(pc))
    return program


class _Linker:
    """Copies the entry's instructions; a call is replaced by the body of what it calls."""

    def __init__(self, module: Module, entry: Function) -> None:
        self.module = module
        self.instrs: list[Instr] = []
        self.regs: list[str] = []
        self.variables: dict[str, Variable] = {}
        self.tables: dict[int, tuple[int, ...]] = {}
        self.copies = 0
        self._copy(entry, {}, (), top=True)

    def _copy(
        self, function: Function, renamed: dict[str, str], path: tuple[str, ...], *, top: bool
    ) -> None:
        if len(path) > MAX_DEPTH or function.name in path:
            raise UnsupportedCodeError(
                f"recursion in {function.name}", where=f"line {function.line}"
            )
        self.copies += 1
        base, mark = len(self.regs), self.copies
        self.regs += function.regs
        names = dict(renamed)
        for name, v in function.variables.items():
            # Shared memory is one for all copies of a function; the rest is the call's own.
            new = name if top or v.space in ("shared", "global", "const") else f"{name}#{mark}"
            names[name] = new
            self.variables[new] = replace(v, name=new)
        start_of: dict[int, int] = {}
        branches: list[tuple[int, int]] = []
        returns: list[int] = []
        tables: list[tuple[int, Instr]] = []
        for at, instr in enumerate(function.instrs):
            start_of[at] = len(self.instrs)
            if len(self.instrs) > MAX_SIZE:
                raise UnsupportedCodeError("calls that grow beyond reason", where=function.name)
            head = instr.parts[0]
            if head == "call":
                self._call(instr, names, base, (*path, function.name))
                continue
            copied = replace(
                instr,
                operands=tuple(_moved(o, base, names) for o in instr.operands),
                guard=None if instr.guard is None else _shift(instr.guard, base),
            )
            if head == "ret" and not top:
                copied = replace(copied, op="bra", parts=("bra",))
                returns.append(len(self.instrs))
            elif head == "bra":
                branches.append((len(self.instrs), instr.target))
            elif head == "brx":
                tables.append((len(self.instrs), instr))
            self.instrs.append(copied)
        end = len(self.instrs)
        start_of[len(function.instrs)] = end
        for at, target in branches:
            self.instrs[at].target = start_of[target]
        for at in returns:
            self.instrs[at].target = end
        for at, instr in tables:
            labels = []
            for o in instr.operands[1:]:
                assert isinstance(o, Group)
                assert isinstance(o.items[0], Sym)
                wanted = o.items[0].name
                found = [p for n, p in function.labels.items() if n.rpartition(".")[0] == wanted]
                labels.append(start_of[found[0]])
            self.tables[at] = tuple(labels)

    def _call(self, instr: Instr, names: dict[str, str], base: int, path: tuple[str, ...]) -> None:
        operands = list(instr.operands)
        results: tuple[Operand, ...] = ()
        if operands and isinstance(operands[0], Group):
            results = operands.pop(0).items  # type: ignore[union-attr]
        callee = operands[0] if operands else None
        if not isinstance(callee, Sym):
            raise UnsupportedCodeError(
                "an indirect call", line=instr.line, where=f"line {instr.line}"
            )
        function = self.module.functions.get(callee.name)
        if function is None or not function.defined:
            # Only reached calls matter: it is refused when it is executed.
            self.instrs.append(
                replace(
                    instr,
                    operands=(),
                    op=f"call {callee.name}",
                    guard=(None if instr.guard is None else _shift(instr.guard, base)),
                )
            )
            return
        given: tuple[Operand, ...] = ()
        if len(operands) > 1 and isinstance(operands[1], Group):
            given = operands[1].items
        inner: dict[str, str] = {}
        for formal, actual in zip(
            (*function.params, *function.results), (*given, *results), strict=False
        ):
            moved = _moved(actual, base, names)
            if formal.space == "reg":
                raise UnsupportedCodeError(
                    f"register parameter {formal.name} of {function.name}",
                    line=instr.line,
                    where=f"line {instr.line}",
                )
            if not isinstance(moved, Sym):
                raise UnsupportedCodeError(
                    "a call with values in place of parameters",
                    line=instr.line,
                    where=f"line {instr.line}",
                )
            inner[formal.name] = moved.name
        around = None
        if instr.guard is not None:  # a branch around the body
            around = replace(
                instr,
                op="bra",
                parts=("bra",),
                operands=(),
                guard=_shift(instr.guard, base),
                negated=not instr.negated,
            )
            self.instrs.append(around)
        self._copy(function, inner, path, top=False)
        if around is not None:
            around.target = len(self.instrs)


def _shift(reg: Reg, base: int) -> Reg:
    return Reg(reg.slot + base, reg.type, reg.name)


def _moved(operand: Operand, base: int, names: dict[str, str]) -> Operand:  # noqa: PLR0911
    if isinstance(operand, Reg):
        return _shift(operand, base)
    if isinstance(operand, Sym):
        return Sym(names.get(operand.name, operand.name), operand.offset)
    if isinstance(operand, Vec):
        return Vec(tuple(_moved(o, base, names) for o in operand.items))
    if isinstance(operand, Group):
        return Group(tuple(_moved(o, base, names) for o in operand.items))
    if isinstance(operand, Addr):
        return Addr(
            _moved(operand.base, base, names),
            operand.offset,
            tuple(_moved(o, base, names) for o in operand.rest),
        )
    if isinstance(operand, Pair):
        return Pair(_moved(operand.first, base, names), _moved(operand.second, base, names))
    if isinstance(operand, Not):
        return Not(_moved(operand.of, base, names))
    return operand


def _blocks(program: Program) -> tuple[list[int], list[tuple[int, ...]]]:
    """Where basic blocks start, and the successors of each; the last block is the end."""
    instrs, n = program.instrs, len(program.instrs)
    starts = {0}
    for pc, i in enumerate(instrs):
        head = i.parts[0]
        if head == "bra":
            starts |= {i.target, pc + 1}
        elif head == "brx":
            starts |= {*program.tables[pc], pc + 1}
        elif head in ENDS:
            starts.add(pc + 1)
    order = sorted(s for s in starts if s < n)
    number = {s: k for k, s in enumerate(order)}
    end = len(order)
    follow: list[tuple[int, ...]] = []
    for k in range(len(order)):
        last = (order[k + 1] if k + 1 < len(order) else n) - 1
        i = instrs[last]
        head = i.parts[0]
        past = number.get(last + 1, end)
        if head == "bra":
            target = number.get(i.target, end)
            follow.append((target,) if i.guard is None else (target, past))
        elif head == "brx":
            follow.append(tuple(number.get(t, end) for t in program.tables[last]))
        elif head in ENDS:
            follow.append((end,) if i.guard is None else (end, past))
        else:
            follow.append((past,))
    return order, follow


STRONG = ("relaxed", "acquire", "volatile", "mmio")
# What may stand between a wait's predicate and the branch that repeats it.
_FORWARDS = ("selp", "setp", "mov", "not", "and", "or", "xor", "cvt")


def _strong_reads(program: Program) -> list[int]:
    heads = ("ld", "ldu", "atom")
    return [
        pc
        for pc, i in enumerate(program.instrs)
        if i.parts[0] == "atom" or (i.parts[0] in heads and any(p in STRONG for p in i.parts))
    ]


def _waits(program: Program) -> list[int]:
    return [
        pc
        for pc, i in enumerate(program.instrs)
        if i.parts[0] == "mbarrier" and any(p in ("try_wait", "test_wait") for p in i.parts)
    ]


class _Loops:
    """Which loops an instruction is repeated by, and what decides that they end."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.order, follow = _blocks(program)
        self.end = len(self.order)
        self.forward = [list(f) for f in follow] + [[]]
        self.backward: list[list[int]] = [[] for _ in range(self.end + 1)]
        for k, targets in enumerate(follow):
            for t in targets:
                self.backward[t].append(k)
        self.bodies: dict[int, set[int]] = {}

    def span(self, block: int) -> range:
        """The instructions of a block."""
        last = len(self.program.instrs)
        return range(self.order[block], self.order[block + 1] if block + 1 < self.end else last)

    def body(self, pc: int) -> set[int]:
        """The blocks of all loops around an instruction; none where nothing repeats it."""
        home = bisect_right(self.order, pc) - 1
        if home not in self.bodies:
            loop = _reached(home, self.forward) & _reached(home, self.backward)
            self.bodies[home] = loop if home in loop else set()
        return self.bodies[home]

    def inner(self, pc: int) -> set[int]:
        """The blocks of the innermost loop: those on the shortest way back to the instruction."""
        home = bisect_right(self.order, pc) - 1
        best: set[int] = set()
        for tail in self.backward[home] if self.body(pc) else ():
            if tail < home or tail not in self.body(pc):
                continue
            loop, stack = {home, tail}, [tail]
            while stack:
                at = stack.pop()
                for k in self.backward[at] if at != home else ():
                    if k not in loop:
                        loop.add(k)
                        stack.append(k)
            if not best or len(loop) < len(best):
                best = loop
        return best

    def decides(self, pc: int) -> bool:
        """Whether a branch of a loop around a read depends on what it reads."""
        body = [i for b in self.body(pc) for i in self.span(b)]
        return bool(body) and _decides(self.program, pc, body)

    def only_decides(self, pc: int) -> bool:
        """Whether the innermost loop around a wait ends when the wait succeeds, and only then."""
        loop = self.inner(pc)
        if not loop:
            return False
        instrs = self.program.instrs
        known = _registers(instrs[pc].operands[:1])
        for k in sorted(loop):
            for at in self.span(k):
                i = instrs[at]
                if at == pc or i.parts[0] in ("bra", *ENDS) or not i.operands:
                    continue
                made, used = _registers(i.operands[:1]), _registers(i.operands[1:])
                if i.parts[0] in _FORWARDS and used and used <= known:
                    known |= made
                else:
                    known -= made
        for k in loop:
            if all(t in loop for t in self.forward[k]):
                continue
            last = instrs[self.span(k)[-1]]
            if last.guard is None or last.guard.slot not in known:
                return False
        return True


def _reached(start: int, edges: list[list[int]]) -> set[int]:
    seen, stack = set(), list(edges[start])
    while stack:
        at = stack.pop()
        if at not in seen:
            seen.add(at)
            stack += edges[at]
    return seen


def _decides(program: Program, load: int, body: list[int]) -> bool:
    """Whether a branch of a loop depends on what a load in it reads."""
    known = _registers(program.instrs[load].operands[:1])
    grown = True
    while grown:
        grown = False
        for pc in body:
            i = program.instrs[pc]
            if i.parts[0] in ("bra", "st", "red") or pc == load or not i.operands:
                continue
            used = _registers(i.operands[1:])
            made = _registers(i.operands[:1])
            if used & known and not made <= known:
                known |= made
                grown = True
    return any(
        i.parts[0] == "bra" and i.guard is not None and i.guard.slot in known
        for i in (program.instrs[pc] for pc in body)
    )


def _registers(operands: tuple[Operand, ...]) -> set[int]:
    result: set[int] = set()
    for o in operands:
        if isinstance(o, Reg):
            result.add(o.slot)
        elif isinstance(o, (Vec, Group)):
            result |= _registers(o.items)
        elif isinstance(o, Addr):
            result |= _registers((o.base, *o.rest))
        elif isinstance(o, Pair):
            result |= _registers((o.first, o.second))
        elif isinstance(o, Not):
            result |= _registers((o.of,))
    return result


def _meets(program: Program) -> list[int]:
    """Immediate post-dominators, by iteration over the reversed graph."""
    order, follow = _blocks(program)
    end = len(order)
    before: list[list[int]] = [[] for _ in range(end + 1)]
    for k, targets in enumerate(follow):
        for t in targets:
            before[t].append(k)
    # Reverse post-order of the reversed graph, from the end.
    rank, stack, seen = [], [(end, iter(before[end]))], {end}
    while stack:
        node, rest = stack[-1]
        step = next((p for p in rest if p not in seen), None)
        if step is None:
            rank.append(node)
            stack.pop()
        else:
            seen.add(step)
            stack.append((step, iter(before[step])))
    rank.reverse()
    place = {node: i for i, node in enumerate(rank)}
    dominator = {end: end}

    def common(a: int, b: int) -> int:
        while a != b:
            while place[a] > place[b]:
                a = dominator[a]
            while place[b] > place[a]:
                b = dominator[b]
        return a

    changed = True
    while changed:
        changed = False
        for node in rank[1:]:
            known = [t for t in follow[node] if t in dominator]
            if not known:
                continue
            best = known[0]
            for t in known[1:]:
                best = common(best, t)
            if dominator.get(node) != best:
                dominator[node] = best
                changed = True
    meets = [-1] * len(program.instrs)
    for k, start in enumerate(order):
        last = (order[k + 1] if k + 1 < len(order) else len(program.instrs)) - 1
        found = dominator.get(k, end)
        if found != end:
            meets[last] = order[found]
        _ = start
    return meets
