"""AMDGCN assembly as values: instructions, labels, kernel descriptor and metadata.

It reads what LLVM prints (for any front end) and what people write by hand: symbols set with
``.set``, register expressions such as ``v[base+1]``, every spelling of ``s_waitcnt``.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from warploom.errors import CheckError

TARGETS = ("gfx942", "gfx950")
VM_CAPACITY = 63
LGKM_CAPACITY = 15
EXP_CAPACITY = 7
MAX_LINES = 2_000_000
MAX_EXPANSION = 400_000
MOST_NUMBER = 1 << 32  # no modifier has more bits

_BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_COMMENT = re.compile(r"(;|//).*")
_COUNTER = re.compile(r"(\w+)\s*\(\s*([^()]*?)\s*\)")
_LABEL = re.compile(r"([A-Za-z_.$][\w.$@]*)\s*:(.*)$", re.DOTALL)
_ASSIGN = re.compile(r"(?:\.(?:set|equ|equiv)\s+([\w.$]+)\s*,|([\w.$]+)\s*=(?!=))\s*(.*)$")
_NUMBERED = re.compile(r"(\d+)\s*:(.*)$", re.DOTALL)  # a label that may stand there many times
_TO_NUMBERED = re.compile(r"(\d+)([fb])$")
_SUFFIX = re.compile(r"_(e32|e64|e64_dpp|dpp|sdwa)$")
_FLAGS = frozenset(
    (
        "offen", "idxen", "lds", "glc", "slc", "dlc", "sc0", "sc1", "nt", "tfe", "gds", "clamp",
        "addr64", "row_mirror", "row_half_mirror", "high",
    )
)  # fmt: skip
_SPACED = re.compile(r"\s*(,)\s*|(\[)\s+|\s+(\])")
_WORD_MODIFIER = re.compile(r"[a-z]\w*(:\S+)?$")
_BRACKETED = re.compile(r"([vsa]|ttmp)\[([^\[\]]+)\]")
_SYMBOL = re.compile(r"[A-Za-z_.$][\w.$]*")


_REFERENCE = re.compile(r"([A-Za-z_.$][\w.$]*?)(?:@(?:rel32|gotpcrel32)@(?:lo|hi)[+\d]*)?$")
_DATA = {
    ".long": 4, ".quad": 8, ".short": 2, ".byte": 1, ".zero": 0, ".4byte": 4, ".8byte": 8,
    ".2byte": 2, ".int": 4, ".hword": 2, ".space": 0, ".skip": 0, ".ascii": -1, ".asciz": -1,
}  # fmt: skip


class AssemblyError(CheckError):
    """The file is no AMDGCN assembly, or breaks a rule of its form."""


@dataclass(frozen=True, slots=True)
class Waits:
    """The counts of one ``s_waitcnt``; a counter at its capacity waits for nothing."""

    vm: int = VM_CAPACITY
    lgkm: int = LGKM_CAPACITY
    exp: int = EXP_CAPACITY


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One instruction. ``line`` counts from 1; ``source`` is file and line of a line table."""

    mnemonic: str
    operands: tuple[str, ...]
    modifiers: Mapping[str, str]
    line: int
    text: str
    form: str = ""
    source: tuple[str, int] | None = None

    def flag(self, name: str) -> bool:
        """Whether a modifier stands there, with or without a value."""
        return name in self.modifiers

    def number(self, name: str, usual: int = 0) -> int:
        """The value of a numeric modifier."""
        value = self.modifiers.get(name)
        if value is None:
            return usual
        try:
            result = int(value, 0)
        except ValueError:
            result = MOST_NUMBER
        if abs(result) >= MOST_NUMBER:
            raise AssemblyError(
                f"{name}:{value[:40]} is no number", where=f"line {self.line}: {self.text}"
            )
        return result

    def number_operand(self) -> int:
        """The first operand as a number (``s_nop``); 0 where there is none."""
        try:
            return int(self.operands[0], 0) if self.operands else 0
        except ValueError:
            return 0

    def bits(self, name: str, count: int, usual: int = 0) -> tuple[int, ...]:
        """A bracketed list such as ``op_sel:[0,1]``, filled up to ``count``."""
        value = self.modifiers.get(name)
        if value is None:
            return (usual,) * count
        parts = value.strip("[]").split(",")
        try:
            found = tuple(int(p, 0) for p in parts)
        except ValueError:
            raise AssemblyError(
                f"{name}:{value} is no list of numbers", where=f"line {self.line}: {self.text}"
            ) from None
        return (found + (usual,) * count)[: max(count, len(found))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One kernel argument of the metadata."""

    name: str
    offset: int
    size: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One kernel of an assembly file."""

    name: str
    target: str
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    descriptor: Mapping[str, int]
    arguments: tuple[Argument, ...] | None
    metadata: Mapping[str, Any]
    symbols: Mapping[str, int] = field(default_factory=dict)
    data: Mapping[str, bytes] = field(default_factory=dict)
    keeps_halves: bool = False  # loads of half a register keep the other half: no ECC of registers

    def target_of(self, instruction: Instruction) -> int:
        """The instruction that a branch jumps to."""
        label = instruction.operands[0] if instruction.operands else ""
        if label not in self.labels:
            raise AssemblyError(
                f"a branch to the unknown label {label!r}",
                where=f"line {instruction.line}: {instruction.text}",
            )
        return self.labels[label]

    def number(self, key: str, directive: str = "") -> int | None:
        """A number of the metadata, or of the descriptor where the metadata has none."""
        value = self.metadata.get(key)
        if isinstance(value, int):
            return value
        return self.descriptor.get(directive)

    @property
    def lds_bytes(self) -> int:
        """LDS that the kernel declares."""
        return self.number(".group_segment_fixed_size", ".amdhsa_group_segment_fixed_size") or 0

    @property
    def scratch_bytes(self) -> int:
        """Private memory of a lane."""
        return self.number(".private_segment_fixed_size", ".amdhsa_private_segment_fixed_size") or 0


def kernel_names(text: str) -> tuple[str, ...]:
    """Names of the kernels an assembly file defines, in order."""
    described = re.findall(r"^[^\S\n]*\.amdhsa_kernel[^\S\n]+(\S+)", text, re.MULTILINE)
    return tuple(dict.fromkeys(described))


def read_kernel(text: str, entry: str | None = None) -> Kernel:
    """Read one kernel: the named one, or the only one of the file."""
    if "\0" in text:
        raise AssemblyError(
            "this is a binary file",
            why="a code object was given where assembly is expected",
            fix="disassemble it with llvm-objdump -d, or keep the compiler's assembly",
        )
    if text.count("\n") > MAX_LINES:
        raise AssemblyError(f"more than {MAX_LINES} lines", fix="give a file with one kernel")
    text = _BLOCK_COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    names = kernel_names(text)
    name = _chosen(names, entry, text)
    parser = _Parser(name)
    parser.run(text.splitlines())
    if not parser.instructions:
        raise AssemblyError(
            f"no code for kernel {name!r}", fix="the file must hold the kernel's label and code"
        )
    parser.link()
    metadata = _kernel_metadata(parser.metadata, name)
    target = parser.target or str(metadata.get("amdhsa.target", ""))
    return Kernel(
        name=name,
        target=_known_target(target),
        instructions=tuple(parser.instructions),
        labels=parser.labels,
        descriptor=parser.descriptors.get(name, {}),
        arguments=_arguments(metadata),
        metadata=metadata,
        symbols=parser.symbols,
        data=parser.data,
        keeps_halves="sramecc-" in target,
    )


def _chosen(names: tuple[str, ...], entry: str | None, text: str) -> str:
    if entry is not None:
        if entry not in names and not re.search(rf"^{re.escape(entry)}:", text, re.MULTILINE):
            raise AssemblyError(
                f"no kernel {entry!r} in the file",
                fix=f"known: {', '.join(names)}" if names else "name a label of the file",
            )
        return entry
    if len(names) == 1:
        return names[0]
    if names:
        raise AssemblyError(
            f"the assembly defines {len(names)} kernels",
            fix=f"choose one with --entry: {', '.join(names)}",
        )
    marked = re.findall(r"^\s*\.type\s+(\S+)\s*,\s*@function", text, re.MULTILINE)
    marked = marked or re.findall(r"^([A-Za-z_]\w*):", text, re.MULTILINE)
    if len(marked) != 1:
        raise AssemblyError(
            "the assembly names no kernel",
            why="there is no .amdhsa_kernel descriptor and no single function",
            fix="add the descriptor, or name the kernel's label as the entry",
        )
    return str(marked[0])


def _known_target(spelled: str) -> str:
    match = re.search(r"gfx[0-9a-f]+", spelled)
    return match[0] if match else ""


class _Parser:
    """One pass over the lines of a file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.symbols: dict[str, int] = {}
        self.descriptors: dict[str, dict[str, int]] = {}
        self.metadata: list[str] = []
        self.target = ""
        self._inside = False
        self._ended = False
        self._descriptor: dict[str, int] | None = None
        self._in_metadata = False
        self._files: dict[int, str] = {}
        self._source: tuple[str, int] | None = None
        self._macros: dict[str, tuple[list[tuple[str, str]], list[tuple[int, str]]]] = {}
        self._serial = 0
        self._numbered: dict[str, int] = {}
        self._steps = 0
        self._section = ""  # the symbol that further lines belong to, outside of the kernel
        self._others: dict[str, list[tuple[int, str, tuple[str, int] | None]]] = {}
        self.data: dict[str, bytes] = {}

    def run(self, lines: list[str]) -> None:
        """Read every line."""
        self._lines(list(enumerate(lines, 1)), 0)

    def _lines(self, lines: list[tuple[int, str]], depth: int) -> None:
        if depth > 40:
            raise AssemblyError("macros nest too deeply", where=f"line {lines[0][0]}")
        at = 0
        while at < len(lines):
            self._steps += 1
            if self._steps > MAX_LINES + MAX_EXPANSION:
                raise AssemblyError("macros expand to too many lines")
            number, raw = lines[at]
            at += 1
            if self._in_metadata:
                self._metadata_line(raw)
                continue
            line = _COMMENT.sub("", raw).strip()
            if not line or line.startswith("#"):
                continue
            head = line.split(None, 1)[0].lower()
            if head in (".macro", ".rept", ".irp", ".irpc") or head.startswith(".if"):
                at = self._block(head, line, lines, at, depth)
                continue
            self._line(line, number, depth)

    def _block(
        self, head: str, line: str, lines: list[tuple[int, str]], at: int, depth: int
    ) -> int:
        """A block that another line ends; the index of what follows."""
        body, other, at = _collect(head, lines, at)
        rest = line[len(head) :].strip()
        if head == ".macro":
            parts = re.split(r"[\s,]+", rest)
            takes = [(p.partition("=")[0], p.partition("=")[2]) for p in parts[1:] if p]
            self._macros[parts[0]] = ([(n.split(":")[0], d) for n, d in takes], body)
        elif head == ".rept":
            times = self._evaluate(rest, lines[at - 1][0])
            if times * max(1, len(body)) > MAX_EXPANSION:
                raise AssemblyError(
                    ".rept expands to too many lines", where=f"line {lines[at - 1][0]}"
                )
            for _ in range(times):
                self._lines(body, depth + 1)
        elif head in (".irp", ".irpc"):
            self._each(rest, body, split=head == ".irpc", depth=depth)
        else:
            holds = self._holds(head, rest, lines[at - 1][0])
            self._lines(body if holds else other, depth + 1)
        return at

    def _each(self, rest: str, body: list[tuple[int, str]], *, split: bool, depth: int) -> None:
        """A block once for every value of a list."""
        name, _, values = rest.replace(" ", ",", 1).partition(",")
        listed = list(values.strip(" ,")) if split else [v for v in _split(values.strip(" ,")) if v]
        for value in listed:
            filled = [(number, line.replace(f"\\{name}", value)) for number, line in body]
            self._lines([(n, line.replace("\\()", "")) for n, line in filled], depth + 1)

    def _holds(self, head: str, rest: str, number: int) -> bool:
        """Whether the condition of a block holds."""
        if head in (".ifdef", ".ifndef"):
            return (rest in self.symbols) == (head == ".ifdef")
        if head in (".ifb", ".ifnb"):
            return (not rest) == (head == ".ifb")
        if head in (".ifc", ".ifnc"):
            first, _, second = rest.partition(",")
            return (first.strip() == second.strip()) == (head == ".ifc")
        test = _CONDITIONS.get(head)
        if test is None:
            raise AssemblyError(f"{head} is not read", where=f"line {number}")
        return bool(test(self._evaluate(rest, number)))

    def _metadata_line(self, raw: str) -> None:
        if raw.strip() == ".end_amdgpu_metadata":
            self._in_metadata = False
        else:
            self.metadata.append(raw)

    def _line(self, line: str, number: int, depth: int) -> None:
        assign = _ASSIGN.match(line)
        if assign:
            self._assign(assign[1] or assign[2], assign[3], number)
            return
        label = _LABEL.match(line)
        numbered = _NUMBERED.match(line)
        if numbered:
            count = self._numbered[numbered[1]] = self._numbered.get(numbered[1], 0) + 1
            label = _LABEL.match(f"{_name_of(numbered[1], count)}:{numbered[2]}")
        if label and not label[2].startswith(":"):
            self._label(label[1])
            rest = label[2].strip()
            if rest:
                self._line(rest, number, depth)
            return
        word = line.split(None, 1)[0]
        if word in self._macros:
            self._expand(word, line[len(word) :].strip(), number, depth)
        elif line.startswith("."):
            self._directive(line, number)
            if self._section and word in _DATA:
                self._others[self._section].append((number, line, None))
        elif self._inside and not self._ended:
            self.instructions.append(self._instruction(line, number))
        elif self._section:
            self._others[self._section].append((number, line, self._source))

    def _in_function(self) -> bool:
        """Whether a label belongs to the symbol before it: it does in code, not in data."""
        lines = self._others.get(self._section)
        return lines is not None and not (lines and all(w.startswith(".") for _, w, _ in lines))

    def link(self) -> None:
        """Append the functions and data of the file that the kernel refers to."""
        done: set[str] = set()
        at = 0
        while at < len(self.instructions):
            for text in self.instructions[at].operands:
                match = _REFERENCE.match(text)
                if match and match[1] in self._others and match[1] not in done:
                    done.add(match[1])
                    self._append(match[1])
            at += 1

    def _append(self, name: str) -> None:
        lines = self._others[name]
        if all(line.startswith(".") for _, line, _ in lines):
            self.data[name] = b"".join(self._bytes(line, number) for number, line, _ in lines)
            return
        self.labels[name] = len(self.instructions)
        for number, line, source in lines:
            label = _LABEL.match(line)
            if label:
                self.labels[label[1]] = len(self.instructions)
            elif not line.startswith("."):
                self._source = source
                self.instructions.append(self._instruction(line, number))

    def _bytes(self, line: str, number: int) -> bytes:
        """What a data directive stands for."""
        word, _, rest = line.replace("\t", " ").partition(" ")
        size = _DATA.get(word, -1)
        if size == 0:
            parts = [self._evaluate(p, number) for p in rest.split(",")]
            count, fill = parts[0], (parts[1] if len(parts) > 1 else 0) & 255
            if not 0 <= count <= 1 << 24:
                raise AssemblyError(f"{count} bytes of data", where=f"line {number}")
            return bytes([fill]) * count
        if size < 0:
            raise AssemblyError("data written as text are not read", where=f"line {number}")
        numbers = [self._evaluate(p, number) for p in rest.split(",")]
        return b"".join((n & ((1 << 8 * size) - 1)).to_bytes(size, "little") for n in numbers)

    def _assign(self, name: str, expression: str, number: int) -> None:
        try:
            self.symbols[name] = self._evaluate(expression, number)
        except AssemblyError:
            self.symbols.pop(name, None)  # an address difference of LLVM's; used by nothing here

    def _label(self, name: str) -> None:
        if name == self.name:
            self._inside, self._ended, self._section = True, False, ""
        elif self._inside and not self._ended:
            if name.startswith(".Lfunc_end"):
                self._ended = True
            else:
                self.labels[name] = len(self.instructions)
        elif name.startswith(".Lfunc_end"):
            self._section = ""
        elif name.startswith(".L") and self._in_function():
            self._others[self._section].append((0, f"{name}:", None))
        else:
            self._section = name
            self._others.setdefault(name, [])

    def _expand(self, word: str, rest: str, number: int, depth: int) -> None:
        takes, body = self._macros[word]
        given = [p.strip() for p in _split(rest)] if rest else []
        if len(given) == 1 and len(takes) > 1 and "," not in rest:
            given = rest.split()
        values = dict(takes)
        for index, value in enumerate(given):
            name, equals, right = value.partition("=")
            if equals and name.strip() in values:
                values[name.strip()] = right.strip()
            elif index < len(takes):
                values[takes[index][0]] = value
        self._serial += 1
        lines = []
        for _, written in body:
            filled = written
            for name in sorted(values, key=len, reverse=True):
                filled = filled.replace(f"\\{name}", values[name])
            lines.append((number, filled.replace("\\@", str(self._serial)).replace("\\()", "")))
        self._lines(lines, depth + 1)

    def _directive(self, line: str, number: int) -> None:
        word, _, rest = line.partition(" ")
        word, rest = (word, rest) if "\t" not in word else tuple(line.split(None, 1))
        rest = rest.strip()
        if word == ".amdhsa_kernel":
            self._descriptor = self.descriptors.setdefault(rest, {})
        elif word == ".end_amdhsa_kernel":
            self._descriptor = None
        elif self._descriptor is not None and word.startswith(".amdhsa_"):
            try:
                self._descriptor[word] = self._evaluate(rest, number)
            except AssemblyError:
                self._descriptor.pop(word, None)
        else:
            self._other_directive(word, rest, number)

    def _other_directive(self, word: str, rest: str, number: int) -> None:
        if word == ".amdgpu_metadata":
            self._in_metadata = True
        elif word == ".amdgcn_target":
            self.target = rest.strip('"')
        elif word == ".file":
            self._file(rest)
        elif word == ".loc":
            self._loc(rest)
        elif word == ".amdgpu_lds":
            self._lds_symbol(rest, number)
        elif word in (".section", ".text", ".rodata", ".data"):
            self._section = ""
            self._ended |= self._inside and bool(self.instructions)

    def _lds_symbol(self, rest: str, number: int) -> None:
        parts = [p.strip() for p in rest.split(",")]
        if len(parts) >= 2:
            align = self._evaluate(parts[2], number) if len(parts) > 2 else 16
            top = self.symbols.get("$lds", 0)
            start = -(-top // max(1, align)) * max(1, align)
            self.symbols[parts[0]] = start
            self.symbols["$lds"] = start + self._evaluate(parts[1], number)

    def _file(self, rest: str) -> None:
        match = re.match(r'(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?', rest)
        if match:
            name = match[3] if match[3] else match[2]
            self._files[int(match[1])] = name

    def _loc(self, rest: str) -> None:
        parts = rest.split()
        if len(parts) >= 2 and parts[0].isdigit() and parts[1].isdigit() and int(parts[1]):
            self._source = (self._files.get(int(parts[0]), ""), int(parts[1]))

    def _evaluate(self, expression: str, number: int) -> int:
        return evaluate(expression, self.symbols, number)

    def _instruction(self, line: str, number: int) -> Instruction:
        parts = line.split(None, 1)
        mnemonic = parts[0]
        rest = " ".join(parts[1].split()) if len(parts) > 1 else ""
        if not re.match(r"[a-z][a-z0-9_]*$", mnemonic):
            raise AssemblyError(f"{line[:60]!r} is no instruction", where=f"line {number}")
        if len(rest) > 2000:
            raise AssemblyError(
                "an instruction of more than 2000 characters", where=f"line {number}"
            )
        match = _SUFFIX.search(mnemonic)
        form = match[1] if match else ""
        plain = mnemonic[: match.start()] if match else mnemonic
        text = f"{mnemonic} {rest}".strip()
        if mnemonic == "s_waitcnt":
            rest = self._counts(rest, number)
        if mnemonic in ("s_waitcnt", "s_sendmsg", "s_getreg_b32", "s_setreg_b32") or (
            mnemonic == "s_setreg_imm32_b32"
        ):
            return Instruction(
                mnemonic=mnemonic,
                operands=(rest,),
                modifiers={},
                line=number,
                text=text,
                source=self._source,
            )
        operands, modifiers = self._operands(rest, number)
        if mnemonic.startswith(("s_branch", "s_cbranch")):
            operands = tuple(self._numbered_target(o) for o in operands)
        return Instruction(
            mnemonic=plain,
            operands=operands,
            modifiers=modifiers,
            line=number,
            text=text,
            form=form,
            source=self._source,
        )

    def _counts(self, rest: str, number: int) -> str:
        """The counts of a wait, with symbols replaced by numbers."""

        def count(match: re.Match[str]) -> str:
            return f"{match[1]}({self._evaluate(match[2], number)})"

        if not re.search(r"[A-Za-z_]\w*\s*\(", rest):
            named = re.fullmatch(r"[A-Za-z_.$][\w.$]*", rest)
            return str(self._evaluate(rest, number)) if named and rest in self.symbols else rest
        return re.sub(r"([A-Za-z_]\w*)\s*\(([^()]*[A-Za-z_+*/-][^()]*)\)", count, rest)

    def _numbered_target(self, text: str) -> str:
        """The label that ``1f`` or ``1b`` means here."""
        match = _TO_NUMBERED.match(text)
        if match is None:
            return text
        return _name_of(match[1], self._numbered.get(match[1], 0) + (match[2] == "f"))

    def _operands(self, rest: str, number: int) -> tuple[tuple[str, ...], dict[str, str]]:
        parts = _split(rest)
        modifiers: dict[str, str] = {}
        if parts:
            words = _SPACED.sub(lambda m: m[0].strip(), parts[-1]).split()
            first = 0 if words and _is_modifier(words[0]) else 1
            while first < len(words) and not _is_modifier(words[first]):
                first += 1
            parts[-1] = " ".join(words[:first])
            for word in words[first:]:
                name, _, value = word.partition(":")
                modifiers[name] = value
            if not parts[-1]:
                parts.pop()
        return tuple(self._operand(p, number) for p in parts), modifiers

    def _operand(self, text: str, number: int) -> str:
        """One operand with symbols and register expressions replaced by numbers."""

        def bracket(match: re.Match[str]) -> str:
            low, colon, high = match[2].partition(":")
            first = self._evaluate(low, number)
            last = self._evaluate(high, number) if colon else first
            return f"{match[1]}[{first}:{last}]" if last != first else f"{match[1]}{first}"

        text = _BRACKETED.sub(bracket, text)
        if text in self.symbols:
            return str(self.symbols[text])
        if re.search(r"[+*/()<>]|\w\s*-\s*\w", text) and not re.search(
            r"\||^-?(neg|abs|sext|lit|sendmsg|hwreg)\(|@|^-?\d*\.?\d+e[-+]", text
        ):
            try:
                return str(self._evaluate(text, number))
            except AssemblyError:
                return text
        return text


def _name_of(number: str, count: int) -> str:
    """A name of its own for one of the labels of a number."""
    return f".L${number}.{count}"


_CONDITIONS: Mapping[str, Any] = {
    ".if": lambda value: value != 0,
    ".ifne": lambda value: value != 0,
    ".ifeq": lambda value: value == 0,
    ".ifge": lambda value: value >= 0,
    ".ifgt": lambda value: value > 0,
    ".ifle": lambda value: value <= 0,
    ".iflt": lambda value: value < 0,
}


def _is_modifier(word: str) -> bool:
    if word in _FLAGS:
        return True
    return (
        ":" in word and bool(_WORD_MODIFIER.match(word)) and not word.startswith(("v[", "s[", "a["))
    )


def _collect(
    head: str, lines: list[tuple[int, str]], at: int
) -> tuple[list[tuple[int, str]], list[tuple[int, str]], int]:
    """The lines of a block, those after ``.else``, and the index behind its end."""
    conditional = head.startswith(".if")
    repeats = (".rept", ".irp", ".irpc")
    ends = {".macro": (".endm", ".endmacro"), **dict.fromkeys(repeats, (".endr",))}.get(
        head, (".endif",)
    )
    opens = repeats if head in repeats else (head,)
    body: list[tuple[int, str]] = []
    other: list[tuple[int, str]] = []
    closing: list[tuple[int, str]] = []  # what ends the block that .elseif began
    current, depth, start = body, 0, lines[at - 1][0]
    while at < len(lines):
        words = _COMMENT.sub("", lines[at][1]).split(None, 1)
        word = words[0].lower() if words else ""
        at += 1
        if word in ends and depth == 0:
            return body, [*other, *closing], at
        if conditional and word == ".elseif" and depth == 0 and not closing:
            current, closing = other, [(lines[at - 1][0], ".endif")]
            other.append((lines[at - 1][0], f".if {words[1] if len(words) > 1 else 0}"))
            continue
        if conditional and word == ".else" and depth == 0 and not closing:
            current = other
            continue
        opened = word.startswith(".if") if conditional else word in opens
        depth += opened - (word in ends)
        current.append(lines[at - 1])
    raise AssemblyError(f"{head} is never closed", where=f"line {start}")


_OPERATORS: Mapping[type, Any] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: int(a / b) if abs(a) < 2**52 else a // b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.LShift: lambda a, b: a << min(b, 64),
    ast.RShift: lambda a, b: a >> min(b, 64),
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
    ast.Eq: lambda a, b: int(a == b),
    ast.NotEq: lambda a, b: int(a != b),
    ast.Lt: lambda a, b: int(a < b),
    ast.LtE: lambda a, b: int(a <= b),
    ast.Gt: lambda a, b: int(a > b),
    ast.GtE: lambda a, b: int(a >= b),
}


def evaluate(expression: str, symbols: Mapping[str, int], line: int) -> int:
    """An assembler expression of numbers and known symbols."""
    expression = expression.strip()
    try:
        return int(expression, 0)
    except ValueError:
        pass
    if len(expression) > 500:
        raise AssemblyError("an expression of more than 500 characters", where=f"line {line}")

    def name(match: re.Match[str]) -> str:
        if match[0] not in symbols:
            raise AssemblyError(f"the unknown symbol {match[0]!r}", where=f"line {line}")
        return f"({symbols[match[0]]})"

    numbered = re.sub(r"(?<![\w.$])" + _SYMBOL.pattern, name, expression)
    try:
        return _value(ast.parse(numbered, mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, KeyError, MemoryError):
        raise AssemblyError(f"{expression!r} is no expression", where=f"line {line}") from None


def _value(node: ast.AST) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return int(node.value)
    if isinstance(node, ast.UnaryOp):
        inner = _value(node.operand)
        return {ast.USub: -inner, ast.UAdd: inner, ast.Invert: ~inner}[type(node.op)]
    if isinstance(node, ast.BinOp):
        return int(_OPERATORS[type(node.op)](_value(node.left), _value(node.right)))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return int(_OPERATORS[type(node.ops[0])](_value(node.left), _value(node.comparators[0])))
    raise ValueError(node)


def _split(rest: str) -> list[str]:
    """Operands; commas inside brackets do not separate."""
    if not rest:
        return []
    parts, depth, current = [], 0, ""
    for char in rest:
        depth += (char in "[(") - (char in "])")
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    return [*parts, current.strip()]


def read_waits(instruction: Instruction) -> Waits:
    """The counts of ``s_waitcnt`` in every spelling, a raw number included."""
    body = instruction.operands[0] if instruction.operands else ""
    where = f"line {instruction.line}: {instruction.text}"
    named = _COUNTER.findall(body)
    if not named:
        try:
            raw = int(body, 0)
        except ValueError:
            raise AssemblyError(f"{body!r} is no wait count", where=where) from None
        if not 0 <= raw <= 0xFFFF:
            raise AssemblyError(f"the wait count {raw} has more than 16 bits", where=where)
        return Waits(vm=raw & 15 | raw >> 14 << 4, lgkm=raw >> 8 & 15, exp=raw >> 4 & 7)
    counts = {}
    limits = {"vmcnt": VM_CAPACITY, "lgkmcnt": LGKM_CAPACITY, "expcnt": EXP_CAPACITY}
    for name, count in named:
        short = name.removesuffix("_sat")
        if short not in limits:
            raise AssemblyError(f"the unknown counter {name!r}", where=where)
        try:
            value = int(count, 0)
        except ValueError:
            raise AssemblyError(f"{count!r} is no wait count", where=where) from None
        if value < 0 or (value > limits[short] and short == name):
            raise AssemblyError(
                f"{name}({value}) cannot be encoded",
                where=where,
                why=f"the counter's largest operand is {limits[short]}, which waits for nothing",
                fix=f"{name}({limits[short] - 1}) or less",
            )
        counts[short] = min(value, limits[short])
    return Waits(
        vm=counts.get("vmcnt", VM_CAPACITY),
        lgkm=counts.get("lgkmcnt", LGKM_CAPACITY),
        exp=counts.get("expcnt", EXP_CAPACITY),
    )


# The metadata: the subset of YAML that compilers write.


def _kernel_metadata(lines: list[str], name: str) -> dict[str, Any]:
    """The metadata of one kernel, with the file's target."""
    if not lines:
        return {}
    document = _yaml(lines)
    if not isinstance(document, dict):
        return {}
    kernels = document.get("amdhsa.kernels")
    result: dict[str, Any] = {}
    for kernel in kernels if isinstance(kernels, list) else []:
        if isinstance(kernel, dict) and kernel.get(".name") == name:
            result = dict(kernel)
    if isinstance(document.get("amdhsa.target"), str):
        result["amdhsa.target"] = document["amdhsa.target"]
    return result


def _yaml(lines: list[str]) -> object:
    rows: list[tuple[int, str]] = []
    for raw in lines:
        stripped = raw.split(" #", 1)[0].rstrip()
        if stripped.strip() in ("", "---", "..."):
            continue
        if len(stripped) > 10_000 or len(rows) > 200_000:
            raise AssemblyError("the metadata is too large")
        rows.append((len(stripped) - len(stripped.lstrip()), stripped.strip()))
    value, _ = _yaml_block(rows, 0, 0, 0)
    return value


def _yaml_block(rows: list[tuple[int, str]], at: int, indent: int, depth: int) -> tuple[Any, int]:
    if depth > 50:
        raise AssemblyError("the metadata nests too deeply")
    if at >= len(rows):
        return None, at
    if rows[at][1].startswith("- ") or rows[at][1] == "-":
        return _yaml_list(rows, at, rows[at][0], depth)
    result: dict[str, Any] = {}
    level = rows[at][0]
    while at < len(rows) and rows[at][0] == level and not rows[at][1].startswith("- "):
        key, colon, rest = rows[at][1].partition(":")
        if not colon:
            return _yaml_scalar(rows[at][1]), at + 1
        at += 1
        if rest.strip():
            result[_yaml_key(key)] = _yaml_scalar(rest.strip())
        elif at < len(rows) and (
            rows[at][0] > level or (rows[at][0] == level and rows[at][1].startswith("-"))
        ):
            result[_yaml_key(key)], at = _yaml_block(rows, at, rows[at][0], depth + 1)
        else:
            result[_yaml_key(key)] = None
    if at < len(rows) and rows[at][0] > level:
        at += 1  # a continued scalar, of no use here
    return result, at


def _yaml_list(
    rows: list[tuple[int, str]], at: int, level: int, depth: int
) -> tuple[list[Any], int]:
    items: list[Any] = []
    while at < len(rows) and rows[at][0] == level and rows[at][1].startswith("-"):
        inner = rows[at][1][1:]
        shift = len(inner) - len(inner.lstrip()) + 1
        if not inner.strip():
            value, at = _yaml_block(rows, at + 1, level + 1, depth + 1)
        else:
            rows[at] = (level + shift, inner.strip())
            value, at = _yaml_block(rows, at, level + shift, depth + 1)
        items.append(value)
    return items, at


def _yaml_key(key: str) -> str:
    return key.strip().strip("'\"")


def _yaml_scalar(text: str) -> object:
    if text.startswith("[") and text.endswith("]"):
        return [_yaml_scalar(p.strip()) for p in text[1:-1].split(",") if p.strip()]
    if text[:1] in ("'", '"') and text[-1:] == text[:1] and len(text) > 1:
        return text[1:-1]
    try:
        return int(text, 0)
    except ValueError:
        return text


def _arguments(metadata: Mapping[str, Any]) -> tuple[Argument, ...] | None:
    listed = metadata.get(".args")
    if not isinstance(listed, list):
        return None if ".kernarg_segment_size" not in metadata else ()
    found = []
    for index, item in enumerate(listed):
        if not isinstance(item, dict):
            raise AssemblyError("the metadata's .args are malformed")
        offset, size = item.get(".offset"), item.get(".size")
        if not isinstance(offset, int) or not isinstance(size, int) or size < 0 or offset < 0:
            raise AssemblyError("an argument of the metadata has no .offset or .size")
        found.append(
            Argument(
                name=str(item.get(".name", f"arg{index}")),
                offset=offset,
                size=size,
                kind=str(item.get(".value_kind", "by_value")),
            )
        )
    return tuple(found)
