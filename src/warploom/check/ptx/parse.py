"""PTX text to a module: variables, functions, instructions with typed operands and source lines.

The reader knows the grammar, not the instructions: what an opcode means is decided later. Blocks
in braces are scopes of registers and labels, as inline assembly uses them. Debug sections are
skipped; ``.file`` and ``.loc`` become source lines.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from typing import NamedTuple

from warploom.errors import CheckError, UnsupportedCodeError

MAX_INSTRUCTIONS = 2_000_000


class Reg(NamedTuple):
    """A register: its slot in the function's register file and its declared type."""

    slot: int
    type: str
    name: str


class Imm(NamedTuple):
    """A number: an integer, or the bits of a float of ``bits`` bits (0: integer)."""

    value: int | float
    bits: int = 0


class Sym(NamedTuple):
    """A variable, parameter, function or label, with an offset in bytes."""

    name: str
    offset: int = 0


class Special(NamedTuple):
    """A special register such as ``%tid.x``."""

    name: str


class Vec(NamedTuple):
    """``{a, b, ...}``."""

    items: tuple[Operand, ...]


class Addr(NamedTuple):
    """``[base + offset]``; ``rest`` are further parts, as of ``[map, {x, y}]``."""

    base: Operand
    offset: int = 0
    rest: tuple[Operand, ...] = ()


class Pair(NamedTuple):
    """``a|b``: two destinations."""

    first: Operand
    second: Operand


class Not(NamedTuple):
    """``!p``."""

    of: Operand


class Sink(NamedTuple):
    """``_``: a result that is dropped."""


class Group(NamedTuple):
    """``(a, b)``: arguments of a call."""

    items: tuple[Operand, ...]


Operand = Reg | Imm | Sym | Special | Vec | Addr | Pair | Not | Sink | Group


@dataclass(slots=True)
class Instr:
    """One instruction: ``op`` split at the dots, operands, guard, line of file and source."""

    op: str
    parts: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Reg | None = None
    negated: bool = False
    line: int = 0
    source: tuple[int, int] = (0, 0)
    target: int = -1  # of a branch
    text: str = ""


@dataclass(slots=True)
class Variable:
    """A variable of state space ``space``: ``size`` bytes, 0 where given at launch."""

    name: str
    space: str
    align: int
    size: int
    init: bytes = b""
    extern: bool = False
    refs: tuple[tuple[int, str, int], ...] = ()  # address of a symbol at a byte of ``init``


@dataclass(slots=True)
class Function:
    """An entry point or a device function."""

    name: str
    entry: bool
    params: list[Variable] = field(default_factory=list)
    results: list[Variable] = field(default_factory=list)
    instrs: list[Instr] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    regs: list[str] = field(default_factory=list)  # types by slot
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    line: int = 0
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    defined: bool = False


@dataclass(slots=True)
class Module:
    """A PTX file."""

    version: str = ""
    target: str = ""
    files: dict[int, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)

    def entries(self) -> list[Function]:
        """The entry points, in the order of the file."""
        return [f for f in self.functions.values() if f.entry and f.defined]


TYPE_BYTES = {
    "pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2,
    "b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4, "tf32": 4, "b64": 8, "u64": 8,
    "s64": 8, "f64": 8, "b128": 16, "f32x2": 8, "e4m3": 1, "e5m2": 1, "e4m3x2": 2, "e5m2x2": 2,
    "u16x2": 4, "s16x2": 4,
}  # fmt: skip

_SPECIAL = re.compile(
    r"%(?:tid|ntid|ctaid|nctaid|clusterid|nclusterid|cluster_ctaid|cluster_nctaid)(?:\.[xyz])?$"
    r"|%(?:laneid|warpid|nwarpid|smid|nsmid|gridid|clock|clock_hi|clock64|globaltimer"
    r"|globaltimer_lo|globaltimer_hi|lanemask_(?:eq|le|lt|ge|gt)|cluster_ctarank|cluster_nctarank"
    r"|is_explicit_cluster|dynamic_smem_size|total_smem_size|aggr_smem_size|envreg\d+|pm\d+"
    r"|reserved_smem_offset_\w+|current_graph_exec)$"
)
_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_LABEL = re.compile(r"([A-Za-z_$%][\w$]*)\s*:(?!:)")
_STATEMENT = re.compile(r"[^;{}]*(?:\{[^{}]*\}[^;{}]*)*;")
_REG = re.compile(r"\.reg\s*(?:\.v\d\s+)?\.(\w+)\s+(.*);$", re.DOTALL)
_NAME = r"[A-Za-z_$%][\w$]*"
_VARIABLE = re.compile(
    r"(?P<lead>(?:\.\w+(?:::\w+)?\s+|\.align\s+\d+\s+|\.ptr\s+|\.attribute\([^)]*\)\s*)*)"
    rf"(?P<name>{_NAME})\s*(?P<dims>(?:\[[^\]]*\]\s*)*)(?:=\s*(?P<init>.*))?$",
    re.DOTALL,
)
_OPCODE = re.compile(r"(?:@(!?)\s*([\w$%]+)\s+)?([A-Za-z_][\w.:]*)\s*(.*)$", re.DOTALL)
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)(?:\s+(\d+))?([^\n]*)")
_INLINED = re.compile(r"inlined_at\s+(\d+)\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'\.file\s+(\d+)\s+"([^"\n]*)"[^\n]*')
_INT = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?$")
_FLOAT = re.compile(r"[+-]?(?:\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)$")
_OFFSET = re.compile(r"(.*?[\w$\]])\s*([+-])\s*(-?(?:0[xX][0-9a-fA-F]+|\d+))$", re.DOTALL)
_DIRECTIVES = re.compile(
    r"\.(maxntid|reqntid|minnctapersm|maxnctapersm|maxnreg|reqnctapercluster|explicitcluster"
    r"|maxclusterrank|noreturn|blocksareclusters|pragma|abi_preserve\w*|unified)\b([^.{;]*)"
)


class _Scope:
    """Names of one pair of braces."""

    def __init__(self, outer: _Scope | None) -> None:
        self.outer = outer
        self.names: dict[str, Reg] = {}
        self.ranges: dict[str, tuple[str, int]] = {}
        self.labels: dict[str, str] = {}
        self.symbols: dict[str, str] = {}


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.module = text, 0, Module()
        self.line_at, self.line = 0, 1
        self.source = (0, 0)
        self.callers: dict[tuple[int, int, int], tuple[int, int]] = {}
        self.scope: _Scope | None = None
        self.function: Function | None = None
        self.unique = 0

    # -- places

    def where(self, at: int | None = None) -> int:
        """The line of a place; places are asked for in order."""
        at = self.at if at is None else at
        if at >= self.line_at:
            self.line += self.text.count("\n", self.line_at, at)
        else:
            self.line = 1 + self.text.count("\n", 0, at)
        self.line_at = at
        return self.line

    def bad(self, what: str, at: int | None = None) -> CheckError:
        line = self.where(at)
        near = self.text[self.at : self.at + 60].split("\n")[0]
        return CheckError(what, line=line, where=f"line {line}: {near!r}")

    def skip(self) -> bool:
        """Past blanks and comments; False at the end."""
        found = _BLANK.match(self.text, self.at)
        if found:
            self.at = found.end()
        return self.at < len(self.text)

    def statement(self) -> str:
        """Up to the next semicolon, braces of vectors included."""
        found = _STATEMENT.match(self.text, self.at)
        if found is None:
            raise self.bad("a statement without its end")
        self.at = found.end()
        text = found.group()
        if "/" in text:
            text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
        return text

    # -- module level

    def module_level(self) -> Module:  # noqa: C901, PLR0912 (one case a directive)
        text = self.text
        if "\0" in text:
            raise CheckError("the file is binary", where="line 1", fix="give PTX text")
        while self.skip():
            if text.startswith(".version", self.at):
                self.module.version = self._rest_of_line()[8:].strip()
            elif text.startswith(".target", self.at):
                self.module.target = self._rest_of_line()[7:].strip()
            elif text.startswith(".address_size", self.at):
                if self._rest_of_line().split()[-1] != "64":
                    raise UnsupportedCodeError("addresses of 32 bits", where=f"line {self.where()}")
            elif text.startswith(".file", self.at):
                self._file()
            elif re.match(r"\.loc\s", text[self.at : self.at + 6]):
                self._loc()
            elif text.startswith(".section", self.at):
                self._section()
            elif text.startswith((".alias", ".pragma"), self.at):
                self.statement()
            elif re.compile(r"(?:\.\w+\s+)*\.(?:entry|func)\b").match(text, self.at):
                self._function()
            elif text.startswith((".b8", ".b16", ".b32", ".b64"), self.at):
                self._rest_of_line()  # data of a debug section that has no braces
            elif text[self.at] == ".":
                at = self.at
                for v in self._variables(self.statement(), at):
                    self.module.variables[v.name] = v
            elif _LABEL.match(text, self.at):
                self.at = _LABEL.match(text, self.at).end()  # type: ignore[union-attr]
            else:
                raise self.bad("this is no PTX")
        if not self.module.version:
            raise CheckError("no .version: this is no PTX file", where="line 1")
        return self.module

    def _rest_of_line(self) -> str:
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        found, self.at = self.text[self.at : end], end
        return found.split("//")[0].rstrip().rstrip(";")

    def _file(self) -> None:
        found = _FILE.match(self.text, self.at)
        if found is None:
            raise self.bad("a .file that cannot be read")
        self.module.files[int(found[1])] = found[2]
        self.at = found.end()

    def _loc(self) -> None:
        found = _LOC.match(self.text, self.at)
        if found is None:
            raise self.bad("a .loc that cannot be read")
        here = (int(found[1]), int(found[2]), int(found[3] or 0))
        outer = _INLINED.search(found[4])
        if outer is None:
            self.callers.pop(here, None)
            self.source = here[:2]
        else:
            # Where inlined code was called, and where that was: the author's line.
            caller = (int(outer[1]), int(outer[2]), int(outer[3]))
            self.source = self.callers.get(caller, caller[:2])
            self.callers[here] = self.source
        self.at = found.end()

    def _section(self) -> None:
        open_at = self.text.find("{", self.at)
        if open_at < 0:
            raise self.bad("a section without braces")
        end = self.text.find("}", open_at)
        self.at = len(self.text) if end < 0 else end + 1

    def _variables(self, statement: str, at: int) -> list[Variable]:
        """A declaration; several names are parted by commas."""
        body = statement.rstrip(";").strip()
        lead = re.match(r"(?:\.align\s+\d+\s*|\.attribute\([^)]*\)\s*|\.\w+(?:::\w+)?\s+)*", body)
        head = lead.group() if lead else ""
        result = []
        for part in _split(body[len(head) :]):
            result.append(self._variable(head + part, at))
        return result

    def _variable(self, text: str, at: int) -> Variable:
        found = _VARIABLE.match(text.strip())
        if found is None:
            raise self.bad("a declaration that cannot be read", at)
        lead = found["lead"].split(".ptr")[0]  # what follows describes what a pointer points to
        words = re.findall(r"\.[\w:]+|\d+", lead)
        space, align, size, extern, vector = "", 0, 0, False, 1
        spaces = (".global", ".shared", ".shared::cta", ".local", ".param", ".const", ".reg")
        for i, w in enumerate(words):
            if w in spaces:
                space = w[1:].split("::")[0]
            elif w == ".align":
                align = int(words[i + 1])
            elif w == ".extern":
                extern = True
            elif w[1:] in TYPE_BYTES:
                size = TYPE_BYTES[w[1:]]
            elif w in (".v2", ".v4"):
                vector = int(w[2])
        if not size:
            raise self.bad("a declaration without a type", at)
        element = size
        size *= vector
        open_end = False
        for dim in re.findall(r"\[([^\]]*)\]", found["dims"]):
            if dim.strip():
                size *= int(dim, 0)
            else:
                open_end = True
        init, refs = self._initial(found["init"], element, at)
        if open_end and not init:
            size = 0
        elif open_end:
            size = len(init)
        if size > 1 << 30:
            raise self.bad("a variable above 1 GB", at)
        return Variable(
            found["name"],
            space,
            align or element,
            size,
            init,
            extern,
            refs,
        )

    def _initial(
        self, text: str | None, element: int, at: int
    ) -> tuple[bytes, tuple[tuple[int, str, int], ...]]:
        if not text:
            return b"", ()
        out, refs = bytearray(), []
        for item in re.findall(r"[^\s,{}]+", text):
            if _INT.match(item):
                out += (int(item.rstrip("U"), 0) % (1 << (8 * element))).to_bytes(element, "little")
            elif re.match(r"0[fF][0-9a-fA-F]{8}$", item):
                out += int(item[2:], 16).to_bytes(4, "little")
            elif re.match(r"0[dD][0-9a-fA-F]{16}$", item):
                out += int(item[2:], 16).to_bytes(8, "little")
            elif _FLOAT.match(item):
                out += struct.pack("<f" if element == 4 else "<d", float(item))
            else:
                name = re.sub(r"generic\(|\)|\+.*", "", item)
                refs.append((len(out), name, 0))
                out += bytes(element)
        return bytes(out), tuple(refs)

    # -- functions

    def _function(self) -> None:
        at = self.at
        found = re.compile(
            rf"(?P<link>(?:\.\w+\s+)*?)\.(?P<kind>entry|func)\s*(?P<attr>(?:\.attribute\([^)]*\)\s*)?)"
            rf"(?:\((?P<out>[^)]*)\)\s*)?(?P<name>{_NAME})\s*(?:\((?P<in>[^)]*)\))?"
        ).match(self.text, self.at)
        if found is None:
            raise self.bad("a function that cannot be read")
        function = Function(found["name"], found["kind"] == "entry", line=self.where(at))
        function.params = self._parameters(found["in"], at)
        function.results = self._parameters(found["out"], at)
        self.at = found.end()
        while self.skip() and self.text[self.at] not in "{;":
            directive = _DIRECTIVES.match(self.text, self.at)
            if directive is None:
                raise self.bad("a directive that is not known")
            numbers = tuple(int(n) for n in re.findall(r"\d+", directive[2]))
            function.directives[directive[1]] = numbers
            self.at = directive.end()
        if self.at >= len(self.text):
            raise self.bad("a function without a body")
        if self.text[self.at] == ";":
            self.at += 1
            self.module.functions.setdefault(function.name, function)
            return
        self.at += 1
        function.defined = True
        self.module.functions[function.name] = function
        self._body(function)

    def _parameters(self, text: str | None, at: int) -> list[Variable]:
        plain = re.sub(r"//[^\n]*", "", text or "")
        return [self._variable(p, at) for p in _split(plain) if p.strip()]

    def _body(self, function: Function) -> None:
        self.function, self.scope = function, _Scope(None)
        self._params(function)
        pending: list[tuple[Instr, _Scope, str]] = []
        depth, text = 1, self.text
        while depth:
            if not self.skip():
                raise self.bad(f"the function {function.name} has no end")
            c = text[self.at]
            if c == "{":
                depth, self.at, self.scope = depth + 1, self.at + 1, _Scope(self.scope)
            elif c == "}":
                depth, self.at = depth - 1, self.at + 1
                assert self.scope is not None
                self.scope = self.scope.outer
            elif c == ";":
                self.at += 1
            elif re.match(r"\.loc\s", text[self.at : self.at + 6]):
                self._loc()
            elif text.startswith(".file", self.at):
                self._file()
            elif c == ".":
                self._declaration(function)
            else:
                self._labelled(function, pending)
            if len(function.instrs) > MAX_INSTRUCTIONS:
                raise self.bad("more instructions than a kernel has")
        for instr, scope, name in pending:
            instr.target = self._resolve(scope, name, function, instr)
        self.function = self.scope = None

    def _params(self, function: Function) -> None:
        """Parameters of device functions may be registers."""
        assert self.scope is not None
        for v in (*function.params, *function.results):
            if v.space == "reg":
                self._define(v.name, {1: "pred", 2: "b16", 4: "b32", 8: "b64"}[v.size])

    def _declaration(self, function: Function) -> None:
        at, statement = self.at, self.statement()
        assert self.scope is not None
        if statement.startswith(".reg"):
            found = _REG.match(statement)
            if found is None:
                raise self.bad("a .reg that cannot be read", at)
            for name in found[2].split(","):
                name = name.strip()  # noqa: PLW2901
                ranged = re.match(r"([\w$%]+)<(\d+)>$", name)
                if ranged:
                    self.scope.ranges[ranged[1]] = (found[1], int(ranged[2]))
                else:
                    self._define(name, found[1])
        elif statement.startswith(
            (
                ".shared",
                ".local",
                ".param",
                ".global",
                ".const",
                ".extern",
                ".visible",
                ".weak",
                ".align",
            )
        ):
            for v in self._variables(statement, at):
                self.unique += 1
                name = f"{function.name}.{v.name}.{self.unique}"
                self.scope.symbols[v.name] = name
                v.name = name
                function.variables[name] = v
        elif not statement.startswith(
            (".pragma", ".branchtargets", ".callprototype", ".calltargets")
        ):
            raise self.bad("a directive that is not known", at)

    def _labelled(self, function: Function, pending: list[tuple[Instr, _Scope, str]]) -> None:
        assert self.scope is not None
        label = _LABEL.match(self.text, self.at)
        if label:
            self.unique += 1
            name = f"{label[1]}.{self.unique}"
            self.scope.labels[label[1]] = name
            function.labels[name] = len(function.instrs)
            self.at = label.end()
            self.skip()
            if self.text.startswith(".branchtargets", self.at):
                statement = self.statement()
                names = [n.strip() for n in statement[len(".branchtargets") : -1].split(",")]
                function.tables[label[1]] = tuple(names)
            elif self.text.startswith(".callprototype", self.at):
                self.statement()
            return
        at = self.at
        line = self.where()
        statement = self.statement()[:-1].strip()
        found = _OPCODE.match(statement)
        if found is None:
            raise self.bad("an instruction that cannot be read", at)
        guard = self._register(found[2], at) if found[2] else None
        op = found[3]
        rest = found[4].strip()
        instr = Instr(
            op,
            tuple(op.split(".")),
            (),
            guard,
            found[1] == "!",
            line,
            self.source,
            text=statement,
        )
        if instr.parts[0] == "bra":
            pending.append((instr, self.scope, rest))
        elif instr.parts[0] == "brx":
            index, table = _split(rest)
            instr.operands = (self._operand(index.strip(), at),)
            instr.text = f"{op} {rest}"
            ways = function.tables.get(table.strip())
            if ways is None:
                raise UnsupportedCodeError(
                    "brx.idx with a table behind it", line=line, where=f"line {line}"
                )
            for n in ways:
                probe = Instr("bra", ("bra",), ())
                pending.append((probe, self.scope, n))
                instr.operands = (*instr.operands, Group((Sym(n),)))
        else:
            instr.operands = tuple(self._operand(o.strip(), at) for o in _split(rest) if o.strip())
        function.instrs.append(instr)

    def _resolve(self, scope: _Scope, name: str, function: Function, instr: Instr) -> int:
        look: _Scope | None = scope
        while look is not None:
            if name in look.labels:
                return function.labels[look.labels[name]]
            look = look.outer
        every = [n for n in function.labels if n.rpartition(".")[0] == name]
        if len(every) == 1:
            return function.labels[every[0]]
        raise CheckError(
            f"a branch to {name[:40]!r}, which is no label",
            line=instr.line,
            where=f"line {instr.line}",
        )

    def _define(self, name: str, kind: str) -> Reg:
        assert self.function is not None
        assert self.scope is not None
        if kind not in TYPE_BYTES:
            raise UnsupportedCodeError(
                f"registers of type .{kind}", line=self.where(), where=f"line {self.where()}"
            )
        reg = Reg(len(self.function.regs), kind, name)
        self.function.regs.append(kind)
        self.scope.names[name] = reg
        return reg

    def _register(self, name: str, at: int) -> Reg:
        result = self._find_register(name)
        if result is None:
            raise self.bad(f"the register {name[:40]} is not declared", at)
        return result

    def _find_register(self, name: str) -> Reg | None:
        look = self.scope
        stem = name.rstrip("0123456789")
        number = name[len(stem) :]
        while look is not None:
            if name in look.names:
                return look.names[name]
            if number and stem in look.ranges and int(number) < look.ranges[stem][1]:
                assert self.function is not None
                kind = look.ranges[stem][0]
                if kind not in TYPE_BYTES:
                    raise UnsupportedCodeError(
                        f"registers of type .{kind}", where=f"line {self.where()}"
                    )
                reg = Reg(len(self.function.regs), kind, name)
                self.function.regs.append(kind)
                look.names[name] = reg
                return reg
            look = look.outer
        return None

    def _symbol(self, name: str) -> str:
        look = self.scope
        while look is not None:
            if name in look.symbols:
                return look.symbols[name]
            look = look.outer
        return name

    def _operand(self, text: str, at: int) -> Operand:  # noqa: C901, PLR0911, PLR0912
        c = text[0]
        if c == "{":
            items = _split(text[1 : text.rindex("}")])
            return Vec(tuple(self._operand(t.strip(), at) for t in items if t.strip()))
        if c == "[":
            return self._address(text, at)
        if c == "(":
            items = _split(text[1:-1])
            return Group(tuple(self._operand(t.strip(), at) for t in items if t.strip()))
        if c == "!":
            return Not(self._operand(text[1:].strip(), at))
        if text == "_":
            return Sink()
        if "|" in text:
            first, second = text.split("|", 1)
            return Pair(self._operand(first.strip(), at), self._operand(second.strip(), at))
        number = _number(text)
        if number is not None:
            return number
        if c == "-" and _number(text[1:].strip()) is not None:
            found = _number(text[1:].strip())
            assert found is not None
            return Imm(-found.value, found.bits)
        reg = self._find_register(text)
        if reg is not None:
            return reg
        if c == "%":
            stem, _, part = text.rpartition(".")
            parts = ("x", "y", "z", "w", "r", "g", "b", "a", "b0", "b1", "b2", "b3", "h0", "h1")
            if stem and part in parts:
                whole = self._find_register(stem)
                if whole is not None:
                    what = "vector registers" if len(part) == 1 else "parts of registers"
                    raise UnsupportedCodeError(what, where=f"line {self.where(at)}")
            if _SPECIAL.match(text):
                return Special(text[1:])
            raise self.bad(f"the register {text[:40]} is not declared", at)
        if text == "WARP_SZ":
            return Imm(32)
        offset = _OFFSET.match(text)
        if offset:
            step = int(offset[3], 0) * (-1 if offset[2] == "-" else 1)
            return Sym(self._symbol(offset[1].strip()), step)
        if re.match(rf"{_NAME}$", text):
            return Sym(self._symbol(text))
        raise self.bad(f"an operand that cannot be read: {text[:40]!r}", at)

    def _address(self, text: str, at: int) -> Operand:
        end = text.rfind("]")
        if end < 0:
            raise self.bad("an address without its end", at)
        parts = [p.strip() for p in _split(text[1:end])]
        first, offset = parts[0], 0
        found = _OFFSET.match(first)
        if found and self._find_register(first) is None:
            first = found[1].strip()
            offset = int(found[3], 0) * (-1 if found[2] == "-" else 1)
        if not first:
            raise self.bad("an empty address", at)
        rest = tuple(self._operand(p, at) for p in parts[1:] if p)
        return Addr(self._operand(first, at), offset, rest)


def _number(text: str) -> Imm | None:
    if not (text[0].isdigit() or text[0] in "+-."):
        return None
    if _INT.match(text):
        body = text.rstrip("U")
        sign = -1 if body[0] == "-" else 1
        digits = body.lstrip("+-")
        if len(digits) > 1 and digits[0] == "0" and digits[1:].isdigit():
            return Imm(sign * int(digits, 8)) if set(digits) <= set("01234567") else None
        return Imm(sign * int(digits, 0))
    if text[:2] in ("0f", "0F") and len(text) == 10:
        return Imm(int(text[2:], 16), 32)
    if text[:2] in ("0d", "0D") and len(text) == 18:
        return Imm(int(text[2:], 16), 64)
    if _FLOAT.match(text):
        return Imm(float(text), -1)
    return None


def _split(text: str) -> list[str]:
    """At commas outside of brackets."""
    if not any(c in text for c in "{[("):
        return text.split(",")
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "{[(":
            depth += 1
        elif c in "}])":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return parts


def parse(text: str) -> Module:
    """A PTX file; ``CheckError`` with the line where it is none."""
    reader = _Reader(text)
    try:
        return reader.module_level()
    except (ValueError, IndexError, KeyError, AttributeError) as error:
        line = reader.where()
        raise CheckError(
            f"the file cannot be read here: {type(error).__name__} {error}",
            line=line,
            where=f"line {line}",
        ) from None
