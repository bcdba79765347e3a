"""The options that say what a command works on, the same for all commands: a ``Request``.

Knobs are made from ``ScheduleConfig``, so that none can be forgotten; they take no room in a
command's help: ``--help-knobs`` lists them.
"""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from warploom.cli.builtin import Knobs
from warploom.cli.style import columns
from warploom.seed.compile import OnRace
from warploom.seed.config.field_docs import field_docs
from warploom.seed.config.parts import SchedulingStrategy
from warploom.seed.config.schedule import ScheduleConfig
from warploom.seed.sync.policy import SyncPolicy

Strategy = StrEnum("Strategy", {s.name: s.name.lower() for s in SchedulingStrategy})  # type: ignore[misc]
Sync = StrEnum("Sync", {p.name: p.name.lower() for p in SyncPolicy})  # type: ignore[misc]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """How a source is to be compiled; what is not given is the source's own."""

    knobs: Knobs = field(default_factory=dict)
    tile: str | None = None
    dtype: str | None = None
    sync: SyncPolicy | None = None
    on_race: OnRace = "report"
    target: str | None = None

    @property
    def changes_order(self) -> bool:
        """Whether something was asked for that only a compilation can give."""
        return bool(self.knobs or self.sync)


class Dtype(StrEnum):
    """Element types of the built-in kernels."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"


def _options() -> list[inspect.Parameter]:
    docs = field_docs(ScheduleConfig)
    out = []
    for knob in fields(ScheduleConfig):
        kind = {"SchedulingStrategy": Strategy, "bool": bool}.get(str(knob.type), int)
        out.append(
            inspect.Parameter(
                f"knob_{knob.name}",
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[
                    kind | None,
                    typer.Option(
                        _flag(knob.name, kind),
                        help=docs[knob.name],
                        show_default=False,
                        hidden=True,
                    ),
                ],
            )
        )
    return out


def knobs_text(width: int) -> str:
    """The knobs of a counter schedule, one paragraph each."""
    docs, lines = field_docs(ScheduleConfig), ["Knobs of counter schedules:"]
    for knob in fields(ScheduleConfig):
        kind = {"SchedulingStrategy": Strategy, "bool": bool}.get(str(knob.type), int)
        flag = _flag(knob.name, kind)
        flag = f"--[no-]{flag.partition('/')[0][2:]}" if kind is bool else flag
        value = "|".join(Strategy) if kind is Strategy else "" if kind is bool else "N"
        lines.append(f"  {flag} {value}".rstrip())
        text = docs[knob.name].replace("``", "")
        lines += textwrap.wrap(text, width - 8, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return "\n".join(lines)


def _show_knobs(value: bool) -> None:
    if value:
        typer.echo(knobs_text(columns()))
        raise typer.Exit


_HELP_KNOBS = inspect.Parameter(
    "help_knobs",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option(
            "--help-knobs",
            callback=_show_knobs,
            is_eager=True,
            help="List the 19 knobs that change a counter schedule, and exit.",
        ),
    ],
)


def _flag(name: str, kind: object) -> str:
    flag = name.replace("_", "-")
    return f"--{flag}/--no-{flag}" if kind is bool else f"--{flag}"


def with_request(
    command: Callable[..., None], *, without: tuple[str, ...] = ()
) -> Callable[..., None]:
    """Give a command the options that say how its source is made; it receives a ``request``.

    ``without``: those of ``tile``, ``dtype``, ``target``, ``sync`` and ``knobs`` it does not take.
    """
    signature = inspect.signature(command, eval_str=True)
    own = [p for p in signature.parameters.values() if p.name != "request"]
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _REQUEST.items()
        if name not in without
    ]
    knobs = [] if "knobs" in without else [_HELP_KNOBS, *_options()]

    @functools.wraps(command)
    def wrapper(**values: Any) -> None:  # noqa: ANN401 (options of several types)
        given = {p.name: values.pop(p.name) for p in (*options, *knobs)}
        given.pop(_HELP_KNOBS.name, None)
        own_knobs = {
            name.removeprefix("knob_"): _value(given.pop(name))
            for name in list(given)
            if name.startswith("knob_")
        }
        sync = given.pop("sync", None)
        command(
            **values,
            request=Request(
                knobs={n: v for n, v in own_knobs.items() if v is not None},
                sync=None if sync is None else SyncPolicy[sync.name],
                **given,
            ),
        )

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *options, *knobs)]
    wrapper.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapper


def _value(given: Any) -> Any:  # noqa: ANN401 (an option's value)
    return SchedulingStrategy[given.name] if isinstance(given, Strategy) else given


def complete_source(incomplete: str) -> list[str]:
    """Sources that begin so, for shell completion: names first, then documents here."""
    names = import_module("warploom.cli.kernels").kernel_names()
    known = ["pingpong", "fourwave", "single_buffer", *names]
    known += sorted(str(p) for p in Path().glob(f"{incomplete}*.json"))
    return [name for name in known if name.startswith(incomplete)]


SpecArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A built-in schedule (pingpong, fourwave, single_buffer), a shipped kernel (gemm, "
        "attention, ...), file.py:object, FILE.json, or - for a document on standard input.",
        autocompletion=complete_source,
    ),
]
TileOption = Annotated[
    str | None,
    typer.Option(metavar="MxNxK", help="Tile; of a document: what its matrix ops work on."),
]
DtypeOption = Annotated[Dtype | None, typer.Option(help="Element type.", show_default="bf16")]
ShapeOption = Annotated[
    str | None,
    typer.Option(metavar="MxNxK", help="Sizes, the output's axes first; or by name: m=512,k=64."),
]
SetOption = Annotated[
    list[str],
    typer.Option("--set", metavar="NAME=VALUE", help="A scalar or choice of the kernel."),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        metavar="TARGET", help="Price on this machine: h200, h100, mi355x, file.py:object."
    ),
]
SyncOption = Annotated[
    Sync | None, typer.Option(help="Who decides waits and barriers; default: the schedule itself.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
_REQUEST: dict[str, Any] = {
    "tile": TileOption,
    "dtype": DtypeOption,
    "target": TargetOption,
    "sync": SyncOption,
}
