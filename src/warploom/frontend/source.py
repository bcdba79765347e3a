"""The source of a Python function: its syntax tree with the lines it has in the author's file."""

import ast
import linecache
import textwrap
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NoReturn

from warploom.dataclass import dataclass
from warploom.errors import (
    KernelError,
    KernelMemoryError,
    KernelNameError,
    KernelShapeError,
    KernelSyntaxError,
    KernelTypeError,
)
from warploom.ir.tile import Line


class Mistakes:
    """Errors at a node of a kernel's source, by their kind."""

    __slots__ = ()

    def fail(self, kind: type[KernelError], node: ast.AST, what: str, **parts: str) -> NoReturn:
        """Raise an error at a node; ``why`` and ``fix`` are its further parts."""
        raise NotImplementedError

    def wrong_type(self, node: ast.AST, what: str, **parts: str) -> NoReturn:
        """A value of the wrong kind or element type."""
        self.fail(KernelTypeError, node, what, **parts)

    def wrong_shape(self, node: ast.AST, what: str, **parts: str) -> NoReturn:
        """Shapes that do not go together."""
        self.fail(KernelShapeError, node, what, **parts)

    def wrong_syntax(self, node: ast.AST, what: str, **parts: str) -> NoReturn:
        """Python that the tile language does not have."""
        self.fail(KernelSyntaxError, node, what, **parts)

    def wrong_name(self, node: ast.AST, what: str, **parts: str) -> NoReturn:
        """A name that means nothing at that place."""
        self.fail(KernelNameError, node, what, **parts)

    def wrong_memory(self, node: ast.AST, what: str, **parts: str) -> NoReturn:
        """A load or a store that cannot be meant."""
        self.fail(KernelMemoryError, node, what, **parts)


@dataclass(frozen=True, slots=True)
class Source(Mistakes):
    """A function's tree; ``indent`` columns were taken off each of its ``lines``."""

    file: str
    first: int
    lines: tuple[str, ...]
    indent: int
    tree: ast.FunctionDef | ast.Lambda

    def line(self, node: ast.AST) -> Line:
        """Where a node stands."""
        number = getattr(node, "lineno", self.first)
        return Line(file=self.file, number=number, text=self._text(number).strip())

    def _text(self, number: int) -> str:
        at = number - self.first
        return self.lines[at] if 0 <= at < len(self.lines) else ""

    def fail(self, kind: type[KernelError], node: ast.AST, what: str, **parts: str) -> NoReturn:
        """Raise an error that shows the node in its line."""
        number = getattr(node, "lineno", self.first)
        text = self._text(number).rstrip()
        stripped = text.lstrip()
        start = self._column(text, getattr(node, "col_offset", 0) + self.indent)
        same = getattr(node, "end_lineno", number) == number
        end = getattr(node, "end_col_offset", None) if same else None
        stop = len(text) if end is None else self._column(text, end + self.indent)
        lead = max(0, start - (len(text) - len(stripped)))
        caret = " " * lead + "^" * max(1, min(stop, len(text)) - start)
        where = f"{self.file}:{number}"
        if stripped:
            where += f"\n          {stripped}\n          {caret}"
        raise kind(what, where=where, file=self.file, line=number, **parts)

    @staticmethod
    def _column(text: str, offset: int) -> int:
        """Syntax trees count bytes; a caret needs characters."""
        return len(text.encode()[:offset].decode(errors="ignore"))


def read_source(function: Callable[..., Any]) -> Source:
    """The source of a plain function or a lambda."""
    code = getattr(function, "__code__", None)
    name = getattr(function, "__name__", repr(function))
    if code is None:
        raise KernelSyntaxError(
            f"'{name}' has no Python text",
            why="a kernel and the functions it calls are read from their source",
            fix="write it as a Python function",
        )
    quick = _read_def(function, code) if name != "<lambda>" else None
    if quick is not None:
        return quick
    import inspect  # noqa: PLC0415 (it loads a tokenizer, and few need it)

    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError, SyntaxError) as problem:
        raise KernelSyntaxError(
            f"the text of '{name}' cannot be found",
            where=f"{code.co_filename}:{code.co_firstlineno}",
            why=f"a kernel is read from its source, which Python does not have here ({problem})",
            fix="put it into a file (or a notebook cell) and import it",
        ) from None
    if name == "<lambda>":
        return _read_lambda(code)
    result = _read_lines(code, lines, first)
    if result is None:
        raise KernelSyntaxError(
            f"'{name}' is not a plain function",
            where=f"{code.co_filename}:{first}",
            why="only functions written with def, or lambdas, can be read",
            fix="write it as def name(...): ...",
        )
    return result


def _read_lines(code: CodeType, lines: Sequence[str], first: int) -> Source | None:
    """The function that lines hold; None where they hold something else."""
    text = textwrap.dedent("".join(lines))
    tree = ast.parse(text).body[0]
    ast.increment_lineno(tree, first - 1)
    if not isinstance(tree, ast.FunctionDef):
        return None
    indent = _indent(lines[0])
    return Source(code.co_filename, first, tuple(x.rstrip("\n") for x in lines), indent, tree)


def _read_def(function: Callable[..., Any], code: CodeType) -> Source | None:
    """A function from the lines of its bytecode and those that follow further in, which may have
    none. ``inspect`` finds the same by a tokenizer, in many times the time; None where these lines
    alone make no function.
    """
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, getattr(function, "__globals__", None))
    first, last = code.co_firstlineno, _last_line(code)
    if not 1 <= first <= last <= len(lines):
        return None
    indent, stop = _indent(lines[first - 1]), last
    for at in range(last, len(lines)):
        said = lines[at].strip()
        if not said or said.startswith("#"):
            continue
        if _indent(lines[at]) <= indent:
            break
        stop = at + 1
    try:
        return _read_lines(code, lines[first - 1 : stop], first)
    except (SyntaxError, ValueError):
        return None


def _last_line(code: CodeType) -> int:
    """The last line of which there is bytecode."""
    inner = (_last_line(c) for c in code.co_consts if isinstance(c, CodeType))
    ends = (end for _, end, _, _ in code.co_positions() if end is not None)
    return max([code.co_firstlineno, *inner, *ends])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _read_lambda(code: CodeType) -> Source:
    """A lambda's text: from its keyword to the shortest end after its body that can be read.

    Bytecode says where the body lies; a statement may hold several lambdas.
    """
    import inspect  # noqa: PLC0415 (it loads a tokenizer, and few need it)

    first = code.co_firstlineno
    known = [p for p in code.co_positions() if None not in p and (p[0], p[2]) != (p[1], p[3])]
    all_lines = inspect.findsource(code)[0]
    begin, end = _body(known, first)
    lines = all_lines[first - 1 : end[0] + 8]
    text = "".join(lines).encode()
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    body_at = starts[begin[0] - first] + begin[1]
    body_end = starts[end[0] - first] + end[1]
    at = text.rfind(b"lambda", 0, body_at)
    while at >= 0:
        for stop in range(body_end, min(len(text), body_end + 400) + 1):
            tree = _parsed(text[at:stop])
            if tree is not None and _names(tree) == code.co_varnames[: len(_names(tree))]:
                row = text.count(b"\n", 0, at)
                _place(tree, first + row, at - starts[row])
                kept = tuple(x.rstrip("\n") for x in lines)
                return Source(code.co_filename, first, kept, 0, tree)
        at = text.rfind(b"lambda", 0, at)
    raise KernelSyntaxError(
        "the text of a lambda cannot be told apart from what stands around it",
        where=f"{code.co_filename}:{first}",
        why="functions that a kernel calls are read from their source",
        fix="write it as a def with a name",
    )


def _body(spans: list[Any], first: int) -> tuple[tuple[int, int], tuple[int, int]]:
    if not spans:
        return (first, 0), (first, 0)
    return min((p[0], p[2]) for p in spans), max((p[1], p[3]) for p in spans)


def _parsed(text: bytes) -> ast.Lambda | None:
    try:
        tree = ast.parse(b"(" + text + b")", mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return tree if isinstance(tree, ast.Lambda) else None


def _names(tree: ast.Lambda) -> tuple[str, ...]:
    args = tree.args
    return tuple(a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs))


def _place(tree: ast.AST, number: int, column: int) -> None:
    """Give nodes parsed from one bracketed stretch the places they have in the file."""
    for node in ast.walk(tree):
        if not hasattr(node, "lineno"):
            continue
        places: Any = node
        if places.lineno == 1:
            places.col_offset += column - 1
        if places.end_lineno == 1:
            places.end_col_offset += column - 1
        places.lineno += number - 1
        places.end_lineno += number - 1
