"""The options that say what a command works on, the same for all commands: a ``Request``.

Knobs are made from ``ScheduleConfig``, so that none can be forgotten; they do not lengthen a
command's help: ``--help-knobs`` lists them.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import field, fields
from enum import StrEnum
from typing import Annotated, Any

import typer

from warploom.cli.kernels import Knobs
from warploom.cli.screen import Command, option, say, with_options, wrapped
from warploom.dataclass import dataclass
from warploom.ir.types import DType
from warploom.pipeline.compile import OnRace
from warploom.pipeline.config.pipeline import SchedulingStrategy, field_docs
from warploom.pipeline.config.schedule import ScheduleConfig
from warploom.pipeline.sync.marks import SyncPolicy

Strategy = StrEnum("Strategy", {s.name: s.name.lower() for s in SchedulingStrategy})  # type: ignore[misc]
Sync = StrEnum("Sync", {p.name: p.name.lower() for p in SyncPolicy})  # type: ignore[misc]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """How a source is to be compiled; what is not given is the source's own."""

    knobs: Knobs = field(default_factory=dict)
    tile: str | None = None
    dtype: str | None = None
    mma: str | None = None  # the matrix instruction of a built-in schedule
    sync: SyncPolicy | None = None
    on_race: OnRace = "report"
    target: str | None = None
    settings: tuple[str, ...] = ()  # choices and whole sizes of a kernel, as NAME=VALUE

    @property
    def changes_order(self) -> bool:
        """Whether something was asked for that only a compilation can give."""
        return bool(self.knobs or self.sync)


class Costs(StrEnum):
    """Cost sets of the simulator."""

    CHIP = "chip"
    MODEL = "model"


class Dtype(StrEnum):
    """Element types of the built-in kernels."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    MXFP8 = "mxfp8"
    MXFP8_E5M2 = "mxfp8_e5m2"
    MXFP6 = "mxfp6"
    MXFP6_E3M2 = "mxfp6_e3m2"
    MXFP4 = "mxfp4"

    @classmethod
    def _missing_(cls, value: object) -> "Dtype | None":
        short = {DType.BF16: "bf16", DType.F16: "fp16", DType.E4M3: "fp8"}
        name = str(value).lower()
        if name in list(cls):
            return cls(name)
        try:
            return cls(short[DType(name)])
        except (KeyError, ValueError):
            return None


def element_type(value: str) -> Dtype:
    """An element type of the built-in kernels under any of its usual names."""
    try:
        return Dtype(value)
    except ValueError:
        known = ", ".join(Dtype)
        raise typer.BadParameter(f"{value!r} is not one of {known}.") from None


def _knobs() -> Iterator[tuple[str, Any, str, str]]:
    """Name, kind, flag and meaning of each knob."""
    docs = field_docs(ScheduleConfig)
    for knob in fields(ScheduleConfig):
        kind = {"SchedulingStrategy": Strategy, "bool": bool}.get(str(knob.type), int)
        yield knob.name, kind, knob.name.replace("_", "-"), docs[knob.name]


def _options() -> Iterator[inspect.Parameter]:
    for name, kind, flag, text in _knobs():
        said = f"--{flag}/--no-{flag}" if kind is bool else f"--{flag}"
        hidden = typer.Option(said, help=text, show_default=False, hidden=True)
        yield option(f"knob_{name}", Annotated[kind | None, hidden])


def knobs_text() -> str:
    """The knobs of a counter schedule, one paragraph each."""
    lines = ["Knobs of counter schedules:"]
    for _, kind, flag, text in _knobs():
        value = f" {'|'.join(Strategy) if kind is Strategy else 'N'}"
        lines.append(f"  --[no-]{flag}" if kind is bool else f"  --{flag}{value}")
        lines += wrapped(" " * 6, text.replace("``", ""))
    return "\n".join(lines)


def _show_knobs(value: bool) -> None:
    if value:
        say(knobs_text())
        raise typer.Exit


HelpKnobs = Annotated[
    bool,
    typer.Option(
        "--help-knobs",
        callback=_show_knobs,
        is_eager=True,
        help="List the 19 knobs that change a counter schedule, and exit.",
    ),
]


def with_request(*, without: tuple[str, ...] = ()) -> Callable[[Command], Command]:
    """Give a command the options that say how its source is made; it receives a ``request``.

    ``without``: those of ``tile``, ``dtype``, ``target``, ``sync``, ``set`` and ``knobs`` it does
    not take.
    """
    options = [option(name, kind) for name, kind in _REQUEST.items() if name not in without]
    if "set" not in without:
        options.append(option("given_settings", ChoiceOption, []))
    if "knobs" not in without:
        options += [option("help_knobs", HelpKnobs, False), *_options()]

    def decorate(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True).parameters

        def call(values: dict[str, Any]) -> Any:  # noqa: ANN401 (what the command answers)
            given = {p.name: values.pop(p.name) for p in options if p.name in values}
            given.pop("help_knobs", None)
            knobs = {n[5:]: _value(given.pop(n)) for n in list(given) if n.startswith("knob_")}
            sync = given.pop("sync", None)
            request = Request(
                knobs={n: v for n, v in knobs.items() if v is not None},
                sync=None if sync is None else SyncPolicy[sync.name],
                settings=tuple(given.pop("given_settings", ())),
                **given,
            )
            return command(**values, request=request)

        kept = [p for p in own.values() if p.name != "request"]
        return with_options(command, [*kept, *options], call)

    return decorate


def _value(given: Any) -> Any:  # noqa: ANN401 (an option's value)
    return SchedulingStrategy[given.name] if isinstance(given, Strategy) else given


TileOption = Annotated[
    str | None,
    typer.Option(metavar="MxNxK", help="Tile; of a document: what its matrix ops work on."),
]
DtypeOption = Annotated[
    Dtype | None,
    typer.Option(
        parser=element_type,
        metavar="bf16|fp16|fp8|mxfp8|..",
        help="Element type; also mxfp6, mxfp4, mxfp8_e5m2, mxfp6_e3m2.",
        show_default="bf16",
    ),
]
ShapeOption = Annotated[
    str | None,
    typer.Option(metavar="MxNxK", help="Sizes, the output's axes first; or by name: m=512,k=64."),
]
SetOption = Annotated[
    list[str],
    typer.Option("--set", metavar="NAME=VALUE", help="A scalar or choice of the kernel."),
]
ChoiceOption = Annotated[
    list[str],
    typer.Option("--set", metavar="NAME=VALUE", help="A kernel's choice or size: causal=true."),
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
CostsOption = Annotated[
    Costs,
    typer.Option(
        help="chip: the target's real cycles; model: the latencies the order was searched with."
    ),
]
_REQUEST: dict[str, Any] = {
    "tile": TileOption,
    "dtype": DtypeOption,
    "target": TargetOption,
    "sync": SyncOption,
}
