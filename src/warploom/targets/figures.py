"""Every number of a target with its origin: where it stands is where it is explained.

A target is a frozen dataclass whose fields are made by ``figure``. ``figures_of`` lists them, for
the command ``warploom costs`` and the reference page; nothing is written down twice.
"""

from collections.abc import Iterator
from dataclasses import field, fields, is_dataclass
from enum import StrEnum
from typing import Any

from warploom.dataclass import dataclass


class Origin(StrEnum):
    """Where a number comes from."""

    DOCUMENT = "document"  # the vendor's documents
    COMPILER = "compiler"  # seen from the vendor's compiler or its tables
    MEASURED = "measured"  # timed on the chip by this project
    FIT = "fit"  # fitted to measured times of whole kernels
    DERIVED = "derived"  # arithmetic from documented figures
    ASSUMED = "assumed"  # a round figure nobody measured here
    SEED = "seed"  # the relative prices of the seed's schedules; cycles of no chip


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of a target."""

    name: str
    value: Any
    unit: str
    origin: Origin
    note: str


def figure(value: Any, unit: str, origin: Origin, note: str = "") -> Any:  # noqa: ANN401
    """A dataclass field that says where its default comes from."""
    return field(default=value, metadata={"unit": unit, "origin": origin, "note": note})


def figures_of(target: object, prefix: str = "") -> Iterator[Figure]:
    """The numbers of a target, those of its parts under their names."""
    assert is_dataclass(target)
    for item in fields(target):
        value = getattr(target, item.name)
        if "origin" in item.metadata:
            yield Figure(
                name=prefix + item.name,
                value=value,
                unit=item.metadata["unit"],
                origin=item.metadata["origin"],
                note=item.metadata["note"],
            )
        elif is_dataclass(value):
            yield from figures_of(value, f"{prefix}{item.name}.")
