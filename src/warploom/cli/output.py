"""How every command answers: words for people, JSON for programs, files where asked to."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from warploom.cli.style import WidthOption, say, write
from warploom.errors import BackendError

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


def form_of(given: Form | None, output: Path | None, kinds: type[Form]) -> Form:
    """The form of a picture: asked for, else by the file's ending, else the first."""
    ending = output.suffix[1:] if output is not None else ""
    return given or next((k for k in kinds if k.value == ending), next(iter(kinds)))


def one_or_all(loops: list[Any]) -> Any:  # noqa: ANN401 (JSON)
    """What each loop of a tile gave: of one loop as it is, of several a list."""
    return loops[0] if len(loops) == 1 else loops


def read_text(path: Path) -> str:
    """A file's text; what stands in the way is said without a traceback."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise BackendError(f"cannot read {path}: {reason}") from None


def write_file(path: Path, text: str | bytes) -> None:
    """Write a file; what stands in the way is said without a traceback."""
    try:
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise BackendError(f"cannot write {path}: {error.strerror}") from None
