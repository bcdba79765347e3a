"""How commands speak: colour on a terminal only, lines that fit, progress, words or JSON, files."""

import functools
import inspect
import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TextIO, TypeVar

import typer

from warploom.dataclass import dataclass
from warploom.errors import BackendError, ConfigError, FileError, cannot_read

_CODES = {
    "title": "1",
    "note": "2",
    "wait": "33",
    "barrier": "90",
    "fence": "90",
    "signal": "32",
    "GLOBAL_LOAD": "34",
    "SHARED_STORE": "35",
    "FRAGMENT_LOAD": "36",
    "COMPUTE": "1;33",
    "VALU_COMPUTE": "32",
    "good": "1;32",
    "bad": "1;31",
    "added": "32",
    "removed": "31",
}
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_HEAD = re.compile(r"\s*(?:where |\S.*?\s{2,})?")  # what further lines are set under
PIPED = 120
LEAST = 60
_width: ContextVar[int | None] = ContextVar("width", default=None)


def _take(width: int | None) -> int | None:
    _width.set(width)
    return width


WidthOption = Annotated[
    int | None,
    typer.Option(
        min=LEAST,
        is_eager=True,
        callback=_take,
        help="Columns of the output; default: the terminal's, 120 in a pipe.",
    ),
]


def columns(stream: TextIO | None = None) -> int:
    """How many columns to write: those asked for, else the terminal's."""
    asked, stream = _width.get(), stream or sys.stdout
    if asked is not None:
        return asked
    if "COLUMNS" not in os.environ and stream.isatty():
        return max(LEAST, os.get_terminal_size(stream.fileno()).columns)
    piped = shutil.get_terminal_size((PIPED, 24)).columns if "COLUMNS" in os.environ else PIPED
    return max(LEAST, piped)


def coloured() -> bool:
    """Whether colour is wanted: on a terminal, unless NO_COLOR is set; FORCE_COLOR insists."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, kind: str) -> str:
    """Text in the colour of its kind, where colour is wanted."""
    code = _CODES.get(kind)
    return f"\x1b[{code}m{text}\x1b[0m" if code and text and coloured() else text


def wrapped(head: str, text: str, width: int | None = None) -> list[str]:
    """A text under its head, in lines that fit; a word too long, such as a path, stays whole."""
    width = width or columns()
    if _seen(head + text) <= width:
        return [(head + text).rstrip()]
    lines, now, empty = [], head, True
    for word in text.split():
        if not empty and _seen(now) + _seen(word) > width:
            lines.append(now.rstrip())
            now = " " * _seen(head)
        now, empty = f"{now}{word} ", False
    return [*lines, now.rstrip()]


def fit(text: str, width: int | None = None) -> str:
    """A text with every line that is too long broken between words, under where it began."""
    width = width or columns()
    lines: list[str] = []
    for line in text.split("\n"):
        if _seen(line) <= width:
            lines.append(line)
            continue
        head = _HEAD.match(line)[0]  # type: ignore[index]
        if _seen(head) > width // 2:
            head = line[: len(line) - len(line.lstrip())]
        lines += wrapped(head, line[len(head) :], width)
    return "\n".join(lines)


def _seen(text: str) -> int:
    return len(_ESCAPE.sub("", text))


def say(text: str, *, err: bool = False) -> None:
    """Write a text that people read: lines that fit, characters that the stream can carry."""
    stream = sys.stderr if err else sys.stdout
    encoding = stream.encoding or "utf-8"
    fitting = fit(text, columns(stream))
    write(fitting.encode(encoding, "backslashreplace").decode(encoding), err=err)


def write(text: str, *, err: bool = False) -> None:
    """Write a text as it is; a reader that has seen enough (``| head``) is no error."""
    try:
        typer.echo(text, err=err, nl=not text.endswith("\n"))
    except OSError as error:
        # Python would complain again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())
        if isinstance(error, BrokenPipeError) or err:
            raise typer.Exit(0) from None
        raise BackendError(f"cannot write the output: {error.strerror}") from None


PATIENCE = 2.0
_busy = threading.Lock()


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Say ``what`` goes on, with seconds, once it takes long; what is yielded changes the words.

    Nested calls keep the outer word.
    """
    words = [what]

    def change(text: str) -> None:
        words[0] = text

    if not sys.stderr.isatty() or not _busy.acquire(blocking=False):
        yield change
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(words, done), daemon=True)
    teller.start()
    try:
        yield change
    finally:
        done.set()
        teller.join()
        _busy.release()


def _tell(words: list[str], done: threading.Event) -> None:
    start = time.monotonic()
    wait = PATIENCE
    shown = False
    while not done.wait(wait):
        sys.stderr.write(f"\r\x1b[2K{words[0]} ... {time.monotonic() - start:.0f} s")
        sys.stderr.flush()
        wait, shown = 1.0, True
    if shown:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


JsonOption = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
OutputOption = Annotated[Path | None, typer.Option("-o", "--output", help="Write it here.")]
FORM = "Default: by the ending of -o, else text."
Command = Callable[..., Any]
Form = TypeVar("Form", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command found, made only in the form that is asked for.

    ``data`` that is a text is one already in JSON. ``output``: the file it goes to instead, under
    the name ``what``. ``raw``: code and pictures, whose lines are not to be broken.
    """

    text: Callable[[], str]
    data: Callable[[], Any]
    code: int = 0
    output: Path | None = None
    what: str = ""
    raw: bool = False

    def give(self, *, as_json: bool) -> None:
        """Write it where it is wanted, and end with its code."""
        as_json = as_json or (self.output is not None and self.output.suffix == ".json")
        made = self.data() if as_json else self.text()
        text = made if isinstance(made, str) else json.dumps(made)
        if self.output is not None:
            write_file(self.output, text)
            say(f"{self.what}: {self.output}")
        elif as_json or self.raw:
            write(text)
        else:
            say(text)
        raise typer.Exit(self.code)


def spoken(command: Command) -> Command:
    """A command with the options that all have; its ``Answer`` is given in the form asked for."""
    signature = inspect.signature(command, eval_str=True)
    own, options = signature.parameters, [option("width", WidthOption)]
    if "as_json" not in own and signature.return_annotation is Answer:
        options.append(option("as_json", JsonOption, False))

    def call(values: dict[str, Any]) -> None:
        as_json = values.get("as_json", False)
        answer = command(**{name: values[name] for name in own})
        if answer is not None:
            answer.give(as_json=as_json)

    return with_options(command, [*own.values(), *options], call)


def option(name: str, kind: object, default: object = None) -> inspect.Parameter:
    """A parameter of a command."""
    only = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, only, default=default, annotation=kind)


def with_options(
    command: Command, options: Sequence[inspect.Parameter], call: Callable[[dict[str, Any]], Any]
) -> Command:
    """``call`` as a command with these options and the other's name and help."""

    @functools.wraps(command)
    def wrapper(**values: Any) -> Any:  # noqa: ANN401 (options of several types)
        return call(values)

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in options]
    given = inspect.signature(command, eval_str=True).replace(parameters=parameters)
    wrapper.__signature__ = given  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapper


_ENDINGS = {"txt": "text", "htm": "html"}


def form_of(given: Form | None, output: Path | None, kinds: type[Form]) -> Form:
    """The form of a picture: asked for, else by the file's ending, else the first."""
    if given is not None or output is None or output.suffix in ("", ".json"):
        return given or next(iter(kinds))  # an ``Answer`` writes its data to .json
    ending = output.suffix[1:].lower()
    result = next((k for k in kinds if k.value == _ENDINGS.get(ending, ending)), None)
    if result is None:
        raise ConfigError(
            f"no output format ends in .{ending}",
            where=f"-o {output}",
            why=f"this command writes {', '.join(kinds)}",
            fix="another ending, or name the format with --format",
        )
    return result


def require_ending(path: Path | None, *endings: str, option: str = "-o") -> None:
    """Refuse a file name whose ending says that something else is wanted than is written."""
    if path is not None and path.suffix and path.suffix.lower() not in endings:
        raise ConfigError(
            f"{path} does not end in {' or '.join(endings)}",
            where=f"{option} {path}",
            why=f"what is written there is {', '.join(e[1:].upper() for e in endings)}",
            fix=f"{option} {path.with_suffix(endings[0])}",
        )


def one_or_all(loops: list[Any]) -> Any:  # noqa: ANN401 (JSON)
    """What each loop of a tile gave: of one loop as it is, of several a list."""
    return loops[0] if len(loops) == 1 else loops


def read_text(path: Path) -> str:
    """A file's text; what stands in the way is said without a traceback."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(cannot_read(path, error)) from None


def write_file(path: Path, text: str | bytes) -> None:
    """Write a file; what stands in the way is said without a traceback."""
    try:
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise BackendError(f"cannot write {path}: {error.strerror}") from None
